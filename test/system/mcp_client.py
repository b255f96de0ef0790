# SPDX-License-Identifier: Apache-2.0
"""A client of `retort mcp` and of /mcp of `retort serve`, for the tests."""

import http.client
import json
import subprocess
import tempfile
import time

import harness

WAIT_S = 90
META = "io.modelcontextprotocol/"
MODERN = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}


def await_that(condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.02)


class Failed(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.data = error["code"], error.get("data")


class Result:
    """Of a tool: its text, its other blocks, the record."""

    def __init__(self, result):
        self.raw = result
        self.blocks = result["content"]
        self.text = "\n".join(b["text"] for b in self.blocks if b["type"] == "text")
        self.is_error = result.get("isError", False)
        self.record = result.get("_meta", {}).get("retort/result", {})

    def of_type(self, kind):
        return [b for b in self.blocks if b["type"] == kind]


class Mcp:
    """`retort mcp`, spoken to line by line. With `version` it shakes hands first."""

    def __init__(self, *options, version="2025-11-25", env=None, stdout=None):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [harness.RETORT, "mcp", *options], stdin=subprocess.PIPE, stdout=stdout or subprocess.PIPE,
            stderr=self.errors, env=harness.environment(env), cwd=harness.TMP,
        )
        self.last_id, self.notes, self.early = 0, [], {}
        if version:
            self.about = self.call("initialize", protocolVersion=version, capabilities={},
                                   clientInfo={"name": "t", "version": "0"})
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        status = self.close()
        if exc[0] is None and status != 0:
            raise AssertionError(f"status {status}")

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")

    def close(self):
        for stream in (self.process.stdin, self.process.stdout):
            if stream and not stream.closed and stream is self.process.stdin:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        try:
            status = self.process.wait(WAIT_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        said = self.said()
        self.errors.close()
        if "Sanitizer" in said:
            raise AssertionError(said)
        return status

    def write(self, message):
        self.write_bytes(json.dumps(message).encode() + b"\n")

    def write_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise AssertionError(f"it ended: {line!r} {self.said()}")
        return json.loads(line)

    def send(self, method, **params):
        self.last_id += 1
        self.write({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def answer(self, number):
        while number not in self.early:
            message = self.read()
            if "method" in message:
                self.notes.append(message)
            else:
                self.early[message["id"]] = message
        message = self.early.pop(number)
        if "error" in message:
            raise Failed(message["error"])
        return message["result"]

    def call(self, method, **params):
        return self.answer(self.send(method, **params))

    def tool(self, tool, _meta=None, **arguments):
        params = {"name": tool, "arguments": arguments}
        if _meta is not None:
            params["_meta"] = _meta
        return Result(self.call("tools/call", **params))

    def run(self, code, **arguments):
        return self.tool("run_code", code=code, **arguments)

    def command(self, command, **arguments):
        return self.tool("run_command", command=command, **arguments)

    def output(self, **arguments):
        return self.tool("process_output", **arguments)

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            return f.read().split()


class Http:
    """/mcp of an engine of its own."""

    def __init__(self, *options):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [harness.RETORT, "serve", "--no-socket", "--no-journal", "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=harness.environment(),
            cwd=harness.TMP,
        )
        await_that(lambda: "listening at http://" in self.said() or self.process.poll() is not None,
                   "no engine")
        self.port = int(self.said().split("listening at http://127.0.0.1:")[1].split()[0])

    def said(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def close(self):
        self.process.terminate()
        self.process.wait(WAIT_S)
        said = self.said()
        self.log.close()
        if "Sanitizer" in said:
            raise AssertionError(said)

    def ask(self, verb, body=None, headers=None, keep=False):
        """(status, headers, body); or, to be kept, the connection."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        usual.update(headers or {})
        if body is None:
            del usual["Content-Type"]
        c.request(verb, "/mcp", None if body is None else json.dumps(body), usual)
        if keep:
            return c
        answer = c.getresponse()
        text = answer.read()
        c.close()
        return answer.status, answer.headers, text

    def modern(self, method, headers=None, meta=None, **params):
        params["_meta"] = {**MODERN, **(meta or {})}
        given = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if "name" in params or "uri" in params:
            given["Mcp-Name"] = params.get("name", params.get("uri"))
        given.update(headers or {})
        given = {k: v for k, v in given.items() if v is not None}
        status, _, text = self.ask("POST", {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}, given)
        return status, json.loads(text)

    def await_running(self, session):
        def is_running():
            _, said = self.modern("tools/call", name="sessions", arguments={"action": "list"})
            return f"{session}: python, working" in said["result"]["content"][0]["text"]
        await_that(is_running, "it does not run")

    def open(self, version="2025-11-25", headers=None):
        """The headers of a session."""
        status, got, _ = self.ask("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}, headers)
        if status != 200:
            raise AssertionError(status)
        return {**(headers or {}), "Mcp-Session-Id": got["Mcp-Session-Id"], "MCP-Protocol-Version": version}

    def post(self, session, method, headers=None, **params):
        status, _, text = self.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                                   {**session, **(headers or {})})
        return status, json.loads(text)
