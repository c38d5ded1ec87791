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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from onmf.core.assign import Code, Rays, labels_of, one_sparse
from onmf.core.fast.outliers import Fence, Trim, excess_of
from onmf.core.fast.row_problems import kernels, unit
from onmf.core.paper.palm import Bounds
from onmf.core.rows import Array, Block, Data, row_sqnorm

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


class Cells(NamedTuple):
    """Additive facts about the clusters, a_i being the score of sample i on its ray."""

    cross: Array  # sum_i d_i a_i x_i (k, m): the image of each ray
    energy: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)
    samples: Array  # how many have weight (k,)
    moves: Array  # how many came or left (k,)


@dataclass(frozen=True)
class Assign:
    """Nearest rays of a block, and what the next rays need."""

    units: Array  # (m, k)
    fence: Fence | None = None  # samples beyond it have no cluster

    def __call__(self, block: Block, last: Code | None) -> tuple[Code, Cells]:
        X, weight, k = block.X, block.weight[:, 0], self.units.shape[1]
        code = Code(*kernels().nearest(X @ self.units))
        if self.fence is not None:
            code = self.fence.applied(row_sqnorm(X), code)
        if sp.issparse(X):
            cross = one_sparse(code.labels, code.scores * weight, k).T @ X
        else:  # a sum over the samples, not over samples and clusters
            factors = np.where(code.labels >= 0, code.scores * weight, 0)
            cross = kernels().sums(np.maximum(code.labels, 0), factors, X, k)
        return code, Cells(np.ascontiguousarray(cross, np.float64), *tallies(code, last, weight, k))


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


class State(NamedTuple):
    """The clustering after a sweep with the centroids W."""

    W: Array
    rows: Any  # the codes, wherever the rows are
    cells: Cells
    residual: float = np.inf  # how far the rays moved before this sweep
    settled: bool = False  # hardly, and no label changed
    last_W: Array | None = None  # of the sweep before, and their images
    last_cross: Array | None = None
    fence: Fence | None = None  # beyond which the samples of this sweep are outliers
    turn: int = 0  # sweeps before this one

    def after(
        self, W: Array, rows: Any, cells: Cells, tol: float, fence: Fence | None = None
    ) -> "State":
        """The state after the next sweep, with the centroids W."""
        residual = kernels().ray_distance(W, self.W)
        settled = residual <= tol and not cells.moves.any() and cells.samples.all()
        before = (self.W, self.cells.cross)
        return State(W, rows, cells, residual, bool(settled), *before, fence, self.turn + 1)

    @property
    def empty(self) -> Array:
        """The clusters without samples."""
        return np.flatnonzero(self.cells.samples == 0)

    @property
    def stationarity(self) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        images = np.where(self.cells.cross.any(axis=1, keepdims=True), self.cells.cross, self.W)
        return float(kernels().ray_distance(images, self.W))

    def worth(self, data: Data) -> float:
        """What the clusters explain; where samples may be outliers, beyond the cap as well."""
        if self.fence is None:
            return float(self.cells.energy.sum())
        return float(data.total(self.fence.capped, data.energy, self.rows))

    def excess(self, data: Data) -> Array | None:
        """By how much each sample is an outlier, above 1 if it is; None if none can be."""
        if self.fence is None:
            return None
        find = partial(excess_of, self.fence)
        return data.gather(data.each(find, data.energy, self.rows))

    def labels(self, data: Data) -> Array:
        """Of all samples."""
        return data.gather(data.each(labels_of, self.rows))

    def membership(self, data: Data) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        return data.array(len(self.W), Rays.of(self.W).memberships, self.rows)

    def facts(self) -> dict[str, Any]:
        """All but the codes, which one sweep with W gives again."""
        return self._asdict() | {"rows": None, "cells": self.cells._asdict()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        known = {name: facts[name] for name in cls._fields}
        fence = None if facts["fence"] is None else Fence(*facts["fence"])
        return cls(**known | {"cells": Cells(**facts["cells"]), "fence": fence})


def settle(
    data: Data,
    W: Array,
    bounds: Bounds,
    tol: float,
    sweeps: int,
    watch: Callable[[State], bool] = lambda state: False,
    since: State | None = None,
    fence: Fence | None = None,
    trim: Trim | None = None,
) -> State:
    """Alternate from W for at most `sweeps` sweeps; `watch(state)` may stop earlier.

    `since` is the state with these W of an alternation that was broken off; it lacks the codes.
    Samples beyond the `fence` take no part; `trim` finds it again after every sweep.
    """
    rows, cells = data.sweep(Assign(Rays.of(W).units, fence))
    state = State(W, rows, cells, fence=fence) if since is None else since._replace(rows=rows)
    for _ in range(sweeps - 1):
        if trim is not None and state.fence is not None:
            fence, same = trim.again(data, state.rows, state.fence, state.turn)
            state = state._replace(settled=state.settled and same)
        if watch(state) or state.settled:
            return state
        W = next_centroids(data, state, bounds)
        moved = data.sweep(Assign(Rays.of(W).units, fence), state.rows)
        state = state.after(W, *moved, tol, fence)
    watch(state)
    return state


def next_centroids(data: Data, state: State, bounds: Bounds) -> Array:
    """Centroids for the next sweep; none of them stays without samples."""
    U, cells = next_rays(state, bounds.lower < 0), state.cells
    if len(state.empty):
        rows = state.rows
        if state.fence is not None:  # an outlier is no direction for a cluster
            rows = data.each(state.fence.hidden, data.energy, rows)
        U = refill(data, U, state.empty, rows)
    return stretched(
        U, cells.energy / np.where(cells.weight > 0, cells.weight, 1), bounds, data.dtype
    )


def next_rays(state: State, signed: bool) -> Array:
    """Rays for the next sweep: doubled steps, and Ritz vectors where no sample moved."""
    W, cells, last_W, last_cross = state.W, state.cells, state.last_W, state.last_cross
    if last_W is None or last_cross is None:
        return unit(cells.cross, otherwise=unit(W.astype(np.float64)))
    return np.asarray(
        kernels().ray_steps(W, cells.cross, last_W, last_cross, cells.moves == 0, signed)
    )


def refill(data: Data, U: Array, empty: Array, rows: Any) -> Array:
    """Give each empty cluster the direction of the sample it helps most, one after the other:

    lost_i = d_i ||x_i||^2 (1 - cos^2(x_i, its nearest ray)),  u_k = x_i / ||x_i||,  i = argmax lost

    `rows` are the codes of the samples; only those of which most is unexplained are looked at.
    """
    U, eps = U.copy(), np.finfo(data.dtype).eps
    find = partial(Worst.of, SPARE + 4 * len(empty), eps)
    worst = data.total(find, data.first, data.energy, rows)
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
        cls, most: int, eps: float, weight: Array, first: int, energy: Array, code: Code
    ) -> Self:
        left = energy - np.square(code.scores, dtype=np.float64)
        left = np.where(left > 100 * eps * energy, left * weight[:, 0], 0)  # the rest is rounding
        return cls(most, left, first + np.arange(len(left)))._cut()

    def _cut(self) -> Self:
        order = np.argsort(-six_digits(self.left), kind="stable")[: self.most]
        return replace(self, left=self.left[order], numbers=self.numbers[order])

    def __add__(self, other: Self) -> Self:
        both = np.append(self.left, other.left), np.append(self.numbers, other.numbers)
        return replace(self, left=both[0], numbers=both[1])._cut()


def stretched(U: Array, energy: Array, bounds: Bounds, dtype: Any) -> Array:
    """Centroids along the rays U, as long as samples of this energy, within the bounds."""
    length = np.where(energy > 0, np.sqrt(energy), 1)
    if bounds.lower > 0:
        return bounds.clip((U * length[:, None]).astype(dtype))
    high, low = U.max(axis=1), U.min(axis=1)
    over, under = high * length > bounds.upper, low * length < bounds.lower
    length[over] = bounds.upper / high[over]
    length[under] = np.minimum(length[under], bounds.lower / low[under])
    return bounds.clip((U * length[:, None]).astype(dtype, copy=False))
