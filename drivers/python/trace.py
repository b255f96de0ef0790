# SPDX-License-Identifier: Apache-2.0
"""Tracebacks with the user's frames and source lines, without frames of the driver and of libraries."""

import sys

Genuine = driver.part("genuine").Genuine
complain, shorten = driver.part("failure").complain, driver.part("failure").shorten

with Genuine():
    import traceback

driver.part("stack").patch_traceback(traceback)
FRAMES_MAX = 100
DEPTH_MAX = 50


def is_user(filename):
    """Return whether a frame of this file belongs to the user."""
    if filename.startswith(("<frozen ", "<__array_function__", driver.HERE + "/")):
        return False
    if filename in driver.state.sources:
        return True
    if "/site-packages/" in filename or "/dist-packages/" in filename:
        return False
    if filename.endswith((".pyx", ".pxi")):
        return False
    return not filename.startswith(tuple(place + "/" for place in driver.state.stdlib_path))


class Frames(list):
    """The formatted frames, in place of a traceback's StackSummary."""

    def format(self, **_):
        return self


def user_frames(stack):
    """Return the user's frames, formatted, at most FRAMES_MAX. Repeated frames are collapsed."""
    kept = type(stack)(frame for frame in stack if is_user(frame.filename))
    lines = kept.format()
    if len(lines) > FRAMES_MAX:
        half = FRAMES_MAX // 2
        note = "  [... %d frames cut ...]\n" % (len(lines) - 2 * half)
        lines = lines[:half] + [note] + lines[-half:]
    return Frames(lines), kept


def trim(report, depth=0):
    """
    Reduce a TracebackException, and those that are chained to it, to the user's frames and a limited text.
    """
    report.stack, kept = user_frames(report.stack)
    if not report.stack:
        report.stack = Frames() if sys.version_info < (3, 10) else None
        report.exc_traceback = None
    text = getattr(report, "_str", None)
    if isinstance(text, str):
        report._str = driver.cut(text, driver.MESSAGE_CHARS)
    line = getattr(report, "text", None)
    if isinstance(line, str) and len(line) > 1_000:
        report.text = None
    if depth < DEPTH_MAX:
        others = [report.__cause__, report.__context__]
        others += getattr(report, "exceptions", None) or []
        for other in others:
            if other is not None and isinstance(other.stack, traceback.StackSummary):
                trim(other, depth + 1)
    else:
        report.__cause__ = report.__context__ = None
    return kept


def give_line(error):
    """Add the source line to a SyntaxError of the compiler. The parser adds it itself."""
    try:
        lines = driver.source_lines(driver.state.sources[error.filename])
        error.text = lines[error.lineno - 1]
    except Exception:
        pass  # the file is not the source of a step


def format_error(error):
    """Format an error. Returns: (lines without newline, line number of the last user frame or None)."""
    if isinstance(error, SyntaxError) and not error.text:
        give_line(error)
    compact = {"compact": True} if sys.version_info >= (3, 10) else {}
    report = traceback.TracebackException(type(error), error, error.__traceback__, **compact)
    kept = trim(report)
    line = kept[-1].lineno if kept else None
    if line is None and isinstance(error, SyntaxError) and type(error.lineno) is int:
        line = error.lineno if abs(error.lineno) < 1 << 31 else None  # the program may have made up the number
    lines = []
    for text in report.format():
        lines += (text[:-1] if text[-1:] == "\n" else text).split("\n")
    return shorten(lines), line


def report(step, error):
    """Fill in the step's error and write the traceback to stderr once."""
    out = step.error
    out["message"] = driver.cut(driver.part("failure").safe_str(error), driver.MESSAGE_CHARS)
    with Genuine():
        out["traceback"], line = format_error(error)
    if line is not None:
        out["line"] = line
    hook = getattr(sys, "excepthook", None)
    if hook is not sys.__excepthook__ and callable(hook):
        try:
            hook(type(error), error, without_ours(error.__traceback__))
            return
        except BaseException as other:
            complain("Error in sys.excepthook:\n%s\n\nOriginal exception was:\n"
                            % "\n".join(format_error(other)[0]))
    complain("\n".join(out["traceback"]) + "\n")


def without_ours(tb):
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(driver.HERE + "/"):
        tb = tb.tb_next
    return tb
