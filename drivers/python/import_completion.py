# SPDX-License-Identifier: Apache-2.0
"""Completion after `import` and `from`: names of modules, and names in modules.

Nothing is loaded for this. If a module is not loaded, its names are read from its source."""

import sys

with driver.part("genuine").Genuine():
    import os
    import re

SOURCE_BYTES_MAX, DEPTH_MAX = 1 << 20, 3
ENDINGS = (".py", ".so", ".pyd")
BEGIN = r"(?:\A|[\n;:])[ \t]*"
IMPORT = re.compile(BEGIN + r"(?:import[ \t]+(?:[\w. \t]+,)*|from[ \t]+)[ \t]*([\w.]*)\Z")
FROM = re.compile(BEGIN + r"from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\((?:[\w\s]*,)*\s*|(?:[\w \t]*,)*[ \t]*)(\w*)\Z")


def complete(text):
    """Return the candidates, or None if @text does not end in an import statement."""
    found = IMPORT.search(text)
    if found:
        above, dot, start = found[1].rpartition(".")
        return completion.choose(start, modules_below(above) if dot else modules())
    found = FROM.search(text)
    if found:
        return completion.choose(found[2], [*names_in(found[1]), *modules_below(found[1])])
    return None


def loaded(name):
    module = sys.modules.get(name) if type(sys.modules) is dict else None
    return module if isinstance(module, type(sys)) else None


def places(above=None):
    """Return the directories that contain modules: sys.path, or those of the package @above."""
    if above is None:
        return [place or "." for place in sys.path if type(place) is str]
    module = loaded(above)
    if module is not None:
        path = vars(module).get("__path__")
        return [place for place in path if type(place) is str] if type(path) is list else []
    before, dot, name = above.rpartition(".")
    found = [place + "/" + name for place in places(before if dot else None)] if name else []
    return [place for place in found if os.path.isdir(place)][:1]


def modules():
    """
    Return the names of all modules that can be imported: loaded ones, built-in ones, and those in sys.path.
    """
    found = [name for name in list(sys.modules) if type(name) is str and "." not in name]
    found += [*sys.builtin_module_names, "IPython", "nest_asyncio"]
    for place in places():
        found += modules_in(place)
    return found


def modules_below(above):
    start = above + "."
    found = [name[len(start) :] for name in list(sys.modules) if type(name) is str and name.startswith(start)]
    for place in places(above):
        found += modules_in(place)
    return found


def modules_in(place):
    try:
        with os.scandir(place) as entries:
            for number, entry in enumerate(entries):
                if number == completion.CANDIDATES_MAX:
                    return
                name, dot, _ = entry.name.partition(".")
                if entry.name.endswith(ENDINGS) or not dot and os.path.isfile(entry.path + "/__init__.py"):
                    yield name
    except OSError:
        pass


def names_in(name):
    module = loaded(name)
    if module is None and name in sys.builtin_module_names:
        module = __import__(name)  # importing a built-in module needs no file and runs no code of the program
    if module is not None:
        return type(module).__dir__(module)
    return names_in_source(name, 0)


def source_of(name):
    """Return (source of a module, whether it is a package)."""
    above, dot, last = name.rpartition(".")
    for place in places(above if dot else None):
        for ending in ("/__init__.py", ".py"):
            path = "%s/%s%s" % (place, last, ending)
            if os.path.isfile(path) and os.path.getsize(path) <= SOURCE_BYTES_MAX:
                with open(path, "rb") as file:
                    return file.read(), ending[0] == "/"
    return b"", False


def names_in_source(name, depth):
    """
    Return the names that are assigned, defined or imported at the top level of a module, also below if and
    try.
    """
    text, is_package = source_of(name)
    found, nodes = set(), list(driver.part("program").quietly(driver.part("program").translate_tree, text, "").body)
    import _ast

    for node in nodes:
        if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (_ast.Assign, _ast.AnnAssign)):
            targets = getattr(node, "targets", None) or [node.target]
            found.update([each.id for target in targets for each in getattr(target, "elts", [target]) if hasattr(each, "id")])
        elif isinstance(node, (_ast.Import, _ast.ImportFrom)):
            found.update([each.asname or each.name.partition(".")[0] for each in node.names])
            if node.names[0].name == "*" and depth < DEPTH_MAX:
                near = name.split(".")
                near = near[: len(near) - node.level + is_package] if node.level else []
                found.update(names_in_source(".".join([*near, *filter(None, [node.module])]), depth + 1))
        else:
            for field in "body", "handlers", "orelse", "finalbody":
                nodes += getattr(node, field, [])
    return found


completion = driver.part("completion")
