# SPDX-License-Identifier: Apache-2.0
"""The module `date` of plans: CPython's datetime says the same, and what it is said of mistakes."""

import datetime
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"
N = 400
FORMATS = ["%Y-%m-%d", "%d.%m.%y %H:%M:%S", "%A, %B %d", "%a %b %j %w", "%I %p %%x", "\u00e9%Y"]
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59)

# What is no date, and what a call of it says.
WRONG = [
    ("date.parse('2026-02-29')", "date.parse: no such date"), ("date.parse('2026-13-01')", "no such date"),
    ("date.parse('0000-01-01')", "no such date"), ("date.parse('2026-1-1')", "no such date"),
    ("date.parse('2026-01-01T24:00')", "no such date"), ("date.parse('2026-01-01T10')", "no such date"),
    ("date.parse('2026-01-01T10:00:00.')", "no such date"), ("date.parse('2026-01-01 ')", "no such date"),
    ("date.parse('2026-01-01x')", "no such date"), ("date.parse('')", "no such date"),
    ("date.parse('2026-01-01T10:00+1:00')", "no such date"), ("date.parse('2026-01-01\\0')", "no such date"),
    ("date.parse('0001-01-01T00:00+01:00')", "no such date"), ("date.parse('9999-12-31T23:59-01:00')", "no such date"),
    ("date.parse('1' * 100000)", "no such date"), ("date.parse(5)", "want string"),
    ("date.add('9999-12-31', 1)", "1 to 9999"), ("date.add('0001-01-01', -1)", "1 to 9999"),
    ("date.add('2026-01-01', 10 ** 30)", "1 to 9999"), ("date.add('2026-01-01', 0.5)", "want int"),
    ("date.format('2026-01-01', '%Q')", "of directives"), ("date.format('2026-01-01', '%')", "of directives"),
    ("date.format('2026-01-01', 'x' * 5000)", "too long"), ("date.compare('2026-01-01', 'now')", "no such date"),
]


def moments(chance):
    """(what is parsed, what CPython reads there, with a time of day?)."""
    for _ in range(N):
        day = datetime.date.fromordinal(chance.choice([
            chance.randint(1, 3652059), chance.randint(730000, 740000), 1, 3652059, 738215, 730179]))
        kind = chance.randrange(4)
        if kind == 0:
            yield day.isoformat(), datetime.datetime(day.year, day.month, day.day), False
            continue
        second = chance.choice([0, 86399, chance.randrange(86400)])
        at = datetime.datetime(day.year, day.month, day.day) + datetime.timedelta(seconds=second)
        text = at.isoformat(chance.choice("T "))
        if kind > 1:
            text += chance.choice([".5", ".999999", ".25"])
        if kind == 3:
            zone = chance.choice(["Z", "+00:00", "+05:30", "-11:45", "+23:59"])
            try:
                there = datetime.datetime.fromisoformat(text.split(".")[0] + zone.replace("Z", "+00:00"))
                at = there.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            except OverflowError:
                continue
            text += zone
        yield text, at, True


def shown(at, has_time):
    return at.isoformat() if has_time else at.date().isoformat()


class Dates(unittest.TestCase):
    def printed(self, source):
        done = harness.retort("plan", "run", "-", stdin=source.encode())
        self.assertEqual(done.status, 0, done.err)
        return done.out.splitlines()

    def test_cpython_says_the_same(self):
        chance = random.Random(20261122)
        lines, want = [], []
        pool = list(moments(chance))
        for text, at, has_time in pool:
            other_text, other, _ = chance.choice(pool)
            days, form = chance.choice([0, 1, -1, 365, -366, chance.randint(-800000, 800000)]), chance.choice(FORMATS)
            lines.append(f"print(date.parse({text!r}), date.diff({text!r}, {other_text!r}), "
                         f"date.compare({text!r}, {other_text!r}), date.weekday({text!r}))")
            gap = at - other
            want.append(f"{shown(at, has_time)} {gap.days} {(at > other) - (at < other)} {at.weekday()}")
            # What CPython pads to four digits depends on the C library.
            lines.append(f"print(date.format({text!r}, {form!r}))")
            want.append(at.strftime(form.replace("%Y", f"{at.year:04}")))
            if FIRST <= at and 1 <= at.toordinal() + days <= LAST.toordinal():
                lines.append(f"print(date.add({text!r}, {days}), date.add(date={text!r}, days={days}))")
                want.append(" ".join([shown(at + datetime.timedelta(days=days), has_time)] * 2))
        self.assertGreater(len(want), 2.5 * N)
        for line, got, expected in zip(lines, self.printed("\n".join(lines) + "\n"), want, strict=True):
            self.assertEqual(got, expected, line)

    def test_every_day(self):
        source = ("d = '1999-12-30'\nfor i in range(1500):\n    d = date.add(d, 1)\n    print(d, date.format(d, '%j'))\n")
        day = datetime.date(1999, 12, 30)
        for i, got in enumerate(self.printed(source)):
            one = day + datetime.timedelta(days=i + 1)
            self.assertEqual(got, one.strftime("%Y-%m-%d %j"))

    def test_mistakes(self):
        for source, words in WRONG:
            done = harness.retort("plan", "run", "-", stdin=f"print({source})\n".encode())
            self.assertEqual(done.status, 1, source)
            self.assertIn(words, done.err, source)
            self.assertIn("P601", done.err, source)


if __name__ == "__main__":
    unittest.main()
