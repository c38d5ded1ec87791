"""Samples that no ray explains: the loss of each is capped.

    loss_i = min(||x_i||^2 - a_i^2,  cost_i),       a_i the score of sample i on its nearest ray

Beyond the cap a sample is an outlier: it pulls no ray, and a ray through it alone gains no more
than its cost. How far from its ray a sample may lie depends on how noise grows with its part on it,

    ||x_i||^2 - a_i^2  <=  height (a_i^2)^power,

power 0 for noise of one size, 1/2 for counts, 1 for noise in proportion. Solved for a_i that is the
least score of a sample of its energy, its floor, and cost_i = ||x_i||^2 - floor_i^2. So an outlier
is a row that scores more with no cluster, floor_i, than on any ray: one more column of scores is
all that the search needs to know of it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.rows.assign import Code, ExplainedShare, Rays, nearest, scores_of
from onmf.rows.sweep import Array, Block, Data, row_sqnorm

DEVIATIONS = 4.5  # robust ones above the median that a sample may lie from its ray
NORMAL = 1.4826  # times the median absolute deviation is the standard deviation of a normal
POWERS = (0.0, 0.5, 1.0)
CLEARLY = 0.8  # times the spread of the power before: else it stays
TELLING = 4000  # samples, about, that the power is found from
VARIED = 0.1  # spread of the logarithms of the scores below which they tell nothing of the power
ROUNDS = 10  # of finding the scale without those beyond it
FREE_TURNS = 8  # of finding the fence again, before it stays or rises
LEAST = 1e-5  # share of a sample that may be unexplained whatever the others are like
MARGIN = 1.05  # above the furthest of the other samples, where there is room
APART = 1e-9  # relative difference of two distances that is more than rounding


class OutlierLimit(NamedTuple):
    """A sample is an outlier if ||x||^2 - a^2 > height (a^2)^power."""

    height: float
    power: float

    def floor(self, sqnorms: Array) -> Array:
        """The least score of a sample of this energy that is no outlier."""
        if self.power == 0:
            least = np.sqrt(np.maximum(sqnorms - self.height, 0))
        elif self.power == 1:
            least = np.sqrt(sqnorms / (1 + self.height))
        else:  # a^2 + height a = energy, without a difference of large numbers
            root = self.height + np.sqrt(self.height**2 + 4 * sqnorms)
            least = 2 * sqnorms / np.where(root > 0, root, 1)
        return np.minimum(least, np.sqrt((1 - LEAST) * sqnorms))

    def excess(self, sqnorms: Array, scores: Array) -> Array:
        """(||x||^2 - a^2) / cost: above 1 for outliers, 0 for a sample of zeros."""
        cost = sqnorms - np.square(self.floor(sqnorms))
        left = np.maximum(sqnorms - np.square(scores, dtype=np.float64), 0)
        return left / np.where(cost > 0, cost, 1)

    def applied(self, sqnorms: Array, code: Code) -> Code:
        """The codes with label -1 for outliers; their scores stay, to see how far away they are."""
        return code._replace(labels=np.where(code.scores < self.floor(sqnorms), -1, code.labels))

    def hidden(self, sqnorms: Array, code: Code) -> Code:
        """The codes as if nothing were left of the outliers to explain."""
        strange = code.scores < self.floor(sqnorms)
        return code._replace(scores=np.where(strange, np.sqrt(sqnorms), code.scores))

    def capped(self, weight: Array, sqnorms: Array, code: Code) -> float:
        """sum_i d_i max(a_i, floor_i)^2: ||X||^2 less the capped loss."""
        least = np.maximum(code.scores, self.floor(sqnorms))
        return float(weight[:, 0].astype(np.float64) @ np.square(least))

    def scaled(self, factor: float) -> "OutlierLimit":
        """The same fence for samples multiplied by `factor`; exact for a power of two."""
        return self._replace(height=self.height * factor ** (2 - 2 * self.power))


def excess_of(limit: OutlierLimit, sqnorms: Array, code: Code) -> Array:
    return limit.excess(sqnorms, code.scores)


@dataclass(frozen=True)
class LimitedRays(Rays):
    """Rays, and the fence beyond which a sample belongs to none of them."""

    limit: OutlierLimit

    @classmethod
    def beyond(cls, rays: Rays, limit: OutlierLimit) -> Self:
        return cls(rays.units, rays.lengths, limit)

    def __call__(self, block: Block, rows: Any) -> tuple[Code, ExplainedShare]:
        sqnorms = row_sqnorm(block.X)
        code = self.limit.applied(sqnorms, nearest(block.X @ self.units))
        weight = block.weight[:, 0].astype(np.float64)
        explained = np.where(code.labels >= 0, np.square(code.scores, dtype=np.float64), 0)
        return code, ExplainedShare(float(weight @ explained), float(weight @ sqnorms))


@dataclass(frozen=True)
class Outliers:
    """How many samples are to be outliers: a count, a share, or as many as a robust scale says."""

    share: float | None = None
    count: int | None = None
    together: bool = False  # where equal samples are at the limit, all of them; else none

    def among(self, n: int, k: int) -> "Outliers":
        """The same for n samples and k clusters: a count is a share of them."""
        share = self.share if self.count is None else self.count / n
        if share is not None and n - share * n < k:
            raise ValueError(
                f"outliers={self.share if self.count is None else self.count} leaves fewer than "
                f"n_clusters={k} of {n} samples: ask for fewer outliers or clusters."
            )
        return Outliers(share)

    def limit(
        self, sqnorms: Array, scores: Array, weight: Array, power: float | None = None
    ) -> OutlierLimit:
        """Found from the samples as they lie now; those of weight w count w times."""
        there = (sqnorms > 0) & (weight > 0)
        sqnorms, scores, weight = sqnorms[there], scores[there].astype(np.float64), weight[there]
        left = sqnorms - np.square(scores)
        apart = np.sqrt(np.where(left > LEAST * sqnorms, left, LEAST * sqnorms))
        power = steady_power(apart, scores, weight) if power is None else power
        apart /= np.maximum(scores, np.sqrt(LEAST * sqnorms)) ** power
        order = np.argsort(apart)
        apart, weight = apart[order], weight[order].astype(np.float64)
        if self.share is None:
            return OutlierLimit(upper_limit(apart, weight) ** 2, power)
        return OutlierLimit(cut_off(apart, weight, self.share, self.together) ** 2, power)


@dataclass(frozen=True)
class LimitUpdate:
    """Finds the fence again after a sweep; reads no X, gathers a number a sample."""

    outliers: Outliers
    row_sqnorms: Array  # (n,) ||x_i||^2
    count: Array  # (n,) d_i, whatever its vote

    @classmethod
    def of(cls, data: Data, outliers: Outliers) -> Self:
        sqnorms, influence = (data.gather(part) for part in (data.row_sqnorms, data.influence))
        return cls(outliers, sqnorms, counts(data.weight, sqnorms, influence))

    def again(
        self, data: Data, rows: Any, last: OutlierLimit, turn: int
    ) -> tuple[OutlierLimit, bool]:
        """The fence by the scores of the samples, and whether its outliers are those of `last`.

        Rays and outliers might change places for ever: after some turns it can but rise.
        """
        scores = data.gather(data.map_blocks(scores_of, rows))
        limit = self.outliers.limit(self.row_sqnorms, scores, self.count, last.power)
        if turn >= FREE_TURNS:
            limit = max(limit, last)
        now, before = (scores < one.floor(self.row_sqnorms) for one in (limit, last))
        return limit, np.array_equal(now, before)


def counts(weight: Array, sqnorms: Array, influence: Array) -> Array:
    """How many samples each stands for: d_i, which is its weight times ||x_i||^2 with one vote."""
    return weight.astype(np.float64) * sqnorms / np.where(influence > 0, influence, 1)


def steady_power(apart: Array, scores: Array, weight: Array) -> float:
    """The power of the score that distances grow with: another than 0 if they clearly do."""
    known = np.flatnonzero(scores > 0)
    known = known[:: 1 + len(known) // TELLING]
    apart, size, weight = np.log(apart[known]), np.log(scores[known]), weight[known]
    if not len(size) or spread_of(size, weight) < VARIED:
        return POWERS[0]
    best, least = POWERS[0], np.inf
    for power in POWERS:
        spread = spread_of(apart - power * size, weight)
        if spread < CLEARLY * least:
            best, least = power, spread
    return best


def median_of(values: Array, weight: Array) -> float:
    order = np.argsort(values)
    return float(values[order][half_way(weight[order])])


def spread_of(values: Array, weight: Array) -> float:
    """Median absolute deviation."""
    order = np.argsort(values)
    return deviation(values[order], weight[order])[1]


def upper_limit(apart: Array, weight: Array) -> float:
    """Median and DEVIATIONS robust deviations of sorted values, of those that are below it."""
    end = len(apart)
    for _ in range(ROUNDS):
        middle, spread = deviation(apart[:end], weight[:end])
        limit = middle + DEVIATIONS * NORMAL * spread
        before, end = end, int(np.searchsorted(apart, limit, side="right"))
        if end == before:
            break
    return limit


def cut_off(apart: Array, weight: Array, share: float, together: bool) -> float:
    """What this share of sorted values exceeds; of equal ones all do, or none."""
    above = np.append(np.cumsum(weight[::-1])[::-1], 0)  # of the values from each on
    end = int(np.argmax(above <= share * above[0] * (1 + APART)))
    while 0 < end < len(apart) and apart[end] <= apart[end - 1] * (1 + APART):
        end += -1 if together else 1
    end = end or len(apart)  # all are equal
    low, high = apart[end - 1], np.append(apart, np.inf)[end]
    return float(min(np.sqrt(low * high), MARGIN * low))  # what costs more draws the rays


def deviation(values: Array, weight: Array) -> tuple[float, float]:
    """Median of sorted values, and the median of their absolute differences from it."""
    middle = float(values[half_way(weight)])
    away = np.abs(values - middle)
    order = np.argsort(away, kind="stable")  # falls, then rises: merged rather than sorted
    return middle, float(away[order][half_way(weight[order])])


def half_way(weight: Array) -> int:
    """Where the weights, added up, reach half."""
    total = np.cumsum(weight)
    return int(np.searchsorted(total, total[-1] / 2))
