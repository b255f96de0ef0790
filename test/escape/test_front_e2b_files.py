# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the files of the front "e2b", or whose program runs behind it."""

import gzip
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402
from e2b_files_client import OCTETS, Sandbox, form  # noqa: E402

IDENTITY = "user"
ANN, BOB = "ann-" + "a" * 28, "bob-" + "b" * 28
TOKENS = f"ann {ANN}\nbob {BOB}\n"
MIB = 1 << 20


class Files(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b", tokens=TOKENS)
        cls.ann, cls.bob = Sandbox(cls.server, ANN), Sandbox(cls.server, BOB)
        cls.ann.write("secret.txt", b"of ann")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def refused(self, answer, *statuses):
        self.assertIn(answer.status, statuses, answer.body)
        self.assertNotIn(b"of ann", answer.body)

    def test_T_E2B_FILES_TOKEN_of_another_sandbox(self):
        """Use the files of ann's sandbox with bob's tokens, or with none."""
        place = self.ann.place
        for key in ({}, {"X-Access-Token": self.bob.token}, {"X-Access-Token": ""}, {"X-API-KEY": ANN}, {"X-API-KEY": BOB},
                    {"Authorization": f"Bearer {ANN}"}, {"X-Access-Token": self.ann.token[:-1]}):
            for headers in ({**place, **key},):
                self.refused(self.ann.ask("GET", headers=headers, path="secret.txt"), 401)
                self.refused(self.ann.ask("HEAD", headers=headers, path="secret.txt"), 401)
                self.refused(self.ann.ask("POST", b"evil", {**headers, **OCTETS}, path="secret.txt"), 401)
                for method, message in (("Stat", {"path": "secret.txt"}), ("ListDir", {"path": ""}), ("Remove", {"path": "secret.txt"}),
                                        ("Move", {"source": "secret.txt", "destination": "x"}), ("CreateWatcher", {"path": ""})):
                    answer = self.server.request("POST", f"/filesystem.Filesystem/{method}", web.json.dumps(message), {**headers, **web.JSON})
                    self.refused(answer, 401)
                self.refused(self.server.request("GET", "/envs", headers=headers), 401)
        self.assertEqual(self.ann.read("secret.txt").body, b"of ann")

    def test_T_E2B_FILES_WATCHER_of_another_sandbox(self):
        """Hear what changes in ann's sandbox with the id of her watcher."""
        w = self.ann.rpc("CreateWatcher", path="").json["watcherId"]
        self.assertEqual(self.bob.rpc("GetWatcherEvents", watcherId=w).status, 404)
        self.assertEqual(self.bob.rpc("RemoveWatcher", watcherId=w).status, 404)
        self.assertEqual(self.ann.rpc("RemoveWatcher", watcherId=w).status, 200)

    def test_T_E2B_SIGNATURE_forged(self):
        """Read or write with a signature for another path, action, user or time, or with that of a token that is none."""
        end, past = int(time.time()) + 1000, int(time.time()) - 1
        sign = self.ann.signature
        good = sign("secret.txt", "read")
        for query in ({"signature": good[:-1]}, {"signature": good + "="}, {"signature": ""}, {"signature": "v1_"}, {"signature": good.swapcase()},
                      {"signature": sign("secret.tx", "read")}, {"signature": sign("secret.txt", "write")},
                      {"signature": sign("secret.txt", "read", "user")}, {"signature": good, "username": "user"},
                      {"signature": sign("secret.txt", "read", token="x")}, {"signature": sign("secret.txt", "read", token=self.ann.id)},
                      {"signature": sign("secret.txt", "read", end=end), "signature_expiration": end + 1},
                      {"signature": good, "signature_expiration": end}, {"signature": sign("secret.txt", "read", end=end)},
                      {"signature": sign("secret.txt", "read", end=past), "signature_expiration": past},
                      {"signature": sign("secret.txt", "read", end=-1), "signature_expiration": -1},
                      {"signature": sign("secret.txt", "read", end="1e99"), "signature_expiration": "1e99"},
                      {"signature": sign("secret.txt", "read", end=""), "signature_expiration": ""},
                      {"signature": "A" * 5000}, {"signature": "%00"}):
            for headers in ({}, self.ann.place):
                self.refused(self.ann.ask("GET", headers=headers, path="secret.txt", **query), 401, 400)
        self.refused(self.ann.ask("POST", b"evil", OCTETS, path="secret.txt", signature=good), 401)
        self.refused(self.ann.ask("GET", headers=self.bob.place, path="secret.txt", signature=good), 401)
        self.refused(self.ann.ask("GET", headers={}, path="/home/user/secret.txt", signature=good), 401)
        self.assertEqual(self.ann.ask("GET", headers={}, path="secret.txt", signature=good).body, b"of ann")

    def test_T_E2B_FILES_PATH_of_the_host(self):
        """Reach files of the host by "..", links or odd names."""
        mark = os.path.join(self.server.dir, "mark")
        with open(mark, "w", encoding="ascii") as f:
            f.write("of the host")
        names = [mark, "../" * 20 + mark, "/proc/1/root" + mark, "/proc/self/root/.." + mark, "~/../../" + mark]
        self.bob.run(f"ln -s {mark} link; ln -s / root")
        for name in (*names, "link", "root" + mark):
            answer = self.bob.read(name)
            self.assertNotEqual(answer.status, 200, name)
            self.assertNotIn(b"of the host", answer.body)
        for name in (*names, "link", "root" + mark):
            self.bob.write(name, b"evil")
            self.bob.upload(("file", name, b"evil"))
            self.bob.rpc("Remove", path=name)
        with open(mark, encoding="ascii") as f:
            self.assertEqual(f.read(), "of the host")

    def test_T_E2B_FILES_LINK_is_written_through(self):
        """An upload to a link writes where a program of the box could write, and nowhere else."""
        self.bob.run("echo old > target; ln -s target l; ln -s /etc/passwd p; ln -s /proc/sys/kernel/core_pattern k; mkfifo pipe")
        self.assertEqual(self.bob.write("l", b"new").status, 200)
        self.assertEqual(self.bob.read("target").body, b"new")
        for name in ("p", "k", "/etc/passwd", "/dev/mem", "/proc/self/mem", "pipe", "/proc/sysrq-trigger"):
            answer = self.bob.write(name, b"evil")
            self.assertGreaterEqual(answer.status, 400, name)
        self.assertGreaterEqual(self.bob.read("pipe").status, 400)  # it does not wait for a writer

    def test_T_E2B_FILES_HEADER_by_a_name(self):
        """Put a header of one's own into the answer by the name of a file."""
        for i, name in enumerate(("a\r\nX-Evil: 1\r\n\r\n<script>", "b\nX-Evil: 1", 'c"; filename="evil.exe', "d\x7f\x01\u2028é", "e;x=y")):
            path = f"h{i}/" + name
            self.assertEqual(self.bob.write(path, b"data").status, 200)
            answer = self.bob.read(path)
            said = answer.headers["Content-Disposition"]
            self.assertEqual((answer.status, answer.body, answer.headers["X-Evil"]), (200, b"data", None))
            self.assertTrue(said.startswith("inline; filename") and said.isascii() and said.isprintable(), said)
            self.assertNotIn('"; filename=', said.replace('\\"', ""))
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def test_T_E2B_BOMB_a_packed_body(self):
        """Fill the engine's memory with a small body that becomes a large one."""
        before = self.server.memory_bytes()
        bomb = gzip.compress(b"\0" * 64 * MIB) * 4
        packed = {"Content-Encoding": "gzip"}
        answer = self.bob.write("bomb", bomb, packed)
        self.assertIn(answer.status, (200, 507, 413, 500, 400))
        self.assertEqual(self.bob.rpc("Remove", path="bomb").status, 200)
        body, kind = form(("other", None, b"\0" * 64 * MIB))
        self.assertEqual(self.bob.ask("POST", gzip.compress(body), {**self.bob.headers, **kind, **packed}).status, 413)
        twice = gzip.compress(gzip.compress(b"\0" * 64 * MIB))
        self.assertEqual(self.bob.write("twice", twice, packed).status, 200)
        self.assertLess(self.server.memory_bytes() - before, 100 * MIB)
        self.assertEqual(self.ann.read("secret.txt").body, b"of ann")

    def test_T_E2B_FILES_HOLD_endless(self):
        """Have the engine hold memory, or not answer others, by bodies whose end never comes."""
        before = self.server.memory_bytes()
        raw = [self.server.raw() for _ in range(20)]
        for r in raw:
            head = "POST /files?path=slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nContent-Type: application/octet-stream\r\n"
            r.say((head + "".join(f"{k}: {v}\r\n" for k, v in self.bob.headers.items()) + "\r\nabc").encode())
        self.assertEqual(self.ann.read("secret.txt").body, b"of ann")
        for r in raw:
            r.close()
        self.assertLess(self.server.memory_bytes() - before, 50 * MIB)


if __name__ == "__main__":
    harness.main()
