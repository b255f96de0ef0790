# SPDX-License-Identifier: Apache-2.0
"""Terminals in a box, with programs that nobody here wrote: shells, editors, pagers, monitors, REPLs, tmux."""

import base64
import hashlib
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402
import service  # noqa: E402

PY = "/usr/bin/python3"
ESC, ENTER, END = "\x1b", "\r", "\x04"
CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"


def needs(program):
    """What is in a box is what the host has in /usr."""
    found = shutil.which(program, path="/usr/bin:/bin")
    return unittest.skipUnless(found, f"{program} is not installed: `make deps`")


class Case(programs.Case):
    def shell(self, **params):
        t = self.terminal("/bin/bash", "--norc", "--noprofile", **params)
        t.type("PS1='$ '; echo ready$((6 * 7))\n")
        t.expect("ready42\r\n\\$ ")
        return t

    def gone(self, name):
        self.until(lambda: not [p for p in self.list() if name in p.get("command", "")])

    def there(self, name):
        return self.until(lambda: next((p for p in self.list() if name in p.get("command", "")), None))


class Shells(Case):
    def test_without_argv_it_is_a_login_shell(self):
        t = self.terminal(name="t", rows=30, cols=100)
        t.type("shopt -q login_shell && echo login$((6 * 7)) $- $TERM $(stty size) $(tty) $PWD\n")
        found = t.expect(r"login42 (\S+) (\S+) (\d+ \d+) (\S+) (\S+)\r\n")
        flags, term, size, tty, directory = (group.decode() for group in found.groups())
        self.assertIn("i", flags)
        self.assertIn("m", flags)  # job control
        self.assertEqual((term, size, tty, directory), ("xterm-256color", "30 100", "/dev/pts/0", "/home/user"))
        t.type("exit 7\n")
        about = t.end()
        self.assertEqual((about["exit_code"], about["rows"], about["cols"], about["terminal"]), (7, 30, 100, True))

    def test_no_complaint(self):
        """A shell that has no controlling terminal says so."""
        t = self.terminal()
        t.type("echo ready$((6 * 7)); exit\n")
        t.end()
        for word in (b"no job control", b"cannot set terminal", b"Inappropriate"):
            self.assertNotIn(word, t.out["stdout"])

    def test_job_control(self):
        t = self.shell()
        t.type("sleep 1001\n")
        self.there("sleep 1001")
        t.type(CTRL_Z)
        t.expect(r"\[1\]\+\s+Stopped\s+sleep 1001")
        t.type("sleep 1002 &\n")
        t.expect(r"\[2\] \d+\r\n\$ ")
        t.type("jobs\n")
        t.expect(r"\[1\]\+\s+Stopped\s+sleep 1001\r\n\[2\]-\s+Running\s+sleep 1002 &\r\n\$ ")
        t.type("bg %1; jobs\n")
        t.expect(r"\[1\]\S*\s+Running\s+sleep 1001")
        t.type("fg %1\n")
        t.expect(r"sleep 1001\r\n")
        self.until(lambda: self.foreground(t) == "sleep 1001")
        t.type(CTRL_C)
        t.expect(r"\^C\r\n\$ ")
        t.type("echo status$?\n")
        t.expect("status130\r\n")
        self.gone("sleep 1001")
        self.there("sleep 1002")
        t.type("kill %2; wait; fg\n")
        t.expect("no such job")

    def foreground(self, terminal):
        """The command line of the terminal's foreground process group, as the kernel has it."""
        here = self.in_box()
        shell = here[self.call("process.get", process=terminal.process)["pid"]]
        with open(f"/proc/{shell}/stat", encoding="utf-8", errors="replace") as f:
            group = int(f.read().rpartition(")")[2].split()[5])
        try:
            with open(f"/proc/{group}/cmdline", encoding="utf-8", errors="replace") as f:
                return f.read().rstrip("\0").replace("\0", " ")
        except OSError:
            return ""

    def test_keys_that_send_signals(self):
        t = self.shell()
        for key, status in ((CTRL_C, 130), (CTRL_BACKSLASH, 131)):
            t.type("sleep 1001\n")
            self.until(lambda: self.foreground(t) == "sleep 1001")
            t.type(key)
            t.type("echo status$?\n")
            t.expect(rf"status{status}\r\n")

    def test_signals_of_clients_reach_the_foreground(self):
        """`process.signal` is like the key: it is for what runs in the terminal now."""
        t = self.shell()
        t.type("sleep 1001\n")
        self.until(lambda: self.foreground(t) == "sleep 1001")
        t.call("process.signal", signal="INT")
        t.type("echo status$?\n")
        t.expect("status130\r\n")
        t.type("sleep 1001\n")
        self.until(lambda: self.foreground(t) == "sleep 1001")
        t.call("process.signal", signal="TSTP")
        t.expect("Stopped")
        t.call("process.signal", signal="KILL")
        self.assertEqual(t.end()["signal"], 9)

    def test_size(self):
        t = self.shell(rows=24, cols=80)
        for rows, cols in ((10, 20), (1, 1), (4096, 4096), (24, 80)):
            self.assertEqual(t.resize(rows, cols), {})
            t.type("echo size $(stty size)\n")
            t.expect(rf"size {rows}\s+{cols}\s") if cols > 20 else \
                self.assertEqual(self.call("process.get", process=t.process)["rows"], rows)
        about = self.call("process.get", process=t.process)
        self.assertEqual((about["rows"], about["cols"]), (24, 80))

    def test_a_new_size_is_told(self):
        # Not a shell's trap: bash 5.2 loses one signal of some thousands that come just before `read -t`.
        script = "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\nprint('ready', flush=True)\n" \
            "while signal.sigwait([signal.SIGWINCH]): print('now', *os.get_terminal_size(), flush=True)"
        t = self.terminal(PY, "-c", script)
        t.expect("ready")
        for rows, cols in ((10, 20), (50, 200), (30, 90)):
            t.resize(rows, cols)
            t.expect(f"now {cols} {rows}\r\n")

    def test_ctrl_d_ends(self):
        t = self.terminal("cat")
        t.type("one\n")
        t.expect("one\r\none\r\n")
        t.type(END)
        self.assertEqual(t.end()["exit_code"], 0)
        # A client may say `end` instead of knowing the key.
        t = self.terminal("sh", "-c", "stty eof '^A'; echo ready; cat; echo status$?")
        t.expect("ready\r\n")
        self.assertEqual(t.call("process.write", data="two\n", end=True), {"bytes": 4})
        t.expect("status0\r\n")
        self.assertEqual(t.end()["exit_code"], 0)

    def test_end_twice(self):
        """The first end is for `cat`, the second for the shell: a terminal stays open after Ctrl-D."""
        t = self.shell()
        t.type("cat; echo cat$?\n")
        self.there("cat")
        t.call("process.write", data="", end=True)
        t.expect("cat0\r\n\\$ ")
        t.call("process.write", data="", end=True)
        self.assertEqual(t.end()["exit_code"], 0)

    def test_bytes_pass_unchanged(self):
        """In raw mode all bytes come through, both ways; more than the terminal's queue holds, too."""
        script = "import hashlib, os, sys, tty\ntty.setraw(0)\nos.write(1, b'ready')\nh, n = hashlib.sha256(), 0\n" \
            "while n < int(sys.argv[1]):\n    d = os.read(0, 65536)\n    n += len(d); h.update(d)\n" \
            "sys.stdout.write(h.hexdigest()); sys.stdout.flush()\n" \
            "os.write(1, bytes(range(256)))"
        data = bytes(range(256)) * 2048
        t = self.terminal(PY, "-c", script, str(len(data)))
        t.expect("ready")
        t.call("process.write", data=base64.b64encode(data).decode(), encoding="base64")
        self.assertEqual(t.end()["exit_code"], 0)
        self.assertEqual(t.out["stdout"], b"ready" + hashlib.sha256(data).hexdigest().encode() + bytes(range(256)))

    def test_what_is_typed_before_the_program_reads(self):
        t = self.terminal("sh", "-c", "read a; read b; echo got $b $a")
        t.type("one\ntwo\n")
        t.expect("got two one\r\n")
        self.assertEqual(t.end()["exit_code"], 0)

    def test_two_readers_and_scrollback(self):
        t = self.shell()
        t.type("echo first$((6 * 7))\n")
        t.expect("first42")
        other = self.attach(t.process)
        other.expect("first42")
        t.type("echo second$((6 * 7))\n")
        for one in (t, other):
            one.expect("second42")
        self.assertEqual(t.detach()["state"], "running")
        again = self.attach(t.process, stdout_offset=t.at["stdout"])
        other.client.call("process.write", session=self.s, process=t.process, data="exit\n")
        other.end()
        again.end()
        self.assertEqual(t.out["stdout"] + again.out["stdout"], other.out["stdout"])

    def test_a_terminal_by_process_start(self):
        process = self.start("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; echo err >&2", terminal=True,
                             rows=5, cols=6, env={"TERM": "dumb"})
        self.wait(process)
        self.assertEqual(self.output(process)[0], b"5 6\r\nerr\r\n")
        self.assertEqual(self.output(process, "stderr"), (b"", 0))

    def test_terminals_are_apart(self):
        one, other = self.shell(), self.shell()
        one.type("tty; echo private$((6 * 7))\n")
        one.expect("/dev/pts/0\r\nprivate42")
        other.type("tty\n")
        other.expect("/dev/pts/1\r\n")
        self.assertNotIn(b"private", other.out["stdout"])
        one.type("exit\n")
        one.end()
        other.type("echo still$((6 * 7))\n")
        other.expect("still42")

    def test_steps_and_terminals_share_the_box(self):
        t = self.shell()
        t.type("echo hello >made.txt; echo done$((6 * 7))\n")
        t.expect("done42")
        self.assertEqual(self.call("step.run", code="open('made.txt').read()")["value"]["text/plain"], "'hello\\n'")


class Programs(Case):
    """Full-screen programs and REPLs."""

    @needs("vim")
    def test_vim(self):
        t = self.terminal("vim", "-u", "NONE", "-N", "notes.txt", rows=24, cols=80)
        t.expect(r"notes\.txt")
        t.type("ihello from vim" + ESC)
        t.expect("hello from vim")
        t.resize(12, 40)
        t.expect("hello from vim")  # drawn anew
        t.type(":put =&lines . 'x' . &columns" + ENTER)
        t.expect("12x40")
        t.type(":wq" + ENTER)
        self.assertEqual(t.end()["exit_code"], 0)
        self.assertEqual(self.call("file.read", path="notes.txt")["content"], "hello from vim\n12x40\n")

    @needs("vim")
    def test_vim_is_suspended_and_resumed(self):
        t = self.shell()
        t.type("vim -u NONE -N a.txt\n")
        t.expect("~")
        t.type("iabc" + ESC + CTRL_Z)
        t.expect("Stopped")
        t.type("fg\n")
        t.expect("abc")
        t.type(":q!" + ENTER)
        t.expect(r"\$ $")  # vim discards what is typed before it has ended
        t.type("echo back$((6 * 7))\n")
        t.expect("back42")

    @needs("less")
    def test_less(self):
        self.done(command="seq -f 'line %04.0f' 1000 >long.txt")
        t = self.terminal("less", "long.txt", rows=10, cols=40, env={"LESS": "", "LESSHISTFILE": "-"})
        t.expect("line 0001")
        self.assertNotIn(b"line 0020", t.out["stdout"])
        t.type(" ")
        t.expect("line 0015")
        t.type("/0500" + ENTER)
        t.expect("line 0500")
        t.type("G")
        t.expect(r"line 1000\r\n\(END\)")
        # less notices a new size while it waits for a key.
        here = self.in_box()[self.call("process.get", process=t.process)["pid"]]
        self.until(lambda: harness.processes()[here][2] == "S")
        t.resize(20, 40)
        t.expect("~")  # below the last line
        t.type("g")
        t.expect("line 0019")  # it draws upwards
        t.expect("line 0001")
        t.type("q")
        self.assertEqual(t.end()["exit_code"], 0)

    @needs("top")
    def test_top(self):
        t = self.terminal("top", "-d", "0.2")
        t.expect(r"PID\s+USER")
        t.expect("top")
        t.resize(40, 132)
        t.expect(r"PID\s+USER")
        t.type("q")
        self.assertEqual(t.end()["exit_code"], 0)

    @needs("htop")
    def test_htop(self):
        self.start("sleep", "1234567")
        t = self.terminal("htop", "-d", "2", rows=30, cols=120)
        t.expect("sleep")
        t.expect("F10|Quit")
        t.resize(20, 100)
        t.expect("Quit")
        t.type("q")
        self.assertEqual(t.end()["exit_code"], 0)

    def test_python(self):
        t = self.terminal(PY, "-q")
        t.expect(">>> ")
        t.type("6 * 7\n")
        t.expect("42\r\n>>> ")
        t.type("import time\n")
        t.expect(">>> ")
        t.type("time.sleep(1000)\n")
        t.expect(r"time\.sleep\(1000\)\r\n")
        self.until(lambda: self.is_asleep(t))
        t.type(CTRL_C)
        t.expect("KeyboardInterrupt\r\n>>> ")
        t.type("input('name? ')\n")
        t.expect(r"name\? ")
        t.type("x\n")
        t.expect("'x'\r\n>>> ")
        t.type(END)
        self.assertEqual(t.end()["exit_code"], 0)

    def is_asleep(self, terminal):
        pid = self.in_box()[self.call("process.get", process=terminal.process)["pid"]]
        with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
            where = f.read()
        return "nanosleep" in where or where == "0"  # 0: not told to this user

    @needs("node")
    def test_node(self):
        t = self.terminal("node", env={"NODE_REPL_HISTORY": ""})
        t.expect("> ")
        t.type("6 * 7" + ENTER)
        t.expect("42\r\n")
        t.type("[process.stdout.rows, process.stdout.columns].join('x')" + ENTER)
        t.expect("24x80")
        t.type("process.stdout.on('resize', function () { console.log('now', process.stdout.rows * 1000) }); "
               "'liste' + 'ning'" + ENTER)
        t.expect("listening'\r\n")
        t.resize(33, 100)
        t.expect("now 33000")
        # Not Ctrl-C while it computes: node then sometimes goes on, in any terminal.
        t.type("'in' + 6 * 7" + ENTER)
        t.expect("in42'\r\n.*> $")
        t.type(CTRL_C)
        t.expect(r"press Ctrl\+C again")
        t.type(".exit" + ENTER)
        self.assertEqual(t.end()["exit_code"], 0)

    @needs("tmux")
    def test_tmux(self):
        """Its server is a daemon with terminals of its own; a client leaves and another comes back to it."""
        # Else keys that come fast are taken for a paste.
        self.call("file.write", path="tmux.conf", content="set -g assume-paste-time 0\n")
        t = self.terminal("tmux", "-f", "tmux.conf", "new", "-s", "work", "bash --norc --noprofile", rows=24, cols=80)
        t.expect(r"\[work\]")
        t.type("echo in$((6 * 7)) $(tty) $(stty size)\n")
        t.expect(r"in42 /dev/pts/\d+ 23 80")
        t.type("keep=48; echo kept$((6 * 7))\n")
        t.expect("kept42")
        t.type("\x02d")
        t.expect("detached")
        self.assertEqual(t.end()["exit_code"], 0)
        self.assertIn("work", self.out_of("tmux", "ls"))
        t = self.terminal("tmux", "attach", rows=30, cols=100)
        t.expect("in42")
        t.type("echo again$((keep - 6)) $(stty size)\n")
        t.expect("again42 29 100")
        t.type("\x02\"")
        self.until(lambda: self.out_of("tmux", "list-panes").count("\n") == 2)
        t.type("exit\n")
        self.until(lambda: self.out_of("tmux", "list-panes").count("\n") == 1)
        t.type("exit\n")
        t.expect("exited")
        self.assertEqual(t.end()["exit_code"], 0)

    @needs("script")
    def test_script(self):
        t = self.terminal("script", "-q", "-c", "tty; echo in$((6 * 7)); sh", "log.txt")
        t.expect(r"/dev/pts/1\r\nin42\r\n")
        t.type("echo typed$((6 * 7))\n")
        t.expect("typed42\r\n")
        t.type("exit\n")
        self.assertEqual(t.end()["exit_code"], 0)
        self.assertIn("typed42", self.call("file.read", path="log.txt")["content"])

    def test_a_pty_in_a_pty(self):
        """Programs of the box make terminals of their own: with and without one around them."""
        script = "import os, pty, sys\nr = pty.spawn(['sh', '-c', 'tty; stty size; test -t 0 && echo own'])\n" \
            "sys.exit(os.waitstatus_to_exitcode(r))"
        about, out = self.done(PY, "-c", script)
        self.assertEqual(about["exit_code"], 0, out)
        self.assertRegex(out.decode(), r"/dev/pts/\d+\r\n0 0\r\nown\r\n")
        t = self.terminal(PY, "-c", script)
        t.expect(r"/dev/pts/1\r\n")
        t.expect("own\r\n")
        self.assertEqual(t.end()["exit_code"], 0)

    def test_a_program_that_is_driven_by_python(self):
        """As pexpect does: fork a child with a terminal, type, look."""
        script = "import os, pty\npid, fd = pty.fork()\n" \
            "if not pid: os.execvp('sh', ['sh', '-c', 'read x; echo got $x'])\n" \
            "os.write(fd, b'hi\\n')\nout = b''\n" \
            "while b'got hi' not in out: out += os.read(fd, 100)\nos.waitpid(pid, 0)\nprint('fine')"
        self.assertEqual(self.out_of(PY, "-c", script), "fine\n")


class Many(Case):
    def test_fifty_at_once(self):
        all_ = [self.terminal("/bin/sh", rows=20 + i, cols=80) for i in range(30)]
        s = self.new_session()
        all_ += [self.terminal("/bin/sh", session=s, rows=50 + i, cols=80) for i in range(20)]
        for i, t in enumerate(all_):
            t.type(f"echo n$(({i} + 1000)) $(stty size) $(tty)\n")
        seen = [t.expect(rf"n{i + 1000} {20 + i} 80 (/dev/pts/\d+)\r\n")[1] for i, t in enumerate(all_)]
        self.assertEqual((len(set(seen[:30])), len(set(seen[30:]))), (30, 20))
        for t in all_:
            t.type("exit 3\n")
        self.assertEqual({t.end()["exit_code"] for t in all_}, {3})

    def test_fifty_in_a_session(self):
        """As many as a client asks for work, or are refused in words; all that were opened work."""
        opened = []
        for i in range(50):
            try:
                opened.append(self.terminal("/bin/sh"))
            except service.Refused as error:
                self.fail(f"terminal {i}: {error}")
        for i, t in enumerate(opened):
            t.type(f"echo n$(({i} + 1000))\n")
        for i, t in enumerate(opened):
            t.expect(f"n{i + 1000}\r\n")

    def test_one_after_the_other(self):
        """Each one that has ended makes room."""
        for _ in range(harness.sample(60, 500)):
            t = self.call("terminal.open", argv=["true"])["process"]
            self.assertEqual(self.wait(t)["exit_code"], 0)


class Kills(Case):
    """Killed at each moment, a program is gone, its output is whole, and the session goes on."""

    def kill(self, process, **params):
        try:
            self.call("process.signal", process=process, signal="KILL", **params)
        except service.Refused as error:
            self.assertEqual(error.code, "gone", str(error))

    def ends(self, process):
        about = self.wait(process)
        self.assertTrue(about.get("signal") == 9 or about.get("exit_code") == 0, about)

    def goes_on(self):
        self.assertEqual(self.out_of("echo", "on"), "on\n")
        self.assertEqual(self.call("step.run", code="6 * 7")["value"]["text/plain"], "42")
        self.until(lambda: len(self.list()) == sum("argv" in p for p in self.list()))

    def test_while_it_starts(self):
        for i in range(harness.sample(30, 500)):
            number = self.client.send("terminal.open", session=self.s, argv=["sleep", "1000"], name=f"t{i}")
            kill = self.client.send("process.signal", session=self.s, process=f"t{i}", signal="KILL")
            process = self.client.receive(number)["process"]
            try:
                self.client.receive(kill)
            except service.Refused as error:
                self.assertIn(error.code, ("gone", "not_found", "busy"), str(error))
                self.kill(process)
            self.ends(process)
        self.goes_on()

    def test_while_it_starts_and_the_call_is_cancelled(self):
        for i in range(harness.sample(30, 500)):
            number = self.client.send("terminal.open", session=self.s, argv=["sleep", "1000"], name=f"c{i}")
            self.client.cancel(number)
            try:
                self.kill(self.client.receive(number)["process"])
            except service.Refused as error:
                self.assertIn(error.code, ("interrupted", "gone"), str(error))
        for row in self.list():
            if row["state"] == "running":
                self.kill(row["process"])
        self.goes_on()

    def test_while_it_runs(self):
        for _ in range(harness.sample(10, 100)):
            t = self.shell()
            t.type("sleep 1001 | cat\n")
            self.there("sleep 1001")
            self.kill(t.process)
            self.assertEqual(t.end()["signal"], 9)
            # The kernel hangs up what was in the foreground of the terminal.
            self.gone("sleep 1001")
            t.close()
        self.goes_on()

    def test_while_its_output_is_full(self):
        for terminal in (False, True):
            process = self.start("yes", hold=True, terminal=terminal, output_bytes=4096)
            about = self.until(lambda: (a := self.call("process.get", process=process))["stdout_bytes"] >= 4096 and a)
            self.assertEqual(about["stdout_bytes"], 4096)
            self.kill(process)
            self.assertEqual(self.wait(process)["signal"], 9)
            attached = self.attach(process)
            self.assertEqual(attached.end()["signal"], 9)
        process = self.start("yes", terminal=True)
        self.kill(process)
        self.ends(process)
        self.goes_on()

    def test_while_it_ends(self):
        for i in range(harness.sample(50, 1000)):
            process = self.start("true", terminal=i % 2 == 0)
            self.kill(process)
            self.ends(process)
        self.goes_on()

    def test_a_program_that_ignores_sigterm(self):
        t = self.terminal("bash", "-c", "trap 'echo no' TERM HUP INT QUIT TSTP; echo ready; while :; do read -t 0.1; done")
        t.expect("ready")
        for word in ("TERM", "HUP", "INT"):
            t.call("process.signal", signal=word)
            t.expect("no\r\n")
        t.type(CTRL_C)
        t.expect("no\r\n")
        self.kill(t.process)
        self.assertEqual(t.end()["signal"], 9)
        t = self.terminal("bash", "-c", "trap '' TERM; sleep 1001; sleep 1002", timeout_ms=1000)
        about = t.end()
        self.assertEqual((about["signal"], about["timed_out"]), (9, True))

    def test_a_program_that_daemonizes_twice(self):
        """It leaves the terminal, the session and its parents, and ends with the box."""
        script = "import os, signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nfor _ in range(2):\n    if os.fork(): os._exit(0)\n    os.setsid()\n" \
            "fd = os.open('/dev/null', os.O_RDWR)\nfor n in range(3): os.dup2(fd, n)\n" \
            "open('pid', 'w').write(str(os.getpid())); time.sleep(1000)"
        t = self.terminal(PY, "-c", script)
        self.assertEqual(t.end()["exit_code"], 0)
        pid = int(self.until(self.read_pid))
        self.assertIn(pid, [p["pid"] for p in self.list()])
        here = self.in_box()[pid]
        self.assertEqual(self.call("step.run", code="6 * 7")["value"]["text/plain"], "42")
        self.call("session.close")
        self.until(lambda: here not in harness.processes())

    def read_pid(self):
        try:
            return self.call("file.read", path="pid")["content"]
        except service.Refused:
            return ""

    def test_a_program_that_fills_its_terminal(self):
        t = self.terminal("sh", "-c", "yes | head -c 5000000")
        t.is_kept = False
        about = t.end()
        # Each line end is two bytes in a terminal.
        self.assertEqual((about["exit_code"], about["stdout_bytes"]), (0, 7500000))
        self.assertEqual(t.at["stdout"], 7500000)

    def test_hold_in_a_terminal(self):
        """The last bytes of a terminal may still be on their way in the kernel when the program has ended."""
        for _ in range(harness.sample(10, 200)):
            process = self.call("terminal.open", argv=["seq", "20000"], hold=True, output_bytes=4096)["process"]
            attached = self.attach(process)
            self.assertEqual(attached.end()["exit_code"], 0)
            self.assertEqual(attached.cut["stdout"], 0)
            self.assertTrue(attached.out["stdout"] == b"".join(b"%d\r\n" % i for i in range(1, 20001)), "it is not whole")
            attached.close()


if __name__ == "__main__":
    harness.main()
