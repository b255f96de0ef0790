# SPDX-License-Identifier: Apache-2.0
"""A client of the front "jupyter": its REST API, and its WebSockets byte by byte.

    with web.Server("--front", "jupyter") as server:
        kernel = make(server)
        with Channel(server, kernel) as channel:
            print(texts(channel.run("print(6 * 7)")))
"""

import base64
import json
import os
import struct
import uuid

import web

V1 = "v1.kernel.websocket.jupyter.org"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Closed(Exception):
    """The server has closed the WebSocket: `code`, and the reason."""

    def __init__(self, payload):
        super().__init__(payload[2:].decode(errors="replace"))
        self.code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else None


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


def ask(server, method, path, body=None, token=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    kind = web.JSON if body is not None else {}
    return server.request(method, path, data, {**kind, **bearer(token), **headers})


def make(server, token=None, name="python3", at=""):
    answer = ask(server, "POST", f"{at}/api/kernels", {"name": name}, token)
    if answer.status != 201:
        raise AssertionError(f"{answer.status} {answer.body}")
    return answer.json["id"]


def message(kind, content, channel="shell"):
    header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "username": "test", "session": "test", "date": "",
              "version": "5.3"}
    return {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": channel}


def execute(code, **more):
    return message("execute_request", {"code": code, "silent": False, "store_history": True, "allow_stdin": False,
                                       "user_expressions": {}, "stop_on_error": True, **more})


def to_v1(said):
    parts = [said["channel"].encode()] + [
        json.dumps(said[name]).encode() for name in ("header", "parent_header", "metadata", "content")]
    at, offsets = 8 * (len(parts) + 2), []
    for part in parts:
        offsets.append(at)
        at += len(part)
    offsets.append(at)
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


def from_v1(data):
    n = struct.unpack_from("<Q", data)[0]
    offsets = struct.unpack_from(f"<{n}Q", data, 8)
    parts = [data[a:b] for a, b in zip(offsets, offsets[1:])]
    names = ("header", "parent_header", "metadata", "content")
    said = {name: json.loads(part) for name, part in zip(names, parts[1:])}
    return {**said, "channel": parts[0].decode(), "msg_type": said["header"]["msg_type"]}


class Channel:
    def __init__(self, server, kernel, session=None, token=None, at="", query="", v1=False, headers=None):
        self.v1 = v1
        self.raw = web.Raw(server.port)
        session = f"session_id={session}&" if session else ""
        lines = [f"GET {at}/api/kernels/{kernel}/channels?{session}{query} HTTP/1.1", "Host: localhost",
                 "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}"]
        lines += [f"Sec-WebSocket-Protocol: {V1}"] * v1
        lines += [f"{name}: {value}" for name, value in {**bearer(token), **(headers or {})}.items()]
        self.raw.say(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.answer = self.raw.answer(has_body=True)
        self.status = self.answer.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.close()

    def frame(self, kind, payload, is_last=True):
        n = len(payload)
        size = bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack("!H", n) if n < 65536 else \
            b"\xff" + struct.pack("!Q", n)
        # masked with zeros, which leaves the payload as it is
        self.raw.say(bytes([kind | 0x80 * is_last]) + size + bytes(4) + payload)

    def read_frame(self):
        head = self.raw.file.read(2)
        if len(head) < 2:
            raise Closed(b"")
        n = head[1] & 0x7f
        if n == 126:
            n = struct.unpack("!H", self.raw.file.read(2))[0]
        elif n == 127:
            n = struct.unpack("!Q", self.raw.file.read(8))[0]
        return head[0] & 15, self.raw.file.read(n)

    def send(self, said):
        self.frame(*((BINARY, to_v1(said)) if self.v1 else (TEXT, json.dumps(said).encode())))
        return said["header"]["msg_id"]

    def next(self):
        """The next message. Pings are answered."""
        while True:
            kind, payload = self.read_frame()
            if kind == CLOSE:
                raise Closed(payload)
            if kind == PING:
                self.frame(PONG, payload)
            elif kind == BINARY and self.v1:
                return from_v1(payload)
            elif kind == TEXT and not self.v1:
                return json.loads(payload)
            else:
                raise AssertionError(f"a frame of kind {kind}")

    def until(self, is_it):
        said = []
        while not said or not is_it(said[-1]):
            said.append(self.next())
        return said

    def until_idle(self, number):
        return self.until(lambda m: is_idle(m, number))

    def run(self, code, **more):
        """The messages about a cell, up to the status idle."""
        number = self.send(execute(code, **more))
        return [m for m in self.until_idle(number) if m["parent_header"].get("msg_id") == number]


def is_idle(said, number):
    return (said["msg_type"], said["parent_header"].get("msg_id"), said["content"].get("execution_state")) == (
        "status", number, "idle")


def of_type(said, kind):
    return [m["content"] for m in said if m["msg_type"] == kind]


def texts(said, name="stdout"):
    return "".join(c["text"] for c in of_type(said, "stream") if c["name"] == name)


def value(said):
    return [c["data"].get("text/plain") for c in of_type(said, "execute_result")]
