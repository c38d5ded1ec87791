"""
Handwritten digits
==================

These are ten centroids of 1,797 handwritten digits, clustered without looking at their labels; the
number after a colon is the size of the cluster. Each is a picture, because the centroids have the
features of the samples and are as non-negative as they are.
"""

# %%
# Clusters are pictures
# ---------------------
# scikit-learn's digits are images of 8 x 8 pixels with 17 shades. A digit written with a harder
# pencil is the same picture times a number: that is what a ray can describe.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF, plot
from onmf.metrics import adjusted_rand_score, clustering_accuracy

X, digit = load_digits(return_X_y=True)
model = ONMF(n_clusters=10, random_state=0).fit(X)

plot.centers(model, (8, 8))
plt.show()

# %%
# Who is in a cluster
# -------------------
# Each row has the eight samples nearest to a centroid, then the eight of which it is least sure:
# those whose cluster has the lowest probability.

sureness, distance = model.predict_proba(X).max(axis=1), model.distance(X)


def strip(samples):
    """Images side by side."""
    return np.hstack(X[samples].reshape(-1, 8, 8))


_, axes = plt.subplots(10, 2, figsize=(8.4, 6), layout="constrained")
for k, (sure, unsure) in enumerate(axes):
    inside = np.flatnonzero(model.labels_ == k)
    sure.imshow(strip(inside[np.argsort(distance[inside])[:8]]), cmap="gray_r")
    unsure.imshow(strip(inside[np.argsort(sureness[inside])[:8]]), cmap="gray_r")
    sure.set_ylabel(k, rotation=0, va="center", ha="right", color=plot.colors(10)[k])
    for ax in (sure, unsure):
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
axes[0, 0].set_title("nearest to the centroid")
axes[0, 1].set_title("least sure")
plt.show()

# %%
# Against the labels
# ------------------
# Rows are the digits, columns the clusters. Ones are written in two ways and split up, one kind
# sharing a cluster with the eights; some fives and eights are taken for nines.

clusters = pd.Series(model.labels_, name="cluster")
print(pd.crosstab(digit, clusters, rownames=["digit"]).to_string())

# %%
# K-means does as well here: the digits were scaled to the same size and nearly the same ink, so
# direction and position say much the same. Use onmf if you want the codes as well (how much ink),
# or if your images differ in exposure.


def show(found):
    """How well each of these clusterings agrees with the digits."""
    for name, labels in found.items():
        accuracy, rand = clustering_accuracy(digit, labels), adjusted_rand_score(digit, labels)
        print(f"{name:20}{accuracy:.0%} right, adjusted Rand index {rand:.2f}")


k_means = KMeans(10, n_init=10, random_state=0).fit(X)
show({"K-means, 10 starts": k_means.labels_, "onmf": model.labels_})

# %%
# Exposure
# --------
# Multiply every image by a random number between a quarter and four. K-means now finds light and
# dark clusters. A ray does not care, but a sample of twice the length counts four times as much in
# the error that is minimised, so the clusters move somewhat. Weights undo that: then nothing has
# changed at all.

exposure = 4 ** np.random.default_rng(0).uniform(-1, 1, size=len(X))
photos = X * exposure[:, None]
fits = {
    "K-means, 10 starts": KMeans(10, n_init=10, random_state=0).fit(photos),
    "onmf": ONMF(10, random_state=0).fit(photos),
    "onmf with weights": ONMF(10, random_state=0).fit(photos, sample_weight=exposure**-2),
}
show({name: fit.labels_ for name, fit in fits.items()})
same = adjusted_rand_score(model.labels_, fits["onmf with weights"].labels_)
print(f"with weights and before the exposure: adjusted Rand index {same:.2f}")
