"""What is counted of samples to tell a new kind: cosines, gains, and novel samples.

The formulas are in `novelty`.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import bdtrc

from onmf.rows.sweep import Array

MAX_DEVIATIONS_BELOW = 2.0  # standard deviations below the mean of its cluster: a novel sample
MIN_MEMBERS = 6  # of a new cluster
MIN_COSINE_SHARE = 0.65  # of the usual cosine: below it a sample is novel, and no member of a group


class CosineSums(NamedTuple):
    """Cosines of the samples of each cluster with its centroid: number, sum and sum of squares.

    novel : number of the samples that were novel when they came.
    """

    number: Array
    total: Array
    square: Array
    novel: Array

    @classmethod
    def of(cls, labels: Array, near: Array, k: int, novel: Array | None = None) -> Self:
        """Of samples with these clusters and cosines; those of no cluster do not count."""
        novel = np.zeros(len(labels)) if novel is None else novel
        where, cosine, novel = (part[labels >= 0] for part in (labels, near, novel))
        sums = [np.bincount(where, part, k) for part in (cosine**0, cosine, cosine**2, novel)]
        return cls(*(total.astype(np.float64) for total in sums))

    def low(self) -> Array:
        """Below which a sample of each cluster is novel; that of all clusters for small ones."""
        own = np.stack(self[:3], axis=1)
        every = own.sum(axis=0)
        n, total, square = np.where(own[:, :1] >= MIN_MEMBERS, own, every).T
        mean = total / np.maximum(n, 1)
        deviation = np.sqrt(np.maximum(square / np.maximum(n, 1) - mean**2, 0))
        return np.maximum(mean - MAX_DEVIATIONS_BELOW * deviation, MIN_COSINE_SHARE * mean)

    @property
    def mean(self) -> float:
        """Of all samples."""
        return float(self.total.sum() / max(self.number.sum(), 1.0))


class Gains(NamedTuple):
    """Of the samples of a group and of those beside it, each of which stands for some."""

    gain: Array
    inside: Array
    stands_for: Array

    def gap(self) -> float:
        """Between the means, in standard deviations."""
        ours, theirs = self.gain[self.inside], self.gain[~self.inside]
        theirs = theirs if len(theirs) else np.zeros(1)
        spread = max(float(ours.std() + theirs.std()), np.finfo(float).tiny)
        return float(ours.mean() - theirs.mean()) / spread

    def chance_of_valley(self) -> float:
        """P(B >= core), B ~ binomial(core + edge, 1/2)."""
        half = float(np.median(self.gain[self.inside])) / 2
        core = int(np.sum((half < self.gain) & (self.gain <= 3 * half)))
        edge = int(self.stands_for[(-half < self.gain) & (self.gain <= half)].sum())
        return float(bdtrc(core - 1, core + edge, 0.5)) if core else 1.0


class Surplus(NamedTuple):
    """Novel samples of a batch beside those before it.

    levels : of all samples before, but those that wait.
    n_waiting : so many samples wait, and come first in `free`.
    free : which samples are novel and in no group.
    usual : samples of each cluster before, times the batches in which it has had none of them.
    """

    levels: CosineSums
    n_waiting: int
    free: Array
    usual: Array

    @property
    def n_now(self) -> int:
        """Samples of the batch."""
        return len(self.free) - self.n_waiting

    def chance(self, some: Array) -> float:
        """P(B >= b), B ~ binomial(a + b, n / (n + N)): b of these n came now, a of N before."""
        before, known = (part.sum() + self.n_waiting for part in (self.levels[-1], self.levels[0]))
        n, came = self.n_now, int((some & self.free)[self.n_waiting :].sum())
        return float(bdtrc(came - 1, came + int(before), n / (n + known))) if came else 1.0
