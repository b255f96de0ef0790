# SPDX-License-Identifier: Apache-2.0
"""The documents say what is so: their examples run, their tables are current.

Links are checked by dev/check_docs.py.

The documents are not installed: RETORT_SOURCE names the checkout they are in; by hand it is found.
"""

import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import registry  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
SOURCE = os.environ.get("RETORT_SOURCE", harness.ROOT)
DEMO = os.path.join(harness.ROOT, "demo")
HAS_SOURCE = os.access(os.path.join(SOURCE, "README.md"), os.R_OK)
HAS_SKLEARN = importlib.util.find_spec("sklearn") and importlib.util.find_spec("matplotlib")
needs_source = unittest.skipUnless(HAS_SOURCE, "no documents here: RETORT_SOURCE names no readable checkout")

MARK = "--end-of-example--"
FENCE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
NOT_OURS = {"connect"}  # of the C library
CODE = re.compile(r"`([^`\n]+)`")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def documents():
    """Paths, relative to the checkout."""
    found = glob.glob(os.path.join(SOURCE, "*.md")) + glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True)
    return sorted(os.path.relpath(p, SOURCE) for p in found)


def without_fences(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def examples(block):
    """(command, output) pairs of a console block: `$ ` begins a command, `> ` goes on with it."""
    pairs = []
    for line in block.splitlines():
        if line.startswith("$ "):
            pairs.append([line[2:], []])
        elif line.startswith("> ") and pairs and not pairs[-1][1]:
            pairs[-1][0] += "\n" + line[2:]
        elif pairs:
            pairs[-1][1].append(line)
        else:
            raise AssertionError(f"output before any command: {line}")
    return [(command, "\n".join(lines).rstrip("\n")) for command, lines in pairs]


def pattern(text):
    """What an output has to look like.

    A line that is `…` stands for any lines, `…` within one for anything. A line of ^^^ under a line of a
    traceback may be missing, and be elsewhere: it depends on the version of Python.
    """
    parts = []
    for line in text.split("\n"):
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        elif re.fullmatch(r" +[~^ ]+", line):
            parts.append(r"(?: +[~^ ]+\n)?")
        else:
            parts.append("[^\n]*".join(re.escape(p) for p in line.split("…")) + "\n")
    return "".join(parts)


def shell(commands, cwd):
    """Outputs of commands run one after the other in one shell; $? goes from each to the next."""
    script = "set +o histexpand; s=0\n"
    for command in commands:
        script += f'(exit $s)\n{command}\ns=$?\nprintf "\\n{MARK}\\n"\n'
    path = os.path.dirname(harness.RETORT) + ":/usr/bin:/bin"
    done = subprocess.run(["bash", "-c", script], cwd=cwd, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          env=harness.environment({"PATH": path}), timeout=harness.TIMEOUT_S)
    outputs = done.stdout.split(f"\n{MARK}\n")
    return [o.rstrip("\n") for o in outputs[:-1]]


@needs_source
class Examples(harness.Case):
    @harness.needs_shell_or_sql
    def test_examples_print_what_they_say(self):
        n = 0
        for document in documents():
            if os.path.basename(document) in ("packages.md", "templates.md") and not registry.PIP:
                continue
            cwd = harness.make_dir()
            shutil.copytree(DEMO, os.path.join(cwd, "demo"))
            for block in FENCE.findall(read(os.path.join(SOURCE, document))):
                pairs = examples(block)
                outputs = shell([command for command, _ in pairs], cwd)
                self.assertEqual(len(outputs), len(pairs), f"{document}: the shell ended early in\n{block}")
                for (command, want), got in zip(pairs, outputs):
                    n += 1
                    with self.subTest(document=document, command=command):
                        if not re.fullmatch(pattern(want), got + "\n"):
                            self.assertEqual(got, want)
        self.assertGreater(n, 10, "the examples were not found")

    @unittest.skipUnless(HAS_SKLEARN, "no matplotlib: make deps installs it")
    def test_the_plot_of_the_readme_is_made(self):
        cwd = harness.make_dir()
        shutil.copytree(DEMO, os.path.join(cwd, "demo"))
        code, = re.findall(r"(?ms)^```sh\n(retort run [^`]*-o plots .*?)^```$", read(os.path.join(SOURCE, "README.md")))
        self.assertEqual(shell([code], cwd), ["retort: figure saved: plots/figure-1.png"])
        self.assertEqual(os.listdir(os.path.join(cwd, "plots")), ["figure-1.png"])

    def test_the_clients_work(self):
        engine = web.Server()
        self.addCleanup(engine.stop)
        for language, command in (("python", [sys.executable, "-c"]), ("js", ["node", "-e"])):
            code, = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", read(os.path.join(SOURCE, "docs/operate/clients.md")))
            if not shutil.which(command[0]):
                continue
            done = subprocess.run([*command, code.replace("127.0.0.1:8765", f"127.0.0.1:{engine.port}")], check=False,
                                  capture_output=True, encoding="utf-8", timeout=harness.TIMEOUT_S)
            self.assertEqual((done.stdout, done.stderr), ("42\nZeroDivisionError committed\n", ""), language)

    def test_the_picture_is_of_a_real_run(self):
        spec = importlib.util.spec_from_file_location("make_picture", os.path.join(SOURCE, "dev/make_picture.py"))
        picture = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(picture)
        drawn = ["".join(t.itertext()) for t in ElementTree.parse(os.path.join(SOURCE, "docs/run.svg")).iter()
                 if t.tag.endswith("}text")]
        real = [("$ " if kind == "command" else "") + text
                for kind, text in picture.capture(harness.RETORT, harness.ROOT) if text]
        self.assertEqual(drawn, real, "docs/run.svg is not current: run dev/make_picture.py")


@needs_source
class Documents(harness.Case):
    def test_error_table_is_current(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "dev/gen_errors.py"), "--check"], check=False,
                              stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_table_of_exceptions_is_current(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "test/long/cpython.py"), "--docs", "--check"], check=False,
                              stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_tree_that_was_moved_is_configured_anew(self):
        """Else ninja looks for its manifest at the old place, a hundred times."""
        tree = harness.make_dir()
        shutil.copy(os.path.join(SOURCE, "Makefile"), tree)
        for name, does in (("meson", 'mkdir -p build; echo "regenerate $PWD" >build/build.ninja'), ("ninja", "echo built")):
            with open(os.path.join(tree, name), "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{does}\n")
            os.chmod(f.name, 0o755)
        os.mkdir(os.path.join(tree, "build"))
        with open(os.path.join(tree, "build/build.ninja"), "w", encoding="utf-8") as f:
            f.write("regenerate /where/it/was")
        env = {"PATH": tree + ":" + os.environ["PATH"]}
        for said in ("retort: this tree was moved since it was configured", ""):
            done = subprocess.run(["make", "-C", tree, "--no-print-directory"], check=True, capture_output=True, encoding="utf-8", env=env)
            self.assertEqual((done.stdout, done.stderr.partition(",")[0]), ("built\n", said))

    def test_what_to_do_after_the_installation(self):
        after = os.path.join(SOURCE, "dev/after-install")
        for path, destdir, wanted in (("/bin", "", True), ("/x/bin:/bin", "", False), ("/bin", "/tmp/stage", False)):
            done = subprocess.run([after, "/x", destdir], check=True, capture_output=True, encoding="utf-8", env={"PATH": path})
            self.assertEqual('export PATH="/x/bin:$PATH"' in done.stdout, wanted, done.stdout)
            self.assertEqual("claude mcp add retort -- retort mcp" in done.stdout, not destdir, done.stdout)

    def test_every_option_is_documented(self):
        text = "".join(read(os.path.join(SOURCE, d)) for d in documents())
        for command in ("run", "doctor"):
            done = harness.retort("help", command)
            options = set(re.findall(r"^ {2,8}(?:-\w, |    )(--[a-z-]+)", done.out, re.M))
            self.assertIn("--color", options)
            for option in sorted(options):
                with self.subTest(command=command, option=option):
                    self.assertTrue(re.search(re.escape(option) + r"(?![a-z-])", text), "in no document")

    def test_limits_and_defaults_are_those_of_the_binary(self):
        """docs/reference/limits.md has a row `--option` … `default` for each limit that help shows."""
        text = read(os.path.join(SOURCE, "docs/reference/limits.md"))
        help_text = re.sub(r"\n {20,}", " ", harness.retort("help", "run").out)
        group = help_text.split("Limits:")[1].split("Output:")[0]
        limits = re.findall(r"(--[a-z-]+) [A-Z]+ +[^\n]*\(default: (\w+)\)", group)
        self.assertGreater(len(limits), 8)
        for option, default in limits:
            if option == "--net":
                continue
            with self.subTest(option=option):
                row = rf"(?m)^\| `{option}`.*\| `{default}` \|$"
                self.assertTrue(re.search(row, text), f"no row with the default {default}")

    def test_every_code_of_a_plan_has_an_example(self):
        """What the examples print is looked at above; here, that there is one of each code, under its name."""
        codes = re.findall(r"(?m)^X\(\w+, (\d+), ", read(os.path.join(SOURCE, "src/plan/syntax/code.def")))
        told = {part[:3]: FENCE.findall(part) for part in read(os.path.join(SOURCE, "docs/reference/plan-codes.md")).split("\n**P")[1:]}
        self.assertGreater(len(codes), 60)
        self.assertEqual(sorted(told), sorted(codes))
        for code in codes:
            with self.subTest(code=code):
                printed = "\n".join(output for block in told[code] for _, output in examples(block))
                self.assertRegex(printed, rf"(?m)^(?:error|ask|note)\[P{code}\]")

    def test_every_name_of_an_error_is_documented(self):
        names = set(re.findall(r"""record_set_error\(\s*\w+,\s*"(\w+)\"""", "".join(
            read(os.path.join(SOURCE, "src/session", name)) for name in ("step/step.c", "running.c", "step/report.c"))))
        self.assertIn("TimeLimit", names)
        text = read(os.path.join(SOURCE, "docs/reference/errors.md"))
        self.assertEqual([name for name in sorted(names) if f"\n| `{name}` |" not in text], [])

    def test_names_of_the_source_are_in_it(self):
        """The pages about the source name functions and files: each is there."""
        source = ""
        for top in ("src", "drivers"):
            for where, _, files in os.walk(os.path.join(SOURCE, top)):
                source += "\n".join(read(os.path.join(where, f)) for f in files if f.endswith((".c", ".h", ".py")))
        for page in documents():
            named = re.findall(r"`((?:src|drivers|test|dev|demo)/[\w./-]+)`", read(os.path.join(SOURCE, page)))
            missing = [p for p in named if not re.search("NAME|FAMILY", p) and not os.path.exists(os.path.join(SOURCE, p))]
            self.assertEqual(missing, [], f"{page} names files that do not exist")
        pages = ["ARCHITECTURE.md", *(d for d in documents() if d.startswith("docs/inside/"))]
        n_functions = 0
        for page in pages:
            # The table of modules is generated and checked by dev/check_layers.py.
            text = re.sub(r"(?s)<!-- modules -->.*?<!-- /modules -->", "", without_fences(read(os.path.join(SOURCE, page))))
            functions = set(re.findall(r"`([a-z_][a-z0-9_]+)\(\)`", text)) - NOT_OURS
            n_functions += len(functions)
            for name in sorted(functions):
                with self.subTest(page=page, function=name):
                    defined = rf"(?m)^(?:[a-z].*[ *]{name}\(|\s*def {name}\()"
                    self.assertTrue(re.search(defined, source), "no such function")
            for token in sorted(set(CODE.findall(text))):
                if re.fullmatch(r"[\w./-]+\.(?:c|h|def|inc|py|md|svg|build|sh)|[\w.-]+(?:/[\w.-]+)*/", token):
                    with self.subTest(page=page, file=token):
                        places = [os.path.join(SOURCE, p, token) for p in ("", "src", "drivers")]
                        self.assertTrue(any(map(os.path.exists, places)), "no such file")
        self.assertGreater(n_functions, 100)

    def test_nothing_of_one_machine(self):
        for document in documents():
            with self.subTest(document=document):
                own = rf"(?<![\w.-]){re.escape(SOURCE)}/|/root/|/tmp/tmp"
                found = re.search(own, read(os.path.join(SOURCE, document)))
                self.assertFalse(found, found)


class Demo(harness.Case):
    def average_cents(self):
        """By another way than demo/margin.py: integers, from the right end of each line."""
        with open(os.path.join(DEMO, "orders.csv"), "rb") as f:
            raw = f.read()
        self.assertTrue(raw.startswith(b"\xef\xbb\xbf") and b"\r\n" in raw, "the export is not as messy as it was")
        margins, orders = [], 0
        for line in raw.decode("utf-8-sig").splitlines():
            if not re.match(r"\d{4},", line):
                continue
            orders += 1
            cells = re.search(r',("[^"]*"|[^",]*),("[^"]*"|[^",]*)$', line).groups()
            cents = [int(re.sub(r"\D", "", c) or -1) * (-1 if re.search(r"[(-]", c) else 1) for c in cells]
            if re.search(r"\d", cells[1]):
                margins.append(cents[0] - cents[1])
        self.assertEqual((orders, len(margins)), (47, 46))
        return round(sum(margins) / len(margins))

    @unittest.skipUnless(HAS_SKLEARN, "no scikit-learn or no matplotlib: make deps installs them")
    def test_demo_is_green_and_right(self):
        where = harness.make_dir()
        done = subprocess.run([sys.executable, os.path.join(DEMO, "run"), harness.RETORT, where], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", env=harness.environment(), timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        cents = self.average_cents()
        self.assertIn(f"average gross margin: {cents // 100}.{cents % 100:02} per order", done.stdout)
        self.assertIn("four runs and a session, all as expected", done.stdout)
        self.assertIn("rolled back: variables and files are as before this step", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^\| \* [0-9a-f]{12} \(trial\) .*\n\|/$")
        self.assertEqual(sorted(os.listdir(where)), ["explore.png", "figure-1.png", "forecast.png"])
        self.assertNotIn("\x1b", done.stdout, "colours only on a terminal")

    def test_demo_says_when_something_is_wrong(self):
        done = subprocess.run([sys.executable, os.path.join(DEMO, "run"), "/bin/true", harness.make_dir()],
                              check=False, capture_output=True, encoding="utf-8")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^demo: the average gross margin .*\n$")

    @unittest.skipUnless(HAS_SKLEARN, "no scikit-learn or no matplotlib: make deps installs them")
    def test_demo_leaves_no_engine(self):
        where = harness.make_dir()
        retort = os.path.join(where, "retort")
        with open(retort, "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\n[ "$1 $2" = "session exec" ] && exit 7\n'
                    f'[ "$1" = serve ] && echo $$ >{where}/pid\nexec {harness.RETORT} "$@"\n')
        os.chmod(retort, 0o755)
        done = subprocess.run([sys.executable, os.path.join(DEMO, "run"), retort, where], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              env=harness.environment(), timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^demo: .* session exec work .*: ended with status 7, not 0\n$")
        with open(os.path.join(where, "pid"), encoding="utf-8") as f:
            self.assertFalse(os.path.exists(f"/proc/{f.read().strip()}"))

    def test_margin_stops_at_what_is_no_amount(self):
        where = harness.make_dir()
        path = os.path.join(where, "orders.csv")
        for amount in ("1.234,50", "12,34", "n/a", "--5", "1e3"):
            with self.subTest(amount=amount):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(f'order,date,customer,item,quantity,revenue,cost\n1,d,c,i,1,"{amount}",2.00\n')
                done = harness.retort("run", "-v", f"{path}:orders.csv", os.path.join(DEMO, "margin.py"))
                self.assertEqual(done.status, 1)
                self.assertIn("no amount", done.err)


if __name__ == "__main__":
    harness.main()
