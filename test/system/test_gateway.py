# SPDX-License-Identifier: Apache-2.0
"""The gateway connects programs of a box to what the rules of the box name, and to nothing else."""

import contextlib
import ipaddress
import os
import resource
import signal
import socket
import ssl
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gateway  # noqa: E402
import harness  # noqa: E402

ALLOWED, REFUSED, FAILED = range(3)


def client_hello(name):
    """The first bytes of a TLS client."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def is_reset(s):
    """Whether the connection is reset, and nothing came before."""
    try:
        return s.recv(1) == b"never"
    except ConnectionResetError:
        return True


def is_refused(connect, data=b""):
    """Whether a connection is reset: while it is made, or later."""
    with contextlib.suppress(ConnectionResetError), connect() as s:
        s.sendall(data)
        return is_reset(s)
    return True


def read_all(s):
    data = b""
    while part := s.recv(1 << 16):
        data += part
    return data


class Bench(harness.Case):
    rules = ()

    def setUp(self):
        super().setUp()
        self.server = self.start(gateway.Server(gateway.echo))
        self.box = self.start(gateway.Namespace())
        self.hosts = os.path.join(harness.make_dir(), "hosts")
        self.give_names("127.0.0.1 inside.example")
        self.gate = self.start(gateway.Gateway(self.hosts))

    def start(self, thing):
        self.addCleanup(thing.close)
        return thing

    def open(self, *rules, ports=(80, 443)):
        self.assertNotIn("error", self.gate.open(1, self.box, [r.format(self.server.port) for r in rules], ports))

    def give_names(self, *lines):
        with open(self.hosts, "w", encoding="ascii") as f:
            f.write("".join(line + "\n" for line in lines))

    def serve_at_own_address(self):
        """inside.example is this host, but not its loopback, which "!" does not allow. Returns: the address."""
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            try:
                s.connect(("192.0.2.1", 9))  # sends nothing
            except OSError:
                self.skipTest("this host has no address but the loopback")
            own = s.getsockname()[0]
        self.server = self.start(gateway.Server(gateway.echo, own))
        self.give_names(f"{own} inside.example")
        return own

    def rows(self):
        return self.gate.report(1)[0]

    def check_echo(self, s, data=b"\0one"):
        s.sendall(data)
        self.assertEqual(s.recv(len(data)), data)


class Names(Bench):
    def test_allowed_name_and_port(self):
        self.open("db:80=127.0.0.1:{}")
        with self.box.connect("db", 80) as s:
            self.check_echo(s)
            rows = self.rows()
            self.assertEqual(rows["db", 0, ALLOWED, ""]["n"], 1)
            row = rows["db", 80, ALLOWED, ""]
            self.assertEqual((row["n"], row["in"], row["out"]), (1, 4, 4))
            self.check_echo(s, b"again")
            row = self.rows()["db", 80, ALLOWED, ""]  # of a connection that stays open: what is new
            self.assertEqual((row["n"], row["in"], row["out"]), (0, 5, 5))
        self.assertIn(("db", 80, ALLOWED), [(r["name"], r["port"], r["verdict"]) for r in self.gate.rows])

    def test_other_names_and_types(self):
        self.open("db:80=127.0.0.1:{}")
        self.assertEqual(self.box.ask("evil.example"), (3, []))
        self.assertEqual(self.box.ask("stolen-data.evil.example", kind=16), (3, []))
        self.assertEqual(self.box.ask("db", kind=28), (0, []))
        self.assertIn(("stolen-data.evil.example", 0, REFUSED, "no rule names it"), self.rows())

    def test_other_ports(self):
        self.open("db:80=127.0.0.1:{}")
        self.assertTrue(is_refused(lambda: self.box.connect("db", 443)))
        self.assertIn(("db", 443, REFUSED, "no rule names this port"), self.rows())
        self.assertEqual(self.server.n, 0)

    def test_addresses_without_a_name(self):
        self.open("db:80=127.0.0.1:{}")
        self.assertTrue(is_refused(lambda: self.box.connect_to("198.18.77.77", 80)))
        self.assertTrue(is_refused(lambda: self.box.connect_to("127.0.0.1", 80)))
        rows = self.rows()
        self.assertIn(("198.18.77.77", 80, REFUSED, "it stands for no name"), rows)
        self.assertIn(("127.0.0.1", 80, REFUSED, "no rule names it"), rows)

    def test_address_that_is_not_public(self):
        """Whoever owns a name decides on its addresses; the rule's owner did not mean those of the host."""
        self.open("inside.example:80")
        self.assertTrue(is_refused(lambda: self.box.connect("inside.example", 80)))
        reasons = [reason for _, port, verdict, reason in self.rows() if (port, verdict) == (80, REFUSED)]
        self.assertRegex(reasons[0], r"^its address 127\.0\.0\.1 is loopback$")

    def test_address_that_may_be_private(self):
        self.serve_at_own_address()
        self.open("!inside.example:{}")
        with self.gate.hearing(), self.box.connect("inside.example", self.server.port) as s:
            self.check_echo(s)

    def test_each_address_is_checked(self):
        """Of a name with a public address and another, only the public one is dialled."""
        self.give_names("8.8.8.8 mixed.example", "127.0.0.1 mixed.example")
        self.open("mixed.example:{}")
        with self.gate.hearing(), contextlib.suppress(OSError), self.box.connect("mixed.example", self.server.port) as s:
            s.settimeout(1)
            self.assertEqual(s.recv(1), b"")
        self.assertEqual(self.server.n, 0)

    def test_server_that_accepts_late(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as late:
            at = late.getsockname()
            with socket.create_connection(at):  # who comes now has to wait
                self.open(f"late:80=127.0.0.1:{at[1]}")
                with self.box.connect("late", 80) as s:
                    s.sendall(b"\0two")
                    time.sleep(0.2)  # until the gateway has tried
                    late.accept()[0].close()
                    accepted = late.accept()[0]
                    accepted.settimeout(gateway.TIMEOUT_S)
                    with accepted:
                        self.assertEqual(accepted.recv(4), b"\0two")
                        accepted.sendall(b"back")
                        self.assertEqual(s.recv(4), b"back")

    def test_name_that_gets_a_private_address(self):
        """What was allowed once does not stay so when the name leads elsewhere (rebinding)."""
        self.give_names("8.8.8.8 moves.example")
        self.open("moves.example:80")
        address = self.box.ask("moves.example")[1][0]
        with contextlib.suppress(OSError), self.box.connect_to(address, 80) as s:
            s.settimeout(0.2)
            s.recv(1)
        self.give_names("127.0.0.1 moves.example")

        def is_refused_now():
            with contextlib.suppress(OSError), self.box.connect_to(address, 80) as s:
                s.settimeout(0.5)
                s.recv(1)
            return ("moves.example", 80, REFUSED, "its address 127.0.0.1 is loopback") in self.rows()
        self.until(is_refused_now)

    def test_fake_addresses_are_not_dialled(self):
        self.open("loop:80=198.18.0.1:80")
        self.assertTrue(is_refused(lambda: self.box.connect("loop", 80)))
        self.assertIn(("loop", 80, REFUSED, "its address 198.18.0.1 is for benchmarks"), self.rows())

    def test_literal_address(self):
        self.open("10.9.0.0/16:80")
        with self.box.connect_to("10.9.1.1", 80) as s:
            s.settimeout(0.5)
            with contextlib.suppress(OSError):
                s.recv(1)
        self.assertNotIn(REFUSED, [verdict for _, _, verdict, _ in self.rows()])

    def test_no_server(self):
        self.open("db:80=127.0.0.1:1")
        self.assertTrue(is_refused(lambda: self.box.connect("db", 80)))
        self.assertIn(("db", 80, FAILED, "connection refused"), self.rows())

    def test_unknown_name(self):
        self.open("*.invalid")
        self.assertTrue(is_refused(lambda: self.box.connect("nobody.invalid", 80)))
        [reason] = [reason for name, port, verdict, reason in self.rows() if verdict == FAILED]
        self.assertRegex(reason, "^its name (was not found|cannot be looked up now)$")

    def test_flood_of_names(self):
        self.open("*.example")
        for i in range(4096 + 10):
            code, found = self.box.ask(f"n{i}.example")
            self.assertEqual((code, len(found)), (0, 1) if i < 4096 else (2, 0))
        self.assertEqual(self.box.ask("n7.example"), (0, ["198.18.1.7"]))
        rows, n_more = self.gate.report(1)
        self.assertEqual((len(rows), n_more), (128, 4096 + 10 - 128))
        self.assertEqual(self.box.ask("more.example")[0], 2)
        self.assertIn(("more.example", 0, REFUSED, "the box has asked for more than 4096 names"), self.rows())


class Consent(Bench):
    """The rule `ask`: the engine says what a person has decided."""

    def setUp(self):
        super().setUp()
        self.own = self.serve_at_own_address()
        self.port = self.server.port
        self.open(f"!ask:{self.port}", "ask")

    def connect(self):
        """Connect to the server, while the gateway gets its socket."""
        with self.gate.hearing():
            return self.box.connect("inside.example", self.port)

    def test_allowed(self):
        with self.connect() as s, self.box.connect("inside.example", self.port) as other:
            s.sendall(b"\0early")
            self.assertEqual(self.rows(), {})  # nothing has happened yet
            self.assertEqual(self.server.n, 0)
            self.assertEqual(self.gate.answer(1, True), ("inside.example", self.port))
            self.assertEqual(s.recv(6), b"\0early")
            self.check_echo(other)  # of both, one question
            self.assertEqual(self.rows()["inside.example", self.port, ALLOWED, ""]["n"], 2)

    def test_refused(self):
        with self.connect() as s, self.box.connect("inside.example", 443) as other:
            self.assertEqual(self.gate.answer(1, False, "a person says no"), ("inside.example", self.port))
            self.assertTrue(is_reset(s))
            self.assertEqual(self.gate.answer(1, True), ("inside.example", 443))
            self.assertTrue(is_reset(other))
        rows = self.rows()
        self.assertIn(("inside.example", self.port, REFUSED, "a person says no"), rows)
        reason, = [why for name, port, _, why in rows if port == 443]
        self.assertTrue(reason.startswith(f"its address {self.own} is "), reason)  # that rule has no "!"
        self.assertTrue(is_refused(lambda: self.box.connect("inside.example", self.port)))  # it is not asked again
        self.assertEqual(self.server.n, 0)

    def test_forgotten(self):
        with self.connect() as s, self.box.connect("inside.example", 443) as waits:
            self.gate.answer(1, True)
            self.check_echo(s)
            self.gate.say("forget", 1)
            self.assertTrue(is_reset(s))
            self.assertTrue(is_reset(waits))
            rows = self.rows()
            self.assertNotIn(("inside.example", self.port, REFUSED), [row[:3] for row in rows])  # it was only left over
            self.assertIn(("inside.example", 443, REFUSED, "its step is over"), rows)
        self.gate.say("answer", 1, name="inside.example", port=self.port, is_allowed=True, reason="")  # to no question
        self.gate.hear("ask", 1)  # the second one of before
        with self.box.connect("inside.example", self.port) as s:
            self.assertEqual(self.gate.answer(1, True), ("inside.example", self.port))  # asked again
            self.check_echo(s)

    def test_rules_decide_meanwhile(self):
        with self.connect() as s:
            self.gate.hear("ask", 1)
            self.gate.replace(1, [f"!inside.example:{self.port}"])
            self.check_echo(s)
        self.gate.replace(1, ["other.example"])
        self.assertEqual(self.server.n, 1)

    def test_no_more_than_64_questions(self):
        self.gate.replace(1, ["ask"])
        with contextlib.ExitStack() as stack:
            for i in range(64):
                stack.enter_context(self.box.connect(f"n{i}.example", 80))
            self.assertTrue(is_refused(lambda: self.box.connect("one-more.example", 80)))
            self.assertIn(("one-more.example", 80, REFUSED, "its step has asked for 64 places already"), self.rows())


class OwnPorts(Bench):
    """Ports that programs of the box could use themselves."""

    def test_port_of_a_name(self):
        self.open("db:5432=127.0.0.1:{}")
        with self.gate.hearing():
            with self.box.connect("db", 5432) as s:
                self.check_echo(s)
            with self.box.socket(port=5432, host="127.0.0.1", listens=True), self.box.connect("db", 5432) as s:
                self.check_echo(s)

    def test_port_that_a_program_has(self):
        self.open("db:5432=127.0.0.1:{}", "both:5432=127.0.0.1:{}", "both:80=127.0.0.1:{}")
        with self.gate.hearing(), self.box.socket(port=5432, host="0.0.0.0", listens=True):
            self.assertEqual(self.box.ask("db"), (3, []))
            self.assertEqual(self.box.ask("both")[0], 0)
        self.assertIn(("db", 5432, FAILED, "its port is taken by a program of the box"), self.rows())
        with self.gate.hearing(), self.box.connect("db", 5432) as s:
            self.check_echo(s)

    def test_port_of_a_network(self):
        self.open("10.9.0.0/16:5432")

        def is_open():
            with self.gate.hearing(), contextlib.suppress(ConnectionRefusedError), self.box.connect_to("10.9.8.7", 5432):
                return True
            return False
        self.until(is_open)
        with self.assertRaises(ConnectionRefusedError):
            self.box.connect_to("10.9.8.7", 5433)

    def test_no_socket_comes(self):
        self.open("db:5432=127.0.0.1:{}")
        self.assertEqual(self.box.ask("db"), (2, []))  # nobody hears "want_socket"
        self.assertIn(("db", 0, FAILED, "the sockets for its ports were not made in time"), self.rows())


class FirstBytes(Bench):
    """What a client says to a server that serves many names."""

    def setUp(self):
        super().setUp()
        self.open("one.example:443=127.0.0.1:{}", "one.example:80=127.0.0.1:{}")

    def check_passes(self, port, *parts):
        with self.box.connect("one.example", port) as s:
            for part in parts:
                s.sendall(part)
                time.sleep(0.02 if len(parts) > 1 else 0)
            whole = b"".join(parts)
            got = b""
            while len(got) < len(whole):
                got += s.recv(1 << 16)
            self.assertEqual(got, whole)

    def check_refused(self, port, data, reason):
        self.assertTrue(is_refused(lambda: self.box.connect("one.example", port), data))
        self.assertIn(("one.example", port, REFUSED, reason), self.rows())

    def test_tls(self):
        hello = client_hello("one.example")
        self.check_passes(443, hello)
        self.check_passes(443, hello[:1], hello[1:50], hello[50:])
        self.check_refused(443, client_hello("two.example"), "TLS for another name (two.example)")
        self.check_refused(443, client_hello(None), "TLS without a name: nothing tells whom it is for")
        self.check_refused(80, client_hello("two.example"), "TLS for another name (two.example)")

    def test_http(self):
        self.check_passes(80, b"GET / HTTP/1.1\r\nHost: One.Example\r\n\r\n")
        self.check_passes(80, b"POST / HT", b"TP/1.1\r\nHost: one.example\r\n\r\nbody", b"more body")
        self.check_refused(80, b"GET / HTTP/1.1\r\nHost: two.example\r\n\r\n", "HTTP for another name (two.example)")
        malformed = "HTTP that is malformed, or can be read in two ways"
        self.check_refused(80, b"GET / HTTP/1.1\r\nHost: one.example\r\nHost: two.example\r\n\r\n", malformed)
        self.check_refused(80, b"GET http://two.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n", malformed)
        self.check_refused(80, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 without TLS, which may be for several names")
        self.check_refused(80, b"GET / HTTP/1.0\r\n\r\n", "HTTP without a name: nothing tells whom it is for")
        self.check_refused(443, b"GET / HTTP/1.1\r\nHost: two.example\r\n\r\n", "HTTP for another name (two.example)")

    def test_other_protocols(self):
        self.check_passes(443, b"\0\0\0\x08\x04\xd2\x16\x2f")  # SSLRequest of PostgreSQL
        self.check_passes(443, bytes(range(256)) * 1000)

    def test_end_in_the_middle(self):
        with self.box.connect("one.example", 80) as s:
            s.sendall(b"GET / HTTP/1.1\r\n")
            s.shutdown(socket.SHUT_WR)
            self.assertTrue(is_reset(s))
        self.assertIn(("one.example", 80, REFUSED, "its first message ends in the middle"), self.rows())

    def test_client_that_stalls(self):
        with self.box.connect("one.example", 80) as s:
            s.sendall(b"GET / HTTP/1.1\r\n")
            self.assertTrue(is_reset(s))
        self.assertIn(("one.example", 80, REFUSED, "its first message did not come within 10 s"), self.rows())


class Copying(Bench):
    def test_server_speaks_first(self):
        def greet(s):
            s.sendall(b"220 hello\r\n")
            gateway.echo(s)
        self.server = self.start(gateway.Server(greet))
        self.open("mail:25=127.0.0.1:{}", ports=(25,))
        with self.box.connect("mail", 25) as s:
            self.assertEqual(s.recv(11), b"220 hello\r\n")
            self.check_echo(s, b"GET / HTTP/1.1\r\nHost: other\r\n\r\n")

    def test_half_close(self):
        def answer_at_end(s):
            data = read_all(s)
            s.sendall(b"%d bytes" % len(data))
        self.server = self.start(gateway.Server(answer_at_end))
        self.open("db:80=127.0.0.1:{}")
        with self.box.connect("db", 80) as s:
            s.sendall(b"\1" * 300000)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(read_all(s), b"300000 bytes")
        with self.box.connect("db", 80) as s:
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(read_all(s), b"0 bytes")

    def memory(self):
        with open(f"/proc/{self.gate.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    @harness.as_each
    def test_slow_reader(self):
        self.open("db:80=127.0.0.1:{}")
        before, sent = self.memory(), 0
        with self.box.connect("db", 80) as s:
            s.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                while sent < 64 << 20:
                    sent += s.send(b"\2" * 65536)
            self.assertLess(sent, 64 << 20)
            if not harness.IS_SANITIZED:
                self.assertLess(self.memory() - before, 4 << 20)
            s.settimeout(gateway.TIMEOUT_S)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(len(read_all(s)), sent)

    def wait_for_room(self, address):
        while True:
            with contextlib.suppress(ConnectionResetError), self.box.connect_to(address, 80) as s:
                self.check_echo(s)
                return

    def test_many_connections(self):
        """More than a box may have at once are refused; what has ended makes room."""
        self.open("db:80=127.0.0.1:{}")
        address = self.box.ask("db")[1][0]
        open_ones = [self.start(self.box.connect_to(address, 80)) for _ in range(512)]
        for s in open_ones:
            self.check_echo(s)
        for _ in range(3):
            self.assertTrue(is_refused(lambda: self.box.connect_to(address, 80)))
        self.assertEqual(self.rows()["db", 80, REFUSED, "the box has more than 512 connections"]["n"], 3)
        for s in open_ones:
            s.close()
        self.wait_for_room(address)
        for _ in range(1000):
            with self.box.connect_to(address, 80) as s:
                self.check_echo(s)


class Life(Bench):
    def test_rules_are_replaced(self):
        self.open("db:80=127.0.0.1:{}", "old:80=127.0.0.1:{}")
        with self.box.connect("db", 80) as kept, self.box.connect("old", 80) as ended:
            self.check_echo(kept)
            self.check_echo(ended)
            self.gate.replace(1, [f"db:80=127.0.0.1:{self.server.port}", f"new:80=127.0.0.1:{self.server.port}"])
            self.check_echo(kept)
            self.assertTrue(is_reset(ended))
            self.assertIn(("old", 80, REFUSED, "the rules have changed"), self.rows())
            self.assertEqual(self.box.ask("old"), (3, []))
            with self.box.connect("new", 80) as s:
                self.check_echo(s)

    def test_private_is_not_allowed_any_more(self):
        if ipaddress.ip_address(self.serve_at_own_address()).is_global:
            self.skipTest("this host has no private address")
        self.open("!inside.example:{}")
        with self.gate.hearing(), self.box.connect("inside.example", self.server.port) as s:
            self.check_echo(s)
            self.gate.say("rules", 1, rules=[f"inside.example:{self.server.port}"], has_resolver=False)
            self.assertTrue(is_reset(s))

    def test_box_is_closed(self):
        self.open("db:80=127.0.0.1:{}")
        with self.box.connect("db", 80) as s:
            self.check_echo(s)
            self.gate.say("close", 1)
            self.assertTrue(is_reset(s))
        with self.assertRaises(OSError):
            self.box.connect_to("198.18.1.0", 80)

    def test_boxes_are_apart(self):
        other = self.start(gateway.Namespace())
        self.open("db:80=127.0.0.1:{}")
        self.gate.open(2, other, ["one.example"])
        self.assertEqual(other.ask("db"), (3, []))
        self.assertEqual(self.box.ask("one.example"), (3, []))
        self.assertTrue(is_refused(lambda: other.connect_to("198.18.1.0", 80)))

    def test_wrong_rule(self):
        self.assertIn("error", self.gate.open(1, self.box, ["not a rule"]))

    def test_ends_with_the_engine(self):
        self.open("db:80=127.0.0.1:{}")
        self.gate.channel.close()
        self.assertEqual(self.gate.process.wait(gateway.TIMEOUT_S), 0)

    def test_engine_that_does_not_read(self):
        self.open("*.example")
        for i in range(2000):
            self.box.ask(f"n{i}.example")
        self.assertIsNone(self.gate.process.poll())
        self.assertEqual(len(self.rows()), 128)


@harness.as_each
class Lock(Bench):
    def test_what_is_left(self):
        with open(f"/proc/{self.start_and_read()}/status", encoding="ascii") as f:
            status = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
        self.assertEqual(int(status["CapEff"], 16) | int(status["CapPrm"], 16), 0)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def start_and_read(self):
        self.open("db:80=127.0.0.1:{}")
        return self.gate.process.pid


if __name__ == "__main__":
    harness.main()
