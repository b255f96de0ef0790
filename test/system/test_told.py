# SPDX-License-Identifier: Apache-2.0
"""What is said of a session's state is so: at a terminal, by JSON-RPC and over MCP."""

import sys
import os
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402

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


if __name__ == "__main__":
    harness.main()
