# SPDX-License-Identifier: Apache-2.0
"""`retort image` as people use it: several images at a time, messages, a terminal, and directories that others change."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from image_case import Case  # noqa: E402

IDENTITY = "user"

# Exchanges each of 100 files with a link to another file, and directories with links to another one, until it is killed.
SWAPS = r"""
import ctypes, os, sys
libc, exchange = ctypes.CDLL(None), 2
os.chdir(sys.argv[1])
pairs = [(f"f{i}".encode(), b"link") for i in range(100)] + [(f"d{i}".encode(), b"dirlink") for i in range(20)]
print("ready", flush=True)
while True:
    for a, b in pairs * 1000:
        for _ in range(2):
            libc.renameat2(-100, a, -100, b, exchange)
"""


class Directories(Case):
    def system(self, files=()):
        where = tempfile.mkdtemp(dir=self.state)
        for path, data in dict(files).items():
            os.makedirs(os.path.dirname(os.path.join(where, path)), exist_ok=True)
            with open(os.path.join(where, path), "wb") as f:
                f.write(data)
        return where

    def take(self, *args, **more):
        done = self.image("import", *args, "--json", **more)
        self.assertEqual(done.status, 0, done)
        return done.json()

    def test_what_is_swapped_is_not_followed(self):
        """Nothing from outside of the directory gets into the image, whatever is renamed meanwhile."""
        outside = self.system({"secret": b"SECRET", "names/SECRETNAME": b"SECRET"})
        where = self.system({**{f"f{i}": b"x" * 15 for i in range(100)}, **{f"d{i}/SECRETNAME": b"mine" for i in range(20)}})
        os.symlink(os.path.join(outside, "secret"), os.path.join(where, "link"))
        os.symlink(os.path.join(outside, "names"), os.path.join(where, "dirlink"))
        swaps = subprocess.Popen([sys.executable, "-c", SWAPS, where], stdout=subprocess.PIPE)
        self.addCleanup(swaps.stdout.close)
        self.addCleanup(swaps.wait)
        self.addCleanup(swaps.kill)
        self.assertEqual(swaps.stdout.readline(), b"ready\n")
        for i in range(15):
            done = self.image("import", where, f"race{i}")
            found = subprocess.run(["grep", "-rl", "SECRET$", os.path.join(self.state, "layers")], capture_output=True, check=False)
            self.assertEqual(found.stdout, b"")
            if done.status != 0:
                self.assertIn("has changed while it was read", done.err)
                self.assertEqual(done.status, 1, done)

    def test_names_links_and_bytes(self):
        where = self.system({"a/b": b"12345", "z": b"", os.fsdecode(b"caf\xe9"): b"x"})
        os.link(os.path.join(where, "a/b"), os.path.join(where, "c"))
        os.symlink("b", os.path.join(where, "a", "l"))
        about = self.take(where, "system")
        tree = self.tree(about)
        self.assertEqual((about["bytes"], set(os.listdir(tree))), (6, {"a", "c", "z", os.fsdecode(b"caf\xe9")}))
        self.assertEqual(os.stat(os.path.join(tree, "c")).st_ino, os.stat(os.path.join(tree, "a/b")).st_ino)
        self.assertEqual(os.readlink(os.path.join(tree, "a", "l")), "b")
        again = self.take(where, "again")
        self.assertEqual(again["digest"], about["digest"])

    def test_the_file_that_cannot_be_read_is_named(self):
        where = self.system({"etc/shadow": b"x", "etc/a": b"y"})
        os.chmod(os.path.join(where, "etc/shadow"), 0)
        if not harness.IS_ROOT:
            done = self.image("import", where, "system")
            self.assertEqual(done.status, 2, done)
            self.assertIn("/etc/shadow cannot be read: Permission denied", done.err)

    def test_what_is_too_deep(self):
        where = self.system({"d/" * 140 + "f": b"x"})
        done = self.image("import", where, "system")
        self.assertEqual(done.status, 2, done)
        self.assertIn("more than 128 directories in each other", done.err)
        self.assertEqual((self.layers(), self.downloads()), ([], []))


if __name__ == "__main__":
    harness.main()
