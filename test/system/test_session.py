# SPDX-License-Identifier: Apache-2.0
"""Sessions of a running engine: `retort serve` and `retort session`, and JSON-RPC on the socket."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402


class Engine:
    def __init__(self, *options, where=None):
        self.dir = where or harness.make_dir()
        self.path = os.path.join(self.dir, "s")
        self.process = subprocess.Popen(
            [harness.RETORT, "serve", "--socket", self.path, "--no-journal", *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=harness.environment(), cwd=self.dir)
        self.said = self.process.stderr.readline().decode()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate(timeout=harness.TIMEOUT_S)
        return self.process.returncode

    def run(self, *args, **kwargs):
        env = {"RETORT_SOCKET": self.path, **kwargs.pop("env", {})}
        return harness.retort("session", *args, env=env, **kwargs)

    def call(self, *requests):
        """Send requests at once and the end; the messages that come back."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(harness.TIMEOUT_S)
            s.connect(self.path)
            s.sendall(b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in requests))
            s.shutdown(socket.SHUT_WR)
            data = b"".join(iter(lambda: s.recv(1 << 16), b""))
        return [json.loads(line) for line in data.splitlines()]


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Sessions(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = Engine()
        cls.addClassCleanup(cls.engine.stop)

    def good(self, *args, **kwargs):
        done = self.engine.run(*args, **kwargs)
        self.assertEqual(done.status, 0, repr(done))
        return done.out

    def new(self, *options):
        return self.good("new", *options).strip()

    def test_it_says_where_it_listens(self):
        self.assertEqual(self.engine.said, f"retort: listening at {self.engine.path}\n")

    def test_variables_and_files_stay(self):
        s = self.new()
        self.assertRegex(s, r"^s-[a-z0-9]+$")
        self.assertEqual(self.good("exec", s, "-c", "x = 6"), "")
        self.assertEqual(self.good("exec", s, "-c", "print('a')\nx * 7"), "a\n42\n")
        self.good("exec", s, "-c", "open('f.txt', 'w').write('hi')")
        self.assertEqual(self.good("files", s, "f.txt"), "hi")
        self.assertIn("f.txt", self.good("files", s))

    def test_branches_do_not_see_each_other(self):
        s = self.new()
        self.good("exec", s, "-c", "x = 1")
        b = self.good("branch", s).strip()
        self.good("exec", b, "-c", "x = 2; open('only-here', 'w')")
        self.assertEqual(self.good("exec", s, "-c", "x"), "1\n")
        self.assertEqual(self.good("exec", b, "-c", "x"), "2\n")
        self.assertNotIn("only-here", self.good("files", s))

    @harness.needs_shell_or_sql
    def test_a_branch_ends_processes_when_it_is_told_to(self):
        s = self.new()
        self.good("exec", s, "-r", "shell", "-c", "sleep 600 & echo $! >pid")
        done = self.engine.run("branch", s)
        self.assertEqual((done.status, done.out), (1, ""))
        self.assertIn("force", done.err)
        b = self.good("branch", "--force", s).strip()
        self.assertEqual(self.engine.run("exec", b, "-r", "shell", "-c", "kill -0 $(<pid)").status, 1)

    def test_undo_takes_back_variables_and_files(self):
        s = self.new()
        self.good("exec", s, "-c", "x = 1; open('f', 'w').write('old')")
        self.good("exec", s, "-c", "x = 2; open('f', 'w').write('new')")
        self.good("undo", s)
        self.assertEqual(self.good("exec", s, "-c", "x, open('f').read()"), "(1, 'old')\n")

    def test_an_error_is_the_steps_own_status(self):
        s = self.new()
        done = self.engine.run("exec", s, "-c", "1 / 0")
        self.assertEqual((done.status, done.out), (1, ""))
        self.assertIn("ZeroDivisionError", done.err)
        self.assertEqual(self.engine.run("exec", s, "--timeout", "500ms", "-c", "while True: pass").status, 124)
        self.assertEqual(self.good("exec", s, "-c", "1"), "1\n")

    def test_log_and_tree(self):
        s = self.new("tree")
        self.good("exec", "tree", "-c", "root = 1")
        self.good("branch", "tree", "twig")
        self.good("exec", "tree", "-c", "left = 1")
        self.good("exec", "twig", "-c", "right = 1")
        steps = json.loads(self.good("log", s, "--json"))["steps"]
        self.assertEqual([x["code"] for x in steps], ["left = 1", "root = 1"])
        lines = self.good("log", s).splitlines()
        self.assertRegex(lines[0], r"^STEP +STATUS +OUTCOME +RUNTIME +CODE$")
        self.assertRegex(lines[1], r"^[0-9a-f]{12}  ok +committed +python +left = 1$")
        graph = self.good("log", "--graph")
        self.assertRegex(graph, r"(?m)^\*[| ]* [0-9a-f]{12} \(twig\) right = 1$")
        self.assertRegex(graph, r"(?m)\|/")
        self.assertNotIn("\033", graph)

    def test_much_output_comes_whole_up_to_the_limit(self):
        s = self.new("--output-limit", "1m")
        code = "import sys\nfor i in range(40000): print('%050d' % i)"
        out = self.good("exec", s, "-c", code)
        record = json.loads(self.good("exec", s, "--json", "-c", code))
        self.assertEqual(out, record["stdout"])
        self.assertTrue(out.endswith("%050d\n" % 39999))

    def test_files_in_and_out(self):
        s = self.new()
        where = harness.make_dir()
        data = bytes(range(256)) * 50000
        with open(os.path.join(where, "in.bin"), "wb") as f:
            f.write(data)
        self.good("files", s, "--put", os.path.join(where, "in.bin"))
        self.good("exec", s, "-o", os.path.join(where, "out"), "-c",
                  "import os\nos.mkdir('d')\nopen('d/copy.bin', 'wb').write(open('in.bin', 'rb').read()); None")
        with open(os.path.join(where, "out", "d", "copy.bin"), "rb") as f:
            self.assertEqual(f.read(), data)
        self.good("files", s, "--remove", "in.bin")
        self.assertNotIn("in.bin", self.good("files", s))

    def test_a_directory_goes_when_it_is_told_to(self):
        s = self.new()
        self.good("exec", s, "-c", "import os; os.makedirs('d/e'); open('d/e/f', 'w').close(); os.mkdir('empty')")
        for name in ("d", "empty"):
            done = self.engine.run("files", s, "--remove", name)
            self.assertEqual(done.status, 2, done)
            self.assertRegex(done.err, f"^retort: change {name}: it is a directory: [^\n]*--recursive[^\n]*\n$")
        self.assertIn("d/e/f", self.good("files", s))
        self.good("files", s, "--remove", "d", "--recursive")
        self.good("files", s, "--remove", "empty", "--recursive")
        self.assertEqual(self.good("exec", s, "-c", "os.listdir()"), "[]\n")
        self.good("undo", s, "3")
        self.assertEqual(self.good("exec", s, "-c", "os.listdir('d/e')"), "['f']\n")
        self.good("exec", s, "-c", "os.symlink('d', 'link')")
        self.good("files", s, "--remove", "link")
        self.assertEqual(self.good("exec", s, "-c", "os.listdir('d/e')"), "['f']\n")

    def test_a_link_is_called_one(self):
        s = self.new()
        self.good("exec", s, "-c", "import os; open('f', 'w').close(); os.symlink('f', 'link'); os.symlink('/', 'root')")
        for name in ("link", "root/etc/passwd"):
            done = self.engine.run("files", s, name)
            self.assertEqual(done.status, 2, done)
            self.assertRegex(done.err, f"^retort: read {name}: the path is, or leads through, a symbolic link: [^\n]*\n$")

    def test_files_that_are_not_there_or_too_large(self):
        s = self.new()
        large = os.path.join(harness.make_dir(), "large")
        with open(large, "wb") as f:
            f.truncate(41 << 20)
        for args, words in (((s, "none.csv"), "read none.csv: No such file or directory: `retort session files` lists them"),
                            ((s, "--remove", "none.csv"), "No such file or directory: `retort session files` lists them"),
                            ((s, "--put", "/usr"), "/usr is a directory: name a file of this host"),
                            ((s, "--put", large), "large is over 40 MiB: show it to a new session: ")):
            with self.subTest(args=args):
                done = self.engine.run("files", *args)
                self.assertEqual(done.status, 2, repr(done))
                self.assertIn(words, done.err)

    def test_the_ending_of_a_file_chooses_the_runtime(self):
        s = self.new()
        folder = harness.make_dir()
        for name, code, want in (("x.mjs", "console.log(typeof globalThis, 6 * 7)", "object 42\n"), ("s.sh", "echo $((6 * 7))", "42\n"),
                                 ("p", "#!/bin/bash\necho ${BASH##*/}", "bash\n"), ("p.py", "6 * 7", "42\n"),
                                 ("none", "6 * 7", "42\n"), ("v.2024", "6 * 7", "42\n")):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(code)
            with self.subTest(name=name):
                self.assertEqual(self.good("exec", s, path), want)
        self.assertIn("SyntaxError", self.engine.run("exec", "-r", "python", s, os.path.join(folder, "s.sh")).err)
        javascript = self.new("-r", "javascript")
        self.assertEqual(self.good("exec", javascript, "-c", "typeof globalThis"), "'object'\n")
        self.assertEqual(self.good("exec", javascript, os.path.join(folder, "none")), "42\n")
        self.assertEqual(self.good("exec", javascript, "-", stdin=b"typeof globalThis"), "'object'\n")

    def test_what_is_no_program_is_refused_as_run_does(self):
        s = self.new()
        folder = harness.make_dir()
        for name, words in (("n.ipynb", "`retort run FILE.ipynb`"), ("x.rb", "retort does not run Ruby"), ("d.csv", "session files --put"),
                            ("x.zzz", "name its language: `-r`, with one of python")):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write("{}")
            with self.subTest(name=name):
                done = self.engine.run("exec", s, path)
                self.assertEqual(done.status, 127, repr(done))
                self.assertIn(f"no runtime for {os.path.splitext(name)[1]}: ", done.err)
                self.assertIn(words, done.err)
                self.assertEqual(self.good("exec", "-r", "python", s, path), "{}\n")
        answer, = self.engine.call(request(1, "step.run", session=s, code="{}", filename="n.ipynb"))
        self.assertEqual(answer["error"]["data"]["code"], "runtime")
        answer, = self.engine.call(request(1, "step.run", session=s, code="echo $0", filename="s.sh"))
        self.assertEqual(answer["result"]["runtime"], "shell")

    def test_ctrl_c_stops_the_step_and_not_the_session(self):
        s = self.new()
        self.good("exec", s, "-c", "x = 5")
        env = harness.environment({"RETORT_SOCKET": self.engine.path})
        p = subprocess.Popen([harness.RETORT, "session", "exec", s, "-c", "import time\nprint('up', flush=True)\n"
                              "time.sleep(100)"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), b"up\n")
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=20)
        self.assertEqual(p.returncode, 130)
        self.assertEqual(self.good("exec", s, "-c", "x"), "5\n")

    def start(self, *args):
        return subprocess.Popen([harness.RETORT, "session", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=harness.environment({"RETORT_SOCKET": self.engine.path}))

    @staticmethod
    def signals_of(process, name):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            return int(re.search(rf"^{name}:\s*(\w+)", f.read(), re.M).group(1), 16)

    def test_ctrl_c_takes_out_of_line_what_has_not_begun(self):
        s = self.new()
        self.good("exec", s, "-c", "x = 5; open('kept', 'w').close()")
        head = self.good("log", s).splitlines()[1].split()[0]
        step = self.start("exec", s, "-c", "import time\nprint('up', flush=True)\ntime.sleep(100)")
        self.assertEqual(step.stdout.readline(), b"up\n")
        for args in (("branch", s, "too-late"), ("undo", s)):
            with self.subTest(args=args):
                p = self.start(*args)
                while not self.signals_of(p, "SigBlk") & 1 << signal.SIGINT - 1:  # it hears of signals itself
                    self.assertIsNone(p.poll())
                p.send_signal(signal.SIGINT)
                _, err = p.communicate(timeout=harness.TIMEOUT_S)
                self.assertEqual((p.returncode, err.decode()), (130, "retort: interrupted while it waited for its turn: the "
                                                                "operation did not begin: nothing has changed\n"))
        step.send_signal(signal.SIGINT)
        step.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(self.good("exec", s, "-c", "import os; x, os.listdir()"), "(5, ['kept'])\n")
        self.assertNotIn("too-late", self.good("ls"))
        self.assertIn(head, self.good("log", s))

    def test_events_end_with_the_record(self):
        s = self.new()
        events = [json.loads(x) for x in self.good("exec", s, "--jsonl", "-c", "print('é')").splitlines()]
        self.assertEqual([e["event"] for e in events], ["step.started", "stdout", "step.finished"])
        self.assertEqual(events[-1]["result"]["stdout"], "é\n")

    def test_a_replay_is_stopped(self):
        place = harness.make_dir()
        s, path = self.new("-v", f"{place}:d"), os.path.join(place, "hangs")
        self.good("exec", s, "-c", "import os, time\nwhile os.path.exists('d/hangs'): time.sleep(.01)")
        record = self.good("export", s)
        with open(path, "w", encoding="ascii"), open(os.path.join(place, "record"), "w", encoding="utf-8") as f:
            f.write(record)
        answers = self.engine.call(request(1, "replay.run", record=record), request(2, "$/cancel", id=1))
        error = next(a["error"] for a in answers if a["id"] == 1)
        self.assertEqual(error["data"]["code"], "interrupted")
        self.assertIn("of 1 steps were run", error["message"])
        p = subprocess.Popen([harness.RETORT, "replay", f.name], stderr=subprocess.PIPE, env=harness.environment())
        while not self.signals_of(p, "SigCgt") & 1 << signal.SIGINT - 1:
            self.assertIsNone(p.poll())
        while p.poll() is None:  # the first may come before the record is begun; one while it ends would kill it
            p.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(3)
        self.assertEqual((p.returncode, p.stderr.read()), (130, b"retort: interrupted: 0 of 1 steps were run\n"))
        p.stderr.close()

    def test_a_record_replays(self):
        s = self.new()
        self.good("exec", s, "-c", "x = 2")
        self.good("exec", s, "-c", "print(x ** 10)")
        path = os.path.join(harness.make_dir(), "record")
        self.good("export", s, "-o", path)
        done = harness.retort("replay", path)
        self.assertEqual((done.status, done.out), (0, "replayed: 2 steps\n"), repr(done))

    def test_a_record_that_cannot_be_written(self):
        """What was there stays, and nothing half-written beside it."""
        s = self.new()
        self.good("exec", s, "-c", "x = 2")
        where = harness.make_dir()
        path, link, new = (os.path.join(where, name) for name in ("record", "link", "new"))
        with open(path, "w", encoding="utf-8") as f:
            f.write("old")
        os.chmod(path, 0o640)
        os.symlink("record", link)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        for name in (path, link, new):
            done = subprocess.run([harness.RETORT, "session", "export", s, "-o", name], preexec_fn=limit,
                                  capture_output=True, check=False,
                                  env=harness.environment({"RETORT_SOCKET": self.engine.path}))
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, rb"^retort: [^\n]*File too large[^\n]*\n$")
            self.assertEqual(sorted(os.listdir(where)), ["link", "record"])
            with open(path, encoding="utf-8") as f:
                self.assertEqual(f.read(), "old")
        self.assertIn("No space left", self.engine.run("export", s, "-o", "/dev/full").err)
        self.good("export", s, "-o", link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        self.assertTrue(os.path.getsize(path) > 64)
        self.assertIn("retort_record", self.good("export", s, "-o", "/dev/stdout"))
        self.assertIn("is a directory", self.engine.run("export", s, "-o", where).err.lower())

    def test_a_reader_that_leaves(self):
        """As with git and its like: nothing is said, and the status is that of SIGPIPE."""
        s = self.new()
        self.good("exec", s, "-c", "open('f', 'w').write('x' * 200_000)")
        self.good("exec", s, "-c", "'" + "y" * 100_000 + "'")
        for args in (("ls",), ("ls", "--json"), ("log", "--graph", "--json"), ("log", s), ("log", s, "--json"),
                     ("files", s), ("files", s, "f"), ("export", s), ("exec", s, "-c", "1"),
                     ("exec", s, "--json", "-c", "'z' * 100_000")):
            for before in (signal.SIG_DFL, signal.SIG_IGN):
                reader, writer = os.pipe()
                os.close(reader)
                with os.fdopen(writer) as out:
                    done = subprocess.run([harness.RETORT, "session", *args], stdout=out, stderr=subprocess.PIPE,
                                          env=harness.environment({"RETORT_SOCKET": self.engine.path}), check=False,
                                          preexec_fn=lambda: signal.signal(signal.SIGPIPE, before))
                self.assertIn((done.returncode, done.stderr), ((-13, b""), (141, b"")), (args, before))

    def test_names_are_explained(self):
        for args, status, words in ((("exec", "nobody", "-c", "1"), 2, "nobody"), (("exce",), 2, "did you mean exec"),
                                    (("exec", "x"), 2, "nothing to run"), (("rm",), 2, "missing"),
                                    (("ls", "x"), 2, "unexpected"), (("new", "a b"), 2, "no spaces"),
                                    (("new", "a\x1b[31mb"), 2, "control characters"), (("new", ""), 2, "empty"),
                                    (("new", "--", "-x"), 2, "cannot be"), (("new", "n" * 64), 2, "63"),
                                    (("undo", "no\x1bpe"), 2, r"no\\x1bpe"), (("files", "nobody", "f"), 2, "nobody"),
                                    (("files", "x", "--put", "f", "--remove", "f"), 2, "exclude"),
                                    (("files", "x", "f", "--remove", "f"), 2, "both PATH"),
                                    (("files", "x", "--recursive"), 2, "--remove"),
                                    (("files", "x", "--remove", "f", "--remove", "g"), 2, "--remove: given twice"),
                                    (("files", "x", "--put", "f", "--put", "g"), 2, "--put: given twice"),
                                    (("exec", "x", "-c", "1", "-c", "2"), 2, "--code: given twice"),
                                    (("exec", "x", "--stdin", "a", "--stdin", "a", "-c1"), 2, "--stdin: given twice"),
                                    (("exec", "x", "-c", "1", "--stdin", "/nowhere"), 2,
                                     "--stdin: /nowhere: No such file or directory: name a file that you may read, or -"),
                                    (("undo", "x", "--to", "a", "--to", "b"), 2, "--to: given twice"),
                                    (("undo", "x", "abc"), 2, "digits only, e.g. 3"),
                                    (("files", "x", "--put", "/nowhere"), 2, "file of this host"),
                                    (("log", "x", "--graph"), 2, "leave the name out"), (("export",), 2, "missing")):
            with self.subTest(args=args):
                done = self.engine.run(*args)
                self.assertEqual(done.status, status)
                self.assertRegex(done.err, rf"^retort: [^\n]*{words}[^\n]*\n$")

    def test_what_is_not_utf8_is_not_left_out(self):
        s = self.new()
        self.good("exec", s, "-c", "x = 1")
        for args in (("new", b"\xff"), ("branch", s, b"\xff"), ("undo", s, "--to", b"\xff"), ("rm", b"\xff"),
                     ("exec", s, "-c", "1", "-r", b"\xff"), ("exec", s, "-c", b"\xff"), ("files", s, b"\xff"),
                     ("files", s, "--remove", b"\xff"), ("files", s, "--put", b"/dev/\xff"), ("log", b"\xff")):
            with self.subTest(args=args):
                done = self.engine.run(*args)
                self.assertEqual((done.status, done.out), (2, ""))
                self.assertRegex(done.err, r"^retort: [^\n]*not UTF-8[^\n]*\n$")
        self.assertEqual(self.good("exec", s, "-c", "x"), "1\n")

    def test_names_alone_are_listed(self):
        s = self.new()
        self.new("named")
        names = self.good("ls", "--quiet").split()
        self.assertIn("named", names)
        self.assertIn(s, names)
        self.assertEqual(len(names), len(json.loads(self.good("ls", "--json"))["sessions"]))

    def test_each_that_cannot_be_ended_is_told(self):
        s = self.new()
        done = self.engine.run("rm", "nobody", s, "noone")
        self.assertEqual((done.status, done.out), (2, s + "\n"))
        self.assertRegex(done.err, r"^retort: no session nobody: [^\n]*\nretort: no session noone: [^\n]*\n$")

    def test_a_rollback_is_told(self):
        s = self.new()
        done = self.engine.run("exec", s, "-c", "import os; os._exit(3)")
        self.assertEqual((done.status, done.out), (3, ""))
        back = "retort: exited: the step ended itself with status 3\nretort: rolled back: variables and files are as before this step"
        self.assertEqual(done.err, back + "\n")
        self.assertEqual(self.engine.run("exec", "-q", s, "-c", "import os; os._exit(3)").err, "")
        self.engine.run("exec", s, "-c", "open('/tmp/t', 'w')")
        self.assertEqual(self.engine.run("exec", s, "-c", "import os; os.remove('/tmp/t'); os._exit(3)").err,
                         back + ", but for /tmp/t\n")
        self.engine.run("exec", s, "-c", "[open(f'b\\n{i}', 'w').write('1' * (2 << 20)) for i in range(5)]")
        done = self.engine.run("exec", s, "-c", "import os; [os.remove(n) for n in os.listdir()]; os._exit(3)")
        lost = r", but for b\\x0a\d, b\\x0a\d, b\\x0a\d and 2 more\n"
        self.assertRegex(done.err, back + lost)
        self.engine.run("exec", s, "-c", "open('big', 'w').write('1' * (2 << 20))")
        self.engine.run("exec", s, "-c", "import os; os.remove('big')")
        done = self.engine.run("undo", s)
        self.assertEqual((done.status, done.err),
                         (0, "retort: undone: variables and files are as after that step, but for big\n"))

    def test_rpc_answers_each_request(self):
        got = self.engine.call(request(1, "engine.info"), b"garbage\n", request("a", "session.lst"),
                               request(None, "session.get", sesion=1), request(2, "session.create", limits={"pids": 0}))
        answers = {json.dumps(m["id"]): m for m in got}
        self.assertEqual(len(got), 5)
        self.assertIn("step.run", answers["1"]["result"]["operations"])
        self.assertEqual(answers['"a"']["error"]["code"], -32601)
        self.assertIn("session.list", answers['"a"']["error"]["data"]["hint"])
        self.assertEqual(answers["2"]["error"]["data"]["code"], "usage")
        self.assertEqual(sorted(m["error"]["code"] for m in got if m["id"] is None), [-32700, -32602])

    def test_a_client_that_is_gone_takes_its_step_along(self):
        s = self.new()
        with socket.socket(socket.AF_UNIX) as c:
            c.connect(self.engine.path)
            c.sendall(json.dumps(request(1, "step.run", session=s, code="while True: pass", stream=True)).encode()
                      + b"\n")
            self.assertIn(b"step.started", c.recv(1 << 16))
        start = time.monotonic()
        self.assertEqual(self.good("exec", s, "-c", "1"), "1\n")
        self.assertLess(time.monotonic() - start, 10)

    @harness.needs_root("only root can be somebody else")
    def test_others_are_refused(self):
        # Where others may go, so that it is the engine that refuses.
        where = tempfile.mkdtemp(prefix="retort-test-", dir="/tmp")
        self.addCleanup(shutil.rmtree, where)
        engine = Engine(where=where)
        self.addCleanup(engine.stop)
        os.chmod(where, 0o755)
        os.chmod(engine.path, 0o777)
        code = ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('%s')\nprint(s.recv(999).decode())"
                % engine.path)
        done = subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "/usr/bin/python3",
                               "-c", code], capture_output=True, check=False)
        self.assertIn(b'"code":"access"', done.stdout, done.stderr)


class Serving(harness.Case):
    def test_signals_end_it_gracefully(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            engine = Engine()
            self.assertEqual(engine.run("new").status, 0)
            self.assertEqual(engine.stop(number), 0)
            self.assertFalse(os.path.exists(engine.path))

    def test_a_second_one_is_told_and_a_dead_ones_socket_replaced(self):
        engine = Engine()
        done = harness.retort("serve", "--socket", engine.path, "--no-journal")
        self.assertEqual(done.status, 2)
        self.assertIn("already", done.err)
        engine.stop(signal.SIGKILL)
        self.assertTrue(os.path.exists(engine.path))
        again = subprocess.Popen([harness.RETORT, "serve", "--socket", engine.path, "--no-journal"],
                                 stderr=subprocess.PIPE, env=harness.environment())
        self.assertIn(b"listening", again.stderr.readline())
        again.terminate()
        again.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(again.returncode, 0)

    def test_places_that_do_not_do(self):
        done = harness.retort("serve", "--socket", "/tmp/" + "x" * 200, "--no-journal")
        self.assertEqual(done.status, 2)
        self.assertIn("limit 107", done.err)
        state = harness.make_dir()
        os.chmod(state, 0o755)
        done = harness.retort("serve", "--socket", os.path.join(state, "s"), "--state", state)
        self.assertEqual(done.status, 2)
        self.assertIn("other users may enter", done.err)

    def test_no_engine_is_told(self):
        done = harness.retort("session", "ls", "--socket", "/tmp/retort-nobody-here")
        self.assertEqual(done.status, 4)
        self.assertRegex(done.err, r"^retort: no engine at [^\n]*retort serve[^\n]*\n$")
        where = harness.make_dir()
        file = os.path.join(where, "file")
        with open(file, "w", encoding="utf-8"):
            os.chmod(file, 0o400)
        self.assertEqual(harness.retort("session", "ls", "--socket", os.path.join(file, "s")).status, 4)
        for path in ("/etc/passwd", file, where, "/dev/null"):
            done = harness.retort("session", "ls", "--socket", path)
            self.assertEqual(done.status, 4, done)
            self.assertRegex(done.err, rf"^retort: no engine at {path}: it is not a socket: [^\n]*retort serve[^\n]*\n$")


if __name__ == "__main__":
    harness.main()
