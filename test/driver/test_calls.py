# SPDX-License-Identifier: Apache-2.0
"""Calls of the Python driver: /usr/bin/python3 -I test_calls.py DRIVER_DIR [unittest args]

The test plays the engine, and the tools behind it.
"""

import base64
import json
import os
import subprocess
import sys
import textwrap
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_driver  # noqa: E402
import test_guard  # noqa: E402
from test_driver import STEP, Driver, has  # noqa: E402

TOOL_RESULT = 4
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 20).decode()


def tool(name, params=(), doc="", **more):
    """A row of retort.tools; a parameter is (name, type, *default)."""
    short = name.partition(".")[2]
    rows = [{"name": p[0], "id": p[0], "type": p[1], "required": len(p) == 2, **({"default": p[2]} if len(p) > 2 else {})}
            for p in params]
    shown = ", ".join("%s: %s" % (p[0], p[1]) for p in params)
    return {"name": name, "tool": short, "id": short, "js_id": short, "doc": doc, "params": rows, "extra": False,
            "signature": "tools.%s(*, %s) -> Any" % (name, shown), **more}


CATALOG = {"servers": [
    {"name": "crm", "id": "crm", "js_id": "crm", "tools": [
        tool("crm.search", [("query", "str"), ("limit", "int", 10), ("after", "str | None", None)], "Find customers.\nMore."),
        tool("crm.readFile", [("path", "str")]),
        tool("crm.read-file", [("path", "str")], id="read_file_2"),
        tool("crm.send", [("from", "str")]) | {"params": [{"name": "from", "id": "from_", "type": "str", "required": True}]},
        tool("crm.put", [("row", "dict[str, Any]")]),
        tool("crm.free", extra=True),
        tool("crm.__getattr__"), tool("crm.__class__"), tool("crm.mro"),
        tool("crm.loose", params=()) | {"params": None}]},
    {"name": "my-files", "id": "my_files", "js_id": "my_files", "tools": [tool("my-files.list")]},
    {"name": "search", "id": "search_", "tools": [tool("search.web", [("query", "str")])]},
    {"name": "describe", "id": "describe", "tools": [tool("describe.it")]}]}


class Engine(Driver):
    """Answers calls by a function of (name, arguments): a value, an Exception, or None: later."""

    def __init__(self, answer=None, **rest):
        super().__init__(**rest)
        self.answer, self.calls, self.catalog = answer, [], CATALOG

    def on_call(self, message):
        assert set(message) == {"id", "call", "name", "arguments"}, message
        assert not self.calls or message["call"] > self.calls[-1]["call"], message
        self.calls.append(message)
        if message["name"] == "retort.tools":
            self.value(message, self.catalog)
            return
        found = self.answer(message["name"], message["arguments"])
        if isinstance(found, dict) and "error" in found:
            self.reply({"call": message["call"], **found})
        elif found is not None:
            self.value(message, found)

    def reply(self, answer):
        self.send(TOOL_RESULT, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def value(self, call, value):
        self.reply({"call": call["call"], "value": value})

    def made(self):
        """(name, arguments) of the calls but for the catalog."""
        return [(call["name"], call["arguments"]) for call in self.calls if call["name"] != "retort.tools"]


def error(name, message, **rest):
    return {"error": {"name": name, "message": message, **rest}}


def echo(name, arguments):
    return {"name": name, "got": arguments}


class Case(test_driver.Case):
    def engine(self, answer=echo, **rest):
        made = Engine(answer, **rest)
        self.addCleanup(made.__exit__)
        return made

    def value(self, engine, code, expected=None, **rest):
        got = self.ok(engine.step(code, **rest))
        if expected is not None:
            self.assertEqual(got.text, expected, got.err)
        return got

    def sends(self, engine, code, *expected):
        before = len(engine.made())
        self.ok(engine.step(code))
        self.assertEqual(engine.made()[before:], list(expected))

    def refuses(self, engine, code, *words):
        """A ToolArgumentError of the driver's own: nothing is sent."""
        before = len(engine.made())
        got = self.fails(engine.step(code), "ToolArgumentError")
        self.assertEqual(engine.made()[before:], [])
        for word in words:
            self.assertIn(word, got.error["message"])


class Calls(Case):
    def test_frame(self):
        e = self.engine(lambda name, arguments: [1, None, True, 1.5, "é\U0001f600", {"a": []}])
        self.value(e, "import retort; retort.tools.crm.search('x')", "[1, None, True, 1.5, 'é\U0001f600', {'a': []}]")
        self.assertEqual([c["name"] for c in e.calls], ["retort.tools", "crm.search"])
        self.assertEqual([c["id"] for c in e.calls], [e.id] * 2)
        self.value(e, "retort.tools.crm.search('y')")
        self.assertEqual(len(e.calls), 3)  # the catalog is asked for once
        self.assertEqual(e.calls[-1]["id"], e.id)

    def test_in_a_script(self):
        e = self.engine()
        got = self.ok(e.step("print(tools.crm.search('x')['got'])", "once"))
        self.assertEqual(got.out, "{'query': 'x'}\n")

    def test_arguments(self):
        e = self.engine()
        want = ("crm.search", {"query": "x", "limit": 3})
        for code in ("tools.crm.search('x', 3)", "tools.crm.search(query='x', limit=3)", "tools.crm.search('x', limit=3)",
                     "tools.crm.search({'query': 'x', 'limit': 3})", "tools.crm.search('x', 3, None)",
                     "tools['crm'].search('x', 3)", "tools['crm.search']('x', 3)", "getattr(tools.crm, 'search')('x', 3)",
                     "from retort import tools as t; t.crm.search('x', 3)", "from retort.tools import crm; crm.search('x', 3)",
                     "import retort.tools.crm; retort.tools.crm.search('x', 3)",
                     "from retort.tools.crm import search; search('x', 3)"):
            with self.subTest(code):
                self.sends(e, code, want)
        self.sends(e, "tools.crm.send('a'); tools.crm.send(from_='b'); tools.crm.send(**{'from': 'c'})",
                   *[("crm.send", {"from": c}) for c in "abc"])
        self.sends(e, "tools.crm.put({'row': {'a': 1}}); tools.crm.put({'a': 1}); tools.crm.put(row={'a': 1})",
                   *[("crm.put", {"row": {"a": 1}})] * 3)
        self.sends(e, "tools.crm.send({'from_': 'a'}); tools.crm.search({'qury': 'x'})",
                   ("crm.send", {"from": "a"}), ("crm.search", {"qury": "x"}))
        self.sends(e, "tools.crm.free(a=1, b=None); tools.crm.free({'c': 2}); tools.crm.loose(z=1)",
                   ("crm.free", {"a": 1, "b": None}), ("crm.free", {"c": 2}), ("crm.loose", {"z": 1}))

    def test_arguments_that_do_not_fit(self):
        e = self.engine()
        self.refuses(e, "tools.crm.search()", "crm.search", "missing: query")
        self.refuses(e, "tools.crm.search('x', 1, 'y', 'z')", "4 positional arguments", "takes 3")
        self.refuses(e, "tools.crm.search('x', query='y')", "query is given twice")
        self.refuses(e, "tools.crm.search('x', limt=1)", "'limt'", "limit")
        self.refuses(e, "tools.crm.search(b'x')", "arguments.query", "bytes", "base64")
        self.refuses(e, "tools.crm.search(query=[1, {'a': {2}}])", "arguments.query[1].a", "set")
        self.refuses(e, "tools.crm.search(float('nan'))", "nan")
        self.refuses(e, "tools.crm.search(1 << 63)", "64 bits")
        self.refuses(e, "tools.crm.search({'query': {1: 2}})", "the key 1")
        self.refuses(e, "x = []; x.append(x); tools.crm.search(x)", "nested deeper")
        self.refuses(e, "tools.crm.search([0] * 100_000)", "100000 values")
        got = self.fails(e.step("tools.crm.search('é' * (2 << 20))"), "ToolLimit")
        self.assertIn("4194304", got.error["message"])
        self.sends(e, "n = len(tools.crm.search('x' * ((4 << 20) - 100))['got'])", ("crm.search", {"query": "x" * ((4 << 20) - 100)}))

    @unittest.skipUnless(has("numpy"), "needs numpy")
    def test_values_of_libraries(self):
        e = self.engine(env={"OPENBLAS_NUM_THREADS": "1"})
        self.sends(e, """
            import numpy as np, pathlib
            tools.crm.free(a=np.int64(3), b=np.arange(2), c=np.float64(.5), d=pathlib.Path('x/y'), e=(1, 2), f=np.str_('s'))
            """, ("crm.free", {"a": 3, "b": [0, 1], "c": 0.5, "d": "x/y", "e": [1, 2], "f": "s"}))
        self.refuses(e, "tools.crm.search(np.float32('inf'))", "inf")

    def test_errors(self):
        kinds = ("ToolError", "ToolDenied", "ToolArgumentError", "ToolLost", "ToolLimit")
        e = self.engine(lambda name, arguments: error(arguments["query"], "it is so", hint="do this"))
        for kind in kinds:
            with self.subTest(kind):
                got = self.fails(e.step("tools.crm.search(%r)" % kind), kind)
                self.assertEqual(got.error["message"], "it is so: do this")
                self.assertEqual(got.error["traceback"][-1], "retort.%s: it is so: do this" % kind)
                self.value(e, """
                    import retort
                    try:
                        tools.crm.search(%r)
                    except retort.ToolError as error:
                        e = error
                    isinstance(e, retort.RetortError), type(e) is retort.%s, e.tool, e.name, e.hint, e.args
                    """ % (kind, kind), "(True, True, 'crm.search', %r, 'do this', ('it is so',))" % kind)
        got = self.fails(e.step("tools.crm.search('ToolNew')"), "ToolError")
        self.value(e, "import copy, pickle; [str(f(e)) for f in (copy.copy, lambda x: pickle.loads(pickle.dumps(x)))]",
                   "['it is so: do this', 'it is so: do this']")

    def test_what_is_no_answer(self):
        odd = [{}, {"value_": 1}, {"error": "x"}, {"error": {"name": "ToolError"}}, {"error": None}, {"error": {"message": 5}}]
        e = self.engine(None)
        for one in odd:
            with self.subTest(one):
                e.answer = lambda name, arguments: e.reply({"call": e.calls[-1]["call"], **one})
                self.fails(e.step("tools.crm.search('x')"), "ToolLost")
        for body in (b'"value":' + b"[" * 100_000 + b"]" * 100_000, b'"value":', b'"value":"\xff"'):
            with self.subTest(body[:20]):
                e.answer = lambda name, arguments: e.reply(b'{"call":%d,' % e.calls[-1]["call"] + body + b"}")
                self.fails(e.step("tools.crm.search('x')"), "ToolLost")
        e.answer = echo
        self.value(e, "tools.crm.search('x')['got']", "{'query': 'x'}")

    def test_answers_to_nobody(self):
        """Numbers that are none, of nothing, or of something else do not reach a call."""
        e = self.engine(None)

        def answer(name, arguments):
            n = e.calls[-1]["call"]
            for number in (True, float(n), str(n), None, [n], 0, -n, n + 1, n - 1, 1 << 70):
                e.reply({"call": number, "value": "wrong"})
            for raw in (b"", b"[]", b"1", b"null", b'{"value":"wrong"}', b"\xff\xfe", b"not", b'{"call":99'):
                e.reply(raw)
            e.send(19, b"{}")
            e.send(200, b"")
            e.reply({"call": n, "value": "right"})
            e.reply({"call": n, "value": "too late"})

        e.answer = answer
        for _ in range(3):
            self.value(e, "tools.crm.search('x')", "'right'")
        self.value(e, "1 + 1", "2")

    def test_large_and_deep_values(self):
        deep = json.loads("[" * 500 + "]" * 500)
        e = self.engine(lambda name, arguments: deep if arguments["query"] == "deep" else "x" * (20 << 20))
        self.value(e, "len(tools.crm.search('large'))", str(20 << 20))
        self.value(e, """
            v, n = tools.crm.search('deep'), 0
            while v: v, n = v[0], n + 1
            n""", "499")

    def test_value_is_no_code(self):
        e = self.engine(lambda name, arguments: "__import__('os')._exit(7)")
        self.value(e, "tools.crm.search('x')", '"__import__(\'os\')._exit(7)"')
        e.answer = lambda name, arguments: e.reply(b'{"call":%d,"value":__import__("os")._exit(7)}' % e.calls[-1]["call"])
        self.fails(e.step("tools.crm.search('x')"), "ToolLost")
        e.answer = lambda name, arguments: e.reply(b'{"call":%d,"value":"a\\/b"}' % e.calls[-1]["call"])
        self.value(e, "tools.crm.search('x')", "'a/b'")

    def test_engine_gone(self):
        e = self.engine(lambda name, arguments: e.channel.shutdown(test_driver.socket.SHUT_WR))
        got = e.step("tools.crm.search('x')")
        self.fails(got, "ToolLost")

    def test_no_step(self):
        e = self.engine()
        self.ok(e.step("""
            import atexit
            def late():
                try: print(tools.crm.search('x'))
                except RuntimeError as error: print(error)
            tools.crm.search('x')
            atexit.register(late)"""))
        e.send(test_driver.BYE)
        e.process.wait(60)
        got = test_driver.Outcome()
        e.drain(e.process.stdout.fileno(), got)
        self.assertIn("while a step runs", got.out)

    def test_cold_start_is_as_it_was(self):
        got = test_driver.once("import sys; [n for n in sys.modules if 'retort' in n], '_json' in sys.modules")
        self.assertEqual(got.text, "(['retort.tools', 'retort.skills', 'retort'], False)")
        e = self.engine()
        self.value(e, "1")
        self.value(e, "import retort; retort.__doc__, sorted(dir(retort))[:3], hasattr(tools, '__path__'), 'inspect' in __import__('sys').modules",
                   "('Functions for code in a retort box.', ['Image', 'RetortError', 'ToolArgumentError'], True, False)")
        self.assertEqual(e.calls, [])


class Catalog(Case):
    def test_names(self):
        e = self.engine()
        self.value(e, "dir(tools)", "['crm', 'describe', 'describe', 'my_files', 'search', 'search_']")
        self.value(e, "tools", "<tools: crm, describe, describe, my_files, search, search_>")
        self.assertEqual(len(e.calls), 1)
        self.value(e, "'readFile' in dir(tools.crm), 'read_file_2' in dir(tools.crm)", "(True, True)")
        for code, name in (("tools.my_files.list()", "my-files.list"), ("tools['my-files'].list()", "my-files.list"),
                           ("tools['my-files.list']()", "my-files.list"), ("tools.crm.readFile('x')", "crm.readFile"),
                           ("tools.crm.read_file('x')", "crm.readFile"), ("tools.crm['read-file']('x')", "crm.read-file"),
                           ("getattr(tools.crm, 'read-file')('x')", "crm.read-file"), ("tools.crm.read_file_2('x')", "crm.read-file"),
                           ("tools.search_.web('x')", "search.web"), ("tools['search'].web('x')", "search.web"),
                           ("tools['describe'].it()", "describe.it"), ("tools.crm['__getattr__']()", "crm.__getattr__"),
                           ("tools.crm['__class__']()", "crm.__class__"), ("tools.crm.mro()", "crm.mro")):
            with self.subTest(code):
                self.value(e, code)
                self.assertEqual(e.calls[-1]["name"], name)
        self.value(e, "tools.crm.__class__.__name__, hasattr(tools.crm, '__wrapped__'), hasattr(tools, '_repr_html_')",
                   "('Server', False, False)")

    def test_what_is_missing_is_asked_for_again(self):
        e = self.engine()
        got = self.fails(e.step("tools.crn"), "AttributeError")
        self.assertIn("tools has no server crn: there are crm, describe, my_files, search_", got.error["message"])
        got = self.fails(e.step("tools.crm.find"), "AttributeError")
        self.assertIn("tools.crm has no tool find: there are ", got.error["message"])
        e.catalog = {"servers": [{"name": "crm", "id": "crm", "tools": [], "error": "server crm: it ended"}]}
        got = self.fails(e.step("tools.crm.find"), "AttributeError")
        self.assertEqual(got.error["message"], "tools.crm has no tool find: server crm: it ended")
        e.catalog = CATALOG
        self.fails(e.step("tools['x.y']"), "KeyError")
        self.fails(e.step("from retort.tools import nothing"), "ImportError")
        self.fails(e.step("import retort.tools.nothing"), "ModuleNotFoundError")
        self.ok(e.step("search, crm = tools.crm.search, tools.crm"))
        e.catalog = {"servers": [{"name": "crm", "id": "crm", "tools": [CATALOG["servers"][0]["tools"][0], tool("crm.find")]},
                                 {"name": "new", "id": "new", "tools": [tool("new.it")]}]}
        self.value(e, "tools.new.it(); tools.crm.find(); crm is tools.crm, search is crm.search, 'send' in dir(crm), dir(tools)",
                   "(True, True, False, ['crm', 'describe', 'new', 'search'])")
        self.fails(e.step("crm.send"), "AttributeError")
        self.fails(e.step("tools.my_files"), "AttributeError")

    def test_broken_catalogs(self):
        for catalog in (None, 5, [], {}, {"servers": 5}, {"servers": [5, {}, {"name": 3}, {"name": "a", "id": 4}]},
                        {"servers": [{"name": "a", "tools": 5}, {"name": "b", "tools": [5, {}, {"name": "b.c"}]}]},
                        {"servers": [{"name": "a", "tools": [{"name": "a.b", "tool": "b", "params": [5, {}], "doc": 3}]}]}):
            with self.subTest(catalog):
                e = self.engine()
                e.catalog = catalog
                self.ok(e.step("dir(tools)"))
                self.fails(e.step("tools.zzz"), "AttributeError")

    def test_help(self):
        e = self.engine()
        got = self.value(e, "help(tools.crm.search)")
        for text in ("search(query: str, limit: int = 10, after: str | None = None) -> Any", "Find customers."):
            self.assertIn(text, got.out)
        got = self.value(e, "help(tools.crm)")
        self.assertIn("send(from_: str)", got.out)
        self.value(e, "import inspect; str(inspect.signature(tools.crm.free)), tools.crm.search.__name__, tools.crm.search.__doc__",
                   "('(**extra) -> Any', 'search', 'tools.crm.search(*, query: str, limit: int, after: str | None) -> Any\\n\\nFind customers.\\nMore.')")
        self.value(e, "str(inspect.signature(tools.crm.loose))", "'(*arguments, **named)'")

    def test_descriptions_are_not_obeyed(self):
        evil = '"""\n__import__("os")._exit(9)\n"""'
        e = self.engine()
        e.catalog = {"servers": [{"name": evil, "id": "evil", "tools": [
            {"name": "evil." + evil, "tool": evil, "id": evil, "doc": evil, "signature": evil,
             "params": [{"name": evil, "id": evil, "type": evil, "required": False, "default": evil},
                        {"name": "x", "id": "lambda", "type": "int", "required": True}]}]}]}
        got = self.ok(e.step("help(tools.evil); help(tools[%r][%r]); dir(tools.evil), tools.evil, tools[%r][%r](x=1)" % (evil, evil, evil, evil)))
        self.assertEqual(e.calls[-1]["arguments"], {"x": 1})

    def test_completion(self):
        with test_guard.Session() as s:
            for text in ("tools.sea", "retort.tools.sea"):
                self.ok(s.run("import retort"))
                self.assertEqual(s.ask(test_guard.NAMES, text=text)["names"], ["search"])
        with Guarded() as s:
            self.ok(s.run("tools.crm.search('x')"))
            self.assertEqual(s.ask(test_guard.NAMES, text="tools.my")["names"], ["my_files"])
            self.assertEqual(s.ask(test_guard.NAMES, text="tools.crm.se")["names"], ["search", "send"])

    def test_search_and_describe(self):
        rows = [{"name": "crm.search", "signature": "tools.crm.search(*, query: str) -> Any", "doc": "Find customers.\nMore."},
                {"name": "crm.put", "doc": ""}]
        e = self.engine(lambda name, arguments: {"tools": rows} if name == "retort.search" else
                        {"name": "crm.search", "signature": "S", "doc": "D", "input_schema": {"type": "object"}})
        self.value(e, "tools.search('find customers')", "tools.crm.search(*, query: str) -> Any  Find customers.\ncrm.put")
        self.value(e, "[t['name'] for t in tools.search('find', limit=2)]", "['crm.search', 'crm.put']")
        got = self.value(e, "print(tools.describe('crm.search')); tools.describe(tools.crm.search)['doc']", "'D'")
        self.assertEqual(got.out, 'S\n\nD\n\n{\n "input_schema": {\n  "type": "object"\n }\n}\n')
        self.assertEqual(e.made(), [("retort.search", {"query": "find customers"}), ("retort.search", {"query": "find", "limit": 2}),
                                    ("retort.describe", {"name": "crm.search"}), ("retort.describe", {"name": "crm.search"})])


class Values(Case):
    def test_images(self):
        image = {"type": "image", "mimeType": "image/png", "data": PNG}
        e = self.engine(lambda name, arguments: [image, {"a": image}] if arguments["query"] == "list" else image)
        got = self.value(e, "import retort; i = tools.crm.search('x'); i", "<Image image/png, 28 bytes>")
        self.assertEqual(got.value["image/png"], PNG)
        self.value(e, "i.mime, len(i.data), i.save('a.png'), open('a.png', 'rb').read() == i.data, type(i) is retort.Image",
                   "('image/png', 28, 'a.png', True, True)")
        self.assertEqual(self.value(e, "display(i)").displays[0]["data"]["image/png"], PNG)
        self.value(e, "tools.crm.search('list')", "[<Image image/png, 28 bytes>, {'a': <Image image/png, 28 bytes>}]")

    def test_content(self):
        content = {"text": "here", "images": [{"mime_type": "image/png", "data": PNG}], "links": []}
        e = self.engine(lambda name, arguments: content)
        got = self.value(e, "c = tools.crm.search('x'); c")
        self.assertEqual(got.value["image/png"], PNG)
        self.value(e, "c.text, c.images, c.links, c['text']", "('here', [<Image image/png, 28 bytes>], [], 'here')")

    def test_what_is_no_image(self):
        for odd in ({"type": "image", "mimeType": "text/html", "data": PNG}, {"type": "image", "data": PNG},
                    {"type": "image", "mimeType": "image/png", "data": "A"}, {"type": "image", "mimeType": 5, "data": PNG},
                    {"type": "image", "mimeType": "image/" + "x" * 200, "data": PNG}, {"type": ["image"]}):
            with self.subTest(odd):
                e = self.engine(lambda name, arguments: odd)
                self.value(e, "tools.crm.search('x')", repr(odd))


class Model(Case):
    def test_query(self):
        e = self.engine(lambda name, arguments: arguments["prompt"].upper())
        self.value(e, "import retort; llm_query('who'), retort.llm_query('what', 'ctx', schema={'type': 'string'})", "('WHO', 'WHAT')")
        self.assertEqual(e.calls[0]["arguments"], {"prompt": "who"})
        self.assertEqual(e.calls[1]["arguments"], {"prompt": "what", "context": "ctx", "schema": {"type": "string"}})
        self.fails(e.step("llm_query(5)"), "ToolArgumentError")
        self.fails(e.step("llm_query_batched('text')"), "ToolArgumentError")
        self.value(e, "llm_query_batched([])", "[]")

    def batch(self, n, answer_at):
        """An engine that answers when @answer_at calls are outstanding, the last one first."""
        held = []

        def answer(name, arguments):
            held.append(e.calls[-1])
            self.most = max(self.most, len(held))
            if len(held) == answer_at or len(e.calls) == n:
                while held:
                    call = held.pop()
                    e.value(call, call["arguments"]["prompt"] + "!")

        self.most = 0
        e = self.engine(answer)
        return e

    def test_batch_is_sent_before_it_is_collected(self):
        e = self.batch(5, 5)
        self.value(e, "llm_query_batched(list('abcde'), 'ctx')",
                   "['a!', 'b!', 'c!', 'd!', 'e!']")
        self.assertEqual(self.most, 5)

    def test_large_batch(self):
        e = self.batch(200, 64)
        self.value(e, "llm_query_batched([str(i) for i in range(200)]) == ['%d!' % i for i in range(200)]", "True")
        self.assertEqual(self.most, 64)

    def test_large_context(self):
        """The engine takes 16 MiB of all that wait: the others are sent later."""
        def answer(name, arguments):
            held.append(e.calls[-1])
            self.most = max(self.most, sum(len(json.dumps(call["arguments"])) for call in held))
            if len(held) == 4 or len(e.calls) == 6:
                while held:
                    e.value(held.pop(), "ok")

        held, self.most = [], 0
        e = self.engine(answer)
        self.value(e, "llm_query_batched(list('abcdef'), 'x' * (3_900_000)) == ['ok'] * 6", "True")
        self.assertLessEqual(self.most, 16 << 20)
        self.assertGreater(self.most, 8 << 20)

    def test_failures_in_a_batch(self):
        e = self.engine(lambda name, arguments: error("ToolLimit", "no more") if arguments["prompt"] == "b" else "ok")
        got = self.value(e, "llm_query_batched(list('abc'), return_exceptions=True)", "['ok', ToolLimit('no more'), 'ok']")
        self.value(e, """
            import retort
            try: llm_query_batched(list('abc'))
            except retort.ToolLimit as error: found = error.results
            found""", "['ok', ToolLimit('no more'), 'ok']")
        self.assertEqual(got.result["status"], "ok")
        self.fails(e.step("llm_query_batched(['a', 5])"), "ToolArgumentError")
        self.assertEqual(len(e.calls), 6)


class Skills(Case):
    def skills(self, **files):
        """A session that looks for skills in its workspace."""
        e = self.engine(files={"s/%s.py" % name: text for name, text in files.items()})
        self.ok(e.step("import os, retort; retort.skills.__path__[:] = [os.path.abspath('s')]"))
        return e

    def test_import(self):
        files = {"one": "def one(): return 1", "two": "def two(): return 2", "three": "def three(): return 3", "data": "X = 4", "_no": ""}
        e = self.skills(**files)
        self.value(e, "import retort.skills.one; from retort.skills import two; retort.skills.one(), two(), retort.skills.three(), "
                   "retort.skills.data.X", "(1, 2, 3, 4)")
        self.value(e, "dir(retort.skills), retort.skills", "(['data', 'one', 'save', 'three', 'two'], <retort.skills: data, one, three, two>)")
        self.fails(e.step("retort.skills.four"), "AttributeError")
        self.fails(e.step("from retort.skills import four"), "ImportError")
        self.value(e, "open('s/four.py', 'w').write('def four(): return 4') and retort.skills.four()", "4")
        self.assertEqual(e.calls, [])

    def test_save(self):
        e = self.skills()
        self.value(e, """
            def area(w: float, h=1) -> float:
                '''Of a rectangle.'''
                return w * h
            def check():
                assert area(2, 3) == 6
            retort.skills.save("area", area, check)""")
        name, sent = e.made()[-1]
        self.assertEqual((name, sent["name"], sent["signature"], sent["doc"]),
                         ("retort.skill_save", "area", "retort.skills.area(w: float, h=1) -> float", "Of a rectangle."))
        self.assertEqual(sent["source"], "def area(w: float, h=1) -> float:\n    '''Of a rectangle.'''\n    return w * h\n")
        self.assertEqual(sent["test"], "def check():\n    assert area(2, 3) == 6\n\ncheck()\n")
        self.value(e, "retort.skills.save('size', area, 'assert size(1) == 1')")
        self.assertTrue(e.made()[-1][1]["source"].endswith("\n\nsize = area\n"))
        self.value(e, "retort.skills.save('k', 'class k:\\n  \"K.\"', 'k()')")
        self.assertEqual(e.made()[-1][1]["doc"], "K.")
        n = len(e.calls)
        for code in ("save('x', area)", "save('x', len, 'x()')", "save('x', lambda: 1, 'x()')", "save('x', 'def y(): 1', 'x()')",
                     "save('x', 'def x(', 'x()')", "save('x', 5, 'x()')", "save('x', 'import os; os._exit(9)', 'x()')"):
            self.fails(e.step("retort.skills." + code), "ToolArgumentError")
        self.assertEqual(len(e.calls), n)


class Threads(Case):
    POOL = """
        import threading
        def work(i):
            found[i] = tools.crm.search(str(i))['got']['query']
        found = {}
        tools.crm
        all = [threading.Thread(target=work, args=(i,)) for i in range(%d)]
        for t in all: t.start()
        %s
        for t in all: t.join(60)
        found == {i: str(i) for i in range(%d)}
        """

    def test_many_at_once(self):
        """Answers in reverse order, a hundred threads: more than may be outstanding."""
        held = []

        def answer(name, arguments):
            held.append(e.calls[-1])
            if len(held) == 20:
                while held:
                    call = held.pop()
                    e.value(call, echo(call["name"], call["arguments"]))

        e = self.engine(answer)
        for _ in range(3):
            self.value(e, self.POOL % (100, "", 100), "True")

    def test_with_the_main_thread(self):
        e = self.engine()
        self.value(e, self.POOL % (20, "for i in range(50): assert tools.crm.search('m%d' % i)['got'] == {'query': 'm%d' % i}", 20), "True")

    def test_garbage_confuses_nobody(self):
        def answer(name, arguments):
            n = e.calls[-1]["call"]
            e.reply({"call": n + 1, "value": "not yet asked"})
            e.reply({"call": str(n), "value": "a text"})
            e.reply(b'{"call":%d,"value":' % (n + 2))
            e.value(e.calls[-1], echo(name, arguments))

        e = self.engine(answer)
        self.value(e, self.POOL % (1, "", 1), "True")
        # With several outstanding an answer that cannot be read fails the call that it names, and no other.
        held = []

        def hold(name, arguments):
            held.append(e.calls[-1])
            if len(held) == 3:
                e.reply(b'{"call":%d,"value":' % held[1]["call"])
                e.value(held[2], 2)
                e.value(held[0], 0)

        e.answer = hold
        self.value(e, "llm_query_batched(['a', 'b', 'c'], return_exceptions=True)",
                   "[0, ToolLost('the answer cannot be read (StopIteration)'), 2]")

    def test_asyncio(self):
        e = self.engine()
        self.value(e, """
            import asyncio
            await asyncio.gather(*[asyncio.to_thread(lambda i=i: tools.crm.search(str(i))['got']['query']) for i in range(10)])""",
                   repr([str(i) for i in range(10)]))

    def test_left_over_at_the_end_of_a_step(self):
        """A thread that still waits is told, and takes nothing of what comes afterwards."""
        e = self.engine(lambda name, arguments: None)
        self.ok(e.step("""
            import threading, time
            def work():
                try: tools.crm.search('x')
                except Exception as error: seen.append(error)
            seen = []
            tools.crm
            all = [threading.Thread(target=work) for _ in range(3)]
            for t in all: t.start()
            time.sleep(0.3)"""))
        for call in e.calls[-3:]:
            e.value(call, "too late")
        self.value(e, "for t in all: t.join(20)\n[type(error).__name__ for error in seen]", "['ToolLost', 'ToolLost', 'ToolLost']")
        e.answer = echo
        self.value(e, "tools.crm.search('y')['got']", "{'query': 'y'}")

    def test_thread_between_steps(self):
        e = self.engine()
        self.ok(e.step("""
            import threading
            go, seen = threading.Event(), []
            def work():
                go.wait()
                while not seen or seen[-1] != 'ok':
                    try: seen.append(tools.crm.search('x') and 'ok')
                    except RuntimeError as error: seen.append(type(error).__name__)
            t = threading.Thread(target=work); t.start()
            threading.Timer(0.05, go.set).start()
            tools.crm
            """))
        self.value(e, "t.join(20); seen[-1]", "'ok'")

    def test_once_waits_for_threads(self):
        e = self.engine()
        got = self.ok(e.step("import threading; threading.Thread(target=lambda: print(tools.crm.search('x')['got'])).start()", "once"))
        self.assertEqual(got.out, "{'query': 'x'}\n")


class Interrupts(Case):
    def test_waiting_call(self):
        def answer(name, arguments):
            if arguments.get("prompt") not in ("a", "b"):  # the last one: a step is interrupted once
                threading.Timer(0.05, e.interrupt).start()

        e = self.engine(answer)
        for code in ("tools.crm.search('x')", "llm_query_batched(list('abc'))"):
            with self.subTest(code):
                self.ok(e.step("tools.crm"))
                got = e.step(code)
                self.fails(got, "KeyboardInterrupt")
                self.assertEqual(got.result["exit_code"], 130)
                for call in e.calls:
                    e.value(call, "too late")
        e.answer = echo
        self.value(e, "tools.crm.search('y')['got']", "{'query': 'y'}")

    def test_caught_in_the_step(self):
        e = self.engine(lambda name, arguments: e.interrupt() if arguments["query"] == "a" else "b")
        self.value(e, """
            try: tools.crm.search('a')
            except KeyboardInterrupt: x = 1
            x, tools.crm.search('b')""", "(1, 'b')")

    def test_while_another_thread_reads(self):
        e = self.engine(lambda name, arguments: threading.Timer(0.1, e.interrupt).start() if arguments["query"] == "main" else None)
        got = e.step("""
            import threading, time
            tools.crm
            threading.Thread(target=lambda: tools.crm.search('other'), daemon=True).start()
            time.sleep(0.1)
            tools.crm.search('main')""")
        self.fails(got, "KeyboardInterrupt")
        e.answer = echo
        self.value(e, "tools.crm.search('y')['got']", "{'query': 'y'}")

    def test_at_any_time(self):
        """Signals all the time: no answer is lost to another thread, none is taken for another's."""
        e = self.engine()
        self.ok(e.step("""
            import signal, threading, time
            tools.crm
            def work(name):
                got = 'failed'
                try:
                    for i in range(150):
                        got = tools.crm.search('%s%d' % (name, i))['got']['query']
                        assert got == '%s%d' % (name, i), got
                finally:
                    done.append(got)
            def interrupt(*_):
                global armed
                if armed:
                    armed = False
                    raise KeyboardInterrupt
            """))
        for _ in range(3):
            self.value(e, """
                done, hits, armed = [], 0, False
                all = [threading.Thread(target=work, args=(n,)) for n in 'ab']
                for t in all: t.start()
                signal.signal(signal.SIGALRM, interrupt)
                signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
                while True:
                    try:
                        armed = True
                        while len(done) < 2:  # an interrupted is_alive() may take a thread for ended
                            got = tools.crm.search('m%d' % hits)['got']['query']
                            assert got == 'm%d' % hits, got
                        armed = False
                        break
                    except KeyboardInterrupt:
                        hits += 1
                signal.setitimer(signal.ITIMER_REAL, 0)
                for t in all: t.join(20)
                sorted(done), hits > 0""", "(['a149', 'b149'], True)", wait=100)

    def test_call_in_a_signal_handler(self):
        def answer(name, arguments):
            if arguments["query"] == "outer":
                os.kill(e.process.pid, test_driver.signal.SIGUSR1)
                threading.Timer(0.3, e.value, (e.calls[-1], "outer")).start()
                return None
            return "inner"

        e = self.engine(answer)
        self.value(e, """
            import signal
            seen = []
            def handler(*_):
                try: seen.append(tools.crm.search('inner'))
                except RuntimeError as error: seen.append('refused')
            signal.signal(signal.SIGUSR1, handler)
            tools.crm.search('outer'), seen""", "('outer', ['refused'])")


class Forks(Case):
    def test_child_is_refused(self):
        e = self.engine()
        got = self.value(e, """
            import os
            tools.crm
            pid = os.fork()
            if pid == 0:
                try: tools.crm.search('x')
                except RuntimeError as error: print(error, flush=True)
                try: llm_query('x')
                except RuntimeError as error: print(error, flush=True)
                os._exit(0)
            os.waitpid(pid, 0)[1], tools.crm.search('y')['got']""", "(0, {'query': 'y'})")
        self.assertEqual(got.out.count("a forked process cannot call a tool"), 2)
        self.assertEqual(e.made(), [("crm.search", {"query": "y"})])

    def test_multiprocessing(self):
        e = self.engine(files={"m.py": "def f(x):\n    return tools.crm.search(x)\n"})
        got = e.step("""
            import multiprocessing, m
            m.tools = tools
            with multiprocessing.get_context("fork").Pool(1) as pool:
                pool.map(m.f, ["x"])""", wait=60)
        self.assertEqual(got.error["name"], "RuntimeError")
        self.assertIn("a forked process cannot call a tool", got.error["message"])
        self.assertEqual(e.made(), [])

    def test_counter_and_catalog_survive_a_checkpoint(self):
        with Guarded() as s:
            self.ok(s.run("tools.crm.search('a')"))
            before = s.calls[-1]["call"]
            self.ok(s.run("tools.crm.search('b')"))
            s.dies("import os; tools.crm.search('c'); os._exit(1)")
            s.rollback()
            self.value2(s, "tools.crm.search('d')['got']", "{'query': 'd'}")
            self.assertGreater(s.calls[-1]["call"], before)
            self.assertEqual([c["name"] for c in s.calls].count("retort.tools"), 1)

    def test_checkpoint_after_a_thread_has_called(self):
        with Guarded() as s:
            self.ok(s.run("""
                import os, threading
                tools.crm
                first = set(os.listdir('/proc/self/fd'))
                t = threading.Thread(target=lambda: tools.crm.search('a')); t.start(); t.join()"""))
            self.assertEqual((s.guard.get("reason"), s.guard.get("lost")), (None, 0))
            self.value2(s, "set(os.listdir('/proc/self/fd')) == first", "True")
            s.dies("os._exit(1)")
            s.rollback()
            self.value2(s, "tools.crm.search('d')['got']", "{'query': 'd'}")

    def value2(self, session, code, expected):
        self.assertEqual(self.ok(session.run(code)).text, expected)


class Guarded(test_guard.Session):
    """A session with checkpoints whose calls are answered by echo()."""

    def __init__(self, **rest):
        super().__init__(**rest)
        self.calls = []

    def frame(self, wait=30):
        while True:
            kind, message = super().frame(wait)
            if kind != test_driver.TOOL:
                return kind, message
            self.calls.append(message)
            value = CATALOG if message["name"] == "retort.tools" else echo(message["name"], message["arguments"])
            self.send(TOOL_RESULT, json.dumps({"call": message["call"], "value": value}).encode())


if __name__ == "__main__":
    test_driver.DRIVER_DIR = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
