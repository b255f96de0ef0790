#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run every test and sum up: unit tests, fuzz corpora, driver, system, escape and interop tests.

usage: test/run.py BUILD_DIR [-k SUBSTRING] [--suite NAME,…] [--identity root|user|both] [--long] [-j N]

System and escape tests run the real binary as an ordinary user without any privilege, and, when we are root, as root
too. A test whose claim is the same for both says so (test/harness.py) and runs as user only; --identity both runs
everything as each, --identity root or user everything as that one. Output of a test is shown only when it fails.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PYTHON = "/usr/bin/python3"
NOBODY = 65534
TEST_TIMEOUT_S = 1500
# Most tests wait for something most of the time.
JOBS_PER_CPU = 2
# Random plans of --long, for each test that makes some.
LONG_PLANS = 10_000
# In a directory of a build: how long each file of tests took when it ran last, so that the long ones begin first.
SECONDS_FILE = "test-seconds.json"
IS_USERS = re.compile(r'^IDENTITY = "user"', re.M)
IS_EACHS = re.compile(r"@harness\.(as_each|needs_root)\b")
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


class Job:
    def __init__(self, suite, name, argv, identity=None, source=None):
        self.suite, self.name, self.argv, self.identity, self.source = suite, name, argv, identity, source

    def __str__(self):
        who = f" as {self.identity}" if self.identity else ""
        return f"{self.suite}/{self.name}{who}"


def test_files(*parts):
    folder = os.path.join(HERE, *parts)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, n) for n in names if n.startswith("test_") and n.endswith(".py")]


def has_tests_for_root(path):
    """Those that do not run as user only."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return not IS_USERS.search(text) or IS_EACHS.search(text) is not None


def find_jobs(build, identities, is_once):
    jobs = []
    tests = os.path.join(build, "test")
    for name in sorted(os.listdir(tests)) if os.path.isdir(tests) else []:
        path = os.path.join(tests, name)
        if name.startswith("test-") and os.access(path, os.X_OK) and os.path.isfile(path):
            jobs.append(Job("unit", name, [path]))
        if name.startswith("fuzz-") and os.access(path, os.X_OK) and os.path.isfile(path):
            corpus = os.path.join(HERE, "fuzz", "corpus", name[5:])
            jobs.append(Job("fuzz", name, [path, corpus]))
    for path in test_files("house"):
        jobs.append(Job("house", os.path.basename(path)[5:-3], [PYTHON, path], source=path))
    for path in test_files("driver"):
        drivers = os.path.join(build, "drivers", "python")
        jobs.append(Job("driver", os.path.basename(path)[5:-3], [PYTHON, "-I", path, drivers], source=path))
    for path in test_files("interop"):
        jobs.append(Job("interop", os.path.basename(path)[5:-3], [PYTHON, path], source=path))
    for identity in identities:
        for suite in ("system", "escape"):
            for path in test_files(suite):
                if identity == "user" or not is_once or has_tests_for_root(path):
                    jobs.append(Job(suite, os.path.basename(path)[5:-3], [PYTHON, path], identity, path))
    return jobs


def read_seconds(build):
    try:
        with open(os.path.join(build, SECONDS_FILE), encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def write_seconds(build, seconds):
    try:
        with open(os.path.join(build, SECONDS_FILE), "w", encoding="utf-8") as f:
            json.dump(seconds, f, indent=0, sort_keys=True)
    except OSError:
        pass  # somebody else's build


def long_first(jobs, seconds):
    """By what they took when they ran last; what never ran by its size, of which 1,500 bytes take a second."""
    def expected(job):
        return seconds.get(str(job), os.path.getsize(job.source) / 1500 if job.source else 0)
    return sorted(jobs, key=expected, reverse=True)


def install(build, where):
    """A copy that any user can read: the build tree may be in somebody's private directory."""
    if not os.path.exists(os.path.join(build, "build.ninja")):
        # Such a copy already, on a machine that has no meson.
        shutil.copytree(build, where, dirs_exist_ok=True, symlinks=True)
        return find_retort(where)
    env = dict(os.environ, DESTDIR=where)
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet"], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    shutil.copytree(HERE, os.path.join(where, "test"), ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(os.path.join(ROOT, "demo"), os.path.join(where, "demo"))
    for name in os.listdir(os.path.join(build, "test")):
        if name.startswith("tool-") and os.path.isfile(os.path.join(build, "test", name)):
            shutil.copy2(os.path.join(build, "test", name), os.path.join(where, "test"))
    for top, dirs, files in os.walk(where):
        for name in dirs + files:
            path = os.path.join(top, name)
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode | (0o555 if name in dirs else 0o444))
    os.chmod(where, 0o755)
    return find_retort(where)


def find_retort(where):
    for top, _, files in os.walk(where):
        if "retort" in files and os.path.basename(top) == "bin":
            return os.path.join(top, "retort")
    raise SystemExit("test/run.py: nothing was installed: build first")


def prepare(job, where, retort, is_once):
    """Command line and environment of a job."""
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    env.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")
    if not job.identity and job.suite != "interop":
        return job.argv, env
    tmp = tempfile.mkdtemp(prefix=f"{job.identity or job.suite}-", dir=os.path.join(where, "tmp"))
    os.chmod(tmp, 0o700)
    env.update(RETORT=retort, RETORT_TEST_TMP=tmp, RETORT_SOURCE=ROOT)
    if job.suite == "interop":
        # As who we are, whose node and whose cache of packages it needs.
        env.update(RETORT_FIXTURE=os.path.join(where, "test", "tool-interop"))
        return job.argv, env
    env.update(HOME=tmp)
    if is_once:
        env.update(RETORT_TEST_ONCE="1")
    argv = [PYTHON, job.argv[1].replace(HERE, os.path.join(where, "test"), 1)]
    if job.identity == "user" and os.geteuid() == 0:
        os.chown(tmp, NOBODY, NOBODY)
        argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                "--inh-caps=-all", "--bounding-set=-all", *argv]
    return argv, env


def count(output, code):
    """(passed, failed, skipped) of a test's output: ours, unittest's own or TAP."""
    match = None
    for match in SUMMARY.finditer(output):
        pass
    if match:
        return tuple(map(int, match.groups()))
    ran = re.search(r"^Ran (\d+) tests? in .*\n\n(?:OK|FAILED)(.*)$", output, re.M)
    if ran:
        counts = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", ran[2])}
        failed, skipped = counts.get("failures", 0) + counts.get("errors", 0), counts.get("skipped", 0)
        return int(ran[1]) - failed - skipped, failed, skipped
    ok = len(re.findall(r"^ok \d+", output, re.M))
    skipped = len(re.findall(r"^ok \d+.*# SKIP", output, re.M))
    failed = len(re.findall(r"^not ok \d+", output, re.M))
    if ok + failed == 0:
        return (1, 0, 0) if code == 0 else (0, 1, 0)
    if code != 0 and failed == 0:
        failed = 1
    return ok - skipped, failed, skipped


def run_job(job, where, retort, is_once):
    argv, env = prepare(job, where, retort, is_once)
    start = time.monotonic()
    try:
        done = subprocess.run(argv, env=env, cwd=where, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TEST_TIMEOUT_S)
        output, code = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired as e:
        output, code = (e.stdout or b"").decode("utf-8", "replace") + "\ntimed out", 1
    passed, failed, skipped = count(output, code)
    if code != 0 and failed == 0:
        failed = 1
    return job, passed, failed, skipped, output, time.monotonic() - start


def what_failed(output):
    """Of a test's output what says what failed, without the names of all that passed."""
    lines = output.splitlines()
    details = next((i for i, line in enumerate(lines) if line == "=" * 70), None)
    return lines[details:][:200] if details is not None else lines[-200:]


def skip_reasons(output):
    found = re.findall(r"# SKIP (.*)$|\.\.\. skipped ['\"](.*)['\"]$", output, re.M)
    return sorted({a or b for a, b in found})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("-k", default="", metavar="SUBSTRING")
    parser.add_argument("--suite", type=lambda names: names.split(","), metavar="NAME,…")
    parser.add_argument("--identity", choices=["root", "user", "both"],
                        help="run all system and escape tests as these; else each as whom its claim differs for")
    parser.add_argument("--long", action="store_true", help="try all of what is otherwise tried in part: see harness.sample()")
    parser.add_argument("-j", type=int, default=JOBS_PER_CPU * len(os.sched_getaffinity(0)))
    parser.add_argument("-v", action="store_true", help="show all output")
    parser.add_argument("--copy-to", metavar="DIR",
                        help="make the copy only: there, test/run.py takes DIR for BUILD_DIR")
    args = parser.parse_args()
    # Under nohup, or in the background of a script, these are ignored, and tests would inherit that.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if args.copy_to:
        install(args.build, args.copy_to)
        return 0
    if args.long:
        os.environ.update(RETORT_TEST_LONG="1", RETORT_PLANS=str(LONG_PLANS))
    start = time.monotonic()
    where = tempfile.mkdtemp(prefix="retort-test-")
    os.mkdir(os.path.join(where, "tmp"))
    os.chmod(os.path.join(where, "tmp"), 0o711)
    retort = install(args.build, where)
    results = run_jobs(choose_jobs(args), args, where, retort)
    shutil.rmtree(where, ignore_errors=True)
    return sum_up(results, time.monotonic() - start)


def is_once(args):
    """Does a test whose claim is the same for root and user run as user only?"""
    return os.geteuid() == 0 and not args.identity


def choose_jobs(args):
    identities = ["root", "user"] if os.geteuid() == 0 else ["user"]
    if args.identity in ("root", "user"):
        identities = [args.identity]
    return [j for j in find_jobs(args.build, identities, is_once(args))
            if args.k in str(j) and (not args.suite or j.suite in args.suite)]


def run_jobs(jobs, args, where, retort):
    seconds = read_seconds(args.build)
    jobs = long_first(jobs, seconds)

    def run(job):
        return show(run_job(job, where, retort, is_once(args)), args.v)

    # Tests that look at the whole host (test_alone_*) run by themselves, at the end.
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        results = list(pool.map(run, [j for j in jobs if not j.name.startswith("alone")]))
    results += [run(j) for j in jobs if j.name.startswith("alone")]
    seconds.update({str(job): round(took, 1) for job, *_, took in results})
    write_seconds(args.build, seconds)
    return results


def sum_up(results, took_s):
    total = [0, 0, 0]
    failures, reasons = [], {}
    for job, passed, failed, skipped, output, _ in results:
        total = [a + b for a, b in zip(total, (passed, failed, skipped))]
        if failed:
            failures.append(job)
        for reason in skip_reasons(output):
            reasons.setdefault(reason, []).append(job)
    for reason, where_skipped in sorted(reasons.items()):
        print(f"skipped in {', '.join(sorted(set(map(str, where_skipped))))}: {reason}")
    slowest = sorted(results, key=lambda result: result[-1], reverse=True)[:5]
    print("slowest: " + ", ".join(f"{job} {seconds:.0f} s" for job, *_, seconds in slowest))
    for job in failures:
        print(f"FAILED: {job}")
    print("{} passed, {} failed, {} skipped, in {:.0f}:{:02.0f} minutes".format(*total, *divmod(round(took_s), 60)))
    return 1 if total[1] or not total[0] else 0


def show(result, verbose):
    job, passed, failed, skipped, output, seconds = result
    word = "FAIL" if failed else "ok"
    print(f"{word:5}{str(job):40} {passed:4} passed {failed:3} failed {skipped:3} skipped {seconds:6.1f} s",
          flush=True)
    if failed or verbose:
        lines = output.splitlines()[-200:] if verbose else what_failed(output)
        print("\n".join("    " + line for line in lines), flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
