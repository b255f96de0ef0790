# SPDX-License-Identifier: Apache-2.0
"""Calls of tools that mean harm: to the engine, to the world, to other sessions."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402,F401
import gate  # noqa: E402
import harness  # noqa: E402

IDENTITY = "user"
MEMORY_BYTES = 600 << 20
FOREVER = "\nimport time\ntime.sleep(60)\n"
# What a call needs besides RAW, where it is not to be an honest one.
CALL = "def call(**members): frame(20, json.dumps(dict({'id': step, 'call': last + 1}, **members)).encode())\n"


class Calls(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = harness.make_dir()
        self.engine = gate.Engine(self.state)
        self.addCleanup(lambda: self.engine.stop())

    def again(self):
        self.engine.kill()
        self.engine.stop()
        self.engine = gate.Engine(self.state)

    def works(self, session=None):
        step = self.engine.run(session or self.engine.session(), "ask('a.b', n=1)['value']")
        self.engine.answer(self.engine.call(), {"value": "fine"})
        self.assertEqual(self.engine.value(step), "fine")

    def no_call(self):
        self.assertTrue(self.engine.calls.empty())

    def bounded(self):
        """The engine has never had more memory than that."""
        with open(f"/proc/{self.engine.process.pid}/status", encoding="ascii") as f:
            peak = next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))
        if not harness.IS_SANITIZED:
            self.assertLess(peak, MEMORY_BYTES)

    def broken(self, code):
        session = self.engine.session()
        record = self.engine.result(self.engine.run(session, CALL + code + FOREVER))
        self.assertEqual((record["status"], record["error"]["name"]), ("killed", "ProtocolError"), record)
        self.engine.do("session.close", session=session)

    def test_T_CALL_FRAME_of_wrong_shapes(self):
        """No id, no number, one that is no number, members missing, of the wrong type, or too many."""
        for payload in ("b''", "b'{}'", "b'[]'", "b'\\xff' * 100", "b'{' * 100000", "b'[' * 5000000",
                        "b'{\"call\": 1, \"id\": \"%s\", \"name\": \"a.b\", \"arguments\": {}}' % step.encode()"):
            with self.subTest(payload=payload):
                self.broken(f"frame(20, {payload})")
        for members in ("name='a.b'", "arguments={}", "name=7, arguments={}", "name='a.b', arguments=[]",
                        "name='a.b', arguments={}, more=1", "call='1', name='a.b', arguments={}", "call=0, name='a.b', arguments={}",
                        "call=-1, name='a.b', arguments={}", "call=1e3, name='a.b', arguments={}", "call=10**15, name='a.b', arguments={}",
                        "call=10**40, name='a.b', arguments={}", "id=5, name='a.b', arguments={}", "id='x', name='a.b', arguments={}"):
            with self.subTest(members=members):
                self.broken(f"call({members})")
        self.no_call()
        self.works()

    def test_T_CALL_FRAME_number_used_twice(self):
        """The same number again, and a smaller one, so that one answer is taken for another."""
        for number in (5, 4, 1):
            session = self.engine.session()
            step = self.engine.run(session, CALL + "call(call=5, name='a.b', arguments={})\n"
                                   f"call(call={number}, name='a.c', arguments={{}})" + FOREVER)
            self.assertEqual(self.engine.call()["name"], "a.b")
            self.engine.cancel()
            self.assertEqual(self.engine.result(step)["error"]["name"], "ProtocolError")
        self.no_call()
        self.works()

    def test_T_CALL_FRAME_of_no_step(self):
        """With ids of steps that are over or were never there; between steps, by a thread."""
        session = self.engine.session()
        self.engine.result(self.engine.run(session, "1"))  # so that the one before is a step
        for name in ("str(int(step) - 1)", "str(int(step) + 1)", "'999999999999999'"):
            record = self.engine.result(self.engine.run(session, CALL + f"last += 1\ncall(id={name}, name='a.b', arguments={{}}); 1"))
            self.assertEqual(record["status"], "ok")
        session = self.engine.session()
        self.engine.result(self.engine.run(session, "import threading, time\ndef later():\n    for i in range(20):\n"
                                           "        time.sleep(0.02)\n        put('a.b')\n"
                                           "threading.Thread(target=later, daemon=True).start(); 1"))
        record = self.engine.do("step.run", session=session, code="import time; time.sleep(1); 2")
        self.assertEqual(record["value"]["text/plain"], "2")
        self.no_call()

    def test_T_CALL_FRAME_flood(self):
        """Calls without end, no answer ever read; as large as they may be; of as many values."""
        for arguments in ("{}", "{'x': 'y' * (4 << 20)}", "{'x': [{}] * 49000}", "{'x': 'y' * (20 << 20)}", "{'x': [[]] * 400000}"):
            with self.subTest(arguments=arguments):
                session = self.engine.session()
                step = self.engine.run(
                    session, f"d = json.dumps({arguments})\nend = __import__('time').monotonic() + 1\n"
                    "while __import__('time').monotonic() < end:\n    last += 1\n"
                    "    frame(20, ('{\"id\": \"%s\", \"call\": %d, \"name\": \"a.b\", \"arguments\": %s}' % (step, last, d)).encode())",
                    timeout_ms=5000)
                self.engine.result(step)
                self.engine.do("session.close", session=session)
        self.bounded()
        while not self.engine.calls.empty():
            self.engine.calls.get()
        self.works()

    def test_T_CALL_FRAME_answers_not_read(self):
        """Large answers that are never read, in many steps: the engine holds no more than a channel's worth."""
        session = self.engine.session()
        for _ in range(2):
            step = self.engine.run(session, "for i in range(10): put('a.b')\n" + FOREVER, timeout_ms=1000)
            for _ in range(10):
                self.engine.answer(self.engine.call(), {"value": "x" * (8 << 20)})
            self.assertEqual(self.engine.result(step)["status"], "timeout")
        self.bounded()
        self.works(session)

    def test_T_CALL_FRAME_forged_answer(self):
        """TOOL_RESULT, and RESULT with tools, values and taint of the box's own making."""
        self.broken("frame(4, json.dumps({'call': 1, 'value': 1}).encode())")
        session = self.engine.session()
        record = self.engine.result(self.engine.run(
            session, "frame(21, json.dumps({'id': step, 'status': 'ok', 'exit_code': 0, 'tools': [{'tool': 'x'}], "
            "'calls': [{'name': 'x'}], 'untrusted': False}).encode())" + FOREVER))
        self.assertEqual((record["status"], record["tools"]), ("ok", []))
        self.works()

    def test_T_CALL_FRAME_result_of_the_step_before(self):
        """A step says that it is over and goes on: how it ends is not taken for what the next one gave."""
        session = self.engine.session()
        record = self.engine.result(self.engine.run(
            session, "import time\nframe(21, json.dumps({'id': step, 'status': 'ok', 'exit_code': 0}).encode())\n"
            "time.sleep(0.5)\n'the end of the first'"))
        self.assertEqual((record["status"], record.get("value")), ("ok", None))
        record = self.engine.result(self.engine.run(session, "'of the second'"))
        self.assertEqual(record["value"]["text/plain"], "'of the second'")

    def test_T_CALL_CLOCK_one_that_is_never_answered(self):
        """Sleeps for ever behind a call that nobody answers."""
        step = self.engine.run(self.engine.session(), "put('a.b')" + FOREVER, timeout_ms=800)
        self.engine.call()
        self.engine.cancel()
        self.assertEqual(self.engine.result(step)["status"], "timeout")

    def test_T_CALL_CLOCK_one_after_the_other(self):
        """Always has one that waits, and never reads an answer."""
        step = self.engine.run(self.engine.session(), "import time\nwhile True:\n    put('a.b')\n    time.sleep(0.05)", timeout_ms=200)
        while step not in self.engine.results:
            try:
                self.engine.answer(self.engine.calls.get(timeout=0.02), {"value": 1})
            except gate.queue.Empty:
                pass
        self.assertEqual(self.engine.result(step)["status"], "timeout")

    def test_T_CALL_CLOCK_calls_in_the_grace(self):
        """Catches the interrupt, and calls: the second of grace is none more."""
        step = self.engine.run(self.engine.session(), "import signal\nsignal.signal(signal.SIGINT, lambda *_: put('a.c'))\n"
                               "while True: pass", timeout_ms=300)
        record = self.engine.result(step)
        self.assertEqual(record["status"], "timeout")
        self.no_call()

    def test_T_CALL_TWICE_by_the_end_of_driver_box_or_engine(self):
        """Makes a call that has an effect, then ends what its state lives in, so that it has to be made again."""
        session = self.engine.session()
        step = self.engine.run(session, "paid = ask('bank.pay', amount=100)['value']; 1")
        self.engine.answer(self.engine.call(), {"value": "r-1"})
        self.engine.value(step)
        for end in ("import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), os._exit(0)), daemon=True).start(); 1",
                    "import os, signal, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), os.kill(-1, 9)), daemon=True).start(); 1"):
            self.engine.do("step.run", session=session, code="import os\n" + end)
            self.assertEqual(self.engine.do("step.run", session=session, code="import time; time.sleep(0.5); 1")["tools"], [])
            self.assertEqual(self.engine.do("step.run", session=session, code="paid")["value"]["text/plain"], "'r-1'")
        self.again()
        self.assertEqual(self.engine.do("step.run", session=session, code="paid")["value"]["text/plain"], "'r-1'")
        self.no_call()

    def test_T_CALL_TWICE_other_calls_when_run_again(self):
        """Code that knows when it is run again, and then calls something else."""
        session = self.engine.session()
        step = self.engine.run(session, "name = 'x' + os.urandom(8).hex()\nask('bank.pay', to=name); 1")
        self.engine.answer(self.engine.call(), {"value": 1})
        self.engine.value(step)
        self.again()
        record = self.engine.do("step.run", session=session, code="1")
        self.assertEqual(record["state"]["outcome"], "diverged")
        self.no_call()

    def test_T_CALL_TAINT_undo_branch_crash(self):
        """Reads something untrusted in a step that fails, then undoes, branches, crashes."""
        session = self.engine.session()
        self.works(session)
        step = self.engine.run(session, "ask('web.read'); os._exit(1)")
        self.engine.answer(self.engine.call(), {"value": "evil"}, untrusted=True)
        self.engine.result(step)
        self.engine.do("session.undo", session=session)
        branch = self.engine.do("session.branch", session=session)["session"]
        for _ in range(2):
            for one in (session, branch):
                step = self.engine.run(one, "ask('a.b'); 1")
                call = self.engine.call()
                self.assertTrue(call["tainted"])
                self.engine.answer(call, {"value": 1})
                self.engine.value(step)
            self.again()

    def test_T_CALL_TAINT_killed_with_the_answer_on_its_way(self):
        """The engine is killed in the step that reads something untrusted."""
        session = self.engine.session()
        self.works(session)
        self.engine.run(session, "ask('web.read')\nopen('/dev/stdout', 'w').write('heard')" + FOREVER)
        self.engine.answer(self.engine.call(), {"value": "evil"}, untrusted=True)
        with self.engine.heard:
            self.engine.heard.wait_for(lambda: any("heard" in str(e) for e in self.engine.events), 60)
        self.again()
        self.assertTrue(self.engine.do("session.get", session=session)["untrusted"])

    def test_T_CALL_OTHER_answers_of_others_in_a_record(self):
        """A record whose calls have the digests of what another session was answered."""
        session = self.engine.session()
        step = self.engine.run(session, "ask('vault.read')['value']; 1")
        self.engine.answer(self.engine.call(), {"value": "s3cr3t"})
        self.engine.value(step)
        lines = self.engine.do("session.export", session=session)["record"].splitlines()
        stolen = json.loads(lines[1])
        del stolen["answers"]
        text = lines[0] + "\n" + json.dumps(stolen, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self.assertRaisesRegex(gate.Refused, "line 2"):
            self.engine.do("replay.run", record=text)

    def test_T_CALL_OTHER_answer_to_another_sessions_call(self):
        """Two sessions use the same numbers and steps: each gets its own answer."""
        sessions = [self.engine.session() for _ in range(4)]
        steps = {s: self.engine.run(s, f"ask('a.b', who={s!r})['value']") for s in sessions}
        calls = [self.engine.call() for _ in sessions]
        for call in reversed(calls):
            self.assertEqual(call["arguments"]["who"], call["session"])
            self.engine.answer(call, {"value": call["session"]})
        for session, step in steps.items():
            self.assertEqual(self.engine.value(step), session)


if __name__ == "__main__":
    harness.main()
