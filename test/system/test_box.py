# SPDX-License-Identifier: Apache-2.0
"""What a program finds in a box is what it finds on a host: terminals, interfaces, limits, its own streams."""

import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import rpc  # noqa: E402

# Each line an attempt: its outcome is what it returns, or the name of the error.
ASK = """
import errno, os, resource, socket
def ask(f):
    try: return f()
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
    except ValueError as e: return str(e)
"""

TO_STREAMS = {
    "python": ("import sys\nfor n in ('out', 'err'): print(n, file=open('/dev/std' + n, 'w'))", None),
    "shell": ("echo out > /dev/stdout; echo err > /dev/stderr", "shell"),
    "javascript": ("for (const n of ['out', 'err']) require('fs').writeFileSync('/dev/std' + n, n + '\\n')", "javascript"),
}


class Run(harness.Case):
    def ask(self, *lines):
        code = ASK + "".join(f"print(repr(ask(lambda: {line})))\n" for line in lines)
        done = harness.run(code)
        self.assertEqual(done.status, 0, done)
        return [eval(line) for line in done.out.splitlines()]

    def test_limit_of_core_files(self):
        """It is 0, or the 1 that means the same; whoever sets it hears that there will be none."""
        self.assertEqual(self.ask(
            "resource.getrlimit(resource.RLIMIT_CORE)[0] <= 1", "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
            "resource.prlimit(0, resource.RLIMIT_CORE)[1] <= 1"), [True, None, True])
        done = harness.run("set -e; ulimit -c 0; ulimit -c; ulimit -a | grep -c core", "-r", "shell")
        self.assertEqual((done.status, done.out, done.err), (0, "0\n1\n", ""))

    def test_interfaces(self):
        self.assertEqual(self.ask("[n for _, n in socket.if_nameindex()]", "socket.if_nametoindex('lo')",
                                  "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)"), [["lo"], 1, "ENOTSUP"])
        done = harness.run("Object.keys(require('os').networkInterfaces())", "-r", "javascript")
        self.assertEqual((done.status, done.out), (0, "[ 'lo' ]\n"), done)

    def test_cpus_are_those_of_the_limit(self):
        n = min(2, len(os.sched_getaffinity(0)))
        for cpus, count in (("0.5", 1), ("1", 1), ("2", n), ("64", len(os.sched_getaffinity(0)))):
            done = harness.run("import os; print(os.cpu_count(), [d for d, _, f in os.walk('/sys') if f])", "--cpus", cpus)
            self.assertEqual(done.out, f"{count} ['/sys/devices/system/cpu']\n", done)

    def test_ids_it_does_not_have(self):
        """As for a user without privileges, so that `except PermissionError` catches it."""
        self.assertEqual(self.ask(
            "os.setuid(5)", "os.setgid(5)", "os.setresuid(-1, 5, -1)", "os.setregid(5, -1)", "os.chown('/tmp', 5, -1)",
            "os.chown('/home/user', -1, 5)", "os.lchown('/home/user', 5, 5)", "os.fchown(os.open('.', 0), 5, -1)",
            "os.chown('.', 5, -1, dir_fd=os.open('.', 0))"), ["EPERM"] * 9)
        self.assertEqual(self.ask("os.setuid(1000)", "os.setresgid(1000, -1, 1000)", "os.chown('.', 1000, -1)",
                                  "os.chown('.', -1, 1000, follow_symlinks=False)"), [None] * 4)

    def test_streams_are_opened_again(self):
        for name, (code, runtime) in TO_STREAMS.items():
            with self.subTest(name):
                done = harness.run(code, *(("-r", runtime) if runtime else ()))
                self.assertEqual((done.status, done.out, done.err), (0, "out\n", "err\n"), done)
        done = harness.run("cat /dev/stdin | tee /dev/stderr", "-r", "shell", "--stdin", "-", stdin=b"in\n")
        self.assertEqual((done.status, done.out, done.err), (0, "in\n", "in\n"), done)

    def test_terminals(self):
        code = ("import os, pty, sys\n"
                "pid, fd = pty.fork()\n"
                "if pid == 0: os.execlp('sh', 'sh', '-c', 'tty; echo to >/dev/tty; read x; echo $((x * 7))')\n"
                "os.write(fd, b'6\\n')\n"
                "text = b''\n"
                "try:\n"
                "    while True: text += os.read(fd, 99)\n"
                "except OSError: pass\n"
                "os.waitpid(pid, 0)\n"
                "print(text.decode().split())\n"
                "try: open('/dev/tty')\n"
                "except OSError as e: print(e)\n")
        done = harness.run(code)
        self.assertEqual(done.out.splitlines()[1:], ["[Errno 6] No such device or address: '/dev/tty'"], done)
        self.assertEqual(sorted(eval(done.out.splitlines()[0])), ["/dev/pts/0", "42", "6", "to"])

    @unittest.skipUnless(shutil.which("script"), "needs script")
    def test_script(self):
        done = harness.run("script -qc 'test -t 1 && echo x' /dev/null", "-r", "shell")
        self.assertEqual((done.status, done.out), (0, "x\r\n"), done)

    def test_links_of_usr_lead_somewhere(self):
        """Each link of the host's /usr that leads to a file there does so in a box, but for two that may be secret."""
        kept = ("/etc/environment", "/etc/ssl/private", "/etc/maven")
        look = ("import os\n"
                "for top, dirs, files in os.walk('/usr'):\n"
                "    for name in dirs + files:\n"
                "        path = os.path.join(top, name)\n"
                "        if os.path.islink(path) and os.readlink(path).startswith('/etc/') and not os.path.exists(path):\n"
                "            print(os.readlink(path))\n")
        done = harness.run(look)
        self.assertEqual(done.status, 0, done)
        gone = [link for link in done.out.split() if os.path.exists(link) and link not in kept]
        self.assertEqual(gone, [])

    @unittest.skipUnless(shutil.which("javac"), "needs a JDK")
    def test_java(self):
        done = harness.run("printf 'public class A { public static void main(String[] a) { System.out.println(42); } }' "
                           ">A.java; javac A.java && java A", "-r", "shell", "-m", "4g", "--timeout", "100s")
        self.assertEqual((done.status, done.out), (0, "42\n"), done)


class Session(harness.Case):
    def test_in_a_session_and_its_branches(self):
        engine = rpc.Engine()
        self.addCleanup(engine.stop)
        client = engine.client()
        main = client("session.create")["session"]
        for name, (code, runtime) in TO_STREAMS.items():
            record = client.run(main, code, **({"runtime": runtime} if runtime else {}))
            self.assertEqual((record["stdout"], record["stderr"]), ("out\n", "err\n"), name)
        self.assertEqual(client.value(main, "open('/dev/stdin').read()", stdin="in"), "in")
        client.run(main, "import os, pty, socket\nmaster, slave = pty.openpty()")
        limits = client.run(main, "1", timeout_ms=5000)["limits"]  # what nobody gave follows
        self.assertEqual((limits["timeout_ms"]["value"], limits["cpu_ms"]["value"]), (5000, 5000))
        twin = client("session.branch", session=main)["session"]
        # It makes its own, from the first one on.
        self.assertEqual(client.value(twin, "pty.openpty() and os.listdir('/dev/pts')"), ['0', 'ptmx'])
        self.assertEqual(client.value(main, "os.listdir('/dev/pts')"), ['ptmx'])  # that went on as a branch, too
        # What libraries take for "no such thing here": getifaddrs() of libzmq ends the process on others.
        self.assertIn("[Errno 95]", client.run(twin, "socket.socket(16, 3, 0)")["error"]["message"])


if __name__ == "__main__":
    harness.main()
