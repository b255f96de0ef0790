# SPDX-License-Identifier: Apache-2.0
"""What a rollback does with what the kernel holds for a session: locks, streams, memory of other processes."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from test_transactions import Case, setUpModule, tearDownModule  # noqa: E402, F401


# Locks as a process of its own finds them: F, P, O where one is held on the file of that name.
LOCKS = """
import fcntl, os, struct, subprocess, sys, time
LOOK = 'import fcntl, struct, sys; f = open(sys.argv[1], "r+"); fcntl.flock(f, 6); fcntl.lockf(f, 6, 1, int(sys.argv[2]))'
def held(name, at): return subprocess.run([sys.executable, '-c', LOOK, name, str(at)], capture_output=True).returncode != 0
def look(): return ''.join(name for name, at in (('f', 0), ('p', 5), ('p', 15), ('o', 90)) if held(name, at))
f, p, o = open('f', 'w'), open('p', 'w'), open('o', 'w')
fcntl.flock(f, fcntl.LOCK_EX)
fcntl.lockf(p, fcntl.LOCK_EX, 10, 0)
fcntl.fcntl(o, fcntl.F_OFD_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))
"""


class Held(Case):
    def test_locks_on_files(self):
        s = self.session()
        s.run(LOCKS)
        self.assertEqual(s.value("look()"), "'fpo'")
        record = self.fails(s, "fcntl.flock(f, fcntl.LOCK_UN); fcntl.lockf(p, fcntl.LOCK_EX, 10, 10)\nos._exit(1)", "error")
        self.assertNotIn("notice", record["state"])
        self.assertEqual(s.value("look()"), "'fpo'")
        # As it was two steps ago, by a checkpoint that is older.
        s.run("for each in f, p, o: each.close()")
        self.assertEqual(s.value("look()"), "''")
        self.undone(s, count=2)
        self.assertEqual(s.value("look()"), "'fpo'")

    def test_locks_that_others_have_meanwhile(self):
        s = self.session()
        s.run(LOCKS)
        s.run("if os.fork() == 0: time.sleep(1000)")
        record = self.fails(s, "os._exit(1)", "error")
        self.assertEqual(record["state"]["notice"], "not held any more: 2 locks of files")
        self.assertEqual(s.value("look()"), "'fpo'")

    def test_streams_that_wait(self):
        s = self.session()
        s.run("import fcntl, os")
        self.fails(s, "for fd in 0, 1, 2: os.set_blocking(fd, False)\nos._exit(1)", "error")
        self.assertEqual(s.value("[os.get_blocking(fd) for fd in (0, 1, 2)]"), "[True, True, True]")


class Mapped(Case):
    def test_what_only_another_process_maps(self):
        """Files that a process of an earlier step writes through a mapping of its own; memory is told."""
        s = self.session()
        s.run("import mmap, os, signal, time\n"
              "for name, size in (('small', 5000), ('large', (2 << 20) + 1)): open(name, 'wb').write(b'old' + bytes(size))\n"
              "ready, up = os.pipe()\n"
              "pid = os.fork()\nif pid == 0:\n"
              "    files = [open(name, 'r+b') for name in ('small', 'large')]\n"
              "    maps = [mmap.mmap(f.fileno(), 0) for f in files]\n"
              "    def write(*_):\n"
              "        for m in maps: m[:3] = m[-3:] = b'new'\n"
              "        os.write(up, b'x')\n"
              "    signal.signal(signal.SIGUSR1, write); os.write(up, b'x')\n"
              "    while True: time.sleep(1000)\n"
              "os.read(ready, 1)")
        look = "[(f.read(3), f.seek(-3, 2) and f.read()) for f in (open(n, 'rb') for n in ('small', 'large'))]"
        write = "os.kill(pid, signal.SIGUSR1)\n" \
            "while any(open(n, 'rb').read(3) != b'new' for n in ('small', 'large')): time.sleep(0.01)\n"
        record = self.fails(s, write + "os._exit(1)", "error")
        self.assertEqual(record["state"]["notice"], "closed: 2 ends of pipes")
        self.assertEqual(self.value(s, look), [(b"old", b"\0\0\0")] * 2)
        self.assertEqual(s.run(look)["files"], [])
        s.run("if os.fork() == 0:\n    m = mmap.mmap(-1, 1 << 20); time.sleep(1000)\ntime.sleep(0.3)")
        self.assertEqual(self.fails(s, "os._exit(1)", "error")["state"]["notice"], "not put back: 1.0 MiB of shared memory")

    def test_memory_that_could_not_be_written_before(self):
        s = self.session()
        s.run("import ctypes, mmap, os\nlibc = ctypes.CDLL(None)\n"
              "libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
              "maps = [mmap.mmap(-1, 8192) for _ in range(2)]\n"
              "at = [ctypes.addressof(ctypes.c_char.from_buffer(m)) for m in maps]\n"
              "for m in maps: m[:3] = b'old'\n"
              "def rights(): return [open('/proc/self/maps').read().split('%x-' % a)[1].split()[1] for a in at]\n"
              "for a, prot in zip(at, (0, 1)): assert libc.mprotect(a, 8192, prot) == 0")
        self.fails(s, "for m, a in zip(maps, at):\n"
                      "    libc.mprotect(a, 8192, 3); m[:3] = m[4096:4099] = b'new'\nos._exit(1)", "error")
        self.assertEqual(self.value(s, "rights()"), ["---s", "r--s"])
        self.assertEqual(self.value(s, "for a in at: libc.mprotect(a, 8192, 3)\n[m[:3] + m[4096:4099] for m in maps]"),
                         [b"old\0\0\0"] * 2)

if __name__ == "__main__":
    harness.main()
