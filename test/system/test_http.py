# SPDX-License-Identifier: Apache-2.0
"""`retort serve --listen`: JSON-RPC over HTTP, who may ask, and what no client can do to others."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
SSE = {"Accept": "text/event-stream"}
WAIT = "import time\nprint('begun', flush=True)\ntime.sleep(100)"


class Shared(harness.Case):
    """Tests that need no engine of their own."""

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def session(self, **params):
        return self.server.rpc("session.create", **params)["session"]


class Routes(Shared):
    def test_a_step_is_run(self):
        session = self.session()
        done = self.server.rpc("step.run", session=session, code="6 * 7")
        self.assertEqual((done["status"], done["value"]["text/plain"]), ("ok", "42"))

    def test_health(self):
        answer = self.server.request("GET", "/healthz")
        self.assertEqual((answer.status, answer.json["status"]), (200, "ok"))
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(self.server.request("HEAD", "/healthz").status, 200)

    def test_metrics_count_what_is_served(self):
        def number(name):
            text = self.server.request("GET", "/metrics").body.decode()
            return int(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1])

        before = number("retort_requests_total")
        with self.server.raw():
            self.assertTrue(web.wait(lambda: number("retort_connections") == 2))
            self.assertEqual(number("retort_requests_running"), 1)
        self.assertTrue(web.wait(lambda: number("retort_connections") == 1))
        self.assertGreaterEqual(number("retort_requests_total"), before + 4)

    def test_unknown_path(self):
        answer = self.server.request("GET", "/nope")
        self.assertEqual((answer.status, answer.json["error"]["code"]), (404, "not_found"))
        for path in ("POST /rpc", "GET /healthz", "GET /metrics"):
            self.assertIn(path, answer.json["error"]["hint"])

    def test_unknown_method(self):
        for method, allowed in (("GET", "POST"), ("PUT", "POST"), ("BREW", "POST")):
            answer = self.server.request(method, "/rpc")
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, allowed), method)
        self.assertEqual(self.server.request("DELETE", "/healthz").headers["Allow"], "GET, HEAD")

    def test_content_types(self):
        body = web.question("session.list")
        for kind, status in (("application/json", 200), ("application/json; charset=utf-8", 200),
                             ("APPLICATION/JSON", 200), ("text/plain", 415), ("application/jsonl", 415),
                             ("application/x-www-form-urlencoded", 415), ("", 415)):
            answer = self.server.request("POST", "/rpc", body, {"Content-Type": kind})
            self.assertEqual(answer.status, status, kind)
        answer = self.server.request("POST", "/rpc", body)
        self.assertEqual((answer.status, answer.json["error"]["message"]), (415, "no content type"))

    def test_errors_of_operations_are_answers(self):
        with self.assertRaises(web.Failed) as failed:
            self.server.rpc("session.get", session="s-nobody")
        self.assertEqual(failed.exception.code, "not_found")
        answer = self.server.post(web.question("no.such"))
        self.assertEqual((answer.status, answer.json["error"]["code"]), (200, -32601))
        answer = self.server.post(web.question("step.run", session=5))
        self.assertEqual((answer.status, answer.json["error"]["code"]), (200, -32602))
        self.assertIn("session", answer.json["error"]["message"])

    def test_a_notification_is_accepted(self):
        body = json.dumps({"jsonrpc": "2.0", "method": "session.create", "params": {"name": "told"}}).encode()
        answer = self.server.post(body)
        self.assertEqual((answer.status, answer.body), (202, b""))
        self.assertTrue(web.wait(lambda: "told" in json.dumps(self.server.rpc("session.list"))))

    def test_bodies_that_are_no_request(self):
        bad = [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc":"2.0"}', b"7",
               b'{"jsonrpc":"2.0","id":1,"id":2,"method":"session.list"}',
               b'{"jsonrpc":"2.0","id":1e999,"method":"session.list"}',
               b'{"jsonrpc":"2.0","id":' + b"9" * 400 + b',"method":"session.list"}',
               b'{"jsonrpc":"2.0","id":1,"method":"session.list","params":' + b"[" * 100000 + b"]" * 100000 + b"}",
               b'{"jsonrpc":"2.0","id":1,"method":"session.list","params":{"x":' + b"[0," * 3000 + b"0" + b"]" * 3000
               + b"}}"]
        for body in bad:
            answer = self.server.post(body)
            self.assertEqual(answer.status, 400, body[:60])
            self.assertIn(answer.json["error"]["code"], (-32700, -32600), body[:60])

    def test_a_message_that_is_broken_at_any_byte(self):
        whole = web.question("session.get", session="s-none")
        with self.server.raw() as raw:
            for at in range(len(whole)):
                for broken in (whole[:at], whole[:at] + b"\0" + whole[at + 1:], whole[:at] + b"\xff" + whole[at:]):
                    raw.say(web.post(broken))
                    answer = raw.answer()
                    self.assertIn(answer.status, (200, 400), broken)
                    self.assertIn("error", answer.json, broken)


class Connections(Shared):
    def test_many_requests_on_one_connection(self):
        c = self.server.connect()
        socks = set()
        for _ in range(20):
            self.server.rpc("session.list", connection=c)
            self.assertEqual(self.server.request("GET", "/nope", connection=c).status, 404)
            socks.add(c.sock)
        c.close()
        self.assertEqual(len(socks), 1)

    def test_pipelining_keeps_the_order(self):
        with self.server.raw() as raw:
            raw.say(b"".join(web.post(web.question("session.list", number=i)) for i in range(20)))
            self.assertEqual([raw.answer().json["id"] for _ in range(20)], list(range(20)))

    def test_a_chunked_body(self):
        body = web.question("session.list")
        with self.server.raw() as raw:
            raw.say(web.head(Transfer_Encoding="chunked"))
            for byte in body:
                raw.say(b"1\r\n%c\r\n" % byte)
            raw.say(b"0\r\n\r\n")
            self.assertIn("sessions", raw.answer().json["result"])
            self.assertIsNone(raw.answer())  # it was the connection's last

    def test_a_body_that_comes_byte_by_byte(self):
        with self.server.raw() as raw:
            for byte in web.post(web.question("session.list")):
                raw.say(bytes([byte]))
            self.assertIn("sessions", raw.answer().json["result"])

    def test_an_expectation_is_met(self):
        body = web.question("session.list")
        with self.server.raw() as raw:
            raw.say(web.head(length=len(body), Expect="100-continue"))
            self.assertIn(b"100", raw.file.readline())
            raw.file.readline()
            raw.say(body)
            self.assertEqual(raw.answer().status, 200)

    def test_bad_requests_end_their_connection_only(self):
        requests = [b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"POST /rpc HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n",
                    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
                    b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                    b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
                    web.head(length=2, Transfer_Encoding="chunked") + b"{}",
                    web.head(Transfer_Encoding="chunked") + b"zz\r\n"]
        for request in requests:
            with self.server.raw() as raw:
                raw.say(request)
                raw.sock.shutdown(socket.SHUT_WR)
                said = raw.file.read()  # to the end: it is closed
                self.assertTrue(not said or b" 4" in said.split(b"\r\n")[0], (request, said))
        self.assertEqual(self.server.request("GET", "/healthz").status, 200)

    def test_heads_that_are_too_large(self):
        for name, value in (("X-Large", "x" * 200_000), ("Authorization", "y" * 200_000)):
            with self.server.raw() as raw:
                try:
                    raw.say(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{name}: {value}\r\n\r\n".encode())
                    self.assertIn(raw.answer().status, (413, 431))
                except ConnectionError:
                    pass  # it has said so, and gone
        with self.server.raw() as raw:
            raw.say(b"GET /" + b"a" * 30_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(raw.answer().status, 404)
        self.assertEqual(self.server.request("GET", "/healthz").status, 200)

    def test_a_large_body_is_refused_before_it_comes(self):
        before = self.server.memory_bytes()
        with self.server.raw() as raw:
            raw.say(web.head(length=1 << 30))
            answer = raw.answer()
            self.assertEqual((answer.status, answer.json["error"]["code"]), (413, "limit"))
        self.assertLess(self.server.memory_bytes() - before, 20 << 20)

    def test_a_large_chunked_body_is_cut_off(self):
        """Nobody knows how long it becomes; the memory it takes is that of the limit."""
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        sent = 0
        with self.server.raw() as raw:
            raw.say(web.head(Transfer_Encoding="chunked"))
            try:
                while sent < 1 << 30:
                    raw.say(part)
                    sent += len(part)
            except ConnectionError:
                pass
        self.assertLess(sent, 300 << 20)  # 64 MiB, what was read to nowhere, what is on its way
        self.assertTrue(web.wait(lambda: self.server.memory_bytes() < 100 << 20))

    def test_a_body_as_large_as_allowed(self):
        body = web.question("no.such", number="last", x="")
        body = body[:-3] + b"x" * ((64 << 20) - len(body)) + body[-3:]
        answer = self.server.post(body)
        self.assertEqual((answer.status, answer.json["id"]), (200, "last"))
        self.assertEqual(self.server.post(body + b" ").status, 413)

    def test_a_step_of_a_client_that_goes_is_interrupted(self):
        for headers in ({}, SSE):
            session = self.session()
            c = self.server.connect()
            c.request("POST", "/rpc", web.question("step.run", session=session, code=WAIT), {**web.JSON, **headers})
            self.assertTrue(web.wait(lambda: self.server.is_running(session)))
            c.close() if not headers else c.sock.close()
            self.assertTrue(web.wait(lambda: not self.server.is_running(session)))

    def test_but_not_a_detached_one(self):
        session = self.session()
        code = "import time\nfor i in range(15): time.sleep(.1)\nopen('kept', 'w').write('x')"
        c = self.server.connect()
        c.request("POST", "/rpc", web.question("step.run", session=session, code=code, detach=True), web.JSON)
        self.assertTrue(web.wait(lambda: self.server.is_running(session)))
        c.close()
        self.assertTrue(web.wait(lambda: not self.server.is_running(session)))
        self.assertIn("kept", json.dumps(self.server.rpc("file.list", session=session)))

    @harness.as_each
    def test_nothing_of_it_stays_open(self):
        if self.server.n_fds() is None:
            self.skipTest("the descriptors of an engine can be counted by root only")
        self.server.rpc("session.list")
        self.assertTrue(web.wait(lambda: self.server.n_fds() == self.server.n_fds()))
        time.sleep(1)  # what earlier tests left goes now
        before = self.server.n_fds()
        for i in range(200):
            with self.server.raw() as raw:
                raw.say((b"", b"GET /he", web.head(length=10), web.post(b"{}"), web.head(length=1 << 30))[i % 5])
                if i % 2:
                    raw.answer() if i % 5 > 2 else None
        self.assertTrue(web.wait(lambda: self.server.n_fds() <= before), (before, self.server.n_fds()))


class Streams(Shared):
    def stream(self, raw, session, code, **params):
        raw.say(web.post(web.question("step.run", session=session, code=code, **params), Accept="text/event-stream"))
        self.assertIn(b"200", raw.file.readline())
        headers = web.http.client.parse_headers(raw.file)
        self.assertEqual(headers["Content-Type"], "text/event-stream")
        return web.events(raw.chunks())

    def test_events_come_while_it_runs_and_the_response_last(self):
        session = self.session()
        with self.server.raw() as raw:
            told = self.stream(raw, session, "open('f', 'w').close()\nprint('a', flush=True)\ninput()\n", stdin="x\n")
            names = [name for name, _ in told]
        self.assertEqual(names, ["step.started", "stdout", "response"])
        with self.server.raw() as raw:
            told = self.stream(raw, session, WAIT)
            self.assertEqual(next(told)[0], "step.started")
            self.assertEqual(next(told), ("stdout", {"event": "stdout", "text": "begun\n"}))
            self.server.rpc("step.interrupt", session=session)
            name, data = list(told)[-1]
            self.assertEqual((name, data["id"]), ("response", 1))
            self.assertEqual(data["result"]["stdout"], "begun\n")

    def test_the_connection_goes_on_after_a_stream(self):
        session = self.session()
        with self.server.raw() as raw:
            for _ in range(3):
                self.assertEqual([n for n, _ in self.stream(raw, session, "1")], ["step.started", "response"])

    def test_errors_before_it_runs_are_plain(self):
        answer = self.server.post(web.question("step.run", session="s-nobody", code="1"), SSE)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.json["error"]["data"]["code"], "not_found")

    def test_what_has_no_events_is_plain(self):
        answer = self.server.post(web.question("session.list"), SSE)
        self.assertEqual(answer.headers["Content-Type"], "application/json")

    def test_a_reader_that_stops_costs_little_and_gets_its_result(self):
        session, other = self.session(), self.session()
        before = self.server.memory_bytes()
        with self.server.raw(buffer_bytes=4096) as raw:
            told = self.stream(raw, session, "for i in range(300): print('x' * 100_000)", timeout_ms=60_000)
            next(told)
            self.assertTrue(web.wait(lambda: not self.server.is_running(session)))
            self.assertEqual(self.server.rpc("step.run", session=other, code="1")["status"], "ok")
            self.assertLess(self.server.memory_bytes() - before, 100 << 20)
            rest = list(told)
        self.assertEqual(rest[-1][0], "response")
        self.assertEqual(rest[-1][1]["result"]["status"], "ok")
        told_bytes = sum(len(data["text"]) for name, data in rest if name == "stdout")
        self.assertLess(told_bytes, 8 << 20)  # of 10, which is what the step may say


class Pages(harness.Case):
    """What browsers do for pages of other sites."""

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--allow-host", "engine.example", "--allow-origin", "https://console.example")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def status(self, **headers):
        return self.server.post(web.question("session.list"), headers).status

    def test_hosts(self):
        port = self.server.port
        for host, status in (("localhost", 200), (f"localhost:{port}", 200), ("127.0.0.1:1", 200), ("[::1]", 200),
                             ("LOCALHOST", 200), ("a.localhost", 200), ("192.168.1.5:99", 200), ("localhost.", 200),
                             ("engine.example", 200), ("Engine.Example:80", 200), ("evil.example", 403),
                             ("localhost.evil.example", 403), ("notlocalhost", 403), ("127.0.0.1.evil.example", 403),
                             ("localhost:port", 403), ("engine.example@evil.example", 403), ("[::1", 403),
                             ("localhost evil.example", 403), (" localhost \t ", 200), ("evil.example ", 403),
                             ("a" * 9000, 400)):
            self.assertEqual(self.status(Host=host), status, host[:80])

    def test_origins(self):
        for origin, status in (("http://localhost:3000", 200), ("https://127.0.0.1", 200), ("http://[::1]:5", 200),
                               ("https://console.example", 200), ("https://evil.example", 403), ("null", 403),
                               ("http://console.example", 403), ("https://console.example.evil.example", 403),
                               ("file://", 403), ("http://localhost.evil.example", 403),
                               ("http://192.168.1.5", 403), ("chrome-extension://abcdef", 403),
                               ("https://console.example\t", 200), ("https://evil.example ", 403)):
            self.assertEqual(self.status(Origin=origin), status, origin)

    def test_health_asks_the_same(self):
        self.assertEqual(self.server.request("GET", "/healthz", headers={"Host": "evil.example"}).status, 403)

    def test_a_named_origin_may_read_the_answers(self):
        asked = {"Origin": "https://console.example", "Access-Control-Request-Method": "POST"}
        answer = self.server.request("OPTIONS", "/rpc", headers=asked)
        self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]),
                         (204, "https://console.example"))
        self.assertIn("Content-Type", answer.headers["Access-Control-Allow-Headers"])
        answer = self.server.post(web.question("session.list"), {"Origin": "https://console.example"})
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://console.example")

    def test_others_may_not(self):
        for origin in ("http://localhost:3000", "https://evil.example"):
            answer = self.server.request("OPTIONS", "/rpc", headers={"Origin": origin})
            self.assertIn(answer.status, (403, 405))
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])


class Tokens(harness.Case):
    def bearer(self, token):
        return {"Authorization": f"Bearer {token}"}

    def test_who_has_none_is_told_so(self):
        with web.Server(tokens=f"# who may\n\nann {web.TOKEN}  # a comment\n") as server:
            body = web.question("session.list")
            for headers in ({}, self.bearer("x" * 20), self.bearer(""), {"Authorization": "Basic YTpi"},
                            self.bearer(web.TOKEN[:-1]), self.bearer(web.TOKEN + "x"), {"Authorization": web.TOKEN}):
                answer = server.post(body, headers)
                self.assertEqual((answer.status, answer.json["error"]["code"]), (401, "auth"), headers)
                self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Bearer"))
            for path in ("/rpc", "/rpc?token=" + web.TOKEN, "/rpc?access_token=" + web.TOKEN):
                self.assertEqual(server.request("POST", path, body, web.JSON).status, 401)
            self.assertEqual(server.post(body, self.bearer(web.TOKEN)).status, 200)
            self.assertEqual(server.post(body, {"Authorization": f"bearer  {web.TOKEN} "}).status, 200)
            self.assertEqual(server.post(body, {"Authorization": f"Bearer {web.TOKEN}\t"}).status, 200)
            self.assertEqual(server.request("GET", "/metrics").status, 401)
            self.assertEqual(server.request("GET", "/healthz").status, 200)
            with server.raw() as raw:
                raw.say(web.post(body, Authorization=f"Bearer {web.TOKEN}\r\nAuthorization: Bearer x"))
                self.assertEqual(raw.answer().status, 401)
            self.assertIn(" ann POST /rpc session.list 200 ", server.said())
            self.assertNotIn(web.TOKEN, server.said())

    def test_the_file_is_read_again(self):
        with web.Server(tokens=f"ann {web.TOKEN}\n") as server:
            body = web.question("session.list")
            for text, ann, bob in ((f"ann {web.TOKEN}\nbob {web.TOKEN}2\n", 200, 200), ("", 200, 200),
                                   (f"ann {web.TOKEN}2\nbob {web.TOKEN}2\n", 200, 200), (f"bob {web.TOKEN}2\n", 401, 200),
                                   ("carl\n", 401, 200)):
                n = server.said().count("retort: ")
                server.write_tokens(text)
                server.process.send_signal(signal.SIGHUP)
                self.assertTrue(web.wait(lambda n=n: server.said().count("retort: ") > n))
                self.assertEqual(server.post(body, self.bearer(web.TOKEN)).status, ann, text)
                self.assertEqual(server.post(body, self.bearer(web.TOKEN + "2")).status, bob, text)
            self.assertTrue(web.wait(lambda: "retort: the tokens that were read before stay in use\n" in server.said()))

    def test_files_that_will_not_do(self):
        good = "ann " + web.TOKEN
        cases = [("", 0o600, "no token in"), ("# x\n", 0o600, "no token in"), (good, 0o644, "others may read it"),
                 ("ann short", 0o600, ":1: a token that is too short"), ("ann", 0o600, ":1: a name without a token"),
                 (f"{good}\nann {web.TOKEN}2", 0o600, ":2: a name that an earlier line has"),
                 (f"{good}\nbob {web.TOKEN}", 0o600, ":2: a token that an earlier line has"),
                 (f"a/b {web.TOKEN}", 0o600, ":1: invalid name"),
                 (f"ann {web.TOKEN}é", 0o600, ":1: a token with invalid characters"),
                 (f"{good} colour=red", 0o600, ":1: unknown setting"),
                 (f"{good} sessions=-1", 0o600, ":1: invalid value of a setting"),
                 (f"{good} rate=5", 0o600, ":1: invalid value of a setting"),
                 (f"{good} steps=1 steps=2", 0o600, ":1: a setting given twice"),
                 (f"{good}\0", 0o600, "is not a text"), (good + "\n" * (1 << 21), 0o600, "over 1 MiB")]
        path = os.path.join(tempfile.mkdtemp(dir=harness.TMP), "t")
        for text, mode, message in cases:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(path, mode)
            done = harness.retort("serve", "--listen", "0", "--no-socket", "--no-journal", "--token-file", path)
            self.assertEqual(done.status, 2, (text[:60], done.err))
            self.assertIn(message, done.err)
            self.assertNotIn(web.TOKEN, done.err)
        done = harness.retort("serve", "--listen", "0", "--no-journal", "--no-socket", "--token-file", path + "x")
        self.assertEqual(done.status, 2)


@harness.as_each
class Places(harness.Case):
    def refused(self, *options):
        done = harness.retort("serve", "--no-journal", "--no-socket", *options)
        self.assertRegex(done.err, r"\Aretort: [^\n]+: [^\n]+\n\Z")
        self.assertEqual(done.status, 2, done.err)
        return done.err

    def test_addresses_that_will_not_do(self):
        for text in ("nonsense", "127.0.0.1:", "127.0.0.1:65536", "1.2.3:80", "[::1]", "::1:80", "[127.0.0.1]:80",
                     "example.com:80", "127.0.0.1:8o", "127.0.0.1:-1", "x" * 500 + ":1"):
            self.assertIn("--listen", self.refused("--listen", text), text)
        self.assertIn("not an address of this host", self.refused("--listen", "[::ffff:9]:0",
                                                              "--token-file", self.token_file()))

    def test_a_state_directory_behind_a_link(self):
        """As a service manager has it; links that somebody else could have put there lead nowhere."""
        where = tempfile.mkdtemp(dir=harness.TMP)
        link = os.path.join(where, "link")
        os.mkdir(os.path.join(where, "kept"), 0o700)
        os.symlink("kept", link)
        with web.Server("--state", link) as server:
            self.assertEqual(server.post(web.question("session.create")).status, 200)
        self.assertIn("journal.lock", os.listdir(link))
        for name, mode, owner, message in (("open", 0o755, -1, "other users may enter"), ("foreign", 0o700, 1, "is not a directory")):
            path = os.path.join(where, name)
            os.mkdir(path + ".d")
            os.chmod(path + ".d", mode)
            os.symlink(path + ".d", path)
            if owner >= 0 and os.geteuid() != 0:
                continue
            os.chown(path, owner, owner, follow_symlinks=False)
            done = harness.retort("serve", "--listen", "0", "--no-socket", "--state", path)
            self.assertIn(message, done.err)
            self.assertEqual(done.status, 2)

    def token_file(self):
        path = os.path.join(tempfile.mkdtemp(dir=harness.TMP), "t")
        with open(path, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(f"ann {web.TOKEN}\n")
        return path

    def test_everybody_may_call_only_with_tokens(self):
        for text in ("0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80"):
            self.assertIn("--token-file", self.refused("--listen", text))
        with web.Server("--listen", "0.0.0.0:0", tokens=f"ann {web.TOKEN}\n") as server:
            self.assertEqual(server.post(web.question("session.list")).status, 401)

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = self.refused("--listen", f"127.0.0.1:{port}")
            self.assertIn(f"127.0.0.1:{port} is in use", said)
            self.assertNotIn("listening", said)

    def test_nobody_could_call(self):
        self.refused()
        self.refused("--listen", "0", "--socket", "/tmp/x")

    def test_names_that_are_none(self):
        self.assertIn("--allow-host", self.refused("--listen", "0", "--allow-host", "http://x"))
        for origin in ("console.example", "https://a/b", "ftp://x", "https://"):
            self.assertIn("--allow-origin", self.refused("--listen", "0", "--allow-origin", origin))

    def test_several_addresses(self):
        with web.Server("--listen", "127.0.0.1:0", "--listen", "localhost:0", "--listen", "0") as server:
            ports = [line.rsplit(":", 1)[1] for line in server.said().splitlines() if "http://" in line]
            self.assertEqual(len(set(ports)), 3)
            for port in ports:
                with web.Raw(int(port)) as raw:
                    raw.say(web.head("/healthz", "GET"))
                    self.assertEqual(raw.answer().status, 200)


class Limits(harness.Case):
    def test_too_many_connections(self):
        with web.Server("--connections", "8") as server:
            held = [server.raw() for _ in range(4)]
            for raw in held:
                raw.say(web.head("/healthz", "GET"))
                self.assertEqual(raw.answer().status, 200)
            with server.raw() as raw:
                raw.say(web.head("/healthz", "GET"))
                answer = raw.answer()
                self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
            held.pop().close()
            self.assertTrue(web.wait(lambda: server.request("GET", "/healthz").status == 200))
            for raw in held:
                raw.say(web.head("/healthz", "GET"))
                self.assertEqual(raw.answer().status, 200)
                raw.close()

    def test_clients_that_take_their_time_are_cut_off(self):
        """Whatever they say slowly, it ends; those that are quick go on meanwhile."""
        with web.Server("--request-timeout", "1s", "--idle-timeout", "2s") as server:
            slow = {"nothing": b"", "a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
                    "a body": web.head(length=1000), "chunks": web.head(Transfer_Encoding="chunked") + b"5\r\nab"}
            raws = {what: server.raw() for what in slow}
            for what, raw in raws.items():
                raw.say(slow[what])
            ended = set()

            def drip(what, raw):
                try:
                    while what != "nothing":
                        raw.say(b"a")
                        time.sleep(0.1)
                except OSError:
                    pass
                if raw.is_closed():
                    ended.add(what)

            threads = [threading.Thread(target=drip, args=item) for item in raws.items()]
            for thread in threads:
                thread.start()
            self.assertEqual(server.request("GET", "/healthz").status, 200)
            for thread in threads:
                thread.join(web.ANSWER_S)
            self.assertEqual(ended, set(slow))
            for raw in raws.values():
                raw.close()

    def test_a_body_that_began_fast_may_not_go_on_slowly(self):
        with web.Server("--request-timeout", "1s", "--idle-timeout", "1h") as server, server.raw() as raw:
            raw.say(web.head(length=30 << 20) + bytes(20 << 20))

            def drip():
                try:
                    while True:
                        raw.say(b"a")
                        time.sleep(0.1)
                except OSError:
                    pass
            thread = threading.Thread(target=drip)
            thread.start()
            self.assertTrue(raw.is_closed())
            thread.join(web.ANSWER_S)
            self.assertFalse(thread.is_alive())

    def test_bodies_of_one_caller_leave_room_for_others(self):
        ann, bob = ("a" * 32, "b" * 32)
        mib = bytes(1 << 20)
        with web.Server("--request-timeout", "1h", "--grace", "0s", tokens=f"ann {ann}\nbob {bob}\n") as server:
            held = [server.raw() for _ in range(5)]
            for raw in held:
                self.addCleanup(raw.close)
                raw.say(web.head(length=64 << 20, Authorization=f"Bearer {ann}"))
                try:
                    for _ in range(60):
                        raw.say(mib)
                except OSError:
                    pass
            self.assertEqual(held[4].answer().status, 503)
            body = web.question("session.list", label="x" * (20 << 20))
            statuses = [server.post(body, {"Authorization": f"Bearer {token}"}).status for token in (bob, ann)]
            self.assertEqual(statuses, [200, 503])

    def test_a_reader_that_never_reads_again_is_let_go(self):
        with web.Server("--idle-timeout", "1s") as server:
            session = server.rpc("session.create")["session"]
            with server.raw(buffer_bytes=4096) as raw:
                code = "import time\nwhile True: print('x' * 100_000); time.sleep(.001)"
                raw.say(web.post(web.question("step.run", session=session, code=code, timeout_ms=100_000),
                                 Accept="text/event-stream"))
                self.assertTrue(web.wait(lambda: server.is_running(session)))
                self.assertTrue(web.wait(lambda: not server.is_running(session)))


class Stopping(harness.Case):
    def start(self, server, code, headers=None):
        session = server.rpc("session.create")["session"]
        c = server.connect()
        self.addCleanup(c.close)
        c.request("POST", "/rpc", web.question("step.run", session=session, code=code), {**web.JSON, **(headers or {})})
        self.assertTrue(web.wait(lambda: server.is_running(session)))
        return c

    def test_what_runs_comes_to_its_end(self):
        with web.Server("--grace", "60s") as server:
            c = self.start(server, "import time; time.sleep(2); 6 * 7")
            idle = server.connect()
            self.addCleanup(idle.close)
            server.request("GET", "/healthz", connection=idle)
            server.process.terminate()
            server.wait_for("stopping: 1 under way")
            for connection in (idle, None):
                answer = server.request("GET", "/healthz", connection=connection)
                self.assertEqual((answer.status, answer.headers["Connection"]), (503, "close"))
            self.assertEqual(server.post(web.question("engine.info")).status, 503)
            open_at = server.connect()
            self.addCleanup(open_at.close)
            open_at.connect()
            said = json.loads(c.getresponse().read())
            self.assertEqual(said["result"]["value"]["text/plain"], "42")
            self.assertEqual(server.process.wait(web.ANSWER_S), 0)
            with self.assertRaises(OSError):
                server.connect().connect()

    def test_or_is_interrupted_and_told_so(self):
        for headers in ({}, SSE):
            with web.Server("--grace", "0s") as server:
                c = self.start(server, WAIT, headers)
                server.process.terminate()
                body = c.getresponse().read()
                said = json.loads(body.split(b"data: ")[-1] if headers else body)
                self.assertIn(said["result"]["status"], ("killed", "error"))
                self.assertEqual(server.process.wait(web.ANSWER_S), 0)

    def test_a_second_signal_is_the_end_at_once(self):
        with web.Server("--grace", "1h") as server:
            self.start(server, "import time\nwhile True:\n try: time.sleep(100)\n except BaseException: pass")
            server.process.terminate()
            server.wait_for("stopping: 1 under way")
            server.process.terminate()
            self.assertEqual(server.process.wait(web.ANSWER_S), 0)


class Managers(harness.Case):
    """Sockets from a service manager, and what it is told."""

    def given(self, sockets, *options, listener=None):
        """Start it as systemd does, with @sockets as descriptors 3, 4, …"""
        fds = [s.fileno() for s in sockets]
        code = ("import os, sys\n"
                f"fds = {fds}\n"
                "high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]\n"
                "for i, fd in enumerate(high): os.dup2(fd, 3 + i)\n"
                "os.closerange(3 + len(fds), 200)\n"
                "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES='x')\n"
                "os.execv(sys.argv[1], sys.argv[1:])\n")
        env = harness.environment({"NOTIFY_SOCKET": listener} if listener else None)
        return subprocess.Popen([sys.executable, "-c", code, harness.RETORT, "serve", "--no-journal", *options],
                                pass_fds=fds, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_sockets_and_signs_of_life(self):
        where = tempfile.mkdtemp(prefix="n", dir="/tmp")
        path, told = os.path.join(where, "s"), os.path.join(where, "n")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener, socket.socket() as inet, \
                socket.socket(socket.AF_UNIX) as unix:
            listener.settimeout(web.ANSWER_S)
            listener.bind(told)
            inet.bind(("127.0.0.1", 0))
            inet.listen()
            unix.bind(path)
            unix.listen()
            process = self.given([unix, inet], listener=told)
            try:
                self.assertEqual(listener.recv(100), b"READY=1")
                with web.Raw(inet.getsockname()[1]) as raw:
                    raw.say(web.head("/healthz", "GET"))
                    self.assertEqual(raw.answer().status, 200)
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(web.ANSWER_S)
                    client.connect(path)
                    client.sendall(web.question("session.list") + b"\n")
                    self.assertIn(b"sessions", client.recv(1000))
                process.terminate()
                self.assertEqual(listener.recv(100), b"STOPPING=1")
                self.assertEqual(process.wait(web.ANSWER_S), 0)
                self.assertTrue(os.path.exists(path))  # it is the manager's
            finally:
                process.kill()
                process.wait()
                process.stderr.close()

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_units(self):
        """Units that systemd reads without a complaint."""
        units = os.path.join(os.environ.get("RETORT_SOURCE", harness.ROOT), "systemd")
        if not os.access(units, os.R_OK):
            self.skipTest("no readable checkout: RETORT_SOURCE names none")
        for whose in ("user", "system"):
            where = tempfile.mkdtemp(dir=harness.TMP)
            shutil.copy(os.path.join(units, whose, "retort.socket"), where)
            with open(os.path.join(units, whose, "retort.service.in"), encoding="utf-8") as f:
                text = f.read().replace("@bindir@", os.path.dirname(harness.RETORT))
            with open(os.path.join(where, "retort.service"), "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run(
                ["systemd-analyze", "verify", "--man=no", *(["--user"] if whose == "user" else []),
                 *(os.path.join(where, name) for name in ("retort.service", "retort.socket"))],
                env=harness.environment({"XDG_RUNTIME_DIR": where}), capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""), whose)

    def test_what_is_no_listening_socket(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wrong:
            wrong.bind(("127.0.0.1", 0))
            process = self.given([wrong])
            _, err = process.communicate(timeout=web.ANSWER_S)
            self.assertEqual((process.returncode, b"LISTEN_FDS" in err), (2, True), err)

    def test_the_rule_of_tokens_holds(self):
        with socket.socket() as wide:
            wide.bind(("0.0.0.0", 0))
            wide.listen()
            process = self.given([wide])
            _, err = process.communicate(timeout=web.ANSWER_S)
            self.assertEqual((process.returncode, b"--token-file" in err), (2, True), err)


class Logs(harness.Case):
    def test_a_line_for_each_request_without_what_was_sent(self):
        with web.Server("--log", "json", tokens=f"ann {web.TOKEN}\n") as server:
            headers = {"Authorization": f"Bearer {web.TOKEN}"}
            session = server.rpc("session.create", headers)["session"]
            server.rpc("step.run", headers, session=session, code="print('SECRET')")
            server.request("GET", "/a%0ab\x1b?SECRET".replace("\x1b", "%1b"))
            server.wait_for("/a%0ab")
            lines = [json.loads(line) for line in server.said().splitlines() if line.startswith("{")]
            self.assertEqual([(line.get("principal"), line["path"], line.get("operation"), line["status"]) for line in lines],
                             [("ann", "/rpc", "session.create", 200), ("ann", "/rpc", "step.run", 200),
                              (None, "/a%0ab%1b", None, 404)])
            for line in lines:
                self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
                self.assertGreaterEqual(line["ms"], 0)
            self.assertNotIn("SECRET", server.said())

    def test_none(self):
        with web.Server("--log", "none") as server:
            server.rpc("session.list")
            self.assertNotIn("session.list", server.said())

    def test_a_log_that_nobody_reads_stops_nobody(self):
        read, write = os.pipe()
        process = subprocess.Popen(
            [harness.RETORT, "serve", "--no-socket", "--no-journal", "--listen", "0"], stderr=write,
            env=harness.environment(), stdin=subprocess.DEVNULL)
        os.close(write)
        try:
            port = int(os.read(read, 1000).decode().rsplit(":", 1)[1])
            with web.Raw(port) as raw:
                for _ in range(3000):  # about 180 KiB of lines; a pipe takes 64
                    raw.say(web.head("/healthz", "GET"))
                    self.assertEqual(raw.answer().status, 200)
        finally:
            os.close(read)
            process.terminate()
            self.assertEqual(process.wait(web.ANSWER_S), 0)


if __name__ == "__main__":
    harness.main()
