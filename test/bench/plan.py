#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measure plans: the evaluator against CPython on the same programs, labels on against labels off, and
the start of a process.

usage: plan.py RETORT [--rounds N]

Each sample is what a process takes of the processor from start to end, less the median of an empty program of the same kind, so that
what is compared is the program. Rounds of all three take turns, for machines change speed. Aims: labels off
at least as fast as CPython; labels on at most 1.5 times labels off; the first result of a process in 5 ms.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "arithmetic loop": """
def f(n):
    s = 0
    for i in range(n):
        if i % 3 == 0:
            s += i
        else:
            s = s + i * 2 - 1
    return s
print(f(2000000))
""",
    "additions at top level": """
s = 0
for i in range(2000000):
    s = s + i
print(s)
""",
    "calls": """
def g(a, b):
    return a + b
def f(n):
    s = 0
    for i in range(n):
        s = g(s, i)
    return s
print(f(1000000))
""",
    "string building": """
def f(n):
    s = ""
    parts = []
    for i in range(n):
        s += "ab"
        parts.append("item " + str(i))
        if f"{i}:{i + 1}" == "x":
            s = ""
    return len(s) + len(",".join(parts))
print(f(400000))
""",
    "methods of strings": """
def f(n):
    k = 0
    for i in range(n):
        w = "Ann Example <ann@example.com>".lower().split(" ")
        k += len(w[0].upper()) + w[2].find("@")
        if w[1].startswith("ex"):
            k += 1
    return k
print(f(200000))
""",
    "lists and dicts": """
def f(n):
    d = {}
    l = []
    for i in range(n):
        k = i % 1000
        d[k] = d.get(k, 0) + i
        l.append(i * 2)
    t = 0
    for k in d:
        t += d[k]
    for x in l:
        t += x
    return t + len([x for x in l if x % 2 == 0])
print(f(600000))
""",
    "records as a tool gives them": """
def f(n):
    mails = [{"sender": "a" + str(i % 50), "size": i, "tags": ["x", "y"]} for i in range(n)]
    by = {}
    for m in mails:
        if m["size"] % 2 == 0:
            by.setdefault(m["sender"], []).append(m["size"])
    return sum([sum(by[k]) for k in sorted(by)])
print(f(200000))
""",
    "sorting": """
def f(n):
    l = [(i * 7919) % 1000003 for i in range(n)]
    t = sorted(l)
    u = sorted([str(x) for x in l])
    v = sorted(l, key=lambda x: -x)
    return t[5] + len(u) + v[0]
print(f(150000))
""",
    "big ints": """
def f(n):
    a = 1
    for i in range(1, n):
        a = a * i
        if i % 100 == 0:
            a = a % (10 ** 400 + 7) + 1
    return a % 1000000007
print(f(100000))
""",
}

EMPTY = "print(1)\n"


def once(command):
    """Returns: ms of the clock, ms of the processor, what was printed."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}: {done.stderr.decode()[-500:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took * 1000, cpu * 1000, done.stdout


def p95(times):
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]


def commands(retort, tools, path):
    return {
        "CPython": ["/usr/bin/python3", "-I", path],
        "off": [retort, "plan", "run", path],
        "on": [retort, "plan", "run", "--tools", tools, path],
    }


def measure(retort, tools, path, rounds, empty):
    times, spent = ({"CPython": [], "off": [], "on": []} for _ in range(2))
    outputs = set()
    for _ in range(rounds):
        for who, command in commands(retort, tools, path).items():
            took, cpu, out = once(command)
            times[who].append(max(cpu - empty[who], 0.001) if empty else took)
            spent[who].append(cpu)
            outputs.add(out)
    if len(outputs) != 1:
        sys.exit(f"{path}: the outputs differ: {outputs}")
    return times, {who: statistics.median(t) for who, t in spent.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    version = subprocess.run(["/usr/bin/python3", "-V"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    rows = []
    with tempfile.TemporaryDirectory(prefix="retort-bench-plan-") as top:
        def write(name, text):
            path = os.path.join(top, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return path
        tools = write("tools.json", '{"tools": {}}')
        start, empty = measure(args.retort, tools, write("empty.py", EMPTY), 4 * args.rounds, {})
        begun = {who: statistics.median(t) for who, t in start.items()}
        print(f"\nplans: ms of the processor per program, median and p95 of {args.rounds}; against {version}\n"
              f"  {'':30} {'CPython':>17} {'labels off':>17} {'labels on':>17} {'off/CPython':>12} {'on/off':>7}")
        for name, source in PROGRAMS.items():
            times, _ = measure(args.retort, tools, write("program.py", source), args.rounds, empty)
            median = {who: statistics.median(t) for who, t in times.items()}
            cells = "".join(f" {median[w]:9.1f} {p95(times[w]):7.1f}" for w in ("CPython", "off", "on"))
            off, on = median["off"] / median["CPython"], median["on"] / median["off"]
            says = ("" if off <= 1 else " SLOWER THAN CPYTHON") + ("" if on <= 1.5 else " LABELS MISSED")
            print(f"  {name:30}{cells} {off:12.2f} {on:7.2f}{says}", flush=True)
            rows.append({"row": name, "off_by_cpython": off, "on_by_off": on, "samples_ms": times})
        print("\n  start of a process to its first result, ms: "
              + ", ".join(f"{who} {begun[who]:.2f} (p95 {p95(start[who]):.2f})" for who in start)
              + ("" if begun["on"] <= 5 else "  MISSED: 5 ms"))
        rows.append({"row": "start", "samples_ms": start})
    out = os.path.join(os.path.dirname(os.path.abspath(args.retort)), "bench")
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "plan.json"), "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
