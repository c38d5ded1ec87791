"""The probability of every cluster for a sample, of which the certainty is the largest.

    p_label = c(t),    p_j = (1 - c(t)) d_j / sum_i d_i,   d_j = 1 - c(s_label - s_j)

s are the scores of a sample, t = s_1 - s_2 its margin and c the curve of `Calibration`: another
cluster has the more of the doubt, the less certain the label would be if it were the next one. No
other cluster may be likelier than the label: where it would be, the doubt is shared more equally.
"""

from typing import Any

import numpy as np

from onmf.explain.certainty import Calibration, calibrate
from onmf.explain.checks import has_groups
from onmf.explain.reading import read_clusters
from onmf.result import FittedModel
from onmf.rows.sweep import Array

SPLITS_ONCE = 10  # a curve is made once a model: twice as many splits as of an explanation
NO_DOUBT = Calibration(1.0, (40.0, 0.0, 0.0, 0.0))  # where only one cluster has samples
JUST_ABOVE = 1e-5  # the label is likelier than the next by this share, also in single precision


def certainty_of(curve: Calibration, margins: Array, labels: Array, k: int) -> Array:
    """Certainties of labels among k clusters: at least about 1 / k, and 0 for label -1."""
    if k == 1:
        return (labels >= 0).astype(np.float64)
    return np.where(labels >= 0, np.maximum(curve(margins), (1 + 2 * JUST_ABOVE) / k), 0.0)


def curve_of_samples(model: FittedModel, X: Any, sample_weight: Any) -> Calibration:
    """The curve of a model, from samples with its labels: what `explain.clusters` finds of it."""
    if not has_groups(np.asarray(model.labels_)):
        return NO_DOUBT
    read = read_clusters(model, X, sample_weight, SPLITS_ONCE, 0)
    return calibrate(read.margin[read.tried], read.agree)


def probabilities(curve: Calibration, scores: Array, labels: Array) -> Array:
    """(n, k), rows that add up to 1, the largest at the label; zeros for label -1."""
    n, k = scores.shape
    if k == 1:
        return (labels >= 0).astype(np.float64)[:, None]
    rows, seen = np.arange(n), np.maximum(np.asarray(scores, np.float64), 0)
    behind = np.maximum(seen[rows, labels][:, None] - seen, 0)
    behind[rows, labels] = np.inf
    sure = certainty_of(curve, behind.min(axis=1), labels, k)[:, None]
    behind[rows, labels] = 0
    doubt = 1 - curve(behind.ravel()).reshape(n, k) + np.finfo(np.float64).tiny
    doubt[rows, labels] = 0
    doubt /= doubt.sum(axis=1, keepdims=True)
    most = sure * (1 - JUST_ABOVE) / np.maximum(1 - sure, np.finfo(np.float64).tiny)
    top, equal = doubt.max(axis=1, keepdims=True), 1 / (k - 1)
    mix = np.clip((top - most) / np.maximum(top - equal, np.finfo(np.float64).eps), 0, 1)
    P = (1 - sure) * ((1 - mix) * doubt + mix * equal)
    P[rows, labels] = sure[:, 0]
    return np.where(labels[:, None] >= 0, P, 0)
