"""The table over K, the recommended K, the other scales, and the sentences that say so."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.number.rule import Figures, Verdict

Array = NDArray[Any]

NESTED = 0.9  # share of a finer cluster inside a coarser one, from which it is a part of it
FEW_SAMPLES = 100  # with fewer, no measure told data with clusters from data without


class KRow(NamedTuple):
    """What is known about one K; NaN where a fit failed.

    Attributes
    ----------
    k : int
        Number of clusters.
    score : float
        log(K) comes_back^2.5 / (1 + min(valley, 0.4)), the figure that decides: the largest wins.
    comes_back : float
        How much of the clusters comes back from other samples: the mean of the next two.
    found_again : float
        Mean Jaccard overlap of the clusters of two halves of the samples.
    kept : float
        Share of the samples that keep their cluster from one half to the other.
    feature_agreement : float
        Mean overlap of the clusters as two halves of the features see them.
    border : float
        Mean share of the samples of a cluster that lie near its border.
    valley : float
        Density of the samples at borders over that inside clusters: about 1 for one cloud cut in
        pieces, far below for clusters that are apart.
    n_found : float
        How many of the clusters are found again, by an overlap of at least three quarters: mean
        over the cuts.
    failed : str
        Which fits failed and why, or nothing.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> [row.k for row in choose_k(ONMF(random_state=0), X, range(2, 6), n_runs=2).table]
    [2, 3, 4, 5]
    """

    k: int
    score: float
    comes_back: float
    found_again: float
    kept: float
    feature_agreement: float
    border: float
    valley: float
    n_found: float
    failed: str


class Scale(NamedTuple):
    """A number of clusters at which the data fall apart, and where its clusters come from.

    Attributes
    ----------
    k : int
    score : float
    comes_back : float
    labels : ndarray of shape (n_samples,)
    inside : ndarray of shape (k, k of the next coarser scale) or None
        Share of the samples of each cluster that lie in each cluster of the next coarser scale;
        None for the coarsest.
    names : list of str
        Name of each cluster: "2_1" is a part of cluster 2 of the next coarser scale, with at least
        nine tenths of its samples there.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> [scale.k for scale in choose_k(ONMF(random_state=0), X, range(2, 8)).scales]
    [4]
    """

    k: int
    score: float
    comes_back: float
    labels: Array
    inside: Array | None
    names: list[str]


@dataclass(frozen=True, eq=False)
class KChoice:
    """A recommended K and what speaks for it; made by `onmf.choose_k`.

    Attributes
    ----------
    best_k : int
        The recommended number of clusters: the largest score.
    reason : str
        The answer in a sentence: how much comes back, and which other numbers are possible.
    table : list of KRow
        One row a K; ``pandas.DataFrame(choice.table)`` is a table of it.
    scales : list of Scale
        The recommended K and the other peaks of the score worth naming, coarse to fine.
    evidence : bool
        False if nothing shows that the clusters are separate; `best_k` is the same.
    model : ONMF
        The model, fitted with `best_k` clusters.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> choice = choose_k(ONMF(random_state=0), X, range(2, 8))
    >>> choice.best_k, choice.reason
    (4, '4 clusters: 100 % of each comes back when other samples are used.')
    """

    best_k: int
    reason: str
    table: list[KRow] = field(repr=False)
    scales: list[Scale] = field(repr=False)
    evidence: bool
    model: Any = field(repr=False)

    def plot(self) -> Any:
        """The curves over K as a Matplotlib figure."""
        from onmf import plot

        return plot.k_curves(self)


def row(k: int, known: Figures | None, failed: str) -> KRow:
    """One line of the table."""
    if known is None:
        return KRow._make([k, *[np.nan] * (len(KRow._fields) - 2), failed])
    return KRow(k, known.score(k), known.comes_back, *known, failed)


def scales(ks: list[int], known: dict[int, Figures], labels: dict[int, Array]) -> list[Scale]:
    """The scales, coarse to fine, each with the tree to the one before."""
    made: list[Scale] = []
    for k in ks:
        inside, names = None, [str(cluster) for cluster in range(k)]
        if made:
            inside = shares(labels[k], k, made[-1].labels, made[-1].k)
            names = nested_names(inside, made[-1].names)
        made.append(Scale(k, known[k].score(k), known[k].comes_back, labels[k], inside, names))
    return made


def shares(fine: Array, k: int, coarse: Array, j: int) -> Array:
    """Share of the samples of each of k clusters in each of j coarser ones."""
    inside = (fine >= 0) & (coarse >= 0)
    table = np.bincount(fine[inside] * j + coarse[inside], minlength=k * j).reshape(k, j)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))


def nested_names(inside: Array, coarser: list[str]) -> list[str]:
    """Names of clusters: within the one they are a part of, or of their own."""
    parts, names = [0] * len(coarser), []
    for cluster, where in enumerate(inside):
        parent = int(where.argmax())
        if where[parent] >= NESTED:
            names.append(f"{coarser[parent]}_{parts[parent]}")
            parts[parent] += 1
        else:
            names.append(str(cluster))
    return names


def sentence(verdict: Verdict, known: dict[int, Figures], n: int, ended: str) -> str:
    """The answer, the other scales, and what limits it."""
    k, back = verdict.best, {j: f"{known[j].comes_back:.0%}".replace("%", " %") for j in known}
    others = [j for j in verdict.scales if j not in (k, *verdict.close)]
    if not verdict.evidence:
        others = [j for j in verdict.scales if j != k]
        text = (
            f"No evidence of separate clusters; {k} is the finest cut that comes back: {back[k]} "
            "of each when other samples are used."
        )
    elif len(verdict.close) > 1:
        *first, last = map(str, verdict.close)
        *some, end = (back[j] for j in verdict.close)
        text = (
            f"{', '.join(first)} or {last} clusters: the data do not decide; "
            f"{', '.join(some)} and {end} of each come back when other samples are used. "
            f"{k} has the best score."
        )
    else:
        text = f"{k} clusters: {back[k]} of each comes back when other samples are used."
    if others:
        words = [f"{j} {'coarser' if j < k else 'finer'} ones, {back[j]}" for j in others]
        if verdict.rare in others:
            found = f"{known[verdict.rare].n_found:.0f} of them are found again"
            words[others.index(verdict.rare)] += f" (for rare groups: {found})"
        text += f" Also possible: {'; '.join(words)}."
    if n < FEW_SAMPLES:
        text += f" {n} samples are few: take it as a guess."
    return text + ended
