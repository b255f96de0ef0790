# SPDX-License-Identifier: Apache-2.0
"""Sessions of one engine: nothing goes from one to the other, and a hostile driver harms its own alone.

User code shares its driver's process, so it can find the channel and play the driver.
"""

import glob
import os
import signal
import sys
import time
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import rpc  # noqa: E402

SECRET_STEP = r"""
import ctypes, os, socket, sys, tempfile
secret = bytes(b ^ 0x5a for b in bytes.fromhex('%s'))
text = secret.decode()
kept = [secret * 1000 for _ in range(200)]
for top in ('/home/user', '/tmp', '/dev/shm'):
    open(top + '/' + 'secret', 'w').write(text * 100)
os.environ['SECRET'] = text
print(text); print(text, file=sys.stderr)
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
shm = libc.shmget(0x5ec, 65536, 0o1666)
if shm >= 0:
    ctypes.memmove(libc.shmat(shm, None, 0), text.encode() * 10, len(text) * 10)
a = socket.socket(socket.AF_UNIX); a.bind('\0secret'); a.listen()
u = socket.socket(socket.AF_UNIX); u.bind('/tmp/socket'); u.listen()
heap = libc.malloc; heap.restype = ctypes.c_void_p
for size in (64, 4096, 1 << 20):
    for _ in range(20):
        p = ctypes.c_void_p(heap(size)); ctypes.memset(p, 0, size)
        for at in range(0, size - len(secret), 64): ctypes.memmove(p.value + at, secret, len(secret))
        libc.free(p)
os.symlink('/proc/self/environ', '/tmp/link')
None
"""

LOOK_STEP = r"""
import ctypes, os, socket
def find():
    coded = bytes.fromhex('%s')
    found = []
    half = bytes(b ^ 0x5a for b in coded[:12])  # never the whole: it would be found here
    def judge(where, data):
        at = data.find(half)
        while at >= 0:
            if bytes(b ^ 0x5a for b in data[at + 12:at + len(coded)]) == coded[12:]:
                found.append(where)
                return
            at = data.find(half, at + 1)
    for top in ('/home/user', '/tmp', '/dev/shm', '/var', '/run', '/proc/self'):
        for folder, dirs, files in os.walk(top):
            if folder.startswith('/proc') : dirs[:] = []
            for name in files:
                path = os.path.join(folder, name)
                if top == '/proc/self' and name != 'environ' and name != 'cmdline': continue
                if 'secret' in name or name == 'link': found.append(path)
                try: judge(path, open(path, 'rb').read(1 << 20))
                except OSError: pass
    for q in filter(str.isdigit, os.listdir('/proc')):
        for name in ('environ', 'cmdline'):
            try: judge(q + name, open(f'/proc/{q}/{name}', 'rb').read())
            except OSError: pass
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    for size in (64, 4096, 1 << 20):      # what the heap gives again
        judge('heap', b''.join(ctypes.string_at(libc.malloc(size), size) for _ in range(20)))
    with open('/proc/self/mem', 'rb', 0) as mem:
        for line in open('/proc/self/maps'):
            if 'r' != line.split()[1][0] or '[v' in line: continue
            start, end = (int(x, 16) for x in line.split()[0].split('-'))
            if end - start > 256 << 20: continue
            try:
                mem.seek(start)
                data = mem.read(end - start)
            except (OSError, ValueError, OverflowError): continue
            judge(line.strip(), data)
            del data
    if libc.shmget(0x5ec, 4096, 0) >= 0: found.append('shm')
    for where in ('\0secret', '/tmp/socket'):
        try: socket.socket(socket.AF_UNIX).connect(where); found.append(where)
        except OSError: pass
    return found
find()
"""

CHANNEL = r"""
import array, json, os, socket, struct, sys, time
channel = None
for name in os.listdir('/proc/self/fd'):
    try:
        s = socket.socket(fileno=os.dup(int(name)))
        if s.family == socket.AF_UNIX and s.type == socket.SOCK_STREAM and not s.getsockname():
            s.getpeername()
            if int(name) > 2: channel = s; number = int(name)
    except OSError: pass
assert channel
channel.setblocking(True)
def frame(kind, payload, fds=()):
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    data = struct.pack('>IB', len(data) + 1, kind) + data
    try: n = channel.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
    except PermissionError: n = 0  # the kernel refuses descriptors, not the frame
    channel.sendall(data[n:])
READY, BEGIN, GUARD, DISPLAY, RESULT, BRANCHED, DONE, STATE = 16, 17, 18, 19, 21, 22, 23, 24
ids = [str(i) for i in range(1, 40)]
"""

# The driver that is to be branched makes the clone itself, and what comes out of it is never init: it has init's
# socket, the new driver's channel and the old one, and plays all three. It runs in the driver's memory, as vfork's
# child does, while the driver stands still.
INIT = r"""
import ctypes
VERSION, EVENT_BYTES = 1, 560  # sizeof(struct init_event), sandbox/wire.h
libc = ctypes.CDLL(None, use_errno=True)
def put(path, text):
    fd = os.open(path, os.O_WRONLY); os.write(fd, text); os.close(fd)
def event(kind, number=0, status=0, version=None):
    data = struct.pack('=IIQiI', version or VERSION, kind, number, status, 0)
    try: init.send(data + bytes(EVENT_BYTES - len(data)), socket.MSG_DONTWAIT)
    except OSError: pass
def as_driver(text):
    new.sendall(struct.pack('>IB', len(text) + 1, READY) + text)
def answer_all():
    global last
    # the new driver's part: every STEP and SETUP is done at once
    while True:
        head = b''
        while len(head) < 5:
            more = new.recv(5 - len(head))
            if not more: os._exit(0)
            head += more
        size, kind = struct.unpack('>IB', head)
        body = b''
        while len(body) < size - 1: body += new.recv(size - 1 - len(body))
        said = json.loads(body) if body else {}
        last = said.get('id', '0')
        for kind_, more in ((BEGIN, {}), (RESULT, {'status': 'ok', 'exit_code': 0})) if kind == 1 else ((DONE, {}),):
            text = json.dumps({'id': said.get('id', '0'), **more}).encode()
            new.sendall(struct.pack('>IB', len(text) + 1, kind_) + text)
        lie()
def branch(name, traits, old, fds, streams, *_):
    global init, new
    sync = socket.socket(fileno=fds[0]); init = socket.socket(fileno=fds[1]); new = socket.socket(fileno=fds[6])
    for s in (sync, init, new): s.setblocking(True)
    sync.send(b'P')
    if libc.syscall(56, 0x7c02c111, 0, 0, 0, 0) != 0:
        raise RuntimeError('no branch')
    try:
        put('/proc/self/setgroups', b'deny'); put('/proc/self/uid_map', b'1000 1000 1')
        put('/proc/self/gid_map', b'1000 1000 1')
        for fd in fds[7:]: os.write(fd, b'0')
        sync.send(b'C')
        sync.recv(1)
        frame(BRANCHED, {'id': str(name, 'utf-8') if isinstance(name, bytes) else str(name)})
        play()
    finally:
        os._exit(1)
caller = sys._getframe()
while 'native' not in caller.f_globals: caller = caller.f_back
caller.f_globals['native'].branch = branch
"""


class Sessions(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.client = cls.engine.client()

    @classmethod
    def tearDownClass(cls):
        status = cls.engine.stop()
        assert status == 0, cls.engine.said()

    def setUp(self):
        self.other = self.client("session.create")["session"]
        self.client.run(self.other, "y = 77")
        self.addCleanup(self.client, "session.close", session=self.other)

    def create(self, **options):
        return self.client("session.create", **options)["session"]

    def branch(self, session):
        return self.client("session.branch", session=session)["session"]

    def test_T_BRANCH_OPEN_directories(self):
        """A directory above or beside the workspace is the branch's own."""
        below = {"/": "home/user", "/home": "user", "/dev": "shm", "/home/user/data": "..", "/tmp": "."}
        volume = harness.make_dir()
        parent = self.create(volumes=[{"src": volume, "dst": "/home/user/data", "mode": "rw"}])
        self.client.run(parent, f"""
import os
ways = {{(name, flag): (os.open(name, flag), below)
        for name, below in {below!r}.items() for flag in (os.O_RDONLY, os.O_PATH)}}
def there(name):
    return [n for n, (fd, b) in ways.items() if name in os.listdir(f'/proc/self/fd/{{fd}}/{{b}}')]
def make(name):
    for fd, b in ways.values(): open(f'/proc/self/fd/{{fd}}/{{b}}/{{name}}', 'w').close()
""")
        first, second = self.branch(parent), self.branch(parent)
        for name, session in (("one", first), ("two", parent), ("three", second)):
            self.client.run(session, f"make('{name}')")
        others = {first: ("two", "three"), parent: ("one", "three"), second: ("one", "two")}
        for (session, names), own in zip(others.items(), ("one", "two", "three")):
            self.assertEqual(self.client.value(session, f"[there(n) for n in {names!r}]"), [[], []])
            self.assertEqual(self.client.value(session, f"len(there('{own}'))"), 2 * len(below))

    def test_T_BRANCH_OPEN_proc_and_queues(self):
        """What was open of them tells of no other box, and nothing passes."""
        parent = self.create()
        self.client.run(parent, """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
proc, status = os.open('/proc', os.O_RDONLY), os.open('/proc/self/status', os.O_RDONLY)
queue = libc.mq_open(b'/retort', os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o600, None)
assert queue >= 0
def take(): return libc.mq_receive(queue, ctypes.create_string_buffer(9000), 9000, None)
def pids(of): return sorted(n for n in os.listdir(of) if n.isdigit())
""")
        child = self.branch(parent)
        self.client.run(child, "libc.mq_send(queue, b'child', 5, 0)")
        self.assertEqual(self.client.value(parent, "take()"), -1)
        for session in (parent, child):
            self.client.run(session, "import subprocess\np = subprocess.Popen(['sleep', '60'])")
        for session in (parent, child):
            self.assertTrue(self.client.value(session, "pids(proc) == pids('/proc') and str(p.pid) in pids(proc)"))
            self.assertTrue(self.client.value(session, "os.pread(status, 99, 0).decode() in open('/proc/self/status').read()"))

    def test_T_BRANCH_OPEN_terminals(self):
        """What was open of a terminal, or leads to one, leads to no terminal of another box."""
        parent = self.create()
        self.client.run(parent, """
import fcntl, os, pty, termios
master, slave = pty.openpty()
name = os.ttyname(slave)
path, folder = os.open(name, os.O_PATH), os.open('/dev/pts', os.O_PATH | os.O_DIRECTORY)
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
own = os.open('/dev/tty', os.O_RDWR)
def write(way):
    try:
        fd = way if isinstance(way, int) else os.open(way, os.O_RDWR | os.O_NOCTTY)
        return os.isatty(fd) and os.write(fd, b'from a branch')
    except OSError: return False
ways = [master, slave, own, f'/proc/self/fd/{path}', f'/proc/self/fd/{folder}/0', name, '/dev/tty']
""")
        self.assertNotIn(False, self.client.value(parent, "[write(w) for w in ways]"))
        child = self.branch(parent)
        for session in (child, parent):  # which goes on as a branch itself
            self.assertEqual(self.client.value(session, "[write(w) for w in ways]"), [False] * 7)

    def test_T_IDLE_goes_on_between_steps(self):
        """What a step leaves behind takes memory or CPU time when no step runs; so does the driver itself."""
        def ended(name):
            deadline = time.monotonic() + 60
            while any(row[1] == name and row[2] != 'Z' for row in harness.processes().values()) and time.monotonic() < deadline:
                time.sleep(0.2)
            return time.monotonic() < deadline
        burner = """
import os, threading, time
kept = 7
def name(text): open('/proc/self/comm', 'w').write(text)
def leave(text, f):
    named, tell = os.pipe()
    if os.fork() == 0:
        os.setsid(); name(text); os.write(tell, b'.'); f(); os._exit(0)
    os.read(named, 1)
def burn():
    while True: pass
def grow():
    time.sleep(0.2)
    held = [bytearray(b'z') * (60 << 20) for _ in range(2)]
    time.sleep(99)
"""
        for cgroup in ("none", "") if harness.IS_ROOT else ("none",):
            with unittest.mock.patch.dict(os.environ, {"RETORT_CGROUP": cgroup} if cgroup else {}):
                engine = rpc.Engine()
            self.addCleanup(engine.stop)
            client = engine.client()
            session = client("session.create", limits={"memory_bytes": 96 << 20, "cpu_ms": 700})["session"]
            client.run(session, burner)
            for word, code in (("memory", "for _ in range(3): leave('t-idle-grow', grow)"),
                               ("CPU time", "for _ in range(6): leave('t-idle-burn', burn)")):
                if word == "memory" and not cgroup:
                    continue  # the kernel sees to it
                self.assertEqual(client.run(session, code)["status"], "ok")
                self.assertTrue(ended(code.split("'")[1]), word)
                done = client.run(session, "kept")
                self.assertEqual(done["state"]["reason"], "processes that steps left running were ended: between "
                                 f"two steps they went over the limit of {word}")
                self.assertEqual((done["status"], done["value"]["application/json"]), ("ok", 7))
                self.assertLess(done["usage"]["cpu_ms"], 500)  # what others used is not this step's
                self.assertIsNone(client.run(session, "kept")["state"]["reason"])
            # A session of its own: its state is rebuilt, and the steps above would leave their processes again,
            # which nothing ends between two steps that follow each other at once.
            session = client("session.create", limits={"memory_bytes": 96 << 20, "cpu_ms": 700})["session"]
            client.run(session, burner)
            client.run(session, "name('t-idle-self'); threading.Thread(target=burn, daemon=True).start()")
            self.assertTrue(ended("t-idle-self"))
            self.assertNotEqual(client.run(session, "1")["state"]["outcome"], "committed")

    def others_work(self):
        self.assertEqual(self.client.value(self.other, "y"), 77)
        session = self.create()
        self.assertEqual(self.client.value(session, "6 * 7"), 42)
        branch = self.client("session.branch", session=session)["session"]
        self.assertEqual(self.client.value(branch, "6 * 8"), 48)
        for one in (session, branch):
            self.client("session.close", session=one)
        self.assertIsNone(self.engine.process.poll(), self.engine.said())

    def play(self, code, then=("1 + 1",), timeout_ms=2000):
        """A session whose driver plays foul: each operation has an end, and others go on."""
        session = self.create()
        self.client.run(session, "x = 1")
        start = time.monotonic()
        for step in (CHANNEL + code, *then):
            try:
                done = self.client.run(session, step, timeout_ms=timeout_ms)
                self.assertIn(done["status"], ("ok", "error", "timeout", "killed", "oom"))
                self.assertIn(done["state"]["outcome"], ("committed", "rolled_back", "lost", "replayed", "diverged"))
            except rpc.Failed as e:
                self.assertTrue(str(e))
        try:
            branch = self.client("session.branch", session=session, force=True)["session"]
            self.client("session.close", session=branch)
        except rpc.Failed as e:
            self.assertTrue(str(e))
        self.assertLess(time.monotonic() - start, 40)
        self.client("session.close", session=session)
        self.others_work()

    # ---- secrets ----

    def test_T_SESSION_SECRET_anywhere(self):
        """A secret in memory, files, shared memory, sockets, output, environment, freed heap: looked for by
        sessions made before and after, while it is open and when it is closed, and in its place."""
        secret = ("s3cr3t" + os.urandom(12).hex()).encode()
        coded = bytes(b ^ 0x5A for b in secret).hex()
        before = self.create()
        holder = self.create()
        done = self.client.run(holder, SECRET_STEP % coded)
        self.assertEqual(done["status"], "ok", done.get("error"))
        self.assertIn(secret.decode(), done["stdout"])
        # one that knows what to find: what looks is able to find
        self.assertGreater(len(self.client.value(holder, LOOK_STEP % coded)), 3)
        after = self.create()
        for session in (before, after):
            self.assertEqual(self.client.value(session, LOOK_STEP % coded), [])
        self.client("session.close", session=holder)
        for _ in range(5):  # slots and leaves are used again
            session = self.create()
            self.assertEqual(self.client.value(session, LOOK_STEP % coded), [])
            self.client("session.close", session=session)
        self.assertEqual(self.client.value(before, LOOK_STEP % coded), [])
        for session in (before, after):
            self.client("session.close", session=session)
        self.others_work()

    # ---- drivers ----

    def test_T_SESSION_FRAME_forged_guard(self):
        """GUARD for every id, with pids of init, of the driver, of nobody, and a descriptor; then a rollback."""
        for pid in ("1", "os.getpid()", "os.getppid()", "99999", "-1", "0", "2**40", "'x'"):
            with self.subTest(pid=pid):
                self.play(f"a, b = socket.socketpair()\nfor i in ids: frame(GUARD, {{'id': i, 'pid': {pid}, 'lost': 0}}, "
                          "[a.fileno()])\n", ("import os; os._exit(1)", "1"))

    def test_T_SESSION_FRAME_guard_of_another_process(self):
        """The guard's pid is that of a process that an earlier step started."""
        self.play("import subprocess\np = subprocess.Popen(['sleep', '60'])\na, b = socket.socketpair()\n"
                  "for i in ids: frame(GUARD, {'id': i, 'pid': p.pid, 'lost': 0}, [a.fileno()])\n",
                  ("import os; os._exit(1)", "1"))

    def test_T_BRANCH_OUTLIVE_as_a_guard(self):
        """A process passes for a guard, which no branch is refused for: above the branch it would have power over it."""
        for is_forced in (True, False):
            with self.subTest(is_forced=is_forced):
                self.pass_for_a_guard(is_forced)
        self.others_work()

    def pass_for_a_guard(self, is_forced):
        session = self.create()
        # init's own child, as a guard is: its parent ends at once
        code = ("import subprocess\nmark = '8' + str(os.getpid()) + '77'\n"
                "pid = int(subprocess.run(['sh', '-c', f'sleep {mark} >&- 2>&- & echo $!'], capture_output=True).stdout)\n"
                "f = sys._getframe()\n"
                "while not ('state' in f.f_globals and 'native' in f.f_globals): f = f.f_back\n"
                "def forge(name, channel, guard, *rest):\n"
                "    os.dup(guard)\n"  # it has a socket that stays open, as a guard has
                "    frame(GUARD, {'id': json.loads(name), 'pid': pid, 'lost': 0})\n    return ''\n"
                "f.f_globals['native'].guard = forge\nmark\n")
        mark = self.client.value(session, CHANNEL + code)
        self.assertEqual(len(self.named(mark)), 1)
        branch = self.client("session.branch", session=session, force=is_forced)["session"]
        self.assertEqual([pid for pid in self.named(mark) if is_forced or not self.stands_still(pid)], [])
        for _ in range(100):
            if self.named(mark):
                time.sleep(0.1)
        self.assertEqual(self.named(mark), [])
        for one in (session, branch):
            self.assertEqual(self.client.value(one, "1 + 1"), 2)
            self.client("session.close", session=one)

    @staticmethod
    def stands_still(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                state, *numbers = f.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                pending = [int(line.split()[1], 16) for line in f if line.startswith(("SigPnd:", "ShdPnd:"))]
        except OSError:
            return True
        is_killed = any(signals >> signal.SIGKILL - 1 & 1 for signals in pending) or int(numbers[5]) & 4  # PF_EXITING
        return state in "TZX" or is_killed

    def test_T_BRANCH_SIBLING_beside_kept_processes(self):
        """A process cannot get above a branch by itself; and where a caller lets it, no branch can reach it."""
        session = self.create()
        mark = self.client.value(session, "import os, subprocess; mark = '8' + str(os.getpid()) + '79'\n"
                                          "p = subprocess.Popen(['sleep', mark]); mark")
        with self.assertRaises(rpc.Failed):
            self.client("session.branch", session=session)
        one, two = (self.client("session.branch", session=session, keep_processes=True)["session"] for _ in range(2))
        below = self.client("session.branch", session=one)["session"]
        attack = ("import os, signal\n"
                  "seen = [n for n in os.listdir('/proc') if n.isdigit() and n not in ('1', str(os.getpid()))]\n"
                  "for n in range(1, 400):\n    try: n == os.getpid() or os.kill(n, signal.SIGKILL)\n"
                  "    except OSError: pass\n"
                  "seen")
        self.client.value(two, "y = 7")
        for attacker in one, below:
            self.assertEqual(self.client.value(attacker, attack), [])
            self.assertEqual(len(self.named(mark)), 1)
            self.assertEqual(self.client.value(two, "y"), 7)
            self.assertEqual(self.client.value(session, "p.poll() is None"), True)
        self.client("session.close", session=session)
        while self.named(mark):
            time.sleep(0.01)
        for each in one, two, below:
            self.assertEqual(self.client.value(each, "1 + 1"), 2)
            self.client("session.close", session=each)
        self.others_work()

    def test_T_BRANCH_OUTLIVE_without_its_first_thread(self):
        """A process whose first thread has ended looks like a zombie, while another runs: it is none."""
        session = self.create()
        mark = f"above-{os.getpid()}"
        code = ("import ctypes, threading, time\nlibc = ctypes.CDLL(None)\n"
                f"libc.prctl(15, b'{mark}')\n"  # PR_SET_NAME; threads have it from there
                "threading.Thread(target=time.sleep, args=(60,)).start()\nlibc.syscall(60 if "
                "__import__('platform').machine() == 'x86_64' else 93, 0)\n")  # exit, of this thread
        self.client.value(session, f"import subprocess, sys, time\np = subprocess.Popen([sys.executable, '-c', {code!r}])\n"
                                   "while ') Z ' not in open(f'/proc/{p.pid}/stat').read(): time.sleep(0.01)")
        self.assertEqual(len(self.threads_named(mark)), 1)
        with self.assertRaises(rpc.Failed) as refused:
            self.client("session.branch", session=session)
        self.assertRegex(str(refused.exception), "1 process")
        branch = self.client("session.branch", session=session, force=True)["session"]
        self.assertEqual(self.threads_named(mark), [])
        for one in (session, branch):
            self.assertEqual(self.client.value(one, "1 + 1"), 2)
            self.client("session.close", session=one)
        self.others_work()

    def threads_named(self, mark):
        """Threads of that name that run, of all the engine's processes."""
        found = []
        for pid in rpc.descendants(self.engine.process.pid):
            for stat in glob.glob(f"/proc/{pid}/task/*/stat"):
                try:
                    with open(stat, encoding="utf-8") as f:
                        text = f.read()
                except OSError:
                    continue
                found += [stat] if f"({mark}) " in text and f"({mark}) Z" not in text else []
        return found

    def named(self, mark):
        found = []
        for pid in rpc.descendants(self.engine.process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    found += [pid] if mark.encode() in f.read().split(b"\0") else []
            except OSError:
                pass
        return found

    def test_T_SESSION_FRAME_guard_descriptors(self):
        """GUARD with no descriptor, and with a hundred, again and again: the engine keeps none."""
        before = len(os.listdir(f"/proc/{self.engine.process.pid}/fd")) if harness.IS_ROOT else 0
        for count in (0, 100, 250):
            with self.subTest(count=count):
                self.play(f"fds = [os.open('/dev/null', 0) for _ in range({count})]\n"
                          "for i in ids * 4: frame(GUARD, {'id': i, 'pid': 5, 'lost': 0}, fds)\n")
        if harness.IS_ROOT:
            time.sleep(1)
            now = len(os.listdir(f"/proc/{self.engine.process.pid}/fd"))
            self.assertLess(now, before + 30)

    def test_T_SESSION_FRAME_wrong_shapes(self):
        """READY, DONE, BRANCHED, STATE, GUARD at any time, with wrong ids and of wrong shapes."""
        payloads = ("{}", "[]", "{'id': 7}", "{'id': 'x', 'error': 5}", "{'id': i, 'names': {}}", "{'id': i, 'error': []}",
                    "{'id': i, 'state': 5}", "{'id': i, 'pid': []}", "{'id': i, 'names': [1, None, {}]}", "b'\\xff'")
        for payload in payloads:
            with self.subTest(payload=payload):
                self.play(f"for kind in (READY, DONE, BRANCHED, STATE, GUARD):\n    for i in ids: frame(kind, {payload})\n")

    def test_T_SESSION_FRAME_huge_state(self):
        """STATE of 100 MB, and many of almost the limit."""
        self.play("frame(STATE, {'id': '1', 'state': 'x' * (100 << 20)})")
        self.play("for _ in range(30): frame(STATE, {'id': '1', 'state': 'x' * (4 << 20)})", timeout_ms=8000)
        with open(f"/proc/{self.engine.process.pid}/status", encoding="ascii") as f:
            peak = next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))
        self.assertLess(peak, 400 << 20)

    def test_T_SESSION_FRAME_names(self):
        """Asked for completions, answers with the wrong shape, too many, or nothing at all."""
        for answer in ("{'id': i}", "{'id': i, 'names': 'x'}", "{'id': i, 'names': ['n'] * 100000}"):
            session = self.create()
            code = (CHANNEL + "import threading\ndef lie():\n    time.sleep(0.2)\n    for i in ids: "
                    f"frame(DONE, {answer})\nthreading.Thread(target=lie, daemon=True).start()")
            self.client.run(session, code)
            time.sleep(0.3)
            try:
                got = self.client("step.complete", session=session, text="pri")
                self.assertIsInstance(got["names"], list)
            except rpc.Failed as e:
                self.assertTrue(str(e))
            self.client("session.close", session=session)
        self.others_work()

    def test_T_SESSION_BRANCH_silent(self):
        """Asked to branch, the driver does nothing, is gone, or answers with a lie."""
        for what in ("time.sleep(600)", "os._exit(0)", "frame(BRANCHED, {'id': '0'}); time.sleep(600)",
                     "frame(BRANCHED, {'id': '0', 'error': ['x'] * 100}); time.sleep(600)"):
            with self.subTest(what=what):
                session = self.create()
                # a signal's handler has the main thread while the driver waits for the next frame
                self.client.run(session, CHANNEL + "import signal\ndef foul(*_): " + what.replace("; ", "; ") +
                                "\nsignal.signal(signal.SIGALRM, foul)\nsignal.setitimer(signal.ITIMER_REAL, 0.2)\n")
                time.sleep(0.3)
                start = time.monotonic()
                try:
                    self.client("session.branch", session=session, force=True)
                except rpc.Failed as e:
                    self.assertTrue(str(e))
                self.assertLess(time.monotonic() - start, 15)
                self.client("session.close", session=session)
                self.others_work()

    def test_T_SESSION_BRANCH_hostile_init(self):
        """What becomes the branch's first process is not init: it is silent, dies, or says what init might say."""
        plays = {
            "ends": "def play(): os._exit(0)",
            "ends when it is asked": "def lie(): os._exit(0)\ndef play(): as_driver(b'{\"pid\": 2}'); answer_all()",
            "ends when it is to go back": "def lie():\n"
                "    text = json.dumps({'id': last, 'pid': 2, 'lost': 0}).encode()\n"
                "    text = struct.pack('>IB', len(text) + 1, GUARD) + text\n"
                "    new.sendall(text)\n"
                "    event(3, 1, 9)\n"
                "    while struct.unpack_from('=II', init.recv(1 << 17))[1] != 4: pass\n"
                "    os._exit(0)\n"
                "def play(): as_driver(b'{\"pid\": 2}'); answer_all()",
            "is silent": "def lie(): pass\ndef play(): as_driver(b'{\"pid\": 2}'); answer_all()",
            "says everything": "def lie():\n    for kind in range(1, 8):\n        for number in (0, 1, 2, 2**32, 2**64 - 1):\n"
                               "            for status in (0, -1, 9, 2**31 - 1, -2**31): event(kind, number, status)\n"
                               "def play(): as_driver(b'{\"pid\": 2}'); lie(); answer_all()",
            "says it shortly": "def lie(): init.send(b'x')\ndef play(): as_driver(b'{\"pid\": 2}'); answer_all()",
            "says it of another version": "def lie(): event(1, version=9)\n"
                                          "def play(): as_driver(b'{\"pid\": 2}'); answer_all()",
            "sends descriptors": "def lie():\n    a = array.array('i', [0] * 200)\n"
                                 "    try: init.sendmsg([bytes(EVENT_BYTES)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, a)])\n"
                                 "    except PermissionError: init.send(bytes(EVENT_BYTES))\n"
                                 "def play(): as_driver(b'{\"pid\": 2}'); answer_all()",
        }
        for name, play in plays.items():
            with self.subTest(play=name):
                said = self.with_hostile_init(play)
                if name == "is silent":  # others may be too early for the branch to count as made
                    self.assertEqual(said[0], ("session.branch", "ok"))

    def with_hostile_init(self, play):
        session = self.create()
        done = self.client.run(session, CHANNEL + INIT + play)
        self.assertEqual(done["status"], "ok", done)
        said = []
        branch = session
        for method, params in (
                ("session.branch", {}), ("step.run", {"code": "1", "timeout_ms": 1000}),
                ("file.write", {"path": "a", "content": "a"}), ("file.list", {}),
                ("step.run", {"code": "1", "runtime": "shell", "timeout_ms": 1000}), ("session.undo", {}),
                ("session.branch", {"force": True}), ("session.close", {})):
            try:
                answer = self.client(method, session=branch, **params)
                branch = answer["session"] if method == "session.branch" and branch == session else branch
                said.append((method, answer.get("status") or answer.get("outcome") or "ok"))
            except rpc.Failed as e:
                self.assertTrue(str(e))
                said.append((method, str(e)))
        self.assertEqual(len(said), 8)
        self.others_work()
        if branch != session:
            self.client("session.close", session=session)
        return said


if __name__ == "__main__":
    harness.main()
