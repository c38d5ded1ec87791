"""
Wine: a table where K-means wins
================================

Thirteen measurements of 178 wines from three growers, clustered after different preparations: what
you do to the columns matters more than the method, and on this table K-means is the better one. Use
onmf where the length of a sample means nothing; here it means something.
"""

# %%
# Columns need a common unit
# --------------------------
# Proline is measured in hundreds, hue in tenths: without scaling, both methods see proline and
# little else. Dividing each column by its mean keeps zero where it is, so that a ray stays a ray.
# Standardising makes negative numbers; centroids may then be negative, too.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from onmf import ONMF, plot
from onmf.exceptions import SignedDataWarning
from onmf.metrics import adjusted_rand_score

warnings.simplefilter("ignore", SignedDataWarning)  # standardised columns

wine = load_wine(as_frame=True)
X, grower = wine.data, wine.target
share = MinMaxScaler().set_output(transform="pandas").fit_transform(X)

tables = {
    "unscaled": X,
    "divided by the mean": X / X.mean(),
    "from 0 to 1": share,
    "0 to 1, and 1 to 0 beside it": np.hstack([share, 1 - share]),
    "standardised": StandardScaler().fit_transform(X),
}


def agreement(table):
    """Adjusted Rand index with the growers, of K-means and of onmf."""
    models = KMeans(3, n_init=10, random_state=0), ONMF(3, random_state=0)
    return [adjusted_rand_score(grower, model.fit(table).labels_) for model in models]


scores = np.array([agreement(table) for table in tables.values()])

_, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for place, name, color in ((0.2, "K-means, 10 starts", "#8a8f99"), (-0.2, "onmf", "#1f5d57")):
    values = scores[:, 0 if place > 0 else 1]
    bars = ax.barh(np.arange(len(tables))[::-1] + place, values, 0.38, label=name, color=color)
    ax.bar_label(bars, fmt="{:.2f}", padding=3, fontsize="small")
ax.set_yticks(np.arange(len(tables))[::-1], list(tables))
ax.set(xlim=(0, 1.05), xlabel="agreement with the growers (adjusted Rand index)")
ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2, frameon=False)
plt.show()

# %%
# Why
# ---
# A ray says what there is, in proportion. The table has each measurement over its mean: the wines
# of class_1 have hardly more of anything than the average. What sets them apart is that they have
# *less*, of colour, proline and malic acid above all, and a non-negative ray has no way to say so.

over_mean = (X / X.mean()).groupby(grower).mean().T.set_axis(wine.target_names, axis=1)
print(over_mean.round(2).to_string())

# %%
# Adding 1 - x as a feature makes "little of it" visible. That helps, but K-means still does a
# little better.

both = tables["0 to 1, and 1 to 0 beside it"]
model = ONMF(n_clusters=3, random_state=0).fit(both)
plain = [name.replace("_", " ").removesuffix(" of diluted wines") for name in X.columns]
names = [*plain, *(f"little {name}" for name in plain)]
_, ax = plt.subplots(figsize=(9.6, 3.2), layout="constrained")
plot.markers(model.explain(both, feature_names=names).markers, 5, ax)
plt.show()

# %%
# Which wines does it get wrong? Some of that grower.

clusters = pd.Series(model.labels_, name="cluster")
print(pd.crosstab(wine.target_names[grower], clusters, rownames=["grower"]).to_string())
