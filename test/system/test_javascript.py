# SPDX-License-Identifier: Apache-2.0
"""JavaScript runs in a box as it does with node: output, exit codes, values, limits, seeds."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"
HAS_NODE = shutil.which("node", path="/usr/bin:/usr/local/bin") is not None


@harness.unittest.skipUnless(HAS_NODE, "no node on this host")
class JavaScript(harness.Case):
    def js(self, code, *options, **kwargs):
        return harness.record(code, "-r", "javascript", *options, **kwargs)

    def test_output_and_value(self):
        out = self.js("console.log('a'); console.error('b'); await 1; ({x: [1, 2]})")
        self.assertEqual((out["status"], out["stdout"], out["stderr"]), ("ok", "a\n", "b\n"))
        self.assertEqual(out["value"]["application/json"], {"x": [1, 2]})
        self.assertEqual(out["runtime"], "javascript")

    def test_exit_codes(self):
        for code, status in (("process.exit(3)", 3), ("throw new Error('x')", 1), ("process.exitCode = 4", 4)):
            with self.subTest(code=code):
                self.assertEqual(harness.run(code, "-r", "javascript").status, status)

    def test_error_has_a_line(self):
        error = self.js("\nnull.x")["error"]
        self.assertEqual((error["name"], error["line"]), ("TypeError", 2))

    def test_file_by_its_ending(self):
        path = os.path.join(harness.make_dir(), "x.mjs")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import {sep} from 'node:path';\nimport fs from 'fs';\n"
                       "fs.writeFileSync('made.txt', sep);\nconsole.log(process.argv.slice(2), import.meta.url);\n")
        done = harness.retort("run", path, "a")
        self.assertEqual((done.status, done.out), (0, "[ 'a' ] file:///home/user/x.mjs\n"), done)

    def file(self, name, text, *options, args=()):
        """The done run of a program in a file."""
        path = os.path.join(harness.make_dir(), name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return harness.retort("run", *options, path, *args)

    def test_a_file_runs_as_with_node(self):
        """Names at the top of CommonJS are its own, and there is no value; a module is strict."""
        done = self.file("x.js", "var own = 1; const {createServer} = require('http');\n"
                         "console.log(globalThis.own, require.main === module, this === module.exports, __filename);\n"
                         "const s = createServer(); s.listen(0); setTimeout(() => s.close(), 10)")
        self.assertEqual((done.status, done.out, done.err), (0, "undefined true true /home/user/x.js\n", ""))
        done = self.file("x.mjs", "try { undeclared = 1 } catch (e) { console.log(e.message) }\n"
                         "console.log(typeof require, this, import.meta.url); await 1; [1]")
        self.assertEqual((done.status, done.out), (0, "undeclared is not defined\n"
                                                   "undefined undefined file:///home/user/x.mjs\n"))

    def test_a_file_that_waits_beside_a_require(self):
        done = self.file("x.js", "#!/usr/bin/env node\nconst fs = require('fs');\n"
                         "console.log(typeof fs, await Promise.resolve(2))")
        self.assertEqual((done.status, done.out), (0, "object 2\n"), done)

    def test_a_file_reads_itself_again(self):
        done = self.file("x y.js", "const {Worker, isMainThread} = require('worker_threads');\n"
                         "if (!isMainThread) console.log('thread'); else if (process.argv[2]) process.send(1)\n"
                         "else new Worker(__filename).on('exit', () => require('child_process').fork(__filename, ['c'])\n"
                         "  .on('message', (m) => { console.log('child', m); process.exit(5) }))")
        self.assertEqual((done.status, done.out, done.err), (5, "thread\nchild 1\n", ""))

    def test_errors_in_files(self):
        for name, code, shown in (("x.js", "\nlet x = ;", "/home/user/x.js:2\nlet x = ;\n        ^\n\nSyntaxError: "),
                                  ("x.cjs", "\nlet x = ;", "/home/user/x.cjs:2\nlet x = ;\n        ^\n\nSyntaxError: "),
                                  ("x.mjs", "\nlet x = ;", "/home/user/x.mjs:2\nlet x = ;\n        ^\n\nSyntaxError: "),
                                  ("x.mjs", "\nnull.x", "file:///home/user/x.mjs:2\nnull.x\n     ^\n\nTypeError: "),
                                  ("x.js", "\nthrow 5", "Uncaught 5\n")):
            with self.subTest(name=name, code=code):
                done = self.file(name, code)
                self.assertEqual((done.status, done.out, done.err[:len(shown)]), (1, "", shown))
        done = self.file("x.js", "process.on('uncaughtException', (e) => console.log('heard', e)); throw 5")
        self.assertEqual((done.status, done.out, done.err), (0, "heard 5\n", ""))
        self.assertEqual(self.file("x.mjs", "await new Promise(() => {})").status, 13)
        self.assertEqual(self.file("x.js", "for (;;);", "--timeout", "1s").status, 124)

    def test_interrupt_at_the_time_limit(self):
        out = self.js("for (;;);", "--timeout", "1s")
        self.assertEqual((out["status"], out["_status"]), ("timeout", 124))

    def test_memory_limit(self):
        out = self.js("const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))", "-m", "128m")
        self.assertEqual((out["status"], out["_status"]), ("oom", 137))

    def test_seed(self):
        first, again, other = (self.js("Math.random()", "--seed", n)["value"]["text/plain"] for n in "778")
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_threads_and_children(self):
        out = self.js("const {Worker} = require('worker_threads'); const cp = require('child_process');"
                      "await new Promise((r) => new Worker('require(\"fs\")', {eval: true}).on('exit', r));"
                      "String(cp.execSync('echo hi'))")
        self.assertEqual(out["value"]["application/json"], "hi\n", out)


class Missing(harness.Case):
    def test_no_node(self):
        done = harness.run("1", "-r", "javascript", "--python", "/nowhere/node")
        self.assertEqual(done.status, 127)
        self.assertRegex(done.err, "^retort: no Node at /nowhere/node: install[^\n]*\n$")


if __name__ == "__main__":
    harness.main()
