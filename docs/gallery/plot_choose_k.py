"""
How many clusters?
==================

Eight measures over the number of clusters, for data with six; the dotted line is the one that
``choose_k`` recommends. The score decides: it is large where one more cluster helps to predict
numbers that were held out, and no later one helps as much.
"""

# %%
# One call, one answer
# --------------------
# 500 samples on six noisy rays, the largest cluster three times the smallest. Each K is run from
# ten seeds, and four more times without a quarter of the features, which are then predicted.

import matplotlib.pyplot as plt

from onmf import ONMF, choose_k, plot
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score
from onmf.stability import consensus

X, kind = make_rays(500, 60, 6, noise=2.0, imbalance=3, random_state=0)
choice = choose_k(ONMF(random_state=0), X, range(2, 12), n_runs=10)
choice.plot()
plt.show()

# %%
# The answer comes with a sentence. ``confidence`` is the share of resamplings that lead to the same
# K, times how well its clusters are found again with fewer features.

print(choice.reason)
print(f"confidence {choice.confidence:.2f}, runner-up {choice.runner_up}")

# %%
# Reading the curves
# ------------------
# *Relative error* always falls: more clusters fit better, and say nothing about how many there are.
# *Held-out error* falls as long as a cluster is real, then stays. The *cophenetic correlation*, the
# usual measure of stability, is 1 where all runs agree, and they also agree on too few clusters:
# look at K = 2. So stability rules numbers out; it does not choose. Measures that need runs are not
# taken far beyond the last K that pays.
#
# What the runs agree on
# ----------------------
# The consensus of two samples is the share of runs that put them together. Sorted by a tree, the
# right K gives solid squares; with two clusters too many, runs disagree on which cluster to split,
# and the squares fray.

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
# ``choice.consensus.labels`` are clusters already: those most runs agree on. A fit with this K
# gives a model that can place new samples.

model = ONMF(n_clusters=choice.best_k, random_state=0).fit(X)
for name, labels in {"the consensus": few.labels, "the truth": kind}.items():
    found = adjusted_rand_score(labels, model.labels_)
    print(f"the fit and {name:15}adjusted Rand index {found:.2f}")
