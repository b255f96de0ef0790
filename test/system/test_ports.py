# SPDX-License-Identifier: Apache-2.0
"""What a program in a box listens on can be reached from the host, and nothing else can."""

import errno
import hashlib
import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import callers  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402
import service  # noqa: E402

WEB = """
import subprocess, socket, time
open("hello.txt", "w").write("hello from the box")
web = subprocess.Popen(["python3", "-m", "http.server", "8000", "--bind", "127.0.0.1"], stderr=subprocess.DEVNULL)
"""

# Each server handles a connection in a thread: `go` has the connection.
SERVER = """
import subprocess, socket, sys, time
server = subprocess.Popen([sys.executable, "-c", '''
import socket, threading
def go(c):
{go}
s = socket.create_server(({address!r}, {port}), family=socket.{family}, backlog=256)
while True:
    threading.Thread(target=go, args=(s.accept()[0],), daemon=True).start()
'''])
"""

UP = """
while True:
    try:
        socket.create_connection(({address!r}, {port})).close()
        break
    except OSError:
        time.sleep(0.01)
"""

ECHO = "while True:\n  d = c.recv(65536)\n  if not d: break\n  c.sendall(d)\nc.sendall(b'end'); c.close()"
LARGE = "z = bytes(1 << 20)\nfor i in range(1024): c.sendall(z)\nc.close()"
MUTE = "import time\nc.sendall(b'go')\ntime.sleep(1000)"
ENDLESS = "z = bytes(1 << 20)\nwhile True: c.sendall(z)"


def memory_bytes(pid):
    """0 where the memory of a process says nothing."""
    if harness.IS_SANITIZED:
        return 0
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) * 1024


def read_all(c):
    parts = []
    while part := c.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


class Ports(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)

    def setUp(self):
        self.session = self.engine.session()
        self.addCleanup(self.close_session)

    def close_session(self):
        try:
            self.session.close()
        except service.Refused:
            pass  # a test has closed it

    def call(self, method, **params):
        return self.engine.call(method, session=self.session.id, **params)

    def serve(self, go, port=9000, address="127.0.0.1", family="AF_INET"):
        go = "\n".join("    " + line for line in go.splitlines())
        code = SERVER.format(go=go, port=port, address=address, family=family) + UP.format(address=address, port=port)
        self.assertEqual(self.session.run(code)["status"], "ok")

    def open(self, port=9000, **params):
        host, _, number = self.call("port.open", port=port, **params)["address"].rpartition(":")
        return host.strip("[]"), int(number)

    def connect(self, at):
        c = socket.create_connection(at, timeout=harness.TIMEOUT_S)
        self.addCleanup(c.close)
        return c

    def refused(self, method, **params):
        with self.assertRaises(service.Refused) as caught:
            self.call(method, **params)
        return caught.exception

    # ---- what can be reached, and where ----

    def test_web_server(self):
        """python's own, with curl, at an address and at a unix socket."""
        self.session.run(WEB + UP.format(address="127.0.0.1", port=8000))
        address = self.call("port.open", port=8000)["address"]
        self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
        path = self.call("port.open", port=8000, listen="unix")["path"]
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        for options, name in ((["--unix-socket", path], "box"), ([], address)):
            done = subprocess.run(["curl", "-sS", *options, f"http://{name}/hello.txt"], capture_output=True, check=True)
            self.assertEqual(done.stdout, b"hello from the box")
        self.assertEqual(self.call("port.list")["ports"], [
            {"port": 8000, "listening": True, "addresses": ["127.0.0.1"], "open": [path, address]}])
        self.assertEqual(self.call("port.close", port=8000), {"closed": 2})
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.call("port.list")["ports"], [{"port": 8000, "listening": True, "addresses": ["127.0.0.1"]}])

    def test_lists_what_listens(self):
        self.assertEqual(self.call("port.list"), {"ports": []})
        self.session.run("import socket\nkeep = [socket.create_server(('127.0.0.1', 7001)), socket.create_server(('', 7000)),"
                         "socket.create_server(('::1', 7001), family=socket.AF_INET6), socket.socket(type=socket.SOCK_DGRAM)]\n"
                         "keep[3].bind(('127.0.0.1', 7002)); c = socket.create_connection(('127.0.0.1', 7001))")
        self.assertEqual(self.call("port.list")["ports"], [
            {"port": 7000, "listening": True, "addresses": ["0.0.0.0"]},
            {"port": 7001, "listening": True, "addresses": ["127.0.0.1", "::1"]}])
        self.call("port.open", port=6000, early=True)
        first = self.call("port.list")["ports"][0]
        self.assertEqual((first["port"], first["listening"]), (6000, False))

    def test_while_a_step_runs(self):
        """The list and the port need not wait for the step that serves."""
        go = "c.sendall(b'busy'); c.close()"
        code = f"import socket\ns = socket.create_server(('127.0.0.1', 9000))\nc = s.accept()[0]; {go}"
        number = self.engine.client.send("step.run", session=self.session.id, code=code)
        harness.until(lambda: [row["port"] for row in self.call("port.list")["ports"]] == [9000])
        self.assertEqual(read_all(self.connect(self.open())), b"busy")
        self.assertEqual(self.engine.client.receive(number)["status"], "ok")

    def test_ipv6_in_the_box_and_on_the_host(self):
        self.serve("c.sendall(b'six'); c.close()", address="::1", family="AF_INET6")
        self.assertEqual(read_all(self.connect(self.open())), b"six")
        self.assertEqual(read_all(self.connect(self.open(listen="[::1]:0"))), b"six")

    def test_place_is_chosen(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for listen, want in ((f"{port}", "127.0.0.1"), (f"localhost:{port}", "127.0.0.1"), (f"127.0.0.2:{port}", "127.0.0.2"),
                             (f"0.0.0.0:{port}", "0.0.0.0"), (f"[::1]:{port}", "::1")):
            with self.subTest(listen=listen):
                self.assertEqual(self.open(listen=listen, early=True), (want, port))
                self.call("port.close", port=9000)

    # ---- bytes ----

    def test_both_ways_with_half_close(self):
        """A client that has sent its end still gets the answer, and the server sees that end."""
        self.serve(ECHO)
        data = os.urandom(3 << 20)
        c = self.connect(self.open())
        got = []
        reader = threading.Thread(target=lambda: got.append(read_all(c)))
        reader.start()
        c.sendall(data)
        c.shutdown(socket.SHUT_WR)
        reader.join(harness.TIMEOUT_S)
        self.assertEqual(hashlib.sha256(got[0]).digest(), hashlib.sha256(data + b"end").digest())

    def test_a_gigabyte(self):
        """The engine's memory does not grow with it."""
        self.serve(LARGE)
        c = self.connect(self.open())
        before, n = memory_bytes(self.engine.process.pid), 0
        while part := c.recv(1 << 20):
            n += len(part)
        self.assertEqual(n, 1 << 30)
        self.assertLess(memory_bytes(self.engine.process.pid) - before, 16 << 20)

    def test_reset_is_a_reset(self):
        """A message that was cut off does not look whole."""
        self.serve("c.sendall(b'half'); c.recv(1); c.close()")  # with unread bytes, which makes it a reset
        at = self.open()
        for n in (10, 1 << 20):
            c = self.connect(at)
            self.assertEqual(c.recv(4), b"half")
            with self.assertRaises(OSError) as caught:
                c.sendall(bytes(n))
                read_all(c)
            self.assertIn(caught.exception.errno, (errno.ECONNRESET, errno.EPIPE))

    def test_peers_that_stop_reading(self):
        """Neither a program that does not read nor a client that does not read takes memory, or holds up others."""
        self.serve(MUTE, port=9000)
        self.serve(ENDLESS, port=9001)
        self.serve("c.sendall(b'ok'); c.close()", port=9002)
        mute, endless, good = self.open(9000), self.open(9001), self.open(9002)
        before = memory_bytes(self.engine.process.pid)
        lazy = [self.connect(endless) for _ in range(20)]
        stuck = [self.connect(mute) for _ in range(20)]
        for c in lazy:
            self.assertEqual(c.recv(1), b"\0")
        for c in stuck:
            self.assertEqual(c.recv(2), b"go")
            c.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                while True:
                    c.sendall(bytes(1 << 20))
        self.assertEqual(read_all(self.connect(good)), b"ok")
        self.assertEqual(self.session.value("6 * 7"), "42")
        self.assertLess(memory_bytes(self.engine.process.pid) - before, 40 * (1 << 20))

    def test_more_connections_than_fit(self):
        """A hundred at a time; others wait until one ends."""
        self.serve(ECHO)
        at = self.open()
        held = [self.connect(at) for _ in range(100)]
        for c in held:
            c.sendall(b"x")
            self.assertEqual(c.recv(1), b"x")
        late = self.connect(at)
        late.sendall(b"y")
        late.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            late.recv(1)
        late.settimeout(harness.TIMEOUT_S)
        held.pop().close()
        self.assertEqual(late.recv(1), b"y")

    def test_a_burst(self):
        """More connections at the same moment than requests that the warden takes of one box: they wait, too."""
        ports = range(9000, 9004)
        for port in ports:
            self.serve("c.sendall(b'k'); c.close()", port=port)
        places = [self.open(port) for port in ports]
        for c in [self.connect(at) for _ in range(60) for at in places]:
            self.assertEqual(read_all(c), b"k")

    # ---- ends ----

    def test_nothing_listens(self):
        error = self.refused("port.open", port=8000)
        self.assertEqual((error.code, str(error)), ("not_found", "nothing listens on port 8000 of the session"))
        self.assertIn("`port.list`", error.hint)
        at = self.open(8000, early=True)
        self.assertEqual(read_all(self.connect(at)), b"")  # closed at once
        self.serve("c.sendall(b'now'); c.close()", port=8000)
        self.assertEqual(read_all(self.connect(at)), b"now")

    def test_only_an_outer_address_is_not_reached(self):
        """A listener of an address that a port does not lead to counts as none."""
        self.session.run("import socket; s = socket.create_server(('127.0.0.5', 8000))")
        self.assertEqual(self.refused("port.open", port=8000).code, "not_found")

    def test_session_is_closed(self):
        self.serve(ECHO)
        at, path = self.open(), self.call("port.open", port=9000, listen="unix")["path"]
        c = self.connect(at)
        c.sendall(b"x")
        self.assertEqual(c.recv(1), b"x")
        self.session.close()
        try:
            self.assertEqual(read_all(c), b"")
        except ConnectionResetError:
            pass
        with self.assertRaises(ConnectionRefusedError):
            self.connect(at)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.refused("port.list").code, "gone")

    def test_box_is_replaced(self):
        """A port outlives the box: after an undo it leads into the new one."""
        self.session.run("1")
        self.serve("c.sendall(b'first'); c.close()")
        at = self.open()
        self.assertEqual(read_all(self.connect(at)), b"first")
        self.session.undo(count=1)
        self.assertEqual(read_all(self.connect(at)), b"")
        self.serve("c.sendall(b'second'); c.close()")
        self.assertEqual(read_all(self.connect(at)), b"second")

    def test_branch_has_no_open_port(self):
        at = self.open(early=True)
        twin = service.Session(self.engine, self.call("session.branch"))
        self.addCleanup(twin.close)
        self.assertEqual(self.engine.call("port.list", session=twin.id), {"ports": []})
        twin.run("import socket; s = socket.create_server(('127.0.0.1', 9000))")
        self.assertEqual(read_all(self.connect(at)), b"")

    def test_wrong_calls(self):
        port = self.open(early=True)[1]
        for params, code, words in (
                ({"port": 0}, "usage", "port"), ({"port": 65536}, "usage", "port"),
                ({"listen": "box:80"}, "usage", "box is not an address"), ({"listen": "1:2:3"}, "usage", "1:2:3 is not an"),
                ({"listen": ":80"}, "usage", ":80 is not an"), ({"listen": "[::1]"}, "usage", "is not an address"),
                ({"listen": "127.0.0.1:x"}, "usage", "is not an address"), ({"listen": ""}, "usage", "listen"),
                ({"listen": "192.0.2.1:0"}, "usage", "192.0.2.1:0 is not an address of this host"),
                ({"listen": f"{port}"}, "limit", "taken already")):
            with self.subTest(params=params):
                error = self.refused("port.open", **{"port": 9000, "early": True, **params})
                self.assertEqual(error.code, code)
                self.assertIn(words, str(error))
        self.assertEqual(self.refused("port.close", port=9001).code, "not_found")
        for _ in range(15):
            self.open(early=True)
        self.assertEqual(self.refused("port.open", port=9000, early=True).code, "limit")

    def test_closed_and_opened_again(self):
        """The address is free as soon as `port.close` is answered, also for a call that was sent with it."""
        host, port = self.open(early=True)
        calls = []
        for _ in range(5):
            calls.append(self.engine.client.send("port.close", session=self.session.id, port=9000))
            calls.append(self.engine.client.send("port.open", session=self.session.id, port=9000, early=True, listen=f"{port}"))
        for number in calls:
            self.engine.client.receive(number)
        self.connect((host, port))


class Callers(harness.Case):
    def test_another_callers_session(self):
        """It does not exist for others; and who may not name paths of the host opens no port of the host."""
        with callers.Engine({"ann": "paths=yes", "bob": "paths=yes", "eve": ""}) as engine:
            ann, bob, eve = (engine.caller(name) for name in ("ann", "bob", "eve"))
            session = ann("session.create")["session"]
            ann("step.run", session=session, code="import socket; s = socket.create_server(('127.0.0.1', 8000))")
            self.assertIn("address", ann("port.open", session=session, port=8000))
            for method, params in (("port.list", {}), ("port.open", {"port": 8000}), ("port.close", {"port": 8000}),
                                   ("port.open", {"port": 8000, "early": True})):
                for other in (bob, eve):
                    with self.assertRaises(rpc.Failed) as caught:
                        other(method, session=session, **params)
                    wanted = ("not_found", "denied") if other is eve and method == "port.open" else ("not_found",)
                    self.assertIn(caught.exception.code, wanted)
            own = eve("session.create")["session"]
            self.assertEqual(eve("port.list", session=own), {"ports": []})
            with self.assertRaises(rpc.Failed) as caught:
                eve("port.open", session=own, port=8000, early=True)
            self.assertEqual(caught.exception.code, "denied")


class Commands(harness.Case):
    """The option -p."""

    ONE = "import socket\ns = socket.create_server(('127.0.0.1', 8000))\nc = s.accept()[0]\nc.sendall(b'once'); c.close()\n"

    def at(self, stream):
        line = stream.readline()
        found = re.fullmatch(r"retort: port 8000 of the box is at 127\.0\.0\.1:(\d+)\n", line)
        self.assertTrue(found, line)
        return "127.0.0.1", int(found.group(1))

    def get(self, at):
        """What comes, as soon as the program listens."""
        got = []

        def has_come():
            with socket.create_connection(at, timeout=harness.TIMEOUT_S) as c:
                got.append(read_all(c))
            return got[-1]
        harness.until(has_come)
        return got[-1]

    def test_run(self):
        with subprocess.Popen([harness.RETORT, "run", "-p", "0:8000", "-c", self.ONE], stderr=subprocess.PIPE, text=True,
                              env=harness.environment()) as run:
            at = self.at(run.stderr)
            self.assertEqual(self.get(at), b"once")
            self.assertEqual(run.wait(harness.TIMEOUT_S), 0)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(at)

    def test_repl(self):
        code = self.ONE.replace("\n", "; ").rstrip("; ") + "\n"
        with subprocess.Popen([harness.RETORT, "repl", "-p", "0:8000"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=harness.environment()) as repl:
            at = self.at(repl.stderr)
            repl.stdin.write(code)
            repl.stdin.flush()
            self.assertEqual(self.get(at), b"once")
            repl.stdin.close()
            self.assertEqual(repl.wait(harness.TIMEOUT_S), 0)

    def test_session_new(self):
        with service.Engine() as engine:
            def new(*options):
                return subprocess.run([harness.RETORT, "session", "new", "--socket", engine.path, *options], text=True,
                                      capture_output=True, env=harness.environment(), check=False)
            done = new("-p", "0:8000", "-p", "127.0.0.1:0:8001", "work")
            self.assertEqual(done.returncode, 0, done)
            said = re.fullmatch(r"retort: port 8000 of the box is at 127\.0\.0\.1:(\d+)\n"
                                r"retort: port 8001 of the box is at 127\.0\.0\.1:\d+\n", done.stderr)
            self.assertTrue(said, done.stderr)
            number = engine.client.send("step.run", session="work", code=self.ONE)
            self.assertEqual(self.get(("127.0.0.1", int(said.group(1)))), b"once")
            engine.client.receive(number)
            done = new("-p", f"{said.group(1)}:1", "other")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("is taken already", done.stderr)
            self.assertEqual([row["name"] for row in engine.call("session.list")["sessions"]], ["work"])

    def test_wrong_values(self):
        for value, words in (("x", "no port of the box"), ("0:0", "no port of the box"), ("99999:1", "not an address and port"),
                             ("box:1:2", "box is not an address"), ("::1:80:80", "::1:80 is not an address and port"),
                             ("192.0.2.1:0:80", "is not an address of this host")):
            done = harness.run("print('ran')", "-p", value)
            self.assertEqual((done.status, done.out), (2, ""), done)
            self.assertIn(words, done.err)
        done = harness.run("1", *["-p", "0:1"] * 17)
        self.assertEqual(done.status, 2)
        self.assertIn("more than 16 times --publish", done.err)


class Command(harness.Case):
    """retort port."""

    def setUp(self):
        self.engine = service.Engine()
        self.addCleanup(self.engine.stop)
        self.engine.call("session.create", name="work", runtime="python")

    def port(self, *args):
        return subprocess.run([harness.RETORT, "port", "--socket", self.engine.path, *args], text=True, capture_output=True,
                              env=harness.environment(), check=False)

    def test_opened_listed_and_closed(self):
        self.engine.call("step.run", session="work", code=WEB + UP.format(address="127.0.0.1", port=8000))
        done = self.port("work")
        self.assertEqual((done.returncode, done.stdout), (0, "PORT  LISTENS    OPEN\n8000  127.0.0.1\n"), done)
        done = self.port("-p", "0:8000", "--unix", "9000", "work")
        table = re.fullmatch(r"PORT  LISTENS    OPEN\n8000  127\.0\.0\.1  (127\.0\.0\.1:\d+)\n"
                             r"9000 +(/\S+-9000\.sock)\n", done.stdout)
        self.assertTrue(table, done)
        self.assertTrue(stat.S_ISSOCK(os.stat(table.group(2)).st_mode))
        got = subprocess.run(["curl", "-sS", f"http://{table.group(1)}/hello.txt"], capture_output=True, check=True)
        self.assertEqual(got.stdout, b"hello from the box")
        listed = json.loads(self.port("--json", "work").stdout)["ports"]
        self.assertEqual(listed, [{"port": 8000, "listening": True, "addresses": ["127.0.0.1"], "open": [table.group(1)]},
                                  {"port": 9000, "listening": False, "open": [table.group(2)]}])
        # The same place again, in one command.
        place = f"{table.group(1).rpartition(':')[2]}:8000"
        done = self.port("--close", "8000", "-p", place, "work")
        self.assertIn(table.group(1), done.stdout)
        self.assertEqual(self.port("--close", "8000", "--close", "9000", "work").stdout, "PORT  LISTENS    OPEN\n8000  127.0.0.1\n")

    def test_wrong_words(self):
        for args, status, words in (
                ([], 2, "port: the session is missing: `retort session ls` lists them"),
                (["work", "8000"], 2, 'port: unexpected "8000"'), (["nobody"], 2, "no session nobody"),
                (["--close", "8000", "work"], 2, "port 8000 of the session is not open"),
                (["--close", "x", "work"], 2, "--close x: not a port of the session: a number from 1 to 65535"),
                (["--unix", "65536", "work"], 2, "--unix 65536: not a port of the session"),
                (["-p", "x", "work"], 2, "-p x: no port of the box"),
                (["-p", "192.0.2.1:0:80", "work"], 2, "is not an address of this host"), ([b"\xff"], 2, "not UTF-8")):
            done = self.port(*args)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done)
            self.assertIn(words, done.stderr)
        done = self.port("--json", "nobody")
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "not_found", done)
        self.engine.stop()
        done = self.port("work")
        self.assertEqual(done.returncode, 4, done)

    def test_sessions_of_the_operator_are_not_reached_over_http(self):
        with self.assertRaises(service.Refused) as caught:
            self.engine.call("port.open", session="work", port=8000, listen="http", early=True)
        self.assertEqual(caught.exception.code, "denied")


if __name__ == "__main__":
    harness.main()
