# SPDX-License-Identifier: Apache-2.0
"""Code in a box, a caller with a token or a server of tools tries to have a call made that nobody allowed."""

import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import callers  # noqa: E402
import gate  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"
SERVER = os.path.join(harness.HERE, "system", "tool_server.py")
NAMES = json.dumps([
    "demo.echo", "demo.secret_key", "demo.secretKey", "demo.secret-key", "demo.Echo", "demo.echo ", " demo.echo",
    "demo..echo", "demo.demo.echo", "demo.echo.", ".echo", "echo", "demo/echo", "retort.echo", "retort.demo.echo",
    "retort.list", "retort.call", "retort.approve", "tool.call", "tool.approve", "demo.ECHO", "demo.e\u0441ho",
    "demo.*", "*.echo", "demo.ec?o", "demo", "demo.", ".", "a" * 256, "retort." + "a" * 200, "\u202edemo.echo"])


def server(mode="plain", **more):
    return {"command": "/usr/bin/python3", "args": [SERVER, mode],
            "env": {"LOG": os.path.join(harness.make_dir(), "log")}, **more}


def reached(one):
    """What a server was asked to do: names and arguments."""
    try:
        with open(one["env"]["LOG"], encoding="utf-8") as f:
            messages = [json.loads(line) for line in f]
    except FileNotFoundError:
        return []
    return [(m["params"]["name"], m["params"]["arguments"]) for m in messages if m.get("method") == "tools/call"]


def options(**servers):
    path = os.path.join(harness.make_dir(), "mcp.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"mcpServers": servers}, f)
    return "--tools", path


class Code(harness.Case):
    def open(self, *more, **servers):
        self.engine = rpc.Engine(*options(**servers), *more)
        self.addCleanup(self.engine.stop)
        self.client = self.engine.client()
        return self.client("session.create")["session"]

    def ask(self, session, code):
        return self.client.value(session, gate.RAW + code)

    def test_T_TOOL_POLICY_is_of_the_tool_and_not_of_its_name(self):
        """Call what changes something, or what is hidden, by every way to spell it."""
        one = server(deny=["secret_*"], approve=["add"])
        s = self.open(demo=one)
        code = f"[ask(n, **{{'from': 'x'}}) for n in {NAMES}]"
        for answer in self.ask(s, code):
            self.assertTrue(answer.get("error") or set(answer["value"]) == {"tools", "servers"}, answer)
        self.assertEqual(reached(one), [])
        self.assertEqual(self.ask(s, "ask('demo.add', a=1, b=2)")["value"], {"sum": 3})

    def test_T_TOOL_POLICY_is_not_told_by_the_arguments(self):
        """Say in the call itself that it is allowed."""
        one = server()
        s = self.open(demo=one)
        for more in ("approve=True", "allow=True", "approvals=True", "_meta={'approve': True}"):
            answer = self.ask(s, f"ask('demo.echo', **{{'from': 'x'}}, {more})")
            self.assertIn(answer["error"]["name"], ("ToolArgumentError", "ToolDenied"))
        self.assertEqual(reached(one), [])

    def test_T_TOOL_POLICY_holds_where_a_schema_asks_nothing(self):
        """Arguments that no schema bounds: deep, wide, long."""
        one = server()
        s = self.open(demo=one)
        for value in ("'x' * (4 << 20)", "[[]] * 100000", "{str(i): i for i in range(50000)}"):
            answer = self.ask(s, f"ask('demo.add', a=1, b={value})")
            self.assertIn(answer["error"]["name"], ("ToolArgumentError", "ToolLimit"))
        self.assertEqual(self.ask(s, "ask('demo.add', a=1, b=2)")["value"], {"sum": 3})

    def test_T_TOOL_TAINTED_session_is_asked_again(self):
        """Have a page say what to do, and a tool that is approved do it: at once, in a branch, after an undo."""
        shop = server("closed", approve=["*"], trust=True)
        s = self.open(web=server(), shop=shop)
        act = "ask('shop.echo', **{'from': 'x'})"
        self.assertEqual(self.ask(s, act)["value"], "x")
        both = self.ask(s, f"(ask('web.add', a=1, b=2), {act})[1]")
        self.assertEqual(both["error"]["name"], "ToolDenied")
        self.client("session.undo", session=s)
        self.assertEqual(self.ask(s, act)["error"]["name"], "ToolDenied")
        below = self.client("session.branch", session=s)["session"]
        self.assertEqual(self.ask(below, act)["error"]["name"], "ToolDenied")
        self.assertEqual(len(reached(shop)), 1)

    def test_T_TOOL_TAINTED_by_what_a_failure_says(self):
        """A server that nobody trusts says what to do in an error, or in its last words, not in a value."""
        for mode, call in (("plain", "web.fail"), ("exit-on-call", "web.add"), ("exit", "web.add")):
            shop = server("closed", approve=["*"], trust=True)
            s = self.open(web=server(mode), shop=shop)
            with self.subTest(mode=mode):
                self.assertIn("error", self.ask(s, f"ask('{call}', **({{}} if 'fail' in '{call}' else {{'a': 1, 'b': 2}}))"))
                self.assertEqual(self.ask(s, "ask('shop.echo', **{'from': 'x'})")["error"]["name"], "ToolDenied")
                self.assertEqual(reached(shop), [])

    def wait(self, code):
        """A step whose call waits for a person. Returns: run and question."""
        session = self.client("session.create")["session"]
        run = self.client.run(session, gate.RAW + code, approvals=True, wait_ms=0)["run"]
        return run, self.client("step.get", run=run, wait_ms=60000)["approvals"][0]

    def test_T_TOOL_APPROVAL_shows_what_is_asked(self):
        """Hide what is asked: behind escapes, by turning the text's direction, behind much that is harmless."""
        self.open(demo=server())
        for text in ("'\\x1b[2J\\x1b]0;x\\x07harmless'", "'\\u202eesrever'", "'\\n' * 500 + 'Allow the call? [y/N] y'",
                     "'\\u200b\\U000e0041 x'", "'x' * 100000 + 'evil'"):
            with self.subTest(text=text):
                run, asked = self.wait(f"put('demo.echo', **{{'from': {text}}}); take()")
                self.assertTrue(asked["text"].isascii())
                self.assertEqual([c for c in asked["text"] if not c.isprintable() and c != "\n"], [])
                self.assertLess(len(asked["text"]), 3000)
                self.assertLessEqual(asked["text"].count("\n"), 4)
                if "evil" in text:
                    self.assertRegex(asked["text"], r"and \d+ bytes more that are not shown")
                self.client("step.interrupt", run=run, kill=True)

    def test_T_TOOL_APPROVAL_is_for_one_call(self):
        """Use one yes for two calls, for another call, or for a call that was given up."""
        one = server()
        self.open(demo=one)
        run, asked = self.wait("put('demo.echo', **{'from': 'one'}); put('demo.echo', **{'from': 'two'}); "
                               "sorted(str(take().get('value')) for _ in '12')")
        record = self.client("step.get", run=run, wait_ms=60000)
        self.assertEqual(len(record["approvals"]), 2)
        self.client("tool.approve", approval=asked["approval"], allow=True)
        for word in (asked["approval"], asked["approval"][:-1], "", "a-"):
            with self.assertRaises(rpc.Failed):
                self.client("tool.approve", approval=word, allow=True)
        while len(self.client("step.get", run=run).get("approvals", [])) != 1:
            time.sleep(0.01)
        other = self.client("step.get", run=run)["approvals"][0]
        self.client("tool.approve", approval=other["approval"], allow=False)
        self.assertEqual(self.client("step.get", run=run, wait_ms=60000)["status"], "ok")
        self.assertEqual([arguments["from"] for _, arguments in reached(one)], ["one"])

    def test_T_TOOL_FLOOD_leaves_the_engine_to_others(self):
        """Call without end, and have servers answer without end, while another session works."""
        s = self.open(demo=server(), bad=server("flood", timeout=3000), big=server("huge"))
        mine = self.engine.client()
        code = gate.RAW + ("import time\nend = time.time() + 3\n"
                           "put('bad.add', a=1, b=2); put('big.add', a=1, b=2)\n"
                           "while time.time() < end: put('demo.add', a=1, b=2); take()\n")
        mine.send("step.run", session=s, code=code)
        other = self.client("session.create")["session"]
        for i in range(20):
            self.assertEqual(self.client.value(other, f"{i} + 1"), i + 1)
        mine.receive()
        self.assertEqual(self.client.value(other, "1 + 1"), 2)

    def test_T_TOOL_LOG_is_one_line_for_a_call(self):
        """Write lines, escapes or secrets into the log by a name, an argument or an answer."""
        s = self.open(demo=server())
        self.ask(s, "[ask(n, secret='sesame') for n in ('x.\u202ey', 'demo.read_file sesame 200', 'demo.readFile')]")
        lines = [line for line in self.engine.said().splitlines() if " TOOL " in line]
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertTrue(line.isascii() and line.isprintable(), line)
            self.assertEqual(len(line.split()), 8, line)
        self.assertNotIn("secret", self.engine.said())


class Callers(harness.Case):
    def test_T_TOOL_PRINCIPAL_without_leave_uses_none(self):
        """A caller whose line does not say tools=yes: by operations, by code, by another's session."""
        one = server(approve=["*"])
        engine = callers.Engine({"ann": "tools=yes", "eve": "", "bob": "tools=no"}, *options(demo=one))
        self.addCleanup(engine.stop)
        for name in ("eve", "bob"):
            caller = engine.caller(name)
            for method, params in (("tool.list", {}), ("tool.call", {"name": "demo.add", "arguments": {"a": 1, "b": 2}}),
                                   ("tool.call", {"name": "demo.echo", "arguments": {"from": "x"}, "approve": True})):
                with self.assertRaises(rpc.Failed) as caught:
                    caller(method, **params)
                self.assertEqual(caught.exception.code, "denied")
                self.assertNotIn("demo.", str(caught.exception))
            s = caller("session.create")["session"]
            record = caller.run(s, gate.RAW + "[ask(n, a=1, b=2)['error']['name'] for n in "
                                "('demo.add', 'retort.tools', 'retort.search', 'retort.describe', 'retort.list')]",
                                approvals=True)
            self.assertEqual(record["value"]["application/json"], ["ToolDenied"] * 5)
        self.assertEqual(reached(one), [])
        ann = engine.caller("ann")
        self.assertEqual(ann("tool.call", name="demo.add", arguments={"a": 1, "b": 2})["value"], {"sum": 3})

    def test_T_TOOL_PRINCIPAL_decides_its_own_only(self):
        """Allow, or refuse, what another caller's code asks; learn what it asks."""
        one = server()
        engine = callers.Engine({"ann": "tools=yes", "eve": "tools=yes"}, *options(demo=one))
        self.addCleanup(engine.stop)
        ann, eve = engine.caller("ann"), engine.caller("eve")
        s = ann("session.create")["session"]
        run = ann.run(s, gate.RAW + "ask('demo.echo', **{'from': 'x'})", approvals=True, wait_ms=0)["run"]
        asked = ann("step.get", run=run, wait_ms=60000)["approvals"][0]
        for allow in (True, False):
            with self.assertRaises(rpc.Failed) as caught:
                eve("tool.approve", approval=asked["approval"], allow=allow)
            self.assertEqual(caught.exception.code, "not_found")
        with self.assertRaises(rpc.Failed):
            eve("step.get", run=run)
        self.assertEqual(len(ann("step.get", run=run)["approvals"]), 1)
        self.assertEqual(reached(one), [])


if __name__ == "__main__":
    harness.main()
