"""`cluster_texts`: from texts to topics, as ``onmf cluster --text`` finds them."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from onmf.estimators import ONMF, class_means
from onmf.estimators.naming import as_pairs
from onmf.estimators.parameters import RandomSeed
from onmf.estimators.solvers import OtherParameters
from onmf.explain import groups
from onmf.explain.checks import has_groups
from onmf.explain.pairs import names_by_pairs
from onmf.losses import loss_of
from onmf.number import choose_k
from onmf.prepare.cleaning import CLEANERS, Strip
from onmf.prepare.seeds import Seeds, labels_by_seeds
from onmf.prepare.steps import WEIGHTS_OF_WORDS
from onmf.prepare.texts import WORD, Words, as_texts
from onmf.rows.table import Table


def cluster_texts(
    texts: Iterable[str],
    n_clusters: int | Literal["auto"] | Iterable[int] = "auto",
    *,
    stop_words: str | Sequence[str] = "english",
    min_df: int | float = 2,
    max_df: float = 0.5,
    ngrams: tuple[int, int] = (1, 1),
    pattern: str = WORD,
    strip: Sequence[str] = tuple(CLEANERS),
    seeds: Seeds | None = None,
    loss: Literal["frobenius", "kl"] = "kl",
    random_state: RandomSeed = 0,
    n_jobs: int | None = None,
    **params: Unpack[OtherParameters],
) -> ONMF:
    """Cluster texts by the counts of their words: one call from texts to topics.

    The texts are cleaned, their words counted and clustered with ``loss="kl"``, as by ``onmf
    cluster --text``. The features of the fitted model are words, and wherever it takes X it takes
    texts, too: `predict`, `explain`, `partial_fit`.

    Parameters
    ----------
    texts : iterable of str
        None and NaN are empty texts, which have label -1.
    n_clusters : int, "auto" or iterable of int, default="auto"
        "auto" lets `choose_k` choose, an iterable from its numbers. ``model.reason_`` says why.
    stop_words, min_df, max_df, ngrams, pattern, strip
        What is counted: as for `onmf.prepare.word_counts`.
    seeds : dict of str to list of str, optional
        Words of topics that you expect, by the name of the topic. Texts with two words of one topic
        and fewer of all others (`onmf.prepare.labels_by_seeds`) are where its cluster starts. There
        are at least as many clusters, and the others are free.
    loss : {"kl", "frobenius"}, default="kl"
        With "frobenius" the counts are weighted by sublinear tf-idf.
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, optional
    **params
        Further parameters of `ONMF`.

    Returns
    -------
    ONMF
        Fitted, with the words as `feature_names_in_`, words or pairs of words of each topic as
        `cluster_names_`, and cleaning and counting as `preprocessing_`, which `save` stores.

    Examples
    --------
    >>> import onmf
    >>> texts = ["moons and stars", "stars, moons", "genes in cells", "genes; <b>cells</b>"]
    >>> model = onmf.cluster_texts(texts, 2)
    >>> model.labels_, model.predict(["the stars"])
    (array([0, 0, 1, 1]), array([0]))
    >>> model.explain(texts).markers.top(2)
    [['moons', 'stars'], ['cells', 'genes']]
    """
    given = as_texts(texts if hasattr(texts, "__len__") else list(texts))
    if given is None:
        raise TypeError("texts must be a list of strings; for numbers use ONMF().fit(X).")
    model = ONMF(loss=loss, random_state=random_state, n_jobs=n_jobs, **params)
    clean = Strip.fit(given, strip)
    cleaned = clean(given)
    words = Words.fit(cleaned, min_df, max_df, stop_words, ngrams, pattern)
    X: Any = words(cleaned)
    steps: list[Any] = [clean, words]
    for kind in () if loss_of(model).takes_counts else WEIGHTS_OF_WORDS:
        steps.append(kind.fit(X))
        X = steps[-1](X)
    model, reason = _with_k(model, X, n_clusters)
    if seeds is not None:
        start = class_means(labels_by_seeds(X, words.vocabulary, seeds))
        k = max(int(model.n_clusters or 0), len(start.names) if reason else 0)  # chosen without
        model.set_params(init=start, n_clusters=k)
    model.fit(Table(X, [], list(words.vocabulary)))
    model.preprocessing_ = tuple(steps)
    if reason:
        model.reason_ = reason
    if has_groups(model.labels_):
        markers = groups(model.labels_, X, feature_names=words.vocabulary, rank="presence")
        place = {i: k for k, i in enumerate(markers.clusters)}
        numbers = np.array([place.get(label, -1) for label in model.labels_.tolist()])
        named = names_by_pairs(markers, numbers, words.in_order(cleaned))
        model.names_found_ = as_pairs(dict(zip(markers.clusters, named, strict=True)))
    return model


def _with_k(model: ONMF, X: Any, n_clusters: Any) -> tuple[ONMF, str]:
    """The model with this number of clusters, or with the one that `choose_k` chooses, and why."""
    if isinstance(n_clusters, int | np.integer):
        return model.set_params(n_clusters=int(n_clusters)), ""
    if isinstance(n_clusters, str) and n_clusters != "auto":
        raise ValueError(f"n_clusters must be an int, 'auto' or an iterable, not {n_clusters!r}.")
    among = None if isinstance(n_clusters, str) else n_clusters
    choice = choose_k(model, X, among, n_jobs=model.n_jobs)
    return model.set_params(n_clusters=choice.best_k), choice.reason
