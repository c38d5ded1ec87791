r"""Halves of the samples: are clusters found again, and are two neighbours one cloud or two?

The samples are cut in two halves at random. Each half gets K clusters of its own, found by the
search of the default solver, and its rays label all samples. With C_k the clusters of the model and
D_l those of a half,

    found again_k = mean over both halves of  max_l |C_k & D_l| / |C_k | D_l|.

**One cloud or two?** For two groups of clusters, every half gives the direction that tells its own
samples of the two groups apart, that of linear discriminant analysis in its sketch,

    w = (S + s I)^-1 (mean_a - mean_b),      S covariance within the groups,  s = SHRINK tr(S) / r.

The samples of the **other** half, which had no part in w or in the clusters, are projected onto it.
If the groups are parts of one cloud, their projections have one mode, whatever the correlations of
the features: `modes.p_one_mode` is its p-value, for the samples of both halves together, each with
the means of the two groups at 0 and 1. Of the larger group the samples nearest to the smaller one
take part, `MOST_TIMES` as many: a part of a density with one mode has one mode.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from onmf.explain.halves import matching_numbers, overlaps
from onmf.explain.modes import p_one_mode
from onmf.losses.base import Loss
from onmf.rows.assign import nearest
from onmf.rows.sweep import Array, Block, row_sqnorm

SHRINK = 0.1
MOST_TIMES = 2
FEWEST = 4  # samples of a group in each half: fewer show no mode


class SampleHalf(NamedTuple):
    """What one half of the samples makes of all of them.

    labels : their clusters (n,), by the numbers of the model; -1 for none.
    sketch : samples of length 1 in the basis of this half (n, r).
    inside : which samples are in the half (n,).
    """

    labels: Array
    sketch: Array
    inside: Array

    def between(self, one: Iterable[int], other: Iterable[int]) -> tuple[Array, Array] | None:
        """Samples of the other half on the way from one group to the other, 0 to 1, and whose."""
        a, b = (np.isin(self.labels, [*group]) for group in (one, other))
        seen, new = self.inside & (a | b), ~self.inside & (a | b)
        if min(np.sum(group & side) for group in (a, b) for side in (seen, new)) < FEWEST:
            return None
        w = discriminant(self.sketch[seen], b[seen])
        low, high = (self.sketch[seen & group].mean(axis=0) @ w for group in (a, b))
        return (self.sketch[new] @ w - low) / (high - low), b[new]


def discriminant(Y: Array, first: Array) -> Array:
    """The direction that tells some of the rows from the others: larger for the first ones."""
    means = Y[first].mean(axis=0), Y[~first].mean(axis=0)
    rest = Y - np.where(first[:, None], *means)
    S = rest.T @ rest / len(Y)
    S[np.diag_indices_from(S)] += SHRINK * np.trace(S) / len(S) + np.finfo(float).tiny
    return np.asarray(np.linalg.solve(S, means[0] - means[1]))


def halves_of_samples(
    loss: Loss, seen: Block, labels: Array, k: int, rng: np.random.Generator
) -> list[SampleHalf]:
    """Both halves of some samples, which have these labels by the model."""
    n, found = len(labels), []
    length = np.sqrt(row_sqnorm(seen.X))
    some = (length > 0) & (seen.weight[:, 0] > 0)
    first = rng.permutation(n) % 2 == 0
    for half in (first, ~first):
        rows = np.flatnonzero(half & some)
        look = loss.quick_look(Block(seen.X[rows], seen.weight[rows]), k, rng)
        both = np.hstack([look.rays.T, look.basis]).astype(seen.X.dtype, copy=False)
        scores, sketch = np.split(np.asarray(seen.X @ both), [len(look.rays)], axis=1)
        own = np.full(n, -1)
        if len(look.rays):
            own = np.where(some, nearest(scores).labels, -1)
        sketch = sketch / np.where(some, length, 1)[:, None]
        found.append(SampleHalf(matching_numbers(own, labels, k)[own], sketch, half))
    return found


def found_again(runs: Array, labels: Array, k: int) -> Array:
    """For each of k clusters its largest overlap with a cluster of a run, mean over the runs."""
    return np.mean([overlaps(labels, run, k).max(axis=1) for run in runs.T], axis=0)


def p_of_halves(halves: Sequence[SampleHalf], one: Iterable[int], other: Iterable[int]) -> float:
    """p-value of the hypothesis that two groups of clusters are parts of one cloud."""
    looks = [half.between(one, other) for half in halves]
    known = [look for look in looks if look is not None]
    if len(known) < len(looks):
        return 1.0
    t, second = (np.concatenate(parts) for parts in zip(*known, strict=True))
    few = int(min(np.sum(second), np.sum(~second)))
    t = np.sort(t if np.sum(second) == few else -t)  # the smaller group comes last
    return p_one_mode(t[-(1 + MOST_TIMES) * few :])
