"""The rows of a search, with or without outliers.

In `Rows` every row has a cluster. In `RowsWithOutliers` some may be outliers: each row has a floor
(see `outliers`), which is updated as the rays improve.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from onmf.rows.sweep import Array, Data, divisor, row_sqnorm
from onmf.search.moves import relocate
from onmf.search.outliers import OutlierLimit, Outliers, median_of, sample_counts
from onmf.search.path import Clustering, alternate, scores
from onmf.search.sketch import Sketch
from onmf.search.swaps import improve

LIMIT_UPDATES = 4  # of the limit in a round of swaps, at most
EQUAL_COSTS = 1e-6  # costs that differ by less are equal
SAMPLE_COLUMNS = 3  # columns that describe the sample of a row
LIMIT_ALTERNATIONS = 5  # with a new limit, before the swaps


@dataclass(frozen=True)
class Rows:
    """Rows Y (n, r) and their energy (n,)."""

    Y: Array
    row_sqnorms: Array

    @classmethod
    def of(cls, Y: Array) -> Self:
        return cls(Y, row_sqnorm(Y))

    def alternate(self, U: Array, passes: int) -> Clustering:
        return alternate(self.Y, U, passes)

    def improve(self, found: Clustering, rng: np.random.Generator) -> Clustering:
        return improve(self.Y, self.row_sqnorms, found, rng)

    def relocate(self, found: Clustering, rounds: int) -> Clustering:
        return relocate(self.Y, self.row_sqnorms, found, rounds)

    def limit(self, found: Clustering) -> OutlierLimit | None:
        return None

    def left(self, found: Clustering) -> float:
        """The share of the rows that these rays leave unexplained."""
        return 1 - found.explained / float(self.row_sqnorms.sum())

    def with_limited_length(self) -> tuple[Array, Array]:
        """Rows to start from, and their squared norms."""
        return self.Y, self.row_sqnorms


@dataclass(frozen=True)
class RowsWithOutliers(Rows):
    """Rows of which some may be outliers."""

    root: Array  # (n,) sqrt(d_i)
    whole: Array  # (n,) ||x_i||^2, of which the sketch may not show all
    count: Array  # (n,) samples that the row stands for
    outliers: Outliers

    @classmethod
    def from_columns(cls, outliers: Outliers, rows: Array) -> Self:
        """From rows with the columns of `with_samples` at their end."""
        Y = np.ascontiguousarray(rows[:, :-SAMPLE_COLUMNS])
        root, length, count = rows[:, -SAMPLE_COLUMNS:].T.astype(np.float64)
        root = divisor(root)  # rows without weight are left out before they count
        whole = np.square(length / root)
        # A cluster of equal samples without a ray must be missed to be found.
        outliers = replace(outliers, together=True)
        return cls(Y, row_sqnorm(Y), root, whole, np.square(count), outliers)

    def limit(self, found: Clustering) -> OutlierLimit:
        return self.outliers.limit(self.whole, self._best(found) / self.root, self.count)

    def left(self, found: Clustering) -> float:
        """That share, the outliers among them."""
        return 1 - float(np.square(self._best(found)).sum() / self.row_sqnorms.sum())

    def _best(self, found: Clustering) -> Array:
        """The largest score of each row, as long as it is."""
        best: Array = np.maximum(scores(self.Y, found.U).max(axis=1), 0).astype(np.float64)
        return best

    def capped(self, found: Clustering) -> "Capped":
        """The rows with the floors for these rays."""
        floor = self.limit(found).floor(self.whole)
        cost = self.whole - np.square(floor)
        typical = median_of(cost, self.count)
        if (cost <= typical * (1 + EQUAL_COSTS)).all():
            return Capped(self.Y, self.row_sqnorms, floor * self.root)
        shrink = np.sqrt(typical / np.maximum(cost, typical))
        Y = self.Y * shrink[:, None].astype(self.Y.dtype)
        return Capped(Y, self.row_sqnorms * np.square(shrink), floor * self.root * shrink)

    def alternate(self, U: Array, passes: int) -> Clustering:
        return self.capped(alternate(self.Y, U, 0)).alternate(U, passes)

    def improve(self, found: Clustering, rng: np.random.Generator) -> Clustering:
        """Swaps at the limit of the rays, until the next limit has the same outliers."""
        for turn in range(LIMIT_UPDATES):
            rows, before = self.capped(found), found.labels
            found = rows.alternate(found.U, LIMIT_ALTERNATIONS)
            if turn and np.array_equal(found.labels, before):
                break
            found = improve(rows.Y, rows.row_sqnorms, found, rng, rows.floor)
        return found

    def with_limited_length(self) -> tuple[Array, Array]:
        """No row above the median length: long outliers would attract every ray."""
        bound = np.median(self.row_sqnorms)
        shrink = (
            np.sqrt(bound / np.maximum(self.row_sqnorms, bound)) if bound else self.row_sqnorms > 0
        )
        return self.Y * shrink[:, None].astype(self.Y.dtype), self.row_sqnorms * np.square(shrink)

    def relocate(self, found: Clustering, rounds: int) -> Clustering:
        """Among the rows that are no outliers, at their full length."""
        inside = np.flatnonzero(found.labels < len(found.U))
        rows = Rows(self.Y[inside], self.row_sqnorms[inside])
        found = rows.relocate(rows.alternate(found.U, LIMIT_ALTERNATIONS), rounds)
        return self.alternate(found.U, LIMIT_ALTERNATIONS)


class Capped(NamedTuple):
    """Rows, their energy, and what each scores with no cluster.

    Rows whose cost is above that of half of them are shortened to have that one: a ray through one
    long outlier would otherwise explain more than one through a cluster of short samples.
    """

    Y: Array
    row_sqnorms: Array
    floor: Array

    def alternate(self, U: Array, passes: int) -> Clustering:
        return alternate(self.Y, U, passes, floor=self.floor)


def with_samples(data: Data, small: Sketch) -> Array:
    """The rows of a sketch with sqrt(d_i), sqrt(d_i) ||x_i|| and sqrt(count of samples).

    A factor that makes up for the probability of a row multiplies these columns as well.
    """
    seen = data.gather(small.seen)
    weight = data.weight[seen].astype(np.float64)
    sqnorms = weight * data.gather(data.norms[0])[seen]  # of missing values as they are filled
    sqnorms = sqnorms if small.shrunk is None else row_sqnorm(small.Y)
    facts = np.sqrt([weight, sqnorms, sample_counts(data)[seen]]).T
    return np.hstack([small.Y, facts]).astype(small.Y.dtype)
