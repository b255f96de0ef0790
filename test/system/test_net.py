# SPDX-License-Identifier: Apache-2.0
"""A box connects to what its network rules name, and to nothing else; the record says to what."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402
import web  # noqa: E402

GET = "import urllib.request\nprint(urllib.request.urlopen({url!r}, timeout=20).read().decode(), end='')"

# connect(name, port) of the box, and what becomes of it: "open", or the error's name
TRY = """
import socket, errno
def ask(name, port, say=b""):
    try:
        with socket.create_connection((name, port), timeout=20) as c:
            c.sendall(say or b"x")
            return c.recv(100)
    except socket.gaierror as e:
        return "no name"
    except OSError as e:
        return errno.errorcode.get(e.errno, repr(e))
"""


def get(url):
    return GET.format(url=url)


def rows(record, **wanted):
    """The rows of the record's network that have these members."""
    return [r for r in record.get("network", []) if all(r.get(k) == v for k, v in wanted.items())]


class Rules(harness.Case):
    """`retort run --net`."""

    @classmethod
    def setUpClass(cls):
        cls.web = upstream.Http()
        cls.addClassCleanup(cls.web.stop)
        cls.echo = upstream.Tcp(upstream.echo)
        cls.addClassCleanup(cls.echo.stop)

    def rule(self, name="api.test:80"):
        return f"{name}=127.0.0.1:{self.web.port}"

    def test_a_name(self):
        r = harness.record(get("http://api.test/v1"), "--net", self.rule())
        self.assertEqual((r["stdout"], r["_status"]), ("GET /v1 at api.test\n", 0), r)
        row, = rows(r, verdict="allowed", port=80)
        self.assertEqual((row["name"], row["count"]), ("api.test", 1))
        self.assertGreater(row["bytes_in"], len(r["stdout"]))
        self.assertGreater(row["bytes_out"], 20)

    def test_without_a_rule(self):
        """The box is what it was: no name, no route, no row."""
        r = harness.record(TRY + "print(ask('api.test', 80), ask('192.0.2.1', 80), ask('198.18.0.1', 53))")
        self.assertEqual(r["stdout"], "no name ENETUNREACH ENETUNREACH\n")
        self.assertNotIn("network", r)
        self.assertEqual(harness.record("print(1)", "--net", "none").get("network"), None)

    def test_another_name_is_refused(self):
        done = harness.run(get("http://other.test/"), "--net", self.rule())
        self.assertEqual(done.status, 1)
        self.assertIn("retort: net: other.test refused: no rule names it: --net other.test\n", done.err)
        r = harness.record(get("http://other.test/"), "--net", self.rule())
        row, = rows(r, name="other.test")
        self.assertEqual((row["verdict"], row["reason"]), ("refused", "no rule names it"))

    def test_another_port_is_refused(self):
        r = harness.record(TRY + "print(ask('api.test', 443))", "--net", self.rule())
        self.assertEqual(r["stdout"], "ECONNREFUSED\n")

    def test_any_protocol_at_any_port(self):
        """Ports of the box's own, too: nothing in it has to listen there."""
        options = []
        for port in (22, 25, 5432, 6379, 8080):
            options += ["--net", f"db.test:{port}=127.0.0.1:{self.echo.port}"]
        r = harness.record(TRY + "print([ask('db.test', p, b'%d' % p) for p in (22, 25, 5432, 6379, 8080)])", *options)
        self.assertEqual(r["stdout"], "[b'22', b'25', b'5432', b'6379', b'8080']\n", r)

    def test_a_server_that_speaks_first(self):
        with upstream.Tcp(lambda c: c.sendall(b"220 ready\r\n")) as smtp:
            r = harness.record(
                "import socket\nc = socket.create_connection(('mail.test', 25), 20)\nprint(c.recv(100), c.recv(100))",
                "--net", f"mail.test:25=127.0.0.1:{smtp.port}")
        self.assertEqual(r["stdout"], "b'220 ready\\r\\n' b''\n", r)

    def test_a_server_of_the_box_at_the_same_port(self):
        r = harness.record(TRY + "import threading\n"
            "s = socket.create_server(('127.0.0.1', 8080))\n"
            "def serve():\n    c = s.accept()[0]; c.recv(9); c.sendall(b'mine')\n"
            "threading.Thread(target=serve).start()\n"
            "print(ask('db.test', 8080, b'theirs'), ask('127.0.0.1', 8080))",
            "--net", f"db.test:8080=127.0.0.1:{self.echo.port}")
        self.assertEqual(r["stdout"], "b'theirs' b'mine'\n", r)

    def test_private_addresses(self):
        """A name that is resolved must lead to a public address, unless its rule says otherwise."""
        name = socket.gethostname()
        try:
            where = socket.getaddrinfo(name, 80)[0][4][0]
        except socket.gaierror:
            self.skipTest("the name of this host has no address")
        code = TRY + f"print(ask({name!r}, {self.echo.port}, b'here'))"
        r = harness.record(code, "--net", f"{name}:{self.echo.port}")
        self.assertEqual(r["stdout"], "ECONNRESET\n", r)
        row, = rows(r, port=self.echo.port)
        self.assertEqual(row["verdict"], "refused")
        self.assertRegex(row["reason"], r"its address \S+ is (loopback|private)")
        if where.startswith("127."):
            r = harness.record(code, "--net", f"!{name}:{self.echo.port}")
            self.assertEqual(r["stdout"], "ECONNRESET\n", r)  # "!" is for private networks, not for the host itself
            self.assertIn("is loopback: --net NAME:PORT=127.0.0.1:PORT", harness.run(code, "--net", f"!{name}:{self.echo.port}").err)

    def test_addresses(self):
        port = self.echo.port
        for rule in (f"127.0.0.1:{port}", f"127.0.0.0/8:{port}", "0.0.0.0"):
            done = harness.run("1", "--net", rule)
            self.assertEqual(done.status, 2, done)
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            try:
                s.connect(("192.0.2.1", 9))
            except OSError:
                self.skipTest("this host has no address but the loopback")
            own = s.getsockname()[0]
        with upstream.Tcp(upstream.echo, address="") as echo:
            for rule in (own, own.rsplit(".", 1)[0] + ".0/24"):
                for port in (echo.port, 81):
                    r = harness.record(TRY + f"print(ask({own!r}, {echo.port}, b'here '), ask({own!r}, 82), ask('11.0.0.1', {port}))",
                        "--net", f"{rule}:{port}")
                    seen = "b'here '" if port == echo.port else "ECONNREFUSED"
                    self.assertEqual(r["stdout"], f"{seen} ECONNREFUSED ENETUNREACH\n", r)
                    self.assertEqual([x["verdict"] for x in r.get("network", [])], ["allowed"] * (port == echo.port), r)

    def test_a_server_that_refuses(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        r = harness.record(TRY + "print(ask('db.test', 5432))", "--net", f"db.test:5432=127.0.0.1:{port}")
        self.assertEqual(r["stdout"], "ECONNRESET\n")
        row, = rows(r, port=5432)
        self.assertEqual((row["verdict"], row["reason"]), ("failed", "connection refused"))

    def test_a_name_that_does_not_resolve(self):
        r = harness.record(TRY + "print(ask('nothing.invalid', 80))", "--net", "nothing.invalid")
        self.assertEqual(r["stdout"], "ECONNRESET\n")
        row, = rows(r, port=80)
        self.assertEqual(row["verdict"], "failed")

    @harness.needs_shell_or_sql
    def test_other_languages(self):
        r = harness.record("const r = await fetch('http://api.test/js'); console.log((await r.text()).trim())",
            "-r", "javascript", "--net", self.rule())
        self.assertEqual(r["stdout"], "GET /js at api.test\n", r)
        r = harness.record("curl -sS http://api.test/sh && getent hosts api.test | cut -d. -f1,2",
            "-r", "shell", "--net", self.rule())
        self.assertEqual(r["stdout"], "GET /sh at api.test\n198.18\n", r)

    def test_udp_and_raw(self):
        """There is no UDP but the resolver's, so that clients fall back to TCP at once."""
        r = harness.record("import socket, errno\n"
            "a = socket.gethostbyname('api.test')\n"
            "def udp(to):\n"
            "    s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(10)\n"
            "    try:\n        s.connect(to); s.send(b'x'); s.recv(9)\n"
            "    except OSError as e: return errno.errorcode.get(e.errno)\n"
            "print(udp((a, 443)), udp(('8.8.8.8', 53)), udp(('127.0.0.53', 53)))", "--net", self.rule())
        self.assertEqual(r["stdout"], "ECONNREFUSED ENETUNREACH ECONNREFUSED\n", r)

    def test_bad_rules(self):
        for rule in ("", "https://api.test/", "api.test:0", "api.test:x", "a b", "*", "*.*", "user@api.test", "api.test/v1",
                     "1.2.3", "0x7f.1", "10.0.0.1/8", "::1", "api.test:80=here"):
            done = harness.run("1", "--net", rule)
            self.assertEqual((done.status, done.out), (2, ""), rule)
            self.assertTrue(done.err.startswith("retort: "), done)
            self.assertRegex(done.err, r"^retort: .+: .+", rule)
        done = harness.run("1", "--net", "none", "--net", "api.test")
        self.assertEqual(done.status, 2, done)

    def test_rules_of_a_profile(self):
        home = harness.make_dir()
        os.makedirs(os.path.join(home, "retort"))
        with open(os.path.join(home, "retort/config.json"), "w", encoding="utf-8") as f:
            json.dump({"profiles": {"web": {"net": [self.rule(), "other.test"]}}}, f)
        done = harness.run(get("http://api.test/p"), "--profile", "web", env={"XDG_CONFIG_HOME": home})
        self.assertEqual(done.out, "GET /p at api.test\n", done)

    def test_rules_of_a_file(self):
        path = os.path.join(harness.make_dir(), "rules")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"# what the tests need\n\n{self.rule()}  # the API\nother.test\n")
        done = harness.run(get("http://api.test/f"), "--net", "@" + path)
        self.assertEqual(done.out, "GET /f at api.test\n", done)
        for line, said in (("b@d", "b@d"), ("a.test b.test", "one rule each"), ("- a.test", "one rule each"),
                           ("GET a.test", "'GET a.test/*'"), ("GET a.test/x#y", "'GET a.test/x'")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"other.test\n{line}\n")
            done = harness.run("1", "--net", "@" + path)
            self.assertEqual(done.status, 2, line)
            self.assertIn(said, done.err)
            self.assertIn(path, done.err)
        for text in ("", "\n", "# nothing", " \t# nothing", "GET a.test/v1/*", "\tGET  a.test/*  # it reads\r\nb.test\r\n"):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            self.assertEqual(harness.run("1", "--net", "@" + path).out, "1\n", text)
        self.assertIn("no-such", harness.run("1", "--net", "@no-such").err)


class Names(harness.Case):
    """TLS and HTTP must speak of the host that they are connected to."""

    def test_tls(self):
        with upstream.Http(["api.test", "evil.test"]) as web:
            code = ("import ssl, socket\n"
                "def say(sni):\n"
                "    x = ssl.create_default_context(); x.check_hostname = False; x.verify_mode = ssl.CERT_NONE\n"
                "    try:\n"
                "        with socket.create_connection(('api.test', 443), 20) as c, x.wrap_socket(c, server_hostname=sni) as t:\n"
                "            t.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); return t.recv(15)\n"
                "    except OSError as e: return type(e).__name__\n"
                "print(say('api.test'), say('API.test'), say('evil.test'), say(None))")
            r = harness.record(code, "--net", f"api.test:443=127.0.0.1:{web.port}")
        self.assertEqual(r["stdout"], "b'HTTP/1.1 200 OK' b'HTTP/1.1 200 OK' ConnectionResetError ConnectionResetError\n", r)
        self.assertIn("evil.test", rows(r, verdict="refused")[0]["reason"])

    def test_http(self):
        with upstream.Http() as web:
            code = TRY + ("def get(head): return ask('api.test', 80, ('GET ' + head + '\\r\\n\\r\\n').encode())[:12]\n"
                "for head in ('/ HTTP/1.1\\r\\nHost: api.test', '/ HTTP/1.1\\r\\nHost: evil.test',\n"
                "    '/ HTTP/1.1\\r\\nHost: api.test\\r\\nHost: evil.test', 'http://evil.test/ HTTP/1.1\\r\\nHost: api.test',\n"
                "    '/ HTTP/1.1\\r\\nHost: a@api.test', '/ HTTP/1.1\\r\\nHost : evil.test'): print(get(head))")
            r = harness.record(code, "--net", f"api.test:80=127.0.0.1:{web.port}")
        self.assertEqual(r["stdout"].splitlines(), ["b'HTTP/1.1 200'"] + ["ECONNRESET"[:12]] * 5, r)
        self.assertEqual([s[2] for s in web.seen], ["api.test"])

    def test_first_bytes_that_come_in_pieces(self):
        """A part of a line is sent on after a moment, since the client of another protocol may wait for an answer."""
        with upstream.Http() as web, upstream.Tcp(upstream.echo) as echo:
            code = ("import socket, time\n"
                "def say(name, port, *parts):\n"
                "    with socket.create_connection((name, port), 20) as c:\n"
                "        try:\n"
                "            for part in parts: c.sendall(part.encode()); time.sleep(0.4)\n"
                "            return c.recv(12)\n"
                "        except OSError as e: return type(e).__name__\n"
                "head = ('GE', 'T / HTTP/1.', '1\\r\\nHost: ')\n"
                "print(say('api.test', 80, *head, 'api.test\\r\\n\\r\\n'), say('api.test', 80, *head, 'evil.test\\r\\n\\r\\n'))\n"
                "print(say('db.test', 6000, 'ab'), say('db.test', 6000, 'ab', 'cd e'))")
            r = harness.record(code, "--net", f"api.test:80=127.0.0.1:{web.port}", "--net", f"db.test:6000=127.0.0.1:{echo.port}")
        self.assertEqual(r["stdout"], "b'HTTP/1.1 200' ConnectionResetError\nb'ab' b'abcd e'\n", r)
        row, = rows(r, name="db.test", port=6000)
        self.assertEqual((row["count"], row["bytes_in"], row["bytes_out"]), (2, 8, 8))
        self.assertEqual([s[2] for s in web.seen], ["api.test"])


class Sessions(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.web = upstream.Http()
        cls.addClassCleanup(cls.web.stop)
        cls.echo = upstream.Tcp(upstream.echo)
        cls.addClassCleanup(cls.echo.stop)
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)
        cls.rule = f"api.test:80=127.0.0.1:{cls.web.port}"

    def session(self, *net, **params):
        s = self.engine.session(net=list(net), **params)
        self.addCleanup(self.close, s)
        return s

    def close(self, s):
        try:
            s.close()
        except service.Refused:
            pass

    def fetch(self, s, url="http://api.test/"):
        return s.run(get(url))

    def assertReached(self, s, url="http://api.test/"):
        record = self.fetch(s, url)
        self.assertEqual(record["status"], "ok", record)
        return record

    def assertRefused(self, s, url="http://api.test/"):
        record = self.fetch(s, url)
        self.assertEqual(record["status"], "error", record)
        return record

    def test_each_step_has_its_rows(self):
        s = self.session(self.rule)
        self.assertEqual(len(rows(self.assertReached(s), verdict="allowed", port=80)), 1)
        self.assertNotIn("network", s.run("1"))
        self.assertEqual(rows(self.assertRefused(s, "http://no.test/"), verdict="refused")[0]["name"], "no.test")
        self.assertEqual(self.engine.call("session.get", session=s.id)["net"], [self.rule])

    def test_after_a_rollback(self):
        s = self.session(self.rule, limits={"timeout_ms": 2000})
        self.assertReached(s)
        record = s.run(get("http://api.test/") + "\nimport time\ntime.sleep(100)")
        self.assertEqual(record["state"]["outcome"], "rolled_back", record)
        self.assertEqual(len(rows(record, verdict="allowed", port=80)), 1, record)
        self.assertReached(s)
        record = s.run("import os, urllib.request as u\nu.urlopen('http://api.test/')\nos.kill(os.getpid(), 9)")
        self.assertEqual(len(rows(record, verdict="allowed", port=80)), 1, record)
        self.assertReached(s)
        s.undo()
        self.assertReached(s)

    def test_branches(self):
        s = self.session(self.rule)
        s.run("x = 1")
        b = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        self.addCleanup(self.close, b)
        for each in (b, s):
            self.assertReached(each)
        self.engine.call("session.net", session=s.id, net=[])
        self.assertReached(b)
        self.assertRefused(s)
        c = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        self.addCleanup(self.close, c)
        self.assertRefused(c)

    def test_rules_change(self):
        s = self.session()
        self.assertRefused(s)
        self.assertEqual(self.engine.call("session.net", session=s.id, net=[self.rule])["net"], [self.rule])
        self.assertReached(s)
        more = f"db.test:6000=127.0.0.1:{self.echo.port}"
        rules = self.engine.call("session.net", session=s.id, net=[more], add=True)["net"]
        self.assertEqual(self.engine.call("session.net", session=s.id, net=[more], add=True)["net"], rules, "a rule is there once")
        self.assertEqual(s.value(TRY + "ask('db.test', 6000, b'hello')"), "b'hello'")
        self.assertReached(s)
        self.assertEqual(self.engine.call("session.net", session=s.id)["net"], [self.rule, more])
        with self.assertRaises(service.Refused) as caught:
            self.engine.call("session.net", session=s.id, net=["*"])
        self.assertEqual(caught.exception.code, "usage")
        self.assertReached(s)

    def test_narrower_rules_end_connections(self):
        s = self.session(f"db.test:6000=127.0.0.1:{self.echo.port}")
        s.run(TRY + "c = socket.create_connection(('db.test', 6000), 20); c.sendall(b'a'); print(c.recv(1))")
        self.engine.call("session.net", session=s.id, net=[self.rule])
        record = s.run("try: print(c.recv(1))\nexcept OSError as e: print(type(e).__name__)")
        self.assertIn(record["stdout"], ("ConnectionResetError\n", "b''\n"))
        self.assertReached(s)

    def test_while_a_step_runs(self):
        s = self.session(self.rule)
        other = self.engine.connect()
        self.addCleanup(other.close)
        number = other.send("step.run", session=s.id, code=TRY + "import time\n"
            "while ask('db.test', 6000, b'up') != b'up': time.sleep(0.05)\nprint('done')")
        self.engine.call("session.net", session=s.id, net=[f"db.test:6000=127.0.0.1:{self.echo.port}"], add=True)
        self.assertEqual(other.receive(number)["stdout"], "done\n")

    def test_programs(self):
        """What a client starts in the session has the network, too."""
        s = self.session(self.rule)
        started = self.engine.call("process.start", session=s.id, argv=["curl", "-sS", "http://api.test/exec"])
        self.engine.call("process.wait", session=s.id, process=started["process"])
        out = self.engine.call("process.read", session=s.id, process=started["process"])
        self.assertIn("GET /exec at api.test", json.dumps(out))
        self.assertEqual(rows(s.run("1"), name="api.test", port=80)[0]["count"], 1)

    def test_a_network_taints(self):
        """What hosts send is untrusted: tools that need approval then ask for it, and it stays so."""
        s = self.session()
        self.assertNotIn("untrusted", self.engine.call("session.get", session=s.id))
        self.engine.call("session.net", session=s.id, net=[self.rule])
        self.engine.call("session.net", session=s.id, net=[])
        self.assertTrue(self.engine.call("session.get", session=s.id)["untrusted"])
        self.assertTrue(self.engine.call("session.get", session=self.session(self.rule).id)["untrusted"])
        self.assertNotIn("untrusted", self.engine.call("session.get", session=self.session("none").id))

    def test_ports_are_those_of_programs(self):
        s = self.session(self.rule, f"db.test:6000=127.0.0.1:{self.echo.port}")
        s.run(TRY + "ask('db.test', 6000)\nkeep = socket.create_server(('127.0.0.1', 6000))")
        self.assertEqual(self.engine.call("port.list", session=s.id)["ports"],
                         [{"port": 6000, "listening": True, "addresses": ["127.0.0.1"]}])

    def test_a_change_that_fails_changes_nothing(self):
        s = self.session("10.9.0.0/16:7000", self.rule)
        s.run("1")
        self.assertEqual(self.engine.call("port.list", session=s.id)["ports"], [])
        with self.assertRaisesRegex(service.Refused, "more than 14 ports below 1024"):
            self.engine.call("session.net", session=s.id, net=[f"a.example:{port}" for port in range(1, 16)])
        self.assertEqual(self.engine.call("session.net", session=s.id)["net"], ["10.9.0.0/16:7000", self.rule])
        self.assertEqual(self.engine.call("port.list", session=s.id)["ports"], [])
        self.assertReached(s)

    def test_the_gateway_dies(self):
        s = self.session(self.rule)
        self.assertReached(s)
        gateway, = [p for p, (parent, name, _, _) in harness.processes().items()
                    if parent == self.engine.process.pid and name.startswith("retort-gate")]
        os.kill(gateway, signal.SIGKILL)
        notices, end = [], time.monotonic() + 60
        # A step that is as fast as the news still finds no resolver.
        while (record := self.fetch(s))["status"] != "ok" and time.monotonic() < end:
            notices.append(record["state"].get("notice"))
        notices += [record["state"].get("notice"), self.assertReached(s)["state"].get("notice")]
        self.assertIn("connections", " ".join(filter(None, notices)), notices)
        self.assertEqual(len(list(filter(None, notices))), 1)

    def test_events(self):
        s = self.session(self.rule)
        c = self.engine.connect()
        self.addCleanup(c.close)
        c.file.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "step.run", "params": {
            "session": s.id, "code": get("http://api.test/"), "stream": True}}).encode() + b"\n")
        c.file.flush()
        events = []
        while "id" not in (line := json.loads(c.file.readline())):
            events.append(line["params"])
        told = [e for e in events if e.get("event") == "network"]
        self.assertIn(("api.test", 80, "allowed"), [(e["name"], e.get("port"), e["verdict"]) for e in told])


class Callers(harness.Case):
    """Over HTTP, the token's line says what rules a caller may give."""

    TOKENS = ("none nnnnnnnnnnnnnnnn\npublic pppppppppppppppp net=public metrics=yes\nany aaaaaaaaaaaaaaaa net=any\n")

    def test_rights_and_metrics(self):
        with upstream.Http() as site, web.Server(tokens=self.TOKENS) as server:
            mapped = f"api.test:80=127.0.0.1:{site.port}"

            def call(who, method, **params):
                return server.rpc(method, headers={"Authorization": "Bearer " + who[0] * 16}, **params)

            for who, allowed in (("none", ["none"]), ("public", ["none", "api.test", "*.api.test:22", "any"]),
                                 ("any", ["api.test", mapped, "!api.test", "10.0.0.0/8"])):
                own = call(who, "session.create")["session"]
                for rule in ("none", "api.test", "*.api.test:22", "any", mapped, "!api.test", "10.0.0.0/8"):
                    for method, params in (("session.create", {}), ("session.net", {"session": own}), ("template.create", {})):
                        if rule in allowed or who == "any":
                            call(who, method, net=[rule], **params)
                        else:
                            with self.assertRaises(web.Failed, msg=(who, rule, method)) as caught:
                                call(who, method, net=[rule], **params)
                            self.assertEqual(caught.exception.code, "denied")
            before = self.counted(server)
            s = call("any", "session.create", net=[mapped])["session"]
            self.assertEqual(call("any", "step.run", session=s, code=get("http://api.test/"))["status"], "ok")
            self.assertEqual(call("any", "step.run", session=s, code=get("http://no.test/"))["status"], "error")
            now = self.counted(server)
            self.assertGreater(now['verdict="refused"'], before['verdict="refused"'])
            self.assertGreaterEqual(now['verdict="allowed"'] - before['verdict="allowed"'], 2)
            self.assertGreater(now['direction="in"'], before['direction="in"'])

    def counted(self, server):
        text = server.request("GET", "/metrics", headers={"Authorization": "Bearer " + "p" * 16}).body.decode()
        return {key: float(n) for key, n in re.findall(r"^retort_network_\w+\{(.*)\} (.*)$", text, re.M)}


class Restarts(harness.Case):
    def test_rules_survive(self):
        state = harness.make_dir()
        with upstream.Http() as web:
            rule = f"api.test:80=127.0.0.1:{web.port}"
            with service.Engine(state=state) as engine:
                one = engine.session(name="one", net=[rule])
                two = engine.session(name="two", net=["a.test"])
                one.run("x = 1")
                engine.call("session.net", session="two", net=[rule])
                two.run("x = 1")
            with service.Engine(state=state) as engine:
                for name in ("one", "two"):
                    record = engine.call("step.run", session=name, code=get("http://api.test/"))
                    self.assertEqual(record["status"], "ok", record)
                    self.assertEqual(engine.call("session.net", session=name)["net"], [rule])


class Records(harness.Case):
    def test_a_record_opens_no_network(self):
        """A record can be anybody's: its rules are not those of whoever runs it again."""
        with upstream.Http() as site, service.Engine() as engine:
            s = engine.session(net=[f"api.test:80=127.0.0.1:{site.port}"])
            self.assertEqual(s.run(get("http://api.test/"))["status"], "ok")
            record = engine.call("session.export", session=s.id)["record"]
            result = engine.call("replay.run", record=record)
            self.assertEqual(len(site.seen), 1)
            self.assertNotEqual(result.get("outcome"), "replayed", result)
            path = os.path.join(harness.make_dir(), "record")
            with open(path, "w", encoding="utf-8") as f:
                f.write(record)
            done = harness.retort("replay", path)
            self.assertEqual(len(site.seen), 1)
            self.assertEqual(done.status, 1, done)


class Commands(harness.Case):
    def test_session_net(self):
        with upstream.Http() as web, service.Engine() as engine:
            rule = f"api.test:80=127.0.0.1:{web.port}"
            env = {"RETORT_SOCKET": engine.path}

            def retort(*args):
                return harness.retort(*args, env=env)

            self.assertEqual(retort("session", "new", "work", "--net", "a.test").status, 0)
            self.assertEqual(retort("session", "net", "work").out, "a.test\n")
            self.assertEqual(retort("session", "net", "work", "--add", rule).out, f"a.test\n{rule}\n")
            self.assertEqual(retort("session", "exec", "work", "-c", get("http://api.test/")).out, "GET / at api.test\n")
            self.assertEqual(retort("session", "net", "work", "none").out, "none\n")
            done = retort("session", "exec", "work", "-c", get("http://api.test/"))
            self.assertIn("net: api.test refused: no rule names it", done.err)
            self.assertIn("retort session net", done.err)
            self.assertEqual(retort("session", "net", "work", "b@d").status, 2)


if __name__ == "__main__":
    harness.main()
