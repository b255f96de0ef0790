# SPDX-License-Identifier: Apache-2.0
"""The NAMES frame: completions for the end of a text, from the session's variables."""

import os
import re
import sys

import builtins

state = driver.state
NAMES_MAX, TEXT_CHARS_MAX, PARTS_MAX = 200, 4096, 32
CANDIDATES_MAX = 100_000
MISSING = object()
# A token that is skipped: a comment or a string. Only the last string can be unterminated.
TOKEN = re.compile(r"""\#[^\n]* | (?P<prefix>\b[A-Za-z]{1,2})? (?:
    (?P<three>'{3}|"{3}) (?: \\. | (?!(?P=three))[^\\] )* (?P=three)
  | (?P<quote>['"]) (?: (?: \\. | (?!(?P=quote))[^\\\n] )* (?: (?P=quote) | \n )
                    | (?P<open> (?: \\. | (?!(?P=quote))[^\\\n] )* ) \Z ) )""", re.DOTALL | re.VERBOSE)
SLOTS = (type(type.__dict__["__dict__"]), type(driver.Step.__call__))


def answer(request):
    """Answer a NAMES frame. An interrupt ends a __dir__() that would run for ever."""
    names = []
    try:
        driver.wake()
        names = complete(driver.join(request["text"]))
    except BaseException:
        pass
    driver.hush()
    driver.send(driver.DONE, {"id": request["id"], "names": names})


def complete(text):
    """Return the sorted candidates for the last part of the dotted name at the end of @text."""
    if text[-1:] == "?":
        return help_of(text.rstrip("?"), text[-2:] == "??")
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
    # Not dir(value): it sorts the names, which fails if they have different types.
    return choose(start, type(value).__dir__(value))


def help_of(name, is_long):
    """Return the help for a dotted name, as one text; with @is_long also its source. Without it, no text."""
    path = name.split(".")
    is_name = len(path) <= PARTS_MAX and all(part.isidentifier() for part in path)
    value = find(path) if is_name else MISSING
    return [] if value is MISSING else ["\n".join(driver.part("describe").rows(name, value, 1 + is_long))]


def find(path):
    """Return the object that the dotted name refers to."""
    value = look_up(vars(state.main), path[0])
    if value is MISSING:
        value = look_up(vars(builtins), path[0])
    for part in path[1:]:
        value = value if value is MISSING else attribute(value, part)
    return value


def open_string(text):
    """Return (content, text before) of the unterminated string at the end of @text, or (None, "")."""
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
    """
    Return keys of a dictionary or columns of a DataFrame. Other types are left alone, because their code
    would run.
    """
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
    """Return the files whose paths begin with @start. Directories end with a slash."""
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
    """Return the names that begin with @start and that need no escape inside a string."""
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
    """
    Return the names that begin with @start. Names with a leading underscore are returned only if @start has
    one too.
    """
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
    """Return an attribute without running code of the program: no properties, no __getattr__()."""
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
    """Return a class attribute as an instance would return it, if that runs no code."""
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    kind = type(value)
    if value is MISSING or callable(value) or inherited(kind, "__get__") is MISSING:
        return value
    return MISSING
