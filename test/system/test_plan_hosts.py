# SPDX-License-Identifier: Apache-2.0
"""Plans whose tools read from hosts of a network."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import engine  # noqa: E402
import harness  # noqa: E402
import test_plan_mcp  # noqa: E402
import registry  # noqa: E402
import upstream  # noqa: E402
from mcp_client import Mcp  # noqa: E402

IDENTITY = "user"


class Hosts(test_plan_mcp.Case):
    """What programs read from a network is the host's, not the tool's."""

    SOURCE = 'page = box.run_code(code = FETCH)\nbox.write_file(path = "page", content = page)\nprint(page)\n'
    POLICY = """trust(tool("box.run_code")%s)
rule("box.run_code", effect = external, code = control(), runtime = control(), session = control(), timeout_ms = control(),
     wait_ms = control(), interactive = control(), reset = control())
rule("box.write_file", effect = write, path = control(), content = control(allow = %s), encoding = control(), session = control())
literals(["page"])
"""

    def run_in_box(self, trusted, verb="run", allow="trusted", *options):
        fetch = "from urllib.request import urlopen as o; print(o('http://api.example').read().decode())"
        rule = f"api.example:80=127.0.0.1:{self.web.port}"
        box = {"command": harness.RETORT, "args": ["mcp", "--net", rule]}
        return self.plan(verb, self.SOURCE.replace("FETCH", repr(fetch)), *options, tools=self.servers(box=box),
                         request=f"run {fetch}", policy=self.POLICY % (trusted, allow))

    @classmethod
    def setUpClass(cls):
        cls.web = upstream.Http()
        cls.addClassCleanup(cls.web.stop)

    def test_a_trusted_box_is_not_a_trusted_host(self):
        done = self.run_in_box("")
        self.assertEqual((done.status, done.out), (6, ""), done)
        self.assertIn("error[P401]: untrusted data reaches box.write_file.content", done.err)
        self.assertIn("source: tool:box.run_code, tool:net:api.example; text\n", done.err)
        for trusted, allow in ((', tool("net:api.example")', "trusted"), ("", 'chosen(tool("net:api.example"))')):
            done = self.run_in_box(trusted, "run", allow)
            self.assertEqual(done.status, 0, done)
            self.assertIn("GET / at api.example", done.out)
        done = self.run_in_box(', tool("net:api.exmaple")')
        self.assertEqual(done.status, 2, done)
        self.assertIn("error[P503]: there is no tool that declares the host api.exmaple", done.err)
        self.assertIn("did you mean net:api.example?", done.err)

    def test_hosts_are_shown(self):
        done = self.run_in_box("", "check", "trusted", "--json")
        call = json.loads(done.out)["calls"][1]
        origins = ["user", "tool:box.run_code", "tool:net:api.example"]
        self.assertEqual(call["arguments"]["content"]["origins"], origins, done)
        path = [f["path"] for f in call["findings"] if f.get("parameter") == "content"][0]
        self.assertEqual(path[0]["label"]["origins"], origins[1:], path)
        done = self.run_in_box("", "explain")
        self.assertIn("gives: user, tool:box.run_code, tool:net:api.example; text\n", done.out)
        self.assertIn("     needs: box.run_code\n", done.out)

    def test_a_file_of_tools_may_declare_them(self):
        tools = {"tools": {"web.get": {"_meta": {"retort/net": ["api.example"], "other": 1}, "answers": [{"result": "x"}]}}}
        for hosts, text in ((["api.example"], "tool:net:api.example"), ("?", "tool:net:any"), ([], "; text")):
            tools["tools"]["web.get"]["_meta"]["retort/net"] = hosts
            done = self.plan("explain", "x = web.get()\n", tools=self.file("tools", tools), policy='rule("web.get", effect = read)\n')
            self.assertRegex(done.out, f"gives: tool:web.get(, )?{text}", done)

    def test_an_engine_tells_its_planner(self):
        self.file("metas", [{"retort/net": ["evil.com"]}])
        policy = 'trust(tool("mail.page"))\n' + test_plan_mcp.POLICY
        with engine.Engine(None, "--tools", self.servers()) as own:
            for more, status in (("", "denied"), ('trust(tool("net:evil.com"))\n', "ok")):
                done = own("plan.run", plan="mail.send(to = mail.page())\n", policy=more + policy)
                self.assertEqual((done["status"], self.sent), (status, ["a page"] if more else []), done)

    def test_what_boxes_reach_is_declared(self):
        """By each tool that sees what a program may have left; without rules by none."""
        rows = [([], None), (["--net", "none"], None), (["--net", "any:80", "--net", "10.0.0.0/8"], ["10.0.0.0/8", "any"]),
                (["--net", "API.example:80", "--net", "api.example:443", "--net", "GET *.a.example/x"], ["*.a.example", "api.example"]),
                (["--net", "b.example", "--secret", "KEY=env:KEY@a.example"], ["a.example", "b.example"]),
                (["--net", "ask", "--net", "b.example"], ["any", "b.example"]),
                (["--net", "npm", "--net", "b.example"], ["b.example", "npm.example"])]
        npm = registry.program("npm", """echo '{"registry": "https://npm.example/r/"}'\n""")
        env = {"KEY": "a-secret-value-1", "PATH": npm + ":/usr/bin:/bin"}
        for options, hosts in rows:
            with Mcp(*options, "--commands", "--plans", env=env) as mcp:
                tools = mcp.call("tools/list")["tools"]
            found = {tool["name"]: (tool.get("_meta") or {}).get("retort/net") for tool in tools}
            # Whoever asks for approvals by this hint learns that others may have written the results.
            closed = {t["name"] for t in tools if t["annotations"].get("openWorldHint") is False}
            self.assertEqual("run_code" in closed and "read_file" in closed, not hosts, options)
            self.assertEqual("run_code" not in closed and "read_file" not in closed, bool(hosts), options)
            code = next(t["annotations"] for t in tools if t["name"] == "run_code")
            self.assertEqual(code.get("destructiveHint", True), bool(hosts), options)
            for name in ("check_plan", "run_plan"):
                self.assertIsNone(found.pop(name), options)
            self.assertLessEqual({"run_code", "run_command", "process_output", "read_file"}, set(found))
            self.assertEqual([value for value in found.values() if value != hosts], [], options)


if __name__ == "__main__":
    harness.main()
