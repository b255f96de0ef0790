# SPDX-License-Identifier: Apache-2.0
"""Rewards for reinforcement learning: how many test cases a model's program passes.

    from retort_client.rewards import CodeReward

    reward = CodeReward()
    reward.score("```python\nprint(int(input()) * 2)\n```", [{"stdin": "3\n", "expected": "6\n"}])    # 1.0

`CodeReward.verifiers` has the form of the reward functions of `verifiers`, `CodeReward.verify` that of NeMo-Gym's
resource servers, `CodeReward.batch` that of trl and verl, for lists.
"""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor

from .client import Client

FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+#.-]*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
NAMES = {"py": "python", "python3": "python", "js": "javascript", "c++": "cpp", "bash": "shell", "sh": "shell"}


def code_of(completion, language="python"):
    """The program in what a model has written: its last block of code in the language, or in any, or the text."""
    text = completion if isinstance(completion, str) else "".join(
        message.get("content") or "" for message in completion if message.get("role") == "assistant")
    blocks = [(NAMES.get(name.lower(), name.lower()), code) for _, name, code in FENCE.findall(text)]
    fit = [code for name, code in blocks if name == language]
    return (fit or [code for name, code in blocks if not name] or [text])[-1]


class CodeReward:
    """`all_or_nothing`: 1.0 if every case is passed, else 0.0; otherwise the passed part of the cases.

    What was not the program's fault, such as an engine that cannot be reached, is no reward: it raises.
    """

    def __init__(self, client=None, language="python", all_or_nothing=True, timeout_ms=10000, workers=8, **judge):
        self.client = client or Client()
        self.language, self.all_or_nothing = language, all_or_nothing
        self.judge = {"limits": {"timeout_ms": timeout_ms}, **judge}
        self.pool = ThreadPoolExecutor(workers)

    def result(self, completion, cases, **more):
        """The result of `program.judge` for a model's text and its test cases."""
        cases = json.loads(cases) if isinstance(cases, str) else cases
        params = {"all": not self.all_or_nothing, **self.judge, **more}
        return self.client("program.judge", language=self.language, code=code_of(completion, self.language),
                           cases=cases, **params)

    def score(self, completion, cases, **more):
        result = self.result(completion, cases, **more)
        rows = result["cases"]
        for row in rows:
            if row["verdict"] in ("unjudged", "skipped"):
                raise RuntimeError(f"a case was not judged: {row.get('message', row['verdict'])}")
        if self.all_or_nothing:
            return 1.0 if result["accepted"] else 0.0
        return sum(row["verdict"] == "passed" for row in rows) / len(rows) if rows else 0.0

    def batch(self, completions, cases, **_):
        """A reward for each completion; `cases` has the cases of each."""
        return list(self.pool.map(self.score, completions, cases))

    async def verifiers(self, completion, info=None, answer=None, **_):
        """A reward function of `verifiers`: `info["cases"]`, or `answer` as JSON, has the test cases."""
        cases = (info or {}).get("cases") or answer
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.score, completion, cases)

    async def verify(self, request):
        """As `verify` of a resource server of NeMo-Gym: a dict with `response` and `verifier_metadata`."""
        text = "".join(part.get("text", "") for item in request["response"]["output"] if item.get("type") == "message"
                       for part in item["content"])
        cases = request["verifier_metadata"]["unit_tests"]
        if isinstance(cases, dict):  # {"inputs": [...], "outputs": [...]}
            cases = [{"stdin": i, "expected": o} for i, o in zip(cases["inputs"], cases["outputs"], strict=True)]
        reward = await asyncio.get_running_loop().run_in_executor(self.pool, self.score, text, cases)
        return {**request, "reward": reward}

    def close(self):
        self.pool.shutdown(wait=True)
        self.client.close()
