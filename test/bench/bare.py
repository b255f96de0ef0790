# SPDX-License-Identifier: Apache-2.0
"""Bare branches: a copy of this process in new namespaces, three mounts, loopback, and a line of code.

No filter, no limits, no cgroup, no init, no check of anything, nothing kept.
Reads lines from standard input. What a line prints in its copy goes to standard output; the copies then wait until
an empty line ends them.

usage: bare.py MODULE [CODE]
"""

import ctypes
import fcntl
import gc
import os
import platform
import signal
import socket
import struct
import sys

CLONE = {"x86_64": 56, "aarch64": 220}
NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # user ns pid net ipc uts
NO_SUID, NO_DEV, NO_EXEC = 2, 4, 8
SIOCSIFFLAGS, UP_AND_RUNNING = 0x8914, 0x41

libc = ctypes.PyDLL(None, use_errno=True)  # as an extension calls it: with the interpreter's lock
python = ctypes.pythonapi


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text)
    os.close(fd)


def mount(kind, at, flags):
    if libc.mount(kind, at, kind, flags, None) < 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} on {at}")


def furnish():
    write("/proc/self/setgroups", b"deny")
    write("/proc/self/uid_map", b"1000 %d 1" % UID)
    write("/proc/self/gid_map", b"1000 %d 1" % GID)
    mount(b"tmpfs", b"/tmp", NO_SUID | NO_DEV)
    mount(b"tmpfs", b"/dev/shm", NO_SUID | NO_DEV)
    mount(b"proc", b"/proc", NO_SUID | NO_DEV | NO_EXEC)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))


def branch(line):
    """Returns: the copy's pid; in the copy it does not."""
    python.PyOS_BeforeFork()
    pid = libc.syscall(CLONE, NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
    if pid != 0:
        python.PyOS_AfterFork_Parent()
        if pid < 0:
            raise OSError(ctypes.get_errno(), "clone")
        return pid
    python.PyOS_AfterFork_Child()
    try:
        furnish()
        exec(line, space)
        sys.stdout.flush()
    except BaseException as e:
        print(f"error: {e}", flush=True)
    signal.pause()


CLONE = CLONE[platform.machine()]
UID, GID = os.geteuid(), os.getegid()
space = {}
exec(f"import {sys.argv[1]}", space)
exec("\n".join(sys.argv[2:]), space)
gc.collect()
gc.freeze()
print("ready", flush=True)
copies = []
for line in sys.stdin.buffer:
    if line != b"\n":
        copies.append(branch(line))
        continue
    for pid in copies:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    copies.clear()
    print("ended", flush=True)
