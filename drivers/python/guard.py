# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a clone of the process that waits, made after a step, and what follows from it."""

import sys

import gc
import posix

state = driver.state
native = driver.native
EXERCISED = (driver.stage_run, driver.stage_value, driver.stage_failure, driver.stage_finish)
EXERCISED += (driver.stage_flush,)
WARM = b'{"id":"","code":"None","filename":"<warm>","argv":[""],"mode":"session","value_bytes":0}'


def checkpoint(name, limit, fds):
    """
    Make a guard and tell the engine, in a frame for @name; @fds has the socket that the guard waits at, and is
    closed here. In a guard that is resumed this returns
    as well, days later perhaps: the process is then the live one.

    The two share their memory until one of them writes. Many sessions run one step and are idle then,
    for long or for good, so it takes a second guard before the pages of the next step are copied ahead.
    """
    posix.sched_yield()  # the engine has a result to read, maybe on this CPU; a clone takes long
    is_patient, is_first = not state.crowded, not state.had_guard
    state.crowded, state.had_guard = False, True
    if not native.alone(is_patient):
        is_patient = driver.part("threads").rest()
    if state.tracked or state.made:
        driver.part("threads").rest_processes()
    barred = native.barred()
    failure = native.guard(
        driver.encode(name),
        state.channel,
        fds[0] if fds else -1,
        state.out,
        state.err,
        loop_pairs(),
        limit,
        is_patient,
        driver.encode(barred),
    )
    if type(failure) is tuple:
        go_on(*failure)
    elif failure:
        state.crowded = failure == "threads"
        told = {"id": name, "reason": failure, "barred": barred}
        if state.crowded:
            told["detail"] = driver.part("threads").describe()
        driver.send(driver.GUARD, told)
    elif not is_first and not native.is_readable(state.channel):
        warm()


def loop_pairs():
    """The descriptors by which the loop of top-level await wakes itself."""
    if state.loop is None:
        return ()
    try:
        return [state.loop._ssock.fileno(), state.loop._csock.fileno()]
    except BaseException:
        return []


def go_on(n_locks, n_astray, n_gone):
    """
    Be the live process from now on, as after the last step but for the process id, locks that others have,
    open files that are no more what has their names, and bytes of private mappings of files.
    """
    state.home = posix.getpid()
    try:
        sys.modules["threading"].main_thread()._set_native_id()
    except BaseException:
        pass  # it is not loaded, or not the standard library's
    driver.send_ready(n_locks, n_astray, n_gone)


def warm():
    """
    Do what a step does, but with an empty one. After a clone the first write to each page copies
    it, 0.3 to 3 us each; those that every step writes are copied now, when nobody waits.
    """
    collects, channel, watched = gc.isenabled(), state.channel, state.watched
    gc.disable()  # what the program left behind is not collected in its absence
    state.channel, state.watched = -1, False  # nor is it told of a step, which this is not
    try:
        step = driver.Step(driver.decode(WARM))
        driver.set_process(step)
        driver.keep_source(step)
        state.step = step
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
        state.step, state.channel, state.watched = None, channel, watched
        state.sources.pop("<warm>", None)
        if collects:
            gc.enable()
