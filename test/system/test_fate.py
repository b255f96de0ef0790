# SPDX-License-Identifier: Apache-2.0
"""What becomes of processes: a test for each row of src/session/fate.def."""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import harness  # noqa: E402
from engine import Engine, Failed  # noqa: E402

SOURCE = os.environ.get("RETORT_SOURCE", harness.ROOT)
TABLE = os.path.join(SOURCE, "src", "session", "fate.def")
# A program that says when it has begun, and then runs until it is ended.
RUN = ["sh", "-c", "echo up; exec sleep 1000"]
# A step that leaves such a program running and returns its pid.
LEAVE = "import subprocess\nleft = subprocess.Popen(['sleep', '1000'], start_new_session=True)\nleft.pid"


class Fate(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = Engine()
        cls.addClassCleanup(cls.stop)

    @classmethod
    def stop(cls):
        if cls.engine.stop() != 0:
            raise AssertionError("the engine did not end well")

    def setUp(self):
        self.call = self.engine.client

    def new(self, **params):
        return self.call("session.create", **params)["session"]

    def step(self, session, code, **params):
        return self.call("step.run", session=session, code=code, **params)

    def start(self, session, argv=None, **params):
        """Start a program by a call, and wait until it runs."""
        about = self.call("process.start", session=session, argv=argv or RUN, **params)
        self.assertEqual(about["state"], "running")
        return about["process"]

    def leave(self, session):
        """Have a step leave a program running. Returns: its pid in the box."""
        record = self.step(session, LEAVE)
        self.assertEqual(record["status"], "ok")
        return record["value"]["application/json"]

    def state(self, session, process):
        return self.call("process.get", session=session, process=process)["state"]

    def pids(self, session):
        rows = self.call("process.list", session=session)["processes"]
        return [row["pid"] for row in rows if row["state"] == "running"]

    def wait_ended(self, session, process):
        return self.call("process.wait", session=session, process=process, timeout_ms=60000)

    @unittest.skipUnless(os.access(TABLE, os.R_OK), "no source here: RETORT_SOURCE names no readable checkout")
    def test_every_row_has_a_test(self):
        with open(TABLE, encoding="utf-8") as file:
            ids = re.findall(r"^FATE\((\w+),", file.read(), re.M)
        self.assertGreater(len(ids), 5)
        tests = {name[5:] for name in dir(self) if name.startswith("test_")}
        self.assertEqual(set(ids) - tests, set())

    def test_own_step(self):
        session = self.new()
        self.step(session, "x = 1")
        record = self.step(session, LEAVE + "\nimport os\nos._exit(1)")
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        self.assertEqual(self.pids(session), [])
        self.assertNotIn("processes", record)

    def test_rollback(self):
        session = self.new()
        called = self.start(session)
        first = self.step(session, "import os; os._exit(1)")  # nothing has run before
        self.assertEqual(first["state"]["outcome"], "rolled_back")
        self.assertEqual([row["process"] for row in first["processes"]], [called])
        left = self.leave(session)
        late = self.start(session)
        record = self.step(session, "import os; os._exit(1)")
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        self.assertIn(left, self.pids(session))
        self.assertEqual(self.state(session, called), "running")
        self.assertEqual(self.state(session, late), "running")
        by = {row["pid"]: row["by"] for row in record["processes"]}
        self.assertEqual(by.pop(left), "step")
        self.assertEqual(set(by.values()), {"call"})

    def test_started_while_a_step_fails(self):
        """A program that a client starts while a step runs is not that step's, nor is its child."""
        session = self.new()
        self.step(session, "x = 1")
        number = self.call.send(
            "step.run", session=session,
            code="import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nos._exit(1)")
        called = self.start(session, ["sh", "-c", "sleep 1000 & echo $!; touch go; wait"])
        asked, record = self.call.answer()
        self.assertEqual(asked, number)
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        child = int(self.call("process.read", session=session, process=called)["data"])
        self.assertEqual(self.state(session, called), "running")
        self.assertIn(child, self.pids(session))

    def test_undo(self):
        session = self.new()
        older = self.leave(session)
        called = self.start(session)
        newer = self.leave(session)
        undone = self.call("session.undo", session=session)
        self.assertEqual(undone["outcome"], "rolled_back")
        pids = self.pids(session)
        self.assertIn(older, pids)
        self.assertNotIn(newer, pids)
        self.assertEqual(self.state(session, called), "running")

    def test_other_box(self):
        session = self.new()
        called = self.start(session)
        for i in range(8):
            self.step(session, f"x = {i}")
        left = self.leave(session)
        undone = self.call("session.undo", session=session, count=8)
        self.assertEqual(undone["outcome"], "replayed")
        self.assertEqual([row["process"] for row in undone["processes"]], [called])
        self.assertNotIn(left, self.pids(session))
        about = self.call("process.get", session=session, process=called)
        self.assertEqual((about["state"], about["ended"]), ("exited", "state"))
        self.assertEqual(self.call("process.read", session=session, process=called)["data"], "up\n")
        record = self.step(session, "x")
        self.assertEqual(record["value"]["text/plain"], "0")
        self.assertIn("1 process that clients had started", record["state"]["notice"])

    def test_rebuild(self):
        session = self.new()
        self.step(session, "var n = 41", runtime="javascript")
        called = self.start(session)
        left = self.leave(session)
        driver = self.step(session, "process.pid", runtime="javascript")["value"]["application/json"]
        self.step(session, f"import os; os.kill({driver}, 9)")
        record = self.step(session, "n + 1", runtime="javascript")
        if record["status"] == "killed":  # the step was given to the driver as it died
            record = self.step(session, "n + 1", runtime="javascript")
        self.assertEqual(record["value"]["text/plain"], "42", record)
        self.assertEqual(self.state(session, called), "running")
        self.assertIn(left, self.pids(session))

    def test_branch(self):
        session = self.new()
        self.step(session, "x = 1")
        called = self.start(session)
        with self.assertRaises(Failed) as refused:
            self.call("session.branch", session=session)
        self.assertIn("keep_processes", refused.exception.hint)
        left = self.leave(session)
        branch = self.call("session.branch", session=session, keep_processes=True)["session"]
        self.assertEqual(self.state(session, called), "running")
        self.assertIn(left, self.pids(session))
        self.assertEqual(self.pids(branch), [])
        self.assertEqual(self.step(branch, "x")["value"]["text/plain"], "1")
        self.assertEqual(self.step(session, "x")["value"]["text/plain"], "1")

    def test_cpu(self):
        session = self.new(limits={"cpu_ms": 500})
        spin = ["sh", "-c", "while :; do :; done"]
        called = self.start(session, spin)
        record = self.step(session, "import time\nwhile time.process_time() < 0.1: pass\n"
                                    "open('/proc/self/stat').read() and 1", timeout_ms=20000)
        self.assertEqual(record["status"], "ok", record)
        used = 0
        while used < 700:  # more than the limit, and it still runs
            rows = self.call("process.list", session=session)["processes"]
            self.assertEqual([row["state"] for row in rows], ["running"])
            used = rows[0]["cpu_ms"]
        self.call("process.signal", session=session, process=called, signal="KILL")
        self.assertGreater(self.wait_ended(session, called)["cpu_ms"], 500)
        quiet = self.start(session)
        self.step(session, f"import subprocess; left = subprocess.Popen({spin!r})")
        while len(self.pids(session)) > 1:
            pass
        self.assertEqual(self.state(session, quiet), "running")
        self.assertIn("over the limit of CPU time", self.step(session, "1")["state"]["reason"])

    def test_memory(self):
        session = self.new(limits={"memory_bytes": 256 << 20})
        self.step(session, "x = 1")
        called = self.start(
            session, ["python3", "-c", "x = bytearray(1 << 30); import time; time.sleep(1000)"])
        about = self.wait_ended(session, called)
        self.assertNotEqual(about.get("exit_code"), 0)
        if self.step(session, "x")["limits"]["memory_bytes"].get("by", "").startswith("cgroup"):
            self.assertTrue(about.get("oom"), about)
        self.assertEqual(self.step(session, "x")["value"]["text/plain"], "1")

    def test_idle(self):
        session = self.new(idle_ms=1000)
        called = self.start(session, ["sh", "-c", "sleep 3"], keep_alive=True)
        unused = self.new(idle_ms=1000)
        self.start(unused)
        self.assertEqual(self.wait_ended(session, called)["exit_code"], 0)
        self.assertEqual(self.call("session.get", session=session)["state"], "idle")
        with self.assertRaisesRegex(Failed, "ended after 1 s without use"):
            self.call("process.list", session=unused)

    def test_close(self):
        session = self.new()
        called = self.start(session)
        number = self.call.send("process.attach", session=session, process=called)
        closing = self.call.send("session.close", session=session)
        answers = dict([self.call.answer(), self.call.answer()])
        self.assertEqual(set(answers), {number, closing})
        about = answers[number]
        self.assertEqual((about["state"], about["ended"]), ("exited", "close"))
        with self.assertRaises(Failed):
            self.call("process.get", session=session, process=called)

    def test_engine(self):
        with Engine() as engine:
            session = engine("session.create")["session"]
            engine.run(session, "x = 5")
            engine("process.start", session=session, argv=RUN)
            engine.kill()
            with Engine(engine.where) as again:
                self.assertEqual(again.run(session, "x")["value"]["text/plain"], "5")
                self.assertEqual(again("process.list", session=session)["processes"], [])


if __name__ == "__main__":
    unittest.main()
