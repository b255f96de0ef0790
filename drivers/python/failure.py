# SPDX-License-Identifier: Apache-2.0
"""The failure of a step: its name, exit code, and report on stderr."""

import sys

import posix

NAME_CHARS_MAX = 200
LINES_MAX, LINE_CHARS_MAX, TRACEBACK_CHARS_MAX = 900, 10_000, 200_000


def report(step, error):
    """Fill in the step's error and exit code, and write the report for the user to stderr."""
    if isinstance(error, SystemExit):
        report_exit(step, error)
        return
    step.exit_code = 130 if isinstance(error, KeyboardInterrupt) else 1
    step.error = {"name": safe_name(error), "message": "", "traceback": []}
    try:
        driver.with_sources()
        driver.part("trace").report(step, error)
    except BaseException:
        report_briefly(step, error)


def report_exit(step, error):
    step.exit_code = 0
    step.exited = True
    code = getattr(error, "code", None)
    if code is None:
        return
    if isinstance(code, int):
        step.exit_code = int(code) & 0xFF if -(1 << 31) <= code < 1 << 31 else 255
        message = str(int(code))
    else:
        step.exit_code = 1
        message = safe_str(code)
        complain(message + "\n")
    if step.exit_code:
        step.error = {
            "name": safe_name(error),
            "message": driver.cut(message, driver.MESSAGE_CHARS),
            "traceback": [],
        }


def report_briefly(step, error):
    """Report an error when formatting its traceback has failed."""
    message = driver.cut(safe_str(error), driver.MESSAGE_CHARS)
    lines = ["Traceback (most recent call last):"]
    tb = error.__traceback__
    while tb is not None and len(lines) < 50:
        code = tb.tb_frame.f_code
        if code.co_filename[: len(driver.HERE)] != driver.HERE:
            step.error["line"] = tb.tb_lineno
            lines.append(
                '  File "%s", line %d, in %s'
                % (code.co_filename, tb.tb_lineno, code.co_name)
            )
        tb = tb.tb_next
    last = "%s: %s" % (step.error["name"], message) if message else step.error["name"]
    lines += last.split("\n")[:50]
    step.error["message"] = message
    step.error["traceback"] = lines = shorten(lines)
    complain("\n".join(lines) + "\n")


def shorten(lines):
    """Limit the lines of a traceback to what the engine accepts. Cut lines from the middle and leave a note."""
    lines = [part for line in lines for part in driver.cut(line, LINE_CHARS_MAX).split("\n")]
    if len(lines) <= LINES_MAX and sum(map(len, lines)) <= TRACEBACK_CHARS_MAX:
        return lines
    half = LINES_MAX // 2
    head = fitting(lines[:half])
    tail = fitting(lines[len(head) :][-half:][::-1])[::-1]
    note = "[... %d lines cut ...]" % (len(lines) - len(head) - len(tail))
    return [*head, note, *tail]


def fitting(lines):
    """Return the first lines that fit in half of the limit."""
    left, n = TRACEBACK_CHARS_MAX // 2, 0
    while n < len(lines) and len(lines[n]) <= left:
        left -= len(lines[n])
        n += 1
    return lines[:n]


def safe_name(error):
    try:
        name = str(type.__dict__["__name__"].__get__(type(error)))
        return name if len(name) <= NAME_CHARS_MAX else name[:NAME_CHARS_MAX] + "..."
    except BaseException:
        return "Exception"


def safe_str(error):
    try:
        return str.__str__(str(error))
    except BaseException:
        return "<exception str() failed>"


def complain(text):
    """Write to the step's stderr, even if user code has damaged the stream."""
    for stream in (sys.stderr, driver.state.stderr):
        try:
            if stream is None:
                return
            stream.write(text)
            stream.flush()
            return
        except UnicodeEncodeError:
            text = driver.clean(text)
        except BaseException:
            pass
    try:
        posix.write(driver.state.err, driver.clean(text).encode())
    except OSError:
        pass
