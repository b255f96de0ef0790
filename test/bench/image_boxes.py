#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a box with an image costs, against the same box with the host's system.

usage: image_boxes.py RETORT [--rounds N] [--boxes N] [--megabytes N]

The image is made of this host's Python. Rows take turns, in rounds; a ratio is taken within its round:
  retort run -c 1, -r shell -c :       whole commands; the first run of an image is a row of its own
  sessions                             N sessions, each of which writes to the system (without an image: to the workspace),
                                       and what each of their boxes takes
  session.branch                       of a session that has written M MiB to the system (without an image: to the workspace)
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
from bench import machine  # noqa: E402
from processes import table  # noqa: E402
from service import Engine, calibration, charge_bytes, children, clock_ms, memory_leaves, save  # noqa: E402

import image_system  # noqa: E402


def timed(*argv, env=None):
    start = clock_ms()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    return clock_ms() - start


def bring(retort, system, state):
    subprocess.run([retort, "image", "import", system, "bench", "--state", state], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return dict(os.environ, RETORT_STATE=state)


def commands(retort, env, rounds):
    found = []
    for what in (("-c", "1"), ("-r", "shell", "-c", ":")):
        bare, image = [retort, "run", *what], [retort, "run", "--image", "bench", *what]
        first = timed(*image, env=env)
        samples = {"host": [], "image": []}
        for _ in range(rounds):
            samples["host"].append(timed(*bare, env=env))
            samples["image"].append(timed(*image, env=env))
        found.append(table(f"retort run {' '.join(what)} (the first of the image: {first:.1f} ms)", samples, "host"))
    return found


def warden_of(engine):
    return next(p for p in children(engine.process.pid) if open(f"/proc/{p}/comm").read() == "retort-warden\n")


def sessions(retort, system, rounds, n):
    times = {"host": [], "image": []}
    sizes = {"host": [], "image": []}
    for _ in range(rounds):
        for row in times:
            engine = Engine(retort)
            with engine as client:
                bring(retort, system, os.path.join(engine.home.name, "state"))
                more = {"image": "bench"} if row == "image" else {}
                path = "/usr/bin/new" if row == "image" else "new"
                client.create(**more)  # the prepared box
                start = clock_ms()
                ids = [s["session"] for s in client.many([client.make("session.create", **more) for _ in range(n)])[1]]
                client.many([client.make("step.run", session=i, code=f"open({path!r}, 'w').write('x')") for i in ids])
                times[row].append(clock_ms() - start)
                leaves = [charge_bytes(leaf)[0] for leaf in memory_leaves(warden_of(engine))]
                sizes[row].append(sum(leaves) / max(len(leaves), 1) / 1000 if leaves else 0)
    found = [table(f"{n} sessions, each having written a file", times, "host")]
    if all(sizes["host"]):
        found.append(table(f"what each of {n} boxes takes", sizes, "host", "kB"))
    return found


def branches(retort, system, rounds, megabytes):
    samples = {"host": [], "image": []}
    engine = Engine(retort)
    with engine as client:
        bring(retort, system, os.path.join(engine.home.name, "state"))
        parents = {}
        for row, where in (("host", "."), ("image", "/opt")):
            more = {"image": "bench"} if row == "image" else {}
            parents[row] = client.create(limits={"disk_bytes": 4 * megabytes << 20}, **more)
            code = f"import os\nos.makedirs({where!r}, exist_ok=True)\nfor i in range(50): open(f'{where}/f{{i}}', 'wb').write(" \
                   f"os.urandom({megabytes << 20} // 50))"
            client.run(parents[row], code)
        for _ in range(rounds):
            for row, parent in parents.items():
                start = clock_ms()
                made = client.call("session.branch", session=parent)
                samples[row].append(clock_ms() - start)
                client.close(made["session"])
    return [table(f"session.branch with {megabytes} MiB written", samples, "host")]


def main():
    parser = argparse.ArgumentParser(description="measure boxes with an image")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--boxes", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=50)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    print(f"bare python3: {calibration():.1f} ms")
    found = [machine()]
    with tempfile.TemporaryDirectory(prefix="retort-bench-") as there:
        system, state = os.path.join(there, "system"), os.path.join(there, "state")
        image_system.make_base(system)
        image_system.make_python(system)
        env = bring(retort, system, state)
        found += commands(retort, env, args.rounds)
        found += sessions(retort, system, max(args.rounds // 4, 3), args.boxes)
        found += branches(retort, system, args.rounds, args.megabytes)
    save(retort, "image_boxes", json.loads(json.dumps(found)))
    print(f"bare python3: {calibration():.1f} ms")


if __name__ == "__main__":
    main()
