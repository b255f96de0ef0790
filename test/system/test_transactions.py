# SPDX-License-Identifier: Apache-2.0
"""Steps are transactions: what a step that fails leaves behind, and how one goes back."""

import ast
import os
import random
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import service  # noqa: E402

MIB = 1 << 20
LIMITS = {"memory_bytes": 256 * MIB, "disk_bytes": 8 * MIB, "pids": 32, "timeout_ms": 20000}
engine = None


def setUpModule():
    global engine
    engine = service.Engine()


def tearDownModule():
    engine.stop()


def has(module):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode == 0


class Case(harness.Case):
    def session(self, **params):
        params.setdefault("limits", LIMITS)
        s = engine.session(**params)
        self.addCleanup(s.close)
        return s

    def value(self, s, code, **params):
        return ast.literal_eval(s.value(code, **params))

    def fails(self, s, code, status, **params):
        """Run a step that must fail and be rolled back."""
        record = s.run(code, **params)
        self.assertEqual((record["status"], record["state"]["outcome"]), (status, "rolled_back"), record)
        self.assertEqual(record["files"], [])
        return record

    def undone(self, s, **params):
        back = s.undo(**params)
        self.assertEqual(back["outcome"], "rolled_back")
        return back

    def files(self, s):
        code = "import os; sorted((p, n) for p, _, f in os.walk('.') for n in f)"
        return self.value(s, code)


class Failures(Case):
    """The state before the step survives, whatever ends it."""

    def check(self, code, status, **params):
        s = self.session()
        s.run("x = {'a': [1, 2]}; y = 'kept'")
        s.run("x['a'].append(3); open('kept.txt', 'w').write('kept')")
        record = self.fails(s, "x['a'].append(99); y = 'lost'; open('new.txt', 'w').write('n')\n" + code,
                            status, **params)
        self.assertEqual(self.value(s, "import os; x, y, os.listdir()"),
                         ({"a": [1, 2, 3]}, "kept", ["kept.txt"]))
        # Once more: the state that came back can be gone back to as well.
        self.fails(s, "x = None; import os; os._exit(1)", "error")
        self.assertEqual(self.value(s, "x['a']"), [1, 2, 3])
        return record

    def test_endless_loop(self):
        record = self.check("while True: pass", "timeout", timeout_ms=200)
        self.assertEqual(record["error"]["name"], "TimeLimit")

    def test_memory(self):
        record = self.check("z = []\nwhile True: z.append(bytearray(1 << 20))", "oom")
        self.assertEqual(record["error"]["name"], "MemoryLimit")

    def test_segmentation_fault(self):
        record = self.check("import ctypes; ctypes.string_at(0)", "killed")
        self.assertEqual((record["signal"], record["exit_code"]), (11, None))

    def test_exit(self):
        record = self.check("import os; os._exit(7)", "error")
        self.assertEqual((record["signal"], record["exit_code"]), (None, 7))
        # It ended itself well, and still there is no state to go on from.
        self.check("import os; os._exit(0)", "ok")

    def test_abort(self):
        self.assertEqual(self.check("import os; os.abort()", "killed")["signal"], 6)

    def test_kill_of_itself(self):
        self.assertEqual(self.check("import os; os.kill(os.getpid(), 9)", "killed")["signal"], 9)

    def test_fork_bomb(self):
        by = self.session().run("1")["limits"]["pids"]["by"]
        # Without a cgroup the engine counts, and ends the step. A fork that is under way then must not outlive it,
        # which is a matter of microseconds: one time of twenty. Where the machine is busy, forks are slow: no limit of
        # time is to be what ends the step.
        for _ in range(10 if by == "engine" else 2):
            self.check("import os\nwhile True:\n try: os.fork()\n except BaseException: pass",
                       "killed" if by == "engine" else "timeout",
                       timeout_ms=100_000 if by == "engine" else 500)

    def test_full_workspace(self):
        s = self.session()
        s.run("x = 1; open('a', 'w').write('a')")
        fill = "x = 2\nf = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20)); f.flush()"
        record = s.run(fill, atomic=True)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "rolled_back"))
        self.assertEqual(record["error"]["name"], "OSError")
        self.assertEqual(self.value(s, "open('b', 'wb').write(bytes(4 << 20)); import os; x, sorted(os.listdir())"),
                         (1, ["a", "b"]))

    def test_full_tmp(self):
        s = self.session()
        s.run("open('/tmp/mine', 'w').write('a'); open('/dev/shm/mine', 'w').write('a')")
        fill = """
import os
os.mkdir('/tmp/dir'); os.mkdir('/tmp/dir/deep')
for path in ('/tmp/dir/deep/f', '/dev/shm/f'):
    try:
        f = open(path, 'wb')
        while True: f.write(bytes(1 << 20)); f.flush()
    except OSError: pass
os._exit(1)"""
        self.fails(s, fill, "error")
        self.assertEqual(self.value(s, "open('b', 'wb').write(bytes(4 << 20)); import os; os.listdir('/tmp'), os.listdir('/dev/shm')"),
                         (["mine"], ["mine"]))

    def test_room_that_is_made_later(self):
        """By what goes from elsewhere, or becomes smaller, after a file has had none."""
        s = self.session()
        s.run("open('a', 'w').write('A' * 1000000); open('z', 'w').write('Z' * 1000000); import os")
        for name in "/tmp/new", "z":
            record = self.fails(s, f"os.remove('a'); f = open({name!r}, 'wb', 0)\ntry:\n  while 1: f.write(b'x' * 4096)\n"
                                   "except OSError: os._exit(1)", "error")
            self.assertNotIn("files_lost", record)
            self.assertEqual(self.value(s, "[open(n).read() == n.upper() * 1000000 for n in 'az']"), [True, True])

    def test_modes_of_directories(self):
        """A step that closes the workspace takes nothing of it along; that of one that was kept stays."""
        s = self.session()
        self.value(s, "import os; open('f', 'w').write('1')")
        state = "[(oct(os.stat(d).st_mode & 0o7777), os.listdir(d)) for d in ('.', '/tmp', '/dev/shm')], open('f').read()"
        before = self.value(s, state)
        for mode in 0, 0o500, 0o111, 0o1777:
            record = self.fails(s, f"""
for d in ('.', '/tmp', '/dev/shm'):
    open(d + '/new', 'w').write('2')
open('f', 'w').write('2')
for d in ('.', '/tmp', '/dev/shm'):
    os.chmod(d, {mode})
os._exit(1)""", "error")
            self.assertNotIn("files_lost", record)
            self.assertEqual(self.value(s, state), before)
        s.run("os.chmod('.', 0o500)")
        self.fails(s, "os.chmod('.', 0o700); os.unlink('f'); os._exit(1)", "error")
        self.assertEqual(self.value(s, state)[0][0], ("0o500", ["f"]))

    def test_ignored_interrupt(self):
        start = time.monotonic()
        self.check("import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(60)",
                   "timeout", timeout_ms=100)
        self.assertLess(time.monotonic() - start, 30)

    def test_flood_of_output(self):
        flood = "import os\nprint('first', flush=True)\nfor _ in range(3000): os.write(1, b'x' * 9999 + b'\\n')\nos._exit(1)"
        record = self.check(flood, "error")
        self.assertTrue(record["stdout"].startswith("first\nxxx"))
        self.assertGreater(record["truncated"]["stdout_bytes"], 0)
        s = self.session(limits={**LIMITS, "output_bytes": 1000})
        record = self.fails(s, "while True: print('y' * 99)", "timeout", timeout_ms=300)
        self.assertLess(len(record["stdout"]), 2000)
        self.assertEqual(s.value("1"), "1")

    def test_output_is_kept(self):
        record = self.check("import sys; print('out'); print('err', file=sys.stderr); sys.stdout.flush(); sys.stderr.flush()\n"
                            "import os; os._exit(1)", "error")
        self.assertEqual((record["stdout"], record["stderr"]), ("out\n", "err\n"))

    def test_output_of_a_first_step_is_kept(self):
        # As much as a pipe holds: it is not read yet when the process has ended, and its box goes with it.
        write = "import os; os.write(2, b'x' * 1000000 + b'end'); os._exit(1)"
        record = self.fails(self.session(limits={**LIMITS, "output_bytes": 8 * MIB}), write, "error")
        self.assertEqual((len(record["stderr"]), record["stderr"][-3:]), (1000003, "end"))

    @harness.as_user
    def test_as_much_output_as_may_be_asked_for_is_kept(self):
        with self.assertRaises(service.Refused) as caught:
            self.session(limits={**LIMITS, "output_bytes": 1 << 40})
        most = int(caught.exception.hint.split()[-1])
        s = self.session(limits={**LIMITS, "output_bytes": most})
        s.run("import sys")
        for text in ("'\\n'", "'\\\\'", "'\\0'"):
            record = s.run(f"sys.stdout.write({text} * {most})\nsys.stderr.write({text} * {most})\nkept = {text}")
            self.assertEqual(record["status"], "ok")
        self.assertEqual(s.value("kept"), repr("\0"))

    def test_first_step(self):
        s = self.session()
        self.fails(s, "import os; os._exit(1)", "error")
        self.assertEqual(s.value("'x' in globals()"), "False")


@harness.as_user
class Errors(Case):
    def test_what_is_printed_last_belongs_to_the_step(self):
        s = self.session()
        for i in range(40):
            record = s.run(f"print('out{i}'); name_{i}")
            self.assertEqual(record["stdout"], f"out{i}\n")
            self.assertIn(f"name_{i}", record["stderr"])

    def test_partial_changes(self):
        s = self.session()
        s.run("x = 1")
        record = s.run("x = 2; open('f', 'w').write('f'); 1/0")
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "committed"))
        self.assertEqual([f["path"] for f in record["files"]], ["f"])
        self.assertEqual(s.value("x"), "2")

    def test_atomic(self):
        s = self.session()
        s.run("x = 1; l = []")
        record = s.run("print('said'); x = 2; l.append(1); open('f', 'w').write('f'); 1/0", atomic=True)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "rolled_back"))
        self.assertEqual((record["stdout"], record["files"], record["exit_code"]), ("said\n", [], 1))
        self.assertEqual(record["error"]["name"], "ZeroDivisionError")
        self.assertEqual(self.value(s, "import os; x, l, os.listdir()"), (1, [], []))
        self.assertEqual(s.run("x = 3", atomic=True)["state"]["outcome"], "committed")
        self.assertEqual(s.value("x"), "3")

    def test_interrupt_keeps_changes(self):
        s = self.session()
        s.run("x = 1")
        number = engine.client.send("step.run", session=s.id, code="x = 2\nprint('here', flush=True)\nwhile True: pass")
        other = engine.connect()
        self.addCleanup(other.close)
        time.sleep(0.3)
        other.call("step.interrupt", session=s.id)
        record = engine.client.receive(number)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("killed", "committed"))
        self.assertEqual(record["stdout"], "here\n")
        self.assertEqual(s.value("x"), "2")

    def test_interrupt_not_heard(self):
        s = self.session()
        s.run("x = 1")
        code = "x = 2\nimport signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(9)"
        number = engine.client.send("step.run", session=s.id, code=code)
        other = engine.connect()
        self.addCleanup(other.close)
        time.sleep(0.3)
        other.call("step.interrupt", session=s.id)
        other.call("step.interrupt", session=s.id)
        record = engine.client.receive(number)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("killed", "rolled_back"))
        self.assertEqual(s.value("x"), "1")


@harness.as_user
class Carried(Case):
    """A step's fork is invisible, and what is not memory comes back as well."""

    def test_random(self):
        s = self.session()
        plain = random.Random(1)
        s.run("import random; random.seed(1)")
        self.assertEqual(self.value(s, "random.random()"), plain.random())
        self.assertEqual(self.value(s, "random.random()"), plain.random())
        self.fails(s, "random.random(); import os; os._exit(1)", "error")
        self.assertEqual(self.value(s, "random.random()"), plain.random())
        wanted = plain.random()
        self.assertEqual(self.value(s, "random.random()"), wanted)
        self.undone(s)
        self.assertEqual(self.value(s, "random.random()"), wanted)

    def test_open_file(self):
        s = self.session()
        s.run("f = open('log', 'w+'); f.write('one\\n'); f.flush()")
        s.run("f.write('two\\n'); f.flush()")
        self.fails(s, "f.write('three\\n'); f.flush(); import os; os._exit(1)", "error")
        s.run("f.write('four\\n'); f.flush()")
        self.assertEqual(self.value(s, "f.tell(), open('log').read()"), (13, "one\ntwo\nfour\n"))
        s.run("f.seek(0); r = f.readline()")
        self.fails(s, "f.read(); import os; os._exit(1)", "error")
        self.assertEqual(self.value(s, "r, f.readline()"), ("one\n", "two\n"))

    def test_buffered_output_is_not_doubled(self):
        s = self.session()
        s.run("f = open('log', 'w'); f.write('one ')")
        s.run("f.write('two ')")
        self.fails(s, "f.write('three '); import os; os._exit(1)", "error")
        self.assertEqual(s.value("f.close(); open('log').read()"), "'one two '")

    def test_sqlite(self):
        s = self.session()
        s.run("import sqlite3; c = sqlite3.connect('d.db'); m = sqlite3.connect(':memory:')\n"
              "for k in (c, m): k.execute('create table t(a)'); k.execute('insert into t values(1)'); k.commit()")
        self.fails(s, "for k in (c, m): k.execute('insert into t values(2)'); k.commit()\nimport os; os._exit(1)", "error")
        self.assertEqual(self.value(s, "[k.execute('select a from t').fetchall() for k in (c, m)]"), [[(1,)], [(1,)]])
        s.run("c.execute('insert into t values(3)')")  # not committed yet
        self.fails(s, "c.rollback(); import os; os._exit(1)", "error")
        self.assertEqual(self.value(s, "c.commit(); c.execute('select a from t').fetchall()"), [(1,), (3,)])
        self.assertEqual(s.value("sqlite3.connect('d.db').execute('pragma integrity_check').fetchone()[0]"), "'ok'")

    def test_sqlite_with_a_write_ahead_log(self):
        """Its index is written through a mapping, which no time of the file tells of."""
        s = self.session()
        s.run("import sqlite3; c = sqlite3.connect('d.db'); c.execute('pragma journal_mode=wal').fetchall()\n"
              "c.execute('create table t(a)'); c.execute('insert into t values(1)'); c.commit()")
        count = "[k.execute('select count(*) from t').fetchone()[0] for k in (c, sqlite3.connect('d.db'))]"
        fill = "c.executemany('insert into t values(?)', [('x' * 300,)] * 200); c.commit()\n"
        self.fails(s, fill + "import os; os._exit(1)", "error")
        self.assertEqual(self.value(s, count), [1, 1])
        s.run("c.execute('insert into t values(2)'); c.commit()")
        s.run(fill)
        self.assertEqual(self.value(s, count), [202, 202])
        self.undone(s, count=2)
        self.assertEqual(self.value(s, count), [2, 2])
        self.assertEqual(s.value("c.execute('pragma integrity_check').fetchone()[0]"), "'ok'")

    def test_generator(self):
        s = self.session()
        s.run("g = (i * i for i in range(100)); it = iter(range(9)); next(g)")
        self.assertEqual(s.value("next(g)"), "1")
        self.fails(s, "next(g); next(it); import os; os._exit(1)", "error")
        self.assertEqual(s.value("next(g), next(it)"), "(4, 0)")

    def test_event_loop(self):
        s = self.session()
        s.run("import asyncio; q = asyncio.Queue(); loop = asyncio.get_running_loop() if False else None\nawait asyncio.sleep(0)")
        s.run("ticks = []\nasync def tick():\n  while True:\n    ticks.append(1); await asyncio.sleep(0.01)\n"
              "t = asyncio.ensure_future(tick()); await asyncio.sleep(0.05)")
        self.fails(s, "await asyncio.sleep(0.01); t.cancel(); import os; os._exit(1)", "error")
        self.assertEqual(s.value("n = len(ticks); await asyncio.sleep(0.1); len(ticks) > n, t.cancelled()"), "(True, False)")
        s.run("await q.put(5)")
        self.assertEqual(s.value("await q.get()"), "5")
        self.assertEqual(s.value("u = asyncio.create_task(q.get()); q.put_nowait(6)\nawait u"), "6")

    @unittest.skipUnless(has("matplotlib"), "no matplotlib")
    def test_matplotlib(self):
        s = self.session(limits={**LIMITS, "memory_bytes": 1024 * MIB})
        s.run("import matplotlib.pyplot as plt; fig, ax = plt.subplots(num=7); ax.plot([1, 2]); plt.rcParams['font.size'] = 17\nplt.ioff(); h = ax")
        lines = s.value("len(h.lines), plt.rcParams['font.size']")
        self.fails(s, "h.plot([3, 4]); plt.rcParams['font.size'] = 3; import os; os._exit(1)", "error")
        self.assertEqual(s.value("len(h.lines), plt.rcParams['font.size']"), lines)

    def test_process_id_and_environment(self):
        s = self.session()
        s.run("import os, signal; os.environ['A'] = 'b'; os.mkdir('d'); os.chdir('d'); os.umask(0o27)\n"
              "signal.signal(signal.SIGUSR1, lambda *a: globals().__setitem__('got', 1))")
        self.fails(s, "os.environ['A'] = 'c'; os.chdir('/'); os.umask(0); os._exit(1)", "error")
        self.assertEqual(self.value(s, "os.kill(os.getpid(), signal.SIGUSR1); os.environ['A'], os.getcwd(), os.umask(0o27), got"),
                         ("b", "/home/user/d", 0o27, 1))


class Processes(Case):
    SERVER = """
import subprocess, sys
p = subprocess.Popen([sys.executable, '-u', '-c', 'for l in __import__("sys").stdin: print(l.strip() + "!")'],
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(what):
    p.stdin.write(what + '\\n'); p.stdin.flush(); return p.stdout.readline().strip()
"""

    def pids(self, s):
        return self.value(s, "import os; sorted(open(f'/proc/{n}/cmdline').read().split('\\0')[0:2] for n in os.listdir('/proc') if n.isdigit() and open(f'/proc/{n}/comm').read().strip() == 'sleep')")

    def test_of_the_failed_step_are_gone(self):
        s = self.session()
        s.run("x = 1")
        daemons = """
import os, signal, subprocess
subprocess.Popen(['sleep', '1001'])
subprocess.Popen(['sleep', '1002'], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.execlp('sleep', 'sleep', '1003')
    os._exit(0)
os.wait()
os._exit(1)"""
        self.fails(s, daemons, "error")
        self.assertEqual(self.pids(s), [])

    def test_too_many_for_a_checkpoint_are_told(self):
        s = self.session()
        if s.run("1")["limits"]["pids"]["by"] == "engine":
            self.skipTest("without a cgroup they are counted, and ended")
        s.run("import subprocess\ntry:\n while True: subprocess.Popen(['sleep', '1000'])\nexcept OSError: pass")
        for _ in range(2):
            reason = s.run("1")["state"]["reason"]
        self.assertRegex(reason or "", "no checkpoint: the session has as many processes as --pids allows")

    def test_stopped_ones_are_gone(self):
        s = self.session()
        s.run("x = 1")
        self.fails(s, "import os, signal, subprocess\nq = subprocess.Popen(['sleep', '1001']); q.send_signal(signal.SIGSTOP)\nos._exit(1)", "error")
        self.assertEqual(self.pids(s), [])

    def test_of_earlier_steps_stay(self):
        s = self.session()
        s.run("import subprocess, os; q = subprocess.Popen(['sleep', '1004'])\n"
              "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0: os.execlp('sleep', 'sleep', '1005')\n os._exit(0)\n"
              "os.wait()")
        self.fails(s, "r = subprocess.Popen(['sleep', '1006']); import os; os._exit(1)", "error")
        self.assertEqual(self.pids(s), [["sleep", "1004"], ["sleep", "1005"]])

    def test_socket_server_of_step_1_answers_after_step_2(self):
        s = self.session()
        server = """
import subprocess, sys, time, socket
code = '''
import socket
l = socket.socket(socket.AF_UNIX); l.bind("/tmp/server"); l.listen()
while True:
    c, _ = l.accept(); c.sendall(b"hello " + c.recv(99)); c.close()
'''
p = subprocess.Popen([sys.executable, '-c', code])
def ask(what):
    c = socket.socket(socket.AF_UNIX)
    for _ in range(500):
        try: c.connect('/tmp/server'); break
        except OSError: time.sleep(0.02)
    c.sendall(what); return c.recv(99)
ask(b'one')"""
        self.assertEqual(s.value(server), "b'hello one'")
        self.fails(s, "ask(b'two'); import os; os._exit(1)", "error")
        self.assertEqual(s.value("ask(b'three')"), "b'hello three'")
        self.fails(s, "while True: pass", "timeout", timeout_ms=100)
        self.assertEqual(s.value("ask(b'four'), p.pid in [int(n) for n in __import__('os').listdir('/proc') if n.isdigit()]"),
                         "(b'hello four', True)")

    def test_driver_killed_between_steps(self):
        s = self.session()
        s.run("x = 5; open('f', 'w').write('f')")
        s.run("x = 6; import subprocess; q = subprocess.Popen(['sh', '-c', 'sleep 0.2; kill -9 $PPID'])")
        time.sleep(0.6)
        self.assertEqual(self.value(s, "import os; x, os.listdir()"), (6, ["f"]))


class AtTheBranch(Case):
    """The state that a branch began with is no copied process of its own: it is its stem's."""

    MAKE = ("import os, random; x = [1]; random.seed(3); random.random()\n"
            "open('f', 'w').write('f'); open('/tmp/t', 'w').write('t')")
    SEE = "x, open('f').read(), open('/tmp/t').read(), sorted(os.listdir('.')), sorted(os.listdir('/tmp'))"
    SEEN = ([1], "f", "t", ["f"], ["t"])
    CRASH = "x.append(2); open('g', 'w').write('g'); open('/tmp/u', 'w').write('u'); os.remove('f'); os._exit(1)"

    def pair(self):
        parent = self.session()
        parent.run(self.MAKE)
        child = service.Session(engine, engine.call("session.branch", session=parent.id))
        self.addCleanup(child.close)
        return parent, child

    def test_first_step_fails(self):
        for s in self.pair():
            for code, status in ((self.CRASH, "error"), ("b = bytearray(400 << 20)", "oom"),
                                 ("while True: x.append(1)", "timeout")):
                record = self.fails(s, code, status, timeout_ms=300 if status == "timeout" else 20000)
                self.assertRegex(record["state"]["checkpoint"], "^c-[0-9a-f]{12}$")
                self.assertEqual(self.value(s, self.SEE), self.SEEN)
                self.undone(s, count=1)

    def test_atomic_first_step(self):
        for s in self.pair():
            self.fails(s, "x.append(2); open('g', 'w').write('g'); 1 / 0", "error", atomic=True)
            self.assertEqual(self.value(s, self.SEE), self.SEEN)

    def test_first_step_fails_in_a_session_of_a_template(self):
        numbers = []
        for _ in range(2):
            s = self.session(preload=["random"])
            self.fails(s, "import os; open('g', 'w').write('g'); x = 1; os._exit(1)", "error")
            self.assertEqual(self.value(s, "import os, random; os.listdir(), 'x' in globals()"), ([], False))
            numbers.append(s.value("random.random()"))
        self.assertNotEqual(*numbers)

    @harness.needs_shell_or_sql
    def test_after_a_step_of_another_runtime(self):
        for s in self.pair():
            s.run("CREATE TABLE t(a); INSERT INTO t VALUES (5)", runtime="sql")
            before = self.value(s, "sorted(os.listdir('.'))")
            self.undone(s, count=1)
            self.fails(s, self.CRASH, "error")
            self.assertEqual(self.value(s, "x, sorted(os.listdir('.'))"), ([1], before))
            self.assertIn("5", s.run("SELECT a FROM t", runtime="sql")["value"]["text/plain"])
            self.fails(s, self.CRASH, "error")
            self.assertEqual(self.value(s, "x"), [1])

    @harness.needs_shell_or_sql
    def test_another_runtime_keeps_its_state(self):
        parent = self.session()
        parent.run("a=7; cd /tmp", runtime="shell")
        parent.run(self.MAKE)
        child = service.Session(engine, engine.call("session.branch", session=parent.id))
        self.addCleanup(child.close)
        for s in parent, child:
            self.fails(s, self.CRASH, "error")
            self.assertEqual(s.run("echo $a $PWD", runtime="shell")["stdout"], "7 /tmp\n")
            self.assertEqual(self.value(s, self.SEE), self.SEEN)

    def test_undo_to_the_branch(self):
        for s in self.pair():
            s.run("x.append(2); open('g', 'w').write('g')")
            s.run("x.append(3); os.remove('f')")
            self.assertEqual(self.undone(s, count=2)["outcome"], "rolled_back")
            self.assertEqual(self.value(s, self.SEE), self.SEEN)

    def test_driver_killed_before_the_first_step(self):
        for s in self.pair():
            s.run("y = 1; import subprocess; q = subprocess.Popen(['sh', '-c', 'sleep 0.2; kill -9 $PPID'])")
            self.undone(s, count=1)
            time.sleep(0.5)
            self.assertEqual(self.value(s, self.SEE), self.SEEN)

    def test_numbers_go_on_where_the_session_stood(self):
        parent, child = self.pair()
        parent_random = random.Random(3)
        parent_random.random()
        self.fails(parent, "random.random(); os._exit(1)", "error")
        self.assertEqual(self.value(parent, "random.random()"), parent_random.random())


@harness.as_user
class NoCheckpoint(Case):
    def test_threads(self):
        s = self.session()
        s.run("x = 1; import threading; go = threading.Event()\nt = threading.Thread(target=go.wait, daemon=True); t.start()")
        record = s.run("x = 2")
        self.assertEqual((record["status"], record["state"]["outcome"]), ("ok", "committed"))
        self.assertIn("threads", record["state"]["reason"])
        self.assertNotIn("checkpoint", record["state"])
        record = s.run("x = 3; import os; os._exit(1)")
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "lost"))
        self.assertIn("threads", record["state"]["reason"])
        record = s.run("1 + 1")
        self.assertEqual(record["status"], "ok")
        self.assertEqual(record["value"]["text/plain"], "2")

    def test_threads_that_end(self):
        s = self.session()
        s.run("x = 1; import threading; go = threading.Event()\nt = threading.Thread(target=go.wait, daemon=True); t.start()")
        s.run("x = 2; go.set(); t.join()")
        self.fails(s, "x = 3; import os; os._exit(1)", "error")
        self.assertEqual(s.value("x"), "2")

    def test_error_with_threads_is_kept(self):
        s = self.session()
        s.run("x = 1; import threading; go = threading.Event()\nthreading.Thread(target=go.wait, daemon=True).start()")
        record = s.run("x = 2; 1/0", atomic=True)
        self.assertEqual((record["status"], record["state"]["outcome"]), ("error", "committed"))
        self.assertIn("threads", record["state"]["reason"])
        self.assertEqual(s.value("x"), "2")

    @harness.as_each
    def test_guards_are_killed(self):
        s = self.session()
        s.run("x = 1; import os")
        record = s.run("x = 2; os.kill(-1, 9); os._exit(1)")
        self.assertEqual(record["state"]["outcome"], "lost")
        record = s.run("x")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("1", "replayed"))
        s.run("os.kill(-1, 9); x = 3")
        self.assertEqual(s.value("x"), "3")
        self.fails(s, "os._exit(1)", "error")
        self.assertEqual(s.value("x"), "3")

    def test_state_is_rebuilt(self):
        s = self.session()
        s.run("x = 1; import threading, os; go = threading.Event()\nthreading.Thread(target=go.wait, daemon=True).start()")
        s.run("open('f', 'w').write('f'); x = 2")
        self.assertEqual(s.run("open('g', 'w').write('g'); os._exit(1)")["state"]["outcome"], "lost")
        record = s.run("x, os.listdir()")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("(2, ['f'])", "replayed"))

    @harness.as_each
    def test_large_memory(self):
        s = self.session()
        s.run("big = bytearray(160 << 20)\nfor i in range(0, len(big), 4096): big[i] = 1")
        record = s.run("x = 1")
        self.assertEqual(record["state"]["outcome"], "committed")
        self.assertIn("memory", record["state"]["reason"])
        record = s.run("import os; os._exit(1)")
        self.assertEqual(record["state"]["outcome"], "lost")
        self.assertIn("memory", record["state"]["reason"])
        self.assertEqual(s.value("1"), "1")


class Undo(Case):
    def test_to_each_of_the_last(self):
        for count in (1, 4, 5):
            s = self.session()
            for i in range(6):
                s.run(f"x = {i}; open('f{i}', 'w').write('{i}')")
            time.sleep(0.1)  # the last is made when nobody waits
            back = s.undo(count=count)
            left = 6 - count
            self.assertEqual(back["outcome"], "rolled_back" if count < 5 else "replayed")
            self.assertEqual(self.value(s, "import os; x, sorted(os.listdir())"),
                             (left - 1, [f"f{i}" for i in range(left)]))

    def test_again_and_again(self):
        s = self.session()
        steps = [s.run(f"x = {i}")["step"] for i in range(4)]
        self.assertEqual(self.undone(s)["head"], steps[2])
        self.assertEqual(s.value("x"), "2")
        self.fails(s, "x = 9; import os; os._exit(1)", "error")
        self.assertEqual(s.value("x"), "2")
        self.undone(s, to=steps[1])
        self.fails(s, "x = 9; import os; os._exit(1)", "error")
        self.assertEqual(s.value("x"), "1")
        self.assertEqual(s.run("x += 10; x")["value"]["text/plain"], "11")
        self.undone(s)
        self.assertEqual(s.value("x"), "1")

    def test_beyond_the_kept_is_by_replay(self):
        """The first that is not kept, though the engine has had no time to give it up."""
        s = self.session()
        for i in range(7):
            s.run(f"x = {i}; open('f', 'w').write('{i}')")
        client = s.engine.connect()
        self.addCleanup(client.close)
        client.send("step.run", session=s.id, code="x = 7; open('f', 'w').write('7')")
        undo = client.send("session.undo", session=s.id, count=5)
        self.assertEqual(client.receive(undo)["outcome"], "replayed")
        self.assertEqual(self.value(s, "x, open('f').read()"), (2, "2"))
        self.fails(s, "x = 9; import os; os._exit(1)", "error")
        self.assertEqual(s.value("x"), "2")

    def test_past_the_root(self):
        s = self.session()
        s.run("x = 1")
        with self.assertRaisesRegex(service.Refused, "cannot undo 2 steps: the session has 1"):
            s.undo(count=2)
        self.assertEqual(s.value("x"), "1")
        self.assertEqual(s.undo(count=2)["head"], "")
        self.assertEqual(s.value("'x' in globals()"), "False")
        s.undo(count=1)
        with self.assertRaisesRegex(service.Refused, "cannot undo 1 step: the session has 0"):
            s.undo(count=1)
        with self.assertRaises(service.Refused):
            s.undo(to="feedfeed")

    def test_ends_processes_started_since(self):
        s = self.session()
        s.run("import subprocess; q = subprocess.Popen(['sleep', '1001'])")
        s.run("r = subprocess.Popen(['sleep', '1002'])")
        self.undone(s)
        self.assertEqual(Processes.pids(self, s), [["sleep", "1001"]])

    def test_files(self):
        s = self.session()
        s.run("""
import os
os.makedirs('d/deep/er'); os.mkdir('empty'); os.mkdir('private', 0o700)
def put(path, text, mode=0o644):
    with open(path, 'w') as f: f.write(text)
    os.chmod(path, mode)
put('same', 's'); put('changed', 'before'); put('gone', 'g'); put('d/deep/er/x', 'x'); put('tool', '#!', 0o755)
put('was-file', 'f'); os.mkdir('was-dir'); put('was-dir/in', 'i'); put('mode', 'm', 0o640)
os.symlink('same', 'link'); os.symlink('nowhere', 'dangling'); os.symlink('d', 'dirlink'); put('sp ace\\n', 'n')
def look():
    out = []
    for top, dirs, names in os.walk('.'):
        for n in sorted(dirs + names):
            p = os.path.join(top, n); st = os.lstat(p)
            out.append((p, oct(st.st_mode), os.readlink(p) if os.path.islink(p) else '' if os.path.isdir(p) else open(p).read()))
    return sorted(out)
""")
        before = s.value("look()")
        change = """
import shutil
put('changed', 'after!'); os.remove('gone'); shutil.rmtree('d'); os.rmdir('empty'); os.chmod('private', 0o755)
os.makedirs('new/a/b'); put('new/a/b/c', 'c'); put('tool', 'x', 0o600)
os.remove('was-file'); os.mkdir('was-file'); put('was-file/in', 'i')
shutil.rmtree('was-dir'); put('was-dir', 'f'); os.chmod('mode', 0o600)
os.remove('link'); os.symlink('changed', 'link'); os.remove('dangling'); put('dangling', 'd')
os.remove('dirlink'); os.mkdir('dirlink'); os.remove('sp ace\\n'); os.mkfifo('fifo'); os.mkdir('locked'); put('locked/f', 'f'); os.chmod('locked', 0)
"""
        self.assertEqual(s.run(change)["status"], "ok")
        back = self.undone(s)
        self.assertNotIn("files_lost", back)
        self.assertEqual(s.value("look()"), before)
        self.fails(s, change + "os._exit(1)", "error")
        self.assertEqual(s.value("look()"), before)

    def test_large_files_are_named(self):
        s = self.session()
        s.run("open('big', 'wb').write(b'a' * (3 << 20)); open('still', 'wb').write(b'a' * (3 << 20)); open('small', 'w').write('s')")
        s.run("open('big', 'wb').write(b'b'); open('small', 'w').write('t')")
        back = self.undone(s)
        self.assertEqual(back["files_lost"], ["big"])
        self.assertEqual(self.value(s, "import os; open('small').read(), os.path.getsize('still')"), ("s", 3 << 20))
        record = s.run("os.remove('still'); os._exit(1)")
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        self.assertEqual(record["files_lost"], ["still"])
        self.assertEqual(record["files"], [])

    def test_when_the_program_has_ended_its_checkpoints(self):
        s = self.session()
        for x in (1, 2):
            s.run(f"import os; x = {x}; open('f', 'w').write('{x}')")
        s.run("os.kill(-1, 9)")
        self.assertEqual(s.undo(count=2)["outcome"], "replayed")
        self.assertEqual(s.value("x, open('f').read()"), "(1, '1')")

    def test_more_files_than_are_listed(self):
        """At most 10,000 are: what is new goes all the same, and nothing that may have been there."""
        s = self.session()
        s.run("import os; open('keep', 'w').write('kept')")
        many = "for i in range(23000): open(f'{at}/n{i}', 'w').close()\n"
        for at in (".", "/tmp"):
            record = s.run(f"at = '{at}'\n{many}os.remove('keep'); os._exit(1)")
            self.assertEqual((record["state"]["outcome"], record.get("files_lost")), ("rolled_back", None))
            self.assertEqual(s.value("os.listdir(), os.listdir('/tmp'), open('keep').read()"), "(['keep'], [], 'kept')")
        s.run(f"at = '.'\n{many}")
        # A directory in memory lists its newest first.
        record = s.run("for i in range(12000, 23000): os.remove(f'n{i}')\nos._exit(1)")
        self.assertEqual((record["state"]["outcome"], record["files_lost"]), ("rolled_back", ["."]))
        self.assertEqual(s.value("sum(os.path.exists(f'n{i}') for i in range(12000))"), "12000", "none of them was known")
        self.assertGreater(int(s.value("len(os.listdir())")), 21000, "those that were known are there again")
        self.assertEqual(s.value("open('keep').read()"), "'kept'")

    def test_under_memory_pressure(self):
        s = self.session()
        for i in range(3):
            s.run(f"x = {i}; b = bytes([{i}]) * (40 << 20)")
        s.run("x = 3; b = bytes([3]) * (90 << 20)")
        s.run("x = 4; c = bytes([4]) * (20 << 20)")
        self.assertEqual(s.value("x"), "4")
        back = s.undo(count=4)
        self.assertEqual(back["outcome"], "replayed")
        self.assertEqual(s.value("x, len(b)"), f"(1, {40 << 20})")

    def test_while_a_step_runs(self):
        s = self.session()
        s.run("x = 1")
        s.run("x = 2")
        number = engine.client.send("step.run", session=s.id, code="import time; time.sleep(0.4); x = 3")
        other = engine.connect()
        self.addCleanup(other.close)
        time.sleep(0.1)
        self.assertEqual(other.call("session.undo", session=s.id)["outcome"], "rolled_back")
        self.assertEqual(engine.client.receive(number)["status"], "ok")
        self.assertEqual(s.value("x"), "2")


@harness.as_user
class Many(Case):
    """Many files are kept by a thread: what comes right after a step waits until they are."""

    LIMITS = {**LIMITS, "disk_bytes": 64 * MIB}
    WRITE = """
import os
def put(value):
    for i in range(5000):
        with open(f'n{i}', 'w') as f: f.write(str(value))
    for i in range(1000): open(f'/tmp/n{i}', 'w').close()
def look():
    return {open(n).read() for n in os.listdir()}
put(0)
"""

    def setUp(self):
        self.s = self.session(limits=self.LIMITS)
        self.s.run(self.WRITE)

    def sent(self, *calls):
        """All at once: each begins when the one before it has just ended."""
        numbers = [engine.client.send(method, session=self.s.id, **params) for method, params in calls]
        return [engine.client.receive(number) for number in numbers]

    def test_a_step_that_fails_right_after_another(self):
        for i in range(1, 4):
            ok, failed, look = self.sent(
                ("step.run", {"code": f"put({i})"}),
                ("step.run", {"code": "put('x'); [os.remove(f'n{i}') for i in range(700)]; os._exit(1)"}),
                ("step.run", {"code": "look(), len(os.listdir('/tmp')) >= 1000"}))
            self.assertEqual((len(ok["files"]), failed["state"]["outcome"], failed["files"], "files_lost" in failed),
                             (5000, "rolled_back", [], True))
            self.assertEqual(look["value"]["text/plain"], str(({str(i)}, True)))

    def test_undo_right_after_a_step(self):
        _, _, _, back, look = self.sent(
            *[("step.run", {"code": f"put({i})"}) for i in (1, 2, 3)], ("session.undo", {}), ("step.run", {"code": "look()"}))
        self.assertEqual((back["outcome"], back.get("files_lost"), look["value"]["text/plain"]), ("rolled_back", None, "{'2'}"))

    def test_a_file_written_right_after_a_step(self):
        self.s.run("put(1)")
        _, look, back, again = self.sent(
            ("file.write", {"path": "n3", "content": "outside"}),
            ("step.run", {"code": "sorted(look())"}), ("session.undo", {"count": 2}), ("step.run", {"code": "look()"}))
        self.assertEqual(look["value"]["text/plain"], "['1', 'outside']")
        self.assertEqual((back["outcome"], again["value"]["text/plain"]), ("rolled_back", "{'1'}"))

    def test_another_runtime_made_again_right_after_a_step(self):
        self.s.run("let y = 5", runtime="javascript")
        _, failed, y, look = self.sent(
            ("step.run", {"code": "put(1)"}), ("step.run", {"code": "process.exit(1)", "runtime": "javascript"}),
            ("step.run", {"code": "y", "runtime": "javascript"}), ("step.run", {"code": "look()"}))
        self.assertEqual(failed["state"]["outcome"], "rolled_back")
        self.assertEqual((y["value"]["text/plain"], look["value"]["text/plain"]), ("5", "{'1'}"))

    def test_branched_and_closed_right_after_a_step(self):
        _, made, _ = self.sent(("step.run", {"code": "put(1)"}), ("session.branch", {}), ("step.run", {"code": "put(2)"}))
        branch = service.Session(engine, made)
        self.addCleanup(branch.close)
        self.assertEqual(branch.value("look()"), "{'1'}")
        self.s.run("put(3)")
        self.s.close()
        self.assertEqual(branch.value("look()"), "{'1'}")

    def test_closed_while_they_are_put_back(self):
        for _ in range(4):
            s = self.session(limits=self.LIMITS)
            s.run(self.WRITE.replace("5000", "1500"))
            other = engine.connect()
            number = other.send("step.run", session=s.id, code="put('x'); os._exit(1)")
            time.sleep(random.uniform(0, 0.1))
            s.close()
            try:
                self.assertEqual(other.receive(number)["state"]["outcome"], "rolled_back")
            except service.Refused:
                pass  # closed before it had ended
            other.close()
        self.assertEqual(self.s.value("look()"), "{'0'}")

    def test_interrupted_while_it_waits(self):
        other = engine.connect()
        self.addCleanup(other.close)
        for i in range(1, 6):
            self.s.run(f"put({i})")
            number = engine.client.send("step.run", session=self.s.id, code="import time; put('x'); time.sleep(9)")
            time.sleep(random.uniform(0, 0.02))
            other.call("step.interrupt", session=self.s.id)
            other.call("step.interrupt", session=self.s.id)
            record = engine.client.receive(number)
            self.assertNotEqual(record["status"], "ok")
            self.assertIn(len(record["files"]), (0, 5000) if record["state"]["outcome"] == "committed" else (0,))
            if record["state"]["outcome"] == "rolled_back":
                self.assertEqual(self.s.value("look()"), str({str(i)}))
            else:
                self.s.run(f"put({i})")


class Shared(Case):
    """Memory and files that the copy of the process shares with it are put back, or it is said."""

    MAKE = """
import mmap, os, multiprocessing as mp, tempfile
from multiprocessing import shared_memory
m = mmap.mmap(-1, 1 << 24); m[:3] = b"old"
v = mp.Value("i", 7); a = mp.Array("d", [1.0, 2.0])
sh = shared_memory.SharedMemory(create=True, size=8192); sh.buf[:3] = b"old"
def nameless():  # without a cgroup there is no memfd
    try: return os.memfd_create("x")
    except OSError:
        with tempfile.TemporaryFile() as f: return os.dup(f.fileno())
fd = nameless(); os.write(fd, b"old"); mm = mmap.mmap(fd, 3); alone = nameless(); os.write(alone, b"old")
t = tempfile.TemporaryFile(); t.write(b"old"); t.flush(); os.ftruncate(t.fileno(), 1 << 16)
gone = open("gone", "w+b"); gone.write(b"old" + bytes(5000)); gone.flush(); mg = mmap.mmap(gone.fileno(), 0); os.remove("gone")
for n, size in ("f", 1 << 13), ("g", 3 << 20):
    open(n, "wb").write(b"old" + bytes(size))
ff = open("f", "r+b"); mf = mmap.mmap(ff.fileno(), 0); gg = open("g", "r+b"); ml = mmap.mmap(gg.fileno(), 0)
def look():
    return [b[:3] + b[4096:4099] for b in (m, mg, mf, ml)] + [v.value, a[:], bytes(sh.buf[:3]), mm[:]] + [
        os.pread(n, 9, 0)[:4] for n in (fd, alone, t.fileno())] + [os.fstat(n).st_size for n in (alone, t.fileno())]
def spoil():
    for b in m, mg, mf, ml: b[:3] = b[4096:4099] = b"new"
    v.get_lock().acquire(); v.value = 8; a[0] = 5; sh.buf[:3] = b"new"; mm[:] = b"new"
    os.pwrite(alone, b"newer", 0); os.pwrite(t.fileno(), b"n", 0); os.ftruncate(t.fileno(), 2)
"""

    def test_all_kinds(self):
        s = self.session()
        self.assertEqual(s.run(self.MAKE)["status"], "ok")
        was = s.value("look()")
        for end, status, params in (("os._exit(1)", "error", {}), ("os.kill(os.getpid(), 11)", "killed", {}),
                                    ("while 1: pass", "timeout", {"timeout_ms": 300})):
            record = self.fails(s, "spoil()\n" + end, status, **params)
            self.assertNotIn("shared memory", record["state"]["reason"] or "")
            self.assertEqual(s.value("look()"), was, end)
        s.run("spoil(); v.get_lock().release()")
        self.assertNotEqual(s.value("look()"), was)
        self.undone(s, count=2)
        self.assertEqual(s.value("look()"), was)

    def test_also_what_another_process_sees(self):
        s = self.session()
        s.run("import mmap, os, time\nm = mmap.mmap(-1, 4096); m[0] = 1\n"
              "if not os.fork():\n    while m[0] != 9: time.sleep(0.01)\n    m[1] = 5; os._exit(0)")
        self.fails(s, "m[0] = 2; os._exit(1)", "error")
        self.assertEqual(s.value("m[0]"), "1")
        s.run("m[0] = 9; end = time.monotonic() + 10\nwhile m[1] != 5 and time.monotonic() < end: time.sleep(0.01)")
        self.assertEqual(s.value("m[1]"), "5")

    def test_a_volume_is_the_hosts(self):
        top = harness.make_dir()
        os.chmod(top, 0o777)
        path = os.path.join(top, "f")
        with open(path, "wb") as f:
            f.write(b"old" + bytes(5000))
        os.chmod(path, 0o666)
        s = self.session(volumes=[{"src": top, "dst": "v", "mode": "rw"}])
        s.run("import mmap, os; f = open('v/f', 'r+b'); m = mmap.mmap(f.fileno(), 0)")
        with open(path, "r+b") as f:
            f.write(b"his")
        self.fails(s, "m[4:5] = b'x'; os._exit(1)", "error")
        with open(path, "rb") as f:
            self.assertEqual(f.read(5), b"his\0x")

    def test_too_much_is_said(self):
        s = self.session()
        s.run("import mmap, os; m = mmap.mmap(-1, 40 << 20)\nfor i in range(0, 40 << 20, 4096): m[i] = 1")
        for _ in range(2):
            record = self.fails(s, "m[0] = 2; os._exit(1)", "error")
            self.assertRegex(record["state"]["reason"], r"not put back: \d+\.\d MiB of shared memory")
        record = s.run("m.close(); r, w = os.pipe()")
        self.assertIsNone(record["state"]["reason"])
        self.assertEqual(self.fails(s, "os._exit(1)", "error")["state"]["notice"], "closed: 2 ends of pipes")
        self.assertIsNone(self.fails(s, "os._exit(1)", "error")["state"]["reason"], "told once")


@harness.as_user
class Names(Case):
    def test_checkpoint_is_named(self):
        s = self.session()
        first = s.run("x = 1")
        time.sleep(0.05)
        record = s.run("x = 2")
        self.assertEqual(record["state"]["checkpoint"], "c-" + first["step"][:12])
        failed = self.fails(s, "import os; os._exit(1)", "error")
        self.assertEqual(failed["state"]["checkpoint"], "c-" + record["step"][:12])
        self.assertEqual(self.undone(s, to="c-" + first["step"][:12])["head"], first["step"])
        self.assertEqual(s.value("x"), "1")

    def test_first(self):
        self.assertEqual(self.session().run("1")["state"]["checkpoint"], "c-root")


if __name__ == "__main__":
    harness.main()
