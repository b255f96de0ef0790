# SPDX-License-Identifier: Apache-2.0
"""HTTPS: what clients of all kinds see, and what a certificate that will not do is told."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import test_http  # noqa: E402
import test_http_ports  # noqa: E402
import test_http_terminal  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
NAMES = ("DNS:localhost", "DNS:*.e2b.test", "IP:127.0.0.1")


class OverTls:
    """Before a test case of HTTP: the same with TLS."""

    @classmethod
    def setUpClass(cls):
        web.Server.tls = web.Identity()
        cls.addClassCleanup(setattr, web.Server, "tls", None)
        cls.addClassCleanup(web.Server.tls.close)
        super().setUpClass()


class Routes(OverTls, test_http.Routes):
    pass


class Connections(OverTls, test_http.Connections):
    # Python's TLS has no half-closed connections.
    test_bad_requests_end_their_connection_only = None


class Streams(OverTls, test_http.Streams):
    pass


class Pages(OverTls, test_http.Pages):
    pass


# What is None runs other programs, with URLs of http:// and ws:// in the test.
class Ports(OverTls, test_http_ports.Requests):
    test_expect_continue = None


class PortSockets(OverTls, test_http_ports.Sockets):
    test_by_host = None
    test_node_as_client = None


class Terminals(OverTls, test_http_terminal.Use):
    pass


class Case(harness.Case):
    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.tls = web.Identity(NAMES)
        cls.addClassCleanup(cls.tls.close)
        cls.server = web.Server("--allow-host", "*.e2b.test", *cls.OPTIONS, tls=cls.tls)
        cls.addClassCleanup(cls.server.stop)

    def curl(self, *args, url="/healthz", host="localhost", scheme="https"):
        return subprocess.run(
            ["curl", "-sS", "--max-time", "60", "--resolve", f"{host}:{self.server.port}:127.0.0.1", *args,
             f"{scheme}://{host}:{self.server.port}{url}"], capture_output=True, check=False, text=True)

    def tcp(self):
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=web.ANSWER_S)
        self.addCleanup(sock.close)
        return sock

    def shake(self, context=None, name="localhost", sock=None):
        return (context or self.tls.context()).wrap_socket(sock or self.tcp(), server_hostname=name)

    def is_alive(self):
        return self.server.request("GET", "/healthz").status == 200


class Clients(Case):
    def test_curl(self):
        said = self.curl("--cacert", self.tls.ca)
        self.assertIn('"ok"', said.stdout, said.stderr)
        self.assertIn("https://127.0.0.1", self.server.said())
        self.assertNotIn("http://", self.server.said())

    def test_a_wildcard_certificate(self):
        for host in ("api.e2b.test", "49983-abc.e2b.test"):
            said = self.curl("--cacert", self.tls.ca, host=host)
            self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn('"ok"', self.curl("--cacert", self.tls.ca, host="api.e2b.test").stdout)

    def test_a_ca_that_is_not_trusted(self):
        self.assertEqual(self.curl().returncode, 60)
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.shake(ssl.create_default_context())

    def test_only_http_1_1_is_spoken(self):
        said = self.curl("--cacert", self.tls.ca, "--http2", "-o", "/dev/null", "-w", "%{http_version}")
        self.assertEqual(said.stdout, "1.1", said.stderr)
        context = self.tls.context()
        context.set_alpn_protocols(["h2"])
        with self.assertRaises(ssl.SSLError):
            self.shake(context)

    def test_old_versions_are_refused(self):
        for version, fits in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True)):
            context = self.tls.context()
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = version
            if fits:
                self.assertEqual(self.shake(context).version(), "TLSv1.2")
            else:
                with self.assertRaises(ssl.SSLError):
                    self.shake(context)

    def test_one_connection_for_many_requests(self):
        c = self.server.connect()
        self.addCleanup(c.close)
        ports = set()
        for _ in range(20):
            self.assertEqual(self.server.request("GET", "/healthz", connection=c).status, 200)
            ports.add(c.sock.getsockname())
        self.assertEqual(len(ports), 1)

    def test_a_session_is_resumed(self):
        context = self.tls.context()
        with self.shake(context) as first:
            first.sendall(web.head("/healthz", "GET"))
            first.recv(100)
            session = first.session
        with context.wrap_socket(self.tcp(), server_hostname="localhost", session=session) as second:
            self.assertTrue(second.session_reused)

    def test_plain_http_is_told_what_to_do(self):
        said = self.curl(scheme="http")
        self.assertIn("https://", said.stdout, said.stderr)
        with web.Raw(self.server.port) as raw:
            raw.say(web.post(web.question("session.create")))
            self.assertEqual(raw.answer().status, 400)
            self.assertTrue(raw.is_closed())
        self.assertEqual(self.server.rpc("session.list")["sessions"], [])

    def test_what_is_no_tls_is_closed(self):
        for data in (b"\x16", b"\x16\x03\x01\x40\x00" + b"x" * 5000, b"\x16\x03\x01\x00\x05hello", bytes(100), b"\x80\x2e\x01\x03"):
            sock = self.tcp()
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1000):
                pass
        self.assertTrue(self.is_alive())

    def test_a_client_that_is_cut_off_has_left(self):
        """A connection without its own end: the step is interrupted, as without TLS."""
        session = self.server.rpc("session.create")["session"]
        self.addCleanup(self.server.rpc, "session.close", session=session)
        raw = self.server.raw()
        raw.say(web.post(web.question("step.run", session=session, code="import time\nwhile True: time.sleep(.01)")))
        self.assertTrue(web.wait(lambda: self.server.is_running(session)))
        raw.close()
        self.assertTrue(web.wait(lambda: not self.server.is_running(session)))

    def test_pages_of_plain_http_are_of_another_origin(self):
        host = f"api.e2b.test:{self.server.port}"
        for scheme, status in (("https", 200), ("http", 403)):
            answer = self.server.request("POST", "/rpc", web.question("session.list"),
                                         {**web.JSON, "Host": host, "Origin": f"{scheme}://{host}"})
            self.assertEqual(answer.status, status, scheme)


class Limits(Case):
    OPTIONS = ("--request-timeout", "1s", "--idle-timeout", "3s", "--connections", "20")

    def test_a_handshake_that_does_not_end_is_ended(self):
        hello = ssl.MemoryBIO()
        client = self.tls.context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
        with self.assertRaises(ssl.SSLWantReadError):
            client.do_handshake()
        data = hello.read()
        for part in (b"", data[:1], data[:50], data):
            sock = self.tcp()
            sock.sendall(part)
            while sock.recv(65536):
                pass
        self.assertTrue(self.is_alive())

    def test_a_hello_that_comes_byte_by_byte(self):
        sock = self.tcp()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        outgoing, incoming = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.tls.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
        with self.assertRaises(ssl.SSLWantReadError):
            client.do_handshake()
        for byte in outgoing.read():
            sock.sendall(bytes([byte]))
        while True:
            data = sock.recv(65536)
            self.assertTrue(data, "the server has ended the connection")
            incoming.write(data)
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(outgoing.read())
        self.assertEqual(client.selected_alpn_protocol(), "http/1.1")

    def test_many_that_never_shake_hands(self):
        """They are replaced by those that come after them, and cost no memory of TLS."""
        before = self.server.memory_bytes()
        idle = [self.tcp() for _ in range(100)]
        self.assertTrue(self.is_alive())
        self.assertLess(self.server.memory_bytes() - before, 20 << 20)
        for sock in idle:
            try:
                while sock.recv(100):
                    pass
            except ConnectionError:
                pass
        self.assertTrue(self.is_alive())

    def test_an_idle_connection_is_closed(self):
        tls = self.shake()
        self.assertEqual(tls.recv(10), b"")

    def test_a_client_that_does_not_read_is_let_go(self):
        """What waits for it is bounded, and it is counted until its end."""
        session = self.server.rpc("session.create")["session"]
        n = self.server.n_fds()
        raw = self.server.raw(buffer_bytes=4096)
        raw.say(web.post(web.question("step.run", session=session, code="print('x' * 3_000_000)")))
        self.server.wait_for("step.run")
        if n is not None:
            self.assertTrue(web.wait(lambda: self.server.n_fds() <= n), (n, self.server.n_fds()))
        raw.close()
        self.server.rpc("session.close", session=session)


class Certificates(harness.Case):
    def setUp(self):
        self.tls = web.Identity(NAMES)
        self.addCleanup(self.tls.close)

    def refused(self, *options):
        done = harness.retort("serve", "--no-socket", "--no-journal", *options)
        self.assertNotEqual(done.status, 0)
        return done.err

    def refused_files(self, cert=None, key=None):
        return self.refused("--listen", "127.0.0.1:0", "--tls-cert", cert or self.tls.cert, "--tls-key",
                            key or self.tls.key)

    def put(self, name, text):
        path = os.path.join(self.tls.dir, name)
        with open(path, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(text)
        return path

    def test_options_that_belong_together(self):
        self.assertIn("--tls-key", self.refused("--listen", "127.0.0.1:0", "--tls-cert", self.tls.cert))
        self.assertIn("--tls-cert", self.refused("--listen", "127.0.0.1:0", "--tls-key", self.tls.key))
        self.assertIn("--listen", self.refused_files_without_listen())
        self.assertIn("--token-file", self.refused("--listen", "0.0.0.0:0", *self.tls.options))

    def refused_files_without_listen(self):
        return harness.retort("serve", "--no-journal", "--socket", os.path.join(self.tls.dir, "s"), *self.tls.options).err

    def test_files_that_will_not_do(self):
        other = os.path.join(self.tls.dir, "other.key")
        self.tls.make_key(other)
        self.assertIn("is not the key of", self.refused_files(key=other))
        self.assertIn("No such file", self.refused_files(cert="/no/such"))
        self.assertIn("No such file", self.refused_files(key="/no/such"))
        self.assertIn("no key in", self.refused_files(key=self.put("empty", "")))
        self.assertIn("BEGIN CERTIFICATE", self.refused_files(cert=self.put("junk", "junk\n")))
        self.assertIn("not a regular file", self.refused_files(cert=self.tls.dir))
        locked = os.path.join(self.tls.dir, "locked.key")
        self.tls.openssl("pkey", "-in", self.tls.key, "-aes256", "-passout", "pass:x", "-out", locked)
        os.chmod(locked, 0o600)
        self.assertIn("password", self.refused_files(key=locked))

    def test_a_key_that_others_may_read(self):
        os.chmod(self.tls.key, 0o644)
        said = self.refused_files()
        self.assertIn("others may read it", said)
        self.assertIn("chmod 600", said)

    def test_an_expired_certificate_is_a_warning(self):
        self.tls.sign(NAMES, "-days", "-1")
        with web.Server(tls=self.tls) as server:
            self.assertIn("has expired at", server.said())
            with self.assertRaises(ssl.SSLCertVerificationError):
                server.request("GET", "/healthz")

    def test_both_files_are_read_again(self):
        def serial():
            der = ssl.get_server_certificate(("127.0.0.1", server.port), ca_certs=self.tls.ca)
            return der
        with web.Server(tls=self.tls) as server:
            old, connection = serial(), server.connect()
            self.assertEqual(server.request("GET", "/healthz", connection=connection).status, 200)
            self.tls.sign(NAMES)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("has been read again")
            self.assertNotEqual(serial(), old)
            self.assertEqual(server.request("GET", "/healthz", connection=connection).status, 200)
            new = serial()
            self.put("cert.pem", "junk")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("stays in use")
            self.assertEqual(serial(), new)
            connection.close()


class Stopping(harness.Case):
    def test_what_runs_comes_to_its_end(self):
        tls = web.Identity(NAMES)
        self.addCleanup(tls.close)
        with web.Server(tls=tls) as server:
            session = server.rpc("session.create")["session"]
            raw = server.raw()
            raw.say(web.post(web.question("step.run", session=session, code="import time; time.sleep(1); 'x' * 100000")))
            self.assertTrue(web.wait(lambda: server.is_running(session)))
            begun = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begun, 60)
            self.assertEqual(raw.answer().json["result"]["status"], "ok")
            self.assertEqual(raw.sock.recv(1), b"")  # its end is that of TLS


if __name__ == "__main__":
    harness.main()
