"""The table over K, the recommended K, the other scales, and the sentences that say why."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from onmf.stability import rule
from onmf.stability.agreement import Consensus

Array = NDArray[Any]

NOISY = 0.5  # overlap of clusters by halves of the features: single samples tell too little
FEW_SAMPLES = 30  # samples: with fewer, every answer is a guess


class KRow(NamedTuple):
    """What is known about one K; NaN where a fit failed.

    Attributes
    ----------
    k : int
        Number of clusters.
    score : float
        How many clusters are solid, doubtful ones counting against it: the figure that decides.
    score_se : float
        Its standard error over the cuts of the data.
    found_again : float
        Mean Jaccard overlap of the clusters of two halves of the samples.
    feature_agreement : float
        Mean overlap of the clusters as two halves of the features see them.
    border : float
        Mean share of the samples of a cluster that lie near its border.
    valley : float
        Density of the samples at borders over that inside clusters: about 1 for one cloud cut in
        pieces, far below for clusters that are apart.
    solid : float
        Number of clusters that count in favour of K.
    kept : float
        Share of the samples that keep their cluster from one half to the other; where it is below
        0.9, the score is lower for it.
    outliers : float
        Number of clusters of outliers, which do not count. With 0.5 or more, the K clusters may
        have been found with K + 1 rays.
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
    score_se: float
    found_again: float
    feature_agreement: float
    border: float
    valley: float
    solid: float
    kept: float
    outliers: float
    failed: str


class Scale(NamedTuple):
    """A number of clusters at which the data fall apart, and where its clusters come from.

    Attributes
    ----------
    k : int
    score : float
    sentence : str
        What it is like.
    labels : ndarray of shape (n_samples,)
    inside : ndarray of shape (k, k of the next coarser scale) or None
        Share of the samples of each cluster that lie in each cluster of the next coarser scale;
        None for the coarsest.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> [scale.k for scale in choose_k(ONMF(random_state=0), X, range(2, 8), n_runs=2).scales]
    [2, 4]
    """

    k: int
    score: float
    sentence: str
    labels: Array
    inside: Array | None


@dataclass(frozen=True, eq=False)
class KChoice:
    """A recommended K and what speaks for it; made by `onmf.choose_k`.

    Attributes
    ----------
    best_k : int
        The recommended number of clusters.
    runner_up : int or None
        The next best: another scale, if there is one.
    reason : str
        Why, in a sentence with the figures.
    confidence : float
        0 to 1: how often the K was right on made-up data with such figures; 0.2 without evidence,
        and 0 for K = 1.
    table : list of KRow
        One row a K; ``pandas.DataFrame(choice.table)`` is a table of it.
    consensus : Consensus
        How the clusters of the fit come back in the fits on halves of the samples; its `labels` are
        those of `model`.
    scales : list of Scale
        All scales, coarse to fine; `best_k` is one of them.
    evidence : bool
        False if the data show no clusters: `best_k` is then only that of which most is found again.
    model : estimator
        The model, fitted with `best_k` clusters.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> choice = choose_k(ONMF(random_state=0), X, range(2, 8))
    >>> choice.best_k, choice.reason.split(":")[0]
    (4, 'K=4')
    """

    best_k: int
    runner_up: int | None
    reason: str
    confidence: float
    table: list[KRow] = field(repr=False)
    consensus: Consensus = field(repr=False)
    scales: list[Scale] = field(repr=False)
    evidence: bool
    model: ClusterMixin = field(repr=False)

    def plot(self) -> Any:
        """The curves over K as a Matplotlib figure."""
        from onmf import plot

        return plot.k_curves(self)


def row(k: int, known: rule.Figures | None, failed: str) -> KRow:
    """One line of the table."""
    if known is None:
        return KRow._make([k, *[np.nan] * (len(KRow._fields) - 2), failed])
    n = len(known.scores)
    error = float(known.scores.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    figures = known.found, known.alike, known.border, known.valley, known.solid, known.kept
    return KRow(k, known.score, error, *figures, known.astray, failed)


def scales(
    ks: list[int], known: dict[int, rule.Figures], labels: dict[int, Array], best: int
) -> list[Scale]:
    """The scales, coarse to fine, each with the tree to the one before."""
    made: list[Scale] = []
    for k in ks:
        above = made[-1] if made else None
        inside = None if above is None else shares(labels[k], k, above.labels, above.k)
        sentence = scale_sentence(k, known[k], best, above, inside)
        made.append(Scale(k, known[k].score, sentence, labels[k], inside))
    return made


def shares(fine: Array, k: int, coarse: Array, j: int) -> Array:
    """Share of the samples of each of k clusters in each of j coarser ones."""
    inside = (fine >= 0) & (coarse >= 0)
    table = np.bincount(fine[inside] * j + coarse[inside], minlength=k * j).reshape(k, j)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))


def scale_sentence(
    k: int, fact: rule.Figures, best: int, above: Scale | None, inside: Array | None
) -> str:
    """How good a scale is, and how it lies within the coarser one."""
    text = f"K={k}: {min(round(fact.solid), k)} of {k} clusters are solid, score {fact.score:.2f}"
    if above is not None and inside is not None:
        within = int(np.sum(inside.max(axis=1) >= 0.9))
        text += f"; {within} of them lie within one cluster of K={above.k}"
    return text + (" (recommended)." if k == best else ".")


def reason(
    verdict: rule.Verdict, known: dict[int, rule.Figures], ks: list[int], n: int, ended: str
) -> str:
    """The sentence behind a recommendation."""
    k = verdict.best
    guess = f"; {n} samples are few, take it as a guess" if n < FEW_SAMPLES else ""
    if not verdict.evidence:
        return no_evidence(verdict, known) + guess + "."
    fact = known[k]
    others = [j for j in verdict.scales if j != k]
    also = ""
    if others:
        words = ", ".join(f"{j} {'coarser' if j < k else 'finer'}" for j in others)
        also = f"; other scales: {words}"
    return (
        f"K={k}: {min(round(fact.solid), k)} of {k} clusters are solid: two halves of the samples "
        f"find them again with an overlap of {fact.found:.2f}, {fact.kept:.0%} of the samples keep "
        f"their cluster, and {fact.border:.0%} of those in a cluster lie near a border"
        f"{besides(fact)}{also}{too_fine(k, known)}{ended}{guess}."
    )


def besides(fact: rule.Figures) -> str:
    """That there are outliers."""
    if not fact.has_outliers:
        return ""
    return "; samples unlike all others gather in a cluster of their own, which is not counted"


def too_fine(best: int, known: dict[int, rule.Figures]) -> str:
    """From which K on the noise of single samples hides the clusters."""
    hidden = [k for k in sorted(known) if k > best and known[k].alike < NOISY]
    if not hidden:
        return ""
    return f"; from K={hidden[0]} on, single samples are too noisy to tell clusters apart"


def no_evidence(verdict: rule.Verdict, known: dict[int, rule.Figures]) -> str:
    """Why nothing is recommended."""
    tried = [k for k in (verdict.best, verdict.runner_up) if k in known and k > 1]
    if not tried:
        return "There is no evidence of clusters, for K=1 alone was asked for"
    k = max(tried, key=lambda j: known[j].score)  # by which it was judged
    fact, end = known[k], ""
    if verdict.best > 1:
        end = f", and K={verdict.best} is only the one of which most is found again"
    if fact.quality > rule.NOISE:
        return (
            f"There is no evidence of clusters: those for K={k} are pieces of a continuum, with "
            f"{fact.valley:.0%} as many samples at their borders as inside{end}"
        )
    return (
        "There is no evidence of clusters: two halves of the data do not find the same ones again "
        f"(overlap {fact.found:.2f} for K={k}, {fact.alike:.2f} by halves of the features){end}"
    )
