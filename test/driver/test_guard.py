# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, SETUP and NAMES of the Python driver: /usr/bin/python3 -I test_guard.py DRIVER_DIR [unittest args]

The test plays the engine, and init too: guards are its own children, since they are their driver's
siblings.
"""

import array
import importlib.util
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_driver  # noqa: E402
from test_driver import BEGIN, DISPLAY, READY, RESULT, STEP, Driver, Outcome, has  # noqa: E402

RESUME, SETUP, NAMES, GUARD, BRANCHED, DONE = 3, 7, 8, 18, 22, 23
BRANCH, CHECKPOINT, STEM = 6, 9, 10


class Guard:
    """A checkpoint the test holds: the other end of the guard's socket."""

    def __init__(self, channel, message):
        self.channel, self.message, self.pid = channel, message, message["pid"]

    def drop(self):
        self.channel.close()


class Session(Driver):
    """A driver whose steps make checkpoints; keeps the last few."""

    keep = 3

    def __init__(self, **rest):
        super().__init__(**rest)
        self.guards = []
        self.pid = self.process.pid
        self.guard = None
        self.inbox_bytes = b""

    def __exit__(self, *args):
        for guard in self.guards:
            guard.drop()
        super().__exit__(*args)
        reap()

    def frame(self, wait=30):
        """The next frame: (type, message). None brings a descriptor."""
        end = time.monotonic() + wait
        while len(self.inbox_bytes) < 5 or len(self.inbox_bytes) < 4 + self.size():
            if not select.select([self.channel], [], [], max(end - time.monotonic(), 0))[0]:
                raise AssertionError("no frame; stderr: %r" % self.output().stderr[-2000:])
            data, extra, flags, _ = self.channel.recvmsg(1 << 16, 4096)
            if not data:
                raise EOFError("stderr: %r" % self.output().stderr[-2000:])
            assert not extra and not flags & socket.MSG_CTRUNC
            self.inbox_bytes += data
        kind, payload = self.inbox_bytes[4], self.inbox_bytes[5:4 + self.size()]
        self.inbox_bytes = self.inbox_bytes[4 + self.size():]
        return kind, json.loads(payload)

    def size(self):
        return struct.unpack(">I", self.inbox_bytes[:4])[0]

    def output(self):
        got = Outcome()
        for fd in list(self.pipes):
            self.drain(fd, got)
        return got

    def run(self, code, checkpoint=True, wait=30, **more):
        """A step and what came of it; the guard, or the reason for none, is in self.guard."""
        code = textwrap.dedent(code) if code[:2] == "\n " else code
        self.count += 1
        request = {"id": "s%d" % self.count, "code": code, "filename": "<step>", "argv": ["x"],
                   "mode": "session", "value_bytes": 1 << 20, "checkpoint": checkpoint}
        request.update(more)
        self.send(STEP, json.dumps(request).encode())
        got = Outcome()
        while got.result is None:
            kind, message = self.frame(wait)
            if kind == READY:
                self.ready = message
                continue
            assert message["id"] == request["id"], message
            if kind == DISPLAY:
                got.displays.append(message)
            elif kind == RESULT:
                got.result = message
            else:
                assert kind == BEGIN, kind
        if checkpoint:
            self.ask_guard(request["id"], more.get("guard_bytes"))
        for fd in list(self.pipes):
            self.drain(fd, got)
        return got

    def ask_guard(self, name="q", guard_bytes=None):
        ours, theirs = socket.socketpair()
        payload = json.dumps({"id": name, "guard_bytes": guard_bytes}).encode()
        frame = struct.pack(">IB", len(payload) + 1, CHECKPOINT) + payload
        with theirs:
            self.channel.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
        kind = READY
        while kind == READY:
            kind, message = self.frame()
        assert kind == GUARD and message["id"] == name, (kind, message)
        self.guard = message
        if "reason" in message:
            ours.close()
            return
        self.guards.append(Guard(ours, message))
        while len(self.guards) > self.keep:
            self.guards.pop(0).drop()

    def dies(self, code, wait=20):
        """A step during which the live process ends."""
        self.count += 1
        request = {"id": "s%d" % self.count, "code": textwrap.dedent(code), "mode": "session",
                   "checkpoint": True}
        try:
            self.send(STEP, json.dumps(request).encode())
            while True:
                kind, message = self.frame(wait)
                assert kind != RESULT, message
        except (EOFError, ConnectionResetError, BrokenPipeError):
            pass
        return self.await_end()

    def await_end(self):
        if self.pid == self.process.pid:
            return self.process.wait(10)
        return os.waitpid(self.pid, 0)[1]

    def rollback(self, index=-1):
        """Have a guard go on; the live process is gone, guards newer than that are dropped."""
        guard = self.guards[index]
        for newer in self.guards[len(self.guards) + index + 1 if index < 0 else index + 1:]:
            newer.drop()
        self.guards = self.guards[:self.guards.index(guard)]
        self.channel.close()
        self.channel, self.inbox_bytes = guard.channel, b""
        self.send(RESUME, b"{}")
        kind, self.ready = self.frame()
        assert kind == READY, kind
        assert self.ready["pid"] == guard.pid, self.ready
        self.pid = guard.pid

    def ask(self, kind, **request):
        self.send(kind, json.dumps(dict(request, id="q")).encode())
        while True:
            kind, message = self.frame()
            if kind == READY:
                self.ready = message
                continue
            assert kind == DONE and message.pop("id") == "q", (kind, message)
            return message


def reap():
    """What init does: children that have ended go away. Returns how many there were."""
    n = 0
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            n += 1
    except ChildProcessError:
        pass
    return n


def children():
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        return [int(pid) for pid in file.read().split()]


class Case(test_driver.Case):
    def value(self, session, code, expected, **more):
        got = self.ok(session.run(code, **more))
        self.assertEqual(got.text, expected, got.err)


class Checkpoints(Case):
    def test_guard_frame(self):
        with Session() as s:
            self.ok(s.run("x = 1"))
            self.assertEqual(s.ready["pid"], s.pid)
            self.assertNotEqual(s.guard["pid"], s.pid)
            self.assertEqual(s.guard["lost"], 0)
            self.assertEqual(len(s.guards), 1)
            self.ok(s.run("x", checkpoint=False))
            self.value(s, "x", "1")

    def test_none_in_a_script(self):
        with Session() as s:
            s.start("1", "once")
            self.ok(s.finish())

    def test_nothing_is_seen_of_it(self):
        with Session() as s:
            self.ok(s.run("""
                import os, signal, random
                seen = []
                signal.signal(signal.SIGCHLD, lambda *a: seen.append(a))
                os.register_at_fork(before=lambda: seen.append("before"),
                                    after_in_parent=lambda: seen.append("parent"),
                                    after_in_child=lambda: seen.append("child"))
                random.seed(1)
                pid = os.getpid()
                first = set(os.listdir("/proc/self/fd"))
                """))
            for _ in range(3):
                self.ok(s.run("1"))
            s.guards.pop().drop()
            plain = subprocess.check_output(
                [test_driver.PYTHON, "-c", "import random; random.seed(1); print(random.random())"])
            self.value(s, "repr(random.random())", repr(plain.decode().strip()))
            self.value(s, "seen, os.getpid() == pid", "([], True)")
            self.value(s, "set(os.listdir('/proc/self/fd')) == first", "True")
            self.fails(s.run("os.wait()"), "ChildProcessError")
            self.fails(s.run("os.waitpid(-1, os.WNOHANG | 0x40000000)"), "ChildProcessError")

    @unittest.skipUnless(has("numpy"), "needs numpy")
    def test_numpy_numbers(self):
        with Session(env={"OPENBLAS_NUM_THREADS": "1"}) as s:
            self.ok(s.run("import numpy as np; np.random.seed(3); g = np.random.default_rng(4)"))
            code = "np.random.random(), float(g.random())"
            first = self.ok(s.run(code, checkpoint=False)).text
            plain = subprocess.check_output([test_driver.PYTHON, "-c", """if 1:
                import numpy as np; np.random.seed(3); g = np.random.default_rng(4)
                print((np.random.random(), float(g.random())))"""])
            self.assertEqual(first, plain.decode().strip())
            s.dies("import os; os._exit(1)")
            s.rollback()
            self.value(s, code, first)

    def test_memory_is_shared_after_the_first_step(self):
        """Pages are copied ahead for the next step, but not before there was a second."""
        def own_kb():
            while True:  # until it waits for a frame
                with open("/proc/%d/stat" % s.pid) as file:
                    if file.read().rpartition(")")[2].split()[0] == "S":
                        break
            with open("/proc/%d/smaps_rollup" % s.pid) as file:
                return next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty:"))

        with Session() as s:
            self.ok(s.run("x = 1"))
            first = own_kb()
            self.ok(s.run("x += 1"))
            self.assertLess(3 * first, own_kb())

    def test_ways_to_die(self):
        for code, status in (("import os; os._exit(7)", 7), ("import os; os.abort()", -signal.SIGABRT),
                             ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
                             ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV)):
            with self.subTest(code), Session() as s:
                self.ok(s.run("x = [1, 2]; y = 5"))
                self.assertEqual(s.dies("x.append(3); y = 6; " + code), status)
                s.rollback()
                self.value(s, "x, y", "([1, 2], 5)")
                self.ok(s.run("x.append(4)"))
                self.value(s, "x", "[1, 2, 4]")

    def test_killed_from_outside_in_an_endless_step(self):
        with Session() as s:
            self.ok(s.run("n = 0"))
            s.send(STEP, json.dumps({"id": "e", "code": "while True: n += 1", "mode": "session",
                                     "checkpoint": True}).encode())
            while s.frame()[0] != BEGIN:
                pass
            time.sleep(0.1)
            os.kill(s.pid, signal.SIGKILL)
            s.await_end()
            s.rollback()
            self.value(s, "n", "0")

    def test_chain_of_rollbacks(self):
        with Session() as s:
            for i in range(4):
                self.ok(s.run("x = %d" % i))
            s.dies("import os; x = 9; os._exit(1)")
            s.rollback()  # to after the last step
            self.value(s, "x", "3", checkpoint=False)
            s.dies("import os; os._exit(1)")
            s.rollback()  # two further back: that one still exists
            self.value(s, "x", "2")
            self.ok(s.run("x += 10"))
            s.dies("import os; os._exit(1)")
            s.rollback()
            self.value(s, "x", "12")

    def test_guard_of_a_resumed_guard(self):
        with Session() as s:
            self.ok(s.run("x = 1"))
            for _ in range(3):
                s.dies("import os; os._exit(1)")
                s.rollback()
                s.ask_guard()
            self.value(s, "x", "1")

    def test_files_are_where_they_were(self):
        with Session() as s:
            self.ok(s.run("""
                import os
                open("a", "w").write("one\\ntwo\\nthree\\n")
                r = open("a"); r.readline()
                raw = os.open("a", os.O_RDONLY); os.read(raw, 2); other = os.dup(raw)
                w = open("b", "w+"); w.write("abc"); w.flush()
                import tempfile
                t = tempfile.TemporaryFile(); t.write(b"12345"); t.flush()
                a = open("c", "a"); a.write("x"); a.flush()
                """))
            self.assertEqual(s.guard["lost"], 0)
            s.dies("""
                r.read(); os.lseek(raw, 0, 2); w.write("ZZZ"); w.flush(); w.close(); t.seek(0)
                os._exit(1)""")
            s.rollback()
            self.value(s, "r.readline(), os.read(raw, 2), os.read(other, 1)",
                       r"('two\n', b'e\n', b't')")
            self.value(s, "w.write('d'), w.seek(0), w.read(), t.tell()", "(1, 0, 'abcdZZ', 5)")
            self.value(s, "a.write('y'), a.flush(), open('c').read()", "(1, None, 'xy')")

    def test_generator(self):
        with Session() as s:
            self.ok(s.run("""
                def count():
                    n = 0
                    while True:
                        n += (yield n) or 1
                g = count(); next(g)"""))
            self.value(s, "next(g)", "1")
            s.dies("next(g); next(g); import os; os._exit(1)")
            s.rollback()
            self.value(s, "g.send(10), next(g)", "(11, 12)")

    def test_sqlite(self):
        with Session() as s:
            self.ok(s.run("""
                import sqlite3
                m = sqlite3.connect(":memory:"); m.execute("create table t (x)")
                d = sqlite3.connect("db"); d.execute("create table t (x)"); d.commit()
                d.execute("insert into t values (1)"); m.execute("insert into t values (1)")"""))
            self.ok(s.run("d.execute('insert into t values (2)')"))
            s.dies("d.execute('insert into t values (3)'); m.execute('drop table t')\nimport os; os._exit(1)")
            s.rollback()
            count = "list(%s.execute('select count(*) from t'))"
            self.value(s, count % "d", "[(2,)]")
            self.ok(s.run("d.commit()"))
            self.value(s, count % "sqlite3.connect('db')", "[(2,)]")
            self.value(s, count % "m", "[(1,)]")

    def test_event_loop(self):
        with Session() as s:
            self.ok(s.run("""
                import asyncio
                q = await asyncio.sleep(0, asyncio.Queue())
                async def work():
                    while True:
                        await asyncio.sleep(0.001); q.put_nowait(1)
                async def begin():
                    return asyncio.ensure_future(work())
                task = await begin(); r = await asyncio.sleep(0.01)"""))
            self.assertEqual(s.guard["lost"], 0)
            s.dies("asyncio.get_event_loop().close(); import os; os._exit(1)")
            s.rollback()
            self.ok(s.run("while not q.empty(): q.get_nowait()"))
            self.value(s, "await q.get()", "1")
            got = self.ok(s.run("""
                import threading, time
                start = time.monotonic()
                loop = asyncio.get_running_loop(); woken = asyncio.Event()
                threading.Timer(0.05, loop.call_soon_threadsafe, (woken.set,)).start()
                task.cancel()
                await asyncio.wait_for(woken.wait(), 5)
                time.monotonic() - start
                """))
            self.assertLess(float(got.text), 2)

    def test_guard_does_not_spin_after_rollback(self):
        with Session() as s:
            self.ok(s.run("import asyncio, time; await asyncio.sleep(0)"))
            s.dies("import os; os._exit(1)")
            s.rollback()
            got = self.ok(s.run("t = time.process_time(); await asyncio.sleep(0.3); time.process_time() - t"))
            self.assertLess(float(got.text), 0.15)

    @unittest.skipUnless(has("matplotlib"), "needs matplotlib")
    def test_figure(self):
        with Session(env={"OPENBLAS_NUM_THREADS": "1"}) as s:
            self.ok(s.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); f = plt.gcf(); None"))
            s.dies("import os; plt.close('all'); os._exit(1)")
            s.rollback()
            got = self.ok(s.run("f.gca().set_title('T'); f"))
            self.assertIn("image/png", got.value)

    def test_stdout_goes_on(self):
        with Session() as s:
            self.ok(s.run("import os; saved = os.dup(1)"))
            self.assertEqual(s.guard["lost"], 0)
            s.dies("print('lost?', flush=True); os._exit(1)")
            s.rollback()
            s.output()
            self.assertEqual(s.run("print('here'); n = os.write(saved, b'too\\n')").out, "here\ntoo\n")


class Surroundings(Case):
    """What a guard must not hold on to."""

    def test_child_process_over_steps(self):
        with Session() as s:
            self.ok(s.run("""
                import subprocess
                p = subprocess.Popen(["sh", "-c", "cat; exit 3"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)"""))
            self.assertEqual(s.guard["lost"], 2)
            self.value(s, "p.communicate(b'hello', timeout=10), p.wait()", "((b'hello', None), 3)")

    def test_flock(self):
        with Session() as s:
            self.ok(s.run("import fcntl; f = open('l', 'w'); fcntl.flock(f, fcntl.LOCK_EX)"))
            with open(s.home.name + "/l") as mine:
                import fcntl

                with self.assertRaises(BlockingIOError):
                    fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.ok(s.run("f.close()"))
                fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_socket(self):
        with Session() as s:
            self.ok(s.run("import socket; a, b = socket.socketpair()"))
            self.assertEqual(s.guard["lost"], 2)
            self.value(s, "a.send(b'x'), b.recv(1)", "(1, b'x')")
            self.value(s, "a.close(); b.recv(1)", "b''")
            s.dies("import os; os._exit(1)")
            s.rollback()
            self.value(s, "b.recv(1)", "b''")

    def test_thread(self):
        with Session() as s:
            self.ok(s.run("""
                import threading
                e = threading.Event(); t = threading.Thread(target=e.wait); t.start()"""))
            self.assertEqual(s.guard["reason"], "threads")
            self.value(s, "1 + 1", "2")
            self.assertEqual(s.guard["reason"], "threads")
            self.ok(s.run("e.set(); t.join()"))
            if "reason" in s.guard:  # it may take a moment to be gone
                self.ok(s.run("1"))
            self.assertNotIn("reason", s.guard)

    def test_thread_that_has_just_ended(self):
        with Session() as s:
            for _ in range(20):
                self.ok(s.run("import threading; t = threading.Thread(target=int); t.start(); t.join()"))
                self.assertNotIn("reason", s.guard)

    def test_memory(self):
        with Session() as s:
            self.ok(s.run("x = bytearray(b'x' * (64 << 20))", guard_bytes=32 << 20))
            self.assertEqual(s.guard["reason"], "memory")
            self.ok(s.run("del x", guard_bytes=32 << 20))
            self.assertNotIn("reason", s.guard)

    def test_no_address_of_the_thread_id(self):
        with Session() as s:
            self.ok(s.run("""
                import ctypes
                ctypes.CDLL(None).syscall(218, ctypes.byref(ctypes.c_int()))""")
                    if os.uname().machine == "x86_64" else s.run("1"))
            if os.uname().machine == "x86_64":
                self.assertIn("thread's id", s.guard["reason"])
            self.value(s, "2", "2")

    def test_many_steps_leave_nothing(self):
        before = set(children())
        with Session() as s:
            self.ok(s.run("import os; n = 0; fds = len(os.listdir('/proc/self/fd'))"))
            ours = len(os.listdir("/proc/self/fd"))
            for _ in range(1000):
                self.ok(s.run("n += 1"))
            self.value(s, "n, len(os.listdir('/proc/self/fd')) - fds", "(1000, 0)")
            self.assertLessEqual(len(os.listdir("/proc/self/fd")), ours + s.keep)
            end = time.monotonic() + 5
            while len(set(children()) - before) > 1 + s.keep and time.monotonic() < end:
                reap_others(s)
            self.assertEqual(len(set(children()) - before), 1 + s.keep)

    def test_guard_ends_with_its_socket(self):
        with Session() as s:
            self.ok(s.run("1"))
            guard = s.guards.pop()
            self.assertEqual(os.waitpid(guard.pid, os.WNOHANG), (0, 0))
            guard.drop()
            self.assertEqual(os.waitpid(guard.pid, 0), (guard.pid, 0))

    def test_guard_ends_at_anything_but_resume(self):
        for data in (b"\0\0\0\3\1{}", b"\0\0\0\0\3", b"\xff\xff\xff\xff\3", b"\0\0\0\3"):
            with self.subTest(data), Session() as s:
                self.ok(s.run("1"))
                guard = s.guards[0]
                guard.channel.sendall(data)
                guard.channel.shutdown(socket.SHUT_WR)
                self.assertEqual(os.waitpid(guard.pid, 0), (guard.pid, 0))
                self.value(s, "1", "1")

    def test_signals_to_the_group_spare_guards(self):
        with Session() as s:
            self.ok(s.run("import os, signal; os.setpgid(0, 0); x = 1"))
            self.ok(s.run("x = 2"))
            s.dies("os.killpg(0, signal.SIGKILL)")
            s.rollback()
            self.value(s, "x", "2")

    def test_signals_sent_to_a_guard_are_not_for_it(self):
        with Session() as s:
            self.ok(s.run("x = 1"))
            for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGCHLD):
                os.kill(s.guards[0].pid, number)
            s.dies("import os; os._exit(1)")
            s.rollback()
            self.value(s, "x", "1")
            self.value(s, "import signal; len(signal.pthread_sigmask(0, []))", "0")

    def test_score_for_the_killer_of_memory(self):
        with Session() as s:
            self.ok(s.run("n = open('/proc/self/oom_score_adj', 'w').write('1000')"))
            with open("/proc/%d/oom_score_adj" % s.guards[0].pid) as file:
                end = time.monotonic() + 5
                while file.read() != "0\n" and time.monotonic() < end:
                    file.seek(0)
                file.seek(0)
                self.assertEqual(file.read(), "0\n")
            s.dies("import os; os._exit(1)")
            s.rollback()
            self.value(s, "open('/proc/self/oom_score_adj').read()", r"'1000\n'")

    def test_fork_after_rollback(self):
        with Session() as s:
            self.ok(s.run("import os, subprocess, threading"))
            s.dies("os._exit(1)")
            s.rollback()
            self.value(s, "subprocess.run(['echo', 'x'], capture_output=True).stdout", r"b'x\n'")
            self.value(s, "pid = os.fork() or os._exit(5); os.waitpid(pid, 0)[1] >> 8", "5")
            self.value(s, "threading.main_thread().native_id == os.getpid()", "True")
            self.value(s, "t = threading.Thread(target=print); t.start(); t.join(); 1", "1")

    def test_interrupt_after_rollback(self):
        with Session() as s:
            self.ok(s.run("import time"))
            s.dies("import os; os._exit(1)")
            s.rollback()
            s.send(STEP, json.dumps({"id": "i", "code": "time.sleep(20)", "mode": "session"}).encode())
            while s.frame()[0] != BEGIN:
                pass
            time.sleep(0.2)
            os.kill(s.pid, signal.SIGINT)
            kind, message = s.frame()
            self.assertEqual((kind, message["error"]["name"]), (RESULT, "KeyboardInterrupt"))

    def test_unasked_descriptors_are_closed(self):
        with Session() as s:
            self.ok(s.run("import os; n = len(os.listdir('/proc/self/fd'))"))
            request = json.dumps({"id": "f", "code": "len(os.listdir('/proc/self/fd')) - n",
                                  "mode": "session"}).encode()
            frame = struct.pack(">IB", len(request) + 1, STEP) + request
            fds = array.array("i", [0] * 10)
            s.channel.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            kind = None
            while kind != RESULT:
                kind, message = s.frame()
            self.assertEqual(message["value"]["text/plain"], "0")


def reap_others(session):
    """Reap children but the driver itself, whose status Popen wants."""
    for pid in children():
        if pid != session.process.pid:
            os.waitpid(pid, os.WNOHANG)
    time.sleep(0.01)


class Setup(Case):
    def test_session_name(self):
        with Session() as s:
            self.assertEqual(s.ask(SETUP, session="s-1"), {})
            self.value(s, "import os; os.environ['RETORT_SESSION'], os.popen('echo $RETORT_SESSION').read()",
                       r"('s-1', 's-1\n')")
            self.assertEqual(s.ask(SETUP, session="s-\u00e9"), {})
            self.assertEqual(s.ask(SETUP, preload=["json"]), {})
            self.value(s, "os.environ['RETORT_SESSION']", "'s-\u00e9'")

    def test_name_alone(self):
        """Without an id there is no answer, and nothing is loaded."""
        with Session(files={"loud.py": "print('loaded')"}) as s:
            s.send(SETUP, b'{"session": "s-1", "warm": true, "preload": ["loud"]}')
            self.value(s, "import os, sys; os.environ['RETORT_SESSION'], 'loud' in sys.modules", "('s-1', False)")
            self.ok(s.run("import posix; posix.putenv = None"))
            s.send(SETUP, b'{"session": "s-2"}')
            self.value(s, "os.environ['RETORT_SESSION']", "'s-1'")

    def test_preload(self):
        with Session() as s:
            self.assertEqual(s.ask(SETUP, preload=["colorsys", "json"]), {})
            self.value(s, "import sys; 'colorsys' in sys.modules", "True")
            error = s.ask(SETUP, preload=["no_such_module"])["error"]
            self.assertEqual(error["name"], "ModuleNotFoundError")
            self.assertIn("no_such_module", error["message"])
            self.value(s, "1", "1")

    def test_preload_that_misbehaves(self):
        files = {"quits.py": "raise SystemExit(3)", "breaks.py": "import builtins; builtins.len = None"}
        with Session(files=files) as s:
            self.assertEqual(s.ask(SETUP, preload=["quits"])["error"]["name"], "SystemExit")
            s.ask(SETUP, preload=["breaks"])  # some versions' import fails over it afterwards
            self.value(s, "1", "1")

    def test_preload_can_be_interrupted(self):
        with Session(files={"hangs.py": "import time; time.sleep(30)"}) as s:
            s.run("1")
            s.send(SETUP, json.dumps({"id": "h", "preload": ["hangs"]}).encode())
            time.sleep(0.5)
            os.kill(s.pid, signal.SIGINT)
            kind, message = s.frame(5)
            self.assertEqual((kind, message["error"]["name"]), (DONE, "KeyboardInterrupt"))
            self.value(s, "1", "1")

    def test_template(self):
        with Session() as s:
            self.assertEqual(s.ask(SETUP, preload=["json"], template=True), {})
            self.value(s, "import gc, sys; gc.get_freeze_count() > 1000, 'traceback' in sys.modules",
                       "(True, True)")
            self.fails(s.run("1/0"), "ZeroDivisionError")
            got = s.output()
            self.assertEqual(got.stderr, b"")
            self.value(s, "sorted(n for n in globals() if n[0] != '_')", "['gc', 'sys']")

    def test_template_says_what_others_say(self):
        """It writes JSON in another way."""
        codes = (r"'\ud83d\ude00 \udcff \xe9'", r"'\0\x1f\x7f\"\\/\n\u2028'", "{'a': [1.5, -0.0, 1e300, None, True, {}]}",
                 "(1 << 62) - 1", "10 ** 30", "[float('inf'), float('nan')]", "1/0", r"raise ValueError('\ud800')",
                 r"display({'text/plain': '\udc80', 'application/json': {'\udc81': [2.5]}}, raw=True, metadata={'m': (1,)})")

        def say():
            return [(g.result.get("value"), g.result.get("error", {}).get("message"),
                     [(d["data"], d["metadata"]) for d in g.displays]) for g in map(s.run, codes)]

        with Session() as s:
            before = say()
            self.assertEqual(s.ask(SETUP, template=True), {})
            self.assertEqual(say(), before)

    def test_seed(self):
        def draw(early):
            with Session() as s:
                if early:
                    self.ok(s.run("import random"))
                self.assertEqual(s.ask(SETUP, seed=7), {})
                return self.ok(s.run("import random; random.random()")).text

        self.assertEqual(draw(True), draw(False))

    def test_guard_and_warm(self):
        with Session() as s:
            s.ask_guard(guard_bytes=1)
            self.assertEqual(s.guard["reason"], "memory")
            s.ask_guard()
            self.assertEqual(s.ask(SETUP, warm=True), {})
            self.ok(s.run("x = 1"))
            s.dies("import os; os._exit(1)")
            s.rollback(-2)
            self.fails(s.run("x"), "NameError")


class Names(Case):
    def names(self, session, text):
        answer = session.ask(NAMES, text=text)
        self.assertEqual(list(answer), ["names"])
        return answer["names"]

    def test_globals(self):
        with Session() as s:
            self.ok(s.run("alpha = 1; alphabet = 2; _hidden = 3"))
            self.assertEqual(self.names(s, "x = alph"), ["alpha", "alphabet"])
            self.assertEqual(self.names(s, "_hid"), ["_hidden"])
            self.assertIn("while", self.names(s, "whi"))
            self.assertIn("isinstance", self.names(s, "f(isin"))
            everything = self.names(s, "")
            self.assertIn("alpha", everything)
            self.assertNotIn("_hidden", everything)

    def test_attributes(self):
        with Session() as s:
            self.ok(s.run("""
                import os
                class A:
                    def __init__(self): self.inner = os
                    @property
                    def bad(self): ran.append(1); return self
                    def __getattr__(self, name): ran.append(name); return self
                ran = []
                a = A()"""))
            self.assertEqual(self.names(s, "print(os.path.isab"), ["isabs"])
            self.assertEqual(self.names(s, "a.inner.path.isab"), ["isabs"])
            self.assertIn("bad", self.names(s, "a."))
            self.assertEqual(self.names(s, "a.bad."), [])
            self.assertEqual(self.names(s, "a.nothing."), [])
            self.assertEqual(self.names(s, "'x'.join(a).spl"), [])
            self.assertIn("append", self.names(s, "ran.app"))
            self.assertIn("__init__", self.names(s, "A.__in"))
            self.value(s, "ran", "[]")

    def test_hostile(self):
        with Session() as s:
            self.ok(s.run("""
                class D:
                    def __dir__(self): return [1, "ok", "no good", "x" * 10**6] + ["n%d" % i for i in range(10**5)]
                class E:
                    def __dir__(self): raise SystemExit
                class M(type):
                    __mro__ = __dict__ = property(lambda self: 1/0)
                class F(metaclass=M): pass
                d = D(); e = E()"""))
            self.assertLessEqual(len(self.names(s, "d.")), 200)
            self.assertEqual(self.names(s, "d.o"), ["ok"])
            self.assertEqual(self.names(s, "e."), [])
            self.names(s, "F.x.y")
            self.assertEqual(self.names(s, "a." * 5000), [])
            self.assertEqual(self.names(s, "\U0001f600."), [])
            self.value(s, "1", "1")

    def test_modules_and_names_in_them(self):
        files = {
            "mine/__init__": "from .one import *\nfrom json import dumps as text, loads\ntry:\n  inner = 1/0\n"
                             "except OSError:\n  class Inner: pass\nran = open('ran', 'w')\nleft, right = 1, 2",
            "mine/one": "def starred(): pass\nfrom . import two\nimport os.path as places, sys\nx: int = 3",
            "mine/two": "f(", "mine/deep/__init__": "", "mine_too": "y = 1", "empty/x": "",
        }
        of_mine = "Inner deep inner left loads one places ran right starred sys text two x"
        with Session(files={name + ".py": text for name, text in files.items()}) as s:
            before = s.run("import os, sys\nsorted(sys.modules)").text
            for text, wanted in {
                "import coll": "collections", "x = 1\nimport mine": "mine mine_too", "from os.pa": "path",
                "from collections import Ord": "OrderedDict", "if x: import os, arr": "array", "from mine import ": of_mine,
                "from mine import (\n  left,\n  st": "starred", "from mine.one import s": "starred sys",
                "from mine.tw": "two", "from mine.two import ": "", "import mine.d": "deep", "from math import sq": "sqrt",
                "from json.dec": "decoder", "from json import JSOND": "JSONDecodeError JSONDecoder",
                "from .": "", "from IPyth": "IPython", "import empt": "", "from retort.to": "tools",
                "print('import coll": "", "important = coll": "", "import a " * 900 + "zzq": "", "from a " * 900 + "zzq": "",
            }.items():
                self.assertEqual(self.names(s, text), wanted.split(), text)
            after = s.run("sorted(sys.modules)").text
            new = {name.partition(".")[0] for name in set(eval(after)) - set(eval(before))}
            self.assertEqual(new & {"mine", "mine_too", "json", "os.path", "array", "IPython", "retort"}, set())
            self.value(s, "os.path.exists('ran')", "False")

    def test_dir_that_hangs_can_be_interrupted(self):
        with Session() as s:
            self.ok(s.run("class H:\n def __dir__(self):\n  while True: pass\nh = H()"))
            s.send(NAMES, b'{"id": "q", "text": "h."}')
            time.sleep(0.3)
            os.kill(s.pid, signal.SIGINT)
            self.assertEqual(s.frame(5)[1], {"id": "q", "names": []})


class Branches(Case):
    """What can be seen of a branch without a box."""

    def branch(self, session, n_fds):
        frame = struct.pack(">IB", 11, BRANCH) + b'{"id":"b"}'
        fds = array.array("i", [0] * n_fds)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if n_fds else []
        session.channel.sendmsg([frame], rights)
        kind, message = session.frame(10)
        self.assertEqual((kind, message["id"]), (BRANCHED, "b"))
        return message["error"]

    def test_threads(self):
        with Session() as s:
            self.ok(s.run("""
                import threading
                t = threading.Thread(target=threading.Event().wait, daemon=True, name="waiter")
                t.start()"""))
            self.assertIn("waiter", self.branch(s, 7))
            self.assertEqual(s.process.wait(60), 0)

    def test_wrong_descriptors(self):
        with Session() as s:
            self.ok(s.run("import os; n = len(os.listdir('/proc/self/fd'))"))
            for n in (0, 3, 30):
                self.assertIn("descriptors", self.branch(s, n))
            self.value(s, "len(os.listdir('/proc/self/fd')) - n", "0")

    def test_got_ready_for_nothing(self):
        """Its generators go on, though what os.register_at_fork() was given has seeded them."""
        begin, draw = "import random; random.seed(3); random.gauss(0, 1)", "[random.gauss(0, 1), random.random()]"
        if importlib.util.find_spec("numpy"):
            begin += "; import numpy.random as more; more.seed(3); more.normal()"
            draw += " + [more.normal(), more.random()]"
        with Session() as plain, Session() as s:
            self.ok(s.run("import os; hooks = []; os.register_at_fork(after_in_child=lambda: hooks.append(1))"))
            for each in (plain, s):
                self.ok(each.run(begin))
            for times in range(1, 4):
                s.send(STEM, b"")
                self.assertEqual(self.ok(s.run(draw)).text, self.ok(plain.run(draw)).text)
                self.value(s, "len(hooks)", str(times))


if __name__ == "__main__":
    test_driver.DRIVER_DIR = os.path.abspath(sys.argv.pop(1))
    unittest.main()
