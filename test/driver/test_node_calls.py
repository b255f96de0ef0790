# SPDX-License-Identifier: Apache-2.0
"""Calls of the JavaScript driver: /usr/bin/python3 -I test_node_calls.py DRIVER_DIR [unittest args]

The test plays the engine, and the tools behind it.
"""

import json
import os
import signal
import socket
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_node  # noqa: E402
from test_calls import CATALOG, PNG, TOOL_RESULT, echo, error, tool  # noqa: E402


class Engine(test_node.Driver):
    """Answers calls by a function of (name, arguments): a value, an error(), or None: later."""

    def __init__(self, answer=echo, **rest):
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
        payload = answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
        self.channel.sendall((len(payload) + 1).to_bytes(4, "big") + bytes([TOOL_RESULT]) + payload)

    def value(self, call, value):
        self.reply({"call": call["call"], "value": value})

    def made(self):
        return [(call["name"], call["arguments"]) for call in self.calls if call["name"] != "retort.tools"]


class Case(unittest.TestCase):
    def engine(self, answer=echo, **rest):
        made = Engine(answer, **rest)
        self.addCleanup(made.__exit__)
        return made

    def fails(self, result, name):
        self.assertEqual(result["status"], "error", result)
        self.assertEqual(result["error"]["name"], name, result)
        for line in result["error"]["traceback"]:
            self.assertNotIn("drivers/node", line)
        return result["error"]

    def refuses(self, engine, code, *words, name="ToolArgumentError"):
        before = len(engine.made())
        found = self.fails(engine.step(code), name)
        self.assertEqual(engine.made()[before:], [])
        for word in words:
            self.assertIn(word, found["message"])


class Calls(Case):
    def test_frame(self):
        e = self.engine(lambda name, arguments: [1, None, True, 1.5, "é\U0001f600", {"a": []}])
        self.assertEqual(e.step("await retort.tools.crm.search({query: 'x'})")["value"]["application/json"],
                         [1, None, True, 1.5, "é\U0001f600", {"a": []}])
        self.assertEqual([(c["id"], c["name"]) for c in e.calls], [("s1", "retort.tools"), ("s1", "crm.search")])
        e.text("await tools.crm.search({query: 'y'}); 1")
        self.assertEqual((len(e.calls), e.calls[-1]["id"]), (3, "s2"))

    def test_in_a_script(self):
        for code in ("console.log((await tools.crm.search({query: 'x'})).got)",
                     "tools.crm.search({query: 'x'}).then((v) => console.log(v.got))",
                     "setTimeout(async () => console.log((await tools.crm.search({query: 'x'})).got), 30)"):
            with self.subTest(code):
                e = self.engine()
                self.assertEqual(e.step(code, "once")["status"], "ok")
                self.assertEqual(e.process.wait(10), 0)
                for thread in e.threads:
                    thread.join()
                self.assertEqual(e.output[1], b"{ query: 'x' }\n")

    def test_arguments(self):
        e = self.engine()
        want = ("crm.search", {"query": "x", "limit": 3})
        for code in ("tools.crm.search({query: 'x', limit: 3})", "tools.crm.search('x', 3)", "tools['crm']['search']({limit: 3, query: 'x'})",
                     "const {crm} = retort.tools; crm.search({query: 'x', limit: 3, after: undefined})"):
            with self.subTest(code):
                self.assertEqual(e.step("await (async () => { return %s })()" % code if ";" not in code else code)["status"], "ok")
                self.assertEqual(e.made()[-1], want)
        e.step("await tools.crm.free()")
        self.assertEqual(e.made()[-1], ("crm.free", {}))
        self.refuses(e, "await tools.crm.search({query: new Date()})", "crm.search", "arguments.query", "not JSON")
        self.refuses(e, "await tools.crm.search({query: NaN})", "arguments.query")
        self.refuses(e, "let o = {}; o.o = o; await tools.crm.search(o)", "arguments.o")
        self.refuses(e, "await tools.crm.search(1, 2, 3, 4)", "give one object")
        self.refuses(e, "await tools.crm.search({query: 'é'.repeat(2 << 20)})", "4194304", name="ToolLimit")

    def test_errors(self):
        e = self.engine(lambda name, arguments: error(arguments["query"], "it is so", hint="do this"))
        for kind in ("ToolError", "ToolDenied", "ToolArgumentError", "ToolLost", "ToolLimit"):
            with self.subTest(kind):
                found = self.fails(e.step("let n = 1\nawait tools.crm.search({query: '%s'})" % kind), kind)
                self.assertEqual((found["message"], found["line"]), ("it is so: do this", 2))
                self.assertEqual(e.text("""
                    let e; try { await tools.crm.search({query: '%s'}) } catch (error) { e = error }
                    [e instanceof retort.RetortError, e instanceof retort.ToolError, e instanceof retort.%s, e.tool, e.name, e.hint].join()
                    """ % (kind, kind)), "'true,true,true,crm.search,%s,do this'" % kind)
        found = self.fails(e.step("await tools.crm.search({query: 'ToolNew'})"), "ToolNew")

    def test_what_is_no_answer(self):
        e = self.engine()
        for one in ({}, {"error": "x"}, {"error": {}}, {"error": None}, {"error": {"message": 5}}):
            with self.subTest(one):
                e.answer = lambda name, arguments: e.reply({"call": e.calls[-1]["call"], **one})
                self.fails(e.step("await tools.crm.search()"), "ToolLost")
        for body in (b'"value":' + b"[" * 100_000, b'"value":', b"5"):
            e.answer = lambda name, arguments: e.reply(b'{"call":%d,' % e.calls[-1]["call"] + body + b"}")
            self.fails(e.step("await tools.crm.search()"), "ToolLost")
        e.answer = echo
        self.assertEqual(e.text("(await tools.crm.search()).name"), "'crm.search'")

    def test_answers_to_nobody(self):
        e = self.engine()

        def answer(name, arguments):
            n = e.calls[-1]["call"]
            for number in (True, str(n), None, [n], 0, -n, n + 1, n - 1, 1 << 70):
                e.reply({"call": number, "value": "wrong"})
            for raw in (b"", b"[]", b"1", b"null", b'{"value":"wrong"}', b"\xff\xfe", b"not", b'{"call":99'):
                e.reply(raw)
            e.send(200, {})
            e.reply({"call": n, "value": "right"})
            e.reply({"call": n, "value": "too late"})

        e.answer = answer
        for _ in range(3):
            self.assertEqual(e.text("await tools.crm.search()"), "'right'")
        self.assertEqual(e.text("1 + 1"), "2")

    def test_large_and_deep_values(self):
        deep = json.loads("[" * 900 + "]" * 900)
        e = self.engine(lambda name, arguments: deep if arguments["query"] == "deep" else "x" * (20 << 20))
        self.assertEqual(e.text("(await tools.crm.search({query: 'large'})).length"), str(20 << 20))
        self.assertEqual(e.text("let v = await tools.crm.search({query: 'deep'}), n = 0; while (v) { v = v[0]; n++ }; n"), "900")

    def test_in_pieces(self):
        e = self.engine(lambda name, arguments: None)
        e.start("await tools.crm.search()")
        while not e.made():
            frame = e.receive()
            if frame[0] == test_node.TOOL:
                e.on_call(frame[1])
        payload = json.dumps({"call": e.calls[-1]["call"], "value": "é" * 50}).encode()
        for byte in (len(payload) + 1).to_bytes(4, "big") + bytes([TOOL_RESULT]) + payload:
            e.channel.sendall(bytes([byte]))
        self.assertEqual(e.finish()["value"]["application/json"], "é" * 50)

    def test_outside_of_a_step(self):
        e = self.engine()
        e.step("setTimeout(() => tools.crm.search().catch((error) => { globalThis.seen = error.message }), 30); 1")
        for _ in range(100):
            if e.text("typeof seen") == "'string'":
                break
            e.step("await new Promise((r) => setTimeout(r, 10))")
        # It may have fallen into a step.
        self.assertEqual(e.step("1 + 1")["status"], "ok")

    def test_left_over(self):
        e = self.engine(lambda name, arguments: None)
        self.assertEqual(e.step("let seen; const p = tools.crm.search(); p.catch((error) => { seen = error.name }); await new Promise((r) => setTimeout(r, 100)); 1")["status"], "ok")
        e.value(e.calls[-1], "too late")
        self.assertEqual(e.text("seen"), "'ToolLost'")
        self.assertEqual(e.step("tools.crm.search(); tools.crm.search(); await new Promise((r) => setTimeout(r, 100))")["status"], "ok")
        e.answer = echo
        self.assertEqual(e.text("(await tools.crm.search()).name"), "'crm.search'")
        self.assertIn(b"retort: crm.search and 1 more: no answer when the step ended: await", e.output[2])

    def test_interrupt(self):
        e = self.engine(lambda name, arguments: threading.Timer(0.05, e.process.send_signal, (signal.SIGINT,)).start())
        self.assertEqual(e.step("await tools.crm.search()")["exit_code"], 130)
        e.value(e.calls[-1], "too late")
        e.answer = echo
        self.assertEqual(e.text("(await tools.crm.search()).name"), "'crm.search'")

    def test_engine_gone(self):
        e = self.engine(lambda name, arguments: e.channel.shutdown(socket.SHUT_RDWR))
        e.start("await tools.crm.search()")
        self.assertIsNone(e.finish())
        self.assertEqual(e.process.wait(10), 0)

    def test_language_broken_by_the_user(self):
        e = self.engine()
        for code in ("Map.prototype.get = Map.prototype.set = () => { throw 1 }", "JSON.parse = JSON.stringify = () => 'x'",
                     "Array.prototype.push = Array.prototype.sort = () => 0", "Promise.prototype.then = () => { throw 2 }",
                     "String.prototype.slice = String.prototype.indexOf = () => 'x'", "RegExp.prototype.exec = () => null",
                     "Object.prototype.toJSON = () => 5", "Error.prepareStackTrace = () => { throw 3 }",
                     "Object.prototype.type = 'image'; Object.prototype.mimeType = 'image/png'; Object.prototype.data = ''"):
            with self.subTest(code):
                e = self.engine()
                e.step(code + "; 1")
                self.assertEqual(e.text("(await tools.crm.search({query: 'x'})).name"), "'crm.search'")


class Catalog(Case):
    def test_names(self):
        e = self.engine()
        for code, name in (("tools.my_files.list()", "my-files.list"), ("tools['my-files'].list()", "my-files.list"),
                           ("tools.crm.readFile({path: 'x'})", "crm.readFile"), ("tools.crm.read_file({path: 'x'})", "crm.readFile"),
                           ("tools.crm['read-file']({path: 'x'})", "crm.read-file"), ("tools.describe_('x')", None),
                           ("tools['search_'].web('x')", None), ("tools.crm.__getattr__()", "crm.__getattr__"),
                           ("tools.crm.mro()", "crm.mro")):
            with self.subTest(code):
                result = e.step("await " + code)
                if name:
                    self.assertEqual(result["status"], "ok", result)
                    self.assertEqual(e.calls[-1]["name"], name)
        self.assertEqual(e.text("Object.keys(tools).join()"), "'crm,describe,my_files,search'")
        self.assertEqual(e.text("['crm' in tools, 'x' in tools, 'search' in tools.crm, Symbol.iterator in tools].join()"), "'true,false,true,false'")
        self.assertEqual(e.text("tools"), "[tools: crm, describe, my_files, search]")
        self.assertEqual(e.text("`${tools}`"), "'[tools: crm, describe, my_files, search]'")
        self.assertIn("Find customers.", e.text("tools.crm.search"))
        self.assertEqual(e.text("tools.crm === tools.crm && tools.crm.search === tools.crm.search"), "true")
        self.assertEqual(e.text("tools.crm = 5; typeof tools.crm"), "'object'")

    def test_what_is_missing_is_asked_for_again(self):
        e = self.engine()
        self.refuses(e, "await tools.crn.x()", "tools has no server crn: there are crm, describe, my_files, search")
        self.refuses(e, "await tools.crm.find()", "tools.crm has no tool find: there are ")
        e.catalog = {"servers": [{"name": "new", "js_id": "new", "tools": [tool("new.it")]}]}
        self.assertEqual(e.text("(await tools.new.it()).name"), "'new.it'")

    def test_broken_catalogs(self):
        for catalog in (None, 5, [], {}, {"servers": 5}, {"servers": [5, {}, {"name": 3}, {"name": "__proto__", "tools": [5, {}, {"tool": "x"}]}]}):
            with self.subTest(catalog):
                e = self.engine()
                e.catalog = catalog
                self.fails(e.step("await tools.zzz.x()"), "ToolArgumentError")
                self.fails(e.step("await tools.__proto__.constructor()"), "ToolArgumentError")

    def test_denied_catalog_is_asked_for_again(self):
        e = self.engine()
        e.catalog = None
        real, e.value = e.value, lambda call, value: e.reply({"call": call["call"], **error("ToolDenied", "no tools")})
        self.fails(e.step("await tools.crm.search()"), "ToolDenied")
        e.value, e.catalog = real, CATALOG
        self.assertEqual(e.text("(await tools.crm.search()).name"), "'crm.search'")

    def test_search_and_describe(self):
        rows = [{"name": "crm.search", "js_signature": "tools.crm.search(args: {}): Promise<unknown>", "doc": "Find customers.\nMore."},
                {"name": "crm.put", "doc": ""}]
        e = self.engine(lambda name, arguments: {"tools": rows} if name == "retort.search" else
                        {"name": "crm.search", "js_signature": "S", "doc": "D", "input_schema": {"type": "object"}})
        self.assertEqual(e.text("await tools.search('find customers')"),
                         "tools.crm.search(args: {}): Promise<unknown>  Find customers.\ncrm.put")
        self.assertEqual(e.text("(await tools.search('find', 2)).map((t) => t.name).join()"), "'crm.search,crm.put'")
        self.assertEqual(e.text("await tools.describe(tools.crm.search)"), 'S\n\nD\n\n{\n "input_schema": {\n  "type": "object"\n }\n}')
        self.assertEqual(e.made(), [("retort.search", {"query": "find customers"}), ("retort.search", {"query": "find", "limit": 2}),
                                    ("retort.describe", {"name": "crm.search"})])


class Values(Case):
    def test_images(self):
        image = {"type": "image", "mimeType": "image/png", "data": PNG}
        e = self.engine(lambda name, arguments: [image, {"a": image}] if arguments else image)
        shown = e.step("const i = await tools.crm.search(); i")["value"]
        self.assertEqual((shown["text/plain"], shown["image/png"]), ("<Image image/png, 28 bytes>", PNG))
        self.assertEqual(e.text("[i.mime, i.data instanceof Uint8Array, i.save('a.png'), fs.readFileSync('a.png').equals(i.data), i instanceof retort.Image].join()"),
                         "'image/png,true,a.png,true,true'")
        e.step("retort.display(i)")
        self.assertEqual(e.displays[0]["image/png"], PNG)
        self.assertEqual(e.text("await tools.crm.search({query: 1})"), "[ <Image image/png, 28 bytes>, { a: <Image image/png, 28 bytes> } ]")

    def test_content(self):
        e = self.engine(lambda name, arguments: {"text": "here", "images": [{"mime_type": "image/png", "data": PNG}], "links": []})
        self.assertEqual(e.step("const c = await tools.crm.search(); c")["value"]["image/png"], PNG)
        self.assertEqual(e.text("[c.text, c.images[0].mime, c.links.length].join()"), "'here,image/png,0'")

    def test_what_is_no_image(self):
        for odd in ({"type": "image", "mimeType": "text/html", "data": PNG}, {"type": "image", "data": PNG},
                    {"type": "image", "mimeType": "image/png", "data": "?"}, {"type": "image", "mimeType": 5, "data": PNG}, {"type": ["image"]}):
            with self.subTest(odd):
                e = self.engine(lambda name, arguments: odd)
                self.assertEqual(e.step("await tools.crm.search()")["value"]["application/json"], odd)

    def test_proto_is_a_member_like_any(self):
        e = self.engine(lambda name, arguments: {"__proto__": {"polluted": 1}, "a": {"type": "image", "mimeType": "image/png", "data": ""}})
        self.assertEqual(e.text("const v = await tools.crm.search(); [({}).polluted, Object.keys(v).join()].join()"), "',__proto__,a'")


class Model(Case):
    def test_query(self):
        e = self.engine(lambda name, arguments: arguments["prompt"].upper())
        self.assertEqual(e.text("[await llm_query('who'), await retort.llm_query('what', {context: 'ctx', schema: {type: 'string'}})].join()"), "'WHO,WHAT'")
        self.assertEqual(e.calls[0]["arguments"], {"prompt": "who"})
        self.assertEqual(e.calls[1]["arguments"], {"prompt": "what", "context": "ctx", "schema": {"type": "string"}})
        self.refuses(e, "await llm_query(5)")
        self.refuses(e, "await llm_query_batched('text')")
        self.assertEqual(e.text("await llm_query_batched([])"), "[]")

    def test_large_batch(self):
        held = []

        def answer(name, arguments):
            held.append(e.calls[-1])
            self.most = max(self.most, len(held))
            if len(held) == 64 or len(e.calls) == 200:
                while held:
                    call = held.pop()
                    e.value(call, call["arguments"]["prompt"] + "!")

        self.most = 0
        e = self.engine(answer)
        self.assertEqual(e.text("""
            const all = Array.from({length: 200}, (_, i) => String(i));
            (await llm_query_batched(all)).join() === all.map((x) => x + '!').join()"""), "true")
        self.assertEqual(self.most, 64)

    def test_failures_in_a_batch(self):
        e = self.engine(lambda name, arguments: error("ToolLimit", "no more") if arguments["prompt"] == "b" else "ok")
        self.assertEqual(e.text("(await llm_query_batched(['a', 'b', 'c'], {return_exceptions: true})).map((x) => x.name || x).join()"), "'ok,ToolLimit,ok'")
        self.assertEqual(e.text("let f; try { await llm_query_batched(['a', 'b', 'c']) } catch (error) { f = error }\nf.name + f.results.length + f.results[2]"),
                         "'ToolLimit3ok'")


class Start(Case):
    def test_nothing_is_loaded_before_it_is_used(self):
        e = self.engine()
        self.assertEqual(e.text("Object.keys(retort).includes('tools') && fs.readFileSync('/proc/self/maps', 'utf8').length > 0"), "true")
        self.assertEqual(e.calls, [])
        self.assertEqual(e.step("const tools = 5; let llm_query = 6; tools + llm_query")["value"]["text/plain"], "11")
        self.assertEqual(e.text("(await retort.tools.crm.search()).name"), "'crm.search'")


if __name__ == "__main__":
    if not test_node.NODE:
        print("1..0 # SKIP no node here\n0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    test_node.DRIVER = os.path.join(os.path.dirname(os.path.abspath(sys.argv.pop(1))), "node", "driver.js")
    unittest.main(verbosity=2)
