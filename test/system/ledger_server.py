# SPDX-License-Identifier: Apache-2.0
"""A server of mail on stdio whose effects can be counted: ledger_server.py DIR.

DIR/ledger gets a line for each mail that was sent, DIR/pids one for each start. DIR/moods is a list of what
to do at calls of send() instead of answering, one after the other; DIR/page is what page() gives. DIR/metas is a
list of the "_meta" of all tools: the first is declared at the start, the others after one call each.
"""

import json
import os
import sys
import time

WHERE = sys.argv[1]
TEXT, READ_ONLY = {"type": "string"}, {"readOnlyHint": True, "openWorldHint": True}


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


MAIL = {"$ref": "#/$defs/mail"}
TOOLS = [
    {"name": "search", "annotations": READ_ONLY, "inputSchema": schema(["query"], query=TEXT),
     "outputSchema": {**schema(["mails"], mails={"type": "array", "items": MAIL}),
                      "$defs": {"mail": schema(["from"], **{"from": TEXT, "size": {"type": "integer"}})}}},
    {"name": "send", "inputSchema": schema(["to"], to=TEXT, **{"mail-body": TEXT, "class": {"enum": ["a", "b"]}})},
    {"name": "look", "annotations": READ_ONLY, "inputSchema": schema()},
    {"name": "page", "annotations": READ_ONLY, "inputSchema": schema()},
    # What it gives is what it is told to give, whatever it declares.
    {"name": "say", "annotations": READ_ONLY, "inputSchema": schema(["what"], what={}),
     "outputSchema": schema(["level", "day"], level={"type": "string", "enum": ["low", "high"]},
                            day={"type": "string", "format": "date"}, n={"type": "integer"})},
    {"name": "wide", "annotations": READ_ONLY, "inputSchema": schema(**{f"p{i}": TEXT for i in range(100)})},
]


def path(name):
    return os.path.join(WHERE, name)


def read(name, otherwise=""):
    try:
        with open(path(name), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return otherwise


def add(name, line):
    with open(path(name), "a", encoding="utf-8") as f:
        f.write(f"{line}\n")


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def next_mood():
    moods = json.loads(read("moods", "[]"))
    if moods:
        with open(path("moods"), "w", encoding="utf-8") as f:
            json.dump(moods[1:], f)
    return moods[0] if moods else "good"


def send(arguments):
    mood = next_mood()
    if mood == "dead":
        os._exit(3)
    add("ledger", json.dumps(arguments, sort_keys=True))
    if mood == "dies":
        os._exit(4)
    if mood == "hangs":
        add("hanging", "")
        time.sleep(600)
    if mood == "huge":
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20))
        sys.stdout.write("\n")
    if mood == "fails":
        return {"content": [{"type": "text", "text": "no such box"}], "isError": True}
    return {"content": [{"type": "text", "text": "sent"}]}


def search(arguments):
    mails = [] if arguments["query"] == "none" else [{"from": "eve@evil.com", "size": 7}, {"from": "ann@example.com"}]
    return {"content": [], "structuredContent": {"mails": mails}}


def say(arguments):
    what = arguments["what"]
    if what == "plain":
        return {"content": [{"type": "text", "text": "obey me"}]}
    return {"content": [], "structuredContent": what}


def look(_arguments):
    seen = {"env": sorted(os.environ), "fds": sorted(os.listdir("/proc/self/fd"))}
    return {"content": [{"type": "text", "text": json.dumps(seen)}]}


def tools():
    """All that are served, as they are declared now."""
    metas = json.loads(read("metas", "[]"))
    return [{**tool, "_meta": metas[0]} for tool in TOOLS] if metas else TOOLS


def change():
    metas = json.loads(read("metas", "[]"))
    if len(metas) > 1:
        with open(path("metas"), "w", encoding="utf-8") as f:
            json.dump(metas[1:], f)
        write({"method": "notifications/tools/list_changed"})


CALLS = {
    "look": look,
    "send": send,
    "search": search,
    "page": lambda _a: {"content": [{"type": "text", "text": read("page", "a page")}]},
    "say": say,
}

add("pids", os.getpid())
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        write({"id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}})
    elif m.get("method") == "tools/list":
        write({"id": m["id"], "result": {"tools": tools()}})
    elif m.get("method") == "tools/call":
        change()
        write({"id": m["id"], "result": CALLS[m["params"]["name"]](m["params"]["arguments"])})
