# SPDX-License-Identifier: Apache-2.0
"""Plans with the reference servers: filesystem, memory and everything, together."""

import json
import os

import interop
from test_tools import server

POLICY = """trust(user, policy)
rule("files.read_text_file", effect = read)
rule("files.write_file", effect = write, path = control(), content = payload())
rule("notes.create_entities", effect = write, entities = payload())
rule("notes.read_graph", effect = read)
rule("e.get_sum", effect = read)
rule("e.get_structured_content", effect = read)
"""
COPY = """text = files.read_text_file(path = "{where}/in.txt")["content"]
n = e.get_sum(a = len(text), b = 1)
notes.create_entities(entities = [{{"name": "seen", "entityType": "file", "observations": [text, n]}}])
files.write_file(path = "{where}/out.txt", content = text)
print(notes.read_graph()["entities"][0]["observations"][1])
"""
OBEY = """path = files.read_text_file(path = "{where}/in.txt")["content"]
files.write_file(path = path, content = "mine")
"""


class Plans(interop.Case):
    def setUp(self):
        super().setUp()
        self.where = interop.harness.make_dir()
        self.record = os.path.join(self.where, "r.jsonl")
        self.servers = {"files": server("filesystem", self.where), "e": server("everything", "stdio"),
                        "notes": server("memory", MEMORY_FILE_PATH=os.path.join(self.where, "memory.jsonl"))}
        self.file("in.txt", "six by nine")

    def file(self, name, text):
        path = os.path.join(self.where, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def plan(self, verb, source, *options):
        source = source.format(where=self.where)
        return interop.harness.retort(
            "plan", verb, "--tools", self.file("mcp.json", json.dumps({"mcpServers": self.servers})), "--policy",
            self.file("policy", POLICY), "--request", f"copy {self.where}/in.txt to {self.where}/out.txt", *options,
            self.file("plan.star", source))

    def test_a_plan_over_three_servers(self):
        done = self.plan("run", COPY, "--record", self.record)
        self.assertEqual((done.status, done.out), (0, "The sum of 11 and 1 is 12.\n"), done)
        with open(os.path.join(self.where, "out.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "six by nine")
        again = interop.harness.retort("replay", self.record)
        self.assertEqual((again.status, again.out), (0, done.out), again)

    def test_types_of_the_servers(self):
        done = self.plan("run", 'print(e.get_structured_content(location = "New York")["humidity"] + 0)\n')
        self.assertEqual(done.status, 0, done)
        done = self.plan("run", 'e.get_sum(a = "1", b = 2)\n')
        self.assertEqual(done.status, 1, done)
        self.assertIn("e.get_sum: a is string, want a number", done.err)
        done = self.plan("run", 'x = try_call(e.get_structured_content, location = "Rome")\nprint(x.ok, x.error)\n')
        self.assertIn("False e.get-structured-content: location: it has to be one of", done.out)

    def test_what_a_file_says_is_no_path(self):
        self.file("in.txt", self.where + "/theirs.txt")
        for verb in ("check", "run"):
            done = self.plan(verb, OBEY, "--yes") if verb == "run" else self.plan(verb, OBEY)
            self.assertEqual(done.status, 6, done)
            self.assertIn("error[P401]: untrusted data reaches files.write_file.path", done.err)
        self.assertFalse(os.path.exists(self.where + "/theirs.txt"))

    def test_the_server_has_the_last_word(self):
        done = self.plan("run", 'print(files.read_text_file(path = "/etc/passwd"))\n')
        self.assertEqual(done.status, 1, done)
        self.assertIn("error[P606]: files.read_text_file failed: Access denied", done.err)


if __name__ == "__main__":
    interop.harness.main()
