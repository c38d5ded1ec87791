"""
How many clusters?
==================

Six measures over the number of clusters, for data with six; the dotted line is the one that
``choose_k`` recommends. The score decides: it counts the clusters that are found again.
"""

# %%
# One call, one answer
# --------------------
# 500 samples on six noisy rays, the largest cluster three times the smallest. The samples are cut
# in two halves, four times; each half is clustered with every K and labels all samples.

import matplotlib.pyplot as plt

from onmf import ONMF, choose_k, plot
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score
from onmf.stability import consensus

X, kind = make_rays(500, 60, 6, noise=2.0, imbalance=3, random_state=0)
choice = choose_k(ONMF(random_state=0), X, range(2, 12))
choice.plot()
plt.show()

# %%
# The answer comes with a sentence. ``confidence`` is how often the K was right on made-up data with
# such figures.

print(choice.reason)
print(f"confidence {choice.confidence:.2f}, runner-up {choice.runner_up}")

# %%
# Reading the curves
# ------------------
# *Found again*: how far the clusters of two halves of the samples overlap. *Told alike*: how far
# two halves of the features put the same samples into a cluster. *Near a border*: too many samples
# there mean that a cloud was cut in pieces. A cluster that is perfect in all three counts one half
# in favour of K; one that is not found again at all counts one half against it.
#
# What the runs agree on
# ----------------------
# The consensus of two samples is the share of runs that put them together: fits on halves for the K
# recommended, on the left, runs from ten starts for two clusters more, on the right. Sorted by a
# tree, the right K gives solid squares; with two clusters too many, runs disagree on which cluster
# to split, and the squares fray.

few, many = choice.consensus, consensus(ONMF(8, random_state=0), X, n_runs=10)
_, axes = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
plot.consensus_map(few, axes[0])
plot.consensus_map(many, axes[1])
plt.show()

# %%
# The same by cluster: how often is each found again?

_, axes = plt.subplots(1, 2, figsize=(9.4, 2.6), sharey=True, layout="constrained")
for ax, found in zip(axes, (few, many), strict=True):
    plot.cluster_stability(found, ax)
    ax.set_title(f"K = {len(found.cluster_stability)}")
plt.show()

# %%
# ``choice.model`` is the fit with this K, and ``choice.consensus`` is about its clusters.

found = adjusted_rand_score(kind, choice.model.labels_)
print(f"the fit and the truth: adjusted Rand index {found:.2f}")
