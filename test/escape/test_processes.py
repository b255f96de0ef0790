# SPDX-License-Identifier: Apache-2.0
"""Other processes: those of the host, init, and what must not outlive a box."""

import os
import resource
import secrets
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402
import harness  # noqa: E402

SLEEPER = ("import signal, sys\n"
           "signal.signal(signal.SIGUSR1, lambda *a: open(sys.argv[1], 'w').close())\n"
           "print(1, flush=True)\nwhile True: signal.pause()\n")


class Outside(attack.Case):
    """A process of the same user on the host, with a secret in its memory and environment."""

    @classmethod
    def host(cls):
        cls.mark = os.path.join(cls.directory, "signalled")
        cls.target = subprocess.Popen(
            [sys.executable, "-c", SLEEPER, cls.mark], stdout=subprocess.PIPE,
            env={"SECRET": cls.secret})
        cls.target.stdout.readline()
        cls.addClassCleanup(cls.target.stdout.close)
        cls.addClassCleanup(cls.target.wait)
        cls.addClassCleanup(cls.target.kill)
        return {"TARGET": cls.target.pid}

    def check_attempt(self, name, expected, control):
        super().check_attempt(name, expected, control)
        self.assertIsNone(self.target.poll(), "the process of the host is gone")

    @attack.inside("ESRCH", control=True)
    def test_T_SIGNAL_finds_a_process_of_the_host():
        """Signal a process of the same user on the host (signal 0)."""
        return os.kill(TARGET, 0)

    @attack.inside("ESRCH")
    def test_T_SIGNAL_kills_a_process_of_the_host():
        """Kill a process of the same user on the host."""
        return os.kill(TARGET, signal.SIGUSR1)

    @attack.inside("ESRCH", "EPERM", control=True)
    def test_T_SIGNAL_opens_a_process_of_the_host():
        """The same by a descriptor of the process."""
        return call("pidfd_send_signal", call("pidfd_open", TARGET, 0), 0, 0, 0)

    @attack.inside("ESRCH", "EPERM")
    def test_T_SIGNAL_queues_to_a_process_of_the_host():
        """The same with rt_sigqueueinfo."""
        return call("rt_sigqueueinfo", TARGET, 10, struct.pack("iii", 10, 0, -1) + bytes(116))

    @attack.inside([])
    def test_T_SIGNAL_tries_every_number():
        """Signal every number there is: only processes of the box may answer."""
        own = set(os.listdir("/proc"))
        return [n for n in range(1, 40000) if str(n) not in own
                and not os.path.exists("/proc/%d" % n) and outcome(lambda: os.kill(n, 0)) == "done"]

    def test_T_SIGNAL_reaches_nobody_outside(self):
        """kill(-1): everything the box may signal."""
        done = attack.record("import os, signal\n"
                             "for n in (signal.SIGUSR1, 15, 9):\n"
                             "    try: os.kill(-1, n)\n"
                             "    except ProcessLookupError: pass\n"
                             "6 * 7")
        self.assertIn(done["status"], ("ok", "killed"))
        self.assertIsNone(self.target.poll())
        self.assertFalse(os.path.exists(self.mark))
        # The control: the mark is made when a signal does arrive.
        self.target.send_signal(signal.SIGUSR1)
        for _ in range(200):
            if os.path.exists(self.mark):
                break
            time.sleep(0.01)
        self.assertTrue(os.path.exists(self.mark))
        os.unlink(self.mark)

    @attack.inside(["init", "python"])
    def test_T_SIGNAL_lists_processes():
        """List processes in /proc."""
        names = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            name = read("/proc/%s/comm" % pid).strip()
            names.append("init" if name == "retort-init" else "python" if "python" in name else name)
        return sorted(set(names))

    @attack.inside("EPERM", control=True)
    def test_T_PTRACE_attaches_to_its_parent():
        """ptrace another process of the box: the driver and its other children are no exception."""
        pid = os.fork()
        if pid == 0:
            time.sleep(5)
            os._exit(0)
        try:
            return call("ptrace", 16, pid, 0, 0)
        finally:
            os.kill(pid, 9)

    @attack.inside("EPERM", "ESRCH")
    def test_T_PTRACE_attaches_to_a_process_of_the_host():
        """ptrace a process of the same user on the host."""
        return call("ptrace", 16, TARGET, 0, 0)

    @attack.inside("EPERM")
    def test_T_PTRACE_attaches_to_init():
        """ptrace init."""
        return call("ptrace", 16, 1, 0, 0)

    @attack.inside("EPERM")
    def test_T_PTRACE_asks_to_be_traced():
        """PTRACE_TRACEME: a parent that traces can skip calls."""
        return call("ptrace", 0, 0, 0, 0)

    @attack.inside("EPERM", control=True)
    def test_T_PTRACE_reads_memory():
        """process_vm_readv, of itself even."""
        b = ctypes.create_string_buffer(8)
        v = struct.pack("QQ", ctypes.addressof(b), 8)
        return call("process_vm_readv", os.getpid(), v, 1, v, 1, 0)

    @attack.inside("EPERM")
    def test_T_PTRACE_writes_memory_of_the_host():
        """process_vm_writev to a process of the host."""
        b = ctypes.create_string_buffer(8)
        v = struct.pack("QQ", ctypes.addressof(b), 8)
        return call("process_vm_writev", TARGET, v, 1, v, 1, 0)

    @attack.inside("EPERM")
    def test_T_PTRACE_writes_memory_of_init():
        """process_vm_writev to init."""
        b = ctypes.create_string_buffer(8)
        v = struct.pack("QQ", ctypes.addressof(b), 8)
        return call("process_vm_writev", 1, v, 1, v, 1, 0)

    @attack.inside("EPERM")
    def test_T_PTRACE_compares_kernel_objects():
        """kcmp tells the order of addresses in the kernel."""
        return call("kcmp", 1, os.getpid(), 0, 0, 0)

    @attack.inside("EPERM")
    def test_T_PTRACE_advises_another_process():
        """process_madvise: throw away the pages of another process."""
        return call("process_madvise", call("pidfd_open", 1, 0), 0, 0, 21, 0)

    @attack.inside("ENOENT", "EACCES", control=True)
    def test_T_PTRACE_reads_the_environment_of_a_host_process():
        """Read the environment of a process of the same user on the host."""
        return read("/proc/%d/environ" % TARGET)

    @attack.inside("EPERM")
    def test_T_INIT_takes_its_socket():
        """pidfd_getfd: take the socket on which init is told what to do."""
        return call("pidfd_getfd", call("pidfd_open", 1, 0), 3, 0)

    @attack.inside("EPERM")
    def test_T_INIT_takes_a_descriptor_of_the_driver():
        """pidfd_getfd from a process of the box."""
        return call("pidfd_getfd", call("pidfd_open", os.getppid(), 0), 0, 0)

    @attack.inside("done")
    def test_T_INIT_ignores_every_signal():
        """Send init every signal; it must be there afterwards (checked below, too)."""
        for n in range(1, 65):
            try:
                os.kill(1, n)
            except OSError:
                pass
        time.sleep(0.05)
        return os.kill(1, 0)

    @attack.inside("EACCES", "EPERM")
    def test_T_INIT_changes_its_oom_score():
        """Have the kernel kill init first."""
        return write("/proc/1/oom_score_adj", b"1000")

    @attack.inside("EACCES", "EPERM", "EINVAL")
    def test_T_INIT_renames_it():
        """Write /proc/1/comm."""
        return write("/proc/1/comm", b"x")

    @attack.inside("EPERM", "EACCES", "ENOTCONN", "ENXIO")
    def test_T_INIT_opens_its_socket_through_proc():
        """Open /proc/1/fd/3."""
        return os.open("/proc/1/fd/3", os.O_RDWR)


class Init(harness.Case):
    """What user code may do to init costs its own step only, and the record says so."""

    def check(self, code, *statuses):
        done = attack.record(code, "--timeout", "3s")
        self.assertIn(done["status"], statuses, done)
        return done

    def test_T_INIT_resource_limits_lowered(self):
        """prlimit(1): no descriptors, no processes, no CPU time for init."""
        self.check("import resource, time\n"
                   "for n in ('NOFILE', 'NPROC', 'FSIZE', 'DATA', 'STACK', 'CPU'):\n"
                   "    try: resource.prlimit(1, getattr(resource, 'RLIMIT_' + n), (0, 0))\n"
                   "    except Exception as e: print(n, e)\n"
                   "time.sleep(0.3)\n", "ok", "killed", "error")

    def test_T_INIT_flooded_with_orphans(self):
        """Thousands of orphans for init to reap while it is asked to do other things."""
        done = self.check("import os\n"
                          "for i in range(1500):\n"
                          "    try: pid = os.fork()\n"
                          "    except OSError: continue\n"
                          "    if pid == 0:\n"
                          "        try: os.fork()\n"
                          "        except OSError: pass\n"
                          "        os._exit(0)\n"
                          "    os.waitpid(pid, 0)\n"
                          "'survived'", "ok", "timeout")
        self.assertEqual(done["status"] == "ok", "value" in done)

    def test_T_INIT_flooded_with_signals(self):
        """A storm of signals to init."""
        self.check("import os, signal, time\n"
                   "end = time.time() + 1\n"
                   "while time.time() < end:\n"
                   "    for n in (2, 9, 10, 15, 17, 19, 34, 64):\n"
                   "        try: os.kill(1, n)\n"
                   "        except OSError: pass\n", "ok")

    def test_T_INIT_driver_stopped(self):
        """The driver stops itself: nothing answers any more."""
        self.check("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", "timeout", "killed")

    def test_T_INIT_driver_ignores_the_interrupt(self):
        """A step that cannot be interrupted ends all the same."""
        start = time.monotonic()
        self.check("import signal\n"
                   "for n in range(1, 65):\n"
                   "    try: signal.signal(n, signal.SIG_IGN)\n"
                   "    except (OSError, ValueError): pass\n"
                   "while True: pass", "timeout")
        self.assertLess(time.monotonic() - start, 20)


class Outlive(harness.Case):
    """A box dies with its step, its engine, its warden."""

    BEAT = ("import os, sys, time\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork(): os._exit(0)\n"
            "    while True:\n"
            "        open('beat', 'w').write(str(time.time())); time.sleep(0.02)\n"
            "while not os.path.exists('beat'): time.sleep(0.01)\n")

    def beating(self, directory, wait=0.5):
        path = os.path.join(directory, "beat")
        if not os.path.exists(path):
            return False
        before = os.stat(path).st_mtime_ns
        time.sleep(wait)
        return os.stat(path).st_mtime_ns != before

    def start(self):
        directory = harness.make_dir()
        process = attack.popen(self.BEAT + "time.sleep(60)", "-w", directory)
        end = time.monotonic() + 20
        while not self.beating(directory, 0.1):
            self.assertLess(time.monotonic(), end, "the control: no heartbeat")
        return directory, process

    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(n) for n in f.read().split()]

    def check_dead(self, directory):
        end = time.monotonic() + 5
        while self.beating(directory):
            self.assertLess(time.monotonic(), end, "a process of the box is still there")

    def test_T_OUTLIVE_a_daemon_outlives_the_step(self):
        """Fork twice, make a session, go on after the step."""
        directory = harness.make_dir()
        done = attack.record(self.BEAT + "6 * 7", "-w", directory)
        self.assertEqual(done["status"], "ok")
        self.assertTrue(os.path.exists(os.path.join(directory, "beat")))
        self.assertFalse(self.beating(directory))

    def test_T_OUTLIVE_engine_killed(self):
        """Go on when the engine is killed."""
        directory, process = self.start()
        process.kill()
        process.communicate()
        self.check_dead(directory)

    def test_T_OUTLIVE_warden_killed(self):
        """Go on when the warden is killed; the engine must notice."""
        directory, process = self.start()
        for pid in self.children(process.pid):
            os.kill(pid, signal.SIGKILL)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.check_dead(directory)
            self.fail("the engine still waits 15 s after its warden died")
        self.check_dead(directory)

    def test_T_OUTLIVE_engine_terminated(self):
        """Go on when the engine is asked to end, twice."""
        directory, process = self.start()
        process.terminate()
        time.sleep(0.1)
        process.terminate()
        attack.finish(process, 20)
        self.check_dead(directory)


class Leaks(harness.Case):
    """What a box inherits."""

    LIST = ("import os\n"
            "found = {}\n"
            "for fd in range(4096):\n"
            "    try: found[fd] = os.readlink('/proc/self/fd/%d' % fd)\n"
            "    except OSError: pass\n")

    def test_T_DESCRIPTOR_inherited_from_the_caller(self):
        """A program that starts retort has files open without close-on-exec."""
        secret = secrets.token_hex(16)
        path = os.path.join(harness.make_dir(), "secret")
        with open(path, "w+", encoding="ascii") as f:
            f.write(secret)
            f.flush()
            fds = [3, 4, 5, 7, 50, 99, 500, 501, 502, 1000]
            directory = os.open(os.path.dirname(path), os.O_RDONLY)
            code = (self.LIST + "for fd in found:\n"
                    "    try: print(os.pread(fd, 99, 0))\n"
                    "    except OSError: pass\n"
                    "    try: print(os.listdir(fd))\n"
                    "    except OSError: pass\n"
                    "print(found)")
            copies = []
            for fd in fds:
                try:
                    os.fstat(fd)
                except OSError:
                    os.dup2(directory if fd == 99 else f.fileno(), fd, inheritable=True)
                    copies.append(fd)
            try:
                done = subprocess.run(
                    [harness.RETORT, "run", "-c", code], capture_output=True, check=False,
                    pass_fds=copies, env=harness.environment(), timeout=60)
            finally:
                for fd in [*copies, directory]:
                    os.close(fd)
        self.assertTrue(copies)
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn(secret.encode(), done.stdout)
        self.assertNotIn(b"/secret", done.stdout)

    def test_T_DESCRIPTOR_only_its_own(self):
        """Count descriptors: standard streams, the channel, and the driver's copies of those."""
        done = attack.record(self.LIST + "sorted({v.split(':')[0] for v in found.values()})")
        self.assertEqual(done["value"]["text/plain"], "['/dev/null', 'pipe', 'socket']")

    def test_T_DESCRIPTOR_standard_streams_closed(self):
        """Start retort with standard streams closed: its sockets must not take their numbers."""
        for fds in ((0,), (0, 1), (0, 1, 2), (2,)):
            def close(numbers=fds):
                for fd in numbers:
                    os.close(fd)
            out = os.path.join(harness.make_dir(), "out")
            done = subprocess.run(
                [harness.RETORT, "run", "-w", os.path.dirname(out), "-c",
                 self.LIST + "open('out', 'w').write(repr(found))"], check=False,
                preexec_fn=close, capture_output=True, timeout=60, env=harness.environment())
            with self.subTest(fds=fds):
                if done.returncode == 0:
                    with open(out, encoding="utf-8") as f:
                        names = set(eval(f.read()).values())
                    self.assertLessEqual({n.split(":")[0] for n in names},
                                         {"/dev/null", "pipe", "socket"}, names)
                else:
                    # Output that cannot be shown is an error as well.
                    self.assertIn(done.returncode, (1, 2, 125), done)
                    self.assertLessEqual(len(done.stderr.splitlines()), 1, done)

    def test_T_DESCRIPTOR_standard_input_is_not_the_file(self):
        """--stdin FILE: the descriptor must not be the host's file, writable or by /proc."""
        secret = secrets.token_hex(16)
        path = os.path.join(harness.make_dir(), "input")
        with open(path, "w", encoding="ascii") as f:
            f.write(secret)
        done = attack.record(
            "import os\n"
            "for flags in (os.O_RDWR, os.O_WRONLY):\n"
            "    try: os.write(os.open('/proc/self/fd/0', flags), b'overwritten')\n"
            "    except OSError: pass\n"
            "os.readlink('/proc/self/fd/0')", "--stdin", path)
        self.assertIn("pipe", done["value"]["text/plain"])
        with open(path, encoding="ascii") as f:
            self.assertEqual(f.read(), secret)

    def test_T_ENVIRONMENT_of_the_caller(self):
        """Look for a variable of the caller in every environment and memory there is."""
        secret = secrets.token_hex(16)
        code = ("import os\n"
                "found = [dict(os.environ)]\n"
                "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
                "    for name in ('environ', 'cmdline'):\n"
                "        try: found.append(open('/proc/%s/%s' % (pid, name), 'rb').read())\n"
                "        except OSError as e: found.append(e)\n"
                "print(found)")
        env = {"AWS_SECRET_ACCESS_KEY": secret, "RETORT_SECRET": "", "LD_PRELOAD": "",
               "PYTHONPATH": secret, "PYTHONSTARTUP": "/" + secret}
        done = attack.record(code, env=env)
        self.assertEqual(done["status"], "ok", done)
        self.assertNotIn(secret, str(done))
        # The control: a variable that was named does arrive.
        done = attack.record(code, "-e", "AWS_SECRET_ACCESS_KEY", env=env)
        self.assertIn(secret, done["stdout"])

    def test_T_ENVIRONMENT_shows_no_user(self):
        """Learn who started retort, where, and with which arguments."""
        directory = harness.make_dir()
        code = ("import os, getpass, pwd, socket\n"
                "print(os.environ, os.getuid(), pwd.getpwall(), socket.gethostname(), os.getcwd(),\n"
                "      open('/proc/self/uid_map').read(), os.getgroups())")
        done = attack.record(code, cwd=directory)
        self.assertNotIn(directory, done["stdout"])
        self.assertNotIn(os.uname().nodename + "'", done["stdout"].replace("'retort'", ""))

    def test_T_CORE_no_file(self):
        """Crash: no core file anywhere in the workspace."""
        directory = harness.make_dir()
        done = attack.record("import ctypes\nctypes.string_at(0)", "-w", directory)
        self.assertEqual(done["status"], "killed")
        self.assertEqual(os.listdir(directory), [])

    def test_T_CORE_handler_of_the_host(self):
        """A pipe in core_pattern runs as root on the host, whatever RLIMIT_CORE is but 1 (core(5)).

        A crash must not start it: the limit is 1 and can be neither raised nor lowered, or no
        process of the box can be made dumpable.
        """
        done = attack.record(
            "import ctypes, resource\n"
            "libc = ctypes.CDLL(None)\n"
            "for pair in ((0, 0), (0, 1), (4096, 4096), (-1, -1)):\n"
            "    try: resource.setrlimit(resource.RLIMIT_CORE, pair)\n"
            "    except (OSError, ValueError): pass\n"
            "    try: resource.prlimit(0, resource.RLIMIT_CORE, pair)\n"
            "    except (OSError, ValueError): pass\n"
            "libc.prctl(4, 1, 0, 0, 0)\n"
            "line = [n for n in open('/proc/self/limits') if 'core' in n][0].split()\n"
            "print(line[4] == '1' or libc.prctl(3, 0, 0, 0, 0) == 0, line)")
        self.assertTrue(done["stdout"].startswith("True"), done["stdout"])

    def test_T_CORE_caller_without_core_files(self):
        """The caller's hard limit is 0 already, as on hardened hosts: a box starts all the same."""
        done = subprocess.run(
            [harness.RETORT, "run", "-c", "print(6 * 7)"], capture_output=True, check=False,
            timeout=60, env=harness.environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        self.assertEqual((done.returncode, done.stdout), (0, b"42\n"), done)


if __name__ == "__main__":
    harness.main()
