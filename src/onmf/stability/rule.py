r"""From what is known of the clusters of every K to one K, and to the other scales.

With J_k, A_k, B_k, S_k and M of `halves`, cluster k is solid in so far as it is found again by
other samples, told alike by other features and away from its border,

    q_k = J_k sqrt(A_k) (1 - B_k)^3,      0 <= q_k <= 1,

and **the score of K counts the solid clusters**, each doubtful one counting against it, clusters of
outliers not at all, and all of them less where samples do not keep their clusters:

    score(K) = sum over k not astray of (q_k - c)  -  4 min(K, 8) max(0, 0.9 - M),

a mean over all cuts and both halves. The K with the largest score is recommended. Noisy samples, as
short texts are, may have no K above zero: then that of which most is found again at all, with the
largest sum of J_k - `AGAIN`, for the score would punish every cluster and name the fewest.

**Scales.** Data may have a few coarse groups and finer ones inside. What is coarse or fine is a
matter of what a cluster must be worth: a scale is a K that for some x in `COSTS` has the largest

    sum over k not astray of (q_k - x) > 0,

or comes within `BEHIND` of it, a third of a cluster: about the corners of the upper concave hull of
the sum of the q_k over the number of clusters. The pieces of a solid cluster are together worth
less than it was, so that no x makes a scale of them. Where finer clusters are as solid as coarse
ones, no x speaks for the coarse: a K whose score no other within a factor of `APART` beats is a
scale, too.

**Outliers.** They may take a ray for themselves, and K clusters are then found with K + 1 rays. If
at least half of the fits with K + 1 rays have a cluster astray, and that score is larger, it is the
score of K.

**No clusters.** There is evidence only if J A (1 - B) exceeds what noise gives, `NOISE`, and the
borders are valleys: with the density of samples at a border above `SLOPE` times that inside, the
clusters are pieces of one cloud or of a gradient, however well they are found again.

**Sure?** With the score drawn again from the cuts, and the lead over the next best K, the
confidence is a logistic function fitted to made-up data: where it says 0.9, the K was right nine
times of ten. Without evidence it was right once in five times.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onmf.stability.halves import Clusters

Array = NDArray[Any]

COST = 0.35  # c
KEPT = 0.9  # share of the samples that must keep their cluster,
PRICE, PAYERS = 4.0, 8  # else each of up to so many clusters pays
AGAIN = 0.25  # overlap: two halves find so much alike of anything
NOISE = 0.35
SLOPE = 0.65
COSTS = np.linspace(0.2, 0.7, 51)  # of a cluster that are thought of for the scales
BEHIND = 0.3  # how much less than the best a scale may be worth
WORTH = 0.25  # of the best score: what a peak needs at least
APART = 1.4  # of scales within such a factor one is named
MOST_SCALES = 5
RESAMPLINGS = 200
GUESS = 0.2  # how often a K without evidence is right, on made-up data
WEIGHTS = (-6.8, 3.0, 6.5, 0.5)  # of a constant and of the three `signs`


class Figures(NamedTuple):
    """One K: its score in each cut; the sum of q_k, over how many clusters; means over them."""

    scores: Array
    total: float
    counted: float
    found: float
    alike: float
    border: float
    solid: float
    valley: float
    kept: float
    astray: float

    @property
    def score(self) -> float:
        return float(self.scores.mean())

    @property
    def again(self) -> float:
        """sum over k not astray of (J_k - AGAIN)."""
        return self.counted * (self.found - AGAIN)

    @property
    def quality(self) -> float:
        """About the mean of J A (1 - B)."""
        return self.found * self.alike * (1 - self.border)

    @property
    def evident(self) -> bool:
        return self.quality > NOISE and self.valley < SLOPE

    @property
    def has_outliers(self) -> bool:
        """Whether most fits have a cluster of outliers."""
        return self.astray >= 0.5


def figures(cuts: Sequence[Clusters]) -> Figures:
    """The figures of one K over all cuts."""
    found, alike, border = (
        np.array([getattr(cut, name) for cut in cuts]) for name in ("found", "alike", "border")
    )  # (cuts, 2, K)
    counts = ~np.array([cut.astray for cut in cuts], bool)
    q = found * np.sqrt(alike) * (1 - border) ** 3
    kept = float(np.mean([cut.kept for cut in cuts]))
    at_border, inside = np.sum([cut.valley for cut in cuts], axis=0)
    lost = PRICE * min(q.shape[2], PAYERS) * max(KEPT - kept, 0)
    some = counts if counts.any() else ~counts
    return Figures(
        scores=np.where(counts, q - COST, 0).sum(axis=2).mean(axis=1) - lost,
        total=float(np.where(counts, q, 0).sum(axis=2).mean()),
        counted=float(counts.sum(axis=2).mean()),
        found=float(found[some].mean()),
        alike=float(alike[some].mean()),
        border=float(border[some].mean()),
        solid=float((counts & (q > COST)).sum(axis=2).mean()),
        valley=float(at_border / max(inside, 1)),
        kept=kept,
        astray=float((~counts).sum(axis=2).mean()),
    )


def beside_outliers(own: Figures, more: Figures | None) -> Figures:
    """The figures of K: those of its own fits, or of fits with one ray more for the outliers."""
    if more is None or not more.has_outliers or more.score <= own.score:
        return own
    return more


class Verdict(NamedTuple):
    """The K chosen, the next best (None if there is none), all scales (coarse to fine)."""

    best: int
    runner_up: int | None
    scales: list[int]
    evidence: bool
    confidence: float


def decide(known: dict[int, Figures]) -> Verdict:
    """The rule; `known` has the K asked for."""
    more = without_twins({k: fact for k, fact in known.items() if k > 1})
    if not more:
        return Verdict(1, None, [1], False, 0.0)
    score = {k: fact.score for k, fact in more.items()}
    best = max(score, key=lambda k: (score[k], -k))
    evidence = more[best].evident
    if not evidence and 1 in known:
        return Verdict(1, best, [1], False, 0.0)
    if not evidence or score[best] <= 0:
        best = max(more, key=lambda k: (more[k].again, -k))
    scales = scales_of(more, best) if evidence else [best]
    others = sorted((k for k in score if k != best), key=lambda k: -score[k])
    second = next((k for k in others if k in scales), others[0] if others else None)
    return Verdict(best, second, scales, evidence, confidence(more, best) if evidence else GUESS)


def without_twins(known: dict[int, Figures]) -> dict[int, Figures]:
    """Without the K whose fits are those of K - 1 clusters and of outliers."""
    return {
        k: fact
        for k, fact in known.items()
        if not (fact.has_outliers and k - 1 in known and known[k - 1].score == fact.score)
    }


def scales_of(known: dict[int, Figures], best: int) -> list[int]:
    """The best K, those best or nearly so at some cost of a cluster, and peaks: coarse to fine."""
    behind = shortfalls(known)
    close = sorted((k for k in known if behind[k] <= BEHIND), key=lambda k: behind[k])
    chosen = [best]
    for k in close + peaks({k: fact.score for k, fact in known.items()}, best):
        near = any(k < j * APART and j < k * APART for j in chosen)
        if not near and len(chosen) < MOST_SCALES:
            chosen.append(k)
    return sorted(chosen)


def shortfalls(known: dict[int, Figures]) -> dict[int, float]:
    """min_x [max_j v_j(x) - v_k(x)], v_k(x) = sum of (q - x) for K = k, over x with v_k(x) > 0."""
    total, counted = np.array([(fact.total, fact.counted) for fact in known.values()]).T
    value = total[:, None] - COSTS * counted[:, None]
    behind = np.where(value > 0, value.max(axis=0) - value, np.inf).min(axis=1)
    return dict(zip(known, behind.tolist(), strict=True))


def peaks(score: dict[int, float], best: int) -> list[int]:
    """The K that no other within a factor of `APART` beats, the highest first."""
    least = score[best] - (1 - WORTH) * abs(score[best])
    tops = [
        k
        for k in score
        if score[k] >= least
        and all(score[k] >= score[j] for j in score if k / APART <= j <= k * APART)
    ]
    return sorted(tops, key=lambda k: -score[k])


def confidence(known: dict[int, Figures], best: int) -> float:
    """How often the K is right on made-up data with such figures."""
    return float(1 / (1 + np.exp(-np.dot(WEIGHTS, [1.0, *signs(known, best)]))))


def signs(known: dict[int, Figures], best: int) -> tuple[float, float, float]:
    """Share of resamplings of the cuts that agree, solidity, and the lead in clusters."""
    ks = list(known)
    scores = np.array([known[k].scores for k in ks])
    n, rng = scores.shape[1], np.random.default_rng(0)
    drawn = rng.integers(0, n, (RESAMPLINGS, n))
    winners = scores[:, drawn].mean(axis=2).argmax(axis=0)
    agree = float(np.mean(winners == ks.index(best)))
    fact = known[best]
    lead = fact.score - max((known[k].score for k in ks if k != best), default=0.0)
    return agree, fact.quality, min(max(lead, 0.0), 1.0)
