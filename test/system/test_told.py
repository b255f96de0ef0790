# SPDX-License-Identifier: Apache-2.0
"""What is said of a session's state is so: at a terminal, by JSON-RPC and over MCP."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402
import test_mcp as mcp  # noqa: E402
import test_repl as repl  # noqa: E402

IDENTITY = "user"
THREAD = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"

SLOW = {"python": """import time
for i in range(200):
    done.append(i)
    open(f"f{i}", "w").close()
    print(i, flush=True)
    time.sleep(0.1)""", "javascript": "for (let i = 1; i > 0; i++) a = i"}


class ToldCase(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)

    def session(self, **params):
        s = self.engine.session(**params)
        self.addCleanup(s.close)
        return s

    def cli(self, *args, **kwargs):
        return harness.retort("session", *args, env={"RETORT_SOCKET": self.engine.path}, **kwargs)

    def stop_after(self, s, code, seconds=0.6):
        """Run it and stop it: its record."""
        number = self.engine.client.send("step.run", session=s.id, code=code)
        other = self.engine.connect()
        time.sleep(seconds)
        other.call("step.interrupt", session=s.id)
        other.close()
        return self.engine.client.receive(number)


class Stopped(ToldCase):
    """A step that was stopped is run no further when it is run again, and nobody is told that all is as it was."""

    def test_undo_by_running_it_again(self):
        s = self.session()
        s.run("done = []; n = 0")
        step = self.stop_after(s, SLOW["python"])
        self.assertEqual((step["status"], step["state"]["outcome"]), ("killed", "committed"))
        for _ in range(6):
            s.run("n += 1")
        told = s.undo(count=6)
        self.assertEqual((told["outcome"], told["head"]), ("diverged", step["step"]))
        self.assertIn(f"step {step['step'][:12]}: stopped after", told["difference"])
        self.assertLess(int(s.value("len(done)")), 200)
        self.assertEqual(s.value("n"), "0")

    def test_after_a_restart(self):
        where = os.path.join(harness.make_dir(), "state")
        with service.Engine(state=where) as engine:
            s = engine.session()
            s.run("done = []")
            type(self).engine, kept = engine, self.engine
            try:
                self.stop_after(s, SLOW["python"])
            finally:
                type(self).engine = kept
        with service.Engine(state=where) as engine:
            record = service.Session(engine, s.about).run("len(done)")
            self.assertLess(int(record["value"]["text/plain"]), 200)
            self.assertEqual(record["state"]["outcome"], "diverged")
            self.assertIn("stopped after", record["state"]["reason"])

    def test_what_others_of_its_language_had_done_is_kept(self):
        s = self.session(runtime="javascript")
        s.run("let a = 1, b = 2")
        record = self.stop_after(s, SLOW["javascript"])
        self.assertEqual((record["status"], record["state"]["outcome"]), ("killed", "committed"))
        s.run("process.exit(1)")
        record = s.run("b")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("2", "diverged"))
        self.assertIn("stopped after", record["state"]["reason"])
        self.assertGreater(int(s.value("a")), 1)

    def test_by_a_limit(self):
        s = self.session()
        s.run("n = 0; " + THREAD)
        record = s.run("while True: n += 1", timeout_ms=400)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("timeout", "committed"))
        self.assertEqual(s.run("import os; os._exit(1)")["state"]["outcome"], "lost")
        record = s.run("n > 0")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("True", "diverged"))
        self.assertIn("stopped after", record["state"]["reason"])

    def test_where_it_is_said(self):
        s = self.session()
        s.run("done = []; n = 0")
        self.stop_after(s, SLOW["python"])
        for _ in range(6):
            s.run("n += 1")
        done = self.cli("undo", s.id, "6")
        self.assertEqual(done.status, 0, done)
        self.assertRegex(done.err, "^retort: undone: the state was rebuilt by running the earlier steps again, and it may differ: step [0-9a-f]{12}: "
                                   "stopped after .* again, perhaps at another place\n$")
        with mcp.Mcp() as client:
            client.tool("run_code", code="import threading\nt = threading.Thread(target=threading.Event().wait, daemon=True)")
            client.tool("run_code", code="t.start()")
            client.tool("run_code", code="n = 1")
            text = client.tool("sessions", action="undo").text
            self.assertRegex(text, "now at [0-9a-f]{12}: the state was rebuilt by running the earlier steps again, with the same results$")
            self.assertIn("now at the start: variables and files are as at the beginning", [
                client.tool("sessions", action="undo").text for _ in range(2)][1])


class Rollback(ToldCase):
    """What a step leaves when it fails, and why."""

    def exec(self, s, code, *options):
        return self.cli("exec", s.id, *options, "-c", code)

    def test_variables_that_are_made_again(self):
        s = self.session(runtime="javascript")
        told = "javascript variables will be rebuilt, by running their steps again"
        s.run("const r = Math.random(); r")
        done = self.exec(s, "process.exit(3)")
        self.assertEqual(done.status, 3)
        self.assertEqual(done.err, f"retort: exited: the step ended itself with status 3\nretort: rolled back: {told}; "
                                   "files and other variables are as before this step\n")
        self.assertEqual(s.run("r")["state"]["outcome"], "diverged")
        self.assertEqual(s.run("while (true);", timeout_ms=300)["runs_again"], ["javascript"])
        branch = self.engine.call("session.branch", session=s.id)
        self.assertEqual(branch["runs_again"], ["javascript"])
        self.assertEqual(self.engine.call("session.branch", session=branch["session"])["runs_again"], ["javascript"])
        self.assertEqual(self.cli("branch", s.id).err, f"retort: branched: {told}, in both sessions\n")
        s.run("r")
        s.run("x = 1", runtime="python")
        self.assertNotIn("runs_again", s.undo(), "those of JavaScript did not go")
        s.run("let q = 2")
        self.assertEqual(self.cli("undo", s.id).err,
                         f"retort: undone: {told}; files and other variables are as after that step\n")
        s.run("let q = 2")
        self.assertEqual(s.undo()["runs_again"], ["javascript"])
        self.assertNotIn("runs_again", self.engine.call("session.branch", session=self.session().id))

    def test_variables_that_are_made_again_over_mcp(self):
        told = "javascript variables will be rebuilt, by running their steps again"
        with mcp.Mcp() as client:
            client.tool("run_code", code="const r = 1", runtime="javascript")
            text = client.tool("run_code", code="process.exit(3)", runtime="javascript").text
            self.assertIn(f", rolled back: {told}; files and other variables are as before this step", text)
            text = client.tool("sessions", action="branch", name="other").text
            self.assertEqual(text, f'new session "other" with the state of "default"; {told}, in both sessions')

    def test_the_first_of_its_language(self):
        s = self.session(runtime="javascript")
        record = s.run("process.exit(1)")
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        self.assertNotIn("runs_again", record)

    def test_why(self):
        s = self.session()
        for status in (0, 4):
            done = self.exec(s, f"import os; os._exit({status})")
            self.assertEqual(done.err, f"retort: exited: the step ended itself with status {status}\n"
                                       "retort: rolled back: variables and files are as before this step\n")
        self.assertEqual(self.exec(s, "import sys; sys.exit(4)").err, "")

    def test_what_is_temporary_in_a_database(self):
        s = self.session(runtime="sql")
        s.run("CREATE TEMP TABLE t(x)")
        done = self.exec(s, "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT count(*) FROM r",
                         "--timeout", "500ms")
        self.assertTrue(done.err.endswith("as before this step; temporary data of the database is gone\n"), done.err)
        self.assertEqual(s.run("SELECT * FROM t")["status"], "error")

    def test_what_a_step_of_sql_undid(self):
        s = self.session(runtime="sql")
        s.run("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1)")
        series = "INSERT INTO t SELECT value + 9 FROM generate_series(1, 400000); "
        part = "after its last BEGIN, COMMIT, PRAGMA or the like; what it did before is kept\n"
        for code, undone, files, told in (
                ("INSERT INTO t VALUES (2); SELECT * FROM nosuch", "step", [], "(SQLITE_ERROR)\n"),
                (series + "SELECT * FROM nosuch", "step", [], "(SQLITE_ERROR)\n"),
                ("INSERT INTO t VALUES (3); PRAGMA user_version; SELECT * FROM nosuch", "part", ["retort.db"],
                 "retort: undone: what the step wrote " + part),
                ("BEGIN; SELECT * FROM nosuch", "part", [], part),
                ("INSERT OR ROLLBACK INTO t VALUES (1)", "transaction", [],
                 "retort: undone: the whole transaction, with what earlier steps wrote in it\n")):
            with self.subTest(code=code):
                record = json.loads(self.exec(s, code, "--json").out)
                self.assertEqual((record["state"]["outcome"], record["state"]["undone"]), ("committed", undone))
                self.assertEqual([f["path"] for f in record["files"]], files)
                if undone == "transaction":
                    s.run("BEGIN; INSERT INTO t VALUES (4)")
                elif undone == "part":
                    s.run("DELETE FROM t WHERE a = 3; COMMIT")
                self.assertTrue(self.exec(s, code).err.endswith(told))
        self.assertEqual(s.run("SELECT count(*) FROM t")["value"]["application/json"]["rows"], [[1]])
        self.assertNotIn("undone", s.run("SELECT * FROM nosuch", atomic=True)["state"])
        self.assertNotIn("undone", s.run("1 / 0", runtime="python")["state"])

    def test_not_rolled_back(self):
        s = self.session()
        s.run("import threading; n = 1; threading.Thread(target=threading.Event().wait, daemon=True).start()")
        kept = r"retort: not rolled back: changes of the step are kept \(no checkpoint: the program has other threads: .*\)\n"
        self.assertRegex(self.exec(s, "n = 2; 1 / 0", "--atomic").err, f"ZeroDivisionError: .*\n{kept}$")
        self.assertRegex(self.exec(s, "n = 3\nwhile 1: pass", "--timeout", "500ms").err, kept)
        self.assertNotIn("rolled back", self.exec(s, "n; 1 / 0").err, "as it is meant to be")
        self.assertEqual(s.value("n"), "3")

    def test_lost(self):
        with mcp.Mcp() as client:
            client.tool("run_code", code="x = 5")
            client.tool("run_code", code=THREAD)
            text = client.tool("run_code", code="import os; os._exit(0)").text
            self.assertIn(", ended itself with status 0, state lost: the steps before this one are run again before the next", text)
            self.assertIn("state rebuilt", client.tool("run_code", code="x").text)


    def test_more_files_than_are_kept(self):
        s = self.session()
        s.run("import os\nfor i in range(10500): open(f'f{i}', 'w').close()")
        s.run("1")
        done = self.exec(s, "for name in os.listdir(): os.remove(name)\nos._exit(1)")
        self.assertIn("retort: rolled back: variables and files are as before this step, but for files that are not kept\n", done.err)
        self.assertIn("retort: not put back: about 500 files, for only the first 10000 are kept\n", done.err)
        self.assertEqual(s.value("len(os.listdir())"), "10000")


class Undo(ToldCase):
    def test_files_that_are_lost(self):
        with mcp.Mcp() as client:
            client.tool("run_code", code="import os; open('big', 'wb').write(bytes(3 << 20)); 0")
            client.tool("run_code", code="os.remove('big')")
            self.assertRegex(client.tool("sessions", action="undo").text,
                             "now at [0-9a-f]{12}: variables and files are as after that step, but for big$")


    def test_which_step_is_run_again(self):
        s = self.session()
        for i in range(8):
            s.run(f"x = {i}")
        number = self.engine.client.send("session.undo", session=s.id, count=6, stream=True)
        told = []
        while True:
            message = json.loads(self.engine.client.file.readline())
            if message.get("id") == number:
                break
            told.append(message["params"])
        self.assertEqual([(t["event"], t["step"], t["of"]) for t in told], [("rebuilding", i, 2) for i in (1, 2)])
        self.assertEqual(message["result"]["outcome"], "replayed")
        for i in range(8):
            s.run(f"x = {i}")
        t = repl.Terminal(command=["session", "undo", "--socket", self.engine.path, s.id, "7"])
        t.wait("retort: the session is rebuilt: running step 1 of 3\r\n")
        t.wait("retort: undone: the state was rebuilt by running the earlier steps again, with the same results")
        t.end()


class Ended(ToldCase):
    """What was ended between two steps is told by the next one."""

    def test_what_steps_had_left(self):
        said = "processes that steps left running were ended: between two steps they went over the limit of CPU time"
        burn = ("import subprocess; p = subprocess.Popen(['sh', '-c', "
                "'printf %s > /proc/self/comm; while :; do :; done']); 0")
        s = self.session(limits={"cpu_ms": 300})
        s.run(burn % "told-cli")
        self.await_end("told-cli")
        self.assertEqual(self.cli("exec", s.id, "-c", "1").err, f"retort: {said}\n")
        self.assertEqual(self.cli("exec", s.id, "-c", "1").err, "")
        with mcp.Mcp("--cpu-time", "300ms") as client:
            client.tool("run_code", code=burn % "told-mcp")
            self.await_end("told-mcp")
            self.assertIn(f"; {said}", client.tool("run_code", code="1").text)

    def await_end(self, name):
        end = time.monotonic() + harness.TIMEOUT_S
        is_seen = False
        while not is_seen or any(row[1] == name and row[2] != "Z" for row in harness.processes().values()):
            is_seen |= any(row[1] == name for row in harness.processes().values())
            self.assertLess(time.monotonic(), end, "it does not end")
            time.sleep(0.02)


if __name__ == "__main__":
    harness.main()
