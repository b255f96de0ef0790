# SPDX-License-Identifier: Apache-2.0
"""The package sandbox-fusion: run_code, run_jupyter, and their sums."""

import asyncio
import base64

import checks
import sandbox_fusion as s
from checks import check

s.set_endpoint(checks.url())
OK, BAD = s.RunStatus.Success, s.RunStatus.Failed
DONE, LATE = s.CommandRunStatus.Finished, s.CommandRunStatus.TimeLimitExceeded
ONCE = {"max_attempts": 1}


def b64(text):
    return base64.b64encode(text.encode()).decode()


def request(code, language="python", **more):
    return s.RunCodeRequest(code=code, language=language, **{"run_timeout": 10, "compile_timeout": 30, **more})


def run(name, is_good, *args, **more):
    check(name, lambda: s.run_code(request(*args, **more), **ONCE), is_good)


def is_run(outcome, **fields):
    return lambda r: r.status == outcome and all(getattr(r.run_result, k) == v for k, v in fields.items())


run("a program", is_run(OK, status=DONE, return_code=0, stdout="hello\n", stderr=""), "print('hello')")
run("an exception", lambda r: is_run(BAD, return_code=1)(r) and "ValueError: boom" in r.run_result.stderr,
    "raise ValueError('boom')")
run("an exit status", is_run(BAD, status=DONE, return_code=7), "import sys; sys.exit(7)")
run("an endless loop", lambda r: is_run(BAD, status=LATE)(r) and "part" in r.run_result.stdout,
    "print('part', flush=True)\nwhile True: pass", run_timeout=2)
run("input", is_run(OK, stdout="cba\n"), "print(input()[::-1])", stdin="abc\n")
run("no input", is_run(OK, stdout="''\n"), "import sys; print(repr(sys.stdin.read()))")
run("files in", is_run(OK, stdout="data\n"), "print(open('in/a.txt').read())", files={"in/a.txt": b64("data")})
run("files out", lambda r: base64.b64decode(r.files["o"]) == bytes(range(256)) and "no" not in r.files,
    "open('o', 'wb').write(bytes(range(256)))", fetch_files=["o", "no"])
run("nodejs", is_run(OK, stdout="hello\n"), "console.log('hello')", "nodejs")
run("bash", is_run(OK, stdout="hello\n"), "echo hello", "bash")
run("cpp", lambda r: is_run(OK, stdout="hello\n")(r) and r.compile_result.return_code == 0,
    '#include <iostream>\nint main(){std::cout<<"hello\\n";}', "cpp")
run("cpp that does not compile",
    lambda r: r.status == BAD and r.run_result is None and r.compile_result.return_code not in (0, None),
    "int main(){ return x; }", "cpp")
run("both streams", is_run(OK, stdout="\u00e9\u4e2d\U0001F600\n", stderr="e\n"),
    "import sys; print('\u00e9\u4e2d\U0001F600'); print('e', file=sys.stderr)")
WORDS = s.SummaryMapping(Success="S", Failed="F", CompileFailed="CF", CompileTimeout="CT", RunFailed="RF", RunTimeout="RT")
check("the sums", lambda: [s.summary_run_code_result(s.run_code(r, **ONCE), WORDS) for r in (
    request("print(1)"), request("1/0"), request("while 1: pass", run_timeout=1), request("int main(){return x;}", "cpp"))],
    lambda found: found == ["S", "RF", "RT", "CF"])
check("eight at once", lambda: s.run_concurrent(
    s.run_code, args=[[request(f"print({i})")] for i in range(8)], kwargs=[ONCE] * 8, concurrency=8),
    lambda found: [r.run_result.stdout for r in found] == [f"{i}\n" for i in range(8)])


def cells(name, is_good, *code, **more):
    asked = s.RunJupyterRequest(cells=list(code), total_timeout=40, **more)
    check(name, lambda: s.run_jupyter(asked, **ONCE), is_good)


cells("cells", lambda r: r.status == OK and [c.stdout for c in r.cells] == ["", "123\n"], "a = 123", "print(a)")
cells("a cell that fails", lambda r: r.cells[1].error[0]["ename"] == "RuntimeError" and r.cells[2].stdout == "1\n",
      "a = 1", "raise RuntimeError('x')", "print(a)")
cells("a value", lambda r: r.cells[0].display[0]["text/plain"] == "42", "21 * 2")
cells("files of cells", lambda r: base64.b64decode(r.files["o"]) == b"XY",
      "x = open('i').read()", "with open('o', 'w') as f: f.write(x.upper())", files={"i": b64("xy")}, fetch_files=["o"])
if hasattr(s, "run_code_async"):
    async def several():
        return await asyncio.gather(*[s.run_code_async(request(f"print({i})"), **ONCE) for i in range(8)])
    check("asynchronously", several, lambda found: [r.run_result.stdout for r in found] == [f"{i}\n" for i in range(8)])


def submit(name, is_good, code, language="python", **config):
    test = [{"input": {"stdin": "1 2"}, "output": {"stdout": "3"}}, {"input": {"stdin": "3 4"}, "output": {"stdout": "7"}}]
    asked = s.SubmitRequest(dataset="mine", id=7, completion=f"```{language}\n{code}\n```", config=s.TestConfig(
        dataset_type="CommonOJDataset", language=language, provided_data={"id": 7, "test": test}, **config))
    check(name, lambda: s.submit(asked, **ONCE), is_good)


submit("a right answer", lambda r: r.accepted and r.id == 7 and [t.passed for t in r.tests] == [True, True],
       "print(sum(map(int, input().split())))")
submit("a wrong answer", lambda r: not r.accepted and [t.passed for t in r.tests] == [True, False]
       and r.tests[1].exec_info.run_result.stdout == "3\n", "print(3)", extra={"run_all_cases": True})
submit("an answer that does not compile", lambda r: not r.accepted
       and r.tests[0].exec_info.compile_result.return_code == 1, "int main(", "cpp")
