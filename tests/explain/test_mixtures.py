"""Sums of two clusters."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.explain.mixtures import mixed_scores
from onmf.losses import LOSSES

X, Y = make_rays(200, 30, 4, noise=0.3, random_state=0)
SQUARES = LOSSES["frobenius"]


def by_pairs(X, W, seen):
    """1 - what two centroids leave / what one leaves, least squares by scipy on what is seen."""

    def left(x, rows):
        return nnls(rows.T, x)[1] ** 2

    score = []
    for x, there in zip(X, seen, strict=True):
        x, rays = x[there], W[:, there]
        one = min(left(x, rays[[a]]) for a in range(len(W)))
        two = min(left(x, rays[list(pair)]) for pair in combinations(range(len(W)), 2))
        score.append(1 - two / one)
    return np.array(score)


def test_by_hand():
    rays = np.array([[2.0, 0, 0], [0, 5, 0]])
    samples = np.array([[3.0, 2, 0], [3, 0, 1], [2, 1, 1], [0, 0, 0], [4, 0, 0], [0, 0, 1]])
    score = mixed_scores(samples, rays, SQUARES)
    np.testing.assert_allclose(score, [1, 0, 1 / 2, 0, 0, 0], atol=1e-12)
    slanted = np.array([[1.0, 0, 0], [1, 1, 0]])  # g^2 = 1/2
    beyond = mixed_scores(np.array([[1.0, 2, 1], [2, 1, 1]]), slanted, SQUARES)
    np.testing.assert_allclose(beyond, [0, 1 / 3], atol=1e-12)  # (1, 2) is outside of the two


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("signed", [False, True])
def test_by_brute_force(kind, signed, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    W, samples = rng.random((4, 12)), rng.random((30, 12))
    if signed:
        W, samples = W - 0.3, samples - 0.3
    seen = rng.random(samples.shape) < 0.8
    for observed in (np.ones_like(seen), seen):
        score = mixed_scores(kind(np.where(observed, samples, np.nan)), W, SQUARES)
        np.testing.assert_allclose(score, by_pairs(samples, W, observed), atol=1e-9)


def test_counts_are_compared_as_roots_of_shares(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    W, counts = rng.random((4, 12)), rng.poisson(3, (30, 12)).astype(float)
    seen = rng.random(counts.shape) < 0.8
    for observed in (np.ones_like(seen), seen):
        score = mixed_scores(np.where(observed, counts, np.nan), W, LOSSES["kl"])
        np.testing.assert_allclose(
            score, by_pairs(np.sqrt(counts), np.sqrt(W), observed), atol=1e-9
        )


@pytest.mark.parametrize("loss", list(LOSSES))
def test_planted_sums_rank_first_whatever_their_length(loss):
    a, b = X[Y == 0][:5], X[Y == 1][:5]
    unit = [one / one.sum(axis=1, keepdims=True) for one in (a, b)]
    data = np.vstack([X, unit[0] + unit[1]])
    model = ONMF(4, loss=loss, random_state=0).fit(data)
    score = model.mixed_score(data)
    assert set(np.argsort(-score)[:5].tolist()) == set(range(200, 205))
    assert ((score >= 0) & (score <= 1)).all()
    lengths = np.random.default_rng(0).uniform(0.01, 100, (205, 1))
    np.testing.assert_allclose(model.mixed_score(lengths * data), score, atol=1e-9)
    np.testing.assert_allclose(model.mixed_score(1e200 * data), score, atol=1e-9)
    np.testing.assert_allclose(model.mixed_score(data.astype(np.float32)), score, atol=1e-4)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_one_cluster_and_zeros(loss):
    assert not ONMF(1, loss=loss).fit(X).mixed_score(X).any()
    assert not ONMF(4, loss=loss, random_state=0).fit(X).mixed_score(np.zeros((2, 30))).any()


def test_equal_and_empty_centroids_add_nothing():
    W = np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 0]])
    assert not mixed_scores(np.array([[1.0, 1, 1], [1, 2, 0]]), W, SQUARES).any()
    nearly = np.array([[1.0, 2, 0], [1, 2 + 1e-9, 0]])
    assert not mixed_scores(np.array([[1.0, 1, 1]]), nearly, SQUARES).any()


def test_places(tmp_path):
    model = ONMF(4, random_state=0).fit(X)
    score = model.mixed_score(X)
    np.save(tmp_path / "X.npy", X)
    np.testing.assert_allclose(model.mixed_score(tmp_path / "X.npy"), score, atol=1e-12)
    np.testing.assert_allclose(model.mixed_score(sp.csr_array(X)), score, atol=1e-12)
    da = pytest.importorskip("dask.array")
    lazy = model.mixed_score(da.from_array(X, chunks=(50, 30)))
    np.testing.assert_allclose(lazy.compute(), score, atol=1e-12)
