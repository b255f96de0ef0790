# SPDX-License-Identifier: Apache-2.0
"""Whatever a program throws, shows or gives as its value is an ordinary end of a step: what is too much is cut,
and that is told. Only a driver that is none is killed for what it says."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"
TYPES = "class R:\n def _repr_mimebundle_(self, **_):\n  return {%s}\nR()"
OFFERS = "({[Symbol.for('Jupyter.display')]() { const o = {}; %s; return o; }})"

# Code, error's name, what the end of its traceback is, what its middle says.
FAILURES = {
    "python": [
        ("raise ValueError('a\\n' * 4000 + 'end')", "ValueError", "end"),
        ("raise SyntaxError('\\n' * 2000 + 'end')", "SyntaxError", "end"),
        ("e = ValueError('x')\nfor i in range(1000):\n e.add_note('n')\ne.add_note('end')\nraise e", "ValueError", "end"),
        ("e = ValueError('x')\nfor i in range(1000):\n e.add_note('\\1' * 9000)\ne.add_note('end')\nraise e",
         "ValueError", "end"),
    ],
    "javascript": [
        ("throw new Error('a\\n'.repeat(4000) + 'end')", "Error", None),
        ("const e = new Error('x'); e.stack = 'x' + '\\n    at f (a:1:1)'.repeat(5000); throw e", "Error", None),
        ("const e = new Error('x'); e.stack = 'x' + ('\\n    at f' + '\\1'.repeat(9000) + ' (a:1:1)').repeat(800); throw e",
         "Error", None),
    ],
}
# Code, what the value's text has in it, MIME types that it has, those that it has not.
VALUES = {
    "python": [
        (TYPES % "'a%d/b' % i: 'x' for i in range(300_000)", "more types not shown", ["a0/b"], ["a100/b"]),
        (TYPES % "'a %d/b' % i: 'x' for i in range(3)", "[3 not shown: the key is not a MIME type]", [], ["a 0/b"]),
        (TYPES % "'a%d/b+json' % i: [1] * 100_000 for i in range(4)", "[a1/b+json not shown", ["a0/b+json"], ["a1/b+json"]),
        ("{'\\ud800': 1, '\\ud801': 2}", "ud801", [], ["application/json"]),
    ],
    "javascript": [
        ("2 ** 64", "18446744073709552000", ["application/json"], []),
        ("({'\\ud800': 1, '\\ud801': 2})", "ud801", [], ["application/json"]),
        (OFFERS % "for (let i = 0; i < 90; i++) o['a' + i + '/b'] = 'x'", "[66 types not shown]", ["a0/b"], ["a80/b"]),
        (OFFERS % "for (let i = 0; i < 4; i++) o[`application/${i}+json`] = Array(100000).fill(1)", "[3 types not shown]",
         ["application/0+json"], ["application/1+json"]),
    ],
    "sql": [
        ("SELECT value FROM generate_series(1, 400000)", "399999", ["application/json"], []),
        ("SELECT " + ", ".join(["value"] * 1500) + " FROM generate_series(1, 1000)", "999", ["application/json"], []),
    ],
}
# What no value has, and SyntaxError does: the parser did not say it.
ODD = ["raise SyntaxError('x', ('f', 10**30, -5, 'abc', None, None))", "e = SyntaxError('x'); e.lineno = 'a'; e.text = 5; raise e",
       "raise type('A' * 10**6, (Exception,), {})('x')"]


class Reports(harness.Case):
    def record(self, runtime, code):
        record = harness.record(code, "--runtime", runtime)
        self.assertNotEqual(record["status"], "killed", record.get("error"))
        return record

    def test_failures(self):
        for runtime, rows in FAILURES.items():
            for code, name, end in rows:
                with self.subTest(code=code[:60]):
                    error = self.record(runtime, code)["error"]
                    self.assertEqual(error["name"], name)
                    self.assertRegex("\n".join(error["traceback"]), r"\n\[\.\.\. (more than )?[0-9]+ lines cut \.\.\.\]\n")
                    self.assertLess(len(error["traceback"]), 1000)
                    if end:
                        self.assertEqual(error["traceback"][-1], end)

    def test_odd_failures(self):
        for code in ODD:
            with self.subTest(code=code):
                self.assertEqual(self.record("python", code)["status"], "error")

    def test_values(self):
        for runtime, rows in VALUES.items():
            for code, text, has, lacks in rows:
                with self.subTest(code=code[:60]):
                    value = self.record(runtime, code)["value"]
                    self.assertIn(text, value["text/plain"])
                    self.assertLessEqual(set(has), value.keys())
                    self.assertFalse(set(lacks) & value.keys())

    def test_numbers_beyond_64_bits(self):
        value = self.record("javascript", "[2 ** 63, -(2 ** 64), 1e20, 1e300]")["value"]["application/json"]
        self.assertEqual(value, [2.0**63, -(2.0**64), 1e20, 1e300])

    def test_rows_that_are_cut_are_counted(self):
        value = self.record("sql", "SELECT value FROM generate_series(1, 400000)")["value"]["application/json"]
        self.assertEqual((value["row_count"], value["truncated"]), (400000, True))
        self.assertGreater(len(value["rows"]), 100000)

    def test_displays(self):
        record = self.record("python", "display({'a b': 'x'}, raw=True)\n"
                             "display({'a%d/b' % i: 'x' for i in range(40)}, raw=True)")
        self.assertEqual(list(record["displays"][0]), ["text/plain"])
        self.assertIn("[1 not shown: the key is not a MIME type]", record["displays"][0]["text/plain"])
        self.assertRegex(record["displays"][1]["text/plain"], r"\[1[67] more types not shown\]")


if __name__ == "__main__":
    harness.main()
