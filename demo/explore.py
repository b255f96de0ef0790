# SPDX-License-Identifier: Apache-2.0
"""A first look at a data set nobody has looked at: gaps, summary, outliers, a plot.

The passengers of the Titanic (OpenML 40945), of which scikit-learn ships all 1,309 rows for its own
tests: unlike the data sets of sklearn.datasets.load_*, which have no gaps, this one has many.
"""

import glob
import gzip
import io
import os

import matplotlib.pyplot as plt
import pandas as pd
import sklearn.datasets

files = os.path.join(os.path.dirname(sklearn.datasets.__file__), "tests/data/openml/id_40945/data-*.gz")


def load():
    """What the data set is called, its frame, the column to look at and the one to group by."""
    found = glob.glob(files)
    if not found:
        wine = sklearn.datasets.load_wine(as_frame=True).frame
        return "wine (this scikit-learn ships no data set with gaps)", wine, "proline", "target"
    with gzip.open(found[0], "rt", encoding="utf-8") as f:
        head, _, body = f.read().partition("@data\n")
    names = [line.split("'")[1] for line in head.splitlines() if line.startswith("@attribute")]
    frame = pd.read_csv(io.StringIO(body), names=names, na_values="?", quotechar='"', escapechar="\\")
    return "passengers of the Titanic", frame, "fare", "pclass"


name, frame, column, group = load()
print(f"{name}: {len(frame):,} rows, {len(frame.columns)} columns")

missing = frame.isna().sum()
print(f"\nmissing values: {missing.sum():,}, rows without any: {len(frame.dropna()):,}")
for key, n in missing[missing > 0].sort_values(ascending=False).items():
    print(f"  {key:10} {n:5}  {n / len(frame):6.1%}")

numbers = frame.select_dtypes("number")
print("\nsummary")
print(numbers.describe().T[["count", "mean", "std", "min", "50%", "max"]].round(2).to_string())

print("\noutliers: more than 1.5 interquartile ranges beyond the quartiles (columns with over 10 values)")
low, high = numbers.quantile(0.25), numbers.quantile(0.75)
far = (numbers < low - 1.5 * (high - low)) | (numbers > high + 1.5 * (high - low))
for key, n in far.sum().sort_values(ascending=False).items():
    if n > 0 and numbers[key].nunique() > 10:
        print(f"  {key:10} {n:5}  of {numbers[key].count():5}, largest {numbers[key].max():.2f}")

values = frame[[column, group]].dropna()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.hist(values[column], bins=40, color="#4878a8")
left.set(title=f"{column}: distribution", xlabel=column, ylabel="rows")
kinds = sorted(values[group].unique())
right.boxplot([values[column][values[group] == k] for k in kinds], labels=kinds, vert=False)
right.set(title=f"{column} by {group}", xlabel=column, ylabel=group)
figure.savefig("explore.png")
