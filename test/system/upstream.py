# SPDX-License-Identifier: Apache-2.0
"""Servers on this host's loopback, which boxes reach by a network rule.

    with upstream.Http() as web:
        harness.run(CODE, "--net", f"api.test:80=127.0.0.1:{web.port}")
"""

import http.server
import os
import socket
import ssl
import subprocess
import threading

import harness


class Tcp:
    """Runs @go(connection) in a thread for each connection. It counts them in `n`."""

    def __init__(self, go, address="127.0.0.1", backlog=512):
        self.go, self.n, self.lock = go, 0, threading.Lock()
        self.socket = socket.create_server((address, 0), backlog=backlog)
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

    def __init__(self, names=(), make=certificate):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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
