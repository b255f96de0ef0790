# SPDX-License-Identifier: Apache-2.0
"""The average gross margin of the orders in orders.csv, to the cent, and what it rests on.

An export is written for people, so the rules are written down here:

amount     "1,234.50", "$78.00", " 12.5 " and "12.50  " are numbers; "(85.03)" and "-85.03" are
           negative ones. A comma is a thousands separator. Anything else stops the program: a
           guess would go into the average unseen.
margin     revenue minus cost, of one row. The average is over rows, each counting the same.
order      a row with a whole number in the first column. Two rows that differ in nothing but that
           number are two orders.
refund     a row with negative revenue. It is one of the orders, with the negative margin it has.
no cost    has no margin: left out of the average, and named.
total      a row whose first column is no number adds up what is above it: no order. Its sums are
           compared with ours, as a check of the reading.
"""

import csv
import re
from decimal import ROUND_HALF_UP, Decimal

AMOUNT = re.compile(r"\$?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?")


def amount(text):
    """A Decimal, or None for an empty cell."""
    plain = text.strip()
    if not plain:
        return None
    sign = -1 if plain[0] in "(-" else 1
    if plain[0] == "(" and plain[-1] == ")":
        plain = plain[1:-1]
    plain = plain.removeprefix("-")
    if not AMOUNT.fullmatch(plain):
        raise SystemExit(f"margin.py: no amount: {text!r}")
    return sign * Decimal(plain.replace(",", "").lstrip("$"))


def cents(value):
    return f"{value.quantize(Decimal('0.01'), ROUND_HALF_UP):,}"


with open("orders.csv", encoding="utf-8-sig", newline="") as f:
    rows = list(csv.DictReader(f))

orders, totals, notes = [], [], []
for row in rows:
    row["revenue"], row["cost"] = amount(row["revenue"]), amount(row["cost"])
    (orders if row["order"].strip().isdigit() else totals).append(row)

counted = [o for o in orders if o["revenue"] is not None and o["cost"] is not None]
margins = [o["revenue"] - o["cost"] for o in counted]
average = sum(margins) / len(margins)
share = 100 * sum(margins) / sum(o["revenue"] for o in counted)

seen = {}
for o in orders:
    if o not in counted:
        notes.append(f"left out: order {o['order']}, whose cost is missing")
    elif o["revenue"] < 0:
        notes.append(f"kept: order {o['order']}, a refund, margin {cents(o['revenue'] - o['cost'])}")
    first = seen.setdefault(tuple(v for k, v in o.items() if k != "order"), o["order"])
    if first != o["order"]:
        notes.append(f"kept: orders {first} and {o['order']}, alike but for their numbers")
for t in totals:
    agree = all(t[c] == sum(o[c] for o in orders if o[c] is not None) for c in ("revenue", "cost"))
    notes.append(f"no order: the row {t['order'].strip()!r}; its sums {'agree' if agree else 'DISAGREE'}"
                 " with those read")

print(f"average gross margin: {cents(average)} per order ({share:.1f} % of revenue)")
print(f"orders: {len(orders)} in the file, {len(counted)} in the average")
for note in notes:
    print("  " + note)
