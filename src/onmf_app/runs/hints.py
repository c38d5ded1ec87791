"""Notes on what looks wrong in a table or in its clusters.

Each function yields sentences, none if all is well. Rows on disk are read once for them, in parts.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.prepare import Depth, Log, Rescale, Tfidf
from onmf.prepare.arrays import feature_squares, sample_totals
from onmf.prepare.batches import batch_sentence
from onmf.prepare.genes import dates, rows_are_genes, share_of_genes
from onmf.prepare.units import dominant_features
from onmf.rows import (
    ENTRIES_PER_PART,
    MOST_LISTED,
    Array,
    Source,
    Table,
    count_missing,
    listing,
    zero_missing,
)
from onmf_app.runs.inputs import Input, can_drop
from onmf_app.runs.text_hints import about_texts, uncounted_texts

SUM_TOL = 1e-6  # relative difference from a sum that rounding may leave
UNEVEN_DEPTH = 2.0  # ratio of the 95th to the 5th percentile of totals that a logarithm shows
FEWEST_FOR_DEPTH = 10  # samples of a cluster, below which its totals are too uncertain
DEPTH_SEPARATION = 0.97  # share of pairs of samples of two clusters that their totals order


def before_fit(source: Input, table: Table, signed: bool = True) -> list[str]:
    """Notes on a table as it was read; on negative entries only if they are taken."""
    if source.text:
        return about_texts(source, table.X)
    with np.errstate(invalid="ignore", over="ignore"):  # the entries are not checked yet
        totals = totals_of(table.X)
        refusing = {Depth.name, Log.name, Tfidf.name} & {*source.steps}  # of negative entries
        return [
            *missing_entries(table, totals),
            *(negative_entries(table, totals) if signed and not refusing else ()),
            *orientation(source, table),
            *dates_of_genes(table),
            *sums_of_others(source, table, totals),
            *depth_before(source, totals),
            *units(source, table, totals),
            *single_feature(table),
        ]


def missing_entries(table: Table, totals: "Totals") -> Iterator[str]:
    """Entries without a value."""
    if totals.n_missing:
        share = totals.n_missing / np.prod(table.X.shape, dtype=float)
        yield (
            f"{100 * share:.2g} % of the entries ({totals.n_missing}) have no value: they are "
            "treated as missing, and the error does not count them."
        )


def negative_entries(table: Table, totals: "Totals") -> Iterator[str]:
    """Entries below zero, which a cluster's direction may then have, too."""
    if totals.n_negative:
        share = totals.n_negative / np.prod(table.X.shape, dtype=float)
        yield (
            f"{100 * share:.2g} % of the entries are negative: a cluster is a direction of any "
            "sign, as is right for embeddings and log ratios; of centred or standardised values, "
            "cluster the original ones."
        )


def orientation(source: Input, table: Table) -> Iterator[str]:
    """Genes as samples, if the user said what rows are, or the format does."""
    if rows_are_genes(table.samples, table.features):
        turn = "leave out --transpose" if source.transpose else "use --transpose"
        names = ", ".join(map(repr, table.samples[:3]))
        yield (
            f"the {len(table.samples)} samples have names of genes ({names}, ...), but there are "
            f"only {len(table.features)} features: if the genes are the features, {turn}."
        )


def dates_of_genes(table: Table) -> Iterator[str]:
    """Names such as 1-Mar, which a spreadsheet made of MARCH1."""
    for names, what in ((table.features, "features"), (table.samples, "samples")):
        if share_of_genes(names) > 0.5 and (found := dates(names)):
            yield (
                f"{what} {listing(map(repr, found))} may be genes that a spreadsheet turned into "
                "dates (MARCH1 into 1-Mar): read the original file to name them."
            )


class Totals(NamedTuple):
    """Sums over samples and features; missing entries count as zero."""

    samples: Array  # sum_j x_ij
    features: Array  # sum_i x_ij
    squares: Array  # sum_i x_ij^2
    counts: bool  # whether all entries are whole and not negative
    n_missing: int
    n_negative: int


def totals_of(X: Any) -> Totals:
    """The totals, by one read of X."""
    samples, features, squares, counts = [], *np.zeros((2, X.shape[1])), True
    n_missing = n_negative = 0
    for block in blocks(X):
        totals = sample_totals(block)
        if np.isnan(totals).any():
            n_missing, block = n_missing + count_missing(block), zero_missing(block)
            totals = sample_totals(block)
        samples.append(totals)
        squares += feature_squares(block)
        features += np.asarray(block.sum(axis=0), np.float64).ravel()
        values = block.data if sp.issparse(block) else np.asarray(block)
        if values.min(initial=0) < 0:
            n_negative += int((values < 0).sum())
        counts = counts and not n_negative and bool((values == np.floor(values)).all())
    return Totals(np.concatenate(samples), features, squares, counts, n_missing, n_negative)


def blocks(X: Any) -> Iterator[Any]:
    """All rows, in blocks of moderate size."""
    if isinstance(X, Source):
        return X.parts()
    step = max(1, ENTRIES_PER_PART // max(X.shape[1], 1))
    return (X[i : i + step] for i in range(0, X.shape[0], step))


def some_rows(X: Any, numbers: Sequence[int]) -> Array:
    """The samples with these numbers."""
    return _dense(X[np.asarray(numbers, int)])


def some_columns(X: Any, numbers: Sequence[int]) -> Array:
    """The features with these numbers, as rows."""
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
        with np.errstate(over="ignore"):
            size = np.abs(total).sum()
        if not np.isfinite(size):  # sums of numbers near the largest there are say nothing
            continue
        half = np.flatnonzero(np.abs(2 * own - total.sum()) <= SUM_TOL * size)[:MOST_LISTED]
        if len(names) < 3 or not size > 0 or not len(half):
            continue
        for i, row in zip(half.tolist(), take(table.X, half.tolist()), strict=True):
            if np.abs(2 * row - total).sum() <= SUM_TOL * size:
                yield (
                    f"{what} {names[i]!r} is the sum of all others, but is clustered like one of "
                    f"them: {leave_out(source, what, names[i])}."
                )


def leave_out(source: Input, what: str, name: str) -> str:
    """How to leave out a sample or feature, which may be a row or a column of the file."""
    row = (what == "sample") != bool(source.transpose)
    if can_drop(source.path.name, row):
        return f"leave it out with --drop {name!r}"
    return "remove it from the file"


def depth_before(source: Input, totals: Totals) -> Iterator[str]:
    """Counts of uneven depth, which the logarithm turns into a difference of direction."""
    if Log.name not in source.steps or Depth.name in source.steps or not totals.counts:
        return
    low, high = np.percentile(totals.samples, [5, 95])
    if high > UNEVEN_DEPTH * max(low, 1):
        yield (
            f"these are counts with totals from {low:.3g} to {high:.3g}, and after --log depth is "
            "a difference between samples: add --cpm to remove it first."
        )


def units(source: Input, table: Table, totals: Totals) -> Iterator[str]:
    """A few features with nearly all of the sum of squares, as from different units."""
    found = dominant_features(totals.squares)
    if found is None or {*source.steps} - {Rescale.name}:
        return
    names = ", ".join(repr(table.features[j]) for j in found.features)
    has = "has" if len(found.features) == 1 else "have"
    remedy = (
        "as in different units: every feature gets the same weight (--scale); --raw leaves the "
        "numbers as they are."
        if Rescale.name in source.steps
        else "so other features hardly count: use --scale for measurements in different units, "
        "--log for counts."
    )
    yield f"{names} alone {has} {100 * found.share:.3g} % of the sum of squares, {remedy}"


def single_feature(table: Table) -> Iterator[str]:
    """One number per sample, as in a table with a line for each sample and feature."""
    if table.X.shape[1] == 1:
        yield (
            f"there is only one feature, {table.features[0]!r}, so all samples have the same "
            "direction: a table with one value per line needs a row for each sample and a column "
            "for each feature."
        )


def after_fit(source: Input, raw: Table, table: Table, labels: Array, centers: Array) -> list[str]:
    """Notes on the clusters of a table, before and after its steps."""
    if source.text:
        return [*uncounted_texts(raw, table)]
    return depth_again(source, raw, labels, centers) if Log.name in source.steps else []


def depth_again(source: Input, raw: Table, labels: Array, centers: Array) -> list[str]:
    """Clusters that are each other's nearest and differ only in sequencing depth."""
    totals, said = totals_of(raw.X).samples, []
    remedy = "" if Depth.name in source.steps else ": add --cpm to remove depth before --log"
    for a, b in mutual_neighbours(centers):
        sides = totals[labels == a], totals[labels == b]
        if min(map(len, sides)) < FEWEST_FOR_DEPTH:
            continue
        low, high = sorted(sides, key=np.median)
        if ordered_share(low, high) >= DEPTH_SEPARATION:
            border = (low.max() + high.min()) / 2
            said.append(
                f"clusters {a} and {b} differ in the totals of their samples, below and above "
                f"{border:.3g}, and may be one kind at two depths{remedy}."
            )
    return said


def batch_notes(labels: Any, batches: list[str], centered: bool) -> list[str]:
    """What is said of clusters that are batches."""
    said = batch_sentence(labels, batches)
    remedy = "" if centered else ": --center-batches removes differences of their means"
    return [] if said is None else [f"{said}{remedy}."]


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
