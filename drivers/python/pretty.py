# SPDX-License-Identifier: Apache-2.0
"""The text of objects with _repr_pretty_(), and of types for which the program has registered a function.

This also applies to such objects inside lists, tuples, sets and dicts. If a value contains no such
object, its text is its repr()."""

import sys

state = driver.state

WIDTH, SEEN_MAX, DEPTH_MAX = 79, 1_000, 4
BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})"), dict: ("{", "}")}


# ---- functions registered for types ---------------------------------------------------------------------


class ForTypes:
    """
    A formatter of one MIME type. A function that the program has registered for a type takes precedence
    over the object's own method.
    """

    enabled = True

    def __init__(self, mime):
        self.mime = mime

    def __told(self, key, function):
        told = state.told.setdefault(self.mime, {})
        before = told.get(key)
        if function is not None:
            told[key] = function
        return before

    def for_type(self, typ, func=None):
        kind = typ
        return self.__told(tuple(kind.rpartition(".")[::2]) if type(kind) is str else kind, func)

    def for_type_by_name(self, type_module, type_name, func=None):
        return self.__told((type_module, type_name), func)

    def pop(self, kind, default=None):
        return state.told.get(self.mime, {}).pop(kind, default)

    def lookup_by_type(self, kind):
        return told(self.mime, kind)

    def __call__(self, value):
        return driver.part("rich").bundle(value, driver.VALUE_BYTES).get(self.mime)


class Formatters(dict):
    def __missing__(self, mime):
        return self.setdefault(mime, ForTypes(mime))


class Formatter:
    """The attribute display_formatter of the shell."""

    def __init__(self):
        self.formatters = Formatters()
        self.active_types = ["text/plain", *[mime for _, mime in driver.part("rich").METHODS]]
        for mime in self.active_types:
            self.formatters[mime]

    def format(self, value, include=None, exclude=None):
        data = driver.part("rich").bundle(value, driver.VALUE_BYTES)
        return {m: v for m, v in data.items() if (not include or m in include) and m not in (exclude or ())}, {}


def told(mime, kind):
    found = state.told.get(mime)
    if found:
        for each in kind.__mro__:
            function = found.get(each) or found.get((each.__module__, each.__qualname__))
            if function is not None:
                return function
    return None


# ---- the printer ------------------------------------------------------------------------------------------


class Group:
    def __init__(self, printer, indent, open, close):
        self.printer, self.given, self.close = printer, (indent, open), close

    def __enter__(self):
        self.printer.begin_group(*self.given)

    def __exit__(self, *_):
        self.printer.end_group(self.given[0], self.close)


class PrettyPrinter:
    """
    The printer that _repr_pretty_() receives.

    It collects texts and groups of texts. A group that is too wide for the line is broken at its
    breakables.
    """

    def __init__(self, output=None, verbose=False, max_width=WIDTH, newline="\n", max_seq_length=1_000):
        self.output, self.verbose, self.max_width, self.newline = output, verbose, max_width, newline
        self.max_seq_length, self.stack = max_seq_length, []
        self.groups = [(0, [])]  # stack of (indentation, parts); a part is a text, a break or a group

    def text(self, obj):
        self.groups[-1][1].append(str(obj))

    def breakable(self, sep=" "):
        self.groups[-1][1].append((sep,))

    def break_(self):
        self.groups[-1][1].append((None,))

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        group = (indent, [])
        self.groups[-1][1].append(group)
        self.groups.append(group)

    def end_group(self, dedent=0, close=""):
        self.groups.pop()
        if close:
            self.text(close)

    def group(self, indent=0, open="", close=""):
        return Group(self, indent, open, close)

    def indent(self, indent):
        return Group(self, indent, "", "")

    def _enumerate(self, values):
        for number, value in enumerate(values):
            if number == self.max_seq_length:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            yield number, value

    def pretty(self, obj):
        kind, is_cycle = type(obj), any([each is obj for each in self.stack])
        self.stack.append(obj)
        try:
            show = told("text/plain", kind)
            if show is not None:
                shown = show(obj, self, is_cycle)
                if type(shown) is str:
                    self.text(shown)
            elif kind in BRACKETS:
                self.text("...".join(BRACKETS[kind])) if is_cycle else self._contents(obj, kind)
            elif is_pretty(kind):
                obj._repr_pretty_(self, is_cycle)
            else:
                self._lines(repr(obj))
        finally:
            self.stack.pop()

    def _lines(self, text):
        for number, line in enumerate(text.split("\n")):
            if number:
                self.break_()
            self.text(line)

    def _contents(self, obj, kind):
        first, last = BRACKETS[kind] if obj or kind not in (set, frozenset) else (kind.__name__ + "(", ")")
        with self.group(len(first), first, last):
            for number, item in self._enumerate(obj):
                if number:
                    self.text(",")
                    self.breakable()
                self.pretty(item)
                if kind is dict:
                    self.text(": ")
                    self.pretty(obj[item])
            if kind is tuple and len(obj) == 1:
                self.text(",")

    def getvalue(self):
        out = []
        write(self.groups[0], 0, self.max_width, out)
        return "".join(out)

    def flush(self):
        if self.output is not None:
            self.output.write(self.getvalue())
            self.groups = [(0, [])]


def width(part):
    """Return the width of a part on one line, or None if it contains a line break."""
    if type(part) is str:
        return len(part)
    if len(part) == 1:
        return None if part[0] is None else len(part[0])
    total = 0
    for each in part[1]:
        size = width(each)
        if size is None:
            return None
        total += size
    return total


def write(group, indent, right, out, at=0):
    """Write a group to @out, which is at column @at. Returns: the column at the end."""
    size, indent = width(group), indent + group[0]
    is_flat = size is not None and at + size <= right
    for part in group[1]:
        if type(part) is str:
            out.append(part)
            at += len(part)
        elif len(part) > 1:
            at = write(part, indent, right, out, at)
        elif is_flat:
            out.append(part[0])
            at += len(part[0])
        else:
            out.append("\n" + " " * indent)
            at = indent
    return at


def is_pretty(kind):
    return any(["_repr_pretty_" in vars(each) for each in kind.__mro__])


def is_wanted(value, depth=0, left=None):
    """Return whether one of the first elements of @value has a text other than its repr()."""
    kind = type(value)
    if told("text/plain", kind) is not None:
        return True
    if kind not in BRACKETS:
        return is_pretty(kind)
    left = [SEEN_MAX] if left is None else left
    for item in value:
        left[0] -= 1
        if left[0] < 0 or depth > DEPTH_MAX:
            return False
        if is_wanted(item, depth + 1, left) or kind is dict and is_wanted(value[item], depth + 1, left):
            return True
    return False


def pretty(obj, verbose=False, max_width=WIDTH, newline="\n", max_seq_length=1_000):
    printer = PrettyPrinter(None, verbose, max_width, newline, max_seq_length)
    printer.pretty(obj)
    return printer.getvalue()


def pprint(obj, *args, **kwargs):
    sys.stdout.write(pretty(obj, *args, **kwargs) + "\n")
