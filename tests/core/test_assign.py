"""The single-cluster code is the best there is, by trying all."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from onmf.core.assign import certainty, nearest_mean, nearest_ray, one_sparse
from onmf.core.rows import InMemory


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("signed", [False, True])
def test_no_other_single_cluster_fits_better(make, signed):
    rng = np.random.default_rng(0)
    X, W = rng.random((40, 6)), rng.random((5, 6))
    if signed:
        X, W = X - 0.5, W - 0.5
    labels, codes, fit = nearest_ray(InMemory(make(X)), W)
    H = one_sparse(labels, codes, 5)
    best = reference.best_one_sparse_error(X, W)
    assert np.sum((X - H @ W) ** 2) == pytest.approx(best)
    assert fit.sqnorm - fit.explained == pytest.approx(best)


def test_what_fits_no_centroid_has_no_label():
    X = np.array([[0.0, 0, 1], [1, 0, 0], [0, 0, 0]])
    W = np.array([[1.0, 1, 0], [0, 0, 0]])
    labels, codes, fit = nearest_ray(InMemory(X), W)
    assert labels.tolist() == [-1, 0, -1]
    assert codes == pytest.approx([0, 0.5, 0])
    assert fit.explained == pytest.approx(0.5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_confidence_and_distance_by_hand(make, dtype):
    # Cosines with (1, 0) and (0, 1): (2, 1) / sqrt 5, twice 1 / sqrt 2, (1, 0), none, (-1, 1).
    X = make(np.array([[2, 1], [3, 3], [5, 0], [0, 0], [-7, 7]], dtype=dtype))
    W = np.array([[4, 0], [0, 0.5]], dtype=dtype)
    confidence, distance = certainty(InMemory(X), W)
    assert confidence == pytest.approx([3 / 4, 0, 1, 0, 1], abs=1e-6)
    assert distance == pytest.approx([np.sqrt(1 / 5), np.sqrt(1 / 2), 0, 1, np.sqrt(1 / 2)])
    assert confidence.dtype == distance.dtype == np.float64


def test_a_single_cluster_is_certain_of_what_it_explains():
    confidence, distance = certainty(InMemory(np.array([[3.0, 4], [0, 1], [0, 0]])), np.eye(1, 2))
    assert confidence.tolist() == [1, 0, 0]
    assert distance == pytest.approx([4 / 5, 1, 1])


def test_the_nearest_mean_is_the_one_at_the_smallest_distance():
    rng = np.random.default_rng(0)
    X, W, weight = rng.random((50, 6)), rng.random((4, 6)), rng.random(50)
    X[7] = 0
    labels, codes, fit = nearest_mean(InMemory(X, weight), W)
    distances = np.linalg.norm(X[:, None] - W, axis=2)
    expected = distances.argmin(axis=1)
    expected[7] = -1
    np.testing.assert_array_equal(labels, expected)
    assert codes.tolist() == [float(i != 7) for i in range(50)]
    left = np.sum(weight * np.where(np.arange(50) == 7, 0, distances.min(axis=1) ** 2))
    assert fit.sqnorm - fit.explained == pytest.approx(left)
