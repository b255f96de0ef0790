# SPDX-License-Identifier: Apache-2.0
"""Hide the driver's frames. This part has hooks for modules that show the stack.

Warnings need no hook, because they skip files of the driver's directory by name (src/runtime/python.c)."""

import sys

import builtins
import posix
from itertools import filterfalse


def is_ours(frame):
    return frame.f_code.co_filename.startswith(driver.HERE + "/") or frame.f_code is driver.set_item.__code__


def like(function, genuine):
    """Replace @genuine by @function, and make inspect show the original's signature."""
    for name in "__doc__", "__module__", "__qualname__":
        setattr(function, name, getattr(genuine, name))
    function.__wrapped__ = genuine
    return function


def patch_traceback(traceback):
    """Make print_stack() and logging's stack_info begin with the step's frame."""
    walk = traceback.walk_stack
    if hasattr(walk, "__wrapped__"):
        return

    def walk_stack(f):
        # Do not use a generator expression here. It would count its own frame, because @f is not given.
        return filterfalse(lambda pair: is_ours(pair[0]), walk(f))

    traceback.walk_stack = like(walk_stack, walk)


def patch_inspect(inspect):
    """Make inspect.stack() begin with the step's frame. Also make the source of classes of a step available."""
    find, outer = inspect.getfile, inspect.getouterframes

    def getfile(object):
        try:
            return find(object)
        except OSError:
            name = source_of_class(object) if isinstance(object, type) else None
            if name is None:
                raise
            return name

    def getouterframes(frame, context=1):
        return [found for found in outer(frame, context) if not is_ours(found.frame)]

    inspect.getfile, inspect.getouterframes = like(getfile, find), like(getouterframes, outer)
    if "tools" in driver.state.parts:
        driver.part("tools").sign_all()


def patch_logging(logging):
    """Make a stacklevel beyond the stack mean the program's outermost frame."""
    find = logging.Logger.findCaller
    if not hasattr(logging, "_is_internal_frame"):
        return  # before 3.11, logging also counts the wrapper's frame

    def findCaller(self, stack_info=False, stacklevel=1):
        found = find(self, stack_info, stacklevel)
        while stacklevel > 1 and str(found[0]).startswith(driver.HERE + "/"):
            stacklevel -= 1
            found = find(self, stack_info, stacklevel)
        return found

    # logging then does not count the frames of this file
    findCaller.__code__ = findCaller.__code__.replace(co_filename=logging._srcfile)
    logging.Logger.findCaller = like(findCaller, find)


def patch_tracemalloc(tracemalloc):
    """Exclude the driver's allocations, and its frames from those of the program."""
    traces, one = tracemalloc._get_traces, tracemalloc._get_object_traceback

    def theirs(frames):
        return tuple([frame for frame in frames or () if not frame[0].startswith(driver.HERE + "/")])

    def get_traces():
        found = [(trace[0], trace[1], theirs(trace[2]), *trace[3:]) for trace in traces()]
        return [trace for trace in found if trace[2]]

    tracemalloc._get_traces = get_traces
    tracemalloc._get_object_traceback = lambda object: theirs(one(object)) or None


def patch_tasks(base_tasks):
    """End the stack of the running task before the driver's frames."""
    get = base_tasks._task_get_stack
    base_tasks._task_get_stack = lambda task, limit: [frame for frame in get(task, limit) if not is_ours(frame)]


def patch_bdb(bdb):
    """Make a debugger show only the program's frames, and stop at their end."""
    stops, stack_of = bdb.Bdb.stop_here, bdb.Bdb.get_stack

    def stop_here(self, frame):
        return not is_ours(frame) and stops(self, frame)

    def get_stack(self, frame, tb):
        stack, at = stack_of(self, frame, tb)
        before = [pair for pair in stack[:at] if not is_ours(pair[0])]
        return before + [pair for pair in stack[at:] if not is_ours(pair[0])], len(before)

    bdb.Bdb.stop_here, bdb.Bdb.get_stack = like(stop_here, stops), like(get_stack, stack_of)


def nobody_types():
    """
    Return whether input does not come from a person. Without input (/dev/null) a debugger would read
    end-of-file at once. A script is left alone.
    """
    step = driver.state.step
    own = driver.state.stdin is sys.stdin  # False if the program supplies lines of its own
    return own and step is not None and step.filename[:1] == "<" and posix.fstat(0).st_rdev == posix.makedev(1, 3)


def patch_pdb(pdb):
    """Make breakpoint() and the like continue if input does not come from a person."""
    if not hasattr(pdb, "Pdb"):
        return  # pdb is a module of the user
    for name in "user_call", "user_return", "user_exception", "interaction":
        setattr(pdb.Pdb, name, passing(getattr(pdb.Pdb, name)))


def passing(genuine):
    def stop(self, *args, **kwargs):
        if self.stdin is not driver.state.stdin or self.rcLines or not nobody_types():
            return genuine(self, *args, **kwargs)
        pass_over("breakpoint()")
        self.set_continue()

    return like(stop, genuine)


def pass_over(what):
    """Report that a debugger is skipped. This is reported once per step, because the call may be in a loop."""
    step = driver.state.step
    if not step.passed_over:
        driver.part("failure").complain("%s: there is no input here: skipped\n" % what)
    step.passed_over = True


def patch_getpass(module):
    """
    Make getpass() ask for a password as input() does, because there is no terminal whose echo could be
    disabled.
    """
    genuine = getattr(module, "unix_getpass", None)
    if genuine is None or module.getpass is not genuine:
        return

    def getpass(prompt="Password: ", stream=None, **rest):
        step = driver.state.step
        if step is None or step.filename[:1] != "<" or has_terminal():
            return genuine(prompt, stream, **rest)
        return builtins.input(prompt)

    module.getpass = like(getpass, genuine)


def has_terminal():
    try:
        posix.close(posix.open("/dev/tty", posix.O_RDWR | posix.O_NOCTTY))
        return True
    except OSError:
        return posix.isatty(0)


def source_of_class(kind):
    """
    Return the source name of the step that defines a class. It is that of the class's methods, or else of
    the last step with a line that defines such a class.
    """
    sources = driver.state.sources
    for member in vars(kind).values():
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        own = getattr(member, "__qualname__", "").startswith(kind.__qualname__ + ".")
        if own and getattr(code, "co_filename", None) in sources:
            return code.co_filename
    for name in reversed(sources):
        for line in sources[name].split("\n"):
            words = line.replace("(", " ").replace(":", " ").split()
            if words[:2] == ["class", kind.__name__]:
                return name
    return None
