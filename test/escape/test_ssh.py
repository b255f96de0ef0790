# SPDX-License-Identifier: Apache-2.0
"""ssh to a box whose sshd is the attacker's: what it can get from whoever logs in."""

import os
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import callers  # noqa: E402
import harness  # noqa: E402
import image_system  # noqa: E402
import rpc  # noqa: E402

PARTS = ("/usr/sbin/sshd", "/usr/lib/openssh/sshd-session", "/usr/lib/openssh/sshd-auth")
TOOLS = ("bash", "sh", "env", "mkdir", "mv", "head", "yes", "sleep", "cat", "rm", "ls", "ln", "mkfifo", "chmod")


def make_root(root):
    """A /usr with sshd at another place; the attacker's program is at its own."""
    for program in [*PARTS, *(f"/usr/bin/{name}" for name in TOOLS)]:
        if not os.path.exists(program):
            continue
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout.split()
        for file in [program, *(word for word in libraries if word.startswith("/"))]:
            to = root + "/usr/" + file.removeprefix("/usr").lstrip("/")
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(file, to)
    os.rename(root + PARTS[0], root + "/usr/sbin/true-sshd")
    for name in ("bin", "lib", "lib64"):
        os.symlink(f"usr/{name}", os.path.join(root, name))
    for top, _, _ in os.walk(root):
        os.chmod(top, 0o755)


@unittest.skipUnless(os.path.exists(PARTS[0]) and shutil.which("ssh"), "openssh-server or openssh-client: not installed: `make deps`")
class Hostile(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.addClassCleanup(cls.engine.stop)
        root = harness.make_dir()
        make_root(root)
        image = image_system.pull_system(cls.engine.state, root, "evil", User="1000:1000")
        cls.client = cls.engine.client()
        cls.client("session.create", name="evil", runtime="shell", image=image)
        cls.env = {"RETORT_SOCKET": cls.engine.path}
        cls.lines = harness.retort("ssh-config", "evil", env=cls.env).out

    def ssh(self, script, *args, env=None, change=lambda text: text):
        """Log in, where sshd is @script. Returns: the result."""
        self.put(script)
        path = os.path.join(harness.make_dir(), "config")
        with open(path, "w", encoding="utf-8") as f:
            f.write(change(self.lines))
        return harness.Result(subprocess.run(["ssh", "-F", path, *args], capture_output=True, env=harness.environment(env),
                                             stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT_S, check=False))

    def put(self, script):
        put = f"cat >{PARTS[0]} && chmod 755 {PARTS[0]}"
        done = harness.retort("exec", "-i", "evil", "sh", "-c", put, env=self.env, stdin=f"#!/bin/sh\n{script}\n".encode())
        self.assertEqual((done.status, done.err), (0, ""))

    def in_box(self, script):
        return harness.retort("exec", "evil", "sh", "-c", script, env=self.env)

    def assert_nothing_runs(self):
        end = time.monotonic() + harness.TIMEOUT_S
        while [p for p in self.client("process.list", session="evil")["processes"] if p.get("keep_alive") and p["state"] == "running"]:
            self.assertLess(time.monotonic(), end, "a login is left")
            time.sleep(0.02)

    def test_T_SSH_TAKE_agent(self):
        """sshd asks for the agent. It gets one only if our lines are changed."""
        sock = os.path.join(harness.make_dir(), "agent")
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", sock], stdout=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.terminate)
        while not os.path.exists(sock):
            self.assertIsNone(agent.poll())
            time.sleep(0.01)
        eager = "exec /usr/sbin/true-sshd -o AllowAgentForwarding=yes -o X11Forwarding=yes -o AcceptEnv='*' \"$@\""
        variables = {"SSH_AUTH_SOCK": sock, "DISPLAY": ":7", "SECRET": "s3cret"}
        show = "echo \"agent <$SSH_AUTH_SOCK> display <$DISPLAY>\"; env"
        for options in ((), ("-A", "-X"), ("-o", "ForwardAgent=yes")):
            done = self.ssh(eager, *options, "evil", show, env=variables)
            self.assertIn("agent <> display <>\n", done.out, done)
            self.assertNotIn("s3cret", done.out)
        done = self.ssh(eager, "-A", "evil", show, env=variables, change=lambda text: text.replace("\tIdentityAgent none\n", ""))
        self.assertIn("agent </tmp/ssh-", done.out, done)

    def test_T_SSH_TERMINAL_reports(self):
        """What sshd reports has escapes, or no end."""
        done = self.ssh("printf '\\033]0;owned\\007\\033[2Jfirst\\r\\nsecond\\n' >&2; exit 9", "evil", "true")
        self.assertIn("retort: sshd: ", done.err)
        self.assertIn("second\n", done.err)
        for bad in ("\x1b", "\x07", "owned"):
            self.assertNotIn(bad, done.err)
        done = self.ssh("yes 'a line of a report' | head -c 30000000 >&2; exit 9", "evil", "true")
        self.assertIn("a line of a report", done.err)
        self.assertLess(len(done.err), 20000)

    def test_T_SSH_TERMINAL_silence_and_noise(self):
        """No sshd at all, but a program that talks and does not listen."""
        for script in ("yes", "head -c 3000000 /dev/zero", "exit 0", "exec 0<&- 1>&-; sleep 1000"):
            with self.subTest(script=script):
                done = self.ssh(script, "-o", "ConnectTimeout=5", "evil", "echo in")
                self.assertEqual((done.status, done.out), (255, ""), done)
                self.assert_nothing_runs()

    def test_T_SSH_KEYS_other_things_in_their_place(self):
        """A program of the box is there first. The login works, or fails in words."""
        honest = "exec /usr/sbin/true-sshd \"$@\""
        d = "/tmp/.retort-ssh"
        for script, works in ((f"mkfifo {d}/host {d}/keys {d}/login", True), (f"mkdir -p {d}/keys/keys/keys", False),
                              (f"echo >{d}", False), (f"ln -s /proc {d}", False), (f"ln -s {d} {d}", False)):
            with self.subTest(script=script):
                self.in_box(f"rm -rf {d}; case '{script}' in mkfifo*) mkdir {d};; esac; {script}")
                done = self.ssh(honest, "evil", "echo in")
                self.assertEqual((done.status == 0, done.out), (works, "in\n" if works else ""), done)
                self.assertTrue(works or done.err)
        self.in_box(f"rm -rf {d}")
        self.assertEqual(self.ssh(honest, "evil", "echo in").out, "in\n")

    def test_T_SSH_KEYS_for_no_other_box(self):
        """With its own key, a box is not taken for another session, and nobody logs in to one."""
        self.client("session.create", name="good")
        good = harness.retort("ssh-config", "good", env=self.env).out
        there = [line.split('"')[1] for text in (self.lines, good) for line in text.splitlines() if "UserKnownHosts" in line]
        self.assertEqual(self.ssh("exec /usr/sbin/true-sshd \"$@\"", "evil", "echo in").out, "in\n")
        path = os.path.join(harness.make_dir(), "config")
        with open(path, "w", encoding="utf-8") as f:
            f.write(good)
        self.assertEqual(subprocess.run(["ssh", "-F", path, "good", "echo in"], capture_output=True, check=True).stdout, b"in\n")
        # what leads to the box of the one, with what is known of the other
        done = self.ssh("exec /usr/sbin/true-sshd \"$@\"", "evil", "echo in", change=lambda text: text.replace(f'"{there[0]}"', f'"{there[1]}"'))
        self.assertEqual((done.status, done.out), (255, ""))
        self.assertIn("Host key verification failed", done.err)

    def test_T_SSH_NAME_of_another_callers_session(self):
        """Who names a session as somebody else's session does not get its logins, also when that one is gone."""
        with callers.Engine({"bob": ""}) as engine:
            env = {"RETORT_SOCKET": engine.path}
            bobs = engine.caller("bob")("session.create", name="work")["session"]
            done = harness.retort("ssh-config", "work", env=env)
            self.assertEqual((done.status, done.out), (126, ""), done)
            self.assertIn(f"session work is of the caller bob: if you mean it, name it by its id: {bobs}", done.err)
            own = engine.operator("session.create", name="work")["session"]
            path = os.path.join(harness.make_dir(), "config")
            with open(path, "w", encoding="utf-8") as f:
                f.write(harness.retort("ssh-config", "work", env=env).out)

            def login():
                return subprocess.run(["ssh", "-F", path, "work", "echo $RETORT_SESSION"], capture_output=True, text=True, check=False)
            self.assertEqual(login().stdout, own + "\n")
            engine.operator("session.close", session=own)
            done = login()
            self.assertEqual((done.returncode, done.stdout), (255, ""))
            self.assertIn("is of the caller bob", done.stderr)

    def test_T_SSH_FILES_of_somebody_else(self):
        """--keys names a directory with files of the same names: they stay."""
        path = harness.make_dir()
        for name in ("known_hosts", "id", "host"):
            with open(os.path.join(path, name), "w", encoding="utf-8") as f:
                f.write(name)
        for session, words in (("nosuch", "no session nosuch"), ("evil", "has files of somebody else")):
            done = harness.retort("ssh-proxy", "--keys", path, session, env=self.env)
            self.assertIn(words, done.err)
            self.assertEqual(sorted(os.listdir(path)), ["host", "id", "known_hosts"])


if __name__ == "__main__":
    harness.main()
