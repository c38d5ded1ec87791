"""The table of distinctive features of each cluster, best first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.explain.comparison import GroupComparison
from onmf.explain.significance import Significance
from onmf.rows.sweep import Array

FEATURES_PER_NAME = 2  # of a cluster; one more if two clusters would share a name


class Marker(NamedTuple):
    """A row of the table: one feature in one cluster and in all other samples.

    Examples
    --------
    >>> from onmf import explain
    >>> first = next(explain.groups(["a", "a", "b"], [[3, 1], [2, 1], [0, 1]]).rows())
    >>> first.feature, first.mean_inside, first.mean_outside, first.share_outside
    ('x0', 2.5, 0.0, 0.0)
    """

    cluster: Any
    feature: str
    mean_inside: float
    mean_outside: float
    share_inside: float
    share_outside: float
    log2_fold_change: float
    effect: float
    score: float
    p_value: float
    p_adjusted: float
    p_neighbour: float
    neighbour: Any
    p_one_cloud: float


@dataclass(frozen=True, eq=False)
class Markers:
    """Every feature in every cluster; made by `onmf.explain.clusters` and `onmf.explain.groups`.

    Attributes
    ----------
    clusters : list
        The ids of the clusters, or the labels of the groups.
    sizes : ndarray of shape (n_clusters,)
        Number of samples. A cluster without samples has no rows in the table.
    features : list of str
    facts : GroupComparison
        Columns of the table, each an array of shape (n_clusters, n_features).
    p_value, p_adjusted : ndarray of shape (n_clusters, n_features)
        Against all other samples; the second after Benjamini and Hochberg, for the features of a
        cluster. Of clusters that were found from the features, none is smaller than the p-value
        that the cluster and its neighbour are parts of one cloud.
    p_neighbour : ndarray of shape (n_clusters, n_features) or None
        As p_adjusted, against the nearest cluster; None for groups that are known.
    neighbour : list
        The id of the nearest cluster of each; None for groups that are known.
    p_one_cloud : ndarray of shape (n_clusters,)
        p-value of the hypothesis that a cluster and its neighbour are parts of one cloud, adjusted
        for the number of pairs of neighbours; NaN for groups that are known.
    order : ndarray of shape (n_clusters, n_features)
        Numbers of the features of each cluster, the highest score first.
    ranked : list of ndarray
        The same, only features with a positive score.
    names : list of str
        A short name for each cluster: its two most distinctive features, or three; or the name
        that it was given (`ONMF.rename`).

    Examples
    --------
    >>> from onmf import explain
    >>> X = [[3, 0, 1], [2, 0, 1], [0, 5, 1], [0, 4, 1]]
    >>> names = ["iron", "cobalt", "air"]
    >>> table = explain.groups(["red", "red", "blue", "blue"], X, feature_names=names)
    >>> table.clusters, table.names
    (['blue', 'red'], ['cobalt', 'iron'])
    """

    clusters: list[Any]
    sizes: Array = field(repr=False)
    features: list[str] = field(repr=False)
    facts: GroupComparison = field(repr=False)
    p_value: Array = field(repr=False)
    p_adjusted: Array = field(repr=False)
    p_neighbour: Array | None = field(repr=False)
    neighbour: list[Any] = field(repr=False)
    p_one_cloud: Array = field(repr=False)
    order: Array = field(repr=False)
    ranked: list[Array] = field(repr=False)
    names: list[str] = field(repr=False)

    @classmethod
    def of(
        cls,
        clusters: list[Any],
        sizes: Array,
        features: list[str],
        facts: GroupComparison,
        tests: Significance,
    ) -> Self:
        """The table with orders and names."""
        order = np.argsort(-facts.score, axis=1, kind="stable")
        positive = np.where(sizes > 0, np.sum(facts.score > 0, axis=1), 0)
        ranked = [row[:n] for row, n in zip(order, positive.tolist(), strict=True)]
        names = short_names([[features[j] for j in row[: FEATURES_PER_NAME + 1]] for row in ranked])
        neighbour, p_one_cloud = [None] * len(clusters), np.full(len(clusters), np.nan)
        if (found := tests.separation) is not None:
            neighbour = [clusters[i] if i >= 0 else None for i in found.neighbour.tolist()]
            p_one_cloud = found.p_one_cloud
        return cls(clusters, sizes, features, facts, *tests[:3], neighbour, p_one_cloud,
                   order, ranked, names)  # fmt: skip

    def renamed(self, names: Mapping[Any, str]) -> Self:
        """With these names, by cluster, in the place of those found."""
        pairs = zip(self.clusters, self.names, strict=True)
        return replace(self, names=[names.get(cluster, name) for cluster, name in pairs])

    def numbers(self, n: int) -> list[list[int]]:
        """The n most distinctive features of each cluster, by number.

        Parameters
        ----------
        n : int
        """
        return [row[:n].tolist() for row in self.ranked]

    def top(self, n: int = 10) -> list[list[str]]:
        """The n most distinctive features of each cluster: higher inside than outside.

        Parameters
        ----------
        n : int, default=10

        Examples
        --------
        >>> from onmf import explain
        >>> explain.groups(["a", "a", "b"], [[3, 1], [2, 1], [0, 1]]).top(1)
        [['x0'], []]
        """
        return [[self.features[j] for j in row] for row in self.numbers(n)]

    def rows(self, n: int | None = None) -> Iterator[Marker]:
        """The rows of the table: all features of each cluster, or the n most distinctive ones.

        Parameters
        ----------
        n : int, optional
        """
        wanted: Sequence[Any] = self.order.tolist() if n is None else self.numbers(n)
        beside = self.p_neighbour
        beside = np.full_like(self.p_value, np.nan) if beside is None else beside
        columns = (*self.facts, self.p_value, self.p_adjusted, beside)
        for k, numbers in enumerate(wanted):
            if not self.sizes[k]:
                continue
            pair = [self.neighbour[k], float(self.p_one_cloud[k])]
            for j in numbers:
                values = [float(column[k, j]) for column in columns]
                yield Marker._make([self.clusters[k], self.features[j], *values, *pair])

    def frame(self, n: int | None = None) -> Any:
        """The table as a pandas DataFrame.

        Parameters
        ----------
        n : int, optional
            Only the n most distinctive features of each cluster.
        """
        import pandas as pd

        return pd.DataFrame(self.rows(n), columns=Marker._fields)


def short_names(tops: list[list[str]]) -> list[str]:
    """The first two features of each cluster; a third where two clusters would share them."""
    short = [", ".join(top[:FEATURES_PER_NAME]) for top in tops]
    return [
        ", ".join(top) if short.count(name) > 1 else name
        for name, top in zip(short, tops, strict=True)
    ]
