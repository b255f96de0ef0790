# SPDX-License-Identifier: Apache-2.0
"""Servers of models by the test's own script: what each answers, byte by byte, and what it was asked.

    with model_server.Server(model_server.sse({"choices": [...]}, "[DONE]")) as server:
        ... server.url, server.asked[0].json()
"""

import http.server
import json
import threading


class Answer:
    """What one request gets. @end: "whole"; "cut": the connection breaks; "hang": nothing more comes."""

    def __init__(self, body=b"", status=200, headers=None, *, end="whole", step=0, content_type="text/event-stream"):
        self.body, self.status, self.end, self.step = body, status, end, step
        self.headers = {"Content-Type": content_type, **(headers or {})}

    def pieces(self):
        step = self.step or max(len(self.body), 1)
        return [self.body[i:i + step] for i in range(0, len(self.body), step)]


def sse(*events, **more):
    """Events: an object, a text, or (name, object)."""
    out = b""
    for event in events:
        name, data = event if isinstance(event, tuple) else (None, event)
        text = data if isinstance(data, str) else json.dumps(data)
        out += (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
    return Answer(out, **more)


def lines(*objects, **more):
    body = b"".join(json.dumps(o).encode() + b"\n" for o in objects)
    return Answer(body, content_type="application/x-ndjson", **more)


def error(status, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    return Answer(data, status, named, content_type="application/json")


class Asked:
    def __init__(self, handler, body):
        self.method, self.path, self.headers, self.body = handler.command, handler.path, handler.headers, body

    def json(self):
        return json.loads(self.body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        server = self.server.owner
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with server.lock:
            server.asked.append(Asked(self, body))
            server.connections.add(self.client_address)
            answer = server.answers[min(server.n_answered, len(server.answers) - 1)]
            server.n_answered += 1
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in answer.pieces():
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.finish_answer(server, answer)
        except OSError:
            self.close_connection = True

    def finish_answer(self, server, answer):
        if answer.end == "whole":
            self.wfile.write(b"0\r\n\r\n")
            return
        self.close_connection = True
        if answer.end == "hang":
            # Until the other side goes away, or the test ends.
            self.connection.settimeout(60)
            self.gone = self.connection.recv(1) == b""
            server.gone.set()

    do_GET = do_POST  # noqa: N815

    def log_message(self, *args):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """Who hangs up on us does what the tests are about."""


class Server:
    """Each answer is given once, the last one for ever."""

    def __init__(self, *answers):
        self.answers, self.asked, self.connections = list(answers), [], set()
        self.n_answered = 0
        self.lock = threading.Lock()
        self.gone = threading.Event()
        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.http.owner = self
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
