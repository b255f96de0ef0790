# SPDX-License-Identifier: Apache-2.0
"""Skills: functions in a directory that boxes see read-only, and what has passed its test is added to."""

import hashlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"
TOTAL = """
def total(rows, key="n"):
    \"\"\"Add up a column.\"\"\"
    return sum(row[key] for row in rows)

def check():
    assert total([{"n": 1}, {"n": 2}]) == 3
"""
SAVE = "import retort\nretort.skills.save(%r, %r, %r)"


def folder(**files):
    where = harness.make_dir()
    for name, text in files.items():
        with open(os.path.join(where, name + ".py"), "w", encoding="utf-8") as f:
            f.write(text)
    return where


class Reading(harness.Case):
    def test_they_are_imported(self):
        where = folder(twice="def twice(x):\n    return 2 * x\n", table="SIZE = 3\n")
        for code, text in (("from retort.skills import twice\ntwice(21)", "42"),
                           ("import retort\nretort.skills.twice(21)", "42"),
                           ("import retort.skills.twice\nretort.skills.twice(21)", "42"),
                           ("import retort\nretort.skills.table.SIZE", "3"),
                           ("import retort\ndir(retort.skills), retort.skills",
                            "(['save', 'table', 'twice'], <retort.skills: table, twice>)")):
            for option in ("--skills", "-v"):
                with self.subTest(code, option=option):
                    value = where if option == "--skills" else where + ":/skills"
                    self.assertEqual(harness.record(code, option, value)["value"]["text/plain"], text)

    def test_they_are_read_only(self):
        where = folder(twice="def twice(x):\n    return 2 * x\n")
        for mode in ("", ":ro", ":rw"):
            record = harness.record("open('/skills/more.py', 'w')", "--skills", where + mode)
            self.assertEqual(record["error"]["name"], "OSError", record)
        self.assertEqual(os.listdir(where), ["twice.py"])

    def test_none(self):
        record = harness.record("import retort\nprint(dir(retort.skills))\nretort.skills.twice")
        self.assertEqual(record["stdout"], "['save']\n")
        self.assertIn("retort.skills has no skill twice: there are none", record["error"]["message"])

    def test_a_line_of_a_skill_is_in_the_traceback(self):
        record = harness.record("from retort.skills import bad\nbad()", "--skills", folder(bad="def bad():\n    return 1 / 0\n"))
        self.assertIn("    return 1 / 0", record["error"]["traceback"])

    def test_a_directory_that_is_none(self):
        for options in (("run", "-c", "1"), ("repl",), ("serve", "--no-socket", "--listen", "127.0.0.1:0", "--no-journal")):
            done = harness.retort(options[0], "--skills", "/nowhere:rw", *options[1:])
            self.assertNotEqual(done.status, 0)
            self.assertIn("/nowhere", done.err)


class Saving(harness.Case):
    def setUp(self):
        self.where = harness.make_dir()

    def engine(self, mode=":rw", state=None):
        return rpc.Engine("--skills", self.where + mode, state=state)

    def fails(self, record, name, *words):
        self.assertEqual(record["status"], "error", record)
        self.assertEqual(record["error"]["name"], name, record)
        for word in words:
            self.assertIn(word, record["error"]["message"])
        self.assertEqual([n for n in os.listdir(self.where) if not n.startswith("total.")], [])

    def test_what_passes_its_test_is_kept_with_where_it_is_from(self):
        with self.engine() as engine:
            client = engine.client()
            s = client("session.create")["session"]
            first = client.run(s, TOTAL)
            record = client.run(s, "import retort\nretort.skills.save('total', total, check)")
            self.assertEqual(record["status"], "ok", record)
            with open(os.path.join(self.where, "total.json"), encoding="utf-8") as f:
                about = json.load(f)
            with open(os.path.join(self.where, "total.py"), "rb") as f:
                code = f.read()
            self.assertEqual(about, record["value"]["application/json"])
            self.assertEqual(about["sha256"], hashlib.sha256(code).hexdigest())
            self.assertEqual((about["session"], about["after"]), (s, first["step"]))
            self.assertEqual(about["signature"], "retort.skills.total(rows, key='n')")
            self.assertEqual(about["doc"], "Add up a column.")
            self.assertRegex(about["kept"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            tested = client("session.log", session=about["tested"]["session"])["steps"][0]
            self.assertEqual(tested["step"], about["tested"]["step"])
            self.assertIn("assert total(", tested["code"])
            # It is there at once: here, and in a session of its own.
            self.assertEqual(client.run(s, "from retort.skills import total as t\nt([{'n': 5}])")["value"]["text/plain"], "5")
            other = client("session.create")["session"]
            self.assertEqual(client.run(other, "from retort.skills import total\ntotal([{'n': 6}])")["value"]["text/plain"], "6")
            self.assertIn("retort.skills.total(rows, key='n')  Add up a column.",
                          client.run(other, "print(tools.search('add column'))")["stdout"])
            self.assertEqual(client.run(other, "len(tools.search('nothing of that kind'))")["value"]["text/plain"], "0")
            # The session of the test is gone.
            live = [row["session"] for row in client("session.list")["sessions"] if row["state"] != "closed"]
            self.assertNotIn(about["tested"]["session"], live)

    def test_what_does_not_pass_is_not_kept(self):
        with self.engine() as engine:
            client = engine.client()
            s = client("session.create")["session"]
            run = lambda *what: client.run(s, SAVE % what)  # noqa: E731
            good = "def one():\n    return 1"
            self.fails(run("one", good, "assert one() == 2, 'no'"), "ToolError", "one is not saved", "AssertionError", "no")
            self.fails(run("one", good, "import sys\nsys.exit(0)\none"), "ToolError", "did not finish")
            self.fails(run("one", good + "\nraise SystemExit", "one()"), "ToolError", "did not finish")
            self.fails(run("one", good, "import os\nos._exit(0)\none"), "ToolError", "did not finish")
            self.fails(run("one", good, "assert True"), "ToolArgumentError", "does not use one")
            self.fails(run("one", good, "assert undone"), "ToolArgumentError", "does not use one")
            self.fails(run("one", "def two(): pass", "one()"), "ToolArgumentError", "does not define the function one")
            self.fails(run("one", "def one(:", "one()"), "ToolArgumentError", "line 1")
            self.fails(client.run(s, "x = 5\ndef one():\n    return x\nimport retort\nretort.skills.save('one', one, 'one()')"),
                       "ToolError", "NameError")
            self.fails(client.run(s, "retort.skills.save('one', one)"), "ToolArgumentError", "test")
            self.fails(client.run(s, "retort.skills.save('one', lambda: 1, 'one()')"), "ToolArgumentError", "made by def")
            self.fails(run("one", good + "\n#" + "x" * (64 << 10), "one()"), "ToolArgumentError", "source")
            self.assertEqual(os.listdir(self.where), [])

    def test_javascript(self):
        with self.engine() as engine:
            client = engine.client()
            s = client("session.create", runtime="javascript")["session"]
            record = client.run(s, "function area(w, h) { return w * h }\n"
                                "await retort.skills.save('area', area, () => { if (area(2, 3) !== 6) throw new Error('no') })")
            self.assertEqual(record["status"], "ok", record)
            self.assertEqual(record["value"]["application/json"]["signature"], "retort.skills.area(w, h)")
            self.assertEqual(sorted(os.listdir(self.where)), ["area.json", "area.mjs"])
            record = client.run(s, "await retort.skills.save('twice', (n) => 2 * n, 'if (twice(2) !== 5) throw new Error()')")
            self.assertEqual(record["error"]["name"], "ToolError", record)
            other = client("session.create", runtime="javascript")["session"]
            for code, text in (("await retort.skills.area(2, 4)", "8"), ("(await import('/skills/area.mjs')).area(3, 4)", "12"),
                               ("await tools.search('area')", "retort.skills.area(w, h)"), ("Object.keys(retort.skills)", "[ 'save' ]")):
                self.assertEqual(client.run(other, code)["value"]["text/plain"], text)
            self.assertEqual(client.run(other, "await retort.skills.volume(1)")["error"]["name"], "ToolArgumentError")
            # It is none of Python, which cannot take its name either.
            s = client("session.create")["session"]
            self.assertEqual(client.run(s, "import retort\ntools.search('area'), dir(retort.skills)")["value"]["text/plain"],
                             "(nothing found, ['save'])")
            record = client.run(s, SAVE % ("area", "def area(): return 1", "area()"))
            self.assertIn("area exists already", record["error"]["message"])

    def test_what_is_kept_stays(self):
        with self.engine() as engine:
            client = engine.client()
            s = client("session.create")["session"]
            client.run(s, TOTAL)
            self.assertEqual(client.run(s, "import retort\nx = retort.skills.save('total', total, check)")["status"], "ok")
            self.fails(client.run(s, SAVE % ("total", "def total(): return 1", "total()")), "ToolArgumentError",
                       "total exists already")
            with open(os.path.join(self.where, "total.py"), encoding="utf-8") as f:
                self.assertIn("sum(row[key]", f.read())

    def test_only_where_it_was_allowed(self):
        with self.engine(mode="") as engine:
            client = engine.client()
            s = client("session.create")["session"]
            self.fails(client.run(s, SAVE % ("one", "def one(): return 1", "one()")), "ToolDenied", "read-only", "DIR:rw")
        record = harness.record(SAVE % ("one", "def one(): return 1", "one()"), "--skills", self.where + ":rw")
        self.assertEqual(record["error"]["name"], "ToolDenied")

    def test_a_step_that_is_stopped_keeps_nothing(self):
        with self.engine() as engine:
            client, other = engine.client(), engine.client()
            s = client("session.create")["session"]
            client.send("step.run", session=s, code=SAVE % ("one", "def one(): return 1", "one()\nimport time\ntime.sleep(20)"))
            for _ in range(600):
                live = [r["session"] for r in other("session.list")["sessions"] if r["state"] != "closed"]
                if len(live) > 1:
                    break
                time.sleep(0.02)
            other("step.interrupt", session=s)
            self.assertEqual(client.result(client.receive()[1])["error"]["name"], "Interrupted")
            for _ in range(600):
                live = [r["session"] for r in other("session.list")["sessions"] if r["state"] != "closed"]
                if live == [s]:
                    break
                time.sleep(0.02)
            self.assertEqual(live, [s])
            self.assertEqual(os.listdir(self.where), [])

    def test_steps_that_run_again_save_nothing_again(self):
        state = harness.make_dir()
        with self.engine(state=state) as engine:
            client = engine.client()
            s = client("session.create")["session"]
            client.run(s, TOTAL)
            self.assertEqual(client.run(s, "import retort\nx = retort.skills.save('total', total, check)")["status"], "ok")
        os.unlink(os.path.join(self.where, "total.json"))
        with self.engine(state=state) as engine:
            client = engine.client()
            record = client.run(s, "x['name']")
            self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("'total'", "replayed"))
        self.assertEqual(os.listdir(self.where), ["total.py"])


if __name__ == "__main__":
    harness.main()
