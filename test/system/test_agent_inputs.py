# SPDX-License-Identifier: Apache-2.0
"""`retort agent --context`: a text of any length, of which a model sees only what its code prints."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402
from test_agent import agent, line, plain, python, script  # noqa: E402

IDENTITY = "user"


def text_file(text, name="notes.txt"):
    path = os.path.join(harness.make_dir(), name)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


class Inputs(harness.Case):
    def test_a_text_is_a_variable_and_in_no_prompt(self):
        text = "".join(f"line {i}: SECRETWORD{i}\n" for i in range(50000))
        done = agent(
            "What does line 777 say?",
            line(python("context.splitlines()[777]"),
                 expect=[f"context: {len(text)} characters, 50000 lines", "the file is /context/context", "too long to be shown"],
                 reject=["SECRETWORD"]),
            line(python("final_answer(context.splitlines()[777][10:])"),
                 expect_last=["SECRETWORD777"], reject=["SECRETWORD778"]),
            options=["--context", text_file(text)])
        self.assertEqual((done.status, done.result["answer"]), (0, "SECRETWORD777"), done)
        self.assertEqual(done.all("input"), [{"event": "input", "name": "context", "path": "/context/context",
                                              "characters": len(text), "lines": 50000, "bytes": len(text)}])

    def test_several_with_names(self):
        first, second = text_file("one\ntwo\nthree"), text_file("é" * 10)
        done = agent("Look.",
                     line(python("len(log), len(context), open('/context/log').read(3)"),
                          expect=["log: 13 characters, 3 lines", "context: 10 characters, 1 lines"]),
                     line("Done.", expect_last=["(13, 10, 'one')"]),
                     options=["--context", f"log={first}", "--context", second])
        self.assertEqual(done.status, 0, done)

    def test_javascript(self):
        done = agent("Look.",
                     line("```javascript\n[context.length, context.split('\\n')[1]]\n```",
                          expect=["context: 8 characters, 2 lines", "a variable in javascript"]),
                     line("Done.", expect_last=["[ 8, 'two\u20ac' ]"]),
                     options=["-r", "javascript", "--context", text_file("one\ntwo\u20ac")])
        self.assertEqual(done.status, 0, done)

    @harness.needs_shell_or_sql
    def test_it_is_in_python_when_the_session_has_no_variables(self):
        done = agent("Look.", line(python("final_answer(len(context))"), expect=["a variable in python"]),
                     options=["-r", "shell", "--context", text_file("four")])
        self.assertEqual((done.status, done.result["answer"]), (0, "4"), done)

    def test_nothing_and_no_text(self):
        done = agent("Look.", line(python("final_answer(context == '')"), expect=["context: 0 characters, 0 lines"]),
                     options=["--context", text_file("")])
        self.assertEqual((done.status, done.result["answer"]), (0, "True"), done)
        done = agent("Look.", line(python("final_answer(context.count('\ufffd'))"), expect=["context: 6 characters"]),
                     options=["--context", text_file(b"ab\xff\x00\xfe\n")])
        self.assertEqual((done.status, done.result["answer"]), (0, "2"), done)

    def test_it_cannot_be_written(self):
        path = text_file("kept")
        done = agent("Write.", python("open('/context/context', 'w')"), line("No.", expect_last=["Read-only"]),
                     options=["--context", path])
        self.assertEqual(done.status, 0, done)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(f.read(), "kept")

    def test_beside_a_directory_of_the_host(self):
        where = harness.make_dir()
        done = agent("Look.", python("final_answer(context)"), options=["-w", where, "--context", text_file("here")])
        self.assertEqual((done.status, done.result["answer"]), (0, "here"), done)
        self.assertEqual(os.listdir(where), [])

    def test_more_than_the_box_can_hold(self):
        path = text_file("")
        os.truncate(path, 400 << 20)
        done = plain("Look.", "never asked", options=["--context", path, "-m", "128m"])
        self.assertEqual(done.status, 2, done)
        self.assertIn("does not fit in the box's memory", done.err)

    def test_what_is_refused(self):
        path = text_file("x")
        for options, part in ((["--context", "/no/such/file"], "No such file"), (["--context", "/"], "not a regular file"),
                              (["--context", "-"], "standard input is not a file"),
                              (["--context", path, "--context", path], "the name context is used twice"),
                              (["--context", f"a={path}", "--context", f"a={path}"], "the name a is used twice"),
                              (["--context", f"class={path}"], "class: not a valid name")):
            with self.subTest(options=options):
                done = plain("Look.", "never asked", options=options)
                self.assertEqual(done.status, 2, done)
                self.assertIn(part, done.err)

    def test_a_name_of_a_file_with_an_equals_sign(self):
        path = text_file("here", name="a=b")
        done = harness.retort("agent", "-M", "replay:" + script(python("final_answer(context)")), "--context", "./a=b", "Look.",
                              cwd=os.path.dirname(path))
        self.assertEqual((done.status, done.out), (0, "here\n"), done)


class Engine(harness.Case):
    """The same over the operations: a file of the session."""

    def test_a_file_of_the_session(self):
        model = script(line(python("final_answer(len(letters))"), expect=["letters: 5 characters, 1 lines"]))
        with service.Engine("--model", "replay:" + model) as engine:
            session = engine.session()
            session.run("open('l.txt', 'w').write('abcde')")
            done = engine.call("agent.run", session=session.id, task="How many?", context=[{"name": "letters", "path": "l.txt"}])
            self.assertEqual((done["status"], done["answer"]), ("ok", "5"), done)

    def test_what_is_refused(self):
        with service.Engine("--model", "replay:" + script("never asked")) as engine:
            session = engine.session()
            for context, part in (([{"name": "a", "path": "none.txt"}], "none.txt"),
                                  ([{"name": "a b", "path": "l.txt"}], "a b: not a valid name"),
                                  ([{"name": "a", "path": "x\n'; 1/0"}], "No such file"),
                                  ([{"name": "a"}], "path")):
                with self.subTest(context=context):
                    with self.assertRaises(service.Refused) as refused:
                        engine.call("agent.run", session=session.id, task="Look.", context=context)
                    self.assertEqual(refused.exception.code, "usage")
                    self.assertIn(part, str(refused.exception))


if __name__ == "__main__":
    harness.main()
