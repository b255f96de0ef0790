# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a clone of the process that waits, made after a step, and what follows from it."""

import sys

import gc
import posix

state = driver.state
native = driver.native
EXERCISED = (driver.stage_run, driver.stage_value, driver.stage_blame, driver.stage_finish)
EXERCISED += (driver.stage_flush,)
WARM = b'{"id":"","code":"None","filename":"<warm>","argv":[""],"mode":"session","value_bytes":0}'


def checkpoint(name, limit):
    """
    Make a guard and tell the engine, in a frame for @name. In a guard that is resumed this returns
    as well, days later perhaps: the process is then the live one.
    """
    posix.sched_yield()  # the engine has a result to read, maybe on this CPU; a clone takes long
    made = native.guard(
        state.channel, state.out, state.err, loop_pairs(), limit, not state.crowded
    )
    if made is None:
        go_on()
        return
    if type(made) is str:
        state.crowded = made == "threads"
        driver.send(driver.GUARD, {"id": name, "reason": made})
        return
    state.crowded = False
    fd, pid, lost = made
    sent = driver.send(driver.GUARD, {"id": name, "pid": pid, "lost": lost}, fd)
    posix.close(fd)
    if sent and not native.is_readable(state.channel):
        warm()


def loop_pairs():
    """The descriptors by which the loop of top-level await wakes itself."""
    try:
        return [state.loop._ssock.fileno(), state.loop._csock.fileno()]
    except BaseException:
        return []


def go_on():
    """Be the live process from now on, as after the last step but for the process id."""
    state.home = posix.getpid()
    try:
        sys.modules["threading"].main_thread()._set_native_id()
    except BaseException:
        pass  # it is not loaded, or not the standard library's
    driver.send_ready()


def warm():
    """
    Do what a step does, but with an empty one. After a clone the first write to each page copies
    it, 0.3 to 3 us each; those that every step writes are copied now, when nobody waits.
    """
    collects, channel = gc.isenabled(), state.channel
    gc.disable()  # what the program left behind is not collected in its absence
    state.channel = -1
    try:
        step = driver.Step(driver.decode(WARM))
        driver.set_process(step)
        driver.keep_source(step)
        state.step = step
        driver.send(driver.BEGIN, {"id": step.id})
        for stage in EXERCISED:
            stage(step)
        driver.settle()
        driver.hush()
        with state.lock:
            state.step = None
            driver.send(driver.RESULT, step.message())
        driver.bundle(1, 1)
    except BaseException:
        pass
    finally:
        state.step, state.channel = None, channel
        state.sources.pop("<warm>", None)
        if collects:
            gc.enable()
