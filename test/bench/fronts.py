#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a trivial step costs over each front of the engine, beside a Jupyter kernel and a bare pipe loop.

usage: fronts.py RETORT [--rounds N]

One client that asks again as soon as it has its answer; then eight at once, each with a session of its own.
Every client is this Python: what it costs is in the row of the pipe loop. Rows take turns, in rounds.
"""

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import peers
from service import Client, calibration, clock_ms, median, p95

STEPS = 50  # of one round
MANY = 8
CODE = "1 + 1"
TOKEN = "bench-0123456789abcdef"
MCP = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Engine:
    def __init__(self, retort):
        self.home = tempfile.TemporaryDirectory(prefix="fronts-")
        self.path = os.path.join(self.home.name, "s")
        tokens = os.path.join(self.home.name, "tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
            f.write(f"bench {TOKEN}\n")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            [retort, "serve", "--quiet", "--log", "none", "--socket", self.path, "--state", self.home.name + "/state",
             "--listen", f"127.0.0.1:{self.port}", "--token-file", tokens])
        while True:
            try:
                Client(self.path)
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("retort serve has ended") from None
                time.sleep(0.01)

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        self.home.cleanup()


class Unix:
    name = "JSON-RPC, unix socket"

    def __init__(self, engine, _):
        self.client = Client(engine.path)
        self.session = self.client.create()

    def run(self):
        return self.client.run(self.session, CODE)[0]

    def close(self):
        self.client.close(self.session)


class Http:
    name = "JSON-RPC, HTTP kept alive"
    path = "/rpc"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}

    def __init__(self, engine, _):
        self.http = http.client.HTTPConnection("127.0.0.1", engine.port)
        self.begin()

    def begin(self):
        self.session = self.ask("session.create", {})["session"]

    def ask(self, method, params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.http.request("POST", self.path, body, self.headers)
        answer = json.loads(self.http.getresponse().read())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def run(self):
        start = clock_ms()
        self.ask("step.run", {"session": self.session, "code": CODE})
        return clock_ms() - start

    def close(self):
        self.ask("session.close", {"session": self.session})


class McpHttp(Http):
    name = "MCP, HTTP kept alive"
    path = "/mcp"
    headers = {**Http.headers, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
               "Mcp-Method": "tools/call", "Mcp-Name": "run_code"}

    def begin(self):
        self.session = f"bench-{id(self)}"
        self.run()

    def run(self):
        start = clock_ms()
        result = self.ask("tools/call", {"_meta": MCP, "name": "run_code", "arguments": {
            "code": CODE, "session": self.session}})
        took = clock_ms() - start
        if result.get("isError"):
            raise RuntimeError(result["content"])
        return took

    def close(self):
        self.http.close()


class McpStdio:
    name = "MCP, standard input and output"

    def __init__(self, _, retort):
        self.process = subprocess.Popen([retort, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.out = self.process.stdout
        self.run()

    def run(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"_meta": MCP, "name": "run_code", "arguments": {"code": CODE}}}
        start = clock_ms()
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.out.fileno(), 1 << 20)
        answer = json.loads(line)
        took = clock_ms() - start
        if answer["result"].get("isError"):
            raise RuntimeError(answer)
        return took

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


class Kernel:
    name = "ipykernel, jupyter_client"

    def __init__(self, *_):
        self.kernel = peers.Kernel()

    def run(self):
        return self.kernel.run(CODE)

    def close(self):
        self.kernel.close()


class Pipe:
    name = "a pipe loop: no sandbox, no state kept"

    def __init__(self, *_):
        self.loop = peers.PipeLoop()

    def run(self):
        return self.loop.run(CODE)

    def close(self):
        self.loop.close()


def one(kinds, engine, retort, rounds):
    """Times of single steps by kind, the kinds taking turns."""
    clients = [kind(engine, retort) for kind in kinds]
    times = {kind.name: [] for kind in kinds}
    for _ in range(rounds):
        for client in clients:
            times[client.name] += [client.run() for _ in range(STEPS)]
    for client in clients:
        client.close()
    return times


def many(kind, engine, retort):
    """Steps per second of MANY clients, in all."""
    clients = [kind(engine, retort) for _ in range(MANY)]
    work = [threading.Thread(target=lambda c=c: [c.run() for _ in range(STEPS)]) for c in clients]
    start = clock_ms()
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    took = clock_ms() - start
    for client in clients:
        client.close()
    return MANY * STEPS * 1000 / took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    engine = Engine(retort)
    kinds = [Pipe, Unix, Http, McpHttp, McpStdio] + ([Kernel] if peers.kernel_is_here() else [])
    print(f"a trivial step; load {os.getloadavg()[0]:.2f}, bare python {calibration():.1f} ms")
    times = one(kinds, engine, retort, args.rounds)
    last = median(times[kinds[-1].name])
    print(f"  {'':42} {'median ms':>9} {'p95 ms':>8} {'per s':>7} {'ratio':>6} {f'{MANY} clients, per s':>20}")
    for kind in kinds:
        rates = sorted(many(kind, engine, retort) for _ in range(3)) if kind is not Kernel else []
        ms = median(times[kind.name])
        rate = f"{rates[1]:20.0f}" if rates else ""
        print(f"  {kind.name:42} {ms:9.3f} {p95(times[kind.name]):8.3f} {1000 / ms:7.0f} {last / ms:6.2f} {rate}", flush=True)
    print(f"  ratio: how many times as fast as {kinds[-1].name}; bare python {calibration():.1f} ms")
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
