# SPDX-License-Identifier: Apache-2.0
"""What is told to models and to people: it is true, and what it advises can be done."""

import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import model_server  # noqa: E402
import test_repl as repl  # noqa: E402
import test_session  # noqa: E402
from test_mcp import Mcp, Result  # noqa: E402

IDENTITY = "user"


def tree(place, directories, files):
    for i in range(directories):
        os.makedirs(f"{place}/d{i:03}")
        for j in range(files):
            with open(f"{place}/d{i:03}/f{j}", "w", encoding="ascii"):
                pass


class Listing(harness.Case):
    def test_what_is_not_looked_at_is_not_called_empty(self):
        with tempfile.TemporaryDirectory(dir=harness.TMP) as place:
            os.chmod(place, 0o755)
            tree(place, 300, 5)
            with open(place + "/last.txt", "w", encoding="ascii") as f:
                f.write("12345")
            with Mcp("-v", place + ":data") as mcp:
                text = mcp.tool("list_files").text
                self.assertIn("data/ (directory, ", text)
                self.assertIn("files: give path", text)
                text = mcp.tool("list_files", path="data").text
                self.assertIn("data/d000/ (directory, 5 files)\n", text)
                self.assertIn("… and 101 more here: list them with code\n[1501 files in all: give path]", text)
                self.assertEqual(mcp.tool("list_files", path="/home/user/data/d299/").text.splitlines(),
                                 [f"data/d299/f{i} (0 bytes, volume)" for i in range(5)])
                self.assertEqual(mcp.tool("list_files", path="data/last.txt").text.strip(),
                                 "data/last.txt (5 bytes, volume)")

    def test_a_directory_of_which_a_part_is_counted_shows_each_that_is_there(self):
        with Mcp() as mcp:
            mcp.run("import os\nfor i in range(3):\n  os.makedirs(f'd{i}')\n"
                    "  for j in range(4000): open(f'd{i}/{j}', 'w')\nopen('x', 'w').write('1')")
            text = mcp.tool("list_files").text
            for part in ("d0/ (directory, ", "d1/ (directory, ", "d2/ (directory, ", "\nx (1 bytes)\n"):
                self.assertIn(part, text)
            self.assertRegex(text, r"\[more than \d+ files: give path\]$")
            self.assertIn("[there are more files than were checked]", mcp.run("open('y', 'w').write('1')").text)

    def test_a_path_that_is_not_there_is_an_error(self):
        with Mcp() as mcp:
            mcp.run("import os; os.mkdir('empty'); os.symlink('/usr', 'link')")
            self.assertEqual(mcp.tool("list_files", path="empty").text, "no files")
            for path, part in (("none", "none does not exist"), ("/", "\"/\" is not a path in the workspace"),
                               ("../x", "is not a path in the workspace"), ("link", "a symbolic link")):
                with self.subTest(path=path):
                    done = mcp.tool("list_files", path=path)
                    self.assertTrue(done.is_error, done.text)
                    self.assertIn(part, done.text)

    def test_at_the_terminal(self):
        done = repl.pipe("import os; os.mkdir('d'); f = open('d/a', 'w'); g = open('b', 'w')\n%files d\n%files none\n")
        self.assertIn(" d/a\n", done.out)
        self.assertNotIn(" b\n", done.out)
        self.assertIn("none: No such file or directory", done.err)


class Advice(harness.Case):
    """What is advised is a call that there is, where it is read."""

    def test_a_refused_branch_can_be_forced(self):
        with Mcp() as mcp:
            mcp.run("import subprocess; p = subprocess.Popen(['sleep', '60']); x = 3")
            self.assertIn("ask with `force: true`", mcp.tool("sessions", action="branch", name="b").text)
            self.assertIn('"b"', mcp.tool("sessions", action="branch", name="b", force=True).text)
            self.assertIn("value: 3", mcp.run("x", session="b").text)
        done = repl.pipe("import subprocess; p = subprocess.Popen(['sleep', '60'])\n%branch b\n")
        self.assertIn("ask with --force", done.err)

    def test_the_steps_of_a_closed_session_can_be_read(self):
        with Mcp() as mcp:
            mcp.run("x = 3")
            mcp.tool("sessions", action="close")
            said = mcp.tool("sessions", action="undo").text
            call = json.loads(re.search(r"`sessions (\{.*\})`", said).group(1))
            self.assertIn("python ok: x = 3", mcp.tool("sessions", **call).text)
            self.assertIn("`sessions {", mcp.run("x", session=call["session"]).text)

    def test_what_a_failed_step_leaves(self):
        with Mcp() as mcp:
            self.assertIn("Changes that a step made before an exception are kept.", mcp.about["instructions"])
            self.assertIn(", its changes are kept", mcp.run("v = 2; 1/0").text)
            self.assertIn("value: 2", mcp.run("v").text)

    @harness.needs_shell_or_sql
    def test_what_a_limit_ended_has_no_exit_code_of_its_own(self):
        with Mcp() as mcp:
            for code, runtime in (("import time; time.sleep(60)", "python"), ("while (true) {}", "javascript"),
                                  ("sleep 60", "shell")):
                done = mcp.run(code, runtime=runtime, timeout_ms=500)
                self.assertEqual((done.record["status"], done.record["exit_code"]), ("timeout", None), runtime)
                self.assertNotIn("exit 1", done.text)

    @harness.needs_shell_or_sql
    def test_a_place_is_told_once_and_a_shell_has_no_expressions(self):
        with Mcp() as mcp:
            line = mcp.run("x = [").text.splitlines()[0]
            self.assertEqual((line.count("line 1"), line.count("never closed")), (1, 1), line)
            self.assertIn("(line 1)", mcp.run("1/0").text.splitlines()[0])
            self.assertIn("no output: print something", mcp.run("x = 1").text)
            self.assertTrue(mcp.run("true", runtime="shell").text.endswith("\nno output"))


class Waiting(harness.Case):
    def test_a_run_that_has_not_begun_says_behind_which_and_is_taken_out_at_once(self):
        with Mcp() as mcp:
            first = mcp.run("import time\nprint('A')\ntime.sleep(60)", wait_ms=300).record["run"]
            second = mcp.run("print('B')", wait_ms=0)
            third = mcp.run("print('C')", wait_ms=0).record["run"]
            run = second.record["run"]
            self.assertEqual(second.record["behind"], first)
            self.assertIn(f"running: python, not started: it waits for run {first}. Call run_wait", second.text)
            done = mcp.tool("run_wait", run_id=run, action="interrupt")
            self.assertTrue(done.is_error)
            self.assertIn("interrupted while it waited for its turn: the operation did not begin: nothing has "
                          "changed", done.text)
            self.assertEqual(mcp.tool("run_wait", run_id=first, wait_ms=0).record["status"], "running")
            done = mcp.tool("run_wait", run_id=third, wait_ms=0)
            self.assertEqual((done.record["status"], done.record["behind"]), ("running", first))
            mcp.tool("run_wait", run_id=first, action="kill")
            self.assertIn("stdout: C", mcp.tool("run_wait", run_id=third).text)
            self.assertEqual(mcp.tool("sessions", action="log").text.count("print("), 1)


    def test_what_waits_behind_one_that_waits_for_input_says_so(self):
        with Mcp() as mcp:
            mcp.run("x = 1")
            first = mcp.run("input()", interactive=True).record["run"]
            words = f'not started: it waits for run {first}, which waits for input. Call run_wait with run_id "{first}" and stdin, ' \
                    'a line with its \\n, or action "interrupt"; then with run_id "'
            second = mcp.run("x", wait_ms=55000)
            self.assertEqual((second.record["behind"], second.record["behind_waiting"]), (first, "stdin"))
            self.assertIn(words, second.text)
            run = second.record["run"]
            self.assertIn(words + run, mcp.tool("run_wait", run_id=run, wait_ms=55000).text)
            why = f'run {first} of the session waits for input: give it a line with `run_wait {{"run_id": "{first}", "stdin": "LINE\\n"}}`, ' \
                  f'or end it with `run_wait {{"run_id": "{first}", "action": "interrupt"}}`'
            for arguments in ({"action": "undo"}, {"action": "branch", "name": "b"}):
                done = mcp.tool("sessions", **arguments)
                self.assertEqual((done.is_error, done.text), (True, why))
            for tool, arguments in (("sessions", {"action": "log"}), ("sessions", {"action": "list"}), ("list_files", {}),
                                    ("write_file", {"path": "f", "content": "1"}), ("read_file", {"path": "f"})):
                self.assertFalse(mcp.tool(tool, **arguments).is_error, tool)
            self.assertIn("value: 'a line'", mcp.tool("run_wait", run_id=first, stdin="a line\n").text)
            self.assertIn("value: 1", mcp.tool("run_wait", run_id=run).text)
            self.assertFalse(mcp.tool("sessions", action="undo").is_error)
            mcp.run("input()", interactive=True)
            self.assertFalse(mcp.tool("sessions", action="close").is_error)

    def test_who_waits_already_is_told_when_it_begins_to_wait_for_input(self):
        code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\ninput()"
        with Mcp() as mcp:
            first = mcp.run(code, interactive=True, wait_ms=0, timeout_ms=600000).record["run"]
            second = mcp.send("tools/call", name="run_code", arguments={"code": "2", "wait_ms": 55000})
            calls = [mcp.send("tools/call", name="sessions", arguments={"action": "undo"}),
                     mcp.send("tools/call", name="sessions", arguments={"action": "branch", "name": "b"})]
            mcp.tool("write_file", path="go", content="")
            for number in calls:
                self.assertIn(f"run {first} of the session waits for input", Result(mcp.answer(number)).text)
            mcp.tool("sessions", action="list")
            self.assertIn(second, mcp.early, "it waits on")
            self.assertIn(f"waits for run {first}, which waits for input", Result(mcp.answer(second)).text)
            mcp.tool("run_wait", run_id=first, action="kill")


class Terminal(harness.Case):
    """Hints name what the command has that is in use."""

    @classmethod
    def setUpClass(cls):
        cls.engine = test_session.Engine()
        cls.addClassCleanup(cls.engine.stop)

    def test_what_was_cut_is_told(self):
        code = "print('x' * (12 << 20))"
        self.engine.run("new", "cut")
        done = self.engine.run("exec", "cut", "-c", code)
        self.assertIn("retort: stdout: 2097153 bytes over the limit of 10 MiB: a new session can have a higher one: "
                      "retort session new --output-limit SIZE\n", done.err)
        self.assertEqual(self.engine.run("exec", "cut", "--quiet", "-c", code).err, "")
        done = repl.pipe(code + "\n", "--output-limit", "1m")
        self.assertIn("retort: stdout: 11534337 bytes over the limit of 1 MiB: start with a higher one: "
                      "retort repl --output-limit SIZE\n", done.err)

    def test_options_are_named_and_no_parameters(self):
        self.engine.run("new", "named")
        self.engine.run("exec", "named", "-c", "import os; os.mkdir('d')")
        for args, said in ((("prune",), "which sessions: `--older-than`, `--keep` or `--all`: `--all` forgets all closed sessions"),
                           (("files", "named", "--remove", "d"), "with everything in it: `--recursive`"),
                           (("exec", "named", "x.zzz"), "name its language: `-r`, with one of python"),
                           (("exec", "named", "x.csv"), "`retort session files --put` copies it in")):
            with self.subTest(args=args):
                where = harness.make_dir()
                with open(os.path.join(where, args[-1]) if "exec" in args else os.devnull, "w", encoding="ascii"):
                    done = self.engine.run(*args, cwd=where)
                self.assertIn(said, done.err)

    def test_more_of_a_limit_is_given_where_it_can_be(self):
        self.engine.run("new", "small", "-m", "64m")
        for code, options, hint in (
                ("x = bytearray(1 << 30)", (), "a new session can have more: retort session new --memory SIZE"),
                ("import time; time.sleep(60)", ("--timeout", "200ms"), "give it more with --timeout")):
            done = self.engine.run("exec", "small", *options, "-c", "import os\n" + code)
            self.assertTrue("MemoryError" in done.err or hint + "\n" in done.err, repr(done))
        done = repl.pipe("import time; time.sleep(60)\n", "--timeout", "200ms")
        self.assertIn(": start with more: retort repl --timeout TIME\n", done.err)

    def test_input_that_is_over(self):
        self.engine.run("new", "eof")
        self.assertIn("--stdin FILE", self.engine.run("exec", "eof", "-c", "input()").err)
        done = repl.pipe("input()\n")
        self.assertIn("there was no more input: Ctrl-D ends it, and so does the end of a pipe or file", done.err)
        self.assertNotIn("--stdin", done.err)

    def test_the_failure_of_a_tool_has_its_lines(self):
        path = os.path.join(harness.make_dir(), "mcp.json")
        with open(path, "w", encoding="ascii") as f:
            json.dump({"mcpServers": {"r": {"command": harness.RETORT, "args": ["mcp"]}}}, f)
        code = json.dumps({"code": "def f(): 1/0\nf()  # " + 300 * "x"})
        done = harness.retort("tools", "call", "--yes", "--mcp-config", path, "r.run_code", code)
        self.assertEqual((done.status, done.out), (5, ""))
        self.assertTrue(done.err.startswith("retort: r.run_code failed:\nerror: python, "), done.err)
        self.assertTrue(done.err.endswith("\nZeroDivisionError: division by zero\n"), done.err)

    def test_an_interpreter_that_cannot_be_used_is_not_called_missing(self):
        place = harness.make_dir()
        os.symlink("/nowhere/python3", place + "/gone")
        done = harness.retort("run", "--python", place + "/gone", "-c", "1")
        self.assertIn(f"no Python at {place}/gone, which leads to /nowhere/python3: No such file or directory", done.err)
        os.mkdir(place + "/closed", 0)
        os.symlink(place + "/closed/python3", place + "/python3")
        if os.geteuid() != 0:
            done = harness.retort("run", "--python", place + "/python3", "-c", "1")
            self.assertIn(f"no Python at {place}/python3, which leads to {place}/closed/python3: Permission denied: "
                          "this user may not read and run it", done.err)
            os.symlink(place + "/closed/node", place + "/node")
            for options in (("-r", "javascript", "--python", place + "/node"), ("--python", place + "/closed/python3"),
                            ("-v", place + "/closed/d.csv:d.csv"), ("-w", place + "/closed/w"), ("--rootfs", place + "/closed/r")):
                with self.subTest(options=options):
                    done = harness.retort("run", *options, "-c", "1")
                    self.assertIn("Permission denied: ", done.err)
                    self.assertNotRegex(done.err, "install|: name a ")
        with open(place + "/mcp.json", "w", encoding="ascii") as f:
            json.dump({"mcpServers": {"r": {"command": "no-such-command"}}}, f)
        done = harness.retort("tools", "list", "--mcp-config", place + "/mcp.json",
                              env={"PATH": f"{place}/closed:{os.environ['PATH']}"})
        self.assertIn("no-such-command does not start: no such file or directory", done.err.lower())

    def test_an_agent_in_a_pipe_says_what_it_waits_for(self):
        busy = model_server.error(500, {"error": {"message": "busy"}}, retry_after_ms="1")
        for options, n in (((), 1), (("--quiet",), 0), (("--json",), 0)):
            with model_server.Server(busy, model_server.error(400, {"error": {"message": "no"}})) as server:
                done = harness.retort("agent", "-M", f"{server.url}/v1#x", *options, "Go.", env={"RETORT_MODEL_KEY": "k"})
                self.assertEqual(done.err.count(": trying again in 0.0 s\n"), n, done.err)

    def test_an_option_behind_the_code_is_told(self):
        for options, is_told in ((("--json",), True), (("-m", "1g"), True), (("--memory=1g",), True), (("--", "--json"), False),
                                 (("json",), False), (("--mine",), False), (("-",), False)):
            done = harness.retort("run", "-c", "import sys; print(len(sys.argv))", *options)
            self.assertEqual(done.out, f"{len(options) + 1}\n", options)
            self.assertEqual(f"retort: {options[0]} behind -c CODE is the program's argument" in done.err, is_told, repr(done))
        self.assertEqual(harness.retort("run", "--quiet", "-c", "1", "--json").err, "")

    def test_a_file_that_is_here_is_given_as_the_command_can(self):
        place = harness.make_dir()
        with open(place + "/orders.csv", "w", encoding="ascii") as f:
            f.write("a\n")
        self.engine.run("new", "here")
        done = self.engine.run("exec", "here", "-c", "open('orders.csv')", cwd=place)
        self.assertIn("the box does not see it: retort session files SESSION --put orders.csv\n", done.err)


class Near(harness.Case):
    """A file that was meant is named: where it is certain, in every front."""

    @classmethod
    def setUpClass(cls):
        cls.place = harness.make_dir()
        os.makedirs(cls.place + "/data")
        os.makedirs(cls.place + "/proj")
        for path, text in (("data/sales.csv", "a\n1\n"), ("proj/helper.py", "x = 1\n"), ("proj/main.py", "import helper\n"),
                           ("proj/in.csv", "1\n")):
            with open(f"{cls.place}/{path}", "w", encoding="ascii") as f:
                f.write(text)
        db = sqlite3.connect(cls.place + "/shop.db")
        db.execute("create table customers(a)")
        db.commit()
        db.close()

    def hints(self, code, *options):
        return harness.retort("run", "-v", "data:data", *options, "-c", code, cwd=self.place).err

    def test_a_file_in_a_volume(self):
        for code in ("open('sales.csv')", f"open('{self.place}/data/sales.csv')", "open('/mnt/data/sales.csv')"):
            self.assertIn("retort: hint: there is /home/user/data/sales.csv\n", self.hints(code), code)
        self.assertNotIn("there is", self.hints("open('none.csv')"))
        self.assertNotIn("there is", self.hints("raise FileNotFoundError('x')"))
        with Mcp("-v", self.place + "/data:data") as mcp:
            self.assertIn("\nhint: there is /home/user/data/sales.csv\n", mcp.run("open('sales.csv')").text)
            mcp.run("import os; os.mkdir('sub'); open('sub/own.txt', 'w').close()")
            done = mcp.run("open('own.txt')")
            self.assertEqual(done.record["error"]["near"], "sub/own.txt")
            self.assertIn("\nhint: there is /home/user/sub/own.txt\n", done.text)

    def test_a_full_disk(self):
        """In each language, and in each front with its own way to get more."""
        full = "hint: the files of a box have limits: "
        for runtime, code in (("python", "open('x', 'wb').write(bytes(9 << 20))"),
                              ("javascript", "require('fs').writeFileSync('x', Buffer.alloc(9 << 20))"),
                              ("shell", "dd if=/dev/zero of=x bs=1M count=9"),
                              ("sql", "CREATE TABLE t AS SELECT zeroblob(9000000)")):
            for option in "--disk", "--file-size":
                if (runtime, option) != ("sql", "--file-size"):  # SQLite reports "disk I/O error", as for a broken disk
                    self.assertIn(full + "give more with --disk", self.hints(code, "-r", runtime, option, "4m"), (runtime, option))
        with Mcp("--disk", "4m") as mcp:
            self.assertIn(full + "remove what", mcp.run("open('x', 'wb').write(bytes(9 << 20))").text)

    def test_a_command_that_the_memory_limit_ended(self):
        """The shell reports only that it was killed."""
        done = harness.record("cat /dev/zero | head -c 300m | tail", "-r", "shell", "--memory", "64m")
        if done["limits"]["memory_bytes"].get("by") == "engine":
            self.assertEqual(done["status"], "oom")  # without a cgroup, the step ends
            return
        self.assertEqual((done["status"], done["exit_code"]), ("error", 137))
        self.assertIn("hint: the memory limit ended a process of this step: give it more with --memory",
                      self.hints("cat /dev/zero | head -c 300m | tail", "-r", "shell", "--memory", "64m"))

    def test_a_module(self):
        """Of what the session's interpreter has, in each front, for its own words."""
        venv = self.place + "/venv"
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        packages = glob.glob(venv + "/lib/python3*/site-packages")[0]
        os.mkdir(packages + "/tabulate-0.9.0.dist-info")
        with open(packages + "/tabulate.py", "w", encoding="ascii") as f:
            f.write("x = 1\n")
        said = "Did you mean tabulate? "
        self.assertIn(said + "Give it one for packages: --net pypi", harness.retort("run", "--python", venv, "-c", "import tabluate").err)
        self.assertNotIn("Did you", harness.retort("run", "--python", venv, "-c", "import no_such").err)
        self.assertNotIn("Did you", harness.retort("run", "--python", venv, "-c", "import tabulate.no_such").err)
        with Mcp("--python", venv) as mcp:
            self.assertIn(said + "Whoever starts", mcp.run("import tabluate").text)
        engine = test_session.Engine()
        self.addCleanup(engine.stop)
        self.assertEqual(engine.run("new", "near", "--python", venv).status, 0)
        self.assertIn(said + "Give it one for packages", engine.run("exec", "near", "-c", "import tabluate").err)
        child = "python3 -c 'import tabulate; print(tabulate.x)'"
        self.assertEqual(engine.run("exec", "near", "-r", "shell", "-c", child).out, "1\n")
        code = f"String(require('child_process').execSync(`{child}`))"
        self.assertIn("1", engine.run("exec", "near", "-r", "javascript", "-c", code).out)
        step = test_session.request(1, "step.run", session="near", code="import tabluate")
        error = engine.call(step)[0]["result"]["error"]
        self.assertEqual(error["near"], "tabulate")
        self.assertIn(said + "Give it one with `session.net`", error["hint"])

    @harness.needs_shell_or_sql
    def test_a_table(self):
        self.assertIn('hint: there is data/sales.csv: FROM "data/sales.csv"\n', self.hints("select * from sales", "-r", "sql"))
        self.assertEqual(self.hints('select * from "data/sales.csv"', "-r", "sql"), "")
        self.assertIn("hint: there is a database shop.db: ATTACH 'shop.db' AS other; its tables are other.NAME then\n",
                      self.hints("select * from customers", "-r", "sql", "-v", "shop.db"))
        self.assertEqual(self.hints("ATTACH 'shop.db' AS other; select * from other.customers", "-r", "sql", "-v", "shop.db"), "")

    @harness.needs_shell_or_sql
    def test_a_table_of_another_encoding(self):
        with open(self.place + "/data/latin.csv", "wb") as f:
            f.write("n\nM\xfcller\n".encode("latin-1"))
        done = harness.retort("run", "-v", "data:data", "-r", "sql", "-c", 'select * from "data/latin.csv"', cwd=self.place)
        self.assertIn("M\\xfcller", done.out)
        self.assertIn("retort: note: bytes that are not UTF-8 are shown as \\xNN", done.err)

    def test_what_lies_beside_the_program(self):
        for options in ((), ("-v", "proj:proj")):
            done = harness.retort("run", *options, "proj/main.py", cwd=self.place)
            self.assertIn("proj/helper.py is here, but the box does not see it: -v proj/helper.py:helper.py\n", done.err)
        done = harness.retort("run", "-v", "proj/helper.py:helper.py", "proj/main.py", cwd=self.place)
        self.assertEqual((done.status, done.err), (0, ""))


class Repl(harness.Case):
    def test_the_runtime_stays_over_sessions(self):
        done = repl.pipe("%runtime sh\n%branch b\n%runtime\n%switch main\n%runtime\n%reset\n%runtime\n"
                         "%runtime py\n%runtime\n")
        self.assertEqual([line.split()[0] for line in done.out.splitlines()], ["shell"] * 3 + ["python"], repr(done))

    @harness.needs_shell_or_sql
    def test_a_shell_asks_the_person(self):
        """What is typed while `read`, or a program that the shell waits for, reads is theirs."""
        t = repl.Terminal("-r", "shell", "--timeout", "2s")
        t.wait("shell> ")
        for code, typed, shown in (('read -p "n? " z; echo "<$z>"', "bob", "<bob>\r\n"), ("head -n 1 | tr a-z A-Z", "abc", "ABC\r\n")):
            t.type(code + "\r")
            t.wait(code[-5:])
            time.sleep(2.5)  # longer than its limit
            t.type(typed + "\r")
            t.wait(shown)
            t.wait("shell> ")
        t.type("sleep 1\r")
        t.wait("sleep 1")
        t.type("echo mi''ne\r")  # nobody reads: a statement
        t.wait("mine\r\n")
        t.type("\x04")
        t.end()

    def test_help_has_two_columns(self):
        lines = [line for line in repl.pipe("%help\n").out.splitlines() if line.startswith("%")]
        for line in lines:
            self.assertRegex(line, r"^%\w+ .*  \S")
        self.assertEqual(len({re.match(r"%\w+ .*?  +(?=\S)", line).end() for line in lines}), 1, lines)


if __name__ == "__main__":
    harness.main()
