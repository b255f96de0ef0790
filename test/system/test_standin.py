# SPDX-License-Identifier: Apache-2.0
"""The wires against a model server by others (test/standin): all four dialects, and its chaos."""

import json
import os
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import boxes  # noqa: E402
import harness  # noqa: E402

IDENTITY = "user"
TOOL = boxes.find("tool-wire", *boxes.TOOLS)
NOT_HERE = 77
WIRES = ("openai", "openai-responses", "anthropic", "ollama")
CODE = "Thought: try \u20ac.\n```python\nprint(1/0)\n```\n"
FIXTURES = {"fixtures": [
    {"match": {"userMessage": "ZeroDivisionError"}, "response": {"content": "```python\nfinal_answer(42)\n```\n"}},
    {"match": {"userMessage": "weather"},
     "response": {"toolCalls": [{"name": "run_code", "arguments": json.dumps({"code": "1 + 1"})}]}},
    {"match": {"userMessage": "quick", "sequenceIndex": 0},
     "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
    {"match": {"userMessage": "quick"}, "response": {"content": "no hurry"}},
    {"match": {"userMessage": "busy"},
     "response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529}},
    {"match": {"userMessage": "divide"}, "response": {"content": CODE + "Output: 0\n"}},
]}


def text(role, words):
    return {"role": role, "content": [{"type": "text", "text": words}]}


class Standin:
    """One of them, with options of its own."""

    where = None

    @classmethod
    def install(cls):
        done = subprocess.run([os.path.join(harness.HERE, "standin", "install")], capture_output=True, text=True,
                              check=False, timeout=600)
        if done.returncode == NOT_HERE:
            raise unittest.SkipTest(f"no stand-in for a model server: {done.stderr.strip()}")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.where = done.stdout.strip()

    def __init__(self, *options):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.dir = harness.make_dir()
        path = os.path.join(self.dir, "fixtures.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(FIXTURES, f)
        argv = ["node", os.path.join(self.where, "node_modules/@copilotkit/aimock/dist/cli.js"), "-p", str(self.port),
                "-f", path, "--strict", "--log-level", "warn", *options]
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=self.dir)
        self.wait()

    def wait(self):
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    with open(self.log.name, encoding="utf-8") as f:
                        raise AssertionError(f"no stand-in: {f.read()}") from None
                time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def ask(self, wire, *messages, **options):
        """What became of it: the name of the last event, and the event."""
        argv = [TOOL, f"{wire}:m@http://127.0.0.1:{self.port}", *(f"{k}={v}" for k, v in options.items())]
        env = harness.environment({"OPENAI_API_KEY": "sk-standin", "ANTHROPIC_API_KEY": "sk-standin"})
        done = subprocess.run(argv, input=json.dumps({"messages": messages}) + "\n", capture_output=True, text=True,
                              check=False, env=env, timeout=harness.TIMEOUT_S)
        self.events = [json.loads(line) for line in done.stdout.splitlines()]
        last = self.events[-1]
        return ("done", last["done"]) if "done" in last else (last["failed"], last)


class StandinCase(harness.Case):
    @classmethod
    def setUpClass(cls):
        Standin.install()


class Dialects(StandinCase):
    def test_a_correction_in_all_dialects_a_character_at_a_time(self):
        with Standin("-c", "1") as server:
            for wire in WIRES:
                with self.subTest(wire):
                    task = text("user", "please divide")
                    what, reply = server.ask(wire, text("system", "Be brief."), task)
                    self.assertEqual((what, reply["text"], reply["stop"]), ("done", CODE + "Output: 0\n", "end"))
                    self.assertGreater(reply["usage"]["output"], 0)
                    # In pieces, but of text: whole characters.
                    pieces = [e["text"] for e in server.events if e.get("delta") == "text"]
                    self.assertEqual("".join(pieces), reply["text"])
                    self.assertGreater(len(pieces), 20)
                    what, reply = server.ask(wire, task, text("assistant", reply["text"]),
                                             text("user", "ZeroDivisionError"))
                    self.assertEqual((what, reply["text"]), ("done", "```python\nfinal_answer(42)\n```\n"))

    def test_the_first_block_is_enough(self):
        with Standin("-c", "3", "-l", "5") as server:
            for wire in WIRES:
                with self.subTest(wire):
                    what, reply = server.ask(wire, text("user", "please divide"), fence=1)
                    self.assertEqual((what, reply["text"].rstrip("\n"), reply["stop"]), ("done", CODE.rstrip("\n"), "stopped"))
                    self.assertTrue(reply["usage"]["estimated"])

    def test_tool_calls(self):
        with Standin("-c", "1") as server:
            for wire in WIRES:
                with self.subTest(wire):
                    what, reply = server.ask(wire, text("user", "weather"))
                    self.assertEqual((what, reply["stop"]), ("done", "tool"))
                    (call,) = reply["tool_calls"]
                    self.assertEqual((call["name"], json.loads(call["arguments"])), ("run_code", {"code": "1 + 1"}))
                    self.assertTrue(call["id"])

    def test_errors(self):
        for wire in WIRES:
            with self.subTest(wire), Standin() as server:
                what, reply = server.ask(wire, text("user", "quick"))
                self.assertEqual((what, reply.get("text")), ("done", "no hurry"))
                self.assertEqual([e["class"] for e in server.events if "wait" in e], ["rate"])
                what, failed = server.ask(wire, text("user", "busy"), tries=0)
                self.assertEqual((what, failed["status"]), ("overloaded", 529))
                what, failed = server.ask(wire, text("user", "nobody knows this"), tries=0)
                self.assertNotEqual(what, "done")


class Chaos(StandinCase):
    def each(self, option, allowed):
        with Standin("-c", "1", option, "1") as server:
            for wire in WIRES:
                with self.subTest(wire, option=option):
                    what, failed = server.ask(wire, text("user", "please divide"), tries=0)
                    self.assertIn(what, allowed)
                    self.assertEqual(failed["code"], "unreachable")

    def test_rate_limits(self):
        self.each("--chaos-ratelimit", ["rate"])

    def test_dropped_requests(self):
        self.each("--chaos-drop", ["server"])

    def test_disconnects(self):
        self.each("--chaos-disconnect", ["connection", "stream"])

    def test_malformed_answers(self):
        self.each("--chaos-malformed", ["stream"])

    def test_a_bad_day(self):
        """Every second request fails in some way; who asks often enough gets the answer, and only that."""
        chaos = ("--chaos-disconnect", "0.3", "--chaos-malformed", "0.3")
        with Standin("-c", "5", *chaos) as server:
            n_failed = 0
            for _ in range(8):
                what, reply = server.ask("openai", text("user", "please divide"), tries=0)
                n_failed += what != "done"
                if what == "done":
                    self.assertEqual(reply["text"], CODE + "Output: 0\n")
                else:
                    self.assertIn(what, ["connection", "stream"])
            what, reply = server.ask("openai", text("user", "please divide"), tries=40, restart=1)
            self.assertEqual((what, reply.get("text")), ("done", CODE + "Output: 0\n"))


if __name__ == "__main__":
    harness.main()
