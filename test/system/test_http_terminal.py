# SPDX-License-Identifier: Apache-2.0
"""Terminals of sessions over a WebSocket, as a page with a terminal emulator uses them."""

import asyncio
import hashlib
import json
import os
import re
import signal
import socket
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import http_box  # noqa: E402
import rpc  # noqa: E402
import web  # noqa: E402
from programs import ESCAPES  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20
KEY = "AAAAAAAAAAAAAAAAAAAAAA=="
OPENING = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}")


class Terminal:
    """What a page keeps of a terminal: its text, and the control messages."""

    def __init__(self, socket_):
        self.w = socket_
        self.out = bytearray()
        self.seen = 0
        self.told = []

    async def more(self):
        message = await self.w.recv()
        if isinstance(message, bytes):
            self.out += message
        else:
            self.told.append(json.loads(message))

    async def expect(self, pattern):
        """Wait for text that no earlier call has passed. Returns: the match."""
        pattern = re.compile(pattern if isinstance(pattern, bytes) else pattern.encode())
        while not (found := pattern.search(ESCAPES.sub(b"", self.out), self.seen)):
            try:
                await self.more()
            except (http_box.websockets.ConnectionClosed, asyncio.CancelledError) as e:
                raise AssertionError(f"{pattern.pattern!r} never came: {self.out[-500:]!r} {self.told} {e}") from None
        self.seen = found.end()
        return found

    async def tell(self, kind):
        """Wait for a control message. Returns: it."""
        while not (found := next((m for m in self.told if m["type"] == kind), None)):
            await self.more()
        self.told.remove(found)
        return found

    async def type(self, text):
        await self.w.send(text if isinstance(text, bytes) else text.encode())

    async def control(self, **message):
        await self.w.send(json.dumps(message))

    async def end(self):
        """All that is left. Returns: the close's code."""
        try:
            while True:
                await self.more()
        except http_box.websockets.ConnectionClosed:
            return self.w.close_code


def frame(opcode, data=b"", is_last=True, is_masked=True, length=None, reserved=0):
    """A frame as bytes. @length: what is announced."""
    n = len(data) if length is None else length
    head = bytes([is_last << 7 | reserved << 4 | opcode])
    mask = is_masked << 7
    head += (bytes([mask | n]) if n < 126 else bytes([mask | 126]) + struct.pack(">H", n) if n < 1 << 16
             else bytes([mask | 127]) + struct.pack(">Q", n))
    return head + (b"\0\0\0\0" if is_masked else b"") + data


class Case(http_box.Case):
    def start(self, *argv, **params):
        """Start a program in a terminal. Returns: the path of the WebSocket."""
        return self.path(self.call("terminal.open", argv=list(argv or ("bash", "--norc")), **params)["process"])

    def path(self, process, session=None):
        return f"/terminal/{session or self.session}/{process}"

    def attach(self, path, **options):
        outer = self

        class Attached:
            async def __aenter__(self):
                self.w = await outer.ws(path, max_size=None, **options)
                return Terminal(self.w)

            async def __aexit__(self, *_):
                await self.w.close()
        return Attached()

    def opened(self, path, **options):
        """A connection that speaks in bytes, after the handshake."""
        raw = self.raw(path, "GET", *OPENING, **options)
        self.assertIn(b" 101 ", raw.file.readline())
        while raw.file.readline().strip():
            pass
        return raw

    def frames(self, raw):
        """(opcode, data) of each frame up to the end, with a close as (8, code, reason)."""
        while head := raw.file.read(2):
            n = head[1]
            if n >= 126:
                n, = struct.unpack(">H" if n == 126 else ">Q", raw.file.read(2 if n == 126 else 8))
            data = raw.file.read(n)
            yield (8, struct.unpack(">H", data[:2])[0] if data else None) if head[0] == 0x88 else (head[0] & 15, data)

    def closed_with(self, raw):
        """Returns: the close's code, None if it has none, "" if there is no close."""
        return next((f[1] for f in self.frames(raw) if f[0] == 8), "")


@unittest.skipUnless(http_box.websockets, "python3-websockets is missing")
class Use(Case):
    @http_box.run
    async def test_shell(self):
        path = self.start()
        async with self.attach(path + "?rows=30&cols=99") as t:
            told = await t.tell("attached")
            self.assertEqual((told["process"], type(told["pid"])), (path.split("/")[-1], int))
            await t.type("stty size; echo h$((1 + 1))\n")
            await t.expect("30 99\r\nh2")
            await t.control(type="resize", rows=11, cols=44)
            await t.type("stty size\n")
            await t.expect("11 44")
            await t.type("PS1='<$?>'\n")
            await t.expect("<0>$")
            await t.type("sh -c 'echo u$((1))p; cat'\n")
            await t.expect("u1p")
            await t.type("hello\n")
            await t.expect("hello\r\nhello\r\n")
            await t.type("\x03")
            await t.expect("<130>$")
            await t.type("exit 3\n")
            self.assertEqual(await t.end(), 1000)
            self.assertEqual((t.told[-1]["type"], t.told[-1]["exit_code"], t.told[-1]["state"]), ("exit", 3, "exited"))

    @http_box.run
    async def test_signal_reaches_the_program(self):
        path = self.start("python3", "-uc", "import signal, time\nsignal.signal(signal.SIGUSR1, lambda *_: print('got usr1'))\n"
                          "print('up')\nwhile True: time.sleep(0.05)")
        async with self.attach(path) as t:
            await t.expect("up")
            await t.control(type="signal", signal="USR1")
            await t.expect("got usr1")

    @http_box.run
    async def test_size_changes_reach_the_program(self):
        path = self.start("python3", "-uc", "import signal, os, time\ndef on(*_): print('size', *os.get_terminal_size(), flush=True)\n"
                          "signal.signal(signal.SIGWINCH, on); print('up', flush=True)\nwhile True: time.sleep(0.05)")
        async with self.attach(path) as t:
            await t.expect("up")
            for rows, cols in ((10, 20), (50, 200), (24, 80)):
                await t.control(type="resize", rows=rows, cols=cols)
                await t.expect(f"size {cols} {rows}")

    @http_box.run
    async def test_python(self):
        async with self.attach(self.start("python3", "-q")) as t:
            await t.expect(">>> ")
            await t.type("6 * 7\n")
            await t.expect("42")
            await t.expect(">>> ")
            await t.type("exec('import time\\nprint(6, 7)\\nwhile True: time.sleep(1)')\n")
            await t.expect("6 7\r\n")
            await t.type("\x03")
            await t.expect("KeyboardInterrupt")
            await t.type("\x04")
            self.assertEqual(await t.end(), 1000)

    @http_box.run
    async def test_less(self):
        self.call("step.run", code="open('long.txt', 'w').write('\\n'.join(f'line {i}.' for i in range(500)))")
        async with self.attach(self.start("less", "long.txt", rows=20, cols=60, env={"LESS": "", "LESSHISTFILE": "-"})) as t:
            await t.expect(r"line 18\.")
            await t.type("G")
            await t.expect(r"line 499\.\r\n\(END\)")
            await t.type("q")
            self.assertEqual(await t.end(), 1000)
            self.assertEqual(t.told[-1]["exit_code"], 0)

    @http_box.run
    async def test_vim(self):
        async with self.attach(self.start("vim", "-u", "NONE", "-N", "notes.txt") + "?rows=24&cols=80") as t:
            await t.expect(r"notes\.txt")
            await t.type("ihello from vim\x1b")
            await t.expect("hello from vim")
            await t.control(type="resize", rows=12, cols=40)
            await t.expect("hello from vim")  # drawn anew
            await t.type(":put =&lines . 'x' . &columns\r")
            await t.expect("12x40")
            await t.type(":wq\r")
            self.assertEqual(await t.end(), 1000)
        self.assertEqual(self.call("file.read", path="notes.txt")["content"], "hello from vim\n12x40\n")

    @http_box.run
    async def test_attach_again(self):
        """From the beginning, and from an offset; the program goes on meanwhile."""
        path = self.start("cat")
        async with self.attach(path) as t:
            await t.type("one\n")
            await t.expect("one\r\none\r\n")
        async with self.attach(path) as t:
            await t.expect("one\r\none\r\n")
            await t.type("two\n")
            await t.expect("two\r\ntwo\r\n")
            n = len(t.out)
        async with self.attach(path + f"?offset={n - 5}") as t:
            await t.expect("^two\r\n$")
        self.assertEqual(self.call("process.get", process=path.split("/")[-1])["state"], "running")

    @http_box.run
    async def test_two_clients(self):
        """Both see what either types."""
        path = self.start("cat")
        async with self.attach(path) as a, self.attach(path) as b:
            await a.type("from a\n")
            await b.expect("from a\r\nfrom a")
            await b.type("from b\n")
            await a.expect("from b\r\nfrom b")
            await a.type("\x04")
            self.assertEqual((await a.end(), await b.end()), (1000, 1000))

    @http_box.run
    async def test_fifty(self):
        paths = [self.start("cat", name=f"t{i}") for i in range(50)]

        async def use(i, path):
            async with self.attach(path) as t:
                await t.type(f"number {i}\n")
                await t.expect(f"number {i}\r\nnumber {i}\r\n")
                await asyncio.wait_for(barrier.wait(), harness.TIMEOUT_S)
                await t.type("\x04")
                return await t.end()

        class Barrier:
            n = 0
            event = asyncio.Event()

            async def wait(self):
                self.n += 1
                if self.n == 50:
                    self.event.set()
                await self.event.wait()
        barrier = Barrier()
        self.assertEqual(await asyncio.gather(*(use(i, p) for i, p in enumerate(paths))), [1000] * 50)

    @http_box.run
    async def test_bytes_that_are_no_text(self):
        path = self.start("python3", "-uc", "import os, tty; tty.setraw(0); os.write(1, b'up')\n"
                          "n = 0\nwhile n < 256: d = os.read(0, 256); n += len(d); os.write(1, d)")
        data = bytes(reversed(range(256)))
        async with self.attach(path) as t:
            await t.expect("up")
            await t.type(data)
            await t.end()
            self.assertEqual(t.out, b"up" + data)

    @http_box.run
    async def test_much_input(self):
        """What is typed faster than the program reads waits, and all of it arrives."""
        n = 2 * MIB
        path = self.start("python3", "-uc", "import os, tty, hashlib; tty.setraw(0); os.write(1, b'up')\nh = hashlib.sha256(); "
                          f"n = 0\nwhile n < {n}: d = os.read(0, 65536); n += len(d); h.update(d)\nprint(h.hexdigest())")
        data = bytes(range(256)) * (n >> 8)
        async with self.attach(path) as t:
            await t.expect("up")
            for i in range(0, n, 100000):
                await t.type(data[i:i + 100000])
            await t.expect(hashlib.sha256(data).hexdigest())

    def test_client_that_reads_slowly(self):
        """It is told what it has missed. Memory has a bound, and others are not held up."""
        path = self.start("python3", "-c", "import sys\nfor i in range(10 << 10): sys.stdout.write('x' * 1023 + '\\n')\n"
                          "print('the end', flush=True); sys.stdin.read()")
        before = self.memory()
        lazy = self.opened(path, buffer_bytes=4096)

        async def other():
            async with self.attach(path) as t:
                while b"the end" not in t.out[-100:]:
                    await t.more()
                async with self.attach(self.start("cat", name="other")) as u:
                    await u.type("quick\n")
                    await u.expect("quick")
        asyncio.run(asyncio.wait_for(other(), harness.TIMEOUT_S))
        self.assertLess(self.memory() - before, 16 * MIB)
        n, cut = 0, 0
        for f in self.frames(lazy):
            if f[0] == 1 and json.loads(f[1])["type"] == "cut":
                cut += json.loads(f[1])["bytes"]
            n += len(f[1]) if f[0] == 2 else 0
            if f[0] == 2 and b"the end\r\n" in f[1]:
                break
        self.assertEqual(n + cut, (10 << 10) * 1025 + len("the end\r\n"))
        self.assertGreater(cut, 0)

    @http_box.run
    async def test_a_program_that_has_ended(self):
        path = self.start("sh", "-c", "printf done; exit 7")
        self.call("process.wait", process=path.split("/")[-1])
        async with self.attach(path) as t:
            self.assertEqual(await t.end(), 1000)
            self.assertEqual((t.out, t.told[-1]["exit_code"]), (b"done", 7))

    @http_box.run
    async def test_session_is_closed(self):
        async with self.attach(self.start("cat")) as t:
            await t.tell("attached")
            self.call("session.close")
            self.assertEqual(await t.end(), 1001)
            self.assertEqual((t.told[-1]["type"], t.told[-1]["ended"]), ("exit", "close"))

    @http_box.run
    async def test_ended_long_ago_with_much_output(self):
        """All of the output, and then the exit, also when more is kept than is sent at a time."""
        for size in (262143, 262144, 400000):
            path = self.start("sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x; exit 7", output_bytes=1 << 20)
            self.call("process.wait", process=path.split("/")[-1])
            async with self.attach(path) as t:
                self.assertEqual(await t.end(), 1000)
                self.assertEqual((len(t.out), t.told[-1].get("exit_code")), (size, 7))

    @http_box.run
    async def test_token_of_a_page(self):
        path = self.start("cat")
        own = http_box.protocol(self.token)
        for asked, given in ((["retort.terminal"], "retort.terminal"), ([], own)):
            w = await self.ws(path, {}, subprotocols=[*asked, own])
            self.assertEqual(w.subprotocol, given)
            await w.close()
        w = await self.ws(path, http_box.basic(self.token))
        await w.close()


class Messages(Case):
    """What a client may say, byte by byte."""

    def setUp(self):
        super().setUp()
        self.at = self.start("cat")

    def test_silence(self):
        """A client that says nothing is asked, and one that does not answer has gone."""
        raw = self.opened(self.at)
        raw.sock.settimeout(2 * harness.TIMEOUT_S)
        said = list(self.frames(raw))
        self.assertIn((9, b""), said)
        self.assertNotIn(8, [frame[0] for frame in said])

    def test_whatever_breaks_the_protocol(self):
        for data, code in (
                (frame(2, b"x" * (256 * 1024 + 1)), 1009), (frame(2, b"x", length=1 << 62), 1009),
                (frame(2, b"x" * 200000, is_last=False) + frame(0, b"x" * 200000), 1009),
                (frame(1, b"\xff\xfe"), 1007), (frame(1, b"\xed\xa0\x80"), 1007), (frame(1, b"\xe2\x98"), 1007),
                (frame(2, b"x", is_masked=False), 1002), (frame(2, b"x", reserved=4), 1002), (frame(2, b"x", reserved=1), 1002),
                (frame(3, b"x"), 1002), (frame(11, b"x"), 1002), (frame(0, b"x"), 1002),
                (frame(1, b"x", is_last=False) + frame(1, b"y"), 1002), (frame(9, b"x" * 126), None),
                (frame(9, b"x", is_last=False), None), (frame(8, b"x"), None), (frame(8, struct.pack(">H", 1005)), 1002),
                (frame(8, struct.pack(">H", 999)), 1002), (frame(8, struct.pack(">H", 1000) + b"\xff"), 1007),
                (b"GET / HTTP/1.1\r\n\r\n", 1002)):
            with self.subTest(data=data[:20]):
                raw = self.opened(self.at)
                raw.say(data)
                self.assertEqual(self.closed_with(raw), code)
                raw.close()

    def test_closes_are_answered(self):
        for data in (frame(8, struct.pack(">H", 1000) + b"bye"), frame(8, struct.pack(">H", 4999)), frame(8)):
            raw = self.opened(self.at)
            raw.say(data + frame(2, b"after it\n"))
            self.assertIn(8, [f[0] for f in self.frames(raw)])
            raw.close()

    def read_until(self, raw, text):
        out = b""
        for f in self.frames(raw):
            out += f[1] if f[0] == 2 else b""
            if text in out:
                return out
        return self.fail(out)

    def test_pings_and_fragments(self):
        raw = self.opened(self.at)
        raw.say(frame(2, b"he", is_last=False) + frame(9, b"are you there") + frame(0, b"llo\n") + frame(10, b"unasked"))
        seen = []
        for f in self.frames(raw):
            seen.append(f)
            if b"hello\r\nhello\r\n" in b"".join(f[1] for f in seen if f[0] == 2):
                break
        self.assertIn((10, b"are you there"), seen)

    def test_one_byte_at_a_time(self):
        raw = self.opened(self.at)
        raw.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for text in (b"slow", b"x" * 300):
            for byte in frame(2, text + b"\n"):
                raw.say(bytes([byte]))
            self.read_until(raw, text + b"\r\n" + text)

    def test_messages_with_the_request(self):
        """What comes together with the handshake counts."""
        raw = self.server.raw()
        self.addCleanup(raw.close)
        raw.say("\r\n".join([f"GET {self.at} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.token}", *OPENING,
                             "", ""]).encode() + frame(2, b"early\n"))
        while raw.file.readline().strip():
            pass
        self.read_until(raw, b"early\r\nearly")

    def test_control_messages(self):
        raw = self.opened(self.at)
        frames = (f for f in self.frames(raw) if f[0] == 1)
        self.assertEqual(json.loads(next(frames)[1])["type"], "attached")
        for message, words in (("", "not JSON"), ("nonsense", "not JSON"), ("{}", "unknown type"), ("[]", "unknown type"), ("7", "not JSON"),
                               ('{"type": 7}', "unknown type"), ('{"type": "resize"}', "rows"), ('{"type": "resize", "rows": "x", "cols": 1}', "rows"),
                               ('{"type": "resize", "rows": 0, "cols": 1}', "rows"), ('{"type": "signal", "signal": "NONSENSE"}', "signal"),
                               ('{"type": "signal", "signal": "INT", "more": 1}', "more"), ('{"type": "exit", "type": "exit"}', "not JSON"),
                               ('{"type": "' + "x" * 1000 + '"}', "unknown type"), ("[" * 100000, "not JSON"),
                               ('{"type": "process.kill"}', "unknown type")):
            with self.subTest(message=message[:50]):
                raw.say(frame(1, message.encode()))
                answer = json.loads(next(frames)[1])
                self.assertEqual((answer["type"], answer["code"]), ("error", "usage"), answer)
                self.assertIn(words, answer["message"])
        other = self.call("terminal.open", argv=["cat"])["process"]
        raw.say(frame(1, json.dumps({"type": "signal", "signal": "KILL", "process": other}).encode()))
        self.assertEqual(json.loads(next(frames)[1])["type"], "exit")  # its own ended
        self.assertEqual(self.call("process.get", process=other)["state"], "running")

    def test_a_reset_while_the_program_ends(self):
        """The engine stands still. The program ends, in every other case after it has printed something; then the client
        resets the connection. So the engine learns of the program first, and cannot tell the client."""
        for i in range(4):
            last = "echo bye;" if i % 2 else ""
            path = self.start("sh", "-c", f"trap '{last} exit {i}' TERM; echo up; while :; do sleep 0.05; done", name=f"r{i}")
            raw = self.opened(path)
            self.read_until(raw, b"up")
            there, = [pid for init in rpc.inits_of(self.server.process.pid, self.session) for pid in rpc.descendants(init)
                      if rpc.nested(pid)[-1:] == [self.call("process.get", process=f"r{i}")["pid"]]]
            with self.server.standing_still():
                os.kill(there, signal.SIGTERM)
                self.assertTrue(web.wait(lambda: not os.path.exists(f"/proc/{there}")))
                raw.file.close()
                raw.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                raw.sock.close()
            self.assertEqual(self.call("process.wait", process=f"r{i}")["exit_code"], i)
        self.assertEqual(self.server.request("GET", "/healthz").status, 200)


class Refusals(Case):
    def status(self, path, *lines, token=None):
        raw = self.server.raw()
        self.addCleanup(raw.close)
        given = [f"Authorization: Bearer {token}"] if token else []
        raw.say("\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *given, *lines, "", ""]).encode())
        return raw.answer()

    def test_paths(self):
        cat = self.start("cat", name="cat")
        plain = self.call("process.start", argv=["cat"])["process"]
        for path, want in ((self.path(plain), 400), (self.path("nobody"), 404), (self.path("cat", "nobody"), 404), ("/terminal/", 404),
                           ("/terminal", 404), (f"/terminal/{self.session}", 404), (f"/terminal/{self.session}/", 404),
                           ("/terminal//cat", 404), (cat + "/more", 404), (cat + "?rows=x", 400), (cat + "?rows=-1", 400),
                           (cat + "?rows=5000&cols=1", 400), (cat + "?offset=99999999999999999999", 400),
                           ("/terminal/" + "x" * 5000 + "/cat", 404)):
            with self.subTest(path=path[:60]):
                answer = self.status(path, *OPENING, token=self.token)
                self.assertEqual(answer.status, want)
                self.assertTrue(answer.json["error"]["message"])
        self.assertIn("no terminal", self.status(self.path(plain), *OPENING, token=self.token).json["error"]["message"])

    def test_callers(self):
        path = self.start("cat")
        for token, want in ((None, 401), ("x" * 30, 401), (http_box.BOB, 404), (self.token, 101)):
            self.assertEqual(self.status(path, *OPENING, token=token).status, want, token)

    def test_handshakes(self):
        path = self.start("cat")
        upgrade, connection, version, key = OPENING
        for lines, want in (((), 426), ((connection, version, key), 426), ((upgrade, connection, key), 426),
                            ((upgrade, connection, "Sec-WebSocket-Version: 12", key), 426), (("Upgrade: h2c", connection, version, key), 426),
                            ((upgrade, connection, version), 400), ((upgrade, connection, version, "Sec-WebSocket-Key: x"), 400),
                            ((upgrade, connection, version, "Sec-WebSocket-Key: AAAA"), 400), ((*OPENING, "Content-Length: 0"), 101)):
            with self.subTest(lines=lines):
                answer = self.status(path, *lines, token=self.token)
                self.assertEqual(answer.status, want)
                if want == 426:
                    self.assertEqual((answer.headers["Upgrade"], answer.headers["Sec-WebSocket-Version"]), ("websocket", "13"))
        self.assertEqual(self.request("POST", path, b"").status, 405)

    def test_the_key_is_answered(self):
        """The example of RFC 6455, 1.3."""
        answer = self.status(self.start("cat"), *OPENING[:3], "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", token=self.token)
        self.assertEqual((answer.status, answer.headers["Sec-WebSocket-Accept"]), (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))

    def test_origins(self):
        path = self.start("cat")
        port = self.server.port
        for origin, want in ((f"http://localhost:{port + 1}", 403), ("null", 403), ("https://example.org", 403),
                             (f"http://8000-{self.session}.localhost:{port}", 403), (f"http://127.0.0.1:{port}", 403)):
            self.assertEqual(self.status(path, *OPENING, f"Origin: {origin}", token=self.token).status, want, origin)
        # The request's own host.
        self.assertEqual(self.status(path, *OPENING, "Origin: http://localhost", token=self.token).status, 101)


@unittest.skipUnless(http_box.websockets, "python3-websockets is missing")
class Stops(http_box.OwnEngine, Case):
    @http_box.run
    async def test_engine_is_stopped(self):
        async with self.attach(self.start("cat")) as t:
            await t.tell("attached")
            self.server.process.send_signal(signal.SIGTERM)
            self.assertEqual(await t.end(), 1001)
        self.assertEqual(self.server.stop(), 0)

    def test_client_that_does_not_answer_a_close(self):
        raw = self.opened(self.start("cat"))
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(self.closed_with(raw), 1001)


if __name__ == "__main__":
    harness.main()
