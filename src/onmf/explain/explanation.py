"""What makes each cluster, and how sure each sample is of its own: all that a person reads off."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onmf.explain.certainty import Calibration, calibrate
from onmf.explain.clustering import (
    KnownClusters,
    LabelledRays,
    check_fitted_to,
    check_groups,
    feature_names,
)
from onmf.explain.comparison import compare_groups
from onmf.explain.halves import SPLITS, split_fits
from onmf.explain.markers import Markers
from onmf.explain.noise import FEW_FEATURES, noisy_agreement
from onmf.explain.subsets import labels_by_subset
from onmf.explain.sums import GroupSums, sum_by_cluster
from onmf.losses import Loss, loss_of
from onmf.rows import Check, PlacementRequest, place
from onmf.rows.assign import nearness
from onmf.rows.sweep import Array, Data
from onmf.rows.threads import single_threaded_blas
from onmf.rows.validation import safe_scale


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is known about the clusters of a model; made by `onmf.explain.clusters`.

    Attributes
    ----------
    markers : Markers
        The table of features.
    labels : ndarray of shape (n_samples,)
    certainty : ndarray of shape (n_samples,)
        The probability that two looks at the sample, with different halves of the features (or, if
        there are fewer than 16, with different noise), put it into the same cluster; 0 for label
        -1.
    margin : ndarray of shape (n_samples,)
        By how much its cosine with the nearest centroid exceeds that with the second.
    distance : ndarray of shape (n_samples,)
        Sine of the angle between the sample and the nearest centroid.
    calibration : callable
        From margins, those of new samples too, to certainties.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(60, 30, 3, random_state=0)
    >>> model = ONMF(3, random_state=0).fit(X)
    >>> found = model.explain(X)
    >>> found.calibration(model.margin(X[:2])).shape
    (2,)
    """

    markers: Markers
    labels: Array = field(repr=False)
    certainty: Array = field(repr=False)
    margin: Array = field(repr=False)
    distance: Array = field(repr=False)
    calibration: Calibration = field(repr=False)


def clusters(
    model: LabelledRays,
    X: Any,
    *,
    features: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    log_base: float | None = None,
    splits: int = SPLITS,
    random_state: int = 0,
) -> Explanation:
    """What makes each cluster of a fitted model, and how sure it is of each sample.

    The p-values are honest: the features are split into two halves, clusters are found anew from
    each, and a feature is tested on those that were found from the half without it. They assume
    that, within a cluster, the two halves of a sample are independent.

    Parameters
    ----------
    model : fitted clusterer
        As `onmf.ONMF`.
    X : as for `fit`
        What the model was fitted to.
    features : sequence of names, optional
        By default those of the model or of a DataFrame, or x0, x1, ...
    sample_weight : array of shape (n_samples,), optional
    log_base : float, optional
        If X holds log(1 + x) to this base, fold changes are told for x.
    splits : int, default=5
        How often the features are split: more make the certainty steadier.
    random_state : int, default=0
        Decides about the splits.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from onmf import ONMF, explain
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(60, 30, 3, random_state=0)
    >>> found = explain.clusters(ONMF(3, random_state=0).fit(X), X)
    >>> found.certainty.shape, len(found.markers.top(5)[0])
    ((60,), 5)
    """
    if features is None:
        features = getattr(model, "feature_names_in_", getattr(X, "columns", None))
    ids = np.asarray(getattr(model, "cluster_ids_", range(len(model.cluster_centers_)))).tolist()
    known = KnownClusters.of(model, ids, features)
    check_groups(known.sizes)
    check = partial(check_fitted_to, model, X)
    return _explanation(known, X, sample_weight, log_base, splits, random_state, check)


def fit_clusters(
    model: LabelledRays,
    X: Any,
    ids: Sequence[Any],
    features: Sequence[Any],
    log_base: float | None,
) -> Explanation | None:
    """`clusters` of a fit to this very X, which is therefore not asked whether it is the one.

    `ids` are those of the clusters. None if only one of them has samples, hence nothing to compare.
    """
    known = KnownClusters.of(model, ids, features)
    if np.sum(known.sizes > 0) < 2:
        return None
    return _explanation(known, X, None, log_base, SPLITS, 0)


def _explanation(
    known: KnownClusters,
    X: Any,
    sample_weight: ArrayLike | None,
    log_base: float | None,
    splits: int,
    seed: int,
    check: Callable[[tuple[int, int]], None] | None = None,
) -> Explanation:
    """`clusters`, once X has passed the check."""
    labels, k = known.labels, len(known.centers)
    rows = _rows(X, sample_weight, len(labels), f"the model was fitted to {len(labels)}")
    data = rows.data
    if check is not None:
        check(data.shape)
    with single_threaded_blas():
        near = nearness(data, _assignment(known.loss, data, known.centers))
        seen = known.loss.view(data, known.equal_votes)
        votes = known.loss.with_equal_votes(data) if known.equal_votes else data
        voters = known.loss.view(votes, known.equal_votes)
        pairs = split_fits(voters, k, splits, seed)
        tested = pairs[0][1].features, pairs[0][0].features  # on the clusters of the other half
        looks = labels_by_subset(labels, seen, list(chain.from_iterable(pairs)), k)
        whole, *tests = sum_by_cluster(data, [labels, *looks[:2]], k)
        tests = list(map(GroupSums.of_features, tests, tested))
    facts, _ = compare_groups(*whole, log_base, 1 / rows.scale)
    p_value = np.empty_like(facts.score)
    for features, own in zip(tested, tests, strict=True):
        p_value[:, features] = compare_groups(*own)[1]
    agree = [(a == b) & (a >= 0) for a, b in zip(looks[::2], looks[1::2], strict=True)]
    margins, share = near.margin, np.mean(agree, axis=0)
    if data.shape[1] < FEW_FEATURES:
        rays = known.loss.view_rows(known.centers)
        some, disturbed = noisy_agreement(seen, labels, rays, splits, seed)
        if len(some):  # empty if every sample has a NaN
            margins, share = near.margin[some], disturbed
    curve = calibrate(margins, share)
    return Explanation(
        Markers.of(known.ids, whole.weights.samples, known.names, facts, p_value),
        labels=labels,
        certainty=np.where(labels >= 0, curve(near.margin), 0.0),
        margin=near.margin,
        distance=near.distance,
        calibration=curve,
    )


def distances(model: LabelledRays, X: Any) -> Array:
    """Sine of the angle between each sample and its centroid, also if there is but one."""
    data = _rows(X, None, len(model.labels_), f"the model has {len(model.labels_)}").data
    return nearness(data, _assignment(loss_of(model), data, model.cluster_centers_)).distance


def _assignment(loss: Loss, data: Data, centers: Any) -> Any:
    return loss.assignment(np.asarray(centers).astype(data.dtype, copy=False), data.n_missing)


def groups(
    labels: Any,
    X: Any,
    *,
    features: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    log_base: float | None = None,
) -> Markers:
    """The table of distinctive features for any groups of samples; reads X once.

    The p-values hold for groups that are known from elsewhere. Clusters that were found from X
    itself make them far too small: see `clusters`.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Numbers or names; a negative number, None, NaN or an empty name is no group.
    X : as for `ONMF.fit`
    features, sample_weight, log_base
        As for `clusters`.

    Returns
    -------
    Markers

    Examples
    --------
    >>> from onmf import explain
    >>> table = explain.groups(["a", "a", "b", "b"], [[3, 1], [2, 1], [0, 1], [0, 2]])
    >>> next(table.rows()).feature
    'x0'
    """
    known, numbers = _numbered(labels)
    rows = _rows(X, sample_weight, len(numbers), f"there are {len(numbers)} labels")
    features = getattr(X, "columns", None) if features is None else features
    names = feature_names(features, rows.data.shape[1])
    check_groups(np.bincount(numbers[numbers >= 0], minlength=len(known)))
    with single_threaded_blas():
        [whole] = sum_by_cluster(rows.data, [numbers], len(known))
    facts, p_value = compare_groups(*whole, log_base, 1 / rows.scale)
    return Markers.of(known, whole.weights.samples, names, facts, p_value)


def _numbered(labels: Any) -> tuple[list[Any], Array]:
    """The groups, and the number of the group of each sample; -1 for none."""
    given = list(labels)
    missing = [
        label is None or label != label or label == "" or (not isinstance(label, str) and label < 0)
        for label in given
    ]
    named = {label for label, none in zip(given, missing, strict=True) if not none}
    known = sorted(named, key=lambda label: (isinstance(label, str), label))
    place = {label: i for i, label in enumerate(known)}
    numbers = [-1 if none else place[label] for label, none in zip(given, missing, strict=True)]
    return [getattr(label, "item", lambda own=label: own)() for label in known], np.array(numbers)


def _rows(X: Any, sample_weight: Any, n: int, otherwise: str) -> Any:
    """X in its place; as many samples as there are labels."""
    rows = place(
        X,
        sample_weight,
        PlacementRequest(Check("onmf.explain", signed=True, allow_missing=True), safe_scale),
    )
    if rows.data.shape[0] != n:
        raise ValueError(
            f"X has {rows.data.shape[0]} samples but {otherwise}: give the X that they belong to."
        )
    return rows
