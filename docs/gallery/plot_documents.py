"""
Documents
=========

Six topics found in 1,200 generated documents, by their most distinctive words. Documents are
between 15 and 600 words long, and a document is a multiple of its topic: the length does not
matter.
"""

# %%
# A small world of words
# ----------------------
# A real corpus would need a download, so this one is made up: every topic has its own words, all
# share some common ones, and a document draws most of its words from one topic. The counts are a
# sparse matrix in CSR form, and stay one all the way: nothing here makes them dense.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from onmf import ONMF, plot
from onmf.metrics import adjusted_rand_score
from onmf.prepare import tfidf

topics = {
    "sea": "ship harbour wave sailor storm tide anchor captain deck island",
    "kitchen": "oven flour butter recipe salt onion knife simmer dough spoon",
    "music": "melody violin chord rhythm concert singer tempo choir drum harmony",
    "court": "judge verdict witness lawyer appeal trial jury statute evidence sentence",
    "garden": "seed soil bloom prune compost rose root shade leaf hedge",
    "space": "orbit rocket planet comet telescope lunar galaxy probe crater stellar",
}
everywhere = "day people time year say make long new good part place thing water light hand"
own_words = [word for text in topics.values() for word in text.split()]
words = own_words + everywhere.split()
column = {word: j for j, word in enumerate(words)}


def write(rng, topic, length):
    """Counts of the words of a document: 55 % from its topic, 10 % from any, the rest common."""
    chance = np.full(len(words), 0.10 / len(words))
    own = [column[word] for word in list(topics.values())[topic].split()]
    chance[own] += 0.55 * rng.dirichlet(np.full(len(own), 2.0))
    chance[len(own_words) :] += 0.35 / (len(words) - len(own_words))
    return rng.multinomial(length, chance)


rng = np.random.default_rng(0)
topic = rng.choice(6, 1200, p=[0.3, 0.22, 0.18, 0.14, 0.1, 0.06])
length = np.exp(rng.uniform(np.log(15), np.log(600), 1200)).astype(int)
counts = sp.csr_array([write(rng, t, n) for t, n in zip(topic, length, strict=True)])

# %%
# tf-idf, then clusters
# ---------------------
# ``tfidf`` weighs rare words up and gives each document length one.

weigh = tfidf().fit(counts)
X = weigh.transform(counts)
model = ONMF(n_clusters=6, random_state=0).fit(X)
_, ax = plt.subplots(figsize=(9.6, 3.6), layout="constrained")
plot.markers(model.explain(X, feature_names=words).markers, 5, ax)
plt.show()

# %%
# Plain counts
# ------------
# Without any preparation, length is all that K-means sees: the long documents are far from each
# other and the short ones all near zero. For onmf it makes no difference. (It does weigh a document
# by the square of its length: tf-idf makes all documents count the same.)

for name, table in {"tf-idf": X, "plain counts": counts.astype(float)}.items():
    for method in (ONMF(6, random_state=0), KMeans(6, n_init=10, random_state=0)):
        found = adjusted_rand_score(topic, method.fit(table).labels_)
        print(f"{name:14}{type(method).__name__:8}adjusted Rand index {found:.2f}")

# %%
# New documents
# -------------
# ``predict`` places documents that were not there when the model was made, in closed form.
# ``distance`` says how much of a document its topic leaves unexplained: 0 for a multiple of the
# centroid, 1 for nothing in common. A document without a single known word belongs nowhere and gets
# the label -1.

texts = [
    "the captain saw the harbour through the storm",
    "prune the rose and put compost on the root",
    "a choir and a drum on the deck of a ship",
    "zzz qqq",
]
new = sp.lil_array((len(texts), len(words)))
for i, text in enumerate(texts):
    for word in text.split():
        if word in column:
            new[i, column[word]] += 1
new = weigh.transform(new.tocsr())
labels, distances = model.predict(new), model.distance(new)
for text, label, distance in zip(texts, labels, distances, strict=True):
    print(f"{text:48} cluster {label:2}, distance {distance:.2f}")

# %%
# The map below has each document as a point, the nearer the more alike (t-SNE), in the colour of
# its cluster.

_, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
plot.embedding(model, X, ax)
plt.show()
