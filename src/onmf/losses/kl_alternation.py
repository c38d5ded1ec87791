"""The alternation under the Kullback-Leibler divergence.

    min KL(X || HW)  over W >= 0 and H >= 0 with one non-zero entry per row

1. One sweep gives the totals of samples and features, hence KL of one cluster for all samples. The
   relative divergence is a share of it: the information I(sample; feature) that the clusters lose.
2. `kl_starts` among the samples, or some of them, in memory. No sweep.
3. The alternation on X, to a fixed point:

    label_i = argmax_k <x_i, log p_k>,      p_k = (1 - lambda) S_k / sum(S_k) + lambda S / sum(S)

with S_k the sum of the samples of cluster k, S that of all. The share lambda of the overall mean
covers features that a cluster happens not to have: one word does not rule out a cluster.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.losses.alternation import Alternation, AlternationState, Starts, no_membership
from onmf.losses.kl_search import Counts, labels_by_roots
from onmf.losses.kl_starts import MOVES, find_clusterings, moved
from onmf.losses.profiles import (
    NO_INFORMATION,
    SMOOTHING,
    CountCode,
    CountProfiles,
    CountTotals,
    cross_information,
    phi,
    row_sums,
)
from onmf.result import Recorder
from onmf.rows.assign import one_sparse
from onmf.rows.sweep import Array, Block, Data, divisor
from onmf.search.outliers import OutlierLimit

SEARCH_ROWS, SEARCH_ENTRIES = 20_000, 1 << 20  # at most, for the search: one log per entry and k
MIN_SEARCH_ROWS_PER_CLUSTER = 50  # however long the rows are
SWEEPS_BEFORE = 2  # reads of X before the alternation: the totals, and the rows of the search
TRIM_ROUNDS = 3  # of improving clusters without their outliers


class CountSums(NamedTuple):
    """Additive facts about the clusters."""

    sums: Array  # S_k = sum_i d_i x_i (k, m)
    inside: float  # sum_i d_i <x_i, log p_k> over the samples with a cluster
    outside: Array  # sum_i d_i x_i over the outliers (m,)
    weight: Array  # sum_i d_i (k,), with the weights of the user
    samples: Array  # how many have weight (k,)
    moves: int


@dataclass(frozen=True)
class AssignCounts:
    """Nearest centroids of a block, and what the next ones need."""

    profiles: CountProfiles

    def __call__(self, block: Block, last: Any) -> tuple[Any, CountSums]:
        X, weight, k = block.X, block.weight[:, 0].astype(np.float64), len(self.profiles.totals)
        code: Any
        code, best = self.profiles.nearest(X)
        if self.profiles.limit is not None:
            own = row_sums(X, phi) - phi(code.scores)
            code = self.profiles.limited(CountCode(code.labels, code.scores, own - best))
        inside = code.labels >= 0
        sums = one_sparse(code.labels, weight, k).T @ X
        where, mass = code.labels[inside], weight[inside]
        outside = np.zeros(X.shape[1])
        if self.profiles.limit is not None:
            outside = np.asarray(np.where(inside, 0, weight) @ X, np.float64).ravel()
            best = np.where(inside, best, 0)
        counts = CountSums(
            np.asarray(sums, np.float64),
            float(weight @ best),
            outside,
            np.bincount(where, mass, k),
            np.bincount(where, mass > 0, k),
            0 if last is None else int(np.sum(code.labels != last.labels)),
        )
        return code, counts


@dataclass(frozen=True)
class CountAlternation(Alternation):
    """Until no label changes or the divergence no longer falls."""

    totals: CountTotals | None = None  # of all samples
    row_totals: Any = None  # of each sample, cut like the data

    @property
    def known(self) -> CountTotals:
        assert self.totals is not None  # measured when the alternation is made
        return self.totals

    @property
    def whole(self) -> float:
        """KL of one cluster for all."""
        return self.known.whole

    def assignment(self, W: Array, limit: OutlierLimit | None = None) -> CountProfiles:
        return replace(CountProfiles.of(W), limit=limit)

    def moved_to(self, data: Data, totals: Any) -> Self:
        return replace(super().moved_to(data, totals), totals=totals, row_totals=None)

    def starts(
        self, k: int, rng: np.random.Generator, recorder: Recorder, given: Array | None = None
    ) -> Starts:
        recorder.tell(1, no_membership(self.data, k, self.row_totals))
        rows = self.rows_to_search(k, rng)
        counts = Counts.of(rows)
        if given is None:
            settings = self.settings
            seen = counts if settings.outliers is None else counts.with_limited_totals()
            found = find_clusterings(seen, k, rng, settings.n_starts)
            found = [self.without_outliers(seen, rows, k, labels, rng) for labels in found]
        else:
            found = [self.near_given(counts, k, given, rng)]
        Ws = []
        for labels in found:
            inside = np.flatnonzero(labels >= 0)
            weight = np.bincount(labels[inside], rows.weight[inside, 0], k)
            Ws.append(self.centroids(counts.take(inside).sums(labels[inside], k), weight))
        return Starts(Ws, self, SWEEPS_BEFORE)

    def without_outliers(
        self, counts: Counts, rows: Block, k: int, labels: Array, rng: np.random.Generator
    ) -> Array:
        """Labels of rows, improved without the outliers, which have label -1."""
        outliers = self.settings.outliers
        inside = np.ones(len(labels), bool)
        for _ in range(0 if outliers is None else TRIM_ROUNDS):
            where = np.flatnonzero(labels >= 0)
            mass = np.bincount(labels[where], rows.weight[where, 0], k)
            profiles = self.assignment(
                self.centroids(counts.take(where).sums(labels[where], k), mass)
            )
            code, _ = profiles(rows, None)
            total, scores = profiles.total_and_score(code.scores, code)
            limit = outliers.limit(total, scores, rows.weight[:, 0])  # type: ignore[union-attr]
            before, inside = inside, scores >= limit.floor(total)
            if np.array_equal(before, inside) or inside.sum() < k:
                break
            near, labels = code.labels[inside], np.full(len(labels), -1)
            labels[inside] = moved(counts.take(np.flatnonzero(inside)), near, k, MOVES, rng).labels
        return labels

    def near_given(self, counts: Counts, k: int, given: Array, rng: np.random.Generator) -> Array:
        """Labels of rows near given centroids, which may be more or fewer than k."""
        if len(given) == k:
            smooth = mix_in_mean(given.astype(np.float64), self.known.mean)
            near = CountProfiles.of(smooth).nearest(counts.X)[0].labels
        else:
            near = labels_by_roots(counts, k, rng, np.sqrt(given))
        return moved(counts, near, k, MOVES, rng).labels

    def as_start(self, W: Array) -> Array:
        return mix_in_mean(W.astype(np.float64), self.known.mean).astype(self.data.dtype)

    def rows_to_search(self, k: int, rng: np.random.Generator) -> Block:
        """The samples that are not all zero, or as many of them as the search looks at."""
        data, entries = self.data, self.known.entries
        useful = np.flatnonzero((data.gather(self.row_totals) > 0) & (data.weight > 0))
        affordable = int(SEARCH_ENTRIES * data.shape[0] / max(entries, 1))
        most = max(min(SEARCH_ROWS, affordable), MIN_SEARCH_ROWS_PER_CLUSTER * k)
        if len(useful) > most:
            useful = np.sort(rng.choice(useful, most, replace=False))
        return data.take(useful)

    def move(self, W: Array, limit: OutlierLimit | None) -> AssignCounts:
        return AssignCounts(self.assignment(W, limit))

    def after(self, state: AlternationState, limit: OutlierLimit | None) -> AlternationState | None:
        W = self.images(state)
        rows, sums = self.data.sweep(self.move(W, limit), state.rows)
        new = AlternationState(W, rows, sums, limit, profile_distance(W, state.W))
        before = self.loss(state)
        fall = before - self.loss(new)
        if fall < 0 and limit is None:  # by the overall mean in the centroids, and by very little
            return None
        still = bool(abs(fall) <= self.settings.tol * before)
        return new._replace(settled=not sums.moves or still)

    def images(self, state: AlternationState) -> Array:
        """The centroids of the samples of each cluster."""
        return self.centroids(state.sums.sums, state.sums.weight)

    def centroids(self, S: Array, weight: Array) -> Array:
        return as_centroids(S, weight, self.known.mean).astype(self.data.dtype)

    def error(self, state: AlternationState) -> float:
        """As a share of KL of one cluster for all."""
        flat = self.whole <= NO_INFORMATION * abs(self.known.own)
        return 0.0 if flat else self.loss(state) / self.whole

    def loss(self, state: AlternationState) -> float:
        """KL(X || HW); of an outlier that of one cluster for all."""
        outside = cross_information(state.sums.outside, self.known.sums)
        return max(self.known.own - state.sums.inside - outside, 0.0)

    def stationarity(self, state: AlternationState) -> float:
        return profile_distance(self.images(state), state.W)


def mix_in_mean(S: Array, mean: Array) -> Array:
    """p_k (k, m): the profiles of the sums, with SMOOTHING of the overall mean; zero if empty."""
    totals = S.sum(axis=1, keepdims=True)
    shares = (1 - SMOOTHING) * S / divisor(totals) + SMOOTHING * mean
    return np.where(totals > 0, shares, 0)


def as_centroids(S: Array, weight: Array, mean: Array) -> Array:
    """The mean sample of each cluster, SMOOTHING of it the overall mean."""
    length = S.sum(axis=1) / divisor(weight)
    return np.asarray(mix_in_mean(S, mean) * length[:, None])


def sums_of_centroids(W: Array, weight: Array) -> Array:
    """The sums S of which `as_centroids` makes W: both have the same overall mean."""
    mixed = np.ascontiguousarray(W.astype(np.float64) * weight[:, None])
    mean = mixed.sum(axis=0) / max(mixed.sum(), np.finfo(float).tiny)
    own = mixed - SMOOTHING * mixed.sum(axis=1, keepdims=True) * mean
    return np.asarray(np.maximum(own / (1 - SMOOTHING), 0))


def profile_distance(W: Array, V: Array) -> float:
    """Mean over the clusters of half the L1 distance of the profiles: 0 equal, 1 disjoint."""
    p, q = (A / np.maximum(A.sum(axis=1, keepdims=True), np.finfo(A.dtype).tiny) for A in (W, V))
    return float(np.abs(p - q).sum() / 2 / len(W))
