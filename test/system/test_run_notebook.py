# SPDX-License-Identifier: Apache-2.0
"""`retort run FILE.ipynb`: the cells run in one box, and a copy of the notebook has their outputs."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from terminal import Terminal  # noqa: E402

IDENTITY = "user"


def cell(source, *tags, kind="code", **more):
    made = {"cell_type": kind, "metadata": {"tags": list(tags)} if tags else {}, "source": source}
    if kind == "code":
        made |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": "old"}], "execution_count": 99}
    return {**made, **more}


def notebook(*cells, language="python", minor=4, **more):
    return {"cells": [c if isinstance(c, dict) else cell(c) for c in cells], "nbformat": 4, "nbformat_minor": minor,
            "metadata": {"kernelspec": {"display_name": "X", "language": language, "name": "x"}}, **more}


def texts(value):
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(line, str) for line in value))


MEMBERS = {"stream": {"name", "text"}, "error": {"ename", "evalue", "traceback"},
           "display_data": {"data", "metadata"}, "execute_result": {"data", "metadata", "execution_count"}}


class Notebooks(harness.Case):
    def setUp(self):
        self.folder = harness.make_dir()
        self.path = os.path.join(self.folder, "n.ipynb")
        self.copy = os.path.join(self.folder, "n.executed.ipynb")

    def write(self, content, name="n.ipynb"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def start(self, *args, **kwargs):
        return harness.retort("run", *args, cwd=self.folder, **kwargs)

    def read(self, path=None):
        with open(path or self.copy, encoding="utf-8") as f:
            nb = json.load(f)
        self.check(nb)
        return nb

    def check(self, nb):
        """What the schema of nbformat 4 asks of cells of code."""
        for c in (c for c in nb["cells"] if c["cell_type"] == "code"):
            self.assertIn(type(c["execution_count"]), (int, type(None)))
            for o in c["outputs"]:
                self.assertEqual(set(o) - {"output_type"}, MEMBERS[o["output_type"]])
                self.assertTrue(texts(o.get("text", "")) and texts(o.get("traceback", [])))
                for mime, value in o.get("data", {}).items():
                    self.assertTrue(texts(value) or mime.endswith("json"), mime)

    def done(self, content, *args, status=0, copy=None):
        """Run a notebook. Returns: the cells of its copy."""
        self.write(content)
        done = self.start(*args, "n.ipynb")
        self.assertEqual(done.status, status, repr(done))
        self.last = done
        return self.read(copy)["cells"]

    @staticmethod
    def stdout(c):
        return "".join("".join(o["text"]) for o in c["outputs"] if o.get("name") == "stdout")

    @staticmethod
    def value(c):
        return "".join(c["outputs"][-1]["data"]["text/plain"])


class Running(Notebooks):
    @harness.as_each
    def test_cells_are_steps_of_one_session(self):
        before = notebook("x = 6", cell("# text", kind="markdown"), "print('a')\nx * 7", " \n", "import sys\nprint('e', file=sys.stderr)")
        cells = self.done(before)
        self.assertEqual([c.get("execution_count") for c in cells], [1, None, 2, None, 3])
        self.assertEqual(cells[2]["outputs"], [
            {"output_type": "stream", "name": "stdout", "text": ["a\n"]},
            {"output_type": "execute_result", "execution_count": 2, "data": {"text/plain": ["42"]}, "metadata": {}}])
        self.assertEqual(cells[3]["outputs"], [])
        self.assertEqual(cells[4]["outputs"], [{"output_type": "stream", "name": "stderr", "text": ["e\n"]}])
        self.assertEqual((self.last.out, self.last.err), ("", "retort: n.executed.ipynb: 3 of 3 cells were run\n"))
        with open(self.path, encoding="utf-8") as f:
            self.assertEqual(json.load(f), before)

    def test_frames_and_magics(self):
        cells = self.done(notebook(
            "from IPython.display import display, HTML, clear_output\nh = display(HTML('<b>1</b>'), display_id=True)",
            "%matplotlib inline\nname = 'w'\n!echo hello {name}", "%%bash\necho $((6 * 7))",
            "h.update(HTML('<b>2</b>'))", "print('gone')\nclear_output()"))
        self.assertEqual(cells[0]["outputs"][0]["data"]["text/html"], ["<b>2</b>"])
        self.assertEqual([self.stdout(c) for c in cells[1:]], ["hello w\n", "42\n", "", ""])

    def test_only_what_was_printed_before_is_cleared(self):
        code = "from IPython.display import clear_output\nfor i in range(40):\n    print('old', i)\n    clear_output()\n    print('new', i)"
        self.assertEqual([self.stdout(c) for c in self.done(notebook(*[code] * 5))], ["new 39\n"] * 5)

    @unittest.skipUnless(os.path.isdir("/usr/lib/python3/dist-packages/matplotlib"), "matplotlib is not installed")
    def test_plots(self):
        plot, = self.done(notebook("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"))
        self.assertTrue(plot["outputs"][-1]["data"]["image/png"].startswith("iVBOR"))

    def test_languages(self):
        for language, cells, want in (("javascript", ("let a = 6", "console.log(a * 7)"), "42\n"),
                                      ("bash", ("a=6", "echo $((a * 7))"), "42\n")):
            with self.subTest(language=language):
                self.assertEqual(self.stdout(self.done(notebook(*cells, language=language))[1]), want)
        self.write(notebook("1", language="R"))
        done = self.start("n.ipynb")
        self.assertEqual(done.status, 127)
        self.assertIn("n.ipynb: a notebook of the language R: ", done.err)
        self.assertEqual(self.stdout(self.done(notebook("print(1)", language="R"), "-r", "python")[0]), "1\n")

    def test_what_is_not_code_stays(self):
        nb = notebook(cell("# é \u2028 😀\n", kind="markdown", attachments={"b": {}, "a": {}}, id="a-1"),
                      cell("raw", kind="raw", id="b"), cell("print(1)", "skip-execution", id="c"), minor=5, zeta=[0.1, {}], alpha=None)
        nb["metadata"] |= {"z": {"y": 1, "x": "é"}}
        self.write(nb)
        self.assertEqual(self.start("n.ipynb").status, 0)
        with open(self.copy, encoding="utf-8") as f:
            self.assertEqual(f.read(), json.dumps(nb, indent=1, ensure_ascii=False) + "\n")

    def test_options_of_boxes(self):
        self.write("data", "d.txt")
        cells = self.done(notebook("open('d.txt').read()", "import os; os.environ['A']", "import random; random.random()"),
                          "-v", "d.txt:d.txt", "-e", "A=b", "--seed", "7", "--preload", "json")
        self.assertEqual([self.value(c) for c in cells], ["'data'", "'b'", "0.32383276483316237"])

    def test_files_that_it_makes_and_sees(self):
        self.write("secret", "beside.txt")
        cells = self.done(notebook("import os; sorted(os.listdir())", "open('a', 'w').write('1')\nopen('b', 'w').write('2')",
                                   "os.remove('b'); open('a', 'w').write('3')"), "-o", "made")
        self.assertEqual(self.value(cells[0]), "['n.ipynb']")
        self.assertEqual(os.listdir(os.path.join(self.folder, "made")), ["a"])
        with open(os.path.join(self.folder, "made", "a"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "3")
        self.write(notebook("open('beside.txt')"))
        self.assertIn("beside.txt is here, but the box does not see it: -v beside.txt:beside.txt", self.start("n.ipynb").err)

    def test_long_output(self):
        cells = self.done(notebook("print('x\\n' * 200000)", "print('x' * 3000000)"), "--output-limit", "2m")
        self.assertEqual(self.stdout(cells[0]), "x\n" * 200000 + "\n")
        self.assertIn("bytes of stdout left out", "".join(cells[1]["outputs"][-1]["text"]))


class Failing(Notebooks):
    def test_a_failure_ends_the_run(self):
        cells = self.done(notebook("1", "def f():\n    print('so far')\n    1 / 0\nf()", "print('never')"), status=1)
        self.assertEqual([c["execution_count"] for c in cells], [1, 2, None])
        self.assertEqual(self.stdout(cells[1]), "so far\n")
        error = cells[1]["outputs"][-1]
        self.assertEqual((error["output_type"], error["ename"], error["evalue"]), ("error", "ZeroDivisionError", "division by zero"))
        self.assertEqual(cells[2]["outputs"], [])
        self.assertIn('File "<cell 2>", line 3, in f\n', self.last.err)
        self.assertTrue(self.last.err.endswith("retort: cell 2 of 3: failed\nretort: n.executed.ipynb: 2 of 3 cells were run\n"))

    def test_failures_that_are_allowed(self):
        cells = self.done(notebook(cell("1 / 0", "raises-exception"), "print('on')"))
        self.assertEqual((cells[0]["outputs"][0]["output_type"], self.stdout(cells[1])), ("error", "on\n"))
        self.assertIn("2 of 2 cells were run, 1 failed", self.last.err)
        cells = self.done(notebook("1 / 0", "while True: pass", "print('on')"), "--allow-errors", "--timeout", "1s")
        self.assertEqual(self.stdout(cells[2]), "on\n")
        self.assertIn("3 of 3 cells were run, 2 failed", self.last.err)

    def test_the_tag_is_for_exceptions(self):
        cells = self.done(notebook("x = 1", cell("while True: pass", "raises-exception"), "print(x)"), "--timeout", "1s", status=124)
        self.assertEqual(cells[1]["outputs"][-1]["ename"], "TimeLimit")
        self.assertEqual(cells[2]["outputs"], [])
        self.assertIn("cell 2 of 3: timeout: ", self.last.err)

    def test_the_time_limit_is_for_each_cell(self):
        wait = "import time; time.sleep(1.2)"
        self.done(notebook(wait, wait, wait), "--timeout", "3s", "--cpu-time", "20s")

    def test_exit(self):
        for code, status in (("import sys; sys.exit(5)", 5), ("import sys; sys.exit(0)", 0)):
            with self.subTest(code=code):
                cells = self.done(notebook(code, "print('never')"), status=status)
                self.assertEqual(cells[1]["outputs"], [])

    def test_input_has_no_answers(self):
        cells = self.done(notebook("input('name? ')"), status=1)
        self.assertEqual(cells[0]["outputs"][-1]["ename"], "EOFError")

    def test_ctrl_c(self):
        self.write(notebook("print(1)", "print('up')\nimport time; time.sleep(1000)", "print('never')"))
        # An interrupt ends the run even if failures may be.
        t = Terminal("run", "--allow-errors", self.path)
        try:
            t.wait("cell 2 of 3")
            t.type("\x03")
            self.assertEqual(t.end(), 130)
            self.assertIn(b"cell 2 of 3: interrupted", t.out)
        finally:
            t.close()
        cells = self.read()["cells"]
        self.assertEqual((self.stdout(cells[0]), cells[2]["outputs"], cells[2]["execution_count"]), ("1\n", [], None))
        self.assertEqual(cells[1]["outputs"][-1]["ename"], "KeyboardInterrupt")

    def await_file(self, path):
        end = time.monotonic() + harness.TIMEOUT_S
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), end, "the cell does not begin")
            time.sleep(0.01)

    def test_signals(self):
        mark = os.path.join(self.folder, "data")
        for number in (signal.SIGTERM, signal.SIGHUP):
            os.makedirs(mark, exist_ok=True)
            self.write(notebook("open('data/up', 'w').close()\nimport time; time.sleep(1000)", "2"))
            p = subprocess.Popen([harness.RETORT, "run", "--timeout", "1h", "-v", f"{mark}:data:rw", self.path],
                                 env=harness.environment(), stderr=subprocess.PIPE)
            try:
                self.await_file(os.path.join(mark, "up"))
                p.send_signal(number)
                p.communicate(timeout=harness.TIMEOUT_S)
            finally:
                p.kill()
                p.communicate()
            self.assertEqual(p.returncode, 130)
            self.assertEqual([c["execution_count"] for c in self.read()["cells"]], [1, None])
            os.remove(os.path.join(mark, "up"))
            os.remove(self.copy)


class Output(Notebooks):
    def test_where_it_goes(self):
        nb = notebook("print(1)")
        other = os.path.join(self.folder, "o.ipynb")
        self.done(nb, "--output", "o.ipynb", copy=other)
        self.assertFalse(os.path.exists(self.copy))
        self.write(nb)
        done = self.start("n.ipynb", "--output", "-")
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(self.stdout(json.loads(done.out)["cells"][0]), "1\n")
        os.chmod(self.path, 0o640)
        self.done(nb, "--inplace", copy=self.path)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)
        self.assertEqual(sorted(os.listdir(self.folder)), ["n.ipynb", "o.ipynb"])

    def test_the_notebook_is_not_overwritten(self):
        text = json.dumps(notebook("print(1)"))
        self.write(text)
        os.link(self.path, os.path.join(self.folder, "link.ipynb"))
        os.symlink("n.ipynb", self.copy)
        for args in ((), ("--output", "n.ipynb"), ("--output", "./link.ipynb")):
            done = self.start(*args, "n.ipynb")
            self.assertEqual(done.status, 2, repr(done))
            self.assertIn("the notebook itself: name another file, or write into the notebook: --inplace", done.err)
            with open(self.path, encoding="utf-8") as f:
                self.assertEqual(f.read(), text)

    @unittest.skipIf(harness.IS_ROOT, "root may write everywhere")
    def test_a_directory_that_is_read_only(self):
        self.write(notebook("open('data/ran', 'w')"))
        os.mkdir(os.path.join(self.folder, "data"))
        os.chmod(self.folder, 0o555)
        try:
            done = self.start("-v", "data:data:rw", "n.ipynb")
            self.assertEqual(done.status, 2, repr(done))
            self.assertIn("n.executed.ipynb: Permission denied", done.err)
            self.assertEqual(os.listdir(os.path.join(self.folder, "data")), [])
            self.assertEqual(self.start("n.ipynb", "--output", "-").status, 1)
        finally:
            os.chmod(self.folder, 0o755)

    def test_json(self):
        self.write(notebook(" ", "open('f', 'w').write('1')", "1 / 0", "3"))
        done = self.start("--json", "n.ipynb")
        self.assertEqual((done.status, done.err), (1, ""))
        told = done.json()
        self.assertEqual((told["status"], told["exit_status"], told["n_cells"], told["output"]), ("error", 1, 3, "n.executed.ipynb"))
        self.assertEqual([(c["index"], c["execution_count"], c["status"]) for c in told["cells"]], [(1, 1, "ok"), (2, 2, "error")])
        self.assertEqual(told["cells"][0]["files"][0]["path"], "f")
        self.assertEqual(told["cells"][1]["error"]["name"], "ZeroDivisionError")
        self.assertIn("memory_bytes", told["limits"])
        failed = self.start("--json", "--output", "/", "n.ipynb")
        self.assertEqual((failed.status, failed.json()["error"]["code"]), (2, "usage"))

    def test_quiet(self):
        self.done(notebook("1 / 0"), "-q", status=1)
        self.assertEqual((self.last.out, self.last.err), ("", ""))


class Parameters(Notebooks):
    def test_where_they_go(self):
        nb = notebook(cell("n = 1\ns = 'x'", "parameters"), "print(n, s)")
        cells = self.done(nb, "--param", "n=[5, true, null]", "--param", "s=it's")
        self.assertEqual(cells[1]["source"], ["# Parameters\n", "n = [5, True, None]\n", "s = \"it's\"\n"])
        self.assertEqual((cells[1]["metadata"], cells[1]["outputs"]), ({"tags": ["injected-parameters"]}, []))
        self.assertEqual(self.stdout(cells[2]), "[5, True, None] it's\n")
        cells = self.done({**nb, "cells": cells}, "--param", "n=6")
        self.assertEqual((len(cells), self.stdout(cells[2])), (3, "6 x\n"))
        cells = self.done(notebook("print(n)"), "--param", "n=7")
        self.assertEqual(self.stdout(cells[1]), "7\n")

    def test_file_and_option(self):
        self.write({"a": 1, "b": {"c": "é\n"}}, "p.json")
        cells = self.done(notebook("print(a, b)"), "--params", "p.json", "--param", "a=2")
        self.assertEqual(self.stdout(cells[1]), "2 {'c': 'é\\n'}\n")

    def test_javascript(self):
        cells = self.done(notebook(cell("let n = 1", "parameters"), "console.log(n)", language="javascript"), "--param", "n={\"a\": null}")
        self.assertEqual((cells[1]["outputs"], self.stdout(cells[2])), ([], "{ a: null }\n"))

    def test_ids(self):
        cells = self.done(notebook(cell("1", id="mine"), minor=5), "--param", "n=7")
        self.assertRegex(cells[0]["id"], "^[a-z0-9]{8,64}$")
        self.assertEqual(cells[1]["id"], "mine")

    def test_what_is_refused(self):
        self.write("[1]", "list.json")
        self.write("{", "cut.json")
        for words, *args in (("not a name of a variable", "--param", "a b=1"), ("not a name of a variable", "--param", "x"),
                             ("a number out of range", "--param", "x=1e999"), ("list.json: not an object", "--params", "list.json"),
                             ("cut.json: line 1", "--params", "cut.json"), ("No such file", "--params", "gone.json")):
            with self.subTest(args=args):
                self.write(notebook("1"))
                done = self.start(*args, "n.ipynb")
                self.assertEqual(done.status, 2, repr(done))
                self.assertIn(words, done.err)
        self.write(notebook("1", language="bash"))
        self.assertIn("parameters are for notebooks of python and javascript", self.start("--param", "x=1", "n.ipynb").err)
        self.assertFalse(os.path.exists(self.copy))


class Refused(Notebooks):
    def test_bad_notebooks(self):
        for content, words in (("", "not a notebook: line 1"), ("{}", "not a notebook: a notebook is a JSON object"),
                               ('{"nbformat": 3, "worksheets": []}', "the old format 3: convert it: jupyter nbconvert"),
                               ('{"nbformat": 4, "cells": [{}]}', "cell 1: cell_type"), ("[" * 100000, "depth"),
                               ("{" + "\"a\":[" + "1," * 3000000 + "1]}", "more than 64 MiB, or of")):
            with self.subTest(words=words):
                self.write(content)
                done = self.start("n.ipynb")
                self.assertEqual(done.status, 2, repr(done))
                self.assertTrue(done.err.startswith("retort: n.ipynb: "), done.err)
                self.assertIn(words, done.err)
        with open(self.path, "wb") as f:
            f.truncate(65 << 20)
        done = self.start("n.ipynb")
        self.assertEqual((done.status, "n.ipynb is over 64 MiB" in done.err), (2, True))
        self.assertEqual(os.listdir(self.folder), ["n.ipynb"])

    def test_options_that_do_not_fit(self):
        self.write(notebook("1"))
        for words, *args in (("a notebook has no arguments", "n.ipynb", "x"), ("--stdin is not for a notebook", "--stdin", "-", "n.ipynb"),
                             ("--jsonl is not for a notebook", "n.ipynb", "--jsonl"), ("exclude each other", "--inplace", "--output", "x", "n.ipynb"),
                             ("both for standard output", "--json", "--output", "-", "n.ipynb"), ("--param is for a notebook", "--param", "a=1", "-c", "1"),
                             ("--inplace is for a notebook", "--inplace", "--", "ls"), ("gone/x: No such file or directory: name a file", "--output", "gone/x", "n.ipynb"),
                             ("No such file", "gone.ipynb")):
            with self.subTest(args=args):
                done = self.start(*args)
                self.assertEqual(done.status, 2, repr(done))
                self.assertIn(words, done.err)
        self.assertEqual(os.listdir(self.folder), ["n.ipynb"])


if __name__ == "__main__":
    harness.main()
