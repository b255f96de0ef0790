# SPDX-License-Identifier: Apache-2.0
"""The Python driver, spoken to directly: /usr/bin/python3 -I test_driver.py DRIVER_DIR [unittest args]

RETORT_TEST_PYTHON names another interpreter to run the driver with; tests that need packages it
lacks are skipped.
"""

import base64
import importlib.util
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

DRIVER_DIR = None
PYTHON = os.environ.get("RETORT_TEST_PYTHON", "/usr/bin/python3")
STEP, BYE, READY, BEGIN, DISPLAY, TOOL, RESULT = 1, 5, 16, 17, 19, 20, 21
FRAME_MAX = 32 << 20
CHART = "application/vnd.retort.chart+json"
DATA = "application/vnd.retort.data+json"


def has(module):
    probe = [PYTHON, "-I", "-c", "import " + module]
    return subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0


class Outcome:
    """What came back for one step."""

    def __init__(self):
        self.result = None
        self.displays = []
        self.stdout = b""
        self.stderr = b""
        self.eof = False

    @property
    def out(self):
        return self.stdout.decode()

    @property
    def err(self):
        return self.stderr.decode()

    @property
    def value(self):
        return self.result.get("value", {})

    @property
    def text(self):
        return self.value.get("text/plain")

    @property
    def error(self):
        return self.result["error"]

    @property
    def trace(self):
        return "\n".join(self.error["traceback"])


class Driver:
    """A driver process with its channel and pipes."""

    def __init__(self, stdin=subprocess.DEVNULL, env=None, python=None, closed=(), files=None):
        self.home = tempfile.TemporaryDirectory()
        for name, text in (files or {}).items():
            path = os.path.join(self.home.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        ours, theirs = socket.socketpair()
        environ = {"PATH": "/usr/bin:/bin", "HOME": self.home.name, "LANG": "C.UTF-8",
                   "MPLBACKEND": "Agg", "TMPDIR": "/tmp", "RETORT": "1"}
        environ.update(env or {})

        def close():
            for fd in closed:
                os.close(fd)

        self.process = subprocess.Popen(
            [python or PYTHON, "-I", "-S", "-B", DRIVER_DIR + "/main.py", str(theirs.fileno())],
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.home.name,
            env=environ, pass_fds=[theirs.fileno()], preexec_fn=close if closed else None,
        )
        theirs.close()
        self.channel = ours
        self.pipes = {self.process.stdout.fileno(): "stdout",
                      self.process.stderr.fileno(): "stderr"}
        for fd in self.pipes:
            os.set_blocking(fd, False)
        self.inbox = b""
        self.count = 0
        self.ready = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.home.cleanup()

    def send(self, kind, payload=b""):
        self.channel.sendall(struct.pack(">IB", len(payload) + 1, kind) + payload)

    def start(self, code, mode="once", filename="<step>", argv=("<step>",), value_bytes=1 << 20, **more):
        self.count += 1
        self.id = "s%d" % self.count
        request = {"id": self.id, "code": code, "filename": filename, "argv": list(argv),
                   "mode": mode, "value_bytes": value_bytes, **more}
        self.send(STEP, json.dumps(request).encode())

    def step(self, code, mode="session", wait=30, at_begin=None, **rest):
        self.start(textwrap.dedent(code) if code[:2] == "\n " else code, mode, **rest)
        return self.finish(wait, at_begin)

    def finish(self, wait=30, at_begin=None, began=False):
        got = Outcome()
        end = time.monotonic() + wait
        while got.result is None and not got.eof:
            left = end - time.monotonic()
            if left < 0:
                raise AssertionError("no RESULT; stderr: %r" % got.stderr[-2000:])
            fds = [self.channel] + list(self.pipes)
            for ready in select.select(fds, [], [], left)[0]:
                if ready is not self.channel:
                    self.drain(ready, got)
                    continue
                data = self.channel.recv(1 << 20)
                if not data:
                    got.eof = True
                    break
                self.inbox += data
                for kind, message in self.frames():
                    if kind == READY:
                        self.ready = message
                        continue
                    if message["id"] != self.id:
                        raise AssertionError("frame of another step: %r" % message)
                    if kind == BEGIN:
                        began = True
                        if at_begin:
                            at_begin()
                    elif not began:
                        raise AssertionError("frame %d before BEGIN" % kind)
                    elif kind == DISPLAY:
                        got.displays.append(message)
                    elif kind == TOOL:
                        self.on_call(message)
                    elif kind == RESULT:
                        got.result = message
                    else:
                        raise AssertionError("frame of type %d" % kind)
        for fd in list(self.pipes):
            self.drain(fd, got)
        return got

    def on_call(self, message):
        raise AssertionError("a call: %r" % message)

    def drain(self, fd, got):
        try:
            while True:
                data = os.read(fd, 1 << 20)
                if not data:
                    self.pipes.pop(fd, None)
                    return
                setattr(got, self.pipes[fd], getattr(got, self.pipes[fd]) + data)
        except BlockingIOError:
            pass

    def frames(self):
        while len(self.inbox) >= 5:
            size = struct.unpack(">I", self.inbox[:4])[0]
            if not 1 <= size <= FRAME_MAX:
                raise AssertionError("frame of %d bytes" % size)
            if len(self.inbox) < size + 4:
                return
            kind, payload = self.inbox[4], self.inbox[5:size + 4]
            self.inbox = self.inbox[size + 4:]
            payload.decode("utf-8")
            yield kind, json.loads(payload)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)


def once(code, **rest):
    """One step in a driver of its own."""
    keys = ("stdin", "env", "closed", "files", "python")
    with Driver(**{k: rest.pop(k) for k in list(rest) if k in keys}) as driver:
        return driver.step(code, "once", **rest)


class Case(unittest.TestCase):
    def ok(self, got):
        self.assertFalse(got.eof, got.stderr)
        self.assertEqual(got.result["status"], "ok", got.result)
        return got

    def fails(self, got, name):
        self.assertFalse(got.eof, got.stderr)
        self.assertEqual(got.result["status"], "error", got.result)
        self.assertEqual(got.error["name"], name)
        for line in got.error["traceback"]:
            self.assertNotIn("\n", line)
            self.assertNotIn(DRIVER_DIR, line)
        return got


class Basics(Case):
    def test_print(self):
        got = self.ok(once("print(1+1)"))
        self.assertEqual((got.out, got.err, got.value), ("2\n", "", {}))
        self.assertEqual(got.result["exit_code"], 0)

    def test_ready(self):
        with Driver() as driver:
            self.ok(driver.step("1"))
            self.assertEqual(driver.ready["implementation"], "cpython")
            self.assertRegex(driver.ready["version"], r"^3\.\d+\.\d+$")

    def test_script_surroundings(self):
        got = self.ok(once("import sys; print(sys.argv, __name__, __file__)",
                           filename="/home/user/a.py", argv=["/home/user/a.py", "x", "\u00e9\U0001f600"]))
        self.assertEqual(got.out,
                         "['/home/user/a.py', 'x', '\u00e9\U0001f600'] __main__ /home/user/a.py\n")
        got = once("print('__file__' in globals(), sorted(n for n in globals() if n[0] != '_'))")
        self.assertEqual(got.out, "False []\n")

    def test_happy_path_imports_little(self):
        show = "import sys\nprint(sorted(sys.modules))"
        got = once(show)
        bare = subprocess.check_output([PYTHON, "-I", "-S", "-c", show], text=True)
        heavy = "json ast _ast traceback linecache re socket typing functools collections enum"
        if has("sys; sys.stdlib_module_names"):
            heavy += " os site"
        self.assertEqual((set(eval(got.out)) - set(eval(bare))) & set(heavy.split()), set())

    def test_namespace_is_kept_in_a_session(self):
        with Driver() as driver:
            driver.step("x = 20")
            self.assertEqual(driver.step("x + 1").text, "21")
            self.assertEqual(driver.step("_ * 2").text, "42")

    def test_bye_and_eof(self):
        for bye in (True, False):
            driver = Driver()
            with driver:
                driver.step("import atexit; atexit.register(print, 'bye')")
                if bye:
                    driver.send(BYE)
                else:
                    driver.channel.shutdown(socket.SHUT_WR)
                self.assertEqual(driver.process.wait(5), 0)
                got = Outcome()
                driver.drain(driver.process.stdout.fileno(), got)
                self.assertEqual(got.out, "bye\n")

    def test_import_from_workspace(self):
        files = {"helper.py": "x = 7", "pkg/__init__.py": "", "pkg/m.py": "y = 8"}
        got = self.ok(once("import helper; from pkg import m; (helper.x, m.y)", files=files))
        self.assertEqual(got.text, "(7, 8)")

    def test_driver_modules_are_not_found(self):
        for name in ("driver", "rich", "chart", "trace_", "event_loop", "_retort"):
            if importlib.util.find_spec(name):
                continue  # this host has another module of that name
            self.fails(once("import " + name), "ModuleNotFoundError")

    def test_stdin(self):
        self.fails(once("input()"), "EOFError")
        self.fails(once("input()", closed=(0,)), "EOFError")
        read, write = os.pipe()
        os.write(write, b"hi \xc3\xa9\n")
        os.close(write)
        self.assertEqual(once("input()", stdin=read).text, "'hi \u00e9'")
        os.close(read)

    def test_streams_closed_at_start(self):
        self.ok(once("print(1); import sys; sys.stderr.write('x')", closed=(0, 1, 2)))

    def test_exit_functions_and_threads_of_a_script(self):
        got = self.ok(once("""
            import atexit, threading, time
            atexit.register(print, "exit")
            def work():
                time.sleep(0.2); print("thread")
            threading.Thread(target=work).start()
            print("main")
            """))
        self.assertEqual(got.out, "main\nthread\nexit\n")

    def test_unclosed_file_is_written(self):
        for keep in ("f = open('a', 'w')", "import sys; sys.f = f = open('a', 'w')"):
            with Driver() as driver:
                self.ok(driver.step(keep + "; f.write('data')", "once"))
                with open(driver.home.name + "/a") as file:
                    self.assertEqual(file.read(), "data")

    def test_del_runs_at_the_end_of_a_script(self):
        got = self.ok(once("class A:\n def __del__(self): print('gone')\na = A()"))
        self.assertEqual(got.out, "gone\n")

    def test_sys_path(self):
        with Driver() as driver:
            got = driver.step("import sys; sys.path")
            path = eval(got.text)
            self.assertEqual(os.path.realpath(path[0]), os.path.realpath(driver.home.name))
            self.assertNotIn(DRIVER_DIR, path)
            expected = subprocess.check_output(
                [PYTHON, "-I", "-c", "import sys; print(sys.path)"], text=True)
            self.assertEqual(path[1:], eval(expected))
            self.ok(driver.step("exit, quit, help"))

    def test_pth_files(self):
        with tempfile.TemporaryDirectory() as venv:
            subprocess.run([PYTHON, "-m", "venv", "--without-pip", venv], check=True)
            version = "%d.%d" % tuple(json.loads(subprocess.check_output(
                [PYTHON, "-c", "import sys; print(list(sys.version_info[:2]))"])))
            place = "%s/lib/python%s/site-packages" % (venv, version)
            with open(place + "/x.pth", "w") as file:
                file.write("import sys; sys.from_pth = 1\n")
            got = self.ok(once("import sys; sys.from_pth, sys.prefix", python=venv + "/bin/python"))
            self.assertEqual(eval(got.text), (1, venv))

    def test_lazy_site_runs_before_a_package(self):
        got = self.ok(once("""
            import sys
            before = 'site' in sys.modules
            try: import no_such_package
            except ImportError: pass
            before, 'site' in sys.modules, copyright is not None
            """, files={"sitecustomize.py": "print('captured')"}))
        self.assertEqual((got.out, got.text.split(",")[1]), ("", " True"))


class Output(Case):
    def test_order_with_child_processes(self):
        got = self.ok(once("""
            import os, subprocess
            for i in range(3):
                print("py", i); subprocess.run(["echo", "child %d" % i]); os.system("echo sh %d" % i)
            """))
        self.assertEqual(got.out, "".join("py %d\nchild %d\nsh %d\n" % (i, i, i) for i in range(3)))

    def test_much_from_c(self):
        got = self.ok(once("""
            import ctypes
            c = ctypes.CDLL(None)
            line = b"x" * 999
            for _ in range(10_000): c.puts(line)
            """))
        self.assertEqual(got.stdout, (b"x" * 999 + b"\n") * 10_000)

    def test_c_without_newline_arrives(self):
        got = self.ok(once("import ctypes; ctypes.CDLL(None).printf(b'tail'); None"))
        self.assertEqual(got.out, "tail")

    def test_much_from_a_child(self):
        got = self.ok(once("import subprocess; subprocess.run(['head','-c','10000000','/dev/zero'])"
                           "; print('end')"))
        self.assertEqual(len(got.stdout), 10_000_004)
        self.assertTrue(got.stdout.endswith(b"\0end\n"))

    def test_much_from_python_without_newline(self):
        got = self.ok(once("import sys; sys.stdout.write('y' * 10_000_000); None"))
        self.assertEqual(len(got.stdout), 10_000_000)

    def test_utf8_always(self):
        for env in ({"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {}):
            got = self.ok(once("import sys; print('\u00e9\U0001f600\\0'); print('\u00e9', file=sys.stderr)", env=env))
            self.assertEqual(got.out, "\u00e9\U0001f600\0\n")
            self.assertEqual(got.err, "\u00e9\n")

    def test_line_buffered(self):
        got = once("import os; print('seen'); os._exit(3)")
        self.assertTrue(got.eof)
        self.assertEqual(got.out, "seen\n")

    def test_thread_prints_after_the_end(self):
        with Driver() as driver:
            got = self.ok(driver.step("""
                import threading, time
                def late():
                    time.sleep(0.3); print("late"); display("late")
                threading.Thread(target=late, daemon=True).start()
                """))
            self.assertEqual(got.displays, [])
            got = self.ok(driver.step("import time; time.sleep(0.5); 5"))
            self.assertEqual(got.text, "5")
            self.assertIn("late\n", got.out)
        got = self.ok(once("import threading,time\n"
                           "threading.Thread(target=lambda: [time.sleep(.01) or print(1) for i in range(99)],"
                           "daemon=True).start()"))
        self.assertEqual(got.err, "")


class Values(Case):
    def check(self, code, text, **more):
        got = self.ok(once(code))
        self.assertEqual(got.text, text)
        for mime, value in more.items():
            self.assertEqual(got.value.get(mime), value)
        return got

    def test_plain(self):
        for code, text, plain in (
            ("1 + 1", "2", 2), ("1.5", "1.5", 1.5), ("'a\\n\u00e9'", "'a\\n\u00e9'", "a\n\u00e9"),
            ("True", "True", True), ("[1, {'a': None}]", "[1, {'a': None}]", [1, {"a": None}]),
            ("{}", "{}", {}), ("(1, 2)", "(1, 2)", None), ("float('nan')", "nan", None),
            ("float('inf')", "inf", None), ("[float('nan')]", "[nan]", None),
            ("2**64", str(2 ** 64), None), ("{1: 2}", "{1: 2}", None), ("b'x'", "b'x'", None),
            ("-2**63", str(-2 ** 63), -2 ** 63), ("x = 1; x", "1", 1), ("'doc'", "'doc'", "doc"),
            ("x = [1,\n2]\nx[\n0\n]", "1", 1), ("def f():\n  return 3\nf()", "3", 3),
            ("x = '''\na\n'''\nx", "'\\na\\n'", "\na\n"), ("5 # ;", "5", 5), ("1;2", "2", 2),
            ("if True:\n  5\nelse:\n  6\n7", "7", 7), ("\n\n(4\n)\n\n# end\n", "4", 4),
            ("@(lambda f: 5)\ndef g(): pass\ng", "5", 5), ("'a' \\\n'b'", "'ab'", "ab"),
            ("f'''\n{1}\n'''", "'\\n1\\n'", "\n1\n"), ("-1", "-1", -1), ("[i for i in\n range(2)]", "[0, 1]", [0, 1]),
        ):
            with self.subTest(code=code):
                got = self.ok(once(code))
                self.assertEqual(got.text, text)
                self.assertEqual(got.value.get("application/json"), plain)

    def test_no_value(self):
        for code in ("None", "x = 1", "1;", "'a;b';", "if True:\n  5", "for i in [1]:\n  i", "", "\n",
                     "# only", "def f(): pass", "x = 5\nx;", "5 ;  ", "with open('/dev/null'):\n  5",
                     "x = '''\n5\n'''", "x = (\n5\n)", "try:\n  5\nfinally:\n  6", "\f\n"):
            with self.subTest(code=code):
                got = self.ok(once(code))
                self.assertNotIn("value", got.result)

    def test_warns_once_with_the_right_line(self):
        got = self.ok(once("x = 1\n\nx is 1"))
        self.assertEqual(got.err.count("SyntaxWarning"), 1)
        self.assertIn(":3:", got.err)

    def test_repr_methods(self):
        got = self.ok(once("""
            class A:
                def __repr__(self): return "A!"
                def _repr_html_(self): return "<b>"
                def _repr_markdown_(self): return "*m*"
                def _repr_svg_(self): return "<svg/>"
                def _repr_png_(self): return b"\\x89PNG"
                def _repr_jpeg_(self): return b"jpg"
                def _repr_pdf_(self): return b"pdf"
                def _repr_latex_(self): return "$x$"
                def _repr_json_(self): return {"a": (1, 2)}
                def _repr_javascript_(self): return "js()"
            A()
            """))
        b64 = lambda data: base64.b64encode(data).decode()
        self.assertEqual(got.value, {
            "text/plain": "A!", "text/html": "<b>", "text/markdown": "*m*", "image/svg+xml": "<svg/>",
            "image/png": b64(b"\x89PNG"), "image/jpeg": b64(b"jpg"), "application/pdf": b64(b"pdf"),
            "text/latex": "$x$", "application/json": {"a": [1, 2]}, "application/javascript": "js()"})

    def test_mimebundle(self):
        got = self.ok(once("class A:\n def _repr_mimebundle_(self, include=None, exclude=None):\n"
                           "  return {'text/x': 'y', 'application/geo+json': {'a': 1}}, {}\nA()"))
        self.assertEqual(got.value["text/x"], "y")
        self.assertEqual(got.value["application/geo+json"], {"a": 1})
        self.assertEqual(got.text, 'y\n{"a":1}')

    def test_failing_reprs(self):
        got = self.fails(once("class A:\n def __repr__(self): 1/0\n def _repr_html_(self): 1/0\nA()"),
                         "ZeroDivisionError")
        self.assertEqual(got.error["line"], 2)
        self.fails(once("class A:\n def __repr__(self): 1/0\n[A()]"), "ZeroDivisionError")
        self.fails(once("class A:\n def __repr__(self): return 5\nA()"), "TypeError")
        got = self.ok(once("class A:\n def __repr__(self): 1/0\nx = [A()]\ndisplay(A())"))
        self.assertRegex(got.displays[0]["data"]["text/plain"], r"^<__main__\.A object at 0x")
        self.ok(once("class A:\n def __getattr__(self, n): return lambda *a, **k: 5\nA()"))
        self.fails(once("class A:\n def __repr__(self): raise SystemExit(4)\nA()"), "SystemExit")
        self.ok(once("class A:\n @property\n def __class__(self): 1/0\nA()"))
        self.assertRegex(once("10**10000").text, "int|1000")

    def test_cycles_and_depth(self):
        self.assertEqual(once("a = []; a.append(a); a").text, "[[...]]")
        got = self.ok(once("a = []\nfor _ in range(100000): a = [a]\na"))
        self.assertTrue(got.text)
        got = self.ok(once("class A:\n def __repr__(self): return repr(self)\nA()"))
        self.assertIn("object at", got.text)

    def test_large_values_are_cut(self):
        for code in ("'x' * 100_000_000", "[1] * 20_000_000", "'\\0' * 20_000_000",
                     "'\u00e9' * 50_000_000", "'\\ud800' * 3_000_000"):
            with self.subTest(code=code):
                got = self.ok(once(code, value_bytes=1 << 30))
                self.assertRegex(got.text, r"\n\[\.\.\. \d+ characters cut \.\.\.\]\n")
                self.assertLess(len(got.text.encode()), 5 << 20)
        got = self.ok(once("'ab' * 1000", value_bytes=100))
        self.assertRegex(got.text, r"(?s)^'abab.*\n\[\.\.\. (1900|1902) characters cut \.\.\.\]\n.*abab'$")

    def test_large_binary_is_replaced(self):
        got = self.ok(once("class A:\n def _repr_png_(self): return b'x' * 5000\nA()", value_bytes=1000))
        self.assertNotIn("image/png", got.value)
        self.assertIn("image/png", got.text)

    def test_surrogates(self):
        got = self.ok(once(r"'\ud83d\ude00 \udcff' + chr(0xd83d) + chr(0xde00)"))
        self.assertEqual(got.value["application/json"], "\U0001f600 \ufffd\U0001f600")
        got = self.fails(once(r"raise ValueError('\ud800 \0')"), "ValueError")
        self.assertEqual(got.error["message"], "\ufffd \0")
        got = self.ok(once(r"display({'text/plain': '\udc80'}, raw=True)"))
        self.assertEqual(got.displays[0]["data"]["text/plain"], "\ufffd")

    def test_display(self):
        got = self.ok(once("""
            import retort
            display(1, "two")
            retort.display({"text/html": "<i>", "image/png": b"x", "x/y+json": [1]}, raw=True,
                           metadata={"a": 1})
            print("p")
            """))
        self.assertEqual([d["data"].get("text/plain") for d in got.displays], ["1", "'two'", None])
        self.assertEqual(got.displays[2]["data"],
                         {"text/html": "<i>", "image/png": "eA==", "x/y+json": [1]})
        self.assertEqual(got.displays[2]["metadata"], {"a": 1})
        self.assertNotIn("value", got.result)

    def test_final_answer(self):
        mark = "application/vnd.retort.answer+json"
        got = self.ok(once("import retort\nfinal_answer(\"a'b\")\nretort.final_answer([1, 2.5])"))
        self.assertEqual([d["data"] for d in got.displays], [
            {"text/plain": "a'b", "application/json": "a'b", mark: {"type": "str"}},
            {"text/plain": "[1, 2.5]", "application/json": [1, 2.5], mark: {"type": "list"}}])
        self.assertNotIn("value", got.result)

    def test_interrupt_in_a_repr(self):
        with Driver() as driver:
            timer = lambda: threading_timer(0.4, driver.interrupt)
            got = driver.step("class A:\n def __repr__(self):\n  while True: pass\nA()", at_begin=timer)
            self.fails(got, "KeyboardInterrupt")
            self.assertEqual(driver.step("1").text, "1")


def threading_timer(seconds, call):
    import threading

    threading.Timer(seconds, call).start()


class Errors(Case):
    def test_traceback(self):
        got = self.fails(once("def f(x):\n    return 1 / x\n\nf(0)"), "ZeroDivisionError")
        self.assertEqual(got.error["message"], "division by zero")
        self.assertEqual(got.error["line"], 2)
        self.assertEqual(got.result["exit_code"], 1)
        self.assertIn('  File "<step>", line 4, in <module>\n    f(0)', got.trace)
        self.assertIn("    return 1 / x", got.trace)
        self.assertTrue(got.trace.startswith("Traceback (most recent call last):\n  File \"<step>\""))
        self.assertTrue(got.trace.endswith("\nZeroDivisionError: division by zero"))
        self.assertEqual(got.err, got.trace + "\n")

    def test_lines_are_those_of_python(self):
        got = self.fails(once("x = '\x1c\u2028'\n\x0cy = 1\r\n1/0"), "ZeroDivisionError")
        self.assertRegex(got.trace, r"line 3, in <module>\n    1/0\n(    ~\^~\n)?Zero")  # no marks before 3.11

    def test_only_user_frames(self):
        got = self.fails(once("import json\njson.loads('{')"), "JSONDecodeError")
        self.assertNotIn("json/", got.trace)
        self.assertEqual(got.error["line"], 2)
        got = self.fails(once("import helper\nhelper.f()", files={"helper.py": "def f():\n  1/0"}),
                         "ZeroDivisionError")
        self.assertIn("helper.py", got.trace)
        self.assertIn("1/0", got.trace)

    def test_chains(self):
        got = self.fails(once("try:\n 1/0\nexcept Exception:\n {}['k']"), "KeyError")
        self.assertIn("During handling of the above exception", got.trace)
        self.assertIn("ZeroDivisionError", got.trace)
        got = self.fails(once("try:\n 1/0\nexcept Exception as e:\n raise OSError('x') from e"), "OSError")
        self.assertIn("direct cause", got.trace)
        self.fails(once("a = ValueError(1); b = ValueError(2)\na.__context__ = b; b.__context__ = a\n"
                        "a.__cause__ = b; b.__cause__ = a\nraise a"), "ValueError")
        self.fails(once("e = None\nfor i in range(3000):\n  n = ValueError(i); n.__context__ = e; e = n\nraise e"),
                   "ValueError")

    def test_syntax_error(self):
        got = self.fails(once("x = 1\nif x\n  y"), "SyntaxError")
        self.assertEqual(got.error["line"], 2)
        self.assertIn('File "<step>", line 2', got.trace)
        self.assertIn("if x", got.trace)
        self.assertIn("^", got.trace)
        self.assertNotIn("Traceback", got.trace)
        self.fails(once("  x = 1", filename="a.py"), "IndentationError")
        self.fails(once("x = 1\n  y = 1"), "IndentationError")
        self.fails(once("if 1:\n\tx\n        y"), "TabError")
        self.fails(once("return 5"), "SyntaxError")
        self.fails(once("x = 5\ny = '''"), "SyntaxError")

    def test_notes_and_groups(self):
        if json.loads(subprocess.check_output([PYTHON, "-c", "import sys; print(sys.version_info[1])"])) < 11:
            self.skipTest("Python before 3.11")
        got = self.fails(once("e = ValueError('x'); e.add_note('look here'); raise e"), "ValueError")
        self.assertIn("look here", got.trace)
        got = self.fails(once("def f():\n 1/0\ntry: f()\nexcept Exception as e:\n"
                              " raise ExceptionGroup('g', [e, KeyError('k')])"), "ExceptionGroup")
        self.assertIn("ZeroDivisionError", got.trace)
        self.assertIn("KeyError: 'k'", got.trace)

    def test_exits(self):
        for code, status, number in (("exit()", "ok", 0), ("import sys; sys.exit()", "ok", 0),
                                     ("raise SystemExit(0)", "ok", 0), ("exit(3)", "error", 3),
                                     ("exit(-1)", "error", 255), ("exit(256)", "ok", 0),
                                     ("exit(10**30)", "error", 255)):
            got = once(code)
            self.assertEqual((got.result["status"], got.result["exit_code"]), (status, number), code)
            self.assertEqual(got.err, "")
        self.assertEqual(once("exit(3)").error, {"name": "SystemExit", "message": "3", "traceback": []})
        got = once("exit('msg \u00e9')")
        self.assertEqual((got.result["exit_code"], got.err), (1, "msg \u00e9\n"))
        with Driver() as driver:
            self.assertEqual(driver.step("x = 1\nexit(7)").result["exit_code"], 7)
            self.assertEqual(driver.step("x").text, "1")
            self.fails(driver.step("input()"), "EOFError")

    def test_interrupt(self):
        with Driver() as driver:
            got = driver.step("def f():\n  while True:\n    pass\nf()",
                              at_begin=lambda: threading_timer(0.3, driver.interrupt))
            self.fails(got, "KeyboardInterrupt")
            self.assertIn("in f", got.trace)
            got = driver.step("import time; time.sleep(20)",
                              at_begin=lambda: threading_timer(0.3, driver.interrupt))
            self.fails(got, "KeyboardInterrupt")
            for _ in range(5):
                driver.interrupt()
                time.sleep(0.01)
            self.assertEqual(self.ok(driver.step("5")).text, "5")

    def test_step_that_is_begun(self):
        """No BEGIN is said; and an interrupt of the parent's is its, also before the code runs. Others' are not."""

        def begun(code):
            driver.start(code, "session", begun=True)
            return driver.finish(began=True)

        with Driver() as driver:
            self.assertEqual(driver.step("x = 5; x").text, "5")
            self.assertEqual(self.ok(begun("x + 1")).text, "6")
            driver.interrupt()
            got = self.fails(begun("x = 9"), "KeyboardInterrupt")
            self.assertEqual(got.error["message"], "")
            self.assertEqual(self.ok(begun("x")).text, "5")
            subprocess.run(["sh", "-c", "kill -INT %d" % driver.process.pid], check=True)
            self.assertEqual(self.ok(begun("x")).text, "5")
            driver.interrupt()
            self.assertEqual(self.ok(driver.step("x")).text, "5")
            driver.start("import time\ntry: time.sleep(9)\nexcept KeyboardInterrupt: x = 7", "session", begun=True)
            time.sleep(0.2)
            driver.interrupt()
            self.ok(driver.finish(began=True))
            self.assertEqual(driver.step("x").text, "7")

    def test_interrupts_at_the_worst_time(self):
        with Driver() as driver:
            for i in range(150):
                driver.start("x = [0] * 10\nx", "session")
                for _ in range(i % 4):
                    driver.interrupt()
                got = driver.finish()
                self.assertFalse(got.eof, got.stderr)
                self.assertIn(got.result["status"], ("ok", "error"))

    def test_interrupt_while_a_thread_is_joined(self):
        with Driver() as driver:
            got = driver.step("import threading, time\nthreading.Thread(target=time.sleep, args=(3,)).start()",
                              "once", at_begin=lambda: threading_timer(0.5, driver.interrupt))
            self.fails(got, "KeyboardInterrupt")

    def test_memory_error(self):
        self.fails(once("x = bytearray(1 << 60)"), "MemoryError")
        self.fails(once("raise MemoryError"), "MemoryError")

    def test_recursion(self):
        got = self.fails(once("def f(): f()\nf()"), "RecursionError")
        self.assertLess(len(got.error["traceback"]), 60)
        self.assertIn("repeated", got.trace)
        got = self.fails(once("def f(n): g(n)\ndef g(n): f(n)\nf(1)"), "RecursionError")
        self.assertLess(len(got.error["traceback"]), 500)
        with Driver() as driver:
            self.fails(driver.step("import sys; sys.setrecursionlimit(60)\ndef f(): f()\nf()"), "RecursionError")
            self.assertEqual(driver.step("sys.getrecursionlimit()").text, "60")
            self.fails(driver.step("1/0"), "ZeroDivisionError")

    def test_odd_exceptions(self):
        got = self.fails(once("class E(Exception):\n def __str__(self): 1/0\nraise E()"), "E")
        self.assertIn("str() failed", got.error["message"])
        self.fails(once("class E(Exception): __module__ = 5\nraise E('m')"), "E")
        self.fails(once("class E(Exception): __module__ = None\nraise E('m')"), "E")
        self.fails(once("raise GeneratorExit"), "GeneratorExit")
        self.fails(once("raise BaseException('b')"), "BaseException")
        self.fails(once("class M(type):\n @property\n def __name__(c): 1/0\n"
                        "class E(Exception, metaclass=M): pass\nraise E()"), "E")
        self.fails(once("class S(str):\n def __str__(s): return 5\nclass E(Exception):\n"
                        " def __str__(self): return S('x')\nraise E()"), "E")
        self.fails(once("raise 5"), "TypeError")
        self.fails(once("assert False, 'why'"), "AssertionError")

    def test_huge_message(self):
        got = self.fails(once("raise ValueError('m' * 50_000_000)"), "ValueError")
        self.assertLess(len(got.error["message"]), 11_000)
        self.assertLess(len(got.trace), 50_000)
        self.assertIn("characters cut", got.error["message"])
        got = self.fails(once("raise ValueError('m\\n' * 100_000)"), "ValueError")
        self.assertLess(len(got.trace), 50_000)

    def test_huge_name(self):
        got = self.fails(once("raise type('N' * 5_000_000, (Exception,), {})('x')"), "N" * 200 + "...")
        self.assertEqual(got.error["message"], "x")
        self.assertLess(len(got.trace), 50_000)

    def test_excepthook(self):
        got = self.fails(once("import sys\nsys.excepthook = lambda t, v, tb: print('hook', v, tb.tb_lineno)\n1/0"),
                         "ZeroDivisionError")
        self.assertEqual((got.out, got.err), ("hook division by zero 3\n", ""))
        got = self.fails(once("import sys\nsys.excepthook = lambda *a: [][1]\n1/0"), "ZeroDivisionError")
        self.assertIn("IndexError", got.err)
        self.assertIn("ZeroDivisionError", got.err)
        got = self.fails(once("import sys\ndel sys.excepthook\n1/0"), "ZeroDivisionError")
        self.assertIn("ZeroDivisionError", got.err)

    def test_workspace_does_not_capture_us(self):
        names = ("json traceback linecache re tokenize collections functools enum textwrap random os "
                 "site codeop contextlib keyword operator token types _ast binascii").split()
        files = {name + ".py": "raise RuntimeError('captured %s')\n" % name for name in names}
        files["driver.py"] = files["rich.py"] = files["trace.py"] = "x = 'mine'"
        with Driver(files=files) as driver:
            got = self.fails(driver.step("def f():\n  1/0\nf()"), "ZeroDivisionError")
            self.assertIn("in f", got.trace)
            self.assertIn("    1/0", got.trace)
            self.ok(driver.step("a = 1; [a, (2,)]"))
            self.assertEqual(driver.step("import driver, rich, trace; driver.x + trace.x").text, "'minemine'")
            got = self.fails(driver.step("import json"), "RuntimeError")
            self.assertIn("captured json", got.trace)
        with Driver(files={"traceback.py": "x = 1", "re.py": "y = 2"}) as driver:
            self.ok(driver.step("import traceback, re; traceback.x + re.y"))
            got = self.fails(driver.step("1/0"), "ZeroDivisionError")
            self.assertIn("    1/0", got.trace)
            self.assertEqual(driver.step("import re, traceback; re.y + traceback.x").text, "3")

    def test_user_sees_own_module_after_ours_was_used(self):
        with Driver(files={"traceback.py": "x = 1"}) as driver:
            self.fails(driver.step("1/0"), "ZeroDivisionError")
            self.assertEqual(driver.step("import traceback; traceback.x").text, "1")


class Source(Case):
    def test_odd_sources(self):
        for code, text in (("x = 1\r\nx\r\n", "1"), ("\ufeffx = 2\nx", "2"), ("\f\nx = 3\n\f\nx", "3"),
                           ("# -*- coding: latin-1 -*-\n'\u00e9'", "'\u00e9'"), ("if 1:\n\tx = 4\nx", "4"),
                           ("x = '''a\r\nb'''\nx", "'a\\nb'"), ("'\u2028'", "'\\u2028'")):
            got = once(code)
            self.assertEqual(got.result["status"], "ok", (code, got.result))
            self.assertEqual(got.text, text)

    def test_nul_and_surrogates(self):
        got = once("x = 1\0")
        self.assertIn(got.error["name"], ("SyntaxError", "ValueError"))
        self.assertIn("null bytes", got.error["message"])
        got = once("'\ud800'")
        self.assertEqual(got.result["status"], "error")
        got = self.ok(once("'\U0001f600\\/'"))
        self.assertEqual(got.text, "'\U0001f600\\\\/'")

    def test_slash_escaped_in_json(self):
        with Driver() as driver:
            driver.id = "q"
            driver.send(STEP, rb'{"id":"q","code":"\"a\/b\"","filename":"<s>","argv":[],"mode":"once"}')
            self.assertEqual(driver.finish().text, "'a/b'")

    def test_huge(self):
        got = self.ok(once("x = '" + "a" * 5_000_000 + "'\nlen(x)"))
        self.assertEqual(got.text, "5000000")
        got = self.ok(once("x = 1\n" * 100_000 + "x + 1", wait=60))
        self.assertEqual(got.text, "2")
        got = self.fails(once("x = " + "1 + " * 1_000_000 + "(", wait=60), once("(").error["name"])

    def test_future_is_kept(self):
        with Driver() as driver:
            driver.step("from __future__ import annotations")
            got = self.ok(driver.step("def f(x: nope): pass\nf.__annotations__"))
            self.assertEqual(got.text, "{'x': 'nope'}")

    def test_lines_for_inspect(self):
        with Driver() as driver:
            driver.step("def f():\n    return 'from f'\n")
            got = self.ok(driver.step("import inspect\nprint(inspect.getsource(f))"))
            self.assertIn("return 'from f'", got.out)
            driver.step("def g():\n    return f() + 'g'\n")
            self.assertIn("+ 'g'", self.ok(driver.step("print(inspect.getsource(g))")).out)
            driver.step("def h():\n    raise KeyError(1)\n")
            got = self.fails(driver.step("\n\n\nh()"), "KeyError")
            self.assertIn("    raise KeyError(1)", got.trace)
            self.assertIn("    h()", got.trace)

    def test_classes_for_inspect(self):
        with Driver() as driver:
            driver.step("class A:\n    x = 1\n")
            driver.step("class A:\n    x = 2\n\nclass B(A):\n    def f(self): return A\n")
            driver.step("class C(B): pass")
            got = self.ok(driver.step("import inspect\nfor kind in A, B, C: print(inspect.getsource(kind), end='')"))
            self.assertEqual(got.out, "class A:\n    x = 2\nclass B(A):\n    def f(self): return A\nclass C(B): pass\n")
            self.fails(driver.step("inspect.getsource(type('D', (), {}))"), "OSError")

    def test_stacks_begin_with_the_step(self):
        got = self.ok(once("import inspect, logging, traceback\ndef f():\n  traceback.print_stack()\n"
                           "  logging.error('x', stack_info=True)\n  return len(inspect.stack()), "
                           "len(traceback.extract_stack())\nf()"))
        self.assertEqual(got.text, "(2, 2)")
        self.assertNotIn("driver", got.err)
        self.assertEqual(got.err.count("File"), 4)

    def test_what_the_compiler_finds_has_its_line(self):
        for code in ("x = 1\nreturn x", "x = 1\nfor i in x:\n  pass\nbreak", "def f():\n  global a\n  nonlocal b"):
            got = self.fails(once(code), "SyntaxError")
            self.assertIn("\n    %s\n" % code.split("\n")[-1].strip(), got.trace)

    def test_chained_exceptions_stand_apart(self):
        got = self.fails(once("try: 1/0\nexcept Exception as e: raise KeyError(1) from e"), "KeyError")
        self.assertIn("zero\n\nThe above exception was the direct cause of the following exception:\n\nTrace", got.err)
        self.assertIn("exception:\n\nTrace", got.trace)

    def test_traceback_module_in_a_step(self):
        got = self.ok(once("import traceback\ntry:\n  1/0\nexcept Exception:\n  print(traceback.format_exc())"))
        self.assertIn("\n    1/0\n", got.out)
        self.assertNotIn(DRIVER_DIR, got.out)


class Abuse(Case):
    def survives(self, *codes):
        with Driver() as driver:
            for code in codes:
                got = driver.step(code)
                self.assertFalse(got.eof, (code, got.stderr))
            got = self.ok(driver.step("print('alive')\n40 + 2"))
            self.assertEqual((got.out, got.text), ("alive\n", "42"))
            got = self.fails(driver.step("1/0"), "ZeroDivisionError")
            self.assertIn("    1/0", got.trace)
            self.assertIn("ZeroDivisionError", got.err)
            return got

    def test_streams(self):
        self.survives("import sys; sys.stdout.close()")
        self.survives("import os; os.close(1); os.close(2)")
        self.survives("import os; os.close(0); os.close(1); os.close(2); open('x','w'); open('y','w'); open('z','w')")
        self.survives("import os; os.dup2(os.open('log', os.O_CREAT|os.O_RDWR), 1)")
        self.survives("import sys, io; sys.stdout = io.StringIO(); sys.stderr = sys.stdin = None")
        self.survives("import sys; sys.stdout = sys.stderr = 5")
        self.survives("import sys; sys.stdin.close(); sys.stdout.detach(); sys.stderr.detach()")
        self.survives("import sys; del sys.stdout, sys.stderr, sys.stdin")
        self.survives("import sys; sys.__stdout__.buffer.close()")

    def test_stderr_gone_still_reported(self):
        got = self.fails(once("import os; os.close(2); os.close(1)\n1/0"), "ZeroDivisionError")
        self.assertIn("1/0", got.trace)

    def test_cwd_deleted(self):
        self.survives("import os; os.mkdir('d'); os.chdir('d'); os.rmdir('../d')")
        self.survives("import os; os.chdir('/')")

    def test_builtins(self):
        for name in ("print", "open", "len", "compile", "eval", "exec", "repr", "isinstance", "type", "str",
                     "dict", "getattr", "hasattr", "sorted", "map", "BaseException", "Exception",
                     "KeyboardInterrupt", "__import__", "id", "int", "min", "range", "display", "vars"):
            with self.subTest(name=name), Driver() as driver:
                driver.step("import builtins; keep = builtins.%s; builtins.%s = None" % (name, name))
                got = driver.step("def f():\n  1/0\nf()")
                self.fails(got, "ZeroDivisionError")
                self.assertIn("    1/0", got.trace)
                got = self.ok(driver.step("x = 5; [x, {'a': (1, 2)}]"))
                self.assertEqual(got.text, "[5, {'a': (1, 2)}]")
                self.ok(driver.step("builtins.%s is None or 1/0" % name))

    def test_sys(self):
        self.survives("import sys; sys.exit = None; sys.modules.pop('__main__'); sys.argv = None")
        self.survives("import sys; sys.path = None; sys.meta_path = []")
        self.survives("import sys; sys.path.clear(); sys.meta_path.clear(); sys.path_hooks.clear()")
        self.survives("import sys; sys.displayhook = sys.excepthook = None; sys.excepthook = sys.__excepthook__")
        self.survives("import sys\nfor m in list(sys.modules):\n  if m not in ('sys', 'builtins'): del sys.modules[m]")
        with Driver() as driver:
            self.ok(driver.step("import sys; had = {m: sys.modules.pop(m) for m in ('posix', 'retort', '_codecs')}"))
            self.ok(driver.step("assert all(sys.modules[m] is had[m] for m in had)"))
            self.ok(driver.step("sys.modules['posix'] = None"))
            self.ok(driver.step("assert sys.modules['posix'] is None"))
        self.survives("import sys; sys.getrecursionlimit = sys.settrace = None") if 0 else None

    def test_main(self):
        self.survives("del __builtins__")
        self.survives("__builtins__ = None")
        self.survives("__name__ = 5; __loader__ = None; __file__ = 5")
        self.survives("globals().clear()")
        self.survives("globals()[5] = 6; _ = 7")

    def test_stdlib_broken_by_the_user(self):
        self.survives_brief("import traceback; traceback.TracebackException = None")
        self.survives_brief("import linecache; linecache.cache = None; linecache.getlines = None")

    def survives_brief(self, code):
        with Driver() as driver:
            driver.step(code)
            got = self.fails(driver.step("1/0"), "ZeroDivisionError")
            self.assertIn("ZeroDivisionError", got.err)
            self.ok(driver.step("1"))

    def test_signals(self):
        self.survives("import signal, time\ndef h(*a): raise TimeoutError\n"
                      "signal.signal(signal.SIGALRM, h); signal.setitimer(signal.ITIMER_REAL, 0.05)",
                      "import time; time.sleep(0.1)")
        self.survives("import signal; signal.alarm(1)", "import time; time.sleep(1.2)")
        with Driver() as driver:
            driver.step("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)")
            driver.interrupt()
            time.sleep(0.1)
            self.ok(driver.step("1"))
        with Driver() as driver:
            driver.step("import signal\ndef h(*a): print('mine')\nsignal.signal(signal.SIGINT, h)")
            got = driver.step("import time; time.sleep(0.6); 5",
                              at_begin=lambda: threading_timer(0.3, driver.interrupt))
            self.assertEqual((got.out, got.text), ("mine\n", "5"))
        with Driver() as driver:
            driver.step("import signal\ndef h(*a): raise RuntimeError\nsignal.signal(signal.SIGUSR1, h)")
            for _ in range(20):
                driver.process.send_signal(signal.SIGUSR1)
                time.sleep(0.005)
            got = driver.step("1")
            self.assertFalse(got.eof)
            self.ok(driver.step("2"))

    def test_trace_functions(self):
        with Driver() as driver:
            driver.step("import sys\ncalls = []\nsys.settrace(lambda *a: calls.append(a[0].f_code.co_filename))\n"
                        "sys.setprofile(lambda *a: calls.append(a[0].f_code.co_filename))")
            self.assertEqual(driver.step("sys.gettrace(), sys.getprofile()").text, "(None, None)")
            got = driver.step("[c for c in calls if 'driver' in c and 'perform' in c]")
            self.assertEqual(got.text, "[]")

    def test_fork(self):
        for mode in ("once", "session"):
            with Driver() as driver:
                got = self.ok(driver.step("""
                    import os
                    pid = os.fork()
                    if pid:
                        print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                    else:
                        print("in child"); display("lost")
                    """, mode))
                self.assertEqual(got.out, "in child\n'lost'\nchild 0\n")
                self.assertEqual(got.displays, [])
                if mode == "once":
                    continue
                got = self.ok(driver.step("pid = os.fork()\nif not pid: raise SystemExit(9)\n"
                                          "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"))
                self.assertEqual(got.text, "9")
                got = self.ok(driver.step("pid = os.fork()\nif not pid: 1/0\n"
                                          "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"))
                self.assertEqual(got.text, "1")
                self.assertIn("ZeroDivisionError", got.err)
                self.assertEqual(driver.step("pid = 5; pid").text, "5")

    def test_multiprocessing(self):
        got = self.ok(once("""
            import multiprocessing as mp
            def f(x): return x * x
            if __name__ == "__main__":
                with mp.get_context("fork").Pool(2) as pool: print(pool.map(f, [1, 2, 3]))
            """))
        self.assertEqual(got.out, "[1, 4, 9]\n")
        got = self.ok(once("""
            from concurrent.futures import ThreadPoolExecutor
            e = ThreadPoolExecutor(); f = e.submit(pow, 2, 5); f.result()
            """))
        self.assertEqual(got.text, "32")

    def test_death(self):
        self.assertTrue(once("import os; os._exit(3)").eof)
        self.assertTrue(once("import ctypes; ctypes.string_at(0)").eof)
        self.assertTrue(once("import os; os.kill(os.getpid(), 9)").eof)

    def test_del_raises(self):
        self.survives("class A:\n def __del__(self): 1/0\na = A(); a = None")
        got = self.ok(once("class A:\n def __del__(self): 1/0\na = A()"))
        self.assertIn("ZeroDivisionError", got.err)

    def test_descriptors_are_out_of_the_way(self):
        got = self.ok(once("import os; sorted(int(f) for f in os.listdir('/proc/self/fd'))"))
        self.assertEqual([fd for fd in json.loads(got.text) if fd < 400], [0, 1, 2, 3])  # 3 = listdir

    def test_children_do_not_hold_the_channel(self):
        got = self.ok(once("import subprocess; print(subprocess.check_output(['ls','/proc/self/fd'],"
                           "close_fds=False,text=True).split())"))
        self.assertEqual(got.out, "['0', '1', '2', '3']\n")

    def test_exit_function_raises(self):
        got = self.ok(once("import atexit; atexit.register(lambda: 1/0); None"))
        self.assertIn("ZeroDivisionError", got.err)


class Science(Case):
    @classmethod
    def setUpClass(cls):
        if not has("matplotlib, pandas"):
            raise unittest.SkipTest("no matplotlib and pandas for " + PYTHON)
        cls.driver = Driver()
        cls.driver.step("import numpy as np, pandas as pd, matplotlib.pyplot as plt, datetime as dt", wait=60)

    @classmethod
    def tearDownClass(cls):
        cls.driver.__exit__()

    def run_step(self, code):
        got = self.driver.step(code, wait=60)
        self.assertFalse(got.eof, got.stderr)
        return got

    def chart(self, code):
        got = self.ok(self.run_step(code))
        self.assertEqual(got.err, "")
        self.assertEqual(len(got.displays), 1)
        data = got.displays[0]["data"]
        self.assertTrue(base64.b64decode(data["image/png"]).startswith(b"\x89PNG"))
        self.assertTrue(data["text/plain"].startswith("<Figure"))
        return data[CHART]

    def test_frame(self):
        got = self.ok(self.run_step("""
            df = pd.DataFrame({"a": [1, None], "t": pd.to_datetime(["2024-01-02", None]),
                               "s": ["x", None], 5: [True, False]})
            df
            """))
        self.assertEqual(got.value[DATA], {"a": [1.0, None], "t": ["2024-01-02T00:00:00", None],
                                           "s": ["x", None], "5": [True, False]})
        self.assertIn("<table", got.value["text/html"])
        self.assertIn("2024-01-02", got.text)
        got = self.ok(self.run_step("df['a']"))
        self.assertEqual(got.value[DATA], {"a": [1.0, None]})
        self.assertIn("<table", got.value["text/html"])
        got = self.ok(self.run_step("pd.DataFrame(np.zeros((300_000, 20)))"))
        self.assertLessEqual(len(json.dumps(got.value[DATA])), 2 << 20)
        got = self.ok(self.run_step("pd.DataFrame([[1, 2]], columns=['x', 'x'])"))
        self.assertEqual(got.value[DATA], {"x": [1], "x.2": [2]})
        self.ok(self.run_step("pd.DataFrame()"))
        self.ok(self.run_step("df.groupby('s').agg({'a': ['sum', 'mean']})"))

    def test_figure_is_shown_once(self):
        got = self.ok(self.run_step("fig, ax = plt.subplots(); ax.plot([1, 2]);\nfig"))
        self.assertEqual(got.displays, [])
        self.assertIn("image/png", got.value)
        self.assertEqual(got.value[CHART]["type"], "line")
        got = self.ok(self.run_step("plt.plot([1]); plt.show(); print('after'); plt.plot([2]); plt.figure().text(0, 0, 'x');"))
        self.assertEqual(len(got.displays), 3)
        self.assertEqual(got.err, "")
        got = self.ok(self.run_step("plt.get_fignums()"))
        self.assertEqual((got.text, got.displays), ("[]", []))
        got = self.ok(self.run_step("fig = plt.figure(); display(fig); None"))
        self.assertEqual(len(got.displays), 1)

    def test_figure_of_a_failed_step(self):
        got = self.fails(self.run_step("plt.plot([1, 2])\n1/0"), "ZeroDivisionError")
        self.assertEqual(len(got.displays), 1)

    def test_line(self):
        chart = self.chart("""
            plt.plot([1, 2, 3], [4.5, float("nan"), float("inf")], label="s"); plt.plot([1, 2], [3, 4])
            plt.axhline(3)
            plt.title("T"); plt.xlabel("time (s)"); plt.ylabel("speed [m/s]"); plt.yscale("log");
            """)
        self.assertEqual([chart[k] for k in ("type", "title", "x_label", "x_unit", "y_label", "y_unit",
                                             "x_scale", "y_scale")],
                         ["line", "T", "time (s)", "s", "speed [m/s]", "m/s", "linear", "log"])
        self.assertEqual(chart["elements"], [{"label": "s", "points": [[1, 4.5], [2, None], [3, None]]},
                                             {"label": "", "points": [[1, 3], [2, 4]]}])
        for key in ("x_ticks", "x_tick_labels", "y_ticks", "y_tick_labels"):
            self.assertIsInstance(chart[key], list)

    def test_dates_and_categories(self):
        chart = self.chart("plt.plot([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], [1, 2]);")
        self.assertEqual(chart["x_scale"], "datetime")
        self.assertEqual(chart["elements"][0]["points"], [["2024-01-01", 1], ["2024-01-02", 2]])
        self.assertIsInstance(chart["x_ticks"][0], str)
        chart = self.chart("pd.Series([1, 2, 3], pd.date_range('2024-01-01', periods=3)).plot();")
        self.assertEqual(chart["elements"][0]["points"][0], ["2024-01-01T00:00:00", 1])
        self.assertEqual(chart["x_scale"], "datetime")
        chart = self.chart("plt.scatter(np.array(['2024-01-01', '2024-01-02'], 'M8[D]'), [1, 2]);")
        self.assertEqual(chart["elements"][0]["points"][1], ["2024-01-02T00:00:00", 2])
        chart = self.chart("plt.plot(['a', 'b'], [1, 2]);")
        self.assertEqual((chart["x_scale"], chart["elements"][0]["points"]), ("categorical", [["a", 1], ["b", 2]]))

    def test_scatter(self):
        chart = self.chart("plt.scatter([1, 2], [3.5, 4], label='c');")
        self.assertEqual((chart["type"], chart["elements"]),
                         ("scatter", [{"label": "c", "points": [[1, 3.5], [2, 4]]}]))
        self.assertEqual(self.chart("plt.plot([1, 2], [3, 4], 'o');")["type"], "scatter")

    def test_bar(self):
        chart = self.chart("plt.bar(['a', 'b'], [1, 2.5], label='g'); plt.xlabel('X');")
        self.assertEqual((chart["type"], chart["x_label"], chart["y_label"], chart["y_unit"]), ("bar", "X", None, None))
        self.assertEqual(chart["elements"], [{"label": "a", "group": "g", "value": 1},
                                             {"label": "b", "group": "g", "value": 2.5}])
        chart = self.chart("plt.barh(['a', 'b'], [1, 2]);")
        self.assertEqual([(e["label"], e["value"]) for e in chart["elements"]], [("a", 1), ("b", 2)])
        chart = self.chart("pd.DataFrame({'u': [1, 2], 'v': [3, 4]}, ['p', 'q']).plot.bar();")
        self.assertEqual([(e["label"], e["group"], e["value"]) for e in chart["elements"]],
                         [("p", "u", 1), ("q", "u", 2), ("p", "v", 3), ("q", "v", 4)])
        chart = self.chart("""
            x = np.arange(2); plt.bar(x - .2, [1, 2], .4, label='A'); plt.bar(x + .2, [3, 4], .4, label='B')
            plt.xticks(x, ['k', 'l']);
            """)
        self.assertEqual([(e["label"], e["group"]) for e in chart["elements"]],
                         [("k", "A"), ("l", "A"), ("k", "B"), ("l", "B")])
        chart = self.chart("plt.hist([1, 1, 2, 5], bins=4);")
        self.assertEqual((chart["type"], sum(e["value"] for e in chart["elements"])), ("bar", 4))

    def test_pie(self):
        chart = self.chart("plt.pie([1, 3], labels=['a', 'b'], autopct='%d'); plt.title('P');")
        self.assertEqual((chart["type"], chart["title"]), ("pie", "P"))
        self.assertEqual(chart["elements"], [{"label": "a", "angle": 90, "radius": 1},
                                             {"label": "b", "angle": 270, "radius": 1}])

    def test_boxes(self):
        chart = self.chart("plt.boxplot([[1, 2, 3, 4, 50], [2, 3, 4]], labels=['m', 'n']);")
        self.assertEqual(chart["type"], "box_and_whisker")
        self.assertEqual(chart["elements"][0], {"label": "m", "min": 1, "first_quartile": 2, "median": 3,
                                                "third_quartile": 4, "max": 4, "outliers": [50]})
        self.assertEqual(self.chart("pd.DataFrame({'z': [1, 2, 3]}).plot.box();")["elements"][0]["label"], "z")

    def test_several_and_unknown(self):
        chart = self.chart("f, a = plt.subplots(1, 2); f.suptitle('S'); a[0].plot([1, 2]); a[1].bar(['x'], [2]);")
        self.assertEqual((chart["type"], chart["title"], [c["type"] for c in chart["elements"]]),
                         ("superchart", "S", ["line", "bar"]))
        chart = self.chart("plt.imshow(np.zeros((2, 2))); plt.colorbar();")
        self.assertEqual(chart["type"], "unknown")
        self.assertEqual(self.chart("plt.figure().text(0, 0, 'x');")["type"], "unknown")
        self.chart("plt.figure().add_subplot(projection='3d').plot([1, 2], [1, 2], [1, 2]);")

    def test_many_points(self):
        element = self.chart("plt.plot(np.arange(100_000));")["elements"][0]
        self.assertLessEqual(len(element["points"]), 5000)
        self.assertIs(element["truncated"], True)

    def test_bad_figure_does_not_fail_the_step(self):
        got = self.ok(self.run_step("plt.title('$\\\\frac{$'); print('on');"))
        self.assertEqual(got.out, "on\n")

    def test_pandas_error(self):
        got = self.fails(self.run_step("df = pd.DataFrame()\ndf['price']"), "KeyError")
        self.assertNotIn("pandas/", got.trace)
        self.assertEqual(got.error["line"], 2)
        self.assertTrue(got.trace.endswith("KeyError: 'price'"))

    def test_pil(self):
        if not has("PIL.Image"):
            self.skipTest("no PIL")
        got = self.ok(once("from PIL import Image\nim = Image.new('RGB', (3, 3)); im.show()\nim"))
        self.assertIn("image/png", got.value)
        self.assertEqual(len(got.displays), 1)
        self.assertIn("image/png", got.displays[0]["data"])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: test_driver.py DRIVER_DIR [unittest arguments]")
    DRIVER_DIR = os.path.realpath(sys.argv.pop(1))
    unittest.main()
