# SPDX-License-Identifier: Apache-2.0
"""program.run: a whole program in a box of its own, as it would run anywhere else."""

import base64
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

MIB = 1 << 20
SLEEP = f"1000.{os.getpid()}"
C_MAIN = '#include <stdio.h>\nint helper(void);\nint main(void) { printf("%d\\n", helper()); }\n'


def sleepers():
    """The processes that sleep for as long as nobody else does."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                found += [pid] if f.read().split(b"\0")[:2] == [b"sleep", SLEEP.encode()] else []
        except OSError:
            pass  # it has ended
    return found


class Programs(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def run_program(self, code, language="python", **params):
        return self.server.rpc("program.run", language=language, code=code, **params)

    def record(self, code, language="python", **params):
        """The program's record; the compiler must be content."""
        done = self.run_program(code, language, **params)
        self.assertEqual((done.get("compile") or {"status": "ok"})["status"], "ok", done)
        return done["run"]

    def printed(self, code, language="python", **params):
        """What a program prints that ends well."""
        record = self.record(code, language, **params)
        self.assertEqual((record["status"], record["exit_code"], record["stderr"]), ("ok", 0, ""))
        return record["stdout"]

    def error(self, **params):
        """The error of program.run."""
        said = self.server.post(web.question("program.run", **params)).json
        self.assertIn("error", said)
        return said["error"]

    def assertLeftNothing(self, server=None):
        server = server or self.server
        self.assertTrue(web.wait(lambda: server.rpc("session.list")["sessions"] == []))


class Native(Programs):
    """Python, JavaScript, shell and SQL run in their own drivers."""

    def test_each_language(self):
        for language, code, out in (("python", "print(input().upper())", "ÄB\n"),
                                    ("javascript", "process.stdin.on('data', d => process.stdout.write("
                                     "d.toString().toUpperCase()))", "ÄB\n"),
                                    ("shell", 'read -r line; echo "${line^^}"', "ÄB\n"),
                                    ("bash", "cat", "äb\n"), ("Py3", "print(input())", "äb\n")):
            with self.subTest(language=language):
                self.assertEqual(self.printed(code, language, stdin="äb\n"), out)
        record = self.record("create table t(a); insert into t values (1), (2); select sum(a) from t", "sql")
        self.assertEqual((record["status"], record["value"]["application/json"]["rows"]), ("ok", [[3]]))

    def test_the_answer_names_the_language(self):
        for language, name in (("py", "python"), ("Node", "javascript"), ("sh", "shell"), ("sqlite", "sql")):
            done = self.run_program("", language)
            self.assertEqual((done["language"], done["run"]["runtime"]), (name, name))
            self.assertNotIn("compile", done)

    def test_a_python_program_is_the_main_module(self):
        code = ("import sys, __main__, inspect\n"
                "print(__name__, sys.argv, __file__, __main__.answer, sys.modules['__main__'] is __main__)\n")
        out = self.printed("answer = 42\n" + code, args=["a", "é 'x'", "", "--", "-c"])
        self.assertEqual(out, "__main__ ['main.py', 'a', \"é 'x'\", '', '--', '-c'] /home/user/main.py 42 True\n")
        self.assertIn("'prog.py'] /home/user/prog.py", self.printed("answer = 1\n" + code, filename="prog.py"))

    def test_arguments_of_the_others(self):
        args = ["a b", "é", "", "*", "$x", "it's"]
        self.assertEqual(json.loads(self.printed("console.log(JSON.stringify(process.argv.slice(2)))", "js",
                                                 args=args)),
                         args)
        self.assertEqual(self.printed('printf "<%s>" "$@"; echo $#', "shell", args=args),
                         "".join(f"<{a}>" for a in args) + "6\n")

    def test_nothing_is_read_of_no_input(self):
        self.assertEqual(self.printed("import sys; print(repr(sys.stdin.read()))"), "''\n")
        self.assertEqual(self.printed("process.stdin.on('end', () => console.log('end')).resume()", "js"), "end\n")
        self.assertEqual(self.printed("cat; echo end", "shell"), "end\n")

    def test_much_input_and_output(self):
        text = "0123456789abcdef" * 65536
        self.assertEqual(self.printed("import sys\nsys.stdout.write(sys.stdin.read())", stdin=text), text)
        self.assertEqual(self.printed("cat", "shell", stdin=text), text)

    def test_a_value_is_no_output(self):
        self.assertEqual(self.printed("6 * 7"), "")
        self.assertEqual(self.printed("6 * 7", "js"), "")

    def test_exit_codes(self):
        for language, code in (("python", "import sys; sys.exit(7)"), ("python", "import os; os._exit(7)"),
                               ("javascript", "process.exit(7)"), ("javascript", "process.exitCode = 7"),
                               ("shell", "exit 7"), ("shell", "(exit 7)")):
            with self.subTest(code=code):
                record = self.record(code, language)
                self.assertEqual((record["exit_code"], record["signal"]), (7, None))
                self.assertNotEqual(record["status"], "ok")
        for language, code in (("python", "import sys; sys.exit()"), ("javascript", "process.exit()"),
                               ("shell", "exit 0")):
            self.assertEqual(self.record(code, language)["exit_code"], 0)

    def test_exceptions_name_the_file(self):
        record = self.record("x = 1\nprint('so far')\n1 / 0", filename="prog.py")
        self.assertEqual((record["status"], record["exit_code"], record["stdout"]), ("error", 1, "so far\n"))
        self.assertEqual((record["error"]["name"], record["error"]["line"]), ("ZeroDivisionError", 3))
        self.assertIn('prog.py", line 3', record["stderr"])
        self.assertTrue(record["stderr"].endswith("ZeroDivisionError: division by zero\n"))
        record = self.record("let x = 1\nnull.x", "javascript", filename="prog.js")
        self.assertEqual((record["status"], record["exit_code"]), ("error", 1))
        self.assertIn("prog.js:2", record["stderr"])
        record = self.record("def f(:\n  pass")
        self.assertEqual((record["error"]["name"], record["exit_code"]), ("SyntaxError", 1))

    def test_what_still_runs_is_awaited(self):
        self.assertEqual(self.printed(
            "import threading, time, atexit\n"
            "atexit.register(print, 'exit')\n"
            "def late():\n    time.sleep(0.3); print('thread')\n"
            "threading.Thread(target=late).start()\nprint('main')"), "main\nthread\nexit\n")
        self.assertEqual(self.printed(
            "setTimeout(() => console.log('timer'), 300); Promise.resolve().then(() => console.log('promise'));\n"
            "process.on('exit', () => console.log('exit')); console.log('main')", "js"), "main\npromise\ntimer\nexit\n")
        self.assertEqual(self.printed(
            "let all = ''\nprocess.stdin.on('data', d => all += d)\nprocess.stdin.on('end', () => console.log(all))",
            "js", stdin="one\ntwo"), "one\ntwo\n")
        self.assertEqual(self.printed("trap 'echo exit' EXIT; { sleep 0.3; echo late; } & wait; echo main", "shell"),
                         "late\nmain\nexit\n")
        self.assertEqual(self.printed(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0.01); print('async')\n"
            "asyncio.run(f())"), "async\n")

    def test_killed_by_a_signal(self):
        for language, code in (("python", "import os; os.kill(os.getpid(), 9)"),
                               ("javascript", "process.kill(process.pid, 'SIGKILL')"), ("shell", "kill -9 $$")):
            with self.subTest(language=language):
                record = self.record(code, language)
                self.assertEqual((record["status"], record["signal"]), ("killed", 9))

    def test_timeouts(self):
        for language, code in (("python", "while True: pass"), ("javascript", "for (;;);"),
                               ("shell", "while :; do :; done"),
                               ("sql",
                                "with recursive t(a) as (select 1 union all select a from t) select sum(a) from t")):
            with self.subTest(language=language):
                self.assertEqual(self.record(code, language, timeout_ms=300)["status"], "timeout")

    def test_the_memory_is_limited(self):
        record = self.record("x = b'1' * (1 << 30)\nprint('not so')", limits={"memory_bytes": 64 * MIB})
        self.assertIn(record["status"], ("oom", "error", "killed"))
        self.assertEqual(record["stdout"], "")
        self.assertEqual(record["limits"]["memory_bytes"]["value"], 64 * MIB)

    def test_the_environment_and_the_clock(self):
        self.assertEqual(self.printed("import os, time; print(os.environ['A'], int(time.time()))", env={"A": "é"},
                                      time=86400)[:8], "é 86400\n"[:8])
        one = [self.printed("import random; print(random.random())", seed=5) for _ in range(2)]
        self.assertEqual(one[0], one[1])


class Files(Programs):
    """What a program brings, and what is given back."""

    def test_files_beside_the_program(self):
        code = ("import pkg.mod, os\nprint(pkg.mod.word, open('a/b/c.bin', 'rb').read(), open('é.txt').read())\n"
                "print(sorted(os.listdir('.')))")
        out = self.printed(code, files=[
            {"path": "pkg/mod.py", "content": "word = 'imported'"},
            {"path": "a/b/c.bin", "content": base64.b64encode(b"\0\xff\n").decode(), "encoding": "base64"},
            {"path": "é.txt", "content": "text"}])
        self.assertEqual(out.splitlines()[0], "imported b'\\x00\\xff\\n' text")
        self.assertIn("'pkg'", out)
        self.assertEqual(self.printed("console.log(require('./lib/m.js').word)", "js", files=[
            {"path": "lib/m.js", "content": "exports.word = 'required'"}]), "required\n")
        self.assertEqual(self.printed(". lib/m.sh; say", "shell", files=[
            {"path": "lib/m.sh", "content": "say() { echo sourced; }"}]), "sourced\n")

    def test_files_that_cannot_be_written(self):
        for path in ("../x", "/etc/x", "a/../../x", "."):
            self.assertIn("code",
                          self.error(language="python", code="1", files=[{"path": path, "content": ""}])["data"])
        for rows in ([{"path": "x", "content": "not base64!", "encoding": "base64"}], [{"path": "x"}],
                     [{"content": "x"}], [{"path": "x", "content": "", "encoding": "latin1"}], ["x"], {"x": "y"},
                     [{"path": "a\0b", "content": ""}], [{"path": "", "content": ""}]):
            with self.subTest(files=rows):
                error = self.error(language="python", code="1", files=rows)
                self.assertIn("code", error["data"])
        self.assertLeftNothing()

    def test_files_are_given_back(self):
        code = ("import os\nos.makedirs('out/deep')\nopen('out/deep/a.txt', 'w').write('né')\n"
                "open('b.bin', 'wb').write(b'\\xff\\0')\nopen('empty', 'w')")
        done = self.run_program(code,
                                collect=["out/deep/a.txt", "b.bin", "empty", "nope", "/etc/hostname", "out", "../x"])
        found = {f["path"]: f for f in done["files"]}
        self.assertEqual(list(found), ["out/deep/a.txt", "b.bin", "empty"])
        self.assertEqual((found["out/deep/a.txt"]["content"], found["out/deep/a.txt"]["encoding"]), ("né", "utf-8"))
        self.assertEqual((base64.b64decode(found["b.bin"]["content"]), found["b.bin"]["encoding"]),
                         (b"\xff\0", "base64"))
        self.assertEqual((found["empty"]["content"], found["empty"]["size"]), ("", 0))
        unread = {f["path"]: f["code"] for f in done["unread"]}
        self.assertEqual(list(unread), ["nope", "/etc/hostname", "out", "../x"])
        self.assertEqual(unread["nope"], "not_found")
        self.assertTrue(all(f["message"] for f in done["unread"]))

    def test_long_names_of_files_that_are_not_there(self):
        """The message may end within a character."""
        for n in range(115, 130):
            path = "x" * (n % 2) + "é" * n
            unread = self.run_program("1", collect=[path])["unread"]
            self.assertEqual([u["path"] for u in unread], [path])

    def test_files_of_a_program_that_fails(self):
        done = self.run_program("open('a', 'w').write('x')\nexit(3)", collect=["a"])
        self.assertEqual((done["run"]["exit_code"], [f["content"] for f in done["files"]]), (3, ["x"]))

    def test_files_that_are_too_large(self):
        code = ("for name, n in ('a', 15), ('b', 15), ('c', 15), ('large', 17):\n"
                "    open(name, 'w').write('x' * (n << 20))\nopen('small', 'w').write('s')")
        done = self.run_program(code, collect=["large", "a", "b", "c", "small"])
        self.assertEqual(done["run"]["status"], "ok", done["run"])
        self.assertEqual([(f["path"], f["size"]) for f in done["files"]],
                         [("a", 15 * MIB), ("b", 15 * MIB), ("small", 1)])
        self.assertEqual([(f["path"], f["code"]) for f in done["unread"]], [("large", "limit"), ("c", "limit")])

    def test_programs_do_not_see_each_other(self):
        self.printed("open('left', 'w').write('x')")
        self.assertEqual(self.printed("import os; print('left' in os.listdir())"), "False\n")


class Parameters(Programs):
    def test_languages_that_are_unknown(self):
        for language in ("pythn", "brainfuck", "", "python\n"):
            error = self.error(language=language, code="")
            if language:
                self.assertEqual(error["data"]["code"], "runtime")
                self.assertTrue(error["data"]["hint"])
        self.assertIn("python", self.error(language="pythn", code="")["data"]["hint"])

    def test_languages_that_the_host_lacks(self):
        missing = [row for row in self.server.rpc("program.languages")["languages"] if not row["available"]]
        for row in missing:
            error = self.error(language=row["name"], code="")
            self.assertEqual(error["data"]["code"], "runtime")
            self.assertIn(row.get("package", "/usr"), error["data"]["hint"])
        if not missing:
            self.skipTest("this host has every language")

    def test_wrong_types(self):
        whole = {"language": "python", "code": "print(1)"}
        for name, values in {
                "language": (5, None, ["python"], "x" * 65, "a\0b"), "code": (5, None, ["x"], {}),
                "filename": (5, "", "x" * 256, ["x"], "a\0b"), "args": ("x", [5], [None], ["a\0b"], {"a": "b"}),
                "stdin": (5, ["x"]), "collect": ("x", [5], {}), "files": ("x", 5, [5]),
                "timeout_ms": (0, -1, "5", 1.5, 1 << 50), "compile_timeout_ms": (0, "x"),
                "limits": (5, {"memory_bytes": 1}),
                "env": ("x", {"a": 5}), "surprise": (1,)}.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    error = self.error(**{**whole, name: value})
                    self.assertEqual(error["code"], -32602)
        for name in whole:
            self.assertEqual(self.error(**{k: v for k, v in whole.items() if k != name})["code"], -32602)
        self.assertLeftNothing()

    def test_huge_arguments(self):
        """For a driver they are data; for a program of the host the kernel has a limit."""
        text = "x" * (4 * MIB)
        self.assertEqual(self.printed("import sys; print(len(sys.argv[1]))", args=[text]), f"{4 * MIB}\n")
        self.assertEqual(self.error(language="python", code="1", args=["x"] * 1025)["code"], -32602)
        self.assertEqual(self.printed("import sys; print(len(sys.argv))", args=["x"] * 1024), "1025\n")
        record = self.record("int main(void) { return 0; }", "c", args=[text])
        self.assertNotEqual(record["status"], "ok")

    def test_names_of_files_that_are_too_long_together(self):
        name = "/".join(["'" * 250] * 15)
        error = self.error(language="c", code="int main(void) {}",
                           files=[{"path": f"{name}/{i}.c", "content": ""} for i in range(300)])
        self.assertEqual(error["data"]["code"], "limit")
        self.assertLeftNothing()


class Languages(Programs):
    def test_the_list(self):
        rows = {row["name"]: row for row in self.server.rpc("program.languages")["languages"]}
        for name in ("python", "javascript", "shell", "sql"):
            self.assertEqual((rows[name]["available"], rows[name]["runtime"], rows[name]["compiled"]),
                             (True, name, False))
        self.assertEqual((rows["c"]["compiled"], rows["c"]["source"]), (True, "main.c"))
        self.assertIn("c++", rows["cpp"]["aliases"])
        for name, row in rows.items():
            self.assertNotIn("version", row)
            self.assertNotIn(name, row["aliases"])
            self.assertTrue(row["available"] or "program" not in row)

    def test_versions(self):
        rows = {row["name"]: row for row in self.server.rpc("program.languages", versions=True)["languages"]}
        python = self.printed("import platform; print(platform.python_version())").strip()
        self.assertEqual(rows["python"]["version"], python)
        self.assertEqual(rows["javascript"]["version"],
                         self.printed("console.log(process.versions.node)", "js").strip())
        self.assertEqual(rows["shell"]["version"], self.printed("echo ${BASH_VERSION%%(*}", "shell").strip())
        for row in rows.values():
            self.assertRegex(row.get("version", "0"), r"^[0-9]+(\.[0-9]+)*$")
        self.assertLeftNothing()


class Ends(Programs):
    """The box of a program goes with the program, or with the client."""

    def assertGone(self):
        self.assertLeftNothing()
        self.assertTrue(web.wait(lambda: not sleepers()), sleepers())

    def start(self, code, language="python", **params):
        c = self.server.connect()
        c.request("POST", "/rpc", web.question("program.run", language=language, code=code, **params), web.JSON)
        return c

    def test_nothing_is_left_of_it(self):
        self.record("import subprocess\nsubprocess.Popen(['sleep', '%s'], start_new_session=True)" % SLEEP)
        self.assertGone()

    def test_a_client_that_goes(self):
        for language, code in (
                ("python", f"import os\nos.system('sleep {SLEEP}')"), ("shell", f"sleep {SLEEP} & wait"),
                ("javascript", f"require('child_process').spawn('sleep', ['{SLEEP}'])"),
                ("c", f'#include <unistd.h>\nint main(void) {{ execlp("sleep", "sleep", "{SLEEP}", (char *)0); }}')):
            with self.subTest(language=language):
                c = self.start(code, language)
                self.assertTrue(web.wait(sleepers))
                c.close()
                self.assertGone()

    def test_clients_that_go_at_any_time(self):
        for i in range(harness.sample(12, 100)):
            c = self.start(f"sleep {SLEEP}" if i % 2 else "int main(void) { for (;;); }", "shell" if i % 2 else "c",
                           files=[{"path": f"f{n}", "content": "x"} for n in range(20)])
            time.sleep(random.random() / 10)
            c.close()
        self.assertGone()
        self.assertEqual(self.printed("print(1)"), "1\n")

    def test_the_session_is_closed_and_in_the_journal(self):
        done = self.run_program(C_MAIN, "c", args=["a"],
                                files=[{"path": "h.c", "content": "int helper(void) { return 7; }"}])
        self.assertLeftNothing()
        steps = self.server.rpc("session.log", session=done["session"])["steps"]
        self.assertEqual([s["runtime"] for s in reversed(steps)], ["file", "file", "shell", "shell"])
        self.assertEqual([s["step"] for s in steps[:2]], [done["run"]["step"], done["compile"]["step"]])
        with self.assertRaises(web.Failed) as failed:
            self.server.rpc("step.run", session=done["session"], code="1")
        self.assertEqual(failed.exception.code, "gone")

    def test_a_program_that_was_replayed(self):
        code = "import sys\nprint(sys.argv, open('data').read())\nopen('out', 'w').write(sys.argv[1])"
        for language, program, more in (
                ("python", code, {}), ("c", "#include <stdio.h>\nint main(int n, char **a) { puts(a[1]); }", {}),
                ("javascript", "console.log(process.argv[2])", {}), ("shell", 'echo "$1" "$0"', {}),
                ("python", "import sys; sys.exit(int(sys.argv[1]))", {"args": ["3"]})):
            with self.subTest(language=language, code=program):
                done = self.run_program(program, language, **{
                    "args": ["né 1"], "stdin": "in", "files": [{"path": "data", "content": "d"}], **more})
                record = self.server.rpc("session.export", session=done["session"])["record"]
                again = self.server.rpc("replay.run", record=record)
                self.assertEqual((again["outcome"], again["steps"]), ("replayed", record.count("\n") - 1))


class Callers(harness.Case):
    """Programs are their caller's, and count as the caller's."""

    def setUp(self):
        super().setUp()
        self.server = web.Server(tokens=f"ann {web.TOKEN}1 sessions=1\nbob {web.TOKEN}2\n"
                                        f"carl {web.TOKEN}3 memory=256M\n")
        self.addCleanup(self.server.stop)
        self.ann, self.bob, self.carl = ({"Authorization": f"Bearer {web.TOKEN}{i}"} for i in (1, 2, 3))

    def code_of(self, headers, **params):
        with self.assertRaises(web.Failed) as failed:
            self.server.rpc("program.run", headers, language="python", code="print(1)", **params)
        return failed.exception.code

    def test_quotas(self):
        for _ in range(3):
            done = self.server.rpc("program.run", self.ann, language="python", code="print(1)")
            self.assertEqual(done["run"]["stdout"], "1\n")
        session = self.server.rpc("session.create", self.ann)["session"]
        self.assertEqual(self.code_of(self.ann), "quota")
        self.server.rpc("session.close", self.ann, session=session)
        self.assertEqual(self.server.rpc("program.run", self.ann, language="python", code="1")["run"]["status"], "ok")
        self.assertEqual(self.code_of(self.carl, limits={"memory_bytes": 512 * MIB}), "quota")
        self.assertEqual(self.server.rpc("program.run", self.carl, language="python", code="1",
                                         limits={"memory_bytes": 128 * MIB})["run"]["status"], "ok")

    def test_a_running_program_is_seen_by_its_caller_only(self):
        c = self.server.connect()
        question = web.question("program.run", language="shell", code=f"sleep {SLEEP}")
        c.request("POST", "/rpc", question, {**web.JSON, **self.ann})
        self.assertTrue(web.wait(lambda: len(self.server.rpc("session.list", self.ann)["sessions"]) == 1))
        self.assertEqual(self.server.rpc("session.list", self.bob)["sessions"], [])
        self.assertEqual(self.code_of(self.ann), "quota")
        self.assertEqual(self.server.rpc("program.run", self.bob, language="python", code="1")["run"]["status"], "ok")
        c.close()
        self.assertTrue(web.wait(lambda: self.server.rpc("session.list", self.ann)["sessions"] == []))
        self.assertEqual(self.server.rpc("program.run", self.ann, language="python", code="1")["run"]["status"], "ok")


if __name__ == "__main__":
    harness.main()
