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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.core.assign import Code, labels_of, one_sparse
from onmf.core.divergence import Portrait, Shares, Survey, Voice, by_count
from onmf.core.fast.exchange import FIRST, Counts, exchange_rows, search
from onmf.core.fast.finish import Finish, nothing_yet
from onmf.core.result import (
    FORGETFUL,
    Factorization,
    Journal,
    Recorder,
    Stage,
    Watch,
    unwatched,
)
from onmf.core.rows import Array, Block, Data

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
    voice: Voice = by_count


class Groups(NamedTuple):
    """Additive facts about the clusters."""

    sums: Array  # S_k = sum_i d_i x_i (k, m)
    inside: float  # sum_i d_i <x_i, log p_k>
    weight: Array  # sum_i d_i (k,), each sample as the user weighs it
    samples: Array  # how many have weight (k,)
    moves: int


@dataclass(frozen=True)
class Gather:
    """Nearest centroids of a block, and what the next ones need."""

    shares: Shares

    def __call__(self, block: Block, last: Code | None) -> tuple[Code, Groups]:
        X, weight, k = block.X, block.weight[:, 0].astype(np.float64), len(self.shares.totals)
        code, best = self.shares.nearest(X)
        voice, inside = self.shares.voice(weight, code.scores), code.labels >= 0
        sums = one_sparse(code.labels, voice, k).T @ X
        where, mass = code.labels[inside], weight[inside]
        groups = Groups(
            np.asarray(sums, np.float64),
            float(voice @ best),
            np.bincount(where, mass, k),
            np.bincount(where, mass > 0, k),
            0 if last is None else int(np.sum(code.labels != last.labels)),
        )
        return code, groups


class KullbackState(NamedTuple):
    """The alternation after a sweep: centroids W, the codes they give, and facts about these."""

    W: Array
    rows: Any
    groups: Groups
    residual: float = 1.0
    settled: bool = False

    @property
    def empty(self) -> Array:
        return np.flatnonzero(self.groups.samples == 0)

    def labels(self, data: Data) -> Array:
        """Of all samples."""
        return data.gather(data.each(labels_of, self.rows))

    def membership(self, data: Data) -> Any:
        """H (n, k), as the place keeps arrays of that size."""
        return data.array(len(self.W), Shares.of(self.W).memberships, self.rows)

    def facts(self) -> dict[str, Any]:
        """All but the codes, which one sweep with W gives again."""
        return self._asdict() | {"rows": None, "groups": self.groups._asdict()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        known = {name: facts[name] for name in cls._fields}
        return cls(**known | {"groups": Groups(**facts["groups"])})


class CountFit(NamedTuple):
    """The factors, the state behind them, KL of one cluster for all, and how far the centroids are
    from those of their samples: zero at a fixed point."""

    result: Factorization
    state: KullbackState
    whole: float
    stationarity: float


def cluster_counts(
    settings: Kullback,
    data: Data,
    k: int,
    seed: int,
    given: Array | None = None,
    watch: Watch = unwatched,
    journal: Journal = FORGETFUL,
) -> CountFit:
    """K clusters of the rows of `data`.

    Rows move on from `given` centroids (k, m), but no clusters are swapped, so that their ids stay
    those of the start. A fit that was broken off goes on from its journal.
    """
    recorder = Recorder(watch, settings.max_sweeps, journal=journal)
    totals, portrait = data.sweep(Survey(settings.voice))
    alternation = Alternation(settings, data, portrait, recorder)
    if noted := recorder.recall("settle"):
        Ws, since = [noted["W"], *noted["rivals"]], KullbackState.from_facts(noted)
        return alternation.run(Ws, since)
    recorder.tell(1, nothing_yet(data, k, totals))
    starts = np.random.default_rng(seed).spawn(settings.n_starts)
    rows = rows_to_search(data, totals, portrait.entries, k, starts[0])
    counts = Counts.of(rows, settings.voice)
    if given is None:
        found = [search(counts, k, rng) for rng in starts]
    else:
        profiles = Shares.of(mix_in_mean(given.astype(np.float64), portrait.mean))
        near = profiles.nearest(counts.X)[0].labels
        found = [exchange_rows(counts, near, np.zeros_like(near), k, FIRST, starts[0])]
    weights = [np.bincount(labels, rows.weight[:, 0], k) for labels in found]
    sums = [counts.sums(labels, k) for labels in found]
    return alternation.run(list(map(alternation.centroids, sums, weights)))


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
class Alternation:
    """From profiles to a fixed point, each sweep a stage."""

    settings: Kullback
    data: Data
    portrait: Portrait
    recorder: Recorder

    def run(self, Ws: list[Array], since: KullbackState | None = None) -> CountFit:
        """From the first of the starts; its rivals go the same way unseen, the best is kept."""
        finish = Finish(
            self.data, self.recorder, self.stage, lambda one: -self.divergence(one), BEFORE
        )
        result, state = finish.run(
            Ws,
            lambda W, see: self.settle(W, see, since),
            lambda W, see, _: self.settle(W, see),
        )
        images = self.centroids(state.groups.sums, state.groups.weight)
        return CountFit(result, state, self.portrait.whole, apart(images, state.W))

    def settle(
        self,
        W: Array,
        watch: Callable[[KullbackState], bool],
        since: KullbackState | None = None,
    ) -> KullbackState:
        """Alternate from W until no label changes or the divergence no longer falls."""
        rows, groups = self.data.sweep(self.move(W))
        state = KullbackState(W, rows, groups) if since is None else since._replace(rows=rows)
        for _ in range(self.recorder.sweeps or BEFORE, self.settings.max_sweeps - 1):
            if watch(state) or state.settled:
                return state
            new = self.after(state)
            fall = self.divergence(state) - self.divergence(new)
            if fall < 0:  # by the overall mean in the centroids, and by next to nothing
                return state._replace(settled=True)
            done = not new.groups.moves or fall <= self.settings.tol * self.divergence(state)
            state = new._replace(settled=bool(done))
        watch(state)
        return state

    def move(self, W: Array) -> Gather:
        return Gather(Shares.of(W, self.settings.voice))

    def after(self, state: KullbackState) -> KullbackState:
        """The state after the next sweep."""
        W = self.centroids(state.groups.sums, state.groups.weight)
        rows, groups = self.data.sweep(self.move(W), state.rows)
        return KullbackState(W, rows, groups, apart(W, state.W))

    def centroids(self, S: Array, weight: Array) -> Array:
        return as_centroids(S, weight, self.portrait.mean).astype(self.data.dtype)

    def divergence(self, state: KullbackState) -> float:
        """KL(X || HW)."""
        return max(self.portrait.own - state.groups.inside, 0.0)

    def stage(self, state: KullbackState, sweeps: int) -> Stage:
        """A row of the history."""
        whole = self.portrait.whole
        flat = whole <= FLAT * abs(self.portrait.own)
        error = 0.0 if flat else self.divergence(state) / whole
        return Stage(
            1.0, sweeps, error, 0.0, 0.0, state.residual, len(state.empty), *self.data.traffic
        )


def apart(W: Array, V: Array) -> float:
    """Mean over the clusters of half the sum of the differences of the shares: 0 alike, 1 apart."""
    p, q = (A / np.maximum(A.sum(axis=1, keepdims=True), np.finfo(A.dtype).tiny) for A in (W, V))
    return float(np.abs(p - q).sum() / 2 / len(W))
