"""What a start promises: the paper's draws to the bit, and usable factors from every other kind."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.palm.start import (
    STARTS,
    Power,
    indicator,
    leading_directions,
    nndsvd_start,
    paper_start,
    spread_rays,
)
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block
from onmf_paper.rivals import shared_draws


def test_paper_start_is_the_published_recipe(planted):
    """In the paper's orientation and order of draws."""
    X = planted[0].T
    M, N, K = *X.shape, 4
    rng = np.random.RandomState(7)
    s = np.sqrt(X.mean() / K)
    W = s * rng.random_sample((M, K))
    H = (s * rng.random_sample((N, K))).T
    data = InMemory(X.T)
    raw_H, raw_W = shared_draws(X.T, K, 7)
    np.testing.assert_allclose(raw_W, W.T, rtol=1e-14)
    np.testing.assert_allclose(raw_H, H.T, rtol=1e-14)
    marks = (H == H.max(axis=0)).astype(float)
    unit = marks / np.linalg.norm(marks, axis=1, keepdims=True)
    np.testing.assert_allclose(data.gather(paper_start(data, K, 7)[0]), unit.T)


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_every_start_is_usable(planted, kind, dtype, make):
    data = InMemory(make(planted[0].astype(dtype)))
    rows, W = STARTS[kind](data, 4, 0)
    H = data.gather(rows)
    assert (H.shape, W.shape) == ((120, 4), (4, 30))
    assert H.dtype == W.dtype == dtype
    assert np.isfinite(H).all()
    assert np.isfinite(W).all()
    assert H.min() >= 0
    assert W.min() >= 0
    assert (np.linalg.norm(W, axis=1) > 0).all()
    again = STARTS[kind](data, 4, 0)
    np.testing.assert_array_equal(data.gather(again[0]), H)
    np.testing.assert_array_equal(again[1], W)


def test_nndsvd_is_the_positive_part_of_the_singular_triplets(planted):
    X, _ = planted
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    data = InMemory(X)
    rows, W = nndsvd_start(data, 3, 0)
    H = data.gather(rows)
    for j in range(3):
        u, v = U[:, j], Vt[j]
        sides = [(np.maximum(z * u, 0), np.maximum(z * v, 0)) for z in (1, -1)]
        u, v = max(sides, key=lambda side: np.linalg.norm(side[0]) * np.linalg.norm(side[1]))
        product = s[j] * np.outer(u, v)
        np.testing.assert_allclose(np.outer(H[:, j], W[j]), product, atol=1e-6 * s[0])


def test_leading_directions_span_those_of_the_svd(planted):
    X, _ = planted
    V = leading_directions(InMemory(X), 4)
    exact = np.linalg.svd(X, full_matrices=False)[2][:4]
    np.testing.assert_allclose(np.abs(exact @ V), np.eye(4), atol=1e-4)


def test_spread_rays_finds_every_planted_ray(planted):
    X, labels = planted
    found = spread_rays(X, 4, np.random.RandomState(0))
    nearest = [np.flatnonzero((X == ray).all(axis=1))[0] for ray in found]
    assert {*labels[nearest]} == {0, 1, 2, 3}


def test_fewer_features_than_clusters_are_no_trouble():
    X = np.random.default_rng(0).random((20, 2))
    for kind in STARTS.values():
        data = InMemory(X)
        rows, W = kind(data, 5, 0)
        assert np.isfinite(data.gather(rows)).all()
        assert np.isfinite(W).all()


def test_columns_of_an_indicator_have_unit_norm_whatever_the_size_of_the_cluster():
    """1, 2 and 3 samples, none, and one sample in no cluster: 1 / sqrt(size) in one column."""
    labels = np.array([0, 1, 1, 2, 2, 2, -1])
    data = InMemory(np.ones((7, 2)))
    H = np.asarray(data.gather(indicator(data, data.scatter(labels), 4)))
    expected = np.zeros((7, 4))
    expected[0, 0], expected[1:3, 1], expected[3:6, 2] = 1, 2**-0.5, 3**-0.5
    np.testing.assert_allclose(H, expected, rtol=1e-14)


def test_nndsvd_takes_the_larger_side_of_every_singular_triplet():
    """From its definition, by NumPy's SVD; the length of a factor is free."""
    X = np.random.default_rng(3).random((14, 9))
    U, _, V = np.linalg.svd(X, full_matrices=False)
    data = InMemory(X)
    rows, W = nndsvd_start(data, 4, 0)
    H = np.asarray(data.gather(rows))
    for j in range(4):
        sides = [(np.maximum(s * U[:, j], 0), np.maximum(s * V[j], 0)) for s in (1, -1)]
        u, v = max(sides, key=lambda side: np.linalg.norm(side[0]) * np.linalg.norm(side[1]))
        np.testing.assert_allclose(W[j] / np.linalg.norm(W[j]), v / np.linalg.norm(v), atol=1e-6)
        cosine = H[:, j] @ u / np.linalg.norm(H[:, j]) / np.linalg.norm(u)
        assert cosine == pytest.approx(1, abs=1e-6)


def test_a_power_step_counts_every_sample_by_its_weight_and_its_damping():
    rng = np.random.default_rng(0)
    X, V, weight, damp = rng.random((9, 5)), rng.random((5, 2)), rng.random(9), rng.random(9)
    for factors, given in ((weight, None), (weight * damp, damp)):
        kept, image = Power(V)(Block(X, weight[:, None]), given)
        assert kept is given
        np.testing.assert_allclose(image.cross, (X * factors[:, None]).T @ X @ V)
