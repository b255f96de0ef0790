# SPDX-License-Identifier: Apache-2.0
"""The record says what happened, whatever happened: shape, ends, output, values, files, usage."""

import base64
import os
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402
import shape  # noqa: E402

IDENTITY = "user"
LIMIT = 10 << 20


class RecordCase(harness.Case):
    def record(self, code, *options, **kwargs):
        out = harness.record(code, *options, **kwargs)
        shape.check_record(self, out)
        self.assertEqual(out["_stderr"], "", "with --json nothing else is said")
        return out

    def assert_ok(self, record, stdout=None):
        self.assertEqual((record["status"], record["_status"], record["exit_code"], record["signal"]),
                         ("ok", 0, 0, None), short(record))
        self.assertEqual(record["state"], {"outcome": "committed", "reason": None})
        if stdout is not None:
            self.assertEqual(record["stdout"], stdout)


def short(record):
    return {k: str(v)[:300] for k, v in record.items() if k not in ("limits",)}


class Ends(RecordCase):
    """How a program ends, and what the record and the exit status make of it."""

    def assert_error(self, code, name, message, status=1, line=None):
        record = self.record(code)
        self.assertEqual((record["status"], record["_status"], record["exit_code"], record["signal"]),
                         ("error", status, status, None), short(record))
        self.assertEqual(record["error"]["name"], name)
        self.assertRegex(record["error"]["message"], message)
        self.assertEqual(record["error"].get("line"), line)
        self.assertEqual(record["state"]["outcome"], "committed")
        self.assertNotIn("value", record)
        return record

    def assert_signal(self, code, number):
        record = self.record(code)
        self.assertEqual((record["status"], record["_status"], record["exit_code"], record["signal"]),
                         ("killed", 128 + number, None, number), short(record))
        self.assertEqual(record["error"]["name"], "Killed")
        self.assertRegex(record["error"]["message"], f"^ended by signal {number} ")
        self.assertEqual(record["state"]["outcome"], "lost")
        return record

    def test_ok(self):
        record = self.record("print('out')\nimport sys; print('err', file=sys.stderr)\n6 * 7")
        self.assert_ok(record, "out\n")
        self.assertEqual(record["stderr"], "err\n")
        self.assertEqual(record["value"], {"text/plain": "42", "application/json": 42})
        self.assertEqual(record["displays"], [])
        self.assertEqual(record["files"], [])
        self.assertIsNone(record["parent"])
        self.assertEqual(record["truncated"], {"stdout_bytes": 0, "stderr_bytes": 0})

    def test_empty_program(self):
        for code in ("", "# nothing", "\n\n", "pass"):
            self.assert_ok(self.record(code), "")

    def test_error(self):
        record = self.assert_error("def f():\n    return {}['price']\n\nf()", "KeyError", "^'price'$", line=2)
        self.assertEqual(record["error"]["traceback"][0], "Traceback (most recent call last):")
        self.assertEqual(record["error"]["traceback"][-1], "KeyError: 'price'")
        self.assertEqual("\n".join(record["error"]["traceback"]) + "\n", record["stderr"])
        self.assertIn("    return {}['price']", record["stderr"])

    def test_error_in_a_file_names_it(self):
        path = os.path.join(harness.make_dir(), "margin.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write("x = 1\n1 / 0\n")
        done = harness.retort("run", path)
        self.assertEqual(done.status, 1)
        self.assertIn('File "/home/user/margin.py", line 2, in <module>\n    1 / 0\n', done.err)
        self.assertTrue(done.err.endswith("ZeroDivisionError: division by zero\n"))

    def test_error_keeps_output_and_files(self):
        record = self.record("print('before')\nopen('a', 'w').write('1')\n1 / 0")
        self.assertEqual(record["stdout"], "before\n")
        self.assertEqual([f["path"] for f in record["files"]], ["a"])

    def test_chained_errors(self):
        record = self.assert_error("try:\n 1 / 0\nexcept ZeroDivisionError as e:\n raise ValueError('x') from e",
                                   "ValueError", "^x$", line=4)
        self.assertIn("direct cause", record["stderr"])

    def test_recursion(self):
        record = self.assert_error("def f():\n f()\nf()", "RecursionError", "maximum recursion", line=2)
        self.assertLess(len(record["stderr"]), 20_000)

    def test_syntax_error(self):
        """With the line and the caret under the place."""
        record = self.assert_error("x = 1\nprint('a' 1)\n", "SyntaxError", "invalid syntax", line=2)
        lines = record["stderr"].splitlines()
        self.assertIn("print('a' 1)", record["stderr"])
        caret = [i for i, line in enumerate(lines) if line.strip() and set(line.strip()) == {"^"}]
        self.assertEqual(len(caret), 1, record["stderr"])
        self.assertEqual(lines[caret[0] - 1].index("'a'"), lines[caret[0]].index("^"))
        self.assertNotIn("Traceback", record["stderr"])

    def test_nothing_runs_of_a_syntax_error(self):
        self.assertEqual(self.assert_error("print('x')\n)", "SyntaxError", "unmatched", line=2)["stdout"], "")

    def test_nul_in_code(self):
        path = os.path.join(harness.make_dir(), "nul.py")
        with open(path, "wb") as f:
            f.write(b"print(1)\nx = '\0'\n")
        done = harness.retort("run", "--json", path)
        record = done.json()
        shape.check_record(self, record)
        self.assertEqual((record["status"], done.status), ("error", 1))
        self.assertIn(record["error"]["name"], ("SyntaxError", "ValueError"))

    def test_system_exit(self):
        for code, status in (("raise SystemExit", 0), ("raise SystemExit(None)", 0), ("raise SystemExit(0)", 0),
                             ("import sys; sys.exit()", 0), ("exit()", 0), ("quit(0)", 0),
                             ("raise SystemExit(7)", 7), ("import sys; sys.exit(255)", 255), ("exit(4)", 4),
                             ("raise SystemExit(256)", 0), ("raise SystemExit(-1)", 255),
                             ("raise SystemExit(True)", 1), ("raise SystemExit(1 << 70)", 255)):
            record = self.record(code)
            self.assertEqual((record["_status"], record["exit_code"]), (status, status), code)
            self.assertEqual(record["status"], "ok" if status == 0 else "error", code)
            self.assertEqual(record["stderr"], "", code)

    def test_system_exit_with_a_message(self):
        record = self.assert_error("raise SystemExit('so long')", "SystemExit", "^so long$")
        self.assertEqual(record["stderr"], "so long\n")

    def test_os_exit(self):
        """The interpreter leaves without a word: the status is its own, the state is lost."""
        record = self.record("import os\nprint('flushed', flush=True)\nos._exit(3)")
        self.assertEqual((record["status"], record["_status"], record["exit_code"], record["signal"]),
                         ("error", 3, 3, None))
        self.assertEqual(record["stdout"], "flushed\n")
        self.assertEqual(record["state"]["outcome"], "lost")
        self.assertEqual(record["error"], {"name": "Exit", "message": "the program ended itself with status 3"})
        record = self.record("import os; os._exit(0)")
        self.assertEqual((record["status"], record["_status"], record["exit_code"]), ("ok", 0, 0))

    def test_segfault(self):
        record = self.assert_signal("print('before', flush=True)\nimport ctypes; ctypes.string_at(1)", 11)
        self.assertEqual(record["stdout"], "before\n")

    def test_abort(self):
        self.assert_signal("import os; os.abort()", 6)

    def test_kill_self(self):
        """SIGKILL is not called out of memory when memory was not the reason."""
        self.assert_signal("import os; os.kill(os.getpid(), 9)", 9)

    def test_term_self(self):
        self.assert_signal("import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)", 15)

    def test_killing_everything(self):
        """kill(-1) hits what the program started and not what runs it."""
        record = self.record("import os, time\nif os.fork() == 0: time.sleep(60)\nos.kill(-1, 9)\nprint('here')")
        self.assertIn(record["status"], ("ok", "killed"))

    def test_memory_error(self):
        self.assert_error("x = 1\nx = bytearray(1 << 50)", "MemoryError", "^$", line=2)

    def test_keyboard_interrupt_of_its_own(self):
        """Raised by the program itself it is an error like any other, with status 130."""
        self.assert_error("x = 1\nraise KeyboardInterrupt('mine')", "KeyboardInterrupt", "^mine$", 130, line=2)

    def test_exception_that_cannot_be_shown(self):
        self.assert_error("class E(Exception):\n def __str__(self): raise ValueError\nraise E",
                          "E", "^<.*>$|^$", line=3)

    def test_exception_group(self):
        self.assert_error("raise ExceptionGroup('two', [ValueError(1), KeyError(2)])",
                          "ExceptionGroup", "^two", line=1)

    def test_huge_message(self):
        record = self.assert_error("raise ValueError('x' * (50 << 20))", "ValueError", "characters cut", line=1)
        self.assertLess(len(record["error"]["message"]), 11_000)

    def test_stopped_process(self):
        """A program that stops itself waits for its time limit and no longer."""
        record = self.record("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "--timeout", "500ms")
        self.assertEqual((record["status"], record["_status"]), ("timeout", 124))


    def test_closing_everything(self):
        """A program that closes all descriptors, as daemons do, ends as it would anyway."""
        for code, status in (("print('x', flush=True)", 0), ("1 / 0", 1), ("raise SystemExit(5)", 5)):
            record = self.record("import os; os.closerange(3, 4096)\n" + code)
            self.assertEqual(record["_status"], status, short(record))
            self.assertNotIn("/retort/", record["stderr"], "the driver's own frames are not the user's")

    def test_exec(self):
        """What the program turns into is the program."""
        record = self.record("import os; os.execv('/bin/sh', ['sh', '-c', 'echo hi; exit 3'])")
        self.assertEqual((record["status"], record["_status"], record["stdout"]), ("error", 3, "hi\n"))

    def test_breaking_the_interpreter(self):
        """A program that breaks the interpreter under itself breaks itself only."""
        for code, name in (("import sys; sys.modules.clear()\n1 / 0", "ZeroDivisionError"),
                           ("import builtins; builtins.__dict__.clear()\nx", "NameError"),
                           ("import sys; sys.stdout = sys.stderr = None\n1 / 0", "ZeroDivisionError"),
                           ("import sys; sys.path[:] = []\nimport json", "ModuleNotFoundError")):
            record = self.record(code)
            self.assertEqual((record["status"], record["error"]["name"]), ("error", name), short(record))


class Output(RecordCase):
    def test_nul(self):
        self.assert_ok(self.record("print('a\\0b')"), "a\0b\n")

    def test_unicode(self):
        self.assert_ok(self.record("print('žluťoučký 🐎 \\u2028')"), "žluťoučký 🐎 \u2028\n")

    def test_lone_surrogates(self):
        """What cannot be encoded is the program's error on stdout, and text elsewhere."""
        record = self.record("'\\ud800x'")
        self.assert_ok(record, "")
        self.assertEqual(record["value"]["text/plain"], "'\\ud800x'")
        record["stdout"].encode()
        record = self.record("raise ValueError('a\\udcffb')")
        self.assertEqual(record["error"]["message"], "a\ufffdb")
        self.assertEqual(self.record("print('\\ud800')")["error"]["name"], "UnicodeEncodeError")

    def test_invalid_utf8(self):
        record = self.record("import os; os.write(1, b'a\\xff\\xfeb\\n')")
        self.assert_ok(record, "a\ufffd\ufffdb\n")
        self.assertIs(record["truncated"]["invalid_utf8"], True)
        done = harness.run("import os; _ = os.write(1, b'a\\xff\\xfeb\\n')")
        self.assertEqual(done.stdout, b"a\xff\xfeb\n", "plain output is the program's bytes")

    def test_valid_utf8_says_nothing(self):
        self.assertNotIn("invalid_utf8", self.record("print('ž')")["truncated"])

    def assert_whole(self, code, *options):
        record = self.record(code, *options)
        self.assert_ok(record)
        self.assertEqual(len(record["stdout"]), LIMIT)
        self.assertEqual(set(record["stdout"]), {"x"})
        self.assertEqual(record["truncated"]["stdout_bytes"], 0)

    def test_ten_megabytes_of_print(self):
        self.assert_whole("print('x' * (10 << 20), end='')")

    def test_ten_megabytes_in_pieces(self):
        self.assert_whole("for i in range(10 << 10): print('x' * 1024, end='')")

    def test_ten_megabytes_of_c(self):
        self.assert_whole("import ctypes\nc = ctypes.CDLL(None)\n"
                          "for i in range(10 << 10): c.printf(b'%s', b'x' * 1024)")

    def test_ten_megabytes_of_a_child(self):
        self.assert_whole("import subprocess, sys\n"
                          "subprocess.run(['sh', '-c', 'head -c 10485760 /dev/zero | tr \"\\\\0\" x'])\n")

    def test_ten_megabytes_plain(self):
        done = harness.run("print('x' * ((10 << 20) - 1))")
        self.assertEqual(done.status, 0)
        self.assertEqual(len(done.stdout), LIMIT)
        self.assertEqual(done.stderr, b"")

    def test_hundred_megabytes(self):
        """Head and tail are kept; what was cut is counted exactly."""
        record = self.record("import sys\nsys.stdout.write('HEAD')\n"
                             "for i in range(100): sys.stdout.write('x' * (1 << 20))\nsys.stdout.write('TAIL')")
        self.assert_ok(record)
        cut = 100 * (1 << 20) + 8 - LIMIT
        self.assertEqual(record["truncated"]["stdout_bytes"], cut)
        self.assertTrue(record["stdout"].startswith("HEADxxx"))
        self.assertTrue(record["stdout"].endswith("xxxTAIL"))
        note = f"\n[... {cut} bytes cut ...]\n"
        self.assertEqual(record["stdout"].count(note), 1)
        self.assertEqual(len(record["stdout"]), LIMIT + len(note))

    def test_hundred_megabytes_plain(self):
        done = harness.run("for i in range(100): print('x' * ((1 << 20) - 1))")
        cut = 100 * (1 << 20) - LIMIT
        self.assertEqual(done.status, 0)
        self.assertEqual(len(done.stdout), LIMIT + len(f"\n[... {cut} bytes cut ...]\n"))
        self.assertEqual(done.err, f"retort: stdout: {cut} bytes over the limit of 10 MiB: raise it with "
                                   "--output-limit\n")

    def test_cut_in_a_character(self):
        """A cut through a character is not the program's invalid UTF-8."""
        record = self.record("print('ž' * 1000)", "--output-limit", "999")
        self.assertGreater(record["truncated"]["stdout_bytes"], 0)
        self.assertNotIn("invalid_utf8", record["truncated"])

    def test_binary_stdout(self):
        done = harness.run("import sys; _ = sys.stdout.buffer.write(bytes(range(256)))")
        self.assertEqual(done.stdout, bytes(range(256)))

    def test_c_and_python_output(self):
        """What C code buffers is not lost."""
        record = self.record("import ctypes\nc = ctypes.CDLL(None)\nc.puts(b'from C')\nc.printf(b'no newline')")
        self.assert_ok(record, "from C\nno newline")

    def test_order_within_a_stream(self):
        record = self.record("import os, subprocess, sys\n"
                             "for i in range(20):\n"
                             " print(i * 3)\n"
                             " subprocess.run(['echo', str(i * 3 + 1)])\n"
                             " os.write(1, b'%d\\n' % (i * 3 + 2))")
        self.assert_ok(record, "".join(f"{i}\n" for i in range(60)))

    def test_no_newline_at_the_end(self):
        self.assert_ok(self.record("print('a', end='')"), "a")
        self.assertEqual(harness.run("print('a', end='')").out, "a")

    def test_closed_stdout(self):
        self.assert_ok(self.record("import sys; print('a'); sys.stdout.close()"), "a\n")
        self.assert_ok(self.record("import os; print('a', flush=True); os.close(1); os.close(2)\n2"), "a\n")
        record = self.record("import sys; sys.stdout.close(); print('b')")
        self.assertEqual((record["status"], record["error"]["name"]), ("error", "ValueError"))

    def test_replaced_stdout(self):
        code = "import io, sys\nsys.stdout = io.StringIO()\nprint('hidden')\nsys.__stdout__.write('seen\\n')"
        self.assert_ok(self.record(code), "seen\n")

    def test_deleted_cwd(self):
        code = "import os\nos.mkdir('d'); os.chdir('d'); os.rmdir('../d')\nprint('still')\n1 + 1"
        record = self.record(code)
        self.assert_ok(record, "still\n")
        self.assertEqual(record["value"]["text/plain"], "2")


class Threads(RecordCase):
    def test_daemon_thread(self):
        """A background daemon thread does not keep the step from ending."""
        record = self.record("import threading, time\n"
                             "def f():\n while True: time.sleep(0.01)\n"
                             "threading.Thread(target=f, daemon=True).start()\nprint('end')")
        self.assert_ok(record, "end\n")

    def test_thread_after_main(self):
        """What a thread prints after the last line belongs to the step."""
        record = self.record("import threading, time\n"
                             "def f():\n time.sleep(0.3)\n print('thread')\n"
                             "threading.Thread(target=f).start()\nprint('main')")
        self.assert_ok(record, "main\nthread\n")

    def test_at_exit(self):
        record = self.record("import atexit\natexit.register(print, 'exit')\nprint('main')")
        self.assert_ok(record, "main\nexit\n")

    def test_error_in_a_thread(self):
        record = self.record("import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join()")
        self.assert_ok(record)
        self.assertIn("ZeroDivisionError", record["stderr"])

    def test_child_after_main(self):
        """A child that is still there when the program ends is ended, and what it wrote is kept."""
        record = self.record("import subprocess\np = subprocess.Popen(['sh', '-c', 'echo child; exec sleep 60'],"
                             " stdout=None)\nimport time; time.sleep(0.5)\nprint('main')")
        self.assert_ok(record, "child\nmain\n")
        self.assertLess(record["usage"]["wall_ms"], 20_000)

    def test_daemon_that_keeps_writing(self):
        """A double-forked daemon that holds the output open does not hold the result."""
        code = ("import os, time\n"
                "if os.fork() == 0:\n"
                " os.setsid()\n"
                " if os.fork() == 0:\n"
                "  while True: os.write(1, b'.'); time.sleep(0.001)\n"
                " os._exit(0)\n"
                "os.wait(); time.sleep(0.2); print('main')")
        record = self.record(code)
        self.assert_ok(record)
        self.assertRegex(record["stdout"], r"^\.+main\n\.*$")

    def test_forked_child_that_returns(self):
        """A child that falls out of the code does not report in the parent's place."""
        record = self.record("import os\npid = os.fork()\nif pid: os.wait()\nprint('parent' if pid else 'child')")
        self.assert_ok(record)
        self.assertEqual(sorted(record["stdout"].split()), ["child", "parent"])

    def test_multiprocessing(self):
        record = self.record("import multiprocessing as m\n"
                             "def f(x): return x * x\n"
                             "with m.get_context('fork').Pool(2) as p: print(p.map(f, range(5)))")
        self.assert_ok(record, "[0, 1, 4, 9, 16]\n")


class Input(RecordCase):
    def test_empty_by_default(self):
        record = self.record("input('name? ')", stdin=b"never\n")
        self.assertEqual((record["status"], record["error"]["name"]), ("error", "EOFError"))
        self.assertEqual(record["stdout"], "name? ")
        self.assert_ok(self.record("import sys; print(sys.stdin.read() == '')"), "True\n")

    def write(self, data):
        path = os.path.join(harness.make_dir(), "in")
        with open(path, "wb") as f:
            f.write(data)
        return path

    SUM = "import hashlib, sys; d = sys.stdin.buffer.read(); print(len(d), hashlib.sha256(d).hexdigest()[:8])"

    def test_file(self):
        self.assert_ok(self.record("print(input()); print(input())", "--stdin", self.write(b"a\nb\n")), "a\nb\n")

    def test_file_large(self):
        data = os.urandom(5 << 20)
        from_file = self.record(self.SUM, "--stdin", self.write(data))
        from_pipe = self.record(self.SUM, "--stdin", "-", stdin=data)
        self.assert_ok(from_file)
        self.assertEqual(from_file["stdout"], from_pipe["stdout"])
        self.assertTrue(from_file["stdout"].startswith(f"{5 << 20} "))

    def test_dash_is_a_file(self):
        """Standard input that is a file is read from where it stands, and left alone."""
        path = self.write(b"first\nsecond\n")
        with open(path, "rb", buffering=0) as f:
            f.seek(6)
            done = subprocess.run([harness.RETORT, "run", "--stdin", "-", "-c", "print(input())"], stdin=f,
                                  capture_output=True, env=harness.environment(), check=False)
        self.assertEqual((done.stdout, done.stderr), (b"second\n", b""))

    def test_a_socket_is_read(self):
        """Programs of node give their children such a standard input."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(b"one\ntwo\n")
            ours.shutdown(socket.SHUT_WR)
            done = subprocess.run([harness.RETORT, "run", "--stdin", "-", "-c", "print(input() + input())"], stdin=theirs,
                                  capture_output=True, check=False, env=harness.environment())
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"onetwo\n", b""))
            self.assertTrue(os.get_blocking(theirs.fileno()))

    def test_empty_file(self):
        record = self.record("import sys; print(repr(sys.stdin.read()))", "--stdin", "/dev/null")
        self.assert_ok(record, "''\n")

    def test_not_read(self):
        """A program that does not read does not hang, nor does one that stops reading."""
        data = b"x" * (5 << 20)
        self.assert_ok(self.record("print('done')", "--stdin", "-", stdin=data), "done\n")
        self.assert_ok(self.record("import sys; print(len(sys.stdin.buffer.read(10)))", "--stdin", "-", stdin=data),
                       "10\n")
        self.assert_ok(self.record("import os; os.close(0); print('closed')", "--stdin", self.write(data)), "closed\n")

    def test_slow_writer(self):
        """Input that comes while the program runs arrives while it runs."""
        process = subprocess.Popen([harness.RETORT, "run", "--stdin", "-", "-c",
                                    "for i in range(3): print('got', input(), flush=True)"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=harness.environment())
        with process:
            for i in range(3):
                process.stdin.write(b"%d\n" % i)
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), b"got %d\n" % i)
            process.stdin.close()
            self.assertEqual(process.wait(harness.TIMEOUT_S), 0)

    def test_open_pipe_of_a_finished_program(self):
        """A pipe that its writer keeps open does not keep retort."""
        reader, writer = os.pipe()
        try:
            done = subprocess.run([harness.RETORT, "run", "--stdin", "-", "-c", "print('done')"], stdin=reader,
                                  capture_output=True, env=harness.environment(), timeout=60, check=False)
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual(done.stdout, b"done\n")

    def test_directory_and_missing(self):
        done = harness.run("1", "--stdin", harness.TMP)
        self.assertEqual(done.status, 2, done)
        self.assertRegex(done.err, "^retort: .*\n$")


class Values(RecordCase):
    def value(self, code):
        record = self.record(code)
        self.assert_ok(record)
        return record.get("value")

    def test_absent(self):
        for code in ("None", "x = 1", "print('a')", "def f(): pass", "1;"):
            self.assertIsNone(self.value(code), code)

    def test_json(self):
        for code, value in (("1", 1), ("1.5", 1.5), ("True", True), ("'ž'", "ž"),
                            ("[1, {'a': None}]", [1, {"a": None}])):
            self.assertEqual(self.value(code)["application/json"], value)

    def test_not_json(self):
        for code, text in (("float('nan')", "nan"), ("{1, 2}", "{1, 2}"), ("object", "<class 'object'>"),
                           ("1j", "1j"), ("b'x'", "b'x'")):
            self.assertEqual(self.value(code), {"text/plain": text})

    def test_huge_int(self):
        self.assertEqual(self.value("1 << 200")["text/plain"], str(1 << 200))
        record = self.record("1 << 1000000")
        self.assertIn(record["status"], ("ok", "error"))

    def test_huge_string(self):
        """A value of 100 MB is cut and does not fill the host's memory."""
        value = self.value("'x' * (100 << 20)")
        self.assertLess(len(value["text/plain"]), 11 << 20)
        self.assertIn("characters cut", value["text/plain"])
        self.assertTrue(value["text/plain"].endswith("xxx'"))

    def test_huge_list(self):
        self.assertLess(len(self.value("list(range(10**6))")["text/plain"]), 11 << 20)

    def test_endless_repr(self):
        record = self.record("class C:\n def __repr__(self):\n  while True: pass\nC()", "--timeout", "700ms")
        self.assertEqual((record["status"], record["_status"]), ("timeout", 124))

    def test_failing_repr(self):
        record = self.record("class C:\n def __repr__(self): 1 / 0\nC()")
        self.assertEqual(record["exit_code"], record["_status"])
        self.assertIn(record["status"], ("ok", "error"))

    def test_await(self):
        self.assertEqual(self.value("import asyncio\nawait asyncio.sleep(0.01)\nawait asyncio.sleep(0, 'v')"),
                         {"text/plain": "'v'", "application/json": "v"})

    def test_async_for_and_with(self):
        code = ("import contextlib\n"
                "async def g():\n yield 1\n yield 2\n"
                "async for x in g(): print(x)\n"
                "@contextlib.asynccontextmanager\nasync def c():\n yield 3\n"
                "async with c() as y: print(y)")
        self.assert_ok(self.record(code), "1\n2\n3\n")

    def test_display(self):
        record = self.record("display('a', 2)\nimport retort\nretort.display({'k': 1})\nprint('x')")
        self.assert_ok(record, "x\n")
        self.assertEqual([d["text/plain"] for d in record["displays"]], ["'a'", "2", "{'k': 1}"])

    def test_mime_methods(self):
        value = self.value("class C:\n def _repr_html_(self): return '<b>'\n def __repr__(self): return 'C'\nC()")
        self.assertEqual(value, {"text/plain": "C", "text/html": "<b>"})

    def test_many_displays(self):
        record = self.record("for i in range(100000): display(i)")
        self.assert_ok(record)
        self.assertEqual(len(record["displays"]) + record["truncated"]["displays"], 100_000)

    def test_pandas(self):
        value = self.value("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
        self.assertIn("<table", value["text/html"])
        self.assertRegex(value["text/plain"], r"a\s+b")

    def test_figure(self):
        """An open figure is shown once, as an image, with the data behind it."""
        record = self.record("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [4, 5, 6], label='s')\n"
                             "plt.title('T')\nNone")
        self.assert_ok(record)
        self.assertEqual(len(record["displays"]), 1)
        display = record["displays"][0]
        self.assertEqual(base64.b64decode(display["image/png"], validate=False)[:8], b"\x89PNG\r\n\x1a\n")
        chart = display["application/vnd.retort.chart+json"]
        self.assertEqual((chart["type"], chart["title"]), ("line", "T"))
        self.assertEqual(chart["elements"][0]["points"], [[1, 4], [2, 5], [3, 6]])
        self.assertIn("text/plain", display)
        self.assertEqual(record["files"], [], "caches are no results")

    def test_figure_of_a_failed_step(self):
        record = self.record("import matplotlib.pyplot as plt\nplt.plot([1])\n1 / 0")
        self.assertEqual(record["status"], "error")
        self.assertEqual(len(record["displays"]), 1)


@harness.as_each
class Files(RecordCase):
    WRITE = ("import os\nos.makedirs('sub/deep', exist_ok=True)\n"
             "open('a.csv', 'w').write('1,2\\n')\nopen('sub/deep/b.png', 'wb').write(b'12345')\n"
             "open('empty', 'w').close()\nos.symlink('/etc/passwd', 'link')\nos.symlink('sub', 'dirlink')\n"
             "os.mkfifo('fifo')\nopen('gone', 'w').close(); os.remove('gone')\n"
             "open('/tmp/elsewhere', 'w').write('x')")
    CREATED = [
        {"path": "a.csv", "change": "created", "size": 4, "mime": "text/csv"},
        {"path": "empty", "change": "created", "size": 0, "mime": "application/octet-stream"},
        {"path": "sub/deep/b.png", "change": "created", "size": 5, "mime": "image/png"},
    ]

    def test_created(self):
        """Regular files with size and type; no links, no pipes, nothing that is gone."""
        record = self.record(self.WRITE)
        self.assert_ok(record)
        self.assertEqual(record["files"], self.CREATED)

    def test_created_in_a_workspace_of_the_host(self):
        folder = harness.make_dir()
        record = self.record(self.WRITE, "-w", folder)
        self.assert_ok(record)
        self.assertEqual(record["files"], self.CREATED)
        with open(os.path.join(folder, "sub/deep/b.png"), "rb") as f:
            self.assertEqual(f.read(), b"12345")

    def test_modified_and_deleted(self):
        folder = harness.make_dir()
        for name in ("same", "read", "longer.txt", "rewritten", "gone"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write("12345")
        record = self.record("import os\nopen('read').read()\nopen('longer.txt', 'a').write('6')\n"
                             "open('rewritten', 'w').write('54321')\nos.remove('gone')\nopen('new', 'w').close()",
                             "-w", folder)
        self.assert_ok(record)
        self.assertEqual([(f["path"], f["change"], f["size"]) for f in record["files"]],
                         [("gone", "deleted", 5), ("longer.txt", "modified", 6), ("new", "created", 0),
                          ("rewritten", "modified", 5)])

    def test_unclosed_file(self):
        """What a file object still holds at the end is written, and its size is the final one."""
        record = self.record("f = open('a', 'w')\nf.write('abc')")
        self.assertEqual([f["size"] for f in record["files"]], [3])

    def test_odd_names(self):
        record = self.record("import os\nopen('a b\\n\"ž', 'w').close()\nopen(b'\\xff.txt', 'w').close()")
        self.assert_ok(record)
        self.assertEqual(sorted(f["path"] for f in record["files"]), ['a b\n"ž', "\ufffd.txt"])

    def test_volumes_are_not_listed(self):
        folder = harness.make_dir()
        with open(os.path.join(folder, "x"), "w", encoding="utf-8") as f:
            f.write("1")
        record = self.record("open('data/y', 'w').write('2')", "-v", folder + ":data:rw")
        self.assert_ok(record)
        self.assertEqual(record["files"], [])

    def test_many(self):
        record = self.record("for i in range(3000): open('f%d' % i, 'w').close()")
        self.assert_ok(record)
        self.assertTrue(len(record["files"]) == 3000 or record["truncated"].get("files"))

    def test_deep(self):
        """A path deeper than a path may be long does not hang or break the listing."""
        record = self.record("import os\nfor i in range(3000):\n os.mkdir('d' * 40); os.chdir('d' * 40)\n"
                             "open('x', 'w').close()")
        self.assert_ok(record)
        self.assertIs(record["truncated"].get("files"), True)

    def test_unreadable(self):
        record = self.record("import os\nos.mkdir('d'); open('d/x', 'w').close(); os.chmod('d', 0)\n"
                             "open('y', 'w').close(); os.chmod('y', 0)")
        self.assert_ok(record)
        self.assertIn("y", [f["path"] for f in record["files"]])


@harness.as_each
class Books(RecordCase):
    def test_usage(self):
        record = self.record("import time\nx = b'1' * (50 << 20)\n"
                             "while time.process_time() < 0.5: pass\ntime.sleep(0.5)")
        self.assert_ok(record)
        usage = record["usage"]
        self.assertGreater(usage["wall_ms"], 900)
        self.assertGreaterEqual(usage["cpu_ms"], 450)
        self.assertLess(usage["cpu_ms"], 20_000)
        self.assertGreater(usage["memory_peak_bytes"], 45 << 20)
        self.assertLess(usage["memory_peak_bytes"], 200 << 20)
        self.assertGreater(usage["queued_ms"], 0)

    def test_usage_of_a_peak_that_is_gone(self):
        """Memory that was given back before the end was used all the same."""
        record = self.record("import time\nx = b'1' * (80 << 20)\ntime.sleep(0.3)\ndel x\ntime.sleep(0.1)")
        self.assertGreater(record["usage"]["memory_peak_bytes"], 75 << 20)

    def test_step_is_stable(self):
        """The same code with the same outputs is the same step; anything else is another."""
        def step(code, *options):
            return self.record(code, *options)["step"]

        first = step("print(1)\n2")
        self.assertEqual(first, step("print(1)\n2"))
        self.assertEqual(first, step("print(1)\n2", "-m", "512m"))
        others = [step("print(1)\n3"), step("print(2)\n2"), step("print(1)\n2 "), step("1 / 0")]
        time_a, time_b = step("import os; print(os.urandom(8))"), step("import os; print(os.urandom(8))")
        self.assertNotEqual(time_a, time_b)
        self.assertEqual(len({first, *others}), 5)

    def test_step_depends_on_each_output(self):
        """Nothing can move from one output to another without changing the name."""
        codes = ("import os; o = os.environ['X']; print('a' if o == '1' else 'b')",
                 "import os, sys; o = os.environ['X']; print('a', file=[sys.stdout, sys.stderr][o == '1'])",
                 "import os; os.environ['X'] == '1'",
                 "import os; display(os.environ['X'])",
                 "import os; raise SystemExit(int(os.environ['X']) + 1)")
        for code in codes:
            steps = {self.record(code, "-e", f"X={x}")["step"] for x in "12"}
            self.assertEqual(len(steps), 2, code)

    def test_sessions_differ(self):
        self.assertNotEqual(self.record("1")["session"], self.record("1")["session"])

    def test_session_is_the_one_in_the_box(self):
        record = self.record("import os; os.environ['RETORT_SESSION']")
        self.assertEqual(record["value"]["application/json"], record["session"])

    def test_together(self):
        """Runs at the same time do not see each other."""
        records = []

        def one(i):
            records.append((i, harness.record(f"import os, time\nopen('f', 'w').write('{i}')\ntime.sleep(0.2)\n"
                                              f"print({i}, open('f').read(), os.listdir('.'))")))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(records), 8)
        for i, record in records:
            self.assertEqual(record["stdout"], f"{i} {i} ['f']\n")


if __name__ == "__main__":
    harness.main()
