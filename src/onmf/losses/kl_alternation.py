"""The default solver under the Kullback-Leibler divergence: look, search, settle.

    min KL(X || HW)  over W >= 0 and H >= 0 with one non-zero entry a row

1. One sweep gives the totals of samples and features, hence KL of one cluster for all, which the
   relative divergence is a share of: both are information, and the share is what the clusters lose
   of what a sample says of its features, I(sample; feature) - I(cluster; feature) over the former.
2. `exchange.search` among the samples, or some of them, in memory. No sweep.
3. The alternation on X, to a fixed point:

    label_i = argmax_k <x_i, log p_k>,      p_k = (1 - lambda) S_k / sum(S_k) + lambda S / sum(S)

with S_k the sum of the samples of cluster k, S that of all. The share lambda of the overall mean is
for features that a cluster happens not to have, so that one word does not rule out a cluster.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from onmf.losses.alternation import AlternationState, finish, nothing_yet
from onmf.losses.kl_search import FIRST, Counts, exchange_rows, search
from onmf.losses.profiles import CountProfiles, CountTotals, Influence, MeasureTotals, by_count
from onmf.result import (
    NO_CHECKPOINT,
    CheckpointStore,
    Factorization,
    Recorder,
    Watch,
    unwatched,
)
from onmf.rows.assign import Code, one_sparse
from onmf.rows.sweep import Array, Block, Data

LAMBDA = 0.01
MOST_ROWS, MOST_ENTRIES = 20_000, 1 << 20  # that the search looks at: a log for each, and k
FEWEST_PER_CLUSTER = 50  # rows, however long they are
BEFORE = 2  # reads of X before the alternation: the look, and what the search takes
FLAT = 1e-12  # of the information: below it all samples have the same shares


@dataclass(frozen=True)
class Kullback:
    """Settings."""

    n_starts: int = 1
    tol: float = 1e-5
    max_sweeps: int = 40
    influence: Influence = by_count


class CountSums(NamedTuple):
    """Additive facts about the clusters."""

    sums: Array  # S_k = sum_i d_i x_i (k, m)
    inside: float  # sum_i d_i <x_i, log p_k>
    weight: Array  # sum_i d_i (k,), each sample as the user weighs it
    samples: Array  # how many have weight (k,)
    moves: int


@dataclass(frozen=True)
class AssignCounts:
    """Nearest centroids of a block, and what the next ones need."""

    shares: CountProfiles

    def __call__(self, block: Block, last: Code | None) -> tuple[Code, CountSums]:
        X, weight, k = block.X, block.weight[:, 0].astype(np.float64), len(self.shares.totals)
        code, best = self.shares.nearest(X)
        influence, inside = self.shares.influence(weight, code.scores), code.labels >= 0
        sums = one_sparse(code.labels, influence, k).T @ X
        where, mass = code.labels[inside], weight[inside]
        groups = CountSums(
            np.asarray(sums, np.float64),
            float(influence @ best),
            np.bincount(where, mass, k),
            np.bincount(where, mass > 0, k),
            0 if last is None else int(np.sum(code.labels != last.labels)),
        )
        return code, groups


@dataclass(frozen=True, eq=False)
class CountState(AlternationState):
    """The clustering after a sweep with the centroids W."""

    residual: float = 1.0

    code_rule: ClassVar[Any] = CountProfiles
    kind_of_cells: ClassVar[Any] = CountSums


class CountFit(NamedTuple):
    """The factors, the state behind them, KL of one cluster for all, and how far the centroids are
    from those of their samples: zero at a fixed point."""

    result: Factorization
    state: CountState
    whole: float
    stationarity: float


def cluster_counts(
    settings: Kullback,
    data: Data,
    k: int,
    seed: int,
    given: Array | None = None,
    watch: Watch = unwatched,
    checkpoints: CheckpointStore = NO_CHECKPOINT,
) -> CountFit:
    """K clusters of the rows of `data`.

    Rows move on from `given` centroids (k, m), but no clusters are swapped, so that their ids stay
    those of the start. A fit that was broken off goes on from its journal.
    """
    recorder = Recorder(watch, settings.max_sweeps, checkpoints=checkpoints)
    totals, portrait = data.sweep(MeasureTotals(settings.influence))
    rule, since = CountAlternation(settings, data, portrait), None
    if noted := recorder.recall("settle"):
        Ws, since = [noted["W"], *noted["rivals"]], CountState.from_facts(noted)
    else:
        recorder.tell(1, nothing_yet(data, k, totals))
        Ws = starts_of(rule, k, seed, given, totals)
    result, state = finish(rule, Ws, recorder, since, BEFORE)
    return CountFit(result, state, portrait.whole, apart(rule.images(state), state.W))


def starts_of(
    rule: "CountAlternation", k: int, seed: int, given: Array | None, totals: Any
) -> list[Array]:
    """Centroids to begin with: from a search among rows for each start, or from given ones."""
    settings, data, portrait = rule.settings, rule.data, rule.portrait
    starts = np.random.default_rng(seed).spawn(settings.n_starts)
    rows = rows_to_search(data, totals, portrait.entries, k, starts[0])
    counts = Counts.of(rows, settings.influence)
    if given is None:
        found = [search(counts, k, rng) for rng in starts]
    else:
        profiles = CountProfiles.of(mix_in_mean(given.astype(np.float64), portrait.mean))
        near = profiles.nearest(counts.X)[0].labels
        found = [exchange_rows(counts, near, np.zeros_like(near), k, FIRST, starts[0])]
    weights = [np.bincount(labels, rows.weight[:, 0], k) for labels in found]
    sums = [counts.sums(labels, k) for labels in found]
    return list(map(rule.centroids, sums, weights))


def rows_to_search(
    data: Data, totals: Any, entries: int, k: int, rng: np.random.Generator
) -> Block:
    """The samples that are not all zero, or as many of them as the search looks at."""
    useful = np.flatnonzero((data.gather(totals) > 0) & (data.weight > 0))
    affordable = int(MOST_ENTRIES * data.shape[0] / max(entries, 1))
    most = max(min(MOST_ROWS, affordable), FEWEST_PER_CLUSTER * k)
    if len(useful) > most:
        useful = np.sort(rng.choice(useful, most, replace=False))
    return data.take(useful)


def mix_in_mean(S: Array, mean: Array) -> Array:
    """p_k (k, m): the shares of the sums, and LAMBDA of the overall mean; zero without samples."""
    totals = S.sum(axis=1, keepdims=True)
    shares = (1 - LAMBDA) * S / np.where(totals > 0, totals, 1) + LAMBDA * mean
    return np.where(totals > 0, shares, 0)


def as_centroids(S: Array, weight: Array, mean: Array) -> Array:
    """The mean sample of each cluster, LAMBDA of it the overall mean."""
    length = S.sum(axis=1) / np.where(weight > 0, weight, 1)
    return np.asarray(mix_in_mean(S, mean) * length[:, None])


@dataclass(frozen=True)
class CountAlternation:
    """The rule of this alternation: until no label changes or the divergence no longer falls."""

    settings: Kullback
    data: Data
    portrait: CountTotals

    def begin(self, W: Array) -> CountState:
        return CountState(W, *self.data.sweep(self._gather(W)))

    def after(self, state: CountState) -> CountState | None:
        W = self.images(state)
        rows, groups = self.data.sweep(self._gather(W), state.rows)
        new = CountState(W, rows, groups, apart(W, state.W))
        before = self.divergence(state)
        fall = before - self.divergence(new)
        if fall < 0:  # by the overall mean in the centroids, and by next to nothing
            return None
        return replace(new, settled=not groups.moves or bool(fall <= self.settings.tol * before))

    def _gather(self, W: Array) -> AssignCounts:
        return AssignCounts(CountProfiles.of(W, self.settings.influence))

    def images(self, state: CountState) -> Array:
        """The centroids of the samples of each cluster."""
        return self.centroids(state.cells.sums, state.cells.weight)

    def centroids(self, S: Array, weight: Array) -> Array:
        return as_centroids(S, weight, self.portrait.mean).astype(self.data.dtype)

    def divergence(self, state: CountState) -> float:
        """KL(X || HW)."""
        return max(self.portrait.own - state.cells.inside, 0.0)

    def error(self, state: CountState) -> float:
        """As a share of KL of one cluster for all."""
        flat = self.portrait.whole <= FLAT * abs(self.portrait.own)
        return 0.0 if flat else self.divergence(state) / self.portrait.whole

    def worth(self, state: CountState) -> float:
        return -self.divergence(state)

    def beside(self, best: CountState) -> Self:
        return self


def apart(W: Array, V: Array) -> float:
    """Mean over the clusters of half the sum of the differences of the shares: 0 alike, 1 apart."""
    p, q = (A / np.maximum(A.sum(axis=1, keepdims=True), np.finfo(A.dtype).tiny) for A in (W, V))
    return float(np.abs(p - q).sum() / 2 / len(W))
