"""What looks wrong in a table or in its clusters, said before anybody believes it.

Each function gives sentences for the notes of a run, none if all is well.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.cli.runs.inputs import Input
from onmf.io import Source, Table
from onmf.preparation import Depth, Log
from onmf.preparation.steps import WORD, sample_totals

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
FEW = 10  # samples of a cluster below which its totals say nothing
APART = 0.97  # share of pairs of samples, one of each cluster, that are ordered by their totals


def before_fit(source: Input, table: Table) -> list[str]:
    """What to say of a table as it was read."""
    if source.text:
        return [*script(source, table.X)]
    if isinstance(table.X, Source):
        return []
    return [
        *orientation(source, table),
        *rows_of_totals(table.X, table.samples, "sample"),
        *rows_of_totals(table.X.T, table.features, "feature"),
        *numbers_of_things(table),
        *depth_before(source, table),
    ]


def after_fit(
    source: Input, table: Table, labels: NDArray[Any], centers: NDArray[Any]
) -> list[str]:
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


def rows_of_totals(X: Any, names: Sequence[str], what: str) -> Iterator[str]:
    """A row that is the sum of all others: 2 x_i = sum_i x_i."""
    total = np.asarray(X.sum(axis=0), np.float64).ravel()
    size = np.abs(total).sum()
    if len(names) < 3 or not size > 0:
        return
    half = np.isclose(2 * sample_totals(X), total.sum(), rtol=CLOSE)
    for i in np.flatnonzero(half).tolist():
        row = X[[i]].toarray().ravel() if sp.issparse(X) else np.asarray(X[i])
        if np.abs(2 * row - total).sum() <= CLOSE * size:
            yield (
                f"{what} {names[i]!r} is the sum of all others, and will be clustered like one of "
                f"them: leave it out with --drop {names[i]!r}."
            )


def numbers_of_things(table: Table) -> Iterator[str]:
    """Whole numbers, no two the same, under a heading that says they number something."""
    for X, names, what in (
        (table.X, table.samples, "sample"),
        (table.X.T, table.features, "feature"),
    ):
        for i, name in enumerate(names):
            if not NUMBERING.search(name):
                continue
            row = X[[i]].toarray().ravel() if sp.issparse(X) else np.asarray(X[i])
            if len(row) > 2 and (row == np.floor(row)).all() and len(np.unique(row)) == len(row):
                yield (
                    f"{what} {name!r} looks like numbers of things, not amounts: leave it out with "
                    f"--drop {name!r}."
                )


def depth_before(source: Input, table: Table) -> Iterator[str]:
    """Counts whose depth the logarithm turns into a direction."""
    if Log.name not in source.steps or Depth.name in source.steps or not are_counts(table.X):
        return
    low, high = np.percentile(sample_totals(table.X), [5, 95])
    if high > UNEVEN * max(low, 1):
        yield (
            f"these are counts whose totals run from {low:.3g} to {high:.3g}: after --log the "
            "depth of a sample is a difference like any other; --cpm takes it away first."
        )


def depth_after(
    source: Input, table: Table, labels: NDArray[Any], centers: NDArray[Any]
) -> Iterator[str]:
    """Two clusters, each the nearest to the other, that differ in the totals of their samples."""
    if isinstance(table.X, Source) or source.text or Log.name not in source.steps:
        return
    totals = sample_totals(table.X)
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
    """Whole numbers, not negative, in memory."""
    if isinstance(X, Source):
        return False
    values = X.data if sp.issparse(X) else np.asarray(X)
    return bool(values.size and values.min() >= 0 and (values == np.floor(values)).all())


def mutual_neighbours(centers: NDArray[Any]) -> list[tuple[int, int]]:
    """Pairs of centroids each of which is the nearest, by angle, to the other."""
    if len(centers) < 2:
        return []
    length = np.linalg.norm(centers, axis=1, keepdims=True)
    W = centers / np.where(length == 0, 1, length)
    cosine = W @ W.T
    np.fill_diagonal(cosine, -np.inf)
    nearest = cosine.argmax(axis=1)
    return [(a, int(b)) for a, b in enumerate(nearest) if a < b and nearest[b] == a]


def ordered_share(low: NDArray[Any], high: NDArray[Any]) -> float:
    """Share of pairs, one of each side, in which the first is smaller: Mann and Whitney's U."""
    return float(np.searchsorted(np.sort(low), high).mean() / len(low))


def _median(values: NDArray[Any]) -> float:
    return float(np.median(values)) if len(values) else 0.0
