r"""Halves of the samples: are clusters found again, and are two neighbours one cloud or two?

The samples are cut in two halves at random; few samples several times, for less depends on chance
then. Each half gets K clusters of its own, found by the search of the default solver, and its rays
label all samples. With C_k the clusters of the model and D_l those of a half,

    found again_k = mean over all halves of  max_l |C_k & D_l| / |C_k | D_l|.

**One cloud or two?** For two groups of clusters, every half gives the direction that tells its own
samples of the two groups apart, that of linear discriminant analysis in its sketch,

    w = (S + s I)^-1 (mean_a - mean_b),      S covariance within the groups,  s = SHRINK tr(S) / r.

The samples of the **other** half, which had no part in w or in the clusters, are projected onto it,
the means of the two groups of this half being at 0 and 1. A sample has the mean of its projections.
If the groups are parts of one cloud, they have one mode, whatever the correlations of the features:
`modes.p_one_mode` is the p-value. Of the larger group the samples nearest to the smaller one take
part, `MOST_TIMES` as many: a part of a density with one mode has one mode.

**Could a gap have been seen?** What two groups differ by in the half that found them is partly
chance. The other half shows

    carried over = mean over all halves of  (mean t of its samples in b) - (mean t of those in a),

1 for many samples and near 0 for few. Below `CARRIED_OVER`, or with fewer than `FEW` samples of the
smaller group, no gap is no evidence of one cloud.
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
# Samples above which they are cut only once, and how often fewer are. With 20 to 160 samples of two
# types, three times (and `modes.STEP`) find the gap of 80 instead of 77 of 96 pairs, and call 4
# instead of 6 of 140 types alone two; six times find no more, and more samples would cost more.
MANY, CUTS = 200, 3
# Of true pairs whose gap was missed (20 to 160 cells, tumours, texts), 34 of 35 have less carried
# over or fewer samples, and all 13 of other draws; of 16 whole types without a gap one has.
CARRIED_OVER = 2 / 3
FEW = 20


class SampleHalf(NamedTuple):
    """What one half of the samples makes of all of them.

    labels : their clusters (n,), by the numbers of the model; -1 for none.
    sketch : samples of length 1 in the basis of this half (n, r).
    inside : which samples are in the half (n,).
    """

    labels: Array
    sketch: Array
    inside: Array

    def between(self, one: Iterable[int], other: Iterable[int]) -> Array | None:
        """Where samples of the other half are between the groups, 0 to 1, and if in the second.

        (n, 2), NaN for all other samples; None if there are too few.
        """
        a, b = (np.isin(self.labels, [*group]) for group in (one, other))
        seen, new = self.inside & (a | b), ~self.inside & (a | b)
        if min(np.sum(group & side) for group in (a, b) for side in (seen, new)) < FEWEST:
            return None
        w = discriminant(self.sketch[seen], b[seen])
        low, high = (self.sketch[seen & group].mean(axis=0) @ w for group in (a, b))
        place = np.full((len(a), 2), np.nan)
        place[new] = np.column_stack([(self.sketch[new] @ w - low) / (high - low), b[new]])
        return place


class Gap(NamedTuple):
    """What is known of a gap between two groups of clusters.

    p : p-value of the hypothesis that they are parts of one cloud.
    carried_over : how much of their difference the other half of the samples shows.
    smaller : samples of the smaller group that took part.
    """

    p: float = 1.0
    carried_over: float = 0.0
    smaller: int = 0

    @property
    def enough(self) -> bool:
        """Whether there were enough samples to see a gap."""
        return self.carried_over >= CARRIED_OVER and self.smaller >= FEW


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
    """The halves of some samples, which have these labels by the model: two of every cut."""
    n, found = len(labels), []
    length = np.sqrt(row_sqnorm(seen.X))
    some = (length > 0) & (seen.weight[:, 0] > 0)
    cuts = [rng.permutation(n) % 2 == 0 for _ in range(CUTS if n <= MANY else 1)]
    for half in (half for first in cuts for half in (first, ~first)):
        rows = np.flatnonzero(half & some)
        look = loss.quick_look(Block(seen.X[rows], seen.weight[rows]), k, rng)
        both = np.hstack([look.rays.T, look.basis]).astype(seen.X.dtype, copy=False)
        scores, sketch = np.split(np.asarray(seen.X @ both), [len(look.rays)], axis=1)
        own = np.full(n, -1)
        if len(look.rays):
            own = np.where(some, nearest(scores).labels, -1)
        sketch = sketch / np.where(some, length, 1)[:, None]
        number = matching_numbers(own[half], labels[half], k)  # the others have no part in it
        found.append(SampleHalf(number[own], sketch, half))
    return found


def found_again(runs: Array, labels: Array, k: int) -> Array:
    """For each of k clusters its largest overlap with a cluster of a run, mean over the runs."""
    return np.mean([overlaps(labels, run, k).max(axis=1) for run in runs.T], axis=0)


def gap_of_halves(halves: Sequence[SampleHalf], one: Iterable[int], other: Iterable[int]) -> Gap:
    """Whether two groups of clusters are parts of one cloud."""
    looks = [half.between(one, other) for half in halves]
    known = np.array([look for look in looks if look is not None])
    if not len(known):
        return Gap()
    carried = [t[second == 1].mean() - t[second == 0].mean() for t, second in known.swapaxes(1, 2)]
    placed = known[:, ~np.isnan(known).all(axis=(0, 2))]
    t, share = np.nanmean(placed, axis=0).T
    few = int(min(np.sum(share > 0.5), np.sum(share <= 0.5)))
    t = np.sort(t if np.sum(share > 0.5) == few else -t)  # the smaller group comes last
    return Gap(p_one_mode(t[-(1 + MOST_TIMES) * few :]), float(np.mean(carried)), few)
