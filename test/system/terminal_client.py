# SPDX-License-Identifier: Apache-2.0
"""A client of the front "open-terminal", as Open WebUI is one: its requests, and its WebSockets byte by byte.

    with web.Server("--front", "open-terminal") as server:
        me = User(server, "me")
        print(me.run("echo hello"))
"""

import base64
import json
import os
import sys
from urllib.parse import urlencode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from notebook_client import BINARY, CLOSE, PING, PONG, TEXT, Channel, Closed, bearer  # noqa: E402

BOUNDARY = "----a-boundary"


class User:
    """A user of the client, in a chat."""

    def __init__(self, server, name=None, chat=None, token=None, at="", **headers):
        self.server, self.token, self.at = server, token, at
        self.headers = {**bearer(token), **headers}
        if name is not None:
            self.headers["X-User-Id"] = name
        if chat is not None:
            self.headers["X-Session-Id"] = chat

    def ask(self, method, where, body=None, headers=None, **query):
        target = self.at + where + (f"?{urlencode(query, doseq=True)}" if query else "")
        data, kind = (None, {}) if body is None else (json.dumps(body).encode(), web.JSON)
        return self.server.request(method, target, data, {**self.headers, **kind, **(headers or {})})

    def get(self, where, **query):
        return self.ask("GET", where, **query)

    def post(self, where, body, **query):
        return self.ask("POST", where, body, **query)

    def start(self, command, wait=None, **body):
        answer = self.post("/execute", {"command": command, **body}, **({} if wait is None else {"wait": wait}))
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        return answer.json

    def run(self, command, **body):
        """What a command prints."""
        return printed(self.start(command, wait=60, **body))

    def write(self, path, content):
        answer = self.post("/files/write", {"path": path, "content": content})
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        return answer.json["path"]

    def upload(self, directory, name, content, field="file", headers=None):
        body = (f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n"
                "Content-Type: application/octet-stream\r\n\r\n").encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        return self.server.request("POST", f"{self.at}/files/upload?{urlencode({'directory': directory})}", body,
                                   {**self.headers, **kind, **(headers or {})})

    def terminal(self):
        answer = self.post("/api/terminals", {})
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        return answer.json["id"]

    def socket(self, terminal, token=None, **options):
        """A WebSocket that has sent its token."""
        headers = {k: v for k, v in self.headers.items() if k != "Authorization"}
        socket = Socket(self.server, terminal, headers, at=self.at, **options)
        if socket.status == 101:
            socket.auth(self.token or "" if token is None else token)
        return socket


def printed(answer):
    return "".join(entry["data"] for entry in answer["output"]).replace("\r\n", "\n")


class Socket(Channel):
    def __init__(self, server, terminal, headers=None, query="", at=""):
        self.raw = web.Raw(server.port)
        lines = [f"GET {at}/api/terminals/{terminal}{query} HTTP/1.1", "Host: localhost", "Upgrade: websocket",
                 "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.raw.say(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.answer = self.raw.answer(has_body=True)
        self.status = self.answer.status

    def say(self, **message):
        self.frame(TEXT, json.dumps(message).encode())

    def auth(self, token, **more):
        self.say(type="auth", token=token, **more)

    def type(self, text):
        self.frame(BINARY, text.encode())

    def until_text(self, text):
        """What the terminal shows, up to a text."""
        shown = b""
        while text.encode() not in shown:
            kind, payload = self.read_frame()
            if kind == CLOSE:
                raise Closed(payload)
            if kind == PING:
                self.frame(PONG, payload)
            elif kind == BINARY:
                shown += payload
        return shown.decode(errors="replace")

    def code(self):
        """The code with which the server closes it."""
        try:
            self.until_text("\0nothing prints this")
        except Closed as closed:
            return closed.code
        return None
