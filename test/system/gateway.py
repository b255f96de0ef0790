# SPDX-License-Identifier: Apache-2.0
"""The gateway's process with a test in the engine's place, and network namespaces in the place of boxes."""

import array
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
RESOLVER = "198.18.0.1"
TIMEOUT_S = 20


def program():
    """The path of retort-gateway beside the retort under test."""
    top = os.path.dirname(harness.RETORT)
    paths = [os.path.join(top, "../libexec/retort/retort-gateway"), os.path.join(top, "src/retort-gateway")]
    return next(path for path in paths if os.path.exists(path))


def send(sock, data, fds=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([data], rights)


def receive(sock):
    data, ancillary, _, _ = sock.recvmsg(1 << 17, socket.CMSG_SPACE(64))
    fds = array.array("i")
    for _, _, rights in ancillary:
        fds.frombytes(rights)
    return data, list(fds)


def make_local():
    """Bring loopback up, and make 198.18.0.0/15 and 10.9.0.0/16 local, as the warden's helper does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        for net, bits in (("198.18.0.0", 15), ("10.9.0.0", 16)):
            # RTM_NEWROUTE: table local, made by boot, scope of the host, type local; to `net`, by lo
            body = struct.pack("BBBBBBBBI", socket.AF_INET, bits, 0, 0, 255, 3, 254, 2, 0)
            body += struct.pack("HH", 8, 1) + socket.inet_aton(net) + struct.pack("HHI", 8, 4, 1)
            s.send(struct.pack("IHHII", 16 + len(body), 24, 0x5 | 0x400, 1, 0) + body)
            error = struct.unpack_from("i", s.recv(4096), 16)[0]
            if error:
                raise OSError(-error, "route")


class Namespace:
    """A network namespace with only loopback. A process in it makes sockets, which work there."""

    def __init__(self):
        self.end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self.serve(theirs)
        theirs.close()
        if receive(self.end)[0] != b"ready":
            raise RuntimeError("no network namespace can be made here")

    def serve(self, sock):
        try:
            self.end.close()
            uid, gid = os.geteuid(), os.getegid()
            if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
                os._exit(1)
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
                with open(f"/proc/self/{name}", "w", encoding="ascii") as f:
                    f.write(text)
            make_local()
            send(sock, b"ready")
            while True:
                kind, host, port, listens = json.loads(receive(sock)[0])
                with socket.socket(socket.AF_INET, kind) as made:
                    if port:
                        made.bind((host, port))
                    if listens:
                        made.listen(1024)
                    send(sock, b"socket", [made.fileno()])
        finally:
            os._exit(1)

    def socket(self, kind=socket.SOCK_STREAM, host="", port=0, listens=False):
        send(self.end, json.dumps([kind, host, port, listens]).encode())
        made = socket.socket(fileno=receive(self.end)[1][0])
        made.settimeout(TIMEOUT_S)
        return made

    def ask(self, name, kind=1, tries=1):
        """Ask the resolver. Returns: the code of the answer, and its addresses."""
        labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
        query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)
        with self.socket(socket.SOCK_DGRAM) as s:
            s.sendto(query, (RESOLVER, 53))
            answer = s.recv(4096)
        n = struct.unpack_from(">H", answer, 6)[0]
        return answer[3] & 15, [socket.inet_ntoa(answer[-4:])] if n else []

    def connect(self, name, port):
        """Do as a client does: look up, connect."""
        code, found = self.ask(name)
        if code or not found:
            raise LookupError(f"{name}: {code}")
        return self.connect_to(found[0], port)

    def connect_to(self, address, port):
        s = self.socket()
        s.connect((address, port))
        return s

    def close(self):
        self.end.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Gateway:
    """The process and its channel."""

    def __init__(self, hosts=None):
        """`hosts`: the path of a file that is /etc/hosts for the gateway."""
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(TIMEOUT_S)
        fd = theirs.fileno()
        start = f'exec "$0" 3<&{fd}'
        run = ["/bin/sh", "-c", start, program()]
        if hosts:
            run = ["unshare", "-Urm", "/bin/sh", "-c", f'mount --bind "$1" /etc/hosts && {start}', program(), hosts]
        self.process = subprocess.Popen(run, pass_fds=[fd], stdin=subprocess.DEVNULL)
        theirs.close()
        self.boxes = {}
        self.heard = []
        self.rows = []

    def say(self, what, box, fds=(), **more):
        send(self.channel, json.dumps({"do": what, "box": box, **more}).encode(), fds)

    def hear(self, word, box):
        """Wait for a message; what else comes is done or kept."""
        while True:
            for i, message in enumerate(self.heard):
                if (message["say"], message["box"]) == (word, box):
                    return self.heard.pop(i)
            data = receive(self.channel)[0]
            if not data:
                raise EOFError("the gateway has ended")
            message = json.loads(data)
            if message["say"] == "want_socket":
                self.give_socket(message["box"])
            elif message["say"] == "row":
                self.rows.append(message)
            else:
                self.heard.append(message)

    def give_socket(self, box):
        with self.boxes[box].socket() as s:
            self.say("socket", box, [s.fileno()])

    def open(self, box, namespace, rules, ports=(80, 443)):
        self.boxes[box] = namespace
        resolver = namespace.socket(socket.SOCK_DGRAM, RESOLVER, 53)
        listeners = [namespace.socket(socket.SOCK_STREAM, "0.0.0.0", port, True) for port in ports]
        self.say("open", box, [s.fileno() for s in (resolver, *listeners)], rules=rules, has_resolver=True)
        for s in (resolver, *listeners):
            s.close()
        return self.hear("ready", box)

    def replace(self, box, rules):
        self.say("rules", box, rules=rules, has_resolver=False)
        return self.hear("ready", box)

    def answer(self, box, is_allowed, reason=""):
        """Wait for a question, and answer it. Returns: the name and port."""
        message = self.hear("ask", box)
        self.say("answer", box, name=message["name"], port=message["port"], is_allowed=is_allowed, reason=reason)
        return message["name"], message["port"]

    def report(self, box):
        """The rows of a report as {(name, port, verdict, reason): row}, and how many did not fit."""
        self.say("report", box)
        rows, n_more = {}, 0
        while True:
            part = self.hear("report", box)
            rows.update({(r["name"], r["port"], r["verdict"], r["reason"]): r for r in part["rows"]})
            n_more += part["n_more"]
            if part["is_last"]:
                return rows, n_more

    @contextlib.contextmanager
    def hearing(self):
        """Give the sockets that are asked for, while the test waits for something else."""
        is_over = threading.Event()

        def loop():
            self.channel.settimeout(0.05)
            while not is_over.is_set():
                with contextlib.suppress(TimeoutError):
                    self.hear("nothing", 0)
        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            self.channel.settimeout(TIMEOUT_S)

    def close(self):
        self.channel.close()
        return self.process.wait(TIMEOUT_S)


class Server:
    """A server on the host's loopback; `serve` gets each connection, in a thread."""

    def __init__(self, serve, host="127.0.0.1"):
        self.listener = socket.create_server((host, 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.n = 0

        def loop():
            while True:
                try:
                    s = self.listener.accept()[0]
                except OSError:
                    return
                self.n += 1
                s.settimeout(TIMEOUT_S)
                threading.Thread(target=self.run, args=(serve, s), daemon=True).start()
        threading.Thread(target=loop, daemon=True).start()

    @staticmethod
    def run(serve, s):
        with s, contextlib.suppress(OSError):
            serve(s)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def echo(s):
    while data := s.recv(1 << 16):
        s.sendall(data)
