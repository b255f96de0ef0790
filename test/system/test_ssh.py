# SPDX-License-Identifier: Apache-2.0
"""A session as a host of ssh: logins, commands, copies, git, forwarded ports, and what is refused."""

import concurrent.futures
import contextlib
import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import image_system  # noqa: E402
import rpc  # noqa: E402
from terminal import Terminal  # noqa: E402

NEEDS = {"ssh": "openssh-client", "sshd": "openssh-server", "rsync": "rsync", "git": "git"}

# Answers on a port and on a socket, as the server of an editor does.
EDITOR_SERVER = """
import socket, threading
def serve(listener, name):
    while True:
        client, _ = listener.accept()
        client.sendall(name + client.makefile("rb").read())
        client.close()
local = socket.socket(socket.AF_UNIX)
local.bind("/tmp/editor.sock")
local.listen()
port = socket.create_server(("127.0.0.1", 0))
for listener, name in ((local, b"unix "), (port, b"tcp ")):
    threading.Thread(target=serve, args=(listener, name)).start()
print(f"port={port.getsockname()[1]}", flush=True)
"""


def needs(*programs):
    missing = [NEEDS[p] for p in programs if not shutil.which(p, path="/usr/bin:/bin:/usr/sbin")]
    return unittest.skipIf(missing, f"{', '.join(missing)}: not installed: `make deps`")


@contextlib.contextmanager
def server_of(data):
    """A server on a port of ours that sends @data to one client."""
    def serve():
        with contextlib.suppress(OSError):
            client, _ = listener.accept()
            client.sendall(data)
            client.close()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@needs("ssh", "sshd")
class Case(harness.Case):
    """An engine for the class, with the session `work`, and ssh's settings for it."""

    params = {}  # of the session

    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.addClassCleanup(cls.engine.stop)
        cls.dir = harness.make_dir()
        cls.state = os.path.join(cls.dir, "state")
        cls.env = {"RETORT_SOCKET": cls.engine.path, "XDG_STATE_HOME": cls.state}
        cls.client = cls.engine.client()
        cls.session = cls.client("session.create", name="work", **cls.params)["session"]
        cls.config = cls.settings("work")

    @classmethod
    def settings(cls, *sessions, change=lambda text: text):
        """A file with what `retort ssh-config` prints."""
        done = harness.retort("ssh-config", *sessions, env=cls.env)
        assert (done.status, done.err) == (0, ""), done
        fd, path = tempfile.mkstemp(dir=cls.dir)
        with open(fd, "w", encoding="utf-8") as f:
            f.write(change(done.out))
        return path

    def start(self, *args, program="ssh", config=None, **more):
        return subprocess.Popen([program, "-F", config or self.config, *args], env=harness.environment(more.pop("env", None)),
                                cwd=self.dir, stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def ssh(self, *args, program="ssh", config=None, stdin=b"", env=None, cwd=None):
        """Run ssh, or another program with its settings, to its end."""
        return harness.Result(subprocess.run(
            [program, "-F", config or self.config, *args], input=stdin, capture_output=True,
            env=harness.environment(env), cwd=cwd or self.dir, timeout=harness.TIMEOUT_S, check=False))

    def out(self, *args, **more):
        done = self.ssh(*args, **more)
        self.assertEqual((done.status, done.err), (0, ""))
        return done.out

    def tool(self, *argv, env=None, cwd=None):
        """Run a program that runs ssh. Returns: its stdout."""
        done = subprocess.run(argv, env=harness.environment({"GIT_SSH_COMMAND": f"ssh -F {self.config}", **(env or {})}),
                              cwd=cwd or self.dir, capture_output=True, timeout=harness.TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode()

    def retort(self, *args, **more):
        return harness.retort(*args, env=self.env, **more)

    def running(self, session="work"):
        return [p for p in self.client("process.list", session=session)["processes"] if p["state"] == "running"]

    def keys(self, session="work"):
        """The directory of the session's keys."""
        with open(self.settings(session), encoding="utf-8") as f:
            return next(line.split('"')[1] for line in f if "IdentityFile" in line).removesuffix("/id")


class Commands(Case):
    params = {"env": {"ODD": "a 'b' \"c\" $d\nsecond line", "PATH": "/home/user/bin:/usr/bin:/bin"}}

    def test_streams_and_status(self):
        done = self.ssh("work", "echo out; echo err >&2; exit 3")
        self.assertEqual((done.status, done.out, done.err), (3, "out\n", "err\n"))
        self.assertEqual(self.ssh("work", "exit 255").status, 255)
        self.assertEqual(self.out("work", "cat; echo end", stdin=b"in\n"), "in\nend\n")
        # the end of one direction is not that of the other
        self.assertEqual(self.out("work", "exec >&-; cat >late", stdin=b"late\n"), "")
        self.assertEqual(self.out("work", "cat late"), "late\n")

    def test_environment_is_that_of_the_session(self):
        show = "pwd; id; umask; for v in HOME LANG ODD PATH RETORT RETORT_SESSION TMPDIR; do eval \"echo $v=\\$$v\"; done"
        expected = self.retort("exec", "work", "bash", "-c", show).out
        self.assertIn("second line\nPATH=/home/user/bin:", expected)
        self.assertEqual(self.out("work", show), expected)
        self.assertEqual(self.out("work", "compgen -v | grep -e ^SSH_O -e RETORT_SSH -e MAIL; echo $SHELL $0"),
                         "/bin/bash /bin/bash\n")

    def test_nothing_of_ours_gets_in(self):
        sock = os.path.join(harness.make_dir(), "agent")
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", sock], stdout=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.terminate)
        self.until(lambda: os.path.exists(sock))
        # sshd refuses, too
        careless = self.settings("work", change=lambda text: text.replace("\tIdentityAgent none\n", ""))
        for config in (self.config, careless):
            got = self.ssh("-A", "-X", "-o", "SendEnv=*", "work", "env", config=config,
                           env={"SECRET": "s3cret", "SSH_AUTH_SOCK": sock, "DISPLAY": ":7"}).out
            self.assertIn("RETORT_SESSION=", got)
            for word in ("s3cret", "SSH_AUTH_SOCK", "DISPLAY", self.dir):
                self.assertNotIn(word, got)

    def test_input_and_output_of_any_size(self):
        n = harness.sample(20, 200) << 20
        path = os.path.join(self.dir, "big")
        with open(path, "wb") as f:
            for _ in range(n >> 20):
                f.write(os.urandom(1 << 20))
        with open(path, "rb") as f:
            expected = hashlib.sha256(f.read()).hexdigest()
        with open(path, "rb") as f:
            done = self.start("work", "tee >(sha256sum >&2)", stdin=f)
            back, told = done.communicate(timeout=10 * harness.TIMEOUT_S)
        self.assertEqual((done.returncode, told.decode().split()[0]), (0, expected))
        self.assertEqual(hashlib.sha256(back).hexdigest(), expected)

    def test_ten_at_once_and_many_over_one_connection(self):
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            got = list(pool.map(lambda i: self.out("work", f"echo {i}; read line", stdin=b"x\n"), range(10)))
        self.assertEqual(got, [f"{i}\n" for i in range(10)])
        control = ("-o", f"ControlPath={self.dir}/m")
        master = self.start("-M", "-N", *control, "work")
        self.until(lambda: self.ssh("-O", "check", *control, "work").status == 0)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            got = list(pool.map(lambda i: self.out(*control, "work", f"echo {i}"), range(12)))
        self.assertEqual(got, [f"{i}\n" for i in range(12)])
        self.ssh("-O", "exit", *control, "work")
        master.communicate(timeout=harness.TIMEOUT_S)
        self.until(lambda: not [p for p in self.running() if p.get("keep_alive")])

    def test_logout_ends_sshd_and_leaves_what_was_detached(self):
        self.assertEqual(self.out("work", "setsid sleep 4321 >/dev/null 2>&1 & echo started"), "started\n")
        self.until(lambda: not [p for p in self.running() if p.get("keep_alive")])
        # a process has no command line while it is being executed
        self.until(lambda: len([p for p in self.running() if "sleep 4321" in p.get("command", "")]) == 1)
        self.out("work", "pkill sleep")

    def test_a_login_counts_as_use(self):
        login = self.start("work", "read line", stdin=subprocess.PIPE)
        process = self.until(lambda: next((p for p in self.running() if p.get("keep_alive")), None))
        self.assertEqual(process["by"], "call")
        login.communicate(b"\n", timeout=harness.TIMEOUT_S)
        self.assertEqual(login.returncode, 0)

    def test_ctrl_c_ends_ssh_and_what_belongs_to_it(self):
        login = self.start("work", "echo in; sleep 1234", start_new_session=True)
        self.assertEqual(login.stdout.readline(), b"in\n")
        os.killpg(login.pid, signal.SIGINT)
        login.communicate(timeout=harness.TIMEOUT_S)
        self.until(lambda: not [p for p in self.running() if p.get("keep_alive")])


    def test_ctrl_c_that_is_ignored(self):
        """sftp has ssh ignore SIGINT, so that only a transfer is interrupted, not the connection."""
        login = self.start("work", "echo in; cat", stdin=subprocess.PIPE, start_new_session=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertEqual(login.stdout.readline(), b"in\n")
        os.killpg(login.pid, signal.SIGINT)
        out, err = login.communicate(b"still\n", timeout=harness.TIMEOUT_S)
        self.assertEqual((login.returncode, out, err), (0, b"still\n", b""))


class AtATerminal(Case):
    def test_shell(self):
        terminal = Terminal("-tt", "-F", self.config, "work", program="ssh", rows=33, columns=101)
        self.addCleanup(terminal.close)
        terminal.wait(r"\$ ")
        terminal.type("stty size; tty; shopt login_shell\r")
        terminal.wait(r"33 101\r\n/dev/pts/\d+\r\nlogin_shell +\ton\r\n")
        terminal.wait(r"\$ ")
        terminal.resize(20, 60)
        terminal.type("until stty size | grep '20 60'; do sleep 0.05; done; echo re''sized\r")
        terminal.wait("resized\r\n")
        terminal.wait(r"\$ ")
        terminal.type("sh -c 'echo re''ads; cat'\r")
        terminal.wait("reads\r\n")
        terminal.type("line\r")
        terminal.wait("line\r\nline\r\n")  # it is there, and reads
        terminal.type("\x03")
        terminal.wait(r"\^C[^$]*\$ ")
        terminal.type("echo status=$?\r")
        terminal.wait("status=130")
        terminal.wait(r"\$ ")
        terminal.type("exit 7\r")
        self.assertEqual(terminal.end(), 7)

    def test_closed_window_ends_the_shell(self):
        terminal = Terminal("-tt", "-F", self.config, "work", program="ssh")
        terminal.wait(r"\$ ")
        self.assertTrue([p for p in self.running() if p.get("keep_alive")])
        terminal.close()
        self.until(lambda: not [p for p in self.running() if "bash" in p.get("command", "") or p.get("keep_alive")])


class Tools(Case):
    def tree(self):
        top = os.path.join(harness.make_dir(), "tree")
        os.makedirs(os.path.join(top, "sub"))
        for name, data in (("a b.txt", b"one\n"), ("sub/bin", bytes(range(256)) * 4000), ("run.sh", b"#!/bin/sh\necho ran\n")):
            with open(os.path.join(top, name), "wb") as f:
                f.write(data)
        os.chmod(os.path.join(top, "run.sh"), 0o755)
        return top

    def same(self, one, two):
        self.assertEqual(subprocess.run(["diff", "-r", one, two], capture_output=True, check=False).stdout, b"")
        self.assertTrue(os.access(os.path.join(two, "run.sh"), os.X_OK))

    def test_scp(self):
        for i, old in enumerate(([], ["-O"])):  # over sftp, and as it was before
            top, back = self.tree(), harness.make_dir()
            done = self.ssh("-q", "-r", *old, top, f"work:copy{i}", program="scp")
            self.assertEqual((done.status, done.err), (0, ""))
            done = self.ssh("-q", "-r", "-p", *old, f"work:copy{i}", back, program="scp")
            self.assertEqual((done.status, done.err), (0, ""))
            self.same(top, os.path.join(back, f"copy{i}"))
            self.assertEqual(self.retort("exec", "work", f"copy{i}/run.sh").out, "ran\n")

    def test_sftp(self):
        done = self.ssh("-b", "-", "work", program="sftp", stdin=b"mkdir d\ncd d\nput /etc/hosts h\nls -l\nget h got\n")
        self.assertEqual(done.status, 0, done)
        with open("/etc/hosts", "rb") as a, open(os.path.join(self.dir, "got"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    @needs("rsync")
    def test_rsync(self):
        top, back = self.tree(), harness.make_dir()
        remote = f"ssh -F {self.config}"
        self.tool("rsync", "-a", "-e", remote, top + "/", "work:synced/")
        self.tool("rsync", "-a", "-e", remote, "work:synced/", back)
        self.same(top, back)

    @needs("git")
    def test_git(self):
        self.out("work", "git init -q --bare -b main repo.git")
        here = harness.make_dir()
        self.tool("git", "init", "-q", "-b", "main", here)
        self.tool("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first", cwd=here)
        self.tool("git", "push", "-q", "ssh://work/home/user/repo.git", "main", cwd=here)
        for url in ("ssh://work/home/user/repo.git", "work:repo.git"):
            clone = os.path.join(harness.make_dir(), "clone")
            self.tool("git", "clone", "-q", url, clone)
            self.assertEqual(self.tool("git", "log", "--format=%s", cwd=clone), "first\n")

    def test_forwarded_ports(self):
        self.out("work", "mkdir -p www; echo from the box >www/index.html")
        server = self.start("work", "cd www; python3 -u -m http.server -b 127.0.0.1 8123")
        self.assertIn(b"8123", server.stdout.readline())
        local = os.path.join(self.dir, "local")
        forward = self.start("-N", "-o", "ExitOnForwardFailure=yes", "-L", f"{local}:127.0.0.1:8123", "work")
        self.until(lambda: os.path.exists(local))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(local)
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertTrue(client.makefile("rb").read().endswith(b"\r\n\r\nfrom the box\n"))
        for process in (forward, server):
            process.terminate()
            process.communicate(timeout=harness.TIMEOUT_S)

    def test_as_editors_do(self):
        """Upload a server, start it by a script on stdin, and reach it later: by SOCKS (-D) as VS Code does, by a socket."""
        path = os.path.join(harness.make_dir(), "server.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(EDITOR_SERVER)
        done = self.ssh("-q", path, "work:.editor-server", program="scp")
        self.assertEqual((done.status, done.err), (0, ""))
        script = b"nohup python3 .editor-server >log 2>&1 </dev/null &\nuntil grep -qs port= log; do sleep 0.05; done; cat log\n"
        port = int(self.out("-T", "work", "sh", stdin=script).split("port=")[1])
        self.until(lambda: not [p for p in self.running() if p.get("keep_alive")])
        with socket.create_server(("127.0.0.1", 0)) as free:
            ours = free.getsockname()[1]
        local = os.path.join(self.dir, "editor")
        forward = self.start("-N", "-D", f"127.0.0.1:{ours}", "-L", f"{local}:/tmp/editor.sock", "work")
        self.until(lambda: os.path.exists(local))
        with socket.create_connection(("127.0.0.1", ours)) as client:
            answers = client.makefile("rb")
            client.sendall(b"\5\1\0")
            self.assertEqual(answers.read(2), b"\5\0")
            client.sendall(b"\5\1\0\1\x7f\0\0\1" + port.to_bytes(2, "big"))
            self.assertEqual(answers.read(10)[1], 0)
            client.sendall(b"hello")
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(answers.read(), b"tcp hello")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(local)
            client.sendall(b"hello")
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(client.makefile("rb").read(), b"unix hello")
        forward.terminate()
        forward.communicate(timeout=harness.TIMEOUT_S)

    def test_a_port_of_ours_if_we_ask(self):
        """-R, which only whoever runs ssh can ask for."""
        with server_of(b"from the host") as port:
            got = self.out("-R", f"9001:127.0.0.1:{port}", "work",
                           "python3 -c 'import socket; print(socket.create_connection((\"127.0.0.1\", 9001)).recv(99).decode())'")
        self.assertEqual(got, "from the host\n")


class Refused(Case):
    def assert_refused(self, done, *words):
        self.assertEqual(done.status, 255, done)
        for word in words:
            self.assertIn(word, done.err)
        self.assertEqual(done.out, "")

    def test_other_keys(self):
        self.out("work", "true")
        other = os.path.join(harness.make_dir(), "other")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
        wrong = self.settings("work", change=lambda text: text.replace(f'IdentityFile "{self.keys()}/id"', f"IdentityFile {other}"))
        self.assert_refused(self.ssh("work", "echo in", config=wrong), "Permission denied")
        with open(other + ".pub", encoding="utf-8") as f:
            known = "retort " + f.read()
        with open(other, "w", encoding="utf-8") as f:
            f.write(known)
        wrong = self.settings("work", change=lambda text: text.replace(f"{self.keys()}/known_hosts", other))
        self.assert_refused(self.ssh("work", "echo in", config=wrong), "Host key verification failed")

    def test_what_is_missing_is_named(self):
        unknown = self.settings("work", change=lambda text: text.replace(" work\n", " nope\n").replace("Host nope", "Host work"))
        self.assert_refused(self.ssh("work", "true", config=unknown), "no session nope")
        gone = self.settings("work", change=lambda text: text.replace(self.engine.path, self.engine.path + "gone"))
        self.assert_refused(self.ssh("work", "true", config=gone), "no engine at")
        self.assertEqual(self.retort("ssh-config", "nope").status, 2)
        done = self.retort("ssh-proxy")
        self.assertEqual(done.status, 2)
        self.assertIn("the session is missing", done.err)
        self.client("session.create", name="fresh")
        done = harness.retort("ssh-proxy", "fresh", env={**self.env, "PATH": "/nowhere"})
        self.assertIn("ssh-keygen", done.err)
        self.assertIn("openssh-client", done.err)

    def test_boxes_that_cannot_have_logins(self):
        root = harness.make_dir()
        for path in ("/bin/bash", "/bin/sh"):
            self.copy_program(path, root)
        for name in ("bin", "lib", "lib64"):
            os.symlink(f"usr/{name}", os.path.join(root, name))
        os.chmod(root, 0o755)
        for name, user, *words in (("bare", "1000", "no sshd in the box", "openssh-server"), ("root", "0", "the user of the box is root")):
            with self.subTest(name):
                image = image_system.pull_system(self.engine.state, root, name, User=user)
                self.client("session.create", name=name, runtime="shell", image=image)
                self.assertEqual(self.retort("exec", name, "sh", "-c", "echo in").out, "in\n")
                self.assert_refused(self.ssh(name, "true", config=self.settings(name)), *words)

    def copy_program(self, path, root):
        libraries = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for file in [path, *(word for word in libraries.split() if word.startswith("/"))]:
            to = root + "/usr/" + file.removeprefix("/usr").lstrip("/")
            os.makedirs(os.path.dirname(to), mode=0o755, exist_ok=True)
            shutil.copy(file, to)

    def test_the_session_is_closed_during_a_login(self):
        self.client("session.create", name="short")
        login = self.start("short", "echo in; sleep 1000", config=self.settings("short"))
        self.assertEqual(login.stdout.readline(), b"in\n")
        self.client("session.close", session="short")
        _, err = login.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(login.returncode, 255)
        self.assertIn(b"its session was closed", err)

    def test_the_engine_ends_during_a_login(self):
        engine = rpc.Engine()
        self.addCleanup(engine.stop)
        engine.client()("session.create", name="work")
        here = self.settings("work", change=lambda text: text.replace(self.engine.path, engine.path))
        login = self.start("work", "echo in; sleep 1000", config=here)
        self.assertEqual(login.stdout.readline(), b"in\n")
        engine.process.kill()
        _, err = login.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(login.returncode, 255)
        self.assertIn(b"engine", err)

    @harness.needs_root("another user's session needs another user")
    def test_session_of_another_user(self):
        with open(self.config, encoding="utf-8") as f:
            argv = next(line.split(None, 1)[1] for line in f if "ProxyCommand" in line)
        done = subprocess.run(argv, shell=True, user=65534, group=65534, extra_groups=[], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=harness.TIMEOUT_S, check=False, env=harness.environment())
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"")


class Keys(Case):
    def test_files_are_private_and_of_one_session(self):
        self.client("session.create", name="second")
        self.out("work", "true")
        self.out("second", "true", config=self.settings("second"))
        keys = {}
        for session in ("work", "second"):
            self.assertEqual(stat.S_IMODE(os.stat(self.keys(session)).st_mode), 0o700)
            for name in ("id", "host"):
                path = os.path.join(self.keys(session), name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
                with open(path, encoding="utf-8") as f:
                    keys[session, name] = f.read()
        self.assertEqual(len(set(keys.values())), 4)
        # the box has its own key, and of the other one the public half
        found = self.retort("exec", "work", "sh", "-c", "cat /tmp/.retort-ssh/*; ls -la /tmp/.retort-ssh").out
        self.assertIn(keys["work", "host"].strip(), found)
        self.assertNotIn(keys["work", "id"].splitlines()[2], found)

    def test_a_later_session_of_the_name_has_a_key_of_its_own(self):
        def host():
            with open(os.path.join(self.keys("again"), "host"), encoding="utf-8") as f:
                return f.read()
        seen = set()
        for _ in range(2):
            self.client("session.create", name="again")
            config = self.settings("again")
            self.assertEqual(self.out("again", "echo in", config=config), "in\n")
            seen.add(host())
            directory = self.keys("again")
            self.client("session.close", session="again")
        self.assertEqual(len(seen), 2)
        self.assertTrue(os.path.exists(directory))
        self.client("session.create", name="next")
        self.assertEqual(self.out("next", "echo in", config=self.settings("next")), "in\n")
        self.assertFalse(os.path.exists(directory))

    def test_keys_that_were_removed_or_damaged_are_made_again(self):
        for name in ("", "host", "known_hosts", "session"):
            self.out("work", "true")
            path = os.path.join(self.keys(), name)
            shutil.rmtree(path) if not name else os.remove(path)
            with self.subTest(name=name):
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    got = list(pool.map(lambda _: self.out("work", "echo in"), range(4)))
                self.assertEqual(got, ["in\n"] * 4)

    def test_odd_names_and_paths(self):
        odd = os.path.join(harness.make_dir(), "a 'b' %h $HOME #;&")
        os.mkdir(odd)
        env = {**self.env, "XDG_STATE_HOME": odd}
        for name in ("a*b", "ü", "..", "x\"y", "p%h", "Upper.Case_1"):
            id_ = self.client("session.create", name=name)["session"]
            done = harness.retort("ssh-config", name, env=env)
            self.assertEqual(done.status, 0, done)
            host = name if name == "Upper.Case_1" else id_
            self.assertIn(f"\nHost {host}\n", done.out)
            path = os.path.join(harness.make_dir(), "config")
            with open(path, "w", encoding="utf-8") as f:
                f.write(done.out)
            with self.subTest(name=name):
                self.assertEqual(self.out(host, "echo $RETORT_SESSION", config=path), id_ + "\n")
        for bad in ("a\"b", "a\nb", "a\\b", "a${b"):
            done = harness.retort("ssh-config", "work", env={**self.env, "XDG_STATE_HOME": os.path.join(odd, bad)})
            self.assertEqual((done.status, done.out), (2, ""), done)
            self.assertIn("XDG_STATE_HOME", done.err)

    def test_odd_socket(self):
        class Engine(rpc.Engine):
            def start(self):
                self.path = os.path.join(tempfile.mkdtemp(prefix="rt %d '$x' ", dir="/tmp"), "s s")
                super().start()
        engine = Engine()
        self.addCleanup(shutil.rmtree, os.path.dirname(engine.path))
        self.addCleanup(engine.stop)
        engine.client()("session.create", name="work")
        done = harness.retort("ssh-config", "work", env={**self.env, "RETORT_SOCKET": engine.path})
        path = os.path.join(self.dir, "odd")
        with open(path, "w", encoding="utf-8") as f:
            f.write(done.out)
        self.assertEqual(self.out("work", "echo in", config=path), "in\n")

    def test_several_sessions_and_an_included_file(self):
        self.client("session.create", name="other")
        both = self.settings("work", "other")
        outer = os.path.join(self.dir, "outer")
        with open(outer, "w", encoding="utf-8") as f:
            f.write(f"Include {both}\nHost *\n\tForwardAgent yes\n\tUserKnownHostsFile /dev/null\n")
        self.assertEqual(self.out("other", "echo other", config=outer), "other\n")
        shown = self.ssh("-G", "work", config=outer).out
        for line in ("forwardagent no", "identityagent none", "stricthostkeychecking true", "identitiesonly yes", "updatehostkeys false"):
            self.assertIn(line + "\n", shown)


if __name__ == "__main__":
    harness.main()
