# SPDX-License-Identifier: Apache-2.0
"""JavaScript runs in a box as it does with node: output, exit codes, values, limits, seeds."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

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
