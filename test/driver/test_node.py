# SPDX-License-Identifier: Apache-2.0
"""The JavaScript driver, spoken to directly: /usr/bin/python3 -I test_node.py DRIVER_DIR [unittest args]

DRIVER_DIR is any driver's directory in the build tree. RETORT_TEST_NODE names another node.
"""

import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

NODE = os.environ.get("RETORT_TEST_NODE") or shutil.which("node", path="/usr/bin:/usr/local/bin")
DRIVER = None
STEP, BYE, SETUP, NAMES, CHECKPOINT = 1, 5, 7, 8, 9
READY, BEGIN, GUARD, DISPLAY, TOOL, RESULT, DONE = 16, 17, 18, 19, 20, 21, 23


class Driver:
    def __init__(self, files=None, flags=()):
        self.home = tempfile.TemporaryDirectory()
        for name, text in (files or {}).items():
            with open(os.path.join(self.home.name, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.channel, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [NODE, *flags, DRIVER, str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd=self.home.name,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home.name, "LANG": "C.UTF-8"})
        theirs.close()
        self.output = {1: bytearray(), 2: bytearray()}
        self.threads = [threading.Thread(target=self.drain, args=(n, f), daemon=True)
                        for n, f in ((1, self.process.stdout), (2, self.process.stderr))]
        for thread in self.threads:
            thread.start()
        self.inbox, self.count, self.displays = b"", 0, []
        self.ready = self.receive()[1]

    def drain(self, number, file):
        for data in iter(lambda: file.read1(1 << 16), b""):
            self.output[number] += data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.home.cleanup()

    def send(self, kind, message=None):
        payload = json.dumps(message).encode() if message is not None else b""
        self.channel.sendall(struct.pack(">IB", len(payload) + 1, kind) + payload)

    def receive(self, wait=30):
        """(type, message) of the next frame, or None at the end of the channel."""
        end = time.monotonic() + wait
        while True:
            if len(self.inbox) >= 4:
                length = struct.unpack(">I", self.inbox[:4])[0]
                if len(self.inbox) >= length + 4:
                    frame, self.inbox = self.inbox[4:length + 4], self.inbox[length + 4:]
                    return frame[0], json.loads(frame[1:])
            if not select.select([self.channel], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("no frame; stderr: %r" % self.output[2][-2000:])
            data = self.channel.recv(1 << 20)
            if not data:
                return None
            self.inbox += data

    def start(self, code, mode="session", **rest):
        self.count += 1
        self.displays = []
        self.send(STEP, {"id": "s%d" % self.count, "code": code, "filename": "<step>", "argv": ["-c"],
                         "mode": mode, "value_bytes": 1 << 20, **rest})

    def finish(self, wait=30):
        while True:
            frame = self.receive(wait)
            if frame is None or frame[0] == RESULT:
                return frame and frame[1]
            if frame[0] == DISPLAY:
                self.displays.append(frame[1]["data"])
            elif frame[0] == TOOL:
                self.on_call(frame[1])

    def on_call(self, message):
        raise AssertionError("a call: %r" % message)

    def step(self, code, mode="session", **rest):
        self.start(code, mode, **rest)
        return self.finish()

    def text(self, code, **rest):
        result = self.step(code, **rest)
        assert result["status"] == "ok", result
        return result.get("value", {}).get("text/plain")


def once(code, **rest):
    """(result or None, exit status, stdout) of a script."""
    with Driver(files=rest.pop("files", None), flags=rest.pop("flags", ())) as driver:
        result = driver.step(code, "once", **rest)
        status = driver.process.wait(10)
        for thread in driver.threads:
            thread.join()
        return result, status, driver.output[1].decode()


class Case(unittest.TestCase):
    def session(self, **rest):
        driver = Driver(**rest)
        self.addCleanup(driver.__exit__)
        return driver


class Session(Case):
    def test_state_and_redeclaration(self):
        d = self.session()
        self.assertEqual(d.ready["implementation"], "node")
        self.assertEqual(d.text("const a = 1; let b = 2; class C {} ; function f() { return a + b }; f()"), "3")
        self.assertEqual(d.text("const a = 5; class C { x = 1 }; let b = 6; f()"), "11")
        self.assertEqual(d.text("_ + 1"), "12")

    def test_value(self):
        d = self.session()
        for code, text in (("if (1) 42", "42"), ("const q = await Promise.resolve(7); q", "7"), ("null", "null"),
                           ("undefined", None), ("new Promise((r) => setTimeout(r, 5, 3))", "3"), ("let z = 1", None),
                           ("'x'", "'x'"), ("({a: [1, {b: null}]})", "{ a: [ 1, { b: null } ] }"), ("", None)):
            with self.subTest(code=code):
                self.assertEqual(d.text(code), text)
        self.assertEqual(d.step("({a: [1, 'é'], b: undefined, c: -0})")["value"]["application/json"],
                         {"a": [1, "é"], "c": 0})
        for code in ("NaN", "({f() {}})", "let o = {}; o.o = o; o", "new Map", "10n", "Symbol()"):
            with self.subTest(code=code):
                self.assertNotIn("application/json", d.step(code)["value"])

    def test_timers_are_shown_without_what_differs(self):
        d = self.session()
        for code, text in (("setTimeout(() => 1, 1000)", "Timeout { _idleTimeout: 1000, _repeat: null }"),
                           ("[setInterval(() => 1, 1e5)]", "[ Timeout { _idleTimeout: 100000, _repeat: 100000 } ]"),
                           ("setImmediate(() => 1)", "Immediate {}")):
            with self.subTest(code=code):
                self.assertEqual(d.text(code), text)

    def test_imports(self):
        d = self.session(files={"m.mjs": "export const x = 1; export default 2;\nexport const a = 3;",
                                "c.cjs": "exports.y = 4;", "j.json": '{"k": 5}'})
        self.assertEqual(d.text("import two, {x, a as three} from './m.mjs'\nimport * as ns from './m.mjs';\n"
                                "import fs from 'fs'\n[two, x, three, ns.a, typeof fs.readFileSync]"),
                         "[ 2, 1, 3, 3, 'function' ]")
        self.assertEqual(d.text("require('./c.cjs').y + require('./j.json').k"), "9")
        self.assertEqual(d.text("(await import('./m.mjs')).x"), "1")
        self.assertEqual(d.text("/*import a*/ const s = `import x from '${'y'}'`, r = /import('z')/; "
                                "({import() { return 8 }}).import() // import q from 'q'"), "8")
        error = d.step("import {nothing} from './m.mjs'")["error"]
        self.assertEqual(error["name"], "SyntaxError")
        self.assertIn("nothing", error["message"])
        self.assertEqual(d.text("export const e = 6; export default e; e"), "6")

    def test_errors(self):
        d = self.session()
        result = d.step("function f() {\n  throw new TypeError('no')\n}\nf()")
        error = result["error"]
        self.assertEqual((error["name"], error["message"], error["line"], result["exit_code"]),
                         ("TypeError", "no", 2, 1))
        self.assertEqual(error["traceback"][1:3], ["  throw new TypeError('no')", "        ^"])
        self.assertFalse([line for line in error["traceback"] if "node:" in line or "driver.js" in line])
        error = d.step("let ok = 1;\n1 + ;")["error"]
        self.assertEqual((error["name"], error["line"]), ("SyntaxError", 2))
        self.assertEqual(error["traceback"][1:3], ["1 + ;", "    ^"])
        self.assertEqual(d.step("throw 42")["error"]["message"], "42")
        self.assertEqual(d.step("Promise.reject(new Error('u')); 1")["error"]["message"], "u")
        self.assertEqual(d.step("setTimeout(() => { throw new Error('late') }, 5);"
                                "await new Promise(() => {})")["error"]["message"], "late")
        self.assertIn("caused", "\n".join(d.step("throw new Error('a', {cause: new Error('caused')})")
                                          ["error"]["traceback"]))

    def test_stacks_show_the_program_alone(self):
        d = self.session()
        for code, want in (("new Error('x').stack", "Error: x\n    at <step>:1:1"),
                           ("util.inspect((() => { const own = new Error('x'); return own })())",
                            "Error: x\n    at <step>:1:35\n    at <step>:1:64"),
                           ("let o = {}; Error.captureStackTrace(o); o.stack", "Error\n    at <step>:1:19"),
                           ("await null; new Error('x').stack", "Error: x\n    at <step>:1:13"),
                           ("await new Promise((done) => setTimeout(() => done(new Error('x').stack), 1))",
                            "Error: x\n    at Timeout._onTimeout (<step>:1:51)"),
                           ("new Promise((done) => done(new Error('x').stack))",
                            "Error: x\n    at <step>:1:28\n    at new Promise (<anonymous>)\n    at <step>:1:1"),
                           ("try { Buffer.alloc('') } catch (e) { e.stack.replace(/\\n +at [^<]*node:.*/, '') }",
                            "TypeError [ERR_INVALID_ARG_TYPE]: The \"size\" argument must be of type number. "
                            "Received type string ('')\n    at <step>:1:14")):
            with self.subTest(code=code):
                value = d.step(code)["value"]["application/json"]
                self.assertEqual(re.sub(r"<step-\d+>", "<step>", value), want)
        d.step("console.trace('x')")
        self.assertEqual(d.text("const of = Error.prepareStackTrace; Error.prepareStackTrace = (e, frames) => frames; "
                                "const all = new Error('x').stack; Error.prepareStackTrace = of; Array.isArray(all)"), "true")
        d.__exit__()
        self.assertRegex(d.output[2].decode(), r"^Trace: x\n    at <step-\d+>:1:9\n$")

    def test_a_program_that_ends_too_early(self):
        d = self.session()
        for code, line, shown, column in (("let x = {", 1, "let x = {", 9), ("{\n  2\n\n", 2, "  2", 3),
                                          ("1;\n`abc", 2, "`abc", 4), ("await", 1, "await", 5)):
            with self.subTest(code=code):
                error = d.step(code)["error"]
                self.assertEqual((error["name"], error["line"]), ("SyntaxError", line))
                self.assertEqual(error["traceback"][1:3], [shown, " " * column + "^"])

    def test_errors_that_hold_others(self):
        d = self.session(files={"bad.js": "let ok;\nlet x = ;\n"})
        for code in ("require('./bad.js')", "await import('./bad.js')"):
            with self.subTest(code=code):
                lines = d.step(code)["error"]["traceback"]
                self.assertTrue(lines[0].endswith("/bad.js:2"), lines)
                self.assertEqual(lines[1:5], ["let x = ;", "        ^", "", "SyntaxError: Unexpected token ';'"])
        lines = d.step("await Promise.any([Promise.reject(new Error('one')), Promise.reject(2)])")["error"]["traceback"]
        self.assertIn("[error]: Error: one", lines)
        self.assertIn("[error]: 2", lines)
        self.assertEqual(d.step("const e = new AggregateError([]); e.errors = [e, {}, null]; throw e")["error"]["name"],
                         "AggregateError")

    def test_a_module_that_does_not_compile_is_shown(self):
        d = self.session(files={
            "bad.mjs": "export const a = 1;\nlet x = ;\n", "ok.mjs": "export default class {}\nexport const b = 2;",
            "outer.mjs": "import {b} from './ok.mjs';\nexport * from './middle.mjs';", "late.mjs": "await import('./bad.mjs')",
            "middle.mjs": "import './outer.mjs'; // in a circle\nexport {a} from \"./bad.mjs\"; export {b as c} from './ok.mjs'",
            "first.mjs": "import {x from './ok.mjs'", "strict.mjs": "let ok = 1;\n  with (ok) {}",
            "link.mjs": "\nexport {none} from './ok.mjs'"})
        for code, place, shown, caret in (
                ("await import('./bad.mjs')", "/bad.mjs:2", "let x = ;", 8),
                ("import {a} from './bad.mjs'", "/bad.mjs:2", "let x = ;", 8),
                ("import './outer.mjs'", "/bad.mjs:2", "let x = ;", 8),
                ("await import('./late.mjs')", "/bad.mjs:2", "let x = ;", 8),
                ("await import('./first.mjs')", "/first.mjs:1", "import {x from './ok.mjs'", 0),
                ("await import('./strict.mjs')", "/strict.mjs:2", "  with (ok) {}", 2),
                ("await import('./link.mjs')", "/link.mjs:2", "export {none} from './ok.mjs'", 8)):
            with self.subTest(code=code):
                lines = d.step("0;\n" + code)["error"]["traceback"]
                self.assertTrue(lines[0].endswith(place), lines)
                self.assertEqual(lines[1].rstrip(), shown)
                self.assertRegex(lines[2], "^ {%d}\\^+$" % caret)
                self.assertTrue(lines[4].startswith("SyntaxError: "), lines)
        self.assertEqual(d.step("await import('data:text/javascript,let x = ;')")["error"]["traceback"],
                         ["SyntaxError: Unexpected token ';'"])

    def test_a_step_has_one_name(self):
        for code in ("await import('./none.mjs')", "require('./none.js')"):
            for name in ("<stdin>", "<string>", "<x/y>"):
                with self.subTest(code=code, name=name):
                    error = self.session().step(code, filename=name)["error"]
                    self.assertIn("/" + ("<step>" if "/" in name else name), "\n".join(error["traceback"]))
                    self.assertNotIn("[step]", error["message"])

    def test_warnings_are_the_same_when_they_are_run_again(self):
        d = self.session()
        d.step("process.emitWarning('old', {type: 'DeprecationWarning', code: 'DEP1', detail: 'more'})")
        d.step("new Promise((done) => setTimeout(done, 10))")
        d.step("process.noDeprecation = true; process.emitWarning('no', 'DeprecationWarning')")
        d.step("process.removeAllListeners('warning'); process.emitWarning('gone')")
        d.step("1")
        d.__exit__()
        self.assertEqual(d.output[2].decode(), "(node) [DEP1] DeprecationWarning: old\nmore\n")

    def test_background_work_goes_on(self):
        d = self.session()
        d.step("globalThis.n = 0; setInterval(() => n++, 5)")
        time.sleep(0.3)
        self.assertGreater(int(d.text("n")), 5)

    def test_interrupts(self):
        d = self.session()
        d.step("let kept = 7")
        for code in ("console.log('go'); for (;;);", "console.log('go'); await 1; for (;;);",
                     "console.log('go'); await new Promise(() => {})",
                     "console.log('go'); const f = () => Promise.resolve().then(f); f()",
                     "console.log('go'); ({[require('util').inspect.custom]() { for (;;); }})"):
            with self.subTest(code=code):
                d.output[1].clear()
                d.start(code)
                while b"go" not in d.output[1]:
                    time.sleep(0.01)
                time.sleep(0.1)
                d.process.send_signal(signal.SIGINT)
                result = d.finish(10)
                self.assertEqual((result["error"]["name"], result["exit_code"]), ("Interrupted", 130))
                self.assertEqual(d.text("kept"), "7")

    def test_interrupt_in_the_driver(self):
        """One that ends node's own onInit leaves a hook that node calls from the next one on."""
        files = {"late.js": """const hooks = require('v8').promiseHooks, { onInit } = hooks;
            let late = null;
            hooks.onInit = (hook) => {
              if (late === null) {
                late = hook;
                console.log('go');
                for (;;);
              }
              if (late !== undefined) onInit(late);
              late = undefined;
              return onInit(hook);
            };"""}
        with Driver(files=files, flags=("--require", "./late.js")) as d:
            d.start("1")
            while b"go" not in d.output[1]:
                time.sleep(0.01)
            d.process.send_signal(signal.SIGINT)
            self.assertEqual(d.finish(10)["error"]["name"], "Interrupted")
            for _ in range(3):
                self.assertEqual(d.text("await 1; await 2"), "2")

    def test_signals_to_itself(self):
        d = self.session()
        for name in ("SIGWINCH", "SIGCHLD", "SIGCONT", 28):
            self.assertEqual(d.text("process.kill(process.pid, %s)" % json.dumps(name)), "true")
        self.assertEqual(d.text("process.once('SIGUSR2', () => { globalThis.heard = 7 });"
                                "process.kill(process.pid, 'SIGUSR2'); await new Promise((r) => setTimeout(r, 50)); heard"), "7")
        self.assertEqual(d.step("process.kill(process.pid, 'SIGINT'); for (;;);")["error"]["name"], "Interrupted")
        self.assertEqual(d.text("process.kill(process.pid, 0)"), "true")
        for wrong in ("'SIGNONE'", "99", "{}"):
            self.assertEqual(d.step("process.kill(process.pid, %s)" % wrong)["status"], "error", wrong)
        self.assertIsNone(d.step("process.kill(process.pid)"))
        self.assertEqual(d.process.wait(10), -signal.SIGTERM)

    def test_exit_ends_the_process(self):
        d = self.session()
        self.assertIsNone(d.step("process.stdout.write('x'.repeat(1 << 20)); process.exit(3)"))
        self.assertEqual(d.process.wait(10), 3)
        d.threads[0].join()
        self.assertEqual(len(d.output[1]), 1 << 20)

    def test_other_frames(self):
        d = self.session()
        d.send(SETUP, {"id": "u", "preload": ["fs"], "session": "s-1", "seed": 4, "state": "x"})
        self.assertEqual(d.receive(), (DONE, {"id": "u"}))
        d.send(CHECKPOINT, {"id": "u"})
        self.assertEqual(d.receive(), (GUARD, {"id": "u", "reason": "runtime"}))
        first = d.text("Math.random()")
        self.assertEqual(d.text("process.env.RETORT_SESSION"), "'s-1'")
        d.send(SETUP, {"id": "v", "seed": 4, "preload": ["no-such-module"]})
        self.assertEqual(d.receive()[1]["error"]["name"], "Error")
        d.send(SETUP, {"id": "w", "seed": 4})
        d.receive()
        self.assertEqual(d.text("Math.random()"), first)
        d.step("const apple = {core: 1}")
        for text, names in (("1 + app", ["apple"]), ("apple.co", ["constructor", "core"]), ("x(.", [])):
            d.send(NAMES, {"id": "n", "text": text})
            self.assertEqual(d.receive(), (DONE, {"id": "n", "names": names}))
        result = d.step("1", checkpoint=True)
        d.send(CHECKPOINT, {"id": result["id"]})
        self.assertEqual(d.receive(), (GUARD, {"id": result["id"], "reason": "runtime"}))
        d.send(BYE)
        self.assertEqual(d.process.wait(10), 0)

    def test_displays(self):
        d = self.session()
        d.step("retort.display({toHTML() { return '<b>' }}); retort.display(1)")
        self.assertEqual(d.displays[0]["text/html"], "<b>")
        self.assertEqual(d.displays[1]["application/json"], 1)
        value = d.step("({[Symbol.for('Jupyter.display')]: async () => ({'image/png': new Uint8Array([1, 2])})})")
        self.assertEqual(value["value"]["image/png"], "AQI=")

    def test_final_answer(self):
        mark = "application/vnd.retort.answer+json"
        d = self.session()
        d.step("final_answer('a\\'b'); retort.final_answer([1, 2.5])")
        self.assertEqual(d.displays, [
            {"text/plain": "a'b", "application/json": "a'b", mark: {"type": "string"}},
            {"text/plain": "[ 1, 2.5 ]", "application/json": [1, 2.5], mark: {"type": "object"}}])

    def test_typescript(self):
        d = self.session()
        result = d.step("const n: number = 6; n", filename="x.ts")
        if tuple(map(int, d.ready["version"].split(".")[:2])) >= (22, 13):
            self.assertEqual(result["value"]["text/plain"], "6")
        else:
            self.assertIn("cannot strip types", result["error"]["message"])

    def test_typescript_that_nobody_has_called_so(self):
        d = self.session()
        can_strip = tuple(map(int, d.ready["version"].split(".")[:2])) >= (22, 13)
        for code, value in (("const n: number = 6;\nn", "6"), ("let a = 1\n let s: string[] = ['q']; s[0]", "'q'"),
                            ("function f(a: number, b?: string): void {}; 1", "1"), ("function g<T>(x) { return x }; 2", "2"),
                            ("function h(a): number { return a }; h(3)", "3"), ("interface A { a: string }; 4", "4"),
                            ("type B = string | number; 5", "5"), ("const p = (a: number) => a; p(6)", "6"),
                            ("enum E { X = 7 }; E.X", "7"), ("export const o: any = 8; o", "8")):
            with self.subTest(code=code):
                result = d.step(code)
                if can_strip:
                    self.assertEqual(result.get("value", {}).get("text/plain"), value, result)
                else:
                    self.assertRegex(result["error"]["message"], r"\(TypeScript needs node 22.13 or newer, this is [\d.]+\)$")
        for code in ("const n: = 6", "const n: 6"):
            self.assertEqual(d.step(code)["error"]["name"], "SyntaxError", code)
        for code in ("let x = ;", "{a: 1, b: 2}", "5!", "f(a: 1)", "let type = ;", "let o = {a: 1 b: 2}", "x ? 1 :"):
            with self.subTest(code=code):
                self.assertNotIn("TypeScript", d.step(code)["error"]["message"])


class Script(Case):
    def test_runs_to_its_end(self):
        result, status, out = once("setTimeout(() => console.log(2), 20); console.log(1);"
                                   "process.on('exit', (c) => console.log('exit', c)); 6 * 7")
        self.assertEqual((result["value"]["text/plain"], status, out), ("42", 0, "1\n2\nexit 0\n"))

    def test_exit_codes_are_nodes(self):
        for code, want in (("process.exit(3)", 3), ("process.exitCode = 4", 4), ("throw new Error('x')", 1),
                           ("Promise.reject(1)", 1), ("setTimeout(() => process.exit(5), 5)", 5), ("1", 0),
                           ("process.on('exit', () => { process.exitCode = 6 })", 6),
                           ("process.on('uncaughtException', () => {}); setTimeout(() => {throw 1})", 0),
                           ("process.on('unhandledRejection', () => {}); Promise.reject(1)", 0)):
            with self.subTest(code=code):
                bare = subprocess.run([NODE, "-e", code], stderr=subprocess.DEVNULL).returncode
                result, status, _ = once(code)
                self.assertEqual((bare, result["exit_code"], status), (want, want, want))
        self.assertEqual(once("await new Promise(() => {})")[0]["exit_code"], 13)

    def test_program_file(self):
        code = "console.log(require.main === module, __filename.endsWith('/x.js'), process.argv.slice(2))"
        result, _, out = once(code + "; if (0) return; undefined", filename="/a/x.js", argv=["/a/x.js", "q"])
        self.assertEqual((result["status"], out), ("ok", "true true [ 'q' ]\n"))


class Hostile(Case):
    def test_overridden(self):
        for code in ("JSON.stringify = JSON.parse = () => { throw 1 }", "Buffer = undefined", "Buffer.from = () => 0",
                     "process.stdout.write = process.stderr.write = () => { throw 1 }",
                     "for (const k of ['push', 'join', 'slice', 'map', 'indexOf', 'forEach', 'includes', 'concat'])"
                     "Array.prototype[k] = () => { throw 1 }",
                     "String.prototype.slice = String.prototype.split = RegExp.prototype.exec = () => 1",
                     "Object.prototype.toJSON = () => 'x'; Object.prototype.value = 3",
                     "Promise.prototype.then = () => 1", "process.removeAllListeners(); 1",
                     "for (const k of ['setTimeout', 'setImmediate', 'Promise', 'process', 'console', 'Error'])"
                     "delete globalThis[k]"):
            with self.subTest(code=code), Driver() as d:
                d.step(code)
                self.assertEqual(d.step("40 + 2")["value"]["application/json"], 42)
                self.assertEqual(d.step("null.x")["error"]["name"], "TypeError")

    def test_values(self):
        d = self.session()
        for code in ("({get x() { throw 1 }})", "new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})",
                     "let n = []; for (let i = 0; i < 100; i++) n = [n]; n", "'x'.repeat(50 << 20)",
                     "({[require('util').inspect.custom]() { throw 1 }})", "'\\ud800'", "new Array(1e9)",
                     "Object.defineProperty(new Error('x'), 'stack', {get() { throw 1 }})", "process", "globalThis",
                     "Array.from({length: 1e6}, (_, i) => i)", "Object.create({toHTML() { throw 1 }})"):
            with self.subTest(code=code):
                result = d.step(code)
                self.assertEqual(result["status"], "ok")
                self.assertLess(len(json.dumps(result)), 9 << 20)
        error = d.step("const e = new Error('x'); Object.defineProperty(e, 'stack', {get() { throw 1 }});"
                       "Object.defineProperty(e, 'message', {get() { throw 1 }}); throw e")["error"]
        self.assertEqual(error["name"], "Error")

    def test_flood(self):
        d = self.session()
        d.step("for (let i = 0; i < 100; i++) process.stdout.write('x'.repeat(1 << 20)); 1")
        d.__exit__()
        self.assertEqual(len(d.output[1]), 100 << 20)

    def test_closed_channel(self):
        d = self.session()
        fd = d.text("process.argv.length, require('fs').readdirSync('/proc/self/fd').length")
        self.assertGreater(int(fd), 3)
        d.start("for (let i = 3; i < 64; i++) try { if (fs.readlinkSync('/proc/self/fd/' + i)"
                ".startsWith('socket:')) fs.closeSync(i) } catch {}")
        self.assertIsNone(d.finish(10))
        d.process.wait(10)

    def test_channel_is_not_inherited(self):
        d = self.session()
        self.assertEqual(d.text("String(require('child_process').execSync('ls /proc/self/fd')).split('\\n').length"), "5")


if __name__ == "__main__":
    DRIVER = os.path.join(os.path.dirname(os.path.abspath(sys.argv.pop(1))), "node", "driver.js")
    if not NODE:
        print("1..0 # SKIP no node here\n0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    unittest.main()
