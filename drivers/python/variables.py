# SPDX-License-Identifier: Apache-2.0
"""Find the variables that a step has created or changed, with type and size."""

import sys

state = driver.state
NAMES_MAX, SENT_MAX, NAME_CHARS = 2_000, 21, 60
SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset)
SHAPED = ("numpy", "pandas", "polars", "torch")
DIMENSIONS_MAX = 8
MODULE = type(sys)
NAME_OF = type.__dict__["__name__"].__get__
MODULE_OF = type.__dict__["__module__"].__get__


def size(value):
    """Return the size of a value as text, or "" if it cannot be determined without running user code."""
    kind = type(value)
    if kind in SIZED:
        return str(len(value))
    try:
        module = MODULE_OF(kind)
        if type(module) is not str or module.partition(".")[0] not in SHAPED:
            return ""
        shape = tuple(value.shape)
        if len(shape) <= DIMENSIONS_MAX and all(type(n) is int for n in shape):
            return " x ".join([str(n) for n in shape])
    except BaseException:
        pass
    return ""


def snapshot():
    """Return a dict that maps a name to (identity, size). It keeps no value alive."""
    out = {}
    for name, value in list(vars(state.main).items())[-NAMES_MAX:]:
        if type(name) is str and name[:1] != "_" and type(value) is not MODULE:
            out[name] = (id(value), size(value))
    return out


def changes(before):
    """Return the variables that are new or changed since the snapshot, up to a limit."""
    found = []
    space = vars(state.main)
    for name, now in snapshot().items():
        if before.get(name) != now and len(name) <= NAME_CHARS:
            row = {"name": name, "type": NAME_OF(type(space[name]))[:NAME_CHARS]}
            if now[1]:
                row["size"] = now[1]
            row["change"] = "changed" if name in before else "new"
            found.append(row)
            if len(found) == SENT_MAX:
                break
    return found
