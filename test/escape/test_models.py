# SPDX-License-Identifier: Apache-2.0
"""What the server of a model, or who speaks in its place, cannot do to the one who asks."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
from model_server import Answer, Server, error, sse  # noqa: E402
from test_wires import KEY, WIRES, ask, chat  # noqa: E402

IDENTITY = "user"


def failing(*answers, **options):
    with Server(*answers) as server:
        return ask(f"openai:m@{server.url}", **options), server


class Models(harness.Case):
    def test_T_MODEL_KEY_in_nothing_that_is_shown(self):
        """A server that knows the key says it in every place of an answer."""
        echo = {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": KEY, "code": KEY}}
        rows = [error(401, echo, x_request_id=KEY), error(500, KEY.encode()), error(400, {"error": KEY}),
                error(400, [{"error": {"message": f"{KEY}{KEY} \\{KEY}"}}]),
                sse({"error": {"message": f"no {KEY}"}}), sse(("error", {"message": KEY})),
                Answer(b"", 302, {"Location": f"http://127.0.0.1/{KEY}"}),
                Answer(f"data: {KEY}\n\n".encode()), Answer(b"", end="cut")]
        for name in WIRES:
            for i, answer in enumerate(rows):
                with self.subTest(name, row=i), Server(answer) as server:
                    said = ask(f"{name}:m@{server.url}", tries=0)
                    self.assertEqual(len(said.all("failed")), 1, said)
                    self.assertIn(KEY, str(server.asked[0].headers))
                    self.assertNotIn(KEY, said.out + said.err)

    def test_T_MODEL_REDIRECT_to_another_server(self):
        """A server sends the question, and the key with it, elsewhere."""
        with Server(chat("stolen")) as thief:
            said, _ = failing(Answer(b"", 307, {"Location": thief.url + "/v1/chat/completions?x"}))
            self.assertEqual(said.failed["failed"], "request")
            self.assertIn("elsewhere", said.failed["message"])
            self.assertEqual(thief.asked, [])

    def test_T_MODEL_REDIRECT_over_the_network_in_the_clear(self):
        """An address of http:// that is not of this host is to get the key."""
        said = ask("openai:m@http://127.0.0.1.example.invalid/v1")
        self.assertEqual(said.status, 126)
        self.assertIn("in the clear", said.err)
        self.assertNotIn(KEY, said.out + said.err)

    def test_T_MODEL_FLOOD_of_text_lines_errors_headers(self):
        """An answer that never ends: as text, as a line, as an error, as headers."""
        event = b'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n' % (b"x" * (1 << 20))
        said, _ = failing(Answer(event * 20, step=1 << 20), tries=0)
        self.assertEqual(said.failed["failed"], "ours")
        said, _ = failing(Answer(b"data: " + b"x" * (20 << 20), step=1 << 20), tries=0)
        self.assertIn("over 16 MiB", said.failed["message"])
        said, _ = failing(error(400, b"x" * (4 << 20)), tries=0)
        self.assertEqual(said.failed["failed"], "request")
        said, _ = failing(chat("a", headers={f"X-{i}": "y" * 4000 for i in range(40)}), tries=0)
        self.assertEqual(said.failed["failed"], "ours")

    def test_T_MODEL_TERMINAL_escapes_in_an_error(self):
        """An error with escapes and line ends, for a terminal or a log to obey."""
        said, _ = failing(error(400, {"error": {"message": "a\x1b[2J\r\nb\u202e\x9b1m"}}, x_request_id="r\x7f"))
        shown = said.failed["message"] + said.failed["request_id"]
        self.assertIn("a\\x1b[2J", shown)
        self.assertEqual([c for c in shown if not c.isprintable()], [])


if __name__ == "__main__":
    harness.main()
