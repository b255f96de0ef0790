# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the less common modules of IPython.core, lib and utils, where IPython is not installed."""

import sys

import posix

with driver.part("genuine").Genuine():
    import argparse
    import os
    import shlex
    import tempfile
    import textwrap


# ---- IPython.core.magic_arguments ---------------------------------------------------------------------------


class MagicArgumentParser(argparse.ArgumentParser):
    def error(self, message):
        raise driver.part("magic").UsageError(message)


class argument:
    """
    An argument of a magic, with the parameters of add_argument(). Decorators apply from the last to the
    first.
    """

    def __init__(self, *args, **kwargs):
        self.given = args, kwargs

    def __call__(self, function):
        vars(function).setdefault("argument_rows", []).insert(0, self)
        return function

    def add_to(self, parser):
        parser.add_argument(*self.given[0], **self.given[1])


class argument_group(argument):
    def add_to(self, parser):
        parser.add_argument_group(*self.given[0], **self.given[1])


class defaults(argument):
    def add_to(self, parser):
        parser.set_defaults(**self.given[1])


def magic_arguments(name=None):
    def decorate(function):
        shown = name or getattr(function, "argcmd_name", None) or function.__name__.replace("magic_", "", 1)
        parser = function.parser = MagicArgumentParser("%" + shown, description=function.__doc__, add_help=False)
        for each in getattr(function, "argument_rows", ()):
            each.add_to(parser)
        return function

    return decorate


def parse_argstring(magic_func, argstring):
    return magic_func.parser.parse_args(shlex.split(argstring))


def arguments_module():
    return {"argument": argument, "argument_group": argument_group, "defaults": defaults, "kwds": defaults,
            "magic_arguments": magic_arguments, "parse_argstring": parse_argstring,
            "MagicArgumentParser": MagicArgumentParser}


# ---- IPython.core, IPython.lib ------------------------------------------------------------------------------


class PlainTB:
    """The tracebacks of ultratb, without colours and without values of variables."""

    def __init__(self, *args, ostream=None, **kwargs):
        self.ostream = ostream

    def structured_traceback(self, etype=None, evalue=None, etb=None, *_, **__):
        if etype is None:
            etype, evalue, etb = sys.exc_info()
        elif evalue is None and isinstance(etype, BaseException):
            evalue, etb = etype, etype.__traceback__
        with driver.part("genuine").Genuine():
            return [] if evalue is None else driver.part("trace").format_error(evalue.with_traceback(etb))[0]

    def stb2text(self, stb):
        return "\n".join(stb)

    def text(self, *args, **kwargs):
        return "\n".join(self.structured_traceback(*args, **kwargs))

    def __call__(self, *args, **kwargs):
        print(self.text(*args, **kwargs), file=self.ostream or sys.stderr)


def ultratb_module():
    return {name: PlainTB for name in ("TBTools", "ListTB", "VerboseTB", "FormattedTB", "AutoFormattedTB", "ColorTB", "SyntaxTB")}


def debugger_module():
    module = type(sys)("debugger")
    vars(module).update(Pdb=None, set_trace=None)
    driver.part("ipython").patch_debugger(module)
    return {"Pdb": module.Pdb, "set_trace": module.set_trace}


def terminal_debugger_module():
    names = debugger_module()
    return dict(names, TerminalPdb=names["Pdb"])


def embed(*_, **__):
    if driver.part("stack").nobody_types():
        return driver.part("stack").pass_over("embed()")
    import code

    frame = sys._getframe(1)
    code.interact(local={**frame.f_globals, **frame.f_locals})


def pretty_module():
    pretty = driver.part("pretty")
    told = pretty.ForTypes("text/plain")
    return {"pretty": pretty.pretty, "pprint": pretty.pprint, "PrettyPrinter": pretty.PrettyPrinter,
            "RepresentationPrinter": pretty.PrettyPrinter, "for_type": told.for_type, "for_type_by_name": told.for_type_by_name}


def formatters_module():
    pretty = driver.part("pretty")
    return {"DisplayFormatter": pretty.Formatter, "format_display_data": lambda value, *a: pretty.Formatter().format(value, *a)}


def print_figure(fig, fmt="png", bbox_inches="tight", base64=False, **kwargs):
    from _io import BytesIO

    out = BytesIO()
    fig.savefig(out, format=fmt, bbox_inches=bbox_inches, **kwargs)
    data = out.getvalue()
    if fmt == "svg":
        return data.decode()
    return driver.part("ipython_shim").base64_of(data) if base64 else data


def figsize(sizex, sizey):
    import matplotlib

    matplotlib.rcParams["figure.figsize"] = [sizex, sizey]


# ---- IPython.paths, IPython.utils -----------------------------------------------------------------------------


def ipython_dir(*_):
    return os.path.expanduser(os.environ.get("IPYTHONDIR") or "~/.ipython")


class TemporaryWorkingDirectory(tempfile.TemporaryDirectory):
    def __enter__(self):
        self.before = posix.getcwd()
        os.chdir(self.name)
        return self.name

    def __exit__(self, *error):
        os.chdir(self.before)
        return super().__exit__(*error)


def process_module():
    magic, shell = driver.part("magic"), driver.part("shell")

    def getoutput(command):
        return shell.lines(command, magic.users_space()).n

    def system(command):
        return shell.system(command, magic.users_space())

    return {"getoutput": getoutput, "system": system, "find_cmd": shell.shutil.which, "arg_split": lambda s, *_, **__: shlex.split(s)}


def text_module():
    shell = driver.part("shell")
    return {"SList": shell.SList, "dedent": textwrap.dedent, "indent": lambda text, nspaces=4, **_: textwrap.indent(text, " " * nspaces)}


MODULES = {
    "IPython.core.magic_arguments": arguments_module, "IPython.core.ultratb": ultratb_module,
    "IPython.core.debugger": debugger_module, "IPython.terminal": dict,
    "IPython.terminal.debugger": terminal_debugger_module, "IPython.terminal.embed": lambda: {"embed": embed},
    "IPython.core.formatters": formatters_module, "IPython.lib.pretty": pretty_module,
    "IPython.core.pylabtools": lambda: {"print_figure": print_figure, "figsize": figsize},
    "IPython.paths": lambda: {"get_ipython_dir": ipython_dir, "get_ipython_cache_dir": ipython_dir},
    "IPython.utils.process": process_module, "IPython.utils.text": text_module,
    "IPython.utils.tempdir": lambda: {"TemporaryDirectory": tempfile.TemporaryDirectory,
                                      "TemporaryWorkingDirectory": TemporaryWorkingDirectory},
}
