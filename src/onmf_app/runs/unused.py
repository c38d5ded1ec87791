"""Features that say which sample a row is, not what it is like: left out unless --raw is given.

steps       x_(i+1) = x_i + step, or x_1 again: numbers of rows, months, years, times
ids         different whole numbers under the name of an id
years       whole numbers under the name of a year or date
sum         the sum of all other features
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
from onmf.prepare.expression import are_counts_of_events

from onmf.rows import Array, Table, listing
from onmf_app.read.formats import can_drop
from onmf_app.runs.inputs import Input

ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|nr|index|row|number)$|(^|[ .])no$|entrez|gene_?id|ncbi|pmid", re.I
)
DATE_NAME = re.compile(r"(^|[\W_])(year|yr|date|jahr|datum|année|año)$", re.I)
YEARS, DAYS = (1500, 2200), (15000101, 22001231)  # as numbers; days as 20240131
FEWEST_ROWS = 15  # below which one of many features may count by chance
FEWEST_STEPS = 3  # before a count begins again, or 0 and 1 would count
SUM_TOL = 1e-6  # relative difference from a sum that rounding may leave


def without_unused(source: Input, table: Table) -> tuple[Input, Table, list[str]]:
    """The input and its table without such features, and a note that names them."""
    given = source.raw or source.text or source.describe or source.images
    if given or not isinstance(table.X, np.ndarray) or are_counts_of_events(table.X):
        return source, table, []
    row = bool(source.transpose)
    if not can_drop(source.path.name, row):
        return source, table, []
    found = unused_features(table.X, table.features)
    stems = Counter(map(_stem, table.features))
    found = {j: why for j, why in found.items() if stems[_stem(table.features[j])] < 2}
    if not found or len(found) == len(table.features):
        return source, table, []
    kept = [j for j in range(len(table.features)) if j not in found]
    names = {why: [table.features[j] for j in found if found[j] == why] for why in found.values()}
    said = "; ".join(f"{listing(map(repr, some))} ({why})" for why, some in names.items())
    left = table._replace(X=table.X[:, kept], features=[table.features[j] for j in kept])
    source = replace(source, drop=(*source.drop, *(table.features[j] for j in found)))
    return source, left, [f"left out as no measurements: {said}; --raw keeps them."]


def _stem(name: str) -> str:
    """A name without the number by which it is the only one (`number_features`)."""
    return re.sub(r"\.\d+$", "", name)


def unused_features(X: Array, names: list[str]) -> dict[int, str]:
    """The numbers of these features, and why they are left out."""
    found = {}
    for j, name in enumerate(names):
        if why := _why(X[:, j], name):
            found[j] = why
    others = [j for j in range(len(names)) if j not in found]
    totals = X[:, others].sum(axis=1)
    for j in others if len(others) > 2 else ():
        if np.abs(2 * X[:, j] - totals).sum() <= SUM_TOL * np.abs(totals).sum():
            found[j] = "the sum of all others"
    return found


def _why(x: Array, name: str) -> str | None:
    if np.isnan(x).any():
        return None
    if has_equal_steps(x):
        return "equal steps"
    whole = len(x) > 2 and (x == np.floor(x)).all()
    if whole and ID_NAME.search(name) and len(np.unique(x)) == len(x):
        return "ids"
    between = any(low <= x.min() and x.max() <= high for low, high in (YEARS, DAYS))
    return "years or dates" if whole and between and DATE_NAME.search(name) else None


def has_equal_steps(x: Array) -> bool:
    """Whether each entry is the one before it plus the same step, or the first one again."""
    if len(x) < FEWEST_ROWS or x[1] == x[0]:
        return False
    step = x[1] - x[0]
    next_ = np.isclose(np.diff(x), step, rtol=1e-6, atol=0)
    again = np.flatnonzero(~next_) + 1
    runs = np.diff(np.concatenate([[0], again]))
    return bool((x[again] == x[0]).all() and (runs >= FEWEST_STEPS).all())
