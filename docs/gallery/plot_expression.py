"""
Gene expression: depth does not matter
======================================

Cells of four types, each with its own sequencing depth, up to twenty times that of another. K-means
on the counts sorts the cells by depth (left), onmf by type (right): a point is a cell, its colour
the cluster.
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
from onmf.prepare import log_expression

rng = np.random.default_rng(1)
types = np.array(["B cell", "T cell", "NK cell", "monocyte"])
kind = rng.choice(4, 800, p=[0.4, 0.3, 0.2, 0.1])
genes = [f"{name.split()[0]}-marker-{i}" for name in types for i in range(8)]
genes += [f"gene-{i}" for i in range(268)]

level = rng.gamma(0.6, 2.0, size=len(genes)) * np.ones((4, 1))
for t in range(4):
    level[t, 8 * t : 8 * t + 8] = 5 * (level[t, 8 * t : 8 * t + 8] + 1)
noise = rng.gamma(4, 1 / 4, size=(800, len(genes)))  # cells of a type are not alike
depth = np.exp(rng.uniform(np.log(0.3), np.log(6), 800))
counts = pd.DataFrame(rng.poisson(depth[:, None] * noise * level[kind]), columns=genes)

k_means = KMeans(4, n_init=10, random_state=0).fit(counts)
model = ONMF(n_clusters=4, random_state=0).fit(counts)

jitter = rng.uniform(-0.35, 0.35, 800)
_, axes = plt.subplots(1, 2, figsize=(9.2, 3.8), sharey=True, layout="constrained")
for ax, labels, name in zip(
    axes, (k_means.labels_, model.labels_), ("K-means", "onmf"), strict=True
):
    place = counts.sum(axis=1), kind + jitter
    ax.scatter(*place, c=np.array(plot.colors(4))[labels], s=12, alpha=0.8, linewidths=0)
    ax.set(xscale="log", xlabel="depth: reads in the cell")
    ax.set_title(f"{name}: adjusted Rand index {adjusted_rand_score(kind, labels):.2f}")
axes[0].set_yticks(range(4), types)
plt.show()

# %%
# Marker genes
# ------------
# Markers are the genes that are higher here than in the other clusters: the darker a dot, the
# higher the mean, and the larger, the more cells have the gene.

_, ax = plt.subplots(figsize=(9.6, 3), layout="constrained")
plot.markers(model.explain(counts).markers, 5, ax)
plt.show()
for k in range(4):
    commonest = types[np.bincount(kind[model.labels_ == k]).argmax()]
    print(f"cluster {k} is mostly {commonest}")

# %%
# With the usual preparation
# --------------------------
# Scaling each cell to the same total takes the depth out beforehand, and a logarithm damps the high
# genes; after both K-means works as well. But the total must suit the data. With counts per million
# a single read of a shallow cell becomes thousands; the logarithm then says little more than which
# genes were seen at all, which is depth again.

typical = counts.sum(axis=1).median()
tables = {
    "counts": counts,
    "log, total of a typical cell": log_expression(typical).fit_transform(counts),
    "log, total of a million": log_expression(1e6).fit_transform(counts),
}
for name, table in tables.items():
    for method in (ONMF(4, random_state=0), KMeans(4, n_init=10, random_state=0)):
        found = adjusted_rand_score(kind, method.fit(table).labels_)
        print(f"{name:30}{type(method).__name__:8}adjusted Rand index {found:.2f}")
