# SPDX-License-Identifier: Apache-2.0
"""program.run in every language that this host has: one that is missing is skipped, with its name."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

# A program that reads a line and prints it back, for each language that the table of toolchains has.
ECHO = {
    "python": "print(input())",
    "javascript": "process.stdin.on('data', d => process.stdout.write(d))",
    "shell": 'read -r line; echo "$line"',
    "c": '#include <stdio.h>\nint main(void) { char b[99]; if (fgets(b, 99, stdin)) fputs(b, stdout); return 0; }',
    "cpp": "#include <iostream>\nint main() { std::string s; std::getline(std::cin, s); std::cout << s << '\\n'; }",
    "rust": "fn main() { let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap(); print!(\"{}\", s); }",
    "go": 'package main\nimport ("bufio"; "fmt"; "os")\n'
          "func main() { s, _ := bufio.NewReader(os.Stdin).ReadString('\\n'); fmt.Print(s) }",
    "java": "public class Main { public static void main(String[] a) {\n"
            "System.out.println(new java.util.Scanner(System.in).nextLine()); } }",
    "typescript": "process.stdin.on('data', (d: Buffer) => process.stdout.write(d))",
    "fortran": "program p\ncharacter(len=99) :: s\nread (*, '(A)') s\nprint '(A)', trim(s)\nend program",
    "d": "import std.stdio; void main() { write(readln()); }",
    "kotlin": "fun main() { println(readLine()) }",
    "perl": "print scalar <STDIN>;",
    "ruby": "puts gets",
    "php": "<?php echo fgets(STDIN);",
    "lua": "print(io.read())",
    "r": 'cat(readLines(file("stdin"), n = 1), "\\n", sep = "")',
    "racket": "#lang racket/base\n(displayln (read-line))",
    "ocaml": "print_endline (read_line ());;",
    "tcl": "puts [gets stdin]",
    "pypy": "print(input())",
    "verilog": "module m; integer c; initial begin c = $fgetc('h8000_0000);\n"
               "while (c != 10) begin $write(\"%c\", c); c = $fgetc('h8000_0000); end\n"
               "$write(\"\\n\"); $finish; end endmodule",
}
OTHERWISE = {  # those that print something else than their program, or have no input
    "sql": "select 'the line'",
    "pytest": "def test_it():\n    assert 1 + 1 == 2",
    "go_test": 'package main\nimport "testing"\nfunc TestIt(t *testing.T) { if 1 + 1 != 2 { t.Fatal() } }',
}
LIMITS = {"memory_bytes": 2 << 30, "cpu_ms": 600000, "timeout_ms": 600000}


class LanguageCase(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server()
        cls.rows = {row["name"]: row for row in cls.server.rpc("program.languages")["languages"]}

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def run_program(self, language, code, **params):
        if not self.rows[language]["available"]:
            self.skipTest(f"this host has no {language}")
        c = self.server.connect(timeout=600)  # compilers take their time
        try:
            return self.server.rpc("program.run", connection=c, language=language, code=code,
                                   limits={**LIMITS, **params.pop("limits", {})}, **params)
        finally:
            c.close()

    def printed(self, language, code, **params):
        done = self.run_program(language, code, **params)
        self.assertEqual(done.get("compile", {"status": "ok"})["status"], "ok", done.get("compile"))
        self.assertEqual(("compile" in done), self.rows[language]["compiled"])
        self.assertEqual((done["run"]["status"], done["run"]["exit_code"]), ("ok", 0), done["run"])
        return done["run"]["stdout"]


class Each(LanguageCase):
    def test_each_language_is_tried(self):
        self.assertEqual(sorted(self.rows), sorted([*ECHO, *OTHERWISE]))

    def test_sql(self):
        done = self.run_program("sql", OTHERWISE["sql"])
        self.assertEqual(done["run"]["value"]["application/json"]["rows"], [["the line"]])

    def test_pytest(self):
        self.assertIn("1 passed", self.printed("pytest", OTHERWISE["pytest"]))
        done = self.run_program("pytest", OTHERWISE["pytest"].replace("2", "3"))
        self.assertEqual((done["run"]["status"], done["run"]["exit_code"]), ("error", 1))

    def test_go_test(self):
        self.assertIn("ok", self.printed("go_test", OTHERWISE["go_test"]))
        done = self.run_program("go_test", OTHERWISE["go_test"].replace("2", "3"))
        self.assertEqual((done["run"]["status"], done["run"]["exit_code"]), ("error", 1))


def add_test(language):
    def test(self):
        self.assertEqual(self.printed(language, ECHO[language], stdin="the line\n"), "the line\n")

    setattr(Each, f"test_echo_{language}", test)


for one in ECHO:
    add_test(one)


@harness.as_user
class Compiled(LanguageCase):
    def test_arguments_and_exit_codes(self):
        code = ("#include <stdio.h>\nint main(int n, char **a) {\n"
                "for (int i = 1; i < n; i++) printf(\"<%s>\", a[i]); return n; }")
        done = self.run_program("c", code, args=["a b", "it's", "$x", "", "*"])
        self.assertEqual((done["run"]["stdout"], done["run"]["exit_code"]), ("<a b><it's><$x><><*>", 6))
        self.assertEqual(done["run"]["status"], "error")

    def test_sources_are_compiled_together(self):
        main = '#include <stdio.h>\n#include "lib/h.h"\nint main(void) { printf("%d %d\\n", one(), two()); }'
        files = [{"path": "lib/h.h", "content": "int one(void), two(void);"},
                 {"path": "lib/one.c", "content": "int one(void) { return 1; }"},
                 {"path": "it's two.c", "content": "int two(void) { return 2; }"},
                 {"path": "not.cpp", "content": "this is no C"}]
        self.assertEqual(self.printed("c", main, files=files), "1 2\n")
        self.assertEqual(self.printed("c", main, files=files, filename="prog.c"), "1 2\n")
        cpp = [{**f, "path": f["path"].replace(".c", ".cpp")} for f in files[:3]]
        self.assertEqual(self.printed("cpp", main, files=cpp), "1 2\n")

    def test_what_does_not_compile_is_not_run(self):
        for language, code in (("c", "int main(void) { return x; }"), ("cpp", "int main() { return x; }"),
                               ("fortran", "program p\nx y z\nend"), ("java", "class Main { int x = y; }"),
                               ("rust", "fn main() { x }"), ("go", "package main\nfunc main() { x }")):
            if not self.rows[language]["available"]:
                continue
            with self.subTest(language=language):
                done = self.run_program(language, code, collect=["main"])
                self.assertEqual(done["compile"]["status"], "error")
                self.assertNotEqual(done["compile"]["exit_code"], 0)
                self.assertIn("main" if language != "java" else "Main", done["compile"]["stderr"])
                self.assertNotIn("run", done)
                self.assertEqual([f["path"] for f in done["unread"]], ["main"])
                self.assertEqual(self.server.rpc("session.list")["sessions"], [])

    def test_warnings_are_no_errors(self):
        done = self.run_program("c", "int main(void) { int x = \"text\"; return 0 * x; }")
        self.assertEqual((done["compile"]["status"], done["run"]["exit_code"]), ("ok", 0))
        self.assertIn("warning", done["compile"]["stderr"])
        self.assertEqual(done["run"]["stderr"], "")

    def test_timeouts(self):
        done = self.run_program("c", "int main(void) {}", compile_timeout_ms=1)
        self.assertEqual((done["compile"]["status"], "run" in done), ("timeout", False))
        done = self.run_program("c", "int main(void) { for (;;); }", timeout_ms=300)
        self.assertEqual((done["compile"]["status"], done["run"]["status"]), ("ok", "timeout"))

    def test_signals(self):
        for number, name in ((11, "SIGSEGV"), (6, "SIGABRT"), (9, "SIGKILL")):
            done = self.run_program("c", f"#include <signal.h>\nint main(void) {{ raise({name}); }}")
            self.assertEqual((done["run"]["status"], done["run"]["signal"]), ("killed", number), name)

    def test_memory(self):
        code = ("#include <stdlib.h>\n#include <stdio.h>\n#include <string.h>\n"
                "int main(void) { for (int i = 0; i < 1024; i++) {\n"
                "char *p = malloc(1 << 20); if (!p) return 3; memset(p, 1, 1 << 20); } puts(\"not so\"); }")
        done = self.run_program("c", code, limits={"memory_bytes": 256 << 20})
        self.assertEqual(done["compile"]["status"], "ok", done["compile"])
        self.assertIn(done["run"]["status"], ("oom", "error", "killed"))
        self.assertEqual(done["run"]["stdout"], "")

    def test_the_compiler_leaves_nothing_in_the_environment(self):
        code = '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("source") ? "set" : "unset"); }'
        self.assertEqual(self.printed("c", code), "unset\n")

    def test_names_that_mean_something_to_a_shell(self):
        for name in ("a b.c", "it's.c", "$(touch x).c", "é.c", "a;b.c", '".c', "sub/dir.c", "*.c", "a\nb.c"):
            with self.subTest(name=name):
                done = self.run_program("c", '#include <stdio.h>\nint main(void) { puts("ran"); }', filename=name,
                                        collect=["x"])
                self.assertEqual((done["compile"]["status"], done["files"]), ("ok", []), done["compile"])
                self.assertEqual(done["run"]["stdout"], "ran\n")

    def test_names_outside_of_the_workspace(self):
        for name in ("../x.c", "/tmp/x.c", "a/../../x.c"):
            with self.assertRaises(web.Failed, msg=name) as failed:
                self.run_program("c", "int main(void) {}", filename=name)
            self.assertIn(failed.exception.code, ("usage", "access"))
        self.assertEqual(self.server.rpc("session.list")["sessions"], [])


@harness.as_user
class Java(LanguageCase):
    def test_a_public_class_with_another_name(self):
        for head in ("public class", "public final class", "  public abstract class"):
            self.assertEqual(self.printed(
                "java", f'{head} Other {{ public static void main(String[] a) {{\n'
                'System.out.println("other" + a.length); } }',
                args=["x"]), "other1\n", head)

    def test_several_classes(self):
        code = ('class Helper { static String word() { return Far.word(); } }\n'
                'class Program { public static void main(String[] a) { System.out.println(Helper.word()); } }')
        self.assertEqual(self.printed("java", code, files=[
            {"path": "Far.java", "content": 'class Far { static String word() { return "far"; } }'}]), "far\n")

    def test_exceptions(self):
        done = self.run_program("java", "class Main {\n"
                                "public static void main(String[] a) { throw new Error(\"oh\"); } }")
        self.assertEqual((done["run"]["status"], done["run"]["exit_code"]), ("error", 1))
        self.assertIn("oh", done["run"]["stderr"])


if __name__ == "__main__":
    harness.main()
