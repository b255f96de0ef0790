# SPDX-License-Identifier: Apache-2.0
"""What is wrong outside of the program is said in one line that tells what to do, and leaves nothing.

Also that large and odd input is either taken or refused in the same way.
"""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import harness  # noqa: E402

PYTHON = "/usr/bin/python3"


def write(path, text, mode=0o644):
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    return path


class ErrorCase(harness.Case):
    def setUp(self):
        self.folder = harness.make_dir()
        self.before = self.own_state()

    def own_state(self):
        """What a run of ours might leave where only we write."""
        return sorted(os.listdir(harness.TMP))

    def tearDown(self):
        self.assertEqual(self.own_state(), self.before)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def assert_line(self, done, status, *patterns):
        """One line `retort: what: which: what to do`, no other output, the status, every pattern."""
        self.assertEqual(done.status, status, done)
        self.assertEqual(done.out, "")
        self.assertRegex(done.err, "^retort: [^\n]*\n$")
        self.assertLess(len(done.err), 1000)
        for pattern in patterns:
            self.assertRegex(done.err, pattern)

    def assert_fails(self, args, status, *patterns, code=None, **kwargs):
        """`retort run ARGS` fails with that line; with --json also with an object of the same words."""
        done = harness.retort("run", *args, **kwargs)
        self.assert_line(done, status, *patterns)
        with_json = harness.retort("run", "--json", *args, **kwargs)
        self.assertEqual((with_json.status, with_json.err), (status, done.err))
        self.assertEqual(with_json.out.count("\n"), 1, with_json)
        error = with_json.json()
        self.assertEqual(set(error), {"error"})
        self.assertLessEqual({"code", "message"}, set(error["error"]))
        self.assertLessEqual(set(error["error"]), {"code", "message", "hint"})
        self.assertRegex(error["error"]["code"], "^[a-z_]+$")
        if code:
            self.assertEqual(error["error"]["code"], code)
        self.assertIn(error["error"].get("hint", ""), done.err)
        self.assertTrue(error["error"].get("hint"), "an error says what to do")


class Usage(ErrorCase):
    def test_unknown_option(self):
        """Status 2 and the nearest one."""
        self.assert_fails(["--memroy", "1g", "-c", "1"], 2, "--memroy", "did you mean --memory", code="usage")
        self.assert_fails(["--time-out=1s", "-c", "1"], 2, "--time-out", "did you mean --timeout", code="usage")

    def test_unknown_option_unlike_any(self):
        self.assert_line(harness.retort("run", "--zzzzzzzzzz", "-c", "1"), 2, "--zzzzzzzzzz", "--help")

    def test_unknown_letter(self):
        self.assert_fails(["-Z", "-c", "1"], 2, "-Z", code="usage")

    def test_unknown_command(self):
        self.assert_line(harness.retort("rnu"), 2, "rnu", "did you mean run")
        self.assert_line(harness.retort("zzzzzzzz"), 2, "zzzzzzzz")
        self.assert_line(harness.retort("--zzz"), 2, "zzz")

    def test_nothing_to_run(self):
        self.assert_fails([], 2, "nothing to run", "FILE", code="usage")

    def test_missing_value(self):
        self.assert_line(harness.retort("run", "--memory"), 2, "--memory")
        self.assert_line(harness.retort("run", "-c"), 2, "--code")

    def test_bad_size(self):
        self.assert_fails(["-m", "12q", "-c", "1"], 2, "--memory", "12q", "512m", code="usage")

    def test_bad_values(self):
        for option, value in (("--memory", "0"), ("--memory", "-1"), ("--memory", ""), ("--memory", "1e9"),
                              ("--memory", "99999999999999999999"), ("--memory", "15m"), ("--timeout", "0"),
                              ("--timeout", "5  s"), ("--timeout", "nan"), ("--cpus", "0"), ("--cpus", "x"),
                              ("--cpus", "-0.5"), ("--pids", "0"), ("--pids", "1.5"), ("--disk", "1"),
                              ("--inodes", "0"), ("--open-files", "1"), ("--output-limit", "2g"), ("--seed", "-1"),
                              ("--seed", "4294967296"), ("--images", "jpeg"), ("--color", "sometimes"),
                              ("--net", "b@d")):
            with self.subTest(option=option, value=value):
                done = harness.retort("run", option, value, "-c", "1")
                self.assert_line(done, 2, option)

    def test_flag_with_a_value(self):
        self.assert_line(harness.retort("run", "--quiet=perhaps", "-c", "1"), 2, "--quiet", "perhaps")

    def test_first_of_several(self):
        """Of several mistakes the first is told, in one line."""
        self.assert_line(harness.retort("run", "-m", "x", "--nope", "-v", "y", "none.py"), 2, "--memory")


class Programs(ErrorCase):
    def test_missing_file(self):
        self.assert_fails(["no-such.py"], 2, "no-such.py", "-c CODE", code="not_found")

    def test_empty_name(self):
        self.assert_line(harness.retort("run", ""), 2)

    def test_directory(self):
        self.assert_fails([self.folder], 2, "directory", code="usage")

    @harness.unittest.skipIf(harness.IS_ROOT, "root may read every file")
    def test_unreadable_file(self):
        path = write(self.path("secret.py"), "1", 0)
        self.assert_fails([path], 2, "secret.py", "[Pp]ermission", code="access")

    def test_not_utf8(self):
        path = write(self.path("latin.py"), b"print('caf\xe9')\n")
        self.assert_fails([path], 2, "latin.py", "UTF-8", "iconv", code="usage")

    def test_code_not_utf8(self):
        done = harness.retort("run", "-c", b"print('caf\xe9')")
        self.assert_line(done, 2, "UTF-8")

    def test_binary_file(self):
        self.assert_line(harness.retort("run", "/bin/true"), 2, "UTF-8")

    def test_twenty_megabytes(self):
        """More code than there is room for is refused in words; a few megabytes run."""
        path = write(self.path("big.py"), b"x = '" + b"y" * (20 << 20) + b"'\n")
        self.assert_fails([path], 2, "big.py", "MiB", code="limit")
        self.assert_line(harness.retort("run", "-", stdin=b"#" * (20 << 20)), 2, "MiB")
        path = write(self.path("less.py"), b"x = '" + b"y" * (5 << 20) + b"'\nprint(len(x))")
        done = harness.retort("run", path)
        self.assertEqual((done.status, done.out, done.err), (0, f"{5 << 20}\n", ""))

    def test_code_that_json_makes_larger(self):
        """Just under the limit, of characters that must be escaped on the way: runs or is refused."""
        path = write(self.path("escaped.py"), b"#" + b"\x01" * ((15 << 20)) + b"\nprint('ran')")
        done = harness.retort("run", path)
        if done.status:
            self.assert_line(done, 2, "MiB")
        else:
            self.assertEqual(done.out, "ran\n")

    def test_endless_program(self):
        done = subprocess.run([harness.RETORT, "run", "/dev/zero"], capture_output=True, env=harness.environment(),
                              timeout=60, check=False)
        self.assert_line(harness.Result(done), 2, "/dev/zero")

    def test_program_and_input_on_one_stream(self):
        self.assert_fails(["--stdin", "-", "-"], 2, "standard input", code="usage", stdin=b"1")


class Runtimes(ErrorCase):
    def test_unknown(self):
        self.assert_fails(["-r", "cobol", "-c", "1"], 127, "cobol", "python", code="runtime")

    def test_no_python(self):
        self.assert_fails(["--python", "/nonexistent", "-c", "1"], 127, "/nonexistent", "--python", code="runtime")

    def test_no_python_in_a_directory(self):
        self.assert_fails(["--python", self.folder, "-c", "1"], 127, "bin/python3", code="runtime")

    def test_python_without_execute_bit(self):
        path = write(self.path("python3"), "#!/bin/sh\n")
        self.assert_fails(["--python", path, "-c", "1"], 127, "python3", code="runtime")

    def test_not_python(self):
        """Something that starts and is no Python ends as an error, not in a long wait."""
        done = harness.run("1", "--python", "/bin/true")
        self.assertIn(done.status, (125, 127), done)
        self.assertRegex(done.err, "^retort: [^\n]*\n$")

    def test_python_that_cannot_start(self):
        os.mkdir(self.path("bin"))
        path = write(self.path("bin", "python3"), b"\x7fELF not really", 0o755)
        os.chmod(self.folder, 0o755)
        done = harness.run("1", "--python", path)
        self.assertIn(done.status, (125, 127), done)
        self.assertRegex(done.err, "^retort: [^\n]*\n$")

    def test_empty_rootfs(self):
        os.mkdir(self.path("root"))
        self.assert_line(harness.run("1", "--rootfs", self.path("root")), 127, "no python3 in the image")

    def test_missing_rootfs(self):
        self.assert_fails(["--rootfs", self.path("none"), "-c", "1"], 2, "--rootfs", code="not_found")

    def test_rootfs_is_a_file(self):
        path = write(self.path("root"), "")
        self.assert_line(harness.run("1", "--rootfs", path), 2, "--rootfs")


class Places(ErrorCase):
    def volume(self, text):
        return ["-v", text, "-c", "1"]

    def test_missing_source(self):
        self.assert_fails(self.volume(self.path("none") + ":/data"), 2, "none", code="not_found")

    def test_destination_is_the_boxs(self):
        for dst in ("/", "/etc", "/usr", "/proc", "/proc/1", "/dev/x", "/home/user", "/tmp", "/retort", "//", "/usr/"):
            self.assert_fails(self.volume(f"{self.folder}:{dst}"), 2, "volume", "/data", code="usage")

    def test_destination_goes_up(self):
        for dst in ("..", "/..", "../x", "/data/../etc", "a/../../b", ".", "/data/./x"):
            self.assert_fails(self.volume(f"{self.folder}:{dst}"), 2, "volume", code="usage")

    def test_destination_given_twice(self):
        """The second volume would hide the first."""
        one, two = write(self.path("one"), "1"), write(self.path("two"), "2")
        for first, second in (("a", "a"), ("a", "a/"), ("a", "/home/user/a"), ("/data/a/", "/data/a")):
            self.assert_fails(["-v", f"{one}:{first}", *self.volume(f"{two}:{second}")], 2, "volume destination", one, two,
                              "another destination", code="usage")
        self.assert_fails(["--skills", self.folder, *self.volume(f"{one}:/skills")], 2, "/skills", code="usage")
        done = harness.run("print(open('a').read() + open('/a').read())", "-v", f"{one}:a", "-v", f"{two}:/a")
        self.assertEqual((done.out, done.err), ("12\n", ""))

    def test_destination_below_a_file(self):
        file = write(self.path("f"), "1")
        self.assert_line(harness.run("1", "-v", f"{file}:/data", "-v", f"{self.folder}:/data/x"), 2, "/data/x")

    def test_destination_through_a_link(self):
        """A link in a workspace does not lead a volume anywhere."""
        work = self.path("work")
        os.mkdir(work)
        os.symlink("/etc", os.path.join(work, "link"))
        self.assert_line(harness.run("1", "-w", work, "-v", f"{self.folder}:link/x"), 2, "link/x")
        self.assertEqual(os.listdir(work), ["link"])

    def test_destination_missing_in_a_workspace(self):
        """Nothing is made in a directory of the host."""
        work = self.path("work")
        os.mkdir(work)
        self.assert_fails(["-w", work, *self.volume(f"{self.folder}:new")], 2, "new")
        self.assertEqual(os.listdir(work), [])

    def test_bad_shape(self):
        for text in (":", "x:", ":x", "x:y:zz", "x:y:ro:rw", "", "x:y:", ".", "..", "/"):
            self.assert_fails(self.volume(text), 2, "--volume", code="usage")
        self.assert_fails(self.volume("not-there"), 2, "not-there", code="not_found")

    def test_device_and_socket(self):
        os.mkfifo(self.path("fifo"))
        for src in ("/dev/null", self.path("fifo")):
            self.assert_line(harness.run("1", "-v", f"{src}:/data"), 2, "--volume")

    @harness.unittest.skipIf(harness.IS_ROOT, "root may read every directory")
    def test_unreadable_source(self):
        os.mkdir(self.path("closed"))
        os.mkdir(self.path("closed", "in"))
        os.chmod(self.path("closed"), 0)
        try:
            self.assert_fails(self.volume(self.path("closed", "in") + ":/data"), 2, "closed", code="access")
        finally:
            os.chmod(self.path("closed"), 0o700)

    def test_many_volumes(self):
        """Three hundred are refused, in one line; fifty are not."""
        for n in (65, 300):
            options = [f"-v{self.folder}:/data/{i}" for i in range(n)]
            self.assert_line(harness.run("1", *options), 2, "[Vv]olume")
        options = [f"-v{self.folder}:/data/{i}" for i in range(50)]
        done = harness.run("import os; print(len(os.listdir('/data')))", *options)
        self.assertEqual((done.status, done.out, done.err), (0, "50\n", ""))

    def test_workspace_missing(self):
        self.assert_fails(["-w", self.path("none"), "-c", "1"], 2, "--workspace", "none", code="not_found")

    def test_workspace_is_a_file(self):
        self.assert_fails(["-w", write(self.path("f"), ""), "-c", "1"], 2, "--workspace", code="usage")

    def test_workspace_is_everything(self):
        done = harness.run("1", "-w", "/")
        self.assert_line(done, 2, "--workspace")

    @harness.unittest.skipIf(harness.IS_ROOT, "root may write to every directory")
    def test_workspace_not_writable(self):
        os.mkdir(self.path("closed"), 0o500)
        self.assert_fails(["-w", self.path("closed"), "-c", "1"], 2, "--workspace", code="access")

    def test_workspace_on_a_read_only_file_system(self):
        self.assert_line(harness.run("1", "-w", "/proc"), 2, "workspace")

    def test_out_is_a_file(self):
        self.assert_fails(["-o", write(self.path("f"), ""), "-c", "1"], 2, "--out")

    def test_out_below_nothing(self):
        self.assert_fails(["-o", self.path("a", "b"), "-c", "1"], 2, "--out")

    @harness.unittest.skipIf(harness.IS_ROOT, "root may write to every directory")
    def test_out_not_writable(self):
        os.mkdir(self.path("closed"), 0o500)
        self.assert_fails(["-o", self.path("closed"), "-c", "1"], 2, "--out", code="access")
        self.assert_fails(["-o", self.path("closed", "x"), "-c", "1"], 2, "--out", code="access")

    def test_out_after_a_mistake(self):
        """What is wrong is found before anything is made."""
        for options in (["-v", "none:/x"], ["-r", "cobol"], ["--python", "/nonexistent"]):
            harness.run("1", "-o", self.path("out"), *options)
            self.assertFalse(os.path.exists(self.path("out")), options)

    def test_out_where_a_directory_lies(self):
        """A file that cannot be put where it belongs is named; the rest is copied."""
        os.makedirs(self.path("out", "b", "x"))
        done = harness.run("for n in 'abc': open(n, 'w').close()", "-o", self.path("out"))
        self.assert_line(done, 1, "copy b out")
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a", "b", "c"])

    def test_stdin_missing(self):
        self.assert_fails(["--stdin", self.path("none"), "-c", "1"], 2, "--stdin", code="not_found")

    def test_stdin_is_a_directory(self):
        self.assert_fails(["--stdin", self.folder, "-c", "1"], 2, "--stdin")

    def test_stdin_closed(self):
        done = subprocess.run(["bash", "-c", '"$0" run --stdin - -c "print(1)" <&-', harness.RETORT],
                              capture_output=True, env=harness.environment(), check=False)
        done = harness.Result(done)
        if done.status:
            self.assertRegex(done.err, "^retort: [^\n]*\n$")
        else:
            self.assertEqual((done.out, done.err), ("1\n", ""))


class Sizes(ErrorCase):
    """Very long lists are taken or refused; never cut."""

    def assert_taken_or_refused(self, done, want):
        if done.status:
            self.assert_line(done, 2)
        else:
            self.assertEqual((done.out, done.err), (want, ""))

    def test_long_arguments(self):
        for args in (["x" * 100_000], ["x"] * 5_000, ["x" * 1000] * 1000):
            done = harness.retort("run", "-c", "import sys; print(len(sys.argv), sum(map(len, sys.argv)))", *args)
            want = f"{len(args) + 1} {sum(map(len, args)) + 2}\n"
            self.assertEqual((done.status, done.out, done.err), (0, want, ""))

    def test_arguments_not_utf8(self):
        self.assert_line(harness.retort("run", "-c", "1", b"\xff"), 2, "UTF-8")

    def test_long_environment(self):
        done = harness.run("import os; print(len(os.environ['A']))", "-e", "A=" + "x" * 50_000)
        self.assert_taken_or_refused(done, "50000\n")
        done = harness.run("import os; print(len(os.environ['A']))", "-e", "A=" + "x" * 120_000)
        self.assert_taken_or_refused(done, "120000\n")

    def test_many_variables(self):
        for n in (50, 300):
            options = [word for i in range(n) for word in ("-e", f"V{i}=x")]
            done = harness.run("import os; print(sum(k[0] == 'V' for k in os.environ))", *options)
            self.assert_taken_or_refused(done, f"{n}\n")

    def test_variable_not_utf8(self):
        done = harness.run("import os; print(os.environb[b'A'])", "-e", b"A=\xff")
        self.assert_taken_or_refused(done, "b'\\xff'\n")

    def test_large_host_environment(self):
        done = harness.run("print(1)", env={f"V{i}": "x" * 1000 for i in range(500)})
        self.assertEqual((done.status, done.out, done.err), (0, "1\n", ""))

    def test_long_path(self):
        done = harness.retort("run", "x" * 5000)
        self.assert_line(done, 2)
        self.assert_line(harness.run("1", "-v", f"{self.folder}:/{'x' * 5000}"), 2)
        self.assert_line(harness.run("1", "-v", f"{self.folder}:/{'x' * 300}"), 2)
        self.assert_line(harness.run("1", "--python", "/" + "x" * 5000), 2)

    def test_huge_limits(self):
        """Limits beyond what a host has are no reason not to run."""
        done = harness.run("print(1)", "-m", "1t", "--pids", "4194304", "--disk", "1t", "--timeout", "1000h",
                           "--cpu-time", "1000h", "--cpus", "512", "--inodes", "1000000", "--open-files", "1048576",
                           "--file-size", "1t")
        self.assertEqual((done.status, done.out), (0, "1\n"), done)


@harness.needs_root("needs mounts of its own")
class Hosts(ErrorCase):
    """Hosts that are full or restricted."""

    def run_in(self, script, *args):
        """Run @script in a mount namespace of its own, with retort as $R and ours as $D."""
        env = harness.environment({"R": harness.RETORT, "D": self.folder})
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "bash", "-ec", script, "bash", *args],
                              capture_output=True, env=env, cwd=harness.TMP, timeout=120, check=False)
        return harness.Result(done)

    def test_full_disk(self):
        """-o onto a full file system: an error, and no half file, not even a hidden one."""
        done = self.run_in("mkdir $D/m; mount -t tmpfs -o size=1m none $D/m; mkdir $D/m/out\n"
                           "set +e; $R run -o $D/m/out -c \"open('small', 'w').write('1');"
                           " open('big', 'wb').write(b'1' * (2 << 20)); None\"; s=$?; ls -A $D/m/out; exit $s")
        self.assertEqual((done.status, done.out), (1, "small\n"), done)
        self.assertRegex(done.err, "^retort: [^\n]*big[^\n]*No space left on device[^\n]*\n$")

    def test_full_workspace(self):
        """A full directory of the host is the program's OSError."""
        done = self.run_in("mkdir $D/m; mount -t tmpfs -o size=1m none $D/m\n"
                           "$R run -w $D/m -c \"open('big', 'wb').write(b'1' * (2 << 20))\"")
        self.assertEqual(done.status, 1)
        self.assertRegex(done.err, "OSError: .*No space left on device\nretort: hint: the files of a box have limits: .*\n$")

    # What docker and its kin do to a container's /proc.
    MASK = ("mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys\n"
            "for f in kcore keys timer_list; do [ ! -e /proc/$f ] || mount --bind /dev/null /proc/$f; done\n"
            "for d in acpi scsi irq; do [ ! -d /proc/$d ] || mount -t tmpfs -o ro none /proc/$d; done\n")

    def test_proc_is_masked(self):
        """Part of /proc hidden, as containers do it: said, with what to do, before anything runs."""
        done = self.run_in(self.MASK + "exec setpriv --reuid=65534 --regid=65534 --clear-groups "
                           "--bounding-set=-all --inh-caps=-all $R run -c 'print(1)'")
        self.assert_line(done, 125, "/proc", "container")

    def test_proc_is_masked_as_root(self):
        done = self.run_in(self.MASK + "exec $R run -c 'print(1)'")
        self.assert_line(done, 125, "/proc", "container")

    def test_no_proc(self):
        done = self.run_in("mount -t tmpfs none /proc; exec $R run -c 'print(1)'")
        self.assertNotEqual(done.status, 0)
        self.assertEqual(done.out, "")
        said = "".join(line for line in done.err.splitlines(True) if not line.startswith("=="))  # sanitizers
        self.assertRegex(said, "^retort: [^\n]*\n$")

    def test_no_tmp(self):
        """A read-only /tmp and a read-only root do not matter."""
        done = self.run_in("mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp; mount -o remount,bind,ro /\n"
                           "! touch /tmp/x 2>/dev/null; ! touch /x 2>/dev/null; exec $R run -c 'print(1)'")
        self.assertEqual((done.status, done.out, done.err), (0, "1\n", ""))

    def test_read_only_cgroups(self):
        """Cgroups that cannot be written, as in containers: it runs and says who enforces instead."""
        done = self.run_in("mount --bind /sys/fs/cgroup $D; mount -t tmpfs -o ro none /sys/fs/cgroup\n"
                           "exec $R run --json -c 'print(1)'")
        self.assertEqual((done.status, done.err), (0, ""), done)
        self.assertEqual(done.json()["limits"]["memory_bytes"]["by"], "engine")

    def test_no_user_namespaces(self):
        """A host that allows no more user namespaces: one line, and where to read on."""
        done = self.run_in("unshare -U --map-root-user bash -c "
                           "'echo 0 > /proc/sys/user/max_user_namespaces; exec $R run -c 1'")
        self.assert_line(done, 125, "namespaces", "doctor")

    def test_missing_parts(self):
        """An installation without its parts says which one and what to do."""
        if os.path.basename(os.path.dirname(harness.RETORT)) != "bin":
            self.skipTest("not an installed copy")  # what is above it is no installation: /tmp copied into itself has no end
        copy = shutil.copytree(os.path.dirname(os.path.dirname(harness.RETORT)), self.path("copy"), symlinks=True)
        binary = os.path.join(copy, "bin", "retort")
        for part in ("retort-warden", "retort-init"):
            moved = [os.path.join(top, part) for top, _, files in os.walk(copy) if part in files]
            for path in moved:
                os.rename(path, path + ".away")
            done = harness.Result(subprocess.run([binary, "run", "-c", "1"], capture_output=True,
                                                 env=harness.environment(), check=False))
            self.assert_line(done, 125, "retort|install")
            for path in moved:
                os.rename(path + ".away", path)


class Names(ErrorCase):
    def test_json_error_is_ascii_safe(self):
        """A name that is no text still makes valid JSON and one line."""
        done = harness.retort("run", "--json", b"no\xff\n\x1b[1m.py")
        self.assertEqual(done.status, 2)
        self.assertIn("no", json.loads(done.stdout)["error"]["message"])
        self.assertRegex(done.err, "^retort: [^\n\x1b]*\n$")


if __name__ == "__main__":
    harness.main()
