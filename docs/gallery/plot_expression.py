"""
Gene expression: depth does not matter
======================================

Cells of four types, sequenced at depths that differ up to fiftyfold. K-means on the counts sorts
the cells by depth (left), onmf by type (right), and its centroids name the marker genes.
"""

# %%
# Counts with depth
# -----------------
# Expression of a gene in a type is drawn from a gamma distribution; eight marker genes of each type
# are five times as high there. A cell has its own depth and counts are Poisson around the product:
# depth times type, a ray.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from onmf import ONMF, plot
from onmf.metrics import adjusted_rand_score
from onmf.preprocessing import log_expression

rng = np.random.default_rng(1)
types = np.array(["B cell", "T cell", "NK cell", "monocyte"])
kind = rng.choice(4, 800, p=[0.4, 0.3, 0.2, 0.1])
genes = [f"{name.split()[0]}-marker-{i}" for name in types for i in range(8)]
genes += [f"gene-{i}" for i in range(268)]

level = rng.gamma(0.6, 2.0, size=len(genes)) * np.ones((4, 1))
for t in range(4):
    level[t, 8 * t : 8 * t + 8] = 5 * (level[t, 8 * t : 8 * t + 8] + 1)
noise = rng.gamma(4, 1 / 4, size=(800, len(genes)))  # cells of a type are not alike
depth = np.exp(rng.uniform(np.log(0.1), np.log(5), 800))
counts = pd.DataFrame(rng.poisson(depth[:, None] * noise * level[kind]), columns=genes)

k_means = KMeans(4, n_init=10, random_state=0).fit(counts)
model = ONMF(n_clusters=4, random_state=0).fit(counts)

total, marker = counts.sum(axis=1), counts[[g for g in genes if g.startswith("B-")]].sum(axis=1)
_, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), sharey=True, layout="constrained")
for ax, labels, name in zip(
    axes, (k_means.labels_, model.labels_), ("K-means on counts", "onmf on counts"), strict=True
):
    ax.scatter(total, marker / total, c=np.array(plot.colors(4))[labels], s=14, linewidths=0)
    ax.set(xscale="log", xlabel="depth: reads in the cell")
    ax.set_title(f"{name}, adjusted Rand index {adjusted_rand_score(kind, labels):.2f}")
axes[0].set_ylabel("share of B cell markers")
plt.show()

# %%
# Marker genes
# ------------
# A centroid is an expression profile. Its heaviest genes are often those that are high everywhere,
# so compare a cluster with the others: the second figure has the genes by how much heavier they are
# than in the mean of all centroids.

rays = model.cluster_centers_ / np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True)
fold = rays / rays.mean(axis=0).clip(1e-9)
for k in range(4):
    best = np.argsort(-fold[k])[:5]
    commonest = types[np.bincount(kind[model.labels_ == k]).argmax()]
    print(f"cluster {k}, mostly {commonest:9}", ", ".join(genes[j] for j in best))

plot.top_features(model, 8)
plt.show()

# %%
# With the usual preparation
# --------------------------
# Counts per million and a logarithm take the depth out beforehand, and K-means then works as well.
# What the logarithm costs: it makes all cells nearly parallel, so the clusters of onmf are separated
# by small angles.

log_counts = log_expression(total=1e6).fit_transform(counts)
for name, table in {"counts": counts, "log of counts per million": log_counts}.items():
    for method in (ONMF(4, random_state=0), KMeans(4, n_init=10, random_state=0)):
        found = adjusted_rand_score(kind, method.fit(table).labels_)
        print(f"{name:27}{type(method).__name__:8}adjusted Rand index {found:.2f}")
