# SPDX-License-Identifier: Apache-2.0
"""Which variables a step has made, for those who ask."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402
from test_agent import agent, line, python  # noqa: E402

IDENTITY = "user"


class Variables(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = service.Engine()

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()

    def session(self, runtime="python"):
        session = self.engine.session(runtime=runtime)
        self.addCleanup(session.close)
        return session

    def told(self, session, code, **params):
        """{name: (type, size, change)} of a step."""
        record = session.run(code, variables=True, **params)
        rows = record.get("variables", [])
        return {r["name"]: (r["type"], r.get("size"), r["change"]) for r in rows}

    def test_new_and_changed_ones_of_python(self):
        s = self.session()
        self.assertEqual(self.told(s, "import os\nx = 41; rows = [1, 2]; _y = 1\ndef f(): pass\nclass K: pass\nk = K(); t = 'abc'"),
                         {"x": ("int", None, "new"), "rows": ("list", "2", "new"), "f": ("function", None, "new"),
                          "K": ("type", None, "new"), "k": ("K", None, "new"), "t": ("str", "3", "new")})
        self.assertEqual(self.told(s, "rows.append(3); x = 'now'; t = t; z = None"),
                         {"rows": ("list", "3", "changed"), "x": ("str", "3", "changed"), "z": ("NoneType", None, "new")})
        self.assertEqual(self.told(s, "len(rows)"), {})
        self.assertEqual(self.told(s, "w = 1\n1 / 0"), {"w": ("int", None, "new")}, "an error is committed")

    def test_new_and_changed_ones_of_javascript(self):
        s = self.session("javascript")
        self.assertEqual(self.told(s, "let x = 41; const m = new Map([[1, 2]]); var g = [1, 2]; function f() {}\nclass K {}\nlet k = new K(), t = 'abc'"),
                         {"x": ("number", None, "new"), "m": ("Map", "1", "new"), "g": ("Array", "2", "new"), "f": ("function", None, "new"),
                          "K": ("function", None, "new"), "k": ("K", None, "new"), "t": ("string", "3", "new")})
        self.assertEqual(self.told(s, "x = NaN; g.push(3); t = 'abc'; let u"),
                         {"x": ("number", None, "changed"), "g": ("Array", "3", "changed"), "u": ("undefined", None, "new")})
        self.assertEqual(self.told(s, "x"), {})

    def test_numpy_says_its_shape(self):
        s = self.session()
        if s.run("import numpy")["status"] != "ok":
            self.skipTest("no numpy on this host")
        self.assertEqual(self.told(s, "a = numpy.zeros((3, 4))"), {"a": ("ndarray", "3 x 4", "new")})

    @harness.needs_shell_or_sql
    def test_who_does_not_ask_is_not_told(self):
        for runtime in ("python", "javascript"):
            self.assertNotIn("variables", self.session(runtime).run("x = 1"))
        self.assertNotIn("variables", self.session("shell").run("x=1", variables=True))

    def test_what_is_rolled_back_is_not_there(self):
        s = self.session()
        self.assertEqual(self.told(s, "x = 1\nwhile True: pass", timeout_ms=300), {})
        self.assertEqual(self.told(s, "x = 1\n1 / 0", atomic=True), {})

    def test_there_are_not_many_and_they_are_short(self):
        s = self.session()
        self.assertEqual(len(self.told(s, "for i in range(5000): globals()[f'v{i}'] = i")), 21)
        self.assertEqual(self.told(s, "globals()['n' * 10000] = 1; globals()[7] = 1; globals()['ok'] = type('T' * 10000, (), {})()"),
                         {"ok": ("T" * 60, None, "new")})

    def test_no_code_of_the_program_is_run_to_find_them(self):
        s = self.session()
        told = self.told(s, "class M(type):\n    __name__ = property(lambda k: 1 / 0)\n    __module__ = property(lambda k: 1 / 0)\n"
                            "class E(metaclass=M):\n    shape = property(lambda s: print('run'))\n    def __len__(s): print('run'); return 1\n"
                            "    def __eq__(s, o): print('run')\ne = E()\nclass L(list):\n    def __len__(s): print('run'); return 1\nl = L()")
        self.assertEqual(told["e"][0], "E")
        self.assertEqual(s.run("e = e", variables=True)["stdout"], "")
        s = self.session("javascript")
        record = s.run("let p = new Proxy({}, {get() { console.log('run') }, getPrototypeOf() { console.log('run') }});"
                       "Object.defineProperty(globalThis, 'y', {get() { console.log('run') }, enumerable: true});"
                       "class Q { static get name() { console.log('run') } }\nlet q = new Q();"
                       "Object.defineProperty(Q.prototype, 'constructor', {get() { console.log('run') }})",
                       variables=True)
        self.assertEqual((record["status"], record["stdout"]), ("ok", ""), record)
        self.assertEqual({v["name"]: v["type"] for v in record["variables"]}["p"], "Proxy")

    def test_nothing_is_held(self):
        s = self.session()
        self.assertEqual(s.value("import weakref\nclass B: pass\nb = B(); r = weakref.ref(b); 1", variables=True), "1")
        self.assertEqual(s.value("b = None; r() is None", variables=True), "True")

    def test_a_broken_world_breaks_no_step(self):
        s = self.session()
        record = s.run("import builtins\nfor name in ('list', 'len', 'vars', 'type', 'str'): setattr(builtins, name, None)\nx = 1", variables=True)
        self.assertEqual(record["status"], "ok", record)
        self.assertIn("x", self.told(s, "x = 2"))
        s = self.session("javascript")
        record = s.run("Map.prototype.get = Array.prototype.push = String.prototype.slice = WeakRef.prototype.deref = null; let x = 1", variables=True)
        self.assertEqual(record["status"], "ok", record)
        self.assertEqual(s.run("x = 2; x", variables=True)["value"]["text/plain"], "2")


class Told(harness.Case):
    def test_a_model_sees_them(self):
        done = agent("Go.", python("rows = [1, 2]\nn = 5"),
                     line(python("n = 6"), expect_last=["variables: rows: list (2), n: int\n"]),
                     line("```javascript\nlet k = 'x'\n```", expect_last=["variables: n: int changed\n"]),
                     line("Done.", expect_last=["variables: k: string (1)\n"]))
        self.assertEqual(done.status, 0, done)

    def test_their_names_are_bounded(self):
        done = agent("Go.", python("for i in range(500): globals()[f'v{i}' + 'x' * 50] = i"), "Done.")
        self.assertEqual(done.status, 0, done)
        self.assertLess(len(done.seen[0]), 1500)
        self.assertIn("…", done.seen[0])


if __name__ == "__main__":
    harness.main()
