# SPDX-License-Identifier: Apache-2.0
"""A script is a session's last step: it runs to its end, and afterwards the session only has files."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"
# Each appends what it got as its argument to a file, and says it.
APPEND = {
    "python": "import sys\nopen('f', 'a').write(sys.argv[1])\nprint(sys.argv[1])",
    "javascript": "require('fs').appendFileSync('f', process.argv.at(-1)); console.log(process.argv.at(-1))",
    "shell": 'printf %s "$1" >>f; echo "$1"',
}
FIRST = {"python": "x = open('f', 'w').write('1')", "javascript": "require('fs').writeFileSync('f', '1')",
         "shell": "printf 1 >f"}


class Scripts(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.call = cls.engine.client()

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()

    def spent(self, language="python", call=None, **params):
        """A session with a step and a script."""
        call = call or self.call
        session = call("session.create", runtime=language)["session"]
        self.assertEqual(call.run(session, FIRST[language])["status"], "ok")
        record = call.run(session, APPEND[language], script=True, args=["2"], **params)
        self.assertEqual((record["status"], record["stdout"], record["exit_code"]), ("ok", "2\n", 0))
        return session

    def fails(self, code, method, call=None, /, **params):
        with self.assertRaises(rpc.Failed, msg=(method, params)) as failed:
            (call or self.call)(method, **params)
        self.assertEqual(failed.exception.code, code, str(failed.exception))

    def content(self, session, call=None):
        return (call or self.call)("file.read", session=session, path="f")["content"]


class Steps(Scripts):
    def test_later_steps_and_branches_are_refused(self):
        for language in APPEND:
            with self.subTest(language=language):
                session = self.spent(language)
                head = self.call("session.get", session=session)["head"]
                for params in ({}, {"script": True}, {"runtime": "shell"}, {"runtime": "python"}, {"atomic": True},
                               {"detach": True}, {"stream": True}):
                    self.fails("gone", "step.run", session=session, code="1", **params)
                self.fails("gone", "session.branch", session=session)
                self.assertEqual(self.call("session.get", session=session)["head"], head)
                self.assertEqual(self.content(session), "12")

    def test_what_a_session_still_has(self):
        session = self.spent()
        self.assertEqual([f["path"] for f in self.call("file.list", session=session)["files"]], ["f"])
        self.call("file.write", session=session, path="g", content="x")
        self.assertEqual(self.call("file.read", session=session, path="g")["content"], "x")
        self.call("file.remove", session=session, path="g")
        self.assertEqual([s["runtime"] for s in self.call("session.log", session=session)["steps"]][-2:],
                         ["python", "python"])
        self.assertEqual(self.content(session), "12")
        self.call("session.close", session=session)
        self.fails("gone", "file.read", session=session, path="f")

    def test_a_script_sees_the_state_of_the_session(self):
        session = self.call("session.create")["session"]
        self.call.run(session, "x = 41")
        self.assertEqual(self.call.run(session, "x += 1\nprint(x)", script=True)["stdout"], "42\n")

    def test_a_branch_made_before_goes_on(self):
        session = self.call("session.create")["session"]
        self.call.run(session, "x = 1")
        branch = self.call("session.branch", session=session)["session"]
        self.call.run(session, "x = 2", script=True)
        self.assertEqual(self.call.value(branch, "x"), 1)
        self.assertEqual(self.call.run(branch, "print(x)", script=True)["stdout"], "1\n")

    def test_a_script_that_fails_is_the_last_step_too(self):
        for code, status in (("1 / 0", "error"), ("def f(:", "error"), ("import sys; sys.exit(3)", "error"),
                             ("import os; os.kill(os.getpid(), 9)", "killed"), ("while True: pass", "timeout")):
            with self.subTest(code=code):
                session = self.call("session.create")["session"]
                self.call.run(session, FIRST["python"])
                self.assertEqual(self.call.run(session, code, script=True, timeout_ms=500)["status"], status)
                self.fails("gone", "step.run", session=session, code="1")
                self.assertEqual(self.content(session), "1")

    def test_a_script_is_awaited(self):
        session = self.call("session.create")["session"]
        code = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()"
        self.assertEqual(self.call.run(session, code, script=True)["stdout"], "late\n")

    def test_a_script_may_be_atomic(self):
        session = self.call("session.create")["session"]
        self.call.run(session, FIRST["python"])
        record = self.call.run(session, "open('f', 'w').write('lost')\n1 / 0", script=True, atomic=True)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "rolled_back"))
        self.assertEqual(self.content(session), "1")

    def test_arguments_without_a_script_are_refused(self):
        session = self.call("session.create")["session"]
        for params in ({"args": ["a"]}, {"args": []}, {"args": ["a"], "script": False}):
            self.fails("usage", "step.run", session=session, code="1", **params)
        self.assertEqual(self.call.value(session, "40 + 2"), 42)
        self.assertEqual(self.call.run(session, "1", script=True, args=[])["status"], "ok")

    def test_undo_takes_the_files_back(self):
        for language in APPEND:
            with self.subTest(language=language):
                session = self.spent(language)
                first = self.call("session.log", session=session)["steps"][-1]["step"]
                undone = self.call("session.undo", session=session)
                self.assertEqual((undone["head"], self.content(session)), (first, "1"))


class Records(Scripts):
    def test_a_record_is_replayed(self):
        for language in APPEND:
            with self.subTest(language=language):
                record = self.call("session.export", session=self.spent(language, stdin="in"))["record"]
                self.assertEqual(self.call("replay.run", record=record), {"outcome": "replayed", "steps": 2})

    def test_a_record_is_replayed_whose_process_has_ended_when_its_files_are_read(self):
        many = {"python": "for i in range(1000): open(f'g{i}', 'w').write('x')\nprint('x' * 900000)",
                "javascript": "const fs = require('fs');\nfor (let i = 0; i < 1000; i++) fs.writeFileSync('g' + i, 'x');\n"
                              "console.log('x'.repeat(900000))",
                "shell": "for i in $(seq 1000); do echo > g$i; done; head -c 900000 /dev/zero"}
        for language, code in many.items():
            with self.subTest(language=language):
                session = self.call("session.create", runtime=language)["session"]
                self.call.run(session, FIRST[language])
                self.assertEqual(self.call.run(session, code, script=True)["status"], "ok")
                record = self.call("session.export", session=session)["record"]
                self.assertEqual(self.call("replay.run", record=record), {"outcome": "replayed", "steps": 2})

    def test_what_a_script_was_is_part_of_the_replay(self):
        """Threads would end with a step, the arguments would be others, and stdin empty."""
        session = self.call("session.create")["session"]
        code = ("import threading, time, sys\nprint(sys.argv, sys.stdin.read())\n"
                "threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()")
        record = self.call.run(session, code, script=True, args=["né", "2"], stdin="in", filename="p.py")
        self.assertEqual(record["stdout"], "['p.py', 'né', '2'] in\nlate\n")
        text = self.call("session.export", session=session)["record"]
        self.assertEqual(self.call("replay.run", record=text), {"outcome": "replayed", "steps": 1})

    def test_a_record_that_was_changed(self):
        text = self.call("session.export", session=self.spent())["record"]
        changed = text.replace('\\"script\\":[\\"2\\"]', '\\"script\\":[\\"3\\"]')
        self.assertNotEqual(text, changed)
        with self.assertRaises(rpc.Failed) as failed:
            self.call("replay.run", record=changed)
        self.assertEqual(failed.exception.code, "damaged")


class Restarts(Scripts):
    def test_an_engine_that_starts_again(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            engine = rpc.Engine()
            self.addCleanup(engine.stop)
            call = engine.client()
            sessions = [self.spent(language, call) for language in APPEND]
            engine.stop(number)
            engine.start()
            call = engine.client()
            for session in sessions:
                with self.subTest(signal=number, session=session):
                    self.assertEqual(self.content(session, call), "12")
                    self.fails("gone", "step.run", call, session=session, code="1")
                    self.fails("gone", "session.branch", call, session=session)
                    self.assertEqual(self.content(session, call), "12")
                    self.assertEqual(call("session.get", session=session)["steps"], 2)


if __name__ == "__main__":
    harness.main()
