"""A bound is one: below the error of every clustering, above nothing that is true."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cases import few
from onmf import ONMF, certify
from onmf.bounds import spectral as bound
from onmf.bounds.spectral import (
    QUICK_POWERS,
    THOROUGH_POWERS,
    ceiling,
    christoffel,
    merge,
    spectral_bound,
)
from onmf.rows.memory import InMemory


def problem(seed, n, m, rank=None, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, rank or m)) @ rng.random((rank or m, m)) ** 4
    X *= rng.random((n, m)) < density
    return X * 10.0 ** rng.uniform(-30, 30), rng.integers(0, 3, n).astype(float)


def true_floor(X, weight, k):
    values = np.linalg.svd(np.sqrt(weight)[:, None] * X / np.abs(X).max(), compute_uv=False) ** 2
    return 1 - values[:k].sum() / values.sum()


@pytest.mark.parametrize("container", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("powers", [QUICK_POWERS, THOROUGH_POWERS])
@pytest.mark.parametrize("seed", few(range(6)))
def test_it_is_never_above_that_of_the_full_spectrum_and_close_to_it(container, powers, seed):
    X, weight = problem(seed, 300, 240, density=0.3)
    X = X / np.abs(X).max()
    k = 4
    W = np.linalg.svd(X, full_matrices=False)[2][:k]
    found = spectral_bound(InMemory(container(X), weight + 1), W, seed, powers)
    true = true_floor(X, weight + 1, k)
    assert found.bound <= true
    assert found.doubt == bound.DOUBT
    allowed = 0.04 if powers == QUICK_POWERS else 0.015  # a flat spectrum is hard
    assert true - found.bound <= allowed * true


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 30), st.integers(1, 6))
def test_with_few_features_or_samples_it_is_that_of_the_spectrum(seed, n, m, k):
    X, weight = problem(seed, n, m, density=0.7)
    weight[0], X[0, 0] = 1.0, np.abs(X).max() or 1.0
    X = X / np.abs(X).max()
    found = spectral_bound(InMemory(X, weight), np.ones((k, m)), 0)
    true = true_floor(X, weight, k)
    assert found.doubt == 0
    assert found.bound <= true + 1e-15
    assert found.bound == pytest.approx(max(true, 0), abs=1e-11)


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_the_part_outside_of_the_basis_is_bounded(seed):
    """Poor bases, flat and steep spectra: always above the sum of the largest eigenvalues."""
    rng = np.random.default_rng(seed)
    values = rng.random(150) ** rng.integers(1, 12)
    turn = np.linalg.qr(rng.standard_normal((150, 150)))[0]
    S = turn * values @ turn.T
    begin = rng.standard_normal((150, 3))
    for powers in (1, 2, 5):
        most = ceiling(lambda B: S @ B, begin, rng, powers)
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
@pytest.mark.filterwarnings("ignore::onmf.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("options", few([{}, {"n_init": 2}]))
def test_no_fit_is_below_it(options):
    for seed in range(10):
        X, weight = problem(seed, 60, 30, density=0.6)
        X = X / X.max() if options else X
        model = ONMF(3, random_state=0, **options).fit(X, sample_weight=weight)
        found = certify(model, X, sample_weight=weight)
        assert 0 <= found.bound <= found.error
        assert found.error == pytest.approx(model.relative_error_, rel=1e-6)
