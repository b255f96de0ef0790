# SPDX-License-Identifier: Apache-2.0
"""Sessions closed, stopped and disturbed at bad moments: the engine goes on, and everyone is answered."""

import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_session  # noqa: E402
from test_session import harness  # noqa: E402


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(harness.TIMEOUT_S)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.last = 0
        self.came = {}

    def send(self, method, **params):
        return self.send_together((method, params))[0]

    def send_together(self, *calls):
        """Ask in one message, so that none of @calls is answered before the last has arrived. Returns their ids."""
        lines = [json.dumps(test_session.request(self.last + i, method, **params)) + "\n"
                 for i, (method, params) in enumerate(calls, 1)]
        self.socket.sendall("".join(lines).encode())
        self.last += len(calls)
        return range(self.last - len(calls) + 1, self.last + 1)

    def wait(self, number):
        while number not in self.came:
            line = self.file.readline()
            if not line:
                raise EOFError("the engine hung up")
            message = json.loads(line)
            self.came[message.get("id")] = message
        return self.came.pop(number)

    def call(self, method, **params):
        return self.wait(self.send(method, **params))["result"]

    def close(self):
        self.file.close()
        self.socket.close()


class Lifetimes(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = test_session.Engine()
        cls.addClassCleanup(cls.stop)

    @classmethod
    def stop(cls):
        if cls.engine.stop() != 0:
            raise AssertionError("the engine did not end well")

    def setUp(self):
        self.client = Client(self.engine.path)
        self.addCleanup(self.client.close)

    def new(self, **params):
        return self.client.call("session.create", **params)["session"]

    def run_step(self, session, code, **params):
        return self.client.call("step.run", session=session, code=code, **params)

    def test_closed_while_it_is_branched(self):
        for _ in range(4):
            session = self.new()
            self.run_step(session, "x = 1")
            branch, close = self.client.send_together(
                ("session.branch", {"session": session}), ("session.close", {"session": session}))
            self.assertIn("error", self.client.wait(branch))
            self.assertIn("result", self.client.wait(close))
        self.assertEqual(self.client.call("session.list")["sessions"], [])

    def test_branch_has_its_own_cpu_time(self):
        session = self.new(limits={"cpu_ms": 1000})
        spin = "import time\nt = time.process_time()\nwhile time.process_time() - t < {}: pass"
        self.assertEqual(self.run_step(session, spin.format(0.7))["status"], "ok")
        branch = self.client.call("session.branch", session=session)["session"]
        for each in session, branch:
            self.assertEqual(self.run_step(each, spin.format(1.5))["status"], "timeout")
            self.client.call("session.close", session=each)

    def test_file_of_a_client_outlives_a_failing_step(self):
        session = self.new()
        self.run_step(session, "x = 1")
        self.client.call("file.write", session=session, path="a.txt", content="hello")
        self.assertEqual(self.run_step(session, "import os; os._exit(3)")["status"], "error")
        files = self.client.call("file.list", session=session)["files"]
        self.assertEqual([row["path"] for row in files], ["a.txt"])
        self.client.call("session.close", session=session)

    def test_branch_that_never_comes_up(self):
        session = self.new()
        self.run_step(session, "import os, time\nos.register_at_fork(after_in_child=lambda: time.sleep(1000))")
        answer = self.client.wait(self.client.send("session.branch", session=session))
        self.assertIn("not asked for in time", answer["error"]["message"])
        self.assertIn("register_at_fork", answer["error"]["data"]["hint"])
        self.client.call("session.close", session=session)

    def test_client_goes_with_steps_in_the_queue(self):
        session = self.new(fresh=True)
        for number in range(6):
            self.run_step(session, "x = %d" % number)
        other = Client(self.engine.path)
        other.send("session.undo", session=session, count=6)
        for _ in range(8):
            other.send("step.run", session=session, code="while True: pass")
        for _ in range(8):
            self.client.call("step.interrupt", session=session)
        other.close()
        self.client.call("session.close", session=session)
        self.assertIsInstance(self.client.call("engine.info"), dict)


if __name__ == "__main__":
    unittest.main()
