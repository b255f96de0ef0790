# SPDX-License-Identifier: Apache-2.0
"""Help for name? and name??: signature, documentation, source. For *pattern*?, the matching names."""

import sys

import builtins

state = driver.state

with driver.part("genuine").Genuine():
    import fnmatch
    import inspect
    import re

TEXT_CHARS, SOURCE_CHARS_MAX, NAMES_MAX = 2_000, 50_000, 500
MISSING = object()


def describe(name, detail, space, is_pattern=False):
    if "*" in name or is_pattern:
        builtins.print("\n".join(fitting(name, space)) or "No name fits %s." % name)
        return
    if name[:1] == "%" or not name:
        builtins.print(of_magic(name.lstrip("%")))
        return
    value = find(name, space)
    if value is MISSING:
        magic = driver.part("magic")
        if name in magic.LINES or name in magic.CELLS or name in magic.ALIASES:
            builtins.print(of_magic(name))
        else:
            builtins.print("Object `%s` not found." % name)
        return
    builtins.print("\n".join(rows(name, value, detail)))


def find(name, space):
    parts = re.findall(r"\w+|\[-?\d+\]", name)
    names = space.all()
    value = names.get(parts[0], vars(builtins).get(parts[0], MISSING))
    for part in parts[1:]:
        try:
            value = value[int(part[1:-1])] if part[0] == "[" else getattr(value, part)
        except Exception:
            return MISSING
    return value


def found(name, space):
    value = find(name, space) if name else MISSING
    if value is MISSING:
        builtins.print("Object `%s` not found." % name)
    return value


def signature(name, space):
    value = found(name, space)
    if value is not MISSING:
        text = attempt(inspect.signature, value)
        builtins.print("No definition header found for %s" % name if text is None else "%s%s" % (name.rpartition(".")[2], text))


def file_of(name, space):
    value = found(name, space)
    if value is not MISSING:
        driver.with_sources()
        lines = attempt(inspect.findsource, value)
        builtins.print(driver.cut("".join(lines[0]).rstrip(), SOURCE_CHARS_MAX) if lines else "There is no source file for %s." % name)


def attempt(function, *args):
    try:
        return function(*args)
    except Exception:
        return None


def rows(name, value, detail):
    """Return the lines of the help text, in IPython's order and wording."""
    out = []
    is_code = callable(value)
    signature = attempt(inspect.signature, value) if is_code else None
    if signature is not None:
        title = "Init signature:" if isinstance(value, type) else "Signature:"
        out.append("%s %s%s" % (title, name.rpartition(".")[2], signature))
    if not is_code and not inspect.ismodule(value):
        out.append("Type:        %s" % type(value).__name__)
        text = attempt(repr, value) or ""
        out.append("String form: %s" % driver.cut(text, TEXT_CHARS))
        size = driver.part("variables").size(value)
        if size:
            out.append("Length:      %s" % size)
    if detail > 1:
        driver.with_sources()
    source = attempt(inspect.getsource, value) if detail > 1 else None
    text = attempt(inspect.getdoc, value)
    if source:
        out.append("Source:\n%s" % driver.cut(source.rstrip(), SOURCE_CHARS_MAX))
    else:
        out.append("Docstring:" + ("\n" + text if text and "\n" in text else " " + (text or "<no docstring>")))
    file = attempt(inspect.getfile, value)
    if file and not file.startswith(driver.HERE + "/"):
        out.append("File:        %s" % file)
    if is_code or inspect.ismodule(value):
        out.append("Type:        %s" % type(value).__name__)
    return out


def of_magic(name):
    magic = driver.part("magic")
    if name in magic.ALIASES:
        return "%%%s runs the command: %s" % (name, magic.ALIASES[name])
    if name in magic.PASSED_OVER or name == "matplotlib":
        return "%%%s is skipped: it sets up a notebook's editor or display" % name
    if name in magic.INSTEAD:
        return "%%%s is skipped: %s" % (name, magic.INSTEAD[name])
    mark = "%" if name in magic.LINES or name in magic.PACKAGES else "%%"
    if name in magic.SCRIPTS:
        return "%%%%%s gives the cell to %s, as in IPython." % (name, name)
    if not any([name in names for names in (magic.LINES, magic.PACKAGES, magic.CELLS, magic.SHOWN)]):
        return "Object `%%%s` not found." % name
    return "%s%s: as in IPython. %%lsmagic lists what is available here." % (mark, name)


def fitting(pattern, space):
    owner, _, last = pattern.lstrip("%").rpartition(".")
    if owner and "*" not in owner:
        value = find(owner, space)
        names = [] if value is MISSING else dir(value)
        prefix = owner + "."
    else:
        names, prefix, last = {*space.all(), *vars(builtins)}, "", pattern
    found = [prefix + n for n in names if type(n) is str and fnmatch.fnmatchcase(n, last)]
    found = [n for n in sorted(found) if last[:1] == "_" or n.rpartition(".")[2][:1] != "_"]
    return found[:NAMES_MAX]
