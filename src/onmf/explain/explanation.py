"""What makes each cluster, and how certain the cluster of each sample is."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onmf.explain.certainty import Calibration, calibrate
from onmf.explain.checks import (
    check_fitted_to,
    check_groups,
    check_names,
    has_groups,
    is_other_data,
)
from onmf.explain.comparison import Ranking, compare_groups
from onmf.explain.halves import SPLITS
from onmf.explain.known_groups import table_of_groups
from onmf.explain.markers import Markers
from onmf.explain.probabilities import certainty_of
from onmf.explain.reading import Reading, read_clusters
from onmf.explain.significance import Significance
from onmf.explain.trust import ClusterRow, note_of
from onmf.result import FittedModel, cluster_ids, html_table, known_feature_names, known_names
from onmf.rows.sweep import Array

FEATURES_SHOWN = 8  # of each cluster in a notebook


@dataclass(frozen=True, eq=False)
class Explanation:
    """Distinctive features and certainties; made by `onmf.explain.clusters`.

    Attributes
    ----------
    markers : Markers
        The table of features.
    labels : ndarray of shape (n_samples,)
    certainty : ndarray of shape (n_samples,)
        The probability that two different halves of the features put the sample into the same
        cluster; 0 for label -1. With fewer than 16 features, two noisy copies of the sample.
    margin : ndarray of shape (n_samples,)
        Largest minus second largest score; the scores are those of `ONMF.decision_function`.
    distance : ndarray of shape (n_samples,)
        Square root of the share of the sample that its centroid does not explain.
    calibration : callable
        From margins, also those of new samples, to certainties.
    found_again : ndarray of shape (n_clusters,)
        How much of each cluster comes back if only half of the samples are clustered: its overlap
        (Jaccard) with the most similar cluster of a half, mean of both halves. Below 0.5 a cluster
        is not to be trusted.
    group : ndarray of shape (n_clusters,)
        Clusters between which no gap was found have the same number: they may be parts of one
        cloud.
    enough : ndarray of shape (n_clusters,)
        Whether there were enough samples to see a gap inside the group of each cluster.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(60, 30, 3, random_state=0)
    >>> model = ONMF(3, random_state=0).fit(X)
    >>> found = model.explain(X)
    >>> found.calibration(found.margin[:2]).shape
    (2,)
    """

    markers: Markers
    labels: Array = field(repr=False)
    certainty: Array = field(repr=False)
    margin: Array = field(repr=False)
    distance: Array = field(repr=False)
    calibration: Calibration = field(repr=False)
    found_again: Array = field(repr=False)
    group: Array = field(repr=False)
    enough: Array = field(repr=False)

    def clusters(self) -> list[ClusterRow]:
        """What each cluster with samples is worth; ``pandas.DataFrame`` makes a table of it."""
        table, rows = self.markers, []
        sizes = np.bincount(self.labels + 1)[1:]
        sums = np.bincount(self.labels + 1, self.certainty)[1:]
        for k in np.flatnonzero(sizes).tolist():
            same = [c for c in np.flatnonzero(self.group == self.group[k]).tolist() if c != k]
            others, again = [table.clusters[c] for c in same], float(self.found_again[k])
            enough = bool(self.enough[k])
            rows.append(
                ClusterRow(
                    cluster=table.clusters[k],
                    name=table.names[k],
                    samples=int(sizes[k]),
                    certainty=float(sums[k] / sizes[k]),
                    found_again=again,
                    neighbour=table.neighbour[k],
                    p_one_cloud=float(table.p_one_cloud[k]),
                    one_cloud_with=" ".join(map(str, others)),
                    enough_samples=enough,
                    note=note_of(again, others, enough),
                )
            )
        return rows

    def _repr_html_(self) -> str:
        """A table in a notebook: size, certainty and distinctive features of each cluster."""
        table, labels = self.markers, np.unique(self.labels[self.labels >= 0])
        middle = {k: float(np.median(self.certainty[self.labels == k])) for k in labels.tolist()}
        tops = map(", ".join, table.top(FEATURES_SHOWN))
        sure = (f"{middle.get(k, 0):.2f}" for k in range(len(table.clusters)))
        rows = zip(table.clusters, table.names, table.sizes.astype(int), sure, tops, strict=True)
        header = ("cluster", "name", "samples", "median certainty", "distinctive features")
        return html_table(header, rows)


def clusters(
    model: FittedModel,
    X: Any,
    *,
    by: Any = None,
    feature_names: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    log_base: float | None = None,
    rank: Ranking = "mean",
    splits: int = SPLITS,
    random_state: int = 0,
) -> Explanation:
    """Distinctive features of each cluster of a fitted model, and how certain its labels are.

    The p-values account for the clustering. A cluster is compared with its nearest neighbour, on
    samples that had no part in finding them: are there fewer samples between the two than in both?
    Parts of one cloud have no such gap, whatever the correlations of its features, and then no
    feature is significant. Where there is a gap, features are split into two halves, each half is
    clustered, and a feature is tested on the clusters of the half without it. X is read once after
    its check.

    Parameters
    ----------
    model : fitted clusterer
        As `onmf.ONMF`.
    X : as for `fit`
        The data that the model was fitted to.
    by : as X, optional
        Another matrix of the same samples, whose features describe the clusters: the counts of
        words of texts that were clustered by their embeddings. `feature_names` are then its
        names. Its features are tested on the clusters of X.
    feature_names : sequence of names, optional
        By default those of the model or of a DataFrame, or x0, x1, ...
    sample_weight : array of shape (n_samples,), optional
    log_base : float, optional
        If X holds log(1 + x) to this base, fold changes are those of x.
    rank : {"mean", "presence"}, default="mean"
        Whether features are ranked by their means, or by the shares of samples that have them at
        all, which is better for words.
    splits : int, default=2
        Number of random splits of the features: more make the certainty less noisy.
    random_state : int, default=0
        Of the splits.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from onmf import ONMF, explain
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 30, 3, random_state=0)
    >>> found = explain.clusters(ONMF(3, random_state=0).fit(X), X)
    >>> found.certainty.shape, len(found.markers.top(5)[0])
    ((60,), 5)
    """
    names = known_feature_names(model, feature_names if by is None else None)
    names = getattr(X, "columns", None) if names is None else names
    check_groups(np.asarray(model.labels_))
    read = read_clusters(model, X, sample_weight, splits, random_state)
    if is_other_data(model, read.moved):  # not the nearest ray; is it what the model says?
        check_fitted_to(model, X)
    found = _explanation(model, read, names, None if by is not None else log_base, rank)
    markers = found.markers
    if by is not None:
        labels, separation = np.asarray(model.labels_), read.separation
        options: dict[str, Any] = {"sample_weight": sample_weight, "log_base": log_base}
        options |= {"features": feature_names, "separation": separation, "rank": rank}
        markers = table_of_groups(cluster_ids(model), labels, by, **options)
    return replace(found, markers=markers.renamed(known_names(model)))


def clusters_or_none(model: FittedModel, X: Any, **options: Any) -> Explanation | None:
    """`clusters`; None if only one cluster has samples."""
    return clusters(model, X, **options) if has_groups(np.asarray(model.labels_)) else None


def _explanation(
    model: FittedModel,
    read: Reading,
    features: Sequence[Any] | None,
    log_base: float | None,
    rank: Ranking,
) -> Explanation:
    """The table, with p-values from the halves, and certainties from the margins."""
    labels = np.asarray(model.labels_)
    facts = compare_groups(read.whole, log_base, 1 / read.scale, rank)
    tests = Significance.of_clusters(read.tests, read.separation)
    names, sizes = check_names(features, facts.score.shape[1]), read.whole.samples[:, 0]
    curve = calibrate(read.margin[read.tried], read.agree)
    return Explanation(
        Markers.of(cluster_ids(model), sizes, names, facts, tests),
        labels=labels,
        certainty=certainty_of(curve, read.margin, labels, len(sizes)),
        margin=read.margin,
        distance=read.distance,
        calibration=curve,
        found_again=read.found_again,
        group=read.separation.group,
        enough=read.separation.enough,
    )
