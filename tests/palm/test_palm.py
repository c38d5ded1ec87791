"""What PALM promises: it is the paper's, it descends, it stops at stationary points, and it does
not matter where the rows live."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from cases import few
from onmf.palm.palm import Bounds, PalmSettings
from onmf.palm.start import paper_start
from onmf.rows import memory as blocks
from onmf.rows.memory import InMemory

RIDGE = {"mu_h": 1e-3, "mu_w": 1e-3}  # without it H may shrink while W grows for ever


def begin(X, seed=0, k=4, weight=None):
    data = InMemory(X, weight)
    rows, W = paper_start(data, k, seed)
    return data, data.gather(rows), W


def run(settings, data, H, W, penalty, rho):
    rows = data.scatter(H)
    state = settings.run(data, rows, W, penalty, rho)
    return state, data.gather(state.rows)


def objective(X, state, H, penalty, rho, weight=1.0, mu_h=1e-10, mu_w=0.0):
    """The penalised problem by its definition; a sample of weight d counts d times."""
    weight = np.broadcast_to(weight, len(X))
    error = weight @ np.sum((X - H @ state.W) ** 2, axis=1) / (weight @ np.sum(X**2, axis=1))
    ridge = mu_h * (weight @ np.sum(H**2, axis=1)) + mu_w * np.sum(state.W**2)
    return error + rho * (weight @ penalty.rows(H)) + ridge / 2


def safe(penalty):
    """Steps short enough for the theorems."""
    return type(penalty)(margin=1.01)


@pytest.mark.parametrize("rho", [1e-8, 1e-3])
def test_a_pass_is_the_papers(planted, penalty, penalty_name, rho):
    X, _ = planted
    data, H, W = begin(X)
    state, H_new = run(PalmSettings(max_passes=1), data, H, W, penalty, rho)
    W_ref, H_ref = reference.palm_pass(X.T, W.T, H.T, rho, penalty_name)
    np.testing.assert_allclose(H_new.T, H_ref, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(state.W.T, W_ref, rtol=1e-9, atol=1e-14)
    expected = reference.normalised_residual(W_ref, H_ref, W.T, H.T)
    assert state.residual == pytest.approx(expected)


def test_objective_never_rises(planted, any_penalty):
    data, H, W = begin(planted[0])
    penalty = safe(any_penalty) if hasattr(any_penalty, "margin") else any_penalty
    one, values = PalmSettings(max_passes=1), []
    for _ in range(100):
        state, H = run(one, data, H, W, penalty, 1e-3)
        W = state.W
        values.append(objective(planted[0], state, H, penalty, 1e-3))
    assert np.diff(values).max() <= 1e-12
    assert values[-1] < values[0]


def test_stops_at_a_fixed_point_that_is_stationary(planted, any_penalty):
    data, H, W = begin(planted[0])
    settings = PalmSettings(**RIDGE, tol=1e-11, max_passes=40_000)
    state, H_end = run(settings, data, H, W, any_penalty, 1e-3)
    again, H_again = run(
        PalmSettings(**RIDGE, max_passes=1), data, H_end, state.W, any_penalty, 1e-3
    )
    np.testing.assert_allclose(again.W, state.W, atol=1e-7)
    np.testing.assert_allclose(H_again, H_end, atol=1e-7)
    assert settings.stationarity(data, state.rows, state.W, any_penalty, 1e-3) < 1e-8
    start = data.scatter(H)
    assert settings.stationarity(data, start, W, any_penalty, 1e-3) > 1e-2


@pytest.mark.parametrize("entries", few([700, 1, 10**9]))
@pytest.mark.parametrize("n_threads", few([3, 1]))
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_blocks_threads_and_containers_do_not_matter(
    planted, penalty, entries, n_threads, container, monkeypatch
):
    X, _ = planted
    settings = PalmSettings(max_passes=50, tol=0)
    whole, H_whole = run(settings, *begin(X), penalty, 1e-3)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
    monkeypatch.setattr(blocks, "MIN_BLOCK_ROWS", 1)
    _, H, W = begin(X)
    parts, H_parts = run(settings, InMemory(container(X), None, n_threads), H, W, penalty, 1e-3)
    np.testing.assert_allclose(parts.W, whole.W, atol=1e-10)
    np.testing.assert_allclose(H_parts, H_whole, atol=1e-10)


def test_weights_equal_repetition(planted, any_penalty):
    X, _ = planted
    weight = np.arange(len(X)) % 3.0
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    data, H, W = begin(X, weight=weight)
    settings = PalmSettings(max_passes=40, tol=0)
    weighted, H_w = run(settings, data, H, W, any_penalty, 1e-3)
    repeated, H_r = run(settings, InMemory(X[again]), H[again], W, any_penalty, 1e-3)
    np.testing.assert_allclose(weighted.W, repeated.W, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(H_w[again], H_r, rtol=1e-8, atol=1e-10)
    assert objective(X, weighted, H_w, any_penalty, 1e-3, weight) == pytest.approx(
        objective(X[again], repeated, H_r, any_penalty, 1e-3)
    )
    assert data.sqnorm == pytest.approx(np.sum(X[again] ** 2))
    assert data.mean == pytest.approx(X[again].mean())


def test_centroids_stay_within_their_bounds(planted, penalty):
    X, _ = planted
    data, H, W = begin(X)
    bounds = Bounds(0.05, 0.5)
    state, _ = run(PalmSettings(max_passes=30, bounds=bounds), data, H, W, penalty, 1e-3)
    assert state.W.min() >= 0.05
    assert state.W.max() <= 0.5


def test_permuting_samples_features_and_clusters_permutes_the_factors(planted, penalty):
    X, _ = planted
    rng = np.random.default_rng(1)
    i, j, c = (rng.permutation(size) for size in (*X.shape, 4))
    data, H, W = begin(X)
    settings = PalmSettings(max_passes=40, tol=0)
    plain, H_plain = run(settings, data, H, W, penalty, 1e-3)
    mixed, H_mixed = run(settings, InMemory(X[i][:, j]), H[i][:, c], W[c][:, j], penalty, 1e-3)
    np.testing.assert_allclose(mixed.W, plain.W[c][:, j], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(H_mixed, H_plain[i][:, c], rtol=1e-8, atol=1e-10)
