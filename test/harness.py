# SPDX-License-Identifier: Apache-2.0
"""What the system and escape tests share: run the real binary, look at what it left.

A test file is a unittest module that ends with `harness.main()`. test/run.py runs it as root and as an ordinary
user; it sets RETORT to an installed copy that every user may read, and RETORT_TEST_TMP to a directory of that user.
By hand: `RETORT=build/retort /usr/bin/python3 test/system/test_x.py [-k NAME]`.

A test whose claim is the same for root and user runs as user only. A file says so with the line `IDENTITY = "user"`,
a class or a test with @harness.as_user. In a file that says so, @harness.as_each marks the classes and tests that run
as root all the same. `test/run.py --identity both` runs everything as each.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
RETORT = os.path.abspath(os.environ.get("RETORT", os.path.join(ROOT, "build", "retort")))
TMP = os.environ.get("RETORT_TEST_TMP") or tempfile.mkdtemp(prefix="retort-test-")
IS_ROOT = os.geteuid() == 0
# AddressSanitizer keeps what was freed for a while: a process's memory says nothing then.
IS_SANITIZED = "ASAN_OPTIONS" in os.environ
# In test/vm, where nothing is quick.
IS_EMULATED = "RETORT_TEST_EMULATED" in os.environ

# `test/run.py --long`: see sample().
IS_LONG = "RETORT_TEST_LONG" in os.environ

# A machine under load is slow; a test that hangs must still end.
TIMEOUT_S = 120


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr

    @property
    def out(self):
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self):
        return self.stderr.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.stdout)

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}"


def environment(extra=None):
    """The host side's environment: nothing of the developer's own settings."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": TMP, "LANG": "C.UTF-8"}
    for name in ("RETORT_CGROUP", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(extra or {})
    return env


def retort(*args, stdin=b"", env=None, cwd=None, timeout=TIMEOUT_S):
    """Run `retort ARGS…` to its end."""
    return Result(
        subprocess.run(
            [RETORT, *args], input=stdin, capture_output=True, env=environment(env),
            cwd=cwd or TMP, timeout=timeout, check=False,
        )
    )


def run(code, *options, **kwargs):
    """`retort run OPTIONS -c CODE`: plain output."""
    return retort("run", *options, "-c", code, **kwargs)


def record(code, *options, **kwargs):
    """`retort run --json OPTIONS -c CODE`: the record, with the exit status as "_status"."""
    done = retort("run", "--json", *options, "-c", code, **kwargs)
    try:
        out = done.json()
    except ValueError:
        raise AssertionError(f"no record: {done!r}") from None
    out["_status"] = done.status
    out["_stderr"] = done.err
    return out


@functools.lru_cache(maxsize=None)
def sanitizers_fit():
    """Do drivers in C start? AddressSanitizer reserves more addresses than a box has whose memory no
    cgroup limits. A build without it is never asked."""
    with open(RETORT, "rb") as f:
        if b"__asan_init" not in f.read():
            return True
    return "AddressSanitizer" not in record(":", "-r", "shell")["stderr"]


def as_user(test):
    """For a test or a Case whose claim is the same for root: it runs as user only."""
    test.runs_as = "user"
    return test


def as_each(test):
    """For a test or a Case in a file with `IDENTITY = "user"`: it runs as root as well."""
    test.runs_as = "both"
    return test


def needs_root(reason):
    """For a test or a Case that only root can run."""
    return lambda test: as_each(unittest.skipUnless(IS_ROOT, reason)(test))


def needs_shell_or_sql(test):
    """For a test, or all of a Case."""
    return unittest.skipIf(not sanitizers_fit(), "AddressSanitizer cannot start in a box without cgroups")(test)


def sample(some, every):
    """How much of what a claim is about is tried: @every with `test/run.py --long`, else @some."""
    return every if IS_LONG else some


def make_dir():
    """A fresh directory of this test's own."""
    return tempfile.mkdtemp(dir=TMP)


def processes():
    """
    {pid: (parent, name, state, start time)} of every process. What /proc/PID/task/PID/children says is
    not the same: it leaves some out while others end.
    """
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
        except OSError:
            continue  # it has ended
        fields = text[text.rindex(")") + 2 :].split()
        found[int(pid)] = int(fields[1]), text[text.index("(") + 1 : text.rindex(")")], fields[0], fields[19]
    return found


def host_state():
    """What must not grow: mounts, cgroups, processes of retort, temporary files."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        mounts = sorted(line.split()[4] for line in f)
    cgroups = []
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        cgroups += [os.path.join(top, d) for d in dirs if d.startswith("retort-")]
    ours = [(pid, name) for pid, (_, name, state, _) in processes().items()
            if name.startswith("retort") and state != "Z"]
    temporary = sorted(n for n in os.listdir("/tmp") if n.startswith("retort-") and "test" not in n)
    return {"mounts": mounts, "cgroups": cgroups, "processes": ours, "temporary": temporary}


def until(is_so, what="it never came to be", seconds=TIMEOUT_S):
    """Wait until the condition holds. Returns: what it said."""
    end = time.monotonic() + seconds
    while not (said := is_so()):
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.01)
    return said


class Case(unittest.TestCase):
    maxDiff = 4000

    def until(self, is_so, what="it never came to be", seconds=TIMEOUT_S):
        return until(is_so, what, seconds)


class Loader(unittest.TestLoader):
    """Finds the tests of this run: RETORT_TEST_ONCE says that the ordinary user's run is another."""

    def getTestCaseNames(self, testCaseClass):
        names = super().getTestCaseNames(testCaseClass)
        if not IS_ROOT or "RETORT_TEST_ONCE" not in os.environ:
            return names
        of_file = getattr(sys.modules["__main__"], "IDENTITY", "both")
        of_class = getattr(testCaseClass, "runs_as", of_file)
        return [n for n in names if getattr(getattr(testCaseClass, n), "runs_as", of_class) == "both"]


def main():
    # A shell's background jobs ignore it, and so would what we start until it has its own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program = unittest.main(exit=False, verbosity=2, argv=sys.argv, testLoader=Loader())
    result = program.result
    # Parts of a test (subTest) that fail are listed one by one: a test counts once.
    bad = {getattr(case, "test_case", case).id() for case, _ in result.failures + result.errors}
    failed = len(bad)
    skipped = len({case.id() for case, _ in result.skipped} - bad)
    print(f"{max(result.testsRun - failed - skipped, 0)} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or result.testsRun == 0 else 0)
