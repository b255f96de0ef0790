#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many sessions and steps with random kills: nothing leaks, nothing is stuck, every step has a fate.

usage: test/soak/soak.py [--sessions N] [--steps N] [--kills SECONDS] [--wardens N] [--clients N] [--seed N]

Clients make sessions, run steps in them (good ones, and ones that fail in every way), branch, undo
and close them. Meanwhile drivers, guards and inits are killed at random, and the warden now and then.
In pauses between rounds everything is closed, and what engine, warden and host hold is compared with
what they held after the first round.
"""

import argparse
import collections
import os
import random
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
sys.path.insert(0, os.path.join(HERE, ".."))
import harness  # noqa: E402
import rpc  # noqa: E402

STUCK_S = 45
SETTLE_S = 10
MEMORY_SLACK = float("inf") if harness.IS_SANITIZED else 24 << 20  # caches of the journal, what malloc keeps

# (weight, code, more parameters, does it change x by one when all is well?)
STEPS = [
    (30, "x += 1", {}, True),
    (8, "x += 1; open(f'f{x % 5}', 'w').write('y' * 5000)", {}, True),
    (4, "x += 1; print('z' * 100000)", {}, True),
    (4, "x += 1; 1 / 0", {}, True),
    (3, "x += 1; 1 / 0", {"atomic": True}, False),
    (3, "x += 1; import os; os._exit(3)", {}, False),
    (3, "x += 1; import os, signal; os.kill(os.getpid(), 9)", {}, False),
    (2, "x += 1; import ctypes; ctypes.string_at(0)", {}, False),
    (2, "x += 1\nwhile True: pass", {"timeout_ms": 50}, False),
    (2, "x += 1; import os, time\nos.fork() or time.sleep(9)\n", {"timeout_ms": 200}, None),
    (2, "x += 1; import subprocess; subprocess.run(['true']); None", {}, True),
    (1, "echo x", {"runtime": "shell"}, False),
]


class Soak:
    def __init__(self, options, say=print):
        self.options, self.say = options, say
        self.engine = rpc.Engine()
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.problems = []
        self.left_sessions, self.left_steps = options.sessions, options.steps
        self.epoch = 0  # goes up with each kill that may have hit anybody
        self.is_over = self.is_paused = False
        self.killing = threading.Lock()

    def problem(self, text):
        with self.lock:
            if len(self.problems) < 20:
                self.problems.append(text)
                self.say(f"PROBLEM: {text}")

    def count(self, *words):
        with self.lock:
            for word in words:
                self.counts[word] += 1

    # ---- one client ----

    def step(self, client, session, random_, x):
        """One step. Returns what x is now, or None when that cannot be known."""
        _, code, params, moves = random_.choices(STEPS, [row[0] for row in STEPS])[0]
        epoch = self.epoch
        try:
            done = client.run(session, code, **params)
        except rpc.Failed as e:
            self.count("step: error " + str(e.code))
            if epoch == self.epoch and not self.options.kills:
                self.problem(f"{code!r}: {e}")
            return None
        state = done.get("state") or {}
        fate = state.get("outcome") if isinstance(state, dict) else None
        self.count("step: " + str(done.get("status")), "fate: " + str(fate))
        if not done.get("step") or not done.get("status") or not fate:
            self.problem(f"{code!r}: no fate: {done}")
        if fate == "lost" and not self.options.kills:
            self.problem(f"{code!r}: lost without a kill: {done['status']} {done['error']} {state}")
        if moves is None or x is None or fate in ("lost", "diverged", "replayed"):
            return None
        return x + 1 if moves and fate == "committed" else x if fate == "rolled_back" else None

    def known(self, client, session, x):
        """Is x what it must be? A session that has lost its state must have said so."""
        done = client.run(session, "x")
        value = done.get("value")
        text = value.get("text/plain") if isinstance(value, dict) else value
        fate = (done.get("state") or {}).get("outcome")
        if fate in ("replayed", "diverged"):
            self.count("step: rebuilt")
            return
        if done["status"] != "ok" and not self.options.kills or done["status"] == "ok" and text != str(x):
            self.problem(f"{session}: x is {text}, not {x}: {done['status']} {done.get('state')} {done.get('error')}")
        elif done["status"] == "error":
            self.problem(f"{session}: x is not {x} but gone: {done.get('state')} {done.get('error')}")

    def session(self, client, random_, n_steps):
        try:
            fresh = {"fresh": True} if random_.random() < 0.03 else {}
            session = client("session.create", **fresh)["session"]
        except rpc.Failed as e:
            self.count("create: error " + str(e.code))
            if not self.options.kills:
                self.problem(f"create: {e}")
            return
        self.count("sessions")
        opened = [session]
        try:
            done = client.run(session, "x = 0")
            x = 0 if done["status"] == "ok" else None
            for i in range(n_steps):
                x = self.step(client, session, random_, x)
                if x is not None and random_.random() < 0.2:
                    self.known(client, session, x)
                    x = None if self.options.kills else x
                if x is not None and random_.random() < 0.05:
                    opened.append(client("session.branch", session=session)["session"])
                    self.count("branches")
                    self.known(client, opened[-1], x)
                if random_.random() < 0.03:
                    client("session.undo", session=session, count=1)
                    self.count("undone")
                    x = None
        except rpc.Failed as e:
            self.count("other: error " + str(e.code))
            if not self.options.kills:
                self.problem(f"{e}")
        for one in opened:
            try:
                client("session.close", session=one)
            except rpc.Failed as e:
                self.problem(f"close {one}: {e}")

    def states(self):
        client = rpc.Client(self.engine.path, timeout=5)
        rows = client("session.list")["sessions"]
        client.close()
        return [(row["session"], row["state"]) for row in rows if row.get("state") in ("working", "opening")]

    def work(self, seed, quota):
        random_ = random.Random(seed)
        client = None
        for i in range(quota["sessions"]):
            n = quota["steps"] // quota["sessions"]
            try:
                client = client or rpc.Client(self.engine.path, timeout=STUCK_S)
                self.session(client, random_, random_.randint(max(n - 3, 1), n + 3))
            except TimeoutError:
                self.problem(f"no answer within {STUCK_S} s: stuck: {client.asked} {self.states()}")
                return
            except (ConnectionError, FileNotFoundError, BrokenPipeError, OSError) as e:
                self.count("connections lost")
                if not self.options.wardens:
                    self.problem(f"connection lost: {e!r}")
                    return
                client = None
                time.sleep(0.2)
        if client:
            client.close()

    # ---- who kills ----

    def victim(self, random_):
        engine = self.engine.process.pid
        try:
            below = rpc.descendants(self.engine.warden)
        except StopIteration:
            return None
        kinds = collections.defaultdict(list)
        for pid in below:
            kinds["init" if rpc.name_of(pid) == "retort-init" else "driver"].append(pid)
        kind = random_.choices(["driver", "init"], [4, 1])[0]
        return (kind, random_.choice(kinds[kind])) if kinds[kind] and engine else None

    def sabotage(self):
        random_ = random.Random(self.options.seed)
        while not self.is_over:
            time.sleep(random_.expovariate(1 / self.options.kills))
            with self.killing:  # nobody dies who was chosen before the pause
                found = None if self.is_paused else self.victim(random_)
                if found:
                    try:
                        os.kill(found[1], signal.SIGKILL)
                        self.epoch += 1
                        self.count("killed: " + found[0])
                    except OSError:
                        pass

    def kill_warden(self):
        """The engine ends with a clear message; another opens the sessions from the journal."""
        self.epoch += 1
        self.count("killed: warden")
        client = rpc.Client(self.engine.path)
        kept = client("session.create")["session"]
        client.run(kept, "kept = 42")
        os.kill(self.engine.warden, signal.SIGKILL)
        try:
            status = self.engine.process.wait(10)
        except rpc.subprocess.TimeoutExpired:
            self.problem("the engine did not end with its warden")
            return
        if status != 125 or "the warden was ended" not in self.engine.said():
            self.problem(f"the engine ended with {status}: {self.engine.said()[-300:]}")
        client.close()
        self.engine.start()
        client = rpc.Client(self.engine.path)
        done = client.run(kept, "kept")
        if done["state"]["outcome"] != "replayed" or done["value"]["text/plain"] != "42":
            self.problem(f"a session did not come back: {done}")
        for left in client("session.list")["sessions"]:
            client("session.close", session=left["session"])
        client.close()

    # ---- what is held ----

    def holdings(self):
        """What engine, warden and host hold, when nothing is open."""
        engine, warden = self.engine.process.pid, self.engine.warden
        out = {}
        for name, pid in (("engine", engine), ("warden", warden)):
            try:
                out[name + " fds"] = len(os.listdir(f"/proc/{pid}/fd"))
            except PermissionError:
                continue  # neither can be looked into but by root: then only the host is looked at
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
                out[name + " memory"] = sum(int(l.split()[1]) << 10 for l in f if l.startswith("Private_Dirty"))
            with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as f:
                out[name + " mounts"] = len(f.read().splitlines())
        out["processes"] = len(rpc.descendants(warden))
        host = harness.host_state()
        self.mounts = host["mounts"]
        out["mounts"] = len(self.mounts)
        out["cgroups"] = len([c for c in host["cgroups"] if f"-{warden}-" in c])
        return out

    def judge(self, first, now, mounts):
        for what, (was, is_) in self.grown(first, now).items():
            new = f": {sorted(set(self.mounts) - set(mounts))}" if "mounts" in what else ""
            self.problem(f"{what} grew from {was} to {is_}{new}")

    def settled(self, first):
        """The holdings, once they are no more than @first or the time to settle is over."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            now = self.holdings()
            if not first or not self.grown(first, now) or time.monotonic() > deadline:
                return now
            time.sleep(0.2)

    @staticmethod
    def grown(first, now):
        # templates and what they keep ready come and go: some processes, descriptors and leaves; and the
        # eight leaves that are made ahead, each of four directories where cgroups are v1
        slack = {"engine fds": 24, "warden fds": 8, "processes": 12, "cgroups": 12 + 8 * 4,
                 "engine memory": MEMORY_SLACK, "warden memory": 1 << 20, "warden mounts": 0, "mounts": 0}
        return {k: (first[k], now[k]) for k in first if now[k] > first[k] + slack.get(k, 0)}

    # ---- all of it ----

    def round(self, n_sessions, n_steps):
        threads = []
        for i in range(self.options.clients):
            quota = {"sessions": max(n_sessions // self.options.clients, 1),
                     "steps": max(n_steps // self.options.clients, 1)}
            threads.append(threading.Thread(target=self.work, args=(random.random(), quota), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check_open(self):
        """Nothing is open any more."""
        client = rpc.Client(self.engine.path)
        left = [s for s in client("session.list")["sessions"] if s["state"] in ("idle", "working", "opening")]
        client.close()
        if left and not self.options.wardens:
            self.problem(f"{len(left)} sessions are left: {left[:3]}")

    def run(self):
        o = self.options
        random.seed(o.seed)
        start = time.monotonic()
        killer = threading.Thread(target=self.sabotage, daemon=True)
        if o.kills:
            killer.start()
        first, mounts = None, []
        wardens = set(random.sample(range(o.rounds - 1), min(o.wardens, o.rounds - 1)))
        for n in range(o.rounds):
            self.round(o.sessions // o.rounds, o.steps // o.rounds)
            if self.engine.process.poll() is not None:
                self.problem(f"the engine ended: {self.engine.process.returncode}: {self.engine.said()[-500:]}")
                break
            self.check_open()
            now = self.settled(first)
            if not first:
                first, mounts = now, self.mounts
            if n in wardens:
                self.judge(first, now, mounts)
                with self.killing:
                    self.is_paused = True
                self.kill_warden()
                self.is_paused = False
                first = None
            self.say(f"round {n + 1}/{o.rounds}: {self.counts['sessions']} sessions, "
                     f"{sum(v for k, v in self.counts.items() if k.startswith('step: '))} steps, "
                     f"{time.monotonic() - start:.0f} s; {now}")
        self.is_over = True
        if first and self.engine.process.poll() is None:
            self.judge(first, self.settled(first), mounts)
        self.finish()
        return not self.problems

    def finish(self):
        warden = None
        try:
            warden = self.engine.warden
        except StopIteration:
            pass
        status = self.engine.stop()
        if status != 0:
            self.problem(f"the engine ended with {status}: {self.engine.said()[-500:]}")
        if warden and [c for c in harness.host_state()["cgroups"] if f"-{warden}-" in c]:
            self.problem("cgroups are left")
        for name in sorted(self.counts):
            self.say(f"  {name}: {self.counts[name]}")
        self.say("verdict: " + ("FAILED" if self.problems else "passed"))


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sessions", type=int, default=10000)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--kills", type=float, default=0.5, metavar="SECONDS", help="mean time between kills; 0: none")
    parser.add_argument("--wardens", type=int, default=5, help="how often the warden is killed")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(0 if Soak(parse()).run() else 1)
