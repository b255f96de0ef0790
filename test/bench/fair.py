#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long another caller waits for `engine.info` while somebody does what is dear for the engine.

usage: fair.py RETORT [--seconds N] [-k NAME]

Each load of test/escape/loads.py against an engine of its own. Beside it the floor: the same question to an engine with
nothing to do, and to one beside as many processes that use up a CPU as the load has (its own, and a box's).
"""

import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "system"), os.path.join(HERE, ".."), os.path.join(HERE, "..", "escape")]
LOADS = os.path.join(HERE, "..", "escape", "loads.py")
QUOTAS = "sessions=50 memory=20g"


def ask(bob, seconds, is_over=lambda: False):
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end and not is_over():
        t = time.monotonic()
        bob("engine.info")
        times.append(1000 * (time.monotonic() - t))
        time.sleep(0.003)
    return sorted(times)


def row(name, times, rest=""):
    n = len(times)
    print(f"{name:24} {n:6} {times[n // 2]:8.1f} {times[n * 95 // 100]:8.1f} {times[-1]:8.1f}  {rest}", flush=True)


def under(name, seconds):
    with callers.Engine({"eve": QUOTAS, "bob": ""}, "--standby", "0") as engine:
        bob = engine.caller("bob")
        load = subprocess.Popen(
            [sys.executable, LOADS, name, engine.path, str(engine.port), engine.tokens["eve"], str(seconds)],
            stdout=subprocess.PIPE, text=True)
        if load.stdout.readline() != "begun\n":
            raise SystemExit(f"{name}: the load did not begin")
        times = ask(bob, seconds)
        done = load.stdout.readline().strip() if load.wait() == 0 else "?"
        load.stdout.close()
        with open(f"/proc/{engine.process.pid}/status", encoding="utf-8") as f:
            most = next(int(line.split()[1]) >> 10 for line in f if line.startswith("VmHWM:"))
        row(name, times, f"{done} times, {most} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("retort")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("-k", dest="only", default="")
    args = parser.parse_args()
    os.environ["RETORT"] = os.path.abspath(args.retort)
    global callers  # it looks for the binary when it is imported
    import callers  # pylint: disable=import-outside-toplevel
    import loads  # pylint: disable=import-outside-toplevel
    print(f"{'ms':24} {'n':>6} {'median':>8} {'p95':>8} {'most':>8}")
    with callers.Engine({"bob": ""}, "--standby", "0") as engine:
        row("(nothing)", ask(engine.caller("bob"), args.seconds))
        burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        row("(two that use a CPU)", ask(engine.caller("bob"), args.seconds))
        for one in burners:
            one.kill()
            one.wait()
    for name in loads.LOADS:
        if args.only in name:
            under(name, args.seconds)


if __name__ == "__main__":
    main()
