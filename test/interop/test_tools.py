# SPDX-License-Identifier: Apache-2.0
"""`retort tools` with the reference servers, and against the client scenarios of the official conformance suite."""

import ast
import fnmatch
import json
import os
import re
import subprocess

import interop

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
LINE = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.M)
# Scenarios that pass, and the checks that they are made of at least.
PASSED = {"2025-11-25": ({"initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"}, 11),
          "2026-07-28": ({"tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers",
                          "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref"}, 45)}


def server(name, *args, **env):
    path = os.path.join(interop.modules(), "@modelcontextprotocol", f"server-{name}", "dist", "index.js")
    return {"command": "node", "args": [path, *args], "env": env}


def tools(servers, verb, *args):
    path = os.path.join(interop.harness.make_dir(), "mcp.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"mcpServers": servers}, f)
    return interop.harness.retort("tools", verb, "--mcp-config", path, *args)


class Servers(interop.Case):
    def test_everything(self):
        servers = {"e": server("everything", "stdio")}
        self.assertEqual(len(tools(servers, "list", "--json").json()["tools"]), 14)
        done = tools(servers, "call", "e.get_sum", '{"a": 2, "b": 3}', "--yes")
        self.assertEqual((done.status, done.out), (0, "The sum of 2 and 3 is 5.\n"), done)
        done = tools(servers, "call", "e.get-structured-content", '{"location": "New York"}', "--yes")
        self.assertEqual(set(done.json()), {"temperature", "conditions", "humidity"})
        done = tools(servers, "call", "e.get-tiny-image", "--yes")
        self.assertEqual(done.json()["images"][0]["mimeType"], "image/png")
        done = tools(servers, "call", "e.get-resource-links", '{"count": 2}', "--yes")
        self.assertEqual(len(done.json()["links"]), 2)
        done = tools(servers, "call", "e.trigger-long-running-operation", '{"duration": 2, "steps": 4}', "--yes")
        self.assertIn("completed", done.out)
        done = tools(servers, "call", "e.get-structured-content", '{"location": "Rome"}', "--yes")
        self.assertEqual(done.status, 2, done)

    def test_filesystem(self):
        where = interop.harness.make_dir()
        servers = {"f": server("filesystem", where)}
        self.assertEqual(len(tools(servers, "list", "--json").json()["tools"]), 14)
        path = os.path.join(where, "a.txt")
        done = tools(servers, "call", "f.write_file", json.dumps({"path": path, "content": "kept"}))
        self.assertEqual((done.status, os.path.exists(path)), (6, False), done)
        done = tools(servers, "call", "f.write_file", json.dumps({"path": path, "content": "kept"}), "--yes")
        self.assertEqual(done.status, 0, done)
        done = tools(servers, "call", "f.read_text_file", json.dumps({"path": path}))
        self.assertEqual(done.json(), {"content": "kept"})
        done = tools(servers, "call", "f.read_text_file", '{"path": "/etc/passwd"}')
        self.assertEqual(done.status, 5, done)
        self.assertIn("Access denied", done.err)

    def test_memory(self):
        path = os.path.join(interop.harness.make_dir(), "memory.jsonl")
        servers = {"m": server("memory", MEMORY_FILE_PATH=path)}
        one = {"name": "a", "entityType": "t", "observations": ["o"]}
        self.assertEqual(len(tools(servers, "list", "--json").json()["tools"]), 9)
        self.assertEqual(tools(servers, "call", "m.create_entities", json.dumps({"entities": [one]}), "--yes").status, 0)
        self.assertEqual(tools(servers, "call", "m.read_graph").json()["entities"], [one])

    def test_stubs_are_python(self):
        servers = {"e": server("everything", "stdio"), "f": server("filesystem", "/tmp"), "m": server("memory")}
        tree = ast.parse(tools(servers, "stub").out)
        classes = {c.name: len(c.body) - 1 for c in tree.body if isinstance(c, ast.ClassDef)}
        self.assertEqual(classes, {"e": 14, "f": 14, "m": 9})


class Conformance(interop.Case):
    def check(self, revision):
        with open(os.path.join(interop.HERE, "expected-client.yml"), encoding="utf-8") as f:
            expected = re.findall(r"^  - (\S+)$", f.read(), re.M)
        client = f"/usr/bin/python3 {os.path.join(interop.HERE, 'tool_client.py')}"
        done = subprocess.run(
            ["node", os.path.join(interop.modules(), SUITE), "client", "--command", client, "--requirements", revision],
            capture_output=True, encoding="utf-8", env={**interop.environment(), "RETORT": interop.harness.RETORT},
            cwd=interop.harness.make_dir(), stdin=subprocess.DEVNULL, timeout=500, check=False)
        found = {name: (int(passed), int(failed)) for name, passed, failed in LINE.findall(done.stdout + done.stderr)}
        failed = {name for name, counts in found.items() if counts[1] > 0}
        unexpected = {n for n in failed if not any(fnmatch.fnmatch(n, e) for e in expected)}
        self.assertEqual(unexpected, set(), done.stdout[-4000:])
        names, checks = PASSED[revision]
        self.assertEqual(set(found) - failed, names)
        self.assertGreaterEqual(sum(found[n][0] for n in names), checks)

    def test_2025_11_25(self):
        self.check("2025-11-25")

    def test_2026_07_28(self):
        self.check("2026-07-28")


if __name__ == "__main__":
    interop.harness.main()
