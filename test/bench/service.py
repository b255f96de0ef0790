# SPDX-License-Identifier: Apache-2.0
"""What the measurements of sessions share: an engine of their own, a thin client, cgroups, statistics."""

import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time

PYTHON = "/usr/bin/python3"


def p95(values):
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def median(values):
    return statistics.median(values) if values else float("nan")


def clock_ms():
    return time.perf_counter() * 1000


class Client:
    """One connection. Requests are made and answers read outside of what is measured."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest = b""
        self.number = 0

    def make(self, method, **params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return json.dumps(request).encode() + b"\n"

    def line(self):
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                return line
            got = self.socket.recv(1 << 16)
            if not got:
                raise RuntimeError("the engine has closed the connection")
            self.rest += got

    def call(self, method, **params):
        return self.timed(self.make(method, **params))[1]

    def timed(self, request):
        """(ms, result) of one request."""
        start = clock_ms()
        self.socket.sendall(request)
        line = self.line()
        took = clock_ms() - start
        return took, self.result(line)

    @staticmethod
    def result(line):
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def create(self, **params):
        return self.call("session.create", **params)["session"]

    def run(self, session, code, **more):
        """(ms, record) of a step that has to succeed."""
        took, record = self.timed(self.make("step.run", session=session, code=code, **more))
        if record["status"] != "ok":
            raise RuntimeError(f"{code!r}: {record['status']} {record.get('error')} {record.get('stderr')}")
        return took, record

    def close(self, session):
        self.call("session.close", session=session)

    def many(self, requests):
        """Send all, then take the answers, in any order: (ms until the last, results)."""
        start = clock_ms()
        self.socket.sendall(b"".join(requests))
        lines = [self.line() for _ in requests]
        took = clock_ms() - start
        return took, [self.result(line) for line in lines]


class Engine:
    """`retort serve` with a socket and a journal of its own."""

    def __init__(self, retort, *options):
        self.home = tempfile.TemporaryDirectory(prefix="retort-bench-")
        self.path = os.path.join(self.home.name, "s")
        state = os.path.join(self.home.name, "state")
        self.process = subprocess.Popen(
            [retort, "serve", "--quiet", "--socket", self.path, "--state", state, *options]
        )
        self.client = self.connect()

    def connect(self):
        for _ in range(500):
            try:
                return Client(self.path)
            except OSError:
                time.sleep(0.01)
            if self.process.poll() is not None:
                break
        raise RuntimeError("retort serve has ended, or does not answer")

    def __enter__(self):
        return self.client

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.home.cleanup()


def save(retort, name, found):
    """Write what was measured to bench/@name.json beside the program."""
    directory = os.path.join(os.path.dirname(os.path.abspath(retort)), "bench")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, f"{name}.json"), "w", encoding="utf-8") as f:
        json.dump(found, f, indent=1)


def calibration(rounds=9):
    """Bare `python3 -I -c 'print(1+1)'`: 14.7 ms in the fast phase of the machine of the aims."""
    times = []
    for _ in range(rounds):
        start = clock_ms()
        subprocess.run([PYTHON, "-I", "-c", "print(1+1)"], stdout=subprocess.DEVNULL, check=True)
        times.append(clock_ms() - start)
    return median(times)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def rss_bytes(pid, what="Pss:"):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(what))


def memory_leaves(warden):
    """The cgroup directories of the warden's boxes, for memory: of v1's hierarchy, or v2's."""
    found = set()
    for pid in descendants(warden):
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as f:
                rows = [line.rstrip("\n").split(":", 2) for line in f]
        except OSError:
            continue
        for _, controllers, path in rows:
            if "memory" in controllers.split(","):
                found.add("/sys/fs/cgroup/memory" + path)
            elif not controllers and os.path.exists("/sys/fs/cgroup" + path + "/memory.current"):
                found.add("/sys/fs/cgroup" + path)
    return sorted(p for p in found if "retort" in p)


def descendants(pid):
    found, queue = [], [pid]
    while queue:
        for child in children(queue.pop()):
            found.append(child)
            queue.append(child)
    return found


def charge_bytes(leaf):
    """(all that is charged to a leaf, of that the kernel's own memory)."""

    def number(name):
        try:
            with open(os.path.join(leaf, name), encoding="utf-8") as f:
                return int(f.read())
        except OSError:
            return None

    used = number("memory.usage_in_bytes")
    if used is not None:
        return used, number("memory.kmem.usage_in_bytes") or 0
    kernel = 0
    with open(os.path.join(leaf, "memory.stat"), encoding="utf-8") as f:
        for line in f:
            name, value = line.split()
            if name == "kernel":
                kernel = int(value)
    return number("memory.current") or 0, kernel
