#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Flows of other people's cases: of each function `case(taint_src)` that ends in `taint_sink(x)`, is it known
whether what goes in comes out?

XAST names a checkout of alipay/ant-application-security-testing-benchmark. Nothing of it is kept. A case that
is not in the language is counted apart, and so is one that the checker refuses.

usage: XAST=DIR test/conformance/xast.py [-v]
"""

import ast
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RETORT = os.path.abspath(os.environ.get("RETORT", os.path.join(ROOT, "build", "retort")))
TEXT = {"type": "string"}
TOOLS = {"tools": {
    "taint_source": {"annotations": {"readOnlyHint": True}, "outputSchema": TEXT,
                     "inputSchema": {"type": "object", "properties": {}}},
    "taint_sink": {"inputSchema": {"type": "object", "properties": {"o": {}}, "required": ["o"]}}}}
POLICY = ("trust(plan, user)\nrule('taint_source', effect = read)\n"
          "rule('taint_sink', effect = external, when = at_most(text), o = control())\n")

TWIN = "the same form as a case that is said to be a flow: what a comparison tells is of what it compares"
CHOICE = "which of two values it is tells of the condition"
EXCEPTIONS = {
    "bytes_001_T": "nothing of taint_src is used in it",
    "relation_expression_equal_002_F": TWIN,
    "relation_expression_greater_002_F": TWIN,
    "relation_expression_in_002_F": TWIN,
    "relation_expression_less_002_F": TWIN,
    "relation_expression_not_equal_002_F": TWIN,
    "relation_expression_not_in_002_F": TWIN,
    "unary_expression_not_002_F": TWIN,
    "type_cast_002_F": TWIN,
    "logic_expression_and_001_F": CHOICE,
    "logical_and_002_F": CHOICE,
    "logical_or_002_F": CHOICE,
}


def plan_of(source):
    """The case as a plan, or None: not in this form."""
    tree = ast.parse(source)
    lines = source.split("\n")
    cases = []
    for node in tree.body:
        is_case = isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] == ["taint_src"]
        is_gone = (isinstance(node, (ast.Import, ast.ImportFrom, ast.If)) or
                   isinstance(node, ast.FunctionDef) and node.name == "taint_sink")
        if is_case:
            cases.append(node.name)
        if is_gone:
            for i in range(node.lineno - 1, node.end_lineno):
                lines[i] = ""
    if len(cases) != 1:
        return None
    return "\n".join(lines) + f"\n{cases[0]}(taint_source())\n"


def judge(path, setup):
    with open(path, encoding="utf-8") as f:
        source = f.read()
    try:
        plan = plan_of(source)
    except SyntaxError:
        plan = None
    if plan is None:
        return "form", ""
    done = subprocess.run([RETORT, "plan", "check", "-", "--while", *setup], input=plan, capture_output=True,
                          encoding="utf-8", check=False, timeout=60)
    if done.returncode == 2:
        codes = {line[6:10] for line in done.stderr.split("\n") if line.startswith("error[")}
        return ("refused" if codes <= {"P410", "P412", "P405", "P404"} else "syntax"), done.stderr
    return {0: "clean", 6: "flow"}.get(done.returncode, "crash"), done.stderr


def main():
    root = os.environ.get("XAST")
    if not root or not os.path.isdir(root):
        print("skipped: XAST names no checkout")
        return 0
    paths = sorted(os.path.join(top, name) for top, _, names in os.walk(root) for name in names
                   if name.endswith(("_T.py", "_F.py")) and "sast-python3" in top)
    count = collections.Counter()
    with tempfile.TemporaryDirectory() as where, concurrent.futures.ThreadPoolExecutor(2) as pool:
        tools, policy = os.path.join(where, "tools.json"), os.path.join(where, "policy.star")
        for path, text in ((tools, json.dumps(TOOLS)), (policy, POLICY)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        setup = ["--policy", policy, "--tools", tools]
        for path, (verdict, said) in zip(paths, pool.map(lambda p: judge(p, setup), paths)):
            kind = path[-4]
            if os.path.basename(path)[:-3] in EXCEPTIONS and verdict in ("clean", "flow"):
                verdict = "exception"
            count[kind, verdict] += 1
            wrong = (kind, verdict) in (("T", "clean"), ("F", "flow")) or verdict in ("crash", "refused")
            if wrong and "-v" in sys.argv:
                print(kind, verdict, os.path.relpath(path, root), said.split("\n")[0])
    for kind in "TF":
        print(kind, " ".join(f"{verdict} {n}" for (k, verdict), n in sorted(count.items()) if k == kind))
    found, clean = count["T", "flow"], count["F", "clean"]
    print(f"flows found {found}, missed {count['T', 'clean']}; "
          f"no flows {clean} of {clean + count['F', 'flow']} known to be none")
    return 1 if count["T", "clean"] or count["T", "crash"] or count["F", "crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
