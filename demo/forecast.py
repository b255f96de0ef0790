# SPDX-License-Identifier: Apache-2.0
"""Where a share may stand in a year: prices from an API that wants a key, a simulation, a plot.

The key is in the variable PRICES_KEY, as this program sees it; what it sees is not the key.
"""

import json
import os
import urllib.request

import matplotlib.pyplot as plt
import numpy as np

PATHS, DAYS = 20_000, 252

request = urllib.request.Request("http://prices.test/v1/prices/ACME", headers={"Authorization": "Bearer " + os.environ["PRICES_KEY"]})
with urllib.request.urlopen(request) as answer:
    prices = np.array(json.load(answer)["close"])

daily = np.diff(np.log(prices))
random = np.random.default_rng(7)
steps = random.normal(daily.mean(), daily.std(ddof=1), (PATHS, DAYS))
paths = prices[-1] * np.exp(np.cumsum(steps, axis=1))
low, middle, high = np.percentile(paths[:, -1], [5, 50, 95])

print(f"{len(prices)} prices, the last one {prices[-1]:.2f}; {PATHS:,} paths of {DAYS} days")
print(f"in a year: {middle:.2f} in the middle, between {low:.2f} and {high:.2f} in nine of ten cases")
print(f"below today's price: {np.mean(paths[:, -1] < prices[-1]):.0%}")

for q in (5, 25, 50, 75, 95):
    plt.plot(np.percentile(paths, q, axis=0), label=f"{q} %", linewidth=2 if q == 50 else 1)
plt.title("ACME in the next year")
plt.xlabel("days")
plt.ylabel("price")
plt.legend()
plt.savefig("forecast.png", dpi=90)
plt.close()
