# SPDX-License-Identifier: Apache-2.0
"""The front "e2b": cells and contexts of the code interpreter."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from e2b_client import CODE, Sandbox  # noqa: E402

import harness  # noqa: E402


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


def text(events, kind="stdout"):
    return "".join(event["text"] for event in of_type(events, kind))


def main_text(events):
    return [event["text"] for event in of_type(events, "result") if event["is_main_result"]]


class Interpreters(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        super().setUp()
        self.box = Sandbox(self.server, template="code-interpreter-v1", envVars={"FROM": "sandbox"})
        self.addCleanup(self.box.kill)

    def post(self, path, message=None, method="POST"):
        body = b"" if message is None else json.dumps(message).encode()
        return self.box.ask(method, path, body, CODE, **web.JSON)


class Cells(Interpreters):
    def test_the_events_of_a_cell(self):
        events = self.box.execute("import sys\nprint('hello')\nprint('x', file=sys.stderr)\n6 * 7")
        self.assertEqual([event["type"] for event in events],
                         ["number_of_executions", "stdout", "stderr", "result", "end_of_execution"])
        self.assertEqual((text(events), text(events, "stderr")), ("hello\n", "x\n"))
        self.assertRegex(events[1]["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual((events[3]["text"], events[3]["is_main_result"], events[3]["extra"]), ("42", True, {}))
        self.assertEqual([self.box.execute("1")[0]["execution_count"] for _ in range(2)], [2, 3])

    def test_lines_are_ascii(self):
        answer = self.post("/execute", {"code": "print('žluťoučký 🙂')"})
        self.assertTrue(answer.body.isascii())
        self.assertEqual(json.loads(answer.body.splitlines()[1])["text"], "žluťoučký 🙂\n")

    def test_results(self):
        self.assertEqual(main_text(self.box.execute("'quoted'")), ["quoted"])
        self.assertEqual(main_text(self.box.execute("None")), [])
        listed = of_type(self.box.execute("[1, {'a': 'b'}]"), "result")[0]
        self.assertEqual((listed["json"], listed["text"]), ([1, {"a": "b"}], "[1, {'a': 'b'}]"))
        shown = of_type(self.box.execute(
            "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))\n"
            "display({'application/x-own': 'y', 'text/plain': 'z'}, raw=True)"), "result")
        self.assertEqual((shown[0]["html"], shown[0]["is_main_result"]), ("<b>x</b>", False))
        self.assertEqual((shown[1]["extra"], shown[1]["text"]), ({"application/x-own": "y"}, "z"))
        self.assertNotIn("json", of_type(self.box.execute("7"), "result")[0])

    def test_an_error(self):
        events = self.box.execute("print('before')\n1 / 0")
        error = of_type(events, "error")[0]
        self.assertEqual((error["name"], error["value"]), ("ZeroDivisionError", "division by zero"))
        self.assertIn("line 2", error["traceback"])
        self.assertEqual((text(events), text(events, "stderr")), ("before\n", ""))
        self.assertEqual(events[-1]["type"], "end_of_execution")

    def test_languages(self):
        self.assertEqual(main_text(self.box.execute("process.cwd()", language="js")), ["/home/user"])
        self.assertEqual(main_text(self.box.execute("await Promise.resolve(5)", language="JavaScript ")), ["5"])
        self.assertEqual(text(self.box.execute("echo $FROM; pwd", language="bash")), "sandbox\n/home/user\n")
        self.assertIn("42", str(self.box.execute("select 42", language="sql")))
        for name in ("r", "cobol", "typescript", "python x"):
            answer = self.post("/execute", {"code": "1", "language": name})
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (400, "text/plain; charset=utf-8"))
            self.assertIn("is not supported", answer.body.decode())

    def test_variables_of_a_cell(self):
        code = "import os; print(os.environ.get('FROM'), os.environ.get('NEW'))"
        self.assertEqual(text(self.box.execute(code, env_vars={"NEW": "x", "FROM": "cell"})), "cell x\n")
        self.assertEqual(text(self.box.execute(code)), "sandbox None\n")

    def test_a_client_that_leaves_interrupts_its_cell(self):
        connection = self.server.connect()
        body = json.dumps({"code": "import time\nopen('on', 'w').close()\nwhile True: time.sleep(0.05)"}).encode()
        connection.request("POST", "/execute", body, self.box.headers(CODE, **web.JSON))
        answer = connection.getresponse()
        answer.readline()
        self.assertTrue(web.wait(lambda: self.box.run("ls on").stdout == "on\n"))
        answer.close()
        connection.close()
        self.assertEqual(main_text(self.box.execute("1 + 1")), ["2"])

    def test_a_killed_sandbox_breaks_its_cell_off(self):
        connection = self.server.connect()
        body = json.dumps({"code": "import time\ntime.sleep(100)"}).encode()
        connection.request("POST", "/execute", body, self.box.headers(CODE, **web.JSON))
        answer = connection.getresponse()
        answer.readline()
        self.box.kill()
        with self.assertRaises(Exception):
            answer.read()
        connection.close()
        self.assertEqual(self.post("/execute", {"code": "1"}).status, 502)

    def test_wrong_bodies(self):
        for body in ({}, {"code": 1}, {"code": "1", "language": 5}, {"code": "1", "context_id": []},
                     {"code": "1", "env_vars": {"A": 1}}):
            answer = self.post("/execute", body)
            self.assertEqual((answer.status, list(answer.json)), (422, ["detail"]), body)
        self.assertEqual(self.box.ask("POST", "/execute", b"{", CODE, **web.JSON).status, 400)

    def test_its_tokens(self):
        traffic = {"E2B-Traffic-Access-Token": self.box.made["trafficAccessToken"]}
        self.assertEqual(self.box.ask("GET", "/contexts", None, CODE, **{"X-Access-Token": "", **traffic}).status, 200)
        self.assertEqual(self.box.ask("GET", "/contexts", None, CODE, **{"X-Access-Token": ""}).status, 401)
        self.assertEqual(self.box.ask("GET", "/contexts", None, **{"X-Access-Token": "", **traffic}).status, 502)
        answer = self.box.ask("GET", "/health", None, CODE)
        self.assertEqual((answer.status, answer.json), (200, "OK"))


class Contexts(Interpreters):
    def make(self, **options):
        answer = self.post("/contexts", options)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def list(self):
        return self.box.ask("GET", "/contexts", None, CODE).json

    def test_the_list(self):
        self.assertEqual([(row["language"], row["cwd"]) for row in self.list()],
                         [("python", "/home/user"), ("javascript", "/home/user")])
        made = self.make(language="python", cwd="/tmp")
        self.assertEqual(self.list()[-1], made)
        self.assertEqual((made["language"], made["cwd"]), ("python", "/tmp"))

    def test_each_has_its_own_variables(self):
        one, two = self.make(), self.make(cwd="/tmp")
        self.box.execute("x = 1", context_id=one["id"])
        self.assertEqual(of_type(self.box.execute("x", context_id=two["id"]), "error")[0]["name"], "NameError")
        self.assertEqual(of_type(self.box.execute("x"), "error")[0]["name"], "NameError")
        self.assertEqual(main_text(self.box.execute("x", context_id=one["id"])), ["1"])
        self.assertEqual(main_text(self.box.execute("import os; os.getcwd()", context_id=two["id"])), ["/tmp"])
        script = self.make(language="js")
        self.box.execute("const y = 2", context_id=script["id"])
        self.assertEqual(main_text(self.box.execute("y", context_id=script["id"])), ["2"])
        self.assertTrue(of_type(self.box.execute("y", language="js"), "error"))

    def test_restart(self):
        for context in (self.make(), self.list()[0]):
            self.box.execute("x = 1", context_id=context["id"])
            answer = self.post(f"/contexts/{context['id']}/restart")
            self.assertEqual((answer.status, answer.json), (200, None))
            events = self.box.execute("x", context_id=context["id"])
            self.assertEqual(of_type(events, "error")[0]["name"], "NameError")
            self.assertEqual(events[0]["execution_count"], 1)

    def test_the_end(self):
        context = self.make()
        self.assertEqual(self.post(f"/contexts/{context['id']}", method="DELETE").status, 200)
        for answer in (self.post("/execute", {"code": "1", "context_id": context["id"]}),
                       self.post(f"/contexts/{context['id']}", method="DELETE"),
                       self.post(f"/contexts/{context['id']}/restart"), self.post("/contexts/x/nothing")):
            self.assertEqual((answer.status, answer.body[-10:]), (404, b" not found"))

    def test_what_is_refused(self):
        context = self.make()
        answer = self.post("/execute", {"code": "1", "context_id": context["id"], "language": "python"})
        self.assertEqual((answer.status, answer.body), (400, b"Only one of context_id or language can be provided"))
        self.assertEqual(self.post("/contexts", {"language": "bash"}).status, 400)
        for _ in range(61):
            self.make()
        self.assertEqual(self.post("/contexts", {}).status, 429)

    def test_a_fork_has_the_contexts(self):
        context = self.make()
        self.box.execute("x = 5", context_id=context["id"])
        made = self.box.control("POST", "/fork", {"count": 1}).json[0]["sandbox"]
        fork = Sandbox.__new__(Sandbox)
        fork.server, fork.key, fork.made = self.server, None, made
        fork.id, fork.token = made["sandboxID"], made["envdAccessToken"]
        self.assertEqual(main_text(fork.execute("x", context_id=context["id"])), ["5"])
        self.assertEqual(text(fork.execute("import os; print(os.environ['E2B_SANDBOX_ID'])")), f"{fork.id}\n")
        fork.kill()


class Hosts(Interpreters):
    def ask(self, port, path, **headers):
        host = {"Host": f"{port}-{self.box.id}.localhost"}
        return self.server.request("GET", path, None, {**host, **headers})

    def test_the_parts_of_a_sandbox_by_its_hosts(self):
        token = {"X-Access-Token": self.box.token}
        self.assertEqual(self.ask(49983, "/health").status, 204)
        self.assertEqual(self.ask(49999, "/health").json, "OK")
        self.assertEqual(len(self.ask(49999, "/contexts", **token).json), 2)
        self.assertEqual(self.ask(49999, "/contexts").status, 401)
        self.assertEqual(self.ask(49983, "/rpc").status, 404)


class Ports(harness.Case):
    def test_a_port_of_a_sandbox_wants_its_traffic_token(self):
        key = "e2b_" + "a" * 40
        with web.Server("--front", "e2b", tokens=f"ann {key}\n") as server:
            box = Sandbox(server, key)
            stream, _, _ = box.begin("echo here > index.html; python3 -m http.server 3000")
            host = {"Host": f"3000-{box.id}.localhost"}
            traffic = {**host, "E2B-Traffic-Access-Token": box.made["trafficAccessToken"]}
            self.assertTrue(web.wait(lambda: server.request("GET", "/", None, traffic).status == 200))
            self.assertEqual(server.request("GET", "/index.html", None, traffic).body, b"here\n")
            for headers in (host, {**host, "E2B-Traffic-Access-Token": box.token},
                            {**host, "X-Access-Token": box.token}):
                self.assertEqual(server.request("GET", "/", None, headers).status, 401)
            other = Sandbox(server, key)
            stolen = {**host, "E2B-Traffic-Access-Token": other.made["trafficAccessToken"]}
            self.assertEqual(server.request("GET", "/", None, stolen).status, 401)
            stream.close()


if __name__ == "__main__":
    harness.main()
