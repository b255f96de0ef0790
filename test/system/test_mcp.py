# SPDX-License-Identifier: Apache-2.0
"""retort as a tool of agents: `retort mcp` on stdio, /mcp of `retort serve`; both eras of the protocol."""

import base64
import json
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from mcp_client import META, MODERN, WAIT_S, Failed, Http, Mcp, Result, await_that  # noqa: E402

IDENTITY = "user"
try:
    import matplotlib  # noqa: F401
    HAS_PLOTS = True
except ImportError:
    HAS_PLOTS = False


class Start(harness.Case):
    def test_nothing_is_made_before_the_first_call(self):
        home = harness.make_dir()
        env = {"HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_RUNTIME_DIR": home}
        with Mcp(env=env) as mcp:
            mcp.call("tools/list")
            mcp.call("resources/templates/list")
            self.assertEqual(mcp.call("resources/list")["resources"], [])
            mcp.call("server/discover", _meta=MODERN)
            with self.assertRaises(Failed):
                mcp.tool("no_such_tool")
            self.assertTrue(mcp.run(5).is_error)
            self.assertEqual((mcp.children(), os.listdir(home)), ([], []))
            self.assertEqual(mcp.run("6 * 7").record["value"]["text/plain"], "42")
            self.assertNotEqual(mcp.children(), [])
            self.assertEqual(os.listdir(home), [])
            self.assertEqual(mcp.said(), "")

    def test_every_handshake(self):
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            with self.subTest(version), Mcp(version=version) as mcp:
                self.assertEqual(mcp.about["protocolVersion"], version)
                about = mcp.about["serverInfo"]
                self.assertEqual((about["name"], f"retort {about['version']}\n"), ("retort", harness.retort("version").out))
                self.assertLessEqual(len(mcp.about["instructions"]), 600)

    def test_without_a_handshake(self):
        with Mcp(version=None) as mcp:
            found = mcp.call("server/discover", _meta=MODERN)
            self.assertEqual(found["supportedVersions"], ["2026-07-28"])
            names = [t["name"] for t in mcp.call("tools/list", _meta=MODERN)["tools"]]
            self.assertEqual(names[0], "run_code")
            first = mcp.tool("run_code", _meta=MODERN, code="x = 20")
            self.assertEqual(first.raw["resultType"], "complete")
            self.assertEqual(first.raw["_meta"][META + "serverInfo"]["name"], "retort")
            self.assertIn("value: 22", mcp.tool("run_code", _meta=MODERN, code="x + 2").text)
            with self.assertRaises(Failed) as caught:
                mcp.call("tools/list", _meta={**MODERN, META + "protocolVersion": "2099-01-01"})
            self.assertEqual(caught.exception.code, -32022)

    def test_wrong_use(self):
        for options in (["--offer", "some"], ["--tools", "/none.json"], ["extra"], ["--state", "x" * 5000]):
            done = harness.retort("mcp", *options)
            self.assertEqual((done.status, done.stdout), (2, b""), options)

    def test_tiers(self):
        with Mcp("--offer", "minimal") as mcp:
            names = [t["name"] for t in mcp.call("tools/list")["tools"]]
            self.assertEqual(names, ["run_code", "run_wait", "read_output"])
            with self.assertRaises(Failed) as caught:
                mcp.tool("read_file", path="x")
            self.assertEqual(caught.exception.code, -32602)


class Running(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.mcp = Mcp()

    @classmethod
    def tearDownClass(cls):
        cls.mcp.__exit__(None, None, None)

    def test_state_lives_on(self):
        first = self.mcp.run("a = 40\nprint('set')", session="state")
        self.assertRegex(first.text, r"^ok: python, \d+ ms, in a new session\nstdout: set$")
        self.assertRegex(self.mcp.run("a + 2", session="state").text, r"^ok: python, \d+ ms\nvalue: 42$")
        self.assertFalse(first.is_error)
        self.assertNotIn("structuredContent", first.raw)

    def test_failures_tell_where_and_keep_the_state(self):
        self.mcp.run("b = 1", session="fail")
        done = self.mcp.run("b += 1\nd = {}\nd['price']", session="fail")
        self.assertTrue(done.is_error)
        self.assertRegex(done.text.splitlines()[0], r"^error: python, \d+ ms, KeyError: 'price' \(line 3\)")
        self.assertEqual(done.text.count("Traceback"), 1)
        self.assertIn("value: 2", self.mcp.run("b", session="fail").text)

    @harness.needs_shell_or_sql
    def test_what_sql_has_undone_is_not_said_to_be_kept(self):
        self.mcp.run("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)", runtime="sql", session="undone")
        for code, words in (("INSERT INTO t VALUES (5); SELECT * FROM nosuch", "undone: what the step wrote"),
                            ("PRAGMA user_version = 3; SELECT * FROM nosuch", "undone: what the step wrote after its last BEGIN, COMMIT, "
                             "PRAGMA or the like; what it did before is kept")):
            done = self.mcp.run(code, runtime="sql", session="undone")
            self.assertTrue(done.text.splitlines()[0].endswith(f", exit 1, {words}"), done.text)
            self.assertEqual("files:" in done.text, "PRAGMA" in code)

    def test_what_the_first_line_says_is_not_said_again(self):
        for code, rest in (("import sys; sys.exit('why not')", []), ("raise SystemExit(3)", []), ("import os; os._exit(3)", []),
                           ("import sys; print('well', file=sys.stderr); sys.exit('why not')", ["stderr: well"]),
                           ("import sys; print('well, why not', file=sys.stderr, end=''); sys.exit('why not')",
                            ["stderr: well, why notwhy not"]),
                           ("import sys; sys.exit('why\\nnot')", ["error:", "SystemExit", "why", "not"])):
            with self.subTest(code=code):
                self.assertEqual(self.mcp.run(code, session="once").text.splitlines()[1:], rest)

    def test_files_that_are_not_shown_are_looked_for_where_they_are(self):
        make, end = "for i in range(30): open(f'{i:02}', 'w').close()", "import os\nfor i in range(30): os.remove(f'{i:02}')"
        for code, left in ((make, "  … and 10 more: list_files"), (end + "\nopen('zz', 'w').close()", "  … and 11 more, 10 of them deleted: list_files"),
                           (make + "\nos.remove('zz')", "  … and 11 more, 1 of them deleted: list_files"), (end, "  … and 10 more, deleted")):
            self.assertIn(left, self.mcp.run(code, session="left").text.splitlines(), code)

    def test_links_are_in_no_list_and_that_is_said(self):
        done = self.mcp.run("import os; os.symlink('target', 'link'); open('target', 'w').close()", session="links")
        self.assertEqual([f["path"] for f in done.record["files"]], ["target"])
        self.assertEqual(self.mcp.tool("list_files", session="links").text, "target (0 bytes)\n")
        (about,) = [t["description"] for t in self.mcp.call("tools/list")["tools"] if t["name"] == "list_files"]
        self.assertIn("not links", about)

    def test_what_takes_too_long_is_rolled_back(self):
        self.mcp.run("c = 1", session="slow")
        done = self.mcp.run("c = 2\nwhile True: pass", session="slow", timeout_ms=500)
        self.assertTrue(done.is_error)
        self.assertEqual(done.record["status"], "timeout")
        self.assertIn(done.record["state"]["outcome"], ("rolled_back", "committed"))
        value = {"rolled_back": "1", "committed": "2"}[done.record["state"]["outcome"]]
        self.assertIn("value: " + value, self.mcp.run("c", session="slow").text)

    def test_the_time_between_two_calls_counts_against_none(self):
        """Clients think for longer than a limit, and few ask for progress."""
        for session in ("limit", "wait"):
            self.mcp.run("import time", session=session)
        time.sleep(2)
        began = time.monotonic()
        limited = self.mcp.send("tools/call", name="run_code",
                                arguments={"code": "time.sleep(60)", "session": "limit", "timeout_ms": 1000})
        waited = self.mcp.run("time.sleep(60)", session="wait", timeout_ms=60000, wait_ms=1000)
        self.assertGreaterEqual(time.monotonic() - began, 0.9)
        self.assertEqual(waited.record["status"], "running")
        record = Result(self.mcp.answer(limited)).record
        self.assertEqual(record["status"], "timeout")
        self.assertGreaterEqual(record["usage"]["wall_ms"], 900)
        self.mcp.tool("run_wait", run_id=waited.record["run"], action="kill")

    def test_a_step_that_had_to_wait_says_so(self):
        self.mcp.run("import time", session="queue")
        first = self.mcp.send("tools/call", name="run_code", arguments={"code": "time.sleep(1.5)", "session": "queue"})
        second = self.mcp.run("1", session="queue")
        self.assertNotIn("queued", Result(self.mcp.answer(first)).text)
        self.assertRegex(second.text, r"^ok: python, \d+ ms, queued \d+\.\d s before\nvalue: 1$")

    def test_a_crash_costs_the_step_only(self):
        self.mcp.run("e = 1", session="crash")
        done = self.mcp.run("import os\ne = 2\nos.kill(os.getpid(), 11)", session="crash")
        self.assertIn("rolled back: variables and files are as before this step", done.text)
        self.assertIn("value: 1", self.mcp.run("e", session="crash").text)
        self.mcp.run("open('/tmp/t', 'w')", session="crash")
        done = self.mcp.run("import os; open('/tmp/t', 'w').write('1'); os._exit(1)", session="crash")
        self.assertIn("as before this step, but for /tmp/t", done.text.splitlines()[0])

    def test_reset(self):
        self.mcp.run("f = 1", session="again")
        done = self.mcp.run("'f' in globals()", session="again", reset=True)
        self.assertIn("in a new session\nvalue: False", done.text)
        self.assertIn("value: 1", self.mcp.run("1", session="never-was", reset=True).text)

    def test_an_id_that_is_none_is_not_made(self):
        done = self.mcp.run("1", session="s-nosuch")
        self.assertTrue(done.is_error)
        self.assertIn("s-nosuch", done.text)

    def test_parameters_are_named(self):
        wrong = [({"code": 5}, "code"), ({}, "code"), ({"code": "1", "wait_ms": 99999}, "wait_ms"),
                 ({"code": "1", "runtme": "sql"}, "runtime"), ({"code": "1", "runtime": "perl"}, "runtime"),
                 ({"code": "1", "reset": "yes"}, "reset"), ({"code": "1", "session": ""}, "session")]
        for arguments, name in wrong:
            with self.subTest(name):
                done = self.mcp.tool("run_code", **arguments)
                self.assertTrue(done.is_error)
                self.assertIn(name, done.text)

    def test_what_helps_is_said_with_the_failure(self):
        rows = [
            ("import no_such_module", "hint: nothing can be installed here without a network."),
            ("import urllib.request as u\nu.urlopen('http://example.invalid')", "hint: there is no network"),
            ("import socket\nsocket.create_connection(('192.0.2.1', 80))", "hint: there is no network"),
            ("input()", "hint: nobody types here: call run_code with interactive true"),
            ("open('/mnt/data/x.csv')", "the working directory is /home/user"),
            ("import sys; sys.stderr.write('error: externally-managed-environment')", "hint: nothing can be installed"),
            ("raise ImportError(\"Missing optional dependency 'Jinja2'. Use pip or conda to install Jinja2.\")",
             "hint: nothing can be installed"),
        ]
        for code, hint in rows:
            self.assertIn(hint, self.mcp.run(code, session="help").text, code)
        if HAS_PLOTS:
            self.assertRegex(self.mcp.run("import no_such_module", session="help").text, r"There is numpy [0-9.]+.*matplotlib [0-9.]+")
        for code in ("open('none')", "1 / 0", "1", "import sys; sys.stderr.write('Network is unreachable'); 1 / 0",
                     "import socket\nsocket.create_connection(('127.0.0.1', 9))",
                     "try: import no_such_module\nexcept ImportError: pass", "raise EOFError('of a file')"):
            self.assertNotIn("hint:", self.mcp.run(code, session="help").text, code)

    @harness.needs_shell_or_sql
    def test_a_step_that_ends_itself_is_told_to_have(self):
        kept, lost = "ended itself with status 0, its changes are kept", "ended itself with status 0, rolled back: "
        rows = [("python", code, kept) for code in ("exit()", "import sys; sys.exit(0)", "quit(0)", "raise SystemExit")]
        rows += [("python", "import os; os._exit(0)", lost), ("shell", "exit", kept), ("shell", "exit 0; echo no", kept),
                 ("sql", ".exit", kept), ("sql", "select 1;\n.quit", kept)]
        rows += [("javascript", "process.exit()", lost)] if shutil.which("node") else []
        for runtime, code, words in rows:
            with self.subTest(code):
                self.mcp.tool("run_code", code="x = 5", session="exits")
                done = self.mcp.tool("run_code", code=code, runtime=runtime, session="exits")
                self.assertFalse(done.is_error)
                self.assertIs(done.record["exited"], True)
                self.assertIn(words, done.text.splitlines()[0])
                self.assertNotIn("print something", done.text)
                self.assertEqual(self.mcp.tool("run_code", code="x", session="exits").record["value"]["text/plain"], "5")
        for runtime, code, words in (("python", "import sys; sys.exit(3)", "exit 3, its changes are kept"),
                                     ("python", "import sys; sys.exit('no')", "SystemExit: no, exit 1, its "
                                                                              "changes are kept"),
                                     ("python", "import os; os._exit(3)", "ended itself with status 3, exit 3, rolled back"),
                                     ("shell", "exit 3", "exit 3, its changes are kept")):
            with self.subTest(code):
                done = self.mcp.tool("run_code", code=code, runtime=runtime, session="exits")
                self.assertEqual((done.is_error, done.record["exited"]), (True, True))
                self.assertIn(words, done.text.splitlines()[0])
        for runtime, code in (("python", "pass"), ("python", "1 / 0"), ("shell", "false"), ("shell", "(exit 3)"), ("sql", "select 1")):
            self.assertNotIn("exited", self.mcp.tool("run_code", code=code, runtime=runtime, session="exits").record, code)

    def test_hints_name_the_tools_of_models(self):
        self.mcp.run("1", session="hints")
        for tool, arguments, hint in (("read_file", {"path": "no.csv"}, "`list_files` lists them"),
                                      ("run_code", {"code": "1", "session": "s-none"}, "`sessions {\"action\": \"list\"}` lists them"),
                                      ("sessions", {"action": "log", "session": "none"}, "`sessions {\"action\": \"list\"}` lists them")):
            done = self.mcp.tool(tool, **{"session": "hints", **arguments})
            self.assertTrue(done.is_error)
            self.assertTrue(done.text.endswith(hint), done.text)

    @harness.needs_shell_or_sql
    def test_languages_have_more_than_one_name(self):
        for name, runtime in (("bash", "shell"), ("sh", "shell"), ("py", "python"), ("python3", "python"),
                              ("Python", "python"), ("sqlite", "sql"), ("sqlite3", "sql")):
            for parameter in ("language", "runtime"):
                code = "SELECT 1" if runtime == "sql" else "true" if runtime == "shell" else "1"
                done = self.mcp.tool("run_code", code=code, session="names", **{parameter: name})
                self.assertEqual((done.record["status"], done.record["runtime"]), ("ok", runtime), name)
        done = self.mcp.tool("run_code", code="1", language="py", runtime="shell")
        self.assertIn("language: means the same as runtime, which is given too: give one of the two", done.text)

    @harness.needs_shell_or_sql
    def test_a_session_has_the_language_of_its_first_call(self):
        self.mcp.run("SELECT 1", runtime="sql", session="first")
        self.assertEqual(self.mcp.run("SELECT 2", session="first").record["runtime"], "sql")
        self.assertEqual(self.mcp.run("x = 3", runtime="python", session="first").record["status"], "ok")
        self.assertEqual(self.mcp.run("SELECT 4", session="first").record["runtime"], "sql")
        self.mcp.tool("sessions", action="branch", session="first", name="second")
        self.assertEqual(self.mcp.run("x", runtime="python", session="second").record["value"]["text/plain"], "3")
        self.assertEqual(self.mcp.run("SELECT 5", session="second").record["runtime"], "sql")
        done = self.mcp.run("true", runtime="shell", session="first", reset=True)
        self.assertIn("in a new session", done.text)
        self.assertEqual(self.mcp.run("true", session="first").record["runtime"], "shell")
        self.mcp.tool("write_file", path="a", content="1", session="third")
        self.mcp.run("SELECT 6", runtime="sql", session="third")
        self.assertEqual(self.mcp.run("7", session="third").record["runtime"], "python")
        with Mcp("--preload", "json") as client:
            client.run("SELECT 8", runtime="sql")
            self.assertEqual(client.run("8 + 1").record["value"]["text/plain"], "9")

    @harness.needs_shell_or_sql
    def test_other_runtimes(self):
        self.mcp.run("open('t.csv', 'w').write('n\\n40\\n2\\n')", session="many")
        self.assertIn("40", self.mcp.run("cat t.csv", runtime="shell", session="many").text)
        self.assertIn("42", self.mcp.run("SELECT 40 + 2", runtime="sql", session="many").text)

    def test_output_is_cut_and_can_be_read(self):
        done = self.mcp.run("for i in range(5000): print('line', i)", session="long")
        self.assertLessEqual(len(done.text), 10000)
        self.assertIn("line 0\n", done.text)
        self.assertIn("line 4999", done.text)
        run = done.record["run"]
        self.assertIn(f'read_output {{"run_id": "{run}", "stream": "stdout"}}', done.text)
        found = self.mcp.tool("read_output", run_id=run, grep="line 3333")
        self.assertIn("line 3333", found.text)
        part = self.mcp.tool("read_output", run_id=run, offset=7, limit=7)
        self.assertTrue(part.text.endswith("\nline 1\n"), part.text)
        whole = self.mcp.call("resources/read", uri=f"retort://run/{run}/stdout")["contents"][0]
        self.assertEqual(len(whole["text"].splitlines()), 5000)
        self.assertTrue(self.mcp.tool("read_output", run_id="r-none").is_error)

    def test_terminals_are_not_spoken_to(self):
        done = self.mcp.run("print('\\x1b[31mred\\x1b[0m 10%\\r100%')", session="colour")
        self.assertTrue(done.text.endswith("stdout: 100%"), done.text)

    @harness.needs_shell_or_sql
    def test_what_a_program_prints_is_shown_whatever_it_is(self):
        """None of it ends the text before its end."""
        rows = [
            ("print('a\\0b'); print('end1')", ["a\u2400b", "end1"]),
            ("import sys; sys.stdout.buffer.write(b'c\\xff\\0d\\n'); print('end2')", ["c\ufffd\u2400d", "end2"]),
            ("print('\\ud800'); print('end3')", ["end3"]),
            ("print('\\x1b[2J\\x1b]0;title\\x07e\\x7f'); print('end4')", ["e\u2421", "end4"]),
            ("for i in range(9): print(i, end='\\r')\nprint('end5')", ["end5"]),
            ("print('x' * 300000); print('end6')", ["characters cut", "end6"]),
            ("class R:\n  def __repr__(self): return 'r1\\0r2\\nend7'\nR()", ["r1\u2400r2", "end7"]),
            ("raise ValueError('bad\\0byte end8')", ["ValueError: bad\u2400byte end8"]),
            ("type('N\\0ame' if 0 else 'Name', (Exception,), {})('m\\ud800end9')", ["end9"]),
            ("open('n\\x01\\ud800'.encode('utf-8', 'replace'), 'w'); print('end10')", ["end10"]),
        ]
        for code, wanted in rows:
            done = self.mcp.run(code, session="bytes")
            for part in wanted:
                self.assertIn(part, done.text, code)
        run = self.mcp.run("print('a\\0b'); print('end')", session="bytes").record["run"]
        self.assertIn("a\u2400b\nend", self.mcp.tool("read_output", run_id=run).text)
        done = self.mcp.run("printf 'a\\000b\\n'; echo end", session="bytes", runtime="shell")
        self.assertIn("a\u2400b\nend", done.text)

    def test_long_runs_answer_and_go_on(self):
        done = self.mcp.run("import time\nprint('begun', flush=True)\ntime.sleep(600)", session="wait",
                            wait_ms=0, timeout_ms=600000)
        self.assertFalse(done.is_error)
        run = done.record["run"]
        self.assertIn(f'Call run_wait with run_id "{run}"', done.text.splitlines()[0])
        await_that(lambda: "begun" in self.mcp.tool("run_wait", run_id=run, wait_ms=0).text, "no output")
        done = self.mcp.tool("run_wait", run_id=run, action="interrupt")
        self.assertEqual(done.record["status"], "killed")
        self.assertTrue(done.is_error)
        self.assertTrue(self.mcp.tool("run_wait", run_id="r-none").is_error)

    def test_programs_may_be_talked_to(self):
        done = self.mcp.run("input()", session="talk")
        self.assertIn("EOFError", done.text)
        done = self.mcp.run("name = input('who? ')\n'hello ' + name", session="talk", interactive=True, wait_ms=0)
        done = self.mcp.tool("run_wait", run_id=done.record["run"], stdin="you\n")
        self.assertIn("value: 'hello you'", done.text)
        self.assertTrue(self.mcp.tool("run_wait", run_id=done.record["run"], stdin="x").is_error)

    def test_heartbeats_come_only_when_asked_for(self):
        self.mcp.notes.clear()
        code = "import time\nprint('a line', flush=True)\ntime.sleep(11)"
        self.mcp.tool("run_code", _meta={"progressToken": 0}, code=code, session="beat")
        notes = [n["params"] for n in self.mcp.notes]
        self.assertTrue(notes)
        self.assertEqual({n["progressToken"] for n in notes}, {0})
        self.assertEqual({n["message"] for n in notes}, {"a line"})
        rising = [n["progress"] for n in notes]
        self.assertEqual(rising, sorted(set(rising)))

    def test_a_step_that_waits_for_input_is_told_to(self):
        code = "a = input('first? ')\nb = input('second? ')\n[a, b]"
        done = self.mcp.run(code, session="asks", interactive=True, wait_ms=50000)
        self.assertEqual(done.record["waiting"], "stdin")
        run = done.record["run"]
        words = f'so far, waits for input. Call run_wait with run_id "{run}" and stdin, a line with its \\n.'
        self.assertIn(words, done.text.splitlines()[0])
        self.assertEqual(self.mcp.tool("run_wait", run_id=run, wait_ms=50000).record["waiting"], "stdin")
        done = self.mcp.tool("run_wait", run_id=run, stdin="one\n", wait_ms=50000)
        self.assertEqual(done.record["waiting"], "stdin")
        self.assertIn("second? ", done.text)
        done = self.mcp.tool("run_wait", run_id=run, stdin="two\n", wait_ms=50000)
        self.assertEqual((done.record["status"], done.record["value"]["text/plain"]), ("ok", "['one', 'two']"))
        self.assertNotIn("waiting", done.record)
        done = self.mcp.run("import time; time.sleep(600)", session="asks", interactive=True, wait_ms=0)
        self.assertNotIn("waiting", done.record)
        self.mcp.tool("run_wait", run_id=done.record["run"], action="kill")

    def test_cancelled_calls_are_interrupted_and_not_answered(self):
        self.mcp.run("g = 1", session="cancel")
        number = self.mcp.send("tools/call", name="run_code",
                               arguments={"code": "import time\ntime.sleep(600)", "session": "cancel",
                                          "timeout_ms": 600000})
        for _ in range(2):
            self.mcp.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": number}})
        self.assertIn("value: 1", self.mcp.run("g", session="cancel").text)
        self.assertNotIn(number, self.mcp.early)

    def test_answers_come_as_they_are_done(self):
        slow = self.mcp.send("tools/call", name="run_code",
                             arguments={"code": "import time\ntime.sleep(2)", "session": "one"})
        self.mcp.run("1", session="two")
        self.assertNotIn(slow, self.mcp.early)
        self.mcp.answer(slow)


class Files(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.mcp = Mcp()

    @classmethod
    def tearDownClass(cls):
        cls.mcp.__exit__(None, None, None)

    def test_new_files_are_linked_and_can_be_read(self):
        done = self.mcp.run("open('a b.txt', 'w').write('text')\nopen('b.bin', 'wb').write(b'\\xff\\0')")
        links = {b["name"]: b for b in done.of_type("resource_link")}
        self.assertIn("a b.txt (created, 4 bytes)", done.text)
        read = self.mcp.call("resources/read", uri=links["a b.txt"]["uri"])["contents"][0]
        self.assertEqual((read["text"], read["mimeType"]), ("text", "text/plain"))
        read = self.mcp.call("resources/read", uri=links["b.bin"]["uri"])["contents"][0]
        self.assertEqual(base64.b64decode(read["blob"]), b"\xff\0")
        listed = [r["name"] for r in self.mcp.call("resources/list")["resources"]]
        self.assertIn("a b.txt", listed)

    def test_resources_that_are_none(self):
        self.mcp.run("open('a', 'w').close()")
        for path in ("/session/default/files/none", "/session/default/files/%\x16\x11", "/session/default/files/../../etc/passwd",
                     "/session/default/files/%2e%2e/%2e%2e/etc/passwd", "/session/default/files/%zz",
                     "/session/default/files/%00", "/session/default/files//etc/passwd", "/session/x",
                     "/run/x", "/run//", "/run/r-none/stdout", "/session/nobody/files/a"):
            with self.subTest(path), self.assertRaises(Failed) as caught:
                self.mcp.call("resources/read", uri="retort:/" + path)
            self.assertEqual(caught.exception.code, -32002)
        with self.assertRaises(Failed) as caught:
            self.mcp.call("resources/read", uri="retort://x", _meta=MODERN)
        self.assertEqual((caught.exception.code, caught.exception.data), (-32602, {"uri": "retort://x"}))

    def test_a_list_of_long_paths_says_what_it_leaves_out(self):
        self.mcp.tool("run_code", session="odd", code=(
            "import os\nd = '/'.join([chr(1) * 250] * 7)\nos.makedirs(d)\n"
            "for i in range(180): open(f'{d}/{i}', 'w').close()"))
        lines = self.mcp.tool("list_files", session="odd").text.strip().splitlines()
        left = re.fullmatch("… and ([0-9]+) more here: list them with code", lines[-1])
        self.assertTrue(left, lines[-1][-200:])
        self.assertEqual(len(lines) - 1 + int(left[1]), 180)

    def test_files_are_written_read_and_listed(self):
        text = "zwölf\n" * 3000
        self.assertFalse(self.mcp.tool("write_file", path="in/t.txt", content=text, session="io").is_error)
        self.assertIn("value: 18000", self.mcp.run("len(open('in/t.txt').read())", session="io").text)
        part = self.mcp.tool("read_file", path="in/t.txt", limit=2, session="io", offset=1)
        self.assertTrue(part.text.startswith("w"), part.text)
        self.assertIn("more from offset 3", part.text)
        part = self.mcp.tool("read_file", path="in/t.txt", session="io")
        self.assertTrue(part.text.startswith("zwölf\nzwölf\n"))
        for data, shown in ((b"\xff\0\xfe", "[application/octet-stream, 3 bytes: no text; read it with code]"),
                            ("M\xfcller;\u20ac\n".encode("cp1252"), "M\xfcller;\x80\n\n[not UTF-8: shown as latin-1]")):
            self.mcp.tool("write_file", path="b", content=base64.b64encode(data).decode(), encoding="base64", session="io")
            self.assertEqual(self.mcp.tool("read_file", path="b", session="io").text, shown)
        self.assertEqual(self.mcp.tool("list_files", path="in", session="io").text.strip(),
                         "in/t.txt (21000 bytes)")
        self.assertTrue(self.mcp.tool("read_file", path="none", session="io").is_error)
        self.assertTrue(self.mcp.tool("read_file", path="../../etc/passwd", session="io").is_error)

    def test_sessions(self):
        self.mcp.run("h = 1", session="main")
        self.mcp.run("h = 2", session="main")
        self.assertIn("main: python, idle, 2 steps", self.mcp.tool("sessions", action="list").text)
        log = self.mcp.tool("sessions", action="log", session="main").text
        self.assertEqual([line.split()[-1] for line in log.strip().splitlines()], ["2", "1"])
        self.mcp.tool("sessions", action="branch", session="main", name="other")
        self.mcp.tool("sessions", action="undo", session="main")
        self.assertIn("value: 1", self.mcp.run("h", session="main").text)
        self.assertIn("value: 2", self.mcp.run("h", session="other").text)
        self.mcp.tool("sessions", action="reset", session="other")
        self.assertIn("value: False", self.mcp.run("'h' in globals()", session="other").text)
        self.assertFalse(self.mcp.tool("sessions", action="close", session="other").is_error)
        self.assertTrue(self.mcp.tool("sessions", action="close", session="other").is_error)

    @unittest.skipUnless(HAS_PLOTS, "no matplotlib on this host")
    def test_plots_are_images(self):
        done = self.mcp.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('p.png')")
        (image,) = done.of_type("image")
        self.assertEqual(image["mimeType"], "image/png")
        self.assertTrue(base64.b64decode(image["data"]).startswith(b"\x89PNG"))
        self.assertNotIn(image["data"], json.dumps(done.record))
        shown = self.mcp.tool("read_file", path="p.png")
        self.assertTrue(base64.b64decode(shown.of_type("image")[0]["data"]).startswith(b"\x89PNG"))


class Options(harness.Case):
    def test_structured(self):
        with Mcp("--structured") as mcp:
            tools = {t["name"]: t for t in mcp.call("tools/list")["tools"]}
            self.assertIn("outputSchema", tools["run_code"])
            self.assertEqual(mcp.run("print(1)").raw["structuredContent"]["stdout"], "1\n")

    def test_old_clients_get_no_links(self):
        with Mcp(version="2025-03-26") as mcp:
            done = mcp.run("open('x', 'w').write('1')")
            self.assertEqual([b["type"] for b in done.blocks], ["text"])
            self.assertIn("x (created, 1 bytes)", done.text)

    def test_options_of_boxes(self):
        home = harness.make_dir()
        with open(home + "/data", "w", encoding="ascii") as f:
            f.write("from the host")
        os.chmod(home, 0o755)
        with Mcp("-v", home + ":in", "-e", "WHO=me", "--timeout", "1s") as mcp:
            self.assertIn("from the host me", mcp.run(
                "import os\nprint(open('in/data').read(), os.environ['WHO'])").text)
            self.assertEqual(mcp.run("while True: pass").record["status"], "timeout")
            tools = {t["name"]: t for t in mcp.call("tools/list")["tools"]}
            self.assertIs(tools["run_code"]["annotations"]["destructiveHint"], False)
        with Mcp("-v", home + ":in:rw") as mcp:
            tools = {t["name"]: t for t in mcp.call("tools/list")["tools"]}
            self.assertNotIn("destructiveHint", tools["run_code"]["annotations"])

    def test_the_model_is_told_what_it_was_given(self):
        with tempfile.TemporaryDirectory(dir=harness.TMP) as place:
            os.chmod(place, 0o755)
            os.makedirs(os.path.join(place, "data", "deep"))
            for name in ("data/orders.csv", "data/deep/x.csv", "notes.txt"):
                with open(os.path.join(place, name), "w", encoding="ascii") as f:
                    f.write("a,b\n")
            with Mcp("-v", place + "/data:data", "-v", place + "/notes.txt", "-m", "512m", "--timeout", "7s") as mcp:
                told = mcp.about["instructions"]
                for part in ("data/ (read-only): deep/, orders.csv (4 B)", "notes.txt (4 B, read-only)",
                             "512 MiB of memory, 7 s per step"):
                    self.assertIn(part, told)
                text = mcp.call("tools/list")["tools"][0]["description"]
                self.assertIn("orders.csv", text)
                if HAS_PLOTS:
                    self.assertRegex(text, r"Python with numpy [0-9.]+.* matplotlib [0-9.]+")
                listed = mcp.tool("list_files").text.strip().splitlines()
                self.assertEqual(listed, ["data/deep/x.csv (4 bytes, volume)", "data/orders.csv (4 bytes, volume)",
                                          "notes.txt (4 bytes, volume)"])
                self.assertEqual(len(mcp.tool("list_files", path="data/deep").text.strip().splitlines()), 1)
                mcp.run("open('own.txt', 'w').write('1')")
                self.assertIn("own.txt (1 bytes)\n", mcp.tool("list_files").text)
        with Mcp() as mcp:
            self.assertNotIn("given", mcp.about["instructions"])
            self.assertIn("does not exist yet", mcp.tool("list_files").text)

    def test_options_are_checked_when_it_starts(self):
        for options, part in ((["-v", "./nope:data"], "./nope"), (["--python", "./nope"], "/nope"),
                              (["--python", "no-such-python"], "no-such-python"), (["-w", "./nope"], "./nope"),
                              (["--rootfs", "./nope"], "./nope"), (["--tools", "./nope"], "./nope"),
                              (["-v", "/dev/null:x"], "/dev/null"), (["--policy", "./nope"], "./nope")):
            done = harness.retort("mcp", *options)
            self.assertEqual((done.status, done.out), (2, ""), options)
            self.assertIn(part, done.err)

    def test_what_options_name_is_looked_at_when_it_starts(self):
        top = harness.make_dir()
        wrong, work = os.path.join(top, "wrong"), os.path.join(top, "work")
        os.mkdir(work)
        with open(wrong, "w", encoding="utf-8") as f:
            f.write("rule(((\n")
        rows = [(["--preload", "no_such_module"], "No module named 'no_such_module'"), (["--preload", "json,no_such.part"], "'no_such'"),
                (["--python", "/bin/ls"], "the driver"), (["--state", "/proc/x"], "/proc/x"),
                (["--policy", wrong], f"policy: {wrong}:1:7: P103"), (["--plan-tools", wrong], wrong),
                (["--plans", "--model", "foo"], "model: 'foo'"), (["--model", "openai:x", "--key-file", wrong + "x"], wrong + "x"),
                (["-w", work, "-v", f"{top}:data"], f"create it: mkdir -p {work}/data")]
        for options, part in rows:
            with self.subTest(options):
                done = harness.retort("mcp", *options)
                self.assertEqual((done.status, done.out), (2, ""), done)
                self.assertRegex(done.err, r"^retort: [^\n]*\n$")
                self.assertIn(part, done.err)
        # What files do not tell is asked a box: what is built in is there.
        with Mcp("--preload", "json, time,os.path,itertools") as mcp:
            self.assertIn("value: 42", mcp.run("6 * 7").text)

    def test_typed_at_a_terminal_it_says_what_it_is(self):
        mine, its = os.openpty()
        process = subprocess.Popen([harness.RETORT, "mcp"], stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=harness.environment(None), cwd=harness.TMP)
        os.close(its)
        os.write(mine, b"\x04")
        out, said = process.communicate(timeout=WAIT_S)
        os.close(mine)
        self.assertEqual((process.returncode, out), (0, b""))
        self.assertIn(b"claude mcp add retort -- retort mcp", said)

    def test_state_outlives_the_client(self):
        state = harness.make_dir()
        with Mcp("--state", state) as mcp:
            mcp.run("k = 41")
        with Mcp("--state", state) as mcp:
            done = mcp.run("k + 1")
            self.assertIn("value: 42", done.text)
            self.assertNotIn("in a new session", done.text)

    def test_an_engine_that_cannot_start_is_told(self):
        state = harness.make_dir()
        with Mcp("--state", state) as first, Mcp("--state", state) as second:
            first.run("1")
            done = second.run("1")
            self.assertTrue(done.is_error)
            self.assertIn(state, done.text)
            second.call("ping")


POLICY = """trust(user, policy)
rule("mail.search", effect = read)
rule("mail.send", effect = external, when = trusted,
     to = control(allow = trusted, otherwise = ask), body = payload(otherwise = deny))
"""
PLAN_TOOLS = {"tools": {
    "mail.search": {"inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
                    "outputSchema": {"type": "string"}, "answers": [{"result": "eve@evil.com"}]},
    "mail.send": {"inputSchema": {"type": "object", "properties": {
        "to": {"type": "string"}, "body": {"type": "string"}}},
                  "answers": [{"result": None}]},
}}
ASKING = "mail.send(to = mail.search(query = 'x'))\nprint('sent')\n"


class Plans(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.dir = harness.make_dir()
        for name, text in (("policy", POLICY), ("tools", json.dumps(PLAN_TOOLS))):
            with open(os.path.join(cls.dir, name), "w", encoding="utf-8") as f:
                f.write(text)

    def open(self, **can):
        mcp = Mcp("--policy", self.dir + "/policy", "--plan-tools", self.dir + "/tools", version=None)
        mcp.call("initialize", protocolVersion="2025-11-25", capabilities=can, clientInfo={})
        return mcp

    def test_only_when_they_are_enabled(self):
        with Mcp() as mcp:
            self.assertNotIn("run_plan", [t["name"] for t in mcp.call("tools/list")["tools"]])
        with Mcp("--plans") as mcp:
            self.assertIn("3", mcp.tool("run_plan", plan="print(1 + 2)").text)
            for text in ("'x' * 2000000", r"'\1x' * 1000000"):
                done = mcp.tool("run_plan", plan=f"print({text})")
                self.assertRegex(done.text, r"(?s)^ok\nstdout:\n.*x.*characters cut.*x")

    def test_plans_are_proved_before_they_run(self):
        with self.open() as mcp:
            done = mcp.tool("check_plan", plan="mail.send(to = 'a@b.c', body = mail.search(query = 'x'))")
            self.assertIn("line 1", done.text)
            self.assertTrue(mcp.tool("run_plan", plan="nonsense(").is_error)
            self.assertTrue(mcp.tool("run_plan", plan="no.tool()").is_error)
            good = mcp.tool("run_plan", plan="mail.search(query = 'x')\nprint('done')")
            self.assertEqual((good.is_error, good.text.splitlines()[0], good.text.splitlines()[-1]),
                             (False, "ok", "done"))

    def test_who_cannot_be_asked_is_told_the_flow(self):
        with self.open() as mcp:
            done = mcp.tool("run_plan", plan=ASKING)
            self.assertTrue(done.is_error)
            self.assertIn("a person has to allow it", done.text)
            self.assertIn("line 1: mail.send, to: a person is asked (P401), from mail.search (line 1)", done.text)

    def ask(self, mcp, answer):
        number = mcp.send("tools/call", name="run_plan", arguments={"plan": ASKING})
        question = mcp.read()
        self.assertEqual(question["method"], "elicitation/create")
        self.assertIn("mail.send, to", question["params"]["message"])
        mcp.write({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        return Result(mcp.answer(number))

    def test_a_person_decides(self):
        with self.open(elicitation={}) as mcp:
            done = self.ask(mcp, {"action": "accept", "content": {"approve": True}})
            self.assertEqual((done.is_error, done.text.splitlines()[-1]), (False, "sent"))
            for no in ({"action": "decline"}, {"action": "accept", "content": {"approve": False}},
                       {"action": "accept"}, {}):
                done = self.ask(mcp, no)
                self.assertTrue(done.is_error, no)
                self.assertIn("the person did not allow it", done.text)

    def test_a_person_decides_without_a_session(self):
        meta = {**MODERN, META + "clientCapabilities": {"elicitation": {"form": {}}}}
        with self.open() as mcp:
            def call(plan, **more):
                return mcp.call("tools/call", name="run_plan", arguments={"plan": plan}, _meta=meta, **more)
            asked = call(ASKING)
            self.assertEqual(asked["resultType"], "input_required")
            (key,) = asked["inputRequests"]
            yes = {key: {"action": "accept", "content": {"approve": True}}}
            done = Result(call(ASKING, inputResponses=yes, requestState=asked["requestState"]))
            self.assertEqual((done.is_error, done.text.splitlines()[-1]), (False, "sent"))
            # A yes is for the plan that was shown, and for nobody who never asked.
            with self.assertRaises(Failed):
                call(ASKING + "print(2)", inputResponses=yes, requestState=asked["requestState"])
            self.assertTrue(Result(call(ASKING, inputResponses=yes)).is_error)


class Clients(harness.Case):
    def test_the_end_of_input_stops_what_runs(self):
        mcp = Mcp()
        mcp.run("1")
        mcp.send("tools/call", name="run_code",
                 arguments={"code": "while True: pass", "timeout_ms": 600000})
        children = mcp.children()
        self.assertEqual(mcp.close(), 0)
        for pid in children:
            await_that(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), "a process is left")

    def test_what_was_asked_before_the_end_is_answered(self):
        text = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "ping"}) + "\n" for i in range(3))
        done = harness.retort("mcp", stdin=text.encode()[:-1])
        self.assertEqual(done.status, 0)
        self.assertEqual([json.loads(line)["id"] for line in done.stdout.splitlines()], [0, 1, 2])

    def test_signals_end_it(self):
        mcp = Mcp()
        mcp.run("1")
        mcp.process.send_signal(signal.SIGTERM)
        self.assertEqual(mcp.close(), 0)

    def test_a_client_that_is_gone(self):
        mcp = Mcp()
        mcp.run("1")
        mcp.send("tools/call", name="run_code", arguments={"code": "while True: pass", "timeout_ms": 600000})
        mcp.process.stdout.close()
        mcp.process.stdout = None
        await_that(lambda: mcp.process.poll() is not None, "it did not notice")
        self.assertEqual(mcp.close(), 0)

    def test_garbage_between_messages(self):
        with Mcp() as mcp:
            for line in (b"garbage", b"\xff\xfe", b'{"jsonrpc":"2.0","id":1', b"\0", b"[[[[" * 5000):
                mcp.write_bytes(line + b"\n")
                said = mcp.read()
                self.assertEqual((said["id"], said["error"]["code"]), (None, -32700), line[:20])
            for line in (b"[]", b"5", b"{}", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'):
                mcp.write_bytes(line + b"\n")
                self.assertEqual(mcp.read()["error"]["code"], -32600, line)
            mcp.write_bytes(b"\n  \r\n")
            mcp.call("ping")

    def test_a_flood_is_refused_in_part(self):
        with Mcp() as mcp:
            mcp.run("1")
            sent = [mcp.send("tools/call", name="run_code", arguments={"code": "import time\ntime.sleep(0.2)"})
                    for _ in range(100)]
            refused = 0
            for number in sent:
                try:
                    mcp.answer(number)
                except Failed as error:
                    refused += 1
                    self.assertIn("under way, limit 64", str(error))
            self.assertGreaterEqual(refused, 1)
            self.assertIn("value: 2", mcp.run("1 + 1").text)

    def test_a_client_that_does_not_read(self):
        with Mcp() as mcp:
            mcp.run("big = 'x' * 9000")
            count = 300
            os.set_blocking(mcp.process.stdin.fileno(), True)
            for _ in range(count):
                mcp.last_id += 1
                mcp.write({"jsonrpc": "2.0", "id": mcp.last_id, "method": "tools/list"})
            for number in range(mcp.last_id - count + 1, mcp.last_id + 1):
                self.assertIn("tools", mcp.answer(number))

    def test_batches(self):
        with Mcp(version="2025-03-26") as mcp:
            mcp.write([{"jsonrpc": "2.0", "id": "a", "method": "ping"},
                       {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
                        "params": {"name": "run_code", "arguments": {"code": "1"}}}])
            self.assertEqual({m["id"] for m in mcp.read()}, {"a", "b"})


class OverHttp(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.http = Http()

    @classmethod
    def tearDownClass(cls):
        cls.http.close()

    def test_a_session_from_its_beginning_to_its_end(self):
        session = self.http.open()
        self.assertRegex(session["Mcp-Session-Id"], r"^[0-9a-f]{32}$")
        status, _, _ = self.http.ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        self.assertEqual(status, 202)
        status, said = self.http.post(session, "tools/call", name="run_code", arguments={"code": "6 * 7"})
        self.assertEqual(status, 200)
        self.assertIn("value: 42", said["result"]["content"][0]["text"])
        self.assertNotIn("resultType", said["result"])
        self.assertEqual(self.http.ask("DELETE", None, session)[0], 204)
        self.assertEqual(self.http.post(session, "ping")[0], 404)
        self.assertEqual(self.http.ask("DELETE", None, session)[0], 404)

    def test_a_session_has_to_be_named(self):
        self.assertEqual(self.http.post({}, "tools/list")[0], 400)
        self.assertEqual(self.http.post({"Mcp-Session-Id": "0" * 32}, "tools/list")[0], 404)
        session = self.http.open()
        self.assertEqual(self.http.post({**session, "MCP-Protocol-Version": "2025-06-18"}, "ping")[0], 200)
        del session["MCP-Protocol-Version"]
        self.assertEqual(self.http.post(session, "ping")[0], 200)

    def test_without_sessions(self):
        status, said = self.http.modern("server/discover")
        self.assertEqual((status, said["result"]["supportedVersions"]), (200, ["2026-07-28"]))
        status, said = self.http.modern("tools/call", name="run_code", arguments={"code": "1 + 1"})
        self.assertIn("value: 2", said["result"]["content"][0]["text"])
        self.assertEqual(said["result"]["resultType"], "complete")

    def test_headers_are_checked_against_the_body(self):
        call = {"name": "run_code", "arguments": {"code": "1"}}
        wrong = [({"Mcp-Method": None}, -32020), ({"Mcp-Method": "tools/list"}, -32020),
                 ({"Mcp-Name": None}, -32020), ({"Mcp-Name": "other"}, -32020),
                 ({"MCP-Protocol-Version": None}, -32020), ({"MCP-Protocol-Version": "2025-11-25"}, -32020)]
        for headers, code in wrong:
            with self.subTest(headers):
                status, said = self.http.modern("tools/call", headers, **call)
                self.assertEqual((status, said["error"]["code"]), (400, code))
        name = "=?base64?" + base64.b64encode(b"run_code").decode() + "?="
        self.assertEqual(self.http.modern("tools/call", {"Mcp-Name": name}, **call)[0], 200)

    def test_statuses_of_errors(self):
        status, said = self.http.modern("no/such")
        self.assertEqual((status, said["error"]["code"]), (404, -32601))
        status, said = self.http.modern("ping")
        self.assertEqual((status, said["error"]["code"]), (404, -32601))
        status, said = self.http.modern("tools/list", {"MCP-Protocol-Version": "2099-01-01"},
                                        {META + "protocolVersion": "2099-01-01"})
        self.assertEqual((status, said["error"]["code"]), (400, -32022))
        status, _, text = self.http.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
                                        {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"})
        self.assertEqual((status, json.loads(text)["error"]["code"]), (400, -32602))
        for verb in ("GET", "DELETE"):
            self.assertEqual(self.http.ask(verb, None, {"MCP-Protocol-Version": "2026-07-28"})[0], 405)
        self.assertEqual(self.http.ask("POST", [])[0], 400)
        self.assertEqual(self.http.ask("POST", 5)[0], 400)
        self.assertEqual(self.http.ask("POST", {}, {"Accept": "text/html"})[0], 406)
        self.assertEqual(self.http.ask("POST", {}, {"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(self.http.ask("POST", {}, {"Origin": "http://evil.example"})[0], 403)

    def test_progress_comes_as_events(self):
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "run_code", "arguments": {"code": "import time\ntime.sleep(6)", "session": "sse"},
            "_meta": {**MODERN, "progressToken": "p"}}}
        status, headers, text = self.http.ask("POST", call, {
            "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_code"})
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(headers["X-Accel-Buffering"], "no")
        messages = [json.loads(line[6:]) for line in text.decode().splitlines() if line.startswith("data: ")]
        self.assertEqual(messages[0]["method"], "notifications/progress")
        self.assertEqual(messages[-1]["id"], 7)

    def test_who_hangs_up_cancels_without_a_session(self):
        code = {"code": "import time\ntime.sleep(600)", "session": "gone", "timeout_ms": 600000}
        self.http.modern("tools/call", name="run_code", arguments={"code": "n = 1", "session": "gone"})
        c = self.http.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                   "params": {"name": "run_code", "arguments": code, "_meta": MODERN}},
                          {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                           "Mcp-Name": "run_code"}, keep=True)
        self.http.await_running("gone")
        c.close()
        status, said = self.http.modern("tools/call", name="run_code",
                                        arguments={"code": "n", "session": "gone"})
        self.assertIn("value: 1", said["result"]["content"][0]["text"])

    def test_a_stream_for_what_belongs_to_no_request(self):
        session = self.http.open()
        c = self.http.ask("GET", None, {**session, "Accept": "text/event-stream"}, keep=True)
        answer = c.getresponse()
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(self.http.ask("GET", None, {**session, "Accept": "text/event-stream"})[0], 409)
        self.assertEqual(self.http.ask("GET", None, {**session, "Accept": "application/json"})[0], 406)
        self.assertEqual(self.http.ask("DELETE", None, session)[0], 204)
        self.assertEqual(answer.read(), b"")
        c.close()

    def test_a_session_that_ends_lets_go_of_who_waits(self):
        session = self.http.open()
        c = self.http.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "run_code", "arguments": {"code": "import time\ntime.sleep(600)", "session": "let-go",
                                              "timeout_ms": 600000}}}, session, keep=True)
        self.http.await_running("let-go")
        self.assertEqual(self.http.ask("DELETE", None, session)[0], 204)
        self.assertEqual(c.getresponse().status, 404)
        c.close()

    def test_sessions_are_bounded(self):
        first = self.http.open()
        for _ in range(64):
            last = self.http.open()
        self.assertEqual(self.http.post(first, "ping")[0], 404)
        self.assertEqual(self.http.post(last, "ping")[0], 200)

    def test_batches(self):
        session = self.http.open("2025-03-26")
        status, _, text = self.http.ask("POST", [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in (1, 2)],
                                        session)
        self.assertEqual((status, [m["id"] for m in json.loads(text)]), (200, [1, 2]))


class Principals(harness.Case):
    def test_two_never_meet(self):
        path = os.path.join(harness.make_dir(), "tokens")
        with open(path, "w", encoding="ascii") as f:
            f.write("one 0123456789abcdef0001\ntwo 0123456789abcdef0002\n")
        os.chmod(path, 0o600)
        server = Http("--token-file", path)
        self.addCleanup(server.close)
        one, two = ({"Authorization": f"Bearer 0123456789abcdef000{n}"} for n in (1, 2))
        self.assertEqual(server.modern("server/discover")[0], 401)
        session = server.open(headers=one)
        self.assertEqual(server.post(session, "ping")[0], 200)
        self.assertEqual(server.post({**session, **two}, "ping")[0], 404)
        self.assertEqual(server.ask("DELETE", None, {**session, **two})[0], 404)
        self.assertEqual(server.ask("GET", None, {**session, **two, "Accept": "text/event-stream"})[0], 404)
        _, said = server.modern("tools/call", one, name="run_code", arguments={
            "code": "secret = 1\nopen('f', 'w').write('x')"})
        record = said["result"]["_meta"]["retort/result"]
        uri = f"retort://session/{record['session']}/files/f"
        self.assertIn("result", server.modern("resources/read", one, uri=uri)[1])
        for stolen in (uri, f"retort://run/{record['run']}/code"):
            self.assertIn("error", server.modern("resources/read", two, uri=stolen)[1])
        for tool, arguments in (("run_code", {"code": "secret", "session": record["session"]}),
                                ("run_wait", {"run_id": record["run"]}),
                                ("read_output", {"run_id": record["run"], "stream": "code"}),
                                ("read_file", {"path": "f", "session": record["session"]})):
            _, said = server.modern("tools/call", two, name=tool, arguments=arguments)
            self.assertTrue(said["result"]["isError"], tool)
        _, said = server.modern("tools/call", two, name="run_code", arguments={"code": "'secret' in globals()"})
        self.assertIn("value: False", said["result"]["content"][0]["text"])


if __name__ == "__main__":
    harness.main()
