# SPDX-License-Identifier: Apache-2.0
"""The gate: every call of a tool, from code in a box or over JSON-RPC, fits its schema, is allowed, and ends."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import callers  # noqa: E402
import harness  # noqa: E402
import rpc  # noqa: E402

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
            self.assertIn("there are none here", str(caught.exception))

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
            self.assertIn("not what its outputSchema says", done["value"])

    def test_one_that_ends_at_each_call_is_not_started_without_end(self):
        one = server("exit-on-call")
        with engine(demo=one) as e:
            client = e.client()
            for _ in range(40):
                error = self.refused(client, name="demo.add", arguments={"a": 1, "b": 1})
            self.assertIn("was started 30 times within a minute", str(error))
            self.assertLessEqual(methods(one).count("initialize"), 30)

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


if __name__ == "__main__":
    harness.main()
