"""Which columns of a table are measurements, and which say something else about the samples.

names       the first column, if it has such a heading or text that hardly repeats; else ids
ids         different whole numbers or words under the name of an id
classes     few different whole numbers under the name of classes; among counts only at the ends
steps       x_(i+1) = x_i + step, or x_1 again: numbers of rows, months, times
years       whole numbers under the name of a year or date
sum         the sum of all others

Judged by the first rows alone, so that a table in memory and one in blocks are read alike.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

ID_HEADINGS = {"", "id", "index", "sample", "sample_id", "unnamed: 0"}  # of a first column
ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|nr|index|row|number)$|(^|[ .])no$|entrez|gene_?id|ncbi|pmid", re.I
)
DATE_NAME = re.compile(r"(^|[\W_])(year|yr|date|jahr|datum|année|año)$", re.I)
CLASS_NAME = re.compile(r"^(class|classes|target|label|labels|y|species|diagnosis|cluster)$", re.I)
YEARS, DAYS = (1500, 2200), (15000101, 22001231)  # as numbers; days as 20240131
MOST_ROWS, MOST_ENTRIES = 10_000, 4_000_000  # that are looked at
FEWEST_ROWS = 15  # below which one of many features may count by chance
FEWEST_STEPS = 3  # before a count begins again, or 0 and 1 would count
SUM_TOL = 1e-6  # relative difference from a sum that rounding may leave
ROWS_INSPECTED = 20  # enough to tell classes from names


class Columns(NamedTuple):
    """Positions of columns: of the names (None: numbered), of the features, of all others why."""

    names: int | None
    features: list[int]
    left_out: dict[int, str]


def columns(frame: Any, raw: bool = False) -> Columns:
    """What each column of a DataFrame holds; `raw` keeps all columns of numbers but the names.

    Examples
    --------
    >>> import pandas as pd
    >>> from onmf.prepare.columns import columns
    >>> rows = {"customer_id": [7, 9, 8], "milk": [2.5, 0, 1], "town": ["Bonn", "Bonn", "Kiel"]}
    >>> columns(pd.DataFrame(rows))
    Columns(names=0, features=[1], left_out={2: 'text'})
    """
    m = frame.shape[1]
    top = frame.iloc[: min(MOST_ROWS, max(100, MOST_ENTRIES // max(m, 1)))]
    heads = [str(name).strip() for name in frame.columns]
    numeric = [j for j, kind in enumerate(frame.dtypes) if getattr(kind, "kind", "O") in "biuf"]
    found = dict.fromkeys(sorted({*range(m)} - {*numeric}), "text")
    X = top.iloc[:, numeric].to_numpy(np.float64, na_value=np.nan)
    found |= {j: "ids" for j, x in zip(numeric, X.T, strict=True) if _is_id(x, heads[j])}
    words = {j: _words(top.iloc[:, j]) for j in found if found[j] == "text"}
    ids = [j for j, w in words.items() if ID_NAME.search(heads[j]) and 2 < len(w) == len({*w})]
    ids += [j for j, why in found.items() if why == "ids" and not raw]
    names = min(ids, default=None)
    if m > 1 and heads[0].lower() in ID_HEADINGS:
        names = 0
    elif 0 in words and not are_classes(words[0]) and (not ids or len({*words[0]}) == len(top)):
        names = 0
    if type(frame.index).__name__ != "RangeIndex":  # the samples have names
        names = None
    if raw:
        found = {j: why for j, why in found.items() if why == "text"}
    else:
        counts = bool(X.size) and bool((X >= 0).all() and (X == np.floor(X)).all())
        stems = Counter(re.sub(r"\.\d+$", "", name) for name in heads)
        for i, j in enumerate(numeric):
            alone = stems[re.sub(r"\.\d+$", "", heads[j])] < 2
            if alone and (why := _why(X[:, i], heads[j], counts and 0 < j < m - 1)):
                found.setdefault(j, why)
        kept = [i for i, j in enumerate(numeric) if j not in found and j != names]
        while sums := [i for i in kept if len(kept) > 3 and _is_sum(X[:, i], X[:, kept])]:
            found[numeric[sums[0]]] = "the sum of all others"
            kept.remove(sums[0])
    features = [j for j in numeric if j not in found and j != names]
    if not features:  # then they are what the table is about
        features = [j for j in numeric if j != names]
    return Columns(names, features, {j: found[j] for j in sorted(found) if j not in {names, *features}})


def are_classes(words: Any) -> bool:
    """Whether the first words repeat so often that they are classes, or there are none."""
    few = words[:ROWS_INSPECTED]
    return 4 * len({*few}) <= len(few)


def _words(column: Any) -> list[str]:
    return [str(cell) for cell, gap in zip(column, column.isna(), strict=True) if not gap and cell != ""]


def _is_id(x: Any, name: str) -> bool:
    whole = len(x) > 2 and (x == np.floor(x)).all()
    return bool(whole and ID_NAME.search(name) and len(np.unique(x)) == len(x))


def _why(x: Any, name: str, inner_count: bool) -> str | None:
    """Why a column of numbers is no feature, if it is none."""
    if not len(x) or np.isnan(x).any():
        return None
    whole, kinds = bool((x == np.floor(x)).all()), len(np.unique(x))
    if whole and not inner_count and CLASS_NAME.search(name) and 1 < kinds <= np.sqrt(len(x)):
        return "known classes"
    between = any(low <= x.min() and x.max() <= high for low, high in (YEARS, DAYS))
    if whole and len(x) > 2 and between and DATE_NAME.search(name):
        return "years or dates"
    return "equal steps" if _has_equal_steps(x) else None


def _has_equal_steps(x: Any) -> bool:
    if len(x) < FEWEST_ROWS or x[1] == x[0]:
        return False
    step = np.isclose(np.diff(x), x[1] - x[0], rtol=1e-6, atol=0)
    again = np.flatnonzero(~step) + 1
    return bool((x[again] == x[0]).all() and (np.diff([0, *again]) >= FEWEST_STEPS).all())


def _is_sum(x: Any, X: Any) -> bool:
    total = X.sum(axis=1)
    return bool(np.abs(2 * x - total).sum() <= SUM_TOL * np.abs(total).sum())
