# SPDX-License-Identifier: Apache-2.0
"""Translate notebook syntax to Python: magics, shell commands, help, Markdown fences, prompts.

This is tried only for a step that is not valid Python, so it cannot change the meaning of Python code. A
cell is scanned by logical lines. The scanner knows strings, comments, brackets and line ends, so it
leaves alone a line that begins inside a string or bracket. If a logical line begins with one of the
forms below, it is replaced by a call of a method of __notebook__, an object of magic.py. None of the
forms is valid Python there. The number of lines stays the same, so that errors name the right line.

  %name text      %%name text + body      target = %name text
  !command        !!command               target = !command
  ?name           name?    name??         pip install name"""

import sys

import builtins

with driver.part("genuine").Genuine():
    import re

BODY_OF_CODE = ("time", "timeit", "capture", "prun")
# Magics that IPython accepts without "%", if the line is not valid Python
BARE = (
    "cd|ls|ll|la|lf|lx|ldir|cat|less|more|man|mkdir|rm|rmdir|cp|mv|run|time|timeit|prun|who|whos|who_ls|env|set_env|history|hist|"
    "reset|xdel|matplotlib|load_ext|reload_ext|autoreload|pinfo2?|pdoc|psource|save"
)
# Magics that may also be valid Python: a name, a difference (ls -l) or a quotient (cd /tmp). They are taken
# as magics if no variable of that name exists.
ALONE = "ls|ll|la|lf|lx|ldir|pwd|cd|who|whos|who_ls|env|history|hist|lsmagic|reset(?= +-)"
ALONE += "|(?:cat|less|more|man|mkdir|rm|rmdir|cp|mv|run)(?=[ \t]+[-/*])"
INSTALL = r"(?:pip3?|conda|mamba|uv\s+pip|python3?\s+-m\s+pip)\s+(?:install|uninstall|list|show|freeze)\b"
SHELLS = ("bash", "sh", "shell", "console", "zsh")
PRINTED = ("text", "txt", "output", "out", "stdout", "plaintext")  # fences that show output
# Languages of fences with code for another runtime
FOREIGN = ("js", "javascript", "mjs", "node", "ts", "typescript", "sql", "sqlite")

TOKEN = re.compile(
    r"(?P<string>\b[rRbBuUfFtT]{1,2}(?=[\"'])|)(?P<quote>\"\"\"|'''|\"|')"
    r"|(?P<comment>#[^\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<join>\\\n)|(?P<end>\n)"
)
REST = {
    '"""': re.compile(r'(?:\\.|[^\\])*?"""', re.S),
    "'''": re.compile(r"(?:\\.|[^\\])*?'''", re.S),
    '"': re.compile(r'(?:\\.|[^\\\n"])*"', re.S),
    "'": re.compile(r"(?:\\.|[^\\\n'])*'", re.S),
}
INDENT = re.compile(r"[ \t\f]*")
PHYSICAL = re.compile(r"(?:[^\n\\]|\\\n|\\)*")
MAGIC = re.compile(r"(%{1,2})[ \t]*([A-Za-z_][\w.]*|[!]|)[ \t]?(.*)", re.S)
TARGET = re.compile(r"([^=#]+)=[ \t]*(?:(!)(?!=)|%[ \t]*(\w+))(.*)", re.S)
ASKED_BEFORE = re.compile(r"(\?\??)[ \t]*(%{0,2}[\w.*]+(?:\[-?\d+\])?)[ \t]*;?[ \t]*$")
ASKED_AFTER = re.compile(r"(%{0,2}(?!\d)[\w*]+(?:\.(?!\d)[\w*]+|\[-?\d+\])*)[ \t]*(\?\??)[ \t]*(?:#.*)?$")
BARE_MAGIC = re.compile(r"(%s)[ \t]+(?!=|,|:|\(|\[|\.\w)(\S.*)" % BARE, re.S)
BARE_INSTALL = re.compile(INSTALL + r".*", re.S)
STEP_ALONE = re.compile(r"\s*(%s)(?:[ \t]+([-/*]\S.*?)|\(\))?\s*$" % ALONE)
# A fence: indentation, mark, language, content. A fence that is not closed extends to the end.
# FENCE_OF_FENCES matches everything from the first mark to the last.
OPENED = r"^([ \t]*)(`{3,}|~{3,})[ \t]*\{?\.?([\w+-]*)[^\n`]*\n"
FENCE = re.compile(OPENED + r"(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.S | re.M)
FENCE_OF_FENCES = re.compile(OPENED + r"(.*)^[ \t]*\2[ \t]*$", re.S | re.M)
PROMPT = re.compile(r"[ \t]*(?:>>>|In \[\d*\]:)(?: |$)", re.M)
PROMPTED = re.compile(r"[ \t]*(?:>>>|\.\.\.|In \[\d*\]:|\.\.\.+:)(?: (.*)|)$")


def translate(source):
    """Return the step as Python, or None if it contains no notebook syntax."""
    plain = unwrapped(source)
    if plain is not None and driver.part("program").compiles(plain, "exec"):
        return plain
    lines = spoken(source if plain is None else plain)
    if lines is not None:
        driver.part("magic").offer()
        return lines
    return plain


def alone(source):
    """
    Translate a step that is valid Python but consists only of the name of a magic. Returns: None if it does
    not, or if a variable has that name.
    """
    found = STEP_ALONE.match(source)
    if not found or found[1] in vars(driver.state.main) or hasattr(builtins, found[1]):
        return None
    driver.part("magic").offer()
    return line_call(found[1], found[2] or "")


def awaits(body):
    """Return whether code uses await at its top level."""
    if "await" not in body and "async" not in body:
        return False
    program = driver.part("program")
    body = translate(body) or body if not program.compiles(body, "exec") else body
    try:
        code = compile(body, "", "exec", program.TOP_LEVEL_AWAIT, True)
    except SyntaxError:
        return False
    return bool(code.co_flags & driver.COROUTINE)


# ---- what is wrapped around a cell --------------------------------------------------------------------


def unwrapped(source):
    """Remove fence, prompts and common indentation. Returns: None if the source has none of these."""
    text = without_fence(source)
    text = without_prompts(text)
    text = without_indent(text)
    return None if text == source else text


def without_fence(text):
    """
    Return the content of the fence, or of all fences if they have the same language.

    Lines keep their numbers. Text outside of the fences is prose and is removed, unless it might be code.
    """
    found, outside = fences(text if text.endswith("\n") else text + "\n")
    if len(found) > 1:
        found = [each for each in found if each[3].lower() not in PRINTED] or found
    if not found or outside.lstrip()[:2] == "%%" or "\"\"\"" in outside or "'''" in outside:
        return text  # either not a fence, or one within a string
    kinds = sorted({kind_of(each[3].lower()) for each in found})
    is_mixed = len({not each[3] for each in found}) > 1  # a fence without a language may contain output
    if len(kinds) > 1 or is_mixed:
        return "%%fences " + ", ".join([kind or "python" for kind in kinds] + ["no language"] * is_mixed)
    is_python = "=" in outside or "(" in outside
    if re.search("(?m)^[ \\t]*[!%]", outside) or is_python and driver.part("program").compiles(without_indent(outside), "exec"):
        return "%%fences beside"
    out = []
    for each in found:
        body = each[4].replace("\n" + each[1], "\n")[len(each[1]) if each[4].startswith(each[1]) else 0 :]
        out.append("\n" * (text.count("\n", 0, each.start(4)) - "".join(out).count("\n")) + body)
    text = "".join(out)
    if not kinds[0]:
        return text
    head = "%%bash" if kinds[0] == "bash" else "%%fenced " + kinds[0]
    return text[: len(text) - len(text.lstrip("\n")) - 1] + head + "\n" + text.lstrip("\n")


def fences(text):
    """
    Return the fences and the text outside of them.

    If the content of a fence is not valid by itself, a mark inside the content was probably taken for its
    end. The result is then one fence, from the first mark to the last.
    """
    found = list(FENCE.finditer(text))
    for each in found:
        quotes = [each[4].count(mark) % 2 for mark in ("\"\"\"", "'''")]
        if not each[4].strip() or any(quotes) or re.search("(?m)^[ \\t]*" + each[2], each[4]):
            whole = FENCE_OF_FENCES.search(text)
            return ([whole], text[: whole.start()] + text[whole.end() :]) if whole and whole[4].strip() else ([], text)
    return found, FENCE.sub("", text)


def kind_of(language):
    """Return the runtime for a fence's language; "" for Python and for words without a meaning here."""
    return "bash" if language in SHELLS else language if language in FOREIGN else ""


def without_prompts(text):
    first = text.lstrip()
    if not PROMPT.match(first):
        return text
    lines = []
    for line in text.split("\n"):
        found = PROMPTED.match(line)
        lines.append((found[1] or "") if found else "")  # a line without a prompt is output
    return "\n".join(lines)


def without_indent(text):
    """Remove the first line's indentation from all lines, as IPython does."""
    first = re.search(r"(?m)^([ \t]*)\S", text)
    if not first or not first[1]:
        return text
    return re.sub("(?m)^" + re.escape(first[1]), "", text)


# ---- lines ----------------------------------------------------------------------------------------


def spoken(source):
    """Return the cell with each line of notebook syntax replaced by a call, or None if it has no such line."""
    out, at, found, is_head = [], 0, False, True  # is_head: only comments and lines that do nothing so far
    while at < len(source):
        end, call = special(source, at)
        if call is None:
            end = logical_end(source, at)
            call = source[at:end]
            is_head = is_head and call.lstrip()[:1] in ("", "#")
        else:
            found = True
            is_head = is_head and is_nothing(call)
            call = ("" if is_head else call) + "\n" * source.count("\n", at, end)
        out.append(call)  # a line that does nothing is removed, because "from __future__ import" may follow
        at = end
    return "".join(out) if found else None


def is_nothing(call):
    """Return whether a translated line does nothing, such as %matplotlib."""
    magic = driver.part("magic")
    found = re.match(r"__notebook__\.line\('(\w+)', '(--?l)?", call)
    is_nothing = bool(found) and (found[1] in magic.PASSED_OVER or found[1] == "matplotlib" and not found[2])
    return is_nothing and found[1] not in magic.theirs["line"]


def logical_end(source, at):
    """Return the end of the logical line that begins at @at."""
    depth = 0
    while True:
        found = TOKEN.search(source, at)
        if found is None:
            return len(source)
        at = found.end()
        if found["quote"]:
            rest = REST[found["quote"]].match(source, at)
            at = rest.end() if rest else at
        elif found["open"]:
            depth += 1
        elif found["close"]:
            depth = max(0, depth - 1)
        elif found["end"] and depth == 0:
            return at


def special(source, at):
    """Return (end, call) for the logical line that begins at @at. The call is None for plain Python."""
    indent = INDENT.match(source, at)[0]
    start = at + len(indent)
    end = PHYSICAL.match(source, start).end()
    text = source[start:end].replace("\\\n", " ").rstrip()
    first = text[:1]
    if not first or first == "#":
        return at, None
    asked = ASKED_AFTER.match(text)
    if asked:
        return end, "%s__notebook__.help(%r, %r)" % (indent, asked[1], len(asked[2]))
    if first == "%":
        return percent(source, start, end, indent)
    if first == "!":
        what = "lines" if text[:2] == "!!" else "system"
        return end, "%s__notebook__.%s(%r)" % (indent, what, text.lstrip("!").strip())
    asked = ASKED_BEFORE.match(text)
    if asked:
        return end, "%s__notebook__.help(%r, %r)" % (indent, asked[2], len(asked[1]))
    if text in ("?", "??"):
        return end, "%s__notebook__.line('lsmagic', '')" % indent
    target = TARGET.match(text)
    if target and driver.part("program").compiles(target[1] + "= 0\n", "exec"):
        what = "__notebook__.lines(%r)" % target[4].strip() if target[2] else line_call(target[3], target[4].strip())
        return end, "%s%s= %s" % (indent, target[1], what)
    return bare(text, end, indent) or (at, None)


def percent(source, start, end, indent):
    """Translate %magic, or %%magic with all lines that follow."""
    text = source[start:end].replace("\\\n", " ").rstrip()
    mark, name, rest = MAGIC.match(text).groups()
    if mark == "%%" and not indent:
        body = source[end + 1 :]
        waits = "await " if name in BODY_OF_CODE and awaits(body) else ""
        method = "cell_async" if waits else "cell"
        if name == "!":
            name = "bash"
        return len(source), "%s__notebook__.%s(%r, %r, %r)" % (waits, method, name, rest.strip(), body)
    if name in ("time", "timeit") and mark == "%":
        end = max(end, len(source[: logical_end(source, start)].rstrip("\n")))
        rest = source[start:end].replace("\\\n", " ").partition(name)[2]
    return end, indent + line_call(mark[1:] + name, rest.strip())


def line_call(name, text):
    if name == "time" and awaits(text):
        return "await __notebook__.line_async(%r, %r)" % (name, text)
    return "__notebook__.line(%r, %r)" % (name, text)


def bare(text, end, indent):
    """
    Translate a magic without "%", if the line is not valid Python by itself. Returns: (end, call) or None.
    """
    found = BARE_INSTALL.match(text) or BARE_MAGIC.match(text)
    if not found or driver.part("program").compiles(text + "\n", "exec"):
        return None
    if found.re is BARE_INSTALL:
        return end, "%s__notebook__.system(%r)" % (indent, text)
    return end, indent + line_call(found[1], found[2].strip())
