# SPDX-License-Identifier: Apache-2.0
"""Fronts whose requests have test cases: /submit of SandboxFusion, ScaleBox's batch, the graders of Open R1."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
ADD = "a, b = map(int, input().split())\nprint(a + b)"
C_ADD = "#include <cstdio>\nint main() { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\\n\", a + b); }"
PAIRS = [("1 2", "3"), ("3 4", "7"), ("5 6", "11")]


def block(code, language="python"):
    return f"Like this:\n```{language}\n{code}\n```\nThat is all."


class Fronts(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "sandboxfusion", "--front", "piston")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def post(self, path, body, status=200):
        answer = self.server.request("POST", path, json.dumps(body), web.JSON)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def assertLeftNothing(self):
        self.assertTrue(web.wait(lambda: self.server.rpc("session.list")["sessions"] == []))


class Submit(Fronts):
    def submit(self, code, pairs=PAIRS, language="python", status=200, **config):
        test = [{"input": {"stdin": i}, "output": {"stdout": o}} for i, o in pairs]
        return self.post("/submit", {
            "dataset": "any", "id": 7, "completion": block(code, language),
            "config": {"dataset_type": "CommonOJDataset", "language": language, "provided_data": {"id": 7, "test": test},
                       **config}}, status)

    def test_a_right_program(self):
        said = self.submit(ADD)
        self.assertEqual({**said, "tests": len(said["tests"])},
                         {"id": 7, "accepted": True, "extracted_code": ADD, "full_code": None, "test_code": None,
                          "tests": 3, "extracted_type": None, "extra": None})
        test = said["tests"][1]
        self.assertEqual((test["passed"], test["test_info"]),
                         (True, {"input": {"stdin": "3 4"}, "output": {"stdout": "7"}}))
        info = test["exec_info"]
        self.assertEqual((info["status"], info["compile_result"], info["run_result"]["stdout"],
                          info["run_result"]["return_code"]), ("Success", None, "7\n", 0))

    def test_up_to_the_first_that_fails(self):
        said = self.submit(ADD.replace("a + b", "7"))
        self.assertEqual((said["accepted"], [t["passed"] for t in said["tests"]]), (False, [False]))
        self.assertEqual(said["tests"][0]["exec_info"]["status"], "Success")  # the program did; its answer is wrong
        said = self.submit(ADD.replace("a + b", "7"), extra={"run_all_cases": True})
        self.assertEqual([t["passed"] for t in said["tests"]], [False, True, False])

    def test_a_language_that_is_compiled(self):
        said = self.submit(C_ADD, language="cpp")
        self.assertTrue(said["accepted"], said)
        self.assertEqual(said["tests"][0]["exec_info"]["compile_result"]["return_code"], 0)
        said = self.submit("int main(", language="cpp", extra={"run_all_cases": True})
        self.assertEqual((said["accepted"], len(said["tests"])), (False, 3))
        info = said["tests"][2]["exec_info"]
        self.assertEqual((info["status"], info["run_result"], info["compile_result"]["return_code"]), ("Failed", None, 1))

    def test_cases_as_json_in_a_text(self):
        test = json.dumps([{"input": {"stdin": i}, "output": {"stdout": o}} for i, o in PAIRS])
        said = self.post("/submit", {"dataset": "x", "id": 1, "completion": block(ADD), "config": {
            "dataset_type": "CommonOJDataset", "language": "python", "provided_data": {"test": test}}})
        self.assertEqual((said["accepted"], len(said["tests"])), (True, 3))

    def test_how_programs_end(self):
        for code, status, code_or_status in (("1 / 0", "Failed", 1), ("import time; time.sleep(99)", "Failed", None),
                                             ("import os; os.kill(os.getpid(), 11)", "Failed", -11)):
            info = self.submit(code, run_timeout=1)["tests"][0]["exec_info"]
            self.assertEqual((info["status"], info["run_result"]["return_code"]), (status, code_or_status))
        self.assertEqual(info["run_result"]["status"], "Finished")

    def test_numbers_lines_and_case(self):
        for printed, expected, passed in (("YES\n", "yes", True), ("0.3333333", "0.33333333", True), ("1\n2", "1", False),
                                          ("1", "1\n2", False), (" a \nb\n\n", "a\nb", True)):
            said = self.submit(f"print({printed!r})", [("", expected)])
            self.assertEqual(said["accepted"], passed, (printed, expected))

    def test_long_cases_are_told_in_part(self):
        pairs = [("é" * 3000, "ok")]
        told = self.submit("print('ok')", pairs)["tests"][0]["test_info"]["input"]["stdin"]
        self.assertLess(len(told.encode()), 1100)
        self.assertEqual(set(told), {"é", "."})
        told = self.submit("print('ok')", pairs, extra={"return_full_case": True})["tests"][0]["test_info"]
        self.assertEqual(told["input"]["stdin"], "é" * 3000)
        told = self.submit("print('no')", pairs)["tests"][0]["test_info"]
        self.assertEqual(told["input"]["stdin"], "é" * 3000)  # one that failed is told whole

    def test_bad_input(self):
        good = {"dataset": "x", "id": 1, "completion": "x",
                "config": {"dataset_type": "CommonOJDataset", "language": "python",
                           "provided_data": {"test": [{"input": {"stdin": ""}, "output": {"stdout": ""}}]}}}
        for change in ({"completion": 1}, {"completion": None}, {"config": None}, {"config": []}):
            self.assertIn("detail", self.post("/submit", {**good, **change}, 400))
        for change in ({"language": None}, {"language": 3}, {"dataset_type": "AutoEvalDataset"}, {"dataset_type": None},
                       {"provided_data": None}, {"provided_data": {"test": []}}, {"provided_data": {"test": {}}},
                       {"provided_data": {"test": [1]}}, {"provided_data": {"test": [{"input": {}, "output": {}}]}},
                       {"run_timeout": "1"}, {"extra": 3}, {"custom_extract_logic": "import os"}):
            body = {**good, "config": {**good["config"], **change}}
            self.assertIn("detail", self.post("/submit", body, 400), change)
        self.submit(ADD, language="brainfuck", status=422)
        self.assertEqual(self.server.request("GET", "/submit").status, 404)
        self.assertLeftNothing()


class Batch(Fronts):
    def evaluate(self, completion, cases, language="python", path="/common_evaluate_batch", status=200, extra=None, **config):
        return self.post(path, {"completion": completion, "config": {
            "language": language, "provided_data": {"test_cases": cases}, "extra": extra or {"run_all_cases": True},
            **config}}, status)

    @staticmethod
    def pairs(kind="stdin_stdout", **more):
        return {"type": kind, "input": [i for i, _ in PAIRS], "output": [o for _, o in PAIRS], "fn_name": None, **more}

    def test_input_and_output(self):
        said = self.evaluate(block(ADD), self.pairs())
        self.assertEqual((said["id"], said["accepted"], len(said["tests"])), (0, True, 3))
        said = self.evaluate(block(C_ADD, "cpp"), self.pairs(), "cpp")
        self.assertTrue(said["accepted"])

    def test_cases_as_objects(self):
        cases = [{"type": "stdin_stdout", "input": i, "output": o} for i, o in PAIRS]
        self.assertTrue(self.evaluate(block(ADD), cases, path="/common_evaluate")["accepted"])
        body = {"completion": block(ADD), "config": {"language": "python", "provided_data": {
            "test": [{"input": {"stdin": i}, "output": {"stdout": o}} for i, o in PAIRS]}}}
        self.assertTrue(self.post("/common_evaluate", body)["accepted"])

    def test_functions(self):
        cases = {"type": "function_call", "fn_name": "add", "input": [[1, 2], [[3], [4]], ["a", "é"]],
                 "output": [[3], [[3, 4]], ["aé"]]}
        said = self.evaluate(block("def add(a, b):\n    print('noise')\n    return a + b"), cases)
        self.assertTrue(said["accepted"], said)
        self.assertEqual(said["tests"][0]["exec_info"]["run_result"]["stdout"], "noise\n")
        self.assertEqual(said["tests"][1]["test_info"],
                         {"type": "function_call", "fn_name": "add", "input": [[3], [4]], "output": [[3, 4]]})
        self.assertTrue(self.evaluate(block("class Solution:\n    def add(self, a: List[int], b):\n        return a + b"),
                                      cases)["accepted"])
        said = self.evaluate(block("def add(a, b): return a"), cases)
        self.assertEqual([t["passed"] for t in said["tests"]], [False, False, False])
        self.assertEqual((said["tests"][0]["exec_info"]["status"], said["tests"][0]["exec_info"]["message"]),
                         ("Failed", "Wrong Answer"))
        said = self.evaluate(block("function add(a, b) { return a + b }", "js"), {**cases, "input": [[1, 2]], "output": [[3]]},
                             "nodejs")
        self.assertTrue(said["accepted"], said)

    def test_names_that_a_program_may_have(self):
        code = "type = 3\nglobals = isinstance = hasattr = getattr = None\ndef f(x): return [x, True, chr(0)]"
        said = self.evaluate(block(code), {"type": "function_call", "fn_name": "f", "input": [[1]], "output": [[[1, 1, "\0"]]]})
        self.assertTrue(said["accepted"], said)

    def test_arguments_as_lines_of_json(self):
        cases = {"type": "function_call", "fn_name": "f", "json_input": True, "input": ['[1, 2]\n"x"'], "output": ["[2, 1]"]}
        self.assertTrue(self.evaluate(block("def f(a, b):\n    assert b == 'x'\n    return a[::-1]"), cases)["accepted"])

    def test_a_function_does_not_see_what_is_expected(self):
        code = "def f(x):\n    import gc, sys\n    return [o for o in gc.get_objects() if o == [4711]] and 4711 or open(sys.argv[0]).read()"
        said = self.evaluate(block(code), {"type": "function_call", "fn_name": "f", "input": [[1]], "output": [[4711]]})
        self.assertFalse(said["accepted"])

    def test_assertions(self):
        test = "def check(candidate):\n    assert candidate(2) == 4\n"
        for body, passed in (("return x * 2", True), ("return x", False), ("return math.sqrt(x) ** 4", False)):
            said = self.evaluate(block(f"def f(x):\n    {body}"), {"type": "assert", "test": test, "entry_point": "f"})
            self.assertEqual(said["accepted"], passed, said)
            self.assertTrue(said["full_code"].endswith("check(f)\n"))
        code = "bool odd(int n) {\n    return n % 2;\n}\nint main() { }"
        tests = "}\nint main() {\n    assert(odd(3));\n    assert(!odd(4));\n}\n"
        said = self.evaluate(block(code, "cpp"), {"type": "assert", "tests": tests, "stop_tokens": ["\n}"]}, "cpp")
        self.assertTrue(said["accepted"], said)

    def test_a_special_judge(self):
        judge = ("import sys\na, b = map(int, open('answer.txt').read().split())\n"
                 "sys.exit(0 if a + b == int(open('stdin.txt').read()) and open('stdout.txt').read() else 1)")
        cases = {"type": "stdin_stdout", "input": ["3", "7"], "output": ["1 2", "3 4"]}
        extra = {"run_all_cases": True, "special_judge_program": judge, "special_judge_language": "python"}
        for code, passed in (("c = int(input())\nprint(c - 1, 1)", True), ("c = int(input())\nprint(c, c)", False)):
            self.assertEqual(self.evaluate(block(code), cases, extra=extra)["accepted"], passed)

    def test_the_time_of_all(self):
        extra = {"run_all_cases": True, "total_timeout": 1}
        cases = {"type": "stdin_stdout", "input": [""] * 30, "output": ["x"] * 30}
        said = self.evaluate(block("import time; time.sleep(0.9); print('x')"), cases, extra=extra)
        info = said["tests"][-1]["exec_info"]
        self.assertEqual((len(said["tests"]), info["status"], info["message"]), (30, "SandboxError", "Total Timeout"))
        self.assertIsNone(info["run_result"])

    def test_bad_input(self):
        for cases in ({}, [], 3, {"type": "nope", "input": ["1"], "output": ["2"]},
                      [{"type": "function_call", "fn_name": name, "input": [1], "output": [1]} for name in "fg"], {"type": "stdin_stdout", "input": ["1"], "output": []},
                      {"type": "function_call", "fn_name": "f(); import os", "input": [[1]], "output": [[1]]},
                      {"type": "function_call", "fn_name": "", "input": [[1]], "output": [[1]]},
                      {"type": "function_call", "fn_name": "f", "input": ["no list"], "output": [[1]]},
                      {"type": "function_call", "fn_name": "f", "input": [[1]], "output": [[]]},
                      {"type": "assert"}, {"type": "assert", "test": 3}, [{"type": "stdin_stdout"}], ["x"]):
            self.assertIn("detail", self.evaluate("x", cases, status=400), cases)
        said = self.evaluate("x", {"type": "function_call", "fn_name": "f", "input": [[1]], "output": [[1]]}, "cpp", status=400)
        self.assertIn("python and javascript", said["detail"])
        self.assertLeftNothing()


class Graders(Fronts):
    """Codeforces and IOI, as the graders of Open R1 send them to their fork of Piston."""

    def grade(self, language, *files, status=200, **more):
        body = {"language": language, "version": "*", "run_timeout": 12000, "compile_timeout": 60000,
                "files": [{"name": n, "content": c} for n, c in files], **more}
        return self.post("/api/v2/execute", body, status)

    def codeforces(self, code, language="cf_python3", expected="3\r\n", given="1 2\r\n", checker=None, config="", **more):
        config = f"TIME_LIMIT=2.0\nMEMORY_LIMIT=256.0\nINPUT_MODE=stdio{config}"
        ending = "py" if language == "cf_python3" else "cpp"
        extra = [("checker.py", checker)] if checker else []
        said = self.grade(language, (f"main.{ending}", code), *extra, ("input.txt", given),
                          ("correct_output.txt", expected), ("grader_config", config), **more)
        return said["run"]["stdout"].strip(), said["run"]["code"], said

    def test_codeforces(self):
        for language, code in (("cf_python3", ADD), ("c++17", C_ADD), ("cf_c++20", C_ADD), ("C++14 (GCC 6-32)", C_ADD)):
            score, code, said = self.codeforces(code, language)
            self.assertEqual((score, code, said["compile"]["code"], said["version"]), ("1", 0, 0, "1.0.0"), said)
        self.assertEqual(said["run"]["stderr"], "Output is correct (diff)\n")
        self.assertEqual(self.codeforces("print(4)")[:2], ("0", 0))
        self.assertEqual(self.codeforces("print('Yes')", expected="YES")[:2], ("1", 0))
        self.assertEqual(self.codeforces("print('Yes')", expected="No")[:2], ("0", 0))

    def test_how_programs_end(self):
        for code, exit_code, why in (("import sys; sys.exit(3)", 3, "Runtime error with exit code 3"),
                                     ("import os; os.kill(os.getpid(), 11)", 139, "Runtime error with exit code 139"),
                                     ("while True: pass", 124, "Time limit exceeded (")):
            score, found, said = self.codeforces(code, run_timeout=1000)
            self.assertEqual((score, found), ("0", exit_code), said)
            self.assertIn(why, said["run"]["stderr"])
        said = self.codeforces("int main(", "c++17")[2]
        self.assertNotEqual(said["compile"]["code"], 0)

    def test_a_checker(self):
        checker = ("import sys\ni, e, o = (open(p).read().split() for p in sys.argv[1:4])\n"
                   "print(1 if abs(int(o[0]) - int(e[0])) < 2 and i == ['1', '2'] else 0)")
        self.assertEqual(self.codeforces("print(4)", checker=checker)[:2], ("1", 0))
        self.assertEqual(self.codeforces("print(5)", checker=checker)[:2], ("0", 0))

    def test_files_instead_of_streams(self):
        code = "a, b = map(int, open('input.txt').read().split())\nopen('output.txt', 'w').write(str(a + b))"
        said = self.grade("cf_python3", ("main.py", code), ("input.txt", "1 2"), ("correct_output.txt", "3"),
                          ("grader_config", "INPUT_MODE=file"))
        self.assertEqual(said["run"]["stdout"], "1\n", said)

    def test_no_expected_output(self):
        said = self.grade("cf_python3", ("main.py", ADD), ("input.txt", "1 2"))
        self.assertEqual((said["run"]["stdout"], said["run"]["code"]), ("3\n", 0))

    def test_the_expected_output_is_not_there(self):
        code = "import glob, os\nprint([open(p).read() for p in glob.glob('**', recursive=True) if os.path.isfile(p) and p != 'main.py'])"
        said = self.codeforces(code, expected="4711")[2]
        self.assertEqual(said["run"]["stdout"], "0\n")
        said = self.grade("cf_python3", ("main.py", code), ("input.txt", "x"), ("grader_config", "TIME_LIMIT=9"))
        self.assertEqual(said["run"]["stdout"], "[]\n")

    def ioi(self, code, given="4\n", expected="10\n", checker=None, config=None):
        config = config or {"task_type": "Batch", "code": "sum", "time_limit": 2.0, "memory_limit": 268435456}
        extra = [("checker/checker.cpp", checker), ("checker/two.h", "#define TWO 2\n")] if checker else []
        return self.grade("cms_ioi", ("graders/sum.cpp", code), ("input.txt", given), ("correct_output.txt", expected),
                          ("graders/grader.cpp", '#include "sum.h"\n#include <cstdio>\nint main() { int n; scanf("%d", &n); '
                           'printf("%d\\n", total(n)); }'), ("graders/sum.h", "int total(int n);"),
                          ("graders/manager.cpp", "not to be compiled"), ("graders/grader_config.json", json.dumps(config)),
                          *extra)

    def test_ioi(self):
        right = '#include "sum.h"\nint total(int n) { return n * (n + 1) / 2; }'
        said = self.ioi(right)
        self.assertEqual((said["run"]["stdout"], said["run"]["stderr"]), ("1\n", "Output is correct (diff)\n"), said)
        said = self.ioi(right.replace("/ 2", "/ 3"))
        self.assertEqual((said["run"]["stdout"], said["run"]["stderr"]), ("0\n", "Output isn't correct (diff)\n"))
        checker = ('#include <fstream>\n#include <iostream>\n#include "two.h"\nint main(int, char **v) { std::ifstream e(v[2]), o(v[3]);'
                   ' int a, b; e >> a; o >> b; std::cout << (a == b ? "1.0" : "0.5") << "\\n"; std::cerr << TWO; }')
        self.assertEqual(self.ioi(right, checker=checker)["run"]["stdout"], "1.0\n")
        said = self.ioi(right.replace("/ 2", "/ 3"), checker=checker)
        self.assertEqual((said["run"]["stdout"], said["run"]["stderr"]), ("0.5\n", "2"))

    def test_what_is_not_there(self):
        said = self.ioi("x", config={"task_type": "Communication"})
        self.assertEqual((said["run"]["stdout"], said["run"]["code"]), ("0\n", 1))
        self.assertIn("Unsupported task type", said["run"]["stderr"])
        said = self.grade("cms", ("graders/a.cpp", "int x;"))
        self.assertIn("grader_config.json", said["run"]["stderr"])
        self.grade("cf_python3", ("input.txt", ""), status=400)
        self.assertIn("message", self.post("/api/v2/execute", {"language": "cf_python3", "version": "*", "files": [
            {"name": "main.py", "content": "eA==", "encoding": "base64"}, {"content": "x"}]}, 400))
        self.post("/api/v2/execute", {"language": "cf_python3", "version": "2.x", "files": [{"content": "x"}]}, 400)
        self.assertLeftNothing()

    def test_they_are_listed(self):
        rows = {r["language"]: r for r in self.server.request("GET", "/api/v2/runtimes").json}
        self.assertIn("cf_c++17", rows["c++17"]["aliases"])
        self.assertEqual(rows["cms"]["version"], "1.0.0")
        packages = {r["language"]: r for r in self.server.request("GET", "/api/v2/packages").json}
        self.assertEqual(packages["cms"], {"language": "cms", "language_version": "1.0.0", "installed": True})


if __name__ == "__main__":
    harness.main()
