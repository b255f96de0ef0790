# SPDX-License-Identifier: Apache-2.0
"""The tree itself: layers, sizes, headers, licences, white space, syntax of scripts.

Runs on the checkout; test/run.py counts the last line.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON_OLDEST = (3, 9)
# Written by a program, by lawyers, or data.
NO_SPDX = re.compile(r"(LICENSE|\.gitignore|\.clang-format|meson_options\.txt|.*\.(md|json|svg|csv|txt))$|.*/corpus/.*|\.ci/.*")
DATA = re.compile(r".*/corpus/.*|.*\.(svg|csv)$")



def tracked():
    """What git knows or would add; in an unpacked release, which is no repository of its own, every file."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        done = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True, stdout=subprocess.PIPE)
        names = done.stdout.decode("utf-8", "surrogateescape").splitlines()
    else:
        names = [os.path.relpath(os.path.join(top, name), ROOT) for top, _, files in os.walk(ROOT)
                 if not re.match("build|.*__pycache__", os.path.relpath(top, ROOT)) for name in files]
    # Listed and deleted in the same moment, when somebody works on the tree.
    return sorted(n for n in names if os.path.isfile(os.path.join(ROOT, n)))


def read(name):
    with open(os.path.join(ROOT, name), "rb") as f:
        return f.read()


def is_script(name, interpreter):
    return re.match(rb"#!\s*\S*[/ ]" + interpreter + rb"[0-9.]*( |$)", read(name).split(b"\n", 1)[0])


class House(unittest.TestCase):
    maxDiff = None

    def check_program(self, name):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "dev", name), ROOT], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, "\n" + done.stdout.decode())

    def test_layers(self):
        self.check_program("check_layers.py")

    def test_a_run_that_would_reach_the_journal_is_found(self):
        """However long the way: a header leads to its .c."""
        tree = {"api/once/once.c": '#include "session/session.h"', "session/session.h": "",
                "session/box/box.h": "", "session/session.c": '#include "session/box/box.h"',
                "session/box/box.c": '#include "store/journal.h"', "store/journal.h": ""}
        self.assertIn("src/api/once/: reaches src/store/journal.h: session/box/box.c < session/box/box.h < "
                      "session/session.c < session/session.h < api/once/once.c\n", self.layers_of(tree))

    def layers_of(self, tree):
        """What the check of layers says of sources: text by name."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in tree.items():
                os.makedirs(os.path.dirname(os.path.join(root, "src", name)), exist_ok=True)
                with open(os.path.join(root, "src", name), "w", encoding="utf-8") as f:
                    f.write(text + "\n")
            return subprocess.run([sys.executable, os.path.join(ROOT, "dev/check_layers.py"), root], check=False,
                                  stdout=subprocess.PIPE, text=True).stdout

    def test_rooms_headers_and_tags_are_checked(self):
        told = self.layers_of({
            "plan/value/value.c": '#include "plan/check/check.h"\nstruct twin {\n};', "plan/check/check.c": "",
            "plan/check/check.h": "struct twin {\n};", "plan/check/inside.h": "", "plan/attic/attic.c": "",
            "plan/policy/policy.c": '#include "plan/check/inside.h"', "plan/policy/lonely.h": "",
            "store/store.c": '#include "session/session.h"'})
        for problem in ('room value of plan may not include the room check above: "plan/check/check.h"',
                        "src/plan/value/value.c: the tag twin means something else in src/plan/check/check.h",
                        "src/plan/attic/attic.c: a room that the table does not know",
                        '"plan/check/inside.h" is for the files beside it only',
                        "src/plan/policy/lonely.h: a header without a .c of its name",
                        'store may not include session: "session/session.h"'):
            self.assertIn(problem, told)

    def test_sizes(self):
        self.check_program("check_size.py")

    def test_headers_are_the_manual_and_links_lead_somewhere(self):
        self.check_program("check_docs.py")

    def test_no_open_of_the_engine_waits(self):
        """A FIFO, or a file with a lease, may stand wherever a caller or a box can put one: see fd_open_regular()."""
        own = {"src/planner/plan.c",  # for the command line: who names a FIFO waits for it
               "src/planner/plan_record.c", "src/session/start/host.c",  # likewise; files of /proc
               "src/api/agent/agent_store.c", "src/store/journal.c"}  # directories that nobody else writes to
        self.assertLessEqual(own, set(tracked()))
        call = re.compile(r'(?<![\w"])(?:open|openat|fopen|sys_open_\w+)\(([^;"]*?O_[^;]*?)\)\s*[;:?]')
        for name in tracked():
            if not re.match(r"src/(agent|api|base|plan|planner|registry|runtime|serve|session|store|tool)/.*\.c$", name) or name in own:
                continue
            for found in call.finditer(read(name).decode()):
                with self.subTest(file=name, call=" ".join(found.group(0).split())):
                    self.assertRegex(found.group(1), r"O_(NONBLOCK|DIRECTORY|PATH|EXCL)\b")

    def test_errors_name_operations_in_backquotes(self):
        """Who reads them at a terminal or over MCP knows other names for them: src/api/text/wording.c."""
        sources = {n: read(n).decode() for n in tracked() if re.match(r"src/(?!cli/).*\.c$", n)}
        known = {name for text in sources.values() for name in re.findall(r'^\t\{"((?!retort\.)[a-z]+\.[a-z]+)",', text, re.M)}
        self.assertGreater(len(known), 30)
        for name, text in sources.items():
            for found in re.finditer(r"\berr_(?:hint|set|sys|wrap)\((.*?)\);", text, re.S):
                said = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1)))
                words = re.findall(r"[a-z]+\.[a-z]+", re.sub("`[^`]*`", "", said))
                with self.subTest(file=name, said=said):
                    self.assertFalse(known.intersection(words))

    def test_every_source_has_its_licence_line(self):
        missing = [n for n in tracked() if not NO_SPDX.match(n) and b"SPDX-License-Identifier" not in
                   b"\n".join(read(n).split(b"\n")[:30])]
        self.assertEqual(missing, [])

    def test_news_fragments_are_named_by_their_kind(self):
        """None is a good number: a release has none."""
        names = [os.path.basename(n) for n in tracked() if n.startswith("NEWS.d/")]
        self.assertIn("README.md", names)
        bad = [n for n in names if n != "README.md" and not re.fullmatch(r"[\w-]+\.(added|changed|fixed|removed|security)\.md", n)]
        self.assertEqual(bad, [])

    def test_white_space(self):
        bad = []
        for name in tracked():
            data = read(name)
            if DATA.match(name) or not data:
                continue
            if b"\r" in data:
                bad.append(f"{name}: carriage return")
            if not data.endswith(b"\n") or data.endswith(b"\n\n"):
                bad.append(f"{name}: does not end in one newline")
            # Two spaces at the end of a line mean something in Markdown; not in this tree.
            bad += [f"{name}:{i}: trailing white space" for i, line in enumerate(data.split(b"\n"), 1)
                    if line[-1:] in (b" ", b"\t")]
        self.assertEqual(bad, [])

    def test_python_is_not_too_new(self):
        bad, n = [], 0
        for name in tracked():
            if not name.endswith(".py") and not is_script(name, b"python"):
                continue
            n += 1
            try:
                ast.parse(read(name), name, feature_version=PYTHON_OLDEST)
            except SyntaxError as e:
                bad.append(str(e))
        self.assertEqual(bad, [])
        self.assertGreater(n, 10)

    def test_scripts_of_the_shell(self):
        scripts = [n for n in tracked() if is_script(n, b"(ba|da)?sh")]
        self.assertGreater(len(scripts), 2)
        for name in scripts:
            shell = "bash" if is_script(name, b"bash") else "sh"
            done = subprocess.run([shell, "-n", os.path.join(ROOT, name)], check=False,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck: only their syntax was checked")
        done = subprocess.run(["shellcheck", "-x", *scripts], cwd=ROOT, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, "\n" + done.stdout.decode())

    def test_scripts_can_be_executed(self):
        bad = [n for n in tracked() if read(n)[:2] == b"#!" and not os.access(os.path.join(ROOT, n), os.X_OK)
               and "/corpus/" not in n]
        self.assertEqual(bad, [])

    def test_every_unit_test_is_built(self):
        """Each is in the folder of a module."""
        text = read("test/meson.build").decode()
        unit, source = (os.path.join(ROOT, *parts) for parts in (("test", "unit"), ("src",)))
        self.assertEqual([n for n in os.listdir(unit) if n.startswith("test_")], [])
        for module in sorted(next(os.walk(unit))[1]):
            self.assertTrue(module == "drivers" or os.path.isdir(os.path.join(source, module)), f"src/{module} is no module")
            for name in sorted(os.listdir(os.path.join(unit, module))):
                if name.startswith("test_") and name.endswith(".c"):
                    self.assertIn(f"'{module}/{name[5:-2]}': {{", text, f"unit/{module}/{name} is not in test/meson.build")

    def test_every_fuzz_target_is_built(self):
        text = read("test/meson.build").decode()
        for name in sorted(os.listdir(os.path.join(ROOT, "test", "fuzz"))):
            if name.startswith("fuzz_") and name.endswith(".c"):
                word = name[5:-2]
                self.assertIn(f"'{word}': {{", text, f"fuzz/{name} is not in test/meson.build")
                corpus = os.path.join(ROOT, "test", "fuzz", "corpus", word)
                self.assertTrue(os.path.isdir(corpus) and os.listdir(corpus), corpus)



def main():
    result = unittest.main(exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or result.testsRun == 0 else 0)


if __name__ == "__main__":
    main()
