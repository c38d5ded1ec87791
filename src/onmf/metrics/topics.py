"""Quality of the words that are shown for topics.

With p_i the share of the samples that have word i, and p_ij the share that have both,

    npmi_ij = log(p_ij / (p_i p_j)) / -log p_ij,      -1 if no sample has both.

A topic is coherent if its words occur together; topics are diverse if they do not share words.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.rows.sweep import Array


def topic_coherence(topics: Sequence[Sequence[Any]], X: Any, features: Any = None) -> float:
    """Mean over the topics of the mean NPMI of all pairs of their words.

    The usual measure takes the ten words that are shown for each topic. It is 1 for words that only
    occur together, 0 for words that are independent, and -1 for words that never meet. Values
    depend on the texts: compare only topics of the same X.

    Parameters
    ----------
    topics : sequence of sequences of names or numbers
        The words of each topic, as `Markers.top` and `Markers.numbers` return them. A topic with
        fewer than two words counts as 0.
    X : array, sparse matrix or rows on disk, of shape (n_samples, n_features)
        The texts; a sample has a word if its entry is not zero.
    features : sequence of str, optional
        Names of the columns, if `topics` has names.

    Returns
    -------
    float
        From -1 to 1.

    Examples
    --------
    >>> from onmf.metrics import topic_coherence
    >>> X = [[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 2]]
    >>> topic_coherence([["moon", "star"], ["moon", "gene"]], X, ["moon", "star", "gene"])
    0.0
    """
    numbers = _numbers(topics, features)
    if not numbers:
        raise ValueError("there are no topics.")
    used = sorted({*chain(*numbers)})
    place = {j: i for i, j in enumerate(used)}
    n, both = _joint_counts(X, used)
    values = [_mean_npmi(both[np.ix_(own, own)] / n)
              for own in ([place[j] for j in topic] for topic in numbers)]  # fmt: skip
    return float(np.mean(values))


def topic_diversity(topics: Sequence[Sequence[Any]]) -> float:
    """Share of different words among all words of the topics.

    Parameters
    ----------
    topics : sequence of sequences of names or numbers
        As for `topic_coherence`.

    Returns
    -------
    float
        1 if no two topics share a word.

    Examples
    --------
    >>> from onmf.metrics import topic_diversity
    >>> topic_diversity([["moon", "star"], ["moon", "gene"]])
    0.75
    """
    words = list(chain(*topics))
    if not words:
        raise ValueError("there are no words.")
    return len({*words}) / len(words)


def _numbers(topics: Sequence[Sequence[Any]], features: Any) -> list[list[int]]:
    """The topics as numbers of columns, each once."""
    if features is None:
        return [list(dict.fromkeys(map(int, topic))) for topic in topics]
    place = {name: j for j, name in enumerate(features)}
    if unknown := [name for name in chain(*topics) if name not in place]:
        raise ValueError(f"{unknown[0]!r} is not among the features.")
    return [list(dict.fromkeys(place[name] for name in topic)) for topic in topics]


def _joint_counts(X: Any, columns: list[int]) -> tuple[int, Array]:
    """Number of samples, and how many of them have both of two columns."""
    both = np.zeros((len(columns), len(columns)))
    for block in X.parts() if hasattr(X, "parts") else [X]:  # rows on disk come in parts
        part = block if sp.issparse(block) else np.asarray(block)
        there = sp.csr_array(part[:, columns] != 0, dtype=np.float64)
        both += (there.T @ there).toarray()
    return X.shape[0] if hasattr(X, "shape") else len(X), both


def _mean_npmi(p: Array) -> float:
    """The mean over all pairs of the words with these joint shares; 0 without a pair."""
    i, j = np.triu_indices(len(p), 1)
    if not len(i):
        return 0.0
    joint, apart = p[i, j], p[i, i] * p[j, j]
    value = np.full(len(i), -1.0)
    met = joint > 0
    surprise = -np.log(joint[met])
    ratio = np.log(joint[met] / apart[met])
    value[met] = np.divide(ratio, surprise, out=np.ones_like(ratio), where=surprise > 0)
    return float(value.mean())
