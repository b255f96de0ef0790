#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each place where labels are joined, left out once: the tests of labels must notice.

usage: test/mutants/mutants.py [-k PATTERN] [--seconds N] [--list] [--keep DIR]

A copy of the tree gets, at every such place, a way to do less, chosen by $MUTANT when a test starts: it is built once, and
each mutant costs no more than the tests. One that no test notices is a survivor: a hole in the tests, or a join that is
not needed. Those of which it is known why are in test/mutants/survivors. Exit status 1: there are others.
"""

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
# The fast ones first: program, names of its tests, how many plans it makes up.
TESTS = [
    ("test-label", "", 0),
    ("test-policy", "", 0),
    ("test-check", "", 0),
    ("test-check_joins", "", 0),
    ("test-check_structures", "", 0),
    ("test-check_builtins", "", 0),
    ("test-flow_joins", "", 0),
    ("test-plan_flow", "labels_follow_values", 0),
    ("test-plan_flow", "", 200),
    ("test-plan_foreseen", "", 200),
    ("test-plan_flow", "", 4000),
    ("test-plan_foreseen", "", 2000),
]
SHOWN_ONLY = ["src/plan/check/check_print.c", "src/plan/check/check_json.c", "src/plan/check/check_explain.c"]

# Where, which call, and what is there instead of it: its arguments are {0}, {1}, …
CALLS = [
    ("*", "flow_join|flow_made|label_join|label_union|label_intersection|mark_join|av_join", ["{1}", "{2}"]),
    ("*", "kind_join|LABEL", ["{0}", "{1}"]),
    ("*", "NUMBER", ["NUMBER({0}, {0}, {2})", "NUMBER({1}, {1}, {2})", "LABEL({0}, {1})"]),
    ("*", "flow_fresh|flow_said|flow_number|computed_mark|mark_unplanned", ["{1}"]),
    ("src/plan/check/*.c", "mark_planned", ["(struct mark){{0}}"]),
    ("*", "FROM", ["FROM(0, {1}, {2})", "FROM({0}, 0, {2})", "FROM({0}, {1}, 0)"]),
    ("*", "av_with|label_made|label_composed|mark_made", ["{1}"]),
    ("*", "av_choice", ["{1}", "{2}", "av_join({0}, {1}, {2})"]),
    ("*", "join_changes", ["false", "join_changes({0}, {1}, (struct mark){{0}})"]),
    ("*", "join_branches", ["join_branches({0}, {1}, {2}, {3}, {4}, (struct mark){{0}})"]),
    ("*", "flow_whole|flow_shape", ["({1}).label"]),
    ("*", "SHAPE", ["({0}).label"]),
    ("src/plan/check/*.c", "whole|structure_of", ["({1}).m"]),
    ("src/plan/check/*.c", "mark_guard|truth_of|chosen|args_whole|mark_now", ["(struct mark){{0}}"]),
    ("*", "flow_choice|flow_guard|flow_presumed|flow_raise|flow_unknown|flow_change", ["0"]),
    ("*", "flow_may_change", ["true"]),
    ("*", "flow_is_below", ["false", "true"]),
    ("*", "flow_new|flow_old|flow_part|cell_add|guarded_left|guarded_writes", ["(void)0"]),
    ("src/plan/machine/flow_op.c", "placed|label_places", ["(void)0"]),
    ("src/plan/machine/flow.c", "label_parts|only_loud", ["(void)0"]),
    ("src/plan/check/check_*.c", "touch|places_lost|contents_add", ["(void)0"]),
    ("src/plan/machine/compile_flow.c", "note", ["false"]),
    ("src/plan/machine/compile_flow.c", "written|all_written|name_written|search|bound|collect|called|key_called|variable_called", ["(void)0"]),
    ("src/plan/machine/loop.inc", "GUARD", ["{0}=0"]),
    ("src/plan/machine/loop.inc", "GUARD2", ["{0}=0", "{1}=0"]),
    ("src/plan/machine/loop.inc", "PUT|PUT_BOOL", ["{2}=0"]),
    ("src/plan/machine/loop.inc", "SET_LABEL", ["{1}=0"]),
]

# The same of what is no call: an expression and what is there instead of it.
PATTERNS = [
    ("*", r"\b(\w+->a == [\w.]+) && (\w+->b == [\w.]+)", [r"\1", r"\2"]),  # memos
    ("src/plan/machine/flow*", r"\bm->a == label\b(?! &&)", ["m->a"]),
    ("src/plan/machine/flow*", r"\bm->a != label\b", ["!m->a"]),
    ("src/plan/machine/flow.c", r"vm->flow\.events\[i\]\.epoch > \*seen", ["false"]),
    ("src/plan/machine/flow.c", r"!?w->is_left\b", ["false", "true"]),
    ("src/plan/machine/flow.c", r"w->is_unknown\b", ["false"]),
    ("src/label/label.c", r"x\.is_composed \| y\.is_composed", ["x.is_composed", "y.is_composed"]),
    ("src/plan/machine/compile_flow.c", r"(?<=\t)(?:k->changes|(?:k->|set\.|set->)is_unknown) \|?= [^;]+(?=;)", ["(void)0"]),
]

PRELUDE = """#pragma once
__attribute__((weak)) int mutant;
int atoi(const char *);
char *getenv(const char *);
__attribute__((constructor, unused)) static void choose_mutant(void)
{
	const char *number = getenv("MUTANT");
	mutant = number ? atoi(number) : 0;
}
"""


class Mutant:
    def __init__(self, number, path, line, name):
        self.number, self.path, self.line, self.name = number, path, line, name


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def arguments(text, start):
    """The arguments of the call whose bracket is before @start, as places, and where it ends."""
    depth, begin, found = 0, start, []
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}" and depth > 0:
            depth -= 1
        elif text[at] == ")" or (text[at] == "," and depth == 0):
            found.append((begin, at))
            begin = at + 1
            if text[at] == ")":
                return found, at + 1
    raise SystemExit("mutants: a call without an end: " + text[start : start + 60])


def sites(path, text):
    """What may be changed: (start, end, arguments, templates)."""
    bare = without_comments(text)
    for where, names, templates in CALLS:
        if not fnmatch.fnmatch(path, where):
            continue
        for m in re.finditer(r"(?<![\w>.])(?:%s)\(" % names, bare):
            line = bare[bare.rfind("\n", 0, m.start()) + 1 : m.start()]
            # Not where it is declared or defined.
            if line.endswith("#define ") or not re.match(r"[\s#]", line or "x"):
                continue
            args, end = arguments(bare, m.end())
            yield m.start(), end, tuple(args), tuple(templates)
    for where, pattern, templates in PATTERNS:
        if fnmatch.fnmatch(path, where):
            for m in re.finditer(pattern, bare):
                yield m.start(), m.end(), (), tuple(m.expand(t) for t in templates)


def function_at(text, at):
    """The function, the macro or the label in which that place is."""
    names = re.findall(r"^(?:#define )?(?:[a-z][\w *]*?[ *])?(\w+)\(|^\t?(L_\w+) ?:", text[:at], flags=re.M)
    return "".join(names[-1]) if names else "-"


def brief(text):
    return re.sub(r"\s*\\?\n\s*|\s+", " ", text).strip()


class Source:
    """A file, and its text with the mutants in it."""

    def __init__(self, path, text, mutants):
        self.path, self.text, self.mutants = path, text, mutants
        self.sites = sorted(sites(path, text), key=lambda s: (s[0], -s[1]))
        self.names, before = {}, len(mutants)
        self.numbers = {site: [self.make(site, t) for t in site[3]] for site in self.sites}
        self.result = self.within(0, len(text))
        for mutant in mutants[before:]:
            if "mutant == %d " % mutant.number not in self.result:
                raise SystemExit("mutants: not in the text, for it is within another: " + mutant.name)

    def make(self, site, template):
        given = [brief(self.text[a:b]) for a, b in site[2]]
        said = template.format(*given) if given else template
        where = "%s %s" % (os.path.basename(self.path), function_at(self.text, site[0]))
        name = "%s: %s -> %s" % (where, brief(self.text[site[0] : site[1]]), said)
        self.names[name] = self.names.get(name, 0) + 1
        if self.names[name] > 1:
            name += " (%d)" % self.names[name]
        mutant = Mutant(len(self.mutants) + 1, self.path, self.text.count("\n", 0, site[0]) + 1, name)
        self.mutants.append(mutant)
        return mutant.number

    def within(self, start, end):
        out, at = [], start
        for site in self.sites:
            if at <= site[0] and site[1] <= end:
                out += [self.text[at : site[0]], self.changed(site)]
                at = site[1]
        return "".join(out) + self.text[at:end]

    def changed(self, site):
        start, end, args, templates = site
        numbers = self.numbers[site]
        given = [self.within(a, b).strip() for a, b in args]
        if not args:
            same, ways = self.text[start:end], list(templates)
        else:
            for number, template in zip(numbers, templates):
                if template.endswith("=0"):  # a statement: only its argument can be chosen
                    i = int(template[1])
                    given[i] = "(mutant == %d ? 0u : (%s))" % (number, given[i])
            same = self.text[start : args[0][0]] + ",".join(given) + ")"
            if templates[0].endswith("=0"):
                return same
            ways = [t.format(*given) for t in templates]
        return "(" + "".join("mutant == %d ? (%s) : " % pair for pair in zip(numbers, ways)) + "(%s))" % same


def mutate(tree):
    """Change the sources of @tree. Returns: the mutants."""
    mutants = []
    names = sorted(os.path.join(top, name) for directory in ("src/label", "src/plan")
                   for top, _, names in os.walk(os.path.join(tree, directory)) for name in names)
    for name in names:
        path = os.path.relpath(name, tree)
        if path in SHOWN_ONLY or not name.endswith((".c", ".h", ".def", ".inc")):
            continue
        with open(name, encoding="utf-8") as f:
            source = Source(path, f.read(), mutants)
        if source.sites:
            with open(name, "w", encoding="utf-8") as f:
                f.write(source.result)
    return mutants


def build(tree):
    with open(os.path.join(tree, "mutant.h"), "w", encoding="utf-8") as f:
        f.write(PRELUDE)
    out = os.path.join(tree, "build")
    setup = ["meson", "setup", out, tree, "-Dc_args=-w -include " + os.path.join(tree, "mutant.h")]
    for command in (setup, ["ninja", "-C", out, "-j1"] + sorted({"test/" + t[0] for t in TESTS})):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout[-4000:])
            raise SystemExit("mutants: the changed tree in %s does not build" % tree)


def run(tree, test, number, limit_s):
    """Returns: why it is red, or None."""
    program, name, n_plans = test
    env = dict(os.environ, MUTANT=str(number), RETORT_PLANS=str(n_plans))
    command = ["timeout", str(limit_s), os.path.join(tree, "build", "test", program), name]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as child:
        for line in child.stdout:
            if line.startswith("not ok"):
                child.terminate()
                return "%s %s" % (program, line.split()[-1])
    return "%s ends with %d" % (program, child.returncode) if child.returncode else None


def baseline(tree):
    """Nothing changed must be green. Returns: how long each test may take."""
    limits = {}
    for test in TESTS:
        start = time.monotonic()
        why = run(tree, test, 0, 300)
        if why:
            raise SystemExit("mutants: red without a mutant: " + why)
        limits[test] = 20 + int(10 * (time.monotonic() - start))
    return limits


def known_survivors():
    with open(os.path.join(HERE, "survivors"), encoding="utf-8") as f:
        return {line.strip() for line in f if line.startswith("\t")}


def look(tree, mutants, args):
    limits, known = baseline(tree), known_survivors()
    end = time.monotonic() + args.seconds if args.seconds else None
    n = {"red": 0, "known": 0, "survivor": 0}
    survivors = []
    for mutant in mutants:
        if end and time.monotonic() > end:
            break
        why = next(filter(None, (run(tree, t, mutant.number, limits[t]) for t in TESTS)), None)
        verdict = "red" if why else "known" if mutant.name in known else "survivor"
        n[verdict] += 1
        if verdict == "survivor":
            survivors.append(mutant)
        if why and mutant.name in known:
            why += " (no survivor any more)"
        place = "%s:%d" % (mutant.path, mutant.line)
        print("%-8s %s %s%s" % (verdict, place, mutant.name, "  # " + why if why else ""), flush=True)
    print("%d of %d mutants looked at: %d red, %d survive for a known reason, %d for none that is known" % (
        sum(n.values()), len(mutants), n["red"], n["known"], n["survivor"]))
    for mutant in survivors:
        print("  %s:%d\n\t%s" % (mutant.path, mutant.line, mutant.name))
    return 1 if survivors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-k", metavar="PATTERN", default="", help="only those whose file:line or name has it")
    parser.add_argument("--seconds", type=int, help="stop after so many")
    parser.add_argument("--list", action="store_true", help="only say which there are")
    parser.add_argument("--keep", metavar="DIR", help="build there, and leave it")
    args = parser.parse_args()
    where = args.keep or tempfile.mkdtemp(prefix="mutants-")
    tree = os.path.join(where, "tree")
    try:
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(TREE, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "build*", "__pycache__"))
        mutants = [m for m in mutate(tree) if args.k in "%s:%d %s" % (m.path, m.line, m.name)]
        if args.list:
            print("\n".join("%s:%d %s" % (m.path, m.line, m.name) for m in mutants))
            return 0
        build(tree)
        return look(tree, mutants, args)
    finally:
        if not args.keep:
            shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
