# SPDX-License-Identifier: Apache-2.0
"""Python, JavaScript, SQL and a shell in one session: what becomes of the state of each."""

import errno
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"
NAMES = ("python", "javascript", "sql", "shell")

# Per runtime: the state n, how it is set to a number, and how it is read.
MAKE = {"python": "n = 1", "javascript": "let n = 1", "shell": "n=1",
        "sql": "CREATE TABLE t(n); INSERT INTO t VALUES (1)"}
SET = {"python": "n = %d", "javascript": "n = %d", "shell": "n=%d", "sql": "UPDATE t SET n = %d"}
SPIN = {"python": "while True: pass", "javascript": "for (;;);", "shell": "while :; do :; done",
        "sql": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"}
SAY = {"python": "print('on', flush=True)", "javascript": "console.log('on');", "shell": "echo on", "sql": "SELECT 'on';"}
DIE = {"python": "import os; os.kill(os.getpid(), 9)", "javascript": "process.kill(process.pid, 'SIGKILL')",
       "shell": "kill -9 $$"}
FILL = {"disk_bytes": """
with open("big", "wb", 0) as f:
    for size in 1 << 16, 1 << 12:
        try:
            while True: f.write(b"x" * size)
        except OSError as error: full = error.errno
""", "disk_inodes": """
try:
    for i in range(10000): open(f"f{i}", "w").close()
except OSError as error: full = error.errno
"""}
HOG = {"python": "b = bytearray(1 << 30)", "shell": "x=$(head -c 600000000 /dev/zero | tr '\\0' x)",
       "javascript": "let b = []; for (;;) b.push(Buffer.alloc(1 << 22, 1))",
       "sql": "CREATE TEMP TABLE b AS WITH RECURSIVE c(x) AS (SELECT zeroblob(4000000) UNION ALL "
              "SELECT zeroblob(4000000 + length(x) % 7) FROM c) SELECT x FROM c"}


def get(session, name):
    if name == "shell":
        return session.run("echo $n", runtime=name)["stdout"].strip()
    if name == "sql":
        record = session.run("SELECT n FROM t", runtime=name)
        return str(record["value"]["application/json"]["rows"][0][0]) if record["status"] == "ok" else record["error"]
    return session.value("n", runtime=name)


def text(record):
    return record["stdout"].strip()


@harness.needs_shell_or_sql
class Runtimes(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()
        cls.addClassCleanup(lambda: cls.engine.stop())

    def session(self, make=True, **params):
        session = self.engine.session(**params)
        for name in NAMES if make else ():
            self.assertEqual(session.run(MAKE[name], runtime=name)["status"], "ok")
        return session

    def state(self, session):
        return [get(session, name) for name in NAMES]

    def test_one_workspace_and_one_shape(self):
        s = self.session(make=False)
        records = [s.run("open('a.csv', 'w').write('x,y\\n1,2\\n'); 1", runtime="python"),
                   s.run("SELECT y FROM a", runtime="sql"),
                   s.run("require('fs').readFileSync('a.csv', 'utf8').length", runtime="javascript"),
                   s.run("wc -l < a.csv; echo more >&2", runtime="shell")]
        for record in records:
            self.assertEqual((record.keys() ^ records[0].keys()) - {"value"}, set(), record["runtime"])
            self.assertEqual((record["status"], record["state"]["outcome"], record["state"]["reason"]),
                             ("ok", "committed", None))
        self.assertEqual(records[1]["value"]["application/json"]["rows"], [[2]])
        self.assertEqual(records[2]["value"]["application/json"], 8)
        self.assertEqual((text(records[3]), records[3]["stderr"]), ("2", "more\n"))

    def test_each_knows_its_session(self):
        s = self.session(make=False)
        for one in s, service.Session(self.engine, self.engine.call("session.branch", session=s.id)):
            self.assertEqual(one.value("import os; os.environ['RETORT_SESSION']"), repr(one.id))
            self.assertEqual(one.value("process.env.RETORT_SESSION", runtime="javascript"), repr(one.id))
            self.assertEqual(text(one.run("echo $RETORT_SESSION", runtime="shell")), one.id)

    def test_a_step_that_does_not_end(self):
        s = self.session()
        for name in NAMES:
            # Without a value, so that SQL cannot do both in one.
            record = s.run((SET[name] % 5) + ";\n" + SPIN[name], runtime=name, timeout_ms=400)
            self.assertEqual((record["status"], record["state"]["outcome"]), ("timeout", "rolled_back"), name)
            self.assertEqual(self.state(s), ["1"] * 4, name)

    def test_a_step_that_kills_itself(self):
        s = self.session()
        for name in DIE:
            record = s.run((SET[name] % 5) + "\n" + DIE[name], runtime=name)
            self.assertEqual((record["status"], record["signal"], record["state"]["outcome"]),
                             ("killed", 9, "rolled_back"), name)
            self.assertEqual(self.state(s), ["1"] * 4, name)

    @harness.as_each
    def test_a_step_that_wants_too_much_memory(self):
        s = self.session(limits={"memory_bytes": 256 << 20})
        for name in NAMES:
            record = s.run((SET[name] % 5) + ";\n" + HOG[name], runtime=name, timeout_ms=20000)
            self.assertNotEqual(record["status"], "ok", name)
            if record["state"]["outcome"] == "committed":  # refused as an error of the language
                s.undo()
            self.assertEqual(self.state(s), ["1"] * 4, name)

    def test_the_processes_of_a_failed_step_are_gone_and_the_others_not(self):
        s = self.session(make=False)
        old = text(s.run("sleep 300 & echo $!", runtime="shell"))
        s.run("import subprocess; p = subprocess.Popen(['sleep', '301'])")
        s.run("sleep 302 & sleep 303", runtime="shell", timeout_ms=300)
        self.assertEqual(text(s.run("pgrep -a sleep | cut -d' ' -f3 | sort; jobs -p", runtime="shell")).split()[:2],
                         ["300", "301"])
        s.run("subprocess.Popen(['sleep', '304']); os._exit(1) if 'os' in globals() else __import__('os').abort()")
        seen = text(s.run("pgrep -a sleep", runtime="shell")).splitlines()
        self.assertEqual(sorted(line.split()[2] for line in seen), ["300", "301"])
        self.assertIn(f"{old} sleep 300", seen)

    def test_jobs_hear_nothing_of_a_rollback(self):
        """A group of processes that stand still is sent SIGHUP when it loses its last tie to its session."""
        session = self.session(limits={"pids": 500})
        session.run("sleep 1001 & set -m; sleep 1002 & sleep 1003 | sleep 1004 & set +m", runtime="shell")
        session.run("import subprocess\nfor g in (0, None): subprocess.Popen(['sleep', '1005'], process_group=g)")
        session.run("require('child_process').spawn('sleep', ['1006']); 0", runtime="javascript")
        many = {"shell": "for i in {1..300}; do sleep 99 & done; wait",
                "python": "for i in range(60): subprocess.Popen(['sleep', '99'])\nwhile True: pass",
                "javascript": "for (let i = 0; i < 20; i++) require('child_process').spawn('sleep', ['99']); for (;;);"}
        for name in "shell", "python", "shell", "python", "javascript":
            record = session.run(many[name], runtime=name, timeout_ms=1000)
            self.assertEqual((record["status"], record["state"]["outcome"]), ("timeout", "rolled_back"), record)
            left = session.value("subprocess.getoutput('ps -eo args= | grep ^sleep | sort').split()")
            expected = [w for n in (1001, 1002, 1003, 1004, 1005, 1005, 1006) for w in ("sleep", str(n))]
            self.assertEqual(left, str(expected), name)

    def test_undo_takes_all_back_to_the_step(self):
        s = self.session()
        s.run("n=2; echo two > f; sleep 400 &", runtime="shell")
        for name in "python", "javascript":
            s.run(SET[name] % 2, runtime=name)
        s.run("UPDATE t SET n = 2", runtime="sql")
        self.assertEqual(s.undo(count=1)["outcome"], "rolled_back")
        self.assertEqual(self.state(s), ["2", "2", "1", "2"])
        s.run("n = 3")
        s.run("n=3", runtime="shell")
        self.assertEqual(s.undo(count=2)["outcome"], "rolled_back")
        self.assertEqual([get(s, "python"), get(s, "shell")], ["2", "2"])

    def test_undo_in_one_leaves_the_others_alive(self):
        s = self.session()
        job = text(s.run("sleep 500 & echo $!", runtime="shell"))
        pid = s.value("process.pid", runtime="javascript")
        s.run("n = 2")
        s.undo()
        self.assertEqual(s.value("n"), "1")
        self.assertEqual(text(s.run("jobs -p", runtime="shell")), job)
        self.assertEqual(s.value("process.pid", runtime="javascript"), pid)

    def test_undo_past_the_checkpoints_replays(self):
        s = self.session()
        for i in range(2, 8):
            s.run("n=%d" % i, runtime="shell")
        self.assertEqual(s.undo(count=6)["outcome"], "replayed")
        self.assertEqual(self.state(s), ["1"] * 4)

    def test_branches_and_branches_of_branches(self):
        s = self.session()
        b = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        record = b.run("n", runtime="javascript")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("1", "replayed"))
        for name in NAMES:
            b.run(SET[name] % 2, runtime=name)
        bb = service.Session(self.engine, self.engine.call("session.branch", session=b.id))
        self.assertEqual(self.state(bb), ["2"] * 4)
        for name in NAMES:
            bb.run(SET[name] % 3, runtime=name)
        self.assertEqual(self.state(s), ["1"] * 4)
        self.assertEqual(self.state(b), ["2"] * 4)
        record = bb.run("n=9; kill -9 $$", runtime="shell")
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        bb.undo()
        self.assertEqual(self.state(bb), ["3", "3", "3", "2"])

    def test_sessions_without_python(self):
        for name in "javascript", "sql", "shell":
            s = self.engine.session(runtime=name)
            s.run(MAKE[name])
            b = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
            b.run(SET[name] % 2)
            self.assertEqual((get(s, name), get(b, name)), ("1", "2"), name)
            b.undo(count=2)  # reading it is a step, too
            self.assertEqual(get(b, name), "1", name)
            record = b.run((SET[name] % 5) + ";\n" + SPIN[name], timeout_ms=400)
            self.assertEqual(record["state"]["outcome"], "rolled_back")
            self.assertEqual(get(b, name), "1", name)
            # A first step of Python that fails leaves no Python behind.
            self.assertEqual(b.run("n = 1; import os; os.abort()", runtime="python")["state"]["outcome"], "rolled_back")
            self.assertEqual(b.run("n", runtime="python")["error"]["name"], "NameError")

    @harness.as_each
    def test_a_full_disk_costs_no_state(self):
        for limit, value in ("disk_bytes", 8 << 20), ("disk_inodes", 100):
            session = self.session(limits={limit: value})
            session.run(FILL[limit])
            self.assertEqual(session.value("full"), str(errno.ENOSPC))
            for name in NAMES:
                self.assertEqual(session.run(SPIN[name], runtime=name, timeout_ms=400)["status"], "timeout")
                session.run(FILL[limit])  # what the driver that has ended had
                state = [get(session, n) for n in NAMES if n != name]
                self.assertEqual(state, ["1"] * 3, (limit, name))
                if (limit, name) == ("disk_inodes", "shell"):  # it begins where the others' files are
                    record = session.run("n=2; echo ran", runtime=name)
                    self.assertEqual((record["error"]["name"], record["stdout"]), ("DiskError", ""), record)
                    self.assertIn("remove something", record["stderr"])
            session.run("import os\nfor name in os.listdir(): os.path.isfile(name) and name[0] in 'bf' and os.remove(name)")
            self.assertEqual(self.state(session), ["1"] * 4, limit)

    def test_replaying_javascript_changes_no_file(self):
        s = self.session(make=False)
        s.run("let n = 7; require('fs').writeFileSync('f', 'old')", runtime="javascript")
        s.run("open('f', 'w').write('new'); open('g', 'w').write('g')")
        s.run("process.exit(3)", runtime="javascript")
        record = s.run("n", runtime="javascript")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("7", "replayed"))
        self.assertEqual(record["files"], [])
        self.assertEqual(s.value("open('f').read() + open('g').read()"), "'newg'")

    def test_what_a_replay_changes_and_cannot_put_back_is_named(self):
        data = harness.make_dir()
        os.chmod(data, 0o777)
        add = "require('fs').appendFileSync('%s', 'x')"
        s = self.session(make=False, runtime="javascript", volumes=[{"src": data, "dst": "/v", "mode": "rw"}])
        s.run("let n = 7; " + add % "/v/log")
        s.run(add % "/tmp/log")
        s.run(add % "log")
        s.run("require('fs').writeFileSync('/tmp/once', '1'); require('fs').unlinkSync('/tmp/once')")
        one = s
        for again in ("rollback", "rollback", "branch", "parent", "quiet"):
            time.sleep(0.05)
            if again in ("branch", "quiet"):
                one = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
                self.addCleanup(one.close)
            elif again == "parent":
                one = s
            else:
                self.assertNotIn("files_lost", one.run("n = 8; process.exit(1)"))
            record = one.run("n")
            self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("7", "replayed"), again)
            self.assertEqual(record["files_lost"], ["/tmp/log", "/v/log"], again)
            self.assertNotIn("files_lost", one.run("n"), "it is told once")
            self.assertEqual(one.value("open('log').read()", runtime="python"), "'x'")
        with open(os.path.join(data, "log"), encoding="ascii") as f:
            self.assertEqual(f.read(), "x" * 6, "each of them has written it")
        quiet = self.session(make=False, runtime="javascript", volumes=[{"src": data, "dst": "/v", "mode": "rw"}])
        for code in ("let n = 7; require('fs').readFileSync('/v/log')", "require('fs').writeFileSync('f', '1')", "n = 8", "process.exit(1)"):
            quiet.run(code)
        record = quiet.run("n")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("8", "replayed"))
        self.assertNotIn("files_lost", record, "nothing was changed")
        one = service.Session(self.engine, self.engine.call("session.branch", session=quiet.id))
        self.addCleanup(one.close)
        self.assertNotIn("files_lost", one.run("n"), "nor here")

    def test_a_shell_has_its_limits_again(self):
        s = self.session(make=False, runtime="shell")
        ask = "ulimit -n; ulimit -Hn; ulimit -v"
        s.run("ulimit -n 100; ulimit -Sn 90; ulimit -v 9000000")
        for way in ("killed", "exit", "branch"):
            if way == "branch":
                s = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
                self.addCleanup(s.close)
            else:
                s.run("ulimit -n 80; kill -9 $$" if way == "killed" else "ulimit -Sn 90; exit 3")
            self.assertEqual(text(s.run(ask)).split(), ["90", "100", "9000000"], way)

    def test_what_a_shell_that_is_started_anew_lacks_is_told(self):
        big = "x=$(head -c %d /dev/zero | tr '\\0' a); n=2"
        for made, lacks in (("exec 7<>/tmp/f", "1 open descriptor"), (big % 3000000, "1 large variable"),
                            (big % 20000000, "all of its state, which was too large"),
                            ("mkdir d; cd d; rm -rf ../d", "its directory, which was gone"),
                            ("mkdir d; cd d; rm -rf ../d; exec 7<>/tmp/f 8<&7", "2 open descriptors, its directory, which was gone")):
            s = self.session(make=False, runtime="shell")
            s.run("n=1")
            s.run(made)
            branch = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
            self.addCleanup(branch.close)
            self.assertIn("not kept of the shell: " + lacks, s.run("pwd")["state"]["notice"], "it is a branch, too")
            self.assertNotIn("notice", s.run("n=3; kill -9 $$")["state"], "it has been told, and there is nothing else")
            record = branch.run("1", runtime="python")
            self.assertNotIn("notice", record["state"], "it is not the shell's")
            record = branch.run("pwd; echo $n")
            self.assertEqual(record["state"]["notice"], "not kept of the shell: " + lacks)
            if "variable" not in lacks and "all" not in lacks:
                self.assertEqual(text(record).split(), ["/home/user", "1"], made)
            s = self.session(make=False, runtime="shell")
            s.run("n=1")
            s.run(made)
            record = s.run("n=3; kill -9 $$")
            self.assertEqual((record["state"]["outcome"], record["state"]["notice"]),
                             ("rolled_back", "not kept of the shell: " + lacks))
            record = s.run("pwd; echo ${n-none} ${#x}")
            self.assertNotIn("notice", record["state"])
            want = {"1 l": ["/home/user", "2", "0"], "all": ["/home/user", "none", "0"]}.get(lacks[:3], ["/home/user", "1", "0"])
            self.assertEqual(text(record).split(), want, "and nothing older: " + made)
            s = self.session(make=False, runtime="shell")
            s.run(made)
            s.run("cd /tmp")
            s.undo()
            self.assertEqual(s.run("pwd")["state"]["notice"], "not kept of the shell: " + lacks)

    def test_a_database_too_large_to_be_put_back(self):
        s = self.session(make=False)
        s.run("CREATE TABLE t(n, b); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 24) "
              "INSERT INTO t SELECT x, zeroblob(1 << 20) FROM c", runtime="sql")
        record = s.run("PRAGMA cache_size = 10; UPDATE t SET n = 0, b = randomblob(1 << 20); " + SPIN["sql"],
                       runtime="sql", timeout_ms=1500)
        self.assertEqual(record["state"]["outcome"], "rolled_back")
        record = s.run("SELECT count(*), sum(n), sum(length(b)) >> 20 FROM t", runtime="sql")
        self.assertEqual(record["value"]["application/json"]["rows"], [[24, 300, 24]])

    def test_javascript_that_does_not_come_out_the_same(self):
        s = self.session(make=False)
        s.run("let t = process.hrtime.bigint(); String(t)", runtime="javascript")
        s.run("process.exit(3)", runtime="javascript")
        record = s.run("1", runtime="javascript")
        self.assertEqual(record["state"]["outcome"], "diverged")
        self.assertRegex(record["state"]["reason"], r'^step [0-9a-f]{12}: value\["application/json"\]: .* was ')

    def test_a_driver_that_dies_between_steps(self):
        s = self.session()
        s.run("import os, time\nif os.fork() == 0:\n  time.sleep(.2)\n  os.kill(os.getppid(), 9)\n  os._exit(0)")
        s.run("(sleep .2; kill -9 $PPID) & n=2", runtime="shell")
        s.run("n = 2; setTimeout(() => process.abort(), 200); 0", runtime="javascript")
        time.sleep(0.6)
        self.assertEqual(self.state(s), ["1", "2", "1", "2"])

    def test_a_box_that_ends_while_files_are_put_back(self):
        s = self.session(make=False, fresh=True)
        s.run("let n = 7; require('fs').writeFileSync('f', 'old'); "
              "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500); 0", runtime="javascript")
        s.run("open('f', 'w').write('new'); open('g', 'w').write('g')")
        s.run("process.exit(3)", runtime="javascript")
        init, = rpc.inits_of(self.engine.process.pid, s.id)
        call = self.engine.client.send("step.run", session=s.id, code="n", runtime="javascript")
        time.sleep(0.3)
        os.kill(init, signal.SIGSTOP)  # the step goes on, and nobody puts the files back
        time.sleep(1)
        os.kill(init, signal.SIGKILL)
        with self.assertRaises(service.Refused):
            self.engine.client.receive(call)
        self.assertEqual(s.value("n", runtime="javascript"), "7")
        self.assertEqual(s.value("open('f').read() + open('g').read()"), "'newg'")

    def test_standard_input_of_a_step(self):
        s = self.session(make=False)
        read = {"python": "import sys; sys.stdin.read()", "javascript": "require('fs').readFileSync(0, 'utf8')"}
        for name, code in read.items():
            self.assertEqual(s.value(code, runtime=name, stdin="a\nb\n"), "'a\\nb\\n'")
            self.assertEqual(s.value(code, runtime=name), "''")
            self.assertEqual(s.value(code, runtime=name, stdin="c"), "'c'")
        self.assertEqual(s.run("read x; cat; echo $x", runtime="shell", stdin="a\nb\n")["stdout"], "b\na\n")
        self.assertEqual(s.run("cat", runtime="shell")["stdout"], "")
        self.assertEqual(s.value("input()", stdin="left\nover\n"), "'left'")
        self.assertEqual(s.run("input()")["error"]["name"], "EOFError")
        self.assertEqual(s.run("SELECT 1", runtime="sql", stdin="x")["status"], "ok")

    def test_interrupt(self):
        s = self.session()
        for name in NAMES:
            other = self.engine.connect()
            number = s.engine.client.send("step.run", session=s.id, code=SPIN[name], runtime=name)
            time.sleep(0.4)
            other.call("step.interrupt", session=s.id)
            record = s.engine.client.receive(number)
            other.close()
            self.assertIn(record["error"]["name"], ("Interrupted", "KeyboardInterrupt"), name)
        self.assertEqual(self.state(s), ["1"] * 4)

    def test_interrupt_at_once(self):
        """One that comes before the code runs is not lost, so that the step would have to be killed for it."""
        thread = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
        for name, first in [(name, SAY[name]) for name in NAMES] + [("python", thread)]:
            s = self.session(make=False, runtime=name)
            for nap_s in [0, 0.02] * 10:
                record = s.run(first)
                self.assertEqual(record["status"], "ok", record)
                time.sleep(nap_s)  # its checkpoint is being made, or is there
                number = s.engine.client.send("step.run", session=s.id, code=SAY[name] + "\n" + SPIN[name])
                s.engine.client.receive(s.engine.client.send("step.interrupt", session=s.id))
                record = s.engine.client.receive(number)
                self.assertEqual(record["status"], "killed")
                if record["state"]["outcome"] != "committed":  # it was never sent
                    self.assertEqual((record["state"]["outcome"], record["stdout"], record["displays"]),
                                     ("rolled_back", "", []), record)

    def test_interrupt_while_a_state_is_made_again(self):
        """It ends the call that waits for that, no step of before: the next call finds what there was."""
        data = harness.make_dir()
        os.chmod(data, 0o777)
        s = self.session(make=False, runtime="javascript", volumes=[{"src": data, "dst": "/v", "mode": "rw"}])
        s.run("let x = 41; if (!require('fs').existsSync('/v/f')) require('fs').writeFileSync('/v/f', '1');"
              "else if (!require('fs').existsSync('/v/g')) require('fs').writeFileSync('/v/g', '1');"
              "await new Promise((r) => setTimeout(r, 1500)); 0")
        s.run("while (true);", timeout_ms=200)  # node ends with it
        number = s.engine.client.send("step.run", session=s.id, code="x = 0")
        time.sleep(0.4)
        s.engine.client.receive(s.engine.client.send("step.interrupt", session=s.id))
        with self.assertRaises(service.Refused) as refused:
            s.engine.client.receive(number)
        self.assertIn("rebuilt", str(refused.exception))
        self.assertIn("run the step again", refused.exception.hint)
        record = s.run("x + 1")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("42", "replayed"), record)
        self.assertEqual(record["files_lost"], ["/v/g", "/v"], "by the first of the two")

    def test_completion_gives_last_parts(self):
        s = self.session(make=False)
        s.run("import os.path")
        s.run("let apple = {core: 1, cord: 2}", runtime="javascript")
        s.run("CREATE TABLE people(age, agency)", runtime="sql")
        s.run("var_one=1", runtime="shell")
        for name, start, want in (("python", "x = os.path.isab", ["isabs"]), ("javascript", "1 + apple.cor", ["cord", "core"]),
                                  ("sql", "SELECT people.ag", ["age", "agency"]), ("shell", "echo ${var_o", ["var_one"])):
            self.assertEqual(self.engine.call("step.complete", session=s.id, text=start, runtime=name)["names"], want)

    def test_completion_first_does_not_lose_the_state(self):
        s = self.session()
        b = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        for name in NAMES:
            self.engine.call("step.complete", session=b.id, text="n", runtime=name)
        self.assertEqual(self.state(b), ["1"] * 4)


@harness.as_each
@harness.needs_shell_or_sql
class Restart(harness.Case):
    def killed_after(self, *steps, **params):
        """A session that has run @steps, (code, runtime), in an engine that has begun anew."""
        state = os.path.join(harness.make_dir(), "state")
        engine = service.Engine(state=state)
        s = engine.session(**params)
        for code, name in steps:
            s.run(code, runtime=name)
        engine.process.send_signal(signal.SIGKILL)
        engine.process.wait()
        engine.stop()
        engine = service.Engine(state=state)
        self.addCleanup(engine.stop)
        return service.Session(engine, {"session": s.id})

    def test_all_are_replayed(self):
        s = self.killed_after(*[(code, name) for name in NAMES for code in (MAKE[name], SET[name] % 2)])
        first = s.run("echo $n", runtime="shell")
        self.assertEqual((text(first), first["state"]["outcome"]), ("2", "replayed"))
        self.assertEqual([get(s, name) for name in NAMES], ["2"] * 4)

    def test_the_hosts_files_that_they_may_have_changed_are_named(self):
        data = harness.make_dir()
        os.chmod(data, 0o777)
        place = harness.make_dir()
        os.chmod(place, 0o777)
        s = self.killed_after(("open('/v/log', 'a').write('x')", "python"), workspace=place,
                              volumes=[{"src": data, "dst": "/v", "mode": "rw"}])
        record = s.run("open('/v/log').read()")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("'xx'", "replayed"))
        self.assertEqual(record["files_lost"], [".", "/v"])
        self.assertNotIn("files_lost", s.run("1"))

    def test_interrupt_while_a_session_is_opened_again(self):
        s = self.killed_after(("import time; x = 41; time.sleep(1.5)", "python"))
        engine = s.engine
        number = engine.client.send("step.run", session=s.id, code="x = 0")
        time.sleep(0.7)
        engine.client.receive(engine.client.send("step.interrupt", session=s.id))
        with self.assertRaises(service.Refused) as refused:
            engine.client.receive(number)
        self.assertIn("rebuilt", str(refused.exception))
        self.assertEqual([row["session"] for row in engine.call("session.list")["sessions"]], [s.id])
        record = s.run("x + 1")
        self.assertEqual((record["value"]["text/plain"], record["state"]["outcome"]), ("42", "replayed"))


if __name__ == "__main__":
    harness.main()
