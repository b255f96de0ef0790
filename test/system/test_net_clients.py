# SPDX-License-Identifier: Apache-2.0
"""Clients that people use reach through a network rule what they ask for. What they may not reach is an error, and none hangs."""

import functools
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import upstream  # noqa: E402

IDENTITY = "user"
PYTHON = "/usr/bin/python3"
PLACES = "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"

PROGRAMS = {  # what is at {url}, on standard output; ca.pem is the authority
    "curl": "curl -sS --cacert ca.pem {url}",
    "wget": "wget -qO- --tries=2 --ca-certificate=ca.pem {url}",
    "node_fetch": "node -e 'fetch(\"{url}\").then(r => r.text()).then(t => process.stdout.write(t))'",
    "node_modules": "node -e 'require(\"{scheme}\").get(\"{url}\", r => r.pipe(process.stdout))'",
}
MODULES = {  # the same, of Python
    "urllib": "import ssl, urllib.request as u\n"
              "print(u.urlopen(url, context=ssl.create_default_context(cafile='ca.pem')).read().decode(), end='')",
    "requests": "import requests\nprint(requests.get(url, verify='ca.pem').text, end='')",
    "httpx": "import httpx\nprint(httpx.get(url, verify='ca.pem').text, end='')",
    "aiohttp": "import aiohttp, asyncio, ssl\n"
               "async def main():\n"
               "    async with aiohttp.ClientSession() as s:\n"
               "        async with s.get(url, ssl=ssl.create_default_context(cafile='ca.pem')) as r:\n"
               "            print(await r.text(), end='')\n"
               "asyncio.run(main())",
}
GO = """package main
import ("fmt"; "io"; "net"; "os")
func main() {
	c, err := net.Dial("tcp", os.Args[1])
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	fmt.Fprint(c, "GET /go HTTP/1.0\\r\\nHost: api.test\\r\\n\\r\\n")
	all, err := io.ReadAll(c)
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	os.Stdout.Write(all)
}
"""


def needs(*programs):
    """Boxes have the host's /usr, so a program outside of it does not count."""
    missing = [p for p in programs if not shutil.which(p, path=":".join(PLACES))]
    return harness.unittest.skipIf(missing, f"not installed in /usr: {', '.join(missing)}")


@functools.lru_cache(maxsize=None)
def has_module(name):
    return subprocess.run([PYTHON, "-I", "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def chain(names):
    """As upstream.certificate(), but signed by an authority below another, which is in root.pem beside the chain."""
    folder = harness.make_dir()

    def make(name, issuer, *options):
        sign = ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key"] if issuer else []
        argv = ["openssl", "req", "-x509", "-days", "2", *sign, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"]
        for option in options:
            argv += ["-addext", option]
        subprocess.run(argv, check=True, capture_output=True, cwd=folder)

    make("root", None)
    make("middle", "root")
    make("leaf", "middle", "basicConstraints=critical,CA:FALSE", "subjectAltName=" + ",".join("DNS:" + n for n in names))
    with open(os.path.join(folder, "chain.pem"), "w", encoding="utf-8") as out:
        for name in "leaf", "middle":
            with open(os.path.join(folder, name + ".pem"), encoding="utf-8") as f:
                out.write(f.read())
    return os.path.join(folder, "chain.pem"), os.path.join(folder, "leaf.key")


class Clients(harness.Case):
    def command(self, line, *options):
        """The record of a shell's line."""
        return harness.record(f"import subprocess, sys\nsys.exit(subprocess.run({line!r}, shell=True).returncode)", *options)

    def assert_ends(self, record, **wanted):
        """The client has failed by itself, and a row says why."""
        self.assertNotIn(record["_status"], (0, 124, 125, 127), record)
        found = [r for r in record.get("network", []) if all(r.get(k) == v for k, v in wanted.items())]
        self.assertTrue(found, record)


class Web(Clients):
    """HTTP and HTTPS."""

    @classmethod
    def setUpClass(cls):
        cls.plain = upstream.Http()
        cls.addClassCleanup(cls.plain.stop)
        cls.tls = upstream.Http(["api.test"], chain)
        cls.addClassCleanup(cls.tls.stop)
        with socket.create_server(("127.0.0.1", 0)) as s:
            cls.nobody = s.getsockname()[1]

    def try_all(self, line):
        """@line with {url} and {scheme}: what a client is asked for, and what becomes of it."""
        options = ["-v", os.path.join(os.path.dirname(self.tls.cert), "root.pem") + ":ca.pem", "-e", "NODE_EXTRA_CA_CERTS=ca.pem",
                   "--net", f"api.test:80=127.0.0.1:{self.plain.port}", "--net", f"api.test:443=127.0.0.1:{self.tls.port}",
                   "--net", f"down.test:80=127.0.0.1:{self.nobody}"]

        def ask(url):
            return self.command(line.format(url=url, scheme=url.split(":")[0]), *options)

        for scheme in "http", "https":
            r = ask(f"{scheme}://api.test/{scheme}")
            self.assertEqual((r["stdout"], r["_status"]), (f"GET /{scheme} at api.test\n", 0), r)
        self.assert_ends(ask("http://other.test/"), name="other.test", verdict="refused")
        self.assert_ends(ask("http://down.test/"), name="down.test", verdict="failed", reason="connection refused")
        r = ask("http://api.test:8080/")
        self.assertNotIn(r["_status"], (0, 124, 125, 127), r)


def add_web_tests():
    def add(name, line, skip):
        def test(self):
            self.try_all(line)
        setattr(Web, "test_" + name, skip(test))

    for name, line in PROGRAMS.items():
        add(name, line, needs(line.split()[0]))
    for name, code in MODULES.items():
        add(name, f"url={{url}} python3 -c \"import os; url = os.environ['url']\n{code}\"",
            harness.unittest.skipUnless(has_module(name), f"{PYTHON} has no {name}"))


class Backend(http.server.BaseHTTPRequestHandler):
    """`git http-backend`, a CGI program."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.server.folder, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_USER": "someone",
               "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args):
        pass


class Files(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, directory=args[2].folder, **kwargs)

    def log_message(self, *args):
        pass


@needs("git")
class Git(Clients):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.make_dir()
        cls.git("init", "-q", "--bare", "project.git")
        cls.git("clone", "-q", "project.git", "work")
        with open(os.path.join(cls.folder, "work", "file"), "w", encoding="utf-8") as f:
            f.write("content\n")
        for args in (("add", "file"), ("commit", "-qm", "first"), ("push", "-q", "origin", "HEAD:main")):
            cls.git("-C", "work", *args)
        for args in (("config", "http.receivepack", "true"), ("symbolic-ref", "HEAD", "refs/heads/main"), ("update-server-info",)):
            cls.git("-C", "project.git", *args)

    @classmethod
    def git(cls, *args):
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@api.test", *args], cwd=cls.folder, check=True, capture_output=True,
            env=harness.environment({"GIT_CONFIG_NOSYSTEM": "1"})).stdout.decode()

    def web(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.folder = self.folder
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def assert_clones(self, url, rule):
        r = self.command(f"git clone -q {url} it && cat it/file", "--net", rule)
        self.assertEqual((r["stdout"], r["_status"]), ("content\n", 0), r)

    def test_http(self):
        port = self.web(Backend)
        self.assert_clones("http://git.test/project.git", f"git.test:80=127.0.0.1:{port}")
        r = self.command(
            "git clone -q http://git.test/project.git it && cd it && echo more >more && git add more && "
            "git -c user.name=a -c user.email=a@b.test commit -qm more && git push -q origin HEAD:refs/heads/pushed",
            "--net", f"git.test:80=127.0.0.1:{port}")
        self.assertEqual(r["_status"], 0, r)
        self.assertEqual(self.git("-C", "project.git", "show", "pushed:more"), "more\n")

    def test_http_of_files(self):
        self.assert_clones("http://git.test/project.git", f"git.test:80=127.0.0.1:{self.web(Files)}")

    def test_daemon(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        daemon = subprocess.Popen(
            ["git", "-c", "safe.directory=*", "daemon", "--reuseaddr", "--export-all", "--listen=127.0.0.1", f"--port={port}",
             f"--base-path={self.folder}"], stderr=subprocess.DEVNULL, env=harness.environment(), start_new_session=True)
        self.addCleanup(daemon.wait)
        self.addCleanup(os.killpg, daemon.pid, 15)
        wait_for(port)
        self.assert_clones("git://git.test/project.git", f"git.test:9418=127.0.0.1:{port}")

    def test_refused(self):
        for url in "http://other.test/a.git", "git://other.test/a.git":
            self.assert_ends(self.command(f"git clone -q {url} it", "--net", "git.test"), name="other.test", verdict="refused")


def wait_for(port):
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.02)


@harness.as_each
@needs("ssh", "sshd", "sftp", "ssh-keygen")
class Ssh(Clients):
    def setUp(self):
        folder = harness.make_dir()
        if harness.IS_ROOT:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        for name in "id", "host":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"], check=True)
        with open(f"{folder}/host.pub", encoding="utf-8") as f, open(f"{folder}/known", "w", encoding="utf-8") as out:
            out.write("host.test " + f.read())
        with open(f"{folder}/file", "w", encoding="utf-8") as f:
            f.write("content\n")
        # The user's shell may be one that lets nobody in: only sshd itself acts.
        options = ("StrictModes=no", "PidFile=none", "AuthenticationMethods=publickey", "Subsystem=sftp internal-sftp",
                   "ForceCommand=internal-sftp",
                   f"AuthorizedKeysFile={folder}/id.pub", f"ListenAddress=127.0.0.1:{port}")
        self.log = f"{folder}/log"
        with open(self.log, "w", encoding="utf-8") as log:
            sshd = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", f"{folder}/host",
                                     *[x for o in options for x in ("-o", o)]], stderr=log)
        self.addCleanup(sshd.wait)
        self.addCleanup(sshd.kill)
        wait_for(port)
        self.folder, self.port = folder, port

    def test_sftp(self):
        who = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        line = ("cp id key && chmod 600 key && sftp -q -i key -o UserKnownHostsFile=known -o IdentitiesOnly=yes -o BatchMode=yes "
                f"{who}@host.test:{self.folder}/file got >said && cat got")
        files = [x for n in ("id", "known") for x in ("-v", f"{self.folder}/{n}:{n}")]
        r = self.command(line, *files, "--net", f"host.test:22=127.0.0.1:{self.port}")
        with open(self.log, encoding="utf-8") as f:
            log = f.read()
        if "account is locked" in log:
            self.skipTest(f"sshd lets nobody in as {who}")
        self.assertEqual((r["stdout"], r["_status"]), ("content\n", 0), log)
        r = self.command("ssh -o BatchMode=yes other.test true", "--net", "host.test:22")
        self.assert_ends(r, name="other.test", verdict="refused")


def message(kind, body):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def postgres(c):
    """A server of PostgreSQL's protocol whose every answer is one row, `content`."""
    def take(n):
        return c.recv(n, socket.MSG_WAITALL)

    while True:
        first = take(int.from_bytes(take(4), "big") - 4)
        if first[:4] != (80877103).to_bytes(4, "big") and first[:4] != (80877104).to_bytes(4, "big"):
            break
        c.sendall(b"N")  # neither TLS nor GSS
    c.sendall(message(b"R", bytes(4)) + message(b"S", b"server_version\x0015.0\0") + message(b"S", b"client_encoding\0UTF8\0") +
              message(b"Z", b"I"))
    while (kind := take(1)) == b"Q":
        take(int.from_bytes(take(4), "big") - 4)
        column = b"a\0" + bytes(6) + (25).to_bytes(4, "big") + b"\xff\xff" + b"\xff" * 4 + bytes(2)
        c.sendall(message(b"T", b"\0\1" + column) + message(b"D", b"\0\1\0\0\0\7content") + message(b"C", b"SELECT 1\0") +
                  message(b"Z", b"I"))
    return kind


def redis(c):
    """A server of Redis's protocol that answers each command with its last word."""
    lines = c.makefile("rb")
    while head := lines.readline():
        words = [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]
        c.sendall(b"$%d\r\n%s\r\n" % (len(words[-1]), words[-1]))


class Databases(Clients):
    def try_client(self, go, port, line, wanted):
        with upstream.Tcp(go) as server:
            r = self.command(line.format(host="db.test"), "--net", f"db.test:{port}=127.0.0.1:{server.port}")
            self.assertEqual((r["stdout"], r["_status"]), (wanted, 0), r)
            r = self.command(line.format(host="other.test"), "--net", f"db.test:{port}=127.0.0.1:{server.port}")
            self.assert_ends(r, name="other.test", verdict="refused")

    @needs("psql")
    def test_psql(self):
        self.try_client(postgres, 5432, "psql -h {host} -U a -XAtc 'select 1' b", "content\n")

    @needs("redis-cli")
    def test_redis(self):
        self.try_client(redis, 6379, "redis-cli -h {host} get content && redis-cli -h {host} echo more", "content\nmore\n")


@harness.unittest.skipUnless(shutil.which("go"), "not installed: go")
class Go(Clients):
    """Go has a resolver of its own, beside that of the C library."""

    def test_both_resolvers(self):
        folder = harness.make_dir()
        with open(os.path.join(folder, "get.go"), "w", encoding="utf-8") as f:
            f.write(GO)
        with upstream.Http() as web:
            for name, cgo in ("pure", "0"), ("cgo", "1"):
                subprocess.run(["go", "build", "-o", name, "get.go"], cwd=folder, check=True, capture_output=True,
                               env=harness.environment({"CGO_ENABLED": cgo, "GOCACHE": folder + "/cache", "GO111MODULE": "off"}))
                options = "-v", f"{folder}/{name}:get", "--net", f"api.test:80=127.0.0.1:{web.port}"
                r = self.command("./get api.test:80", *options)
                self.assertEqual(r["_status"], 0, r)
                self.assertTrue(r["stdout"].endswith("GET /go at api.test\n"), r)
                self.assert_ends(self.command("./get other.test:80", *options), name="other.test", verdict="refused")


add_web_tests()

if __name__ == "__main__":
    harness.main()
