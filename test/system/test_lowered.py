# SPDX-License-Identifier: Apache-2.0
"""What a program takes from itself it does not take from its session: limits, descriptors, memory that no child gets.
There is a checkpoint and a branch all the same, or it is said truly why not, and the state stays."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import service  # noqa: E402
import test_transactions  # noqa: E402
from test_transactions import setUpModule, tearDownModule  # noqa: E402, F401

LOWER = "x = 1\nimport resource as r\nr.setrlimit(r.RLIMIT_%s, (%s, %s))"
HARD = "r.getrlimit(r.RLIMIT_%s)[1]"
END = "x = 2\nimport os\nos._exit(1)"
CLOSERS = ["os.closerange(3, 1024)", "os.closerange(0, 600)", "os.closerange(501, 502)",
           "for i in range(3, 1024):\n try: os.close(i)\n except OSError: pass",
           "for i in range(3, 1024):\n try: os.close(fd=i)\n except OSError: pass"]


class Lowered(test_transactions.Case):
    def branch(self, s):
        child = service.Session(test_transactions.engine, test_transactions.engine.call("session.branch", session=s.id))
        self.addCleanup(child.close)
        return child

    def goes_on(self, code, look="x"):
        """A session in which @code was run can be gone back in, branched, and the branch gone back in."""
        s = self.session()
        s.run("y = 0")
        record = s.run(code)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("ok", "committed"), record)
        was = s.value(look)
        self.fails(s, END, "error")
        self.assertEqual(s.value(look), was)
        child = self.branch(s)
        for one in (s, child):
            self.assertEqual(one.value(look), was)
            self.fails(one, END, "error")
            self.assertEqual(one.value(look), was)

    def test_soft_limits(self):
        for name, low in (("NOFILE", 500), ("NOFILE", 3), ("NPROC", 2), ("AS", 1 << 20), ("DATA", 0), ("STACK", 1 << 15),
                          ("FSIZE", 0), ("SIGPENDING", 0), ("MEMLOCK", 0)):
            with self.subTest(name=name, low=low):
                self.goes_on(LOWER % (name, low, HARD % name), f"x, r.getrlimit(r.RLIMIT_{name})")

    def test_hard_limits(self):
        for name, low in (("NOFILE", 501), ("NOFILE", 100), ("FSIZE", 0), ("SIGPENDING", 0), ("MEMLOCK", 0)):
            with self.subTest(name=name, low=low):
                self.goes_on(LOWER % (name, low, low), f"x, r.getrlimit(r.RLIMIT_{name})")

    def check_barred(self, code, why, has_checkpoint):
        s = self.session()
        self.assertEqual(s.run(code)["status"], "ok")
        with self.assertRaisesRegex(service.Refused, "cannot be branched: " + why) as caught:
            self.branch(s)
        self.assertEqual(caught.exception.code, "busy")
        record = s.run("x")
        self.assertEqual(record["state"]["outcome"], "committed", "the state is as it was")
        self.assertEqual(record["value"]["text/plain"], "1")
        if has_checkpoint:
            self.fails(s, END, "error")
            self.assertEqual(s.value("x"), "1")
        return s

    def test_too_low_for_a_branch(self):
        """The session goes on as one, too, and would be lost."""
        self.check_barred(LOWER % ("NOFILE", 14, 14), "the program has no room for more open files: its limit is 14", True)
        self.check_barred("import os\nx = 1\nf = [os.open('/dev/null', 0) for i in range(1010)]",
                          "the program has no room for more open files: its limit is 1024", True)
        self.check_barred(LOWER % ("NPROC", 5, 5), "the program has lowered its limit of processes to 5", True)
        self.check_barred(LOWER % ("STACK", 4096, 4096), "the program has lowered its limit of stack to 4096", True)

    def test_low_from_the_start(self):
        """What a session was made with is not in the way."""
        for limits in ({"open_files": 18}, {"open_files": 501}, {"pids": 4}):
            with self.subTest(limits=limits):
                s = self.session(limits=dict(test_transactions.LIMITS, **limits))
                s.run("x = 1")
                self.assertEqual(self.branch(s).value("x"), "1")
                self.fails(s, END, "error")
                self.assertEqual(s.value("x"), "1")

    def test_too_low_for_a_checkpoint(self):
        s = self.check_barred(LOWER % ("NOFILE", 3, 3), "the program has no room for more open files: its limit is 3", False)
        record = s.run(END)
        self.assertEqual((record["state"]["outcome"], record["state"]["reason"]),
                         ("lost", "no checkpoint: Too many open files"))

    def test_memory_that_no_child_gets(self):
        for how in ("", ", flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS"):
            with self.subTest(how=how):
                code = f"import mmap\nx = 1\nm = mmap.mmap(-1, 4096{how})\nm[0] = 7\nm.madvise(mmap.MADV_DONTFORK)"
                why = r"the program has memory that no copy gets \(MADV_DONTFORK\)"
                s = self.check_barred(code, why, False)
                self.assertRegex(s.run("m[0]")["state"]["reason"], "no checkpoint: " + why)
                s.run("m.madvise(mmap.MADV_DOFORK)")
                self.fails(s, END, "error")
                self.assertEqual(s.value("x, m[0]"), "(1, 7)")
                self.assertEqual(self.branch(s).value("x, m[0]"), "(1, 7)")

    def test_closers(self):
        """As who becomes a daemon does: what the driver has open is none of the program's."""
        for code in CLOSERS:
            with self.subTest(code=code):
                self.goes_on("x = 1\nimport os\n" + code)

    def test_closers_of_others(self):
        """What the program has open is closed, and in another process everything."""
        s = self.session()
        code = ("import os\nr, w = os.pipe()\nos.closerange(3, 1024)\n"
                "def is_open(fd):\n  try: return bool(os.fstat(fd))\n  except OSError: return False\n"
                "def left():\n  pid = os.fork()\n  if not pid:\n    os.closerange(0, 1024)\n"
                "    os._exit(sum(map(is_open, range(1024))))\n  return os.waitpid(pid, 0)[1]\n"
                "is_open(r), is_open(w), left()")
        self.assertEqual(s.value(code), "(False, False, 0)")
        for wrong in ("os.close()", "os.close('a')", "os.close(1, 2)", "os.closerange(1)", "os.closerange('a', 2)",
                      "os.close(fd=1, x=2)"):
            self.assertEqual(s.run(wrong)["error"]["name"], "TypeError", wrong)
        self.assertEqual(s.run("os.close(1000)")["error"]["name"], "OSError")
        self.assertEqual(s.value("import inspect; str(inspect.signature(os.close)), os.close.__module__"),
                         "('(fd)', 'posix')")

    def test_closed_behind_our_back(self):
        """That there is no result is told."""
        record = self.session().run("import ctypes; [ctypes.CDLL(None).close(i) for i in range(500, 503)]")
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "rolled_back"))
        record = self.session(runtime="javascript").run("require('fs').closeSync(3)")
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "rolled_back"))
        self.assertIn("has closed the driver's channel", record["stderr"])
        done = harness.run("import ctypes; [ctypes.CDLL(None).close(i) for i in range(500, 503)]")
        self.assertEqual(done.status, 0, "a program may")

    def test_what_a_clone_loses(self):
        code = ("import ctypes\nx = 1\nlibc = ctypes.CDLL(None)\nlibc.prctl(1, 10, 0, 0, 0)\nlibc.prctl(36, 1, 0, 0, 0)\n"
                "def get(number):\n  value = ctypes.c_int()\n  libc.prctl(number, ctypes.byref(value))\n  return value.value")
        self.goes_on(code, "x, get(2), get(37)")


if __name__ == "__main__":
    harness.main()
