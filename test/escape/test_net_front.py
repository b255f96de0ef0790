# SPDX-License-Identifier: Apache-2.0
"""T-NET-FRONT: at a server that an allowed name leads to, ask for another host, so that no server of the host's sees it."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import netbox  # noqa: E402

# In the box: a ClientHello, in parts.
HELLO = r"""
def number(n, size):
    return n.to_bytes(size, "big")

def vector(data, size):
    return number(len(data), size) + data

def sni(*names, kind=0):
    return number(0, 2) + vector(vector(b"".join(number(kind, 1) + vector(n.encode("latin-1"), 2) for n in names), 2), 2)

def extension(kind, data=b""):
    return number(kind, 2) + vector(data, 2)

ECH = extension(0xfe0d, b"\0" + bytes(40))

def hello(*extensions, more=b""):
    body = b"\3\3" + bytes(32) + vector(b"", 1) + vector(b"\x13\1\x13\2", 2) + vector(b"\0", 1)
    return b"\1" + vector(body + vector(extension(43, b"\2\3\4") + b"".join(extensions), 2), 3) + more

# In records of @size bytes
def records(message, size=16384, kind=22):
    return b"".join(number(kind, 1) + b"\3\1" + vector(message[i:i + size], 2) for i in range(0, len(message), size))

def tls(*extensions, **more):
    return say("api.test", 443, records(hello(*extensions), **more))

def get(*lines, pause=0, target="/", version="HTTP/1.1", method="GET"):
    return say("api.test", 80, "\r\n".join(["%s %s %s" % (method, target, version), *lines, "", ""]), pause=pause)
"""


class Front(netbox.Case):
    servers = ("api.test:80", "api.test:443", "db.test:6000")
    prelude = netbox.PRELUDE + HELLO
    waits = True

    def test_T_NET_FRONT_no_server_heard_of_it(self):
        """Of all that names evil.test, no byte that could be understood arrived at a server, except at those that are
        documented as not covered: these say "also"."""
        heard = [h for one in self.server.values() for h in one.heard]
        self.assertGreater(len(heard), 5)
        self.assertEqual([h for h in heard if b"evil" in h and b"also" not in h], [])


    # ---- HTTP ----

    @attack.inside(["reached"] * 6)
    def test_T_NET_FRONT_control_http():
        """Not an attack: the host itself, in each of its spellings."""
        return [get("Host: api.test"), get("Host: API.Test."), get("host:api.test:80  "), get("Host: api.test", target="http://api.test/"),
                get("Host: api.test", target="*", method="OPTIONS"), get("A: b", target="http://api.test/", version="HTTP/1.0")]

    @attack.inside("ECONNRESET")
    def test_T_NET_FRONT_names_another_host():
        """Host: evil.test."""
        return get("Host: evil.test")

    @attack.inside(["ECONNRESET"] * 5)
    def test_T_NET_FRONT_names_a_host_like_it():
        """Above, below, before and behind the name."""
        return [get("Host: " + h) for h in ("test", "evil.api.test", "evilapi.test", "api.test.evil", "api-test")]

    @attack.inside(["ECONNRESET"] * 4)
    def test_T_NET_FRONT_names_two_hosts():
        """Host twice, in both orders, with the second one in another case, and twice the same."""
        return [get("Host: api.test", "Host: evil.test"), get("Host: evil.test", "Host: api.test"),
                get("Host: api.test", "X: y", "hOST: evil.test"), get("Host: api.test", "Host: api.test")]

    @attack.inside(["ECONNRESET"] * 6)
    def test_T_NET_FRONT_names_two_hosts_in_one():
        """A list, a blank, a comment, a path: servers may take the first or the last."""
        return [get("Host: " + h) for h in ("api.test, evil.test", "api.test evil.test", "api.test\tevil.test", "evil.test#api.test",
                                            "api.test/evil.test", "api.test;evil.test")]

    @attack.inside(["ECONNRESET"] * 4)
    def test_T_NET_FRONT_names_another_host_in_the_target():
        """The absolute form, which is more than Host for most servers; with https, with another scheme, without Host."""
        return [get("Host: api.test", target="http://evil.test/"), get("Host: api.test", target="HTTPS://evil.test/"),
                get("Host: api.test", target="ws://evil.test/"), get("A: b", target="http://evil.test/", version="HTTP/1.0")]

    @attack.inside("ECONNRESET")
    def test_T_NET_FRONT_names_it_in_the_target_only():
        """And the other way round: the target names the host, and Host another."""
        return get("Host: evil.test", target="http://api.test/")

    @attack.inside(["ECONNRESET"] * 7)
    def test_T_NET_FRONT_names_a_user():
        """Userinfo, which some take for the host: in Host, in the target, with what ends a host for some readers."""
        return [get("Host: api.test@evil.test"), get("Host: evil.test@api.test")] + [
            get("Host: api.test", target="http://" + a) for a in (
                "api.test@evil.test/", "evil.test@api.test/", "evil.test:80#@api.test/", "api.test\\@evil.test/", "api.test:80@evil.test/")]

    @attack.inside(["ECONNRESET"] * 4)
    def test_T_NET_FRONT_connects_through_it():
        """CONNECT, to others and to the host itself, in other cases of the target."""
        return [get("Host: api.test", method="CONNECT", target=t) for t in ("evil.test:443", "api.test:443", "http://evil.test/", "/")]

    @attack.inside(["ECONNRESET"] * 4)
    def test_T_NET_FRONT_folds_lines():
        """A value that goes on in the next line; a name, too."""
        return [get("Host:", " evil.test"), get("Host: api.test", " .evil.test"), get("X: y", "\tHost: evil.test", "Host: api.test"),
                get(" Host: evil.test", "Host: api.test")]

    @attack.inside(["ECONNRESET"] * 6)
    def test_T_NET_FRONT_ends_lines_in_its_own_way():
        """A bare LF, which some take for the end of a line or of the head, and a bare CR."""
        return [say("api.test", 80, t) for t in (
            "GET / HTTP/1.1\nHost: api.test\n\n", "GET / HTTP/1.1\r\nX: y\nHost: api.test\r\n\r\n", "GET / HTTP/1.1\nHost: evil.test\n\n", "GET / HTTP/1.1\r\nX: y\nHost: evil.test\r\nHost: api.test\r\n\r\n",
            "GET / HTTP/1.1\r\nX: y\rHost: evil.test\r\nHost: api.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: api.test\r\nX: y\n\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")]

    @attack.inside(["ECONNRESET"] * 5)
    def test_T_NET_FRONT_hides_a_field():
        """A blank before the colon, other bytes in the name, a NUL in it or in the value, no colon."""
        return [get(h, "Host: api.test") for h in ("Host : evil.test", "Host\0: evil.test", "Host\x0b: evil.test", "X: \0\nHost: evil.test",
                                                   "Host evil.test")]

    @attack.inside(["ECONNRESET"] * 6)
    def test_T_NET_FRONT_hides_the_request_line():
        """Blank lines first, blanks, lower case, several blanks, a tab, a version of its own."""
        rest = "\r\nHost: evil.test\r\n\r\n"
        return [say("api.test", 80, t + rest) for t in ("\r\n\r\nGET / HTTP/1.1", " GET / HTTP/1.1", "get / http/1.1", "GET  /  HTTP/1.1",
                                                        "GET\t/\tHTTP/1.1", "GET / HTTP/1.9")]

    @attack.inside(["ECONNRESET"] * 3)
    def test_T_NET_FRONT_names_nobody():
        """No Host, an empty one, or an address."""
        return [get("X: y"), get("Host:"), get("Host: 127.0.0.1")]

    @attack.inside(["ECONNRESET"] * 2)
    def test_T_NET_FRONT_uses_http_0_9():
        """One line without a version, which names another host; nginx and others serve it."""
        return [say("api.test", 80, "GET http://evil.test/also\r\n"), say("api.test", 80, "GET  x://evil.test/also\n")]

    @attack.inside("ECONNRESET")
    def test_T_NET_FRONT_writes_a_long_head():
        """The Host comes behind more bytes than are looked at."""
        return get("X: " + "y" * 20000, "Host: evil.test")

    @attack.inside(["ECONNRESET"] * 2)
    def test_T_NET_FRONT_speaks_http2():
        """HTTP/2 in the clear, in which each request names its own host; also in pieces."""
        return [say("api.test", 80, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), say("api.test", 80, "PRI * HT", "TP/2.0\r\n\r\nSM\r\n\r\n", pause=0.3)]

    @attack.inside(["ECONNRESET", "ECONNRESET"])
    def test_T_NET_FRONT_sends_a_byte_at_a_time():
        """What was sent on after a pause is still looked at with what follows."""
        text = "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        return [say("api.test", 80, *text), say("api.test", 80, text[:8], text[8:20], text[20:], pause=0.3)]

    @attack.inside("ECONNRESET", "")
    def test_T_NET_FRONT_closes_its_side():
        """Half of a head, and then the end: it is not passed on as it is."""
        return say("api.test", 80, "GET / HTTP/1.1\r\nHost: evil.test\r\n", half=True)

    @attack.inside(["ECONNRESET"] * 2)
    def test_T_NET_FRONT_uses_another_port():
        """HTTP and TLS are looked at whatever the port."""
        return [say("db.test", 6000, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"), say("db.test", 6000, records(hello(sni("evil.test"))))]

    # ---- TLS ----

    @attack.inside(["reached"] * 6)
    def test_T_NET_FRONT_control_tls():
        """Not an attack: hellos for the host, in many records, in one with a false ECH, in other cases."""
        return [tls(sni("api.test")), tls(sni("API.test.")), tls(sni("api.test"), size=8), tls(ECH, sni("api.test")),
                say("api.test", 443, *[bytes([b]) for b in records(hello(sni("api.test")))]), say("api.test", 80, records(hello(sni("api.test"))))]

    @attack.inside(["ECONNRESET"] * 3)
    def test_T_NET_FRONT_says_another_name():
        """SNI of another host, of one below, and an outer name of ECH."""
        return [tls(sni("evil.test")), tls(sni("evil.api.test")), tls(ECH, sni("evil.test"))]

    @attack.inside(["ECONNRESET"] * 3)
    def test_T_NET_FRONT_says_no_name():
        """No SNI, an empty one, none but ECH: the server's default host would answer."""
        return [tls(), tls(sni("")), tls(ECH)]

    @attack.inside(["ECONNRESET"] * 5)
    def test_T_NET_FRONT_says_two_names():
        """Two in a list, two extensions, of both orders; one of an unknown kind."""
        return [tls(sni("api.test", "evil.test")), tls(sni("evil.test", "api.test")), tls(sni("api.test"), sni("evil.test")),
                tls(sni("evil.test"), sni("api.test")), tls(sni("api.test", kind=1))]

    @attack.inside(["ECONNRESET"] * 4)
    def test_T_NET_FRONT_says_no_name_of_a_host():
        """A NUL, an address, blanks, other bytes."""
        return [tls(sni(n)) for n in ("api.test\0.evil.test", "127.0.0.1", "api.test ", "\xe4pi.test")]

    @attack.inside(["ECONNRESET"] * 3)
    def test_T_NET_FRONT_spreads_the_hello():
        """Another name in records of a byte, in packets of a byte, in more records than are looked at."""
        evil = records(hello(sni("evil.test")), size=8)
        return [say("api.test", 443, evil), say("api.test", 443, *[evil[i:i + 1] for i in range(len(evil))]),
                tls(sni("evil.test"), size=1)]

    @attack.inside(["ECONNRESET"] * 5)
    def test_T_NET_FRONT_puts_something_first():
        """An alert, an empty record, another message, a change of ciphers, application data."""
        evil = records(hello(sni("evil.test")))
        return [say("api.test", 443, first + evil) for first in (
            b"\x15\3\1\0\2\1\0", b"\x16\3\1\0\0", b"\x16\3\1\0\4\0\0\0\0", b"\x14\3\1\0\1\1", b"\x17\3\1\0\1\0")]

    @attack.inside(["ECONNRESET"] * 2)
    def test_T_NET_FRONT_puts_something_behind():
        """A second hello in the record of the first; a length that is not that of the record."""
        good = hello(sni("api.test"))
        return [say("api.test", 443, records(good + hello(sni("evil.test")))), say("api.test", 443, records(b"\1" + number(len(good) - 8, 3) + good[4:]))]

    @attack.inside(["ECONNRESET"] * 2)
    def test_T_NET_FRONT_speaks_ssl2():
        """A hello of SSL 2, which has no name, in its own form and in that of SSL 3."""
        return [say("api.test", 443, b"\x80\x2e\1" + version + b"\0\x15\0\0\0\x10" + bytes(37)) for version in (b"\0\2", b"\3\1")]

    @attack.inside(["ECONNRESET"] * 3)
    def test_T_NET_FRONT_says_an_impossible_version():
        """Some servers look at the first digit only."""
        evil = records(hello(sni("evil.test")))
        return [say("api.test", 443, evil[:1] + version + evil[3:]) for version in (b"\0\0", b"\3\xff", b"\x0f\0")]

    @attack.inside("ECONNRESET")
    def test_T_NET_FRONT_makes_the_hello_long():
        """The name comes behind more bytes than are looked at."""
        return tls(extension(21, bytes(17000)), sni("evil.test"))

    @attack.inside("ECONNRESET", "")
    def test_T_NET_FRONT_ends_the_hello_early():
        """Half of a hello, and then the end: it is not passed on."""
        return say("api.test", 443, records(hello(sni("evil.test")))[:60], half=True)

    # ---- what is documented as not covered ----

    @attack.inside(["reached", "reached"])
    def test_T_NET_FRONT_is_possible_later_in_http():
        """Further requests in a connection, or in the body of the first: whoever allows a server's port without TLS trusts
        the server not to serve others."""
        first, second = "GET / HTTP/1.1\r\nHost: api.test\r\n", "GET /also HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        return [say("api.test", 80, first + "\r\n" + second),
                say("api.test", 80, first + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second)]

    @attack.inside(["reached", "reached", "reached"])
    def test_T_NET_FRONT_is_possible_beside_the_host():
        """Fields that a server of the host may believe, a port of it, and a method of it; they name no other server."""
        return [get("Host: api.test", "X-Forwarded-Host: evil.test", "X: also"), get("Host: api.test:6000"),
                get("Host: api.test", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQAAP__")]

    @attack.inside(["reached"] * 3)
    def test_T_NET_FRONT_is_possible_behind_something_else():
        """A protocol that begins in the clear, as that between proxies; the second hello that a server asks for, and a name of ECH that is encrypted."""
        return [say("db.test", 6000, "PROXY TCP4 1.2.3.4 1.2.3.4 80 80\r\nGET /also HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
                say("db.test", 6000, "EHLO also\r\n", records(hello(sni("evil.test"), extension(65000, b"also"))), pause=0.3),
                say("api.test", 443, records(hello(ECH, sni("api.test"))) + records(hello(sni("evil.test"), extension(65000, b"also"))))]


class First(netbox.Case):
    """A server that speaks first decides what is spoken: nothing is compared."""

    @classmethod
    def known(cls):
        def greet(c):
            c.sendall(b"220 ready\r\n")
            cls.got = c.recv(100)
            c.sendall(b"heard")

        cls.greeter = netbox.upstream.Tcp(greet)
        cls.addClassCleanup(cls.greeter.stop)
        cls.options += ["--net", f"mail.test:25=127.0.0.1:{cls.greeter.port}"]
        return {}

    @attack.inside([b"220 ready\r\n".decode(), "heard"])
    def test_T_NET_FRONT_is_possible_with_a_server_of_its_own():
        """A server that helps the program can do so in any way; HTTP/2 in the clear, too, when the server greets first."""
        with socket.create_connection(("mail.test", 25), 20) as c:
            greeting = c.recv(100).decode()
            c.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            return [greeting, c.recv(100).decode()]


if __name__ == "__main__":
    harness.main()
