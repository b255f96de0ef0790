# SPDX-License-Identifier: Apache-2.0
"""What is cheap for a box or a caller and dear for the engine costs that box or caller, and nobody else."""

import http.client
import json
import os
import select
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import callers  # noqa: E402
import loads  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"

# What the engine may have taken at most, over all that is done here: two thirds of it are usual. It had 4 GiB by
# one of these, and 7 by another.
ENGINE_MAX = 1 << 30

AT_ONCE, SECONDS = 8, harness.sample(0.2, 0.5)


def most_bytes(pid):
    """Of memory, since the process began."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))


class Fair(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = callers.Engine({"eve": "memory=3g", "bob": "", "mob": "sessions=50"}, "--standby", "0")
        cls.eve, cls.bob = cls.engine.caller("eve"), cls.engine.caller("bob")

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()
        super().tearDownClass()

    def refused(self, word, method, **params):
        with self.assertRaises(rpc.Failed) as caught:
            self.eve(method, **params)
        self.assertEqual(caught.exception.code, word, caught.exception)
        return caught.exception

    def bounded(self):
        """The engine has not grown, and answers another caller."""
        self.assertLess(most_bytes(self.engine.process.pid), ENGINE_MAX)
        self.bob("engine.info")

    def test_T_FAIR_DISPLAY_of_nothing_takes_no_memory(self):
        """Display lists of empty objects: three bytes of text are eighty in the engine."""
        s = self.eve("session.create")["session"]
        record = self.eve.run(s, loads.DISPLAYS + "for _ in range(30): display(Many(30000))")
        self.assertEqual(record["status"], "ok")
        self.assertGreater(record["truncated"]["displays"], 20)
        self.assertEqual(record["displays"][0]["application/json"], [{}] * 30000)
        # The next step has room again.
        self.assertEqual(len(self.eve.run(s, "display(Many(30000))")["displays"]), 1)
        self.eve("session.close", session=s)
        self.bounded()

    def test_T_FAIR_OUTPUT_counts_for_whom_it_is_held(self):
        """Ask for more output than an engine holds; and for so much that it is as dear as memory."""
        self.refused("usage", "session.create", limits={"output_bytes": (12 << 20) + 1})
        box = {"memory_bytes": 1536 << 20}
        s = self.eve("session.create", limits=box)["session"]
        self.eve("session.close", session=s)
        self.eve("session.create", limits=box)
        self.assertIn("memory", str(self.refused(
            "quota", "session.create", limits={**box, "output_bytes": 12 << 20})))
        for row in self.eve("session.list")["sessions"]:
            if row["state"] != "closed":
                self.eve("session.close", session=row["session"])

    def test_T_FAIR_QUEUE_is_bounded(self):
        """Put steps in line behind one that sleeps: many, and large ones, also without waiting for an answer."""
        aside = {"detach": True, "wait_ms": 0}
        s = self.eve("session.create")["session"]
        self.eve.run(s, "import time; time.sleep(1000)", timeout_ms=10**6, **aside)
        code = "#" + "y" * (15 << 20)
        for _ in range(4):
            self.eve.run(s, code, **aside)
        for _ in range(3):  # they are no less refused when nobody is told
            self.eve.notify("step.run", session=s, code=code, **aside)
        self.assertIn("waiting code", str(self.refused("quota", "step.run", session=s, code=code)))
        # A second session of hers has no other line; another caller has one.
        t = self.eve("session.create")["session"]
        self.refused("quota", "step.run", session=t, code=code)
        b = self.bob("session.create")["session"]
        self.assertEqual(self.bob.run(b, "#" + "y" * (15 << 20) + "\n6 * 7")["value"]["text/plain"], "42")
        self.assertEqual(self.eve.run(t, "6 * 7")["value"]["text/plain"], "42")
        # Small ones: by number.
        with self.assertRaises(rpc.Failed) as caught:
            for _ in range(300):
                self.eve.run(s, "1", **aside)
        self.assertEqual(caught.exception.code, "quota")
        self.assertEqual(self.bob.run(b, "6 * 7")["value"]["text/plain"], "42")
        for one in (s, t):
            self.eve("session.close", session=one)
        self.bob("session.close", session=b)
        self.bounded()

    def test_T_FAIR_ANSWERS_wait_until_others_have_been_taken(self):
        """Ask for long records again and again, take none, and go."""
        s = self.eve("session.create")["session"]
        for _ in range(2):
            self.eve.run(s, "import os\nfor _ in range(3): os.write(1, bytes(1 << 20)); os.write(2, b'\\xff' * (1 << 20))")
        eve = loads.Eve(self.engine.port, self.engine.tokens["eve"])
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.export", "params": {"session": s}}).encode()
        asked = []
        try:
            for _ in range(20):
                asked.append(eve.socket())
                asked[-1].sendall(eve.head(len(body)) + body)
            first = select.select(asked, [], [])[0][0]
            self.bob("engine.info")
            self.assertEqual(select.select(asked, [], [], 0)[0], [first])
            # Who takes an answer makes room for the next one.
            asked.remove(first)
            with first, http.client.HTTPResponse(first) as answer:
                answer.begin()
                self.assertIn("record", json.loads(answer.read())["result"])
            select.select(asked, [], [])
        finally:
            for one in asked:
                one.close()
        # Nobody waits for the others: they are not made, and hers are again.
        self.assertIn("record", self.eve("session.export", session=s))
        self.eve("session.close", session=s)
        self.bounded()

    def test_T_FAIR_FILES_with_long_names_are_cut(self):
        """Touch thousands of files with long names in each step."""
        s = self.eve("session.create")["session"]
        self.eve.run(s, loads.LONG_NAMES)
        for _ in range(3):
            record = self.eve.run(s, loads.TOUCH)
            self.assertTrue(record["truncated"]["files"])
            self.assertLessEqual(sum(len(row["path"]) for row in record["files"]), 1 << 20)
        self.eve("session.close", session=s)
        self.bounded()

    def test_T_FAIR_DISK_of_the_journal_is_shared(self):
        """Have more kept than the token allows; bob's steps are kept all the same."""
        with callers.Engine({"eve": "disk=3m", "bob": "", "ann": "disk=8k"}, "--standby", "0") as engine:
            eve, bob, ann = map(engine.caller, ("eve", "bob", "ann"))
            self.eve, s, b = eve, eve("session.create")["session"], bob("session.create")["session"]
            eve.run(s, "x = 1\nprint('y' * (1 << 20))")
            self.assertIn("journal", str(self.refused(
                "quota", "step.run", session=s, code="x = 2\nprint('z' * (3 << 20))")))
            # What could not be kept was not done.
            self.assertEqual(eve.run(s, "x")["value"]["text/plain"], "1")
            self.refused("quota", "file.write", session=s, path="f", content="z" * (3 << 20))
            self.assertEqual(bob.run(b, "print('z' * (4 << 20)); 6 * 7")["value"]["text/plain"], "42")
            # Closing a session does not make room; being over, not even a small step is begun.
            with self.assertRaises(rpc.Failed) as caught:
                for _ in range(20):
                    ann("session.close", session=ann("session.create")["session"])
            self.assertEqual(caught.exception.code, "quota")
            self.assertIn("session.prune", caught.exception.data["hint"])

    def test_T_FAIR_PLANS_of_another_caller_run_meanwhile(self):
        """Have four plans run that take long, and twenty in line."""
        endless = {"plan": "def f():\n    for i in range(1 << 60):\n        pass\nf()\n", "fuel": 100_000_000}
        eve = loads.Eve(self.engine.port, self.engine.tokens["eve"])
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "plan.run", "params": endless}).encode()
        asked = []
        try:
            for _ in range(24):
                asked.append(eve.socket())
                asked[-1].sendall(eve.head(len(body)) + body)
            # The last of them has been taken when she is told of something that she asks for now.
            self.eve("engine.info")
            self.assertEqual(self.bob("plan.run", plan="print(6 * 7)\n")["stdout"], "42\n")
            answered = select.select(asked, [], [], 0)[0]
            self.assertLess(len(answered), 20)
            self.assertIn(b'"failed"', select.select(asked, [], [])[0][0].recv(10000))
        finally:
            for one in asked:
                one.close()
        # Nobody waits for the others: they are given up, and hers run again.
        self.assertEqual(self.eve("plan.run", plan="print(6 * 7)\n")["stdout"], "42\n")

    def test_T_FAIR_PLACE_is_for_who_has_a_token(self):
        """Connect as often as there are places, and say nothing."""
        held = []
        try:
            for _ in range(4):
                held += [socket.create_connection(("127.0.0.1", self.engine.port)) for _ in range(100)]
                self.bob("engine.info")
        finally:
            for one in held:
                one.close()

    def test_T_FAIR_LOOP_answers_another_caller_all_the_while(self):
        """Do all that is dear for an engine, several things at once: each time another caller is answered."""
        names = list(loads.LOADS)
        for i in range(0, len(names), AT_ONCE):
            begun = [subprocess.Popen(
                [sys.executable, loads.__file__, name, self.engine.path, str(self.engine.port),
                 self.engine.tokens["mob"], str(SECONDS)], stdout=subprocess.PIPE, text=True)
                for name in names[i:i + AT_ONCE]]
            for name, load in zip(names[i:], begun):
                self.assertEqual(load.stdout.readline(), "begun\n", name)
            answered = 0
            while any(load.poll() is None for load in begun):
                self.bob("engine.info")
                answered += 1
            self.assertGreater(answered, 0, names[i:i + AT_ONCE])
            for name, load in zip(names[i:], begun):
                with load.stdout:
                    self.assertEqual((load.wait(), load.stdout.readline().strip() != "0"), (0, True), name)
        self.bounded()


if __name__ == "__main__":
    harness.main()
