"""The pictures of the README and of the theory page."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from onmf import ONMF
from onmf.datasets import make_paper_synthetic
from onmf.metrics import clustering_accuracy

COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])  # Okabe and Ito: safe for colour-blind eyes
IMAGES = Path(__file__).parent / "images"


def three_rays():
    """Samples of very different lengths on three rays in the plane."""
    rng = np.random.default_rng(0)
    y = np.arange(450) % 3
    angle = np.radians([20, 45, 72])[y] + 0.05 * rng.normal(size=450)
    length = rng.gamma(1.5, 1.0, size=450) + 0.15
    return length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def draw(axis, X, labels, title):
    axis.scatter(*X.T, c=COLOURS[labels], s=9, alpha=0.6, linewidths=0)
    axis.set_title(title, fontsize=11, loc="left")
    axis.set(xlim=(0, 5), ylim=(0, 5), aspect="equal", xticks=[], yticks=[])
    axis.spines[["top", "right"]].set_visible(False)


def rays():
    X, y = three_rays()
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), layout="constrained")
    draw(axes[0], X, y, "the clusters: directions")
    models = {"K-means": KMeans(3, n_init=10, random_state=0), "onmf": ONMF(3, random_state=0)}
    for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
        labels = model.fit(X).labels_
        draw(axis, X, labels, f"{name}: {clustering_accuracy(y, labels):.0%} right")
    for k, center in enumerate(model.cluster_centers_):
        axes[2].plot(*np.outer(center / np.linalg.norm(center), [0, 8]), c=COLOURS[k], lw=1)
    figure.savefig(IMAGES / "rays.png", dpi=150)


def path():
    X, _ = make_paper_synthetic(-3)
    history = ONMF(10, random_state=0).fit(X).history_
    soft = [row for row in history if row.rho < 1]
    figure, error = plt.subplots(figsize=(8, 3.6), layout="constrained")
    tau = [row.rho for row in soft]
    error.semilogx(tau, [row.relative_error for row in soft], "o-", ms=3, c=COLOURS[0])
    error.axhline(history[-1].relative_error, c=COLOURS[2], lw=1)
    error.annotate(
        f"after settling on the data, sweep {history[-1].sweeps}",
        (tau[9], history[-1].relative_error), (0, 4), textcoords="offset points", color=COLOURS[2],
    )  # fmt: skip
    error.set_xlabel("tau: weight of the penalty")
    error.set_ylabel("relative error", color=COLOURS[0])
    overlap = error.twinx()
    overlap.semilogx(tau, [row.penalty for row in soft], "s-", ms=3, c=COLOURS[1])
    overlap.set_ylabel("overlap of the clusters", color=COLOURS[1])
    overlap.set_ylim(0, 1)
    for axis in (error, overlap):
        axis.spines["top"].set_visible(False)
    figure.savefig(IMAGES / "path.png", dpi=150)


if __name__ == "__main__":
    rays()
    path()
