# SPDX-License-Identifier: Apache-2.0
"""--seed and --time: two runs do the same, byte for byte; other seeds and no seed do not."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"

# Each is chance, or the clock, and would differ between any two runs.
CHANCE = {
    "hash": "hash('text')",
    "set": "list({'apple', 'pear', 'plum', 'fig', 'quince', 'medlar'})",
    "frozen set of objects": "[type(x).__name__ for x in {object(), 1.5, 'x', (1,), frozenset()}] and"
                             " repr(sorted(map(id, [object() for _ in range(5)])))",
    "random": "__import__('random').random()",
    "a new generator": "__import__('random').Random().random()",
    "the system's generator": "__import__('random').SystemRandom().random()",
    "uuid1": "__import__('uuid').uuid1()",
    "uuid4": "__import__('uuid').uuid4()",
    "secrets": "__import__('secrets').token_hex()",
    "urandom": "os.urandom(33)",
    "getrandom": "os.getrandom(7)",
    "the device": "open('/dev/urandom', 'rb', 0).read(9)",
    "the other device, buffered": "open('/dev/random', 'rb').read(9)",
    "numpy": "__import__('numpy').random.rand()",
    "numpy's new generator": "__import__('numpy').random.default_rng().random()",
    "temporary name": "__import__('tempfile').mktemp()",
    "address": "repr(object())",
    "function": "repr(lambda: 0)",
    "shell's random": "sub(['bash', '-c', 'echo $RANDOM $SRANDOM'])",
    "mktemp": "sh('mktemp -u; mktemp -u')",
    "od": "sh('od -An -N8 -tx1 /dev/urandom')",
    "dd": "sh('dd if=/dev/urandom bs=64 count=2 2>&- | od -An -tx1')",
    "inherited": "sh('head -c 8 < /dev/urandom | od -An -tx1')",
    "no environment": "sub(['od', '-An', '-N8', '-tx1', '/dev/urandom'], env={})",
    "forked": "forked(lambda: os.urandom(8))",
}
CLOCK = {
    "time": "time.time_ns()",
    "now": "datetime.datetime.now()",
    "monotonic": "time.monotonic_ns()",
    "perf_counter": "time.perf_counter()",
    "process_time": "sum(i for i in range(20000)) and time.process_time_ns()",
    "thread_time": "time.thread_time_ns()",
    "times": "os.times()",
    "date": "sh('date +%s.%N')",
    "touch of a log": "__import__('logging').LogRecord('', 1, '', 1, '', (), None).created",
}
HEAD = """import datetime, os, subprocess, time
def sub(argv, **kwargs): return subprocess.run(argv, capture_output=True, check=True, **kwargs).stdout
def sh(text): return sub(text, shell=True)
def forked(f):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(f()).encode())
        os._exit(0)
    os.wait()
    return os.read(read, 999)
"""
PROGRAM = HEAD + "".join(f"print({name!r}, {code})\n" for name, code in {**CHANCE, **CLOCK}.items())


class SeedCase(harness.Case):
    def same(self, code, *options):
        """The output of two seeded runs, which must be one."""
        a, b = (harness.record(code, "--seed", "42", *options) for _ in range(2))
        self.assertEqual(a["status"], "ok", a["stderr"])
        for part in ("stdout", "stderr", "value", "displays", "files", "step"):
            self.assertEqual(a.get(part), b.get(part))
        self.assertNotEqual(a["session"], b["session"], "the engine's own names stay unique")
        return a["stdout"]


class Same(SeedCase):
    def rows(self, *options):
        done = harness.run(PROGRAM, *options)
        self.assertEqual((done.status, done.err), (0, ""))
        names = list(CHANCE) + list(CLOCK)
        rows, at = {}, 0
        for name, after in zip(names, names[1:] + [None]):
            end = done.out.index("\n" + after, at) if after else len(done.out)
            rows[name], at = done.out[at:end].strip(), end
        return rows

    def test_two_runs_are_one(self):
        self.assertEqual(len(self.same(PROGRAM).splitlines()), len(CHANCE) + len(CLOCK))

    def test_without_a_seed_everything_differs(self):
        a, b = self.rows(), self.rows()
        for name in {**CHANCE, **CLOCK}:
            if name not in ("thread_time", "process_time", "times", "set"):  # may be equal by chance
                with self.subTest(name=name):
                    self.assertNotEqual(a[name], b[name])

    def test_another_seed_is_another_chance(self):
        a, b = self.rows("--seed", "1"), self.rows("--seed", "2")
        for name in CHANCE:
            if name not in ("frozen set of objects", "address", "function", "set"):
                with self.subTest(name=name):
                    self.assertNotEqual(a[name], b[name])

    def test_streams_do_not_repeat(self):
        """Children, and what comes after them, do not draw what somebody else has drawn."""
        out = self.same(HEAD + """
words = [os.urandom(8).hex() for _ in range(100)]
words += [forked(lambda: os.urandom(8)).decode() for _ in range(20)]
words += [forked(lambda: forked(lambda: os.urandom(8))).decode() for _ in range(5)]
words += [sh('od -An -N8 -tx1 /dev/urandom').decode() for _ in range(20)]
words += [sub(['od', '-An', '-N8', '-tx1', '/dev/urandom'], env=dict(os.environ)).decode() for _ in range(20)]
words += [sub(['od', '-An', '-N8', '-tx1', '/dev/urandom'], env={}).decode() for _ in range(20)]
words += [os.popen('od -An -N8 -tx1 /dev/urandom').read() for _ in range(5)]
words += sh('for i in 1 2 3 4 5; do od -An -N8 -tx1 /dev/urandom; done; exec od -An -N8 -tx1 /dev/urandom'
            ).decode().splitlines()
print(len(words), len(set(words)), sum(map(len, words)))""")
        self.assertRegex(out, "^196 196 ")

    def test_bytes_look_random(self):
        out = self.same("import os\nd = os.urandom(1 << 20)\nprint(len(set(d)), max(map(d.count, range(256))) < 4500,\n"
                        "      4.19e6 < sum(map(int.bit_count, d)) < 4.199e6)")
        self.assertEqual(out, "256 True True\n")

    def test_picture(self):
        # Without the date: matplotlib starts a thread that reads the clock while it looks for fonts.
        code = """import hashlib, matplotlib.pyplot as plt, numpy as np
plt.hist(np.random.normal(size=500)); plt.savefig('a.png'); plt.savefig('a.svg', metadata={'Date': None})
print(hashlib.sha256(open('a.png', 'rb').read()).hexdigest(), hashlib.sha256(open('a.svg', 'rb').read()).hexdigest())
plt.show()"""
        self.same(code)

    def test_session_variable(self):
        code = "import os; print(os.environ['RETORT_SESSION'])"
        self.assertRegex(self.same(code), "^s-[a-z2-7]{10}\n$")
        self.assertNotEqual(harness.run(code).out, harness.run(code).out)
        self.assertNotEqual(harness.run(code, "--seed", "1").out, harness.run(code, "--seed", "2").out)

    def test_variables_of_the_caller(self):
        done = harness.run("import os; print(os.environ['LD_PRELOAD'], os.urandom(3))", "--seed", "3", "-e",
                           "LD_PRELOAD=libc.so.6", "-e", "RETORT_STILL=x")
        self.assertRegex(done.out, "^/retort/still/still.so:libc.so.6 ")


class Directories(SeedCase):
    LIST = HEAD + """
import glob, pathlib
where = 'data'
print(os.listdir(where), [e.name for e in os.scandir(where)], glob.glob('data/*'))
print([str(p) for p in pathlib.Path(where).iterdir()], next(os.walk(where)))
print(sh('ls -U data; ls -f data; find data; du -a data'))
"""

    def make(self, names):
        path = harness.make_dir()
        os.chmod(path, 0o755)
        for name in names:
            with open(os.path.join(path, name), "wb"):
                pass
        return path

    def test_order_of_volumes(self):
        names = [f"{i * 7919 % 10007:x}" for i in range(500)] + ["ü", "-", "A", "a b"]
        outs = [harness.run(self.LIST, "--seed", "1", "-v", f"{self.make(order)}:data")
                for order in (names, names[::-1])]
        self.assertEqual((outs[0].status, outs[0].err), (0, ""))
        self.assertEqual(outs[0].out, outs[1].out)
        self.assertIn(repr(sorted(names, key=os.fsencode)), outs[0].out)

    def test_order_of_the_workspace(self):
        out = self.same("import os\nfor i in range(300): open(os.urandom(4).hex(), 'w')\n"
                        "n = os.listdir(); print(n == sorted(n), len(n))\nimport subprocess\n"
                        "print(subprocess.run(['ls', '-U'], capture_output=True, text=True).stdout.split() == n)")
        self.assertEqual(out, "True 300\nTrue\n")

    def test_more_than_a_window(self):
        """A directory over the bound of memory is read in parts; none is lost or doubled."""
        code = """import os, subprocess
os.mkdir('big')
for i in range(30000): os.close(os.open('big/%s%d' % ('x' * 200, i * 7919 % 30000), os.O_CREAT | os.O_WRONLY))
n = os.listdir('big')
print(len(n), n == sorted(n), len(set(n)))
print(subprocess.run('ls -U big | sort -c && ls -U big | wc -l && rm -r big && ls', shell=True,
                     capture_output=True, text=True))"""
        out = self.same(code, "--timeout", "100s", "--inodes", "40000")
        self.assertIn("30000 True 30000\n", out)
        self.assertIn("returncode=0, stdout='30000\\n', stderr=''", out)

    def test_places_in_a_directory(self):
        """telldir, seekdir, rewinddir and readdir_r, on libc's own terms."""
        code = """import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
for f in 'opendir', 'readdir': getattr(c, f).restype = ctypes.c_void_p
c.telldir.restype = ctypes.c_long
for i in 'cab': open(i, 'w')
d = ctypes.c_void_p(c.opendir(b'.'))
def name(p): return p and ctypes.string_at(p + 19).decode()
def rest():
    out = []
    while True:
        p = c.readdir(d)
        if not p: return out
        out.append(name(p))
print(rest(), rest())
c.rewinddir(d)
print(name(c.readdir(d)), name(c.readdir(d)), name(c.readdir(d)))
at = c.telldir(d)
print(rest()); c.seekdir(d, ctypes.c_long(at)); print(rest())
open('aa', 'w'); c.rewinddir(d); print(rest())
b, r = ctypes.create_string_buffer(300), ctypes.c_void_p()
c.rewinddir(d); print(c.readdir_r(d, b, ctypes.byref(r)), name(r.value))
print(os.path.samestat(os.fstat(c.dirfd(d)), os.stat('.')), c.closedir(d))
print(c.opendir(b'none'), ctypes.get_errno(), c.opendir(b'a'), ctypes.get_errno())
l = ctypes.POINTER(ctypes.c_void_p)()
n = c.scandir(b'.', ctypes.byref(l), None, None); print(n, [name(l[i]) for i in range(n)])
print(c.scandir(b'none', ctypes.byref(l), None, None))"""
        self.assertEqual(self.same(code), "['.', '..', 'a', 'b', 'c'] []\n. .. a\n['b', 'c']\n['b', 'c']\n"
                         "['.', '..', 'a', 'aa', 'b', 'c']\n0 .\nTrue 0\nNone 2 None 20\n"
                         "6 ['.', '..', 'a', 'aa', 'b', 'c']\n-1\n")


class Clock(SeedCase):
    def shown(self, code, *options):
        done = harness.run(HEAD + code, *options)
        self.assertEqual((done.status, done.err), (0, ""))
        return done.out.strip()

    def test_where_it_begins(self):
        code = "print(datetime.datetime.fromtimestamp(int(time.time()), datetime.timezone.utc).isoformat()[:19], sh('date -u +%FT%T').decode())"
        for options, want in ((("--seed", "1"), "2000-01-01T00:00:00 2000-01-01T00:00:00"),
                              (("--seed", "1", "--time", "2026-11-22T09:30:00+01:00"),
                               "2026-11-22T08:30:00 2026-11-22T08:30:00"),
                              (("--time", "951782400.5"), "2000-02-29T00:00:00 2000-02-29T00:00:00"),
                              (("--time", "0"), "1970-01-01T00:00:00 1970-01-01T00:00:00")):
            with self.subTest(options=options):
                self.assertEqual(self.shown(code, *options), want)

    def test_time_alone_leaves_chance(self):
        code = "import os; print(os.urandom(8), hash('x'), os.environ['RETORT_SESSION'])"
        a, b = (harness.run(code, "--time", "2001-01-01").out for _ in range(2))
        self.assertTrue(all(x != y for x, y in zip(a.split(), b.split())), (a, b))

    def test_bad_times(self):
        for text in ("", "x", "2026", "2026-13-01", "2026-02-29", "1969-12-31", "-1", "2200-01-01", "99999999999",
                     "2026-01-01T24:00", "2026-01-01T10:00+25:00", "2026-01-01Z", "12:00", "1e9", "2026-01-01x"):
            with self.subTest(text=text):
                done = harness.run("1", "--time=" + text)
                self.assertEqual(done.status, 2)
                self.assertRegex(done.err, "^retort: --time")

    def test_it_moves(self):
        """No two readings are one, nothing goes back, and it is not far from where it began."""
        self.assertEqual(self.shown("""
for clock in time.time_ns, time.monotonic_ns, time.process_time_ns:
    t = [clock() for _ in range(1000)]
    print(t == sorted(set(t)), t[-1] - t[0])""", "--seed", "1"), "\n".join(["True 999000"] * 3))

    def test_what_is_slept_has_passed(self):
        code = """import select, threading, asyncio, signal
def took(f):
    t, m, r = time.time(), time.monotonic(), time.clock_gettime_ns(7)
    f()
    print(round(time.time() - t, 3), round(time.monotonic() - m, 3), time.clock_gettime_ns(7) - r >= 2e8)
event, read = threading.Event(), os.pipe()[0]
took(lambda: time.sleep(.25))
took(lambda: select.select([read], [], [], .25))
p = select.poll(); p.register(read)
took(lambda: p.poll(250))
e = select.epoll(); e.register(read)
took(lambda: e.poll(.25))
took(lambda: event.wait(.25))
took(lambda: asyncio.run(asyncio.sleep(.25)))
took(lambda: sh('sleep .25'))
took(lambda: subprocess.run(['bash', '-c', 'read -t .25'], stdin=read))
took(lambda: [t.join() for t in [threading.Thread(target=time.sleep, args=(.25,)) for _ in range(8)]
              if not t.start()])
try: sub(['sleep', '5'], timeout=.25)
except subprocess.TimeoutExpired as e: print('expired')
"""
        lines = self.same(HEAD + code).splitlines()
        self.assertEqual(lines[-1], "expired")
        for line in lines[:-2]:
            self.assertRegex(line, r"^0\.25\d? 0\.25\d? True$")

    def test_loops_end(self):
        """Programs that wait for a time reach it: busily, by sleeping children, by short waits."""
        self.assertEqual(self.shown("""
end = time.monotonic() + 2
while time.monotonic() < end: pass
end = time.time() + 2
while time.time() < end: sh('sleep .5')
print(sh('''end=$(( $(date +%s) + 2 )); while [ $(date +%s) -lt $end ]; do sleep .5; done; echo done'''))
import queue
end, q = time.monotonic() + .5, queue.Queue()
while time.monotonic() < end:
    try: q.get(timeout=.005)
    except queue.Empty: pass
print('end')""", "--seed", "1"), "b'done\\n'\nend")

    def test_a_timer_comes_among_other_events(self):
        """What keeps a loop busy does not keep its timers from their time."""
        self.assertEqual(self.shown("""
import asyncio
async def main():
    # On the real clock, so that its sleep is not seen here.
    child = await asyncio.create_subprocess_exec('/bin/sh', '-c', 'while sleep .05; do echo x; done', stdout=-1,
                                                 env={'LD_PRELOAD': '', 'PATH': '/bin'})
    async def drain():
        while await child.stdout.readline(): pass
    task = asyncio.create_task(drain())
    await asyncio.sleep(1)
    child.kill(); await child.wait(); task.cancel()
    print('came')
asyncio.run(main())""", "--seed", "1", "--timeout", "15s"), "came")

    def test_threads_take_turns(self):
        """Locks with limits work, and the interpreter's own lock goes round."""
        self.assertEqual(self.shown("""
import threading, concurrent.futures as f
lock = threading.Lock(); lock.acquire()
print(lock.acquire(timeout=.1))
threading.Timer(.1, lock.release).start()
print(lock.acquire(timeout=20))
def work(n): return sum(i * i for i in range(n))
with f.ThreadPoolExecutor(4) as pool: print(len(set(pool.map(work, [200000] * 8))))
c = threading.Condition()
with c: print(c.wait(.05))
try: f.ThreadPoolExecutor(1).submit(time.sleep, .5).result(.1)
except f.TimeoutError: print('late')""", "--seed", "1"), "False\nTrue\n1\nFalse\nlate")

    def test_names_of_temporary_files(self):
        """libc chooses them with chance of its own."""
        out = self.same("""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def make(function, name, *more):
    text = ctypes.create_string_buffer(name)
    made = getattr(libc, function)(text, *more)
    print(text.value.decode(), made > 0, os.path.exists(text.value), ctypes.get_errno())
for function, *more in (("mkstemp",), ("mkstemp64",), ("mkostemp", os.O_CLOEXEC), ("mkostemp64", 0)):
    make(function, b"aXXXXXX", *more)
make("mkstemps", b"aXXXXXX.c", 2)
make("mkostemps64", b"aXXXXXX.c", 2, 0)
libc.mkdtemp.restype = ctypes.c_void_p
name = ctypes.create_string_buffer(b"dXXXXXX")
libc.mkdtemp(name)
print(name.value.decode(), os.path.isdir(name.value), oct(os.stat(name.value).st_mode & 0o777))
for name, more in ((b"aXXXXX", 0), (b"aXXXXXX", 3), (b"XXXXXX", 1 << 30)):
    make("mkstemps", name, more)
""")
        lines = out.splitlines()
        self.assertEqual(len({line.split()[0] for line in lines[:7]}), 7, out)
        self.assertTrue(all(line.split()[1:3] == ["True", "True"] for line in lines[:6]), out)
        self.assertIn("True 0o700", lines[6])
        self.assertTrue(all(line.endswith("False False 22") for line in lines[7:]), out)

    def test_other_runtimes(self):
        out = self.same(HEAD + """
import shutil
if shutil.which('node'):
    print(sub(['node', '-e', 'console.log(Date.now() / 1000 | 0, fs.readdirSync("/usr/lib").length > 1,'
               'fs.mkdtempSync("/tmp/x"));'
               'setTimeout(() => console.log(Date.now() / 1000 | 0), 1000)']))
if shutil.which('sqlite3'):
    print(sub(['sqlite3', ':memory:', 'select random(), hex(randomblob(8)), datetime()']))
if shutil.which('perl'):
    print(sub(['perl', '-e', 'print rand, " ", time, " ", join(",", keys %{{map {$_ => 1} 1..20}})']))
""")
        self.assertNotIn("2026-", out)


class Addresses(SeedCase):
    CODE = "print([x for x in open('/proc/self/maps') if 'stack' in x or 'libc.so' in x])"

    def test_fixed_with_a_seed_only(self):
        self.same(self.CODE)
        for options in ((), ("--time", "0")):
            self.assertNotEqual(harness.run(self.CODE, *options).out, harness.run(self.CODE, *options).out)

    def test_personality(self):
        code = "print(open('/proc/self/personality').read())"
        self.assertEqual(harness.run(code, "--seed", "1").out.strip(), "00040000")
        self.assertEqual(harness.run(code).out.strip(), "00000000")


class Installation(harness.Case):
    def test_a_missing_library_is_said(self):
        """Not a run that looks seeded and is not."""
        root = os.path.dirname(os.path.dirname(harness.RETORT))
        if not os.path.isdir(os.path.join(root, "share/retort/still")):
            self.skipTest("not an installed copy")
        copy = harness.make_dir()
        subprocess.run(["cp", "-a", root + "/.", copy], check=True)
        os.unlink(os.path.join(copy, "share/retort/still/still.so"))
        done = subprocess.run([copy + "/bin/retort", "run", "--seed", "1", "-c", "1"], capture_output=True,
                              env=harness.environment(), check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"install retort again", done.stderr)


if __name__ == "__main__":
    harness.main()
