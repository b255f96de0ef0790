# SPDX-License-Identifier: Apache-2.0
"""Checkpoints. After a step, the process is cloned. The clone, which is called the guard, waits.

checkpoint() prepares the process: it ends idle threads, because a clone has only the calling thread. Then it
calls native.guard() (fork.c). This call returns in the live process when the guard exists. It returns a
second time, perhaps days later, in the guard, when the engine resumes it to roll back. go_on() then makes the
guard the live process.

Guard and process share memory until one of them writes to it. The first write to a page after a clone copies
the page. So warm() runs an empty step right after the clone, while no client waits."""

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
    Make a guard and report it to the engine in a GUARD frame for @name.

    @fds has the socket at which the guard waits. It is closed here. The function returns a second time, in
    the guard, if the guard is resumed.

    Many sessions run one step and are then idle. So the pages that the next step writes are copied ahead
    only from the second guard on.
    """
    posix.sched_yield()  # the engine has a result to read, maybe on this CPU, and a clone takes long
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
    """Return both ends of the socketpair by which the session's event loop wakes itself."""
    if state.loop is None:
        return ()
    try:
        return [state.loop._ssock.fileno(), state.loop._csock.fileno()]
    except BaseException:
        return []


def go_on(n_locks, n_astray, n_gone):
    """
    Become the live process.

    Everything is as after the last step, except for the process id and for what the arguments count: locks
    that other processes have taken, open files that have lost their names, and lost bytes of private file
    mappings.
    """
    state.home = posix.getpid()
    try:
        sys.modules["threading"].main_thread()._set_native_id()
    except BaseException:
        pass  # threading is not loaded, or a module of the user
    driver.send_ready(n_locks, n_astray, n_gone)


def warm():
    """
    Run an empty step.

    The first write to each page after a clone copies the page, which takes 0.3 to 3 us. The empty step
    writes to the pages that every step writes to, while no client waits.
    """
    collects, channel, watched = gc.isenabled(), state.channel, state.watched
    gc.disable()  # the program's garbage must not be collected outside of a step
    state.channel, state.watched = -1, False  # send no frames, and tell the program nothing about this step
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
