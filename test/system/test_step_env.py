# SPDX-License-Identifier: Apache-2.0
"""Environment variables of one step: its code and its programs have them, and nobody has them afterwards."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engine as engines  # noqa: E402
import harness  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"
ODD = "é 'q' \"d\" $HOME\\n\n two"  # what a language or a shell might interpret

# For each language: print a variable of the code, print one of a program, change and remove variables, fail.
LANGUAGES = {
    "python": {
        "own": "import os\nprint(os.environ.get('%s', 'unset'), end='')",
        "program": "import subprocess, sys\nsys.stdout.write(subprocess.check_output('printf %%s \"${%s-unset}\"', shell=True, text=True))",
        "meddle": "import os\nos.environ['A'] = 'mine'\nos.environ.pop('B', 0)",
        "fail": "1 / 0",
        "endless": "while True: pass",
    },
    "javascript": {
        "own": "process.stdout.write(process.env['%s'] ?? 'unset')",
        "program": "process.stdout.write(require('child_process').execSync('printf %%s \"${%s-unset}\"'))",
        "meddle": "process.env.A = 'mine'; delete process.env.B",
        "fail": "throw new Error('x')",
        "endless": "while (true);",
    },
    "shell": {
        "own": "printf %%s \"${%s-unset}\"",
        "program": "sh -c 'printf %%s \"${%s-unset}\"'",
        "meddle": "A=mine; unset B",
        "fail": "exit 3",
        "endless": "while :; do :; done",
    },
}


class Case(harness.Case):
    def setUp(self):
        self.engine = service.Engine()
        self.addCleanup(self.engine.stop)

    def refused(self, session, *words, **params):
        with self.assertRaises(service.Refused) as caught:
            session.run("1", **params)
        self.assertEqual(caught.exception.code, "usage", caught.exception)
        for word in words:
            self.assertIn(word, str(caught.exception) + str(caught.exception.hint))

    def said(self, session, code, **params):
        record = session.run(code, **params)
        self.assertEqual(record["status"], "ok", record)
        return record["stdout"]


class Variables:
    """Tests of each language."""

    def made(self):
        return self.engine.session(runtime=self.language, env={"OF_SESSION": "1"}), LANGUAGES[self.language]

    def test_the_code_and_its_programs_have_them(self):
        s, texts = self.made()
        for how in "own", "program":
            self.assertEqual(self.said(s, texts[how] % "A", env={"A": ODD}), ODD)
            self.assertEqual(self.said(s, texts[how] % "OF_SESSION", env={"A": ODD}), "1")
            self.assertEqual(self.said(s, texts[how] % "OF_SESSION", env={"OF_SESSION": "2"}), "2")

    def test_afterwards_each_is_what_it_was(self):
        s, texts = self.made()
        for end in "own", "fail", "meddle":
            s.run(texts[end] % "A" if end == "own" else texts[end],
                  env={"A": "1", "B": "2", "OF_SESSION": "3", "HOME": "/nowhere"})
            for name, value in (("A", "unset"), ("B", "unset"), ("OF_SESSION", "1"), ("HOME", "/home/user")):
                self.assertEqual(self.said(s, texts["own"] % name), value, (end, name))
                self.assertEqual(self.said(s, texts["program"] % name), value, (end, name))

    def test_also_after_a_step_that_was_stopped(self):
        s, texts = self.made()
        record = s.run(texts["endless"], env={"A": "1", "OF_SESSION": "3"}, timeout_ms=300)
        self.assertEqual(record["status"], "timeout", record)
        self.assertEqual(self.said(s, texts["own"] % "A"), "unset")
        self.assertEqual(self.said(s, texts["own"] % "OF_SESSION"), "1")

    def test_also_after_a_step_that_somebody_interrupted(self):
        s, texts = self.made()
        run = s.run(texts["endless"], env={"A": "1", "OF_SESSION": "3"}, wait_ms=200)
        self.assertEqual(run["status"], "running", run)
        self.engine.call("step.interrupt", run=run["run"])
        self.assertNotEqual(self.engine.call("step.get", run=run["run"], wait_ms=20000)["status"], "running")
        self.assertEqual(self.said(s, texts["own"] % "A"), "unset")
        self.assertEqual(self.said(s, texts["program"] % "OF_SESSION"), "1")

    def test_also_after_an_atomic_step_that_was_undone(self):
        s, texts = self.made()
        record = s.run(texts["fail"], env={"A": "1", "OF_SESSION": "3"}, atomic=True)
        self.assertEqual(record["state"]["outcome"], "rolled_back", record)
        self.assertEqual(self.said(s, texts["own"] % "A"), "unset")
        self.assertEqual(self.said(s, texts["own"] % "OF_SESSION"), "1")

    def test_a_branch_has_none_of_the_step_before(self):
        s, texts = self.made()
        self.said(s, texts["own"] % "A", env={"A": "1", "OF_SESSION": "3"})
        branch = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        self.assertEqual(self.said(branch, texts["program"] % "A"), "unset")
        self.assertEqual(self.said(branch, texts["program"] % "OF_SESSION"), "1")

    def test_a_script_has_them(self):
        s, texts = self.made()
        self.assertEqual(self.said(s, texts["program"] % "A", env={"A": ODD}, script=True), ODD)


class Python(Variables, Case):
    language = "python"

    def test_variables_that_a_program_has_set_itself_are_set_back(self):
        s = self.engine.session()
        s.value("import os; os.environ['A'] = 'mine'")
        self.assertEqual(s.value("os.environ['A']", env={"A": "1"}), "'1'")
        self.assertEqual(s.value("os.environ['A']"), "'mine'")


class JavaScript(Variables, Case):
    language = "javascript"


class Shell(Variables, Case):
    language = "shell"

    def test_variables_of_a_shell_keep_their_kind(self):
        s = self.engine.session(runtime="shell")
        self.said(s, "A=(1 2); B=plain; export C=exported; declare -i D=7; declare() { echo no; }; false || true")
        self.assertEqual(self.said(s, "sh -c 'echo $A $B $C $D'", env={n: n.lower() for n in "ABCD"}), "a b c d\n")
        self.assertEqual(
            self.said(s, "unset -f declare; declare -p A B C D"),
            'declare -a A=([0]="1" [1]="2")\ndeclare -- B="plain"\ndeclare -x C="exported"\ndeclare -i D="7"\n')

    def test_a_shell_that_exits_in_a_function_comes_back_without_them(self):
        s = self.engine.session(runtime="shell")
        s.run("A=here; f() { local B=2; exit 4; }")
        self.assertEqual(s.run("f", env={"A": "1", "B": "1"})["exit_code"], 4)
        self.assertEqual(self.said(s, "echo ${A-unset} ${B-unset}"), "here unset\n")


class Limits(Case):
    def test_what_cannot_be_a_variable_is_refused(self):
        s = self.engine.session()
        self.refused(s, 'env: "" is not a valid name', env={"": "x"})
        self.refused(s, 'env: "a=b"', env={"a=b": "x"})
        self.refused(s, "env.a", env={"a": 1})
        self.refused(s, "env.a", "NUL", env={"a": "x\0y"})
        self.refused(s, "257", env={f"v{i}": "" for i in range(257)})
        self.refused(s, "limit 131072", "file", env={"a": "x" * (128 << 10)})
        self.refused(s, "sql has no environment", env={"a": "b"}, runtime="sql")
        self.refused(s, '"a.b"', env={"a.b": "c"}, runtime="shell")
        self.assertEqual(s.value("len([n for n in __import__('os').environ if n[:1] == 'v'])",
                                 env={f"v{i}": "" for i in range(256)}), "256")
        self.assertEqual(s.value("len(__import__('os').environ['a'])", env={"a": "x" * 131000}), "131000")


class Journal(harness.Case):
    def engine(self, *args):
        e = engines.Engine(*args)
        self.addCleanup(e.__exit__)
        return e

    def test_a_state_that_is_rebuilt_has_seen_the_same_variables(self):
        for language, keep, show in (
            ("python", "import os\nkept = os.environ['A']", "print(kept, end='')"),
            ("javascript", "let kept = process.env.A", "process.stdout.write(kept)"),
            ("shell", "kept=$A", 'printf %s "$kept"'),
        ):
            with self.subTest(language):
                e = self.engine()
                s = e("session.create", runtime=language)["session"]
                e.run(s, keep, env={"A": ODD})
                e.kill()
                again = self.engine(e.where)
                record = again.run(s, show + "\n")
                self.assertEqual(record["stdout"], ODD, record)
                self.assertIn(record["state"]["outcome"], ("replayed", "committed"))

    def test_they_are_part_of_the_name_of_the_step(self):
        e = self.engine()
        names = []
        for params in ({}, {"env": {}}, {"env": {"A": "1"}}, {"env": {"A": "2"}}):
            s = e("session.create")["session"]
            names.append(e.run(s, "1", **params)["step"])
        self.assertEqual(names[0], names[1])
        self.assertEqual(len(set(names)), 3)

    def test_a_journal_can_be_checked(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "import os\nos.environ['A']", env={"A": "1"})
        record = e("session.export", session=s)["record"]
        path = os.path.join(e.where, "record")
        with open(path, "w", encoding="utf-8") as f:
            f.write(record)
        done = harness.retort("replay", path)
        self.assertEqual(done.status, 0, done)


if __name__ == "__main__":
    harness.main()
