# SPDX-License-Identifier: Apache-2.0
"""An engine with callers: each has a token of its own, and calls over HTTP.

    with callers.Engine({"ann": "sessions=2", "bob": ""}) as engine:
        ann = engine.caller("ann")
        ann("session.create")
        engine.operator("session.list")
"""

import http.client
import json
import os
import re
import secrets
import time

import harness
import rpc


class Caller:
    """One token. It fails as rpc.Client does."""

    def __init__(self, name, token, port):
        self.name, self.token, self.port = name, token, port
        self.last_id = 0

    def get(self, path):
        """(status, text)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=rpc.ANSWER_S)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def said(self, method, **params):
        """The whole answer, without its id."""
        self.last_id += 1
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=rpc.ANSWER_S)
        body = json.dumps({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        try:
            connection.request("POST", "/rpc", body, {
                "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            said = json.loads(answer.read())
        finally:
            connection.close()
        said.pop("id", None)
        return said

    def notify(self, method, **params):
        """Without an id: nobody is told what comes of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=rpc.ANSWER_S)
        try:
            connection.request("POST", "/rpc", json.dumps({"jsonrpc": "2.0", "method": method, "params": params}), {
                "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def __call__(self, method, **params):
        return rpc.Client.result(self.said(method, **params))

    def run(self, session, code, **params):
        return self("step.run", session=session, code=code, **params)


class Engine(rpc.Engine):
    """`tokens`: what is behind the token in the file, by the caller's name."""

    def __init__(self, tokens, *options, state=None):
        self.tokens = {name: secrets.token_hex(16) for name in tokens}
        path = os.path.join(harness.make_dir(), "tokens")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            for name, rest in tokens.items():
                f.write(f"{name} {self.tokens[name]} {rest}\n")
        super().__init__("--listen", "127.0.0.1:0", "--token-file", path, "--log", "none", "--grace", "0s",
                         *options, state=state)

    def start(self):
        ports = self.ports()
        super().start()
        self.operator = self.client()
        deadline = time.monotonic() + rpc.ANSWER_S
        while len(self.ports()) == len(ports):  # the socket is there first
            if time.monotonic() > deadline:
                raise AssertionError(f"the engine does not listen: {self.said()}")
            time.sleep(0.005)
        self.port = int(self.ports()[-1])

    def ports(self):
        """Of each start, as the log has them."""
        try:
            return re.findall(r"http://127\.0\.0\.1:(\d+)\n", self.said())
        except FileNotFoundError:
            return []

    def caller(self, name):
        return Caller(name, self.tokens[name], self.port)
