r"""From curves over K to one K.

With e(K) the held-out error, the gain of the step to K_j from the K before is, for each cluster,

    gain_j = (e(K_{j-1}) - e(K_j)) / (K_j - K_{j-1}),

and the score of K_j compares it with the best step that is still to come:

    score_j = (gain_j - s_j) / max(gain_{j+1} + s_{j+1}, gain_{j+2} + s_{j+2}, ..., s_{j+1})
              * K_{j-1} / K_{j+1},

s being the standard error of a gain over groups of samples, which counts against K_j. Data without
clusters, a continuum, have e ~ 1/K and so a score near 1 everywhere; the step to the true K is the
last that pays and has a score far above. A gain within two standard errors has score 0.

**The rule.** Among the K at which the clusters are *found again* (agreement with fits that miss
some of the features at most `TOLERANCE` below that of the best K) the one with the largest score.

It is sure in so far as the same K is chosen when groups of samples are drawn again with
replacement, times the agreement.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TOLERANCE = 0.05
SIGNIFICANT = 2.0  # standard errors
PATIENCE = 3  # K after the last that pays
RESAMPLINGS = 200


class Steps(NamedTuple):
    """Gain of each step, its standard error, and the score of each K (NaN at the ends)."""

    gain: Array
    se: Array
    score: Array


def steps(ks: Sequence[int], errors: Array) -> Steps:
    """Gains and scores from errors (K, groups of samples); one group has no standard error."""
    K = np.asarray(ks, float)
    parts = -np.diff(errors, axis=0) / np.diff(K)[:, None]
    gain = parts.sum(axis=1)
    n = errors.shape[1]
    se = parts.std(axis=1, ddof=1) * np.sqrt(n) if n > 1 else np.zeros(len(gain))
    rounding = np.finfo(float).eps * max(float(np.abs(errors).sum(axis=1).max(initial=0)), 1e-300)
    score = np.full(len(K), np.nan)
    for j in range(1, len(K) - 1):
        later = max(np.max(gain[j:] + se[j:]), se[j], rounding)
        pays = gain[j - 1] > SIGNIFICANT * se[j - 1]
        score[j] = (gain[j - 1] - se[j - 1]) / later * K[j - 1] / K[j + 1] if pays else 0.0
    return Steps(gain, se, score)


def last_of_interest(ks: Sequence[int], errors: Array) -> int:
    """The K beyond which the curve is settled: `PATIENCE` places after the last that pays."""
    curve = steps(ks, errors)
    paying = np.flatnonzero(curve.gain > SIGNIFICANT * curve.se) + 1
    last = int(paying[-1]) if len(paying) else 0
    return int(ks[min(last + PATIENCE, len(ks) - 1)])


class Verdict(NamedTuple):
    """The K chosen and the next best (None if there is none); the share of resamplings that agree.

    `evidence` is False if no K among those asked for pays.
    """

    best: int
    runner_up: int | None
    share: float
    evidence: bool


def decide(ks: Sequence[int], errors: Array, agreement: dict[int, float], seed: int) -> Verdict:
    """The rule; `ks` may have neighbours of the K asked for, which are those with an agreement."""
    known = {k: a for k, a in agreement.items() if np.isfinite(a)}
    best_agreement = max((a for k, a in known.items() if k > 1), default=0.0)
    again = {k for k, a in known.items() if k > 1 and a >= best_agreement - TOLERANCE}

    def ranking(sums: Array) -> list[int]:
        """The K that pay, those found again first, then by score."""
        score = dict(zip(ks, np.nan_to_num(steps(ks, sums).score).tolist(), strict=True))
        paying = [k for k in known if score[k] > 0]
        return sorted(paying, key=lambda k: (k in again, score[k]), reverse=True)

    order = ranking(errors)
    if not order:
        smallest, *more = sorted(known)
        return Verdict(smallest, more[0] if more else None, 0.0, False)
    others = order[1:] or sorted(set(known) - {order[0]}, key=lambda k: abs(k - order[0]))
    rng, n = np.random.default_rng(seed), errors.shape[1]
    draws = [ranking(errors[:, rng.integers(0, n, n)])[:1] for _ in range(RESAMPLINGS)]
    share = float(np.mean([draw == order[:1] for draw in draws]))
    return Verdict(order[0], others[0] if others else None, share, True)
