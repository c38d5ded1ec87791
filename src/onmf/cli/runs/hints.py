"""What looks wrong in a table or in its clusters, said before anybody believes it.

Each function gives sentences for the notes of a run, none if all is well.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.cli.runs.inputs import Input
from onmf.io import Source, Table
from onmf.preparation import Depth, Log
from onmf.preparation.steps import sample_totals

UNEVEN = 2.0  # ratio of the 95th to the 5th percentile of the totals that a logarithm would show
FEW = 10  # samples of a cluster below which its totals say nothing
APART = 0.97  # share of pairs of samples, one of each cluster, that are ordered by their totals


def before_fit(source: Input, table: Table) -> list[str]:
    """What to say of a table as it was read."""
    return [*depth_before(source, table)]


def after_fit(
    source: Input, table: Table, labels: NDArray[Any], centers: NDArray[Any]
) -> list[str]:
    """What to say of the clusters of a table as it was read."""
    return [*depth_after(source, table, labels, centers)]


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
