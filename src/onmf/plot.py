"""Four figures with Matplotlib: a map, distinctive features, centroids, how many clusters.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from onmf import ONMF, plot
>>> from onmf.datasets import make_rays
>>> X, y = make_rays(60, 8, 3, random_state=0)
>>> model = ONMF(n_clusters=3, random_state=0).fit(X)
>>> plot.embedding(model, X).get_title()
'60 samples in 3 clusters'
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array

from onmf.explain import Markers, groups
from onmf.page.clustering import check_samples
from onmf.page.embedding import embed
from onmf.page.markers import CARD_NAME, dot_values, shown_features
from onmf.page.names import display_name
from onmf.page.palette import LIGHT, SHAPES, style
from onmf.result import FittedModel, known_feature_names

try:
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap
except ImportError as missing:
    raise ImportError(
        'onmf.plot needs Matplotlib: `pip install "onmf[plot]"` installs it.'
    ) from missing

__all__ = ["centers", "colors", "embedding", "k_curves", "markers"]

ACCENT, MUTED = "#1f5d57", "#8a8f99"


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
    if axes is None:
        across = min(len(images), 5)
        down = -(-len(images) // across)
        size = 1.5 * across, 1.7 * down
        _, panels = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
        axes = panels.ravel()
        for ax in axes[len(images) :]:
            ax.remove()
    axes = np.ravel(axes)[: len(images)]
    for k, (ax, image) in enumerate(zip(axes, images, strict=True)):
        colour = cluster_look(k)["color"]
        ax.imshow(image.reshape(shape), cmap=shades_of(colour), vmin=min(image.min(), 0))
        size = np.sum(np.asarray(model.labels_) == k)
        ax.set_title(f"{k}: {size:,}", fontsize="medium")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(MUTED)
    return axes


def k_curves(choice: Any, ax: Any = None) -> Any:
    """The score over the number of clusters, whose peak is the answer, and what comes back.

    Parameters
    ----------
    choice : KChoice
        From `onmf.choose_k`.
    ax : Axes, optional

    Returns
    -------
    Axes
        Those of the score; the share of the clusters that comes back is on its twin.

    Examples
    --------
    >>> from onmf import ONMF, choose_k, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> choice = choose_k(ONMF(random_state=0), X, range(2, 5), n_runs=2)
    >>> plot.k_curves(choice).get_ylabel()
    'score'
    """
    ax = axes_or_new(ax)
    ks = [row.k for row in choice.table]
    best = ks.index(choice.best_k)
    scores = [row.score for row in choice.table]
    ax.plot(ks, scores, ".-", color=ACCENT)
    ax.plot(choice.best_k, scores[best], "o", color=ACCENT, markersize=8)
    ax.annotate(
        f"K = {choice.best_k}",
        (choice.best_k, scores[best]),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        weight="bold",
    )
    ax.set_xlabel("number of clusters K")
    ax.set_ylabel("score", color=ACCENT)
    ax.xaxis.get_major_locator().set_params(integer=True)
    other = ax.twinx()
    other.plot(ks, [row.comes_back for row in choice.table], ".:", color=LIGHT[1])
    other.set_ylim(0, 1)
    other.set_ylabel("share that comes back", color=LIGHT[1])
    for side in (ax, other):
        side.spines["top"].set_visible(False)
    return ax


def colors(n_clusters: int) -> list[str]:
    """The colour of each cluster in all figures and on the page, to use in your own.

    There are eight; they repeat, and clusters of the same colour have different markers.

    Parameters
    ----------
    n_clusters : int

    Returns
    -------
    list of str

    Examples
    --------
    >>> from onmf import plot
    >>> plot.colors(2)
    ['#23459f', '#c25a02']
    """
    return [cluster_look(k)["color"] for k in range(n_clusters)]


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


def cluster_look(k: int) -> dict[str, Any]:
    """Colour and marker of a cluster, as on the page."""
    if k < 0:
        return {"color": MUTED, "marker": "."}
    colour, shape = style(int(k))
    return {"color": LIGHT[colour], "marker": list(SHAPES)[shape]}


def axes_or_new(ax: Any) -> Any:
    """The given axes, or those of a new figure."""
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def shades_of(colour: str) -> Any:
    """A colour map from white to a colour."""
    return LinearSegmentedColormap.from_list("shades", ["#ffffff", colour])


def plain_text(name: str) -> str:
    """A name without formulas: Matplotlib takes text between dollars for one."""
    return name.replace("$", r"\$")
