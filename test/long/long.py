#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that takes too long for each change, one part after the other, shortest first.

usage: test/long/long.py BUILD_DIR [PART]...

Parts: tests, load, soak, cpython, mutants. A part that fails does not keep the next from running; the exit status is 1 then.
"""

import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = "/usr/bin/python3"
# Name, minutes on two processors, what it is, command; {build} is the build directory.
PARTS = [
    ("load", 11, "200 clients with mixed work", ["test/load/load.py", "{build}/retort"]),
    ("tests", 25, "every suite as root and as user, with whole samples and 10,000 random plans",
     ["test/run.py", "{build}", "--identity", "both", "--long"]),
    ("cpython", 30, "CPython's own test suite in boxes", ["test/long/cpython.py", "{build}"]),
    ("soak", 30, "10,000 sessions with random kills", ["test/soak/soak.py"]),
    ("mutants", 240, "each join of labels left out once", ["test/mutants/mutants.py"]),
]


def main():
    build, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    unknown = set(names) - {part[0] for part in PARTS}
    if unknown:
        raise SystemExit(f"long.py: no part {', '.join(sorted(unknown))}: there are {', '.join(part[0] for part in PARTS)}")
    parts = [part for part in PARTS if not names or part[0] in names]
    print(f"about {sum(part[1] for part in parts)} minutes on two processors:")
    for name, minutes, what, _ in parts:
        print(f"  {name:8} {minutes:4} min  {what}", flush=True)
    failed = []
    for name, _, _, command in parts:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        done = subprocess.run([PYTHON, *(word.format(build=build) for word in command)], cwd=ROOT, check=False,
                              env=dict(os.environ, RETORT=os.path.join(build, "retort")))
        print(f"== {name}: {'ok' if done.returncode == 0 else 'FAILED'} after {(time.monotonic() - start) / 60:.0f} min", flush=True)
        failed += [name] if done.returncode else []
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
