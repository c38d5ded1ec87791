"""The best clustering of a few dozen samples, and the proof that it is.

    left(P) = sum over the clusters c of P of  trace G_c - lambda_1(G_c),   G = D^(1/2) XX' D^(1/2)

Samples get their clusters one after the other, and a branch ends as soon as what its clusters leave
already, plus what the best clustering of the samples ahead leaves of those (known, since the last j
samples are solved for j = 1, 2, ... first), is no better than the best clustering known. For what a
clustering leaves of some samples and of others adds up to no more than what it leaves of both.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onmf.rows.sweep import Array

CLOSE = 1e-13  # share of the trace: branches that promise less than this are not followed


class StoppedError(Exception):
    """There is no time left."""


@dataclass
class BranchAndBound:
    """The clusterings of the samples from `first` on, by their Gram matrix."""

    gram: Array
    k: int
    go_on: Callable[[], bool]
    ahead: Array  # (n + 1,): what is left at least of the samples from each on
    best: float = np.inf
    labels: list[int] = field(default_factory=list)
    looks: int = 0

    def solve(self, first: int, known: float, guess: list[int]) -> tuple[float, list[int]]:
        """The least that is left of the samples from `first` on, given a clustering of them."""
        self.best, self.labels = known, guess
        self.follow(first, [], [], [])
        return self.best, self.labels

    def follow(
        self, sample: int, clusters: list[list[int]], left: list[float], path: list[int]
    ) -> None:
        """All clusterings that go on from these clusters, the nearest first."""
        if sample == len(self.gram):
            self.best, self.labels = sum(left), list(path)
            return
        self.looks += 1
        if self.looks % 256 == 0 and not self.go_on():
            raise StoppedError
        options = [(left_by(self.gram, [*own, sample]), c) for c, own in enumerate(clusters)]
        if len(clusters) < self.k:
            options.append((0.0, len(clusters)))
        total, slack = sum(left), CLOSE * float(np.trace(self.gram))
        for now, c in sorted(options, key=lambda option: option[0] - (*left, 0.0)[option[1]]):
            before = left[c] if c < len(left) else 0.0
            if total - before + now + self.ahead[sample + 1] >= self.best - slack:
                continue
            grown = [*clusters] if c < len(clusters) else [*clusters, []]
            grown[c] = [*grown[c], sample]
            self.follow(sample + 1, grown, [*left[:c], now, *left[c + 1 :]], [*path, c])


def left_by(gram: Array, samples: list[int]) -> float:
    """trace - lambda_1 of the samples as one cluster."""
    own = gram[np.ix_(samples, samples)]
    return max(float(np.trace(own) - np.linalg.eigvalsh(own)[-1]), 0.0)


def best_partition(
    gram: Array, labels: Array, k: int, go_on: Callable[[], bool]
) -> tuple[float, Array | None]:
    """What the best clustering leaves of the trace, and its labels; from labels that are good.

    If there is no time left, a bound of it, and None.
    """
    n = len(gram)
    order = spread_clusters(labels)
    gram, known = gram[np.ix_(order, order)], labels[order].tolist()
    search = BranchAndBound(gram, k, go_on, np.zeros(n + 1))
    found: list[int] = []
    try:
        for first in range(n - 1, -1, -1):
            guess = min(
                (join(c, found) for c in range(k)),
                key=lambda option: left_by_all(gram, first, option),
            )
            if first == 0 and left_by_all(gram, 0, known) < left_by_all(gram, 0, guess):
                guess = known
            start = left_by_all(gram, first, guess)
            search.ahead[first], found = search.solve(first, start, guess)
    except StoppedError:
        return float(search.ahead.max()), None
    answer = np.empty(n, np.intp)
    answer[order] = found
    return float(search.ahead[0]), answer


def join(cluster: int, found: list[int]) -> list[int]:
    """One sample more in front, in this cluster."""
    return [cluster, *found]


def left_by_all(gram: Array, first: int, labels: list[int]) -> float:
    """What a clustering of the samples from `first` on leaves."""
    numbers = np.arange(first, len(gram))
    return sum(left_by(gram, numbers[np.array(labels) == c].tolist()) for c in {*labels})


def spread_clusters(labels: Array) -> Array:
    """An order in which each cluster comes again and again: the last ones then leave a lot."""
    turn = np.empty(len(labels))
    for cluster in np.unique(labels):
        own = np.flatnonzero(labels == cluster)
        turn[own] = (np.arange(len(own)) + 0.5) / len(own)
    return np.argsort(turn, kind="stable")
