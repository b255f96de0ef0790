# SPDX-License-Identifier: Apache-2.0
"""End the idle threads of libraries before the process is cloned.

A clone has only the calling thread, so a process with other threads can be neither checkpointed nor
branched. Many libraries keep idle threads for their next call. For each known kind of thread (KINDS),
this file finds the owner, checks that the thread is idle, and shuts it down in the library's own way.
Most pools start new threads when they get work again. Those that would not are recorded in state.due and
started again before the next step (go_on()).

If a single thread is busy or of an unknown kind, no thread is ended, because the clone could not be made
anyway."""

import sys

import time

state = driver.state
native = driver.native
JOIN_S = 1
NAMES_MAX, NAME_CHARS, TEXT_CHARS = 6, 40, 150


class Busy(Exception):
    """A thread is busy or of an unknown kind."""


def rest():
    """
    End all idle threads, unless there are threads of another kind. Returns: whether that was done; some
    threads may then still be about to end.
    """
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
        pass  # the processes stay, like the program's own


def go_on():
    """Start again what was ended and does not start by itself."""
    due, state.due, state.made = state.due, [], []
    for make, owner, args in due:
        try:
            make(owner, *args)
            state.made.append((make, sys.modules["weakref"].ref(owner), args))
        except BaseException:
            pass  # the next use of it will fail


def keep_made():
    """
    Find the process pools that were started again and not used since. They must be restarted once more,
    because a clone would lose their pipes.
    """
    made, state.made = state.made, []
    for make, reference, args in made:
        owner = reference()
        if owner is not None and make is make_processes and owner._executor_manager_thread is None:
            if not owner._shutdown_thread:
                state.due.append((make, owner, args))


def others():
    """Return Python's threads except the main thread."""
    threading = sys.modules.get("threading")
    if threading is None:
        return []
    return [thread for thread in threading.enumerate() if thread is not threading.main_thread()]


def describe():
    """Return the names of the remaining threads, in ASCII."""
    names = []
    try:
        threads = others()
        for thread in threads[:NAMES_MAX]:
            names.append(describe_one(thread))
        if len(threads) > NAMES_MAX:
            names.append("%d more" % (len(threads) - NAMES_MAX))
        n_others = native.count_others() - len(threads)
        if n_others > 0:
            names.append("%d of C libraries%s" % (n_others, native_names()))
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
    """Return the names that C libraries give to their threads, such as polars-0 or jemalloc_bg_thd; or ""."""
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


# ---- the kinds of threads ------------------------------------------------------------------------------


def find_owners():
    """Return the owners of all threads, each with the function that ends it. Raises Busy."""
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
    """Find tqdm's monitor thread, which refreshes progress bars that are not updated."""
    kind = type(thread)
    return thread if kind.__name__ == "TMonitor" and kind.__module__.partition(".")[0] == "tqdm" else None


def end_monitor(thread):
    """End the monitor. The next progress bar starts another."""
    thread.was_killed.set()
    wait_for([thread])


def find_executor(thread, frame):
    """Find the ThreadPoolExecutor of a worker that waits at its queue. asyncio's executor is one too."""
    module = sys.modules.get("concurrent.futures.thread")
    worker = getattr(module, "_worker", None)
    if worker is None or getattr(thread, "_target", None) is not worker:
        return None
    executor = thread._args[0]()
    if executor is None:
        return thread  # the executor was freed, so the worker is about to end
    is_waiting = frame is None or (frame.f_code is worker.__code__ and frame.f_locals.get("work_item") is None)
    if not is_waiting or not executor._work_queue.empty() or executor._shutdown:
        raise Busy
    return executor


def end_executor(executor):
    """Shut the executor down, then let it start new workers."""
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
    """
    Find the multiprocessing.Pool or ThreadPool of a thread, which is one of its three managing threads or a
    worker.
    """
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
    """
    Find the ProcessPoolExecutor (also loky's) of its manager thread or of the thread that feeds its queue.
    """
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
    """
    End an executor. If joblib's executor is shut down, joblib creates another one. Every other executor is
    started again, because its owner keeps using the same object.
    """
    if isinstance(executor, sys.modules["threading"].Thread):
        return
    if hasattr(executor, "_submit_resize_lock"):
        executor.shutdown(wait=True)
        if hasattr(executor, "terminate"):
            executor.terminate(kill_workers=True)  # close the files of the executor too
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


# ---- processes that track resources -------------------------------------------------------------------


def watch_tracker(module):
    """
    Record what a resource tracker (of multiprocessing or loky) tracks. If it tracks nothing, its process
    can be ended as well. It is started again for the next resource.
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
        gc.collect()  # this drops resources that an executor has registered
    for tracker in trackers:
        kept = state.tracked[tracker]
        if kept:
            continue
        fd, pid = tracker._fd, tracker._pid
        tracker._fd = tracker._pid = None
        driver.posix.close(fd)
        # The tracker ends when no process is left that could send it something.
        for _ in range(JOIN_S * 1000):
            if driver.posix.waitpid(pid, driver.posix.WNOHANG)[0]:
                break
            time.sleep(0.001)
