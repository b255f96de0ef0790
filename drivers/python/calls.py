# SPDX-License-Identifier: Apache-2.0
"""
Calls of the outside: TOOL frames, and who waits for which TOOL_RESULT.

Theory of operation. Any thread of the process may call. While a step runs nobody reads the channel but threads that
wait for an answer, one at a time: the reader. It lays each answer where the call it is for finds it, and rings; when
its own has come, the next one reads on. A signal handler may raise in the main thread between any two instructions.
So a frame that C code has read is in `frames` before Python runs again, and stays there until it has been dealt with;
dealing with one twice changes nothing; and who reads is written down as a thread, which finds out that it still does.

Before the step's RESULT goes out all of that ends: what has not been answered is lost, and nobody reads. What the
engine may have sent meanwhile is skipped as an answer to nothing: a number is never used again.
"""

import _thread
import posix

with driver.part("genuine").Genuine():  # once: while it lasts, other threads import with our sys.path
    import select

    driver.load_json()

state = driver.state
native = driver.native
OUTSTANDING_MAX = 64
ARGUMENTS_BYTES_MAX, WAITING_BYTES_MAX = 4 << 20, 15 << 20  # the engine takes 16 MiB, of all that wait
VALUES_MAX, WAITING_VALUES_MAX, DEPTH_MAX = 100_000, 190_000, 64
INT_MAX = (1 << 63) - 1
OVER = "the step ended before the answer came"


class RetortError(Exception):
    """What retort itself says went wrong."""

    __module__ = "retort"


class ToolError(RetortError):
    """A tool failed. `tool` is its name, `name` the kind of failure, `hint` what to do, or None."""

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
    """The policy, or who was asked, does not allow the call."""

    __module__ = "retort"


class ToolArgumentError(ToolError):
    """There is no such tool, or it does not take these arguments."""

    __module__ = "retort"


class ToolLost(ToolError):
    """No answer comes: whether the call took effect is not known."""

    __module__ = "retort"


class ToolLimit(ToolError):
    """Too many calls, or too much in one."""

    __module__ = "retort"


KINDS = {kind.__name__: kind for kind in (ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit)}


class Call:
    """A call that was sent. Its answer is a dict with "value" or "error"; None before it comes."""

    __slots__ = ("number", "answer", "request")

    def __init__(self, number, request):
        self.number, self.request, self.answer = number, request, None


class Request:
    """What is to be sent. Raises: ToolArgumentError, which says where; ToolLimit."""

    def __init__(self, name, arguments):
        plain = Plain(name)
        self.name = name
        self.text = driver.encode(plain.copy(arguments, "arguments", 0))
        self.values = VALUES_MAX - plain.left
        self.size = len(self.text) if self.text.isascii() else len(self.text.encode())
        if self.size > ARGUMENTS_BYTES_MAX:
            message = "%s: arguments of %d bytes: the limit is %d"
            raise ToolLimit(message % (name, self.size, ARGUMENTS_BYTES_MAX), tool=name)


class Book:
    """Who has called, who waits, who reads."""

    last = 0
    waiting = {}  # number → Call without an answer
    frames = []  # read, and not dealt with
    lock = _thread.RLock()
    reader = None  # a thread's number
    reading = sending = None  # threads in the middle of that, which no handler of a signal may begin anew
    bells = set()  # locks of threads that sleep
    wake = None  # a pipe that ends a reader's wait, but the main thread's, which a signal can
    ended = None  # the id of the last step that is over


book = Book()


def is_over():
    return state.step is None or state.step.id == book.ended


# ---- reading ----------------------------------------------------------------------------------


def wait(is_done):
    """Until @is_done(), which is asked after each frame: read, or sleep while another thread reads."""
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
    """Be the reader if nobody is."""
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
    if book.reader is not None and not is_done():  # else nobody might ring any more
        bell.acquire()


def ring():
    for bell in list(book.bells):
        try:
            bell.release()
        except RuntimeError:
            pass  # it was rung by one that was interrupted
        book.bells.discard(bell)


def read(me):
    """Read a frame and deal with it. Returns early when the step ends."""
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
        # In C from the call to the list: no signal handler comes in between.
        book.frames.extend(map(native.recv_frame, (state.channel,), (driver.FRAME_MAX,)))
    except (OSError, ValueError):
        book.frames.append(None)


def await_frame():
    """Returns: whether there is something to read; if not, the step ends."""
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
    """Deal with a frame; the second time with the same one nothing is left to do."""
    if frame is None:
        lose("the engine does not answer any more")
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
    """(number of the call, answer) of a TOOL_RESULT; the number is None when it is none."""
    number = leading_number(payload)
    try:
        answer = decode(payload)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # nested too deep, or more than there is memory for
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
    """The number that a payload begins with, {"call": N, or None."""
    head = payload[:40].replace(b" ", b"")
    digits = head[8:].partition(b",")[0]
    return int(digits) if head[:8] == b'{"call":' and digits.isdigit() else None


def decode(payload):
    """JSON that holds what others wrote: never by eval(), as frames of the engine's own may be."""
    if state.scan is None:
        return driver.part("genuine").parse_json(payload.decode())
    return state.scan(payload.decode(), 0)[0]


def failure(name, message):
    return {"error": {"name": name, "message": message}}


def lose(why):
    """All that was called and not answered will never be."""
    for call in list(book.waiting.values()):
        call.answer = failure("ToolLost", why)
    book.waiting.clear()


def end_step():
    """Nobody reads and nobody waits any more, until the next step. Called with signals held back."""
    with state.lock:
        book.ended = state.step.id
        book.sending = None
    lose(OVER)
    if book.reader == state.thread:
        book.reader = None  # a signal took it out of its wait
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
        pass  # there is none yet: it looks before it waits; or user code has closed it


# ---- calling ----------------------------------------------------------------------------------


def call_all(requests):
    """
    Make the calls [(name, arguments), …]: all are sent, as many at once as may be, then their answers
    are waited for. Returns: outcomes in their order, each a value or a ToolError.
    """
    if posix.getpid() != state.home:
        raise RuntimeError(
            "a forked process cannot call a tool: call it in the process that runs the step, and "
            "pass on what it gives"
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
    """Make a call. Returns: its value. Raises: ToolError."""
    (found,) = call_all([(name, arguments)])
    if isinstance(found, ToolError):
        raise found
    return found


def has_room(request):
    """May it be sent now, beside those that wait?"""
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
    """Returns: the call, or None when others were quicker and no more may be outstanding."""
    with state.lock:
        if is_over():
            raise RuntimeError("%s: a tool can be called while a step runs, and none does" % request.name)
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
    """The value of an answer, or the ToolError that it is."""
    if "value" in answer:
        return driver.part("tools").show_images(answer["value"])
    error = answer["error"]
    kind = error.get("name") if type(error.get("name")) is str else "ToolError"
    hint = error.get("hint") if type(error.get("hint")) is str else None
    return KINDS.get(kind, ToolError)(error["message"], tool=name, hint=hint, name=kind)


# ---- arguments ----------------------------------------------------------------------------------


class Plain:
    """Makes values plain JSON, also those of numpy and pandas."""

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
            self.refuse(where, "%r is no number of JSON" % value)
        if type(value) is int and not -INT_MAX - 1 <= value <= INT_MAX:
            self.refuse(where, "an integer of over 64 bits: give it as text")
        return value

    def key(self, key, where):
        if not isinstance(key, str):
            self.refuse(where, "the key %r is no text" % (key,))
        return str.__str__(key)

    def simpler(self, value, where):
        """A numpy or pandas value as lists and numbers, a path as text."""
        if hasattr(value, "dtype") and callable(getattr(value, "tolist", None)):
            return value.tolist()
        if hasattr(type(value), "__fspath__"):
            return type(value).__fspath__(value)
        kind = driver.part("failure").safe_name(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.refuse(where, "%s is no JSON: give base64.b64encode(…).decode()" % kind)
        self.refuse(where, "%s is no JSON: give text, numbers, True, False, None, lists, dicts" % kind)
