# SPDX-License-Identifier: Apache-2.0
"""NAMES: completions for the end of a text, from the session's variables."""

import os
import re
import sys

import builtins

state = driver.state
NAMES_MAX, TEXT_CHARS_MAX, PARTS_MAX = 200, 4096, 32
CANDIDATES_MAX = 100_000
MISSING = object()
# Strings and comments. An unterminated one can only be the last.
TOKEN = re.compile(r"""\#[^\n]* | (?P<prefix>\b[A-Za-z]{1,2})? (?:
    (?P<three>'{3}|"{3}) (?: \\. | (?!(?P=three))[^\\] )* (?P=three)
  | (?P<quote>['"]) (?: (?: \\. | (?!(?P=quote))[^\\\n] )* (?: (?P=quote) | \n )
                    | (?P<open> (?: \\. | (?!(?P=quote))[^\\\n] )* ) \Z ) )""", re.DOTALL | re.VERBOSE)
SLOTS = (type(type.__dict__["__dict__"]), type(driver.Step.__call__))


def answer(request):
    """Answer NAMES. An interrupt ends a __dir__() that runs for ever."""
    names = []
    try:
        driver.wake()
        names = complete(driver.join(request["text"]))
    except BaseException:
        pass
    driver.hush()
    driver.send(driver.DONE, {"id": request["id"], "names": names})


def complete(text):
    """Sorted candidates for the last part of the dotted name at the end of @text."""
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
    return choose(start, type(value).__dir__(value))  # dir() would sort, which fails for names of different types


def find(path):
    """The object that the dotted name refers to."""
    value = look_up(vars(state.main), path[0])
    if value is MISSING:
        value = look_up(vars(builtins), path[0])
    for part in path[1:]:
        value = value if value is MISSING else attribute(value, part)
    return value


def open_string(text):
    """(content, text before) of the unterminated string at the end of @text, or (None, "")."""
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
    """Keys of a dictionary or columns of a DataFrame. Other types are left alone: their code would run."""
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
    """Files whose paths begin like this; directories end with a slash."""
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
    """The candidates that begin with @start and need no escape inside a string."""
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
    """Names that begin with @start; those with a leading underscore only when @start has one too."""
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
    """Look up an attribute without running code of the program: no properties, no __getattr__()."""
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
    """A class attribute as an instance would return it, if no code has to run for that."""
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    kind = type(value)
    if value is MISSING or callable(value) or inherited(kind, "__get__") is MISSING:
        return value
    return MISSING
