# SPDX-License-Identifier: Apache-2.0
"""The official conformance suite, over HTTP, against our core with what the suite asks for on it.

What is expected to fail is in expected-REVISION.yml with its reason. That holds for what the revision
requires, which the suite judges, and for what it runs besides, which is judged here; an entry that does
not fail any more is an error of that file. The table of docs/inside/interop.md is what this prints.
"""

import collections
import glob
import json
import os
import re
import tempfile

import interop

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
FOLDER = re.compile(r"server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$")
# Scenarios that run, and checks that must be made for "all pass" to mean something.
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}
CHECKS = {"2025-11-25": 80, "2026-07-28": 154}


def results(folder):
    """{scenario: Counter of statuses} of what a run of the suite wrote."""
    found = collections.defaultdict(collections.Counter)
    for path in sorted(glob.glob(os.path.join(folder, "*", "checks.json"))):
        scenario = FOLDER.match(os.path.basename(os.path.dirname(path)))[1]
        with open(path, encoding="utf-8") as f:
            found[scenario].update(check["status"] for check in json.load(f))
    return found


def problems(folder, expected):
    """What the checks that failed unexpectedly say."""
    lines = []
    for path in sorted(glob.glob(os.path.join(folder, "*", "checks.json"))):
        scenario = FOLDER.match(os.path.basename(os.path.dirname(path)))[1]
        with open(path, encoding="utf-8") as f:
            lines += [f"{scenario}: {check['id']}: {check.get('errorMessage')}" for check in json.load(f)
                      if check["status"] in ("FAILURE", "WARNING") and scenario not in expected]
    return "\n".join(lines)


def entries(path):
    with open(path, encoding="utf-8") as f:
        return sorted(re.findall(r"^  - (\S+)$", f.read(), re.M))


def table(revision, found):
    lines = [f"conformance {revision}"]
    for scenario, counts in found.items():
        words = ", ".join(f"{n} {status.lower()}" for status, n in sorted(counts.items()))
        lines.append(f"  {scenario:50} {words}")
    total = sum(found.values(), collections.Counter())
    lines.append(f"  {len(found)} scenarios: " + ", ".join(f"{n} {s.lower()}" for s, n in sorted(total.items())))
    return "\n".join(lines)


class Conformance(interop.Case):
    def check(self, revision):
        folder = tempfile.mkdtemp(dir=interop.harness.TMP)
        expected = os.path.join(interop.HERE, f"expected-{revision}.yml")
        with interop.fixture() as server:
            done = interop.checker(
                SUITE, "server", "--url", f"http://localhost:{server.port}/mcp", "--requirements", revision,
                "--expected-failures", expected, "-o", folder)
            log = server.said()
        found = results(folder)
        print(table(revision, found))
        self.assertEqual(done.status, 0, f"{done.out[-6000:]}\n{done.err[-500:]}\nthe server said: {log}")
        failing = sorted(s for s, counts in found.items() if counts["FAILURE"] or counts["WARNING"])
        self.assertEqual(failing, entries(expected), problems(folder, entries(expected)))
        self.assertEqual(len(found), SCENARIOS[revision], "scenarios that ran")
        self.assertGreaterEqual(sum(found.values(), collections.Counter())["SUCCESS"], CHECKS[revision])

    def test_2025_11_25(self):
        self.check("2025-11-25")

    def test_2026_07_28(self):
        self.check("2026-07-28")


if __name__ == "__main__":
    interop.main()
