# SPDX-License-Identifier: Apache-2.0
"""Turn source into code objects. The last statement is compiled separately if it is an expression."""

import sys

import _warnings

AST_CHARS_MAX = 1 << 20
TOP_LEVEL_AWAIT = 0x2000  # the flag _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
MODES = ("all", "last_expr_or_assign", "none")
ONLY_AST = 0x400  # the flag _ast.PyCF_ONLY_AST
FUTURES = 0x1FE0000  # the CO_FUTURE_… flags of a code object

# A short step that begins with one of these words may be a magic without "%", so notebook.py is asked.
WORDS = frozenset("ls ll la lf lx ldir pwd cd who whos who_ls env history hist lsmagic reset cat less more man mkdir rm rmdir cp mv run".split())
LINE_CHARS = 256

state = driver.state


def translate(source, filename, mode):
    code = compile(source, filename, mode, state.futures | TOP_LEVEL_AWAIT, True)
    if hasattr(code, "co_flags"):
        state.futures |= code.co_flags & FUTURES
    return code


def compiles(source, mode):
    try:
        compile(source, "", mode, state.futures | TOP_LEVEL_AWAIT, True)
        return True
    except BaseException as error:
        if type(error) is KeyboardInterrupt:
            raise
        return False


def last_statement(source):
    """
    Find where the last statement begins, and whether it is an expression. Returns: (offset, bool), or None
    if only the syntax tree can tell.

    The last statement is a block of whole lines that begins in column 0 and compiles by itself, and the
    text before it also compiles by itself. Trying that takes 0.05 ms. Building the first syntax tree in a
    process takes 1.5 ms.
    """
    end = len(source.rstrip())
    for _ in range(12):
        start = source.rfind("\n", 0, end) + 1
        first = source[start : start + 1]
        if first not in " \t\f\r\n#)]}" and first:
            tail = source[start:]
            if compiles(tail, "eval"):
                return (start, True) if compiles(source[:start], "exec") else None
            if compiles(tail, "exec"):
                return (start, False) if ";" not in tail else None
        if start == 0:
            return None
        end = start - 1
    return None


def split(source, filename):
    """
    Return the code objects to run, and whether the value of the last one is the step's value.

    A step that is not valid Python may be notebook syntax. A file must be Python.
    """
    if source[:1] == "\ufeff":
        source = source[1:]
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    failure = None
    first = source.partition("(")[0].split(None, 1)[:1] if len(source) < LINE_CHARS and filename[:1] == "<" else []
    if first and first[0] in WORDS:
        source = driver.part("notebook").alone(source) or source
    try:
        # A prompt such as "In [1]:" happens to be a valid annotation without effect.
        if source[:4] != "In [":
            return split_python(source, filename, is_silent(source))
    except SyntaxError as error:
        failure = error
    spoken = None
    if filename[:1] == "<":
        spoken = quietly(driver.part("notebook").translate, source)
    if spoken is None and failure is not None:
        raise failure
    spoken = source if spoken is None else spoken
    try:
        return split_python(spoken, filename, is_silent(source))
    except SyntaxError as error:
        show_original(error, source)
        raise


def show_original(error, source):
    """Make an error in the translated step show the original line."""
    lines = source.split("\n")
    if type(error.lineno) is int and 0 < error.lineno <= len(lines):
        if "__notebook__" in (error.text or ""):
            error.text, error.offset, error.end_offset = lines[error.lineno - 1], None, None


def is_silent(source):
    """
    Return whether a semicolon follows the last statement. Text after "#" is a comment if the text before it
    compiles without it.
    """
    last = source.rstrip()
    while last:
        line = last[last.rfind("\n") + 1 :]
        if "#" not in line:
            return last.endswith(";")
        if ";" not in last[-4096:]:
            return False
        base, at = len(last) - len(line), line.find("#")
        while at >= 0:
            before = last[: base + at].rstrip()
            if not before or quietly(compiles, before + "\n", "exec"):
                break
            at = line.find("#", at + 1)
        if at < 0:
            return last.endswith(";")
        last = before
    return False


def split_python(source, filename, silent):
    asked = ""
    if "interactive" in state.parts or "IPython.core.interactiveshell" in sys.modules:
        asked = what_is_shown()
    if asked in ("all", "last_expr_or_assign"):
        return split_tree(source, filename, silent, asked)
    if asked == "none" or silent or not source.strip():
        return [translate(source, filename, "exec")], False
    found = quietly(last_statement, source)
    if found is None:
        return split_tree(source, filename)
    start, is_expression = found
    if not is_expression:
        return [translate(source, filename, "exec")], False
    tail = "\n" * source.count("\n", 0, start) + source[start:]
    codes = [translate(source[:start], filename, "exec")] if start else []
    return codes + [translate(tail, filename, "eval")], True


def quietly(function, *args):
    """Call @function without warnings, because trial compilations would repeat them."""
    filters = _warnings.filters
    quiet = ("ignore", None, Warning, None, 0)
    filters.insert(0, quiet)
    touch_filters()
    try:
        return function(*args)
    finally:
        filters.remove(quiet)
        touch_filters()


def touch_filters():
    changed = getattr(_warnings, "_filters_mutated", None)
    if changed:
        changed()


def what_is_shown():
    """
    Return which expressions of a step the program wants to be shown: "" for the last one, or one of MODES.
    """
    shells = [getattr(sys.modules.get("IPython.core.interactiveshell"), "InteractiveShell", None)]
    if "interactive" in state.parts:
        shells.append(driver.part("interactive").shell)
    asked = [getattr(shell, "ast_node_interactivity", "") for shell in shells]
    return ([mode for mode in MODES if mode in asked] or [""])[0]


def show_each(body):
    """Wrap the expressions between other statements in calls that show them."""
    import _ast

    driver.part("magic").offer()
    for node in body:
        if type(node) is _ast.Expr:
            call = compile("__notebook__.show(0)", "", "eval", ONLY_AST).body
            for part in (call, call.func, call.func.value):
                part.lineno, part.col_offset = node.lineno, node.col_offset
                part.end_lineno, part.end_col_offset = node.end_lineno, node.end_col_offset
            call.args, node.value = [node.value], call


def target_of(node):
    """Return the name to which a statement assigns, as an expression."""
    import _ast

    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    is_one = type(node) in (_ast.Assign, _ast.AugAssign, _ast.AnnAssign) and len(targets) == 1
    if not is_one or type(targets[0]) is not _ast.Name or getattr(node, "value", None) is None:
        return None
    name = targets[0]
    place = {at: getattr(name, at) for at in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    return _ast.Expr(_ast.Name(name.id, _ast.Load(), **place), **place)


def split_tree(source, filename, silent=False, asked=""):
    """Split as split() does, but by the syntax tree. Raises the errors in the source."""
    if len(source) > AST_CHARS_MAX:
        return [translate(source, filename, "exec")], False
    import _ast

    tree = translate_tree(source, filename)
    if asked == "all":
        show_each(tree.body if silent else tree.body[:-1])
    target = target_of(tree.body[-1]) if asked == "last_expr_or_assign" and tree.body else None
    if target is not None:
        tree.body.append(target)
    if silent or not tree.body or type(tree.body[-1]) is not _ast.Expr:
        return [translate(tree, filename, "exec")], False
    last = tree.body.pop()
    codes = [translate(tree, filename, "exec")] if tree.body else []
    return codes + [translate(_ast.Expression(last.value), filename, "eval")], True


def translate_tree(source, filename):
    return compile(
        source, filename, "exec", state.futures | TOP_LEVEL_AWAIT | ONLY_AST, True
    )
