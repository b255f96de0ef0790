# SPDX-License-Identifier: Apache-2.0
"""Copies between this host and a session, as a user of `docker cp` expects them."""

import io
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402


class Copy(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.env = {"RETORT_SOCKET": cls.engine.path}
        cls.client = cls.engine.client()

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()

    def setUp(self):
        self.client("session.create", name="work")
        self.addCleanup(self.client, "session.close", session="work")
        self.here = harness.make_dir()

    def cp(self, *args, **more):
        return harness.retort("cp", *args, env=self.env, cwd=self.here, **more)

    def sh(self, script):
        done = harness.retort("exec", "work", "sh", "-c", script, env=self.env)
        self.assertEqual((done.status, done.err), (0, ""))
        return done.out

    def copied(self, *args):
        done = self.cp(*args)
        self.assertEqual((done.status, done.out, done.err), (0, "", ""), args)

    def put(self, name, text="text\n"):
        path = os.path.join(self.here, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def tree(self, top):
        """{path: content or target of a link} below @top."""
        found = {}
        for where, dirs, names in os.walk(os.path.join(self.here, top)):
            for name in names + [d for d in dirs if os.path.islink(os.path.join(where, d))]:
                path = os.path.join(where, name)
                key = os.path.relpath(path, os.path.join(self.here, top))
                if os.path.islink(path):
                    found[key] = "-> " + os.readlink(path)
                else:
                    with open(path, "rb") as f:
                        found[key] = f.read().decode()
        return found

    def test_a_file_into_the_session(self):
        self.put("a.txt", "one")
        self.sh("mkdir dir; echo old >old")
        for to, where in (("work:", "a.txt"), ("work:.", "a.txt"), ("work:new", "new"), ("work:dir", "dir/a.txt"),
                          ("work:dir/", "dir/a.txt"), ("work:dir/b", "dir/b"), ("work:/tmp/c", "/tmp/c"), ("work:old", "old")):
            with self.subTest(to=to):
                self.copied("a.txt", to)
                self.assertEqual(self.sh(f"cat {where}"), "one")

    def test_a_file_out_of_the_session(self):
        self.sh("mkdir -p d/e; printf one >d/e/f; chmod 750 d/e/f")
        os.mkdir(os.path.join(self.here, "dir"))
        self.put("old", "old")
        for to, where in ((".", "f"), ("new", "new"), ("dir", "dir/f"), ("dir/", "dir/f"), ("dir/g", "dir/g"), ("old", "old"),
                          (os.path.join(self.here, "x"), "x")):
            with self.subTest(to=to):
                self.copied("work:d/e/f", to)
                path = os.path.join(self.here, where)
                with open(path, encoding="utf-8") as f:
                    self.assertEqual(f.read(), "one")
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o750)
        self.copied("work:/home/user/d/e/f", "abs")

    def test_a_directory_both_ways(self):
        self.put("src/a", "1")
        self.put("src/sub/ü \"b\"", "2")
        self.put("src/deep/" + "x" * 200 + "/" + "y" * 200, "3")
        os.symlink("../a", os.path.join(self.here, "src/sub/link"))
        os.mkdir(os.path.join(self.here, "src/empty"))
        want = self.tree("src")
        self.copied("src", "work:new")  # there is none: the copy has that name
        self.copied("src", "work:new")  # there is one: the copy goes into it
        self.copied("src/.", "work:content")
        self.sh("mkdir in")
        self.copied("src/", "work:in")
        for copy in ("new", "new/src", "content", "in/src"):
            self.copied(f"work:{copy}", "out-" + os.path.basename(copy))
            got = self.tree("out-" + os.path.basename(copy))
            self.assertEqual({k: v for k, v in got.items() if not k.startswith("src/")}, want)
        self.assertTrue(os.path.isdir(os.path.join(self.here, "out-content/empty")))
        os.mkdir(os.path.join(self.here, "into"))
        self.copied("work:content", "into")
        self.copied("work:content/.", "into")
        self.assertEqual(self.tree("into/content"), want)
        self.assertEqual({k: v for k, v in self.tree("into").items() if not k.startswith("content/")}, want)
        self.copied("work:.", "whole")
        self.assertEqual(self.tree("whole/content"), want)

    def test_bytes_and_times(self):
        data = os.urandom(20 << 20)
        with open(os.path.join(self.here, "big"), "wb") as f:
            f.write(data)
        os.utime(os.path.join(self.here, "big"), (1000000000, 1000000000))
        self.copied("big", "work:")
        self.assertEqual(self.sh("stat -c %Y,%s big"), f"1000000000,{len(data)}\n")
        self.copied("work:big", "back")
        with open(os.path.join(self.here, "back"), "rb") as f:
            self.assertTrue(f.read() == data)
        self.assertEqual(os.stat(os.path.join(self.here, "back")).st_mtime, 1000000000)
        # Holes stay readable as zeros.
        with open(os.path.join(self.here, "holes"), "wb") as f:
            f.seek(5 << 20)
            f.write(b"end")
        self.copied("holes", "work:")
        self.assertEqual(self.sh("stat -c %s holes; tail -c 3 holes"), f"{(5 << 20) + 3}\nend")

    def test_archives(self):
        self.sh("mkdir d; echo one >d/a; ln -s a d/l")
        done = self.cp("work:d", "-")
        self.assertEqual((done.status, done.err), (0, ""))
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            self.assertEqual(sorted(archive.getnames()), ["d", "d/a", "d/l"])
        done2 = self.cp("-", "work:/tmp", stdin=done.stdout)
        self.assertEqual((done2.status, done2.err), (0, ""))
        self.assertEqual(self.sh("cat /tmp/d/l"), "one\n")
        done = self.cp("-", "work:nowhere", stdin=done.stdout)
        self.assertEqual(done.status, 2, done)
        self.assertIn("nowhere", done.err)

    def test_between_sessions(self):
        self.client("session.create", name="other")
        self.sh("mkdir d; echo one >d/a")
        subprocess.run(["sh", "-c", f"{harness.RETORT} cp work:d - | {harness.RETORT} cp - other:"], check=True,
                       env=harness.environment(self.env), timeout=harness.TIMEOUT_S)
        self.assertEqual(harness.retort("exec", "other", "cat", "d/a", env=self.env).out, "one\n")
        self.client("session.close", session="other")

    def test_what_a_link_leads_to(self):
        self.sh("echo one >a; ln -s a l; ln -s /etc/passwd p; mkdir d; ln -s ../a d/up")
        done = self.cp("work:p", ".")
        self.assertEqual((done.status, done.err), (1, "retort: cp: p was left out: a link that leads out of the copy\n"))
        self.copied("-L", "work:l", "x")
        self.copied("-L", "work:d", "y")
        self.assertEqual((self.tree("y"), os.path.islink(os.path.join(self.here, "x"))), ({"up": "one\n"}, False))
        os.symlink("x", os.path.join(self.here, "link"))
        self.copied("link", "work:named")  # a link that is named is followed
        self.assertEqual(self.sh("cat named"), "one\n")
        os.makedirs(os.path.join(self.here, "z"))
        os.symlink("../x", os.path.join(self.here, "z/link"))
        self.copied("z", "work:z")
        self.assertEqual(self.sh("readlink z/link"), "../x\n")
        self.copied("-L", "z/.", "work:z2")
        self.assertEqual(self.sh("cat z2/link"), "one\n")

    def test_what_cannot_be_copied_is_named(self):
        self.put("d/a")
        os.mkfifo(os.path.join(self.here, "d/fifo"))
        with socket.socket(socket.AF_UNIX) as s:
            where = os.getcwd()
            os.chdir(os.path.join(self.here, "d"))
            s.bind("socket")
            os.chdir(where)
        done = self.cp("d", "work:")
        self.assertEqual((done.status, sorted(done.err.splitlines())), (1, [
            f"retort: cp: d/{name} was left out: neither a file nor a directory" for name in ("fifo", "socket")]))
        self.assertEqual(self.sh("ls d"), "a\n")
        self.sh("mkfifo d/fifo")
        done = self.cp("work:d", "e")
        self.assertEqual((done.status, done.err), (1, "retort: cp: e/fifo was left out: neither a file nor a directory\n"))
        self.assertEqual(self.tree("e"), {"a": "text\n"})

    def test_what_is_no_file_stays_what_it_is(self):
        """As root, a copy to /dev/null must not put a file in its place."""
        self.sh("echo hi >f")
        path = os.path.join(self.here, "fifo")
        os.mkfifo(path)
        os.symlink("fifo", os.path.join(self.here, "link"))
        for name in ("fifo", "link", path):
            done = self.cp("work:f", name)
            self.assertEqual(done.status, 2, done)
            self.assertIn("is neither a file nor a directory", done.err)
            self.assertTrue(stat.S_ISFIFO(os.stat(path).st_mode))
        self.sh("mkdir in; echo hi >in/fifo; echo hi >in/other")
        done = self.cp("work:in/.", ".")
        self.assertEqual((done.status, done.err), (
            1, "retort: cp: fifo was left out: in its place is neither a file nor a directory\n"))
        self.assertTrue(stat.S_ISFIFO(os.stat(path).st_mode))
        with open(os.path.join(self.here, "other"), encoding="ascii") as file:
            self.assertEqual(file.read(), "hi\n")

    def test_what_is_wrong_is_said(self):
        self.put("a")
        self.put("dir/b")
        self.sh("mkdir d; echo one >f")
        for args, status, said in (
                ([], 2, "cp: the source is missing: for example: retort cp work:result.csv ."),
                (["a"], 2, "cp: the destination is missing: for example: retort cp work:result.csv ."),
                (["a", "b", "work:"], 2, 'cp: unexpected "work:": copy one at a time, or a directory'),
                (["a", "b"], 2, "cp: neither is in a session: write SESSION:PATH for the one that is in a session; ./a:b is "
                 "a file here"),
                (["./work:a", "b"], 2, "cp: neither is in a session: write SESSION:PATH for the one that is in a session; "
                 "./a:b is a file here"),
                (["work:a", "work:b"], 2, "cp: both are in a session: copy through an archive: retort cp A:DIR - | "
                 "retort cp - B:DIR"),
                (["nothing", "work:"], 2, "cp: nothing: No such file or directory: name a file or directory of this host "
                 "that you may read"),
                (["work:nothing", "."], 2, "cp: in session work: tar: ./nothing: Cannot stat: No such file or directory"),
                (["work:nothing/x", "."], 2, "cp: in session work: tar: nothing: Cannot open: No such file or directory"),
                (["nobody:x", "."], 2, None),
                ([b"work:\xff", "."], 2, "cp: work:\\xff is not UTF-8: write it in UTF-8, or copy its directory"),
                (["work:f", "nowhere/x"], 2, "cp: nowhere: No such file or directory: name a directory that is there"),
                (["work:f", "nowhere/"], 2, "cp: there is no directory nowhere/: make it, or leave out the slash at the end"),
                (["work:d", "a"], 2, "cp: a is a file, and the source is a directory: name a directory, or a name that is "
                 "free"),
                (["dir", "work:f"], 2, "cp: f in the session is a file, and dir a directory: name a directory, or a name "
                 "that is free"),
                (["a", "work:nowhere/x"], 2, "cp: the session has no directory nowhere: make it first: retort exec SESSION "
                 "mkdir -p DIR"),
                (["a", "work:nowhere/"], 2, "cp: the session has no directory nowhere/: make it first: retort exec SESSION "
                 "mkdir -p DIR"),
                (["a", "work:/etc"], 1, "cp: in session work: tar: ./a: Cannot open: Read-only file system"),
                (["--max-size", "3", "work:f", "x"], 2, "cp: more than 3 B: allow more with --max-size")):
            with self.subTest(args=args):
                done = self.cp(*args)
                self.assertEqual((done.status, done.out), (status, ""), done)
                if said:
                    self.assertEqual(done.err, f"retort: {said}\n")
        self.assertEqual(self.tree("."), {"a": "text\n", "dir/b": "text\n"})

    def test_a_full_box_says_so(self):
        self.client("session.create", name="small", limits={"disk_bytes": 1 << 20})
        os.mkdir(os.path.join(self.here, "dir"))
        for name in ("big", "dir/big"):
            with open(os.path.join(self.here, name), "wb") as f:
                f.write(b"x" * (4 << 20))
        for source in ("big", "dir"):
            done = self.cp(source, "small:")
            self.assertEqual((done.status, done.out, done.err), (
                1, "", "retort: cp: the disk of session small is full: remove files there, or make a session with a "
                "larger --disk\n"))
            if source == "big":  # what there was of it is gone
                self.assertEqual(harness.retort("exec", "small", "ls", "-A", env=self.env).out, "")
        self.client("session.close", session="small")

    def running(self, session="work"):
        return [p for p in self.client("process.list", session=session)["processes"] if p["state"] == "running"]

    def test_the_box_s_program_ends_with_the_command(self):
        """SIGKILL: the command can do nothing about it."""
        self.client("session.create", name="slow", env={"PATH": "/home/user/bin:/usr/bin:/bin"})
        self.addCleanup(self.client, "session.close", session="slow")
        harness.retort("exec", "slow", "sh", "-c", "mkdir bin; printf '#!/bin/sh\\nsleep 1000 | sleep 1001\\n' >bin/tar; "
                       "chmod +x bin/tar; echo one >f", env=self.env)
        self.put("a")
        for args in (["slow:f", "copy"], ["slow:f", "-"], ["a", "slow:"], ["-", "slow:"]):
            with self.subTest(args=args):
                copy = subprocess.Popen([harness.RETORT, "cp", *args], env=harness.environment(self.env), cwd=self.here,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.until(lambda: len([p for p in self.running("slow") if "sleep" in p.get("command", "")]) == 2)
                copy.kill()
                copy.communicate(timeout=harness.TIMEOUT_S)
                self.until(lambda: self.running("slow") == [])
        done = harness.retort("exec", "slow", "cat", "f", env=self.env)
        self.assertEqual((done.status, done.out), (0, "one\n"))

    def test_a_file_has_its_name_when_it_is_whole(self):
        self.client("session.create", name="cut", env={"PATH": "/home/user/bin:/usr/bin:/bin"})
        self.addCleanup(self.client, "session.close", session="cut")
        harness.retort("exec", "cut", "sh", "-c", "mkdir bin; head -c 1000000 /dev/zero >big; /usr/bin/tar -cf all big; "
                       "printf '#!/bin/sh\\nhead -c 600000 all; sleep 1000\\n' >bin/tar; chmod +x bin/tar",
                       env=self.env)
        self.put("old", "old")
        for to in ("new", "old"):
            with self.subTest(to=to):
                copy = subprocess.Popen([harness.RETORT, "cp", "cut:big", to], env=harness.environment(self.env),
                                        cwd=self.here)
                part = os.path.join(self.here, f".retort-cp-{copy.pid}")
                self.until(lambda: os.path.exists(part) and os.path.getsize(part) > 0)
                copy.kill()
                copy.wait()
                os.unlink(part)
                self.assertEqual(self.tree("."), {"old": "old"})
        harness.retort("exec", "cut", "sh", "-c", "printf '#!/bin/sh\\nhead -c 600000 | /usr/bin/tar \"$@\"; sleep 1000\\n' "
                       ">bin/tar; printf old >old; rm -f new", env=self.env)
        self.put("source/new", "x" * 1000000)
        for to in ("new", "old"):
            with self.subTest(into=to):
                copy = subprocess.Popen([harness.RETORT, "cp", "source/new", f"cut:{to}"],
                                        env=harness.environment(self.env), cwd=self.here)
                part = f".retort-cp-{copy.pid}"
                self.until(lambda: harness.retort("exec", "cut", "test", "-s", part, env=self.env).status == 0)
                copy.kill()
                copy.wait()
                self.until(lambda: self.running("cut") == [])
                done = harness.retort("exec", "cut", "sh", "-c", f"rm {part}; cat new; cat old", env=self.env)
                self.assertEqual(done.out, "old", done)
        shutil.rmtree(os.path.join(self.here, "source"))
        harness.retort("exec", "cut", "sh", "-c", "printf '#!/bin/sh\\nhead -c 600000 all\\n' >bin/tar", env=self.env)
        done = self.cp("cut:big", "old")  # the archive ends too early
        self.assertEqual(done.status, 125, done)
        self.assertEqual(self.tree("."), {"old": "old"})

    def test_a_copy_is_not_listed_when_it_is_over(self):
        self.put("a")
        self.copied("a", "work:")
        self.copied("work:a", "b")
        self.assertEqual(self.cp("work:a", "-").status, 0)
        self.assertEqual(self.client("process.list", session="work")["processes"], [])


if __name__ == "__main__":
    harness.main()
