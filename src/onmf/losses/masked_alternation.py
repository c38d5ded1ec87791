"""The exact alternation on samples with holes, to a fixed point.

    label_i, h_i  by what is seen of the sample (`losses.missing`),
    w_kj = sum_i d_i h_i x_ij / sum_i d_i h_i^2 m_ij  over the samples i of cluster k

Both are exact, so the error over the observed entries never rises. A feature that no sample of a
cluster shows may have any entry there: it gets that of the one ray of all samples.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.alternation import AlternationState
from onmf.losses.missing import (
    Fill,
    FilledView,
    MaskedBlock,
    MaskedCode,
    MaskedRays,
    mask_missing,
    without_noise,
)
from onmf.losses.ray_alternation import refill_empty, tallies, with_length
from onmf.paper.palm import Bounds
from onmf.rows.assign import Code, one_sparse
from onmf.rows.sweep import Array, Block, Data, Matrix
from onmf.search.row_problems import kernels, sums, unit


class MaskedSums(NamedTuple):
    """Additive facts about the clusters, a_i being the score of sample i, h_i its multiple."""

    cross: Array  # sum_i d_i h_i x_i (k, m)
    shown: Array  # sum_i d_i h_i^2 m_i (k, m)
    mass: Array  # sum_i d_i h_i^2 (k,)
    explained: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)
    samples: Array  # how many have weight (k,)
    moves: Array  # how many came or left (k,)


@dataclass(frozen=True)
class AssignMasked:
    """Nearest rays of a block by what is seen, and what the next rays need."""

    rays: MaskedRays

    def __call__(self, block: Block, last: Any) -> tuple[MaskedCode, MaskedSums]:
        weight, k, opened = block.weight[:, 0], self.rays.units.shape[1], mask_missing(block.X)
        code = self.rays.code(block.X, opened)
        X, labels, h = block.X if opened is None else opened.X, code.labels, code.multiples
        inside = labels >= 0
        square = np.square(h[inside], dtype=np.float64) * weight[inside]
        mass = np.bincount(labels[inside], square, k)
        cross = cell_sums(labels, h * weight, X, k)
        shown = np.repeat(mass[:, None], X.shape[1], axis=1)
        if opened is not None:
            shown = shown_sums(labels, h * h * weight, mass, opened)
        tallied = tallies(Code(labels, code.scores), last, weight, k)
        return code, MaskedSums(cross, shown, mass, *tallied)


def shown_sums(labels: Array, factors: Array, mass: Array, opened: MaskedBlock) -> Array:
    """sum_i f_i m_i over the samples of each cluster (k, m); `mass` (k,) is the sum of all f_i."""
    if not sp.issparse(opened.missing):
        return cell_sums(labels, factors, 1 - opened.missing, len(mass))
    hidden = cell_sums(labels, factors.astype(np.float64), opened.missing, len(mass))
    return without_noise(mass[:, None] - hidden, mass[:, None])


def cell_sums(labels: Array, factors: Array, X: Matrix, k: int) -> Array:
    """sum_i f_i x_i over the samples of each of k clusters (k, m); f = 0 in none of them."""
    if sp.issparse(X):
        return np.asarray(one_sparse(labels, factors, k).T @ X, np.float64)
    return np.asarray(sums(np.maximum(labels, 0), factors, X, k), np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedState(AlternationState):
    """The clustering after a sweep with the centroids W."""

    ground: Array  # the one ray of all samples (m,)

    code_rule: ClassVar[Any] = MaskedRays
    kind_of_cells: ClassVar[Any] = MaskedSums

    @property
    def unseen(self) -> Array:
        """The features that no sample of any cluster shows."""
        return np.flatnonzero(~self.cells.shown.any(axis=0))

    def images(self) -> Array:
        """The best centroids (k, m) for the codes, along the ground where nothing is shown."""
        cells, ground, seen = self.cells, self.ground, self.cells.shown > 0
        images = np.where(seen, cells.cross / np.where(seen, cells.shown, 1), 0)
        size = np.where(seen, ground * ground, 0).sum(axis=1)
        along = np.where(size > 0, (images @ ground) / np.where(size > 0, size, 1), 0)
        images = np.where(seen, images, along[:, None] * ground)
        rays = unit(self.W.astype(np.float64))
        return np.where(images.any(axis=1, keepdims=True), images, rays)

    @property
    def stationarity(self) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        return float(kernels().ray_distance(self.images(), self.W))


@dataclass(frozen=True)
class MaskedAlternation:
    """The rule of this alternation; `ground` is the one ray of all samples."""

    data: Data
    ground: Array
    bounds: Bounds
    tol: float

    def begin(self, W: Array) -> MaskedState:
        return MaskedState(W, *self.data.sweep(AssignMasked(MaskedRays.of(W))), ground=self.ground)

    def after(self, state: MaskedState) -> MaskedState:
        W = next_masked(self.data, state, self.bounds)
        rows, cells = self.data.sweep(AssignMasked(MaskedRays.of(W)), state.rows)
        residual = float(kernels().ray_distance(W, state.W))
        settled = residual <= self.tol and not cells.moves.any() and cells.samples.all()
        return MaskedState(W, rows, cells, residual, bool(settled), ground=self.ground)

    def error(self, state: MaskedState) -> float:
        """Over what is observed."""
        return max(1 - self.worth(state) / self.data.sqnorm, 0.0)

    def worth(self, state: MaskedState) -> float:
        """What is explained of the energy that is observed."""
        return float(state.cells.explained.sum())

    def beside(self, best: MaskedState) -> Self:
        return self


def next_masked(data: Data, state: MaskedState, bounds: Bounds) -> Array:
    """Centroids for the next sweep; none of them stays without samples."""
    images, cells = state.images(), state.cells
    # As long as a typical sample would be, were all of it seen: the mean of h^2 is then one.
    size = np.einsum("km,km->k", images, images)
    typical = size * cells.mass / np.where(cells.weight > 0, cells.weight, 1)
    U = unit(images if bounds.lower < 0 else np.maximum(images, 0))
    if len(state.empty):
        U = refill_empty(FilledView(data, Fill.by(state.W)), U, state.empty, state.rows)
    return with_length(U, typical, bounds, data.dtype)
