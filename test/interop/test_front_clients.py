# SPDX-License-Identifier: Apache-2.0
"""Clients that others wrote, unchanged, whose URL leads to a front."""

import json
import os
import subprocess
import sys

import interop

sys.path.insert(0, os.path.join(os.path.dirname(interop.HERE), "system"))
import web  # noqa: E402

harness = interop.harness
PROGRAMS = os.path.join(interop.HERE, "fronts")
TOKEN = "ann-" + "a" * 28
KEY = "e2b_" + "a1" * 20  # Some clients take no key of another form.
TIMEOUT_S = 300


class Clients(harness.Case):
    FRONTS = ()
    TOKEN = TOKEN

    @classmethod
    def setUpClass(cls):
        cls.servers = {False: web.Server(*cls.FRONTS), True: web.Server(*cls.FRONTS, tokens=f"ann {cls.TOKEN}\n")}

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers.values():
            server.stop()

    def checked(self, argv):
        """Run a program of fronts/. Each of its checks is a subtest."""
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                              cwd=PROGRAMS, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual((done.returncode, bool(lines)), (0, True), done.stderr[-3000:])
        for line in lines:
            with self.subTest(line["name"]):
                self.assertTrue(line["good"], line["found"])
        return len(lines)

    def python(self, versions, program, has_token):
        where = interop.needed(f"clients of fronts, {versions}", "--fronts", versions)
        server = self.servers[has_token]
        argv = [os.path.join(where, "bin", "python"), os.path.join(PROGRAMS, program), f"http://127.0.0.1:{server.port}"]
        return self.checked([*argv, self.TOKEN] if has_token else argv)


class Programs(Clients):
    FRONTS = ("--front", "sandboxfusion", "--front", "piston", "--front", "librechat")

    def test_sandbox_fusion(self):
        self.assertEqual(self.python("new", "sandboxfusion.py", has_token=True), 23)

    def test_sandbox_fusion_older(self):
        self.assertEqual(self.python("old", "sandboxfusion.py", has_token=False), 22)

    def test_verl_and_tinker(self):
        self.assertEqual(self.python("new", "rewards.py", has_token=True), 20)

    def test_verl_and_tinker_older(self):
        self.assertEqual(self.python("old", "rewards.py", has_token=False), 20)

    def test_piston_from_pypi(self):
        self.assertEqual(self.python("new", "piston.py", has_token=True), 17)

    def test_piston_from_npm(self):
        where = interop.needed("clients of fronts from npm", "--fronts", "npm")
        modules = os.path.join(where, "node_modules")
        self.assertEqual(self.checked(["node", os.path.join(PROGRAMS, "piston.mjs"), modules,
                                       f"http://127.0.0.1:{self.servers[False].port}"]), 8)

    def test_librechat(self):
        """The tools of @librechat/agents, and what LibreChat itself sends for files."""
        where = interop.needed("@librechat/agents", "--fronts", "librechat")
        server = self.servers[True]
        self.assertEqual(self.checked(["node", os.path.join(PROGRAMS, "librechat.mjs"), os.path.join(where, "node_modules"),
                                       f"http://127.0.0.1:{server.port}/v1", TOKEN]), 14)


class Notebooks(Clients):
    FRONTS = ("--front", "jupyter")

    def test_jupyter(self):
        self.assertEqual(self.python("jupyter-new", "notebooks.py", has_token=True), 27)

    def test_jupyter_older(self):
        self.assertEqual(self.python("jupyter-old", "notebooks.py", has_token=False), 21)


class E2B(Clients):
    """The classes of E2B that create sandboxes, run commands and code and read files, in both languages."""
    FRONTS = ("--front", "e2b")
    TOKEN = KEY

    def javascript(self, versions, has_token):
        where = interop.needed(f"clients of E2B from npm, {versions}", "--fronts", versions)
        server = self.servers[has_token]
        argv = ["node", os.path.join(PROGRAMS, "e2b.mjs"), os.path.join(where, "node_modules"), f"http://127.0.0.1:{server.port}"]
        return self.checked([*argv, self.TOKEN] if has_token else argv)

    def test_python(self):
        self.assertEqual(self.python("e2b-new", "e2b_python.py", has_token=True), 190)

    def test_python_older(self):
        self.assertEqual(self.python("e2b-old", "e2b_python.py", has_token=False), 186)

    def test_javascript(self):
        self.assertEqual(self.javascript("e2b-npm-new", has_token=True), 75)

    def test_javascript_older(self):
        self.assertEqual(self.javascript("e2b-npm-old", has_token=False), 74)


if __name__ == "__main__":
    harness.main()
