# SPDX-License-Identifier: Apache-2.0
"""What docs/inside/tokens.md says of tools and code is what a run gives: every task in both ways, counted anew."""

import json
import os
import re
import subprocess
import sys

import interop

BENCH = os.path.join(interop.ROOT, "test", "bench", "tokens.py")
TABLE = os.path.join(interop.ROOT, "docs", "inside", "tokens.md")
# Sizes of what a step says of itself differ a little from run to run.
NEAR = 0.03


def numbers(cells):
    return [int(re.sub(r"\D", "", cell)) for cell in cells]


def documented():
    """{task: ([definitions, results, written, all] of calls, the same of code)}"""
    with open(TABLE, encoding="utf-8") as f:
        lines = [line.strip("| \n").split("|") for line in f if line.startswith("|")]
    found, task = {}, None
    for cells in ([cell.strip() for cell in line] for line in lines):
        if len(cells) >= 6 and cells[1] == "calls":
            task = cells[0]
            found[task] = [numbers(cells[2:6])]
        elif task and cells[:1] == ["code"]:
            found[task].append(numbers(cells[1:5]))
    return found


class Tokens(interop.Case):
    def test_the_table_is_what_a_run_gives(self):
        done = subprocess.run([sys.executable, BENCH, interop.harness.RETORT, "--json"], capture_output=True, encoding="utf-8",
                              env=interop.environment(), cwd=interop.harness.make_dir(), timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows, table = json.loads(done.stdout), documented()
        self.assertEqual({row["task"] for row in rows}, set(table))
        saved = {}
        for row in rows:
            saved[row["task"]] = 1 - row["code"]["o200k_base"]["all"] / row["direct"]["o200k_base"]["all"]
            for way, written in zip(("direct", "code"), table[row["task"]]):
                counted = [row[way]["o200k_base"][part] for part in ("definitions", "results", "written", "all")]
                for n, m in zip(counted, written):
                    with self.subTest(task=row["task"], way=way):
                        self.assertLessEqual(abs(n - m), max(NEAR * m, 5), f"{counted}, and the table has {written}")
        # What the text says of it.
        self.assertGreaterEqual(sum(s > 0.75 for s in saved.values()), 6)
        self.assertGreaterEqual(sum(0 < s < 0.75 for s in saved.values()), 1)
        self.assertGreaterEqual(sum(s < 0 for s in saved.values()), 2)


if __name__ == "__main__":
    interop.harness.main()
