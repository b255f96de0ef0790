#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which module and which room may include which; where libraries and calls may be used; what a header is
named after; that a tag has one meaning in a module.

usage: dev/check_layers.py [ROOT]
       dev/check_layers.py --write [ROOT]     write the table of modules into ARCHITECTURE.md
"""

import os
import re
import sys

# A module may include itself and what stands after its colon. ARCHITECTURE.md's table is made of this.
LAYERS = {
    "base": "",
    "label": "base",
    "plan": "base label",
    "sandbox": "base",
    "runtime": "base sandbox",
    "store": "base",
    "net": "base",
    "gateway": "base net",
    "layer": "base",
    "image": "base net sandbox layer",
    "session": "base sandbox runtime gateway layer image",
    "registry": "base sandbox runtime store gateway layer session",
    "tool": "base label net",
    "package": "base gateway tool",
    "agent": "base net tool",
    "planner": "base plan tool agent",
    "api": "base runtime gateway layer image session registry tool package agent planner",
    "serve": "base net api",
    "cli": "base planner api serve",
}

# What each is, for that table.
ABOUT = {
    "base": "errors, bounded buffers, descriptors, numbers with units, UTF-8, option tables",
    "label": "labels of values (taint): origins, readers, kinds, endorsements, and how they join",
    "plan": "the language of plans, its policies, and the check of data flows before a run; makes no system call",
    "sandbox": "warden, init, syscall filter, cgroups, limits, and the messages between engine, warden and init",
    "runtime": "the table of languages: how each driver is started; frames",
    "store": "the journal: steps and sessions in SQLite; export and import",
    "net": "the HTTP client, and the library of the HTTP servers; the only user of libcurl",
    "gateway": "network rules, and the process that connects boxes to what their rules name",
    "session": "one session over its box: steps, state, rollback, files, record",
    "layer": "files of templates and images: sealed, named by their content, kept as long as they are used",
    "image": "images: names, documents, registries, and the process that unpacks layers",
    "registry": "all sessions, by name: queue, journal, branches, templates, undo, replay",
    "tool": "tools: the provider interface, tools from a file, MCP servers, validation, approval",
    "package": "sets of rules: the hosts from which the clients of this host get packages",
    "agent": "models: wire formats, errors, retries; the loop of code and answers",
    "planner": "plans run: tools, prompts, records; and the process in which a front's plans run",
    "api": "the table of operations that every front calls; the gate that tool calls pass",
    "serve": "the operations as JSON-RPC on a unix socket and over HTTP; fronts, ports and terminals over HTTP; MCP; who may call",
    "cli": "a file or a room per command, option tables, help, completion, manual pages",
}

# The rooms of a module, from the ground up: each may include those before it. "." is the module's own folder.
ROOMS = {
    "base": ". helper",
    "plan": "value syntax machine builtin policy check program",
    "sandbox": ". init warden",
    "gateway": "rule . process",
    "registry": "start . build",
    "session": "start box process port net step .",
    "agent": "wire answer query loop",
    "planner": ". process",
    "image": "process . pull",
    "api": "text row gate run once operation skill agent call .",
    "serve": ". tls http front web mcp jupyter e2b openterminal",
    "cli": "screen host . help session process template image ssh agent repl kernel notebook",
}

# Headers without a .c of their name in their module, and why. All others are named after theirs, or are
# the inside.h of a room.
ALONE = {
    "base/ascii.h": "functions of one line",
    "base/attr.h": "attributes and macros",
    "base/clock.h": "functions of one line",
    "base/moment.h": "functions of one line",
    "base/sched.h": "functions of one line",
    "base/timer.h": "functions of one line",
    "runtime/start.h": "how a driver is started, as each runtime fills it in",
    "agent/wire/message.h": "what is said to models, which all wire formats share",
    "plan/value/function.h": "what code, functions and built-ins are, read together",
    "plan/syntax/dialect.h": "a table of what a dialect has",
    "plan/syntax/tree.h": "nodes, which the parser makes and all others read",
    "api/row/row.h": "the type of a row of the operation table",
    "api/operation/calls.h": "the functions of the operation table",
    "tool/provider.h": "an interface that four files implement",
    "sandbox/cgroup_ops.h": "a table type that four files fill",
    "sandbox/filter.h": "the format of the filter's program, which three programs share",
    "sandbox/limits.h": "the table of limits",
    "sandbox/syscalls.h": "system calls that libc lacks",
    "sandbox/wire.h": "every message between three programs, in one place",
    "image/process/wire.h": "the messages between engine and retort-unpack",
    "serve/front/wire.h": "an interface that front.c implements, for wires in several rooms",
    "tool/mcp_link.h": "an interface that two transports implement",
}

# Headers of libraries, and the only places that may include them.
ONLY = {
    r"sqlite3\.h": r"store/",
    r"curl/": r"net/",
    r"archive(_entry)?\.h": r"(base/libarchive\.h|cli/process/|image/process/)",
    r"microhttpd\.h": r"net/",
    r"wslay/": r"serve/web/wslay\.h",
    r"zmq\.h": r"serve/jupyter/libzmq\.h",
    r"zlib\.h": r"serve/e2b/inflate\.c",
    r"gnutls/": r"(gateway/|serve/tls/|serve/web/wslay\.h)",
    r"gmp\.h": r"plan/value/int\.c",
    r"seccomp\.h": r"sandbox/filter_\w+\.c",
    r"sodium": r"(base/(digest|base64)\.c|store/|gateway/process/names\.c|serve/mcp/seal\.c|serve/http/token\.c|serve/jupyter/signature\.c)",
    r"uv\.h": r"(base/(timer|work|readable|relay|helper/helper)\.[ch]|sandbox/\w+\.[ch]|gateway/|image/|session/|registry/|planner/|api/|serve/|agent/|net/|tool/)",
    r"jansson\.h": r"(base/json\.h|gateway/|layer/|image/|session/|registry/|planner/|store/|runtime/|api/|serve/|agent/|net/|tool/|cli/)",
}

# What one place does for all, and what others call there. The time of a loop is stale outside of its turn, and a time
# that was read earlier may be before another one.
CALLS = {r"\b(uv_timer_start|uv_timer_again)\s*\(": (r"base/timer\.h", "timer_start()"),
         r"\b(uv_now|uv_update_time)\s*\(": (r"base/timer\.h", "timer_now()"),
         r"\b(timer_now\(\)\s*-)\s": (r"base/timer\.h", "timer_since()")}

# Modules without effects: nothing of the system is within reach.
PURE = ("label", "plan")
PURE_HEADERS = {"assert.h", "errno.h", "inttypes.h", "limits.h", "math.h", "stdarg.h", "stdbool.h",
                "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "gmp.h"}

# Parts of base that are not for all: what uses jansson, what touches files, what ends the process.
NOT_FOR = {
    "base/json.h": r"(label|plan|sandbox)/",
    "base/file.h": r"(label|plan)/",
    "base/id.h": r"(label|plan)/",
    "base/alloc.h": r"(label|plan|sandbox/warden|sandbox/init)/",
}

# Programs of their own: nobody links into them, and they link nothing but libc.
TRUSTED = ("sandbox/warden/", "sandbox/init/")

# Places, and the modules that their code never reaches, by any chain of includes: a header leads to the
# .c of its name as well. So `retort run` never calls SQLite.
UNREACHED = {"api/once/": ("store", "registry")}

# Tags that two files of a module define, and why.
TWICE = {("planner", "plan_tools"): "one interface, implemented by two programs"}

TAG = re.compile(r"^(?:struct|enum|union)\s+(\w+)\s*\{", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else "."


def check_room(module, path, target):
    rooms = ROOMS.get(module, ".").split()
    own, other = room_of(path), room_of(target)
    if os.path.basename(target) == "inside.h" and os.path.dirname(path) != os.path.dirname(target):
        yield f'"{target}" is for the files beside it only'
    if {own, other} <= set(rooms) and rooms.index(other) > rooms.index(own):
        yield f'room {own} of {module} may not include the room {other} above: "{target}"'


def check_own(path, target):
    module, other = path.split("/")[0], target.split("/")[0]
    allowed = {module, *LAYERS.get(module, "").split()}
    if "/" not in target:
        yield f'"{target}" does not name its module'
    elif other not in LAYERS:
        yield f'"{target}" belongs to a module that the table does not know'
    elif other not in allowed:
        yield f'{module} may not include {other}: "{target}"'
    elif other == module:
        yield from check_room(module, path, target)
    if re.match(NOT_FOR.get(target, r"$^"), path):
        yield f'"{target}" is not for {module}'
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
    for call, (places, instead) in CALLS.items():
        found = re.search(call, line)
        if found and not re.match(places, path):
            yield f"{found[1]}: call {instead}"


def check_file(src, path, used):
    with open(os.path.join(src, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            for problem in check_calls(path, line):
                yield f"src/{path}:{number}: {problem}"
            match = INCLUDE.match(line)
            if not match:
                continue
            if match[1] == '"':
                used.add((path.split("/")[0], match[2].split("/")[0]))
            check = check_own if match[1] == '"' else check_system
            for problem in check(path, match[2]):
                yield f"src/{path}:{number}: {problem}"


def check_names(paths):
    """A header is named after a .c of its module, or is the inside.h of a room."""
    sources = {(path.split("/")[0], os.path.basename(path)) for path in paths if path.endswith(".c")}
    for path in paths:
        module, name = path.split("/")[0], os.path.basename(path)
        if not name.endswith(".h") or name == "inside.h":
            continue
        has_source = (module, name[:-2] + ".c") in sources
        if not has_source and path not in ALONE:
            yield f"src/{path}: a header without a .c of its name"
        if has_source and path in ALONE:
            yield f"src/{path}: has a .c of its name, and can leave the list ALONE"
    for path in ALONE:
        if path not in paths:
            yield f"src/{path}: in the list ALONE, but not there"


def check_tags(src, paths):
    """A tag has one meaning in a module."""
    places = {}
    for path in paths:
        with open(os.path.join(src, path), encoding="utf-8") as f:
            for tag in TAG.findall(f.read()):
                places.setdefault((path.split("/")[0], tag), []).append(path)
    for (module, tag), found in sorted(places.items()):
        if len(found) > 1 and (module, tag) not in TWICE:
            yield f"src/{found[1]}: the tag {tag} means something else in src/{found[0]}"


def check_rows(used):
    """The table is true: a module that another does not include is not in its row."""
    for module, row in LAYERS.items():
        for other in row.split():
            if (module, other) not in used:
                yield f"src/{module}: includes nothing of {other}, which its row allows"


def includes_of(src, path):
    with open(os.path.join(src, path), encoding="utf-8") as f:
        return [match[2] for match in map(INCLUDE.match, f) if match and match[1] == '"']


def check_reach(src, paths):
    sources_of = {}
    for path in paths:
        if path.endswith(".c"):
            sources_of.setdefault((path.split("/")[0], os.path.basename(path)[:-2]), []).append(path)
    for place, forbidden in UNREACHED.items():
        came_from = {path: None for path in paths if path.startswith(place)}
        todo = list(came_from)
        while todo:
            path = todo.pop()
            module, name = path.split("/")[0], os.path.splitext(os.path.basename(path))[0]
            for target in [*includes_of(src, path), *sources_of.get((module, name), [])]:
                if target not in came_from and os.path.exists(os.path.join(src, target)):
                    came_from[target] = path
                    todo.append(target)
        for path in came_from:
            if path.split("/")[0] in forbidden:
                chain = [path]
                while came_from[chain[-1]]:
                    chain.append(came_from[chain[-1]])
                yield f"src/{place}: reaches src/{path}: " + " < ".join(chain[1:])


def sources(src):
    for top, _, names in sorted(os.walk(src)):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def", ".inc")):
                yield os.path.relpath(os.path.join(top, name), src)


def table():
    """The modules and their rooms, from the ground up."""
    rows = ["| module | may include | rooms, from the ground up | what it is |", "|---|---|---|---|"]
    for module, row in LAYERS.items():
        below = " ".join(f"`{name}`" for name in row.split())
        rooms = " ".join(f"`{room}/`" for room in ROOMS.get(module, "").split() if room != ".")
        rows.append(f"| `{module}` | {below} | {rooms} | {ABOUT[module]} |")
    return "\n".join(rows) + "\n"


def check_table(root, is_written):
    """ARCHITECTURE.md has the table; or, @is_written, has it from now on."""
    path = os.path.join(root, "ARCHITECTURE.md")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        text = f.read()
    before, begin, rest = text.partition("<!-- modules -->\n")
    _, end, after = rest.partition("<!-- /modules -->")
    whole = before + begin + table() + end + after
    if is_written and begin and end:
        with open(path, "w", encoding="utf-8") as f:
            f.write(whole)
    elif whole != text:
        yield "ARCHITECTURE.md: its table of modules is out of date: run make docs"


def main():
    is_written = "--write" in sys.argv
    roots = [argument for argument in sys.argv[1:] if argument != "--write"]
    root = roots[0] if roots else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    src = os.path.join(root, "src")
    problems, used, paths = [], set(), list(sources(src))
    for path in paths:
        if path.split("/")[0] not in LAYERS:
            problems.append(f"src/{path}: a module that the table does not know")
        elif room_of(path) not in ROOMS.get(path.split("/")[0], ".").split():
            problems.append(f"src/{path}: a room that the table does not know")
        problems += check_file(src, path, used)
    problems += [*check_names(paths), *check_tags(src, paths), *check_rows(used), *check_reach(src, paths), *check_table(root, is_written)]
    print("\n".join(problems + [f"layers: {len(paths)} files, {len(problems)} problems"]))
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
