# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the fronts of an engine, or whose program runs behind one."""

import base64
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
ALL = [word for name in ("dify", "librechat", "nemo", "piston", "sandboxfusion") for word in ("--front", name)]
ANN, BOB, EVE = "ann-" + "a" * 28, "bob-" + "b" * 28, "eve-" + "e" * 28
TOKENS = f"ann {ANN}\nbob {BOB}\neve {EVE} sessions=2 memory=600m\n"

# one request of each wire that runs a program: path, body, and where its output is
RUN = {
    "dify": ("/v1/sandbox/run", lambda code: {"language": "python3", "code": code},
             lambda said: said["data"]["stdout"]),
    "librechat": ("/v1/exec", lambda code: {"lang": "py", "code": code}, lambda said: said["stdout"]),
    "nemo": ("/execute", lambda code: {"generated_code": code, "language": "python", "timeout": 30},
             lambda said: said["stdout"]),
    "piston": ("/api/v2/execute", lambda code: {"language": "bash", "version": "*", "files": [{"content": code}]},
               lambda said: said["run"]["stdout"]),
    "sandboxfusion": ("/run_code", lambda code: {"language": "python", "code": code},
                      lambda said: said["run_result"]["stdout"]),
}


def ask(server, path, body, headers=None, kind="application/json"):
    return server.request("POST", path, json.dumps(body).encode(), {"Content-Type": kind, **(headers or {})})


def steps(server, token=None):
    """How many steps callers with this token have in the journal."""
    headers = {"Authorization": f"Bearer {token}"} if token else None
    text = server.request("GET", "/metrics", headers=headers).body.decode()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("retort_steps_total{"))


class Absent(harness.Case):
    def test_T_FRONT_ABSENT_is_not_there(self):
        """Reach a front that was not named, by the paths of its wire and below its name."""
        with web.Server("--front", "dify") as server:
            for name, (path, body, _) in RUN.items():
                for at in (path, f"/{name}{path}"):
                    status = ask(server, at, body("print(1)")).status
                    self.assertEqual(status, 200 if name == "dify" else 404, at)
        with web.Server() as server:
            for name, (path, body, _) in RUN.items():
                self.assertEqual(ask(server, path, body("print(1)")).status, 404)
                self.assertEqual(ask(server, f"/{name}{path}", body("print(1)")).status, 404)
            self.assertEqual(steps(server), 0)


class Page(harness.Case):
    """A page of another site, in the browser of somebody who can reach the engine."""

    def setUp(self):
        super().setUp()
        self.server = web.Server(*ALL)
        self.addCleanup(self.server.stop)

    def test_T_FRONT_PAGE_without_being_asked(self):
        """What a page may send without a preflight: forms and text, with and without the headers of a browser."""
        browser = [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                   {"Referer": "https://evil.example/"}]
        for name, (path, body, _) in RUN.items():
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
                for headers in browser:
                    answer = ask(self.server, path, body("echo 1"), headers, kind)
                    self.assertIn(answer.status, (403, 415), (name, kind, headers))
        self.assertEqual(steps(self.server), 0)
        body, kind = form(("a.txt", b"1"))  # what a form of a page sends as it is
        for headers in (*browser, {"Sec-Fetch-Site": "same-origin"}):
            for path in ("/v1/upload", "/v1/upload/batch", "/librechat/v1/upload", "/librechat/v1/upload/"):
                self.assertIn(self.server.request("POST", path, body, {**kind, **headers}).status, (400, 403, 415), path)
        self.assertEqual(self.server.rpc("session.list")["sessions"], [])

    def test_T_FRONT_PAGE_of_another_site(self):
        """The right type, from another origin, or by a name that leads to this address."""
        for path, body, _ in RUN.values():
            for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"},
                            {"Host": "evil.example"}):
                self.assertEqual(ask(self.server, path, body("1"), headers).status, 403)
        self.assertEqual(steps(self.server), 0)


class Callers(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = web.Server(*ALL, "--front-net", "db:5432=127.0.0.1:9", tokens=TOKENS)
        self.addCleanup(self.server.stop)

    def test_T_FRONT_TOKEN_is_needed(self):
        """Run a program without a token, with a wrong one, or with one where it does not count."""
        wrong = "x" * 32
        basic = base64.b64encode(f"ann:{wrong}".encode()).decode()
        tries = [{}, {"X-Api-Key": wrong}, {"X-Api-Key": ANN[:-1]}, {"Authorization": wrong},
                 {"Authorization": f"Bearer {wrong}"}, {"Authorization": f"Basic {basic}"},
                 {"X-Api-Key": f"{wrong} {ANN}"}, {"X-Retort-Token": ANN}, {"Cookie": f"token={ANN}"}]
        for name, (path, body, _) in RUN.items():
            for headers in tries:
                self.assertEqual(ask(self.server, path, body("1"), headers).status, 401, (name, headers))
            self.assertEqual(ask(self.server, f"{path}?token={ANN}&api_key={ANN}", body("1")).status, 401)
        two = f"POST /run_code HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {wrong}\r\nX-Api-Key: {ANN}\r\n"
        with self.server.raw() as raw:
            raw.say(two.encode() + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            self.assertEqual(raw.answer().status, 401)

    def test_T_FRONT_SESSION_of_another_caller(self):
        """Use, list or end another caller's session of a front by its id."""
        def cell(code, token):
            said = ask(self.server, "/execute", {"generated_code": code, "language": "ipython", "timeout": 30},
                       {"X-Session-ID": "same", "X-Api-Key": token}).json
            return said["stdout"]
        cell("secret = 4711", ANN)
        self.assertNotIn("4711", cell("print(globals().get('secret'))", BOB))
        self.server.request("DELETE", "/sessions/same", headers={"X-Api-Key": BOB})
        self.assertEqual(self.server.request("GET", "/sessions", headers={"X-Api-Key": BOB}).json["sessions"], {})
        self.assertIn("4711", cell("print(secret)", ANN))
        self.assertEqual([s["owner"] for s in self.server.rpc(
            "session.list", {"X-Api-Key": ANN, "Authorization": f"Bearer {ANN}"})["sessions"] if "owner" in s], [])

    def test_T_FRONT_NET_without_the_right(self):
        """Ask for a network as a caller who must not have one, and run without one."""
        code = ("import socket\ns = socket.socket()\ns.settimeout(5)\n"
                "try:\n    s.connect(('db', 5432))\n    print('there')\n"
                "except OSError as error:\n    print('none', error.errno)")
        said = ask(self.server, "/v1/sandbox/run", {"language": "python3", "code": code, "enable_network": True},
                   {"X-Api-Key": ANN}).json
        self.assertEqual((said["code"], said["data"]["stdout"].split()[0]), (0, "none"))
        listed = self.server.rpc("session.list", {"Authorization": f"Bearer {ANN}"})["sessions"]
        self.assertEqual([s for s in listed if "net" in s], [])

    def test_T_FRONT_HOLD_more_than_a_share(self):
        """Have more boxes or memory than the token allows, by many requests at once."""
        path, body, output = RUN["sandboxfusion"]
        found = []

        def run():
            found.append(ask(self.server, path, {**body("import time; time.sleep(1); print(1)"),
                                                 "memory_limit_MB": 300}, {"X-Api-Key": EVE}).json)
        threads = [threading.Thread(target=run) for _ in range(6)]
        most = 0
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            most = max(most, len(self.server.rpc("session.list", {"Authorization": f"Bearer {EVE}"})["sessions"]))
        for t in threads:
            t.join()
        self.assertLessEqual(most, 2)
        for said in found:
            self.assertIn(said["status"], ("Success", "SandboxError"))
            self.assertEqual(said["run_result"] is None, said["status"] == "SandboxError")
        self.assertIn("Success", [said["status"] for said in found])


def form(*parts):
    """(body, headers) of a form with files: (file name, data)."""
    body = b"".join(b'--b0und\r\nContent-Disposition: form-data; name="file"; filename="' + name.encode() + b'"\r\n\r\n' +
                    data + b"\r\n" for name, data in parts)
    return body + b"--b0und--\r\n", {"Content-Type": "multipart/form-data; boundary=b0und"}


class Stored(harness.Case):
    """Files that callers have stored in the front librechat."""

    def setUp(self):
        super().setUp()
        self.server = web.Server("--front", "librechat", tokens=TOKENS)
        self.addCleanup(self.server.stop)

    def ask(self, token, method, path, body=None, headers=None):
        return self.server.request(method, f"/v1{path}", body, {"X-Api-Key": token, **(headers or {})})

    def upload(self, token, *parts, path="/upload"):
        body, headers = form(*parts)
        return self.ask(token, "POST", path, body, headers)

    def run_with(self, token, code, **file):
        return ask(self.server, "/v1/exec", {"lang": "py", "code": code, "files": [file]}, {"X-Api-Key": token})

    def test_T_FRONT_STORED_by_another_caller(self):
        """Read, list, use or remove a file of another caller whose ids are known."""
        said = self.upload(ANN, ("a.txt", b"4711")).json
        self.assertEqual(self.upload(BOB, ("b.txt", b"1")).status, 200)
        storage, file = said["storage_session_id"], said["files"][0]["fileId"]
        for method, path in (("GET", f"/download/{storage}/{file}"), ("GET", f"/sessions/{storage}/objects/{file}"),
                             ("GET", f"/files/{storage}?detail=full"), ("DELETE", f"/files/{storage}/{file}")):
            answer = self.ask(BOB, method, path)
            self.assertIn(answer.status, (403, 404), path)
            self.assertNotIn(b"4711", answer.body)
        said = self.run_with(BOB, "print(open('a.txt').read())", id=file, storage_session_id=storage, name="a.txt")
        self.assertEqual(said.status, 403)
        self.assertEqual(self.ask(ANN, "GET", f"/download/{storage}/{file}").body, b"4711")

    def test_T_FRONT_STORED_out_of_the_store(self):
        """Leave the directory of a file by names and ids: dots, absolute paths, escapes, zero bytes."""
        mark = os.path.join(self.server.dir, "mark")
        names = ("../x", "../../x", "a/../../x", mark, "..", ".", "a\\..\\x", "/etc/passwd", "./x", "a//x", "x/")
        for name in names:
            for path in ("/upload", "/upload/batch"):
                self.assertEqual(self.upload(ANN, (name, b"x"), path=path).status, 400, name)
        good = self.upload(ANN, ("a.txt", b"1")).json
        storage, file = good["storage_session_id"], good["files"][0]["fileId"]
        for name in names:
            said = self.run_with(ANN, "1", id=file, storage_session_id=storage, name=name)
            self.assertEqual(said.status, 400, name)
        for wrong in ("..", "../" * 7, "%2e%2e", "%2e%2e%2f" * 3, "." * 21, "/" * 21, "%00" * 7, file + "/a.txt", file[:-1]):
            for method, path in (("GET", f"/download/{storage}/{wrong}"), ("GET", f"/download/{wrong}/{file}"),
                                 ("GET", f"/files/{wrong}"), ("DELETE", f"/files/{storage}/{wrong}"),
                                 ("GET", f"/sessions/{storage}/objects/{wrong}")):
                self.assertIn(self.ask(ANN, method, path).status, (400, 403, 404), path)
            if len(wrong) != 21 or not wrong.isalnum():
                self.assertEqual(self.run_with(ANN, "1", id=wrong, storage_session_id=storage, name="a").status, 400, wrong)
        self.assertEqual(self.ask(ANN, "GET", f"/download/{storage}/{file}").body, b"1")
        self.assertFalse(os.path.exists(mark))

    def test_T_FRONT_STORED_flood(self):
        """Forms that are too large, of too many parts, nested, or never whole."""
        self.assertEqual(self.upload(ANN, ("a", b"x" * (65 << 20))).status, 413)
        self.assertEqual(self.upload(ANN, ("a", b"x" * (17 << 20))).status, 413)
        said = self.upload(ANN, *[("a", b"")] * 20000, path="/upload/batch")
        self.assertEqual((said.status, said.json["succeeded"]), (200, 200))
        head = {"Content-Type": "multipart/form-data; boundary=b0und"}
        part = b'--b0und\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n'
        for body in (b"--b0und\r\n" * 300000, part * 100000, b"--b0und\r\n" + b"X: y\r\n" * 500000, b"--b0und\r\nX: " + b"y" * (4 << 20),
                     part + b"Content-Type: multipart/mixed; boundary=c\r\n\r\n" + b"--c\r\n" * 200000,
                     part.replace(b'"a"', b'"' + b"a" * (4 << 20) + b'"') + b"\r\nx\r\n--b0und--\r\n", part + b"\r\n" + b"\r\n--" * 500000):
            self.assertIn(self.ask(ANN, "POST", "/upload/batch", body, head).status, (200, 400))
        self.assertEqual(self.ask(ANN, "POST", "/upload", b"x", {"Content-Type": f"multipart/form-data; boundary={'b' * 9000}"}).status,
                         400)
        self.assertEqual(self.upload(BOB, ("a.txt", b"1")).status, 200)

    def test_T_FRONT_STORED_unread(self):
        """Fill the memory of the engine with files that one asks for and does not read."""
        said = self.upload(ANN, ("a.bin", b"x" * (16 << 20))).json
        path = f"/v1/download/{said['storage_session_id']}/{said['files'][0]['fileId']}"
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {ANN}\r\n\r\n".encode()
        held = []
        for _ in range(20):
            held.append(self.server.raw(buffer_bytes=4096))
            self.addCleanup(held[-1].close)
            held[-1].say(head)
        self.assertTrue(web.wait(lambda: self.server.request("GET", path, headers={"X-Api-Key": ANN}).status == 503))
        self.assertEqual(self.upload(BOB, ("a.txt", b"1")).status, 200)
        for raw in held:
            raw.close()
        self.assertTrue(web.wait(lambda: self.server.request("GET", path, headers={"X-Api-Key": ANN}).status == 200))

    def test_T_FRONT_STORED_as_a_page(self):
        """Have a browser that downloads a file take it for a page of this server."""
        said = self.upload(ANN, ('a.html', b"<script>1</script>"), ("a\r\nX-Evil: 1.html", b"1"), path="/upload/batch").json
        for file in said["files"]:
            if "fileId" not in file:
                continue
            answer = self.ask(ANN, "GET", f"/download/{said['storage_session_id']}/{file['fileId']}")
            self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment; "))
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertNotIn("X-Evil", answer.headers)

    def test_T_FRONT_STORED_by_the_program(self):
        """Have the program store what is not its own: links, devices, a file of the host, another caller's."""
        code = ("import os\nfor n, t in enumerate(['/etc/passwd', '/proc/1/environ', '/proc/self/mem', '/dev/zero']):\n"
                "    os.symlink(t, f'l{n}.txt')\nos.mkfifo('f.txt')\nopen('good.txt', 'w').write('1')\n"
                "os.symlink('/etc', 'etc')\nos.makedirs('d'); os.link('good.txt', 'd/same.txt')")
        said = ask(self.server, "/v1/exec", {"lang": "py", "code": code}, {"X-Api-Key": ANN}).json
        self.assertLessEqual({file["name"] for file in said["files"]}, {"good.txt", "d/same.txt"})


class Program(harness.Case):
    """A program that was sent to a front."""

    def setUp(self):
        super().setUp()
        self.server = web.Server(*ALL)
        self.addCleanup(self.server.stop)

    def test_T_FRONT_PATH_out_of_the_box(self):
        """Write or fetch a file of the host, by absolute names, dots and links."""
        mark = os.path.join(self.server.dir, "mark")
        for path in (mark, "../" * 12 + mark.lstrip("/"), "a/../../../" + mark.lstrip("/")):
            ask(self.server, "/run_code", {"language": "python", "code": "1", "files": {path: "eA=="}})
            ask(self.server, "/api/v2/execute", {"language": "bash", "version": "*", "files": [
                {"content": "true"}, {"name": path, "content": "x"}]})
            self.assertFalse(os.path.exists(mark))
        secret = os.path.join(self.server.dir, "secret")
        with open(secret, "w", encoding="ascii") as f:
            f.write("4711")
        os.chmod(secret, 0o644)
        code = f"import os\nfor n, t in enumerate([{secret!r}, '/proc/1/root{secret}', '/etc/passwd']):\n    os.symlink(t, f'l{{n}}')"
        said = ask(self.server, "/run_code", {"language": "python", "code": code, "fetch_files": [
            secret, "../../" + secret.lstrip("/"), "l0", "l1", "l2", "/etc/passwd"]}).json
        self.assertEqual((said["status"], said["files"]), ("Success", {}))

    def test_T_FRONT_BLAME_the_engine(self):
        """Make a failure of the program look like one of the engine, or a wrong answer like a right one."""
        path, body, _ = RUN["sandboxfusion"]
        for code in ("import os; os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)", "import os; os._exit(0 or 7)",
                     "raise SystemError('SandboxError')", "import sys; sys.stderr.write('SandboxError'); sys.exit(1)",
                     "import os\nfor fd in range(3, 100):\n    try: os.close(fd)\n    except OSError: pass\nraise SystemExit(3)",
                     "import ctypes; ctypes.string_at(0)", "x = bytearray(4 << 30)", "while True: pass"):
            said = ask(self.server, path, {**body(code), "run_timeout": 3}).json
            self.assertEqual(said["status"], "Failed", (code, said))
            self.assertIsNotNone(said["run_result"], code)

    def test_T_FRONT_LEFT_behind(self):
        """Leave a process, a file or a variable for the next program."""
        path, body, output = RUN["sandboxfusion"]
        code = ("import os, subprocess, sys\nopen('/tmp/left', 'w').write('x'); open('left', 'w').write('x')\n"
                "subprocess.Popen(['sleep', '1000'], start_new_session=True)\nsys.left = 1")
        self.assertEqual(ask(self.server, path, body(code)).json["status"], "Success")
        look = ("import os, sys\nprint(os.path.exists('/tmp/left'), os.path.exists('left'), hasattr(sys, 'left'), "
                "[p for p in os.listdir('/proc') if p.isdigit() and b'sleep' in open(f'/proc/{p}/cmdline', 'rb').read()])")
        self.assertEqual(output(ask(self.server, path, body(look)).json), "False False False []\n")
        self.assertEqual(self.server.rpc("session.list")["sessions"], [])


if __name__ == "__main__":
    harness.main()
