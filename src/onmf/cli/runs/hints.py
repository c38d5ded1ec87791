"""What looks wrong in a table or in its clusters, said before anybody believes it.

Each function gives sentences for the notes of a run, none if all is well. Rows that stay on disk
are read once for them, part by part.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.cli.runs.inputs import Input
from onmf.io import Source, Table
from onmf.io.formats import can_drop
from onmf.io.source import PART
from onmf.io.table import MOST_LISTED
from onmf.preparation import Depth, Log
from onmf.preparation.steps import feature_squares, sample_totals
from onmf.preparation.texts import WORD
from onmf.rows.sweep import count_missing, zero_missing

Array = NDArray[Any]

MANY = 4  # times as many samples as features: then one may have been taken for the other
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]{1,9}(?:[-.][A-Za-z0-9]{1,6})?")
ACCESSION = re.compile(
    r"ENS[A-Z]*[GT]\d{6}|[NX][MR]_\d+|\d+(_[a-z])?_at$|(hsa|mmu|rno)-(mir|let)-|gene[\W_]?\d",
    re.IGNORECASE,
)
NUMBERING = re.compile(r"(^|[\W_])(id|ids|nr|no|index|row|number)$|entrez|gene_?id|ncbi|pmid", re.I)
NO_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
CLOSE = 1e-6  # relative difference from a sum that rounding may leave
UNEVEN = 2.0  # ratio of the 95th to the 5th percentile of the totals that a logarithm would show
MOST_LOOKED_AT = 50  # features or samples under such a heading
FEW = 10  # samples of a cluster below which its totals say nothing
HEAVY = 0.95  # share of the sum of squares that so few features have that they alone decide:
FEW_HEAVY = 3  # at most so many, and at most half of all
APART = 0.97  # share of pairs of samples, one of each cluster, that are ordered by their totals


def before_fit(source: Input, table: Table) -> list[str]:
    """What to say of a table as it was read."""
    if source.text:
        return [*script(source, table.X)]
    with np.errstate(invalid="ignore"):  # of rows on disk nobody has looked at every entry yet
        totals = totals_of(table.X)
        return [
            *gaps(table, totals),
            *orientation(source, table),
            *sums_of_others(source, table, totals),
            *numbers_of_things(source, table),
            *depth_before(source, totals),
            *units(source, table, totals),
            *single_feature(table),
        ]


def after_fit(source: Input, table: Table, labels: Array, centers: Array) -> list[str]:
    """What to say of the clusters of a table as it was read."""
    return [*depth_after(source, table, labels, centers)]


def script(source: Input, texts: Sequence[str]) -> Iterator[str]:
    """Texts in a script without spaces, of which a "word" would be a whole sentence."""
    some = "".join(text[:500] for text in texts[:200])
    if source.pattern == WORD and 3 * len(NO_SPACES.findall(some)) > len(some):
        yield (
            "these documents are written without spaces between words: --characters counts pairs "
            "of characters instead, or put spaces between the words first."
        )


def gaps(table: Table, totals: "Totals") -> Iterator[str]:
    """Entries without a value."""
    if totals.holes:
        share = totals.holes / np.prod(table.X.shape, dtype=float)
        yield (
            f"{totals.holes} entries ({100 * share:.2g} %) have no value: they count as not "
            "observed, and the error leaves them out."
        )


def orientation(source: Input, table: Table) -> Iterator[str]:
    """Many more rows than columns, and names of rows such as genes have."""
    n, m = table.X.shape
    genes = share_of_genes(table.samples)
    if n >= MANY * m and genes > 0.5 > 2 * share_of_genes(table.features):
        turn = "leave out" if source.transpose else "add"
        names = ", ".join(map(repr, table.samples[:3]))
        yield (
            f"the {n} samples have names of genes ({names}, ...) and there are only {m} features: "
            f"if the genes are the features, {turn} --transpose."
        )


def share_of_genes(names: Sequence[str]) -> float:
    """Share of names that a gene, a transcript, a probe or a micro-RNA could have.

    Symbols are short words with many beginnings, unlike `cell1`, `cell2`.
    """
    if not names:
        return 0.0
    symbols = [name for name in names if SYMBOL.fullmatch(name)]
    beginnings = {re.split(r"[\d.-]", name)[0] for name in symbols}
    genuine = len(symbols) if 5 * len(beginnings) > len(symbols) else 0
    return max(genuine, sum(bool(ACCESSION.match(name)) for name in names)) / len(names)


class Totals(NamedTuple):
    """Sums of every sample and of every feature; whether all entries are whole and not negative.

    And the features' sums of squares, and how many entries have no value; these add nothing.
    """

    samples: Array
    features: Array
    squares: Array
    counts: bool
    holes: int


def totals_of(X: Any) -> Totals:
    """From one reading of X."""
    samples, features, squares, counts, holes = [], *np.zeros((2, X.shape[1])), True, 0
    for block in blocks(X):
        totals = sample_totals(block)
        if np.isnan(totals).any():
            holes, block = holes + count_missing(block), zero_missing(block)
            totals = sample_totals(block)
        samples.append(totals)
        squares += feature_squares(block)
        features += np.asarray(block.sum(axis=0), np.float64).ravel()
        counts = counts and are_counts(block)
    return Totals(np.concatenate(samples), features, squares, counts, holes)


def blocks(X: Any) -> Iterator[Any]:
    """All rows, a moderate number at a time."""
    if isinstance(X, Source):
        return X.parts()
    step = max(1, PART // max(X.shape[1], 1))
    return (X[i : i + step] for i in range(0, X.shape[0], step))


def some_rows(X: Any, numbers: Sequence[int]) -> Array:
    return _dense(X[np.asarray(numbers, int)])


def some_columns(X: Any, numbers: Sequence[int]) -> Array:
    """The same of features, as rows."""
    return np.concatenate([_dense(block[:, list(numbers)]) for block in blocks(X)]).T


def _dense(X: Any) -> Array:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def sums_of_others(source: Input, table: Table, totals: Totals) -> Iterator[str]:
    """Samples and features that are the sum of all others: 2 x_i = sum_i x_i."""
    sides = (
        (some_rows, totals.samples, totals.features, table.samples, "sample"),
        (some_columns, totals.features, totals.samples, table.features, "feature"),
    )
    for take, own, total, names, what in sides:
        size = np.abs(total).sum()
        half = np.flatnonzero(np.isclose(2 * own, total.sum(), rtol=CLOSE))[:MOST_LISTED]
        if len(names) < 3 or not size > 0 or not len(half):
            continue
        for i, row in zip(half.tolist(), take(table.X, half.tolist()), strict=True):
            if np.abs(2 * row - total).sum() <= CLOSE * size:
                yield (
                    f"{what} {names[i]!r} is the sum of all others, and will be clustered like one "
                    f"of them: {leave_out(source, what, names[i])}."
                )


def numbers_of_things(source: Input, table: Table) -> Iterator[str]:
    """Whole numbers, no two the same, under a heading that says they number something."""
    sides = ((some_rows, table.samples, "sample"), (some_columns, table.features, "feature"))
    for take, names, what in sides:
        asked = [i for i, name in enumerate(names) if NUMBERING.search(name)][:MOST_LOOKED_AT]
        for i, row in zip(asked, take(table.X, asked) if asked else (), strict=True):
            if len(row) > 2 and (row == np.floor(row)).all() and len(np.unique(row)) == len(row):
                yield (
                    f"{what} {names[i]!r} looks like numbers of things, not amounts: "
                    f"{leave_out(source, what, names[i])}."
                )


def leave_out(source: Input, what: str, name: str) -> str:
    """How to do without a sample or a feature, which may be a row or a column of the file."""
    row = (what == "sample") != source.transpose
    if can_drop(source.path.name, row):
        return f"leave it out with --drop {name!r}"
    return "take it out of the file"


def depth_before(source: Input, totals: Totals) -> Iterator[str]:
    """Counts whose depth the logarithm turns into a direction."""
    if Log.name not in source.steps or Depth.name in source.steps or not totals.counts:
        return
    low, high = np.percentile(totals.samples, [5, 95])
    if high > UNEVEN * max(low, 1):
        yield (
            f"these are counts whose totals run from {low:.3g} to {high:.3g}: after --log the "
            "depth of a sample is a difference like any other; --cpm takes it away first."
        )


def units(source: Input, table: Table, totals: Totals) -> Iterator[str]:
    """A few features with nearly all of the sum of squares, as large numbers in one unit give."""
    m, total = len(totals.squares), totals.squares.sum()
    few = min(FEW_HEAVY, m // 2)
    if source.steps or m < 3 or not 0 < total < np.inf:
        return
    order = np.argsort(-totals.squares, kind="stable")
    count = int(np.searchsorted(totals.squares[order].cumsum(), HEAVY * total)) + 1
    if count <= few:
        share = totals.squares[order[:count]].sum() / total
        names = ", ".join(repr(table.features[j]) for j in order[:count])
        yield (
            f"{names} alone hold{'s' * (count == 1)} {100 * share:.3g} % of the sum of squares, so "
            "that the other features hardly count: --scale gives every feature the same weight "
            "(measurements in different units), --log tames counts."
        )


def single_feature(table: Table) -> Iterator[str]:
    """One number a sample, as in a table with a line for each sample and feature."""
    if table.X.shape[1] == 1:
        yield (
            f"there is only one feature, {table.features[0]!r}, so that no two samples differ in "
            "direction: a table with one value a line has to become one with a row for each sample "
            "and a column for each feature first."
        )


def depth_after(source: Input, table: Table, labels: Array, centers: Array) -> Iterator[str]:
    """Two clusters, each the nearest to the other, that differ in the totals of their samples."""
    if source.text or Log.name not in source.steps:
        return
    totals = totals_of(table.X).samples
    remedy = "" if Depth.name in source.steps else ": --cpm takes depth away before --log"
    for a, b in mutual_neighbours(centers):
        low, high = sorted((totals[labels == a], totals[labels == b]), key=_median)
        if min(len(low), len(high)) >= FEW and ordered_share(low, high) >= APART:
            border = (low.max() + high.min()) / 2
            yield (
                f"clusters {a} and {b} differ in the totals of their samples, below and above "
                f"{border:.3g}, and may be one kind at two depths{remedy}."
            )


def are_counts(X: Any) -> bool:
    """Whole numbers, not negative."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    return bool(values.min(initial=0) >= 0 and (values == np.floor(values)).all())


def mutual_neighbours(centers: Array) -> list[tuple[int, int]]:
    """Pairs of centroids each of which is the nearest, by angle, to the other."""
    if len(centers) < 2:
        return []
    length = np.linalg.norm(centers, axis=1, keepdims=True)
    W = centers / np.where(length == 0, 1, length)
    cosine = W @ W.T
    np.fill_diagonal(cosine, -np.inf)
    nearest = cosine.argmax(axis=1)
    return [(a, int(b)) for a, b in enumerate(nearest) if a < b and nearest[b] == a]


def ordered_share(low: Array, high: Array) -> float:
    """Share of pairs, one of each side, in which the first is smaller: Mann and Whitney's U."""
    return float(np.searchsorted(np.sort(low), high).mean() / len(low))


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) else 0.0
