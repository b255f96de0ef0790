# SPDX-License-Identifier: Apache-2.0
"""Plans against policies on the command line: what is said, where, and with which status it ends."""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"
DEMO = os.path.join(harness.ROOT, "demo", "plan")
TOOLS, POLICY = os.path.join(DEMO, "tools.json"), os.path.join(DEMO, "mail.policy.star")
HAS_DEMO = os.access(TOOLS, os.R_OK)

# Plan, request, status, what is said. Line 1 begins the plan.
PLANS = [
    ('files.delete(file_id="report-7")\n', "delete report-7", 0, ""),
    ('files.delete(file_id="report-7")\n', "delete report-8", 6, "error[P401]"),
    ('files.delete(file_id=web.get(url="a"))\n', "a", 6, "1:22"),
    ('if "x" in web.get(url="a"):\n    files.delete(file_id="a")\n', "a", 6, "error[P402]"),
    ('mail.send(recipients=["ann@evil.com"], subject="s", body="b")\n', "", 0, "ask[P401]"),
    ('mail.send(recipients=["ann@example.com"], subject="s", body="b")\n', "", 0, ""),
    ('files.delete(file="a")\n', "a", 2, "did you mean file_id?"),
    ('files.remove(file_id="a")\n', "a", 2, "there is no tool files.remove"),
    ('file.delete(file_id="a")\n', "a", 2, "did you mean files?"),
    ("def f(x):\n    return f(x)\nf(1)\n", "a", 2, "P410"),
    ("x = \n", "a", 2, "P110"),
    ('for mail in mail.search(query="a"):\n    print(mail["body"])\n', "a", 2, "error[P307]: mail is a variable here"),
    ('def f(web):\n    return web.get(url="a")\nf(1)\n', "a", 0, ""),
    ('def f(mail):\n    return mail.search(query="a")\nf(1)\n', "a", 2, "give the variable another name"),
    ('def f(mail):\n    return mail["body"]\nx = [f(mail) for mail in mail.search(query="a")]\n', "a", 0, ""),
    ('date = "2026-11-22"\nprint(date.weekday(date))\n', "a", 2, "P307"),
    ('print(date.add("2026-11-22", 1), json.loads("[1]"), json.dumps([1]))\n', "a", 0, ""),
]

# Policy, what is wrong with it.
POLICIES = [
    ("rule('web.gte', effect = read)\n", "P503"),
    ("rule('files.delete', effect = destructive)\n", "P507"),
    ("rule('web.get', effect = read, uri = control())\n", "did you mean url?"),
    ("for x in []:\n    pass\n", "P501"),
    ("deny('web.get')\nrule('web.get', effect = read)\n", "P506"),
]


@unittest.skipUnless(HAS_DEMO, "no demo here")
class Check(harness.Case):
    def setUp(self):
        self.dir = harness.make_dir()

    def put(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def plan(self, verb, path, *args):
        done = harness.retort("plan", verb, path, *args)
        return done.status, done.out, done.err

    def test_verdicts(self):
        for text, request, status, said in PLANS:
            with self.subTest(plan=text):
                path = self.put("p.star", text)
                got, out, err = self.plan("check", path, "--policy", POLICY, "--tools", TOOLS, "--request", request)
                self.assertEqual((got, out), (status, ""), err)
                self.assertIn(said, err)
                proved = re.fullmatch(r"\d+ calls?, all proved; 0 approvals\n", err)
                self.assertEqual(bool(proved), not said, err)

    def test_a_run_ends_as_the_check_does(self):
        for text, request, status, said in PLANS:
            if status == 0:
                continue
            with self.subTest(plan=text):
                path = self.put("p.star", text)
                got, out, err = self.plan("run", path, "--policy", POLICY, "--tools", TOOLS, "--request", request,
                                          "--no-prompt")
                self.assertEqual((got, out), (status, ""), err)
                self.assertIn(said, err)

    def test_check_and_run_agree_with_tools_and_without(self):
        """What is no question of flows: the names that exist, the dialect, the limits."""
        words = ["ask", "approve", "Email", "date", "enum", "getattr", "json", "len", "member", "open", "struct",
                 "try_call", "mail", "web", "files", "nobody"]
        plans = [(f"x = {word}\n", ()) for word in words]
        plans += [("n = 0\nwhile n < 2:\n    n += 1\n", flags) for flags in ((), ("--while",))]
        plans += [("x = 1\n", ("--plan-memory", size)) for size in ("64k", "1m")]
        known = {}
        for text, flags in plans:
            path = self.put("p.star", text)
            for tools in ((), ("--tools", TOOLS)):
                with self.subTest(plan=text, tools=tools, flags=flags):
                    check, run = (self.plan(verb, path, *flags, *tools) for verb in ("check", "run"))
                    self.assertEqual(check[0], run[0], (check, run))
                    if run[0] == 2:
                        self.assertEqual(check[1:], run[1:])
                    known.setdefault(bool(tools), set()).update([text[4:-1]] * (check[0] == 0))
        self.assertTrue({"len", "json", "struct"} <= known[False] & known[True])
        self.assertEqual(known[True] & {"ask", "Email", "mail", "nobody", "open"}, {"ask", "Email", "mail"})
        self.assertEqual(known[False] & {"ask", "Email", "mail", "nobody", "open"}, set())

    def test_json_is_one_object_in_any_case(self):
        for text, request, status, _ in PLANS:
            with self.subTest(plan=text):
                path = self.put("p.star", text)
                got, out, err = self.plan("check", path, "--policy", POLICY, "--tools", TOOLS, "--json",
                                          "--request", request)
                self.assertEqual((got, err), (status, ""))
                self.assertEqual(json.loads(out)["ok"], status == 0)

    def test_json_names_the_way(self):
        path = self.put("p.star", 'x = web.get(url="a")\nif x == "b":\n    files.delete(file_id=x)\n')
        out = json.loads(self.plan("check", path, "--policy", POLICY, "--tools", TOOLS, "--json")[1])
        found = {f["code"]: f for f in out["calls"][1]["findings"] if f["proof"] == "refuted"}
        self.assertEqual([(s["step"], s["line"]) for s in found["P401"]["path"]], [("source", 1), ("sink", 3)])
        self.assertEqual([(s["step"], s["line"]) for s in found["P402"]["path"]],
                         [("source", 1), ("guard", 2), ("sink", 3)])
        self.assertEqual(found["P401"]["path"][0]["tool"], "web.get")
        self.assertEqual(out["calls"][1]["arguments"]["file_id"]["kind"], "text")

    def test_without_a_policy_annotations_decide(self):
        path = self.put("p.star", 'files.delete(file_id=web.get(url="a"))\n')
        got, _, err = self.plan("check", path, "--tools", TOOLS)
        self.assertEqual(got, 0)
        self.assertIn("no policy: the annotations of the tools decide", err)
        self.assertIn("ask[P401]", err)
        self.assertNotIn("the rule allows", err)
        self.assertIn("there is no policy, and files.delete is not annotated as read-only", err)

    def test_a_policy_to_fill_in(self):
        """Every tool and parameter is in it, and the check names what is left."""
        status, text, err = self.plan("policy", TOOLS)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(text, harness.retort("plan", "policy", "--tools", TOOLS).out)
        with open(TOOLS, encoding="utf-8") as f:
            tools = json.load(f)["tools"]
        for name, tool in tools.items():
            rule = re.search(rf'\nrule\("{name}", effect = (\w+)', text)
            self.assertTrue(rule, (name, text))
            is_read = tool["annotations"].get("readOnlyHint", False)
            self.assertEqual(rule[1] == "read", is_read, name)
            for param in [] if is_read else tool["inputSchema"]["properties"]:
                self.assertIn(f"# {param} = ?,", text[rule.start():])
        path, policy = self.put("p.star", "x = 1\n"), self.put("x.policy.star", text)
        status, _, err = self.plan("check", path, "--policy", policy, "--tools", TOOLS)
        self.assertEqual(status, 2)
        self.assertIn("parameter recipients of mail.send has no rule", err)
        status, _, err = self.plan("check", path, "--tools", TOOLS, "--policy", self.put(
            "y.policy.star", 'rule("files.delete", effect = destructive, file_id = trusted | approved)\n'))
        self.assertIn("file_id = control(allow = trusted | approved), or file_id = payload()", err)
        self.assertEqual(harness.retort("plan", "policy").status, 2)

    def test_names_that_are_meant_for_tools(self):
        rows = [("calendar.read()\n", "--tools FILE"), ('send("x")\n', "--tools FILE"),
                ('llm.ask("x")\n', "ask(question, data, type)"), ("QuarantineLLM()\n", "ask(question, data, type)")]
        for text, said in rows:
            path = self.put("p.star", text)
            for verb in ("check", "run"):
                self.assertIn(said, self.plan(verb, path)[2], text)
        self.assertNotIn("--tools", self.plan("check", self.put("p.star", "print(nmae)\n"))[2])
        # With tools it is another mistake.
        self.assertNotIn("--tools", self.plan("check", self.put("p.star", "calendar.read()\n"), "--tools", TOOLS)[2])

    def test_files_of_options_that_are_missing(self):
        """The error names the option, since a command line has several files."""
        path, missing = self.put("p.star", "x = 1\n"), os.path.join(os.path.dirname(TOOLS), "nope.json")
        for args, said in ((("check", path, "--tools", missing), f"--tools: plan: {missing}: No such file"),
                           (("check", path, "--tools", TOOLS, "--policy", missing), f"--policy: plan: {missing}: No such file"),
                           (("run", path, "--tools", missing), f"--tools: plan: {missing}: No such file"),
                           (("test", missing, "--tools", TOOLS), f"plan: {missing}: No such file"),
                           (("check", missing, "--tools", TOOLS), f"plan: {missing}: No such file")):
            status, out, err = self.plan(*args)
            self.assertEqual((status, out), (2, ""))
            self.assertTrue(err.startswith(f"retort: {said}"), err)
        for option in ("--policy", "--plan-tools"):
            done = harness.retort("mcp", option, missing)
            self.assertEqual((done.status, done.out), (2, ""))
            self.assertTrue(done.err.startswith(f"retort: {option}: plan: {missing}: No such file"), done.err)

    def test_without_tools_it_is_wrong_use(self):
        path = self.put("p.star", "x = 1\n")
        got, _, err = self.plan("check", path, "--policy", POLICY)
        self.assertEqual(got, 2)
        self.assertIn("--tools FILE", err)
        self.assertEqual(self.plan("check", path)[0], 0)

    def test_policies_that_are_none(self):
        path = self.put("p.star", "x = 1\n")
        for text, said in POLICIES:
            with self.subTest(policy=text):
                policy = self.put("x.policy.star", text)
                for verb, first, more in (("check", path, ["--policy", policy]), ("test", policy, [])):
                    got, out, err = self.plan(verb, first, *more, "--tools", TOOLS)
                    self.assertEqual(got, 2)
                    self.assertIn(said, out + err)

    def test_tests_of_a_policy(self):
        self.assertEqual(self.plan("test", POLICY, "--tools", TOOLS)[:2], (0, "3 tests, 0 failed\n"))
        with open(POLICY, encoding="utf-8") as f:
            policy = self.put("x.policy.star", f.read() + 'test("files.delete", file_id = "a", expect = ask)\n')
        got, out, _ = self.plan("test", policy, "--tools", TOOLS)
        self.assertEqual(got, 1)
        self.assertIn("P520", out)
        self.assertIn("expected ask, the rules say allow", out)
        self.assertIn("4 tests, 1 failed", out)
        got, out, _ = self.plan("test", policy, "--tools", TOOLS, "--json")
        self.assertEqual((got, json.loads(out)["failed"]), (1, 1))

    def test_explain(self):
        got, out, err = self.plan("explain", os.path.join(DEMO, "forward.star"), "--policy", POLICY, "--tools", TOOLS)
        self.assertEqual((got, bool(out), "note[P401]" in out), (0, True, True), err)
        self.assertIn("# tool:web.get", out)
        self.assertIn("3. mail.send, line 5", out)
        self.assertIn("needs: web.get", out)
        self.assertIn("approvals that can be asked for:\n  1. line 5: mail.send.recipients\n", out)

    def test_files_that_are_none(self):
        path = self.put("p.star", "x = 1\n")
        for args, said in ((["--tools", "none.json"], "none.json"), (["--tools", path], "tools"),
                           (["--tools", TOOLS, "--policy", "none.star"], "none.star"),
                           (["--tools", TOOLS, "--policy", "/tmp"], "/tmp: is a directory: name a file")):
            with self.subTest(args=args):
                got, _, err = self.plan("check", path, *args)
                self.assertEqual(got, 2, err)
                self.assertIn(said, err)


if __name__ == "__main__":
    harness.main()
