# SPDX-License-Identifier: Apache-2.0
"""Attacks on the rule `ask`, with which a person decides about each connection."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import netbox  # noqa: E402
import harness  # noqa: E402
import service  # noqa: E402
import test_net_names  # noqa: E402
from test_net_names import OTHER, PUBLIC  # noqa: E402

CODE = netbox.PRELUDE


def setUpModule():
    test_net_names.setUpModule()


class Case(harness.Case):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine(*cls.options)
        cls.addClassCleanup(cls.engine.stop)

    def session(self, *rules):
        s = self.engine.session(net=list(rules or ["ask"]))
        self.addCleanup(s.close)
        return s

    def run_asking(self, s, code, decide, asked):
        """Run a step. decide(question) says whether to allow it, or "session"; None: nobody answers. Returns: the record."""
        run = self.engine.call("step.run", session=s.id, code=CODE + code, approvals=True, wait_ms=0)["run"]
        end, done = time.monotonic() + 60, set()
        while (record := self.engine.call("step.get", run=run, wait_ms=50))["status"] == "running" and time.monotonic() < end:
            for question in record.get("approvals", ()):
                if question["approval"] in done:
                    continue
                done.add(question["approval"])
                asked.append(question)
                choice = decide(question["connection"])
                if choice is not None:
                    self.engine.call("tool.approve", approval=question["approval"], allow=bool(choice),
                                     scope="session" if choice == "session" else "once")
            time.sleep(0.02)
        self.assertNotEqual(record["status"], "running", record)
        return record


class Questions(Case):
    def test_T_NET_ASK_answers_its_own_question(self):
        """Code in the box makes the call itself, by the driver's own function: it is asked of nobody, and opens nothing."""
        s, asked = self.session(), []
        record = self.run_asking(s, """
import retort
calls = retort.llm_query.__globals__["part"]("tools").calls
try:
    print(calls.call_one("retort.connect", {"host": "x.invalid", "port": 80}))
except retort.ToolError as e:
    print(type(e).__name__)
print(say("x.invalid", 80))
""", lambda place: False, asked)
        self.assertEqual([q["connection"] for q in asked], [{"host": "x.invalid", "port": 80}])
        self.assertEqual(record["stdout"], "ToolDenied\nECONNRESET\n", record)

    def test_T_NET_ASK_floods_the_person(self):
        """A thousand names: 64 questions, and the rest is refused. The same name in other letters is the same question."""
        s, asked = self.session(), []
        record = self.run_asking(s, """
sockets = []
for i in range(300):
    c = socket.socket()
    c.setblocking(False)
    c.connect_ex((address(f"n{i % 200}.invalid"), 80))
    sockets.append(c)
for c in sockets:
    c.settimeout(20)
    try: print(c.recv(1))
    except ConnectionResetError: pass
for name in ("N1.INVALID", "n1.invalid."):
    say(name, 80)
""", lambda place: False, asked)
        self.assertEqual(record["status"], "ok", record)
        places = [(q["connection"]["host"], q["connection"]["port"]) for q in asked]
        self.assertEqual((len(places), record["stdout"]), (64, ""))
        self.assertEqual(len(set(places)), len(places))
        self.assertIn("its step has asked for 64 places already", {r.get("reason") for r in record["network"]})
        again = []
        self.run_asking(s, "say('late.invalid', 80)", lambda place: False, again)
        self.assertEqual(len(again), 1)  # each step has questions of its own

    def test_T_NET_ASK_writes_into_the_question(self):
        """Names with control characters, blanks or words for the person are no names."""
        s, asked = self.session(), []
        record = self.run_asking(s, r"""
for name in (b"\x1b[2Jsafe.test", b"a b.test", "api.example (approved)".encode(), b"x\nAllow: yes.test", b"\xc3\xa9.test"):
    answer = exchange(question(wire(name.decode("latin-1"))))
    print(rcode(answer), end=" ")
say("x" * 60 + "." + "y" * 60 + ".invalid", 80)
""", lambda place: False, asked)
        self.assertEqual(record["stdout"], "3 3 3 3 3 ")
        self.assertEqual(len(asked), 1)
        self.assertRegex(asked[0]["text"], r"\A[ -~\n]+\Z")

    def test_T_NET_ASK_addresses(self):
        """No question is about an address: they are as without a network."""
        s, asked = self.session(), []
        record = self.run_asking(s, "print([say(a, 80) for a in ('169.254.169.254', '10.0.0.1', '11.0.0.1', '198.18.77.7')],"
                                 " say('localhost.localhost', 80))", lambda place: True, asked)
        self.assertNotIn("reached", record["stdout"])
        self.assertEqual([q for q in asked if q["connection"]["host"][0].isdigit()], [])


@harness.needs_root("a name server of the test's own needs a network namespace")
class Answers(Case):
    @classmethod
    def setUpClass(cls):
        cls.resolver = netbox.Resolver()
        cls.addClassCleanup(cls.resolver.stop)
        cls.target = netbox.Server(address=PUBLIC)
        cls.addClassCleanup(cls.target.stop)
        cls.port = cls.target.port
        cls.resolver.names = {"good.test": [PUBLIC], "same.test": [PUBLIC], "other.test": [OTHER], "in.test": ["127.0.0.1"],
                              "meta.test": ["169.254.169.254"], "private.test": ["10.0.0.1"], "leak.test": [PUBLIC]}
        super().setUpClass()

    def rules(self):
        return ["ask", f"ask:{self.port}"]

    def test_T_NET_ASK_control(self):
        """Not an attack: what a person allows is reached, and what the person does not allow is not even looked up."""
        s, asked = self.session(*self.rules()), []
        record = self.run_asking(s, f"print(say('good.test', {self.port}), say('leak.test', {self.port}))",
                                 lambda place: place["host"] == "good.test", asked)
        self.assertEqual(record["stdout"], "reached ECONNRESET\n")
        self.assertNotIn("leak.test", self.resolver.asked)

    def test_T_NET_ASK_uses_an_answer_for_another_place(self):
        """An answer is for one name and port: not for another name of the same server, and not for another port."""
        s, asked = self.session(*self.rules()), []
        record = self.run_asking(s, f"print(say('good.test', {self.port}), say('same.test', {self.port}), say('good.test', 80),"
                                 f" say('sub.good.test', {self.port}))",
                                 lambda place: place == {"host": "good.test", "port": self.port}, asked)
        self.assertEqual(record["stdout"], "reached ECONNRESET ECONNRESET ECONNRESET\n")
        self.assertEqual(len(asked), 4)

    def test_T_NET_ASK_points_an_allowed_name_inwards(self):
        """The person's yes is for public addresses, unless the rule has a `!`; and never for the host itself or its link."""
        for mark, private in (("", "private"), ("!", None)):
            s, asked = self.session(f"{mark}ask:{self.port}"), []
            record = self.run_asking(s, f"print([say(n + '.test', {self.port}) for n in ('in', 'meta', 'private')])",
                                     lambda place: "session", asked)
            self.assertEqual(len(asked), 3)
            self.assertNotIn("reached", record["stdout"])
            reasons = {r["name"]: r["reason"] for r in record["network"] if r.get("port")}
            self.assertIn("is loopback", reasons["in.test"])
            self.assertIn("is link-local", reasons["meta.test"])
            self.assertEqual("is private" in reasons["private.test"], bool(private), reasons)

    def test_T_NET_ASK_keeps_what_was_allowed_once(self):
        """A connection that was allowed once ends with its step, and nobody can open another one afterwards."""
        s, asked = self.session(*self.rules()), []
        code = f"""
import builtins
builtins.kept = c = socket.create_connection(("good.test", {self.port}), 20)
c.sendall(b"x"); print(c.recv(9))
"""
        record = self.run_asking(s, code, lambda place: True, asked)
        self.assertEqual(record["stdout"], "b'reached'\n")
        before = len(self.target.heard)
        record = self.run_asking(s, f"""
import builtins
try: print(builtins.kept.recv(9), builtins.kept.sendall(b"more"))
except OSError as e: print(type(e).__name__)
print(say("good.test", {self.port}))
""", lambda place: False, asked)
        self.assertEqual(record["stdout"], "ConnectionResetError\nECONNRESET\n", record)
        self.assertEqual(len(self.target.heard), before)

    def test_T_NET_ASK_asks_in_the_name_of_another_host(self):
        """A connection to an allowed name still has to ask for that host: Host and SNI."""
        s, asked = self.session(*self.rules()), []
        record = self.run_asking(s, f"print(say('good.test', {self.port}, 'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n'))",
                                 lambda place: True, asked)
        self.assertEqual(record["stdout"], "ECONNRESET\n")

    def test_T_NET_ASK_waits_for_ever(self):
        """Nobody answers: the step ends by its own limit, and its connections with it."""
        s, asked = self.session(*self.rules()), []
        record = self.run_asking(s, f"""
threading.Thread(target=say, args=("good.test", {self.port}), daemon=True).start()
time.sleep(1)
""", lambda place: None, asked)
        self.assertEqual((record["status"], len(asked)), ("ok", 1))
        self.assertEqual([r["reason"] for r in netbox.rows(record, name="good.test", port=self.port)], ["its step is over"])


if __name__ == "__main__":
    harness.main()
