"""A bound is one: below the error of every clustering, above nothing that is true."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cases import few
from onmf import ONMF
from onmf_paper.bounds import (
    DOUBT,
    POWERS,
    ceiling,
    certify,
    christoffel,
    merge,
    partition_error,
    spectral_bound,
)

THOROUGH = 16


def problem(seed, n, m, rank=None, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, rank or m)) @ rng.random((rank or m, m)) ** 4
    X *= rng.random((n, m)) < density
    return X * 10.0 ** rng.uniform(-30, 30), rng.integers(0, 3, n).astype(float)


def true_floor(X, weight, k):
    values = np.linalg.svd(np.sqrt(weight)[:, None] * X / np.abs(X).max(), compute_uv=False) ** 2
    return 1 - values[:k].sum() / values.sum()


@pytest.mark.parametrize("container", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("powers", [POWERS, THOROUGH])
@pytest.mark.parametrize("seed", few(range(6)))
def test_it_is_never_above_that_of_the_full_spectrum_and_close_to_it(container, powers, seed):
    X, weight = problem(seed, 300, 240, density=0.3)
    X = np.sqrt(weight + 1)[:, None] * X
    bound, doubt = spectral_bound(container(X), 4, powers, seed)
    true = true_floor(X, np.ones(300), 4)
    assert bound <= true
    assert doubt == DOUBT
    allowed = 0.04 if powers == POWERS else 0.015  # a flat spectrum is hard
    assert true - bound <= allowed * true


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 30), st.integers(1, 6))
def test_with_few_features_or_samples_it_is_that_of_the_spectrum(seed, n, m, k):
    X, _ = problem(seed, n, m, density=0.7)
    X[0, 0] = np.abs(X).max() or 1.0
    bound, doubt = spectral_bound(X, k)
    true = true_floor(X, np.ones(n), k)
    assert doubt == 0
    assert bound <= true + 1e-15
    assert bound == pytest.approx(max(true, 0), abs=1e-11)


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_the_part_outside_of_the_basis_is_bounded(seed):
    """Poor bases, flat and steep spectra: always above the sum of the largest eigenvalues."""
    rng = np.random.default_rng(seed)
    values = rng.random(150) ** rng.integers(1, 12)
    turn = np.linalg.qr(rng.standard_normal((150, 150)))[0]
    S = turn * values @ turn.T
    for powers in (1, 2, 5):
        most = ceiling(lambda B: S @ B, 150, 3, rng, powers)
        assert most >= np.sort(values)[-3:].sum() * (1 - 1e-12)


def test_the_christoffel_function_is_that_of_the_definition():
    """min ||p(C) v||^2 over p(x) = 1, by least squares."""
    rng = np.random.default_rng(0)
    values, v = rng.random(30), rng.standard_normal(30)
    q, least = 3, 1e-4
    x = christoffel(*lanczos(values, v / np.linalg.norm(v), q), least)
    powers = np.vander(values, q + 1) * (v / np.linalg.norm(v))[:, None]
    at = np.vander([x], q + 1)[0]
    gram = powers.T @ powers
    assert 1 / (at @ np.linalg.solve(gram, at)) == pytest.approx(least, rel=1e-6)


def lanczos(values, v, steps):
    Q, diagonal, beside = [v], [], []
    for _ in range(steps):
        w = values * Q[-1]
        diagonal.append(Q[-1] @ w)
        for known in Q:
            w = w - (known @ w) * known
        beside.append(np.linalg.norm(w))
        Q.append(w / beside[-1])
    return np.array(diagonal), np.array(beside)


def test_what_is_left_outside_counts_when_it_is_large():
    assert merge(np.diag([3.0, 1.0]), np.zeros((5, 2)), 2.0, 2) == pytest.approx(5.0, abs=1e-6)
    assert merge(np.diag([3.0, 2.5]), np.zeros((5, 2)), 2.0, 2) == pytest.approx(5.5, abs=1e-6)


@pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3])
def test_no_fit_is_below_it_in_either_precision(dtype, k):
    """A single ray has no slack: the bound is the lowest error itself."""
    for seed in range(20):
        X, _ = problem(seed, 60, 30, density=0.6)
        X = (X / X.max()).astype(dtype)
        labels = ONMF(k, random_state=0).fit(X).labels_
        found = certify(X, labels, k)
        assert 0 <= found.bound <= partition_error(X, labels)
        assert found.error == partition_error(X, labels)
        assert spectral_bound(X, k)[0] <= partition_error(X, np.where(labels < 0, -1, 0)) or k > 1
        assert found.gap == pytest.approx((found.error - found.bound) / found.error)


def test_no_clustering_of_all_is_below_it():
    """Every partition of seven samples, by brute force."""
    for seed in range(5):
        X, _ = problem(seed, 7, 5)
        bound, _ = spectral_bound(X, 2)
        labels = [[i >> j & 1 for j in range(7)] for i in range(1 << 7)]
        assert bound <= min(partition_error(X, own) for own in labels)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(400, 300), (400, 5), (90, 300)], ids=str)
def test_partition_error_is_that_of_the_full_decompositions(container, dtype, shape):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=shape) * (rng.random(shape) < 0.3)).astype(dtype)
    labels = rng.integers(-1, 3, size=shape[0])
    parts = [X[labels == k].astype(np.float64) for k in range(3)]
    explained = sum(np.linalg.svd(part, compute_uv=False)[0] ** 2 for part in parts)
    expected = 1 - explained / np.sum(X.astype(np.float64) ** 2)
    assert abs(partition_error(container(X), labels) - expected) < 1e-13
    for scale in (1e-200, 1e200):
        big = container(scale * X.astype(np.float64))
        assert partition_error(big, labels) == pytest.approx(expected, abs=1e-12)


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        partition_error(np.ones((3, 2)), [0, 1])
