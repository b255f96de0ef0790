# SPDX-License-Identifier: Apache-2.0
"""What stands still is not late: a machine that was paused, or a slow disk, costs no step and no state."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rpc  # noqa: E402
import harness  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"
BRANCH = """
import os, time
os.register_at_fork(after_in_child=lambda: time.sleep(1))
x = 5
"""


def send_all(pids, what):
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass


class Stalls(harness.Case):
    def setUp(self):
        self.engine = service.Engine("--standby", "0")
        self.addCleanup(self.engine.stop)
        self.session = self.engine.session()
        self.session.run("x = 1")

    def processes(self):
        """The engine, the warden, and all that is in boxes."""
        engine = self.engine.process.pid
        warden = next(p for p in rpc.children(engine) if rpc.name_of(p) == "retort-warden")
        return engine, warden, [p for p in rpc.descendants(engine) if p != warden]

    def stand_still(self, seconds):
        """All of it, as when the machine is paused; the impatient go on first."""
        engine, warden, boxes = self.processes()
        self.addCleanup(send_all, boxes, signal.SIGCONT)
        self.addCleanup(send_all, (warden, engine), signal.SIGCONT)
        send_all((engine, warden, *boxes), signal.SIGSTOP)
        time.sleep(seconds)
        for pids in ((engine, warden), boxes):
            send_all(pids, signal.SIGCONT)
            time.sleep(0.2)

    def test_a_step_that_had_ended(self):
        asked = self.engine.client.send(
            "step.run", session=self.session.id, code="import time; time.sleep(0.5); x + 1", timeout_ms=1500)
        time.sleep(0.2)
        engine = self.engine.process.pid
        self.addCleanup(os.kill, engine, signal.SIGCONT)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(3)
        os.kill(engine, signal.SIGCONT)
        record = self.engine.client.receive(asked)
        self.assertEqual((record["status"], record["value"]["text/plain"]), ("ok", "2"), record)

    def test_a_file_that_is_written(self):
        boxes = self.processes()[2]
        self.addCleanup(send_all, boxes, signal.SIGCONT)
        send_all(boxes, signal.SIGSTOP)
        asked = self.engine.client.send("file.write", session=self.session.id, path="a.txt", content="a")
        time.sleep(0.2)
        self.stand_still(11)
        self.engine.client.receive(asked)
        record = self.session.run("x, open('a.txt').read()")
        self.assertEqual(record["value"]["text/plain"], "(1, 'a')")
        self.assertEqual(record["state"]["outcome"], "committed", record)

    def test_a_branch(self):
        self.session.run(BRANCH)
        asked = self.engine.client.send("session.branch", session=self.session.id)
        time.sleep(0.3)
        self.stand_still(11)
        branch = service.Session(self.engine, self.engine.client.receive(asked))
        for session in (branch, self.session):
            record = session.run("x")
            self.assertEqual(record["value"]["text/plain"], "5", record)
            self.assertEqual(record["state"]["outcome"], "committed", record)


if __name__ == "__main__":
    harness.main()
