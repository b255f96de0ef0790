# SPDX-License-Identifier: Apache-2.0
"""A short soak: sessions and steps with random kills leak nothing; `make soak` is the long one.

Looks at the whole host, so it runs by itself.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "soak"))
import harness  # noqa: E402
import soak  # noqa: E402


class Soak(harness.Case):
    def run_(self, *options):
        said = []
        one = soak.Soak(soak.parse(list(options)), say=said.append)
        if not one.run():
            self.fail("\n".join(said))
        return one.counts

    def test_without_kills(self):
        """Every step's fate is the right one, and every variable what it must be."""
        counts = self.run_("--sessions", "60", "--steps", "600", "--rounds", "2", "--kills", "0", "--wardens", "0")
        self.assertEqual(counts["fate: lost"], 0)

    def test_with_kills(self):
        """Drivers, guards, inits and the warden are killed."""
        counts = self.run_("--sessions", "60", "--steps", "600", "--rounds", "3", "--kills", "0.2", "--wardens", "1")
        self.assertEqual(counts["killed: warden"], 1)


if __name__ == "__main__":
    harness.main()
