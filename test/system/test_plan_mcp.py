# SPDX-License-Identifier: Apache-2.0
"""Plans with the tools of MCP servers, and a model that answers ask()."""

import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import harness  # noqa: E402
import engine  # noqa: E402
import model_server  # noqa: E402
from test_mcp import Mcp  # noqa: E402

IDENTITY = "user"
REQUEST = "write to bob@example.com, eva@example.com and joe@example.com: hello"
POLICY = """trust(user, policy)
rule("mail.search", effect = read)
rule("mail.page", effect = read)
rule("mail.say", effect = read)
rule("mail.send", effect = external, when = trusted | at_most(bool),
     to = control(allow = trusted, otherwise = ask), mail_body = payload(), class_ = control())
"""
THREE = """mails = mail.search(query = "hello")["mails"]
for to in ["bob@example.com", "eva@example.com", "joe@example.com"]:
    mail.send(to = to, mail_body = "hello")
print(len(mails))
"""


def await_that(condition, what):
    end = time.monotonic() + harness.TIMEOUT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.02)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Case(harness.Case):
    def setUp(self):
        self.dir = harness.make_dir()

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def read(self, name):
        try:
            with open(os.path.join(self.dir, name), encoding="utf-8") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    @property
    def record(self):
        return os.path.join(self.dir, "r.jsonl")

    @property
    def events(self):
        return [json.loads(line) for line in self.read("r.jsonl")]

    @property
    def sent(self):
        return [json.loads(line)["to"].partition("@")[0] for line in self.read("ledger")]

    def mail(self, **more):
        return {"command": "/usr/bin/python3", "args": [os.path.join(HERE, "ledger_server.py"), self.dir], **more}

    def servers(self, **servers):
        return self.file("mcp.json", {"mcpServers": servers or {"mail": self.mail()}})

    def hostile(self, mode):
        ms = 800 if mode.startswith("hang") else harness.TIMEOUT_S * 500
        return {"command": "/usr/bin/python3", "args": [os.path.join(HERE, "tool_server.py"), mode], "timeout": ms}

    def plan(self, verb, source, *options, tools=None, policy=POLICY, request=REQUEST, **kwargs):
        files = ["--policy", self.file("policy", policy)] if policy else []
        return harness.retort("plan", verb, "--tools", tools or self.servers(), *files, "--request", request, *options,
                              self.file("plan.star", source), **kwargs)

    def run_plan(self, source, *options, **kwargs):
        return self.plan("run", source, *options, **kwargs)


class Tools(Case):
    def test_a_plan_runs_against_a_server(self):
        done = self.run_plan(THREE)
        self.assertEqual((done.status, done.out), (0, "2\n"), done)
        self.assertEqual(self.read("ledger"), [json.dumps({"mail-body": "hello", "to": f"{who}@example.com"})
                                               for who in ("bob", "eva", "joe")])
        self.assertFalse(any(is_alive(pid) for pid in self.read("pids")))

    def test_every_list_of_servers_is_understood(self):
        mail = self.mail()
        toml = f'[mcp_servers.mail]\ncommand = "{mail["command"]}"\nargs = {json.dumps(mail["args"])}\n'
        for text in ({"mcpServers": {"mail": mail}}, {"servers": {"mail": mail}}, toml):
            done = self.run_plan('print(mail.page())\n', tools=self.file("list", text))
            self.assertEqual((done.status, done.out), (0, "a page\n"), done)

    def test_what_is_neither_a_list_nor_tools_is_said(self):
        rows = [({"mcpServer": {}}, 'no such member "mcpServer"'), ("[mcp]\n", "/list:1"), ("", "/list:1"),
                ({"mcpServers": {"mail": {}}}, "a command or a url"), ({"mcpServers": 5}, "mcpServers"),
                ({"tools": {}, "mcpServers": {}}, 'no such member "mcpServers"')]
        for text, words in rows:
            done = self.run_plan("print(1)\n", tools=self.file("list", text), policy=None)
            self.assertEqual(done.status, 2, (text, done))
            self.assertIn(words, done.err)
        self.assertIn("mcpServers", self.run_plan("print(1)\n", tools=self.file("list", {"x": {}})).err)

    def test_a_server_that_is_not_named_is_not_started(self):
        servers = {"mail": self.mail(), "other": {"command": "/nonexistent"}, "ai": {"command": "/nonexistent"}}
        done = self.run_plan("print(1)\n", tools=self.servers(**servers), policy=None)
        self.assertEqual((done.status, done.out, self.read("pids")), (0, "1\n", []), done)
        done = self.run_plan("print(mail.page())\n", tools=self.servers(**servers))
        self.assertEqual((done.status, len(self.read("pids"))), (0, 1), done)
        done = self.run_plan("print(other.page())\n", tools=self.servers(**servers))
        self.assertEqual(done.status, 4, done)
        self.assertIn("server other: /nonexistent does not start", done.err)

    def test_names_become_words(self):
        servers = self.servers(**{"my-mail.v2": self.mail()})
        policy = POLICY.replace('"mail.', '"my_mail_v2.')
        done = self.run_plan('my_mail_v2.send(to = "bob@example.com", class_ = "a", mail_body = "hello")\n',
                             tools=servers, policy=policy.replace("class_ = control()", "class_ = control(allow = at_most(text))"))
        self.assertEqual(done.status, 0, done)
        self.assertEqual(self.read("ledger"), ['{"class": "a", "mail-body": "hello", "to": "bob@example.com"}'])

    def test_a_server_cannot_take_a_name_of_the_language(self):
        for name in ("json", "ask", "print", "date"):
            done = self.run_plan(f'print({name})\n', tools=self.servers(**{name: self.mail()}), policy=None)
            self.assertEqual(done.status, 2, done)
            self.assertIn(f"{name} is a built-in name of plans", done.err)

    def test_hints_decide_without_a_policy(self):
        done = self.plan("check", 'mail.search(query = "x")\n', policy=None)
        self.assertEqual(done.status, 0, done)
        done = self.plan("check", 'x = mail.page()\nmail.send(to = x)\n', "--json", policy=None)
        self.assertEqual((done.status, done.json()["asked"]), (0, 1), done)
        done = self.run_plan('x = mail.page()\nmail.send(to = x)\n', "--no-prompt", policy=None)
        self.assertEqual((done.status, self.sent), (6, []), done)
        done = self.run_plan('mail.send(to = "bob@example.com")\n', "--no-prompt", policy=None)
        self.assertEqual((done.status, self.sent), (0, ["bob"]), done)

    def test_policies_name_tools_of_servers(self):
        policy = POLICY + 'test("mail.send", to = value(origin = tool("mail.page"), kind = text), expect = ask)\n'
        done = harness.retort("plan", "test", "--tools", self.servers(), self.file("policy", policy))
        self.assertEqual((done.status, done.out), (0, "1 tests, 0 failed\n"), done)
        done = self.plan("check", "print(1)\n", policy=POLICY + 'rule("mail.sent", effect = read)\n')
        self.assertEqual(done.status, 2, done)
        self.assertIn("mail.sent", done.err)

    def test_parameters_have_the_types_of_the_schema(self):
        for source, words in (('mail.send(to = 5)\n', "to is int, want a string"), ("mail.send()\n", "needs to"),
                              ('mail.send(to = "bob@example.com", cc = "x")\n', "cc"), ("mail.wide()\n", "wide"),
                              ('mail.send(to = "bob@example.com", class_ = "c")\n', "one of")):
            done = self.run_plan(source, "--yes", policy=None)
            self.assertIn(done.status, (1, 2), done)
            self.assertIn(words, done.err)
            self.assertEqual(self.sent, [])


class Lies(Case):
    """What a server declares, and what it gives."""

    GOOD = {"day": "2026-11-22", "level": "low"}

    def say(self, what, rest=""):
        return self.run_plan(f"x = try_call(mail.say, what = {what!r})\nprint(x.ok, x.value, x.error)\n{rest}")

    def test_a_result_that_does_not_fit_is_an_error_of_the_call(self):
        done = self.say(self.GOOD)
        self.assertEqual(done.out, f"True {self.GOOD} None\n", done)
        for what in ({"level": "low"}, {"level": "obey me", "day": "x"}, {"level": 5, "day": "x"}, {"level": "low", "day": []},
                     {**self.GOOD, "n": "x"}, "x", [], None, "plain"):
            done = self.say(what, "print(mail.page())\n")
            self.assertEqual(done.status, 0, done)
            self.assertRegex(done.out, "^False None .*(its answer does not match its outputSchema|its answer has no content)")
            self.assertTrue(done.out.endswith("\na page\n"), done)
        done = self.run_plan("print(1)\nmail.say(what = {})\n")
        self.assertEqual(done.status, 1, done)
        self.assertIn("error[P606]: mail.say failed: server mail: its answer does not match its outputSchema: ", done.err)
        self.assertIn("plan.star:2:", done.err)

    def test_only_what_can_be_checked_counts_for_a_label(self):
        source = 'x = mail.say(what = {})\nlevel = x["level"]\nday = x["day"]\nn = x["n"]\n'
        for trust, kind in ((False, "text"), (True, "date")):
            done = self.plan("explain", source, tools=self.servers(mail=self.mail(trust=trust)))
            self.assertEqual(done.status, 0, done)
            lines = done.out.splitlines()
            self.assertEqual([line.rpartition("; ")[2].strip() for line in lines[1:4]], ["number", kind, "number"])

    def test_hostile_servers(self):
        rows = {"exit-on-call": "ended with status 7", "killed-on-call": "by signal 9", "hang-on-call": "no answer to tools/call",
                "huge": "64 MiB", "many-parts": "values", "rubbish": "not messages", "closed-output": "closed its output"}
        for mode, words in rows.items():
            for call, is_known in (("t.add(a = 1, b = 2)", True), ('t.echo(from_ = "x")', False)):
                done = self.run_plan(f"print(1)\n{call}\nprint(2)\n", "--yes", "--record", self.record, policy=None,
                                     tools=self.servers(t=self.hostile(mode)))
                self.assertEqual((done.status, done.out), (4, "1\n"), (mode, done))
                self.assertIn("error[P607]", done.err)
                self.assertIn(words, done.err, mode)
                self.assertIn("plan.star:2:", done.err)
                self.assertEqual("is not known" in done.err, not is_known, done)
                self.assertNotIn("\x1b", done.err)
                self.assertEqual(self.events[-1]["outcome"], "lost")
                os.remove(self.record)
                os.remove(self.record + ".values")

    def test_an_error_that_a_try_sees(self):
        done = self.run_plan("x = try_call(t.add, a = 1, b = 2)\nprint(x.ok)\n", policy=None,
                             tools=self.servers(t=self.hostile("exit-on-call")))
        self.assertEqual((done.status, done.out), (0, "False\n"), done)
        # What may have been done must not be tried again by the plan.
        done = self.run_plan('for i in range(3):\n    try_call(t.echo, from_ = "x")\n', "--yes", policy=None,
                             tools=self.servers(t=self.hostile("exit-on-call")))
        self.assertEqual(done.status, 4, done)

    def test_nothing_is_told_to_a_planner(self):
        done = self.run_plan("t.add(a = 1, b = 2)\n", "--json", policy=None, tools=self.servers(t=self.hostile("exit-on-call")))
        self.assertEqual(done.status, 4, done)
        self.assertNotIn("paper", done.err)
        self.assertEqual(json.loads(done.err)["diagnostics"][0]["code"], "P607")

    def test_servers_that_do_not_begin(self):
        for mode, status in (("exit", 4), ("hang", 4), ("old", 125), ("endless", 125), ("no-list", 125)):
            done = self.run_plan("t.add(a = 1, b = 2)\n", "--record", self.record, policy=None,
                                 tools=self.servers(t=self.hostile(mode)))
            self.assertEqual(done.status, status, (mode, done))
            self.assertRegex(done.err, "^retort: server t: ")
            self.assertFalse(os.path.exists(self.record), "a record of what did not begin")


class Records(Case):
    def test_a_replay_starts_no_server(self):
        done = self.run_plan(THREE, "--record", self.record)
        self.assertEqual(done.status, 0, done)
        again = harness.retort("replay", self.record)
        self.assertEqual((again.status, again.out), (0, done.out), again)
        self.assertIn("the run is the same", again.err)
        self.assertEqual((self.sent, len(self.read("pids"))), (["bob", "eva", "joe"], 1))

    def resume(self, *options):
        return self.run_plan(THREE, "--resume", self.record, *options)

    def test_each_side_effect_happens_once(self):
        for mood, is_done in (("dies", True), ("dead", False), ("huge", True), ("hangs", True)):
            self.dir = harness.make_dir()
            self.file("moods", ["good", mood])
            tools = self.servers(mail=self.mail(timeout=800))
            done = self.run_plan(THREE, "--record", self.record, tools=tools)
            self.assertEqual(done.status, 4, (mood, done))
            self.assertIn("whether mail.send was done is not known", done.err)
            lines = self.read("r.jsonl")
            done = self.resume()
            self.assertEqual(done.status, 1, (mood, done))
            self.assertIn("the call of mail.send in line 3: whether it happened is not known", done.err)
            self.assertEqual(self.read("r.jsonl"), lines)
            self.assertEqual(self.sent, ["bob", "eva"] if is_done else ["bob"])
            # A person has looked, and says so.
            done = self.resume("--again")
            self.assertEqual((done.status, done.out), (0, "2\n"), (mood, done))
            self.assertEqual(self.sent, ["bob", "eva", "eva", "joe"] if is_done else ["bob", "eva", "joe"])
            self.assertEqual(self.read("r.jsonl")[:len(lines)], lines)
            self.assertEqual(harness.retort("replay", self.record).status, 0)
            self.assertIn("nothing is left", self.resume().err)

    def test_what_cannot_have_happened_is_done_again(self):
        # The server is gone when its tool is called: what was not sent was not done.
        mail = self.mail()
        gone = self.file("run", f"#!/bin/sh\n[ -e {self.dir}/gone ] && exit 5\nexec {mail['command']} {' '.join(mail['args'])}\n")
        os.chmod(gone, 0o755)
        # A second server ends the first between two calls.
        server = self.servers(mail={"command": "/bin/sh", "args": [gone]},
                              ender={"command": "/usr/bin/python3", "args": ["-c", ENDER, self.dir]})
        policy = POLICY + 'rule("ender.end", effect = read)\n'
        source = 'mail.send(to = "bob@example.com")\nender.end()\nmail.send(to = "eva@example.com")\nprint(1)\n'
        done = self.run_plan(source, "--record", self.record, tools=server, policy=policy)
        self.assertEqual(done.status, 4, done)
        self.assertNotIn("is not known", done.err)
        self.assertEqual((self.events[-1]["outcome"], self.sent), ("unsent", ["bob"]), done)
        os.remove(os.path.join(self.dir, "gone"))
        done = self.run_plan(source, "--resume", self.record, tools=server, policy=policy)
        self.assertEqual((done.status, done.out, self.sent), (0, "1\n", ["bob", "eva"]), done)
        self.assertEqual(harness.retort("replay", self.record).status, 0)

    def start(self, source, *options, tools=None):
        argv = [harness.RETORT, "plan", "run", "--tools", tools or self.servers(), "--policy", self.file("policy", POLICY),
                "--request", REQUEST, *options, self.file("plan.star", source)]
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=harness.environment())

    def test_killed_within_a_call(self):
        self.file("moods", ["good", "hangs"])
        process = self.start(THREE, "--record", self.record)
        await_that(lambda: self.read("hanging"), "it does not hang")
        process.kill()
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertEqual(self.events[-1]["event"], "call")
        done = self.resume()
        self.assertIn("whether it happened is not known", done.err)
        self.assertEqual(self.sent, ["bob", "eva"])
        for pid in self.read("pids"):
            if is_alive(pid):
                os.kill(int(pid), signal.SIGKILL)

    def test_interrupted_within_a_call(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.dir = harness.make_dir()
            self.file("moods", ["good", "hangs"])
            process = self.start(THREE, "--record", self.record)
            await_that(lambda: self.read("hanging"), "it does not hang")
            process.send_signal(number)
            _, said = process.communicate(timeout=harness.TIMEOUT_S)
            self.assertEqual(process.returncode, 130, said)
            self.assertIn("interrupted in the call of mail.send, line 3", said.decode())
            self.assertFalse(any(is_alive(pid) for pid in self.read("pids")), "a server is left")
            self.assertIn("is not known", self.resume().err)
            done = self.resume("--again")
            self.assertEqual((done.status, self.sent), (0, ["bob", "eva", "eva", "joe"]), done)

    def test_interrupted_before_the_first_call(self):
        process = self.start("t.add(a = 1, b = 2)\n", tools=self.servers(t={**self.hostile("hang"), "timeout": 60000}))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 130, said)


ENDER = """
import json, os, signal, sys
def say(**m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "initialize":
        say(id=m["id"], result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}})
    elif m["method"] == "tools/list":
        say(id=m["id"], result={"tools": [{"name": "end", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}]})
    elif m["method"] == "tools/call":
        if not os.path.exists(sys.argv[1] + "/ended"):
            open(sys.argv[1] + "/gone", "w").close()
            open(sys.argv[1] + "/ended", "w").close()
            with open(sys.argv[1] + "/pids") as f:
                pid = int(f.read().split()[-1])
            os.kill(pid, signal.SIGKILL)
            while os.path.exists(f"/proc/{pid}"):
                pass
        say(id=m["id"], result={"content": [{"type": "text", "text": "x"}]})
"""


def chat(text, **usage):
    return model_server.sse(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7, **usage}}, "[DONE]")


class Questions(Case):
    SOURCE = 'x = mail.page()\nn = ask("how many are there?", x, int)\nprint(n + 1)\n'

    def ask(self, *answers, source=SOURCE, options=(), **kwargs):
        """(what it came to, what the model was asked)."""
        with model_server.Server(*answers) as server:
            done = self.run_plan(source, "--model", f"openai:m@{server.url}/v1", *options,
                                 env={"OPENAI_API_KEY": "sk-canary"}, **kwargs)
            return done, [asked.json() for asked in server.asked]

    def test_the_schema_holds_the_model(self):
        self.file("page", "page of strangers")
        done, asked = self.ask(chat('{"answer": 41}'), options=("--record", self.record))
        self.assertEqual((done.status, done.out), (0, "42\n"), done)
        self.assertEqual(asked[0]["response_format"]["json_schema"]["schema"],
                         {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"],
                          "additionalProperties": False})
        self.assertNotIn("tools", asked[0])
        roles = [m["role"] for m in asked[0]["messages"]]
        self.assertEqual(roles, ["system", "user"])
        self.assertLess(len(asked[0]["messages"][0]["content"]), 600)
        text = json.dumps(asked[0])
        self.assertIn("page of strangers", text)
        for other in ("mail", "bob@", "print", "policy"):
            self.assertNotIn(other, text, "what is none of its business")
        # What it cost is said, and recorded.
        self.assertIn("ask(): 1 question, 100 tokens read, 7 written (openai:m)", done.err)
        tokens = [e["tokens"] for e in self.events if "tokens" in e]
        self.assertEqual(tokens, [{"input": 100, "model": "openai:m", "output": 7, "questions": 1}])
        again = harness.retort("replay", self.record)
        self.assertEqual((again.status, again.out), (0, "42\n"), again)
        self.assertNotIn("canary", "".join(self.read("r.jsonl") + self.read("r.jsonl.values")))

    SHAPES = [
        ('{"n": int, "who": [Email]}', {"n": 3, "who": ["a@b.c"]}), ('enum("a", "b")', "b"), ("[date]", ["2026-11-22"]),
        ("Url", "https://a.b/c"), ("str", "x \u00e4 \"quoted\""), ("bool", False), ("int", 2 ** 80), ("float", 0.5),
        ('{"answer": str}', {"answer": "x"}),
    ]

    def test_every_shape(self):
        for shape, answer in self.SHAPES:
            source = f'print(json.dumps(ask("q", 1, {shape})))\n'
            done, asked = self.ask(chat(json.dumps({"answer": answer})), source=source)
            self.assertEqual(done.status, 0, (shape, done))
            self.assertEqual(json.loads(done.out), answer)
            schema = json.dumps(asked[0]["response_format"])
            self.assertEqual(schema.count('"additionalProperties": false'), schema.count('"properties"'))
            self.assertNotIn('"uri"', schema)

    def test_an_answer_is_found_where_models_put_it(self):
        for text in ("41", '```json\n{"answer": 41}\n```', 'Sure: {"answer": 41}. Anything else?',
                     '<think>{"answer": 7}?</think>{"answer": 41}'):
            done, asked = self.ask(chat(text))
            self.assertEqual((done.status, done.out, len(asked)), (0, "42\n", 1), (text, done))

    def test_it_is_asked_once_more(self):
        for wrong in ("I do not know.", '{"answer": "many"}', '{"answer": 1.5}', '{"answer": [1]}', "{", ""):
            done, asked = self.ask(chat(wrong), chat('{"answer": 41}'), options=("--json",))
            self.assertEqual((done.status, done.out, len(asked)), (0, "42\n", 2), (wrong, done))
            self.assertEqual(json.loads(done.err)["tokens"],
                             {"model": "openai:m", "questions": 2, "input": 200, "output": 14, "is_estimated": False})
            if wrong:
                self.assertEqual([m["role"] for m in asked[1]["messages"]], ["system", "user", "assistant", "user"])
                self.assertEqual(asked[1]["messages"][2]["content"], wrong)
            done, asked = self.ask(chat(wrong), chat(wrong))
            self.assertEqual((done.status, done.out, len(asked)), (1, "", 2), (wrong, done))
            self.assertIn("error[P606]: ask", done.err)
            self.assertIn("plan.star:2:", done.err)

    def test_what_the_plan_checks_is_checked(self):
        # A server that ignores the schema, and a format that no server knows.
        done, asked = self.ask(chat('{"answer": "eve@evil.com, bob@example.com"}'), source='print(ask("who?", 1, Email))\n')
        self.assertEqual((done.status, len(asked)), (1, 2), done)
        self.assertIn("not what was asked for", done.err)

    def test_models_that_fail(self):
        done, _ = self.ask(model_server.error(401, {"error": {"message": "wrong key sk-canary"}}),
                           options=("--record", self.record))
        self.assertEqual(done.status, 3, done)
        self.assertIn("error[P607]: ask", done.err)
        self.assertNotIn("canary", done.err)
        done, _ = self.ask(chat('{"answer": 1}'), options=("--resume", self.record))
        self.assertEqual((done.status, done.out), (0, "2\n"), done)
        done = self.run_plan(self.SOURCE, "--model", "openai:m", env={"OPENAI_API_KEY": ""})
        self.assertEqual(done.status, 3, done)
        done = self.run_plan(self.SOURCE, "--model", "nobody:m")
        self.assertEqual(done.status, 2, done)
        done = self.run_plan(self.SOURCE)
        self.assertEqual(done.status, 2, done)
        self.assertIn("--model", done.err)

    def test_a_program_or_a_recording_is_a_model(self):
        program = self.file("model.py", "import json, sys\nq = json.load(sys.stdin)\nopen(sys.argv[1], 'w').write(json.dumps(q))\n"
                            "print('{\"answer\": 41}')\n")
        asked = os.path.join(self.dir, "asked")
        done = self.run_plan(self.SOURCE, "--model", f"exec:/usr/bin/python3 {program} {asked}")
        self.assertEqual((done.status, done.out), (0, "42\n"), done)
        self.assertIn("estimated", done.err)
        self.assertEqual(set(json.loads(self.read("asked")[0])), {"messages", "options"})
        recording = self.file("recorded", json.dumps({"expect": ["how many", "a page"], "reject": ["bob@"],
                                                      "reply": {"text": '{"answer": 6}'}}) + "\n")
        done = self.run_plan(self.SOURCE, "--model", "replay:" + recording)
        self.assertEqual((done.status, done.out), (0, "7\n"), done)

    def test_a_file_of_tools_may_have_a_model(self):
        tools = self.file("tools.json", {"tools": {}, "ask": [{"question": "q", "answer": 1}]})
        recording = self.file("recorded", json.dumps({"reply": {"text": '{"answer": 2}'}}) + "\n")
        for options, out in (([], "1\n"), (["--model", "replay:" + recording], "2\n")):
            done = self.run_plan('print(ask("q", 1, int))\n', *options, tools=tools, policy=None)
            self.assertEqual((done.status, done.out), (0, out), done)


class Engines(Case):
    """Plans of an engine: what is real is its runner's, and nothing waits for them but who asked."""

    def mcp(self, *options, **mail):
        return Mcp("--plan-tools", self.servers(mail=self.mail(**mail)), "--policy", self.file("policy", POLICY), *options)

    SEND = 'mail.send(to = "bob@example.com")\n'

    def test_plans_of_a_client_run_with_servers(self):
        recording = self.file("recorded", json.dumps({"reply": {"text": '{"answer": 41}'}}) + "\n")
        with self.mcp("--model", "replay:" + recording) as mcp:
            done = mcp.tool("check_plan", plan=THREE, request=REQUEST)
            self.assertFalse(done.is_error, done.text)
            done = mcp.tool("run_plan", plan=THREE, request=REQUEST)
            self.assertFalse(done.is_error, done.text)
            self.assertEqual(self.sent, ["bob", "eva", "joe"])
            done = mcp.tool("run_plan", plan=Questions.SOURCE)
            self.assertIn("42", done.text)
            done = mcp.tool("run_plan", plan="mail.send(to = mail.page())\n")
            self.assertTrue(done.is_error, done.text)
        self.assertEqual(self.sent, ["bob", "eva", "joe"])
        self.assertFalse(any(is_alive(pid) for pid in self.read("pids")))

    def test_the_tools_of_boxes_are_those_of_plans(self):
        with Mcp("--tools", self.servers(), "--plans") as mcp:
            self.assertIn("a page", mcp.tool("run_plan", plan="print(mail.page())\n").text)
        with engine.Engine(None, "--tools", self.servers()) as own:
            done = own("plan.run", plan="print(mail.page())\n")
            self.assertEqual((done["status"], done["stdout"]), ("ok", "a page\n"), done)
            done = own("plan.run", plan=self.SEND, request="to bob@example.com")
            self.assertEqual((done["status"], self.sent), ("ok", ["bob"]), done)
            # What a caller brings is all there is then.
            done = own("plan.run", plan="print(mail.page())\n", tools='{"tools": {}}')
            self.assertEqual(done["status"], "invalid", done)

    def test_a_server_that_hangs_blocks_nobody(self):
        self.file("moods", ["hangs"] * 5)
        with self.mcp() as mcp:
            calls = [mcp.send("tools/call", name="run_plan", arguments={"plan": self.SEND, "request": REQUEST})
                     for _ in range(5)]
            await_that(lambda: len(self.read("hanging")) >= 3, "plans do not run")
            self.assertIn("42", mcp.tool("run_code", code="6 * 7").text)
            for number in calls:
                mcp.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            await_that(lambda: not any(is_alive(pid) for pid in self.read("pids")), "servers are left")
            self.assertIn("a page", mcp.tool("run_plan", plan="print(mail.page())\n").text)

    def test_a_client_that_goes_takes_its_plans_along(self):
        self.file("moods", ["hangs"])
        with self.mcp(timeout=3600000) as mcp:
            mcp.send("tools/call", name="run_plan", arguments={"plan": self.SEND, "request": REQUEST})
            await_that(lambda: self.read("hanging"), "the plan does not run")
        self.assertFalse(any(is_alive(pid) for pid in self.read("pids")))

    def test_a_server_that_ends_is_an_outcome(self):
        self.file("moods", ["dies"])
        with self.mcp() as mcp:
            done = mcp.tool("run_plan", plan=self.SEND, request=REQUEST)
            self.assertTrue(done.is_error)
            self.assertTrue(done.text.startswith("lost\n"), done.text)
            self.assertIn("plan:1:10: P607", done.text)
            self.assertIn("is not known", done.text)


if __name__ == "__main__":
    harness.main()
