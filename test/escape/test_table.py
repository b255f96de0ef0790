# SPDX-License-Identifier: Apache-2.0
"""The table of threats in SECURITY.md and the tests name the same ids, both ways."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402,F401
import harness  # noqa: E402

IDENTITY = "user"
HERE = os.path.dirname(os.path.abspath(__file__))
ROW = re.compile(r"^\| (T-[A-Z0-9-]+) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
TEST = re.compile(r"def test_(T(?:_[A-Z][A-Z0-9]*)+)_[a-z0-9]\w*\(")


def tests():
    """id → set of files."""
    found = {}
    for name in sorted(os.listdir(HERE)):
        if name.startswith("test_") and name.endswith(".py"):
            with open(os.path.join(HERE, name), encoding="utf-8") as f:
                for word in TEST.findall(f.read()):
                    found.setdefault(word.replace("_", "-"), set()).add(name)
    return found


def rows():
    with open(os.path.join(HERE, "SECURITY.md"), encoding="utf-8") as f:
        return ROW.findall(f.read())


class Table(harness.Case):
    def test_every_threat_has_a_test(self):
        self.assertEqual([r[0] for r in rows() if r[0] not in tests()], [])

    def test_every_test_has_a_threat(self):
        known = {r[0] for r in rows()}
        self.assertEqual(sorted(t for t in tests() if t not in known), [])

    def test_every_row_names_its_files(self):
        found = tests()
        for threat, _, _, files in rows():
            with self.subTest(threat=threat):
                named = set(re.findall(r"test_\w+\.py", files))
                self.assertEqual(named, found.get(threat, set()))

    def test_no_id_twice(self):
        ids = [r[0] for r in rows()]
        self.assertEqual(sorted(set(ids)), sorted(ids))

    def test_every_attempt_is_explained(self):
        """Each attempt has a sentence that says what the attacker tries."""
        for name in sorted(os.listdir(HERE)):
            if not name.startswith("test_T") and name.startswith("test_") and name.endswith(".py"):
                with open(os.path.join(HERE, name), encoding="utf-8") as f:
                    for test in re.findall(r'def (test_T_\w+)\([^)]*\):\n(?! +""")', f.read()):
                        self.fail(f"{name}: {test} has no docstring")

    def test_there_are_many(self):
        n = 0
        for name in os.listdir(HERE):
            if name.startswith("test_") and name.endswith(".py"):
                with open(os.path.join(HERE, name), encoding="utf-8") as f:
                    n += len(TEST.findall(f.read()))
        self.assertGreaterEqual(n, 80)


if __name__ == "__main__":
    harness.main()
