"""Clusters found from halves of the features."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.datasets import make_rays
from onmf.explain.halves import HalfLabels, matching_numbers, split_fits
from onmf.losses import LOSSES
from onmf.rows.memory import InMemory

SQUARES = LOSSES["frobenius"]


def labels_by(halves, X):
    data = InMemory(X)
    return data.gather(data.sweep(HalfLabels.of(halves, data))[0])


@pytest.fixture(scope="module")
def planted():
    return make_rays(120, 40, 3, random_state=0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_what_a_half_says_depends_on_its_features_alone(planted, form):
    X, _ = planted
    one, other = split_fits(SQUARES, InMemory(form(X)), 3, 1, 0)
    changed = X.copy()
    changed[:, other.features] = np.random.default_rng(5).random((120, len(other.features)))
    again, _ = split_fits(SQUARES, InMemory(form(changed)), 3, 1, 0)
    np.testing.assert_array_equal(again.features, one.features)
    np.testing.assert_array_equal(again.rays, one.rays)
    labels = labels_by([one, other], form(X))[:, 0]
    now = labels_by([again, other], form(changed))[:, 0]
    np.testing.assert_array_equal(now, labels)


def test_both_halves_find_clusters_that_are_plain_to_see(planted):
    X, y = planted
    for labels in labels_by(split_fits(SQUARES, InMemory(X), 3, 2, 0), X).T:
        np.testing.assert_array_equal(matching_numbers(labels, y, 3)[labels], y)


def test_a_sample_without_any_feature_of_a_half_has_no_cluster_there(planted):
    X = planted[0].copy()
    one, other = split_fits(SQUARES, InMemory(X), 3, 1, 0)
    X[7, one.features] = 0
    assert labels_by([one, other], X)[7].tolist()[0] == -1


def test_too_few_features_or_samples_make_fewer_clusters_and_no_error():
    X = np.array([[1.0, 0], [2, 0], [0, 0]])
    labels = labels_by(split_fits(SQUARES, InMemory(X), 2, 1, 0), X)
    assert labels.shape == (3, 2)
    assert (labels[2] == -1).all()
    alone = X[:, :1]
    assert labels_by(split_fits(SQUARES, InMemory(alone), 2, 1, 0), alone).shape == (3, 2)
