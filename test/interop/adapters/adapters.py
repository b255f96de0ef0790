# SPDX-License-Identifier: Apache-2.0
"""What clients/python makes of smolagents, LangChain, verifiers and NeMo-Gym: each check is a line of JSON.

usage: adapters.py URL [TOKEN]
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fronts"))
from checks import LOOP, TOKEN, URL, check  # noqa: E402
from inspect_ai.util import SandboxEnvironment  # noqa: E402
from smolagents import tool  # noqa: E402
from smolagents.default_tools import FinalAnswerTool  # noqa: E402

from retort_client import Client, Failed  # noqa: E402
from retort_client.inspect_sandbox import RetortSandboxEnvironment  # noqa: E402
from retort_client.langchain_tool import RetortPython  # noqa: E402
from retort_client.rewards import CodeReward, code_of  # noqa: E402
from retort_client.smolagents_executor import RetortExecutor  # noqa: E402

DOUBLE = "Here:\n```python\nprint(int(input()) * 2)\n```\nDone."
CASES = [{"stdin": "3\n", "expected": "6\n"}, {"stdin": "4\n", "expected": "9\n"}]
SAMPLE = {"response": {"output": [{"type": "message", "content": [{"type": "output_text", "text": DOUBLE}]}]},
          "verifier_metadata": {"unit_tests": {"inputs": ["3", "5"], "outputs": ["6", "10"]}}}


@tool
def double(x: int) -> int:
    """Doubles a number.

    Args:
        x: the number
    """
    return 2 * x


def failure(call):
    try:
        call()
    except Exception as error:  # of any kind
        return f"{type(error).__name__}: {error}"
    return "nothing"


def plain(client):
    with client.session() as session:
        check("a step", lambda: session.run("6 * 7").text, lambda found: found == "42")
        check("a failed step", lambda: session.run("1 / 0").error["name"], lambda found: found == "ZeroDivisionError")
        check("a program with input", lambda: session.exec(["sh", "-c", "cat; echo e >&2; exit 3"], stdin=b"a\xff"),
              lambda found: found[0]["exit_code"] == 3 and found[1:] == (b"a\xff", b"e\n"))
        check("a program that reads nothing", lambda: session.exec(["true"], stdin=b"x" * 20_000_000),
              lambda found: found[0]["exit_code"] == 0)
        check("more output than is wanted", lambda: session.exec(["head", "-c", "3000000", "/dev/zero"], max_bytes=1000),
              lambda found: len(found[1]) == 1000)
        session.write_file("deep/er/file", b"\xff" * 40_000_000)
        check("a large file", lambda: session.read_file("deep/er/file"), lambda found: found == b"\xff" * 40_000_000)
        check("the beginning of a file", lambda: session.read_file("deep/er/file", 3), lambda found: len(found) == 4)
        check("a file that is not there", lambda: failure(lambda: session.read_file("/tmp/none")),
              lambda found: found.startswith("Failed:"))
        branch = session.branch()
        check("a branch has the variables", lambda: (session.run("x = 1"), branch.run("x").error["name"])[1],
              lambda found: found == "NameError")
        branch.close()
    check("a session that is closed", lambda: failure(lambda: session.run("1")), lambda found: found.startswith("Failed:"))
    check("a wrong token", lambda: failure(lambda: Client(URL, "wrong" * 8)("session.list")),
          lambda found: TOKEN is None or found.startswith("Failed: the token"))


def smolagents(client):
    executor = RetortExecutor(client=client)
    executor.send_tools({"double": double, "final_answer": FinalAnswerTool()})
    executor.send_variables({"n": 21, "d": {"a": [1, 2]}})
    check("smolagents: a tool, a variable", lambda: executor("print('hi')\ndouble(n)"),
          lambda found: (found.output, found.logs, found.is_final_answer) == ("42", "hi\n", False))
    check("smolagents: variables stay", lambda: executor("m = double(4)\nm").output == "8" and executor("m + 1").output,
          lambda found: found == "9")
    check("smolagents: the answer", lambda: executor("final_answer({'x': d['a'], 't': (1, 2)})"),
          lambda found: found.output == {"x": [1, 2], "t": (1, 2)} and found.is_final_answer)
    check("smolagents: an error", lambda: failure(lambda: executor("undefined_name")),
          lambda found: found.startswith("AgentError") and found.count("NameError") == 1)
    executor.cleanup()


def langchain(client):
    with RetortPython.start(client) as python:
        check("LangChain: a call", lambda: python.invoke("x = 6 * 7; print('hello'); x"), lambda found: found == "hello\n42")
        check("LangChain: a call of a model", lambda: python.invoke({"name": "python", "args": {"code": "x + 1"}, "id": "c1",
                                                                     "type": "tool_call"}).content,
              lambda found: found == "43")
        check("LangChain: an error", lambda: python.invoke({"code": "x / 0"}),
              lambda found: found.count("ZeroDivisionError") == 1 and "line 1" in found)
        check("LangChain: much text is cut", lambda: python.invoke("print('x' * 100000)"),
              lambda found: len(found) < 21000 and "left out" in found)


def rewards(client):
    reward, part = CodeReward(client=client), CodeReward(client=client, all_or_nothing=False)
    check("a reward", lambda: [reward.score(DOUBLE, CASES), reward.score(DOUBLE, CASES[:1])], lambda found: found == [0.0, 1.0])
    check("a part of a reward", lambda: part.score(DOUBLE, CASES), lambda found: found == 0.5)
    check("many rewards", lambda: reward.batch([DOUBLE, "print(", "while True: pass", "no code"], [CASES[:1]] * 4),
          lambda found: found == [1.0, 0.0, 0.0, 0.0])
    chat = [{"role": "user", "content": "double it"}, {"role": "assistant", "content": DOUBLE}]
    check("verifiers", lambda: LOOP.run_until_complete(reward.verifiers(chat, info={"cases": CASES[:1]})),
          lambda found: found == 1.0)
    check("verifiers, the cases as JSON", lambda: LOOP.run_until_complete(reward.verifiers(chat, answer=json.dumps(CASES))),
          lambda found: found == 0.0)
    check("NeMo-Gym", lambda: LOOP.run_until_complete(reward.verify(SAMPLE))["reward"], lambda found: found == 1.0)
    check("wrong cases are no reward", lambda: failure(lambda: reward.score(DOUBLE, [{"input": "3"}])),
          lambda found: found.startswith("Failed:"))
    check("the last block in the language", lambda: code_of("```python\na\n```\n```py\nb\n```\n```sh\nc\n```\n"),
          lambda found: found == "b\n")


def inspect_ai():
    """What the checks of inspect_ai do not look at. The client is that of RETORT_URL."""
    async def ask():
        made = await RetortSandboxEnvironment.sample_init("task", None, {})
        sandbox: SandboxEnvironment = made["default"]
        found = [await sandbox.exec(["nothing-here"]), await sandbox.exec(["sh", "-c", "yes | head -c 11000000 | wc -c"])]
        found.append((await sandbox.connection()).command)
        await RetortSandboxEnvironment.sample_cleanup("task", None, made, False)
        return found
    check("inspect_ai: a missing program, a connection", ask, lambda found: found[0].returncode == 127 and
          found[1].stdout == "11000000\n" and found[2].startswith("retort exec "))


def main():
    os.environ["RETORT_URL"] = URL
    if TOKEN:
        os.environ["RETORT_TOKEN"] = TOKEN
    with Client(URL, TOKEN) as client:
        plain(client)
        smolagents(client)
        langchain(client)
        rewards(client)
    inspect_ai()


main()
