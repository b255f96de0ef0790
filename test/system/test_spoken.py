# SPDX-License-Identifier: Apache-2.0
"""Models that speak otherwise than they are asked to, or do not see: what they mean is taken."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import model_server  # noqa: E402
from test_agent import Done, agent, line, python, script  # noqa: E402

IDENTITY = "user"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
PLOT = python(f"import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode('{PNG}')\nP()")


def call(name, arguments, text="I take a step."):
    arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"reply": {"text": text, "tool_calls": [{"name": name, "arguments": arguments}], "stop": "tool"}}


class Calls(harness.Case):
    def test_a_tool_that_is_code(self):
        done = agent("Go.", call("run_code", {"language": "python", "code": "x = 41\nprint('on')"}),
                     {**call("python", "x + 1"), "expect_last": ["on"], "expect": ["```python"]},
                     line("It is 42.", expect_last=["value: 42"]))
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, "It is 42.", 2), done)

    def test_a_tool_that_there_is_not(self):
        done = agent("Go.", call("web_search", {"query": "x"}),
                     {**call("run_code", {}), "expect_last": ["no such tool"]}, "I cannot.")
        self.assertEqual((done.status, done.result["steps"], done.result["replies"]), (0, 0, 3), done)

    def test_a_call_as_text(self):
        for text in ('{"language": "python", "code": "x = 6 * 7\\nfinal_answer(x)"}',
                     'Now:\nfunctions.run_code({"code": "x = 6 * 7\\nfinal_answer(x)"})\nOutput: 41',
                     '{"thought": "easy", "code": "x = 6 * 7\\nfinal_answer(x)"}'):
            with self.subTest(text):
                done = agent("Go.", text)
                self.assertEqual((done.status, done.result["answer"]), (0, "42"), done)

    def test_an_answer_that_is_json(self):
        done = agent("Which code?", '{"code": "DE"}')
        self.assertEqual((done.status, done.result["answer"], done.result["steps"]), (0, '{"code": "DE"}', 0), done)

    def test_half_of_a_call(self):
        done = agent("Go.", 'functions.run_code({"code": "f(', line("Good.", expect_last=["empty"]))
        self.assertEqual((done.status, done.result["steps"]), (0, 0), done)

    def test_over_each_wire(self):
        arguments = json.dumps({"code": "final_answer(6 * 7)"})
        chat = model_server.sse({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "run_code", "arguments": arguments}}]}}]},
                                {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]")
        anthropic = model_server.sse(
            ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "run_code", "input": {}}}),
            ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            ("message_delta", {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
            ("message_stop", {"type": "message_stop"}))
        ollama = model_server.lines({"message": {"content": "", "tool_calls": [{"function": {"name": "run_code", "arguments": json.loads(arguments)}}]}, "done": False},
                                    {"message": {"content": ""}, "done": True, "done_reason": "stop"})
        for wire, answer in (("openai:m@{}/v1", chat), ("anthropic:m@{}", anthropic), ("ollama:m@{}", ollama)):
            with self.subTest(wire), model_server.Server(answer) as server:
                done = harness.retort("agent", "-q", "-M", wire.format(server.url), "Go.", env={"OPENAI_API_KEY": "sk-k", "ANTHROPIC_API_KEY": "sk-k"})
                self.assertEqual((done.status, done.out), (0, "42\n"), done)


class Images(harness.Case):
    def chat(self, text):
        return model_server.sse({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, "[DONE]")

    def run_with(self, *answers, options=(), state=None):
        with model_server.Server(*answers) as server:
            done = harness.retort("agent", "--jsonl", "-M", f"{server.url}/v1#m", *options, env={"XDG_STATE_HOME": state or harness.make_dir()})
            done.__class__ = Done
            done.asked = [json.dumps(a.json()) for a in server.asked]
        return done

    def test_a_model_that_refuses_them(self):
        for status, message in ((400, "this model does not support image input"), (400, "invalid request"),
                                (404, "No endpoints found that support image input")):
            refusal = model_server.error(status, {"error": {"message": message}})
            with self.subTest(message):
                done = self.run_with(self.chat(PLOT), refusal, self.chat(PLOT), self.chat("Done."), options=["Go."])
                self.assertEqual((done.status, done.result["answer"]), (0, "Done."), done)
                self.assertEqual(["image_url" in a for a in done.asked], [False, True, False, False])
                self.assertIn("[1 image(s) left out", done.asked[2])
                self.assertEqual(done.asked[3].count("[1 image(s) left out"), 2)
                self.assertEqual(done.all("images")[0]["left_out"], 1)

    def test_what_it_refuses_besides_is_an_error(self):
        refusal = model_server.error(400, {"error": {"message": "invalid request"}})
        done = self.run_with(self.chat(PLOT), refusal, refusal, options=["Go."])
        self.assertEqual((done.status, len(done.asked)), (2, 3), done)
        done = self.run_with(self.chat(PLOT), self.chat(python("1")), refusal, options=["Go."])
        self.assertEqual((done.status, len(done.asked)), (2, 3), "it has read one")

    def test_it_can_be_said(self):
        done = self.run_with(self.chat(PLOT), self.chat("Done."), options=["--no-images", "Go."])
        self.assertEqual(done.status, 0, done)
        self.assertNotIn("image_url", done.asked[1])
        self.assertIn("[1 image(s) left out", done.asked[1])

    def test_it_is_remembered(self):
        state = harness.make_dir()
        refusal = model_server.error(400, {"error": {"message": "no image input"}})
        self.run_with(self.chat(PLOT), refusal, self.chat("Done."), options=["Go."], state=state)
        done = self.run_with(self.chat(PLOT), self.chat("Done."), options=["--continue", "More."], state=state)
        self.assertEqual(done.status, 0, done)
        self.assertFalse(any("image_url" in a for a in done.asked))


if __name__ == "__main__":
    harness.main()
