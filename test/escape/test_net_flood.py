# SPDX-License-Identifier: Apache-2.0
"""Use up the gateway: names, connections, memory, sockets, time; and hide in its rows, or write by them.

The gateway serves all boxes of an engine. So each attack is made in one session, and another one looks whether it is served.
"""

import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import netbox  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402

OPEN = """
def start(name, port, data=b""):
    c = socket.create_connection((name, port), 20)
    c.settimeout(60)
    c.sendall(data)
    return c

def state(c):
    try:
        return len(c.recv(1)) and "data" or "end"
    except OSError as e:
        return type(e).__name__
"""


class Flood(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.echo = upstream.Tcp(upstream.echo)
        cls.addClassCleanup(cls.echo.stop)
        cls.engine = service.Engine("--standby", "0")
        cls.addClassCleanup(cls.engine.stop)
        cls.other = cls.engine.session(net=[f"other.test:6000=127.0.0.1:{cls.echo.port}"])
        cls.other.run(netbox.PRELUDE)
        cls.assertServed(cls)
        cls.gateway = netbox.gateway_of(cls.engine)

    def setUp(self):
        self.before = self.n_open()

    def check(self):
        """What was taken is given back."""
        self.until(lambda: self.n_open() <= self.before, "its descriptors stayed")
        self.assertEqual(netbox.gateway_of(self.engine), self.gateway, "the gateway died")

    def n_open(self):
        """How many descriptors the gateway has; 0 if we may not know."""
        if not harness.IS_ROOT:
            return 0
        return len(os.listdir(f"/proc/{self.gateway}/fd"))

    def assertServed(self):
        said = self.other.value("say('other.test', 6000, b'here')")
        if said != "'here'":
            raise AssertionError(said)

    def session(self, *net, **params):
        s = self.engine.session(net=list(net), limits={"open_files": 4096, "pids": 512, "timeout_ms": 100000}, **params)
        self.addCleanup(self.check)  # after the session is closed
        self.addCleanup(s.close)
        s.run(netbox.PRELUDE + OPEN)
        return s

    def db(self, port=None):
        return f"db.test:6000=127.0.0.1:{port or self.echo.port}"

    def attack(self, s, code):
        """The value of @code in @s, as JSON; meanwhile and afterwards, the other session is served."""
        said = []
        client = self.engine.connect()
        number = client.send("step.run", session=s.id, code=f"import json\n{code}")
        thread = threading.Thread(target=lambda: said.append(client.receive(number)))
        thread.start()
        n = 0
        while thread.is_alive() or n == 0:
            self.assertServed()
            n += 1
            thread.join(0.1)
        client.close()
        self.assertServed()
        record, = said
        self.assertEqual(record["status"], "ok", str(record)[:2000])
        return json.loads(record["stdout"]), record

    def test_T_NET_FLOOD_with_names(self):
        """10,000 names below a wildcard: 4,096 get an address, the others an error; the memory is bounded."""
        s = self.session("*.wild.test")
        memory = netbox.memory_of(self.gateway)
        said, _ = self.attack(s, "label = 'x' * 60\n"
            "codes = [ask(f'{i}-{label[:50]}.{label}.{label}.wild.test')[0] for i in range(10000)]\n"
            "print(json.dumps([codes.count(0), codes.count(2), codes[:4096].count(0)]))")
        self.assertEqual(said, [4096, 10000 - 4096, 4096])
        if not harness.IS_SANITIZED:
            self.assertLess(netbox.memory_of(self.gateway) - memory, 8 << 10)

    def test_T_NET_FLOOD_with_questions(self):
        """Datagrams as fast as they can be sent, whose answers nobody reads, and random ones."""
        s = self.session("*.wild.test", self.db())
        memory = netbox.memory_of(self.gateway)
        said, _ = self.attack(s, "s = socket.socket(type=socket.SOCK_DGRAM); s.connect(RESOLVER); s.setblocking(False)\n"
            "import random\nr = random.Random(1)\n"
            "for i in range(20000):\n"
            "    try: s.send(question('flood.wild.test') if i % 2 else question('db.test')[:r.randrange(40)] + r.randbytes(r.randrange(60)))\n"
            "    except OSError: pass\n"
            "print(json.dumps(ask('db.test')))")
        self.assertEqual(said, [0, 1])
        if not harness.IS_SANITIZED:
            self.assertLess(netbox.memory_of(self.gateway) - memory, 4 << 10)

    def test_T_NET_FLOOD_with_sockets(self):
        """Each name with a port from 1024 on needs a socket: 512 of them, then the name is not found."""
        s = self.session("*.wild.test:6000", "*.wild.test:6001")
        said, record = self.attack(s, "codes = [ask(f'n{i}.wild.test') for i in range(300)]\n"
            "print(json.dumps([codes.count([0, 1]), codes.count([3, 0])]))")
        self.assertEqual(sum(said), 300)
        self.assertEqual(said[0], 256)
        self.assertLess(self.n_open() - self.before, 600)
        self.assertGreater(record["network"][-1]["more"], 0)

    def test_T_NET_FLOOD_with_connections(self):
        """One after the other, thousands; each is served and leaves nothing."""
        s = self.session(self.db())
        n = harness.sample(4000, 100000)
        said, record = self.attack(s, "n = 0\nwhere = address('db.test')\n"
            f"for i in range({n // 8}):\n"
            "    cs = [start(where, 6000, b'\\0') for _ in range(8)]\n"
            "    n += sum(state(c) == 'data' for c in cs)\n"
            "    for c in cs: c.close()\n"
            "print(n)")
        self.assertEqual(said, n)
        row, = netbox.rows(record, port=6000)
        self.assertEqual((row["count"], row["bytes_in"], row["bytes_out"]), (n, n, n))

    def test_T_NET_FLOOD_with_connections_at_once(self):
        """More than 512: those are reset, the others stay, and there is room again when they end."""
        s = self.session(self.db())
        said, record = self.attack(s, "cs = []\n"
            "for i in range(700):\n"
            "    try: cs.append(start('db.test', 6000, b'x'))\n    except OSError: pass\n"
            "states = [state(c) for c in cs]\n"
            "for c in cs: c.close()\ntime.sleep(0.2)\n"
            "print(json.dumps([states.count('data'), say('db.test', 6000, b'again')]))")
        self.assertEqual(said, [512, "again"])
        self.assertTrue(netbox.rows(record, verdict="refused", reason="the box has more than 512 connections"))

    def test_T_NET_FLOOD_with_resets(self):
        """Connections that are reset at once, before, while and after they are accepted."""
        s = self.session(self.db())
        said, _ = self.attack(s, "where = address('db.test')\n"
            "for i in range(1500):\n"
            "    c = socket.socket(); c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\n"
            "    c.setblocking(i % 2 == 0)\n"
            "    try: c.connect((where, 6000))\n    except OSError: pass\n"
            "    if i % 3 == 0:\n"
            "        try: c.send(b'GET / HTT')\n        except OSError: pass\n"
            "    c.close()\n"
            # Until the gateway has seen the ends of more than 512, it refuses.
            "end = time.monotonic() + 20\n"
            "while (s := say('db.test', 6000, b'again')) != 'again' and time.monotonic() < end: time.sleep(0.1)\n"
            "print(json.dumps(s))")
        self.assertEqual(said, "again")

    def test_T_NET_FLOOD_by_slow_readers(self):
        """A server that sends without end to a hundred connections whose program reads nothing."""
        def send(c):
            while True:
                c.sendall(bytes(1 << 16))

        with upstream.Tcp(send) as server:
            s = self.session(self.db(server.port))
            memory = netbox.memory_of(self.gateway)
            self.attack(s, "cs = [start('db.test', 6000) for _ in range(100)]\n[c.recv(1) for c in cs]\ntime.sleep(1)\nprint(1)")
            if not harness.IS_SANITIZED:
                self.assertLess(netbox.memory_of(self.gateway) - memory, 40 << 10)

    def test_T_NET_FLOOD_by_slow_servers(self):
        """The other way round: a program that sends without end to servers that read nothing."""
        gate = threading.Event()
        with upstream.Tcp(lambda c: gate.wait(60)) as server:
            s = self.session(self.db(server.port))
            memory = netbox.memory_of(self.gateway)
            said, _ = self.attack(s, "cs = [start('db.test', 6000, b'x') for _ in range(100)]\nsent = 0\n"
                "for c in cs: c.setblocking(False)\n"
                "end = time.monotonic() + 1\n"
                "while time.monotonic() < end:\n"
                "    for c in cs:\n"
                "        try: sent += c.send(bytes(1 << 16))\n        except OSError: pass\n"
                "print(sent)")
            self.assertLess(said, 400 << 20)
            if not harness.IS_SANITIZED:
                self.assertLess(netbox.memory_of(self.gateway) - memory, 40 << 10)
            gate.set()

    def test_T_NET_FLOOD_with_beginnings(self):
        """Hundreds of connections that send the beginning of a request, of a hello or of a line, and no more."""
        s = self.session(self.db())
        memory = netbox.memory_of(self.gateway)
        said, _ = self.attack(s, "begins = [b'GET / HTTP/1.1\\r\\nX: ' + b'y' * 16000, b'\\x16\\3\\1\\x40\\0\\1\\0\\x3f\\xfc' + bytes(16000), b'GET']\n"
            "cs = [start('db.test', 6000, begins[i % 3]) for i in range(450)]\n"
            "time.sleep(1)\nprint(json.dumps(say('db.test', 6000, b'again')))")
        self.assertEqual(said, "again")
        if not harness.IS_SANITIZED:
            self.assertLess(netbox.memory_of(self.gateway) - memory, 12 << 10)

    def test_T_NET_FLOOD_with_beginnings_that_go_on(self):
        """A byte of a hello now and then: after ten seconds in all, it is over."""
        s = self.session(self.db())
        said, record = self.attack(s, "c = start('db.test', 6000, b'\\x16\\3\\1\\x10\\0\\1\\0\\x0f\\xfc')\nbegun = time.monotonic()\n"
            "try:\n"
            "    while time.monotonic() < begun + 60: c.send(b'x'); time.sleep(0.2)\n"
            "except OSError: pass\n"
            "print(time.monotonic() - begun)")
        self.assertLess(said, 40)
        self.assertEqual(netbox.rows(record, port=6000)[0]["reason"], "its first message did not come within 10 s")

    def test_T_NET_FLOOD_with_halves(self):
        """Connections of which each side closes its half first, and the other goes on: nothing is lost, none stays."""
        def late(c):
            while data := c.recv(100):
                first = data
            time.sleep(0.3)
            c.sendall(first * 2)

        with upstream.Tcp(late) as server:
            s = self.session(self.db(server.port))
            said, _ = self.attack(s, "cs = [start('db.test', 6000, b'x') for _ in range(200)]\n"
                "for c in cs: c.shutdown(socket.SHUT_WR)\n"
                "got = [c.recv(9) + c.recv(9) + c.recv(9) for c in cs]\n"
                "print(json.dumps(len([g for g in got if g == b'xx'])))")
            self.assertEqual(said, 200)

    def test_T_NET_FLOOD_to_nowhere(self):
        """Connections to a server that is full and answers none: they end after a time; others are served meanwhile."""
        import socket as s_
        with s_.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            port = full.getsockname()[1]
            fill = [s_.socket() for _ in range(4)]
            for f in fill:
                f.setblocking(False)
                f.connect_ex(("127.0.0.1", port))
            s = self.session(self.db(port))
            said, _ = self.attack(s, "cs = [start('db.test', 6000, b'x') for _ in range(300)]\ntime.sleep(1)\nprint(len(cs))")
            self.assertEqual(said, 300)
            for f in fill:
                f.close()


class Rows(harness.Case):
    """What the record says of all that."""

    def attack(self, code, *rules):
        with netbox.Server() as server:
            options = ["--net", f"db.test:6000=127.0.0.1:{server.port}"]
            for rule in rules:
                options += ["--net", rule]
            done = harness.record(netbox.PRELUDE + code, *options)
            self.assertEqual(done["status"], "ok", done["stderr"])
            return done, server

    def test_T_NET_RECORD_is_flooded_with_refusals(self):
        """Thousands of refused names, ports and hosts first, then the connection: it is there, with its bytes."""
        r, _ = self.attack("for i in range(2000): ask(f'n{i}.evil.test')\n"
            "for i in range(200): say('db.test', 6000, f'GET / HTTP/1.1\\r\\nHost: h{i}\\r\\n\\r\\n')\n"
            "print(say('db.test', 6000, b'secret'))")
        row, = netbox.rows(r, port=6000, verdict="allowed")
        self.assertEqual((row["count"], row["bytes_out"], row["bytes_in"]), (1, 6, 7))
        self.assertLessEqual(len(r["network"]), 257)
        self.assertEqual(sum(x.get("count", 0) + x.get("more", 0) for x in r["network"]), 2000 + 200 + 2 + 200 + 1 - 1)

    def test_T_NET_RECORD_is_flooded_with_names(self):
        """Thousands of names that a rule allows first: questions do not hide the connection either."""
        r, _ = self.attack("for i in range(2000): ask(f'n{i}.wild.test')\nprint(say('db.test', 6000, b'secret'))", "*.wild.test")
        row, = netbox.rows(r, name="db.test", port=6000)
        self.assertEqual((row["verdict"], row["bytes_out"], row["bytes_in"]), ("allowed", 6, 7))
        self.assertEqual(r["network"][-1]["more"], 2000 + 1 - 128)

    def test_T_NET_RECORD_is_flooded_with_connections(self):
        """Connections to as many names as there can be rules with "=": each has its row."""
        with netbox.Server() as server:
            options = []
            for i in range(63):
                options += ["--net", f"n{i}.test:6000=127.0.0.1:{server.port}"]
            options += ["--net", f"db.test:6000=127.0.0.1:{server.port}"]
            r = harness.record(netbox.PRELUDE + "for i in range(63): say(f'n{i}.test', 6000)\nsay('db.test', 6000)", *options)
        self.assertEqual(len(netbox.rows(r, port=6000, verdict="allowed")), 64)
        self.assertNotIn("more", r["network"][-1])

    def test_T_NET_RECORD_is_written_by_names(self):
        """Escapes, newlines and words of retort in names, hosts and SNI: nowhere in the record, nor on the terminal."""
        code = netbox.PRELUDE + (
            "esc = b'\\x1b[31mevil\\x1b]0;x\\x07\\nretort: net: forged\\r\\x9b'\n"
            "exchange(question(bytes([len(esc)]) + esc + b'\\0'))\n"
            "exchange(question(b'\\4' + esc[:4] + b'\\4test\\0'))\n"
            "def sni(n): n = len(n).to_bytes(2, 'big') + n; n = b'\\0' + n; n = len(n).to_bytes(2, 'big') + n; return b'\\0\\0' + len(n).to_bytes(2, 'big') + n\n"
            "e = sni(esc); body = b'\\3\\3' + bytes(32) + b'\\0\\0\\2\\x13\\1\\1\\0' + len(e).to_bytes(2, 'big') + e\n"
            "say('db.test', 6000, b'\\x16\\3\\1' + (len(body) + 4).to_bytes(2, 'big') + b'\\1' + len(body).to_bytes(3, 'big') + body)\n"
            "for host in (esc, b'a' * 5000, b'xn--' + esc): say('db.test', 6000, b'GET / HTTP/1.1\\r\\nHost: ' + host + b'\\r\\n\\r\\n')\n"
            "say('db.test', 6000, b'GET / HTTP/1.1\\r\\nHost: ' + b'a' * 60 + b'.evil.test\\r\\n\\r\\n')\n")
        with netbox.Server() as server:
            rule = f"db.test:6000=127.0.0.1:{server.port}"
            done = harness.run(code, "--net", rule)
            text = json.dumps(harness.record(code, "--net", rule)["network"])
        for said in (done.err, text):
            self.assertNotRegex(said, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]|u001b|forged|u009b")
        self.assertIn("evil.test", text)
        self.assertEqual([line for line in done.err.splitlines() if not line.startswith("retort: net: ")], [])
        self.assertLess(len(done.err), 4000)

    def test_T_NET_RECORD_floods_the_terminal(self):
        """Thousands of refused names: a few lines on the terminal, and a bounded record."""
        code = netbox.PRELUDE + "for i in range(3000): ask('%04d' % i + ('.' + 'x' * 60) * 3 + '.evil.test')\n"
        done = harness.run(code, "--net", "db.test")
        self.assertLess(len(done.err), 100000)
        r = harness.record(code, "--net", "db.test")
        self.assertLess(len(json.dumps(r["network"])), 100000)
        self.assertEqual(r["network"][-1]["more"], 3000 - 128)

    def test_T_NET_RECORD_floods_the_events(self):
        """Events tell of each row once: not of each question."""
        with service.Engine() as engine:
            s = engine.session(net=["*.wild.test"])
            c = engine.connect()
            c.file.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "step.run", "params": {
                "session": s.id, "stream": True,
                "code": netbox.PRELUDE + "for i in range(3000): ask(f'n{i % 1000}.wild.test'); ask(f'n{i}.evil.test')"}}).encode() + b"\n")
            c.file.flush()
            n = 0
            while "id" not in (line := json.loads(c.file.readline())):
                n += line["params"].get("event") == "network"
            self.assertLessEqual(n, 256)
            self.assertGreater(n, 100)
            self.assertEqual(line["result"]["network"][-1]["more"], 6000 - (64 * 3 + 64))
            c.close()

    def test_T_NET_RECORD_is_forged_by_a_rule(self):
        """A rule with escapes is refused in words that have none."""
        for rule in ("a\x1b[31m.test", "a.test\nretort: all is well", "a.test:80\x07", "\x9b31m.test"):
            done = harness.run("1", "--net", rule)
            self.assertEqual(done.status, 2)
            self.assertNotRegex(done.err[:-1], r"[\x00-\x1f\x7f-\x9f]")


if __name__ == "__main__":
    harness.main()
