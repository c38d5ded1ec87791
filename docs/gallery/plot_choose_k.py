"""
How many clusters?
==================

Measures over the number of clusters, for data with six. The score decides: ``choose_k`` recommends
its peak. It is high if many clusters come back when other samples are used.
"""

# %%
# One call, one answer
# --------------------
# 500 samples on six noisy rays, the largest cluster three times the smallest. The samples are split
# into two halves, six times. Each half is clustered with every K and labels all samples.

import matplotlib.pyplot as plt

from onmf import ONMF, choose_k, plot
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score
from onmf.number import consensus

X, kind = make_rays(500, 60, 6, noise=2.0, imbalance=3, random_state=0)
choice = choose_k(ONMF(random_state=0), X, range(2, 12))
choice.plot()
plt.show()

# %%
# The answer comes with a sentence.

print(choice.reason)

# %%
# Reading the curves
# ------------------
# *S* is the share that comes back: the mean of the overlap *J* of the clusters of two halves and of
# the share *M* of the samples that keep their cluster. The score is log(K) times S to the power of
# 2.5, and up to 1.4 times more where few samples lie at borders. The last two curves say whether
# clusters are separate.
#
# What the runs agree on
# ----------------------
# The consensus of two samples is the share of runs that put them together: on the left fits on
# halves for the recommended K, on the right runs from ten starts with two clusters more. The right
# K gives solid squares. With two clusters too many, runs disagree on which cluster to split.

few, many = choice.consensus, consensus(ONMF(8, random_state=0), X, n_runs=10)
_, axes = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
plot.consensus_map(few, axes[0])
plot.consensus_map(many, axes[1])
plt.show()

# %%
# How often is each cluster found again?

_, axes = plt.subplots(1, 2, figsize=(9.4, 2.6), sharey=True, layout="constrained")
for ax, found in zip(axes, (few, many), strict=True):
    plot.cluster_stability(found, ax)
    ax.set_title(f"K = {len(found.cluster_stability)}")
plt.show()

# %%
# ``choice.model`` is the fit with this K, and ``choice.consensus`` is about its clusters.

found = adjusted_rand_score(kind, choice.model.labels_)
print(f"the fit and the truth: adjusted Rand index {found:.2f}")
