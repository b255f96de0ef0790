# SPDX-License-Identifier: Apache-2.0
"""`--front nemo`: the wire of the sandbox of NeMo-Skills, and whose fault a failure is."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
ANN, BOB = "the-token-of-ann-0123", "the-token-of-bob-0123"
HEAD, RED = "Traceback (most recent call last):\n", "\\x1b[31mred\\x1b[0m"


class Client:
    """What LocalSandbox of NeMo-Skills sends."""

    def __init__(self, server, token=None, below=""):
        self.server, self.below = server, below
        self.headers = {**web.JSON, **({"Authorization": f"Bearer {token}"} if token else {})}

    def ask(self, method, path, body=None, **headers):
        answer = self.server.request(method, self.below + path, body, {**self.headers, **headers})
        return answer.status, answer.json

    def post(self, session=None, **body):
        headers = {} if session is None else {"X-Session-ID": session}
        return self.ask("POST", "/execute", json.dumps(body).encode(), **headers)

    def run(self, code, language, **more):
        status, said = self.post(generated_code=code, language=language, **{"timeout": 30, **more})
        assert status == 200, said
        return said

    def cell(self, session, code, **more):
        status, said = self.post(session, generated_code=code, **{"timeout": 30, **more})
        assert status == 200, said
        return said

    def out(self, session, code, **more):
        return self.cell(session, code, **more)["stdout"]


class Shared(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "nemo")
        cls.client = Client(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()


class Cells(Shared):
    def test_state_is_kept_and_a_new_session_says_so(self):
        first = self.client.cell("keeps", "a = 41")
        self.assertEqual(first, {"process_status": "completed", "stdout": "", "stderr": "",
                                 "new_session_created": True})
        second = self.client.cell("keeps", "a + 1")
        self.assertEqual((second["stdout"], second["new_session_created"]), ("42\n", False))

    def test_what_ipython_prints(self):
        for code, out in (("print('hello')", "hello\n"), ("a = 1\na", "1\n"), ("None", ""), ("'q'", "'q'\n"),
                          ("\n    a = 1\n    a\n    ", "1\n"), ("print('a', end='')\n5", "a\n5\n"),
                          ("print('\\n\\n  hi  \\n\\n')", "  hi\n"), (f"print('{RED}')", "red\n"),
                          ("print('\\x1b', '\\x1b[')", "\x1b \x1b[\n"), ("print('ééé'); '漢'", "ééé\n'漢'\n"),
                          ("class R:\n def __repr__(self): return 'l1\\nl2'\nprint(1)\nR()", "1\n\nl1\nl2\n"),
                          ("#!/bin/sh\n6 * 7", "42\n"), ("!echo $((6 * 7))", "42\n")):
            said = self.client.cell("prints", code)
            self.assertEqual((said["process_status"], said["stdout"], said["stderr"]),
                             ("completed", out, ""), code)

    def test_stderr(self):
        said = self.client.cell("stderr", "import sys\nprint('no', file=sys.stderr)\n1/0")
        self.assertEqual((said["stdout"], said["stderr"]),
                         (HEAD + "    1/0\nZeroDivisionError: division by zero\n", "no\n"))

    def test_tracebacks(self):
        code = "def f():\n    return 1/0\nf()"
        last = "ZeroDivisionError: division by zero\n"
        plain = HEAD + "    f()\n    return 1/0\n" + last
        for verbosity, out in ((None, plain), ("Plain", plain), ("Minimal", last)):
            said = self.client.cell("traceback", code, traceback_verbosity=verbosity)
            self.assertEqual((said["process_status"], said["stdout"], said["stderr"]), ("error", out, ""))
        for verbosity in ("Context", "Verbose"):
            out = self.client.out("traceback", code, traceback_verbosity=verbosity)
            self.assertTrue(out.startswith(HEAD + "  File ") and ", in f\n" in out and out.endswith(last), out)

    def test_syntax_errors_keep_their_mark(self):
        for verbosity in ("Plain", "Minimal"):
            self.assertEqual(self.client.out("syntax", "def f(:", traceback_verbosity=verbosity),
                             "    def f(:\n          ^\nSyntaxError: invalid syntax\n")

    def test_exit(self):
        said = self.client.cell("exit", "a = 1\nimport sys\nsys.exit(3)")
        self.assertEqual((said["process_status"], said["stdout"]),
                         ("error", "An exception has occurred, use %tb to see the full traceback.\nSystemExit: 3\n"))
        self.assertEqual(self.client.out("exit", "a"), "1\n")

    def test_timeout_leaves_the_state(self):
        self.client.cell("late", "a = 1")
        for timeout, text in ((1, "1"), (0.5, "0.5"), (1.0, "1.0")):
            said = self.client.cell("late", "a = 2\nprint('x', flush=True)\nwhile True: pass", timeout=timeout)
            self.assertEqual(said, {"process_status": "timeout", "stdout": "x\n", "new_session_created": False,
                                    "stderr": f"Execution timed out after {text} seconds\n"})
        self.assertEqual(self.client.out("late", "a"), "1\n")

    def test_killed_leaves_the_state(self):
        self.client.cell("killed", "import os\na = 1")
        said = self.client.cell("killed", "a = 2\nos.kill(os.getpid(), 9)")
        self.assertEqual((said["process_status"], said["new_session_created"]), ("error", False))
        self.assertIn("Killed", said["stderr"])
        self.assertEqual(self.client.out("killed", "a"), "1\n")

    def test_cells_of_one_session_queue(self):
        self.client.cell("queue", "n = 0")
        threads = [threading.Thread(target=self.client.cell, args=("queue", "k = n\nn = k + 1")) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(self.client.out("queue", "n"), "8\n")

    def test_first_cells_at_once_share_a_session(self):
        said = []
        threads = [threading.Thread(target=lambda: said.append(self.client.cell("first", "try: n += 1\n"
                                                                                "except NameError: n = 1")))
                   for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([s["process_status"] for s in said], ["completed"] * 8)
        self.assertEqual(sum(s["new_session_created"] for s in said), 1)
        self.assertEqual(self.client.out("first", "n"), "8\n")

    def test_client_that_leaves_stops_its_cell(self):
        self.client.cell("gone", "a = 1")
        session = self.server.rpc("session.get", session="nemo-gone")["session"]
        body = json.dumps({"generated_code": "while True: pass", "timeout": 1000}).encode()
        with self.server.raw() as raw:
            raw.say(web.head("/execute", length=len(body), X_Session_ID="gone") + body)
            self.assertTrue(web.wait(lambda: self.server.is_running(session)))
        self.assertTrue(web.wait(lambda: not self.server.is_running(session)))
        self.assertEqual(self.client.out("gone", "a"), "1\n")

    def test_output_is_cut_by_characters(self):
        self.assertEqual(self.client.out("cut", "print('x' * 2000)"), "x" * 1000 + "<output cut>")
        for n, out in ((0, "<output cut>"), (3, "ééé<output cut>"), (4, "éééé<output cut>"), (5, "éééé\n")):
            self.assertEqual(self.client.out("cut", "print('éééé')", max_output_characters=n), out)
        said = self.client.cell("cut", "import sys\nprint('y' * 9, file=sys.stderr)", max_output_characters=4)
        self.assertEqual(said["stderr"], "yyyy<output cut>")


class Programs(Shared):
    def test_python(self):
        for language in ("python", "python3"):
            said = self.client.run("print(input('s ')[::-1])", language, std_input="añ\n")
            self.assertEqual(said, {"process_status": "completed", "stdout": "s ña\n", "stderr": ""})

    def test_python_that_fails_is_completed(self):
        said = self.client.run("print(1)\n1/0", "python")
        self.assertEqual((said["process_status"], said["stdout"]), ("completed", "1\n"))
        self.assertTrue(said["stderr"].startswith(HEAD + '  File "<string>", line 2, in <module>\n'), said)
        self.assertTrue(said["stderr"].endswith("ZeroDivisionError: division by zero\n"), said)
        self.assertEqual(self.client.run("raise SystemExit(7)", "python"),
                         {"process_status": "completed", "stdout": "", "stderr": ""})

    def test_killed(self):
        said = self.client.run("import os\nos.kill(os.getpid(), 9)", "python")
        self.assertEqual(said["process_status"], "error")
        self.assertIn("Killed", said["stderr"])

    def test_shell(self):
        self.assertEqual(self.client.run("echo hello; cat", "shell", std_input="not read"),
                         {"process_status": "completed", "stdout": "hello\n", "stderr": ""})
        self.assertEqual(self.client.run("echo a; echo b >&2; exit 3", "shell"),
                         {"process_status": "error", "stdout": "a\n", "stderr": "b\n"})

    def test_timeout(self):
        for code, language in (("print(1, flush=True)\nwhile True: pass", "python"), ("echo 1; sleep 1000", "shell")):
            said = self.client.run(code, language, timeout=1)
            self.assertEqual(said, {"process_status": "timeout", "stdout": "",
                                    "stderr": "Execution timed out after 1 seconds\n"})

    def test_output_is_cut(self):
        said = self.client.run("import sys\nprint('é' * 9)\nprint('y' * 9, file=sys.stderr)", "python",
                               max_output_characters=4)
        self.assertEqual((said["stdout"], said["stderr"]), ("éééé<output cut>", "yyyy<output cut>"))

    def test_lean_is_missing(self):
        said = self.client.run("theorem t : 1 + 1 = 2 := by rfl", "lean4")
        self.assertEqual((said["process_status"], said["stdout"]), ("error", ""))

    def test_pypy_is_there_or_is_nobodys_fault(self):
        has_pypy = next(row["available"] for row in self.server.rpc("program.languages")["languages"]
                        if row["name"] == "pypy")
        status, said = self.client.post(generated_code="print(6 * 7)", language="pypy3", timeout=60)
        if has_pypy:
            self.assertEqual((status, said["stdout"]), (200, "42\n"))
        else:
            self.assertEqual((status, list(said)), (422, ["error"]))


class Sessions(Shared):
    def ids(self):
        said = self.client.ask("GET", "/sessions")
        self.assertEqual((said[0], said[1]["backend"]), (200, "ipython"))
        for row in said[1]["sessions"].values():
            self.assertEqual((row["backend"], row["alive"]), ("ipython", True))
            self.assertGreaterEqual(row["last_used"], row["created"])
        return set(said[1]["sessions"])

    def test_list_and_delete(self):
        self.server.rpc("session.create", name="not-nemo")
        before = self.ids()
        self.client.cell("listed", "a = 1")
        self.assertEqual(self.ids() - before, {"listed"})
        self.assertEqual(self.client.ask("DELETE", "/sessions/listed"),
                         (200, {"message": "IPython session listed deleted successfully"}))
        self.assertEqual(self.client.ask("DELETE", "/sessions/listed"),
                         (404, {"error": "IPython session listed not found"}))
        self.assertEqual(self.ids(), before)
        said = self.client.cell("listed", "'a' in globals()")
        self.assertEqual((said["stdout"], said["new_session_created"]), ("False\n", True))

    def test_last_used(self):
        with web.Server("--front", "nemo", "--session-idle", "1h") as server:
            client = Client(server)

            def is_later():
                client.cell("used", "1")
                row = client.ask("GET", "/sessions")[1]["sessions"]["used"]
                return row["last_used"] > row["created"]

            self.assertTrue(web.wait(is_later))

    def test_odd_ids(self):
        odd = ("", "z" * 51, "z" * 5000, "a b", "s/../x", "é", "-", "a%2Fb", "'\";$(id)", "nemo-")
        for i, name in enumerate(odd):
            sent = name.encode().decode("latin-1")
            said = self.client.cell(sent, f"a = {i}")
            self.assertEqual((name, said["process_status"], said["new_session_created"]), (name, "completed", True))
        for i, name in enumerate(odd):
            self.assertEqual(self.client.out(name.encode().decode("latin-1"), "a"), f"{i}\n", name)

    def test_each_listed_id_can_be_deleted(self):
        self.client.cell("not a name", "a = 1")
        for name in self.ids():
            self.assertEqual(self.client.ask("DELETE", f"/sessions/{name}")[0], 200, name)
        self.assertEqual(self.ids(), set())

    def test_ids_in_paths_are_unescaped(self):
        self.client.cell("a b", "1")
        self.assertEqual(self.client.ask("DELETE", "/sessions/a%20b?x=1"),
                         (200, {"message": "IPython session a b deleted successfully"}))

    def test_more_than_a_page(self):
        with web.Server("--front", "nemo") as server:
            made = {server.rpc("session.create", name=f"nemo-{i}")["name"][5:] for i in range(101)}
            self.assertEqual(set(Client(server).ask("GET", "/sessions")[1]["sessions"]), made)


class Errors(Shared):
    def refused(self, status=400, session="refused", **body):
        said = self.client.post(session, **body)
        self.assertEqual((said[0], list(said[1])), (status, ["error"]), body)
        return said[1]["error"]

    def test_a_cell_needs_a_session(self):
        self.assertEqual(self.refused(session=None, generated_code="1", timeout=1),
                         "X-Session-ID header required for ipython sessions")

    def test_wrong_types(self):
        good = {"generated_code": "1", "timeout": 5, "std_input": "", "language": "python",
                "max_output_characters": 10, "traceback_verbosity": "Plain"}
        self.assertEqual(self.client.post(**good)[0], 200)
        texts, numbers = (1, 1.5, True, [], {}), ("1", True, [], {}, -1)
        wrong = {"generated_code": (*texts, None), "language": (*texts, "cobol", ""), "std_input": texts,
                 "timeout": (*numbers, 0, None), "max_output_characters": (*numbers, 1.5),
                 "traceback_verbosity": (*texts, "plain", "")}
        for name, values in wrong.items():
            for value in values:
                self.assertIn(name, self.refused(**{**good, name: value}))
        for name in ("generated_code", "timeout"):
            self.refused(**{key: value for key, value in good.items() if key != name})
        for name in ("language", "std_input", "max_output_characters", "traceback_verbosity"):
            self.assertEqual(self.client.post("null", **{**good, name: None})[0], 200, name)

    def test_bodies(self):
        for body in (b"", b"{", b"[]", b"1", b"\xff"):
            status, said = self.client.ask("POST", "/execute", body)
            self.assertEqual((status, list(said)), (400, ["error"]), body)
        status, said = self.client.ask("POST", "/execute", b"{}", **{"Content-Type": "text/plain"})
        self.assertEqual((status, list(said)), (415, ["error"]))

    def test_unknown_routes(self):
        for method, path in (("GET", "/nope"), ("POST", "/"), ("GET", "/execute"), ("GET", "/sessions/a"),
                             ("DELETE", "/sessions/"), ("DELETE", "/sessions/a/b"), ("DELETE", "/sessions/a%2Fb"),
                             ("DELETE", "/sessions/a%00"), ("DELETE", "/sessions")):
            self.assertEqual(self.client.ask(method, path, b"{}"), (404, {"error": "Not Found"}), (method, path))

    def test_paths_below_the_name(self):
        client = Client(self.server, below="/nemo")
        self.assertEqual(client.out("below", "6 * 7"), "42\n")
        self.assertIn("below", client.ask("GET", "/sessions")[1]["sessions"])
        self.assertEqual(client.ask("DELETE", "/sessions/below")[0], 200)
        self.assertEqual(client.ask("GET", "/health")[1]["status"], "healthy")
        self.assertEqual(client.ask("GET", "/nope"), (404, {"error": "Not Found"}))


class Callers(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "nemo", tokens=f"ann {ANN}\nbob {BOB} sessions=1\n")
        cls.ann, cls.bob = Client(cls.server, ANN), Client(cls.server, BOB)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_callers_do_not_share_an_id(self):
        self.ann.cell("same", "a = 'ann'")
        said = self.bob.cell("same", "'a' in globals()")
        self.assertEqual((said["stdout"], said["new_session_created"]), ("False\n", True))
        self.ann.cell("anns", "1")
        self.assertEqual(set(self.bob.ask("GET", "/sessions")[1]["sessions"]), {"same"})
        self.assertEqual(self.bob.ask("DELETE", "/sessions/anns")[0], 404)
        self.assertEqual(self.bob.ask("DELETE", "/sessions/same")[0], 200)
        self.assertEqual(self.ann.out("same", "a"), "'ann'\n")

    def test_a_quota_is_nobodys_fault(self):
        self.bob.cell("one", "1")
        status, said = self.bob.post("two", generated_code="1", timeout=5)
        self.assertEqual((status, list(said)), (429, ["error"]))
        self.assertEqual(self.bob.ask("DELETE", "/sessions/one")[0], 200)

    def test_tokens(self):
        nobody = Client(self.server)
        self.assertEqual(nobody.ask("GET", "/health"), (200, {"status": "healthy", "worker": "unknown"}))
        for method, path in (("GET", "/sessions"), ("POST", "/execute"), ("DELETE", "/sessions/same")):
            self.assertEqual(nobody.ask(method, path, b"{}")[0], 401, path)


if __name__ == "__main__":
    harness.main()
