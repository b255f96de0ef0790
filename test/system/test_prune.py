# SPDX-License-Identifier: Apache-2.0
"""Closed sessions are forgotten on demand, or after some time; nothing else is lost by that."""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, ".."))
import callers  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"
LARGE = "import os\nprint(os.urandom(1 << 20).hex())"


class Prune(harness.Case):
    def size(self, engine):
        return os.stat(os.path.join(engine.state, "journal.db")).st_size

    def cli(self, engine, *options):
        done = subprocess.run([harness.RETORT, "session", "prune", "--socket", engine.path, *options],
                              capture_output=True, text=True, timeout=60, check=False, env=harness.environment())
        return done.returncode, done.stdout, done.stderr

    def test_what_is_closed_goes_and_all_else_stays(self):
        with callers.Engine({"ann": "disk=9m", "bob": ""}, "--standby", "0") as engine:
            ann, bob = engine.caller("ann"), engine.caller("bob")
            kept = bob("session.create", name="kept")["session"]
            bob.run(kept, "x = 6")
            base = ann("session.create", name="base")["session"]
            first = ann.run(base, "y = 1")["step"]
            ann("file.write", session=base, path="f", content="f" * (1 << 20))
            ann.run(base, LARGE)
            trial = ann("session.branch", session=base, name="trial")["session"]
            ann.run(base, LARGE)
            ann.run(trial, "z = 7")
            closed = bob("session.create", name="bobs")["session"]
            bob.run(closed, "1")
            bob("session.close", session=closed)
            self.assertEqual(ann("session.prune", all=True), {
                "sessions": 0, "steps": 0, "blobs": 0, "bytes": ann("session.prune", keep=0)["bytes"]})
            with self.assertRaises(rpc.Failed) as caught:
                ann("session.prune")
            self.assertEqual(caught.exception.code, "usage")
            ann("session.close", session=base)
            self.assertEqual(ann("session.prune", older_ms=3600_000)["sessions"], 0)
            self.assertEqual(ann("session.prune", keep=1)["sessions"], 0)
            self.assertEqual(ann("session.prune", all=True, dry_run=True), {"sessions": 1})
            done = ann("session.prune", all=True)
            # What the branch stands on stays: of the large texts, the one behind it goes.
            self.assertEqual((done["sessions"], done["steps"]), (1, 1))
            self.assertGreaterEqual(done["blobs"], 1)
            with self.assertRaises(rpc.Failed) as caught:
                ann("session.log", session=base)
            self.assertEqual(caught.exception.code, "not_found")
            self.assertEqual(ann.run(trial, "y + z")["value"]["text/plain"], "8")
            log = [row["step"] for row in ann("session.log", session=trial)["steps"]]
            self.assertEqual((len(log), log[-1]), (5, first))
            self.assertEqual(len(json.loads(ann("session.export", session=trial)["record"].splitlines()[1])) > 0, True)
            ann("session.close", session=trial)
            before = self.size(engine)
            done = ann("session.prune", all=True)
            self.assertEqual((done["sessions"], done["steps"]), (1, 5))
            self.assertLess(self.size(engine), before - (3 << 20))
            # Her room is hers again, bob's sessions are his.
            for _ in range(3):
                s = ann("session.create")["session"]
                ann.run(s, LARGE)
                ann("session.close", session=s)
                ann("session.prune", all=True)
            self.assertEqual(bob.run(kept, "x * 7")["value"]["text/plain"], "42")
            self.assertEqual(bob("session.get", session=closed)["state"], "closed")
            self.assertEqual(self.cli(engine, "--all")[1], "1 session, 1 step forgotten\n")
            self.assertEqual(self.cli(engine)[0], 2)
            state = engine.state
            engine.stop()
            with callers.Engine({"bob": ""}, "--standby", "0", state=state) as again:
                self.assertEqual(again.operator.run("kept", "x * 7")["value"]["text/plain"], "42")

    def test_steps_go_on_while_it_is_done(self):
        with callers.Engine({"ann": ""}, "--standby", "0") as engine:
            call = engine.operator
            old = call("session.create")["session"]
            for i in range(60):
                call.run(old, f"x = {i}")
            call("session.close", session=old)
            new = call("session.create")["session"]
            other = engine.client()
            other.send("session.prune", all=True)
            for i in range(20):
                call("file.write", session=new, path=f"f{i}", content=str(i) * 5000)
                call.run(new, f"print({i} * 1000000, 'x' * 5000)")
            self.assertEqual(other.receive()[1]["result"]["steps"], 60)
            self.assertEqual(call("session.prune", all=True)["sessions"], 0)
            record = call("session.export", session=new)["record"]
            self.assertEqual(call("replay.run", record=record)["outcome"], "replayed")

    def test_retain(self):
        with callers.Engine({"ann": ""}, "--standby", "0", "--retain", "1s") as engine:
            call = engine.operator
            old, kept = (call("session.create")["session"] for _ in range(2))
            call.run(old, LARGE)
            call("session.close", session=old)
            deadline = time.monotonic() + rpc.ANSWER_S
            while True:
                try:
                    call("session.get", session=old)
                except rpc.Failed as e:
                    self.assertEqual(e.code, "not_found")
                    break
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            self.assertEqual(call.run(kept, "6 * 7")["value"]["text/plain"], "42")


if __name__ == "__main__":
    harness.main()
