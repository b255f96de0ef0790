# SPDX-License-Identifier: Apache-2.0
"""`retort agent --continue` and `--resume`: whatever ended a task, it goes on where it was."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import model_server  # noqa: E402
import service  # noqa: E402
from test_agent import Done, line, python, script  # noqa: E402

IDENTITY = "user"
DOWN = {"failure": {"class": "server", "message": "it is down", "wait_ms": 1}, "times": 0}
KEY = "sk-test-5e11f00dcafe"


class Kept(harness.Case):
    """Each with a state directory and a working directory of its own."""

    def setUp(self):
        self.where = harness.make_dir()
        self.state = harness.make_dir()

    def retort(self, *options, cwd=None, env=None, **more):
        done = harness.retort("agent", "--jsonl", *options, cwd=cwd or self.where,
                              env={"XDG_STATE_HOME": self.state, **(env or {})}, **more)
        done.__class__ = Done
        return done

    def begin(self, *lines, options=(), task="Go.", **more):
        return self.retort("-M", "replay:" + script(*lines), *options, "--", task, **more)

    def go_on(self, *lines, options=("--continue",), task=(), **more):
        return self.retort("-M", "replay:" + script(*lines), *options, *task, **more)

    def listed(self):
        done = harness.retort("agent", "--list", "--json", cwd=self.where, env={"XDG_STATE_HOME": self.state})
        self.assertEqual(done.status, 0, done)
        return done.json()["agents"]

    def path(self, *names):
        return os.path.join(self.state, "retort", "agents", self.listed()[0]["agent"], *names)

    def read(self):
        with open(self.path("agent.json"), encoding="utf-8") as f:
            return json.load(f)

    def write(self, agent):
        with open(self.path("agent.json"), "w", encoding="utf-8") as f:
            f.write(agent if isinstance(agent, str) else json.dumps(agent))

    def refused(self, status, *words, options=("--continue",), task=(), **more):
        done = self.go_on("never asked", options=options, task=task, **more)
        self.assertEqual(done.status, status, done)
        for word in words:
            self.assertIn(word, done.err)
        return done


class Resumed(Kept):
    def test_a_server_that_went_down(self):
        done = self.begin(python("x = 41\nprint('made', x)"), DOWN)
        self.assertEqual((done.status, done.result["status"]), (4, "error"), done)
        self.assertIn("--resume " + done.result["agent"], done.err)
        again = self.go_on(line(python("final_answer(x + 1)"),
                                expect=["Go.", "made 41"], expect_last=["goes on now", "rebuilt by running your "
                                                                                       "steps"]))
        self.assertEqual((again.status, again.result["answer"], again.result["steps"]), (0, "42", 2), again)
        self.assertEqual(again.result["agent"], done.result["agent"])
        self.assertEqual(again.all("agent.resumed")[0]["outcome"], "replayed")

    def test_budgets_go_on_and_what_was_used_up_begins_anew(self):
        self.begin(python("x = 1"), python("x += 1"), DOWN, options=["--max-steps", "3"])
        done = self.go_on(line(python("x += 1"), expect_last=["1 of 3 steps left"]), "Later.", DOWN)
        self.assertEqual((done.status, done.result["spent"], done.result["answer"]), (7, "steps", "Later."), done)
        done = self.go_on(line(python("final_answer(x)"), expect_last=["3 of 3 steps left"]))
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "3", 4), done)

    def test_limits_can_be_given_anew(self):
        self.begin(*[python(f"x = {i}") for i in range(3)], DOWN, options=["--max-steps", "3"])
        done = self.go_on(line(python("final_answer(x)"), expect_last=["9 of 9 steps left"]), options=["-c", "--max-steps", "9"])
        self.assertEqual((done.status, done.result["answer"]), (0, "2"), done)

    def test_more_is_asked(self):
        first = self.begin(python("x = 6 * 7\nfinal_answer(x)"), task="What is 6 times 7?")
        self.assertEqual(first.result["answer"], "42", first)
        self.refused(2, "the agent has already answered its task")
        done = self.go_on(line("And 84 is what it is twice: 84.", expect_last=["Twice?"], expect=["6 times 7"]),
                          line(python("final_answer(x * 2)"), expect_last=["not taken yet"]), task=["Twice?"])
        self.assertEqual((done.status, done.result["answer"]), (0, "84"), done)
        self.assertNotIn("interrupted here", json.dumps(self.read()["loop"]["dialog"]))

    def test_numbers_of_before_count(self):
        self.begin(python("print(91473.02)\n12345678901234567890"), DOWN)
        done = self.go_on("It is 91,473.02, or 12345678901234567890.")
        self.assertEqual((done.status, done.result["grounded"]), (0, True), done)

    def test_it_is_remembered_who_goes_in_circles(self):
        bad = python("import nothing_of_that_name")
        self.begin(bad, bad, DOWN)
        done = self.go_on(line(bad), line("No.", expect_last=["3 times"]))
        self.assertEqual(done.status, 0, done)

    def test_two_sides_speak_by_turns(self):
        with model_server.Server(model_server.sse({"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]}, "[DONE]")) as server:
            self.begin(python("x = 1"), DOWN)
            done = self.retort("-c", "-M", server.url + "/v1#m", "More.")
            roles = [m["role"] for m in server.asked[0].json()["messages"]]
        self.assertEqual((done.status, roles), (0, ["system", "user", "assistant", "user"]), done)

    def test_a_plot_is_still_seen(self):
        png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
        self.begin(python(f"import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode('{png}')\nP()"), DOWN)
        with model_server.Server(model_server.sse({"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]}, "[DONE]")) as server:
            done = self.retort("-c", "-M", server.url + "/v1#m")
            self.assertIn("image_url", json.dumps(server.asked[0].json()))
        self.assertEqual(done.status, 0, done)


class Killed(Kept):
    """By a signal that nobody can answer."""

    def start(self, *lines, model=None):
        process = subprocess.Popen(
            [harness.RETORT, "agent", "-M", model or "replay:" + script(*lines), "--jsonl", "--timeout", "10m", "Go."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=harness.environment({"XDG_STATE_HOME": self.state}), cwd=self.where)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def kill_at(self, process, name, **members):
        for text in process.stdout:
            event = json.loads(text)
            if event["event"] == name and all(event[k] == v for k, v in members.items()):
                break
        self.assertEqual(self.listed()[0]["status"], "running")
        process.kill()
        process.wait()
        # A program that is just being started holds the lock until it is.
        while self.listed()[0]["status"] == "running":
            pass
        self.assertEqual(self.listed()[0]["status"], "interrupted")

    def test_while_a_step_runs(self):
        process = self.start(python("x = 1"), python("x = 2\nprint('on', flush=True)\nimport time\ntime.sleep(600)"))
        self.kill_at(process, "stdout", text="on\n")
        done = self.go_on(line(python("final_answer(x)"), expect_last=["[step 2] It was interrupted", "rebuilt"]))
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "1", 3), done)

    def test_while_the_model_is_asked(self):
        turn = os.path.join(self.where, "turn")
        model = f"exec:if [ -e {turn} ]; then echo on >&2; sleep 600; else touch {turn}; printf '```python\\nx = 41\\n```\\n'; fi"
        process = self.start(model=model)
        self.kill_at(process, "observation")
        done = self.go_on(line(python("final_answer(x + 1)"), expect=["x = 41"]))
        self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)

    def test_after_the_step_and_before_its_end_was_written_down(self):
        self.begin(python("x = 41\nprint('made', x)"), DOWN)
        agent = self.read()
        loop = agent["loop"]
        while loop["dialog"][-1]["kind"] != "said":
            loop["dialog"].pop()
        loop.update(state="running", end="", next="")
        agent.update(head="", status="")
        self.write(agent)
        done = self.go_on(line(python("final_answer(x + 1)"), expect_last=["goes on now", "[step 1] ok", "made 41"]))
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "42", 2), done)

    def test_an_interrupt_is_no_loss(self):
        deaf = python("x = 1\nimport signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(600)")
        process = self.start(deaf)
        for text in process.stdout:
            event = json.loads(text)["event"]
            if event in ("stdout", "interrupt"):
                process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        done = self.go_on(line("Good.", expect_last=["goes on now", "[step 1] killed"]))
        self.assertEqual(done.status, 0, done)


class Honest(Kept):
    """What became of the session is said, to the model and to whoever watches."""

    def test_a_state_that_came_out_otherwise(self):
        self.begin(python("import time\nt = time.time_ns()\nt"), DOWN)
        done = self.go_on(line("Good.", expect_last=["it may differ", "check your variables"]))
        self.assertEqual((done.status, done.all("agent.resumed")[0]["outcome"]), (0, "diverged"), done)

    def test_a_session_that_is_gone(self):
        self.begin(python("x = 1"), DOWN)
        for name in os.listdir(self.path()):
            if name.startswith("journal"):
                os.unlink(self.path(name))
        done = self.go_on(line("Good.", expect_last=["The session is gone", "are lost"]))
        self.assertEqual((done.status, done.all("agent.resumed")[0]["outcome"]), (0, "lost"), done)


class Chosen(Kept):
    def test_the_last_one_of_this_directory(self):
        other = harness.make_dir()
        self.begin(python("x = 'here'"), DOWN)
        self.begin(python("x = 'there'"), DOWN, cwd=other)
        done = self.go_on(line(python("final_answer(x)")))
        self.assertEqual((done.status, done.result["answer"]), (0, "here"), done)
        self.refused(2, "no agent was run in", cwd=harness.make_dir())

    def test_one_that_is_named(self):
        first = self.begin(python("x = 1"), DOWN, task="The first.").result["agent"]
        self.begin(python("x = 2"), DOWN, task="The second.")
        self.assertEqual([a["task"] for a in self.listed()], ["The second.", "The first."])
        done = self.go_on(line(python("final_answer(x)")), options=["--resume", first[:6]])
        self.assertEqual((done.status, done.result["answer"], done.result["agent"]), (0, "1", first), done)
        self.refused(2, "no agent a-zzzz", "The second.", "The first.", options=["--resume", "a-zzzz"])
        self.refused(2, "no agent ../x", options=["--resume", "../x"])
        self.refused(2, "exclude", options=["-c", "--resume", first])

    def test_one_at_work(self):
        fifo = os.path.join(self.where, "fifo")
        os.mkfifo(fifo)
        process = subprocess.Popen([harness.RETORT, "agent", "-q", "-M", f"exec:cat {fifo}", "Go."], stdout=subprocess.PIPE, text=True,
                                   env=harness.environment({"XDG_STATE_HOME": self.state}), cwd=self.where, stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        with open(fifo, "w", encoding="utf-8") as f:  # the model is asked
            self.refused(1, "is running", options=["--resume", self.listed()[0]["agent"]])
            f.write("Done.")
        out, _ = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual((process.returncode, out), (0, "Done.\n"))
        self.assertEqual(self.listed()[0]["model"], "", "a program's words are not written down")

    def test_its_box_is_its_own(self):
        self.begin("Done.")
        for options in (["-m", "1g"], ["-v", "/etc/hostname:x"], ["-w", "."], ["-r", "shell"]):
            self.refused(2, "keeps its box", options=["-c", *options], task=["More."])

    def test_its_model_is_taken_again(self):
        self.begin(python("x = 1"), line("Done.", times=0), task="Go.")
        done = self.retort("-c", "More.", env={"RETORT_MODEL": ""})
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.result["model"], self.listed()[0]["model"])
        self.begin("Done.", cwd=self.where)
        agent = self.read()
        self.write({**agent, "model": ""})
        self.assertIn("does not name its model", self.retort("-c", "More.").err)

    def test_nothing_is_kept(self):
        done = self.begin(python("x = 1"), DOWN, options=["--no-journal"])
        self.assertNotIn("agent", done.result)
        self.assertEqual(os.listdir(self.state), [])
        self.refused(2, "--no-journal", options=["-c", "--no-journal"])
        # where nothing can be kept, work goes on, and that is said
        with open(os.path.join(self.state, "retort"), "w", encoding="utf-8"):
            pass
        done = self.begin("Done.")
        self.assertEqual((done.status, done.result["answer"]), (0, "Done."), done)
        self.assertIn("this task cannot be resumed later", done.err)

    def test_what_never_began_leaves_nothing(self):
        done = self.retort("-M", "anthropic:x", "Go.")
        self.assertEqual((done.status, os.listdir(os.path.join(self.state, "retort", "agents"))), (3, []), done)

    def test_the_newest_hundred_are_kept(self):
        agents = os.path.join(self.state, "retort", "agents")
        self.begin("Done.")
        first = self.listed()[0]["agent"]
        os.utime(os.path.join(agents, first, "agent.json"), (1, 1))
        for i in range(100):
            name = "a-" + "".join("abcdefghijklmnopqrstuvwxyz234567"[(i >> k) & 31] for k in (5, 0)) + "aaaaaaaa"
            shutil.copytree(os.path.join(agents, first), os.path.join(agents, name))
            os.utime(os.path.join(agents, name, "agent.json"), (2 + i, 2 + i))
        self.begin("Done.")
        names = os.listdir(agents)
        self.assertEqual(len(names), 100)
        self.assertNotIn(first, names)


class Damaged(Kept):
    def test_files_that_are_not_what_was_written(self):
        self.begin(python("x = 1"), DOWN)
        good = self.read()
        by_id = ["--resume", good["agent"]]

        def but(**loop):
            return {**good, "loop": {**good["loop"], **loop}}

        def without(name):
            return {**good, "loop": {k: v for k, v in good["loop"].items() if k != name}}

        bad = {
            "empty": "", "cut": json.dumps(good)[:-9], "no JSON": "hello", "a list": "[]", "deep": "[" * 100000,
            "no version": {k: v for k, v in good.items() if k != "version"},
            "no loop": {k: v for k, v in good.items() if k != "loop"},
            "state": but(state="dancing"), "dialog": but(dialog=[]), "kind": but(dialog=[{"kind": "x", "text": ""}] * 2),
            "order": but(dialog=good["loop"]["dialog"][1:]), "text": but(dialog=[{"kind": "system", "text": 1}] * 2),
            "count": but(input=-1), "steps": but(steps=1 << 40), "scale": but(scale_pct=0), "numbers": but(numbers="1 x "),
            "nan": but(numbers="nan "), "hash": but(exact=["12"]), "stuck": but(stuck=[[1, 2]]), "many": but(stuck=[["0" * 16, 1]] * 300),
            "budget": but(budget={"steps": {"limit": "x", "used": 1}}), "answer": but(answer=[1]), "misses": but(misses=[1]),
            "images": but(next_images=[{"mime": 1}]), "end": but(end="well"),
            **{"no " + name: without(name) for name in ("dialog", "next", "budget", "stuck", "numbers", "state", "steps", "replies")},
        }
        for name, what in bad.items():
            with self.subTest(name):
                self.write(what)
                done = self.go_on("never asked", options=by_id)
                self.assertEqual(done.status, 1, done)
                self.assertIn("is damaged", done.err)
        self.write({**good, "version": 99})
        self.refused(2, "version 99", options=by_id)
        self.write(but(version=99))
        self.refused(2, "version 99", options=by_id)
        self.write(good)
        self.assertEqual(self.go_on("Good.").status, 0, "it was only looked at")

    def test_a_damaged_one_is_listed(self):
        self.begin(python("x = 1"), DOWN)
        path = self.path("agent.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write("{")
        self.assertEqual(self.listed()[0]["status"], "damaged")
        self.assertIn("damaged", harness.retort("agent", "--list", env={"XDG_STATE_HOME": self.state}).out)

    def test_others_may_not_have_been_there(self):
        self.begin(python("x = 1"), DOWN)
        os.chmod(self.path(), 0o755)
        self.refused(2, "others may enter", options=["--resume", self.listed()[0]["agent"]])


class Private(Kept):
    def test_only_its_owner_can_read_it_and_no_key_is_in_it(self):
        answer = model_server.sse({"choices": [{"delta": {"content": python("x = 1")}, "finish_reason": "stop"}]}, "[DONE]")
        with model_server.Server(answer, model_server.error(401, {"error": {"message": f"bad key {KEY}"}})) as server:
            done = self.retort("-M", f"{server.url}/v1#m", "Go.", env={"RETORT_MODEL_KEY": KEY})
        self.assertEqual(done.status, 3, done)
        for name in os.listdir(self.path()):
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o777, 0o600, name)
            with open(self.path(name), "rb") as f:
                self.assertNotIn(b"5e11f00dcafe", f.read(), name)
        self.assertEqual(os.stat(self.path()).st_mode & 0o777, 0o700)

    def test_a_query_may_be_a_key(self):
        self.begin("Done.")
        with model_server.Server(model_server.sse({"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]}, "[DONE]")) as server:
            self.retort("-M", f"{server.url}/v1?key={KEY}#m", "Go.")
        with open(self.path("agent.json"), encoding="utf-8") as f:
            self.assertNotIn(KEY, f.read())


class BadInput(Kept):
    """Models that cannot be asked in the middle of a task: it is clear why, and the task goes on later."""

    CODE = python("x = 41\nx")

    def chat(self, text):
        return model_server.sse({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, "[DONE]")

    def check(self, bad, status, *words, env=None):
        """@bad: an answer to the second question."""
        with model_server.Server(self.chat(self.CODE), bad) as server:
            done = self.retort("-M", f"{server.url}/v1#m", "Go.", env={"RETORT_MODEL_KEY": KEY, **(env or {})})
        self.goes_on(done, status, *words)

    def goes_on(self, done, status, *words):
        self.assertEqual((done.status, done.result["status"], done.result["steps"]), (status, "error", 1), done)
        for word in words:
            self.assertIn(word, done.err)
        again = self.go_on(line(python("final_answer(x + 1)"), expect=["Go.", "41"]))
        self.assertEqual((again.status, again.result["answer"]), (0, "42"), again)

    def test_no_key(self):
        self.begin(self.CODE, DOWN)
        done = self.retort("-c", "-M", "anthropic:x")
        self.assertEqual(done.status, 3, done)
        self.assertIn("ANTHROPIC_API_KEY", done.err)
        self.assertEqual(self.go_on(line(python("final_answer(x)"))).result["answer"], "41")

    def test_a_wrong_key(self):
        self.check(model_server.error(401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}), 3, "key", "Incorrect")

    def test_an_unknown_model(self):
        self.check(model_server.error(404, {"error": {"message": "no such thing", "code": "model_not_found"}}), 2, "no such model")

    def test_more_than_it_can_read(self):
        self.check(model_server.error(400, {"error": {"message": "too long", "code": "context_length_exceeded"}}), 2, "longer than the model can read")

    def test_a_server_that_is_down(self):
        self.begin(self.CODE, DOWN)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            done = self.retort("-c", "-M", f"http://127.0.0.1:{taken.getsockname()[1]}/v1#m")
        self.goes_on(done, 4, "the connection failed")

    def test_a_stream_that_is_none(self):
        self.check(model_server.Answer(b"data: {\"choices\": [{\"delta\": {\"content\": \"I\n\n"), 4, "the response broke off or is malformed")

    def test_a_stream_that_always_breaks(self):
        whole = self.chat("It is what it is.").body
        self.check(model_server.Answer(whole[:len(whole) // 2], end="cut"), 4)


class Money(Kept):
    """Prices are the user's: none is known otherwise."""

    PRICES = {"replay:*": {"input": 1000, "cached": 100, "output": 0}}

    def prices(self, table):
        path = os.path.join(self.where, "prices.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(table if isinstance(table, str) else json.dumps(table))
        return ["--prices", path]

    def told(self, text, used, **more):
        return {"reply": {"text": text, "usage": used}, **more}

    def test_what_it_cost_is_told(self):
        used = {"input": 1000, "cached": 400, "output": 10}
        done = self.begin(self.told("Done.", used), options=self.prices({"replay:*": {"input": 1000, "cached": 100, "output": 5000}}))
        self.assertAlmostEqual(done.result["usage"]["cost_usd"], 0.6 + 0.04 + 0.05, msg=done)
        self.assertNotIn("cost_usd", self.begin(self.told("Done.", used)).result["usage"])

    def test_what_it_may_cost(self):
        used = {"input": 1000, "output": 0}
        done = self.begin(*[self.told(python(f"x = {i}"), used) for i in range(3)],
                          self.told("I have 2.", used, expect_last=["Nothing more can be run"]),
                          options=[*self.prices(self.PRICES), "--max-cost", "2.50"])
        self.assertEqual((done.status, done.result["spent"], done.result["answer"]), (8, "cost_usd", "I have 2."), done)
        self.assertAlmostEqual(done.result["usage"]["cost_usd"], 4)
        spent = [e for e in done.all("budget") if e["state"] == "spent"][0]
        self.assertEqual((spent["budget"], spent["limit"], spent["used"]), ("cost_usd", 2.5, 3.0))
        self.assertIn("1.5000 of 2.5000 USD left", done.seen[1] + json.dumps(self.read()["loop"]["dialog"]))
        # and it goes on with as much again, which counts with what it was before
        done = self.go_on(self.told(python("final_answer(x)"), used), options=["-c", *self.prices(self.PRICES)])
        self.assertEqual((done.status, done.result["answer"]), (0, "2"), done)
        self.assertAlmostEqual(done.result["usage"]["cost_usd"], 5)

    def test_the_configuration_has_them(self):
        config = harness.make_dir()
        os.mkdir(os.path.join(config, "retort"))
        with open(os.path.join(config, "retort", "config.json"), "w", encoding="utf-8") as f:
            json.dump({"prices": self.PRICES, "max-cost": "9"}, f)
        done = self.begin(self.told("Done.", {"input": 1000, "output": 0}), env={"XDG_CONFIG_HOME": config})
        self.assertAlmostEqual(done.result["usage"]["cost_usd"], 1.0, msg=done)

    def test_a_model_without_a_price(self):
        for options in ([], self.prices({"openai:*": {"input": 1, "output": 1}})):
            done = self.begin("never asked", options=["--max-cost", "1", *options])
            self.assertEqual(done.status, 2, done)
            self.assertIn("the price of replay:", done.err)
        self.assertEqual(os.listdir(os.path.join(self.state, "retort", "agents")), [])

    def test_what_is_no_price(self):
        for table in ("", "[]", "{", {"m": {"input": 1}}, {"m": {"input": -1, "output": 1}}):
            done = self.begin("never asked", options=self.prices(table))
            self.assertEqual(done.status, 2, done)
        self.assertEqual(self.begin("x", options=["--prices", "/nonexistent"]).status, 2)
        for sum_ in ("x", "0", "-1", "1e3", "1 USD", "nan"):
            self.assertEqual(self.begin("x", options=["--max-cost=" + sum_]).status, 2, sum_)


class Engine(harness.Case):
    """The same as an operation."""

    def test_what_it_may_cost(self):
        path = os.path.join(harness.make_dir(), "prices.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(Money.PRICES, f)
        used = {"input": 1000, "output": 0}
        lines = [{"reply": {"text": python("x = 1"), "usage": used}}, {"reply": {"text": "No.", "usage": used}}]
        with service.Engine("--model", "replay:" + script(*lines), "--prices", path) as engine:
            result = engine.call("agent.run", task="Go.", max_cost_usd=0.5)
            self.assertEqual((result["status"], result["spent"], result["usage"]["cost_usd"]), ("budget", "cost_usd", 2.0))

    def test_it_goes_on_in_its_session(self):
        state = tempfile.mkdtemp(dir=harness.TMP)
        os.rmdir(state)
        with service.Engine("--model", "replay:" + script(python("x = 41"), DOWN), state=state) as engine:
            engine.call("session.create", name="demo")
            first = engine.call("agent.run", session="demo", task="Go.")
            self.assertEqual((first["status"], first["error"]["code"]), ("error", "unreachable"))
            self.assertEqual([a["agent"] for a in engine.call("agent.list")["agents"]], [first["agent"]])
            with self.assertRaises(service.Refused) as refused:
                engine.call("agent.run", resume=first["agent"], session="demo")
            self.assertEqual(refused.exception.code, "usage")
            with self.assertRaises(service.Refused) as refused:
                engine.call("agent.run", resume="a-zzzz")
            self.assertEqual(refused.exception.code, "not_found")
            with self.assertRaises(service.Refused) as refused:
                engine.call("agent.run")
            self.assertEqual(refused.exception.code, "usage")
            # in the same engine: the session lives
            client = engine.connect()
            number = client.send("agent.run", resume=first["agent"], stream=True)
            events = []
            while True:
                message = json.loads(client.file.readline())
                if message.get("id") == number:
                    break
                events.append(message["params"])
            client.close()
            self.assertEqual([e.get("outcome") for e in events if e["event"] == "agent.resumed"], ["live"])
            self.assertEqual(message["result"]["status"], "error")
        with service.Engine("--model", "replay:" + script(python("final_answer(x + 1)")), state=state) as engine:
            result = engine.call("agent.run", resume=first["agent"])
            self.assertEqual((result["status"], result["answer"], result["agent"]), ("ok", "42", first["agent"]), result)

    def sessions(self, engine):
        return [s["session"] for s in engine.call("session.list")["sessions"]]

    def test_a_session_made_for_it_stays_until_it_is_done(self):
        answers = [python("x += 1"), DOWN]
        with service.Engine("--model", "replay:" + script(python("x = 40"), DOWN)) as engine:
            first = engine.call("agent.run", task="Go.")
            self.assertEqual((first["status"], self.sessions(engine)), ("error", [first["session"]]), first)
            about = engine.call("session.get", session=first["session"])
            self.assertEqual((about["state"], about["idle_ms"]), ("idle", 24 * 3600 * 1000))
            # what cannot go on takes nothing away
            with self.assertRaises(service.Refused):
                engine.call("agent.run", resume=first["agent"], check="schema:{")
            self.assertEqual(self.sessions(engine), [first["session"]])
            state = engine.dir + "/state"
        with service.Engine("--model", "replay:" + script(*answers), state=state) as engine:
            again = engine.call("agent.run", resume=first["agent"])
            self.assertEqual((again["status"], again["session"]), ("error", first["session"]), again)
        with service.Engine("--model", "replay:" + script(python("final_answer(x + 1)")), state=state) as engine:
            done = engine.call("agent.run", resume=first["agent"])
            self.assertEqual((done["status"], done["answer"], done.get("session")), ("ok", "42", None), done)
            self.assertEqual(self.sessions(engine), [])

    def test_a_session_of_one_that_is_done_is_gone(self):
        answers = [python("final_answer(6 * 7)"), line("Good.", expect_last=["The session is gone", "Twice?"])]
        with service.Engine("--model", "replay:" + script(answers[0])) as engine:
            first = engine.call("agent.run", task="Go.")
            self.assertEqual((first["status"], first.get("session"), self.sessions(engine)), ("ok", None, []), first)
            state = engine.dir + "/state"
        with service.Engine("--model", "replay:" + script(answers[1]), state=state) as engine:
            self.assertEqual(engine.call("agent.run", resume=first["agent"], task="Twice?")["answer"], "Good.")
            self.assertEqual(self.sessions(engine), [])

    def test_the_engine_says_how_long_it_stays(self):
        with service.Engine("--model", "replay:" + script(python("x = 1"), DOWN), "--session-idle", "7m") as engine:
            first = engine.call("agent.run", task="Go.")
            self.assertEqual(engine.call("session.get", session=first["session"])["idle_ms"], 7 * 60000)
            engine.call("session.close", session=first["session"])
            self.assertEqual(engine.call("agent.run", resume=first["agent"])["status"], "error")

    def test_no_room_for_a_session(self):
        with service.Engine("--model", "replay:" + script("never asked"), "--max-sessions", "1") as engine:
            engine.call("session.create")
            with self.assertRaises(service.Refused) as refused:
                engine.call("agent.run", task="Go.")
            self.assertEqual(refused.exception.code, "quota")
            self.assertEqual(engine.call("agent.list")["agents"], [])

    def test_without_a_state_directory_nothing_is_kept(self):
        path = harness.make_dir()
        model = "replay:" + script(python("x = 41"), "Done.")
        process = subprocess.Popen([harness.RETORT, "serve", "--socket", path + "/s", "--no-journal", "--model", model],
                                   env=harness.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        client = None
        while client is None:
            self.assertIsNone(process.poll())
            try:
                client = service.Client(path + "/s")
            except OSError:
                time.sleep(0.01)
        self.addCleanup(client.close)
        self.assertNotIn("agent", client.call("agent.run", task="Go."))
        with self.assertRaises(service.Refused) as refused:
            client.call("agent.run", resume="a-abcd")
        self.assertEqual(refused.exception.code, "not_found")


if __name__ == "__main__":
    harness.main()
