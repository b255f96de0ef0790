# SPDX-License-Identifier: Apache-2.0
"""The process that runs Python steps. It reads STEP frames and answers with RESULT frames.

This file runs for every step, so it imports only modules that a bare interpreter has loaded already.
Everything else is in *parts*, the files beside this one. A part is loaded when it is first needed, and
by its path, never by its name. So a user's file with the name of a part, or of a module of the standard
library, does not change what the driver does.

Life of a process. main() moves the channel to the engine to a descriptor with a high number, sends
READY, installs the import hooks (Finder) and calls serve(), which reads one frame after the other. A
STEP is handled by run_step(): it restores what the last step may have broken (set_process()), stores the
source, sends BEGIN, performs the step (carry_out()), and sends RESULT.

Stages. A step is a list of stages: run the code, display the value, display figures, report the failure,
and at the end of a script run exit functions and flush. A signal handler of the program may raise an
exception between any two bytecode instructions, also in the driver's own code. So perform() keeps the
number of the next stage in the step. An exception that escapes from a stage ends that stage only, and
the loop continues with the next one.

Signals are blocked while the driver's own code runs (hush()) and unblocked for the step (wake()). If an
interrupt arrives in spite of that, state.interrupted remembers it.

  program     from source to code objects           failure, trace  error reports, tracebacks
  rich        displays of a value by MIME type      streams         restore stdin, stdout, stderr; flush files
  pretty      text by _repr_pretty_()               hooks           site directories, patches of libraries
  chart       the data behind a figure              event_loop      top-level await, tasks between steps
  guard       checkpoints                           setup           templates, session names, seeds
  branch      a copy in a box of its own            threads         end idle threads of libraries
  completion  completion of names                   import_completion  completion after `import`
  calls       calls to the engine                   tools           retort.tools, llm_query
  skills      retort.skills                         variables       which variables a step changed
  genuine     imports of an unmodified standard library   stack     hide the driver's frames
  setting     environment variables and scope of a step"""

import sys

# Functions look up builtins in the dict that their module had when they were defined. This module gets a copy
# of its own. So a step that sets builtins.len to None breaks itself but not the driver.
__builtins__ = dict(__builtins__)

import _codecs  # noqa: E402
import _frozen_importlib  # noqa: E402
import _frozen_importlib_external  # noqa: E402
import _imp  # noqa: E402
import _signal  # noqa: E402
import _thread  # noqa: E402
import atexit  # noqa: E402
import builtins  # noqa: E402
import posix  # noqa: E402

STEP, TOOL_RESULT, BYE, BRANCH, SETUP, NAMES, CHECKPOINT, STEM = 1, 4, 5, 6, 7, 8, 9, 10
READY, BEGIN, GUARD, DISPLAY, TOOL, RESULT, BRANCHED, DONE = 16, 17, 18, 19, 20, 21, 22, 23
FRAME_MAX = 32 << 20
VALUE_BYTES, VALUE_BYTES_MAX = 1 << 20, 4 << 20
MESSAGE_CHARS = 10_000
MARKER_CHARS = 64  # length that the marker of cut() may have
SOURCES_MAX, SOURCE_CHARS_MAX = 1_000, 64 << 20
OUR_FLAGS = [4, 5, 6]  # indexes in sys.flags of dont_write_bytecode, no_user_site and no_site
RUNS_LOOP = {"run", "run_until_complete", "run_forever", "Runner"}
COROUTINE = 0x80  # the flag inspect.CO_COROUTINE

HERE = __file__.rpartition("/")[0] or "."
NEEDED = dict(sys.modules)
BUILTINS = dict(vars(builtins))
ESCAPES = [("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")]
ESCAPES += [(chr(c), "\\u%04x" % c) for c in range(32) if c not in (9, 10, 13)]


def load_native():
    """Load the extension by its path, independent of sys.path."""
    spec = _frozen_importlib.ModuleSpec(
        "_retort", None, origin=HERE + "/_retort.abi3.so"
    )
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    return module


native = load_native()


class State:
    """The driver's state between steps."""

    channel = out = err = -1
    home = posix.getpid()
    workspace = ""
    thread = _thread.get_ident()  # id of the thread that runs steps
    lock = _thread.RLock()  # reentrant: a signal handler may display something while its thread holds the lock
    step = None
    calls = None  # the part calls.py once it is loaded
    early = []  # frames that were read while a step ran, to be handled after it
    handler = _signal.default_int_handler
    interrupted = False  # another thread received an interrupt while no user code ran
    futures = 0
    had_guard = False  # a guard was made since this process began
    stem = None  # a branch.Stem if the process is prepared for a BRANCH frame, or None
    inherited = None  # in a branch: the branch.Stem from which it was made
    crowded = False  # the last attempt to make a guard failed because of other threads
    started = False
    main = None
    stdin = stdout = stderr = None
    parts = {}
    stdlib_path = []
    sources = {}
    source_chars = 0
    seed = None
    has_stdin = False  # the last step had its own standard input
    meta_path = []
    path_hooks = []
    private = {}
    loop = None
    recursion = None
    scan = dump = None
    name = None  # name of the session
    words = None  # (generator, address, size) of the state of numpy's global generator
    numbers = None  # (generator, address, size) of the state of random's generator
    held = []  # what was printed between two steps, as (stream, text); the next step shows it
    watched = False  # settings.py must be told when a step begins and ends
    last_failure = ()  # lines of the last traceback
    told = {}  # maps a MIME type to functions that the program has registered for types
    captured = None  # list in which %%capture collects displays, otherwise None
    tracked = {}  # maps a resource tracker to the resources that it tracks
    due = []  # what was shut down before a clone and must be started again before the next step; see threads.py
    made = []  # weak references to what was started again; see threads.py


state = State()


# ---- parts and the standard library ----------------------------------------------------------


def part(name):
    """Return a part of the driver. It is loaded at its first use."""
    module = state.parts.get(name)
    if module is None:
        path = "%s/%s.py" % (HERE, name)
        loader = _frozen_importlib_external.SourceFileLoader("_retort_" + name, path)
        module = type(sys)("_retort_" + name)
        space = vars(module)
        space["__builtins__"] = __builtins__
        space["__file__"] = path
        space["driver"] = this
        with_genuine_builtins(lambda: exec(loader.get_code("_retort_" + name), space))
        module = state.parts.setdefault(name, module)  # another thread may have loaded it first
    return module


def with_genuine_builtins(function):
    """Call @function with the original builtins."""
    theirs = dict(vars(builtins))
    vars(builtins).update(BUILTINS)
    try:
        return function()
    finally:
        vars(builtins).update(theirs)


# ---- JSON ---------------------------------------------------------------------------------------


def clean(text):
    """Replace lone surrogates by U+FFFD, and join pairs of surrogates to one character."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        raw = _codecs.utf_16_le_encode(text, "surrogatepass")[0]
        return _codecs.utf_16_le_decode(raw, "replace")[0]


def quote(text):
    text = clean(str.__str__(text))
    for char, escape in ESCAPES:
        if char in text:
            text = text.replace(char, escape)
    return '"' + text + '"'


def encode(value):
    """Encode a value that the driver itself has built as JSON. Importing the json module would cost 5 ms."""
    if state.dump is not None:
        try:
            text = "".join(state.dump(value, 0))
            if text.isascii():  # ASCII text contains no surrogates that clean() would have to replace
                return text
        except ValueError:
            pass  # the value contains NaN or an infinity
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join([quote(k) + ":" + encode(v) for k, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([encode(v) for v in value]) + "]"
    raise TypeError("not JSON: %s" % type(value).__name__)


def decode(data):
    """
    Decode the JSON of a frame.

    The engine is the only sender. Its JSON is a valid Python expression once three names are defined,
    unless it contains an escaped slash. join() repairs pairs of surrogates later.
    """
    text = data.decode()
    if state.scan is not None:
        return state.scan(text, 0)[0]
    if "\\/" in text:
        return part("genuine").parse_json(text)
    return eval(text, {"__builtins__": {}, "true": True, "false": False, "null": None})


class Json:
    """The settings of a decoder, which the json module's scanner in C reads."""

    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float, parse_int = float, int
    memo = {}


def load_json():
    """
    Use the C functions of the json module from now on: a frame then takes 1 us instead of 17. Importing
    them pays off only in a process with many steps.
    """
    try:
        import _json

        state.scan = _json.make_scanner(Json)
        state.dump = _json.make_encoder(
            None, None, _json.encode_basestring, None, ":", ",", False, False, False
        )
    except BaseException:
        pass  # not every interpreter has _json


def join(text):
    """Join each pair of surrogates to one character. A lone surrogate stays."""
    if text.isascii():
        return text
    raw = _codecs.utf_16_le_encode(text, "surrogatepass")[0]
    return _codecs.utf_16_le_decode(raw, "surrogatepass")[0]


# ---- frames ---------------------------------------------------------------------------------------


def send(kind, message):
    """Send a frame. Does nothing in a child process that user code has forked."""
    payload = encode(message).encode()
    if len(payload) >= FRAME_MAX and "value" in message:
        note = "<value too large: %d bytes>" % len(payload)
        payload = encode(dict(message, value={"text/plain": note})).encode()
    if len(payload) >= FRAME_MAX and "data" in message:
        note = "<display too large: %d bytes>" % len(payload)
        payload = encode(dict(message, data={"text/plain": note}, metadata={})).encode()
    if posix.getpid() != state.home:
        return False
    try:
        native.send_frame(state.channel, kind, payload)
    except OSError:
        return False  # user code has closed the channel
    return True


def send_display(data, metadata, **about):
    """Send a DISPLAY for the running step. Returns: whether a step was running."""
    with state.lock:
        if state.step is None or posix.getpid() != state.home:
            return False
        if state.captured is not None:
            part("capture").keep(data, metadata)
            return True
        send(DISPLAY, {"id": state.step.id, "data": data, "metadata": metadata, **about})
        return True


def display(*objects, metadata=None, raw=False, display_id=None, update=False, **_):
    """
    Show objects as rich results. With raw=True, each object is a dict of MIME type to value. With a
    display_id, a handle is returned; an update takes the place of the display on pages that can do so, and is
    a further display elsewhere.
    """
    limit = state.step.limit if state.step else VALUE_BYTES
    rich = part("rich")
    handle = None if display_id is None else part("ipython").DisplayHandle(display_id)
    about = {} if handle is None else {"display_id": handle.display_id, "update": update is True}
    for value in objects:
        if not raw and rich.displays_itself(value):
            continue
        data = rich.from_raw(value, limit) if raw else rich.bundle(value, limit)
        if not send_display(data, rich.plain_dict(metadata), **about):
            builtins.print(data.get("text/plain", ""))
    return handle


def final_answer(*answers, **named):
    """Give @answer (or @value) as the answer to the task. When called more than once, the last call counts."""
    given = [*answers, *named.values()]
    if len(given) != 1 or not named.keys() <= {"answer", "value"}:
        raise TypeError("final_answer() takes one argument, the answer")
    value = given[0]
    data = part("rich").answer(value, state.step.limit if state.step else VALUE_BYTES)
    if not send_display(data, {}):
        builtins.print(data.get("text/plain", ""))


# ---- values ---------------------------------------------------------------------------------------


def cut(text, limit):
    """
    Cut text to about @limit bytes of UTF-8. Keep its start and its end, with a line between them that says
    how much was cut.
    """
    keep = limit
    if len(text) <= limit + MARKER_CHARS:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size <= limit + MARKER_CHARS:
            return text
        keep = len(text) * limit // size
    elif not text.isascii():
        sample = text[: limit // 2] + text[-limit // 2 :]
        keep = len(sample) * limit // len(sample.encode("utf-8", "surrogatepass"))
    head = keep // 2
    tail = keep - head
    gone = len(text) - head - tail
    return "%s\n[... %d characters cut ...]\n%s" % (
        text[:head],
        gone,
        text[len(text) - tail :] if tail else "",
    )


def bundle(value, limit):
    """Return the MIME bundle of a value. Values of common types do not need the part "rich"."""
    kind = type(value)
    if state.told:
        return part("rich").bundle(value, limit)
    if kind is bool or (kind is int and -(1 << 63) <= value < 1 << 63):
        return {"text/plain": repr(value), "application/json": value}
    if kind is str and len(value) <= limit >> 3:
        return {"text/plain": repr(value), "application/json": value}
    if kind is float and value - value == 0:
        return {"text/plain": repr(value), "application/json": value}
    return part("rich").bundle(value, limit)


def bundle_of_value(value, limit):
    """
    Return the bundle of a step's value, or None if the value has displayed itself. Raises what its
    __repr__() raises.
    """
    kind = type(value)
    if kind in (bool, int, str, float):
        return bundle(value, limit)
    return part("rich").bundle_of_value(value, limit)


# ---- a step ---------------------------------------------------------------------------------------


class Step:
    """The request of a STEP frame, and the outcome of the step."""

    def __init__(self, request):
        self.id = request["id"]
        self.code = join(request["code"])
        self.argv = [join(arg) for arg in request.get("argv") or []]
        self.once = request.get("mode") != "session"
        self.filename = place_of(self, join(request.get("filename") or "<step>"))
        self.begun = request.get("begun") is True
        self.preload = [m.strip() for m in request.get("preload", "").split(",") if m.strip()]
        self.limit = min(request.get("value_bytes") or VALUE_BYTES, VALUE_BYTES_MAX)
        self.position = self.number = 0
        self.failure = self.outcome = None
        self.value = None
        self.shown = None
        self.figures = []  # the figures that the step has already shown
        self.told = None  # text of the last error of a display method, so that it is reported only once
        self.passed_over = False  # whether it was already reported that a debugger does not stop in this step
        self.error = None
        self.exit_code = 0
        self.exited = False
        self.setting = None  # a setting.Setting, if the step has variables of the environment or a scope
        self.variables = None  # snapshot of the variables before the step, if the changes are wanted

    def message(self):
        out = {
            "id": self.id,
            "status": "ok" if self.error is None and self.exit_code == 0 else "error",
            "exit_code": self.exit_code,
        }
        if self.exited:
            out["exited"] = True
        if self.shown is not None:
            out["value"] = self.shown
        if self.error is not None:
            out["error"] = self.error
        if self.variables is not None:
            try:
                out["variables"] = part("variables").changes(self.variables)
            except BaseException:
                pass
        return out


def place_of(step, filename):
    """
    Return what __file__ and code objects report. For a script this is the path to which argv[0] leads, as
    in Python.
    """
    if not step.once or not step.argv or filename[:1] == "<":
        return filename
    name = step.argv[0]
    return name if name[:1] == "/" else "%s/%s" % (posix.getcwd(), name[2:] if name[:2] == "./" else name)


def wants_loop(code):
    """
    Return whether the code expects a running event loop, as code in notebooks may, and does not run a loop of
    its own.
    """
    return "get_running_loop" in code.co_names and RUNS_LOOP.isdisjoint(code.co_names)


def stage_run(step):
    """Compile and run the code. The exception that ends it becomes the step's failure."""
    try:
        if step.setting is not None:
            part("setting").enter(step.setting)
        space = vars(state.main)
        if step.filename[:1] != "<":
            space["__file__"] = step.filename
            if step.once:
                loader = _frozen_importlib_external.SourceFileLoader
                space["__loader__"], space["__cached__"] = loader("__main__", step.filename), None
        for name in step.preload:
            __import__(name)
        if state.watched:
            part("settings").begin(step)
        codes, has_value = part("program").split(step.code, step.filename)
        value = None
        if any([code.co_flags & COROUTINE or (not step.once and wants_loop(code)) for code in codes]):
            value = part("event_loop").run_async(codes, space)
        else:
            for code in codes:
                value = eval(code, space)
        if has_value:
            step.value = value  # the step now holds the last reference
    except BaseException as error:
        step.failure = error
    if posix.getpid() != state.home:
        step.once = True  # this is a child that user code has forked: it ends like a script


def stage_value(step):
    """Build the display of the last expression's value."""
    if step.value is None or step.failure is not None:
        return
    if not step.once:
        part("history").keep(step.value)
    if state.watched:
        step.outcome = step.value
    try:
        step.shown = bundle_of_value(step.value, step.limit)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        step.failure = error  # its __repr__() has raised
    finally:
        set_item(vars(step), "value", None)


def stage_figures(step):
    """Show the open figures, except the one that is the step's value."""
    if state.watched and posix.getpid() == state.home:
        part("settings").end(step)
    if "matplotlib.pyplot" in sys.modules and posix.getpid() == state.home:
        part("rich").show_figures(step)


def stage_failure(step):
    """Report the failure in the result and on stderr."""
    if step.failure is None:
        return
    step.shown = None
    step.exit_code = 1
    part("failure").report(step, step.failure)
    if step.error is not None:
        state.last_failure = step.error["traceback"]
    set_item(vars(step), "failure", None)  # the frames of the failure refer to objects of the step


def stage_finish(step):
    """End a script: join threads, run exit functions, write open files."""
    if not step.once:
        return
    interrupts = []

    def interrupt(*signal_and_frame):
        interrupts.append(signal_and_frame[0])
        raise KeyboardInterrupt

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, interrupt)
    threading = sys.modules.get("threading")
    try:
        if state.loop is not None:
            part("event_loop").close_loop()
        if threading is not None:
            threading._shutdown()
    except KeyboardInterrupt as error:
        interrupts.append(error)
    except BaseException as error:
        part("hooks").note_ignored(error)
    if interrupts and step.error is None:  # Python 3.13 swallows an interrupt while it joins threads
        last = interrupts[-1]
        step.failure = last if isinstance(last, KeyboardInterrupt) else KeyboardInterrupt()
        stage_failure(step)
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass
    if threading is None or is_alone(threading):
        forget_names(vars(state.main))
    if native.has_files():
        part("streams").flush_files()


def set_item(space, name, value):
    """
    Set an item of a dict.

    When the old value is freed, it may issue a warning, for example about an open file or a coroutine that
    was never awaited. The warning must not name a file of the driver. So this function's code object
    pretends to be at "sys:1", where the interpreter itself frees such objects at its end.
    """


set_item.__code__ = (lambda space, name, value: dict.__setitem__(space, name, value)).__code__.replace(
    co_filename="sys", co_firstlineno=1, co_name="set_item"
)


def is_alone(threading):
    """Return whether no other thread can still use the names of __main__."""
    try:
        return threading.active_count() == 1
    except BaseException:
        return False


def forget_names(space):
    """Clear the namespace as the interpreter does at its end, so that files are closed and __del__() runs."""
    for name in list(space):
        if type(name) is str and name[:1] == "_" and name != "__builtins__":
            set_item(space, name, None)
    for name in list(space):
        if name != "__builtins__":
            set_item(space, name, None)


def stage_flush(step):
    for stream in {id(s): s for s in (sys.stdout, sys.stderr, state.stdout, state.stderr)}.values():
        try:
            stream.flush()
        except BaseException:
            pass
    native.flush_c()


STAGES = (stage_run, stage_value, stage_figures, stage_failure, stage_finish, stage_flush)


def perform(step):
    """
    Run the remaining stages of a step. A signal handler may raise an exception between any two
    instructions. Such an exception ends only the stage that it interrupts.
    """
    while step.position < len(STAGES):
        try:
            if step.position == 0:
                wake()
            while step.position < len(STAGES):
                stage = STAGES[step.position]
                step.position += 1
                stage(step)
                if step.position == 1:
                    settle()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and step.position <= 3:
                if error.__traceback__.tb_next is not None and step.failure is None:
                    step.failure = error
                    if step.position == 0:  # the step's code has not begun, and must not begin any more
                        step.position, error.__traceback__ = 1, None


def settle():
    """Undo settings of the step's code that would disturb the driver."""
    sys.settrace(None)
    sys.setprofile(None)
    limit = sys.getrecursionlimit()
    if limit < 1000:
        state.recursion = limit
        sys.setrecursionlimit(1000)


def ignore(*_):
    """The handler of SIGINT while no user code runs."""
    state.interrupted = True


def drop_interrupts():
    """Forget interrupts that are pending: they were meant for the last step."""
    native.take_interrupts()
    state.interrupted = False


def wake():
    """Unblock signals. An interrupt that the engine sent while they were blocked is delivered now."""
    _signal.signal(_signal.SIGINT, state.handler)
    native.narrow()
    interrupted = native.take_interrupts() or state.interrupted
    state.interrupted = False
    native.unblock_signals()
    if interrupted:
        _signal.raise_signal(_signal.SIGINT)


def hush():
    """
    Block signals, so that a handler which a step has installed does not raise an exception in the driver.

    If there are other threads, one of them may still receive a signal. So the handler of SIGINT is replaced
    too.
    """
    while True:
        try:
            native.block_signals()
            _signal.alarm(0)
            handler = _signal.getsignal(_signal.SIGINT)
            if handler is not ignore:
                state.handler = handler or _signal.default_int_handler
            _signal.signal(_signal.SIGINT, ignore)
            native.widen()
            if native.limit_files() <= max(state.channel, state.out, state.err):
                come_down()
            return
        except BaseException:
            pass


def come_down():
    """
    Move the driver's descriptors to lower numbers. This is needed if the program has lowered its hard limit
    of open files so far that no descriptor could be duplicated to their present numbers.
    """
    for name in ("channel", "out", "err"):
        fd = getattr(state, name)
        try:
            setattr(state, name, native.dup_high(fd))
            posix.close(fd)
        except OSError:
            pass  # no lower number is free


# ---- the process ----------------------------------------------------------------------------------


def set_process(step):
    """Restore everything on which a step may rely, even if the last step has changed it."""
    if state.started:
        try:
            native.put_back(sys.modules, NEEDED)
        except TypeError:
            # The step has replaced sys.modules by something that is not a dict. Imports still use the
            # original.
            pass
        vars(state.main)["__builtins__"] = builtins
        if state.recursion is not None:
            sys.setrecursionlimit(state.recursion)
            state.recursion = None
        part("streams").restore()
    state.started, state.captured = True, None
    sys.argv = step.argv or [""]
    sys.orig_argv = [sys.executable, *started_with(step)]
    sys.modules["__main__"] = state.main


def started_with(step):
    """Return the arguments of an interpreter that would do what this step does."""
    if not step.once or step.argv[:1] != ["-c"]:
        return step.argv if step.once else []
    return ["-c", step.code, *step.argv[1:]]


class Source(_frozen_importlib.BuiltinImporter):
    """The loader of __main__. It is like that of python -c, except that it can return the source."""

    @staticmethod
    def get_source(_=None):
        return state.sources.get(state.newest)


Source.__name__ = Source.__qualname__ = "BuiltinImporter"
Source.__module__ = "_frozen_importlib"


def source_lines(code):
    """Split source into lines as linecache does: only at newlines, which are kept."""
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in (lines if lines[-1] else lines[:-1])]


def keep_source(step):
    """
    Store the code for tracebacks and inspect.

    In a session, the name under which it is stored contains the number that In and Out use for the step. If
    that name is already taken, it gets another number.
    """
    name, number = step.filename, 1
    if step.number > 1 and name in ("<step>", "<stdin>"):
        name = "%s %d>" % (name[:-1], step.number)
    while state.sources.get(name, step.code) != step.code and name[:1] == "<":
        number += 1
        name = "%s %d>" % (step.filename.rstrip(">"), number)
    step.filename = name
    state.source_chars += len(step.code) - len(state.sources.get(name, ""))
    state.sources[name] = step.code
    state.newest = name
    while len(state.sources) > SOURCES_MAX or (
        len(state.sources) > 1 and state.source_chars > SOURCE_CHARS_MAX
    ):
        state.source_chars -= len(state.sources.pop(next(iter(state.sources))))
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        try:
            linecache.cache[name] = (len(step.code), None, source_lines(step.code), name)
        except Exception:
            pass  # linecache is a module of the user, or broken


def with_sources(*_):
    """Register the sources of the steps with linecache, and so for traceback and inspect."""
    try:
        part("hooks").register_sources()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass  # tracebacks then have no source lines


def watch_tracker(module):
    part("threads").watch_tracker(module)


def carry_out(step):
    """
    Perform a step, then block signals. A signal that arrives between the two is too late to stop anything:
    perform() is then called again and finds that all stages are done.
    """
    while True:
        try:
            perform(step)
            hush()
            return
        except BaseException:
            pass


def run_step(request, fds):
    """Handle a STEP: run it and send the result."""
    step = Step(request)
    if "env" in request or "scope" in request:
        part("setting").begin(step, request)
    set_process(step)
    if state.due:
        part("threads").go_on()
    n_wanted = 1 if request.get("stdin") else 0
    for fd in fds[n_wanted:]:
        posix.close(fd)
    if n_wanted or state.has_stdin:
        part("streams").set_stdin(fds[:n_wanted])
    if not step.once:
        step.number = part("history").begin(step)
    keep_source(step)
    if step.once and step.filename[:1] == "<":
        builtins.get_ipython = get_ipython
    if request.get("session"):
        part("setup").set_name(request["session"])
    if request.get("variables"):
        try:
            step.variables = part("variables").snapshot()
        except BaseException:
            pass
    state.step = step
    if not step.begun:
        if not step.once:
            drop_interrupts()
        send(BEGIN, {"id": step.id})
    if not step.once:
        native.new_step()
    if state.held:
        part("event_loop").say_held()
    Finder.look_at_user_site()  # another program may have installed something
    carry_out(step)
    if posix.getpid() != state.home:
        posix._exit(step.exit_code)
    if state.calls is not None:
        state.calls.end_step()
    message = step.message()
    if step.setting is not None:
        part("setting").end(step)
    with state.lock:
        state.step = None
        if state.calls is not None:
            # Step ids begin again in a branch, so the next step may have the id of this one.
            state.calls.book.ended = None
        if not send(RESULT, message):
            if step.once:
                posix._exit(step.exit_code)
            part("failure").complain("retort: the step has closed the driver's channel\n")
            posix._exit(step.exit_code or 1)
    if state.has_stdin:
        part("streams").set_stdin(())
    if step.once:
        state.finished = True


def serve():
    """Handle frames until BYE or the end of the channel."""
    while True:
        try:
            early = state.early
            if state.loop is not None and state.stem is None and not early:
                part("event_loop").turn()
            frame = early.pop(0) if early else native.recv_frame(state.channel, FRAME_MAX)
        except (OSError, ValueError):
            return
        if frame is None or frame[0] == BYE:
            return
        kind, payload, fds = frame
        frame = None
        if state.stem is not None and kind != BRANCH:
            part("branch").stay()
        if kind == STEP:
            run_step(decode(payload), fds)
        elif kind == BRANCH:
            part("branch").answer(decode(payload), fds)
        elif kind == CHECKPOINT:
            request = decode(payload)
            part("guard").checkpoint(request["id"], request.get("guard_bytes") or 0, fds)
        elif fds:
            part("branch").close_all(fds)
        if kind == SETUP:
            part("setup").answer(decode(payload))
        elif kind == STEM:
            part("branch").get_ready()
        elif kind == NAMES:
            request = decode(payload)
            part("setting" if "scope" in request else "completion").answer(request)


def leave():
    """End a session: run exit functions and flush buffers, without finalizing the interpreter."""
    step = Step({"id": "", "code": ""})
    step.once = not getattr(state, "finished", False)
    step.position = STAGES.index(stage_finish)
    perform(step)
    posix._exit(0)


def new_main():
    main = type(sys)("__main__")
    space = vars(main)
    space["__builtins__"] = builtins
    space["__loader__"] = Source
    space["__annotations__"] = {}
    return main


def make_main():
    main = new_main()
    state.bootstrap = sys.modules.get("__main__")
    state.main = sys.modules["__main__"] = NEEDED["__main__"] = main


class Module(type(sys)):
    """A module of the driver. It is not copied or pickled with objects that refer to it."""

    __iter__ = None

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, version):
        import importlib

        return importlib.import_module, (vars(self)["__name__"],)


class Lazy(Module):
    """A module whose part is loaded when one of its attributes is used."""

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(part(self.__part__).wake(self), name)

    def __getitem__(self, name):
        return part(self.__part__).wake(self)[name]

    def __dir__(self):
        return dir(part(self.__part__).wake(self))

    def __repr__(self):
        return repr(part(self.__part__).wake(self))


def make_lazy(name, text, places=()):
    module = Lazy("retort." + name, text)
    module.__part__ = name
    module.__path__ = list(places)
    sys.modules["retort." + name] = NEEDED["retort." + name] = module
    return module


def llm_query(prompt, context=None, schema=None):
    """Ask the model a question; @context is sent along. With a JSON schema, the answer conforms to it."""
    return part("tools").llm_query(prompt, context, schema)


def llm_query_batched(prompts, context=None, schema=None, return_exceptions=False):
    """
    Ask the model many questions at once. Returns: the answers in order. Waits for all; if some failed, raises
    the first failure, which has all answers in its `results`. With return_exceptions=True the exceptions are
    returned among the answers, as by asyncio.gather().
    """
    return part("tools").llm_query_batched(prompts, context, schema, return_exceptions)


def get_ipython():
    """A stand-in for IPython's shell, for code of the user; None for libraries."""
    return part("ipython").shell_for(sys._getframe(1))


get_ipython.__module__ = "IPython.core.getipython"
ERRORS = ("RetortError", "ToolError", "ToolDenied", "ToolArgumentError", "ToolLost", "ToolLimit")


def make_retort():
    module = type(sys)("retort", "Functions for code in a retort box.")
    functions = (display, final_answer, llm_query, llm_query_batched)
    names = [function.__name__ for function in functions] + ["tools", "skills", "Image", *ERRORS]
    for function in functions:
        setattr(module, function.__name__, function)
        setattr(builtins, function.__name__, function)
    module.tools = builtins.tools = make_lazy("tools", "The tools of configured servers.")
    module.skills = make_lazy("skills", "Stored functions.", ["/skills"])

    def offer(name):
        if name in ERRORS or name == "Image":
            return getattr(part("tools"), name)
        raise AttributeError("module 'retort' has no attribute %r" % name)

    module.__getattr__ = offer
    module.__dir__ = lambda: names
    sys.modules["retort"] = NEEDED["retort"] = module


def in_venv():
    """Return whether there is a pyvenv.cfg where the module site looks for it."""
    base = (sys.executable or "").rpartition("/")[0]
    for place in (base, base.rpartition("/")[0]):
        try:
            posix.stat(place + "/pyvenv.cfg")
            return True
        except OSError:
            pass
    return False


STDLIB_NAMES = getattr(sys, "stdlib_module_names", ())


class Finder:
    """
    The first finder on sys.meta_path.

    It adds the site directories before the first import of a module that is neither built in nor from the
    standard library; and the user's, as soon as something is installed there. It calls hooks after certain
    modules were loaded.
    """

    site_pending = False
    user_site = ""  # the directory into which `pip install` writes, or ""
    user_site_ns = 0  # its modification time when it was looked at
    hooks = {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is None and name not in STDLIB_NAMES:
            cls.look_at_sites()
        if name in cls.hooks:
            return part("hooks").hooked_spec(name, path, target)
        if name[:7] == "IPython" or name[:17] == "matplotlib_inline" or name == "nest_asyncio":
            return part("ipython").find_spec(name, path, target)
        if name[:13] == "retort.tools.":
            return part("tools").find_spec(name)
        if name[:14] == "retort.skills.":
            part("skills").wake(NEEDED["retort.skills"])
        return None

    @classmethod
    def look_at_sites(cls):
        """Add the site directories, unless they were added; the user's also when it has changed since."""
        if cls.site_pending:
            cls.site_pending = False
            part("hooks").load_site()
        cls.look_at_user_site()

    @classmethod
    def look_at_user_site(cls):
        try:
            changed_ns = posix.stat(cls.user_site).st_mtime_ns if cls.user_site else 0
        except (OSError, ValueError):
            return
        if changed_ns != cls.user_site_ns:
            cls.user_site_ns = changed_ns
            part("hooks").add_user_site(cls.user_site)


def find_user_site():
    """Return the path of the user's site directory, whether it exists or not; "" if there is to be none."""
    own = posix.environ
    base = own.get(b"PYTHONUSERBASE") or own.get(b"HOME", b"") + b"/.local"
    if own.get(b"PYTHONNOUSERSITE") or base[:1] != b"/":
        return ""
    try:
        return "%s/lib/python%d.%d/site-packages" % (base.decode(), *sys.version_info[:2])
    except UnicodeDecodeError:
        return ""


def set_site():
    """
    Set up the site directories: at once in a virtual environment, otherwise when the first package is
    imported.
    """
    Finder.user_site = find_user_site()
    # With a virtual environment it is in PYTHONPATH. It is added when it exists, as in any other box.
    sys.path[:] = [place for place in sys.path if place != Finder.user_site]
    state.stdlib_path = list(sys.path)
    state.meta_path = list(sys.meta_path)
    state.path_hooks = list(sys.path_hooks)
    if not sys.flags.no_site:
        return
    if in_venv() or not hasattr(sys, "stdlib_module_names"):
        import site

        site.main()
        return
    import _sitebuiltins

    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()
    version = "python%d.%d" % sys.version_info[:2]
    for place in (
        "%s/local/lib/%s/dist-packages" % (sys.prefix, version),
        "%s/lib/python3/dist-packages" % sys.prefix,
        "%s/lib/%s/dist-packages" % (sys.prefix, version),
        "%s/lib/%s/site-packages" % (sys.prefix, version),
    ):
        try:
            posix.stat(place)
            sys.path.append(place)
        except OSError:
            pass
    Finder.site_pending = True


def wants_sixel():
    """Return whether the terminal shows images in sixel format."""
    return posix.environ.get(b"RETORT_IMAGES") == b"sixel"


def set_seed(seed):
    """Set --seed: random generators start from the same state in every run."""

    state.seed = seed

    def apply(module):
        module.seed(seed % (1 << 32))

    for name in "random", "numpy.random":
        Finder.hooks[name] = apply
        if name in sys.modules:
            apply(sys.modules[name])


def begin_ready():
    """Return the READY frame up to the process id, which a branch appends."""
    version = "%d.%d.%d" % sys.version_info[:3]
    about = encode({"version": version, "implementation": sys.implementation.name})
    return about[:-1] + ', "pid": '


def send_ready(n_locks=0, n_astray=0, n_gone=0):
    lost = (n_locks, n_astray, n_gone)
    ready = '%s%d, "locks": %d, "astray": %d, "gone": %d}' % (begin_ready(), state.home, *lost)
    try:
        native.send_frame(state.channel, READY, ready.encode())
    except OSError:
        pass  # the engine has closed the channel


def main(fd):
    """Serve the channel @fd. Does not return."""
    global this
    this = sys.modules.pop("driver")
    NEEDED.pop("driver", None)
    sys.path[:] = [place for place in sys.path if place != HERE]
    sys.path_importer_cache.pop(HERE, None)
    for low in (0, 1, 2):
        try:
            posix.fstat(low)
        except OSError:
            posix.open("/dev/null", posix.O_RDWR)
    state.channel = native.dup_high(fd)
    if fd > 2:
        posix.close(fd)
    state.out, state.err = native.dup_high(1), native.dup_high(2)
    native.protect_fds(state, posix)
    hush()
    send_ready()
    set_site()
    native.clear_flags(OUR_FLAGS)
    Finder.hooks = {
        "linecache": with_sources,
        "matplotlib": lambda module: part("hooks").patch_matplotlib(module),
        "matplotlib.axes._axes": lambda module: part("hooks").patch_axes(module),
        "matplotlib.pyplot": lambda module: part("hooks").patch_pyplot(module),
        "pandas": lambda module: part("hooks").patch_pandas(module),
        "inspect": lambda module: part("stack").patch_inspect(module),
        "logging": lambda module: part("stack").patch_logging(module),
        "traceback": lambda module: part("stack").patch_traceback(module),
        "tracemalloc": lambda module: part("stack").patch_tracemalloc(module),
        "asyncio.base_tasks": lambda module: part("stack").patch_tasks(module),
        "bdb": lambda module: part("stack").patch_bdb(module),
        "pdb": lambda module: part("stack").patch_pdb(module),
        "getpass": lambda module: part("stack").patch_getpass(module),
        "asyncio": lambda module: part("event_loop").patch_asyncio(module),
        "PIL.ImageShow": lambda module: part("hooks").patch_pil(module),
        "multiprocessing.resource_tracker": watch_tracker,
        "joblib.externals.loky.backend.resource_tracker": watch_tracker,
        "loky.backend.resource_tracker": watch_tracker,
    }
    seed = posix.environ.get(b"RETORT_SEED", b"")
    if seed.isdigit():
        set_seed(int(seed))
    sys.meta_path.insert(0, Finder)
    try:
        state.workspace = posix.getcwd()
    except OSError:
        pass
    sys.path.insert(0, state.workspace)
    state.stdin, state.stdout, state.stderr = sys.stdin, sys.stdout, sys.stderr
    if None in (sys.stdin, sys.stdout, sys.stderr):
        part("streams").restore()
    for stream in (state.stdin, state.stdout, state.stderr):
        stream.reconfigure(encoding="utf-8", errors=stream.errors)
    state.stdout.reconfigure(line_buffering=True)
    make_main()
    make_retort()
    serve()
    leave()
