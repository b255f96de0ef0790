# SPDX-License-Identifier: Apache-2.0
"""The front "e2b": the code interpreter of a sandbox, with its contexts and languages."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from e2b_client import CODE, Sandbox  # noqa: E402

import harness  # noqa: E402

FOREVER = "import time\nwhile True: time.sleep(0.05)"


def has_charts():
    modules = "import matplotlib, numpy, pandas"
    return subprocess.run(["/usr/bin/python3", "-c", modules], capture_output=True, check=False).returncode == 0


def of_type(events, *types):
    return [event for event in events if event["type"] in types]


class Cell:
    """A cell whose events are read as they come."""

    def __init__(self, box, code, **more):
        self.connection = box.server.connect()
        self.connection.request("POST", "/execute", json.dumps({"code": code, **more}),
                                {**web.JSON, **box.headers(CODE)})
        self.answer = self.connection.getresponse()

    def read(self):
        line = self.answer.readline()
        return json.loads(line) if line else None

    def rest(self):
        events = list(iter(self.read, None))
        self.leave()
        return events

    def leave(self):
        self.answer.close()
        self.connection.close()


class Sandboxes(harness.Case):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b", *cls.options)
        cls.box = Sandbox(cls.server, envVars={"FROM": "sandbox"})

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, body=None, box=None):
        data, kind = (None, {}) if body is None else (json.dumps(body).encode(), web.JSON)
        return (box or self.box).ask(method, path, data, CODE, **kind)

    def context(self, box=None, **options):
        answer = self.ask("POST", "/contexts", options, box)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["id"]

    def contexts(self):
        return self.ask("GET", "/contexts").json

    def result(self, code, **more):
        """Run a cell that has a result: the result."""
        events = self.box.execute(code, **more)
        found = of_type(events, "result")
        self.assertEqual(len(found), 1, events)
        return found[0]

    def value(self, code, **more):
        return self.result(code, **more)["text"]

    def error(self, code, **more):
        events = self.box.execute(code, **more)
        self.assertEqual([event["type"] for event in events[-2:]], ["error", "end_of_execution"], events)
        return events[-2]

    def text_answer(self, answer, status, text):
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (status, "text/plain; charset=utf-8"))
        self.assertEqual(answer.body.decode(), text)


class Cells(Sandboxes):
    def test_what_a_cell_prints_comes_in_one_event(self):
        context = self.context()
        first, out, end = self.box.execute("print('hello')", context_id=context)
        self.assertEqual(first, {"type": "number_of_executions", "execution_count": 1})
        self.assertEqual((out["type"], out["text"]), ("stdout", "hello\n"))
        self.assertRegex(out["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual(end, {"type": "end_of_execution"})
        events = self.box.execute("import sys; print('a'); print('b'); print('c', file=sys.stderr)", context_id=context)
        self.assertEqual([(event["type"], event.get("text")) for event in events[1:-1]],
                         [("stdout", "a\nb\n"), ("stderr", "c\n")])
        self.assertEqual(events[0]["execution_count"], 2)

    def test_a_result(self):
        for code, text in (("'it'", "it"), ('"it\'s"', "it's"), ("3", "3"), ("[]", "[]"), ("'\"'", '"')):
            result = self.result(code)
            self.assertEqual((result["text"], result["is_main_result"], result["extra"]), (text, True, {}))
        self.assertNotIn("json", self.result("3"))
        self.assertEqual(self.result("[1, {'a': None}]")["json"], [1, {"a": None}])
        self.assertEqual(of_type(self.box.execute("None"), "result"), [])

    def test_formats(self):
        events = self.box.execute(
            "from IPython.display import display, HTML\n"
            "display(HTML('<b>x</b>'))\n"
            "display({'text/latex': 'y'}, raw=True)\n"
            "display({'application/vnd.own': 'z', 'text/plain': 'plain'}, raw=True)\n"
            "class A:\n"
            "    def _repr_svg_(self): return '<svg/>'\n"
            "    def _repr_png_(self): return b'png'\n"
            "    def __repr__(self): return 'an A'\n"
            "A()")
        html, latex, own, main = of_type(events, "result")
        self.assertEqual((html["html"], html["is_main_result"]), ("<b>x</b>", False))
        self.assertEqual(latex, {"type": "result", "latex": "y", "extra": {}, "is_main_result": False})
        self.assertEqual((own["text"], own["extra"]), ("plain", {"application/vnd.own": "z"}))
        self.assertEqual((main["text"], main["svg"], main["png"], main["is_main_result"]),
                         ("an A", "<svg/>", "cG5n", True))

    def test_an_error(self):
        error = self.error("def f(): 1 / 0\nf()")
        self.assertEqual((error["name"], error["value"]), ("ZeroDivisionError", "division by zero"))
        self.assertIn("line 2, in <module>", error["traceback"])
        self.assertEqual(self.error("import os; os._exit(3)")["value"], "the program ended itself with status 3")
        self.assertEqual(self.error("input()")["name"], "EOFError")

    def test_a_line_has_only_ASCII(self):
        body = self.ask("POST", "/execute", {"code": "print('ž\\U0001f600'); 'č'"}).body
        self.assertTrue(body.isascii(), body)
        self.assertEqual(json.loads(body.splitlines()[1])["text"], "ž\U0001f600\n")

    def test_lines_come_while_the_cell_runs(self):
        cell = Cell(self.box, "import time, os\nprint('first')\n"
                    "while not os.path.exists('go'): time.sleep(0.02)\nprint('last')")
        self.assertEqual(cell.read()["type"], "number_of_executions")
        self.assertEqual(cell.read()["text"], "first\n")
        self.box.run("touch go")
        self.assertEqual([event.get("text") for event in cell.rest()], ["last\n", None])

    def test_a_cell_that_says_nothing_is_kept_alive(self):
        events = self.box.execute("import time; time.sleep(6)")
        self.assertIn({"type": "keepalive"}, events)

    def test_a_cell_that_prints_needs_nothing_to_keep_it_alive(self):
        events = self.box.execute("import time\nfor i in range(120):\n    print(i)\n    time.sleep(0.03)")
        self.assertEqual(of_type(events, "keepalive"), [])
        self.assertEqual("".join(event["text"] for event in of_type(events, "stdout")),
                         "".join(f"{i}\n" for i in range(120)))

    def test_much_output_comes_whole(self):
        events = self.box.execute("for i in range(200000): print(i)")
        text = "".join(event["text"] for event in of_type(events, "stdout"))
        self.assertEqual(text, "".join(f"{i}\n" for i in range(200000)))

    def test_variables_of_one_cell(self):
        seen = "import os; os.environ.get('FROM'), os.environ.get('NEW')"
        self.assertEqual(self.value(seen, env_vars={"FROM": "cell", "NEW": "ž"}), "('cell', 'ž')")
        self.assertEqual(self.value(seen), "('sandbox', None)")
        seen = "process.env.FROM + process.env.NEW"
        self.assertEqual(self.value(seen, language="js", env_vars={"FROM": "cell", "NEW": "x"}), "cellx")
        self.assertEqual(self.value(seen, language="js"), "sandboxundefined")
        out = self.box.execute("echo $FROM $NEW", language="bash", env_vars={"NEW": "y"})
        self.assertEqual(out[1]["text"], "sandbox y\n")

    def test_too_much_memory(self):
        self.box.execute("kept = 7")
        error = self.error("x = bytearray(3 << 30)")
        # Without a cgroup, the interpreter itself runs out of memory.
        self.assertIn((error["name"], error["value"]),
                      [("MemoryLimit", "the step needed more than its limit of 1 GiB of memory"), ("MemoryError", "")])
        self.assertEqual(self.value("kept"), "7")

    def test_what_is_wrong_with_a_cell(self):
        for body, name in (({}, "code"), ({"code": 5}, "code"), ({"code": "1", "language": 5}, "language"),
                           ({"code": "1", "context_id": []}, "context_id"), ({"code": "1", "env_vars": {"A": 5}}, "env_vars"),
                           ({"code": "1", "env_vars": ["A"]}, "env_vars")):
            answer = self.ask("POST", "/execute", body)
            self.assertEqual((answer.status, answer.json["detail"][0]["loc"]), (422, ["body", name]))
        self.text_answer(self.ask("POST", "/execute", {"code": "1", "context_id": "x", "language": "python"}), 400,
                         "Only one of context_id or language can be provided")
        self.text_answer(self.ask("POST", "/execute", {"code": "1", "context_id": "x"}), 404, "Context x not found")
        self.text_answer(self.ask("POST", "/execute", {"code": "1", "language": "r"}), 400,
                         "Language r is not supported: python, javascript, typescript, bash and sql are")
        self.text_answer(self.box.ask("POST", "/execute", b"nope", CODE, **web.JSON), 400, "not JSON: invalid token near 'nope'")
        self.assertEqual(self.error("1", env_vars={"A=": "x"})["value"], 'env: "A=" is not a valid name')
        nulls = {"context_id": None, "language": None, "env_vars": None}
        self.assertEqual(self.value("1", **nulls), "1")


@unittest.skipUnless(has_charts(), "the host's python3 has no matplotlib, numpy or pandas")
class Charts(Sandboxes):
    def test_a_frame(self):
        frame = self.result("import pandas as pd\n"
                            "pd.DataFrame({'a': [1, 2], 'when': pd.to_datetime(['2026-01-02', '2026-01-03'])})")
        self.assertEqual(frame["data"], {"a": [1, 2], "when": ["2026-01-02T00:00:00", "2026-01-03T00:00:00"]})
        self.assertIn("<table", frame["html"])
        self.assertTrue(frame["is_main_result"])

    def test_a_chart(self):
        shown = self.result("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2])\n"
                            "plt.xlabel('who')\nplt.ylabel('Length (m)')\nplt.show()")
        chart = shown["chart"]
        self.assertEqual((chart["type"], chart["x_label"], chart["y_unit"]), ("bar", "who", "m"))
        self.assertEqual([(bar["label"], float(bar["value"])) for bar in chart["elements"]], [("a", 1.0), ("b", 2.0)])
        self.assertTrue(shown["png"].startswith("iVBOR"))
        self.assertFalse(shown["is_main_result"])


class Contexts(Sandboxes):
    def test_the_first_contexts(self):
        box = Sandbox(self.server)
        found = self.ask("GET", "/contexts", box=box).json
        self.assertEqual([(row["language"], row["cwd"]) for row in found],
                         [("python", "/home/user"), ("javascript", "/home/user")])
        box.execute("x = 1", context_id=found[0]["id"])
        self.assertEqual(box.execute("x")[1]["text"], "1")
        box.kill()

    def test_a_context_has_its_own_variables_count_and_directory(self):
        first, second = self.context(cwd="/tmp"), self.context(language="Python ")
        self.assertEqual([row["id"] for row in self.contexts()][-2:], [first, second])
        self.assertEqual(self.contexts()[-2], {"id": first, "language": "python", "cwd": "/tmp"})
        self.box.execute("y = 1")
        self.box.execute("y = 2", context_id=first)
        self.assertEqual(self.error("y", context_id=second)["name"], "NameError")
        self.assertEqual((self.value("y"), self.value("y", context_id=first)), ("1", "2"))
        self.assertEqual(self.value("import os; os.getcwd()", context_id=first), "/tmp")
        self.assertEqual(self.value("import os; os.getcwd()", context_id=second), "/home/user")
        counts = [self.box.execute("1", context_id=i)[0]["execution_count"] for i in (first, second, second)]
        self.assertEqual(counts, [4, 3, 4])

    def test_a_directory_that_is_not_there(self):
        context = self.context(cwd="/home/user/later")
        self.assertEqual(self.error("1", context_id=context)["name"], "FileNotFoundError")
        self.box.run("mkdir later")
        self.assertEqual(self.value("import os; os.getcwd()", context_id=context), "/home/user/later")
        self.text_answer(self.ask("POST", "/contexts", {"cwd": "/" + 4096 * "x"}), 400, "cwd is too long")

    def test_a_restart(self):
        context = self.context(cwd="/tmp")
        self.box.execute("z = 1; import os; os.chdir('/')", context_id=context)
        answer = self.ask("POST", f"/contexts/{context}/restart")
        self.assertEqual((answer.status, answer.json), (200, None))
        events = self.box.execute("z", context_id=context)
        self.assertEqual((events[0]["execution_count"], events[1]["name"]), (1, "NameError"))
        self.assertEqual(self.value("import os; os.getcwd()", context_id=context), "/tmp")

    def test_a_restart_of_the_first_context(self):
        for language, made, seen, gone in (("python", "big = bytearray(300 << 20); 1", "'big' in globals()", "False"),
                                           ("javascript", "big = 1", "typeof big", "undefined")):
            box = Sandbox(self.server)
            box.execute(made, language=language)
            found = next(row for row in self.ask("GET", "/contexts", box=box).json if row["language"] == language)
            self.ask("POST", f"/contexts/{found['id']}/restart", box=box)
            self.assertEqual(box.execute(seen, language=language)[1]["text"], gone)
            if language == "python":
                size = box.execute("int(open('/proc/self/statm').read().split()[1]) * 4096")[1]["text"]
                self.assertLess(int(size), 200 << 20)
            self.ask("DELETE", f"/contexts/{found['id']}", box=box)
            self.assertEqual(box.execute(seen, language=language)[1]["text"], gone)
            box.kill()

    def test_a_context_that_is_removed(self):
        context = self.context()
        self.box.execute("big = bytearray(300 << 20)", context_id=context)
        answer = self.ask("DELETE", f"/contexts/{context}")
        self.assertEqual((answer.status, answer.json), (200, None))
        self.assertNotIn(context, [row["id"] for row in self.contexts()])
        self.text_answer(self.ask("POST", "/execute", {"code": "1", "context_id": context}), 404, f"Context {context} not found")
        self.assertLess(int(self.value("int(open('/proc/self/statm').read().split()[1]) * 4096")), 200 << 20)
        # Contexts come and go; only those that are there count.
        for _ in range(70):
            self.ask("DELETE", f"/contexts/{self.context()}")

    def test_what_is_wrong_with_a_context(self):
        for method, path in (("POST", "/contexts/nope/restart"), ("DELETE", "/contexts/nope")):
            self.text_answer(self.ask(method, path), 404, "Context nope not found")
        self.text_answer(self.ask("POST", "/contexts", {"language": "cobol"}), 400,
                         "Language cobol is not supported: python, javascript, typescript, bash and sql are")
        self.text_answer(self.ask("POST", "/contexts", {"language": "bash"}), 400,
                         "Only python, javascript and typescript have contexts besides the first one")
        for name in ("language", "cwd"):
            self.assertEqual(self.ask("POST", "/contexts", {name: 5}).status, 422)
        self.box.execute("true", language="bash")
        bash = next(row for row in self.contexts() if row["language"] == "bash")["id"]
        self.text_answer(self.ask("POST", f"/contexts/{bash}/restart"), 400, "The contexts of bash and sql stay as they are")
        box = Sandbox(self.server)
        made = [self.ask("POST", "/contexts", {}, box).status for _ in range(63)]
        self.assertEqual((made[:62], made[62]), ([200] * 62, 429))
        box.kill()

    def test_a_restart_only_stops_cells_of_its_context(self):
        first, second = self.context(), self.context()
        running = Cell(self.box, "print('runs')\n" + FOREVER, context_id=first)
        running.read()
        self.assertEqual(running.read()["text"], "runs\n")
        waiting = Cell(self.box, "print('never')", context_id=second)
        waiting.read()
        self.ask("POST", f"/contexts/{second}/restart")
        self.assertEqual([event["type"] for event in waiting.rest()], ["error", "end_of_execution"])
        session = self.server.rpc("session.get", session=self.box.id)
        self.assertEqual(session["state"], "working")
        self.ask("POST", f"/contexts/{first}/restart")
        self.assertEqual(of_type(running.rest(), "error")[0]["name"], "KeyboardInterrupt")
        self.assertEqual(self.value("1", context_id=first), "1")

    def test_a_fork_has_the_contexts(self):
        context = self.context()
        self.box.execute("w = 5", context_id=context)
        made = self.box.control("POST", "/fork", {"count": 1}).json[0]["sandbox"]
        fork = Sandbox.__new__(Sandbox)
        fork.server, fork.key, fork.made = self.server, None, made
        fork.id, fork.token = made["sandboxID"], made["envdAccessToken"]
        self.box.execute("w = 6", context_id=context)
        self.assertEqual(fork.execute("w", context_id=context)[1]["text"], "5")
        self.assertEqual(fork.execute("import os; os.environ['E2B_SANDBOX_ID']", context_id=context)[1]["text"], fork.id)
        self.assertEqual(fork.execute("echo $E2B_SANDBOX_ID", language="bash")[1]["text"], fork.id + "\n")
        self.assertEqual(fork.execute("SELECT 2 AS a", language="sql")[1]["json"]["rows"], [[2]])
        self.assertEqual(fork.kill(), 204)


class Languages(Sandboxes):
    def test_javascript(self):
        self.assertEqual(self.value("process.cwd()", language="js"), "/home/user")
        self.assertEqual(self.value("await new Promise(done => setTimeout(() => done('later'), 10))", language="javascript"), "later")
        self.assertEqual(self.value("import path from 'path'; path.join('a', 'b')", language="js"), "a/b")
        self.assertEqual(self.value("[1, {a: 2}]", language="js"), "[ 1, { a: 2 } ]")
        out = self.box.execute("console.log('out'); console.error('err')", language="js")
        self.assertEqual(sorted((event["type"], event["text"]) for event in out[1:-1]), [("stderr", "err\n"), ("stdout", "out\n")])
        error = self.error("null.x", language="js")
        self.assertEqual(error["name"], "TypeError")
        own = self.context(language="js", cwd="/tmp")
        self.box.execute("let one = 1", language="js")
        self.assertEqual(self.value("typeof one + process.cwd()", context_id=own), "undefined/tmp")

    def test_typescript_has_variables_of_its_own(self):
        self.box.execute("var shared = 1", language="js")
        self.assertEqual(self.value("typeof shared", language="ts"), "undefined")
        self.box.execute("var kept = 2", language="TypeScript")
        self.assertEqual(self.value("kept", language="ts"), "2")
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.lstrip("v")
        code = "const x: number = 3; x"
        if tuple(int(part) for part in version.split(".")[:2]) >= (22, 13):
            self.assertEqual(self.value(code, language="ts"), "3")
        else:
            self.assertIn("TypeScript needs node 22.13 or newer", self.error(code, language="ts")["value"])

    def test_bash_and_sql(self):
        self.box.execute("word=kept; cd /tmp", language="bash")
        self.assertEqual(self.box.execute("echo $word; pwd", language="bash")[1]["text"], "kept\n/tmp\n")
        error = self.error("no_such_command", language="bash")
        self.assertEqual((error["name"], error["value"]), ("ExitStatus", "the last command ended with status 127"))
        self.assertEqual(self.result("SELECT 1 AS a", language="sql")["json"]["rows"], [[1]])

    def test_files_are_those_of_the_sandbox(self):
        self.box.execute("open('a.txt', 'w').write('of a cell')")
        self.assertEqual(self.box.run("cat a.txt").stdout, "of a cell")
        self.assertEqual(self.box.execute("!cat a.txt")[1]["text"], "of a cell")


class Ends(Sandboxes):
    def test_a_cell_that_goes_on_while_the_sandbox_is_paused(self):
        box = Sandbox(self.server)
        connection = self.server.connect()
        body = json.dumps({"code": "import time\nopen('on', 'w').close()\ntime.sleep(1)\n'kept'"}).encode()
        connection.request("POST", "/execute", body, box.headers(CODE, **web.JSON))
        answer = connection.getresponse()
        self.assertTrue(web.wait(lambda: box.run("ls on").stdout))
        self.assertEqual(box.control("POST", "/pause", {}).status, 204)
        events = [json.loads(line) for line in answer.read().splitlines()]
        connection.close()
        self.assertEqual([event["text"] for event in of_type(events, "result")], ["kept"])
        box.kill()

    def test_a_result_that_is_larger_than_what_a_connection_takes_at_once(self):
        self.assertEqual(len(self.value("'z' * 3_000_000")), 3_000_000)

    def test_a_client_that_leaves(self):
        for language, code, after in (("python", FOREVER, "print('next')"), ("js", "while (true) {}", "console.log('next')"),
                                      ("bash", "while true; do sleep 0.1; done", "echo next")):
            cell = Cell(self.box, code, language=language)
            cell.read()
            web.wait(lambda: self.server.is_running(self.box.id))
            cell.leave()
            events = self.box.execute(after, language=language)
            self.assertEqual([event["text"] for event in of_type(events, "stdout")], ["next\n"], language)

    def test_a_client_that_leaves_while_its_cell_waits(self):
        first, second = self.context(), self.context()
        running = Cell(self.box, FOREVER, context_id=first)
        running.read()
        waiting = Cell(self.box, "open('ran', 'w')", context_id=second)
        waiting.read()
        waiting.leave()
        running.leave()
        self.assertEqual(self.value("import os; os.path.exists('ran')"), "False")

    def test_a_sandbox_that_is_killed(self):
        box = Sandbox(self.server)
        cell = Cell(box, FOREVER)
        cell.read()
        killing = threading.Timer(0.3, box.kill)
        killing.start()
        # The body of the answer has no end: the client has to ask what has become of the sandbox.
        with self.assertRaises(http.client.IncompleteRead) as caught:
            cell.answer.read()
        self.assertEqual(caught.exception.partial, b"")
        cell.leave()
        killing.join()
        self.assertEqual(box.ask("GET", "/health").status, 502)
        self.assertEqual(self.ask("POST", "/execute", {"code": "1"}, box).status, 502)

    def test_cells_are_served_in_turn(self):
        contexts = [self.context() for _ in range(5)]
        cells = [Cell(self.box, f"import time; time.sleep(0.05); print({i})", context_id=c) for i, c in enumerate(contexts)]
        for i, cell in enumerate(cells):
            self.assertEqual([event.get("text") for event in of_type(cell.rest(), "stdout")], [f"{i}\n"])


class Access(Sandboxes):
    def send(self, path, **headers):
        body = json.dumps({"code": "1"}).encode() if "execute" in path else None
        return self.server.request("POST" if body else "GET", path, body, {**web.JSON, **headers})

    def test_tokens(self):
        place = {"E2b-Sandbox-Id": self.box.id, "E2b-Sandbox-Port": str(CODE)}
        for path in ("/execute", "/contexts", "/health"):
            for token in ({"X-Access-Token": self.box.token}, {"E2B-Traffic-Access-Token": self.box.made["trafficAccessToken"]}):
                self.assertEqual(self.send(path, **place, **token).status, 200)
            for token in ({}, {"X-Access-Token": "wrong"}, {"E2B-Traffic-Access-Token": self.box.token}):
                self.assertEqual(self.send(path, **place, **token).status, 200 if path == "/health" else 401)

    def test_paths(self):
        self.assertEqual(self.ask("GET", "/health").json, "OK")
        for path in ("/execute?source=x", "//execute", "//execute?source=x", "/e2b/execute"):
            self.assertEqual(self.ask("POST", path, {"code": "1"}).status, 200, path)
        for path in ("/contexts?source=x", "//contexts", "/e2b/contexts"):
            self.assertEqual(self.ask("GET", path).json, self.contexts(), path)
        context = self.context()
        for method, path in (("POST", "/restart"), ("DELETE", "")):
            self.assertEqual(self.ask(method, f"//contexts/{context}{path}?source=x").json, None)

    def test_by_the_host(self):
        host = f"{CODE}-{self.box.id}.localhost:{self.server.port}"
        token = {"X-Access-Token": self.box.token}
        for path in ("/execute", "/contexts", "/health"):
            self.assertEqual(self.send(path, Host=host, **token).status, 200)
            self.assertEqual(self.send(path, Host=host).status, 200 if path == "/health" else 401)


class Python(harness.Case):
    def test_an_environment_of_the_operator(self):
        """--front-python, which callers need no right to paths of the host for."""
        venv = os.path.join(tempfile.mkdtemp(prefix="v", dir=harness.TMP), "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        lib = os.path.join(venv, "lib", os.listdir(os.path.join(venv, "lib"))[0], "site-packages")
        with open(os.path.join(lib, "own_module.py"), "w", encoding="utf-8") as f:
            f.write("word = 'of the operator'\n")
        key = "e2b_" + "0" * 40
        with web.Server("--front", "e2b", "--front", "dify", "--front-python", venv, tokens=f"ann {key}\n") as server:
            box = Sandbox(server, key)
            self.assertEqual(box.execute("import own_module; own_module.word")[1]["text"], "of the operator")
            answer = server.request("POST", "/v1/sandbox/run", json.dumps(
                {"language": "python3", "code": "import own_module; print(own_module.word)"}),
                {**web.JSON, "X-Api-Key": key})
            self.assertEqual(answer.json["data"]["stdout"], "of the operator\n")
            with self.assertRaisesRegex(web.Failed, "may not name paths"):
                server.rpc("session.create", {"Authorization": f"Bearer {key}"}, python="/usr/bin/python3")

    def test_one_that_is_not_there(self):
        done = harness.retort("serve", "--no-socket", "--no-journal", "--listen", "127.0.0.1:0", "--front", "e2b",
                               "--front-python", "/no/such")
        self.assertNotEqual(done.status, 0)
        self.assertIn("--front-python: no Python at /no/such", done.err)


if __name__ == "__main__":
    harness.main()
