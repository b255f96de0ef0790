# SPDX-License-Identifier: Apache-2.0
"""The wires of other programs (`retort serve --front NAME`), as their clients have them on the line."""

import base64
import json
import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
NAMES = ("dify", "piston", "sandboxfusion")
ALL = [word for name in NAMES for word in ("--front", name)]
DIFY, PISTON, FUSION = "/v1/sandbox/run", "/api/v2/execute", "/run_code"
SLEEP = "import time\ntime.sleep(1000)"
# A request of each wire that runs a Python program.
RUN = {
    "dify": (DIFY, lambda code: {"language": "python3", "code": code}),
    "piston": (PISTON, lambda code: {"language": "python", "version": "*", "run_timeout": 100000,
                                       "files": [{"content": code}]}),
    "sandboxfusion": (FUSION, lambda code: {"language": "python", "run_timeout": 100, "code": code}),
}
# How each wire says that there is nothing.
NOTHING = {"dify": lambda b: b["data"] is None and b["code"] < 0 and b["message"],
           "piston": lambda b: b == {"message": "Not Found"}, "sandboxfusion": lambda b: b == {"detail": "Not Found"}}


def post(server, path, body, headers=None):
    data = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return server.request("POST", path, data, {**web.JSON, **(headers or {})})


class Wires(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server(*ALL)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def answer(self, path, body, status=200):
        answer = post(self.server, path, body)
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        return answer.json

    def get(self, path, status=200):
        answer = self.server.request("GET", path)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def assertLeftNothing(self):
        self.assertTrue(web.wait(lambda: self.server.rpc("session.list")["sessions"] == []))


class Routes(Wires):
    def test_below_the_name_and_at_the_root(self):
        for name, (path, body) in RUN.items():
            for prefix in ("", "/" + name):
                self.assertIn("ran", json.dumps(self.answer(prefix + path, body("print('ran')"))), prefix + path)
        for path, said in (("/health", "ok"), ("/dify/health", "ok"), ("/v1/ping", "pong"),
                           ("/sandboxfusion/v1/ping", "pong")):
            self.assertEqual(self.get(path), said)

    def test_unknown_paths_below_a_name(self):
        for name in NAMES:
            for path in ("/", "/nope", "/rpc", "/healthz", f"/{name}/nope", "/%00", "/nope/" + "x" * 2000):
                for method in ("GET", "POST", "DELETE", "PUT"):
                    answer = self.server.request(method, f"/{name}{path}", "{}" if method == "POST" else None, web.JSON)
                    self.assertEqual(answer.status, 404, (method, name, path))
                    self.assertTrue(NOTHING[name](answer.json), answer.body)

    def test_unknown_paths_below_a_wires_own(self):
        for name, path in (("dify", "/v1/sandbox/nope"), ("piston", "/api/v2/nope")):
            self.assertTrue(NOTHING[name](self.get(path, 404)), path)

    def test_wrong_methods(self):
        for name, (path, _) in RUN.items():
            for prefix in ("/" + name, ""):
                answer = self.server.request("GET", prefix + path)
                self.assertEqual(answer.status, 404)
            self.assertTrue(NOTHING[name](self.get(f"/{name}{path}", 404)))
        answer = self.server.request("GET", "/rpc")  # this one is our own
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))

    def test_the_first_front_answers_at_the_root(self):
        for names in (NAMES, NAMES[::-1], ("piston", "sandboxfusion", "dify")):
            with web.Server(*[word for name in names for word in ("--front", name)]) as server:
                for path in ("/nope", "/", "/" + names[1] + "x"):
                    answer = server.request("GET", path)
                    self.assertEqual(answer.status, 404)
                    self.assertTrue(NOTHING[names[0]](answer.json), (names, path, answer.body))
                self.assertEqual(server.rpc("engine.info")["sessions"], 0)  # what is our own stays
                self.assertEqual(server.request("GET", "/healthz").json["status"], "ok")

    def test_a_front_that_is_not_named_is_not_there(self):
        for served in (None, *NAMES):
            with web.Server(*(["--front", served] if served else [])) as server:
                for name, (path, body) in RUN.items():
                    for full in (path, f"/{name}{path}"):
                        status = post(server, full, body("1")).status
                        self.assertEqual(status, 200 if name == served else 404, (served, full))
                if not served:
                    self.assertEqual(server.request("GET", "/nope").json["error"]["code"], "not_found")

    def test_options(self):
        state = ("--no-socket", "--state", harness.make_dir())
        for options, said in (
                (("--listen", "127.0.0.1:0", "--front", "nope"), "nope"),
                (("--listen", "127.0.0.1:0", "--front", "pistn"), "did you mean piston?"),
                (("--listen", "127.0.0.1:0", "--front", ""), "--front"),
                (("--listen", "127.0.0.1:0", "--front", "dify", "--front", "dify"), "twice"),
                (("--front", "dify"), "--listen")):
            done = harness.retort("serve", *state, *options)
            self.assertEqual(done.status, 2, done)
            self.assertIn(said, done.err)


class Dify(Wires):
    def test_programs(self):
        data = self.answer(DIFY,
                           {"language": "python3", "code": "print(x)", "preload": "x = 5", "enable_network": True})
        self.assertEqual((data["code"], data["message"]), (0, "success"))
        self.assertEqual((data["data"]["stdout"], data["data"]["error"]), ("5\n", ""))
        data = self.answer(DIFY, {"language": "nodejs", "code": "console.log(x)", "preload": "let x = 5"})["data"]
        self.assertEqual((data["stdout"], data["error"]), ("5\n", ""))
        data = self.answer(DIFY, {"language": "python3", "code": "print('so far')\n1 / 0"})
        self.assertEqual((data["code"], data["data"]["stdout"]), (0, "so far\n"))
        self.assertIn("ZeroDivisionError", data["data"]["error"])

    def test_bytes_of_value_0(self):
        said = self.answer(DIFY, {"language": "python3", "code": "import sys\nprint('a\\0b')\nsys.exit('c\\0d')"})
        self.assertEqual(said["data"]["stdout"], "a\0b\n")
        self.assertIn("c\0d", said["data"]["error"])
        said = self.answer(DIFY, {"language": "python3", "code": "print(1)\0print(2)"})
        self.assertEqual((said["code"], said["data"]["stdout"], said["data"]["exit_code"]), (0, "", 1))
        self.assertIn("null bytes", said["data"]["error"])

    def test_errors(self):
        for body in ({}, {"language": "python3"}, {"code": "1"}, {"language": "python3", "code": ""},
                     {"language": 5, "code": "1"}, {"language": "python3", "code": ["x"]}, "{", "[]", "5", "null",
                     b"\xff", ""):
            said = self.answer(DIFY, body)
            self.assertEqual((said["code"], said["data"], bool(said["message"])), (-400, None, True), body)
        for language in ("ruby", "python", "Python3"):
            self.assertEqual(self.answer(DIFY, {"language": language, "code": "1"}, 400)["code"], -400)

    def test_dependencies(self):
        for path in ("/v1/sandbox/dependencies", "/v1/sandbox/dependencies/refresh"):
            rows = self.get(path + "?language=python3")["data"]["dependencies"]
            self.assertTrue(all(set(row) == {"name", "version"} for row in rows))
            self.assertEqual(self.get(path)["code"], -400)
            self.assertEqual(self.get(path + "?language=nodejs", 400)["code"], -400)
        self.assertEqual(self.answer("/v1/sandbox/dependencies/update", {"language": "python3"})["code"], -400)


class Piston(Wires):
    def execute(self, code, language="python", status=200, **more):
        return self.answer(PISTON,
                           {"language": language, "version": "*", "run_timeout": 100000, "compile_timeout": 100000,
                                    "files": [{"content": code}], **more}, status)

    def test_runtimes(self):
        rows = {row["language"]: row for row in self.get("/api/v2/runtimes")}
        for name, alias in (("python", "py"), ("javascript", "js"), ("bash", "shell"), ("c++", "cpp"),
                            ("sqlite3", "sql")):
            self.assertIn(alias, rows[name]["aliases"])
            self.assertRegex(rows[name]["version"], r"^\d+(\.\d+)*$")
        missing = {row["name"] for row in self.server.rpc("program.languages")["languages"] if not row["available"]}
        self.assertEqual(missing & set(rows), set())

    def test_each_name_and_version(self):
        for row in self.get("/api/v2/runtimes"):
            if row["language"] not in ("python", "javascript", "bash", "c"):
                continue
            code = "int main(void) { return 0; }" if row["language"] == "c" else ""
            for name in (row["language"], *row["aliases"]):
                said = self.execute(code, name, version=row["version"])
                self.assertEqual((said["language"], said["version"]), (row["language"], row["version"]))
            for version in ("x", row["version"].split(".")[0], "^" + row["version"], ">=0.1", "1 || >=0"):
                self.assertEqual(self.execute(code, row["language"], version=version)["run"]["code"], 0, version)
            for version in ("0.0.1", ">999", "latest", "~0.1", "-"):
                self.assertIn("runtime is unknown",
                              self.execute(code, row["language"], 400, version=version)["message"])
        self.assertIn("runtime is unknown", self.execute("1", "brainfuck", 400)["message"])

    def test_a_run(self):
        said = self.answer(PISTON, {
            "language": "py", "version": "3.x", "run_timeout": 100000, "args": ["a", "é"], "stdin": "in\n", "files": [
                {"name": "prog.py",
                 "content": "import sys, mod\nprint(sys.argv, input(), mod.x, open('b', 'rb').read())\n"
                 "sys.stderr.write('err')"},
                {"name": "mod.py", "content": "x = 7"}, {"name": "b", "content": "00fF", "encoding": "hex"}]})
        out = "['prog.py', 'a', 'é'] in 7 b'\\x00\\xff'\n"
        run = said["run"]
        self.assertEqual((run["stdout"], run["stderr"], run["output"]), (out, "err", out + "err"))
        self.assertEqual((run["code"], run["signal"], run["message"], run["status"]), (0, None, None, None))
        self.assertTrue(all(isinstance(run[name], int) for name in ("memory", "cpu_time", "wall_time")))
        self.assertNotIn("compile", said)

    def test_ends(self):
        run = self.execute("exit(3)")["run"]
        self.assertEqual((run["code"], run["signal"], run["status"]), (3, None, "RE"))
        run = self.execute("import os; os.kill(os.getpid(), 9)")["run"]
        self.assertEqual((run["code"], run["signal"], run["status"]), (None, "SIGKILL", "SG"))
        run = self.execute("while True: pass", run_timeout=300)["run"]
        self.assertEqual((run["code"], run["signal"], run["status"]), (None, "SIGKILL", "TO"))
        said = self.execute("int main(void) { return x; }", "c")
        self.assertEqual((said["compile"]["code"], said["compile"]["status"]), (1, "RE"))
        said = self.execute('#include <stdio.h>\nint main(void) { puts("x"); return 4; }', "c")
        self.assertEqual((said["compile"]["code"], said["run"]["code"], said["run"]["stdout"]), (0, 4, "x\n"))

    def test_bytes_of_value_0(self):
        run = self.execute("import sys\nprint('a\\0b')\nsys.stderr.write('c\\0d')")["run"]
        self.assertEqual((run["stdout"], run["stderr"], run["output"]), ("a\0b\n", "c\0d", "a\0b\nc\0d"))

    def test_tables(self):
        said = self.execute("select 1, 'a', null; select 2.5", "sqlite3")
        self.assertEqual(said["run"]["stdout"], "1|a|\n2.5\n")

    def test_errors(self):
        good = {"language": "python", "version": "*", "files": [{"content": "1"}]}
        for change, said in (
                ({"language": None}, "language is required"), ({"language": 5}, "language is required"),
                ({"version": None}, "version is required"), ({"files": None}, "files is required"),
                ({"files": []}, "at least one"), ({"files": {"content": "1"}}, "files is required"),
                ({"files": [{"name": "x"}]}, "files[0].content"), ({"files": ["x"]}, "files[0].content"),
                ({"files": [{"content": "1"}, {"content": 5}]}, "files[1].content"),
                ({"files": [{"content": "00", "encoding": "hex"}]}, "at least one utf8"),
                ({"files": [{"content": "1"}, {"content": "0", "encoding": "hex"}]}, "encoding"),
                ({"files": [{"content": "1"}, {"content": "!", "encoding": "base64"}]}, "base64"),
                ({"files": [{"content": "1"}, {"content": "x", "name": "../x"}]}, "../x"),
                ({"run_timeout": "5"}, "run_timeout must be a number"),
                ({"compile_memory_limit": {}}, "must be a number"),
                ({"args": [5]}, "args")):
            with self.subTest(change=change):
                message = self.answer(PISTON, {**good, **change}, 400)["message"]
                self.assertIn(said, message)
        for body in ("{", "[]", "null", b"\xff", ""):
            self.assertTrue(self.answer(PISTON, body, 400)["message"])
        self.assertLeftNothing()


class Fusion(Wires):
    def test_a_run(self):
        said = self.answer(FUSION, {
            "language": "python", "code": "print(input(), open('a/b').read())\nopen('out', 'wb').write(b'\\xff')",
            "stdin": "in", "files": {"a/b": base64.b64encode(b"hi").decode(), "none": None},
            "fetch_files": ["out", "a/b", "nope"], "compile_timeout": 60, "run_timeout": 60, "memory_limit_MB": 512})
        self.assertEqual((said["status"], said["message"], said["compile_result"]), ("Success", "", None))
        self.assertEqual((said["run_result"]["status"], said["run_result"]["return_code"],
                          said["run_result"]["stdout"]),
                         ("Finished", 0, "in hi\n"))
        self.assertEqual({k: base64.b64decode(v) for k, v in said["files"].items()}, {"out": b"\xff", "a/b": b"hi"})

    def test_ends(self):
        said = self.answer(FUSION, {"language": "python", "code": "exit(3)", "run_timeout": 100})
        self.assertEqual((said["status"], said["run_result"]["status"], said["run_result"]["return_code"]),
                         ("Failed", "Finished", 3))
        said = self.answer(FUSION, {"language": "python", "code": "while True: pass", "run_timeout": 0.3})
        self.assertEqual((said["status"], said["run_result"]["status"], said["run_result"]["return_code"]),
                         ("Failed", "TimeLimitExceeded", None))
        said = self.answer(FUSION,
                           {"language": "python", "code": "import os; os.kill(os.getpid(), 9)", "run_timeout": 100})
        self.assertEqual((said["status"], said["run_result"]["return_code"]), ("Failed", -9))
        said = self.answer(FUSION, {"language": "cpp", "code": "int main() { return x; }", "compile_timeout": 100,
                                    "run_timeout": 100})
        self.assertEqual((said["status"], said["compile_result"]["return_code"], said["run_result"]),
                         ("Failed", 1, None))
        said = self.answer(FUSION, {"language": "cpp", "code": "int main() { return 0; }", "compile_timeout": 100,
                                    "run_timeout": 100})
        self.assertEqual((said["status"], said["compile_result"]["status"], said["run_result"]["return_code"]),
                         ("Success", "Finished", 0))

    def test_what_the_program_is_not_to_blame_for(self):
        said = self.answer(FUSION, {"language": "nope", "code": ""})
        self.assertEqual((said["status"], said["run_result"], said["files"]), ("SandboxError", None, {}))
        self.assertIn("nope", said["message"])

    def test_errors(self):
        good = {"language": "python", "code": "1"}
        for change, name in (({"code": None}, "code"), ({"code": 5}, "code"), ({"language": ["x"]}, "language"),
                             ({"files": []}, "files"), ({"files": "x"}, "files"), ({"files": {"a": 5}}, "files"),
                             ({"files": {"a": "eA==", "b": ["x"]}}, "files"),
                             ({"fetch_files": "x"}, "fetch_files"), ({"fetch_files": [5]}, "fetch_files")):
            with self.subTest(change=change):
                detail, = self.answer(FUSION, {**good, **change}, 422)["detail"]
                self.assertEqual(detail["loc"], ["body", name])
                self.assertTrue(detail["msg"] and detail["type"])
        for body in ("{", "[]", "null", b"\xff", ""):
            self.assertTrue(self.answer(FUSION, body, 400)["detail"])
        self.assertLeftNothing()


class Hostile(Wires):
    def test_content_types(self):
        for name, (path, body) in RUN.items():
            for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
                answer = self.server.request("POST", path, json.dumps(body("print('ran')")), {"Content-Type": kind})
                if path == PISTON:  # some of its clients send such types
                    self.assertEqual(answer.json["run"]["stdout"], "ran\n")
                else:
                    self.assertEqual((answer.status, b"ran" in answer.body), (415, False), (name, kind))
            answer = self.server.request("POST", path, "code=print('ran')", {"Content-Type": "text/plain"})
            self.assertEqual((answer.status, b"ran" in answer.body), (415, False))
            answer = self.server.request("POST", path, json.dumps(body("print('ran')")),
                                         {"Content-Type": "Application/JSON; charset=utf-8"})
            self.assertIn(b"ran", answer.body)

    def test_any_value_of_any_member(self):
        """Whatever a member is, the answer has the wire's shape, and the engine goes on."""
        draw = random.Random(5)
        known = {
            DIFY: ["language", "code", "preload", "enable_network", "options"],
            PISTON: ["language", "version", "files", "args", "stdin", "run_timeout", "compile_timeout",
                     "run_memory_limit",
                     "compile_memory_limit", "run_cpu_time", "compile_cpu_time"],
            FUSION: ["language", "code", "stdin", "files", "fetch_files", "compile_timeout", "run_timeout",
                     "memory_limit_MB"]}
        plain = [None, True, False, 0, -1, 1, 0.5, 1e300, -1e300, 2 ** 53, 2 ** 62, "", "x", "a\0b", "é\u2028", "../x",
                 "/",
                 "python", "python3", "*", "x" * 70000, "1 || 2", "hex", "eA=="]

        def value(depth=0):
            kind = draw.random()
            if depth > 2 or kind < 0.6:
                return draw.choice(plain)
            if kind < 0.8:
                return [value(depth + 1) for _ in range(draw.randrange(4))]
            return {draw.choice(["content", "name", "encoding", "a/b", "", "../x"]): value(depth + 1)
                    for _ in range(draw.randrange(4))}

        shapes = {DIFY: {"code", "message", "data"}, PISTON: {"message", "run"}, FUSION: {"detail", "status"}}
        for i in range(harness.sample(300, 5000)):
            name = draw.choice(list(RUN))
            path, make = RUN[name]
            body = make("print(1)")
            for _ in range(draw.randrange(1, 4)):
                body[draw.choice(known[path])] = value()
            if name == "piston" and body.get("files") and draw.random() < 0.5:
                body["files"] = [{"content": "1", "name": value(2)}, {"content": value(2), "encoding": value(2)}]
            answer = post(self.server, path, body)
            self.assertIn(answer.status, (200, 400, 404, 413, 422), (i, body, answer.body))
            self.assertTrue(set(answer.json) & shapes[path], (i, body, answer.body))
        self.assertIsNone(self.server.process.poll())
        self.assertLeftNothing()

    def test_a_client_that_goes(self):
        for name, (path, body) in RUN.items():
            for prefix in ("", "/" + name):
                c = self.server.connect()
                c.request("POST", prefix + path, json.dumps(body(SLEEP)), web.JSON)
                self.assertTrue(web.wait(lambda: any(
                    s["state"] == "working" for s in self.server.rpc("session.list")["sessions"])), name)
                c.close()
                self.assertLeftNothing()

    def test_clients_that_go_at_the_first_question_for_versions(self):
        """The next client asks again, and gets all of them."""
        with web.Server("--front", "piston") as server:
            for _ in range(3):
                c = server.connect()
                c.request("GET", "/api/v2/runtimes")
                web.wait(lambda: server.rpc("session.list")["sessions"] != [], 5)
                c.close()
            rows = server.request("GET", "/api/v2/runtimes").json
            self.assertTrue({"python", "bash", "sqlite3"} <= {row["language"] for row in rows})
            self.assertTrue(web.wait(lambda: server.rpc("session.list")["sessions"] == []))


class Callers(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = web.Server(*ALL, tokens=f"ann {web.TOKEN}1 sessions=1\nbob {web.TOKEN}2\n")
        self.addCleanup(self.server.stop)
        self.ann, self.bob = ({"Authorization": f"Bearer {web.TOKEN}{i}"} for i in (1, 2))

    def test_tokens(self):
        def basic(word):
            return {"Authorization": "Basic " + base64.b64encode(word.encode()).decode()}

        token = web.TOKEN + "2"
        for path, make in RUN.values():
            for headers in ({"X-Api-Key": token}, {"x-api-key": token}, self.bob, basic("any:" + token),
                            basic(":" + token), {"Authorization": token}):
                self.assertEqual(post(self.server, path, make("1"), headers).status, 200, (path, headers))
            for headers in ({}, {"X-Api-Key": "wrong"}, {"X-Api-Key": ""}, {"X-Api-Key": token + "x"}, basic(token),
                            basic("any:wrong"), {"Authorization": "Bearer wrong"}, {"X-Api-Key": "x" * 9000},
                            {"Authorization": token + "x"}, {"X-Retort-Token": token},
                            {"X-Api-Key": "wrong", "Authorization": f"Bearer {token}"}):
                answer = post(self.server, path, make("print('ran')"), headers)
                self.assertEqual(answer.status, 401, (path, headers))
                self.assertNotIn(b"ran", answer.body)
        for path in ("/api/v2/runtimes", "/v1/sandbox/dependencies?language=python3", "/nope", "/dify/nope"):
            self.assertEqual(self.server.request("GET", path).status, 401, path)
        for path in ("/health", "/v1/ping"):  # these say nothing
            self.assertEqual(self.server.request("GET", path).status, 200, path)
        answer = self.server.post(web.question("session.list"), {"X-Api-Key": token})
        self.assertEqual(answer.status, 401)  # our own routes have their own ways

    def test_callers_are_apart_and_have_quotas(self):
        for name, (path, make) in RUN.items():
            with self.subTest(name=name):
                c = self.server.connect()
                c.request("POST", path, json.dumps(make(SLEEP)), {**web.JSON, **self.ann})
                self.assertTrue(web.wait(lambda: len(self.server.rpc("session.list", self.ann)["sessions"]) == 1))
                self.assertEqual(self.server.rpc("session.list", self.bob)["sessions"], [])
                answer = post(self.server, path, make("print('ran')"), self.ann)
                self.assertNotIn(b"ran", answer.body)
                said = answer.json
                if name == "dify":
                    self.assertEqual((answer.status, said["code"], said["data"]), (200, -429, None))
                elif name == "piston":
                    self.assertEqual((answer.status, list(said)), (429, ["message"]))
                else:
                    self.assertEqual((answer.status, said["status"], said["run_result"]), (200, "SandboxError", None))
                self.assertIn(b"ran", post(self.server, path, make("print('ran')"), self.bob).body)
                c.close()
                self.assertTrue(web.wait(lambda: self.server.rpc("session.list", self.ann)["sessions"] == []))



class Told(harness.Case):
    """What an answer says of itself."""

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server(*[word for name in NAMES for word in ("--front", name)])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def fusion(self, path, **body):
        return post(self.server, path, body).json

    def test_a_cell_that_crashes_has_an_error(self):
        for code, names in (("import os; os._exit(3)", ["Exit"]), ("x = bytearray(3 << 30)", ["MemoryLimit", "MemoryError"]),
                            ("import os; os.kill(os.getpid(), 9)", ["Killed"])):
            said = self.fusion("/run_jupyter", cells=["x = 1", code, "print(x)"], memory_limit_MB=256)
            self.assertEqual([len(c["error"]) for c in said["cells"]], [0, 1, 0])
            self.assertIn(said["cells"][1]["error"][0]["ename"], names)
            self.assertEqual(said["cells"][2]["stdout"], "1\n")

    def test_cells_whose_time_is_over(self):
        said = self.fusion("/run_jupyter", cells=["while True: pass", "print(1)"], total_timeout=1)
        self.assertEqual((said["status"], said["driver"]["status"], len(said["cells"])), ("Failed", "TimeLimitExceeded", 1))
        said = self.fusion("/run_jupyter", cells=["while True: pass", "print(1)"], cell_timeout=1)
        self.assertEqual((said["status"], said["cells"][1]["stdout"]), ("Success", "1\n"))

    def test_output_that_is_left_out(self):
        code = "print('x' * 12000000)"
        said = self.fusion(FUSION, language="python", code=code)
        self.assertEqual((said["status"], said["message"]), ("Success", "1514241 bytes of stdout are left out"))
        said = post(self.server, PISTON, {"language": "python", "version": "*", "files": [{"content": code}]}).json
        self.assertEqual((said["run"]["status"], said["run"]["message"]), ("OL", "stdout length exceeded"))

    def test_files_that_are_left_out(self):
        said = self.fusion(FUSION, language="python", code="open('a', 'wb').truncate(17 << 20)", fetch_files=["a", "b"])
        self.assertEqual((said["status"], said["files"]), ("Success", {}))
        self.assertIn("a is not given back: the file has 17825792 bytes", said["message"])
        self.assertNotIn("b is", said["message"])

    def test_the_session_is_named(self):
        for path, make in RUN.values():
            answer = post(self.server, path, make("print(1)"))
            steps = self.server.rpc("session.log", session=answer.headers["X-Retort-Session"])["steps"]
            self.assertEqual(steps[0]["code"], "print(1)")

    def test_a_program_finds_itself(self):
        for language, code in (("python", "print(len(open(__file__).read()))"), ("bash", "wc -c < $0"),
                               ("nodejs", "console.log(require('fs').readFileSync(__filename).length)")):
            self.assertEqual(self.fusion(FUSION, language=language, code=code)["run_result"]["stdout"], f"{len(code)}\n")
        spawn = ("import multiprocessing as m\ndef f(x): return x + 1\n"
                 "if __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [1]))")
        self.assertEqual(self.fusion(FUSION, language="python", code=spawn, run_timeout=60)["run_result"]["stdout"], "[2]\n")

    def test_a_session_that_nobody_closes_ends_by_itself(self):
        """An engine that is killed leaves the sessions of its programs in the journal."""
        seen = []
        code = "import time; time.sleep(2)"
        asking = threading.Thread(target=lambda: self.fusion(FUSION, language="python", code=code))
        asking.start()
        while asking.is_alive():
            seen += self.server.rpc("session.list")["sessions"]
        asking.join()
        self.assertTrue(seen)
        self.assertEqual({s["idle_ms"] for s in seen}, {60000})

    def test_a_preload_that_is_not_there(self):
        done = harness.retort("serve", "--no-socket", "--no-journal", "--listen", "127.0.0.1:0", "--front", "dify",
                               "--front-preload", "no_such_module")
        self.assertEqual(done.status, 2)
        self.assertIn("--front-preload: ModuleNotFoundError", done.err)


if __name__ == "__main__":
    harness.main()
