# SPDX-License-Identifier: Apache-2.0
"""What becomes of programs that clients have started, and of those that steps leave running, whatever else happens
to their session."""

import contextlib
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402
import rpc  # noqa: E402
import service  # noqa: E402

PY = "/usr/bin/python3"
LEAVE = "import subprocess\n{} = subprocess.Popen(['sleep', '{}'])\n"


class Case(programs.Case):
    def run_step(self, code, **params):
        return self.call("step.run", code=code, **params)

    def value(self, code, **params):
        record = self.run_step(code, **params)
        self.assertEqual(record["status"], "ok", record)
        return record["value"]["text/plain"]

    def fails_and_is_rolled_back(self, code="import os\nos._exit(1)", status="error", **params):
        record = self.run_step(code, **params)
        self.assertEqual((record["status"], record["state"]["outcome"]), (status, "rolled_back"), record)
        return record

    def counter(self, **params):
        """A program that answers each line with how many it has had: nothing of it was put back."""
        script = "import sys\nn, keep = 0, open('/tmp/kept', 'w')\n" \
            "for line in sys.stdin:\n    n += 1\n    keep.write('x')\n    print(n, line.strip(), flush=True)"
        process = self.start(PY, "-c", script, input=True, **params)
        self.n_asked = 0
        self.lively = self.attach(process)
        self.answers(process)
        return process

    def answers(self, process):
        """It still answers, and remembers."""
        self.n_asked += 1
        self.call("process.write", process=process, data=f"hello{self.n_asked}\n")
        self.lively.expect(f"{self.n_asked} hello{self.n_asked}\n")

    def naps(self):
        """The `sleep` programs in the box."""
        return sorted(p["command"].split()[1] for p in self.list() if p.get("command", "").startswith("sleep"))


class Steps(Case):
    def setUp(self):
        super().setUp()
        self.run_step("x = 0")

    def test_all_operations_while_a_step_runs(self):
        self.call("file.write", path="wait.py", content="import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n")
        step = programs.Client(self.engine.path)
        self.addCleanup(step.close)
        number = step.send("step.run", session=self.s, code="x = 41\nexec(open('wait.py').read())\nx + 1")
        self.until(lambda: self.call("session.get")["state"] == "working")
        process = self.counter(name="counter")
        self.assertEqual(self.list()[0]["name"], "counter")
        self.assertEqual(self.out_of("echo", "hi"), "hi\n")
        opened = self.terminal("sh")
        opened.type("echo $((6 * 7))\n")
        opened.expect(r"\b42\r\n")
        opened.resize(10, 20)
        self.call("process.signal", process=opened.process, signal="KILL")
        self.assertEqual(opened.end()["signal"], 9)
        self.assertNotIn(number, step.answers)
        self.done("touch", "go")
        self.assertEqual(step.receive(number)["value"]["text/plain"], "42")
        self.answers(process)

    def test_a_step_that_is_interrupted_or_late(self):
        process = self.counter()
        other = programs.Client(self.engine.path)
        self.addCleanup(other.close)
        number = other.send("step.run", session=self.s, code="import time\ntime.sleep(1000)")
        self.until(lambda: self.call("session.get")["state"] == "working")
        self.call("step.interrupt")
        self.assertNotEqual(other.receive(number)["status"], "ok")
        self.answers(process)
        self.assertEqual(self.run_step("import time\ntime.sleep(1000)", timeout_ms=200)["status"], "timeout")
        self.answers(process)

    def test_a_step_that_is_rolled_back(self):
        """What a client started goes on, with its memory and open files. What the step started ends."""
        self.run_step("x = 1\n" + LEAVE.format("early", 1001))
        process = self.counter()
        early = self.start(command="sleep 1002 & exec sleep 1003")
        self.until(lambda: self.naps() == ["1001", "1002"])
        for status, code in (("error", "x = 2\nimport os\n" + LEAVE.format("late", 1004) + "os._exit(1)"),
                             ("killed", "x = 3\n" + LEAVE.format("late", 1005) + "import ctypes\nctypes.string_at(0)")):
            self.fails_and_is_rolled_back(code, status)
            self.answers(process)
            self.until(lambda: self.naps() == ["1001", "1002"])
        self.assertEqual(self.value("x"), "1")
        self.answers(process)
        self.assertEqual(self.call("process.get", process=early)["state"], "running")
        self.until(lambda: self.naps() == ["1001", "1002"])

    def test_what_was_started_while_the_step_ran(self):
        """A client's program that began within the step that fails is not the step's."""
        step = programs.Client(self.engine.path)
        self.addCleanup(step.close)
        number = step.send("step.run", session=self.s, code="import os\n" + LEAVE.format("late", 1001) + "input()\nos._exit(1)",
                           stdin_open=True, stream=True)
        run = self.until(lambda: self.n_next(step, number))
        process = self.counter()
        self.until(lambda: self.naps() == ["1001"])
        self.client.call("step.input", run=run, text="\n")
        self.assertEqual(step.receive(number)["state"]["outcome"], "rolled_back")
        self.answers(process)
        self.until(lambda: not self.naps())

    @staticmethod
    def n_next(step, number):
        step.next()
        return next((e["run"] for e in step.events.get(number, []) if e.get("event") == "stdin" and "run" in e), None)

    def test_undo(self):
        """What a client started goes on. What a step started ends if it began after the state that is returned to."""
        self.run_step("x = 1\n" + LEAVE.format("one", 1001))
        process = self.counter()
        self.run_step("x = 2\n" + LEAVE.format("two", 1002))
        self.run_step("x = 3\n" + LEAVE.format("three", 1003))
        self.until(lambda: self.naps() == ["1001", "1002", "1003"])
        self.call("session.undo", count=1)
        self.answers(process)
        self.until(lambda: self.naps() == ["1001", "1002"])
        self.call("session.undo", count=1)
        self.answers(process)
        self.until(lambda: self.naps() == ["1001"])
        self.assertEqual(self.value("x"), "1")
        self.answers(process)

    def test_files_that_a_process_wrote_before_the_step_stay(self):
        self.run_step("x = 1")
        process = self.start(command="while read line; do echo $line >>log.txt; echo done; done", input=True)
        attached = self.attach(process)
        for i in range(3):
            self.call("process.write", process=process, data=f"line{i}\n")
            attached.expect("done")
            self.fails_and_is_rolled_back("open('log.txt', 'a').write('step')\nimport os\nos._exit(1)")
            content = self.call("file.read", path="log.txt")["content"]
            self.assertEqual(content, "".join(f"line{k}\n" for k in range(i + 1)))

    def test_a_step_may_end_it(self):
        """The code of a step and a client's program are in one box."""
        about = self.call("process.start", argv=["sleep", "1000"])
        self.run_step(f"import os, signal\nos.kill({about['pid']}, signal.SIGTERM)")
        self.assertEqual(self.wait(about["process"])["signal"], 15)

    def test_steps_of_other_languages(self):
        process = self.counter()
        self.run_step("y=1; sleep 1001 &", runtime="shell")
        self.run_step("let z = 1", runtime="javascript")
        self.run_step("kill -9 $$", runtime="shell")
        self.answers(process)

    def test_many_failures(self):
        process = self.counter()
        for i in range(harness.sample(20, 200)):
            self.fails_and_is_rolled_back()
            self.answers(process)


class Limits(Case):
    """Limits between two steps concern what steps have left running."""

    def test_cpu_time_of_what_a_step_left(self):
        s = self.new_session(limits={"cpu_ms": 1000})
        spin = "import subprocess, sys\nhog = subprocess.Popen([sys.executable, '-c', 'while True: pass'])"
        self.call("step.run", session=s, code=spin)
        self.until(lambda: not self.call("process.list", session=s)["processes"])

    def test_cpu_time_of_what_a_step_left_beside_a_client(self):
        """A client's program does not shield it, and is not ended with it."""
        s = self.new_session(limits={"cpu_ms": 1000})
        nap = self.call("process.start", session=s, argv=["sleep", "1000"])["process"]
        spin = "import subprocess, sys\nhog = subprocess.Popen([sys.executable, '-c', 'while True: pass'])"
        self.call("step.run", session=s, code=spin)
        self.until(lambda: len(self.call("process.list", session=s)["processes"]) == 1)
        self.assertEqual(self.call("process.get", session=s, process=nap)["state"], "running")

    def test_cpu_time_of_a_clients_program_is_its_own(self):
        s = self.new_session(limits={"cpu_ms": 500})
        spin = "import time\nwhile time.process_time() < 3: pass\nprint('done')"
        process = self.call("process.start", session=s, argv=[PY, "-c", spin])["process"]
        self.call("step.run", session=s, code="x = 1")
        about = self.wait(process, session=s)
        self.assertEqual(about.get("exit_code"), 0, about)
        self.assertEqual(self.call("step.run", session=s, code="x")["value"]["text/plain"], "1")


class Sessions(Case):
    def test_first_thing_in_a_session(self):
        for params in ({}, {"fresh": True}):
            s = self.new_session(**params)
            about = self.call("process.start", session=s, argv=["echo", "hi"])
            self.assertEqual(self.wait(about["process"], session=s)["exit_code"], 0)

    def test_close_ends_all(self):
        process = self.start(command="trap '' TERM HUP; setsid sleep 1001 & sleep 1002")
        self.run_step(LEAVE.format("p", 1003))
        self.until(lambda: len(self.naps()) == 3)
        here = list(self.in_box().values())
        attached = self.attach(process)
        attached.client.call("engine.info")
        self.call("session.close")
        self.assertEqual(attached.end()["ended"], "close")
        self.until(lambda: not set(here) & set(harness.processes()))
        self.fails("gone", "closed", "process.get", process=process)

    def test_close_while_programs_start(self):
        """Whatever it is that is asked, all is answered, and nothing is left."""
        for n in range(harness.sample(10, 100)):
            session = self.client.call("session.create")["session"]
            self.client.call("step.run", session=session, code="1")
            asked = [self.client.send("process.start", session=session, argv=["sleep", "1000"]) for _ in range(n)]
            asked += [self.client.send("terminal.open", session=session) for _ in range(n % 4)]
            asked.append(self.client.send("process.list", session=session))
            self.client.send("session.close", session=session)
            for number in asked:
                try:
                    self.client.receive(number)
                except service.Refused as error:
                    self.assertIn(error.code, ("gone", "not_found"), str(error))
            self.until(lambda: not self.in_box(session))

    def test_idle_time(self):
        """A program counts as use of its session if its client said so."""
        used = self.new_session(idle_ms=400)
        unused = self.new_session(idle_ms=400)
        kept = self.call("process.start", session=used, argv=["sleep", "1000"], keep_alive=True)["process"]
        lost = self.call("process.start", session=unused, argv=["sleep", "1000"])["process"]
        here = self.in_box(unused)
        self.assertTrue(here)
        attached = self.attach(lost, session=unused)
        self.assertEqual(attached.end()["ended"], "close")
        self.until(lambda: not set(here.values()) & set(harness.processes()))
        # Meanwhile a session that began later has ended, too.
        later = self.new_session(idle_ms=400)
        self.until(lambda: not self.is_open(later))
        self.assertTrue(self.is_open(used))
        # It ends when the program does, its idle time later.
        watcher = programs.Client(self.engine.path)
        self.addCleanup(watcher.close)
        watcher.call("process.signal", session=used, process=kept, signal="KILL")
        self.until(lambda: not self.is_open(used))

    def is_open(self, session):
        return any(one["session"] == session for one in self.client.call("session.list")["sessions"])

    def test_a_box_that_ends(self):
        """The programs end with it, and the session goes on in another."""
        self.run_step("x = 47")
        process = self.counter()
        for init in rpc.inits_of(self.engine.process.pid, self.s):
            os.kill(init, signal.SIGKILL)
        about = self.lively.end()
        self.assertEqual((about["state"], about["ended"]), ("exited", "box"))
        self.assertNotIn("exit_code", about)
        self.assertEqual(self.output(process)[0], b"1 hello1\n")
        self.fails("gone", "has ended", "process.write", process=process, data="x")
        self.assertEqual(self.out_of("echo", "again"), "again\n")

    def test_in_a_branch(self):
        """Each has its own programs, although the names are the same."""
        self.run_step("x = 1")
        branch = self.call("session.branch")["session"]
        self.addCleanup(self.close_session, branch)
        mine = self.call("process.start", argv=["sleep", "1000"], name="nap")["process"]
        other = self.call("process.start", session=branch, command="pwd; cat", input=True, name="nap")["process"]
        self.fails("not_found", "no process", "process.get", session=branch, process=mine)
        self.fails("not_found", "no process", "process.get", process=other)
        self.call("process.write", session=branch, process="nap", data="hi", end=True)
        self.assertEqual(self.wait("nap", session=branch)["exit_code"], 0)
        self.assertEqual(self.call("process.read", session=branch, process="nap")["data"], "/home/user\nhi")
        self.assertEqual(self.call("process.get", process="nap")["state"], "running")
        self.assertEqual(len(self.call("process.list", session=branch)["processes"]), 1)
        terminal = self.terminal("sh", session=branch)
        terminal.type("tty\n")
        terminal.expect("/dev/pts/0")
        self.call("session.close", session=branch)
        self.assertEqual(terminal.end()["ended"], "close")
        self.assertEqual(self.call("process.get", process="nap")["state"], "running")


class BusyInits(Case):
    """A box's init does not read for a while, so that requests to it do not fit into its socket."""

    def setUp(self):
        super().setUp()
        self.s = self.new_session(limits={"pids": 500})
        said = "trap 'echo usr1' USR1; trap 'echo usr2; exit 3' USR2; echo here; while :; do sleep 0.05; done"
        self.process = self.call("process.start", command=said)["process"]
        self.attached = self.attach(self.process)
        self.attached.expect("here")
        (self.init,) = rpc.inits_of(self.engine.process.pid, self.s)
        self.addCleanup(self.go_on)
        self.clients = [programs.Client(self.engine.path) for _ in range(10)]
        for client in self.clients:
            self.addCleanup(client.close)

    def ask(self, n, **params):
        """Have each client start @n programs. Returns: what receives the answers."""
        sent = [(client, client.send("process.start", session=self.s, env={"BIG": "x" * 20000}, **params))
                for client in self.clients for _ in range(n)]
        return lambda: [client.receive(number)["process"] for client, number in sent]

    def stop(self):
        os.kill(self.init, signal.SIGSTOP)

    def go_on(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGCONT)

    def test_many_programs_start(self):
        self.stop()
        started = self.ask(9, command="read a; echo ${#BIG} $a", input=True)
        listed = self.client.send("process.list", session=self.s)
        self.go_on()
        all_of_them = started()
        here = {one.get("process") for one in self.client.receive(listed)["processes"]}
        self.assertLess(set(all_of_them), here)
        for i, process in enumerate(all_of_them):
            self.call("process.write", process=process, data=f"{i}\n", end=True)
            self.assertEqual(self.wait(process)["exit_code"], 0)
            self.assertEqual(self.output(process)[0], f"20000 {i}\n".encode())

    def test_no_signal_is_lost(self):
        self.stop()
        started = self.ask(5, argv=["true"])
        for _ in range(2000):
            self.call("process.signal", process=self.process, signal="USR1")
        self.call("process.signal", process=self.process, signal="USR2")
        self.go_on()
        started()
        self.assertEqual(self.attached.end()["exit_code"], 3)
        said = self.attached.out["stdout"].split()
        self.assertEqual((said[0], set(said[1:-1]), said[-1]), (b"here", {b"usr1"}, b"usr2"))


class States(Case):
    options = ("--checkpoints", "1")

    def test_undo_to_a_state_that_only_another_box_has(self):
        """The programs end, and the answer says so."""
        for i in range(5):
            self.run_step(f"x = {i}")
        process = self.counter()
        self.check(process, self.call("session.undo", count=4))
        self.assertEqual(self.value("x"), "0")

    def check(self, process, said):
        """It goes on, or it has ended because of the state, and the answer says so."""
        about = self.call("process.get", process=process)
        if about["state"] == "running":
            self.answers(process)
        else:
            self.assertEqual(about["ended"], "state")
            self.assertIn(process, [row.get("process") for row in said["processes"]])

    def test_undo_to_the_beginning(self):
        self.run_step("x = 1")
        process = self.counter()
        self.check(process, self.call("session.undo", count=1))

    def test_first_step_that_fails(self):
        """Nothing is there to return to but a new box."""
        process = self.counter()
        self.check(process, self.fails_and_is_rolled_back())


class Engines(harness.Case):
    """What is left when the engine ends: nothing, and a session that can have programs again."""

    def engine(self):
        engine = rpc.Engine()
        self.addCleanup(engine.stop)
        return engine, engine.client()

    @staticmethod
    def code_of(client, method, **params):
        try:
            client(method, **params)
            return "ok"
        except rpc.Failed as error:
            return error.code

    def check_end(self, number):
        e, c = self.engine()
        s = c("session.create", name="work")["session"]
        c.run(s, "x = 47")
        process = c("process.start", session=s, command="trap '' TERM HUP INT; setsid sleep 1001 & sleep 1002", name="p")["process"]
        c("terminal.open", session=s, argv=["sh", "-c", "trap '' HUP TERM; sleep 1003; sleep 1004"])
        self.until(lambda: sum("sleep" in p.get("command", "") for p in c("process.list", session=s)["processes"]) == 3)
        here = set(rpc.descendants(e.process.pid))
        e.stop(number)
        self.until(lambda: not here & set(harness.processes()))
        e.start()
        c = e.client()
        self.until(lambda: self.code_of(c, "process.get", session="work", process=process) == "not_found")
        about = c("process.start", session="work", command="cat; echo $RETORT_SESSION", input=True, name="p")
        c("process.write", session="work", process="p", data="hi\n", end=True)
        self.assertEqual(c("process.wait", session="work", process="p")["exit_code"], 0)
        self.assertEqual(c("process.read", session="work", process="p")["data"], f"hi\n{s}\n")
        self.assertNotEqual(about["process"], process)
        self.assertEqual(c.value(s, "x"), 47)

    def test_engine_is_stopped(self):
        self.check_end(signal.SIGTERM)

    def test_engine_is_killed(self):
        self.check_end(signal.SIGKILL)

    def test_list_of_a_session_that_was_not_opened_again_yet(self):
        e, c = self.engine()
        s = c("session.create")["session"]
        c.run(s, "1")
        c("process.start", session=s, argv=["sleep", "1000"])
        e.stop()
        e.start()
        c = e.client()
        self.until(lambda: self.code_of(c, "process.list", session=s) == "ok")  # until then: busy
        self.assertEqual(c("process.list", session=s)["processes"], [])


if __name__ == "__main__":
    harness.main()
