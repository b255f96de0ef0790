#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a template with packages costs its boxes, against boxes that see the same files of the host as a volume.

usage: templates.py RETORT [--rounds N]

Rows take turns, in rounds, and a ratio is taken within its round. The files are a package of 400 modules:
  box      a process of its own: `retort run -c 1`
  session  session.create and its first step, from a prepared interpreter of which a branch is ready
  import   a step that imports all modules, in a new interpreter
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from bench import machine
from processes import table
from service import Engine, calibration, clock_ms, save

MAKE = """
import compileall, os
os.mkdir("part")
body = "".join(f"def f{k}(x):\\n    return [x + {k}, {{'a': x * {k}}}]\\n\\n" for k in range(40))
for name in ["__init__", *(f"m{i}" for i in range(400))]:
    open(f"part/{name}.py", "w").write(body)
compileall.compile_dir("part", quiet=1, invalidation_mode=compileall.py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""
IMPORT = """
import sys, importlib
sys.path.insert(0, "/opt/bench")
for i in range(400): importlib.import_module(f"part.m{i}")
"""
READY_S = 0.05  # time in which the engine makes the next branch


def boxes(retort, kinds, env, rounds):
    samples = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, (options, _) in kinds.items():
            start = clock_ms()
            subprocess.run([retort, "run", *options, "-c", "1"], env=env, check=True, stdout=subprocess.DEVNULL)
            samples[name].append(clock_ms() - start)
    return table("a box: retort run -c 1", samples, "a volume")


def sessions(engine, kinds, rounds):
    samples = {name: [] for name in kinds}
    for i in range(rounds + 1):
        for name, (_, params) in kinds.items():
            start = clock_ms()
            session = engine.create(**params)
            engine.run(session, "1")
            if i > 0:
                samples[name].append(clock_ms() - start)
            engine.call("session.close", session=session)
            time.sleep(READY_S)
    return table("a session: session.create and its first step", samples, "a volume")


def imports(engine, kinds, rounds):
    samples = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, (_, params) in kinds.items():
            session = engine.create(fresh=True, **params)
            samples[name].append(engine.run(session, IMPORT)[0])
            engine.call("session.close", session=session)
    return table("a step that imports 400 modules", samples, "a volume")


def main():
    parser = argparse.ArgumentParser(description="measure boxes of templates with packages")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=60)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    print(f"bare python3: {calibration():.1f} ms")
    found = [machine()]
    with tempfile.TemporaryDirectory(prefix="retort-bench-") as home:
        env = {**os.environ, "XDG_STATE_HOME": home}
        files = os.path.join(home, "files")
        os.mkdir(files)
        subprocess.run([sys.executable, "-c", MAKE], cwd=files, check=True)
        os.environ["XDG_STATE_HOME"] = home
        with Engine(retort) as engine:
            engine.call("template.build", name="bench", command=["python3", "-c", MAKE])
            subprocess.run([retort, "template", "build", "bench", "-q", "--", "python3", "-c", MAKE], env=env, check=True,
                           stdout=subprocess.DEVNULL)
            kinds = {
                "a volume": (["-v", files + ":/opt/bench"], {"volumes": [{"src": files, "dst": "/opt/bench"}]}),
                "a template": (["--template", "bench"], {"template": "bench"}),
            }
            found.append(boxes(retort, kinds, env, args.rounds))
            found.append(sessions(engine, kinds, args.rounds))
            found.append(imports(engine, kinds, max(args.rounds // 4, 5)))
    save(retort, "templates", found)
    print(f"bare python3: {calibration():.1f} ms")


if __name__ == "__main__":
    main()
