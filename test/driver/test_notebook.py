# SPDX-License-Identifier: Apache-2.0
"""What the Python driver understands of notebooks: /usr/bin/python3 -I test_notebook.py DRIVER_DIR [unittest args]"""

import base64
import contextlib
import glob
import os
import shutil
import sys
import threading
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_driver  # noqa: E402
from test_driver import Driver, has, once  # noqa: E402

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 20).decode()
HAS_IPYTHON = has("IPython")


class Case(test_driver.Case):
    def setUp(self):
        self.driver = Driver(files=getattr(self, "files", None)).__enter__()
        self.addCleanup(self.driver.__exit__)

    def run_step(self, code, **rest):
        return self.ok(self.driver.step(code, **rest))

    def out(self, code, **rest):
        got = self.run_step(code, **rest)
        self.assertEqual(got.err, "", code)
        return got.out

    def text(self, code):
        return self.run_step(code).text

    def shown(self, code):
        """The one display of a step."""
        got = self.run_step(code)
        self.assertEqual(len(got.displays), 1, (code, got.displays, got.out))
        return got.displays[0]["data"]


class Syntax(Case):
    def test_lines_of_a_notebook_among_python(self):
        self.assertEqual(self.text("%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\n"
                                   "%load_ext autoreload\n%autoreload 2\nx = 20\nx + 1"), "21")
        self.assertEqual(self.out("for i in range(2):\n    !echo {i}\n    print('p', i)\nelse:\n    %pwd"), "0\np 0\n1\np 1\n")
        self.assertEqual(self.text("def f(q):\n    a = !echo {q} $q\n    return a\nf(9)"), "['9 9']")
        self.assertEqual(self.out("!echo a \\\n  b\nprint(1)"), "a b\n1\n")
        self.assertEqual(self.text("# first\n%matplotlib inline\nfrom __future__ import annotations\ndef f(x: nothing): return 4\nf(1)"), "4")
        self.assertIsNone(self.text("8\n%matplotlib inline"))
        self.assertEqual(self.text("\ufeff%pwd\r\n7\r\n"), "7")
        self.assertEqual(self.text("import os\n%cd -q /\n%cd -q -\ncwd = %pwd\ncwd == os.getcwd()"), "True")

    def test_python_is_left_alone(self):
        for code, text in (
            ("x = 7\n(x\n%4)", "3"),
            ("x = 7\ny = x \\\n% 4\ny", "3"),
            ("s = '''\n!ls\n%time\nx?\n%%bash\n'''\n!true\ns", r"'\n!ls\n%time\nx?\n%%bash\n'"),
            ("d = {\n 'a': 1, # why?\n 'b': \"it's\", }\n!true\nlen(d)", "2"),
            ("f = f'''{1}\n!no\n'''\n!true\nf", r"'1\n!no\n'"),
            ("# what?\n!true\n1 != 2 # not?", "True"),
            ("ls, l = 5, 2\n!true\nls -l", "3"),
            ("time = 1\n!true\ntime", "1"),
            ("from os.path import " + ", ".join(["join"] * 200) + "\n!true\n1", "1"),
            ("class A" + "_b" * 2000 + ": pass\n!true\n[" + "1, " * 20000 + "][0]", "1"),
        ):
            with self.subTest(code=code):
                got = self.run_step(code)
                self.assertEqual((got.text, got.out), (text, ""))

    def test_no_line_of_real_programs_is_taken_for_another(self):
        """The scanner over the standard library, with a line of a notebook behind each file."""
        genuine = types.SimpleNamespace(Genuine=contextlib.nullcontext)
        passed_over = types.SimpleNamespace(offer=lambda: None, PASSED_OVER=(), theirs={"line": {}})

        def compiles(source, mode):
            try:
                compile(source, "", mode)
                return True
            except SyntaxError:
                return False

        parts = {"genuine": genuine, "magic": passed_over, "program": types.SimpleNamespace(compiles=compiles)}
        space = {"driver": types.SimpleNamespace(part=parts.__getitem__)}
        with open(os.path.join(test_driver.DRIVER_DIR, "notebook.py"), encoding="utf-8") as file:
            exec(compile(file.read(), "notebook.py", "exec"), space)
        paths = sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py")))
        self.assertGreater(len(paths), 50)
        for path in paths[::2]:
            with open(path, encoding="utf-8") as file:
                source = file.read().rstrip() + "\n"
            self.assertEqual(space["spoken"](source + "!true\n"), source + "__notebook__.system('true')\n", path)
            self.assertIsNone(space["spoken"](source))

    def test_errors_name_the_line_as_it_was_written(self):
        got = self.fails(self.driver.step("!true\n\n1/0"), "ZeroDivisionError")
        self.assertEqual(got.error["line"], 3)
        got = self.fails(self.driver.step("%%time\n\n1/0"), "ZeroDivisionError")
        self.assertEqual(got.error["line"], 3)
        got = self.fails(self.driver.step("!true\nx = (1\n"), "SyntaxError")
        self.assertEqual(got.error["line"], 2)
        got = self.fails(self.driver.step("x = 1\n  !ls"), "IndentationError")
        self.assertIn("!ls", got.trace)
        self.assertNotIn("__notebook__", got.trace)
        self.fails(self.driver.step("for x in y !ls"), "SyntaxError")

    def test_a_file_is_python_or_nothing(self):
        for code in ("!ls", "%pwd", "    x = 1", "```python\n1\n```", "x?"):
            got = self.driver.step(code, filename="a.py")
            self.assertIn(got.error["name"], ("SyntaxError", "IndentationError"))
        got = once("from IPython import get_ipython\nprint(get_ipython(), 'In' in dir(__builtins__))", filename="a.py")
        self.assertEqual(self.ok(got).out, "None False\n")
        self.fails(once("get_ipython()", filename="a.py"), "NameError")

    def test_what_is_wrapped_around_a_cell(self):
        for code, text in (
            ("```python\n1 + 1\n```", "2"), ("\n```py\n1 + 1\n```\n\n", "2"), ("```\n1 + 1\n```", "2"),
            ("~~~\n1 + 1\n~~~", "2"), ("```python\n!true\n2", "2"), ("```{python}\n2\n```", "2"),
            (">>> a = 1\n>>> a + 1\n2\n", "2"), (">>> for i in [2]:\n...     a = i\n...\n>>> a", "2"),
            ("In [1]: a = 1\n\nIn [2]: a + 1\nOut[2]: 2\n", "2"), ("In [7]: if 1:\n   ...:     a = 2\n   ...: a", "2"),
            ("    a = 1\n    a + 1\n", "2"), ("\n\ta = 1\n\tif a:\n\t\ta = 2\n\ta", "2"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.text(code), text)
        self.assertEqual(self.out("```bash\necho hi\n```"), "hi\n")

    def test_fences_among_prose(self):
        for code, text in (
            ("Here is the code:\n\n```python\n1 + 1\n```\nIt prints 2 (two).", "2"), ("First:\n```python\na = 3\n```\nand then:\n```py\na + 1\n```\n", "4"),
            ("1. list\n   ```python\n   if True:\n       b = 5\n   b\n   ```\n", "5"), ("```python\n6\n```\nOutput:\n```text\n7 7\n```", "6"),
            ("So:\n````\n!true\n7\n````", "7"), ("As said\n```python\n8", "8"), ("```\na = 9\n```\n```\na\n```", "9"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.text(code), text)
        self.assertEqual(self.out("Run\n```bash\necho hi\n```\nthen\n```sh\necho ho\n```"), "hi\nho\n")
        self.assertEqual(self.fails(self.driver.step("So\n```python\n1\n```\nand\n```python\n\n1/0\n```"), "ZeroDivisionError").error["line"], 8)
        self.assertEqual(self.text("So:\n```python\ns = \"\"\"\n```\ninner\n```\n\"\"\"\ns\n```\nDone."), repr("\n```\ninner\n```\n"))
        self.out("```bash\ncat > b.md <<'E'\n# T\n```bash\nls\n```\nE\n```")
        self.assertEqual(self.text("open('b.md').read()"), repr("# T\n```bash\nls\n```\n"))
        for code, said in (("```python\n1\n```\n```bash\nls\n```", "fences of python, bash"),
                           ("```python\nprint(1)\n```\nOutput:\n```\n1\n```", "fences of python, no language"), ("x = 1\n```python\nx\n```", "outside of the fence"),
                           ("!true\n```python\n1\n```", "outside of the fence"), ("Prose\n```sql\nselect 1\n```", 'runtime "sql"')):
            self.assertIn(said, self.fails(self.driver.step(code), "UsageError").error["message"], code)
        self.out("%%writefile a.md\nText\n```python\n1\n```\n") or self.fail()
        self.assertEqual(self.text("open('a.md').read()"), repr("Text\n```python\n1\n```\n"))
        for code in ("x = (1\nt = \"\"\"\n```python\nprint(7)\n```\n\"\"\"\n", "x = = 1\n```", "Prose and no code."):
            self.assertEqual(self.fails(self.driver.step(code), "SyntaxError").out, "")

    def test_semicolon_before_a_comment(self):
        for code in ("8; # c", "7;\n# end\n\n# of it", "'#';", "print('#'); 8; # a; # b"):
            self.assertIsNone(self.text(code), code)
        for code in ("'#;'", "9 # a;", "'''a;\n#b'''", "# ;\n9"):
            self.assertIsNotNone(self.text(code), code)


class Shell(Case):
    def test_output_status_and_names(self):
        got = self.run_step("x = 5; words = ['a', 'b']; name = 'n'\n!echo o; echo e >&2")
        self.assertEqual((got.out, got.err), ("o\n", "e\n"))
        self.assertEqual(self.out("!echo ${HOME} '{x}'"), self.driver.home.name + " {x}\n")  # a brace of the shell's
        self.assertEqual(self.out("!echo {x * 2} $name.csv '$name' $HOME {words[1]} {{}}"),
                         "10 n.csv $name %s b {}\n" % self.driver.home.name)
        self.assertEqual(self.out("!echo a b | awk '{print $2}'"), "b\n")
        self.assertEqual(self.out("i = 9\n!for i in {1..2}; do echo $i; done"), "1\n2\n")
        for text in ("'{\"a\":1}'", "'[{\"b\": 2}, {}]'", "'{x:03d}'", "'{x'", "'x}'", "'{x} {nosuch}'"):  # JSON is no field with a format
            self.assertEqual(self.out("!printf %s " + text), text[1:-1])
            self.assertEqual(self.text("z = !printf %s " + text + "\nz.n"), repr(text[1:-1]))
            self.assertEqual(self.text("%sx printf %s " + text), repr([text[1:-1]]))
            self.assertEqual(self.out("%%bash -s " + text + "\nprintf %s \"$1\""), text[1:-1])
            self.assertEqual(self.text("import os\n%env QX=" + text + "\nos.environ['QX']"), repr(text))
        self.assertEqual(self.out("!echo {words[0:1]} {words[0]!r}"), "[a] a\n")
        self.assertEqual(self.text("!exit 3\n_exit_code"), "3")
        self.assertEqual(self.text("!kill -9 $$\n_exit_code"), "-9")
        self.assertEqual(self.out("import os\nos.environ['ZZ'] = '1'\nos.mkdir('d'); os.chdir('d')\n!echo $ZZ; basename $PWD\n"
                                  "os.chdir('..')"), "1\nd\n")
        self.assertEqual(self.out("print('before', end=' ')\n!echo after"), "before after\n")

    def test_lines_of_a_command(self):
        self.assertEqual(self.text("z = !printf 'a\\nb c\\n'\nz, z.n, z.s, z.l, z.fields(0), z.grep('b')"),
                         r"(['a', 'b c'], 'a\nb c', 'a b c', ['a', 'b c'], ['a', 'b'], ['b c'])")
        self.assertEqual(self.text("z = !echo e >&2\nz"), "['e']")
        self.assertEqual(self.text("d = {}; i = [0]\nd['a'] = !echo 1\nd[i[0]] = !echo 2\nx: list = !echo 3\n(a, *b) = !echo 4; echo 5\n"
                                   "é = !echo 6\nd, x, a, b, é"),
                         "({'a': ['1'], 0: ['2']}, ['3'], '4', ['5'], ['6'])")
        self.assertEqual(self.text("!!echo 1; echo 2"), "['1', '2']")
        self.assertEqual(self.text("%sx echo 1"), "['1']")
        self.assertEqual(self.text("open('there', 'w').close()\nz = !echo there\nz.p"), "[PosixPath('there')]")

    def test_scripts(self):
        self.assertEqual(self.out("%%bash\nx=3\nread line\nignored\necho $x $line {x}"), "3 ignored {x}\n")
        self.assertEqual(self.out("# first\n\n%%sh\necho $((1+1))"), "2\n")
        self.assertEqual(self.out("%%bash -s 7\necho arg $1"), "arg 7\n")
        self.assertEqual(self.out("%%script python3\nprint(5)"), "5\n")
        got = self.fails(self.driver.step("%%bash\necho x; exit 2"), "CalledProcessError")
        self.assertEqual(got.out, "x\n")
        self.assertEqual(self.text("%%bash --out o --no-raise-error\necho x; exit 2\n") or self.text("o, _exit_code"), r"('x\n', 2)")
        self.fails(self.driver.step("%%ruby_\n1"), "UsageError")
        self.fails(self.driver.step("%%script --bg nowhere\n1"), "UsageError")

    def test_what_needs_a_network_tries_once(self):
        for code, out in (("!echo npm $NPM_CONFIG_FETCH_RETRIES $PIP_RETRIES", "npm 0\n"), ("%%bash\necho npx $NPM_CONFIG_FETCH_RETRIES", "npx 0\n"),
                          ("!echo pip $PIP_RETRIES", "pip 0\n"), ("!env | grep -c RETRIES", "0\n")):
            self.assertEqual(self.out(code), out)
        self.run_step("import os\nos.environ['PIP_RETRIES'] = '3'")
        self.assertEqual(self.out("!echo pip $PIP_RETRIES"), "pip 3\n")

    def test_scripts_in_the_background(self):
        self.run_step("import os\nos.mkfifo('go')")
        for options, text in (("--out o --err e", "o.read(), e.read()"), ("", "None")):
            self.assertEqual(self.out("%%bash --bg --proc p " + options + "\nread x < go; echo $x; echo e >&2; exit 3\n"), "")
            self.assertEqual(self.text("p.poll()"), None)
            self.run_step("open('go', 'w').write('7\\n')")
            self.assertEqual(self.text("(%s, p.wait())" % text), "(%s, 3)" % (r"b'7\n', b'e\n'" if options else "None"))
        self.run_step("%%script --bg --proc=p sleep 1000\n1")
        self.assertEqual(self.out("%killbgscripts"), "All background processes were killed.\n")
        self.assertEqual(self.text("p.returncode in (-2, -9)"), "True")

    @unittest.skipIf(shutil.which("python", path="/usr/bin:/bin"), "there is a python")
    def test_python_where_the_host_calls_it_python3(self):
        self.run_step("import os\nos.environ['PATH'] = '/usr/bin:/bin'")
        ask = "python -c 'import sys; print(sys.prefix)'"
        for code in ("!" + ask, "!timeout 50 " + ask, "!nohup " + ask + " 2>/dev/null", "%%bash\n" + ask, "%%sh\nenv " + ask, "!cd /; echo \"$(" + ask + ")\""):
            self.assertEqual(self.out(code), self.text("import sys; print(sys.prefix)\nsys.prefix").strip("'") + "\n", code)
        self.assertNotIn("RETORT_PYTHON", self.out("!echo $PATH; env"))

    def test_interrupt_ends_the_command(self):
        self.driver.start("!echo $$; sleep 100; echo no\n", "session")
        timer = threading.Timer(1, self.driver.interrupt)
        timer.start()
        got = self.driver.finish()
        timer.join()
        self.fails(got, "KeyboardInterrupt")
        pid = int(got.out)
        self.assertRaises(ProcessLookupError, os.kill, pid, 0)
        self.assertEqual(self.text("1"), "1")


class Magics(Case):
    files = {"prog.py": "import sys\nQ = 7\ndef fn(): return Q\nprint(sys.argv, __name__)\n"}

    def test_directory_and_environment(self):
        self.assertEqual(self.out("%mkdir -p q/w\n%cd q\n%ls"), "%s/q\nw\n" % self.driver.home.name)
        self.assertEqual(self.text("%cd -q ..\n%pwd"), repr(self.driver.home.name))
        self.assertEqual(self.out("cd q\n%cd .."), "%s/q\n%s\n" % (self.driver.home.name, self.driver.home.name))
        home, up = self.driver.home.name, os.path.dirname(self.driver.home.name)
        self.assertEqual([self.out(code) for code in ("cd ..", "cd ./", "cd -")], [up + "\n", up + "\n", up + "\n"])
        self.assertEqual(self.out("cd %s" % home), home + "\n")
        self.assertEqual(self.out("%env NB_A=1\n%set_env NB_B 2\n!echo $NB_A$NB_B"), "env: NB_A=1\nenv: NB_B=2\n12\n")
        self.assertEqual(self.text("%env NB_A"), "'1'")
        self.assertEqual(self.text("e = %env\ne['NB_B']"), "'2'")
        self.assertEqual(self.out("%cp prog.py b.py\n%mv b.py c.py\n%cat c.py\n%rm c.py\n%ll -d q | wc -l").splitlines()[-1], "1")

    def test_without_the_percent_where_no_variable_is_called_so(self):
        home = self.driver.home.name
        self.assertEqual(self.out("ls"), "prog.py\n")
        self.assertIn("prog.py", self.out("ls -la\n"))
        self.assertEqual(self.text(" pwd "), repr(home))
        self.assertEqual(self.text("env")[:1], "{")
        self.assertEqual(self.text("pwd()"), repr(home))
        self.run_step("alpha = 1")
        self.assertEqual(self.out("who"), "alpha\n")
        self.assertIn("alpha", self.out("whos"))
        self.assertIn("alpha = 1\n", self.out("history"))
        self.assertIn("%cd", self.out("lsmagic"))
        self.assertEqual(self.text("matplotlib inline\nload_ext autoreload\n7"), "7")
        self.assertEqual(self.out("cat /dev/null"), "")
        self.assertEqual(self.out("cd /dev"), "/dev\n")
        self.assertEqual(self.out("ls /dev/nul*"), "/dev/null\n")
        self.out("cd " + home)
        for code, text in (("ls = 5\nls", "5"), ("ls", "5"), ("l = 2\nls -l", "3"), ("who = [1]; who", "[1]")):
            self.assertEqual(self.text(code), text, code)
        self.run_step("reset -f")
        for code in ("alpha", "ll + 1", "who.x", "reset", "df", "head", "ls\nls"):
            self.fails(self.driver.step(code), "NameError")
        self.assertEqual(self.out("ls"), "prog.py\n")

    def test_profile(self):
        self.run_step("def f(): return sum([g() for _ in range(3)])\ndef g(): return 1\n")
        self.assertRegex(self.out("%prun -l 3 f()"), r"(?s)Ordered by: internal time\n.*List reduced from \d+ to 3 ")
        self.assertRegex(self.out("%prun -s cumtime -l f f()"), r"(?s)Ordered by: cumulative time\n.*\(f\)")
        self.assertEqual(self.out("s = %prun -q -r -T t.txt f()"), "*** Profile printout saved to text file 't.txt'.\n")
        self.assertEqual(self.text("s.total_calls > 4, 'internal time' in open('t.txt').read()"), "(True, True)")
        self.assertRegex(self.out("%%prun -s cumulative -s name -l 2\nf()\n!echo x"), r"(?s)x\n.*cumulative time, function name\n.* to 2 ")
        self.run_step("%prun -q -D f.prof f()")
        self.assertEqual(self.text("import pstats; type(pstats.Stats('f.prof')).__name__"), "'Stats'")
        self.assertIn("no key 'nosuch'", self.fails(self.driver.step("%prun -s nosuch f()"), "UsageError").error["message"])
        self.assertNotIn("timing.py", self.out("%prun f()"))
        self.assertIn("function calls", self.out("%prun -f()"))

    def test_cells_without_content(self):
        for code in ("%%timeit\n", "%%time", "%%prun\n \n", "%%capture c\n", "%%bash\n", "%%script cat\n"):
            self.fails(self.driver.step(code), "UsageError")

    def test_time(self):
        got = self.run_step("v = %time 3 + 4\n%time v")
        self.assertRegex(got.out, r"\A(CPU times: user .*, sys: .*, total: .*\nWall time: .*s\n){2}\Z")
        self.assertEqual(got.text, "7")
        got = self.run_step("%%time\nb = 2\nb + 1")
        self.assertRegex(got.out, r"\ACPU times: .*\nWall time: .*s\n\Z")
        self.assertEqual((got.text, self.text("b")), ("3", "2"))
        self.assertEqual(self.text("import asyncio\nasync def f(): return 3\n%time await f()"), "3")
        self.assertEqual(self.text("%%time\nw = await f()\nw"), "3")
        self.assertEqual(self.text("%time dict(\n  a=1)"), "{'a': 1}")
        self.assertRegex(self.out("%timeit -n 2 -r 3 sum(\n  [1])"), r"per loop \(mean . std. dev. of 3 runs, 2 loops each\)\n\Z")
        self.assertRegex(self.out("%%timeit -n 1 -r 1 n = 1\nn + 1"), "1 run, 1 loop each")
        self.assertRegex(self.out("%timeit -r1 -n1 x=!echo a"), "1 run, 1 loop each")
        self.assertRegex(self.out("%%timeit -r1 -n1\nx = %pwd\n!echo a"), "a\n.*1 run, 1 loop each")
        self.assertEqual(self.text("t = %timeit -n 1 -r 2 -q -o pass\nlen(t.timings)"), "2")

    def test_capture(self):
        self.assertEqual(self.out("%%capture c\nprint('x')\n!echo shell\ndisplay(4)\n5"), "")
        self.assertEqual(self.text("c.stdout, c.outputs"), r"('x\nshell\n', [4, 5])")
        got = self.run_step("c.show()")
        self.assertEqual((got.out, len(got.displays)), ("x\nshell\n", 2))
        self.assertEqual(self.out("%%capture --no-stdout\nprint('x')"), "x\n")
        self.fails(self.driver.step("%%capture c\n1/0"), "ZeroDivisionError")
        self.assertEqual(self.out("print(1)"), "1\n")

    def test_files(self):
        self.assertEqual(self.out("%%writefile w.txt\nline {x}\n  !ls\n"), "Writing w.txt\n")
        self.assertEqual(self.out("%%writefile -a w.txt\nmore"), "Appending to w.txt\n")
        self.assertEqual(self.text("open('w.txt').read()"), r"'line {x}\n  !ls\nmore\n'")
        self.assertEqual(self.out("%%file w.txt\n"), "Overwriting w.txt\n")
        got = self.run_step("%run prog.py 1 'a b'\nQ, fn(), __name__")
        self.assertEqual((got.out, got.text), ("['prog.py', '1', 'a b'] __main__\n", "(7, 7, '__main__')"))
        self.fails(self.driver.step("%run nowhere.py"), "FileNotFoundError")
        self.assertRegex(self.out("%run -m timeit -n 1 -r 1 1"), r"\A1 loop, best of 1: ")
        self.assertEqual(self.out("%run -m prog -m x -i"), "[%r, '-m', 'x', '-i'] __main__\n" % (self.driver.home.name + "/prog.py"))
        for name, text, runs in (("x.sh", "1", False), ("d.csv", "1", False), ("y", "#!/bin/sh", False),
                                 ("z", "1", True), ("z.2024", "1", True), ("z.cgi", "#!/usr/bin/env python3\n1", True)):
            self.ok(self.driver.step(f"%%writefile {name}\n{text}"))
            got = self.driver.step("%run " + name)
            if not runs:
                self.assertIn("%run accepts Python files and notebooks; " + name, self.fails(got, "UsageError").error["message"])
            else:
                self.ok(got)

    def test_names_and_history(self):
        self.run_step("alpha = 1; beta = 'two'; import os")
        self.assertEqual(self.out("%who"), "alpha\t beta\t os\n")
        self.assertRegex(self.out("%whos"), r"(?s)\AVariable +Type +Data/Info\n-+\nalpha +int +1\nbeta +str +'two'\n")
        self.assertEqual(self.out("%history -n 1-2"), "   1: alpha = 1; beta = 'two'; import os\n   2: %who\n")
        self.assertEqual(self.out("%save s 1-2"), "The following commands were written to file `s.py`:\nalpha = 1; beta = 'two'; import os\n%who\n")
        self.assertEqual(self.text("open('s.py').read()"), repr("alpha = 1; beta = 'two'; import os\n%who\n"))
        self.assertIn("-f", self.fails(self.driver.step("%save s.py 1"), "UsageError").error["message"])
        self.run_step("%save -a s.py 1\n%save -f t.py 1")
        self.assertEqual(self.text("open('s.py').read().count('alpha'), open('t.py').read()[:5]"), "(2, 'alpha')")
        self.run_step("%reset -f")
        self.fails(self.driver.step("alpha"), "NameError")

    def test_packages(self):
        got = self.run_step("!pip install -q nosuch-a 'nosuch-b>=1' 2>&1 | tail -1\n_exit_code")
        self.assertEqual(got.text, "1")
        self.assertIn("nosuch-a is not installed", got.err)
        self.assertIn("nosuch-b>=1 is not installed", got.err)
        self.assertIn("--python VENV", got.err)
        self.assertIn("already installed: sh\n", self.run_step("!apt-get install -y sh nosuch").out)
        for code in ("%pip install nosuch", "!sudo apt install nosuch", "pip install nosuch", "%conda install nosuch", "!python -m pip install nosuch"):
            self.assertIn("Nothing can be installed", self.run_step(code).err)
        self.assertEqual(self.run_step("!pip install nosuch && echo no; echo then").out, "then\n")
        got = self.run_step("%pip install -r nowhere.txt\n_exit_code")
        self.assertEqual((got.text, "nowhere.txt" in got.err), ("1", True))
        self.run_step("open('req.txt', 'w').write('# first\\n\\nnosuch-c>=1  # why\\n--no-deps\\n')")
        self.assertIn("nosuch-c>=1 is not installed", self.run_step("%pip install -r req.txt").err)

    @unittest.skipUnless(has("numpy"), "needs numpy")
    def test_packages_that_are_there(self):
        got = self.run_step("!pip install numpy numpyy\n")
        self.assertRegex(got.out, r"\ARequirement already satisfied: numpy \d")
        self.assertRegex(got.err, r"numpyy is not installed. Similar names: .*numpy")
        self.assertRegex(got.err, r"Installed: .*numpy \d")
        got = self.run_step("%pip install 'numpy>=1,<99' json\n_exit_code")
        self.assertEqual((got.text, got.err), ("0", ""))
        self.assertIn("json as module json\n", got.out)
        for wanted, status in (("numpy==99", 1), ("numpy>=1,<1.0.1", 1), ("numpy~=99.1", 1), ("numpy=1", 1), ("numpy>=nosuch", 1), ("numpy!=99", 0),
                               ("numpy>=1", 0), ("numpy (>=1.0,!=1.0.*)", 0), ("numpy>=1; python_version>='3'", 0)):
            got = self.run_step("%pip install " + '"' + wanted + '"\n_exit_code')
            self.assertEqual((got.text, "already satisfied" in got.out, wanted in got.err), (str(status), not status, bool(status)), got)
        self.assertRegex(got := self.run_step("!pip install numpy==99").err, r"numpy==99: the installed version \d[\d.]* does not satisfy it")
        self.assertRegex(self.text("z = !pip install numpy\nz"), r"Requirement already satisfied: numpy \d")
        self.assertIn("no\n", self.run_step("!conda install numpy=99 2>/dev/null || echo no").out)
        self.assertNotIn("no\n", self.run_step("!pip install numpy || echo no").out)

    def test_help(self):
        self.run_step("def greet(name, times=1):\n    '''Say hello.'''\n    return name * times\n")
        for code in ("greet?", "?greet", "%pinfo greet"):
            self.assertRegex(self.out(code), r"\ASignature: greet\(name, times=1\)\nDocstring: Say hello.\n")
        for code in ("greet??", "??greet"):
            self.assertIn("return name * times", self.out(code))
        self.assertEqual(self.out("str.*find*?"), "str.find\nstr.rfind\n")
        self.assertEqual(self.out("nothing_here?"), "Object `nothing_here` not found.\n")
        self.assertIn("skipped", self.out("%matplotlib?"))
        for code in ("%%bash?", "%%html?", "%pip?", "%%capture?", "?%%sh"):
            self.assertNotIn("not found", self.out(code))

    def test_unknown(self):
        got = self.fails(self.driver.step("%timit 1"), "UsageError")
        self.assertIn("near: %timeit", got.error["message"])
        self.assertIn("%%capture", self.fails(self.driver.step("%%nonsense\n1"), "UsageError").error["message"])
        self.assertIn('runtime "sql"', self.fails(self.driver.step("%%sql\nselect 1"), "UsageError").error["message"])
        for fence, runtime in (("js", "javascript"), ("JavaScript", "javascript"), ("ts", "javascript"), ("sql", "sql"), ("sqlite", "sql")):
            for code in ("1 + 1", "select 1"):
                got = self.fails(self.driver.step("```%s\n%s\n```" % (fence, code)), "UsageError")
                self.assertEqual(got.error["message"], 'the fence says %s, but this step runs Python: send the step with the runtime "%s"'
                                 % (fence.lower(), runtime))
        self.assertIn("no debugger", self.run_step("%debug").err)

    def test_shown(self):
        for name, mime in (("html", "text/html"), ("markdown", "text/markdown"), ("latex", "text/latex"),
                           ("svg", "image/svg+xml"), ("javascript", "application/javascript")):
            self.assertEqual(self.shown("%%%%%s\n<b>x</b>" % name)[mime], "<b>x</b>")


class Outputs(Case):
    def test_inputs_and_outputs(self):
        for code in ("11", "'two'", "x = 3", "[4]"):
            self.run_step(code)
        self.assertEqual(self.text("_, __, ___, _1, _2, Out[4], In[3], len(In), _i, _ii"),
                         "([4], 'two', 11, 11, 'two', [4], 'x = 3', 6, '[4]', 'x = 3')")
        self.assertEqual(self.text("Out is _oh, In is _ih, 3 in Out"), "(True, True, False)")
        self.assertEqual(self.text("[n for n in dir() if n[0] != '_']"), "['x']")

    def test_large_outputs_are_let_go(self):
        self.run_step("import weakref\nclass Big: pass\nb = Big(); r = weakref.ref(b)\n")
        self.run_step("b")
        self.run_step("del b")
        for number in range(3):
            self.run_step(str(number))
        self.assertEqual(self.text("r() is None, len(Out)"), "(True, 3)")
        self.run_step("bytes(9 << 20)")
        self.assertEqual(self.text("len(_)"), str(9 << 20))
        self.assertEqual(self.text("__, _"), "(None, %d)" % (9 << 20))


class Display(Case):
    def test_what_is_imported_from_ipython(self):
        self.run_step("from IPython.display import (display, Image, HTML, Markdown, SVG, JSON, Latex, Math, Audio, Video,\n"
                      "    IFrame, Code, Javascript, clear_output, update_display, DisplayHandle, FileLink)\n"
                      "from IPython.core.display import HTML\nimport base64\npng = base64.b64decode('%s')\n"
                      "open('a.png', 'wb').write(png);" % PNG)
        for code in ("display(Image('a.png'))", "display(Image(data=png, width=5))", "display(Image(filename='a.png'))"):
            self.assertEqual(self.shown(code)["image/png"], PNG)
        self.assertEqual(self.run_step("Image('a.png')").value["image/png"], PNG)
        data = self.shown("display(HTML('<p>a &amp; b</p><table><tr><td>1</td><td>2</td></tr></table>'))")
        self.assertEqual(data["text/plain"], "a & b\n1\t2")
        self.assertEqual(self.shown("display(Markdown('# t'))"), {"text/markdown": "# t", "text/plain": "# t"})
        self.assertEqual(self.shown("display(JSON({'a': 1}))")["application/json"], {"a": 1})
        self.assertEqual(self.shown("display(SVG('<svg/>'))")["image/svg+xml"], "<svg/>")
        self.assertEqual(self.run_step("Math('x^2')").value["text/latex"], r"$\displaystyle x^2$")
        self.assertIn("iframe", self.shown("display(IFrame('http://x', 1, 2))")["text/html"])
        self.assertIn("<audio", self.shown("display(Audio(b'RIFF'))")["text/html"])
        self.assertEqual(self.shown("display({'text/plain': 'P', 'text/html': '<i>'}, raw=True)"),
                         {"text/plain": "P", "text/html": "<i>"})
        got = self.run_step("h = display('a', display_id='q'); h.update('b'); update_display('c', display_id='q')\nclear_output()")
        *named, cleared = got.displays
        self.assertEqual([d["data"]["text/plain"] for d in named], ["'a'", "'b'", "'c'"])
        self.assertEqual([(d["display_id"], d["update"]) for d in named], [("q", False), ("q", True), ("q", True)])
        self.assertEqual((cleared["data"], cleared["clear"], cleared["wait"]), ({}, True, False))
        self.assertEqual(self.out("class B:\n    def _ipython_display_(self): print('self')\ndisplay(B()); B()"), "self\nself\n")

    def test_shell_of_ipython(self):
        self.assertEqual(self.text("ip = get_ipython()\nip.run_line_magic('pwd', '') == ip.getoutput('pwd')[0], ip.kernel"),
                         "(True, None)")
        self.assertEqual(self.out("ip.system('echo {2 + 1}')\nip.run_cell_magic('bash', '', 'echo b')\nip.run_cell('!echo c')\n1;"), "3\nb\nc\n")
        self.run_step("from IPython.core.magic import register_line_magic, register_cell_magic, Magics, magics_class, line_magic\n"
                      "@register_line_magic\ndef loud(line): return line.upper()\n"
                      "@register_cell_magic\ndef body(line, cell): return cell\n"
                      "@magics_class\nclass Mine(Magics):\n    @line_magic\n    def own(self, line): return 'own ' + line\n"
                      "ip.register_magics(Mine)")
        self.assertEqual((self.text("%loud abc"), self.text("%own x"), self.text("%%body\nx?")),
                         ("'ABC'", "'own x'", "'x?'"))
        self.assertEqual(self.text("import IPython\nIPython.get_ipython() is ip is get_ipython()"), "True")
        self.assertEqual(self.text("from IPython.utils.capture import capture_output\nwith capture_output() as c:\n"
                                   "    print(1); display(2)\nc.stdout, c.outputs"), r"('1\n', [2])")

    def test_every_expression_is_shown_when_asked_for(self):
        self.run_step("from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'")
        got = self.run_step("1\nx = 2\n'two'\nif x:\n    5\nNone\nx + 1")
        self.assertEqual([d["data"]["text/plain"] for d in got.displays] + [got.text], ["1", "'two'", "3"])
        got = self.fails(self.driver.step("1\n\n1/0"), "ZeroDivisionError")
        self.assertEqual((got.error["line"], len(got.displays)), (3, 1))
        self.run_step("%config InteractiveShell.ast_node_interactivity = 'last_expr'")
        self.assertEqual(self.run_step("1\n2").displays, [])

    def test_nested_loops(self):
        self.assertEqual(self.text("import nest_asyncio; nest_asyncio.apply()\nimport asyncio\nasync def f(): return 3\nasyncio.run(f())"), "3")

    def test_files_of_the_users_that_are_called_so(self):
        for name in ("pandas", "matplotlib", "nest_asyncio", "IPython", "subprocess", "re", "tempfile"):
            got = once("import %s\nprint(%s.mine)\n!echo b\n%%%%bash\necho c" % (name, name), files={name + ".py": "mine = 'a'\n"})
            self.assertEqual((self.ok(got).out, got.err), ("a\nb\nc\n", ""), name)

    @unittest.skipIf(HAS_IPYTHON, "IPython is installed")
    def test_libraries_see_that_there_is_no_ipython(self):
        got = once("import sys; sys.path.insert(0, 'dist-packages')\nimport lib\nprint(lib.FOUND, lib.SHELL)\nimport IPython\nprint(lib.shell())",
                   files={"dist-packages/lib.py": "import importlib.util\nFOUND = importlib.util.find_spec('IPython')\n"
                          "def shell():\n    import IPython\n    return IPython.get_ipython()\n"
                          "try:\n    SHELL = get_ipython()\nexcept NameError:\n    SHELL = None\n"})
        self.assertEqual(self.ok(got).out, "None None\nNone\n")


@unittest.skipUnless(has("matplotlib"), "needs matplotlib")
class Figures(Case):
    def test_backends_without_a_screen(self):
        got = self.run_step("%matplotlib notebook\nimport matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\n"
                            "plt.switch_backend('Qt5Agg'); matplotlib.use('module://ipympl.backend_nbagg'); plt.ion()\n"
                            "plt.plot([1]); plt.show(block=False); plt.tight_layout()\nmatplotlib.get_backend()")
        self.assertEqual((got.text, len(got.displays), got.err), ("'agg'", 1, ""))

    def test_a_backend_of_the_environment(self):
        got = self.ok(once("import matplotlib.pyplot as plt\nplt.plot([1]);", env={"MPLBACKEND": "TkAgg"}))
        self.assertEqual(len(got.displays), 1)
        got = self.ok(once("import matplotlib\nmatplotlib.rcParams['backend'] = 'TkAgg'\nimport matplotlib.pyplot as plt\nplt.plot([1]);"))
        self.assertEqual(len(got.displays), 1)

    def test_empty_figures_are_no_pictures(self):
        self.run_step("import matplotlib.pyplot as plt\nfrom IPython.display import display")
        for code in ("plt.gcf();", "plt.clf()", "plt.figure();", "plt.show(); plt.savefig('x.png')"):
            self.assertEqual(self.run_step(code).displays, [], code)
        self.assertEqual(list(self.run_step("plt.figure()").value), ["text/plain"])
        self.assertEqual(len(self.run_step("plt.figure().text(0, 0, 'x');").displays), 1)
        self.assertEqual(len(self.run_step("plt.plot([1]); plt.savefig('x.png');").displays), 1)
        self.assertIn("image/png", self.shown("fig, ax = plt.subplots(); ax.plot([1]); display(fig)"))
        self.assertEqual(self.out("%%capture k\nplt.plot([1])\nNone"), "")
        self.assertEqual(self.text("len(k.outputs)"), "1")

    def test_angles_are_rounded(self):
        got = self.run_step("import matplotlib.pyplot as plt\nplt.pie([10, 90]);")
        self.assertEqual([e["angle"] for e in got.displays[0]["data"][test_driver.CHART]["elements"]], [36.0, 324.0])


if __name__ == "__main__":
    test_driver.DRIVER_DIR = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
