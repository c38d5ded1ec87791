"""
Embeddings, described by words
==============================

Signed vectors of length 1, as language models make them, clustered by direction. The words of the
texts say what each cluster is about.
"""

# %%
# Texts and their vectors
# -----------------------
# Three topics. The vectors are a stand-in for those of a language model: latent semantic analysis,
# centred and scaled to length 1.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from onmf import ONMF
from onmf.exceptions import SignedDataWarning

rng = np.random.default_rng(0)
topics = [
    "star planet moon orbit comet galaxy",
    "gene cell protein tissue enzyme genome",
    "goal match team player coach league",
]
shared = ["new", "report", "today", "people", "first", "study"]
kind = np.arange(240) % 3
texts = [" ".join(rng.choice(topics[k].split() + shared, 12)) for k in kind]
counter = CountVectorizer().fit(texts)
words = counter.transform(texts)
X = TruncatedSVD(16, random_state=0).fit_transform(TfidfTransformer().fit_transform(words))
X -= X.mean(axis=0)
X /= np.linalg.norm(X, axis=1, keepdims=True)

# %%
# Clusters of directions
# ----------------------
# Negative entries need no parameter. Each row of the picture is a text, ordered by cluster; the
# columns are its cosines with the three centroids.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", SignedDataWarning)
    model = ONMF(n_clusters=3, random_state=0).fit(X)
found = model.explain(X, by=words, feature_names=counter.get_feature_names_out())
cosines = model.decision_function(X)
figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
axes.imshow(
    cosines[np.argsort(model.labels_, kind="stable")], aspect="auto", cmap="RdBu", vmin=-1, vmax=1
)
axes.set_xticks(range(3), found.markers.names, fontsize=8)
axes.set_ylabel("texts, by cluster")
plt.show()

# %%
# What the clusters are about
# ---------------------------
# The coordinates of an embedding have no meaning; the words do.

for cluster, top in enumerate(found.markers.top(5)):
    print(cluster, ", ".join(top))
