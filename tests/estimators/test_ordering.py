"""Ids of clusters: the largest first, then the widest centroid, never by rounding."""

from itertools import permutations

import numpy as np
import pytest

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.estimators.ordering import canonical_order, renumber


def test_larger_clusters_come_first_and_equals_in_the_order_of_their_first_samples():
    labels = np.array([-1, 2, 0, 0, 2, 3, 3, 3, -1])
    np.testing.assert_array_equal(canonical_order(labels, None, 5), [3, 2, 0, 1, 4])
    weight = np.array([9.0, 1, 4, 4, 1, 1, 1, 1, 9])
    np.testing.assert_array_equal(canonical_order(labels, weight, 5), [0, 3, 2, 1, 4])


def test_equal_weights_are_a_tie_in_whatever_order_they_are_added():
    parts = np.array([0.1, 0.2, 0.3, 1e6])
    sums = {((a + b) + c) + d for a, b, c, d in permutations(parts.tolist())}
    assert len(sums) > 1  # a plain sum would break the tie
    for own in permutations(parts):
        labels = np.repeat([1, 0], 4)
        np.testing.assert_array_equal(canonical_order(labels, np.r_[parts, own], 2), [1, 0])


def test_the_order_is_that_of_the_sizes_counted_one_by_one():
    rng = np.random.default_rng(0)
    labels, weight = rng.integers(-1, 6, 200), rng.integers(0, 5, 200).astype(float)
    sizes = [sum(w for w, c in zip(weight, labels, strict=True) if c == k) for k in range(6)]
    order = canonical_order(labels, weight, 6).tolist()
    assert [sizes[k] for k in order] == sorted(sizes, reverse=True)


def test_labels_follow_the_order_and_no_cluster_stays_none():
    labels = np.array([-1, 2, 0, 1, 2])
    np.testing.assert_array_equal(renumber(labels, np.array([2, 0, 1])), [-1, 0, 1, 2, 0])


def test_among_equals_the_widest_centroid_comes_first_and_rounding_decides_nothing():
    labels = np.array([0, 1, 2, 3, 0, 1, 2, 3, 3])
    W = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 0.5 + 1e-9], [0.0, 9.0]])
    for scale in ([[1.0]], [[5.0], [0.1], [3.0], [2.0]]):  # lengths do not matter
        np.testing.assert_array_equal(canonical_order(labels, None, 4, W * scale), [3, 1, 0, 2])
    np.testing.assert_array_equal(canonical_order(labels[::-1], None, 4, W), [3, 1, 2, 0])
    np.testing.assert_array_equal(canonical_order(labels, None, 4, 0 * W), [3, 0, 1, 2])


@pytest.mark.parametrize("options", [{}, {"loss": "kl"}], ids=str)
def test_ids_do_not_depend_on_the_order_of_the_samples(options):
    X, _ = make_rays(90, 20, 9, noise=0.1, random_state=0)  # clusters of ten samples each
    model = ONMF(9, random_state=0, **options).fit(X)
    assert len(set(np.bincount(model.labels_))) < 5
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        again = ONMF(9, random_state=seed, **options).fit(X[order])
        np.testing.assert_array_equal(again.labels_, model.labels_[order])


def test_ids_do_not_depend_on_weights_in_place_of_repetitions():
    X, _ = make_rays(40, 20, 8, noise=0.3, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, 40)
    one = ONMF(8, random_state=0).fit(np.repeat(X, weight, axis=0))
    two = ONMF(8, random_state=0).fit(X[::-1], sample_weight=weight[::-1])
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X))
