# SPDX-License-Identifier: Apache-2.0
"""Secrets: programs have a placeholder, the server gets the value, and it is nowhere else."""

import base64
import json
import os
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import mcp_client  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402
from test_agent import python, script  # noqa: E402
from test_net_requests import ASK, rows  # noqa: E402

VALUE = "sk-live/0123456789+abcdef"
KEY = ["--secret", "API_KEY=env:KEY@api.test"]
MORE = "import base64, os\nKEY = os.environ['API_KEY']\n"


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.tls = upstream.Http(["api.test", "other.test"], handler=upstream.Api)
        cls.addClassCleanup(cls.tls.stop)
        cls.plain = upstream.Http(handler=upstream.Api)
        cls.addClassCleanup(cls.plain.stop)
        cls.env = {"SSL_CERT_FILE": cls.tls.cert, "KEY": VALUE}

    def setUp(self):
        self.tls.seen.clear()
        self.plain.seen.clear()

    def rules(self):
        return [f"api.test:443=127.0.0.1:{self.tls.port}", f"other.test:443=127.0.0.1:{self.tls.port}",
                f"api.test:80=127.0.0.1:{self.plain.port}"]

    def options(self):
        return [o for rule in self.rules() for o in ("--net", rule)]

    def record(self, code, *options, **kwargs):
        r = harness.record(ASK + MORE + code, *self.options(), *(options or KEY), env=self.env, **kwargs)
        self.assertNotIn(VALUE, json.dumps(r))
        return r

    def engine(self, *options, state=None):
        engine = service.Engine(*options, state=state, env={"SSL_CERT_FILE": self.tls.cert})
        self.addCleanup(engine.stop)
        return engine

    def session(self, engine, **params):
        params.setdefault("secrets", [{"name": "API_KEY", "value": VALUE, "to": "api.test"}])
        s = engine.session(net=self.rules(), **params)
        s.run(ASK + MORE)
        return s

    def last(self):
        """The headers of the last request, in small letters, and its body."""
        _, path, _, headers, body = self.tls.seen[-1]
        return path, {k.lower(): v for k, v in headers.items()}, body


class Places(Case):
    """Where a placeholder becomes the value."""

    def test_headers(self):
        r = self.record(
            "print(KEY)\n"
            "h = {'Authorization': 'Bearer ' + KEY, 'X-Two': KEY + ',' + KEY, 'Cookie': 'a=' + KEY,\n"
            "     'X-Basic': 'Basic ' + base64.b64encode(b'user:' + KEY.encode()).decode()}\n"
            "print(get('/v1/x', headers=h)[0])")
        placeholder, status = r["stdout"].split()
        self.assertRegex(placeholder, "^retort-[0-9a-f]{32}$")
        self.assertEqual(status, "200")
        _, headers, _ = self.last()
        self.assertEqual((headers["authorization"], headers["x-two"], headers["cookie"]), ("Bearer " + VALUE, f"{VALUE},{VALUE}", "a=" + VALUE))
        self.assertEqual(base64.b64decode(headers["x-basic"].removeprefix("Basic ")).decode(), "user:" + VALUE)

    def test_basic_as_clients_write_it(self):
        r = harness.record('curl -sS -u "user:$API_KEY" https://api.test/v1/x >/dev/null', "-r", "shell", *self.options(), *KEY, env=self.env)
        self.assertEqual(r["_status"], 0, r)
        self.assertEqual(base64.b64decode(self.last()[1]["authorization"].removeprefix("Basic ")).decode(), "user:" + VALUE)

    def test_query(self):
        r = self.record("print(get('/v1/x?a=1&key=' + KEY + '&b=2')[0])", "--secret", "API_KEY=env:KEY@api.test,query")
        self.assertEqual(r["stdout"], "200\n")
        self.assertEqual(self.last()[0], f"/v1/x?a=1&key={urllib.parse.quote(VALUE, safe='')}&b=2")

    def test_query_only_if_it_is_named(self):
        r = self.record("s, h, b = get('/v1/x?key=' + KEY)\nprint(s, b.decode())")
        self.assertIn("403 retort: api.test:443 refused: the secret API_KEY is not for queries: name the place: --secret", r["stdout"])
        self.assertEqual(self.tls.seen, [])

    def test_bodies(self):
        for kind, text, want in (
                ("application/x-www-form-urlencoded", "a=1&key={}&b=2", f"a=1&key={urllib.parse.quote(VALUE, safe='')}&b=2"),
                ("application/json", '{{"key": "{}"}}', json.dumps({"key": VALUE})),
                ("text/plain", "{} and {}", f"{VALUE} and {VALUE}")):
            for how in "{'Content-Type': '%s'}" % kind, "{'Content-Type': '%s', 'Transfer-Encoding': 'chunked'}" % kind:
                with self.subTest(kind, how=how):
                    r = self.record(
                        f"body = {text!r}.format(KEY, KEY).encode()\nh = {how}\n"
                        "c = connect(); c.request('POST', '/v1/x', iter([body[:9], body[9:]]) if 'Transfer-Encoding' in h else body, h, encode_chunked=True)\n"
                        "print(c.getresponse().status)", "--secret", "API_KEY=env:KEY@api.test,body")
                    self.assertEqual(r["stdout"], "200\n", r)
                    _, headers, body = self.last()
                    self.assertEqual(body.decode(), want)
                    self.assertEqual(headers["content-length"], str(len(want)))

    def test_bodies_only_if_they_are_named(self):
        r = self.record("print(ask('POST', '/v1/x', KEY)[0], KEY)")
        status, placeholder = r["stdout"].split()
        self.assertEqual((status, self.last()[2].decode()), ("200", placeholder))

    def test_a_body_that_is_too_long_for_it(self):
        r = self.record("s, h, b = ask('POST', '/v1/x', bytes(2000000))\nprint(s, b.decode())", "--secret", "API_KEY=env:KEY@api.test,body")
        self.assertIn("413 retort: api.test:443 refused: a body in which a secret may be has more than 1 MiB", r["stdout"])

    def test_a_prefix(self):
        r = self.record("print(KEY)", "--secret", "API_KEY=env:KEY@api.test,like=sk-ant-")
        self.assertRegex(r["stdout"], "^sk-ant-[0-9a-f]{32}\n$")

    def test_only_to_its_host_and_port(self):
        self.record("for c in connect(host='other.test'), connect(tls=False):\n    get('/v1/x', headers={'A': KEY}, c=c)", *KEY, "--net", "* other.test/*", "--net", "* api.test:80/*")
        for server in self.tls, self.plain:
            (_, _, _, headers, _), = server.seen
            self.assertRegex(headers["A"], "^retort-[0-9a-f]{32}$")

    def test_a_port_without_tls_if_it_is_named(self):
        self.record("get('/v1/x', headers={'A': KEY}, tls=False)", "--secret", "API_KEY=env:KEY@api.test:80")
        self.assertEqual(self.plain.seen[-1][3]["A"], VALUE)

    def test_not_in_the_clear_at_a_port_of_tls(self):
        """A program that speaks plain HTTP at port 443, or at another port that nobody has named for it."""
        for port in 443, 8080:
            r = harness.record(
                ASK + MORE + f"s, h, b = get('/v1/x', headers={{'A': KEY}}, tls=False, host='localhost.test', port={port})\nprint(s, b.decode())",
                "--secret", f"API_KEY=env:KEY@localhost.test:{port}", "--net", f"!localhost.test:{port}", env=self.env)
            self.assertEqual(r["stdout"], f"403 retort: localhost.test:{port} refused: the secret API_KEY is not sent without TLS: use https:// here; "
                             "or, for http://, --secret NAME=SOURCE@HOST:80\n\n", r)

    def test_several(self):
        env = self.env | {"TWO": "another-value-22"}
        r = harness.record(ASK + "import os\nget('/v1/x', headers={'A': os.environ['ONE'] + os.environ['TWO']})", *self.options(),
                           "--secret", "ONE=env:KEY@api.test", "--secret", "TWO=env:TWO@api.test", env=env)
        self.assertEqual((r["_status"], self.last()[1]["a"]), (0, VALUE + "another-value-22"))

    def test_as_many_and_as_long_as_may_be(self):
        names = [f"KEY_{i}" for i in range(16)]
        options = [o for n in names for o in ("--secret", f"{n}=env:{n}@api.test")]
        r = harness.record(
            ASK + "import os\nprint(get('/v1/x', headers={'A': os.environ['KEY_15']})[0])", *self.options(), *options,
            env={"SSL_CERT_FILE": self.tls.cert, **{n: n[-2:] + "\"" * 8190 for n in names}})
        self.assertEqual(r["stdout"], "200\n", r)
        self.assertEqual(self.last()[1]["a"], "15" + "\"" * 8190)

    def test_rules_for_requests_still_decide(self):
        r = self.record("print(get('/v1/x', headers={'A': KEY})[0], get('/v2', headers={'A': KEY})[0])", *KEY, "--net", "GET api.test/v1/*")
        self.assertEqual(r["stdout"], "200 403\n")

    def test_a_rule_is_made_where_there_is_none(self):
        """The secret's host and port may be used, and nothing else."""
        r = harness.record("import socket\ntry:\n    socket.create_connection(('api.test', 443)).close(); print('open')\nexcept OSError as e:\n    print(e)\n"
                           "try:\n    socket.create_connection(('api.test', 80))\nexcept OSError as e:\n    print(type(e).__name__)", *KEY, env=self.env)
        self.assertEqual(r["stdout"], "open\nConnectionRefusedError\n", r)


    def test_many_streams_with_bodies(self):
        """A place for a body is taken only until it has been sent: 20 streams at a time, as a client of models has them."""
        end = threading.Event()
        self.addCleanup(end.set)
        def stream(c):
            data = b""
            while VALUE.encode() not in data:
                data += c.recv(1 << 16)
            c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfirst\n")
            end.wait(60)
        with upstream.Tcp(stream) as server:
            code = "cs = []\nfor i in range(20):\n    cs.append(connect(False, 'stream.test'))\n" \
                "    cs[-1].request('POST', '/', KEY)\n    r = cs[-1].getresponse()\n    print(r.status, r.readline())"
            r = self.record(code, "--net", f"stream.test:80=127.0.0.1:{server.port}", "--secret", "API_KEY=env:KEY@stream.test:80,body", "--timeout", "60")
        self.assertEqual(r["stdout"], "200 b'first\\n'\n" * 20)


class Answers(Case):
    """A value that the server sends back does not arrive."""

    def test_headers_and_bodies(self):
        r = self.record("s, h, b = get('/v1/x', headers={'X-Say': KEY, 'B': KEY})\nprint(h['X-Said'], json.loads(b)['headers'])")
        self.assertEqual(r["stdout"].split()[0], "*" * len(VALUE))
        self.assertIn("['B', '" + "*" * len(VALUE) + "']", r["stdout"])

    def test_base64_of_it(self):
        r = self.record("h = {'A': 'Basic ' + base64.b64encode(b'u:' + KEY.encode()).decode()}\nprint(get('/v1/x', headers=h)[2].decode())")
        said = dict(json.loads(r["stdout"])["headers"])["A"]
        self.assertIn("*" * 30, said)
        self.assertNotIn(base64.b64encode(b"u:" + VALUE.encode()).decode()[4:12], said)

    def test_in_pieces(self):
        """The server sends it in two pieces, with a pause."""
        code = f"print(get('/v1/chunked?one,{VALUE[:9]},{VALUE[9:]},two')[2].decode())"
        r = harness.record(ASK + code, *self.options(), *KEY, env=self.env)
        self.assertEqual(r["stdout"], "one" + "*" * len(VALUE) + "two\n")

    def test_compressed(self):
        """A server that compresses although nobody asks for it: the answer is refused, since nothing can be found in it."""
        r = self.record("s, h, b = get('/v1/gz', headers={'Authorization': KEY})\nprint(s, b.decode())")
        self.assertIn("502 retort: api.test:443 refused: its answer is compressed", r["stdout"])
        r = self.record("import gzip\nprint(gzip.decompress(get('/v1/gz', headers={'Authorization': 'x'}, host='other.test')[2]).decode())", *KEY, "--net", "* other.test/*")
        self.assertEqual(r["stdout"], "x\n")

    def test_what_may_be_the_beginning_of_it_comes_in_the_end(self):
        """A piece that ends as a value begins is held back for a moment only."""
        r = self.record("c = connect(); c.request('GET', '/v1/pause?sk-li')\nr = c.getresponse()\ngot = r.read1(10)\n"
                        "while len(got) < 5: got += r.read1(10)\nprint(got.decode())")
        self.assertEqual(r["stdout"], "sk-li\n")

    def test_a_web_socket_is_not_held_up(self):
        r = self.record(
            "s = connect(); s.connect(); s = s.sock\n"
            "s.sendall(f'GET /v1/ws HTTP/1.1\\r\\nHost: api.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nAuthorization: {KEY}\\r\\n"
            "Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n'.encode())\n"
            "f = s.makefile('rb')\nwhile f.readline().strip(): pass\nf.read(7)\ns.sendall(b'sk-')\nprint(f.read(3).decode())", *KEY, "--net", "WEBSOCKET api.test/*", )
        self.assertEqual(r["stdout"], "sk-\n", r)
        self.assertEqual(self.last()[1]["authorization"], VALUE)

    def test_it_is_as_long_as_it_was(self):
        r = self.record("c = connect()\nfor i in range(3):\n    s, h, b = get('/v1/x', headers={'A': KEY}, c=c)\n    print(int(h['Content-Length']) == len(b))")
        self.assertEqual(r["stdout"], "True\n" * 3)

    def test_a_redirection_does_not_take_it_along(self):
        """To another host, clients send what they have: the placeholder."""
        r = harness.record('curl -sS --location-trusted -H "A: $API_KEY" "https://api.test/v1/redirect?https://other.test/v1/x" | grep -c retort-',
                           "-r", "shell", *self.options(), *KEY, "--net", "GET other.test/*", env=self.env)
        self.assertEqual(r["stdout"], "1\n", r)
        self.assertRegex(self.last()[1]["a"], "^retort-")


class Sources(Case):
    """`--secret NAME=SOURCE@HOST`."""

    def test_a_file_and_a_command(self):
        path = os.path.join(harness.make_dir(), "key@home")
        with open(path, "w", encoding="utf-8") as f:
            f.write(VALUE + "\n")
        for source in f"file:{path}", f"command:cat '{path}' | tr a-z a-z":
            self.record("get('/v1/x', headers={'A': KEY})", "--secret", f"API_KEY={source}@api.test")
            self.assertEqual(self.last()[1]["a"], VALUE)

    def test_what_is_wrong_is_said_in_a_line(self):
        empty = os.path.join(harness.make_dir(), "empty")
        with open(empty, "w", encoding="utf-8"):
            pass
        long = os.path.join(harness.make_dir(), "long")
        with open(long, "w", encoding="utf-8") as f:
            f.write("k" * 70000)
        for text, part in (
                ("API_KEY", "this is not NAME=SOURCE@HOST"),
                (f"API_KEY={VALUE}@api.test", "nothing says where its value is"),
                ("API_KEY=env:NOT_SET@api.test", "the variable NOT_SET is not set"),
                ("API_KEY=env:EMPTY@api.test", "the secret API_KEY is empty"),
                ("API_KEY=env:SHORT@api.test", "8"),
                (f"API_KEY=file:{empty}@api.test", "the secret API_KEY is empty"),
                ("API_KEY=file:/nowhere@api.test", "/nowhere"),
                ("API_KEY=command:exit 3@api.test", "the command failed with status 3"),
                ("API_KEY=env:LONG@api.test", "the value is too long: a value has at most 8192 bytes"),
                ("API_KEY=command:echo $LONG@api.test", "the value is too long: a value has at most 8192 bytes"),
                (f"API_KEY=file:{long}@api.test", "the value is too long: a value has at most 8192 bytes"),
                ("API_KEY=env:LINES2@api.test", "line"),
                ("API_KEY=env:KEY", "no host"),
                ("API_KEY=env:KEY@*.test", "API_KEY"),
                ("API_KEY=env:KEY@127.0.0.1", "name"),
                ("API_KEY=env:KEY@api.test,header", "query"),
                ("PATH=env:KEY@api.test", "PATH"),
                ("LD_PRELOAD=env:KEY@api.test", "LD_PRELOAD"),
                ("1=env:KEY@api.test", "name")):
            with self.subTest(text):
                done = harness.run("1", "--secret", text, env=self.env | {"EMPTY": "", "SHORT": "short", "LINES2": "12345678\n9", "LONG": "k" * 70000})
                self.assertNotEqual(done.status, 0, done)
                self.assertIn(part, done.err)
                self.assertEqual(done.err.count("\n"), 1, done.err)
                self.assertNotIn(VALUE, done.err)

    def test_a_secret_twice_and_beside_a_variable(self):
        for options, part in ((KEY + KEY, "twice"), (KEY + ["-e", "API_KEY=x"], "both a secret and an environment variable")):
            done = harness.run("1", *options, env=self.env)
            self.assertIn(part, done.err)
            self.assertNotEqual(done.status, 0)

    def test_every_command_that_starts_a_box(self):
        done = harness.retort("repl", *self.options(), *KEY, stdin=(ASK + MORE + "\nget('/v1/x', headers={'A': KEY})[0]\n").encode(), env=self.env)
        self.assertIn("200", done.out, done)
        self.assertEqual(self.last()[1]["a"], VALUE)
        done = harness.retort("run", *self.options(), *KEY, "--", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "A: x", "https://api.test/v1/x", env=self.env)
        self.assertEqual(done.out, "200", done)

    def test_mcp(self):
        with mcp_client.Mcp(*self.options(), *KEY, env=self.env) as client:
            said = client.tool("run_code", code=ASK + MORE + "print(get('/v1/x', headers={'A': KEY})[0])")
            self.assertIn("200", said.text)
            self.assertIn("api.test with a key for headers in $API_KEY", json.dumps(client.call("tools/list")))
            self.assertNotIn(VALUE, json.dumps(said.raw))
        self.assertEqual(self.last()[1]["a"], VALUE)

    def test_mcp_that_is_started_again(self):
        """The sessions of the last time get the value of the option anew: those that were made with such a secret for such a host."""
        go = "print(get('/v1/x', headers={'A': KEY})[0])"
        with tempfile.TemporaryDirectory() as state:
            with mcp_client.Mcp("--state", state, *self.options(), *KEY, env=self.env) as client:
                self.assertIn("200", client.tool("run_code", code=ASK + MORE + go).text)
                client.tool("sessions", action="branch", name="b")
                self.assertIn("403", client.tool("run_code", code=go, session="b").text)
            with mcp_client.Mcp("--state", state, *self.options(), *KEY, env=self.env | {"KEY": "another-value"}) as client:
                self.assertIn("200", client.tool("run_code", code=go).text)
                self.assertEqual(self.last()[1]["a"], "another-value")
                self.assertIn("403", client.tool("run_code", code=go, session="b").text)
            for options in (["--secret", "API_KEY=env:KEY@other.test"], ["--secret", "OTHER=env:KEY@api.test"], ["--secret", "API_KEY=env:KEY@api.test,query"], []):
                self.tls.seen.clear()
                with mcp_client.Mcp("--state", state, *self.options(), *options, env=self.env) as client:
                    self.assertIn("403", client.tool("run_code", code=go).text, options)
                self.assertEqual(self.tls.seen, [])

    def test_what_mcp_tells(self):
        """Secrets first, then rules; where a host of this machine is, is not told."""
        with mcp_client.Mcp(*self.options(), *KEY, "--net", "GET other.test/v1/*", "--net", "db.test:5432=127.0.0.1:5432", env=self.env) as client:
            said = client.about["instructions"]
        self.assertIn("connect only to api.test with a key for headers in $API_KEY, GET other.test/v1/*, db.test:5432", said)
        self.assertNotIn("127.0.0.1", said)


class Sessions(Case):
    """Secrets of sessions."""

    SEND = "get('/v1/x', headers={'A': KEY})[0]"

    def refused(self, record):
        row, = rows(record, verdict="refused")
        return row["reason"]

    def test_a_step_after_another_and_after_undo(self):
        engine = self.engine()
        s = self.session(engine)
        self.assertEqual(s.value(self.SEND), "200")
        s.run("1/0")
        s.undo()
        self.assertEqual(s.value(self.SEND), "200")
        self.assertEqual([seen[3]["A"] for seen in self.tls.seen], [VALUE] * 2)

    def test_a_branch_has_it_only_if_asked(self):
        engine = self.engine()
        s = self.session(engine)
        b = service.Session(engine, engine.call("session.branch", session=s.id, name="without"))
        self.assertEqual(b.value(self.SEND), "403")
        self.assertEqual(self.refused(b.run("print(get('/v1/x', headers={'A': KEY})[2])")), "this session has no value of the secret API_KEY")
        self.assertEqual(b.value("get('/v1/x')[0]"), "200")  # the rules are the session's
        self.assertEqual(s.value(self.SEND), "200")
        w = service.Session(engine, engine.call("session.branch", session=s.id, name="with", secrets=True))
        self.assertEqual(w.value(self.SEND), "200")
        again = service.Session(engine, engine.call("session.branch", session=w.id, name="again"))
        self.assertEqual(again.value(self.SEND), "403")

    def test_candidates_of_an_agent_have_it(self):
        """Each takes the place of the session, and one becomes it; a branch of one has nothing."""
        code = "s = get('/v1/x', headers={'A': KEY})[0]\ns"
        model = "replay:" + script(python(code), python(code), python("final_answer(s)"), python("final_answer(s)"))
        engine = self.engine("--model", model)
        s = self.session(engine)
        result = engine.call("agent.run", session=s.id, task="Ask.", best_of=2)
        self.assertEqual((result["status"], result["answer"]), ("ok", "200"), result)
        self.assertEqual([r["ran"] for r in result["candidates"]["rounds"]], [2, 2])
        self.assertEqual([seen[3]["A"] for seen in self.tls.seen], [VALUE] * 2)
        engine.call("session.net", session=s.id, secrets=[{"name": "API_KEY", "value": "rotated-value"}])
        self.assertEqual(s.value(self.SEND), "200")
        self.assertEqual(self.last()[1]["a"], "rotated-value")
        b = service.Session(engine, engine.call("session.branch", session=s.id, name="without"))
        self.assertEqual(b.value(self.SEND), "403")

    def test_another_session_has_nothing_of_it(self):
        """Also one that came from the same template, and has the placeholder."""
        engine = self.engine()
        s = self.session(engine, preload=["json"])
        placeholder = s.value("KEY").strip("'")
        other = engine.session(net=self.rules() + ["* api.test/*"])
        other.run(ASK + f"KEY = {placeholder!r}")
        self.assertEqual(other.value(self.SEND), "200")
        self.assertEqual(self.last()[1]["a"], placeholder)

    def test_two_sessions_with_two_values(self):
        engine = self.engine()
        one, two = self.session(engine), self.session(engine, secrets=[{"name": "API_KEY", "value": "the-other-value", "to": "api.test"}])
        for s, value in ((one, VALUE), (two, "the-other-value"), (one, VALUE)):
            self.assertEqual(s.value(self.SEND), "200")
            self.assertEqual(self.last()[1]["a"], value)

    def test_as_many_and_as_long_as_may_be(self):
        """Of a session, beside another one that keeps its network; also when they are given anew."""
        engine = self.engine()
        other = self.session(engine)
        self.assertEqual(other.value(self.SEND), "200")
        values = {f"KEY_{i}": f"{i:02}" + '"\\' * 4095 for i in range(16)}  # JSON has two bytes for each of these
        s = engine.session(net=self.rules(), secrets=[{"name": name, "value": value, "to": "api.test"} for name, value in values.items()])
        s.run(ASK + MORE.replace("API_KEY", "KEY_15"))
        for _ in range(2):
            self.assertEqual(s.value(self.SEND), "200")
            self.assertEqual(self.last()[1]["a"], values["KEY_15"])
            self.assertEqual(other.value(self.SEND), "200")
            values = {name: value[::-1] for name, value in values.items()}
            engine.call("session.net", session=s.id, secrets=[{"name": name, "value": value} for name, value in values.items()])

    def test_a_restart_forgets_the_value(self):
        state = harness.make_dir()
        engine = self.engine(state=state)
        s = self.session(engine)
        self.assertEqual(s.value(self.SEND), "200")
        placeholder = s.value("KEY")
        engine.stop()
        for folder, _, names in os.walk(state):
            for name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(VALUE.encode(), f.read(), name)
        self.tls.seen.clear()
        engine = self.engine(state=state)
        s = service.Session(engine, engine.call("session.get", session=s.id))
        self.assertEqual(s.value(self.SEND), "403")
        self.assertEqual(s.value("KEY"), placeholder)
        told = {"name": "API_KEY", "to": "api.test", "has_value": False}
        self.assertEqual(engine.call("session.net", session=s.id)["secrets"], [told])
        self.assertIn("secret API_KEY for api.test, whose value is not known\n", harness.retort("session", "net", s.id, "--socket", engine.path).out)
        done = harness.retort("session", "net", s.id, "--secret", "API_KEY=env:KEY@api.test", "--socket", engine.path, env=self.env)
        self.assertIn("leave out the @HOST", done.err)
        engine.call("session.net", session=s.id, secrets=[{"name": "API_KEY", "value": VALUE}])
        self.assertEqual(engine.call("session.net", session=s.id)["secrets"], [told | {"has_value": True}])
        self.assertIn("secret API_KEY for api.test\n", harness.retort("session", "net", s.id, "--socket", engine.path).out)
        self.assertEqual(s.value(self.SEND), "200")
        self.assertEqual(self.last()[1]["a"], VALUE)

    def test_a_new_value(self):
        engine = self.engine()
        s = self.session(engine)
        engine.call("session.net", session=s.id, secrets=[{"name": "API_KEY", "value": "rotated-value"}])
        self.assertEqual(s.value(self.SEND), "200")
        self.assertEqual(self.last()[1]["a"], "rotated-value")
        with self.assertRaisesRegex(service.Refused, "no secret OTHER"):
            engine.call("session.net", session=s.id, secrets=[{"name": "OTHER", "value": "rotated-value"}])
        with self.assertRaisesRegex(service.Refused, "API_KEY is empty"):
            engine.call("session.net", session=s.id, secrets=[{"name": "API_KEY", "value": ""}])

    def test_no_new_value_if_the_rules_are_refused(self):
        engine = self.engine()
        s = self.session(engine)
        new = [{"name": "API_KEY", "value": "rotated-value"}]
        for net, problem in (["bad host:99"], "bad host"), (["none", "api.test"], "none"), (["a.test:0"], "port"):
            with self.assertRaisesRegex(service.Refused, problem):
                engine.call("session.net", session=s.id, net=net, secrets=new)
            self.assertEqual(s.value(self.SEND), "200")
            self.assertEqual(self.last()[1]["a"], VALUE)
        # Here the rules are right, but cannot be put in force.
        with self.assertRaisesRegex(service.Refused, "below 1024"):
            engine.call("session.net", session=s.id, net=self.rules() + [f"a.test:{port}" for port in range(1, 41)], secrets=new)
        self.assertEqual(s.value(self.SEND), "200")
        self.assertEqual(self.last()[1]["a"], VALUE)
        engine.call("session.net", session=s.id, net=self.rules() + ["GET api.test/*"], secrets=new)
        self.assertEqual(s.value(self.SEND), "200")
        self.assertEqual(self.last()[1]["a"], "rotated-value")

    def test_the_command_line(self):
        engine = self.engine()
        env = self.env | {"RETORT_SOCKET": engine.path}

        def cli(*args):
            done = harness.retort(*args, "--socket", engine.path, env=env)
            self.assertEqual(done.status, 0, done)
            return done.out

        cli("session", "new", "s", *self.options(), *KEY)
        code = ASK + MORE + "print(get('/v1/x', headers={'A': KEY})[0])"
        self.assertEqual(cli("session", "exec", "s", "-c", code), "200\n")
        cli("session", "branch", "s", "without")
        self.assertEqual(cli("session", "exec", "without", "-c", code), "403\n")
        cli("session", "branch", "--secrets", "s", "with")
        self.assertEqual(cli("session", "exec", "with", "-c", code), "200\n")
        cli("session", "net", "without", "--secret", "API_KEY=env:KEY")
        self.assertEqual(cli("session", "exec", "without", "-c", code), "200\n")

    def test_a_value_that_changes_while_a_body_comes(self):
        """The request has the value that was in force when it began."""
        engine = self.engine()
        s = self.session(engine, secrets=[{"name": "API_KEY", "value": VALUE, "to": "api.test,body"}])
        other = engine.connect()
        number = other.send("step.run", session=s.id, code=(
            "c = connect()\nc.putrequest('POST', '/v1/x'); c.putheader('Content-Length', '100'); c.putheader('A', KEY); c.endheaders()\n"
            "c.send(b'x' * 50)\nprint('sent', flush=True)\ntime.sleep(3)\nc.send(b'y' * 50)\nprint(c.getresponse().status)"))
        time.sleep(1.5)
        for value in "rotated-value", "rotated-again":
            engine.call("session.net", session=s.id, secrets=[{"name": "API_KEY", "value": value}])
        self.assertEqual(other.receive(number)["stdout"], "sent\n200\n")
        self.assertEqual(self.last()[1]["a"], VALUE)

    def test_rules_that_come_later(self):
        """A session that was made without rules for requests does not trust the gateway."""
        engine = self.engine()
        s = engine.session(net=self.rules())
        with self.assertRaisesRegex(service.Refused, "made without a rule for requests"):
            engine.call("session.net", session=s.id, net=["GET api.test/*"])
        t = self.session(engine)
        self.assertEqual(t.value("get('/v2')[0]"), "200")
        engine.call("session.net", session=t.id, net=self.rules() + ["GET api.test/v1/*"])
        self.assertEqual(t.value("[get('/v2')[0], " + self.SEND + "]"), "[403, 200]")

    def test_rules_that_change_end_requests(self):
        engine = self.engine()
        s = self.session(engine)
        other = engine.connect()
        number = other.send("step.run", session=s.id, code="try:\n    print(get('/v1/silent')[0])\nexcept Exception as e:\n    print(type(e).__name__)")
        self.until(lambda: self.tls.server.n_silent == 1)
        engine.call("session.net", session=s.id, net=["GET api.test/v1/x"])
        r = other.receive(number)
        self.assertRegex(r["stdout"], "RemoteDisconnected|SSL|Connection")
        self.until(lambda: self.tls.server.n_silent == 0)

    def test_where_the_value_is(self):
        """Not in the environment, the memory or the files of the box; in no argument or environment of ours."""
        engine = self.engine()
        s = self.session(engine)
        s.value(self.SEND)
        said = s.value(
            "import re\nneedle = bytes(c ^ 1 for c in " + repr(bytes(c ^ 1 for c in VALUE.encode())) + ")\nfound = []\n"
            "for pid in [p for p in os.listdir('/proc') if p.isdigit()]:\n"
            "    for what in ('environ', 'cmdline'):\n"
            "        try:\n            found += [(pid, what)] if needle in open(f'/proc/{pid}/{what}', 'rb').read() else []\n"
            "        except OSError: pass\n"
            "for folder, _, names in os.walk('/'):\n"
            "    if folder.startswith(('/proc', '/sys', '/usr', '/dev')): continue\n"
            "    for n in names:\n"
            "        try:\n            found += [n] if needle in open(os.path.join(folder, n), 'rb').read(1 << 22) else []\n"
            "        except OSError: pass\n"
            "found")
        self.assertEqual(said, "[]")
        all_of = harness.processes()

        def is_mine(pid):  # others run at the same time, with keys of theirs
            return pid in all_of and (pid == engine.process.pid or is_mine(all_of[pid][0]))

        self.assertGreater(len([pid for pid in all_of if is_mine(pid)]), 3)
        for pid, (_, name, _, _) in all_of.items():
            if is_mine(pid) and name.startswith("retort"):
                for what in "cmdline", "environ":
                    try:
                        with open(f"/proc/{pid}/{what}", "rb") as f:
                            self.assertNotIn(VALUE.encode(), f.read(), (name, what))
                    except OSError:
                        pass
        self.assertNotIn(VALUE, engine.said())

    def test_the_memory_of_the_boxes_processes(self):
        engine = self.engine()
        s = self.session(engine)
        s.value(self.SEND)
        if not harness.IS_ROOT:
            return
        all_of = harness.processes()

        def is_mine(pid):
            return pid in all_of and (pid == engine.process.pid or is_mine(all_of[pid][0]))

        def is_inside(pid):
            return pid in all_of and (all_of[pid][1].startswith("retort-init") or is_inside(all_of[pid][0]))

        inside = [pid for pid in all_of if is_mine(pid) and is_inside(pid)]
        self.assertTrue(inside)
        for pid in inside:
            with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
                places = [line.split()[0] for line in f if " rw" in line]
            with open(f"/proc/{pid}/mem", "rb") as f:
                for place in places:
                    begin, end = (int(x, 16) for x in place.split("-"))
                    try:
                        f.seek(begin)
                        self.assertNotIn(VALUE.encode(), f.read(end - begin))
                    except (OSError, OverflowError):
                        pass


if __name__ == "__main__":
    harness.main()
