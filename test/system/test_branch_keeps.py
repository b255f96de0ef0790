# SPDX-License-Identifier: Apache-2.0
"""`keep_processes`: what a session left running goes on in it when it is branched, and the branch lacks it."""

import concurrent.futures
import contextlib
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402
import test_branches  # noqa: E402
import test_repl as repl  # noqa: E402
import test_session  # noqa: E402
from test_mcp import Mcp  # noqa: E402

SERVER = """
import os, subprocess, sys, time, urllib.request
def serve(port):
    return subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
                            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def get(port=8000):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/page", timeout=20) as answer:
        return answer.read().decode()
def await_(done):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            return done()
        except OSError:
            time.sleep(0.01)
    return done()
with open("page", "w") as f: f.write("hello")
x, p = 3, serve(8000)
await_(get)
"""
SLEEPER = "import subprocess; p = subprocess.Popen(['sleep', '600']); x = 3"
# What tells of each SIGCONT that it gets.
COUNTER = """
import os, signal, subprocess, sys
code = '''
import signal, time
f = open("continued", "ab", buffering=0)
signal.signal(signal.SIGCONT, lambda *_: f.write(b"c"))
print("up", flush=True)
while True: time.sleep(0.05)
'''
q = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
q.stdout.readline()
"""


class Case(test_branches.Case):
    def serving(self):
        session = self.create()
        self.assertEqual(self.run_(session, SERVER)["status"], "ok")
        return session

    def keep(self, session):
        """Branch it, keeping the one process that it has."""
        said = self.client("session.branch", session=session, keep_processes=True)
        self.addCleanup(self.close, said["session"])
        self.assertEqual(said["processes_left"], 1)
        return said["session"]

    def goes_on(self, session, x=3):
        self.assertEqual(self.value(session, "get(), p.pid, x"), f"('hello', {self.pid}, {x})")

    def started(self):
        session = self.serving()
        self.pid = self.value(session, "p.pid")
        return session

    def on_host(self, mark, pid):
        """The pid on the host of the process that is @pid in the box in which `sleep MARK` runs."""
        known = rpc.descendants(self.engine.warden)
        sleeper = next(p for p in known if self.read(p, "cmdline") == f"sleep\0{mark}\0")
        box = os.readlink(f"/proc/{sleeper}/ns/pid")
        for p in known:
            with contextlib.suppress(OSError):
                numbers = self.read(p, "status").partition("NSpid:")[2].partition("\n")[0].split()
                if os.readlink(f"/proc/{p}/ns/pid") == box and numbers[-1:] == [str(pid)]:
                    return p
        raise AssertionError(f"no process {pid} in the box")

    @staticmethod
    def read(pid, name):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as f:
            return f.read()
        return ""


class Parent(Case):
    """The session keeps its box, its memory and its processes."""

    def test_a_server_goes_on(self):
        parent = self.started()
        first = self.keep(parent)
        self.goes_on(parent)
        self.assertTrue(self.value(parent, "p.poll() is None"))
        second = self.keep(parent)
        self.goes_on(parent)
        below = self.branch(first)
        for session in (first, second, below):
            self.assertEqual(self.value(session, "x += 1; x"), 4)
        self.goes_on(parent)

    def test_undo_and_rollback_after_it(self):
        parent = self.started()
        self.run_(parent, "x = 4; open('page', 'w').write('other')")
        child = self.keep(parent)
        self.client("session.undo", session=parent)
        self.goes_on(parent)
        done = self.run_(parent, "x = 5; q = serve(8001); await_(lambda: get(8001)); 1 / 0", atomic=True)
        self.assertEqual(done["state"]["outcome"], "rolled_back", done)
        self.goes_on(parent)
        self.assertIn("refused", self.run_(parent, "get(8001)")["error"]["message"])
        self.assertEqual(self.run_(parent, "x = 6; os._exit(7)")["state"]["outcome"], "rolled_back")
        self.goes_on(parent)
        self.assertEqual(self.value(child, "x, open('page').read()"), "(4, 'other')")

    def test_a_rollback_stops_nothing_of_a_branch(self):
        """Processes of branches are visible in the session's own list, but they are not the session's."""
        parent = self.started()
        child = self.keep(parent)
        self.assertEqual(self.run_(child, COUNTER)["status"], "ok")
        self.assertEqual(self.run_(parent, "os._exit(7)")["state"]["outcome"], "rolled_back")
        self.goes_on(parent)
        self.assertEqual(self.value(child, "os.kill(q.pid, signal.SIGCONT)\n"
                                           "while not os.stat('continued').st_size: pass\n"
                                           "open('continued').read()"), "c")

    def test_a_fork_bomb_is_rolled_back_beside_a_branch(self):
        parent = self.create(limits={"pids": 40})
        self.run_(parent, SLEEPER)
        child = self.keep(parent)
        bomb = "import os\ntry:\n    for _ in range(12): os.fork()\nexcept OSError: pass\nwhile True: pass"
        done = self.run_(parent, bomb, timeout_ms=500)
        self.assertEqual(done["state"]["outcome"], "rolled_back", done)
        count = "import os; sum(open(f'/proc/{n}/comm').read() == 'sleep\\n' for n in os.listdir('/proc') if n.isdigit())"
        self.assertEqual(self.value(parent, count), 1)
        for session in (parent, child):
            self.assertEqual(self.value(session, "x"), 3)

    def test_the_program_does_not_notice(self):
        """No hook of a fork runs, no child is reaped, random numbers go on, and nobody gets a byte."""
        parent = self.create()
        self.run_(parent, SLEEPER + "\n"
                  "import os, random, signal, socket, sys\nhooks = []\n"
                  "os.register_at_fork(before=lambda: hooks.append(1), after_in_parent=lambda: hooks.append(2),\n"
                  "                    after_in_child=lambda: hooks.append(3))\n"
                  "a, b = socket.socketpair()\n"
                  "cat = subprocess.Popen(['cat'], stdin=b, stdout=open('got', 'wb')); b.close()\n"
                  "ended = subprocess.Popen(['sh', '-c', 'exit 7'])\n"
                  "os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)\n"
                  "hooks.clear(); random.seed(1)")
        said = self.client("session.branch", session=parent, keep_processes=True)
        self.assertEqual(said["processes_left"], 2)
        self.assertEqual(self.value(parent, "a.send(b'x'); a.close(); cat.wait(), open('got').read(), ended.wait(), hooks"),
                         "(0, 'x', 7, [])")
        self.assertEqual(self.value(parent, "state = random.getstate(); random.seed(1); state == random.getstate()"), True)
        self.close(said["session"])

    def test_background_tasks_go_on(self):
        """An event loop with a task goes on in the session, and in the branch."""
        parent = self.create()
        self.run_(parent, SLEEPER + "\nimport asyncio\nn = 0\n"
                  "async def count():\n    global n\n    while True:\n        n += 1\n        await asyncio.sleep(0.01)\n"
                  "task = asyncio.ensure_future(count()); await asyncio.sleep(0.05)")
        child = self.keep(parent)
        for session in (parent, child):
            done = self.run_(session, "m = n\nwhile n < m + 3: await asyncio.sleep(0.01)\nnot task.done()")
            self.assertEqual(done["value"]["text/plain"], "True", done)
            self.assertNotIn("socket", done["state"].get("notice") or "")

    def test_depth(self):
        """It takes two levels. Where there are not so many, it is refused, and nothing ends."""
        at = self.create()
        for _ in range(test_branches.DEPTH - 2):
            self.run_(at, "x = 3")
            at = self.branch(at)
        self.run_(at, SLEEPER)
        with self.assertRaisesRegex(rpc.Failed, "branches of branches deep"):
            self.client("session.branch", session=at, keep_processes=True)
        self.assertEqual(self.value(at, "p.poll() is None and x"), 3)
        self.assertEqual(self.value(self.branch(at, force=True), "x"), 3)

    def test_without_processes_it_is_any_branch(self):
        parent = self.create()
        self.run_(parent, "x = 3")
        said = self.client("session.branch", session=parent, keep_processes=True)
        self.assertNotIn("processes_left", said)
        self.assertEqual(self.value(said["session"], "x"), 3)
        self.close(said["session"])

    def test_one_of_both(self):
        parent = self.create()
        with self.assertRaises(rpc.Failed) as refused:
            self.client("session.branch", session=parent, keep_processes=True, force=True)
        self.assertEqual(refused.exception.code, "usage")

    def test_threads_refuse(self):
        parent = self.create()
        self.run_(parent, SLEEPER + "\nimport threading, time\n"
                  "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
        with self.assertRaisesRegex(rpc.Failed, "other threads"):
            self.client("session.branch", session=parent, keep_processes=True)
        self.assertEqual(self.value(parent, "p.poll() is None and x"), 3)


    def test_while_it_is_stopped_and_continued(self):
        """Stopped in its clone, the session asks for it again, and gets it."""
        parent = self.create()
        self.run_(parent, "import os, subprocess\nx = 3\np = subprocess.Popen(['sh', '-c', "
                          "f'while :; do kill -STOP {os.getpid()}; kill -CONT {os.getpid()}; done'])")
        for _ in range(harness.sample(40, 400)):
            child = self.keep(parent)
            self.assertEqual(self.value(child, "x"), 3)
            self.close(child)
        self.assertTrue(self.value(parent, "p.poll() is None"))


class Child(Case):
    """The branch has all but the processes, and says so."""

    def test_it_lacks_them(self):
        child = self.keep(self.started())
        done = self.run_(child, "x, open('page').read(), p.poll(), p.wait(), p.returncode")
        self.assertEqual(done["value"]["text/plain"], str((3, "hello", 0, 0, 0)))
        self.assertIn("not copied: 1 process", done["state"]["notice"])
        self.assertIsNone(self.run_(child, "x")["state"].get("notice"))
        self.assertIn("refused", self.run_(child, "get()")["error"]["message"])
        names = "{open(f'/proc/{n}/comm').read() for n in os.listdir('/proc') if n.isdigit()}"
        self.assertEqual(self.value(child, f"len({names})"), 3)  # init, the driver and its guards

    def test_what_it_lost_besides(self):
        parent = self.create()
        self.run_(parent, SLEEPER + "\nq = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)")
        said = self.client("session.branch", session=parent, keep_processes=True)
        notice = self.run_(said["session"], "1")["state"]["notice"]
        self.assertEqual(notice, "closed: 2 ends of pipes; not copied: 2 processes")
        self.assertEqual(self.value(parent, "q.communicate(b'still')"), "(b'still', None)")
        self.close(said["session"])

    def test_its_rollbacks_are_its_own(self):
        child = self.keep(self.started())
        self.assertEqual(self.run_(child, "x = 9; os._exit(7)")["state"]["outcome"], "rolled_back")
        self.assertEqual(self.value(child, "x"), 3)
        self.run_(child, "x = 5; q = serve(8000); await_(get)")
        self.client("session.undo", session=child)
        self.assertEqual(self.value(child, "x"), 3)

    def test_it_has_its_own_server(self):
        parent = self.started()
        child = self.keep(parent)
        self.assertEqual(self.value(child, "open('page', 'w').write('mine'); p = serve(8000); await_(get)"), "mine")
        self.goes_on(parent)

    def test_it_outlives_the_parent(self):
        parent = self.started()
        child = self.keep(parent)
        below = self.branch(child)
        mark = f"601.{os.getpid()}"
        sleeper = self.on_host(mark, self.value(parent, f"q = subprocess.Popen(['sleep', '{mark}']); q.pid"))
        self.client("session.close", session=parent)
        while mark in self.read(sleeper, "cmdline"):
            time.sleep(0.01)
        for session in (child, below):
            self.assertEqual(self.value(session, "x"), 3)
            self.assertEqual(self.run_(session, "os._exit(7)")["state"]["outcome"], "rolled_back")
            self.assertEqual(self.value(session, "x"), 3)

    def test_another_language(self):
        parent = self.started()
        self.run_(parent, "let y = 5", runtime="javascript")
        child = self.keep(parent)
        for session in (child, parent):
            self.assertEqual(self.value(session, "y", runtime="javascript"), 5)
        self.goes_on(parent)


class Meanwhile(Case):
    def test_while_the_server_writes(self):
        parent = self.create()
        self.run_(parent, "import os, subprocess\np = subprocess.Popen(['sh', '-c', "
                          "'i=0; while :; do i=$((i+1)); echo $i >>log; echo $i >f.tmp; mv f.tmp f; done'])")
        lines = []
        for _ in range(6):
            # Whatever else the machine does: the server has written since the last branch.
            while self.value(parent, "os.path.exists('log') and len(open('log').read().split())",
                             ) <= (lines[-1] if lines else 0):
                pass
            child = self.client("session.branch", session=parent, keep_processes=True)["session"]
            self.addCleanup(self.close, child)
            self.assertTrue(self.value(child, "t = open('log').read(); n = t.split(); "
                                              "n == [str(i + 1) for i in range(len(n))]"))
            lines.append(self.value(child, "len(n)"))
        self.assertEqual(lines, sorted(set(lines)))  # each has the files of its own moment
        self.assertTrue(self.value(parent, "p.poll() is None"))

    def test_while_files_are_replaced(self):
        """A directory that changes while it is copied can list a name twice, one that is gone, and not one that is new."""
        parent = self.create()
        code = ("import itertools, os\nfor i in itertools.count():\n    n = i * 7 % 50\n"
                "    with open('t', 'w') as f: f.write(str(n) * 100)\n    os.replace('t', str(n))\n"
                "    os.makedirs(f'd{n}/e'); os.symlink('x', f'd{n}/l'); os.mkfifo(f'd{n}/f')\n"
                "    os.remove(f'd{n}/f'); os.remove(f'd{n}/l'); os.removedirs(f'd{n}/e')\n")
        self.run_(parent, f"import os, subprocess, sys\np = subprocess.Popen([sys.executable, '-c', {code!r}])\n"
                          "while not os.path.exists('49'): pass")
        for _ in range(harness.sample(30, 200)):
            child = self.keep(parent)
            self.assertEqual(self.value(child, "[n for n in range(50) if os.path.exists(str(n)) "
                                               "and open(str(n)).read() not in ('', str(n) * 100)]"), [])
            self.close(child)
        self.assertTrue(self.value(parent, "p.poll() is None"))

    def test_many_at_once(self):
        parent = self.started()
        clients = [self.engine.client() for _ in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda c: c("session.branch", session=parent, keep_processes=True), clients))
            self.assertEqual([said["processes_left"] for said in made], [1] * 8)
            jobs = [pool.submit(c.value, said["session"], f"x = {i}; open('page', 'w').write('{i}'); x")
                    for i, (c, said) in enumerate(zip(clients, made, strict=True))]
            self.assertEqual([job.result() for job in jobs], list(range(8)))
        self.goes_on(parent)
        for i, said in enumerate(made):
            self.assertEqual(self.value(said["session"], "x, open('page').read()"), str((i, str(i))))
            self.close(said["session"])

    def test_closed_meanwhile(self):
        """The session is closed while its driver is lent: nothing hangs, and other sessions work."""
        for _ in range(10):
            parent = self.create()
            self.run_(parent, SLEEPER)
            other = self.engine.client()
            number = other.send("session.branch", session=parent, keep_processes=True)
            self.client("session.close", session=parent)
            said = other.receive()
            self.assertEqual(said[0], number)
            if "result" in said[1]:
                self.assertEqual(self.value(said[1]["result"]["session"], "x"), 3)
                self.close(said[1]["result"]["session"])
        self.assertEqual(self.value(self.create(), "6 * 7"), 42)

    def test_the_driver_is_killed_meanwhile(self):
        """Whatever becomes of the branch, the session has its state and its process."""
        parent = self.create()
        mark = f"600.{os.getpid()}"
        self.run_(parent, f"import os, subprocess; x = 3; p = subprocess.Popen(['sleep', '{mark}'])")
        other = self.engine.client()
        for i in range(harness.sample(12, 100)):
            driver = self.on_host(mark, self.value(parent, "x = 3; os.getpid()"))
            number = other.send("session.branch", session=parent, keep_processes=True)
            time.sleep(i % 12 / 2000)
            os.kill(driver, signal.SIGKILL)
            answered, said = other.receive()
            self.assertEqual(answered, number)
            if "result" in said:
                self.assertEqual(self.value(said["result"]["session"], "x"), 3)
                self.close(said["result"]["session"])
            self.assertEqual(self.settled(parent), "(3, True)")

    def settled(self, session):
        """The value of what is asked, by a driver that was not killed while it ran."""
        while (done := self.run_(session, "x, os.path.exists(f'/proc/{p.pid}')"))["status"] == "killed":
            self.assertEqual(done["state"]["outcome"], "rolled_back", done)
        return done["value"]["text/plain"]


class Fronts(harness.Case):
    def test_command_line(self):
        engine = test_session.Engine()
        self.addCleanup(engine.stop)
        session = engine.run("new").out.strip()
        engine.run("exec", session, "-c", SLEEPER)
        refused = engine.run("branch", session)
        self.assertEqual((refused.status, refused.out), (1, ""))
        self.assertIn("--keep-processes", refused.err)
        done = engine.run("branch", "--keep-processes", session, "trial")
        self.assertEqual((done.status, done.err), (0, "retort: branched: 1 process is not in the branch\n"))
        self.assertEqual(engine.run("exec", "trial", "-c", "x").out, "3\n")
        self.assertEqual(engine.run("exec", session, "-c", "p.poll() is None").out, "True\n")
        self.assertEqual(engine.run("branch", "--keep-processes", "--force", session).status, 2)

    def test_mcp(self):
        with Mcp() as mcp:
            mcp.run(SLEEPER)
            self.assertIn("`keep: true`", mcp.tool("sessions", action="branch", name="b").text)
            text = mcp.tool("sessions", action="branch", name="b", keep=True).text
            self.assertEqual(text, 'new session "b" with the state of "default"; 1 process is not in the branch')
            self.assertIn("value: 3", mcp.run("x", session="b").text)
            self.assertIn("value: True", mcp.run("p.poll() is None").text)

    def test_repl(self):
        done = repl.pipe(SLEEPER + "\n%branch --keep-processes b\np.poll()\n%switch main\np.poll() is None\n")
        self.assertIn("1 process is not in the branch", done.err)
        self.assertIn("0\n", done.out)


if __name__ == "__main__":
    harness.main()
