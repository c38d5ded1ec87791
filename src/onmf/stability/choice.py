"""The table over K, the recommended K and the sentence that says why."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.stability import rule
from onmf.stability.agreement import Consensus

Array = NDArray[Any]


class KRow(NamedTuple):
    """What is known about one K; NaN where no run was made or all failed.

    Attributes
    ----------
    k : int
        Number of clusters.
    cophenetic, cophenetic_se, dispersion, ambiguous : float
        See `Consensus`.
    agreement : float
        Mean adjusted Rand index of the consensus labels and the fits that miss a part of the
        features (with fewer than eight features: of the consensus labels and the runs).
    relative_error : float
        Of the best run.
    ratio : float
        Score of K by that error; see `choose_k`.
    silhouette : float
        Mean centroid-based silhouette width of the consensus labels.
    held_out, held_out_se : float
        Relative error on features and samples kept out, and the standard error of the step to this
        K from the one before.
    score : float
        Score of K by that error: the figure that decides.
    failed : str
        Which runs failed and why, or nothing.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> [row.k for row in choose_k(ONMF(random_state=0), X, range(2, 5), n_runs=2).table]
    [2, 3, 4]
    """

    k: int
    cophenetic: float
    cophenetic_se: float | None
    dispersion: float
    ambiguous: float
    agreement: float
    relative_error: float
    ratio: float
    silhouette: float
    held_out: float
    held_out_se: float
    score: float
    failed: str


@dataclass(frozen=True, eq=False)
class KChoice:
    """A recommended K and what speaks for it; made by `onmf.choose_k`.

    Attributes
    ----------
    best_k : int
        The recommended number of clusters.
    runner_up : int or None
        The next best.
    reason : str
        Why, in a sentence with the figures.
    confidence : float
        0 to 1: the share of resamplings that lead to the same K, times the agreement of its
        clusters with those of fits that miss some of the features.
    table : list of KRow
        One row a K; ``pandas.DataFrame(choice.table)`` is a table of it.
    consensus : Consensus
        What the runs with `best_k` clusters agree on; its `labels` are the clusters.

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> choice = choose_k(ONMF(random_state=0), X, range(2, 8), n_runs=3)
    >>> choice.best_k, choice.reason.split(":")[0]
    (4, 'K=4')
    """

    best_k: int
    runner_up: int | None
    reason: str
    confidence: float
    table: list[KRow] = field(repr=False)
    consensus: Consensus = field(repr=False)

    def plot(self) -> Any:
        """The curves over K as a Matplotlib figure."""
        from onmf import plot

        return plot.k_curves(self)


class Curve(NamedTuple):
    """Held-out errors (K, groups of samples) of the K that did not fail; labels of their fits."""

    ks: list[int]
    errors: Array
    labels: dict[int, list[Array]]
    failed: dict[int, str]  # why, for the others
    held_features: bool


class Facts(NamedTuple):
    """The runs of one K."""

    consensus: Consensus | None
    agreement: float
    relative_error: float
    silhouette: float
    failed: str


def conclude(ks: list[int], curve: Curve, facts: dict[int, Facts], seed: int) -> KChoice:
    """The table, the K and the sentence."""
    known = {k: fact.agreement for k, fact in facts.items() if k in curve.ks}
    usable = {k: a for k, a in known.items() if np.isfinite(a)}
    if not usable:
        why = [fact.failed for fact in facts.values()] + [curve.failed.get(k, "") for k in ks]
        raise ValueError(f"no K in k_range could be judged: {next(filter(None, why))}.")
    errors = {
        k: fact.relative_error for k, fact in facts.items() if np.isfinite(fact.relative_error)
    }
    ratios = rule.steps(list(errors), np.array([[error] for error in errors.values()])).score
    ratio = dict(zip(errors, ratios.tolist(), strict=True))
    table = [_table_row(k, curve, facts, ratio.get(k, np.nan)) for k in ks]
    verdict = rule.decide(curve.ks, curve.errors, usable, seed)
    best, consensus = facts[verdict.best], facts[verdict.best].consensus
    assert consensus is not None  # for its agreement is known
    return KChoice(
        verdict.best,
        verdict.runner_up,
        _reason(verdict, ks, curve, consensus, best.agreement),
        verdict.share * max(best.agreement, 0.0),
        table,
        consensus,
    )


def _table_row(k: int, curve: Curve, facts: dict[int, Facts], ratio: float) -> KRow:
    """One line of the table."""
    steps = rule.steps(curve.ks, curve.errors)
    place = curve.ks.index(k) if k in curve.ks else -1
    held_out = float(curve.errors[place].sum()) if place >= 0 else np.nan
    fact = facts.get(k, Facts(None, np.nan, np.nan, np.nan, ""))
    c = fact.consensus
    return KRow(
        k,
        c.cophenetic if c else np.nan,
        c.cophenetic_se if c else None,
        c.dispersion if c else np.nan,
        c.ambiguous if c else np.nan,
        fact.agreement,
        fact.relative_error,
        ratio,
        fact.silhouette,
        held_out,
        float(steps.se[place - 1]) if place > 0 else np.nan,
        float(steps.score[place]) if place >= 0 else np.nan,
        fact.failed or curve.failed.get(k, ""),
    )


def _reason(
    verdict: rule.Verdict, ks: list[int], curve: Curve, consensus: Consensus, a: float
) -> str:
    """The sentence behind a recommendation; `a` is the agreement at the recommended K."""
    k, steps = verdict.best, rule.steps(curve.ks, curve.errors)
    runs = (
        f"{consensus.labels_runs.shape[1]} runs give a cophenetic correlation of "
        f"{consensus.cophenetic:.3f}"
    )
    if not verdict.evidence:
        return (
            "No K in the range predicts held-out data better than fewer clusters do, so there is "
            f"no evidence of clusters and K={k} is only the smallest asked for; {runs}."
        )
    j = curve.ks.index(k)
    gain, later = float(steps.gain[j - 1]), float(steps.gain[j:].max(initial=0))
    before = float(curve.errors[j - 1].sum())
    if later > steps.se[j]:
        compared = f", {gain / later:.1f} times as much as the best later cluster"
    else:
        compared = " and no later one lowers it"
    others = "fits that miss a quarter of the features" if curve.held_features else "single runs"
    end = "; it is the largest K asked for, so larger ones may be better" if k == ks[-1] else ""
    return (
        f"K={k}: its last cluster lowers the held-out error by {gain / before:.1%}"
        f"{compared}; {others} agree with its clusters to an adjusted Rand index of {a:.2f}; "
        f"{runs}{end}."
    )
