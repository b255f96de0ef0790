# SPDX-License-Identifier: Apache-2.0
"""Operations of an engine, over its unix socket or over HTTP.

Every operation of retort is a method here: client("session.create", name="work"). The operations, their
parameters and results are described in retort's docs/reference/api.md. Nothing but the standard library is used.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from urllib.parse import urlsplit

START_S = 30
STOP_S = 20
PIECE_BYTES = 16 << 20  # of a file: a message has at most 64 MiB


class Failed(Exception):
    """An operation has failed: `code` is a word that never changes, `hint` says what to do, or is ""."""

    def __init__(self, error):
        data = error.get("data") or {}
        self.code = data.get("code", "internal")
        self.hint = data.get("hint", "")
        super().__init__(error.get("message", "") + (f" ({self.hint})" if self.hint else ""))


def default_socket():
    base = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(base, "retort", "retort.sock") if base else None


class _Unix:
    """A connection to the unix socket: one call at a time."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.file = self.socket.makefile("rwb")

    def call(self, method, params, on_event):
        self.file.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        self.file.flush()
        while True:
            line = self.file.readline()
            if not line.endswith(b"\n"):
                raise ConnectionError("the engine has closed the connection")
            said = json.loads(line)
            if "id" in said:
                return said
            if on_event:
                on_event(said["params"])

    def close(self):
        self.file.close()
        self.socket.close()


class _Http:
    """A connection to the HTTP server: one call at a time."""

    def __init__(self, url, token):
        at = urlsplit(url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(at.hostname, at.port)
        self.path = at.path.rstrip("/") + "/rpc"
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def call(self, method, params, on_event):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        accept = {"Accept": "text/event-stream" if on_event else "application/json"}
        self.connection.request("POST", self.path, body, {**self.headers, **accept})
        answer = self.connection.getresponse()
        if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
            said = json.loads(answer.read())
            if answer.status != 200 and "jsonrpc" not in said:  # refused before it was an operation
                error = said.get("error", {})
                return {"error": {"message": error.get("message", f"status {answer.status}"), "data": error}}
            return said
        return self.events(answer, on_event)

    @staticmethod
    def events(answer, on_event):
        name, data, said = "", "", None
        for raw in answer:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[len("event: "):]
            elif line.startswith("data: "):
                data = line[len("data: "):]
            elif not line and data:
                message, data = json.loads(data), ""
                if name == "response":
                    said = message
                elif on_event:
                    on_event({"event": name, **message})
        if said is None:
            raise ConnectionError("the engine has ended the stream early")
        return said

    def close(self):
        self.connection.close()


class _Engine:
    """An engine of this process's own, which ends with it."""

    def __init__(self, program):
        found = shutil.which(program)
        if not found:
            raise FileNotFoundError(f"{program} is not installed: give Client a URL, or set RETORT_URL")
        self.dir = tempfile.mkdtemp(prefix="retort-")
        self.path = os.path.join(self.dir, "socket")
        log = os.path.join(self.dir, "log")
        with open(log, "wb") as said:
            self.process = subprocess.Popen(
                [found, "serve", "--socket", self.path, "--state", os.path.join(self.dir, "state")],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        end = time.monotonic() + START_S
        while not os.path.exists(self.path):
            if self.process.poll() is not None or time.monotonic() > end:
                with open(log, encoding="utf-8", errors="replace") as said:
                    text = said.read()
                self.stop()
                raise RuntimeError(f"retort serve does not start: {text.strip()}")
            time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


class Client:
    """An engine.

    `url` is http://HOST:PORT or https://…, or unix:PATH; by default that of RETORT_URL, whose token is in
    RETORT_TOKEN. Without either, the client starts an engine of its own, `retort serve`, which ends with close().
    Calls may be made from several threads.
    """

    def __init__(self, url=None, token=None, program="retort"):
        self.url = url or os.environ.get("RETORT_URL") or ""
        self.token = token or os.environ.get("RETORT_TOKEN")
        self._engine = None
        self._idle = []
        self._lock = threading.Lock()
        if self.url and not self.url.startswith(("http://", "https://", "unix:")):
            raise ValueError(f"{self.url!r}: write http://HOST:PORT or unix:PATH")
        if not self.url:
            self._engine = _Engine(program)
            self.url = f"unix:{self._engine.path}"
            atexit.register(self.close)

    def _connect(self):
        with self._lock:
            if self._idle:
                return self._idle.pop()
        if not self.url.startswith("unix:"):
            return _Http(self.url, self.token)
        try:
            return _Unix(self.url[len("unix:"):])
        except OSError as error:
            raise ConnectionError(f"{self.url}: {error.strerror}: does `retort serve` run?") from error

    def __call__(self, method, /, *, on_event=None, **params):
        """Run the operation `method`. `on_event` is called with each event that comes before the result."""
        if on_event:
            params["stream"] = True
        connection = self._connect()
        try:
            said = connection.call(method, params, on_event)
        except ConnectionRefusedError as error:
            raise ConnectionError(f"{self.url}: {error.strerror}: does `retort serve --listen` run?") from error
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        if "error" in said:
            raise Failed(said["error"])
        return said["result"]

    def session(self, **params):
        """Make a session: parameters as of `session.create`."""
        return Session(self, self("session.create", **params)["session"])

    def close(self):
        """Close all connections, and end the engine if it is this client's own."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        engine, self._engine = self._engine, None
        if engine:
            atexit.unregister(self.close)
            engine.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Result:
    """What a step has done: its record, and the parts that are asked for most."""

    def __init__(self, record):
        self.record = record
        self.ok = record["status"] == "ok"
        self.stdout, self.stderr = record["stdout"], record["stderr"]
        self.text = (record.get("value") or {}).get("text/plain")
        self.error = record.get("error")

    @property
    def failure(self):
        """What stderr does not already say of the error, or ""."""
        if not self.error:
            return "" if self.ok else self.record["status"]
        said = f"{self.error['name']}: {self.error['message']}"
        return "\n".join(part for part in ("" if said in self.stderr else said, self.error.get("hint")) if part)

    def __repr__(self):
        return f"<Result {self.record['status']} {self.text!r}>"


class Session:
    """A session, in whose box steps, programs and files are. It is closed at the end of a `with`."""

    def __init__(self, client, name):
        self.client, self.id = client, name

    def __call__(self, method, /, **params):
        return self.client(method, session=self.id, **params)

    def run(self, code, **params):
        """Run a step: parameters as of `step.run`."""
        return Result(self("step.run", code=code, **params))

    def branch(self, **params):
        return Session(self.client, self("session.branch", **params)["session"])

    def exec(self, argv, stdin=None, max_bytes=PIECE_BYTES, **params):
        """Run a program: (what it is when it has ended, stdout, stderr). `stdin`: bytes. Of each output, the
        first `max_bytes` are kept."""
        out = {"stdout": bytearray(), "stderr": bytearray()}

        def take(event):
            if event["event"] != "output":
                return
            data = event["data"].encode() if event["encoding"] != "base64" else base64.b64decode(event["data"])
            kept = out[event["stream"]]
            kept.extend(data[:max(0, max_bytes - len(kept))])

        begun = self("process.start", argv=list(argv), input=stdin is not None, hold=True, **params)
        writer = threading.Thread(target=self._feed, args=(begun["process"], stdin), daemon=True) if stdin else None
        if writer:
            writer.start()
        elif stdin is not None:
            self._feed(begun["process"], stdin)
        about = self("process.attach", process=begun["process"], on_event=take)
        if writer:
            writer.join()
        return about, bytes(out["stdout"]), bytes(out["stderr"])

    def _feed(self, process, data):
        with contextlib.suppress(Failed):  # a program need not read its input
            for at in range(0, len(data), PIECE_BYTES // 2):
                piece = base64.b64encode(data[at:at + PIECE_BYTES // 2]).decode()
                self("process.write", process=process, data=piece, encoding="base64")
            self("process.write", process=process, end=True)

    def read_file(self, path, max_bytes=None):
        """The bytes of a file: `path` is absolute, or relative to the workspace. At most `max_bytes`, and one more,
        so that a longer file is seen."""
        out = bytearray()

        def take(event):
            if event["event"] == "content":
                data = event["data"]
                out.extend(base64.b64decode(data) if event["encoding"] == "base64" else data.encode())

        limit = {} if max_bytes is None else {"limit": max_bytes + 1}
        self("path.read", path=path, on_event=take, **limit)
        return bytes(out)

    def write_file(self, path, content):
        """Write a file, and make the directories above it."""
        data = content.encode() if isinstance(content, str) else bytes(content)
        for at in range(0, max(len(data), 1), PIECE_BYTES):
            self("path.write", path=path, content=base64.b64encode(data[at:at + PIECE_BYTES]).decode(),
                 encoding="base64", append=at > 0)

    def close(self):
        with contextlib.suppress(Failed):
            self("session.close")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
