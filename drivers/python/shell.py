# SPDX-License-Identifier: Apache-2.0
"""Commands of !, %%bash and their like: what is expanded, how they run, and what pip is answered."""

import sys

state = driver.state
Genuine = driver.part("later").Genuine

with Genuine():
    import os
    import re
    import shlex
    import shutil
    import signal
    import string
    import subprocess

DOLLAR = re.compile(r"(.*?)\$(\$?[\w.]+)(?=([^']*'[^']*')*[^']*$)", re.S)
GRACE_S = 0.5  # from SIGINT to SIGKILL, within the second that an interrupted step has


# ---- $name and {expr} -------------------------------------------------------------------------------


def expand(text, space):
    """
    As IPython does: {expr} and $name are replaced where Python knows them, $$ is a dollar. A colon is the
    expression's (a slice), never the begin of a format. A brace that is no expression (awk's, the shell's, JSON's)
    leaves all of the text as it is; a $name that is none of Python's is the shell's.
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
        return before + ".".join([str(value), *rest])  # $name.csv: what is no attribute is text

    return DOLLAR.sub(replaced, text)


# ---- running --------------------------------------------------------------------------------------------


class SList(list):
    """The lines of a command's output; .n and .s have them as one text, .p as paths."""

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


def run(argv, stdin=None, captured=None):
    """
    Run a program to its end. Its output goes straight to the step's; where the program has put another
    stream in the place of sys.stdout, through that. An interrupt is passed on. Returns: the exit status.
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
        streams.tell_waiting()  # whether it reads cannot be known
    process = subprocess.Popen(argv, stdin=stdin, start_new_session=True, **pipes)
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
    return process.returncode


def end(process):
    """Have the command and what it has started end, as Ctrl-C does, and then for certain."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_S)
        except (OSError, subprocess.TimeoutExpired):
            pass


def said(status):
    """Keep an exit status where IPython has it: that of a signal is negative."""
    vars(state.main)["_exit_code"] = 128 - status if status > 128 else status


def system(command, space):
    command = expand(command, space)
    rest = driver.part("packages").answer(command)
    if rest is not None:
        said(rest[0])
        if not rest[1]:
            return
        command = rest[1]
    said(run([find_shell(), "-c", with_python(command)]))


def with_python(command):
    """A "python" of the command is the session's own where the box has none of that name."""
    if "python" not in command or shutil.which("python") or not sys.executable:
        return command
    return 'python() { %s "$@"; }\n%s' % (shlex.quote(sys.executable), command)


def lines(command, space):
    out = []
    command = with_python(expand(command, space))
    said(run([find_shell(), "-c", command], captured=out))
    return SList(out[0].decode("utf-8", "replace").splitlines())


def lines_cell(text, body, space):
    return lines(text + "\n" + body, space)


def script(text, body, space):
    """%%bash and its like: the body is the program's standard input."""
    argv, kept, fails = [], {}, True
    given = shlex.split(text)
    while given:
        word = given.pop(0)
        name, _, value = word.partition("=")
        if name in ("--out", "--err", "--proc"):
            kept[name] = value or (given.pop(0) if given else "")
        elif word in ("--no-raise-error", "--raise-error"):
            fails = word == "--raise-error"
        elif word != "--bg":
            argv.append(word)
    if not argv:
        raise driver.part("magic").UsageError("write %%script PROGRAM [ARGUMENTS]")
    status = run_script(argv, body, kept)
    said(status)
    if status and fails:
        raise subprocess.CalledProcessError(status, argv[0])


def run_script(argv, body, kept):
    with Genuine():
        import tempfile
    if argv[0] in ("python", "python3"):
        argv = [sys.executable or argv[0], *argv[1:]]
    flush()
    with tempfile.TemporaryFile() as file:
        file.write(body.encode("utf-8", "surrogateescape"))
        file.seek(0)
        try:
            if not kept:
                return run(argv, stdin=file)
            process = subprocess.Popen(
                argv, stdin=file, start_new_session=True,
                stdout=subprocess.PIPE if "--out" in kept else None,
                stderr=subprocess.PIPE if "--err" in kept else None,
            )
        except FileNotFoundError:
            raise driver.part("magic").UsageError(
                "there is no program %r in the box" % argv[0]
            ) from None
        try:
            told = process.communicate()
        except BaseException:
            end(process)
            raise
    for name, data in zip(("--out", "--err"), told):
        if name in kept:
            vars(state.main)[kept[name]] = (data or b"").decode("utf-8", "replace")
    return process.returncode
