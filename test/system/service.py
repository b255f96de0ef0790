# SPDX-License-Identifier: Apache-2.0
"""An engine of the test's own, spoken to as any client does: JSON-RPC lines on its unix socket.

    with service.Engine() as engine:
        s = engine.session()
        s.run("x = 1")["status"]
"""

import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

import harness


class Refused(Exception):
    """An error that an operation was answered with."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error.get("data", {}).get("code")
        self.hint = error.get("data", {}).get("hint")


class Client:
    """One connection: calls one after the other."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(harness.TIMEOUT_S)
        self.sock.connect(path)
        self.file = self.sock.makefile("rwb")
        self.ids = itertools.count(1)
        self.answers = {}  # those that came before somebody asked for them

    def send(self, method, **params):
        number = next(self.ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.file.write(json.dumps(message).encode() + b"\n")
        self.file.flush()
        return number

    def receive(self, number):
        while number not in self.answers:
            line = self.file.readline()
            if not line:
                raise ConnectionError("the engine closed the connection")
            answer = json.loads(line)
            self.answers[answer.get("id")] = answer
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def call(self, method, **params):
        return self.receive(self.send(method, **params))

    def close(self):
        self.file.close()
        self.sock.close()


class Session:
    def __init__(self, engine, about):
        self.engine = engine
        self.about = about
        self.id = about["session"]

    def run(self, code, **params):
        """The record of a step."""
        return self.engine.call("step.run", session=self.id, code=code, **params)

    def value(self, code, **params):
        """The value of a step that must succeed, as its text."""
        record = self.run(code, **params)
        if record["status"] != "ok":
            raise AssertionError(f"{code!r}: {record}")
        return record.get("value", {}).get("text/plain")

    def undo(self, **params):
        return self.engine.call("session.undo", session=self.id, **params)

    def close(self):
        self.engine.call("session.close", session=self.id)


class Engine:
    def __init__(self, *options, state=None, env=None):
        self.dir = tempfile.mkdtemp(prefix="serve-", dir=harness.TMP)
        self.path = os.path.join(self.dir, "s")
        self.log = open(os.path.join(self.dir, "log"), "wb")
        argv = [harness.RETORT, "serve", "--socket", self.path, "--state", state or self.dir + "/state"]
        self.process = subprocess.Popen(
            [*argv, *options], env=harness.environment(env), cwd=self.dir,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )
        self.client = self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def connect(self):
        end = time.monotonic() + 60
        while True:
            try:
                return Client(self.path)
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise AssertionError(f"no engine: {self.said()}") from None
                time.sleep(0.02)

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def call(self, method, **params):
        return self.client.call(method, **params)

    def session(self, **params):
        return Session(self, self.call("session.create", **params))

    def stop(self):
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        if "Sanitizer" in self.said():
            raise AssertionError(self.said())
