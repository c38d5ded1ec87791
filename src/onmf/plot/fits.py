"""Figures of one fit: convergence, map, distinctive features, agreement with classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array

from onmf.explain import Markers, groups
from onmf.page.clustering import check_samples
from onmf.page.embedding import embed
from onmf.page.markers import CARD_NAME, dot_values, shown_features
from onmf.page.names import display_name
from onmf.page.palette import LIGHT
from onmf.page.panels import class_agreement
from onmf.plot.canvas import ACCENT, MUTED, axes_or_new, cluster_look, plain_text, shades_of
from onmf.result import FittedModel, known_feature_names


def convergence(model: FittedModel, ax: Any = None) -> Any:
    """Relative error (left) and overlap of the clusters (right) over the stages of a fit.

    Parameters
    ----------
    model : fitted ONMF
    ax : Axes, optional

    Returns
    -------
    Axes
        Those of the relative error; the overlap is on its twin.

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> plot.convergence(ONMF(n_clusters=3, random_state=0).fit(X)).get_ylabel()
    'relative error'
    """
    ax = axes_or_new(ax)
    stages = np.arange(1, len(model.history_) + 1)
    error = [stage.relative_error for stage in model.history_]
    overlap = [stage.orthogonality for stage in model.history_]
    ax.plot(stages, error, ".-", color=ACCENT)
    ax.set(xlabel="stage", title=f"{model.n_iter_} passes over the data")
    ax.set_ylabel("relative error", color=ACCENT)
    other = ax.twinx()
    other.plot(stages, overlap, ".-", color=LIGHT[1])
    other.set_ylabel("overlap of clusters", color=LIGHT[1])
    for side in (ax, other):
        side.spines["top"].set_visible(False)
    return ax


def embedding(
    model: FittedModel,
    X: Any,
    ax: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Any:
    """Samples in two dimensions by t-SNE, a colour and a marker for each cluster.

    If features have names, a cluster is named by its two most distinctive ones, as on the page. At
    most 10,000 samples are shown, chosen in proportion to their clusters. Of more than 2,000,
    t-SNE lays out 1,000; the others, drawn fainter, are placed between the nearest of these.

    Parameters
    ----------
    model : fitted clusterer
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        The data that the model was fitted to.
    ax : Axes, optional
    feature_names : sequence of names, optional
        By default those the model was fitted with, if any.
    random_state : int, default=0

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> plot.embedding(ONMF(n_clusters=3, random_state=0).fit(X), X).get_title()
    '60 samples in 3 clusters'
    """
    ax, labels = axes_or_new(ax), np.asarray(model.labels_)
    X = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    check_samples(X, labels)
    shown = embed(X, labels, random_state)
    called = cluster_names(model, X, feature_names)
    size = np.clip(6e4 / len(shown.samples), 4, 30)
    for faint in (True, False):
        for k in np.unique(labels[shown.samples]):
            inside = (labels[shown.samples] == k) & (shown.interpolated == faint)
            if not inside.any():
                continue
            ax.scatter(
                *shown.points[inside].T,
                s=size * (0.5 if faint else 1),
                alpha=0.4 if faint else 0.85,
                linewidths=0,
                label=None if faint else ("no cluster" if k < 0 else called[k]),
                **cluster_look(k),
            )
    n_clusters = len(np.unique(labels[labels >= 0]))
    ax.set(xticks=[], yticks=[], title=f"{len(shown.samples):,} samples in {n_clusters} clusters")
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(title="cluster", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return ax


def cluster_names(model: FittedModel, X: Any, features: Sequence[str] | None) -> list[str]:
    """The number of each cluster and, if features have names, its most distinctive ones."""
    labels, k = np.asarray(model.labels_), len(model.cluster_centers_)
    features = known_feature_names(model, features)
    names = [str(cluster) for cluster in range(k)]
    if features is None or len(np.unique(labels[labels >= 0])) < 2:
        return names
    table = groups(labels, X, feature_names=features)
    for cluster, name in zip(table.clusters, table.names, strict=True):
        names[cluster] += f" {plain_text(display_name(name, CARD_NAME))}"
    return names


def markers(table: Markers, n: int | None = None, ax: Any = None) -> Any:
    """Clusters x distinctive features: darker is a higher mean, larger a larger share of samples.

    Parameters
    ----------
    table : Markers
        As ``onmf.explain.clusters(model, X).markers`` or ``onmf.explain.groups(labels, X)``.
    n : int, optional
        Features per cluster; by default two to five, fewer if there are many clusters.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import explain, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> plot.markers(explain.groups(y, X), n=2).get_ylabel()
    'cluster'
    """
    ax, columns = axes_or_new(ax), shown_features(table, n)
    rows = [k for k, size in enumerate(table.sizes) if size]
    levels, shares = (values[rows] for values in dot_values(table, columns))
    across, down = np.meshgrid(np.arange(len(columns)), np.arange(len(rows)))
    look = {"cmap": shades_of(ACCENT), "vmin": 0, "vmax": 1, "edgecolors": MUTED, "linewidths": 0.3}
    ax.scatter(across.ravel(), down.ravel(), s=4 + 120 * shares.ravel(), c=levels.ravel(), **look)
    ax.set_xticks(range(len(columns)), [plain_text(table.features[j]) for j in columns])
    ax.tick_params(axis="x", labelrotation=60)
    ax.set_yticks(range(len(rows)), [plain_text(str(table.clusters[k])) for k in rows])
    ax.set(ylabel="cluster", xlim=(-0.7, len(columns) - 0.3), ylim=(len(rows) - 0.3, -0.7))
    return ax


def confusion(labels: Any, truth: Any, ax: Any = None) -> Any:
    """Number of samples of each class in each cluster; matching pairs are on the diagonal.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Clusters, as in `labels_`; -1 (no cluster) has a column only if it occurs.
    truth : array of shape (n_samples,)
        Classes: numbers or names.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import plot
    >>> ax = plot.confusion([0, 0, 1, 1], ["cat", "cat", "dog", "cat"])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['cat', 'dog']
    """
    ax, labels = axes_or_new(ax), np.asarray(labels)
    k = int(labels.max(initial=-1)) + 1
    table = class_agreement(np.asarray(truth), labels, k)
    counts = np.array(table["counts"])[:, : k + bool((labels < 0).any())]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap=shades_of(ACCENT), vmin=0, vmax=1)
    for (i, j), count in np.ndenumerate(counts):
        if count:
            ink = "white" if shares[i, j] > 0.5 else "black"
            ax.text(j, i, f"{count}", ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(counts.shape[1]), [*table["clusters"], "none"][: counts.shape[1]])
    ax.set_yticks(range(len(counts)), map(plain_text, table["classes"]))
    ax.set(xlabel="cluster", ylabel="class")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax
