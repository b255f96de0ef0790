# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the front "jupyter": its tokens in URLs, and its WebSockets."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import notebook_client as client  # noqa: E402
import web  # noqa: E402
from notebook_client import Channel, ask, make, value  # noqa: E402

IDENTITY = "user"
ANN, BOB = "ann-" + "a" * 28, "bob-" + "b" * 28
TOKENS = f"ann {ANN}\nbob {BOB}\n"
EVIL = "https://evil.example"
FRAME_BYTES = 10 << 20
MEMORY_BYTES = 400 << 20


class Callers(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "jupyter", "--front", "dify", tokens=TOKENS)
        cls.kernel = make(cls.server, ANN)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_T_JUPYTER_TOKEN_in_the_url(self):
        """Use a token of the URL, or of a cookie, where clients send none, or find it in the log."""
        paths = ("/api/kernels", "/api/nothing", "/jupyter/api/kernels/x", f"/api/kernels/{self.kernel}/channels")
        for path in paths:
            self.assertIn(ask(self.server, "GET", f"{path}?token={ANN}").status, (200, 404, 426), path)
            self.assertIn(ask(self.server, "GET", f"{path}?token={ANN}x").status, (401,), path)
        call = web.question("engine.info")
        for path, body in (("/rpc", call), ("/mcp", call), ("/v1/sandbox/run", b'{"language": "python3", "code": "1"}'),
                           ("/dify/v1/sandbox/run", b'{"language": "python3", "code": "1"}')):
            for headers in ({}, {"Cookie": f"_xsrf=x; jupyter-token={ANN}", "X-XSRFToken": "x"},
                            {"Authorization": f"token {ANN}"}):
                answer = self.server.request("POST", f"{path}?token={ANN}", body, {**web.JSON, **headers})
                self.assertEqual(answer.status, 401, (path, headers))
        self.server.request("POST", "/login", f"_xsrf=x&password={ANN}", {"Cookie": "_xsrf=x"})
        with Channel(self.server, self.kernel, query=f"token={ANN}") as channel:
            self.assertEqual(value(channel.run("1")), ["1"])
            channel.frame(client.TEXT, b"no message")
            with self.assertRaises(client.Closed):
                channel.until(lambda m: False)
        said = self.server.wait_for("channels")
        self.assertNotIn(ANN[4:], said)

    def test_T_JUPYTER_KERNEL_of_another_caller(self):
        """Find, use or end a kernel of ann as bob, who knows its id."""
        kernel = self.kernel
        for at in ("", "/jupyter"):
            for method, path in (("GET", f"/api/kernels/{kernel}"), ("DELETE", f"/api/kernels/{kernel}"),
                                 ("POST", f"/api/kernels/{kernel}/interrupt"), ("GET", f"/api/contents/{kernel}"),
                                 ("POST", f"/api/kernels/{kernel}/restart"), ("GET", f"/api/contents/{kernel}/a"),
                                 ("DELETE", f"/api/contents/{kernel}/a")):
                self.assertEqual(ask(self.server, method, at + path, token=BOB).status, 404, path)
            for body in ({"path": "x", "type": "y", "kernel": {"id": kernel}},):
                self.assertEqual(ask(self.server, "POST", f"{at}/api/sessions", body, BOB).status, 404)
            put = {"type": "file", "format": "text", "content": "x"}
            self.assertEqual(ask(self.server, "PUT", f"{at}/api/contents/{kernel}/a", put, BOB).status, 404)
            with Channel(self.server, kernel, token=BOB, at=at) as channel:
                self.assertEqual(channel.status, 404)
        session = ask(self.server, "POST", "/api/sessions", {"path": "x", "type": "y", "kernel": {"id": kernel}}, ANN).json
        for method in ("GET", "DELETE", "PATCH"):
            body = {} if method == "PATCH" else None
            self.assertEqual(ask(self.server, method, f"/api/sessions/{session['id']}", body, BOB).status, 404)
        for path in ("/api/kernels", "/api/sessions"):
            self.assertEqual(ask(self.server, "GET", path, token=BOB).json, [])
        self.assertEqual(ask(self.server, "GET", "/api/status", token=BOB).json["kernels"], 0)
        self.assertEqual(ask(self.server, "GET", f"/api/kernels/{kernel}", token=ANN).status, 200)

    def test_T_JUPYTER_FILES_of_the_host(self):
        """Read or write beside the workspace by a path."""
        for path in ("..%2f..%2f..%2fetc%2fpasswd", "../../../etc/passwd", "%2fetc%2fpasswd", "a%00b", "link/passwd"):
            with Channel(self.server, self.kernel, token=ANN) as channel:
                channel.run("import os\nos.path.lexists('link') or os.symlink('/etc', 'link')")
            for method, body in (("GET", None), ("PUT", {"type": "file", "content": "x"}), ("DELETE", None)):
                answer = ask(self.server, method, f"/api/contents/{self.kernel}/{path}", body, ANN)
                self.assertIn(answer.status, (400, 403, 404), (method, path))
                self.assertNotIn(b"root:", answer.body)


class Page(harness.Case):
    """A page of another site, in the browser of somebody who can reach an engine without tokens, or is logged in."""

    def test_T_JUPYTER_PAGE_opens_no_socket(self):
        """Open a WebSocket of a kernel, make one or end one, from a page of another site."""
        with web.Server("--front", "jupyter") as server:
            kernel = make(server)
            for origin in (EVIL, "null", f"http://localhost:{server.port + 1}", f"http://127.0.0.1:{server.port}"):
                with Channel(server, kernel, headers={"Origin": origin}) as channel:
                    self.assertEqual(channel.status, 403, origin)
            for headers in ({"Origin": EVIL}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Referer": EVIL}):
                for path in ("/api/kernels", f"/api/kernels/{kernel}/interrupt", f"/api/kernels/{kernel}/restart"):
                    self.assertIn(server.request("POST", path, headers=headers).status, (403, 415), (headers, path))
            self.assertEqual(len(ask(server, "GET", "/api/kernels").json), 1)

    def test_T_JUPYTER_COOKIE_is_not_enough(self):
        """Use the cookies that a browser adds by itself: they count only with a header that no page can send."""
        with web.Server("--front", "jupyter", tokens=TOKENS) as server:
            kernel = make(server, ANN)
            cookies = {"Cookie": f"_xsrf=known; jupyter-token={ANN}"}
            two = {"Cookie": f"_xsrf=known; _xsrf=other; jupyter-token={ANN}", "X-XSRFToken": "other"}
            for headers in (cookies, {**cookies, "X-XSRFToken": ""}, {**cookies, "X-XSRFToken": "guess"}, two):
                self.assertEqual(ask(server, "GET", "/api/kernels", **headers).status, 401)
                with Channel(server, kernel, headers=headers) as channel:
                    self.assertEqual(channel.status, 401)


class Flood(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = web.Server("--front", "jupyter")
        self.addCleanup(self.server.stop)

    def test_T_JUPYTER_FLOOD_of_messages(self):
        """Send requests faster than they are answered, and read nothing: the client is not read any more."""
        kernel = make(self.server)
        with Channel(self.server, kernel) as busy:
            busy.send(client.execute("while True: pass"))
            busy.until(lambda m: m["msg_type"] == "execute_input")
            busy.raw.sock.settimeout(3)
            said = client.execute("'" + "x" * (1 << 20) + "'")
            with self.assertRaises(TimeoutError):
                for _ in range(2000):
                    busy.send(said)
            self.assertLess(self.server.memory_bytes(), MEMORY_BYTES)
            self.assertEqual(ask(self.server, "GET", "/api/status").status, 200)
            self.assertEqual(ask(self.server, "DELETE", f"/api/kernels/{kernel}").status, 204)

    def test_T_JUPYTER_FLOOD_of_output(self):
        """Show much and read nothing: the client is disconnected."""
        kernel = make(self.server)
        with Channel(self.server, kernel) as deaf, Channel(self.server, kernel) as other:
            for _ in range(30):
                other.run("from IPython.display import display\ndisplay({'text/plain': 'x' * 5000000}, raw=True)")
            self.assertLess(self.server.memory_bytes(), MEMORY_BYTES)
            # it was after some of the cells, and not because of its silence
            self.assertEqual(ask(self.server, "GET", f"/api/kernels/{kernel}").json["connections"], 1)
            self.assertTrue(deaf.raw.is_closed())

    def test_T_JUPYTER_FRAME_too_large(self):
        """Send a message that is too long, whole, in pieces, or only announced."""
        kernel = make(self.server)
        for is_v1 in (False, True):
            with Channel(self.server, kernel, v1=is_v1) as channel:
                channel.raw.say(b"\x82\xff" + (1 << 40).to_bytes(8, "big") + bytes(5))
                with self.assertRaises(client.Closed) as caught:
                    channel.next()
                self.assertEqual(caught.exception.code, 1009)
        with Channel(self.server, kernel) as channel:
            with self.assertRaises((client.Closed, ConnectionError)):
                for i in range(24):
                    channel.frame(client.TEXT if i == 0 else 0, b" " * (1 << 19), is_last=False)
                channel.next()
        with Channel(self.server, kernel) as channel:  # many values in few bytes
            channel.frame(client.TEXT, b'{"header": [' + b"0," * 2000000 + b"0]}")
            with self.assertRaises(client.Closed) as caught:
                channel.next()
            self.assertEqual(caught.exception.code, 1008)
        self.assertLess(self.server.memory_bytes(), MEMORY_BYTES)
        with Channel(self.server, kernel) as channel:
            self.assertEqual(value(channel.run("1")), ["1"])

    def test_T_JUPYTER_FLOOD_of_sockets(self):
        """Open more WebSockets at a kernel than it takes."""
        kernel = make(self.server)
        channels = [Channel(self.server, kernel) for _ in range(18)]
        self.assertEqual({c.status for c in channels[:16]}, {101})
        self.assertEqual(channels[-1].status, 503)
        for channel in channels:
            channel.raw.close()
        with Channel(self.server, make(self.server)) as channel:
            self.assertEqual(value(channel.run("1")), ["1"])


class Absent(harness.Case):
    def test_T_JUPYTER_ABSENT_is_not_there(self):
        """Reach kernels of an engine that serves another front."""
        with web.Server("--front", "dify", tokens=TOKENS) as server:
            for path in ("/api/kernels", "/jupyter/api/kernels", "/login"):
                self.assertEqual(ask(server, "POST", path, {}, ANN).status, 404)
                self.assertEqual(ask(server, "POST", f"{path}?token={ANN}", {}).status, 401)
                self.assertNotIn("kernels", json.dumps(ask(server, "GET", path, token=ANN).json))


if __name__ == "__main__":
    harness.main()
