#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measure live sessions (`retort serve`) against what people use today, in the same run.

usage: sessions.py RETORT [--rounds N] [--only ROW,ROW]

Aims are for a machine on which bare `python3 -I -c 'print(1+1)'` takes 14.7 ms; that is measured beside
every row, and the aim is scaled by it, since such machines change speed within minutes. The client is a
Python with a raw socket: what it costs is in the row "floor", a pipe loop driven by the same client.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import peers
from service import (
    Client, Engine, calibration, charge_bytes, children, clock_ms, median, memory_leaves, p95, rss_bytes,
)

FAST_MS = 14.7
SETTLE_MS = 500  # until what was closed has gone: the calibration would be slow beside that, and the aim too easy
rows = []


def report(name, times, aim_ms=None, note="", aim=None):
    """Print one row; @times are its samples in ms; @aim_ms the aim on the machine of the aims."""
    peers.pause(SETTLE_MS)
    speed = calibration()
    scaled = aim_ms * max(speed / FAST_MS, 1) if aim_ms else aim
    row = {"row": name, "median_ms": median(times), "p95_ms": p95(times), "n": len(times), "bare_python_ms": speed,
           "aim_ms": aim_ms, "aim_scaled_ms": scaled, "note": note, "samples_ms": times}
    rows.append(row)
    says = "" if scaled is None else "met" if row["median_ms"] <= scaled else "MISSED"
    aims = "" if scaled is None else f"{aim_ms if aim_ms else scaled:.2f}"
    print(f"  {name:58} {row['median_ms']:9.3f} {row['p95_ms']:9.3f} {aims:>7} {says:6} {speed:6.1f} {note}", flush=True)
    return row


def heading(text):
    print(f"\n{text}\n  {'':58} {'median ms':>9} {'p95 ms':>9} {'aim':>7} {'':6} {'bare':>6}", flush=True)


class Bench:
    def __init__(self, retort, rounds):
        self.retort, self.rounds = retort, rounds
        self.has_kernel = peers.kernel_is_here()
        self.has_bare = peers.bare_is_possible()

    def engine(self, *options):
        return Engine(self.retort, *options)

    @contextlib.contextmanager
    def beside(self, *what):
        """Bare branches, one after each of ours: yields what makes one after a nap, and its times."""
        bare, times = peers.Bare(*what) if self.has_bare else None, []

        def measure(nap_ms, n=1):
            if bare:
                peers.pause(nap_ms)
                times.append(bare.run(n=n))

        yield measure, times
        if bare:
            bare.close()

    @staticmethod
    def report_beside(ours, bare, title="  a bare branch: namespaces, mounts, copy, nothing else"):
        if bare:
            report(title, bare, note=f"ours {ours['median_ms'] / median(bare):.2f} times that")

    # ---- fresh sessions ----

    def fresh(self):
        heading("a fresh session with pandas, to its first result")
        for title, standby, nap_ms, aim in (
            ("from the pool", 4, 100, 1.0),
            ("without pool: branch of the template", 0, 30, 3.0),
        ):
            times = []
            with self.engine("--standby", str(standby)) as c, self.beside("pandas") as (bare, bare_times):
                c.close(c.create(preload=["pandas"]))
                for _ in range(self.rounds):
                    peers.pause(nap_ms)
                    create = c.make("session.create", preload=["pandas"])
                    made_ms, made = c.timed(create)
                    ms, _ = c.run(made["session"], "print(1+1)")
                    times.append(made_ms + ms)
                    c.close(made["session"])
                    if not standby:
                        bare(nap_ms)
            self.report_beside(report(title, times, aim), bare_times)
        if self.has_kernel:
            times = []
            for _ in range(3):
                start = clock_ms()
                kernel = peers.Kernel()
                kernel.run("import pandas")
                times.append(clock_ms() - start)
                kernel.close()
            report("ipykernel: start, import pandas", times)
        times = []
        for _ in range(5):
            start = clock_ms()
            loop = peers.PipeLoop("pandas")
            times.append(clock_ms() - start)
            loop.close()
        report("pipe loop: start, import pandas (no sandbox)", times)

    # ---- branches ----

    def branch_of(self, c, parent, n, bare, pause_ms=30):
        times = []
        for _ in range(n):
            peers.pause(pause_ms)
            ms, child = c.timed(c.make("session.branch", session=parent))
            first, _ = c.run(child["session"], "print(1+1)")
            times.append(ms + first)
            c.close(child["session"])
            bare(30)
        return times

    def branch_live(self, c, setup, n, bare, of_each=1, how=None, **limits):
        """@n branches, each of a session that has run a step since its last: its driver becomes a stem.
        A session is branched @of_each times: the kernel's chains of ancestors grow with each. @how: parameters."""
        times = []
        while len(times) < n:
            parent = c.create(preload=["pandas"], **limits)
            c.run(parent, setup)
            for i in range(of_each):
                c.run(parent, f"n = {i}")
                peers.pause(60)
                ms, child = c.timed(c.make("session.branch", session=parent, **(how or {})))
                first, _ = c.run(child["session"], "print(1+1)")
                times.append(ms + first)
                c.close(child["session"])
                bare(60)
            c.close(parent)
        return times

    def branch(self):
        heading("a branch of a live pandas session, to the first result in the child")
        frame = "import pandas as pd; df = pd.DataFrame({'a': range(1000)})"
        big = "import numpy as np; a = np.ones(1 << 27)"
        with self.engine() as c, self.beside("pandas", frame) as (bare, bare_times):
            live = report("a live pandas session", self.branch_live(c, frame, self.rounds, bare), 3.0)
            self.report_beside(live, bare_times)
            report("one that goes on and is branched ten times", self.branch_live(c, frame, self.rounds, bare, 10), 3.0)
            parent = c.create(preload=["pandas"])
            c.run(parent, frame)
            report("the same, nothing run since its last branch", self.branch_of(c, parent, self.rounds, bare), 3.0)
            self.branch_of(c, parent, 1, bare)
            times = self.branch_of(c, parent, self.rounds, bare, 300)
            report("the same, branched every third of a second: one is ready", times, 3.0)
            serving = frame + "; import subprocess; p = subprocess.Popen(['sleep', '600'])"
            times = self.branch_live(c, serving, self.rounds, bare, how={"keep_processes": True})
            report("a live pandas session with a process that goes on in it", times)
        limits = {"limits": {"memory_bytes": 4 << 30}}
        with self.engine() as c, self.beside("pandas", big) as (bare, bare_times):
            times = self.branch_live(c, big, max(self.rounds // 5, 5), bare, **limits)
            self.report_beside(report("with 1 GB of numpy", times, 5.0), bare_times)

    # ---- steps ----

    def step_times(self, c, session, n, nap_ms):
        request = c.make("step.run", session=session, code="x += 1")
        times = []
        for _ in range(n):
            if nap_ms:
                peers.pause(nap_ms)
            ms, record = c.timed(request)
            if record["status"] != "ok":
                raise RuntimeError(record)
            times.append(ms)
        return times

    def step(self):
        heading("step x += 1, checkpoints on, idle 10 ms between steps")
        n = self.rounds * 5
        with self.engine() as c:
            s = c.create(preload=["pandas"])
            c.run(s, "x = 0")
            self.step_times(c, s, 20, 10)
            loop = peers.PipeLoop("pandas")
            loop.run("x = 0")
            relay = peers.PipeLoop("pandas", [os.path.join(os.path.dirname(self.retort), "test", "tool-relay")])
            relay.run("x = 0")
            kernel = peers.Kernel() if self.has_kernel else None
            if kernel:
                kernel.run("import pandas; x = 0")
            ours, floor, between, theirs = [], [], [], []
            for _ in range(n // 10):
                ours += self.step_times(c, s, 10, 10)
                for _ in range(10):
                    peers.pause(10)
                    floor.append(loop.run("x += 1"))
                for _ in range(10):
                    peers.pause(10)
                    between.append(relay.run("x += 1"))
                for _ in range(2 if kernel else 0):
                    peers.pause(10)
                    theirs.append(kernel.run("x += 1"))
            report("a session with pandas", ours, 0.15)
            report("pipe loop (the client's floor)", floor)
            report("the same with a process between that does nothing", between)
            if kernel:
                report("ipykernel", theirs)
                kernel.close()
            relay.close()
            loop.close()

    def busy(self):
        heading("step x += 1, checkpoints on, back to back")
        with self.engine() as c:
            s = c.create(preload=["pandas"])
            c.run(s, "x = 0")
            c.run(s, peers.FORKS)
            both, alone, ours = [], [], []
            for _ in range(10):
                value = c.run(s, "forks(20)")[1]["value"]["text/plain"]
                pair = [float(v) for v in value.strip("()").split(",")]
                both.append(pair[0])
                alone.append(pair[1])
                self.step_times(c, s, 5, 0)
                ours += self.step_times(c, s, max(self.rounds // 2, 20), 0)
            report("fork of that process, its exit and wait", both)
            report("fork of that process, until it returns", alone)
            report("a session with pandas (aim: 1.5 forks)", ours, aim=1.5 * median(both))

    def thousand(self):
        heading("the 1,000th step against the 10th")
        with self.engine() as c:
            ratios, firsts, lasts = [], [], []
            for _ in range(5):
                s = c.create(preload=["pandas"])
                c.run(s, "x = 0")
                self.step_times(c, s, 4, 5)
                firsts += (first := self.step_times(c, s, 20, 5))
                self.step_times(c, s, 956, 0)
                peers.pause(200)
                lasts += (last := self.step_times(c, s, 20, 5))
                ratios.append(median(last) / median(first))
                c.close(s)
            row = report("steps 5 to 24", firsts)
            report("steps 981 to 1,000", lasts, aim=row["median_ms"] * 1.1, note=f"ratio {median(ratios):.2f}")

    # ---- rollback ----

    def rollback(self):
        heading("rollback after a memory kill, to the next result")
        eat = "b = []\nwhile True: b.append(bytearray(1 << 24))"
        with self.engine() as c:
            s = c.create(preload=["pandas"], limits={"memory_bytes": 256 << 20})
            c.run(s, "x = 41")
            times, kills = [], []
            for _ in range(max(self.rounds // 5, 5)):
                peers.pause(20)
                ms, record = c.timed(c.make("step.run", session=s, code=eat))
                if record["state"]["outcome"] != "rolled_back":
                    raise RuntimeError(record)
                wall = record["usage"]["wall_ms"]
                kills.append(wall)
                next_ms, _ = c.run(s, "assert x == 41; x")
                times.append(ms - wall + next_ms)
            report("from the kill to the next result", times, 50.0, f"the step itself {median(kills):.0f} ms")

    # ---- many ----

    def hundred(self):
        heading("100 boxes with numpy, each answering, from one template")
        times = []
        with self.engine("--standby", "0") as c:
            c.close(c.create(preload=["numpy"]))
            for _ in range(max(self.rounds // 20, 3)):
                peers.pause(500)
                start = clock_ms()
                made = c.many([c.make("session.create", preload=["numpy"]) for _ in range(100)])[1]
                ids = [m["session"] for m in made]
                done = c.many([c.make("step.run", session=s, code="print(1+1)") for s in ids])[1]
                times.append(clock_ms() - start)
                if any(d["stdout"] != "2\n" for d in done):
                    raise RuntimeError("a wrong answer")
                c.many([c.make("session.close", session=s) for s in ids])
        report("100 boxes", times, 300.0)

    def memory(self, n=1000):
        heading(f"{n:,} idle pandas sessions")
        engine = self.engine("--standby", "0")
        with engine as c:
            ids, start = [], clock_ms()
            for _ in range(n):
                ids.append(c.create(preload=["pandas"]))
                c.run(ids[-1], "x = len(ids) if 'ids' in globals() else 7")
            made_ms = (clock_ms() - start) / n
            peers.pause(2000)
            leaves = memory_leaves(engine.process.pid)
            used = [charge_bytes(leaf) for leaf in leaves]
            wardens = children(engine.process.pid)
            overhead = rss_bytes(engine.process.pid), sum(rss_bytes(p) for p in wardens)
            times = []
            for s in ids:
                ms, record = c.run(s, "x + 1")
                times.append(ms)
                if record["value"]["text/plain"] != "8":
                    raise RuntimeError(record)
            mib = [u / 2**20 for u, _ in used]
            kernel = [k / 2**20 for _, k in used]
            mean = sum(mib) / max(n, 1)
            print(f"  made and answered once: {made_ms:.2f} ms each; all {len(times)} answer again")
            print(f"  charge of {len(leaves)} cgroups: {mean:.2f} MiB a session (median {median(mib):.2f}), of that kernel "
                  f"{sum(kernel) / max(n, 1):.2f}; aim 2.5: {'met' if mean <= 2.5 else 'MISSED'}")
            print(f"  engine {overhead[0] / 2**20:.1f} MiB ({overhead[0] / n / 1024:.0f} KiB a session), warden {overhead[1] / 2**20:.1f} MiB")
            rows.append({"row": "memory", "mib": mib, "kernel_mib": kernel, "engine": overhead[0], "warden": overhead[1]})
            report("a step in each of them", times)

    def best(self):
        heading("best of 8: branch 8, run 8 candidates, keep one")
        times, own = [], []
        candidate = "r = sum(i * i for i in range(20000)); r"
        frame = "import pandas as pd; df = pd.DataFrame({'a': range(1000)})"
        with self.engine() as c, self.beside("pandas", frame) as (bare, bare_times):
            for _ in range(max(self.rounds // 10, 5)):
                s = c.create(preload=["pandas"])
                c.run(s, frame)
                peers.pause(150)
                own_ms = sum(c.run(s, candidate)[0] for _ in range(8))
                peers.pause(150)
                start = clock_ms()
                made = c.many([c.make("session.branch", session=s) for _ in range(8)])[1]
                ids = [m["session"] for m in made]
                c.many([c.make("step.run", session=i, code=candidate) for i in ids])
                c.many([c.make("session.close", session=i) for i in ids[1:]])
                took = clock_ms() - start
                alone = sum(float(c.run(ids[0], candidate)[1]["usage"]["wall_ms"]) for _ in range(8))
                times.append(took - alone / os.cpu_count())
                own.append(own_ms)
                c.close(ids[0])
                c.close(s)
                bare(150, 8)
        note = f"the candidates one by one {median(own):.1f} ms"
        ours = report("over the candidates' own time on all CPUs", times, 30.0, note)
        self.report_beside(ours, bare_times, "  eight bare branches, no candidates")


ROWS = ("fresh", "branch", "step", "busy", "thousand", "rollback", "hundred", "best", "memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--only", default=",".join(ROWS))
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    bench = Bench(retort, args.rounds)
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} CPUs, root {os.geteuid() == 0}")
    for name in args.only.split(","):
        getattr(bench, name)()
    out_dir = os.path.join(os.path.dirname(retort), "bench")
    os.makedirs(out_dir, exist_ok=True)
    path = os.path.join(out_dir, time.strftime("sessions-%Y%m%d-%H%M%S.json"))
    with open(path, "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=1)
    print(f"\nraw data: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
