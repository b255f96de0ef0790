# SPDX-License-Identifier: Apache-2.0
"""A server of tools on stdio that behaves as its first argument says; its own words, no library.

LOG in its environment names a file that gets every message it receives.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
MODERN = "2026-07-28"
PNG = "iVBORw0KGgo="
HAS_CHANGED = []


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


NUMBER = {"type": "number"}
READ_ONLY = {"readOnlyHint": True}
TOOLS = [
    {"name": "add", "description": "Add two numbers.\nBoth are needed.", "annotations": READ_ONLY,
     "inputSchema": schema(["a", "b"], a=NUMBER, b={"$ref": "#/$defs/n"}) | {"$defs": {"n": NUMBER}},
     "outputSchema": schema(["sum"], sum=NUMBER)},
    {"name": "echo", "description": "Say it again \x1b[31m\u202e\"\"\" \\", "inputSchema": schema(
        ["from"], **{"from": {"type": "string", "description": "what \"\"\" to say"},
                     "how-often": {"type": "integer", "minimum": 1, "maximum": 3, "default": 1}})},
    {"name": "readFile", "description": "", "annotations": READ_ONLY, "inputSchema": {"type": "object"}},
    {"name": "fail", "annotations": READ_ONLY, "inputSchema": schema()},
    {"name": "picture", "annotations": READ_ONLY, "inputSchema": schema()},
    {"name": "slow", "annotations": READ_ONLY, "inputSchema": schema(n={"type": "integer"})},
    {"name": "environment", "annotations": READ_ONLY, "inputSchema": schema()},
    {"name": "ask", "annotations": READ_ONLY, "inputSchema": {"type": "object"}},
    {"name": "import", "annotations": READ_ONLY, "inputSchema": schema(
        mode={"enum": ["a", "b"]}, deep={"type": "object", "properties": {"k": {"type": ["string", "null"]}}})},
    {"name": "secret_key", "inputSchema": schema()},
    {"name": "no schema here", "inputSchema": schema()},
    {"name": "lies", "inputSchema": "none"},
    {"name": "add", "inputSchema": schema()},
]


if MODE == "closed":
    TOOLS[1]["annotations"] = {"openWorldHint": False, "destructiveHint": False}


if MODE == "prices":
    TOOLS = [{"name": "prices", "description": "Closing prices of a share, the oldest first.", "annotations": READ_ONLY,
              "inputSchema": schema(["ticker"], ticker={"enum": ["ACME", "GLOBEX"]}, days={"type": "integer", "minimum": 2, "maximum": 500}),
              "outputSchema": schema(["closes"], closes={"type": "array", "items": NUMBER})}]


def prices(ticker, days):
    """Made of nothing but the name: whoever knows it can check."""
    r, price, out = random.Random(ticker), 100.0, []
    for _ in range(days):
        price *= 1 + r.uniform(-0.02, 0.021)
        out.append(round(price, 2))
    return out


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    if os.environ.get("LOG"):
        with open(os.environ["LOG"], "a", encoding="utf-8") as f:
            f.write(line)
    return json.loads(line)


def answer(request, result):
    if MODE == "modern":
        result = {"resultType": "complete", **result}
    write({"jsonrpc": "2.0", "id": request["id"], "result": result})


def refuse(request, code, text, **more):
    write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": text, **more}})


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def progress(request, n):
    token = request["params"]["_meta"]["progressToken"]
    write({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": n}})


def slow(request, arguments):
    for i in range(arguments.get("n", 3)):
        time.sleep(0.3)
        progress(request, i)
    return text("done")


def ask(request, _arguments):
    if MODE == "modern":
        given = request["params"].get("inputResponses")
        if given is None:
            return {"resultType": "input_required", "requestState": "täg",
                    "inputRequests": {"k": {"method": "elicitation/create", "params": {"message": "?"}}}}
        return text(json.dumps([given, request["params"].get("requestState")]))
    if MODE == "form":
        fields = {"name": {"type": "string", "title": "Na\x1b[2Jme", "default": "Ann"}, "age": {"type": "integer", "default": 30},
                  "more": {"type": "string"}}
        needed = request["params"]["arguments"].get("needed", [])
        write({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
               "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": fields, "required": needed}}})
        return text(json.dumps(read()["result"]))
    write({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "?"}})
    write({"jsonrpc": "2.0", "id": 0, "method": "sampling/createMessage", "params": {}})
    return text(json.dumps([read(), read()]))


CALLS = {
    "add": lambda _r, a: text("3", structuredContent={"sum": a["a"] + a["b"]}),
    "echo": lambda _r, a: text(a["from"] * a.get("how-often", 1)),
    "prices": lambda _r, a: text("", structuredContent={"closes": prices(a["ticker"], a.get("days", 250))}),
    "readFile": lambda _r, a: text(json.dumps(a)),
    "fail": lambda _r, _a: text("it is broken\x1b[2J", isError=True),
    "picture": lambda _r, _a: {"content": [{"type": "text", "text": "see"},
                                           {"type": "image", "mimeType": "image/png", "data": PNG}]},
    "slow": slow,
    "environment": lambda _r, _a: text(json.dumps(dict(os.environ))),
    "ask": ask,
    "import": lambda _r, a: text(json.dumps(a)),
}


def misbehave(request):
    """What is done instead of an answer to a call."""
    if MODE == "exit-on-call":
        sys.stderr.write("first\nout of \x1b[31mpaper\n")
        sys.exit(7)
    if MODE == "killed-on-call":
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "hang-on-call":
        while True:
            read()
    if MODE == "flood":
        for i in itertools.count():
            progress(request, i)
    if MODE == "questions":
        for i in itertools.count():
            write({"jsonrpc": "2.0", "id": i, "method": "roots/list"})
    if MODE == "huge":
        sys.stdout.write('{"jsonrpc": "2.0", "id": %d, "result": "' % request["id"])
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20))
        sys.stdout.write('"}\n')
        sys.stdout.flush()
    if MODE == "many-parts":
        sys.stdout.write('{"a": [' + "[]," * (3 << 20) + "1]}\n")
        sys.stdout.flush()
    if MODE == "rubbish":
        while True:
            sys.stdout.write("Listening on \x1b[31mport 80\n")
            sys.stdout.flush()
    if MODE == "liar":
        answer(request, text("3", structuredContent={"sum": "three"}))
        return True
    if MODE == "no-content":
        answer(request, {"content": "x"})
        return True
    if MODE == "closed-input":
        os.close(0)
        time.sleep(600)
    if MODE == "closed-output":
        os.close(1)
        time.sleep(600)
    if MODE == "wrong-id":
        write({"jsonrpc": "2.0", "id": 4711, "result": text("no")})
        write({"jsonrpc": "2.0", "id": str(request["id"]), "result": text("no")})
        write([{"jsonrpc": "2.0", "id": None, "result": 1}, 5])
        write(["x"])
    return False


def initialize(request):
    if MODE == "exit":
        sys.stderr.write("no licence\n")
        sys.exit(3)
    if MODE == "hang":
        time.sleep(600)
    if MODE == "early":
        write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        write({"jsonrpc": "2.0", "id": 0, "method": "roots/list"})
        assert read()["result"] == {"roots": []}
    if MODE == "chatter":
        sys.stdout.write("Server started\n\n{}\n[]\n17\n")
    version = "1999-01-01" if MODE == "old" else request["params"]["protocolVersion"]
    answer(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}})


def list_tools(request):
    cursor = request["params"].get("cursor")
    if MODE == "endless":
        answer(request, {"tools": [], "nextCursor": str(request["id"])})
    elif MODE == "changing" and HAS_CHANGED:
        answer(request, {"tools": [{"name": "later", "inputSchema": schema()}]})
    elif MODE == "no-list":
        answer(request, {"tools": {"name": "x"}})
    elif cursor is None:
        answer(request, {"tools": TOOLS[:3], "nextCursor": "page 2"})
    else:
        assert cursor == "page 2", cursor
        answer(request, {"tools": TOOLS[3:]})


def handle(request):
    method = request.get("method")
    if "id" not in request or method is None:
        return
    if method == "initialize" and MODE != "modern":
        initialize(request)
    elif method == "server/discover" and MODE == "modern":
        answer(request, {"supportedVersions": [MODERN], "capabilities": {}})
    elif MODE == "modern" and request["params"].get("_meta", {}).get(
            "io.modelcontextprotocol/protocolVersion") != MODERN:
        refuse(request, -32022, "only 2026-07-28", data={"supported": [MODERN]})
    elif method == "tools/list":
        list_tools(request)
    elif method == "tools/call":
        if not misbehave(request):
            name = request["params"]["name"]
            answer(request, CALLS[name](request, request["params"]["arguments"]))
            if MODE == "changing":
                HAS_CHANGED.append(True)
                write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    else:
        refuse(request, -32601, "Method not found")


if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
    with open(os.environ["PIDS"], "w", encoding="utf-8") as pids:
        pids.write(f"{os.getpid()} {child.pid}")
try:
    while True:
        handle(read())
except (SystemExit, BrokenPipeError):
    if MODE == "stubborn":
        time.sleep(600)
    raise
