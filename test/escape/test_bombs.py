# SPDX-License-Identifier: Apache-2.0
"""Bombs of processes, disk and output, memory that no process's size shows, quotas: the run ends within its limits, and
the host is as before. test_alone_bombs.py has those of memory."""

import ctypes
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import leftovers  # noqa: E402
import rpc  # noqa: E402

MIB = 1 << 20
# A machine under load is slow to clean up; what is left for longer stays.
SETTLE_S = 40


class Bombs(harness.Case):
    def setUp(self):
        self.before = leftovers.state()

    def tearDown(self):
        self.assertEqual(leftovers.since(self.before, SETTLE_S), [])

    def bomb(self, code, *options, statuses=("error", "oom", "timeout", "killed")):
        """Run it. Returns the record."""
        record = attack.record(code, *leftovers.MARK_OPTION, "--timeout", "2s", *options, timeout=SETTLE_S)
        self.assertIn(record["status"], statuses, record.get("error"))
        return record


class Processes(Bombs):
    def test_T_BOMB_FORK_forks(self):
        """Fork without end."""
        self.bomb("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")

    def test_T_BOMB_FORK_forks_of_a_shell(self):
        """The classic one."""
        self.bomb("import subprocess\nsubprocess.run(['bash', '-c', ':(){ :|:& };:; wait; sleep 60'])")

    def test_T_BOMB_FORK_threads(self):
        """Threads without end."""
        record = self.bomb("import threading, time\nn = 0\ntry:\n    while True:\n"
                           "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
                           "        n += 1\nexcept RuntimeError: print(n, flush=True)\n"
                           "import os\nos._exit(1)", "--pids", "64", "--timeout", "20s")
        self.assertLess(int(record["stdout"]), 64)

    def test_T_BOMB_FORK_zombies(self):
        """Children that nobody waits for."""
        record = self.bomb("import os\nn = 0\ntry:\n    while True:\n"
                           "        if os.fork() == 0: os._exit(0)\n        n += 1\n"
                           "except OSError: print(n, flush=True)\nos._exit(1)", "--pids", "64", "--timeout", "20s")
        self.assertLess(int(record["stdout"]), 65)

    def test_T_BOMB_FORK_replaces_itself(self):
        """Fork, let the parent end: never more than one, never the same."""
        self.bomb("import os\nwhile True:\n    if os.fork(): os._exit(0)\n",
                  statuses=("ok", "error", "timeout", "killed"))

    def test_T_BOMB_CPU_spins(self):
        """Spin on every core."""
        record = self.bomb("import os\nfor i in range(4): os.fork()\nwhile True: pass",
                           "--cpu-time", "1s", "--cpus", "1", "--timeout", "20s", statuses=("timeout",))
        self.assertLess(record["usage"]["cpu_ms"], 8000)

    def test_T_BOMB_CPU_sleeps(self):
        """Sleep for ever in a call that no Python signal interrupts."""
        self.bomb("import ctypes\nwhile True: ctypes.CDLL(None).sleep(1000)", "--timeout", "1s",
                  statuses=("timeout",))

    def test_T_BOMB_CPU_hides_in_children(self):
        """Short children whose parent ignores their end: no books are kept of them."""
        record = self.bomb(
            "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
            "while True:\n    if os.fork() == 0:\n"
            "        end = time.time() + 0.05\n        while time.time() < end: pass\n"
            "        os._exit(0)\n    time.sleep(0.05)\n", statuses=("timeout",))
        self.assertLess(record["usage"]["wall_ms"], 8000)


class Disk(Bombs):
    def test_T_BOMB_DISK_one_file(self):
        """A file without end."""
        self.bomb("f = open('x', 'wb')\nwhile True: f.write(b'1' * (1 << 20))", "--disk", "64m")

    def test_T_BOMB_DISK_many_files(self):
        """Files without end, in all three places."""
        record = self.bomb("import shutil\nn = 0\ntry:\n    while True:\n"
                           "        for d in ('.', '/tmp', '/dev/shm'):\n"
                           "            with open('%s/%d' % (d, n), 'wb') as f: f.write(b'1' * (1 << 20))\n"
                           "        n += 1\nexcept OSError: print(n, flush=True)\n1 / 0", "--disk", "64m", "--timeout", "20s")
        self.assertLess(int(record["stdout"]), 23)

    def test_T_BOMB_DISK_one_file_on_the_host(self):
        """A file without end in a workspace of the host."""
        directory = harness.make_dir()
        self.bomb("f = open('x', 'wb')\nwhile True: f.write(b'1' * (1 << 20))", "-w", directory)
        self.assertLessEqual(os.path.getsize(os.path.join(directory, "x")), 256 * MIB)
        os.unlink(os.path.join(directory, "x"))

    def test_T_BOMB_FILES_inodes(self):
        """Empty files without end."""
        record = self.bomb("n = 0\ntry:\n    while True:\n        open(str(n), 'w').close(); n += 1\n"
                           "except OSError: print(n, flush=True)\n1 / 0", "--timeout", "15s")
        self.assertLessEqual(int(record["stdout"]), 65536)

    def test_T_BOMB_FILES_open(self):
        """Open files without end."""
        record = self.bomb("x = []\ntry:\n    while True: x.append(open('/dev/null'))\n"
                           "except OSError: print(len(x), flush=True)\n1 / 0", "--timeout", "20s")
        self.assertLess(int(record["stdout"]), 1024)

    def test_T_BOMB_FILES_deep_directory(self):
        """A directory in a directory without end."""
        self.bomb("import os\nwhile True:\n    os.mkdir('d'); os.chdir('d')")

    def test_T_BOMB_FILES_links_and_names(self):
        """Links, long names and attributes, which take memory and no disk."""
        self.bomb("import os\nn = 0\nopen('x', 'w').close()\nwhile True:\n"
                  "    os.symlink('t' * 4000, ('%d-' % n).ljust(250, 'n')); n += 1\n"
                  "    os.link('x', 'h%d' % n)", "-m", "128m", "--timeout", "10s")

    def test_T_BOMB_FILES_attributes(self):
        """Extended attributes without end."""
        self.bomb("import os\nopen('x', 'w').close()\nn = 0\nwhile True:\n"
                  "    os.setxattr('x', 'user.%d' % n, b'1' * 60000); n += 1", "-m", "128m")


class Output(Bombs):
    def test_T_BOMB_OUTPUT_endless(self):
        """Output without end, to both streams: the record holds what the limit says."""
        record = self.bomb("import os\nb = b'x' * 65536\nwhile True:\n    os.write(1, b); os.write(2, b)",
                           statuses=("timeout",))
        self.assertLessEqual(len(record["stdout"]), 11 * MIB)
        self.assertGreater(record["truncated"]["stdout_bytes"], 0)

    def test_T_BOMB_OUTPUT_of_many_processes(self):
        """The same from twenty processes."""
        self.bomb("import os\nfor i in range(20):\n    if os.fork() == 0: break\n"
                  "while True: os.write(1, b'y\\n' * 30000)", statuses=("timeout",))

    def test_T_BOMB_OUTPUT_that_nobody_reads(self):
        """Output while the reader of retort's own output sleeps: the limit holds all the same."""
        process = subprocess.Popen(
            [harness.RETORT, "run", *leftovers.MARK_OPTION, "--timeout", "1s", "-c",
             "import os\nwhile True: os.write(1, b'x' * 65536)"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=harness.environment())
        time.sleep(3)
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as f:
            self.assertLess(int(f.read().split()[1]) * 4096, 600 * MIB)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 124)

    def test_T_BOMB_OUTPUT_of_one_line(self):
        """A value whose text has no end of line and no end."""
        self.bomb("class V:\n    def __repr__(self): return 'x' * (200 << 20)\nV()", "-m", "1g",
                  statuses=("ok", "error", "oom", "timeout", "killed"))

    def test_T_BOMB_OUTPUT_of_a_traceback(self):
        """A message and a traceback without end."""
        self.bomb("raise Exception('x' * (200 << 20))", "-m", "1g",
                  statuses=("error", "oom", "timeout", "killed"))


# Ways to hold 200 MiB, or as much as goes, where the limit is 64 MiB and no cgroup counts. Each is counted, which ends
# the step; refused, so that little is held; or the record does not say that the limit was enforced.
HOLD = """
import ctypes, fcntl, mmap, os, socket, sys, time
M = 1 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
kept, n = [], 0
def hold(mib):
    global n
    n += mib
def fill(sock):
    total = 0
    sock.setblocking(False)
    try:
        while True: total += sock.send(bytes(65536))
    except OSError: pass
    hold(total / M)
def shared(fd, flags, hide):
    for _ in range(25):
        p = libc.mmap(None, 8 * M, 3, flags, fd, 0)
        ctypes.memset(p, 7, 8 * M)
        hide(p)
        hold(8)
"""
WAYS = {
    "own memory": "kept.append(bytearray(b'1') * (200 * M)); hold(200)",
    "memory of children": "for _ in range(4):\n if os.fork() == 0: x = bytearray(b'1') * (50 * M); time.sleep(9)\nhold(200)",
    "shared memory": "shared(-1, 0x21, lambda p: None)",
    "shared memory, dropped": "shared(-1, 0x21, lambda p: libc.madvise(p, 8 * M, 4))",
    "shared memory, all but a page unmapped": "shared(-1, 0x21, lambda p: libc.munmap(p + 4096, 8 * M - 4096))",
    "shared /dev/zero, unmapped": "shared(os.open('/dev/zero', os.O_RDWR), 1, lambda p: libc.munmap(p + 4096, 8 * M - 4096))",
    "shared memory of a child, dropped":
        "if os.fork() == 0: shared(-1, 0x21, lambda p: libc.madvise(p, 8 * M, 4)); time.sleep(9)\ntime.sleep(1); hold(200)",
    "a file without a name": "f = os.memfd_create('x')\nfor _ in range(200): os.write(f, bytes(M)); hold(1)",
    "files in /dev/shm": "f = open('/dev/shm/x', 'wb', 0)\nfor _ in range(200): f.write(bytes(M)); hold(1)",
    "files that were removed": "for i in range(200):\n"
        " f = open('/tmp/x', 'wb', 0); os.unlink('/tmp/x'); f.write(bytes(M)); kept.append(f); hold(1)",
    "System V memory": "i = libc.shmget(0, 200 * M, 0o1600)\nif i >= 0: hold(200)",
    "System V messages": "if libc.msgget(0, 0o600) >= 0: hold(200)",
    "POSIX messages": "for i in range(999):\n"
        " q = libc.mq_open(b'/%d' % i, os.O_CREAT | os.O_RDWR, 0o600, None)\n if q < 0: break\n hold(10 * 8192 / M)",
    "unix sockets": "try:\n while n < 200: kept.append(socket.socketpair()); fill(kept[-1][0])\nexcept OSError: pass",
    "datagrams": "try:\n while n < 200: kept.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)); fill(kept[-1][0])\n"
        "except OSError: pass",
    "sockets on their way": "try:\n while n < 200:\n  a, b = socket.socketpair(); c = socket.socketpair(); fill(c[0])\n"
        "  socket.send_fds(a, [b'x'], [c[0].fileno(), c[1].fileno()]); kept += [a, b]\nexcept OSError: pass",
    "TCP": "l = socket.create_server(('127.0.0.1', 0)); l.listen(999)\ntry:\n while n < 200:\n"
        "  a = socket.create_connection(l.getsockname()); kept += [a, l.accept()[0]]; fill(a)\nexcept OSError: pass",
    "pages in a pipe": "r, w = os.pipe()\nif libc.vmsplice(w, None, 0, 0) == 0: hold(200)",
    "page tables": "p = libc.mmap(None, 1 << 37, 1, 0x4022, -1, 0); libc.madvise(p, 1 << 37, 15)\n"
        "for i in range(p, p + (1 << 37) - 1, 2 * M): ctypes.c_char.from_address(i).value\nhold(200)",
    "names of files": "for i in range(150000): os.mknod('/tmp/%d' % i); hold(1 / 1024)",
    "events of directories": "fds = []\nwhile len(fds) < 128 and (fd := libc.inotify_init1(0)) >= 0:\n"
        " libc.inotify_add_watch(fd, b'/tmp', 0x100); fds.append(fd)\nname = '/tmp/%0250d' % 0\n"
        "for i in range(16300): os.mknod(name[:-5] + '%05d' % i); os.unlink(name[:-5] + '%05d' % i)\n"
        "size = ctypes.c_int()\n"
        "for fd in fds: libc.ioctl(fd, 0x541b, ctypes.byref(size)); hold(size.value / 272 * 512 / M)",
    "keys": "if libc.syscall(248, b'user', b'x', b'y', 1, -3) >= 0: hold(200)",
}


# Seen in no process: the engine looks at what the kernel of the whole host holds, which other tests change.
RECORD_LOCKS = ("import struct\nr, w = os.pipe()\nfor k in range(4):\n if os.fork() == 0:\n"
    "  files = [os.open('/tmp/%d.%d' % (k, i), os.O_RDWR | os.O_CREAT) for i in range(1000)]\n"
    "  for i in range(120):\n   lock = struct.pack('hhqqi4x', 1, 0, i * 2, 1, 0)\n"
    "   for f in files: fcntl.fcntl(f, fcntl.F_SETLK, lock)\n  os.write(w, b'x'); time.sleep(60)\n"
    "for k in range(4): hold(len(os.read(r, 1)) * 120000 * 200 / M)")


def hold_uncounted(case, code):
    """Hold memory without a cgroup: the step ends, little is held, or the record says that nothing was enforced."""
    record = harness.record(f"{HOLD}\ntry:\n" + "".join(f" {line}\n" for line in code.split("\n")) +
                            "except (OSError, MemoryError): pass\ntime.sleep(0.5)\nprint(n)",
                            "--memory", "64m", "--timeout", "60s", "--inodes", "200000",
                            env={"RETORT_CGROUP": "none"})
    held = float(record["stdout"] or 0)
    case.assertTrue(record["status"] == "oom" or (record["status"] == "ok" and (
        held <= 64 or not record["limits"]["memory_bytes"]["enforced"])), (held, record["status"], record["stderr"]))


class Uncounted(harness.Case):
    def test_T_BOMB_MEMORY_without_a_cgroup(self):
        """Memory is held in each way that a process's own size does not show."""
        for name, code in WAYS.items():
            with self.subTest(name):
                hold_uncounted(self, code)

    def test_T_BOMB_MEMORY_tcp(self):
        """What TCP holds is in no book of a cgroup v1, and comes out of what all programs of the host share."""
        record = harness.record(HOLD + WAYS["TCP"].replace("n < 200", "n < 400") + "\nprint(n)", "--memory", "64m",
                                "--timeout", "20s")
        self.assertTrue(record["status"] == "oom" or float(record["stdout"]) < 200, record)
        one = harness.record(HOLD + "l = socket.create_server(('127.0.0.1', 0))\n"
                             "a = socket.create_connection(l.getsockname()); b = l.accept()[0]; fill(a); print(n)")
        if record["limits"]["memory_bytes"].get("by") != "cgroup v2":
            self.assertLess(float(one["stdout"]), 1.5)  # 4 MiB and more, where nothing is said

    def test_T_BOMB_MEMORY_in_what_the_engine_hands_over(self):
        """A step's input comes as a file without a name: nothing can be put into it."""
        engine = rpc.Engine()
        self.addCleanup(engine.stop)
        client = engine.client()
        session = client("session.create")["session"]
        for attempt in ("os.ftruncate(fd, 1 << 20)", "os.pwrite(fd, b'more', 2)"):
            done = client.run(session, "import os\nfd = os.open('/dev/stdin', os.O_RDWR)\n" + attempt, stdin="in")
            self.assertIn("[Errno 1]", done["error"]["message"])


class Quotas(Bombs):
    """What the kernel counts per user is shared by the box and the user who started retort."""

    def while_it_holds(self, code, check):
        """Let a box take all it can get, then see whether the user on the host gets anything."""
        directory = harness.make_dir()
        process = attack.popen(code + "\nimport time\nopen('up', 'w').write('1')\n"
                               "while not __import__('os').path.exists('down'): time.sleep(0.01)\n",
                               *leftovers.MARK_OPTION, "-w", directory, "--timeout", "30s")
        try:
            end = time.monotonic() + 20
            while not os.path.exists(os.path.join(directory, "up")):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            check()
        finally:
            with open(os.path.join(directory, "down"), "w", encoding="ascii"):
                pass
            attack.finish(process)

    def test_T_QUOTA_pending_signals(self):
        """Queue as many signals as the user may have pending: timers and sigqueue fail on the host."""
        libc = ctypes.CDLL(None, use_errno=True)

        def check():
            signal.pthread_sigmask(signal.SIG_BLOCK, {40})
            try:
                self.assertEqual(libc.sigqueue(os.getpid(), 40, None), 0, "no signal can be queued")
                signal.sigwait({40})
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {40})

        check()
        self.while_it_holds("import ctypes, os, signal\n"
                            "signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))\n"
                            "libc = ctypes.CDLL(None)\n"
                            "while libc.sigqueue(os.getpid(), 40, 0) == 0: pass", check)

    def test_T_QUOTA_file_watches(self):
        """Take every inotify instance of the user: editors and browsers fail on the host."""
        libc = ctypes.CDLL(None, use_errno=True)

        def check():
            fd = libc.inotify_init1(0)
            self.assertGreaterEqual(fd, 0, "no inotify instance is left")
            os.close(fd)

        check()
        self.while_it_holds("import ctypes\nlibc = ctypes.CDLL(None)\n"
                            "while libc.inotify_init1(0) >= 0: pass", check)

    def test_T_QUOTA_processes(self):
        """Take every process of the user: --pids is far below what the user has."""
        def check():
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)

        self.while_it_holds("import os, time\nfor _ in range(500):\n    try:\n"
                            "        if os.fork() == 0: time.sleep(60)\n    except OSError: break", check)

    def test_T_QUOTA_locked_memory(self):
        """Lock all the memory that the user may lock."""
        libc = ctypes.CDLL(None, use_errno=True)
        page = ctypes.create_string_buffer(8192)

        def check():
            self.assertEqual(libc.mlock(page, 4096), 0)
            libc.munlock(page, 4096)

        check()
        self.while_it_holds("import ctypes, mmap\nlibc = ctypes.CDLL(None)\nx = []\n"
                            "for i in range(1000):\n    m = mmap.mmap(-1, 1 << 16, 34)\n    x.append(m)\n"
                            "    if libc.mlock(ctypes.c_void_p(ctypes.addressof(\n"
                            "        ctypes.c_char.from_buffer(m))), 1 << 16): break", check)


if __name__ == "__main__":
    harness.main()
