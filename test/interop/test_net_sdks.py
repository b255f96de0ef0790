# SPDX-License-Identifier: Apache-2.0
"""SDKs of model providers in a box, whose key is a secret: they work, the server gets the key, and no record has it."""

import hashlib
import json
import os
import re
import sys

import interop

sys.path.insert(0, os.path.join(os.path.dirname(interop.HERE), "system"))
import upstream  # noqa: E402

VALUE = "sk-live-0123456789abcdefghij"
PLACEHOLDER = re.compile("retort-[0-9a-f]{32}")
WORDS = ["One ", "two ", "three."]

# How an event of each API looks: (name or None, data), one after the other.
OPENAI = [(None, {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                  "choices": [{"index": 0, "delta": {"role": "assistant", "content": w}, "finish_reason": None}]}) for w in WORDS]
ANTHROPIC = [
    ("message_start", {"message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None,
                                   "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    *(("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": w}}) for w in WORDS),
    ("content_block_stop", {"index": 0}),
    ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 3}}),
    ("message_stop", {}),
]


class Models(upstream.Api):
    """The APIs. A word of a stream is sent when the program has read the one before: /pace?N says so."""

    def asked(self):
        body = json.loads(self.heard())
        self.server.seen.append((self.path, dict(self.headers), body))
        return body

    def events(self, rows, of_word):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.server.pace, n = 0, 0
        for name, data in rows:
            if of_word(name):
                interop.harness.until(lambda want=n: self.server.pace >= want)
                n += 1
            head = f"event: {name}\n" if name else ""
            self.chunk(f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
        self.chunk("")

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text.encode()))

    def get_completions(self, query):
        body = self.asked()
        key = self.headers["Authorization"].removeprefix("Bearer ")
        if body["model"] == "none":
            self.give(json.dumps({"error": {"message": f"Incorrect API key provided: {key}.", "code": "invalid_api_key"}}).encode(), 401)
        elif body.get("stream"):
            self.events([*OPENAI, (None, "[DONE]")], lambda name: True)
        else:
            self.give(json.dumps({
                "id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": f"Your key is {key}."}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode(), Content_Type="application/json")

    def get_messages(self, query):
        if self.asked().get("stream"):
            self.events([(n, {"type": n, **d}) for n, d in ANTHROPIC], lambda name: name == "content_block_delta")
        else:
            self.give(json.dumps({
                "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "One two three."}],
                "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 3}}).encode(),
                Content_Type="application/json")

    def get_socket(self, query):
        """A WebSocket that says what it hears; of "key" its own key."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response_only(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", upstream.base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.server.seen.append((self.path, dict(self.headers), None))
        self.close_connection = True
        while head := self.rfile.read(2):
            size = head[1] & 127
            size = int.from_bytes(self.rfile.read({126: 2, 127: 8}[size]), "big") if size > 125 else size
            mask, data = self.rfile.read(4), self.rfile.read(size)
            data = bytes(c ^ mask[i & 3] for i, c in enumerate(data))
            if data == b'{"say": "key"}':
                data = json.dumps({"key": self.headers["Authorization"]}).encode()
            self.wfile.write(head[:1] + self.length(len(data)) + data)
            if head[0] & 15 == 8:
                return

    @staticmethod
    def length(n):
        return bytes([n]) if n < 126 else b"\x7e" + n.to_bytes(2, "big") if n < 1 << 16 else b"\x7f" + n.to_bytes(8, "big")


class Case(interop.harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.api = upstream.Http(["api.test"], handler=Models)
        cls.addClassCleanup(cls.api.stop)

    def setUp(self):
        self.python = interop.python()
        self.api.seen.clear()

    def record(self, code, secret, *rules):
        """The record of @code, which has the value in the variable @secret."""
        options = ["--python", self.python, "--timeout", "120s", "--secret", f"{secret}=env:KEY@api.test"]
        for rule in (f"api.test:443=127.0.0.1:{self.api.port}", *rules):
            options += ["--net", rule]
        code = f"import os, urllib.request\nprint(os.environ['{secret}'])\n" \
               "def read(n): urllib.request.urlopen(f'https://api.test/pace?{n}').close()\n" + code
        r = interop.harness.record(code, *options, env={"SSL_CERT_FILE": self.api.cert, "KEY": VALUE})
        self.assertEqual(r["status"], "ok", r["stderr"])
        self.assertNotIn(VALUE, json.dumps(r))
        placeholder, *lines = r["stdout"].splitlines()
        self.assertTrue(PLACEHOLDER.fullmatch(placeholder), placeholder)
        return lines

    def assert_got_key(self, path, n):
        """Each of the @n requests had the value in the place of the placeholder."""
        self.assertEqual([p for p, _, _ in self.api.seen], [path] * n)
        for _, headers, _ in self.api.seen:
            self.assertIn(VALUE, [v.removeprefix("Bearer ") for v in headers.values()])
            self.assertFalse(PLACEHOLDER.search(json.dumps(headers)))


class OpenAi(Case):
    BEGIN = "import openai\nclient = openai.OpenAI(base_url='https://api.test/v1')\nask = client.chat.completions.create\n"

    def ask(self, code):
        return self.record(self.BEGIN + code, "OPENAI_API_KEY")

    def test_answer(self):
        said = self.ask("print(ask(model='m', messages=[{'role': 'user', 'content': 'Hello'}]).choices[0].message.content)")
        self.assertEqual(said, [f"Your key is {'*' * len(VALUE)}."])
        self.assert_got_key("/v1/chat/completions", 1)
        self.assertEqual(self.api.seen[0][2]["messages"], [{"role": "user", "content": "Hello"}])

    def test_stream(self):
        said = self.ask("for n, part in enumerate(ask(model='m', messages=[], stream=True), 1):\n"
                        "    print(part.choices[0].delta.content)\n    read(n)")
        self.assertEqual(said, WORDS)
        self.assert_got_key("/v1/chat/completions", 1)

    def test_async(self):
        said = self.ask("import asyncio\nask = openai.AsyncOpenAI(base_url='https://api.test/v1').chat.completions.create\n"
                        "async def main():\n"
                        "    all = await asyncio.gather(*[ask(model='m', messages=[]) for _ in range(8)])\n"
                        "    print([a.usage.total_tokens for a in all])\n"
                        "    n = 0\n"
                        "    async for part in await ask(model='m', messages=[], stream=True):\n"
                        "        n += 1\n        print(part.choices[0].delta.content)\n        read(n)\n"
                        "asyncio.run(main())")
        self.assertEqual(said, [str([2] * 8), *WORDS])
        self.assert_got_key("/v1/chat/completions", 9)

    def test_wrong_key(self):
        said = self.ask("try: ask(model='none', messages=[])\n"
                        "except openai.AuthenticationError as e: print(e.status_code, e.body['message'])")
        self.assertEqual(said, [f"401 Incorrect API key provided: {'*' * len(VALUE)}."])
        self.assert_got_key("/v1/chat/completions", 1)


class Anthropic(Case):
    BEGIN = "import anthropic\nclient = anthropic.Anthropic(base_url='https://api.test')\n" \
            "what = {'model': 'm', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': 'Hello'}]}\n"

    def ask(self, code):
        return self.record(self.BEGIN + code, "ANTHROPIC_API_KEY")

    def test_answer(self):
        said = self.ask("print(client.messages.create(**what).content[0].text)")
        self.assertEqual(said, ["One two three."])
        self.assert_got_key("/v1/messages", 1)

    def test_stream(self):
        said = self.ask("with client.messages.stream(**what) as stream:\n"
                        "    for n, text in enumerate(stream.text_stream, 1):\n        print(text)\n        read(n)\n"
                        "    print(stream.get_final_message().stop_reason)")
        self.assertEqual(said, [*WORDS, "end_turn"])
        self.assert_got_key("/v1/messages", 1)


class WebSocket(Case):
    def test_messages(self):
        said = self.record(
            "import json, websockets.sync.client as w\n"
            "headers = {'Authorization': 'Bearer ' + os.environ['API_KEY']}\n"
            "with w.connect('wss://api.test/socket', additional_headers=headers, close_timeout=1) as c:\n"
            "    c.send(json.dumps({'say': 'key'}))\n"
            "    print(c.recv())\n"
            "    for n in 1, 125, 126, 20000, 70000:\n"
            "        sent = json.dumps({'n': n, 'text': 'x.' * n})\n"
            "        c.send(sent)\n"
            "        print(c.recv() == sent)\n"
            "    c.send(bytes(range(256)))\n"
            "    print(c.recv() == bytes(range(256)))\n"
            "    print(c.ping().wait(60))\n", "API_KEY", "WEBSOCKET api.test/socket")
        self.assertEqual(said, [json.dumps({"key": "Bearer " + "*" * len(VALUE)}), *["True"] * 7])
        self.assert_got_key("/socket", 1)


if __name__ == "__main__":
    interop.main()
