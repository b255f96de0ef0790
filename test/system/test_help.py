# SPDX-License-Identifier: Apache-2.0
"""Help, manual pages and completions: all from the option tables, and good in the tools that read them."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import harness  # noqa: E402

IDENTITY = "user"
COMMANDS = ["run", "repl", "session", "exec", "attach", "ps", "port", "cp", "ssh-config", "ssh-proxy", "kernel", "serve", "mcp", "agent", "plan", "tools", "replay", "doctor",
            "completion", "version", "help"]
# Below `retort session` and `retort tools`.
SESSION = ["new", "ls", "exec", "branch", "undo", "log", "files", "rm", "export", "prune", "net"]
TOOLS = ["list", "search", "stub", "call"]


def options():
    """The long options of `retort run`, from its help."""
    return set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", harness.retort("run", "--help").out, re.M))


class Start(harness.Case):
    def test_libraries_of_some_commands_are_not_loaded_by_all(self):
        if not shutil.which("readelf"):
            self.skipTest("no readelf")
        said = subprocess.run(["readelf", "-d", harness.RETORT], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"NEEDED.*\[(lib\w+)", said)
        self.assertIn("libc", needed)
        for name in ("libmicrohttpd", "libcurl", "libgnutls", "libarchive", "libzmq"):
            self.assertNotIn(name, needed)


class Help(harness.Case):
    def test_lists_every_command(self):
        done = harness.retort("help")
        self.assertEqual((done.status, done.err), (0, ""))
        for name in COMMANDS:
            self.assertRegex(done.out, rf"(?m)^\s+{name}\s")

    def test_of_each_command(self):
        for name in COMMANDS:
            with self.subTest(command=name):
                done = harness.retort(name, "--help")
                self.assertEqual((done.status, done.err), (0, ""))
                self.assertEqual(done.out, harness.retort("help", name).out)
                self.assertIn(f"retort {name}", done.out)
                groups = re.findall(r"^(\w.*):$", done.out, re.M)
                self.assertEqual(sorted(groups), sorted(set(groups)))  # options of a group stand together

    def test_of_each_command_below_session(self):
        text = harness.retort("help", "session").out
        for name in SESSION:
            with self.subTest(command=name):
                self.assertRegex(text, rf"(?m)^\s+{name}\s")
                done = harness.retort("session", name, "--help")
                self.assertEqual((done.status, done.err), (0, ""))
                self.assertEqual(done.out, harness.retort("help", "session", name).out)
                self.assertIn(f"retort session {name}", done.out)

    def test_of_commands_that_have_others(self):
        for group in ("session", "tools", "template"):
            for word in ("--help", "-h"):
                done = harness.retort(group, word)
                self.assertEqual((done.status, done.err, done.out), (0, "", harness.retort("help", group).out), group)
            for name in re.findall(r"(?m)^  (?:retort )?(\w+)  +[A-Z]", done.out):
                self.assertEqual(harness.retort(group, name, "--help").status, 0, (group, name))

    def test_no_colour_in_a_pipe(self):
        self.assertNotIn("\033", harness.retort("run", "--help").out)
        self.assertIn("\033", harness.retort("run", "--help", "--color", "always").out)
        self.assertNotIn("\033", harness.retort("run", "--help", env={"NO_COLOR": "1"}).out)

    def test_unknown_command_names_the_nearest(self):
        done = harness.retort("rnu")
        self.assertEqual(done.status, 2)
        self.assertEqual(done.err, "retort: unknown command \"rnu\": did you mean run?\n")
        for args, said in ((["-c", "1"], "unknown option -c: did you mean `retort run -c`?"),
                           (["x.py"], 'unknown command "x.py": did you mean `retort run x.py`?'),
                           (["session", "close"], 'unknown command "session close": did you mean rm?'),
                           (["session", "list"], 'unknown command "session list": did you mean ls?'),
                           (["session", "nonsense"], 'unknown command "session nonsense": `retort help session` lists them'),
                           (["serve", "--tokens"], "unknown option --tokens: did you mean --token-file?"),
                           (["help", "plan", "nonsense"], 'help: unexpected "nonsense": name one command')):
            done = harness.retort(*args)
            self.assertEqual((done.status, done.err), (2, f"retort: {said}\n"))
        self.assertEqual(harness.retort("help", "plan", "check").out, harness.retort("help", "plan").out)

    def test_wrong_operands_say_what_to_do(self):
        for args, said, do in (("completion", "the shell is missing", "name one: bash, zsh or fish"),
                               ("completion bsh", 'unknown shell "bsh"', "name one: bash, zsh or fish"),
                               ("completion bash zsh", 'unexpected "zsh"', "name one: bash, zsh or fish"),
                               ("replay", "the record is missing", "name one: a file that `retort session export`"),
                               ("replay a b", 'unexpected "b"', "name one: a file that `retort session export`"),
                               ("repl foo.py", 'unexpected "foo.py"', "`retort repl <FILE` runs the lines of a file one by "
                                "one, `retort run FILE` the whole file\n"),
                               ("version x", 'unexpected "x"', "leave it out\n")):
            done = harness.retort(*args.split())
            self.assertEqual((done.status, done.out), (2, ""), done)
            self.assertTrue(done.err.startswith(f"retort: {args.split()[0]}: {said}: {do}"), done.err)

    def test_version(self):
        """The command and the manual pages say the version and the date that the news begins with."""
        version = json.loads(harness.retort("version", "--json").out)["version"]
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        for args in (["version"], ["--version"]):
            self.assertEqual(harness.retort(*args).out, f"retort {version}\n")
        page = harness.retort("help", "--man", "run").out
        self.assertIn(f'.Os "retort {version}"\n', page)
        news = os.path.join(os.environ.get("RETORT_SOURCE", harness.ROOT), "NEWS.md")
        if not os.access(news, os.R_OK):
            self.skipTest("no readable checkout: RETORT_SOURCE names none")
        with open(news, encoding="utf-8") as f:
            first = f.readline()
        date = re.search(r"^\.Dd (.*)$", page, re.M)[1]
        self.assertEqual(first, f"# retort {version} ({date})\n")

    def test_defaults_are_those_in_force(self):
        """What help calls the default is what a run without options gets."""
        text = harness.retort("run", "--help").out
        limits = harness.record("1")["limits"]
        for option, limit, want in (("memory", "memory_bytes", "1g"), ("cpus", "cpus", "1"), ("pids", "pids", "128"),
                                    ("timeout", "timeout_ms", "30s"), ("disk", "disk_bytes", "256m"),
                                    ("output-limit", "output_bytes", "10m")):
            with self.subTest(option=option):
                self.assertRegex(text, rf"--{option} [^\n]*(\n\s+[^-\n]*)?\(default: {want}\)")
                given = harness.record("1", f"--{option}", want)["limits"]
                self.assertEqual(given[limit]["value"], limits[limit]["value"])


class Manual(harness.Case):
    def test_names_every_option(self):
        page = harness.retort("help", "--man", "run").out.replace("\\-", "-")
        for option in options():
            self.assertIn(option.lstrip("-"), page)

    def test_each_page_that_is_named_is_there(self):
        where = os.path.dirname(harness.RETORT)
        folder = next(d for d in (os.path.join(where, "..", "share", "man", "man1"), os.path.join(where, "man"))
                      if os.path.isdir(d))
        names = {"retort"}
        for command in [[], *([c] for c in COMMANDS)]:
            names.update(re.findall(r"^\.Xr (\S+) 1", harness.retort("help", "--man", *command).out, re.M))
        self.assertGreater(len(names), len(COMMANDS) + len(SESSION))
        self.assertEqual({n for n in names if not os.path.isfile(os.path.join(folder, n + ".1"))}, set())

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc to read the pages with")
    def test_mandoc_finds_no_error(self):
        for name in [[], *([c] for c in COMMANDS), *(["session", c] for c in SESSION), *(["tools", c] for c in TOOLS)]:
            with self.subTest(page=name):
                page = harness.retort("help", "--man", *name)
                done = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page.stdout, capture_output=True,
                                      check=False)
                self.assertEqual(done.stdout.decode(), "")


class Completion(harness.Case):
    socket = "/nowhere"

    def test_bash(self):
        script = os.path.join(harness.make_dir(), "retort.bash")
        with open(script, "wb") as f:
            f.write(harness.retort("completion", "bash").stdout)
        for line, want in (("run --mem", {"--memory"}), ("ru", {"run"}), ("run --images i", {"iterm"}),
                           ("run -r py", {"python"}), ("completion f", {"fish"}),
                           ("session ex", {"exec", "export"}), ("session exec --js", {"--json", "--jsonl"}),
                           ("session new --preload x --mem", {"--memory"}), ("plan ex", {"explain"}),
                           ("plan --fuel 5 te", {"test"}), ("plan check /etc/os-rel", {"/etc/os-release"}),
                           ("exec --det", {"--detach", "--detach-keys"}), ("cp /etc/os-rel", {"/etc/os-release"})):
            with self.subTest(line=line):
                self.assertEqual(self.bash(script, "retort", line), want)

    def bash(self, script, program, line):
        words = [program, *line.split(" ")]
        code = (f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
                f"COMP_LINE='{program} {line}'; COMP_POINT=${{#COMP_LINE}}; "
                "f=$(complete -p retort | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $f retort "
                f"'{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, check=False, env=harness.environment(
            {"RETORT_SOCKET": self.socket}))
        self.assertEqual(done.stderr, b"")
        return {w.strip() for w in done.stdout.decode().split()}

    def serve(self, *names):
        """An engine with sessions of these names."""
        self.socket = os.path.join(harness.make_dir(), "s")
        engine = subprocess.Popen([harness.RETORT, "serve", "--socket", self.socket, "--no-journal"],
                                  stderr=subprocess.PIPE, env=harness.environment())
        self.addCleanup(engine.communicate)
        self.addCleanup(engine.terminate)
        engine.stderr.readline()
        for name in names:
            done = harness.retort("session", "new", name, env={"RETORT_SOCKET": self.socket})
            self.assertEqual(done.status, 0, repr(done))

    def test_bash_names_sessions_and_runs_nothing_in_them(self):
        where = harness.make_dir()
        script = os.path.join(where, "retort.bash")
        with open(script, "wb") as f:
            f.write(harness.retort("completion", "bash").stdout)
        odd = "w$(exit${IFS}7)`touch`"
        self.serve("work", odd, "trial")
        done = harness.retort("exec", "-d", "--name", "server", "work", "sleep", "60", env={"RETORT_SOCKET": self.socket})
        self.assertEqual(done.status, 0, done)
        quoted = "w\\$\\(exit\\$\\{IFS\\}7\\)\\`touch\\`"
        for line, want in (("session exec w", {"work", quoted}), ("session undo tr", {"trial"}),
                           ("session rm trial wor", {"work"}), ("session log --json t", {"trial"}),
                           ("session undo work ''", set()), ("session new w", set()),
                           ("exec -it w", {"work", quoted}), ("attach wor", {"work"}), ("attach work s", {"server"}),
                           (f"attach {quoted} s", set()), ("ps t", {"trial"}), ("ssh-config work t", {"trial"})):
            with self.subTest(line=line):
                self.assertEqual(self.bash(script, harness.RETORT, line), want)

    @unittest.skipUnless(shutil.which("fish"), "no fish to complete with")
    def test_fish(self):
        where = harness.make_dir()
        os.symlink(harness.RETORT, os.path.join(where, "retort"))
        self.serve("work")
        env = harness.environment({"RETORT_SOCKET": self.socket, "HOME": where})
        env["PATH"] = where + ":" + env["PATH"]
        for line, want in (("session ex", {"exec", "export"}), ("session exec wo", {"work"}),
                           ("session undo u", set()), ("session exec -r sh", {"shell"}), ("session undo w", {"work"}),
                           ("plan ex", {"explain"})):
            with self.subTest(line=line):
                done = subprocess.run(["fish", "-c", f"retort completion fish | source; complete -C 'retort {line}'"],
                                      capture_output=True, check=False, env=env, cwd=where)
                self.assertEqual({x.split("\t")[0].split()[-1] for x in done.stdout.decode().splitlines()}, want)

    def test_other_shells_name_every_option(self):
        for shell in ("bash", "zsh", "fish"):
            text = harness.retort("completion", shell).out
            for option in options():
                with self.subTest(shell=shell, option=option):
                    self.assertIn(option.lstrip("-"), text)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh to read the script with")
    def test_zsh_reads_it(self):
        done = subprocess.run(["zsh", "-n"], input=harness.retort("completion", "zsh").stdout, capture_output=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_unknown_shell(self):
        done = harness.retort("completion", "tcsh")
        self.assertEqual(done.status, 2)
        self.assertRegex(done.err, "^retort: [^\n]*bash[^\n]*\n$")


if __name__ == "__main__":
    harness.main()
