# SPDX-License-Identifier: Apache-2.0
"""Models, and who may name them: T-AGENT-MODEL, T-AGENT-TERMINAL, T-AGENT-FLOOD."""

import json
import os
import pty
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402
import service  # noqa: E402


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


class Flood(harness.Case):
    def test_T_AGENT_FLOOD_a_reply_without_end_is_ended(self):
        """A model holds memory, or the loop, by a reply that does not end."""
        done = harness.retort("agent", "--json", "-M", "exec:yes 'so many words'", "--max-steps", "2", "--no-grounded", "Go.")
        self.assertEqual(done.status, 0, done.err)
        self.assertLess(len(done.json()["answer"]), 1 << 20)
        done = harness.retort("agent", "--json", "-M", "exec:echo '```python'; yes 'x = 1'", "--max-steps", "2", "Go.")
        self.assertEqual((done.status, done.json()["steps"]), (7, 0), done.err)


if __name__ == "__main__":
    harness.main()
