# SPDX-License-Identifier: Apache-2.0
"""Sessions that have a time to live, or end when nobody uses them."""

import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rpc  # noqa: E402
import callers  # noqa: E402
import harness  # noqa: E402

IDENTITY = "user"
LONG_MS = 3600 * 1000


class Expiry(harness.Case):
    def engine(self, *options, **kwargs):
        engine = rpc.Engine(*options, **kwargs)
        self.addCleanup(engine.stop)
        return engine, engine.client()

    def fails(self, word, message, client, method, **params):
        with self.assertRaises(rpc.Failed) as caught:
            client(method, **params)
        self.assertEqual(caught.exception.code, word, str(caught.exception))
        self.assertIn(message, str(caught.exception))
        return caught.exception

    def ended(self, client, session):
        deadline = time.monotonic() + harness.TIMEOUT_S
        while any(s["session"] == session for s in client("session.list")["sessions"]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_an_unused_one_ends_and_says_so(self):
        _, c = self.engine()
        made = c("session.create", name="work", idle_ms=2000)
        s = made["session"]
        self.assertEqual(made["idle_ms"], 2000)
        self.assertGreaterEqual(made["expires_ms"], made["created_ms"])
        c.run(s, "x = 1")
        self.ended(c, s)
        for method, params in (("step.run", {"code": "1"}), ("session.branch", {}), ("session.undo", {}),
                               ("file.list", {}), ("step.complete", {"text": "x"})):
            for name in (s, "work"):
                wrong = self.fails("gone", "ended after 2 s without use", c, method, session=name, **params)
                self.assertIn(s, str(wrong))
                self.assertIn("`session.log ", wrong.data["hint"])
        # Its journal stays, and its name is free.
        self.assertEqual([step["code"] for step in c("session.log", session="work")["steps"]], ["x = 1"])
        told = c("session.get", session=s)
        self.assertEqual((told["state"], told["ended"]), ("closed", "idle"))
        self.assertNotIn("expires_ms", told)
        again = c("session.create", name="work")["session"]
        self.assertEqual(c("session.get", session="work")["session"], again)

    def test_what_runs_or_waits_is_use(self):
        _, c = self.engine()
        s = c("session.create", idle_ms=1500)["session"]
        other = c("session.create")["session"]
        done = c.run(s, "import time\ntime.sleep(4)\nx = 47\nx")
        self.assertEqual(done["value"]["text/plain"], "47")
        self.assertNotIn("expires_ms", c("session.get", session=other))
        # Who only looks at the list does not use it.
        self.ended(c, s)

    def test_use_puts_it_off(self):
        _, c = self.engine()
        made = c("session.create", idle_ms=LONG_MS)
        time.sleep(0.02)
        c.run(made["session"], "1")
        self.assertGreater(c("session.get", session=made["session"])["expires_ms"], made["expires_ms"])

    def test_time_to_live_ends_what_runs(self):
        e, c = self.engine()
        made = c("session.create", name="short", ttl_ms=1500)
        s = made["session"]
        self.assertEqual(made["expires_ms"], made["created_ms"] + 1500)
        self.fails("gone", "ended after 1.5 s, its time to live", c, "step.run", session=s,
                   code="import time\ntime.sleep(100)")
        self.ended(c, s)
        self.fails("gone", "its time to live", c, "step.run", session="short", code="1")
        self.assertEqual(c("session.get", session=s)["ended"], "ttl")

    def test_a_branch_has_the_same(self):
        _, c = self.engine()
        s = c("session.create", ttl_ms=LONG_MS, idle_ms=LONG_MS)["session"]
        c.run(s, "1")
        branch = c("session.branch", session=s)
        self.assertEqual((branch["ttl_ms"], branch["idle_ms"]), (LONG_MS, LONG_MS))

    def test_the_engines_own(self):
        e, c = self.engine("--session-ttl", "2h", "--session-idle", "1h")
        made = c("session.create")
        self.assertEqual((made["ttl_ms"], made["idle_ms"]), (2 * LONG_MS, LONG_MS))
        # Whoever runs the engine may say otherwise for one session.
        self.assertEqual(c("session.create", ttl_ms=5 * LONG_MS)["ttl_ms"], 5 * LONG_MS)
        e, c = self.engine("--session-idle", "300ms")
        self.ended(c, c("session.create")["session"])

    def test_a_caller_may_ask_for_less(self):
        e = callers.Engine({"ann": ""}, "--session-ttl", "2h")
        self.addCleanup(e.stop)
        ann = e.caller("ann")
        self.assertEqual(ann("session.create", ttl_ms=5 * LONG_MS)["ttl_ms"], 2 * LONG_MS)
        self.assertEqual(ann("session.create", ttl_ms=LONG_MS)["ttl_ms"], LONG_MS)
        self.assertEqual(ann("session.create", idle_ms=LONG_MS)["idle_ms"], LONG_MS)

    def test_it_goes_on_over_a_restart(self):
        e, c = self.engine()
        ttl = c("session.create", name="ttl", ttl_ms=3000)
        c("session.create", name="idle", idle_ms=2500)
        kept = c("session.create", name="kept", ttl_ms=LONG_MS, idle_ms=LONG_MS)
        e.stop(signal.SIGKILL)
        e.start()
        c = e.client()
        told = c("session.get", session="kept")
        self.assertEqual((told["state"], told["ttl_ms"], told["idle_ms"]), ("stored", LONG_MS, LONG_MS))
        self.assertEqual(c("session.get", session="ttl").get("expires_ms", ttl["expires_ms"]), ttl["expires_ms"])
        self.ended(c, ttl["session"])
        self.fails("gone", "its time to live", c, "step.run", session="ttl", code="1")
        self.ended(c, c("session.get", session="idle")["session"])
        self.fails("gone", "without use", c, "step.run", session="idle", code="1")
        c.run("kept", "1")
        self.assertEqual(c("session.get", session="kept")["expires_ms"], kept["created_ms"] + LONG_MS)

    def test_many_end_while_others_work(self):
        _, c = self.engine()
        stay = c("session.create")["session"]
        go = [c("session.create", idle_ms=200 + 20 * i)["session"] for i in range(12)]
        stop = threading.Event()

        def work():
            client = rpc.Client(c.socket.getpeername())
            while not stop.is_set():
                client.run(stay, "1")
            client.close()

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for s in go:
                self.ended(c, s)
        finally:
            stop.set()
            worker.join()
        self.assertEqual(c.value(stay, "1"), 1)

    def test_wrong_ones_are_told(self):
        _, c = self.engine()
        for name in ("ttl_ms", "idle_ms"):
            self.fails("usage", name, c, "session.create", **{name: 0})
            self.fails("usage", name, c, "session.create", **{name: 1 << 50})
            self.fails("usage", name, c, "session.create", **{name: "1h"})
        done = harness.retort("serve", "--session-ttl", "0s")
        self.assertEqual(done.status, 2)
        self.assertIn("session-ttl", done.err)


if __name__ == "__main__":
    harness.main()
