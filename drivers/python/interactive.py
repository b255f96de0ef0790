# SPDX-License-Identifier: Apache-2.0
"""The object that get_ipython() returns: the part of IPython's InteractiveShell that programs use."""

import sys

import builtins

state = driver.state


class Nothing:
    """
    An object that accepts any call and does nothing. It replaces events, formatters and the like, which
    have no effect here.
    """

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return lambda *args, **kwargs: None


class Result:
    """The result of run_cell()."""

    def __init__(self, value=None, error=None):
        self.result, self.error_in_exec, self.error_before_exec = value, error, None

    success = property(lambda self: self.error_in_exec is None)

    def raise_error(self):
        if self.error_in_exec is not None:
            raise self.error_in_exec


class Shell:
    """
    The stand-in for a notebook's shell. It has no attribute `kernel`, by which programs recognize a
    notebook.
    """

    kernel = parent = formatter = None
    ast_node_interactivity = "last_expr"
    autoawait = True
    config = {}
    ast_transformers = ()  # a tuple, because appending a transformer would have no effect

    def __init__(self):
        self.display_pub = self.hooks = self.history_manager = Nothing()

    @property
    def events(self):
        return driver.part("settings").events

    user_ns = user_global_ns = property(lambda self: vars(state.main))
    user_module = property(lambda self: state.main)
    execution_count = property(lambda self: len(driver.part("history").codes))

    # Each of these methods does what a translated line would do, in the namespace of the code that calls the
    # method.

    def run_line_magic(self, name, line, _stack_depth=1):
        magic = driver.part("magic")
        return magic.run_line(name, line, magic.users_space())

    def run_cell_magic(self, name, line, cell):
        magic = driver.part("magic")
        return magic.run_cell(name, line, cell, magic.users_space())

    def magic(self, text):
        name, _, line = text.lstrip("%").partition(" ")
        return self.run_line_magic(name, line)

    def system(self, command):
        driver.part("shell").system(command, driver.part("magic").users_space())

    system_piped = system_raw = system

    def getoutput(self, command, split=True, depth=0):
        found = driver.part("shell").lines(command, driver.part("magic").users_space())
        return found if split else found.n

    def var_expand(self, text, depth=0):
        return driver.part("shell").expand(text, driver.part("magic").users_space())

    def run_cell(self, raw_cell, store_history=False, silent=False, **_):
        space = vars(state.main)
        try:
            codes, has_value = driver.part("program").split(raw_cell, "<cell>")
            value = None
            if any([code.co_flags & driver.COROUTINE for code in codes]):
                value = driver.part("event_loop").run_async(codes, space)
            else:
                for code in codes:
                    value = eval(code, space)
        except Exception as error:
            self.showtraceback()
            return Result(error=error)
        value = value if has_value else None
        if value is not None and not silent:
            builtins.print(driver.part("rich").text_of(value, driver.VALUE_BYTES))
        return Result(value)

    def complete(self, text, line=None, cursor_pos=None):
        above = text[: text.rfind(".") + 1]
        return text, [above + name for name in driver.part("completion").complete(line[:cursor_pos] if line else text)]

    def run_code(self, code_obj, result=None, **_):
        exec(code_obj, vars(state.main))
        return False

    @property
    def magics_manager(self):
        return MagicsManager()

    def ex(self, code):
        exec(code, vars(state.main))

    def ev(self, code):
        return eval(code, vars(state.main))

    def push(self, variables, interactive=True):
        if isinstance(variables, dict):
            vars(state.main).update(variables)
            return
        names = variables.split() if isinstance(variables, str) else variables
        caller = sys._getframe(1)
        vars(state.main).update({n: eval(n, caller.f_globals, caller.f_locals) for n in names})

    def del_var(self, name, by_name=False):
        del vars(state.main)[name]

    def reset(self, new_session=True, aggressive=False):
        driver.part("magic").reset("", None)

    def showtraceback(self, *_, **__):
        with driver.part("genuine").Genuine():
            import traceback
        driver.part("failure").complain(traceback.format_exc())

    # Magics that the program defines

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        name, theirs = magic_name or func.__name__, driver.part("magic").theirs
        for kind in ("line", "cell"):
            if magic_kind in (kind, "line_cell"):
                theirs[kind][name] = func

    def register_magics(self, *classes):
        for each in classes:
            made = made_of(each, self) if isinstance(each, type) else each
            found = getattr(made, "magics", None) or {}
            for kind in ("line", "cell"):
                for name, function in dict(found.get(kind) or {}).items():
                    bound = getattr(made, function) if isinstance(function, str) else function
                    driver.part("magic").theirs[kind][name] = bound

    def find_line_magic(self, name):
        magic = driver.part("magic")
        if any([name in known for known in (magic.theirs["line"], magic.LINES, magic.PASSED_OVER, magic.INSTEAD)]):
            return lambda line="": self.run_line_magic(name, line)
        return None

    def find_cell_magic(self, name):
        magic = driver.part("magic")
        if name in magic.theirs["cell"] or name in magic.CELLS or name in magic.SHOWN:
            return lambda line, cell: self.run_cell_magic(name, line, cell)
        return None

    find_magic = find_line_magic

    def set_next_input(self, text, replace=False):
        builtins.print(text)

    def enable_gui(self, gui=None):
        return None

    def enable_matplotlib(self, gui=None):
        return "agg", "agg"

    def enable_pylab(self, *_, **__):
        return "agg"

    @property
    def display_formatter(self):
        if self.formatter is None:
            self.formatter = driver.part("pretty").Formatter()
        return self.formatter

    def nothing(self, *args, **kwargs):
        """Ignore settings that have no use in a box: editor hooks, custom error handlers."""

    set_custom_exc = set_hook = register_post_execute = nothing

    def ask_exit(self):
        raise SystemExit


class MagicsManager:
    """The registered magics."""

    @property
    def magics(self):
        magic = driver.part("magic")
        lines, cells = [*magic.LINES, *magic.ALIASES, *magic.theirs["line"]], [*magic.CELLS, *magic.theirs["cell"]]
        return {"line": {n: shell.find_line_magic(n) for n in lines}, "cell": {n: shell.find_cell_magic(n) for n in cells}}

    def lsmagic(self):
        return self.magics


def made_of(kind, shell):
    """
    A stand-in for the base class of the program's magics. IPython's own base class accepts only IPython's
    shell or None.
    """
    if kind.__mro__[-2].__module__[:10] != "traitlets.":
        return kind(shell)
    made = kind(None)
    made.shell = shell
    return made


Shell.__module__ = "IPython.core.interactiveshell"
Shell.__name__ = Shell.__qualname__ = "InteractiveShell"
shell = Shell()
