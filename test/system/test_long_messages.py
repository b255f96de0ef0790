# SPDX-License-Identifier: Apache-2.0
"""Messages that are long are read and written beside the loop: nobody waits, and nothing else is different."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20
PAD = b" " * MIB

# Each is no request, or none that can be done.
WRONG = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"7", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":{},"method":"x"}',
         b'{"jsonrpc":"2.0","id":1,"id":2,"method":"engine.info"}', b'{"jsonrpc":"2.0","id":1,"method":"engine.inf"}',
         b'{"jsonrpc":"2.0","id":"a","method":"engine.info","params":[1]}',
         b'{"jsonrpc":"2.0","id":1,"method":"engine.info","params":{"x":' + b"[" * 3000 + b"]" * 3000 + b"}}",
         b'{"jsonrpc":"2.0","id":1,"method":"step.run","params":{"session":"s-nobody","code":"1"}}']


def cpu_ns(pid):
    """(of the first thread, of all others), since each began."""
    taken = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            taken[int(tid)] = int(f.read().split()[0])
    return taken.pop(pid), sum(taken.values())


class Long(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--grace", "0s")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def client(self):
        client = rpc.Client(self.server.path)
        self.addCleanup(client.close)
        return client

    def session(self):
        s = self.server.rpc("session.create")["session"]
        self.addCleanup(self.server.rpc, "session.close", session=s)
        return s

    def test_nothing_overtakes_a_long_line(self):
        client = self.client()
        s = self.session()
        for i in range(5):
            lines = [web.question("step.run", 1, session=s, code=f"x = {i}\n#" + "y" * MIB),
                     web.question("step.run", 2, session=s, code="x"), b" " * MIB, b"",
                     web.question("step.run", 3, session=s, code="x + 1 #" + "y" * MIB),
                     web.question("step.run", 4, session=s, code="x")]
            client.file.write(b"\n".join(lines) + b"\n")
            client.file.flush()
            got = [client.receive() for _ in range(4)]
            self.assertEqual([number for number, _ in got], [1, 2, 3, 4])
            self.assertEqual([said["result"].get("value", {}).get("text/plain") for _, said in got],
                             [None, str(i), str(i + 1), str(i)])

    def test_a_long_line_without_its_end(self):
        with rpc.socket.socket(rpc.socket.AF_UNIX) as c:
            c.connect(self.server.path)
            c.sendall(web.question("engine.info") + PAD)
            c.shutdown(rpc.socket.SHUT_WR)
            with c.makefile("rb") as file:
                self.assertIn("result", json.loads(file.read()))

    def test_what_is_wrong_is_told_alike(self):
        client = self.client()

        def said(line):
            client.file.write(line + b"\n")
            client.file.flush()
            return client.receive()[1]

        for body in WRONG:
            short, long = (self.server.post(one) for one in (body, PAD + body))
            self.assertEqual((short.status, short.json), (long.status, long.json), body[:60])
            self.assertIn("error", short.json)
            if body:
                self.assertEqual(said(body), said(PAD + body), body[:60])
                self.assertEqual(said(body), short.json, body[:60])

    def test_a_long_answer_is_whole(self):
        client = self.client()
        s = self.session()
        code = "import os; t = 'a\\'\"\\u00e9\\x00\\n' * 400_000; print(t, end=''); open('f', 'wb').write(os.urandom(3 << 20))"
        text = "a'\"\u00e9\x00\n" * 400_000
        self.assertEqual(client.run(s, code)["stdout"], text)
        self.assertEqual(self.server.rpc("step.run", session=s, code=code)["stdout"], text)
        with self.server.raw() as raw:
            raw.say(web.post(web.question("step.run", session=s, code=code), Accept="text/event-stream"))
            name, said = list(web.events([raw.answer().body]))[-1]
        self.assertEqual((name, said["result"]["stdout"]), ("response", text))
        ours, theirs = (call("file.read", session=s, path="f") for call in (client, self.server.rpc))
        self.assertEqual((ours, len(ours["content"])), (theirs, 4 * MIB))

    def test_who_goes_meanwhile_has_begun_what_he_asked(self):
        client = self.client()
        s = self.session()
        for i in range(10):
            with rpc.socket.socket(rpc.socket.AF_UNIX) as c:
                c.connect(self.server.path)
                c.sendall(web.question("file.write", session=s, path=f"f{i}", content="y" * MIB) + b"\n")
        self.assertTrue(web.wait(lambda: len(client("file.list", session=s)["files"]) == 10))

    def test_who_goes_meanwhile_gets_no_answer(self):
        client = self.client()
        s = self.session()
        client("file.write", session=s, path="f", content="y" * (12 * MIB))
        body = web.question("file.read", session=s, path="f")
        for i in range(20):
            with self.server.raw() as raw, rpc.socket.socket(rpc.socket.AF_UNIX) as c:
                c.connect(self.server.path)
                c.sendall(body + b"\n" + body + b"\n")
                raw.say(web.post(body, **({"Accept": "text/event-stream"} if i % 2 else {})))
                time.sleep(i / 1000)
            self.assertIn("version", client("engine.info"))

    def test_answers_that_nobody_takes_are_bounded(self):
        """What lies there is one caller's, who is told; when it was taken, there is room again."""
        s = self.session()
        self.server.rpc("step.run", session=s, code="import os; open('f', 'wb').write(os.urandom(16 << 20))")
        body = web.question("file.read", session=s, path="f")
        raws = [self.server.raw(buffer_bytes=4096) for _ in range(12)]
        try:
            for raw in raws:
                raw.say(web.post(body))
            for raw in raws:  # all of them are answered, and nothing is taken
                raw.sock.recv(1, rpc.socket.MSG_PEEK)
            said = [raw.answer().json for raw in raws]
        finally:
            for raw in raws:
                raw.close()
        told = [one["error"] for one in said if "error" in one]
        self.assertIn(len(told), range(1, 12))
        self.assertEqual({one["data"]["code"] for one in told}, {"limit"})
        self.assertEqual(len(self.server.rpc("file.read", session=s, path="f")["content"]), 22369624)

    def test_the_engine_ends_meanwhile(self):
        for i in range(2):
            with web.Server("--grace", "0s") as server:
                s = server.rpc("session.create")["session"]
                server.rpc("file.write", session=s, path="f", content="y" * (12 * MIB))
                held = [rpc.Client(server.path) for _ in range(4)]
                raws = [server.raw() for _ in range(4)]
                read = web.question("file.read", session=s, path="f")
                write = web.question("file.write", session=s, path="g", content="y" * (4 * MIB))
                for n, (client, raw) in enumerate(zip(held, raws)):
                    client.socket.sendall((read if n % 2 else write) + b"\n")
                    raw.say(web.post(write if n % 2 else read))
                time.sleep(i / 100)
                server.process.terminate()
                self.assertEqual(server.process.wait(web.ANSWER_S), 0)
                for one in held + raws:
                    one.close()

    def other_threads_take_longer(self, ask):
        ask()
        before = cpu_ns(self.server.process.pid)
        for _ in range(5):
            ask()
        loop, others = (b - a for a, b in zip(before, cpu_ns(self.server.process.pid)))
        self.assertGreater(others, loop)

    def test_another_thread_reads_it(self):
        """The loop takes in its bytes, and no more."""
        client = self.client()
        long = '{"jsonrpc":"2.0","id":1,"method":"engine.info","params":{"x":"' + "\\u00e9" * (4 * MIB) + '"}}'

        def ask_here():
            client.file.write(long.encode() + b"\n")
            client.file.flush()
            self.assertIn("unknown parameter", client.receive()[1]["error"]["message"])

        self.other_threads_take_longer(ask_here)
        self.other_threads_take_longer(lambda: self.assertIn(
            "unknown parameter", self.server.post(long.encode()).json["error"]["message"]))

    def test_another_thread_reads_a_file(self):
        client = self.client()
        s = self.session()
        client.run(s, "import os; open('f', 'wb').write(os.urandom(12 << 20))")
        self.other_threads_take_longer(lambda: client("file.read", session=s, path="f"))
        self.other_threads_take_longer(lambda: self.server.rpc("file.read", session=s, path="f"))


if __name__ == "__main__":
    harness.main()
