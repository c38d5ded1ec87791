"""The exact alternation: the error never rises, and where it stops nothing can be improved."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.datasets import make_rays
from onmf.losses.alternation import AlternationState
from onmf.losses.ray_alternation import next_rays, refill_empty
from onmf.losses.settling import settle
from onmf.rows.memory import InMemory
from onmf.search.numpy_kernels import ritz, unit
from solving import ray_alternation

TIGHT = 1e-9


class Result(NamedTuple):
    state: AlternationState
    labels: np.ndarray
    scores: np.ndarray

    @property
    def W(self):  # noqa: N802
        return self.state.W


def run(X, W, weight=None, tol=TIGHT, sweeps=500):
    energies = []

    def watch(state):
        energies.append(state.sums.explained.sum())
        return False

    data = InMemory(X, weight)
    state = settle(ray_alternation(data, tol), W, sweeps, watch)
    return Result(state, *codes(data, state)), np.array(energies)


def codes(data, state):
    """Labels and scores of all samples."""
    return [data.gather(data.map_blocks(lambda code, i=i: code[i], state.rows)) for i in range(2)]


def visit(data, W):
    """The state after one sweep with W."""
    return ray_alternation(data).begin(W)


@pytest.fixture
def noisy():
    return make_rays(300, 40, 6, noise=1.5, random_state=0)[0]


def some_rays(X, k, seed=0):
    return X[np.random.default_rng(seed).choice(len(X), k, replace=False)].copy()


@pytest.mark.parametrize("seed", range(10))
def test_the_error_never_rises(noisy, seed):
    result, energies = run(noisy, some_rays(noisy, 6, seed))
    assert result.state.settled
    assert np.diff(energies).min() >= -1e-9 * energies[-1]


def test_the_error_never_rises_where_a_ritz_vector_leaves_the_orthant():
    X = np.diag(np.sqrt([10, 1, 0.1]))  # its leading direction is the first axis
    result, energies = run(X, np.ones((1, 3)))
    assert result.W.min() >= 0
    assert np.diff(energies).min() >= 0
    assert energies[-1] == pytest.approx(10)


@pytest.mark.parametrize("seed", range(5))
def test_a_fixed_point_of_labels_and_centroids(noisy, seed):
    result, _ = run(noisy, some_rays(noisy, 6, seed))
    scores = noisy @ unit(result.W).T
    np.testing.assert_array_equal(scores.argmax(axis=1), result.labels)
    for k in range(6):
        own = noisy[result.labels == k]
        leading = np.linalg.svd(own)[1][0] ** 2
        assert np.sum((own @ unit(result.W)[k]) ** 2) == pytest.approx(leading, rel=1e-9)
    assert ray_alternation(InMemory(noisy)).stationarity(result.state) < 1e-7


def test_ritz_finds_the_best_vector_in_the_span():
    rng = np.random.default_rng(0)
    S = np.cov(rng.random((8, 30)))
    u, w = unit(rng.random((2, 8)))
    found = ritz(u[None], (S @ u)[None], w[None], (S @ w)[None])[0]
    angles = np.linspace(0, np.pi, 4001)
    d = unit((w - (u @ w) * u)[None])[0]
    plane = np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * d
    best = plane[np.einsum("ij,jk,ik->i", plane, S, plane).argmax()]
    expected = unit((S @ best)[None])[0]
    assert abs(found @ expected) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("signed", [False, True])
def test_doubled_steps_lose_nothing(noisy, signed):
    X = noisy - (0.4 if signed else 0)
    data = InMemory(X)
    first = visit(data, some_rays(X, 6))
    second = ray_alternation(data, signed=signed).after(first, None)
    U = next_rays(second, signed)
    for k in range(6):
        own = X[second.labels(data) == k]
        before, after = (np.sum((own @ v) ** 2) for v in (unit(second.W)[k], U[k]))
        assert after >= before * (1 - 1e-12)


def test_empty_clusters_take_the_worst_fitted_samples(noisy):
    W = np.repeat(some_rays(noisy, 1), 6, axis=0)
    result, energies = run(noisy, W)
    assert len(np.unique(result.labels)) == 6
    assert np.diff(energies).min() >= -1e-9 * energies[-1]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_an_empty_cluster_takes_the_sample_that_it_helps_most(make):
    """Energy off the ray, times the weight: 9, 3 x 4 = 12, 2 x 3^2 = 18, and a long one near it."""
    X = np.array([[5.0, 0, 0, 0], [0, 3, 0, 0], [1, 0, 2, 0], [0, 0, 0, 3], [90, 0.1, 0, 0]])
    data = InMemory(make(X), np.array([1.0, 1, 3, 2, 1]))
    state = visit(data, np.vstack([X[:1], np.zeros((2, 4))]))
    np.testing.assert_array_equal(state.empty, [1, 2])
    filled = refill_empty(data, unit(state.W), state.empty, state.rows)
    np.testing.assert_allclose(filled, unit(X[[0, 3, 2]]))  # the second, the rays being two now


def test_of_samples_that_help_alike_the_first_fills_the_cluster():
    """Whatever the last bits of the sums say: the same energy off the ray in every order."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        off = rng.permuted(np.repeat(rng.random((1, 30)), 6, axis=0), axis=1)
        X = np.hstack(
            [np.vstack([np.ones((1, 1)), np.zeros((6, 1))]), np.vstack([off[:1] * 0, off])]
        )
        data = InMemory(X)
        state = visit(data, np.vstack([X[:1], np.zeros((1, 31))]))
        np.testing.assert_allclose(
            refill_empty(data, unit(state.W), state.empty, state.rows)[1], unit(X)[1]
        )


def test_samples_without_weight_fill_no_cluster(noisy):
    weight = np.r_[np.ones(280), np.zeros(20)]
    noisy[280:] *= 100
    result, _ = run(noisy, np.repeat(some_rays(noisy[:280], 1), 6, axis=0), weight=weight)
    assert len(np.unique(result.labels[:280])) == 6


def test_tiny_samples_beside_giants_still_count_as_directions():
    X = np.vstack([np.eye(4)[:2] * 1e9, np.eye(4)[[2, 3, 2, 3]]])
    result, _ = run(X, np.repeat(X[:1], 4, axis=0))
    assert len(np.unique(result.labels)) == 4


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_too_few_directions_are_counted(make):
    X = np.repeat(np.eye(5)[:3] + 0.1, 6, axis=0) * np.arange(1, 19)[:, None]
    with pytest.raises(ValueError, match="only 3 distinct directions that double precision"):
        run(make(X), some_rays(X, 4))
    result, _ = run(make(X), some_rays(X, 3))
    assert sorted(np.bincount(result.labels)) == [6, 6, 6]


def test_weights_equal_repetition(noisy):
    weight = np.arange(300) % 3.0
    again = np.repeat(np.arange(300), weight.astype(int))
    W = some_rays(noisy, 5)
    weighted, _ = run(noisy, W, weight=weight)
    repeated, _ = run(noisy[again], W)
    np.testing.assert_array_equal(weighted.labels[again], repeated.labels)
    np.testing.assert_allclose(weighted.W, repeated.W, rtol=1e-7)


def test_centroids_are_as_long_as_a_typical_sample(noisy):
    result, _ = run(noisy, some_rays(noisy, 3))
    for k in range(3):
        scores = result.scores[result.labels == k]
        typical = np.sqrt(np.mean(scores**2))
        assert np.linalg.norm(result.W[k]) == pytest.approx(typical, rel=1e-6)
