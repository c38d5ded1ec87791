"""Outliers: samples whose loss is capped.

    loss_i = min(total_i - score_i^2,  cost_i)

For squares total_i = ||x_i||^2 and score_i is the product with the nearest unit ray; an assignment
says what they are for its loss (`total_and_score`). Beyond the cap a sample is an outlier: it does
not move a centroid, and a centroid for it alone gains at most its cost. The limit follows how noise
grows with the part of the sample that is explained,

    total_i - score_i^2  <=  height (score_i^2)^power,

power 0 for noise of constant size, 1/2 for counts, 1 for proportional noise. Solved for the score
this gives the lowest score of a sample with this total, its floor, and cost_i = total_i -
floor_i^2. So an outlier is a row whose score for "no cluster", floor_i, is above that for any ray.
The search only needs one more column of scores.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from onmf.rows.sweep import Array, Data, divisor, row_sqnorm
from onmf.search.sketch import Sketch

MAX_DEVIATIONS = 4.5  # robust standard deviations above the median
MAD_TO_SD = 1.4826  # median absolute deviation to standard deviation, for a normal distribution
POWERS = (0.0, 0.5, 1.0)
MIN_SPREAD_DROP = 0.8  # a higher power must reduce the spread at least to this share
POWER_SAMPLES = 4000  # samples, about, from which the power is estimated
MIN_LOG_SCORE_SPREAD = 0.1  # with less, the scores say nothing about the power
SCALE_ROUNDS = 10  # of estimating the scale without the samples beyond it
FREE_UPDATES = 8  # of the limit, before it can only rise
MIN_UNEXPLAINED = 1e-5  # share of a sample that may always be unexplained
LIMIT_MARGIN = 1.05  # above the most distant sample that is no outlier, if there is room
EQUAL_DISTANCES = 1e-9  # relative difference below which distances are equal
EQUAL_COSTS = 1e-6  # costs that differ by less are equal
SAMPLE_COLUMNS = 2  # of a row of the search, that describe its sample


class OutlierLimit(NamedTuple):
    """A sample is an outlier if total - score^2 > height (score^2)^power."""

    height: float
    power: float

    def floor(self, total: Array) -> Array:
        """The lowest score of a sample with this total that is no outlier."""
        if self.power == 0:
            least = np.sqrt(np.maximum(total - self.height, 0))
        elif self.power == 1:
            least = np.sqrt(total / (1 + self.height))
        else:  # a^2 + height a = total, without a difference of large numbers
            root = self.height + np.sqrt(self.height**2 + 4 * total)
            least = 2 * total / divisor(root)
        return np.minimum(least, np.sqrt((1 - MIN_UNEXPLAINED) * total))

    def beyond(self, total: Array, scores: Array) -> Array:
        """Whether samples are outliers."""
        return np.asarray(scores < self.floor(total))

    def applied(self, total: Array, scores: Array, code: Any) -> Any:
        """The codes with label -1 for outliers; their scores stay, to measure the distance."""
        return code._replace(labels=np.where(self.beyond(total, scores), -1, code.labels))

    def capped_loss(self, weight: Array, pair: tuple[Array, Array]) -> float:
        """sum_i d_i min(total_i - score_i^2, cost_i)."""
        total, scores = pair
        best = np.maximum(scores, self.floor(total))
        return float(weight[:, 0].astype(np.float64) @ (total - np.square(best)))

    def scaled(self, factor: float, degree: int) -> "OutlierLimit":
        """The limit for samples times `factor`, by which the loss grows as factor^degree.

        Exact for a power of two.
        """
        with np.errstate(over="ignore", under="ignore"):
            height = float(self.height * np.float64(factor) ** (degree * (1 - self.power)))
        if self.height > 0 and not np.finfo(np.float64).tiny <= height < np.inf:
            raise ValueError(
                "the entries of X are too large or too small for outliers, whose limit is in "
                "squares of them: divide X by its largest entry."
            )
        return self._replace(height=height)


NO_LIMIT = OutlierLimit(np.inf, 0.0)  # losses of samples are measured; none is an outlier


@dataclass(frozen=True)
class Outliers:
    """How many outliers: a count, a share, or None for as many as a robust scale gives."""

    share: float | None = None
    count: int | None = None
    together: bool = False  # equal samples at the limit are all outliers; otherwise none of them

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
        self, total: Array, scores: Array, weight: Array, power: float | None = None
    ) -> OutlierLimit:
        """The limit for samples with these totals and scores; weight w counts w times."""
        there = (total > 0) & (weight > 0)
        total, scores, weight = total[there], scores[there].astype(np.float64), weight[there]
        left = total - np.square(scores)
        apart = np.sqrt(np.where(left > MIN_UNEXPLAINED * total, left, MIN_UNEXPLAINED * total))
        power = steady_power(apart, scores, weight) if power is None else power
        apart /= np.maximum(scores, np.sqrt(MIN_UNEXPLAINED * total)) ** power
        order = np.argsort(apart)
        apart, weight = apart[order], weight[order].astype(np.float64)
        if self.share is None:
            return OutlierLimit(upper_limit(apart, weight) ** 2, power)
        return OutlierLimit(cut_off(apart, weight, self.share, self.together) ** 2, power)


def next_limit(
    outliers: Outliers, total: Array, scores: Array, weight: Array, last: OutlierLimit, turn: int
) -> OutlierLimit:
    """The limit for these samples, of the same power as the last one.

    Centroids and outliers could alternate for ever: after FREE_UPDATES the limit can only rise.
    """
    limit = outliers.limit(total, scores, weight, last.power)
    return limit if turn < FREE_UPDATES else max(limit, last)


def with_samples(data: Data, small: Sketch) -> Array:
    """The rows of a sketch with sqrt(d_i) and sqrt(d_i) ||x_i||.

    A factor that makes up for the probability of a row multiplies these columns as well.
    """
    seen = data.gather(small.seen)
    weight = data.weight[seen].astype(np.float64)
    sqnorms = weight * data.gather(data.norms[0])[seen]  # of missing values as they are filled
    sqnorms = sqnorms if small.shrunk is None else row_sqnorm(small.Y)
    facts = np.sqrt([weight, sqnorms]).T
    return np.hstack([small.Y, facts]).astype(small.Y.dtype)


def energy(rows: Array, outliers: Outliers | None) -> Array:
    """The squared norms of the rows of a search, without the columns of `with_samples`."""
    return row_sqnorm(rows if outliers is None else rows[:, :-SAMPLE_COLUMNS])


def even(rows: Array, outliers: Outliers | None) -> tuple[Array, Array]:
    """Rows to start from, and their energy: long outliers would attract every ray."""
    sqnorms = energy(rows, outliers)
    if outliers is None:
        return rows, sqnorms
    bound = np.median(sqnorms)
    shrink = np.sqrt(bound / np.maximum(sqnorms, bound)) if bound else sqnorms > 0
    Y = np.ascontiguousarray(rows[:, :-SAMPLE_COLUMNS])
    return Y * shrink[:, None].astype(Y.dtype), sqnorms * np.square(shrink)


def cap(rows: Array, outliers: Outliers | None, U: Array) -> tuple[Array, Array, Array | None]:
    """Rows, their energy and their floors: what each scores with no cluster, by the limit for these
    rays. Without outliers there are no floors.

    Rows whose cost is above that of half of them are shortened to have that one: a ray through one
    long outlier would otherwise explain more than one through a cluster of short samples.
    """
    sqnorms = energy(rows, outliers)
    if outliers is None:
        return rows, sqnorms, None
    Y = np.ascontiguousarray(rows[:, :-SAMPLE_COLUMNS])
    root, length = rows[:, -SAMPLE_COLUMNS:].T.astype(np.float64)
    count = np.square(root)
    root = divisor(root)  # rows without weight are left out before they count
    whole = np.square(length / root)
    scores = np.maximum((Y @ U.T.astype(Y.dtype)).max(axis=1), 0).astype(np.float64) / root
    # A cluster of equal samples without a ray must be missed to be found.
    limit = replace(outliers, together=True).limit(whole, scores, count)
    floor = limit.floor(whole)
    cost = whole - np.square(floor)
    typical = median_of(cost, count)
    if (cost <= typical * (1 + EQUAL_COSTS)).all():
        return Y, sqnorms, floor * root
    shrink = np.sqrt(typical / np.maximum(cost, typical))
    return Y * shrink[:, None].astype(Y.dtype), sqnorms * np.square(shrink), floor * root * shrink


def steady_power(apart: Array, scores: Array, weight: Array) -> float:
    """The power of the score that distances grow with: another than 0 if they clearly do."""
    known = np.flatnonzero(scores > 0)
    known = known[:: 1 + len(known) // POWER_SAMPLES]
    apart, size, weight = np.log(apart[known]), np.log(scores[known]), weight[known]
    if not len(size) or spread_of(size, weight) < MIN_LOG_SCORE_SPREAD:
        return POWERS[0]
    best, least = POWERS[0], np.inf
    for power in POWERS:
        spread = spread_of(apart - power * size, weight)
        if spread < MIN_SPREAD_DROP * least:
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
    """Median and MAX_DEVIATIONS robust deviations of sorted values, of those that are below it."""
    end = len(apart)
    for _ in range(SCALE_ROUNDS):
        middle, spread = deviation(apart[:end], weight[:end])
        limit = middle + MAX_DEVIATIONS * MAD_TO_SD * spread
        before, end = end, int(np.searchsorted(apart, limit, side="right"))
        if end == before:
            break
    return limit


def cut_off(apart: Array, weight: Array, share: float, together: bool) -> float:
    """What this share of sorted values exceeds; of equal ones all do, or none."""
    above = np.append(np.cumsum(weight[::-1])[::-1], 0)  # of the values from each on
    end = int(np.argmax(above <= share * above[0] * (1 + EQUAL_DISTANCES)))
    while 0 < end < len(apart) and apart[end] <= apart[end - 1] * (1 + EQUAL_DISTANCES):
        end += -1 if together else 1
    end = end or len(apart)  # all are equal
    low, high = apart[end - 1], np.append(apart, np.inf)[end]
    return float(
        min(np.sqrt(low * high), LIMIT_MARGIN * low)
    )  # a higher limit lets outliers move centroids


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
