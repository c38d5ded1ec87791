"""How certain the cluster of a sample is: a probability, calibrated on the data.

Let c_1 >= c_2 be the two largest scores of a sample, and t = c_1 - c_2 its margin. The certainty is
the probability that two halves of the features, or two noisy copies of the sample if there are few
features, put it into the same cluster:

    P(agree | t) = 1 / (1 + exp(-a - b log(s + 1/100) - c s - d s^2 - sum_i e_i min(s, s_i))),

s = t / T and b, c, d, e_i >= 0, T being the median margin. The numbers maximise the likelihood of
the splits that were made (`halves`, `noise`), with Platt's targets, so that no certainty is exactly
0 or 1.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from onmf.rows.sweep import Array

BENDS = (0.25, 0.5, 1.0, 1.5, 2.0)  # s_i: beyond a bend a higher margin may add nothing; halves
# the calibration error of TDT2 2 and miRNA 20
MARGINS_AT_ONCE = 100_000  # whose terms are in memory
MIN_MARGIN = 0.01  # of the median margin: smaller margins are taken for equal


@dataclass(frozen=True)
class Calibration:
    """The curve from margins to certainties, which never falls.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.explain import Calibration
    >>> curve = Calibration.of(np.array([0.2, 0.0, 1.0, 1.0, 0.0]))
    >>> curve(np.array([0.0, 0.2, 0.4])).round(2)
    array([0.01, 0.73, 0.94])
    """

    middle: float  # T
    numbers: tuple[float, ...]  # a, b, c, d, and e, which may be left out

    @classmethod
    def of(cls, numbers: Array) -> "Calibration":
        """The curve that `array` returned."""
        if (
            np.shape(numbers) not in ((5,), (5 + len(BENDS),))
            or not np.isfinite(numbers).all()
            or numbers[0] <= 0
        ):
            raise ValueError("the curve from margins to certainties is damaged.")
        return cls(float(numbers[0]), tuple(numbers[1:].tolist()))

    def array(self) -> Array:
        """The curve as numbers, T first, to store with a model."""
        return np.array([self.middle, *self.numbers])

    def __call__(self, margins: Array) -> Array:
        """Certainties between 0 and 1."""
        numbers, z = np.array(self.numbers), np.empty(len(margins))
        for i in range(0, len(z), MARGINS_AT_ONCE):
            some = terms(margins[i : i + MARGINS_AT_ONCE], self.middle)
            z[i : i + MARGINS_AT_ONCE] = some[:, : len(numbers)] @ numbers
        return np.asarray(expit(z, out=z))


def terms(margins: Array, middle: float) -> Array:
    """1, log(s + MIN_MARGIN), s, s^2 and min(s, s_i) of each margin (n, 4 + bends)."""
    s = np.asarray(margins, np.float64) / middle
    bends = [np.minimum(s, bend) for bend in BENDS]
    return np.stack([np.ones_like(s), np.log(s + MIN_MARGIN), s, s * s, *bends], axis=1)


def calibrate(margins: Array, agree: Array) -> Calibration:
    """The curve for margins (n,) and the share of the splits that agreed on each sample (n,)."""
    positive = margins[margins > 0]
    middle = float(np.median(positive)) if len(positive) else 1.0
    F, n = terms(margins, middle), len(margins)
    yes = n * float(agree.mean())
    high, low = (yes + 1) / (yes + 2), 1 / (n - yes + 2)
    target = agree * high + (1 - agree) * low

    def loss(numbers: Array) -> tuple[float, Array]:
        z = F @ numbers
        value = np.mean(np.logaddexp(0, z) - target * z)
        return float(value), F.T @ (expit(z) - target) / n

    begin = np.array(
        [np.log(target.mean() / (1 - target.mean())), 0.1, 0.1, 0.0] + [0.0] * len(BENDS)
    )
    bounds = [(None, None)] + [(0, None)] * (F.shape[1] - 1)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds)
    return Calibration(middle, tuple(found.x.tolist()))
