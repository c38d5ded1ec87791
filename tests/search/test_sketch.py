"""The picture keeps what it must: the leading directions, the weights, every score in its span."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.paper.palm import Bounds
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block
from onmf.search import sketch as module
from onmf.search.sketch import SubspaceStep, orthonormal, sketch

SIGNED = Bounds(-np.inf, np.inf)


def picture(X, weight=None, k=1, seed=0, max_sweeps=40):
    told = []
    small = sketch(InMemory(X, weight), k, np.random.default_rng(seed), max_sweeps, told.append)
    assert told == list(range(1, small.sweeps + 1))
    return small


@pytest.fixture
def low_rank():
    rng = np.random.default_rng(0)
    return rng.random((90, 6)) @ rng.random((6, 200))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_data_of_low_rank_lose_nothing(low_rank, make):
    small = picture(make(low_rank))
    np.testing.assert_allclose(small.V.T @ small.V, np.eye(small.V.shape[1]), atol=1e-6)
    # The basis is found in single precision.
    np.testing.assert_allclose(small.Y @ small.V.T, low_rank, atol=1e-5)
    assert small.sweeps == 3


def test_weights_are_in_the_length_of_the_rows(low_rank):
    weight = np.arange(90) % 4.0
    small = picture(low_rank, weight)
    np.testing.assert_allclose(small.Y, np.sqrt(weight)[:, None] * (low_rank @ small.V), atol=1e-9)


def test_scores_of_lifted_rays_are_scores_in_the_picture(low_rank):
    small = picture(low_rank)
    U = np.random.default_rng(1).random((3, small.Y.shape[1]))
    np.testing.assert_allclose(low_rank @ small.lift(U, SIGNED, float).T, small.Y @ U.T, rtol=1e-8)
    np.testing.assert_allclose(small.lower(small.lift(U, SIGNED, float)), U, atol=1e-5)


def test_few_features_are_taken_as_they_are():
    X = np.random.default_rng(0).random((50, 8))
    small = picture(X)
    assert small.V is None
    assert small.sweeps == 1
    np.testing.assert_array_equal(small.Y, X)
    np.testing.assert_array_equal(small.lift(X, SIGNED, float), X)


def test_the_leading_directions_of_noisy_data_are_found(low_rank):
    X = low_rank + 0.1 * np.random.default_rng(1).random(low_rank.shape)
    small = picture(X)
    leading = np.linalg.svd(X)[2][:1]
    np.testing.assert_allclose(np.linalg.norm(leading @ small.V, axis=1), 1, atol=1e-6)


def test_one_enormous_sample_does_not_hide_the_others(low_rank):
    X = low_rank.copy()
    X[7] = 1e6 * np.random.default_rng(2).random(200)
    for dtype in (np.float64, np.float32):
        small = picture(X.astype(dtype))
        rest = np.delete(X, 7, axis=0)
        np.testing.assert_allclose(rest @ small.V @ small.V.T, rest, atol=0.05)


def test_many_samples_are_sampled(low_rank, monkeypatch):
    monkeypatch.setattr(module, "MAX_SKETCH_ROWS", 40)
    small = picture(low_rank)
    apart = np.linalg.norm(small.Y[:, None] - low_rank @ small.V, axis=2)
    assert len(small.Y) == len({*apart.argmin(axis=1)}) == 40  # as many samples, none of them twice
    np.testing.assert_allclose(apart.min(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1.0, 1e60, 1e-60])
def test_leading_directions_are_magnified_whatever_the_size_of_the_entries(low_rank, make, size):
    """X'DXV by its definition; squares of such entries are no numbers in single precision."""
    X, V = low_rank * (low_rank > 0.8), np.random.default_rng(1).normal(size=(200, 3))
    weight, damp = np.arange(90) % 4.0, np.linspace(0.1, 1, 90)
    scale = 1 / (size * np.linalg.norm(X))
    move = SubspaceStep(V.astype(np.float32), scale)
    _, image = move(Block(make(size * X), weight[:, None]), damp)
    expected = (X * (weight * damp)[:, None]).T @ (X @ V) / np.linalg.norm(X) ** 2
    np.testing.assert_allclose(image.cross, expected, atol=1e-5 * np.abs(expected).max())


def test_a_small_budget_of_sweeps_is_kept(low_rank):
    assert picture(low_rank, max_sweeps=2).sweeps == 1
    assert picture(low_rank, max_sweeps=3).sweeps == 2


def test_dependent_and_zero_columns_are_dropped():
    B = np.random.default_rng(0).random((30, 3))
    Q = orthonormal(np.hstack([B, B @ np.ones((3, 2)), np.zeros((30, 1))]))
    assert Q.shape == (30, 3)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-8)
