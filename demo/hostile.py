# SPDX-License-Identifier: Apache-2.0
"""What nobody wants to run: it tries to damage and to spy on the host, and says how it went.

One line per attempt, "what → refused: reason" or "what → DONE: …". The last attempt takes memory
until it is stopped, and so ends the run. Arguments: paths of the host to go for.

Do not run this outside a box.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys

if os.environ.get("RETORT") != "1":
    raise SystemExit("hostile.py: this must run in a box, with `retort run`")

MIB = 1 << 20


class Done(Exception):
    """It worked, which it must not."""


def attempt(what, function, *args):
    try:
        outcome = "refused: " + function(*args)
    except Done as e:
        outcome = f"DONE: {e}"
    except (OSError, subprocess.SubprocessError) as e:
        outcome = "refused: " + (getattr(e, "strerror", None) or str(e))
    print(f"{what} → {outcome}", flush=True)


def delete(*tops):
    """Unlink what is below some directories, as far as it goes."""
    reasons, n = set(), 0
    for top in tops:
        if not os.path.lexists(top):
            reasons.add("No such file or directory")
        for where, _, files in os.walk(top):
            for name in files:
                n += 1
                try:
                    os.unlink(os.path.join(where, name))
                except OSError as e:
                    reasons.add(e.strerror)
                else:
                    raise Done(os.path.join(where, name))
            if n > 1000:
                break
    return ", ".join(sorted(reasons))


def read(path):
    with open(path, "rb") as f:
        raise Done(f"{len(f.read())} bytes")


def write(path):
    with open(path, "ab"):
        raise Done(path)


def look_up(name):
    raise Done(socket.getaddrinfo(name, 443)[0][4][0])


def connect(address, port):
    with socket.create_connection((address, port), timeout=3):
        raise Done("connected")


def environments():
    """What others were started with: their secrets, often."""
    others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
    reasons = set()
    for pid in others:
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                f.read()
        except OSError as e:
            reasons.add(e.strerror)
        else:
            raise Done(f"process {pid}")
    return f"{', '.join(reasons)} ({len(others)} in sight: init)"


def kill_everything():
    """Whoever has a process id, but for us and for init, which no signal from its box can kill."""
    for pid in range(2, 40000):
        if pid == os.getpid():
            continue
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError as e:
            reason = e.strerror
        else:
            raise Done(f"process {pid}")
    return f"{reason}, at each of 39,997 ids"


def become_root():
    try:
        os.setuid(0)
    except OSError as e:
        return f"{e.strerror} (a box has no user 0)"
    raise Done("uid 0")


def new_namespace():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    raise Done("in a namespace with all capabilities")


def fill_disk():
    paths, written = [], 0
    try:
        while written < 4096 * MIB:
            paths.append(f"/tmp/fill-{len(paths)}")
            with open(paths[-1], "wb", buffering=0) as f:
                for _ in range(64):
                    written += f.write(b"\xaa" * MIB)
    except OSError as e:
        return f"{e.strerror} after {written // MIB} MiB"
    finally:
        for path in paths:
            os.unlink(path)
    raise Done(f"{written // MIB} MiB")


def fork_bomb():
    children = []
    try:
        while len(children) < 5000:
            pid = os.fork()
            if pid == 0:
                signal.pause()
            children.append(pid)
    except OSError as e:
        return f"{e.strerror} after {len(children)} processes"
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)
    raise Done(f"{len(children)} processes")


for path in sys.argv[1:]:
    attempt(f"delete {path}", delete, path)
attempt("delete /usr and /etc", delete, "/usr", "/etc")
attempt("write to /usr/bin/python3", write, "/usr/bin/python3")
attempt("read /etc/shadow", read, "/etc/shadow")
attempt("read the environments of other processes", environments)
attempt("look up example.com", look_up, "example.com")
attempt("connect to the metadata address 169.254.169.254", connect, "169.254.169.254", 80)
attempt("connect to 1.1.1.1", connect, "1.1.1.1", 443)
attempt("become root", become_root)
attempt("make a user namespace, to have capabilities", new_namespace)
attempt("kill every process", kill_everything)
attempt("fill the disk", fill_disk)
attempt("fork without end", fork_bomb)

print("take memory without end", flush=True)
taken = []
while True:
    try:
        taken.append(b"\xaa" * (16 * MIB))
    except MemoryError:
        pass
