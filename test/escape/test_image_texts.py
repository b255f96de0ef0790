# SPDX-License-Identifier: Apache-2.0
"""What a directory that is imported, and the texts of an image, cannot do to whoever uses them."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
from image_case import Case  # noqa: E402
from registry_fake import Image, layer  # noqa: E402

IDENTITY = "user"
NASTY = "\u009b2J\u202e\x7f\u200b\U000e0041"  # a control sequence, text from right to left, DEL, what nobody sees

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
    def test_T_IMAGE_PACK_what_is_swapped_is_not_followed(self):
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


class Texts(Case):
    def test_T_IMAGE_TERMINAL_what_an_image_says_of_itself(self):
        """Nothing that a terminal would obey or hide is printed, and the JSON means the same."""
        self.registry.add("app", Image(layer({"a": b"1"}), Labels={"x": NASTY, "good": "ž"}, Env=["A=" + NASTY]))
        self.pull()
        self.registry.says = json.dumps({"errors": [{"message": NASTY}]}).encode()
        for args, status in ((("inspect", self.name("app")), 0), (("ls", "--json"), 0), (("pull", self.name("other"), "--json"), 4)):
            done = self.image(*args)
            self.assertEqual(done.status, status, done)
            for character in NASTY:
                if not character.isprintable():
                    self.assertNotIn(character, done.out + done.err)
        about = self.image("inspect", self.name("app"))
        self.assertEqual(about.json()["config"]["labels"], {"x": NASTY, "good": "ž"})
        self.assertIn("ž", about.out)


if __name__ == "__main__":
    harness.main()
