# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows and is set to, beside its syntax: /usr/bin/python3 -I test_displays.py DRIVER_DIR [unittest args]"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_driver  # noqa: E402
import test_notebook  # noqa: E402
from test_driver import once  # noqa: E402

KINDS = """
class Html:
    def _repr_html_(self): return '<table><tr><td>1</td><td>2</td></tr></table>'
class Latex:
    def _repr_latex_(self): return '$y$'
class Svg:
    def _repr_svg_(self): return '<svg>%s</svg>' % ('x' * 9000)
class Mime:
    def _repr_mimebundle_(self, **_): return {'text/html': '<b>mime</b>', 'text/plain': repr(self)}
class Named(Html):
    def __repr__(self): return 'named'
class Bare: pass
class Bad:
    def _repr_html_(self): raise ValueError('bad html')
    _repr_svg_ = _repr_html_
class No:
    def _repr_html_(self): raise NotImplementedError
class Pretty:
    def _repr_pretty_(self, p, cycle):
        with p.group(2, 'P(', ')'):
            p.text('a,')
            p.breakable()
            p.pretty('b')
"""


class Representations(test_notebook.Case):
    def test_what_has_no_text_is_text_all_the_same(self):
        rows = (
            ("{'text/html': '<b>x</b>'}", "x"),
            ("{'text/html': '<img src=a>'}", "<img src=a>"),
            ("{'text/latex': '$x$'}", "$x$"),
            ("{'text/markdown': '# m'}", "# m"),
            ("{'image/svg+xml': '<svg/>'}", "<svg/>"),
            ("{'image/svg+xml': '<svg>' + 'x' * 9000}", "[image/svg+xml of 9005 characters]"),
            ("{'application/javascript': 'f()'}", "[application/javascript of 3 characters]"),
            ("{'application/json': {'a': 1}}", '{"a":1}'),
            ("{'application/vnd.x+json': {'a': 1}}", '{"a":1}'),
            ("{'application/pdf': b'abc'}", "[application/pdf of 3 bytes]"),
        )
        for data, text in rows:
            self.assertEqual(self.shown("display(%s, raw=True)" % data)["text/plain"], text)
        self.run_step("from IPython.display import *")
        self.assertEqual(self.run_step("SVG('<svg/>')").text, "<svg/>")
        for call in ("publish_display_data({'text/html': '<b>x</b>'})", "display_html('<b>x</b>', raw=True)"):
            self.assertEqual(self.shown(call), {"text/html": "<b>x</b>", "text/plain": "x"})
        self.assertNotIn("text/plain", self.shown("display({'image/png': b'x'}, raw=True)"))

    def test_objects_that_have_an_address_only(self):
        self.run_step(KINDS)
        for name, text in (("Html", "1\t2"), ("Latex", "$y$"), ("Svg", "[image/svg+xml of 9011 characters]"),
                           ("Mime", "mime"), ("Named", "named")):
            self.assertEqual(self.text(name + "()"), text)
            self.assertEqual(self.shown("display(%s())" % name)["text/plain"], text)
        self.assertIn("Bare object at 0x", self.text("Bare()"))

    def test_a_representation_that_fails_is_told(self):
        self.run_step(KINDS)
        for code in ("Bad()", "display(Bad())"):
            got = self.run_step(code)
            self.assertEqual(got.err.count("ValueError: bad html"), 1, got.err)
            self.assertNotIn(test_driver.DRIVER_DIR, got.err)
        self.assertEqual(self.run_step("No()").err, "")
        self.assertEqual(self.run_step("display(Bad()); display(Bad())").err.count("ValueError: bad html"), 2)

    def test_pretty(self):
        self.run_step(KINDS)
        self.assertEqual(self.text("Pretty()"), "P(a, 'b')")
        self.assertEqual(self.text("[1, {'k': (Pretty(),)}, {Pretty()}, []]"), "[1, {'k': (P(a, 'b'),)}, {P(a, 'b')}, []]")
        self.assertEqual(self.text("[Pretty()] * 12").split("\n")[:2], ["[P(a, 'b'),", " P(a, 'b'),"])
        self.assertEqual(self.text("r = [Pretty()]; r.append(r); r"), "[P(a, 'b'), [...]]")
        self.assertEqual(self.text("[[1] * 40, 'x']"), repr([[1] * 40, "x"]))
        got = self.run_step("class Wrong:\n    def _repr_pretty_(self, p, cycle): 1/0\n    def __repr__(self): return 'w'\nWrong()")
        self.assertEqual((got.text, got.err.count("ZeroDivisionError")), ("w", 1))

    def test_what_is_told_for_a_type(self):
        self.run_step(KINDS + "f = get_ipython().display_formatter.formatters")
        self.run_step("f['text/plain'].for_type(int, lambda n, p, cycle: p.text('int %d' % n))\n"
                      "f['text/plain'].for_type_by_name('__main__', 'Bare', lambda b, p, cycle: p.text('bare'))\n"
                      "f['text/html'].for_type(Bare, lambda b: '<i>told</i>');")
        self.assertEqual((self.text("3"), self.text("[3, 'a']"), self.text("Bare()")), ("int 3", "[int 3, 'a']", "bare"))
        self.assertEqual(self.shown("display(Bare())")["text/html"], "<i>told</i>")
        self.run_step("f['text/plain'].pop(int);")
        self.assertEqual(self.text("3"), "3")


DEBUGGER = """
class Shell: pass
class Pdb:
    def __init__(self): open('left', 'w')
def set_trace(): Pdb()
"""


SHELL = """
class InteractiveShell:
    @classmethod
    def instance(cls):
        open('left', 'w')
        return cls()
class Own(InteractiveShell): pass
"""
TOLD = "def for_type(typ, func): pass\ndef for_type_by_name(type_module, type_name, func): pass\n"


class Installed(test_notebook.Case):
    """What of an IPython that is installed would go past us."""

    files = {"IPython/__init__.py": "", "IPython/core/__init__.py": "", "IPython/core/interactiveshell.py": SHELL,
             "IPython/lib/__init__.py": "", "IPython/lib/pretty.py": TOLD}

    def test_the_shell_that_there_is(self):
        self.run_step("from IPython.core.interactiveshell import InteractiveShell, Own\nimport os")
        self.assertEqual(self.text("InteractiveShell.instance() is get_ipython(), os.path.exists('left')"), "(True, False)")
        self.assertEqual(self.text("type(Own.instance()) is Own"), "True")

    def test_what_is_told_for_a_type(self):
        self.run_step("from IPython.lib.pretty import for_type\nfor_type(int, lambda n, p, cycle: p.text('int %d' % n))")
        self.assertEqual(self.text("3"), "int 3")


class Debuggers(test_notebook.Case):
    files = {"IPython/__init__.py": "", "IPython/core/__init__.py": "", "IPython/core/debugger.py": DEBUGGER}
    NOTE = "breakpoint(): there is no input here: skipped\n"

    def passed_over(self, code):
        got = self.run_step(code)
        self.assertEqual((got.out, got.err), ("rest\n", self.NOTE), code)

    def test_where_nobody_types_the_step_goes_on(self):
        for code in ("breakpoint()", "for i in range(3): breakpoint()", "import pdb; pdb.set_trace()", "pdb.Pdb().set_trace()",
                     "def f():\n    breakpoint()\n    return 1\nf()", "pdb.run('x = 1'); x",
                     "try: 1/0\nexcept Exception as e: pdb.post_mortem(e.__traceback__)"):
            self.passed_over(code + "\nprint('rest')")

    def test_the_one_of_ipython_leaves_nothing(self):
        self.passed_over("from IPython.core.debugger import set_trace, Pdb\nset_trace(); Pdb().set_trace()\nprint('rest')")
        self.assertEqual(self.text("import os; os.path.exists('left')"), "False")

    def test_where_there_is_input_it_asks(self):
        read, write = os.pipe()
        os.write(write, b"p x + 1\nc\n")
        os.close(write)
        got = self.ok(once("x = 41\nbreakpoint()\nprint('rest')", stdin=read))
        os.close(read)
        self.assertRegex(got.out, r"(?s)-> breakpoint\(\).*\(Pdb\) 42\n\(Pdb\) rest\n\Z")
        got = self.run_step("import io, sys, pdb\nsys.stdin = io.StringIO('p 6 * 7\\nc\\n')\npdb.set_trace()\n")
        self.assertIn("(Pdb) 42\n", got.out)

    def test_a_program_of_a_file_is_left_alone(self):
        self.fails(once("breakpoint()\n", filename="a.py", argv=("a.py",)), "BdbQuit")

    def test_passwords_are_asked_for_as_input_is(self):
        read, write = os.pipe()
        os.write(write, b"secret\n")
        os.close(write)
        code = "import getpass\ngetpass.getpass('pw? ')"
        got = self.ok(once(code, stdin=read))
        os.close(read)
        self.assertEqual((got.out, got.err, got.text), ("pw? ", "", "'secret'"))
        got = self.fails(self.driver.step(code), "EOFError")
        self.assertEqual(got.error["message"], "EOF when reading a line")
        self.assertNotIn("termios", got.trace)


class Numbers(test_notebook.Case):
    def test_a_step_has_the_number_of_its_input(self):
        for code in ("def f(): return 1/0", "x = 2", "x = 2"):
            self.run_step(code)
        got = self.fails(self.driver.step("f()"), "ZeroDivisionError")
        self.assertIn('File "<step 4>", line 1, in <module>\n    f()', got.trace)
        self.assertIn('File "<step>", line 1, in f', got.trace)
        self.assertEqual(self.text("In[4], _i4, _i1 is In[1]"), "('f()', 'f()', True)")
        self.assertIn("(<step 6>, line 1)", self.fails(self.driver.step("x ="), "SyntaxError").error["message"])

    def test_what_the_program_names_is_left_alone(self):
        self.assertEqual(self.text("[_, __, ___]"), "['', '', '']")
        self.run_step("'a'")
        self.run_step("_ = 'own'\n'b'")
        self.assertEqual(self.text("_, _3, Out[3]"), "('own', 'b', 'b')")
        self.run_step("del _")
        self.run_step("'c'")
        self.assertEqual(self.text("_"), "'c'")


class Settings(test_notebook.Case):
    files = {"ext.py": "from IPython.core.magic import Magics, magics_class, line_magic\n"
                       "@magics_class\nclass Mine(Magics):\n    @line_magic\n    def mine(self, line): return 'mine ' + line\n"
                       "def load_ipython_extension(ip): ip.register_magics(Mine)\ndef unload_ipython_extension(ip): print('bye')\n",
             "plain.py": "", "odd.py": "def load_ipython_extension(ip): ip.there_is_no_such_thing()\n",
             "m.py": "def f(): return 1\nclass C: x = 1\n",
             "a.ipynb": json.dumps({"nbformat": 4, "cells": [
                 {"cell_type": "markdown", "source": "text"}, {"cell_type": "code", "source": ["q = 3\n", "q + 1"]},
                 {"cell_type": "code", "source": "!echo sh"}, {"cell_type": "code", "source": "\n1/0"},
                 {"cell_type": "code", "source": "q = 9"}]}), "b.ipynb": "[1]"}

    def test_extensions(self):
        self.fails(self.driver.step("%load_ext no_such_extension"), "ModuleNotFoundError")
        self.assertEqual(self.out("%load_ext autoreload\n%load_ext storemagic\n%load_ext ext"), "")
        self.assertEqual(self.text("%mine x"), "'mine x'")
        self.assertIn("already loaded", self.out("%load_ext ext"))
        self.assertEqual(self.out("%unload_ext ext"), "bye\n")
        self.assertIn("is not an IPython extension", self.out("%load_ext plain"))
        self.assertIn("stand-in", self.fails(self.driver.step("%load_ext odd"), "UsageError").error["message"])

    def write(self, text, name="m.py"):
        with open(os.path.join(self.driver.home.name, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_modules_are_reloaded(self):
        self.run_step("import m\nfrom m import f, C")
        self.write("def f(): return 2\nclass C: x = 2\n")
        self.assertEqual(self.text("m.f()"), "1")
        self.run_step("%autoreload 2")
        self.write("def f(): return 33\nclass C: x = 33\n")
        self.assertEqual(self.text("m.f(), f(), C.x"), "(33, 33, 33)")
        self.write("def f(: x")
        got = self.run_step("f()")
        self.assertEqual(got.text, "33")
        self.assertIn("[autoreload of m failed]\n", got.err)
        self.write("import sys\nsys.exit(4)\n")
        got = self.run_step("f()")
        self.assertEqual(got.text, "33")
        self.assertIn("[autoreload of m failed]\n", got.err)
        self.run_step("%autoreload 0")
        self.write("def f(): return 4444\n")
        self.assertEqual(self.text("f()"), "33")
        self.run_step("%autoreload 1\n%aimport m")
        self.write("def f(): return 55555\n")
        self.assertEqual(self.text("f()"), "55555")
        self.run_step("%aimport -m")
        self.write("def f(): return 666666\n")
        self.assertEqual(self.text("f()"), "55555")
        self.fails(self.driver.step("%autoreload 7"), "UsageError")

    def test_what_is_shown_of_a_step(self):
        for mode, rows in (("last_expr_or_assign", (("x = 5", "5"), ("x += 1", "6"), ("x: int = 7", "7"), ("x", "7"),
                                                    ("y, z = 1, 2", None), ("x = 1;", None))),
                           ("none", (("5", None),)), ("last_expr", (("5", "5"), ("x = 5", None)))):
            self.run_step("%%config InteractiveShell.ast_node_interactivity = '%s'" % mode)
            for code, text in rows:
                self.assertEqual(self.text(code), text, (mode, code))
        self.fails(self.driver.step("%config InteractiveShell.ast_node_interactivity = 'some'"), "UsageError")
        self.assertIn("InlineBackend", self.out("%config InlineBackend"))
        self.assertIn("agg", self.out("%matplotlib --list"))
        self.assertIn("no such setting", self.run_step("%config Foo.x = 3").err)

    def test_precision(self):
        self.assertEqual(self.text("%precision 3"), "'%.3f'")
        self.assertEqual((self.text("3.14159"), self.text("[2 / 3]")), ("3.142", "[0.667]"))
        self.run_step("%precision")
        self.assertEqual(self.text("3.14159"), "3.14159")
        for wrong in ("x", "%d%d"):
            self.fails(self.driver.step("%precision " + wrong), "UsageError")

    def test_events(self):
        self.run_step("ip = get_ipython()\ndef pre(info): print('pre', info.raw_cell)\n"
                      "def post(result): print('post', result.success, result.result)\n"
                      "ip.events.register('pre_run_cell', pre); ip.events.register('post_run_cell', post)")
        self.assertEqual(self.out("6 * 7"), "pre 6 * 7\npost True 42\n")
        self.assertEqual(self.fails(self.driver.step("1/0"), "ZeroDivisionError").out, "pre 1/0\npost False None\n")
        self.run_step("ip.events.unregister('pre_run_cell', pre); ip.events.unregister('post_run_cell', post)\n"
                      "ip.events.register('pre_execute', lambda: 1/0)")
        got = self.run_step("8")
        self.assertEqual((got.text, got.err.count("ZeroDivisionError")), ("8", 1))
        self.fails(self.driver.step("ip.events.register('no_such', pre)"), "UsageError")

    def test_other_names(self):
        self.assertEqual(self.out("%alias hello echo hi %s\n%hello you"), "hi you\n")
        self.fails(self.driver.step("%hello"), "UsageError")
        self.run_step("%unalias hello")
        self.fails(self.driver.step("%hello you"), "UsageError")
        self.assertIn("Created `%w` as an alias for `%pwd`", self.out("%alias_magic w pwd"))
        self.assertEqual(self.text("%w"), repr(self.driver.home.name))
        self.fails(self.driver.step("%alias_magic nope no_such"), "UsageError")
        for name in ("store", "bookmark", "macro", "pprint", "xmode Verbose"):
            self.assertTrue(self.run_step("%" + name).err, name)

    def test_steps_again(self):
        self.run_step("n = 0")
        self.assertIn("no error yet", self.out("%tb"))
        self.run_step("n += 1\nn")
        self.assertEqual(self.run_step("%rerun 3").text, "2")
        self.assertEqual(self.out("%recall 1-3"), "n = 0\n%tb\nn += 1\nn\n")
        self.fails(self.driver.step("%rerun 77"), "UsageError")
        self.fails(self.driver.step("1/0"), "ZeroDivisionError")
        self.assertIn("ZeroDivisionError", self.out("%tb"))
        self.assertEqual(self.out("def g(a, b=1): pass\n%pdef g"), "g(a, b=1)\n")
        self.assertEqual(self.out("import m\n%pfile m"), self.files["m.py"])
        self.run_step("other = 1\n%reset_selective -f ^n$\nother")
        self.fails(self.driver.step("n"), "NameError")
        home = self.driver.home.name
        self.assertEqual(self.out("x = %pushd /\n%popd"), home + "\n")
        self.assertTrue(self.out("%dhist").endswith(": %s\n" % home))

    def test_files_of_notebooks(self):
        got = self.fails(self.driver.step("%run a.ipynb"), "ZeroDivisionError")
        self.assertIn('File "<a.ipynb, cell 3>", line 2', got.trace)
        self.assertEqual(([d["data"]["text/plain"] for d in got.displays], got.out, self.text("q")), (["4"], "sh\n", "3"))
        self.fails(self.driver.step("%run b.ipynb"), "UsageError")
        self.fails(self.driver.step("%notebook c.txt"), "UsageError")
        self.run_step("%notebook c.ipynb")
        with open(os.path.join(self.driver.home.name, "c.ipynb"), encoding="utf-8") as file:
            book = json.load(file)
        self.assertEqual((book["nbformat"], [c["execution_count"] for c in book["cells"]]), (4, [1, 2, 3, 4]))
        self.assertEqual(book["cells"][1]["outputs"][0]["data"]["text/plain"], "3")
        self.assertEqual(book["cells"][1]["source"], ["q"])


@unittest.skipIf(test_notebook.HAS_IPYTHON, "IPython is installed")
class StandIn(test_notebook.Case):
    def test_modules_that_are_asked_for(self):
        self.assertEqual(self.run_step("import IPython\nIPython.display.HTML('<b>x</b>')").text, "x")
        self.assertEqual(self.out("from IPython.lib.pretty import pretty, pprint\npprint({'a': [1]})"), "{'a': [1]}\n")
        for code in ("IPython.core.debugger import set_trace, Pdb", "IPython.terminal.debugger import TerminalPdb",
                     "IPython.core.magic import register_line_magic, register_cell_magic, needs_local_scope",
                     "IPython.core.formatters import DisplayFormatter", "IPython.core.pylabtools import print_figure",
                     "IPython.utils.tempdir import TemporaryDirectory", "IPython.utils.text import SList, dedent",
                     "IPython.utils.process import getoutput", "IPython import embed"):
            self.run_step("from " + code)
        self.assertEqual(self.text("getoutput('echo a')"), "'a'")
        self.assertEqual(self.text("from IPython.paths import get_ipython_dir\nget_ipython_dir()"), repr(self.driver.home.name + "/.ipython"))
        got = self.run_step("from IPython.core.ultratb import AutoFormattedTB\ntry: 1/0\nexcept Exception: AutoFormattedTB()()")
        self.assertEqual(got.err.count("ZeroDivisionError"), 1)
        self.assertEqual(self.run_step("embed()").err, "embed(): there is no input here: skipped\n")

    def test_arguments_of_magics(self):
        self.run_step("from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring\n"
                      "from IPython.core.magic import register_line_magic\n"
                      "@magic_arguments()\n@argument('-n', type=int, default=1)\n@argument('name')\n@register_line_magic\n"
                      "def greet(line):\n    given = parse_argstring(greet, line)\n    return given.name * given.n\n")
        self.assertEqual((self.text("%greet hi"), self.text("%greet -n 2 hi")), ("'hi'", "'hihi'"))
        self.fails(self.driver.step("%greet"), "UsageError")

    def test_what_is_missing_says_that_it_stands_in(self):
        for code, name in (("import IPython.core.completer", "ModuleNotFoundError"), ("from IPython.core.magic import no_such", "ImportError"),
                           ("import IPython\nIPython.no_such", "AttributeError")):
            got = self.fails(self.driver.step(code), name)
            self.assertRegex(got.error["message"], "IPython,? (which )?is not installed")
        self.assertEqual(self.text("hasattr(IPython, 'no_such')"), "False")


if __name__ == "__main__":
    test_driver.DRIVER_DIR = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
