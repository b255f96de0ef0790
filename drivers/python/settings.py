# SPDX-License-Identifier: Apache-2.0
"""Settings of a notebook program: extensions, %autoreload, %config, events before and after a step, aliases
of magics."""

import sys

import builtins
import posix

state = driver.state
Genuine = driver.part("genuine").Genuine

with Genuine():
    import importlib
    import re

OWN = ("autoreload", "storemagic")  # IPython's own extensions whose magics exist here or are not needed
SHOWS = ("all", "last", "last_expr", "none", "last_expr_or_assign")
MODES = {"0": 0, "off": 0, "1": 1, "explicit": 1, "2": 2, "all": 2, "3": 2, "complete": 2, "": None, "now": None}
EVENTS = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell")
INLINE = (
    "Figures are shown as PNG, with the data behind them, when a step ends or at show(); InlineBackend has no settings "
    "here. Use plt.rcParams: figure.dpi, savefig.dpi."
)


def note(text):
    builtins.print(text, file=sys.stderr)


# ---- extensions -------------------------------------------------------------------------------------------


def load_ext(text, space):
    names = text.split()
    if not names:
        raise UsageError("write %load_ext MODULE")
    for name in names:
        if name in OWN or name[:19] == "IPython.extensions.":
            continue
        if name in loaded:
            builtins.print("The %s extension is already loaded. To reload it, use:\n  %%reload_ext %s" % (name, name))
        else:
            enable(importlib.import_module(name))


def reload_ext(text, space):
    for name in text.split():
        if name in OWN:
            continue
        unload_ext(name, space)
        module = sys.modules.get(name)
        enable(importlib.reload(module) if module is not None else importlib.import_module(name))


def unload_ext(text, space):
    for name in text.split():
        if name in loaded:
            loaded.discard(name)
            leave = getattr(sys.modules.get(name), "unload_ipython_extension", None)
            if leave is not None:
                leave(shell())


def enable(module):
    load = getattr(module, "load_ipython_extension", None)
    if load is None:
        builtins.print("The %s module is not an IPython extension." % module.__name__)
        return
    try:
        load(shell())
    except Exception as error:
        raise UsageError("%s does not load here, where the shell is only a stand-in for IPython's: %s: %s" % (
            module.__name__, type(error).__name__, error)) from error
    loaded.add(module.__name__)


def shell():
    return driver.part("interactive").shell


# ---- %autoreload --------------------------------------------------------------------------------------


class Reloader:
    """The modules from the program's files. A module is reloaded before a step if its file has changed."""

    def __init__(self):
        self.mode, self.seen, self.named, self.left_out = 0, {}, set(), set()

    def is_watched(self, name):
        return name in self.named if self.mode < 2 else name not in self.left_out

    def look(self):
        """Return [(module, status of its file)] for all modules from files of the program."""
        out, is_user = [], driver.part("trace").is_user
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if module is state.main or type(path) is not str or path[-3:] != ".py" or not is_user(path):
                continue
            try:
                found = posix.stat(path)
                out.append((name, module, (found.st_mtime_ns, found.st_size, found.st_ino)))
            except OSError:
                pass  # the file no longer exists, so keep the loaded module
        return out

    def note(self):
        for name, _, now in self.look():
            self.seen.setdefault(name, now)

    def go(self):
        for name, module, now in self.look():
            if self.seen.setdefault(name, now) != now and self.is_watched(name):
                self.seen[name] = now
                try:
                    again(module)
                except (Exception, SystemExit) as error:
                    note("[autoreload of %s failed]" % name)
                    driver.part("rich").tell(error)


def again(module):
    """Reload a module. Variables of the session that hold its functions or classes get the new ones."""
    before = {id(value): name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    kept = list(vars(module).values())  # keep the old objects alive until the end, so that no id is used again
    cached = getattr(module, "__cached__", None)
    if cached:
        try:
            # Python uses a compiled file if the source has the same size and time in seconds as before. A
            # changed source may have both, so remove the compiled file.
            posix.unlink(cached)
        except OSError:
            pass
    importlib.reload(module)
    main = vars(state.main)
    for name, value in list(main.items()):
        if id(value) in before:
            main[name] = vars(module).get(before[id(value)], value)
    del kept


def autoreload(text, space):
    word = (text.split() or [""])[0].lower()
    if word not in MODES:
        raise UsageError("write %autoreload 2 (all modules of the program's files), 1 (those of %aimport), 0 or now")
    if MODES[word] is None:
        mode, reloader.mode = reloader.mode, 2
        reloader.go()
        reloader.mode = mode
        return
    reloader.mode = MODES[word]
    reloader.note()
    state.watched = bool(reloader.mode or listeners)


def aimport(text, space):
    names = [name.strip() for name in text.replace(",", " ").split()]
    if not names:
        builtins.print("Modules to reload:\n%s\n\nModules to skip:\n%s" % (
            "all-except-skipped" if reloader.mode == 2 else " ".join(sorted(reloader.named)),
            " ".join(sorted(reloader.left_out))))
    for name in names:
        if name[0] == "-":
            reloader.left_out.add(name[1:])
            reloader.named.discard(name[1:])
            continue
        importlib.import_module(name)
        reloader.named.add(name)
        reloader.left_out.discard(name)
        vars(state.main)[name.partition(".")[0]] = sys.modules[name.partition(".")[0]]
    reloader.note()


# ---- before and after a step -------------------------------------------------------------------------------


class Info:
    """The argument of pre_run_cell, and the member `info` of the result that post_run_cell gets."""

    store_history, silent, shell_futures, cell_id = True, False, True, None

    def __init__(self, code):
        self.raw_cell = self.transformed_cell = code


class Done:
    def __init__(self, step):
        self.info, self.execution_count, self.result = Info(step.code), step.number, step.outcome
        self.error_before_exec, self.error_in_exec = None, step.failure

    success = property(lambda self: self.error_in_exec is None)


class Events:
    def register(self, event, function):
        if event not in EVENTS:
            raise UsageError("unknown event %s: the events are %s" % (event, ", ".join(EVENTS)))
        if function not in listeners.setdefault(event, []):
            listeners[event].append(function)
        state.watched = True

    def unregister(self, event, function):
        if function not in listeners.get(event, ()):
            raise ValueError("Function %r is not registered as a %s callback" % (function, event))
        listeners[event].remove(function)

    def trigger(self, event, *args):
        for function in list(listeners.get(event, ())):
            try:
                function(*args)
            except Exception as error:
                note("Error in callback %r (for %s):" % (function, event))
                driver.part("rich").tell(error)


def begin(step):
    if reloader.mode:
        reloader.go()
    events.trigger("pre_execute")
    events.trigger("pre_run_cell", Info(step.code))


def end(step):
    events.trigger("post_execute")
    events.trigger("post_run_cell", Done(step))
    step.outcome = None
    if reloader.mode:
        reloader.note()


# ---- %config and the like ---------------------------------------------------------------------------------


def config(text, space):
    name, mark, value = [part.strip() for part in text.partition("=")]
    if name == "InteractiveShell.ast_node_interactivity" and mark:
        value = value.strip("'\"")
        if value not in SHOWS:
            raise UsageError("ast_node_interactivity must be one of %s" % ", ".join(SHOWS))
        vars(shell()).pop("ast_node_interactivity", None)
        installed = getattr(sys.modules.get("IPython.core.interactiveshell"), "InteractiveShell", None)
        for kind in (type(shell()), installed):
            if kind is not None:
                kind.ast_node_interactivity = value
    elif not name:
        builtins.print("Available: InteractiveShell.ast_node_interactivity = 'all', 'last_expr_or_assign', …")
    elif name.partition(".")[0] == "InlineBackend":
        if not mark:
            builtins.print(INLINE)
    elif name == "InteractiveShell.ast_node_interactivity":
        return shell().ast_node_interactivity
    else:
        note("%%config %s: there is no such setting here; skipped" % name)
    return None


def matplotlib(text, space):
    if text.strip() in ("--list", "-l"):
        builtins.print("Available matplotlib backends: ['agg', 'inline']")


def precision(text, space):
    text = text.strip()
    if text and not text.isdigit() and "%" not in text:
        raise UsageError("write %precision 3, %precision %.2e, or %precision alone for repr() again")
    form = "%%.%sf" % text if text.isdigit() else text or "%r"
    try:
        form % 1.5
    except (TypeError, ValueError) as error:
        raise UsageError("%%precision %s: %s" % (text, error)) from None
    told = driver.part("pretty").ForTypes("text/plain")
    told.pop(float)
    if text:
        told.for_type(float, lambda value, p, cycle: p.text(form % value))
    if "numpy" in sys.modules and hasattr(sys.modules["numpy"], "set_printoptions"):
        sys.modules["numpy"].set_printoptions(precision=int(text) if text.isdigit() else 8)
    return form


def xmode(text, space):
    mode = text.strip().capitalize() or "Plain"
    if mode in ("Plain", "Context"):
        builtins.print("Exception reporting mode: %s" % mode)
    else:
        note("%%xmode %s: tracebacks are plain here; %%tb shows the last one again" % mode)


def pprint(text, space):
    note("%pprint: values are shown as repr() writes them; import pprint; pprint.pprint(x) breaks long ones into lines")


def alias_magic(text, space):
    options, rest = driver.part("magic").words(text, flags="lc")
    if len(rest) != 2:
        raise UsageError("write %alias_magic [-l] [-c] NAME MAGIC")
    magic, (name, target) = driver.part("magic"), [word.lstrip("%") for word in rest]
    is_line = shell().find_line_magic(target) is not None and ("c" not in options or "l" in options)
    is_cell = shell().find_cell_magic(target) is not None and ("l" not in options or "c" in options)
    if not is_line and not is_cell:
        raise UsageError(magic.unknown(target, "%", [*magic.LINES, *magic.CELLS]))
    if is_line:
        magic.theirs["line"][name] = lambda line: magic.run_line(target, line, magic.users_space())
        builtins.print("Created `%%%s` as an alias for `%%%s`." % (name, target))
    if is_cell:
        magic.theirs["cell"][name] = lambda line, body: magic.run_cell(target, line, body, magic.users_space())
        builtins.print("Created `%%%%%s` as an alias for `%%%%%s`." % (name, target))


def alias(text, space):
    name, _, command = text.strip().partition(" ")
    magic = driver.part("magic")
    if not name:
        return sorted([*magic.ALIASES.items(), *aliases.items()])
    if not command:
        raise UsageError("write %alias NAME COMMAND; %s in the command is a word of the line")

    def run(line):
        n_words = command.replace("%%", "").count("%s")
        given = line.split(None, n_words - 1) if n_words else []
        if len(given) < n_words:
            raise UsageError("alias %s takes %d words" % (name, n_words))
        whole = command.replace("%l", line) if "%l" in command else command
        for word in given:
            whole = whole.replace("%s", word, 1)
        driver.part("shell").system(whole if n_words or "%l" in command else "%s %s" % (whole, line), magic.users_space())

    aliases[name], magic.theirs["line"][name] = command, run
    return None


def unalias(text, space):
    if aliases.pop(text.strip(), None) is None:
        raise UsageError("%s is not an alias" % text.strip())
    driver.part("magic").theirs["line"].pop(text.strip(), None)


def reset_selective(text, space):
    options, rest = driver.part("magic").words(text, flags="f")
    if len(rest) != 1:
        raise UsageError("write %reset_selective [-f] PATTERN")
    try:
        pattern = re.compile(rest[0])
    except re.error as error:
        raise UsageError("%%reset_selective: %s" % error) from None
    main = vars(state.main)
    for name in [n for n in main if type(n) is str and n[:1] != "_" and pattern.search(n)]:
        del main[name]


# ---- directories --------------------------------------------------------------------------------------------


def pushd(text, space):
    stack.insert(0, posix.getcwd())
    try:
        driver.part("magic").cd("-q " + text, space)
        if text.strip() and posix.getcwd() == stack[0]:
            del stack[0]  # the directory does not exist, which cd() has reported
    except BaseException:
        del stack[0]
        raise
    return dirs("", space)


def popd(text, space):
    if not stack:
        raise UsageError("%popd on empty stack")
    driver.part("magic").cd(stack.pop(0), space)


def dirs(text, space):
    return list(stack)


def dhist(text, space):
    for number, place in enumerate(vars(builtins).get("_dh", ())):
        builtins.print("%d: %s" % (number, place))


UsageError = driver.part("magic").UsageError
loaded, listeners, aliases, stack = set(), {}, {}, []
reloader, events = Reloader(), Events()
