# SPDX-License-Identifier: Apache-2.0
"""The functions behind translated notebook lines.

__notebook__ has a method for each form that notebook.py translates. Tables list the magics. This part is
loaded when a step first uses one of them."""

import sys

import builtins

state = driver.state
Genuine = driver.part("genuine").Genuine

with Genuine():
    import os

# Magics that only set up a notebook's display or editor. They do nothing here.
PASSED_OVER = (
    "colors autosave automagic autocall autoawait autoindent doctest_mode gui page colab logstart "
    "logstop logon logoff logstate qtconsole connect_info rehashx watermark "
    "tensorflow_version clear cls"
).split()
# Magics that are skipped, each with a hint on what to use here instead
INSTEAD = {
    "store": "variables last as long as the session; to keep one longer, write a file: pickle.dump(x, open(NAME, 'wb'))",
    "bookmark": "a variable keeps a directory: here = %pwd, and %cd {here} later",
    "macro": "write a function, or run steps again: %rerun 3-5",
}
ALIASES = {
    "ls": "ls", "ll": "ls -l", "la": "ls -a", "lf": "ls -l", "lx": "ls -l", "ldir": "ls -l",
    "cat": "cat", "mkdir": "mkdir", "rm": "rm", "rmdir": "rmdir", "cp": "cp", "mv": "mv", "man": "man",
    "less": "cat", "more": "cat", "pycat": "cat", "touch": "touch", "head": "head", "tail": "tail",
    "du": "du", "df": "df", "wc": "wc", "grep": "grep", "find": "find", "tree": "tree",
}
PLACES_MAX = 1_000  # number of directories that %dhist lists
PACKAGES = ("pip", "pip3", "conda", "mamba", "micromamba", "uv", "pipenv")
SHOWN = {
    "html": "text/html", "HTML": "text/html", "markdown": "text/markdown", "latex": "text/latex",
    "svg": "image/svg+xml", "SVG": "image/svg+xml", "javascript": "application/javascript",
    "js": "application/javascript",
}
SCRIPTS = ("bash", "sh", "shell", "perl", "ruby", "python", "python2", "python3", "pypy", "node", "zsh")
OTHER_RUNTIMES = {"sql": "sql", "node": "javascript", "typescript": "javascript", "ts": "javascript"}


class UsageError(Exception):
    """An unknown magic, or a magic with wrong arguments."""


UsageError.__module__ = "builtins"  # a traceback then shows the name without a module
theirs = {"line": {}, "cell": {}}  # magics that the program has registered


# ---- the object ---------------------------------------------------------------------------------------


class Notebook:
    """
    The object whose methods translated lines call. The methods find the step's frame by counting frames, so
    the step must call them directly.
    """

    def line(self, name, text):
        return run_line(name, text, space_of(sys._getframe(1)))

    def cell(self, name, text, body):
        return run_cell(name, text, body, space_of(sys._getframe(1)))

    async def line_async(self, name, text):
        space = space_of(sys._getframe(1))
        return await driver.part("timing").time_async(text, space)

    async def cell_async(self, name, text, body):
        space = space_of(sys._getframe(1))
        if name == "time":
            return await driver.part("timing").time_async(body, space)
        if name == "capture":
            return await driver.part("capture").cell_async(text, body, space)
        raise UsageError("%%%%%s does not take await; write it without the magic" % name)

    def system(self, command):
        driver.part("shell").system(command, space_of(sys._getframe(1)))

    def lines(self, command):
        return driver.part("shell").lines(command, space_of(sys._getframe(1)))

    def show(self, value):
        if value is not None:
            driver.display(value)

    def help(self, name, detail):
        driver.part("describe").describe(name, detail, space_of(sys._getframe(1)))


class Space:
    """The names that code can see: its globals, and the locals of a running function."""

    def __init__(self, names, inner, filename, line):
        self.names, self.inner, self.filename, self.line = names, inner, filename, line

    def all(self):
        return self.names if self.inner is None else {**self.names, **self.inner}


def space_of(frame):
    inner = frame.f_locals
    inner = None if inner is frame.f_globals else inner
    return Space(frame.f_globals, inner, frame.f_code.co_filename, frame.f_lineno)


def users_space():
    """Return the namespace of the user's code that is running."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(driver.HERE + "/"):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename not in state.sources:
        return Space(vars(state.main), None, "<step>", 1)
    return space_of(frame)


def offer():
    """Add __notebook__ to the builtins, for translated code. So it is not one of the program's variables."""
    builtins.__notebook__ = Notebook()


# ---- which magic it is ----------------------------------------------------------------------------------


def run_line(name, text, space):
    if name in theirs["line"]:
        return theirs["line"][name](expand(text, space))
    if name in PASSED_OVER:
        return None
    if name in INSTEAD:
        return builtins.print("%%%s: %s" % (name, INSTEAD[name]), file=sys.stderr)
    if name in ALIASES:
        return driver.part("shell").system(ALIASES[name] + " " + text, space)
    if name in PACKAGES:
        return driver.part("shell").system(name + " " + text, space)
    found = LINES.get(name)
    if found is None:
        raise UsageError(unknown(name, "%", [*LINES, *ALIASES, *PACKAGES, *PASSED_OVER, *INSTEAD, *theirs["line"]]))
    where, is_expanded = found
    return call(where)(expand(text, space) if is_expanded else text, space)


def run_cell(name, text, body, space):
    if name in theirs["cell"]:
        return theirs["cell"][name](expand(text, space), body)
    if name == "fences":
        raise UsageError(
            "there is code inside and outside of the fence: send the step without a fence" if text == "beside" else
            "there are fences of %s: send the fences of each language as a step of its own" % text
        )
    if name == "fenced":
        runtime = OTHER_RUNTIMES.get(text) or {"sqlite": "sql"}.get(text, "javascript")
        raise UsageError('the fence says %s, but this step runs Python: send the step with the runtime "%s"' % (text, runtime))
    if name in SHOWN:
        return show_text(SHOWN[name], body)
    found = CELLS.get(name)
    if not body.strip() and (name in SCRIPTS or found not in (None, "write_file")):
        other = ": as a line magic, write %%%s" % name if name in LINES else ""
        raise UsageError("%%%%%s needs a cell body, and this one is empty%s" % (name, other))
    if name in SCRIPTS:
        name = "bash" if name == "shell" else name
        return driver.part("shell").script(name + " " + expand(text, space), body, space)
    if found is not None:
        return call(found)(expand(text, space), body, space)
    if name in PASSED_OVER or name in LINES or name in ALIASES:
        raise UsageError("%%%%%s is not a cell magic: write it with one %%, as %%%s" % (name, name))
    raise UsageError(unknown(name, "%%", [*CELLS, *SHOWN, *SCRIPTS, *theirs["cell"]]))


def call(where):
    """Return the function for "part.name"; without a part, a function of this file."""
    place, _, name = where.rpartition(".")
    return vars(driver.part(place))[name] if place else globals()[name]


def unknown(name, mark, names):
    with Genuine():
        import difflib
    near = difflib.get_close_matches(name, names, 3, 0.6)
    text = "%s%s is not a known magic" % (mark, name)
    if near:
        text += "; near: " + ", ".join([mark + n for n in near])
    if name in OTHER_RUNTIMES:
        return text + '. %s runs in a step of its own, with the runtime "%s" (-r %s)' % ((name,) + (OTHER_RUNTIMES[name],) * 2)
    if near:
        return text + ". %lsmagic lists all"
    return text + ". Known are !cmd, %%bash, %cd, %env, %run, %time, %timeit, %%capture, %%writefile; %lsmagic lists all"


def words(text, flags="", last=""):
    """
    Parse options of one letter. Returns: ({letter: value or True}, [words]).

    If an option is in @last, everything after its value is words.
    """
    with Genuine():
        import shlex
    options, rest = {}, shlex.split(text)
    while rest and len(rest[0]) > 1 and rest[0][0] == "-" and rest[0] != "--":
        letter, value = rest[0][1], rest[0][2:]
        if letter in last:
            del rest[0]
            options[letter] = value or (rest.pop(0) if rest else "")
            break
        elif letter in flags:
            options.update({each: True for each in rest.pop(0)[1:]})
        else:
            break
    return options, rest


def expand(text, space):
    if "{" not in text and "$" not in text:
        return text
    return driver.part("shell").expand(text, space)


def show_text(mime, body):
    data = driver.part("ipython").plain_beside({mime: body})
    driver.display(dict({"text/plain": body}, **data), raw=True)


# ---- magics ---------------------------------------------------------------------------------------------


def cd(text, space):
    text = text.strip().strip("\"'")
    before = os.getcwd()
    quiet = text.startswith("-q")
    text = text[2:].strip() if quiet else text
    target = getattr(state, "left", before) if text == "-" else os.path.expanduser(text or "~")
    try:
        os.chdir(target)
    except OSError as error:
        builtins.print(error, file=sys.stderr)  # IPython also prints the error and continues
        return
    state.left = before
    been = vars(builtins).setdefault("_dh", [])
    been.append(os.getcwd())
    del been[:-PLACES_MAX]
    if not quiet:
        builtins.print(os.getcwd())


def pwd(text, space):
    return os.getcwd()


def env(text, space):
    if not text.strip():
        return dict(os.environ)
    if "=" not in text and len(text.split()) == 1:
        if text.strip() not in os.environ:
            raise UsageError("Environment does not have key: %s" % text.strip())
        return os.environ[text.strip()]
    return set_env(text, space)


def set_env(text, space):
    name, _, value = (text if "=" in text else text.strip().replace(" ", "=", 1)).partition("=")
    name, value = name.strip(), value.strip()
    if not name or " " in name or "=" not in text and not value:
        raise UsageError("write %set_env NAME=VALUE")
    os.environ[name] = value
    builtins.print("env: %s=%s" % (name, value))


def names_of(space, wanted=""):
    kinds = wanted.split()
    return [
        name
        for name, value in sorted(vars(state.main).items(), key=lambda pair: str(pair[0]))
        if type(name) is str and name[:1] != "_" and (not kinds or type(value).__name__ in kinds)
    ]


def who(text, space):
    found = names_of(space, text)
    builtins.print("\t ".join(found) if found else "Interactive namespace is empty.")


def who_ls(text, space):
    return names_of(space, text)


def whos(text, space):
    rows = [("Variable", "Type", "Data/Info")]
    for name in names_of(space, text):
        value = vars(state.main)[name]
        rows.append((name, type(value).__name__, info(value)))
    if len(rows) == 1:
        builtins.print("Interactive namespace is empty.")
        return
    wide = [max([len(row[i]) for row in rows]) for i in (0, 1)]
    rows.insert(1, ("-" * (wide[0] + wide[1] + 15), "", ""))
    for row in rows:
        builtins.print(("%-*s   %-*s   %s" % (wide[0], row[0], wide[1], row[1], row[2])).rstrip())


def info(value):
    size = driver.part("variables").size(value)
    if isinstance(value, (str, int, float, bool, type(None))):
        return driver.cut(" ".join(repr(value).split()), 60)
    if size:
        return "n=%s" % size if " x " not in size else size
    return driver.cut(" ".join(driver.part("rich").text_of(value, 200).split()), 60)


def reset(text, space):
    main = vars(state.main)
    for name in list(main):
        if type(name) is str and (name[:2] != "__" or name in ("__", "___")):
            del main[name]
    driver.part("history").forget()


def xdel(text, space):
    for name in text.split():
        if vars(state.main).pop(name, space) is space:
            builtins.print("NameError: name %r is not defined" % name, file=sys.stderr)


def history(text, space):
    driver.part("history").show(text)


def debugger(text, space):
    builtins.print(
        "A box has no debugger, because nobody could answer its prompt. The traceback names the line; print "
        "variables, or look at them in the next step.",
        file=sys.stderr,
    )


def lsmagic(text, space):
    builtins.print("Line: " + " ".join(sorted(["%" + n for n in [*LINES, *ALIASES, "pip"]])))
    builtins.print("Cell: " + " ".join(sorted(["%%" + n for n in [*CELLS, *SHOWN, *SCRIPTS]])))
    builtins.print("Ignored: " + " ".join(["%" + n for n in PASSED_OVER]))


def system_line(text, space):
    return driver.part("shell").lines(text, space)


def pinfo(text, space):
    driver.part("describe").describe(text.strip(), 1, space)


def pinfo2(text, space):
    driver.part("describe").describe(text.strip(), 2, space)


def psearch(text, space):
    driver.part("describe").describe(text.strip(), 1, space, True)


def pdef(text, space):
    driver.part("describe").signature(text.strip(), space)


def pfile(text, space):
    driver.part("describe").file_of(text.strip(), space)


def pylab(text, space):
    import matplotlib.pyplot
    import numpy

    main = vars(state.main)
    main.update({k: v for m in (numpy, matplotlib.pyplot) for k, v in vars(m).items() if k[:1] != "_"})
    main.update(np=numpy, plt=matplotlib.pyplot)


def load(text, space):
    raise UsageError("%load and %edit change a notebook's cells; read the file: open(NAME).read()")


def write_file(text, body, space):
    options, rest = words(text, flags="a")
    if len(rest) != 1:
        raise UsageError("write %%writefile [-a] FILE")
    path = os.path.expanduser(rest[0])
    doing = "Appending to" if "a" in options else "Overwriting"
    builtins.print("%s %s" % (doing if os.path.exists(path) else "Writing", path))
    with open(path, "a" if "a" in options else "w", encoding="utf-8") as file:
        file.write(body if body.endswith("\n") or not body else body + "\n")


def script(text, body, space):
    return driver.part("shell").script(text, body, space)


# Maps each magic to (its function, whether $name and {expr} in its line are expanded)
LINES = {
    "cd": ("cd", True), "pwd": ("pwd", True), "env": ("env", True), "set_env": ("set_env", True),
    "run": ("timing.run_file", True), "time": ("timing.time", False), "timeit": ("timing.timeit", False),
    "prun": ("timing.prun", False), "who": ("who", True), "who_ls": ("who_ls", True),
    "whos": ("whos", True), "reset": ("reset", True), "xdel": ("xdel", True),
    "history": ("history", True), "hist": ("history", True), "debug": ("debugger", False),
    "pdb": ("debugger", False), "system": ("system_line", False), "sx": ("system_line", False),
    "lsmagic": ("lsmagic", False), "magic": ("lsmagic", False), "quickref": ("lsmagic", False),
    "pinfo": ("pinfo", False), "pinfo2": ("pinfo2", False), "pdoc": ("pinfo", False),
    "psource": ("pinfo2", False), "psearch": ("psearch", False), "pylab": ("pylab", False),
    "killbgscripts": ("shell.end_background", False),
    "load": ("load", False), "save": ("history.save", True), "edit": ("load", False),
    "load_ext": ("settings.load_ext", True), "reload_ext": ("settings.reload_ext", True),
    "unload_ext": ("settings.unload_ext", True), "autoreload": ("settings.autoreload", False),
    "aimport": ("settings.aimport", False), "config": ("settings.config", False),
    "matplotlib": ("settings.matplotlib", False), "precision": ("settings.precision", False),
    "xmode": ("settings.xmode", False), "pprint": ("settings.pprint", False), "alias": ("settings.alias", False),
    "unalias": ("settings.unalias", False), "alias_magic": ("settings.alias_magic", False),
    "reset_selective": ("settings.reset_selective", True), "pushd": ("settings.pushd", True),
    "popd": ("settings.popd", True), "dirs": ("settings.dirs", True), "dhist": ("settings.dhist", True),
    "notebook": ("cells.notebook", True), "recall": ("cells.recall", True), "rep": ("cells.recall", True),
    "rerun": ("cells.rerun", True), "tb": ("cells.tb", False), "pdef": ("pdef", False), "pfile": ("pfile", False),
}
CELLS = {
    "time": "timing.time_cell", "timeit": "timing.timeit_cell", "prun": "timing.prun_cell",
    "capture": "capture.cell", "writefile": "write_file", "file": "write_file", "script": "script",
    "system": "shell.lines_cell", "sx": "shell.lines_cell",
}
