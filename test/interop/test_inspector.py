# SPDX-License-Identifier: Apache-2.0
"""The inspector finds nothing to object to in any era, and calls a tool; the definitions are small."""

import json
import os
import subprocess
import unittest

import interop

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ERAS = ("legacy", "auto", "modern")
DEFINITIONS_TOKENS_MAX = 1500
TOOL_FAILED = 5  # status of the inspector


def inspect(*options, target=None):
    server = target or [interop.harness.RETORT, "mcp"]
    return interop.checker(INSPECTOR, "--cli", *server, "--format", "json", "-q", *options)


class Inspector(interop.Case):
    def test_schemas_are_portable(self):
        for era in ERAS:
            with self.subTest(era):
                done = inspect("--protocol-era", era, "--method", "tools/list", "--strict")
                self.assertEqual((done.status, done.err.strip()), (0, ""))
                self.assertTrue(done.json()["result"]["tools"])

    def test_run_code(self):
        for era in ERAS:
            with self.subTest(era):
                done = inspect("--protocol-era", era, "--method", "tools/call", "--tool-name", "run_code",
                               "--tool-args-json", '{"code": "6 * 7"}')
                self.assertEqual(done.status, 0, done)
                self.assertIn("42", done.json()["result"]["content"][0]["text"])

    def test_failing_code_is_a_failing_tool(self):
        done = inspect("--method", "tools/call", "--tool-name", "run_code", "--tool-args-json", '{"code": "1/0"}')
        self.assertEqual(done.status, TOOL_FAILED, done)

    def test_over_http(self):
        with interop.engine() as engine:
            for era in ERAS:
                with self.subTest(era):
                    done = inspect("--protocol-era", era, "--method", "tools/list", "--strict",
                                   target=[engine.url])
                    self.assertEqual((done.status, done.err.strip()), (0, ""))

    def test_resources_and_templates_are_listed(self):
        for method, key in (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")):
            with self.subTest(method):
                done = inspect("--method", method)
                self.assertEqual(done.status, 0, done)
                self.assertIn(key, done.json()["result"])


class Definitions(interop.Case):
    def test_tokens(self):
        for options in ([], ["--tools", self.catalog()]):
            with self.subTest(options):
                self.measure(options)

    @staticmethod
    def catalog():
        path = os.path.join(interop.harness.make_dir(), "mcp.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"x": {"command": "true"}}}, f)
        return path

    def measure(self, options):
        """As a provider gets them: name, description and schema of each tool, as compact JSON."""
        target = [interop.harness.RETORT, "mcp", *options]
        tools = inspect("--method", "tools/list", target=target).json()["result"]["tools"]
        self.assertEqual("search_tools" in [t["name"] for t in tools], bool(options))
        sent = [{"name": t["name"], "description": t["description"], "input_schema": t["inputSchema"]}
                for t in tools]
        text = json.dumps(sent, separators=(",", ":"), ensure_ascii=False)
        done = subprocess.run(["node", f"{interop.workshop()}/count.mjs"], input=text, capture_output=True,
                              text=True, check=True, env=interop.environment())
        tokens = json.loads(done.stdout)
        print(f"definitions: {len(tools)} tools, {len(text)} characters, tokens {tokens}")
        for encoding, n in tokens.items():
            with self.subTest(encoding):
                self.assertLessEqual(n, DEFINITIONS_TOKENS_MAX)


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    interop.main()
