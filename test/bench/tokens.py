#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Count the tokens that a task costs a model: by calling tools, and by code in a box that calls them.

usage: tokens.py RETORT [--write FILE] [--json] [-k PART]

Both ways are driven by a scripted model (token_tasks.py) over the MCP reference servers everything, filesystem and
memory. Called directly, the definitions of all tools, each call and each result pass through the model's context; what
is sent is as Chat Completions has it. By code, it is what `retort agent` sends, taken from its model: a program here.
--write puts the tables into FILE between its marks. The packages are those of test/interop/install; where they cannot
be had, that is said, and the status is 77.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from token_tasks import TASKS

HERE = os.path.dirname(os.path.abspath(__file__))
INSTALL = os.path.join(os.path.dirname(HERE), "interop", "install")
NOT_HERE, TIMEOUT_S = 77, 120
LEGACY = "2025-11-25"
# Anthropic's tokenizer is not public: characters of English and JSON for a token, about.
ESTIMATE = 3.5
MARKS = "<!-- tokens: begin -->", "<!-- tokens: end -->"
PACKAGES = {"files": "filesystem", "memory": "memory", "everything": "everything"}

# What a model is sent in one request, and what it then writes; texts.
Exchange = collections.namedtuple("Exchange", "definitions messages written")
# All of a task in one way: what was said, once, and what all requests together had.
Way = collections.namedtuple("Way", "definitions results written read requests answer")


# ---- servers ------------------------------------------------------------------------------------


def configuration(task, modules, root):
    """Of the task's servers, as --tools takes it."""
    argv = {"files": [root], "memory": [], "everything": ["stdio"]}
    servers = {}
    for name in task.servers:
        path = os.path.join(modules, "@modelcontextprotocol", f"server-{PACKAGES[name]}", "dist", "index.js")
        servers[name] = {"command": "node", "args": [path, *argv[name]], "env": {"MEMORY_FILE_PATH": f"{root}/memory.jsonl"},
                         "approve": ["*"], "approveTainted": ["*"], **({"allow": list(task.only)} if task.only else {})}
    return {"mcpServers": servers}


class Server:
    """One on stdio, spoken to without retort."""

    def __init__(self, name, config, only):
        self.name = name
        self.process = subprocess.Popen([config["command"], *config["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env={**os.environ, **config["env"]}, encoding="utf-8")
        self.n = 0
        self.ask("initialize", protocolVersion=LEGACY, capabilities={}, clientInfo={"name": "bench", "version": "0"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = [t for t in self.ask("tools/list")["tools"] if not only or t["name"] in only]

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.n += 1
        self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.n and "method" not in message:
                return message["result"]
        raise RuntimeError(f"{self.name} has ended")

    def call(self, tool, arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        if result.get("isError"):
            raise RuntimeError(f"{self.name}.{tool}: {text}")
        return text

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.terminate()
        self.process.wait(10)


# ---- the two ways -------------------------------------------------------------------------------


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def definition(server, tool):
    return {"type": "function", "function": {"name": f"{server}__{tool['name']}", "description": tool.get("description", ""),
                                             "parameters": tool["inputSchema"]}}


def by_calls(task, config, root):
    """Exchanges and answer of a model that calls tools."""
    servers = {name: Server(name, c, task.only) for name, c in config["mcpServers"].items()}
    definitions = compact([definition(name, t) for name, s in servers.items() for t in s.tools])
    messages, exchanges = [task.what.format(root=root)], []

    def turn(*calls):
        written = compact([{"name": name.replace(".", "__"), "arguments": arguments} for name, arguments in calls])
        exchanges.append(Exchange(definitions, list(messages), written))
        results = [servers[name.split(".")[0]].call(name.split(".")[1], arguments) for name, arguments in calls]
        messages.append(written)
        messages.extend(results)
        return results

    try:
        answer = task.direct(turn, root)
    finally:
        for server in servers.values():
            server.close()
    exchanges.append(Exchange(definitions, list(messages), answer))
    return exchanges, answer


def said(message):
    return "\n".join(part["text"] for part in message["content"] if part["type"] == "text")


def by_code(task, config, root, retort):
    """Exchanges and answer of a model that writes code for `retort agent`."""
    play = tempfile.mkdtemp(prefix="tokens-play-")
    steps = [f"I take the next step.\n```python\n{step}\n```\n" if step else f"The writer asks {task.answer}." for step in task.code(root)]
    for name, value in (("tools.json", config), ("steps.json", steps)):
        with open(os.path.join(play, name), "w", encoding="utf-8") as f:
            json.dump(value, f)
    model = f"exec:exec {sys.executable} {os.path.abspath(__file__)} --play {play}"
    try:
        done = subprocess.run([retort, "agent", "-M", model, "--tools", f"{play}/tools.json", "--json", "--", task.what.format(root=root)],
                              capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{task.name}: {done.stderr}{done.stdout}")
        exchanges = []
        for i in range(len(os.listdir(play)) - 2):
            with open(f"{play}/asked-{i}.json", encoding="utf-8") as f:
                system, *rest = [said(m) for m in json.load(f)["messages"]]
            exchanges.append(Exchange(system, rest, steps[i]))
        return exchanges, json.loads(done.stdout)["answer"]
    finally:
        shutil.rmtree(play)


def play_model(play):
    """Be the model: write down what was asked, and say the next step."""
    asked = json.load(sys.stdin)
    i = sum(m["role"] == "assistant" for m in asked["messages"])
    with open(f"{play}/asked-{i}.json", "w", encoding="utf-8") as f:
        json.dump(asked, f)
    with open(f"{play}/steps.json", encoding="utf-8") as f:
        print(json.load(f)[i])


def same_everywhere(text, root):
    """Without what differs from run to run: the place, and how long things took."""
    return re.sub(r"\b\d+(\.\d+)? ?(ms|s)\b", "12 ms", text.replace(root, "/data"))


def sum_up(exchanges, answer, root):
    """What a way had, as lists of texts by the names of Way."""
    clean = [Exchange(same_everywhere(e.definitions, root), [same_everywhere(m, root) for m in e.messages],
                      same_everywhere(e.written, root)) for e in exchanges]
    written = [e.written for e in clean]
    # The task is the same in both; what else was not written by the model was told to it.
    results = [m for m in clean[-1].messages[1:] if m not in written and m.rstrip("\n") not in [w.rstrip("\n") for w in written]]
    read = [text for e in clean for text in (e.definitions, *e.messages)]
    return Way([clean[0].definitions], results, written, read, len(clean), answer)


# ---- counting -----------------------------------------------------------------------------------


def install():
    done = subprocess.run([INSTALL], capture_output=True, text=True, check=False)
    if done.returncode == NOT_HERE:
        print(f"tokens.py: {done.stderr.strip()}", file=sys.stderr)
        raise SystemExit(NOT_HERE)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return os.path.join(done.stdout.strip(), "node_modules")


def tokenize(texts, modules):
    """{text: {tokenizer: tokens}}"""
    texts = sorted(set(texts))
    with tempfile.TemporaryDirectory(prefix="tokens-count-") as where:
        # A module for node finds packages from the file upward.
        shutil.copy(os.path.join(HERE, "count.mjs"), where)
        os.symlink(modules, os.path.join(where, "node_modules"))
        done = subprocess.run(["node", os.path.join(where, "count.mjs")], input=json.dumps(texts), capture_output=True,
                              encoding="utf-8", check=True)
    counts = json.loads(done.stdout)
    counts["estimate"] = [round(len(text) / ESTIMATE) for text in texts]
    return {text: {name: counts[name][i] for name in counts} for i, text in enumerate(texts)}


def measure(tasks, retort, modules):
    """[(task, direct, code)], texts still."""
    rows = []
    for task in tasks:
        ways = []
        for way in ("direct", "code"):
            root = tempfile.mkdtemp(prefix="tokens-")
            try:
                task.answer = task.prepare(root)
                config = configuration(task, modules, root)
                exchanges, answer = by_calls(task, config, root) if way == "direct" else by_code(task, config, root, retort)
                if task.answer not in answer:
                    raise RuntimeError(f"{task.name}, {way}: {answer}, not {task.answer}")
                ways.append(sum_up(exchanges, answer, root))
            finally:
                shutil.rmtree(root)
        rows.append((task, *ways))
    return rows


def count(rows, modules):
    """[{"task", "direct": {tokenizer: {…}}, "code": {…}}]"""
    tokens = tokenize([text for _, *ways in rows for way in ways for part in way[:4] for text in part], modules)
    out = []
    for task, *ways in rows:
        row = {"task": task.name}
        for name, way in zip(("direct", "code"), ways):
            row[name] = {"requests": way.requests}
            for kind in ("o200k_base", "cl100k_base", "estimate"):
                parts = {p: sum(tokens[text][kind] for text in getattr(way, p)) for p in ("definitions", "results", "written", "read")}
                row[name][kind] = {**parts, "all": parts["definitions"] + parts["results"] + parts["written"]}
        out.append(row)
    return out


# ---- what is shown ------------------------------------------------------------------------------


def saved(row, kind, what):
    return 100 * (1 - row["code"][kind][what] / row["direct"][kind][what])


def signed(percent):
    return f"{percent:.0f} %" if round(percent) >= 0 else f"**\N{MINUS SIGN}{-percent:.0f} %**"


def tables(rows):
    lines = ["| task | way | definitions | results | written | all | saved | requests | read in all | saved |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        for way, label in (("direct", "calls"), ("code", "code")):
            n = row[way]["o200k_base"]
            is_code = way == "code"
            cells = [row["task"] if not is_code else "", label, *[f"{n[p]:,}" for p in ("definitions", "results", "written", "all")],
                     signed(saved(row, "o200k_base", "all")) if is_code else "", str(row[way]["requests"]), f"{n['read']:,}",
                     signed(saved(row, "o200k_base", "read")) if is_code else ""]
            lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "The same with other counting rules, for definitions, results and written tokens together:", "",
              "| task | o200k: calls | code | saved | cl100k: calls | code | saved | estimate: calls | code | saved |",
              "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        cells = [row["task"]]
        for kind in ("o200k_base", "cl100k_base", "estimate"):
            about = "\N{ALMOST EQUAL TO} " if kind == "estimate" else ""
            cells += [*[f"{about}{row[way][kind]['all']:,}" for way in ("direct", "code")], signed(saved(row, kind, "all"))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, encoding="utf-8") as f:
        whole = f.read()
    begin, end = (whole.index(mark) for mark in MARKS)
    with open(path, "w", encoding="utf-8") as f:
        f.write(whole[:begin] + MARKS[0] + "\n" + text + whole[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("retort", nargs="?")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-k", metavar="PART", default="", help="tasks whose names have PART")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.play:
        play_model(args.play)
        return
    if not args.retort:
        parser.error("RETORT is missing")
    modules = install()
    rows = count(measure([t for t in TASKS if args.k in t.name], os.path.abspath(args.retort), modules), modules)
    if args.write:
        write(args.write, tables(rows))
    print(json.dumps(rows, indent=1) if args.json else tables(rows), end="")


if __name__ == "__main__":
    main()
