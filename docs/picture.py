"""The picture of the README: clusters are rays."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from onmf import ONMF
from onmf.datasets import make_three_rays
from onmf.metrics import clustering_accuracy

COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])  # Okabe and Ito: safe for colour-blind eyes
TARGET = Path(__file__).parent / "images" / "rays.png"


def draw(axis, X, labels, centers, title):
    axis.scatter(*X.T, c=COLOURS[labels], s=6, alpha=0.5, linewidths=0)
    for k, center in enumerate(centers):
        axis.plot(*np.outer(center / np.linalg.norm(center), [0, 27]).reshape(2, 2), c=COLOURS[k])
    axis.set_title(title, fontsize=11, loc="left")
    axis.set(xlim=(0, 20), ylim=(0, 25), aspect="equal", xticks=[], yticks=[])
    axis.spines[["top", "right"]].set_visible(False)


def main():
    X, y, start = make_three_rays()
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.2), layout="constrained")
    draw(axes[0], X, y, [], "the clusters")
    axes[0].scatter(*start.T, c="black", s=40, marker="x", label="start")
    axes[0].legend(frameon=False, loc="lower left")
    models = {
        "K-means from this start": KMeans(3, init=start, n_init=1),
        "onmf from this start": ONMF(3, solver="palm", init=(None, start)),
    }
    for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
        labels = model.fit(X).labels_
        acc = clustering_accuracy(y, labels)
        draw(axis, X, labels, model.cluster_centers_, f"{name}: {acc:.0%} right")
    figure.savefig(TARGET, dpi=150)


if __name__ == "__main__":
    main()
