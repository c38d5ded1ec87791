"""The single-cluster code is the best there is, by trying all."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from onmf.losses.missing import MaskedRays
from onmf.losses.profiles import CountProfiles
from onmf.losses.ray_alternation import KernelRays
from onmf.rows.assign import Rays, first_largest
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block


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


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rule", [Rays, MaskedRays, KernelRays, CountProfiles])
def test_of_rays_as_near_the_same_one_has_the_sample_however_they_are_numbered(rule, make):
    """Clusters are numbered after the fit."""
    rng = np.random.default_rng(0)
    W = np.repeat(rng.integers(1, 5, (3, 4)).astype(float), 2, axis=0)
    W[::2] *= 1 + 1e-15 * rng.random((3, 4))  # equal up to rounding
    X, order = make(np.vstack([W, W[:3] + W[3:]])), rng.permutation(6)
    labels = rule.of(W)(Block(X, np.ones((9, 1))), None)[0].labels
    again = rule.of(W[order])(Block(X, np.ones((9, 1))), None)[0].labels
    np.testing.assert_array_equal(order[again], labels)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("dtype", "lengths"), [("f8", [1e-300, 1, 0, 1e-315]), ("f4", [1e-36, 1])])
def test_a_label_depends_on_its_sample_alone_however_short_beside_others(make, dtype, lengths):
    rng = np.random.default_rng(0)
    W, X = rng.random((3, 5)).astype(dtype), rng.random((40, 5)).astype(dtype)
    X *= rng.choice(np.array(lengths, dtype), (40, 1))
    [code], _ = InMemory(make(X)).sweep(Rays.of(W))
    for i, label in enumerate(code.labels):
        top = X[i].max() or 1
        [alone], _ = InMemory(make(X[i : i + 1] / top)).sweep(Rays.of(W))
        assert alone.labels == label
    np.testing.assert_array_equal(code.labels >= 0, X.any(axis=1))
    np.testing.assert_array_equal((Rays.of(W).memberships(code) > 0).sum(axis=1), code.labels >= 0)
