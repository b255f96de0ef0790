# SPDX-License-Identifier: Apache-2.0
"""Rules for HTTP requests: ask for what no rule allows, and hide a request in another one.

Most attempts are made twice, without TLS and with it. What the servers have heard decides: they take it apart by themselves.
"""

import os
import re
import shlex
import signal
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import netbox  # noqa: E402
import service  # noqa: E402
import test_net_front  # noqa: E402
import test_net_names  # noqa: E402
import upstream  # noqa: E402
from netbox import reply  # noqa: E402

setUpModule = test_net_names.setUpModule
PUBLIC, BAD = test_net_names.PUBLIC, test_net_names.BAD


SERVER_HELLO = "16030300"
BIG = reply(bytes(4 << 20))


def answer(request):
    """What the servers say, by the last part of the path."""
    what, _, query = request.target.partition("?")
    what = what.rpartition("/")[2]
    early = "HTTP/1.1 103 Early Hints\r\nLink: </evil>\r\n\r\n"
    return {
        "to": reply(status="302 Found", Location=query),
        "ws": reply(status="101 Switching Protocols", Upgrade=query or "websocket", Connection="Upgrade"),
        "unasked": reply(status="101 Switching Protocols", Upgrade="evil", Connection="Upgrade") + b"evil",
        "silent": b"", "big": BIG,
        "two": reply(b"first") + reply(b"evil"),
        "early": early.encode() + reply(b"early"),
        "both": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
    }.get(what, reply(b"reached\n"))


# In the box: the ClientHello of a usual client for api.test, with another text for a part of it, and with a further extension.
HELLO = r"""
def hello_of(old=b"", new=b"", more=b""):
    out = ssl.MemoryBIO()
    try:
        TLS.wrap_bio(ssl.MemoryBIO(), out, server_hostname="api.test").do_handshake()
    except ssl.SSLWantReadError:
        pass
    data = bytearray(out.read().replace(old, new))
    at = 43 + 1 + data[43]  # behind record, message, version, random, session
    at += 2 + int.from_bytes(data[at:at + 2], "big")  # ciphers
    at += 1 + data[at]  # compressions
    data[at + 2:at + 2] = more
    for place, size in ((3, 2), (6, 3), (at, 2)):
        data[place:place + size] = number(int.from_bytes(data[place:place + size], "big") + len(more), size)
    return bytes(data)

def said_to(*change):
    return say("api.test", 443, hello_of(*change))[:4].encode("latin-1").hex()
"""


class Requests(netbox.Hosts):
    prelude = netbox.PRELUDE + test_net_front.HELLO + netbox.REQUESTS + HELLO
    answer = staticmethod(answer)
    rules = ("GET api.test/v1/*", "POST api.test/v1/items", "DELETE api.test/v1/*/parts", "WEBSOCKET api.test/v1/ws",
             "GET other.test/only")

    def test_T_NET_REQUEST_no_server_heard_of_it(self):
        """Of all these attempts, the servers heard what a rule allows, and nothing that is no request."""
        allowed = {("GET", "/v1"), ("POST", "/v1/items"), ("DELETE", "/v1/a/parts")}
        for r in self.marked():
            path = "/v1" if r.method in ("GET", "HEAD") and r.target.startswith("/v1/") else r.target
            self.assertIn(("GET" if r.method == "HEAD" else r.method, path), allowed)
            self.assertIn(dict(r.fields)["host"].lower(), ("api.test", "api.test.", "api.test:80", "api.test:443"))
            self.assertNotIn("evil", r.target + str(r.fields))
        self.assertEqual(self.plain.bad + self.tls.bad, [])
        self.assertGreater(len(self.plain.requests), 20)
        self.assertGreater(len(self.tls.requests), 20)

    # ---- what is allowed ----

    @attack.inside([200] * 8 + [101])
    def test_T_NET_REQUEST_control():
        """Not an attack: what the rules allow is answered."""
        return [ask(), ask(method="HEAD"), ask(target="/v1/a%20b/%C3%BC"), ask(target="/v1/?x=/../y;z=//"), ask(target="/v1/"),
                ask(method="POST", target="/v1/items"), ask(method="DELETE", target="/v1/a/parts"), ask("hOST:API.test."),
                ask(HOST, *WS, target="/v1/ws")]

    # ---- methods and paths ----

    @attack.inside([403] * 9)
    def test_T_NET_REQUEST_with_another_method():
        """Methods that no rule names, also where another one is allowed."""
        return [ask(method=m) for m in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")] + [
            ask(method="GET", target="/v2/evil"), ask(method="PUT", target="/v1/items")]

    @attack.inside([403] * 6 + [0])
    def test_T_NET_REQUEST_spells_a_method():
        """Small letters, a control character, more letters than a method has, none."""
        return [ask(method=m, target="/v1/items") for m in ("get", "Post", "GET\x0b", "XGET", "G" * 40, "GET,POST", "")]

    @attack.inside([403] * 4 + [200])
    def test_T_NET_REQUEST_by_a_field_that_the_server_obeys():
        """The method of each such field must fit, too. Not covered: a server may take the path from elsewhere."""
        evil = "X-HTTP-Method-Override: DELETE"
        return [ask(HOST, evil), ask(HOST, "X-HTTP-Method-Override: GET", evil), ask(HOST, evil, "X-HTTP-Method-Override: GET"),
                ask(HOST, "x-method-override: GET", "X-HTTP-METHOD: GET", evil), ask(HOST, "X-Original-URL: /v2/also")]

    @attack.inside([200, 200])
    def test_T_NET_SMUGGLE_by_a_field_for_one_connection():
        """Fields that one of several Connection fields names are not passed on."""
        return [ask(HOST, "Connection: a, b", "Connection: c", "C: evil", "b: evil"), ask(HOST, "C: evil", "Connection: d", "Connection: c")]

    @attack.inside([403] * 7)
    def test_T_NET_REQUEST_for_another_path():
        """Beside, above, in other letters, with the allowed one elsewhere."""
        return [ask(target=t) for t in ("/v2/evil", "/v1", "/", "/v1evil", "/V1/evil", "/evil?/v1/x", "/evil/v1/x")]

    @attack.inside([403] * 9)
    def test_T_NET_REQUEST_goes_up():
        """Segments of dots, plain and escaped, and half escaped, also at the end."""
        return [ask(target="/v1/" + t) for t in ("../evil", "%2e%2e/evil", ".%2E/evil", "x/../../evil", ".", "..", "./evil", "%2e/evil", "x/..")]

    @attack.inside([403] * 8)
    def test_T_NET_REQUEST_goes_up_for_some_readers():
        """Twice escaped, overlong UTF-8, %u, full-width dots, half an escape, parameters behind dots."""
        return [ask(target="/v1/" + t) for t in ("%252e%252e/evil", "%c0%ae%c0%ae/evil", "%u002e%u002e/evil", "%e0%80%ae./evil", "%2/evil", "%/evil",
                                                 "..;/evil", "x;/../evil")]

    @attack.inside([403] * 8)
    def test_T_NET_REQUEST_hides_a_slash():
        """Escaped, twice, a backslash, two slashes, an empty segment."""
        return [ask(target=t) for t in ("/v1/..%2fevil", "/v1/%2e%2e%2Fevil", "/v1%2fevil", "/v1/x%5c..%5cevil", "/v1/..\\evil", "//v1/evil", "/v1//evil",
                                        "/v1/%255c..%255cevil")]

    @attack.inside([403] * 7)
    def test_T_NET_REQUEST_ends_its_path_early():
        """NUL, CR LF, blanks, controls as escapes; and what is no byte of a path."""
        return [ask(target="/v1/" + t) for t in ("%00evil", "%0d%0aevil", "%0aevil", "%7fevil", "\x7fevil", "\xfcevil", "a\tevil")]

    @attack.inside([403] * 4)
    def test_T_NET_REQUEST_has_a_fragment():
        """Some servers cut it off, others do not; behind the path, and behind a query."""
        return [ask(target=t) for t in ("/v1/x#/../evil", "/v1/x?evil#", "/evil#/v1/x", "/v1/x%23/../evil")]

    @attack.inside([403] * 5)
    def test_T_NET_REQUEST_leads_a_star_over_a_border():
        """The * of /v1/*/parts is one segment, whatever server reads it."""
        return [ask(method="DELETE", target="/v1/" + t) for t in ("evil/b/parts", "evil%2fb/parts", "evil%3fb/parts", "evil%23b/parts", "evil/parts/")]

    @attack.inside([403] * 4 + [400])
    def test_T_NET_REQUEST_has_no_path():
        """The asterisk, a path without its slash, a query alone, nothing."""
        return [ask(method="OPTIONS", target="*"), *(ask(target=t) for t in ("*", "v1/evil", "?/v1/evil", ""))]

    @attack.inside([403] * 6)
    def test_T_NET_REQUEST_in_the_absolute_form():
        """Of another host, of this one, with a user, with another scheme."""
        return [ask(target=t) for t in ("http://evil.test/v1/x", "http://api.test/evil", "http://api.test/v1/x?evil", "https://evil@api.test/v1/x",
                                        "http://api.test@evil.test/v1/x", "file:///v1/evil")]

    @attack.inside([403] * 4)
    def test_T_NET_REQUEST_connects_through_it():
        """CONNECT to others and to the host itself."""
        return [ask(method="CONNECT", target=t) for t in ("evil.test:443", "api.test:443", "/v1/evil", "http://evil.test/")]

    # ---- hosts ----

    @attack.inside([421] * 7)
    def test_T_NET_REQUEST_names_another_host():
        """A host that no rule names; one whose rules allow other paths; above, below, beside."""
        return [ask("Host: " + h, target="/only" if h == "other.test" else "/v1/evil") for h in (
            "evil.test", "other.test", "test", "evil.api.test", "evilapi.test", "api.test.evil", "127.0.0.1")]

    @attack.inside([421] * 4 + [400])
    def test_T_NET_REQUEST_names_two_hosts_or_none():
        """Twice, in both orders, twice the same, empty, missing."""
        return [ask("Host: api.test", "Host: evil.test"), ask("hOST: evil.test", "Host: api.test"), ask(HOST, HOST), ask("Host:"), ask("X: evil")]

    @attack.inside([421] * 8)
    def test_T_NET_REQUEST_names_two_hosts_in_one():
        """A list, a blank, a user, a path, ports that are not that of the connection."""
        return [ask("Host: " + h) for h in ("api.test, evil.test", "api.test evil.test", "evil.test@api.test", "api.test@evil.test", "api.test/evil",
                                            "api.test:81", "api.test:", "api.test:80:443")]

    @attack.inside(["no name", "no name", 421, "SSLZeroReturnError"])
    def test_T_NET_REQUEST_at_another_server():
        """Names that no rule has; the same server under another allowed name, by Host and by the name in TLS."""
        def failure(sni):
            try:
                return statuses(request(), True, host="other.test", sni=sni)
            except ssl.SSLError as e:
                return type(e).__name__
        return [say("evil.test", 80, "x"), say("evil.api.test", 443, "x"), ask(host="other.test"), failure("api.test")]

    @attack.inside([SERVER_HELLO] * 3)
    def test_T_NET_REQUEST_control_tls():
        """Not an attack: the name of the host, in capitals, and beside a name of ECH that is encrypted, which the gateway ignores."""
        return [said_to(), said_to(b"api.test", b"API.TEST"), said_to(b"", b"", ECH)]

    @attack.inside([""] * 7)
    def test_T_NET_REQUEST_says_another_name_in_tls():
        """Other names, ECH with an outer name of another, two names, no name of a host: none gets an answer."""
        return [said_to(b"api.test", b"evl.test"), said_to(b"api.test", b"evl.test", ECH), said_to(b"api.test", b"api\0test"), said_to(b"api.test", b"10.0.0.1"),
                said_to(b"", b"", sni("evil.test")), said_to(b"api.test", b"evl.test", sni("api.test")), said_to(b"api.test", b"api test")]

    # ---- other protocols ----

    @attack.inside([505, ["http/1.1", "HTTP/1.1"], 505])
    def test_T_NET_REQUEST_in_http2():
        """The preface of HTTP/2, in the clear and in TLS, and by ALPN, which agrees to HTTP/1.1 only."""
        preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        h2 = ssl.create_default_context()
        h2.set_alpn_protocols(["h2", "http/1.1"])
        with h2.wrap_socket(socket.create_connection(("api.test", 443), 20), server_hostname="api.test") as c:
            c.sendall(request().encode())
            chosen = [c.selected_alpn_protocol(), c.recv(8).decode()]
        return [*statuses(preface, False), chosen, *statuses(preface, True)]

    @attack.inside([502] * 5 + [403])
    def test_T_NET_REQUEST_asks_for_another_protocol():
        """h2c, TLS, lists, one behind an empty one: the server, which hears of none, switches unasked. A WebSocket by POST is a POST."""
        h2c = "HTTP2-Settings: AAMAAABkAAQAAP__"
        return [ask(HOST, "Connection: Upgrade, HTTP2-Settings", h2c, *u, target="/v1/ws") for u in (
            ["Upgrade: h2c"], ["Upgrade: TLS/1.2"], ["Upgrade: h2c, websocket"], ["Upgrade: websocket, h2c"], ["Upgrade:", "Upgrade: h2c"])] + [
            ask(HOST, *WS, method="POST", target="/v1/ws")]

    @attack.inside([403] * 4)
    def test_T_NET_REQUEST_for_a_web_socket():
        """Where there is no rule for one, or only for others; and an allowed path of one without it."""
        return [ask(HOST, *WS), ask(HOST, *WS, target="/v1/items"), ask(HOST, *WS, target="/v1/ws/evil"), ask(HOST, *WS, target="/v1/evil/../ws")]

    @attack.inside([200, 502])
    def test_T_NET_REQUEST_behind_a_web_socket():
        """A body behind the head, which is a request: what has a body is a request with this body, and no WebSocket."""
        evil = request(target="/v2/evil")
        more = (HOST, *WS, "Content-Length: %d" % len(evil))
        return [ask(*more, body=evil), ask(*more, target="/v1/ws", body=evil)]

    @attack.inside([101, 502])
    def test_T_NET_REQUEST_switches_to_another_protocol():
        """A WebSocket and h2c in two fields, of which the server hears the first; and a server that switches to something else."""
        return [ask(HOST, *WS, "Upgrade: h2c", target="/v1/ws"), ask(HOST, *WS, target="/v1/ws?h2c")]

    @attack.inside([502, "early", ["first", "first"], "ev"])
    def test_T_NET_REQUEST_is_answered_oddly():
        """A switch of protocols that nobody asked for; hints; two answers to one request, the second for the next; two lengths."""
        with connect(False) as c, c.makefile("rb") as f:
            two = []
            for _ in range(2):
                c.sendall(request(target="/v1/two").encode())
                while f.readline().strip():
                    pass
                two.append(f.read(5).decode())
        def body(path):
            return same(lambda tls: heard(request(HOST, "Connection: close", target=path), tls).rpartition("\n")[2])
        return [ask(target="/v1/unasked"), body("/v1/early"), two, body("/v1/both")]

    def test_T_NET_REQUEST_follows_a_redirection(self):
        """The gateway follows none; a client that does asks the rules again. See the attempt of the same name."""
        self.assertEqual([r.target for r in self.marked("/v1/to")], ["/v1/to?http://api.test/v2/evil".replace("evil", "e")] * 2)

    @attack.inside([302, 403])
    def test_T_NET_REQUEST_is_redirected():
        """To a path that no rule allows."""
        return [ask(target="/v1/to?http://api.test/v2/e"), ask(target="/v2/e")]

    # ---- much ----

    @attack.inside([True, 431, True, True, 414, 200])
    def test_T_NET_REQUEST_is_huge():
        """10,000 fields, a hundred, one of 200 KB, a target of 100 KB and of 9 KB; then one as usual. While more is being sent
        than a head may have, the end of the connection may overtake its answer."""
        def refused(*lines, **more):
            return {s for tls in (False, True) for s in statuses(request(*lines, **more), tls)} <= {414, 431}
        return [refused(HOST, *("X%d: y" % i for i in range(10000))), ask(HOST, *("X%d: y" % i for i in range(100))), refused(HOST, "X: " + "y" * 200000),
                refused(target="/v1/" + "y" * 100000), ask(target="/v1/" + "y" * 9000), ask()]

    # ---- one request in another ----

    @attack.inside([[200, 200], 200, 200])
    def test_T_NET_SMUGGLE_control():
        """Not an attack: two requests behind each other, a body of a length, and one in chunks."""
        return [ask(n=2, body=request(target="/v1/y")), ask(HOST, "Content-Length: 3", body="abc", method="POST", target="/v1/items"),
                ask(HOST, "Transfer-Encoding: chunked", body="3\r\nabc\r\n0\r\n\r\n", method="POST", target="/v1/items")]

    def test_T_NET_SMUGGLE_control_bodies(self):
        """The bodies arrived."""
        self.assertEqual([r.body for r in self.marked() if r.method == "POST"].count(b"abc"), 4)

    @attack.inside([[200, 403], [200, 403], [200, 403], [200, 403]])
    def test_T_NET_SMUGGLE_has_two_lengths():
        """A length and chunks, in both orders, and two lengths: what follows is a request, and refused."""
        evil = request(target="/v2/evil")
        return [ask(HOST, *ls, n=2, body=b + evil) for ls, b in (
            (("Content-Length: 60", "Transfer-Encoding: chunked"), "0\r\n\r\n"), (("Transfer-Encoding: chunked", "Content-Length: 60"), "0\r\n\r\n"),
            (("Content-Length: 5", "Content-Length: 60"), "12345"), (("Content-Length: 0", "Content-Length: 60"), ""))]

    @attack.inside([400, 400, 400, 400, 400, 413, 400])
    def test_T_NET_SMUGGLE_writes_its_length_oddly():
        """A list, signs, hexadecimal, a blank, too large, empty."""
        return [ask(HOST, "Content-Length: " + n, body="12345") for n in ("5, 5", "+5", "-5", "0x5", "5 5", "9" * 30, "")]

    @attack.inside([200] * 4)
    def test_T_NET_SMUGGLE_in_a_coding_that_is_none():
        """Codings that hide "chunked" from some readers: the body ends with the connection, and no request is in it. Another
        connection goes on meanwhile."""
        def go(tls, coding):
            with connect(tls) as c:
                text = request(HOST, "Transfer-Encoding: " + coding, "Content-Length: 5", body="0\r\n\r\n" + request(target="/v2/evil"))
                c.sendall(text.encode("latin-1"))
                return statuses(request(), tls)[0]
        return [same(lambda tls: go(tls, coding)) for coding in ("xchunked", "gzip, chunked", "\x0bchunked", "identity")]

    @attack.inside([[200, 403], [200, 403]])
    def test_T_NET_SMUGGLE_in_chunks_of_an_old_client():
        """Chunks in HTTP/1.0, and behind a tab."""
        evil = request(target="/v2/evil")
        return [ask(HOST, "Connection: keep-alive", "Transfer-Encoding: chunked", version="HTTP/1.0", body="0\r\n\r\n" + evil, n=2),
                ask(HOST, "Transfer-Encoding:\tchunked", body="0\r\n\r\n" + evil, n=2)]

    @attack.inside([400, 400, 400, 413, 400, [200, 403]])
    def test_T_NET_SMUGGLE_writes_chunks_oddly():
        """Hexadecimal signs, blanks, too large, no end; extensions, with a line break in them."""
        evil = request(target="/v2/evil")
        def chunks(text, **more):
            return ask(HOST, "Transfer-Encoding: chunked", body=text, **more)
        return [chunks("0x5\r\n12345\r\n0\r\n\r\n"), chunks("-5\r\n12345\r\n0\r\n\r\n"), chunks("+5\r\n12345\r\n0\r\n\r\n"),
                chunks("1" + "0" * 15 + "5\r\n12345\r\n0\r\n\r\n"), chunks("5\r\n123450\r\n\r\n" + evil),
                chunks("5;a=b\n12345\r\n0\r\n\r\n" + evil, n=2)]

    @attack.inside([200, [200, 403]])
    def test_T_NET_SMUGGLE_in_trailers():
        """Fields behind the chunks: a host, a length; they are no fields of the request, nor of the next one."""
        chunked, end = "Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n"
        return [ask(HOST, chunked, "Trailer: Host", body=end + "Host: evil.test\r\nX: evil\r\n\r\n"),
                ask(HOST, chunked, n=2, body=end + "Content-Length: 60\r\n\r\n" + request(target="/v2/evil"))]

    @attack.inside([421, 502, 421, 502])
    def test_T_NET_SMUGGLE_ends_lines_in_its_own_way():
        """A bare LF, which ends a line, and a bare CR, which does not; before a host, and before a length."""
        return [ask(HOST, "X: y\nHost: evil.test"), ask(HOST, "X: y\rHost: evil.test"), ask(HOST + "\nHost: evil.test"), ask(HOST, "X: y\rContent-Length: 5")]

    @attack.inside([502, 502, 502, 421])
    def test_T_NET_SMUGGLE_folds_lines():
        """A field that goes on in the next line; before all others; a name that does."""
        return [ask(HOST, "X: y", " Host: evil.test"), ask(" X: evil", HOST), ask(HOST, "Transfer-Encoding:", "\tchunked: evil"),
                ask(HOST, "Ho: evil.test", " st")]

    @attack.inside([502, 502, 502, 502, 400, 400])
    def test_T_NET_SMUGGLE_hides_a_field():
        """A blank before the colon or within, a semicolon, which means something to libcurl, a NUL, no colon."""
        return [ask(HOST, f) for f in ("Host : evil.test", "Transfer-Encoding\t: chunked", "X Y: evil", "Content-Length;: evil", "X\0Y: evil", "evil")]

    @attack.inside([200, 200, 0])
    def test_T_NET_SMUGGLE_cuts_with_nul():
        """A value and a target that have a NUL: what follows is nowhere; two targets are none."""
        return [ask(HOST, "X: y\0evil"), ask(target="/v1/x\0/../../evil"), ask(target="/v1/x /v2/evil")]

    @attack.inside([200, 200, 400, 505])
    def test_T_NET_SMUGGLE_as_a_body():
        """A GET whose body is a request; blank lines before the line; no version, and another one."""
        evil = request(target="/v2/evil")
        return [ask(HOST, "Content-Length: %d" % len(evil), body=evil), same(lambda tls: statuses("\r\n\r\n" + request(), tls)[0]),
                same(lambda tls: statuses("GET /v1/evil\r\n\r\n", tls)[0]), ask(version="HTTP/3.0")]

    @attack.inside([200, 200])
    def test_T_NET_SMUGGLE_drops_a_field():
        """Fields that Connection names, and those between proxies: the host stays, and the server hears nothing of them."""
        return [ask(HOST, "Connection: close, Host, X", "Keep-Alive: evil", "Proxy-Connection: evil", "TE: trailers, evil", "Trailer: evil"),
                ask(HOST, "Proxy-Authorization: evil", "Expect: evil", ":authority: evil.test")]


class Gateway(harness.Case):
    """Requests of one session that hold or outlive what they should not; another one looks whether it is served."""

    RULES = ["GET api.test/v1/*", "POST api.test/v1/items", "WEBSOCKET api.test/v1/ws"]
    OPEN = r"""
cs = []
def begin(text, tls):
    cs.append(connect(tls))
    cs[-1].sendall(text.encode("latin-1"))

def is_ended(c):
    try:
        return bool(select.select([c], [], [], 0)[0]) and c.recv(1) == b""
    except OSError:
        return True

half_body = request(HOST, "Content-Length: 1000000", method="POST", target="/v1/items", body="half")
# The half of a head comes last: it is given up after ten seconds.
WAYS = [request(target="/v1/big"), half_body, request(target="/v1/silent"), "GET /v1/x HTTP"]
"""

    @classmethod
    def setUpClass(cls):
        certificate = upstream.certificate(["api.test"])
        cls.env = {"SSL_CERT_FILE": certificate[0]}
        cls.plain, cls.tls = netbox.Web(answer), netbox.Web(answer, certificate)
        cls.net = [f"api.test:80=127.0.0.1:{cls.plain.port}", f"api.test:443=127.0.0.1:{cls.tls.port}"]
        for server in (cls.plain, cls.tls):
            cls.addClassCleanup(server.stop)

    def setUp(self):
        self.engine = service.Engine("--standby", "0", env=self.env)
        self.addCleanup(self.engine.stop)
        self.other = self.session(timeout_ms=5000)
        self.assertServed()
        self.gateway = netbox.gateway_of(self.engine)

    def session(self, **limits):
        s = self.engine.session(net=self.net + self.RULES, limits={"timeout_ms": 100000, "open_files": 4096} | limits)
        s.run(netbox.PRELUDE + netbox.REQUESTS + test_net_front.HELLO + HELLO + self.OPEN)
        return s

    def assertServed(self):
        r = self.other.run("print(ask())")
        self.assertEqual((r["status"], r["stdout"]), ("ok", "200\n"), r)

    def servers(self):
        return self.plain, self.tls

    def test_T_NET_REQUEST_begins_tls_and_waits(self):
        """A byte of a ClientHello, a half one, and a whole one whose answer nobody reads: others are served meanwhile."""
        s = self.session()
        for data in ("hello_of()[:1]", "hello_of()[:100]", "hello_of()"):
            s.run(f"cs.append(socket.create_connection(('api.test', 443), 20))\ncs[-1].sendall({data})")
            self.assertServed()

    def test_T_NET_REQUEST_holds_all_its_connections(self):
        """Answers that nobody reads, halves of heads and bodies, servers that say nothing: 512 in all, then no more. Others are
        served, the memory is bounded, and all is given back."""
        n_fds = len(os.listdir(f"/proc/{self.gateway}/fd")) if harness.IS_ROOT else 0
        s = self.session()
        r = s.run("for way in WAYS:\n    for i in range(60):\n        begin(way, False); begin(way, True)\n"
                  "more = []\nfor i in range(60):\n    try: more.append(socket.create_connection(('api.test', 80), 20))\n    except ConnectionResetError: pass\n"
                  "time.sleep(1)\nprint(len([c for c in more if not is_ended(c)]), len(cs))")
        self.assertEqual(r["stdout"], "32 480\n", r)
        self.assertServed()
        if not harness.IS_SANITIZED:
            self.assertLess(netbox.memory_of(self.gateway), 256 << 10)
        s.close()
        self.until(lambda: max(server.n_open for server in self.servers()) <= 8, "its connections to servers stayed")
        self.assertServed()
        if n_fds:
            self.until(lambda: len(os.listdir(f"/proc/{self.gateway}/fd")) <= n_fds, "its descriptors stayed")
        self.assertEqual(netbox.gateway_of(self.engine), self.gateway, "the gateway died")

    def test_T_NET_REQUEST_waits_for_a_server_that_waits(self):
        """A server sends its answer before it reads the request, and neither is read to its end: the request ends with an error, and
        a server that then reads on is waited for."""
        size = 32 << 20
        def answers_first(c):
            got = len(c.recv(100))
            c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + bytes(n_early))
            while got < size and (more := c.recv(1 << 16)):
                got += len(more)
        code = f"import urllib.request as u, urllib.error\ntry: r = u.urlopen('http://early.test/', bytes({size}), timeout=60)\n" \
            "except urllib.error.HTTPError as e: r = e\nprint(r.status, r.read().strip(b'\\0').decode())"
        reason = "its server answers before it has read the request, and waits"
        for n_early, said in ((1 << 16, "200 "), (2 * size, f"502 retort: early.test:80 refused: {reason}: send less in a request\n")):
            with upstream.Tcp(answers_first) as server:
                s = self.engine.session(net=[f"early.test:80=127.0.0.1:{server.port}", "POST early.test/*"], limits={"timeout_ms": 100000})
                r = s.run(code)
                self.assertEqual(r["stdout"], said + "\n", r)
                self.assertEqual([row["reason"] for row in netbox.rows(r, verdict="refused")], [reason] if "502" in said else [])
                self.assertServed()
                s.close()

    def test_T_NET_REQUEST_outlives_its_rules(self):
        """A request that waits, half a body, a WebSocket and a kept connection, from before the rules changed: no byte more arrives."""
        for net in (["GET api.test/v9/*"], []):
            s = self.session()
            s.run("ws = request(HOST, *WS, target='/v1/ws')\nfor tls in (False, True):\n"
                  "    for text in (request(target='/v1/silent'), half_body, ws, request()):\n        begin(text, tls)\n"
                  "    for c in cs[-2:]: c.recv(100)\n    cs[-2].sendall(b'before'); time.sleep(0.3)")
            self.until(lambda: all(server.tunnel.endswith(b"before") for server in self.servers()))
            self.engine.call("session.net", session=s.id, net=(self.net if net else []) + net)
            before = [(list(server.requests), server.tunnel) for server in self.servers()]
            s.run("for c in cs:\n    try: c.sendall(b'after' + bytes(1000000))\n    except OSError: pass\n"
                  "    try: c.sendall(request().encode())\n    except OSError: pass\ntime.sleep(0.5)")
            self.assertEqual([(server.requests, server.tunnel) for server in self.servers()], before)
            self.assertServed()
            s.close()

    def test_T_NET_REQUEST_outlives_its_box_and_the_gateway(self):
        """The box, the session or the gateway ends in the middle of requests: connections to servers end with it, and others are served."""
        for end in ("os._exit(1)", "close", "kill"):
            s = self.session()
            s.run("import os\nfor way in WAYS + [request(HOST, *WS, target='/v1/ws')]:\n    begin(way, False); begin(way, True)\ntime.sleep(0.5)")
            self.assertGreater(sum(server.n_open for server in self.servers()), 5)
            if end == "close":
                s.close()
            elif end == "kill":
                os.kill(self.gateway, signal.SIGKILL)
            else:
                s.run(end)
            self.until(lambda: max(server.n_open for server in self.servers()) <= 4, end)
            self.until(lambda: self.other.run("print(ask())")["stdout"] == "200\n", end)

    def test_T_NET_REQUEST_writes_into_the_record(self):
        """Each path that is refused has its row: escapes are shown as "?", and half of the record has room for others."""
        s = self.session()
        r = s.run("for i in range(300): statuses(request(target='/v2/%d' % i), False)\nprint(statuses(request(target='/v2/\\x1b[31mred' + 'x' * 300), False))")
        refused, (more,) = netbox.rows(r, verdict="refused"), [row for row in r["network"] if "more" in row]
        self.assertEqual((r["stdout"], len(refused) <= 128, len(refused) + more["more"] >= 300), ("[403]\n", True, True))
        r = s.run("statuses(request(target='/v2/\\x1b[31mred' + 'x' * 300), False)")
        row, = netbox.rows(r, verdict="refused")
        self.assertRegex(row["reason"], r"^its path can be read in two ways: GET /v2/\?\[31mredx+\*$")
        self.assertLess(len(row["reason"]), 160)

    def test_T_NET_REQUEST_writes_a_command_into_the_advice(self):
        """What would allow a request is shown as an option, to be copied: a path must not end its quotes."""
        code = "print(heard(request(HOST, 'Connection: close', target=\"/v2/'$(id)'\"), False))\nassert 0"
        done = harness.run(netbox.PRELUDE + netbox.REQUESTS + code, *(o for rule in self.net + self.RULES for o in ("--net", rule)), env=self.env)
        for line in re.findall(r"refused: .*", done.out + done.err):
            option = line[line.index("--net"):] if "--net" in line else ""
            self.assertIn(shlex.split(option), ([], ["--net", "GET api.test/v2/'$(id)'"], ["--net", "GET api.test/v2/%27$(id)%27"]))


@harness.needs_root("a name server of the test's own needs a network namespace")
class Resolved(netbox.Case):
    """`GET any/*`: every host of the internet may be read, and only that."""

    prelude = netbox.PRELUDE + netbox.REQUESTS
    options = ["--timeout", "100", "--net", "GET any/*"]
    is_asked, go_on = threading.Event(), threading.Event()

    @classmethod
    def host(cls):
        cls.resolver = netbox.Resolver()
        cls.addClassCleanup(cls.resolver.stop)
        cls.outside = netbox.Web(answer, address=PUBLIC, port=80)
        cls.within = [netbox.Web(answer, address=a, port=80) for a in ("127.0.0.1", "10.0.0.1", "169.254.169.254")]
        for server in (cls.outside, *cls.within):
            cls.addClassCleanup(server.stop)
        turns = iter([[PUBLIC]] * 2 + [["127.0.0.1"]] * 1000)
        cls.resolver.names = {name + ".bad.test": where for name, where in BAD.items()} | {
            "one.test": [PUBLIC], "two.example": [PUBLIC], "mixed.test": ["127.0.0.1", PUBLIC], "turns.test": lambda: next(turns),
            "slow.test": cls.slow}
        return {"BAD": sorted(BAD)}

    @classmethod
    def slow(cls):
        cls.is_asked.set()
        cls.go_on.wait(60)
        return ["169.254.169.254"]

    def test_T_NET_REQUEST_for_a_name_that_gets_an_address(self):
        """While a name is looked up, its owner gives it an address: what the name server says then is not dialled."""
        with service.Engine("--standby", "0") as engine:
            s = engine.session(net=["GET any/*"])
            number = engine.client.send("step.run", session=s.id, code="import urllib.request as u\nprint(u.urlopen('http://slow.test/any').read())")
            self.assertTrue(self.is_asked.wait(60))
            other = service.Client(engine.path)
            self.addCleanup(other.close)
            other.call("session.net", session=s.id, net=[f"slow.test:80={PUBLIC}:80", "GET slow.test/*"])
            self.go_on.set()
            r = engine.client.receive(number)
            self.assertEqual(r["stdout"], "b'reached\\n'\n", r)
            self.assertEqual([r for server in self.within for r in server.requests], [])

    @attack.inside([200, 200, 200])
    def test_T_NET_REQUEST_control_any():
        """Not an attack: reading from hosts that nobody named; of several addresses, the public one."""
        return [statuses(request("Host: " + h, target="/any"), False, host=h)[0] for h in ("one.test", "two.example", "mixed.test")]

    @attack.inside([403] * 5 + [421, "no name", "ECONNREFUSED"])
    def test_T_NET_REQUEST_writes_to_any_host():
        """Other methods, one host under the name of another, an address in the place of a name, another port."""
        return [*(statuses(request("Host: one.test", method=m, target="/evil"), False, host="one.test")[0] for m in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")),
                statuses(request("Host: two.example", target="/evil"), False, host="one.test")[0], say("127.0.0.1.", 80), say("one.test", 8080)]

    @attack.inside({})
    def test_T_NET_REQUEST_points_a_name_inwards():
        """A name that leads to the host, its network, a cloud's metadata, in each notation."""
        said = {n: statuses(request("Host: %s.bad.test" % n, target="/evil"), False, host=n + ".bad.test") for n in BAD}
        return {n: s for n, s in said.items() if s != [403]}

    @attack.inside([200, 403, 403])
    def test_T_NET_REQUEST_changes_its_mind():
        """The owner of a name points it inwards between two requests: neither a new connection nor the one that was kept arrives."""
        kept = socket.create_connection(("turns.test", 80), 20)
        def again(c):
            c.sendall(request("Host: turns.test", target="/turn").encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += c.recv(1)
            c.recv(int(re.search(rb"(?i)content-length: (\d+)", head)[1]), socket.MSG_WAITALL)
            return int(head.split()[1])
        first, end = again(kept), time.monotonic() + 60
        while (s := statuses(request("Host: turns.test", target="/turn"), False, host="turns.test")[0]) == 200 and time.monotonic() < end:
            time.sleep(0.5)
        return [first, s, again(kept)]

    def test_T_NET_REQUEST_reaches_nothing_within(self):
        """The servers of the host and its network heard nothing, and the record says why."""
        self.assertEqual([r for server in self.within for r in server.requests + server.bad], [])
        self.assertEqual({(r.method, r.target) for r in self.outside.requests}, {("GET", "/any"), ("GET", "/turn")})
        for name in [n + ".bad" for n in BAD] + ["turns"]:
            with self.subTest(name):
                row, = self.told(name=name + ".test", port=80, verdict="refused")
                self.assertRegex(row["reason"], "^its address .* is ")


if __name__ == "__main__":
    harness.main()
