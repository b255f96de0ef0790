#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of at most 60 lines, files of at most 600 (tests 1200); with reasons where not.

usage: dev/check_size.py [ROOT]
"""

import ast
import os
import re
import sys

FUNCTION_LINES, FILE_LINES = 60, 600
TEST_LINES = 1200  # a list of cases may be long
FOLDERS = ("src", "test", "drivers", "dev", "demo")

# Longer, and why that is better than a cut.
ALLOWED = {
    "src/plan/machine/vm_slow.c:vm_slow": "a row per instruction, read as a table",
    "drivers/python/driver.py": "runs in every box: one file is one import",
}


def c_functions(lines):
    """(name, first line, number of lines): functions begin with "{" and end with "}" in column one."""
    start = None
    for number, line in enumerate(lines):
        if line == "{" and start is None:
            start = number
            while start > 0 and lines[start - 1] and not lines[start - 1].endswith((";", "}", "*/")):
                start -= 1
        elif line == "}" and start is not None:
            name = re.search(r"(\w+)\s*\(", " ".join(lines[start:number]))
            yield (name[1] if name else "?"), start + 1, number - start + 1
            start = None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_file(path, text):
    lines = text.split("\n")[:-1]
    most = TEST_LINES if path.startswith("test/") else FILE_LINES
    if len(lines) > most:
        yield path, f"{path}: {len(lines)} lines, limit {most}"
    functions = python_functions(text) if path.endswith(".py") else c_functions(lines)
    for name, number, n in functions:
        if n > FUNCTION_LINES:
            yield f"{path}:{name}", f"{path}:{number}: {name} has {n} lines, limit {FUNCTION_LINES}"


def sources(root):
    for folder in FOLDERS:
        for top, dirs, names in os.walk(os.path.join(root, folder)):
            dirs.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h", ".py")):
                    yield os.path.relpath(os.path.join(top, name), root)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems, used, n_files = [], set(), 0
    for path in sources(root):
        n_files += 1
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for key, problem in check_file(path, f.read()):
                used.add(key)
                if key not in ALLOWED:
                    problems.append(problem)
    notes = [f"note: {key} is small enough to be taken off the list" for key in ALLOWED if key not in used]
    print("\n".join(notes + problems + [f"size: {n_files} files, {len(problems)} problems"]))
    return 1 if problems or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
