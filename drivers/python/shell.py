# SPDX-License-Identifier: Apache-2.0
"""Shell commands: !, %%bash and the like. This part expands text, runs commands, and passes pip commands to
packages.py."""

import sys

state = driver.state
Genuine = driver.part("genuine").Genuine

with Genuine():
    import contextlib
    import io
    import os
    import re
    import shlex
    import shutil
    import signal
    import string
    import subprocess

DOLLAR = re.compile(r"(.*?)\$(\$?[\w.]+)(?=([^']*'[^']*')*[^']*$)", re.S)
TRIES_AGAIN = {"npm": "NPM_CONFIG_FETCH_RETRIES", "npx": "NPM_CONFIG_FETCH_RETRIES", "pip": "PIP_RETRIES"}
background = []  # processes that %%bash --bg has left running
GRACE_S = 0.5  # time between SIGINT and SIGKILL; an interrupted step has one second


# ---- $name and {expr} -------------------------------------------------------------------------------


def expand(text, space):
    """
    Expand text as IPython does: {expr} and $name become Python values, and $$ a dollar sign.

    A colon in {expr} belongs to the expression (a slice) and never begins a format. If a brace contains no
    expression, as in awk, shell code or JSON, the whole text is left as it is. A $name that Python does not
    know is left to the shell.
    """
    names, out = space.all(), []
    try:
        for literal, field, rest, conversion in string.Formatter().parse(text):
            out.append(dollars(literal, names))
            if field is not None:
                value = eval(field + ":" + rest if rest else field, dict(names))
                value = {"r": repr, "s": str, "a": ascii, None: lambda v: v}[conversion](value)
                out.append(format(value))
    except KeyboardInterrupt:
        raise
    except Exception:
        return text
    return "".join(out)


def dollars(text, names):
    def replaced(found):
        before, name = found[1], found[2]
        if name[0] == "$":
            return before + name
        first, *rest = name.split(".")
        if first not in names:
            return found[0]
        value = names[first]
        while rest and hasattr(value, rest[0]):
            value = getattr(value, rest.pop(0))
        return before + ".".join([str(value), *rest])  # in $name.csv, "csv" is text if it is not an attribute

    return DOLLAR.sub(replaced, text)


# ---- running --------------------------------------------------------------------------------------------


class SList(list):
    """The output lines of a command; .n and .s give them as one text, .p as paths."""

    l = list = property(lambda self: self)
    n = nlstr = property(lambda self: "\n".join(self))
    s = spstr = property(lambda self: " ".join(self))

    @property
    def p(self):
        with Genuine():
            import pathlib
        return [pathlib.Path(line) for line in self if os.path.exists(line)]

    paths = p

    def grep(self, pattern, prune=False, field=None):
        def text_of(line):
            parts = line.split()
            return line if field is None else parts[field] if -len(parts) <= field < len(parts) else ""

        matches = pattern if callable(pattern) else re.compile(pattern, re.I).search
        return SList([line for line in self if bool(matches(text_of(line))) != prune])

    def fields(self, *numbers):
        rows = [line.split() for line in self]
        if not numbers:
            return rows
        return SList(
            [" ".join([row[n] for n in numbers if -len(row) <= n < len(row)]) for row in rows]
        )

    def sort(self, field=None, nums=False):
        def key(line):
            parts = line.split()
            text = line if field is None else parts[field] if field < len(parts) else ""
            digits = re.sub(r"\D", "", text)
            return int(digits or 0) if nums else text

        return SList(sorted(self, key=key))


SList.__module__ = "IPython.utils.text"


def find_shell():
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    driver.native.flush_c()


def is_ours(stream):
    return stream is state.stdout or stream is state.stderr


def run(argv, stdin=None, captured=None, env=None):
    """
    Run a program to its end.

    Its output goes directly to the step's output, or through the stream by which the program has replaced
    sys.stdout. An interrupt is passed on to it. Returns: the exit status.
    """
    flush()
    pipes = {}
    if captured is not None:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    else:
        for name in ("stdout", "stderr"):
            if not is_ours(getattr(sys, name)):
                pipes[name] = subprocess.PIPE
    streams = driver.part("streams")
    if stdin is None and state.has_stdin and streams.is_pipe():
        streams.tell_waiting()  # it is unknown whether the command reads its input
    process = subprocess.Popen(argv, stdin=stdin, env=env, start_new_session=True, **pipes)
    try:
        told = process.communicate()
    except BaseException:
        end(process)
        raise
    if captured is not None:
        captured.append(told[0])
    else:
        for stream, data in zip((sys.stdout, sys.stderr), told):
            if data:
                stream.write(data.decode("utf-8", "replace"))
    driver.Finder.look_at_user_site()  # the command may have installed something
    return process.returncode


def end(process):
    """End a command and its children, first as Ctrl-C does, then with SIGKILL."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_S)
        except (OSError, subprocess.TimeoutExpired):
            pass


def said(status):
    """Store an exit status where IPython does. Death by a signal is stored as the negative signal number."""
    vars(state.main)["_exit_code"] = 128 - status if status > 128 else status


def system(command, space):
    command = expand(command, space)
    rest = driver.part("packages").answer(command)
    if rest is not None:
        said(rest[0])
        if not rest[1]:
            return
        command = rest[1]
    said(run([find_shell(), "-c", command], env=environment(command)))


def environment(text):
    """
    Return the environment of a command.

    "python" and "pip" are those of the session if the box has none or different ones. bash gets them as
    functions. Tools that would retry for a minute without a network try only once.
    """
    out = dict(os.environ)
    for name, variable in TRIES_AGAIN.items():
        if name in text and not driver.part("packages").has_network():
            out.setdefault(variable, "0")
    if "python" in text and not shutil.which("python") and sys.executable:
        out.update(PATH="%s:%s/bin" % (out.get("PATH", os.defpath), driver.HERE), RETORT_PYTHON=sys.executable)
    pip = driver.part("packages").pip_of_session() if "pip" in text and sys.executable else ""
    if pip:
        out.update({"BASH_FUNC_%s%%%%" % name: '() { %s "$@"; }' % pip for name in ("pip", "pip3")})
        for name in ("python", "python3"):
            out["BASH_FUNC_%s%%%%" % name] = (
                '() { if [ "$1 $2" = "-m pip" ]; then shift 2; %s "$@"; else command %s "$@"; fi; }' % (pip, name)
            )
    return out


def lines(command, space):
    command, told = expand(command, space), io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        rest = driver.part("packages").answer(command)
    out = [told.getvalue().encode("utf-8", "replace")]
    if rest is not None:
        said(rest[0])
        command = rest[1]
    if command:
        said(run([find_shell(), "-c", command], captured=out, env=environment(command)))
    return SList(b"".join(out).decode("utf-8", "replace").splitlines())


def lines_cell(text, body, space):
    return lines(text + "\n" + body, space)


def script(text, body, space):
    """Run %%bash and the like. The body of the cell is the standard input of the program."""
    argv, kept, fails = [], {}, True
    given = shlex.split(text)
    while given:
        word = given.pop(0)
        name, _, value = word.partition("=")
        if name in ("--out", "--err", "--proc"):
            kept[name] = value or (given.pop(0) if given else "")
        elif word == "--bg":
            kept[word] = True
        elif word in ("--no-raise-error", "--raise-error"):
            fails = word == "--raise-error"
        else:
            argv.append(word)
    if not argv:
        raise driver.part("magic").UsageError("write %%script PROGRAM [ARGUMENTS]")
    if argv[0] in ("python", "python3"):
        argv[0] = sys.executable or argv[0]
    try:
        status = run_script(argv, body, kept)
    except FileNotFoundError:
        raise driver.part("magic").UsageError("there is no program %r in the box" % argv[0]) from None
    if status is None:
        return
    said(status)
    if status and fails:
        raise subprocess.CalledProcessError(status, argv[0])


def run_script(argv, body, kept):
    """Run a script. Returns: the exit status, or None for a program that is left running."""
    with Genuine():
        import tempfile
    flush()
    env, names = environment(body), vars(state.main)
    with tempfile.TemporaryFile() as file:
        file.write(body.encode("utf-8", "surrogateescape"))
        file.seek(0)
        if not kept:
            return run(argv, stdin=file, env=env)
        other = subprocess.DEVNULL if "--bg" in kept else None
        process = subprocess.Popen(
            argv, stdin=file, start_new_session=True, env=env,
            stdout=subprocess.PIPE if "--out" in kept else other,
            stderr=subprocess.PIPE if "--err" in kept else other,
        )
    if "--bg" in kept:
        background.append(process)
        for name, value in (("--out", process.stdout), ("--err", process.stderr), ("--proc", process)):
            if name in kept:
                names[kept[name]] = value
        return None
    try:
        told = process.communicate()
    except BaseException:
        end(process)
        raise
    for name, data in zip(("--out", "--err"), told):
        if name in kept:
            names[kept[name]] = (data or b"").decode("utf-8", "replace")
    return process.returncode


def end_background(text, space):
    """%killbgscripts"""
    while background:
        process = background.pop()
        if process.poll() is None:
            end(process)
    sys.stdout.write("All background processes were killed.\n")
