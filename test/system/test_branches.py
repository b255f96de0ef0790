# SPDX-License-Identifier: Apache-2.0
"""A branch is a full new box that goes on from where its parent is, and neither sees the other."""

import ast
import concurrent.futures
import contextlib
import glob
import os
import resource
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rpc  # noqa: E402
import service  # noqa: E402
import harness  # noqa: E402

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts")
DEPTH = 28
DEEP = "import os; x = 5; [os.mkdir('d') or os.chdir('d') for i in range(200)]; os.chdir('/home/user')\n"


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.client = cls.engine.client()

    @classmethod
    def tearDownClass(cls):
        status = cls.engine.stop()
        assert status == 0, cls.engine.said()

    def create(self, **options):
        session = self.client("session.create", **options)["session"]
        self.addCleanup(self.close, session)
        return session

    def branch(self, session, **options):
        child = self.client("session.branch", session=session, **options)["session"]
        self.addCleanup(self.close, child)
        return child

    def close(self, session):
        try:
            self.client("session.close", session=session)
        except rpc.Failed:
            pass

    def run_(self, session, code, **options):
        return self.client.run(session, code, **options)

    def value(self, session, code, **options):
        return self.client.value(session, code, **options)


class Box(Case):
    """The branch is a box of its own."""

    def test_namespaces_and_cgroup(self):
        parent = self.create()
        child = self.branch(parent)
        code = f"import os; {{n: os.readlink('/proc/self/ns/' + n) for n in {NAMESPACES}}}"
        mine, its = self.value(parent, code), self.value(child, code)
        for name in NAMESPACES:
            self.assertNotEqual(mine[name], its[name], name)
        # from inside a cgroup namespace both are "/": the names of the leaves are for the host to see
        pids = rpc.descendants(self.engine.warden)
        groups = set()
        for pid in pids:
            try:
                with open(f"/proc/{pid}/cgroup", encoding="ascii") as f:
                    groups.add(f.read())
            except OSError:
                continue
        if any("retort-" in group for group in groups):
            self.assertGreaterEqual(len(groups), 2)

    def test_neither_sees_later_variables_and_files(self):
        parent = self.create()
        self.run_(parent, "x = [1]; open('shared', 'w').write('before')")
        child = self.branch(parent)
        self.run_(parent, "x.append('parent'); open('shared', 'w').write('parent'); open('p', 'w').close()")
        self.run_(child, "x.append('child'); open('shared', 'w').write('child'); open('c', 'w').close()")
        look = "import os; [x, open('shared').read(), sorted(os.listdir('.'))]"
        self.assertEqual(self.value(parent, look), [[1, "parent"], "parent", ["p", "shared"]])
        self.assertEqual(self.value(child, look), [[1, "child"], "child", ["c", "shared"]])

    def test_sees_no_processes_of_the_other(self):
        parent = self.create()
        child, other = self.branch(parent), self.branch(parent)
        grandchild = self.branch(child)
        start = "import subprocess; p = subprocess.Popen(['sleep', '4242']); None"
        for session in (parent, child, other, grandchild):
            self.run_(session, start)
        look = ("import os\nfound = []\nfor q in filter(str.isdigit, os.listdir('/proc')):\n"
                "    try: found.append(open(f'/proc/{q}/cmdline').read())\n    except OSError: pass\n"
                "sum('4242' in c for c in found)")
        for session in (parent, child, other, grandchild):
            self.assertEqual(self.value(session, look), 1)

    def test_cannot_reach_processes_of_the_other(self):
        """By any number that there may be: no signal, no memory, no descriptors."""
        parent = self.create()
        child = self.branch(parent)
        self.run_(child, "secret = 'here'; import subprocess; p = subprocess.Popen(['sleep', '60']); p.pid")
        reach = ("import os\nmine = {int(q) for q in os.listdir('/proc') if q.isdigit()}\nwon = []\n"
                 "for q in range(1, 400):\n"
                 "    if q in mine: continue\n"
                 "    for what in ('mem', 'environ', 'fd', 'root', 'cwd', 'maps'):\n"
                 "        try: os.open(f'/proc/{q}/{what}', 0); won.append((q, what))\n"
                 "        except OSError: pass\n"
                 "    try: os.kill(q, 0); won.append((q, 'kill'))\n"
                 "    except OSError: pass\nwon")
        self.assertEqual(self.value(parent, reach), [])
        self.assertEqual(self.value(child, reach), [])
        self.run_(parent, "import os, signal\ntry: os.kill(-1, signal.SIGTERM)\nexcept OSError: pass")
        self.assertEqual(self.value(child, "p.poll() is None and secret"), "here")

    def test_no_shared_sockets_or_shared_memory(self):
        parent = self.create()
        child = self.branch(parent)
        self.run_(parent, """
import socket, ctypes, os
a = socket.socket(socket.AF_UNIX); a.bind('\\0mine'); a.listen()
u = socket.socket(socket.AF_UNIX); u.bind('/tmp/mine'); u.listen()
t = socket.socket(); t.bind(('127.0.0.1', 4567)); t.listen()
libc = ctypes.CDLL(None, use_errno=True)
shm = libc.shmget(0x4711, 4096, 0o1666)
open('/dev/shm/mine', 'w').write('mine')
open('/tmp/file', 'w').write('mine')
shm""")
        self.assertEqual(self.value(child, """
import socket, ctypes, os
won = []
for family, where in ((socket.AF_UNIX, '\\0mine'), (socket.AF_UNIX, '/tmp/mine'), (socket.AF_INET, ('127.0.0.1', 4567))):
    try: socket.socket(family).connect(where); won.append(where)
    except OSError: pass
if ctypes.CDLL(None).shmget(0x4711, 4096, 0) >= 0: won.append('shm')
won += [p for p in ('/dev/shm/mine', '/tmp/file') if os.path.exists(p)]
won"""), [])

    def test_unread_datagrams_are_told(self):
        parent = self.create()
        self.run_(parent, "import socket\nu, v = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]\n"
                          "u.bind(('127.0.0.1', 0)); v.sendto(b'unread', u.getsockname()); v.bind(('127.0.0.1', 0))")
        child = self.branch(parent)
        for one in (child, parent):
            self.assertEqual(self.run_(one, "v.sendto(b'new', u.getsockname()); print(u.recv(9))")["state"]["notice"],
                             "not copied: unread datagrams of 1 socket")
        self.assertNotIn("notice", self.run_(self.branch(parent), "1")["state"])

    def test_pipes_sockets_and_loops_go_on(self):
        """In the branch and in the session that was branched; what cannot is said by the next record."""
        parent = self.create()
        self.run_(parent, """
import os, socket, asyncio, select, multiprocessing as mp
r, w = os.pipe(); os.set_blocking(r, False); a, b = socket.socketpair(); a2 = a.dup(); b.setblocking(False)
c, d = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); x, y = mp.Pipe(); h = socket.socketpair()
h[0].shutdown(socket.SHUT_WR)
loop = asyncio.new_event_loop(); ep = select.epoll(); ep.register(r, select.EPOLLIN); ep.register(b, select.EPOLLIN)
srv = socket.create_server(('127.0.0.1', 0)); port = srv.getsockname()[1]
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))
us = socket.socket(socket.AF_UNIX); us.bind('sock'); us.listen()
async def handle(rd, wr):
    wr.write(await rd.readline()); await wr.drain(); wr.close()
async def serve():
    global server, aport
    server = await asyncio.start_server(handle, '127.0.0.1', 0); aport = server.sockets[0].getsockname()[1]
loop.run_until_complete(serve())
async def ask():
    rd, wr = await asyncio.open_connection('127.0.0.1', aport)
    wr.write(b'line\\n'); got = await rd.read(); wr.close(); return got
def fill():
    os.write(w, b'unread'); a.send(b'hello'); b.send(b'back'); x.send([1, 2])
def look():
    out = [sorted(fd for fd, _ in ep.poll(0)) == sorted([r, b.fileno()]), os.read(r, 100), b.recv(100), a.recv(100)]
    os.write(w, b'again'); out.append(os.read(r, 100)); a2.send(b'dup'); out.append(b.recv(9)); c.send(b'm')
    out += [d.recv(9), y.recv()]; y.send(3); out += [x.recv(), os.get_blocking(r), loop.run_until_complete(ask())]
    k = socket.create_connection(('127.0.0.1', port)); out.append(bool(srv.accept()))
    u.sendto(b'u', u.getsockname()); out.append(u.recv(9))
    k = socket.socket(socket.AF_UNIX); k.connect('sock'); out.append(bool(us.accept()))
    h[1].send(b'q'); out += [h[1].recv(5), h[0].recv(3)]
    fill(); return out
fill()""")
        want = [True, b"unread", b"hello", b"back", b"again", b"dup", b"m", [1, 2], 3, False, b"line\n", True, b"u", True,
                b"", b"q"]
        for _ in range(2):
            child = self.branch(parent)
            for one in (child, parent):
                done = self.run_(one, "look()")
                self.assertEqual((done["status"], done["state"]["reason"]), ("ok", None), done["stderr"])
                self.assertEqual(ast.literal_eval(done["value"]["text/plain"]), want)
        self.run_(parent, "c1 = socket.create_connection(('127.0.0.1', port)); c2, _ = srv.accept()")
        child = self.branch(parent)
        for one in (child, parent):
            state = self.run_(one, "1")["state"]
            self.assertEqual((state["notice"], state["reason"]), ("closed: 2 sockets",) * 2)
            self.assertIsNone(self.run_(one, "1")["state"]["reason"], "told once")
            self.assertEqual(self.run_(one, "c1.recv(1)")["value"]["text/plain"], "b''")

    def test_limits_trip_in_the_branch_alone(self):
        parent = self.create(limits={"memory_bytes": 128 << 20, "pids": 24, "disk_bytes": 4 << 20})
        self.run_(parent, "x = 1; open('kept', 'w').write('k')")
        child = self.branch(parent)
        done = self.run_(child, "b = bytearray(400 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1")
        self.assertIn(done["status"], ("oom", "error"), done.get("error"))
        done = self.run_(child, """
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        n += 1
except OSError: pass
time.sleep(1)
n""")
        self.assertTrue(done["limits"]["pids"]["enforced"])
        if done["limits"]["pids"]["by"] == "engine":  # without a cgroup: counted, and ended
            self.assertEqual((done["status"], done["error"]["name"]), ("killed", "ProcessLimit"))
        else:
            self.assertLess(int(done["value"]["text/plain"]), 24)
        done = self.run_(child, "open('big', 'wb').write(b'1' * (5 << 20))")
        self.assertEqual(done["status"], "error")
        self.assertIn("No space", done["error"]["message"])
        self.assertEqual(self.value(parent, """
import os, subprocess
open('mine', 'wb').write(b'1' * (2 << 20))
b = bytearray(40 << 20)
[x, subprocess.run(['true']).returncode, sorted(os.listdir('.'))]"""), [1, 0, ["kept", "mine"]])
        self.assertEqual(self.value(child, "x"), 1)

    def test_depth_to_28_then_a_clear_refusal(self):
        at = self.create()
        self.run_(at, "x = 0")
        depth = 0
        with self.assertRaises(rpc.Failed) as refused:
            for depth in range(1, 40):
                at = self.branch(at)
                self.assertEqual(self.value(at, "x += 1; x"), depth)
        self.assertGreaterEqual(depth, DEPTH - 1)
        self.assertLessEqual(depth, DEPTH + 1)
        self.assertRegex(str(refused.exception), r"2[78]|deep|depth")
        self.assertEqual(self.value(at, "x"), depth - 1)

    def test_more_branches_than_processes(self):
        """Those of a session and all its branches are bounded together: the caller hears what to do, and can."""
        parent = self.create(limits={"pids": 16})
        self.run_(parent, "x = 1")
        children = []
        with self.assertRaises(rpc.Failed) as refused:
            for _ in range(300):
                children.append(self.branch(parent))
        self.assertRegex(str(refused.exception), "too many processes")
        self.assertTrue(refused.exception.data.get("hint"))
        for child in children[:20]:
            self.close(child)
        self.assertEqual(self.value(children[-1], "x"), 1)
        said = [self.run_(parent, "x")["status"] for _ in range(3)]
        self.assertEqual(said[-1], "ok", said)
        self.assertEqual(self.value(self.branch(parent), "x"), 1)

    def test_branches_outlive_the_parent(self):
        parent = self.create()
        self.run_(parent, "x = 7")
        child = self.branch(parent)
        grandchild = self.branch(child)
        self.close(parent)
        self.close(child)
        self.assertEqual(self.value(grandchild, "x += 1; x"), 8)
        self.assertEqual(self.value(self.branch(grandchild), "x"), 8)


@harness.as_user
class Continued(Case):
    """A branch stops the guards. The init of a box around may continue them at any moment."""

    def guards(self):
        return {p for p in rpc.descendants(self.engine.warden) if rpc.name_of(p) == "retort-guard"}

    def test_guards_that_are_continued(self):
        parent = self.create()
        pids, is_over = [], threading.Event()

        def go_on():
            while not is_over.wait(0.02):
                end = time.monotonic() + 0.02
                while time.monotonic() < end:
                    for pid in list(pids):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGCONT)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            for _ in range(24):
                before, end = self.guards(), time.monotonic() + harness.TIMEOUT_S
                self.run_(parent, "x = 3")
                while not (new := self.guards() - before):
                    self.assertLess(time.monotonic(), end, "no guard was made")
                pids[:] = new
                self.assertEqual(self.value(self.branch(parent), "x"), 3)
        finally:
            is_over.set()
            thread.join()


class State(Case):
    """What goes on in a branch, and what does not."""

    CHANCE = """
import random, uuid, tempfile, ssl, os, secrets
def chance():
    out = [random.random(), str(uuid.uuid4()), str(uuid.uuid1()), tempfile.mktemp(), ssl.RAND_bytes(8).hex(),
           os.urandom(8).hex(), secrets.token_hex(8), random.SystemRandom().random()]
    try:
        import numpy
        out += [float(numpy.random.random()), float(rng.random())]
    except ImportError: pass
    return out
try:
    import numpy
    numpy.random.seed(5); rng = numpy.random.default_rng()
except ImportError: pass
random.seed(5); ssl.RAND_bytes(8); uuid.uuid1(); tempfile.mktemp(); None
"""

    def test_chance_differs(self):
        parent = self.create()
        self.run_(parent, self.CHANCE)
        children = [self.branch(parent), self.branch(parent)]
        drawn = [self.value(s, "chance()") for s in (parent, *children)]
        names = ("random", "uuid4", "uuid1", "tempfile", "OpenSSL", "urandom", "secrets", "SystemRandom", "numpy")
        for name, *values in zip(names, *drawn):
            self.assertEqual(len(set(values)), 3, f"{name}: {values}")

    def test_chance_differs_when_steps_are_run_again(self):
        """The template's chance is nobody's: its next box is not the session's own one that goes on."""
        seen = set()
        for _ in range(2):
            session = self.create(preload=["random"])
            for i in range(6):
                self.run_(session, f"x = {i}")
            self.assertEqual(self.client("session.undo", session=session, count=5)["outcome"], "replayed")
            seen.add(self.value(session, "import random; random.random()"))
        self.assertEqual(len(seen), 2)

    def test_numbers_go_on_in_the_parent(self):
        """As in plain Python, whatever is branched from it, and of a pair of normals the second as well."""
        begin = "import numpy, random; numpy.random.seed(5); random.seed(5); float(numpy.random.normal())"
        draw = ("[float(numpy.random.normal()), float(numpy.random.random()), float(numpy.random.normal()),"
                " random.random(), random.gauss(0, 1)]")
        plain = self.create()
        if self.run_(plain, "import numpy")["status"] != "ok":
            self.skipTest("numpy is not installed")
        first = self.value(plain, begin)
        expected = [self.value(plain, draw) for _ in range(3)]
        parent = self.create()
        self.assertEqual(self.value(parent, begin), first)
        for numbers in expected:
            children = [self.branch(parent), self.branch(parent)]
            drawn = [self.value(s, draw) for s in (parent, *children)]
            self.assertEqual(drawn[0], numbers)
            for values in zip(*drawn):
                self.assertEqual(len(set(values)), 3, drawn)

    def test_numbers_of_another_generator(self):
        """numpy's global one may be of any kind; branches do not share the second of its pair of normals."""
        parent = self.create()
        begin = "import numpy.random as n; n.seed(1); n.set_bit_generator(n.PCG64(3)); float(n.normal())"
        if self.run_(parent, begin)["status"] != "ok":
            self.skipTest("numpy is not installed, or older than 1.24")
        children = [self.branch(parent), self.branch(parent)]
        drawn = [self.value(s, "float(n.normal())") for s in (parent, *children)]
        self.assertEqual(len(set(drawn)), 3, drawn)

    def test_streams_are_its_own(self):
        """What it prints is said of it alone, and the streams come back when the program has closed them."""
        parent = self.create()
        self.run_(parent, "import os, subprocess, sys; print('parent')")
        child = self.branch(parent)
        third = self.branch(child)
        for step, code in enumerate(("print(name); print(name, file=sys.stderr)", "os.write(1, name.encode()); os.close(1)",
                                     "subprocess.run(['echo', name]); os.dup2(1, 2)", "os.write(2, name.encode())")):
            said = {}
            for session in (parent, child, third):
                done = self.run_(session, f"name = {session!r}; {code}; None")
                said[session] = (done["stdout"].strip(), done["stderr"].strip())
            wanted = {0: lambda s: (s, s), 3: lambda s: ("", s)}.get(step, lambda s: (s, ""))
            self.assertEqual(said, {s: wanted(s) for s in said}, code)

    def test_clock_is_its_own(self):
        """With a time given, all programs of a box have one clock, and what they sleep has not passed in another box."""
        parent = self.create(time=1000000000)
        self.run_(parent, "import subprocess, time; time.sleep(0.1); then = time.time()")
        child = self.branch(parent)
        for session, sleep in ((child, 1), (parent, 3)):
            self.run_(session, f"subprocess.run(['sleep', '{sleep}'])")
        passed = [int(float(self.value(s, "time.time() - then"))) for s in (parent, child)]
        self.assertEqual(passed, [3, 1])

    def test_knows_its_name(self):
        """It is told with the first step, be it one that fails, and to nobody twice."""
        name = "import os; [os.environ['RETORT_SESSION'], os.popen('echo $RETORT_SESSION').read().strip()]"
        parent = self.create()
        self.run_(parent, "import os; os.abort()")
        self.assertEqual(self.value(parent, name), [parent] * 2)
        child = self.branch(parent)
        self.assertEqual(self.value(child, name), [child] * 2)
        self.assertEqual(self.value(parent, name), [parent] * 2)
        self.run_(child, "os.environ['RETORT_SESSION'] = 'mine'")
        self.run_(child, "os.abort()")
        self.assertEqual(self.value(child, name), ["mine"] * 2)
        self.assertEqual(self.value(self.branch(child), name)[0][:2], "s-")

    def test_open_file_is_the_branchs_own_copy(self):
        parent = self.create()
        self.run_(parent, "f = open('f', 'w+'); f.write('0123456789'); f.flush(); f.seek(4)\n"
                          "import tempfile, os\nd = open('d', 'w+'); d.write('deleted'); d.flush(); d.seek(2)\n"
                          "os.unlink('d')")
        child = self.branch(parent)
        self.assertEqual(self.value(child, "[f.tell(), f.read(2), d.tell(), d.read()]"), [4, "45", 2, "leted"])
        self.run_(child, "f.seek(0); f.write('child'); f.flush(); d.seek(0); d.write('CHILD'); d.flush()")
        self.assertEqual(self.value(parent, "[f.tell(), f.read(), d.read()]"), [4, "456789", "leted"])
        self.run_(parent, "f.seek(0); f.write('PARENT'); f.flush()")
        self.assertEqual(self.value(child, "open('f').read()"), "child56789")
        self.assertEqual(self.value(parent, "open('f').read()"), "PARENT6789")

    SHARED = """
import ctypes, mmap, multiprocessing, os, tempfile
def file(name, flags=0):
    fd = os.open(name, os.O_RDWR | os.O_CREAT | flags)
    os.write(fd, b'.' * 10000)
    return fd
named, below, gone, hidden = file('named'), file('/tmp/a\\nb (deleted)'), file('gone'), tempfile.TemporaryFile()
os.unlink('gone'); hidden.write(b'.' * 10000); hidden.flush()
maps = [mmap.mmap(-1, 10000), *(mmap.mmap(fd, 10000) for fd in (named, below, gone, hidden.fileno())),
        mmap.mmap(named, 4096, offset=4096), mmap.mmap(gone, 0), mmap.mmap(-1, 1 << 20)]
os.close(below); hidden.close()
os.truncate('/tmp/a\\nb (deleted)', 5000)  # what is behind the end cannot be read
number, lock = multiprocessing.Value('i', 1), multiprocessing.Lock()
guarded = mmap.mmap(-1, 4096); guarded[:6] = b'closed'
at = ctypes.addressof(ctypes.c_char.from_buffer(guarded))
protect = ctypes.CDLL(None).mprotect
protect(ctypes.c_void_p(at), 4096, 0)
def write(text):
    for m in maps: m[:1] = text
    lock.acquire(); number.value += 1
def look():
    return [b''.join(m[:1] for m in maps).decode(), number.value, open('named').read(2), os.pread(gone, 2, 0).decode()]
for m in maps: m[:2] = b'-.'
"""

    def test_shared_memory_is_the_branchs_own(self):
        """And what it is shared with in there still is: the file by its name, other mappings, descriptors, children."""
        parent = self.create()
        self.run_(parent, self.SHARED)
        before = ["-" * 8, 1, "-.", "-."]
        self.assertEqual(self.value(parent, "look()"), before)
        child = self.branch(parent)
        self.run_(child, "write(b'c')")
        self.assertEqual(self.value(child, "look()"), ["c" * 8, 2, "c.", "c."])
        self.assertEqual(self.value(parent, "look()"), before)
        grandchild = self.branch(child)
        for session, sign, n in ((parent, "p", 2), (grandchild, "g", 3)):
            self.run_(session, f"if {n} == 3: lock.release()\nif os.fork() == 0: write(b'{sign}'); os._exit(0)\nos.wait()")
            self.assertEqual(self.value(session, "look()"), [sign * 8, n, sign + ".", sign + "."])
            self.assertEqual(self.value(session, "protect(ctypes.c_void_p(at), 4096, 1); guarded[:6].decode()"), "closed")
        self.assertEqual(self.value(child, "look()"), ["c" * 8, 2, "c.", "c."])

    @harness.as_each
    def test_holes_take_no_memory(self):
        parent = self.create(limits={"memory_bytes": 128 << 20})
        self.run_(parent, "import mmap, os, tempfile; f = tempfile.TemporaryFile(); fd = f.fileno(); f.truncate(200 << 20)\n"
                          "m = mmap.mmap(fd, 200 << 20); m[5] = 7; m[150 << 20] = 8; m[-1] = 9")
        child = self.branch(parent)
        look = "[[m[i] for i in (4, 5, 6, 150 << 20, -1)], os.fstat(fd).st_size, os.fstat(fd).st_blocks * 512 < 1 << 20]"
        self.assertEqual(self.value(child, look), [[0, 7, 0, 8, 9], 200 << 20, True])
        self.run_(child, "m[5] = 1")
        self.assertEqual(self.value(parent, "m[5]"), 7)

    def test_sqlite_connections_go_on(self):
        """SQLite writes to no file whose number has changed, and in a branch all have others."""
        parent = self.create()
        self.run_(parent, """
import sqlite3
for name in 'one', 'two', 'three': open(name, 'w').close()
def write(value):
    c.execute('insert into t values(?)', [value]); c.commit()
    return [[row[0] for row in k.execute('select a from t')] for k in (c, sqlite3.connect('d.db'))]
c = sqlite3.connect('d.db'); c.execute('create table t(a)'); c.execute('insert into t values(0)')
""")  # its journal is there when it is branched
        child = self.branch(parent)
        self.assertEqual(self.value(parent, "write(1)"), [[0, 1]] * 2)
        self.assertEqual(self.value(parent, "write(8)"), [[0, 1, 8]] * 2)
        self.assertEqual(self.value(child, "write(2)"), [[0, 2]] * 2)
        grandchild = self.branch(child)
        self.assertEqual(self.run_(child, "write(3); import os; os._exit(1)")["state"]["outcome"], "rolled_back")
        for session, value in ((child, 4), (grandchild, 5)):
            self.assertEqual(self.value(session, f"write({value})"), [[0, 2, value]] * 2)
        self.client("session.undo", session=grandchild)
        self.assertEqual(self.value(grandchild, "write(6)"), [[0, 2, 6]] * 2)
        moved = "os.rename('d.db', 'e.db'); sqlite3.connect('d.db').execute('create table t(a)'); write(7)"
        self.assertEqual(self.run_(grandchild, "import os; " + moved)["error"]["name"], "OperationalError")

    @harness.as_each
    def test_a_branch_that_fails_costs_no_state(self):
        """The caller hears why; the session goes on, if need be by its journal, and can be undone."""
        register = "import mmap, os, threading, time; x = 5; os.register_at_fork(after_in_child=lambda: "
        memory = {"memory_bytes": 128 << 20}
        cases = {
            "ends": (register + "os._exit(3))", {}, "gone|ended|died|message|gave up", "os.register_at_fork"),
            "thread": (register + "threading.Thread(target=time.sleep, args=(99,), name='late').start())", {},
                       "other threads are alive: late", "then branch"),
            "hangs": (register + "time.sleep(1000))", {}, "in time", "os.register_at_fork"),
            "mappings": ("import mmap; x = 5; y = [mmap.mmap(-1, 4096) for _ in range(5000)]", {},
                         "shared mappings: too many", "then branch"),
            "memory": ("import mmap; x = 5; y = mmap.mmap(-1, 100 << 20)", memory, "died|memory|ended", "memory"),
            "deep": (DEEP, {}, "128 directories deep", "remove"),
            "deep and many": (DEEP + "[open(f'f{i}', 'w').close() for i in range(10001)]", {}, "128 directories deep", ""),
            "links": ("import os; x = 5; open('a', 'wb').write(b'a' * (20 << 20)); os.link('a', 'b')",
                      {"disk_bytes": 32 << 20}, "hard links", "limit of disk"),
        }
        for name, (code, limits, message, hint) in cases.items():
            with self.subTest(name):
                session = self.create(limits=limits)
                self.run_(session, "w = 4")
                self.assertEqual(self.run_(session, code)["status"], "ok")
                try:
                    self.branch(session)
                except rpc.Failed as e:
                    self.assertRegex(str(e), message)
                    self.assertIn(hint, e.data.get("hint", ""))
                else:
                    self.assertEqual(name, "memory")  # where the limit is the engine's own, it may be too fast
                said = [self.run_(session, "w, x, input()", stdin="in") for _ in range(3)]
                self.assertEqual([record.get("value", {}).get("text/plain") for record in said],
                                 ["(4, 5, 'in')"] * 3, said)
                self.client("session.undo", session=session, count=4)
                self.assertEqual(self.value(session, "[w, 'x' in globals()]"), [4, False])

    @harness.as_each
    def test_a_driver_that_dies_while_its_box_is_cleared(self):
        """Whoever hears of it first, the caller is told what may have been the cause."""
        session = self.create(fresh=True)
        self.run_(session, "w = 4")
        self.run_(session, "import os; os.register_at_fork(after_in_child=lambda: os._exit(3))")
        init, = rpc.inits_of(self.engine.process.pid, session)
        os.kill(init, signal.SIGSTOP)  # until the driver is dead
        late = threading.Timer(0.5, os.kill, (init, signal.SIGCONT))
        late.start()
        with self.assertRaises(rpc.Failed) as caught:
            self.branch(session)
        late.join()
        self.assertIn("os.register_at_fork", caught.exception.data.get("hint", ""))
        self.assertEqual(self.value(session, "w"), 4)

    def test_shared_memory_of_a_template(self):
        """Sessions with the same preloads have nothing in common but what none of them has written to."""
        venv = os.path.join(harness.make_dir(), "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", venv], check=True)
        where = glob.glob(venv + "/lib/python*/site-packages")[0]
        with open(where + "/channel.py", "w", encoding="utf-8") as f:
            f.write("import mmap\nshared = mmap.mmap(-1, 4096)\n")
        one, other = (self.create(preload=["channel"], python=venv) for _ in range(2))
        self.run_(one, "import channel; channel.shared[:6] = b'secret'")
        self.assertEqual(self.value(other, "import channel; channel.shared[:6] == bytes(6)"), True)
        self.assertEqual(self.value(self.create(preload=["channel"], python=venv),
                                    "import channel; channel.shared[:6] == bytes(6)"), True)

    def test_a_running_step_is_waited_for(self):
        parent = self.create()
        client = self.engine.client()
        client.send("step.run", session=parent, code="import time; time.sleep(0.5); x = 'done'")
        time.sleep(0.1)
        try:
            child = self.branch(parent)
        except rpc.Failed as e:
            self.assertEqual(e.code, "busy")
        else:
            self.assertEqual(self.value(child, "x"), "done")
        client.receive()
        client.close()

    def test_threads_refuse(self):
        parent = self.create()
        self.run_(parent, "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True)\n"
                          "t.start(); x = 3")
        with self.assertRaises(rpc.Failed) as refused:
            self.branch(parent)
        self.assertRegex(str(refused.exception), r"other threads: Thread-1")
        self.assertEqual(self.value(parent, "x"), 3)

    @harness.as_each
    def test_own_processes_refuse_unless_forced(self):
        parent = self.create()
        self.run_(parent, "import subprocess; p = subprocess.Popen(['sleep', '60']); x = 3")
        with self.assertRaises(rpc.Failed) as refused:
            self.branch(parent)
        self.assertRegex(str(refused.exception), "1 process")
        self.assertEqual(self.value(parent, "p.poll() is None and x"), 3)
        child = self.branch(parent, force=True)
        self.assertEqual(self.value(child, "x"), 3)
        self.assertEqual(self.value(parent, "x"), 3)

    @harness.as_each
    def test_as_many_processes_as_there_can_be(self):
        """Those that were ended make room for the branch, although the program has not waited for them."""
        by = self.run_(self.create(), "1")["limits"]["pids"]["by"]
        n = 10 if by == "engine" else 99  # the engine ends who has too many
        parent = self.create(limits={"pids": 16})
        self.run_(parent, "import subprocess; x = 3; p = []\n"
                          "try:\n    while len(p) < %d: p.append(subprocess.Popen(['sleep', '60']))\n"
                          "except OSError: pass" % n)
        for session in self.branch(parent, force=True), parent:
            said = self.run_(session, "x, len(p) > 9, p[0].poll() is None")
            self.assertEqual(said["value"]["text/plain"], "(3, True, False)", said)
            self.assertEqual(said["state"]["outcome"], "committed", said)

    @harness.as_each
    def test_no_process_for_an_interpreter(self):
        session = self.create(limits={"pids": 16})
        by = self.run_(session, "import subprocess; x = 3; p = []")["limits"]["pids"]["by"]
        if by == "engine":
            self.skipTest("without a cgroup they are counted, and ended")
        self.run_(session, "try:\n    while True: p.append(subprocess.Popen(['sleep', '60']))\nexcept OSError: pass")
        record = self.run_(session, "select 1", runtime="sql")
        self.assertIn("--pids", record["error"]["message"])
        self.assertEqual(self.value(session, "x"), 3)

    def test_eight_at_a_time(self):
        parent = self.create()
        self.run_(parent, "x = 5")

        def one(i):
            client = rpc.Client(self.engine.path)
            child = client("session.branch", session=parent)["session"]
            got = client.value(child, f"x + {i}")
            client("session.close", session=child)
            client.close()
            return got

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(one, range(16))), [5 + i for i in range(16)])
        self.assertEqual(self.value(parent, "x"), 5)

    def test_steps_between_branches_keep_their_place(self):
        """Branches asked for at once are made side by side; what was asked before and after them is not moved."""
        parent = self.create()
        client = self.engine.client()
        self.addCleanup(client.close)
        asked = {}
        for x in (1, 2, 3):
            asked[client.send("step.run", session=parent, code=f"x = {x}")] = None
            for _ in range(6):
                asked[client.send("session.branch", session=parent)] = x
        for _ in range(len(asked)):
            number, said = client.receive()
            made = client.result(said)
            if asked[number] is None:
                self.assertEqual(made["status"], "ok")
            else:
                asked[number] = (asked[number], made["session"])
        for x, child in filter(None, asked.values()):
            self.assertEqual(self.value(child, "x"), x)
            self.close(child)
        self.assertEqual(self.value(parent, "x"), 3)

    def test_closed_while_branches_of_it_are_made(self):
        """Whoever waits is answered, whichever of the branches were done, and none is left half made."""
        for pause_s in (0, 0.005, 0.02, 0.04):
            parent = self.create()
            self.run_(parent, "x = 1")
            client = self.engine.client()
            asked = [client.send("session.branch", session=parent) for _ in range(8)]
            time.sleep(pause_s)
            asked.append(client.send("session.close", session=parent))
            answers = dict(client.receive() for _ in asked)
            client.close()
            self.assertEqual(sorted(answers), asked)
            for said in answers.values():
                if "error" in said:
                    self.assertEqual(said["error"]["data"]["code"], "gone")
                elif "session" in said["result"]:
                    self.assertEqual(self.value(said["result"]["session"], "x"), 1)
                    self.close(said["result"]["session"])
        self.assertEqual([s for s in self.client("session.list")["sessions"] if s["state"] == "opening"], [])

    def test_more_sessions_at_once_than_the_warden_makes(self):
        """Each asks for one branch: who has no turn yet waits for it, also while parents are closed."""
        parents = [self.create() for _ in range(80)]
        for i, parent in enumerate(parents):
            self.run_(parent, f"x = {i}")
        client = self.engine.client()
        self.addCleanup(client.close)
        asked = {client.send("session.branch", session=parent): i for i, parent in enumerate(parents)}
        closed = {client.send("session.close", session=parents[i]) for i in range(0, len(parents), 4)}
        for _ in range(len(asked) + len(closed)):
            number, said = client.receive()
            if number in closed:
                client.result(said)
            elif asked[number] % 4 == 0 and "error" in said:
                self.assertEqual(said["error"]["data"]["code"], "gone")
            else:
                child = client.result(said)["session"]
                self.addCleanup(self.close, child)
                self.assertEqual(self.value(child, "x"), asked[number])

    def test_ends_while_branches_wait_for_their_turn(self):
        with rpc.Engine() as engine:
            client = engine.client()
            parents = [client("session.create")["session"] for _ in range(48)]
            for parent in parents:
                client.run(parent, "x = 1")
            for parent in parents:
                client.send("session.branch", session=parent)
            client.receive()
            self.assertEqual(engine.stop(), 0, engine.said())

    def test_numerical_threads_do_not_hinder(self):
        """OpenBLAS with two CPUs starts threads of its own: checkpoints and branches all the same."""
        parent = self.create(limits={"cpus": 2})
        done = self.run_(parent, "import numpy\na = numpy.ones((300, 300)); b = a @ a; float(b[0, 0])")
        if done["status"] != "ok":
            self.skipTest("no numpy")
        self.assertEqual(self.run_(parent, "x = 1")["state"]["reason"], None)
        done = self.run_(parent, "x = 2; import os; os._exit(1)")
        self.assertEqual(done["state"]["outcome"], "rolled_back", done["state"])
        self.assertEqual(self.value(self.branch(parent), "[x, float((a @ a)[0, 0])]"), [1, 300.0])

    def outlive(self, make, use, expected):
        """
        What a library has left neither ends rollback nor branch, and it works afterwards. What waits is not at
        work: where it is, nothing of it is ended.
        """
        parent = self.create(limits={"cpus": 2})
        done = self.run_(parent, make)
        self.assertEqual((done["status"], done["stderr"]), ("ok", ""), done)
        self.run_(parent, "x = 1")
        self.assertEqual(self.value(parent, use), expected)
        done = self.run_(parent, "x = 2; import os; os._exit(1)")
        self.assertEqual(done["state"]["outcome"], "rolled_back", done["state"])
        self.assertEqual(self.value(parent, use), expected)
        self.run_(parent, "x += 1")  # and does not use it
        child = self.branch(parent)
        for session in (child, parent):
            done = self.run_(session, use)
            self.assertEqual((done["status"], done["stderr"]), ("ok", ""), done)
            self.assertEqual(self.value(session, "x"), 2)
            self.assertEqual(self.value(session, use), expected)

    def test_idle_threads_do_not_hinder(self):
        make = """
import asyncio, threading
import concurrent.futures as futures, multiprocessing, multiprocessing.pool
names = futures.ThreadPoolExecutor(2)
pool = multiprocessing.pool.ThreadPool(2)
class TMonitor(threading.Thread):  # as tqdm's
    def __init__(self):
        super().__init__(daemon=True)
        self.was_killed = threading.Event()
        self.start()
    run = lambda self: self.was_killed.wait()
TMonitor.__module__ = "tqdm._monitor"
"""
        use = ("monitor = TMonitor()\n"
               "[list(names.map(abs, [-1, 2])), pool.map(abs, [3, -4]), await asyncio.to_thread(abs, -5)]")
        self.outlive(make + use, use, [[1, 2], [3, 4], 5])

    def test_idle_pools_of_processes_do_not_hinder(self):
        make = ("import concurrent.futures as futures, multiprocessing\n"
                "workers = futures.ProcessPoolExecutor(2)\n"
                "pool = multiprocessing.Pool(2)\n")
        use = "[list(workers.map(abs, [-1, 2])), pool.map(abs, [3, -4])]"
        self.outlive(make + use, use, [[1, 2], [3, 4]])

    def test_joblib_does_not_hinder(self):
        if self.run_(self.create(), "import joblib")["status"] != "ok":
            self.skipTest("no joblib")
        use = "Parallel(n_jobs=2)(delayed(abs)(i) for i in (-1, 2))"
        self.outlive("from joblib import Parallel, delayed\n" + use, use, [1, 2])

    def test_threads_at_work_are_named_and_left_alone(self):
        parent = self.create()
        self.run_(parent, "import concurrent.futures as futures, threading\n"
                          "go = threading.Event(); pool = futures.ThreadPoolExecutor(2, 'mine')\n"
                          "job = pool.submit(go.wait, 60); x = 3")
        done = self.run_(parent, "x")
        self.assertIn("other threads: mine_0", done["state"]["reason"])
        with self.assertRaises(rpc.Failed) as refused:
            self.branch(parent)
        self.assertIn("the program has other threads: mine_0 (concurrent)", str(refused.exception))
        self.assertEqual(self.value(parent, "[go.set(), job.result()]"), [None, True])
        self.assertEqual(self.value(self.branch(parent), "pool.submit(abs, -x).result()"), 3)

    @harness.needs_shell_or_sql
    def test_one_that_has_run_nothing(self):
        for runtime, code in (("python", "1"), ("sql", "select 1"), ("shell", "echo 1")):
            parent = self.create(runtime=runtime)
            child = self.branch(parent)
            for session in (parent, child):
                self.assertEqual(self.run_(session, code)["status"], "ok", runtime)

    @harness.needs_shell_or_sql
    def test_one_that_has_gone_back_to_its_beginning(self):
        """It has nothing left, nor a template to begin with: it gets a box before it is branched."""
        for options, code in (({"runtime": "sql"}, "select 1"), ({"runtime": "shell"}, "echo 1"),
                              ({"fresh": True}, "x = 1")):
            with self.subTest(options=options):
                parent = self.create(**options)
                self.run_(parent, code)
                child = self.branch(parent)
                for session in (child, parent):
                    self.client("session.undo", session=session)
                    again = self.branch(session)
                    for each in (session, again):
                        self.assertEqual(self.run_(each, code)["status"], "ok")

    def test_undone_while_its_own_box_is_being_made(self):
        """A session that was branched goes on in a new box: one with the state of before the undo is of no use."""
        for _ in range(5):
            for gap_s in (0.001, 0.002, 0.003, 0.004, 0.005):
                session = self.create()
                for code in ("n = 1", "n += 1"):
                    self.run_(session, code)
                self.branch(session)
                time.sleep(gap_s)
                self.client("session.undo", session=session)
                self.assertEqual(self.value(session, "n"), 1, gap_s)

    def test_a_file_written_before_the_first_step_of_a_branch(self):
        """The stem does not know of the file: what comes back is the branch's own Python."""
        parent = self.create()
        self.run_(parent, "x = 5; import json as j")
        child = self.branch(parent)
        for session in (child, parent):
            for spoil in ("undo", "kill"):
                self.client("file.write", session=session, path="f", content=spoil)
                if spoil == "undo":
                    self.value(session, "x = -1; open('f', 'w').write('spoilt')")
                    self.client("session.undo", session=session)
                else:
                    done = self.run_(session, "x = -1; import os; os.kill(os.getpid(), 9)")
                    self.assertEqual((done["status"], done["state"]["outcome"]), ("killed", "rolled_back"))
                self.assertEqual(self.value(session, "[x, j.__name__, open('f').read()]"), [5, "json", spoil])
                session = self.branch(session)


class Full(harness.Case):
    """An engine that may open no more files says so; it and its sessions live on."""

    def test_started_with_few(self):
        """Fewer than the branches that the warden may have in the making."""
        few = ["sh", "-c", 'ulimit -n 48 && exec "$0" run -c "print(6 * 7)"', harness.RETORT]
        done = subprocess.run(few, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "42\n", ""))

    def test_no_descriptor_is_left(self):
        with rpc.Engine("--standby", "0") as engine:
            client = engine.client()
            kept = client("session.create")["session"]
            self.assertEqual(client.value(kept, "x = 1; x"), 1)
            client("session.close", session=client("session.branch", session=kept)["session"])
            self.assertEqual(client.value(kept, "x"), 1)
            pid, hard = engine.process.pid, resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE)[1]
            n_failed = 0
            for limit in range(16, 64, harness.sample(3, 1)):
                for method, params in (("session.create", {"fresh": True}), ("session.branch", {"session": kept})):
                    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
                    try:
                        client("session.close", session=client(method, **params)["session"])
                    except rpc.Failed as e:
                        self.assertNotEqual(e.code, "internal", str(e))
                        n_failed += 1
                    resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
                    client.run(kept, "0")  # it may be told what its own next box met with
                    self.assertEqual(client.value(kept, "x"), 1)
            self.assertGreater(n_failed, 5)
            self.assertEqual([s["session"] for s in client("session.list")["sessions"]], [kept])
            client("session.close", session=kept)
            until = time.monotonic() + 30
            while len(rpc.descendants(pid)) > 3:  # the warden, init and driver of the template
                self.assertLess(time.monotonic(), until, "a box was forgotten")
                time.sleep(0.05)


class Templates(Case):
    def init_count(self):
        return sum(rpc.name_of(p) == "retort-init" for p in rpc.descendants(self.engine.warden))

    def nesting(self, session):
        """How many pid namespaces deep the session's processes are, seen from the host."""
        client = self.engine.client()
        mark = str(time.monotonic_ns())
        client.send("step.run", session=session, code=f"import subprocess; subprocess.run(['sleep', '2.{mark[-9:]}1'])")
        deadline = time.monotonic() + 10
        found = []
        while not found and time.monotonic() < deadline:
            for pid in rpc.descendants(self.engine.warden):
                try:
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
                        if f"2.{mark[-9:]}1" in f.read():
                            found = rpc.nested(pid) or found
                except OSError:
                    continue
        client.receive()
        client.close()
        return len(found)

    def test_same_preloads_are_branches_of_one_template(self):
        one, two = self.create(preload=["json"]), self.create(preload=["json"])
        fresh = self.create(preload=["json"], fresh=True)
        self.assertEqual((self.nesting(one), self.nesting(two)), (self.nesting(fresh) + 1,) * 2)
        where = "hex(id(__import__('json').dumps))"
        self.assertEqual(self.value(one, where), self.value(two, where))
        for session in (one, two, fresh):
            self.assertTrue(self.value(session, "import sys; 'json' in sys.modules"))

    def test_failing_preload_is_a_clear_error(self):
        for options in ({}, {"fresh": True}):
            with self.assertRaises(rpc.Failed) as refused:
                self.create(preload=["no_such_module"], **options)
            self.assertIn("no_such_module", str(refused.exception))

    def test_a_dead_template_goes_with_what_it_kept_ready(self):
        self.close(self.create())
        time.sleep(1)
        before = self.init_count()
        for init in rpc.children(self.engine.warden):
            for pid in rpc.children(init):
                if rpc.name_of(pid).startswith("python"):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
        self.close(self.create())
        deadline = time.monotonic() + 20
        while self.init_count() != before and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.init_count(), before)

    def test_a_template_that_dies_costs_nobody_a_session(self):
        with service.Engine("--standby", "0") as engine:
            engine.session().close()
            for i in range(12):
                wardens = [p for p in rpc.descendants(engine.process.pid) if rpc.name_of(p) == "retort-warden"]
                drivers = [p for p in rpc.descendants(wardens[0]) if rpc.name_of(p).startswith("python")]
                clients = [engine.connect() for _ in range(3)]
                asked = [(c, c.send("session.create")) for c in clients]
                time.sleep(i / 2000)
                for pid in drivers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                for client, number in asked:
                    session = client.receive(number)["session"]
                    self.assertEqual(client.call("step.run", session=session, code="1 + 1")["value"]["text/plain"], "2")
                    client.call("session.close", session=session)
                    client.close()

    def test_pool_refills(self):
        self.create()
        deadline = time.monotonic() + 10
        counts = []
        for _ in range(3):
            sessions = [self.create() for _ in range(3)]
            for session in sessions:
                self.close(session)
            time.sleep(0.3)
            counts.append(self.init_count())
        self.assertEqual(len(set(counts)), 1, counts)
        self.assertGreater(counts[0], 1)
        self.assertLess(time.monotonic(), deadline)

    def test_workspace_and_volumes(self):
        top = harness.make_dir()
        os.chmod(top, 0o755)
        work, data, out = (os.path.join(top, n) for n in ("work", "data", "out"))
        for path in (work, data, out):
            os.mkdir(path)
            os.chmod(path, 0o777)
        os.mkdir(os.path.join(work, "below"))
        os.mkdir(os.path.join(work, "out"))
        with open(os.path.join(data, "d"), "w", encoding="ascii") as f:
            f.write("data")
        session = self.create(workspace=work, volumes=[
            {"src": data, "dst": "/data"}, {"src": data, "dst": "below"},
            {"src": out, "dst": "/home/user/out", "mode": "rw"}])
        child = self.branch(session)
        look = "[open('/data/d').read(), open('below/d').read(), open('/home/user/below/d').read()]"
        for name, one in (("s", session), ("c", child), ("g", self.branch(child))):
            self.assertEqual(self.value(one, look), ["data"] * 3, name)
            self.run_(one, f"open('out/{name}', 'w').write('x'); open('w{name}', 'w').write('x')")
            done = self.run_(one, "open('/data/new', 'w')")
            self.assertEqual(done["error"]["name"], "OSError")
        self.assertEqual(sorted(os.listdir(out)), ["c", "g", "s"])
        self.assertIn("ws", os.listdir(work))

    def test_virtual_environment(self):
        top = harness.make_dir()
        os.chmod(top, 0o755)
        env = os.path.join(top, "venv")
        made = rpc.subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], capture_output=True,
                                      check=False)
        if made.returncode != 0:
            self.skipTest("no venv module")
        session = self.create(python=env)
        self.assertEqual(self.value(session, "import sys; sys.prefix != sys.base_prefix"), True)
        self.assertEqual(self.value(self.branch(session), "sys.prefix"), self.value(session, "sys.prefix"))


if __name__ == "__main__":
    harness.main()
