"""Measurements in different units: how they are recognised, and made comparable by default.

    s_j = sum_i x_ij^2,   (s_(1) + ... + s_(c)) / sum_j s_j >= 0.95,   c <= 3 and c <= m / 2

A few features with the largest numbers, proline in milligrams beside alcohol in percent, then
decide the clusters alone. Scaled, all features do (`make bench ONLY=units`).
"""

from typing import Any, NamedTuple

import numpy as np

from onmf.prepare.arrays import feature_squares, parts_of
from onmf.prepare.expression import are_counts_of_events
from onmf.prepare.steps import Rescale
from onmf.rows.table import Array

# 0.9 to 0.99, and 3 to 5 features, gain the same on 28 tables; with 1 feature a third is lost.
DOMINANT_SHARE = 0.95
MOST_DOMINANT = 3


class Dominant(NamedTuple):
    """The few features with nearly all of the sum of squares, and their share of it."""

    features: list[int]
    share: float


def dominant_features(squares: Array) -> Dominant | None:
    """These features, given s_j; None if there are none."""
    m, total = len(squares), squares.sum()
    if m < 3 or not 0 < total < np.inf:
        return None
    order = np.argsort(-squares, kind="stable")
    shares = squares[order].cumsum() / total
    count = int(np.searchsorted(shares, DOMINANT_SHARE)) + 1
    if count > min(MOST_DOMINANT, m // 2):
        return None
    return Dominant(order[:count].tolist(), float(shares[count - 1]))


def default_scaling(X: Any) -> dict[str, dict[str, Any]]:
    """`Rescale` for measurements in different units; nothing for counts of events and scores.

    Counts have one unit. Features that dominate and have both signs are principal components or
    entries of an embedding, whose sizes mean something. Judged by the first part of rows on disk.
    """
    part = next(iter(parts_of(X)), None)
    if not isinstance(part, np.ndarray) or not part.size or are_counts_of_events(part):
        return {}
    with np.errstate(over="ignore"):  # the entries are not checked yet
        found = dominant_features(feature_squares(part))
    if found is None:
        return {}
    largest = part[:, found.features]
    signed = ((np.fmin.reduce(largest) < 0) & (np.fmax.reduce(largest) > 0)).any()
    return {} if signed else {Rescale.name: {}}
