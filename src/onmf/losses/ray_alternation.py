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
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.losses.alternation import AlternationState
from onmf.paper.palm import Bounds
from onmf.rows.assign import Code, Rays, one_sparse
from onmf.rows.sweep import Array, Block, Data, row_sqnorm
from onmf.search.outliers import LimitUpdate, OutlierLimit, excess_of
from onmf.search.row_problems import kernels, unit

SPARE = 20  # badly fitted samples looked at for each empty cluster, and then some


class TooFewDirectionsError(ValueError):
    """`found` rays explain every sample, so that no further cluster has anything to explain."""

    def __init__(self, found: int, k: int) -> None:
        self.found, self.k = found, k
        super().__init__(
            f"X has only {found} distinct directions, fewer than n_clusters={k}: ask for fewer "
            "clusters."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.found, self.k)


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

    units: Array  # (m, k)
    limit: OutlierLimit | None = None  # samples beyond it have no cluster

    def __call__(self, block: Block, last: Code | None) -> tuple[Code, ClusterSums]:
        X, weight, k = block.X, block.weight[:, 0], self.units.shape[1]
        code = Code(*kernels().nearest(X @ self.units))
        if self.limit is not None:
            code = self.limit.applied(row_sqnorm(X), code)
        if sp.issparse(X):
            cross = one_sparse(code.labels, code.scores * weight, k).T @ X
        else:  # a sum over the samples, not over samples and clusters
            factors = np.where(code.labels >= 0, code.scores * weight, 0)
            cross = kernels().sums(np.maximum(code.labels, 0), factors, X, k)
        return code, ClusterSums(
            np.ascontiguousarray(cross, np.float64), *tallies(code, last, weight, k)
        )


def tallies(code: Code, last: Code | None, weight: Array, k: int) -> tuple[Array, ...]:
    """Energy, weight, samples and moves of each of k clusters."""
    labels, inside = code.labels, code.labels >= 0
    where, mass = labels[inside], weight[inside].astype(np.float64)
    changed = slice(0) if last is None else labels != last.labels
    both = labels[changed] if last is None else np.append(labels[changed], last.labels[changed])
    return (
        np.bincount(where, mass * np.square(code.scores[inside], dtype=np.float64), k).astype(
            float
        ),
        np.bincount(where, mass, k).astype(float),  # of no samples it counts in whole numbers
        np.bincount(where[mass > 0], minlength=k),
        np.bincount(both[both >= 0], minlength=k),
    )


@dataclass(frozen=True, eq=False)
class RayState(AlternationState):
    """The clustering after a sweep with the centroids W."""

    last_W: Array | None = None  # of the sweep before, and their images
    last_cross: Array | None = None
    limit: OutlierLimit | None = None  # beyond which the samples of this sweep are outliers
    next_limit: OutlierLimit | None = None  # and those of the next
    turn: int = 0  # sweeps before this one

    code_rule: ClassVar[Any] = Rays
    kind_of_cells: ClassVar[Any] = ClusterSums

    def after(self, W: Array, rows: Any, cells: ClusterSums, tol: float) -> "RayState":
        """The state after the next sweep, with the centroids W."""
        residual = kernels().ray_distance(W, self.W)
        settled = residual <= tol and not cells.moves.any() and cells.samples.all()
        before = (self.W, self.cells.cross)
        limits = (self.next_limit, self.next_limit)
        return RayState(W, rows, cells, residual, bool(settled), *before, *limits, self.turn + 1)

    @property
    def stationarity(self) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        images = np.where(self.cells.cross.any(axis=1, keepdims=True), self.cells.cross, self.W)
        return float(kernels().ray_distance(images, self.W))

    def excess(self, data: Data) -> Array | None:
        """By how much each sample is an outlier, above 1 if it is; None if none can be."""
        if self.limit is None:
            return None
        find = partial(excess_of, self.limit)
        return data.gather(data.map_blocks(find, data.row_sqnorms, self.rows))

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        limits = {name: facts[name] for name in ("limit", "next_limit")}
        known = {name: None if one is None else OutlierLimit(*one) for name, one in limits.items()}
        return super().from_facts(facts | known)


@dataclass(frozen=True)
class RayAlternation:
    """The rule of this alternation. Samples beyond the `fence` take no part; `trim` finds it again
    after every sweep."""

    data: Data
    bounds: Bounds
    tol: float
    limit: OutlierLimit | None = None
    trim: LimitUpdate | None = None

    def begin(self, W: Array) -> RayState:
        rows, cells = self.data.sweep(Assign(Rays.of(W).units, self.limit))
        return self._trimmed(RayState(W, rows, cells, limit=self.limit, next_limit=self.limit))

    def after(self, state: RayState) -> RayState:
        W = next_centroids(self.data, state, self.bounds)
        rows, cells = self.data.sweep(Assign(Rays.of(W).units, state.next_limit), state.rows)
        return self._trimmed(state.after(W, rows, cells, self.tol))

    def _trimmed(self, state: RayState) -> RayState:
        if self.trim is None or state.limit is None:
            return state
        limit, same = self.trim.again(self.data, state.rows, state.limit, state.turn)
        return replace(state, next_limit=limit, settled=state.settled and same)

    def error(self, state: RayState) -> float:
        return max(1 - float(state.cells.explained.sum()) / self.data.sqnorm, 0.0)

    def worth(self, state: RayState) -> float:
        """What the clusters explain; where samples may be outliers, beyond the cap as well."""
        if state.limit is None:
            return float(state.cells.explained.sum())
        return float(self.data.reduce_blocks(state.limit.capped, self.data.row_sqnorms, state.rows))

    def beside(self, best: RayState) -> Self:
        return replace(self, limit=best.limit, trim=None)


def next_centroids(data: Data, state: RayState, bounds: Bounds) -> Array:
    """Centroids for the next sweep; none of them stays without samples."""
    U, cells = next_rays(state, bounds.lower < 0), state.cells
    if len(state.empty):
        rows = state.rows
        if state.limit is not None:  # an outlier is no direction for a cluster
            rows = data.map_blocks(state.limit.hidden, data.row_sqnorms, rows)
        U = refill_empty(data, U, state.empty, rows)
    return with_length(
        U, cells.explained / np.where(cells.weight > 0, cells.weight, 1), bounds, data.dtype
    )


def next_rays(state: RayState, signed: bool) -> Array:
    """Rays for the next sweep: doubled steps, and Ritz vectors where no sample moved."""
    W, cells, last_W, last_cross = state.W, state.cells, state.last_W, state.last_cross
    if last_W is None or last_cross is None:
        return unit(cells.cross, otherwise=unit(W.astype(np.float64)))
    return np.asarray(
        kernels().ray_steps(W, cells.cross, last_W, last_cross, cells.moves == 0, signed)
    )


def refill_empty(data: Data, U: Array, empty: Array, rows: Any) -> Array:
    """Give each empty cluster the direction of the sample it helps most, one after the other:

    lost_i = d_i ||x_i||^2 (1 - cos^2(x_i, its nearest ray)),  u_k = x_i / ||x_i||,  i = argmax lost

    `rows` are the codes of the samples; only those of which most is unexplained are looked at.
    """
    U, eps = U.copy(), np.finfo(data.dtype).eps
    find = partial(Worst.of, SPARE + 4 * len(empty), eps)
    worst = data.reduce_blocks(find, data.first, data.row_sqnorms, rows)
    X, weight = data.take(np.sort(worst.numbers))
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    size = np.linalg.norm(X, axis=1, keepdims=True)
    X, weight = X / np.where(size > 0, size, 1), weight[:, 0]
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


def with_length(U: Array, sqnorms: Array, bounds: Bounds, dtype: Any) -> Array:
    """Centroids along the rays U, as long as samples of this energy, within the bounds."""
    length = np.where(sqnorms > 0, np.sqrt(sqnorms), 1)
    if bounds.lower > 0:
        return bounds.clip((U * length[:, None]).astype(dtype))
    high, low = U.max(axis=1), U.min(axis=1)
    over, under = high * length > bounds.upper, low * length < bounds.lower
    length[over] = bounds.upper / high[over]
    length[under] = np.minimum(length[under], bounds.lower / low[under])
    return bounds.clip((U * length[:, None]).astype(dtype, copy=False))
