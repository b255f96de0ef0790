# SPDX-License-Identifier: Apache-2.0
"""Programs that clients start in a box, and that are hostile: they outlive, flood, multiply, reach for terminals; and an
init that lies about them."""

import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402
import rpc  # noqa: E402
import service  # noqa: E402
import test_sessions  # noqa: E402

PY = "/usr/bin/python3"
MIB = 1 << 20

# Plays init and the driver of a branch, both, and answers each request as the test says: on(op, number, descriptors).
SERVE = r"""
import select
SPAWN, SIGNAL, LIST, FAILED, EXITED, STARTED, LISTED = 1, 2, 9, 2, 3, 8, 9
PROCESS = struct.Struct('=iiiIQQQQ512s')
def exact(n):
    got = b''
    while len(got) < n:
        more = new.recv(n - len(got))
        if not more: os._exit(0)
        got += more
    return got
def answer_one():
    size, kind = struct.unpack('>IB', exact(5))
    said = json.loads(exact(size - 1) or b'{}')
    for kind_, more in ((BEGIN, {}), (RESULT, {'status': 'ok', 'exit_code': 0})) if kind == 1 else ((DONE, {}),):
        text = json.dumps({'id': said.get('id', '0'), **more}).encode()
        new.sendall(struct.pack('>IB', len(text) + 1, kind_) + text)
def play():
    as_driver(b'{"pid": 2}')
    while True:
        for one in select.select([new, init], [], [])[0]:
            if one is new:
                answer_one()
                continue
            data, fds, _, _ = socket.recv_fds(init, 1 << 17, 16)
            if not data: os._exit(0)
            _, op, number = struct.unpack_from('=IIQ', data)
            on(op, number, fds)
            for fd in fds:
                try: os.close(fd)
                except OSError: pass
"""


class Case(programs.Case):
    def setUp(self):
        super().setUp()
        self.other = self.client.call("session.create")["session"]
        self.addCleanup(self.close_session, self.other)
        self.client.call("step.run", session=self.other, code="y = 77")
        self.nap = self.client.call("process.start", session=self.other, argv=["cat"], input=True, name="cat")["process"]

    def others_work(self, message="x"):
        """Another session's steps, processes and terminals are as before."""
        call = self.client.call
        self.assertEqual(call("step.run", session=self.other, code="y")["value"]["text/plain"], "77")
        before = call("process.get", session=self.other, process="cat")["stdout_bytes"]
        call("process.write", session=self.other, process="cat", data=message)
        self.until(lambda: call("process.get", session=self.other, process="cat")["stdout_bytes"] == before + len(message))
        process = call("terminal.open", session=self.other, argv=["sh", "-c", "echo fine"])["process"]
        self.assertEqual(call("process.wait", session=self.other, process=process)["exit_code"], 0)
        self.assertIsNone(self.engine.process.poll(), self.engine.said())

    def host_pids(self):
        return set(self.in_box().values())

    def all_end(self, pids):
        self.until(lambda: not {p for p in pids if harness.processes().get(p, (0, "", "Z"))[2] != "Z"})


class Terminals(Case):
    def in_terminal(self, code):
        """What a program says that runs in a terminal which the engine opened."""
        process = self.call("terminal.open", argv=[PY, "-c", "import fcntl, os, struct, termios\n" + code])["process"]
        about = self.wait(process)
        return about, self.output(process)[0].decode("utf-8", "replace").replace("\r\n", "\n")

    def test_T_TTY_types_into_the_terminal_that_a_client_opened(self):
        """TIOCSTI, TIOCLINUX, TIOCCONS and TIOCSETD at the controlling terminal, and at one opened by its path."""
        _, out = self.in_terminal(
            "for name in '/dev/tty', os.ttyname(0):\n"
            "    fd = os.open(name, os.O_RDWR)\n"
            "    for number, arg in ((0x5412, b'x'), (0x541C, b'\\3'), (0x541D, b''), (0x5423, struct.pack('i', 13))):\n"
            "        try: fcntl.ioctl(fd, number, arg); print('done')\n"
            "        except OSError as e: print(e.errno)\n")
        self.assertEqual(out.split(), ["1"] * 8)

    def test_T_TTY_takes_the_terminal_of_another_program(self):
        """A program without a terminal of its own makes a client's terminal its controlling one, by force."""
        t = self.terminal("sh", "-c", "tty; read x; echo still $x")
        t.expect("/dev/pts/0")
        about, out = self.done(PY, "-c", "import fcntl, os\nfd = os.open('/dev/pts/0', os.O_RDWR | os.O_NOCTTY)\n"
                                         "try: fcntl.ioctl(fd, 0x540E, 1); print('done')\nexcept OSError as e: print(e.errno)")
        self.assertEqual((about["exit_code"], out), (0, b"1\n"))
        t.type("mine\n")
        t.expect("still mine")

    def test_T_TTY_stops_its_terminal(self):
        """It stops all output, takes exclusive use, turns all settings over, and leaves: no client waits for it."""
        _, out = self.in_terminal("fcntl.ioctl(0, termios.TIOCEXCL)\ntermios.tcflow(0, termios.TCOOFF)\nos._exit(0)")
        t = self.terminal(PY, "-c", "import termios, time, tty\ntty.setraw(0)\nprint('ready', flush=True)\n"
                                    "termios.tcflow(0, termios.TCIOFF); termios.tcflow(1, termios.TCOOFF)\ntime.sleep(1000)")
        t.expect("ready")
        number = self.client.send("process.write", session=self.s, process=t.process, data="x" * MIB)
        t.resize(5, 5)
        self.others_work()
        t.call("process.signal", signal="KILL")
        self.assertEqual(t.end()["signal"], 9)
        try:
            self.client.receive(number)
        except service.Refused as error:
            self.assertEqual(error.code, "gone")

    def test_T_PROGRAM_OUTLIVE_keeps_its_terminal(self):
        """A child keeps the terminal of an ended program open, writes into it, and waits for the next client's keys."""
        script = "import os, signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nif os.fork(): time.sleep(0.1); os._exit(0)\n" \
            "os.setsid(); signal.signal(signal.SIGTTIN, signal.SIG_IGN)\n" \
            "heard = open('heard', 'wb', 0)\n" \
            "while True:\n    try: os.write(1, b'SPAM' * 1000)\n    except OSError: pass\n" \
            "    os.set_blocking(0, False)\n    try: heard.write(os.read(0, 100) or b'')\n    except OSError: pass\n" \
            "    time.sleep(0.001)"
        begin = self.engine_kib()
        t = self.terminal(PY, "-c", script)
        self.until(lambda: self.call("process.get", process=t.process)["state"] == "exited")
        new = self.terminal("sh", "-c", "tty; read x; echo got $x; read y")
        new.expect(r"/dev/pts/\d+\r\n")
        new.type("secret\n")
        new.expect("got secret")
        for _ in range(20):
            self.others_work()
        self.assertNotIn(b"SPAM", new.out["stdout"])
        self.assertNotIn("secret", self.call("file.read", path="heard")["content"])
        if not harness.IS_SANITIZED:
            self.assertLess(self.engine_kib() - begin, 32 << 10)
        pids = self.host_pids()
        self.call("session.close")
        self.all_end(pids)


class Hops(Case):
    """A process that forks and exits all the time has no pid that could be signalled in time."""

    # Where it finds that no more processes are to be had, it leaves a file.
    HOPPER = ("#include <fcntl.h>\n#include <signal.h>\n#include <unistd.h>\n"
              "int main(void) { signal(SIGCHLD, SIG_IGN); if (fork()) return 0; setsid();"
              " for (;;) { pid_t pid = fork(); if (pid > 0) _exit(0); if (pid < 0) close(creat(\"full\", 0600)); } }\n")

    def setUp(self):
        super().setUp()
        self.name = f"hop{os.getpid()}"  # the same test may run as another user
        self.step(f"open('hop.c', 'w').write({self.HOPPER!r})\nimport subprocess\n"
                      f"subprocess.run(['gcc', '-O2', '-static', '-o', '{self.name}', 'hop.c'], check=True)",
                      timeout_ms=120000)

    def step(self, code, **params):
        self.assertEqual(self.call("step.run", code=code, **params)["status"], "ok")

    @staticmethod
    def hops():
        """Whether there is such a process. No look at /proc is quick enough to see it, but it takes a thousand pids
        in a tenth of a second, while nothing else runs here."""
        def newest():
            with open("/proc/loadavg", encoding="ascii") as f:
                return int(f.read().split()[-1])

        with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
            n_pids = int(f.read())
        for _ in range(3):
            before = newest()
            time.sleep(0.1)
            if (newest() - before) % n_pids > 100:
                return True
        return False

    def test_T_BRANCH_OUTLIVE_hops_from_pid_to_pid(self):
        """A branch is refused, and with `force` it is ended: it does not stay above the branch."""
        self.step(f"subprocess.run(['./{self.name}'])")
        for _ in range(3):
            self.fails("busy", "of its own", "session.branch", session=self.s)
        branch = self.call("session.branch", session=self.s, force=True)["session"]
        self.assertFalse(self.hops())
        self.assertEqual(self.call("step.run", session=branch, code="1 + 1")["status"], "ok")

    def test_branches_that_are_refused_use_up_no_pids(self):
        """Init reaps also while it counts the processes. Nothing that ran is ended."""
        self.step(f"subprocess.run(['./{self.name}'])")
        for _ in range(12):
            self.fails("busy", "of its own", "session.branch", session=self.s)
        record = self.call("step.run", session=self.s, code="import os; print(os.path.exists('full'))")
        self.assertEqual((record["stdout"], record.get("notice")), ("False\n", None))
        self.assertTrue(self.hops())

    def test_T_PROGRAM_OUTLIVE_hops_from_pid_to_pid(self):
        """The limit of time of the program that has left it running ends it."""
        about = self.wait(self.start("sh", "-c", f"./{self.name}; exec sleep 1000", timeout_ms=500))
        self.assertTrue(about["timed_out"])
        self.until(lambda: not self.hops())


class Outlive(Case):
    STUBBORN = "import os, signal, time\nfor n in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)\n" \
        "for _ in range(3):\n    if os.fork(): os._exit(0)\n    os.setsid()\n" \
        "open(f'/tmp/here{os.getpid()}', 'w')\nwhile True: time.sleep(1000)"

    def begin(self, n=5):
        for i in range(n):
            self.wait(self.start(PY, "-c", self.STUBBORN, terminal=i % 2 == 1))
        self.until(lambda: int(self.out_of("sh", "-c", "ls /tmp | grep -c ^here || true")) == n)
        pids = self.host_pids()
        self.assertGreaterEqual(len(pids), n)
        return pids

    def test_T_PROGRAM_OUTLIVE_the_session(self):
        """Daemons in sessions of their own, deaf to signals, when the session is closed."""
        pids = self.begin()
        self.call("session.close")
        self.all_end(pids)
        self.others_work()

    def test_T_PROGRAM_OUTLIVE_the_engine(self):
        """Daemons in sessions of their own, deaf to signals, when the engine is killed."""
        engine = service.Engine()
        self.addCleanup(engine.stop)
        c = engine.client
        s = c.call("session.create")["session"]
        for i in range(4):
            process = c.call("process.start", session=s, argv=[PY, "-c", self.STUBBORN], terminal=i % 2 == 1)["process"]
            c.call("process.wait", session=s, process=process)
        self.until(lambda: sum("time.sleep" in p.get("command", "") for p in
                               c.call("process.list", session=s)["processes"]) == 4)
        pids = set(rpc.descendants(engine.process.pid))
        engine.process.send_signal(signal.SIGKILL)
        engine.process.wait()
        self.all_end(pids)

    def test_T_PROGRAM_OUTLIVE_the_box(self):
        """Daemons in sessions of their own, deaf to signals, when the box's first process is killed."""
        pids = self.begin()
        for init in rpc.inits_of(self.engine.process.pid, self.s):
            os.kill(init, signal.SIGKILL)
        self.all_end(pids)
        self.others_work()

    def test_T_PROGRAM_OUTLIVE_stops_the_group_that_is_signalled(self):
        """It moves its group about, so that a signal of the client's hits others: only the box's own can be hit."""
        script = "import os, time\nfor i in range(50):\n    if os.fork() == 0:\n        os.setpgid(0, 0)\n        time.sleep(1000)\n" \
            "print('ready', flush=True)\ntime.sleep(1000)"
        process = self.start(PY, "-c", script)
        self.attach(process).expect("ready")
        self.call("process.signal", process=process, signal="KILL")
        self.assertEqual(self.wait(process)["signal"], 9)
        self.others_work()


class Floods(Case):
    def test_T_PROGRAM_FLOOD_output(self):
        """Sixty programs and terminals write without end, half of them followed by clients that do not read."""
        begin = self.engine_kib()
        self.s = self.new_session(limits={"pids": 256})
        for i in range(60):
            process = self.start("sh", "-c", "exec yes $(head -c 2000 /dev/zero | tr '\\0' x)", terminal=i % 6 == 0)
            if i % 2:
                self.attach(process, raw=i % 4 == 1)
        for i in range(20):
            self.others_work(str(i))
        total = sum(p.get("stdout_bytes", 0) for p in self.list())
        self.until(lambda: sum(p.get("stdout_bytes", 0) for p in self.list()) > total + 100 * MIB)
        # What is kept has a bound, and so have the answers that wait for the clients.
        if not harness.IS_SANITIZED:
            self.assertLess(self.engine_kib() - begin, 256 << 10)
        pids = self.host_pids()
        self.call("session.close")
        self.all_end(pids)
        self.others_work()

    def test_T_PROGRAM_FLOOD_of_tiny_writes(self):
        """A program writes byte after byte: each is an event, and none keeps others waiting."""
        process = self.start(PY, "-c", "import os\nwhile True: os.write(1, b'x')")
        for raw in (False, True):
            attached = self.attach(process, raw=raw)
            for i in range(20):
                self.others_work(str(i))
                attached.more()
            attached.close()
        self.assertEqual(self.call("process.get", process=process)["state"], "running")

    def test_T_PROGRAM_FORGE_messages(self):
        """Output that reads like answers and events, cut anywhere: a client takes it as output, and each call has the
        engine's answer."""
        forged = ''.join(json.dumps({"jsonrpc": "2.0", **part}, separators=(",", ":")) + "\n" for part in (
            *({"id": i, "result": {"state": "exited", "exit_code": 7}} for i in range(1, 9)),
            {"id": None, "error": {"code": -32603, "message": "forged", "data": {"code": "internal"}}},
            {"method": "event", "params": {"id": 2, "event": "output", "stream": "stderr", "offset": 0, "encoding": "raw",
                                           "bytes": 1 << 40}}))
        write = "import os, sys\nb = sys.argv[1].encode() * 200\nat = 0\nwhile at < len(b):\n" \
            "    at += os.write(1, b[at:at + 1 + at % 4099])\nsys.exit(4)"
        process = self.start(PY, "-c", write, forged, hold=True)
        attached = self.attach(process, raw=True)
        while not attached.is_over:
            attached.more()
            self.assertEqual(attached.client.call("engine.info").keys(), self.client.call("engine.info").keys())
        self.assertEqual((attached.end()["exit_code"], attached.out["stdout"].decode()), (4, forged * 200))
        done = harness.retort("exec", self.s, "--", PY, "-c", write, forged, env={"RETORT_SOCKET": self.engine.path})
        self.assertEqual((done.status, done.out, done.err), (4, forged * 200, ""))

    def test_T_PROGRAM_FLOOD_of_lists(self):
        """As many processes as the box may have, with long names, and clients that ask for lists of them."""
        fill = "import os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(1000)\n        n += 1\n" \
            "except OSError: print('full', flush=True)\ntime.sleep(1000)"
        self.attach(self.start(PY, "-c", fill, *["\x1b\u2028'\"" * 100] * 20)).expect("full")
        asked = [self.client.send("process.list", session=self.s) for _ in range(50)]
        self.others_work()
        for number in asked:
            self.assertGreater(len(self.client.receive(number)["processes"]), 20)

    def test_T_PROGRAM_BOMB_forks(self):
        """Each process that is started forks without end: the box's limit holds, and the session can be closed."""
        bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
        started = 0
        for i in range(20):
            try:
                self.start(PY, "-c", bomb, terminal=i % 3 == 0)
                started += 1
            except service.Refused as error:
                self.assertIn(error.code, ("limit", "box", "io"), str(error))
        self.assertGreater(started, 0)
        for i in range(5):
            self.others_work(str(i))
        pids = self.host_pids()
        # Without a cgroup there may be SPAWN_ROOM more for a moment (sandbox/wire.h).
        self.assertLess(len(pids), 128 + 128 + 30)
        self.call("session.close")
        self.all_end(pids)
        self.until(lambda: not self.in_box())
        self.others_work()

    def test_T_PROGRAM_BOMB_of_starts(self):
        """A client starts as fast as it can, what ends at once and what does not, and reads no answer."""
        flood = programs.Client(self.engine.path)
        numbers = [flood.send("process.start", session=self.s, argv=["true"] if i % 3 else ["sleep", "1000"],
                              terminal=i % 5 == 0) for i in range(600)]
        self.others_work()
        codes = set()
        for number in numbers:
            try:
                flood.receive(number)
            except service.Refused as error:
                codes.add(error.code)
        flood.close()
        self.assertLessEqual(codes, {"limit", "box", "io", "quota", "busy", "runtime"})
        self.assertLessEqual(sum(p["state"] == "running" and "process" in p for p in self.list()), 100)
        self.others_work()


class Inits(Case):
    """The first process of a branch is copied from a driver, so it may be anything: what it says of programs is checked."""

    def with_init(self, on):
        """A branch whose init answers with @on. Each operation has an end. Returns: what was said of process.list."""
        session = self.client.call("session.create")["session"]
        self.addCleanup(self.close_session, session)
        done = self.client.call("step.run", session=session,
                                code=test_sessions.CHANNEL + test_sessions.INIT + SERVE + on)
        self.assertEqual(done["status"], "ok", done)
        branch = self.client.call("session.branch", session=session)["session"]
        client = programs.Client(self.engine.path)
        self.addCleanup(client.close)
        asked = []
        for method, params in (("process.start", {"argv": ["cat"], "input": True, "name": "cat"}),
                               ("process.list", {}), ("terminal.open", {}), ("process.list", {}),
                               ("process.signal", {"process": "cat"}), ("process.get", {"process": "cat"}),
                               ("process.write", {"process": "cat", "data": "x" * 100000}),
                               ("process.attach", {"process": "cat", "stream": True}), ("process.list", {}),
                               ("process.wait", {"process": "cat"})):
            asked.append(client.send(method, session=branch, **params))
        lists = self.listed(branch)
        self.others_work()
        self.close_session(branch)
        for number in asked:
            try:
                client.receive(number)
            except service.Refused as error:
                self.assertTrue(str(error))
        self.others_work()
        return lists

    def listed(self, branch):
        """Some lists, or none when init gives none: another connection asks, and gives up with the session."""
        client = programs.Client(self.engine.path)
        client.sock.settimeout(2)
        self.addCleanup(client.close)
        found = []
        try:
            for _ in range(3):
                found.append(client.call("process.list", session=branch)["processes"])
        except (service.Refused, TimeoutError):
            pass
        return found

    def test_T_PROGRAM_INIT_lists_what_is_not(self):
        """Numbers of every size, names that are no text and have no end, more entries than there are, or fewer."""
        for count, said in ((1024, "1024"), (9, "9"), (3, "1 << 30"), (3, "-1"), (3, "-(1 << 31)"), (0, "1000"), (5000, "5000")):
            with self.subTest(count=count, said=said):
                on = "def on(op, number, fds):\n" \
                    "    if op == SPAWN: event(STARTED, number, 7)\n" \
                    "    if op != LIST: return\n" \
                    f"    for i in range({count}):\n" \
                    "        n = (0, 7, -1, 2**31 - 1, -2**31, 1, 2)[i % 7]\n" \
                    "        u = (0, 2**64 - 1, 2**63, 2**32)[i % 4]\n" \
                    "        os.write(fds[0], PROCESS.pack(n, n, (7, n)[i % 2], i % 9, u, u, u, u, b'\\xff\\x1b\\n\"' * 128))\n" \
                    f"    event(LISTED, number, {said})\n"
                lists = self.with_init(on)
                if said == "9":  # else the attempt would prove nothing
                    self.assertIn(2**31 - 1, [row["pid"] for rows in lists for row in rows])
                for rows in lists:
                    self.assertLessEqual(len(rows), 1024 + 100)
                    for row in rows:
                        for value in row.values():
                            if isinstance(value, int):
                                self.assertLess(abs(value), 1 << 60, row)

    def test_T_PROGRAM_INIT_makes_the_list_huge(self):
        """The file of the list is made of terabytes, is cut, is not written at all; the answer comes twice, or unasked."""
        for deed in ("os.ftruncate(fds[0], 1 << 42); event(LISTED, number, 2**31 - 1)",
                     "os.ftruncate(fds[0], 0); event(LISTED, number, 1024)",
                     "event(LISTED, number, 1); event(LISTED, number, 1); event(LISTED, number, 1)",
                     "event(LISTED, number + 1, 1)", "pass"):
            with self.subTest(deed=deed):
                begin = self.engine_kib()
                self.with_init(f"def on(op, number, fds):\n    if op == LIST: {deed}\n"
                               "    elif op == SPAWN: event(LISTED, number, 5); event(STARTED, number, 7)")
                if not harness.IS_SANITIZED:
                    self.assertLess(self.engine_kib() - begin, 64 << 10)

    def test_T_PROGRAM_INIT_lies_about_a_start(self):
        """A program starts twice, with a strange number, after it has ended, or never; ends with a strange status."""
        for deed in ("pass", "event(STARTED, number, 0)", "event(STARTED, number, -5)", "event(STARTED, number, 2**31 - 1)",
                     "event(STARTED, number, 7); event(STARTED, number, 8)",
                     "event(EXITED, number, 0); event(STARTED, number, 7)",
                     "event(STARTED, number, 7); event(EXITED, number, 0x7f); event(EXITED, number, 0)",
                     "event(STARTED, number, 7); event(EXITED, number, -1)",
                     "event(STARTED, number, 7); event(EXITED, number, 2**31 - 1); event(FAILED, number)",
                     "event(FAILED, number); event(STARTED, number, 7)", "event(STARTED, number + 1, 7)",
                     "[event(STARTED, n, 7) for n in range(200)]", "os._exit(0)"):
            with self.subTest(deed=deed):
                lists = self.with_init(f"def on(op, number, fds):\n    if op == SPAWN: {deed}\n"
                                       "    if op == LIST: event(LISTED, number, 0)")
                for rows in lists:
                    self.assertEqual([row["pid"] for row in rows if row["pid"] < 0], [])

    def test_T_PROGRAM_INIT_fails_with_nonsense(self):
        """The error of a start has a text without an end, and a code that does not exist."""
        self.with_init("def on(op, number, fds):\n    if op == LIST: event(LISTED, number, 0)\n    if op == SPAWN:\n"
                       "        data = struct.pack('=IIQiI', VERSION, FAILED, number, 0, 0)\n"
                       "        init.send(data + b'\\xff\\x1b' * ((EVENT_BYTES - len(data)) // 2))")

    def test_T_PROGRAM_INIT_keeps_the_streams(self):
        """It keeps what it was given for a program, writes there for ever, and reads the input."""
        self.with_init("keep = []\ndef on(op, number, fds):\n    if op == LIST: event(LISTED, number, 0)\n    if op == SPAWN:\n"
                       "        event(STARTED, number, 7)\n        mine = [os.dup(fd) for fd in fds]\n        keep.extend(mine)\n"
                       "        for fd in mine[1:]:\n            os.set_blocking(fd, False)\n            for _ in range(200):\n"
                       "                try: os.write(fd, b'x' * 65536)\n                except OSError: pass\n"
                       "        event(EXITED, number, 0)")


if __name__ == "__main__":
    harness.main()
