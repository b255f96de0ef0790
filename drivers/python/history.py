# SPDX-License-Identifier: Apache-2.0
"""In, Out, _, __, ___, _N and _i of a session.

They are ordinary variables, so branches and rollbacks carry them. The memory that they keep alive is
limited. `_`, `__` and `___` hold the last three values, but a large value only until the next one. Of
older values, Out keeps those that are small and of plain types, at most OUT_MAX. In keeps the last
IN_MAX steps, except those longer than CODE_CHARS. Numbers of dropped entries are not used again."""

import sys

import builtins
import posix

state = driver.state
IN_MAX, CODE_CHARS, OUT_MAX, SMALL_BYTES, LARGE_BYTES = 1_000, 1 << 16, 1_000, 1 << 12, 8 << 20
PLAIN = (int, float, complex, bool, str, bytes)
SIZED = PLAIN + (bytearray, list, tuple, dict, set, frozenset)
UNDERS = ("_", "__", "___")
NAMES = ("In", "_ih", "Out", "_oh", "_dh", "_i", "_ii", "_iii", *UNDERS)
codes, values, last = [""], {}, []  # In, Out, and the numbers of the last three values
ours = {}  # maps each of UNDERS to the id of the object to which it was last set here


def install():
    """Add the names to the builtins. They are not the program's own, and so dir() does not show them."""
    space = vars(builtins)
    if space.get("In") is not codes:
        space.update(In=codes, _ih=codes, Out=values, _oh=values, _dh=[posix.getcwd()], _i="", _ii="", _iii="")
        space["get_ipython"] = driver.get_ipython


def exchange(book):
    """
    Use another history. @book: what this function has returned before, or None for an empty history. Returns:
    the present one.
    """
    global codes, values, last, ours
    space = vars(builtins)
    names = [*NAMES, *["_i%d" % number for number in range(len(codes))]]
    own = {name: space.pop(name) for name in names if name in space}
    former = (codes, values, last, ours, own)
    codes, values, last, ours, own = book or ([""], {}, [], {}, {})
    space.update(own)
    return former


def begin(step):
    space = vars(builtins)
    if space.get("In") is not codes:
        install()
    if len(codes) > 1:
        space["_iii"], space["_ii"], space["_i"] = space.get("_ii", ""), space.get("_i", ""), codes[-1]
    for name in UNDERS:
        space.setdefault(name, "")
    codes.append(step.code if len(step.code) <= CODE_CHARS else "")
    number = len(codes) - 1
    space["_i%d" % number] = codes[-1]
    if number > IN_MAX:
        codes[-IN_MAX - 1] = ""
        space.pop("_i%d" % (number - IN_MAX), None)
    return number


def are_theirs(space):
    """
    Return whether the program has assigned to one of the names itself. History then leaves them alone, as
    IPython does.
    """
    return any([name in space and id(space[name]) != ours.get(name) for name in UNDERS])


def keep(value):
    """Store the value of the running step as an output."""
    if value is values:
        return
    space, number = vars(state.main), len(codes) - 1
    if last and last[-1] != number and is_large(values.get(last[-1])):
        drop(last[-1])
    driver.set_item(values, number, value)
    if number not in last:
        last.append(number)
    driver.set_item(space, "_%d" % number, value)
    if not are_theirs(space):
        for back, name in enumerate(UNDERS, 1):
            if len(last) >= back:
                driver.set_item(space, name, values.get(last[-back]))
                ours[name] = id(space[name])
    if len(last) > 3:
        old = last.pop(0)
        if not is_small(values.get(old)):
            drop(old)
        if len(values) > OUT_MAX:
            drop(next(iter(values)))


def is_small(value):
    return type(value) in PLAIN and sys.getsizeof(value) <= SMALL_BYTES


def is_large(value):
    """
    Return whether a value is larger than LARGE_BYTES, judging by sizes that are known at once. An element
    of an array or table counts 8 bytes.
    """
    try:
        if type(value) in SIZED:
            return sys.getsizeof(value) > LARGE_BYTES
        size = 8
        for length in value.shape:
            size *= length
        return size > LARGE_BYTES
    except Exception:
        return False


def drop(number):
    for space, name in ((values, number), (vars(state.main), "_%d" % number)):
        if name in space:
            driver.set_item(space, name, None)
            del space[name]


def forget():
    values.clear()
    last.clear()


def chosen(given):
    """Return the numbers of the steps that "[-l N] [N] [N-M]" selects."""
    numbers = [word for word in given if word.replace("-", "", 1).isdigit() and word[0] != "-"]
    end = len(codes) - 1
    if "-l" in given and given[-1].isdigit():
        return range(max(1, end - int(given[-1])), end)
    if not numbers:
        return range(1, end)
    out = []
    for word in numbers:
        low, _, high = word.partition("-")
        out += [number for number in range(max(int(low), 1), min(int(high or low) + 1, len(codes)))]
    return out


def show(text):
    """%history [-n] [-l N] [N] [N-M]"""
    given = text.split()
    for number in chosen(given):
        builtins.print(("%4d: " % number if "-n" in given else "") + codes[number])


def save(text, space):
    """%save [-f] [-a] [-r] FILE [N] [N-M]: write steps to a file as they were entered."""
    magic = driver.part("magic")
    options, rest = magic.words(text, flags="far")
    if not rest:
        raise magic.UsageError("write %save [-f] [-a] FILE [N] [N-M]")
    path = magic.os.path.expanduser(rest[0])
    if not path.endswith((".py", ".ipy")):
        path += ".ipy" if "r" in options else ".py"
    if magic.os.path.exists(path) and not {"f", "a"} & set(options):
        raise magic.UsageError("%s exists: write %%save -f to replace it, -a to append" % path)
    code = "\n".join([codes[number] for number in chosen(rest[1:])])
    with open(path, "a" if "a" in options else "w", encoding="utf-8") as file:
        file.write(code if code.endswith("\n") else code + "\n")
    builtins.print("The following commands were written to file `%s`:\n%s" % (path, code))
