# SPDX-License-Identifier: Apache-2.0
"""The standard streams. They are restored to their original state, whatever a step has done to them."""

import sys

import posix

WAITING = 25
LOOK_MS = 250

state = driver.state
native = driver.native


def is_open(stream):
    try:
        return stream is not None and not stream.closed
    except BaseException:
        return False


def open_stream(fd, mode):
    """Return a text stream on @fd as the interpreter would have created it, but always in UTF-8."""
    from io import open as io_open

    stream = io_open(
        fd,
        mode,
        encoding="utf-8",
        errors="backslashreplace" if fd == 2 else "surrogateescape",
        closefd=False,
        buffering=1 if mode == "w" else -1,
    )
    return stream


def is_pipe():
    return posix.fstat(0).st_mode & 0o170000 == 0o010000


def tell_waiting():
    """
    If the step waits for input, tell the engine. Returns: the poll object to wait with; None if it need not
    wait.
    """
    from select import poll

    look = poll()
    look.register(0, 1)
    step = state.step
    if step is None or look.poll(0):
        return None
    driver.send(WAITING, {"id": step.id})
    return look


def await_input():
    """
    Wait for input in slices. Otherwise a signal that arrives just before a blocking read would be handled
    only after the read.
    """
    look = tell_waiting()
    while look is not None and not look.poll(LOOK_MS):
        pass


def open_pipe():
    """
    Return a stream on the standard input, which is a pipe. The engine is told when a read finds the pipe
    empty.
    """
    from io import BufferedReader, FileIO, TextIOWrapper

    class Pipe(FileIO):
        __slots__ = ()

        def readinto(self, buffer):
            await_input()
            return FileIO.readinto(self, buffer)

        def readall(self):
            await_input()
            return FileIO.readall(self)

    raw = Pipe(0, "rb", closefd=False)
    return TextIOWrapper(BufferedReader(raw), encoding="utf-8", errors="surrogateescape")


def set_stdin(fds):
    """
    Set the standard input to the descriptor that came with the step, or to nothing. Unread data is dropped.
    """
    null = posix.open("/dev/null", posix.O_RDONLY)
    posix.dup2(fds[0] if fds else null, 0)
    for fd in (null, *fds):
        if fd != 0:
            posix.close(fd)
    state.has_stdin = bool(fds)
    state.stdin = sys.stdin = sys.__stdin__ = (
        open_pipe() if fds and is_pipe() else open_stream(0, "r")
    )


def restore():
    """Restore descriptors 0 to 2 and sys.stdin, stdout and stderr to their initial state."""
    for fd, copy in ((1, state.out), (2, state.err)):
        if not native.is_same_file(fd, copy):
            posix.dup2(copy, fd)
    if not native.is_same_file(0, 0):
        posix.open("/dev/null", posix.O_RDONLY)
    if not is_open(state.stdin):
        state.stdin = open_stream(0, "r")
    if not is_open(state.stdout):
        state.stdout = open_stream(1, "w")
    if not is_open(state.stderr):
        state.stderr = open_stream(2, "w")
    try:
        if (
            sys.stdin is sys.__stdin__ is state.stdin
            and sys.stdout is sys.__stdout__ is state.stdout
            and sys.stderr is sys.__stderr__ is state.stderr
        ):
            return
    except AttributeError:
        pass  # a step has deleted the attribute
    sys.stdin = sys.__stdin__ = state.stdin
    sys.stdout = sys.__stdout__ = state.stdout
    sys.stderr = sys.__stderr__ = state.stderr


def flush_files():
    """Flush file objects that were not closed."""
    import gc

    from _io import BufferedRandom, BufferedWriter, TextIOWrapper

    kinds = (BufferedRandom, BufferedWriter, TextIOWrapper)
    files = [o for o in gc.get_objects() if type(o) in kinds]
    files.sort(key=lambda f: type(f) is not TextIOWrapper)
    for file in files:
        try:
            if not file.closed:
                file.flush()
        except Exception:
            pass
