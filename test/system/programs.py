# SPDX-License-Identifier: Apache-2.0
"""Programs that clients start in a session's box: clients that take events, and a terminal to type into.

    class Shells(programs.Case):
        def test_echo(self):
            with self.terminal(argv=["sh"]) as t:
                t.type("echo $((6 * 7))\\n")
                t.expect("42")
"""

import base64
import hashlib
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402
import service  # noqa: E402

# What a terminal does apart from showing text: colours, cursor, titles.
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()*+][0-9A-Za-z]|[ -/]*[0-~])")


def decoded(chunk):
    """The bytes of an event, or of an answer of process.read."""
    if chunk["encoding"] == "raw":
        return chunk["data"]
    if chunk["encoding"] == "base64":
        return base64.b64decode(chunk["data"], validate=True)
    return chunk["data"].encode()


class Client(service.Client):
    """A connection whose events are kept too, by the number of their call."""

    def __init__(self, path):
        super().__init__(path)
        self.events = {}

    def next(self):
        """Take the next message, whatever it is."""
        line = self.file.readline()
        if not line:
            raise ConnectionError("the engine closed the connection")
        message = json.loads(line)
        if message.get("method") == "event":
            if message["params"].get("encoding") == "raw":
                message["params"]["data"] = self.exactly(message["params"]["bytes"])
            self.events.setdefault(message["params"]["id"], []).append(message["params"])
        else:
            self.answers[message.get("id")] = message

    def exactly(self, n):
        data = self.file.read(n)
        if len(data) < n:
            raise ConnectionError("the engine closed the connection")
        return data

    def receive(self, number):
        while number not in self.answers:
            self.next()
        return super().receive(number)

    def cancel(self, number):
        self.file.write(json.dumps({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": number}}).encode() + b"\n")
        self.file.flush()


class Attached:
    """A client that is attached to a process. It checks that each event goes on where the last one ended, but for
    what the event says was cut. @is_kept False: for much output, only its digest and its size are."""

    def __init__(self, engine, session, process, is_kept=True, **params):
        self.client = Client(engine.path)
        self.is_kept = is_kept
        self.at = {name: params.get(f"{name}_offset", 0) for name in ("stdout", "stderr")}
        self.out = {"stdout": b"", "stderr": b""}
        self.digest = {name: hashlib.sha256() for name in self.out}
        self.cut = {"stdout": 0, "stderr": 0}
        self.is_told = False
        self.seen = 0  # of stdout, by expect()
        self.number = self.client.send("process.attach", session=session, process=process, stream=True, **params)

    def more(self):
        """Take the next output, or the answer."""
        while not (events := self.client.events.pop(self.number, [])) and not self.is_over:
            self.client.next()
        if events and not self.is_told:  # this comes at once, however silent the program is
            told = events.pop(0)
            if told["event"] != "attached":
                raise AssertionError(f"not attached first: {str(told)[:300]}")
            self.is_told = True
            if not events:
                self.more()
        for event in events:
            name, data = event["stream"], decoded(event)
            cut = event.get("cut_bytes", 0)
            if event["event"] != "output" or event["offset"] != self.at[name] + cut or not data:
                raise AssertionError(f"after {self.at[name]} bytes of {name}: {str(event)[:300]}")
            self.cut[name] += cut
            self.at[name] += cut + len(data)
            self.digest[name].update(data)
            if self.is_kept:
                self.out[name] += data

    @property
    def is_over(self):
        return self.number in self.client.answers

    def expect(self, pattern, stream="stdout"):
        """Wait until text that no call of expect() has passed yet matches. Returns: the match."""
        wanted = re.compile(pattern if isinstance(pattern, bytes) else pattern.encode())
        while not (found := wanted.search(ESCAPES.sub(b"", self.out[stream]), self.seen if stream == "stdout" else 0)):
            if self.is_over:
                raise AssertionError(f"{pattern!r} never came: {self.out[stream][-2000:]!r}")
            try:
                self.more()
            except TimeoutError:
                raise AssertionError(f"{pattern!r} did not come: {self.out[stream][-2000:]!r}") from None
        if stream == "stdout":
            self.seen = found.end()
        return found

    def end(self):
        """All that is left. Returns: what the call was answered with."""
        # Another call on the connection may have received events, and the end behind them.
        while not self.is_over or self.client.events.get(self.number):
            self.more()
        return self.client.receive(self.number)

    def detach(self):
        self.client.cancel(self.number)
        return self.end()

    def close(self):
        self.client.close()


class Terminal(Attached):
    """A program in a terminal that the test types into and looks at."""

    def __init__(self, engine, session, process, **params):
        super().__init__(engine, session, process, **params)
        self.session, self.process = session, process

    def call(self, method, **params):
        return self.client.call(method, session=self.session, process=self.process, **params)

    def type(self, text):
        data = text if isinstance(text, str) else text.decode()
        return self.call("process.write", data=data)["bytes"]

    def resize(self, rows, cols):
        return self.call("process.resize", rows=rows, cols=cols)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Case(harness.Case):
    """The tests of a class share an engine; each has a session of its own, self.s."""

    options = ()
    attached_with = {}  # parameters of process.attach

    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine(*cls.options)
        cls.addClassCleanup(cls.engine.stop)

    def setUp(self):
        self.client = Client(self.engine.path)
        self.addCleanup(self.client.close)
        self.s = self.new_session()

    def new_session(self, **params):
        session = self.client.call("session.create", **params)["session"]
        self.addCleanup(self.close_session, session)
        return session

    def close_session(self, session):
        if self.engine.process.poll() is not None:
            return
        client = Client(self.engine.path)
        try:
            client.call("session.close", session=session)
        except service.Refused:
            pass  # the test has closed it
        finally:
            client.close()

    def call(self, method, **params):
        return self.client.call(method, **{"session": self.s, **params})

    def start(self, *argv, **params):
        """Start a program: argv, or `command`. Returns: its id."""
        if argv:
            params["argv"] = list(argv)
        return self.call("process.start", **params)["process"]

    def wait(self, process, **params):
        return self.call("process.wait", process=process, **params)

    def output(self, process, stream="stdout", offset=0, limit=1 << 20):
        """All that is kept of a stream, byte by byte, and how many bytes were cut."""
        out, cut = b"", 0
        while True:
            chunk = self.call("process.read", process=process, stream=stream, offset=offset, limit=limit)
            data = decoded(chunk)
            self.assertEqual(chunk["offset"], offset + chunk.get("cut_bytes", 0), chunk)
            self.assertEqual(chunk["next"], chunk["offset"] + len(data), chunk)
            self.assertLessEqual(len(data), limit)
            out += data
            cut += chunk.get("cut_bytes", 0)
            if chunk["end"] or not data:
                return out, cut
            offset = chunk["next"]

    def done(self, *argv, **params):
        """Run a program to its end. Returns: what there is to say of it, and its stdout."""
        process = self.start(*argv, **params)
        about = self.wait(process)
        return about, self.output(process)[0]

    def out_of(self, *argv, **params):
        about, out = self.done(*argv, **params)
        self.assertEqual(about.get("exit_code"), 0, (about, out))
        return out.decode()

    def attach(self, process, **params):
        attached = Attached(self.engine, params.pop("session", self.s), process, **{**self.attached_with, **params})
        self.addCleanup(attached.close)
        return attached

    def terminal(self, *argv, **params):
        """A terminal in which argv runs, by default a shell."""
        if argv:
            params["argv"] = list(argv)
        session = params.setdefault("session", self.s)
        process = self.call("terminal.open", **params)["process"]
        opened = Terminal(self.engine, session, process)
        self.addCleanup(opened.close)
        return opened

    def fails(self, code, pattern, method, **params):
        """The operation fails with that code, a sentence that matches, and a hint."""
        with self.assertRaises(service.Refused) as caught:
            self.call(method, **params)
        error = caught.exception
        self.assertEqual(error.code, code, str(error))
        self.assertRegex(str(error), pattern)
        self.assertTrue(error.hint, str(error))
        return error

    def list(self, **params):
        return self.call("process.list", **params)["processes"]

    def in_box(self, session=None):
        """The programs on the host that are in the session's box: {pid there: pid on the host}."""
        found = {}
        for init in rpc.inits_of(self.engine.process.pid, session or self.s):
            for pid in rpc.descendants(init):
                numbers = rpc.nested(pid)
                if numbers:
                    found[numbers[-1]] = pid
        return found

    def engine_kib(self, what="VmHWM"):
        with open(f"/proc/{self.engine.process.pid}/status", encoding="ascii", errors="replace") as f:
            return int(re.search(what + r":\s+(\d+) kB", f.read())[1])

    def kill_engine(self):
        self.engine.process.send_signal(signal.SIGKILL)
        self.engine.process.wait()
