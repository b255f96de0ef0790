# SPDX-License-Identifier: Apache-2.0
"""Scopes: sets of global variables of one session, in one interpreter."""

import io
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engine as engines  # noqa: E402
import harness  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"
DOCS = os.path.join(os.environ.get("RETORT_SOURCE", harness.ROOT), "docs/use/sessions.md")

# For each language: set and show a variable, the working directory, what fails, an endless loop.
LANGUAGES = {
    "python": {
        "set": "x = %d",
        "show": "globals().get('x', 'unset')",
        "unset": "'unset'",
        "here": "import os\nos.getcwd()",
        "go": "import os\nos.chdir('%s')",
        "fail": "x = 99\n1 / 0",
        "endless": "x = 99\nwhile True: pass",
    },
    "javascript": {
        "set": "let x = %d",
        "show": "typeof x === 'undefined' ? 'unset' : x",
        "unset": "'unset'",
        "here": "process.cwd()",
        "go": "process.chdir('%s')",
        "fail": "x = 99; throw new Error('x')",
        "endless": "x = 99; while (true);",
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


class Scopes:
    """Tests of each language."""

    def made(self):
        return self.engine.session(runtime=self.language), LANGUAGES[self.language]

    def three(self, s, texts):
        """What x is in the session's own scope, in a, and in b."""
        return [s.value(texts["show"], **params) for params in ({}, {"scope": "a"}, {"scope": "b"})]

    def test_each_scope_has_variables_of_its_own(self):
        s, texts = self.made()
        self.assertEqual(self.three(s, texts), [texts["unset"]] * 3)
        for number, params in enumerate(({}, {"scope": "a"}, {"scope": "b"}), 1):
            s.value(texts["set"] % number, **params)
        self.assertEqual(self.three(s, texts), ["1", "2", "3"])

    def test_a_scope_can_be_emptied(self):
        s, texts = self.made()
        for code in "", texts["show"]:
            s.value(texts["set"] % 1)
            s.value(texts["set"] % 2, scope="a")
            s.value(texts["set"] % 3, scope="b")
            self.assertIn(s.value(code, scope="a", fresh_scope=True), (None, texts["unset"]))
            self.assertEqual(self.three(s, texts), ["1", texts["unset"], "3"])

    def test_files_and_modules_are_shared_but_not_the_working_directory(self):
        s, texts = self.made()
        s.value(texts["go"] % "/tmp", scope="a")
        self.assertEqual(s.value(texts["here"]), "'/home/user'")
        self.assertEqual(s.value(texts["here"], scope="a"), "'/tmp'")
        self.assertEqual(s.value(texts["here"], scope="b", cwd="/usr"), "'/usr'")
        self.assertEqual(s.value(texts["here"], scope="b", cwd="/etc"), "'/usr'")
        self.engine.call("file.write", session=s.id, path="sub/file", content="x")
        self.assertEqual(s.value(texts["here"], scope="c", cwd="sub"), "'/home/user/sub'")
        self.assertEqual(s.value(texts["here"], scope="b", fresh_scope=True, cwd="sub"), "'/home/user/sub'")
        s.value(texts["go"] % "/usr")
        self.assertEqual(s.value(texts["here"], scope="a"), "'/tmp'")
        self.assertEqual(s.value(texts["here"]), "'/usr'")

    def test_a_scope_does_not_begin_in_a_directory_that_does_not_exist(self):
        s, texts = self.made()
        record = s.run(texts["set"] % 1, scope="a", cwd="nowhere")
        self.assertEqual(record["status"], "error", record)
        self.assertIn("/home/user/nowhere", record["error"]["message"])
        self.assertIn("/home/user/nowhere", record["stderr"])
        self.assertEqual(s.value(texts["here"]), "'/home/user'")
        self.assertEqual(s.value(texts["here"], scope="a", cwd="/tmp"), "'/tmp'")
        self.assertEqual(s.value(texts["show"], scope="a"), texts["unset"])

    def test_errors_and_stopped_steps_return_to_the_own_variables(self):
        s, texts = self.made()
        s.value(texts["set"] % 1)
        s.value(texts["set"] % 2, scope="a")
        self.assertEqual(s.run(texts["fail"], scope="a")["status"], "error")
        self.assertEqual(self.three(s, texts), ["1", "99", texts["unset"]])
        record = s.run(texts["endless"], scope="b", timeout_ms=300)
        self.assertEqual(record["status"], "timeout", record)
        self.assertEqual(self.three(s, texts)[:2], ["1", "99"])

    def test_a_rollback_restores_all_scopes(self):
        s, texts = self.made()
        s.value(texts["set"] % 1)
        s.value(texts["set"] % 2, scope="a")
        record = s.run(texts["fail"], scope="a", atomic=True)
        self.assertEqual(record["state"]["outcome"], "rolled_back", record)
        self.assertEqual(self.three(s, texts), ["1", "2", texts["unset"]])

    def test_undo_and_branches(self):
        s, texts = self.made()
        s.value(texts["set"] % 1)
        step = s.run(texts["set"] % 2, scope="a")["step"]
        branch = service.Session(self.engine, self.engine.call("session.branch", session=s.id))
        s.value("x = 5", scope="a")
        s.value("", scope="a", fresh_scope=True)
        self.assertEqual(self.three(branch, texts), ["1", "2", texts["unset"]])
        branch.value("x = 6", scope="a")
        self.assertEqual(self.three(s, texts), ["1", texts["unset"], texts["unset"]])
        s.undo(to=step)
        self.assertEqual(self.three(s, texts), ["1", "2", texts["unset"]])
        self.assertEqual(self.three(branch, texts), ["1", "6", texts["unset"]])

    def test_what_a_step_has_changed_is_that_of_its_scope(self):
        s, texts = self.made()
        s.run("y = 1")
        rows = s.run(texts["set"] % 1, scope="a", variables=True)["variables"]
        self.assertEqual([(row["name"], row["change"]) for row in rows], [("x", "new")])

    def test_completion_knows_the_names_of_the_scope(self):
        s, texts = self.made()
        s.value("own_name = 1")
        s.value("other_name = {'key': 1}" if "import" in texts["here"] else "var other_name = {key: 1}", scope="a")
        ask = lambda text, **params: self.engine.call("step.complete", session=s.id, text=text, **params)["names"]
        self.assertEqual(ask("other_n", scope="a"), ["other_name"])
        self.assertEqual(ask("own_n", scope="a"), [])
        self.assertEqual(ask("other_n", scope="never"), [])
        self.assertEqual(ask("other_n"), [])
        self.assertEqual(ask("own_n"), ["own_name"])

    def test_many_scopes(self):
        s, texts = self.made()
        for number in range(30):
            s.value(texts["set"] % number, scope=f"s{number}")
        for number in range(30):
            self.assertEqual(s.value(texts["show"], scope=f"s{number}"), str(number))
        for number in range(30):
            s.value("", scope=f"s{number}", fresh_scope=True)


class PythonScopes(Scopes, Case):
    language = "python"


class JavaScriptScopes(Scopes, Case):
    language = "javascript"


class Python(Case):
    def test_main_is_the_module_of_the_scope(self):
        s = self.engine.session()
        s.value("who = 'own'\ndef f(): return who")
        s.value("who = 'a'\ndef g(): return who", scope="a")
        for code, value in (
            ("__name__", "'__main__'"),
            ("import sys; sys.modules['__main__'].who", "'a'"),
            ("import __main__; __main__.who", "'a'"),
            ("class P: pass\nimport pickle; type(pickle.loads(pickle.dumps(P()))).__name__", "'P'"),
            ("from dataclasses import dataclass\n@dataclass\nclass D: n: 'int' = 1\nD()", "D(n=1)"),
            ("g()", "'a'"),
        ):
            self.assertEqual(s.value(code, scope="a"), value)
        self.assertEqual(s.value("f(), __import__('__main__').who"), "('own', 'own')")

    def test_history(self):
        s = self.engine.session()
        s.value("1 + 1")
        s.value("2 + 2", scope="a")
        self.assertEqual(s.value("_, In[-2], len(In)", scope="a"), "(4, '2 + 2', 3)")
        self.assertEqual(s.value("_, In[-2], len(In), _1"), "(2, '1 + 1', 3, 2)")
        self.assertEqual(s.value("_ == '', len(In), list(Out)", scope="a", fresh_scope=True), "(True, 2, [])")

    def test_future_flags(self):
        s = self.engine.session()
        s.value("from __future__ import annotations", scope="a")
        code = "def f(x: int): pass\nf.__annotations__['x']"
        self.assertEqual(s.value(code, scope="a"), "'int'")
        self.assertEqual(s.value(code), "<class 'int'>")

    def test_modules_are_shared(self):
        s = self.engine.session()
        s.value("import json; json.mark = 5")
        self.assertEqual(s.run("json", scope="a")["error"]["name"], "NameError")
        self.assertEqual(s.value("import json; json.mark", scope="a"), "5")

    def test_variables_of_an_emptied_scope_are_removed_and_may_say_so(self):
        s = self.engine.session()
        s.value("class Loud:\n  def __del__(self): print('gone')\nloud = Loud()\ndef f(): return loud", scope="a")
        self.assertEqual(s.run("1", scope="a", fresh_scope=True)["stdout"], "gone\n")
        s.value("class Slow:\n  def __del__(self):\n    while True: pass\nslow = Slow()\ndef f(): return slow", scope="a")
        self.assertEqual(s.run("1", scope="a", fresh_scope=True, timeout_ms=300)["status"], "timeout")
        self.assertEqual(s.value("1"), "1")

    def test_a_child_that_the_step_forks_leaves_the_session_alone(self):
        s = self.engine.session()
        record = s.run("import os\nx = 1\nif os.fork() == 0: x = 2\nelse: os.wait()", scope="a", env={"A": "1"})
        self.assertEqual(record["status"], "ok", record)
        self.assertEqual(s.value("x", scope="a"), "1")

    def test_a_step_that_breaks_what_the_driver_uses(self):
        s = self.engine.session()
        s.value("x = 1")
        s.run("import os, posix, builtins, sys\nx = 2\nos.environ = posix.environ = builtins.vars = None\nsys.modules['__main__'] = 5",
              scope="a", env={"A": "1"})
        self.assertEqual(s.value("x"), "1")
        self.assertEqual(s.value("x", scope="a"), "2")

    def test_tasks_of_a_scope_go_on(self):
        s = self.engine.session()
        s.value("import asyncio\nasync def later():\n  global done\n  await asyncio.sleep(0.05)\n  done = True\n"
                "task = asyncio.create_task(later())", scope="a")
        self.assertEqual(s.value("import asyncio\nawait asyncio.sleep(0.3)\nglobals().get('done')"), None)
        self.assertEqual(s.value("done", scope="a"), "True")


class JavaScript(Case):
    def test_what_node_and_retort_offer_is_there(self):
        s = self.engine.session(runtime="javascript")
        s.value("const url = 5; globalThis.os = 6; var mine = 7")
        for code, value in (
            ("typeof mine + typeof retort.display + typeof require('fs').readFileSync", "'undefinedfunctionfunction'"),
            ("typeof url.parse + typeof os.cpus", "'functionfunction'"),
            ("import { join } from 'path'; join('a', 'b')", "'a/b'"),
            ("(await import('path')).sep", "'/'"),
            ("await new Promise((done) => setTimeout(() => done(5), 5))", "5"),
            ("[this === globalThis, global === globalThis, Buffer.from('é').toString()]", "[ true, true, 'é' ]"),
            ("await fetch('data:text/plain,hi').then((r) => r.text())", "'hi'"),
            ("({ a: [1, new Map([[1, 2]])], b: new Date(0) })", "{ a: [ 1, Map(1) { 1 => 2 } ], b: 1970-01-01T00:00:00.000Z }"),
        ):
            self.assertEqual(s.value(code, scope="a"), value)
        self.assertEqual(s.run("console.log([1], 'x')", scope="a")["stdout"], "[ 1 ] x\n")

    def test_objects_of_nodes_modules_are_instances_of_the_classes(self):
        s = self.engine.session(runtime="javascript")
        self.assertEqual(s.value(
            "const fs = require('fs'); let e; try { fs.readFileSync('/nowhere') } catch (error) { e = error }\n"
            "[e instanceof Error, e instanceof TypeError, fs.promises.readFile('/etc/passwd') instanceof Promise, "
            "fs.readFileSync('/etc/passwd') instanceof Uint8Array, fs.readdirSync('/') instanceof Array].join()",
            scope="a"), "'true,false,true,true,true'")
        self.assertEqual(s.value(
            "class Own extends Error {}; [new Own instanceof Own, new Own instanceof Error, new Error instanceof Own].join()",
            scope="a"), "'true,true,false'")

    def test_errors_show_the_line(self):
        s = self.engine.session(runtime="javascript")
        error = s.run("1;\nfunction bad() { null.x }\nbad()", scope="a")["error"]
        self.assertEqual((error["name"], error["line"]), ("TypeError", 2))
        self.assertFalse([line for line in error["traceback"] if "driver" in line or "node:" in line], error)
        self.assertEqual(s.run("let = ;", scope="a")["error"]["name"], "SyntaxError")
        error = s.run("Promise.reject(new RangeError('later')); await new Promise((r) => setTimeout(r, 50))", scope="a")["error"]
        self.assertEqual(error["name"], "RangeError")

    def test_the_last_value(self):
        s = self.engine.session(runtime="javascript")
        s.value("1")
        s.value("2", scope="a")
        self.assertEqual([s.value("_"), s.value("_", scope="a")], ["1", "2"])
        s.value("_ = 5", scope="a")
        self.assertEqual([s.value("_"), s.value("_", scope="a")], ["1", "5"])

    def test_a_seed_is_for_all_scopes_together(self):
        values = []
        for _ in range(2):
            s = self.engine.session(runtime="javascript", seed=7)
            values.append([s.value("Math.random()", scope="a"), s.value("Math.random()")])
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(*values[0])


class Limits(Case):
    def test_what_has_no_scopes_or_is_no_scope_is_refused(self):
        s = self.engine.session()
        self.refused(s, "scope: steps of sql", "python and javascript", scope="a", runtime="sql")
        self.refused(s, "scope: steps of shell", scope="a", runtime="shell")
        self.refused(s, "fresh_scope: given without scope", fresh_scope=True)
        self.refused(s, "cwd: given without scope", cwd="/tmp")
        self.refused(s, "script", scope="a", script=True)
        self.refused(s, "scope", scope="")
        self.refused(s, "scope", scope="x" * 64)
        self.refused(s, "letters, digits", scope="a b")
        self.refused(s, "letters, digits", scope="../a")
        self.assertEqual(s.value("1", scope="x" * 63), "1")
        with self.assertRaises(service.Refused):
            self.engine.call("step.complete", session=s.id, text="a", scope="a", runtime="sql")


@unittest.skipUnless(os.access(DOCS, os.R_OK), "the sources are not readable for this user")
class Docs(Case):
    def test_the_example(self):
        with open(DOCS, encoding="utf-8") as f:
            section = f.read().partition("## Scopes")[2].partition("\n## ")[0]
        code, shown = re.search(r"(?ms)^```python\n(.*?)^```.*?^```\n(.*?)^```", section).groups()
        out = io.StringIO()
        exec(code, {"call": self.engine.call, "print": lambda *words: print(*words, file=out)})
        self.assertEqual(out.getvalue(), shown)


class Journal(harness.Case):
    def engine(self, *args):
        e = engines.Engine(*args)
        self.addCleanup(e.__exit__)
        return e

    def test_a_later_engine_rebuilds_the_scopes(self):
        for language, texts in LANGUAGES.items():
            with self.subTest(language):
                e = self.engine()
                s = e("session.create", runtime=language)["session"]
                e.run(s, texts["set"] % 1)
                e.run(s, texts["set"] % 2, scope="a", cwd="/tmp")
                e.run(s, texts["set"] % 3, scope="b")
                e.run(s, texts["set"] % 4, scope="c")
                e.run(s, "", scope="c", fresh_scope=True)
                e.kill()
                again = self.engine(e.where)
                found = [again.run(s, texts["show"], **p)["value"]["text/plain"]
                         for p in ({}, {"scope": "a"}, {"scope": "b"}, {"scope": "c"})]
                self.assertEqual(found, ["1", "2", "3", texts["unset"]])
                self.assertEqual(again.run(s, texts["here"], scope="a")["value"]["text/plain"], "'/tmp'")

    def test_the_scope_is_part_of_the_name_of_the_step(self):
        e = self.engine()
        names = []
        for params in ({}, {"fresh_scope": False}, {"scope": "a"}, {"scope": "b"}, {"scope": "a", "fresh_scope": True},
                       {"scope": "a", "cwd": "/tmp"}):
            s = e("session.create")["session"]
            names.append(e.run(s, "1", **params)["step"])
        self.assertEqual(names[0], names[1])
        self.assertEqual(len(set(names)), 5)

    def test_an_exported_record_can_be_checked(self):
        e = self.engine()
        s = e("session.create")["session"]
        e.run(s, "x = 1")
        e.run(s, "x = 2", scope="a")
        e.run(s, "x", scope="a")
        e.run(s, "x")
        path = os.path.join(e.where, "record")
        with open(path, "w", encoding="utf-8") as f:
            f.write(e("session.export", session=s)["record"])
        done = harness.retort("replay", path)
        self.assertEqual(done.status, 0, done)


if __name__ == "__main__":
    harness.main()
