"""`onmf demo`."""

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF
from onmf.cli.console import cluster_sizes, fit
from onmf.datasets import make_paper_synthetic
from onmf.metrics import adjusted_rand_score, clustering_accuracy, partition_error


@click.command()
def demo() -> None:
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
        "ONMF, smooth": ONMF(10, penalty="sncp", random_state=1),
        "ONMF, non-smooth": ONMF(10, penalty="nsncp", random_state=1),
        "K-means, 10 starts": KMeans(10, n_init=10, random_state=1),
    }
    ONMF(2, random_state=0).fit(digits.data[:50])  # compiles what there is to compile, once
    for title, (X, y) in data.items():
        grid = Table("", title=f"{title}, {len(X)} x {X.shape[1]}", title_justify="left")
        for column in ("ACC %", "ARI %", "rel. error", "sweeps", "seconds", "empty"):
            grid.add_column(column, justify="right")
        for name, model in models.items():
            seconds = fit(model, X, f"{title}: {name}")
            grid.add_row(name, *measures(model, X, y, seconds))
        Console().print(grid)


def measures(model: Any, X: NDArray, y: NDArray, seconds: float) -> list[str]:
    """One row of the demo's table."""
    labels = model.labels_
    return [
        f"{100 * clustering_accuracy(y, labels):.1f}",
        f"{100 * adjusted_rand_score(y, labels):.1f}",
        f"{partition_error(X, labels):.4f}",
        f"{model.n_iter_}",
        f"{seconds:.1f}",
        f"{np.sum(cluster_sizes(labels, model.n_clusters) == 0)}",
    ]
