r"""Hartigan's dip test: do numbers come from a density with one mode?

    dip = min over distribution functions G with one mode of  sup_x |F(x) - G(x)|,

F being the distribution function of the numbers and G convex before its mode and concave after it.
Of all densities with one mode the uniform one has the largest dips, so a p-value of the uniform
density holds for every other, of whatever shape (Hartigan and Hartigan 1985):

    p = min(1, exp(1.7 - 16.2 n (dip + 1 / (5 n))^2)).
"""

import numpy as np
from scipy.optimize import isotonic_regression

from onmf.rows.sweep import Array

# Fitted to the dips of 71,000 sets of 8 to 400 uniform numbers: for p from .2 to .01 right within a
# fifth from 64 numbers on; for fewer p is too large, for 8 numbers twice.
LEVEL, FALL, STEP = 1.7, 16.2, 0.2
FEWEST = 4  # numbers: fewer have always the same dip
ROUNDING = 1e-12


def dip(values: Array) -> float:
    """The dip of the distinct ones among these numbers."""
    x = np.unique(values)
    n = len(x)
    before, after = np.arange(n) / n, np.arange(1, n + 1) / n  # F left and right of its steps
    found, first, last = 1.0 / max(n, 1), 0, n - 1
    while first < last:  # the mode is between these two
        part = slice(first, last + 1)
        t, low, high = x[part], before[part], after[part]
        convex, concave = _convex_minorant(t, low), -_convex_minorant(t, -high)
        widest = int((concave - convex).argmax())
        if concave[widest] - convex[widest] <= found + ROUNDING:
            break
        touched = np.flatnonzero(convex >= low - ROUNDING)
        left = touched[np.searchsorted(touched, widest, "right") - 1]
        touched = np.flatnonzero(concave <= high + ROUNDING)
        right = touched[np.searchsorted(touched, widest)]
        if left > 0:
            found = max(found, float((high - convex)[: left + 1].max()))
        if right < len(t) - 1:
            found = max(found, float((concave - low)[right:].max()))
        if left == 0 and right == len(t) - 1:
            break
        first, last = first + int(left), first + int(right)
    return found / 2


def _convex_minorant(x: Array, y: Array) -> Array:
    """The largest convex function below these points: its slopes are an isotonic regression."""
    width = np.diff(x)
    slopes = isotonic_regression(np.diff(y) / width, weights=width).x
    return np.asarray(y[0] + np.concatenate([[0], np.cumsum(slopes * width)]))


def p_one_mode(values: Array) -> float:
    """p-value of the hypothesis that these numbers come from a density with one mode."""
    n = len(np.unique(values))
    if n < FEWEST:
        return 1.0
    return float(min(1.0, np.exp(LEVEL - FALL * n * (dip(values) + STEP / n) ** 2)))
