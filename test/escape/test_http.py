# SPDX-License-Identifier: Apache-2.0
"""What somebody who reaches the engine's port, or makes a browser reach it, cannot do."""

import hashlib
import os
import re
import socket
import ssl
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import service  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
CREATE = web.question("session.create", name="mark")
LIST = web.question("session.list")


def sessions(server, headers=None):
    return server.rpc("session.list", headers)["sessions"]


class Browser(harness.Case):
    """A page of another site, in the browser of the one who runs the engine."""

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def refused(self, headers, statuses):
        self.assertIn(self.server.request("POST", "/rpc", CREATE, headers).status, statuses, headers)
        self.assertEqual(sessions(self.server), [])

    def test_T_HTTP_REBIND_by_a_name_of_the_attackers(self):
        """A name that was bound to this address anew: the page is of the same origin as the engine then."""
        port = self.server.port
        for name in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example",
                     "127.0.0.1.nip.io", "2130706433", "0x7f000001", "127.1"):
            self.refused({**web.JSON, "Host": name}, [403])
            self.refused({**web.JSON, "Host": name, "Origin": f"http://{name}"}, [403])

    def test_T_HTTP_REBIND_by_two_hosts(self):
        """One Host for the check and one for whoever looks at the other."""
        for pair in ("localhost\r\nHost: evil.example", "evil.example\r\nHost: localhost"):
            with self.server.raw() as raw:
                raw.say(f"POST /rpc HTTP/1.1\r\nHost: {pair}\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(CREATE)}\r\n\r\n".encode() + CREATE)
                self.assertEqual(raw.answer().status, 400)
        self.assertEqual(sessions(self.server), [])

    def test_T_HTTP_ORIGIN_of_another_site(self):
        """A request from a page of another site, which browsers send with its Origin."""
        for origin in ("https://evil.example", "null", "http://localhost.evil.example", "http://192.168.0.1",
                       "file://", "https://localhost@evil.example", "http://evil.example#localhost"):
            self.refused({**web.JSON, "Origin": origin}, [403])

    def test_T_HTTP_ORIGIN_without_being_asked(self):
        """What a page may send without a preflight: forms, text, images, and no Origin on some of them."""
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                     "text/plain; application/json", ""):
            self.refused({"Content-Type": kind}, [415])
        for path in ("/rpc", "/rpc?method=session.create"):
            self.assertEqual(self.server.request("GET", path).status, 405)
        self.assertEqual(sessions(self.server), [])

    def test_T_HTTP_ORIGIN_asks_for_leave(self):
        """The preflight of a page: no answer may allow it anything."""
        for origin in ("https://evil.example", "http://localhost:1", "null"):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST",
                     "Access-Control-Request-Headers": "content-type"}
            answer = self.server.request("OPTIONS", "/rpc", headers=asked)
            self.assertIn(answer.status, (403, 405))
            self.assertEqual([h for h in answer.headers if h.lower().startswith("access-control")], [])


class Neighbour(harness.Case):
    """Another user of the host, who can connect to the port as everybody can."""

    def test_T_HTTP_LOCAL_files_by_a_path(self):
        """A volume, workspace, rootfs or interpreter that the one who runs the engine can read."""
        server = web.Server()
        try:
            for extra in ({"volumes": [{"src": "/etc", "dst": "/etc2"}]}, {"workspace": "/tmp"}, {"rootfs": "/"},
                          {"python": "/usr/bin/python3"}):
                with self.assertRaises(web.Failed) as refused:
                    server.rpc("session.create", **extra)
                self.assertEqual(refused.exception.code, "denied", extra)
            for method in ("engine.doctor", "agent.run"):
                with self.assertRaises(web.Failed) as refused:
                    server.rpc(method, **({"task": "x"} if method == "agent.run" else {}))
                self.assertEqual(refused.exception.code, "denied", method)
            self.assertEqual(sessions(server), [])
        finally:
            server.stop()

    def test_T_HTTP_LOCAL_sessions_of_the_unix_socket(self):
        """The sessions of the one who runs the engine, by their ids and names."""
        server = web.Server()
        local = service.Client(server.path)
        try:
            mine = local.call("session.create", name="mine")["session"]
            for name in (mine, "mine", mine[:6]):
                with self.assertRaises(web.Failed) as refused:
                    server.rpc("step.run", session=name, code="1")
                self.assertEqual(refused.exception.code, "not_found")
            self.assertEqual(sessions(server), [])
            theirs = server.rpc("session.create")["session"]
            seen = {s["session"] for s in local.call("session.list")["sessions"]}
            self.assertEqual(seen, {mine, theirs})
        finally:
            local.close()
            server.stop()


class Stranger(harness.Case):
    """Somebody without a token, or with another's."""

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server(tokens=f"ann {web.TOKEN}\nbob {web.TOKEN}-of-bob\n")
        cls.ann = {"Authorization": f"Bearer {web.TOKEN}"}
        cls.bob = {"Authorization": f"Bearer {web.TOKEN}-of-bob"}

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_T_HTTP_TOKEN_in_other_places(self):
        """The right token where none is looked for, and none, half, or two where one is."""
        server = self.server
        for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Basic {web.TOKEN}"},
                        {"Authorization": f"Bearer {web.TOKEN[:-1]}"}, {"Authorization": f"Bearer {web.TOKEN}\tx"},
                        {"Cookie": f"token={web.TOKEN}"}, {"X-Token": web.TOKEN}, {"Proxy-Authorization": f"Bearer {web.TOKEN}"},
                        {"Authorization": "Bearer ann"}, {"Authorization": "Bearer " + "x" * 10_000}):
            self.assertEqual(server.post(CREATE, headers).status, 401, headers)
        for query in (f"token={web.TOKEN}", f"access_token={web.TOKEN}"):
            self.assertEqual(server.request("POST", f"/rpc?{query}", CREATE, web.JSON).status, 401)
        self.assertEqual(sessions(server, self.ann), [])

    def test_T_HTTP_TOKEN_is_not_told(self):
        """Neither the log nor any answer says what a token is."""
        answer = self.server.post(LIST, {"Authorization": f"Bearer {web.TOKEN}x"})
        self.assertNotIn(web.TOKEN.encode(), answer.body)
        self.server.rpc("session.list", self.ann)
        self.assertNotIn(web.TOKEN, self.server.said())

    def test_T_HTTP_TOKEN_of_another(self):
        """A caller with a token of his own, at the session of another one."""
        server = self.server
        session = server.rpc("session.create", self.ann)["session"]
        self.assertEqual(server.rpc("step.run", self.ann, session=session, code="x = 'kept'; 1")["status"], "ok")
        for method, more in (("session.get", {}), ("step.run", {"code": "1"}), ("session.close", {}), ("session.log", {}),
                             ("step.interrupt", {}), ("file.list", {}), ("file.read", {"path": "x"})):
            with self.assertRaises(web.Failed, msg=method) as failed:
                server.rpc(method, self.bob, session=session, **more)
            self.assertEqual(failed.exception.code, "not_found", method)
        self.assertEqual(sessions(server, self.bob), [])
        done = server.rpc("step.run", self.ann, session=session, code="x")
        self.assertEqual(done["value"]["text/plain"], "'kept'")
        server.rpc("session.close", self.ann, session=session)

    def test_T_HTTP_TOKEN_before_a_body_is_taken(self):
        """A stranger cannot make the engine hold anything: he is answered before his body."""
        before = self.server.memory_bytes()
        with self.server.raw() as raw:
            raw.say(web.head(length=60 << 20))
            self.assertEqual(raw.answer().status, 401)
        self.assertLess(self.server.memory_bytes() - before, 8 << 20)


class Flood(harness.Case):
    """Somebody who sends, or does not."""

    def test_T_HTTP_SMUGGLE_two_lengths(self):
        """A second request in what one of two lengths calls the body."""
        inner = web.post(CREATE)
        with web.Server() as server:
            for request in (web.head(length=len(inner), Transfer_Encoding="chunked") + b"0\r\n\r\n" + inner,
                            web.head(length=0, Content_Length=len(inner)) + inner,
                            b"POST /rpc HTTP/1.1\nHost: localhost\nContent-Length: +5\n\n" + inner,
                            b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length : 5\r\n\r\n" + inner,
                            b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n" + inner):
                with server.raw() as raw:
                    raw.say(request)
                    raw.sock.shutdown(socket.SHUT_WR)
                    said = raw.file.read()
                self.assertNotIn(b"HTTP/1.1 200", said, request)
                self.assertEqual(sessions(server), [], request)

    def test_T_HTTP_SMUGGLE_behind_chunks(self):
        """A second request behind a body in chunks, whose end others may see elsewhere; or behind a length that is none."""
        inner = web.post(CREATE)
        outer = b'{"jsonrpc":"2.0","id":1,"method":"engine.info"}'
        with web.Server() as server:
            for lines in (b"2f\r\n%s\r\n0\r\n\r\n", b"2f\n%s\n0\n\n", b" 2f \r\n%s\r\n0\r\nHost: x\r\n\r\n", b"2f;a=b\r\n%s\r\n0\r\n\r\n"):
                with server.raw() as raw:
                    raw.say(web.head(Transfer_Encoding="chunked") + lines % outer + inner)
                    self.read_to_the_end(raw)
                self.assertEqual(sessions(server), [], lines)
            for length in (b"-1", b"5, 5", b"0x2f", b"9" * 23, b"", b"+0"):
                with server.raw() as raw:
                    raw.say(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n" + inner)
                    self.assertNotIn(b" 200 ", self.read_to_the_end(raw))
                self.assertEqual(sessions(server), [], length)

    @staticmethod
    def read_to_the_end(raw):
        try:
            return raw.file.read()
        except ConnectionResetError:  # something of ours was not read
            return b""

    def test_T_HTTP_SLOW_clients_that_hold_every_place(self):
        """Connections that say a byte now and then, until no place is free: they are ended, and others served."""
        with web.Server("--connections", "20", "--request-timeout", "1s", "--idle-timeout", "1s") as server:
            held = [server.raw() for _ in range(30)]
            for i, raw in enumerate(held):
                raw.say((b"", b"POST /rpc HTTP/1.1\r\nHost: ", web.head(length=1 << 20) + b"{")[i % 3])
            self.assertTrue(web.wait(lambda: server.request("GET", "/healthz").status == 200))
            for raw in held:
                self.assertTrue(raw.is_closed())
                raw.close()

    def test_T_HTTP_SLOW_bodies_that_fill_the_memory(self):
        """Bodies at their limit, on many connections, none of which ends."""
        with web.Server("--request-timeout", "2s") as server:
            before = server.memory_bytes()
            stop = threading.Event()

            def send(raw):
                try:
                    raw.say(web.head(length=64 << 20))
                    for _ in range(63):
                        raw.say(b" " * (1 << 20))
                    stop.wait(web.ANSWER_S)
                except OSError:
                    pass

            raws = [server.raw() for _ in range(12)]
            threads = [threading.Thread(target=send, args=(raw,)) for raw in raws]
            for thread in threads:
                thread.start()
            most = [0]
            self.assertTrue(web.wait(lambda: most.append(server.memory_bytes()) or len(most) > 50))
            self.assertLess(max(most) - before, 1200 << 20)  # buffers double; 768 MiB were offered, 512 are taken
            self.assertEqual(server.request("GET", "/healthz").status, 200)
            stop.set()
            for thread in threads:
                thread.join()
            for raw in raws:
                raw.close()
            self.assertTrue(web.wait(lambda: server.memory_bytes() - before < 100 << 20))

    def test_T_HTTP_LOG_lines_of_the_attackers(self):
        """A line of the log, or an escape for the terminal it is read on, in a path or a method."""
        with web.Server() as server:
            for path in ("/x%0a2026-01-01T00:00:00.000Z%20ann", "/\x1b[2J".replace("\x1b", "%1b"), "/x\x7f\x9b2J"):
                with server.raw() as raw:
                    raw.say(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
                    raw.answer()
            with server.raw() as raw:
                raw.say(web.post(web.question("no\nsuch\x1b[2J\x07 method")))
                raw.answer()
            server.wait_for("no?such")
            for line in server.said().splitlines():
                self.assertTrue(line.startswith("retort: ") or re.fullmatch(r"\d{4}-\S+Z( \S+){4} \d+ \d+ms \d+>\d+", line), line)
            self.assertRegex(server.said(), r"\A[\n -~]*\Z")

    def test_T_HTTP_BOX_that_calls_its_own_engine(self):
        """Code in a box at the port of the engine, on every address that could be the host's."""
        with web.Server() as server:
            session = server.rpc("session.create")["session"]
            code = ("import socket\n"
                    "told = []\n"
                    "for host in ('127.0.0.1', '0.0.0.0', '10.0.2.2', '172.17.0.1', 'localhost'):\n"
                    "    try:\n"
                    f"        socket.create_connection((host, {server.port}), 2)\n"
                    "        told.append(host)\n"
                    "    except OSError: pass\n"
                    "told")
            done = server.rpc("step.run", session=session, code=code)
            self.assertEqual(done["value"]["text/plain"], "[]")


class Tls(harness.Case):
    """Somebody on the network, and code in a box, against an engine with a certificate."""

    @classmethod
    def setUpClass(cls):
        cls.tls = web.Identity()
        cls.addClassCleanup(cls.tls.close)
        cls.server = web.Server("--connections", "20", tokens=f"ann {web.TOKEN}\n", tls=cls.tls)
        cls.addClassCleanup(cls.server.stop)
        cls.bearer = {"Authorization": f"Bearer {web.TOKEN}"}

    def test_T_HTTP_TLS_talk_in_the_clear(self):
        """A request without TLS, with the token that a careless client sends: it is not served, and its answer tells nothing."""
        with web.Raw(self.server.port) as raw:
            raw.say(web.post(CREATE, **self.bearer))
            answer = raw.answer()
            self.assertEqual(answer.status, 400)
            self.assertNotIn(web.TOKEN.encode(), answer.body)
            self.assertTrue(raw.is_closed())
        self.assertEqual(sessions(self.server, self.bearer), [])

    def test_T_HTTP_TLS_old_protocols(self):
        """Somebody in between has the client offer TLS 1.1 at most."""
        context = self.tls.context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=web.ANSWER_S) as sock:
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                context.wrap_socket(sock, server_hostname="localhost")

    def test_T_HTTP_TLS_flood_of_handshakes(self):
        """Connections that begin a handshake and do not go on: others are served, and memory is bounded."""
        hello, before = ssl.MemoryBIO(), self.server.memory_bytes()
        client = self.tls.context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
        with self.assertRaises(ssl.SSLWantReadError):
            client.do_handshake()
        data, held = hello.read(), []
        for i in range(300):
            sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=web.ANSWER_S)
            self.addCleanup(sock.close)
            held.append(sock)
            try:
                sock.sendall(data)
            except ConnectionError:
                pass
            if i % 100 == 99:
                self.assertEqual(sessions(self.server, self.bearer), [])
        if not harness.IS_SANITIZED:
            self.assertLess(self.server.memory_bytes() - before, 30 << 20)

    def test_T_HTTP_TLS_key_in_a_box(self):
        """The file is out of reach, and no copy of the key is in the memory of a box."""
        with open(self.tls.key, "rb") as f:
            der = ssl.PEM_cert_to_DER_cert(f.read().decode().replace("PRIVATE KEY", "CERTIFICATE"))
        scalar = der[der.index(b"\x04\x20") + 2:][:32]
        code = f"""
import hashlib, os
found, first = [], bytes.fromhex("{scalar[:8].hex()}")
for line in open("/proc/self/maps"):
    span, flags = line.split()[:2]
    begin, end = (int(x, 16) for x in span.split("-"))
    if "r" not in flags or "[v" in line: continue
    try:
        with open("/proc/self/mem", "rb", 0) as f:
            f.seek(begin)
            data = f.read(end - begin)
    except (OSError, OverflowError): continue
    at = data.find(first)
    while at >= 0:
        found.append(hashlib.sha256(data[at + 8:at + 32]).hexdigest())
        at = data.find(first, at + 1)
(os.path.exists({self.tls.key!r}), len(found) > 0, "{hashlib.sha256(scalar[8:]).hexdigest()}" in found)
"""
        session = self.server.rpc("session.create", self.bearer)["session"]
        record = self.server.rpc("step.run", self.bearer, session=session, code=code)
        self.server.rpc("session.close", self.bearer, session=session)
        # The code finds its own copy of the first bytes, but nothing that goes on as the key does.
        self.assertEqual(record.get("value", {}).get("text/plain"), "(False, True, False)", record)


if __name__ == "__main__":
    harness.main()
