"""
Three rays
==========

K-means splits the points by their distance from the origin, onmf by their direction. There are
three kinds of points, each along a ray, with long and short ones: like a long and a short document
about the same thing.
"""

# %%
# Three kinds of samples
# ----------------------
# Lengths are drawn from the same distribution for all three rays, so they tell nothing about the
# kind. K-means gets ten starts; the lines in the last panel are the centroids of onmf, each as long
# as you like.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from onmf import ONMF, plot
from onmf.datasets import make_three_rays
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning
from onmf.metrics import clustering_accuracy

rng = np.random.default_rng(0)
kind = np.arange(450) % 3
angle = np.radians([20, 45, 72])[kind] + rng.normal(0, 0.05, 450)
length = rng.gamma(1.5, size=450) + 0.15
X = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

k_means = KMeans(3, n_init=10, random_state=0).fit(X)
model = ONMF(n_clusters=3, random_state=0).fit(X)

colors = np.array(plot.colors(3))
_, axes = plt.subplots(1, 3, figsize=(9.6, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, labels, name in zip(
    axes, (kind, k_means.labels_, model.labels_), ("the kinds", "K-means", "onmf"), strict=True
):
    ax.scatter(*X.T, c=colors[labels], s=9, alpha=0.7, linewidths=0)
    right = clustering_accuracy(kind, labels)
    ax.set_title(name if name == "the kinds" else f"{name}: {right:.0%} right")
    ax.set(xlim=(0, 5), ylim=(0, 5), aspect="equal", xticks=[], yticks=[])
for color, center in zip(colors, model.cluster_centers_, strict=True):
    axes[2].plot(*np.outer(center / np.linalg.norm(center), [0, 8]), c=color, lw=1)

# %%
# An unlucky start
# ----------------
# The paper's own example has three groups in the plane and begins with three centroids that all lie
# in the largest one. A method that decides at once, for every sample, gets stuck: the largest group
# is cut up and the other two share a centroid. In the first stage of the growing penalty a sample
# may belong to all clusters, and the centroids move apart; the later stages make it decide.

X, group, unlucky = make_three_rays(random_state=2)

stages = []


def keep(event):
    """Note which cluster has the largest share of each sample, at the end of every stage."""
    if event.stage:
        stages.append(event.membership().argmax(axis=1))
    return False


ONMF(3, solver="palm", init=(None, unlucky), callback=keep).fit(X)
k_means = KMeans(3, init=unlucky, n_init=1).fit(X)

shown = {
    "K-means, at its end": k_means.labels_,
    "growing penalty, first stage": stages[0],
    f"growing penalty, stage {len(stages)}": stages[-1],
}
_, axes = plt.subplots(1, 3, figsize=(9.6, 3.7), sharex=True, sharey=True, layout="constrained")
for ax, (name, labels) in zip(axes, shown.items(), strict=True):
    ax.scatter(*X.T, c=colors[labels], s=5, linewidths=0)
    ax.scatter(*unlucky.T, c="black", marker="x", s=50, label="start")
    ax.set_title(f"{name}:\n{clustering_accuracy(group, labels):.0%} right")
    ax.set(xticks=[], yticks=[])
axes[0].legend(loc="lower left")
plt.show()

# %%
# How often does it help? Ten draws of the same data, each with its own unlucky start; a dot is one
# of them. The paper's method sometimes loses a cluster on the way and then merges two groups, which
# is better than cutting one up. The default solver is not tied to a start: it makes its own.

warnings.simplefilter("ignore", EmptyClusterWarning)  # expected here: that is the point
warnings.simplefilter("ignore", ConvergenceWarning)

methods = {
    "K-means": lambda start: KMeans(3, init=start, n_init=1),
    "the paper's\nmethod": lambda start: ONMF(3, solver="palm", init=(None, start)),
    "onmf": lambda start: ONMF(3, random_state=0),
}
_, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for place, make in enumerate(methods.values()):
    right = []
    for draw in range(10):
        X, group, start = make_three_rays(random_state=draw)
        right.append(clustering_accuracy(group, make(start).fit(X).labels_))
    spread = place + np.linspace(-0.15, 0.15, 10)
    ax.scatter(spread, right, c=plot.colors(3)[place], s=25, linewidths=0)
    ax.hlines(np.mean(right), place - 0.3, place + 0.3, color=plot.colors(3)[place])
ax.set_xticks(range(3), list(methods))
ax.set(ylim=(0.4, 1.02), ylabel="share right", title="Ten unlucky starts; a line is their mean")
plt.show()
