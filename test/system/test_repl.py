# SPDX-License-Identifier: Apache-2.0
"""The interactive session: statements from a pipe, and from a person at a terminal."""

import fcntl
import glob
import importlib.util
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"


def pipe(text, *options, **kwargs):
    return harness.retort("repl", *options, stdin=text.encode(), **kwargs)


def journals():
    """Those in /tmp that have a name, and whose they are."""
    found = set()
    for path in glob.glob("/tmp/retort-*/journal.lock"):
        try:
            with open(path, encoding="utf-8") as f:
                found.add((path, f.read().strip()))
        except OSError:
            continue
    return found


class Terminal:
    """`retort repl` on a pseudo-terminal."""

    PASTE = re.compile(rb"\033\[\?2004[hl]")
    pastes = 0

    def __init__(self, *options, state=None, command=None, **more):
        self.out = b""
        env = harness.environment({"TERM": "xterm", "XDG_STATE_HOME": state or harness.make_dir(), **more})
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(harness.RETORT, ["retort", *(command or ["repl", *options])], env)

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.out += os.read(self.fd, 1 << 16)
            except OSError:
                return False
            # What asks the terminal to bracket what is pasted stands around each prompt.
            self.pastes += len(self.PASTE.findall(self.out))
            self.out = self.PASTE.sub(b"", self.out)
        return True

    def wait(self, text):
        end = time.monotonic() + 30
        while text.encode() not in self.out:
            if time.monotonic() > end or not self.read(1):
                raise AssertionError(f"no {text!r} in {self.out.decode(errors='replace')}")
        before, _, self.out = self.out.partition(text.encode())
        return before.decode(errors="replace")

    def type(self, text):
        os.write(self.fd, text.encode())

    def rest(self):
        """What comes until its end."""
        self.end()
        return self.out.decode(errors="replace")

    def end(self):
        """Wait for its end. What is left is in `out`."""
        end = time.monotonic() + 30
        while self.read(1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"it does not end: {self.out.decode(errors='replace')}")
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


class Pipe(harness.Case):
    def test_statements_share_variables(self):
        done = pipe("x = 4\nfor i in range(2):\n    print(i)\n\n    print('b')\nx\nif x:\n  1\nelse:\n  2\n'end'")
        self.assertEqual((done.status, done.out, done.err), (0, "0\nb\n1\nb\n4\n'end'\n", ""))

    def test_a_failure_is_told_and_the_rest_goes_on(self):
        done = pipe("1 / 0\nprint('after')\n")
        self.assertEqual((done.status, done.out), (1, "after\n"))
        self.assertIn("ZeroDivisionError", done.err)
        self.assertNotIn("\033", done.err)

    def test_commands(self):
        done = pipe("x = 1\nx = 2\n%undo\nx\n%branch other\nx = 9\n%log all\n%reset\n%files\n%quit\nprint('no')\n")
        self.assertEqual(done.status, 0, repr(done))
        self.assertTrue(done.out.startswith("1\n"))
        self.assertIn("(other) x = 9", done.out)
        self.assertNotIn("no", done.out.splitlines())

    def test_a_branch_that_ends_processes_is_forced(self):
        start = "import subprocess; p = subprocess.Popen(['sleep', '60']); x = 7\n"
        done = pipe(start + "%branch other\nx\n")
        self.assertEqual((done.status, done.out), (1, "7\n"), repr(done))
        self.assertIn("which a branch cannot copy: end them first, or ask with --force (ends them) or --keep-processes ", done.err)
        done = pipe(start + "%branch --force other\nx, p.poll() is None\n%switch\n")
        self.assertEqual((done.status, done.err), (0, ""), repr(done))
        self.assertIn(" other ", done.out)
        self.assertTrue(done.out.startswith("(7, "), done.out)

    def test_wrong_commands(self):
        done = pipe("%udno\n%undo 99\n%switch nobody\n")
        self.assertEqual(done.status, 1)
        self.assertIn("retort: unknown command %udno: did you mean %undo?", done.err)
        self.assertEqual(len(done.err.splitlines()), 3)
        done = harness.retort("repl", stdin=b"%branch \xff\n%switch \xff\nx = '\xff'\n%switch\n")
        self.assertEqual(done.err.count("not UTF-8"), 3, done.err)
        self.assertEqual(len(done.out.splitlines()), 2)

    def test_a_runtime_is_named_whole(self):
        done = pipe("%runtime sq\n6 * 7\n%runtime sql\n%runtime\n")
        self.assertEqual((done.status, done.out), (1, "42\nsql (one of python, javascript, sql, shell)\n"))
        self.assertEqual(done.err, "retort: no runtime sq here: choose one of python, javascript, sql, shell\n")

    def test_sessions_are_listed_and_begun_anew(self):
        done = pipe("x = 1\n%branch other\n%switch main\n%reset\n'x' in dir()\n%switch other\nx\n%switch\n")
        self.assertEqual(done.status, 0, repr(done))
        self.assertRegex(done.out, r"^False\n1\nSESSION +NAME .*\n(s-.* (other|main) .*\n){2}$")

    def test_hints_are_for_here(self):
        done = pipe("%switch nobody\n%undo 7\n")
        self.assertRegex(done.err, r"^retort: .*: %switch lists them\nretort: .*: %log lists them\n$")

    def test_what_people_type_to_leave(self):
        for text in ("exit()", " quit\t", "sys.exit()", "exit(0)", "%runtime shell\nexit", "%runtime shell\nexit 0",
                     "%runtime sql\n.quit", "%runtime javascript\n.exit", "%runtime javascript\nprocess.exit()"):
            with self.subTest(text):
                done = pipe(text + "\n%nonsense\n")
                self.assertEqual((done.status, done.out, done.err), (0, "", ""))

    def test_a_step_that_is_rolled_back_is_told(self):
        done = pipe("x = 1\nimport os; x = 2; os._exit(0)\nx\n")
        self.assertEqual(done.out, "1\n")
        self.assertEqual(done.err, "retort: exited: the step ended itself with status 0: Ctrl-D or %quit leaves\n"
                         "retort: rolled back: variables and files are as before this step\n")
        self.assertEqual(pipe("import os; os._exit(0)\n", "--quiet").err, "")

    @harness.needs_shell_or_sql
    def test_a_step_that_exits_is_told_with_its_status(self):
        back = "retort: rolled back: variables and files are as before this step\n"
        for runtime, code, status, more in (
                ("python", "import os; os._exit(4)", 4, back), ("python", "exit(5)", 5, ""),
                ("python", "if 1:\n  import sys; sys.exit(6)\n", 6, ""), ("javascript", "process.exit(2)", 2, back),
                ("shell", "exit 3", 3, "")):
            with self.subTest(code=code):
                done = pipe(f"{code}\n", "-r", runtime)
                self.assertEqual((done.status, done.out), (1, ""))
                self.assertEqual(done.err, "retort: exited: the step ended itself with status "
                                 f"{status}: Ctrl-D or %quit leaves\n{more}")
        for code in ("class Exit(Exception): pass\n\nraise Exit\n", "1 / 0\n", "exit(5)\n"):
            self.assertNotIn("Ctrl-D", pipe(code, *["--quiet"] * code.startswith("exit")).err)
        self.assertEqual(pipe("false\n", "-r", "shell").err, "")

    def test_a_statement_may_be_too_long(self):
        done = pipe("'" + "x" * (17 << 20) + "'\n")
        self.assertEqual((done.status, done.out), (2, ""))
        self.assertEqual(done.err, "retort: a statement over 16 MiB: read what is large from a file\n")

    def test_a_statement_has_no_nul(self):
        done = pipe("x = 1\nx\ny = 2\0 + 1\ny\n")
        self.assertEqual((done.status, done.out), (2, "1\n"))
        self.assertEqual(done.err, "retort: standard input: line 3 has a NUL byte: take it out: neither its statement "
                         "nor what follows was run\n")

    def test_it_ends_when_nobody_reads(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([harness.RETORT, "repl"], input=b"print(1)\nimport time; time.sleep(1000)\n", check=False,
                              stdout=write, stderr=subprocess.PIPE, env=harness.environment(), timeout=harness.TIMEOUT_S)
        os.close(write)
        self.assertEqual((done.returncode, done.stderr), (141, b""))

    def test_lines_of_notebooks_are_pythons(self):
        done = pipe("%pwd\n%matplotlib inline\n%%bash\nfor i in 1 2; do\n  echo $i\ndone\n\nx = 4\n!echo {x}\n%udno\n")
        self.assertEqual(done.out.splitlines()[-3:], ["1", "2", "4"], done)
        self.assertIn("/home/user", done.out)
        self.assertEqual(done.err, "retort: unknown command %udno: did you mean %undo?\n")

    def test_time(self):
        done = pipe("%time 6 * 7\n")
        self.assertEqual(done.out, "42\n")
        self.assertRegex(done.err, r"^wall [\d.]+ ms, CPU [\d.]+ ms\n$")


class Person(harness.Case):
    def test_a_conversation(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("xylophone = 5\r")
        t.wait(">>> ")
        t.type("print(xyl\t * 2)\r")
        t.wait("10\r\n")
        t.type("if xylophone:\r")
        t.wait("... ")
        t.type("  print('blo' + 'ck')\r\r")
        t.wait("block\r\n")
        t.type("1 / 0\r")
        self.assertIn("\033[31m", t.wait("ZeroDivisionError"))
        t.type("%branch trial\r")
        t.wait("trial >>> ")
        t.type("xylophone + 1\r")
        t.wait("6\r\n")
        t.wait("trial >>> ")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_ctrl_c_stops_the_step(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("x = 5\r")
        t.wait(">>> ")
        t.type("import time; print('st' + 'art', flush=True); time.sleep(100)\r")
        t.wait("start\r\n")
        t.type("\x03")
        t.wait(">>> ")
        t.type("x * 111\r")
        t.wait("555\r\n")
        t.type("half of a line\x03")
        t.wait("^C")
        t.type("'still ' + 'here'\r")
        t.wait("'still here'")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_lines_are_remembered_until_next_time(self):
        state = harness.make_dir()
        t = Terminal(state=state)
        t.wait(">>> ")
        t.type("6 * 107\r")
        t.wait("642\r\n")
        t.wait(">>> ")
        t.type("%quit\r")
        self.assertEqual(t.end(), 0)
        path = os.path.join(state, "retort", "history")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        t = Terminal(state=state)
        t.wait(">>> ")
        t.type("\033[A\033[A\r")
        t.wait("642\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_lines_are_remembered_when_the_terminal_is_closed(self):
        state = harness.make_dir()
        t = Terminal(state=state)
        t.wait(">>> ")
        t.type("6 * 107\r")
        t.wait("642\r\n")
        os.kill(t.pid, signal.SIGHUP)
        t.end()
        with open(os.path.join(state, "retort", "history"), encoding="utf-8") as f:
            self.assertIn("107", f.read())

    def test_bytes_that_are_no_character_take_no_keys_along(self):
        t = Terminal()
        t.wait(">>> ")
        for cut in (b"\xff", b"\xe9", b"\xf0\x9f", b"\x80"):
            os.write(t.fd, b"'" + cut + b"'.isascii(), 6 * 7\r")
            t.wait("(False, 42)\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_ctrl_d_leaves_whenever_it_is_typed(self):
        started = "import time; print('st' + 'art', flush=True); time.sleep(0.2)\r"
        cases = {
            "before it reads": ("", ""),
            "at the prompt": ("", ">>> "),
            "during a step": (started, "start\r\n"),
            "behind a line typed during a step": (started, "start\r\n", "6 * 7\r"),
            "behind a line typed before": ("", "", "6 * 7\r"),
        }
        for name, (first, until, *more) in cases.items():
            with self.subTest(name):
                t = Terminal()
                if first:
                    t.wait(">>> ")
                    t.type(first)
                if until:
                    t.wait(until)
                t.type("".join(more) + "\x04")
                self.assertEqual(t.end(), 0)
                self.assertEqual(b"42\r\n" in t.out, bool(more), t.out)

    def test_ctrl_d_in_a_line_deletes(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("6 * 19\x04\033[D\x047\r")
        t.wait("102\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_what_is_typed_during_a_step_is_shown_once_and_as_it_was(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("import time; word = 'ok'; print('st' + 'art', flush=True); time.sleep(0.2)\r")
        t.wait("start\r\n")
        t.type("wrong\x15wo\t * 2\r")
        self.assertNotIn("wrong", t.wait(">>> "))
        t.wait("okok")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def leaves_as_it_was(self, t, status):
        fresh, other_end = pty.openpty()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]), status)
        self.assertEqual(termios.tcgetattr(t.fd), termios.tcgetattr(fresh))
        for fd in (fresh, other_end, t.fd):
            os.close(fd)

    def test_the_terminal_is_as_it_was(self):
        t = Terminal()
        t.wait(">>> ")
        self.assertFalse(termios.tcgetattr(t.fd)[3] & (termios.ICANON | termios.ECHO))
        t.type("\x04")
        self.leaves_as_it_was(t, 0)

    def test_back_in_the_foreground_it_shows_what_was_typed(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("123")
        t.wait("123")
        ours = termios.tcgetattr(t.fd)
        os.kill(t.pid, signal.SIGSTOP)
        os.waitpid(t.pid, os.WUNTRACED)
        shells = termios.tcgetattr(t.fd)
        shells[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(t.fd, termios.TCSANOW, shells)
        os.kill(t.pid, signal.SIGCONT)
        t.wait(">>> 123")
        self.assertEqual(termios.tcgetattr(t.fd)[3], ours[3])
        t.type("\x7f5 * 2\r")
        t.wait("250\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_a_resized_terminal_is_noticed(self):
        t = Terminal()
        t.wait(">>> ")
        fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        t.type("'" + "y" * 40 + "'\x01")
        t.wait("\033[A")
        t.type("\x05 * 2\r")
        t.wait("'" + "y" * 80 + "'\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_plots_are_shown_where_the_terminal_can(self):
        png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        for options, env, shown in (((), {"KITTY_WINDOW_ID": "1"}, "\033_Ga=T,f=100,m=0;" + png),
                                    ((), {"TERM_PROGRAM": "iTerm.app"}, "\033]1337;File=inline=1:" + png),
                                    (("--images", "sixel"), {}, "\033Pq\"1;1;1;1#")):
            t = Terminal(*options, **env)
            t.wait(">>> ")
            t.type(f"class P: _repr_png_ = lambda self: __import__('base64').b64decode('{png}')\r\rP()\r")
            t.wait(shown)
            t.type("\x04")
            self.assertEqual(t.end(), 0)

    def test_the_tree_has_colours_here(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("1\r%log all\r")
        t.wait("* \033[33m")
        t.type("\x04")
        self.assertEqual(t.end(), 0)
        self.assertNotIn("\033", pipe("1\n%log all\n1 / 0\n").out)

    def test_one_that_is_killed_leaves_nothing(self):
        before = journals()
        t = Terminal()
        t.wait(">>> ")
        t.type("6 * 7\r")
        t.wait("42\r\n")
        os.kill(t.pid, signal.SIGKILL)
        self.assertEqual(t.end(), -signal.SIGKILL)
        left = [path for path, pid in (journals() - before) if pid == str(t.pid)]
        self.assertEqual(left, [])

    def test_what_is_pasted_is_one_statement(self):
        """Its blank lines end nothing, its tabs complete nothing, and it waits for a key."""
        t = Terminal()
        t.wait(">>> ")
        self.assertEqual(t.pastes, 1)
        t.type("\033[200~class A:\r    def f(self):\r        return 20\r\r    def g(self):\r        return len('\t' * 22)\r\r"
               "print('su' + 'm', A().f() + A().g())\r\033[201~")
        self.assertNotIn("sum", t.wait("A().g())"))
        t.type("\r")
        t.wait("sum 42\r\n")
        t.wait(">>> ")
        self.assertEqual(t.pastes, 3)
        t.type("\033[200~print(\033[201~\r")
        t.wait("... ")
        t.type("'op' + 'en')\r")
        t.wait("open\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_a_program_asks_the_person(self):
        """input() gets the line that is typed, however long that takes; what is typed ahead is no answer."""
        t = Terminal("--timeout", "2s")
        t.wait(">>> ")
        t.type("n = input('na' + 'me? '); print('<' + n + '>')\r")
        t.wait("name? ")
        time.sleep(2.5)
        t.type("bob\x7fx\r")
        t.wait("<box>\r\n")
        t.wait(">>> ")
        t.type("import sys; list(sys.stdin)\r")
        t.wait("stdin)")
        t.type("one\rtwo\r\x04")
        t.wait("['one\\n', 'two\\n']")
        t.wait(">>> ")
        t.type("import os; a = input(); os._exit(1)\r")
        t.wait("_exit(1)")
        t.type("x\r6 * 111\r")
        t.wait("666\r\n")
        t.wait(">>> ")
        t.type("input('sto' + 'p? ')\r")
        t.wait("stop? ")
        t.type("\x03")
        t.wait("KeyboardInterrupt")
        t.wait(">>> ")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_input_that_drops_an_interrupt_is_interrupted(self):
        """input() passes over what its flush raises, and would wait on: here always, else by chance."""
        t = Terminal()
        t.wait(">>> ")
        t.type("class Out:\r  def write(self, s): return sys.__stdout__.write(s)\r"
               "  def flush(self): sys.__stdout__.flush(); time.sleep(600)\r\r")
        t.wait(">>> ")
        t.type("import sys, time; sys.stdout = Out(); input('sto' + 'p? ')\r")
        t.wait("stop? ")
        t.type("\x03")
        self.assertNotIn("rolled back", t.wait("KeyboardInterrupt"))
        t.wait(">>> ")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_a_block_comes_back_whole(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("for i in range(2):\r  print('lo' + 'op')\r\r")
        t.wait("loop\r\nloop\r\n")
        t.type("\033[A\r\r")
        t.wait("loop\r\nloop\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_in_a_string_no_name_is_completed(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("unusual = 7\r")
        t.wait(">>> ")
        t.type("'unus\t'\r")
        t.wait("\n'unus'\r\n")
        t.wait(">>> ")
        t.type("f'{unus\t}'\r")
        t.wait("\n'7'\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_keys_columns_and_files_are_completed(self):
        """In a string; of dictionaries and frames alone, whose keys no code of a program's gives."""
        t = Terminal()
        t.wait(">>> ")
        t.type("class Own(dict):\r  def keys(self): return ['spoilt']\r  __iter__ = keys\r\r")
        t.wait(">>> ")
        t.type("prices = {'green tea': 3, 7: 8}; own = Own(spoilt=1); _ = open('harvest.csv', 'w').write('1')\r")
        t.wait(">>> ")
        for typed, shown in (("prices['gre\t']", "\r\n3\r\n"), ("open('harv\t').read()", "\r\n'1'\r\n"), ("own.get('spo\t', 4712)", "\r\n4712\r\n")):
            t.type(typed + "\r")
            t.wait(shown)
        if importlib.util.find_spec("pandas"):
            t.type("import pandas; frame = pandas.DataFrame({'customer': [4711]})\rframe['cus\t'].sum()\r")
            t.wait("4711\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    @harness.needs_shell_or_sql
    def test_commands_are_completed(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("%branch other-1\r")
        t.wait("other-1 >>> ")
        t.type("%sw\t mai\t\r")
        t.wait("main >>> ")
        t.type("%runtime s\t")
        t.wait("%runtime s")
        shown = t.wait("%runtime s")
        self.assertRegex(shown, r"\nsql +shell\r\n")
        self.assertNotIn("python", shown)
        t.type("\x15%runtime shell\rvariable_one=$((8+9))\recho $vari\t\r")
        t.wait("17\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_files_of_commands_are_completed(self):
        here = harness.make_dir()
        os.mkdir(os.path.join(here, "deep"))
        with open(os.path.join(here, "deep", "sales 1.csv"), "w", encoding="ascii") as f:
            f.write("12345")
        t = Terminal()
        t.wait(">>> ")
        t.type(f"%put '{here}/de\tsa\t' 'two words.csv'\r")
        t.wait(">>> ")
        t.type("import os; os.mkdir('sub'); print(os.listdir(), file=open('sub/x.txt', 'w'))\r")
        t.wait(">>> ")
        t.type("%files su\t\r")
        t.wait("sub/x.txt\r\n")
        t.type(f"%get --force 'tw\t {here}/here.csv\r")
        t.wait("here.csv: 5 B\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_files_are_put_and_got(self):
        here, out = harness.make_dir(), harness.make_dir()
        with open(os.path.join(here, "in.csv"), "w", encoding="utf-8") as f:
            f.write("a,b\n")
        steps = ("%put in.csv\n%put in.csv 'two words.csv'\n"
                 "open('made.bin', 'wb').write(bytes(range(256)))\n"
                 "%get made.bin\n%get made.bin\n%get --force made.bin\n%get 'two words.csv' sub\n%get nope\n"
                 "%get in.csv /nonexistent/x\n%get a b c\n%put nope\n")
        os.mkdir(os.path.join(here, "sub"))
        done = harness.retort("repl", "-o", out, stdin=steps.encode(), cwd=here)
        self.assertEqual(done.status, 1, done)
        said = done.err.splitlines()
        self.assertEqual(said[:2], ["made.bin: 256 B", "retort: made.bin is there already: name another place, or replace it: %get --force made.bin"])
        self.assertEqual(said[2:4], ["made.bin: 256 B", "sub/two words.csv: 4 B"])
        for line, words in zip(said[4:], ("nope: No such file or directory", "DEST", "more than two files", "name a file of this host")):
            self.assertIn(words, line)
        with open(os.path.join(here, "made.bin"), "rb") as f:
            self.assertEqual(f.read(), bytes(range(256)))
        with open(os.path.join(here, "sub", "two words.csv"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "a,b\n")
        self.assertEqual(sorted(os.listdir(here)), ["in.csv", "made.bin", "sub"])
        self.assertEqual(os.listdir(out), ["made.bin"])

    def test_it_ends_when_its_warden_is_gone(self):
        told = ("retort: the warden was ended, and every box with it: start `retort repl` again: "
                "its history has what was typed\r\n")
        for code in ("6 * 7", "%undo", "%reset"):
            with self.subTest(code=code):
                t = Terminal()
                t.wait(">>> ")
                t.type("6 * 7\r")
                t.wait("42\r\n>>> ")
                warden, = rpc.children(t.pid)
                box = rpc.descendants(warden)
                os.kill(warden, signal.SIGKILL)
                while any(os.path.exists(f"/proc/{pid}") for pid in box):
                    time.sleep(0.01)
                t.type(code + "\r")
                self.assertEqual(t.end(), 125)
                self.assertTrue(t.out.decode().endswith(code + "\r\n" + told), t.out)

    def test_a_step_that_loses_its_warden_is_the_last(self):
        t = Terminal("--no-history")
        t.wait(">>> ")
        t.type("import time; print('g' + 'o'); time.sleep(60)\r")
        t.wait("go")
        os.kill(*rpc.children(t.pid), signal.SIGKILL)
        self.assertEqual(t.end(), 125)
        self.assertTrue(t.out.decode().endswith("every box with it: start `retort repl` again\r\n"), t.out)

    def test_signals_end_it_as_they_do_a_shell(self):
        for number in (signal.SIGHUP, signal.SIGQUIT):
            for step in ("", "import time; print('g' + 'o'); time.sleep(60)\r"):
                with self.subTest(number=number, step=step):
                    t = Terminal()
                    t.wait(">>> ")
                    if step:
                        t.type(step)
                        t.wait("go")
                    os.kill(t.pid, number)
                    self.leaves_as_it_was(t, 128 + number)

    def test_keys_that_quit(self):
        t = Terminal()
        t.wait(">>> ")
        t.type("\x1c")
        self.assertEqual(t.end(), 128 + signal.SIGQUIT)

    def test_a_terminal_that_is_closed(self):
        t = Terminal()
        t.wait(">>> ")
        os.close(t.fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]), 128 + signal.SIGHUP)

    def test_sigterm_ends_it(self):
        t = Terminal()
        t.wait(">>> ")
        os.kill(t.pid, signal.SIGTERM)
        self.assertEqual(t.end(), 143)


if __name__ == "__main__":
    harness.main()
