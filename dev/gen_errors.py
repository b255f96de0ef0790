#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference/errors.md from src/base/err.def.

usage: dev/gen_errors.py [--check]     --check: say whether the file is current, and change nothing
"""

import errno
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROW = re.compile(r'^X\((ERR_\w+), "(\w+)", (\w+), (\d+), (-?\d+), (\d+), "((?:[^"\\]|\\.)*)"\)$')

HEAD = """<!-- Written by dev/gen_errors.py from src/base/err.def: change that table, then run it. -->
# Errors of retort

An error of retort itself is one line on stderr, `retort: what: which value: what to do`. With `--json` it is
printed on stdout as `{"error": {"code", "message", "hint"}}`, where `code` is a word of this table. The codes
never change; messages and hints may.

| code | exit status | meaning | in the source | errno | HTTP | JSON-RPC |
|---|---|---|---|---|---|---|
"""

TAIL = """
`retort serve` answers with the JSON-RPC number; `data` has `code` and `hint`. Over HTTP the status is then
200; errors before an operation is called are in [serve.md](../operate/serve.md#statuses).

An error of the *program* is not in this table: it is part of the record (`status`, `error.name`, `error.message`), and
`retort run` exits with the status of the program. retort itself uses these names in `error.name`:

| name | status | exit status | when |
|---|---|---|---|
| `TimeLimit` | `timeout` | 124 | the wall time or the CPU time of the step is used up |
| `MemoryLimit` | `oom` | 137 | the box needed more memory than its limit |
| `ProcessLimit` | `killed` | 137 | the box had more processes than its limit, if only the engine counts them |
| `Killed` | `killed` | 128 + signal | a signal ended the driver, and no limit was the cause |
| `Exit` | `error` | the program's | the program ended its process itself, with a status that is not 0 |
| `Interrupted` | `killed` | 130 | retort got SIGINT or SIGTERM, or somebody stopped the step of a session |
| `ProtocolError` | `killed` | 125 | the driver sent an invalid frame |
| `BoxGone` | `killed` | that of its cause, otherwise 125 | the box ended before the step |
"""


def rows(text):
    """The table's rows; a row that is not understood is an error, not left out."""
    for line in text.splitlines():
        if line.startswith("X("):
            match = ROW.match(line)
            if not match:
                raise SystemExit(f"gen_errors: not understood: {line}")
            yield match.groups()


def page(text):
    out = [HEAD.rstrip("\n")]
    for symbol, word, sys_name, http, rpc, status, meaning in rows(text):
        if symbol == "ERR_NONE":
            continue
        assert hasattr(errno, sys_name), sys_name
        meaning = meaning.replace("|", "\\|")
        out.append(f"| `{word}` | {status} | {meaning} | `{symbol}` | {sys_name} | {http} | {rpc} |")
    return "\n".join(out) + "\n" + TAIL


def main():
    with open(os.path.join(ROOT, "src/base/err.def"), encoding="utf-8") as f:
        want = page(f.read())
    path = os.path.join(ROOT, "docs/reference/errors.md")
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="utf-8") as f:
            if f.read() == want:
                return 0
        print("gen_errors: docs/reference/errors.md is not current: run dev/gen_errors.py", file=sys.stderr)
        return 1
    if sys.argv[1:]:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    with open(path, "w", encoding="utf-8") as f:
        f.write(want)
    return 0


if __name__ == "__main__":
    sys.exit(main())
