r"""From what came back to one K, the other scales, and whether there are separate clusters at all.

With J, M and V of `halves`, means over all cuts,

    S(K) = (J + M) / 2     how much of the clusters comes back from other samples,
    score(K) = log(K) S(K)^2.5 / (1 + min(V, 0.4)),

what a label can say, times how much of it comes back, and up to 1.4 times more for clusters that
are apart: with many samples, pieces of a cluster come back nearly as well as the cluster. So
**the K with the largest score is recommended**, among those of at least eight samples a cluster on
average. Twice as many clusters must keep S within some per cent: from 5 to 10 it may fall by a
seventh. The score is above zero for every K > 1, so no data need another rule.

**Scales.** A peak is a K whose score no other K within a factor of `APART` beats. Other peaks are
named if their score is at least `WORTH` of the best, or if they are coarser and come back at least
as well: groups of which the recommended clusters are parts. **Rare groups** hardly change the
score, for most samples are in other clusters, but they are found again one by one. So the finest K
at which nearly as many clusters are found again as at any K (N of `halves`, within `CLOSE`) is a
scale, too, if that is at least one more than at the recommended K.

**Evidence** of separate clusters changes what is said, never K: with A, B and V of `halves`

    mean over all K up to the recommended one of  J A (1 - B) (1 - min(V, 1))  >  `EVIDENT`,

for a cloud or a gradient has no valleys between few pieces either.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

POWER = 2.5  # of S: 2 and 3 gave as good a K on 182 labelled sets, with no cliff between
# V from which on clusters are not apart. Without it blood cells and five types of miRNA were cut
# too finely; .2 to .4 give the same mean regret on 80 labelled sets, .006 above that without it.
NO_VALLEY = 0.4
FEWEST_PER_CLUSTER = 8  # samples, on average: between 5.6 and 10.4 nothing changed
WORTH = 0.7  # of the best score: what another scale needs
APART = 1.4  # scales differ at least by this factor
CLOSE = 0.9  # of the best score: the data do not decide
# Chosen on 28 kinds of data without clusters (27 refused) and 39 sets with some (35 kept).
EVIDENT = 0.14
MOST_SCALES = 5


class Figures(NamedTuple):
    """J, M, A, B, V and N of one K, over all cuts."""

    found: float
    kept: float
    alike: float
    border: float
    valley: float
    n_found: float = 0.0

    @property
    def comes_back(self) -> float:
        """S."""
        return (self.found + self.kept) / 2

    def score(self, k: int) -> float:
        return float(np.log(k) * self.comes_back**POWER / (1 + min(self.valley, NO_VALLEY)))

    @property
    def apart(self) -> float:
        """How much the clusters are apart: 0 for pieces of a cloud, 1 at most."""
        return self.found * self.alike * (1 - self.border) * (1 - min(self.valley, 1))


class Verdict(NamedTuple):
    """The K chosen, all scales (coarse to fine), those nearly as good, one for rare groups."""

    best: int
    scales: list[int]
    close: list[int]
    rare: int | None
    evidence: bool


def decide(known: dict[int, Figures], n_samples: int) -> Verdict:
    """The rule. Of K with the same score the smallest wins."""
    most = max(n_samples // FEWEST_PER_CLUSTER, 2)
    score = {k: known[k].score(k) for k in sorted(known) if k <= most}
    score = score or {k: known[k].score(k) for k in sorted(known)}
    best = max(score, key=lambda k: score[k])
    rare = for_rare_groups(score, known, best)
    scales = scales_of(score, known, best, rare)
    close = [k for k in scales if score[k] >= CLOSE * score[best]]
    apart = np.mean([known[k].apart for k in score if 1 < k <= best] or [0.0])
    return Verdict(best, scales, close, rare, bool(apart > EVIDENT))


def scales_of(
    score: dict[int, float], known: dict[int, Figures], best: int, rare: int | None
) -> list[int]:
    """The best K, that for rare groups, and the other peaks worth naming, coarse to fine."""
    chosen = [best] if rare is None else [best, rare]
    for k in sorted(peaks(score), key=lambda k: -score[k]):
        coarser = k < best and known[k].comes_back >= known[best].comes_back
        apart = all(max(j, k) >= APART * min(j, k) for j in chosen)
        if apart and (coarser or score[k] >= WORTH * score[best]) and len(chosen) < MOST_SCALES:
            chosen.append(k)
    return sorted(chosen)


def for_rare_groups(ks: Collection[int], known: dict[int, Figures], best: int) -> int | None:
    """The finest of these K at which nearly as many clusters are found again as at any."""
    most = max(known[k].n_found for k in ks)
    finest = max(k for k in ks if known[k].n_found >= CLOSE * most)
    more = known[finest].n_found >= known[best].n_found + 1
    return finest if more and finest >= APART * best else None


def peaks(score: dict[int, float]) -> list[int]:
    """The K > 1 that neither their neighbours nor any K within a factor of `APART` beat."""
    ks = list(score)
    tops = []
    for i, k in enumerate(ks):
        near = {j for j in ks if k / APART <= j <= k * APART} | set(ks[max(i - 1, 0) : i + 2])
        if k > 1 and all(score[k] >= score[j] for j in near):
            tops.append(k)
    return tops
