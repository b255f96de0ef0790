# SPDX-License-Identifier: Apache-2.0
"""An engine of a test's own, spoken to over HTTP: as clients do, and byte by byte.

    with web.Server() as server:
        session = server.rpc("session.create")["session"]
        print(server.rpc("step.run", session=session, code="6 * 7")["value"]["text/plain"])
"""

import contextlib
import http.client
import json
import os
import re
import signal
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

ANSWER_S = 60
JSON = {"Content-Type": "application/json"}
TOKEN = "a-token-that-nobody-guesses"


class Failed(Exception):
    """An operation's error: `code` is its word, str() its message."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.number = error["code"]
        self.code = (error.get("data") or {}).get("code")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def question(method, number=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def head(path="/rpc", method="POST", length=None, **more):
    """The head of a request as bytes; `more` are headers, with _ for -."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def post(body, **more):
    """A whole request as bytes."""
    return head(length=len(body), **more) + body


class Identity:
    """A CA of the test's own, and a certificate of it for `names` with its key."""

    def __init__(self, names=("DNS:localhost", "DNS:*.localhost", "DNS:*.e2b.test", "IP:127.0.0.1")):
        self.dir = tempfile.mkdtemp(prefix="tls", dir=harness.TMP)
        self.ca, self.cert, self.key = (os.path.join(self.dir, name) for name in ("ca.pem", "cert.pem", "key.pem"))
        self.make_key(self.key)
        self.make_key(self.ca + ".key")
        self.openssl("req", "-x509", "-new", "-key", self.ca + ".key", "-out", self.ca, "-days", "2", "-subj", "/CN=test-ca",
                     "-addext", "keyUsage=critical,keyCertSign")
        self.sign(names)

    def openssl(self, *args, **options):
        subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.dir,
                       **options)

    def make_key(self, path):
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
        os.chmod(path, 0o600)

    def sign(self, names, *options):
        """Make the certificate anew; `options` are those of openssl x509."""
        ext = os.path.join(self.dir, "ext")
        with open(ext, "w", encoding="utf-8") as f:
            f.write(f"subjectAltName={','.join(names)}\nbasicConstraints=critical,CA:FALSE\n")
        self.openssl("req", "-new", "-key", self.key, "-out", "csr", "-subj", "/CN=engine")
        self.openssl("x509", "-req", "-in", "csr", "-CA", self.ca, "-CAkey", self.ca + ".key", "-CAcreateserial",
                     "-extfile", ext, "-out", self.cert, *(options or ("-days", "1")))

    @property
    def options(self):
        return ["--tls-cert", self.cert, "--tls-key", self.key]

    def context(self):
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Raw:
    """A connection that says what the test wants."""

    def __init__(self, port, buffer_bytes=None, tls=None):
        self.sock = socket.socket()
        if buffer_bytes:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        self.sock.settimeout(ANSWER_S)
        self.sock.connect(("127.0.0.1", port))
        if tls:
            self.sock = tls.context().wrap_socket(self.sock, server_hostname="localhost")
        self.file = self.sock.makefile("rb")

    def say(self, data):
        try:
            self.sock.sendall(data)
        except ssl.SSLEOFError as e:
            raise ConnectionResetError from e

    def answer(self, has_body=True):
        """The next answer; None at the end of the connection."""
        line = self.file.readline()
        if not line:
            return None
        status = int(line.split()[1])
        headers = http.client.parse_headers(self.file)
        if status == 100:
            return self.answer(has_body)
        if headers.get("Transfer-Encoding") == "chunked":
            return Answer(status, headers, b"".join(self.chunks()))
        length = int(headers.get("Content-Length", 0)) if has_body else 0
        return Answer(status, headers, self.file.read(length))

    def chunks(self):
        while True:
            n = int(self.file.readline(), 16)
            data = self.file.read(n)
            self.file.readline()
            if n == 0:
                return
            yield data

    def is_closed(self):
        """Wait for the other side's end, whatever it says before."""
        try:
            self.file.read()
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    def close(self):
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def events(chunks):
    """(name, data) of a stream of server-sent events."""
    text = b""
    for chunk in chunks:
        text += chunk
        *whole, text = text.split(b"\n\n")
        for block in whole:
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":"))
            if fields:
                yield fields["event"], json.loads(fields["data"])


class Server:
    """`retort serve --listen 127.0.0.1:0`, its log in a file."""

    tls = None  # an Identity, for HTTPS

    def __init__(self, *options, tokens=None, env=None, run=None, tls=None):
        self.tls = tls or self.tls
        self.dir = tempfile.mkdtemp(prefix="w", dir=harness.TMP)
        self.path = os.path.join(self.dir, "s")
        argv = [harness.RETORT, "serve", "--socket", self.path, "--state", os.path.join(self.dir, "state"),
                "--standby", "0"]
        if tokens is not None:
            self.tokens = os.path.join(self.dir, "tokens")
            self.write_tokens(tokens)
            argv += ["--token-file", self.tokens]
        argv += self.tls.options if self.tls else []
        if "--listen" not in options and not run:
            argv += ["--listen", "127.0.0.1:0"]
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.process = (run or subprocess.Popen)(
            [*argv, *options], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=harness.environment(env), cwd=self.dir)
        self.wait_for("listening at http", lambda: self.process.poll() is not None)
        found = re.search(r"listening at https?://(\S+):(\d+)", self.said())
        if not found:
            raise AssertionError(f"no engine: {self.said()}")
        self.host, self.port = found[1], int(found[2])

    def write_tokens(self, text):
        with open(self.tokens, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(text)

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_for(self, text, is_over=lambda: False):
        wait(lambda: text in self.said() or is_over())
        return self.said()

    def connect(self, timeout=ANSWER_S):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls.context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self, **options):
        return Raw(self.port, tls=self.tls, **options)

    def request(self, method, path, body=None, headers=None, connection=None):
        c = connection or self.connect()
        try:
            c.request(method, path, body=body, headers=headers or {})
            answer = c.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            if not connection:
                c.close()

    def post(self, body, headers=None, connection=None):
        return self.request("POST", "/rpc", body, {**JSON, **(headers or {})}, connection)

    def rpc(self, method, headers=None, connection=None, **params):
        said = self.post(question(method, **params), headers, connection).json
        if "error" in said:
            raise Failed(said["error"])
        return said["result"]

    def is_running(self, session):
        return self.rpc("session.get", session=session)["state"] == "working"

    def n_fds(self):
        """Open descriptors; None where the kernel does not say (the engine is not dumpable)."""
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except PermissionError:
            return None

    def memory_bytes(self):
        """The engine's memory; 0 with sanitizers, which keep what was freed."""
        if harness.IS_SANITIZED:
            return 0
        with open(f"/proc/{self.process.pid}/status", encoding="ascii", errors="replace") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) << 10

    @contextlib.contextmanager
    def standing_still(self):
        """What happens inside happens before the engine sees any of it."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as f:
                wait(lambda: f.seek(0) == 0 and f.read().rpartition(")")[2].split()[0] == "T")
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def stop(self, number=signal.SIGTERM):
        """End it. Returns: its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(ANSWER_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()
            if "Sanitizer" in self.said():
                raise AssertionError(self.said())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def wait(is_so, seconds=ANSWER_S):
    """Until @is_so; False when it never was."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.02)
    return False
