#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `pip install` costs in a box, through the gateway, against the same pip on the host.

usage: packages.py RETORT [--rounds N] [--real NAME,…]

Rows take turns, in rounds, and a ratio is taken within its round. Both install into ~/.local on a tmpfs, without a cache:
  wheels   six wheels, 24 MiB and 2,400 files, from a registry on this host's loopback (aim: a ratio of 1.15)
  real     with --real, these packages from the registry that this host's pip uses; with --net '!pypi'
The whole step is from the call of step.run to its answer: the record lists all new files.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

from bench import machine
from processes import PYTHON, table
from service import Engine, calibration, save

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("", "system")]
import registry  # noqa: E402

WHEELS, FILES, DATA_BYTES = 6, 400, 4 << 20  # files and data of each wheel
CODE = """
import subprocess, sys, time
start = time.perf_counter()
subprocess.run(["/usr/bin/python3", "-m", "pip", "install", "-q", "--user", "--no-cache-dir", "--no-warn-script-location",
                *{names!r}], check=True)
print((time.perf_counter() - start) * 1000)
"""
CLEAN = "import shutil; shutil.rmtree('/home/user/.local')"
LIMITS = {"memory_bytes": 2 << 30, "disk_bytes": 1 << 30, "cpus": os.cpu_count(), "timeout_ms": 300_000}


def fill(there):
    """Modules that are compiled, and data that does not get smaller."""
    chance = random.Random(1)
    for i in range(WHEELS):
        name, body = f"part{i}", "".join(f"def f{k}(x):\n    return [x + {k}, {{'a': x * {k}}}]\n\n" for k in range(40))
        files = {f"{name}/m{k}.py": body for k in range(FILES)}
        there.wheel(name, "1.0", files | {f"{name}/data.bin": chance.randbytes(DATA_BYTES)},
                    needs=[f"part{i + 1}"] if i + 1 < WHEELS else [])


def direct(names, env):
    """On the host. Returns: ms."""
    with tempfile.TemporaryDirectory(prefix="retort-bench-", dir="/dev/shm") as home:
        env = {"HOME": home, "PATH": "/usr/bin:/bin", "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
               "PIP_ROOT_USER_ACTION": "ignore", **env}
        return float(subprocess.check_output([PYTHON, "-I", "-c", CODE.format(names=names)], env=env, cwd="/"))


def compare_installs(title, retort, rule, names, env, rounds):
    samples = {"on the host": [], "in a box": [], "the whole step": []}
    os.environ.update(env)
    with Engine(retort) as engine:
        session = engine.create(runtime="python", net=[rule], limits=LIMITS)
        for _ in range(rounds):
            samples["on the host"].append(direct(names, env))
            took, record = engine.run(session, CODE.format(names=names))
            samples["the whole step"].append(took)
            samples["in a box"].append(float(record["stdout"]))
            engine.run(session, CLEAN)
    return table(title, samples, "on the host")


def main():
    parser = argparse.ArgumentParser(description="measure pip install in a box")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--real", default="")
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    if not registry.PIP:
        print("no pip here: left out")
        return
    print(f"bare python3: {calibration():.1f} ms")
    found = [machine()]
    real_env = {name: value for name, value in os.environ.items() if name in ("PIP_INDEX_URL", "PIP_CERT", "SSL_CERT_FILE")}
    os.environ.pop("PIP_FIND_LINKS", None)
    if args.real:
        names = args.real.split(",")
        found.append(compare_installs(f"pip install {' '.join(names)}", retort, "!pypi", names, real_env, args.rounds))
    with registry.Registry() as there:
        fill(there)
        env = {"PIP_INDEX_URL": f"http://127.0.0.1:{there.port}/simple"}
        found.append(compare_installs("pip install: six wheels of a registry on the loopback (aim: a ratio of 1.15)",
                                      retort, "pypi", ["part0"], env, args.rounds))
    save(retort, "packages", found)
    print(f"bare python3: {calibration():.1f} ms")


if __name__ == "__main__":
    main()
