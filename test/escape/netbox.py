# SPDX-License-Identifier: Apache-2.0
"""What the attacks on a box's network share: code for the box, and servers of the host that count who comes."""

import collections
import os
import re
import socket
import ssl
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import upstream  # noqa: E402

# Code for the box: questions for names by hand, and connections.
PRELUDE = r"""
import errno, re, select, socket, ssl, struct, threading, time
RESOLVER = ("198.18.0.1", 53)
TYPES = dict(A=1, NS=2, CNAME=5, SOA=6, NULL=10, PTR=12, MX=15, TXT=16, AAAA=28, SRV=33, OPT=41, SVCB=64, HTTPS=65,
             AXFR=252, ANY=255)

def wire(name):
    return b"".join(bytes([len(l)]) + l for l in name.encode("latin-1").split(b".") if l) + b"\0"

def question(name, kind="A", of_class=1, flags=0x0100, n=(1, 0, 0, 0), more=b""):
    name = name if isinstance(name, bytes) else wire(name)
    return struct.pack(">6H", 7, flags, *n) + name + struct.pack(">2H", TYPES[kind], of_class) + more

def exchange(data, to=RESOLVER, seconds=20):
    with socket.socket(type=socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.connect(to)
        while True:  # it may be lost, as any datagram
            s.send(data)
            try:
                return s.recv(4096)
            except TimeoutError:
                seconds -= 1
                if seconds <= 0:
                    raise

def rcode(answer):
    return answer[3] & 15

# (rcode, answers)
def ask(name, kind="A", **more):
    answer = exchange(question(name, kind, **more))
    return [rcode(answer), struct.unpack(">H", answer[6:8])[0]]

# The address that stands for a name, by hand: a libc may have opinions of its own about some names.
def address(name):
    answer = exchange(question(name))
    return socket.inet_ntoa(answer[-4:]) if rcode(answer) == 0 and answer[7] == 1 else None

# Connect, send each part, and say what comes back; or the name of the error.
def say(name, port, *parts, pause=0, half=False):
    try:
        with socket.create_connection((name, port), timeout=20) as c:
            for i, part in enumerate(parts or (b"x",)):
                time.sleep(pause if i else 0)
                c.sendall(part if isinstance(part, bytes) else part.encode("latin-1"))
            if half:
                c.shutdown(socket.SHUT_WR)
            return c.recv(200).decode("latin-1")
    except socket.gaierror:
        return "no name"
    except OSError as e:
        return errno.errorcode.get(e.errno, repr(e))
"""

# Code for the box: requests by hand, without TLS and with it.
REQUESTS = r"""
TLS = ssl.create_default_context()
HOST = "Host: api.test"
WS = ("Upgrade: websocket", "Connection: Upgrade")

def connect(tls, host="api.test", sni=None):
    c = socket.create_connection((host, 443 if tls else 80), 20)
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return TLS.wrap_socket(c, server_hostname=sni or host) if tls else c

def request(*lines, method="GET", target="/v1/x", version="HTTP/1.1", body=""):
    return "\r\n".join(["%s %s %s" % (method, target, version), *(lines or [HOST]), "", body])

# All that comes back for @text, to the end of the connection, or until @is_enough(it).
def heard(text, tls, is_enough=lambda data: False, **at):
    data = b""
    with connect(tls, **at) as c:
        try:
            c.sendall(text.encode("latin-1"))
            while not is_enough(data) and (more := c.recv(1 << 16)):
                data += more
        except (ConnectionError, ssl.SSLEOFError):
            pass
    return data.decode("latin-1")

# The statuses of @n answers; fewer if the connection ends.
def statuses(text, tls, n=1, **more):
    form = r"(?m)^HTTP/1\.1 (\d+) "
    said = heard(text, tls, lambda data: len(re.findall(form, data.decode("latin-1"))) >= n, **more)
    return [int(s) for s in re.findall(form, said)]

# What @f says without TLS and with it: once if that is the same.
def same(f):
    said = [f(False), f(True)]
    return said[0] if said[0] == said[1] else said

# The status of a request, or those of @n; 0 for none.
def ask(*lines, n=1, host="api.test", **more):
    def go(tls):
        found = statuses(request(*lines, **more), tls, n, host=host)
        return found if n > 1 else found[0] if found else 0
    return same(go)
"""


class Server(upstream.Tcp):
    """Answers the first bytes of each connection, or with @waits its first line or what looks like TLS, with "reached". It
    keeps in `heard` what each connection said."""

    def __init__(self, waits=False, **options):
        self.waits, self.heard = waits, []
        super().__init__(self.hear, **options)

    def hear(self, c):
        data, is_answered = b"", False
        while more := c.recv(1 << 16):
            self.heard = [h for h in self.heard if h is not data]
            data += more
            self.heard.append(data)
            if not is_answered and (not self.waits or b"\n" in data or data[0] in (0x16, 0x80)):
                c.sendall(b"reached")
                is_answered = True


Request = collections.namedtuple("Request", "method target fields body")


class Web(upstream.Tcp):
    """A server of HTTP/1.1, with TLS if it has a @certificate, that takes apart by itself what reaches it, and takes nothing
    for a request that can be read in two ways. `requests`: what it heard; the names of fields are in small letters. `bad`: what is no request.
    `tunnel`: what came behind status 101. `n_open`: connections. @answer(request) is sent."""

    form = re.compile(rb"([!-~]+) ([!-~]+) HTTP/1\.1\r\n((?:[A-Za-z0-9_-]+:[^\r\n\0]*\r\n)*)\r\n")

    def __init__(self, answer, certificate=None, **options):
        self.requests, self.bad, self.tunnel, self.n_open = [], [], b"", 0
        self.answer, self.context = answer, None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        super().__init__(self.hear, **options)

    def hear(self, c):
        with self.lock:
            self.n_open += 1
        try:
            self.serve_requests(self.context.wrap_socket(c, server_side=True) if self.context else c)
        finally:
            with self.lock:
                self.n_open -= 1

    def serve_requests(self, c):
        with c, c.makefile("rb") as f:
            while request := self.read(f):
                self.requests.append(request)
                said = self.answer(request)
                c.sendall(said)
                while said.startswith(b"HTTP/1.1 101 ") and (data := f.read1(1 << 16)):
                    self.tunnel += data

    def read(self, f):
        """The next request; None at the end, and if it is none."""
        head = line = f.readline()
        while line.strip():
            line = f.readline()
            head += line
        form = self.form.fullmatch(head)
        if not form:
            self.bad += [head] if line else []  # else it has not ended
            return None
        pairs = [line.decode("latin-1").split(":", 1) for line in form[3].split(b"\r\n")[:-1]]
        fields = [(name.lower(), value.strip()) for name, value in pairs]
        lengths = [(n, v) for n, v in fields if n in ("content-length", "transfer-encoding")]
        if len(lengths) > 1:
            self.bad.append(head)
            return None
        body = self.body(f, *lengths[0]) if lengths else b""
        return None if body is None else Request(form[1].decode(), form[2].decode(), fields, body)

    def body(self, f, name, value):
        if name == "content-length":
            body = f.read(int(value))
            return body if len(body) == int(value) else None
        body = b""
        while re.fullmatch(rb"[0-9a-f]+\r\n", size := f.readline()):
            part = f.read(int(size, 16) + 2)
            if not part.endswith(b"\r\n"):
                break
            if len(part) == 2:
                return body
            body += part[:-2]
        self.bad += [size] if size else []
        return None


def reply(body=b"", status="200 OK", **fields):
    """An answer; _ in the names of @fields is a -."""
    lines = [f"HTTP/1.1 {status}", *(f"{n.replace('_', '-')}: {v}" for n, v in ({"Content_Length": len(body)} | fields).items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Case(attack.Case):
    """Attempts in one box with a network. `servers`: the rules' names and ports, each a Server of the host."""

    prelude = PRELUDE
    servers = ()  # of names and ports, "api.test:80"
    rules = ()    # further ones
    waits = False  # of the servers

    @classmethod
    def host(cls):
        cls.server, cls.options = {}, []
        for name in cls.servers:
            cls.server[name] = Server(waits=cls.waits)
            cls.addClassCleanup(cls.server[name].stop)
            cls.options += ["--net", f"{name}=127.0.0.1:{cls.server[name].port}"]
        for rule in cls.rules:
            cls.options += ["--net", rule]
        return cls.known()

    @classmethod
    def known(cls):
        return {}

    def told(self, **wanted):
        return rows(self.record, **wanted)


class Hosts(Case):
    """Attempts in a box with rules for requests. `plain` and `tls` are servers of all `names`, without TLS and with it, which give the same
    @answer; `marked` are their requests."""

    prelude = PRELUDE + REQUESTS
    names = ("api.test", "other.test")

    @staticmethod
    def answer(_):
        return reply(b"reached\n")

    @classmethod
    def host(cls):
        certificate = upstream.certificate(cls.names)
        cls.plain, cls.tls = Web(cls.answer), Web(cls.answer, certificate)
        cls.env = {"SSL_CERT_FILE": certificate[0]}
        cls.options = ["--timeout", "100"]
        for server, port in ((cls.plain, 80), (cls.tls, 443)):
            cls.addClassCleanup(server.stop)
            for name in cls.names:
                cls.options += ["--net", f"{name}:{port}=127.0.0.1:{server.port}"]
        for rule in cls.rules:
            cls.options += ["--net", rule]
        return cls.known()

    def marked(self, mark=""):
        """The requests that have @mark in their target."""
        return [r for server in (self.plain, self.tls) for r in server.requests if mark in r.target]


def rows(record, **wanted):
    """The rows of the record's network that have these members."""
    return [r for r in record.get("network", []) if all(r.get(k) == v for k, v in wanted.items())]


def gateway_of(engine):
    """The process id of the gateway that an engine has started."""
    pid, = [p for p, (parent, name, _, _) in harness.processes().items()
            if parent == engine.process.pid and name.startswith("retort-gate")]
    return pid


def memory_of(pid):
    """The KiB of memory that a process has of its own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith("RssAnon")).split()[1])


def wire(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))


class Resolver:
    """A name server at 127.0.0.1:53. `names`: what it answers, a list of addresses for each name, or a function that
    returns one. `asked`: the questions. Those for names below "silent.test" are not answered."""

    def __init__(self):
        self.names, self.asked = {}, []
        self.socket = socket.socket(type=socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            data, peer = self.socket.recvfrom(2048)
            if not data:
                break
            if wire("silent.test") not in data:
                self.socket.sendto(self.answer(data), peer)
        self.socket.close()

    def answer(self, data):
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        name, kind = ".".join(labels).lower(), struct.unpack(">H", data[at + 1:at + 3])[0]
        self.asked.append(name)
        known = self.names.get(name)
        addresses = known() if callable(known) else known or []
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        packed = [socket.inet_pton(family, a) for a in addresses if family and (":" in a) == (kind == 28)]
        body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(p)) + p for p in packed)
        return data[:2] + struct.pack(">5H", 0x8180 if known else 0x8183, 1, len(packed), 0, 0) + data[12:at + 5] + body

    def stop(self):
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            s.sendto(b"", self.socket.getsockname())
        self.thread.join()
