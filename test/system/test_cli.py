# SPDX-License-Identifier: Apache-2.0
"""`retort run` as a command: exit statuses, options, what it prints, how it is interrupted."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import harness  # noqa: E402

IDENTITY = "user"
PYTHON = "/usr/bin/python3"
WAIT_S = 60


def start(*args, **kwargs):
    """Start retort and leave it running."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    kwargs.setdefault("stdout", subprocess.PIPE)
    kwargs.setdefault("stderr", subprocess.PIPE)
    kwargs.setdefault("env", harness.environment())
    return subprocess.Popen([harness.RETORT, *args], cwd=harness.TMP, **kwargs)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    return path


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class CliCase(harness.Case):
    def assert_ran(self, done, stdout, status=0):
        self.assertEqual((done.status, done.out, done.err), (status, stdout, ""))

    def assert_failed(self, done, status, pattern):
        """One line of retort's own, and nothing else."""
        self.assertEqual((done.status, done.out), (status, ""), done)
        self.assertRegex(done.err, "^retort: [^\n]*\n$")
        self.assertRegex(done.err, pattern)


class Programs(CliCase):
    """What is run, and with which arguments."""

    ARGV = "import sys; print(sys.argv)"

    def test_status_is_the_programs(self):
        for status in (0, 1, 2, 42, 124, 125, 137, 255):
            self.assert_ran(harness.run(f"raise SystemExit({status})"), "", status)

    def test_code_with_arguments(self):
        self.assert_ran(harness.retort("run", "-c", self.ARGV, "a", "b"), "['-c', 'a', 'b']\n")

    def test_options_after_code_are_arguments(self):
        """As with python: what follows the code is the program's."""
        self.assert_ran(harness.retort("run", "--quiet", "-c", self.ARGV, "-m", "1g", "--json", "--", "-"),
                        "['-c', '-m', '1g', '--json', '--', '-']\n")

    def test_code_without_arguments(self):
        self.assert_ran(harness.retort("run", "-c", self.ARGV), "['-c']\n")
        self.assert_ran(harness.retort("run", "--code", self.ARGV, "x"), "['-c', 'x']\n")
        self.assert_ran(harness.retort("run", f"--code={self.ARGV}", "x"), "['-c', 'x']\n")

    def test_file_with_arguments(self):
        path = write(os.path.join(harness.make_dir(), "prog.py"), self.ARGV)
        self.assert_ran(harness.retort("run", path, "a", "--json", "-c"), "['prog.py', 'a', '--json', '-c']\n")

    def test_file_by_relative_path(self):
        folder = harness.make_dir()
        write(os.path.join(folder, "prog.py"), self.ARGV + "; print(__file__, __name__)")
        self.assert_ran(harness.retort("run", "prog.py", "a", cwd=folder), "['prog.py', 'a']\n/home/user/prog.py __main__\n")

    def test_file_is_in_the_box(self):
        """Whatever reads the program again finds it, under the name that it has there."""
        code = ("import multiprocessing, os, subprocess, sys\n"
                "def square(x): return x * x\n"
                "if __name__ == '__main__' and len(sys.argv) == 1:\n"
                "    for how in ('spawn', 'forkserver'):\n"
                "        with multiprocessing.get_context(how).Pool(2) as pool: print(pool.map(square, range(4)))\n"
                "    print(__file__, open(__file__).read(6), flush=True)\n"
                "    subprocess.run([sys.executable, sys.argv[0], 'again'])\n"
                "elif __name__ == '__main__': print(sys.argv)\n")
        folder = harness.make_dir()
        path = write(os.path.join(folder, "sub", "prog.py"), code)
        other = harness.make_dir()
        pools = "[0, 1, 4, 9]\n" * 2
        for options, name, where, place in (
                ((), "sub/prog.py", "prog.py", "/home/user/prog.py"),
                ((), path, "prog.py", "/home/user/prog.py"),
                (("-v", f"{path}:prog.py"), path, "prog.py", "/home/user/prog.py"),
                (("-w", folder), "./sub/prog.py", "./sub/prog.py", "/home/user/sub/prog.py"),
                (("-w", other), path, "/tmp/prog.py", "/tmp/prog.py")):
            with self.subTest(options=options, name=name):
                self.assert_ran(harness.retort("run", *options, name, cwd=folder),
                                f"{pools}{place} import\n['{where}', 'again']\n")
        self.assertEqual(os.listdir(other), [])

    def test_shell_file_is_in_the_box(self):
        path = write(os.path.join(harness.make_dir(), "x.sh"), "[ $# = 1 ] && echo \"child $1\" || bash \"$0\" \"$0\"\n")
        self.assert_ran(harness.retort("run", path), "child x.sh\n")

    def test_file_of_another_language(self):
        folder = harness.make_dir()
        for name, code, what in (("x.rb", "puts 1", ".rb"), ("n.csv", "{}", ".csv"), ("x", "#!/usr/bin/awk -f\n", "awk")):
            with self.subTest(name=name):
                done = harness.retort("run", write(os.path.join(folder, name), code))
                self.assert_failed(done, 127, f"no runtime for {what}: ")
        self.assert_ran(harness.retort("run", "-r", "python", os.path.join(folder, "n.csv")), "{}\n")

    def test_a_directory_names_only_what_is_there(self):
        folder = harness.make_dir()
        os.mkdir(os.path.join(folder, "dir.py"))
        for hint, made in (("name a program file", None), ("name a program file, for example dir.py/index.js", "index.js"),
                           ("name a program file, for example dir.py/main.py", "main.py")):
            if made:
                write(os.path.join(folder, "dir.py", made), "1")
            for name in ("dir.py", "dir.py/"):
                done = harness.retort("run", name, cwd=folder)
                self.assertEqual((done.status, done.err), (2, f"retort: {name} is a directory: {hint}\n"))
        self.assertTrue(harness.retort("run", "", cwd=folder).err.startswith('retort: "": No such file or directory: '))

    def test_file_with_dashes(self):
        folder = harness.make_dir()
        write(os.path.join(folder, "-odd.py"), self.ARGV)
        self.assert_ran(harness.retort("run", "./-odd.py", "--", cwd=folder), "['./-odd.py', '--']\n")
        # Behind -- is a program of the box.
        done = harness.retort("run", "--", "-odd.py", cwd=folder)
        self.assertEqual((done.status, done.err), (127, "retort: program -odd.py not found in the box: it is a file of this "
                                                   "host: write `retort run ./-odd.py`, or show it with --volume\n"))

    def test_standard_input_with_arguments(self):
        self.assert_ran(harness.retort("run", "-", "a", stdin=self.ARGV.encode()), "['-', 'a']\n")

    def test_file_without_execute_bit_and_ending(self):
        path = write(os.path.join(harness.make_dir(), "prog"), "print('ran')", 0o444)
        self.assert_ran(harness.retort("run", path), "ran\n")

    def test_shebang(self):
        for line in ("#!/usr/bin/python3", "#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u", "#! /bin/python"):
            path = write(os.path.join(harness.make_dir(), "prog"), line + "\nprint('ran')\n", 0o755)
            self.assert_ran(harness.retort("run", path), "ran\n")

    def test_byte_order_mark_and_line_endings(self):
        path = write(os.path.join(harness.make_dir(), "prog.py"), b"\xef\xbb\xbfx = 1\r\nprint(x)\r\n")
        self.assert_ran(harness.retort("run", path), "1\n")

    def test_fifo_as_program(self):
        """bash's <(…): a program that is no regular file."""
        done = subprocess.run(["bash", "-c", '"$0" run <(echo "print(5)")', harness.RETORT], capture_output=True,
                              env=harness.environment(), check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"5\n", b""))

    def test_runtime_python(self):
        self.assert_ran(harness.run("print(1)", "-r", "python"), "1\n")
        path = write(os.path.join(harness.make_dir(), "prog.weird"), "print(1)")
        self.assert_ran(harness.retort("run", "--runtime=python", path), "1\n")

    def test_runtime_unknown(self):
        self.assert_failed(harness.run("1", "-r", "cobol"), 127, "cobol.*python")

    def test_spaces_and_unicode(self):
        folder = os.path.join(harness.make_dir(), "a b 'ž 🐎")
        path = write(os.path.join(folder, "my prog.py"), "print(open('in put/x').read())\nopen('é', 'w').write('1')")
        write(os.path.join(folder, "data dir", "x"), "data")
        out = os.path.join(folder, "out put")
        done = harness.retort("run", "-v", f"{folder}/data dir:in put", "-o", out, path, cwd=folder)
        self.assert_ran(done, "data\n1\n")
        self.assertEqual(read(os.path.join(out, "é")), "1")

    def test_unicode_arguments(self):
        self.assert_ran(harness.retort("run", "-c", "import sys; print(sys.argv[1:])", "ž", "", "🐎 x"),
                        "['ž', '', '🐎 x']\n")

    def test_value_is_printed(self):
        self.assert_ran(harness.run("'a'"), "'a'\n")
        self.assert_ran(harness.run("None"), "")
        self.assert_ran(harness.run("print('b'); 1"), "b\n1\n")

    def test_environment_inside(self):
        """What is set, and that nothing else is."""
        done = harness.run("import os, json; print(json.dumps(dict(os.environ)))",
                           env={"SECRET": "s", "PYTHONPATH": "/x", "LD_PRELOAD_X": "y", "RETORT_MEMORY": "1g"})
        env = json.loads(done.out)
        self.assertEqual((env["RETORT"], env["HOME"], env["LANG"], env["TMPDIR"]),
                         ("1", "/home/user", "C.UTF-8", "/tmp"))
        self.assertRegex(env["RETORT_SESSION"], "^s-")
        self.assertIn("MPLBACKEND", env)
        known = {"RETORT", "RETORT_SESSION", "HOME", "USER", "TMPDIR", "LANG", "LC_ALL", "PATH", "MPLBACKEND",
                 "XDG_CACHE_HOME", "NPM_CONFIG_CACHE", "NPM_CONFIG_UPDATE_NOTIFIER", "NPM_CONFIG_PREFIX", "CARGO_HOME", "CARGO_INSTALL_ROOT", "GOMODCACHE",
                 "GOFLAGS", "GOBIN", "PIP_BREAK_SYSTEM_PACKAGES", "PIP_DISABLE_PIP_VERSION_CHECK", "UV_LINK_MODE", "MPLCONFIGDIR", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}
        self.assertEqual(set(env) - known, set())

    def test_place_inside(self):
        self.assert_ran(harness.run("import os; print(os.getcwd(), os.path.expanduser('~'), os.listdir('.'))"),
                        "/home/user /home/user []\n")


@harness.as_each
class Volumes(CliCase):
    def setUp(self):
        self.folder = harness.make_dir()
        self.file = write(os.path.join(self.folder, "data", "x.txt"), "from the host")
        self.data = os.path.join(self.folder, "data")

    def test_relative_destination(self):
        """It lies in the workspace, where the program starts."""
        self.assert_ran(harness.run("print(open('d/x.txt').read())", "-v", f"{self.data}:d"), "from the host\n")

    def test_relative_source(self):
        done = harness.run("print(open('/in/x.txt').read())", "-v", "./data:/in", cwd=self.folder)
        self.assert_ran(done, "from the host\n")
        done = harness.run("print(open('/in/x.txt').read())", "-v", "data/:/in/", cwd=self.folder)
        self.assert_ran(done, "from the host\n")

    def test_a_source_alone_keeps_its_name(self):
        with open(os.path.join(self.folder, "alone.csv"), "w", encoding="ascii") as f:
            f.write("1")
        for source in ("alone.csv", "./alone.csv", os.path.join(self.folder, "alone.csv")):
            done = harness.retort("run", "-v", source, "-c", "open('alone.csv').read()", cwd=self.folder)
            self.assertEqual((done.status, done.out), (0, "'1'\n"), done.err)

    def test_a_source_alone_that_has_no_name(self):
        os.mkdir(os.path.join(self.folder, "..."))
        self.assert_ran(harness.run("import os; print(os.listdir())", "-v", "...", cwd=self.folder), "['...']\n")
        for source in (".", "..", "data/..", "/", "data/."):
            self.assert_failed(harness.run("1", "-v", source, cwd=self.folder), 2, re.escape(
                f'--volume "{source}": there is no name to call it in the box: write {source}:data\n'))
        self.assert_ran(harness.run("print(open('data/x.txt').read())", "-v", ".:data", cwd=self.data), "from the host\n")
        for source in ("", ":", "data:", ":data", "data::ro", "data:d:rx"):
            self.assert_failed(harness.run("1", "-v", source, cwd=self.folder), 2, "is not SRC, SRC:DST or SRC:DST:rw")

    def test_a_file_that_is_here_and_not_in_the_box(self):
        with open(os.path.join(self.folder, "here.csv"), "w", encoding="ascii") as f:
            f.write("1")
        done = harness.retort("run", "-c", "open('here.csv')", cwd=self.folder)
        self.assertTrue(done.err.endswith(
            "\nretort: here.csv is here, but the box does not see it: -v here.csv:here.csv\n"), done.err)
        for code in ("open('not-here.csv')", "try: open('here.csv')\nexcept OSError: pass"):
            self.assertNotIn("retort:", harness.retort("run", "-c", code, cwd=self.folder).err)
        done = harness.retort("run", "-c", "import no_such_module", cwd=self.folder)
        self.assertIn("\nretort: hint: nothing can be installed in a box without a network.", done.err)

    def test_read_only_by_default(self):
        code = ("import os\n"
                "for f in (lambda: open('/d/new', 'w'), lambda: open('/d/x.txt', 'a'),\n"
                "          lambda: os.remove('/d/x.txt'), lambda: os.chmod('/d/x.txt', 0o777),\n"
                "          lambda: os.utime('/d/x.txt'), lambda: os.mkdir('/d/n'),\n"
                "          lambda: os.rename('/d/x.txt', '/d/y')):\n"
                " try: f(); print('wrote')\n"
                " except OSError as e: print(e.errno)")
        for mode in ("", ":ro"):
            self.assert_ran(harness.run(code, "-v", f"{self.data}:/d{mode}"), "30\n" * 7)
        self.assertEqual(os.listdir(self.data), ["x.txt"])
        self.assertEqual(read(self.file), "from the host")

    def test_writable(self):
        """With :rw the host sees the file, and its owner is the volume's."""
        if harness.IS_ROOT:
            os.chown(self.data, 1234, 2345)
            os.chown(self.file, 1234, 2345)
        code = "import os\nos.mkdir('/d/sub')\nopen('/d/sub/new', 'w').write('from the box')\nos.remove('/d/x.txt')"
        self.assert_ran(harness.run(code, "-v", f"{self.data}:/d:rw"), "")
        new = os.path.join(self.data, "sub", "new")
        self.assertEqual(read(new), "from the box")
        want = (1234, 2345) if harness.IS_ROOT else (os.getuid(), os.getgid())
        for path in (new, os.path.dirname(new)):
            self.assertEqual((os.stat(path).st_uid, os.stat(path).st_gid), want, path)
        self.assertFalse(os.path.exists(self.file))

    def test_single_file(self):
        self.assert_ran(harness.run("print(open('in.txt').read())", "-v", f"{self.file}:in.txt"), "from the host\n")
        self.assert_ran(harness.run("print(open('/a/b/in.txt').read())", "-v", f"{self.file}:/a/b/in.txt"),
                        "from the host\n")

    def test_single_file_writable(self):
        self.assert_ran(harness.run("open('in.txt', 'w').write('new')\n''", "-v", f"{self.file}:in.txt:rw"), "''\n")
        self.assertEqual(read(self.file), "new")

    def test_nested(self):
        """A volume in a volume, and one deep below nothing."""
        other = os.path.join(self.folder, "other")
        write(os.path.join(other, "y"), "other")
        os.mkdir(os.path.join(self.data, "in"))
        done = harness.run("print(open('/d/x.txt').read(), open('/d/in/y').read(), open('p/q/r/y').read())",
                           "-v", f"{self.data}:/d", "-v", f"{other}:/d/in", "-v", f"{other}:p/q/r")
        self.assert_ran(done, "from the host other other\n")
        self.assertEqual(os.listdir(os.path.join(self.data, "in")), [])

    def test_the_place_of_a_volume_is_the_callers_to_make(self):
        other = os.path.join(self.folder, "other")
        write(os.path.join(other, "y"), "other")
        for options, missing, make in (
                ((f"{other}:in",), "in", "mkdir -p"), ((f"{other}/y:deep/one",), "deep/one", "touch"),
                ((f"{self.data}:/data", f"{other}:/data/in"), "in", "mkdir -p")):
            done = harness.run("1", "-w", self.data, *(o for v in options for o in ("-v", v)))
            self.assertEqual((done.status, done.out), (2, ""), done)
            self.assertRegex(done.err, r"^retort: volume destination [^\n]*\n$")
            self.assertIn(f": there is no {missing} in {self.data}: create it: {make} {self.data}/{missing};", done.err)
            self.assertFalse(os.path.exists(os.path.join(self.data, missing)))

    def test_symlink_source(self):
        """The target is what is shown."""
        link = os.path.join(self.folder, "link")
        os.symlink("data", link)
        self.assert_ran(harness.run("print(open('/d/x.txt').read())", "-v", f"{link}:/d"), "from the host\n")

    def test_symlink_out_of_a_volume(self):
        """A link in a volume leads to the box's files, not to the host's."""
        secret = write(os.path.join(self.folder, "secret"), "secret")
        os.symlink(secret, os.path.join(self.data, "link"))
        os.symlink("../secret", os.path.join(self.data, "up"))
        code = ("for n in ('link', 'up'):\n try: print(open('/d/' + n).read())\n"
                " except FileNotFoundError: print('not found')")
        self.assert_ran(harness.run(code, "-v", f"{self.data}:/d"), "not found\n" * 2)

    def test_no_programs_gain_from_a_volume(self):
        """A set-user-id program of a volume gives nothing."""
        tool = os.path.join(self.data, "tool")
        shutil.copy("/usr/bin/id", tool)
        os.chmod(tool, 0o6755)
        done = harness.run("import subprocess\nprint(subprocess.run(['/d/tool', '-u'], capture_output=True, text=True)"
                           ".stdout)", "-v", f"{self.data}:/d")
        self.assert_ran(done, "1000\n\n")

    def test_workspace(self):
        done = harness.run("print(open('x.txt').read())\nopen('new', 'w').write('1')\n''", "-w", self.data)
        self.assert_ran(done, "from the host\n''\n")
        self.assertEqual(read(os.path.join(self.data, "new")), "1")

    def test_workspace_owner(self):
        if harness.IS_ROOT:
            os.chown(self.data, 1234, 2345)
        self.assert_ran(harness.run("open('new', 'w').close()", "-w", self.data), "")
        st = os.stat(os.path.join(self.data, "new"))
        self.assertEqual((st.st_uid, st.st_gid),
                         (1234, 2345) if harness.IS_ROOT else (os.getuid(), os.getgid()))

    def test_workspace_with_a_volume(self):
        """A volume goes onto a directory that the workspace has, and leaves nothing in it."""
        other = os.path.join(self.folder, "other")
        write(os.path.join(other, "y"), "other")
        os.mkdir(os.path.join(self.data, "in"))
        done = harness.run("print(open('in/y').read())", "-w", self.data, "-v", f"{other}:in")
        self.assert_ran(done, "other\n")
        self.assertEqual(os.listdir(os.path.join(self.data, "in")), [])


class Environment(CliCase):
    SHOW = "import os; print(os.environ.get('A_B'))"

    def test_given(self):
        self.assert_ran(harness.run(self.SHOW, "-e", "A_B=c=d"), "c=d\n")
        self.assert_ran(harness.run(self.SHOW, "-e", "A_B="), "\n")
        self.assert_ran(harness.run(self.SHOW, "--env", "A_B=ž \n x"), "ž \n x\n")

    def test_passed_on(self):
        self.assert_ran(harness.run(self.SHOW, "-e", "A_B", env={"A_B": "host"}), "host\n")
        self.assert_ran(harness.run(self.SHOW, "-e", "A_B"), "None\n")

    def test_not_leaked(self):
        self.assert_ran(harness.run(self.SHOW, env={"A_B": "host"}), "None\n")

    def test_ours_can_be_replaced(self):
        self.assert_ran(harness.run("import os; print(os.environ['LANG'])", "-e", "LANG=C"), "C\n")

    def test_last_wins(self):
        self.assert_ran(harness.run(self.SHOW, "-e", "A_B=1", "-e", "A_B=2"), "2\n")

    def test_no_name(self):
        self.assert_failed(harness.run("1", "-e", "=x"), 2, "--env")


class Settings(CliCase):
    """Flags before the environment before the configuration file."""

    def memory(self, *options, env=None):
        return harness.record("1", *options, env=env)["limits"]["memory_bytes"]["value"]

    def config(self, text):
        folder = harness.make_dir()
        write(os.path.join(folder, "retort", "config.json"), text)
        return {"XDG_CONFIG_HOME": folder}

    def test_environment(self):
        self.assertEqual(self.memory(env={"RETORT_MEMORY": "100m"}), 100 << 20)

    def test_configuration(self):
        self.assertEqual(self.memory(env=self.config('{"memory": "200m", "cpus": 0.5}')), 200 << 20)
        self.assertEqual(self.memory(env=self.config(f'{{"memory": {100 << 20}}}')), 100 << 20)

    def test_home(self):
        home = harness.make_dir()
        write(os.path.join(home, ".config", "retort", "config.json"), '{"memory": "111m"}')
        self.assertEqual(self.memory(env={"HOME": home}), 111 << 20)

    def test_precedence(self):
        env = self.config('{"memory": "200m"}')
        self.assertEqual(self.memory(env={**env, "RETORT_MEMORY": "100m"}), 100 << 20)
        self.assertEqual(self.memory("-m", "50m", env={**env, "RETORT_MEMORY": "100m"}), 50 << 20)

    def test_last_flag_wins(self):
        self.assertEqual(self.memory("-m", "50m", "--memory=60m"), 60 << 20)

    def test_broken_configuration(self):
        for text in ("{", "[]", '{"memory": "12q"}', '{"memory": null}'):
            self.assert_failed(harness.run("1", env=self.config(text)), 2, "config")

    def test_broken_environment(self):
        self.assert_failed(harness.run("1", env={"RETORT_MEMORY": "12q"}), 2, "RETORT_MEMORY.*12q")

    def test_empty_environment(self):
        self.assertEqual(self.memory(env={"RETORT_MEMORY": ""}), 1 << 30)

    def test_no_environment_at_all(self):
        done = subprocess.run([harness.RETORT, "run", "-c", "print(1)"], env={}, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"1\n", b""))


    def test_profile(self):
        """Options under a name, between the flags and the rest of the configuration."""
        env = self.config('{"memory": "200m", "profiles": {"small": {"memory": "100m"}}}')
        self.assertEqual(self.memory("--profile", "small", env=env), 100 << 20)
        self.assertEqual(self.memory("--profile", "small", "-m", "50m", env=env), 50 << 20)
        self.assert_failed(harness.run("1", "--profile", "smal", env=env), 2, '/retort/config.json: no profile "smal"')

    def test_profile_without_a_file(self):
        """The hint names the file that is read."""
        folder = harness.make_dir()
        for env, path in (({"XDG_CONFIG_HOME": folder}, f"{folder}/retort"), ({"HOME": folder}, f"{folder}/.config/retort")):
            self.assert_failed(harness.run("1", "--profile", "small", env=env), 2, f"into {path}/config.json$")

    def test_unknown_setting(self):
        """A setting that no command has is refused; one of another command is not."""
        for text, found in (('{"memroy": "100m"}', 'unknown setting "memroy": did you mean "memory"'),
                            ('{"profiles": []}', '"profiles" is not an object'),
                            ('{"profile": "small"}', "profile in the .*--profile, or set RETORT_PROFILE"),
                            ('{"profiles": {"small": {"memroy": "16m"}}}', 'profile "small": .*"memroy".*"memory"')):
            env = {**self.config(text), "RETORT_PROFILE": "small"}
            for command in (("run", "-c", "1"), ("tools", "list"), ("session", "new"), ("mcp",), ("serve",)):
                if command[0] == "tools" and '"memroy": "16m"' in text:
                    continue  # has no profiles
                done = harness.retort(*command, env=env)
                self.assert_failed(done, 2, "/retort/config.json: " + found)
        self.assertEqual(self.memory(env=self.config('{"memory": "100m", "listen": ":80", "max-cost": 2}')), 100 << 20)

    def test_unknown_variable(self):
        """Only one that looks like a misspelling is named: others may be of other programs."""
        for name, near in (("RETORT_MEMROY", "RETORT_MEMORY"), ("RETORT_MCP_CONFG", "RETORT_MCP_CONFIG"),
                           ("RETORT_memory", "RETORT_MEMORY")):
            done = harness.run("1", env={name: "2g"})
            self.assertEqual((done.status, done.out, done.err),
                             (0, "1\n", f"retort: {name} is not read: did you mean {near}?\n"))
        done = harness.run("1", env={"RETORT": "1", "RETORT_SESSION": "s_1", "RETORT_MODEL_KEY": "k", "RETORT_": "1",
                                     "RETORT_HOME": "/", "RETORT_X": "1", "RETORT_MEMROY": "", "RETORT_STANDBY": "3",
                                     "RETORT_MEMORY": "100m"})
        self.assertEqual((done.status, done.out, done.err), (0, "1\n", ""))

    def test_preload(self):
        self.assert_ran(harness.run("import sys; print('json' in sys.modules, 'csv' in sys.modules)",
                                    "--preload", "json,csv"), "True True\n")
        done = harness.run("print('never')", "--preload", "no_such_module")
        self.assertEqual((done.status, done.out), (1, ""))
        self.assertRegex(done.err, "no_such_module")


@harness.as_each
class Out(CliCase):
    CODE = ("import os\nos.makedirs('a/b')\nopen('a/b/c.txt', 'w').write('deep')\n"
            "open('top', 'w').write('top')\nopen('run', 'w').write('#!/bin/sh'); os.chmod('run', 0o755)\n"
            "os.symlink('/etc/passwd', 'link'); os.mkfifo('fifo')\nNone")

    def test_copies(self):
        """New files with their directories and execute bits; no links; nothing is said."""
        out = os.path.join(harness.make_dir(), "out")
        self.assert_ran(harness.run(self.CODE, "-o", out), "")
        self.assertEqual(sorted(os.listdir(out)), ["a", "run", "top"])
        self.assertEqual(read(os.path.join(out, "a/b/c.txt")), "deep")
        self.assertTrue(os.access(os.path.join(out, "run"), os.X_OK))
        self.assertEqual(os.stat(os.path.join(out, "top")).st_mode & 0o7111, 0)
        self.assertEqual(os.stat(os.path.join(out, "top")).st_uid, os.getuid())

    def test_into_a_directory_that_is_there(self):
        out = harness.make_dir()
        write(os.path.join(out, "top"), "old")
        write(os.path.join(out, "other"), "other")
        self.assert_ran(harness.run(self.CODE, "--out", out), "")
        self.assertEqual(read(os.path.join(out, "top")), "top")
        self.assertEqual(read(os.path.join(out, "other")), "other")

    def test_follows_no_link_of_the_target(self):
        """A link that lies in the target is not written through."""
        out, victim = harness.make_dir(), harness.make_dir()
        write(os.path.join(victim, "f"), "victim")
        os.symlink(os.path.join(victim, "f"), os.path.join(out, "top"))
        os.symlink(victim, os.path.join(out, "a"))
        harness.run(self.CODE, "-o", out)
        self.assertEqual(read(os.path.join(victim, "f")), "victim")
        self.assertEqual(os.listdir(victim), ["f"])

    def test_also_after_an_error(self):
        out = harness.make_dir()
        done = harness.run("open('x', 'w').write('1')\n1 / 0", "-o", out)
        self.assertEqual(done.status, 1)
        self.assertEqual(os.listdir(out), ["x"])

    def test_only_what_is_new(self):
        """With -w, what was there and did not change is not copied."""
        out, work = harness.make_dir(), harness.make_dir()
        write(os.path.join(work, "old"), "old")
        self.assert_ran(harness.run("open('new', 'w').close()", "-w", work, "-o", out), "")
        self.assertEqual(os.listdir(out), ["new"])

    def test_private_files(self):
        """What the program made for itself alone is copied too."""
        out = harness.make_dir()
        done = harness.run("import os, tempfile\nos.umask(0o077)\nopen('private', 'w').write('1')\n"
                           "d = tempfile.mkdtemp(dir='.')\nopen(d + '/in', 'w').write('2')\nNone", "-o", out)
        self.assert_ran(done, "")
        self.assertEqual(sum(len(files) for _, _, files in os.walk(out)), 2)

    def test_names_that_are_no_text(self):
        """A file is copied under the bytes that are its name."""
        out = harness.make_dir()
        self.assert_ran(harness.run("open(b'a\\xff', 'w').write('1'); None", "-o", out), "")
        self.assertEqual(os.listdir(os.fsencode(out)), [b"a\xff"])

    def test_sparse(self):
        """Holes cost nothing in the box and must not cost the host more than the box's limit."""
        out = harness.make_dir()
        done = harness.run("for i in range(5):\n f = open('f%d' % i, 'wb'); f.truncate(200 << 20); f.write(b'1')",
                           "--disk", "64m", "-o", out)
        used = sum(os.stat(os.path.join(out, name)).st_blocks * 512 for name in os.listdir(out))
        shutil.rmtree(out)
        self.assertLessEqual(used, 64 << 20)
        self.assertIn(done.status, (0, 1))

    def test_large(self):
        out = harness.make_dir()
        self.assert_ran(harness.run("open('x', 'wb').write(b'1' * (100 << 20)); None", "-o", out), "")
        self.assertEqual(os.path.getsize(os.path.join(out, "x")), 100 << 20)


class Formats(CliCase):
    def test_json_is_one_object(self):
        """Nothing but the record on stdout, nothing on stderr."""
        done = harness.run("print('a'); display(1); 1 / 0", "--json")
        record = json.loads(done.stdout)
        self.assertEqual((done.status, record["status"], done.err), (1, "error", ""))
        self.assertEqual(record["stdout"], "a\n")

    def events(self, done):
        self.assertTrue(done.stdout.isascii(), "one line is one line for every reader")
        return [json.loads(line) for line in done.out.splitlines()]

    def test_jsonl(self):
        done = harness.run("import sys\nprint('ž\\u2028', flush=True)\nprint('e', file=sys.stderr, flush=True)\n"
                           "display({'a': 1})\n7", "--jsonl")
        events = self.events(done)
        kinds = [e["event"] for e in events]
        self.assertEqual((kinds[0], kinds[-1]), ("step.started", "step.finished"))
        self.assertEqual(set(kinds), {"step.started", "stdout", "stderr", "display", "step.finished"})
        self.assertEqual("".join(e["text"] for e in events if e["event"] == "stdout"), "ž\u2028\n")
        self.assertEqual("".join(e["text"] for e in events if e["event"] == "stderr"), "e\n")
        self.assertEqual(next(e for e in events if e["event"] == "display")["data"]["text/plain"], "{'a': 1}")
        self.assertEqual(events[-1]["result"]["value"]["application/json"], 7)
        self.assertEqual(events[0]["session"], events[-1]["result"]["session"])
        self.assertEqual((done.status, done.err), (0, ""))

    def test_jsonl_text_is_the_records(self):
        """The events put together are the record's streams, also when characters are split."""
        done = harness.run("import os, time\n"
                           "for b in 'ž🐎'.encode() * 20: os.write(1, bytes([b])); time.sleep(0.002)", "--jsonl")
        events = self.events(done)
        text = "".join(e["text"] for e in events if e["event"] == "stdout")
        self.assertEqual(text, events[-1]["result"]["stdout"])
        self.assertEqual(text, "ž🐎" * 20)

    def test_jsonl_of_cut_output(self):
        done = harness.run("print('x' * 100000)", "--jsonl", "--output-limit", "1000")
        events = self.events(done)
        text = "".join(e["text"] for e in events if e["event"] == "stdout")
        self.assertEqual(text, events[-1]["result"]["stdout"])

    def test_jsonl_arrives_while_it_runs(self):
        with start("run", "--jsonl", "-c", "import time\nprint('first')\ntime.sleep(60)") as process:
            seen = [json.loads(process.stdout.readline())["event"] for _ in range(2)]
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(WAIT_S), 130)
            last = json.loads(process.stdout.read().splitlines()[-1])
        self.assertEqual(seen, ["step.started", "stdout"])
        self.assertEqual((last["event"], last["result"]["status"]), ("step.finished", "killed"))

    def test_output_arrives_while_it_runs(self):
        with start("run", "-c", "print('first'); input() if 0 else None\nimport time; time.sleep(60)") as process:
            self.assertEqual(process.stdout.readline(), b"first\n")
            self.assertIsNone(process.poll())
            process.kill()

    def test_json_and_jsonl(self):
        self.assertEqual(harness.run("1", "--json", "--jsonl").status, 2)

    FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nNone"

    def test_images_path(self):
        """On no terminal a figure is a file, and its path is told."""
        folder = harness.make_dir()
        done = harness.run(self.FIGURE, "--images", "path", "-o", folder, cwd=folder)
        self.assertEqual(done.status, 0, done)
        paths = [line for line in (done.out + done.err).splitlines() if line.endswith(".png")]
        self.assertEqual(len(paths), 1, done)
        path = os.path.join(folder, paths[0].split()[-1])
        with open(path, "rb") as f:
            self.assertEqual(f.read(8), b"\x89PNG\r\n\x1a\n")

    def test_images_none(self):
        folder = harness.make_dir()
        done = harness.run(self.FIGURE, "--images", "none", cwd=folder)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.err, "")
        self.assertEqual(os.listdir(folder), [])

    def test_a_pipe_that_was_not_read_is_told(self):
        """When the program fails, which may have wanted it; and something lies in it."""
        note = "retort: a pipe on standard input was not read: --stdin - gives it to the program\n"
        fails = ["-c", "import sys; sys.exit(len(sys.stdin.read()) == 0)"]
        for options, stdin, status, err in ((fails, b"1,2", 1, note), (fails, b"", 1, ""), (["--stdin", "-", *fails], b"1,2", 0, ""),
                                            (["-q", *fails], b"1,2", 1, ""), (["-"], b"raise SystemExit(1)", 1, ""), (["-c", "1"], b"1,2", 0, "")):
            with self.subTest(options=options, stdin=stdin):
                done = harness.retort("run", *options, stdin=stdin)
                self.assertEqual((done.status, done.err), (status, err))

    def test_a_figure_that_goes_nowhere_is_told(self):
        done = harness.run(self.FIGURE + "\n" + self.FIGURE)
        self.assertEqual((done.status, done.err), (0, "retort: a figure was not kept: -o DIR keeps figures\n"))
        self.assertEqual(harness.run(self.FIGURE, "-q").err, "")

    def test_quiet(self):
        done = harness.run("while True: pass", "-q", "--timeout", "300ms")
        self.assertEqual(done.status, 124)
        self.assertNotIn("retort:", done.err)
        done = harness.run("print('x' * 100)", "--quiet", "--output-limit", "10")
        self.assertEqual(done.err, "")

    def test_help(self):
        """Asked for, help is output; and it names every option."""
        done = harness.retort("run", "--help")
        self.assertEqual((done.status, done.err), (0, ""))
        for word in ("Usage", "--memory", "--timeout", "--volume", "--json", "124", "137", "retort run -c"):
            self.assertIn(word, done.out)
        self.assertEqual(harness.retort("help", "run").out, done.out)
        self.assertNotIn("\x1b", done.out)
        self.assertEqual(harness.retort("run", "-h").out, done.out)

    def run_on_terminal(self, *args, env=None):
        """Run with a terminal as stdout and stderr. Returns: what it showed."""
        leader, follower = pty.openpty()
        try:
            with start(*args, stdout=follower, stderr=follower, env=harness.environment(env)) as process:
                os.close(follower)
                shown = b""
                while True:
                    try:
                        piece = os.read(leader, 65536)
                    except OSError:
                        break
                    if not piece:
                        break
                    shown += piece
                process.wait(WAIT_S)
        finally:
            os.close(leader)
        return shown.decode()

    def test_no_color(self):
        env = {"TERM": "xterm-256color"}
        self.assertIn("\x1b[", self.run_on_terminal("run", "--help", env=env))
        self.assertNotIn("\x1b[", self.run_on_terminal("run", "--help", env={**env, "NO_COLOR": "1"}))
        self.assertNotIn("\x1b[", self.run_on_terminal("run", "--help", "--color", "never", env=env))
        self.assertNotIn("\x1b[", self.run_on_terminal("run", "--help", env={"TERM": "dumb"}))

    def test_escapes_of_the_program_are_not_retorts(self):
        """What a name given by the caller holds does not reach the terminal in an error."""
        done = harness.retort("run", "no\x1b[31m\nsuch.py")
        self.assert_failed(done, 2, "such")
        self.assertNotIn("\x1b", done.err)


class Seed(CliCase):
    CODE = ("import random\nimport numpy as np\n"
            "print(hash('x'), random.random(), np.random.rand(), list({'a', 'b', 'c'}))")

    def test_seed(self):
        one = harness.run(self.CODE, "--seed", "7")
        self.assertEqual(one.status, 0, one)
        self.assertEqual(one.out, harness.run(self.CODE, "--seed", "7").out)
        self.assertNotEqual(one.out, harness.run(self.CODE, "--seed", "8").out)

    def test_seed_zero(self):
        self.assertEqual(harness.run(self.CODE, "--seed", "0").out, harness.run(self.CODE, "--seed", "0").out)

    def test_no_seed(self):
        a, b = harness.run(self.CODE).out.split(), harness.run(self.CODE).out.split()
        for i in range(3):
            self.assertNotEqual(a[i], b[i])


class Interpreters(CliCase):
    """--python with virtual environments."""

    def make_venv(self, name="venv", *options):
        folder = os.path.join(harness.make_dir(), name)
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", *options, folder], check=True,
                       env=harness.environment())
        version = "python%d.%d" % sys.version_info[:2]
        packages = os.path.join(folder, "lib", version, "site-packages")
        write(os.path.join(packages, "foo.py"), "NAME = 'foo of the venv'")
        write(os.path.join(packages, "extra", "bar.py"), "NAME = 'bar by pth'")
        write(os.path.join(packages, "more.pth"), os.path.join(packages, "extra") + "\n")
        return folder

    CODE = "import bar, foo, sys\nprint(foo.NAME, bar.NAME, sys.prefix != sys.base_prefix)"
    WANT = "foo of the venv bar by pth True\n"

    def test_directory(self):
        self.assert_ran(harness.run(self.CODE, "--python", self.make_venv()), self.WANT)

    def test_programs_of_the_environment_come_first(self):
        folder = self.make_venv()
        write(os.path.join(folder, "bin", "tool"), "#!/bin/sh\necho of the venv\n")
        os.chmod(os.path.join(folder, "bin", "tool"), 0o755)
        child = "import subprocess\nprint(subprocess.check_output(['python3', '-c', 'import foo; print(foo.NAME)'], text=True))"
        self.assert_ran(harness.run(child, "--python", folder), "foo of the venv\n\n")
        self.assert_ran(harness.run("!tool", "--python", folder), "of the venv\n")
        self.assert_ran(harness.run("%%bash\npython -c 'import foo; print(foo.NAME)'\ntool", "--python", folder),
                        "foo of the venv\nof the venv\n")
        self.assert_ran(harness.run("!echo $PATH", "--python", folder, "-e", "PATH=/bin"), "/bin\n")
        self.assert_ran(harness.run("!echo $PATH"), "/home/user/.local/bin:/usr/local/bin:/usr/bin:/bin\n")

    def test_relative(self):
        folder = self.make_venv()
        self.assert_ran(harness.run(self.CODE, "--python", "./venv", cwd=os.path.dirname(folder)), self.WANT)
        self.assert_ran(harness.run(self.CODE, "--python", "venv/bin/../bin/python", cwd=os.path.dirname(folder)),
                        self.WANT)

    def test_its_python(self):
        folder = self.make_venv()
        for name in ("python", "python3"):
            self.assert_ran(harness.run(self.CODE, "--python", os.path.join(folder, "bin", name)), self.WANT)

    def test_copied_interpreter(self):
        self.assert_ran(harness.run(self.CODE, "--python", self.make_venv("venv", "--copies")), self.WANT)

    def test_odd_name(self):
        self.assert_ran(harness.run(self.CODE, "--python", self.make_venv("my venv ž")), self.WANT)

    def test_through_a_link(self):
        folder = self.make_venv()
        link = os.path.join(harness.make_dir(), "link")
        os.symlink(folder, link)
        self.assert_ran(harness.run(self.CODE, "--python", link), self.WANT)

    def test_system_packages(self):
        """With --system-site-packages the system's are there too; without, they are not."""
        code = "import numpy; print('numpy')"
        folder = self.make_venv("venv", "--system-site-packages")
        self.assert_ran(harness.run(code, "--python", folder), "numpy\n")
        done = harness.run(code, "--python", self.make_venv())
        self.assertEqual(done.status, 1)
        self.assertIn("ModuleNotFoundError", done.err)

    def test_is_read_only(self):
        folder = self.make_venv()
        done = harness.run("import foo\ntry: open(foo.__file__, 'a')\nexcept OSError as e: print(e.errno)",
                           "--python", folder)
        self.assert_ran(done, "30\n")

    def test_children_use_it(self):
        """sys.executable in the box starts the same interpreter with the same packages."""
        code = ("import subprocess, sys\n"
                "subprocess.run([sys.executable, '-c', 'import foo; print(foo.NAME)'], check=True)\nNone")
        self.assert_ran(harness.run(code, "--python", self.make_venv()), "foo of the venv\n")

    def test_usual_one(self):
        self.assert_ran(harness.run("import sys; print(sys.version_info[0])", "--python", PYTHON), "3\n")


@harness.as_each
class Interruptions(CliCase):
    """Signals and pipes from outside."""

    def running(self, code, *options, **kwargs):
        """A started retort whose program has said that it is up."""
        code = "def up(): print('up', flush=True)\n" + code
        process = start("run", *options, "-c", code, **kwargs)
        self.assertEqual(process.stdout.readline(), b"up\n")
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=WAIT_S)
        return process.returncode, out, err.decode()

    def boxes(self, marker):
        """Processes of the host whose command line or environment names @marker."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if marker.encode() in f.read():
                        found.append(int(pid))
            except OSError:
                continue
        return found

    def assert_gone(self, marker):
        deadline = time.monotonic() + 5
        while self.boxes(marker) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.boxes(marker), [])

    def test_interrupt(self):
        """Ctrl-C: the program sees KeyboardInterrupt, retort ends with 130, nothing is left."""
        marker = f"RETORT_MARK={os.getpid()}-{time.monotonic_ns()}"
        process = self.running("import time\ntry: up(); time.sleep(60)\n"
                               "except KeyboardInterrupt: print('seen'); raise",
                               "-e", marker)
        self.assertTrue(self.boxes(marker) or not harness.IS_ROOT)
        process.send_signal(signal.SIGINT)
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (130, b"seen\n"))
        self.assertRegex(err, r"KeyboardInterrupt\nretort: interrupted\n$")
        self.assert_gone(marker)

    def test_interrupt_record(self):
        with start("run", "--jsonl", "-c", "print('up', flush=True)\nimport time; time.sleep(60)") as process:
            process.stdout.readline()
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=WAIT_S)
        record = json.loads(out.splitlines()[-1])["result"]
        self.assertEqual((process.returncode, record["status"], record["error"]["name"]),
                         (130, "killed", "Interrupted"))

    def test_interrupt_of_the_whole_group(self):
        """As a terminal does it: every process of the group gets the signal, the box just one."""
        process = self.running("import time\nn = 0\nfor i in range(2):\n"
                               " try: n or up(); time.sleep(0.7 if n else 60)\n"
                               " except KeyboardInterrupt: n += 1\nprint(n)",
                               start_new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        status, out, _ = self.finish(process)
        self.assertEqual((status, out), (130, b"1\n"))

    def test_interrupt_twice(self):
        """A second Ctrl-C does not wait for the program to like it."""
        process = self.running("import os, signal, time\nsignal.signal(2, lambda *_: os.write(1, b'no\\n'))\nup()\n"
                               "while True: time.sleep(60)")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"no\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process)[0], 130)

    def test_interrupt_ignored(self):
        """One is enough even for a program that ignores it: a second of grace, then the end."""
        process = self.running("import signal, time\nsignal.signal(2, signal.SIG_IGN)\nup()\n"
                               "while True: time.sleep(60)")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process)[0], 130)

    def test_terminate(self):
        process = self.running("import time; up(); time.sleep(60)")
        process.send_signal(signal.SIGTERM)
        self.assertIn(self.finish(process)[0], (130, 143))

    def test_interrupt_at_start(self):
        """At any moment of the start, too, an interrupt is not lost."""
        for delay_ms in range(0, 40, 2):
            with start("run", "--timeout", "5s", "-c", "import time; time.sleep(60)") as process:
                time.sleep(delay_ms / 1000)
                process.send_signal(signal.SIGINT)
                status, out, _ = self.finish(process)
                self.assertIn(status, (130, -2), delay_ms)
                self.assertEqual(out, b"")

    def test_reader_that_leaves(self):
        """`retort run … | head -1` ends."""
        code = "i = 0\nwhile True:\n print(i); i += 1"
        done = subprocess.run(["bash", "-c", '"$0" run --timeout 60s -c "$1" | head -1; exit ${PIPESTATUS[0]}',
                               harness.RETORT, code], capture_output=True, env=harness.environment(), timeout=50,
                              check=False)
        self.assertEqual(done.stdout, b"0\n")
        self.assertEqual(done.returncode, 128 + signal.SIGPIPE)

    def test_reader_that_leaves_a_quiet_program(self):
        """The program need not write much to notice."""
        done = subprocess.run(["bash", "-c", '"$0" run --timeout 60s -c "$1" | head -1; exit ${PIPESTATUS[0]}',
                               harness.RETORT, "import time\nfor i in range(500): print(i); time.sleep(0.1)"],
                              capture_output=True, env=harness.environment(), timeout=50, check=False)
        self.assertEqual((done.stdout, done.returncode), (b"0\n", 128 + signal.SIGPIPE))

    def test_closed_stdout(self):
        """Output that cannot be shown is an error, never a silent success."""
        done = subprocess.run(["bash", "-c", '"$0" run -c "print(1)" >&-', harness.RETORT], capture_output=True,
                              env=harness.environment(), check=False)
        self.assertNotEqual(done.returncode, 0)

    def test_closed_descriptors(self):
        """Whichever of 0, 1 and 2 the caller has closed, retort neither crashes nor mixes them up."""
        for closed in ("<&-", "2>&-", "<&- 2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                done = subprocess.run(["bash", "-c", f'"$0" run -c "import os; None" {closed}', harness.RETORT],
                                      capture_output=True, env=harness.environment(), check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_full_device(self):
        for options in ([], ["--json"], ["--jsonl"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([harness.RETORT, "run", *options, "-c", "print(1)"], stdout=full,
                                      stderr=subprocess.PIPE, env=harness.environment(), check=False)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertRegex(done.stderr, b"^retort: .*No space left on device.*\n$", options)

    def test_slow_reader(self):
        """A reader that sleeps does not stop the clock, and retort does not wait for it for ever."""
        process = start("run", "--timeout", "2s", "-c",
                        "while True: print('x' * 1000000, flush=True)", stderr=subprocess.DEVNULL)
        with process:
            started = time.monotonic()
            time.sleep(4)
            out = process.stdout.read()
            process.wait(WAIT_S)
        self.assertEqual(process.returncode, 124)
        self.assertLess(time.monotonic() - started, 30)
        self.assertGreaterEqual(len(out), 10 << 20)

    def test_slow_reader_loses_nothing(self):
        """Below the limit a slow reader gets every byte."""
        process = start("run", "-c", "for i in range(9): print('x' * ((1 << 20) - 1))")
        with process:
            time.sleep(1.5)
            out = process.stdout.read()
        self.assertEqual((len(out), process.returncode), (9 << 20, 0))

    def test_nonblocking_stdout(self):
        """A pipe that somebody has set to O_NONBLOCK loses nothing either."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        process = start("run", "-c", "print('x' * (5 << 20))", stdout=writer)
        os.close(writer)
        time.sleep(0.7)
        out = b""
        while piece := os.read(reader, 1 << 20):
            out += piece
        os.close(reader)
        err = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(WAIT_S), len(out), err), (0, (5 << 20) + 1, b""))

    def test_from_a_directory_that_is_gone(self):
        folder = harness.make_dir()
        done = subprocess.run(["bash", "-c", 'cd "$1" && rmdir "$1" && exec "$0" run -c "print(1)"', harness.RETORT,
                               folder], capture_output=True, env=harness.environment(), check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"1\n"))

    def test_no_open_files_leak_in(self):
        """Descriptors that the caller has open are not the program's."""
        with open("/etc/passwd", "rb") as f:
            done = subprocess.run([harness.RETORT, "run", "-c",
                                   "import os\nprint([os.readlink('/proc/self/fd/' + n)"
                                   " for n in os.listdir('/proc/self/fd')"
                                   " if os.path.exists('/proc/self/fd/' + n)])"],
                                  pass_fds=[f.fileno()], capture_output=True, env=harness.environment(), check=False)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b"passwd", done.stdout)


if __name__ == "__main__":
    harness.main()
