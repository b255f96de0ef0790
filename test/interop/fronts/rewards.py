# SPDX-License-Identifier: Apache-2.0
"""The rewards of verl and of Tinker's cookbook, as their recipes call them.

Importing verl or its utils as a whole needs torch and ray; so these two packages are empty here, and lead to the files of
the installed one, which are unchanged.
"""

import asyncio
import logging
import os
import sys
import threading
import types

import checks
from checks import check

PLACE = next(p for p in sys.path if p.endswith("site-packages"))
for name in ("verl", "verl.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [os.path.join(PLACE, *name.split("."))]

from verl.utils.reward_score import default_compute_score, sandbox_fusion  # noqa: E402
from verl.utils.reward_score.sandbox_fusion.utils import check_correctness  # noqa: E402

logging.disable(logging.CRITICAL)
RUN = checks.url("/run_code")
EIGHT = threading.Semaphore(8)


def case(name, results, code, inputs, outputs, statuses=None, **more):
    asked = {"inputs": inputs, "outputs": outputs, **more.pop("extra", {})}
    check("verl: " + name, lambda: check_correctness(RUN, asked, code, **{"timeout": 20, **more}),
          lambda r: r[0] == results and (statuses is None or [m["status"] for m in r[1]] == statuses))


case("right answers", [True, True], "print(int(input())*2)", ["3", "4"], ["6", "8"], ["success"] * 2)
case("a wrong answer", [False], "print(0)", ["3"], ["6"], ["wrong_answer"])
case("an exception", [-2], "raise ValueError('boom')", [""], ["6"], ["runtime_error"])
case("an exit status", [-2], "import sys; sys.exit(7)", [""], ["6"], ["runtime_error"])
case("an endless loop", [-3], "while True: pass", [""], [""], ["timeout"], timeout=2)
case("too much memory", [-2], "x = bytearray(400 << 20)", [""], [""], memory_limit_mb=64)
case("cpp", [True], "#include <iostream>\nint main(){int a;std::cin>>a;std::cout<<a+1;}", ["4"], ["5"], language="cpp")
case("cpp that does not compile", [-4, -4], "int main(){return x;}", ["1", "2"], ["1", "2"], language="cpp")
case("nodejs", [True], "console.log(require('fs').readFileSync(0, 'utf8').trim())", ["q"], ["q"], language="nodejs")
case("a function", [True], "def add(a, b): return a + b", ["1\n2"], ["3"], extra={"fn_name": "add"})
case("a language that is not there", [-1], "x", [""], [""], ["api_error"], language="cobol")
case("sixteen cases", [True] * 16, "print(input())", [str(i) for i in range(16)], [str(i) for i in range(16)],
     concurrent_semaphore=EIGHT)
check("verl: a score", lambda: sandbox_fusion.compute_score(
    RUN, EIGHT, 1024, "x\n```python\nprint(1)\n```", {"inputs": ["1", "2"], "outputs": ["1", "2"]}, continuous=True, timeout=20),
    lambda r: r[0] == 0.5)
check("verl: the default reward", lambda: default_compute_score(
    "codecontests", "```python\nprint(input())\n```", '{"inputs": ["1"], "outputs": ["1"]}', sandbox_fusion_url=RUN,
    concurrent_semaphore=EIGHT, memory_limit_mb=1024), lambda r: r == 1.0)

os.environ["SANDBOX_URL"] = RUN
os.environ["SANDBOX_MAX_CONCURRENCY"] = "8"
try:
    from tinker_cookbook.sandbox import SandboxFusionClient
except ImportError:
    from tinker_cookbook.sandbox.sandboxfusion import SandboxFusionClient
from tinker_cookbook.recipes.code_rl import code_grading  # noqa: E402


async def several(n):
    client = SandboxFusionClient()
    found = await asyncio.gather(*[client.run(f"import m; print({i} + m.x)", {"m.py": "x = 5"}, 20) for i in range(n)])
    await client.close()
    return found


def graded(name, is_right, tests, code, **more):
    check("tinker: " + name, lambda: code_grading.sandbox_check_correctness(tests, code, **{"timeout": 10, **more}),
          lambda r: r[0] is is_right and "error" not in r[1])


check("tinker: its client", lambda: several(8),
      lambda found: [(ok, d["run_result"]["stdout"]) for ok, d in found] == [(True, f"{i + 5}\n") for i in range(8)])
STDIN = [{"input": f"{n}\n", "output": f"{2 * n}\n", "testtype": "stdin_stdout"} for n in (3, 4)]
CALL = [{"input": "1\n2", "output": "3", "testtype": "functional", "metadata": {"func_name": "add"}}]
graded("right", True, STDIN, "print(int(input())*2)")
graded("wrong", False, STDIN, "print(0)")
graded("a function", True, CALL, "class Solution:\n def add(self, a, b): return a + b")
graded("an exception", False, STDIN, "raise ValueError('x')")
graded("an endless loop", False, STDIN[:1], "while True: pass", timeout=2)
