"""
All methods side by side
========================

Accuracy and adjusted Rand index of the methods in the paper's comparison, and a few more, on a
smaller cut of its synthetic data; a dot is one of three starts that all methods share, a bar their
mean. A good method is high and does not depend on the start.
"""

# %%
# One registry, one interface
# ---------------------------
# ``Baseline`` has the other methods, with the attributes and the starts of ``ONMF``: seed 1 gives
# all of them the same first factors. The data are the paper's, 1,000 samples on ten rays, reduced
# to every second sample and 200 of 2,000 features. About 50 samples are outliers and keep the label
# of the sample they replace, so no method gets everything right. To save time, the penalty grows by
# 1.2 instead of 1.1, and the rivals have 400 iterations instead of 2,000. ``onmf reproduce`` has
# the paper's tables in full.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from onmf import ONMF, PALM, Baseline
from onmf.baselines import METHODS
from onmf.datasets import make_paper_synthetic
from onmf.exceptions import ConvergenceWarning, EmptyClusterWarning
from onmf.metrics import adjusted_rand_score, clustering_accuracy, partition_error

warnings.simplefilter("ignore", ConvergenceWarning)  # 400 iterations are not the paper's 2,000
warnings.simplefilter("ignore", EmptyClusterWarning)

X, kind = make_paper_synthetic(snr_db=0)
X, kind = X[::2, :200], kind[::2]

models = {
    "onmf": ONMF(10),
    "SNCP (the paper)": ONMF(10, solver=PALM(growth=1.2)),
    "NSNCP (the paper)": ONMF(10, penalty="nsncp", solver=PALM(growth=1.2)),
}
models |= {name: Baseline(name, n_clusters=10, max_iter=400) for name in METHODS}

rows = []
for name, model in models.items():
    for seed in (1, 2, 3):
        labels = model.set_params(random_state=seed).fit(X).labels_
        scores = clustering_accuracy(kind, labels), adjusted_rand_score(kind, labels)
        rows.append((name, *scores, partition_error(X, labels)))

scores = np.array([row[1:] for row in rows]).reshape(len(models), 3, 3)  # method, start, measure
order = np.argsort(scores[:, :, 1].mean(axis=1))

_, axes = plt.subplots(1, 2, figsize=(9.2, 4.4), sharey=True, layout="constrained")
names = np.array(list(models))[order]
colors = np.where([not name.islower() or name == "onmf" for name in names], "#1f5d57", "#b9bdc4")
for ax, measure, title in zip(axes, (0, 1), ("accuracy", "adjusted Rand index"), strict=True):
    ax.barh(range(len(names)), scores[order, :, measure].mean(axis=1), color=colors)
    ax.plot(scores[order, :, measure], np.arange(len(names)), "k.", ms=5)
    ax.set(title=title, xlim=(0, 1))
axes[0].set_yticks(range(len(names)), names)
plt.show()

# %%
# What they minimise
# ------------------
# All methods that factorise aim at the same number: the error of the best rays for their labels.
# Lower is better, and the lowest is not always the one with the most samples right: the outliers
# are large, so a cluster for them lowers the error more than a small true cluster does.

for i in np.argsort(scores[:, :, 2].mean(axis=1)):
    name, mean = list(models)[i], scores[i].mean(axis=0)
    print(f"{name:20}error {mean[2]:.4f}   right {mean[0]:.0%}   ARI {mean[1]:.2f}")
