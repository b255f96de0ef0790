#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients at once, each with a session of its own, mixed work: what fails, what it costs, what is held.

usage: load.py RETORT [--clients 200] [--seconds 600] [--front http|unix] [--restarts N] [--seed N]

Every client checks what it is told: its counter, its files, its branches; no answer but a result or a
declared limit is taken. With --restarts the engine is killed that often meanwhile and started again: clients
come back, and every step that was acknowledged has to be in the journal. Beside the times of a trivial step
stand those of a bare driver (a Python at a pipe, asked by the same client at the same time), for what the
machine itself costs under that load. Ends with 1 when anything was wrong.
"""

import argparse
import asyncio
import collections
import functools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from service import children, rss_bytes  # noqa: E402

TOKEN = "load-0123456789abcdef"
LIMITS = {"limit", "busy", "quota"}  # what an engine may refuse with, and says so
ANSWER_S = 120
LINE_BYTES = 64 << 20
BARE = """
import sys
for line in sys.stdin:
    print(eval(line), flush=True)
"""


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error.get("data", {}).get("code")


class Unix:
    """One JSON message per line."""

    def __init__(self, load):
        self.load = load
        self.reader = self.writer = None
        self.number = 0

    async def connect(self):
        self.reader, self.writer = await asyncio.open_unix_connection(self.load.path, limit=LINE_BYTES)

    async def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.writer.write(json.dumps(message).encode() + b"\n")
        await self.writer.drain()
        line = await self.reader.readline()
        if not line:
            raise ConnectionError("closed")
        return json.loads(line)

    def close(self):
        if self.writer:
            self.writer.close()


class Http(Unix):
    """The same over HTTP/1.1, kept alive."""

    async def connect(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.load.port, limit=LINE_BYTES)

    async def ask(self, method, params):
        self.number += 1
        message = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode()
        self.writer.write(
            f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{self.load.port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(message)}\r\n\r\n".encode() + message)
        await self.writer.drain()
        status = (await self.reader.readline()).split()
        if len(status) < 2:
            raise ConnectionError("closed")
        length = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = await self.reader.readexactly(length)
        try:
            return json.loads(body)
        except ValueError:
            raise AssertionError(f"HTTP {status[1]}: {body[:200]!r}") from None


class Client:
    """Somebody with a session, who knows what has to be in it."""

    def __init__(self, load, number):
        self.load = load
        self.random = random.Random(load.options.seed * 1000 + number)
        self.wire = None
        self.session = None
        self.x = 0
        self.acknowledged = []
        self.past = collections.deque(maxlen=6)  # what was said last, for a problem

    # ---- asking ----

    async def connect(self):
        deadline = time.monotonic() + ANSWER_S
        while True:
            self.wire = self.load.front(self.load)
            try:
                return await self.wire.connect()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)

    async def call(self, method, **params):
        """The result; None when the engine went away before it answered, or refused by a limit."""
        try:
            if not self.wire:
                await self.connect()
            answer = await asyncio.wait_for(self.wire.ask(method, params), ANSWER_S)
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            self.wire.close()
            self.wire = None
            if not self.load.options.restarts:
                self.load.problem(f"{method}: the connection ended: {error!r}")
            self.load.counts["asked again after a restart"] += 1
            return None
        except asyncio.TimeoutError:
            self.load.problem(f"{method}: no answer within {ANSWER_S} s")
            self.wire.close()
            self.wire = None
            return None
        if "error" in answer:
            code = answer["error"].get("data", {}).get("code")
            if code in LIMITS:
                self.load.counts[f"refused: {code}"] += 1
                return None
            if self.load.options.restarts and code in ("gone", "interrupted"):
                self.load.counts[f"refused: {code}"] += 1
                return None
            self.load.problem(f"{method}: {answer['error']}")
            return None
        return answer["result"]

    async def step(self, code, want="ok", session=None, **params):
        begin = time.perf_counter()
        record = await self.call("step.run", session=session or self.session, code=code, **params)
        if record is None:
            return None
        self.load.counts[f"step: {record['status']}"] += 1
        self.past.append((code[:30], record["status"], record["state"], session or ""))
        if record["status"] != want:
            self.load.problem(f"{code!r}: {record['status']} {record.get('error', {}).get('message')} instead of {want}",
                              self.past)
        if session is None and record["state"]["outcome"] not in ("rolled_back", "lost"):
            self.acknowledged.append(record["step"])
        record["took_ms"] = (time.perf_counter() - begin) * 1000
        return record

    def check(self, record, want, what):
        got = record and record.get("value", {}).get("text/plain")
        if record and record["status"] == "ok" and got != str(want):
            self.load.problem(f"{what}: {got} instead of {want}")

    # ---- the work ----

    async def trivial(self):
        record = await self.step("x")
        self.check(record, self.x, "x")
        if record:
            self.load.times["trivial step"].append(record["took_ms"])

    async def change(self):
        record = await self.step("x += 1; x")
        if record is None:
            return await self.learn(self.x, self.x + 1)
        self.x += 1
        self.check(record, self.x, "x += 1")
        return None

    async def learn(self, *possible):
        """An answer that did not come says nothing of whether it was done what was asked for."""
        for _ in range(20):  # until the engine is there again
            record = await self.step("x")
            if record and record["status"] == "ok":
                self.x = int(record["value"]["text/plain"])
                if self.x not in possible:
                    self.load.problem(f"x is {self.x}, and can only be one of {possible}")
                return
            await asyncio.sleep(0.1)

    async def compute(self):
        self.check(await self.step("sum(i * i for i in range(20000))"), 2666466670000, "a sum")

    async def text(self):
        record = await self.step("print('é' * 20000)")
        if record and record["stdout"] != "é" * 20000 + "\n":
            self.load.problem(f"a text of {len(record['stdout'])} characters instead of 20001")

    async def files(self):
        name = f"f{self.random.randrange(5)}"
        text = str(self.random.random())
        if await self.call("file.write", session=self.session, path=name, content=text):
            back = await self.call("file.read", session=self.session, path=name)
            if back and back["content"] != text:
                self.load.problem(f"{name} holds {back['content'][:50]}, not {text}")

    async def error(self):
        await self.step("1 / 0", want="error")

    async def loop(self):
        await self.step("while True: pass", want="timeout", timeout_ms=100)

    async def crash(self):
        await self.step("x = None; import os; os.kill(os.getpid(), 9)", want="killed")

    async def branch(self):
        made = await self.call("session.branch", session=self.session)
        if made:
            self.check(await self.step("x + 1000", session=made["session"]), self.x + 1000, "in a branch")
            await self.call("session.close", session=made["session"])

    async def undo(self):
        if await self.step("x = -1") is None:
            await self.learn(self.x, -1)
        elif await self.call("session.undo", session=self.session) is None:
            await self.learn(self.x, -1)
        else:
            self.acknowledged.pop()

    async def renew(self):
        await self.call("session.close", session=self.session)
        self.session = None

    WORK = ((trivial, 40), (change, 25), (compute, 6), (text, 4), (files, 8), (error, 6), (loop, 1), (crash, 2),
            (branch, 2), (undo, 3), (renew, 1))

    async def begin(self):
        made = await self.call("session.create")
        if made:
            self.session = made["session"]
            self.x, self.acknowledged = 0, []
            if await self.step("x = 0") is None:
                await self.step("x = 0")

    async def run(self, end):
        work, weights = zip(*self.WORK)
        while time.monotonic() < end:
            if not self.session:
                await self.begin()
                if not self.session:
                    await asyncio.sleep(0.1)
                    continue
            await self.random.choices(work, weights)[0](self)
            await asyncio.sleep(self.random.expovariate(1 / 0.2))
        if self.session:
            await self.end()

    async def end(self):
        log = await self.call("session.log", session=self.session, all=True)
        known = {row["step"] for row in log["steps"]} if log else set()
        lost = [step for step in self.acknowledged if step not in known]
        if log and lost:
            self.load.problem(f"{len(lost)} of {len(self.acknowledged)} acknowledged steps are not in the journal")
        await self.trivial()
        await self.call("session.close", session=self.session)
        self.wire.close()


class Load:
    def __init__(self, options, say=functools.partial(print, flush=True)):
        self.options = options
        self.say = say
        self.front = {"unix": Unix, "http": Http}[options.front]
        self.dir = tempfile.mkdtemp(prefix="load-")
        self.path = os.path.join(self.dir, "s")
        self.port = self.free_port()
        self.tokens = os.path.join(self.dir, "tokens")
        with open(os.open(self.tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
            f.write(f"load {TOKEN}\n")
        self.counts = collections.Counter()
        self.times = collections.defaultdict(list)
        self.problems = collections.Counter()
        self.peak = collections.Counter()
        self.process = None

    @staticmethod
    def free_port():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def problem(self, text, past=()):
        if not self.problems[text]:
            self.say(f"problem: {text}")
            for one in past:
                self.say(f"  before: {one}")
        self.problems[text] += 1

    # ---- the engine ----

    def start(self):
        argv = [self.options.retort, "serve", "--socket", self.path, "--state", os.path.join(self.dir, "state"), "--quiet", "--log", "none"]
        if self.options.front == "http":
            argv += ["--listen", f"127.0.0.1:{self.port}", "--token-file", self.tokens]
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def holdings(self):
        pid = self.process.pid
        try:
            wardens = children(pid)
            return {"engine fds": len(os.listdir(f"/proc/{pid}/fd")), "engine MiB": rss_bytes(pid) >> 20,
                    "warden MiB": sum(rss_bytes(w) for w in wardens) >> 20}
        except OSError:
            return {}

    async def watch(self, end):
        while time.monotonic() < end:
            for name, value in self.holdings().items():
                self.peak[name] = max(self.peak[name], value)
            if self.process.poll() is not None and not self.options.restarts:
                self.problem(f"the engine ended: {self.process.returncode}")
                return
            await asyncio.sleep(1)

    async def restart(self, end):
        pause = (end - time.monotonic()) / (self.options.restarts + 1)
        for _ in range(self.options.restarts):
            await asyncio.sleep(pause)
            self.process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(self.process.wait)
            self.counts["engine killed"] += 1
            self.start()

    async def bare(self, end):
        """A Python at a pipe, asked now and then by this very client."""
        process = await asyncio.create_subprocess_exec(
            "/usr/bin/python3", "-u", "-c", BARE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        while time.monotonic() < end:
            begin = time.perf_counter()
            process.stdin.write(b"1 + 1\n")
            await process.stdout.readline()
            self.times["bare driver"].append((time.perf_counter() - begin) * 1000)
            await asyncio.sleep(0.1)
        process.stdin.close()
        await process.wait()

    # ---- all of it ----

    async def work(self):
        end = time.monotonic() + self.options.seconds
        jobs = [Client(self, i).run(end) for i in range(self.options.clients)]
        jobs += [self.watch(end), self.bare(end)]
        if self.options.restarts:
            jobs.append(self.restart(end))
        for done in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(done, BaseException):
                self.problem(f"a client ended with {done!r}")

    def run(self):
        self.start()
        first = self.settle()
        asyncio.run(self.work())
        self.report(first, self.settle())
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        if status != 0:
            self.problem(f"the engine ended with {status}")
        if self.problems:
            self.say(f"what the engine said is in {self.dir}/log")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        self.say("verdict: " + ("FAILED" if self.problems else "passed"))
        return 1 if self.problems else 0

    def settle(self):
        time.sleep(3)
        return self.holdings()

    def report(self, first, last):
        for name in sorted(self.counts):
            self.say(f"  {name}: {self.counts[name]}")
        seconds = self.options.seconds
        n_steps = sum(n for name, n in self.counts.items() if name.startswith("step: "))
        self.say(f"  steps per second: {n_steps / seconds:.1f}, {self.options.clients} clients, {seconds} s")
        for name, times in self.times.items():
            times.sort()
            at = {p: times[min(len(times) - 1, int(len(times) * p / 100))] for p in (50, 95, 99)}
            self.say(f"  {name}: " + ", ".join(f"p{p} {t:.2f} ms" for p, t in at.items()) + f", n {len(times)}")
        for name in first:
            self.say(f"  {name}: {first[name]} before, {self.peak[name]} at most, {last.get(name)} after")


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("retort")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--front", choices=("http", "unix"), default="http")
    parser.add_argument("--restarts", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(Load(parse()).run())
