# SPDX-License-Identifier: Apache-2.0
"""How the escape tests attack: functions that are shipped into a box, and canaries outside of it.

    class Mounts(attack.Case):
        @attack.inside("EPERM", control="root")
        def test_T_MOUNT_binds_root():
            \"\"\"What the attacker tries.\"\"\"
            return call("mount", b"/", b"/tmp", 0, MS_BIND, 0)

The body runs in a box, in a process of its own, beside the other attempts of its class. Its outcome
is the name of the errno it failed with, the value it returned ("done" for None), or the signal that
ended it; what `inside` names must come out. With `control` the same body is run on the host as well
and must come to something else there, so that an attempt which could never succeed is found out.
Whatever the attempts say, the secret of the host must not be in the record.
"""

import functools
import hashlib
import inspect
import json
import os
import secrets
import stat
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

# x86_64, aarch64
NUMBERS = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "setns": (308, 268), "unshare": (272, 97), "clone": (56, 220), "clone3": (435, 435),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "process_madvise": (440, 440), "mknodat": (259, 33),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_setup": (206, 0),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "syslog": (103, 116), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "sethostname": (170, 161), "setdomainname": (171, 162),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "swapon": (167, 224), "quotactl": (179, 60), "acct": (163, 89),
    "iopl": (172, 0), "ioperm": (173, 0), "modify_ldt": (154, 0), "seccomp": (317, 277),
    "capset": (126, 91), "setuid": (105, 146), "setgroups": (116, 159), "personality": (135, 92),
    "mbind": (237, 235), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "vhangup": (153, 58), "lookup_dcookie": (212, 18), "socket": (41, 198),
    "sched_setscheduler": (144, 119), "ioprio_set": (251, 30), "prctl": (157, 167),
    "memfd_secret": (447, 447), "ioctl": (16, 29), "rt_sigqueueinfo": (129, 138),
    "openat2": (437, 437), "statmount": (457, 457), "listmount": (458, 458),
    "fchmodat2": (452, 452), "remap_file_pages": (216, 234), "kill": (62, 129),
}

PRELUDE = r"""
import ctypes, errno, json, os, platform, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ARCH = {"x86_64": 0, "aarch64": 1}[platform.machine()]
MS_BIND, MS_REC, MS_REMOUNT = 4096, 16384, 32
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
AT_FDCWD = -100

def word(x):
    return x if isinstance(x, (bytes, ctypes.Array, ctypes._Pointer)) or hasattr(x, "_obj") else (
        ctypes.byref(x) if isinstance(x, ctypes.Structure) else ctypes.c_long(x))

def call(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(NUMBERS[name][ARCH] if isinstance(name, str) else name),
                     *[word(a) for a in args])
    if r == -1:
        raise OSError(ctypes.get_errno(), str(name))
    return r

def read(path, n=4096):
    with open(path, "rb") as f:
        return f.read(n).decode("latin-1")

def write(path, data):
    with open(path, "wb", buffering=0) as f:
        f.write(data)

def outcome(f):
    try:
        value = f()
        return "done" if value is None else value
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
    except Exception as e:
        return "%s: %s" % (type(e).__name__, e)

def attempt(f):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            os.close(r)
            os.write(w, json.dumps(outcome(f)).encode()[:60000])
        finally:
            os._exit(0)
    os.close(w)
    text = b""
    while True:
        more = os.read(r, 65536)
        if not more:
            break
        text += more
    os.close(r)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        text = json.dumps(signal.Signals(os.WTERMSIG(status)).name).encode()
    print("@@" + json.dumps([f.__name__, json.loads(text or b'"nothing"')]), flush=True)
"""


def inside(*expected, control=False):
    """Mark a function as an attempt; @control: True, False, or "root" for only when we are root."""

    def mark(function):
        source = textwrap.dedent(inspect.getsource(function))
        source = source[source.index("def "):]
        name = function.__name__

        @functools.wraps(function)
        def check(self):
            self.check_attempt(name, expected, control)

        check.attempt_source = source
        check.attempt_control = control
        return check

    return mark


def wants_control(control):
    return control is True or (control == "root" and harness.IS_ROOT)


class Case(harness.Case):
    """The attempts of one class share one box."""

    options = ()
    env = None  # of the command
    prelude = ""  # code that the attempts of a class share
    secret = secrets.token_hex(16)

    @classmethod
    def host(cls):
        """What an attempt may know of the host, as variables."""
        return {}

    @classmethod
    def setUpClass(cls):
        if not hasattr(cls, "directory"):
            cls.directory = harness.make_dir()
        cls.secret_path = os.path.join(cls.directory, "secret")
        with open(cls.secret_path, "w", encoding="ascii") as f:
            f.write(cls.secret)
        known = dict(cls.host(), SECRET_PATH=cls.secret_path, NUMBERS=NUMBERS)
        items = {n: getattr(cls, n) for n in dir(cls) if hasattr(getattr(cls, n), "attempt_source")}
        cls.record = harness.record(program(items.values(), known, cls.prelude), *cls.options, env=cls.env)
        cls.rows = rows_of(cls.record["stdout"])
        controls = [f for f in items.values() if wants_control(f.attempt_control)]
        cls.control_rows = {}
        if controls:
            done = subprocess.run([sys.executable, "-c", program(controls, known, cls.prelude)], check=False,
                                  capture_output=True, timeout=60, cwd=cls.directory,
                                  env=harness.environment())
            cls.control_rows = rows_of(done.stdout.decode("utf-8", "replace"))

    def check_attempt(self, name, expected, control):
        self.assertIn(name, self.rows, f"no outcome; {str(self.record)[:3000]}")
        self.assertIn(self.rows[name], expected)
        self.assertNotIn(self.secret, json.dumps(self.record))
        with open(self.secret_path, encoding="ascii") as f:
            self.assertEqual(f.read(), self.secret, "the canary was changed")
        if wants_control(control):
            self.assertIn(name, self.control_rows, "the control gave no outcome")
            self.assertNotIn(self.control_rows[name], expected, "fails on the host too")


def program(functions, known, prelude=""):
    lines = [PRELUDE, prelude]
    lines += [f"{name} = {value!r}" for name, value in known.items()]
    for function in functions:
        source = function.attempt_source
        name = source[4:source.index("(")]
        lines += [source, f"attempt({name})"]
    return "\n".join(lines) + "\nNone\n"


def rows_of(text):
    return dict(json.loads(line[2:]) for line in text.splitlines() if line.startswith("@@"))


def popen(code, *options, **kwargs):
    """A run that goes on while the test looks on. The caller waits for it."""
    return subprocess.Popen(
        [harness.RETORT, "run", "--json", *options, "-c", code], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=harness.environment(),
        cwd=harness.TMP, **kwargs)


def finish(process, timeout=60):
    """The record of a popen(). A run that does not end is killed and is a failure."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"retort was still there after {timeout} s") from None
    try:
        return json.loads(out)
    except ValueError:
        raise AssertionError(f"no record: status {process.returncode}: {err[-2000:]}") from None


def run(code, *options, timeout=60, **kwargs):
    """Plain output; a hang is a failure, not an error."""
    try:
        return harness.run(code, *options, timeout=timeout, **kwargs)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"retort was still there after {timeout} s") from None


def record(code, *options, timeout=60, **kwargs):
    try:
        return harness.record(code, *options, timeout=timeout, **kwargs)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"retort was still there after {timeout} s") from None


def snapshot(top):
    """All that is in a directory: names, kinds, modes, contents."""
    found = {}
    for folder, dirs, names in os.walk(top):
        for name in (*dirs, *names):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(st.st_mode) else ""
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    content = hashlib.sha256(f.read()).hexdigest()
            found[os.path.relpath(path, top)] = (st.st_mode, content)
    return found
