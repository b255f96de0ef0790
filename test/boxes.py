# SPDX-License-Identifier: Apache-2.0
"""Boxes without a session: the warden and init of this build, driven by test/tool/boxes.c.

    with boxes.Boxes() as b:
        box = b.create("branchable")
        twin = b.branch(box)
        b.say(twin, "sh id")
"""

import glob
import os
import re
import subprocess
import time

import harness


class Failed(Exception):
    """The error that an operation ended with: "code: message"."""


def find(name, *places):
    for place in places:
        found = os.path.join(place, name)
        if os.path.exists(found):
            return found
    raise AssertionError(f"no {name} in {places}")


PREFIX = os.path.dirname(os.path.dirname(harness.RETORT))
BUILD = os.path.dirname(harness.RETORT)
TOOLS = (harness.HERE, os.path.join(BUILD, "test"))
WARDEN = find("retort-warden", *glob.glob(os.path.join(PREFIX, "lib*", "retort")), os.path.join(BUILD, "src"))


class Boxes:
    def __init__(self):
        self.tool = subprocess.Popen(
            [find("tool-boxes", *TOOLS), WARDEN, find("tool-probe", *TOOLS)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=harness.environment(), cwd=harness.TMP, text=True)
        self.took_us = 0
        self.by = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tool.stdin.close()
        self.tool.wait(30)
        self.tool.stdout.close()

    def start(self, *words):
        """Ask without waiting for the answer."""
        self.tool.stdin.write(" ".join(map(str, words)) + "\n")
        self.tool.stdin.flush()

    def finish(self):
        line = self.tool.stdout.readline().rstrip("\n")
        if not line.startswith("ok"):
            raise Failed(line[6:] or "the tool is gone")
        return line[3:]

    def ask(self, *words):
        self.start(*words)
        return self.finish()

    def await_event(self, box, event):
        """Until it has come; what comes before it is passed over."""
        heard, end = "", time.monotonic() + 20
        while event not in heard:
            if time.monotonic() > end:
                raise AssertionError(f"no {event!r}, but {heard!r}")
            heard += self.ask("events", box, 200)

    def create(self, *options):
        return int(self.ask("create", *options))

    def made(self, line):
        number, _, took, by = line.split(" ", 3)
        self.took_us = int(took)
        self.by = dict(word.split("=") for word in by.split())
        return int(number)

    def branch(self, parent, *options):
        """A branch whose driver answers; the one it was branched from answers too."""
        box = self.made(self.ask("branch", parent, *options))
        stem, ready = self.ask("hear", parent), self.ask("hear", box)
        if not re.match(r"branched \d+$", stem) or not ready.startswith("ready 0 "):
            raise Failed(f"{stem}, {ready}")
        self.ready = ready
        return box

    def hostile(self, name, parent, *options):
        return self.made(self.ask("hostile", name, parent, *options))

    def say(self, box, text):
        return self.ask("say", box, text)

    def shell(self, box, command):
        return self.say(box, "sh " + command).replace("|", "\n").strip("\n")

    def warden_pid(self):
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.tool.pid)], capture_output=True, text=True,
                             check=True).stdout
        return int(out.split()[0])
