"""The exact alternation on the data itself, to a fixed point.

    label_i = argmax_k <w_k, x_i> / ||w_k||,      w_k = leading right singular vector of its samples

One sweep does the first exactly and yields the image S_k w_k of each ray, S_k = sum_i d_i x_i x_i'
over its samples. Two things are better than the plain power step w <- Sw / ||Sw|| and cost nothing:

* where a cluster kept its samples since the last sweep, the two known images give the best vector
  in the span of two rays (Rayleigh-Ritz), if its image stays non-negative;
* elsewhere the step is doubled, v = 2p - w with p = Sw / ||Sw||. As w'Sw is convex, v'Sv >= w'Sw +
  2 ||Sw|| p'(v - w): no loss as long as v is no further from p than w is, so the error never rises.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.core.assign import Code, Rays, labels_of, nearest, scores_of
from onmf.core.fast.search import unit
from onmf.core.paper.palm import Bounds
from onmf.core.rows import Block, Data

Array = NDArray[Any]

SPARE = 20  # badly fitted samples looked at for each empty cluster, and then some


class Cells(NamedTuple):
    """Additive facts about the clusters, a_i being the score of sample i on its ray."""

    cross: Array  # sum_i d_i a_i x_i (k, m): the image of each ray
    energy: Array  # sum_i d_i a_i^2 (k,)
    weight: Array  # sum_i d_i (k,)
    samples: Array  # how many have weight (k,)
    moves: Array  # how many came or left (k,)
    changes: Array  # labels that changed, one number a clustering

    @property
    def typical(self) -> Array:
        """Energy of a sample of each cluster (k,)."""
        return self.energy / np.where(self.weight > 0, self.weight, 1)


@dataclass(frozen=True)
class Assign:
    """Nearest rays of a block, and what the next rays need, for clusterings side by side.

    Clustering c has the columns edges[c] to edges[c + 1] of the rays; all share both products.
    """

    units: Array  # (m, sum of all k)
    edges: Sequence[int]

    @classmethod
    def of(cls, centroids: Sequence[Array]) -> Self:
        units = [Rays.of(W).units for W in centroids]
        edges = [0, *np.cumsum([part.shape[1] for part in units]).tolist()]
        return cls(units[0] if len(units) == 1 else np.hstack(units), edges)

    def __call__(self, block: Block, last: list[Code] | None) -> tuple[list[Code], Cells]:
        products, spans = block.X @ self.units, list(pairwise(self.edges))
        codes = [nearest(products[:, i:j]) for i, j in spans]
        before = [None] * len(codes) if last is None else last
        H = np.zeros_like(products)
        for (i, _), code in zip(spans, codes, strict=True):
            inside = np.flatnonzero(code.labels >= 0)
            H[inside, i + code.labels[inside]] = (code.scores * block.weight[:, 0])[inside]
        facts = [
            tallies(code, old, block.weight[:, 0], j - i)
            for code, old, (i, j) in zip(codes, before, spans, strict=True)
        ]
        energy, weight, samples, moves, changes = map(np.concatenate, zip(*facts, strict=True))
        cross = np.asarray(H.T @ block.X, np.float64)
        return codes, Cells(cross, energy, weight, samples, moves, changes)

    def part(self, cells: Cells, c: int) -> Cells:
        """What the sweep found for clustering c."""
        own = slice(self.edges[c], self.edges[c + 1])
        cross, energy, weight, samples, moves = (fact[own] for fact in cells[:-1])
        return Cells(cross, energy, weight, samples, moves, cells.changes[c : c + 1])


def tallies(code: Code, last: Code | None, weight: Array, k: int) -> tuple[Array, ...]:
    """Energy, weight, samples and moves of each of k clusters, and how many labels changed."""
    labels, inside = code.labels, code.labels >= 0
    where, mass = labels[inside], weight[inside].astype(np.float64)
    changed = slice(0) if last is None else labels != last.labels
    both = labels[changed] if last is None else np.append(labels[changed], last.labels[changed])
    return (
        np.bincount(where, mass * np.square(code.scores[inside], dtype=np.float64), k),
        np.bincount(where, mass, k),
        np.bincount(where[mass > 0], minlength=k),
        np.bincount(both[both >= 0], minlength=k),
        np.array([len(both) // 2]),
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

    def codes(self, data: Data) -> Code:
        """Labels and scores of all samples."""
        return Code(self.labels(data), data.gather(data.each(scores_of, self.rows)))

    def membership(self, data: Data) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        rays = Rays.of(self.W)
        return data.array(len(self.W), rays.memberships, self.rows)

    def facts(self) -> dict[str, Any]:
        """All but the codes, which one sweep with W gives again."""
        return self._asdict() | {"rows": None, "cells": self.cells._asdict()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        return cls(**facts | {"cells": Cells(**facts["cells"])})


Visit = tuple[Any, Cells]  # what a sweep finds: the codes, wherever the rows are, and the facts
Dialogue = Generator[Array, Visit, State]


class Since(NamedTuple):
    """The last two sweeps of an alternation that was broken off."""

    before: State | None
    state: State

    def facts(self) -> dict[str, Any]:
        before = None if self.before is None else self.before.facts()
        return {"before": before, "state": self.state.facts()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        """As it was, but for the codes."""
        before, state = facts["before"], facts["state"]
        return cls(before and State.from_facts(before), State.from_facts(state))

    def again(self, found: Visit) -> Self:
        """With the codes, which the sweep with the same centroids gives; all else is known."""
        return self._replace(state=self.state._replace(rows=found[0]))


def settle(
    data: Data,
    W: Array,
    bounds: Bounds,
    tol: float,
    sweeps: int,
    watch: Callable[[State], bool] = lambda state: False,
    since: Since | None = None,
) -> State:
    """Alternate from W, or go on, for at most `sweeps` sweeps; `watch(state)` may stop earlier."""
    return together(data, [alternating(data, W, bounds, tol, sweeps, watch, since)])[0]


def together(data: Data, dialogues: Sequence[Dialogue]) -> list[State]:
    """Lead several alternations to their ends; each sweep reads X once for all that still go on."""
    ends: dict[int, State] = {}
    asked, rows = {i: next(dialogue) for i, dialogue in enumerate(dialogues)}, None
    while asked:
        move = Assign.of(list(asked.values()))
        rows, cells = data.sweep(move, rows)
        asking, places = {}, []
        for place, i in enumerate(asked):
            own = data.each(itemgetter(place), rows)
            try:
                asking[i] = dialogues[i].send((own, move.part(cells, place)))
                places.append(place)
            except StopIteration as end:
                ends[i] = end.value
        if asking and len(asking) < len(asked):
            rows = data.each(partial(picked, places), rows)
        asked = asking
    return [ends[i] for i in range(len(dialogues))]


def picked(places: Sequence[int], codes: Sequence[Code]) -> list[Code]:
    return [codes[place] for place in places]


def alternating(
    data: Data,
    W: Array,
    bounds: Bounds,
    tol: float,
    sweeps: int,
    watch: Callable[[State], bool] = lambda state: False,
    since: Since | None = None,
) -> Dialogue:
    """The alternation, whoever sweeps: yields centroids, is sent what a sweep with them finds."""
    found = yield W
    before, state = since.again(found) if since else (None, seen(W, found, None, tol))
    for _ in range(sweeps - 1):
        if watch(state) or state.settled:
            return state
        U = next_rays(state, before, bounds.lower < 0)
        if len(state.empty):
            U = refill(data, U, state)
        W = placed(U, state.cells.typical, bounds, data.dtype)
        before, state = state, seen(W, (yield W), state, tol)
    watch(state)
    return state


def seen(W: Array, visit: Visit, last: State | None, tol: float) -> State:
    """The state after a sweep."""
    rows, cells = visit
    if last is None:
        return State(W, rows, cells, np.inf, False)
    residual = distance(unit(W.astype(np.float64)), unit(last.W.astype(np.float64)))
    settled = residual <= tol and not cells.changes.any() and cells.samples.all()
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
    best = ritz(u, before.cells.cross[kept], w[kept], state.cells.cross[kept])
    inside = np.full(len(kept), signed) | (best >= 0).all(axis=1)  # else the doubled step stands
    U[kept[inside]] = best[inside]
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
