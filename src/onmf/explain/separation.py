"""Which clusters are separate: groups of clusters between which there is a gap.

Each cluster is compared with its nearest neighbour, the one that is second nearest for most of its
samples (`sample_halves`). p-values are adjusted after Bonferroni for the pairs of neighbours. While
the largest is above LEVEL, that pair is joined to one group and compared with its own neighbours.
What is left are groups that are separate from their neighbours; all clusters of one cloud are one
group. If a cluster and its neighbour are in one group, their p-value is no smaller than that of the
pair by which they came together: a third part of a cloud may lie between two others. No gap is no
evidence of one cloud if there were too few samples to see it (`Gap.enough`).
"""

from typing import NamedTuple

import numpy as np

from onmf.explain.halves import EXPLAIN_STREAM, some_samples
from onmf.explain.sample_halves import (
    Gap,
    SampleHalf,
    found_again,
    gap_of_halves,
    halves_of_samples,
)
from onmf.losses.base import Loss
from onmf.losses.missing import mask_missing
from onmf.rows.assign import Rays
from onmf.rows.sweep import Array, Data, Matrix

LEVEL = 0.05
SAMPLE_HALVES = 28  # of the stream of random numbers

Group = tuple[int, ...]


class Separation(NamedTuple):
    """How separate clusters are.

    neighbour : number of the nearest cluster (k,); -1 if there is none.
    p_one_cloud : p-value that a cluster and its neighbour are parts of one cloud (k,).
    group : number of the group of each cluster (k,).
    p_group : p-value that this group and its nearest neighbour are parts of one cloud (k,).
    enough : whether a gap inside the group of each cluster could have been seen (k,).
    """

    neighbour: Array
    p_one_cloud: Array
    group: Array
    p_group: Array
    enough: Array


def look_at_halves(
    loss: Loss, data: Data, labels: Array, rays: Array, seed: int
) -> tuple[Array, Separation]:
    """How much of each cluster halves of some samples find again, and which are separate."""
    k, rng = len(rays), np.random.default_rng((EXPLAIN_STREAM, SAMPLE_HALVES, seed))
    some = some_samples(data, k, rng, times=2)  # each fit uses half of them
    seen, labels = data.take(some), labels[some]
    seen = seen._replace(X=mean_filled(seen.X))
    halves = halves_of_samples(loss, seen, labels, k, rng)
    scores = np.asarray(seen.X @ Rays.of(rays).units)
    runs = np.column_stack([half.labels for half in halves])
    return found_again(runs, labels, k), separate(halves, scores, labels)


def mean_filled(X: Matrix) -> Matrix:
    """X with the mean of its feature, which separates nothing, for every missing value."""
    masked = mask_missing(X)
    if masked is None:
        return X
    seen = X.shape[0] - np.asarray(masked.missing.sum(axis=0)).ravel()
    mean = np.asarray(masked.X.sum(axis=0)).ravel() / np.maximum(seen, 1)
    return masked.X + masked.missing * mean


def separate(halves: list[SampleHalf], scores: Array, labels: Array) -> Separation:
    """The groups of the clusters, from the scores (n, k) of some samples and their labels."""
    k = scores.shape[1]
    neighbour, p_one_cloud, enough = np.full(k, -1), np.ones(k), np.full(k, True)
    groups: list[Group] = [(int(c),) for c in np.unique(labels[labels >= 0])]
    known: dict[frozenset[Group], Gap] = {}
    while len(groups) > 1:
        nearest = {group: nearest_group(group, groups, scores, labels) for group in groups}
        pairs = {frozenset(pair) for pair in nearest.items()}
        known |= {pair: gap_of_halves(halves, *pair) for pair in pairs - known.keys()}
        p = {pair: min(1.0, len(pairs) * known[pair].p) for pair in pairs}
        if len(known) == len(pairs):  # the first round
            for (cluster,), (other,) in nearest.items():
                neighbour[cluster] = other
                p_one_cloud[cluster] = p[frozenset(((cluster,), (other,)))]
        worst = max(pairs, key=lambda pair: (p[pair], sorted(pair)))
        if p[worst] <= LEVEL:
            break
        both = tuple(sorted(sum(worst, ())))
        for c in both:
            if all(c in side or neighbour[c] in side for side in worst):
                p_one_cloud[c] = max(p_one_cloud[c], p[worst])
        enough[[*both]] &= enough[[*both]].all() & known[worst].enough
        groups = [*(group for group in groups if group not in worst), both]
    number, p_group = np.arange(k), np.ones(k)
    for group in groups:
        number[[*group]] = group[0]
        if len(groups) > 1:
            p_group[[*group]] = p[frozenset((group, nearest[group]))]
    return Separation(neighbour, p_one_cloud, number, p_group, enough)


def nearest_group(own: Group, groups: list[Group], scores: Array, labels: Array) -> Group:
    """The group that is nearest for most samples of this one, apart from itself."""
    others = [group for group in groups if group != own]
    inside = scores[np.isin(labels, own)]
    best = np.stack([inside[:, list(group)].max(axis=1) for group in others]).argmax(axis=0)
    return others[int(np.bincount(best).argmax())]
