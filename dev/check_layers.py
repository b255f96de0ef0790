#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: modules, libraries, and the programs that are trusted; and who may call what.

usage: dev/check_layers.py [ROOT]
"""

import os
import re
import sys

# A module may include itself and what stands after its colon. Source: ARCHITECTURE.md.
LAYERS = {
    "base": "",
    "label": "base",
    "plan": "base label",
    "sandbox": "base",
    "runtime": "base sandbox",
    "store": "base label",
    "session": "base label sandbox runtime store",
    "net": "base",
    "tool": "base label net",
    "agent": "base label plan net session tool",
    # The limits of a request are the sandbox's own words; session hands out what it has of runtime.
    "api": "base label plan session tool agent",
    "serve": "base api",
    "cli": "base api serve",
}

# Headers of libraries, and the only places that may include them.
ONLY = {
    r"sqlite3\.h": r"store/",
    r"curl/": r"net/",
    r"microhttpd\.h": r"serve/",
    r"gmp\.h": r"plan/int\.c",
    r"seccomp\.h": r"sandbox/filter_\w+\.c",
    r"sodium": r"(session/|store/|serve/mcp/seal\.c|serve/http/token\.c|api/base64\.c|api/gate_handler\.c|api/plan_record\.c|api/run_step\.c|api/shelf\.c|api/skill\.c"
               r"|cli/picture\.c)",
    r"uv\.h": r"(base/(timer|work)\.h|sandbox/\w+\.[ch]|session/|api/|serve/|agent/|net/|tool/)",
    r"jansson\.h": r"(session/|store/|runtime/|api/|serve/|agent/|net/|tool/|cli/)",
}

# Calls that one place makes for all. The time of a loop is stale outside of its turn: base/timer.h.
CALLS = {r"\b(uv_timer_start|uv_timer_again|uv_now|uv_update_time)\s*\(": r"base/timer\.h"}

# Modules without effects: nothing of the system is within reach.
PURE = ("label", "plan")
PURE_HEADERS = {"assert.h", "errno.h", "inttypes.h", "limits.h", "math.h", "stdarg.h", "stdbool.h",
                "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "gmp.h"}

# Programs of their own: nobody links into them, and they link nothing but libc.
TRUSTED = ("sandbox/warden/", "sandbox/init/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check_own(path, target):
    module, other = path.split("/")[0], target.split("/")[0]
    allowed = {module, *LAYERS.get(module, "").split()}
    if "/" not in target:
        yield f'"{target}" does not say of which module it is'
    elif other not in LAYERS:
        yield f'"{target}" is of no module that the table knows'
    elif other not in allowed:
        yield f"{module} may not include {other}: \"{target}\""
    if target.startswith(TRUSTED) and not path.startswith(TRUSTED):
        yield f'"{target}" belongs to a program of its own'
    if path.startswith(TRUSTED) and other not in ("base", "sandbox"):
        yield f'trusted code may not include "{target}"'


def check_system(path, target):
    for header, places in ONLY.items():
        if not re.match(header, target):
            continue
        if not re.match(places, path):
            yield f"<{target}> may be included in {places} only"
        if path.startswith(TRUSTED):
            yield f"trusted code may not include <{target}>"
    if path.split("/")[0] in PURE and target not in PURE_HEADERS:
        yield f"<{target}> in a module without effects"


def check_calls(path, line):
    for call, places in CALLS.items():
        found = re.search(call, line)
        if found and not re.match(places, path):
            yield f"{found[1]}() may be called in {places} only"


def check_file(src, path):
    with open(os.path.join(src, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            for problem in check_calls(path, line):
                yield f"src/{path}:{number}: {problem}"
            match = INCLUDE.match(line)
            if not match:
                continue
            check = check_own if match[1] == '"' else check_system
            for problem in check(path, match[2]):
                yield f"src/{path}:{number}: {problem}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    src = os.path.join(root, "src")
    problems, n_files = [], 0
    for top, _, names in sorted(os.walk(src)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(top, name), src)
            if not name.endswith((".c", ".h", ".def")):
                continue
            n_files += 1
            if path.split("/")[0] not in LAYERS:
                problems.append(f"src/{path}: a module that the table does not know")
            problems += check_file(src, path)
    print("\n".join(problems + [f"layers: {n_files} files, {len(problems)} problems"]))
    return 1 if problems or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
