# SPDX-License-Identifier: Apache-2.0
"""T-PORT: an open port leads into one box and nowhere else, and a hostile program behind it harms only itself."""

import os
import re
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import callers  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402
import service  # noqa: E402

# A server of the box; `c` is each connection.
SERVE = """
import socket, threading, struct
def serve(port, go):
    s = socket.create_server(("127.0.0.1", port), backlog=256)
    def accept():
        while True: threading.Thread(target=go, args=(s.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
"""


def memory_kib(pid):
    """0 where the memory of a process says nothing."""
    if harness.IS_SANITIZED:
        return 0
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def read_all(c):
    parts = []
    while part := c.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


class Ports(harness.Case):
    def setUp(self):
        self.engine = service.Engine()
        self.addCleanup(self.engine.stop)
        self.session = self.engine.session()

    def open(self, port, session=None, **params):
        session = session or self.session.id
        host, _, number = self.engine.call("port.open", session=session, port=port, early=True, **params)["address"].rpartition(":")
        return host, int(number)

    def get(self, at):
        with socket.create_connection(at, timeout=harness.TIMEOUT_S) as c:
            return read_all(c)

    def test_T_PORT_ELSEWHERE_service_of_the_host(self):
        """A port on which a service of the host listens, but nothing in the box."""
        with socket.create_server(("127.0.0.1", 0)) as host:
            at = self.open(host.getsockname()[1])
            for _ in range(20):
                self.assertEqual(self.get(at), b"")
            host.setblocking(False)
            with self.assertRaises(BlockingIOError):
                host.accept()

    def test_T_PORT_ELSEWHERE_another_box(self):
        """A port on which another session, or a branch, listens, but not this one."""
        self.session.run("1")
        twin = service.Session(self.engine, self.engine.call("session.branch", session=self.session.id))
        for other in (self.engine.session(), twin):
            other.run("import socket; s = socket.create_server(('127.0.0.1', 9000))")
            self.assertEqual(self.get(self.open(9000)), b"")

    def test_T_PORT_ELSEWHERE_from_the_box(self):
        """From inside, connect to the listeners that the engine has on the host, for this and another session."""
        ports = [self.open(9000)[1], self.open(9000, session=self.engine.session().id)[1],
                 self.open(9000, listen="0.0.0.0:0")[1]]
        code = f"import socket\ndef ask(p):\n    try: socket.create_connection(('127.0.0.1', p), 5); return 'reached'\n" \
               f"    except OSError as e: return type(e).__name__\n[ask(p) for p in {ports}]"
        self.assertEqual(self.session.value(code), repr(["ConnectionRefusedError"] * 3))

    def test_T_PORT_STOLEN_by_another_listener(self):
        """Take over the address of an open port, to get what its clients send: on the host, or for another session."""
        at = self.open(9000)
        for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            with socket.socket() as thief, self.assertRaises(OSError):
                if option:
                    thief.setsockopt(socket.SOL_SOCKET, option, 1)
                thief.bind(at)
                thief.listen()
        with self.assertRaises(service.Refused) as caught:
            self.open(9000, session=self.engine.session().id, listen=f"127.0.0.1:{at[1]}")
        self.assertEqual(caught.exception.code, "limit")

    def test_T_PORT_FLOOD_program_behind_it(self):
        """A program that sends without end, reads nothing, resets, or closes at once: others are served meanwhile."""
        self.session.run(SERVE + "serve(9000, lambda c: [c.sendall(bytes(1 << 20)) for _ in iter(int, 1)])\n"
                         "keep = []; serve(9001, keep.append)\nserve(9002, lambda c: c.close())\n"
                         "def reset(c): c.recv(1); c.close()\nserve(9003, reset)")
        pid, held = self.engine.process.pid, []
        before = memory_kib(pid)
        for port in (9000, 9001, 9002, 9003):
            at = self.open(port)
            for _ in range(20):
                c = socket.create_connection(at, timeout=harness.TIMEOUT_S)
                c.setblocking(False)
                self.addCleanup(c.close)
                held.append(c)
                try:
                    while c.send(bytes(1 << 16)):
                        pass
                except OSError:
                    pass
        other = self.engine.session()
        other.run(SERVE + "serve(9000, lambda c: (c.sendall(b'well'), c.close()))")
        self.assertEqual(self.get(self.open(9000, session=other.id)), b"well")
        self.assertEqual(other.value("6 * 7"), "42")
        self.assertLess(memory_kib(pid) - before, 64 << 10)
        self.session.close()
        self.assertEqual(other.value("6 * 7"), "42")

    def test_T_PORT_FLOOD_listeners(self):
        """More listeners than a list shows: it is cut, and the engine goes on."""
        self.session.run("import os, socket, time\nfor child in range(3):\n    if os.fork() == 0:\n"
                         "        keep = [socket.create_server(('127.0.0.1', 0)) for _ in range(900)]\n"
                         "        os.close(1); os.close(2); time.sleep(1000)")
        end, n = time.monotonic() + 60, 0
        while n < 1000 and time.monotonic() < end:
            n = len(self.engine.call("port.list", session=self.session.id)["ports"])
        self.assertEqual(n, 1000)

    def test_T_PORT_PRINCIPAL_of_another_caller(self):
        """List, open or close ports of another caller's session; open a port of the host without permission."""
        with callers.Engine({"ann": "paths=yes", "bob": "paths=yes", "eve": ""}) as engine:
            ann = engine.caller("ann")
            session = ann("session.create")["session"]
            at = ann("port.open", session=session, port=8000, early=True)["address"]
            for name, method in (("bob", "port.list"), ("bob", "port.open"), ("bob", "port.close"), ("eve", "port.list"),
                                 ("eve", "port.close"), ("eve", "port.open")):
                params = {} if method == "port.list" else {"port": 8000}
                with self.subTest(name=name, method=method), self.assertRaises(rpc.Failed) as caught:
                    engine.caller(name)(method, session=session, **params)
                self.assertEqual(caught.exception.code, "denied" if (name, method) == ("eve", "port.open") else "not_found")
            own = engine.caller("eve")("session.create")["session"]
            for listen in ("127.0.0.1:0", "unix"):
                with self.assertRaises(rpc.Failed) as caught:
                    engine.caller("eve")("port.open", session=own, port=8000, early=True, listen=listen)
                self.assertEqual(caught.exception.code, "denied")
            self.assertEqual(ann("port.list", session=session)["ports"], [{"port": 8000, "listening": False, "open": [at]}])


if __name__ == "__main__":
    harness.main()
