# SPDX-License-Identifier: Apache-2.0
"""Who may call at the unix sockets of an engine and its ports: programs in the network namespace in which it listens."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402

# A client in an interpreter of its own: sends what it is told, and prints what it was answered.
ASK = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(sys.argv[2].encode())
except BrokenPipeError:
    pass  # refused already; the answer says why
if len(sys.argv) == 3:
    print(s.makefile().readline())
"""


def starts(*argv):
    """Whether this host lets us start programs so."""
    if not shutil.which(argv[0]):
        return False
    return subprocess.run([*argv, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def line(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"


class Callers(harness.Case):
    def setUp(self):
        self.engine = service.Engine()
        self.addCleanup(self.engine.stop)

    def ask(self, *before, **kwargs):
        """What a client that is started with the words @before is answered."""
        done = subprocess.run([*before, sys.executable, "-c", ASK, self.engine.path, line("session.list")], check=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=harness.TIMEOUT_S, **kwargs)
        return json.loads(done.stdout)

    def skip_unless_starts(self, *argv):
        if not starts(*argv):
            self.skipTest("this host does not start " + " ".join(argv))

    def test_command_line(self):
        done = harness.retort("session", "new", "mine", "--socket", self.engine.path)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(self.engine.call("session.list")["sessions"][0]["name"], "mine")

    def test_client_that_is_gone_when_it_is_accepted(self):
        """It is answered for what it was when it connected: no process needs to be there any more."""
        session = self.engine.session()
        pid = self.engine.process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            subprocess.run([sys.executable, "-c", ASK, self.engine.path,
                            line("step.run", session=session.id, code="x = 42", detach=True), "leave"], check=True)
        finally:
            os.kill(pid, signal.SIGCONT)
        end = time.monotonic() + harness.TIMEOUT_S
        while session.value("globals().get('x')") != "42" and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(session.value("x"), "42")

    def test_in_another_user_namespace(self):
        """Neither another user namespace nor another sandbox is a reason to refuse: only the network counts."""
        self.skip_unless_starts("unshare", "-Ur")
        self.assertEqual(self.ask("unshare", "-Ur")["result"], {"sessions": []})

    def test_in_a_sandbox_with_the_hosts_network(self):
        sandbox = ("bwrap", "--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
        self.skip_unless_starts(*sandbox)
        self.assertEqual(self.ask(*sandbox)["result"], {"sessions": []})

    def test_in_another_network_namespace(self):
        self.skip_unless_starts("unshare", "-Urn")
        error = self.ask("unshare", "-Urn")["error"]
        self.assertEqual((error["data"]["code"], error["message"]),
                         ("access", "this engine serves no client in another network namespace"))
        self.assertIn("--listen", error["data"]["hint"])
        done = subprocess.run(["unshare", "-Urn", harness.RETORT, "session", "ls", "--socket", self.engine.path],
                              stdin=subprocess.DEVNULL, capture_output=True, env=harness.environment(), check=False,
                              timeout=harness.TIMEOUT_S, encoding="utf-8")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("in another network namespace", done.stderr)

    def test_connection_handed_to_another_network_namespace(self):
        """Who is cut off may be given a connection by a program that is not."""
        self.skip_unless_starts("unshare", "-Urn")
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.engine.path)
            code = "import socket, sys\ns = socket.socket(fileno=int(sys.argv[1]))\n" \
                   "s.sendall(sys.argv[2].encode()); print(s.makefile().readline())"
            done = subprocess.run(["unshare", "-Urn", sys.executable, "-c", code, str(s.fileno()), line("session.list")],
                                  stdin=subprocess.DEVNULL, capture_output=True, check=True, pass_fds=[s.fileno()],
                                  timeout=harness.TIMEOUT_S)
        self.assertEqual(json.loads(done.stdout)["result"], {"sessions": []})

    def test_port(self):
        """The unix socket of a port: served in another user namespace, closed in another network namespace."""
        self.skip_unless_starts("unshare", "-Urn")
        session = self.engine.session()
        session.run("import socket, threading\ns = socket.create_server(('127.0.0.1', 8000))\ndef go():\n    while True:\n"
                    "        c = s.accept()[0]; c.sendall(c.recv(100)); c.close()\n"
                    "threading.Thread(target=go, daemon=True).start()")
        path = self.engine.call("port.open", session=session.id, port=8000, listen="unix")["path"]
        code = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n" \
               "try:\n    s.sendall(b'well'); print(s.recv(100).decode())\nexcept OSError:\n    print()"
        for how, said in (("-Ur", "well"), ("-Urn", "")):
            done = subprocess.run(["unshare", how, sys.executable, "-c", code, path], stdin=subprocess.DEVNULL,
                                  capture_output=True, check=True, timeout=harness.TIMEOUT_S, encoding="utf-8")
            self.assertEqual(done.stdout.strip(), said, how)


if __name__ == "__main__":
    harness.main()
