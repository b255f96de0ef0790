# SPDX-License-Identifier: Apache-2.0
"""Calls that code in a box makes of the outside: answered, refused, cancelled, kept, made once."""

import json
import os
import queue
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gate  # noqa: E402
import harness  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"


class CallsCase(harness.Case):
    """One engine for the tests of a class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = gate.Engine()

    @classmethod
    def tearDownClass(cls):
        cls.engine.__exit__(None)
        super().tearDownClass()

    def ask(self, session, code, *answers, **params):
        """The value of a step whose calls are answered with @answers, one after the other."""
        step = self.engine.run(session, code, **params)
        for answer in answers:
            self.engine.answer(self.engine.call(), answer)
        return self.engine.value(step)

    def no_call(self, engine=None):
        with self.assertRaises(queue.Empty):
            (engine or self.engine).calls.get(timeout=0.05)


class Answers(CallsCase):
    def setUp(self):
        super().setUp()
        self.session = self.engine.session()

    def test_a_value(self):
        answer = {"value": {"rows": [1, 2.5, None, "é\u0000"], "more": {"b": 1, "a": 2}}}
        step = self.engine.run(self.session, "ask('crm.search', q='x', limit=3)")
        call = self.engine.call()
        self.assertEqual((call["name"], call["arguments"]), ("crm.search", {"q": "x", "limit": 3}))
        self.assertEqual((call["session"], call["owner"], call["tainted"]), (self.session, "", False))
        self.engine.answer(call, answer)
        self.assertEqual(self.engine.value(step), answer)

    def test_an_error(self):
        for name in ("ToolError", "ToolDenied", "ToolArgumentError", "ToolLost", "ToolLimit"):
            answer = {"error": {"name": name, "message": "no", "hint": "try"}}
            self.assertEqual(self.ask(self.session, "ask('crm.search')", answer), answer)

    def test_what_is_no_answer(self):
        for answer in ({}, {"value": 1, "error": {}}, {"error": {"name": "Odd", "message": ""}}, [], 5,
                       {"error": {"name": "ToolError"}}, {"error": {"name": "ToolError", "message": 1}}, {"other": 1}):
            with self.subTest(answer=answer):
                got = self.ask(self.session, "ask('crm.search')", answer)
                self.assertEqual(got["error"]["name"], "ToolLost")

    def test_several_at_once_in_any_order(self):
        step = self.engine.run(
            self.session, "for i in range(64): put('a.b', i=i)\nsorted([(a := take())['call'], a['value']] for i in range(64))")
        calls = [self.engine.call() for _ in range(64)]
        for call in reversed(calls):
            self.engine.answer(call, {"value": call["arguments"]["i"] * 2})
        got = self.engine.value(step)
        self.assertEqual([value for _, value in got], [2 * i for i in range(64)])

    def test_the_one_too_many(self):
        step = self.engine.run(self.session, "for i in range(65): put('a.b', i=i)\n"
                               "first = take()\nprint(len([take() for i in range(64)]))\nfirst")
        calls = [self.engine.call() for _ in range(64)]
        self.no_call()
        for call in calls:
            self.engine.answer(call, {"value": 1})
        got = self.engine.value(step)
        self.assertEqual((got["call"] % 65, got["error"]["name"]), (0, "ToolLimit"))

    def test_arguments_that_cannot_be_taken(self):
        raw = "def raw(text):\n    global last\n    last += 1\n" \
              "    frame(20, b'{\"id\": \"%s\", \"call\": %d, ' % (step.encode(), last) + text)\n" \
              "    answer = take()\n    assert answer['call'] == last\n    return answer['error']['name']\n"
        for text, name in (
                ("b'\"name\": \"a.b\", \"arguments\": {\"x\": NaN}}'", "ToolArgumentError"),
                ("b'\"name\": \"a.b\", \"arguments\": {\"x\": 1'", "ToolArgumentError"),
                ("b'\"name\": \"a.b\", \"arguments\": {\"\\\\u0000\": 1}}'", "ToolArgumentError"),
                ("b'\"name\": \"\", \"arguments\": {}}'", "ToolArgumentError"),
                ("b'\"name\": \"a\\\\u001b[31m\", \"arguments\": {}}'", "ToolArgumentError"),
                ("b'\"name\": \"%s\", \"arguments\": {}}' % (b'n' * 257)", "ToolArgumentError"),
                ("b'\"name\": \"a.b\", \"arguments\": {\"x\": \"' + b'y' * (5 << 20) + b'\"}}'", "ToolLimit"),
                ("b'\"name\": \"a.b\", \"arguments\": {\"x\": [' + b'1,' * 200000 + b'1]}}'", "ToolLimit"),
        ):
            with self.subTest(text=text):
                self.assertEqual(self.ask(self.session, raw + f"raw({text})"), name)
        self.no_call()
        self.assertEqual(self.ask(self.session, "ask('a.b')['value']", {"value": 7}), 7)

    def test_a_large_answer(self):
        got = self.ask(self.session, "len(ask('a.b')['value'])", {"value": "x" * (20 << 20)})
        self.assertEqual(got, 20 << 20)

    def test_an_answer_that_is_too_large(self):
        got = self.ask(self.session, "ask('a.b')", {"value": "x" * (33 << 20)})
        self.assertEqual(got["error"]["name"], "ToolLimit")
        self.assertIn("32 MiB", got["error"]["message"])

    def test_answers_that_are_too_large_together(self):
        """The box reads none before all are there."""
        step = self.engine.run(self.session, "for i in range(4): put('a.b', i=i)\nput('a.last')\nimport time\n"
                               "while not os.path.exists('go'): time.sleep(0.01)\n"
                               "[a.get('error', {}).get('name', '') for a in (take() for i in range(5))]")
        calls = [self.engine.call() for _ in range(5)]
        for call in calls:
            self.engine.answer(call, {"value": "x" * (20 << 20) if call["name"] == "a.b" else 0})
        self.engine.do("file.write", session=self.session, path="go", content="")
        got = self.engine.value(step)
        self.assertEqual(got.count("ToolLimit"), 1, got)
        self.assertEqual(got[4], "")

    def test_more_calls_than_a_step_may_make(self):
        step = self.engine.run(
            self.session, "names = set()\nfor i in range(10001):\n    put('', i=i)\n    names.add(take()['error']['name'])\nsorted(names)",
            timeout_ms=120000)
        self.assertEqual(self.engine.value(step), ["ToolArgumentError", "ToolLimit"])

    def test_the_next_step_after_an_answer_that_nobody_read(self):
        """It comes when the step is over, or is still on its way then; with an input behind it."""
        for round in range(3):
            step = self.engine.run(self.session, "put('a.big')\nwhile not os.path.exists('go%d'): pass" % round)
            self.engine.answer(self.engine.call(), {"value": "x" * (8 << 20)})
            self.engine.do("file.write", session=self.session, path="go%d" % round, content="")
            self.engine.result(step)
            step = self.engine.start("step.run", session=self.session, code="input()", stdin="heard\n")
            self.assertEqual(self.engine.value(step), "heard")


class Records(CallsCase):
    def test_what_was_called(self):
        session = self.engine.session()
        step = self.engine.run(session, "for name in ('crm.search', 'crm.search', 'mail.send', 'retort.tools', "
                               "'retort.llm_query'): ask(name, a='b')")
        for answer in ({"value": [1, 2]}, {"error": {"name": "ToolError", "message": "x"}}, {"value": None},
                       {"value": {}}, {"value": "hello"}):
            self.engine.answer(self.engine.call(), answer)
        record = self.engine.result(step)
        self.assertEqual(record["status"], "ok", record)
        self.assertEqual(record["tools"], [
            {"tool": "crm.search", "calls": 2, "bytes_in": 18, "bytes_out": 5, "errors": 1},
            {"tool": "mail.send", "calls": 1, "bytes_in": 9, "bytes_out": 4},
            {"tool": "retort.llm_query", "calls": 1, "bytes_in": 9, "bytes_out": 7}])
        self.assertGreater(record["usage"]["waited_ms"], 0)

    def test_no_calls(self):
        record = self.engine.do("step.run", session=self.engine.session(), code="1")
        self.assertEqual(record["tools"], [])
        self.assertNotIn("waited_ms", record["usage"])

    def test_events(self):
        session = self.engine.session()
        step = self.engine.run(session, "ask('a.b')\nask('retort.tools')\nask('a.c')")
        self.engine.answer(self.engine.call(), {"value": 1})
        self.engine.answer(self.engine.call(), {"value": 1})
        self.engine.answer(self.engine.call(), {"error": {"name": "ToolDenied", "message": "no"}})
        self.engine.result(step)
        events = [e for e in self.engine.events if e["of"] == step and e["event"] == "tool"]
        for e in events:
            self.assertEqual("ms" in e, e["state"] == "finished")
        self.assertEqual([(e["tool"], e["call"], e["state"], e.get("error")) for e in events], [
            ("a.b", 1, "started", None), ("a.b", 1, "finished", None),
            ("a.c", 3, "started", None), ("a.c", 3, "finished", "ToolDenied")])

    def test_many_tools(self):
        session = self.engine.session()
        step = self.engine.run(session, "for i in range(102): ask('t.n%d' % i)")
        for _ in range(102):
            self.engine.answer(self.engine.call(), {"value": 0})
        record = self.engine.result(step)
        self.assertEqual(len(record["tools"]), 100)
        self.assertEqual(record["truncated"]["tools"], 2)

    def test_a_step_that_is_rolled_back(self):
        session = self.engine.session()
        self.ask(session, "x = ask('a.b'); last", {"value": 1})
        step = self.engine.run(session, "x = ask('mail.send')\nos._exit(3)")
        self.engine.answer(self.engine.call(), {"value": 2})
        record = self.engine.result(step)
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        self.assertIn("are not undone", record["state"]["reason"])
        self.assertEqual([t["tool"] for t in record["tools"]], ["mail.send"])
        # the copy that goes on has made fewer calls than the one that ended
        self.assertEqual(self.ask(session, "[last, x['value'], ask('a.b')['value']]", {"value": 3}), [1, 1, 3])


class Nobody(harness.Case):
    def test_an_engine_without_tools(self):
        with service.Engine() as engine:
            record = engine.session().run(gate.RAW + "ask('a.b')")
        error = record["value"]["application/json"]["error"]
        self.assertEqual(error["name"], "ToolArgumentError")
        self.assertIn("--tools", error["hint"])
        self.assertEqual(record["tools"], [{"tool": "a.b", "calls": 1, "errors": 1, "bytes_in": 2, "bytes_out": 0}])

    def test_a_run_without_a_gate(self):
        record = harness.record(gate.RAW + "print(ask('a.b')['error']['name'])")
        self.assertEqual(record["stdout"], "ToolDenied\n", record)


class Clock(CallsCase):
    def test_it_stands_still(self):
        session = self.engine.session()
        step = self.engine.run(session, "ask('a.b')['value']", timeout_ms=1500)
        call = self.engine.call()
        with self.assertRaises(queue.Empty):
            self.engine.cancelled.get(timeout=4)  # more than twice the limit
        self.engine.answer(call, {"value": 1})
        self.assertEqual(self.engine.value(step), 1)

    def test_it_goes_on_afterwards(self):
        session = self.engine.session()
        step = self.engine.run(session, "ask('a.b')\nwhile True: pass", timeout_ms=1500)
        self.engine.answer(self.engine.call(), {"value": 1})
        record = self.engine.result(step)
        self.assertEqual((record["status"], record["error"]["name"]), ("timeout", "TimeLimit"))
        self.assertNotIn("waited", record["error"]["message"])

    def test_not_for_ever(self):
        session = self.engine.session()
        step = self.engine.run(session, "ask('a.b')")  # a first call takes longer: not within a short limit
        self.engine.answer(self.engine.call(), {"value": 1})
        self.engine.result(step)
        step = self.engine.run(session, "ask('a.b')", timeout_ms=1200)
        call = self.engine.call()
        self.assertEqual(self.engine.cancel(), call["call"])
        record = self.engine.result(step)
        self.assertEqual((record["status"], record["error"]["name"]), ("timeout", "TimeLimit"))
        self.assertIn("waited for answers", record["error"]["message"])

    def test_not_by_many_short_ones(self):
        """Each call waits for less than the limit; all together for more than ten times."""
        with gate.Engine() as engine:  # its own: the last call may be cancelled while it is answered
            step = engine.run(engine.session(), "while True: ask('a.b')", timeout_ms=300)
            while step not in engine.results:
                try:
                    call = engine.calls.get(timeout=0.1)
                except queue.Empty:
                    continue
                try:
                    engine.cancelled.get(timeout=0.05)
                except queue.Empty:
                    engine.answer(call, {"value": 1})
            record = engine.result(step)
        self.assertEqual(record["status"], "timeout")

    def test_cpu_time_is_counted(self):
        session = self.engine.session(limits={"cpu_ms": 1500})
        step = self.engine.run(session, "put('a.b')\nwhile True: pass")
        call = self.engine.call()
        self.assertEqual(self.engine.cancel(), call["call"])
        self.assertIn("CPU", self.engine.result(step)["error"]["message"])


class Cancelled(CallsCase):
    """Whatever ends a step ends its calls."""

    def begin(self, code="ask('a.b')", before="", **params):
        session = self.engine.session(**params)
        if before:
            self.engine.do("step.run", session=session, code=before)
        step = self.engine.run(session, code)
        return session, step, self.engine.call()

    def cancelled(self, call):
        self.assertEqual(self.engine.cancel(), call["call"])

    def test_by_an_interrupt(self):
        session, step, call = self.begin()
        self.engine.do("step.interrupt", session=session)
        self.cancelled(call)
        record = self.engine.result(step)
        self.assertEqual(record["error"]["name"], "Interrupted")
        self.assertIn("KeyboardInterrupt", "".join(record["error"]["traceback"]))
        self.assertEqual(self.ask(session, "ask('a.b')['value']", {"value": 2}), 2)

    def test_by_an_interrupt_which_the_box_is_told(self):
        session, step, call = self.begin("import signal\nsignal.signal(signal.SIGINT, lambda *_: None)\n"
                                         "put('a.b')\nanswer = take()\nput('a.c')\n[answer['error']['name'], take()['error']['name']]")
        self.engine.do("step.interrupt", session=session)
        self.cancelled(call)
        record = self.engine.result(step)
        self.assertIn("value", record, record)
        self.assertEqual(record["value"]["application/json"], ["ToolLost", "ToolLost"])
        self.no_call()

    def test_by_the_end_of_the_driver(self):
        _, step, call = self.begin("put('a.b')\nimport time\nwhile not os.path.exists('go'): time.sleep(0.01)\nos._exit(1)")
        self.engine.do("file.write", session=call["session"], path="go", content="")
        self.cancelled(call)
        self.assertEqual(self.engine.result(step)["state"]["outcome"], "rolled_back")

    def test_by_the_end_of_the_step(self):
        session, step, call = self.begin("put('a.b')")
        self.cancelled(call)
        record = self.engine.result(step)
        self.assertEqual(record["status"], "ok")
        self.assertEqual(record["tools"], [{"tool": "a.b", "calls": 1, "bytes_in": 2, "bytes_out": 0, "errors": 1}])
        self.assertEqual(self.ask(session, "ask('a.b')['value']", {"value": 2}), 2)

    def test_by_a_broken_protocol(self):
        _, step, call = self.begin("put('a.b')\nframe(99, b'')\nimport time\ntime.sleep(60)")
        self.cancelled(call)
        self.assertEqual(self.engine.result(step)["error"]["name"], "ProtocolError")

    def test_by_too_much_memory(self):
        _, step, call = self.begin("put('a.b')\nimport time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
                                   "x = b'x' * (512 << 20)", limits={"memory_bytes": 128 << 20})
        self.engine.do("file.write", session=call["session"], path="go", content="")
        self.cancelled(call)
        self.assertIn(self.engine.result(step)["status"], ("oom", "error"))

    def test_by_the_end_of_the_session(self):
        session, step, call = self.begin()
        self.engine.do("session.close", session=session)
        self.cancelled(call)
        with self.assertRaises(gate.Refused):
            self.engine.result(step)

    def test_by_the_end_of_the_engine(self):
        engine = gate.Engine()
        engine.run(engine.session(), "ask('a.b')")
        call = engine.call()
        self.assertEqual(engine.stop(), 0)
        self.assertEqual(engine.cancel(), call["call"])

    def test_answered_and_not_cancelled(self):
        session = self.engine.session()
        self.ask(session, "ask('a.b')", {"value": 1})
        self.engine.do("session.close", session=session)
        self.assertTrue(self.engine.cancelled.empty())


class Kept(harness.Case):
    """An engine that is killed, and another one of the same state."""

    def setUp(self):
        super().setUp()
        self.state = harness.make_dir()
        self.engine = gate.Engine(self.state)
        self.addCleanup(lambda: self.engine.stop())

    def again(self):
        self.engine.kill()
        self.engine.stop()
        self.engine = gate.Engine(self.state)

    def step(self, session, code, *answers, untrusted=False):
        step = self.engine.run(session, code)
        for answer in answers:
            self.engine.answer(self.engine.call(), answer, untrusted)
        return self.engine.result(step)

    def quiet(self, session, code):
        """A step that reaches no gate."""
        record = self.engine.do("step.run", session=session, code=code)
        self.assertTrue(self.engine.calls.empty())
        return record

    def test_made_once(self):
        session = self.engine.session()
        self.step(session, "x = ask('mail.send', to='a')['value']", {"value": {"id": 17, "b": 1, "a": 0.1}})
        self.step(session, "try: y = ask('mail.send', to='b')['error']['message']\nfinally: z = last",
                  {"error": {"name": "ToolError", "message": "full"}})
        for _ in range(2):
            self.again()
            record = self.quiet(session, "[x, y, z]")
            self.assertEqual(record["value"]["application/json"], [{"id": 17, "b": 1, "a": 0.1}, "full", 2])
            self.assertEqual(record["state"]["outcome"], "replayed")

    def test_made_once_by_threads_in_any_order(self):
        code = ("import threading\nlock = threading.Lock()\ngot = {}\n"
                "def work(i):\n    with lock: put('a.b', i=i)\n"
                "threads = [threading.Thread(target=work, args=(i,)) for i in sorted(range(8), key=lambda _: os.urandom(4))]\n"
                "for t in threads: t.start(); t.join()\n"
                "sorted(take()['value'] for _ in range(8))")
        session = self.engine.session()
        step = self.engine.run(session, code)
        for _ in range(8):
            call = self.engine.call()
            self.engine.answer(call, {"value": call["arguments"]["i"]})
        self.assertEqual(self.engine.value(step), list(range(8)))
        self.again()
        record = self.quiet(session, "last")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("8", "replayed"))

    def test_another_call_than_before(self):
        session = self.engine.session()
        self.step(session, "a = ask('a.b', x=1)['value']\nb = ask('a.c', x=os.urandom(8).hex())", {"value": 1}, {"value": 2})
        self.again()
        record = self.quiet(session, "[a, b['error']['name']]")
        self.assertEqual(record["value"]["application/json"], [1, "ToolLost"])
        self.assertEqual(record["state"]["outcome"], "diverged")
        self.assertIn("tool call 2: a.c, was a.c with other arguments", record["state"]["reason"])

    def test_a_call_that_is_not_made_again(self):
        """Code that looks at when its process was started."""
        started = "int(open('/proc/self/stat').read().split()[21])"
        session = self.engine.session()
        then = self.quiet(session, started)["value"]["text/plain"]
        self.step(session, f"if {started} == {then}: x = ask('a.c')", {"value": 1})
        self.again()
        record = self.quiet(session, "last")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("0", "diverged"))

    def test_a_step_whose_call_nobody_answered(self):
        session = self.engine.session()
        self.step(session, "put('a.b')\nx = 5")
        self.again()
        record = self.quiet(session, "[x, last]")
        self.assertEqual((record["value"]["application/json"], record["state"]["outcome"]), ([5, 1], "replayed"))

    def test_undone_by_replay(self):
        session = self.engine.session()
        for i in range(8):  # more than checkpoints are kept
            self.step(session, f"x = ask('a.b', i={i})['value']", {"value": i})
        self.assertEqual(self.engine.do("session.undo", session=session, count=7)["outcome"], "replayed")
        self.assertEqual(self.quiet(session, "x")["value"]["text/plain"], "0")

    def test_in_a_record(self):
        session = self.engine.session()
        self.step(session, "x = ask('a.b', i=1)['value']", {"value": "né"})
        self.step(session, "x + ask('a.b', i=2)['value'] + ask('a.b', i=1)['value']", {"value": "2"}, {"value": "né"})
        record = self.engine.do("session.export", session=session)["record"]
        lines = [json.loads(line) for line in record.splitlines()]
        self.assertEqual(lines[0]["retort_record"], 3)
        self.assertEqual(sorted(lines[2]["answers"].values()), ['{"value":"2"}', '{"value":"né"}'])
        self.assertEqual([c["name"] for c in json.loads(lines[2]["record"])["calls"]], ["a.b", "a.b"])
        self.assertEqual(self.engine.do("replay.run", record=record)["outcome"], "replayed")
        self.assertTrue(self.engine.calls.empty())
        for change in (lambda a: a.popitem(), lambda a: a.update({next(iter(a)): "{}"}),
                       lambda a: a.update({"0" * 64: "{}"})):
            changed = json.loads(json.dumps(lines))
            change(changed[2]["answers"])
            text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in changed)
            with self.assertRaisesRegex(gate.Refused, "line 3"):
                self.engine.do("replay.run", record=text)

    @harness.needs_root("only root can mount")
    def test_answers_that_cannot_be_kept(self):
        """The box does not get them, and what it is told in their place can be told again."""
        state = harness.make_dir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k,mode=700", "none", state], check=False,
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", state], check=False)
        self.engine.stop()
        self.engine = gate.Engine(state)
        session = self.engine.session()
        step = self.engine.run(session, "x = ask('a.b')\nprint(x['error'])")
        self.engine.answer(self.engine.call(), {"value": os.urandom(1 << 20).hex()}, untrusted=True)
        record = self.engine.result(step)
        self.assertIn("ToolLost", record["stdout"])
        self.assertNotIn(state, record["stdout"])
        subprocess.run(["mount", "-o", "remount,size=8m", state], check=True)
        self.state = state
        self.again()
        record = self.quiet(session, "x['error']['name']")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("'ToolLost'", "replayed"))

    def test_without_calls_a_record_is_what_it_was(self):
        session = self.engine.session()
        self.engine.do("step.run", session=session, code="1")
        record = self.engine.do("session.export", session=session)["record"]
        self.assertEqual(json.loads(record.splitlines()[0])["retort_record"], 1)
        self.assertNotIn('"calls"', record)


class Taint(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = harness.make_dir()
        self.engine = gate.Engine(self.state)
        self.addCleanup(lambda: self.engine.stop())

    def ask(self, session, untrusted=False):
        """Is a call of the session tainted when it comes?"""
        step = self.engine.run(session, "ask('a.b')")
        call = self.engine.call()
        self.engine.answer(call, {"value": 1}, untrusted)
        self.engine.value(step)
        return call["tainted"]

    def is_said(self, session):
        row = self.engine.do("session.get", session=session)
        rows = {s["session"]: s for s in self.engine.do("session.list")["sessions"]}
        self.assertEqual(row.get("untrusted"), rows[session].get("untrusted"))
        return row.get("untrusted", False)

    def test_from_the_next_call_on(self):
        session, other = self.engine.session(), self.engine.session()
        self.assertFalse(self.ask(session))
        self.assertFalse(self.is_said(session))
        self.assertFalse(self.ask(session, untrusted=True))
        self.assertTrue(self.is_said(session))
        self.assertTrue(self.ask(session))
        self.assertFalse(self.ask(other))
        self.assertFalse(self.is_said(other))

    def test_of_calls_that_wait(self):
        session = self.engine.session()
        step = self.engine.run(session, "put('a.b')\nput('a.c')\ntake()\ntake()")
        first, second = self.engine.call(), self.engine.call()
        self.assertFalse(self.engine.is_tainted(second))
        self.engine.answer(first, {"value": 1}, untrusted=True)
        self.assertTrue(self.engine.is_tainted(second))
        self.engine.answer(second, {"value": 1})
        self.engine.result(step)

    def test_it_stays(self):
        session = self.engine.session()
        self.ask(session)
        before = self.engine.do("session.branch", session=session)["session"]
        self.ask(session, untrusted=True)
        branch = self.engine.do("session.branch", session=session)["session"]
        self.engine.do("session.undo", session=session)
        self.assertTrue(self.is_said(session))
        self.assertTrue(self.ask(session))
        self.assertTrue(self.is_said(branch))
        self.assertFalse(self.is_said(before))
        self.engine.kill()
        self.engine.stop()
        self.engine = gate.Engine(self.state)
        for one, want in ((session, True), (branch, True), (before, False)):
            self.assertEqual(self.is_said(one), want)
            self.assertEqual(self.ask(one), want)
            self.assertEqual(self.is_said(one), want)

    def test_of_a_step_that_is_rolled_back(self):
        session = self.engine.session()
        step = self.engine.run(session, "ask('a.b')\nos._exit(1)")
        self.engine.answer(self.engine.call(), {"value": 1}, untrusted=True)
        self.engine.result(step)
        self.assertTrue(self.ask(session))


if __name__ == "__main__":
    harness.main()
