#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the ways to a server in a box cost, and a key over a WebSocket.

usage: ports.py RETORT [--rounds N] [--mib N]

The same server runs on the host and in a session. Rows take turns, in rounds, and a ratio is taken within its round:
  request  GET of a few bytes, on a connection that stays and on a new one: directly, through a port of the host
           (`port.open`, as -p does), and through a path of the HTTP server
  body     GET of N MiB, in the same three ways
  key      a byte to a terminal in raw mode until its echo is there: over a WebSocket beside a bare pty
Each client is this Python, with plain sockets.
"""

import argparse
import base64
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import tempfile
import time

from processes import ECHO, PYTHON, Bare, table
from service import Engine, calibration, clock_ms, save

REQUESTS = 50  # of one round
KEYS = 100
TOKEN = "0123456789abcdef0123456789abcdef"
SERVER = r"""
import socket, threading
def serve(c):
    with c, c.makefile("rb") as lines:
        while True:
            head = lines.readline()
            if not head:
                return
            while lines.readline().strip():
                pass
            size = int(head.split()[1].split(b"/")[-1] or 2)
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            piece = b"x" * min(size, 1 << 18)
            while size > 0:
                n = min(size, len(piece))
                c.sendall(piece[:n])
                size -= n
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", PORT))
s.listen(128)
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(c,), daemon=True).start()
"""


class Way:
    """A way to the server: an address, a path before that of the request, headers."""

    def __init__(self, host, port, path="", headers=None):
        self.host, self.port, self.path, self.headers = host, port, path, headers or {}
        self.kept = None

    def get(self, connection, size):
        connection.request("GET", f"{self.path}/{size}", headers=self.headers)
        with connection.getresponse() as answer:
            got = 0
            while piece := answer.read(1 << 18):
                got += len(piece)
        if got != size:
            raise RuntimeError(f"{got} bytes of {size}")

    def connect(self):
        connection = http.client.HTTPConnection(self.host, self.port)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def new_ms(self):
        start = clock_ms()
        connection = self.connect()
        self.get(connection, 2)
        took = clock_ms() - start
        connection.close()
        return took

    def kept_ms(self):
        self.kept = self.kept or self.connect()
        start = clock_ms()
        self.get(self.kept, 2)
        return clock_ms() - start

    def body_ms(self, size):
        self.kept = self.kept or self.connect()
        start = clock_ms()
        self.get(self.kept, size)
        return clock_ms() - start


class WebSocket:
    """A terminal of a session. Frames are written and read by hand: a key is one of seven bytes."""

    def __init__(self, port, session, process):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /terminal/{session}/{process} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                             f"Authorization: Bearer {TOKEN}\r\n\r\n").encode())
        self.lines = self.socket.makefile("rb")
        status = self.lines.readline()
        while self.lines.readline().strip():
            pass
        if b" 101 " not in status:
            raise RuntimeError(status)
        while self.message()[0] != 0x82:  # the output of the program, after the text message "attached"
            pass

    def message(self):
        kind, size = self.lines.read(2)
        if size == 126:
            size = struct.unpack(">H", self.lines.read(2))[0]
        return kind, self.lines.read(size)

    def key_ms(self):
        start = clock_ms()
        self.socket.sendall(b"\x82\x81\0\0\0\0x")
        self.message()
        return clock_ms() - start


class Rpc:
    """JSON-RPC over HTTP, as the caller whose sessions the paths lead to."""

    def __init__(self, port):
        self.port = port

    def call(self, method, **params):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/rpc", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
        answer = json.load(connection.getresponse())
        connection.close()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def open_ways(rpc):
    """The server on the host and in a session, and the three ways to it."""
    host = subprocess.Popen([PYTHON, "-I", "-c", SERVER.replace("PORT", "0")], stdout=subprocess.PIPE, text=True)
    direct = int(host.stdout.readline())
    session = rpc.call("session.create", runtime="python")["session"]
    process = rpc.call("process.start", session=session, argv=[PYTHON, "-I", "-c", SERVER.replace("PORT", "8000")])["process"]
    while not rpc.call("process.read", session=session, process=process)["data"]:
        time.sleep(0.01)
    place = rpc.call("port.open", session=session, port=8000)["address"]
    path = rpc.call("port.open", session=session, port=8000, listen="http")["url_path"]
    return host, session, {
        "direct": Way("127.0.0.1", direct),
        "a port of the host": Way("127.0.0.1", int(re.search(r"\d+$", place).group())),
        "a path": Way("127.0.0.1", rpc.port, path.rstrip("/"), {"Authorization": f"Bearer {TOKEN}"}),
    }


def requests(ways, what, measure, rounds):
    samples = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            samples[name] += [measure(way) for _ in range(REQUESTS)]
    return table(f"GET of 2 bytes, {what} ({rounds} x {REQUESTS})", samples, "direct")


def bodies(ways, rounds, mib):
    rates = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            rates[name].append(mib / (way.body_ms(mib << 20) / 1000))
    return table(f"GET of {mib} MiB ({rounds} rounds)", rates, "direct", unit="MiB/s")


def keys(rpc, session, rounds):
    bare = Bare()
    bare.open_terminal()
    process = rpc.call("terminal.open", session=session, argv=[PYTHON, "-I", "-c", ECHO])["process"]
    terminal = WebSocket(rpc.port, session, process)
    samples = {"a bare pty": [], "retort, WebSocket": []}
    for _ in range(rounds):
        samples["a bare pty"] += [bare.key_ms() for _ in range(KEYS)]
        samples["retort, WebSocket"] += [terminal.key_ms() for _ in range(KEYS)]
    bare.close()
    return table(f"a key until its echo ({rounds} x {KEYS}; aim: 0.3 ms added)", samples, "a bare pty")


def main():
    parser = argparse.ArgumentParser(description="measure the ways to a server in a box")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=256)
    args = parser.parse_args()
    print(f"bare python3: {calibration():.1f} ms")
    port = free_port()
    tokens = tempfile.NamedTemporaryFile("w", prefix="retort-bench-", encoding="utf-8")
    tokens.write(f"bench {TOKEN} paths=yes\n")
    tokens.flush()
    with Engine(os.path.abspath(args.retort), "--listen", f"127.0.0.1:{port}", "--token-file", tokens.name, "--log", "none"):
        rpc = Rpc(port)
        host, session, ways = open_ways(rpc)
        found = [requests(ways, "a connection that stays", Way.kept_ms, args.rounds),
                 requests(ways, "a new connection", Way.new_ms, args.rounds),
                 bodies(ways, args.rounds, args.mib), keys(rpc, session, args.rounds)]
        host.kill()
        host.wait()
    save(args.retort, "ports", found)


if __name__ == "__main__":
    main()
