"""Filled rows for the search, where values are missing.

1. The one ray of all samples, from their observed entries, and missing values from it.
2. A basis V of the rows so filled; then each missing value is what the projection of the row onto V
   has there, twice.

Imputed values are used only to find starting centroids. Values imputed from the rays of a first fit
would repeat in the next search what the first one found.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.missing import (
    AssignMasked,
    Fill,
    FilledView,
    MaskedRays,
    fill_entries,
    mask_missing,
)
from onmf.palm.start import Power
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Data, Matrix, count_missing, same_pattern
from onmf.search.numpy_kernels import unit
from onmf.search.sketch import damping, orthonormal, width

COMMON_RAY_SWEEPS, BASIS_SWEEPS = 2, 2
TYPICAL_CLUSTERS = 10  # where their number is not known yet
PROJECTIONS = 2  # onto the basis, for each block


@dataclass(frozen=True)
class FillByProjection:
    """Missing values from the common ray, then from the projection onto V (m, r)."""

    common: Fill
    V: Array

    def __call__(self, X: Matrix) -> Matrix:
        masked = mask_missing(X)
        if masked is None:
            return X
        full = self.common.within(X, masked)
        for _ in range(PROJECTIONS):
            full = fill_entries(masked, np.asarray(full @ self.V), self.V)
        return full


class LowRankFill(NamedTuple):
    """The one ray of all samples (m,), a basis of them (m, r), and the sweeps they took."""

    common: Array
    V: Array | None
    sweeps: int

    def view(self, data: Data) -> FilledView:
        """The samples without missing values."""
        common = Fill.by(self.common[None].astype(data.dtype))
        return FilledView(data, common if self.V is None else FillByProjection(common, self.V))


def estimate_fill(data: Data, k: int, rng: np.random.Generator, max_sweeps: int) -> LowRankFill:
    """How to fill the samples for a search of k clusters, in at most so many sweeps."""
    (n, m), first = data.shape, min(COMMON_RAY_SWEEPS, max_sweeps)
    # Fewer columns than half of the samples or features: with more, nothing is smoothed.
    r = min(width(k), (n + 1) // 2, (m + 1) // 2)
    V = rng.standard_normal((m, r)).astype(data.dtype)
    common = common_ray(data, first)
    view = FilledView(data, Fill.by(common[None])).with_larger_blocks()
    damp, later = damping(view), min(BASIS_SWEEPS, max_sweeps - first)
    for _ in range(later):
        V = orthonormal(view.sweep(Power(V), damp)[1].cross).astype(data.dtype)
    return LowRankFill(common, V if later else None, first + later)


def common_ray(data: Data, sweeps: int = COMMON_RAY_SWEEPS) -> Array:
    """The one ray of all samples (m,), from equal entries; zero where no sample shows a feature."""
    W = np.ones((1, data.shape[1]), data.dtype)
    for _ in range(sweeps):
        _, sums = data.sweep(AssignMasked(MaskedRays.of(W)))
        W = unit(sums.images(W)).astype(data.dtype)
    return W[0]


def fill_along_common_ray(data: Data) -> FilledView:
    """The samples with missing values from the one ray of all."""
    return FilledView(data, Fill.by(common_ray(data)[None]))


def at_least(X: Matrix, low: float) -> Matrix:
    """X with no stored entry below `low`."""
    return same_pattern(X, np.maximum(X.data, low)) if sp.issparse(X) else np.maximum(X, low)


def filled_copy(X: Matrix) -> Matrix:
    """A copy without missing values; non-negative if X is."""
    data = InMemory(X, n_missing=count_missing(X))
    sweeps, rng = COMMON_RAY_SWEEPS + BASIS_SWEEPS, np.random.default_rng(0)
    view = estimate_fill(data, TYPICAL_CLUSTERS, rng, sweeps).view(data)
    low = 0.0 if data.extremes[0] >= 0 else -np.inf
    parts, _ = view.sweep(lambda block, rows: (at_least(block.X, low), ()))
    return sp.vstack(parts, "csr") if sp.issparse(X) else np.concatenate(parts)
