"""Figures of the centroids: heaviest features, images, heat map."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onmf.page.names import display_names
from onmf.page.palette import LIGHT
from onmf.page.panels import heat_columns, heaviest_features, unit_rays
from onmf.plot.canvas import (
    ACCENT,
    MUTED,
    cluster_look,
    panels,
    plain_text,
    shades_of,
    two_shades,
)
from onmf.result import FittedModel, known_feature_names


def top_features(
    model: FittedModel, n: int = 10, *, feature_names: Sequence[str] | None = None, axes: Any = None
) -> Any:
    """The n heaviest features of each cluster as bars, one panel per cluster.

    Parameters
    ----------
    model : fitted ONMF
    n : int, default=10
    feature_names : sequence of names, optional
        By default those the model was fitted with, or numbers.
    axes : sequence of Axes, optional
        At least as many as there are clusters.

    Returns
    -------
    ndarray of Axes
        One per cluster.

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> axes = plot.top_features(ONMF(n_clusters=3, random_state=0).fit(X), n=2)
    >>> [ax.get_title(loc="left") for ax in axes]
    ['Cluster 0', 'Cluster 1', 'Cluster 2']
    """
    centers = np.asarray(model.cluster_centers_)
    names = names_to_show(model, feature_names)
    axes = panels(len(centers), 2 + 0.22 * n) if axes is None else np.ravel(axes)
    for k, (ax, heavy) in enumerate(zip(axes, heaviest_features(centers, names, n), strict=False)):
        labels, weights = zip(*heavy[::-1], strict=True) if heavy else ((), ())
        ax.barh(range(len(heavy)), weights, color=cluster_look(k)["color"], height=0.7)
        ax.set_yticks(range(len(heavy)), map(plain_text, labels))
        ax.set_title(f"Cluster {k}", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    return axes[: len(centers)]


def centers(model: FittedModel, shape: tuple[int, int], axes: Any = None) -> Any:
    """The centroids as images, one panel per cluster, titled by its number and size; 0 is white.

    Parameters
    ----------
    model : fitted ONMF
    shape : (height, width)
        Of the images whose pixels are the features, row by row.
    axes : sequence of Axes, optional
        At least as many as there are clusters.

    Returns
    -------
    ndarray of Axes
        One per cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onmf import ONMF, plot
    >>> X, digit = load_digits(return_X_y=True)
    >>> axes = plot.centers(ONMF(n_clusters=10, random_state=0).fit(X), (8, 8))
    >>> len(axes)
    10
    """
    images = np.asarray(model.cluster_centers_)
    axes = panels(len(images), 1.7, across=5, width=1.5) if axes is None else np.ravel(axes)
    for k, (ax, image) in enumerate(zip(axes, images, strict=False)):
        colour = cluster_look(k)["color"]
        ax.imshow(image.reshape(shape), cmap=shades_of(colour), vmin=min(image.min(), 0))
        size = np.sum(np.asarray(model.labels_) == k)
        ax.set_title(f"{k}: {size:,}", fontsize="medium")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(MUTED)
    return axes[: len(images)]


def heat_map(
    model: FittedModel,
    n: int = 64,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Weights of features in the centroids, scaled to length 1: clusters x features.

    Parameters
    ----------
    model : fitted ONMF
    n : int, default=64
        Number of features: all in their order if there are no more, else the heaviest of each
        cluster, cluster by cluster.
    feature_names : sequence of names, optional
        By default those the model was fitted with, or numbers.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> plot.heat_map(ONMF(n_clusters=3, random_state=0).fit(X)).get_ylabel()
    'cluster'
    """
    rays = unit_rays(np.asarray(model.cluster_centers_))
    names = names_to_show(model, feature_names)
    columns = heat_columns(rays, n)
    if ax is None:
        (ax,) = panels(1, 1.5 + 0.25 * len(rays), width=2 + 0.16 * len(columns))
    most = float(np.abs(rays).max(initial=0)) or 1.0
    signed = rays.min(initial=0) < 0
    shades = two_shades(LIGHT[1], ACCENT) if signed else shades_of(ACCENT)
    limits = {"vmin": -most if signed else 0, "vmax": most}
    image = ax.imshow(
        rays[:, columns], cmap=shades, aspect="auto", interpolation="nearest", **limits
    )
    ax.figure.colorbar(image, ax=ax, label="weight", shrink=0.7)
    ax.set_xticks(range(len(columns)), [plain_text(names[j]) for j in columns], rotation=90)
    ax.set_yticks(range(len(rays)), range(len(rays)))
    ax.tick_params(axis="x", labelsize="small")
    ax.set(ylabel="cluster")
    ax.spines[:].set_visible(False)
    return ax


def names_to_show(model: FittedModel, features: Sequence[str] | None) -> list[str]:
    """The names that are given, those of the fit, or numbers."""
    known = known_feature_names(model, features)
    return display_names(known, np.shape(model.cluster_centers_)[1], "features", "x")
