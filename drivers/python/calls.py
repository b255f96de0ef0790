# SPDX-License-Identifier: Apache-2.0
"""Calls from the program to the engine: TOOL frames are sent, TOOL_RESULT frames are received.

Theory of operation. Any thread may call. The driver has no thread of its own, because a process with a
second thread cannot be cloned. So the waiting threads read the channel themselves, one at a time. The
one that reads is the *reader*. It stores each answer in its Call, and releases the locks on which the
other threads sleep (their *bells*). When the reader's own answer has come, the next waiting thread takes
over.

Interrupts. In the main thread a signal handler may raise an exception between any two bytecode
instructions. So a frame is appended to book.frames within one C call, before any Python code runs, and
stays there until it has been handled. Handling a frame twice has no further effect. The reader is
recorded by its thread id: a thread that was interrupted while reading finds that it is still the reader.

End of a step. Before RESULT is sent, reading and waiting stop. Calls without an answer are lost
(ToolLost). Call numbers are never reused, so an answer that arrives later matches no call and is
dropped."""

import _thread
import posix

# This happens only once, because other threads have the driver's sys.path meanwhile.
with driver.part("genuine").Genuine():
    import select

    driver.load_json()

state = driver.state
native = driver.native
OUTSTANDING_MAX = 64
ARGUMENTS_BYTES_MAX, WAITING_BYTES_MAX = 4 << 20, 15 << 20  # the engine accepts 16 MiB in all waiting calls
VALUES_MAX, WAITING_VALUES_MAX, DEPTH_MAX = 100_000, 190_000, 64
INT_MAX = (1 << 63) - 1
OVER = "the step ended before the answer came"


class RetortError(Exception):
    """Base of the errors that retort raises."""

    __module__ = "retort"


class ToolError(RetortError):
    """A tool failed. `tool` is its name, `name` the kind of failure, `hint` says what to do, or is None."""

    __module__ = "retort"
    tool = hint = None

    def __init__(self, message="", *, tool=None, hint=None, name=None):
        super().__init__(message)
        self.name = name or type(self).__name__
        if tool is not None:
            self.tool = tool
        if hint is not None:
            self.hint = hint

    def __str__(self):
        text = super().__str__()
        return "%s: %s" % (text, self.hint) if self.hint else text


class ToolDenied(ToolError):
    """The policy, or the person who was asked, does not allow the call."""

    __module__ = "retort"


class ToolArgumentError(ToolError):
    """There is no such tool, or it does not accept these arguments."""

    __module__ = "retort"


class ToolLost(ToolError):
    """The answer will not come: it is unknown whether the call took effect."""

    __module__ = "retort"


class ToolLimit(ToolError):
    """Too many calls, or too much data in one."""

    __module__ = "retort"


KINDS = {kind.__name__: kind for kind in (ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit)}


class Call:
    """
    A call that was sent. `answer` is a dict with "value" or "error"; it is None until the answer has
    arrived.
    """

    __slots__ = ("number", "answer", "request")

    def __init__(self, number, request):
        self.number, self.request, self.answer = number, request, None


class Request:
    """
    A call as it will be sent. Raises: ToolArgumentError, which names the place in the arguments; ToolLimit.
    """

    def __init__(self, name, arguments):
        plain = Plain(name)
        self.name = name
        self.text = driver.encode(plain.copy(arguments, "arguments", 0))
        self.values = VALUES_MAX - plain.left
        self.size = len(self.text) if self.text.isascii() else len(self.text.encode())
        if self.size > ARGUMENTS_BYTES_MAX:
            message = "%s: the arguments have %d bytes: the limit is %d"
            raise ToolLimit(message % (name, self.size, ARGUMENTS_BYTES_MAX), tool=name)


class Book:
    """The state that all threads share: calls, sleeping threads, the reader."""

    last = 0
    waiting = {}  # maps a call number to the Call that waits for its answer
    frames = []  # frames that were read but not handled yet
    lock = _thread.RLock()
    reader = None  # id of the thread that reads the channel, or None
    # ids of the threads that read and send; a signal handler in such a thread must not read or send
    reading = sending = None
    bells = set()  # locks on which threads sleep
    wake = None  # a pipe that wakes the reader; a reader in the main thread is woken by a signal instead
    ended = None  # id of the last step that ended


book = Book()


def is_over():
    return state.step is None or state.step.id == book.ended


# ---- reading ----------------------------------------------------------------------------------


def wait(is_done):
    """
    Wait until @is_done(), which is checked after each frame. Read frames meanwhile, or sleep while another
    thread reads them.
    """
    me = _thread.get_ident()
    try:
        while not is_done():
            if claim(me):
                read(me)
            else:
                sleep(is_done)
    finally:
        resign(me)


def claim(me):
    """Become the reader if no thread is. Returns: whether this thread is now the reader."""
    with book.lock:
        if book.reader is None:
            book.reader = me
        return book.reader == me


def resign(me):
    with book.lock:
        if book.reader == me:
            book.reader = None
    ring()


def sleep(is_done):
    bell = _thread.allocate_lock()
    bell.acquire()
    book.bells.add(bell)
    # Without a reader, perhaps no other thread is left to release the lock.
    if book.reader is not None and not is_done():
        bell.acquire()


def ring():
    for bell in list(book.bells):
        try:
            bell.release()
        except RuntimeError:
            pass  # a reader that was interrupted has already released it
        book.bells.discard(bell)


def read(me):
    """Read one frame and handle it. Return early when the step ends."""
    book.reading = me
    try:
        if not book.frames and (me == state.thread or await_frame()):
            receive()
        while book.frames:
            take(book.frames[0])
            del book.frames[0]
    finally:
        book.reading = None
    ring()


def receive():
    try:
        # One C call reads and appends, so no signal handler runs in between.
        book.frames.extend(map(native.recv_frame, (state.channel,), (driver.FRAME_MAX,)))
    except (OSError, ValueError):
        book.frames.append(None)


def await_frame():
    """Wait for a frame. Returns: whether one can be read; False if the step has ended."""
    if book.wake is None:
        pair = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        book.wake = tuple(native.dup_high(fd) for fd in pair)
        for fd in pair:
            posix.close(fd)
    if not is_over():
        poll = select.poll()
        for fd in (state.channel, book.wake[0]):
            poll.register(fd, select.POLLIN)
        poll.poll()
    return not is_over()


def take(frame):
    """Handle a frame. Handling it again has no effect."""
    if frame is None:
        lose("the engine no longer answers")
        return
    kind, payload, _ = frame
    if kind != driver.TOOL_RESULT:
        if not any(early is frame for early in state.early):
            state.early.append(frame)
        return
    number, answer = read_answer(payload)
    call = book.waiting.get(number)
    if call is not None:
        call.answer = answer
        book.waiting.pop(number, None)


def read_answer(payload):
    """Parse a TOOL_RESULT. Returns: (call number, answer); the number is None if the payload is invalid."""
    number = leading_number(payload)
    try:
        answer = decode(payload)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the answer is nested too deeply, or too large for memory
        kind = driver.part("failure").safe_name(error)
        return number, failure("ToolLost", "the answer cannot be read (%s)" % kind)
    if type(answer) is not dict:
        return None, None
    if type(answer.get("call")) is int:
        number = answer["call"]
    error = answer.get("error")
    if "value" not in answer and not (type(error) is dict and type(error.get("message")) is str):
        answer = failure("ToolLost", "the answer is neither a value nor an error")
    return number, answer


def leading_number(payload):
    """Return N of a payload that begins {"call": N, or None."""
    head = payload[:40].replace(b" ", b"")
    digits = head[8:].partition(b",")[0]
    return int(digits) if head[:8] == b'{"call":' and digits.isdigit() else None


def decode(payload):
    """
    Parse JSON that contains text of others. Unlike the engine's own frames, it must never be passed to
    eval().
    """
    if state.scan is None:
        return driver.part("genuine").parse_json(payload.decode())
    return state.scan(payload.decode(), 0)[0]


def failure(name, message):
    return {"error": {"name": name, "message": message}}


def lose(why):
    """Mark all calls without an answer as lost."""
    for call in list(book.waiting.values()):
        call.answer = failure("ToolLost", why)
    book.waiting.clear()


def end_step():
    """Stop reading and waiting until the next step. Called with signals blocked."""
    with state.lock:
        book.ended = state.step.id
        book.sending = None
    lose(OVER)
    if book.reader == state.thread:
        book.reader = None  # a signal has interrupted this thread's wait
    ring()
    while book.reader is not None:
        wake_reader()
        sleep(lambda: False)
    book.reading = None
    while book.frames:
        take(book.frames.pop(0))
    driver.part("branch").close_all(book.wake or ())
    book.wake = None


def wake_reader():
    try:
        posix.write(book.wake[1], b".")
    except (OSError, TypeError):
        # The pipe may not exist yet: then the reader will check is_over() before it waits. Or user code has
        # closed it.
        pass


# ---- calling ----------------------------------------------------------------------------------


def call_all(requests):
    """
    Make the calls [(name, arguments), …]. Send as many at once as the limits allow, and wait for the
    answers.

    Returns: a value or a ToolError for each call, in order.
    """
    if posix.getpid() != state.home:
        raise RuntimeError(
            "a forked process cannot call a tool: call it in the process that runs the step, and "
            "pass the result on"
        )
    if _thread.get_ident() in (book.reading, book.sending):
        raise RuntimeError("a tool was called by a signal handler or a finalizer, in the middle of a call")
    state.calls = state.parts["calls"]
    ready = [Request(name, arguments) for name, arguments in requests]
    calls = [send_when_possible(request) for request in ready]
    for call in calls:
        wait(lambda: call.answer is not None)
    return [outcome(call.request.name, call.answer) for call in calls]


def call_one(name, arguments):
    """Make one call. Returns: its value. Raises: ToolError."""
    (found,) = call_all([(name, arguments)])
    if isinstance(found, ToolError):
        raise found
    return found


def has_room(request):
    """Return whether @request may be sent now, given the limits for waiting calls."""
    others = [call.request for call in list(book.waiting.values())]
    return not others or (
        len(others) < OUTSTANDING_MAX
        and sum(other.size for other in others) + request.size <= WAITING_BYTES_MAX
        and sum(other.values for other in others) + request.values <= WAITING_VALUES_MAX
    )


def send_when_possible(request):
    while True:
        wait(lambda: has_room(request))
        call = send(request)
        if call is not None:
            return call


def send(request):
    """Send a call. Returns: the Call; None if other threads have reached the limit first."""
    with state.lock:
        if is_over():
            raise RuntimeError("%s: tools can only be called while a step runs" % request.name)
        if not has_room(request):
            return None
        book.sending = _thread.get_ident()
        try:
            return send_next(request)
        finally:
            book.sending = None


def send_next(request):
    call = Call(book.last + 1, request)
    book.last = call.number
    book.waiting[call.number] = call
    head = (driver.quote(state.step.id), call.number, driver.quote(request.name), request.text)
    payload = '{"id":%s,"call":%d,"name":%s,"arguments":%s}' % head
    try:
        native.send_frame(state.channel, driver.TOOL, payload.encode())
    except OSError:
        book.waiting.pop(call.number, None)
        call.answer = failure("ToolLost", "the engine cannot be reached")
    return call


def outcome(name, answer):
    """Return the value of an answer, or the ToolError that the answer describes."""
    if "value" in answer:
        return driver.part("tools").show_images(answer["value"])
    error = answer["error"]
    kind = error.get("name") if type(error.get("name")) is str else "ToolError"
    hint = error.get("hint") if type(error.get("hint")) is str else None
    return KINDS.get(kind, ToolError)(error["message"], tool=name, hint=hint, name=kind)


# ---- arguments ----------------------------------------------------------------------------------


class Plain:
    """Convert values to plain JSON, including those of numpy and pandas."""

    def __init__(self, tool):
        self.tool, self.left = tool, VALUES_MAX

    def refuse(self, where, why):
        raise ToolArgumentError("%s: %s: %s" % (self.tool, where, why), tool=self.tool)

    def copy(self, value, where, depth):
        self.left -= 1
        if self.left < 0:
            self.refuse("arguments", "more than %d values" % VALUES_MAX)
        if depth > DEPTH_MAX:
            self.refuse(where, "nested deeper than %d" % DEPTH_MAX)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return self.number(int.__index__(value), where)
        if isinstance(value, float):
            return self.number(float.__float__(value), where)
        if isinstance(value, dict):
            return {self.key(k, where): self.copy(v, "%s.%s" % (where, k), depth + 1)
                    for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.copy(v, "%s[%d]" % (where, i), depth + 1) for i, v in enumerate(value)]
        return self.copy(self.simpler(value, where), where, depth + 1)

    def number(self, value, where):
        if type(value) is float and value - value != 0:
            self.refuse(where, "%r is not a JSON number" % value)
        if type(value) is int and not -INT_MAX - 1 <= value <= INT_MAX:
            self.refuse(where, "an integer of more than 64 bits: give it as text")
        return value

    def key(self, key, where):
        if not isinstance(key, str):
            self.refuse(where, "the key %r is not text" % (key,))
        return str.__str__(key)

    def simpler(self, value, where):
        """Convert a numpy or pandas value to lists and numbers, and a path to text."""
        if hasattr(value, "dtype") and callable(getattr(value, "tolist", None)):
            return value.tolist()
        if hasattr(type(value), "__fspath__"):
            return type(value).__fspath__(value)
        kind = driver.part("failure").safe_name(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.refuse(where, "%s is not JSON: give base64.b64encode(…).decode()" % kind)
        self.refuse(where, "%s is not JSON: give text, numbers, True, False, None, lists, dicts" % kind)
