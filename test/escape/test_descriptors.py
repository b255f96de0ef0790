# SPDX-License-Identifier: Apache-2.0
"""T-WAIT: no descriptor that a box sends or shares makes the engine, the warden or an init wait.

A TCP socket that lingers makes whoever closes it last wait for its peer, for an hour here. The oracle is another client:
`engine.info` is answered while the attack goes on.
"""

import os
import select
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402
import test_sessions  # noqa: E402

# Every kind of descriptor that a program of a box can make, a function for each; `keep` has what must stay open.
KINDS = r"""
import array, os, select, signal, socket, struct, subprocess, sys, tempfile, threading
keep = []
def linger(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600)); return s
def fill(s):
    s.setblocking(False)
    try:
        while True: s.send(b'x' * (65536 if s.type == socket.SOCK_STREAM else 1024))
    except BlockingIOError: return s
def pair():
    server = linger(socket.socket()); server.bind(('127.0.0.1', 0)); server.listen(8)
    near = linger(socket.socket()); near.connect(server.getsockname())
    far = server.accept()[0]
    keep.extend((server, far))
    return near, far, server
def half_closed():
    near, far, _ = pair()
    fill(near).shutdown(socket.SHUT_WR)
    return near
def unaccepted():
    near, _, server = pair()
    for _ in range(3):
        more = socket.socket(); more.connect(server.getsockname()); fill(more); keep.append(more)
    keep.remove(server)
    return server
def accepted():
    near, far, _ = pair()
    fill(far); keep.append(near); keep.remove(far)
    return far
def tcp6():
    s = linger(socket.socket(socket.AF_INET6)); s.bind(('::1', 0)); s.listen(1)
    near = linger(socket.socket(socket.AF_INET6)); near.connect(s.getsockname()); keep.append(s.accept()[0])
    return fill(near)
def connecting():
    s = linger(socket.socket()); s.setblocking(False); s.connect_ex(('127.0.0.1', 9)); return s
def udp():
    s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0)); s.connect(s.getsockname()); s.send(b'x'); return s
def unix(kind):
    a, b = socket.socketpair(type=kind); keep.append(b); return fill(a)
def carrying(depth=1):
    fd = fill(pair()[0])
    for _ in range(depth):
        a, b = socket.socketpair(); rights(a, b'x', fd); keep.append(a); fd = b
    return fd
def rights(s, data, what):
    number = what if isinstance(what, int) else what.fileno()
    return s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [number]))])
def piped(end, full):
    ends = os.pipe(); os.set_blocking(ends[1], False); keep.append(os.fdopen(ends[1 - end], 'wb' if end == 0 else 'rb'))
    try:
        while full: os.write(ends[1], b'x' * 4096)
    except BlockingIOError: pass
    os.set_blocking(ends[1], True)
    return ends[end]
def terminal(end, full):
    ends = os.openpty(); keep.append(os.fdopen(ends[1 - end], 'wb' if end else 'rb', 0)); os.set_blocking(ends[end], False)
    try:
        while full: os.write(ends[end], b'x' * 4096)
    except BlockingIOError: pass
    return ends[end]
def fifo():
    path = tempfile.mktemp(dir='/tmp'); os.mkfifo(path); return os.open(path, os.O_RDWR)
def watching():
    e = select.epoll(); near = fill(pair()[0]); keep.append(near); e.register(near.fileno()); return e
def leased():
    import fcntl
    fd = os.open(tempfile.mktemp(dir='/tmp'), os.O_RDWR | os.O_CREAT)
    try: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError: pass
    return fd
def call(name, *args): return ctypes.CDLL(None, use_errno=True).__getattr__(name)(*args)
def memory():
    fd = os.memfd_create('x'); os.truncate(fd, 32 << 20); os.pwrite(fd, b'x' * (16 << 20), 0); return fd
import ctypes
KINDS = {
    'tcp that lingers, unsent': lambda: fill(pair()[0]), 'tcp that lingers, idle': lambda: pair()[0],
    'tcp, half closed': half_closed, 'tcp, accepted': accepted, 'tcp, listening with unaccepted': unaccepted,
    'tcp, IPv6': tcp6, 'tcp, connecting': connecting, 'tcp, new': lambda: linger(socket.socket()), 'udp': udp,
    'unix stream': lambda: unix(socket.SOCK_STREAM), 'unix datagram': lambda: unix(socket.SOCK_DGRAM),
    'unix packets': lambda: unix(socket.SOCK_SEQPACKET), 'unix with one on its way': carrying,
    'unix with one on its way, nested': lambda: carrying(3),
    'pipe, empty, reading': lambda: piped(0, False), 'pipe, empty, writing': lambda: piped(1, False),
    'pipe, full, reading': lambda: piped(0, True), 'pipe, full, writing': lambda: piped(1, True), 'fifo': fifo,
    'terminal, its master, full': lambda: terminal(0, True), 'terminal, full': lambda: terminal(1, True),
    'terminal, idle': lambda: terminal(1, False), 'file': lambda: os.open(tempfile.mktemp(dir='/tmp'), os.O_RDWR | os.O_CREAT), 'file with a lease': leased,
    'file of procfs': lambda: os.open('/proc/self/maps', os.O_RDONLY), 'null': lambda: os.open('/dev/null', os.O_RDWR),
    'directory': lambda: os.open('/', os.O_RDONLY), 'path': lambda: os.open('/', os.O_PATH), 'epoll': watching,
    'eventfd': lambda: call('eventfd', 0, 0), 'timerfd': lambda: call('timerfd_create', 1, 0),
    'signalfd': lambda: call('signalfd', -1, bytes(128), 0), 'inotify': lambda: call('inotify_init'), 'memfd': memory,
    'pidfd': lambda: os.pidfd_open(os.getpid()),
}
tried = {}
def pour(s, data, plain=b''):
    # each with @data, and then nobody else has it; @plain goes out when the kernel refuses them
    gone = 0
    for name in KINDS:
        try: thing = KINDS[name]()
        except OSError: continue  # the loopback of a branch is not up yet
        try: gone = rights(s, data, thing); tried[name] = 'sent'
        except OSError as e: tried[name] = e.errno
        os.close(thing) if isinstance(thing, int) else thing.close()
    if plain and not gone: s.send(plain)
    keep.clear()
def outcomes(): return [len(tried), sorted(set(map(str, tried.values())))]
"""

TYPES = (16, 17, 18, 19, 20, 21, 22, 23, 24, 99)
N_KINDS = (34, 35)  # a box whose memory the engine measures has no memfd


PYTHON = os.path.realpath("/usr/bin/python3")


def make_socket(path):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # an address holds 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.basename(path))
    finally:
        os.chdir(here)


def make_huge(path):
    with open(path, "wb") as f:
        f.truncate(1 << 40)


def kernel_refuses():
    a, b = socket.socketpair()
    with a, b:
        try:
            a.setsockopt(socket.SOL_SOCKET, 83, 0)  # SO_PASSRIGHTS
        except OSError:
            return False
    return True


class Waits(attack.Case):
    """What a box can do to a socket and a file so that others wait for it."""

    @attack.inside(None, "[0, 0]", [0, 0], control=True)
    def test_T_WAIT_linger():
        """SO_LINGER is granted, and is not set; the upper half of a register is nothing to hide in."""
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
        value = ctypes.create_string_buffer(struct.pack("ii", 1, 3600))
        number = {"x86_64": 54, "aarch64": 208}[platform.machine()]
        for high in (0, 1 << 32, -1 << 32):
            call(number, s.fileno(), high | socket.SOL_SOCKET, high | socket.SO_LINGER, value, 8)
        return list(struct.unpack("ii", s.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)))

    @attack.inside("EINVAL", control=True)
    def test_T_WAIT_lease():
        """A lease on a file makes an open() of it wait, of the engine and of anybody outside."""
        import fcntl
        import tempfile
        with tempfile.NamedTemporaryFile() as f:
            fcntl.fcntl(f.fileno(), fcntl.F_SETLEASE, fcntl.F_WRLCK)


class Sent(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.client = cls.engine.client()
        cls.witness = cls.engine.client()

    @classmethod
    def tearDownClass(cls):
        status = cls.engine.stop()
        assert status == 0, cls.engine.said()

    def watched(self, method, **params):
        """The answer of @method; meanwhile another client is answered, again and again."""
        number = self.client.send(method, **params)
        while not select.select([self.client.socket], [], [], 0.02)[0]:
            self.witness("engine.info")
        said_id, said = self.client.receive()
        self.assertEqual(said_id, number)
        self.witness("engine.info")
        return self.client.result(said)

    def foul(self, code, **params):
        session = self.client("session.create")["session"]
        done = self.watched("step.run", session=session, code=test_sessions.CHANNEL + KINDS + code, **params)
        return session, done

    def others_work(self):
        session = self.client("session.create")["session"]
        self.assertEqual(self.client.value(session, "6 * 7"), 42)
        branch = self.client("session.branch", session=session)["session"]
        self.assertEqual(self.client.value(branch, "6 * 8"), 48)
        for one in (session, branch):
            self.client("session.close", session=one)

    def test_T_WAIT_frames(self):
        """Each kind of descriptor with each type of frame: the kernel refuses it, or the step ends."""
        heavy = "frame(19, b'{\"id\":\"0\",\"data\":{\"application/json\":[' + b'1,' * 900000 + b'1]}}')\n"
        for number in TYPES if not kernel_refuses() else (None,):
            session, done = self.foul(  # the engine is busy while the box closes its own
                heavy + f"for kind in {TYPES if number is None else (number,)}: pour(channel, struct.pack('>IB', 3, kind) + b'{{}}')\n"
                "outcomes()")
            if number is None:
                self.assertEqual(done["status"], "ok", done.get("error"))
                tried, errors = done["value"]["application/json"]
                self.assertEqual(errors, ["1"])
                self.assertIn(tried, N_KINDS)
            else:
                self.assertEqual(done["status"], "killed", done.get("error"))
            self.client("session.close", session=session)
        self.others_work()

    def test_T_WAIT_init_and_warden(self):
        """The same to the engine in the place of a branch's init, and to the warden in that of its first process."""
        code = test_sessions.INIT.replace("sync.send(b'P')", "pour(sync, b'P', b'P')").replace("sync.send(b'C')", "pour(sync, b'C', b'C')")
        code = code.replace("'exit_code': 0}", "'exit_code': 0, 'value': {'application/json': [*outcomes(), before]}}")
        session, done = self.foul(code + "before = []\ndef lie(): pass\ndef play():\n    as_driver(b'{\"pid\": 2}')\n"
                                         "    before.append(outcomes()); tried.clear()\n"
                                         "    ready = struct.pack('=IIQiI', VERSION, 1, 0, 0, 0) + bytes(EVENT_BYTES - 24); pour(init, ready, ready)\n"
                                         "    answer_all()")
        self.assertEqual(done["status"], "ok", done.get("error"))
        try:
            branch = self.watched("session.branch", session=session)["session"]
            done = self.watched("step.run", session=branch, code="1", timeout_ms=5000)
            value = done.get("value")
        except rpc.Failed as e:
            self.assertTrue(str(e))
            value = None
        if kernel_refuses():
            in_branch, errors, in_parent = value["application/json"]
            self.assertEqual((errors, in_parent[0][1]), (["1"], ["1"]))
            self.assertIn(in_parent[0][0], N_KINDS)
            self.assertGreater(in_branch, 16)
        self.client("session.close", session=session)
        self.others_work()

    def test_T_WAIT_path(self):
        """A FIFO and the like where the engine reads: beside a Python that a caller names, in a workspace, below a volume."""
        place = harness.make_dir()
        makers = {"fifo": os.mkfifo, "socket": make_socket, "directory": os.mkdir, "huge": make_huge,
                  "link": lambda path: os.symlink(os.path.join(place, "fifo", "pyvenv.cfg"), path)}
        for name, make in makers.items():
            os.makedirs(os.path.join(place, name, "bin"))
            os.symlink(PYTHON, os.path.join(place, name, "bin", "python3"))
            make(os.path.join(place, name, "pyvenv.cfg"))
            with self.subTest(config=name):  # Python itself, in the box, may well wait for it
                client = self.engine.client()
                client.send("session.create", python=os.path.join(place, name))
                for _ in range(20):
                    self.witness("engine.info")
                    if select.select([client.socket], [], [], 0.02)[0]:
                        break
                client.close()
        work = os.path.join(place, "work")
        os.mkdir(work)
        os.chmod(work, 0o777)
        with open(os.path.join(place, "volume"), "w", encoding="ascii") as f:
            f.write("volume")
        session = self.watched("session.create", workspace=work, volumes=[
            {"src": os.path.join(place, "volume"), "dst": "/tmp/up/here", "mode": "ro"}])["session"]
        self.client.value(session, "import os\nos.mkfifo('f')\nopen('g', 'w').write('1')\nos.rename('/tmp/up', '/tmp/away')\n"
                                   "os.mkdir('/tmp/up'); os.mkfifo('/tmp/up/here')")
        for method, params in (("file.read", {"path": "f"}), ("file.write", {"path": "f", "content": "x"}),
                               ("file.list", {}), ("step.run", {"code": "import os; os._exit(1)"}), ("session.undo", {}),
                               ("session.branch", {"force": True}), ("file.remove", {"path": "f"})):
            with self.subTest(method=method):
                try:
                    self.watched(method, session=session, **params)
                except rpc.Failed as e:
                    self.assertTrue(str(e))
        self.client("session.close", session=session)
        self.others_work()

    def test_T_WAIT_shared_guard(self):
        """A forged guard clears O_NONBLOCK of what it was given, and prints when it is the driver."""
        session, done = self.foul(r"""
import fcntl
r, w = os.pipe()
start, go = socket.socketpair()
if os.fork() == 0:
    if os.fork(): os._exit(0)
    os.setsid(); os.write(w, b'%d' % os.getpid())
    fd = array.array('i', [0])
    _, ancillary, _, _ = go.recvmsg(1, 64); fd.frombytes(ancillary[0][2]) ; mine = socket.socket(fileno=fd[-1])
    while True:
        head = mine.recv(5, socket.MSG_WAITALL)
        if len(head) < 5: os._exit(0)
        size, kind = struct.unpack('>IB', head)
        if size > 1: mine.recv(size - 1, socket.MSG_WAITALL)
        if kind == 3:
            text = b'{"version":"3","implementation":"cpython","pid":%d}' % os.getpid()
            mine.sendall(struct.pack('>IB', len(text) + 1, READY) + text)
        else:
            fcntl.fcntl(mine, fcntl.F_SETFL, fcntl.fcntl(mine, fcntl.F_GETFL) & ~os.O_NONBLOCK)
            for _ in range(100): os.write(1, b'x'); time.sleep(0.005)
            time.sleep(3600)
pid = int(os.read(r, 16)); os.wait()
frames = sys._getframe()
while not ('native' in frames.f_globals and 'state' in frames.f_globals): frames = frames.f_back
def forge(name, channel, guard, *rest):
    rights(start, b'x', guard)
    frame(GUARD, {'id': json.loads(name), 'pid': pid, 'lost': 0})
    return ''
frames.f_globals['native'].guard = forge
""")
        self.assertEqual(done["status"], "ok", done.get("error"))
        self.watched("step.run", session=session, code="import os; os._exit(3)", timeout_ms=2000)
        try:
            self.watched("step.run", session=session, code="1", timeout_ms=1000)
        except rpc.Failed as e:
            self.assertTrue(str(e))
        self.client("session.close", session=session)
        self.others_work()


if __name__ == "__main__":
    harness.main()
