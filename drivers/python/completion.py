# SPDX-License-Identifier: Apache-2.0
"""NAMES: how the name at the end of a text may go on, from what the session has."""

import os
import re
import sys

import builtins

state = driver.state
NAMES_MAX, TEXT_CHARS_MAX, PARTS_MAX = 200, 4096, 32
CANDIDATES_MAX = 100_000
MISSING = object()
# Strings and comments; the one that does not end is the last.
TOKEN = re.compile(r"""\#[^\n]* | (?P<prefix>\b[A-Za-z]{1,2})? (?:
    (?P<three>'{3}|"{3}) (?: \\. | (?!(?P=three))[^\\] )* (?P=three)
  | (?P<quote>['"]) (?: (?: \\. | (?!(?P=quote))[^\\\n] )* (?: (?P=quote) | \n )
                    | (?P<open> (?: \\. | (?!(?P=quote))[^\\\n] )* ) \Z ) )""", re.DOTALL | re.VERBOSE)
SLOTS = (type(type.__dict__["__dict__"]), type(driver.Step.__call__))


def answer(request):
    """Say which names there are. An interrupt ends a __dir__ that does not."""
    names = []
    try:
        driver.wake()
        names = complete(driver.join(request["text"]))
    except BaseException:
        pass
    driver.hush()
    driver.send(driver.DONE, {"id": request["id"], "names": names})


def complete(text):
    """The names that may stand for the last part of the dotted name @text ends with, sorted."""
    quoted, before = open_string(text)
    if quoted is not None:
        return keys(quoted, before) if before.endswith("[") else files(quoted)
    if "import" in text or "from" in text:
        found = driver.part("import_completion").complete(text[-TEXT_CHARS_MAX:])
        if found is not None:
            return found
    *path, start = last_name(text).split(".")
    if not path:
        return choose(start, everything())
    if len(path) > PARTS_MAX or not all(part.isidentifier() for part in path):
        return []
    value = find(path)
    if value is MISSING:
        return []
    return choose(start, type(value).__dir__(value))  # dir() would sort, which may fail


def find(path):
    """What the dotted name of the parts @path is."""
    value = look_up(vars(state.main), path[0])
    if value is MISSING:
        value = look_up(vars(builtins), path[0])
    for part in path[1:]:
        value = value if value is MISSING else attribute(value, part)
    return value


def open_string(text):
    """What stands in the string that @text ends in, and what before it; (None, "") for no string."""
    text = text[-TEXT_CHARS_MAX:]
    opened = None
    for found in TOKEN.finditer(text):
        opened = found if found.group("open") else None
    if not opened:
        return None, ""
    inside = opened.group("open")
    if "f" in (opened.group("prefix") or "").lower() and inside.count("{") > inside.count("}"):
        return None, ""
    return inside, text[:opened.start()].rstrip(" ")


def keys(start, before):
    """The keys of a dictionary, the columns of a DataFrame; of no other type, whose code would run."""
    path = last_name(before[:-1]).split(".")
    if len(path) > PARTS_MAX or not all(part.isidentifier() for part in path):
        return []
    value = find(path)
    frame = vars(sys.modules["pandas"]).get("DataFrame") if "pandas" in sys.modules else MISSING
    if type(value) is dict:
        names = dict.keys(value)
    elif type(value) is frame:
        names = frame.columns.__get__(value)
    else:
        return []
    return quotable(start, names)


def files(start):
    """The files whose path goes on so, a directory with its slash."""
    above, slash, name = start.rpartition("/")
    found = []
    with os.scandir((above or "/") if slash else ".") as entries:
        for number, entry in enumerate(entries):
            if number == CANDIDATES_MAX:
                break
            if name or entry.name[:1] != ".":
                found.append(above + slash + entry.name + "/" * entry.is_dir())
    return quotable(start, found)


def quotable(start, names):
    """Those that begin with @start and stand in a string as they are."""
    found = set()
    for number, name in enumerate(names):
        if number == CANDIDATES_MAX:
            break
        if type(name) is str and name.startswith(start) and name.isprintable():
            if not any(c in name for c in "'\"\\") and len(name) <= TEXT_CHARS_MAX:
                found.add(name)
    return sorted(found)[:NAMES_MAX]


def last_name(text):
    text = text[-TEXT_CHARS_MAX:]
    at = len(text)
    while at > 0 and (text[at - 1] in "_." or text[at - 1].isalnum()):
        at -= 1
    return text[at:]


def choose(start, names):
    """Names that begin with @start; those with an underscore only when that has one."""
    found = set()
    for number, name in enumerate(names):
        if number == CANDIDATES_MAX:
            break
        if type(name) is str and name.startswith(start) and name.isidentifier():
            if start or name[:1] != "_":
                found.add(name)
    return sorted(found)[:NAMES_MAX]


def everything():
    with driver.part("genuine").Genuine():
        import keyword
    names = list(vars(state.main)) + list(vars(builtins)) + keyword.kwlist
    return names + list(getattr(keyword, "softkwlist", ()))


def look_up(space, name):
    return dict.get(space, name, MISSING) if isinstance(space, dict) else MISSING


def attribute(value, name):
    """
    An attribute, found without running code of the program: neither a property nor __getattr__.
    """
    kind = type(value)
    own = MISSING
    try:
        own = look_up(object.__getattribute__(value, "__dict__"), name)
    except Exception:
        pass
    if isinstance(value, type):
        own = inherited(value, name)
    found = inherited(kind, name)
    if type(found) in SLOTS and not isinstance(value, type):
        try:
            return found.__get__(value, kind)
        except Exception:
            return MISSING
    if own is not MISSING:
        return plain(own)
    return plain(found)


def inherited(kind, name):
    for base in type.__dict__["__mro__"].__get__(kind):
        found = look_up(dict(type.__dict__["__dict__"].__get__(base)), name)
        if found is not MISSING:
            return found
    return MISSING


def plain(value):
    """What stands in a class as it comes out of an instance, when that needs no code to run."""
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    kind = type(value)
    if value is MISSING or callable(value) or inherited(kind, "__get__") is MISSING:
        return value
    return MISSING
