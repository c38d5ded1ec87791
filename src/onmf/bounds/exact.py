"""The best clustering of a few dozen samples, by branch and bound.

    left(P) = sum over the clusters c of P of  trace G_c - lambda_1(G_c),   G = D^(1/2) XX' D^(1/2)

Samples get their clusters one after the other. What a clustering leaves of all samples is at least
what it leaves of some plus what it leaves of the others. So a branch ends as soon as what its
clusters leave, plus the least that any clustering leaves of the samples ahead, is no better than
the best clustering known. The last j samples are solved for j = 1, 2, ... first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onmf.rows.sweep import Array

MIN_GAIN = 1e-13  # share of the trace by which a branch must be able to improve
LOOKS_PER_CLOCK = 256  # nodes of the search between two looks at the time


class StoppedError(Exception):
    """The time is over."""


@dataclass
class BranchAndBound:
    """The clusterings of the samples from `first` on, by their Gram matrix."""

    gram: Array
    k: int
    has_time: Callable[[], bool]
    ahead: Array  # (n + 1,): a lower bound of what is left of the samples from each on
    best: float = np.inf
    labels: list[int] = field(default_factory=list)
    nodes: int = 0

    def solve(self, first: int, guess: list[int]) -> list[int]:
        """The best clustering of the samples from `first` on, given a good one of them."""
        self.best, self.labels = left_by_all(self.gram, first, guess), guess
        self.follow(first, [], [], [])
        self.ahead[first] = self.best
        return self.labels

    def follow(
        self, sample: int, clusters: list[list[int]], left: list[float], path: list[int]
    ) -> None:
        """All clusterings that continue these clusters, the most promising first."""
        if sample == len(self.gram):
            self.best, self.labels = sum(left), list(path)
            return
        self.nodes += 1
        if self.nodes % LOOKS_PER_CLOCK == 0 and not self.has_time():
            raise StoppedError
        options = [(left_by(self.gram, [*own, sample]), c) for c, own in enumerate(clusters)]
        if len(clusters) < self.k:
            options.append((0.0, len(clusters)))
        total, slack = sum(left), MIN_GAIN * float(np.trace(self.gram))
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


def left_by_all(gram: Array, first: int, labels: list[int]) -> float:
    """What a clustering of the samples from `first` on leaves."""
    numbers = np.arange(first, len(gram))
    return sum(left_by(gram, numbers[np.array(labels) == c].tolist()) for c in {*labels})


def best_partition(
    gram: Array, labels: Array, k: int, has_time: Callable[[], bool]
) -> tuple[float, Array | None]:
    """What the best clustering leaves of the trace, and its labels; starts from good labels.

    If the time does not suffice: a lower bound of it, and None.
    """
    n, order = len(gram), interleaved(labels)
    gram, known = gram[np.ix_(order, order)], labels[order].tolist()
    search = BranchAndBound(gram, k, has_time, np.zeros(n + 1))
    found: list[int] = []
    try:
        for first in range(n - 1, -1, -1):
            guesses = [[c, *found] for c in range(k)] + ([known] if first == 0 else [])
            found = search.solve(first, min(guesses, key=lambda g: left_by_all(gram, first, g)))
    except StoppedError:
        return float(search.ahead.max()), None
    answer = np.empty(n, np.intp)
    answer[order] = found
    return float(search.ahead[0]), answer


def interleaved(labels: Array) -> Array:
    """An order in which the clusters alternate, so that the last samples already leave much."""
    turn = np.empty(len(labels))
    for cluster in np.unique(labels):
        own = np.flatnonzero(labels == cluster)
        turn[own] = (np.arange(len(own)) + 0.5) / len(own)
    return np.argsort(turn, kind="stable")
