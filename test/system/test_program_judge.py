# SPDX-License-Identifier: Apache-2.0
"""program.build and program.judge: a program is compiled once, and scored with test cases."""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

DOUBLE = "print(int(input()) * 2)"
C_DOUBLE = '#include <stdio.h>\nint main(void) { int x; scanf("%d", &x); printf("%d\\n", 2 * x); }\n'
SAME = "import sys\nsys.exit(open('expected.txt').read().split() != open('output.txt').read().split())"


def doubles(n):
    return [{"stdin": str(i), "expected": str(2 * i)} for i in range(n)]


class Shared(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--programs", "4")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def judge(self, code, cases, language="python", **params):
        return self.server.rpc("program.judge", language=language, code=code, cases=cases, **params)

    def verdicts(self, *args, **params):
        done = self.judge(*args, **params)
        found = [case["verdict"] for case in done["cases"]]
        self.assertEqual(done["accepted"], len(found) == len(args[1]) and set(found) == {"passed"})
        return found

    def error(self, method="program.judge", **params):
        said = self.server.post(web.question(method, **params)).json
        self.assertIn("error", said)
        return {**said["error"], **said["error"]["data"]}

    def assertLeftNothing(self):
        self.assertTrue(web.wait(lambda: self.server.rpc("session.list")["sessions"] == []))


class Verdicts(Shared):
    def test_a_right_program(self):
        done = self.judge(DOUBLE, doubles(9))
        self.assertTrue(done["accepted"])
        self.assertEqual([c["run"]["stdout"] for c in done["cases"]], [f"{2 * i}\n" for i in range(9)])
        self.assertEqual((done["language"], "compile" in done), ("python", False))
        self.assertLeftNothing()

    def test_the_first_that_is_not_passed_is_the_last(self):
        code = "import time\nx = int(input())\ntime.sleep(0.3 if x == 2 else 0)\nprint(2 * x if x < 2 else 0)"
        self.assertEqual(self.verdicts(code, doubles(8)), ["passed", "passed", "wrong"])
        self.assertEqual(self.verdicts(code, doubles(4), all=True), ["passed", "passed", "wrong", "wrong"])

    def test_after_it_no_case_begins(self):
        with web.Server("--programs", "2") as server:
            done = server.rpc("program.judge", language="python", code="print(0)", cases=[{"expected": "1"}] * 300)
            self.assertEqual([c["verdict"] for c in done["cases"]], ["wrong"])
            text = server.request("GET", "/metrics").body.decode()
            steps = sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("retort_steps_total{"))
        self.assertLess(steps, 30)

    def test_each_verdict(self):
        cases = [{"stdin": word, "expected": ""} for word in
                 ("ok", "say", "exit", "raise", "kill", "wait", "eat")]
        code = ("import sys, os, time\nword = input()\nif word == 'say': print(word)\nif word == 'exit': sys.exit(3)\n"
                "if word == 'raise': 1 / 0\nif word == 'kill': os.kill(os.getpid(), 11)\nif word == 'wait': time.sleep(99)\n"
                "if word == 'eat': x = bytearray(1 << 30)\n")
        expected = ["passed", "wrong", "failed", "failed", "failed", "late", None]
        found = self.verdicts(code, cases, all=True, timeout_ms=3000, limits={"memory_bytes": 300 << 20})
        self.assertEqual(found[:-1], expected[:-1])
        self.assertIn(found[-1], ("memory", "failed"))  # failed: where the host cannot limit memory but by address space
        self.assertLeftNothing()

    def test_a_case_without_an_output_needs_status_0(self):
        self.assertEqual(self.verdicts("exit(int(input()))", [{"stdin": "0"}, {"stdin": "1"}]), ["passed", "failed"])

    def test_cases_do_not_see_each_other(self):
        code = ("import os\nprint(os.path.exists('left'), os.environ.get('LEFT'))\nopen('left', 'w').close()\n"
                "os.environ['LEFT'] = 'x'\n")
        self.assertEqual(self.verdicts(code, [{"expected": "False None"}] * 6), ["passed"] * 6)

    def test_no_case_sees_an_expected_output(self):
        code = ("import os, subprocess\nsecret = 'ans' + 'wer-4711'\n"
                "found = subprocess.run(['grep', '-rl', secret, '/home', '/tmp', '/run', '/dev/shm'], capture_output=True,"
                " text=True).stdout\nprint([f for f in found.split() if not f.endswith('main.py')])\n")
        done = self.judge(code, [{"expected": "answer-4711"}], checker={"language": "python", "code": SAME})
        self.assertEqual(done["cases"][0]["verdict"], "wrong")
        self.assertEqual(done["cases"][0]["run"]["stdout"], "[]\n")

    def test_arguments_and_files_of_a_case(self):
        code = "import sys\nprint(sys.argv[1:], open('data').read(), open('all').read())"
        cases = [{"args": [w], "files": [{"path": "data", "content": w * 2}], "expected": f"['{w}'] {w * 2} common"}
                 for w in ("a", "b")]
        self.assertEqual(self.verdicts(code, cases, files=[{"path": "all", "content": "common"}]), ["passed"] * 2)

    def test_ways_to_compare(self):
        for how, printed, expected, verdict in (
                ("exact", "a\n", "a", "wrong"), ("words", "a  b\n", "a\nb", "passed"), (None, "a  b\n", "a\nb", "passed"),
                ("lines", "1.0000001\n", "1", "passed"), ("lines", "a\n", "a\nb", "wrong"),
                ("codeforces", "yEs\n", "YES", "passed"), ("json", "\x1e[1, 2.0]", "[1,2]", "passed")):
            with self.subTest(how=how):
                params = {"compare": how} if how else {}
                found = self.verdicts(f"import sys; sys.stdout.write({printed!r})", [{"expected": expected}], **params)
                self.assertEqual(found, [verdict])

    def test_a_file_instead_of_output(self):
        code = "n = open('in').read()\nprint('noise')\nif n != '3': open('out', 'w').write(n * 2)"
        cases = [{"files": [{"path": "in", "content": n}], "expected": n * 2} for n in ("1", "2", "3")]
        self.assertEqual(self.verdicts(code, cases, output_file="out"), ["passed", "passed", "failed"])

    def test_more_than_is_kept_is_no_answer(self):
        found = self.verdicts("print('x' * 5000)", [{"expected": "x" * 5000}], limits={"output_bytes": 1000})
        self.assertEqual(found, ["failed"])

    def test_outputs_have_room_for_32_MiB(self):
        code = "import sys\nsys.stdout.write('y' * (9 << 20))"
        done = self.judge(code, [{"expected": "y" * (9 << 20)}] * 5, limits={"output_bytes": 10 << 20},
                          timeout_ms=60000)
        self.assertTrue(done["accepted"])  # what is cut in the result was compared whole
        self.assertEqual(sum(len(c["run"]["stdout"]) for c in done["cases"]), 32 << 20)
        cut = [c["run"]["truncated"]["stdout_bytes"] for c in done["cases"] if "truncated" in c["run"]]
        self.assertEqual(sum(n or 0 for n in cut), 13 << 20)

    def test_the_time_of_all_cases(self):
        done = self.judge("import time; time.sleep(1)", [{}] * 40, all=True, total_timeout_ms=1500)
        found = [c["verdict"] for c in done["cases"]]
        self.assertEqual(len(found), 40)
        self.assertEqual((found[0], found[-1]), ("passed", "skipped"))
        self.assertFalse(done["accepted"])
        self.assertNotIn("run", done["cases"][-1])

    def test_sql_and_shell(self):
        self.assertEqual(self.verdicts("select 1; select 2, 'x'", [{"expected": "1\n2|x\n"}], "sql", compare="exact"),
                         ["passed"])
        self.assertEqual(self.verdicts("read -r x; echo $((x * 2))", doubles(3), "bash"), ["passed"] * 3)
        self.assertEqual(self.verdicts("console.log(2 * require('fs').readFileSync(0))", doubles(3), "js"), ["passed"] * 3)


class Compiled(Shared):
    def test_the_compiler_runs_once(self):
        done = self.judge(C_DOUBLE, doubles(7), "c")
        self.assertTrue(done["accepted"])
        self.assertEqual(done["compile"]["status"], "ok")
        steps = self.server.rpc("session.log", session=done["session"])["steps"]
        self.assertEqual([step["runtime"] for step in steps].count("shell"), 1, steps)
        self.assertLeftNothing()

    def test_a_program_that_does_not_compile(self):
        done = self.judge("int main(void) {", doubles(3), "c")
        self.assertEqual((done["accepted"], done["cases"], done["compile"]["status"]), (False, [], "error"))
        self.assertIn("error", done["compile"]["stderr"])
        self.assertNotIn("session", done)
        self.assertLeftNothing()

    def test_arguments_of_the_compiler(self):
        code = '#include <stdio.h>\nint main(void) { puts(WORD); }'
        done = self.judge(code, [{"expected": "it's"}], "c", compile_args=["-DWORD=\"it's\""])
        self.assertTrue(done["accepted"], done)
        error = self.error(language="python", code="1", cases=[{}], compile_args=["-O3"])
        self.assertEqual(error["code"], "usage")

    def test_a_large_stack(self):
        code = ("#include <stdio.h>\nint deep(int n, char *p)\n{\n char b[512]; b[n % 512] = (char)n;\n"
                " return n ? deep(n - 1, b) + b[n % 512] : *p;\n}\n"
                'int main(void) { char c = 0; printf("%d\\n", deep(60000, &c) != 7); }')
        args = {"compile_args": ["-O0"], "limits": {"memory_bytes": 512 << 20}}
        self.assertEqual(self.verdicts(code, [{"expected": "1"}], "c", large_stack=True, **args), ["passed"])
        self.assertEqual(self.verdicts(code, [{"expected": "1"}], "c", **args), ["failed"])  # 30 MiB in a stack of 8


class Checkers(Shared):
    def test_a_checker_decides(self):
        even = "import sys\nsys.exit(int(open('output.txt').read()) % 2)"
        found = self.verdicts("print(input())", [{"stdin": n} for n in "2463"], checker={"language": "python", "code": even})
        self.assertEqual(found, ["passed", "passed", "passed", "wrong"])
        self.assertLeftNothing()

    def test_only_it_decides_unless_a_way_to_compare_is_given(self):
        never = {"language": "python", "code": "raise SystemExit(1)"}
        cases = [{"stdin": "a", "expected": "a"}]
        self.assertEqual(self.verdicts("print(input())", cases, checker=never), ["wrong"])
        self.assertEqual(self.verdicts("print(input())", cases, checker=never, compare="words"), ["passed"])

    def test_its_files_and_arguments(self):
        code = "import sys, json\nprint(json.dumps([[open(a).read() for a in sys.argv[1:]], sys.stdin.read()]))"
        done = self.judge("print(input()[::-1])", [{"stdin": "ab", "expected": "x"}],
                          checker={"language": "python", "code": code, "input": "in", "expected": "d/want", "output": "got",
                                   "args": ["in", "d/want", "got"]})
        self.assertEqual(done["cases"][0]["check"]["stdout"], '[["ab", "x", "ba\\n"], ""]\n')

    def test_it_is_asked_only_where_the_outputs_differ(self):
        never = {"language": "python", "code": "raise SystemExit(1)"}
        done = self.judge("print(input())", [{"stdin": "a", "expected": "a"}, {"stdin": "a", "expected": "b"}],
                          checker=never, compare="words")
        self.assertEqual([(c["verdict"], "check" in c) for c in done["cases"]], [("passed", False), ("wrong", True)])

    def test_it_may_print_a_score(self):
        for printed, verdict in (("1", "passed"), ("100", "passed"), ("1.0\n", "passed"), ("0.5", "wrong"), ("", "wrong"),
                                 ("no", "wrong")):
            checker = {"language": "python", "code": f"print({printed!r})\nraise SystemExit(7)", "accepts": "print"}
            self.assertEqual(self.verdicts("1", [{}], checker=checker), [verdict], printed)

    def test_a_checker_that_is_compiled(self):
        code = ('#include <fstream>\n#include "limit.h"\nint main() { std::ifstream f("output.txt"); int x; f >> x; '
                "return x > LIMIT; }")
        checker = {"language": "cpp", "code": code, "files": [{"path": "limit.h", "content": "#define LIMIT 5\n"}]}
        self.assertEqual(self.verdicts("print(input())", [{"stdin": "5"}, {"stdin": "6"}], checker=checker),
                         ["passed", "wrong"])

    def test_nobody_is_blamed_for_a_bad_checker(self):
        error = self.error(language="python", code="1", cases=[{}], checker={"language": "c", "code": "int main("})
        self.assertEqual(error["code"], "usage")
        self.assertIn("checker", error["message"])
        # A checker that crashes may have been made to by the output, so the program does not gain by that.
        for code in ("import os; os.kill(os.getpid(), 9)", "while True: pass"):
            done = self.judge("print(1)", [{}], checker={"language": "python", "code": code, "timeout_ms": 2000})
            self.assertEqual(done["cases"][0]["verdict"], "wrong", code)
            self.assertIn("checker", done["cases"][0]["message"])
        self.assertLeftNothing()


class Built(Shared):
    def test_runs_in_branches(self):
        built = self.server.rpc("program.build", language="c", code=C_DOUBLE)
        self.assertEqual(built["compile"]["status"], "ok")
        for i in range(3):
            done = self.server.rpc("program.run", language="c", built=built["session"], stdin=str(i))
            self.assertEqual((done["run"]["stdout"], "compile" in done), (f"{2 * i}\n", False))
            self.assertNotEqual(done["session"], built["session"])
        self.assertEqual([s["session"] for s in self.server.rpc("session.list")["sessions"]], [built["session"]])
        self.server.rpc("session.close", session=built["session"])
        self.assertLeftNothing()

    def test_python_with_what_was_imported(self):
        built = self.server.rpc("program.build", language="python", code="", preload=["numpy"],
                                files=[{"path": "data", "content": "7"}])
        code = "import sys\nprint('numpy' in sys.modules, open('data').read(), open('more').read())"
        done = self.server.rpc("program.run", language="python", built=built["session"], code=code,
                               files=[{"path": "more", "content": "8"}])
        self.assertEqual(done["run"]["stdout"], "True 7 8\n")
        self.server.rpc("session.close", session=built["session"])

    def test_what_does_not_compile_leaves_no_session(self):
        built = self.server.rpc("program.build", language="c", code="int main(")
        self.assertEqual((built["compile"]["status"], "session" in built), ("error", False))
        self.assertLeftNothing()

    def test_bad_input(self):
        built = self.server.rpc("program.build", language="c", code=C_DOUBLE)["session"]
        for params, code in (({"language": "c", "built": built, "code": "x"}, "usage"),
                             ({"language": "c", "built": built, "cells": ["x"]}, "usage"),
                             ({"language": "c", "built": built, "limits": {"pids": 9}}, "usage"),
                             ({"language": "c", "built": built, "compile_args": ["-O"]}, "usage"),
                             ({"language": "python", "built": built}, "usage"),
                             ({"language": "c", "built": "s-nope"}, "not_found")):
            self.assertEqual(self.error("program.run", **params)["code"], code, params)
        self.server.rpc("session.close", session=built)
        self.assertEqual(self.error("program.run", language="c", built=built)["code"], "gone")


class Quotas(harness.Case):
    ANN = "ann-" + "a" * 28

    def judge(self, server, n=12, **params):
        asked = web.question("program.judge", language="python", code="print(input())",
                             cases=[{"stdin": str(i), "expected": str(i)} for i in range(n)], all=True, **params)
        return server.post(asked, {"Authorization": f"Bearer {self.ANN}"}).json

    def test_a_quota_makes_cases_wait_for_each_other(self):
        for quota in ("sessions=3", "sessions=2", "memory=2g"):
            with web.Server("--programs", "4", tokens=f"ann {self.ANN} {quota}\n") as server:
                said = self.judge(server)
                self.assertEqual({c["verdict"] for c in said["result"]["cases"]}, {"passed"}, quota)
                self.assertEqual(len(said["result"]["cases"]), 12)
        with web.Server("--programs", "4", "--max-sessions", "3", tokens=f"ann {self.ANN}\n") as server:
            self.assertTrue(self.judge(server)["result"]["accepted"])

    def test_a_quota_without_any_room_refuses_the_request(self):
        with web.Server(tokens=f"ann {self.ANN} sessions=1\n") as server:
            self.assertEqual(self.judge(server)["error"]["data"]["code"], "quota")
            checker = {"language": "python", "code": "1"}
        with web.Server(tokens=f"ann {self.ANN} sessions=2\n") as server:
            self.assertEqual(self.judge(server, checker=checker)["error"]["data"]["code"], "quota")
            self.assertTrue(self.judge(server)["result"]["accepted"])


class Hostile(Shared):
    def test_bad_input(self):
        for params in ({"cases": []}, {"cases": [{"input": "1"}]}, {"cases": [{}], "compare": "sideways"},
                       {"cases": [{}], "checker": {}}, {"cases": [{}], "checker": {"language": "python", "code": "1", "accepts": "x"}},
                       {"cases": "x"}, {}, {"cases": [{}] * 10001}):
            self.assertEqual(self.error(language="python", code="1", **params)["code"], "usage")
        self.assertEqual(self.error(language="brainfuck", code="1", cases=[{}])["code"], "runtime")
        self.assertEqual(self.error(language="python", code="1", cases=[{}],
                                    checker={"language": "nope", "code": ""})["code"], "runtime")
        self.assertLeftNothing()

    def test_a_file_of_a_case_outside(self):
        done = self.judge("1", [{"files": [{"path": "../x", "content": ""}]}])
        self.assertEqual(done["cases"][0]["verdict"], "unjudged")
        self.assertTrue(done["cases"][0]["message"])
        self.assertLeftNothing()

    def test_a_caller_that_goes(self):
        connection = self.server.connect()
        asked = web.question("program.judge", language="python", code="import time; time.sleep(1000)", cases=[{}] * 50,
                             timeout_ms=1000000)
        thread = threading.Thread(target=lambda: self.assertRaises(OSError, self.server.post, asked, None, connection))
        thread.start()
        self.assertTrue(web.wait(lambda: len(self.server.rpc("session.list")["sessions"]) > 2))
        connection.sock.shutdown(2)
        thread.join()
        self.assertLeftNothing()
        self.assertEqual(self.verdicts(DOUBLE, doubles(3)), ["passed"] * 3)

    def test_many_at_once(self):
        found = []
        threads = [threading.Thread(target=lambda i=i: found.append(self.verdicts(DOUBLE, doubles(10 + i))))
                   for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(map(len, found)), list(range(10, 18)))
        self.assertEqual({v for f in found for v in f}, {"passed"})
        self.assertLeftNothing()


if __name__ == "__main__":
    harness.main()
