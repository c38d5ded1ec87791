"""Figures in the plane: consensus maps, t-SNE, contours of penalties, three rays, bad starts."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, leaves_list, linkage
from scipy.spatial.distance import pdist

from onmf import General
from onmf.datasets import make_three_rays
from onmf_paper.curves import exponents_title, select_rows
from onmf_paper.data_sets import load_data_set
from onmf_paper.drawing import COLOURS, add_legend, axes_grid
from onmf_paper.escapes import COMPARED, tally_settings
from onmf_paper.ledger import Row
from onmf_paper.methods import NAMES
from onmf_paper.studies import TSNE_SETS
from onmf_paper.trials import changed_parameters

Array = NDArray[Any]


def draw_consensus(rows: list[Row]) -> Any:
    """How often two samples share a cluster, samples in the order of average linkage."""
    labelings: dict[str, list[Array]] = {}
    for row in rows:
        if row.labels is not None and not changed_parameters(row.trial):
            labelings.setdefault(row.trial["method"], []).append(row.labels)
    methods = [method for method in NAMES if len(labelings.get(method, [])) > 1]
    figure, axes = axes_grid(-(-len(methods) // 4) or 1, 4, 2.2, 2.4)
    for axis in axes.flat:
        axis.axis("off")
    for axis, method in zip(axes.flat, methods, strict=False):
        apart = disagreement(labelings[method])
        tree = linkage(apart, "average")
        order = leaves_list(tree)
        table = np.zeros((len(order), len(order)))
        table[np.triu_indices(len(order), 1)] = apart
        share = 1 - (table + table.T)
        axis.imshow(share[np.ix_(order, order)], cmap="magma", vmin=0, vmax=1)
        correlation = cophenet(tree, apart)[0]
        axis.set_title(f"{NAMES[method]}\nCC = {correlation:.3f}", fontsize=8)
    return figure


def disagreement(labelings: list[Array]) -> Array:
    """Share of the runs that put two samples in different clusters, as SciPy's condensed form."""
    return np.mean([pdist(labels[:, None], "hamming") for labels in labelings], axis=0)


def draw_tsne_maps(rows: list[Row]) -> Any:
    """t-SNE of the documents and of their eigenvectors, coloured by true category."""
    figure, axes = axes_grid(2, len(TSNE_SETS), 2.6, 2.6)
    for line, kind in zip(axes, ("", " reduced"), strict=True):
        for axis, subset in zip(line, TSNE_SETS, strict=True):
            axis.set(xticks=[], yticks=[], title=f"TDT2 {subset}{kind}")
            for row in select_rows(rows, "t-sne", f"TDT2 {subset}{kind}"):
                points = np.array(row.result["points"])
                _, classes = np.unique(load_data_set(row.trial["data"]).y, return_inverse=True)
                axis.scatter(*points.T, c=classes, s=1, cmap="tab10", rasterized=True)
    return figure


def draw_contours(rows: list[Row]) -> Any:
    """phi(h) for h in the plane: the axes are where a sample has one cluster."""
    shown = ((1, 2, 2), (1, 2, 10), (1, 3, 3), (1, 3, 10), (2, 3, 3), (2, 3, 10))
    figure, axes = axes_grid(2, 3, 2.4, 2.2)
    side = np.linspace(0, 1, 81)
    h = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for axis, pqv in zip(axes.flat, shown, strict=True):
        values = General(*pqv).rows(h).reshape(81, 81)
        filled = axis.contourf(side, side, values, levels=12, cmap="viridis")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Rasterization of")  # Matplotlib before 3.11: lines
            filled.set_rasterized(True)
        figure.colorbar(filled, ax=axis, format="%.2g")
        axis.set_title(exponents_title(pqv), fontsize=8)
        axis.set(xticks=[0, 1], yticks=[0, 1])
    return figure


def draw_three_rays(rows: list[Row]) -> Any:
    """The clusters on the way from three bad centroids (black)."""
    X, _, centroids = make_three_rays()
    figure, axes = axes_grid(4, 3, 2.3, 2.1)
    for axis in axes.flat:
        axis.axis("off")
    units = {"k-means": "iteration", "sncp": "stage", "nsncp": "stage", "default": ""}
    for line, (method, unit) in zip(axes, units.items(), strict=True):
        shown = [row for row in rows if row.trial["method"] == method]
        for axis, row in zip(line, shown, strict=False):
            axis.axis("on")
            axis.scatter(*X.T, c=np.array(COLOURS)[row.labels], s=1, rasterized=True)
            axis.scatter(*centroids.T, c="black", s=14)
            when = "".join(
                f", {unit} {number}" for number in changed_parameters(row.trial).values()
            )
            title = f"{NAMES[method]}{when}, ACC {row.result['acc']:.1f} %"
            axis.set_title(title, fontsize=7)
    return figure


def draw_unlucky_starts(rows: list[Row]) -> Any:
    """In how many draws the three clusters are found from three centroids in one of them."""
    tallies = tally_settings(rows)
    figure, axes = axes_grid(1, 1, 7, 1 + 0.22 * len(tallies))
    axis, places = axes[0, 0], -np.arange(len(tallies))
    for shift, method in zip((0.2, 0, -0.2), COMPARED, strict=True):
        counts = [tally.found[method] for tally in tallies]
        axis.barh(places + shift, counts, 0.2, label=NAMES[method])
    axis.set_yticks(places, [str(tally.setting) for tally in tallies], fontsize=6)
    axis.set(xlabel="draws", xlim=(0, max((tally.n for tally in tallies), default=1)))
    add_legend(axis, 7)
    return figure
