# SPDX-License-Identifier: Apache-2.0
"""A short load: clients with sessions of their own, who check what they are told; `make load` is the long one.

Takes both processors, so it runs by itself.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "load"))
import harness  # noqa: E402
import load  # noqa: E402

IDENTITY = "user"


class Load(harness.Case):
    def run_(self, *options):
        said = []
        one = load.Load(load.parse([harness.RETORT, *options]), say=said.append)
        if one.run() != 0:
            self.fail("\n".join(said))
        return one.counts

    def test_over_http(self):
        """Every answer is right, or a declared limit."""
        counts = self.run_("--clients", "24", "--seconds", "6")
        self.assertGreater(counts["step: ok"], 24)

    def test_engine_killed_meanwhile(self):
        """Clients come back, and find every step that they were told of."""
        for front in ("http", "unix"):
            counts = self.run_("--clients", "12", "--seconds", "6", "--restarts", "2", "--front", front)
            self.assertEqual(counts["engine killed"], 2)
            self.assertGreater(counts["step: ok"], 12)


if __name__ == "__main__":
    harness.main()
