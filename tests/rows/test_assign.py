"""The single-cluster code is the best there is, by trying all."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from onmf.rows.assign import Rays, first_largest
from onmf.rows.memory import InMemory


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("signed", [False, True])
def test_no_other_single_cluster_fits_better(make, signed):
    rng = np.random.default_rng(0)
    X, W = rng.random((40, 6)), rng.random((5, 6))
    if signed:
        X, W = X - 0.5, W - 0.5
    rule = Rays.of(W)
    [code], fit = InMemory(make(X)).sweep(rule)
    H = rule.memberships(code)
    best = reference.best_one_sparse_error(X, W)
    assert np.sum((X - H @ W) ** 2) == pytest.approx(best)
    assert fit.sqnorm - fit.explained == pytest.approx(best)


def test_what_fits_no_centroid_has_no_label():
    X = np.array([[0.0, 0, 1], [1, 0, 0], [0, 0, 0]])
    W = np.array([[1.0, 1, 0], [0, 0, 0]])
    rule = Rays.of(W)
    [code], fit = InMemory(X).sweep(rule)
    assert code.labels.tolist() == [-1, 0, -1]
    np.testing.assert_allclose(rule.memberships(code), [[0, 0], [0.5, 0], [0, 0]])
    assert fit.explained == pytest.approx(0.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_of_equal_products_the_first_wins_whatever_their_last_bits(dtype):
    """Equal rays must not share the samples by rounding, which depends on the processor."""
    rng, eps = np.random.default_rng(0), np.finfo(dtype).eps
    A = np.repeat(rng.uniform(-1, 1, (200, 1)), 6, axis=1).astype(dtype)
    A *= (1 + eps * rng.integers(-3, 4, A.shape)).astype(dtype)
    assert not first_largest(A).any()
    A[:, 4] = 1 + 1000 * eps
    assert (first_largest(A) == 4).all()
