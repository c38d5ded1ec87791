"""
How many clusters?
==================

The score over the number of clusters, for data with six. The score decides: ``choose_k`` recommends
its peak. It is high if many clusters come back when other samples are used.
"""

# %%
# One call, one answer
# --------------------
# 500 samples on six noisy rays, the largest cluster three times the smallest. The samples are split
# into two halves, six times. Each half is clustered with every K and labels all samples.

import matplotlib.pyplot as plt

from onmf import ONMF, choose_k
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score

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
# The dotted line is the share that comes back, *S*: the mean of the overlap of the clusters of two
# halves and of the share of the samples that keep their cluster. The score is log(K) times S to the
# power of 2.5, and up to 1.4 times more where few samples lie at borders. With two clusters too
# many, halves disagree on which cluster to split.

for row in choice.table[3:7]:
    print(f"K = {row.k}: {row.comes_back:.0%} comes back, score {row.score:.2f}")

# %%
# ``choice.model`` is the fit with the K that was chosen.

found = adjusted_rand_score(kind, choice.model.labels_)
print(f"the fit and the truth: adjusted Rand index {found:.2f}")
