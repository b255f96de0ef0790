#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's suites of Starlark, from checkouts that the environment names.

RETORT_STARLARK_SUITE   bazelbuild/starlark
RETORT_STARLARK_GO      google/starlark-go
RETORT_STARLARK_RUST    facebook/starlark-rust

usage: test/conformance/run.py BUILD [-v]

A chunk passes when every assertion holds and every error is where it is expected. What an error says is
counted by itself: words are each implementation's own. Known differences are in exceptions.txt, each with
its reason; one that is not needed any more is a failure too.
"""

import ast
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 60
LINE = re.compile(r"^([A-Z]+)\t(\d+)\t([^\t]*)\t([^\t]*)\t?$", re.M)


def unescape(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


def run(host, source, *args):
    done = subprocess.run([host, *args], input=source.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=TIMEOUT_S)
    found = [(w, int(n), unescape(a), unescape(b)) for w, n, a, b in LINE.findall(done.stdout.decode("utf-8", "replace"))]
    if done.returncode != 0:
        found.append(("CRASHED", 0, str(done.returncode), done.stderr.decode("utf-8", "replace")[-400:]))
    return found


def chunks(path, pattern):
    """(first line, source with its line numbers kept, {line: expected message or None})."""
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    first = 1
    for chunk in text.replace("\r\n", "\n").split("\n---\n"):
        expected = {}
        for i, line in enumerate(chunk.split("\n")):
            found = pattern(line)
            if found is not None:
                expected[first + i] = found
        yield first, "\n" * (first - 1) + chunk, expected
        first += chunk.count("\n") + 2


def go_pattern(line):
    m = re.search(r"###\s*(.*)$", line)
    if not m or line.lstrip().startswith("# "):
        return None
    text = m[1].strip()
    if text.startswith("`"):
        return text.strip("`")
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None


def bazel_pattern(line):
    """A message of one implementation stands behind its name: the others then may do without an error."""
    m = re.search(r"###\s*(?:(go|java|rust):)?\s*(.*)$", line)
    return m and (m[1], m[2])


class Suite:
    known, used = {}, set()  # exceptions, and those that were met

    def __init__(self, name):
        self.name, self.n, self.passed, self.failed, self.words, self.n_words = name, 0, 0, [], 0, 0
        self.asserts = 0

    def judge(self, key, found, expected, strict=True, either=False):
        """One chunk: problems are lines of text.

        @strict: errors are at their lines;
        @either: one is expected of some implementations only.
        """
        problems, lines = [], set()
        for word, line, a, b in found:
            if word in ("STOPPED", "INVALID", "FROM"):
                lines.add(line)
                if word == "FROM":
                    continue
                if not expected:
                    problems.append(f"{line}: {a}")
                elif line in expected:
                    self.compare(expected[line], a)
            elif word == "FAILS":
                self.compare(a, b)
            elif word in ("ERROR", "CRASHED"):
                problems.append(f"{line}: {word} {a} {b}")
        missing = sorted(n for n in set(expected) - lines)
        if expected and any(w == "INVALID" for w, *_ in found):
            # The parser says one thing at a time, and where depends on who reads.
            missing = []
        if not strict and (lines or either):
            missing = []
        if missing:
            problems += [f"{n}: no error here; found {sorted(lines)}: {found[:2]}" for n in missing]
        name = key.rpartition(":")[0] or key
        kept = [p for p in problems if f"{name}:{p.split(':')[0]}" not in self.known]
        self.used |= {f"{name}:{p.split(':')[0]}" for p in problems} & set(self.known)
        self.add(key, kept)

    def compare(self, pattern, message):
        self.n_words += 1
        try:
            same = re.search(pattern or "", message)
        except re.error:
            same = pattern in message
        self.words += bool(same)

    def add(self, key, problems):
        self.n += 1
        if problems:
            self.failed.append((key, problems))
        else:
            self.passed += 1


def rename(source):
    """`assert` is a word of its own in Starlark; the tests of starlark-go use it as a name."""
    source = re.sub(r"\bassert\b(?!\.star)", "asserts", source)
    # Types and values of the Go application that runs these tests.
    source = re.sub(r"\bfibonacci\b", "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]", source)
    return re.sub(r"(?m)^( *)[^#\n]*\b(?:hf|hasfields|setfield|setX|setY)\b.*$", r"\1pass", source)


def blank(suite, name, source):
    """Without the lines that would stop the chunk."""
    lines = source.split("\n")
    for i, line in enumerate(lines):
        key = f"{name}:{i + 1}"
        if suite.known.get(key, "").startswith("!"):
            lines[i] = line[:len(line) - len(line.lstrip())] + "pass"
            suite.used.add(key)
    return "\n".join(lines)


def options(chunk):
    return [o.lower() for o in re.findall(r"option:(\w+)", chunk)]


def bazel(host, root):
    for impl in ("go", "java", "rust"):
        suite = Suite(f"bazelbuild/starlark test_suite/{impl}")
        for path in sorted(glob.glob(f"{root}/test_suite/testdata/{impl}/*.star")):
            for first, source, expected in chunks(path, bazel_pattern):
                owners = {o for o, _ in expected.values()}
                either = bool(expected) and None not in owners and len(owners) < 3
                expected = {n: text for n, (_, text) in expected.items()}
                source = re.sub(r"[ \t]*###.*", "", source)
                key = f"suite/{impl}/{os.path.basename(path)}:{first}"
                suite.judge(key, run(host, source), expected, False, either)
        yield suite


GO_SKIPPED = {"proto.star": "needs the module proto", "time.star": "needs the module time",
              "math.star": "needs the module math", "json.star": "needs the module json",
              "benchmark.star": "no assertions; test/bench runs the same loops",
              "module.star": "the host of starlark-go's own tests", "paths.star": "a library, loaded by others"}


def starlark_go(host, root):
    suite = Suite("google/starlark-go starlark/testdata")
    for path in sorted(glob.glob(f"{root}/starlark/testdata/*.star")):
        if os.path.basename(path) in GO_SKIPPED:
            continue
        for first, source, expected in chunks(path, go_pattern):
            source = blank(suite, f"go/{os.path.basename(path)}", source)
            suite.judge(f"go/{os.path.basename(path)}:{first}", run(host, rename(source), *options(source)), expected)
    yield suite
    suite = Suite("google/starlark-go resolve/testdata")
    for first, source, expected in chunks(f"{root}/resolve/testdata/resolve.star", go_pattern):
        known = ["--name=" + n for n in ("M", "U", "print", "asserts")]
        suite.judge(f"resolve:{first}", run(host, rename(source), "--check", *known, *options(source)), expected)
    yield suite
    suite = Suite("google/starlark-go syntax/testdata")
    for first, source, expected in chunks(f"{root}/syntax/testdata/errors.star", go_pattern):
        found = [f for f in run(host, rename(source), "--check", "while", "toplevelcontrol", "globalreassign") if not re.match("undefined", f[2])]
        suite.judge(f"errors:{first}", found, expected)
    with open(f"{root}/syntax/testdata/scan.star", encoding="utf-8") as f:
        found = [f for f in run(host, f.read(), "--check", "toplevelcontrol", "globalreassign") if not re.match("undefined", f[2])]
    suite.judge("scan", found, {})
    yield suite


def starlark_rust(host, root):
    suite = Suite("facebook/starlark-rust starlark_syntax/testcases/parse")
    for path in sorted(glob.glob(f"{root}/starlark_syntax/testcases/parse/**/*", recursive=True)):
        if path.endswith((".bzl", ".star", ".sky", ".bazel", "BUILD")):
            with open(path, encoding="utf-8") as f:
                found = [f for f in run(host, f.read(), "--check", "toplevelcontrol", "globalreassign", "layout", "annotations", "f_strings")
                         if not re.match("undefined|names with leading", f[2])]
            suite.judge("rust/" + os.path.relpath(path, f"{root}/starlark_syntax/testcases/parse"), found, {})
    yield suite


def exceptions():
    found = {}
    with open(os.path.join(HERE, "exceptions.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                key, _, reason = line.strip().partition(" ")
                found[key] = reason.strip()
    return found


def main():
    host = os.path.join(sys.argv[1], "test", "conformance-host")
    verbose = "-v" in sys.argv
    known, n_failed, n_passed, n_skipped = exceptions(), 0, 0, 0
    Suite.known = known
    for variable, suites in (("RETORT_STARLARK_SUITE", bazel), ("RETORT_STARLARK_GO", starlark_go),
                             ("RETORT_STARLARK_RUST", starlark_rust)):
        root = os.environ.get(variable)
        if not root:
            print(f"skip: {variable} names no checkout")
            n_skipped += 1
            continue
        for suite in suites(host, root):
            print(f"{suite.name}: {suite.n} chunks, {suite.passed} pass, {len(suite.failed)} fail; "
                  f"words as expected {suite.words}/{suite.n_words}")
            for key, problems in suite.failed:
                print(f"  {key}\n    " + "\n    ".join(problems[:99 if verbose else 3]))
            if suite.n == 0:
                print(f"  there is nothing of it in {root}")
            n_failed += len(suite.failed) + (suite.n == 0)
            n_passed += suite.passed
    if n_skipped == 0:
        for key in sorted(set(known) - Suite.used):
            print(f"exception {key} is not needed any more")
            n_failed += 1
    print(f"{len(Suite.used)} lines are exceptions")
    print(f"{n_passed} passed, {n_failed} failed, {n_skipped} skipped")
    sys.exit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
