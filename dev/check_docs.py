#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The header is the manual: each begins with what it is, each prototype has its comment.

A comment counts for the prototypes that follow it without a blank line, or, when it stands alone, for
all that follow up to the next comment, as does that of a type. What only ends or sets up storage (_done, _free, _init of one
type) needs none.

usage: dev/check_docs.py [ROOT]
"""

import os
import re
import sys

PROTOTYPE = re.compile(r"^(?!typedef|return|#)[a-z][\w\s*]*?\b(\w+)\([^;{]*\)[^;{=]*;", re.S)
PLAIN = re.compile(r"_(done|free|init)$")


def blocks(text):
    """Pieces between blank lines outside comments: (line number, text)."""
    block, start, in_comment = [], 1, False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() and not in_comment:
            if block:
                yield start, "\n".join(block)
            block, start = [], number + 1
            continue
        block.append(line)
        rest = re.sub(r"/\*.*?\*/", "", line)
        in_comment = "/*" in rest or (in_comment and "*/" not in rest)
    if block:
        yield start, "\n".join(block)


def check_header(path, text):
    first = text.split("\n", 2)[:2]
    if not first[0].startswith("/*"):
        yield f"{path}:1: does not begin with what it is"
    is_covered = False
    for number, block in blocks(text):
        code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), block, flags=re.S)
        has_comment = block.lstrip().startswith("/*")
        if has_comment and not code.strip():
            is_covered = "SPDX" not in block
            continue
        # Bodies of structs, enums and inline functions are no prototypes.
        code = re.sub(r"\{[^{}]*\}", lambda m: "\n" * m[0].count("\n"), code)
        code = re.sub(r"\{[^{}]*\}", lambda m: "\n" * m[0].count("\n"), code)
        code = re.sub(r"^#.*(\\\n.*)*", "", code, flags=re.M)
        is_covered = is_covered or has_comment
        found = [PROTOTYPE.match(statement.strip()) for statement in re.findall(r"[^;]+;", code)]
        names = [match[1] for match in found if match]
        for name in names:
            if not is_covered and not PLAIN.search(name):
                yield f"{path}:{number}: {name} has no comment"
        # The comment of a type goes on to what is done with it.
        is_covered = is_covered and not (has_comment and names)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems, n_files = [], 0
    for top, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith(".h"):
                n_files += 1
                with open(os.path.join(top, name), encoding="utf-8") as f:
                    problems += check_header(os.path.relpath(os.path.join(top, name), root), f.read())
    print("\n".join(problems + [f"docs: {n_files} headers, {len(problems)} problems"]))
    return 1 if problems or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
