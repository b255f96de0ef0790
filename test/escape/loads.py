#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a hostile caller does to an engine, by name: each for as long as it is told.

usage: loads.py NAME SOCKET PORT TOKEN SECONDS

A process of its own, so that who measures beside it is not slowed by this one's interpreter. Prints a line when the
load has begun, and one with how often it was done at the end.
"""

import http.client
import json
import os
import socket
import sys
import time


class Eve:
    """Calls over HTTP with her token."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.http = None

    def request(self, method, body_id=1, **params):
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if body_id is not None:
            message["id"] = body_id
        if self.http is None:
            self.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            self.http.request("POST", "/rpc", json.dumps(message), head)
            answer = self.http.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.http.close()
            self.http = None
            return 0, b""

    def call(self, method, **params):
        return json.loads(self.request(method, **params)[1] or b"{}")

    def session(self, **params):
        said = self.call("session.create", limits={"timeout_ms": 600_000, "cpu_ms": 600_000}, **params)
        if "result" not in said:
            raise RuntimeError(said)
        return said["result"]["session"]

    def run(self, session, code, **params):
        return self.call("step.run", session=session, code=code, **params)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def head(self, length, extra=""):
        return (f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
                f"Content-Type: application/json\r\n{extra}Content-Length: {length}\r\n\r\n").encode()


def stepping(code, before=None):
    """The same step again and again."""
    def start(eve):
        s = eve.session()
        if before:
            eve.run(s, before)
        return lambda: eve.run(s, code)
    return start


DISPLAYS = """
class Many:
    def __init__(self, n): self.n = n
    def _repr_mimebundle_(self, **_): return {"text/plain": "x", "application/json": [{}] * self.n}
"""
ZEROS = "class Zeros:\n    def __repr__(self): return '\\0\\ud800\\x1b' * 3_000_000"
LONG_NAMES = """
import os
for i in range(15):
    os.mkdir('d' * 250); os.chdir('d' * 250)
for i in range(9900): open('%0250d' % i, 'w').close()
"""
MANY_FILES = "import os\nfor i in range(9900): open('f%d' % i, 'w').close()"
TOUCH = "for f in os.listdir('.'): os.utime(f)"
MANY_EVERYWHERE = """
import os
for d in ('/tmp', '/dev/shm', '.'):
    for i in range(9900): open(d + '/f%d' % i, 'w').close()
"""
TOUCH_EVERYWHERE = "for d in ('/tmp', '/dev/shm', '.'):\n    for f in os.listdir(d): os.utime(d + '/' + f)\n"


def rolled_back(before, code):
    def start(eve):
        s = eve.session()
        eve.run(s, before)
        return lambda: eve.run(s, code + "\nraise ValueError", atomic=True)
    return start


def undone(eve):
    s = eve.session()
    eve.run(s, MANY_FILES)

    def one():
        eve.run(s, TOUCH)
        eve.call("session.undo", session=s)
    return one


def closed_files(eve):
    def one():
        s = eve.session()
        for _ in range(3):
            eve.run(s, MANY_FILES)
        eve.request("session.close", session=s)
    return one


def closed_bytes(eve):
    """What a box holds in memory is freed by whoever lets go of it last."""
    def one():
        s = eve.call("session.create", limits={"memory_bytes": 1 << 30})["result"]["session"]
        eve.run(s, "b = bytes(1 << 20)\nwith open('f', 'wb') as f:\n    for _ in range(600): f.write(b)")
        eve.request("session.close", session=s)
    return one


def queue(eve):
    s = eve.session()
    eve.run(s, "import time; time.sleep(1000)", detach=True, wait_ms=0)
    code = "#" + "y" * (15 << 20)
    return lambda: eve.request("step.run", None, session=s, code=code, detach=True)


def small_queue(eve):
    s = eve.session()
    eve.run(s, "import time; time.sleep(1000)", detach=True, wait_ms=0)
    return lambda: eve.request("step.run", None, session=s, code="1", detach=True)


def file_write(eve):
    s = eve.session()
    content = "x" * (15 << 20)
    n = iter(range(10**9))
    return lambda: eve.call("file.write", session=s, path="f", content=f"{next(n)}{content}")


def file_read(eve):
    s = eve.session()
    eve.run(s, "import os; open('f', 'wb').write(os.urandom(16 << 20))")
    return lambda: eve.request("file.read", session=s, path="f")


def file_list(eve):
    s = eve.session()
    eve.run(s, MANY_FILES)
    return lambda: eve.request("file.list", session=s)


def log_all(eve):
    s = eve.session()
    for i in range(150):
        eve.run(s, f"x = {i}")
    return lambda: [eve.request(m, session=s, **p) for m, p in (("session.log", {"all": True}), ("session.export", {}))]


def graph(eve):
    s = eve.session()
    for i in range(150):
        eve.run(s, f"x = {i}")
    return lambda: eve.request("session.graph")


def thousands(eve):
    """A past of thousands of steps, and of hundreds of sessions."""
    s = eve.session()
    for i in range(3000):
        eve.request("file.write", session=s, path="f", content=str(i))
    for _ in range(100):
        eve.request("session.close", session=eve.session(runtime="shell"))
    asks = (("session.list", {}), ("session.graph", {}), ("session.log", {"session": s}),
            ("session.log", {"session": s, "all": True}), ("session.prune", {"all": True, "dry_run": True}))
    return lambda: [eve.request(method, **params) for method, params in asks]


def sessions(eve):
    def one():
        s = eve.session()
        eve.request("session.close", session=s)
        eve.request("session.list")
    return one


def branches(eve):
    s = eve.session()
    eve.run(s, "x = bytearray(20 << 20)")

    def one():
        made = eve.call("session.branch", session=s).get("result")
        if made:
            eve.request("session.close", session=made["session"])
    return one


def unread(eve, method, **params):
    """Ask again and again, and read no answer."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    held = []

    def one():
        if len(held) > 20:
            held.pop(0).close()
        held.append(eve.socket())
        held[-1].sendall(eve.head(len(body)) + body)
        time.sleep(0.05)
    return one


def slow_readers(eve):
    """Ask for much, and read none of it."""
    s = eve.session()
    eve.run(s, "import os; open('f', 'wb').write(os.urandom(16 << 20))")
    return unread(eve, "file.read", session=s, path="f")


def records_not_taken(eve):
    """Ask for long records, and read none of them."""
    s = eve.session()
    for _ in range(3):
        eve.run(s, "import os\nfor _ in range(9): os.write(1, bytes(1 << 20)); os.write(2, b'\\xff' * (1 << 20))")
    return unread(eve, "session.export", session=s)


def long_code_logged(eve):
    s = eve.session()
    for i in range(3):
        eve.run(s, f"{i}\n#" + "y" * (10 << 20))
    return lambda: eve.request("session.log", session=s)


def values_at_once(eve):
    """Of several sessions, each with many characters that are written as six."""
    all_of = [eve.session() for _ in range(6)]
    for s in all_of:
        eve.run(s, ZEROS)

    def one():
        runs = [eve.run(s, "Zeros()", detach=True, wait_ms=0)["result"]["run"] for s in all_of]
        for run in runs:
            eve.request("step.get", run=run, wait_ms=60_000)
    return one


def stalled_streams(eve):
    """Ask for events, and take none."""
    s = [eve.session() for _ in range(2)]
    held = []

    def one():
        if len(held) > 3:
            held.pop(0).close()
        held.append(eve.socket())
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "step.run", "params": {
            "session": s[len(held) % 2], "code": "for _ in range(200): print('x' * 100_000)"}}).encode()
        held[-1].sendall(eve.head(len(body), "Accept: text/event-stream\r\n") + body)
        time.sleep(0.2)
    return one


def drips(eve):
    """Hold as many connections as there are, a byte at a time; no token is needed for that."""
    held = []

    def one():
        while len(held) < 300:
            try:
                held.append(socket.create_connection(("127.0.0.1", eve.port), timeout=1))
            except OSError:
                break
        for at in list(held):
            try:
                at.send(b"G")
            except OSError:
                held.remove(at)
        time.sleep(0.05)
    return one


def knocks(eve):
    """Connect and go, connect and ask without a token."""
    def one():
        for ask in (b"", b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n"):
            with eve.socket() as s:
                if ask:
                    s.sendall(ask)
                    s.recv(100)
    return one


def parts(eve):
    """A message of many small parts: as many as are read, and more."""
    most = "[" + "{}," * 190_000 + "{}]"
    over = "[" + "{}," * 5_000_000 + "{}]"
    texts = [f'{{"jsonrpc":"2.0","id":1,"method":"engine.info","params":{{"x":{x}}}}}'.encode() for x in (most, over)]
    n = iter(range(10**9))

    def one():
        with eve.socket() as s:
            text = texts[next(n) % 2]
            s.sendall(eve.head(len(text)) + text)
            s.recv(1000)
    return one


LOADS = {
    "invalid output": stepping("sys.stdout.buffer.write(b'\\xff' * (10 << 20)); sys.stdout.flush();"
                               "sys.stderr.buffer.write(b'\\xff' * (10 << 20)); sys.stderr.flush()", "import sys"),
    "zero output": stepping("sys.stdout.write('\\0' * (10 << 20)); sys.stderr.write('\\0' * (10 << 20))", "import sys"),
    "random output": stepping("sys.stdout.write(os.urandom(5 << 20).hex()); sys.stderr.write(os.urandom(5 << 20).hex())",
                              "import os, sys"),
    "endless output": stepping("b = b'y\\n' * 32768\nfor _ in range(5000): os.write(1, b); os.write(2, b)", "import os"),
    "many writes": stepping("for _ in range(300_000): os.write(1, b'y')", "import os"),
    "displays of nothing": stepping("for _ in range(20): display(Many(30000))", DISPLAYS),
    "value of nothing": stepping("Many(110000)", DISPLAYS),
    "long names": stepping(TOUCH, LONG_NAMES),
    "many files": stepping(TOUCH, MANY_FILES),
    "many files everywhere": stepping(TOUCH_EVERYWHERE, MANY_EVERYWHERE),
    "rolled back everywhere": rolled_back(MANY_EVERYWHERE, TOUCH_EVERYWHERE),
    "many files undone": undone,
    "many files closed": closed_files,
    "many bytes closed": closed_bytes,
    "large steps in line": queue,
    "small steps in line": small_queue,
    "large files written": file_write,
    "large files read": file_read,
    "files listed": file_list,
    "log and record": log_all,
    "graph": graph,
    "lists of thousands": thousands,
    "sessions": sessions,
    "branches": branches,
    "slow readers": slow_readers,
    "records not taken": records_not_taken,
    "long code logged": long_code_logged,
    "values at once": values_at_once,
    "stalled streams": stalled_streams,
    "drips": drips,
    "knocks": knocks,
    "parts": parts,
}


def main():
    name, _, port, token, seconds = sys.argv[1:]
    one = LOADS[name](Eve(int(port), token))
    print("begun", flush=True)
    end, n = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        one()
        n += 1
    print(n, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
