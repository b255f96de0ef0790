# SPDX-License-Identifier: Apache-2.0
"""The habits of notebooks in sessions, for tools of agents, with -c and from a pipe; a FILE is Python or nothing."""

import fcntl
import glob
import importlib.util
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402
from test_mcp import Mcp  # noqa: E402

IDENTITY = "user"
HAS_PANDAS = importlib.util.find_spec("pandas") is not None
WIDE = "import pandas as pd\ndf = pd.DataFrame([[1234567] * 20], columns=['column%d' % i for i in range(20)])\n"


class Sessions(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()

    def test_habits_in_a_box(self):
        s = self.engine.session()
        record = s.run("%matplotlib inline\n!echo {1 + 1}; echo e >&2; exit 4\nn = _exit_code\nx = !pwd\n(x[0], n)")
        self.assertEqual((record["status"], record["stdout"], record["stderr"]), ("ok", "2\n", "e\n"))
        self.assertEqual(record["value"]["text/plain"], "('/home/user', 4)")
        record = s.run("%%writefile a/b.py\n1")
        self.assertEqual(record["error"]["name"], "FileNotFoundError")
        record = s.run("%mkdir a\n%cd a")
        self.assertEqual(record["stdout"], "/home/user/a\n")
        record = s.run("%%writefile b.py\nimport sys\nmade = sys.argv[1]")
        self.assertEqual([f["path"] for f in record["files"]], ["a/b.py"])
        self.assertEqual(s.value("%run b.py 7\nmade"), "'7'")
        self.assertEqual(s.run("%%bash\npwd; echo $RETORT_SESSION")["stdout"], "/home/user/a\n%s\n" % s.id)
        record = s.run("!pip install nosuch | tail -1")
        self.assertIn("Nothing can be installed here", record["stderr"])
        self.assertEqual(s.run("!ls", filename="a.py")["error"]["name"], "SyntaxError")
        record = s.run("from IPython.display import display, HTML, Markdown\ndisplay(HTML('<b>x</b>'), Markdown('*y*'))")
        self.assertEqual([d["text/plain"] for d in record["displays"]], ["x", "*y*"])

    def test_what_the_program_does_before_a_step_is_done_in_steps_only(self):
        """And not when a checkpoint, or what goes on after a rollback, is made ready."""
        s = self.engine.session()
        s.run("def told(*_):\n    open('/tmp/told', 'a').write('x')\n"
              "get_ipython().events.register('pre_run_cell', told)")
        for n in range(1, 4):
            self.assertEqual(s.value("len(open('/tmp/told').read())"), str(n))
        s.run("import os; os._exit(1)")
        self.assertEqual(s.run("wc -c </tmp/told", runtime="shell")["stdout"].strip(), "4")
        self.assertEqual(s.value("len(open('/tmp/told').read())"), "5")

    @harness.needs_shell_or_sql
    def test_fences_of_other_runtimes(self):
        s = self.engine.session(runtime="shell")
        sent = "\n```bash\ncat <<'E'\n```sh\nx\n```\nE\necho $LINENO\n```\n"
        record = s.run(sent)
        self.assertEqual(record["stdout"], "```sh\nx\n```\n8\n")
        self.assertEqual(self.engine.call("session.log", session=s.id)["steps"][-1]["code"], sent)
        self.assertEqual(s.run("~~~\necho 2\n~~~")["stdout"], "2\n")
        self.assertEqual(s.run("cat <<'E'\n```\nx\n```\nE")["stdout"], "```\nx\n```\n")
        self.assertEqual(s.run("```SQL\nSELECT 7 AS a\n````", runtime="sql")["status"], "ok")
        self.assertEqual(s.value("```ts\n6 * 7\n```", runtime="javascript"), "42")
        self.assertEqual(s.value("~~~5", runtime="javascript"), "-6")
        printing = "```bash\necho touch pwned\n```"
        for code, runtime, said in ((printing + "\nls", "shell", "behind"), ("see:\n" + printing, "shell", "in front"),
                                    (printing + "\n" + printing, "shell", "several"), ("```\nSELECT 1", "sql", "not closed"),
                                    (printing, "javascript", "says bash, and this step runs javascript")):
            with self.subTest(code, runtime=runtime), self.assertRaisesRegex(service.Refused, said):
                s.run(code, runtime=runtime)
        self.assertEqual(s.run("ls")["stdout"], "")

    def test_state_comes_over_branch_and_rollback(self):
        s = self.engine.session()
        s.run("41")
        s.run("%cd -q /tmp")
        s.run("%mkdir -p /home/user/kept")
        copy = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        self.assertEqual(copy.value("(_1, Out[1], In[1], %d)" % 5), "(41, 41, '41', 5)")
        record = s.run("%env NB_LOST=1\n!touch /home/user/lost\n'gone'\n1/0", atomic=True)
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        self.assertEqual(s.value("where = %pwd\n(where, _, len(Out), len(In))"), "('/tmp', 41, 1, 5)")
        self.assertEqual(s.run("!ls /home/user; echo $NB_LOST")["stdout"], "kept\n\n")

    def test_a_command_over_its_time_is_stopped(self):
        s = self.engine.session()
        s.run("x = 1")
        record = s.run("!sleep 100; echo never", timeout_ms=1500)
        self.assertEqual((record["status"], record["stdout"]), ("timeout", ""))
        self.assertEqual(s.value("x"), "1")

    @unittest.skipUnless(HAS_PANDAS, "needs pandas")
    def test_tables_are_wide(self):
        s = self.engine.session()
        lines = s.run(WIDE + "df")["value"]["text/plain"].split("\n")
        self.assertTrue(150 < max(map(len, lines)) <= 200, lines)
        self.assertIn("column19", "".join(lines))
        s.run("pd.set_option('display.width', 60)")
        self.assertLessEqual(max(map(len, s.value("df").split("\n"))), 60)
        s = self.engine.session(env={"COLUMNS": "100"})
        self.assertTrue(80 < max(map(len, s.value(WIDE + "df").split("\n"))) < 120)


class Fronts(harness.Case):
    def test_programs(self):
        done = harness.run("%time 6 * 7\n!echo $0")
        self.assertEqual(done.status, 0, done)
        self.assertRegex(done.out, r"(?s)Wall time: .*/bin/")
        self.assertEqual(harness.run("get_ipython().getoutput('echo 1')").out, "['1']\n")
        done = harness.retort("run", "-", stdin=b"```python\nx = !echo piped\nprint(x.s)\n```\n")
        self.assertEqual((done.status, done.out), (0, "piped\n"))
        with tempfile.TemporaryDirectory(dir=harness.TMP) as folder:
            path = os.path.join(folder, "a.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("!ls\n")
            done = harness.retort("run", path)
            self.assertIn("SyntaxError", done.err)

    def test_packages_of_an_environment_without_pip(self):
        with tempfile.TemporaryDirectory(dir=harness.TMP) as folder:
            os.chmod(folder, 0o755)
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True, timeout=harness.TIMEOUT_S)
            data = os.path.join(glob.glob(folder + "/lib/python3*/site-packages")[0], "odd_name-1.5.dist-info")
            os.mkdir(data)
            with open(os.path.join(data, "METADATA"), "w", encoding="utf-8") as file:
                file.write("Metadata-Version: 2.1\nName: Odd.Name\nVersion: 1.5\nRequires-Dist: nosuch (>=2)\n")
            listed = "Package  Version\n-------- -------\nOdd.Name 1.5\n"
            for code, out in (("!pip list", listed), ("%pip list", listed), ("!python3 -m pip list | tail -1", "Odd.Name 1.5\n"), ("%%bash\npip freeze", "Odd.Name==1.5\n"),
                              ("!true && pip3 freeze > f; cat f", "Odd.Name==1.5\n"), ("z = !pip freeze\nz.s", "'Odd.Name==1.5'\n"),
                              ("!pip check", "Odd.Name 1.5 requires nosuch, which is not installed.\n")):
                done = harness.run(code, "--python", folder)
                self.assertEqual((done.status, done.out), (0, out), (code, done.err))
            self.assertIn("Version: 1.5\n", harness.run("!pip show odd_name", "--python", folder).out)
            self.assertIn("already satisfied: odd-name 1.5", harness.run("!pip install 'odd.name>=1,<2'", "--python", folder).out)

    def test_typed_lines(self):
        done = harness.retort("repl", stdin=b"%pwd\n!echo don't 2>&1 || echo 'it'\n%%bash\nif true; then\necho \"cell'\"\nfi\n\n"
                              b"%matplotlib inline\n%timeit -n1 -r1 pass\nx = !echo a\nx\n%nosuch\n%udno\n%reset -f\n%%time\n7\n")
        self.assertRegex(done.out, r"(?s)\A'/home/user'\n.*cell'\n.* per loop .*\['a'\]\nCPU times: .*\n7\n\Z")
        self.assertIn("UsageError: %nosuch is not a known magic", done.err)
        self.assertIn("unknown command %udno: did you mean %undo?", done.err)

    def test_the_width_of_the_terminal(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 123, 0, 0))
        ask = "import shutil; print('<%d>' % shutil.get_terminal_size().columns)"
        for argv, stdin in ((["run", "-c", ask], b""), (["run", "-e", "COLUMNS=77", "-c", ask], b""), (["repl"], ask.encode() + b"\n")):
            subprocess.run([harness.RETORT, *argv], input=stdin, stdout=slave, stderr=subprocess.PIPE, cwd=harness.TMP,
                           env=harness.environment(), timeout=harness.TIMEOUT_S, check=True)
        os.close(slave)
        said = b""
        while said.count(b">") < 3:
            said += os.read(master, 4096)
        os.close(master)
        self.assertEqual(re.findall(rb"<(\d+)>", said), [b"123", b"77", b"123"])
        self.assertEqual(harness.run(ask).out, "<80>\n")

    def test_tool_of_agents(self):
        with Mcp() as mcp:
            found = mcp.tool("run_code", code="%matplotlib inline\nfiles = !echo a; echo b\nfiles")
            self.assertIn("['a', 'b']", found.text)
            found = mcp.tool("run_code", code="from IPython.display import Markdown, display\ndisplay(Markdown('# Title'))")
            self.assertIn("# Title", found.text)
            found = mcp.tool("run_code", code="%nosuch")
            self.assertIn("UsageError", found.text)
            found = mcp.tool("run_code", code="display({'text/html': '<b>x</b>'}, raw=True)")
            self.assertIn("display: x", found.text)
            found = mcp.tool("run_code", code="class A:\n    def _repr_latex_(self): return '$y$'\nA()")
            self.assertIn("value: $y$", found.text)
            found = mcp.tool("run_code", code="breakpoint()\n6 * 7")
            self.assertIn("value: 42\nstderr: breakpoint(): there is no input here: skipped", found.text)
            found = mcp.tool("run_code", code="x = 41\nbreakpoint()\n'end'", interactive=True, wait_ms=50000)
            self.assertIn("(Pdb)", found.text)
            found = mcp.tool("run_wait", run_id=found.record["run"], stdin="p x + 1\nc\n", wait_ms=50000)
            self.assertIn("(Pdb) 42", found.text)
            self.assertIn("value: 'end'", found.text)
            found = mcp.tool("run_code", code="import getpass; getpass.getpass()")
            self.assertIn("hint: nobody types here", found.text)
            if HAS_PANDAS:
                found = mcp.tool("run_code", code=WIDE + "df")
                self.assertGreater(max(map(len, found.text.split("\n"))), 150)


if __name__ == "__main__":
    harness.main()
