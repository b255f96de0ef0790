# SPDX-License-Identifier: Apache-2.0
"""What runs of the test's own leave on the host: processes, cgroups, mounts, temporary files.

Engines that somebody else has started, and what is theirs, do not count while they are alive. What no name and no parent
shows to be of a run has MARK in its environment: give it to a box with `-e`, *MARK_OPTION.
"""

import os
import time

import harness

MARK = f"mark-{os.getpid()}-{time.monotonic_ns()}"
MARK_OPTION = ("-e", f"MARK={MARK}")


def processes():
    """{pid: (parent, name, start time)} of every process that is not a zombie."""
    return {pid: (parent, name, start)
            for pid, (parent, name, state, start) in harness.processes().items() if state != "Z"}


def is_marked(pid):
    """Is it a process of a box of ours? Its environment says so."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            return MARK.encode() in f.read()
    except OSError:
        return False


def is_strangers(pid, table):
    """Does it belong to an engine, or to a test program in place of one, that somebody else has started and that is alive?"""
    while pid in table and pid > 1:
        parent, name, _ = table[pid]
        if name == "retort" or name.startswith("tool-"):
            return parent != os.getpid()
        pid = parent
    return False


def state(of_strangers=True):
    """What is on the host now that a run may have put there, as a set of things with names. With @of_strangers, also what is
    a stranger's now: an old cgroup becomes nobody's when the process ends that happens to have the pid in its name."""
    table = processes()
    host = harness.host_state()
    found = {("mount", path) for path in host["mounts"]}
    found |= {("file", name) for name in host["temporary"] if not name.startswith(("retort-unit", "retort-dist"))}
    for pid, (_, name, start_time) in table.items():
        if (name.startswith("retort") or is_marked(pid)) and (of_strangers or not is_strangers(pid, table)):
            found.add(("process", f"{pid} {name} {start_time}"))
    for path in host["cgroups"]:
        warden = os.path.basename(path).split("-")[-2]
        if of_strangers or not (warden.isdigit() and is_strangers(int(warden), table)):
            found.add(("cgroup", path))
    return found


def since(before, settle_s):
    """What is new since the state() @before and does not go away by itself within @settle_s."""
    deadline = time.monotonic() + settle_s
    left = state(of_strangers=False) - before
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left &= state(of_strangers=False)
    return sorted(left)
