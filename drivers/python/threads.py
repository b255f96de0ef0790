# SPDX-License-Identifier: Apache-2.0
"""
Threads that libraries leave behind and that wait for work: a copy of the process has no thread but the one that
makes it. So they are ended before, in their library's own way, and come back when the library is asked for work; a pool
that would not bring them back is made anew before the next step.

Nothing is ended as long as one thread is alive that nobody here knows, or that is at work: the copy could not be made.
"""

import sys

state = driver.state
native = driver.native
JOIN_S = 1
NAMES_MAX, NAME_CHARS, TEXT_CHARS = 6, 40, 150


class Busy(Exception):
    """A thread is at work, or of a kind that is not known."""


def rest():
    """End idle threads, if that leaves no other. Returns: whether a thread may be about to end."""
    try:
        owners = find_owners()
        for end, owner in owners:
            end(owner)
    except BaseException:
        return False
    if not native.alone(True):
        native.rest_pools()
    return True


def go_on():
    """Make again what was ended and does not come back by itself."""
    due, state.due = state.due, []
    for make, args in due:
        try:
            make(*args)
        except BaseException:
            pass  # then whoever uses it finds out


def others():
    """Python's other threads."""
    threading = sys.modules.get("threading")
    if threading is None:
        return []
    return [thread for thread in threading.enumerate() if thread is not threading.main_thread()]


def describe():
    """Names of the threads that are left, in ASCII."""
    names = []
    try:
        threads = others()
        for thread in threads[:NAMES_MAX]:
            names.append(describe_one(thread))
        if len(threads) > NAMES_MAX:
            names.append("%d more" % (len(threads) - NAMES_MAX))
        n_others = native.count_others() - len(threads)
        if n_others > 0:
            names.append("%d of libraries in C" % n_others)
    except BaseException:
        pass
    return ", ".join(names)[:TEXT_CHARS]


def describe_one(thread):
    name, kind = str(thread.name), type(thread)
    home = getattr(kind, "__module__", "")
    if home in ("threading", "__main__"):
        home = getattr(getattr(thread, "_target", None), "__module__", "")
    else:
        name = kind.__name__
    name = ascii(name[:NAME_CHARS])[1:-1]
    top = str(home).partition(".")[0]
    return name if top in ("", "__main__", "threading") else "%s (%s)" % (name, ascii(top[:NAME_CHARS])[1:-1])


# ---- the kinds ----------------------------------------------------------------------------------------


def find_owners():
    """Whom the threads belong to, and how each ends them. Raises Busy."""
    found, frames = {}, sys._current_frames()
    for thread in others():
        for find, end in KINDS:
            owner = find(thread, frames.get(thread.ident))
            if owner is not None:
                found[id(owner)] = end, owner
                break
        else:
            raise Busy
    return found.values()


def wait_for(threads):
    for thread in threads:
        thread.join(JOIN_S)
        if thread.is_alive():
            raise Busy


def find_monitor(thread, _):
    """tqdm's: it looks after bars that have not moved for long."""
    kind = type(thread)
    return thread if kind.__name__ == "TMonitor" and kind.__module__.partition(".")[0] == "tqdm" else None


def end_monitor(thread):
    """The next bar starts another."""
    thread.was_killed.set()
    wait_for([thread])


def find_executor(thread, frame):
    """A worker of a ThreadPoolExecutor, asyncio's included, that waits at its queue."""
    module = sys.modules.get("concurrent.futures.thread")
    worker = getattr(module, "_worker", None)
    if worker is None or getattr(thread, "_target", None) is not worker:
        return None
    executor = thread._args[0]()
    if executor is None:
        return thread  # nobody has it any more, and it is about to end
    is_waiting = frame is None or (frame.f_code is worker.__code__ and frame.f_locals.get("work_item") is None)
    if not is_waiting or not executor._work_queue.empty() or executor._shutdown:
        raise Busy
    return executor


def end_executor(executor):
    """As shutdown() does, and then let it start new ones."""
    if isinstance(executor, sys.modules["threading"].Thread):
        return
    queue, threads = executor._work_queue, list(executor._threads)
    try:
        with executor._shutdown_lock:
            executor._shutdown = True
        queue.put(None)
        wait_for(threads)
        while not queue.empty():
            queue.get_nowait()
        executor._threads = set()
        executor._idle_semaphore = sys.modules["threading"].Semaphore(0)
    finally:
        executor._shutdown = False


KINDS = (
    (find_monitor, end_monitor),
    (find_executor, end_executor),
)
