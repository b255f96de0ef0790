# SPDX-License-Identifier: Apache-2.0
"""Hostile workspaces: what stands in `-w DIR`, and what `-o DIR` takes out of it."""

import json
import os
import secrets
import socket
import stat
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402

N_NAMES = 30  # of one file, which is copied once


class Workspace(harness.Case):
    def setUp(self):
        self.top = harness.make_dir()
        self.dir = os.path.join(self.top, "ws")
        self.out = os.path.join(self.top, "out")
        self.outside = os.path.join(self.top, "outside")
        os.mkdir(self.dir)
        os.mkdir(self.outside)
        self.secret = secrets.token_hex(16)
        self.canary = os.path.join(self.outside, "canary")
        with open(self.canary, "w", encoding="ascii") as f:
            f.write(self.secret)

    def tearDown(self):
        with open(self.canary, encoding="ascii") as f:
            self.assertEqual(f.read(), self.secret, "the canary was changed")
        self.assertEqual(os.listdir(self.outside), ["canary"])
        for top, dirs, files in os.walk(self.out):
            for name in files:
                path = os.path.join(top, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, "rb") as f:
                        self.assertNotIn(self.secret.encode(), f.read(), path)
        # A tree deeper than PATH_MAX is too much for shutil.
        subprocess.run(["rm", "-rf", self.top], check=False)

    def go(self, code, *options, timeout=60):
        return attack.record(code, *options, timeout=timeout)


class Links(Workspace):
    def test_T_WORKSPACE_LINK_absolute_link_made_before(self):
        """A link to a host file stands in the workspace: the program reads through it."""
        os.symlink(self.canary, os.path.join(self.dir, "link"))
        done = self.go("try: print(open('link').read())\nexcept OSError as e: print(e.errno)",
                       "-w", self.dir)
        self.assertEqual(done["stdout"], "2\n")

    def test_T_WORKSPACE_LINK_relative_link_made_before(self):
        """The same with dots."""
        os.symlink("../outside/canary", os.path.join(self.dir, "link"))
        done = self.go("try: print(open('link').read())\nexcept OSError as e: print(e.errno)",
                       "-w", self.dir)
        self.assertEqual(done["stdout"], "2\n")

    def test_T_WORKSPACE_LINK_program_writes_through_one(self):
        """Write through a link to a host file."""
        os.symlink(self.canary, os.path.join(self.dir, "link"))
        self.go("try: open('link', 'w').write('x')\nexcept OSError as e: print(e.errno)",
                "-w", self.dir)

    def test_T_WORKSPACE_LINK_copied_out_as_a_file(self):
        """Links that the program makes to host files: -o must not follow them on the host."""
        self.go(f"import os\nos.symlink({self.canary!r}, 'a.txt')\n"
                "os.symlink('../outside/canary', 'b.txt')\nos.symlink('/etc/passwd', 'c.txt')\n"
                "os.symlink('/proc/self/environ', 'd.txt')\nopen('e.txt', 'w').write('mine')",
                "-w", self.dir, "-o", self.out)
        self.assertEqual(os.listdir(self.out), ["e.txt"])

    def test_T_WORKSPACE_LINK_copied_out_of_the_own_workspace(self):
        """The same in the box's own workspace."""
        done = self.go(f"import os\nos.symlink({self.canary!r}, 'a.txt')\n"
                       "os.symlink('/usr/bin/env', 'c.txt')\nopen('e.txt', 'w').write('mine')",
                       "-o", self.out)
        self.assertEqual(os.listdir(self.out), ["e.txt"])
        self.assertEqual([f["path"] for f in done["files"]], ["e.txt"])

    def test_T_WORKSPACE_LINK_directory_link_copied_out(self):
        """A link to a directory of the host: -o must not walk it."""
        done = self.go(f"import os\nos.symlink({self.outside!r}, 'd')\nos.symlink('/etc', 'e')\n"
                       "os.symlink('..', 'up')", "-w", self.dir, "-o", self.out)
        self.assertEqual(done["files"], [])
        self.assertEqual(os.listdir(self.out), [])

    def test_T_WORKSPACE_LINK_out_directory_holds_one(self):
        """An earlier run left a link in the output directory: nothing is written through it."""
        os.mkdir(self.out)
        os.symlink(self.outside, os.path.join(self.out, "d"))
        os.symlink(self.canary, os.path.join(self.out, "f"))
        self.go("import os\nos.mkdir('d')\nopen('d/canary', 'w').write('x')\n"
                "open('d/new', 'w').write('x')\nopen('f', 'w').write('x')", "-o", self.out)

    def test_T_WORKSPACE_LINK_out_directory_inside_the_workspace(self):
        """-o below -w: the program puts links where files will be written."""
        out = os.path.join(self.dir, "out")
        os.mkdir(out)
        self.go(f"import os\nos.symlink({self.outside!r}, 'out/d')\n"
                f"os.symlink({self.canary!r}, 'out/f')\nos.mkdir('d')\n"
                "open('d/canary', 'w').write('x')\nopen('d/new', 'w').write('x')\n"
                "open('f', 'w').write('x')", "-w", self.dir, "-o", out)

    def test_T_WORKSPACE_LINK_figure_written_through_one(self):
        """--images path writes figure-1.png: the program has put a link there."""
        self.go_plain(f"import os\nos.symlink({self.canary!r}, 'figure-1.png')\n", self.dir)

    def go_plain(self, head, out, timeout=15):
        done = attack.run(head + "class P:\n    def _repr_mimebundle_(self, **k):\n"
                          "        return {'image/png': 'iVBORw0KGgo='}\nP()",
                          "-w", self.dir, "-o", out, "--images", "path", "--timeout", "5s",
                          timeout=timeout)
        return done

    def test_T_WORKSPACE_SPECIAL_figure_is_a_fifo(self):
        """The same with a FIFO that nobody reads: the engine must not wait for a reader."""
        done = self.go_plain("import os\nos.mkfifo('figure-1.png')\n", self.dir)
        self.assertLess(done.status, 128)

    def test_T_WORKSPACE_LINK_temporary_name_of_the_copy(self):
        """The program guesses the name that the engine writes first."""
        self.guess(f"os.symlink({self.canary!r}, name)")

    def test_T_WORKSPACE_SPECIAL_temporary_name_is_a_fifo(self):
        """The same with a FIFO: the engine must not wait for a reader."""
        self.guess("os.mkfifo(name)")

    def guess(self, action):
        process = attack.popen(
            "import os, time\nwhile not os.path.exists('pid'): time.sleep(0.01)\n"
            "time.sleep(0.05)\npid = open('pid').read()\nname = '.retort-%s.part' % pid\n"
            f"{action}\nopen('result', 'w').write('x')", "-w", self.dir, "-o", self.dir)
        with open(os.path.join(self.dir, "pid"), "w", encoding="ascii") as f:
            f.write(str(process.pid))
        attack.finish(process, 15)

    def test_T_WORKSPACE_LINK_hard_link_across(self):
        """Hard links to files of the host that are visible, and to another's."""
        done = self.go(
            "import os\n"
            "for n, p in enumerate(('/usr/bin/env', '/etc/passwd', '/proc/self/exe', '/dev/null')):\n"
            "    for f in (True, False):\n"
            "        try: os.link(p, 'h%d' % n, follow_symlinks=f); print(p)\n"
            "        except OSError: pass\n", "-w", self.dir)
        self.assertEqual(done["stdout"], "")
        self.assertEqual(os.listdir(self.dir), [])

    def test_T_WORKSPACE_LINK_workspace_is_one(self):
        """-w itself is a link: the program must not get more than the directory behind it."""
        os.symlink(self.dir, os.path.join(self.top, "wslink"))
        done = self.go("import os\nopen('x', 'w').write('1')\nos.listdir('..')", "-w",
                       os.path.join(self.top, "wslink"))
        self.assertEqual(os.listdir(self.dir), ["x"])
        self.assertEqual(done["value"]["text/plain"], "['user']")

    def test_T_WORKSPACE_LINK_program_leaves_by_rename(self):
        """Rename files out of the workspace by dots and by an open directory."""
        done = self.go("import os\nopen('x', 'w').write('1')\nr = []\n"
                       "for p in ('../x', '../../x', '/home/x', '../outside/x'):\n"
                       "    try: os.rename('x', p); r.append(p)\n"
                       "    except OSError: pass\nr", "-w", self.dir)
        self.assertEqual(done["value"]["text/plain"], "[]")
        self.assertEqual(sorted(os.listdir(self.top)), ["outside", "ws"])


class Special(Workspace):
    def test_T_WORKSPACE_SPECIAL_made_before(self):
        """FIFO, socket and devices stand in the workspace before the run."""
        os.mkfifo(os.path.join(self.dir, "fifo"))
        sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(sock.close)
        here = os.getcwd()
        os.chdir(self.dir)
        sock.bind("sock")
        os.chdir(here)
        if harness.IS_ROOT:
            os.mknod(os.path.join(self.dir, "disk"), 0o666 | stat.S_IFBLK, os.makedev(254, 0))
            os.mknod(os.path.join(self.dir, "mem"), 0o666 | stat.S_IFCHR, os.makedev(1, 1))
        done = self.go("r = []\n"
                       "for n in ('disk', 'mem'):\n"
                       "    try: r.append(open(n, 'rb').read(1))\n"
                       "    except OSError as e: r.append(e.errno in (2, 13))\n"
                       "open('x', 'w').write('1')\nr", "-w", self.dir, "-o", self.out)
        self.assertEqual(done["value"]["text/plain"], "[True, True]")
        self.assertEqual(os.listdir(self.out), ["x"])

    def test_T_WORKSPACE_SPECIAL_made_by_the_program(self):
        """FIFO and socket where files are expected, one with a reader and a writer."""
        done = self.go(
            "import os, socket\nos.mkfifo('a.csv')\nos.mkfifo('b.csv')\n"
            "fd = os.open('b.csv', os.O_RDWR)\nos.write(fd, b'x')\n"
            "socket.socket(socket.AF_UNIX).bind('c.csv')\nopen('d.csv', 'w').write('1')",
            "-w", self.dir, "-o", self.out)
        self.assertEqual([f["path"] for f in done["files"]], ["d.csv"])
        self.assertEqual(os.listdir(self.out), ["d.csv"])

    def test_T_WORKSPACE_SPECIAL_out_directory_holds_a_fifo(self):
        """A FIFO of the same name in the output directory: replaced, not written to."""
        os.mkdir(self.out)
        os.mkfifo(os.path.join(self.out, "x"))
        self.go("open('x', 'w').write('1')", "-o", self.out, timeout=15)
        self.assertTrue(stat.S_ISREG(os.lstat(os.path.join(self.out, "x")).st_mode))

    def test_T_WORKSPACE_SPECIAL_unreadable_directories(self):
        """Directories without rights, a file without rights: listed or left out, never a hang."""
        done = self.go("import os\nfor n in ('a', 'b'):\n"
                       "    os.mkdir(n); open(n + '/f', 'w').write('1')\n"
                       "os.chmod('a', 0)\nos.chmod('b/f', 0)\nopen('c', 'w').write('1')",
                       "-o", self.out)
        self.assertEqual(done["status"], "ok")
        os.system(f"chmod -R u+rwX {self.out}")
        self.assertIn("c", os.listdir(self.out))

    def test_T_SETUID_left_in_the_workspace(self):
        """Leave a setuid program of the user's (of root's!) in a directory of the host."""
        modes = ("import os, ctypes\n"
                 "libc = ctypes.CDLL(None, use_errno=True)\n"
                 "def t(f, *a):\n"
                 "    try: return f(*a)\n"
                 "    except OSError as e: return e.errno\n"
                 "open('a', 'w').write('x'); t(os.chmod, 'a', 0o4755); t(os.chmod, 'a', 0o2755)\n"
                 "f = open('b', 'w'); t(os.fchmod, f.fileno(), 0o6755)\n"
                 "t(os.open, 'c', os.O_CREAT | os.O_WRONLY, 0o6755)\n"
                 "t(os.mknod, 'd', 0o106755)\n"
                 "libc.syscall(452, -100, b'a', 0o6755, 0)\n"
                 "how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o6755, 0)\n"
                 "libc.syscall(437, -100, b'e', ctypes.byref(how), 24)\n"
                 "libc.creat(b'f', 0o6755)\n")
        self.go(modes, "-w", self.dir)
        self.assertIn("a", os.listdir(self.dir))
        found = {n: oct(os.lstat(os.path.join(self.dir, n)).st_mode) for n in os.listdir(self.dir)
                 if os.lstat(os.path.join(self.dir, n)).st_mode & 0o6000}
        self.assertEqual(found, {}, "setuid or setgid files of uid "
                         f"{os.getuid()} on the host")

    def test_T_SETUID_copied_out(self):
        """-o must not repeat setuid, setgid or a world-writable mode."""
        self.go("import os\nopen('a', 'w').write('x')\n"
                "try: os.chmod('a', 0o6777)\nexcept OSError: os.chmod('a', 0o777)", "-o", self.out)
        mode = os.stat(os.path.join(self.out, "a")).st_mode
        self.assertEqual(mode & 0o7022, 0, oct(mode))


class Names(Workspace):
    NAMES = [b"new\nline", b"esc\x1b]0;pwned\x07", b"\xff\xfe", b"n" * 255, b"-rf", b" ", b"a\\b",
             b"\xe2\x80\xaegnp.exe", b"tab\t", b"...", b"~", b"$(id)", b"`id`", b"%s%n", b"\x01"]

    def test_T_WORKSPACE_NAME_strange_names(self):
        """Newlines, escapes, invalid UTF-8, 255 bytes, options, formats."""
        done = self.go(f"for n in {self.NAMES!r}: open(n, 'wb').write(n)", "-w", self.dir,
                       "-o", self.out)
        self.assertEqual(done["status"], "ok", done)
        json.dumps(done)
        for name in self.NAMES:
            path = os.path.join(os.fsencode(self.out), name)
            if name == b"\xff\xfe" and not os.path.exists(path):
                continue
            with open(path, "rb") as f:
                self.assertEqual(f.read(), name)

    def test_T_WORKSPACE_NAME_invalid_utf8_does_not_hide_another(self):
        """A name that is shown repaired must not stand for a second file."""
        done = self.go("open(b'\\xff', 'w').write('first')\n"
                       "open('\\ufffd', 'w').write('second')\n6 * 7", "-o", self.out)
        self.assertEqual(done["status"], "ok", done)
        for name in os.listdir(os.fsencode(self.out)):
            with open(os.path.join(os.fsencode(self.out), name), "rb") as f:
                self.assertEqual(f.read(), b"first" if name == b"\xff" else b"second")

    def test_T_WORKSPACE_NAME_dots(self):
        """Names that a careless join would take for a way out."""
        done = self.go("import os\nos.makedirs('.. /.../..a')\n"
                       "open('.. /.../..a/x', 'w').write('1')\n"
                       "open('..\\\\..\\\\x', 'w').write('1')\n6 * 7", "-o", self.out)
        self.assertEqual(done["status"], "ok", done)
        self.assertEqual(sorted(os.listdir(self.top)), ["out", "outside", "ws"])

    def test_T_WORKSPACE_NAME_path_of_4096_bytes(self):
        """A path longer than any call takes."""
        done = self.go("import os\nfor i in range(30):\n    os.mkdir('d' * 250); os.chdir('d' * 250)\n"
                       "    open('f' * 250, 'w').write('1')\n6 * 7", "-w", self.dir, "-o", self.out)
        self.assertEqual(done["status"], "ok", done)
        self.assertTrue(done["truncated"].get("files"), done["truncated"])

    def test_T_WORKSPACE_NAME_of_the_program(self):
        """The name of the program itself is strange."""
        path = os.path.join(self.top, "a\x1b]0;pwned\x07\n.py")
        with open(path, "w", encoding="ascii") as f:
            f.write("1/0\n")
        done = harness.retort("run", path)
        self.assertEqual(done.status, 1)
        lines = [n for n in done.stderr.split(b"\n") if n.startswith(b"retort:")]
        self.assertNotIn(b"\x1b", b"".join(lines))


class Sizes(Workspace):
    def test_T_WORKSPACE_SIZE_deep_tree(self):
        """A tree a thousand deep."""
        done = self.go("import os\nfor i in range(1000):\n    os.mkdir('d'); os.chdir('d')\n"
                       "open('x', 'w').write('1')\n6 * 7", "-w", self.dir, "-o", self.out)
        self.assertEqual(done["status"], "ok", done)
        self.assertEqual(os.listdir(self.out), [])  # such a tree is nothing for the programs of a host

    def test_T_WORKSPACE_SIZE_many_files(self):
        """Thousands of files in the workspace before the run; in the long tests as many names as disk allows."""
        for i in range(harness.sample(20, 100)):
            os.mkdir(f"{self.dir}/{i}")
            for j in range(1000):
                os.close(os.open(f"{self.dir}/{i}/{j}", os.O_CREAT | os.O_WRONLY))
        start = time.monotonic()
        done = self.go("6 * 7", "-w", self.dir, "-o", self.out)
        self.assertEqual(done["value"]["text/plain"], "42")
        self.assertLess(time.monotonic() - start, 30)

    def test_T_WORKSPACE_SIZE_files_of_holes(self):
        """Sparse files are free in the box and must not fill the disk of the host by -o."""
        self.go("for i in range(6):\n    open(f's{i}', 'wb').truncate(200 << 20)", "-o", self.out)
        taken = sum(os.lstat(os.path.join(t, n)).st_blocks * 512
                    for t, _, f in os.walk(self.out) for n in f)
        self.assertLess(taken, 256 << 20, "more than --disk on the host")

    def test_T_WORKSPACE_SIZE_names_of_one_file(self):
        """A thousand names of one file are copied out as a thousand names of one file."""
        self.go("import os\nopen('a', 'wb').write(bytes(range(1, 256)) * (1 << 14))\n"
                "for i in range(1000): os.link('a', f'l{i}')", "--disk", "8m", "-o", self.out)
        self.assertEqual(len(os.listdir(self.out)), 1001)
        self.assertEqual(len({os.lstat(os.path.join(self.out, n)).st_ino for n in os.listdir(self.out)}), 1)
        with open(os.path.join(self.out, "l999"), "rb") as f:
            self.assertEqual(f.read(), bytes(range(1, 256)) * (1 << 14))

    def test_T_WORKSPACE_SIZE_names_of_one_file_and_holes_of_a_session(self):
        """The same by way of an engine: of all files, and of those that a step made."""
        code = ("import os\nopen('a', 'wb').write(bytes(range(1, 256)) * (1 << 14))\nos.mkdir('d')\n"
                f"for i in range({N_NAMES}): os.link('a', f'd/l{{i}}')\n"
                "for i in range(2): open(f's{i}', 'wb').truncate(10 << 20)")
        changed = os.path.join(self.top, "changed")
        with rpc.Engine() as engine:
            s = engine.client()("session.create")["session"]
            for args in (("exec", s, "-o", changed, "-c", code), ("files", s, "-o", self.out)):
                done = harness.retort("session", args[0], "--socket", engine.path, *args[1:])
                self.assertEqual((done.status, done.err), (0, ""))
        for top in (changed, self.out):
            found = {n: os.lstat(os.path.join(t, n)) for t, _, f in os.walk(top) for n in f}
            self.assertEqual(len(found), N_NAMES + 3)
            self.assertEqual(len({st.st_ino for n, st in found.items() if n[0] in "al"}), 1)
            self.assertEqual(found["s1"].st_size, 10 << 20)
            taken = sum({st.st_ino: st.st_blocks * 512 for st in found.values()}.values())
            self.assertLess(taken, 8 << 20, top)
            with open(os.path.join(top, "d", f"l{N_NAMES - 1}"), "rb") as f:
                self.assertEqual(f.read(), bytes(range(1, 256)) * (1 << 14))

    @harness.as_user
    def test_T_WORKSPACE_SIZE_more_files_than_are_listed(self):
        """What is copied of too many files is said not to be all."""
        code = "for i in range(10_050): open('%d' % i, 'w').close()"
        done = harness.run(code, "-o", self.out)
        self.assertEqual((done.status, len(os.listdir(self.out))), (0, 10_000))
        self.assertRegex(done.err, "^retort: there are more files, which were not copied[^\n]*\n$")
        with rpc.Engine() as engine:
            s = engine.client()("session.create")["session"]
            for args in (("exec", s, "-c", code), ("files", s)):
                out = os.path.join(self.top, args[0])
                done = harness.retort("session", args[0], "--socket", engine.path, *args[1:], "-o", out)
                self.assertEqual((done.status, len(os.listdir(out))), (0, 10_000))
                self.assertRegex(done.err, "^retort: there are more files, which were not copied[^\n]*\n$")

    def test_T_WORKSPACE_SIZE_one_file_of_holes_in_a_directory_of_the_host(self):
        """RLIMIT_FSIZE holds for a workspace of the host, too."""
        done = self.go("try: open('s', 'wb').truncate(1 << 40)\nexcept OSError as e: print(e.errno)",
                       "-w", self.dir, "-o", self.out)
        self.assertIn(done["stdout"], ("27\n", ""))
        path = os.path.join(self.dir, "s")
        self.assertLessEqual(os.path.getsize(path) if os.path.exists(path) else 0, 256 << 20)


class Races(Workspace):
    """A second run in the same workspace changes it under the hands of the copy-out."""

    def race(self, rival, rounds=25):
        other = attack.popen(
            "import os, time, ctypes\nlibc = ctypes.CDLL(None)\n"
            "def swap(a, b): libc.renameat2(-100, a.encode(), -100, b.encode(), 2)\n"
            f"end = time.time() + 20\n{rival}", "-w", self.dir, "--timeout", "30s")
        try:
            for _ in range(rounds):
                done = self.go("import os\nos.makedirs('d/e', exist_ok=True)\n"
                               "for i in range(20):\n"
                               "    try: os.write(os.open('d/e/f%d' % i, os.O_CREAT | os.O_WRONLY |\n"
                               "                          os.O_NONBLOCK), b'1')\n"
                               "    except OSError: pass\n", "-w", self.dir, "-o", self.out, timeout=25)
                self.assertIn(done["status"], ("ok", "error"))
                self.assertEqual(os.listdir(self.outside), ["canary"])
        finally:
            with open(os.path.join(self.dir, "stop"), "w", encoding="ascii"):
                pass
            attack.finish(other)

    def test_T_WORKSPACE_RACE_directory_becomes_a_link(self):
        """A directory is swapped with a link to the outside."""
        os.symlink(self.outside, os.path.join(self.dir, "link"))
        self.race("while time.time() < end and not os.path.exists('stop'): swap('d', 'link')")

    def test_T_WORKSPACE_RACE_file_becomes_a_link(self):
        """Files are swapped with a link to the canary."""
        os.symlink(self.canary, os.path.join(self.dir, "link"))
        self.race("while time.time() < end and not os.path.exists('stop'):\n"
                  "    for i in range(20): swap('d/e/f%d' % i, 'link')")

    def test_T_WORKSPACE_RACE_file_becomes_a_fifo(self):
        """Files are swapped with a FIFO."""
        os.mkfifo(os.path.join(self.dir, "fifo"))
        self.race("while time.time() < end and not os.path.exists('stop'):\n"
                  "    for i in range(20): swap('d/e/f%d' % i, 'fifo')")

    def test_T_WORKSPACE_RACE_output_below_the_workspace(self):
        """The output directory lies in the workspace and its directories are swapped with links."""
        os.symlink(self.outside, os.path.join(self.dir, "link"))
        out = os.path.join(self.dir, "out")
        os.makedirs(os.path.join(out, "d"))
        self.out = out
        self.race("while time.time() < end and not os.path.exists('stop'):\n"
                  "    swap('out/d', 'link'); swap('out/d/e', 'link')")

    def test_T_WORKSPACE_RACE_file_that_grows(self):
        """A file grows as fast as it is copied: the copy must end."""
        other = attack.popen(
            "import os, time\nend = time.time() + 15\nb = bytes(8 << 20)\nf = open('grow', 'wb')\n"
            "while time.time() < end and not os.path.exists('stop'):\n"
            "    f.write(b); f.flush()\n"
            "    if f.tell() > 200 << 20: f.seek(0); f.truncate(8 << 20)\n", "-w", self.dir)
        try:
            while not os.path.exists(os.path.join(self.dir, "grow")):
                time.sleep(0.01)
            self.go("import time\ntime.sleep(0.2)", "-w", self.dir, "-o", self.out, timeout=30)
        finally:
            with open(os.path.join(self.dir, "stop"), "w", encoding="ascii"):
                pass
            attack.finish(other)
        size = os.path.getsize(os.path.join(self.out, "grow"))
        self.assertLess(size, 512 << 20)

    def test_T_WORKSPACE_RACE_workspace_replaced(self):
        """The workspace's own name is swapped with a link to the outside."""
        trap = os.path.join(self.top, "trap")
        os.symlink(self.outside, trap)
        stop = threading.Event()
        import ctypes
        libc = ctypes.CDLL(None)

        def swap():
            while not stop.is_set():
                libc.renameat2(-100, self.dir.encode(), -100, trap.encode(), 2)

        before = os.stat(self.outside).st_ino
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for _ in range(20):
                done = attack.run("import os\nos.stat('.').st_ino, os.listdir('/home')",
                                  "-w", os.path.join(self.top, "ws"), timeout=30)
                # Either directory was named; nothing but the one that was checked is shown.
                if done.status == 0:
                    self.assertIn("['user']", done.out)
                else:
                    self.assertIn(done.status, (2, 125), done)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(os.stat(self.outside).st_ino, before)
        if os.path.islink(self.dir):
            os.unlink(self.dir)
            os.rename(trap, self.dir)
        elif os.path.islink(trap):
            os.unlink(trap)


if __name__ == "__main__":
    harness.main()
