"""The rows that a search sees, and how it goes on among them.

In `Rows` every row has a cluster. In a `Crowd` some may be outliers: what is known of the samples
behind the rows gives each its floor (see `outliers`), found again as the rays become better.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from onmf.rows.sweep import Array, Data, row_sqnorm
from onmf.search.moves import relocate
from onmf.search.outliers import OutlierLimit, Outliers, median_of, sample_counts
from onmf.search.path import Clustering, alternate, scores
from onmf.search.sketch import Sketch
from onmf.search.swaps import improve

FENCES = 4  # times that the fence is found again in a round of swaps
SAME = 1e-6  # costs that differ by less are equal
SAMPLE = 3  # columns that tell of the sample behind a row
BEGIN = 5  # alternations with a new fence, before the swaps


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

    def with_limited_length(self) -> tuple[Array, Array]:
        """Rows to begin with, and their energy."""
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
        Y = np.ascontiguousarray(rows[:, :-SAMPLE])
        root, length, count = rows[:, -SAMPLE:].T.astype(np.float64)
        root = np.where(root > 0, root, 1)  # rows without weight are left out before they count
        whole = np.square(length / root)
        # A cluster of equal samples without a ray must be missed to be found.
        outliers = replace(outliers, together=True)
        return cls(Y, row_sqnorm(Y), root, whole, np.square(count), outliers)

    def limit(self, found: Clustering) -> OutlierLimit:
        best = np.maximum(scores(self.Y, found.U).max(axis=1), 0)  # of rows as long as they are
        return self.outliers.limit(self.whole, best / self.root, self.count)

    def capped(self, found: Clustering) -> "Capped":
        """The rows with the floors of the fence that these rays give."""
        floor = self.limit(found).floor(self.whole)
        cost = self.whole - np.square(floor)
        typical = median_of(cost, self.count)
        if (cost <= typical * (1 + SAME)).all():
            return Capped(self.Y, self.row_sqnorms, floor * self.root)
        shrink = np.sqrt(typical / np.maximum(cost, typical))
        Y = self.Y * shrink[:, None].astype(self.Y.dtype)
        return Capped(Y, self.row_sqnorms * np.square(shrink), floor * self.root * shrink)

    def alternate(self, U: Array, passes: int) -> Clustering:
        return self.capped(alternate(self.Y, U, 0)).alternate(U, passes)

    def improve(self, found: Clustering, rng: np.random.Generator) -> Clustering:
        """Swaps with the fence of the rays, until the one after has the same outliers."""
        for turn in range(FENCES):
            rows, before = self.capped(found), found.labels
            found = rows.alternate(found.U, BEGIN)
            if turn and np.array_equal(found.labels, before):
                break
            found = improve(rows.Y, rows.row_sqnorms, found, rng, rows.floor)
        return found

    def with_limited_length(self) -> tuple[Array, Array]:
        """No row longer than half of them are: long outliers would draw every ray."""
        bound = np.median(self.row_sqnorms)
        shrink = (
            np.sqrt(bound / np.maximum(self.row_sqnorms, bound)) if bound else self.row_sqnorms > 0
        )
        return self.Y * shrink[:, None].astype(self.Y.dtype), self.row_sqnorms * np.square(shrink)

    def relocate(self, found: Clustering, rounds: int) -> Clustering:
        """Among the rows that are no outliers, as long as they are."""
        inside = np.flatnonzero(found.labels < len(found.U))
        rows = Rows(self.Y[inside], self.row_sqnorms[inside])
        found = rows.relocate(rows.alternate(found.U, BEGIN), rounds)
        return self.alternate(found.U, BEGIN)


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
    sqnorms = data.gather(data.norms[0])[seen]  # of missing values as they are filled
    weight = data.weight[seen].astype(np.float64)
    facts = np.sqrt([weight, weight * sqnorms, sample_counts(data)[seen]]).T
    return np.hstack([small.Y, facts]).astype(small.Y.dtype)
