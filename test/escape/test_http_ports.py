# SPDX-License-Identifier: Apache-2.0
"""T-WEB: hostile programs, pages and clients at ports and terminals that are reached over HTTP."""

import http.client
import gzip
import json
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import http_box  # noqa: E402
import web  # noqa: E402
from test_http_terminal import OPENING, frame  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Evil: 1\r\n\r\nevil"
OK = b"HTTP/1.1 200 OK\r\n"

# What a program answers, and what must not be behind it on the client's connection: the next response.
ANSWERS = {
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 50\r\n\r\nok" + EVIL,
    "a negative length": OK + b"Content-Length: -1\r\n\r\nok" + EVIL,
    "a long length": OK + b"Content-Length: 99999999999999999999\r\n\r\nok" + EVIL,
    "a length that is no number": OK + b"Content-Length: 2x\r\n\r\nok" + EVIL,
    "a length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + EVIL,
    "chunks and a length": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 100\r\n\r\n0\r\n\r\n" + EVIL,
    "more than its length": OK + b"Content-Length: 2\r\n\r\nok" + EVIL,
    "less than its length": OK + b"Content-Length: 200\r\n\r\n" + EVIL,
    "more than its chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + EVIL,
    "bad chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n" + EVIL,
    "huge chunks": OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nok\r\n0\r\n\r\n" + EVIL,
    "unknown coding": OK + b"Transfer-Encoding: smuggled\r\nContent-Length: 2\r\n\r\nok" + EVIL,
    "204 with a body": b"HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nbody" + EVIL,
    "304 with a body": b"HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n" + EVIL,
    "two responses": OK + b"Content-Length: 0\r\n\r\n" + EVIL,
    "a CR in a header": OK + b"X: a\rX-Evil: 1\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "a LF in a header": OK + b"Location: /\nX: a\n\tX-Evil: 1\nContent-Length: 0\n\n" + EVIL,
    "a NUL in a header": OK + b"X: a\0b\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "a folded header": OK + b"X: a\r\n X-Evil: 1\r\n\tContent-Length: 9\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "a blank before a colon": OK + b"Content-Length : 9\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "odd names": OK + b"X\x01Y: 1\r\n: 2\r\nX Y: 3\r\nX(Y): 4\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "hop by hop": OK + b"Connection: close, X-A, Content-Security-Policy\r\nKeep-Alive: timeout=0\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "HTTP/0.9": b"just text" + EVIL,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + EVIL,
    "HTTP/2 200": b"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "HTTP/1.1 without a status": b"HTTP/1.1 \r\n\r\n" + EVIL,
    "status 000": b"HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "status 099": b"HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "status 199": b"HTTP/1.1 199 x\r\nX-Evil: 1\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n" + EVIL,
    "status 999": b"HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n" + EVIL,
    "101 unasked": b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + EVIL,
    "101 with a length": b"HTTP/1.1 101 x\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\n" + EVIL,
    "evil trailers": OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Evil: 1\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    "100 to 103": b"HTTP/1.1 100 Continue\r\nX-Evil: 1\r\n\r\n" * 1000 + b"HTTP/1.1 103 x\r\nX-Evil: 1\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n" + EVIL,
    "long headers": OK + b"X: " + b"x" * MIB + b"\r\n\r\n" + EVIL,
    "many headers": OK + b"X-A: x\r\n" * 10000 + b"\r\n" + EVIL,
    "some headers": OK + b"X-A: x\r\n" * 200 + b"Content-Length: 0\r\n\r\n" + EVIL,
}


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


BOMB = chunk(gzip.compress(gzip.compress(bytes(1 << 24)))) + chunk(b"")


class Attacks(http_box.Case):
    def answering(self, said):
        """A program that answers each request with said[path]."""
        return self.serve_raw(f"answers = {said!r}\nc.sendall(answers[head.split()[1].decode()])")

    # ---- who may ----

    def end_programs(self):
        for process in self.call("process.list")["processes"]:
            if process["state"] == "running" and "process" in process:
                self.call("process.signal", process=process["process"], signal="KILL")
                self.call("process.wait", process=process["process"])

    def test_T_WEB_OWNER_of_another_caller(self):
        """With another caller's token, or none: reach a program and a terminal, by path, host and WebSocket."""
        at = self.serve()
        self.call("terminal.open", argv=["cat"], name="cat")
        for token, want in ((http_box.BOB, 404), (None, 401)):
            for path, host in ((at + "/echo", None), ("/echo", self.host()), (f"/terminal/{self.session}/cat", None)):
                for lines in ((), OPENING):
                    raw = self.server.raw()
                    self.addCleanup(raw.close)
                    given = [f"Authorization: Bearer {token}"] if token else []
                    raw.say("\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host or 'localhost'}", *given, *lines, "", ""]).encode())
                    status = raw.answer().status
                    self.assertIn(status, (want, 426) if "terminal" in path and not lines and token else (want,), (path, host, token))
        self.assertEqual(self.get(at + "/echo").status, 200)

    def test_T_WEB_OWNER_of_a_port_that_is_not_open(self):
        """Ports of the host, of the engine itself, and of other sessions."""
        with socket.create_server(("127.0.0.1", 0)) as service:
            host = service.getsockname()[1]
            self.serve()
            other = self.new_session()
            for port in (host, self.server.port, 8000):
                self.assertEqual(self.get(f"/s/{other}/{port}/").status, 404)
                self.call("port.open", session=other, port=port, listen="http", early=True)
                self.assertEqual(self.get(f"/s/{other}/{port}/").status, 502)
            service.setblocking(False)
            with self.assertRaises(BlockingIOError):
                service.accept()

    def test_T_WEB_OWNER_of_the_api(self):
        """By the path or the host of a port, reach the engine's own routes, and the other way round."""
        at = self.serve()
        body = web.question("session.list").decode()
        for path, host in ((at + "/../../../rpc", None), (at + "/..%2f..%2f..%2frpc", None), ("/rpc", self.host()), (at + "//rpc", None)):
            answer = self.request("POST", path, body, {**web.JSON, **({"Host": host} if host else {})})
            self.assertEqual((answer.json["method"], answer.json["text"]), ("POST", body))
        for path in ("/s//8000/", f"/s/{self.session}/8000%2f..", f"/s/{self.session}/+8000/", f"/s/{self.session}/ 8000/".replace(" ", "%20"),
                     f"/s/{self.session}/0x1f40/", f"//s/{self.session}/8000/", f"/s/../s/{self.session}/8000/", f"/S/{self.session}/8000/",
                     f"/s/{self.session}/8000000/", f"/s/./{self.session}/8000/", f"/s/{self.session}%00/8000/", "/s/%2e%2e/8000/"):
            self.assertEqual(self.get(path).status, 404, path)
        for target in (f"http://127.0.0.1{at}/", f"https://evil/{at}", "*", at.encode().decode() + "/" + "x" * 200000):
            raw = self.raw(target)
            answer = raw.answer()
            self.assertTrue(answer is None or answer.status in (400, 404, 414, 431), (target[:50], answer and answer.status))

    # ---- tokens ----

    def test_T_WEB_TOKEN_in_the_box(self):
        """The program looks for the token in all that it gets."""
        at = self.serve_raw("c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + head)")
        token = self.token
        forms = [token, http_box.basic(token)["Authorization"].split()[1], http_box.protocol(token).split(".")[-1]]
        both = {**http_box.bearer(token), "X-Retort-Token": token}
        for headers in (http_box.bearer(token), http_box.basic(token), {"X-Retort-Token": token}, both,
                        {**http_box.basic(token), "x-retort-token": token},
                        {"Sec-WebSocket-Protocol": "a, " + http_box.protocol(token)},
                        {**http_box.basic(token), "Sec-WebSocket-Protocol": http_box.protocol(token)},
                        {**both, "Sec-WebSocket-Protocol": f"{http_box.protocol(token)},{http_box.protocol(token)}"},
                        {"X-Retort-Token": token, "Authorization": f"Bearer {token}\t"},
                        {"X-Retort-Token": token, "Authorization": f"bearer\t{token}"},
                        {"X-Retort-Token": token, "Authorization": f"Bearer {token}, Basic x"},
                        {"X-Retort-Token": token, "Sec-WebSocket-Protocol": "x;" + http_box.protocol(token)}):
            for more in ({}, dict(line.split(": ") for line in OPENING)):
                for path, host in ((at + "/x", {}), ("/x", {"Host": self.host(9000)})):
                    answer = self.server.request("GET", path, headers={**headers, **more, **host})
                    self.assertEqual(answer.status, 200, headers)
                    self.assertIn(b"GET /x HTTP/1.1", answer.body)
                    for form in forms:
                        self.assertNotIn(form.encode(), answer.body, headers)

    # ---- pages ----

    def test_T_WEB_PAGE_of_a_port(self):
        """A page of a box opens the engine's terminal, or another session's, or sends it requests."""
        at = self.serve()
        self.call("terminal.open", argv=["cat"], name="cat")
        other = self.new_session()
        port = self.server.port
        for origin in ("null", f"http://8000-{other}.localhost:{port}", f"http://8001-{self.session}.localhost:{port}"):
            for path, host in ((at + "/echo", f"127.0.0.1:{port}"), ("/echo", self.host()), (f"/terminal/{self.session}/cat", f"127.0.0.1:{port}"),
                               ("/rpc", f"127.0.0.1:{port}")):
                for lines in (dict(line.split(": ") for line in OPENING), {}):
                    method = "POST" if path == "/rpc" else "GET"
                    answer = self.request(method, path, headers={**lines, "Host": host, "Origin": origin, **web.JSON})
                    self.assertEqual(answer.status, 403, (origin, path, host, lines))
                    self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
        for origin in (f"http://localhost:{port + 1}", f"http://127.0.0.1:{port + 1}"):
            for path in (at + "/echo", f"/terminal/{self.session}/cat"):
                answer = self.request("GET", path, headers={**dict(line.split(": ") for line in OPENING), "Origin": origin})
                self.assertEqual(answer.status, 403, (origin, path))

    def test_T_WEB_PAGE_of_another_site(self):
        """It has a browser fetch an image from a port, without an Origin. A link may lead there."""
        self.serve()
        for site, mode, status in (("cross-site", "no-cors", 403), ("same-site", "no-cors", 403), ("cross-site", "navigate", 200),
                                   ("same-origin", "cors", 200), ("none", "navigate", 200)):
            answer = self.get("/echo", headers={"Host": self.host(), "Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode})
            self.assertEqual(answer.status, status, (site, mode))

    def test_T_WEB_PAGE_with_a_policy_of_its_own(self):
        """Answers that try to get the engine's origin: the policy is there whatever the program says."""
        own = (b"Content-Security-Policy: sandbox allow-same-origin allow-scripts\r\n", b"content-security-policy:\r\n",
               b"Connection: Content-Security-Policy\r\n", b"Clear-Site-Data: \"*\"\r\nService-Worker-Allowed: /\r\nAlt-Svc: x\r\n",
               b"X: 1\r\n" * 90)
        at = self.answering({f"/{i}": OK + head + b"Content-Length: 2\r\n\r\nok" for i, head in enumerate(own)})
        for i in range(len(own)):
            for connection in ("keep-alive", "Content-Security-Policy"):
                answer = self.get(at + f"/{i}", headers={"Connection": connection})
                policies = answer.headers.get_all("Content-Security-Policy")
                self.assertEqual((answer.status, answer.body), (200, b"ok"))
                self.assertIn("sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads", policies)
                for name in ("Clear-Site-Data", "Service-Worker-Allowed", "Alt-Svc"):
                    self.assertIsNone(answer.headers[name])

    def test_T_WEB_COOKIE_for_others(self):
        """Cookies whose attributes reach for other paths and hosts."""
        tricks = (b"a=b; Path=/", b"a=b;path=/;Path=/s/", b"a=b; \tPATH \t= /", b"a=b; Path", b"a=b; Domain=localhost", b"a=b;DOMAIN =.localhost",
                  b"a=b;;;Path=/;", b"a=b; Path=/; Path=/s/other/8000/", b"a=\"b; Path=/\"", b"Path=/; Path=/; Domain=x", b"=; path=/", b"; path=/")
        at = self.answering({"/": OK + b"".join(b"Set-Cookie: " + t + b"\r\n" for t in tricks) + b"Content-Length: 0\r\n\r\n"})
        cookies = self.get(at + "/").headers.get_all("Set-Cookie")
        self.assertEqual(len(cookies), len(tricks))
        for cookie in cookies:
            attributes = [a.split("=", 1) for a in cookie.split(";")[1:]]
            names = [a[0].strip().lower() for a in attributes]
            self.assertEqual((names.count("path"), names[-1], attributes[-1][1]), (1, "path", at + "/"), cookie)
            self.assertNotIn("domain", names)
        for cookie in self.get("/", headers={"Host": self.host(9000)}).headers.get_all("Set-Cookie"):
            self.assertNotIn("domain", [a.split("=", 1)[0].strip().lower() for a in cookie.split(";")[1:]], cookie)

    # ---- responses ----

    def test_T_WEB_SPLIT_next_response(self):
        """Responses that try to put another one behind them, on the client's connection: the next one is its own."""
        names = list(ANSWERS)
        self.call("file.write", path="answers.py", content=f"A = {[ANSWERS[n] for n in names]!r}")
        at = self.serve_raw("import sys; sys.path.insert(0, '.'); from answers import A\nc.sendall(A[int(head.split()[1][1:])])")
        fine = self.serve()
        for i, name in enumerate(names):
            for method in ("GET", "HEAD"):
                with self.subTest(name=name, method=method):
                    raw = self.raw(f"{at}/{i}", method)
                    try:
                        answer = raw.answer(has_body=method == "GET")
                    except (ConnectionError, ValueError, http.client.HTTPException):
                        continue  # cut off
                    if not answer:
                        continue
                    self.assertIsNone(answer.headers["X-Evil"])
                    self.assertNotEqual(answer.status, 101)
                    raw.say(f"GET {fine}/echo?{i} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
                    try:
                        answer = raw.answer()
                    except (ConnectionError, ValueError):
                        continue
                    if answer:
                        self.assertEqual(answer.json["path"], f"/echo?{i}")
                    raw.close()

    def test_T_WEB_FLOOD_endless_heads(self):
        """Interim responses, headers and trailers without end: memory has a bound, and others are served."""
        fine = self.serve()
        before = self.memory()
        floods = ("while True: c.sendall(b'HTTP/1.1 100 Continue\\r\\nX: y\\r\\n\\r\\n' * 1000)",
                  "c.sendall(b'HTTP/1.1 200 OK\\r\\n')\nwhile True: c.sendall(b'X: y\\r\\n' * 1000)",
                  "c.sendall(b'HTTP/1.1 200 OK\\r\\nX: ')\nwhile True: c.sendall(b'x' * 10000)",
                  "c.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n')\nwhile True: c.sendall(b'X: y\\r\\n' * 1000)",
                  "c.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n')\nwhile True: c.sendall(b'0' * 10000)",
                  "while True: c.sendall(b'x' * 10000)")
        for i, flood in enumerate(floods):
            at = self.serve_raw(flood, port=9000 + i)
            raws = [self.raw(at + "/") for _ in range(5)]
            for n in range(20):
                self.assertEqual(self.get(fine + f"/echo?{n}").json["path"], f"/echo?{n}")
            if i > 0:  # interim responses may go on for ever; the rest is refused or cut off
                for raw in raws:
                    self.assertTrue(raw.is_closed() if i in (3, 4) else raw.answer().status == 502, flood)
            for raw in raws:
                raw.close()
        self.assertLess(self.memory() - before, 32 * MIB)

    # ---- WebSockets ----

    def terminal(self):
        self.call("terminal.open", argv=["cat"], name="cat")
        return f"/terminal/{self.session}/cat"

    def opened(self, path):
        raw = self.raw(path, "GET", *OPENING)
        self.assertIn(b" 101 ", raw.file.readline())
        return raw

    def test_T_WEB_FLOOD_transfer_codings(self):
        """A few bytes that would become terabytes, or keep the engine busy for hours: no coding but chunked is undone."""
        for coding in ("gzip, chunked", "gzip, gzip, gzip, gzip, chunked", "deflate", "chunked, gzip", "identity"):
            with self.subTest(coding=coding):
                head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n".encode()
                answer = self.get(self.serve_raw(f"c.sendall({head + BOMB!r})") + "/")
                self.assertEqual((answer.status, answer.json["error"]["code"]), (502, "unreachable"))
                self.call("port.close", port=9000)
                self.end_programs()

    def test_T_WEB_FLOOD_requests_that_are_over(self):
        """HEAD with a body, whose answer promises another one: each leaves its connection behind."""
        at = self.serve_raw("c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\n'); c.recv(1)")
        for _ in range(110):
            raw = self.raw(at + "/", "HEAD", "Content-Length: 1")
            raw.say(b"x")
            self.assertEqual(raw.answer(has_body=False).status, 200)
            raw.close()

    def test_T_WEB_SOCKET_floods(self):
        """Pings whose answers nobody reads, long messages that are announced, control messages in masses."""
        path = self.terminal()
        self.opened(path)
        before = self.memory()
        floods = (frame(9, b"x" * 125) * 1000, frame(1, b"bad") * 1000, frame(2, b"x" * 100000, is_last=False)[:90000],
                  frame(1, b'{"type": "resize", "rows": 1, "cols": 1}') * 100, frame(2, b"") * 1000, frame(2, b"x", is_last=False) + frame(0, b"x", is_last=False) * 1000)
        for flood in floods:
            for _ in range(4):
                raw = self.opened(path)
                raw.sock.setblocking(False)
                try:
                    for _ in range(200):
                        raw.sock.send(flood)
                except OSError:
                    pass
        self.assertEqual(self.server.request("GET", "/healthz").status, 200)
        self.assertEqual(self.call("step.run", code="6 * 7")["value"]["text/plain"], "42")
        self.assertLess(self.memory() - before, 48 * MIB)

    def test_T_WEB_SOCKET_names_another_process(self):
        """A control message with parameters of its own: another session, another process."""
        path = self.terminal()
        other = self.new_session()
        self.call("terminal.open", session=other, argv=["cat"], name="victim")
        raw = self.opened(path)
        raw.say(frame(1, json.dumps({"type": "signal", "signal": "KILL", "session": other, "process": "victim"}).encode()))
        self.assertTrue(raw.is_closed())  # its own program was killed
        self.assertEqual(self.call("process.get", session=other, process="victim")["state"], "running")

    def test_T_WEB_SOCKET_program_that_reads_nothing(self):
        """Behind an upgraded connection, a program neither reads nor ends: memory has a bound, and the port can be closed."""
        at = self.serve_raw("c.sendall(b'HTTP/1.1 101 x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n')\nthreading.Event().wait()")
        before = self.memory()
        raws = [self.opened(at + "/") for _ in range(10)]
        for raw in raws:
            raw.sock.setblocking(False)
            try:
                while True:
                    raw.sock.send(bytes(MIB))
            except OSError:
                pass
        self.assertLess(self.memory() - before, 16 * MIB)
        self.call("port.close", port=9000)
        for raw in raws:
            raw.sock.settimeout(web.ANSWER_S)
            self.assertTrue(raw.is_closed())


if __name__ == "__main__":
    harness.main()
