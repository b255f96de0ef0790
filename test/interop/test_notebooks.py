# SPDX-License-Identifier: Apache-2.0
"""Notebooks that `retort run` has executed are valid to nbformat, and nbclient gets the same outputs from the same cells."""

import os
import subprocess

import interop

harness = interop.harness
TIMEOUT_S = 400
PROGRAM = os.path.join(interop.HERE, "jupyter", "executed.py")


class Notebooks(harness.Case):
    def check(self, versions):
        where = interop.needed(f"clients of Jupyter, {versions}", "--jupyter", versions)
        place = harness.make_dir()
        assert harness.retort("kernel", "install", "--prefix", place).status == 0
        env = {**harness.environment(), "JUPYTER_PATH": os.path.join(place, "share", "jupyter"), "RETORT": harness.RETORT,
               "JUPYTER_RUNTIME_DIR": harness.make_dir(), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([os.path.join(where, "bin", "python"), PROGRAM], env=env, text=True, capture_output=True,
                              timeout=TIMEOUT_S, check=False, cwd=harness.make_dir())
        self.assertEqual((done.returncode, done.stdout), (0, "good\n"), done.stderr[-5000:])

    def test_executed(self):
        self.check("new")

    def test_executed_older(self):
        self.check("old")


if __name__ == "__main__":
    harness.main()
