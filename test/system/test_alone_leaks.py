# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a run, and at whatever moment: nothing of it stays on the host.

Looks at the whole host, so it runs by itself.
"""

import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import harness  # noqa: E402
import leftovers  # noqa: E402

SETTLE_S = 2


def start(code, *options, **kwargs):
    kwargs.setdefault("stdout", subprocess.DEVNULL)
    kwargs.setdefault("stderr", subprocess.DEVNULL)
    return subprocess.Popen([harness.RETORT, "run", *leftovers.MARK_OPTION, *options, "-c", code],
                            stdin=subprocess.DEVNULL, env=harness.environment(), cwd=harness.TMP, **kwargs)


def children(pid, name):
    return [p for p, (parent, n, _) in leftovers.processes().items() if parent == pid and n == name]


class Leaks(harness.Case):
    def setUp(self):
        self.before = leftovers.state()

    def assert_clean(self):
        self.assertEqual(leftovers.since(self.before, SETTLE_S), [])

    # kind: (code, options, the exit statuses that are right)
    KINDS = [
        ("print(1)", (), {0}),
        ("1 / 0", (), {1}),
        ("import os; os._exit(3)", (), {3}),
        ("import ctypes; ctypes.string_at(1)", (), {139}),
        ("import os; os.abort()", (), {134}),
        ("import os; os.kill(os.getpid(), 9)", (), {137}),
        ("import time\nx = b'1' * (60 << 20)\ntime.sleep(20)", ("-m", "32m"), {137, 1}),
        ("while True: pass", ("--timeout", "50ms"), {124}),
        ("import os\nwhile True:\n try: os.fork()\n except OSError: pass",
         ("--pids", "16", "--timeout", "100ms"), {124}),
        ("open('x', 'wb').write(b'1' * (2 << 20))", ("--disk", "1m"), {1}),
        ("import subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\nNone", (), {0}),
        ("import os\nif os.fork() == 0:\n os.setsid()\n while True: os.write(1, b'.')\nprint()", (), {0}),
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
         ("--timeout", "100ms"), {124}),
        ("1", ("-v", "/usr/share:/data", "-v", "/etc/passwd:p"), {0}),
        ("1", ("-v", "/nonexistent:/data"), {2}),
        ("1", ("--python", "/nonexistent"), {127}),
        ("1", ("--rootfs", "/proc"), {125}),
        ("print('x' * (1 << 20))", ("--output-limit", "10"), {0}),
    ]

    @harness.needs_root("only root may look into the warden")
    def test_the_warden_takes_no_huge_pages(self):
        """Where the host gives them unasked, each would hold 2 MiB of tables that are never touched."""
        process = start("print('on', flush=True)\nimport time; time.sleep(60)", stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), b"on\n")
            warden, = children(process.pid, "retort-warden")
            with open(f"/proc/{warden}/smaps", encoding="ascii") as f:
                flags = [line.split()[1:] for line in f if line.startswith("VmFlags:")]
            self.assertTrue(any("nh" in of_one for of_one in flags), flags)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            process.stdout.close()

    def test_many_runs(self):
        """Runs of every kind, two at a time, and some whose engine is killed."""
        random.seed(1)

        def one(i):
            code, options, wanted = self.KINDS[i % len(self.KINDS)]
            process = start(code, *options)
            if i % 10 == 9:
                time.sleep(random.random() * 0.06)
                process.kill()
                process.wait()
                return None
            status = process.wait(harness.TIMEOUT_S)
            return None if status in wanted else (code, options, status)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [w for w in pool.map(one, range(harness.sample(180, 500))) if w]
        self.assertEqual(wrong, [])
        self.assert_clean()

    def test_engine_killed_at_any_moment(self):
        """SIGKILL to the engine, 0 to 60 ms after its start: warden and box go with it."""
        for delay_ms in range(0, 60, harness.sample(3, 1)):
            process = start("import os, time\nos.fork()\nopen('x', 'wb').write(b'1' * (1 << 20))\ntime.sleep(60)")
            time.sleep(delay_ms / 1000)
            process.kill()
            process.wait()
        self.assert_clean()

    def test_whole_group_killed_at_any_moment(self):
        """SIGKILL to the engine's process group, as a supervisor does it."""
        for delay_ms in range(0, 60, 3):
            process = start("import time; time.sleep(60)", start_new_session=True)
            time.sleep(delay_ms / 1000)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.assert_clean()

    def up(self, code="import time; time.sleep(60)", *options):
        process = start("print('up', flush=True)\n" + code, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"up\n")
        return process

    def ended(self, process):
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err.decode()

    def test_warden_killed(self):
        """SIGKILL to the warden in mid-run: the box dies, the engine says so and ends."""
        for code in ("import time; time.sleep(60)", "while True: pass",
                     "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(60)"):
            process = self.up(code)
            wardens = children(process.pid, "retort-warden")
            self.assertEqual(len(wardens), 1)
            os.kill(wardens[0], signal.SIGKILL)
            status, _, err = self.ended(process)
            self.assertEqual(status, 125, err)
            self.assertRegex(err, "^retort: [^\n]*\n$")
        self.assert_clean()

    def test_warden_killed_at_any_moment(self):
        for delay_ms in range(0, 40, 2):
            process = start("import time; time.sleep(60)", "--timeout", "20s")
            time.sleep(delay_ms / 1000)
            for warden in children(process.pid, "retort-warden"):
                os.kill(warden, signal.SIGKILL)
                self.assertIn(process.wait(15), (125,), delay_ms)
            process.kill()
            process.wait()
        self.assert_clean()

    def test_next_run_sweeps(self):
        """What killed wardens and engines could not take with them, the next run does."""
        process = self.up()
        for warden in children(process.pid, "retort-warden"):
            os.kill(warden, signal.SIGKILL)
        process.kill()
        process.communicate()
        time.sleep(0.5)  # only what is empty goes
        self.assertEqual(start("1").wait(30), 0)
        self.assert_clean()

    def test_init_killed(self):
        """SIGKILL to a box's init: everything in it dies, the engine says so and ends."""
        process = self.up("import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(60)")
        warden = children(process.pid, "retort-warden")[0]
        inits = children(warden, "retort-init")
        self.assertEqual(len(inits), 1)
        os.kill(inits[0], signal.SIGKILL)
        status, _, err = self.ended(process)
        self.assertEqual(status, 125, err)
        self.assertRegex(err, "^retort: [^\n]*\n$")
        self.assert_clean()

    def test_engine_stopped(self):
        """While the engine is stopped and then killed, the box does not live on."""
        process = self.up("while True: pass")
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        process.kill()
        process.communicate()
        self.assert_clean()

    def test_terminal_closed(self):
        """SIGHUP ends a run as it ends any program."""
        process = self.up()
        process.send_signal(signal.SIGHUP)
        self.ended(process)
        self.assert_clean()

    def test_descriptors_of_a_box_close(self):
        """A pipe that the engine's reader leaves behind does not keep anything alive."""
        process = self.up("import os\nwhile True: os.write(1, b'x' * 65536)", "--timeout", "60s")
        process.stdout.close()
        process.wait(30)
        process.stderr.close()
        self.assert_clean()

    def test_out_directory_of_a_killed_engine(self):
        """Killed while it copies files out: whole files or none under their names."""
        out = harness.make_dir()
        for delay_ms in range(0, 400, 40):
            process = start("for i in range(20): open('f%d' % i, 'wb').write(b'1' * (5 << 20))", "-o", out)
            time.sleep(0.05 + delay_ms / 1000)
            process.kill()
            process.wait()
        for name in os.listdir(out):
            if name.startswith("f"):
                self.assertEqual(os.path.getsize(os.path.join(out, name)), 5 << 20, name)
        self.assert_clean()


def can_unshare():
    done = subprocess.run(["unshare", "-Ur", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


@harness.unittest.skipUnless(can_unshare(), "this host gives no user namespace to unshare -Ur")
class InUserNamespace(harness.Case):
    """As root of a user namespace of one id: neither the host's root nor an ordinary user."""

    def setUp(self):
        self.before = leftovers.state()

    def tearDown(self):
        self.assertEqual(leftovers.since(self.before, SETTLE_S), [])

    def run_inside(self, *args):
        done = subprocess.run(["unshare", "-Ur", harness.RETORT, "run", *args], stdin=subprocess.DEVNULL,
                              capture_output=True, env=harness.environment(), cwd=harness.TMP, timeout=60, check=False)
        return harness.Result(done)

    def test_runs(self):
        done = self.run_inside("-c", "import os; print(os.getuid(), 6 * 7)")
        self.assertEqual((done.status, done.out, done.err), (0, "1000 42\n", ""))

    def test_time_limit(self):
        self.assertEqual(self.run_inside("--timeout", "200ms", "-c", "while True: pass").status, 124)

    def test_memory_limit(self):
        code = "import time\nx = b'1' * (90 << 20)\ntime.sleep(20)"
        self.assertEqual(self.run_inside("-m", "64m", "-c", code).status, 137)

    def test_process_limit(self):
        done = self.run_inside("--pids", "5", "-c", "import os, signal\n"
                               "while True:\n if os.fork() == 0: signal.pause()")
        self.assertEqual(done.status, 1)
        self.assertIn("BlockingIOError", done.err)

    def test_workspace(self):
        folder = tempfile.mkdtemp(dir=harness.TMP)
        done = self.run_inside("-w", folder, "-c", "open('x', 'w').close()")
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(os.stat(os.path.join(folder, "x")).st_uid, os.getuid())

    def test_volume(self):
        folder = tempfile.mkdtemp(dir=harness.TMP)
        done = self.run_inside("-v", f"{folder}:/d:rw", "-c", "open('/d/x', 'w').close()")
        self.assertEqual((done.status, done.err), (0, ""))
        done = self.run_inside("-v", f"{folder}:/d", "-c", "open('/d/x', 'w').close()")
        self.assertEqual(done.status, 1)


if __name__ == "__main__":
    harness.main()
