"""`onmf demo`."""

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF
from onmf.cli.console import fit_with_progress
from onmf.cli.runs.tables import cluster_sizes
from onmf.datasets import make_paper_synthetic
from onmf.metrics import adjusted_rand_score, clustering_accuracy, partition_error
from onmf.rows.sweep import Array

DEMO_CLUSTERS = 10


@click.command("demo")
def run_demo() -> None:
    """Cluster digits and the paper's synthetic data, and compare with K-means.

    The relative error is that of the best rays for the labels found; "empty" is the number of
    clusters without samples. The sweeps of K-means are those of its best start.

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
        "ONMF, smooth": ONMF(DEMO_CLUSTERS, penalty="sncp", random_state=1),
        "ONMF, non-smooth": ONMF(DEMO_CLUSTERS, penalty="nsncp", random_state=1),
        "K-means, 10 starts": KMeans(DEMO_CLUSTERS, n_init=10, random_state=1),
    }
    ONMF(2, random_state=0).fit(digits.data[:50])  # compiles the kernels
    for title, (X, y) in data.items():
        grid = Table("", title=f"{title}, {len(X)} x {X.shape[1]}", title_justify="left")
        for column in ("ACC %", "ARI %", "rel. error", "sweeps", "seconds", "empty"):
            grid.add_column(column, justify="right")
        for name, model in models.items():
            seconds = fit_with_progress(model, X, f"{title}: {name}")
            acc, ari, error, empty = quality_cells(X, y, model.labels_)
            grid.add_row(name, acc, ari, error, f"{model.n_iter_}", f"{seconds:.1f}", empty)
        Console().print(grid)


def quality_cells(X: Array, y: Array, labels: Array) -> tuple[str, str, str, str]:
    """ACC, ARI, relative error and number of empty clusters, as text."""
    return (
        f"{100 * clustering_accuracy(y, labels):.1f}",
        f"{100 * adjusted_rand_score(y, labels):.1f}",
        f"{partition_error(X, labels):.4f}",
        f"{np.sum(cluster_sizes(labels, DEMO_CLUSTERS) == 0)}",
    )
