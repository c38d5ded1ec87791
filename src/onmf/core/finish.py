"""The exact alternation on the data itself, to a fixed point.

    label_i = argmax_k <w_k, x_i> / ||w_k||,      w_k = leading right singular vector of its samples

One sweep does the first exactly and yields the image S_k w_k of each ray, S_k = sum_i d_i x_i x_i'
over its samples. Two things are better than the plain power step w <- Sw / ||Sw|| and cost nothing:

* where a cluster kept its samples since the last sweep, the two known images give the best vector
  in the span of two rays (Rayleigh-Ritz);
* elsewhere the step is doubled, v = 2p - w with p = Sw / ||Sw||. As w'Sw is convex, v'Sv >= w'Sw +
  2 ||Sw|| p'(v - w): no loss as long as v is no further from p than w is, so the error never rises.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.core.assign import Code, Rays, labels_of
from onmf.core.blocks import Block, Data
from onmf.core.palm import Bounds
from onmf.core.search import unit

Array = NDArray[Any]

SPARE = 20  # badly fitted samples looked at for each empty cluster, and then some


class Cells(NamedTuple):
    """Additive facts about the clusters, a_i being the score of sample i on its ray."""

    cross: Array  # sum_i d_i a_i x_i (k, m): the image of each ray
    energy: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)
    samples: Array  # how many have weight (k,)
    moves: Array  # how many came or left (k,)
    changes: int  # labels that changed


@dataclass(frozen=True)
class Assign:
    """Nearest rays of a block, and what the next rays need."""

    rays: Rays

    def __call__(self, block: Block, last: Code | None) -> tuple[Code, Cells]:
        code, k = self.rays.nearest(block.X), len(self.rays.lengths)
        labels, pull = code.labels, code.scores * block.weight[:, 0]
        inside = labels >= 0
        where, weight = labels[inside], block.weight[inside, 0].astype(np.float64)
        H = np.zeros((len(labels), k), pull.dtype)
        H[np.arange(len(labels)), labels] = pull  # label -1 has no pull
        changed = slice(0) if last is None else labels != last.labels
        both = labels[changed] if last is None else np.append(labels[changed], last.labels[changed])
        return code, Cells(
            np.asarray(H.T @ block.X, np.float64),
            np.bincount(where, weight * np.square(code.scores[inside], dtype=np.float64), k),
            np.bincount(where, weight, k),
            np.bincount(where[weight > 0], minlength=k),
            np.bincount(both[both >= 0], minlength=k),
            len(both) // 2,
        )


class State(NamedTuple):
    """The clustering after a sweep with the centroids W."""

    W: Array
    rows: Any  # the codes, wherever the rows are
    cells: Cells
    residual: float  # how far the rays moved before this sweep
    settled: bool  # hardly, and no label changed

    @property
    def empty(self) -> Array:
        return np.flatnonzero(self.cells.samples == 0)

    @property
    def stationarity(self) -> float:
        """How far the rays are from their own images: zero at a fixed point."""
        rays = unit(self.W.astype(np.float64))
        return distance(unit(self.cells.cross, otherwise=rays), rays)

    def labels(self, data: Data) -> Array:
        """Of all samples."""
        return data.gather(data.each(labels_of, self.rows))

    def membership(self, data: Data) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        rays = Rays.of(self.W)
        return data.array(len(self.W), rays.memberships, self.rows)

    def facts(self) -> dict[str, Any]:
        """All but the codes, which one sweep with W gives again."""
        return self._asdict() | {"rows": None, "cells": self.cells._asdict()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any], rows: Any = None) -> Self:
        return cls(**facts | {"rows": rows, "cells": Cells(**facts["cells"])})


class Since(NamedTuple):
    """The last two sweeps of an alternation that was broken off."""

    before: State | None
    state: State

    def facts(self) -> dict[str, Any]:
        before = None if self.before is None else self.before.facts()
        return {"before": before, "state": self.state.facts()}

    @classmethod
    def from_facts(cls, data: Data, facts: dict[str, Any]) -> Self:
        """As it was; one sweep gives the codes again."""
        before, state = facts["before"], facts["state"]
        rows, _ = data.sweep(Assign(Rays.of(state["W"])))
        return cls(before and State.from_facts(before), State.from_facts(state, rows))


def settle(
    data: Data,
    W: Array,
    bounds: Bounds,
    tol: float,
    sweeps: int,
    watch: Callable[[State], bool],
    since: Since | None = None,
) -> State:
    """Alternate from W, or go on, for at most `sweeps` sweeps; `watch(state)` may stop earlier."""
    before, state = since or Since(None, visit(data, W, None, tol))
    for _ in range(sweeps - 1):
        if watch(state) or state.settled:
            return state
        U = next_rays(state, before, bounds.lower < 0)
        if len(state.empty):
            U = refill(data, U, state)
        typical = state.cells.energy / np.where(state.cells.weight > 0, state.cells.weight, 1)
        W = placed(U, typical, bounds, data.dtype)
        before, state = state, visit(data, W, state, tol)
    watch(state)
    return state


def visit(data: Data, W: Array, last: State | None, tol: float) -> State:
    """One sweep."""
    rows, cells = data.sweep(Assign(Rays.of(W)), None if last is None else last.rows)
    if last is None:
        return State(W, rows, cells, np.inf, False)
    residual = distance(unit(W.astype(np.float64)), unit(last.W.astype(np.float64)))
    settled = residual <= tol and not cells.changes and cells.samples.all()
    return State(W, rows, cells, residual, bool(settled))


def distance(U: Array, V: Array) -> float:
    """Root mean square distance of two sets of rays."""
    return float(np.linalg.norm(U - V) / np.sqrt(len(U)))


def next_rays(state: State, before: State | None, signed: bool) -> Array:
    """Rays for the next sweep: doubled steps, and Ritz vectors where no sample moved."""
    w = unit(state.W.astype(np.float64))
    p = unit(state.cells.cross, otherwise=w)
    doubled = 2 * p - w
    U = unit(doubled if signed else np.maximum(doubled, 0), otherwise=p)
    if before is None:
        return p
    kept = np.flatnonzero(state.cells.moves == 0)
    u = unit(before.W[kept].astype(np.float64))
    U[kept] = ritz(u, before.cells.cross[kept], w[kept], state.cells.cross[kept])
    return U


def ritz(u: Array, Su: Array, w: Array, Sw: Array) -> Array:
    """For each row, the image of the vector in span(u, w) with the largest v'Sv, of unit length."""
    c = np.einsum("km,km->k", u, w)[:, None]
    d = w - c * u  # orthogonal to u
    size = np.linalg.norm(d, axis=1, keepdims=True)
    apart = size > 1e-9  # else the two rays are one
    size = np.where(apart, size, 1)
    d, Sd = d / size, (Sw - c * Su) / size
    uu, ud, dd = (np.einsum("km,km->k", a, b)[:, None] for a, b in ((u, Su), (d, Su), (d, Sd)))
    angle = 0.5 * np.arctan2(2 * ud, uu - dd)
    best = np.cos(angle) * Su + np.sin(angle) * Sd
    return unit(np.where(apart, best, Sw), otherwise=w)


def refill(data: Data, U: Array, state: State) -> Array:
    """Give each empty cluster the direction of the sample it helps most."""
    empty, U, eps = state.empty, U.copy(), np.finfo(data.dtype).eps
    find = partial(Worst.of, SPARE + 4 * len(empty), eps)
    worst = data.total(find, data.first, data.energy, state.rows)
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
        best = lost.argmax()
        if lost[best] <= 0:
            raise ValueError(
                f"X has only {len(U) - len(empty) + place} distinct directions, fewer than "
                f"n_clusters={len(U)}: ask for fewer clusters."
            )
        U[k] = X[best]
    return U


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
        return cls(most, left, first + np.arange(len(left))).cut()

    def cut(self) -> Self:
        order = np.argsort(-self.left, kind="stable")[: self.most]
        return replace(self, left=self.left[order], numbers=self.numbers[order])

    def __add__(self, other: Self) -> Self:
        both = np.append(self.left, other.left), np.append(self.numbers, other.numbers)
        return replace(self, left=both[0], numbers=both[1]).cut()


def placed(U: Array, energy: Array, bounds: Bounds, dtype: Any) -> Array:
    """Centroids along the rays U, as long as samples of this energy, within the bounds."""
    length = np.sqrt(energy)
    W = U * np.where(length > 0, length, 1)[:, None]
    if bounds.lower > 0:
        return bounds.clip(W.astype(dtype))
    high, low = W.max(axis=1), W.min(axis=1)
    shrink = np.ones(len(W))
    over = high > bounds.upper
    shrink[over] = bounds.upper / high[over]
    under = low < bounds.lower
    shrink[under] = np.minimum(shrink[under], bounds.lower / low[under])
    return bounds.clip((W * shrink[:, None]).astype(dtype))
