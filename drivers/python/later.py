# SPDX-License-Identifier: Apache-2.0
"""What only some steps need: site, hooks on imports, coroutines, source lines, open files."""

import sys

import builtins
import posix


TABLE_COLUMNS = 200
HELD_CHARS = 1 << 16
NO_SCREEN = (
    "gtk3agg gtk3cairo gtk4agg gtk4cairo macosx nbagg notebook ipympl widget inline qtagg qtcairo qt5agg qt5cairo "
    "qt4agg qt4cairo tkagg tkcairo webagg wx wxagg wxcairo"
).split()


class Genuine:
    """
    While this is entered, builtins, sys.path and the standard library are what they were when the
    process started, whatever the step's code and the files of the workspace have made of them.
    Modules loaded meanwhile stay visible afterwards unless the workspace has one of that name;
    those are kept aside for the next time.
    """

    def __enter__(self):
        self.builtins = dict(vars(builtins))
        vars(builtins).update(driver.BUILTINS)
        self.saved = [(name, getattr(sys, name, None)) for name in IMPORT_STATE]
        for name, value in zip(IMPORT_STATE, IMPORT_STATE_AT_START):
            setattr(sys, name, list(value))
        self.hidden = {}
        for name, module in list(sys.modules.items()):
            if is_impostor(name, module):
                self.hidden[name] = sys.modules.pop(name)
        sys.modules.update(state.private)
        self.before = set(sys.modules) - set(state.private)

    def __exit__(self, *_):
        for name, value in self.saved:
            setattr(sys, name, value)
        theirs = sys.path if isinstance(sys.path, list) else []
        workspace = [p for p in theirs if type(p) is str and p not in state.stdlib_path]
        for name in set(sys.modules) - self.before:
            if name in self.hidden or is_shadowed(name, workspace):
                state.private[name] = sys.modules.pop(name)
            else:
                state.private.pop(name, None)
        sys.modules.update(self.hidden)
        vars(builtins).update(self.builtins)


state = driver.state
IMPORT_STATE = ("path", "meta_path", "path_hooks")
IMPORT_STATE_AT_START = (state.stdlib_path, state.meta_path, state.path_hooks)


def is_impostor(name, module):
    """Does a module not of the standard library sit under a name of the standard library?"""
    if type(name) is not str or name in driver.NEEDED or not is_stdlib(name.partition(".")[0]):
        return False
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if type(origin) is not str or origin in ("built-in", "frozen"):
        return False
    return not origin.startswith(tuple(driver.state.stdlib_path))


def is_stdlib(top):
    names = getattr(sys, "stdlib_module_names", None)  # not before 3.10
    return top in names if names is not None else is_shadowed(top, state.stdlib_path)


def is_shadowed(name, places):
    top = name.partition(".")[0]
    for place in places:
        for ending in ("", ".py"):
            try:
                posix.stat("%s/%s%s" % (place or ".", top, ending))
                return True
            except OSError:
                pass
    return False


def parse_json(text):
    with Genuine():
        import json
    return json.loads(text)


def load_site():
    """What site.main() would have done for a plain system Python started with -I."""
    first = sys.path[:1]
    del sys.path[:1]
    try:
        import os
        import site

        known = {os.path.normcase(place) for place in sys.path}
        for place in site.getsitepackages():
            if os.path.isdir(place):
                site.addsitedir(place, known)
        site.setcopyright()
        site.ENABLE_USER_SITE = False
        site.execsitecustomize()
    except Exception as error:
        note_ignored(error)
    finally:
        sys.path[:0] = first


def note_ignored(error):
    """Tell of an exception that nothing can handle, as the interpreter does at its end."""
    with Genuine():
        import traceback
    driver.part("blame").complain("".join(traceback.format_exception_only(type(error), error)))


class Hooked:
    """A loader that calls back when its module is loaded, and then is gone."""

    def __init__(self, spec, hook):
        self.spec, self.loader, self.hook = spec, spec.loader, hook

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.spec.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            self.hook(module)
        except Exception as error:
            note_ignored(error)

    def __getattr__(self, name):
        return getattr(self.loader, name)


def hooked_spec(name, path, target):
    for finder in sys.meta_path:
        if finder is driver.Finder:
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            if hasattr(spec.loader, "exec_module"):
                spec.loader = Hooked(spec, driver.Finder.hooks[name])
            return spec
    return None


def patch_pandas(pandas):
    """
    Tables as wide as the terminal where there is one (COLUMNS), and wide for a model. A file is a
    program like any. What the program sets afterwards holds.
    """
    if not hasattr(pandas, "set_option"):
        return  # a file of the user's that is called so
    given = posix.environ.get(b"COLUMNS", b"")
    step = driver.state.step
    if step is not None and step.once and step.filename[:1] != "<" and not given:
        return
    width = int(given) if given.isdigit() and 0 < int(given) < 10_000 else TABLE_COLUMNS
    pandas.set_option("display.width", width)
    if width >= TABLE_COLUMNS:
        pandas.set_option("display.max_columns", 20)


def patch_matplotlib(matplotlib):
    """use() of a backend that wants a screen or a notebook leaves the one that draws here."""
    if hasattr(matplotlib, "use"):  # else it is a file of the user's
        matplotlib.use = without_screen(matplotlib.use, lambda: None)


def without_screen(switch, otherwise):
    def use(backend, *args, **kwargs):
        if type(backend) is str and (backend.lower() in NO_SCREEN or backend[:9] == "module://"):
            otherwise()
        else:
            switch(backend, *args, **kwargs)

    use.__doc__, use.__name__, use.__wrapped__ = switch.__doc__, switch.__name__, switch
    return use


def patch_pyplot(pyplot):
    """show() displays the open figures instead of warning that there is no screen."""

    def show(*args, **kwargs):
        driver.part("rich").show_figures(driver.state.step)

    show.__doc__ = pyplot.show.__doc__
    pyplot.show = show
    switch = pyplot.switch_backend

    def have_one():
        if getattr(pyplot, "_backend_mod", switch) is None:  # else there is one, which stays
            switch("agg")

    pyplot.switch_backend = without_screen(switch, have_one)


def patch_axes(module):
    """Remember the numbers behind box plots, for the chart."""
    bxp = module.Axes.bxp

    def recorded(self, bxpstats, positions=None, *args, **kwargs):
        result = bxp(self, bxpstats, positions, *args, **kwargs)
        try:
            across = not kwargs.get("vert", True) or kwargs.get("orientation") == "horizontal"
            places = positions if positions is not None else range(1, len(bxpstats) + 1)
            boxes = [(float(place), stats, across) for place, stats in zip(places, bxpstats)]
            self._retort_boxes = getattr(self, "_retort_boxes", []) + boxes
        except Exception:
            pass  # a chart without its boxes is no reason to fail the plot
        return result

    recorded.__name__, recorded.__doc__ = bxp.__name__, bxp.__doc__
    recorded.__wrapped__ = bxp
    module.Axes.bxp = recorded


def patch_pil(image_show):
    """Image.show() displays the image."""

    class Viewer(image_show.Viewer):
        def show(self, image, **options):
            driver.display(image)
            return True

        def show_image(self, image, **options):
            return self.show(image)

    image_show.register(Viewer(), 0)


def register_sources(*_):
    with Genuine():
        import linecache
    for name, text in driver.state.sources.items():
        linecache.cache[name] = (len(text), None, driver.source_lines(text), name)


def session_loop():
    """The event loop of top-level await, which lives as long as the session."""
    import asyncio

    loop = driver.state.loop
    if loop is None or loop.is_closed():
        loop = driver.state.loop = asyncio.new_event_loop()
    return loop


def is_in_session():
    """Does a step of a session ask, in the thread that runs steps?"""
    step = driver.state.step
    return step is not None and not step.once and driver._thread.get_ident() == driver.state.thread


def patch_asyncio(asyncio):
    """
    In a step that does not await no loop runs, but there is one: tasks are made on it, and go on in the next step that
    awaits and between steps.
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
    """Run top-level await on the session's loop."""
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
    """A step as a coroutine, which a task shows as the program's own: of a coroutine of ours it would name the file."""

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
    Run a step that awaits: all of it on the loop, so that what comes before can start tasks. A task has a context
    of its own; what the step sets there is the session's.
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
    Let the session's loop turn until there is a frame to read, if it has anything to do. What Python prints meanwhile is
    kept for the next step. No interrupt comes, and a checkpoint has what was done until then.
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
    """What was printed since the last step, at the begin of this one."""
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
    return selector is not None and len(selector.get_map()) > 1  # one is what wakes it


def turn_until_frame(loop):
    channel = driver.state.channel
    loop.add_reader(channel, loop.stop)
    try:
        driver.native.unblock_signals()
        loop.run_forever()
    except BaseException:
        pass  # a task has raised SystemExit, and has it kept; the others go on
    finally:
        driver.hush()
        loop.remove_reader(channel)


def close_loop():
    """As asyncio.run() does at its end."""
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


def flush_files():
    """Write out what file objects that nobody closed still hold."""
    import gc

    from _io import BufferedRandom, BufferedWriter, TextIOWrapper

    kinds = (BufferedRandom, BufferedWriter, TextIOWrapper)
    files = [o for o in gc.get_objects() if type(o) in kinds]
    files.sort(key=lambda f: type(f) is not TextIOWrapper)
    for file in files:
        try:
            if not file.closed:
                file.flush()
        except Exception:
            pass
