# SPDX-License-Identifier: Apache-2.0
"""clients/python, and the libraries that it makes boxes of retort sandboxes of."""

import json
import os
import re
import subprocess
import sys

import interop

sys.path.insert(0, os.path.join(os.path.dirname(interop.HERE), "system"))
import web  # noqa: E402

harness = interop.harness
PROGRAMS = os.path.join(interop.HERE, "adapters")
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(interop.HERE)), "clients", "python")
TOKEN = "ann-" + "a" * 28
TIMEOUT_S = 400


class Adapters(harness.Case):
    def setUp(self):
        super().setUp()
        self.where = interop.needed("libraries for clients/python", "--adapters")

    def python(self, *argv, **variables):
        path = os.pathsep.join([os.path.dirname(harness.RETORT), os.environ["PATH"]])
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": PACKAGE, "PATH": path, **variables}
        return subprocess.run([os.path.join(self.where, "bin", "python"), *argv], capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False, cwd=PROGRAMS, env=env)

    def checked(self, done):
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual((done.returncode, bool(lines)), (0, True), done.stderr[-3000:])
        for line in lines:
            with self.subTest(line["name"]):
                self.assertTrue(line["good"], line["found"])
        return len(lines)

    def test_over_http(self):
        with web.Server(tokens=f"ann {TOKEN}\n") as server:
            done = self.python("adapters.py", f"http://127.0.0.1:{server.port}", TOKEN)
        self.assertEqual(self.checked(done), 28)

    def test_over_the_socket(self):
        with web.Server() as server:
            done = self.python("adapters.py", f"unix:{server.path}")
        self.assertEqual(self.checked(done), 28)

    def test_the_checks_of_inspect_ai(self):
        """With an engine that the provider starts itself."""
        done = self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "self_check.py", RETORT_URL="")
        found = re.search(r"(\d+) passed, 1 xfailed", done.stdout)
        self.assertTrue(found and int(found[1]) >= 40 and done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:])


if __name__ == "__main__":
    harness.main()
