"""Coherence and diversity of the ten words that are shown for each topic, beside NMF and LDA."""

import re
import warnings
from statistics import mean

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF, LatentDirichletAllocation

import sets
from onmf import ONMF, explain
from onmf.datasets import load_newsgroups
from onmf.io import read_documents
from onmf.metrics import topic_coherence, topic_diversity
from onmf.prepare import Log, Tfidf, Words, tfidf
from onmf.prepare.stop_words import stop_words_of
from onmf.prepare.texts import WORD
from tables import table, write_section

SEEDS = (2701, 2702, 2703)  # never used while the ranking of words was made
WORDS = 10
NOTE = f"""

Coherence: mean NPMI of all pairs of the {WORDS} words shown for a topic, by the texts that have
both; diversity: share of different words among them (`onmf.metrics.topic_coherence`,
`topic_diversity`); means of the seeds {SEEDS[0]} to {SEEDS[-1]} at the number of classes. *onmf
--text* shows the words of `explain.clusters(rank="presence")`, as the page, markers.csv and the
names of the clusters do; *by mean* are those by Welch's test. NMF (of tf-idf) and LDA (of counts)
are scikit-learn's, with the heaviest words of each component. Words of 20 Newsgroups: of at least
two and at most half of the messages, with a letter, without English stop words. Figures in other
papers count words that are at most ten words apart, and are lower."""


def newsgroups() -> tuple:
    """Counts of the words that `onmf cluster --text` would count."""
    messages = load_newsgroups()
    X, words = sp.csc_array(messages.data), messages.feature_names
    texts = np.diff(X.indptr)
    known = set(stop_words_of("english"))
    sound = [bool(re.fullmatch(WORD, word)) and word not in known for word in words]
    kept = np.flatnonzero((texts >= 2) & (2 * texts <= X.shape[0]) & np.array(sound))
    return sp.csr_array(X[:, kept]), 20


def bbc() -> tuple:
    texts = read_documents(sets.folder() / "texts" / "bbc.jsonl.gz", column="text").X
    return Words.fit(texts, min_df=2, max_df=0.5, stop_words="english")(texts), 5


def of_counts(rank: str, X, k: int, seed: int) -> list:
    model = ONMF(k, loss="kl", random_state=seed).fit(X)
    return explain.clusters(model, X, rank=rank).markers.numbers(WORDS)


def of_weights(X, k: int, seed: int) -> list:
    weighted = Log()(X)
    weighted = Tfidf.fit(weighted)(weighted)
    model = ONMF(k, random_state=seed).fit(weighted)
    return explain.clusters(model, weighted, rank="presence").markers.numbers(WORDS)


def heaviest(components) -> list:
    return np.argsort(-components, axis=1, kind="stable")[:, :WORDS].tolist()


METHODS = {
    "onmf --text": lambda X, k, s: of_counts("presence", X, k, s),
    "onmf --text, by mean": lambda X, k, s: of_counts("mean", X, k, s),
    "onmf --text --tfidf": of_weights,
    "NMF": lambda X, k, s: heaviest(
        NMF(k, init="nndsvda", random_state=s).fit(tfidf().fit_transform(X)).components_
    ),
    "LDA": lambda X, k, s: heaviest(
        LatentDirichletAllocation(k, random_state=s, learning_method="online").fit(X).components_
    ),
}


def run() -> None:
    rows = []
    for name, make in {"BBC news": bbc, "20 Newsgroups": newsgroups}.items():
        X, k = make()
        for method, topics_of in METHODS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NMF may stop early
                topics = [topics_of(X, k, seed) for seed in SEEDS]
            figures = (
                mean(topic_coherence(own, X) for own in topics),
                mean(topic_diversity(own) for own in topics),
            )
            rows.append([name, k, method, *(f"{figure:.3f}" for figure in figures)])
            body = table(["data", "K", "words of", "coherence", "diversity"], rows) + NOTE
            write_section("coherence", "Words of topics", body)
