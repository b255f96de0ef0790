#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a network by rules costs: the start of a box that has one, and what goes through the gateway.

usage: network.py RETORT [--rounds N] [--mib N] [--only NAME,…]

Rows take turns, in rounds, and a ratio is taken within its round:
  start    `retort run`, a new session and a branch, each to the first result, with a rule and without
  connect  connect, send a byte, take it back, close: on the host, within the box, through the gateway; also with the name
           looked up each time
  request  GET of a few bytes on a connection that stays
  stream   N MiB down and up, also through a relay that does nothing else: a Python with blocking sockets
  idle     500 connections each of two boxes that have passed a byte: time, the gateway's memory, the kernel's
The client is the same Python program on the host and in the box; the server is on the host.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

from bench import compare, machine, memory_kib, wall_ms
from processes import PYTHON, table
from service import Engine, calibration, children, median, save

CONNECTS = 200  # of one round
REQUESTS = 200
IDLE = 500  # of one box, which has at most 512
NAME = "bench.test"
PORTS = {"byte": 25, "keep": 79, "http": 80, "stream": 5432}  # in the box

SERVER = r"""
import socket, sys, threading
BIG = bytearray(1 << 18)
def byte(c):
    c.sendall(c.recv(1))
    c.close()
def keep(c):
    c.sendall(c.recv(1))
    kept.append(c)
def http(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while c.recv(4096):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    c.close()
def stream(c):
    way, mib = c.recv(16, socket.MSG_WAITALL).split()
    left = int(mib) << 20
    while left and way == b"down":
        left -= c.send(BIG[:left] if left < len(BIG) else BIG)
    while left and way == b"up":
        left -= c.recv_into(BIG)
    c.sendall(b".")
    c.close()
def copy(a, b):
    buffer = bytearray(1 << 18)
    while n := a.recv_into(buffer):
        b.sendall(memoryview(buffer)[:n])
    b.shutdown(socket.SHUT_WR)
def relay(c):
    to = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
    for ends in (c, to), (to, c):
        threading.Thread(target=copy, args=ends, daemon=True).start()
kept, go = [], globals()[sys.argv[1]]
s = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=1024)
print(s.getsockname()[1], flush=True)
while True:
    go(s.accept()[0])
"""
CLIENT = r"""
import json, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
def find(host, port):
    return socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
def byte(host, port, n, looks_up):
    at, took = find(host, port), []
    for _ in range(n):
        start = time.perf_counter()
        if looks_up:
            at = find(host, port)
        with socket.socket() as c:
            c.connect(at)
            c.sendall(b"\0")
            c.recv(1)
        took.append((time.perf_counter() - start) * 1000)
    return took
def http(host, port, n):
    took, question = [], b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode()
    with socket.create_connection((host, port)) as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(n):
            start = time.perf_counter()
            c.sendall(question)
            c.recv(4096)
            took.append((time.perf_counter() - start) * 1000)
    return took
def stream(host, port, way, mib):
    buffer, left = bytearray(1 << 18), mib << 20
    with socket.create_connection((host, port)) as c:
        start = time.perf_counter()
        c.sendall(b"%-5s %-9d\n" % (way.encode(), mib))
        while left and way == "down":
            left -= c.recv_into(buffer, min(left, len(buffer)))
        while left and way == "up":
            left -= c.send(buffer[:left] if left < len(buffer) else buffer)
        if c.recv(1) != b".":
            raise RuntimeError("cut")
        return mib / (time.perf_counter() - start)
def keep(host, port, n):
    global kept
    start, at = time.perf_counter(), find(host, port)
    kept = [socket.socket() for _ in range(n)]
    for c in kept:
        c.connect(at)
        c.sendall(b"\0")
        c.recv(1)
    return (time.perf_counter() - start) * 1000
"""


class Server:
    def __init__(self, what, *args):
        self.what, self.port, self.args = what, 0, args
        self.start()

    def start(self):
        argv = [PYTHON, "-I", "-c", SERVER, self.what, str(self.port), *self.args]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()


def cpu_ms(pid):
    """The processor time of a process; 0 without one."""
    if not pid:
        return 0
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as f:
        return int(f.read().split()[0]) / 1e6


class Direct:
    """The client on the host."""

    def __init__(self, servers, host="127.0.0.1"):
        self.servers, self.host, self.ports = servers, host, {name: s.port for name, s in servers.items()}
        self.process = None

    def ask(self, what, *args):
        call = f"{what}({self.host!r}, {self.ports[what]}, *{args!r})"
        done = subprocess.run([PYTHON, "-I", "-c", CLIENT + f"print(json.dumps({call}))"], capture_output=True, check=True)
        return json.loads(done.stdout)

    def hold(self, n):
        call = f"keep({self.host!r}, {self.ports['keep']}, {n})"
        self.process = subprocess.Popen([PYTHON, "-I", "-c", CLIENT + f"print(json.dumps({call}), flush=True)\ninput()"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return json.loads(self.process.stdout.readline())

    def release(self):
        self.process.communicate("\n")


class Box:
    """The client in a session."""

    def __init__(self, engine, rules, host, ports):
        self.engine, self.host, self.ports = engine, host, ports
        self.session = engine.create(runtime="python", net=rules)
        engine.run(self.session, CLIENT)
        self.gateway, self.cpu_ms = None, {}

    def ask(self, what, *args):
        call = f"{what}({self.host!r}, {self.ports[what]}, *{args!r})"
        before = cpu_ms(self.gateway)
        found = json.loads(self.engine.run(self.session, f"print(json.dumps({call}))")[1]["stdout"])
        self.cpu_ms.setdefault((what, *args), []).append(cpu_ms(self.gateway) - before)
        return found

    def tell_cpu(self, n, unit, what, *args):
        """What each of @n cost the gateway in processor time, which others on the machine change less than its wall time."""
        each = median(self.cpu_ms[what, *args]) / n * 1000
        print(f"  the gateway's processor time: {each:.1f} us for each {unit}")
        return {"title": f"processor time, {what} {args}", "us_each": each}

    def hold(self, n):
        return self.ask("keep", n)

    def release(self):
        self.engine.run(self.session, "del kept")

    def serve(self, what):
        """Start the server in the session, too. Returns: its port."""
        process = self.engine.call("process.start", session=self.session, argv=[PYTHON, "-I", "-c", SERVER, what, "0"])["process"]
        while not (said := self.engine.call("process.read", session=self.session, process=process)["data"]):
            time.sleep(0.01)
        return int(said)


# ---- starts ----


def runs(retort, rule, rounds):
    with tempfile.TemporaryDirectory(prefix="retort-bench-", dir="/dev/shm") as where:
        run = [retort, "run", "-c", "print(1+1)"]
        rows = {"without a rule": run, "with a rule": [retort, "run", "--net", rule, "-c", "print(1+1)"]}
        return compare("cold start of `retort run`: print(1+1)", rows, wall_ms, rounds, where)


def new_session_ms(engine, net):
    made_ms, made = engine.timed(engine.make("session.create", runtime="python", net=net))
    step_ms, _ = engine.run(made["session"], "print(1+1)")
    engine.close(made["session"])
    return made_ms + step_ms


def branch_ms(engine, net):
    """Of a session that has run a step, so that no branch is kept ready."""
    parent = engine.create(runtime="python", net=net)
    engine.run(parent, "x = 1")
    made_ms, made = engine.timed(engine.make("session.branch", session=parent))
    step_ms, _ = engine.run(made["session"], "print(1+1)")
    engine.close(made["session"])
    engine.close(parent)
    return made_ms + step_ms


def session_starts(retort, rule, rounds):
    found = []
    rows = {"without a rule": [], "with a rule": [rule]}
    for title, standby, measure in (("kept ready", 4, new_session_ms), ("a branch of the template", 0, new_session_ms),
                                    ("a branch of a session", 4, branch_ms)):
        samples = {name: [] for name in rows}
        with Engine(retort, "--standby", str(standby)) as engine:
            for _ in range(rounds):
                for name, net in rows.items():
                    time.sleep(0.1)  # until those that are kept ready are there again
                    samples[name].append(measure(engine, net))
        found.append(table(f"a session, {title}, to its first result ({rounds} rounds)", samples, "without a rule"))
    return found


# ---- through the gateway ----


def connects(direct, inside, box, rounds):
    rows = {"direct": (direct, False), "within the box": (inside, False), "through the gateway": (box, False)}
    samples = {name: [] for name in rows}
    names = {"direct, localhost looked up": (Direct(direct.servers, "localhost"), True), "the gateway, name looked up": (box, True)}
    looked = {name: [] for name in names}
    for _ in range(rounds):
        for found, chosen in ((samples, rows), (looked, names)):
            for name, (way, looks_up) in chosen.items():
                found[name] += way.ask("byte", CONNECTS, looks_up)
    title = f"connect, a byte there and back, close ({rounds} x {CONNECTS}; aim: 0.06 ms added"
    return [table(title + ")", samples, "direct"), box.tell_cpu(CONNECTS, "connection", "byte", CONNECTS, False),
            table(title + " to a lookup)", {"direct": samples["direct"], **looked}, "direct"),
            box.tell_cpu(CONNECTS, "connection with its lookup", "byte", CONNECTS, True)]


def requests(direct, inside, box, rounds):
    rows = {"direct": direct, "within the box": inside, "through the gateway": box}
    samples = {name: [] for name in rows}
    for _ in range(rounds):
        for name, way in rows.items():
            samples[name] += way.ask("http", REQUESTS)
    return [table(f"GET of 2 bytes, connection kept ({rounds} x {REQUESTS})", samples, "direct"),
            box.tell_cpu(REQUESTS, "request", "http", REQUESTS)]


def streams(direct, inside, box, rounds, mib):
    found = []
    relay = Server("relay", str(direct.ports["stream"]))
    for way in ("down", "up"):
        rows = {"direct": direct, "within the box": inside, "a plain relay between": Direct({"stream": relay}),
                "through the gateway": box}
        rates = {name: [] for name in rows}
        for _ in range(rounds):
            for name, end in rows.items():
                rates[name].append(end.ask("stream", way, mib))
        found.append(table(f"{mib} MiB {way} ({rounds} rounds; aim: a ratio of 0.7)", rates, "direct", unit="MiB/s"))
        found.append(box.tell_cpu(mib, "MiB", "stream", way, mib))
    relay.stop()
    return found


def kernel_kib():
    """Kernel memory of the whole machine: slabs, and the pages of sockets."""
    with open("/proc/meminfo", encoding="utf-8") as f:
        slab = next(int(line.split()[1]) for line in f if line.startswith("Slab:"))
    with open("/proc/net/sockstat", encoding="utf-8") as f:
        return slab + 4 * next(int(line.split()[-1]) for line in f if line.startswith("TCP:"))


def gateway_of(engine_pid):
    for pid in children(engine_pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            if f.read().startswith("retort-gate"):
                return pid
    raise RuntimeError("no gateway")


def idle(engine_pid, server, direct, boxes, rounds):
    gateway = gateway_of(engine_pid)
    rows = []
    print(f"\n{len(boxes)} x {IDLE} open connections ({rounds} rounds; kernel: of both ends of each)")
    for i in range(rounds):
        for name, ways in (("direct", [direct]), ("through the gateway", boxes)):
            n = IDLE * len(boxes) // len(ways)
            before = memory_kib(gateway)["private_dirty"], kernel_kib(), len(os.listdir(f"/proc/{gateway}/fd"))
            took = sum(way.hold(n) for way in ways)
            after = memory_kib(gateway)["private_dirty"], kernel_kib(), len(os.listdir(f"/proc/{gateway}/fd"))
            for way in ways:
                way.release()
            server.stop()
            time.sleep(0.5)
            server.start()
            total = IDLE * len(boxes)
            row = {"round": i, "name": name, "open_ms": took, "us_each": took * 1000 / total,
                   "gateway_kib_each": (after[0] - before[0]) / total, "kernel_kib_each": (after[1] - before[1]) / total,
                   "gateway_fds_each": (after[2] - before[2]) / total, "gateway": memory_kib(gateway)}
            rows.append(row)
            print(f"  {name:24} {took:8.1f} ms  {row['us_each']:7.1f} us each  gateway {row['gateway_kib_each']:6.2f} KiB, "
                  f"{row['gateway_fds_each']:.2f} descriptors, kernel {row['kernel_kib_each']:6.2f} KiB each; "
                  f"gateway after: private {row['gateway']['private_dirty']}, pss {row['gateway']['pss']} KiB")
    return [{"title": "idle connections", "rows": rows}]


def through(retort, args, only):
    servers = {name: Server(name) for name in PORTS}
    rules = [f"{NAME}:{PORTS[name]}=127.0.0.1:{s.port}" for name, s in servers.items()]
    found = []
    at_engine = Engine(retort)
    with at_engine as engine:
        direct, boxes = Direct(servers), [Box(engine, rules, NAME, PORTS) for _ in range(2)]
        for box in boxes:
            box.gateway = gateway_of(at_engine.process.pid)
        inside = Box(engine, [], "127.0.0.1", {})
        inside.ports.update((name, inside.serve(name)) for name in ("byte", "http", "stream"))
        if "connect" in only:
            found += connects(direct, inside, boxes[0], args.rounds)
        if "request" in only:
            found += requests(direct, inside, boxes[0], args.rounds)
        if "stream" in only:
            found += streams(direct, inside, boxes[0], max(args.rounds // 2, 3), args.mib)
        if "idle" in only:
            found += idle(at_engine.process.pid, servers["keep"], direct, boxes, 3)
    for server in servers.values():
        server.stop()
    return found


def main():
    parser = argparse.ArgumentParser(description="measure a network by rules")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--only", default="start,connect,request,stream,idle")
    args = parser.parse_args()
    only, retort = args.only.split(","), os.path.abspath(args.retort)
    print(f"bare python3: {calibration():.1f} ms")
    found = [machine()]
    if "start" in only:
        found.append(runs(retort, "api.test:443=127.0.0.1:9", args.rounds * 2))
        found += session_starts(retort, "api.test:443=127.0.0.1:9", args.rounds * 2)
    found += through(retort, args, only)
    save(retort, "network", found)
    print(f"bare python3: {calibration():.1f} ms")


if __name__ == "__main__":
    main()
