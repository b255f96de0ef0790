# SPDX-License-Identifier: Apache-2.0
"""The network of sessions: rules that were taken away, branches, other callers, records that are run again."""

import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import netbox  # noqa: E402
import service  # noqa: E402
import web  # noqa: E402

KEEP = netbox.PRELUDE + """
where = address('db.test')
c = socket.create_connection((where, 6000), 20)
c.sendall(b'before')
def hear(c, data):
    try:
        c.sendall(data)
        return c.recv(100)
    except OSError as e:
        return type(e).__name__
print(c.recv(100))
"""


class Sessions(harness.Case):
    def setUp(self):
        self.server = netbox.Server()
        self.addCleanup(self.server.stop)
        self.rule = f"db.test:6000=127.0.0.1:{self.server.port}"

    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)

    def session(self, *net, **params):
        s = self.engine.session(net=list(net), **params)
        self.addCleanup(s.close)
        return s

    def branch(self, s):
        b = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        self.addCleanup(b.close)
        return b

    def set(self, s, *net):
        self.engine.call("session.net", session=s.id, net=list(net))

    def keeping(self):
        """A session that has a connection and the address of its name."""
        s = self.session(self.rule)
        self.assertEqual(s.run(KEEP)["stdout"], "b'reached'\n")
        return s

    def test_T_NET_RULES_outlives_its_rules(self):
        """A connection and an address from before the rules were taken away: both are dead, without another question."""
        s = self.keeping()
        self.set(s)
        said = s.value("[hear(c, b'after'), say(where, 6000, 'after'), say('db.test', 6000, 'after')]")
        self.assertRegex(said, r"^\[('ConnectionResetError'|'BrokenPipeError'|b''), 'E\w+', 'no name'\]$")
        self.assertEqual(self.server.heard, [b"before"])

    def test_T_NET_RULES_outlives_a_part_of_them(self):
        """The same if other rules, for the same port or the same name, stay."""
        for rules in ((f"other.test:6000=127.0.0.1:{self.server.port}",), ("db.test:6001=127.0.0.1:9",), ("db.test:6000=127.0.0.1:9",)):
            self.server.heard.clear()
            s = self.keeping()
            self.set(s, *rules)
            s.value("[hear(c, b'after'), say(where, 6000, 'after')]")
            self.assertEqual(self.server.heard, [b"before"], rules)

    def test_T_NET_RULES_goes_back_to_before(self):
        """A rollback and an undo bring the memory of a connection back, but not the connection."""
        s = self.keeping()
        s.value("x = 1")
        self.set(s)
        self.assertEqual(s.run("x = hear(c, b'after')\nraise ValueError", atomic=True)["status"], "error")
        s.value("hear(c, b'after')")
        s.undo()
        s.value("[hear(c, b'after'), say(where, 6000, 'after')]")
        self.assertEqual(self.server.heard, [b"before"])

    def test_T_NET_RULES_keeps_a_process(self):
        """A program that was started while there were rules, and goes on trying."""
        s = self.keeping()
        s.value("import os, threading\n"
                "def go():\n    while True: say(where, 6000, 'again'); time.sleep(0.05)\n"
                "pid = os.fork() or go()")
        self.set(s)
        self.server.heard.clear()
        s.value("time.sleep(0.5)")
        self.assertEqual(self.server.heard, [])

    def test_T_NET_RULES_of_another_session(self):
        """A rule that one session gets opens neither its branches from before, nor the session it is a branch of, nor another
        one that is made the same way."""
        s = self.session()
        b, other = self.branch(s), self.session()
        self.set(b, self.rule)
        for each in (s, other, self.session()):
            self.assertEqual(each.value(netbox.PRELUDE + "[say('db.test', 6000), say('198.18.1.0', 6000)]"), "['no name', 'ENETUNREACH']")
        self.assertEqual(b.value(netbox.PRELUDE + "say('db.test', 6000)"), "'reached'")
        self.set(b)
        self.assertEqual(self.branch(b).value("say('db.test', 6000)"), "'no name'")
        self.assertEqual(self.server.n, 1)

    def test_T_NET_RULES_in_a_branch(self):
        """A branch has none of its parent's connections, nor can it speak in one."""
        s = self.keeping()
        b = self.branch(s)
        self.assertNotIn("reached", b.value("hear(c, b'branch')"))
        self.assertEqual(self.server.heard, [b"before"])
        self.assertEqual(b.value("say('db.test', 6000, 'b')"), "'reached'")

    def test_T_NET_RULES_of_a_template(self):
        """A template that has a network does not give it to sessions that are made with none, nor the other way round."""
        self.engine.call("template.create", net=[self.rule])
        s = self.session()
        self.assertEqual(s.value(netbox.PRELUDE + "[say('db.test', 6000), say('198.18.1.0', 6000)]"), "['no name', 'ENETUNREACH']")
        self.assertEqual(self.session(self.rule).value(netbox.PRELUDE + "say('db.test', 6000)"), "'reached'")

    def test_T_NET_RULES_by_the_program_itself(self):
        """A box that is shown the engine's socket, and has a network, asks for more rules: it is refused."""
        s = self.session(self.rule, volumes=[{"src": self.engine.dir, "dst": "engine"}])
        ask = ("import socket, json\nc = socket.socket(socket.AF_UNIX)\nc.settimeout(20)\n"
               "try:\n    c.connect('engine/s')\n"
               f"    c.sendall(json.dumps({{'jsonrpc': '2.0', 'id': 1, 'method': 'session.net', 'params': {{'session': {s.id!r}, "
               "'net': ['any', '!any:6000']}}).encode() + b'\\n')\n    print(c.recv(1000))\n"
               "except OSError as e: print(type(e).__name__)")
        self.assertNotIn("result", s.run(ask)["stdout"])
        self.assertEqual(self.engine.call("session.get", session=s.id)["net"], [self.rule])

    def test_T_NET_RULES_of_an_address_that_moved(self):
        """In a branch, an address from before stands for no name until it is given out again.

        KNOWN: it may then be given to another allowed name; see SECURITY.md, "Network"."""
        two = netbox.Server()
        self.addCleanup(two.stop)
        s = self.session(self.rule, f"two.test:6000=127.0.0.1:{two.port}")
        s.value(netbox.PRELUDE + "where = address('db.test')")
        b = self.branch(s)
        self.assertEqual(b.value("[say(where, 6000, 'first'), address('two.test') == where, say(where, 6000, 'then')]"),
                         "['ECONNREFUSED', True, 'reached']")
        self.assertEqual((self.server.heard, two.heard), ([], [b"then"]))


class Records(harness.Case):
    """A record from anywhere is run again: its rules would open the network of who does so."""

    @classmethod
    def setUpClass(cls):
        cls.server = netbox.Server()
        cls.addClassCleanup(cls.server.stop)
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)
        s = cls.engine.session(net=[f"db.test:6000=127.0.0.1:{cls.server.port}"])
        s.run(netbox.PRELUDE + "print(say('db.test', 6000, 'recorded'))")
        cls.record = cls.engine.call("session.export", session=s.id)["record"]

    def setUp(self):
        self.server.heard.clear()

    def test_T_NET_REPLAY_by_a_caller_without_the_right(self):
        """Over HTTP, a record is a way to give rules like any other."""
        tokens = "none nnnnnnnnnnnnnnnn paths=yes\npublic pppppppppppppppp net=public\nany aaaaaaaaaaaaaaaa net=any\n"
        with web.Server(tokens=tokens) as server:
            for who in ("none", "public"):
                with self.assertRaises(web.Failed, msg=who) as caught:
                    server.rpc("replay.run", headers={"Authorization": "Bearer " + who[0] * 16}, record=self.record)
                self.assertEqual(caught.exception.code, "denied")
            said = server.rpc("replay.run", headers={"Authorization": "Bearer " + "a" * 16}, record=self.record)
            self.assertEqual(said["outcome"], "diverged")
            self.assertEqual(self.server.heard, [])

    def test_T_NET_REPLAY_by_the_operator(self):
        """`retort replay FILE` and `replay.run` must not connect to the host's services because a file says so."""
        path = os.path.join(harness.make_dir(), "record")
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.record)
        self.assertEqual(harness.retort("replay", path).status, 1)
        self.assertEqual(self.engine.call("replay.run", record=self.record)["outcome"], "diverged")
        self.assertEqual(self.server.heard, [])


class Callers(harness.Case):
    TOKENS = ("none nnnnnnnnnnnnnnnn\npublic pppppppppppppppp net=public\nany aaaaaaaaaaaaaaaa net=any\n")

    def call(self, server, who, method, **params):
        return server.rpc(method, headers={"Authorization": "Bearer " + who[0] * 16}, **params)

    def denied(self, server, who, why, method, **params):
        with self.assertRaises(web.Failed, msg=(who, method, params)) as caught:
            self.call(server, who, method, **params)
        self.assertEqual(caught.exception.code, why)

    def test_T_NET_CALLER_gives_more_than_it_may(self):
        """By every operation that takes rules, with a private rule among public ones, in other spellings, or added later."""
        with web.Server(tokens=self.TOKENS) as server:
            own = {who: self.call(server, who, "session.create")["session"] for who in ("none", "public")}
            private = ("!any", "!*.test", "10.0.0.0/8:80", "8.8.8.8", "ANY.test:80=127.0.0.1", "a.test:80=[::1]:80", "a.test:80=8.8.8.8")
            for who, rules in (("none", private + ("any", "a.test")), ("public", private)):
                for rule in rules:
                    for net in ([rule], ["a.test", rule], [rule, "a.test"]):
                        self.denied(server, who, "denied", "session.create", net=net)
                        self.denied(server, who, "denied", "template.create", net=net)
                        self.denied(server, who, "denied", "session.net", session=own[who], net=net)
                        self.denied(server, who, "denied", "session.net", session=own[who], net=net, add=True)
                self.assertEqual(self.call(server, who, "session.net", session=own[who])["net"], [])

    def test_T_NET_CALLER_writes_into_the_log(self):
        """Rules and names with escapes and newlines: nothing of them in the engine's log."""
        with web.Server(tokens=self.TOKENS) as server:
            for rule in ("\x1b[31mevil", "a.test\n2026 any POST /rpc session.net", "\x9b.test"):
                self.denied(server, "any", "usage", "session.create", net=[rule])
            s = self.call(server, "any", "session.create", net=["a.test"])["session"]
            self.call(server, "any", "step.run", session=s, code=netbox.PRELUDE +
                      "exchange(question(b'\\x0e\\x1b[31mevil\\nevil2\\0'))\nask('evil.test')")
            server.wait_for("step.run")
            self.assertNotIn("evil", server.said())
            self.assertNotRegex(server.said(), r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_T_NET_CALLER_changes_the_rules_of_another(self):
        """A session of another caller, or of the operator, is not found, and keeps its rules."""
        with web.Server(tokens=self.TOKENS) as server:
            s = self.call(server, "public", "session.create", net=["a.test"], name="vault")["session"]
            for who in ("none", "any"):
                for word in (s, "vault", s[:8]):
                    self.denied(server, who, "not_found", "session.net", session=word, net=["any"])
                    self.denied(server, who, "not_found", "session.net", session=word)
            self.assertEqual(self.call(server, "public", "session.net", session=s)["net"], ["a.test"])

    def test_T_NET_CALLER_without_a_right_any_more(self):
        """A session that got its rules when its caller had the right is not opened again when it has not."""
        state = harness.make_dir()
        with netbox.Server() as target:
            rule = f"db.test:6000=127.0.0.1:{target.port}"
            with web.Server("--state", state, tokens=self.TOKENS) as server:
                s = self.call(server, "any", "session.create", net=[rule])["session"]
                self.call(server, "any", "step.run", session=s, code=netbox.PRELUDE)
            with web.Server("--state", state, tokens="any aaaaaaaaaaaaaaaa\n") as server:
                self.denied(server, "any", "denied", "step.run", session=s, code="say('db.test', 6000)")
                self.denied(server, "any", "denied", "session.branch", session=s)
                self.assertEqual(target.n, 0)

    def test_T_NET_CALLER_whose_right_is_taken_while_it_runs(self):
        """New rules are refused at once. KNOWN: a session that is live keeps those that it has, and so do its branches,
        until it is closed or its rules are changed."""
        with netbox.Server() as target, web.Server(tokens=self.TOKENS) as server:
            rule = f"db.test:6000=127.0.0.1:{target.port}"
            s = self.call(server, "any", "session.create", net=[rule])["session"]
            server.write_tokens("any aaaaaaaaaaaaaaaa\n")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("has been read again")
            self.denied(server, "any", "denied", "session.create", net=[rule])
            self.denied(server, "any", "denied", "session.net", session=s, net=[rule])
            record = self.call(server, "any", "step.run", session=s, code=netbox.PRELUDE + "print(say('db.test', 6000))")
            self.assertEqual(record["stdout"], "reached\n")
            self.call(server, "any", "session.net", session=s, net=[])
            self.denied(server, "any", "denied", "session.net", session=s, net=[rule])
            record = self.call(server, "any", "step.run", session=s, code="print(say('db.test', 6000))")
            self.assertEqual(record["stdout"], "no name\n")


if __name__ == "__main__":
    harness.main()
