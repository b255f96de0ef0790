# SPDX-License-Identifier: Apache-2.0
"""Rules for HTTP requests: TLS ends at the gateway, and a request must fit a rule. What passes is what the program asked and the
server answered."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402

# ask(method, path, body, headers, tls) of the box: (status, headers, body)
ASK = r"""
import http.client, json, socket, ssl, sys, time, urllib.request
def connect(tls=True, host="api.test", port=None):
    if not tls:
        return http.client.HTTPConnection(host, port or 80, timeout=60)
    return http.client.HTTPSConnection(host, port or 443, timeout=60)
def ask(method, path, body=None, headers={}, tls=True, c=None, **at):
    c = c or connect(tls, **at)
    c.request(method, path, body, headers)
    r = c.getresponse()
    return r.status, r.headers, r.read()
def get(path, *args, **kwargs):
    return ask("GET", path, *args, **kwargs)
"""


GO = """package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	r, err := http.Get(os.Args[1])
	if err != nil { fmt.Println(err); os.Exit(1) }
	io.Copy(os.Stdout, r.Body)
}
"""


def rows(record, **wanted):
    return [r for r in record.get("network", []) if all(r.get(k) == v for k, v in wanted.items())]


class Case(harness.Case):
    rules = ["* api.test/v1/*"]

    @classmethod
    def setUpClass(cls):
        cls.tls = upstream.Http(["api.test"], handler=upstream.Api)
        cls.addClassCleanup(cls.tls.stop)
        cls.plain = upstream.Http(handler=upstream.Api)
        cls.addClassCleanup(cls.plain.stop)
        cls.env = {"SSL_CERT_FILE": cls.tls.cert}

    def options(self, *rules):
        options = ["--net", f"api.test:443=127.0.0.1:{self.tls.port}", "--net", f"api.test:80=127.0.0.1:{self.plain.port}"]
        for rule in rules or self.rules:
            options += ["--net", rule]
        return options

    def record(self, code, *rules, more=(), **kwargs):
        return harness.record(ASK + code, *self.options(*rules), *more, env=self.env, **kwargs)

    def value(self, code, *rules, more=(), **kwargs):
        """What the code prints, as JSON."""
        r = self.record(code, *rules, more=more, **kwargs)
        self.assertEqual(r["_status"], 0, r)
        return json.loads(r["stdout"])


class Rules(Case):
    """Which requests pass."""

    def test_what_fits_passes_and_what_does_not_is_refused(self):
        rules = ["GET api.test/v1/*", "POST api.test/v1/items", "DELETE api.test/v1/*/parts"]
        for tls in True, False:
            said = self.value(
                f"print(json.dumps([ask(m, p, tls={tls})[0] for m, p in ("
                "('GET', '/v1/x'), ('GET', '/v1/x?y=/../z'), ('HEAD', '/v1/x'), ('GET', '/v1/'), ('POST', '/v1/items'), ('DELETE', '/v1/a/parts'),"
                "('POST', '/v1/items/7'), ('PUT', '/v1/x'), ('GET', '/v2/x'), ('GET', '/v1'), ('DELETE', '/v1/a/b/parts'), ('GET', '/'))]))", *rules)
            self.assertEqual(said, [200] * 6 + [403] * 6)

    def test_a_method_in_a_header_must_fit_too(self):
        """Servers that take the method from a header get no other than a rule allows."""
        said = self.value("print(json.dumps([get('/v1/x', headers={n: m})[0] for n in ('X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override')"
                          " for m in ('GET', 'DELETE')]))", "GET api.test/v1/*")
        self.assertEqual(said, [200, 403] * 3)

    def test_a_refusal_says_what_would_allow_it(self):
        done = harness.run(ASK + "s, h, b = ask('POST', '/v1/x?token=1')\nprint(s, b.decode(), end='')", *self.options("GET api.test/v1/*"), env=self.env)
        reason = "api.test:443 refused: no rule allows POST /v1/x: --net 'POST api.test/v1/x'\n"
        self.assertEqual((done.out, done.status), ("403 retort: " + reason, 0))
        said = harness.run(ASK + "print(ask('GET', '/v1/x', headers={'X-HTTP-Method-Override': 'DELETE'})[2].decode(), end='')",
                           *self.options("GET api.test/v1/*"), env=self.env).out
        self.assertEqual(said, "retort: api.test:443 refused: no rule allows DELETE /v1/x: --net 'DELETE api.test/v1/x'\n")
        r = self.record("ask('POST', '/v1/x')", "GET api.test/v1/*")
        row, = rows(r, verdict="refused")
        self.assertEqual((row["name"], row["port"], row["reason"], row["count"]), ("api.test", 443, "no rule allows POST /v1/x", 1))
        done = harness.run(ASK + "assert ask('POST', '/v1/x')[0] == 200", *self.options("GET api.test/v1/*"), env=self.env)
        self.assertIn("retort: net: " + reason, done.err)

    def test_a_request_that_is_too_long_is_told_what_is(self):
        said = self.value("print(json.dumps([ask('GET', '/v1/x?' + 'a' * 8200)[::2], get('/v1/x', headers={'X%d' % i: 'y' for i in range(70)})[::2]], default=bytes.decode))")
        self.assertEqual(said, [
            [414, "retort: api.test:443 refused: its path and query have more than 8191 bytes: send more in the body\n"],
            [431, "retort: api.test:443 refused: it has more than 64 headers: send fewer or shorter headers\n"]])

    def test_requests_are_counted_in_a_row(self):
        r = self.record("c = connect()\nfor i in range(3): ask('POST', '/v1/x', b'y' * 1000, c=c)\nask('GET', '/v1/big?100000')")
        row, = rows(r, name="api.test", port=443)
        self.assertEqual((row["verdict"], row["count"]), ("allowed", 4))
        self.assertGreater(row["bytes_out"], 3000)
        self.assertGreater(row["bytes_in"], 100000)

    def test_the_most_specific_host_decides(self):
        """A rule for requests limits its host, whatever another rule allows of all hosts."""
        r = self.record("print(get('/v2')[0], get('/v1/x')[0])", "any", "GET api.test/v1/*")
        self.assertEqual(r["stdout"], "403 200\n")

    def test_other_ports(self):
        """TLS or not is told by the first byte."""
        more = ["--net", f"api.test:8443=127.0.0.1:{self.tls.port}", "--net", f"api.test:8080=127.0.0.1:{self.plain.port}"]
        said = self.value("print(json.dumps([get('/v1/x', port=8443)[0], get('/v1/x', tls=False, port=8080)[0], get('/v2', port=8443)[0]]))",
                          "GET api.test:8443/v1/*", "GET api.test:8080/v1/*", more=more)
        self.assertEqual(said, [200, 200, 403])

    def test_a_file_of_rules(self):
        path = os.path.join(harness.make_dir(), "rules")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"# what the job needs\napi.test:443=127.0.0.1:{self.tls.port}\n\n  GET api.test/v1/*   # read only\n")
        r = harness.record(ASK + "print(get('/v1/x')[0], ask('PUT', '/v1/x')[0])", "--net", "@" + path, env=self.env)
        self.assertEqual(r["stdout"], "200 403\n", r)

    def test_rules_of_the_shape_of_none(self):
        for rule, part in (("api.test/v1/*", "--net 'GET api.test/v1/*'"), ("get api.test/v1", "capitals"), ("GET api.test", "/*"),
                           ("GET https://api.test/v1", "GET api.test"), ("GET api.test/v1?x=1", "queries"), ("GET 192.0.2.1/x", "name"),
                           ("GET api.test/../x", "\"GET api.test/../x\"")):
            with self.subTest(rule):
                done = harness.run("1", "--net", rule)
                self.assertEqual(done.status, 2, done)
                self.assertIn("network rule", done.err)
                self.assertIn(part, done.err)
                self.assertLessEqual(done.err.count("\n"), 2, done.err)


class Passing(Case):
    """What passes is what was said."""

    def test_the_request_is_the_programs(self):
        said = self.value(
            "print(ask('PUT', '/v1/a%20b?q=%2F&x=a+b', b'data', {'X-One': 'two words', 'Accept': 'text/x', 'Cookie': 'a=b', 'X-Empty': ''})[2].decode())")
        got = {k.lower(): v for k, v in said["headers"]}
        self.assertEqual((said["method"], said["path"], said["body"]), ("PUT", "/v1/a%20b?q=%2F&x=a+b", "data"))
        self.assertEqual({k: got.get(k) for k in ("x-one", "accept", "cookie", "x-empty", "host", "content-length")}, {
            "x-one": "two words", "accept": "text/x", "cookie": "a=b", "x-empty": "", "host": "api.test", "content-length": "4"})
        self.assertNotIn("user-agent", got)

    def test_headers_of_one_connection_stay(self):
        """Those that HTTP names, and those that the message itself names."""
        said = self.value("print(get('/v1/x', headers={'Connection': 'X-One', 'X-One': '1', 'X-Two': '2', 'TE': 'trailers', 'Keep-Alive': 'x'})[2].decode())")
        got = {n.lower() for n, _ in said["headers"]}
        self.assertEqual(got & {"connection", "x-one", "x-two", "te", "keep-alive"}, {"x-two"})

    def test_bodies_of_every_length(self):
        for n in 0, 1, 65535, 65536, 131073, 3 << 20:
            said = self.value(
                f"d = bytes(i * 7 % 251 for i in range({n}))\n"
                "def parts():\n    for i in range(0, len(d), 30000): yield d[i:i + 30000]\n"
                "a = json.loads(ask('POST', '/v1/x', d)[2])\n"
                "c = connect(); c.request('POST', '/v1/x', parts(), {'Transfer-Encoding': 'chunked'}, encode_chunked=True)\n"
                "b = json.loads(c.getresponse().read())\n"
                "print(json.dumps([a['bytes'], a['digest'], b['bytes'], b['digest']]))")
            digest = hashlib.sha256(bytes(i * 7 % 251 for i in range(n))).hexdigest()
            self.assertEqual(said, [n, digest, n, digest])

    def test_answers(self):
        said = self.value(
            "s, h, b = get('/v1/big?300000')\n"
            "out = [s, h['Content-Length'], len(b)]\n"
            "s, h, b = ask('HEAD', '/v1/big?300000')\n"
            "out += [s, h['Content-Length'], len(b)]\n"
            "s, h, b = get('/v1/chunked?one,two,three')\n"
            "out += [s, h['Transfer-Encoding'], b.decode()]\n"
            "out += [get('/v1/cookies')[1].get_all('Set-Cookie')]\n"
            "s, h, b = get('/v1/redirect?https://other.test/x')\n"
            "out += [s, h['Location']]\n"
            "out += [get('/v1/empty?204')[0], get('/v1/empty?304')[0]]\n"
            "print(json.dumps(out))")
        self.assertEqual(said, [200, "300000", 300000, 200, "300000", 0, 200, "chunked", "onetwothree", ["a=1", "b=2; Path=/"],
                                302, "https://other.test/x", 204, 304])

    def test_a_connection_is_kept(self):
        said = self.value("c = connect()\nprint(json.dumps([get('/v1/x', c=c)[0] for i in range(20)] + [c.sock is not None]))")
        self.assertEqual(said, [200] * 20 + [True])

    def test_events_come_one_by_one(self):
        """The server sends each only when the program has read the one before."""
        self.tls.server.pace = -1
        said = self.value(
            "c = connect()\nc.request('GET', '/v1/events')\nr = c.getresponse()\nout = [r.headers['Content-Type']]\n"
            "for i in range(5):\n"
            "    out.append(r.readline().decode().strip()); r.readline()\n"
            "    get(f'/v1/pace?{i}')\n"
            "print(json.dumps(out))")
        self.assertEqual(said, ["text/event-stream"] + [f"data: {i}" for i in range(5)])

    def test_a_large_body_both_ways_takes_little_memory(self):
        """256 MiB, while the gateway may hold 128 KiB of it; see the bench for its memory."""
        n = 256 << 20
        said = self.value(
            f"c = connect()\nc.request('GET', '/v1/big?{n}')\nr = c.getresponse()\ngot = 0\n"
            "while d := r.read(1 << 20): got += len(d)\nprint(got)")
        self.assertEqual(said, n)

    def test_a_slow_reader_holds_up_nobody(self):
        said = self.value(
            "c = connect()\nc.request('GET', '/v1/big?50000000')\nr = c.getresponse()\nr.read(10)\n"
            "time.sleep(1)\nout = [get('/v1/x')[0]]\ngot = 10\n"
            "while d := r.read(1 << 20): got += len(d)\nprint(json.dumps(out + [got]))")
        self.assertEqual(said, [200, 50000000])

    def test_the_server_ends_a_web_socket(self):
        """The program sees the end at once, and the record says that all was well."""
        for tls in True, False:
            r = self.record(
                f"s = connect({tls}); s.connect(); s = s.sock\n"
                "s.sendall(b'GET /v1/last?bye HTTP/1.1\\r\\nHost: api.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                "Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n')\n"
                "said = b''\n"
                "while d := s.recv(4096): said += d\nprint(said[-8:].decode())", "WEBSOCKET api.test/v1/*")
            self.assertIn("hellobye", r["stdout"], r)
            self.assertEqual(rows(r, verdict="failed"), [])

    def test_a_length_of_nothing_is_said(self):
        said = self.value("c = connect(); c.putrequest('POST', '/v1/x'); c.putheader('Content-Length', '0'); c.endheaders()\nprint(c.getresponse().read().decode())")
        self.assertIn(["Content-Length", "0"], said["headers"])

    def test_what_was_sent_is_in_the_record(self):
        """Also if the server has not answered when the program ends."""
        r = self.record("c = connect(); c.request('POST', '/v1/silent', bytes(100000))\ntime.sleep(1)")
        row, = rows(r, name="api.test", port=443)
        self.assertEqual(row["verdict"], "allowed")
        self.assertGreater(row["bytes_out"], 100000)

    def test_other_protocols_are_left_out(self):
        """Whoever asks for HTTP/2 in the clear gets HTTP/1.1, as from any server that does not know it."""
        said = self.value(
            "h = {'Connection': 'Upgrade, HTTP2-Settings', 'Upgrade': 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA'}\n"
            "print(get('/v1/x', headers=h, tls=False)[2].decode())")
        self.assertEqual([n for n, _ in said["headers"] if n.lower() in ("upgrade", "connection", "http2-settings")], [])

    def test_a_server_that_wants_no_web_socket(self):
        said = self.value(
            "h = {'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA=='}\n"
            "print(json.dumps([get(p, headers=h)[::2][0] for p in ('/v1/x', '/v1/chunked?a,b', '/v1/empty?204')]))", "WEBSOCKET api.test/v1/*")
        self.assertEqual(said, [200, 200, 204])

    def test_a_refusal_is_read_by_whoever_sends_much(self):
        said = self.value("s, h, b = ask('PUT', '/v2', bytes(20000000))\nprint(json.dumps([s, b.decode()[:30]]))")
        self.assertEqual(said, [403, "retort: api.test:443 refused: "])

    def test_an_answer_before_the_end_of_the_request(self):
        said = self.value("s, h, b = ask('POST', '/v1/early', bytes(5000000))\nprint(json.dumps([s, b.decode()]))")
        self.assertEqual(said, [413, "no"])

    def test_an_answer_that_is_cut_is_not_whole(self):
        r = self.record("try:\n    get('/v1/cut')\nexcept http.client.IncompleteRead as e:\n    print('cut', len(e.partial))")
        self.assertEqual(r["stdout"], "cut 9\n", r)
        self.assertTrue(rows(r, verdict="failed", reason="its answer was cut"), r["network"])

    def test_a_program_that_gives_up_frees_the_server(self):
        self.record("c = connect()\nc.request('GET', '/v1/silent')\ntime.sleep(1)\nc.sock.close()\ntime.sleep(5)\n")
        self.until(lambda: self.tls.server.n_silent == 0, "the server still waits")

    def test_a_web_socket(self):
        code = (
            "import os, base64\n"
            "def ws(path, tls=True):\n"
            "    s = socket.create_connection(('api.test', 443 if tls else 80), timeout=60)\n"
            "    if tls: s = ssl.create_default_context().wrap_socket(s, server_hostname='api.test')\n"
            "    s.sendall(f'GET {path} HTTP/1.1\\r\\nHost: api.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
            "Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\\r\\n\\r\\n'.encode())\n"
            "    f = s.makefile('rb')\n"
            "    status = f.readline().split()[1].decode()\n"
            "    head = {}\n"
            "    while (line := f.readline().strip()): head.__setitem__(*line.decode().lower().split(': ', 1))\n"
            "    if status != '101': return [status]\n"
            "    out = [status, head.get('upgrade'), head.get('sec-websocket-accept'), f.read(7)[2:].decode()]\n"
            "    for n in (10, 60001, 300000):\n"
            "        d = os.urandom(n); got = b''\n"
            "        for i in range(0, n, 60000):\n"
            "            s.sendall(d[i:i + 60000]); got += f.read(len(d[i:i + 60000]))\n"
            "        out.append(got == d)\n"
            "    return out\n")
        accept = "icx4yqv66kxgm0fcwalwlflwtai="
        said = self.value(code + "print(json.dumps([ws('/v1/ws'), ws('/v1/ws', False), ws('/v2/ws')]))", "WEBSOCKET api.test/v1/*")
        self.assertEqual([s[:2] + s[3:] for s in said[:2]], [["101", "websocket", "hello", True, True, True]] * 2)
        self.assertEqual(len(said[0][2]), len(accept))
        self.assertEqual(said[2], ["403"])
        self.assertEqual(self.value(code + "print(json.dumps(ws('/v1/ws')))", "* api.test/v1/*"), ["403"])


class Failing(Case):
    """What a program is told when it does not work."""

    def fails(self, code, *rules, more=(), env=None):
        r = harness.record(ASK + code, *self.options(*rules), *more, env=env or self.env)
        row, = rows(r, verdict="failed")
        return r["stdout"], row["reason"]

    def test_a_certificate_that_is_not_accepted(self):
        said, reason = self.fails("s, h, b = get('/v1/x')\nprint(s, b.decode())", env={"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"})
        self.assertTrue(said.startswith("502 retort: api.test:443 failed: its server's certificate is not accepted: "), said)
        self.assertIn("certificate", reason)

    def test_a_certificate_of_another_name(self):
        said, _ = self.fails("s, h, b = get('/v1/x', host='two.test')\nprint(s, b.decode())", "GET two.test/*",
                             more=["--net", f"two.test:443=127.0.0.1:{self.tls.port}"])
        self.assertIn("two.test:443 failed: its server's certificate is not accepted", said)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        said, reason = self.fails("s, h, b = get('/v1/x', host='down.test')\nprint(s, b.decode())", "GET down.test/*",
                                  more=["--net", f"down.test:443=127.0.0.1:{port}"])
        self.assertTrue(said.startswith("502 retort: down.test:443 failed: no connection: "), said)
        self.assertTrue(reason.startswith("no connection: "), reason)

    def test_no_http(self):
        with upstream.Tcp(lambda c: (c.recv(1 << 16), c.sendall(b"SSH-2.0-x\r\n"), c.recv(1))) as other:
            said, reason = self.fails("s, h, b = get('/v1/x', host='ssh.test', tls=False)\nprint(s)", "GET ssh.test/*",
                                      more=["--net", f"ssh.test:80=127.0.0.1:{other.port}"])
        self.assertEqual(said, "502\n")
        self.assertTrue(reason.startswith("its answer is refused: "), reason)

    def test_a_name_that_is_not_found(self):
        said, reason = self.fails("s, h, b = get('/', host='nowhere.invalid')\nprint(s)", "GET nowhere.invalid/*")
        self.assertEqual(said, "502\n")
        self.assertIn("name", reason)

    def test_clients_of_http_2_are_told(self):
        r = self.record("s = socket.create_connection(('api.test', 80))\ns.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')\nprint(s.recv(1000).decode())")
        self.assertIn("HTTP/1.1 505", r["stdout"])
        self.assertTrue(rows(r, verdict="refused", reason="it speaks HTTP/2, and rules for requests are for HTTP/1.1"), r["network"])

    def test_a_client_that_does_not_trust_the_gateway(self):
        r = self.record("try:\n    ssl.create_default_context(cafile='/dev/null')\nexcept ssl.SSLError: pass\n"
                        "c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"
                        "try:\n    c.wrap_socket(socket.create_connection(('api.test', 443)), server_hostname='api.test')\n"
                        "except ssl.SSLError as e:\n    print(e.verify_message)")
        self.assertIn("unable to get local issuer", r["stdout"])
        self.assertTrue(rows(r, verdict="failed", reason="it ended before a request: does it trust the sandbox's certificates, and speak HTTP/1.1?"), r["network"])


class Trust(Case):
    """Clients accept the gateway's certificates, in boxes with rules for requests, and only there."""

    CLIENTS = {
        "curl": "curl -sS https://api.test/v1/x",
        "wget": "wget -qO- https://api.test/v1/x",
        "git": "git ls-remote https://api.test/v1/x 2>&1 | grep -q 'certificate' || echo '\"path\": \"/v1/x'",
        "node": "node -e 'fetch(\"https://api.test/v1/x\").then(r => r.text()).then(t => console.log(t))'",
        "python3": "python3 -c 'import urllib.request as u; print(u.urlopen(\"https://api.test/v1/x\").read().decode())'",
        "empty": "env -i /usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"https://api.test/v1/x\").read().decode())'",
        "openssl": "printf 'GET /v1/x HTTP/1.0\\r\\nHost: api.test\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -connect api.test:443 -servername api.test 2>/dev/null",
    }

    def test_clients_trust_it(self):
        for name, line in self.CLIENTS.items():
            with self.subTest(name):
                if name not in ("empty",) and not shutil.which(name, path="/usr/bin:/bin"):
                    continue
                r = harness.record(line, "-r", "shell", *self.options(), env=self.env)
                self.assertIn('"path": "/v1/x', r["stdout"], r)

    @harness.unittest.skipUnless(shutil.which("go"), "not installed: go")
    def test_go_trusts_it(self):
        folder = harness.make_dir()
        with open(os.path.join(folder, "get.go"), "w", encoding="utf-8") as f:
            f.write(GO)
        subprocess.run(["go", "build", "-o", "get", "get.go"], cwd=folder, check=True, capture_output=True,
                       env=harness.environment({"CGO_ENABLED": "0", "GOCACHE": folder + "/cache", "GO111MODULE": "off"}))
        r = harness.record("./get https://api.test/v1/x", "-r", "shell", "-v", folder + "/get:get", *self.options(), env=self.env)
        self.assertIn('"path": "/v1/x"', r["stdout"], r)

    @harness.unittest.skipUnless(os.path.exists("/usr/lib/python3/dist-packages/requests"), "requests is not installed")
    def test_requests_trusts_it(self):
        self.assertEqual(self.value("import requests\nprint(requests.get('https://api.test/v1/x').status_code)"), 200)

    def test_only_where_it_is_needed(self):
        for options in ([], ["--net", f"api.test:443=127.0.0.1:{self.tls.port}"]):
            r = harness.record("import os\nprint([k for k in os.environ if 'CERT' in k or 'CA_' in k], os.path.exists('/etc/ssl/certs/9e38d0e7.0'))", *options)
            self.assertEqual(r["stdout"], "[] False\n", r)

    def test_the_users_variables_stay(self):
        r = self.record("import os\nprint(os.environ['SSL_CERT_FILE'], os.environ['PIP_CERT'])", more=["-e", "SSL_CERT_FILE=/mine.pem"])
        self.assertEqual(r["stdout"], "/mine.pem /etc/ssl/certs/ca-certificates.crt\n")

    def test_nothing_is_left_on_the_host(self):
        """The directory of certificates is there while the engine runs."""
        def certs():
            return {os.path.join(d, n) for d in ("/run", "/dev/shm", "/tmp") for n in os.listdir(d) if n.startswith("retort-certs-")}
        with service.Engine(env=self.env) as engine:
            before = certs()
            engine.session(net=["GET api.test/*"])
            mine = [d for d in certs() - before if os.stat(d).st_uid == os.geteuid()]
            self.assertGreater(len(mine), 0)
        # Others run at the same time, and theirs may be among these.
        self.until(lambda: any(not os.path.exists(d) for d in mine))

    def test_what_a_killed_engine_left_goes_with_the_next(self):
        """What a living one uses stays, and so does what only looks like it."""
        place = tempfile.mkdtemp(prefix="run-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, place)
        kept = {"retort-certs-link", "retort-certs-file", "elsewhere"}
        os.mkdir(place + "/elsewhere")
        os.symlink("elsewhere", place + "/retort-certs-link")
        for name in "retort-certs-file", "elsewhere/file":
            with open(os.path.join(place, name), "w", encoding="utf-8"):
                pass
        if harness.IS_ROOT:
            kept.add("retort-certs-others")
            os.mkdir(place + "/retort-certs-others")
            os.chown(place + "/retort-certs-others", 65534, 65534)

        def engine():
            e = service.Engine(env=self.env | {"XDG_RUNTIME_DIR": place})
            self.addCleanup(e.stop)
            return e, e.session(net=["GET api.test/*"])

        def certs():
            return {n for n in os.listdir(place) if n.startswith("retort-certs-")} - kept

        dead, _ = engine()
        left = certs()
        self.assertEqual(len(left), 1)
        dead.process.kill()
        dead.process.wait()
        self.assertEqual(certs(), left)
        live, s = engine()
        mine = certs()
        self.assertEqual((len(mine), mine & left), (1, set()))
        other, _ = engine()
        self.assertEqual((len(certs()), certs() & mine), (2, mine))
        self.assertEqual(s.value("import os; os.path.getsize('/etc/ssl/certs/9e38d0e7.0') > 0"), "True")
        self.assertLessEqual(kept, set(os.listdir(place)))
        self.assertEqual(os.listdir(place + "/elsewhere"), ["file"])
        other.stop()
        live.stop()
        self.assertEqual(certs(), set())

    def test_the_hosts_authorities_are_there(self):
        r = self.record("a = ssl.create_default_context().cert_store_stats()['x509']\nprint(a)")
        r2 = harness.record("import ssl\nprint(ssl.create_default_context().cert_store_stats()['x509'])")
        self.assertEqual(int(r["stdout"]), int(r2["stdout"]) + 1)


class Sessions(Case):
    """Rules of sessions, which change."""

    def engine(self):
        engine = service.Engine(env=self.env) if "env" in service.Engine.__init__.__code__.co_varnames else service.Engine()
        self.addCleanup(engine.stop)
        return engine


if __name__ == "__main__":
    harness.main()
