"""Samples x distinctive features, ordered by cluster, with bars for clusters and classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.explain import Markers
from onmf.page.markers import shown_features
from onmf.plot.canvas import (
    ACCENT,
    MUTED,
    axes_or_new,
    colors,
    label_colours,
    plain_text,
    two_shades,
)
from onmf.rows.sweep import Array

OTHER = "#23459f"  # of values below the mean of a feature
LARGEST_SCORE = 2.5  # standard deviations, from which on colours are full
CLASS_COLOURS = 8


def sample_map(
    table: Markers,
    X: Any,
    labels: Any,
    *,
    truth: Sequence[Any] | None = None,
    n: int | None = None,
    ax: Any = None,
) -> Any:
    """Heat map of all samples and the distinctive features of their clusters.

    Each feature is shown in standard deviations from its mean. Samples are ordered by cluster, and
    within a cluster by the sum of the features shown. Bars above the map show clusters and classes.

    Parameters
    ----------
    table : Markers
        As ``model.explain(X).markers``.
    X : array or sparse matrix of shape (n_samples, n_features)
        The matrix with the features of the table.
    labels : array of shape (n_samples,)
        Clusters; samples with label -1 are left out.
    truth : sequence of n_samples classes, optional
    n : int, optional
        Features per cluster; by default two to five.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> model = ONMF(n_clusters=3, random_state=0).fit(X)
    >>> plot.sample_map(model.explain(X).markers, X, model.labels_, truth=y).get_xlabel()
    '60 samples'
    """
    columns, labels = shown_features(table, n), np.asarray(labels)
    values = X[:, columns]
    values = np.asarray(values.toarray() if sp.issparse(values) else values, np.float64)
    order = _order(values, labels)
    scores = values - np.nanmean(values, axis=0)
    scores /= np.maximum(np.nanstd(values, axis=0), np.finfo(float).tiny)
    ax = axes_or_new(ax)
    look = {"vmin": -LARGEST_SCORE, "vmax": LARGEST_SCORE, "cmap": two_shades(OTHER, ACCENT)}
    ax.imshow(scores[order].T, aspect="auto", interpolation="nearest", **look)
    ax.set_yticks(range(len(columns)), [plain_text(table.features[j]) for j in columns])
    ax.set(xticks=[], xlabel=f"{len(order):,} samples")
    bars = {"cluster": labels[order]}
    if truth is not None:
        names, numbers = np.unique([str(kind) for kind in truth], return_inverse=True)
        bars["class"] = numbers[order]
        _name_classes(ax, names)
    for place, (name, numbers) in enumerate(bars.items()):
        bar = ax.inset_axes((0, 1.01 + 0.045 * place, 1, 0.035))
        colour = label_colours(int(numbers.max(initial=0)) + 1)
        bar.imshow(numbers[None] + 1, aspect="auto", cmap=colour, vmin=0, vmax=colour.N - 1,
                   interpolation="nearest")  # fmt: skip
        bar.set(xticks=[], yticks=[])
        bar.set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
    return ax


def _order(values: Array, labels: Array) -> Array:
    """Samples with a cluster, by cluster and then by the sum of the features shown."""
    inside = np.flatnonzero(labels >= 0)
    height = np.nan_to_num(values).sum(axis=1)
    return inside[np.lexsort((-height[inside], labels[inside]))]


def _name_classes(ax: Any, names: Any) -> None:
    """A legend of the classes below the map."""
    for name, colour in zip(names[:CLASS_COLOURS], colors(len(names)), strict=False):
        ax.plot([], [], "s", color=colour, label=plain_text(str(name)))
    if len(names) > CLASS_COLOURS:
        ax.plot([], [], "s", color=MUTED, label=f"and {len(names) - CLASS_COLOURS} more")
    ax.legend(title="class", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
