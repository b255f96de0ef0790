# SPDX-License-Identifier: Apache-2.0
"""The gate: every call of a tool, from code in a box or over JSON-RPC, fits its schema, is allowed, and ends."""

import json
import os
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import callers  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402
import test_mcp as mcp  # noqa: E402
import test_repl as repl  # noqa: E402

IDENTITY = "user"
SERVER = os.path.join(harness.HERE, "system", "tool_server.py")
PYTHON = "/usr/bin/python3"


def server(mode="plain", **more):
    """A member of mcpServers; its log is what it received."""
    env = {"LOG": os.path.join(harness.make_dir(), "log"), **more.pop("env", {})}
    return {"command": PYTHON, "args": [SERVER, mode], "env": env, **more}


def received(one):
    try:
        with open(one["env"]["LOG"], encoding="utf-8") as f:
            return [json.loads(line) for line in f]
    except FileNotFoundError:
        return []


def methods(one):
    return [message.get("method") for message in received(one)]


def file_of(**servers):
    path = os.path.join(harness.make_dir(), "mcp.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"mcpServers": servers}, f)
    return path


def engine(*options, kind=rpc.Engine, **servers):
    return kind("--tools", file_of(**servers), *options)


class Listing(harness.Case):
    def test_tools_are_listed_and_searched(self):
        with engine(demo=server(), bad=server("exit")) as e:
            client = e.client()
            listed = client("tool.list")
            names = [t["name"] for t in listed["tools"]]
            self.assertEqual(names[:3], ["demo.add", "demo.ask", "demo.echo"])
            about = {s["name"]: s for s in listed["servers"]}
            self.assertEqual(about["demo"], {"name": "demo", "n_tools": len(names)})
            self.assertIn("it ended with status 3: no licence", about["bad"]["error"])
            found = client("tool.list", query="add numbers", limit=1)["tools"]
            self.assertEqual([t["name"] for t in found], ["demo.add"])
            self.assertEqual(found[0]["input_schema"]["required"], ["a", "b"])
            self.assertEqual(len(client("tool.list", limit=2)["tools"]), 2)

    def test_one_that_hangs_leaves_the_others(self):
        with engine(demo=server(), bad=server("hang")) as e:
            client = e.client()
            listed = client("tool.list")
            self.assertIn("demo.add", [t["name"] for t in listed["tools"]])
            self.assertEqual(client("tool.call", name="demo.add", arguments={"a": 1, "b": 1})["value"], {"sum": 2})

    def test_an_engine_without_servers(self):
        with rpc.Engine() as e:
            client = e.client()
            self.assertEqual(client("tool.list"), {"tools": [], "servers": []})
            with self.assertRaises(rpc.Failed) as caught:
                client("tool.call", name="demo.add")
            self.assertEqual(caught.exception.code, "usage")
            self.assertIn("the engine has no tools", str(caught.exception))

    def test_a_list_that_is_wrong_is_no_start(self):
        for text in ("{", '{"mcpServers": {"t": {}}}', '{"mcpServers": {"t": {"command": "x", "rate": 0}}}'):
            path = os.path.join(harness.make_dir(), "mcp.json")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = harness.retort("serve", "--no-socket", "--listen", "127.0.0.1:0", "--no-journal", "--tools", path)
            self.assertEqual(done.status, 2, done)
            self.assertIn("mcp.json", done.err)


class Calls(harness.Case):
    def test_servers_start_when_they_are_needed_and_once(self):
        one, other = server(), server()
        with engine(one=one, other=other) as e:
            clients = [e.client() for _ in range(3)]
            self.assertEqual((methods(one), methods(other)), ([], []))
            for client in clients:
                client.send("tool.call", name="one.add", arguments={"a": 1, "b": 2})
            for client in clients:
                self.assertEqual(client.result(client.receive()[1])["value"], {"sum": 3})
            self.assertEqual(methods(one).count("initialize"), 1)
            self.assertEqual(methods(one).count("tools/list"), 2, "two pages")
            self.assertEqual(methods(one).count("tools/call"), 3)
            self.assertEqual(methods(other), [])

    def test_values_come_unwrapped(self):
        with engine(demo=server()) as e:
            client = e.client()
            for name, arguments, want in (
                    ("demo.add", {"a": 1, "b": 2.5}, {"sum": 3.5}),
                    ("demo.read_file", {"x": [None, "é"]}, {"x": [None, "é"]}),
                    ("demo.slow", {"n": 1}, "done")):
                done = client("tool.call", name=name, arguments=arguments)
                self.assertEqual((done["is_error"], done["value"]), (False, want))
            picture = client("tool.call", name="demo.picture")["value"]
            self.assertEqual(picture["images"], [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}])
            failed = client("tool.call", name="demo.fail")
            self.assertEqual((failed["is_error"], failed["value"]), (True, "it is broken\x1b[2J"))

    def refused(self, client, **params):
        with self.assertRaises(rpc.Failed) as caught:
            client("tool.call", **params)
        return caught.exception

    def test_arguments_are_checked_before_anything_is_sent(self):
        one = server()
        with engine(demo=one) as e:
            client = e.client()
            for name, arguments, says in (
                    ("demo.add", {"a": 1}, "demo.add: arguments: missing: b"),
                    ("demo.add", {"a": 1, "b": "2"}, "demo.add: b: it has to be of type number"),
                    ("demo.none", {}, "no tool demo.none"),
                    ("none.add", {}, "no tool none.add"),
                    ("retort.tools", {}, "retort.tools")):
                error = self.refused(client, name=name, arguments=arguments)
                self.assertEqual(error.code, "usage")
                self.assertIn(says, str(error))
            self.assertIn("did you mean demo.add?", self.refused(client, name="demo.ad").data["hint"])
            self.assertNotIn("tools/call", methods(one))

    def test_what_can_change_something_is_denied_unless_it_is_allowed(self):
        plain, open_ = server(), server(approve=["ec*"])
        tainted = server(approveTainted=["echo"])
        with engine(plain=plain, open=open_, tainted=tainted) as e:
            client = e.client()
            error = self.refused(client, name="plain.echo", arguments={"from": "x"})
            self.assertEqual(error.code, "denied")
            self.assertNotIn("tools/call", methods(plain))
            for name, more in (("plain.echo", {"approve": True}), ("open.echo", {}), ("tainted.echo", {})):
                done = client("tool.call", name=name, arguments={"from": "x"}, **more)
                self.assertEqual(done["value"], "x", name)

    def test_a_rate_is_kept_for_each_server(self):
        with engine(demo=server(rate=3), other=server()) as e:
            client = e.client()
            for _ in range(3):
                client("tool.call", name="demo.add", arguments={"a": 1, "b": 1})
            error = self.refused(client, name="demo.add", arguments={"a": 1, "b": 1})
            self.assertEqual(error.code, "quota")
            self.assertRegex(error.data["hint"], r"call again in \d+ s")
            client("tool.call", name="other.add", arguments={"a": 1, "b": 1})

    def test_servers_that_break_every_rule(self):
        servers = {mode.replace("-", "_"): server(mode, timeout=1500) for mode in (
            "exit", "hang", "exit-on-call", "killed-on-call", "hang-on-call", "flood", "huge", "many-parts",
            "rubbish", "no-content", "closed-output")}
        with engine(demo=server(), **servers) as e:
            asked = {name: e.client(timeout=120) for name in servers}
            for name, client in asked.items():
                client.send("tool.call", name=f"{name}.add", arguments={"a": 1, "b": 1})
            calm = e.client()
            self.assertEqual(calm("tool.call", name="demo.add", arguments={"a": 1, "b": 1})["value"], {"sum": 2})
            for name, client in asked.items():
                with self.subTest(server=name), self.assertRaises(rpc.Failed) as caught:
                    client.result(client.receive()[1])
                self.assertEqual(caught.exception.code, "unreachable", name)
                if name != "no_content":
                    self.assertIn(f"server {name}: ", str(caught.exception))
            self.assertEqual(calm("tool.call", name="demo.add", arguments={"a": 1, "b": 1})["value"], {"sum": 2})

    def test_an_answer_that_is_not_what_was_declared(self):
        with engine(demo=server("liar")) as e:
            done = e.client()("tool.call", name="demo.add", arguments={"a": 1, "b": 1})
            self.assertTrue(done["is_error"])
            self.assertIn("does not match its outputSchema", done["value"])

    def test_one_that_ends_at_each_call_is_not_started_without_end(self):
        one = server("exit-on-call")
        with engine(demo=one) as e:
            client = e.client()
            says = ""
            for n_calls in range(1, 300):
                says = str(self.refused(client, name="demo.add", arguments={"a": 1, "b": 1}))
                if "was started 30 times within a minute" in says:
                    break
                self.assertEqual(methods(one).count("initialize"), n_calls)
            else:
                self.fail(says)
            self.assertEqual(methods(one).count("initialize"), n_calls - 1)
            self.assertGreaterEqual(n_calls, 31)

    def test_lists_that_change_are_read_again(self):
        with engine(demo=server("changing")) as e:
            client = e.client()
            self.assertEqual(client("tool.call", name="demo.add", arguments={"a": 1, "b": 1})["value"], {"sum": 2})
            for _ in range(200):
                names = [t["name"] for t in client("tool.list")["tools"]]
                if names == ["demo.later"]:
                    break
                time.sleep(0.02)
            self.assertEqual(names, ["demo.later"])

    def test_calls_are_logged_without_what_was_sent(self):
        with engine(demo=server()) as e:
            client = e.client()
            client("tool.call", name="demo.read_file", arguments={"secret": "sesame"})
            self.refused(client, name="demo.echo", arguments={"from": "sesame"})
            lines = [line.split() for line in e.said().splitlines() if " TOOL " in line]
            self.assertEqual([(w[2], w[4], w[5]) for w in lines],
                             [("TOOL", "demo.read_file", "200"), ("TOOL", "demo.echo", "403")])
            self.assertNotIn("sesame", e.said())

    def test_a_client_that_goes_gives_its_call_up(self):
        one = server("hang-on-call")
        with engine(demo=one) as e:
            client = e.client()
            client.send("tool.call", name="demo.add", arguments={"a": 1, "b": 1})
            while "tools/call" not in methods(one):
                time.sleep(0.01)
            client.close()
            for _ in range(400):
                if "notifications/cancelled" in methods(one):
                    return
                time.sleep(0.02)
            self.fail("the server was not told")

    def test_an_engine_that_ends_while_it_waits(self):
        for mode in ("hang", "hang-on-call", "stubborn"):
            with self.subTest(mode=mode):
                pids = os.path.join(harness.make_dir(), "pids")
                one = server(mode, env={"PIDS": pids})
                e = engine("--grace", "0s", demo=one)
                client = e.client()
                client.send("tool.call", name="demo.slow", arguments={"n": 1000})
                client.send("tool.list")
                while len(received(one)) < 1:
                    time.sleep(0.01)
                self.assertEqual(e.stop(), 0)


class Principals(harness.Case):
    def test_tools_are_for_those_who_may_use_them(self):
        with callers.Engine({"ann": "tools=yes", "bob": "", "eve": "tools=no"}, "--tools",
                            file_of(demo=server())) as e:
            ann = e.caller("ann")
            self.assertEqual(ann("tool.call", name="demo.add", arguments={"a": 1, "b": 1})["value"], {"sum": 2})
            self.assertNotEqual(ann("tool.list")["tools"], [])
            for name in ("bob", "eve"):
                for method, params in (("tool.list", {}), ("tool.call", {"name": "demo.add"})):
                    with self.assertRaises(rpc.Failed) as caught:
                        e.caller(name)(method, **params)
                    self.assertEqual(caught.exception.code, "denied")
                    self.assertIn("tools=yes", caught.exception.data["hint"])

    def test_without_tokens_nobody_may(self):
        with engine("--listen", "127.0.0.1:0", demo=server()) as e:
            while "http://" not in e.said():
                time.sleep(0.01)
            port = int(e.said().split("http://127.0.0.1:")[1].split()[0])
            caller = callers.Caller("anyone", "", port)
            with self.assertRaises(rpc.Failed) as caught:
                caller("tool.call", name="demo.add", arguments={"a": 1, "b": 1})
            self.assertEqual(caught.exception.code, "denied")


class Counted(harness.Case):
    """GET /metrics: how calls end, of which server, and nothing of what was in them."""

    def rows(self, watcher):
        status, text = watcher.get("/metrics")
        self.assertEqual(status, 200, text)
        self.assertNotIn("sesame", text)
        rows = (line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("retort_tool_"))
        return {name: int(number) for name, number in rows if number != "0"}

    def test_calls_by_server_and_end(self):
        servers = {"demo": server(rate=6), "retort": server(), 'a "b"': server("exit-on-call")}
        with callers.Engine({"ann": "", "watcher": "metrics=yes"}, "--tools", file_of(**servers)) as e:
            watcher, client = e.caller("watcher"), e.client()
            self.assertEqual(self.rows(watcher), {})
            s = client("session.create")["session"]
            client.run(s, "import retort\nfrom retort import tools\n"
                          "for call in (lambda: tools.demo.add(1, 2), lambda: tools.demo.add(3, 4), lambda: tools.demo.add(1, 'sesame'),\n"
                          "             tools.demo.fail, lambda: tools.demo.echo('sesame'), lambda: retort.tools['a \"b\"'].add(1, 2),\n"
                          "             lambda: retort.llm_query('sesame'), lambda: tools.search('sesame'),\n"
                          "             lambda: tools.demo.add(5, 6), lambda: tools.demo.add(7, 8)):\n"
                          "    try:\n        call()\n    except retort.ToolError:\n        pass")
            for name in ("sesame", "sesame.x"):
                with self.assertRaises(rpc.Failed):
                    client("tool.call", name=name)
            with self.assertRaises(rpc.Failed):
                e.caller("ann")("tool.call", name="demo.add")
            got = self.rows(watcher)
            asked = got.pop('retort_tool_calls_total{end="ok"}')
            self.assertGreaterEqual(asked, 2)  # which there are, and what was searched for
            demo = [f'retort_tool_calls_total{{end="{end}",server="demo"}}' for end in (
                "ok", "ToolError", "ToolDenied", "ToolArgumentError", "ToolLimit")]
            self.assertEqual(got, {
                **dict(zip(demo, (3, 1, 2, 1, 1))),
                'retort_tool_calls_total{end="ToolLost",server="a \\"b\\""}': 1,
                'retort_tool_calls_total{end="ToolDenied"}': 1,
                'retort_tool_calls_total{end="ToolArgumentError"}': 2,
            })

    def test_what_people_are_asked(self):
        with callers.Engine({"watcher": "metrics=yes"}, "--tools", file_of(demo=server())) as e:
            client, watcher = e.client(), e.caller("watcher")
            s = client("session.create")["session"]
            for answer in (True, False, None):
                run = client.run(s, "import retort\nretort.tools.demo.echo('sesame')", approvals=True, wait_ms=0)["run"]
                question = client("step.get", run=run, wait_ms=60000)["approvals"][0]["approval"]
                if answer is None:
                    client("step.interrupt", run=run, kill=True)
                else:
                    client("tool.approve", approval=question, allow=answer)
                client("step.get", run=run, wait_ms=60000)
            rows = self.rows(watcher)
            self.assertEqual([rows.get(f'retort_tool_approvals_total{{state="{state}"}}') for state in (
                "asked", "allowed", "refused")], [3, 1, 1])
            self.assertEqual([rows.get(f'retort_tool_calls_total{{end="{end}",server="demo"}}') for end in (
                "ok", "ToolDenied", "cancelled")], [1, 1, 1])


class Boxes(harness.Case):
    """Code in a box calls tools."""

    def value(self, client, session, code, **params):
        return client.value(session, "import retort\nfrom retort import tools\n" + code, **params)

    def error(self, client, session, code, **params):
        done = client.run(session, "import retort\nfrom retort import tools\n" + code, **params)
        self.assertEqual(done["status"], "error", done)
        return done["error"]["name"], done["error"]["message"]

    def test_what_there_is(self):
        with engine(demo=server(), bad=server("exit")) as e:
            client = e.client()
            s = client("session.create")["session"]
            found = self.value(client, s, "[line for line in repr(tools.search('add numbers')).splitlines()]")
            self.assertEqual(len(found), 1)
            self.assertIn("tools.demo.add(*, a: float, b: float)", found[0])
            about = self.value(client, s, "dict(tools.describe('demo.echo'))")
            self.assertEqual(about["name"], "demo.echo")
            self.assertEqual(about["input_schema"]["required"], ["from"])
            self.assertEqual([(p["name"], p["id"], p["required"]) for p in about["params"]],
                             [("from", "from_", True), ("how-often", "how_often", False)])
            self.assertFalse(about["read_only"])
            self.assertEqual(self.error(client, s, "tools.describe('demo.none')")[0], "ToolArgumentError")
            self.assertIn("add", self.value(client, s, "dir(tools.demo)"))

    def test_calls_give_values_and_errors(self):
        with engine(demo=server(), bad=server("exit-on-call")) as e:
            client = e.client()
            s = client("session.create")["session"]
            self.assertEqual(self.value(client, s, "tools.demo.add(20, b=22)"), {"sum": 42})
            self.assertEqual(self.error(client, s, "tools.demo.fail()"), ("ToolError", "it is broken\x1b[2J"))
            name, said = self.error(client, s, "tools.demo.add(a=1, b='x')")
            self.assertEqual(name, "ToolArgumentError")
            self.assertIn("demo.add: b: it has to be of type number", said)
            name, said = self.error(client, s, "tools.bad.add(1, 2)")
            self.assertEqual(name, "ToolLost")
            self.assertIn("server bad: it ended with status 7", said)
            name, said = self.error(client, s, "tools.demo.echo('x')")
            self.assertEqual(name, "ToolDenied")

    def test_what_others_wrote_taints_the_session(self):
        servers = {
            "web": server(),
            "shop": server("closed", approve=["echo"], trust=True),
            "log": server(approveTainted=["echo"], trust=True),
        }
        with engine(**servers) as e:
            client = e.client()
            s = client("session.create")["session"]
            self.assertEqual(self.value(client, s, "tools.shop.echo('x')"), "x")
            other = client("session.branch", session=s)["session"]
            self.value(client, s, "tools.web.add(1, 2)")
            name, said = self.error(client, s, "tools.shop.echo('x')")
            self.assertEqual(name, "ToolDenied")
            self.assertIn("has read data that others wrote", said)
            self.assertEqual(self.value(client, s, "tools.log.echo('x')"), "x")
            below = client("session.branch", session=s)["session"]
            self.assertEqual(self.error(client, below, "tools.shop.echo('x')")[0], "ToolDenied")
            self.assertEqual(self.value(client, other, "tools.shop.echo('x')"), "x")
            # A trusted server that does not say so writes what anybody may have written.
            self.value(client, other, "tools.log.add(1, 2)")
            self.assertEqual(self.error(client, other, "tools.shop.echo('x')")[0], "ToolDenied")

    def ask(self, client, session, code):
        """Start a step whose call asks. Returns: run and question."""
        run = client.run(session, "import retort\n" + code, approvals=True, wait_ms=0)["run"]
        record = client("step.get", run=run, wait_ms=60000)
        self.assertEqual(record["status"], "running", record)
        self.assertEqual(len(record["approvals"]), 1)
        return run, record["approvals"][0]

    def test_a_person_is_asked_and_answers(self):
        one = server()
        with engine(demo=one) as e:
            client = e.client()
            s = client("session.create")["session"]
            run, question = self.ask(client, s, "retort.tools.demo.echo('x' * 3000)")
            self.assertEqual((question["tool"], question["session"]), ("demo.echo", s))
            self.assertEqual((question["destructive"], question["tainted"]), (True, False))
            self.assertIn('demo.echo can change something, and destroy.\n{"from":"xxx', question["text"])
            self.assertIn("bytes more that are not shown", question["text"])
            self.assertNotIn("tools/call", methods(one))
            with self.assertRaises(rpc.Failed) as caught:  # that is for connections only
                client("tool.approve", approval=question["approval"], allow=True, scope="session")
            self.assertEqual(caught.exception.code, "usage")
            self.assertEqual(client("tool.approve", approval=question["approval"], allow=True), {"tool": "demo.echo"})
            record = client("step.get", run=run, wait_ms=60000)
            self.assertEqual((record["status"], record["value"]["text/plain"]), ("ok", repr("x" * 3000)))
            self.assertNotIn("approvals", record)
            run, question = self.ask(client, s, "retort.tools.demo.echo('no')")
            self.assertTrue(question["tainted"])
            client("tool.approve", approval=question["approval"], allow=False)
            record = client("step.get", run=run, wait_ms=60000)
            self.assertEqual(record["error"]["name"], "ToolDenied")
            self.assertEqual(methods(one).count("tools/call"), 1)
            with self.assertRaises(rpc.Failed) as caught:
                client("tool.approve", approval=question["approval"], allow=True)
            self.assertEqual(caught.exception.code, "not_found")

    def test_events_tell_what_is_asked(self):
        with engine(demo=server()) as e:
            client, other = e.client(), e.client()
            s = client("session.create")["session"]
            client.send("step.run", session=s, code="import retort\nretort.tools.demo.echo('x')", approvals=True,
                        stream=True)
            told = []
            while True:
                number, said = client.receive()
                if number is not None:
                    break
                event = said["params"]
                told.append((event["event"], event.get("state")))
                if event.get("state") == "asked":
                    other("tool.approve", approval=event["approval"], allow=True)
            self.assertIn(("tool.approval", "asked"), told)
            self.assertIn(("tool.approval", "allowed"), told)
            self.assertEqual(client.result(said)["status"], "ok")

    def test_what_was_approved_is_asked_again_when_the_session_has_read_since(self):
        """A call waits for a person; meanwhile another thread reads what others wrote."""
        code = """
import retort, threading, time
def act():
    got.append(retort.tools.shop.echo('x'))
got = []
t = threading.Thread(target=act)
t.start()
while not open('go').read():
    time.sleep(.01)
retort.tools.web.add(1, 2)
open('done', 'w').write('1')
t.join()
got
"""
        with engine(web=server(), shop=server("closed", trust=True)) as e:
            client = e.client()
            s = client("session.create")["session"]
            client("file.write", session=s, path="go", content="")
            run, question = self.ask(client, s, code)
            self.assertEqual((question["tainted"], question["destructive"]), (False, False))
            client("file.write", session=s, path="go", content="1")
            for _ in range(500):
                try:
                    client("file.read", session=s, path="done")
                    break
                except rpc.Failed:
                    time.sleep(0.02)
            client("tool.approve", approval=question["approval"], allow=True)
            record = client("step.get", run=run, wait_ms=60000)
            again = record["approvals"][0]
            self.assertNotEqual(again["approval"], question["approval"])
            self.assertTrue(again["tainted"])
            client("tool.approve", approval=again["approval"], allow=True)
            self.assertEqual(client("step.get", run=run, wait_ms=60000)["value"]["text/plain"], "['x']")

    def test_a_step_that_is_stopped_asks_no_more(self):
        with engine(demo=server()) as e:
            client = e.client()
            s = client("session.create")["session"]
            run, question = self.ask(client, s, "retort.tools.demo.echo('x')")
            client("step.interrupt", run=run, kill=True)
            self.assertEqual(client("step.get", run=run, wait_ms=60000)["status"], "killed")
            with self.assertRaises(rpc.Failed):
                client("tool.approve", approval=question["approval"], allow=True)
            run, question = self.ask(client, s, "retort.tools.demo.echo('x')")
            client("session.close", session=s)
            with self.assertRaises(rpc.Failed):
                client("tool.approve", approval=question["approval"], allow=True)

    def test_a_call_that_is_given_up_is_cancelled(self):
        one = server("hang-on-call")
        with engine(demo=one) as e:
            client = e.client()
            s = client("session.create")["session"]
            run = client.run(s, "import retort\nretort.tools.demo.add(1, 2)", wait_ms=0)["run"]
            while "tools/call" not in methods(one):
                time.sleep(0.01)
            client("step.interrupt", run=run)
            record = client("step.get", run=run, wait_ms=60000)
            self.assertNotEqual(record["status"], "ok")
            while "notifications/cancelled" not in methods(one):
                time.sleep(0.01)

    def test_another_principal_answers_nothing(self):
        with callers.Engine({"ann": "tools=yes", "bob": "tools=yes", "eve": ""}, "--tools",
                            file_of(demo=server())) as e:
            ann, bob, eve = (e.caller(name) for name in ("ann", "bob", "eve"))
            s = ann("session.create")["session"]
            run = ann.run(s, "import retort\nretort.tools.demo.echo('x')", approvals=True, wait_ms=0)["run"]
            question = ann("step.get", run=run, wait_ms=60000)["approvals"][0]
            for other in (bob, eve):
                with self.assertRaises(rpc.Failed) as caught:
                    other("tool.approve", approval=question["approval"], allow=True)
                self.assertEqual(caught.exception.code, "not_found")
            ann("tool.approve", approval=question["approval"], allow=True)
            self.assertEqual(ann("step.get", run=run, wait_ms=60000)["status"], "ok")
            record = eve.run(eve("session.create")["session"], "import retort\nretort.tools.demo.add(1, 2)")
            self.assertEqual(record["error"]["name"], "ToolDenied")


class Mcp(harness.Case):
    """Approval through an MCP client, in both eras; and the tool that finds tools."""

    CODE = "import retort\nprint('before')\nretort.tools.demo.echo('sesame')"

    def test_search_tools_is_there_with_tools_only(self):
        with mcp.Mcp() as client:
            self.assertNotIn("search_tools", [t["name"] for t in client.call("tools/list")["tools"]])
        with mcp.Mcp("--tools", file_of(demo=server())) as client:
            self.assertIn("search_tools", [t["name"] for t in client.call("tools/list")["tools"]])
            self.assertIn("tools of other servers", client.about["instructions"])
            self.assertLessEqual(len(client.about["instructions"]), 700)
            text = client.tool("search_tools", query="add numbers").text
            self.assertIn("retort.tools.demo.add(*, a: float, b: float)", text)
            self.assertEqual(client.tool("search_tools", query="add", detail="names").text, "demo.add\n")
            self.assertIn('"required":["a","b"]', client.tool("search_tools", query="add", detail="full").text)
            self.assertIn("nothing found", client.tool("search_tools", query="zebra").text)

    def legacy(self, client, answer):
        """Run CODE and answer what is asked. Returns: the result and the questions."""
        number = client.send("tools/call", name="run_code", arguments={"code": self.CODE})
        asked = []
        while True:
            message = client.read()
            if message.get("method") == "elicitation/create":
                asked.append(message["params"])
                client.write({"jsonrpc": "2.0", "id": message["id"], "result": answer})
            elif message.get("id") == number:
                return mcp.Result(message["result"]), asked

    def test_a_person_is_asked_in_the_legacy_era(self):
        one = server()
        with mcp.Mcp("--tools", file_of(demo=one), version=None) as client:
            client.call("initialize", protocolVersion="2025-11-25", capabilities={"elicitation": {}},
                        clientInfo={"name": "t", "version": "0"})
            done, asked = self.legacy(client, {"action": "accept", "content": {"approve": True}})
            self.assertEqual(len(asked), 1)
            self.assertIn('demo.echo can change something, and destroy.\n{"from":"sesame"}', asked[0]["message"])
            self.assertIn("value: 'sesame'", done.text)
            self.assertIn("before", done.text)
            for answer in ({"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {}}):
                done, asked = self.legacy(client, answer)
                self.assertEqual(len(asked), 1)
                self.assertIn("ToolDenied: demo.echo: the call was not allowed", done.text)
            self.assertEqual(methods(one).count("tools/call"), 1)

    def test_a_person_is_asked_in_the_modern_era(self):
        one = server()
        can = {**mcp.MODERN, mcp.META + "clientCapabilities": {"elicitation": {}}}
        with mcp.Mcp("--tools", file_of(demo=one), version=None) as client:
            call = {"name": "run_code", "arguments": {"code": self.CODE}, "_meta": can}
            for allow, says in ((True, "value: 'sesame'"), (False, "ToolDenied")):
                asked = client.call("tools/call", **call)
                self.assertEqual(asked["resultType"], "input_required")
                [(key, question)] = asked["inputRequests"].items()
                self.assertIn("demo.echo can change something", question["params"]["message"])
                # Not answered, it is asked again; the code is not run again.
                asked = client.call("tools/call", **call, requestState=asked["requestState"])
                self.assertEqual(list(asked["inputRequests"]), [key])
                done = client.call("tools/call", **call, requestState=asked["requestState"], inputResponses={
                    key: {"action": "accept", "content": {"approve": allow}}})
                self.assertIn(says, mcp.Result(done).text)
                again = client.call("tools/call", **call, requestState=asked["requestState"], inputResponses={
                    key: {"action": "accept", "content": {"approve": True}}})
                self.assertIn(says, mcp.Result(again).text)
            self.assertEqual(methods(one).count("tools/call"), 1)

    def test_who_cannot_ask_is_told(self):
        one = server()
        with mcp.Mcp("--tools", file_of(demo=one)) as client:
            self.assertIn("nobody is here to allow it", client.run(self.CODE).text)
            self.assertNotIn("tools/call", methods(one))

    def test_a_call_that_is_cancelled_while_a_person_thinks(self):
        one = server()
        can = {**mcp.MODERN, mcp.META + "clientCapabilities": {"elicitation": {}}}
        with mcp.Mcp("--tools", file_of(demo=one), version=None) as client:
            call = {"name": "run_code", "arguments": {"code": "import retort, time\n"
                    "retort.tools.demo.echo('x')\nopen('on', 'w')\ntime.sleep(600)"}, "_meta": can}
            asked = client.call("tools/call", **call)
            [key] = asked["inputRequests"]
            number = client.send("tools/call", **call, requestState=asked["requestState"], inputResponses={
                key: {"action": "accept", "content": {"approve": True}}})
            while "tools/call" not in methods(one):
                time.sleep(0.01)
            client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            # The session is free again: the code was interrupted.
            self.assertIn("value: 42", client.tool("run_code", _meta=can, code="6 * 7").text)


class Terminals(harness.Case):
    """Approval by the person at the terminal, in repl and agent."""

    CALL = "retort.tools.demo.echo('ses' + 'ame')"

    def test_a_person_is_asked_in_the_repl(self):
        one = server()
        t = repl.Terminal("--tools", file_of(demo=one))
        t.wait(">>> ")
        t.type("import retort\r")
        t.wait(">>> ")
        for typed, says in (("y", "'sesame'"), ("n", "ToolDenied"), ("", "ToolDenied"), ("x" * 600, "ToolDenied")):
            t.type(self.CALL + "\r")
            asked = t.wait("[y/N] ")
            self.assertIn("demo.echo can change something", asked)
            self.assertIn('{"from":"sesame"}', asked)
            t.type(typed + "\r")
            t.wait(says)
            t.wait(">>> ")
        self.assertFalse(termios.tcgetattr(t.fd)[3] & (termios.ICANON | termios.ECHO), "as the editor wants it")
        t.type("\x04")
        self.assertEqual(t.end(), 0)
        self.assertEqual(methods(one).count("tools/call"), 1)

    def test_what_was_typed_before_is_no_answer(self):
        one = server()
        t = repl.Terminal("--tools", file_of(demo=one))
        t.wait(">>> ")
        t.type("import retort, time; print('st' + 'art', flush=True); time.sleep(.3); " + self.CALL + "\r")
        t.wait("start")
        t.type("y\ry\r")
        t.wait("[y/N] ")
        t.type("n\r")
        t.wait("ToolDenied")
        t.type("\x04")
        t.end()
        self.assertNotIn("tools/call", methods(one))

    def test_ctrl_c_is_no_and_the_terminal_is_as_it_was(self):
        one = server()
        t = repl.Terminal("--tools", file_of(demo=one))
        t.wait(">>> ")
        t.type("import retort; " + self.CALL + "\r")
        t.wait("[y/N] ")
        t.type("\x03")
        t.wait(">>> ")
        self.assertFalse(termios.tcgetattr(t.fd)[3] & (termios.ICANON | termios.ECHO), "as the editor wants it")
        t.type("6 * 7\r")
        t.wait("42\r\n")
        t.type("\x04")
        self.assertEqual(t.end(), 0)
        self.assertNotIn("tools/call", methods(one))

    def test_calls_that_ask_at_once_are_asked_about_one_after_the_other(self):
        one = server("closed", trust=True)
        t = repl.Terminal("--tools", file_of(demo=one))
        t.wait(">>> ")
        t.type("import retort; from concurrent.futures import ThreadPoolExecutor as P\r")
        t.wait(">>> ")
        t.type("list(P(3).map(lambda n: retort.tools.demo.echo('ab'[n] + 'z'), [0, 1]))\r")
        for _ in range(2):
            t.wait("[y/N] ")
            t.type("y\r")
        t.wait("['az', 'bz']")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_without_a_terminal_nobody_is_asked(self):
        one = server()
        done = harness.retort("repl", "--tools", file_of(demo=one), stdin=f"import retort\n{self.CALL}\n".encode())
        self.assertIn("nobody is here to allow it", done.err)
        self.assertNotIn("tools/call", methods(one))

    def agent(self, one, *options):
        model = os.path.join(harness.make_dir(), "model.jsonl")
        with open(model, "w", encoding="utf-8") as f:
            code = f"import retort\nfinal_answer({self.CALL})"
            f.write(json.dumps({"reply": {"text": f"```python\n{code}\n```"}}) + "\n")
            f.write(json.dumps({"reply": {"text": "I may not."}}) + "\n")
        return ["agent", "--model", "replay:" + model, "--tools", file_of(demo=one), *options, "Say it."]

    def test_a_person_is_asked_by_the_agent(self):
        for typed, calls, says in (("y", 1, "sesame"), ("n", 0, "I may not.")):
            one = server()
            t = repl.Terminal(command=self.agent(one))
            self.assertIn("demo.echo can change something", t.wait("[y/N] "))
            t.type(typed + "\r")
            self.assertIn(says, t.rest())
            self.assertEqual(methods(one).count("tools/call"), calls)

    def test_an_agent_without_a_terminal_asks_nobody(self):
        one = server()
        done = harness.retort(*self.agent(one, "--jsonl"))
        self.assertIn("nobody is here to allow it", done.out)
        self.assertNotIn("tools/call", methods(one))


if __name__ == "__main__":
    harness.main()
