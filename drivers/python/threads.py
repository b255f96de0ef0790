# SPDX-License-Identifier: Apache-2.0
"""
Threads that libraries leave behind and that wait for work: a copy of the process has no thread but the one that
makes it. So they are ended before, in their library's own way, and come back when the library is asked for work; a pool
that would not bring them back is made anew before the next step.

Nothing is ended as long as one thread is alive that nobody here knows, or that is at work: the copy could not be made.
"""

import sys

import time

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
        if not native.alone(True):
            native.end_thread_pools()
            rest_numexpr()
    except BaseException:
        return False
    return True


def rest_processes():
    try:
        keep_made()
        end_trackers()
    except BaseException:
        pass  # its processes are the program's


def go_on():
    """Make again what was ended and does not come back by itself."""
    due, state.due, state.made = state.due, [], []
    for make, owner, args in due:
        try:
            make(owner, *args)
            state.made.append((make, sys.modules["weakref"].ref(owner), args))
        except BaseException:
            pass  # then whoever uses it finds out


def keep_made():
    """What was made again, and not used since, has pipes that a copy would lose: it is made anew then."""
    made, state.made = state.made, []
    for make, reference, args in made:
        owner = reference()
        if owner is not None and make is make_processes and owner._executor_manager_thread is None:
            if not owner._shutdown_thread:
                state.due.append((make, owner, args))


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
            names.append("%d of libraries in C%s" % (n_others, native_names()))
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


def native_names():
    """What libraries in C call theirs, as far as they do: polars-0, jemalloc_bg_thd."""
    names = set()
    for thread in driver.posix.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % thread, errors="replace") as file:
            names.add(file.read().strip().rstrip("0123456789-_"))
    with open("/proc/self/comm", errors="replace") as file:
        names.discard(file.read().strip().rstrip("0123456789-_"))
    return " (%s)" % ascii(" ".join(sorted(names)))[1:-1] if names else ""


def rest_numexpr():
    module = sys.modules.get("numexpr")
    if module is not None:
        n_threads = module.set_num_threads(1)
        if n_threads > 1:
            state.due.append((make_numexpr, module, (n_threads,)))


def make_numexpr(module, n_threads):
    module.set_num_threads(n_threads)


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


def find_pool(thread, _):
    """A thread of multiprocessing.Pool or ThreadPool: one of three that serve it, or a worker."""
    if getattr(getattr(thread, "_target", None), "__module__", "") != "multiprocessing.pool":
        return None
    for pool in pools():
        if thread in (pool._worker_handler, pool._task_handler, pool._result_handler, *pool._pool):
            if pool._state != "RUN" or pool._cache or not pool._taskqueue.empty():
                raise Busy
            return pool
    raise Busy


def pools():
    import gc

    kind = sys.modules["multiprocessing.pool"].Pool
    return [found for found in gc.get_objects() if issubclass(type(found), kind)]


def end_pool(pool):
    pool.close()
    pool.join()
    module = sys.modules["multiprocessing.pool"]
    args = (pool._processes, pool._initializer, pool._initargs)
    if isinstance(pool, module.ThreadPool):
        state.due.append((module.ThreadPool.__init__, pool, args))
    else:
        state.due.append((module.Pool.__init__, pool, (*args, pool._maxtasksperchild, pool._ctx)))


def find_processes(thread, _):
    """The manager of a ProcessPoolExecutor's, or loky's, or what feeds its queue."""
    if type(thread).__name__ == "Thread" and thread.name.startswith("QueueFeederThread"):
        managers = [m for m in others() if getattr(getattr(m, "call_queue", None), "_thread", None) is thread]
        return find_processes(managers[0], None) if managers else None
    if type(thread).__name__.lstrip("_") not in ("ExecutorManagerThread", "QueueManagerThread"):
        return None
    executor = thread.executor_reference()
    if executor is None:
        return thread
    if executor._pending_work_items:
        raise Busy
    return executor


def end_processes(executor):
    """joblib asks for another where the one it has is shut down; who keeps an executor gets the same one anew."""
    if isinstance(executor, sys.modules["threading"].Thread):
        return
    if hasattr(executor, "_submit_resize_lock"):
        executor.shutdown(wait=True)
        if hasattr(executor, "terminate"):
            executor.terminate(kill_workers=True)  # its files, too
        for kind in type(executor).__mro__:
            space = vars(sys.modules[kind.__module__])
            if space.get("_executor") is executor:
                space["_executor"] = space["_executor_kwargs"] = None
        return
    module = sys.modules["concurrent.futures.process"]
    module.ProcessPoolExecutor.shutdown(executor, wait=True)
    args = (executor._max_workers, executor._mp_context, executor._initializer, executor._initargs)
    state.due.append((make_processes, executor, (args, getattr(executor, "_max_tasks_per_child", None))))


def make_processes(executor, args, n_tasks):
    more = {} if n_tasks is None else {"max_tasks_per_child": n_tasks}
    sys.modules["concurrent.futures.process"].ProcessPoolExecutor.__init__(executor, *args, **more)


KINDS = (
    (find_monitor, end_monitor),
    (find_executor, end_executor),
    (find_pool, end_pool),
    (find_processes, end_processes),
)


# ---- processes that keep an eye on things -------------------------------------------------------------


def watch_tracker(module):
    """
    Know what a resource tracker (of multiprocessing's or loky's) looks after: where that is nothing, its process
    ends as well, and comes back with the next thing.
    """
    kind = module.ResourceTracker
    tell = vars(kind).get("_send")
    if tell is not None:

        def _send(self, cmd, name, rtype, *rest):
            keep = state.tracked.setdefault(self, {})
            keep[rtype, name] = keep.get((rtype, name), 0) + STEPS.get(cmd, 0)
            if cmd == "UNREGISTER" or keep[rtype, name] <= 0:
                del keep[rtype, name]
            return tell(self, cmd, name, rtype, *rest)

        kind._send = _send
    state.tracked.setdefault(module._resource_tracker, {})


STEPS = {"REGISTER": 1, "MAYBE_UNLINK": -1}


def end_trackers():
    import gc

    trackers = [tracker for tracker in state.tracked if tracker._pid is not None]
    if trackers:
        gc.collect()  # what an executor has registered goes with it
    for tracker in trackers:
        kept = state.tracked[tracker]
        if kept:
            continue
        fd, pid = tracker._fd, tracker._pid
        tracker._fd = tracker._pid = None
        driver.posix.close(fd)
        for _ in range(JOIN_S * 1000):  # it ends with the last process that could tell it something
            if driver.posix.waitpid(pid, driver.posix.WNOHANG)[0]:
                break
            time.sleep(0.001)
