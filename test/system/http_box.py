# SPDX-License-Identifier: Apache-2.0
"""A web server for a box, and an engine whose callers reach it over HTTP.

    class Ports(http_box.Case):
        def test_x(self):
            at = self.serve()                       # /s/SESSION/8000
            self.get(at + "/echo?x=1").json["path"]
"""

import asyncio
import base64
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

try:
    import websockets
except ImportError:
    websockets = None

ANN, BOB = "ann-" + "a" * 28, "bob-" + "b" * 28

# Runs in the box. A test and the server wait for each other with events: /set/NAME sets one, /wait/NAME waits for it.
SERVER = r'''
import collections, hashlib, http.server, json, os, socket, sys, threading, time, urllib.parse
events = collections.defaultdict(threading.Event)

class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def __getattr__(self, name):
        if name.startswith("do_"): return self.any
        raise AttributeError(name)

    def pieces(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while True:
                n = int(self.rfile.readline(), 16)
                data = self.rfile.read(n)
                self.rfile.readline()
                if n == 0: return
                yield data
        left = int(self.headers.get("Content-Length", 0))
        while left:
            data = self.rfile.read1(min(left, 1 << 16))
            if not data: raise ConnectionError("the body is cut off")
            left -= len(data)
            yield data

    def answer(self, body=b"", status=200, **headers):
        self.send_response(status)
        for name, value in headers.items(): self.send_header(name.replace("_", "-"), value)
        if status not in (204, 304): self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

    def any(self):
        url = urllib.parse.urlsplit(self.path)
        word, _, rest = url.path[1:].partition("/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        getattr(self, "on_" + word.replace("-", "_"), self.on_echo)(rest, query)

    def on_echo(self, rest, query):
        digest, n, text = hashlib.sha256(), 0, b""
        for data in self.pieces():
            digest.update(data)
            n += len(data)
            if n < 1000: text += data
        self.answer(json.dumps({"method": self.command, "path": self.path, "headers": self.headers.items(), "bytes": n,
            "sha256": digest.hexdigest(), "text": text.decode("latin-1")}).encode(), Content_Type="application/json",
            X_Echo="yes")

    def on_status(self, rest, query):
        for _ in self.pieces(): pass
        self.answer(b"" if rest in ("204", "304") else b"body", int(rest), **query)

    def on_bytes(self, rest, query):
        data, left = bytes(range(256)) * 256, int(rest)
        self.send_response(200)
        self.send_header(*(("Transfer-Encoding", "chunked") if query else ("Content-Length", rest)))
        self.end_headers()
        while left:
            part = data[:left]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if query else part)
            left -= len(part)
        if query: self.wfile.write(b"0\r\n\r\n")

    def on_set(self, rest, query):
        events[rest].set()
        self.answer()

    def on_wait(self, rest, query):
        events["began-" + rest].set()
        is_set = events[rest].wait(100)
        self.answer(b"set" if is_set else b"late")

    def on_events(self, rest, query):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for i in range(5):
            self.wfile.write(b"data: %d\n\n" % i)
            self.wfile.flush()
            events["read-%d" % i].wait(100)
        self.close_connection = True

    def on_cut(self, rest, query):
        self.send_response(200)
        self.send_header(*(("Transfer-Encoding", "chunked") if query else ("Content-Length", "1000")))
        self.end_headers()
        self.wfile.write(b"4\r\npart\r\n" if query else b"part")
        self.close_connection = True

    def on_early(self, rest, query):
        self.answer(b"too large", 413, Connection="close")
        self.close_connection = True
        events["go-on"].wait(100)

    def on_both(self, rest, query):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"6\r\nbegun \r\n")
        events["both-began"].set()
        n = b"%d" % sum(len(data) for data in self.pieces())
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(n), n))

    def on_endless(self, rest, query):
        self.send_response(200)
        self.end_headers()
        try:
            while True: self.wfile.write(bytes(1 << 16))
        except OSError:
            events["gone"].set()

    def on_upload(self, rest, query):
        try:
            for _ in self.pieces(): events["body-began"].set()
        except (OSError, ValueError):
            events["gone"].set()
            raise
        self.answer()

    def on_never(self, rest, query):
        events["asked"].set()
        try:
            while self.connection.recv(1): pass
        except OSError: pass
        events["gone"].set()
        self.close_connection = True

    def on_go_to(self, rest, query):
        self.answer(status=302, Location=query["to"], **({"Set_Cookie": query["cookie"]} if "cookie" in query else {}))

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True
    def handle_error(self, *_): pass
Server(("127.0.0.1", 8000), Web).serve_forever()
'''

# `go` handles a connection `c`, whose request's head is `head`.
RAW = r'''
import socket, threading, time
def read_head(c):
    data = b""
    while b"\r\n\r\n" not in data:
        more = c.recv(65536)
        if not more: return data
        data += more
    return data
def run(c):
    head = read_head(c)
    try: go(c, head)
    except OSError: pass
    c.close()
def go(c, head):
{go}
s = socket.create_server(("127.0.0.1", {port}), backlog=256)
while True: threading.Thread(target=run, args=(s.accept()[0],), daemon=True).start()
'''


def basic(token):
    return {"Authorization": "Basic " + base64.b64encode(b"me:" + token.encode()).decode()}


def protocol(token):
    return "base64url.bearer.retort." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def connect(url, headers=None, **options):
    """websockets.connect(), whose parameter for headers has another name since version 14."""
    name = "extra_headers" if int(websockets.__version__.split(".")[0]) < 14 else "additional_headers"
    return websockets.connect(url, **{name: headers or {}}, open_timeout=100, close_timeout=100, **options)


class Case(harness.Case):
    """One engine for a class; each test has a session of its own. self.token says who asks."""

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server(tokens=f"ann {ANN} paths=yes sessions=60\nbob {BOB} sessions=60\n")
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.token = ANN
        self.session = self.new_session()

    def new_session(self, **params):
        token = self.token
        session = self.rpc("session.create", **params)["session"]

        def close():
            if self.server.process.poll() is None:
                try:
                    self.server.rpc("session.close", bearer(token), session=session)
                except web.Failed:
                    pass  # the test has closed it
        self.addCleanup(close)
        return session

    def rpc(self, method, **params):
        return self.server.rpc(method, bearer(self.token), **params)

    def call(self, method, **params):
        return self.rpc(method, **{"session": self.session, **params})

    def open(self, port=8000, **params):
        """Open a port for HTTP as soon as something listens. Returns: its path, without the / at its end."""
        while True:
            try:
                return self.call("port.open", port=port, listen="http", **params)["url_path"].rstrip("/")
            except web.Failed as e:
                if e.code != "not_found" or "nothing listens" not in str(e):
                    raise
                if not self.is_running:
                    return self.fail(self.call("process.list"))

    @property
    def is_running(self):
        return any(p["state"] == "running" for p in self.call("process.list")["processes"])

    def serve(self, port=8000, code=SERVER, **params):
        self.call("process.start", argv=["/usr/bin/python3", "-c", code], **params)
        return self.open(port, **params)

    def serve_raw(self, go, port=9000, **params):
        go = "\n".join("    " + line for line in go.splitlines())
        return self.serve(port, RAW.replace("{go}", go).replace("{port}", str(port)), **params)

    def request(self, method, path, body=None, headers=None, connection=None, **options):
        c = connection or self.server.connect()
        try:
            c.request(method, path, body=body, headers={**bearer(self.token), **(headers or {})}, **options)
            answer = c.getresponse()
            return web.Answer(answer.status, answer.headers, answer.read())
        finally:
            if not connection:
                c.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def start(self, method, path, body=None, headers=None):
        """(connection, response) before its body is read."""
        c = self.server.connect()
        self.addCleanup(c.close)
        c.request(method, path, body=body, headers={**bearer(self.token), **(headers or {})})
        return c, c.getresponse()

    def raw(self, path, method="GET", *lines, **options):
        """A connection on which the head of a request was sent."""
        raw = self.server.raw(**options)
        self.addCleanup(raw.close)
        raw.say("\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.token}",
                             *lines, "", ""]).encode())
        return raw

    def host(self, port=8000, session=None):
        return f"{port}-{session or self.session}.localhost:{self.server.port}"

    def ws(self, path, headers=None, **options):
        tls = self.server.tls
        if tls:
            options["ssl"] = tls.context()
        return connect(f"ws{'s' if tls else ''}://127.0.0.1:{self.server.port}{path}",
                       bearer(self.token) if headers is None else headers, **options)

    def memory(self):
        return self.server.memory_bytes()


class OwnEngine:
    """Before Case: each test has an engine of its own, with these options."""

    OPTIONS = ("--grace", "0s")

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.server = web.Server(*self.OPTIONS, tokens=f"ann {ANN} sessions=60\n")
        self.addCleanup(self.server.stop)
        super().setUp()


def run(test):
    """An async test, as one that is not."""
    def wrapped(self):
        asyncio.run(asyncio.wait_for(test(self), harness.TIMEOUT_S))
    wrapped.__doc__, wrapped.__name__ = test.__doc__, test.__name__
    return wrapped
