# SPDX-License-Identifier: Apache-2.0
"""Any program in a session, from the command line: its streams, its end, its terminal."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402
from terminal import Terminal  # noqa: E402


class Case(harness.Case):
    """An engine for the class, with the session `work`."""

    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.env = {"RETORT_SOCKET": cls.engine.path}
        cls.client = cls.engine.client()
        cls.session = cls.client("session.create", name="work")["session"]

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()

    def retort(self, *args, **more):
        return harness.retort(*args, env=self.env, **more)

    def exec(self, *args, **more):
        return self.retort("exec", *args, **more)

    def start(self, *args, **more):
        return subprocess.Popen([harness.RETORT, *args], env=harness.environment(self.env), cwd=harness.TMP,
                                stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, bufsize=0, **more)

    def terminal(self, *args, env=None, **more):
        terminal = Terminal(*args, env={**self.env, **(env or {})}, **more)
        self.addCleanup(terminal.close)
        return terminal

    def processes(self):
        return self.client("process.list", session="work")["processes"]

    def finish(self, process):
        out, err = process.communicate(timeout=harness.TIMEOUT_S)
        return process.returncode, out, err


class Streams(Case):
    def test_streams_are_apart_and_the_status_is_the_program_s(self):
        done = self.exec("work", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((done.status, done.out, done.err), (3, "out\n", "err\n"))
        for script, status in (("exit 0", 0), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
            done = self.exec("work", "sh", "-c", script)
            self.assertEqual((done.status, done.out, done.err), (status, "", ""))

    def test_bytes_pass_unchanged(self):
        every = bytes(range(256)) * 5000 + "é€\U0001f600\x00\r\n\"\\".encode() * 20000 + b"\xf0\x9f"
        done = self.exec("-i", "work", "cat", stdin=every)
        self.assertEqual((done.status, done.stdout == every, done.err), (0, True, ""), len(done.stdout))
        text = ("\u0001\u001f\u007f\u0080\uffff\t\"\\/\b\f" * 50000).encode()
        self.assertEqual(self.exec("-i", "work", "cat", stdin=text).stdout, text)

    def test_without_i_the_input_is_empty(self):
        done = self.exec("work", "cat", stdin=b"not for it")
        self.assertEqual((done.status, done.out), (0, ""))

    def test_output_of_any_size_is_whole(self):
        """More than all buffers on the way, from a program that writes faster than we read."""
        n = harness.sample(100, 1000) * 1000000
        done = self.start("exec", "work", "sh", "-c", f"yes 0123456789abcdefghij | head -c {n}")
        digest, size = hashlib.sha256(), 0
        while part := done.stdout.read(1 << 20):
            digest.update(part)
            size += len(part)
        self.assertEqual(self.finish(done)[0], 0)
        want = hashlib.sha256((b"0123456789abcdefghij\n" * (n // 21 + 1))[:n]).hexdigest()
        self.assertEqual((size, digest.hexdigest()), (n, want))

    def test_a_reader_that_waits_makes_the_program_wait(self):
        """All on the way gets full, and nothing is lost; nobody holds more than a little."""
        n = 50000000
        done = self.start("exec", "--name", "eager", "work", "sh", "-c", f"echo ready; exec head -c {n} /dev/zero")
        self.assertEqual(done.stdout.readline(), b"ready\n")
        seen, n_same = 0, 0
        while n_same < 100:
            now = self.client("process.get", session="work", process="eager")["stdout_bytes"]
            seen, n_same = now, n_same + 1 if now == seen and now > 0 else 0
        self.assertEqual(self.client("process.get", session="work", process="eager")["state"], "running")
        status, out, err = self.finish(done)
        self.assertEqual((status, len(out), err), (0, n, b""))

    def test_input_of_any_size_is_whole(self):
        data = os.urandom(1 << 20) * harness.sample(40, 400)
        done = self.exec("-i", "work", "sha256sum", stdin=data)
        self.assertEqual(done.out.split()[0], hashlib.sha256(data).hexdigest())

    def test_input_that_nobody_reads_any_more(self):
        done = self.exec("-i", "work", "head", "-c", "2", stdin=b"ab" * (8 << 20))
        self.assertEqual((done.status, done.out, done.err), (0, "ab", ""))

    def test_a_reader_that_leaves_ends_it_silently(self):
        done = self.start("exec", "--name", "unread", "work", "yes")
        self.assertEqual(done.stdout.readline(), b"y\n")
        done.stdout.close()
        self.assertEqual((done.stderr.read(), done.wait(harness.TIMEOUT_S)), (b"", 128 + signal.SIGPIPE))
        self.assertEqual(self.client("process.get", session="work", process="unread")["state"], "exited")
        # So does one that ignores SIGTERM.
        done = self.start("exec", "--name", "stubborn", "work", "sh", "-c", "trap '' TERM PIPE; while :; do echo y; done")
        self.assertEqual(done.stdout.readline(), b"y\n")
        done.stdout.close()
        self.assertEqual((done.stderr.read(), done.wait(harness.TIMEOUT_S)), (b"", 128 + signal.SIGPIPE))
        self.assertEqual(self.client("process.get", session="work", process="stubborn")["signal"], signal.SIGKILL)

    def test_streams_that_are_closed_or_full(self):
        done = subprocess.run(["sh", "-c", f"{harness.RETORT} exec work echo hello >&-"], capture_output=True,
                              env=harness.environment(self.env), check=False)
        self.assertEqual((done.returncode, done.stderr), (1, b"retort: standard output: Bad file descriptor\n"))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.RETORT, "exec", "work", "echo", "hello"], stdout=full, stderr=subprocess.PIPE,
                                  env=harness.environment(self.env), check=False)
        self.assertEqual((done.returncode, done.stderr), (1, b"retort: standard output: No space left on device\n"))
        done = subprocess.run(["sh", "-c", f"{harness.RETORT} exec -i work cat <&-"], capture_output=True,
                              env=harness.environment(self.env), check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


class Options(Case):
    def test_where_and_with_what_it_runs(self):
        done = self.exec("-w", "/tmp", "-e", "A=1 2", "-e", "HOME", "-e", "NONE", "work", "sh", "-c",
                         'pwd; echo "$A,$HOME,${NONE-unset}"')
        self.assertEqual((done.status, done.out), (0, f"/tmp\n1 2,{harness.TMP},unset\n"))
        self.assertEqual(self.exec("work", "pwd").out, "/home/user\n")

    def test_time_limit(self):
        done = self.exec("--timeout", "300ms", "work", "sleep", "60")
        self.assertEqual((done.status, done.out, done.err), (
            124, "", "retort: timeout: the program ran longer than its limit of 300 ms of wall time: give it more "
            "with --timeout\n"))

    def test_json(self):
        done = self.exec("--json", "-i", "work", "sh", "-c", "cat; echo err >&2; exit 5", stdin=b"\xff\n")
        about = done.json()
        self.assertEqual((done.status, done.err), (5, ""))
        self.assertEqual((about["stdout"], about["stderr"], about["exit_code"], about["by"]), ("\ufffd\n", "err\n", 5, "call"))
        self.assertEqual(about["truncated"], {"stdout_bytes": 0, "stderr_bytes": 0})
        n = 10 << 20
        about = self.exec("--json", "work", "sh", "-c", f"yes | head -c {n}").json()
        self.assertEqual(len(about["stdout"]) + about["truncated"]["stdout_bytes"], n)
        self.assertGreater(about["truncated"]["stdout_bytes"], 0)

    def test_what_is_wrong_is_said(self):
        self.exec("work", "sh", "-c", "echo text >script; mkdir -p dir")
        for args, status, said in (
                (["exec"], 2, "exec: the session is missing: `retort session ls` lists them"),
                (["exec", "work"], 2, "exec: the program is missing: for example: retort exec -it SESSION bash"),
                (["exec", "work", "--"], 2, "exec: the program is missing: for example: retort exec -it SESSION bash"),
                (["exec", "work", "-it", "bash"], 2, 'exec: "-it" is behind SESSION: write options before SESSION, and a '
                 "program of that name behind --"),
                (["exec", "work", "nonsense"], 127, "program nonsense not found in the box: programs of the host's /usr "
                 "are there, and those of volumes"),
                (["exec", "work", "./nothing"], 127, "program ./nothing not found in the box: a path is one in the box, which "
                 "has its workspace, volumes and the host's /usr"),
                (["exec", "work", __file__], 127, f"program {__file__} not found in the box: it is a file of this host: copy "
                 "it in with `retort cp`"),
                (["exec", "work", "./script"], 126, "program ./script cannot be executed: Permission denied: make it "
                 "executable: chmod +x"),
                (["exec", "-w", "/nowhere", "work", "true"], 2, None),
                (["exec", "nobody", "true"], 2, None),
                (["exec", "-it", "work", "bash"], 2, "standard input is not a terminal: leave out -t: -i alone passes on "
                 "what it has"),
                (["exec", "--json", "-t", "work", "true"], 2, "--json and --tty exclude each other: leave one out"),
                (["exec", "--keep-alive", "work", "true"], 2, None),
                (["exec", "--name", "a\tb", "work", "true"], 2, None),
                (["exec", "-e", "=x", "work", "true"], 2, '--env "=x" has no name: write -e NAME=VALUE'),
                (["exec", "--detach-keys", "ctrl-", "work", "true"], 2, '--detach-keys "ctrl-" is no list of up to 8 '
                 'keys: for example ctrl-p,ctrl-q, or "" for no keys'),
                (["exec", "work", b"\xff"], 2, "the argument \\xff is not UTF-8: write it in UTF-8"),
                (["attach"], 2, "attach: the session is missing: `retort ps SESSION` lists them"),
                (["attach", "work"], 2, "attach: the process is missing: `retort ps SESSION` lists them"),
                (["attach", self.session, "nobody"], 2, f'no process "nobody" in session {self.session}: `retort ps` lists '
                 "the session's processes"),
                (["port", "--close", "99", "work"], 2, "port 99 of the session is not open: `retort port` shows them"),
                (["ps"], 2, "ps: the session is missing: `retort session ls` lists them"),
                (["ps", "nobody"], 2, None), (["ps", b"\xff"], 2, None), (["attach", b"\xff", "x"], 2, None),
                (["exec", b"\xff", "true"], 2, None)):
            with self.subTest(args=args):
                done = self.retort(*args)
                self.assertEqual((done.status, done.out if "--json" not in args else ""), (status, ""), done)
                self.assertRegex(done.err, r"^retort: [^\n]+: [^\n]+\n$")
                if said:
                    self.assertEqual(done.err, f"retort: {said}\n")

    def test_no_engine(self):
        for args in (["exec", "work", "true"], ["attach", "work", "x"], ["ps", "work"], ["cp", "work:x", "y"]):
            done = harness.retort(*args, env={"RETORT_SOCKET": "./none"})
            self.assertEqual(done.status, 4)
            self.assertTrue(done.err.startswith("retort: no engine at "), done.err)


class Ends(Case):
    """Signals, and an engine that goes."""

    def ready(self, *args, **more):
        """Start it, and wait until it says so."""
        process = self.start(*args, **more)
        self.assertEqual(process.stdout.readline(), b"ready\n", process)
        return process

    def test_interrupts_mean_more_each_time(self):
        program = ("import os, signal, time\nfor name in ('INT', 'TERM'):\n"
                   " signal.signal(getattr(signal, 'SIG' + name), lambda *_, n=name: os.write(1, n.encode() + b'\\n'))\n"
                   "os.write(1, b'ready\\n')\nwhile True: time.sleep(0.05)")
        process = self.ready("exec", "work", "python3", "-c", program)
        for name in (b"INT\n", b"TERM\n"):
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.readline(), name)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), (137, b"", b""))

    def test_an_interrupt_while_nobody_reads(self):
        process = self.ready("exec", "--name", "loud", "work", "sh", "-c", "echo ready; exec yes")
        # What is on the way fills up: then the program waits, and so do we.
        while self.client("process.get", session="work", process="loud")["stdout_bytes"] < 1 << 20:
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        about = self.client("process.wait", session="work", process="loud")
        self.assertEqual((about["state"], about.get("signal")), ("exited", signal.SIGINT))
        while process.poll() is None:  # whoever insists need not read the rest
            process.send_signal(signal.SIGINT)
        # One that comes when all is over meets the usual action.
        self.assertIn(process.returncode, (130, -signal.SIGINT))
        process.stdout.close()
        process.stderr.close()

    def test_a_program_that_an_interrupt_ends(self):
        process = self.ready("exec", "work", "sh", "-c", "echo ready; exec sleep 60")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), (130, b"", b""))

    def test_signals_reach_the_program(self):
        for name in ("TERM", "HUP", "QUIT", "USR1", "USR2"):
            with self.subTest(signal=name):
                process = self.ready("exec", "--name", name, "work", "sh", "-c",
                                     f"trap 'echo got >got-{name}; exit 9' {name}; echo ready; while :; do sleep 0.1; done")
                process.send_signal(getattr(signal, "SIG" + name))
                self.finish(process)
                about = self.client("process.wait", session="work", process=name)
                self.assertEqual(about["exit_code"], 9)
                # Nobody waits at a terminal that is gone.
                self.assertEqual(process.returncode, 129 if name == "HUP" else 9)

    def test_a_signal_before_the_start(self):
        """An interrupt while the engine is still busy with a step of the session, or right after: it is never lost."""
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("exec", "work", "sleep", "60")
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as f:
                pass
            while not self.blocks(process.pid, number):
                self.assertIsNone(process.poll())
            process.send_signal(number)
            self.assertIn(self.finish(process)[0], (130, 128 + number))

    @staticmethod
    def blocks(pid, number):
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            mask = next(line for line in f if line.startswith("SigBlk"))
        return int(mask.split()[1], 16) >> (number - 1) & 1

    def test_it_can_be_suspended(self):
        # In a process group of its own, as a shell has it: the kernel suspends no group that nobody could continue.
        process = self.ready("exec", "-i", "work", "sh", "-c", "echo ready; exec cat", stdin=subprocess.PIPE,
                             process_group=0)
        process.send_signal(signal.SIGTSTP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]))
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.communicate(b"after\n", timeout=harness.TIMEOUT_S), (b"after\n", b""))
        self.assertEqual(process.returncode, 0)

    def end_of_engine(self, end):
        """What `exec` says when @end ends the engine."""
        with rpc.Engine() as engine:
            engine.client()("session.create", name="work")
            process = subprocess.Popen(
                [harness.RETORT, "exec", "work", "sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=harness.environment({"RETORT_SOCKET": engine.path}))
            self.assertEqual(process.stdout.readline(), b"ready\n")
            end(engine.process)
            self.assertEqual(self.finish(process), (4, b"", b"retort: the engine is gone: see what `retort serve` says, "
                                                    b"and start it again\n"))

    def test_the_engine_ends(self):
        self.end_of_engine(subprocess.Popen.kill)

    def test_the_engine_is_stopped(self):
        """It is told apart from a client that leaves: the program does not go on."""
        self.end_of_engine(subprocess.Popen.terminate)

    def test_who_has_come_later_can_leave(self):
        """TERM and HUP end `attach`, not the program."""
        self.start("exec", "-d", "--name", "left", "work", "sh", "-c", "echo ready; exec sleep 60").communicate()
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = self.ready("attach", "work", "left")
            process.send_signal(number)
            self.assertEqual(self.finish(process)[0], 128 + number)
            self.assertEqual(self.client("process.get", session="work", process="left")["state"], "running")

    def test_its_session_ends(self):
        self.client("session.create", name="short")
        process = self.ready("exec", "short", "sh", "-c", "echo ready; exec sleep 60")
        self.client("session.close", session="short")
        status, _, err = self.finish(process)
        self.assertEqual((status, err), (137, b"retort: the program was ended: its session was closed\n"))


class Detached(Case):
    def test_start_list_attach(self):
        done = self.exec("-d", "--name", "server", "work", "sh", "-c", "echo begun; until [ -e go ]; do sleep 0.05; done; "
                         "echo over; exit 6")
        self.assertEqual((done.status, done.err), (0, ""))
        process = done.out.strip()
        self.assertRegex(process, r"^p-\w+$")
        attached = self.start("attach", "work", "server")
        self.assertEqual(attached.stdout.readline(), b"begun\n")
        table = self.retort("ps", "work").out.splitlines()
        self.assertEqual(table[0].split(), ["PID", "PROCESS", "BY", "STATE", "CPU", "MEMORY", "COMMAND"])
        row = next(line for line in table if " server " in line)
        self.assertRegex(row, r"^\d+ +server +call +running +\S+ m?s +\S+ .iB +sh -c echo begun; until")
        self.assertIn("server\n", self.retort("ps", "-q", "work").out)
        listed = self.retort("ps", "--json", "work").json()["processes"]
        self.assertEqual([p["name"] for p in listed if p.get("process") == process], ["server"])
        self.exec("work", "touch", "go")
        self.assertEqual(self.finish(attached), (6, b"over\n", b""))
        done = self.retort("attach", "work", process[:5])  # it has ended, and is remembered
        self.assertEqual((done.status, done.out), (6, "begun\nover\n"))
        self.assertRegex(self.retort("ps", "work").out, r"server +call +exited 6 ")

    def test_ps_waits_until_the_session_is_open(self):
        with rpc.Engine() as engine:
            client = engine.client()
            client("session.create", name="work")
            client.run("work", "x = 1")
            engine.stop()
            engine.start()
            done = harness.retort("ps", "--json", "work", env={"RETORT_SOCKET": engine.path})
            self.assertEqual((done.status, done.err, done.json()["processes"]), (0, "", []))

    def test_ps_shows_what_a_step_left(self):
        self.exec("work", "true")  # also after a program has ended
        self.client.run("work", "import subprocess; left = subprocess.Popen(['sleep', '77'])")
        end = time.monotonic() + harness.TIMEOUT_S
        # The kernel tells Popen of the new program before it has a command line.
        while "[sleep]" in (shown := self.retort("ps", "work").out) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertRegex(shown, r"\n\d+ +step \S* +running .* sleep 77\n")
        self.client.run("work", "left.kill(); left.wait()")

    def test_input_for_a_program_that_runs(self):
        self.exec("-d", "-i", "--name", "calm", "work", "cat")
        first = self.retort("attach", "-i", "work", "calm", stdin=b"one\n")
        self.assertEqual((first.status, first.out), (0, "one\n"))
        self.exec("-d", "-i", "--name", "deaf", "work", "sh", "-c", "echo ready; cat; echo end")
        attached = self.start("attach", "work", "deaf")  # without -i its input stays open
        self.assertEqual(attached.stdout.readline(), b"ready\n")
        self.client("process.write", session="work", process="deaf", data="", end=True)
        self.assertEqual(self.finish(attached), (0, b"end\n", b""))

    def test_output_that_was_not_kept_is_missed(self):
        self.exec("-d", "--name", "much", "work", "sh", "-c", "yes | head -c 5000000")
        self.client("process.wait", session="work", process="much")
        done = self.retort("attach", "work", "much")
        self.assertEqual(done.status, 0)
        n_cut = int(done.err.split()[1])
        self.assertEqual(done.err, f"retort: {n_cut} bytes of its output were not kept\n")
        self.assertEqual(len(done.stdout) + n_cut, 5000000)


class AtATerminal(Case):
    def bash(self, *options, **more):
        terminal = self.terminal("exec", "-it", "-e", "HISTFILE=", *options, "work", "bash", "--norc", "--noprofile", **more)
        terminal.wait(r"\$ ")
        return terminal

    def leave(self, terminal, status=0):
        terminal.type(f"exit {status}\r")
        self.assertEqual(terminal.end(), status)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)

    def test_a_shell(self):
        terminal = self.bash(rows=31, columns=97, env={"TERM": "vt220"})
        terminal.type("tty; stty size; echo $TERM $((6 * 7))\r")
        terminal.wait(r"/dev/pts/\d+\r\n31 97\r\nvt220 42\r\n")
        terminal.resize(40, 120)
        terminal.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo res''ized\r")
        terminal.wait("resized")
        self.leave(terminal, 7)

    def test_keys_are_for_the_program(self):
        terminal = self.bash()
        # bash gives it the terminal before it continues it.
        terminal.type("python3 -c \"import os, signal, time; signal.signal(18, lambda *_: os.write(1, b'go' b'es on\\n')); "
                      "os.write(1, b'wa' b'its\\n'); [time.sleep(0.05) for _ in iter(int, 1)]\"\r")
        terminal.wait("waits\r\n")
        terminal.type("\x1a")
        terminal.wait(r"Stopped +python3")
        terminal.type("fg\r")
        terminal.wait("goes on\r\n")
        terminal.type("\x03")
        terminal.wait(r"\^C[^$]*\$ ")  # bash drops what comes before its prompt
        terminal.type("echo status=$?\r")
        terminal.wait("status=130")
        terminal.type("sh -c 'echo re''ads; cat'\r")
        terminal.wait("reads\r\n")
        terminal.type("line\r\x04")
        terminal.wait("line\r\nline\r\n")
        terminal.wait(r"\$ ")
        terminal.type("\x04")
        self.assertEqual(terminal.end(), 0)

    def test_programs_of_the_whole_screen(self):
        for program in ("vim", "less"):
            if not shutil.which(program):
                continue
            with self.subTest(program=program):
                terminal = self.bash()
                terminal.type("seq 1000 >numbers; clear\r")
                if program == "vim":
                    terminal.type("vim -u NONE new.txt\r")
                    terminal.wait("new.txt")
                    terminal.type("ihello from vim\x1b:wq\r")
                    terminal.wait("written")
                    terminal.wait(r"\$ ")
                    terminal.type("cat new.txt\r")
                    terminal.wait("hello from vim")
                else:
                    terminal.type("less numbers\r")
                    terminal.wait("\n22")
                    terminal.type("G")
                    terminal.wait("1000")
                    terminal.type("q")
                self.leave(terminal)

    def test_the_prompt_of_python(self):
        terminal = self.terminal("exec", "-it", "work", "python3", "-q")
        terminal.wait(">>> ")
        terminal.type("6 * 7\r")
        terminal.wait("42\r\n")
        terminal.type("import time; print('sl' + 'eeping'); [time.sleep(.05) for _ in range(2000)]\r")
        terminal.wait("sleeping\r\n")
        terminal.type("\x03")
        terminal.wait("KeyboardInterrupt\r\n>>> ")
        terminal.type("exit(3)\r")
        self.assertEqual(terminal.end(), 3)

    def test_leave_and_return(self):
        terminal = self.bash("--name", "shell")
        terminal.type("x=kept\r")
        terminal.wait(r"\$ ")
        terminal.type("\x10\x11")
        self.assertEqual(terminal.end(), 0)
        self.assertIn(b"retort: the program goes on: retort attach work shell\r\n", terminal.out)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)
        again = self.terminal("attach", "work", "shell", rows=50, columns=132)
        again.wait(r"\$ ")  # what is on its screen
        again.type("stty size; echo $x\r")
        again.wait("50 132\r\nkept\r\n")
        self.leave(again)
        other = self.bash("--detach-keys", "ctrl-a,d", "--name", "other")
        other.type("echo \x10\x11\r")
        other.type("\x01d")
        self.assertEqual(other.end(), 0)
        self.assertEqual(self.client("process.get", session="work", process="other")["state"], "running")

    def test_modes_are_restored_whatever_happens(self):
        terminal = self.bash()
        terminal.wait_until(terminal.is_raw)
        os.kill(terminal.pid, signal.SIGTERM)
        terminal.type("kill -9 $$\r")  # an interactive bash ignores SIGTERM
        self.assertEqual(terminal.end(), 137)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)
        terminal = self.bash()
        os.kill(terminal.pid, signal.SIGHUP)
        self.assertEqual(terminal.end(), 129)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)
        with rpc.Engine() as engine:
            engine.client()("session.create", name="work")
            terminal = self.bash(env={"RETORT_SOCKET": engine.path})
            engine.process.kill()
            self.assertEqual(terminal.end(), 4)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)
        self.assertTrue(terminal.out.endswith(b"\r\n"))

    SCREEN = r"\33[?1049h\33[?25l\33[?1000;1006h\33[?2004h\33[?1h\33=full"
    LEFT = b"\x1b>\x1b[?1l\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l"

    def screen(self, *options, **more):
        terminal = self.terminal("exec", "-it", *options, "work", "sh", "-c", f"printf '{self.SCREEN}'; exec sleep 1000", **more)
        terminal.wait("full")
        terminal.wait_until(terminal.is_raw)
        return terminal

    def test_the_screen_is_left_whatever_happens(self):
        terminal = self.screen("--name", "whole")
        terminal.type("\x10\x11")
        self.assertEqual(terminal.end(), 0)
        self.assertTrue(terminal.out.startswith(self.LEFT + b"\r\nretort: the program goes on"), terminal.out)
        again = self.terminal("attach", "work", "whole")
        again.wait("full")
        os.kill(again.pid, signal.SIGTERM)
        self.assertEqual(again.end(), 143)
        self.assertTrue(again.out.startswith(self.LEFT + b"\r\nretort: the program goes on"), again.out)
        terminal = self.terminal("attach", "work", "whole")
        terminal.wait("full")
        self.client("process.signal", session="work", process="whole", signal="KILL")
        self.assertEqual(terminal.end(), 137)
        self.assertEqual(terminal.out, self.LEFT)
        with rpc.Engine() as engine:
            client = engine.client()
            for end, status in ((lambda: client("session.close", session="work"), 137), (engine.process.kill, 4)):
                client("session.create", name="work")
                terminal = self.screen(env={"RETORT_SOCKET": engine.path})
                end()
                self.assertEqual(terminal.end(), status)
                self.assertTrue(terminal.out.startswith(self.LEFT + b"retort: "), terminal.out)

    def test_what_a_program_leaves_by_itself_is_its_own_matter(self):
        terminal = self.terminal("exec", "-it", "work", "sh", "-c", f"printf '{self.SCREEN}'; exit 3")
        terminal.wait("full")
        self.assertEqual((terminal.end(), terminal.out), (3, b""))

    @unittest.skipUnless(shutil.which("vim"), "needs vim")
    def test_an_editor_is_left_and_drawn_again(self):
        terminal = self.terminal("exec", "-it", "--name", "editor", "work", "vim", "-u", "NONE", "-N", "drawn.txt")
        terminal.wait("drawn.txt")
        terminal.type("ifirst line\x1b")
        terminal.wait("first line")
        terminal.type("\x10\x11")
        self.assertEqual(terminal.end(), 0)
        self.assertIn(b"\x1b[?1049l", terminal.out)
        for rows in (24, 30):  # the size that it had, and another one
            again = self.terminal("attach", "work", "editor", rows=rows)
            again.wait(r"\x1b\[1;1Hfirst line\r\n")  # as a whole, not as it was typed
            again.wait(rf"\x1b\[{rows};1H")
            if rows == 24:
                again.type("\x10\x11")
                self.assertEqual(again.end(), 0)
        again.type("osecond\x1b:wq\r")
        self.assertEqual(again.end(), 0)
        self.assertEqual(self.exec("work", "cat", "drawn.txt").out, "first line\nsecond\n")

    def test_suspended_from_outside(self):
        terminal = self.bash()
        terminal.wait_until(terminal.is_raw)
        os.kill(terminal.pid, signal.SIGTSTP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(terminal.pid, os.WUNTRACED)[1]))
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.wait_until(terminal.is_raw)
        terminal.type("echo on''ward\r")
        terminal.wait("onward")
        self.leave(terminal)

    def test_a_terminal_without_input(self):
        done = self.exec("-t", "work", "sh", "-c", "tty; stty size")
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertRegex(done.out, r"^/dev/pts/\d+\r\n24 80\r\n$")


class InABoxOfItsOwn(Case):
    """`retort run -- CMD`."""

    def test_like_exec(self):
        done = harness.retort("run", "-i", "--", "sh", "-c", "cat; echo err >&2; exit 3", stdin=b"\xffin\n")
        self.assertEqual((done.status, done.stdout, done.err), (3, b"\xffin\n", "err\n"))
        self.assertEqual(harness.retort("run", "--", "cat", stdin=b"no").out, "")
        done = harness.retort("run", "-e", "A=b", "--", "sh", "-c", "echo $A; pwd; ls -A")
        self.assertEqual(done.out, "b\n/home/user\n")

    def test_files(self):
        where = harness.make_dir()
        with open(os.path.join(where, "in.txt"), "w", encoding="utf-8") as f:
            f.write("from outside")
        done = harness.retort("run", "--stdin", "in.txt", "-v", "in.txt", "-o", "out", "--", "sh", "-c",
                              "cat >copy; cmp copy in.txt", cwd=where)
        self.assertEqual((done.status, done.out, done.err), (0, "", ""))
        with open(os.path.join(where, "out", "copy"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "from outside")

    def test_json(self):
        done = harness.retort("run", "--json", "--", "sh", "-c", "echo out; exit 4")
        about = done.json()
        self.assertEqual((done.status, about["exit_code"], about["stdout"], about["argv"][0]), (4, 4, "out\n", "sh"))
        done = harness.retort("run", "--json", "--", "nonsense")
        self.assertEqual((done.status, done.json()["error"]["code"]), (127, "runtime"))

    def test_limits(self):
        done = harness.retort("run", "--timeout", "300ms", "--", "sleep", "60")
        self.assertEqual(done.status, 124)
        self.assertIn("its limit of 300 ms of wall time", done.err)

    def test_at_a_terminal(self):
        terminal = self.terminal("run", "-it", "--", "bash", "--norc", "--noprofile", rows=33, columns=66)
        terminal.wait(r"\$ ")
        terminal.type("stty size\r")
        terminal.wait("33 66\r\n")
        terminal.type("exit 5\r")
        self.assertEqual(terminal.end(), 5)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)

    def test_what_ends_with_us_cannot_be_left(self):
        """The keys that detach from `exec` are keys like others."""
        terminal = self.terminal("run", "-it", "--", "sh", "-c", "stty raw -echo; echo ready; dd bs=1 count=2 | od -c")
        terminal.wait("ready")
        terminal.type("\x10\x11")
        terminal.wait("020 021")
        self.assertEqual(terminal.end(), 0)

    def test_what_is_wrong_is_said(self):
        for args, said in (
                (["--"], "the program behind -- is missing: for example: retort run -it -- bash"),
                (["-it", "-c", "1"], "--tty is for a program behind --: write: retort run -it -- bash"),
                (["--runtime", "sql", "--", "true"], "--runtime is not for a program behind --: leave it out, or write a "
                 "FILE or -c CODE instead of --"),
                (["--json", "-t", "--", "true"], "--json and --tty exclude each other: leave one out"),
                (["-it", "--", "bash"], "standard input is not a terminal: leave out -t: -i alone passes on what it has")):
            done = harness.retort("run", *args)
            self.assertEqual((done.status, done.err), (2, f"retort: {said}\n"))

    def test_nothing_is_left(self):
        """Its engine and its box end with it, also if it is killed."""
        process = self.start("run", "--", "sh", "-c", "echo ready; exec sleep 4321")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        below = rpc.descendants(process.pid)
        self.assertGreater(len(below), 2)
        process.kill()
        self.finish(process)
        while any(os.path.exists(f"/proc/{pid}") for pid in below):
            pass

    def test_the_engine_of_a_run_is_killed(self):
        process = self.start("run", "--", "sh", "-c", "echo ready; exec sleep 4321")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.kill(rpc.children(process.pid)[0], signal.SIGKILL)
        self.assertEqual(self.finish(process), (125, b"", b"retort: the box was ended from outside: run it again\n"))



if __name__ == "__main__":
    harness.main()
