"""`onmf demo`."""

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF
from onmf.cli.console import cluster_sizes, fit_with_progress
from onmf.datasets import make_paper_synthetic
from onmf.metrics import adjusted_rand_score, clustering_accuracy, partition_error

CLUSTERS = 10


@click.command("demo")
def run_demo() -> None:
    """Cluster digits and the paper's synthetic data, beside K-means.

    The relative error is that of the best rays for the labels found, "empty" the number of clusters
    without samples; the sweeps of K-means are those of its best start.

    \b
    Example:
      onmf demo
    """
    digits = load_digits()
    data = {
        "Handwritten digits": (digits.data, digits.target),
        "Synthetic at -3 dB": make_paper_synthetic(-3.0),
    }
    models = {
        "ONMF, smooth": ONMF(CLUSTERS, penalty="sncp", random_state=1),
        "ONMF, non-smooth": ONMF(CLUSTERS, penalty="nsncp", random_state=1),
        "K-means, 10 starts": KMeans(CLUSTERS, n_init=10, random_state=1),
    }
    ONMF(2, random_state=0).fit(digits.data[:50])  # compiles what there is to compile, once
    for title, (X, y) in data.items():
        grid = Table("", title=f"{title}, {len(X)} x {X.shape[1]}", title_justify="left")
        for column in ("ACC %", "ARI %", "rel. error", "sweeps", "seconds", "empty"):
            grid.add_column(column, justify="right")
        for name, model in models.items():
            seconds = fit_with_progress(model, X, f"{title}: {name}")
            acc, ari, error, empty = quality_cells(X, y, model.labels_)
            grid.add_row(name, acc, ari, error, f"{model.n_iter_}", f"{seconds:.1f}", empty)
        Console().print(grid)


def quality_cells(X: NDArray, y: NDArray, labels: NDArray) -> tuple[str, str, str, str]:
    """What the demo's table says of labels: ACC, ARI, relative error, empty clusters."""
    return (
        f"{100 * clustering_accuracy(y, labels):.1f}",
        f"{100 * adjusted_rand_score(y, labels):.1f}",
        f"{partition_error(X, labels):.4f}",
        f"{np.sum(cluster_sizes(labels, CLUSTERS) == 0)}",
    )
