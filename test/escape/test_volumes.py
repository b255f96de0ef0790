# SPDX-License-Identifier: Apache-2.0
"""`-v SRC:DST`: where a volume may go, what of the host it shows, what of it can be written."""

import ctypes
import os
import secrets
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402
import harness  # noqa: E402


class Volumes(harness.Case):
    def setUp(self):
        self.top = harness.make_dir()
        self.src = os.path.join(self.top, "src")
        self.dir = os.path.join(self.top, "ws")
        self.outside = os.path.join(self.top, "outside")
        for path in (self.src, self.dir, self.outside):
            os.mkdir(path)
        self.secret = secrets.token_hex(16)
        self.canary = os.path.join(self.outside, "canary")
        for path, text in ((self.canary, self.secret), (os.path.join(self.src, "data"), "data")):
            with open(path, "w", encoding="ascii") as f:
                f.write(text)

    def tearDown(self):
        with open(self.canary, encoding="ascii") as f:
            self.assertEqual(f.read(), self.secret)
        self.assertEqual(os.listdir(self.outside), ["canary"])

    def refused(self, *dsts, options=()):
        for dst in dsts:
            with self.subTest(dst=dst):
                done = attack.run("print('it ran')", *options, "-v", f"{self.src}:{dst}")
                self.assertIn(done.status, (2, 125), done)
                self.assertNotIn("it ran", done.out)
                self.assertTrue(done.err.startswith("retort: "), done.err)

    def test_T_VOLUME_destination_with_dots(self):
        """Leave the box's root by dots in the destination."""
        self.refused("/../x", "/data/../../etc", "../x", "x/../../..", "/./x", "/data/.", "..")

    def test_T_VOLUME_destination_over_the_box(self):
        """Cover what holds the box together."""
        self.refused("/", "/proc", "/proc/self", "/proc/sys/kernel", "/dev", "/dev/null", "/dev/shm",
                     "/sys/fs/cgroup", "/usr", "/etc", "/retort", "/bin", "/lib", "/tmp",
                     "/home/user", "/home")

    def test_T_VOLUME_destination_that_is_no_path(self):
        """Empty, slashes, too long, parts too long."""
        self.refused("", "//", "/a//b", "/" + "a" * 256, "/a" * 3000)

    def test_T_VOLUME_destination_over_the_driver(self):
        """Put files of one's own in place of the driver's: they must not run instead of it."""
        for dst in ("/retort/python", "/retort/python/json.py", "/retort/x"):
            with open(os.path.join(self.src, "driver.py"), "w", encoding="ascii") as f:
                f.write("print('hijacked')")
            done = attack.run("print(6 * 7)", "-v", f"{self.src}:{dst}")
            self.assertNotIn("hijacked", done.out)

    def test_T_VOLUME_destination_below_a_link_of_the_workspace(self):
        """An earlier run left a link in the workspace where the volume's parent is to be."""
        for name, target in (("abs", "/etc"), ("dots", "../.."), ("out", self.outside),
                             ("proc", "/proc/1/root"), ("tmp", "/tmp")):
            os.symlink(target, os.path.join(self.dir, name))
        self.refused(*(f"/home/user/{n}/new" for n in ("abs", "dots", "out", "proc", "tmp")),
                     *(f"/home/user/{n}" for n in ("abs", "dots", "out", "proc", "tmp")),
                     options=("-w", self.dir))

    def test_T_VOLUME_makes_no_directory_on_the_host(self):
        """A mount point that is missing below a directory of the host is not made there."""
        self.refused("/home/user/new/deep", options=("-w", self.dir))
        self.assertEqual(os.listdir(self.dir), [])
        self.refused("/data/new", options=("-v", f"{self.src}:/data"))
        self.refused("/data/new", options=("-v", f"{self.src}:/data:rw"))
        self.assertEqual(os.listdir(self.src), ["data"])

    def test_T_VOLUME_link_in_a_volume_leads_out(self):
        """A link in the volume points at a file of the host."""
        os.symlink(self.canary, os.path.join(self.src, "link"))
        os.symlink("../outside/canary", os.path.join(self.src, "dots"))
        done = attack.record("for n in ('link', 'dots', '../outside/canary'):\n"
                             "    try: print(open('/data/' + n).read())\n"
                             "    except OSError as e: print(e.errno)", "-v", f"{self.src}:/data")
        self.assertEqual(done["stdout"], "2\n2\n2\n")

    def test_T_VOLUME_read_only_is(self):
        """Write, truncate, create, remove, rename, chmod, link, touch in a read-only volume."""
        code = ("import os, ctypes\n"
                "libc = ctypes.CDLL(None, use_errno=True)\n"
                "def t(f, *a):\n"
                "    try: f(*a); print('done', f)\n"
                "    except OSError as e: print(e.errno)\n"
                "t(open, '/data/data', 'w')\nt(open, '/data/new', 'w')\nt(os.truncate, '/data/data', 0)\n"
                "t(os.unlink, '/data/data')\nt(os.rename, '/data/data', '/data/b')\n"
                "t(os.chmod, '/data/data', 0o777)\nt(os.link, '/data/data', '/data/c')\n"
                "t(os.utime, '/data/data')\nt(os.mkdir, '/data/d')\nt(os.mkfifo, '/data/e')\n"
                "t(os.setxattr, '/data/data', 'user.x', b'1')\nt(os.symlink, 'a', '/data/f')\n"
                "f = open('/data/data')\nt(os.fchmod, f.fileno(), 0o777)\n"
                "t(open, '/proc/self/fd/%d' % f.fileno(), 'w')\n")
        done = attack.record(code, "-v", f"{self.src}:/data")
        self.assertEqual(set(done["stdout"].split()), {"30"}, done["stdout"])
        self.assertEqual(os.listdir(self.src), ["data"])
        # The control: in a writable volume each of these works.
        done = attack.record(code, "-v", f"{self.src}:/data:rw")
        self.assertIn("done", done["stdout"])

    def test_T_VOLUME_read_only_below_a_writable_one(self):
        """A read-only volume within a writable one, and the other way round."""
        os.mkdir(os.path.join(self.dir, "sub"))
        code = ("for p in ('/data/x', '/data/sub/x'):\n"
                "    try: open(p, 'w').write('1'); print('done')\n"
                "    except OSError as e: print(e.errno)\n")
        done = attack.record(code, "-v", f"{self.dir}:/data:rw", "-v", f"{self.src}:/data/sub")
        self.assertEqual(done["stdout"], "done\n30\n")
        self.assertEqual(os.listdir(self.src), ["data"])
        os.unlink(os.path.join(self.dir, "x"))
        done = attack.record(code, "-v", f"{self.dir}:/data", "-v", f"{self.src}:/data/sub:rw")
        self.assertEqual(done["stdout"], "30\ndone\n")
        self.assertEqual(sorted(os.listdir(self.dir)), ["sub"])

    @harness.needs_root("an ordinary user mounts nothing on the host")
    def test_T_VOLUME_mount_below_a_read_only_one(self):
        """A file system of the host that is mounted below the source is read-only as well."""
        sub = os.path.join(self.src, "sub")
        os.mkdir(sub)
        subprocess.run(["mount", "-t", "tmpfs", "x", sub], check=True)
        self.addCleanup(subprocess.run, ["umount", sub], check=True)
        done = attack.record("try: open('/data/sub/x', 'w')\nexcept OSError as e: print(e.errno)",
                             "-v", f"{self.src}:/data")
        self.assertIn(done["stdout"], ("30\n", "13\n"))
        self.assertEqual(os.listdir(sub), [])

    def test_T_VOLUME_no_device_and_no_setuid(self):
        """Nodes and setuid programs in a volume are without effect."""
        done = attack.record("{l.split()[4]: l.split()[5] for l in open('/proc/self/mountinfo')}",
                             "-v", f"{self.src}:/data:rw", "-w", self.dir)
        mounts = eval(done["value"]["text/plain"])
        for path in ("/data", "/home/user"):
            self.assertIn("nosuid", mounts[path])
            self.assertIn("nodev", mounts[path])

    def test_T_VOLUME_source_that_is_special(self):
        """A FIFO, a device, a socket, a missing file, a link in a loop as the source."""
        fifo = os.path.join(self.top, "fifo")
        os.mkfifo(fifo)
        loop = os.path.join(self.top, "loop")
        os.symlink("loop", loop)
        for src in (fifo, "/dev/null", os.path.join(self.top, "missing"), loop, "/proc/self/mem",
                    "/proc/self/fd/0"):
            with self.subTest(src=src):
                done = attack.run("print('it ran')", "-v", f"{src}:/data", timeout=15)
                if src != "/proc/self/mem":
                    self.assertIn(done.status, (2, 125), done)
                self.assertLess(done.status, 128)

    def test_T_VOLUME_unreadable_source(self):
        """As an ordinary user, show a file that the user may not read."""
        if harness.IS_ROOT:
            path = os.path.join(self.top, "mode0")
            with open(path, "w", encoding="ascii") as f:
                f.write(self.secret)
            os.chmod(path, 0)
            done = attack.record("open('/data').read()", "-v", f"{path}:/data")
            self.assertNotIn(self.secret, str(done))
            return
        done = attack.run("open('/data').read()", "-v", "/etc/shadow:/data")
        self.assertNotIn("root:", done.out)
        self.assertNotEqual(done.status, 0)

    def test_T_VOLUME_source_replaced_by_a_link(self):
        """SRC is swapped with a link to the outside while boxes are made."""
        trap = os.path.join(self.top, "trap")
        os.symlink(self.outside, trap)
        stop = threading.Event()
        libc = ctypes.CDLL(None)

        def swap():
            while not stop.is_set():
                libc.renameat2(-100, self.src.encode(), -100, trap.encode(), 2)

        thread = threading.Thread(target=swap)
        thread.start()
        seen = set()
        try:
            for _ in range(40):
                done = attack.run(
                    "import os\nprint(os.listdir('/data'))\n"
                    "try: open('/data/new', 'w')\nexcept OSError as e: print(e.errno)",
                    "-v", f"{self.src}:/data", timeout=30)
                if done.status == 0:
                    seen.add(done.out.splitlines()[0])
                    self.assertEqual(done.out.splitlines()[1], "30")
                else:
                    self.assertIn(done.status, (2, 125), done)
        finally:
            stop.set()
            thread.join()
        # One of the two, whole and read-only; which one is a matter of the moment.
        self.assertLessEqual(seen, {"['data']", "['canary']"})
        if os.path.islink(self.src):
            os.unlink(self.src)
            os.rename(trap, self.src)

    def test_T_VOLUME_parent_swapped_by_a_running_box(self):
        """A first box swaps the mount point in a shared workspace with a link while boxes are made."""
        os.mkdir(os.path.join(self.dir, "at"))
        os.symlink("/tmp", os.path.join(self.dir, "link"))
        other = attack.popen(
            "import os, time, ctypes\nlibc = ctypes.CDLL(None)\nend = time.time() + 20\n"
            "while time.time() < end and not os.path.exists('stop'):\n"
            "    libc.renameat2(-100, b'at', -100, b'link', 2)", "-w", self.dir)
        try:
            for _ in range(25):
                done = attack.run(
                    "print([l.split()[4] for l in open('/proc/self/mountinfo')])",
                    "-w", self.dir, "-v", f"{self.src}:/home/user/at", timeout=30)
                if done.status == 0:
                    self.assertNotIn("'/data'", done.out)
                    self.assertEqual(done.out.count("'/tmp'"), 1, done.out)
                else:
                    self.assertIn(done.status, (2, 125), done)
        finally:
            with open(os.path.join(self.dir, "stop"), "w", encoding="ascii"):
                pass
            attack.finish(other)

    def test_T_VOLUME_whole_host_as_the_workspace(self):
        """-w / would hand over the host."""
        done = attack.run("print('it ran')", "-w", "/")
        self.assertIn(done.status, (2, 125))
        self.assertNotIn("it ran", done.out)


if __name__ == "__main__":
    harness.main()
