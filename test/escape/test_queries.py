# SPDX-License-Identifier: Apache-2.0
"""What code in a box cannot do with the model that it may ask: T-QUERY-KEY, T-QUERY-COST, T-QUERY-OTHERS."""

import json
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402
import service  # noqa: E402
from model_server import Answer, Server, error, sse  # noqa: E402

IDENTITY = "user"
KEY = "sk-test-5e11f00dcafe"


def script(*replies):
    fd, path = tempfile.mkstemp(dir=harness.TMP, suffix=".jsonl")
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        for reply in replies:
            f.write(json.dumps(reply if isinstance(reply, dict) else {"reply": {"text": reply}}) + "\n")
    return "replay:" + path


def python(code):
    return f"```python\n{code}\n```\n"


def look(code):
    return python(f"import os\ntry:\n    print({code})\nexcept Exception as e:\n    print(type(e).__name__, '|', e, '|', vars(e))")


class Key(harness.Case):
    def test_T_QUERY_KEY_is_in_no_answer_and_no_error(self):
        """The key, or the place of the model, is in what code is told; or in its box."""
        bad = {"error": {"message": f"Incorrect API key provided: {KEY} at 10.1.2.3", "code": KEY}}
        gather = ("[llm_query('a'), dict(os.environ), os.listdir('/proc/1') and open('/proc/self/cmdline').read(), "
                  "[open(f'/proc/{p}/environ').read() for p in os.listdir('/proc') if p.isdigit() and os.access(f'/proc/{p}/environ', os.R_OK)]]")
        fine = sse({"choices": [{"index": 0, "delta": {"content": "fine"}, "finish_reason": "stop"}]}, "[DONE]")
        for answer in (fine, error(401, bad), error(400, bad), error(404, {"error": f"no {KEY}"}), Answer(b"", 302, {"Location": KEY})):
            with self.subTest(status=answer.status), Server(answer) as server:
                done = harness.retort("agent", "-M", script(look(gather), "Done."), "--jsonl", "--max-queries", "2",
                                      "--query-model", f"{server.url}/v1#some", "Ask.", env={"RETORT_MODEL_KEY": KEY})
                self.assertEqual(done.status, 0, done)
                self.assertIn(KEY, str(server.asked[0].headers))
                self.assertNotIn(KEY, done.out + done.err)
                (seen,) = [json.loads(text) for text in done.out.splitlines() if '"event":"observation"' in text]
                self.assertNotIn(server.url.rpartition(":")[2], seen["text"].replace("12 ms", ""))
                self.assertNotIn("10.1.2.3", seen["text"])


class Cost(harness.Case):
    def test_T_QUERY_COST_has_an_end(self):
        """Code asks for ever, by threads that catch everything, with prompts that are as long as they can be."""
        code = ("import threading\ndef ask():\n    while True:\n        try:\n            llm_query('x' * 39000)\n"
                "        except BaseException:\n            pass\n"
                "for _ in range(40):\n    threading.Thread(target=ask, daemon=True).start()\nask()")
        usage = {"input": 10000, "output": 10}
        asked = script({"times": 0, "reply": {"text": "yes", "usage": usage}})
        for options, most in ((["--max-queries", "25"], 25), (["--max-queries", "1000", "--max-tokens", "150000"], 15)):
            with self.subTest(options=options):
                done = harness.retort("agent", "-M", script(python(code), {"times": 0, "reply": {"text": "Done."}}), "--json", *options,
                                      "--context-tokens", "10000", "--timeout", "1s", "--query-model", asked, "Ask.")
                queries = done.json()["queries"]
                self.assertLessEqual(queries["count"], most, done)
                self.assertGreater(queries["count"], 0)
                self.assertGreater(queries["refused"], 10)
                self.assertLessEqual(queries["usage"]["input"], most * 10000)


class Others(harness.Case):
    def test_T_QUERY_OTHERS_only_the_session_that_the_agent_works_in(self):
        """Code of another session asks a model while an agent is at work."""
        with service.Engine("--model", script(python("import time\nopen('on', 'w')\ntime.sleep(600)"), "Done.")) as engine:
            mine, other = engine.session(), engine.session()
            client = engine.connect()
            thread = threading.Thread(target=lambda: client.call("agent.run", session=mine.id, task="Go.", max_queries=9), daemon=True)
            thread.start()
            while not any(f["path"] == "on" for f in engine.call("file.list", session=mine.id)["files"]):
                pass
            for code in ("retort.llm_query('a')", "retort.llm_query('a', schema={'x': 1})"):
                record = other.run("import retort\n" + code)
                self.assertEqual(record["error"]["name"], "ToolDenied", record)
            engine.call("session.close", session=mine.id)
            thread.join(60)


if __name__ == "__main__":
    harness.main()
