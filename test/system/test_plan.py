# SPDX-License-Identifier: Apache-2.0
"""Plans: what the language means, what is said of mistakes, with which status it ends."""

import ast
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"

# Sources that CPython runs as well: both must print the same.
SAME = [
    "print(1 + 2, 7 // 2, -7 // 2, -7 % 3, 7 / 2, 2 ** 10, 2 ** 100, 1 << 70, -5 >> 1, ~5, 6 & 3, 6 | 3, 6 ^ 3)",
    "print(10 ** 30 // 7, -10 ** 30 % 7, 10 ** 30 * 10 ** 30, -(2 ** 63), 2 ** 63 - 1 + 1, 5.0 // 2, -5.5 % 2)",
    "print(0.1, 1e100, 1e16, 123456789.0, 1e-5, 0.0001, 1 / 3, -0.0, 1e15, 2.5e-7, float('inf'), 1.0)",
    "print('%d %s %r %x %5.2f|%-5s|%05d' % (3, 'a', 'b', 255, 3.14159, 'x', 42))",
    "print('{} {1!r} '.replace('1', '').format(1, 'a'), '{a}-{b:>5}'.format(a=1, b=2), '{0:,}'.format(1234567))",
    "x = 5\nprint(f'{x} {x!r:>4} {x:03d} {{}} {\"a\" + \"b\"} {x / 3:.3f} {1234567:,} {x:x} {0.5:%}')",
    "a, *b = [1, 2, 3]\n*c, d = (4, 5)\nprint(a, b, c, d, [*b, *c], {**{'x': 1}, 'y': 2})",
    "print(1 < 2 < 3, 1 < 3 < 2, None is None, 1 is not None, not 0, 1 and 2, 0 or [], 'a' in 'cat')",
    "print([i * j for i in range(3) for j in range(i) if j != 1], {k: v for k, v in [(1, 2)]}, {1, 2, 2})",
    "print('a,b,,c'.split(','), ' a b '.split(), 'abc'.find('c'), 'x'.join(['1', '2']), 'aXb'.lower(), 'ab'.center(6))",
    "print('héllo wörld'.upper(), 'héllo'[1], 'héllo'[::-1], len('日本'), 'Straße'.upper(), '日本語'[1:], 'ÿ'.upper())",
    # Text is looked at eight bytes at a time: every ASCII character, and others at every place of the eight.
    "s = ''.join([chr(i) for i in range(1, 128)])\n"
    "print([s[i:i + n].upper() + s[i:i + n].lower() for i in range(127) for n in (1, 8, 13)])",
    "for n in range(20):\n    for c in ('é', '日', '\\U0001f600'):\n        s = 'a' * n + c + 'b' * (20 - n)\n"
    "        print(len(s), len(s + str(n)), s.find('b'), (s + ',' + s).split(',')[1] == s, s[n], s.upper())",
    "print(sorted([3, 1, 2], reverse=True), sorted('b a'.split(), key=lambda s: s), min(3, 1), max([1, 5]), sum([1, 2]))",
    "d = {'a': 1}\nd['b'] = 2\nd.update({'c': 3})\nprint(d, d.get('z'), d.pop('a'), list(d), d.items() == d.items(), len(d))",
    "def f(a, b=2, *args, c=3, **kw):\n    return (a, b, args, c, kw)\nprint(f(1), f(1, 3, 4, c=5, z=6), f(*[1], **{'b': 9}))",
    "def outer():\n    n = [0]\n    def inc():\n        n[0] += 1\n        return n[0]\n    inc()\n    return inc()\nprint(outer())",
    "x = []\nfor i in range(10):\n    if i == 3:\n        continue\n    if i == 6:\n        break\n    x.append(i)\nprint(x)",
    "x = [1, 2, 3, 4, 5]\nprint(x[1:3], x[::-1], x[-2:], x[::2], x[10:], x[3:1:-1])\nx += [6]\nx[0] = 9\nprint(x, x.index(3))",
    "print(repr('a\\'b\"c\\n\\\\'), repr('it\\'s'), repr('\"'), str([\"a'\"]), repr(b'a\\xff\\'') , '\\x41\\u00e9')",
    "print(round(2.5), round(3.5), round(2.675, 2), round(-1.5), round(1234, 1), isinstance(1, int), isinstance('a', (int, str)))",
    "print(bool([]), bool('a'), int('12'), int('ff', 16), float('1.5'), str(None), list((1, 2)), tuple([3]), int(-2.7))",
    "print([1, 2] == [1, 2.0], (1, 2) < (1, 3), 'a' < 'b', 1 == 1.0, {1: 2} == {1.0: 2}, True + 0 if False else 5)",
    "x: int = 3\ndef g(a: int, b: str = 'x') -> str:\n    return b * a\nprint(g(x), any(i > 2 for i in [1, 2, 3]))",
    "print('a' 'b' f'{1}' 'c', (1,), (), [], {}, [[]], -2 ** 2, 2 ** 3 ** 2, 1_000)",
    "print(list(zip([1, 2], 'a b'.split())), list(enumerate(['a'], 1)), list(reversed([1, 2])), range(3), abs(-3))",
    "import json\nx = {'b': [1, 2.5, None, True, 'é\\n\"\\\\/\\x01😀\\x7f'], 'a': {}, 'c': [], 'n': 10 ** 30, 'm': -0.0, 'e': 1e100}\n"
    "print(json.dumps(x))\nprint(json.dumps(x, indent=2, sort_keys=True))\nprint(json.dumps(x, ensure_ascii=False))\n"
    "print(json.loads(json.dumps(x)) == x, json.dumps([(1, 2), [], {}, '', 1.0, 1e16, 0.1]))\n"
    "print(json.loads(' {\"a\": [1, -2, 3.0, 1e3, \"\\\\u00e9\\\\ud83d\\\\ude00\\\\/\"], \"a\": 2, \"b\" : [ ] , \"z\":-0, \"t\": true} '))",
]

# (source, codes and places that are reported): a construct of Python, and its rewrite.
DIAGNOSTICS = [
    ("try:\n    f()\nexcept E:\n    pass\n", "P210 1:1 try_call"),
    ("raise ValueError('x')\n", "P211 1:1 fail("),
    ("assert x\n", "P212 1:1 if not condition"),
    ("class A:\n    x = 1\n", "P213 1:1 struct("),
    ("with open('x') as f:\n    pass\n", "P214 1:1 nothing to close"),
    ("def f():\n    yield 1\n", "P215 2:5 return it"),
    ("x = (i for i in y)\n", "P215 1:8 list comprehension"),
    ("load('a.star', 'x')\n", "P301 1:1 a plan is one file"),
    ("async def f(): pass\n", "P216 1:1 waits"),
    ("x = await f()\n", "P216 1:5 waits"),
    ("del x\n", "P217 1:1 pop("),
    ("def f():\n    global x\n", "P218 2:5 return the value"),
    ("while True:\n    pass\n", "P220 1:1 range(1000)"),
    ("@d\ndef f(): pass\n", "P221 1:1 f = decorate(f)"),
    ("if (n := 1) > 0: pass\n", "P222 1:7 line of its own"),
    ("x = 1\ny = x is x\n", "P223 2:10 use =="),
    ("x = ...\n", "P224 1:5 pass"),
    ("import numpy as np\n", "P201 1:14 assign"),
    ("import os\n", "P304 1:8 leave the import out"),
    ("match x:\n    case 1: pass\n", "P228 1:1 elif"),
    ("print 'x'\n", "P229 1:1 print(value)"),
    ("x = struct(a=1)\nx.a = 2\n", "P231 2:1 use a dict"),
    ("a = b = 1\n", "P201 1:7 one assignment after the other"),
    ("for x in []:\n    pass\nelse:\n    pass\n", "P201 3:1 set a flag"),
    ("def f(a, /): pass\n", "P201 1:10 leave the / out"),
    ("f'{x=}'\n", "P114 1:5 x={x}"),
    ("if x = 1: pass\n", "P110 1:6 =="),
    ("x = (1, 2\n", "P103 1:5 -"),
    ("x = 1)\n", "P103 1:6 -"),
    ("x = [1)\n", "P103 1:7 -"),
    ("if True:\nx = 1\n", "P102 2:1 four spaces"),
    ("x = 1\n  y = 2\n", "P102 2:3 align"),
    ("if 1:\n    x = 1\n  y = 2\n", "P102 3:3 align"),
    ("if 1:\n\tx = 1\n        y = 2\n", "P102 3:9 four spaces"),
    ("x = 'abc\n", "P105 1:5 close it"),
    ("x = '\\q'\n", "P106 1:6 \\\\"),
    ("x = 012\n", "P104 1:5 0o12"),
    ("x = 1__0\n", "P104 1:5 -"),
    ("x = “a”\n", "P101 1:5 ASCII"),
    ("x = $\n", "P101 1:5 -"),
    ("f(a=1, 2)\n", "P112 1:8 order"),
    ("f(a=1, a=2)\n", "P112 1:8 leave one"),
    ("def f(a, a): pass\n", "P113 1:10 another name"),
    ("def f(a=1, b): pass\n", "P113 1:12 default"),
    ("1 = x\n", "P111 1:1 -"),
    ("None = 1\n", "P111 1:1 another name"),
    ("break\n", "P303 1:1 -"),
    ("return 1\n", "P110 1:1 -"),
    ("x = lenght([])\n", "P301 1:5 -"),
    ("lem([])\n", "P301 1:1 len"),
    ("eval('1')\n", "P301 1:1 write the code"),
    ("def f():\n    return x\n    x = 1\nf()\n", "P601 2:12 -"),
    ("print(x)\nx = 1\n", "P601 1:7 -"),
    ("def f(): return f()\nf()\n", "P601 1:18 -"),
    ("[1][2]\n", "P601 1:4 -"),
    ("'a' + 1\n", "P601 1:5 -"),
    ("for x in 'abc': pass\n", "P601 1:10 -"),
    ("x = [1]\nfor y in x: x.append(y)\n", "P601 2:14 -"),
    ("fail('no', 1)\n", "P601 1:5 -"),
]


def plan(source, *options, verb="run"):
    return harness.retort("plan", verb, *options, "-", stdin=source.encode())


# (source, the diagnostic and its place) of what ends a run; P604 to P606 are also in test_plan_run.py.
RUN_TIME = [
    ("x = 1\ny = x + 'a'\n", "P601 2:7 unknown binary op"),
    ("{}['a']\n", "P601 1:3 not in dict"),
    ("fail('no')\n", "P601 1:5 fail: no"),
    ("import json\njson.decode('[1,')\n", "P601 2:5 json: at offset 3"),
    ("json.decode('[' * 500)\n", "P604 1:5 nested too deeply"),
    ("json.decode('\"\\\\ud800\"')\n", "P601 1:5 half a surrogate pair"),
    ("json.decode('1' * 400000)\n", "P603 1:5 -"),
    ("json.encode({1: 2})\n", "P601 1:5 the key of a dict is int"),
    ("json.encode(float('nan'))\n", "P601 1:5 JSON has no number nan"),
    ("x = []\nx.append(x)\njson.encode(x)\n", "P604 3:5 nested too deeply"),
    ("x = '\"a\",' * 100\nfor i in range(1000): json.decode('[' + x + '1]')\n", "P602 2:27 too many steps"),
    ("for i in range(10 ** 9): pass\n", "P602 1:10 too many steps"),
    ("x = [0] * 10 ** 9\n", "P603 1:9 out of memory"),
    ("10 ** (10 ** 6)\n", "P603 1:4 -"),
]


class Language(harness.Case):
    def test_values_are_those_of_cpython(self):
        for source in SAME:
            with self.subTest(source=source):
                ast.parse(source)
                want = subprocess.run([sys.executable, "-c", source.replace("'ab'.center(6)", "'ab'.center(6)")],
                                      stdout=subprocess.PIPE, check=True, env={"PYTHONIOENCODING": "utf-8"})
                done = plan(source)
                self.assertEqual((done.out, done.err), (want.stdout.decode(), ""))

    def test_mistakes_have_a_code_a_place_and_a_rewrite(self):
        for source, want in DIAGNOSTICS:
            code, place, hint = want.split(" ", 2)
            with self.subTest(source=source):
                done = plan(source)
                lines = done.err.splitlines()
                self.assertEqual(done.status, 1 if code >= "P600" else 2)
                self.assertTrue(lines[0].startswith(f"error[{code}]: "), done.err)
                self.assertEqual(lines[1], f"  --> <stdin>:{place}")
                if hint != "-":
                    fixes = [line for line in lines[:6] if line.startswith("  fix: ")]
                    self.assertIn(hint, fixes[0] if fixes else done.err)

    def test_all_mistakes_are_shown_at_once(self):
        done = plan("x = foo\ny = bar\nprint(baz)\n")
        self.assertEqual(done.err.count("error[P301]"), 3)
        done = plan("try:\n    x = 1\nexcept:\n    pass\nclass A: pass\n")
        self.assertEqual(done.err.count("error["), 2)

    def test_starlark_has_no_extensions(self):
        for source in ("x = f'{1}'\n", "for i in []: pass\n", "x = 1 < 2 < 3\n", "x = {1}\n", "x = 2 ** 3\n",
                       "x = 1 is None\n", "a, *b = [1, 2]\n", "x = 1\nx = 2\n", "import json\n", "x = sum([1])\n",
                       "def f(a: int): pass\n", "x = any(i for i in [])\n", "x = 'a' 'b'\n", "x = 1,\n", "x = 1_0\n"):
            with self.subTest(source=source):
                self.assertEqual(plan(source, "--dialect", "starlark").status, 2)
                self.assertEqual(plan(source).status, 0)


class Command(harness.Case):
    def test_statuses(self):
        self.assertEqual(plan("print(1)\n").status, 0)
        done = plan("print(1)\nfail('x')\n", "--dialect", "starlark")
        self.assertEqual((done.status, done.out), (1, "1\n"))
        self.assertIn("fail: x", done.err)
        self.assertIn("<stdin>:2:5", done.err)
        self.assertEqual(plan("x = (\n").status, 2)
        self.assertEqual(harness.retort("plan", "run", "/nonexistent/x.star").status, 2)
        self.assertEqual(harness.retort("plan", "run").status, 2)
        self.assertEqual(harness.retort("plan", "walk", "x").status, 2)

    def test_wrong_operands_say_what_is_missing(self):
        for args, said in (("", "plan: the verb is missing: write retort plan run FILE, check FILE"),
                           ("chek x", 'plan: unknown verb "chek": did you mean check?'),
                           ("nonsense", 'plan: unknown verb "nonsense": write retort plan run FILE, check FILE'),
                           ("run --resume r.jsonl", "plan run: FILE, the plan, is missing: write retort plan run FILE\n"),
                           ("test --tools t", "plan test: POLICY, the file of the policy, is missing: write"),
                           ("policy", "plan policy: FILE, the list of tools, is missing: write retort plan policy --tools"),
                           ("check a b", 'plan check: unexpected "b": write retort plan check FILE\n'),
                           ("policy --tools a b", 'plan policy: unexpected "b": write')):
            done = harness.retort("plan", *args.split())
            self.assertEqual((done.status, done.out), (2, ""), done)
            self.assertTrue(done.err.startswith(f"retort: {said}"), done.err)

    def test_check_does_not_run(self):
        done = plan("print(1)\nfail('x')\n", verb="check")
        self.assertEqual((done.status, done.out, done.err), (0, "", ""))
        self.assertEqual(plan("foo\n", verb="check").status, 2)

    def test_limits(self):
        self.assertIn("P602", plan("for i in range(1000000): pass\n", "--fuel", "1000").err)
        self.assertIn("P603", plan("x = [0] * 1000000\n", "--plan-memory", "1m").err)
        self.assertEqual(plan("while True: break\n", "--while").status, 0)
        done = plan("def f(n): return 1 if n == 0 else n * f(n - 1)\nprint(f(5))\n", "--recursion")
        self.assertEqual(done.out, "120\n")

    def test_limits_of_the_configuration(self):
        """Its limits hold for plans too; tools that are named as an operand go before its own."""
        config = harness.make_dir()
        os.mkdir(os.path.join(config, "retort"))
        env = {"XDG_CONFIG_HOME": config}
        for text, status in (('{"fuel": 1000}', 1), ('{"fuel": 1000000000}', 0), ('{"feul": 1000}', 2)):
            with open(os.path.join(config, "retort", "config.json"), "w", encoding="utf-8") as f:
                f.write(text)
            done = harness.retort("plan", "run", "-", stdin=b"for i in range(1000000): pass\n", env=env)
            self.assertEqual((done.status, "P602" in done.err, "config.json" in done.err), (status, status == 1, status == 2))
        with open(os.path.join(config, "retort", "config.json"), "w", encoding="utf-8") as f:
            f.write('{"tools": "/nowhere/configured"}')
        self.assertIn("/nowhere/configured: No such", harness.retort("plan", "policy", env=env).err)
        self.assertIn("/nowhere/named: No such", harness.retort("plan", "policy", "/nowhere/named", env=env).err)

    def test_where_it_was_called_from(self):
        done = plan("def f():\n    return [][0]\ndef g():\n    return f()\ng()\n")
        self.assertIn("in f at line 2\n  in g at line 4\n  in <toplevel> at line 5", done.err)

    def test_what_ends_a_run(self):
        for source, want in RUN_TIME:
            code, place, words = want.split(" ", 2)
            with self.subTest(source=source):
                done = plan(source, "--fuel", "60000", "--plan-memory", "64m")
                self.assertEqual(done.status, 1, done)
                self.assertIn(f"error[{code}]", done.err)
                self.assertIn(f"<stdin>:{place}", done.err)
                if words != "-":
                    self.assertIn(words, done.err)

    def test_what_is_shown_cannot_control_a_terminal(self):
        done = plan("x = '\x1b[31m' + 1\n")
        self.assertNotIn("\x1b", done.err)


if __name__ == "__main__":
    harness.main()
