# SPDX-License-Identifier: Apache-2.0
"""`retort tools`: servers of tools are found where a file says, spoken to in both eras, and cannot hang, flood or
outlive retort."""

import ast
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

IDENTITY = "user"
SERVER = os.path.join(harness.HERE, "system", "tool_server.py")
PYTHON = "/usr/bin/python3"


def config(servers):
    """A file that lists servers."""
    path = os.path.join(harness.make_dir(), "mcp.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"mcpServers": servers}, f)
    return path


def config_of(server):
    return config({"t": server})


def ours(mode="plain", **more):
    env = {"LOG": os.path.join(harness.make_dir(), "log"), **more.pop("env", {})}
    return {"command": PYTHON, "args": [SERVER, mode], "env": env, **more}


def log_of(path):
    """What the server of a config_of(ours()) received."""
    with open(path, encoding="utf-8") as f:
        log = json.load(f)["mcpServers"]["t"]["env"]["LOG"]
    with open(log, encoding="utf-8") as f:
        return f.read()


def tools(verb, *args, servers=None, path=None, **more):
    return harness.retort("tools", verb, "--mcp-config", path or config(servers), *args, **more)


def call(tool, arguments=None, *options, mode="plain", env=None, **more):
    return tools("call", tool, json.dumps(arguments or {}), *options, servers={"t": ours(mode, **more)}, env=env)


def at_terminal(argv, lines):
    """Run it with a terminal, where somebody types @lines. Returns: what is shown, its output, its status."""
    master, slave = os.openpty()

    def own():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    with subprocess.Popen(argv, stdin=slave, stdout=subprocess.PIPE, stderr=slave, preexec_fn=own,
                          env=harness.environment()) as process:
        os.close(slave)
        os.write(master, "".join(line + "\n" for line in lines).encode())
        out = process.stdout.read().decode()
        status = process.wait()
    shown = b""
    try:
        while data := os.read(master, 65536):
            shown += data
    except OSError:
        pass  # nobody has the other end any more
    os.close(master)
    return shown.decode(), out, status


class Listing(harness.Case):
    def test_all_pages_are_listed_by_name(self):
        done = tools("list", servers={"t": ours()})
        self.assertEqual(done.status, 0, done)
        names = [line.split()[0] for line in done.out.splitlines()]
        self.assertEqual(names, ["t.add", "t.ask", "t.echo", "t.environment", "t.fail", "t.import", "t.picture",
                                 "t.readFile", "t.secret_key", "t.slow"])
        self.assertIn("t.add  Add two numbers.\n", done.out)
        self.assertIn("3 of its tools are left out", done.err)

    def test_what_servers_write_is_not_obeyed(self):
        done = tools("list", "--json", servers={"t": ours()})
        echo = next(t for t in done.json()["tools"] if t["name"] == "t.echo")
        self.assertEqual(echo["description"], 'Say it again [31m""" \\')
        self.assertEqual((echo["read_only"], echo["destructive"], echo["open_world"]), (False, True, True))
        self.assertIn("how_often: int = 1", echo["signature"])

    def test_servers_are_told_the_version(self):
        for mode, more in (("plain", {}), ("modern", {"protocol": "modern"})):
            with self.subTest(mode):
                path = config_of(ours(mode, **more))
                self.assertEqual(tools("list", path=path).status, 0)
                told = set(re.findall(r'clientInfo":\s*\{"name":\s*"(\w+)",\s*"version":\s*"([^"]*)"\}', log_of(path)))
                self.assertEqual({" ".join(pair) + "\n" for pair in told}, {harness.retort("version").out})

    def test_patterns_hide_tools(self):
        done = tools("list", servers={"t": ours(allow=["*e*"], deny=["secret_*", "slow"])})
        self.assertEqual([line.split()[0] for line in done.out.splitlines()],
                         ["t.echo", "t.environment", "t.picture", "t.readFile"])
        done = tools("call", "--yes", "t.secret_key", servers={"t": ours(deny=["secret_*"])})
        self.assertEqual(done.status, 2, done)
        self.assertIn('t has no tool "secret_key": ', done.err)

    def test_the_best_is_found_first(self):
        done = tools("search", "add numbers", servers={"t": ours(), "other": ours()})
        self.assertEqual([line.split()[0] for line in done.out.splitlines()][:2], ["t.add", "other.add"])
        self.assertEqual(tools("search", "zebra", servers={"t": ours()}).out, "")

    def test_one_server_that_fails_leaves_the_others(self):
        done = tools("list", servers={"bad": ours("exit"), "t": ours()})
        self.assertEqual(done.status, 4, done)
        self.assertIn("server bad: it ended with status 3: no licence", done.err)
        self.assertIn("t.add", done.out)

    def test_lists_that_are_none_are_errors(self):
        for mode, says in (("endless", "has no end"), ("no-list", "is malformed")):
            with self.subTest(mode=mode):
                done = tools("list", servers={"t": ours(mode)})
                self.assertEqual((done.status, done.out), (4, ""), done)
                self.assertIn(says, done.err)


class Stubs(harness.Case):
    def test_stubs_are_python(self):
        done = tools("stub", servers={"t": ours(), "a-b": ours()})
        self.assertEqual(done.status, 0, done)
        tree = ast.parse(done.out)
        classes = {c.name: c for c in tree.body if isinstance(c, ast.ClassDef)}
        self.assertEqual(list(classes), ["t", "a_b"])
        methods = {f.name: f for f in classes["t"].body if isinstance(f, ast.FunctionDef)}
        self.assertIn("import_", methods)
        echo = methods["echo"]
        self.assertEqual([a.arg for a in echo.args.kwonlyargs], ["from_", "how_often"])
        self.assertEqual(ast.get_docstring(echo).splitlines()[0], 'Say it again [31m""" \\')
        self.assertIn('(named "how-often")', ast.get_docstring(echo))
        self.assertEqual(ast.unparse(methods["add"].returns), "TypedDict('_', {'sum': float})")
        self.assertIn("Literal['a', 'b']", ast.unparse(methods["import_"].args))

    def test_stubs_are_typescript(self):
        done = tools("stub", "--lang", "js", "t", servers={"t": ours()})
        self.assertIn("declare namespace tools.t {", done.out)
        self.assertIn('function add(args: { "a": number; "b": number }): Promise<{ "sum": number }>;', done.out)
        self.assertIn("function import_(args: { \"mode\"?: \"a\" | \"b\";", done.out)


class Calls(harness.Case):
    def test_values_come_unwrapped(self):
        for tool, arguments, want in (
                ("t.add", {"a": 1, "b": 2.5}, '{\n  "sum": 3.5\n}\n'),
                ("t.readFile", {"x": [1]}, '{\n  "x": [\n    1\n  ]\n}\n'),
                ("t.read_file", {}, "{}\n"),
                ("t.import_", {"mode": "a"}, '{\n  "mode": "a"\n}\n'),
                ("t.slow", {}, "done\n")):
            with self.subTest(tool=tool):
                done = call(tool, arguments)
                self.assertEqual((done.status, done.out, done.err), (0, want, ""))
        done = call("t.picture", {}, "--json").json()
        self.assertEqual(done["value"]["images"][0]["mimeType"], "image/png")
        self.assertEqual(done["value"]["text"], "see")
        self.assertEqual(done["result"]["content"][1]["type"], "image")

    def test_arguments_come_from_files_and_standard_input(self):
        path = os.path.join(harness.make_dir(), "a.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"a": 1, "b": 1}')
        for operand, stdin in (("@" + path, b""), ("-", b'{"a": 1, "b": 1}')):
            done = tools("call", "t.add", operand, servers={"t": ours()}, stdin=stdin)
            self.assertEqual((done.status, done.out), (0, '{\n  "sum": 2\n}\n'), done)

    def test_arguments_are_checked_before_they_are_sent(self):
        for tool, arguments, says in (
                ("t.add", {"a": 1}, "t.add: arguments: missing: b"),
                ("t.add", {"a": 1, "b": "2"}, "t.add: b: it has to be of type number"),
                ("t.add", {"a": 1, "b": 2, "c": 3}, "t.add: arguments: there is no c"),
                ("t.import", {"mode": "c"}, 't.import: mode: it has to be one of "a", "b"'),
                ("t.import", {"deep": {"k": 1}}, "t.import: deep.k: it is of none of the types")):
            with self.subTest(says=says):
                path = config_of(ours())
                done = tools("call", tool, json.dumps(arguments), path=path)
                self.assertEqual((done.status, done.out), (2, ""))
                self.assertIn(says, done.err)
                self.assertNotIn("tools/call", log_of(path))
        for operand, says in (("[1]", "not a JSON object"), ("{", "line 1"), ("@/none", "/none")):
            done = tools("call", "t.add", operand, servers={"t": ours()})
            self.assertEqual(done.status, 2, done)
            self.assertIn(says, done.err)

    def test_what_is_not_read_only_needs_a_yes(self):
        path = config_of(ours())
        done = tools("call", "t.echo", '{"from": "x"}', path=path)
        self.assertEqual((done.status, done.out), (6, ""), done)
        self.assertIn("t.echo: it is not read-only", done.err)
        self.assertNotIn("tools/call", log_of(path))
        done = tools("call", "--yes", "t.echo", '{"from": "x", "how-often": 3}', path=path)
        self.assertEqual((done.status, done.out), (0, "xxx\n"), done)

    def test_a_tool_that_fails(self):
        done = call("t.fail")
        self.assertEqual((done.status, done.out), (5, ""), done)
        self.assertIn("retort: it is broken\\x1b[2J", done.err)
        done = call("t.fail", {}, "--json")
        self.assertEqual((done.status, done.json()["is_error"]), (5, True))

    def test_no_such_tool_or_server(self):
        path = config({"t": ours(), "crm": ours()})
        lists = "`retort tools list --mcp-config " + path
        for verb, name, says in (("call", "t.none", f'tools: t has no tool "none": {lists} t` lists them'),
                                 ("call", "t.ad", 'tools: t has no tool "ad": did you mean t.add?'),
                                 ("call", "t.", f'tools: t has no tool "": {lists} t` lists them'),
                                 ("call", "u.add", f'tools: no server is called "u": {lists}` lists them'),
                                 ("call", "cmr.add", 'tools: no server is called "cmr": did you mean crm.add?'),
                                 ("call", "add", f'tools: no server is called "add": {lists}` lists them'),
                                 ("list", "cmr", 'tools: no server is called "cmr": did you mean crm?'),
                                 ("stub", "x.y", f'tools: no server is called "x.y": {lists}` lists them')):
            with self.subTest(verb=verb, name=name):
                done = tools(verb, name, path=path)
                self.assertEqual((done.status, done.err), (2, f"retort: {says}\n"))
        self.assertEqual(tools("list", "t", path=path).status, 0)

    def test_servers_get_no_environment_but_their_own(self):
        done = call("t.environment", env={"OPENAI_API_KEY": "sk-1", "MINE": "m"})
        env = json.loads(done.out)
        self.assertLessEqual(set(env), {"PATH", "HOME", "LANG", "LOG", "LC_CTYPE"}, env)
        done = tools("call", "t.environment", servers={"t": ours(env={"KEY": "${MINE}"})}, env={"MINE": "m"})
        self.assertEqual(json.loads(done.out)["KEY"], "m")


class Eras(harness.Case):
    def test_what_a_server_asks_is_answered(self):
        first, second = json.loads(call("t.ask").out)
        self.assertEqual((first["id"], first["result"]), ("q", {"action": "decline"}))
        self.assertEqual((second["id"], second["error"]["code"]), (0, -32601))

    def test_forms(self):
        """With --yes fields get what the server proposes; without a person nothing is sent."""
        done = call("t.ask", {}, "--yes", mode="form")
        self.assertEqual(json.loads(done.out), {"action": "accept", "content": {"name": "Ann", "age": 30}}, done)
        self.assertEqual(json.loads(call("t.ask", {}, mode="form").out), {"action": "decline"})
        done = call("t.ask", {"needed": ["more"]}, "--yes", mode="form")
        self.assertEqual(json.loads(done.out), {"action": "decline"})
        self.assertIn("more", done.err)

    @unittest.skipUnless(hasattr(os, "openpty"), "no terminals here")
    def test_forms_at_a_terminal(self):
        said, out, status = at_terminal(
            [harness.RETORT, "tools", "call", "--mcp-config", config({"t": ours("form")}), "t.ask", "{}"],
            ["y", "Eve", "many", "7", ""])
        self.assertEqual((json.loads(out), status), ({"action": "accept", "content": {"name": "Eve", "age": 7}}, 0), said)
        self.assertIn("t asks: Who?", said)
        self.assertNotIn("\x1b[2J", said)
        said, out, _ = at_terminal(
            [harness.RETORT, "tools", "call", "--mcp-config", config({"t": ours("form")}), "t.ask", "{}"], ["n"])
        self.assertEqual(json.loads(out), {"action": "decline"}, said)

    def test_questions_of_the_modern_era(self):
        done = call("t.ask", mode="modern", protocol="modern")
        self.assertEqual(json.loads(done.out), [{"k": {"action": "decline"}}, "täg"], done)

    def test_each_era_meets_itself_and_not_the_other(self):
        done = call("t.add", {"a": 1, "b": 2}, mode="modern", protocol="modern")
        self.assertEqual((done.status, done.out), (0, '{\n  "sum": 3\n}\n'), done)
        done = call("t.add", {"a": 1, "b": 2}, mode="modern")
        self.assertEqual(done.status, 4, done)
        self.assertIn("only 2026-07-28 (error -32022)", done.err)
        done = call("t.add", {"a": 1, "b": 2}, protocol="modern")
        self.assertEqual(done.status, 4, done)

    def test_words_before_the_handshake_and_rubbish_between(self):
        for mode in ("early", "chatter", "wrong-id"):
            with self.subTest(mode=mode):
                done = call("t.add", {"a": 1, "b": 2}, mode=mode)
                self.assertEqual((done.status, done.out), (0, '{\n  "sum": 3\n}\n'), done)

    def test_an_unknown_revision_is_refused(self):
        done = call("t.add", {"a": 1, "b": 2}, mode="old")
        self.assertEqual(done.status, 4, done)
        self.assertIn("a revision of the protocol that retort does not: 1999-01-01", done.err)

    def test_retort_itself_in_both_eras(self):
        for protocol in ("legacy", "modern"):
            with self.subTest(protocol=protocol):
                me = {"command": harness.RETORT, "args": ["mcp"], "protocol": protocol,
                      "env": {n: os.environ[n] for n in ("RETORT_CGROUP",) if n in os.environ}}
                done = tools("call", "--yes", "me.run_code", '{"code": "6 * 7"}', servers={"me": me})
                self.assertEqual(done.status, 0, done)
                self.assertIn("value: 42", done.out)


class Misbehaviour(harness.Case):
    def test_servers_that_break_every_rule(self):
        for mode, says in (
                ("exit", "server t: it ended with status 3: no licence"),
                ("exit-on-call", "server t: it ended with status 7: out of \\x1b[31mpaper"),
                ("killed-on-call", "server t: it ended by signal 9"),
                ("huge", "server t: it sent "),
                ("many-parts", "server t: it sent a message over"),
                ("rubbish", "server t: it writes lines that are not messages: Listening on \\x1b[31mport 80"),
                ("no-content", "its answer has no content"),
                ("closed-output", "server t: it closed its output")):
            with self.subTest(mode=mode):
                done = call("t.add", {"a": 1, "b": 2}, mode=mode)
                self.assertEqual((done.status, done.out), (4, ""), done)
                self.assertIn(says, done.err)

    def test_servers_that_do_not_answer(self):
        for mode in ("hang", "hang-on-call", "flood", "questions", "closed-input"):
            with self.subTest(mode=mode):
                done = call("t.add", {"a": 1, "b": 2}, mode=mode, timeout=700)
                self.assertEqual((done.status, done.out), (4, ""), done)
                self.assertRegex(done.err, "server t: (no answer to |it does not read)")

    def test_news_of_a_call_keep_it_waiting(self):
        done = call("t.slow", {"n": 20}, timeout=5000)
        self.assertEqual((done.status, done.out), (0, "done\n"), done)

    def test_a_call_that_is_given_up_is_cancelled(self):
        path = config_of(ours("hang-on-call", timeout=4000))
        self.assertEqual(tools("call", "t.add", '{"a": 1, "b": 2}', path=path).status, 4)
        sent = [json.loads(line) for line in log_of(path).splitlines()]
        asked = next(m for m in sent if m["method"] == "tools/call")
        cancelled = next(m for m in sent if m["method"] == "notifications/cancelled")
        self.assertEqual(cancelled["params"]["requestId"], asked["id"])

    def assert_gone(self, pid):
        for _ in range(200):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                    if f.read().rpartition(")")[2].split()[0] == "Z":
                        return  # of whoever is its parent now
            except OSError:
                return
            time.sleep(0.05)
        self.fail(f"process {pid} is still there")

    def test_a_server_that_does_not_end_is_killed_with_its_children(self):
        pids = os.path.join(harness.make_dir(), "pids")
        done = tools("call", "t.add", '{"a": 1, "b": 2}', servers={"t": ours("stubborn", env={"PIDS": pids})})
        self.assertEqual(done.status, 0, done)
        with open(pids, encoding="utf-8") as f:
            for pid in map(int, f.read().split()):
                self.assert_gone(pid)

    def test_an_interrupt_ends_the_server_too(self):
        log = os.path.join(harness.make_dir(), "pids")
        path = config_of(ours("stubborn", env={"PIDS": log}))
        with subprocess.Popen([harness.RETORT, "tools", "call", "--mcp-config", path, "t.slow", '{"n": 1000}'],
                              env=harness.environment(), stderr=subprocess.PIPE) as process:
            for _ in range(400):
                if os.path.exists(log) and os.path.getsize(log) > 3:
                    break
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 130, err)
        with open(log, encoding="utf-8") as f:
            for pid in map(int, f.read().split()):
                self.assert_gone(pid)


class Configuration(harness.Case):
    def test_only_what_is_named_is_read(self):
        cwd = harness.make_dir()
        with open(os.path.join(cwd, ".mcp.json"), "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"t": ours()}}, f)
        done = harness.retort("tools", "list", cwd=cwd)
        self.assertEqual((done.status, done.out), (2, ""), done)
        self.assertIn("no servers are named", done.err)
        done = harness.retort("tools", "list", cwd=cwd, env={"RETORT_MCP_CONFIG": ".mcp.json"})
        self.assertEqual(done.status, 0, done)

    def test_config_json_names_it(self):
        home = harness.make_dir()
        os.mkdir(os.path.join(home, "retort"))
        with open(os.path.join(home, "retort", "config.json"), "w", encoding="utf-8") as f:
            json.dump({"mcp-config": config_of(ours())}, f)
        done = harness.retort("tools", "list", "t", env={"XDG_CONFIG_HOME": home})
        self.assertEqual(done.status, 0, done)

    def test_mistakes_have_a_place(self):
        for servers, says in (({"t": {"comand": "x"}}, "t.comand"), ({"t": {}}, "a command or a url"),
                              ({"t": {"command": "${NOT_SET}"}}, "the variable NOT_SET is not set")):
            done = tools("list", servers=servers)
            self.assertEqual(done.status, 2, done)
            self.assertIn(says, done.err)
        done = tools("list", path="/none.json")
        self.assertEqual(done.status, 2, done)

    def test_a_command_that_is_not_there(self):
        done = tools("list", servers={"t": {"command": "no-such-program"}})
        self.assertEqual(done.status, 4, done)
        self.assertIn("server t: no-such-program does not start: ", done.err)


if __name__ == "__main__":
    harness.main()
