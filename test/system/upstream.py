# SPDX-License-Identifier: Apache-2.0
"""Servers on this host's loopback, which boxes reach by a network rule.

    with upstream.Http() as web:
        harness.run(CODE, "--net", f"api.test:80=127.0.0.1:{web.port}")
"""

import base64
import gzip
import hashlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import time

import harness


class Tcp:
    """Runs @go(connection) in a thread for each connection. It counts them in `n`."""

    def __init__(self, go, address="127.0.0.1", port=0, backlog=512):
        self.go, self.n, self.lock = go, 0, threading.Lock()
        self.socket = socket.create_server((address, port), backlog=backlog)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with self.lock:
                self.n += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                self.go(connection)
            except OSError:
                pass

    def stop(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


def echo(c):
    while data := c.recv(1 << 16):
        c.sendall(data)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"{self.command} {self.path} at {self.headers.get('Host')}\n".encode()
        self.server.seen.append((self.command, self.path, self.headers.get("Host"), dict(self.headers)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *args):
        pass


class Api(Handler):
    """Answers by path. Any other path: a JSON object of what arrived."""

    def heard(self):
        """The body of the request."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while n := int(self.rfile.readline(), 16):
            body += self.rfile.read(n)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def give(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        what = getattr(self, "get_" + self.path.split("?")[0].rpartition("/")[2], self.say)
        what(self.path.partition("?")[2])

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = do_GET

    def say(self, query):
        body = self.heard()
        self.server.seen.append((self.command, self.path, self.headers.get("Host"), dict(self.headers), body))
        self.give(json.dumps({
            "method": self.command, "path": self.path, "headers": self.headers.items(), "bytes": len(body),
            "digest": hashlib.sha256(body).hexdigest(), "body": body[:10000].decode("latin-1")}).encode(), X_Said=self.headers.get("X-Say", ""))

    def get_events(self, query):
        """Events, each when the one before was read: /pace?N says so."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for i in range(5):
            self.wfile.write(f"data: {i}\n\n".encode())
            self.wfile.flush()
            harness.until(lambda: self.server.pace >= i or i == 4)

    def get_pace(self, query):
        self.server.pace = int(query)
        self.give(b"")

    def get_big(self, query):
        """As many zero bytes."""
        n = int(query)
        self.send_response(200)
        self.send_header("Content-Length", str(n))
        self.end_headers()
        part = bytes(1 << 16)
        while n > 0 and self.command != "HEAD":
            n -= self.wfile.write(part[:n])

    def get_chunked(self, query):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in query.split(","):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part.encode()))
            self.wfile.flush()
            time.sleep(0.05)
        self.wfile.write(b"0\r\n\r\n")

    def get_pause(self, query):
        """A piece, and then nothing until the client ends."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(query), query.encode()))
        while self.connection.recv(1):
            pass
        self.close_connection = True

    def get_redirect(self, query):
        self.give(b"", 302, Location=query)

    def get_cookies(self, query):
        self.send_response(200)
        self.send_header("Set-Cookie", "a=1")
        self.send_header("Set-Cookie", "b=2; Path=/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def get_empty(self, query):
        self.send_response(int(query))
        self.end_headers()

    def get_gz(self, query):
        """The Authorization of the request, compressed, whatever is accepted."""
        self.heard()
        self.give(gzip.compress(str(self.headers["Authorization"]).encode()), Content_Encoding="gzip")

    def get_last(self, query):
        """A WebSocket whose server sends the Authorization of the request and a text, and ends."""
        self.get_ws(query, [query.encode()])

    def get_early(self, query):
        """An answer before the body, which is read and dropped until the client ends, so that nothing is reset."""
        self.give(b"no", 413, Connection="close")
        while self.rfile.read1(1 << 16):
            pass
        self.close_connection = True

    def get_cut(self, query):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True

    def get_silent(self, query):
        self.server.n_silent += 1
        while self.connection.recv(1):
            pass
        self.server.n_silent -= 1
        self.close_connection = True

    def get_ws(self, query, only=None):
        """A WebSocket: the first frame says which headers came, and each frame of the client comes back as it was."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.server.seen.append((self.command, self.path, self.headers.get("Host"), dict(self.headers), b""))
        self.wfile.write(b"\x81\x05hello")
        for part in only or []:
            self.wfile.write(part)
        while only is None and (data := self.rfile.read1(1 << 16)):
            self.wfile.write(data)
        self.close_connection = True


def certificate(names):
    """(certificate, key) of a server for @names, signed by itself."""
    folder = harness.make_dir()
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", f"/CN={names[0]}",
         "-addext", "subjectAltName=" + ",".join("DNS:" + n for n in names)], check=True, capture_output=True)
    return cert, key


class Http:
    """A web server. `seen`: the requests. With @names it speaks TLS, with the certificate `cert`, which @make has made."""

    def __init__(self, names=(), make=certificate, handler=Handler):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.pace, self.server.n_silent = -1, 0
        self.server.daemon_threads = True
        self.server.handle_error = lambda *args: None  # what is refused is reset
        self.server.seen = self.seen = []
        self.cert = None
        if names:
            self.cert, key = make(names)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
