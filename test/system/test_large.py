# SPDX-License-Identifier: Apache-2.0
"""Steps of much output: what happens while their record is written down and hashed."""

import contextlib
import json
import os
import select
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20
PRINT = "import sys\nprint('é\\n' * (1 << 19), end='')\nprint('\\0' * 100000, file=sys.stderr, end='')\nx = 7\n"
engine = None


def setUpModule():
    global engine
    engine = rpc.Engine()


def tearDownModule():
    assert engine.stop() == 0, engine.said()


class Large(harness.Case):
    def session(self, client, **params):
        return client("session.create", **params)["session"]

    def both(self, code, delay_s, method):
        """Run @code in a session, and from another connection do @method after @delay_s. Both must be answered."""
        with contextlib.closing(engine.client()) as a, contextlib.closing(engine.client()) as b:
            s = self.session(a)
            asked = a.send("step.run", session=s, code=code)
            time.sleep(delay_s)
            b(method, session=s)
            number, said = a.receive()
            self.assertEqual(number, asked)
            return s, said

    def test_all_of_it_is_told(self):
        with contextlib.closing(engine.client()) as client:
            s = self.session(client)
            done = client.run(s, PRINT)
            self.assertEqual((done["status"], done["state"]["outcome"]), ("ok", "committed"))
            self.assertEqual(done["stdout"], "é\n" * (MIB // 2))
            self.assertEqual(done["stderr"], "\0" * 100000)
            self.assertEqual(done["truncated"], {"stdout_bytes": 0, "stderr_bytes": 0})
            self.assertEqual(client.value(s, "x"), 7)
            self.assertEqual(client("session.log", session=s)["steps"][-1]["step"], done["step"])

    def test_it_has_the_same_name_again(self):
        with contextlib.closing(engine.client()) as client:
            names = {client.run(self.session(client), PRINT)["step"] for _ in range(2)}
            self.assertEqual(len(names), 1)

    def test_an_idle_moment_brings_it_into_the_database(self):
        own = rpc.Engine()
        self.addCleanup(own.stop)
        with contextlib.closing(own.client()) as client:
            client.run(self.session(client), f"print('x' * {5 * MIB})")
        database, end = os.path.join(own.state, "journal.db"), time.monotonic() + 20
        while os.path.getsize(database) < 5 * MIB and time.monotonic() < end:
            time.sleep(0.02)
        self.assertGreaterEqual(os.path.getsize(database), 5 * MIB)

    def test_a_failed_one_is_put_back(self):
        with contextlib.closing(engine.client()) as client:
            s = self.session(client)
            client.run(s, "x = 1")
            done = client.run(s, PRINT + "import os; sys.stdout.flush(); os._exit(3)")
            self.assertEqual(done["state"]["outcome"], "rolled_back")
            self.assertEqual(len(done["stdout"]), MIB)
            self.assertEqual(client.value(s, "x"), 1)

    def test_the_session_is_closed_meanwhile(self):
        for i in range(8):
            _, said = self.both(PRINT, i * 0.05, "session.close")
            if "error" in said:
                self.assertEqual(said["error"]["data"]["code"], "gone", said)
            else:
                self.assertEqual(said["result"]["status"], "ok")

    def test_it_is_interrupted_meanwhile(self):
        for i in range(8):
            s, said = self.both(PRINT, i * 0.05, "step.interrupt")
            done = said["result"]
            if done["status"] == "ok":
                self.assertEqual(done["stdout"], "é\n" * (MIB // 2))
            with contextlib.closing(engine.client()) as client:
                self.assertEqual(client.value(s, "2 + 2"), 4)

    def test_its_process_ends_meanwhile(self):
        """What the step has left kills the driver while the record is made: the state is that after the step. Where the
        step is run again for that, it is too late for another kill."""
        for delay in (0.0, 0.05, 0.15, 0.3):
            with contextlib.closing(engine.client()) as client:
                s, now = self.session(client), time.time()
                done = client.run(s, PRINT + "import os, subprocess, time\n"
                                  f"if time.time() < {now + 1}:\n"
                                  f"  p = subprocess.Popen(['sh', '-c', 'sleep {delay}; kill -9 %d' % os.getpid()])")
                if done["state"]["outcome"] == "committed":  # else the kill came before the end
                    time.sleep(max(0, now + 2.5 - time.time()))
                    self.assertEqual(client.value(s, "x"), 7)

    def test_the_engine_ends_meanwhile(self):
        for delay in (0.2, 0.3, 0.4):
            own = rpc.Engine()
            client = own.client()
            s = self.session(client)
            client.send("step.run", session=s, code=PRINT * 9)
            time.sleep(delay)
            self.assertEqual(own.stop(), 0, own.said())

    def test_a_record_of_large_steps(self):
        """It is written in a thread, and is what it was; others are answered meanwhile."""
        with contextlib.closing(engine.client()) as a, contextlib.closing(engine.client()) as b:
            s = self.session(a)
            steps = [a.run(s, PRINT + f"print({i})")["step"] for i in range(3)]
            a("file.write", session=s, path="f", content="x" * MIB)
            asked, n = a.send("session.export", session=s), 0
            while not select.select([a.socket], [], [], 0)[0]:
                b("engine.info")
                n += 1
            number, said = a.receive()
            lines = [json.loads(line) for line in said["result"]["record"].splitlines()]
            self.assertEqual((number, lines[0]["retort_record"], lines[0]["steps"]), (asked, 2, 4))
            self.assertEqual([line["step"] for line in lines[1:4]], steps)
            self.assertEqual(lines[4]["content"], "x" * MIB)
            self.assertGreater(n, 5)

    def test_the_engine_ends_while_a_record_is_written(self):
        for delay in (0.02, 0.1, 0.3):
            own = rpc.Engine()
            client = own.client()
            s = self.session(client)
            for i in range(3):
                client.run(s, PRINT + f"print({i})")
            client.send("session.export", session=s)
            time.sleep(delay)
            self.assertEqual(own.stop(), 0, own.said())


if __name__ == "__main__":
    unittest.main()
