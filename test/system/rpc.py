# SPDX-License-Identifier: Apache-2.0
"""An engine of a test's own, and a client that speaks JSON-RPC to it.

    with service.Engine() as engine:
        client = engine.client()
        session = client("session.create")["session"]
        print(client.run(session, "6 * 7")["value"]["text/plain"])
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ANSWER_S = 60


class Failed(Exception):
    """An operation's error: `code` is its word, str() its message."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.data = error.get("data") or {}
        self.code = self.data.get("code")


class Client:
    def __init__(self, path, timeout=ANSWER_S):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")
        self.last_id = 0

    def send(self, method, **params):
        """Ask without waiting. Returns the id of the question."""
        self.last_id += 1
        question = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        self.asked = question
        self.file.write(json.dumps(question).encode() + b"\n")
        self.file.flush()
        return self.last_id

    def receive(self):
        """(id, answer) of the next answer."""
        line = self.file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the engine is gone")
        said = json.loads(line)
        return said.get("id"), said

    @staticmethod
    def result(said):
        if "error" in said:
            raise Failed(said["error"])
        return said["result"]

    def __call__(self, method, **params):
        wanted = self.send(method, **params)
        while True:
            number, said = self.receive()
            if number == wanted:
                return self.result(said)

    def run(self, session, code, **params):
        return self("step.run", session=session, code=code, **params)

    def value(self, session, code, **params):
        """The last expression's value, as JSON where it is that, else as text."""
        done = self.run(session, code, **params)
        if done["status"] != "ok":
            raise AssertionError(f"{code!r}: {done['status']}: {done.get('error')} {done['state']}")
        value = done.get("value") or {}
        return value.get("application/json", value.get("text/plain"))

    def close(self):
        self.file.close()
        self.socket.close()


class Engine:
    """`retort serve`, with a socket and a state directory of its own."""

    def __init__(self, *options, state=None):
        self.dir = tempfile.mkdtemp(prefix="e", dir=harness.TMP)
        self.state = state or os.path.join(self.dir, "state")
        self.path = os.path.join(self.dir, "s.sock")
        if len(self.path) > 100:  # what the address of a socket holds
            self.path = os.path.join(tempfile.mkdtemp(prefix="rt-test-", dir="/tmp"), "s.sock")
        self.options = options
        self.clients = []
        self.start()

    def start(self):
        self.log = open(os.path.join(self.dir, "log"), "ab")
        self.process = subprocess.Popen(
            [harness.RETORT, "serve", "--socket", self.path, "--state", self.state, *self.options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=harness.environment(), cwd=self.dir)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                self.client().close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.005)
        raise AssertionError(f"the engine did not start: {self.said()}")

    def said(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def client(self, **options):
        client = Client(self.path, **options)
        self.clients.append(client)
        return client

    @property
    def warden(self):
        return next(p for p in children(self.process.pid) if name_of(p) == "retort-warden")

    def stop(self, number=signal.SIGTERM):
        """End it. Returns: its exit status."""
        for client in self.clients:
            client.close()
        self.clients = []
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def children(pid):
    return [child for child, (parent, *_) in harness.processes().items() if parent == pid]


def descendants(pid):
    known, found = harness.processes(), {pid}
    while more := {child for child, (parent, *_) in known.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def nested(pid):
    """The pids it has in the namespaces it is in, outermost first; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            return [int(w) for w in next(line for line in f if line.startswith("NSpid")).split()[1:]]
    except (OSError, StopIteration):
        return []


def inits_of(engine, session):
    """The first processes of the boxes in which something has RETORT_SESSION=@session in its environment."""
    mark = f"RETORT_SESSION={session}".encode()
    found = set()
    for pid in descendants(engine):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                is_marked = mark in f.read().split(b"\0")
        except OSError:
            continue
        if is_marked:
            found.add(init_of(pid))
    return sorted(found - {None})


def init_of(pid):
    """The first process of the box that it is in, or None."""
    known = harness.processes()
    while pid in known and not known[pid][1].startswith("retort-init"):
        pid = known[pid][0]
    return pid if pid in known else None
