# SPDX-License-Identifier: Apache-2.0
"""llm_query() and llm_query_batched(): what code in a box asks a model, answered by the engine.

The model that works is a recording; the one that is asked is another, or a program of ours.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import model_server  # noqa: E402
import service  # noqa: E402
from test_agent import agent, line, python, script  # noqa: E402
from test_agent_inputs import text_file  # noqa: E402

IDENTITY = "user"

# A model that is asked: the body of a function of the prompt.
ASKED = """
import json, re, sys, time
q = json.load(sys.stdin)
system, prompt = [m["content"][0]["text"] for m in q["messages"]]
def answer():
{}
print(answer())
"""


def asked(body):
    fd = os.path.join(harness.make_dir(), "model.py")
    with open(fd, "w", encoding="utf-8") as f:
        f.write(ASKED.format("\n".join("    " + text for text in body.splitlines())))
    return f"exec:exec {sys.executable} {fd}"


def failures(code):
    """Code that shows what an exception says of itself."""
    return python(f"import retort\ntry:\n    print({code})\nexcept retort.ToolError as e:\n    print(type(e).__name__, '|', e)")


def book():
    """A text that no model reads at once, and the chapters in which somebody is seen at sea."""
    chapters, found = [], []
    for i in range(40):
        lines = [f"CHAPTER {i + 1}"] + [f"On day {n} nothing of note was written down about the harbour or its people." for n in range(100)]
        if i % 9 == 4:
            lines[60] = "The keeper rowed out alone before dawn, and was not seen again that week."
            found.append(i + 1)
        chapters.append("\n".join(lines))
    return "\n".join(chapters), found


class Tasks(harness.Case):
    def test_a_long_document(self):
        """Cut by code, each part read by a model, put together by code; no prompt has all of it."""
        text, found = book()
        reader = asked("context = prompt.split('<context>')[1]\n"
                       "assert len(prompt) < 20000 and 'fits this schema' in system\n"
                       "return json.dumps({'seen': 'rowed' in context, 'where': context.split()[1]})")
        done = agent(
            "In which chapters does somebody go out to sea?",
            line(python("import re\nchapters = re.split(r'(?m)^(?=CHAPTER )', context)[1:]\nlen(chapters), max(map(len, chapters))"),
                 expect=[f"context: {len(text)} characters", "llm_query_batched"], reject=["rowed", "harbour"]),
            line(python("schema = {'type': 'object', 'required': ['seen', 'where'],\n"
                        "          'properties': {'seen': {'type': 'boolean'}, 'where': {'type': 'string'}}}\n"
                        "answers = [llm_query('Does somebody go out to sea here?', c, schema) for c in chapters[:2]]\n"
                        "answers += llm_query_batched(['Does somebody go out to sea here?\\n<context>' + c for c in chapters[2:]], schema=schema)\n"
                        "seen = [int(a['where']) for a in answers if a['seen']]\nlen(answers), seen"),
                 expect_last=["(40, "], reject=["rowed"]),
            line(python("final_answer(seen)"), expect_last=[f"(40, {found})"], reject=["rowed", "harbour"]),
            options=["--context", text_file(text), "--query-model", reader])
        self.assertEqual((done.status, done.result["value"], done.result["grounded"]), (0, found, True), done)
        queries, usage = done.result["queries"], done.result["usage"]
        self.assertEqual((queries["count"], queries["failed"], queries["refused"]), (40, 0, 0))
        self.assertGreater(queries["usage"]["input"], len(text) // 4)
        # Of what the task cost, the model that works read next to nothing.
        self.assertLess(usage["input"] - queries["usage"]["input"], 5000)
        self.assertEqual(len([e for e in done.all("query") if e["state"] == "finished"]), 40)
        self.assertEqual(done.all("step.finished")[1]["result"]["tools"][0]["calls"], 40)

    def test_the_same_model_when_no_other_is_named(self):
        done = agent("Ask.",
                     line(python("llm_query('Which word?', 'the data')"), expect=["llm_query(prompt"]),
                     line("A word.", expect=["You answer one question"], expect_last=["Which word?\n\n<context>\nthe data\n</context>"],
                          reject=["llm_query(prompt", "Ask."]),
                     line("Done.", expect_last=["'A word.'"]),
                     options=["--max-queries", "1"])
        self.assertEqual((done.status, done.result["queries"]["count"]), (0, 1), done)

    def test_each_model_has_its_price(self):
        prices = text_file(json.dumps({"replay:*": {"input": 0, "output": 0}, "exec:*": {"input": 0, "output": 1000000}}))
        done = agent("Ask.", python("llm_query_batched(['1', '2'])"), "Done.",
                     options=["--max-queries", "2", "--prices", prices, "--query-model", asked("return 'four'")])
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.result["usage"]["cost_usd"], float(done.result["queries"]["usage"]["output"]))
        self.assertGreater(done.result["usage"]["cost_usd"], 0)

    def test_javascript(self):
        done = agent("Ask.",
                     line("```javascript\nconst many = await llm_query_batched(['1', '2', '3']);\n"
                          "final_answer([await llm_query('4'), ...many].join(' '))\n```", expect=["await llm_query(prompt"]),
                     options=["-r", "javascript", "--max-queries", "4", "--query-model", asked("return 'n' + prompt")])
        self.assertEqual((done.status, done.result["answer"]), (0, "n4 n1 n2 n3"), done)


class Limits(harness.Case):
    def test_they_are_there_when_they_are_wanted(self):
        path = text_file("x")
        for options, is_there in (([], False), (["--context", path], True), (["--context", path, "--max-queries", "0"], False),
                                  (["--max-queries", "3"], True)):
            with self.subTest(options=options):
                told = {"expect": ["llm_query("]} if is_there else {"reject": ["llm_query("]}
                done = agent("Ask.", line(failures("llm_query('What?')"), **told),
                             *(["Yes.", line("Done.", expect_last=["Yes."])] if is_there else
                               [line("Done.", expect_last=["ToolDenied | ", "this task may not ask a model"])]), options=options)
                self.assertEqual(done.status, 0, done)
                self.assertEqual("queries" in done.result, is_there)

    def test_more_than_there_are(self):
        done = agent("Ask.",
                     python("done = []\nfor i in range(20):\n    done.append(llm_query(str(i)))"),
                     line(python("final_answer(' '.join(done))"), expect_last=["ToolLimit", "all 5 queries are used up", "go on with what you have"]),
                     options=["--max-queries", "5", "--query-model", asked("return 'n' + prompt")])
        self.assertEqual((done.status, done.result["answer"]), (0, "n0 n1 n2 n3 n4"), done)
        self.assertEqual((done.result["queries"]["count"], done.result["queries"]["refused"]), (5, 1))

    def test_a_batch_of_more_than_there_are(self):
        done = agent("Ask.",
                     python("got = llm_query_batched([str(i) for i in range(70)], return_exceptions=True)\n"
                            "sum(isinstance(g, str) for g in got), type(got[-1]).__name__"),
                     line("Done.", expect_last=["(7, 'ToolLimit')"]),
                     options=["--max-queries", "7", "--query-model", asked("return 'n' + prompt")])
        self.assertEqual((done.status, done.result["queries"]["refused"]), (0, 63), done)

    def test_one_that_asks_without_an_end(self):
        done = agent("Ask.",
                     python("x = 1"),
                     python("import threading\n"
                            "def ask():\n"
                            "    while True:\n"
                            "        try:\n            llm_query('again')\n"
                            "        except Exception:\n            pass\n"
                            "for _ in range(20):\n    threading.Thread(target=ask, daemon=True).start()\nask()"),
                     line(python("final_answer(x)"), expect_last=["timeout", "rolled back"]),
                     options=["--max-queries", "10", "--timeout", "1s", "--query-model", asked("return 'yes'")])
        self.assertEqual((done.status, done.result["answer"], done.result["queries"]["count"]), (0, "1", 10), done)

    def test_the_task_s_tokens(self):
        usage = {"input": 900, "output": 100}
        done = agent("Ask.",
                     line(failures("[llm_query('a') for _ in range(50)]"), expect=["llm_query("]),
                     line("I have nothing.", expect_last=["Nothing more can be run"]),
                     options=["--max-queries", "50", "--max-tokens", "5000", "--query-model",
                              "replay:" + script({"times": 0, "reply": {"text": "yes", "usage": usage}})])
        self.assertEqual((done.status, done.result["spent"], done.result["answer"]), (8, "tokens", "I have nothing."), done)
        self.assertLessEqual(done.result["queries"]["count"], 5)
        self.assertIn("ToolLimit | ", done.seen[0])
        self.assertIn("tokens left, which is not enough", done.seen[0])

    def test_a_prompt_that_is_too_long(self):
        done = agent("Ask.", failures("llm_query('What?', context)"),
                     line("Done.", expect_last=["ToolLimit | ", "50005 bytes, the limit is 40000", "split the text"]),
                     options=["--context", text_file("x" * 50000), "--context-tokens", "10000", "--query-model", asked("return 'yes'")])
        self.assertEqual((done.status, done.result["queries"]["count"]), (0, 0), done)

    def test_what_is_no_question(self):
        for code, part in (("llm_query(5)", "ToolArgumentError"), ("llm_query('')", "a text is needed"),
                           ("llm_query('a', schema=5)", "schema"), ("llm_query('a\\0b')", "NUL")):
            with self.subTest(code=code):
                done = agent("Ask.", failures(code), line("Done.", expect_last=[part]), options=["--max-queries", "5"])
                self.assertEqual(done.status, 0, done)


class Failures(harness.Case):
    """A query that fails in each way: the code gets an exception, and goes on."""

    def ask(self, model, *parts, code="llm_query('What?')", options=()):
        done = agent("Ask.", failures(code), line("Done.", expect_last=list(parts)),
                     options=["--max-queries", "5", "--query-model", model, *options])
        self.assertEqual(done.status, 0, done)
        return done

    def test_each(self):
        for failure, parts in (
                ({"class": "auth"}, ("ToolError | ", "the key is missing or wrong")),
                ({"class": "billing"}, ("ToolError | ", "no money")),
                ({"class": "model"}, ("ToolError | ", "no such model")),
                ({"class": "context"}, ("ToolLimit | ", "smaller parts")),
                ({"class": "size"}, ("ToolLimit | ", "smaller parts")),
                ({"class": "untrusted"}, ("ToolLost | ", "certificate"))):
            with self.subTest(failure=failure):
                done = self.ask("replay:" + script({"failure": {**failure, "message": "at secret.example.org"}}), *parts)
                self.assertNotIn("secret.example.org", done.seen[0])
                (event,) = [e for e in done.all("query") if e["state"] == "finished"]
                self.assertIn("secret.example.org", event["message"])
                self.assertEqual(done.result["queries"]["failed"], 1)

    def test_what_passes_is_tried_again(self):
        model = "replay:" + script({"failure": {"class": "overloaded", "wait_ms": 1}}, "It is there.")
        self.ask(model, "It is there.")

    def test_answers_of_no_use(self):
        for reply, parts in (({"text": "I will not.", "stop": "refusal"}, ("ToolError | ", "refuses to answer: I will not.")),
                             ({"text": "half of", "stop": "length"}, ("ToolError | ", "was cut")),
                             ({"text": " "}, ("ToolError | ", "nothing"))):
            with self.subTest(reply=reply):
                self.ask("replay:" + script({"reply": reply}), *parts)

    def test_answers_that_do_not_fit(self):
        code = "llm_query('How many?', schema={'type': 'integer'})"
        self.ask("replay:" + script("Three."), "ToolError | ", "not JSON", code=code)
        self.ask("replay:" + script('"3"'), "ToolError | ", "does not fit the schema", code=code)
        self.ask("replay:" + script("3"), "3", code=code)

    def test_an_answer_without_an_end(self):
        self.ask(asked("return 'y' * 10_000_000"), "ToolLimit | ", "over 256 KiB")

    def test_a_program_that_fails(self):
        done = self.ask(asked("sys.exit('no licence at /opt/secret')"), "ToolLost | ", "the program that is the model failed")
        self.assertNotIn("/opt/secret", done.seen[0])
        self.assertIn("/opt/secret", json.dumps(done.all("query")))

    def test_bytes_that_are_no_text(self):
        self.ask(asked("sys.stdout.buffer.write(b'a\\xff\\x00b'); sys.exit()"), "a\ufffd\ufffdb")

    def test_one_of_a_batch(self):
        done = agent("Ask.",
                     python("got = llm_query_batched(['1', '2', '3'], return_exceptions=True)\n[str(g)[:40] for g in got]"),
                     line("Done.", expect_last=["['n1', 'the model cannot be asked", "'n3']"]),
                     options=["--max-queries", "5", "--query-model", asked("if prompt == '2': sys.exit(1)\nreturn 'n' + prompt")])
        self.assertEqual((done.status, done.result["queries"]["failed"]), (0, 1), done)

    def test_one_that_hangs_ends_with_the_step(self):
        """The task's time is up: the program that was asked is gone, too."""
        where = harness.make_dir()
        model = asked(f"import os\nopen({where!r} + '/pid', 'w').write(str(os.getpid()))\ntime.sleep(600)")
        done = agent("Ask.", python("llm_query('What?')"), "I have nothing.",
                     options=["--max-queries", "5", "--query-model", model, "--max-time", "2s"])
        self.assertEqual((done.status, done.result["answer"]), (8, "I have nothing."), done)
        self.assertEqual([e["state"] for e in done.all("query")], ["started", "cancelled"])
        with open(os.path.join(where, "pid"), encoding="utf-8") as f:
            pid = int(f.read())
        for _ in range(500):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.01)
        else:
            self.fail("the program is still there")

    def test_the_key_stays_outside(self):
        body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]}
        key = "sk-test-5e11f00dcafe"
        for answer, part in ((model_server.Answer(json.dumps(body).encode(), content_type="application/json"), None),
                             (model_server.Answer(json.dumps({"error": {"message": f"bad key {key}"}}).encode(), status=401,
                                                  content_type="application/json"), "the key is missing")):
            with self.subTest(part=part), model_server.Server(answer, answer) as server:
                lines = script(failures("[open('/proc/self/environ').read(), llm_query('What?')]"), "Done.")
                done = harness.retort("agent", "-M", "replay:" + lines, "--jsonl", "--max-queries", "2", "--query-model",
                                      f"{server.url}/v1#some", "Ask.", env={"RETORT_MODEL_KEY": key})
                self.assertEqual(done.status, 0, done)
                self.assertTrue(server.asked)
                self.assertNotIn("5e11f00dcafe", done.out + done.err)
                if part:
                    self.assertIn(part, done.out)


class Engine(harness.Case):
    def test_callers_do_not_choose_the_model(self):
        model = "replay:" + script(line(python("final_answer(llm_query('a'))")), "b", line("never"))
        with service.Engine("--model", model) as engine:
            with self.assertRaises(service.Refused) as refused:
                engine.call("agent.run", task="Go.", query_model="exec:/bin/true")
            self.assertEqual(refused.exception.code, "denied")
            self.assertIn("query_model", str(refused.exception))
            result = engine.call("agent.run", task="Go.", max_queries=1)
            self.assertEqual((result["answer"], result["queries"]["count"]), ("b", 1), result)

    def test_nobody_is_asked_again_when_a_session_is_made_anew(self):
        """An engine that has ended, and another of the same state: the answers are kept with the steps."""
        where, state = harness.make_dir(), harness.make_dir()
        model = asked(f"if system.startswith('You answer one question'):\n"
                      f"    open({where!r} + '/n', 'a').write('x')\n    return 'n' + prompt\n"
                      "return '<code>\\ngot = llm_query_batched([\"1\", \"2\", \"3\"])\\nfinal_answer(got)\\n</code>'")
        with service.Engine("--model", model, state=state) as engine:
            session = engine.session()
            result = engine.call("agent.run", session=session.id, task="Ask.", max_queries=3)
            self.assertEqual((result["status"], result["value"]), ("ok", ["n1", "n2", "n3"]), result)
        with service.Engine(state=state) as engine:
            record = engine.call("step.run", session=session.id, code="got")
            self.assertEqual((record["value"]["application/json"], record["state"]["outcome"]), (["n1", "n2", "n3"], "replayed"))
        with open(where + "/n", encoding="utf-8") as f:
            self.assertEqual(f.read(), "xxx")

    def test_a_session_that_no_agent_works_in(self):
        with service.Engine("--model", "replay:" + script("never asked")) as engine:
            record = engine.session().run("import retort\nretort.llm_query('a')")
            self.assertEqual(record["error"]["name"], "ToolDenied", record)


if __name__ == "__main__":
    harness.main()
