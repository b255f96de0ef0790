#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""CPython's own test suite in boxes: a test that passes bare passes in a box, or cpython.exceptions says why not.

usage: test/long/cpython.py BUILD_DIR [-k MODULE]... [--jobs N] [--identity root|user] [--driver]
       test/long/cpython.py --docs [--check]      write the table of docs/reference/fidelity.md; --check: is it current?

Each module of Debian's libpython3.11-testsuite runs bare, as an ordinary user, and in two boxes: one that root starts and
one that an ordinary user starts. In neither is a program root. Outcomes are compared test by test. A difference counts if a
second run, by itself, has it too. An exception without a difference is a failure as well. Takes half an hour; `make test-cpython`
installs what it needs.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import run as suites  # noqa: E402

EXCEPTIONS = os.path.join(HERE, "cpython.exceptions")
DOCUMENT = os.path.join(ROOT, "docs", "reference", "fidelity.md")
BEGIN, END = "<!-- from test/long/cpython.exceptions: `make docs` -->\n", "<!-- end -->\n"
TIMEOUT_S = 300
LIMITS = ["-m", "2g", "--pids", "512", "--timeout", f"{TIMEOUT_S}s", "--disk", "1g", "--file-size", "8g", "--cpus", "2"]
RANK = {"pass": 0, "skip": 1, "fail": 2, "missing": 3}
MODULE = "(module)"
PATH = "/usr/local/bin:/usr/bin:/bin"

Reason = collections.namedtuple("Reason", "name text rows")
Row = collections.namedtuple("Row", "module pattern when")


def read_exceptions():
    """[Reason]: a line "[NAME] text" and, below, its rows "MODULE PATTERN [WHEN]"."""
    reasons = []
    with open(EXCEPTIONS, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            head = re.fullmatch(r"\[([\w-]+)\] (.+)", line)
            words = line.split()
            if not line or line.startswith("#"):
                continue
            if head:
                reasons.append(Reason(head[1], head[2], []))
            elif reasons and len(words) in (2, 3) and words[2:] in ([], ["driver"], ["host"], ["out"]):
                reasons[-1].rows.append(Row(*words[:2], "".join(words[2:]) or "always"))
            else:
                raise SystemExit(f"{EXCEPTIONS}:{number}: neither '[NAME] text' nor 'MODULE PATTERN [driver|host|out]'")
    return reasons


def of_module(module, names):
    names = list(dict.fromkeys(names))
    if any("*" in name for name in names):
        return f"{module}: several"
    return f"{module}: {len(names)}" if len(names) > 2 else f"{module} `{'`, `'.join(names)}`"


def table(reasons):
    lines = ["| what a program notices | module and its tests, or how many |", "|---|---|"]
    for reason in reasons:
        by_module = {}
        for row in reason.rows:
            by_module.setdefault(row.module, []).append(row.pattern.split(".")[-1])
        lines.append(f"| {reason.text} | {', '.join(of_module(m, names) for m, names in by_module.items())} |")
    return "\n".join(lines) + "\n"


def write_document(is_check):
    with open(DOCUMENT, encoding="utf-8") as f:
        text = f.read()
    head, rest = text.split(BEGIN)
    wanted = head + BEGIN + table(read_exceptions()) + END + rest.split(END, 1)[1]
    if is_check:
        if text != wanted:
            print("cpython: docs/reference/fidelity.md is not current: run test/long/cpython.py --docs", file=sys.stderr)
        return int(text != wanted)
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(wanted)
    return 0


class Place:
    """Where modules run: bare, or in the box of an identity."""

    def __init__(self, name, where, retort, left_out, in_driver):
        self.name, self.where, self.retort = name, where, retort
        self.left_out, self.in_driver = left_out, in_driver

    def run(self, module):
        """{test: outcome}, with MODULE for what no test tells."""
        tmp = tempfile.mkdtemp(prefix=f"{self.name}-", dir=os.path.join(self.where, "tmp"))
        as_user = []
        if os.geteuid() == 0 and self.name != "root":
            os.chown(tmp, suites.NOBODY, suites.NOBODY)
            as_user = ["setpriv", f"--reuid={suites.NOBODY}", f"--regid={suites.NOBODY}", "--clear-groups",
                       "--inh-caps=-all", "--bounding-set=-all"]
        try:
            status, report, output = self.start(module, tmp, as_user)
            return outcomes(status, report), output
        finally:
            shutil.rmtree(tmp, ignore_errors=True)

    def start(self, module, tmp, as_user):
        watched = os.path.join(self.where, "test", "long", "watched.py")
        args = ["-v", *(word for p in self.left_out.get(module, []) for word in ("-i", p)), module]
        env = {"PATH": PATH, "HOME": tmp, "LANG": "C.UTF-8", "TMPDIR": tmp}
        if "RETORT_CGROUP" in os.environ:
            env["RETORT_CGROUP"] = os.environ["RETORT_CGROUP"]
        out = os.path.join(tmp, "out")
        if self.name == "bare":
            os.mkdir(out)
            os.chmod(out, 0o777)
            argv = ["/usr/bin/python3", watched, os.path.join(out, "report"), "--tempdir", tmp, *args]
        else:
            code = 'exec /usr/bin/python3 /home/user/watched.py "$@"'
            program = [watched] if self.in_driver else ["-r", "shell", "-v", f"{watched}:watched.py", "-c", code]
            argv = [self.retort, "run", "-q", *LIMITS, "-o", out, *program, "/home/user/report", "--tempdir", "/tmp", *args]
        with open(os.path.join(tmp, "output"), "w+b") as output:
            child = subprocess.Popen([*as_user, *argv], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=tmp,
                                     env=env, start_new_session=True)
            try:
                status = child.wait(TIMEOUT_S + (0 if self.name == "bare" else 60))
            except subprocess.TimeoutExpired:
                status = 124
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        try:
            with open(os.path.join(out, "report"), encoding="utf-8", errors="replace") as f:
                return status, f.read(), text
        except FileNotFoundError:
            return status, "", text


def outcomes(status, report):
    found = {}
    for line in report.splitlines():
        outcome, _, test = line.partition(" ")
        found[test] = max(found.get(test, "pass"), outcome, key=RANK.get)
    # Ended before its end, failed outside of a test, or passed over as a whole.
    if status != 0 and "fail" not in found.values():
        found[MODULE] = "fail"
    elif not found:
        found[MODULE] = "skip"
    else:
        found[MODULE] = "pass"
    return found


def differences(bare, boxed):
    """{test: (bare, in the box)} where the box is worse."""
    if bare[MODULE] == "fail":
        return {}
    if boxed[MODULE] == "fail":
        return {MODULE: (bare[MODULE], "fail")}
    pairs = {test: (outcome, boxed.get(test, "missing")) for test, outcome in bare.items() if test != MODULE}
    # A failure of setUpClass() is a test of its own, and those of the class are missing.
    pairs.update({test: ("missing", "fail") for test, outcome in boxed.items() if outcome == "fail" and test not in bare})
    return {t: p for t, p in pairs.items() if p[0] != "fail" and (p[0] == "missing" or RANK[p[1]] > RANK[p[0]])}


class Comparison:
    def __init__(self, places, reasons):
        self.bare, self.boxes = places[0], places[1:]
        self.rows = [row for reason in reasons for row in reason.rows
                     if row.when in ("always", "host") or (row.when == "driver" and self.bare.in_driver)]

    def listed(self, module, test):
        return [row for row in self.rows if row.module == module and fnmatch.fnmatchcase(test, row.pattern)]

    def module(self, module):
        """Runs it everywhere. Returns lines for what is wrong, a remark, and the number of tests compared."""
        bare, output = self.bare.run(module)
        if bare[MODULE] == "fail":
            return [], f"bare does not end well: {last_line(output)}", 0
        wrong, used = [], set()
        for box in self.boxes:
            boxed, _ = box.run(module)
            found = differences(bare, boxed)
            if any(not self.listed(module, test) for test in found):
                again, _ = self.bare.run(module)
                found = {t: p for t, p in differences(again, box.run(module)[0]).items() if t in found}
            for test, (was, now) in sorted(found.items()):
                rows = self.listed(module, test)
                used.update(rows)
                if not rows:
                    wrong.append(f"{module} {test}: {was} bare, {now} in a box as {box.name}")
        for row in self.rows:
            if row.module == module and row.when != "host" and row not in used:
                wrong.append(f"{module} {row.pattern}: listed in cpython.exceptions, and no difference")
        return wrong, "", len(bare) - 1


def last_line(output):
    return ([line for line in output.splitlines() if line.strip()] or ["no output"])[-1][:100]


def find_modules(patterns):
    done = subprocess.run(["/usr/bin/python3", "-m", "test", "--list-tests"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("cpython: CPython's tests are not installed: apt-get install "
                         "libpython%d.%d-testsuite" % sys.version_info[:2])
    modules = done.stdout.split()
    chosen = [m for m in modules if not patterns or any(fnmatch.fnmatchcase(m, p) for p in patterns)]
    if not chosen:
        raise SystemExit(f"cpython: no module is called {' or '.join(patterns)}")
    return chosen


def compare(args):
    reasons = read_exceptions()
    modules = find_modules(args.k)
    left_out = {}
    for row in (row for reason in reasons for row in reason.rows if row.when == "out"):
        left_out.setdefault(row.module, []).append(row.pattern)
    modules = [m for m in modules if "*" not in left_out.get(m, [])]
    identities = [args.identity] if args.identity else ["root", "user"] if os.geteuid() == 0 else ["user"]
    where = tempfile.mkdtemp(prefix="retort-long-")
    os.mkdir(os.path.join(where, "tmp"))
    os.chmod(os.path.join(where, "tmp"), 0o711)
    retort = suites.install(os.path.abspath(args.build), where)
    comparison = Comparison([Place(name, where, retort, left_out, args.driver) for name in ["bare", *identities]], reasons)
    n_tests = n_wrong = n_bare = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(comparison.module, module): module for module in modules}
        for job in concurrent.futures.as_completed(jobs):
            wrong, remark, n = job.result()
            n_tests, n_wrong, n_bare = n_tests + n, n_wrong + len(wrong), n_bare + bool(remark)
            print(f"{'FAIL' if wrong else '-' if remark else 'ok':5}{jobs[job]:40} {n:5} tests  {remark}", flush=True)
            for line in wrong:
                print(f"     {line}", flush=True)
    shutil.rmtree(where, ignore_errors=True)
    print(f"{len(modules)} modules, {n_tests} tests, {n_wrong} not as they should be; {n_bare} modules fail bare too")
    return 1 if n_wrong or not n_tests else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"))
    parser.add_argument("-k", action="append", default=[], metavar="MODULE", help="these modules only (* and ? as in names of files)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="modules at a time")
    parser.add_argument("--identity", choices=["root", "user"])
    parser.add_argument("--driver", action="store_true", help="in the interpreter of retort's driver, as `retort run FILE` does")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    return write_document(args.check) if args.docs else compare(args)


if __name__ == "__main__":
    sys.exit(main())
