#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference/api.md from the table of operations, as `retort help --api` prints it.

usage: dev/gen_api.py [--check]     --check: say whether the file is current, and change nothing
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RETORT = os.environ.get("RETORT") or os.path.join(ROOT, "build/retort")
PAGE = os.path.join(ROOT, "docs/reference/api.md")

HEAD = """<!-- Written by dev/gen_api.py from the rows in src/api/call/call_*.c: change those, then run it. -->
# Operations

Everything that an engine does is an operation of this table. [`retort serve`](../use/sessions.md#the-socket) accepts them as JSON-RPC 2.0,
one message per line, on its unix socket, and [over HTTP](../operate/serve.md); `retort session` and the other front ends call the same. `engine.operations`
returns this table as JSON, schemas included.

```json
{"jsonrpc": "2.0", "id": 1, "method": "step.run", "params": {"session": "demo", "code": "6 * 7"}}
```

Parameters are given by name. An unknown or missing parameter, or one of the wrong type, is refused and named; null
counts as not given. Sizes are bytes, times are milliseconds. Errors have a number, a sentence, and in `data` a
`code` that never changes ([errors.md](errors.md)) and often a `hint`.

Every result has a *label* that says who wrote its contents:

| label | meaning |
|---|---|
| `engine` | Only retort's own data: ids, times, counts. |
| `caller` | It also contains what callers wrote, such as names and code. |
| `program` | It also contains what programs in boxes wrote or made: untrusted. |

A caller need not wait for a long step: with `wait_ms`, `step.run` answers after that time with a record whose
`status` is `running`, and `step.get` waits on. If a client disconnects while it waits for a step, the step is interrupted,
unless the client set `detach`. A step that was answered as running continues.

With `"stream": true`, `step.run` sends notifications before its answer:
`{"method": "event", "params": {"id": 1, "event": "stdout", "text": "…"}}`. The events are:

| event | meaning |
|---|---|
| `queued` | The step waits; `run` is its id, `behind` the run it waits for. `"waiting": "stdin"` when that run waits for input; sent again when it starts to. |
| `rebuilding` | The session's state is being rebuilt by running its steps, for example after a restart of the engine: `step` and `of`. `session.undo` sends it, too. |
| `step.started` | The step runs; with `session` and `run`. |
| `stdout`, `stderr`, `display` | Output. A `display` with `display_id` has a name; with `update` it takes the place of the display of that name. |
| `clear` | The program asks to clear what was shown; with `wait` only before the next output. |
| `stdin` | The program waits for the input of `step.input`; with `run`. |
| `network` | A program has asked the network for something new: a row of the record's `network`. |
| `tool.approval` | With `approvals`, a call or connection waits for `tool.approve`: a row of the record's `approvals`, with `run` and `state`: `asked`, then `allowed` or `refused`. |

With `"stream": true`, `process.attach` sends the output of a program ([processes.md](../use/processes.md#output)). On the
unix socket, `"raw": true` makes that several times faster: the event has `"encoding": "raw"` and `"bytes": N` in place of
`data`, and the N bytes of output, at most 65,536, follow the newline of its line. The next message begins behind them.
Elsewhere `raw` has no effect.

`{"method": "$/cancel", "params": {"id": 1}}` cancels a call.

Answers in the examples are shortened, and ids are made up.
"""


def kind(schema):
    """The type as people call it."""
    what = schema.get("type", "any JSON")
    if isinstance(what, list):
        return f"{what[0]} or null"
    if what == "array":
        return f"array of {schema['items']['type']}s"
    if what == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "object of strings"
    return what


def value_range(schema):
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None:
        return f"{low:g} to {high:g}" if isinstance(low, float) else f"{low} to {high}"
    return f"from {low}" if low else ""


def rows(schema, bounds, prefix=""):
    """(path, schema, required, bound) of every member, those of objects after it."""
    for name, row in schema.get("properties", {}).items():
        path = prefix + name
        yield path, row, name in schema.get("required", []), bounds.get(path) or value_range(row)
        inner = row.get("items", row)
        if "properties" in inner:
            yield from rows(inner, bounds, path + ("[]." if "items" in row else "."))


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def meaning(row):
    text = row["description"]
    if "enum" in row:
        text += ": " + ", ".join(f"`{word}`" for word in row["enum"])
    return text


def parameters(op):
    out = ["| parameter | type | default | bounds | |", "|---|---|---|---|---|"]
    for path, row, is_required, bound in rows(op["params"], op["bounds"]):
        default = f"`{json.dumps(row['default'])}`" if "default" in row else ""
        name = f"**`{path}`**" if is_required else f"`{path}`"
        out.append(f"| {name} | {kind(row)} | {default} | {bound} | {cell(meaning(row))} |")
    return out if len(out) > 2 else ["It takes no parameters."]


def result(op):
    out = ["| result | type | |", "|---|---|---|"]
    for path, row, is_required, _ in rows(op["result"], {}):
        name = f"`{path}`" if is_required else f"`{path}`?"
        out.append(f"| {name} | {kind(row)} | {cell(meaning(row))} |")
    return out if len(out) > 2 else ["The result is `{}`."]


def section(op):
    out = [f"## {op['name']}", "", op["summary"] + "." + (f" {op['limits']}" if "limits" in op else "")]
    out += ["", *parameters(op), "", *result(op), ""]
    events = " It sends events." if op["events"] else ""
    out.append(f"Label: `{op['label']}`.{events} Errors: " + ", ".join(f"`{e}`" for e in op["errors"]) + ".")
    out += ["", "```json", json.dumps({"method": op["name"], "params": op["example"]}, ensure_ascii=False)]
    out += [json.dumps({"result": op["answer"]}, ensure_ascii=False), "```", ""]
    return out


def page():
    table = json.loads(subprocess.run([RETORT, "help", "--api"], check=True, capture_output=True).stdout)
    out = [HEAD]
    for op in table["operations"]:
        out += section(op)
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    want = page()
    if sys.argv[1:] == ["--check"]:
        with open(PAGE, encoding="utf-8") as f:
            if f.read() == want:
                return 0
        print("gen_api: docs/reference/api.md is not current: run dev/gen_api.py", file=sys.stderr)
        return 1
    if sys.argv[1:]:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(want)
    return 0


if __name__ == "__main__":
    sys.exit(main())
