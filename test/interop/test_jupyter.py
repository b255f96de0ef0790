# SPDX-License-Identifier: Apache-2.0
"""Clients of Jupyter's kernels, unchanged, with a kernel of ours: of today, and of some years ago."""

import json
import os
import re
import subprocess

import interop

harness = interop.harness
PROGRAMS = os.path.join(interop.HERE, "jupyter")
TIMEOUT_S = 400


class Clients(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.place = harness.make_dir()
        for options in ((), ("-r", "javascript")):
            done = harness.retort("kernel", "install", "--prefix", cls.place, *options)
            assert done.status == 0, done

    def python(self, versions, program):
        where = interop.needed(f"clients of Jupyter, {versions}", "--jupyter", versions)
        env = {**harness.environment(), "JUPYTER_PATH": os.path.join(self.place, "share", "jupyter"),
               "JUPYTER_RUNTIME_DIR": harness.make_dir(), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([os.path.join(where, "bin", "python"), os.path.join(PROGRAMS, program)], env=env, text=True,
                              capture_output=True, timeout=TIMEOUT_S, check=False, cwd=harness.make_dir())

    def kernel_test(self, versions):
        done = self.python(versions, "kernel_test.py")
        self.assertEqual(done.returncode, 0, done.stderr[-5000:])
        # What is skipped: pages of text, and what JavaScript has no sample for.
        return int(re.search(r"Ran (\d+) tests", done.stderr)[1]), int(re.search(r"skipped=(\d+)", done.stderr)[1])

    def notebooks(self, versions):
        done = self.python(versions, "notebooks.py")
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for line in lines:
            with self.subTest(line["name"]):
                self.assertTrue(line["good"], line["found"])
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return len(lines)

    def test_kernel_test(self):
        self.assertEqual(self.kernel_test("new"), (24, 5))

    def test_kernel_test_older(self):
        self.assertEqual(self.kernel_test("old")[1], 5)

    def test_notebooks(self):
        self.assertEqual(self.notebooks("new"), 9)

    def test_notebooks_older(self):
        self.assertEqual(self.notebooks("old"), 9)


if __name__ == "__main__":
    harness.main()
