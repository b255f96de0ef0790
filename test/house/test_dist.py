# SPDX-License-Identifier: Apache-2.0
"""The release that dev/dist writes: what is in it, when it refuses to, and the hook that checks a commit's message."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from test_house import ROOT, main, tracked

NEWS = "# retort 1.2.3 (May 4, 2031)\n\nAll is new.\n\n## What it does\n\nEverything.\n"
SMALL = {"meson.build": "project('retort', 'c',\n  version: '1.2.3',\n)\n", "NEWS.md": NEWS, "NEWS.d/README.md": "Fragments.\n",
         ".gitignore": "/build*/\n", "numbers": "".join(f"{n * n}\n" for n in range(5000))}


def has_git():
    try:
        return subprocess.run(["git", "--version"], stdout=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


@unittest.skipUnless(has_git(), "no git here: no release can be made")
class Repository(unittest.TestCase):
    """One of its own for each test, in which the tree's dev/dist makes releases."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="retort-dist-")
        self.addCleanup(shutil.rmtree, self.top)
        self.tree, self.out = os.path.join(self.top, "tree"), os.path.join(self.top, "out")
        self.env = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
        self.env.update(HOME=self.top, GIT_CONFIG_NOSYSTEM="1", LC_ALL="C.UTF-8")
        self.write(os.path.join(self.top, ".gitconfig"), "[user]\nname = A\nemail = a@example.org\n")

    def write(self, name, text):
        path = os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def copy(self, name):
        path = os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, name), path, follow_symlinks=False)

    def run_in(self, *argv, umask=-1, **env):
        return subprocess.run(argv, cwd=self.tree, env={**self.env, **env}, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=umask)

    def git(self, *args):
        done = self.run_in("git", *args)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "test: a commit")

    def small(self):
        for name, text in SMALL.items():
            self.write(name, text)
        self.copy("dev/dist")
        self.git("init", "-q")
        self.commit()

    def dist(self, *options, **more):
        return self.run_in("dev/dist", "--unchecked", *options, self.out, **more)

    def taken(self):
        """The bytes of the tarball, whose sum is right."""
        with open(self.out + "/retort-1.2.3.tar.gz", "rb") as f:
            data = f.read()
        with open(self.out + "/retort-1.2.3.tar.gz.sha256", encoding="ascii") as f:
            self.assertEqual(f.read(), f"{hashlib.sha256(data).hexdigest()}  retort-1.2.3.tar.gz\n")
        self.assertEqual(sorted(os.listdir(self.out)), ["retort-1.2.3.tar.gz", "retort-1.2.3.tar.gz.sha256"])
        shutil.rmtree(self.out)
        return data


class Dist(Repository):
    def test_the_same_commit_gives_the_same_bytes(self):
        self.small()
        self.assertEqual(self.dist().returncode, 0)
        first = self.taken()
        self.git("clone", "-q", self.tree, self.top + "/other")
        self.tree = self.top + "/other"
        with open(self.top + "/.gitconfig", "a", encoding="utf-8") as f:
            f.write("[tar]\numask = user\n[tar \"tar.gz\"]\ncommand = gzip -c1\n[core]\nautocrlf = true\n")
        done = self.dist(umask=0o077, TZ="Asia/Tokyo")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.taken(), first)
        self.write("more", "a change\n")
        self.commit()
        self.assertEqual(self.dist().returncode, 0)
        self.assertNotEqual(self.taken(), first)

    def test_the_tag_has_the_news(self):
        self.small()
        self.assertEqual(self.dist().returncode, 0)
        self.assertEqual(self.git("tag"), "")
        for _ in "made", "there already":
            done = self.dist("--tag")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(self.git("cat-file", "tag", "v1.2.3").split("\n\n", 1)[1], NEWS)
            self.assertEqual(self.git("rev-parse", "v1.2.3^{commit}"), self.git("rev-parse", "HEAD"))

    def test_refusals(self):
        def tag():
            self.git("tag", "-a", "-m", "before", "v1.2.3")
            self.write("more", "a change\n")
            self.commit()

        for what, says in ((lambda: self.write("untracked", ""), "not everything is committed:\n?? untracked"),
                           (lambda: self.write("NEWS.md", NEWS + "More.\n"), "not everything is committed:\n M NEWS.md"),
                           (lambda: (self.write("NEWS.d/x.fixed.md", "It works.\n"), self.commit()), "remove them:\nNEWS.d/x.fixed.md"),
                           (lambda: (self.write("NEWS.md", NEWS.replace("1.2.3", "1.2.30")), self.commit()), "NEWS.md does not begin"),
                           (tag, "is the tag of another commit")):
            with self.subTest(says):
                shutil.rmtree(self.tree, ignore_errors=True)
                self.small()
                what()
                before = self.git("for-each-ref")
                done = self.dist("--tag")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(says, done.stdout)
                self.assertEqual((os.listdir(self.out), self.git("for-each-ref")), ([], before))

    def test_this_tree_is_all_in_it_and_configures_without_git(self):
        names = tracked()
        for name in names:
            self.copy(name)
        for name in names:
            if name.startswith("NEWS.d/") and name != "NEWS.d/README.md":
                os.unlink(os.path.join(self.tree, name))
                names = [n for n in names if n != name]
        self.git("init", "-q")
        # What is tracked here although .gitignore has its name is tracked there.
        self.git("add", "-f", ".")
        self.commit()
        done = self.dist()
        self.assertEqual(done.returncode, 0, done.stdout)
        [archive] = [n for n in os.listdir(self.out) if n.endswith(".tar.gz")]
        name = archive[:-len(".tar.gz")]
        with tarfile.open(os.path.join(self.out, archive)) as tar:
            files = [m for m in tar.getmembers() if not m.isdir()]
            self.assertEqual(sorted(m.name for m in files), sorted(f"{name}/{n}" for n in names))
            wrong = [m.name for m in files if m.isfile() and bool(m.mode & 0o100) !=
                     os.access(os.path.join(ROOT, m.name[len(name) + 1:]), os.X_OK)]
            self.assertEqual(wrong, [])
            tar.extractall(self.top)
        self.tree = os.path.join(self.top, name)
        self.write("../bin/git", "#!/bin/sh\necho git >>\"$HOME/called\"\nexit 127\n")
        os.chmod(self.top + "/bin/git", 0o755)
        path = f"{self.top}/bin:{os.environ['PATH']}"
        for argv in (["meson", "setup", "build"], ["ninja", "-C", "build", "src/libbase.a"]):
            done = self.run_in(*argv, PATH=path)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.assertFalse(os.path.exists(self.top + "/called"))


class Hook(Repository):
    def test_messages(self):
        hook = os.path.join(ROOT, ".githooks", "commit-msg")
        os.mkdir(self.tree)
        for message, is_good in (("sandbox: refuse a bind over /proc\n\nWhy: …", True), ("store, session: one order", True),
                                 ("test/house: a rule", True), ("# a comment\n\nREADME: shorter", True),
                                 ("Merge branch 'x'", True), ('Revert "docs: x"', True), ("fixup! docs: x", True),
                                 ("docs: " + "ä" * 66, True), ("docs: " + "ä" * 67, False), ("x", False), ("", True),
                                 ("format", False), ("a whole sentence: no area", False), ("docs:x", False), ("docs: ", False)):
            with self.subTest(message):
                self.write("message", message + "\n")
                done = self.run_in(hook, "message")
                self.assertEqual((done.returncode, done.stdout == ""), (0, True) if is_good else (1, False), done.stdout)


if __name__ == "__main__":
    main()
