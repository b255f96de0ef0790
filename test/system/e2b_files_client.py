# SPDX-License-Identifier: Apache-2.0
"""Requests for files of a sandbox of the front "e2b", as E2B's clients send them."""

import base64
import hashlib
import json
import struct
import urllib.parse

import web

OCTETS = {"Content-Type": "application/octet-stream"}


def form(*parts, boundary="b0und"):
    """(body, headers) of a form: parts are (name, file name or None, data)."""
    body = b""
    for name, filename, data in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
        if filename is not None:
            head += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        body += head.encode() + b"\r\n\r\n" + data + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def envelope(message):
    text = json.dumps(message).encode()
    return b"\0" + struct.pack(">I", len(text)) + text


def messages(chunks):
    """(flags, message) of a stream of Connect."""
    data = b""
    for chunk in chunks:
        data += chunk
        while len(data) >= 5:
            flags, n = data[0], struct.unpack(">I", data[1:5])[0]
            if len(data) < 5 + n:
                break
            yield flags, json.loads(data[5:5 + n])
            data = data[5 + n:]


class Sandbox:
    def __init__(self, server, token=None, **more):
        self.server = server
        self.key = {"X-API-KEY": token} if token else {}
        answer = server.request("POST", "/sandboxes", json.dumps({"templateID": "base", "timeout": 600, **more}),
                                {**web.JSON, **self.key})
        assert answer.status == 201, answer.body
        self.id, self.token = answer.json["sandboxID"], answer.json["envdAccessToken"]
        self.place = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49983"}
        self.headers = {**self.place, "X-Access-Token": self.token}

    def end(self):
        return self.server.request("DELETE", f"/sandboxes/{self.id}", headers=self.key)

    def ask(self, method, body=None, headers=None, **query):
        at = "/files" + ("?" + urllib.parse.urlencode(query) if query else "")
        return self.server.request(method, at, body, self.headers if headers is None else headers)

    def read(self, path, headers=None, **query):
        return self.ask("GET", headers={**self.headers, **(headers or {})}, path=path, **query)

    def write(self, path, data, headers=None, **query):
        return self.ask("POST", data, {**self.headers, **OCTETS, **(headers or {})}, path=path, **query)

    def upload(self, *parts, headers=None, **query):
        body, kind = form(*parts)
        return self.ask("POST", body, {**self.headers, **kind, **(headers or {})}, **query)

    def rpc(self, method, headers=None, **message):
        return self.server.request("POST", "/filesystem.Filesystem/" + method, json.dumps(message),
                                   {**self.headers, **web.JSON, **(headers or {})})

    def entry(self, path):
        answer = self.rpc("Stat", path=path)
        assert answer.status == 200, answer.body
        return answer.json["entry"]

    def run(self, command):
        """Run a command to its end, and return its status as the wire has it."""
        message = {"process": {"cmd": "/bin/sh", "args": ["-c", command]}, "stdin": False}
        answer = self.server.request("POST", "/process.Process/Start", envelope(message),
                                     {**self.headers, "Content-Type": "application/connect+json"})
        ends = [m["event"]["end"] for _, m in messages([answer.body]) if "end" in m.get("event", {})]
        return ends[0]["status"]

    def watch(self, **message):
        """A connection with a stream of WatchDir, and its messages."""
        raw = self.server.raw()
        body = envelope(message)
        lines = ["POST /filesystem.Filesystem/WatchDir HTTP/1.1", "Host: localhost",
                 "Content-Type: application/connect+json", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in self.headers.items())]
        raw.say(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        while raw.file.readline() not in (b"\r\n", b""):
            pass
        return raw, messages(raw.chunks())

    def signature(self, path, action, user="", end=None, token=None):
        text = f"{path}:{action}:{user}:{token or self.token}" + (f":{end}" if end is not None else "")
        return "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
