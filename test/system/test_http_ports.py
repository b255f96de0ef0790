# SPDX-License-Identifier: Apache-2.0
"""Programs of a box that speak HTTP are reached through the engine's HTTP server."""

import asyncio
import contextlib
import hashlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import http_box  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20
BIG = 50 * MIB
PATTERN = bytes(range(256)) * 256


def pattern_sha256(n):
    digest = hashlib.sha256()
    while n:
        part = PATTERN[:n]
        digest.update(part)
        n -= len(part)
    return digest.hexdigest()


def reset(c):
    """Close a socket so that its peer gets a reset."""
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


class Requests(http_box.Case):
    """What a program gets, and what its client gets."""

    def test_methods(self):
        at = self.serve()
        with self.server.raw():
            c = self.server.connect()
            self.addCleanup(c.close)
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"):
                body = None if method in ("GET", "OPTIONS") else b"body of " + method.encode()
                answer = self.request(method, at + "/echo", body, connection=c)
                self.assertEqual((answer.status, answer.headers["X-Echo"]), (200, "yes"), method)
                self.assertEqual((answer.json["method"], answer.json["text"]), (method, (body or b"").decode()))
            head = self.request("HEAD", at + "/bytes/1234", connection=c)
            self.assertEqual((head.status, head.headers["Content-Length"], head.body), (200, "1234", b""))
            self.assertEqual(self.get(at + "/echo", connection=c).status, 200)

    def test_paths_and_queries_are_unchanged(self):
        at = self.serve()
        for path in ("/", "/a%2Fb/%2e%2E/c?x=1&y=%20z+w&x", "/echo//x/../y/./z", "/?", "/%00%ff", "/a;b=c,d:e@f!$'()*",
                     "/" + "long/" * 1000, "/s/other/9000/", "/echo?q=%"):
            with self.subTest(path=path[:50]):
                self.assertEqual(self.get(at + path).json["path"], path)
        self.assertEqual(self.get("/a/../b?c", headers={"Host": self.host()}).json["path"], "/a/../b?c")

    def test_headers(self):
        at = self.serve()
        sent = {"X-Own": "a  b", "Cookie": "a=b; c=d", "Accept-Encoding": "gzip", "User-Agent": "", "Range": "bytes=0-",
                "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "5", "TE": "trailers", "Proxy-Authorization": "x",
                "X-Forwarded-Prefix": "/mine", "X-Retort-Token": self.token, "Upgrade": "h2c", "HTTP2-Settings": "x"}
        c = self.server.connect()
        self.addCleanup(c.close)
        c.putrequest("POST", at + "/echo?x", skip_accept_encoding=True)
        for name, value in {**sent, "Content-Length": "2"}.items():
            c.putheader(name, value)
        c.endheaders(b"ok")
        got = json.loads(c.getresponse().read())
        self.assertEqual(got["text"], "ok")
        headers = dict(got["headers"])
        self.assertEqual(len(headers), len(got["headers"]))
        self.assertEqual(headers, {"Host": f"127.0.0.1:{self.server.port}", "X-Own": "a  b", "Cookie": "a=b; c=d",
                                   "Accept-Encoding": "gzip", "User-Agent": "", "Range": "bytes=0-", "Content-Length": "2",
                                   "X-Forwarded-Prefix": at})

    def test_statuses_without_a_body(self):
        at = self.serve()
        c = self.server.connect()
        self.addCleanup(c.close)
        for path, want in (("/status/204", (204, b"")), ("/status/304?ETag=x", (304, b"")), ("/status/200", (200, b"body")),
                           ("/status/500", (500, b"body")), ("/status/418", (418, b"body")), ("/bytes/0", (200, b""))):
            answer = self.get(at + path, connection=c)
            self.assertEqual((answer.status, answer.body), want)
            self.assertIsNotNone(c.sock, path)  # it was kept
        self.assertEqual(self.get(at + "/status/304?ETag=x", connection=c).headers["ETag"], "x")

    def test_keep_alive(self):
        """Answers of several requests on a connection come in their order, whole, and so do those that are sent at once."""
        at = self.serve()
        raw = self.raw(at + "/bytes/100000")
        raw.say(b"".join(f"{m} {at}{p} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n{h}\r\n{b}".encode()
                         for m, p, h, b in (("POST", "/echo", "Content-Length: 3\r\n", "abc"), ("HEAD", "/bytes/77", "", ""),
                                            ("GET", "/bytes/3000?chunked", "", ""), ("GET", "/status/204", "", ""))))
        self.assertEqual(len(raw.answer().body), 100000)
        self.assertEqual(raw.answer().json["text"], "abc")
        self.assertEqual(raw.answer(has_body=False).headers["Content-Length"], "77")
        self.assertEqual(raw.answer().body, PATTERN[:3000])
        self.assertEqual(raw.answer().status, 204)

    def test_large_bodies(self):
        """The bytes are exact both ways, and the engine's memory does not grow with them."""
        at = self.serve()
        self.get(at + "/bytes/1000000")
        before = self.memory()
        for path in (f"/bytes/{BIG}", f"/bytes/{BIG}?chunked"):
            _, answer = self.start("GET", at + path)
            digest = hashlib.sha256()
            while part := answer.read(MIB):
                digest.update(part)
            self.assertEqual(digest.hexdigest(), pattern_sha256(BIG), path)
        for headers in ({"Content-Length": str(BIG)}, {}):
            body = (PATTERN for _ in range(BIG // len(PATTERN)))
            answer = self.request("PUT", at + "/echo", body, headers).json
            self.assertEqual((answer["bytes"], answer["sha256"]), (BIG, pattern_sha256(BIG)))
        self.assertLess(self.memory() - before, 24 * MIB)

    def test_events_arrive_one_by_one(self):
        """The program sends an event when the last one was read."""
        at = self.serve()
        _, answer = self.start("GET", at + "/events")
        for i in range(5):
            self.assertEqual(answer.readline() + answer.readline(), b"data: %d\n\n" % i)
            self.get(at + f"/set/read-{i}")
        self.assertEqual(answer.read(), b"")

    def test_what_is_cut_off_is_an_error(self):
        at = self.serve()
        for path in ("/cut", "/cut?chunked"):
            _, answer = self.start("GET", at + path)
            with self.assertRaises((http.client.IncompleteRead, ConnectionError), msg=path):
                answer.read()

    def test_answer_before_the_end_of_the_body(self):
        at = self.serve()
        raw = self.raw(at + "/early", "POST", f"Content-Length: {4 * MIB}")
        done = []
        sender = threading.Thread(target=lambda: done.append(raw.say(bytes(4 * MIB))))
        sender.start()
        answer = raw.answer()
        sender.join(harness.TIMEOUT_S)
        self.assertEqual((answer.status, answer.body), (413, b"too large"))
        self.get(at + "/set/go-on")

    def test_answer_that_begins_before_the_end_of_the_body(self):
        """The program still gets all of the body."""
        at = self.serve()
        raw = self.raw(at + "/both", "POST", f"Content-Length: {4 * MIB}")
        raw.say(bytes(MIB))
        self.get(at + "/wait/both-began")
        raw.say(bytes(3 * MIB))
        self.assertEqual(raw.answer().body, b"begun %d" % (4 * MIB))

    def test_long_answer_before_the_end_of_a_long_body(self):
        """A program that does not read on before its answer is read gets an error, and the client does not wait for ever."""
        at = self.serve_raw("c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')\nwhile d := c.recv(65536): c.sendall(d)")
        raw = self.raw(at + "/", "POST", f"Content-Length: {64 * MIB}")
        with contextlib.suppress(OSError):
            for _ in range(64):
                raw.say(bytes(MIB))
        answer = raw.answer()
        self.assertEqual((answer.status, answer.json["error"]["code"]), (502, "limit"))

    def test_expect_continue(self):
        """curl waits for 100 before it sends the body."""
        at = self.serve()
        done = subprocess.run(
            ["curl", "-sS", "-H", "Expect: 100-continue", "--expect100-timeout", "100", "-H", f"Authorization: Bearer {self.token}",
             "--data-binary", "@-", f"http://127.0.0.1:{self.server.port}{at}/echo"],
            input=bytes(MIB), capture_output=True, check=True, timeout=harness.TIMEOUT_S)
        self.assertEqual(json.loads(done.stdout)["bytes"], MIB)

    def test_interim_responses_are_not_the_response(self):
        at = self.serve_raw("c.sendall(b'HTTP/1.1 103 Early Hints\\r\\nLink: x\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n"
                            "Content-Length: 2\\r\\n\\r\\nok')")
        answer = self.get(at + "/")
        self.assertEqual((answer.status, answer.body, answer.headers["Link"]), (200, b"ok", None))

    def test_bodies_that_end_with_the_connection(self):
        at = self.serve_raw("c.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + b'x' * 100000)")
        self.assertEqual(self.get(at + "/").body, b"x" * 100000)

    def test_trailers_do_not_harm(self):
        at = self.serve_raw("c.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\nTrailer: X-T\\r\\n\\r\\n"
                            "2\\r\\nok\\r\\n0\\r\\nX-T: 1\\r\\n\\r\\n')")
        self.assertEqual(self.get(at + "/").body, b"ok")


class Ways(http_box.Case):
    """Paths, hosts, tokens, redirects, cookies."""

    def test_open_and_list(self):
        at = self.serve()
        self.assertEqual(at, f"/s/{self.session}/8000")
        self.assertEqual(self.call("port.open", port=8000, listen="http"), {"port": 8000, "url_path": at + "/"})
        address = self.call("port.open", port=8000)["address"]
        path = self.call("port.open", port=8000, listen="unix")["path"]
        self.assertEqual(sorted(self.call("port.list")["ports"][0]["open"]), sorted([at + "/", address, path]))
        for options, name in ((["--unix-socket", path], "box"), ([], address)):
            done = subprocess.run(["curl", "-sS", *options, f"http://{name}/echo"], capture_output=True, check=True)
            self.assertEqual(json.loads(done.stdout)["path"], "/echo")
        self.assertEqual(self.call("port.close", port=8000), {"closed": 3})
        self.assertEqual(self.get(at + "/").status, 404)
        self.assertNotIn("open", self.call("port.list")["ports"][0])

    def test_callers_without_paths_may_open_for_http(self):
        self.token = http_box.BOB
        self.session = self.new_session()
        at = self.serve()
        self.assertEqual(self.get(at + "/echo").status, 200)
        with self.assertRaises(web.Failed) as caught:
            self.call("port.open", port=8000)
        self.assertEqual(caught.exception.code, "denied")

    def test_tokens(self):
        at = self.serve()
        for headers in (http_box.bearer(self.token), http_box.basic(self.token), {"X-Retort-Token": self.token}):
            for where in ({}, {"Host": self.host()}):
                answer = self.server.request("GET", "/echo" if where else at + "/echo", headers={**headers, **where})
                self.assertEqual(answer.status, 200, headers)
                self.assertNotIn("Authorization", dict(answer.json["headers"]))
                self.assertNotIn("X-Retort-Token", dict(answer.json["headers"]))
        for headers in ({}, http_box.bearer("x" * 32), http_box.basic("x" * 32), {"X-Retort-Token": "x" * 32},
                        {"Authorization": "Basic !"}, {"Authorization": "Digest x"}):
            answer = self.server.request("GET", at + "/echo", headers=headers)
            self.assertEqual(answer.status, 401, headers)
            self.assertRegex(str(answer.headers.get_all("WWW-Authenticate")), "Bearer.*Basic")
        self.assertEqual(self.server.request("GET", at + "/echo", headers=http_box.bearer(http_box.BOB)).status, 404)
        answer = self.server.post(web.question("session.list"), http_box.basic(self.token))
        self.assertEqual(answer.status, 401)

    def test_a_program_has_an_authorization_of_its_own(self):
        at = self.serve()
        answer = self.server.request("GET", at + "/echo", headers={"X-Retort-Token": self.token, "Authorization": "Basic bWU6eW91"})
        self.assertEqual(dict(answer.json["headers"])["Authorization"], "Basic bWU6eW91")

    def test_redirects(self):
        at = self.serve()
        port = self.server.port
        for to, want in (("/login", at + "/login"), ("login?x", "login?x"), ("//example.org/", "//example.org/"),
                         (f"http://127.0.0.1:{port}/a", at + "/a"), ("https://example.org/", "https://example.org/"),
                         (f"http://127.0.0.1:{port}1/a", f"http://127.0.0.1:{port}1/a")):
            self.assertEqual(self.get(at + "/go-to?to=" + to.replace("?", "%3F")).headers["Location"], want)
        answer = self.get("/go-to?to=/login", headers={"Host": self.host()})
        self.assertEqual(answer.headers["Location"], "/login")
        answer = self.get(at)
        self.assertEqual((answer.status, answer.headers["Location"]), (308, at + "/"))

    def test_cookies(self):
        """A cookie of a program comes back to its port only."""
        at = self.serve()
        cookie = "a=b; path=/; DOMAIN=localhost; HttpOnly; SameSite=Lax".replace(";", "%3B").replace(" ", "%20")
        answer = self.get(at + "/go-to?to=x&cookie=" + cookie)
        self.assertEqual(answer.headers["Set-Cookie"], f"a=b; HttpOnly; SameSite=Lax; Path={at}/")
        answer = self.get("/go-to?to=x&cookie=" + cookie, headers={"Host": self.host()})
        self.assertEqual(answer.headers["Set-Cookie"], "a=b; path=/; HttpOnly; SameSite=Lax")

    def test_pages_below_a_path_have_no_origin(self):
        at = self.serve()
        for path in ("/echo", "/status/404", "/status/200?Content-Security-Policy=default-src+*"):
            policies = self.get(at + path).headers.get_all("Content-Security-Policy")
            self.assertRegex(policies[-1], "^sandbox allow-scripts")
            self.assertNotIn("allow-same-origin", policies[-1])
        self.assertIsNone(self.get("/echo", headers={"Host": self.host()}).headers["Content-Security-Policy"])

    def test_a_session_has_a_host(self):
        self.serve()
        self.assertEqual(self.get("/rpc", headers={"Host": self.host()}).json["path"], "/rpc")
        self.assertEqual(self.get("/healthz", headers={"Host": self.host().replace("local", "LOCAL")}).json["path"], "/healthz")
        self.assertEqual(self.get("/", headers={"Host": self.host(port=8001)}).status, 404)
        self.assertEqual(self.get("/", headers={"Host": self.host(session="nobody")}).status, 404)
        self.assertEqual(self.get("/", headers={"Host": f"8000-{self.session}.example.org"}).status, 403)

    def test_undo_leads_to_the_new_box(self):
        self.call("step.run", code="1")
        self.call("step.run", code="import subprocess; p = subprocess.Popen(['/usr/bin/python3', '-m', 'http.server', '8000'],"
                                   "stderr=subprocess.DEVNULL)")
        at = self.open()
        self.assertEqual(self.get(at + "/").status, 200)
        self.call("session.undo", count=1)
        self.assertEqual(self.get(at + "/").status, 502)
        self.serve()
        self.assertEqual(self.get(at + "/echo").json["path"], "/echo")

    def test_a_branch_has_no_open_port(self):
        self.call("step.run", code="1")
        at = self.open(early=True)
        twin = self.call("session.branch")["session"]
        self.addCleanup(self.rpc, "session.close", session=twin)
        self.assertEqual(self.get(at.replace(self.session, twin) + "/").status, 404)


class Failures(http_box.Case):
    """Programs and clients that stop, go away, or talk nonsense."""

    def test_no_port(self):
        for path in ("/s/nobody/8000/", f"/s/{self.session}/8000/", f"/s/{self.session}/0/", f"/s/{self.session}/65536/",
                     f"/s/{self.session}/x/", f"/s/{self.session}/", f"/s/{self.session}", "/s/", "/s//8000/"):
            answer = self.get(path)
            self.assertEqual((answer.status, answer.json["error"]["code"] in ("not_found", "usage")), (404, True), path)
        self.assertEqual(self.get("/s").status, 404)
        self.assertEqual(self.get("/s/" + "x" * 200 + "/8000/").status, 404)

    def test_nothing_listens(self):
        at = self.open(8000, early=True)
        self.assertEqual(self.get(at + "/").status, 502)
        self.assertEqual(self.request("POST", at + "/", bytes(MIB)).status, 502)
        self.serve()
        self.assertEqual(self.get(at + "/echo").status, 200)

    def test_no_http(self):
        for i, said in enumerate((b"", b"220 mail\\r\\n", b"HTTP/1.1 abc\\r\\n\\r\\n", b"\\0" * 1000, b"HTTP/1.1 200 OK\\r\\nno colon",
                                  b"SSH-2.0-x\\r\\n")):
            with self.subTest(said=said):
                at = self.serve_raw(f"c.sendall(b'{said.decode()}')", port=9000 + i)
                self.assertEqual(self.get(at + "/").status, 502)

    def test_client_goes_away(self):
        """While it reads, while it sends, and while it waits: the program notices each time."""
        for path, method in (("/endless", "GET"), ("/upload", "POST"), ("/never", "GET")):
            for leave in (reset, socket.socket.close):
                with self.subTest(path=path, leave=leave.__name__):
                    at = self.serve_session()
                    raw = self.raw(at + path, method, *(["Content-Length: 1000000"] if method == "POST" else []))
                    if method == "POST":
                        raw.say(bytes(100000))
                        self.get(at + "/wait/body-began")
                    elif path == "/endless":
                        raw.answer_head = raw.file.readline()
                    else:
                        self.get(at + "/wait/asked")
                    raw.file.close()
                    leave(raw.sock)
                    self.assertEqual(self.get(at + "/wait/gone").body, b"set")

    def test_methods_that_are_none_of_the_program(self):
        at = self.serve()
        raw = self.raw(at + "/", "CONNECT")
        self.assertEqual(raw.answer().status, 405)

    def serve_session(self):
        self.session = self.new_session()
        return self.serve()

    def test_client_that_reads_slowly(self):
        """Others are served meanwhile, and the engine's memory has a bound."""
        at = self.serve()
        self.get(at + "/echo")
        before = self.memory()
        lazy = [self.raw(at + "/endless", buffer_bytes=4096) for _ in range(10)]
        for raw in lazy:
            self.assertIn(b"200", raw.file.readline())
        self.assertEqual(len(self.get(at + f"/bytes/{5 * MIB}").body), 5 * MIB)
        self.assertEqual(self.call("step.run", code="6 * 7")["value"]["text/plain"], "42")
        self.assertLess(self.memory() - before, 48 * MIB)

    def test_program_that_does_not_read(self):
        at = self.serve_raw("threading.Event().wait()")
        other = self.serve()
        before = self.memory()
        for _ in range(10):
            raw = self.raw(at + "/", "POST", f"Content-Length: {1 << 40}")
            raw.sock.setblocking(False)
            try:
                while True:
                    raw.sock.send(bytes(MIB))
            except BlockingIOError:
                pass
        self.assertEqual(self.get(other + "/echo").status, 200)
        self.assertLess(self.memory() - before, 32 * MIB)

    def test_a_hundred_at_once(self):
        at = self.serve()
        held = [self.raw(at + "/wait/all") for _ in range(100)]
        other = self.open(8001, early=True)
        self.assertTrue(web.wait(lambda: self.get(at + "/echo").status == 503))
        answer = self.get(at + "/echo")
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
        self.assertEqual(self.get(other + "/").status, 502)  # the limit is one port's
        held.pop().close()
        self.assertTrue(web.wait(lambda: self.get(at + "/set/all").status == 200))
        for raw in held:
            self.assertEqual(raw.answer().body, b"set")
        self.assertEqual(self.get(at + "/echo").status, 200)

    def test_port_is_closed(self):
        """Requests that wait get 502, responses that have begun are cut, and new ones get 404."""
        at = self.serve()
        waiting, begun = self.raw(at + "/never"), self.raw(at + "/endless")
        self.get(at + "/wait/asked")
        self.assertIn(b"200", begun.file.readline())
        self.call("port.close", port=8000)
        self.assertEqual(waiting.answer().status, 502)
        self.assertTrue(begun.is_closed())
        self.assertEqual(self.get(at + "/echo").status, 404)

    def test_session_is_closed(self):
        at = self.serve()
        waiting, begun = self.raw(at + "/never"), self.raw(at + "/endless")
        self.get(at + "/wait/asked")
        self.assertIn(b"200", begun.file.readline())
        self.call("session.close")
        self.assertEqual(waiting.answer().status, 502)
        self.assertTrue(begun.is_closed())
        answer = self.get(at + "/echo")
        self.assertEqual((answer.status, answer.json["error"]["code"]), (410, "gone"))

    def test_program_ends(self):
        at = self.serve()
        waiting = self.raw(at + "/never")
        self.get(at + "/wait/asked")
        for p in self.call("process.list")["processes"]:
            self.call("process.signal", process=p["process"], signal="KILL")
        self.assertEqual(waiting.answer().status, 502)


@unittest.skipUnless(http_box.websockets, "python3-websockets is missing")
class Sockets(http_box.Case):
    """WebSockets, with clients and servers that know nothing of retort."""

    ECHO = r'''
import asyncio, websockets, json
async def go(w, *_):
    if w.path == "/close": await w.close(4321, "because"); return
    if w.path == "/headers": await w.send(json.dumps(list(w.request_headers.raw_items()))); return
    async for m in w: await w.send(m)
async def main():
    async with websockets.serve(go, "127.0.0.1", 9000, max_size=None, subprotocols=["x", "y"]): await asyncio.Future()
asyncio.run(main())
'''
    NODE = r'''
const { WebSocketServer } = require("/usr/share/nodejs/ws");
new WebSocketServer({ port: 9001, host: "127.0.0.1", perMessageDeflate: true, maxPayload: 1 << 30 })
  .on("connection", (w) => w.on("message", (data, isBinary) => w.send(data, { binary: isBinary })));
'''
    NODE_CLIENT = r'''
const { WebSocket } = require("/usr/share/nodejs/ws");
const w = new WebSocket(process.argv[1], ["y"], { headers: { Authorization: "Bearer " + process.argv[2] }, perMessageDeflate: true });
const big = "z".repeat(5000000);
w.on("open", () => { console.log(w.protocol, w.extensions); w.ping("p"); });
w.on("pong", (data) => { console.log("pong", data.toString()); w.send(big); });
w.on("message", (data) => { console.log(data.toString() === big); w.close(4000, "done"); });
w.on("close", (code) => console.log("close", code));
w.on("error", (e) => { console.log("error", e.message); process.exit(1); });
'''

    async def talk(self, w):
        for message in ("text \u2603", b"\0\xff", "", b"x" * 5_000_000, "y" * 5_000_000):
            await w.send(message)
            self.assertEqual(await w.recv(), message)
        await (await w.ping("are you there"))

    @http_box.run
    async def test_python(self):
        at = self.serve(9000, self.ECHO)
        for compression in (None, "deflate"):
            async with self.ws(at + "/chat?x=1", subprotocols=["x"], max_size=None, compression=compression) as w:
                self.assertEqual((w.subprotocol, bool(w.extensions)), ("x", bool(compression)))
                await self.talk(w)
        async with self.ws(at + "/close") as w:
            with self.assertRaises(http_box.websockets.ConnectionClosed):
                await w.recv()
            self.assertEqual((w.close_code, w.close_reason), (4321, "because"))

    @http_box.run
    async def test_use_keeps_the_session(self):
        """What moves on an open connection counts as use, also when nobody connects anew."""
        idle = 3
        self.session = self.new_session(idle_ms=idle * 1000)
        at = self.serve(9000, self.ECHO)
        async with self.ws(at + "/") as w:
            end = time.monotonic() + 4 * idle
            while time.monotonic() < end:
                await w.send("still here")
                self.assertEqual(await w.recv(), "still here")
                await asyncio.sleep(0.1)
            self.assertNotEqual(self.call("session.get")["state"], "closed")
            await w.wait_closed()  # and silence ends it
        self.assertEqual(self.call("session.get")["state"], "closed")

    @http_box.run
    async def test_a_token_that_a_page_can_send(self):
        """The subprotocol with the token is not passed on, the others are."""
        at = self.serve(9000, self.ECHO)
        async with self.ws(at + "/headers", {}, subprotocols=["z", http_box.protocol(self.token), "y"]) as w:
            self.assertEqual(w.subprotocol, "y")
            headers = dict(json.loads(await w.recv()))
        self.assertEqual(headers["Sec-WebSocket-Protocol"], "z, y")
        async with self.ws(at + "/headers", {}, subprotocols=[http_box.protocol(self.token)]) as w:
            self.assertNotIn("Sec-WebSocket-Protocol", dict(json.loads(await w.recv())))

    @http_box.run
    async def test_node_as_server(self):
        if not os.path.exists("/usr/share/nodejs/ws"):
            self.skipTest("node-ws is missing")
        self.call("process.start", argv=["node", "-e", self.NODE])
        at = self.open(9001)
        async with self.ws(at + "/", max_size=None) as w:
            self.assertTrue(w.extensions)
            await self.talk(w)

    def test_node_as_client(self):
        if not os.path.exists("/usr/share/nodejs/ws"):
            self.skipTest("node-ws is missing")
        at = self.serve(9000, self.ECHO)
        done = subprocess.run(["node", "-e", self.NODE_CLIENT, f"ws://127.0.0.1:{self.server.port}{at}/", self.token],
                              capture_output=True, text=True, timeout=harness.TIMEOUT_S, check=False)
        self.assertEqual(done.stdout.splitlines(), ["y permessage-deflate", "pong p", "true", "close 4000"], done.stderr)

    @http_box.run
    async def test_by_host(self):
        self.serve(9000, self.ECHO)
        async with http_box.connect(f"ws://{self.host(9000)}/chat", http_box.bearer(self.token), host="127.0.0.1",
                                    origin=f"http://{self.host(9000)}") as w:
            await w.send("x")
            self.assertEqual(await w.recv(), "x")

    @http_box.run
    async def test_refused_by_the_program(self):
        """A response that is no 101 is passed on as it is."""
        at = self.serve()
        with self.assertRaises(http_box.websockets.InvalidStatusCode) as caught:
            async with self.ws(at + "/status/403"):
                pass
        self.assertEqual(caught.exception.status_code, 403)

    def test_bytes_behind_the_handshake(self):
        """What each side sends at once with its part of the handshake arrives, and so does an end."""
        at = self.serve_raw("c.sendall(b'HTTP/1.1 101 x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\nfirst')\n"
                            "c.sendall(c.recv(100)); c.recv(1)")
        raw = self.raw(at + "/", "GET", "Upgrade: websocket", "Connection: keep-alive, Upgrade", "Sec-WebSocket-Version: 13",
                       "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
        self.assertIn(b"101", raw.file.readline())
        self.assertEqual(http.client.parse_headers(raw.file)["Connection"].lower(), "upgrade")
        self.assertEqual(raw.file.read(5), b"first")
        raw.say(b"second")
        self.assertEqual(raw.file.read(6), b"second")
        raw.sock.shutdown(socket.SHUT_WR)
        self.assertEqual(raw.file.read(), b"")

    @http_box.run
    async def test_port_is_closed(self):
        at = self.serve(9000, self.ECHO)
        async with self.ws(at + "/") as w:
            await w.send("x")
            self.assertEqual(await w.recv(), "x")
            self.call("port.close", port=9000)
            with self.assertRaises(http_box.websockets.ConnectionClosed):
                await w.recv()


class Patient(http_box.OwnEngine, http_box.Case):
    """No idle client is disconnected, so that only what is looked for ends a request."""

    OPTIONS = ("--grace", "0s", "--idle-timeout", "1h", "--request-timeout", "1h")

    def test_client_leaves_with_its_last_bytes(self):
        """The end comes together with a part of the body: the engine ends the request too."""
        at = self.serve()
        left = []
        for body in (b"5\r\nhello\r\n", b"hello"):
            head = "Transfer-Encoding: chunked" if b"\r" in body else "Content-Length: 100"
            for _ in range(10):
                raw = self.server.raw()
                self.addCleanup(raw.close)
                raw.say(f"POST {at}/upload HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n{head}\r\n\r\n".encode() + body)
                raw.sock.shutdown(socket.SHUT_WR)
                left.append(raw)
        # The sockets stay open here: the kernel would end what is closed on both sides after a minute.
        for raw in left:
            self.assertEqual(raw.file.read(), b"")


@unittest.skipUnless(http_box.websockets, "python3-websockets is missing")
class Stops(http_box.OwnEngine, http_box.Case):
    """The engine ends."""

    @http_box.run
    async def test_websockets_do_not_hold_it_up(self):
        at = self.serve(9000, Sockets.ECHO)
        async with self.ws(at + "/") as w:
            await w.send("x")
            self.assertEqual(await w.recv(), "x")
            self.server.process.send_signal(signal.SIGTERM)
            with self.assertRaises(http_box.websockets.ConnectionClosed):
                await w.recv()
        self.assertEqual(self.server.stop(), 0)

    def test_requests_end(self):
        at = self.serve()
        waiting = self.raw(at + "/never")
        self.get(at + "/wait/asked")
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(waiting.answer().status, 503)
        self.assertEqual(self.server.stop(), 0)


class Servers(http_box.Case):
    """Servers that nobody here wrote."""

    def test_python(self):
        self.call("step.run", code="open('hello.txt', 'w').write('hello from the box')")
        self.call("process.start", argv=["/usr/bin/python3", "-m", "http.server", "8000", "--bind", "127.0.0.1"])
        at = self.open()
        done = subprocess.run(["curl", "-sS", "-L", "-u", f"me:{self.token}", f"http://127.0.0.1:{self.server.port}{at}/hello.txt"],
                              capture_output=True, check=True)
        self.assertEqual(done.stdout, b"hello from the box")
        self.assertEqual(self.get(at + "/nope").status, 404)

    def test_node(self):
        self.call("process.start", argv=["node", "-e", """
            require("http").createServer((q, a) => { a.setHeader("X-Path", q.url); q.pipe(a); }).listen(8000, "127.0.0.1")"""])
        at = self.open()
        answer = self.request("POST", at + "/a?b", PATTERN * 8)
        self.assertEqual((answer.headers["X-Path"], answer.body == PATTERN * 8), ("/a?b", True))


if __name__ == "__main__":
    harness.main()
