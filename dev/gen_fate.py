#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the table of docs/use/processes.md from src/session/fate.def.

usage: dev/gen_fate.py [--check]     --check: say whether the page is current, and change nothing
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "src", "session", "fate.def")
PAGE = os.path.join(ROOT, "docs", "use", "processes.md")
PART = re.compile(r"(<!-- fate -->\n).*?(<!-- /fate -->)", re.S)


def rows(text):
    """The rows (id, event, by a step, by a call)."""
    for row in re.findall(r"^FATE\((.*?)\)\s*(?=^FATE|\Z)", text, re.S | re.M):
        name, rest = row.split(",", 1)
        # Adjacent literals are one text, as in C.
        texts = [t for t in re.split(r'"\s*,\s*"', rest.strip())]
        cells = [re.sub(r'"\s*"', "", t).strip('"') for t in texts]
        if len(cells) != 3:
            raise SystemExit(f"gen_fate: not understood: {name}")
        yield [name, *cells]


def main():
    with open(TABLE, encoding="utf-8") as file:
        table = list(rows(file.read()))
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    lines = ["| event | a process that a step left running | a process that `process.start` started |",
             "|---|---|---|"]
    lines += [f"| {event} | {step} | {call} |" for _, event, step, call in table]
    new = PART.sub(lambda m: m.group(1) + "\n".join(lines) + "\n" + m.group(2), page)
    if "--check" in sys.argv:
        if new != page:
            raise SystemExit("docs/use/processes.md is not current: run dev/gen_fate.py")
        return
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(new)


if __name__ == "__main__":
    main()
