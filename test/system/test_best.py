# SPDX-License-Identifier: Apache-2.0
"""`retort agent --best-of N`: candidates tried in branches, the best kept, the others gone; and what a
check can be."""

import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import leftovers  # noqa: E402
import model_server  # noqa: E402
import service  # noqa: E402
import test_gate  # noqa: E402
from test_agent import Done, agent, line, plain, python, script  # noqa: E402

IDENTITY = "user"
SETTLE_S = 20


def best(n, task, *lines, options=(), **more):
    """Of each N lines one is taken."""
    return agent(task, *lines, options=["--best-of", str(n), *options], **more)


def chosen(done):
    return [e for e in done.all("candidates") if e["state"] == "chosen"]


def refused(done):
    return [e for e in done.all("candidates") if e["state"] == "refused"]


def of(done, name):
    """Events of that name of candidates: (which, event)."""
    return [(e["candidate"], e["of"]) for e in done.all("candidate") if e["of"]["event"] == name]


class Chosen(harness.Case):
    """The best is kept: its words, its state, its answer."""

    def test_a_majority_outvotes_the_wrong_one(self):
        done = best(3, "What is 6 times 7?",
                    python("x = 6 + 7\nfinal_answer(x)"), python("x = 6 * 7\nfinal_answer(x)"),
                    python("x = sum([7] * 6) * 1.0\nfinal_answer(x)"))
        self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)
        self.assertEqual(chosen(done)[0]["chosen"], 2)
        self.assertEqual([(c["value"], c["rank"]) for c in chosen(done)[0]["candidates"]],
                         [("13", "good"), ("42", "good"), ("42", "good")])
        [told] = done.result["candidates"]["rounds"]
        self.assertEqual((told["why"], told["votes"], told["of"], told["asked"], told["ran"], told["value"]),
                         ("majority", 2, 3, 3, 3, "42"))
        self.assertEqual((done.result["steps"], done.result["replies"]), (3, 3))
        self.assertEqual(told["usage"]["input"], done.result["usage"]["input"])

    def test_it_goes_on_in_the_state_of_the_best(self):
        """Variables and files, round after round; what the model is told is of the best alone."""
        done = best(2, "Go.",
                    python("x = 'mine'\nopen('f', 'w').write(x)\nx"), python("1 / 0"),
                    line(python("y = 1 / 0"), expect_last=["[step 1] ok", "'mine'", "18 of 20 steps left"],
                         reject=["ZeroDivisionError", "1 / 0"]),
                    line(python("y = x + open('f').read()\ny")),
                    line(python("final_answer(y)"), expect_last=["'minemine'"]), python("final_answer(y)"),
                    options=["--max-steps", "20"])
        self.assertEqual((done.status, done.result["answer"]), (0, "minemine"), done)
        self.assertEqual([r["why"] for r in done.result["candidates"]["rounds"]], ["success", "success", "majority"])

    def test_a_step_is_numbered_by_its_place(self):
        """Not by when its code ran, which no recording says; and no number is given twice."""
        done = best(3, "Go.", "It is 2.", python("x = 2\nx"), python("x = 2\nx"),
                    *[line(python("x += 1\nx"), expect_last=["[step 2] ok"])] * 3,
                    line("I have 3.", expect_last=["[step 4] ok"]), options=["--no-grounded", "--max-steps", "5"])
        self.assertEqual((done.status, done.result["answer"]), (7, "I have 3."), done)
        self.assertEqual(sorted((e["number"], which) for which, e in of(done, "step.code")),
                         [(2, 2), (3, 3), (4, 1), (5, 2), (6, 3)])
        done = best(3, "More.", *[python("x += 1\nx")] * 3, line("I have 4.", expect_last=["[step 7] ok"]),
                    options=["--no-grounded", "--max-steps", "3", "--resume", done.result["agent"]])
        self.assertEqual((done.status, done.result["answer"]), (7, "I have 4."), done)

    def test_an_answer_in_words_is_a_vote(self):
        done = best(3, "What is 6 times 7?", python("6 * 6 + 1"), python("final_answer(6 * 7)"), "42",
                    options=["--no-grounded"])
        self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)
        self.assertEqual(chosen(done)[0]["votes"], 2)

    def test_an_answer_with_numbers_from_nowhere_counts_as_failed(self):
        done = best(3, "What is 6 times 7?", "It is 43.", "It is 43.", python("final_answer(6 * 7)"))
        self.assertEqual((done.status, done.result["answer"], done.result["grounded"]), (0, "42", True), done)
        self.assertEqual(chosen(done)[0]["why"], "success")

    @harness.needs_shell_or_sql
    def test_the_check_is_above_the_majority(self):
        fix = "open('add.py', 'w').write('def add(a, b): return a {} b\\n')"
        done = best(3, "Write add.py.",
                    python(fix.format("-")), python(fix.format("-")), python(fix.format("+")),
                    *[line("Done.", expect_last=["The check of the task passes now"])] * 3,
                    options=["--check", "python3 -c 'from add import add; assert add(1, 2) == 3'"])
        self.assertEqual((done.status, done.result["answer"]), (0, "Done."), done)
        self.assertEqual((chosen(done)[0]["chosen"], chosen(done)[0]["why"]), (3, "check"))
        self.assertEqual([c["passed"] for c in chosen(done)[0]["candidates"]], [False, False, True])
        self.assertEqual([e["passed"] for e in done.all("check")], [True])

    @harness.needs_shell_or_sql
    def test_all_miss_the_check_and_the_model_is_told(self):
        done = best(2, "Write f.", python("final_answer('a')"), python("final_answer('b')"),
                    line(python("open('f', 'w').write('x')\nfinal_answer('c')"), expect_last=["was checked", "test -s f"]),
                    "never mind", options=["--check", "test -s f"])
        self.assertEqual((done.status, done.result["answer"]), (0, "c"), done)

    def test_what_is_told_of_the_best_reads_as_a_run_of_one(self):
        done = best(3, "What is 6 times 7?", python("1 / 0"), python("print('on')\nx = 6 * 7\nx"), "I do not know.",
                    *[python("final_answer(x)")] * 3)
        plain_names = [e["event"] for e in done.events if e["event"] not in ("candidate", "candidates", "model.asked")]
        self.assertEqual(plain_names, ["agent.started", "model.message", "step.code", "stdout", "step.finished", "observation",
                                       "model.message", "step.code", "display", "step.finished", "answer", "agent.finished"])
        usage = [e["usage"]["input"] for e in done.all("model.message")]
        self.assertEqual(sum(usage), done.result["usage"]["input"], "what each round cost")

    def test_one_step_left_is_one_candidate(self):
        done = best(3, "Go.", python("1"), python("2"), python("3"), line(python("x = 4\nx"), expect_last=["1 of 4 steps left"]),
                    line("I have 4.", expect_last=["Nothing more can be run"]), "never asked", options=["--max-steps", "4"])
        self.assertEqual((done.status, done.result["answer"], done.result["replies"], done.result["steps"]),
                         (7, "I have 4.", 5, 4), done)

    def test_the_view_and_what_it_cost(self):
        """On a terminal."""
        path = script(python("final_answer(6 * 7)"), python("1 / 0"), python("final_answer(6 * 7)"))
        out = subprocess.run(
            ["script", "-qec", f"{harness.RETORT} agent -M replay:{path} --best-of 3 'What is 6 times 7?'", "/dev/null"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, env=harness.environment(), cwd=harness.TMP,
            timeout=harness.TIMEOUT_S, check=False).stdout
        for text in ("3 candidates", "candidate 2: error", "candidate 1 of 3, 2 of 2 votes: most have its result",
                     "final_answer(6 * 7)", "3 steps", "42"):
            self.assertIn(text, out)

    def test_a_server_is_asked_at_once(self):
        """None of the answers comes before all were asked for."""
        barrier = threading.Barrier(3, timeout=harness.TIMEOUT_S)

        class Slow(model_server.Answer):
            def pieces(self):
                barrier.wait()
                return super().pieces()

        events = [{"choices": [{"index": 0, "delta": {"content": "It is done."}}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"]
        body = model_server.sse(*events).body
        with model_server.Server(Slow(body)) as server:
            done = harness.retort("agent", "--jsonl", "--best-of", "3", "-M", f"{server.url}/v1#some", "Go.",
                                  env={"RETORT_MODEL_KEY": "sk-test-5e11f00dcafe"})
            done.__class__ = Done
            self.assertEqual((done.status, done.result["replies"], len(server.asked)), (0, 3, 3), done)


class Failing(harness.Case):
    """Candidates that fail harm none but themselves."""

    def test_each_way_to_fail(self):
        good = python("final_answer(6 * 7)")
        ways = {
            "exits": (python("import os\nos._exit(3)"), "error|killed"),
            "crashes": (python("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"), "killed|error"),
            "kills all it can": (python("import os, signal\nos.kill(-1, signal.SIGKILL)"), "killed|error|ok"),
            "never ends": (python("while True: pass"), "timeout"),
            "takes all memory": (python("x = bytearray(1 << 40)"), "error|oom"),
            "is cut": ({"reply": {"text": "```python\nprint('unfin", "stop": "length"}}, "cut"),
            "says nothing": ("", "empty"),
            "declines": ({"reply": {"text": "No.", "stop": "refusal"}}, "declined"),
            "has no answer": ({"failure": {"class": "auth", "message": "no"}}, "unanswered"),
        }
        for name, (bad, status) in ways.items():
            with self.subTest(name):
                done = best(2, "What is 6 times 7?", bad, good, options=["--timeout", "1s"])
                self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)
                self.assertEqual(chosen(done)[0]["chosen"], 2)
                self.assertIn(chosen(done)[0]["candidates"][0]["status"], status.split("|"))

    def test_all_fail_and_the_model_is_told_of_what_most_did(self):
        done = best(3, "Go.", python("x = 1\n1 / 0"), python("x = 2\nmissing"), python("x = 3\nmissing"),
                    line(python("final_answer(x)"), expect_last=["NameError", "missing"], reject=["ZeroDivisionError"]),
                    python("1 / 0"), python("1 / 0"))
        self.assertEqual((done.status, done.result["answer"]), (0, "2"), done)
        self.assertEqual(chosen(done)[0]["why"], "majority")

    def test_all_are_rolled_back(self):
        done = best(2, "Go.", python("x = 1"), python("x = 1"),
                    python("import os\nx = 2\nos._exit(3)"), python("import os\nx = 3\nos._exit(3)"),
                    line(python("final_answer(x)"), expect_last=["rolled back"]), python("1 / 0"))
        self.assertEqual((done.status, done.result["answer"]), (0, "1"), done)

    def test_failures_in_a_row_are_those_of_rounds(self):
        done = best(2, "Go.", *[python(f"1 / 0 + {i}") for i in range(4)], line("I cannot.", expect_last=["Nothing more"]),
                    options=["--max-failures", "2"])
        self.assertEqual((done.status, done.result["spent"], done.result["steps"]), (9, "failures", 4), done)

    def test_none_says_anything(self):
        done = best(2, "Speak.", "", " ", line("Good.", expect_last=["empty"]), "Good.")
        self.assertEqual((done.status, done.result["answer"]), (0, "Good."), done)
        done = best(2, "Speak.", line("", times=0))
        self.assertEqual((done.status, done.result["status"]), (1, "failed"), done)

    def test_none_can_be_asked(self):
        for name, status in {"auth": 3, "model": 2, "context": 2}.items():
            with self.subTest(failure=name):
                done = best(2, "Go.", {"failure": {"class": name, "message": "no"}, "times": 0})
                self.assertEqual((done.status, done.result["status"]), (status, "error"), done)

    def test_a_failure_that_passes(self):
        wait = {"failure": {"class": "rate", "wait_ms": 1}}
        done = best(2, "Go.", wait, python("x = 7\nfinal_answer(x + 1)"), "Eight.")
        self.assertEqual((done.status, done.result["answer"]), (0, "Eight."), done)
        self.assertEqual([(c["status"], c.get("value")) for c in chosen(done)[0]["candidates"]], [("answer", "Eight."), ("ok", "8")])
        self.assertEqual([n for n, _ in of(done, "model.wait")], [1])


class Refused(harness.Case):
    """Where no branch can be made there is one candidate, and that is said."""

    def check_fallback(self, done, word):
        [event] = refused(done)
        self.assertIn(word, event["message"])
        self.assertEqual(event["left"], 1)
        self.assertEqual(done.result["candidates"]["refused"]["left"], 1)
        self.assertIn("--best-of", done.err)
        self.assertIn(word, done.err)

    def test_other_threads(self):
        thread = "import threading\ne = threading.Event()\nthreading.Thread(target=e.wait, daemon=True).start()\nx = 5"
        done = best(2, "Go.", python(thread), python(thread),
                    python("y = x + 1\ny"), python("y = x + 2\ny"),
                    line(python("final_answer(y)"), expect_last=["6"]))
        self.assertEqual((done.status, done.result["answer"]), (0, "6"), done)
        self.check_fallback(done, "threads")
        self.assertEqual(done.result["replies"], 5)

    def test_processes_of_its_own(self):
        start = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nx = 5"
        done = best(2, "Go.", python(start), python(start), python("final_answer(x)"), python("final_answer(x + 1)"))
        self.assertEqual((done.status, done.result["answer"]), (0, "5"), done)
        self.check_fallback(done, "process")

    def test_room_for_some(self):
        model = "replay:" + script(*[python(f"x = {i} * 2\nx") for i in range(5)], *[python("final_answer(x)")] * 5)
        with service.Engine("--model", model, "--max-sessions", "3") as engine:
            engine.call("session.create", name="demo")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=5)
            self.assertEqual(result["status"], "ok", result)
            self.assertEqual([r["asked"] for r in result["candidates"]["rounds"]], [5, 2])
            self.assertEqual(result["candidates"]["refused"]["code"], "quota")
            self.assertEqual(result["candidates"]["refused"]["left"], 2)
            self.assertEqual(len(engine.call("session.list")["sessions"]), 1)

    def test_no_room(self):
        model = "replay:" + script(python("x = 1"), python("x = 2"), python("final_answer(x)"))
        with service.Engine("--model", model, "--max-sessions", "1") as engine:
            engine.call("session.create", name="demo")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=2)
            self.assertEqual((result["status"], result["answer"]), ("ok", "1"), result)
            self.assertEqual((result["steps"], result["replies"]), (2, 3))

    def test_too_deep(self):
        model = "replay:" + script(*[python("x = (x or 0) + 1")] * 2, *[python("final_answer(x)")] * 2)
        with service.Engine("--model", model) as engine:
            s = engine.session(name="demo")
            s.run("x = 0")
            for i in range(27):
                # It goes on as a branch itself, one deeper each time.
                branch = engine.call("session.branch", session="demo")["session"]
                engine.call("session.close", session=branch)
                s.run(f"x = {i}")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=2)
            self.assertEqual((result["status"], result["answer"]), ("ok", "27"), result)
            self.assertEqual(result["candidates"]["refused"]["code"], "limit")

    def test_files_of_the_host(self):
        where = harness.make_dir()
        for options in (["-w", where], ["-v", f"{where}:d:rw"]):
            done = best(2, "Go.", "Good.", options=options)
            self.assertEqual(done.status, 2, done)
            self.assertIn("exclude each other", done.err)
        done = best(2, "Go.", "Good.", "Good.", options=["-v", f"{where}:d"])
        self.assertEqual(done.status, 0, done)
        model = "replay:" + script(python("open('f', 'w').write('1')"), python("open('f', 'w').write('2')"), "Good.")
        with service.Engine("--model", model) as engine:
            engine.call("session.create", name="demo", workspace=where)
            result = engine.call("agent.run", session="demo", task="Go.", best_of=2)
            self.assertEqual((result["status"], result["candidates"]["refused"]["code"]), ("ok", "usage"), result)
            with open(os.path.join(where, "f"), encoding="utf-8") as f:
                self.assertEqual(f.read(), "1")


class Budgets(harness.Case):
    def test_tokens_end_in_the_middle(self):
        done = best(3, "Go.", *[python(f"x = {i}\nx") for i in (1, 2, 2)],
                    line("I have 2.", expect_last=["[step 2] ok", "Nothing more"]), options=["--max-tokens", "1000"])
        self.assertEqual((done.status, done.result["spent"], done.result["answer"]), (8, "tokens", "I have 2."), done)

    def test_time_ends_in_the_middle(self):
        """What was done by then counts."""
        done = best(2, "Go.", python("import time\ntime.sleep(600)"), python("x = 6 * 7\nx"),
                    line("I have 42.", expect_last=["[step 2] ok", "42", "Nothing more"]),
                    options=["--max-time", "2s", "--timeout", "10m"])
        self.assertEqual((done.status, done.result["spent"], done.result["answer"]), (8, "wall_ms", "I have 42."), done)

    def test_time_ends_while_all_are_asked(self):
        model = "exec:grep -q 'Nothing more can be run' && echo 'I have nothing.' || sleep 600"
        done = harness.retort("agent", "-M", model, "--best-of", "2", "--max-time", "500ms", "--jsonl", "Go.")
        done.__class__ = Done
        self.assertEqual((done.status, done.result["spent"], done.result["answer"].strip()), (8, "wall_ms", "I have nothing."), done)


class Interrupted(harness.Case):
    SLEEP = python("import time\nprint('on', flush=True)\ntime.sleep(600)")

    def start(self, n, *lines, options=()):
        process = subprocess.Popen(
            [harness.RETORT, "agent", "-M", "replay:" + script(*lines), "--jsonl", "--timeout", "10m",
             "--best-of", str(n), *options, "Go."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=harness.environment(), cwd=harness.TMP)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, process, *wanted):
        """Until each of the names has come once; candidate's events are named with "1:"."""
        left = list(wanted)
        for text in process.stdout:
            event = json.loads(text)
            name = event["event"]
            if name == "candidate":
                name = f"{event['candidate']}:{event['of']['event']}"
            if name in left:
                left.remove(name)
            if not left:
                return event
        self.fail(f"no {left}: {process.stderr.read()}")

    def test_the_first_stops_what_runs(self):
        process = self.start(2, self.SLEEP, python("x = 7 + 0\nx"), line("It gave 7.", expect_last=["[step 2] ok"]),
                             line("It gave 7.", expect_last=["[step 2] ok"]))
        self.wait_for(process, "1:stdout", "2:step.finished")
        process.send_signal(signal.SIGINT)
        result = self.wait_for(process, "agent.finished")["result"]
        self.assertEqual((process.wait(), result["answer"]), (0, "It gave 7."))

    def test_the_second_ends_all(self):
        deaf = python("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(600)")
        process = self.start(2, deaf, deaf)
        self.wait_for(process, "1:stdout", "2:stdout")
        process.send_signal(signal.SIGINT)
        self.wait_for(process, "interrupt")
        process.send_signal(signal.SIGINT)
        result = self.wait_for(process, "agent.finished")["result"]
        self.assertEqual((process.wait(), result["status"]), (130, "interrupted"))

    def test_sigterm_ends_all(self):
        process = self.start(2, self.SLEEP, self.SLEEP)
        self.wait_for(process, "1:stdout", "2:stdout")
        process.send_signal(signal.SIGTERM)
        result = self.wait_for(process, "agent.finished")["result"]
        self.assertEqual((process.wait(), result["status"]), (130, "interrupted"))

    def test_nothing_outlives_a_kill(self):
        before = leftovers.state()
        process = self.start(3, self.SLEEP, self.SLEEP, self.SLEEP)
        self.wait_for(process, "1:stdout", "2:stdout", "3:stdout")
        process.kill()
        process.wait()
        self.assertEqual(leftovers.since(before, SETTLE_S), [])


class Engine(harness.Case):
    """In a session of an engine: afterwards it is what the best made of it, and there is no other."""

    def connect(self, engine):
        client = engine.connect()
        self.addCleanup(client.sock.close)
        self.addCleanup(client.file.close)
        return client

    def test_the_session_is_the_best_s(self):
        model = "replay:" + script(python("x += 1\nopen('f', 'w').write('one')\nx"), python("x += 10\nopen('f', 'w').write('ten')\nx"),
                                   python("x += 10\nopen('f', 'w').write('ten')\nx"),
                                   *[python("final_answer(x)")] * 3)
        with service.Engine("--model", model) as engine:
            s = engine.session(name="demo")
            s.run("x = 32")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=3)
            self.assertEqual((result["answer"], result["session"]), ("42", s.id), result)
            self.assertEqual([v["session"] for v in engine.call("session.list")["sessions"]], [s.id])
            self.assertEqual(s.value("x, open('f').read()"), "(42, 'ten')")
            self.assertEqual(s.value("import os\nos.environ['RETORT_SESSION']"), repr(s.id))
            log = engine.call("session.log", session="demo")["steps"]
            self.assertEqual([v["code"] for v in reversed(log)][1], "x += 10\nopen('f', 'w').write('ten')\nx")
            self.assertEqual(len(log), 5)
            self.assertEqual(engine.call("session.get", session="demo")["steps"], 5)
            self.assertIn(s.undo(count=4)["outcome"], ("rolled_back", "replayed"))
            self.assertEqual(s.value("x"), "32")

    def test_it_is_still_there_when_the_engine_is_started_anew(self):
        model = "replay:" + script(python("x = 1"), python("x = 6 * 7\nx"), python("x = 6 * 7\nx"), *["Done."] * 3)
        state = os.path.join(harness.make_dir(), "state")
        with service.Engine("--model", model, state=state) as engine:
            engine.session(name="demo")
            self.assertEqual(engine.call("agent.run", session="demo", task="Go.", best_of=3)["status"], "ok")
        with service.Engine(state=state) as engine:
            record = engine.call("step.run", session="demo", code="x")
            self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("42", "replayed"), record)
            self.assertEqual(len(engine.call("session.list")["sessions"]), 1)

    @harness.needs_shell_or_sql
    def test_other_languages_come_along(self):
        model = "replay:" + script("```bash\nY=2\n```\n", "```javascript\nvar z = 3; z\n```\n", "```javascript\nvar z = 3; z\n```\n",
                                   *["```javascript\nfinal_answer(z + 4)\n```\n"] * 3)
        with service.Engine("--model", model) as engine:
            engine.session(name="demo")
            engine.call("step.run", session="demo", code="X=1", runtime="shell")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=3)
            self.assertEqual(result["answer"], "7", result)
            record = engine.call("step.run", session="demo", code="echo $X$Y", runtime="shell")
            self.assertEqual(record["stdout"], "1\n", record)

    def test_somebody_else_s_step_is_not_lost(self):
        """The session has gone on itself: the task ends, the session stays as it is."""
        model = "replay:" + script(python("print('on', flush=True)\nimport time\ntime.sleep(1.5)\nx = 1"), python("1 / 0"))
        with service.Engine("--model", model) as engine:
            engine.session(name="demo")
            client = self.connect(engine)
            number = client.send("agent.run", session="demo", task="Go.", best_of=2, stream=True)
            while b'"on' not in client.file.readline():
                pass
            engine.call("step.run", session="demo", code="x = 'theirs'")
            result = client.receive(number)
            self.assertEqual((result["status"], result["error"]["code"]), ("error", "busy"), result)
            self.assertEqual(engine.call("step.run", session="demo", code="x")["value"]["text/plain"], "'theirs'")
            self.assertEqual(len(engine.call("session.list")["sessions"]), 1)

    def test_a_client_that_leaves_ends_all(self):
        model = "replay:" + script(*[python("import time\nprint('on', flush=True)\ntime.sleep(600)")] * 3)
        with service.Engine("--model", model) as engine:
            engine.call("session.create", name="demo")
            client = self.connect(engine)
            client.send("agent.run", task="Go.", session="demo", best_of=3, stream=True)
            for _ in range(3):
                while b'"on' not in client.file.readline():
                    pass
            client.file.close()
            client.sock.close()
            self.assertEqual(engine.call("step.run", session="demo", code="1", timeout_ms=60000)["status"], "ok")
            for _ in range(2000):
                if len(engine.call("session.list")["sessions"]) == 1:
                    break
                threading.Event().wait(0.01)
            self.assertEqual(len(engine.call("session.list")["sessions"]), 1)

    def test_its_session_is_closed_in_the_middle(self):
        model = "replay:" + script(*[python("import time\nprint('on', flush=True)\ntime.sleep(600)")] * 2)
        with service.Engine("--model", model) as engine:
            engine.call("session.create", name="demo")
            client = self.connect(engine)
            number = client.send("agent.run", task="Go.", session="demo", best_of=2, stream=True)
            for _ in range(2):
                while b'"on' not in client.file.readline():
                    pass
            engine.call("session.close", session="demo")
            for trial in engine.call("session.list")["sessions"]:
                engine.call("session.close", session=trial["session"])
            self.assertEqual(client.receive(number)["status"], "error")
            self.assertEqual(engine.call("session.list")["sessions"], [])

    def test_a_killed_engine_leaves_branches_that_end(self):
        model = "replay:" + script(*[python("import time\nprint('on', flush=True)\ntime.sleep(600)")] * 2)
        state = os.path.join(harness.make_dir(), "state")
        with service.Engine("--model", model, state=state) as engine:
            engine.call("session.create", name="demo")
            client = self.connect(engine)
            client.send("agent.run", task="Go.", session="demo", best_of=2, max_wall_ms=5000, stream=True)
            for _ in range(2):
                while b'"on' not in client.file.readline():
                    pass
            engine.process.kill()
            engine.process.wait()
        with service.Engine(state=state) as engine:
            sessions = engine.call("session.list")["sessions"]
            trials = [s for s in sessions if "parent" in s]
            self.assertEqual((len(sessions), len(trials)), (3, 2))
            for trial in trials:
                self.assertLess(trial["ttl_ms"], 600000, "it ends by itself")


    def test_what_the_best_has_read_the_session_has_read(self):
        """Tools that only read may be called; the label of what they gave stays, also in the journal."""
        shop = test_gate.server(approve=["echo"])
        path, state = test_gate.file_of(shop=shop), os.path.join(harness.make_dir(), "state")
        model = "replay:" + script(python("1 / 0"), python("x = tools.shop.add(1, 2)\nx"), "Done.", "Done.")
        with service.Engine("--tools", path, "--model", model, state=state) as engine:
            engine.call("session.create", name="demo")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=2)
            self.assertEqual(result["status"], "ok", result)
            self.assertEqual(engine.call("step.run", session="demo", code="x")["value"]["text/plain"], "{'sum': 3}")
        with service.Engine("--tools", path, state=state) as engine:
            record = engine.call("step.run", session="demo", code="tools.shop.echo(**{'from': 'x'})")
            self.assertIn("has read data that others wrote", record["error"]["message"], record)


class Checks(harness.Case):
    """What decides whether an answer is good."""

    def test_an_expression_of_python(self):
        done = agent("What is 6 times 7?", python("limit = 40 + 0\nfinal_answer({'n': 6 * 6})"),
                     line(python("final_answer({'n': 6 * 7})"), expect_last=["answer['n'] > limit", "not true of it"]),
                     options=["--check", "python:answer['n'] > limit"])
        self.assertEqual((done.status, done.result["value"]), (0, {"n": 42}), done)
        self.assertEqual([e["passed"] for e in done.all("check")], [False, True])

    def test_an_expression_leaves_nothing_behind(self):
        done = agent("Go.", python("eval = json = globals = None\nfinal_answer('é \"quoted\" \\\\ \\n\\u2028 😀')"),
                     options=["--check", "python:answer == 'é \"quoted\" \\\\ \\n\\u2028 😀' and json is globals"])
        self.assertEqual(done.status, 0, done)
        done = agent("Go.", python("final_answer(1)"), line(python("final_answer('answer' in globals())"), expect_last=["not true"]),
                     options=["--no-grounded", "--check", "python:answer is False"])
        self.assertEqual((done.status, done.result["value"]), (0, False), done)

    def test_an_expression_that_is_wrong(self):
        done = agent("Go.", python("final_answer(6 * 7)"), line("No.", expect_last=["SyntaxError"]), options=["--check", "python:answer >", "--max-steps", "2"])
        self.assertEqual((done.status, done.result["status"]), (1, "check_failed"), done)

    def test_truth_is_a_value(self):
        for tag, yes in (("python", "True"), ("javascript", "true")):
            with self.subTest(tag):
                done = agent("Go.", f"```{tag}\nfinal_answer({yes})\n```\n", options=["--check", "schema:{\"type\": \"boolean\"}"])
                self.assertEqual((done.status, done.result["value"]), (0, True), done)

    def test_words_are_text_to_it(self):
        done = agent("Say hello.", "Hello.", options=["--check", "python:answer == 'Hello.'"])
        self.assertEqual(done.status, 0, done)

    def test_in_a_session_of_another_language(self):
        done = agent("Go.", "```javascript\nfinal_answer([1, 2])\n```\n", options=["-r", "javascript", "--no-grounded", "--check", "python:sum(answer) == 3"])
        self.assertEqual(done.status, 0, done)

    SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 42}}}

    def test_a_schema(self):
        done = agent("What is 6 times 7?", line(python("final_answer({'n': 6 * 6})"), expect=["fit this JSON Schema"]),
                     line(python("final_answer({'n': 6 * 7})"), expect_last=["the answer.n", "42", "does not fit"]),
                     options=["--check", "schema:" + json.dumps(self.SCHEMA)])
        self.assertEqual((done.status, done.result["value"]), (0, {"n": 42}), done)

    def test_a_schema_of_a_file(self):
        path = os.path.join(harness.make_dir(), "schema.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.SCHEMA, f, indent=1)
        done = plain("What is 6 times 7?", "{\"n\": 42}", options=["--no-grounded", "--check", "schema:" + path])
        self.assertEqual((done.status, done.out), (0, "{\"n\": 42}\n"), done)

    def test_a_schema_and_a_majority(self):
        done = best(3, "Go.", "forty-two", "forty-two", python("final_answer({'n': 6 * 7})"),
                    options=["--check", "schema:" + json.dumps(self.SCHEMA)])
        self.assertEqual((done.status, done.result["value"]), (0, {"n": 42}), done)
        self.assertEqual(chosen(done)[0]["why"], "check")

    def test_wrong_use(self):
        for check in ("", "python:", "schema:", "schema:{", "schema:/nonexistent", "shell: "):
            with self.subTest(check):
                done = plain("Go.", "Good.", options=["--check", check])
                self.assertEqual(done.status, 2, done)
                self.assertIn("check", done.err)
        self.assertEqual(plain("Go.", "Good.", options=["--best-of", "17"]).status, 2)
        self.assertEqual(plain("Go.", "Good.", options=["--best-of", "0"]).status, 2)


class Records(harness.Case):
    def test_a_run_is_replayed(self):
        """What the models said, in the order in which they were asked, gives the same run again."""
        lines = [python("x = 6 + 7\nx"), python("x = 6 * 7\nx"), python("x = 7 * 6\nx"),
                 python("final_answer(x)"), "It is 42.", python("final_answer(x)")]
        path = os.path.join(harness.make_dir(), "events.jsonl")
        done = best(3, "What is 6 times 7?", *lines, options=["--record", path])
        self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)
        rounds, said = [], []
        with open(path, encoding="utf-8") as f:
            for text in f:
                event = json.loads(text)
                if event["event"] == "candidates" and event["state"] == "asked":
                    rounds.append({})
                elif event["event"] == "candidate" and event["of"]["event"] == "model.message":
                    rounds[-1][event["candidate"]] = event["of"]["text"]
        for one in rounds:
            said += [one[i] for i in sorted(one)]
        self.assertEqual(said, [text.split("Output")[0] for text in lines])
        again = best(3, "What is 6 times 7?", *said)
        self.assertEqual(again.result["answer"], done.result["answer"])
        for a, b in zip(chosen(again), chosen(done)):
            for row in a["candidates"] + b["candidates"]:
                row.pop("number", None)  # which of two begins first, side by side, is chance
            self.assertEqual(a["candidates"], b["candidates"])


if __name__ == "__main__":
    harness.main()
