# SPDX-License-Identifier: Apache-2.0
"""Every limit trips, says so, and does not trip just below; the record says who enforces it.

The same tests run with the cgroups that this host offers and, as root, once more without any.
"""

import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402
import shape  # noqa: E402

# After the limit there is one second of grace; the rest is for a machine that has better to do.
GRACE_MS = 1000
SLACK_MS = 8000
# Long enough for an interpreter to start.
WALL_MS, WALL_SAID = (3700, "3.7 s") if harness.IS_EMULATED else (700, "700 ms")
CPU_MS, CPU_SAID = (3500, "3.5 s") if harness.IS_EMULATED else (500, "500 ms")


def enabled_above():
    """v2: the controllers of the nearest cgroup in which retort can make leaves. We are beside it in ours."""
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        own = f.read().rpartition("0::")[2].strip()
    while True:
        folder = "/sys/fs/cgroup" + own.rstrip("/")
        with open(folder + "/cgroup.subtree_control", encoding="utf-8") as f:
            enabled = f.read().split()
        if {"memory", "pids"} <= set(enabled) and os.access(folder, os.W_OK) and os.access(
                folder + "/cgroup.procs", os.W_OK):
            return enabled
        if own == "/":
            return []
        own = os.path.dirname(own)


def host_has_cgroup(controller):
    """Can retort, as who we are, make a cgroup of this controller here?"""
    if os.environ.get("RETORT_CGROUP") == "none":
        return False
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        enabled = enabled_above()
        if enabled or not harness.IS_ROOT:
            return controller in enabled
    if not harness.IS_ROOT:
        return False
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for line in f:
            _, where, kind, options = line.split()[:4]
            if kind == "cgroup" and controller in options.split(","):
                return os.access(where, os.W_OK)
            if kind == "cgroup2":
                path = os.path.join(where, "cgroup.controllers")
                with open(path, encoding="utf-8") as g:
                    if controller in g.read().split():
                        return True
    return False


class Limits:
    """The tests; `env` chooses the kind of cgroup, `is_forced` says that there is to be none."""

    env = {}
    is_forced = False

    def record(self, code, *options, **kwargs):
        out = harness.record(code, *options, env=self.env, **kwargs)
        shape.check_record(self, out)
        return out

    def has(self, controller):
        return not self.is_forced and host_has_cgroup(controller)

    def assert_by(self, record, name, value, by):
        """The row of the limit @name. @by is who enforces, "cgroup" any version, None nobody."""
        row = record["limits"][name]
        self.assertEqual(row["value"], value, name)
        self.assertEqual(row["enforced"], by is not None, name)
        if by == "cgroup":
            self.assertRegex(row["by"], "^cgroup v[12]$", name)
        elif by is not None:
            self.assertEqual(row["by"], by, name)

    def assert_ok(self, record, stdout=None):
        self.assertEqual((record["status"], record["_status"], record["exit_code"]), ("ok", 0, 0), record)
        if stdout is not None:
            self.assertEqual(record["stdout"], stdout)

    def assert_error(self, record, name, pattern):
        """A limit that the program itself meets, as an exception that it could have handled."""
        self.assertEqual((record["status"], record["_status"], record["exit_code"]), ("error", 1, 1), record)
        self.assertEqual(record["error"]["name"], name)
        self.assertRegex(record["error"]["message"], pattern)

    def assert_oom(self, record, limit):
        self.assertEqual((record["status"], record["_status"], record["signal"]), ("oom", 137, 9), record)
        self.assertEqual(record["error"]["name"], "MemoryLimit")
        self.assertEqual(record["error"]["message"], f"the step needed more than its limit of {limit} of memory")
        self.assertEqual(record["state"]["outcome"], "lost")

    def assert_timeout(self, record, limit, what="wall"):
        self.assertEqual((record["status"], record["_status"]), ("timeout", 124), record)
        self.assertEqual(record["error"]["name"], "TimeLimit")
        self.assertRegex(record["error"]["message"], f"limit of {limit} of {what} time$")

    # ---- defaults ----

    def test_defaults(self):
        """What holds when nothing is asked for."""
        record = self.record("1")
        values = {name: row["value"] for name, row in record["limits"].items()}
        self.assertEqual(values, shape.DEFAULT_LIMITS)
        for name, row in record["limits"].items():
            self.assertTrue(row["enforced"], f"{name} is enforced on this host")
        by = {
            "memory_bytes": "cgroup" if self.has("memory") else "engine",
            "cpus": "cgroup" if self.has("cpu") else "affinity",
            "pids": "cgroup" if self.has("pids") else "rlimit",
            "cpu_ms": "engine", "timeout_ms": "engine", "output_bytes": "engine",
            "disk_bytes": "mount", "disk_inodes": "mount",
            "file_bytes": "rlimit", "open_files": "rlimit",
        }
        for name, who in by.items():
            self.assert_by(record, name, shape.DEFAULT_LIMITS[name], who)

    def test_options_set_the_rows(self):
        """Every option shows in the record as the number it means."""
        options = {
            "memory_bytes": ("--memory=300m", 300 << 20), "cpus": ("--cpus=2", 2),
            "cpu_ms": ("--cpu-time=90s", 90_000), "timeout_ms": ("--timeout=1500ms", 1500),
            "pids": ("--pids=9", 9), "disk_bytes": ("--disk=1m", 1 << 20),
            "disk_inodes": ("--inodes=77", 77), "file_bytes": ("--file-size=4k", 4096),
            "output_bytes": ("--output-limit=5k", 5120), "open_files": ("--open-files=40", 40),
        }
        record = self.record("1", *[option for option, _ in options.values()])
        self.assertEqual({name: row["value"] for name, row in record["limits"].items()},
                         {name: value for name, (_, value) in options.items()})

    # ---- memory ----

    def test_memory_trips(self):
        """One process that fills more than the limit is ended as oom, with status 137."""
        record = self.record("import time\nx = b'1' * (90 << 20)\ntime.sleep(20)", "-m", "64m")
        self.assert_oom(record, "64 MiB")
        self.assert_by(record, "memory_bytes", 64 << 20, "cgroup" if self.has("memory") else "engine")
        self.assertGreater(record["usage"]["memory_peak_bytes"], 32 << 20)

    def test_memory_trips_step_by_step(self):
        """Memory that grows in small pieces trips too."""
        code = "import time\nx = []\nwhile True:\n x.append(b'1' * (1 << 20))\n time.sleep(0.005)"
        self.assert_oom(self.record(code, "-m", "64m"), "64 MiB")

    def test_memory_message_without_json(self):
        done = harness.run("import time\nx = b'1' * (90 << 20)\ntime.sleep(20)", "-m", "64m", env=self.env)
        self.assertEqual(done.status, 137, done)
        self.assertEqual(done.err, "retort: oom: the step needed more than its limit of 64 MiB of memory: "
                                   "give it more with --memory\n")

    def test_memory_below(self):
        """Just below, nothing happens."""
        self.assert_ok(self.record("x = b'1' * (40 << 20); import time; time.sleep(0.2); print(len(x))",
                                   "-m", "64m"), f"{40 << 20}\n")

    def test_memory_error(self):
        """More in one piece than there could ever be is a MemoryError that can be handled."""
        code = "try:\n x = bytearray(1 << 50)\nexcept MemoryError:\n print('caught')"
        self.assert_ok(self.record(code), "caught\n")
        record = self.record("bytearray(1 << 50)")
        self.assert_error(record, "MemoryError", "^$")
        self.assertEqual(record["error"]["line"], 1)

    def test_memory_in_one_piece(self):
        """Several times the limit at once: refused as MemoryError, or granted and then oom."""
        record = self.record("import time\nx = b'1' * (400 << 20)\ntime.sleep(20)", "-m", "64m")
        if record["status"] == "error":
            self.assert_error(record, "MemoryError", "^$")
            self.assertEqual(record["error"]["line"], 2)
        else:
            self.assert_oom(record, "64 MiB")
        self.assertLess(record["usage"]["memory_peak_bytes"], 200 << 20)

    def test_memory_of_children(self):
        """Children count together: none over the limit alone, and all of them are."""
        code = ("import os, time\n"
                "for i in range(6):\n"
                " if os.fork() == 0:\n"
                "  time.sleep(i / 4)\n"  # who measures from outside looks every 20 ms
                "  x = b'%d' % i * (25 << 20)\n"
                "  time.sleep(20)\n"
                "  os._exit(0)\n"
                "for i in range(6):\n"
                " pid, status = os.wait()\n"
                " if status: raise SystemExit(9)\n")
        record = self.record(code, "-m", "96m")
        self.assertLess(record["usage"]["memory_peak_bytes"], 6 * (25 << 20))
        if record["status"] != "oom":
            # The kernel may have killed a child only; then the books say so.
            self.assertGreater(record["usage"]["oom_kills"], 0, record)
            self.assertNotEqual(record["_status"], 0)
        else:
            self.assertEqual(record["_status"], 137)

    def test_memory_shared_counts_once(self):
        """Pages that forked children only read are not charged to each of them."""
        code = ("import os, time\n"
                "x = b'1' * (60 << 20)\n"
                "for i in range(4):\n"
                " if os.fork() == 0:\n"
                "  time.sleep(0.3); os._exit(0)\n"
                "for i in range(4): os.wait()\n"
                "print('whole')")
        self.assert_ok(self.record(code, "-m", "128m"), "whole\n")

    def assert_files_in_memory_trip(self, code):
        record = self.record(code + "\nimport time; time.sleep(20)", "-m", "64m", "--disk", "1g",
                             "--file-size", "1g", "--timeout", "8s")
        self.assert_oom(record, "64 MiB")

    def test_memory_of_shm(self):
        """Files in memory are memory: /dev/shm."""
        self.assert_files_in_memory_trip("f = open('/dev/shm/x', 'wb')\n"
                                         "for i in range(120): f.write(b'1' * (1 << 20))")

    def test_memory_of_workspace(self):
        """Files in memory are memory: the workspace."""
        self.assert_files_in_memory_trip("f = open('x', 'wb')\nfor i in range(120): f.write(b'1' * (1 << 20))")

    def test_memory_of_shared_mapping(self):
        """Anonymous shared memory, which belongs to no process, counts."""
        self.assert_files_in_memory_trip("import mmap\nm = mmap.mmap(-1, 160 << 20)\n"
                                         "for i in range(160): m.write(b'1' * (1 << 20))")

    def test_memory_of_memfd(self):
        """Memory behind a descriptor that is mapped nowhere counts; where nobody can count it, there is none."""
        if not self.has("memory"):
            code = ("import ctypes, os\n"
                    "try: os.memfd_create('x'); print('memfd')\n"
                    "except OSError as e: print(e.errno)\n"
                    "print(ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600))")
            self.assert_ok(self.record(code, "-m", "64m"), "38\n-1\n")
            return
        self.assert_files_in_memory_trip("import os\nfd = os.memfd_create('x')\n"
                                         "for i in range(160): os.write(fd, b'1' * (1 << 20))")

    # ---- CPUs ----

    SPIN = ("import os, time\n"
            "start = time.monotonic()\n"
            "child = os.fork()\n"
            "while time.monotonic() - start < 2: pass\n"
            "if child == 0: os._exit(0)\n"
            "os.wait()\n"
            "wall = time.monotonic() - start\n"
            "t = os.times()\n"
            "print((t.user + t.system + t.children_user + t.children_system) / wall)")

    def test_cpu_share(self):
        """Half a CPU is about half a CPU, for all processes together; else it is not claimed."""
        record = self.record(self.SPIN, "--cpus", "0.5")
        if not self.has("cpu"):
            self.assert_by(record, "cpus", 0.5, None)
            return
        self.assert_by(record, "cpus", 0.5, "cgroup")
        self.assertLess(float(record["stdout"]), 0.8)

    def test_not_enforced_is_said(self):
        """A limit that was asked for and does not hold here is named on stderr; one that does is not."""
        done = harness.run("1", "--cpus", "0.5", env=self.env)
        self.assertEqual(done.status, 0)
        if self.has("cpu"):
            self.assertEqual(done.err, "")
        else:
            self.assertRegex(done.err, "^retort: --cpus is not enforced here: .*\n$")
        self.assertEqual(harness.run("1", "--cpus", "1", "-m", "1g", "--pids", "99", env=self.env).err, "")
        done = harness.run("1", "--disk", "1m", "-w", harness.make_dir(), env=self.env)
        self.assertRegex(done.err, "^retort: --disk is not enforced here: .*\n$")
        done = harness.run("1", "--disk", "1m", "-q", "-w", harness.make_dir(), env=self.env)
        self.assertEqual(done.err, "")

    def test_cpu_one(self):
        """One CPU, by share or by pinning, is not two."""
        record = self.record(self.SPIN, "--cpus", "1")
        self.assert_by(record, "cpus", 1, "cgroup" if self.has("cpu") else "affinity")
        self.assertLess(float(record["stdout"]), 1.4)

    def test_cpu_pinned(self):
        """Without a cgroup the box is pinned, and cannot undo that."""
        code = ("import os\n"
                "n = len(os.sched_getaffinity(0))\n"
                "try:\n os.sched_setaffinity(0, range(os.cpu_count()))\n"
                "except OSError as e:\n print('refused')\n"
                "print(n, len(os.sched_getaffinity(0)))")
        if self.has("cpu"):
            self.skipTest("this host's cgroup limits the share")
        record = self.record(code, "--cpus", "1")
        self.assert_ok(record, "refused\n1 1\n")
        n = min(2, len(os.sched_getaffinity(0)))
        self.assert_ok(self.record(code, "--cpus", "2"), f"refused\n{n} {n}\n")

    # ---- CPU time ----

    def test_cpu_time_trips(self):
        """Busy for longer than the limit: status 124, and the traceback shows where."""
        record = self.record("x = 1\nwhile True:\n    x += 1", "--cpu-time", f"{CPU_MS}ms", "--timeout", "60s")
        self.assert_timeout(record, CPU_SAID, "CPU")
        self.assert_by(record, "cpu_ms", CPU_MS, "engine")
        self.assertGreaterEqual(record["usage"]["cpu_ms"], CPU_MS - 10)
        self.assertIn(record["error"]["line"], (2, 3))
        self.assertRegex(record["stderr"], r'File "<string>", line [23]')

    def test_cpu_time_below(self):
        code = "import time\nwhile time.process_time() < 0.4: pass\nprint('done')"
        self.assert_ok(self.record(code, "--cpu-time", "3s", "--timeout", "60s"), "done\n")

    def test_cpu_time_follows_the_wall_time(self):
        """Nobody gave one: it is what the CPUs can do in that time, and the start does not count."""
        for options, ms in ((("--timeout", "90s"), 90_000), (("--timeout", "90s", "--cpus", "0.5"), 45_000),
                            (("--timeout", "1ms", "--cpus", "0.01"), 1), (("--timeout", "7s", "--cpu-time", "9s"), 9000)):
            self.assertEqual(self.record("1", *options)["limits"]["cpu_ms"]["value"], ms)
        if self.has("cpu"):
            return
        # Without a quota, a tenth of a CPU can be passed: this is what ends it.
        record = self.record("while True: pass", "--cpus", "0.1", "--timeout", "20s")
        self.assertEqual((record["status"], record["error"]["message"]), (
            "timeout", "the step used more than its limit of 2 s of CPU time, which follows the limit of wall time"))
        self.assertIn("give it more with --timeout", harness.run(
            "while True: pass", "--cpus", "0.05", "--timeout", "20s", env=self.env).err)

    def test_cpu_time_of_sleep(self):
        """Waiting costs none of it."""
        self.assert_ok(self.record("import time; time.sleep(1.2); print('done')", "--cpu-time", "900ms"),
                       "done\n")

    def test_cpu_time_of_children(self):
        """Children's time counts, running or gone."""
        code = ("import os, time\n"
                "while True:\n"
                " for i in range(4):\n"
                "  if os.fork() == 0:\n"
                "   t = time.process_time() + 0.15\n"
                "   while time.process_time() < t: pass\n"
                "   os._exit(0)\n"
                " for i in range(4): os.wait()\n")
        self.assert_timeout(self.record(code, "--cpu-time", "1s", "--timeout", "60s"), "1 s", "CPU")

    def test_cpu_time_of_unwaited_children(self):
        """Children that nobody waits for are not free."""
        code = ("import os, signal, time\n"
                "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                "while True:\n"
                " if os.fork() == 0:\n"
                "  t = time.process_time() + 0.15\n"
                "  while time.process_time() < t: pass\n"
                "  os._exit(0)\n"
                " try: os.wait()\n"
                " except ChildProcessError: pass\n")
        if self.has("cpuacct"):
            record = self.record(code, "--cpu-time", "1s", "--timeout", "12s")
            self.assert_timeout(record, "1 s", "CPU")
        else:
            # The kernel's books of a process lose them; then the wall limit is what ends it.
            record = self.record(code, "--cpu-time", "1s", "--timeout", "3s")
            self.assertEqual((record["status"], record["_status"]), ("timeout", 124), record)

    def test_cpu_time_ignoring_the_signal(self):
        """Ignoring SIGXCPU and SIGINT changes nothing but the manner."""
        code = ("import signal\n"
                "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
                "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                "while True: pass")
        self.assert_timeout(self.record(code, "--cpu-time", "500ms", "--timeout", "60s"), "500 ms", "CPU")

    # ---- wall time ----

    def assert_wall(self, code, *options, **kwargs):
        record = self.record(code, "--timeout", f"{WALL_MS}ms", *options, **kwargs)
        self.assert_timeout(record, WALL_SAID)
        self.assert_by(record, "timeout_ms", WALL_MS, "engine")
        self.assertLess(record["usage"]["wall_ms"], WALL_MS + GRACE_MS + SLACK_MS)
        self.assertGreater(record["usage"]["wall_ms"], WALL_MS - 100)
        return record

    def assert_line(self, record, line):
        """The traceback ends in the program's line @line."""
        self.assertEqual(record["error"].get("line"), line, record)
        self.assertIn(f'File "<string>", line {line}, in', record["stderr"])
        self.assertRegex(record["stderr"], "KeyboardInterrupt\n$")

    def test_wall_below(self):
        self.assert_ok(self.record("import time; time.sleep(0.3); print('done')", "--timeout", "20s"), "done\n")

    def test_wall_sleeping(self):
        self.assert_line(self.assert_wall("import time\n\ntime.sleep(60)"), 3)

    def test_wall_busy(self):
        self.assert_line(self.assert_wall("print('before', flush=True)\nwhile True: pass"), 2)

    def test_wall_in_a_function(self):
        record = self.assert_wall("import time\ndef f():\n    time.sleep(60)\nf()")
        self.assert_line(record, 3)
        self.assertIn('line 4, in <module>', record["stderr"])

    def test_wall_message_without_json(self):
        done = harness.run("while True: pass", "--timeout", "700ms", env=self.env)
        self.assertEqual(done.status, 124, done)
        self.assertRegex(done.err, "retort: timeout: the step ran longer than its limit of 700 ms of wall "
                                   "time: give it more with --timeout\n$")

    def test_wall_keeps_output(self):
        """What was printed before the limit is in the record."""
        record = self.assert_wall("print('before')\nwhile True: pass")
        self.assertEqual(record["stdout"], "before\n")

    def test_wall_in_c(self):
        """In C code that looks at no signal, the grace ends with SIGKILL."""
        record = self.assert_wall("import itertools\nsum(itertools.repeat(1))")
        self.assertEqual(record["state"]["outcome"], "lost")

    def test_wall_ignoring(self):
        record = self.assert_wall("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                                  "while True: time.sleep(1)")
        self.assertEqual(record["state"]["outcome"], "lost")

    def test_wall_going_on(self):
        """Catching KeyboardInterrupt and going on: the output shows it, the end comes all the same."""
        record = self.assert_wall("import time\ntry:\n time.sleep(60)\nexcept KeyboardInterrupt:\n"
                                  " print('no', flush=True)\n time.sleep(60)")
        self.assertEqual(record["stdout"], "no\n")
        self.assertEqual(record["state"]["outcome"], "lost")

    def test_wall_cleaning_up(self):
        """A program that uses the grace to end well is over its limit nevertheless."""
        record = self.assert_wall("import time\ntry:\n time.sleep(60)\nexcept KeyboardInterrupt:\n print('bye')")
        self.assertEqual(record["stdout"], "bye\n")
        self.assertEqual(record["state"]["outcome"], "committed")

    def test_wall_swallowing_everything(self):
        self.assert_wall("import time\nwhile True:\n try:\n  time.sleep(60)\n except BaseException: pass")

    def test_wall_in_finally(self):
        self.assert_wall("import time\ntry:\n time.sleep(60)\nfinally:\n while True: pass")

    def test_wall_joining_a_thread(self):
        self.assert_wall("import threading, time\nt = threading.Thread(target=time.sleep, args=(60,))\n"
                         "t.start()\nt.join()")

    def test_wall_thread_after_main(self):
        """A thread that outlives the code is waited for, and counts."""
        record = self.assert_wall("import threading, time\n"
                                  "threading.Thread(target=time.sleep, args=(60,)).start()\nprint('main')")
        self.assertEqual(record["stdout"], "main\n")

    def test_wall_at_exit(self):
        self.assert_wall("import atexit, time\natexit.register(time.sleep, 60)")

    def test_wall_waiting_for_a_child(self):
        self.assert_wall("import subprocess\nsubprocess.run(['sleep', '60'])")

    def test_wall_at_start(self):
        """The limit holds before the first line too: an interpreter that never comes up."""
        folder = harness.make_dir()
        os.mkdir(os.path.join(folder, "bin"))
        os.makedirs(os.path.join(folder, "lib", "python3.11"))
        python = os.path.join(folder, "bin", "python3")
        with open(python, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexec sleep 60\n")
        os.chmod(python, 0o755)
        os.chmod(folder, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        self.assert_wall("1", "--python", python)

    def test_wall_very_short(self):
        self.assert_timeout(self.record("import time; time.sleep(60)", "--timeout", "1ms"), "1 ms")

    # ---- processes ----

    FORKS = ("import os, signal, time\n"
             "n = 0\n"
             "try:\n"
             " while n < {n}:\n"
             "  if os.fork() == 0: signal.pause()\n"
             "  n += 1\n"
             "except BlockingIOError as e:\n"
             " print(e.errno == 11, end=' ')\n"
             "print(n)\n")

    def test_pids_trip(self):
        """At the limit fork fails as it does on a full machine; the driver is one of them."""
        record = self.record(self.FORKS.format(n=50), "--pids", "8")
        self.assert_ok(record, "True 7\n")
        self.assert_by(record, "pids", 8, "cgroup" if self.has("pids") else "rlimit")

    def test_pids_below(self):
        self.assert_ok(self.record(self.FORKS.format(n=7), "--pids", "8"), "7\n")

    def test_pids_uncaught(self):
        record = self.record("import os, signal\nwhile True:\n if os.fork() == 0: signal.pause()", "--pids", "8")
        self.assert_error(record, "BlockingIOError", "Resource temporarily unavailable")
        self.assertEqual(record["error"]["line"], 3)

    def test_pids_of_threads(self):
        """Threads count."""
        record = self.record("import threading, time\nn = 0\n"
                             "try:\n while n < 50:\n"
                             "  threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n  n += 1\n"
                             "except RuntimeError as e:\n print(e)\nprint(n)", "--pids", "8")
        self.assert_ok(record, "can't start new thread\n7\n")

    def test_pids_one(self):
        """With a limit of one the program itself still runs."""
        self.assert_ok(self.record("print('alone')", "--pids", "1"), "alone\n")

    def test_fork_bomb(self):
        """Everything that forks for ever ends with the step."""
        record = self.record("import os\nwhile True:\n try: os.fork()\n except OSError: pass",
                             "--pids", "32", "--timeout", "1s")
        self.assert_timeout(record, "1 s")

    # ---- files ----

    def test_disk_trips(self):
        """A full workspace is an OSError, not the end."""
        code = "open('big', 'wb').write(b'1' * (5 << 20))"
        record = self.record(code, "--disk", "4m")
        self.assert_error(record, "OSError", "No space left on device")
        self.assert_by(record, "disk_bytes", 4 << 20, "mount")
        self.assert_ok(self.record("try:\n " + code + "\nexcept OSError as e: print(e.errno)", "--disk", "4m"),
                       "28\n")

    def test_disk_below(self):
        self.assert_ok(self.record("print(open('big', 'wb').write(b'1' * (4 << 20)))", "--disk", "5m"))

    def test_disk_is_one_quota(self):
        """Workspace, /tmp and /dev/shm share it: none is a way around another."""
        record = self.record("for d in ('.', '/tmp', '/dev/shm'):\n"
                             " open(d + '/x', 'wb').write(b'1' * (2 << 20))", "--disk", "5m")
        self.assert_error(record, "OSError", "No space left on device")

    def test_no_other_place_to_write(self):
        """Nothing outside the quota can be written."""
        code = ("import os\nfound = []\n"
                "for top, dirs, files in os.walk('/'):\n"
                " dirs[:] = [d for d in dirs if os.path.join(top, d) not in ('/proc', '/usr')]\n"
                " try:\n  open(top + '/probe', 'w').close(); os.remove(top + '/probe'); found.append(top)\n"
                " except OSError: pass\n"
                "print(sorted(found))")
        self.assert_ok(self.record(code), "['/dev/shm', '/home/user', '/tmp']\n")

    MANY = ("n = 0\ntry:\n while n < {n}:\n  open('f%d' % n, 'w').close(); n += 1\n"
            "except OSError as e:\n print(e.errno, end=' ')\nprint(n)")

    def test_inodes_trip(self):
        record = self.record(self.MANY.format(n=100), "--inodes", "50")
        self.assert_ok(record, "28 50\n")
        self.assert_by(record, "disk_inodes", 50, "mount")

    def test_inodes_below(self):
        self.assert_ok(self.record(self.MANY.format(n=50), "--inodes", "50"), "50\n")

    def test_file_size_trips(self):
        record = self.record("f = open('big', 'wb', buffering=0)\nf.write(b'1' * 4096)\nf.write(b'1')",
                             "--file-size", "4k")
        self.assert_error(record, "OSError", "File too large")
        self.assertEqual(record["error"]["line"], 3)
        self.assert_by(record, "file_bytes", 4096, "rlimit")
        self.assertEqual(record["files"], [{"path": "big", "change": "created", "size": 4096,
                                            "mime": "application/octet-stream"}])

    def test_file_size_below(self):
        self.assert_ok(self.record("print(open('big', 'wb').write(b'1' * 4096))", "--file-size", "4k"), "4096\n")

    def test_file_size_in_a_workspace_of_the_host(self):
        """With -w nothing bounds the whole, and the record says so; one file is bounded."""
        record = self.record("f = open('big', 'wb', buffering=0)\nf.write(b'1' * 4096)\n"
                             "try:\n f.write(b'1')\nexcept OSError as e: print(e.errno)",
                             "--file-size", "4k", "-w", harness.make_dir())
        self.assert_ok(record, "27\n")
        self.assert_by(record, "disk_bytes", 256 << 20, None)
        self.assert_by(record, "disk_inodes", 65536, None)
        self.assert_by(record, "file_bytes", 4096, "rlimit")

    def test_open_files_trip(self):
        """At the limit open fails; what is open already stays usable."""
        code = ("fs = []\ntry:\n while len(fs) < {n}: fs.append(open('/dev/null'))\n"
                "except OSError as e: print(e.errno, end=' ')\nprint(len(fs) > 10)")
        record = self.record(code.format(n=100), "--open-files", "32")
        self.assert_ok(record, "24 True\n")
        self.assert_by(record, "open_files", 32, "rlimit")
        self.assert_ok(self.record(code.format(n=100), "--open-files", "128"), "True\n")

    def test_limits_cannot_be_raised(self):
        """The program cannot give itself more."""
        code = ("import resource as r\n"
                "for name in ('NOFILE', 'FSIZE', 'NPROC', 'CPU'):\n"
                " which = getattr(r, 'RLIMIT_' + name)\n"
                " soft, hard = r.getrlimit(which)\n"
                " assert hard != r.RLIM_INFINITY, name\n"
                " try: r.setrlimit(which, (soft, hard + 1)); print(name)\n"
                " except (ValueError, OSError): pass\n"
                "print('kept')")
        self.assert_ok(self.record(code), "kept\n")

    # ---- output ----

    def test_output_trips(self):
        """Head and tail are kept, the rest is counted to the byte."""
        record = self.record("import sys\nsys.stdout.write('a' * 600 + 'b' * 5000 + 'c' * 500)",
                             "--output-limit", "1000")
        self.assert_ok(record, "a" * 500 + "\n[... 5100 bytes cut ...]\n" + "c" * 500)
        self.assertEqual(record["truncated"]["stdout_bytes"], 5100)
        self.assertEqual(record["truncated"]["stderr_bytes"], 0)
        self.assert_by(record, "output_bytes", 1000, "engine")

    def test_output_below(self):
        record = self.record("import sys\nsys.stdout.write('a' * 1000)", "--output-limit", "1000")
        self.assert_ok(record, "a" * 1000)
        self.assertEqual(record["truncated"], {"stdout_bytes": 0, "stderr_bytes": 0})

    def test_output_of_each_stream(self):
        record = self.record("import sys\nsys.stdout.write('a' * 1000)\nsys.stderr.write('e' * 1001)",
                             "--output-limit", "1000")
        self.assertEqual(record["truncated"], {"stdout_bytes": 0, "stderr_bytes": 1})

    def test_output_zero(self):
        record = self.record("print('x')", "--output-limit", "0")
        self.assertEqual(record["status"], "ok")
        self.assertEqual(record["truncated"]["stdout_bytes"], 2)

    def test_output_without_end(self):
        """A program that prints for ever meets the time limit; the engine stays small."""
        record = self.record("while True: print('x' * 1000)", "--timeout", "1s", "--output-limit", "10k")
        self.assert_timeout(record, "1 s")
        self.assertGreater(record["truncated"]["stdout_bytes"], 100_000)


class HostLimits(Limits, harness.Case):
    """With what this host offers: cgroups as root, nothing as an ordinary user."""


# An ordinary user has no cgroup anyway: there the tests above are these.
if harness.IS_ROOT:

    class NoCgroupLimits(Limits, harness.Case):
        """As on a host without cgroups: the engine and rlimits alone."""

        env = {"RETORT_CGROUP": "none"}
        is_forced = True


if __name__ == "__main__":
    harness.main()
