# SPDX-License-Identifier: Apache-2.0
"""Agents run programs: the tools run_command and process_output of `retort mcp --commands`, as a client uses them."""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from mcp_client import MODERN, Failed, Http, Mcp, Result, await_that  # noqa: E402

IDENTITY = "user"


class Commands(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.mcp = Mcp("--commands")

    @classmethod
    def tearDownClass(cls):
        cls.mcp.__exit__(None, None, None)

    def await_process(self, session, words):
        """Until the list of the session's processes has these words."""
        await_that(lambda: words in self.mcp.output(session=session).text, words)

    def cancel(self, number):
        self.mcp.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    def test_only_when_they_are_enabled(self):
        names = {"run_command", "process_output"}
        with Mcp() as mcp:
            self.assertEqual(names & {t["name"] for t in mcp.call("tools/list")["tools"]}, set())
            with self.assertRaises(Failed):
                mcp.command("true")
        with Mcp("--commands", "--offer", "minimal") as mcp:
            self.assertEqual(len(mcp.call("tools/list")["tools"]), 5)
        self.assertLessEqual(names, {t["name"] for t in self.mcp.call("tools/list")["tools"]})

    def test_how_a_command_ends_is_told_first(self):
        self.mcp.command("true", session="ends")
        rows = [
            ("echo out; echo err >&2", {}, "ok", r"^ok: exit 0, \d+ ms\nstdout: out\nstderr: err$"),
            ("true", {}, "ok", r"^ok: exit 0, \d+ ms\nno output$"),
            ("echo some; exit 3", {}, "error", r"^error: exit 3, \d+ ms\nstdout: some$"),
            ("no-such-program", {}, "error", r"^error: exit 127, \d+ ms\nstderr: .*no-such-program.*not found"),
            ("kill -KILL $$", {}, "killed", r"^killed: signal KILL, \d+ ms\n"),
            ("echo begun; sleep 600", {"timeout_ms": 700}, "timeout",
             r"^timeout: over its time limit, signal TERM, [\d.]+ m?s\nstdout: begun$"),
        ]
        for command, arguments, status, text in rows:
            with self.subTest(command):
                done = self.mcp.command(command, session="ends", **arguments)
                self.assertRegex(done.text, text)
                self.assertEqual((done.record["status"], done.is_error), (status, status != "ok"))
        self.assertEqual({k: done.record[k] for k in ("state", "timed_out", "signal", "by", "stdout", "stdout_bytes")},
                         {"state": "exited", "timed_out": True, "signal": 15, "by": "call", "stdout": "begun\n",
                          "stdout_bytes": 6})

    def test_a_session_is_made_and_shared_with_code(self):
        done = self.mcp.command("echo 42 > answer", session="shared")
        self.assertRegex(done.text, r"^ok: exit 0, \d+ ms, in a new session\n")
        self.assertIn("value: '42", self.mcp.run("open('answer').read()", session="shared").text)
        self.mcp.run("import os; os.mkdir('sub')", session="shared")
        self.assertTrue(self.mcp.command("pwd", session="shared", cwd="sub").text.endswith("/sub"))

    def test_a_step_that_runs_is_not_waited_for(self):
        number = self.mcp.send("tools/call", name="run_code", arguments={
            "code": "open('begun', 'w')\nwhile True: pass", "session": "beside", "timeout_ms": 600000})
        await_that(lambda: "begun" in self.mcp.tool("list_files", session="beside").text, "not begun")
        self.assertIn("stdout: begun", self.mcp.command("ls", session="beside").text)
        self.cancel(number)

    def test_what_cannot_be_started_is_refused(self):
        self.mcp.command("true", session="wrong")
        for arguments, words in (({"cwd": "/no/such"}, "/no/such"), ({"session": "s-nosuch"}, "no session s-nosuch"), ({"cwd": ""}, "cwd"),
                                 ({"wait_ms": 99999}, "wait_ms"), ({"timeout_ms": 0}, "timeout_ms"), ({"cmd": "x"}, "cmd")):
            with self.subTest(arguments):
                done = self.mcp.tool("run_command", **{"command": "true", "session": "wrong", **arguments})
                self.assertTrue(done.is_error)
                self.assertIn(words, done.text)
        self.assertIn("run_command gives its id", self.mcp.output(session="wrong", stdin="x").text)
        done = self.mcp.output(session="wrong", process="p-none")
        self.assertIn("`process_output without process` lists", done.text)
        done = self.mcp.output(session="wrong", process=self.mcp.command("cat", session="wrong").record["process"], stdin="x")
        self.assertTrue(done.is_error)
        done = self.mcp.output(session="wrong", process=self.mcp.command(
            "sleep 600", session="wrong", background=True, wait_ms=0).record["process"], stdin="x")
        self.assertIn("interactive: true", done.text)

    def test_both_eras(self):
        for version, more in (("2025-06-18", {}), (None, {"_meta": MODERN})):
            with self.subTest(version), Mcp("--commands", version=version) as mcp:
                done = mcp.tool("run_command", **more, command="echo $((6 * 7)); sleep 600", wait_ms=1000)
                self.assertEqual((done.is_error, done.record["status"]), (False, "running"))
                self.assertEqual("resultType" in done.raw, version is None)
                found = mcp.tool("process_output", **more, process=done.record["process"], signal="KILL", wait_ms=50000)
                self.assertRegex(found.text, r"^killed: signal KILL, [\d.]+ m?s\nstdout: 42$")

    def test_long_output_is_cut_and_can_be_read_on(self):
        self.mcp.command("true", session="long")
        done = self.mcp.command("seq -w 200000; echo last >&2; head -c 1048576 /dev/zero | tr '\\0' x >&2", session="long")
        self.assertLessEqual(len(done.text), 10000)
        for words in ("stdout:\n000001\n", "\n200000\n", "stderr:\nlast\nx"):
            self.assertIn(words, done.text)
        p = done.record["process"]
        self.assertEqual((done.record["stdout_bytes"], done.record["stderr_bytes"]), (1400000, 1048576 + 5))
        hint = f'characters cut: process_output {{"process": "{p}", "session": "{done.record["session"]}", "stream": "stdout", "offset": 0}}]'
        self.assertIn(hint, done.text)
        self.assertIn(f"[{1400000 - 262144} bytes from the middle of it were not kept]", done.text)
        for name in ("stdout", "stderr"):
            self.assertLessEqual(len(done.record[name]), 10000)
        part = self.mcp.output(session="long", process=p, stream="stdout", offset=7)
        self.assertTrue(part.text.splitlines()[1:3] == ["stdout: 1400000 bytes, more from offset 10007", "000002"], part.text[:200])
        self.assertEqual((part.record["next_offset"], len(part.record["stdout"])), (10007, 10000))
        self.assertNotIn("stderr", part.record)
        part = self.mcp.output(session="long", process=p, offset=700000)
        self.assertIn("bytes before this were not kept]", part.text)
        part = self.mcp.output(session="long", process=p, offset=1399993)
        self.assertTrue(part.text.endswith("\nstdout: 1400000 bytes\n200000"), part.text)

    def test_what_a_program_prints_is_shown_whatever_it_is(self):
        rows = [
            (r"printf 'a\000b\n'; echo end1", ["a\u2400b\nend1"]),
            (r"printf 'c\377\000d\n'; echo end2", ["c\ufffd\u2400d\nend2"]),
            (r"printf '\033[2J\033]0;title\007e\177\n'; echo end3", ["stdout:\ne\u2421\nend3"]),
            (r"printf '10%%\r100%%'", ["stdout: 100%"]),
        ]
        for command, wanted in rows:
            done = self.mcp.command(command, session="bytes")
            for part in wanted:
                self.assertIn(part, done.text, command)
        self.mcp.command(": \x1b[31mred", session="bytes")
        self.assertIn("): : red\n", self.mcp.output(session="bytes").text)

    def test_a_server_in_the_background(self):
        made = self.mcp.command("printf 'hello' > index.html; exec python3 -u -m http.server 8123", session="web", background=True,
                                wait_ms=0)
        p, session = made.record["process"], made.record["session"]
        self.assertEqual((made.is_error, made.record["status"]), (False, "running"))
        self.assertRegex(made.text, rf'^running: \d+ ms so far. Call process_output {{"process": "{p}", "session": "{session}"}}; '
                         "in a new session\n")
        await_that(lambda: "Serving HTTP" in self.mcp.output(session="web", process=p, wait_ms=0).text, "no server")
        get = ("curl -s http://127.0.0.1:8123/" if shutil.which("curl") else
               "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:8123/\").read().decode())'")
        self.assertIn("stdout: hello", self.mcp.command(get, session="web").text)
        found = self.mcp.output(session="web", process=p, wait_ms=0)
        self.assertIn('"GET / HTTP/1.1" 200', found.text)
        self.assertIn(f"{p} (running: ", self.mcp.output(session="web").text)
        self.assertIn("printf 'hello' > index.html", self.mcp.output(session="web").text)
        done = self.mcp.output(session="web", process=p, signal="TERM", wait_ms=50000)
        self.assertRegex(done.text, r"^killed: signal TERM, ")

    def test_a_program_is_talked_to(self):
        made = self.mcp.command("while read -r line; do echo \"got $line\"; done; echo bye", session="talk", interactive=True, wait_ms=0)
        self.assertIn("with stdin: a line with its \\n", made.text.splitlines()[0])
        p = made.record["process"]
        self.mcp.output(session="talk", process=p, stdin="one\n", wait_ms=0)
        await_that(lambda: self.mcp.output(session="talk", process=p, wait_ms=0).record["stdout"] == "got one\n", "no answer")
        done = self.mcp.output(session="talk", process=p, stdin="two\n", end=True, wait_ms=50000)
        self.assertEqual((done.is_error, done.record["stdout"]), (False, "got one\ngot two\nbye\n"))
        done = self.mcp.command("cat", session="talk")
        self.assertEqual((done.is_error, done.record["stdout"]), (False, ""))

    def test_who_does_not_read_is_not_waited_for(self):
        p = self.mcp.command("sleep 600", session="deaf", interactive=True, wait_ms=0).record["process"]
        done = self.mcp.output(session="deaf", process=p, stdin="x" * 1000000, wait_ms=0)
        self.assertTrue(done.is_error)
        self.assertRegex(done.text, r"^the program does not read its stdin: .* after \d+ of 1000000 bytes$")
        self.assertFalse(self.mcp.output(session="deaf", process=p, wait_ms=0).is_error)

    def test_what_a_step_left_running_is_listed(self):
        self.mcp.run("import subprocess; subprocess.Popen(['sleep', '601'])", session="left")
        # While it is being executed, it has no command line yet.
        listed = re.compile(r"(?m)^pid \d+, of step [0-9a-f]+: sleep 601$")
        await_that(lambda: listed.search(self.mcp.output(session="left").text), "it is not listed")
        self.mcp.command("true", session="empty")
        self.assertRegex(self.mcp.output(session="empty").text, r"^p-\w+ \(ok: exit 0, \d+ ms\): true$")

    def test_a_cancelled_command_is_ended(self):
        for session, command, end in (("cancel", "echo begun; sleep 600", "TERM"),
                                      ("stubborn", "trap '' TERM; echo begun; while true; do sleep 1; done", "KILL")):
            number = self.mcp.send("tools/call", name="run_command", arguments={"command": command, "session": session})
            self.await_process(session, "(running: ")
            p = self.mcp.output(session=session).text.split()[0]
            await_that(lambda s=session, p=p: "begun" in self.mcp.output(session=s, process=p, wait_ms=0).text, "not begun")
            for _ in range(2):
                self.cancel(number)
            self.await_process(session, f"(killed: signal {end}, ")
            self.assertNotIn(number, self.mcp.early)
            self.assertIn("still here", self.mcp.command("echo still here", session=session).text)

    def test_what_is_cancelled_before_it_begins_is_ended_too(self):
        number = self.mcp.send("tools/call", name="run_command", arguments={"command": "sleep 602", "session": "early"})
        self.cancel(number)
        self.mcp.command("true", session="early")
        await_that(lambda: "sleep 602" not in self.mcp.output(session="early").text or
                   "(killed: " in self.mcp.output(session="early").text, "it runs")
        self.assertNotIn(number, self.mcp.early)

    def test_what_is_in_the_background_outlives_the_call(self):
        number = self.mcp.send("tools/call", name="run_command", arguments={
            "command": "trap 'exit 5' INT; echo begun; while true; do sleep 0.05; done", "session": "stays", "background": True, "wait_ms": 55000})
        self.await_process("stays", "(running: ")
        p = self.mcp.output(session="stays").text.split()[0]
        await_that(lambda: "begun" in self.mcp.output(session="stays", process=p, wait_ms=0).text, "not begun")
        self.cancel(number)
        waits = self.mcp.send("tools/call", name="process_output", arguments={"process": p, "session": "stays", "wait_ms": 55000})
        self.cancel(waits)
        # SIGTERM or SIGKILL, sent before this signal, would be the end.
        done = self.mcp.output(session="stays", process=p, signal="INT", wait_ms=50000)
        self.assertRegex(done.text, "^error: exit 5, ")
        self.assertFalse({number, waits} & set(self.mcp.early))

    def test_a_session_that_is_closed_ends_it(self):
        number = self.mcp.send("tools/call", name="run_command", arguments={"command": "sleep 600", "session": "closed"})
        self.await_process("closed", "(running: ")
        self.mcp.tool("sessions", action="close", session="closed")
        done = Result(self.mcp.answer(number))
        self.assertTrue(done.is_error)
        self.assertRegex(done.text.splitlines()[0], "^killed: the session was closed, ")

    def test_progress_has_the_last_line(self):
        self.mcp.notes.clear()
        done = self.mcp.tool("run_command", _meta={"progressToken": "c"}, command=r"echo one; printf '\033[1mtwo\n'; sleep 6",
                             session="beat")
        self.assertEqual(done.record["stdout_bytes"], 12)
        notes = [n["params"] for n in self.mcp.notes]
        self.assertEqual({(n["progressToken"], n["message"]) for n in notes}, {("c", "two")})

    def test_structured(self):
        with Mcp("--commands", "--structured") as mcp:
            tools = {t["name"]: t for t in mcp.call("tools/list")["tools"]}
            self.assertEqual(tools["run_command"]["outputSchema"]["required"], ["status"])
            done = mcp.command("echo 1")
            self.assertEqual([done.raw["structuredContent"][k] for k in ("status", "stdout", "exit_code")], ["ok", "1\n", 0])
            self.assertEqual(mcp.output().raw["structuredContent"]["status"], "ok")

    def test_a_rebuilt_session_has_what_steps_wrote(self):
        options = ("--commands", "--state", os.path.join(harness.make_dir(), "state"))
        with Mcp(*options) as mcp:
            mcp.command("echo 1 > of-command")
            mcp.run("open('of-step', 'w').close()")
            self.assertIn("of-command\nof-step", mcp.command("ls").text)
        with Mcp(*options) as mcp:
            self.assertRegex(mcp.command("ls").text, "\nstdout: of-step$")

    def test_the_end_of_input_ends_it(self):
        mcp = Mcp("--commands")
        mcp.command("trap '' TERM; sleep 600", background=True, wait_ms=0)
        mcp.send("tools/call", name="run_command", arguments={"command": "trap '' TERM; sleep 600"})
        children = mcp.children()
        self.assertEqual(mcp.close(), 0)
        for pid in children:
            await_that(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), "a process is left")


class OverHttp(harness.Case):
    def test_only_when_they_are_enabled(self):
        server = Http()
        self.addCleanup(server.close)
        for name, arguments in (("run_command", {"command": "true"}), ("process_output", {})):
            self.assertIn("error", server.modern("tools/call", name=name, arguments=arguments)[1])

    def test_commands_are_their_owner_s(self):
        path = os.path.join(harness.make_dir(), "tokens")
        with open(path, "w", encoding="ascii") as f:
            f.write("one 0123456789abcdef0001\ntwo 0123456789abcdef0002\n")
        os.chmod(path, 0o600)
        server = Http("--token-file", path, "--commands")
        self.addCleanup(server.close)
        one, two = ({"Authorization": f"Bearer 0123456789abcdef000{n}"} for n in (1, 2))

        def tool(who, name, **arguments):
            return Result(server.modern("tools/call", who, name=name, arguments=arguments)[1]["result"])
        record = tool(one, "run_command", command="echo secret; sleep 600", background=True).record
        names = {"process": record["process"], "session": record["session"]}
        for more in ({}, {"signal": "KILL"}, {"stdin": "x"}, {"offset": 0}):
            done = tool(two, "process_output", **names, **more)
            self.assertTrue(done.is_error)
            self.assertNotIn("secret", done.text)
        self.assertTrue(tool(two, "process_output", session=record["session"]).is_error)
        self.assertTrue(tool(two, "run_command", command="true", session=record["session"]).is_error)
        mine = tool(two, "run_command", command="true").record
        self.assertNotEqual(mine["session"], record["session"])
        found = tool(one, "process_output", **names)
        self.assertEqual((found.record["status"], found.record["stdout"]), ("running", "secret\n"))

    def test_who_waits_for_a_command_uses_its_session(self):
        server = Http("--commands", "--session-idle", "1s")
        self.addCleanup(server.close)

        def tool(name, **arguments):
            return Result(server.modern("tools/call", name=name, arguments=arguments)[1]["result"])
        made = tool("run_command", command="sleep 600", session="left", background=True, wait_ms=0)
        self.assertEqual(made.record["status"], "running")
        done = tool("run_command", command="sleep 3", session="used")
        self.assertEqual(done.record["status"], "ok")
        await_that(lambda: "left: " not in tool("sessions", action="list").text, "the session stays")

    def test_who_hangs_up_ends_a_command(self):
        server = Http("--commands")
        self.addCleanup(server.close)

        def said():
            return server.modern("tools/call", name="process_output", arguments={"session": "gone"})[1]["result"]["content"][0]["text"]
        c = server.ask("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "run_command", "arguments": {"command": "sleep 600", "session": "gone"}, "_meta": MODERN}},
            {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_command"}, keep=True)
        await_that(lambda: "(running: " in said(), "it does not run")
        c.close()
        await_that(lambda: "(killed: signal TERM, " in said(), "it runs on")


if __name__ == "__main__":
    harness.main()
