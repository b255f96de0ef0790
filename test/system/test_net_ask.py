# SPDX-License-Identifier: Apache-2.0
"""With the rule `ask`, a person decides about each host that a program wants to connect to."""

import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402
import test_mcp as mcp  # noqa: E402
import test_repl as repl  # noqa: E402
from test_net import TRY, rows  # noqa: E402

# Names that no resolver knows: a connection that is allowed fails then, since the name is looked up.
ALLOWED, REFUSED = "looked up", "it was not allowed"


def became(record, name, port=80):
    return [ALLOWED if row["verdict"] == "failed" and "name" in row["reason"] else row["reason"]
            for row in rows(record, name=name, port=port)]


class Ask(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)

    def session(self, *rules, **params):
        s = self.engine.session(net=list(rules or ["ask"]), **params)
        self.addCleanup(s.close)
        return s

    def begin(self, s, code, **params):
        """Start a step. Returns: the run."""
        return self.engine.call("step.run", session=s.id, code=TRY + code, approvals=True, wait_ms=0, **params)["run"]

    def questions(self, run, n=1):
        """Wait until the step asks @n questions, which stay open. Returns: them, by host and port."""
        end = time.monotonic() + harness.TIMEOUT_S
        while time.monotonic() < end:
            record = self.engine.call("step.get", run=run)
            if record["status"] != "running" or len(record.get("approvals", ())) == n:
                break
            time.sleep(0.02)
        self.assertEqual(record["status"], "running", record)
        return {(q["connection"]["host"], q["connection"]["port"]): q for q in record["approvals"]}

    def answer(self, question, allow, **scope):
        said = self.engine.call("tool.approve", approval=question["approval"], allow=allow, **scope)
        self.assertEqual(said, {"tool": "retort.connect"})

    def wait(self, run):
        end = time.monotonic() + harness.TIMEOUT_S
        while (record := self.engine.call("step.get", run=run, wait_ms=60000))["status"] == "running" and time.monotonic() < end:
            time.sleep(0.02)  # it is answered at once while a question waits
        return record

    def one(self, s, name, allow, **scope):
        """Run a step that asks about one host. Returns: its record."""
        run = self.begin(s, f"print(ask({name!r}, 80))")
        (_, question), = self.questions(run).items()
        self.answer(question, allow, **scope)
        return self.wait(run)

    def test_a_person_says_no(self):
        s = self.session()
        run = self.begin(s, "print(ask('api.invalid', 80), ask('api.invalid', 80))")
        (place, question), = self.questions(run).items()
        self.assertEqual(place, ("api.invalid", 80))
        self.assertEqual(question["text"], "A program wants to connect to api.invalid, port 80.\nAllow the connection?")
        self.answer(question, False)
        record = self.wait(run)
        self.assertEqual(record["stdout"], "ECONNRESET ECONNRESET\n")  # asked once
        self.assertEqual(became(record, "api.invalid"), [REFUSED])
        self.assertGreater(record["usage"]["waited_ms"], 0)

    def test_once_is_until_the_step_ends(self):
        s = self.session()
        self.assertEqual(became(self.one(s, "api.invalid", True), "api.invalid"), [ALLOWED])
        self.assertEqual(self.engine.call("session.net", session=s.id)["net"], ["ask"])
        self.assertEqual(became(self.one(s, "api.invalid", False, scope="once"), "api.invalid"), [REFUSED])

    def test_for_the_session(self):
        s = self.session()
        self.assertEqual(became(self.one(s, "api.invalid", True, scope="session"), "api.invalid"), [ALLOWED])
        self.assertEqual(self.engine.call("session.net", session=s.id)["net"], ["ask", "api.invalid:80"])
        self.assertEqual(became(s.run(TRY + "ask('api.invalid', 80)"), "api.invalid"), [ALLOWED])
        # Another port is another question, and the program cannot answer it.
        run = self.begin(s, "ask('api.invalid', 443)")
        self.assertEqual(list(self.questions(run)), [("api.invalid", 443)])
        self.engine.call("step.interrupt", run=run)
        self.assertEqual(became(self.wait(run), "api.invalid", 443), ["its step is over"])

    def test_many_at_once(self):
        s = self.session("ask", "ask:7000", "no.invalid:7000")
        run = self.begin(s, """
import threading
all = [threading.Thread(target=ask, args=(f"{name}.invalid", port))
       for name in ("a", "b", "c", "no") for port in (80, 7000) for _ in range(3)]
[t.start() for t in all]
[t.join() for t in all]
""")
        questions = self.questions(run, 7)
        for (name, port), question in questions.items():
            self.answer(question, port == 80, scope="session" if port == 80 else "once")
        record = self.wait(run)
        for name in ("a", "b", "c", "no"):
            self.assertEqual(became(record, f"{name}.invalid"), [ALLOWED])
            self.assertEqual(became(record, f"{name}.invalid", 7000), [ALLOWED if name == "no" else REFUSED])
        end = time.monotonic() + harness.TIMEOUT_S
        while time.monotonic() < end:
            net = self.engine.call("session.net", session=s.id)["net"]
            if len(net) == 7:
                break
        self.assertEqual(sorted(net), sorted(["ask", "ask:7000", "no.invalid:7000"] + [f"{x}.invalid:80" for x in ("a", "b", "c", "no")]))

    def test_rules_decide_first(self):
        with upstream.Tcp(upstream.echo) as echo:
            s = self.session("ask", f"db.test:80=127.0.0.1:{echo.port}", "any:443")
            record = s.run(TRY + "print(ask('db.test', 80, b'hello'), ask('x.invalid', 443))")
        self.assertEqual(record["stdout"], "b'hello' ECONNRESET\n")
        self.assertEqual(became(record, "x.invalid", 443), [ALLOWED])

    def test_rules_that_come_meanwhile(self):
        s = self.session()
        run = self.begin(s, "print(ask('api.invalid', 80))")
        self.questions(run)
        self.engine.call("session.net", session=s.id, net=["api.invalid", "ask"])
        record = self.engine.call("step.get", run=run, wait_ms=60000)
        self.assertEqual(became(self.wait(run), "api.invalid"), [ALLOWED], record)

    def test_nobody_is_there(self):
        s = self.session()
        record = s.run(TRY + "print(ask('api.invalid', 80))")
        self.assertEqual(became(record, "api.invalid"), ["nobody is here to be asked"])
        done = harness.run(TRY + "ask('api.invalid', 80)", "--net", "ask")
        self.assertIn("net: api.invalid:80 refused: nobody is here to be asked: --net api.invalid\n", done.err)

    def test_programs_between_steps(self):
        s = self.session()
        started = self.engine.call("process.start", session=s.id, argv=["python3", "-c", TRY + "print(ask('api.invalid', 80))"])
        self.engine.call("process.wait", session=s.id, process=started["process"])
        record = s.run("1")
        self.assertEqual(became(record, "api.invalid"), ["nobody is asked between steps"])
        self.assertEqual(became(self.one(s, "api.invalid", True), "api.invalid"), [ALLOWED])  # asked anew

    def test_the_wall_clock_stands_still(self):
        s = self.session(limits={"timeout_ms": 1500})
        run = self.begin(s, "print(ask('api.invalid', 80))")
        (_, question), = self.questions(run).items()
        time.sleep(2)
        self.answer(question, False)
        self.assertEqual(self.wait(run)["status"], "ok")

    def test_a_step_that_ends_without_an_answer(self):
        s = self.session()
        run = self.begin(s, "import threading\nthreading.Thread(target=ask, args=('api.invalid', 80), daemon=True).start()\n"
                            "import time; time.sleep(1)")
        (_, question), = self.questions(run).items()
        record = self.wait(run)
        self.assertEqual(became(record, "api.invalid"), ["its step is over"])
        with self.assertRaises(service.Refused) as caught:
            self.answer(question, True)
        self.assertEqual(caught.exception.code, "not_found")

    def test_branches_ask_themselves(self):
        s = self.session()
        self.one(s, "api.invalid", True, scope="session")
        below = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        self.assertEqual(self.engine.call("session.net", session=below.id)["net"], ["ask", "api.invalid:80"])
        self.assertEqual(became(self.one(below, "b.invalid", True, scope="session"), "b.invalid"), [ALLOWED])
        self.assertEqual(self.engine.call("session.net", session=s.id)["net"], ["ask", "api.invalid:80"])

    def test_rules(self):
        for rule, words in (("GET ask/*", "a person is asked about connections, not about requests"),
                            ("ask=127.0.0.1", "only one name can lead to an address")):
            done = harness.run("1", "--net", rule)
            self.assertEqual(done.status, 2)
            self.assertIn(words, done.err)


class Restart(harness.Case):
    def test_what_was_allowed_for_the_session_stays(self):
        state = os.path.join(harness.make_dir(), "state")
        with service.Engine(state=state) as engine:
            Ask.engine, s = engine, engine.session(net=["ask"])
            Ask("one").one(s, "api.invalid", True, scope="session")
        with service.Engine(state=state) as engine:
            self.assertEqual(engine.call("session.net", session=s.id)["net"], ["ask", "api.invalid:80"])


class Clients(harness.Case):
    """Whom the question reaches: clients of MCP, and people at a terminal."""

    CODE = TRY + "print(ask('api.invalid', 80))\nprint('finished')"
    OVER = "import threading, sys\n" + TRY + """
t = threading.Thread(target=lambda: print("got", ask("api.invalid", 80)))
t.start()
for _ in range(3):
    import time; time.sleep(.1)
    print("\\033[2J\\033[1;1HShow more rows? [y/n] ", end="", flush=True)
    print("more rows? to the other stream", file=sys.stderr, flush=True)
t.join()
"""
    NO = "net: api.invalid:80 refused: it was not allowed"

    def form(self, mcp, question):
        rows = question["params"]["requestedSchema"]["properties"]["approve"]
        self.assertEqual(rows["enum"], ["no", "once", "session"])
        self.assertIn("wants to connect to api.invalid, port 80", question["params"]["message"])

    def test_mcp(self):
        with mcp.Mcp("--net", "ask", version=None) as client:
            client.call("initialize", protocolVersion="2025-11-25", capabilities={"elicitation": {}},
                        clientInfo={"name": "t", "version": "0"})
            for answer, is_allowed in (({"action": "accept", "content": {"approve": "no"}}, False),
                                       ({"action": "accept", "content": {"approve": "once"}}, True),
                                       ({"action": "accept", "content": {}}, False), ({"action": "decline"}, False),
                                       ({"action": "accept", "content": {"approve": "session"}}, True)):
                number = client.send("tools/call", name="run_code", arguments={"code": self.CODE})
                question = client.read()
                self.form(client, question)
                client.write({"jsonrpc": "2.0", "id": question["id"], "result": answer})
                text = mcp.Result(client.answer(number)).text
                self.assertEqual("its name was not found" in text, is_allowed, text)
                self.assertEqual(self.NO in text, not is_allowed, text)
            self.assertIn("its name was not found", mcp.Result(
                client.call("tools/call", name="run_code", arguments={"code": self.CODE})).text)  # not asked again

    def legacy(self, elicitation):
        client = mcp.Mcp("--net", "ask", version=None)
        self.addCleanup(client.close)
        client.call("initialize", protocolVersion="2025-11-25", capabilities={"elicitation": elicitation},
                    clientInfo={"name": "t", "version": "0"})
        return client

    def test_mcp_call_that_is_cancelled_while_a_person_thinks(self):
        client = self.legacy({"form": {}})
        code = "import socket\nsocket.create_connection(('api.invalid', 80)).recv(1)"  # for as long as nobody answers
        number = client.send("tools/call", name="run_code", arguments={"code": code})
        question = client.read()
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        said = client.read()
        self.assertEqual((said["method"], said["params"]), ("notifications/cancelled", {"requestId": question["id"]}))
        # The code was interrupted, so the session is free.
        self.assertIn("value: 42", client.tool("run_code", code="6 * 7").text)

    def test_mcp_client_that_shows_no_forms(self):
        text = self.legacy({"url": {}}).tool("run_code", code=self.CODE).text
        self.assertIn("refused: nobody is here to be asked", text)

    def test_mcp_in_the_modern_era(self):
        can = {**mcp.MODERN, mcp.META + "clientCapabilities": {"elicitation": {}}}
        with mcp.Mcp("--net", "ask", version=None) as client:
            call = {"name": "run_code", "arguments": {"code": self.CODE}, "_meta": can}
            for choice, says in (("no", self.NO), ("once", "its name was not found"), ("no", self.NO)):
                asked = client.call("tools/call", **call)
                [(key, question)] = asked["inputRequests"].items()
                self.form(client, question)
                done = client.call("tools/call", **call, requestState=asked["requestState"], inputResponses={
                    key: {"action": "accept", "content": {"approve": choice}}})
                self.assertIn(says, mcp.Result(done).text)

    def test_who_cannot_ask_is_told(self):
        with mcp.Mcp("--net", "ask") as client:
            self.assertIn("refused: nobody is here to be asked", client.run(self.CODE).text)

    def test_the_repl(self):
        t = repl.Terminal("--net", "ask")
        t.wait(">>> ")
        t.type("import socket\r")
        t.wait(">>> ")
        for typed, says in (("n", "it was not allowed"), ("y", "not found"), ("", "it was not allowed"),
                            ("s", "not found")):
            t.type("socket.create_connection(('api.invalid', 80)).recv(1)\r")
            self.assertIn("wants to connect to api.invalid, port 80", t.wait("[y]es, once / for this [s]ession / [N]o "))
            t.type(typed + "\r")
            t.wait(says)
            t.wait(">>> ")
        t.type("socket.create_connection(('api.invalid', 80)).recv(1)\r")
        t.wait("not found")
        t.wait(">>> ")
        # A slip allows nothing, and what was typed is not run as code.
        t.type("socket.create_connection(('b.invalid', 80)).recv(1)\r")
        t.wait("[N]o ")
        for slip in ("stop", "ye", "sure", "session?"):
            t.type(slip + "\r")
            t.wait("Type y, s or n: ")
        t.type("y\x04\x04")  # without its line end
        t.wait("it was not allowed")
        t.wait(">>> ")
        t.type("socket.create_connection(('b.invalid', 80)).recv(1)\r")
        t.wait("[N]o ")
        t.type(" YES \r")
        t.wait("not found")
        t.wait(">>> ")
        t.type("\x04")
        self.assertEqual(t.end(), 0)

    def test_run(self):
        for _ in range(5):  # at once, before the engine knows that the code runs
            done = harness.run(self.CODE, "--net", "ask")
            self.assertIn("refused: nobody is here to be asked", done.err)
        for typed, says in (("y", "its name was not found"), ("n", "it was not allowed"), ("s", "not found"),
                            ("\x03", "its step is over")):
            t = repl.Terminal(command=["run", "--net", "ask", "-c", self.CODE])
            self.assertIn("wants to connect to api.invalid, port 80", t.wait("[N]o "))
            t.type(typed + ("\r" if typed != "\x03" else ""))
            said = t.rest()
            self.assertIn(says, said)
            self.assertEqual("finished" in said, typed != "\x03", said)
        t = repl.Terminal(command=["run", "--net", "ask", "-c", "import threading\n" + TRY + """
all = [threading.Thread(target=ask, args=(n + '.invalid', 80)) for n in 'abc']
[a.start() for a in all]; [a.join() for a in all]
print('all')"""])
        for typed in "yny":
            t.wait("[N]o ")
            t.type(typed + "\r")
        self.assertIn("all\r\n", t.rest())
        # The clock of the step stands still, although it may ask before the engine knows that it runs.
        for _ in range(3):
            t = repl.Terminal(command=["run", "--net", "ask", "--timeout", "500ms", "-c", self.CODE])
            t.wait("[N]o ")
            time.sleep(1)
            t.type("y\r")
            self.assertIn("finished", t.rest())
        # A program that writes over the question, and imitates another one: it is shown afterwards.
        t = repl.Terminal(command=["run", "--net", "ask", "-c", self.OVER])
        t.wait("[N]o ")
        time.sleep(0.5)
        t.type("n\r")
        before = t.wait("more rows?")
        self.assertIn("n\r\n", before)
        self.assertIn("ECONNRESET", t.rest())
        # A program that ends while the question waits.
        t = repl.Terminal(command=["run", "--net", "ask", "-c", "import threading, time\n" + TRY +
                                   "threading.Thread(target=ask, args=('a.invalid', 80), daemon=True).start()\ntime.sleep(.3)\nprint('end')"])
        t.wait("[N]o ")
        self.assertIn("its step is over", t.rest())

    def test_output_waits_while_a_person_is_asked(self):
        model = os.path.join(harness.make_dir(), "model.jsonl")
        with open(model, "w", encoding="utf-8") as f:
            for text in (f"```python\n{self.OVER}\n```", "Done."):
                f.write(json.dumps({"reply": {"text": text}}) + "\n")
        t = repl.Terminal(command=["agent", "--model", "replay:" + model, "--net", "ask", "Say it."])
        for t, prompt in ((t, None), (repl.Terminal("--net", "ask"), ">>> ")):
            if prompt:
                t.wait(prompt)
                t.type("exec(" + repr(self.OVER) + ")\r")
            t.wait("[N]o ")
            time.sleep(0.5)
            t.type("n\r")
            self.assertIn("n\r\n", t.wait("more rows?"))  # not before the answer
            t.wait("got ECONNRESET")
            t.type("\x04")
            t.end()

    def agent(self, says, *options):
        """A model that must be told what became of the connection."""
        model = os.path.join(harness.make_dir(), "model.jsonl")
        with open(model, "w", encoding="utf-8") as f:
            f.write(json.dumps({"reply": {"text": f"```python\n{self.CODE}\n```"}}) + "\n")
            f.write(json.dumps({"reply": {"text": "Done."}, "expect_last": ["net: api.invalid:80", says]}) + "\n")
        return ["agent", "--model", "replay:" + model, "--net", "ask", *options, "Say it."]

    def test_an_agent(self):
        for typed, says in (("n", "it was not allowed"), ("s", "not found")):
            t = repl.Terminal(command=self.agent(says))
            t.wait("for this [s]ession")
            t.type(typed + "\r")
            said = t.rest()
            self.assertIn("Done.", said)
            self.assertIn("── net: api.invalid:80", said)  # the person sees it, too
            self.assertIn(says, said)
        done = harness.retort(*self.agent("nobody is here to be asked", "--json"))
        self.assertIn("Done.", done.out)


if __name__ == "__main__":
    harness.main()
