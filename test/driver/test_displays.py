# SPDX-License-Identifier: Apache-2.0
"""What displays, objects and debuggers of a notebook show: /usr/bin/python3 -I test_displays.py DRIVER_DIR [unittest args]"""

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


class Debuggers(test_notebook.Case):
    files = {"IPython/__init__.py": "", "IPython/core/__init__.py": "", "IPython/core/debugger.py": DEBUGGER}
    NOTE = "breakpoint(): nobody types here: passed over\n"

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


if __name__ == "__main__":
    test_driver.DRIVER_DIR = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
