# SPDX-License-Identifier: Apache-2.0
"""Models, and who may name them: T-AGENT-MODEL, T-AGENT-TERMINAL, T-AGENT-FLOOD, T-AGENT-TRIAL."""

import json
import os
import pty
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402
import service  # noqa: E402
import test_gate  # noqa: E402

IDENTITY = "user"


def script(*replies):
    fd, path = tempfile.mkstemp(dir=harness.TMP, suffix=".jsonl")
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        for reply in replies:
            f.write(json.dumps({"reply": {"text": reply}}) + "\n")
    return path


class Model(harness.Case):
    def test_T_AGENT_MODEL_a_caller_names_no_program(self):
        """A caller of an engine starts a program of the host by naming it as a model."""
        trace = os.path.join(harness.make_dir(), "trace")
        recording = "replay:" + script("Good.")
        for options in ((), ("--model", recording)):
            with service.Engine(*options) as engine:
                with self.assertRaises(service.Refused) as refused:
                    engine.call("agent.run", task="Go.", model=f"exec:touch {trace}")
                self.assertEqual(refused.exception.code, "denied")
                self.assertEqual(engine.call("session.list")["sessions"], [])
        self.assertFalse(os.path.exists(trace))
        # What was refused does work where it is allowed.
        harness.retort("agent", "-M", f"exec:touch {trace}; echo Good.", "Go.")
        self.assertTrue(os.path.exists(trace))


class Terminal(harness.Case):
    def shown(self, *replies):
        master, slave = pty.openpty()
        process = subprocess.Popen([harness.RETORT, "agent", "-M", "replay:" + script(*replies), "Go."], stdin=subprocess.DEVNULL,
                                   stdout=slave, stderr=slave, env=harness.environment({"NO_COLOR": "1"}), cwd=harness.TMP)
        os.close(slave)
        out = b""
        try:
            while part := os.read(master, 65536):
                out += part
        except OSError:
            pass
        os.close(master)
        self.assertEqual(process.wait(), 0, out)
        return out

    def test_T_AGENT_TERMINAL_no_escape_passes(self):
        """A model's words, and what it read, control the user's terminal."""
        bad = "\x1b]0;owned\x07\x9b31m\u202e"
        out = self.shown(f"Look {bad}\n```python\nprint('\\x1b]0;owned\\x07')\n'\\x1b[31m'\n```", f"Done {bad}.")
        self.assertIn(b"Done ", out)
        self.assertIn(b"step 1", out)
        for sign in (b"\x1b", b"\x07", b"\xc2\x9b", "\u202e".encode()):
            self.assertNotIn(sign, out)


class Trial(harness.Case):
    def test_T_AGENT_TRIAL_none_goes_on_but_the_one_that_is_kept(self):
        """A candidate leaves processes behind, or reaches the files and processes of the others."""
        bad = ("```python\nimport os, subprocess, signal\n"
               "subprocess.Popen(['sleep', '4243'], start_new_session=True)\n"
               "if os.fork() == 0:\n    os.setsid()\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    os.execvp('sleep', ['sleep', '4243'])\n"
               "for root in ('/proc/1/root', '..', '/home'):\n"
               "    for top, dirs, files in os.walk(root):\n        for name in files:\n"
               "            if name == 'mine':\n                open(os.path.join(top, name), 'w').write('spoiled')\n"
               "os.kill(-1, signal.SIGKILL)\n1 / 0\n```\n")
        good = "```python\nopen('mine', 'w').write('whole')\nimport time\ntime.sleep(0.5)\nfinal_answer(open('mine').read())\n```\n"
        with service.Engine("--model", "replay:" + script(bad, good, bad)) as engine:
            engine.call("session.create", name="demo")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=3)
            self.assertEqual((result["status"], result.get("answer")), ("ok", "whole"), result)
            self.assertEqual(len(engine.call("session.list")["sessions"]), 1)
            left = True
            for _ in range(1000):
                left = any("4243" in line for line in command_lines())
                if not left:
                    break
                time.sleep(0.01)
            self.assertFalse(left)
            record = engine.call("step.run", session="demo", code="open('mine').read()")
            self.assertEqual(record["value"]["text/plain"], "'whole'")


    def test_T_AGENT_TRIAL_a_candidate_changes_nothing_outside(self):
        """What may not be kept calls a tool that does something, which its configuration lets pass."""
        shop = test_gate.server(approve=["*"], approveTainted=["*"])
        call = "```python\ny = tools.shop.echo(**{'from': 'paid'})\ny\n```\n"
        path = test_gate.file_of(shop=shop)
        with service.Engine("--tools", path, "--model", "replay:" + script(call, call, "No.", "No.")) as engine:
            engine.call("session.create", name="demo")
            result = engine.call("agent.run", session="demo", task="Go.", best_of=2)
            self.assertEqual((result["status"], result["steps"]), ("ok", 2), result)
            self.assertIn("ToolDenied", result["candidates"]["rounds"][0]["value"])
            self.assertNotIn("tools/call", test_gate.methods(shop))
        where = harness.make_dir()
        save = "```python\nimport retort\nretort.skills.save('one', 'def one():\\n    return 1\\n', 'assert one() == 1')\n```\n"
        with service.Engine("--skills", where + ":rw", "--model", "replay:" + script(save, save, "No.", "No.")) as other:
            result = other.call("agent.run", task="Go.", best_of=2)
            self.assertIn("ToolDenied", result["candidates"]["rounds"][0]["value"], result)
            self.assertEqual(os.listdir(where), [])
        with service.Engine("--tools", path) as engine:
            engine.call("session.create", name="demo")
            # One that is no candidate may.
            record = engine.call("step.run", session="demo", code="tools.shop.echo(**{'from': 'paid'})")
            self.assertEqual(record["value"]["text/plain"], "'paid'")


def command_lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        if text.startswith("sleep\0"):
            yield text


class Flood(harness.Case):
    def test_T_AGENT_FLOOD_a_reply_without_end_is_ended(self):
        """A model holds memory, or the loop, by a reply that does not end."""
        done = harness.retort("agent", "--json", "-M", "exec:yes 'so many words'", "--max-steps", "2", "--no-grounded", "Go.")
        self.assertEqual((done.status, done.json()["steps"]), (7, 0), done.err)
        self.assertLess(len(done.json()["answer"]), 1 << 20)
        done = harness.retort("agent", "--json", "-M", "exec:echo '```python'; yes 'x = 1'", "--max-steps", "2", "Go.")
        self.assertEqual((done.status, done.json()["steps"]), (7, 0), done.err)


if __name__ == "__main__":
    harness.main()
