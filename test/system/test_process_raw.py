# SPDX-License-Identifier: Apache-2.0
"""Output as raw bytes behind the lines of its events: all that holds of events in JSON, and what is different."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402
import test_process_streams as streams  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
PY = "/usr/bin/python3"
MIB = 1 << 20
LINE = b"0123456789abcdefghij\n"


def much(n):
    """A command that writes n bytes, and their digest."""
    digest = hashlib.sha256()
    for _ in range(n // (MIB * 21)):
        digest.update(LINE * MIB)
    digest.update((LINE * MIB)[:n % (MIB * 21)])
    return f"yes {LINE.decode().strip()} | head -c {n}", digest.hexdigest()


class Attach(streams.Attach):
    attached_with = {"raw": True}


class Slow(streams.Slow):
    attached_with = {"raw": True}


class Raw(programs.Case):
    def test_an_event_announces_bytes(self):
        process = self.start(command="printf '\\377\\0\\n{'; printf ab >&2", name="few")
        self.wait(process)
        self.client.receive(number := self.client.send("process.attach", session=self.s, process=process, stream=True,
                                                       raw=True))
        told, out, err = self.client.events[number]
        self.assertEqual(told["event"], "attached")
        self.assertEqual(out, {"id": number, "event": "output", "stream": "stdout", "offset": 0, "encoding": "raw",
                               "bytes": 4, "data": b"\xff\0\n{"})
        self.assertEqual((err["stream"], err["bytes"], err["data"]), ("stderr", 2, b"ab"))

    def test_nothing_is_sent_to_who_asks_for_no_events(self):
        process = self.start("echo", "hello")
        number = self.client.send("process.attach", session=self.s, process=process, raw=True)
        self.assertEqual(self.client.receive(number)["stdout_bytes"], 6)
        self.assertEqual(self.client.events, {})

    def test_a_part_of_a_character_comes_at_once(self):
        process = self.start(command="printf '\\303'; read x; printf '\\244'", input=True)
        attached = self.attach(process, raw=True)
        attached.expect(b"^\xc3$")
        self.call("process.write", process=process, data="\n")
        attached.end()
        self.assertEqual(attached.out["stdout"], b"\xc3\xa4")

    def test_all_bytes_of_much_output(self):
        n = harness.sample(128 * MIB, 1024 * MIB)
        command, wanted = much(n)
        for raw in (True, False):
            process = self.start(command=command, hold=True)
            attached = self.attach(process, is_kept=False, raw=raw)
            self.assertEqual(attached.end()["stdout_bytes"], n)
            self.assertEqual((attached.at["stdout"], attached.cut["stdout"]), (n, 0))
            self.assertEqual(attached.digest["stdout"].hexdigest(), wanted)

    def test_two_clients_at_once(self):
        """One gets raw bytes, one gets JSON; both get all, also of what was kept before."""
        data = b"".join(b"%08d\n" % i for i in range(300000))
        process = self.start(PY, "-c", streams.COUNT.format(300000) + "\nsys.stderr.write('apart')", output_bytes=4 * MIB)
        pair = [self.attach(process, raw=True), self.attach(process, stdout_offset=9, stderr_offset=2)]
        while not all(one.is_over for one in pair):
            for one in pair:
                if not one.is_over:
                    one.more()
        self.assertEqual([one.out["stderr"] for one in pair], [b"apart", b"art"])
        for one, wanted in zip(pair, (data, data[9:])):
            self.assertEqual(len(one.out["stdout"]), len(wanted))
            self.assertTrue(one.out["stdout"] == wanted)

    def test_answers_come_between(self):
        """A connection that gets output has its other calls answered, and a cancelled call has no output behind it."""
        process = self.start("yes", LINE.decode().strip(), hold=True)
        attached = self.attach(process, raw=True, is_kept=False)
        attached.more()
        for _ in range(50):
            got = attached.client.call("process.get", session=self.s, process=process)
            self.assertEqual(got["process"], process)
            attached.more()
        self.assertEqual(attached.detach()["state"], "running")
        self.assertEqual(attached.client.call("process.get", session=self.s, process=process)["process"], process)
        self.assertEqual(attached.client.events, {})

    def test_programs_of_one_connection_take_turns(self):
        """Much output of some programs does not keep back that of another."""
        calm = self.start("cat", input=True)
        floods = [self.start("yes", "flood", hold=True, output_bytes=4 * MIB) for _ in range(6)]
        client = programs.Client(self.engine.path)
        self.addCleanup(client.close)
        numbers = [client.send("process.attach", session=self.s, process=process, stream=True, raw=True)
                   for process in (calm, *floods)]
        for flood in floods:
            self.until(lambda: self.call("process.get", process=flood)["stdout_bytes"] >= 4 * MIB)
        self.call("process.write", process=calm, data="calm")
        self.until(lambda: self.call("process.get", process=calm)["stdout_bytes"] == 4)
        n_pieces = 0
        while len(client.events.get(numbers[0], [])) < 2:
            client.next()
            n_pieces += 1
        self.assertEqual(client.events[numbers[0]][1]["data"], b"calm")
        # Each turn is as long as what the socket holds.
        self.assertLess(n_pieces, 6 * 4 * MIB // (64 << 10) // 4)

    def test_a_client_that_leaves_within_a_piece(self):
        process = self.start(command=f"read x; head -c {20 * MIB} /dev/zero", input=True, hold=True)
        attached = self.attach(process, raw=True)
        self.call("process.write", process=process, data="\n")
        while b'"bytes":' not in attached.client.file.readline():
            pass
        attached.client.file.read(1)
        attached.close()
        self.assertEqual(self.wait(process)["stdout_bytes"], 20 * MIB)

    def test_over_http_it_is_json(self):
        with web.Server() as server, server.raw() as raw:
            s = server.rpc("session.create")["session"]
            process = server.rpc("process.start", session=s, argv=["echo", "hello"])["process"]
            raw.say(web.post(web.question("process.attach", session=s, process=process, stream=True, raw=True),
                             Accept="text/event-stream"))
            raw.file.readline()
            web.http.client.parse_headers(raw.file)
            events = [event for name, event in web.events(raw.chunks()) if name == "output"]
            self.assertEqual([(e["encoding"], e["data"]) for e in events], [("utf-8", "hello\n")])


class OldEngine:
    """Passes lines on to an engine, and refuses `raw` as one that does not know it."""

    def __init__(self, path, engine_path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.n_refused = 0
        self.thread = threading.Thread(target=self.serve, args=(engine_path,))
        self.thread.start()

    def serve(self, engine_path):
        client, engine = self.socket.accept()[0], socket.socket(socket.AF_UNIX)
        engine.connect(engine_path)
        back = threading.Thread(target=self.copy, args=(engine, client))
        back.start()
        for line in client.makefile("rb"):
            request = json.loads(line)
            if "raw" in request.get("params", {}):
                self.n_refused += 1
                error = {"code": -32602, "message": "raw: unknown parameter", "data": {"code": "usage"}}
                client.sendall(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode() + b"\n")
            else:
                engine.sendall(line)
        engine.shutdown(socket.SHUT_RDWR)
        back.join()
        for one in (client, engine, self.socket):
            one.close()

    @staticmethod
    def copy(engine, client):
        while data := engine.recv(1 << 16):
            client.sendall(data)


class Command(programs.Case):
    """`retort exec`, which asks for raw output."""

    def exec(self, *argv, path=None):
        return subprocess.Popen([harness.RETORT, "exec", self.s, "--", *argv], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=harness.environment({"RETORT_SOCKET": path or self.engine.path}))

    def test_an_older_engine(self):
        path = os.path.join(harness.make_dir(), "s")
        old = OldEngine(path, self.engine.path)
        process = self.exec("sh", "-c", "echo out; echo err >&2; exit 3", path=path)
        out, err = process.communicate(timeout=harness.TIMEOUT_S)
        old.thread.join()
        self.assertEqual((process.returncode, out, err, old.n_refused), (3, b"out\n", b"err\n", 1))

    def test_to_a_file_and_to_a_reader_of_small_pieces(self):
        n = 3 * MIB
        command, wanted = much(n)
        path = os.path.join(harness.make_dir(), "out")
        with open(path, "wb") as out:
            out.write(b"begin")
            out.flush()
            subprocess.run([harness.RETORT, "exec", self.s, "--", "sh", "-c", command], stdout=out, check=True,
                           env=harness.environment({"RETORT_SOCKET": self.engine.path}))
        with open(path, "rb") as written:
            self.assertEqual(written.read(5), b"begin")
            self.assertEqual(hashlib.sha256(written.read()).hexdigest(), wanted)
        process = self.exec("sh", "-c", command)
        digest = hashlib.sha256()
        while data := os.read(process.stdout.fileno(), 999):
            digest.update(data)
        process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual((process.returncode, digest.hexdigest()), (0, wanted))


class Ends(programs.Case):
    def test_the_engine_is_killed_in_the_middle(self):
        process = subprocess.Popen([harness.RETORT, "exec", self.s, "--", "yes"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=harness.environment({"RETORT_SOCKET": self.engine.path}))
        for _ in range(100):
            self.assertEqual(len(process.stdout.read(MIB)), MIB)
        self.engine.process.send_signal(signal.SIGKILL)
        self.engine.process.wait()
        out, err = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertLessEqual(set(out), set(b"y\n"))
        self.assertEqual((process.returncode, err), (4, b"retort: the engine is gone: see what `retort serve` says, and "
                                                        b"start it again\n"))


if __name__ == "__main__":
    harness.main()
