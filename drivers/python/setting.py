# SPDX-License-Identifier: Apache-2.0
"""The setting of a step: environment variables for this step only, and the scope that it uses.

A scope is a module of its own, which is __main__ while a step of the scope runs, with a history, a working
directory and __future__ flags of its own. Everything else of the interpreter is shared. The session's own
scope is the module that state.main holds between the steps. The scopes are ordinary objects of this process,
so branches and rollbacks carry them.

begin() and end() run while signals are blocked. What may run code of the user (the removal of a scope's
variables) or fail (a missing directory) is left to enter(), which the first stage of the step calls."""

import sys

import posix

state = driver.state
scopes = {}  # maps a name to a Scope
MISSING = object()


class Scope:
    def __init__(self, place):
        self.main = driver.new_main()
        self.history = None  # see history.exchange(); None: an empty one
        self.futures = 0
        self.place = place  # the working directory


class Setting:
    """What a step with a setting has to put back."""

    def __init__(self):
        self.scope = None
        self.kept = None  # (main, futures, working directory, history) of the session's own scope
        self.dropped = None  # the former scope of this name, which is to be removed
        self.former = {}  # maps the name of a variable to its value before the step, or to MISSING
        self.failure = None


def begin(step, request):
    """Prepare a step. Cannot fail."""
    step.setting = setting = Setting()
    try:
        set_variables(setting, request.get("env") or {})
        if request.get("scope"):
            begin_scope(setting, request)
    except BaseException as error:
        setting.failure = error


def end(step):
    """Put everything back after a step."""
    setting = step.setting
    for action in (end_scope, put_variables_back):
        try:
            action(setting)
        except BaseException:
            pass  # the program has changed what the action uses


def enter(setting):
    """Do the part of the preparation that may fail. Raises what the step reports."""
    if setting.dropped is not None:
        setting.dropped = None
        import gc

        gc.collect()  # the functions of a module and its variables refer to each other
    if setting.failure is not None:
        error, setting.failure = setting.failure, None
        raise error


# ---- environment variables ---------------------------------------------------------------------------------


def variables():
    """Return os.environ, or None as long as nobody has imported os, which then copies posix.environ."""
    return getattr(sys.modules.get("os"), "environ", None)


def set_variables(setting, wanted):
    environ = variables()
    for name, value in wanted.items():
        name, value = driver.join(name), driver.join(value)
        if environ is None:
            setting.former[name] = posix.environ.get(name.encode(), MISSING)
            put(None, name, value.encode())
        else:
            setting.former[name] = environ.get(name, MISSING)
            environ[name] = value


def put_variables_back(setting):
    environ = variables()
    for name, value in setting.former.items():
        if environ is not None and type(value) is bytes:
            value = value.decode("utf-8", "surrogateescape")  # os was imported meanwhile
        put(environ, name, value)


def put(environ, name, value):
    """Set a variable both for C and for Python."""
    if environ is None:
        key = name.encode()
        if value is MISSING:
            posix.environ.pop(key, None)
            posix.unsetenv(key)
        else:
            posix.environ[key] = value
            posix.putenv(key, value)
    elif value is not MISSING:
        environ[name] = value
    elif name in environ:
        del environ[name]


# ---- scopes ------------------------------------------------------------------------------------------------


def begin_scope(setting, request):
    history, name = driver.part("history"), driver.join(request["scope"])
    scope = scopes.get(name)
    if request.get("fresh_scope") and scope is not None:
        setting.dropped, scope = scopes.pop(name), None
    is_new = scope is None
    if is_new:
        scope = Scope("/".join([state.workspace, driver.join(request.get("cwd") or "")]))
        if (request.get("cwd") or "")[:1] == "/":
            scope.place = driver.join(request["cwd"])
    setting.scope, setting.kept = scope, (state.main, state.futures, place(), history.exchange(scope.history))
    state.main, state.futures = scope.main, scope.futures
    try:
        posix.chdir(scope.place)
    except OSError:
        if is_new:
            raise  # the scope cannot begin in this directory, and so does not begin
        posix.chdir(state.workspace)  # somebody has removed the directory meanwhile
    scopes[name] = scope


def end_scope(setting):
    scope, kept = setting.scope, setting.kept
    if kept is None:
        return
    scope.futures, scope.place = state.futures, place()
    state.main, state.futures = kept[:2]
    sys.modules["__main__"] = state.main
    scope.history = driver.part("history").exchange(kept[3])
    try:
        posix.chdir(kept[2])
    except OSError:
        posix.chdir(state.workspace)


def place():
    """Return the working directory, or the workspace if it no longer exists."""
    try:
        return posix.getcwd()
    except OSError:
        return state.workspace


def answer(request):
    """Answer a NAMES frame with a scope."""
    scope = scopes.get(driver.join(request["scope"]))
    kept, state.main = state.main, scope.main if scope else driver.new_main()
    try:
        driver.part("completion").answer(request)
    finally:
        state.main = kept
