# SPDX-License-Identifier: Apache-2.0
"""The standard streams, put back to what they were whatever a step has done to them."""

import sys

import posix

state = driver.state
native = driver.native


def is_open(stream):
    try:
        return stream is not None and not stream.closed
    except BaseException:
        return False


def open_stream(fd, mode):
    """A text stream on @fd as the interpreter would have made it, but always UTF-8."""
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


def set_stdin(fds):
    """Let the step read the descriptor that came with it, or nothing. What it leaves is dropped."""
    null = posix.open("/dev/null", posix.O_RDONLY)
    posix.dup2(fds[0] if fds else null, 0)
    for fd in (null, *fds):
        if fd != 0:
            posix.close(fd)
    state.has_stdin = bool(fds)
    state.stdin = sys.stdin = sys.__stdin__ = open_stream(0, "r")


def restore():
    """Make fds 0–2 and sys.stdin, stdout and stderr what they were at the start."""
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
        pass  # a step has deleted one
    sys.stdin = sys.__stdin__ = state.stdin
    sys.stdout = sys.__stdout__ = state.stdout
    sys.stderr = sys.__stderr__ = state.stderr
