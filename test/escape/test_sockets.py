# SPDX-License-Identifier: Apache-2.0
"""T-SOCKET: a box that a directory of the host is shown to does not reach retort's own sockets in that directory."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import service  # noqa: E402

# What the attacker wants: a session that is shown a secret of the host. Each way to connect returns what came back.
ASK = r"""
import array, json, os, socket
def ask(s):
    s.settimeout(30)
    said = b""
    try:
        s.sendall(REQUEST)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    try:
        while part := s.recv(1 << 16):
            said += part
    except OSError:
        pass
    return said.decode()

def connected(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s

def directly(path):
    return ask(connected(path))

def of_a_child_that_is_gone(path):
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            s = connected(path)
            theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    theirs.close()
    fds = array.array("i", [])
    for _, _, data in ours.recvmsg(1, 64)[1]:
        fds.frombytes(data)
    return ask(socket.socket(fileno=fds[0]))

def kept_by_a_grandchild(path):
    r, w = os.pipe()
    if (pid := os.fork()) == 0:
        s = connected(path)
        if os.fork() == 0:
            os.write(w, ask(s).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(w)
    return os.read(r, 1 << 16).decode()

def all_ways(*paths):
    found = {}
    for path in paths:
        for way in (directly, of_a_child_that_is_gone, kept_by_a_grandchild):
            try:
                found[path + " " + way.__name__] = way(path)
            except OSError as e:
                found[path + " " + way.__name__] = type(e).__name__
    return found
"""


class Case(harness.Case):
    """An engine whose socket is in a directory of its own, and a secret of the host outside of it."""

    def setUp(self):
        self.engine = service.Engine()
        self.addCleanup(self.engine.stop)
        self.addCleanup(self.engine.client.close)
        self.shown = harness.make_dir()
        self.secret = secrets.token_hex(16)
        self.outside = harness.make_dir()
        with open(os.path.join(self.outside, "secret"), "w", encoding="ascii") as f:
            f.write(self.secret)

    def request(self):
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.create", "params": {
            "name": "stolen", "volumes": [{"src": self.outside, "dst": "/mine", "mode": "rw"}]}}).encode() + b"\n"

    def try_in(self, session, *paths):
        """What each way to connect gave in the box."""
        record = session.run(f"REQUEST = {self.request()!r}\n{ASK}\nimport json; print(json.dumps(all_ways(*{paths!r})))")
        self.assertEqual(record["status"], "ok", record)
        found = json.loads(record["stdout"])
        self.assertEqual(len(found), 3 * len(paths), found)
        return found

    def assert_host_is_served(self):
        """The control: the same request is granted to the host."""
        about = self.engine.call("session.create", name="asked", volumes=[{"src": self.outside, "dst": "/mine"}])
        self.assertEqual(service.Session(self.engine, about).value("open('/mine/secret').read()"), repr(self.secret))


class Engine(Case):
    """The engine's own socket: whoever may call it may do all that its user may."""

    def assert_refused(self, session, *paths):
        for way, said in self.try_in(session, *paths).items():
            with self.subTest(way=way):
                if said != "PermissionError":  # of connect()
                    error = json.loads(said)["error"]
                    self.assertEqual(error["data"]["code"], "access", error)
                self.assertNotIn("result", said)
        self.assertEqual([s.get("name") for s in self.engine.call("session.list")["sessions"]], [None])
        self.assert_host_is_served()

    def test_T_SOCKET_ENGINE_in_a_volume(self):
        """In a directory that the box is shown for reading, from the session and from a branch of it."""
        session = self.engine.session(volumes=[{"src": self.engine.dir, "dst": "/d"}])
        for box in (session, service.Session(self.engine, self.engine.call("session.branch", session=session.id))):
            for way, said in self.try_in(box, "/d/s").items():
                with self.subTest(way=way):
                    self.assertNotIn("result", said)
                    self.assertIn("access", said) if said != "PermissionError" else None
        self.assertNotIn("stolen", str(self.engine.call("session.list")))
        self.assert_host_is_served()

    def test_T_SOCKET_ENGINE_by_a_link(self):
        """A hard link to the socket in the workspace, and in a volume that may be written."""
        os.link(self.engine.path, os.path.join(self.shown, "link"))
        session = self.engine.session(workspace=self.shown, volumes=[{"src": self.shown, "dst": "/d", "mode": "rw"}])
        self.assert_refused(session, "link", "/d/link")

    def test_T_SOCKET_ENGINE_moved_later(self):
        """The socket comes into a directory that the box already shows."""
        session = self.engine.session(workspace=self.shown)
        os.rename(self.engine.path, os.path.join(self.shown, "moved"))
        self.engine.path = os.path.join(self.shown, "moved")
        self.assert_refused(session, "moved")

    def test_T_SOCKET_ENGINE_of_another_run(self):
        """A box of another engine of the same user: `retort run` in the directory of the socket."""
        code = f"REQUEST = {self.request()!r}\n{ASK}\nprint(json.dumps(all_ways('s')))"
        done = attack.record(code, "-w", self.engine.dir)
        self.assertEqual(done["status"], "ok", done)
        for way, said in json.loads(done["stdout"]).items():
            with self.subTest(way=way):
                self.assertNotIn("result", said)
        self.assertNotIn("stolen", str(self.engine.call("session.list")))
        self.assert_host_is_served()

    def test_T_SOCKET_ENGINE_flood(self):
        """Connections without end are refused, and others are served meanwhile."""
        os.link(self.engine.path, os.path.join(self.shown, "link"))
        session = self.engine.session(workspace=self.shown)
        going = self.engine.client.send("step.run", session=session.id, timeout_ms=600000, code="""
import os, socket
for _ in range(7):
    if os.fork() == 0: break
open(f"started-{os.getpid()}", "w").close()
while True:
    try:
        s = socket.socket(socket.AF_UNIX); s.connect("link"); s.close()
    except OSError: pass""")
        end = time.monotonic() + harness.TIMEOUT_S
        while len(os.listdir(self.shown)) < 9 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(len(os.listdir(self.shown)), 9)
        for _ in range(5):
            done = harness.retort("session", "ls", "--json", "--socket", self.engine.path)
            self.assertEqual(done.status, 0, done)
        self.engine.call("step.interrupt", session=session.id)
        self.engine.client.receive(going)


class Replaced(Case):
    """No box may write where the engine has sockets: what calls the engine would call a program of the box."""

    def assert_refused(self, **params):
        for options in ({}, {"fresh": True}, {"runtime": "shell"}):
            with self.subTest(**params, **options), self.assertRaises(service.Refused) as caught:
                self.engine.call("session.create", **params, **options)
            self.assertEqual(caught.exception.code, "access")

    def test_T_SOCKET_REPLACED_engine(self):
        """The directory of the engine's socket or one above it, as workspace or as a volume that may be written."""
        link = os.path.join(self.shown, "link")
        os.symlink(self.engine.dir, link)
        for path in (self.engine.dir, os.path.dirname(self.engine.dir), link, self.engine.dir + "/../."):
            self.assert_refused(workspace=path)
            self.assert_refused(volumes=[{"src": self.shown, "dst": "/a"}, {"src": path, "dst": "/d", "mode": "rw"}])
        self.assert_refused(volumes=[{"src": "/", "dst": "/d", "mode": "rw"}])
        below = os.path.join(self.engine.dir, "below")
        os.mkdir(below)
        for params in ({"workspace": below}, {"volumes": [{"src": self.engine.dir, "dst": "/d"}]}, {"workspace": self.shown}):
            self.assertEqual(self.engine.session(**params).value("6 * 7"), "42")

    def test_T_SOCKET_REPLACED_given(self):
        """The socket of an engine that a service manager has opened: nobody reaches it from a box, or replaces it."""
        directory = harness.make_dir()
        path = os.path.join(directory, "given")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            s.listen()
            hand = "import os, sys\nos.dup2(int(sys.argv[1]), 3)\n" \
                   "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\nos.execv(sys.argv[2], sys.argv[2:])"
            engine = subprocess.Popen(
                [sys.executable, "-c", hand, str(s.fileno()), harness.RETORT, "serve", "--no-journal"],
                env=harness.environment(), cwd=harness.TMP, pass_fds=[s.fileno()], stdin=subprocess.DEVNULL)
        try:
            client = service.Client(path)
            with self.assertRaises(service.Refused) as caught:
                client.call("session.create", workspace=directory)
            self.assertEqual(caught.exception.code, "access")
            session = client.call("session.create", volumes=[{"src": directory, "dst": "/d"}])["session"]
            record = client.call("step.run", session=session, code=f"REQUEST = {self.request()!r}\n{ASK}\ndirectly('/d/given')")
            self.assertNotIn("result", record.get("value", {}).get("text/plain", ""), record)
            self.assertEqual(len(client.call("session.list")["sessions"]), 1)
            client.close()
        finally:
            engine.terminate()
            engine.wait(harness.TIMEOUT_S)

    def test_T_SOCKET_REPLACED_port(self):
        """The directory of the sockets of ports, before one is there."""
        with service.Engine() as engine:
            path = engine.call("port.open", session=engine.session().id, port=8000, early=True, listen="unix")["path"]
        self.assert_refused(workspace=os.path.dirname(path))
        self.assert_refused(volumes=[{"src": os.path.dirname(path), "dst": "/d", "mode": "rw"}])


class Ports(Case):
    """The socket of an open port leads into one box; boxes do not reach each other."""

    def test_T_SOCKET_PORT_from_another_box(self):
        """Of another session, in a directory that this box is shown, also opened only later."""
        served = self.engine.session()
        served.run("import socket, threading\ns = socket.create_server(('127.0.0.1', 8000))\n"
                   "def go():\n    while True:\n        c = s.accept()[0]; c.sendall(b'for the host'); c.close()\n"
                   "threading.Thread(target=go, daemon=True).start()")
        path = self.engine.call("port.open", session=served.id, port=8000, listen="unix")["path"]
        name = os.path.basename(path)
        os.link(path, os.path.join(self.shown, "link"))
        session = self.engine.session(workspace=self.shown, volumes=[{"src": os.path.dirname(path), "dst": "/d"}])
        later = self.engine.session()
        late = self.engine.call("port.open", session=later.id, port=8000, early=True, listen="unix")["path"]
        found = self.try_in(session, f"/d/{name}", "link", f"/d/{os.path.basename(late)}")
        for way, said in found.items():
            with self.subTest(way=way):
                self.assertIn(said, ("", "PermissionError"))
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(harness.TIMEOUT_S)
            s.connect(path)
            self.assertEqual(s.recv(100), b"for the host")


if __name__ == "__main__":
    harness.main()
