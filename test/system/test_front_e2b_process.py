# SPDX-License-Identifier: Apache-2.0
"""The front "e2b": programs and terminals of a sandbox, over Connect."""

import base64
import json
import os
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from e2b_client import Broken, Failed, Output, Sandbox, envelope  # noqa: E402

import harness  # noqa: E402


def text(data):
    return base64.b64encode(data.encode()).decode()


class Sandboxes(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b")
        cls.box = Sandbox(cls.server, envVars={"FROM": "sandbox"})

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def pids(self):
        return [row["pid"] for row in self.box.rpc("process.Process/List").json["processes"]]

    def word(self, answer, status, word):
        self.assertEqual((answer.status, answer.json["code"]), (status, word), answer.body)


class Commands(Sandboxes):
    def test_output_and_end(self):
        out = self.box.run("echo one; echo two >&2; printf '\\xff\\xfe\\0'; exit 3")
        self.assertEqual(out.texts["stdout"], b"one\n\xff\xfe\0")
        self.assertEqual(out.stderr, "two\n")
        self.assertEqual(out.end, {"exitCode": 3, "exited": True, "status": "exit status 3", "error": "exit status 3"})
        self.assertEqual(self.box.run("true").end, {"exited": True, "status": "exit status 0"})

    def test_a_program_runs_in_the_home_of_user_with_its_variables(self):
        out = self.box.run("pwd; id -un; echo $FROM $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID")
        self.assertEqual(out.stdout, f"/home/user\nuser\nsandbox true {self.box.id} base\n")
        self.assertEqual(self.box.run("echo $FROM $NEW", envs={"NEW": "ž", "FROM": "request"}).stdout, "request ž\n")
        self.assertEqual(self.box.run("echo $NEW").stdout, "\n")

    def test_the_directory(self):
        self.box.run("mkdir -p ~/deep/er")
        for cwd, seen in (("/tmp", "/tmp"), ("deep", "/home/user/deep"), ("~/deep/er", "/home/user/deep/er"),
                          ("~", "/home/user"), ("", "/home/user")):
            self.assertEqual(self.box.run("pwd", cwd=cwd).stdout.strip(), seen)
        with self.assertRaisesRegex(Failed, "cwd '/nope' does not exist") as caught:
            list(self.box.start("/bin/true", cwd="/nope"))
        self.assertEqual(caught.exception.code, "invalid_argument")

    def test_much_output_comes_whole(self):
        out = self.box.run("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end")
        self.assertEqual(len(out.texts["stdout"]), 20000005)

    def test_a_client_that_reads_slowly_loses_nothing(self):
        stream, events, out = self.box.begin("seq 1 600000; echo end >&2")
        time.sleep(1.5)
        for event in events:
            out.take(event)
        stream.close()
        self.assertEqual(out.stdout, "".join(f"{i}\n" for i in range(1, 600001)))

    def test_what_is_wrong_with_a_start(self):
        for message, why in (({}, "process.cmd is missing"), ({"process": {"cmd": ""}}, "cmd is missing"),
                             ({"process": {"cmd": "/bin/true", "args": [1]}}, "list of texts"),
                             ({"process": {"cmd": "/bin/true", "envs": {"A": 1}}}, "object of texts"),
                             ({"process": {"cmd": "/bin/true"}, "tag": 5}, "tag is not a text"),
                             ({"process": {"cmd": "/bin/true"}, "tag": "t" * 257}, "tag is longer"),
                             ({"process": {"cmd": "/bin/nope"}}, "not found"),
                             ({"process": {"cmd": "/bin/true", "args": ["a\0b"]}}, ""),
                             ({"process": {"cmd": "/bin/true", "envs": {"A=B": "1"}}}, "")):
            with self.assertRaisesRegex(Failed, why, msg=message) as caught:
                list(self.box.stream("process.Process/Start", message))
            self.assertEqual(caught.exception.code, "invalid_argument", message)

    def test_only_user_is_there(self):
        for name in ("user", ""):
            basic = base64.b64encode(f"{name}:".encode()).decode()
            self.assertEqual(self.box.run("id -un", headers={"Authorization": f"Basic {basic}"}).stdout, "user\n")
        basic = base64.b64encode(b"root:").decode()
        with self.assertRaisesRegex(Failed, "invalid username: 'root'") as caught:
            list(self.box.start("/bin/true", headers={"Authorization": f"Basic {basic}"}))
        self.assertEqual(caught.exception.code, "unauthenticated")

    def test_the_time_of_a_program(self):
        stream, events, out = self.box.begin("sleep 100", timeout_ms=300)
        with self.assertRaises(Failed) as caught:
            list(events)
        stream.close()
        self.assertEqual(caught.exception.code, "deadline_exceeded")
        self.assertTrue(web.wait(lambda: out.start not in self.pids()))

    def test_the_time_of_a_program_that_nobody_follows(self):
        stream, _, out = self.box.begin("sleep 100", timeout_ms=1000)
        stream.close()
        self.assertTrue(web.wait(lambda: out.start not in self.pids()))

    def test_keepalives_while_nothing_is_said(self):
        stream, events, out = self.box.begin("sleep 2.5; echo x", headers={"Keepalive-Ping-Interval": "1"})
        kinds = [next(iter(event["event"])) for event in events]
        stream.close()
        self.assertEqual((kinds[0], kinds[-2:]), ("keepalive", ["data", "end"]))


class Background(Sandboxes):
    def test_a_program_goes_on_without_its_client(self):
        stream, _, out = self.box.begin("while true; do sleep 0.1; echo tick; done")
        stream.close()
        self.assertIn(out.start, self.pids())
        again, seen = self.box.stream("process.Process/Connect", {"process": {"pid": out.start}}), Output()
        for event in again:
            seen.take(event)
            if "tick" in seen.stdout:
                break
        again.close()
        self.assertEqual(seen.start, out.start)
        self.box.rpc("process.Process/SendSignal", {"process": {"pid": out.start}, "signal": "SIGNAL_SIGKILL"})
        self.assertTrue(web.wait(lambda: out.start not in self.pids()))

    def test_two_clients_follow_one_program(self):
        stream, events, out = self.box.begin("read line; echo got $line", stdin=True)
        again = self.box.stream("process.Process/Connect", {"process": {"pid": out.start}})
        more = iter(again)
        next(more)
        self.assertEqual(self.box.rpc("process.Process/SendInput", {"process": {"pid": out.start},
                                                                    "input": {"stdin": text("it\n")}}).json, {})
        seen = Output()
        for event in more:
            seen.take(event)
        for event in events:
            out.take(event)
        again.close()
        stream.close()
        self.assertEqual((seen.stdout, out.stdout), ("got it\n", "got it\n"))
        self.assertEqual(seen.end, out.end)

    def test_the_end_is_told_later_too(self):
        out = self.box.run("exit 4")
        with_end = Output()
        for event in self.box.stream("process.Process/Connect", {"process": {"pid": out.start}}):
            with_end.take(event)
        self.assertEqual((with_end.start, with_end.code), (out.start, 4))

    def test_signals(self):
        for name, status in (("SIGNAL_SIGKILL", "signal: killed"), ("SIGNAL_SIGTERM", "signal: terminated"),
                             (9, "signal: killed")):
            stream, events, out = self.box.begin("sleep 100")
            self.assertEqual(self.box.rpc("process.Process/SendSignal",
                                          {"process": {"pid": out.start}, "signal": name}).json, {})
            for event in events:
                out.take(event)
            stream.close()
            self.assertEqual(out.end, {"exitCode": -1, "exited": False, "status": status, "error": status})
        for answer in (self.box.rpc("process.Process/SendSignal", {"process": {"pid": 99999}, "signal": 9}),
                       self.box.rpc("process.Process/SendInput", {"process": {"tag": "none"}, "input": {"stdin": ""}})):
            self.word(answer, 404, "not_found")
        self.word(self.box.rpc("process.Process/SendSignal", {"process": {"pid": 1}, "signal": "SIGNAL_SIGHUP"}),
                  501, "unimplemented")
        with self.assertRaises(Failed) as caught:
            list(self.box.stream("process.Process/Connect", {"process": {"pid": 99999}}))
        self.assertEqual(caught.exception.code, "not_found")

    def test_input(self):
        stream, events, out = self.box.begin("cat; echo done", stdin=True)
        for part in ("one\n", "two", "\n"):
            self.box.rpc("process.Process/SendInput", {"process": {"pid": out.start}, "input": {"stdin": text(part)}})
        self.assertEqual(self.box.rpc("process.Process/CloseStdin", {"process": {"pid": out.start}}).json, {})
        for event in events:
            out.take(event)
        stream.close()
        self.assertEqual(out.stdout, "one\ntwo\ndone\n")

    def test_input_for_a_program_that_takes_none(self):
        stream, _, out = self.box.begin("sleep 100")
        selector = {"process": {"pid": out.start}}
        self.word(self.box.rpc("process.Process/SendInput", {**selector, "input": {"stdin": text("x")}}), 500, "internal")
        self.word(self.box.rpc("process.Process/SendInput", selector), 400, "invalid_argument")
        self.word(self.box.rpc("process.Process/SendInput", {**selector, "input": {"stdin": "*"}}), 400, "invalid_argument")
        self.box.rpc("process.Process/SendSignal", {**selector, "signal": 9})
        stream.close()

    def test_programs_that_nobody_follows_are_forgotten(self):
        box = Sandbox(self.server)
        for _ in range(155):
            stream, _, out = box.begin("true")
            stream.close()
        self.assertTrue(web.wait(lambda: not box.rpc("process.Process/List").json["processes"]))
        self.assertEqual(box.run("echo on").stdout, "on\n")
        answer = box.rpc("process.Process/SendSignal", {"process": {"pid": out.start}, "signal": 9})
        self.word(answer, 404, "not_found")
        box.kill()

    def test_the_list(self):
        stream, _, out = self.box.begin("sleep 100", tag="by name", envs={"A": "b"})
        rows = self.box.rpc("process.Process/List").json["processes"]
        self.assertIn({"pid": out.start, "tag": "by name",
                       "config": {"cmd": "/bin/bash", "args": ["-l", "-c", "sleep 100"], "envs": {"A": "b"}}}, rows)
        self.box.rpc("process.Process/SendSignal", {"process": {"tag": "by name"}, "signal": 9})
        self.assertTrue(web.wait(lambda: out.start not in self.pids()))
        stream.close()


class StreamInput(Sandboxes):
    """Input as one request."""

    def setUp(self):
        super().setUp()
        self.stream, self.events, self.out = self.box.begin("read a; echo got $a; cat; echo done", stdin=True)
        self.addCleanup(self.stream.close)
        self.first = envelope({"start": {"process": {"pid": self.out.start}}})

    def data(self, line, name="stdin"):
        return envelope({"data": {"input": {name: text(line)}}})

    def refused(self, *pieces):
        """The word of the error with which a stream of @pieces ends."""
        with self.assertRaises(Failed) as caught:
            list(self.box.send(pieces))
        return caught.exception.code

    def ended(self):
        self.box.rpc("process.Process/CloseStdin", {"process": {"pid": self.out.start}})
        for event in self.events:
            self.out.take(event)
        return self.out.stdout

    def test_a_program_reads_it_while_it_comes(self):
        def pieces():
            yield self.first
            yield self.data("one\n")
            while "got one" not in self.out.stdout:
                self.out.take(next(self.events))
            yield envelope({"keepalive": {}})
            yield self.data("two\n") + self.data("three\n")
        self.assertEqual(list(self.box.send(pieces())), [{}])
        self.assertEqual(self.ended(), "got one\ntwo\nthree\ndone\n")

    def test_messages_in_any_pieces(self):
        whole = self.first + b"".join(self.data(f"{i}\n") for i in range(300))
        self.assertEqual(list(self.box.send(whole[i:i + 7] for i in range(0, len(whole), 7))), [{}])
        self.assertEqual(self.ended(), "got 0\n" + "".join(f"{i}\n" for i in range(1, 300)) + "done\n")

    def test_many_messages_at_once(self):
        whole = self.first + envelope({"keepalive": {}}) * 100000 + self.data("x\n") * 3000
        self.assertEqual(list(self.box.send([whole])), [{}])
        self.assertEqual(self.ended(), "got x\n" + "x\n" * 2999 + "done\n")

    def test_a_program_that_does_not_read_holds_its_client_up(self):
        stream, events, out = self.box.begin("sleep 1; wc -c", stdin=True)
        first = envelope({"start": {"process": {"pid": out.start}}})
        part = self.data("x" * 1000000)
        self.assertEqual(list(self.box.send([first] + [part] * 20)), [{}])
        self.box.rpc("process.Process/CloseStdin", {"process": {"pid": out.start}})
        for event in events:
            out.take(event)
        stream.close()
        self.assertEqual(out.stdout, "20000000\n")

    def test_what_is_wrong_with_a_stream(self):
        self.assertEqual(self.refused(), "invalid_argument")
        self.assertEqual(self.refused(self.data("x")), "invalid_argument")
        self.assertEqual(self.refused(envelope({"start": {"process": {"pid": 99999}}})), "not_found")
        self.assertEqual(self.refused(envelope({"start": 5})), "invalid_argument")
        self.assertEqual(self.refused(self.first, self.first), "invalid_argument")
        self.assertEqual(self.refused(self.first, envelope({"data": {"input": {"stdin": "*"}}})), "invalid_argument")
        self.assertEqual(self.refused(self.first, envelope({"data": 7})), "invalid_argument")
        self.assertEqual(self.refused(self.first, envelope({})), "invalid_argument")
        self.assertEqual(self.refused(self.first, envelope([1])), "invalid_argument")
        self.assertEqual(self.refused(self.first, b"\0\0\0\0\2{"), "invalid_argument")
        self.assertEqual(self.refused(self.first, envelope({"keepalive": {}}, flags=1)), "unimplemented")
        self.assertEqual(self.refused(self.first, b"\0\xff\xff\xff\xff{"), "resource_exhausted")
        self.assertEqual(self.ended(), "got\ndone\n")

    def test_a_program_that_has_ended_or_has_no_input(self):
        def pieces():
            yield self.first
            self.box.rpc("process.Process/SendSignal", {"process": {"pid": self.out.start}, "signal": 9})
            for event in self.events:
                self.out.take(event)
            yield self.data("late\n")
        self.assertEqual(self.refused(*pieces()), "not_found")
        stream, _, out = self.box.begin("sleep 100")
        start = envelope({"start": {"process": {"pid": out.start}}})
        self.assertEqual(self.refused(start, self.data("x")), "internal")
        stream.close()

    def test_a_client_that_leaves(self):
        def begin(start):
            connection = self.server.connect()
            connection.putrequest("POST", "/process.Process/StreamInput")
            for name, value in self.box.headers(**{"Content-Type": "application/connect+json"}).items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", "100000000")
            connection.endheaders(start + self.data("x" * 100000 + "\n") * 3)
            return connection
        full, _, _ = self.box.begin("sleep 100", stdin=True, tag="full")
        begin(envelope({"start": {"process": {"tag": "full"}}})).close()
        connection = begin(self.first)
        while self.out.stdout.count("\n") < 3:
            self.out.take(next(self.events))
        connection.close()
        self.assertEqual(self.ended(), "got " + ("x" * 100000 + "\n") * 3 + "done\n")
        self.box.rpc("process.Process/SendSignal", {"process": {"tag": "full"}, "signal": 9})
        full.close()

    def test_the_token_and_the_type(self):
        self.assertEqual(self.box.send([self.first], **{"X-Access-Token": "wrong"}).status, 401)
        self.assertEqual(self.box.send([self.first], **{"Content-Type": "application/json"}).status, 415)
        self.assertEqual(self.box.send([self.first], **{"E2b-Sandbox-Id": "i" + "a" * 19}).status, 502)
        self.assertEqual(self.ended(), "got\ndone\n")


class Terminals(Sandboxes):
    def test_a_terminal(self):
        stream = self.box.start("/bin/bash", ["-i", "-l"], pty={"size": {"cols": 90, "rows": 30}},
                                envs={"TERM": "xterm", "LANG": "C.UTF-8"})
        events, out = iter(stream), Output()
        out.take(next(events))
        selector = {"process": {"pid": out.start}}

        def say(line):
            return self.box.rpc("process.Process/SendInput", {**selector, "input": {"pty": text(line)}})

        def until(mark):
            while mark not in out.pty:
                out.take(next(events))

        say("stty size; echo $TERM-end\n")
        until("30 90")
        until("xterm-end\r\n")
        self.assertEqual(self.box.rpc("process.Process/Update", {**selector, "pty": {"size": {"cols": 70, "rows": 20}}}).json, {})
        say("stty size\n")
        until("20 70")
        self.word(self.box.rpc("process.Process/Update", {**selector, "pty": {}}), 400, "invalid_argument")
        say("exit 5\n")
        for event in events:
            out.take(event)
        stream.close()
        self.assertEqual(out.code, 5)
        self.assertEqual(out.stdout, "")


class Ends(Sandboxes):
    def test_a_killed_sandbox_breaks_its_streams_off(self):
        box = Sandbox(self.server)
        stream, events, _ = box.begin("sleep 100")
        self.assertEqual(box.kill(), 204)
        with self.assertRaises(Broken):
            list(events)
        stream.close()
        answer = box.ask("GET", "/health")
        self.assertEqual((answer.status, answer.json), (502, {"sandboxId": box.id, "message": "The sandbox was not found",
                                                              "code": 502}))

    def test_a_paused_sandbox_stands_still(self):
        box = Sandbox(self.server)
        stream, _, out = box.begin("i=0; while sleep 0.05; do i=$((i+1)); echo $i > n; done")
        self.assertTrue(web.wait(lambda: "1" in box.run("cat n").stdout))
        self.assertEqual(box.control("POST", "/pause", {}).status, 204)
        self.assertEqual(box.ask("GET", "/health").status, 502)
        name = f"/proc/{out.start}/status"
        states = box.server.rpc("process.start", session=box.id, argv=["grep", "State", name])
        box.server.rpc("process.wait", session=box.id, process=states["process"])
        said = box.server.rpc("process.read", session=box.id, process=states["process"])["data"]
        self.assertIn("T (stopped)", said)
        self.assertEqual(box.control("POST", "/connect", {"timeout": 60}).status, 201)
        before = int(box.run("cat n").stdout or 0)
        self.assertTrue(web.wait(lambda: int(box.run("cat n").stdout or 0) > before))
        stream.close()
        box.kill()


class Protocol(Sandboxes):
    def test_what_is_no_message(self):
        for body, status in ((b"", 400), (b"{", 400), (b"[]", 400), (b'{"a":1,"a":2}', 400), (b"\xff", 400)):
            answer = self.box.ask("POST", "/process.Process/List", body, **web.JSON)
            self.word(answer, status, "invalid_argument")
        for kind in ("application/proto", "text/plain", "application/connect+json"):
            answer = self.box.ask("POST", "/process.Process/List", b"{}", **{"Content-Type": kind})
            self.assertEqual((answer.status, answer.headers["Accept-Post"]), (415, "application/json"))
        self.word(self.box.rpc("process.Process/List", **{"Content-Encoding": "gzip"}), 501, "unimplemented")
        self.assertEqual(self.box.rpc("process.Process/List", **{"Content-Encoding": "identity"}).status, 200)

    def test_what_is_no_envelope(self):
        kind = {"Content-Type": "application/connect+json"}
        for body in (b"", b"\0\0\0\0", b"\0\0\0\0\5{}", b"\1\0\0\0\2{}", b"\0\xff\xff\xff\xff{}", b"\0\0\0\0\2[]"):
            answer = self.box.ask("POST", "/process.Process/Start", body, **kind)
            flags, n = struct.unpack(">BI", answer.body[:5])
            self.assertEqual((answer.status, flags, n), (200, 2, len(answer.body) - 5))
            self.assertEqual(json.loads(answer.body[5:])["error"]["code"], "invalid_argument", body)
        answer = self.box.ask("POST", "/process.Process/Start", envelope({}), **web.JSON)
        self.assertEqual(answer.status, 415)

    def test_unknown_procedures(self):
        for path in ("process.Process/Nothing", "process.Process/", "filesystem.Filesystem/Nothing"):
            self.word(self.box.rpc(path), 501, "unimplemented")

    def test_the_token_of_the_sandbox(self):
        other = Sandbox(self.server)
        for token in ("", "wrong", other.token, self.box.token + "x", self.box.made["trafficAccessToken"]):
            self.word(self.box.rpc("process.Process/List", **{"X-Access-Token": token}), 401, "unauthenticated")
        self.assertEqual(self.box.rpc("process.Process/List").status, 200)
        other.kill()

    def test_requests_without_a_sandbox(self):
        answer = self.server.request("POST", "/process.Process/List", b"{}", web.JSON)
        self.assertEqual((answer.status, answer.json["code"]), (400, 400))
        answer = self.box.rpc("process.Process/List", **{"E2b-Sandbox-Id": "i" + "a" * 19})
        self.assertEqual((answer.status, answer.json["sandboxId"]), (502, "i" + "a" * 19))


if __name__ == "__main__":
    harness.main()
