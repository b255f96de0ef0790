# SPDX-License-Identifier: Apache-2.0
"""User code shares the driver's process: it finds the channel and writes what it likes to it.

The engine must stay well: one record with a status that is right, in bounded memory and time. And
what a program writes must not reach a terminal as anything but its own output.
"""

import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402
import harness  # noqa: E402

IDENTITY = "user"
HEAD = r"""
import os, socket, struct, time, json
channels = []
for name in os.listdir('/proc/self/fd'):
    try:
        if os.readlink('/proc/self/fd/' + name).startswith('socket:'): channels.append(int(name))
    except OSError: pass
assert channels
def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(channels[0], view):]
def frame(kind, data=b''):
    put(struct.pack('>IB', len(data) + 1, kind) + data)
OK = {'id': '1', 'status': 'ok', 'exit_code': 0}
def result(**more): frame(21, json.dumps(dict(OK, **more)).encode())
def display(data): frame(19, json.dumps({'id': '1', 'data': data, 'metadata': {}}).encode())
"""
MEMORY_BYTES = 600 << 20
ENDS = "\nos._exit(0)\n"


class Frames(harness.Case):
    def attack(self, code, *options, timeout=60, limit_s=20):
        """Run @code over the channel in a process whose children are counted. Returns the record."""
        measure = ("import json, resource, subprocess, sys\n"
                   "done = subprocess.run(json.loads(sys.argv[1]), capture_output=True)\n"
                   "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024\n"
                   "sys.stdout.buffer.write(b'%d %d\\n' % (peak, done.returncode) + done.stdout)\n"
                   "sys.stderr.buffer.write(done.stderr)\n")
        argv = [harness.RETORT, "run", "--json", "--timeout", "10s", *options, "-c", HEAD + code]
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", measure, json.dumps(argv)], capture_output=True,
                              check=False, timeout=timeout, env=harness.environment())
        head, _, text = done.stdout.partition(b"\n")
        peak, status = map(int, head.split())
        self.assertLess(peak, MEMORY_BYTES, "memory of the engine")
        self.assertLess(time.monotonic() - start, limit_s)
        self.assertGreaterEqual(status, 0, done.stderr[-2000:])
        record = json.loads(text)  # exactly one
        record["_status"] = status
        self.assertIn(record["status"], ("ok", "error", "timeout", "oom", "killed"))
        return record

    def broken(self, code, *options):
        record = self.attack(code + "\ntime.sleep(5)", *options)
        self.assertEqual(record["status"], "killed", record)
        self.assertEqual(record["error"]["name"], "ProtocolError")
        self.assertEqual(record["_status"], 125)
        return record

    def test_T_FRAME_garbage(self):
        """Random bytes."""
        self.broken("put(b'\\xde\\xad\\xbe\\xef' * 100000)")

    def test_T_FRAME_of_length_zero(self):
        """A frame of no bytes."""
        self.broken("put(bytes(4096))")

    def test_T_FRAME_of_huge_length(self):
        """A length of four gigabytes."""
        self.broken("put(b'\\xff\\xff\\xff\\xff\\x15')")

    def test_T_FRAME_just_over_the_limit(self):
        """One byte more than the limit."""
        self.broken("put(struct.pack('>IB', (32 << 20) + 1, 21))")

    def test_T_FRAME_never_completed(self):
        """A length of 32 MiB and nothing behind it."""
        record = self.attack("put(struct.pack('>IB', 32 << 20, 21) + b'x')\ntime.sleep(60)",
                             "--timeout", "1s")
        self.assertEqual(record["status"], "timeout")

    def test_T_FRAME_byte_by_byte(self):
        """A frame in single bytes."""
        record = self.attack("p = json.dumps(OK).encode()\n"
                             "for b in struct.pack('>IB', len(p) + 1, 21) + p: put(bytes([b]))\n"
                             "time.sleep(5)")
        self.assertEqual(record["status"], "ok")

    def test_T_FRAME_of_every_unknown_type(self):
        """Types that do not exist, that go the other way, that are kept for later."""
        for kind in (0, 1, 2, 3, 4, 5, 6, 18, 20, 22, 255):
            with self.subTest(kind=kind):
                self.broken(f"frame({kind}, b'{{}}')")

    def test_T_FRAME_waiting_stops_no_clock(self):
        """Where nobody can write to the step, it waits for no input, however often it says so."""
        record = self.attack("while True: frame(25, b'{}')", "--timeout", "1s")
        self.assertEqual(record["status"], "timeout")

    def test_T_FRAME_result_twice(self):
        """A forged result, then another: the first counts, once."""
        record = self.attack("result(value={'text/plain': 'one'})\nresult(value={'text/plain': 'two'})\n"
                             "time.sleep(5)")
        self.assertEqual((record["status"], record["value"]["text/plain"]), ("ok", "one"))

    def test_T_FRAME_result_then_garbage(self):
        """A result, then garbage, while the step is being ended."""
        record = self.attack("result()\nput(b'\\xff' * 100000)\nframe(99)\ntime.sleep(5)")
        self.assertEqual(record["status"], "ok")

    def test_T_FRAME_result_before_the_rest(self):
        """A result while the program goes on: it ends with the step."""
        directory = harness.make_dir()
        self.attack("result()\nwhile True:\n    open('beat', 'w').write(str(time.time()))",
                    "-w", directory)
        path = os.path.join(directory, "beat")
        before = os.path.exists(path) and os.stat(path).st_mtime_ns
        time.sleep(0.3)
        self.assertEqual(os.path.exists(path) and os.stat(path).st_mtime_ns, before)

    def test_T_FRAME_result_of_wrong_shape(self):
        """Every member with a type that it should not have."""
        for text in ("[]", "1", "null", "", "{}", '{"status": 1, "exit_code": 0}',
                     '{"status": "timeout", "exit_code": 0}', '{"status": "ok"}',
                     '{"status": "ok", "exit_code": "0"}', '{"status": "ok", "exit_code": -1}',
                     '{"status": "ok", "exit_code": 256}', '{"status": "ok", "exit_code": 1e99}',
                     '{"status": "ok", "exit_code": 99999999999999999999}',
                     '{"status": "ok", "exit_code": 0, "value": 1}',
                     '{"status": "ok", "exit_code": 0, "value": {"a b": 1}}',
                     '{"status": "ok", "exit_code": 0, "value": {"": 1}}',
                     '{"status": "ok", "exit_code": 0, "error": 1}',
                     '{"status": "error", "exit_code": 1, "error": {"name": 1, "message": ""}}',
                     '{"status": "ok", "exit_code": 0, "error": {"name": "", "message": "", '
                     '"traceback": [1]}}',
                     '{"status": "ok", "status": "error", "exit_code": 0}',
                     '{"status": "ok", "exit_code": 0} x', '{"status": "ok", "exit_code": 0'):
            with self.subTest(text=text):
                self.broken(f"frame(21, {text.encode()!r})")

    def test_T_FRAME_result_cannot_claim_what_the_engine_says(self):
        """Members of the record that the engine alone fills."""
        record = self.attack(
            "result(usage={'wall_ms': -1}, limits={}, session='s-other', step='0', schema=9,\n"
            "       files=[{'path': '/etc/shadow'}], stdout='forged', tools=[1], signal=9,\n"
            "       state={'outcome': 'rolled_back'}, displays=[1], runtime='sql',\n"
            "       error={'name': 'E', 'message': 'm', 'evil': 1})\ntime.sleep(5)")
        self.assertEqual((record["schema"], record["runtime"], record["stdout"]), (1, "python", ""))
        self.assertEqual(record["files"], [])
        self.assertTrue(record["limits"])
        self.assertNotEqual(record["session"], "s-other")
        self.assertNotIn("evil", record.get("error", {}))
        self.assertGreater(record["usage"]["wall_ms"], 0)

    def test_T_FRAME_begin_again_and_again(self):
        """BEGIN starts the step's clock: sending it often must not give more time."""
        start = time.monotonic()
        record = self.attack("while True:\n    frame(17, b'{\"id\": \"1\"}'); time.sleep(0.05)",
                             "--timeout", "1s")
        self.assertEqual(record["status"], "timeout")
        self.assertLess(time.monotonic() - start, 6)

    def test_T_FRAME_flood(self):
        """Frames without end: the clock must still be looked at."""
        for kind, data in ((17, b"{}"), (16, b"{}"), (19, b'{"id":"1","data":{"text/plain":"x"}}')):
            with self.subTest(kind=kind):
                record = self.attack(
                    f"one = struct.pack('>IB', {len(data) + 1}, {kind}) + {data!r}\n"
                    "b = one * 5000\nwhile True: put(b)", "--timeout", "1s", "--cpu-time", "60s")
                self.assertEqual(record["status"], "timeout", record.get("error"))

    def test_T_FRAME_flood_with_the_interrupt_ignored(self):
        """The same from a thread, the interrupt caught."""
        record = self.attack("b = (struct.pack('>IB', 3, 17) + b'{}') * 5000\n"
                             "while True:\n    try:\n        while True: put(b)\n"
                             "    except BaseException: pass", "--timeout", "1s")
        self.assertEqual(record["status"], "timeout")

    def test_T_FRAME_deep_json(self):
        """JSON that is nested a hundred thousand deep."""
        for text in ("b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"application/json\":' + b'[' * 100000"
                     " + b']' * 100000 + b'}}'", "b'{\"a\":' * 300000", "b'[' * 900000"):
            with self.subTest(text=text[:40]):
                self.broken(f"frame(21, {text})")

    def test_T_FRAME_deep_json_that_is_allowed(self):
        """As deep as the parser takes: writing it out must not overflow the stack."""
        head = subprocess.run(
            [harness.RETORT, "run", "--json", "-c", HEAD +
             "frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"application/json\":' + b'[' * 2000"
             " + b']' * 2000 + b'}}')\ntime.sleep(5)"], capture_output=True, check=False,
            timeout=60, env=harness.environment())
        self.assertIn(head.returncode, (0, 125), head.stderr)
        self.assertTrue(head.stdout.rstrip().endswith(b"}"))

    def test_T_FRAME_many_values(self):
        """30 MB of JSON arrays: a hundred bytes of memory for two of JSON."""
        for text in ("b'[' + b'1,' * (15 << 20) + b'1]'", "b'[' + b'[],' * (10 << 20) + b'1]'",
                     "b'[' + b'{},' * (10 << 20) + b'1]'"):
            with self.subTest(text=text):
                self.broken("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":"
                            "{\"application/json\":' + " + text + " + b'}}')")

    def test_T_FRAME_many_members(self):
        """As many values as are allowed, as members with long names."""
        self.attack("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"application/json\":{'"
                    " + b','.join(b'\"%028d\":0' % i for i in range(900000)) + b'}}}')\ntime.sleep(5)")

    def test_T_FRAME_many_tokens_hidden_in_a_string(self):
        """Quotes and backslashes that make a count of values go wrong."""
        self.attack("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"application/json\":[\"\\\\\\\\\"'"
                    " + b',1' * (14 << 20) + b']}}')\ntime.sleep(5)")

    def test_T_FRAME_long_string(self):
        """One string of 31 MB, of characters that are written as six."""
        record = self.attack("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"text/plain\":\"'"
                             " + b'x' * (31 << 20) + b'\"}}')\ntime.sleep(5)")
        self.assertEqual(record["status"], "ok")
        self.attack("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"text/plain\":\"'"
                    " + b'\\\\u0001' * (5 << 20) + b'\"}}')\ntime.sleep(5)")

    def test_T_FRAME_long_number(self):
        """A number of 30 million digits."""
        for text in ("b'9' * (30 << 20)", "b'0.' + b'1' * (30 << 20)", "b'1e' + b'9' * (30 << 20)",
                     "b'-' * (30 << 20)"):
            with self.subTest(text=text):
                self.attack("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":"
                            "{\"application/json\":' + " + text + " + b'}}')\ntime.sleep(5)")

    def test_T_FRAME_display_without_end(self):
        """Pictures without end."""
        record = self.attack("for i in range(100000): display({'text/plain': 'x' * 1000})\n")
        self.assertLessEqual(len(record["displays"]), 256)

    def test_T_FRAME_big_displays(self):
        """Pictures of 30 MB."""
        record = self.attack("for i in range(20): display({'image/png': 'A' * (30 << 20)})\n",
                             "--timeout", "20s", limit_s=40)
        self.assertLessEqual(sum(len(json.dumps(d)) for d in record["displays"]), 11 << 20)

    def test_T_FRAME_display_of_a_bad_type(self):
        """MIME types with newlines, escapes, 10,000 bytes, many of them: what is none is left out, and told."""
        for data in ("{'a\\nb': 'x'}", "{'\\x1b[2J': 'x'}", "{'a' * 10000: 'x'}", "{'\\u00e9': 'x'}",
                     "{'t%d' % i: 'x' for i in range(100)}"):
            with self.subTest(data=data):
                record = self.attack(f"display({data})\nresult()")
                self.assertEqual(record["status"], "ok")
                shown = record["displays"][0]
                self.assertLessEqual(len(shown), 33)
                self.assertTrue(all(re.fullmatch("[!-~]{1,128}", mime) for mime in shown))
                self.assertRegex(shown["text/plain"], r"\[\.\.\. \d+ types cut \.\.\.\]")
        for data in ("[]", "'x'", "None"):
            with self.subTest(data=data):
                self.broken(f"display({data})")

    def test_T_FRAME_display_that_is_no_picture(self):
        """image/png that is a number, a list, no base64: shown on the terminal it must not be."""
        for value in ("1", "[1]", "{'a': 1}", "'\\x1b]0;pwned\\x07'", "None", "'A' * 1000001"):
            with self.subTest(value=value):
                done = attack.run(HEAD + f"display({{'image/png': {value}}})\n", "--images", "kitty")
                self.assertLess(done.status, 128)
                self.assertNotIn("pwned", done.out)

    def test_T_FRAME_nul_bytes(self):
        """NUL in strings and between values."""
        record = self.attack("result(value={'text/plain': 'a\\0b'}, error={'name': 'a\\0b', "
                             "'message': '\\0'})\ntime.sleep(5)")
        self.assertEqual(record["value"]["text/plain"], "a\0b")
        self.broken("frame(21, b'{\"status\":\"ok\\0\",\\0\"exit_code\":0}')")
        self.broken("frame(21, b'{\"sta\\\\u0000tus\":\"ok\",\"exit_code\":0}')")

    def test_T_FRAME_result_of_a_step_to_come(self):
        """A result of a step that there was not yet."""
        self.broken("OK['id'] = '2'; result()")

    def test_T_FRAME_invalid_utf8(self):
        """Bytes that are no UTF-8, overlong forms, surrogates."""
        for text in (b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\\ud800"):
            with self.subTest(text=text):
                self.broken("frame(21, b'{\"id\":\"1\",\"status\":\"ok\",\"exit_code\":0,\"value\":{\"text/plain\":\"' + "
                            f"{text!r} + b'\"}}}}')")

    @harness.as_each
    def test_T_FRAME_descriptors_sent_along(self):
        """Descriptors sent over the channel must not pile up in the engine."""
        directory = harness.make_dir()
        process = attack.popen(
            HEAD + "import array\n"
            "s = socket.socket(fileno=os.dup(channels[0]))\n"
            "fds = array.array('i', [os.open('/dev/null', 0) for i in range(200)])\n"
            "b = struct.pack('>IB', 3, 17) + b'{}'\n"
            "for i in range(50):\n"
            "    try: s.sendmsg([b], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])\n"
            "    except OSError: time.sleep(0.01)  # the kernel's own limit of those on the way\n"
            "open('sent', 'w').write('1')\nwhile not os.path.exists('go'): time.sleep(0.01)\n",
            "-w", directory)
        try:
            for _ in range(1000):
                if os.path.exists(os.path.join(directory, "sent")):
                    break
                time.sleep(0.01)
            time.sleep(0.1)
            counted = None
            try:
                counted = len(os.listdir(f"/proc/{process.pid}/fd"))
            except PermissionError:
                pass  # an ordinary user cannot look into the engine: it is not dumpable
        finally:
            with open(os.path.join(directory, "go"), "w", encoding="ascii"):
                pass
            record = attack.finish(process)
        self.assertEqual(record["status"], "ok", record.get("error"))
        self.assertTrue(os.path.exists(os.path.join(directory, "sent")))
        if harness.IS_ROOT:
            self.assertLess(counted, 60)

    def test_T_FRAME_channel_closed(self):
        """Close the channel, then end, or go on."""
        record = self.attack("for c in channels: socket.socket(fileno=c).close()\nos._exit(3)")
        self.assertEqual((record["status"], record["exit_code"]), ("error", 3))
        record = self.attack("for c in channels: socket.socket(fileno=c).close()\nwhile True: pass", "--timeout", "1s")
        self.assertIn(record["status"], ("timeout", "killed"))
        record = self.attack("for c in channels:\n"
                             "    socket.socket(fileno=c).shutdown(socket.SHUT_RDWR)\n"
                             "time.sleep(60)", "--timeout", "1s")
        self.assertIn(record["status"], ("timeout", "killed"))

    def test_T_FRAME_child_holds_the_channel(self):
        """A child keeps the channel and pipes open and writes a result after the driver's end."""
        record = self.attack("if os.fork() == 0:\n    time.sleep(0.2); result(); time.sleep(60)\n"
                             "os._exit(3)")
        self.assertIn((record["status"], record.get("exit_code")), (("error", 3), ("ok", 0)))

    def test_T_FRAME_step_not_read(self):
        """A code that is large and a driver whose input is full is no reason to hang."""
        done = attack.run("x = '" + "y" * 100000 + "'\nprint(len(x))")
        self.assertEqual(done.out, "100000\n")

    def test_T_FRAME_next_run_is_well(self):
        """After an attack the same user's next run is as ever."""
        self.broken("put(os.urandom(100000))")
        self.assertEqual(harness.run("print(1)").out, "1\n")


class Output(harness.Case):
    ESCAPE = "\x1b]0;pwned\x07\x1b[2J\x9b2J"

    def own_lines(self, done):
        return b"\n".join(n for n in done.stderr.split(b"\n") if b"retort: " in n)

    def check_clean(self, done):
        own = self.own_lines(done)
        self.assertTrue(own, done)
        self.assertIsNone(re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", own), own)

    def test_T_TERMINAL_output_of_the_program_is_its_own(self):
        """A program's own output goes through as it is, as with docker; a record quotes it."""
        code = f"import sys\nsys.stdout.write({self.ESCAPE!r})\nNone"
        self.assertEqual(harness.run(code).out, self.ESCAPE)
        done = harness.retort("run", "--json", "-c", code)
        self.assertNotIn(b"\x1b", done.stdout)
        self.assertEqual(json.loads(done.stdout)["stdout"], self.ESCAPE)

    def test_T_TERMINAL_bad_frame_is_quoted(self):
        """The sentence about a bad frame quotes what was wrong."""
        for text in ('{"status": \\x1b]0;pwned\\x07 }', '{"a": pwned\\xc2\\x9b2J\\x1b[2J', "\\x1b[2J"):
            done = attack.run(HEAD + f"frame(21, b'{text}')\ntime.sleep(5)")
            self.assertEqual(done.status, 125)
            self.check_clean(done)

    def test_T_TERMINAL_file_name_in_an_error(self):
        """-o fails for a file whose name is a terminal escape."""
        out = harness.make_dir()
        name = "a\x1b]0;pwned\x07\n\x1b[2Jretort: forged"
        with open(os.path.join(out, name), "w", encoding="ascii"):
            pass
        done = attack.run(f"import os\nos.mkdir({name!r})\nopen({name + '/x'!r}, 'w').write('1')",
                          "-o", out)
        self.check_clean(done)
        self.assertEqual(len([n for n in done.stderr.split(b"\n") if n]), 1, done.stderr)

    def test_T_TERMINAL_names_given_to_retort(self):
        """Options whose values are terminal escapes (a script passes on what it was given)."""
        bad = "x\x1b]0;pwned\x07\x1b[2J\n"
        for argv in (["run", bad], ["run", "-r", bad, "-c", "1"], ["run", "-v", bad, "-c", "1"],
                     ["run", "-v", f"/tmp:/../{bad}", "-c", "1"], ["run", "-w", bad, "-c", "1"],
                     ["run", "-o", f"/proc/{bad}", "-c", "1"], ["run", "--" + bad], [bad],
                     ["run", "-m", bad, "-c", "1"], ["run", "--python", bad, "-c", "1"],
                     ["run", "--rootfs", bad, "-c", "1"], ["run", "--stdin", bad, "-c", "1"]):
            with self.subTest(argv=argv):
                done = harness.retort(*argv)
                self.assertNotEqual(done.status, 0)
                self.check_clean(done)

    def test_T_TERMINAL_signal_and_exit(self):
        """What retort says about an end by a signal, a limit, an exit."""
        for code in ("import os\nos.kill(os.getpid(), 11)", "x = [0] * (1 << 40)",
                     "raise SystemExit('\\x1b[2J')", "while True: pass"):
            done = attack.run(code, "--timeout", "500ms")
            own = self.own_lines(done)
            self.assertNotIn(b"\x1b", own)

    def test_T_TERMINAL_record_is_json(self):
        """Names, values and errors with escapes come out as JSON, in one piece."""
        code = (f"import os\nopen({self.ESCAPE!r}, 'w').write('1')\n"
                f"class E(Exception): pass\nE.__name__ = {self.ESCAPE!r}\nraise E({self.ESCAPE!r})")
        for option in ("--json", "--jsonl"):
            done = harness.retort("run", option, "-c", code)
            self.assertNotIn(b"\x1b", done.stdout)
            self.assertNotIn(b"\x1b", self.own_lines(done))
            for line in [done.stdout] if option == "--json" else done.stdout.splitlines():
                json.loads(line)


if __name__ == "__main__":
    harness.main()
