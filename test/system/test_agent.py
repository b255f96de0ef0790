# SPDX-License-Identifier: Apache-2.0
"""`retort agent`: whole tasks by scripted models, and models that do it wrong.

A model is a recording: what it answers, and what it must have been told by then.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import model_server  # noqa: E402
import service  # noqa: E402
import test_repl as repl  # noqa: E402

IDENTITY = "user"
ORDERS = os.path.join(harness.ROOT, "demo", "orders.csv")


def python(text):
    return f"I take one step.\n```python\n{text}\n```\n"


def line(text, **more):
    return {"reply": {"text": text}, **more}


def script(*lines):
    """A file that is a model: texts, or lines of a recording."""
    fd, path = tempfile.mkstemp(dir=harness.TMP, suffix=".jsonl")
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        for one in lines:
            f.write(json.dumps(line(one) if isinstance(one, str) else one) + "\n")
    return path


class Done(harness.Result):
    """A run with --jsonl."""

    @property
    def events(self):
        return [json.loads(text) for text in self.out.splitlines()]

    def all(self, name):
        return [e for e in self.events if e["event"] == name]

    @property
    def result(self):
        return self.events[-1]["result"]

    @property
    def seen(self):
        """What the model was shown, step by step."""
        return [e["text"] for e in self.all("observation")]


def agent(task, *lines, options=(), stdin=b"", **more):
    done = harness.retort("agent", "-M", "replay:" + script(*lines), "--jsonl", *options, "--", task, stdin=stdin, **more)
    done.__class__ = Done
    return done


def plain(task, *lines, options=(), **more):
    return harness.retort("agent", "-M", "replay:" + script(*lines), *options, "--", task, **more)


class Tasks(harness.Case):
    """Models that do it right."""

    def test_the_47_orders(self):
        margin = ("def amount(t):\n"
                  "    t = t.strip().replace(',', '').replace('$', '')\n"
                  "    return -float(t[1:-1]) if t.startswith('(') else float(t)\n"
                  "orders = [r for r in rows if r['order'].strip().isdigit()]\n"
                  "whole = [r for r in orders if r['cost'].strip()]\n"
                  "margins = [amount(r['revenue']) - amount(r['cost']) for r in whole]\n"
                  "len(orders), len(whole), sum(margins) / len(margins)")
        done = agent(
            "What is the average gross margin of the orders in orders.csv?",
            python("import csv\nrows = list(csv.DictReader(open('orders.csv', encoding='utf-8-sig')))\nlen(rows), rows[0], rows[-1]"),
            line(python(margin), expect_last=["Harbour Cafe", "(48, {"]),
            line("The average gross margin is 383.33 per order, over 46 of the 47 orders; one has no cost.",
                 expect_last=["(47, 46, 383.32"]),
            options=["-v", f"{ORDERS}:orders.csv"])
        self.assertEqual((done.status, done.result["status"], done.result["grounded"]), (0, "ok", True), done)
        self.assertIn("383.33", done.result["answer"])
        self.assertEqual(done.result["steps"], 2)

    def test_compound_interest(self):
        done = agent(
            "I put 500 a month into a fund for 10 years, at 8 % a year. What do I have?",
            python("total = 0\nfor month in range(10 * 12):\n    total = total * (1 + 0.08 / 12) + 500\nfinal_answer(round(total, 2))"))
        self.assertEqual((done.status, done.result["answer"], done.result["value"], done.result["grounded"]),
                         (0, "91473.02", 91473.02, True), done)

    def test_a_name_that_is_not_there_is_corrected(self):
        done = agent(
            "What is the square root of 1764?",
            python("import math\nmath.squrt(1764)"),
            line(python("final_answer(math.sqrt(1764))"), expect_last=["AttributeError", "squrt", "Hint: Print dir()"]))
        self.assertEqual((done.status, done.result["answer"]), (0, "42.0"), done)
        self.assertEqual([e["result"]["status"] for e in done.all("step.finished")], ["error", "ok"])

    @harness.needs_shell_or_sql
    def test_data_in_stages(self):
        """State goes from step to step, in each language; files are of all."""
        done = agent(
            "Which item sold most pieces?",
            "First the size.\n```bash\nwc -l orders.csv\n```",
            line(python("import csv\nrows = list(csv.DictReader(open('orders.csv', encoding='utf-8-sig')))\nsorted(rows[0])"),
                 expect_last=["49 orders.csv"]),
            line(python("from collections import Counter\nsold = Counter()\nfor r in rows:\n    if r['order'].strip().isdigit():\n"
                        "        sold[r['item']] += int(r['quantity'])\nopen('sold.txt', 'w').write(sold.most_common(1)[0][0])\nsum(sold.values())"),
                 expect_last=["'quantity'"]),
            line("```javascript\nfinal_answer(require('fs').readFileSync('sold.txt', 'utf8'))\n```",
                 expect_last=["sold.txt (created", "262"]),
            options=["-v", f"{ORDERS}:orders.csv"])
        self.assertEqual(done.status, 0, done)
        self.assertEqual([e["runtime"] for e in done.all("step.code")], ["shell", "python", "python", "javascript"])
        self.assertTrue(done.result["answer"].strip())

    @harness.needs_shell_or_sql
    def test_a_check_that_fails_is_an_observation(self):
        done = agent(
            "Write add.py with add(a, b).",
            python("open('add.py', 'w').write('def add(a, b): return 0\\n')"),
            "It is done.",
            line(python("open('add.py', 'w').write('def add(a, b): return a + b\\n')"),
                 expect_last=["was checked", "python3 -c", "AssertionError"]),
            "Now it is.",
            options=["--check", "python3 -c 'from add import add; assert add(1, 2) == 3'"])
        self.assertEqual((done.status, done.result["answer"]), (0, "Now it is."), done)
        self.assertEqual([e["passed"] for e in done.all("check")], [False, True])

    def test_a_check_that_goes_on_failing(self):
        done = agent("Make it so.", line("It is so.", times=0), options=["--check", "false", "--max-steps", "3"])
        self.assertEqual((done.status, done.result["status"]), (1, "check_failed"), done)

    def test_an_answer_without_code(self):
        done = plain("Say hello.", "Hello.")
        self.assertEqual((done.status, done.out, done.err), (0, "Hello.\n", ""))

    def test_what_is_piped_in_belongs_to_the_task(self):
        done = plain("How many words?", line("There are 3 words.", expect=["How many words?", "<stdin>\none two three"]),
                     options=["--no-grounded"], stdin=b"one two three")
        self.assertEqual((done.status, done.out), (0, "There are 3 words.\n"), done)
        done = plain("-", line("Good.", expect=["All of it"]), stdin=b"All of it")
        self.assertEqual((done.status, done.out), (0, "Good.\n"), done)

    def test_a_plot_is_seen(self):
        png = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        done = agent("Draw a dot.",
                     python(f"import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode('{png}')\nP()"),
                     "Done.")
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.all("observation")[0]["images"], 1, done)


class Grounded(harness.Case):
    """The number comes from the run."""

    def test_a_number_that_was_not_computed_comes_back(self):
        done = agent("What is the sum of the first hundred primes?",
                     "It is 24,132.",
                     line(python("ps = []\nn = 2\nwhile len(ps) < 100:\n    if all(n % p for p in ps): ps.append(n)\n    n += 1\nsum(ps)"),
                          expect_last=["24,132", "no output"]),
                     line("It is 24,133.", expect_last=["24133"]))
        self.assertEqual((done.status, done.result["answer"], done.result["grounded"]), (0, "It is 24,133.", True), done)

    def test_a_number_that_stays_is_marked(self):
        done = agent("What is it?", line("It is 24,132.", times=0))
        self.assertEqual((done.status, done.result["grounded"], done.result["ungrounded"]), (0, False, ["24,132"]), done)
        self.assertIn("retort: ungrounded: the answer contains 24,132, which no step printed", done.err)
        self.assertEqual(done.result["replies"], 2)

    def test_strict_is_an_exit_status(self):
        done = agent("What is it?", line("It is 24,132 or 7,001.", times=0), options=["--strict"])
        self.assertEqual((done.status, done.result["status"], done.result["grounded"]), (1, "ok", False), done)
        self.assertIn("the answer contains 24,132 and 7,001, which", done.err)
        done = agent("What is 6 times 7?", python("6 * 7"), "42.", options=["--strict"])
        self.assertEqual((done.status, done.result["grounded"]), (0, True), done)
        self.assertEqual(plain("Go.", "Good.", options=["--strict", "--no-grounded"]).status, 2)

    def test_an_answer_has_all_its_characters(self):
        done = plain("Go.", python("final_answer('a' + chr(0) + 'b')"), options=["--no-grounded"])
        self.assertEqual((done.status, done.out), (0, "a\u2400b\n"), done)

    def test_digits_in_the_code_are_not_computed(self):
        done = agent("What is it?", line(python("final_answer(91473.02)"), times=0))
        self.assertEqual((done.result["grounded"], done.result["ungrounded"]), (False, ["91473.02"]), done)

    def test_it_can_be_left_out(self):
        done = agent("What is it?", "It is 24,132.", options=["--no-grounded"])
        self.assertEqual((done.status, done.result["replies"]), (0, 1), done)
        self.assertNotIn("grounded", done.result)


class Wrong(harness.Case):
    """Models that do it wrong: each has an end, and a status that tells which."""

    def test_one_that_never_stops(self):
        lines = [python(f"x = {i}\nx") for i in range(4)]
        done = agent("Go on.", *lines, line("I have 3.", expect_last=["Nothing more can be run"]), options=["--max-steps", "4"])
        self.assertEqual((done.status, done.result["status"], done.result["answer"], done.result["steps"]),
                         (7, "steps", "I have 3.", 4), done)
        self.assertEqual([e["state"] for e in done.all("budget")], ["warning", "spent"])

    def test_one_that_goes_on_when_it_is_asked_to_answer(self):
        done = agent("Go on.", *[python(f"x = {i}\nx") for i in range(9)], options=["--max-steps", "2"])
        self.assertEqual((done.status, done.result["steps"]), (7, 2), done)
        self.assertNotIn("answer", done.result)

    def test_one_that_repeats_the_failing_code(self):
        bad = "import nothing_of_that_name"
        done = agent("Try.", python(bad), line(python(bad + "  # again"), expect_last=["Nothing can be installed"]),
                     line(python("\n" + bad), expect_last=["2 times", "change the approach"]),
                     line(python(bad), expect_last=["3 times", "two other ways"]), "never asked")
        self.assertEqual((done.status, done.result["status"], done.result["steps"]), (9, "stuck", 4), done)

    def test_one_that_fails_in_ever_new_ways(self):
        done = agent("Try.", *[python(f"1 / 0 + {i}") for i in range(5)],
                     line("I cannot do it.", expect_last=["Nothing more"]), "never asked")
        self.assertEqual((done.status, done.result["status"], done.result["spent"]), (9, "stuck", "failures"), done)

    def test_one_that_writes_three_blocks_and_invents_the_output(self):
        text = python("x = 6 * 7\nx") + "Output: 43\n" + python("y = x + 1\ny") + "Output: 44\n" + python("final_answer(44)")
        done = agent("What is 6 times 7?", line(text),
                     line(python("final_answer(x)"), expect_last=["42"], reject=["Output: 43", "y = x + 1"]))
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "42", 2), done)

    def test_the_stream_is_ended_behind_the_block(self):
        text = python("6 * 7") + "x" * 100000
        done = agent("What is 6 times 7?", line(text, chunk=5), "It is 42.")
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.all("model.message")[0]["stop"], "stopped")
        self.assertLess(sum(len(e["text"]) for e in done.all("model.delta")), 200)

    def test_one_that_prints_a_megabyte(self):
        done = agent("Print.", python("print('head'); print('y' * 1_000_000); print('tail')"), "Done.")
        self.assertEqual(done.status, 0, done)
        self.assertLess(len(done.seen[0]), 11000)
        for part in ("head", "tail", "characters cut"):
            self.assertIn(part, done.seen[0])

    def test_one_that_says_nothing(self):
        done = agent("Speak.", "", line(" \n", expect_last=["empty"]), "Good.")
        self.assertEqual((done.status, done.result["answer"]), (0, "Good."), done)
        done = agent("Speak.", line("", times=0))
        self.assertEqual((done.status, done.result["status"], done.result["replies"]), (1, "failed", 3), done)

    def test_a_step_that_takes_too_long(self):
        done = agent("Wait.", python("x = 1"), python("x = 2\nwhile True: pass"),
                     line(python("final_answer(x)"), expect_last=["timeout", "rolled back", "Hint"]), options=["--timeout", "1s"])
        self.assertEqual((done.status, done.result["answer"]), (0, "1"), done)

    def test_time_is_up(self):
        done = agent("Wait.", python("import time\ntime.sleep(600)"), "I have nothing.",
                     options=["--max-time", "2s", "--timeout", "10m"])
        self.assertEqual((done.status, done.result["status"], done.result["spent"], done.result["answer"]),
                         (8, "budget", "wall_ms", "I have nothing."), done)

    def test_tokens_are_up(self):
        done = agent("Go on.", *[python(f"x = {i}\nx") for i in range(9)], options=["--max-tokens", "2000"])
        self.assertEqual((done.status, done.result["spent"]), (8, "tokens"), done)

    def test_a_process_that_ends_itself(self):
        done = agent("Go.", python("x = 5"), python("import os\nos._exit(3)"), line(python("final_answer(x)"), expect_last=["rolled back"]))
        self.assertEqual((done.status, done.result["answer"]), (0, "5"), done)

    def test_the_network_is_explained(self):
        done = agent("Fetch.", python("import urllib.request\nurllib.request.urlopen('http://example.org')"),
                     line("There is none.", expect_last=["There is no network here"]))
        self.assertEqual(done.status, 0, done)

    def test_a_reply_that_was_cut_is_not_run(self):
        cut = {"reply": {"text": "```python\nx = 1\nprint('unfin", "stop": "length"}}
        done = agent("Go.", cut, line("Good.", expect_last=["was cut"]))
        self.assertEqual((done.status, done.result["steps"]), (0, 0), done)

    def test_an_answer_that_was_cut_is_not_taken(self):
        cut = {"reply": {"text": "The reasons are: first, that", "stop": "length"}}
        done = agent("Why?", cut, line("It is so.", expect_last=["was cut", "shorter"]))
        self.assertEqual((done.status, done.result["answer"]), (0, "It is so."), done)

    def test_a_model_that_floods(self):
        """A line without end is read up to a limit, and is no answer."""
        path = os.path.join(harness.make_dir(), "flood")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ncat >/dev/null\nexec cat /dev/zero\n")
        os.chmod(path, 0o755)
        done = harness.retort("agent", "-M", f"exec:{path}", "--json", "Why?")
        self.assertEqual((done.status, done.json()["status"], done.json()["steps"]), (9, "stuck", 0), done)

    def test_long_runs_are_shortened(self):
        lines = [python(f"print('row {i}', 'z' * 6000)") for i in range(12)]
        done = agent("Look.", *lines, line("Done.", expect=["Look.", "row 11", "left out later"], reject=["row 0 zzz"]),
                     options=["--context-tokens", "10000"])
        self.assertEqual(done.status, 0, done)
        self.assertTrue(done.all("compacted"))


class Wires(harness.Case):
    """The same with a server, and with a stream that breaks in each phase."""

    CODE = python("x = 6 * 7\nx")

    def chat(self, text, cut_at=None):
        events = [{"choices": [{"index": 0, "delta": {"content": text[i:i + 7]}}]} for i in range(0, len(text), 7)]
        events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        whole = model_server.sse(*events, {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}}, "[DONE]")
        return whole if cut_at is None else model_server.Answer(whole.body[:cut_at], end="cut")

    def ask(self, *answers, options=()):
        with model_server.Server(*answers) as server:
            done = harness.retort("agent", "--jsonl", "-M", f"{server.url}/v1#some", *options, "What is 6 times 7?",
                                  env={"RETORT_MODEL_KEY": "sk-test-5e11f00dcafe"})
            done.__class__ = Done
            done.asked = [a.json() for a in server.asked]
        self.assertNotIn("5e11f00dcafe", done.out + done.err)
        return done

    def test_a_server_s_model(self):
        done = self.ask(self.chat(self.CODE), self.chat("It is 42."))
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "It is 42.", 1), done)
        roles = [m["role"] for m in done.asked[1]["messages"]]
        self.assertEqual(roles, ["system", "user", "assistant", "user"])
        self.assertIn("42", json.dumps(done.asked[1]["messages"][3]))
        self.assertNotIn("temperature", done.asked[0])

    def test_a_stream_that_breaks(self):
        n = len(self.chat(self.CODE).body)
        for cut in (0, 20, n // 4, n // 2):
            with self.subTest(cut=cut):
                done = self.ask(self.chat(self.CODE, cut), self.chat(self.CODE), self.chat("It is 42."))
                self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "It is 42.", 1), done)
                self.assertEqual(len(done.asked), 3)
                self.assertEqual(done.asked[0], done.asked[1], "it was asked the same again")


class Coding(harness.Case):
    @harness.needs_shell_or_sql
    def test_a_test_suite_fails_and_then_passes(self):
        where = harness.make_dir()
        with open(os.path.join(where, "stack.py"), "w", encoding="utf-8") as f:
            f.write("class Stack:\n    def __init__(self):\n        self.items = []\n\n    def pop(self):\n        return self.items.pop(0)\n")
        with open(os.path.join(where, "test_stack.py"), "w", encoding="utf-8") as f:
            f.write("import unittest\nfrom stack import Stack\n\nclass T(unittest.TestCase):\n    def test_pop(self):\n"
                    "        s = Stack()\n        s.items = [1, 2]\n        self.assertEqual(s.pop(), 2)\n")
        suite = "python3 -B -m unittest -q"
        done = agent("Make the tests pass.",
                     f"I run them.\n```bash\n{suite}\n```",
                     line(python("text = open('stack.py').read()\nprint(text)"), expect_last=["AssertionError: 1 != 2"]),
                     line(python("open('stack.py', 'w').write(text.replace('pop(0)', 'pop()'))"), expect_last=["pop(0)"]),
                     line(f"```bash\n{suite}\n```", expect_last=["stack.py (modified"]),
                     line("The tests pass.", expect_last=["ok: shell"]),
                     options=["-w", where, "--check", suite])
        self.assertEqual((done.status, done.result["answer"]), (0, "The tests pass."), done)
        with open(os.path.join(where, "stack.py"), encoding="utf-8") as f:
            self.assertIn("pop()", f.read())


class Failures(harness.Case):
    """Models that cannot be asked."""

    def test_statuses(self):
        rows = {"auth": 3, "model": 2, "context": 2, "untrusted": 4}
        for name, status in rows.items():
            failure = {"failure": {"class": name, "message": "no"}, "times": 0}
            with self.subTest(failure=name):
                done = agent("Go.", failure)
                self.assertEqual((done.status, done.result["status"]), (status, "error"), done)
                self.assertIn("retort: ", done.err)

    def test_what_passes_is_tried_again(self):
        done = agent("Go.", {"failure": {"class": "rate", "wait_ms": 1}}, "Good.")
        self.assertEqual((done.status, done.result["answer"]), (0, "Good."), done)
        self.assertEqual(done.all("model.wait")[0]["why"], "rate")

    def test_what_does_not_pass(self):
        done = agent("Go.", {"failure": {"class": "server", "wait_ms": 1}, "times": 0})
        self.assertEqual((done.status, done.result["status"]), (4, "error"), done)

    def test_wrong_use(self):
        self.assertEqual(harness.retort("agent", "Go.").status, 2)
        self.assertEqual(plain("", "Good.").status, 2)
        self.assertEqual(harness.retort("agent", "-M", "nothing", "Go.").status, 2)
        self.assertEqual(harness.retort("agent", "-M", "replay:/nonexistent", "Go.").status, 2)
        self.assertEqual(plain("Go.", "Good.", options=["--json", "--jsonl"]).status, 2)
        done = harness.retort("agent", "-M", "anthropic:x", "Go.")
        self.assertEqual(done.status, 3, done)
        self.assertIn("ANTHROPIC_API_KEY", done.err)
        for env, said in (({}, "no model: name a model"), ({"OPENAI_API_KEY": "k"}, "OPENAI_API_KEY is set, so name a model, as in --model openai:gpt-5.5"),
                          ({"ANTHROPIC_API_KEY": "k"}, "ANTHROPIC_API_KEY is set, so name a model, as in --model anthropic:claude-")):
            done = harness.retort("agent", "Go.", env=env)
            self.assertEqual(done.status, 2, done)
            self.assertIn(said, done.err)

    def test_a_key_that_is_not_taken_is_named(self):
        refused = model_server.error(401, {"error": {"message": "no", "type": "authentication_error"}})
        key = os.path.join(harness.make_dir(), "key")
        with open(key, "w", encoding="utf-8") as f:
            f.write("sk-file")
        os.chmod(key, 0o600)
        with model_server.Server(*[refused] * 4) as server:
            rows = (([f"{server.url}/v1#x"], {}, "set RETORT_MODEL_KEY in the environment"),
                    ([f"{server.url}/v1#x"], {"RETORT_MODEL_KEY": "sk-mine"}, "check the key in RETORT_MODEL_KEY"),
                    ([f"openai:x@{server.url}/v1"], {"OPENAI_API_KEY": "sk-mine"}, "check the key in OPENAI_API_KEY"),
                    ([f"openai:x@{server.url}/v1", "--key-file", key], {}, "check the key in the file of --key-file"))
            for model, env, said in rows:
                with self.subTest(said=said):
                    done = harness.retort("agent", "-M", *model, "Go.", env=env)
                    self.assertEqual(done.status, 3, done)
                    self.assertIn(said, done.err)

    def test_what_is_wrong_is_called_as_it_was_typed(self):
        rows = {
            ("--max-cost", "1"): "--max-cost: the price of",
            ("--check", ""): "--check: empty",
            ("--query-model", "nothing"): "--query-model: model: 'nothing'",
            ("--tools", "/nonexistent"): "--tools: /nonexistent: No such",
            ("-M", "nothing"): "--model: 'nothing' names no known provider",
            ("-M", "replay:/nonexistent"): "the recording /nonexistent: No such file or directory\n",
            ("-M", "anthropic:x", "--key-file", "/nonexistent"): "the key file /nonexistent: No such file or directory\n",
        }
        for options, said in rows.items():
            with self.subTest(options=options):
                done = plain("Go.", "Good.", options=options)
                self.assertEqual(done.status, 2, done)
                self.assertIn("retort: " + said, done.err)

    def test_a_task_that_is_too_long(self):
        for task in ("-", "Go."):
            done = harness.retort("agent", "-M", "replay:" + script("Good."), task, stdin=b"a" * (1 << 21))
            self.assertEqual((done.status, done.out), (2, ""), done)
            self.assertIn("standard input is over 1024 KiB: put long text into a file: --context FILE", done.err)

    def test_a_task_without_quotes(self):
        """Of which only the first word would be done."""
        done = harness.retort("agent", "-M", "replay:" + script("Good."), "What", "is", "it?")
        self.assertEqual((done.status, done.out), (2, ""), done)
        self.assertIn('unexpected "is": put the task in quotes', done.err)

    def test_the_key_is_in_no_box_and_no_event(self):
        env = {"OPENAI_API_KEY": "sk-test-5e11f00dcafe"}
        done = agent("Look.", python("import os\nprint(dict(os.environ), open('/proc/1/environ').read() if os.access('/proc/1/environ', 4) else '')"),
                     "Done.", env=env)
        self.assertEqual(done.status, 0, done)
        self.assertNotIn("5e11f00dcafe", done.out + done.err)


class Interrupts(harness.Case):
    def start(self, *lines):
        process = subprocess.Popen(
            [harness.RETORT, "agent", "-M", "replay:" + script(*lines), "--jsonl", "--timeout", "10m", "Go."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=harness.environment(), cwd=harness.TMP)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, process, name, **members):
        for text in process.stdout:
            event = json.loads(text)
            if event["event"] == name and all(event[k] == v for k, v in members.items()):
                return event
        self.fail(f"no {name}: {process.stderr.read()}")

    SLEEP = python("import time\nprint('on', flush=True)\ntime.sleep(600)")

    def test_the_first_stops_the_step(self):
        process = self.start(self.SLEEP, line("It was stopped.", expect_last=["nterrupted"]))
        self.wait_for(process, "stdout", text="on\n")
        process.send_signal(signal.SIGINT)
        result = self.wait_for(process, "agent.finished")["result"]
        self.assertEqual((process.wait(), result["answer"]), (0, "It was stopped."))

    def test_the_second_ends_all(self):
        deaf = python("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(600)")
        process = self.start(deaf, "never asked")
        self.wait_for(process, "stdout", text="on\n")
        process.send_signal(signal.SIGINT)
        self.wait_for(process, "interrupt", times=1, ends=False)
        process.send_signal(signal.SIGINT)
        result = self.wait_for(process, "agent.finished")["result"]
        self.assertEqual((process.wait(), result["status"]), (130, "interrupted"))

    def test_ctrl_c_at_a_terminal(self):
        """The view says what is stopped, and what another one would do."""
        deaf = python("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('rea' + 'dy', flush=True)\ntime.sleep(600)")
        t = repl.Terminal(command=["agent", "-M", "replay:" + script(deaf), "--timeout", "10m", "Go."])
        t.wait("ready\r\n")
        t.type("\x03")
        t.wait("the step is stopped; Ctrl-C again ends the task")
        t.type("\x03")
        t.wait("the task is stopped")
        t.wait("1 step, ")
        self.assertEqual(t.end(), 130)
        asked = os.path.join(harness.make_dir(), "asked")
        t = repl.Terminal(command=["agent", "-M", f"exec:echo > {asked}; exec sleep 600", "Go."])
        while not os.path.exists(asked):
            self.assertTrue(t.read(0.01), t.out)
        t.type("\x03")
        self.assertNotIn("again", t.wait("the task is stopped"))
        self.assertEqual(t.end(), 130)

    def test_plain_at_a_terminal_is_the_answer(self):
        t = repl.Terminal(command=["agent", "-p", "-M", "replay:" + script(python("final_answer(6 * 7)")), "Go."])
        t.wait("42\r\n")
        self.assertEqual((t.end(), t.out), (0, b""))

    def test_a_terminal_shows_who_is_asked_and_an_answer_once(self):
        said = script(python("print(6 * 7)"), "The answer is 42.\n")
        t = repl.Terminal(command=["agent", "-M", "replay:" + said, "Go."])
        self.assertIn("── asking replay:", t.wait("step 1"))
        out = t.wait("1 step, ")
        self.assertEqual(t.end(), 0)
        self.assertEqual((out + t.out.decode()).count("The answer is 42."), 1, out)
        computed = script("It is coming.\n" + python("final_answer('forty' + '-two')"))
        t = repl.Terminal(command=["agent", "-M", "replay:" + computed, "Go."])
        t.wait("1 step, ")
        t.wait("forty-two\r\n")
        self.assertEqual(t.end(), 0)

    def test_sigterm_ends_all(self):
        process = self.start(self.SLEEP, "never asked")
        self.wait_for(process, "stdout", text="on\n")
        process.send_signal(signal.SIGTERM)
        result = self.wait_for(process, "agent.finished")["result"]
        self.assertEqual((process.wait(), result["status"], result["replies"]), (130, "interrupted", 1))

    def test_a_model_that_is_waited_for(self):
        process = subprocess.Popen(
            [harness.RETORT, "agent", "-M", "exec:sleep 600", "--record", "/dev/stderr", "Go."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=harness.environment(), cwd=harness.TMP)
        self.addCleanup(process.kill)
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        while not self.sleeping(children):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 130, err)

    def sleeping(self, children):
        with open(children, encoding="utf-8") as f:
            for pid in f.read().split():
                try:
                    # By its name: until it has become the shell, it has our command line.
                    with open(f"/proc/{pid}/comm", encoding="utf-8") as c:
                        if c.read().strip() in ("sh", "dash", "bash", "sleep"):
                            return True
                except OSError:
                    pass
        return False


class Records(harness.Case):
    def test_events_are_written_down(self):
        path = os.path.join(harness.make_dir(), "events.jsonl")
        done = plain("What is 6 times 7?", python("final_answer(6 * 7)"), options=["--record", path])
        self.assertEqual((done.status, done.out), (0, "42\n"), done)
        with open(path, encoding="utf-8") as f:
            names = [json.loads(text)["event"] for text in f]
        self.assertEqual((names[-1], names.count("step.finished")), ("agent.finished", 1))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_one_object(self):
        done = plain("What is 6 times 7?", python("final_answer({'product': 6 * 7})"), options=["--json"])
        self.assertEqual((done.status, done.json()["value"]), (0, {"product": 42}), done)


class Engine(harness.Case):
    """The same as an operation."""

    def test_events_are_streamed(self):
        model = "replay:" + script(python("print('on')"), "Done.")
        with service.Engine("--model", model) as engine:
            number = engine.client.send("agent.run", task="Go.", stream=True)
            names = []
            while True:
                message = json.loads(engine.client.file.readline())
                if message.get("id") == number:
                    break
                names.append(message["params"]["event"])
            self.assertEqual(message["result"]["answer"], "Done.")
            wanted = ["model.message", "step.code", "step.started", "stdout", "step.finished", "observation", "answer"]
            self.assertEqual([n for n in names if n in wanted], [*wanted[:-1], "model.message", "answer"])

    def test_a_client_that_leaves_ends_it(self):
        model = "replay:" + script(python("import time\nprint('on', flush=True)\ntime.sleep(600)"), "Done.")
        with service.Engine("--model", model) as engine:
            engine.call("session.create", name="demo")
            client = engine.connect()
            client.send("agent.run", task="Go.", session="demo", stream=True)
            while b'"on' not in client.file.readline():
                pass
            client.file.close()
            client.sock.close()
            record = engine.call("step.run", session="demo", code="1", timeout_ms=60000)
            self.assertEqual(record["status"], "ok", "the session is free again")

    def test_it_is_refused_without_a_model(self):
        with service.Engine() as engine:
            for params in ({}, {"model": "exec:/bin/true"}):
                with self.assertRaises(service.Refused) as refused:
                    engine.call("agent.run", task="Go.", **params)
                self.assertEqual(refused.exception.code, "denied")

    def test_the_engine_s_own_model(self):
        model = "replay:" + script(line(python("final_answer(x + 1)"), times=0))
        with service.Engine("--model", model) as engine:
            engine.call("session.create", name="demo")
            engine.call("step.run", session="demo", code="x = 41")
            result = engine.call("agent.run", session="demo", task="Add one.")
            self.assertEqual((result["status"], result["answer"]), ("ok", "42"), result)
            with self.assertRaises(service.Refused) as refused:
                engine.call("agent.run", task="Go.", model="exec:/bin/true")
            self.assertEqual(refused.exception.code, "denied")
            n = len(engine.call("session.list")["sessions"])
            result = engine.call("agent.run", task="Add one.", max_steps=1)
            self.assertEqual(result["status"], "steps", "x is of the other session")
            engine.call("session.close", session=result["session"])  # which it could go on with
            result = engine.call("agent.run", session="demo", task="Add one.")
            self.assertEqual((result["status"], len(engine.call("session.list")["sessions"])), ("ok", n))


if __name__ == "__main__":
    harness.main()
