"""Figures of many runs: how well they agree, and the measures over the number of clusters."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list

from onmf.page.runs import K_MEASURES, choice_rows
from onmf.plot.canvas import (
    ACCENT,
    MUTED,
    axes_or_new,
    colors,
    label_colours,
    panels,
    shades_of,
)

MAX_CONSENSUS_SIDE = 1_000  # samples along a side of the consensus map


def consensus_map(consensus: Any, ax: Any = None) -> Any:
    """The share of runs that put two samples into one cluster, with the clusters as strips.

    Parameters
    ----------
    consensus : Consensus
        From `onmf.number.consensus`. At most 1,000 samples are shown, evenly spaced in the
        order of the linkage.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from onmf import ONMF, plot
    >>> from onmf.datasets import make_rays
    >>> from onmf.number import consensus
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> runs = consensus(ONMF(n_clusters=3, random_state=0), X, n_runs=3)
    >>> plot.consensus_map(runs).get_title(loc="left")
    '3 runs, cophenetic correlation 1.000'
    """
    order = np.asarray(consensus.shown)[leaves_list(consensus.linkage)]
    some = np.unique(np.linspace(0, len(order) - 1, MAX_CONSENSUS_SIDE).astype(int))
    ax, samples = axes_or_new(ax), order[some]
    n, k = len(samples), len(consensus.cluster_stability)
    image = ax.imshow(
        consensus.values(samples), cmap=shades_of(ACCENT), vmin=0, vmax=1, interpolation="nearest"
    )
    ax.figure.colorbar(image, ax=ax, label="share of runs", shrink=0.7)
    strip = np.asarray(consensus.labels)[samples]
    colours = label_colours(k)
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
    >>> from onmf.number import consensus
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> runs = consensus(ONMF(n_clusters=3, random_state=0), X, n_runs=3)
    >>> plot.cluster_stability(runs).get_ylabel()
    'stability'
    """
    ax, values = axes_or_new(ax), np.asarray(consensus.cluster_stability)
    ax.bar([str(k) for k in range(len(values))], values, color=colors(len(values)))
    ax.set(ylim=(0, 1), xlabel="cluster", ylabel="stability")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def k_curves(choice: Any, axes: Any = None) -> Any:
    """Every measure over the number of clusters; the first curve decides, its peak is the answer.

    Parameters
    ----------
    choice : KChoice
        From `onmf.choose_k`.
    axes : sequence of Axes, optional
        As many as there are measures: six.

    Returns
    -------
    ndarray of Axes
        One per measure.

    Examples
    --------
    >>> from onmf import ONMF, choose_k, plot
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 8, 3, random_state=0)
    >>> choice = choose_k(ONMF(random_state=0), X, range(2, 5), n_runs=2)
    >>> len(plot.k_curves(choice))
    6
    """
    axes = panels(len(K_MEASURES), 2.4, across=3) if axes is None else np.ravel(axes)
    rows = choice_rows(choice)
    best = next(row for row in rows if row["k"] == choice.best_k)
    for ax, (name, (_, title)) in zip(axes, K_MEASURES.items(), strict=False):
        ax.plot([row["k"] for row in rows], [row[name] for row in rows], ".-", color=ACCENT)
        ax.axvline(choice.best_k, color=MUTED, linestyle=":")
        ax.plot(choice.best_k, best[name], "o", color=ACCENT, markersize=8)
        ax.set_title(title, loc="left", fontsize="medium")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].annotate(
        f"K = {choice.best_k}",
        (choice.best_k, best["score"]),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        weight="bold",
    )
    return axes[: len(K_MEASURES)]
