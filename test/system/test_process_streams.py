# SPDX-License-Identifier: Apache-2.0
"""What programs read and write: byte by byte, apart, kept within bounds, and at each reader's own pace."""

import base64
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402
import service  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
PY = "/usr/bin/python3"
ALL = bytes(range(256))
MIB = 1 << 20
GIB = 1 << 30

# Numbers of nine digits: what stands at an offset is known.
COUNT = "import sys\nw = sys.stdout.write\nfor i in range({}): w('%08d\\n' % i)"


def counted(n):
    return b"".join(b"%08d\n" % i for i in range(n))


class Input(programs.Case):
    def test_without_input_it_is_empty(self):
        about, out = self.done("cat")
        self.assertEqual((about["exit_code"], out), (0, b""))

    def test_each_byte_in_order_until_the_end(self):
        process = self.start("cat", input=True)
        for n in (1, 255, 256):
            data = base64.b64encode(ALL[:n]).decode()
            self.assertEqual(self.call("process.write", process=process, data=data, encoding="base64"), {"bytes": n})
        self.assertEqual(self.call("process.write", process=process, data="ä\0\U0001f600"), {"bytes": 7})
        self.assertEqual(self.call("process.write", process=process, data=""), {"bytes": 0})
        self.assertEqual(self.call("process.get", process=process)["state"], "running")
        self.assertEqual(self.call("process.write", process=process, data="", end=True), {"bytes": 0})
        self.assertEqual(self.wait(process)["exit_code"], 0)
        self.assertEqual(self.output(process)[0], ALL[:1] + ALL[:255] + ALL + "ä\0\U0001f600".encode())

    def test_writes_of_several_clients_do_not_mix(self):
        """Each write arrives whole, also when it is more than a pipe holds."""
        process = self.start("cat", input=True, output_bytes=4 * MIB)
        clients = [programs.Client(self.engine.path) for _ in range(4)]
        asked = [(c, c.send("process.write", session=self.s, process=process, data=str(i) * 300000))
                 for i, c in enumerate(clients)]
        for client, number in asked:
            self.assertEqual(client.receive(number), {"bytes": 300000})
            client.close()
        self.call("process.write", process=process, data="", end=True)
        self.wait(process)
        out, cut = self.output(process)
        self.assertEqual(cut, 0)
        self.assertEqual({out[i:i + 300000] for i in range(0, len(out), 300000)},
                         {str(i).encode() * 300000 for i in range(4)})

    def test_a_program_that_does_not_read_holds_up_only_the_writer(self):
        process = self.start(command="read x; cat | wc -c", input=True)
        other = programs.Client(self.engine.path)
        self.addCleanup(other.close)
        stuck = self.start("sleep", "1000", input=True)
        number = other.send("process.write", session=self.s, process=stuck, data="x" * 8 * MIB)
        # The others' work goes on.
        self.call("process.write", process=process, data="go\n")
        self.call("process.write", process=process, data="y" * MIB, end=True)
        self.wait(process)
        self.assertEqual(self.output(process)[0], b"%d\n" % MIB)
        self.assertNotIn(number, other.answers)
        # More than 16 MiB do not wait. (Of one connection, calls begin in the order in which they were sent.)
        second = other.send("process.write", session=self.s, process=stuck, data="x" * 9 * MIB)
        with self.assertRaisesRegex(service.Refused, "wait to be read") as caught:
            other.receive(second)
        self.assertEqual(caught.exception.code, "busy")
        self.assertTrue(caught.exception.hint)
        self.call("process.signal", process=stuck, signal="KILL")
        with self.assertRaisesRegex(service.Refused, "has ended|does not read"):
            other.receive(number)

    def test_a_cancelled_write_says_how_much_went_in(self):
        process = self.start(command="while [ ! -e go ]; do sleep 0.02; done; wc -c", input=True)
        number = self.client.send("process.write", session=self.s, process=process, data="x" * 4 * MIB)
        self.client.cancel(number)
        with self.assertRaisesRegex(service.Refused, r"cancelled after \d+ of 4194304 bytes") as caught:
            self.client.receive(number)
        went = int(str(caught.exception).split("after ")[1].split()[0])
        self.assertLess(went, 4 * MIB)
        self.call("file.write", path="go", content="")
        self.call("process.write", process=process, data="abc", end=True)
        self.wait(process)
        self.assertEqual(int(self.output(process)[0]), went + 3)

    def test_end_comes_after_all_that_was_written(self):
        process = self.start(command="sleep 0.2; wc -c", input=True)
        for _ in range(10):
            self.client.send("process.write", session=self.s, process=process, data="x" * MIB)
        self.call("process.write", process=process, data="y", end=True)
        self.wait(process)
        self.assertEqual(self.output(process)[0], b"%d\n" % (10 * MIB + 1))


class Output(programs.Case):
    def test_stdout_and_stderr_apart_byte_by_byte(self):
        script = "import os\nb = bytes(range(256))\nos.write(1, b)\nos.write(2, b[::-1])\nos.write(1, b)"
        process = self.start(PY, "-c", script)
        about = self.wait(process)
        self.assertEqual((about["stdout_bytes"], about["stderr_bytes"]), (512, 256))
        self.assertEqual(self.output(process), (ALL + ALL, 0))
        self.assertEqual(self.output(process, "stderr"), (ALL[::-1], 0))
        attached = self.attach(process)
        attached.end()
        self.assertEqual(attached.out, {"stdout": ALL + ALL, "stderr": ALL[::-1]})

    def test_text_is_text_wherever_it_is_cut(self):
        """A chunk that ends within a character is given without it, and the next begins with it."""
        text = "aä€\U0001f600" * 50
        process = self.start("printf", "%s", text)
        self.wait(process)
        for limit in (4, 5, 6, 7, 11, 1000):
            out, offset = "", 0
            while True:
                chunk = self.call("process.read", process=process, offset=offset, limit=limit)
                self.assertEqual(chunk["encoding"], "utf-8", (limit, chunk))
                out += chunk["data"]
                offset = chunk["next"]
                if chunk["end"]:
                    break
            self.assertEqual(out, text)
        # What begins within a character is not text.
        chunk = self.call("process.read", process=process, offset=2)
        self.assertEqual((chunk["encoding"], base64.b64decode(chunk["data"])), ("base64", text.encode()[2:]))
        chunk = self.call("process.read", process=process, limit=4, encoding="base64")
        self.assertEqual(base64.b64decode(chunk["data"]), text.encode()[:4])

    def test_a_character_that_comes_in_two_parts(self):
        process = self.start(command="printf '\\303'; read x; printf '\\244'; read x; printf '\\303'", input=True)
        attached = self.attach(process)
        self.until(lambda: self.call("process.get", process=process)["stdout_bytes"] == 1)
        chunk = self.call("process.read", process=process)
        self.assertFalse(chunk["end"])
        self.call("process.write", process=process, data="\n")
        attached.expect(r"^ä$")
        self.assertEqual(attached.client.events, {})
        self.call("process.write", process=process, data="\n")
        attached.end()
        self.assertEqual(attached.out["stdout"], b"\xc3\xa4\xc3")

    def test_reading_while_it_runs(self):
        process = self.start(command="printf abc; read x; printf def", input=True)
        self.until(lambda: self.call("process.read", process=process)["total_bytes"] == 3)
        said = {"data": "abc", "encoding": "utf-8", "offset": 0, "next": 3, "total_bytes": 3, "end": False}
        self.assertEqual(self.call("process.read", process=process), said)
        self.assertEqual(self.call("process.read", process=process, offset=3),
                         {**said, "data": "", "offset": 3, "end": False})
        self.assertEqual(self.call("process.read", process=process, offset=99)["data"], "")
        self.call("process.write", process=process, data="\n")
        self.wait(process)
        self.assertEqual(self.call("process.read", process=process, offset=3),
                         {**said, "data": "def", "offset": 3, "next": 6, "total_bytes": 6, "end": True})
        self.assertTrue(self.call("process.read", process=process, offset=6)["end"])
        self.assertEqual(self.call("process.read", process=process, offset=99)["data"], "")

    def test_the_beginning_and_the_end_are_kept(self):
        whole = counted(10000)
        process = self.start(PY, "-c", COUNT.format(10000), output_bytes=2048)
        self.assertEqual(self.wait(process)["stdout_bytes"], len(whole))
        out, cut = self.output(process)
        self.assertEqual((len(out), len(out) + cut), (2048, len(whole)))
        self.assertTrue(whole.startswith(out[:1024]))
        self.assertTrue(whole.endswith(out[-1024:]))
        # Who asks for what was cut is told where it goes on.
        chunk = self.call("process.read", process=process, offset=5000, limit=9)
        self.assertEqual((chunk["offset"], chunk["cut_bytes"]), (len(whole) - 1024, len(whole) - 1024 - 5000))
        self.assertEqual(chunk["data"].encode(), whole[-1024:][:9])
        # A chunk does not reach across the gap.
        chunk = self.call("process.read", process=process, offset=1000)
        self.assertEqual((chunk["data"].encode(), chunk["next"], chunk["end"]), (whole[1000:1024], 1024, False))
        self.assertEqual(self.call("process.read", process=process, stream="stderr")["end"], True)

    def test_what_is_left_running_goes_on_writing(self):
        """The program has ended; its child holds the pipe, and what it writes later is read as well."""
        process = self.start(command="(while [ ! -e go ]; do sleep 0.02; done; echo late) & echo early")
        self.wait(process)
        self.assertEqual(self.output(process)[0], b"early\n")
        self.call("file.write", path="go", content="")
        self.until(lambda: self.output(process)[0] == b"early\nlate\n")

    def test_files_of_a_process_are_in_the_workspace(self):
        self.done(command="echo made >made.txt")
        self.assertEqual(self.call("file.read", path="made.txt")["content"], "made\n")
        self.assertEqual(self.call("step.run", code="open('made.txt').read()")["value"]["text/plain"], "'made\\n'")


class Attach(programs.Case):
    def test_scrollback_first_and_then_what_comes(self):
        process = self.start("cat", input=True)
        self.call("process.write", process=process, data="one")
        self.until(lambda: self.call("process.get", process=process)["stdout_bytes"] == 3)
        first, later = self.attach(process), self.attach(process, stdout_offset=2)
        first.expect("one")
        later.expect("e")
        self.call("process.write", process=process, data="two", end=True)
        for attached in (first, later):
            about = attached.end()
            self.assertEqual((about["state"], about["exit_code"], about["stdout_bytes"]), ("exited", 0, 6))
        self.assertEqual((first.out["stdout"], later.out["stdout"]), (b"onetwo", b"etwo"))
        late = self.attach(process)
        self.assertEqual((late.end()["state"], late.out["stdout"]), ("exited", b"onetwo"))

    def test_detach_and_attach_again(self):
        """Nothing is missing and nothing comes twice, and the program does not notice."""
        process = self.start(PY, "-c", COUNT.format(200000), output_bytes=4 * MIB)
        out, at = b"", 0
        for _ in range(50):
            attached = self.attach(process, stdout_offset=at)
            attached.more()
            about = attached.detach()
            self.assertIn(about["state"], ("running", "exited"))
            out += attached.out["stdout"]
            at = attached.at["stdout"]
            attached.close()
        last = self.attach(process, stdout_offset=at)
        self.assertEqual(last.end()["exit_code"], 0)
        self.assertEqual(out + last.out["stdout"], counted(200000))

    def test_detach_says_that_it_runs(self):
        process = self.start("cat", input=True)
        attached = self.attach(process)
        about = attached.detach()
        self.assertEqual((about["state"], about["session"]), ("running", self.s))
        self.call("process.write", process=process, data="x", end=True)
        self.assertEqual(self.wait(process)["exit_code"], 0)

    def test_start_and_stay_attached(self):
        number = self.client.send("process.start", session=self.s, command="echo $$; read x; echo $x; exit 3", input=True,
                                  attach=True, stream=True)
        while len(events := self.client.events.get(number, [])) < 2:
            self.client.next()
        self.assertEqual([e["event"] for e in events], ["attached", "output"])
        process = events[0]["process"]
        self.assertEqual([p["process"] for p in self.list()], [process])
        self.call("process.write", process=process, data="line\n")
        about = self.client.receive(number)
        self.assertEqual((about["process"], about["session"], about["exit_code"]), (process, self.s, 3))
        self.assertEqual(programs.decoded(self.client.events[number][2]), b"line\n")
        self.assertEqual(self.list(), [])
        silent = self.client.send("process.start", session=self.s, argv=["sh", "-c", "exit 4"], attach=True)
        self.assertEqual(self.client.receive(silent)["exit_code"], 4)

    def test_who_stays_attached_takes_the_program_along(self):
        for how in ["cancel", "leave"] + ["leave before the start"] * 20:
            with self.subTest(how=how):
                client = programs.Client(self.engine.path)
                number = client.send("process.start", session=self.s, command="sleep 1000 & sleep 1001", attach=True,
                                     stream=True)
                if how == "cancel":
                    client.next()
                    client.cancel(number)
                    self.assertEqual(client.receive(number)["state"], "running")
                elif how == "leave":
                    client.next()
                client.close()
                # What is started later has its row later: until then, the program may not have begun.
                after = self.start("true")
                self.wait(after)
                self.until(lambda: [p for p in self.list() if p["state"] == "running"] == [])

    def test_what_was_cut_is_told(self):
        process = self.start(PY, "-c", COUNT.format(10000), output_bytes=2048)
        self.wait(process)
        attached = self.attach(process)
        attached.end()
        whole = counted(10000)
        self.assertEqual(attached.cut["stdout"], len(whole) - 2048)
        self.assertEqual(attached.out["stdout"], whole[:1024] + whole[-1024:])

    def test_both_streams_in_their_order(self):
        process = self.start(command="i=0; while [ $i -lt 500 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done")
        attached = self.attach(process)
        attached.end()
        self.assertEqual(attached.out["stdout"].decode(), "".join(f"out{i}\n" for i in range(500)))
        self.assertEqual(attached.out["stderr"].decode(), "".join(f"err{i}\n" for i in range(500)))

    def test_a_session_that_is_closed_detaches_all(self):
        session = self.new_session()
        process = self.call("process.start", session=session, argv=["sleep", "1000"])["process"]
        attached = [self.attach(process, session=session) for _ in range(3)]
        waiting = self.client.send("process.wait", session=session, process=process)
        for one in attached:  # it is attached when its events could come
            one.client.call("engine.info")
        self.client.call("engine.info")
        self.close_session(session)
        for about in [one.end() for one in attached] + [self.client.receive(waiting)]:
            self.assertEqual((about["state"], about["ended"]), ("exited", "close"))


class Slow(programs.Case):
    """Readers that are slow, or that have stopped."""

    def test_hold_loses_nothing(self):
        """A reader that often stops gets every byte of a program that is much faster."""
        n = harness.sample(1_000_000, 20_000_000)
        process = self.start(command=f"read x; seq -f %08.0f 0 {n - 1}; seq 5 >&2", input=True, hold=True)
        attached = self.attach(process, is_kept=False)
        self.call("process.write", process=process, data="\n")
        stops = 0
        while not attached.is_over:
            attached.more()
            stops += 1
            if stops % 10 == 0:  # another client's work goes on
                self.assertEqual(self.call("process.get", process=process)["process"], process)
        wanted = hashlib.sha256()
        for i in range(0, n, 100000):
            wanted.update(b"".join(b"%08d\n" % k for k in range(i, min(i + 100000, n))))
        self.assertEqual((attached.at["stdout"], attached.cut["stdout"]), (n * 9, 0))
        self.assertEqual(attached.digest["stdout"].hexdigest(), wanted.hexdigest())
        self.assertEqual(attached.at["stderr"], 10)
        self.assertEqual(attached.end()["exit_code"], 0)

    def test_hold_makes_the_program_wait(self):
        """Without a reader it writes as much as is kept and as a pipe holds, and waits. Who attaches gets all."""
        process = self.start(command="head -c 20000000 /dev/zero; echo end >&2", hold=True, output_bytes=65536)
        kept = self.until(lambda: (n := self.call("process.get", process=process)["stdout_bytes"]) >= 65536 and n)
        self.assertEqual(kept, 65536)
        pid = self.in_box()[self.list()[1]["pid"]]
        self.until(lambda: harness.processes()[pid][2] == "S")
        self.assertEqual(self.call("process.get", process=process)["stdout_bytes"], 65536)
        attached = self.attach(process, is_kept=False)
        self.assertEqual(attached.end()["stdout_bytes"], 20000000)
        self.assertEqual((attached.at["stdout"], attached.cut["stdout"]), (20000000, 0))

    def test_hold_loses_nothing_of_a_program_that_ends(self):
        """The pipe was empty when no more could be kept. The program writes more into it, and ends."""
        for child in ("", "sleep 1000 & "):  # which holds the pipe, so that nothing tells of its end
            with self.subTest(child=child):
                process = self.start(command=f"{child}head -c 65536 /dev/zero; read x; head -c 100000 /dev/zero", input=True,
                                     hold=True, output_bytes=65536)
                self.until(lambda p=process: self.call("process.get", process=p)["stdout_bytes"] == 65536)
                self.call("process.write", process=process, data="\n")
                self.wait(process)
                attached = self.attach(process, is_kept=False)
                self.assertEqual(attached.end()["stdout_bytes"], 165536)
                self.assertEqual((attached.at["stdout"], attached.cut["stdout"]), (165536, 0))

    def test_hold_ends_with_the_last_reader(self):
        process = self.start(command="head -c 20000000 /dev/zero", hold=True)
        one, other = self.attach(process), self.attach(process)
        one.more()
        other.more()
        one.detach()
        self.assertEqual(self.call("process.get", process=process)["state"], "running")
        other.detach()
        self.assertEqual(self.wait(process)["stdout_bytes"], 20000000)

    def test_hold_ends_when_the_reader_hangs_up(self):
        process = self.start(command="head -c 20000000 /dev/zero", hold=True)
        attached = self.attach(process)
        attached.more()
        attached.close()
        self.assertEqual(self.wait(process)["stdout_bytes"], 20000000)

    def test_of_two_readers_of_a_held_program(self):
        """The one that is ahead is not held up, and what the other has missed is told to it."""
        n = 300000
        process = self.start(command=f"read x; seq -f %08.0f 0 {n - 1}", input=True, hold=True, output_bytes=65536)
        fast, slow = self.attach(process, is_kept=False), self.attach(process, is_kept=False)
        self.call("process.write", process=process, data="\n")
        self.assertEqual(fast.end()["exit_code"], 0)
        self.assertEqual((fast.at["stdout"], fast.cut["stdout"]), (n * 9, 0))
        slow.end()
        self.assertEqual(slow.at["stdout"], n * 9)

    def test_a_reader_that_has_stopped_costs_the_others_nothing(self):
        stopped = self.start(command="yes | head -c 500000000")
        deaf = self.attach(stopped)  # reads nothing from now on
        process = self.start("cat", input=True)
        lively = self.attach(process)
        for i in range(50):
            self.call("process.write", process=process, data=f"{i}\n")
            lively.expect(f"{i}\n")
        # Nor the program itself: it goes on to its end.
        self.assertEqual(self.wait(stopped)["stdout_bytes"], 500000000)
        self.assertEqual(self.call("step.run", code="6 * 7")["value"]["text/plain"], "42")
        # When it reads again it gets what is kept, and is told what is missing.
        deaf.is_kept = False
        self.assertEqual(deaf.end()["stdout_bytes"], 500000000)
        self.assertGreater(deaf.cut["stdout"], 0)

    def test_much_output_costs_little_memory(self):
        """Ten GB of output, with a reader that has stopped and one that reads, take no more memory than one MB."""
        size = harness.sample(1 * GIB, 10 * GIB)
        begin = self.engine_kib()
        process = self.start(command=f"head -c {size} /dev/zero")
        self.attach(process)
        reading = self.attach(process, is_kept=False)
        about = reading.end()
        self.assertEqual((about["exit_code"], about["stdout_bytes"]), (0, size))
        self.assertEqual(reading.at["stdout"], size)
        if not harness.IS_SANITIZED:
            self.assertLess(self.engine_kib() - begin, 32 << 10)

    def test_all_that_sessions_keep_has_a_bound(self):
        """128 MiB a session: old output is forgotten for it, and that of programs that run is not."""
        ids = [self.start("sleep", "1000", output_bytes=4 * MIB) for _ in range(16)]
        error = self.fails("limit", "128 MiB", "process.start", argv=["true"], output_bytes=4 * MIB)
        self.assertIn("output_bytes", error.hint)
        self.call("process.signal", process=ids[0], signal="KILL")
        self.wait(ids[0])
        self.start("true", output_bytes=4 * MIB)
        self.fails("not_found", ids[0], "process.get", process=ids[0])


class Http(harness.Case):
    """The same over HTTP, with the events of attach as server-sent events."""

    def test_a_program_from_start_to_end(self):
        with web.Server() as server, server.raw() as raw:
            s = server.rpc("session.create")["session"]

            def call(method, **params):
                return server.rpc(method, session=s, **params)

            started = call("process.start", command="cat; echo gone >&2; exit 4", input=True, name="cat")
            self.assertEqual((started["name"], started["state"], started["by"]), ("cat", "running", "call"))
            raw.say(web.post(web.question("process.attach", session=s, process="cat", stream=True),
                             Accept="text/event-stream"))
            raw.file.readline()
            headers = web.http.client.parse_headers(raw.file)
            self.assertEqual(headers["Content-Type"], "text/event-stream")
            events = web.events(raw.chunks())
            name, event = next(events)
            self.assertEqual((name, event["process"], event["pid"]), ("attached", started["process"], started["pid"]))
            self.assertEqual(call("process.write", process="cat", data="ä\n"), {"bytes": 3})
            name, event = next(events)
            self.assertEqual((name, event["data"], event["stream"], event["offset"]), ("output", "ä\n", "stdout", 0))
            self.assertEqual(call("process.list")["processes"][0]["pid"], started["pid"])
            call("process.write", process="cat", data="/w==", encoding="base64", end=True)
            rest = list(events)
            self.assertEqual([(e["stream"], e["encoding"]) for n, e in rest if n == "output"],
                             [("stdout", "base64"), ("stderr", "utf-8")])
            self.assertEqual(rest[-1][0], "response")
            self.assertEqual(rest[-1][1]["result"]["exit_code"], 4)
            self.assertEqual(call("process.wait", process="cat")["exit_code"], 4)
            self.assertEqual(call("process.read", process="cat", stream="stderr")["data"], "gone\n")
            with self.assertRaises(web.Failed) as caught:
                call("process.write", process="cat", data="x")
            self.assertEqual(caught.exception.code, "gone")

    def test_a_reader_that_hangs_up_is_detached(self):
        with web.Server() as server:
            s = server.rpc("session.create")["session"]
            process = server.rpc("process.start", session=s, command="read x; head -c 20000000 /dev/zero",
                                 input=True, hold=True)["process"]
            with server.raw() as raw:
                raw.say(web.post(web.question("process.attach", session=s, process=process, stream=True),
                                 Accept="text/event-stream"))
                raw.file.readline()
                server.rpc("process.write", session=s, process=process, data="\n")
                web.http.client.parse_headers(raw.file)
                events = web.events(raw.chunks())
                self.assertEqual([next(events)[0] for _ in range(2)], ["attached", "output"])
            about = server.rpc("process.wait", session=s, process=process)
            self.assertEqual(about["stdout_bytes"], 20000000)


if __name__ == "__main__":
    harness.main()
