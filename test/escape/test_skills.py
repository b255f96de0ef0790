# SPDX-License-Identifier: Apache-2.0
"""Skills are code that later sessions run: who may add some, and where they go."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402,F401
import harness  # noqa: E402

sys.path.insert(0, os.path.join(harness.HERE, "system"))
import callers  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"

# What the driver would not send: the call as it is.
RAW = """
import retort
retort.skills.save
call = retort.skills.save.__globals__["calls"].call_one
def save(name, source, test):
    try:
        return call("retort.skill_save", {"name": name, "source": source, "test": test})["name"]
    except retort.ToolError as error:
        return type(error).__name__
"""
GOOD = "def %s():\n    return 1\n"


class Skills(harness.Case):
    def setUp(self):
        self.top = harness.make_dir()
        self.where = os.path.join(self.top, "skills")
        os.mkdir(self.where)
        with open(os.path.join(self.where, "mine.py"), "w", encoding="utf-8") as f:
            f.write("mine")

    def untouched(self):
        """Nothing but what was there."""
        self.assertEqual(os.listdir(self.top), ["skills"])
        self.assertEqual(os.listdir(self.where), ["mine.py"])
        with open(os.path.join(self.where, "mine.py"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "mine")

    def test_T_SKILL_PLACE_by_its_name(self):
        """A skill is named so that it is written elsewhere, or over another one."""
        names = ["../up", "..", ".", "", "/tmp/up", "a/b", "../skills/mine", "mine", "mine.py", "a\x00b", "a\nb", "-x", ".hid",
                 "__init__", "A", "import", "save", "x" * 64, "x" * 100000, "\u202eyp", "\ud800"]
        with rpc.Engine("--skills", self.where + ":rw") as engine:
            client = engine.client()
            s = client("session.create")["session"]
            for name in names:
                code = RAW + "save(%a, 'x = 1', %a)" % (name, "assert " + name)
                with self.subTest(name[:20]):
                    record = client.run(s, code)
                    self.assertIn(record.get("value", {}).get("text/plain"), ("'ToolArgumentError'", "'ToolLimit'"), record)
            for arguments in ({}, {"name": "a"}, {"name": 5, "source": "x", "test": "a"}, {"name": "a", "source": [], "test": "a"},
                              {"name": "a", "source": "x", "test": "a", "path": "/tmp/up"}):
                record = client.run(s, RAW + "call('retort.skill_save', %r)" % arguments)
                self.assertEqual(record["error"]["name"], "ToolArgumentError", record)
            self.untouched()

    def test_T_SKILL_PLACE_from_a_box(self):
        """A box writes into the directory, in which later sessions look for code."""
        with rpc.Engine("--skills", self.where + ":rw") as engine:
            client = engine.client()
            s = client("session.create")["session"]
            record = client.run(s, """
                import ctypes, os
                tried = []
                for do in (lambda: open("/skills/up.py", "w"), lambda: os.unlink("/skills/mine.py"), lambda: os.mkdir("/skills/d"),
                           lambda: os.rename("/skills/mine.py", "/skills/a.py"), lambda: os.symlink("/etc", "/skills/e"),
                           lambda: os.chmod("/skills/mine.py", 0o777), lambda: os.rmdir("/skills")):
                    try: do(); tried.append("done")
                    except OSError as error: tried.append(error.strerror)
                libc = ctypes.CDLL(None)
                tried.append(libc.mount(None, b"/skills", None, 4096 | 32, None))
                tried""".replace("\n                ", "\n"))
            self.assertNotIn("done", record["value"]["application/json"], record)
            self.assertEqual(record["value"]["application/json"][-1], -1)
            self.untouched()

    def test_T_SKILL_OTHERS_by_a_caller(self):
        """A caller with a token adds code that the sessions of others will run."""
        with callers.Engine({"ann": "tools=yes paths=yes"}, "--skills", self.where + ":rw") as engine:
            ann = engine.caller("ann")
            s = ann("session.create")["session"]
            record = ann.run(s, RAW + "save('one', %r, 'one()')" % (GOOD % "one"))
            self.assertEqual(record["value"]["text/plain"], "'ToolDenied'")
            self.untouched()

    def test_T_SKILL_OTHERS_by_what_was_read(self):
        """What a tool gives has the program save a skill."""
        servers = os.path.join(self.top, "mcp.json")
        with open(servers, "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"demo": {"command": "/usr/bin/python3", "approve": ["*"],
                                               "args": [os.path.join(harness.HERE, "system", "tool_server.py"), "plain"]}}}, f)
        with rpc.Engine("--skills", self.where + ":rw", "--tools", servers) as engine:
            client = engine.client()
            s = client("session.create")["session"]
            record = client.run(s, RAW + "tools.demo.add(a=1, b=2), save('one', %r, 'one()')" % (GOOD % "one"))
            self.assertEqual(record["value"]["text/plain"], "({'sum': 3}, 'ToolDenied')", record)
            os.unlink(servers)
            self.untouched()

    def test_T_SKILL_OTHERS_by_a_test(self):
        """The test of one skill saves others, without end."""
        inner = RAW + "assert save('two', %r, 'two()') == 'ToolDenied'\none()" % (GOOD % "two")
        with rpc.Engine("--skills", self.where + ":rw") as engine:
            client = engine.client()
            s = client("session.create")["session"]
            record = client.run(s, RAW + "save('one', %r, %r)" % (GOOD % "one", inner))
            self.assertEqual(record["value"]["text/plain"], "'one'", record)
            self.assertEqual(sorted(os.listdir(self.where)), ["mine.py", "one.json", "one.py"])


if __name__ == "__main__":
    harness.main()
