# SPDX-License-Identifier: Apache-2.0
"""Journal and replay: what an engine has acknowledged, a later one knows and can do again."""

import ast
import base64
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import rpc  # noqa: E402
import test_repl as repl  # noqa: E402
from engine import Client, Engine, Failed  # noqa: E402

IDENTITY = "user"
KILLS = harness.sample(60, 500)


def digest(parent, runtime, code, record):
    """The name of a step, as store/node.h defines it."""
    sha = hashlib.sha256()
    for part in ("retort.step.1", parent, runtime, code, record):
        data = part.encode()
        sha.update(len(data).to_bytes(8, "big") + data)
    return sha.hexdigest()


def codes(log):
    return [step["code"] for step in log["steps"]]


class HistoryCase(harness.Case):
    def engine(self, where=None, *options):
        e = Engine(where, *options)
        self.addCleanup(e.__exit__)
        return e

    def fails(self, expected, method, engine, text="", **params):
        with self.assertRaises(Failed) as caught:
            engine(method, **params)
        self.assertEqual(caught.exception.code, expected, caught.exception)
        self.assertIn(text, str(caught.exception))
        return caught.exception

    def again(self, engine, *options):
        engine.kill()
        return self.engine(engine.where, *options)


class Tree(HistoryCase):
    def test_each_step_is_a_node_whose_digest_can_be_computed(self):
        e = self.engine()
        s = e("session.create", name="work")["session"]
        names = [e.run(s, code)["step"] for code in ("x = 'é'", "print(x)", "x * 2", "1 / 0")]
        lines = [json.loads(line) for line in e("session.export", session=s)["record"].splitlines()]
        self.assertEqual(lines[0]["steps"], 4)
        parent = ""
        for name, line in zip(names, lines[1:]):
            self.assertEqual(line["parent"], parent)
            self.assertEqual(line["step"], name)
            self.assertEqual(digest(parent, line["runtime"], line["code"], line["record"]), name)
            parent = name
        self.assertEqual(lines[0]["head"], parent)
        self.assertEqual(json.loads(lines[2]["record"])["stdout"], "é\n")

    def test_what_a_step_was_given_counts(self):
        e = self.engine()
        s = [e("session.create")["session"] for _ in range(4)]
        given = [{}, {"stdin": "a"}, {"stdin": "b"}, {"filename": "a.py"}]
        self.assertEqual(len({e.run(s[i], "1", **given[i])["step"] for i in range(4)}), 4)

    def test_log_shows_the_way_and_with_all_what_was_left(self):
        e = self.engine()
        s = e("session.create", name="work")["session"]
        for code in ("a = 1", "import os; os._exit(3)", "b = 2", "c = 3"):
            e.run(s, code)
        e.run(s, "1 / 0", atomic=True)
        e("session.undo", session=s)
        e.run(s, "d = 4")
        self.assertEqual(codes(e("session.log", session=s)), ["d = 4", "b = 2", "a = 1"])
        steps = e("session.log", session=s, all=True)["steps"]
        self.assertEqual([(x["code"], x["outcome"], x.get("on_path", False)) for x in steps],
                         [("d = 4", "committed", True), ("1 / 0", "rolled_back", False),
                          ("c = 3", "committed", False), ("b = 2", "committed", True),
                          ("import os; os._exit(3)", "rolled_back", False),
                          ("a = 1", "committed", True)])
        row, = e("session.list")["sessions"]
        self.assertEqual((row["steps"], row["name"]), (3, "work"))
        # The same again, with the same result, is another attempt.
        for code in ("import os; os._exit(3)", "e = 5", "import os; os._exit(3)"):
            e.run(s, code)
        e("session.undo", session=s)
        for code in ("import os; os._exit(3)", "e = 5"):
            e.run(s, code)
        steps = e("session.log", session=s, all=True)["steps"]
        self.assertEqual([(x["code"][:1], x["outcome"], x.get("on_path", False)) for x in steps[:6]],
                         [("e", "committed", True), ("i", "rolled_back", False), ("i", "rolled_back", False),
                          ("e", "committed", False), ("i", "rolled_back", False), ("d", "committed", True)])
        branch = e("session.branch", session=s, name="other")["session"]
        e.run(branch, "import os; os._exit(3)")
        steps = e("session.log", session=branch, all=True)["steps"]
        self.assertEqual([x["code"][:1] for x in steps], ["i", "e", "d", "b", "a"])
        done = harness.retort("session", "log", "work", "--all", "--socket", e.path)
        self.assertEqual(done.out.count("rolled_back"), 5, done)

    def test_a_graph_has_every_branch_once(self):
        e = self.engine()
        s = e("session.create", name="a")["session"]
        e.run(s, "x = 1")
        b = e("session.branch", session=s, name="b")["session"]
        heads = {s: e.run(s, "x = 2")["step"], b: e.run(b, "x = 3")["step"]}
        graph = e("session.graph")
        self.assertEqual(sorted(codes(graph)), ["x = 1", "x = 2", "x = 3"])
        self.assertEqual({h["session"]: h["head"] for h in graph["heads"]}, heads)
        done = harness.retort("session", "log", "--graph", "--socket", e.path)
        self.assertEqual(done.status, 0, done)
        self.assertEqual([done.out.count(x) for x in ("x = 1", "x = 2", "x = 3")], [1, 1, 1])
        done = harness.retort("session", "ls", "--json", "--socket", e.path)
        self.assertEqual([row["steps"] for row in done.json()["sessions"]], [2, 2])


    @harness.needs_shell_or_sql
    def test_what_is_left_out_is_said(self):
        e = self.engine(None, "--checkpoints", "1")
        s = e("session.create", runtime="shell", name="long")["session"]
        for _ in range(3):  # a step that is over leaves room for the next
            calls = [e.client.send("step.run", session=s, code=":") for _ in range(101)]
            for _ in calls:
                self.assertEqual(e.client.answer()[1]["status"], "ok")
        for _ in range(97):  # a file that is written is a step too, and cheaper
            for call in [e.client.send("file.write", session=s, path="f", content="") for _ in range(101)]:
                self.assertEqual(e.client.answer()[0], call)
        for args, rows in ((["long"], 10001), (["--graph"], 10000)):
            done = harness.retort("session", "log", *args, "--socket", e.path)
            self.assertEqual((done.status, len(done.out.splitlines())), (0, rows), done.err)
            self.assertIn("there are more steps", done.err)


class Killed(HistoryCase):
    @harness.needs_shell_or_sql
    def test_no_acknowledged_step_is_lost(self):
        rng = random.Random(7)
        where, known, session = tempfile.mkdtemp(dir=harness.TMP), [], None
        for turn in range(KILLS):
            e = self.engine(where, "--standby", "0")
            if session is None:
                session = e("session.create", runtime="sql")["session"]
            kept = list(reversed([x["step"] for x in e("session.log", session=session)["steps"]]))
            # The last may have been kept without its answer having come.
            self.assertEqual(kept[:len(known)], known)
            self.assertLessEqual(len(kept), len(known) + 1)
            known = kept
            # A session that is long to replay is no use here.
            if len(known) > 12:
                known, session = [], e("session.create", runtime="sql")["session"]
            until = rng.choice([0, 0.002, 0.005, 0.02]) * rng.random()
            for n in range(rng.randrange(4)):
                known.append(e.run(session, f"select {turn * 10 + n}")["step"])
            e.client.send("step.run", session=session, code=f"select {turn}.5")
            time.sleep(until)
            e.kill()

    def test_what_it_had_is_all_gone(self):
        e = self.engine()
        s = e("session.create")["session"]
        mark = f"86{os.getpid()}"
        e.run(s, f"import subprocess; p = subprocess.Popen(['sleep', '{mark}'])")
        b = e("session.branch", session=s, force=True)["session"]
        e.run(b, f"import subprocess; p = subprocess.Popen(['sleep', '{mark}'])")
        self.assertGreaterEqual(self.alive(mark), 1)
        e.kill()
        until = time.monotonic() + 20
        while self.alive(mark) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(self.alive(mark), 0)

    @staticmethod
    def alive(mark):
        return sum(mark in line.split() for line in subprocess.run(
            ["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines())


class Reopened(HistoryCase):
    def streamed(self, e, session, code):
        """What is told meanwhile, and the record."""
        number, told = e.client.send("step.run", session=session, code=code, stream=True), []
        while (message := json.loads(e.client.file.readline())).get("id") != number:
            told.append(message["params"])
        return told, message["result"]

    def test_state_comes_back_and_is_said_to_be_replayed(self):
        e = self.engine()
        s = e("session.create", name="work")["session"]
        e.run(s, "x = 40\nopen('f', 'w').write('kept')")
        e.run(s, "import os; os.abort()")
        e.run(s, "x += 2")
        b = e("session.branch", session="work")["session"]
        e.run(b, "x = 'b'")
        for restart in ("killed", "stopped"):
            if restart == "stopped":
                e.stop()
                e = self.engine(e.where)
            else:
                e = self.again(e)
            states = {row["session"]: row["state"] for row in e("session.list")["sessions"]}
            self.assertEqual(states, {s: "stored", b: "stored"})
            self.assertEqual(e("session.get", session=s[:7])["steps"], 2 + (restart == "stopped"))
            told, done = self.streamed(e, s[:7], "(x, open('f').read())")
            n = 2 + (restart == "stopped")
            again = [(t["step"], t["of"]) for t in told if t["event"] == "rebuilding"]
            self.assertEqual(again, [(i + 1, n) for i in range(n)][-len(again):])
            self.assertEqual(told[len(again)]["event"], "step.started")
            self.assertEqual(done["value"]["text/plain"], "(42, 'kept')")
            self.assertEqual(done["state"]["outcome"], "replayed")
            self.assertEqual(e("session.get", session="work")["outcome"], "replayed")
            self.assertEqual(e.run(s, "1")["state"]["outcome"], "committed")
            t = repl.Terminal(command=["session", "exec", "--socket", e.path, b, "-c", "x"])
            t.wait("retort: the session is rebuilt: running step ")
            self.assertIn("'b'", t.rest())
            e("session.undo", session=s)

    def test_they_are_listed_as_before(self):
        e = self.engine()
        made = [e("session.create")["session"] for _ in range(4)]
        for run in ((), made[:1], made[2:3]):
            for session in run:
                e.run(session, "1")
            made.append(e("session.branch", session=made[0])["session"])
            self.assertEqual([row["session"] for row in e("session.list")["sessions"]], made[::-1])
            e = self.again(e)
            self.assertEqual([row["session"] for row in e("session.list")["sessions"]], made[::-1])

    def test_what_differs_is_said(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "x = 1")
        first = e.run(s, "import time; time.time_ns()")["step"]
        e.run(s, "time.time_ns()")
        e = self.again(e)
        state = e.run(s, "x")["state"]
        self.assertEqual(state["outcome"], "diverged")
        self.assertIn(f'step {first[:12]}: value["application/json"]: ', state["reason"])
        row = e("session.get", session=s)
        self.assertEqual((row["outcome"], row["difference"]), ("diverged", state["reason"]))
        self.assertEqual(e.run(s, "2")["state"]["outcome"], "committed")

    def test_what_is_shown_of_a_long_difference(self):
        """Where it is; what is left out is told by an ellipsis."""
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "import os; {'at': [1, os.urandom(99).hex()]}")
        reason = self.again(e).run(s, "1")["state"]["reason"]
        self.assertRegex(reason, r'value\["application/json"\]\.at\[1\]: "[0-9a-f]{20,}…, was "[0-9a-f]{20,}…$')

    def test_who_comes_meanwhile_waits_in_line(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "import time; time.sleep(0.3); n = 0")
        e = self.again(e)
        calls = [e.client.send("step.run", session=s, code="n += 1; n") for _ in range(3)]
        calls.append(e.client.send("session.branch", session=s))
        answers = dict(e.client.answer() for _ in calls)
        self.assertEqual([answers[c]["value"]["text/plain"] for c in calls[:3]], ["1", "2", "3"])
        self.assertEqual(e.run(answers[calls[3]]["session"], "n")["value"]["text/plain"], "3")

    def test_closing_it_meanwhile(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "import time; time.sleep(0.5)")
        e = self.again(e)
        calls = [e.client.send("step.run", session=s, code="1"),
                 e.client.send("session.branch", session=s),
                 e.client.send("session.close", session=s)]
        answers = dict(e.client.answer() for _ in calls)
        self.assertEqual([getattr(answers[c], "code", None) for c in calls], ["gone", "gone", None])
        self.assertEqual(e("session.list")["sessions"], [])

    def test_closing_it_while_what_it_lost_is_made_again(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "import threading, time; time.sleep(0.5); threading.Thread(target=time.sleep, args=(600,)).start()")
        self.assertEqual(e.run(s, "import os; os._exit(1)")["state"]["outcome"], "lost")
        calls = [e.client.send("step.run", session=s, code="1"), e.client.send("session.close", session=s)]
        answers = dict(e.client.answer() for _ in calls)
        self.assertEqual((answers[calls[0]].code, str(answers[calls[0]])), ("gone", "the session was closed"))
        self.assertEqual(answers[calls[1]], {})

    def kill_between_steps(self, e, volume, driver):
        """End a driver when the step that it runs has its result, but is not over yet."""
        warden = next(p for p in rpc.children(e.process.pid) if rpc.name_of(p) == "retort-warden")
        self.wait(lambda: os.path.exists(os.path.join(volume, "begun")))
        os.kill(warden, signal.SIGSTOP)
        try:
            self.wait(lambda: os.path.exists(os.path.join(volume, "done")))
            time.sleep(0.3)
            pid = driver(warden)
            os.kill(pid, signal.SIGKILL)
            self.wait(lambda: not os.path.exists(f"/proc/{pid}"))
            time.sleep(0.3)
        finally:
            os.kill(warden, signal.SIGCONT)

    def wait(self, is_so):
        until = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def interrupted(self, runtime, slow, steps, driver):
        """The first step's process is killed when it has been run again. Returns: what the last one says then."""
        e = self.engine(None, "--standby", "0")
        volume = tempfile.mkdtemp(dir=harness.TMP)
        s = e("session.create", fresh=True, runtime=runtime, volumes=[{"src": volume, "dst": "/data", "mode": "rw"}])
        for code in (slow, *steps):
            self.assertEqual(e.run(s["session"], code, timeout_ms=600000)["status"], "ok")
        e = self.again(e)
        for name in os.listdir(volume):
            os.unlink(os.path.join(volume, name))
        call = e.client.send("step.run", session=s["session"], code="x")
        self.kill_between_steps(e, volume, driver)
        number, record = e.client.answer()
        self.assertEqual(number, call)
        self.assertEqual(record["value"]["text/plain"], "42", record)
        self.assertEqual(record["state"]["outcome"], "replayed", record)

    def test_a_python_killed_while_its_steps_run_again(self):
        def driver(warden):
            # The guard is a copy of it, and younger.
            return min(p for p in rpc.descendants(warden) if rpc.name_of(p).startswith("python"))
        slow = "open('/data/begun', 'w'); import time; time.sleep(0.5); x = 40; open('/data/done', 'w'); 0"
        self.interrupted("python", slow, ["x += 2"], driver)
        threads = "import threading; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
        self.interrupted("python", slow[:-1] + threads, ["x += 2"], driver)

    def test_a_node_killed_while_its_steps_run_again(self):
        def driver(warden):
            return next(p for p in rpc.descendants(warden) if rpc.name_of(p).startswith("node"))
        slow = ("const fs = require('fs'); fs.writeFileSync('/data/begun', ''); "
                "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500); "
                "let x = 40; fs.writeFileSync('/data/done', ''); 0")
        self.interrupted("javascript", slow, ["x += 2"], driver)

    def test_a_branch_killed_before_its_first_step(self):
        """The stem has the state still. When that is killed as well the state is gone, and must not seem to be empty."""
        e = self.engine(None, "--standby", "0")
        warden = next(p for p in rpc.children(e.process.pid) if rpc.name_of(p) == "retort-warden")
        s = e("session.create", limits={"memory_bytes": 256 << 20})["session"]
        e.run(s, "x = bytearray(140 << 20); x[::4096] = bytes(35840)")
        before = rpc.descendants(warden)
        b = e("session.branch", session=s)["session"]

        def news():
            return [p for p in rpc.descendants(warden) if p not in before and rpc.name_of(p).startswith("python")]
        self.wait(lambda: len(news()) == 2)  # the branch, and the session itself, which goes on as another
        time.sleep(0.3)
        for pid in news():
            os.kill(pid, signal.SIGKILL)
        self.wait(lambda: not news())
        for one in (b, s):
            record = e.run(one, "len(x)")
            self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), (str(140 << 20), "committed"))
            e("session.undo", session=one)
        b = e("session.branch", session=s)["session"]
        before = [p for p in before if not rpc.name_of(p).startswith("python")]
        time.sleep(0.3)
        for pid in news():
            os.kill(pid, signal.SIGKILL)
        self.wait(lambda: not news())
        for one in (b, s):
            record = e.run(one, "len(x)")
            self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), (str(140 << 20), "replayed"))

    def test_stopping_the_engine_ends_what_runs(self):
        e = self.engine()
        s = [e("session.create")["session"] for _ in range(2)]
        e.run(s[1], "import time; time.sleep(1)")
        e = self.again(e, "--grace", "200ms")
        calls = [e.client.send("step.run", session=s[0], code="while True: pass"),
                 e.client.send("step.run", session=s[0], code="1"),
                 e.client.send("session.branch", session=s[0]),
                 e.client.send("step.run", session=s[1], code="reopening"),
                 e.client.send("session.create", preload=["json"])]
        time.sleep(0.2)
        e.process.send_signal(signal.SIGTERM)
        try:
            for _ in calls:
                e.client.answer()
        except (EOFError, ConnectionError):
            pass
        self.assertEqual(e._gone(), 0)

    def test_a_session_that_cannot_be_made_again(self):
        e = self.engine()
        where = tempfile.mkdtemp(dir=harness.TMP)
        s = e("session.create", volumes=[{"src": where, "dst": "/data"}])["session"]
        e.run(s, "1")
        e = self.again(e)
        os.rmdir(where)
        for _ in range(2):
            self.fails("not_found", "step.run", e, where, session=s, code="1")
        self.assertEqual(codes(e("session.log", session=s)), ["1"])
        os.mkdir(where)
        self.assertEqual(e.run(s, "2")["state"]["outcome"], "replayed")

    def test_undo_of_what_cannot_be_made_again(self):
        e = self.engine()
        where = tempfile.mkdtemp(dir=harness.TMP)
        os.chmod(where, 0o777)
        s = e("session.create", volumes=[{"src": where, "dst": "/data", "mode": "rw"}])["session"]
        first = e.run(s, "import os; x = 1")["step"]
        self.assertEqual(e.run(s, "os.path.exists('/data/c') and os._exit(1); open('/data/c', 'w').close()")["status"], "ok")
        e.run(s, "import threading; t = threading.Thread(target=threading.Event().wait, daemon=True); t.start()")
        self.assertEqual(e.run(s, "os._exit(1)")["state"]["outcome"], "lost")
        done = e("session.undo", session=s, to=first)
        self.assertEqual((done["head"], done["outcome"]), (first, "replayed"))
        self.assertEqual(e.run(s, "x")["value"]["text/plain"], "1")
        e("session.undo", session=s, count=2)
        self.assertEqual(e.run(s, "'x' in globals()")["value"]["text/plain"], "False")

    def test_undo_to_before_the_restart(self):
        e = self.engine()
        s = e("session.create")["session"]
        steps = [e.run(s, f"x = {i}")["step"] for i in range(8)]
        e = self.again(e)
        done = e("session.undo", session=s, to=steps[2][:9].upper())
        self.assertEqual((done["head"], done["outcome"]), (steps[2], "rolled_back")
                         if done["outcome"] == "rolled_back" else (steps[2], "replayed"))
        self.assertEqual(e.run(s, "x")["value"]["text/plain"], "2")
        self.fails("usage", "session.undo", e, "the session has 4", session=s, count=5)
        e("session.undo", session=s, count=4)
        self.assertEqual(e.run(s, "x")["status"], "error")


class Files(HistoryCase):
    """What a client puts into a workspace between two steps is a step: it comes back, and can be undone."""

    BYTES = bytes(range(256)) * 40

    def put(self, e, session, path, data):
        return e("file.write", session=session, path=path, encoding="base64",
                 content=base64.b64encode(data).decode())

    def get(self, e, session, path):
        said = e("file.read", session=session, path=path)
        data = said["content"]
        return base64.b64decode(data) if said["encoding"] == "base64" else data.encode()

    def value(self, e, session, code):
        record = e.run(session, code)
        self.assertEqual(record["status"], "ok", record)
        return ast.literal_eval(record["value"]["text/plain"])

    def listed(self, e, session):
        return sorted(row["path"] for row in e("file.list", session=session)["files"])

    def test_it_is_there_again(self):
        e = self.engine()
        s = e("session.create")["session"]
        first = self.put(e, s, "deep/a.bin", self.BYTES)
        self.assertEqual(first["path"], "deep/a.bin")
        e.run(s, "n = len(open('deep/a.bin', 'rb').read())")
        self.put(e, s, "empty", b"")
        self.put(e, s, "gone", b"x")
        self.assertEqual(sorted(e("file.remove", session=s, path="gone")), ["path", "step"])
        e.run(s, "n += 1")
        self.put(e, s, "last \xe9\n", b"after the last step")
        self.assertEqual([x["code"] for x in reversed(e("session.log", session=s)["steps"])],
                         ["write deep/a.bin", "n = len(open('deep/a.bin', 'rb').read())", "write empty",
                          "write gone", "remove gone", "n += 1", "write last \xe9\n"])
        for _ in range(2):
            e = self.again(e)
            record = e.run(s, "n")
            self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("10241", "replayed"))
            self.assertEqual(self.listed(e, s), ["deep/a.bin", "empty", "last \xe9\n"])
            self.assertEqual(self.get(e, s, "deep/a.bin"), self.BYTES)
            self.assertEqual(self.get(e, s, "last \xe9\n"), b"after the last step")

    def test_it_waits_for_a_session_that_is_opened_again(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "import time; time.sleep(0.3); n = 1")
        e = self.again(e)
        calls = [e.client.send("file.write", session=s, path="a", content="a"),
                 e.client.send("step.run", session=s, code="n, open('a').read()")]
        answers = dict(e.client.answer() for _ in calls)
        self.assertIn("step", answers[calls[0]])
        self.assertEqual(answers[calls[1]]["value"]["text/plain"], "(1, 'a')")

    def test_undo_takes_it_back(self):
        e = self.engine()
        s = e("session.create")["session"]
        self.put(e, s, "a", b"first")
        e.run(s, "x = [1]")
        second = self.put(e, s, "a", b"second")["step"]
        self.put(e, s, "b", b"b")
        self.assertEqual(e("session.undo", session=s), {"session": s, "head": second, "outcome": "rolled_back"})
        self.assertEqual((self.listed(e, s), self.get(e, s, "a")), (["a"], b"second"))
        e.run(s, "x.append(2); open('a', 'w').write('third')")
        e("session.undo", session=s)
        self.assertEqual(self.value(e, s, "x, open('a').read()"), ([1], "second"))
        self.assertEqual(e("session.undo", session=s, count=2)["outcome"], "rolled_back")
        self.assertEqual(self.value(e, s, "x, open('a').read()"), ([1], "first"))
        self.assertEqual(e("session.undo", session=s, count=3)["head"], "")
        self.assertEqual(self.listed(e, s), [])
        self.fails("usage", "session.undo", e, "the session has 0", session=s)

    def test_undo_by_running_again(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "x = 1")
        put = self.put(e, s, "a", b"a")["step"]
        for i in range(6):
            e.run(s, f"x += {i}; open('a', 'a').write('{i}')")
        done = e("session.undo", session=s, to=put)
        self.assertEqual((done["head"], done["outcome"]), (put, "replayed"))
        self.assertEqual(self.value(e, s, "x, open('a').read()"), (1, "a"))

    def test_a_failing_step_leaves_it(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "x = 1; open('mine', 'w').write('m')")
        self.put(e, s, "a", b"a")
        for code in ("x = 2; open('a', 'w').write('b'); import os; os._exit(1)", "kill -9 $$"):
            record = e.run(s, code, runtime="shell" if "kill" in code else "python")
            self.assertEqual(record["state"]["outcome"], "rolled_back")
            self.assertEqual(self.value(e, s, "x, open('a').read(), open('mine').read()"), (1, "a", "m"))
            e("session.undo", session=s)
        e("session.undo", session=s)
        self.assertEqual((self.value(e, s, "x"), self.listed(e, s)), (1, ["mine"]))

    def test_branches_have_it(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "x = 1")
        self.put(e, s, "a", b"a")
        b = e("session.branch", session=s)["session"]
        self.put(e, s, "a", b"parent's")  # its new box is hardly there
        self.put(e, b, "a", b"branch's")
        self.assertEqual([self.value(e, one, "x, open('a').read()") for one in (s, b)],
                         [(1, "parent's"), (1, "branch's")])
        e = self.again(e)
        self.assertEqual([self.value(e, one, "x, open('a').read()") for one in (s, b)],
                         [(1, "parent's"), (1, "branch's")])
        e("session.undo", session=b, count=3)
        self.assertEqual(self.value(e, b, "open('a').read()"), "a")

    def test_while_a_step_runs_it_is_the_steps(self):
        e = self.engine()
        s = e("session.create")["session"]
        call = e.client.send("step.run", session=s, stream=True,
                             code="print('on', flush=True)\nimport os, time\nwhile not os.path.exists('a'): time.sleep(.01)")
        e.client.file.readline()
        other = Client(e.path)
        self.addCleanup(other.close)
        self.assertEqual(other("file.write", session=s, path="a", content="a"), {"path": "a"})
        number, record = e.client.answer()
        self.assertEqual((number, [row["path"] for row in record["files"]]), (call, ["a"]))
        self.assertEqual(len(e("session.log", session=s)["steps"]), 1)

    def test_what_cannot_be_done_is_no_step(self):
        e = self.engine()
        s = e("session.create", limits={"disk_bytes": 1 << 20})["session"]
        e.run(s, "import os; os.mkdir('dir'); os.symlink('/etc', 'out')")
        self.fails("not_found", "file.remove", e, session=s, path="nothing")
        self.fails("no_space", "file.write", e, session=s, path="big", content="x" * (2 << 20))
        self.fails("access", "file.write", e, session=s, path="out/passwd", content="x")
        self.fails("access", "file.write", e, session=s, path="dir", content="x")
        for path in ("", "../a", "/etc/passwd", "a/../../b", ".", "a\0b"):
            self.fails("usage", "file.write", e, session=s, path=path, content="x")
        self.assertEqual(len(e("session.log", session=s)["steps"]), 1)
        self.assertEqual(self.value(e, s, "sorted(os.listdir())"), ["dir", "out"])
        e("file.write", session=s, path="full", content="y" * (900 << 10))
        self.fails("no_space", "file.write", e, session=s, path="full", content="x" * (2 << 20))
        self.assertEqual(self.value(e, s, "set(open('full').read()), os.path.getsize('full')"), ({"y"}, 900 << 10))
        e("file.write", session=s, path="full", content="x" * (920 << 10))
        e("file.write", session=s, path="full", content="z")
        self.assertEqual(self.value(e, s, "open('full').read()"), "z")

    def test_a_record_carries_it(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "x = 1")
        plain = e("session.export", session=s)["record"]
        self.assertEqual(json.loads(plain.splitlines()[0])["retort_record"], 1)
        self.put(e, s, "a.bin", self.BYTES)
        self.put(e, s, "text", "é".encode())
        e("file.remove", session=s, path="text")
        e.run(s, "import os; sum(open('a.bin', 'rb').read()), os.listdir()")
        record = e("session.export", session=s)["record"]
        lines = [json.loads(line) for line in record.splitlines()]
        self.assertEqual((lines[0]["retort_record"], lines[0]["steps"]), (2, 5))
        self.assertEqual([line.get("content") for line in lines[2:]],
                         [{"base64": base64.b64encode(self.BYTES).decode()}, "é", None, None])
        self.assertEqual(e("replay.run", record=record), {"outcome": "replayed", "steps": 5})
        lines[2]["content"] = "else"
        self.fails("damaged", "replay.run", e, "line 3",
                   record="".join(json.dumps(line) + "\n" for line in lines))

    def test_a_record_that_writes_elsewhere(self):
        """Its digests are right: whoever wrote it can compute them."""
        e = self.engine()
        s = e("session.create")["session"]
        self.put(e, s, "abc", b"a")
        lines = [json.loads(line) for line in e("session.export", session=s)["record"].splitlines()]
        head, step = lines
        step["record"] = step["record"].replace("abc", "../b")
        step["step"] = head["head"] = digest("", "file", step["code"], step["record"])
        parts = ["retort.recording.1", head["order"], "1", head["head"]]
        sha = hashlib.sha256()
        for part in parts:
            sha.update(len(part.encode()).to_bytes(8, "big") + part.encode())
        head["check"] = sha.hexdigest()
        self.fails("usage", "replay.run", e, "not a path in the workspace",
                   record="".join(json.dumps(line) + "\n" for line in lines))


class Records(HistoryCase):
    def record(self, *code, **order):
        e = self.engine()
        s = e("session.create", **order)["session"]
        for c in code:
            e.run(s, **c) if isinstance(c, dict) else e.run(s, c)
        path = os.path.join(e.where, "record")
        with open(path, "w", encoding="utf-8") as f:
            f.write(e("session.export", session=s)["record"])
        e.stop()
        return path

    def test_the_same_again(self):
        path = self.record("x = 1", "print(x)", {"code": "1 / 0", "filename": "my.py"},
                           "{'a', 'b'} and x")
        done = harness.retort("replay", path)
        self.assertEqual((done.status, done.out), (0, "replayed: 4 steps\n"), done)

    def test_something_else(self):
        path = self.record("x = 1", "import time; print('x' * 400, time.time_ns())")
        done = harness.retort("replay", "--json", path)
        self.assertEqual(done.status, 1, done)
        result = done.json()
        self.assertEqual((result["outcome"], result["steps"]), ("diverged", 2))
        first = result["first_difference"]
        self.assertEqual((first["number"], first["field"]), (2, "stdout"))
        self.assertNotEqual(first["was"], first["is"])
        self.assertIn("first difference: step", harness.retort("replay", path).out)

    def test_where_the_difference_is(self):
        """By its place in the value; what of a text is not shown is told by an ellipsis."""
        path = self.record("{'é' * 300: 1, 'at': [1, __import__('os').urandom(999).hex()]}")
        first = harness.retort("replay", "--json", path).json()["first_difference"]
        place = 'value["application/json"].at[1]'
        self.assertEqual((first["field"], first["place"]), ("value", place))
        for side in (first["was"], first["is"]):
            self.assertRegex(side, '^"[0-9a-f]{9,}…$')
        self.assertIn(place, harness.retort("replay", path).out)
        path = self.record("print('é' * 300, __import__('os').urandom(999).hex())")
        first = harness.retort("replay", "--json", path).json()["first_difference"]
        for side in (first["was"], first["is"]):
            self.assertRegex(side, "^…é+ [0-9a-f]{9,}…$")
        size = "9 + int.from_bytes(__import__('os').urandom(8)) % 9_999_999"
        path = self.record(f"open('a', 'w').write('1'); __import__('os').truncate(open('b', 'w').name, {size})")
        first = harness.retort("replay", "--json", path).json()["first_difference"]
        self.assertEqual((first["field"], first["place"]), ("files", "files[1].size"), first)

    def test_a_damaged_one_names_the_line(self):
        path = self.record("x = 1", "x = 2", "x = 3")
        with open(path, encoding="utf-8") as f:
            lines = f.readlines()
        bad = {"line 3 of the record: its contents were changed, or damaged":
               lines[:2] + [lines[2].replace("x = 2", "x = 9")] + lines[3:],
               "line 4 of the record: it is missing": lines[:3],
               "line 4 of the record: it is cut": lines[:3] + [lines[3][:-9]],
               "line 1 of the record: it is damaged":
               [lines[0].replace('"steps":3', '"steps":2')] + lines[1:],
               "line 2 of the record": [lines[0]] + lines[2:],
               "line 1 of the record: it is not the beginning of a record": ["hello\n"],
               "it is empty": [],
               "knows 3": [lines[0].replace('"retort_record":1', '"retort_record":4')]}
        for text, content in bad.items():
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(content)
            done = harness.retort("replay", path)
            self.assertEqual((done.status, done.out), (2, ""), (text, done))
            self.assertIn(f"{path}: ", done.err)
            self.assertRegex(done.err, f"{text}.*: (name a file|export it again|use the newer)")
        done = harness.retort("replay", "-", stdin=b"hello\n")
        self.assertIn("standard input: line 1", done.err)

    def test_a_large_one(self):
        """Whatever can be written down can be run again."""
        path = self.record(*["print('y' * 9_900_000)"] * 7)
        self.assertGreater(os.path.getsize(path), 64 << 20)
        done = harness.retort("replay", path)
        self.assertEqual((done.status, done.out), (0, "replayed: 7 steps\n"), done)

    def test_what_is_no_record(self):
        for path in ("/nowhere", "/etc", "/dev/zero"):
            done = harness.retort("replay", path)
            self.assertEqual(done.status, 2, done)
            self.assertIn("session export", done.err)

    def test_one_that_would_write_to_the_host_is_refused(self):
        where = tempfile.mkdtemp(dir=harness.TMP)
        path = self.record("1", volumes=[{"src": where, "dst": "/data", "mode": "rw"}])
        done = harness.retort("replay", path)
        self.assertEqual(done.status, 2, done)
        self.assertIn(where, done.err)


CHANCE = """
import datetime, os, random, secrets, tempfile, time, uuid
for name in "qwerty": open(name, "w").close()
print(hash("abc"), {"a", "b", "c"}, random.random(), uuid.uuid1(), uuid.uuid4(), secrets.token_hex())
print(time.time_ns(), datetime.datetime.now(), time.monotonic_ns(), time.process_time_ns())
print(os.listdir(), os.urandom(5), tempfile.mktemp(), os.environ["RETORT_SESSION"])
try:
    import numpy
    print(numpy.random.rand(), numpy.random.default_rng().random())
except ImportError:
    pass
"""


class Seeded(HistoryCase):
    def test_two_runs_are_the_same_bytes(self):
        for order in ({}, {"fresh": True}, {"preload": ["json", "decimal"]}):
            records = []
            for _ in range(2):
                e = self.engine()
                for _ in range(2):  # by a template that is made; by one that is there, or its standby
                    s = e("session.create", seed=5, **order)["session"]
                    for code in (CHANCE, "time.sleep(0.01)", CHANCE):
                        self.assertEqual(e.run(s, code)["status"], "ok")
                    b = e("session.branch", session=s)["session"]
                    e.run(s, CHANCE)
                    e.run(b, CHANCE)
                    records += [e("session.export", session=x)["record"] for x in (s, b)]
                e.stop()
            self.assertEqual(len(set(records)), 1, order)
            s = None

    def test_another_seed_and_none(self):
        e = self.engine()
        out = set()
        for order in ({"seed": 1}, {"seed": 2}, {}, {}):
            out.add(e.run(e("session.create", **order)["session"], CHANCE)["stdout"])
        self.assertEqual(len(out), 4)

    def test_it_is_replayed_after_a_kill(self):
        e = self.engine()
        s = e("session.create", seed=9)["session"]
        for _ in range(3):
            e.run(s, CHANCE)
        e = self.again(e)
        self.assertEqual(e.run(s, CHANCE)["state"]["outcome"], "replayed")


class Refused(HistoryCase):
    def test_what_there_is_not(self):
        e = self.engine()
        s = e("session.create", name="work")["session"]
        e.run(s, "1")
        for method in ("session.get", "session.branch", "session.undo", "session.log",
                       "session.export", "session.close", "file.list", "step.interrupt"):
            for name in ("s-none", "nobody", "s-", "s-0", "'; drop"):
                self.fails("not_found", method, e, name, session=name)
        self.fails("runtime", "step.run", e, "cobol", session=s, code="1", runtime="cobol")
        self.fails("usage", "session.undo", e, "the session has 1", session=s, count=2)
        self.fails("usage", "session.undo", e, "zzzz", session=s, to="zzzz")
        self.fails("not_found", "session.undo", e, "12345678", session=s, to="12345678")
        for name in ("a\x01", "a" * 64, "a b", "a/b", "s-x", "a\x85", "\x1b[31m", "work"):
            for method, params in (("session.create", {}), ("session.branch", {"session": s})):
                self.fails("usage", method, e, name=name, **params)
        self.assertEqual(len(e("session.list")["sessions"]), 1)

    def test_a_closed_session(self):
        e = self.engine()
        s = e("session.create", name="work")["session"]
        e.run(s, "1")
        e("session.close", session="work")
        for method, params in (("step.run", {"code": "1"}), ("session.branch", {}), ("session.undo", {})):
            self.fails("gone", method, e, "is closed", session=s, **params)
        self.assertEqual(e("session.get", session=s)["state"], "closed")
        self.assertEqual(codes(e("session.log", session=s)), ["1"])
        for method in ("session.get", "session.log", "session.undo", "session.close"):
            why = self.fails("not_found", method, e, f"no session work any more: {s} had that name, and is closed",
                             session="work")
            self.assertIn(f"`session.log {s}`", why.hint)
        new = e("session.create", name="work")["session"]
        self.assertEqual(e("session.get", session="work")["session"], new)
        self.fails("not_found", "session.get", e, "no session works", session="works")

    def test_the_root_is_a_checkpoint_too(self):
        e = self.engine()
        s = e("session.create")["session"]
        root = e.run(s, "x = 1")["state"]["checkpoint"]
        self.assertEqual(root, "c-root")
        self.assertEqual(e("session.undo", session=s, to=root)["head"], "")
        self.assertEqual(e.run(s, "x")["status"], "error")

    def test_another_sessions_step(self):
        e = self.engine()
        a, b = (e("session.create")["session"] for _ in range(2))
        step = e.run(a, "1")["step"]
        self.fails("usage", "session.undo", e, "not in the session's past", session=b, to=step)


class Damaged(HistoryCase):
    def setUp(self):
        super().setUp()
        self.old = self.engine()
        self.session = self.old("session.create")["session"]
        for i in range(5):
            self.old.run(self.session, f"x = {i}, 'a text to be found {i}'")
        self.old.stop()
        self.db = os.path.join(self.old.state, "journal.db")

    def refused(self, where=None):
        try:
            with Engine(where or self.old.where) as e:
                e("session.log", session=self.session)
        except (RuntimeError, Failed) as error:
            return str(error)
        return ""

    def test_a_changed_byte_is_named(self):
        with open(self.db, "rb") as f:
            data = f.read()
        at = data.index(b"a text to be found 3")
        with open(self.db, "r+b") as f:
            f.seek(at)
            f.write(b"A")
        self.assertRegex(self.refused(), rf"page {at // 4096 + 1}\b")
        with Engine(self.old.where) as e:
            self.assertEqual([x["state"] for x in e("session.list")["sessions"]], ["damaged"])
            for method, params in (("step.run", {"code": "x"}), ("session.log", {}), ("session.branch", {}),
                                   ("session.export", {}), ("session.undo", {"count": 2})):
                why = self.fails("damaged", method, e, f"page {at // 4096 + 1} ", session=self.session, **params)
                self.assertRegex(str(why), "^step ([0-9a-f]{64}|number [0-9]+): ", method)
                self.assertIn("from a copy; sessions", why.hint)
        with open(self.db, "wb") as f:
            f.write(data)
        self.assertEqual(self.refused(), "")

    def test_a_changed_byte_costs_one_session_alone(self):
        """What cannot be read is told to each who asks for it; the engine goes on."""
        e = self.engine(self.old.where)
        for _ in range(2):
            e.run(self.session, f"'another text to be found {random.randbytes(8000).hex()}'")
        e.stop()
        with open(self.db, "r+b") as f:
            at = f.read().index(b"another text to be found")
            f.seek(at)
            f.write(b"A")
        e = self.engine(self.old.where)
        self.assertEqual([x["state"] for x in e("session.list")["sessions"]], ["stored"])
        for method, params in (("session.export", {}), ("session.log", {}), ("step.run", {"code": "x"}),
                               ("session.branch", {}), ("session.undo", {"count": 1}), ("session.export", {})):
            self.fails("damaged", method, e, f"page {at // 4096 + 1} ", session=self.session, **params)
        other = e("session.create")["session"]
        e.run(other, "1")
        self.assertIn("retort_record", e("session.export", session=other)["record"])

    def test_a_changed_byte_after_a_kill_is_told_with_what_to_do(self):
        e = self.engine(self.old.where)
        for i in range(2):
            e.run(self.session, f"'said before the kill {i}'")
        e.kill()
        log = self.db + "-wal"
        with open(log, "r+b") as f:
            at = f.read().rindex(b"said before the kill 1")
            f.seek(at)
            f.write(b"S")
        self.assertRegex(self.refused(), r"journal\.db-wal: change 9 is incomplete: 1 change is missing: copy [^ ]*/state "
                         r"first; then remove its journal\.head, and the engine goes on from change 8")
        os.unlink(os.path.join(self.old.state, "journal.head"))
        with Engine(self.old.where) as e:
            self.assertEqual(len(codes(e("session.log", session=self.session))), 6)

    def test_cut_newer_and_no_journal(self):
        with open(self.db, "rb") as f:
            data = f.read()
        newer = data[:60] + (99).to_bytes(4, "big") + data[64:]
        for content, text in ((data[:-4096], "journal"), (data[:50], "journal"), (b"", "journal"),
                              (newer, "version 99"), (b"no database " * 500, "journal")):
            with open(self.db, "wb") as f:
                f.write(content)
            self.assertIn(text, self.refused())
            with open(self.db, "rb") as f:
                self.assertEqual(f.read(), content, "it is left as it was found")

    def test_two_engines(self):
        with Engine(self.old.where) as first:
            done = harness.retort("serve", "--socket", os.path.join(first.where, "other"),
                                  "--state", first.state)
            self.assertNotEqual(done.status, 0)
            self.assertIn(str(first.process.pid), done.err)
            self.assertEqual(len(codes(first("session.log", session=self.session))), 5)

    @harness.unittest.skipIf(harness.IS_ROOT, "root may write anywhere")
    def test_read_only_and_not_ours(self):
        os.chmod(self.old.state, 0o500)
        os.chmod(self.db, 0o400)
        self.assertIn("journal", self.refused())
        os.chmod(self.old.state, 0)
        self.assertIn(self.old.state, self.refused())
        os.chmod(self.old.state, 0o700)
        os.chmod(self.db, 0o600)
        self.assertEqual(self.refused(), "")
        with self.assertRaises(RuntimeError):
            Engine(self.old.where, "--state", "/root/nowhere")

    def test_a_file_that_may_not_grow(self):
        e = self.engine(self.old.where)
        pid, (soft, hard) = e.process.pid, resource.prlimit(e.process.pid, resource.RLIMIT_FSIZE)
        kept = len(e("session.log", session=self.session)["steps"])
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (200000, hard))
        with self.assertRaises(Failed) as caught:
            for i in range(400):
                e.run(self.session, f"x = {i} #{random.randbytes(1500).hex()}")
                kept += 1
        self.assertEqual(caught.exception.code, "no_space", caught.exception)
        self.fails("no_space", "step.run", e, session=self.session, code=f"x = 1000 #{random.randbytes(1500).hex()}")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1000, hard))
        for back in (1, 6):  # from a checkpoint; by running the steps again
            self.fails("no_space", "session.undo", e, session=self.session, count=back)
        self.fails("no_space", "session.close", e, session=self.session)
        self.assertEqual(len(e("session.log", session=self.session)["steps"]), kept, "nothing is undone")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        record = e.run(self.session, "x + 1")
        self.assertEqual((record["value"]["application/json"], record["state"]["outcome"]), (i, "committed"),
                         "what could not be written down has not been done")
        e = self.again(e)
        self.assertEqual(len(e("session.log", session=self.session)["steps"]), kept + 1)

    @harness.needs_root("only root can mount")
    def test_a_full_disk_and_a_read_only_one(self):
        where = tempfile.mkdtemp(dir=harness.TMP)
        state = os.path.join(where, "state")
        os.mkdir(state)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k,mode=700", "none", state],
                          check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", state], check=False)
        e = self.engine(where)
        s = e("session.create")["session"]
        kept = []
        with self.assertRaises(Failed) as caught:
            for i in range(400):
                kept.append(e.run(s, f"x = {i} #{random.randbytes(1500).hex()}")["step"])
        self.assertEqual(caught.exception.code, "no_space", caught.exception)
        self.assertGreater(len(kept), 5)
        last = len(kept) - 1
        self.fails("no_space", "step.run", e, session=s, code=f"x = 1000 #{random.randbytes(1500).hex()}")
        self.fails("no_space", "file.write", e, session=s, path="a", content=random.randbytes(20000).hex())
        subprocess.run(["mount", "-o", "remount,size=2m", state], check=True)
        record = e.run(s, "import os; x, os.listdir()")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]),
                         (f"({last}, [])", "committed"), "what could not be kept is taken back")
        kept.append(record["step"])
        e = self.again(e)
        self.assertEqual([x["step"] for x in e("session.log", session=s)["steps"]], kept[::-1])
        e.kill()
        subprocess.run(["mount", "-o", "remount,ro", state], check=True)
        self.assertIn("journal", self.refused(where))


if __name__ == "__main__":
    harness.main()
