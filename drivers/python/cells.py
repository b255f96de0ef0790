# SPDX-License-Identifier: Apache-2.0
"""Work on whole cells: run cells of the session again, write them as a notebook, run the cells of a
notebook file."""

import sys

import builtins

state = driver.state
UsageError = driver.part("magic").UsageError

with driver.part("genuine").Genuine():
    import json


def run(source, filename):
    """
    Run code as a cell of the session within the current step. Returns: the value of its last expression, or
    None.
    """
    space, value = vars(state.main), None
    state.source_chars += len(source) - len(state.sources.get(filename, ""))
    state.sources[filename] = source
    driver.with_sources()
    codes, has_value = driver.part("program").split(source, filename)
    if any([code.co_flags & driver.COROUTINE for code in codes]):
        value = driver.part("event_loop").run_async(codes, space)
    else:
        for code in codes:
            value = eval(code, space)
    return value if has_value else None


# ---- notebook files ---------------------------------------------------------------------------------------


def sources(path, data):
    """Return the code cells of a notebook in format 3 or 4."""
    try:
        book = json.loads(data)
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        found = [cell.get("source", cell.get("input", "")) for cell in cells if cell["cell_type"] == "code"]
        return ["".join(source) for source in found]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError("%s is not a notebook of format 3 or 4" % path) from None


def run_notebook(path, data):
    """%run NOTEBOOK: run its code cells in order, with the session's variables, until one fails."""
    name = path.rpartition("/")[2]
    for number, source in enumerate(sources(path, data), 1):
        if source.strip():
            value = run(source, "<%s, cell %d>" % (name, number))
            if value is not None:
                builtins.display(value)


def notebook(text, space):
    """%notebook FILE: write the session's steps and values as a notebook in format 4."""
    options, rest = driver.part("magic").words(text, flags="e")
    if len(rest) != 1 or not rest[0].endswith(".ipynb"):
        raise UsageError("write %notebook FILE.ipynb")
    cells = [cell_of(number, code) for number, code in steps("")]
    version = "%d.%d.%d" % sys.version_info[:3]
    about = {"language_info": {"name": "python", "version": version},
             "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    with open(rest[0], "w", encoding="utf-8") as file:
        json.dump({"nbformat": 4, "nbformat_minor": 4, "metadata": about, "cells": cells}, file, indent=1)
        file.write("\n")
    builtins.print("%d cells written to %s; outputs that are no longer stored are missing" % (len(cells), rest[0]))


def cell_of(number, code):
    history, outputs = driver.part("history"), []
    if number in history.values:
        data = driver.part("rich").bundle(history.values[number], driver.VALUE_BYTES)
        data = {mime: value for mime, value in data.items() if not mime.startswith("application/vnd.retort.")}
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return {"cell_type": "code", "execution_count": number, "metadata": {}, "outputs": outputs,
            "source": code.splitlines(True)}


# ---- steps of the session -----------------------------------------------------------------------------------


def steps(text):
    """
    Return [(number, code)] for "N", "N-M", "-l N", or several of these; without arguments for all earlier
    steps.
    """
    codes, given = driver.part("history").codes, text.split()
    last = len(codes) - 2
    if given[:1] == ["-l"]:
        given = ["%d-%d" % (max(1, last + 1 - number_of(given[1] if len(given) > 1 else "1")), last)]
    wanted = []
    for word in given or ["1-%d" % last]:
        low, mark, high = word.lstrip("~/").partition("-")
        wanted += range(number_of(low), min(number_of(high or low), last) + 1 if mark else number_of(low) + 1)
    return [(number, codes[number]) for number in wanted if 1 <= number <= last and codes[number].strip()]


def number_of(word):
    if not word.isdigit() or len(word) > 9:
        raise UsageError("name steps by number, such as 4 or 2-5; %history -n lists them")
    return int(word)


def named(text, what):
    last = len(driver.part("history").codes) - 2
    found = steps(text.strip() or str(last))
    if not found:
        raise UsageError("%%%s: there is no such step before this one; %%history -n lists them" % what)
    return found


def recall(text, space):
    """Show the code of steps. IPython would put it into the next cell, which does not exist here."""
    builtins.print("\n".join([code for _, code in named(text, "recall")]))


def rerun(text, space):
    value = None
    for number, code in named(text, "rerun"):
        builtins.print("=== Executing: ===\n%s\n=== Output: ===" % code)
        value = run(code, "<step %d, again>" % number)
    return value


def tb(text, space):
    """Print the last traceback again."""
    lines = state.last_failure
    builtins.print("\n".join(lines) if lines else "There has been no error yet.")
