# SPDX-License-Identifier: Apache-2.0
"""%%capture and IPython.utils.capture: store output and displays instead of showing them."""

import sys

import builtins

state = driver.state

from io import StringIO  # noqa: E402


class Shown:
    """A stored display."""

    def __init__(self, data, metadata=None):
        self.data, self.metadata = data, metadata or {}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata

    def __repr__(self):
        return self.data.get("text/plain", "<display of %s>" % ", ".join(self.data))

    def display(self):
        driver.send_display(self.data, self.metadata)


class CapturedIO:
    def __init__(self, out, err, outputs):
        self._out, self._err, self.outputs = out, err, outputs

    stdout = property(lambda self: self._out.getvalue() if self._out else "")
    stderr = property(lambda self: self._err.getvalue() if self._err else "")

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        for each in self.outputs or ():
            each.display()

    __call__ = show


class capture_output:
    """A context manager: output and displays within it are stored in the object that it returns."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self.wants = stdout, stderr, display

    def __enter__(self):
        out, err = StringIO() if self.wants[0] else None, StringIO() if self.wants[1] else None
        self.before = sys.stdout, sys.stderr, state.captured
        if out is not None:
            sys.stdout = out
        if err is not None:
            sys.stderr = err
        outputs = []
        if self.wants[2]:
            state.captured = outputs
        self.outputs = outputs
        return CapturedIO(out, err, outputs)

    def __exit__(self, *_):
        driver.stage_figures(state.step)
        sys.stdout, sys.stderr, state.captured = self.before


def keep(data, metadata):
    """Store a display instead of sending it."""
    state.captured.append(Shown(data, metadata))


def read(text):
    """Parse a %%capture line. Returns: the context manager and the variable name that it asks for."""
    wants, name = {}, ""
    for word in text.split():
        if word[:5] == "--no-":
            wants[word[5:]] = False
        else:
            name = word
    return capture_output(**{k: v for k, v in wants.items() if k in ("stdout", "stderr", "display")}), name


def cell(text, body, space):
    context, name = read(text)
    with context as kept:
        if name:
            space.names[name] = kept
        show(driver.part("timing").run_text(body, space, 1))


async def cell_async(text, body, space):
    context, name = read(text)
    with context as kept:
        if name:
            space.names[name] = kept
        codes, has_value = driver.part("timing").codes_of(body, space, 1)
        value = None
        for code in codes:
            value = eval(code, space.names, space.inner)
            if code.co_flags & driver.COROUTINE:
                value = await value
        show(value if has_value else None)


def show(value):
    if value is not None:
        builtins.display(value)
