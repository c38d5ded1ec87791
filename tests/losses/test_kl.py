"""The Kullback-Leibler loss: its small formulas by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.losses.kl import KullbackLeibler
from onmf.losses.kl_alternation import as_centroids, sums_of_centroids
from onmf.losses.kl_starts import log_profiles
from onmf.losses.profiles import cross_information, phi, row_sums
from onmf.rows.sweep import Block

LOSS = KullbackLeibler()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_quick_look_passes_over_samples_without_counts(make):
    """The rows of a look are square roots of counts."""
    rng = np.random.default_rng(0)
    X = rng.poisson(np.repeat([[9, 1, 0], [0, 1, 9]], 20, axis=0)) + 0.0
    empty = np.zeros((3, 3))
    X = np.sqrt(np.vstack([empty, X, empty]))
    rays = LOSS.quick_look(Block(make(X), np.ones((46, 1))), 2, rng).rays
    sums = [np.square(part).sum(axis=0) for part in (X[:23], X[23:])]
    expected = [np.sqrt(part / part.sum()) for part in sums]
    order = np.argsort(rays[:, 2])
    np.testing.assert_allclose(rays[order], expected)


def test_starts_that_do_not_agree_are_combined_without_the_samples_that_have_no_counts():
    rng = np.random.default_rng(0)
    X = np.sqrt(np.vstack([rng.poisson(1.0, (60, 12)), np.zeros((1, 12))]))
    rays = LOSS.quick_look(Block(X, np.ones((61, 1))), 6, rng).rays
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1)


def test_fewer_samples_than_clusters_give_as_many_rays():
    X = np.sqrt(np.array([[4.0, 0, 1], [0, 3, 0], [0, 0, 0]]))
    assert len(LOSS.quick_look(Block(X, np.ones((3, 1))), 5, np.random.default_rng(0)).rays) == 2


def test_a_profile_of_the_annealing_has_a_hundredth_of_the_mean():
    S = np.array([[3.0, 0, 0], [1, 2, 0], [0, 0, 0]])  # the last cluster and feature have nothing
    mean = np.array([0.5, 0.3, 0.2])
    found = log_profiles(S.T.copy().T, mean)
    for k, total in enumerate([4, 2, 0]):
        shares = 0.99 * S[:, k] / total if total else np.zeros(3)
        np.testing.assert_allclose(found[:, k], np.log(shares + 0.01 * mean))
    assert np.isfinite(log_profiles(S, np.array([0.5, 0.5, 0]))).all()


def test_sums_give_centroids_and_these_give_the_sums():
    S, weight = np.array([[4.0, 0, 2], [1, 5, 0]]), np.array([2.0, 3])
    W = as_centroids(S, weight, S.sum(axis=0) / S.sum())
    np.testing.assert_allclose(W.sum(axis=1), S.sum(axis=1) / weight)
    np.testing.assert_allclose(sums_of_centroids(W, weight), S, atol=1e-12)


def test_information_of_one_sum_by_the_shares_of_another():
    S, T = np.array([1.0, 0, 2]), np.array([2.0, 0, 6])
    assert cross_information(S, T) == pytest.approx(np.log(2 / 8) + 2 * np.log(6 / 8))
    assert cross_information(0 * S, T) == 0
    assert cross_information(0 * S, 0 * T) == 0


def test_sums_of_sparse_rows_are_those_of_dense_ones():
    X = np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0], [0, 3, 0], [0, 0, 0], [0, 0, 0]]) + 0.0
    for change in (lambda values: values, phi):
        np.testing.assert_allclose(row_sums(sp.csr_array(X), change), change(X).sum(axis=1))
    np.testing.assert_array_equal(row_sums(sp.csr_array((2, 3))), [0, 0])


def test_a_sample_without_a_cluster_is_compared_with_the_mean():
    rng = np.random.default_rng(0)
    X, W = rng.poisson(4.0, (4, 5)) + 1.0, rng.random((2, 5))
    H = np.array([[2.0, 0], [0, 3], [0, 0], [1, 0]])
    Y = H @ W
    Y[2] = X[2].sum() * Y.sum(axis=0) / Y.sum()
    assert LOSS.value(X, H, W) == pytest.approx((X * np.log(X / Y) - X + Y).sum())
