#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What rules for HTTP requests cost: the start of a box that has one, and requests over TLS that ends at the gateway.

usage: http_rules.py RETORT [--rounds N] [--mib N]

Rows take turns, in rounds, and a ratio is taken within its round:
  start    `retort run`, with no rule, a rule for a host, and one for requests
  kept     GET of 2 bytes over TLS on a connection that stays: on the host, through a rule for the host (TLS ends in the box),
           through one for requests, and with a secret in the request
  new      the same with a connection each
  body     N MiB down, and the most memory that the gateway had
  message  50 bytes there and back, and 1 MB in messages of 50 KB, over a WebSocket
The client is the same Python program on the host and in the box; the server is on the host.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from bench import compare, machine, wall_ms
from network import gateway_of
from processes import PYTHON, table
from service import Engine, calibration, save

KEPT, NEW = 200, 50  # of one round
HOST = "api.test"

SERVER = r"""
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
PART = bytes(1 << 16)
def serve(c):
    try:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        c = context.wrap_socket(c, server_side=True)
        while head := c.recv(1 << 16):
            if b"websocket" in head:
                c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
                while data := c.recv(1 << 16):
                    c.sendall(data)
                return
            mib = int(head.split(b" ", 2)[1].rpartition(b"/")[2] or 0)
            if not mib:
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                continue
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (mib << 20))
            for _ in range(mib << 4):
                c.sendall(PART)
    except OSError:
        pass
s = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(s.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=s.accept()[:1], daemon=True).start()
"""
CLIENT = r"""
import json, os, socket, ssl, time
def connect(port, context):
    c = socket.create_connection((AT, port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(c, server_hostname="api.test")
def question(path, key):
    return b"GET /%d HTTP/1.1\r\nHost: api.test\r\n%s\r\n" % (path, b"Authorization: Bearer %s\r\n" % os.environ["KEY"].encode() if key else b"")
def ask(c, q):
    c.sendall(q)
    said = b""
    while not said.endswith(b"\r\n\r\nok"):
        said += c.recv(4096)
def kept(port, n, key):
    took, context = [], ssl.create_default_context(cafile=CA)
    c, q = connect(port, context), question(0, key)
    for _ in range(n):
        start = time.perf_counter()
        ask(c, q)
        took.append((time.perf_counter() - start) * 1000)
    return took
def new(port, n, key):
    took, context, q = [], ssl.create_default_context(cafile=CA), question(0, key)
    for _ in range(n):
        start = time.perf_counter()
        with connect(port, context) as c:
            ask(c, q)
        took.append((time.perf_counter() - start) * 1000)
    return took
def messages(port, n, bytes_each):
    with connect(port, ssl.create_default_context(cafile=CA)) as c:
        c.sendall(b"GET /0 HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        head, took = b"", []
        while not head.endswith(b"\r\n\r\n"):
            head += c.recv(1)
        for _ in range(n):
            start, left = time.perf_counter(), bytes_each
            c.sendall(bytes(bytes_each))
            while left:
                left -= len(c.recv(left))
            took.append((time.perf_counter() - start) * 1000)
    return took
def small(port, n, key):
    return messages(port, n, 50)
def large(port, n, key):
    return [sum(messages(port, n, 50000))]
def body(port, mib, key):
    buffer = bytearray(1 << 18)
    with connect(port, ssl.create_default_context(cafile=CA)) as c:
        start, left = time.perf_counter(), mib << 20
        c.sendall(question(mib, key))
        left -= len(c.recv(1 << 16).partition(b"\r\n\r\n")[2])
        while left > 0:
            left -= c.recv_into(buffer)
        return mib / (time.perf_counter() - start)
"""


def certificate(folder):
    path = os.path.join(folder, "server.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-keyout", path + ".key", "-out", path, "-subj", "/CN=" + HOST, "-addext", "subjectAltName=DNS:" + HOST],
                   check=True, capture_output=True)
    with open(path + ".key", encoding="utf-8") as key, open(path, "a", encoding="utf-8") as out:
        out.write(key.read())
    return path


class Direct:
    def __init__(self, port, ca):
        self.port, self.prelude = port, f"AT, CA = '127.0.0.1', {ca!r}\n" + CLIENT

    def ask(self, what, n):
        done = subprocess.run([PYTHON, "-I", "-c", self.prelude + f"print(json.dumps({what}({self.port}, {n}, False)))"], capture_output=True, check=True)
        return json.loads(done.stdout)


class Box:
    def __init__(self, engine, ca, key=False, **params):
        self.engine, self.key = engine, key
        self.session = engine.create(runtime="python", **params)
        where = "None" if ca is None else "'/tmp/ca.pem'"
        engine.run(self.session, f"AT, CA = 'api.test', {where}\nopen('/tmp/ca.pem', 'w').write({ca!r} or '')\n" + CLIENT)

    def ask(self, what, n):
        return json.loads(self.engine.run(self.session, f"print(json.dumps({what}(443, {n}, {self.key})))")[1]["stdout"])


def high_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def through(retort, args):
    found = []
    with tempfile.TemporaryDirectory(prefix="retort-bench-") as folder:
        ca = certificate(folder)
        os.environ["CURL_CA_BUNDLE"] = ca
        server = subprocess.Popen([PYTHON, "-I", "-c", SERVER, ca], stdout=subprocess.PIPE, text=True)
        port = int(server.stdout.readline())
        place = f"{HOST}:443=127.0.0.1:{port}"
        at_engine = Engine(retort)
        with at_engine as engine:
            with open(ca, encoding="utf-8") as f:
                text = f.read()
            rows = {"direct": Direct(port, ca), "a rule for the host": Box(engine, text, net=[place]),
                    "a rule for requests": Box(engine, None, net=[place, f"* {HOST}/*", f"WEBSOCKET {HOST}/*"]),
                    "with a secret": Box(engine, None, key=True, net=[place, f"* {HOST}/*", f"WEBSOCKET {HOST}/*"],
                                         secrets=[{"name": "KEY", "value": "sk-0123456789abcdef", "to": HOST}])}
            for what, n, title, unit in (("kept", KEPT, "GET of 2 bytes over TLS, connection kept (aim: a ratio of 3)", "ms"),
                                         ("new", NEW, "connection, TLS, GET of 2 bytes, close", "ms"),
                                         ("small", 100, "a message of 50 bytes there and back, WebSocket over TLS", "ms"),
                                         ("large", 20, "1 MB there and back in messages of 50 KB, WebSocket over TLS", "ms"),
                                         ("body", args.mib, f"{args.mib} MiB down over TLS", "MiB/s")):
                samples = {name: [] for name in rows}
                for _ in range(args.rounds if unit == "ms" else max(args.rounds // 4, 3)):
                    for name, way in rows.items():
                        said = way.ask(what, n)
                        samples[name] += said if isinstance(said, list) else [said]
                found.append(table(title, samples, "direct", **({} if unit == "ms" else {"unit": unit})))
            most = high_kib(gateway_of(at_engine.process.pid))
            print(f"  the gateway's memory at most: {most} KiB")
            found.append({"title": "memory", "gateway_vm_hwm_kib": most})
        server.kill()
        server.wait()
    return found


def main():
    parser = argparse.ArgumentParser(description="measure rules for requests")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--mib", type=int, default=256)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    print(f"bare python3: {calibration():.1f} ms")
    found = [machine()]
    with tempfile.TemporaryDirectory(prefix="retort-bench-", dir="/dev/shm") as where:
        run = [retort, "run", "-c", "print(1+1)"]
        rows = {"without a rule": run, "a rule for a host": [*run[:2], "--net", "api.test:443=127.0.0.1:9", *run[2:]],
                "a rule for requests": [*run[:2], "--net", "* api.test/*", *run[2:]]}
        found.append(compare("cold start of `retort run`: print(1+1)", rows, wall_ms, args.rounds * 2, where))
    found += through(retort, args)
    save(retort, "http_rules", found)
    print(f"bare python3: {calibration():.1f} ms")


if __name__ == "__main__":
    main()
