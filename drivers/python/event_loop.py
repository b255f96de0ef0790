# SPDX-License-Identifier: Apache-2.0
"""The session's event loop: top-level await, tasks that outlive a step, and their output between steps.

A session has one asyncio loop, which is created when a step first needs it. A step with top-level await
runs as a task on the loop (Cell). Tasks that it leaves behind continue in the next step that awaits, and
also between steps. While the driver waits for a frame, turn() runs the loop with the channel as one more
file to watch, and stops when a frame arrives. Output belongs to a step. So the output of tasks between
steps is stored and printed at the start of the next step."""

import sys

HELD_CHARS = 1 << 16


def session_loop():
    """Return the event loop of the session. It is created if necessary."""
    import asyncio

    loop = driver.state.loop
    if loop is None or loop.is_closed():
        loop = driver.state.loop = asyncio.new_event_loop()
    return loop


def is_in_session():
    """Return whether this is the thread that runs steps, within a step of a session."""
    step = driver.state.step
    return step is not None and not step.once and driver._thread.get_ident() == driver.state.thread


def patch_asyncio(asyncio):
    """
    Make asyncio.create_task() and get_event_loop() use the session's loop in a step that does not await.
    The loop does not run then. But tasks can be created, which run in the next step that awaits and between
    steps.
    """
    create = asyncio.create_task

    def create_task(coro, **kwargs):
        if asyncio._get_running_loop() is None and is_in_session():
            return session_loop().create_task(coro, **kwargs)
        return create(coro, **kwargs)

    create_task.__doc__, create_task.__module__, create_task.__wrapped__ = create.__doc__, create.__module__, create
    asyncio.create_task = asyncio.tasks.create_task = create_task
    policy = type(asyncio.get_event_loop_policy()).__mro__[-3 if sys.version_info < (3, 14) else -2]
    get = policy.get_event_loop

    def get_event_loop(self):
        if is_in_session() and self._local._loop is None:
            self.set_event_loop(session_loop())
        return get(self)

    get_event_loop.__doc__ = get.__doc__
    policy.get_event_loop = get_event_loop


def run_coroutine(coroutine):
    """Run a coroutine, such as a step with top-level await, on the session's loop."""
    import asyncio

    loop = session_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt as interrupt:
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(task)
            except asyncio.CancelledError as where:
                interrupt.__context__ = where
            except BaseException:
                pass
        raise


class Cell:
    """
    A step as an awaitable object. A task shows the frames and the code of what it awaits. Here these are the
    program's own. For a coroutine of the driver, they would name a file of the driver.
    """

    __name__ = __qualname__ = "<module>"

    def __init__(self, codes, space, kept):
        self.now, self.codes = None, codes
        self.run = self.steps(space, kept)

    def send(self, value):
        return self.run.send(value)

    def throw(self, *error):
        return self.run.throw(*error)

    def close(self):
        self.run.close()

    def steps(self, space, kept):
        value = None
        try:
            for code in self.codes:
                value = eval(code, space)
                if code.co_flags & driver.COROUTINE:
                    self.now = value
                    value = yield from value.__await__()
        finally:
            self.now = None
            kept.append(sys.modules["contextvars"].copy_context())
        return value

    def __await__(self):
        return self.run

    cr_code = property(lambda self: self.now.cr_code if self.now else self.codes[0])
    cr_frame = property(lambda self: self.now and self.now.cr_frame)
    cr_await = property(lambda self: self.now and self.now.cr_await)
    cr_running = property(lambda self: self.run.gi_running)


def run_async(codes, space):
    """
    Run a step that awaits.

    All of its code runs on the loop, so that code before the first await can start tasks. A task has a
    context of its own, so the context variables that the step has set are copied to the session's context.
    """
    import contextvars  # noqa: F401

    kept = []
    try:
        return run_coroutine(Cell(codes, space, kept))
    finally:
        for variable, value in kept[0].items() if kept else ():
            if variable.get(kept) is not value:
                variable.set(value)


def turn():
    """
    Run the session's loop until a frame arrives, if the loop has work.

    What Python code prints meanwhile is stored for the next step. Interrupts are not delivered meanwhile.
    What the tasks do before a checkpoint is made becomes part of the checkpoint.
    """
    state = driver.state
    streams = (state.stdout, state.stderr)
    try:
        if not has_work(state.loop):
            return
        for stream in streams:
            stream.write = hold_output(stream)
        while has_work(state.loop) and not driver.native.is_readable(state.channel):
            turn_until_frame(state.loop)
    except BaseException:
        pass
    for stream in streams:
        vars(stream).pop("write", None)


def hold_output(stream):
    def write(text):
        if type(text) is str and sum([len(held) for _, held in driver.state.held]) + len(text) <= HELD_CHARS:
            driver.state.held.append((stream, text))
        return len(text)

    return write


def say_held():
    """Print the text that was stored between the steps, at the start of this step."""
    held, driver.state.held = driver.state.held, []
    for stream, text in held:
        try:
            stream.write(text)
        except Exception:
            pass


def has_work(loop):
    if loop.is_closed() or loop.is_running():
        return False
    if getattr(loop, "_ready", None) or getattr(loop, "_scheduled", None) or sys.modules["asyncio"].all_tasks(loop):
        return True
    selector = getattr(loop, "_selector", None)
    return selector is not None and len(selector.get_map()) > 1  # one entry is the loop's own wake-up socket


def turn_until_frame(loop):
    channel = driver.state.channel
    loop.add_reader(channel, loop.stop)
    try:
        driver.native.unblock_signals()
        loop.run_forever()
    except BaseException:
        pass  # a task has raised SystemExit; the task itself stores that, and the others continue
    finally:
        driver.hush()
        loop.remove_reader(channel)


def close_loop():
    """Close the loop as asyncio.run() does at its end."""
    import asyncio

    loop, driver.state.loop = driver.state.loop, None
    if loop.is_closed():
        return
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
