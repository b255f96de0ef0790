# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the front "open-terminal", or is one of several users of it."""

import concurrent.futures
import http.server
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402
from terminal_client import BINARY, TEXT, Socket, User  # noqa: E402

IDENTITY = "user"
ANN, BOB = "ann-" + "a" * 28, "bob-" + "b" * 28
TOKENS = f"ann {ANN}\nbob {BOB}\n"
EVIL = "https://evil.example"
MEMORY_BYTES = 400 << 20
SECRET = "of-ann-alone"


class Users(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "open-terminal", tokens=TOKENS)
        cls.ann = User(cls.server, "one", "chat", ANN)
        cls.ann.write("secret.txt", SECRET)
        cls.ann.write("/tmp/secret.txt", SECRET)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def others(self):
        """Who are not the user "one" of ann: another user of hers, nobody, and the same names of bob."""
        return [User(self.server, name, chat, token) for name, chat, token in (
            ("two", "chat", ANN), (None, "chat", ANN), ("one", "chat", BOB), (None, None, BOB))] + [
            User(self.server, "one", "chat", ANN, **{"X-Terminal-Context-Id": "chat:1"})]

    def test_T_OT_USER_files(self):
        """Read, find, change or remove the files of another user, or of another caller's user of the same name."""
        for other in self.others():
            for path in ("secret.txt", "/tmp/secret.txt"):
                for answer in (other.get("/files/read", path=path), other.get("/files/view", path=path),
                               other.get("/files/list", directory="/tmp"), other.get("/files/grep", query="of-ann", path="/tmp"),
                               other.post("/files/archive", {"paths": [path]}), other.ask("DELETE", "/files/delete", path=path),
                               other.post("/files/move", {"source": path, "destination": "/tmp/x"})):
                    self.assertNotIn(SECRET.encode(), answer.body)
                other.write(path, "changed")
            self.assertNotIn(SECRET, other.run("cat /tmp/* /home/user/* /proc/*/root/tmp/* 2>&1"))
        for path in ("secret.txt", "/tmp/secret.txt"):
            self.assertEqual(self.ann.get("/files/read", path=path).json["content"], SECRET)

    def test_T_OT_USER_commands(self):
        """See, follow, type into or end the commands of another user, whose id is known."""
        mine = self.ann.start(f"echo {SECRET}; exec cat")["id"]
        for other in self.others():
            self.assertNotIn(mine, other.get("/execute").body.decode())
            answers = [other.get(f"/execute/{mine}/status"), other.post(f"/execute/{mine}/input", {"input": "x\n"}),
                       other.ask("DELETE", f"/execute/{mine}", force=True)]
            self.assertEqual([(a.status, a.json) for a in answers], [(404, {"detail": "Process not found"})] * 3)
            self.assertNotIn(SECRET, other.run("cat /proc/*/cmdline | tr '\\0' ' '"))
        self.assertEqual(self.ann.get(f"/execute/{mine}/status").json["status"], "running")
        self.ann.ask("DELETE", f"/execute/{mine}", force=True)

    def test_T_OT_USER_terminals(self):
        """See, join or end the terminal of another user, whose id is known."""
        number = self.ann.terminal()
        for other in self.others():
            self.assertEqual(other.get("/api/terminals").json, [])
            for method in ("GET", "DELETE"):
                self.assertEqual(other.ask(method, f"/api/terminals/{number}").status, 404)
            with other.socket(number) as s:
                self.assertEqual((s.status, s.code()), (101, 4004))
        # nor by naming the user where the header names another one
        with User(self.server, "two", "chat", ANN).socket(number, query="?user_id=one") as s:
            self.assertEqual(s.code(), 4004)
        with User(self.server, "one", "another chat", ANN).socket(number) as s:
            self.assertEqual(s.code(), 4004)
        with self.ann.socket(number) as s:
            s.type("echo $((6*7))x\n")
            s.until_text("42x")
            for other in self.others():
                self.assertEqual(other.get("/api/terminals/user/output").status, 404)
                self.assertEqual(other.post("/api/terminals/user/input", {"input": "exit\n"}).status, 404)
            s.type("echo $((7*7))x\n")
            s.until_text("49x")

    def test_T_OT_USER_ports(self):
        """Reach a server in the box of another user."""
        running = self.ann.start("exec python3 -m http.server 8200")
        self.assertTrue(web.wait(lambda: self.ann.get("/ports").json["ports"]))
        self.assertIn(b"secret.txt", self.ann.get("/proxy/8200/").body)
        session = self.ann.get("/ports").headers["X-Retort-Session"] or "none"
        for other in self.others():
            self.assertEqual(other.get("/ports").json["ports"], [])
            self.assertEqual(other.get("/proxy/8200/").status, 404)
            self.assertNotIn("secret", other.run("curl -s -m 2 http://127.0.0.1:8200/"))
        self.assertEqual(User(self.server, token=BOB).ask("GET", f"/s/{session}/8200/").status, 404)
        self.ann.ask("DELETE", f"/execute/{running['id']}", force=True)

    def test_T_OT_ID_forged(self):
        """Name a user or a chat so that a box, a file or a header of another kind comes of it."""
        self.ann.get("/files/list")
        for name in ("../one", "one/../one", "/etc/passwd", "one%00", "one ", "ONE", "on\u00e9", "one\\", "%6fne", "-",
                     "\u202eeno", "ot-default", "a" * 256, '"; rm -rf /', "one,two"):
            answer = self.server.request("GET", "/files/read?path=secret.txt",
                                         headers={**self.ann.headers, "X-User-Id": name.encode()})
            self.assertEqual((answer.status, answer.json), (404, {"detail": "File not found"}), name)
            self.clear()
        for name in (b"a" * 257, b"\xff\xfe", b"a\x7f", b"a\tb", b"a" * 5000):
            for header in ("X-User-Id", "X-Session-Id", "X-Terminal-Context-Id"):
                answer = self.server.request("GET", "/files/list", headers={**self.ann.headers, header: name})
                self.assertEqual(answer.status, 400, (name, header))
        for name in (s["name"] for s in self.server.rpc("session.list", {"Authorization": f"Bearer {ANN}"})["sessions"]):
            self.assertRegex(name, r"^ot-[0-9a-f]{16}-[a-z2-7]+$")

    def clear(self):
        """Close the boxes of other users, which count for the caller's quota."""
        bearer = {"Authorization": f"Bearer {ANN}"}
        keep = self.ann.get("/files/list").headers["X-Retort-Session"]
        for s in self.server.rpc("session.list", bearer)["sessions"]:
            if s["session"] != keep and s["state"] != "closed":
                self.server.rpc("session.close", bearer, session=s["session"])

    def test_T_OT_TOKEN_wrong(self):
        """Use anything without a token, with a wrong one, or with one in the wrong place."""
        for token in (None, "x" * 30, ANN[:-1]):
            nobody = User(self.server, "one", "chat", token)
            for method, path, body in (
                    ("GET", "/openapi.json", None), ("GET", "/system", None), ("GET", "/files/list", None),
                    ("GET", f"/files/list?token={ANN}", None), ("GET", "/files/cwd", None), ("GET", "/execute", None),
                    ("POST", "/execute", {"command": "id"}), ("GET", "/ports", None), ("GET", "/proxy/8200/", None),
                    ("GET", "/api/terminals", None), ("POST", "/api/terminals", {}), ("GET", "/api/terminals/x", None),
                    ("DELETE", "/api/terminals/x", None), ("GET", "/open-terminal/files/list", None)):
                self.assertEqual(nobody.ask(method, path, body).status, 401, (token, path))

    def test_T_OT_SOCKET_without_a_token(self):
        """Join a terminal without a token, with a wrong one, or late; or use the open route for something else."""
        number = self.ann.terminal()
        headers = {"X-User-Id": "one", "X-Session-Id": "chat"}
        for say in (lambda s: s.auth("x" * 30), lambda s: s.auth(""), lambda s: s.auth(None), lambda s: s.auth(ANN[:-1]),
                    lambda s: s.auth({"a": 1}), lambda s: s.say(type="resize", cols=1, rows=1), lambda s: s.type("id\n"),
                    lambda s: s.frame(TEXT, b"{"), lambda s: s.frame(TEXT, b"[]"), lambda s: s.frame(TEXT, b""),
                    lambda s: s.say(token=ANN), lambda s: s.frame(BINARY, b'{"type":"auth","token":"' + ANN.encode() + b'"}'),
                    lambda s: s.frame(TEXT, b'{"type":"auth","token":"x","token":"' + ANN.encode() + b'"}'),
                    lambda s: s.auth(BOB)):
            with Socket(self.server, number, headers) as s:
                self.assertEqual(s.status, 101)
                say(s)
                self.assertIn(s.code(), (4001, 4004))
        with Socket(self.server, number, headers) as s:  # says nothing
            self.assertEqual(s.code(), 4001)
        for path in ("x", "user/output", "..%2f..%2fexecute", f"{number}/../../../execute", number + "0", "a" * 3000):
            with Socket(self.server, path, headers) as s:
                self.assertIn(s.status, (401, 404), path)
        for path in ("/files/list", "/execute", "/rpc", "/api/terminals", f"/open-terminal/api/terminals/{number}"):
            answer = self.server.request("GET", path, headers={**headers, "Upgrade": "websocket"})
            self.assertIn(answer.status, (400, 401, 405, 426), path)
        answer = self.server.request("DELETE", f"/api/terminals/{number}", headers={**headers, "Upgrade": "websocket"})
        self.assertEqual(answer.status, 401)
        with self.ann.socket(number) as s:
            s.type("echo $((6*7))x\n")
            s.until_text("42x")


class Host(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "open-terminal")
        cls.me = User(cls.server, "me")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_T_OT_HOST_files(self):
        """Read or write files of the host by a path or a link."""
        secret = os.path.join(self.server.dir, "secret")
        with open(secret, "w", encoding="utf-8") as f:
            f.write(SECRET)
        self.me.run(f"ln -s {self.server.dir} dir; ln -s {secret} file; ln -s / root")
        for path in (secret, "../../.." + secret, "/../../" + secret, "dir/secret", "file", "root" + secret,
                     "/proc/1/root" + secret, "/proc/self/root" + secret, "/proc/1/cwd/secret"):
            quoted = path.replace("/", "%2f").replace(".", "%2e")
            for answer in (self.me.get("/files/read", path=path), self.me.get("/files/view", path=path),
                           self.me.get("/files/serve/" + quoted), self.me.get("/files/serve/" + path),
                           self.me.get("/files/grep", query="of", path=path), self.me.post("/files/archive", {"paths": [path]})):
                self.assertIn(answer.status, (200, 400, 403, 404, 500), (path, answer.body))
                self.assertNotIn(SECRET.encode(), answer.body)
            self.me.post("/files/write", {"path": path, "content": "changed"})
            self.me.ask("DELETE", "/files/delete", path=path)
            self.me.upload(os.path.dirname(path), "secret", b"changed")
        with open(secret, encoding="utf-8") as f:
            self.assertEqual(f.read(), SECRET)

    def test_T_OT_HOST_ports(self):
        """Reach a server of the host at 127.0.0.1, or the engine itself, through the front."""
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        for port in (server.server_port, self.server.port, 22):
            for path in (f"/proxy/{port}/", f"/proxy/{port}/../../healthz", f"/proxy/{port}@127.0.0.1/",
                         f"/proxy/127.0.0.1:{port}/", f"/proxy/0{port}/", f"/proxy/{port}%2f..%2f..%2fhealthz"):
                self.assertIn(self.me.get(path).status, (400, 404, 422), path)
        self.assertEqual(self.me.get("/ports").json["ports"], [])
        self.assertEqual(self.me.run(f"curl -s -m 2 http://127.0.0.1:{self.server.port}/healthz; echo $?"), "7\n")

    def test_T_OT_HOST_token(self):
        """Have a server of the box see the token with which its user has called."""
        with web.Server("--front", "open-terminal", tokens=TOKENS) as server:
            ann = User(server, "me", token=ANN)
            ann.write("s.py", "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n def do_GET(s):\n"
                      "  s.send_response(200)\n  s.end_headers()\n  s.wfile.write(str(s.headers).encode())\n"
                      "h.HTTPServer(('127.0.0.1', 8300), H).serve_forever()\n")
            ann.start("exec python3 s.py")
            self.assertTrue(web.wait(lambda: ann.get("/ports").json["ports"]))
            for headers in ({"Authorization": f"Bearer {ANN}"}, {"X-Api-Key": ANN}, {"Authorization": ANN},
                            {"Authorization": f"Bearer {ANN}", "X-Api-Key": ANN},
                            {"Authorization": f"Bearer {ANN}", "X-Api-Key": f"Bearer {ANN}"},
                            {"Authorization": f"Bearer {ANN}", "X-Api-Key": ANN, "x-api-key": ANN}):
                answer = server.request("GET", "/proxy/8300/", headers={**headers, "X-User-Id": "me"})
                self.assertEqual(answer.status, 200)
                self.assertNotIn(ANN[4:].encode(), answer.body, headers)


class Page(harness.Case):
    """A page of another site, in the browser of somebody who can reach an engine without tokens."""

    def test_T_OT_PAGE_of_another_site(self):
        """Run a command, write a file or join a terminal from a page."""
        with web.Server("--front", "open-terminal") as server:
            me = User(server)
            number = me.terminal()
            for origin in (EVIL, "null", f"http://localhost:{server.port + 1}"):
                with Socket(server, number, {"Origin": origin}) as s:
                    self.assertEqual(s.status, 403, origin)
            body = json.dumps({"command": "echo > here", "path": "here", "content": "", "input": "x"})
            for headers in ({"Origin": EVIL}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Referer": EVIL}):
                for path in ("/execute", "/files/write", "/files/mkdir", "/api/terminals", "/files/upload?directory=.",
                             "/api/terminals/user/input", "/files/cwd", "/files/archive"):
                    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
                        more = {"Content-Type": kind} if kind else {}
                        answer = server.request("POST", path, body, {**headers, **more})
                        self.assertIn(answer.status, (400, 403, 415), (headers, path, kind))
                    self.assertIn(server.request("POST", path, headers=headers).status, (400, 403, 415), (headers, path))
                self.assertIn(me.upload(".", "here", b"", headers=headers).status, (400, 403))
            self.assertEqual(me.get("/files/list").json["entries"], [])
            self.assertEqual([t["id"] for t in me.get("/api/terminals").json], [number])


class Flood(harness.Case):
    def test_T_OT_FLOOD_of_requests(self):
        """Fill the engine's memory by sockets that say nothing, chats, output, long ids, or a search."""
        with web.Server("--front", "open-terminal") as server:
            me = User(server)
            number = me.terminal()
            sockets = [Socket(server, number) for _ in range(70)]
            self.assertEqual({s.status for s in sockets}, {101, 503})
            for s in sockets:
                s.raw.close()
            self.assertTrue(web.wait(lambda: me.socket(number).status == 101))
            for i in range(1100):
                User(server, chat=f"{i}" * 40).post("/files/cwd", {"path": "/tmp"})
            self.assertEqual(me.start("yes | head -c 20000000", wait=50)["status"], "done")
            me.run("mkdir many; cd many; seq 1 3000 | xargs touch; head -c 200000000 /dev/zero > zeros")
            self.assertEqual(me.get("/files/glob", pattern="*").json["truncated"], True)
            self.assertIn(me.get("/files/grep", query="(0*)*1").status, (200, 429))
            path = "/files/list?" + "&".join(f"a{i}=1" for i in range(500))
            self.assertEqual(me.get(path).status, 400)
            self.assertLess(server.memory_bytes(), MEMORY_BYTES)

    def test_T_OT_FLOOD_of_terminals_at_once(self):
        """Have more terminals than a box may, by asking for many before one is there."""
        with web.Server("--front", "open-terminal") as server, concurrent.futures.ThreadPoolExecutor(40) as threads:
            me = User(server)
            me.run("true")
            made = [a for a in threads.map(lambda _: me.post("/api/terminals", {}), range(40)) if a.status == 200]
            self.assertEqual(len(made), 16)
            self.assertEqual({row["id"] for row in me.get("/api/terminals").json}, {a.json["id"] for a in made})

    def test_T_OT_FLOOD_of_work(self):
        """Keep the engine from serving others: by many changes of a large file, and by what a program of the box says
        it has found."""
        with web.Server("--front", "open-terminal") as server:
            me = User(server)
            me.run("head -c 60000000 /dev/zero | tr '\\0' x > big")
            changes = [{"target": "y", "replacement": "z"}] * 400
            answer = me.post("/files/replace", {"path": "big", "replacements": changes})
            self.assertEqual((answer.status, "fewer at a time" in answer.json["detail"]), (413, True))
            me.write("/home/user/.local/bin/python3", "#!/bin/sh\nprintf '{\"a\": ['; yes '{},' | head -c 4000000; echo '{}]}'\n")
            me.run("chmod 755 .local/bin/python3")
            before = server.memory_bytes()
            self.assertEqual(me.get("/files/glob", pattern="*").status, 422)
            if not harness.IS_SANITIZED:
                self.assertLess(server.memory_bytes() - before, 64 << 20)

    def test_T_OT_SLOW_reader(self):
        """Have the engine keep all that a terminal prints for a client that does not read."""
        with web.Server("--front", "open-terminal") as server:
            me = User(server)
            number = me.terminal()
            with me.socket(number) as s:
                s.raw.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.type("yes\n")
                time.sleep(5)
                self.assertLess(server.memory_bytes(), MEMORY_BYTES)
                self.assertEqual(me.get("/health").status, 200)


if __name__ == "__main__":
    harness.main()
