# SPDX-License-Identifier: Apache-2.0
"""A client of the front "e2b": its REST API, and Connect byte by byte, as E2B's own clients send it.

    with web.Server("--front", "e2b") as server:
        box = Sandbox(server)
        print(box.run("echo hello").stdout)
"""

import base64
import json
import struct

import web

ENVD, CODE = 49983, 49999
LAST = 2


def ask(server, method, path, body=None, token=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    kind = web.JSON if body is not None else {}
    key = {"X-API-KEY": token} if token else {}
    return server.request(method, path, data, {**kind, **key, **headers})


def envelope(message, flags=0):
    data = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(data)) + data


class Broken(Exception):
    """A stream was broken off: it has no last envelope."""


class Failed(Exception):
    """A stream has ended with an error: `code` is its word."""

    def __init__(self, error):
        super().__init__(error.get("message", ""))
        self.code = error["code"]


class Stream:
    """The messages of a stream, as they come."""

    def __init__(self, connection):
        self.connection = connection
        self.answer = connection.getresponse()
        self.status = self.answer.status

    def read(self, n):
        try:
            data = self.answer.read(n)
        except Exception as error:
            raise Broken(str(error)) from error
        if len(data) < n:
            raise Broken("the body ends early")
        return data

    def __iter__(self):
        try:
            yield from self.messages()
        finally:
            self.close()

    def messages(self):
        while True:
            flags, n = struct.unpack(">BI", self.read(5))
            message = json.loads(self.read(n))
            if flags & LAST:
                if self.answer.read():
                    raise Broken("bytes behind the last envelope")
                if "error" in message:
                    raise Failed(message["error"])
                return
            yield message

    def close(self):
        """As a client that has lost interest."""
        self.answer.close()
        self.connection.close()


class Output:
    """What a program has printed, and its end."""

    def __init__(self):
        self.start, self.end = None, None
        self.texts = {"stdout": b"", "stderr": b"", "pty": b""}

    def take(self, event):
        event = event["event"]
        if "start" in event:
            self.start = event["start"]["pid"]
        elif "data" in event:
            for name, data in event["data"].items():
                self.texts[name] += base64.b64decode(data, validate=True)
        elif "end" in event:
            self.end = event["end"]

    stdout = property(lambda self: self.texts["stdout"].decode())
    stderr = property(lambda self: self.texts["stderr"].decode())
    pty = property(lambda self: self.texts["pty"].decode(errors="replace"))
    code = property(lambda self: self.end.get("exitCode", 0))


class Sandbox:
    def __init__(self, server, token=None, template="base", version="/v2", **options):
        answer = ask(server, "POST", f"{version}/sandboxes", {"templateID": template, **options}, token)
        if answer.status != 201:
            raise AssertionError(f"{answer.status} {answer.body}")
        self.server, self.key, self.made = server, token, answer.json
        self.id, self.token = self.made["sandboxID"], self.made["envdAccessToken"]

    def control(self, method, path="", body=None, **headers):
        return ask(self.server, method, f"/sandboxes/{self.id}{path}", body, self.key, **headers)

    def kill(self):
        return self.control("DELETE").status

    def headers(self, port=ENVD, **more):
        return {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port), "X-Access-Token": self.token, **more}

    def ask(self, method, path, body=None, port=ENVD, **headers):
        """A request to the sandbox itself; @body is sent as it is."""
        return self.server.request(method, path, body, self.headers(port, **headers))

    def rpc(self, procedure, message=None, **headers):
        return self.ask("POST", f"/{procedure}", json.dumps(message or {}).encode(), **{**web.JSON, **headers})

    def stream(self, procedure, message, **headers):
        connection = self.server.connect()
        head = self.headers(**{"Content-Type": "application/connect+json", **headers})
        connection.request("POST", f"/{procedure}", envelope(message), head)
        return Stream(connection)

    def send(self, pieces, **headers):
        """Send input of a program as one request, whose body is @pieces as they come: its stream."""
        connection = self.server.connect()
        head = self.headers(**{"Content-Type": "application/connect+json", "Transfer-Encoding": "chunked", **headers})
        connection.request("POST", "/process.Process/StreamInput", iter(pieces), head, encode_chunked=True)
        return Stream(connection)

    def start(self, cmd, args=(), timeout_ms=None, headers=None, **more):
        """Begin a program: its stream."""
        config = {"cmd": cmd, "args": list(args)}
        for name in ("envs", "cwd"):
            if name in more:
                config[name] = more.pop(name)
        late = {"Connect-Timeout-Ms": str(timeout_ms)} if timeout_ms else {}
        return self.stream("process.Process/Start", {"process": config, **more}, **late, **(headers or {}))

    def begin(self, command, **more):
        """Begin a line of bash as `commands.run` does, and wait for its number: the stream, and what it says."""
        stream, out = self.start("/bin/bash", ["-l", "-c", command], **{"stdin": False, **more}), Output()
        events = iter(stream)
        out.take(next(events))
        return stream, events, out

    def run(self, command, **more):
        """Run a line of bash to its end."""
        stream, events, out = self.begin(command, **more)
        for event in events:
            out.take(event)
        stream.close()
        return out

    def execute(self, code, **more):
        """Run a cell: all its events."""
        body = json.dumps({"code": code, **more}).encode()
        answer = self.ask("POST", "/execute", body, CODE, **web.JSON)
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        return [json.loads(line) for line in answer.body.splitlines()]
