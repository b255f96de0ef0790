#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What TLS of `retort serve` costs.

usage: tls.py RETORT [--rounds N]

Two engines, one with a certificate and one without, get the same requests in turns; a ratio is taken within a round:
  kept     GET /healthz on a connection that stays
  new      GET /healthz on a new connection, with its handshake; resumed: with the state of an earlier session
  socket   a WebSocket message of 64 KiB there and back, through the port of a program in a session
  body     GET of 64 MiB from that program
Each client is this Python, with plain sockets or with those of its module ssl.
"""

import argparse
import json
import os
import socket
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
MESSAGE = 64 << 10
BODY = 64 << 20
ECHO = r"""
import socket, threading
def serve(c):
    head = b""
    while b"\r\n\r\n" not in head: head += c.recv(65536)
    if b"upgrade: websocket" in head.lower():
        c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while data := c.recv(1 << 18): c.sendall(data)
    else:
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % SIZE)
        for _ in range(SIZE >> 18): c.sendall(bytes(1 << 18))
    c.close()
s = socket.create_server(("127.0.0.1", 8000), backlog=64)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


class Way:
    def __init__(self, web, tls):
        self.server = web.Server("--log", "none", tls=tls)
        self.context = tls.context() if tls else None
        self.session = None
        session = self.server.rpc("session.create")["session"]
        self.server.rpc("process.start", session=session, argv=["/usr/bin/python3", "-c", ECHO.replace("SIZE", str(BODY))])
        while True:
            try:
                self.path = self.server.rpc("port.open", session=session, port=8000, listen="http")["url_path"]
                break
            except web.Failed:
                time.sleep(0.05)
        self.kept = self.open()
        self.socket = self.open()
        self.socket.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(4096)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def open(self, session=None):
        sock = socket.create_connection(("127.0.0.1", self.server.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.context:
            return sock
        return self.context.wrap_socket(sock, server_hostname="localhost", session=session)

    def get(self, sock):
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")

    def do_kept(self):
        self.get(self.kept)

    def do_new(self):
        with self.open() as sock:
            self.get(sock)
            self.session = sock.session if self.context else None

    def do_resumed(self):
        with self.open(self.session) as sock:
            self.get(sock)

    def do_socket(self):
        self.socket.sendall(bytes(MESSAGE))
        left = MESSAGE
        while left:
            left -= len(self.socket.recv(left))

    def do_body(self):
        with self.open() as sock:
            sock.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            n = 0
            while n < BODY:
                data = sock.recv(1 << 18)
                assert data
                n += len(data)


def main():
    parser = argparse.ArgumentParser(description="what TLS costs")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    os.environ["RETORT"] = os.path.abspath(args.retort)
    import web  # reads RETORT
    tls = web.Identity()
    plain, secure = Way(web, None), Way(web, tls)
    print(f"{'':10}{'plain ms':>10}{'p95':>8}{'TLS ms':>10}{'p95':>8}{'ratio':>8}")
    out = {}
    for what, n in (("kept", 200), ("new", 50), ("resumed", 50), ("socket", 100), ("body", 1)):
        times, ratios = {plain: [], secure: []}, []
        for _ in range(args.rounds):
            medians = {}
            for way in (plain, secure):
                did = []
                for _ in range(n):
                    begun = time.perf_counter()
                    getattr(way, "do_" + what)()
                    did.append(1000 * (time.perf_counter() - begun))
                times[way] += did
                medians[way] = statistics.median(did)
            ratios.append(medians[secure] / medians[plain])
        row = []
        for way in (plain, secure):
            all_times = sorted(times[way])
            row += [statistics.median(all_times), all_times[min(len(all_times) - 1, int(len(all_times) * .95))]]
        out[what] = [*row, statistics.median(ratios)]
        print(f"{what:10}{row[0]:10.3f}{row[1]:8.3f}{row[2]:10.3f}{row[3]:8.3f}{out[what][-1]:8.2f}", flush=True)
    print(json.dumps(out))
    for way in (plain, secure):
        way.server.stop()
    tls.close()


if __name__ == "__main__":
    main()
