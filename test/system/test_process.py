# SPDX-License-Identifier: Apache-2.0
"""Programs that clients start in a box: how they start, what they read and write, and how they end."""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402

IDENTITY = "user"
PY = "/usr/bin/python3"


@harness.as_each
class Starts(programs.Case):
    def test_argv_reaches_the_program_as_it_is(self):
        words = ["", " a  b ", "'\"$HOME`x`", "*", "-n", "ä\u2028\U0001f600", "new\nline", "\x01"]
        out = self.out_of(PY, "-c", "import sys; print(ascii(sys.argv[1:]))", *words)
        self.assertEqual(out, ascii(words) + "\n")

    def test_a_line_is_run_by_the_shell(self):
        about, out = self.done(command="echo $((6 * 7)) | tr 4 5; exit 3")
        self.assertEqual((out, about["exit_code"]), (b"52\n", 3))
        self.assertEqual(about["argv"], ["/bin/sh", "-c", "echo $((6 * 7)) | tr 4 5; exit 3"])

    def test_what_is_said_of_a_process(self):
        started = self.call("process.start", argv=["sleep", "1000"], name="nap", cwd="/tmp", keep_alive=True)
        self.assertEqual({k: started[k] for k in ("session", "name", "argv", "cwd", "by", "state", "keep_alive")}, {
            "session": self.s, "name": "nap", "argv": ["sleep", "1000"], "cwd": "/tmp", "by": "call",
            "state": "running", "keep_alive": True})
        self.assertNotIn("exit_code", started)
        told = self.call("process.get", process="nap")
        self.assertEqual((told["process"], told["started_ms"]), (started["process"], started["started_ms"]))
        self.call("process.signal", process="nap", signal="KILL")
        over = self.wait("nap")
        self.assertEqual((over["state"], over["signal"], over["stdout_bytes"]), ("exited", 9, 0))
        self.assertGreaterEqual(over["wall_ms"], told["wall_ms"])
        for key in ("exit_code", "oom", "timed_out", "ended"):
            self.assertNotIn(key, over)
        # What it was is the same from each operation.
        same = self.call("process.get", process="nap")
        self.assertEqual(over, same)
        self.assertEqual({**self.list()[0], "session": self.s}, same)

    def test_the_pid_is_the_one_in_the_box(self):
        about = self.call("process.start", command="echo $$; sleep 1000")
        attached = self.attach(about["process"])
        self.assertEqual(int(attached.expect(r"(\d+)\n")[1]), about["pid"])
        self.assertIn(about["pid"], self.in_box())

    def test_working_directory(self):
        self.call("file.write", path="sub/dir/a.txt", content="a")
        self.assertEqual(self.out_of("pwd"), "/home/user\n")
        self.assertEqual(self.out_of("pwd", cwd="/tmp"), "/tmp\n")
        self.assertEqual(self.out_of("cat", "a.txt", cwd="sub/dir"), "a")
        self.assertEqual(self.out_of("pwd", cwd="sub/.."), "/home/user\n")

    def test_environment(self):
        own = dict(line.split("=", 1) for line in self.out_of("env").splitlines())
        self.assertEqual((own["RETORT_SESSION"], own["HOME"]), (self.s, "/home/user"))
        self.assertNotIn("TERM", own)
        more = {"HOME": "/tmp", "EMPTY": "", "ODD": "a=b\nä", "RETORT_SESSION": "mine"}
        out = self.out_of(PY, "-c", "import json, os; print(json.dumps(dict(os.environ)))", env=more)
        self.assertEqual({k: v for k, v in json.loads(out).items() if k in more}, more)
        self.assertEqual({k for k in json.loads(out) if k not in more} - {"LC_CTYPE"},
                         {k for k in own if k not in more} - {"_", "PWD", "SHLVL", "LC_CTYPE"})

    def test_the_environment_is_the_one_of_steps(self):
        """What a shell step sees is there for a process, too."""
        steps = self.call("step.run", runtime="shell", code="env")["stdout"].splitlines()
        mine = self.out_of("env").splitlines()
        self.assertEqual({line for line in steps if line.split("=")[0] in ("PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER")},
                         {line for line in mine if line.split("=")[0] in ("PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER")})

    def test_path_is_that_of_the_program(self):
        self.call("file.write", path="bin/own", content="#!/bin/sh\necho own \"$1\"\n")
        self.call("step.run", runtime="shell", code="chmod +x bin/own; mkdir -p first; touch first/own")
        self.fails("runtime", "own not found", "process.start", argv=["own"])
        # A file that may not be executed does not hide the next one, as with exec(3).
        self.assertEqual(self.out_of("own", "x", env={"PATH": "/home/user/first:/nothing:/home/user/bin"}), "own x\n")
        self.assertEqual(self.out_of("./bin/own"), "own \n")
        self.assertEqual(self.out_of("./own", cwd="bin"), "own \n")

    def test_descriptors_and_signals_of_a_new_program(self):
        """Three descriptors, no signal blocked or ignored, a process group and session of its own."""
        script = "import os, signal; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getpgrp() == os.getpid()," \
            " os.getsid(0) == os.getpid(), signal.pthread_sigmask(0, ()))\n" \
            "print([s for s in range(1, 65) if s not in (32, 33, 13, 25) and signal.getsignal(s) == signal.SIG_IGN])"
        self.assertEqual(self.out_of(PY, "-c", script), "[0, 1, 2] True True set()\n[]\n")

    def test_names(self):
        first = self.start("sleep", "1000", name="nap")
        self.fails("usage", "the name nap is running", "process.start", argv=["ls"], name="nap")
        for word in ("nap", first, first[:6]):
            self.assertEqual(self.call("process.get", process=word)["process"], first)
        self.call("process.signal", process="nap", signal="TERM")
        self.wait("nap")
        second = self.start("sleep", "1000", name="nap")
        self.assertEqual(self.call("process.get", process="nap")["process"], second)
        self.assertEqual(self.call("process.get", process=first)["state"], "exited")
        # Another session has names of its own.
        other = self.new_session()
        self.fails("not_found", "nap", "process.get", session=other, process="nap")
        self.fails("not_found", first, "process.get", session=other, process=first)
        self.call("process.start", session=other, argv=["sleep", "1000"], name="nap")

    def test_statuses(self):
        for line, what in (("exit 0", {"exit_code": 0}), ("exit 255", {"exit_code": 255}),
                           ("kill -TERM $$", {"signal": 15}), ("kill -SEGV $$", {"signal": 11})):
            about, _ = self.done(command=line)
            self.assertEqual({k: about[k] for k in ("exit_code", "signal") if k in about}, what)

    def test_cpu_time(self):
        about, _ = self.done(PY, "-c", "import time\nwhile time.process_time() < 0.3: pass")
        self.assertGreaterEqual(about["cpu_ms"], 290)
        self.assertLess(self.done("true")[0]["cpu_ms"], 290)

    def test_memory_limit_is_told_as_oom(self):
        s = self.new_session(limits={"memory_bytes": 64 << 20})
        fill = "b = []\nwhile True: b.append(bytearray(b'x') * (1 << 20))"
        process = self.call("process.start", session=s, argv=[PY, "-c", fill])["process"]
        about = self.wait(process, session=s)
        if "signal" in about:  # where the kernel refuses the memory, Python says MemoryError
            self.assertEqual((about["signal"], about.get("oom")), (9, True), about)
        else:
            self.assertIn(b"MemoryError", programs.decoded(self.call("process.read", session=s, process=process, stream="stderr")))
        # Who is killed by a caller, or by itself, did not run out of memory.
        about = self.wait(self.call("process.start", session=s, command="kill -9 $$")["process"], session=s)
        self.assertEqual((about["signal"], about.get("oom")), (9, None))


@harness.as_each
class Ends(programs.Case):
    def test_signals_by_name_and_number(self):
        script = "import signal\n" \
            "wanted = [getattr(signal, 'SIG' + s) for s in 'HUP INT USR1 WINCH TERM RTMIN'.split()]\n" \
            "signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n" \
            "print('ready', flush=True)\nwhile True: print(int(signal.sigwait(wanted)), flush=True)"
        process = self.start(PY, "-c", script)
        attached = self.attach(process)
        attached.expect("ready\n")
        for word, number in (("HUP", 1), ("SIGINT", 2), ("10", 10), ("SIGWINCH", 28), ("TERM", 15), ("34", 34)):
            self.assertEqual(self.call("process.signal", process=process, signal=word), {})
            self.assertEqual(int(attached.expect(r"(\d+)\n")[1]), number)
        self.call("process.signal", process=process, signal="KILL")
        self.assertEqual(attached.end()["signal"], 9)

    def test_without_a_name_it_is_sigterm(self):
        process = self.start("sleep", "1000")
        self.call("process.signal", process=process)
        self.assertEqual(self.wait(process)["signal"], signal.SIGTERM)

    def test_a_signal_goes_to_the_group(self):
        """The shell and what it has started; a daemon has left the group and lives."""
        process = self.start(command="sleep 1001 & setsid sleep 1002 & sleep 1003 | sleep 1004")
        self.until(lambda: self.naps() == [f"sleep {n}" for n in (1001, 1002, 1003, 1004)])
        self.call("process.signal", process=process, signal="TERM")
        self.assertEqual(self.wait(process)["signal"], 15)
        self.until(lambda: [p["command"] for p in self.list() if p.get("command")] == ["sleep 1002"])

    def test_stop_and_go_on(self):
        process = self.start(command="while read line; do echo $line; done", input=True)
        attached = self.attach(process)
        self.call("process.signal", process=process, signal="STOP")
        here = self.in_box()[self.call("process.get", process=process)["pid"]]
        self.until(lambda: harness.processes()[here][2] == "T")
        self.call("process.write", process=process, data="a\n")
        self.assertEqual(self.wait(process, timeout_ms=1)["state"], "running")
        self.call("process.signal", process=process, signal="CONT")
        attached.expect("a\n")

    def test_time_limit(self):
        about = self.wait(self.start("sleep", "1000", timeout_ms=50))
        self.assertEqual((about["signal"], about["timed_out"]), (15, True))
        # Who ignores SIGTERM, with all that it has started.
        process = self.start(command="trap '' TERM; sleep 1001 & sleep 1002; sleep 1003", timeout_ms=1000)
        about = self.wait(process)
        self.assertEqual((about["signal"], about["timed_out"], about.get("oom")), (9, True, None))
        self.until(lambda: not [p for p in self.list() if "sleep" in p.get("command", "")])
        about, _ = self.done("true", timeout_ms=3600 * 1000)
        self.assertEqual((about["exit_code"], about.get("timed_out")), (0, None))

    def naps(self):
        return sorted(p["command"] for p in self.list() if p.get("command", "").startswith("sleep"))

    def test_time_limit_reaches_who_left_the_group(self):
        process = self.start(command="setsid sleep 1001 & sleep 1002 & read x; sleep 1003", input=True, timeout_ms=2000)
        self.until(lambda: self.naps() == ["sleep 1001", "sleep 1002"])
        self.assertEqual(self.wait(process)["timed_out"], True)
        self.until(lambda: not self.naps())

    def test_time_limit_reaches_who_has_daemonized(self):
        process = self.start(command="(setsid sh -c 'sleep 1001 & exit' & exit); read x", input=True, timeout_ms=2000)
        self.until(lambda: self.naps() == ["sleep 1001"])
        self.assertEqual(self.wait(process)["timed_out"], True)
        self.until(lambda: not self.naps())

    def test_time_limit_reaches_who_outlives_the_program_and_sigterm(self):
        stubborn = "(setsid sh -c 'trap \"\" TERM; sleep 1001; sleep 1002' & exit); read x"
        process = self.start(command=stubborn, input=True, timeout_ms=2000)
        self.until(lambda: self.naps() == ["sleep 1001"])
        self.assertEqual(self.wait(process)["timed_out"], True)
        self.until(lambda: self.naps() == [])
        # One whose output is not remembered any more when the two seconds are over.
        process = self.start(command=stubborn, input=True, timeout_ms=2000)
        self.until(lambda: self.naps() == ["sleep 1001"])
        self.assertEqual(self.wait(process)["timed_out"], True)
        for _ in range(32):
            self.wait(self.start("true"))
        self.fails("not_found", "no process", "process.get", process=process)
        self.until(lambda: self.naps() == [])

    def test_waiting(self):
        process = self.start("cat", input=True)
        self.assertEqual(self.wait(process, timeout_ms=0)["state"], "running")
        self.assertEqual(self.wait(process, timeout_ms=20)["state"], "running")
        others = [programs.Client(self.engine.path) for _ in range(3)]
        numbers = [c.send("process.wait", session=self.s, process=process) for c in others]
        others[0].cancel(numbers[0])
        self.assertEqual(others[0].receive(numbers[0])["state"], "running")
        self.call("process.write", process=process, data="", end=True)
        for client, number in list(zip(others, numbers))[1:]:
            self.assertEqual(client.receive(number)["exit_code"], 0)
        for client in others:
            client.close()
        self.assertEqual(self.wait(process)["exit_code"], 0)
        self.assertEqual(self.wait(process)["session"], self.s)

    def test_a_waiter_that_hangs_up_changes_nothing(self):
        process = self.start("cat", input=True)
        for method in ("process.wait", "process.attach"):
            client = programs.Client(self.engine.path)
            client.send(method, session=self.s, process=process)
            client.close()
        self.call("process.write", process=process, data="x", end=True)
        self.assertEqual(self.wait(process)["exit_code"], 0)

    def test_the_last_32_that_have_ended_are_remembered(self):
        kept = self.start("sleep", "1000")
        ids = []
        for _ in range(40):
            ids.append(self.start("true"))
            self.wait(ids[-1])
        self.assertEqual([p["process"] for p in self.list()], [*reversed(ids[-32:]), kept])
        self.fails("not_found", ids[0], "process.get", process=ids[0])


class Lists(programs.Case):
    def test_all_that_runs_in_the_box(self):
        """What clients have started, its descendants, and what a step has left running; who each is of."""
        step = self.call("step.run", code="import subprocess\nc = subprocess.Popen(['sleep', '1001'])\nc.pid")
        about = self.call("process.start", command="sleep 1002 & exec sleep 1003", name="nap")
        rows = self.until(lambda: (found := self.list()) and
                          {"sleep 1001", "sleep 1002"} == {p["command"] for p in found[1:] if p["memory_bytes"]} and found)
        mine, others = rows[0], {p["command"]: p for p in rows[1:]}
        self.assertEqual((mine["process"], mine["name"], mine["pid"]), (about["process"], "nap", about["pid"]))
        self.assertGreater(mine["memory_bytes"], 100 << 10)
        left, below = others["sleep 1001"], others["sleep 1002"]
        self.assertEqual((left["by"], left["step"], left["pid"]), ("step", step["step"], int(step["value"]["text/plain"])))
        self.assertNotIn("of", left)
        self.assertEqual((below["by"], below["of"], below["ppid"]), ("call", about["process"], about["pid"]))
        self.assertNotIn("step", below)
        self.assertGreater(below["memory_bytes"], 100 << 10)

    def test_who_has_daemonized_still_descends(self):
        """Its parents are gone, and it is in another session: it is listed with the process that began it."""
        process = self.start(command="(setsid sh -c 'sleep 1001 & exit' & exit); exit 0")
        self.wait(process)
        row = self.until(lambda: next((p for p in self.list() if p.get("command") == "sleep 1001"), None))
        self.assertEqual(row["by"], "call", row)

    def test_cpu_and_memory(self):
        script = "import time\nb = bytearray(b'x') * (30 << 20)\nwhile time.process_time() < 0.5: pass\ninput()"
        process = self.start(PY, "-c", script, input=True)
        row = self.until(lambda: next((p for p in self.list() if p.get("cpu_ms", 0) >= 400), None))
        self.assertEqual(row["process"], process)
        self.assertGreater(row["memory_bytes"], 30 << 20)

    def test_what_retort_itself_has_in_the_box_is_not_listed(self):
        self.call("step.run", code="x = 1")
        self.call("step.run", runtime="shell", code="y=1")
        self.assertEqual(self.list(), [])

    def test_the_command_line_is_data(self):
        """A program may call itself what it wants."""
        self.start("bash", "-c", "exec -a \"$(printf 'a\\nb\\033[31m\\377')\" sleep 1000")
        self.start(PY, "-c", "import ctypes, time\nctypes.CDLL(None).prctl(15, b'\\xff\\n)', 0, 0, 0)\ntime.sleep(1000)")
        self.start(PY, "-c", "import time\ntime.sleep(1000)", "x" * 5000)
        self.start(command="exec " + PY + " -c 'import subprocess\nsubprocess.run([\"sleep\", \"1001\"])' " + "x" * 5000)
        self.until(lambda: any(p.get("command") == "sleep 1001" for p in self.list()))
        for row in self.list():
            self.assertEqual((row["state"], row["by"]), ("running", "call"))

    def test_many_lists_at_once(self):
        self.start("sleep", "1000")
        clients = [programs.Client(self.engine.path) for _ in range(8)]
        asked = [(c, c.send("process.list", session=self.s)) for c in clients for _ in range(10)]
        for client, number in asked:
            self.assertEqual(len(client.receive(number)["processes"]), 1)
        for client in clients:
            client.close()

    def test_one_that_ends_while_it_is_listed(self):
        """Init has seen it, and the list comes after its end: it has one row."""
        self.s = self.new_session(limits={"pids": 256})
        short = [self.start("head", "-c", "1", input=True) for _ in range(harness.sample(25, 90))]
        self.start(command="for i in $(seq 60); do sleep 1000 & done; wait")  # they are looked at after the others
        self.until(lambda: sum(p.get("command") == "sleep 1000" for p in self.list()) == 60)
        for process in short:
            listed = self.client.send("process.list", session=self.s)
            self.client.send("process.write", session=self.s, process=process, data="x")
            rows = [(p["pid"], p["state"]) for p in self.client.receive(listed)["processes"] if "sleep" not in p.get("command", "")]
            self.assertEqual(len(rows), len({pid for pid, _ in rows}), rows)

    def test_a_client_that_hangs_up_while_it_is_listed(self):
        self.start("sleep", "1000")
        for _ in range(20):
            client = programs.Client(self.engine.path)
            for _ in range(5):
                client.send("process.list", session=self.s)
            client.close()
        self.assertEqual(len(self.list()), 1)


@contextlib.contextmanager
def held_at_its_end(pid):
    """The process @pid does not end before the block does. Source: ptrace(2), PTRACE_O_TRACEEXIT."""
    detach, seize, trace_exit = 17, 0x4206, 1 << 6

    def trace(request, data):
        if libc.ptrace(request, pid, ctypes.c_void_p(), ctypes.c_void_p(data)) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")
    libc = ctypes.CDLL(None, use_errno=True)
    trace(seize, trace_exit)
    yield
    assert os.waitpid(pid, 0x40000000)[0] == pid  # __WALL: it is no child
    trace(detach, 0)


class Many(programs.Case):
    def test_a_hundred_and_one_more(self):
        s = self.s = self.new_session(limits={"pids": 256})
        ids = [self.start("sleep", "1000", name=f"n{i}") for i in range(100)]
        self.assertEqual(len(set(ids)), 100)
        error = self.fails("limit", "100 running processes", "process.start", argv=["true"])
        self.assertIn("end", error.hint)
        self.assertEqual(sum(p["state"] == "running" for p in self.list()), 100)
        # Another session, and a step of this one, are not concerned.
        self.assertEqual(self.call("step.run", code="6 * 7")["value"]["text/plain"], "42")
        other = self.new_session()
        about = self.call("process.start", session=other, argv=["true"])
        self.assertEqual(self.wait(about["process"], session=other)["exit_code"], 0)
        self.call("process.signal", process="n7", signal="KILL")
        self.wait("n7")
        self.start("sleep", "1000", name="n7")
        self.fails("limit", "100 running", "process.start", argv=["true"])
        self.call("session.close", session=s)
        self.until(lambda: not self.in_box(s))

    @harness.needs_root("only root may stop a minder")
    def test_a_program_that_has_ended_makes_room_at_once(self):
        """Its minder is held at its own end, as on a host that has too much to do."""
        s = self.s = self.new_session(limits={"pids": 256})
        for i in range(100):
            self.start("sleep", "1000", name=f"n{i}")
        program = self.in_box(s)[self.call("process.get", process="n7")["pid"]]
        with held_at_its_end(harness.processes()[program][0]):
            self.call("process.signal", process="n7", signal="KILL")
            self.wait("n7")
            self.start("sleep", "1000", name="n7")
            self.fails("limit", "100 running", "process.start", argv=["true"])
        self.call("process.signal", process="n8", signal="KILL")
        self.wait("n8")
        self.start("setsid", "-f", "sleep", "1000", name="n8")
        self.wait("n8")
        self.fails("limit", "have left others running", "process.start", argv=["true"])
        self.call("session.close", session=s)

    def test_a_hundred_that_end_together(self):
        self.s = self.new_session(limits={"pids": 256})
        ids = [self.start("cat", input=True) for _ in range(100)]
        clients = [programs.Client(self.engine.path) for _ in range(4)]
        asked = [(clients[i % 4], clients[i % 4].send("process.wait", session=self.s, process=p)) for i, p in enumerate(ids)]
        for process in ids:
            self.client.send("process.write", session=self.s, process=process, data="", end=True)
        self.assertEqual({client.receive(number)["exit_code"] for client, number in asked}, {0})
        for client in clients:
            client.close()
        self.assertEqual(len(self.list()), 32)


class Wrong(programs.Case):
    """Each mistake gets one clear error with a hint, and starts nothing."""

    def test_starts(self):
        self.call("file.write", path="plain.txt", content="not a program")
        self.call("file.write", path="bad", content="no first line")
        self.call("file.write", path="no-interpreter", content="#!/nope/sh\n")
        self.call("step.run", runtime="shell", code="chmod +x bad no-interpreter; printf '\\177ELF' >elf; chmod +x elf")
        n = len(self.in_box())
        for code, pattern, params in (
                ("usage", "argv", {}),
                ("usage", "argv: 0 elements", {"argv": []}),
                ("usage", "empty name", {"argv": [""]}),
                ("usage", "together with `command`", {"argv": ["ls"], "command": "ls"}),
                ("usage", "NUL", {"argv": ["ls", "a\0b"]}),
                ("usage", "argv", {"argv": "ls"}),
                ("usage", "argv", {"argv": [1]}),
                ("usage", "command", {"command": ""}),
                ("limit", "96 KiB", {"argv": ["echo", "x" * (2 << 20)]}),
                ("limit", "96 KiB", {"argv": ["echo", *["x" * 120] * 1000]}),
                ("limit", "96 KiB", {"argv": ["true"], "env": {"X": "x" * (2 << 20)}}),
                ("not_found", "working directory /nope", {"argv": ["ls"], "cwd": "/nope"}),
                ("not_found", "working directory", {"argv": ["ls"], "cwd": "plain.txt"}),
                ("not_found", "working directory", {"argv": ["ls"], "cwd": "\x1b[31m"}),
                ("access", "working directory", {"argv": ["ls"], "cwd": "/proc/1/fd"}),
                ("runtime", "nope not found", {"argv": ["nope"]}),
                ("runtime", "/nope/ls not found", {"argv": ["/nope/ls"]}),
                ("runtime", "cannot be executed", {"argv": ["./plain.txt"]}),
                ("runtime", "cannot be executed", {"argv": ["/etc"]}),
                ("runtime", "cannot be executed", {"argv": ["./bad"]}),
                ("runtime", "cannot be executed", {"argv": ["./elf"]}),
                ("runtime", "no-interpreter", {"argv": ["./no-interpreter"]}),
                ("runtime", "not found", {"argv": ["\x1b[31m\n"]}),
                ("usage", "control or invisible", {"argv": ["ls"], "name": "a\nb"}),
                ("usage", "control or invisible", {"argv": ["ls"], "name": "\x7f"}),
                ("usage", "control or invisible", {"argv": ["ls"], "name": "a\x9b31m"}),
                ("usage", "name", {"argv": ["ls"], "name": ""}),
                ("usage", "name", {"argv": ["ls"], "name": "x" * 10000}),
                ("usage", "env", {"argv": ["ls"], "env": {"A=B": "1"}}),
                ("usage", "env", {"argv": ["ls"], "env": {"": "1"}}),
                ("usage", "env", {"argv": ["ls"], "env": {"A": 1}}),
                ("usage", "env", {"argv": ["ls"], "env": {"A": "a\0b"}}),
                ("usage", "output_bytes", {"argv": ["ls"], "output_bytes": 1}),
                ("usage", "output_bytes", {"argv": ["ls"], "output_bytes": 1 << 40}),
                ("usage", "timeout_ms", {"argv": ["ls"], "timeout_ms": -1}),
                ("usage", "rows", {"argv": ["ls"], "terminal": True, "rows": 0}),
                ("usage", "cols", {"argv": ["ls"], "terminal": True, "cols": 70000}),
                ("usage", "colour", {"argv": ["ls"], "colour": 1})):
            with self.subTest(**{k: str(v)[:60] for k, v in params.items()}):
                self.fails(code, pattern, "process.start", **params)
        self.assertEqual(self.list(), [])
        self.assertEqual(len(self.in_box()), n)
        # In a terminal, too.
        self.fails("runtime", "nope not found", "terminal.open", argv=["nope"])
        self.fails("not_found", "working directory", "terminal.open", cwd="/nope")

    def test_what_cannot_be_executed_is_told_apart(self):
        """The numbers of a shell, 127 and 126, are in the sentences: not found, and not executable."""
        self.assertNotIn("chmod", self.fails("runtime", "not found", "process.start", argv=["nope"]).hint)
        self.assertNotIn("chmod", self.fails("runtime", "cannot be executed", "process.start", argv=["/etc"]).hint)

    def test_unknown_process(self):
        self.start("sleep", "1000", name="server")
        for method, params in (("get", {}), ("wait", {}), ("read", {}), ("write", {"data": "x"}), ("attach", {}),
                               ("signal", {}), ("resize", {"rows": 1, "cols": 1})):
            self.fails("not_found", 'no process "p-nothing"', f"process.{method}", process="p-nothing", **params)
            self.fails("not_found", "no session", f"process.{method}", session="s-nothing", process="x", **params)
        self.assertIn("server", self.fails("not_found", "no process", "process.get", process="servr").hint)
        self.fails("usage", "process", "process.get", process="")
        self.fails("usage", "process", "process.get")

    def test_requests_to_what_has_ended(self):
        process = self.start("true")
        self.wait(process)
        self.fails("gone", "has ended", "process.write", process=process, data="x")
        self.fails("gone", "has ended", "process.signal", process=process)
        opened = self.call("terminal.open", argv=["true"])["process"]
        self.wait(opened)
        self.fails("gone", "has ended", "process.resize", process=opened, rows=5, cols=5)
        self.fails("gone", "has ended", "process.write", process=opened, data="x")

    def test_requests_that_do_not_fit_the_process(self):
        process = self.start("sleep", "1000")
        self.fails("usage", "without input", "process.write", process=process, data="x")
        self.fails("usage", "no terminal", "process.resize", process=process, rows=5, cols=5)
        self.fails("usage", "no signal", "process.signal", process=process, signal="NOPE")
        self.fails("usage", "no signal", "process.signal", process=process, signal="0")
        self.fails("usage", "no signal", "process.signal", process=process, signal="65")
        self.fails("usage", "no signal", "process.signal", process=process, signal="-9")
        self.fails("usage", "signal", "process.signal", process=process, signal="")
        self.assertEqual(self.call("process.get", process=process)["state"], "running")

    def test_input_that_is_no_base64(self):
        process = self.start("cat", input=True)
        for data in ("a", "====", "a b=", "aGk\n="):
            self.fails("usage", "base64|data", "process.write", process=process, data=data, encoding="base64")
        self.fails("limit", "16 MiB", "process.write", process=process, data="x" * ((16 << 20) + 1))
        self.assertEqual(self.call("process.write", process=process, data="aGk=", encoding="base64", end=True), {"bytes": 2})
        self.wait(process)
        self.assertEqual(self.output(process)[0], b"hi")

    def test_write_after_the_end_of_the_input(self):
        process = self.start(command="cat; sleep 1000", input=True)
        self.call("process.write", process=process, data="x", end=True)
        self.fails("gone", "input is closed", "process.write", process=process, data="y")

    def test_write_to_who_has_closed_its_input(self):
        process = self.start(command="exec <&-; echo closed; sleep 1000", input=True)
        self.attach(process).expect("closed")
        # Whoever has started the program has its input open, too, for a moment more.
        with self.assertRaises(programs.service.Refused) as caught:
            for _ in range(1000):
                self.call("process.write", process=process, data="y")
                time.sleep(0.01)
        self.assertEqual(caught.exception.code, "gone")
        self.assertRegex(str(caught.exception), "does not read its input")
        self.fails("gone", "input is closed", "process.write", process=process, data="y")


if __name__ == "__main__":
    harness.main()
