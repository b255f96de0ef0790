# SPDX-License-Identifier: Apache-2.0
"""Restore the interpreter to its state at the start of the process, for the driver's own imports."""

import sys

import builtins
import posix


class Genuine:
    """
    A context manager. Within it, builtins, sys.path and the standard library are as they were when the
    process started, whatever user code or files in the workspace have changed.

    Modules that are loaded within it stay visible afterwards. But if the workspace has a module of the same
    name, the loaded module is hidden until the context manager is entered again.
    """

    def __enter__(self):
        self.builtins = dict(vars(builtins))
        vars(builtins).update(driver.BUILTINS)
        self.saved = [(name, getattr(sys, name, None)) for name in IMPORT_STATE]
        for name, value in zip(IMPORT_STATE, IMPORT_STATE_AT_START):
            setattr(sys, name, list(value))
        self.hidden = {}
        for name, module in list(sys.modules.items()):
            if is_impostor(name, module):
                self.hidden[name] = sys.modules.pop(name)
        sys.modules.update(state.private)
        self.before = set(sys.modules) - set(state.private)

    def __exit__(self, *_):
        for name, value in self.saved:
            setattr(sys, name, value)
        theirs = sys.path if isinstance(sys.path, list) else []
        workspace = [p for p in theirs if type(p) is str and p not in state.stdlib_path]
        for name in set(sys.modules) - self.before:
            if name in self.hidden or is_shadowed(name, workspace):
                state.private[name] = sys.modules.pop(name)
            else:
                state.private.pop(name, None)
        sys.modules.update(self.hidden)
        vars(builtins).update(self.builtins)


state = driver.state
IMPORT_STATE = ("path", "meta_path", "path_hooks")
IMPORT_STATE_AT_START = (state.stdlib_path, state.meta_path, state.path_hooks)


def is_impostor(name, module):
    """Return whether @name is that of a standard library module, but @module comes from elsewhere."""
    if type(name) is not str or name in driver.NEEDED or not is_stdlib(name.partition(".")[0]):
        return False
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if type(origin) is not str or origin in ("built-in", "frozen"):
        return False
    return not origin.startswith(tuple(driver.state.stdlib_path))


def is_stdlib(top):
    names = getattr(sys, "stdlib_module_names", None)  # only Python 3.10 and newer have this
    return top in names if names is not None else is_shadowed(top, state.stdlib_path)


def is_shadowed(name, places):
    top = name.partition(".")[0]
    for place in places:
        for ending in ("", ".py"):
            try:
                posix.stat("%s/%s%s" % (place or ".", top, ending))
                return True
            except OSError:
                pass
    return False


def parse_json(text):
    with Genuine():
        import json
    return json.loads(text)
