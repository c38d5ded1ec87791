"""Ids of clusters: the largest first; ties go by the first sample, never by rounding."""

from itertools import permutations

import numpy as np

from onmf.estimators.ordering import canonical_order, renumber


def test_larger_clusters_come_first_and_equals_in_the_order_of_their_first_samples():
    labels = np.array([-1, 2, 0, 0, 2, 3, 3, 3, -1])
    np.testing.assert_array_equal(canonical_order(labels, None, 5), [3, 2, 0, 1, 4])
    weight = np.array([9.0, 1, 4, 4, 1, 1, 1, 1, 9])
    np.testing.assert_array_equal(canonical_order(labels, weight, 5), [0, 3, 2, 1, 4])


def test_equal_weights_are_a_tie_in_whatever_order_they_are_added():
    parts = np.array([0.1, 0.2, 0.3, 1e6])
    sums = {sum(own) for own in permutations(parts.tolist())}
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
