"""Which columns of a table are measurements, and which say something else about the samples.

names     the first column, if its heading or its text, which hardly repeats, says so; else ids
ids       different whole numbers or words under the name of an id
classes   few different whole numbers under the name of classes; among counts only at an end
steps     x_(i+1) = x_i + step, or x_1 again: numbers of rows, months, times
years     whole numbers under the name of a year or date
sum       the sum of all others
"""

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

ID_HEADINGS = {"", "id", "index", "sample", "sample_id", "unnamed: 0"}  # of a first column
ID_NAME = r"(?i)(^|[\W_])(id|ids|nr|index|row|number)$|(^|[ .])no$|entrez|gene_?id|ncbi|pmid"
DATE_NAME = r"(?i)(^|[\W_])(year|yr|date|jahr|datum|année|año)$"
CLASS_NAME = r"(?i)^(class|classes|target|label|labels|y|species|diagnosis|cluster)$"
PERIODS = (1500, 2200), (15000101, 22001231)  # years, and days as 20240131
FEWEST_ROWS, FEWEST_STEPS = 15, 3  # of a count that is no chance, and before it begins again
SUM_TOL = 1e-6  # relative difference from a sum that rounding may leave


class Columns(NamedTuple):
    """Positions of the names (None: numbered), of the features, and of all others, with why."""

    names: int | None
    features: list[int]
    left_out: dict[int, str]


def rows_inspected(n_columns: int) -> int:
    """How many rows decide, so that tables in memory and in blocks are read alike."""
    return min(10_000, max(100, 4_000_000 // max(n_columns, 1)))


def columns(frame: Any, raw: bool = False) -> Columns:
    """What each column of a DataFrame holds; `raw` leaves out text alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from onmf.prepare.columns import columns
    >>> rows = {"customer_id": [7, 9, 8], "milk": [2.5, 0, 1], "town": ["Bonn", "Bonn", "Kiel"]}
    >>> columns(pd.DataFrame(rows))
    Columns(names=0, features=[1], left_out={2: 'text'})
    """
    m, top = frame.shape[1], frame.iloc[: rows_inspected(frame.shape[1])]
    heads = [str(name).strip() for name in frame.columns]
    numeric = [j for j, kind in enumerate(frame.dtypes) if getattr(kind, "kind", "O") in "biuf"]
    X = top.iloc[:, numeric].to_numpy(np.float64, na_value=np.nan)
    ends = {0, m - 1} if bool(((X >= 0) & (X == np.floor(X))).all()) else {*range(m)}  # of counts
    times = Counter(stems := [re.sub(r"\.\d+$", "", name) for name in heads])  # once numbered
    out = dict.fromkeys(sorted({*range(m)} - {*numeric}), "text")
    words = {j: [str(c) for c in top.iloc[:, j].dropna() if c != ""] for j in out}
    for i, j in enumerate(numeric):
        if times[stems[j]] < 2 and (why := _why(X[:, i], heads[j], j in ends)):
            out[j] = why
    ids = [j for j in out if out[j] == "ids" and not raw]
    ids += [j for j, w in words.items() if re.search(ID_NAME, heads[j]) and 2 < len(w) == len({*w})]
    names = min(ids, default=None)
    few = words.get(0, [])[:20]
    named = 4 * len({*few}) > len(few) and (names is None or len({*words[0]}) == len(words[0]))
    if named or (m > 1 and heads[0].lower() in ID_HEADINGS):
        names = 0
    names = names if type(frame.index).__name__ == "RangeIndex" else None  # or there are names
    kept = [i for i, j in enumerate(numeric) if j not in out and j != names]
    while len(kept) > 2:
        with np.errstate(over="ignore", invalid="ignore"):
            total = X[:, kept].sum(axis=1)
            far = np.abs(2 * X[:, kept] - total[:, None]).sum(axis=0)
        sums = np.flatnonzero(far <= SUM_TOL * np.abs(total).sum())
        if not len(sums) or not 0 < np.abs(total).sum() < np.inf:
            break
        out[numeric[kept.pop(sums[0])]] = "the sum of all others"
    if raw or not kept:  # then they are what the table is about
        out = {j: why for j, why in out.items() if why == "text"}
        names = names if raw or names in out else None
    features = [j for j in numeric if j not in out and j != names]
    return Columns(names, features, {j: out[j] for j in sorted(out) if j != names})


def _why(x: Any, name: str, at_end: bool) -> str | None:
    """Why a column of numbers is no feature, if it is none."""
    if len(x) < 3 or np.isnan(x).any():
        return None
    if (x == np.floor(x)).all():
        if re.search(ID_NAME, name) and len(np.unique(x)) == len(x):
            return "ids"
        if at_end and re.search(CLASS_NAME, name) and 1 < len(np.unique(x)) <= np.sqrt(len(x)):
            return "known classes"
        if any(a <= x.min() and x.max() <= b for a, b in PERIODS) and re.search(DATE_NAME, name):
            return "years or dates"
    step = x[1] - x[0]
    if len(x) < FEWEST_ROWS or step == 0 or abs(x[2] - x[1] - step) > 1e-6 * abs(step):
        return None
    again = np.flatnonzero(~np.isclose(np.diff(x), step, rtol=1e-6, atol=0)) + 1
    begun = (x[again] == x[0]).all() and (np.diff([0, *again]) >= FEWEST_STEPS).all()
    return "equal steps" if begun else None
