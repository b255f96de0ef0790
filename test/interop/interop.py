# SPDX-License-Identifier: Apache-2.0
"""What the tests with others' checkers share: where those are, and servers to point them at."""

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

ROOT = os.environ.get("RETORT_SOURCE") or os.path.dirname(os.path.dirname(HERE))
FIXTURE = os.environ.get("RETORT_FIXTURE", os.path.join(ROOT, "build", "test", "tool-interop"))
NOT_HERE = 77


@functools.lru_cache(maxsize=None)
def installed(what, *options):
    """(directory, None), or (None, why @what cannot be had): asked once."""
    done = subprocess.run([os.path.join(HERE, "install"), *options], capture_output=True, text=True, check=False)
    if done.returncode == NOT_HERE:
        return None, f"{what}: {done.stderr.strip().splitlines()[-1]}"
    if done.returncode != 0:
        raise AssertionError(f"test/interop/install: {done.stderr}")
    return done.stdout.strip(), None


def needed(what, *options):
    """Where it is installed. Skips the test where it cannot be had."""
    where, why = installed(what, *options)
    if why:
        raise unittest.SkipTest(why)
    return where


def modules():
    """The node_modules of the checkers."""
    return os.path.join(needed("checkers from npm"), "node_modules")


def python():
    """A virtual environment with the SDKs."""
    return needed("SDKs from PyPI", "--python")


class Case(harness.Case):
    """A test with checkers. Each is skipped by itself, so that each is counted."""

    def setUp(self):
        modules()


def environment():
    """Of a checker: nothing of the developer's, no telemetry, no colours."""
    return harness.environment({"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "CI": "1"})


def checker(*argv, timeout=harness.TIMEOUT_S):
    """Run node with a program of the checkers, or one of ours: a path below node_modules, or a file."""
    path = argv[0] if os.path.isabs(argv[0]) else os.path.join(modules(), argv[0])
    return harness.Result(subprocess.run(
        ["node", path, *argv[1:]], capture_output=True, env=environment(), cwd=workshop(), check=False,
        stdin=subprocess.DEVNULL, timeout=timeout))


@functools.lru_cache(maxsize=None)
def workshop():
    """A directory where our own modules for node find the packages: node looks upward from the file."""
    where = tempfile.mkdtemp(prefix="interop-", dir=harness.TMP)
    os.symlink(modules(), os.path.join(where, "node_modules"))
    shutil.copy(os.path.join(HERE, "client.mjs"), where)
    shutil.copy(os.path.join(HERE, "count.mjs"), where)
    return where


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A program that listens on a port of 127.0.0.1, for as long as a `with` lasts."""

    def __init__(self, argv, port):
        self.argv, self.port = argv, port
        self.url = f"http://127.0.0.1:{port}/mcp"

    def __enter__(self):
        self.dir = tempfile.mkdtemp(dir=harness.TMP)
        self.log = os.path.join(self.dir, "stderr")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=harness.environment(), cwd=self.dir)
        deadline = time.monotonic() + harness.TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.__exit__()
                    raise AssertionError(f"{self.argv}: did not listen: {self.said()}") from None
                time.sleep(0.02)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(harness.TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def engine():
    """`retort serve` with HTTP and no journal."""
    port = free_port()
    socket_path = os.path.join(tempfile.mkdtemp(dir=harness.TMP), "s")
    return Server([harness.RETORT, "serve", "--listen", f"127.0.0.1:{port}", "--socket", socket_path,
                   "--no-journal"], port)


def fixture():
    """The fixture that the conformance suite asks for."""
    port = free_port()
    return Server([FIXTURE, str(port), os.path.join(HERE, "fixture.json")], port)


def story(kind, *target):
    """What a client of the SDK was told: client.mjs."""
    done = checker(os.path.join(workshop(), "client.mjs"), kind, *target)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"client {kind} {target[0]}: {done!r}") from None


main = harness.main
