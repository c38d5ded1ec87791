"""The exact alternation on the data itself, to a fixed point.

    label_i = argmax_k <w_k, x_i> / ||w_k||,      w_k = leading right singular vector of its samples

One sweep does the first exactly and yields the image S_k w_k of each ray, S_k = sum_i d_i x_i x_i'
over its samples. Two things are better than the plain power step w <- Sw / ||Sw|| and cost nothing:

* where a cluster kept its samples since the last sweep, the two known images give the best vector
  in the span of two rays (Rayleigh-Ritz), if its image stays non-negative;
* elsewhere the step is doubled, v = 2p - w with p = Sw / ||Sw||. As w'Sw is convex, v'Sv >= w'Sw +
  2 ||Sw|| p'(v - w): no loss as long as v is no further from p than w is, so the error never rises.
  A step that would go back on the last one is not doubled: a sample between two clusters could
  change sides with every sweep, and both rays swing with it for hundreds of them.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.alternation import (
    Alternation,
    AlternationState,
    Starts,
    is_still,
    no_membership,
)
from onmf.result import Recorder
from onmf.rows.assign import Code, Rays
from onmf.rows.sweep import Array, Block, Data, Matrix, divisor, row_sqnorm
from onmf.search.numpy_kernels import kernels, unit
from onmf.search.outliers import OutlierLimit
from onmf.search.starts import find_starts

LEAST_ENERGY = 1e-290  # of a sample: less would be lost in sums, or lose its digits
SPARE_CANDIDATES = 20  # badly fitted samples, and four more per empty cluster


class TooFewDirectionsError(ValueError):
    """`found` rays explain every sample, so that no further cluster has anything to explain."""

    def __init__(self, found: int, k: int) -> None:
        self.found, self.k = found, k
        super().__init__(
            f"X has only {found} distinct directions that double precision tells apart, fewer "
            f"than n_clusters={k}: ask for fewer clusters."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.found, self.k)


class KernelRays(Rays):
    """Rays whose products are those of the kernels, in `fit` and in `predict`."""

    def nearest(self, X: Matrix, units: Array) -> Any:
        return kernels().nearest_rays(X.astype(units.dtype, copy=False), units)


class ClusterSums(NamedTuple):
    """Additive facts about the clusters, a_i being the score of sample i on its ray."""

    cross: Array  # sum_i d_i a_i x_i (k, m): the image of each ray
    explained: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)
    samples: Array  # how many have weight (k,)
    moves: Array  # how many came or left (k,)


@dataclass(frozen=True)
class Assign:
    """Nearest rays of a block, and what the next rays need."""

    rays: Rays
    limit: OutlierLimit | None = None

    def __call__(self, block: Block, last: Code | None) -> tuple[Code, ClusterSums]:
        X, weight, k = block.X, block.weight[:, 0], len(self.rays.lengths)
        code = self.rays.code(X)
        if self.limit is not None:
            code = self.limit.applied(row_sqnorm(X), code.scores, code)
        factors = np.where(code.labels >= 0, influence_by_score(code.scores, weight), 0)
        cross = kernels().sums(np.maximum(code.labels, 0), factors, X, k)
        cross = np.ascontiguousarray(cross, np.float64)
        return code, ClusterSums(cross, *tallies(code, last, weight, k))


def influence_by_score(scores: Array, weight: Array) -> Array:
    """d_i a_i, or LEAST_ENERGY / a_i where d_i a_i^2 is less: images must not underflow.

    So short samples of weight have a ray of their own if they are alone in a cluster.
    """
    factors = weight * scores.astype(np.float64)
    short = (factors * scores < LEAST_ENERGY) & (scores > 0) & (weight > 0)
    return np.divide(LEAST_ENERGY, scores, out=factors, where=short, dtype=np.float64)


def tallies(code: Code, last: Code | None, weight: Array, k: int) -> tuple[Array, ...]:
    """Energy, weight, samples and moves of each of k clusters."""
    labels, inside = code.labels, code.labels >= 0
    kept: Any = slice(None) if inside.all() else inside  # a copy takes as long as a sum
    where, mass = labels[kept], weight[kept].astype(np.float64)
    changed = slice(0) if last is None else labels != last.labels
    both = labels[changed] if last is None else np.append(labels[changed], last.labels[changed])
    return (
        np.bincount(where, mass * np.square(code.scores[kept], dtype=np.float64), k).astype(float),
        np.bincount(where, mass, k).astype(float),  # of no samples it counts in whole numbers
        np.bincount(where if mass.all() else where[mass > 0], minlength=k),
        np.bincount(both[both >= 0], minlength=k),
    )


@dataclass(frozen=True)
class SquaresAlternation(Alternation):
    """error = 1 - sum_k explained_k / ||X||^2, over the entries that are observed."""

    def error(self, state: Any) -> float:
        return max(1 - self.explained(state) / self.data.sqnorm, 0.0) if self.data.sqnorm else 0.0

    def loss(self, state: Any) -> float:
        return self.error(state) * self.data.sqnorm

    def explained(self, state: Any) -> float:
        return float(state.sums.explained.sum())


@dataclass(frozen=True)
class RayAlternation(SquaresAlternation):
    """Squares, all entries observed."""

    def assignment(self, W: Array, limit: OutlierLimit | None = None) -> Rays:
        return replace(KernelRays.of(W), limit=limit)

    def starts(
        self, k: int, rng: np.random.Generator, recorder: Recorder, given: Array | None = None
    ) -> Starts:
        tell = partial(recorder.tell, membership=no_membership(self.data, k, self.data.row_sqnorms))
        Ws, small = find_starts(self.settings, self.data, k, rng, given, tell=tell)
        data = self.data.in_double() if small.precise else self.data
        return Starts(Ws, replace(self, data=data), small.sweeps)

    def move(self, W: Array, limit: OutlierLimit | None) -> Assign:
        return Assign(KernelRays.of(W), limit)

    def after(self, state: AlternationState, limit: OutlierLimit | None) -> AlternationState:
        W = self.next_centroids(state)
        rows, sums = self.data.sweep(self.move(W, limit), state.rows)
        residual = kernels().ray_distance(W, state.W)
        still = is_still(residual, self.settings.tol, W.dtype)
        settled = bool(still and not sums.moves.any() and sums.samples.all())
        last = state.W, state.sums.cross
        return AlternationState(W, rows, sums, limit, residual, settled, last)

    def next_centroids(self, state: AlternationState) -> Array:
        """Centroids for the next sweep; none of them stays without samples."""
        U, sums = next_rays(state, self.settings.signed), state.sums
        if len(state.empty):
            rows = without_outlier_loss(self.data, state)
            U = refill_empty(self.data, U, state.empty, rows)
        return with_length(U, sums.explained / divisor(sums.weight), self.data.dtype)

    def stationarity(self, state: AlternationState) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        images = np.where(state.sums.cross.any(axis=1, keepdims=True), state.sums.cross, state.W)
        return float(kernels().ray_distance(images, state.W))


def next_rays(state: AlternationState, signed: bool) -> Array:
    """Rays for the next sweep: doubled steps, and Ritz vectors where no sample moved."""
    W, sums = state.W, state.sums
    if state.last is None:
        return unit(sums.cross, otherwise=unit(W.astype(np.float64)))
    kept = sums.moves == 0
    return np.asarray(kernels().ray_steps(W, sums.cross, *state.last, kept, signed))


def without_outlier_loss(data: Data, state: AlternationState) -> Any:
    """The codes with nothing left to explain of outliers, which are no direction for a cluster."""
    if state.limit is None:
        return state.rows
    return data.map_blocks(explained_in_full, data.row_sqnorms, state.rows)


def explained_in_full(sqnorms: Array, code: Any) -> Any:
    """The codes with all of a sample without a cluster explained."""
    return code._replace(scores=np.where(code.labels < 0, np.sqrt(sqnorms), code.scores))


def refill_empty(data: Data, U: Array, empty: Array, rows: Any) -> Array:
    """Give each empty cluster the direction of the sample it helps most, one after the other:

    lost_i = d_i ||x_i||^2 (1 - cos^2(x_i, its nearest ray)),  u_k = x_i / ||x_i||,  i = argmax lost

    `rows` are the codes of the samples; only those of which most is unexplained are looked at.
    """
    U, eps = U.copy(), np.finfo(data.dtype).eps
    find = partial(Worst.of, SPARE_CANDIDATES + 4 * len(empty), eps)
    worst = data.reduce_blocks(find, data.first, data.row_sqnorms, rows)
    X, weight = data.take(np.sort(worst.numbers))
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    size = np.linalg.norm(X, axis=1, keepdims=True)
    X, weight = X / divisor(size), weight[:, 0]
    for place, k in enumerate(empty):
        others = np.vstack([np.delete(U, empty[place:], axis=0), np.zeros(U.shape[1])])
        near = others[(X @ others.T).argmax(axis=1)]
        rest = X - np.einsum("im,im->i", X, near)[:, None] * near
        sine = np.linalg.norm(rest, axis=1)
        lost = np.where(sine > np.sqrt(eps), weight * np.square(size[:, 0] * sine), 0)
        best = six_digits(lost).argmax()
        if lost[best] <= 0:
            raise TooFewDirectionsError(len(U) - len(empty) + place, len(U))
        U[k] = X[best]
    return U


def six_digits(values: Array) -> Array:
    """To about six digits: of values that differ by rounding alone the first can be chosen."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa, 6), exponent)


@dataclass(frozen=True)
class Worst:
    """The samples of which most is left unexplained, by number; sums keep the worst of both."""

    most: int
    left: Array
    numbers: Array

    @classmethod
    def of(
        cls, most: int, eps: float, weight: Array, first: int, sqnorms: Array, code: Code
    ) -> Self:
        left = sqnorms - np.square(code.scores, dtype=np.float64)
        left = np.where(left > 100 * eps * sqnorms, left * weight[:, 0], 0)  # the rest is rounding
        return cls(most, left, first + np.arange(len(left)))._cut()

    def _cut(self) -> Self:
        order = np.argsort(-six_digits(self.left), kind="stable")[: self.most]
        return replace(self, left=self.left[order], numbers=self.numbers[order])

    def __add__(self, other: Self) -> Self:
        both = np.append(self.left, other.left), np.append(self.numbers, other.numbers)
        return replace(self, left=both[0], numbers=both[1])._cut()


def with_length(U: Array, sqnorms: Array, dtype: Any) -> Array:
    """Centroids along the rays U, as long as samples of this energy."""
    length = np.where(sqnorms > 0, np.sqrt(sqnorms), 1)
    return (U * length[:, None]).astype(dtype, copy=False)
