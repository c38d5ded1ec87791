"""Figures with Matplotlib, each returning its axes: the only module that imports it.

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
from numpy.typing import NDArray
from sklearn.utils import check_array

from onmf.report.embedding import embed
from onmf.report.facts import agreement, heaviest
from onmf.report.names import named
from onmf.report.palette import LIGHT, SHAPES, style
from onmf.report.runs import CURVES, in_order

try:
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap
except ImportError as missing:
    raise ImportError(
        'onmf.plot needs Matplotlib: `pip install "onmf[plot]"` installs it.'
    ) from missing

__all__ = [
    "centers",
    "cluster_stability",
    "colors",
    "confusion",
    "consensus_map",
    "convergence",
    "embedding",
    "k_curves",
    "top_features",
]

ACCENT, MUTED = "#1f5d57", "#8a8f99"
SHARES = LinearSegmentedColormap.from_list("shares", ["#ffffff", ACCENT])
MOST_SHOWN = 1_000  # samples along a side of the consensus map


def convergence(model: Any, ax: Any = None) -> Any:
    """Relative error (left) and overlap of the clusters (right) over the stages of a fit.

    Parameters
    ----------
    model : fitted ONMF
    ax : Axes, optional

    Returns
    -------
    Axes
        With the relative error; the overlap is on its twin.

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> plot.convergence(ONMF(n_clusters=3, random_state=0).fit(X)).get_ylabel()
    'relative error'
    """
    ax = new(ax)
    stages = np.arange(1, len(model.history_) + 1)
    error = [stage.relative_error for stage in model.history_]
    overlap = [stage.orthogonality for stage in model.history_]
    ax.plot(stages, error, ".-", color=ACCENT)
    ax.set(xlabel="stage", title=f"{model.n_iter_} sweeps over the data")
    ax.set_ylabel("relative error", color=ACCENT)
    other = ax.twinx()
    other.plot(stages, overlap, ".-", color=LIGHT[1])
    other.set_ylabel("overlap of clusters", color=LIGHT[1])
    for side in (ax, other):
        side.spines["top"].set_visible(False)
    return ax


def embedding(model: Any, X: Any, ax: Any = None, *, random_state: int = 0) -> Any:
    """Samples in two dimensions by t-SNE, a colour and a shape for each cluster.

    At most 10,000 samples are shown, chosen in proportion to their clusters; of more than 2,000,
    t-SNE lays out 1,000 and the others, drawn fainter, are placed among the nearest of these.

    Parameters
    ----------
    model : fitted clusterer
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
        What the model was fitted to.
    ax : Axes, optional
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
    ax, labels = new(ax), np.asarray(model.labels_)
    X = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    if X.shape[0] != len(labels):
        raise ValueError(
            f"X has {X.shape[0]} samples but the model was fitted to {len(labels)}: give the X "
            "that it was fitted to."
        )
    found = embed(X, labels, random_state)
    size = np.clip(6e4 / len(found.rows), 4, 30)
    for faint in (True, False):
        for k in np.unique(labels[found.rows]):
            inside = (labels[found.rows] == k) & (found.placed == faint)
            if not inside.any():
                continue
            ax.scatter(
                *found.points[inside].T,
                s=size * (0.5 if faint else 1),
                alpha=0.4 if faint else 0.85,
                linewidths=0,
                label=None if faint else ("no cluster" if k < 0 else str(k)),
                **look(k),
            )
    n_clusters = len(np.unique(labels[labels >= 0]))
    ax.set(xticks=[], yticks=[], title=f"{len(found.rows):,} samples in {n_clusters} clusters")
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(title="cluster", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return ax


def top_features(
    model: Any, n: int = 10, *, features: Sequence[str] | None = None, axes: Any = None
) -> Any:
    """The n heaviest features of each cluster, as bars, one panel a cluster.

    Parameters
    ----------
    model : fitted ONMF
    n : int, default=10
    features : sequence of names, optional
        By default those the model was fitted with, or numbers.
    axes : sequence of Axes, optional
        At least as many as there are clusters.

    Returns
    -------
    ndarray of Axes
        One a cluster.

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
    given = getattr(model, "feature_names_in_", None) if features is None else features
    names = named(given, centers.shape[1], "features", "x")
    axes = panels(len(centers), 2 + 0.22 * n) if axes is None else np.ravel(axes)
    for k, (ax, heavy) in enumerate(zip(axes, heaviest(centers, names, n), strict=False)):
        labels, weights = zip(*heavy[::-1], strict=True) if heavy else ((), ())
        ax.barh(range(len(heavy)), weights, color=look(k)["color"], height=0.7)
        ax.set_yticks(range(len(heavy)), map(literal, labels))
        ax.set_title(f"Cluster {k}", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    return axes[: len(centers)]


def centers(model: Any, shape: tuple[int, int], axes: Any = None) -> Any:
    """The centroids as pictures, one panel a cluster with its colour and size; white is zero.

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
        One a cluster.

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
        colour = look(k)["color"]
        ink = LinearSegmentedColormap.from_list("ink", ["#ffffff", colour])
        ax.imshow(image.reshape(shape), cmap=ink, vmin=min(image.min(), 0))
        size = np.sum(np.asarray(model.labels_) == k)
        ax.set_title(f"{k}: {size:,}", fontsize="medium")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(MUTED)
    return axes[: len(images)]


def confusion(labels: Any, truth: Any, ax: Any = None) -> Any:
    """How many samples of each class are in each cluster; matching pairs lie on the diagonal.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Clusters, as in `labels_`; -1 is no cluster and has a column only if it occurs.
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
    ax, labels = new(ax), np.asarray(labels)
    k = int(labels.max(initial=-1)) + 1
    table = agreement(np.asarray(truth), labels, k)
    counts = np.array(table["counts"])[:, : k + bool((labels < 0).any())]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap=SHARES, vmin=0, vmax=1)
    for (i, j), count in np.ndenumerate(counts):
        if count:
            ink = "white" if shares[i, j] > 0.5 else "black"
            ax.text(j, i, f"{count}", ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(counts.shape[1]), [*range(k), "none"][: counts.shape[1]])
    ax.set_yticks(range(len(counts)), map(literal, table["classes"]))
    ax.set(xlabel="cluster", ylabel="class")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def consensus_map(consensus: Any, ax: Any = None) -> Any:
    """The share of runs that put two samples together, clusters as strips at the side.

    Parameters
    ----------
    consensus : Consensus
        From `onmf.stability.consensus`. At most 1,000 samples are shown, at even steps in the order
        of the linkage.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> from onmf.stability import consensus
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> runs = consensus(ONMF(n_clusters=3, random_state=0), X, n_runs=3)
    >>> plot.consensus_map(runs).get_title(loc="left")
    '3 runs, cophenetic correlation 1.000'
    """
    ax, rows = new(ax), in_order(consensus, MOST_SHOWN)
    n, k = len(rows), len(consensus.cluster_stability)
    image = ax.imshow(consensus.values(rows), cmap=SHARES, vmin=0, vmax=1, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="share of runs", shrink=0.7)
    strip = np.asarray(consensus.labels)[rows]
    colours = ListedColormap([MUTED, *colors(k)])
    width = 0.03 * n
    for band, box in (
        (strip[None, :], (-0.5, n - 0.5, -0.5, -0.5 - width)),
        (strip[:, None], (-0.5 - width, -0.5, n - 0.5, -0.5)),
    ):
        limits = {"vmin": -1.5, "vmax": k - 0.5}
        ax.imshow(band, cmap=colours, extent=box, interpolation="nearest", aspect="equal", **limits)
    ax.set(xlim=(-0.5 - width, n - 0.5), ylim=(n - 0.5, -0.5 - width), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    runs = consensus.labels_runs.shape[1]
    ax.set_title(f"{runs} runs, cophenetic correlation {consensus.cophenetic:.3f}", loc="left")
    return ax


def cluster_stability(consensus: Any, ax: Any = None) -> Any:
    """How often each consensus cluster is found again, from 0 to 1.

    Parameters
    ----------
    consensus : Consensus
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> from onmf.stability import consensus
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> runs = consensus(ONMF(n_clusters=3, random_state=0), X, n_runs=3)
    >>> plot.cluster_stability(runs).get_ylabel()
    'stability'
    """
    ax, values = new(ax), np.asarray(consensus.cluster_stability)
    ax.bar([str(k) for k in range(len(values))], values, color=colors(len(values)))
    ax.set(ylim=(0, 1), xlabel="cluster", ylabel="stability")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def k_curves(choice: Any, axes: Any = None) -> Any:
    """Every measure over the number of clusters, the recommended one marked.

    Parameters
    ----------
    choice : KChoice
        From `onmf.choose_k`.
    axes : sequence of Axes, optional
        As many as there are measures: six.

    Returns
    -------
    ndarray of Axes
        One a measure.

    Examples
    --------
    >>> from onmf import ONMF, choose_k, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> choice = choose_k(ONMF(random_state=0), X, range(2, 5), n_runs=2)
    >>> len(plot.k_curves(choice))
    6
    """
    axes = panels(len(CURVES), 2.4, across=3) if axes is None else np.ravel(axes)
    for ax, (name, title) in zip(axes, CURVES.items(), strict=False):
        values = [getattr(row, name) for row in choice.table]
        ax.plot([row.k for row in choice.table], values, ".-", color=ACCENT)
        ax.axvline(choice.best_k, color=MUTED, linestyle=":")
        ax.set_title(title, loc="left", fontsize="medium")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
    return axes[: len(CURVES)]


def new(ax: Any) -> Any:
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def panels(count: int, height: float, across: int = 4, width: float = 3.2) -> NDArray[Any]:
    """So many axes, up to `across` in a row."""
    across = min(count, across)
    down = -(-count // across)
    size = (width * across, height * down)
    _, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    for ax in axes.flat[count:]:
        ax.remove()
    return axes.ravel()[:count]


def colors(n_clusters: int) -> list[str]:
    """The colour of each cluster, as in all figures and on the page: for your own.

    There are eight; further clusters begin again, and differ by the shape of their points.

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
    return [look(k)["color"] for k in range(n_clusters)]


def look(k: int) -> dict[str, Any]:
    """Colour and marker of a cluster, as on the page."""
    if k < 0:
        return {"color": MUTED, "marker": "."}
    colour, shape = style(int(k))
    return {"color": LIGHT[colour], "marker": list(SHAPES)[shape]}


def literal(name: str) -> str:
    """A name as text: Matplotlib would set what stands between dollars as a formula."""
    return name.replace("$", r"\$")
