# SPDX-License-Identifier: Apache-2.0
"""`retort tools` with servers over HTTP: both eras, sessions, streams that break off, and what is no server."""

import http.server
import json
import os
import queue
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
TOOL = {"name": "add", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}


def result(request, value):
    return {"jsonrpc": "2.0", "id": request["id"], "result": value}


def event(message, number=None, retry=None):
    head = (f"id: {number}\n" if number else "") + (f"retry: {retry}\n" if retry else "")
    return f"{head}data: {json.dumps(message) if message else ''}\n\n".encode()


class Plain:
    """What a well-behaved server of an era answers; tests change one thing each."""

    era = LEGACY
    session = None

    def __init__(self):
        self.asked = []  # (HTTP method, headers, message)

    def answer(self, method, headers, message):
        """(status, headers, body)"""
        self.asked.append((method, headers, message))
        if method != "POST":
            return self.other(method, headers)
        if "method" not in message:
            return self.answered(message)
        if "id" not in message:
            return 202, {}, b""
        handler = getattr(self, message["method"].replace("/", "_"), None)
        return handler(headers, message) if handler else self.refuse(message)

    def other(self, _method, _headers):
        return 405, {}, b""

    def answered(self, _message):
        return 202, {}, b""

    def refuse(self, message, status=400, code=-32601):
        return self.json({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "no"}}, status)

    @staticmethod
    def json(message, status=200, **headers):
        return status, {"Content-Type": "application/json", **headers}, json.dumps(message).encode()

    @staticmethod
    def stream(*events):
        return 200, {"Content-Type": "text/event-stream"}, b"".join(events)

    def initialize(self, _headers, message):
        more = {"Mcp-Session-Id": self.session} if self.session else {}
        value = {"protocolVersion": LEGACY, "capabilities": {}, "serverInfo": {"name": "h", "version": "1"}}
        return self.json(result(message, value), **more)

    def tools_list(self, _headers, message):
        return self.json(result(message, {"tools": [TOOL]}))

    def tools_call(self, _headers, message):
        return self.json(result(message, {"content": [{"type": "text", "text": "three"}]}))

    def methods(self):
        return [m["method"] for how, _, m in self.asked if how == "POST" and "method" in m]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            status, headers, data = self.server.script.answer(
                self.command, self.headers, json.loads(body) if body else None)
        if not isinstance(data, bytes):
            self.pour(status, headers, data)
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def pour(self, status, headers, pieces):
        """Headers at once, pieces as they come, the end of the connection; without a status, headers never."""
        self.close_connection = True
        if status:
            self.send_response(status)
            for name, value in {"Content-Type": "text/event-stream", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)

    do_GET = do_DELETE = do_POST  # noqa: N815

    def log_message(self, *args):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """Who hangs up is what some tests are about."""


def talk(script, *args, headers=None, **server):
    """`retort tools ARGS…` with a server that answers as @script does."""
    with Quiet(("127.0.0.1", 0), Handler) as listening:
        listening.script, listening.lock = script, threading.Lock()
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            path = os.path.join(harness.make_dir(), "mcp.json")
            one = {"type": "http", "url": f"http://127.0.0.1:{listening.server_address[1]}/mcp", **server}
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"servers": {"h": {**one, "headers": headers or {}}}}, f)
            return harness.retort("tools", *(args or ("call", "h.add")), "--mcp-config", path)
        finally:
            listening.shutdown()
            thread.join()


class Eras(harness.Case):
    def test_a_legacy_server_is_found_by_probing(self):
        script = Plain()
        done = talk(script, headers={"X-Key": "k"})
        self.assertEqual((done.status, done.out, done.err), (0, "three\n", ""))
        self.assertEqual(script.methods(), ["server/discover", "initialize", "notifications/initialized",
                                            "tools/list", "tools/call"])
        self.assertEqual(script.asked[0][1]["Mcp-Method"], "server/discover")
        self.assertIsNone(script.asked[1][1]["MCP-Protocol-Version"])
        self.assertEqual(script.asked[3][1]["MCP-Protocol-Version"], LEGACY)
        self.assertEqual({headers["X-Key"] for _, headers, _ in script.asked}, {"k"})

    def test_what_tells_of_the_older_era_and_what_does_not(self):
        class Says(Plain):
            def __init__(self, status, body):
                super().__init__()
                self.said = status, {"Content-Type": "text/plain"}, body

            def server_discover(self, _headers, _message):
                return self.said

        modern_error = b'{"jsonrpc": "2.0", "id": 0, "error": {"code": -32021, "message": "no sampling"}}'
        for status, body, want in ((404, b"not here", 0), (405, b"", 0), (400, b"what?", 0), (401, b"", 3), (403, b"", 3),
                                   (500, b"oh", 4), (302, b"", 4), (400, modern_error, 4)):
            with self.subTest(status=status, body=body):
                done = talk(Says(status, body))
                self.assertEqual(done.status, want, done)
                if want:
                    self.assertIn("server h: ", done.err)

    def test_a_modern_server(self):
        class Modern(Plain):
            def server_discover(self, _headers, message):
                return self.json(result(message, {"supportedVersions": [MODERN], "resultType": "complete"}))

            def tools_call(self, headers, message):
                meta = message["params"]["_meta"]
                token = meta["progressToken"]
                news = {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
                assert headers["Mcp-Name"] == "add" and headers["Mcp-Method"] == "tools/call"
                assert meta["io.modelcontextprotocol/protocolVersion"] == headers["MCP-Protocol-Version"] == MODERN
                assert meta["io.modelcontextprotocol/clientCapabilities"] == {"elicitation": {}}
                value = {"content": [{"type": "text", "text": "x"}], "resultType": "complete"}
                return self.stream(event(news), event(result(message, value)))

        for protocol in ("auto", "modern"):
            script = Modern()
            done = talk(script, protocol=protocol)
            self.assertEqual((done.status, done.out), (0, "x\n"), done)
            self.assertEqual(script.methods(), ["server/discover", "tools/list", "tools/call"])
        self.assertEqual(talk(Plain(), protocol="modern").status, 4)
        self.assertNotIn("server/discover", self.legacy_only())

    def legacy_only(self):
        script = Plain()
        self.assertEqual(talk(script, protocol="legacy").status, 0)
        return script.methods()

    def test_retort_serve(self):
        with web.Server() as server:
            path = os.path.join(harness.make_dir(), "mcp.json")
            for protocol in ("auto", "legacy", "modern"):
                with open(path, "w", encoding="utf-8") as f:
                    json.dump({"mcpServers": {"me": {"url": f"http://127.0.0.1:{server.port}/mcp", "protocol": protocol}}}, f)
                with self.subTest(protocol=protocol):
                    done = harness.retort("tools", "call", "--yes", "--mcp-config", path, "me.run_code",
                                          '{"code": "6 * 7"}')
                    self.assertEqual(done.status, 0, done)
                    self.assertIn("value: 42", done.out)


class Sessions(harness.Case):
    def test_a_session_is_named_and_ended(self):
        script = Plain()
        script.session = "s-1"
        self.assertEqual(talk(script, protocol="legacy").status, 0)
        ids = [headers["Mcp-Session-Id"] for _, headers, _ in script.asked]
        self.assertEqual(ids, [None, "s-1", "s-1", "s-1", "s-1", "s-1"])
        self.assertEqual(script.asked[-1][0], "DELETE")

    def test_a_session_that_is_forgotten_begins_anew(self):
        class Forgetful(Plain):
            session = "s-1"

            def tools_call(self, headers, message):
                if headers["Mcp-Session-Id"] == "s-1":
                    self.session = "s-2"
                    return 404, {}, b""
                return super().tools_call(headers, message)

        script = Forgetful()
        done = talk(script, protocol="legacy")
        self.assertEqual((done.status, done.out), (0, "three\n"), done)
        self.assertEqual(script.methods().count("initialize"), 2)

        class Never(Forgetful):
            def tools_call(self, _headers, _message):
                return 404, {}, b""

        done = talk(Never(), protocol="legacy")
        self.assertEqual(done.status, 4, done)
        self.assertIn("server h: HTTP 404", done.err)

    def test_a_stream_that_breaks_off_goes_on(self):
        class Breaks(Plain):
            def tools_call(self, _headers, message):
                self.message = message
                return self.stream(event(None, "e-1", 20))

            def other(self, method, headers):
                if method != "GET":
                    return 405, {}, b""
                self.last = headers["Last-Event-ID"]
                if not self.last:
                    return 405, {}, b""
                if self.last == "e-1":
                    return self.stream(event({"jsonrpc": "2.0", "method": "notifications/message"}, "e-2", 10))
                return self.stream(event(result(self.message, {"content": [{"type": "text", "text": "late"}]}), "e-3"))

        script = Breaks()
        done = talk(script, protocol="legacy")
        self.assertEqual((done.status, done.out), (0, "late\n"), done)
        self.assertEqual(script.last, "e-2")


class Standing(harness.Case):
    """The stream on which a server of the older era speaks unasked."""

    FORM = {"message": "How many?", "requestedSchema": {
        "type": "object", "properties": {"n": {"type": "integer", "default": 7}}, "required": ["n"]}}

    class Asks(Plain):
        """A call is answered with what was filled in; it is asked for on the stream that stands."""

        def __init__(self):
            super().__init__()
            self.called, self.filled = threading.Event(), queue.Queue()

        def other(self, method, headers):
            return (200, {}, self.stand(headers)) if method == "GET" else (405, {}, b"")

        def stand(self, _headers):
            yield b": here\n\n"
            yield from self.ask()

        def ask(self):
            self.called.wait(20)
            yield event({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": Standing.FORM})

        def answered(self, message):
            self.filled.put(message)
            return 202, {}, b""

        def tools_call(self, _headers, message):
            return 200, {}, self.say(message)

        def say(self, message):
            self.called.set()
            content = self.filled.get(timeout=20)["result"]["content"]
            yield event(result(message, {"content": [{"type": "text", "text": json.dumps(content)}]}))

    def test_a_server_asks_on_it(self):
        script = self.Asks()
        done = talk(script, "call", "h.add", "--yes", protocol="legacy")
        self.assertEqual((done.status, done.json()), (0, {"n": 7}), done)
        ways = [how if how != "POST" else message.get("method", "answer") for how, _, message in script.asked]
        self.assertEqual(ways, ["initialize", "notifications/initialized", "GET", "tools/list", "tools/call", "answer"])
        self.assertEqual(script.asked[2][1]["MCP-Protocol-Version"], LEGACY)

    def test_it_goes_on_from_where_it_was(self):
        class Breaks(self.Asks):
            places = []

            def stand(self, headers):
                self.places.append(headers["Last-Event-ID"])
                if len(self.places) == 1:
                    yield event(None, "e-1", 20)
                elif len(self.places) > 2:
                    yield from self.ask()

        script = Breaks()
        done = talk(script, "call", "h.add", "--yes", protocol="legacy")
        self.assertEqual((done.status, done.json()), (0, {"n": 7}), done)
        self.assertEqual(script.places, [None, "e-1", "e-1"])

    def test_nonsense_on_it_is_nobodys(self):
        class Babbles(self.Asks):
            def stand(self, headers):
                yield b"data: {\n\ndata: 7\n\n"
                yield event({"jsonrpc": "2.0", "id": 99, "result": {}})
                yield from self.ask()

        done = talk(Babbles(), "call", "h.add", "--yes", protocol="legacy")
        self.assertEqual((done.status, done.json()), (0, {"n": 7}), done)

    def test_calls_do_not_need_it(self):
        def never():
            threading.Event().wait(3)
            yield b""

        for said in ((404, {}, b""), (500, {}, b"oh"), (200, {"Content-Type": "text/html"}, b"<html>"),
                     (202, {}, b""), (200, {}, iter(())), (None, {}, never()), (None, {}, iter(()))):
            class Without(Plain):
                says = said

                def other(self, method, _headers):
                    return self.says if method == "GET" else (405, {}, b"")

            with self.subTest(said=said):
                done = talk(Without(), protocol="legacy")
                self.assertEqual((done.status, done.out), (0, "three\n"), done)


class Misbehaviour(harness.Case):
    def test_answers_that_are_none(self):
        for answer, says in (
                ((200, {"Content-Type": "application/json"}, b""), "ended without an answer"),
                ((200, {"Content-Type": "application/json"}, b"{"), "a message that is not JSON"),
                ((200, {"Content-Type": "text/html"}, b"<html>"), "a message that is not JSON"),
                ((200, {"Content-Type": "application/json"}, b'{"id": 99, "result": {}}'), "ended without an answer"),
                ((200, {"Content-Type": "text/event-stream"}, b"data: {\n\n"), "a message that is not JSON"),
                ((200, {"Content-Type": "text/event-stream"}, b": nothing\n\n"), "the stream ended without an answer"),
                ((200, {"Content-Type": "application/json", "Content-Length": "99"}, b"{"), "server h: "),
                ((200, {"Content-Type": "application/json"}, b"x" * (65 << 20)), "server h: "),
                ((401, {}, b""), "it requires a key"),
                ((503, {}, b"later"), "HTTP 503"),
                ((307, {"Location": "http://127.0.0.1:1/"}, b""), "it redirects elsewhere")):
            class Wrong(Plain):
                said = answer

                def tools_call(self, _headers, _message):
                    return self.said

            with self.subTest(says=says, answer=answer[:2]):
                done = talk(Wrong(), protocol="legacy", timeout=20000 if says != "server h: " else 3000)
                self.assertEqual((done.status, done.out), (3 if answer[0] == 401 else 4, ""), done)
                self.assertIn(says, done.err)

    def test_nobody_is_there(self):
        path = os.path.join(harness.make_dir(), "mcp.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"mcpServers": {"h": {"url": "http://127.0.0.1:1/mcp"}}}, f)
        done = harness.retort("tools", "list", "--mcp-config", path)
        self.assertEqual((done.status, done.out), (4, ""), done)
        self.assertIn("server h: ", done.err)


if __name__ == "__main__":
    harness.main()
