# SPDX-License-Identifier: Apache-2.0
"""retort at a terminal, as a person uses it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import harness

WAIT_S = 60


class Terminal:
    """A pseudo-terminal. A shell holds it open, so that its modes can be looked at when the command has ended."""

    def __init__(self, *args, env=None, rows=24, columns=80, program=None):
        self.out = b""
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            os.login_tty(self.slave) if hasattr(os, "login_tty") else self._login()
            os.execvpe(program or harness.RETORT, [program or "retort", *args], harness.environment({"TERM": "xterm", **(env or {})}))
        self.status = None

    def _login(self):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(self.slave, fd)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self, pattern):
        """Read until @pattern comes. Returns: its match; what follows it stays unread."""
        end = time.monotonic() + WAIT_S
        while not (found := re.search(pattern.encode(), self.out)):
            if time.monotonic() > end:
                raise AssertionError(f"no {pattern!r} in {self.out.decode(errors='replace')!r}")
            if select.select([self.master], [], [], 1)[0]:
                self.out += os.read(self.master, 1 << 16)
        self.out = self.out[found.end():]
        return found

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def wait_until(self, condition):
        end = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"it does not happen; {self.out!r}")
            if select.select([self.master], [], [], 0.01)[0]:
                self.out += os.read(self.master, 1 << 16)

    def end(self):
        """Wait for its end. Returns: its exit status, negative after a signal. What it said is in `out`."""
        def is_over():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid
        self.wait_until(is_over)
        while select.select([self.master], [], [], 0)[0]:
            self.out += os.read(self.master, 1 << 16)
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
