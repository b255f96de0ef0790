# SPDX-License-Identifier: Apache-2.0
"""An engine of a test's own, spoken to in JSON-RPC over its socket."""

import json
import os
import socket
import subprocess
import tempfile

import harness


class Failed(Exception):
    """The operation answered with an error."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["data"]["code"]
        self.hint = error["data"].get("hint", "")


class Engine:
    """`retort serve`, with a state directory that outlives it."""

    def __init__(self, where=None, *options):
        self.where = where or tempfile.mkdtemp(dir=harness.TMP)
        self.state = os.path.join(self.where, "state")
        self.path = os.path.join(self.where, "s")
        self.process = subprocess.Popen(
            [harness.RETORT, "serve", "--socket", self.path, "--state", self.state, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=harness.environment())
        line = self.process.stderr.readline()
        if b"listening" not in line:
            self.process.wait(60)
            with self.process.stderr as rest:
                raise RuntimeError((line + rest.read()).decode())
        self.client = Client(self.path)

    def __call__(self, method, **params):
        return self.client(method, **params)

    def run(self, session, code, **params):
        return self("step.run", session=session, code=code, **params)

    def stop(self):
        self.process.terminate()
        said = self.process.stderr.read()
        if b"Sanitizer" in said:
            raise AssertionError(said.decode())
        return self._gone()

    def kill(self):
        self.process.kill()
        return self._gone()

    def _gone(self):
        self.client.close()
        status = self.process.wait(60)
        self.process.stderr.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(harness.TIMEOUT_S)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")
        self.last = 0

    def send(self, method, **params):
        self.last += 1
        call = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.file.write(json.dumps(call).encode() + b"\n")
        self.file.flush()
        return self.last

    def answer(self):
        """The next answer, whichever call it is to: (id, result or Failed)."""
        while True:
            line = self.file.readline()
            if not line:
                raise EOFError("the engine has hung up")
            said = json.loads(line)
            if "id" in said:
                error = said.get("error")
                return said["id"], Failed(error) if error else said["result"]

    def __call__(self, method, **params):
        call = self.send(method, **params)
        while True:
            number, result = self.answer()
            if number == call:
                break
        if isinstance(result, Failed):
            raise result
        return result

    def close(self):
        self.file.close()
        self.socket.close()
