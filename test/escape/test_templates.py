# SPDX-License-Identifier: Apache-2.0
"""T-TEMPLATE-…: what runs in a build of a template attacks the engine that takes the result, and other builds."""

import contextlib
import glob
import hashlib
import json
import os
import pty
import secrets
import signal
import stat
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import registry  # noqa: E402


def digest_of(tree):
    """The digest of a layer, as src/layer/layer_tree.h has it."""
    digest = hashlib.sha256()

    def add(*words):
        digest.update(b"".join(word + b"\0" for word in words))

    def walk(folder):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            if stat.S_ISDIR(st.st_mode):
                add(b"d", name)
                walk(path)
            elif stat.S_ISLNK(st.st_mode):
                add(b"l", name, os.readlink(path))
            else:
                with open(path, "rb") as f:
                    data = f.read()
                add(b"x" if st.st_mode & 0o111 else b"f", name, str(len(data)).encode())
                digest.update(data)
        if folder != tree:
            add(b"..")

    tree = os.fsencode(tree)
    walk(tree)
    add(b"..")
    return digest.hexdigest()


class Case(harness.Case):
    """Each has a state directory of its own."""

    def setUp(self):
        super().setUp()
        self.state = harness.make_dir()
        self.env = {"XDG_STATE_HOME": self.state}
        self.layers = os.path.join(self.state, "retort", "layers")
        self.outside = harness.make_dir()
        self.secret = secrets.token_hex(16)
        self.canary = os.path.join(self.outside, "canary")
        with open(self.canary, "w", encoding="ascii") as f:
            f.write(self.secret)
        self.addCleanup(self.check_outside)

    def check_outside(self):
        """Nobody has changed the directory of the canary."""
        self.assertEqual(os.listdir(self.outside), ["canary"])
        with open(self.canary, encoding="ascii") as f:
            self.assertEqual(f.read(), self.secret)

    def template(self, *args):
        return harness.retort("template", *args, env=self.env)

    def build(self, *args, name="evil"):
        done = self.template("build", name, *args)
        self.assertNotIn(self.secret, done.out + done.err)
        return done

    def says(self, done):
        """The lines that the engine has for the user."""
        return [line for line in done.err.splitlines() if line.startswith("retort: ")]

    def check_refused(self, done, *words):
        """It failed with one clear line, and has left nothing."""
        self.assertIn(done.status, (1, 2, 125), done)
        (line,) = self.says(done)
        for word in words:
            self.assertIn(word, line)
        self.assertEqual(self.template("ls", "-q").out, "")
        self.assertEqual(os.listdir(self.layers), [])

    def in_box(self, code, name="evil"):
        record = harness.record(code, "--template", name, env=self.env)
        self.assertNotIn(self.secret, json.dumps(record))
        self.assertEqual(record["status"], "ok", record)
        return record["stdout"]

    def tree(self, name="evil"):
        """The layer of a template, whose digest has been compared with its files."""
        about = self.template("show", name, "--json").json()
        tree = os.path.join(self.layers, about["layer"], "tree")
        self.assertEqual(digest_of(tree), about["layer"])
        return tree


@unittest.skipUnless(registry.NPM, "no npm")
class Package(Case):
    """What runs when a package is installed."""

    def setUp(self):
        super().setUp()
        self.there = registry.Registry()
        self.addCleanup(self.there.stop)
        self.env.update(self.there.env)

    def put_package(self, code):
        package = {"name": "evil", "version": "1.0.0", "scripts": {"postinstall": "/usr/bin/python3 evil.py >&2 || kill -9 $PPID"}}
        code = "import os, subprocess, sys\nos.chdir('/build/out')\n" + code
        self.there.tarball("evil", "1.0.0", {"package.json": json.dumps(package), "evil.py": code}, hasInstallScript=True)

    def install(self, code, *options):
        self.put_package(code)
        return self.build("--npm", "evil", *options)

    def test_T_TEMPLATE_OUT_other_kinds_of_files(self):
        """In place of a list that the engine reads: links to the host's files, a FIFO, a directory, a hole."""
        for code in (f"os.symlink({self.canary!r}, 'apt.lock')", "os.symlink('/proc/self/environ', 'apt.lock')", "os.mkfifo('apt.lock')",
                     "os.mkdir('apt.lock')", "open('apt.lock', 'w').truncate(7 << 30)"):
            with self.subTest(code=code):
                self.check_refused(self.install(code), "the build has written no list of packages to apt.lock")

    def test_T_TEMPLATE_OUT_other_contents(self):
        """Lists that are no text, no list of packages, or endless."""
        line = "npm\\tx\\t1\\tsha512:x\\n"
        for code in ("open('apt.lock', 'wb').write(b'{\\0\\xff')", f"open('packages', 'w').write('{line}' * 1000000)",
                     f"open('packages', 'w').write('{line}' * 20001)"):
            with self.subTest(code=code):
                self.check_refused(self.install(code), "the build has written no list of packages")

    def test_T_TEMPLATE_OUT_control_characters(self):
        """Names that would steer the terminal of who looks at the template."""
        for name in ("\x1b]0;evil\x07", "a\u202eb"):
            with self.subTest(name=name):
                code = f"open('packages', 'w', encoding='utf-8', newline='').write('pip\\t' + {name!r} + '\\t1\\tsha256:x\\n')"
                self.check_refused(self.install(code), "the build has written no list of packages")

    def test_T_TEMPLATE_OUT_larger_than_what_is_read(self):
        """Lists that become so large in the description of the template that nobody can read it any more."""
        done = self.install("for name in ('apt.lock', 'pip.lock'):\n    open(name, 'w').write('\\x01' * (15 << 20))")
        self.check_refused(done, "the list of what is in the template is larger than 64 MiB")

    def test_T_TEMPLATE_FLOOD_beside_the_layer(self):
        """Fill the disk of the host where the size of the layer is not counted."""
        for place, size, words in (("out/x", 30 << 20, "larger than 20 MiB"), ("cache/x", 2 << 30, "cache")):
            with self.subTest(place=place):
                code = f"open('/build/{place}', 'w').truncate({size})\nimport time; time.sleep(60)"
                self.check_refused(self.install(code, "--disk", "20m"), words)

    def test_T_TEMPLATE_CACHE_locked(self):
        """Take its owner's rights to the cache, or to a directory in it: later builds must not fail."""
        for place, mode in ((".", 0), ("npm", 0), ("npm/_cacache", 0o500), ("npm/_cacache/index-v5", 0o300)):
            with self.subTest(place=place):
                self.install(f"os.chmod('/build/cache/{place}', {mode})")  # its own build may fail by that
                self.put_package("")
                done = self.build("--npm", "evil", name="later")
                self.assertEqual(done.status, 0, done)
                cache = glob.glob(os.path.join(self.state, "retort", "packages", "*"))
                self.assertEqual([stat.S_IMODE(os.stat(os.path.join(c, place)).st_mode) & 0o700 for c in cache], [0o700])
                self.assertEqual(self.template("rm", *self.template("ls", "-q").out.split()).status, 0)

    def test_T_TEMPLATE_PLACE_of_the_command(self):
        """What a package leaves where the result of the command goes."""
        for code in (f"os.symlink({self.outside!r}, 'opt')", "open('opt', 'w')", "os.makedirs('opt/evil'), open('opt/evil/x', 'w').write('package')",
                     f"os.mkdir('opt'), os.symlink({self.outside!r}, 'opt/evil')"):
            with self.subTest(code=code):
                done = self.install("os.chdir('/build/layer')\n" + code, "--", "sh", "-c", "echo command >x")
                self.check_refused(done)
                self.check_outside()

    def test_T_TEMPLATE_PLACE_without_rights(self):
        """The command has its place, and sees what later boxes see, whatever rights a package has taken or given."""
        look = "import os, stat; print([oct(stat.S_IMODE(os.stat(p).st_mode)) for p in ('/opt', '/opt/own', '/opt/evil')])"
        for mode in (0, 0o500, 0o700):
            with self.subTest(mode=mode):
                code = "os.chdir('/build/layer'), os.mkdir('opt'), open('opt/own', 'w').close(), os.chmod('opt/own', 0o700)\n"
                done = self.install(code + f"os.chmod('opt', {mode})", "--", "python3", "-c", look + "; os.mkdir('x', 0o700)")
                self.assertEqual((done.status, done.err.count("['0o755', '0o755', '0o755']")), (0, 1), done)
                self.assertEqual(self.in_box(look), "['0o755', '0o755', '0o755']\n")
                self.assertEqual(self.template("rm", "evil").status, 0)

    def test_T_TEMPLATE_LATER_writes(self):
        """Processes that go on when the installation and the command have ended."""
        write = "import sys\ni = 0\nwhile True:\n    i += 1\n    open(sys.argv[1] + str(i % 50), 'a').write('evil')\n"
        start = f"""
import subprocess, sys, time
for n in "ab":
    subprocess.Popen([sys.executable, "-c", {write!r}, PLACE + n], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(0.2)
"""
        command = "PLACE = '/opt/evil/'" + start
        done = self.install("PLACE = '/build/layer/opt-'" + start, "--", "python3", "-c", command)
        self.assertEqual(done.status, 0, done)
        tree = self.tree()
        self.assertGreater(len(os.listdir(tree)), 10)
        self.assertGreater(len(os.listdir(os.path.join(tree, "opt", "evil"))), 10)
        self.assertEqual(self.tree(), tree)
        self.assertEqual(os.listdir(self.layers), [os.path.basename(os.path.dirname(tree))])

    def test_T_TEMPLATE_SECRET_of_the_hosts_clients(self):
        """Passwords that apt, npm, pip and others have on the host: neither box of a build may see one."""
        home = harness.make_dir()
        is_root = harness.IS_ROOT and os.path.exists("/usr/bin/apt-get") # another user's apt cannot be given other files
        programs = registry.program("apt-get", "echo http://debian.test/") # whom the engine asks for the host's repositories
        for path in (".netrc", ".npmrc", ".pypirc", ".config/pip/pip.conf", ".pip/pip.conf", "apt/auth.conf", "apt/auth.conf.d/x.conf",
                     "apt/apt.conf", "apt/apt.conf.d/99x", "apt/sources.list.d/x.list"):
            os.makedirs(os.path.dirname(os.path.join(home, path)), exist_ok=True)
            with open(os.path.join(home, path), "w", encoding="utf-8") as f:
                f.write(f"// {self.secret}\n" if "sources" not in path else f"deb http://bob:{self.secret}@localhost/ ./\n")
        self.env.update(HOME=home, PATH=programs + ":" + os.environ["PATH"], NPM_TOKEN=self.secret, PIP_PASSWORD=self.secret)
        half, rest = self.secret[:20], self.secret[20:]
        look = f"""
import os, subprocess
open("/tmp/decoy", "w").write({half!r} + {rest!r})
found = subprocess.run(["grep", "-rslF", {half!r} + {rest!r}, "/etc", "/root", "/home", "/build/in", "/build/cache", "/var", "/tmp", "/run"],
                       stdout=subprocess.PIPE, text=True).stdout.split()
found += [name for name, value in os.environ.items() if {half!r} + {rest!r} in value]
"""
        self.put_package(look + "open('/build/layer/found', 'w').write(repr(found))")
        command = ["python3", "-c", look + "open('found', 'w').write(repr(found))"]
        with_apt = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/apt && exec "$@"', os.path.join(home, "apt")]

        def build(*args):
            words = [*(with_apt if is_root else []), harness.RETORT, "template", "build", "evil", *args]
            return harness.Result(subprocess.run(words, env=harness.environment(self.env), capture_output=True,
                                                 timeout=harness.TIMEOUT_S, check=False))

        def check_found():
            for place in ("found", "opt/evil/found"):
                with open(os.path.join(self.tree(), place), encoding="utf-8") as f:
                    self.assertEqual(f.read(), "['/tmp/decoy']")

        done = build("--npm", "evil", "--", *command)
        self.assertEqual(done.status, 0, done)
        check_found()
        if not is_root:
            return
        sources = os.path.join(home, "apt/sources.list.d/x.list")
        with open(sources, "w", encoding="utf-8") as f:
            f.write(f"# deb http://bob:{self.secret}@localhost/debian x main\n") # a box could read a comment, too
        done = build("--npm", "evil", "--apt", "bash", "--", *command)
        self.assertIn("/etc/apt/sources.list.d/x.list: an address has a user name or a password", done.err)
        self.assertEqual(done.status, 2, done)
        os.truncate(sources, 0)
        done = build("--npm", "evil", "--apt", "bash", "--", *command)
        self.assertEqual(done.status, 0, done)
        check_found()


class Command(Case):
    """What a command leaves, without packages."""

    def command(self, code, *options):
        return self.build(*options, "--", "python3", "-c", "import os, subprocess, sys, time\n" + code)

    def test_T_TEMPLATE_COMMAND_leaves_what_is_no_file(self):
        """Devices, FIFOs, set-id files, whiteouts, links out, names that steer: the template has plain files only."""
        done = self.command(f"""
def attempt(f, *args):
    try:
        f(*args)
    except OSError:
        pass
open("plain", "w").write("x"), os.link("plain", "hard"), os.symlink({self.canary!r}, "out"), os.symlink("/", "usr"), os.mkfifo("fifo")
attempt(os.mknod, "whiteout", 0o20666, 0), attempt(os.mknod, "disk", 0o60666, os.makedev(8, 0))
open("set-id", "w"), attempt(os.chmod, "set-id", 0o6777)
open("-rf\\n\\x1b[31m", "w"), os.makedirs("opaque/..."), attempt(os.setxattr, "opaque", "user.overlay.opaque", b"y")
attempt(os.setxattr, ".", "user.overlay.redirect", b"/etc"), os.chmod("opaque", 0), os.chmod(".", 0o777)
for path in ("../evil2", "/opt/x", "/x", "/usr/x", "/etc/x", "/build/x", "../../usr/x"):
    attempt(open, path, "w")
attempt(os.rename, "/opt/evil", "/opt/other"), attempt(os.rmdir, "/opt/evil"), attempt(os.symlink, "/tmp", "/opt/evil")
""")
        self.assertEqual(done.status, 0, done)
        top = self.tree()
        self.assertEqual((os.listdir(top), os.listdir(top + "/opt")), (["opt"], ["evil"]))
        found = {}
        for folder, dirs, names in os.walk(top):
            for path in [folder, *(os.path.join(folder, name) for name in (*dirs, *names))]:
                found[os.path.relpath(path, top + "/opt/evil")] = st = os.lstat(path)
                self.assertEqual([n for n in os.listxattr(path, follow_symlinks=False) if n.startswith("user.")], [], path)
                self.assertTrue(stat.S_ISLNK(st.st_mode) or st.st_mode in (0o100644, 0o100755, 0o40755), path)
        self.assertEqual(set(found) - {"..", "../.."}, {".", "plain", "hard", "out", "usr", "set-id", "-rf\n\x1b[31m", "opaque", "opaque/..."})
        self.assertEqual(self.in_box("import os\ntry: open('/opt/evil/out')\nexcept OSError: print(len(os.listdir('/opt/evil/usr/usr')) > 3)"), "True\n")

    def test_T_TEMPLATE_COMMAND_floods(self):
        """Too deep, and a hole that is 1 TiB or as large as a file may be."""
        self.check_refused(self.command("for _ in range(3000): os.mkdir('d'), os.chdir('d')"), "directories deep")
        code = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for size in (1 << 40, 8 << 30):
    try:
        open("hole", "w").truncate(size)
        break
    except OSError as e:
        print(e)
"""
        self.check_refused(self.command(code, "--disk", "100m"), "larger than 100 MiB")

    def test_T_TEMPLATE_TERMINAL_output_of_a_build(self):
        """What a package prints, and the error that repeats it, do not steer the terminal."""
        code = "sys.stderr.write('\\x1b]0;evil\\x07 \\x9b31m \\u202e\\r\\n'), sys.exit(1)"
        pid, fd = pty.fork()
        if pid == 0:
            env = harness.environment({**self.env, "NO_COLOR": "1", "PYTHONUTF8": "1"})
            argv = [harness.RETORT, "template", "build", "evil", "-e", "PYTHONUTF8=1", "--", "python3", "-c", "import sys\n" + code]
            os.execve(harness.RETORT, argv, env)
        shown = b""
        with contextlib.suppress(OSError):
            while data := os.read(fd, 4096):
                shown += data
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1)
        self.assertEqual(shown.count(b"\\x1b]0;evil\\x07"), 2, shown)
        for bad in (b"\x1b]", b"\x07", "\x9b".encode(), "\u202e".encode()):
            self.assertNotIn(bad, shown)


class Words(Case):
    """What a caller gives a package manager."""

    def test_T_TEMPLATE_OPTION_in_place_of_a_package(self):
        """Options, also behind what a client takes for the end of a line, or skips at its beginning."""
        option = "--index-url=http://evil.test"
        bad = [option, "-e", "--prefix=/", "-r/etc/passwd", "", *(" \t\n\r\v\f\x1c\x85\xa0\u2028\u3000\ufeff")]
        bad += [space + option for space in " \t\v\f\x85\xa0\u2028\u3000\ufeff"]
        bad += ["x" + end + option for end in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"]
        for word in bad:
            for kind in ("pip", "npm", "apt"):
                if kind == "pip" or word in bad[:5]:
                    self.check_never_begun(self.build(f"--{kind}={word}"), f"{kind}: ", "is no package")

    def check_never_begun(self, done, *words):
        self.assertEqual((done.status, done.out), (2, ""), done)
        (line,) = self.says(done)
        for word in words:
            self.assertIn(word, line)
        self.assertFalse(os.path.exists(self.layers))

    def test_T_TEMPLATE_LOCK_of_somebody_else(self):
        """Locks with other files, other types, options as packages, and without an end."""
        path = os.path.join(harness.make_dir(), "lock")
        spec = {"pip": ["x"]}
        for lock, spec in (({"../x": "y"}, spec), ({"pip.lock\n": "y"}, spec), ({"packages": "y"}, spec), ({"upgrade": ""}, spec), ({"": ""}, spec),
                           ({"pip.lock": 1}, spec), ({"pip.lock": ["x"]}, spec), ({"pip.lock": "a\0b"}, spec), ({}, {"pip": [" -rx"]}),
                           ({}, {"pip": "x"}), ({}, {"command": [1]}), ({}, {}), ({str(i): "" for i in range(100000)}, spec)):
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"lock": lock, "spec": spec}, f)
            done = self.build("--lock", path)
            self.assertEqual((done.status, done.out, len(self.says(done))), (2, "", 1), (str(lock)[:100], done))
            self.assertEqual(os.listdir(self.layers) if os.path.exists(self.layers) else [], [])


class Engines(Case):
    """Two engines with one state directory, and engines that are killed."""

    FILES = 400
    USE = f"print({{open('/opt/evil/%d' % i).read() for i in range({FILES})}})"

    def make(self, word):
        """The command that builds a template of many files, which all have @word."""
        return ["build", "evil", "--upgrade", "--", "python3", "-c", f"for i in range({self.FILES}): open(str(i), 'w').write({word!r})"]

    def check_whole(self, words, is_needed=False):
        """Whatever is listed is complete."""
        names = self.template("ls", "-q").out.split()
        self.assertIn(names, [["evil"]] if is_needed else [[], ["evil"]])
        if names:
            folder = os.path.join(self.tree(), "opt", "evil")
            self.assertEqual(len(os.listdir(folder)), self.FILES)
            self.assertIn(self.in_box(self.USE), [f"{{'{w}'}}\n" for w in words])
        return names

    def start(self, *args):
        return subprocess.Popen([harness.RETORT, *args], env=harness.environment(self.env), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_T_TEMPLATE_RACE_of_two_engines(self):
        """One name is built, used and removed by several at a time."""
        for _ in range(harness.sample(6, 60)):
            jobs = [(args[1], self.start(*args)) for args in (
                ("template", *self.make("one")), ("template", *self.make("two")), ("template", *self.make("one")),
                ("run", "--template", "evil", "-c", self.USE), ("template", "show", "evil", "--json"), ("template", "rm", "evil"),
                ("run", "--template", "evil", "-c", self.USE), ("template", "ls", "--json"))]
            for kind, job in jobs:
                out, err = job.communicate(timeout=harness.TIMEOUT_S)
                with self.subTest(kind=kind, status=job.returncode, out=out, err=err):
                    if job.returncode != 0:
                        self.assertNotIn(kind, ("build", "ls"))
                        self.assertRegex(err, r"^retort: (no template evil|the layer \w+… (does not exist any more|is being))[^\n]*\n$")
                    elif kind == "--template":
                        self.assertIn(out, ("{'one'}\n", "{'two'}\n"))
                    elif kind == "ls":
                        self.assertTrue(all(row["files"] == self.FILES for row in json.loads(out)), out)
        self.check_whole(("one", "two"))
        self.template("rm", "evil")
        self.check_nothing_left([])

    def check_nothing_left(self, names):
        """The next build removes what others have left."""
        self.assertEqual(self.template("build", "other", "--", "touch", "x").status, 0)
        self.assertEqual(self.template("rm", "other").status, 0)
        self.assertEqual(len(os.listdir(self.layers)), len(names))
        self.assertEqual(os.listdir(os.path.join(self.state, "retort", "templates", "-")), [name + ".json" for name in names])

    def phases(self):
        """Functions of the directory of a build, which tell whether it has come so far; and their names."""
        def has(pattern):
            return lambda: bool(glob.glob(os.path.join(self.layers, pattern), include_hidden=True))

        n = len(os.listdir(self.layers))
        yield "begun", has("building-*")
        yield "installing", has("building-*/out/packages")
        yield "the command runs", has("building-*/command/1")
        yield "joined", has("building-*/tree/opt/evil")
        yield "beside is removed", lambda: has("building-*/tree/opt/evil")() and not has("building-*/in")()
        yield "placed", lambda: len(glob.glob(os.path.join(self.layers, "?" * 64))) > n
        yield "written", lambda: b"new" in self.about()
        yield "removing", lambda: b"new" in self.about() and has("building-*")()

    def about(self):
        with open(os.path.join(self.state, "retort", "templates", "-", "evil.json"), "rb") as f:
            return f.read()

    def test_T_TEMPLATE_KILLED_engines(self):
        """The engine is killed in every phase of a build: the template is the old one or the new one, and complete."""
        for i in range(8):
            self.assertEqual(self.template(*self.make("old")).status, 0)
            name, is_there = list(self.phases())[i]
            with self.subTest(phase=name):
                job = self.start("template", *self.make("new"))
                with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as f:
                    while not (children := f.read().split()):
                        f.seek(0)
                while not is_there() and job.poll() is None:
                    pass
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(children[0]), signal.SIGKILL)
                out, err = job.communicate(timeout=harness.TIMEOUT_S)
                if job.returncode != 0:
                    self.assertEqual((out, len(err.splitlines())), ("", 1), err)
                self.check_whole(("old", "new"), is_needed=True)
        self.check_nothing_left(["evil"])

    def test_T_TEMPLATE_KILLED_command(self):
        """Who waits for a build is killed: the engine ends, and its box with it."""
        job = self.start("template", "build", "evil", "--", "sh", "-c", "echo >began; exec sleep 600")
        self.until(lambda: glob.glob(os.path.join(self.layers, "building-*/command/began")))
        job.kill()
        job.communicate()
        self.until(lambda: not glob.glob(os.path.join(self.layers, "building-*")), "the build is still there")
        self.assertEqual(self.template("ls", "-q").out, "")


del Case


if __name__ == "__main__":
    harness.main()
