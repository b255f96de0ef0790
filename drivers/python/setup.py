# SPDX-License-Identifier: Apache-2.0
"""The SETUP frame: turn the driver into a template, or set the session's name or seed."""

import sys

import builtins
import gc
import posix

# After this many steps the interpreter has specialized the bytecode of a step. Otherwise that would happen in
# each branch.
WARM_STEPS = 20

state = driver.state
native = driver.native


def answer(request):
    """
    Handle a SETUP frame and report the outcome. A frame without an id only sets a name, and runs no user
    code.
    """
    if "id" not in request:
        obey(request)
        return
    error = None
    driver.hush()
    try:
        driver.wake()
        carry_out(request)
    except BaseException as caught:
        error = caught
    driver.hush()
    done = {"id": request["id"]}
    if error is not None:
        failure = driver.part("failure")
        message = driver.cut(failure.safe_str(error), driver.MESSAGE_CHARS)
        done["error"] = {"name": failure.safe_name(error), "message": message}
    driver.send(driver.DONE, done)
    if error is None and request.get("warm"):
        # Warm up in any case: a first step with a seed must find the same state every time.
        driver.part("guard").warm()


def obey(request):
    """Set a name and warm up for a step. Neither can fail."""
    try:
        set_name(request.get("session"))
    except BaseException:
        pass  # the program has changed what set_name() uses
    if request.get("warm"):
        driver.part("guard").warm()


def carry_out(request):
    set_name(request.get("session"))
    if request.get("seed") is not None:
        driver.set_seed(request["seed"])
    if request.get("template"):
        native.gather()
    for name in request.get("preload") or []:
        __import__(driver.join(name))
    if request.get("template"):
        be_template()


def set_name(name):
    """Set the session's name. If the program has set the variable itself, its value stays."""
    if name and name != state.name:
        state.name = name
        set_variable("RETORT_SESSION", driver.join(name))


def set_variable(name, value):
    """Set an environment variable both for C and for Python, since os.environ reads posix.environ."""
    posix.putenv(name.encode(), value.encode())
    posix.environ[name.encode()] = value.encode()


def be_template():
    """
    Load everything that branches would load. Move all objects out of reach of the garbage collector, which
    writes to the objects that it visits: each page that a branch writes to is copied.
    """
    for name in ("program", "streams", "genuine", "hooks", "event_loop", "failure", "rich", "pretty",
                 "guard", "completion", "tools", "history"):
        driver.part(name)
    driver.part("history").install()
    driver.load_json()
    for exercise in (show_error, show_values, show_table, show_figure):
        try:
            exercise()
        except Exception:
            pass  # the first step that needs it will report the failure
    for _ in range(WARM_STEPS):
        driver.part("guard").warm()
    gc.collect()
    gc.freeze()
    driver.native.settle_pages()


def show_error():
    try:
        raise ValueError("x")
    except ValueError as error:
        driver.with_sources()
        driver.part("trace").format_error(error)


def show_values():
    for value in ([1, "x", 1.5, None], {"a": (1,)}, {1}, builtins.object()):
        driver.part("rich").bundle(value, driver.VALUE_BYTES)


def show_table():
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        table = pandas.DataFrame({"a": [1, 2], "b": [0.5, None], "c": ["x", "y"]})
        driver.part("rich").bundle(table, driver.VALUE_BYTES)
        table.describe()


def show_figure():
    if "matplotlib.figure" not in sys.modules:
        return
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([1, 2])
    driver.part("rich").bundle(figure, driver.VALUE_BYTES)
