# SPDX-License-Identifier: Apache-2.0
"""
From the habits of notebooks to Python: magics, shell commands, help, Markdown fences, prompts.

Asked only about a step that is no Python as it stands, so nothing here changes what Python means. A
cell is walked by logical lines: the scanner knows strings, comments, brackets and line ends, and a
line that begins inside one of them is left alone. At the begin of a logical line stands, or stands
not, one of the forms below; each is no Python there. It is replaced by a call of __notebook__, which
is an object of magic.py. The number of lines stays the same, so that errors name the right one.

    %name text        %%name text + body     target = %name text
    !command          !!command              target = !command
    ?name  name?      name??                 pip install name
"""

import sys

import builtins

with driver.part("genuine").Genuine():
    import re

BODY_OF_CODE = ("time", "timeit", "capture", "prun")
# Words that IPython takes for magics without their %, where the line is no Python.
BARE = (
    "cd|ls|ll|la|lf|lx|ldir|cat|less|more|man|mkdir|rm|rmdir|cp|mv|run|time|timeit|prun|who|whos|who_ls|env|set_env|history|hist|"
    "reset|xdel|matplotlib|load_ext|reload_ext|autoreload|pinfo2?|pdoc|psource|save"
)
# Those that are Python, too, as a name, a difference (ls -l), a quotient (cd /tmp): a step is one of them where nothing has that name.
ALONE = "ls|ll|la|lf|lx|ldir|pwd|cd|who|whos|who_ls|env|history|hist|lsmagic|reset(?= +-)"
ALONE += "|(?:cat|less|more|man|mkdir|rm|rmdir|cp|mv|run)(?=[ \t]+[-/*])"
INSTALL = r"(?:pip3?|conda|mamba|uv\s+pip|python3?\s+-m\s+pip)\s+(?:install|uninstall|list|show|freeze)\b"
SHELLS = ("bash", "sh", "shell", "console", "zsh")
PRINTED = ("text", "txt", "output", "out", "stdout", "plaintext")  # what a program has written
FOREIGN = ("js", "javascript", "mjs", "node", "ts", "typescript", "sql", "sqlite")  # magic.py knows them

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
# Mark, language and content; one that nothing ends goes to the end. The second is from the first mark to the last.
OPENED = r"^([ \t]*)(`{3,}|~{3,})[ \t]*\{?\.?([\w+-]*)[^\n`]*\n"
FENCE = re.compile(OPENED + r"(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.S | re.M)
FENCE_OF_FENCES = re.compile(OPENED + r"(.*)^[ \t]*\2[ \t]*$", re.S | re.M)
PROMPT = re.compile(r"[ \t]*(?:>>>|In \[\d*\]:)(?: |$)", re.M)
PROMPTED = re.compile(r"[ \t]*(?:>>>|\.\.\.|In \[\d*\]:|\.\.\.+:)(?: (.*)|)$")


def translate(source):
    """The step as Python, or None when there is nothing in it that a notebook would understand."""
    plain = unwrapped(source)
    if plain is not None and driver.part("program").compiles(plain, "exec"):
        return plain
    lines = spoken(source if plain is None else plain)
    if lines is not None:
        driver.part("magic").offer()
        return lines
    return plain


def alone(source):
    """A step that is Python, where no variable is called so: as a magic; else None."""
    found = STEP_ALONE.match(source)
    if not found or found[1] in vars(driver.state.main) or hasattr(builtins, found[1]):
        return None
    driver.part("magic").offer()
    return line_call(found[1], found[2] or "")


def awaits(body):
    """Does a body of code await at its top level?"""
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
    """Without fence, prompts and common indentation; None where there is nothing of them."""
    text = without_fence(source)
    text = without_prompts(text)
    text = without_indent(text)
    return None if text == source else text


def without_fence(text):
    """
    What is in the fence, or in all of them when they are of one language. Lines stay where they are. Other text is prose
    and left away, unless it might be code.
    """
    found, outside = fences(text if text.endswith("\n") else text + "\n")
    if len(found) > 1:
        found = [each for each in found if each[3].lower() not in PRINTED] or found
    if not found or outside.lstrip()[:2] == "%%" or "\"\"\"" in outside or "'''" in outside:
        return text  # none, or one in a string
    kinds = sorted({kind_of(each[3].lower()) for each in found})
    is_mixed = len({not each[3] for each in found}) > 1  # one that names no language may be what was printed
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
    The fences, and what is outside of them. Where a content can be none by itself, a mark in it was taken for its end: then
    there is one, with all that is between the first mark and the last.
    """
    found = list(FENCE.finditer(text))
    for each in found:
        quotes = [each[4].count(mark) % 2 for mark in ("\"\"\"", "'''")]
        if not each[4].strip() or any(quotes) or re.search("(?m)^[ \\t]*" + each[2], each[4]):
            whole = FENCE_OF_FENCES.search(text)
            return ([whole], text[: whole.start()] + text[whole.end() :]) if whole and whole[4].strip() else ([], text)
    return found, FENCE.sub("", text)


def kind_of(language):
    """What runs it; "" for Python, and for words that say nothing."""
    return "bash" if language in SHELLS else language if language in FOREIGN else ""


def without_prompts(text):
    first = text.lstrip()
    if not PROMPT.match(first):
        return text
    lines = []
    for line in text.split("\n"):
        found = PROMPTED.match(line)
        lines.append((found[1] or "") if found else "")  # without a prompt it is what was printed
    return "\n".join(lines)


def without_indent(text):
    """As IPython does: what the first line is indented by is taken from all."""
    first = re.search(r"(?m)^([ \t]*)\S", text)
    if not first or not first[1]:
        return text
    return re.sub("(?m)^" + re.escape(first[1]), "", text)


# ---- lines ----------------------------------------------------------------------------------------


def spoken(source):
    """The cell with each line of a notebook's own as a call; None when it has no such line."""
    out, at, found, is_head = [], 0, False, True  # head: comments and what does nothing
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
        out.append(call)  # of nothing, nothing is left: "from __future__ import" may follow
        at = end
    return "".join(out) if found else None


def is_nothing(call):
    """Does a translated line do nothing, as %matplotlib?"""
    magic = driver.part("magic")
    found = re.match(r"__notebook__\.line\('(\w+)', '(--?l)?", call)
    is_nothing = bool(found) and (found[1] in magic.PASSED_OVER or found[1] == "matplotlib" and not found[2])
    return is_nothing and found[1] not in magic.theirs["line"]


def logical_end(source, at):
    """Where the logical line that begins at @at has ended."""
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
    """(end, call) for the line at @at, which begins a logical one: call is None for plain Python."""
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
    """%magic, and %%magic with all that follows."""
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
    """Magics without their %: only of a line that is no Python by itself."""
    found = BARE_INSTALL.match(text) or BARE_MAGIC.match(text)
    if not found or driver.part("program").compiles(text + "\n", "exec"):
        return None
    if found.re is BARE_INSTALL:
        return end, "%s__notebook__.system(%r)" % (indent, text)
    return end, indent + line_call(found[1], found[2].strip())
