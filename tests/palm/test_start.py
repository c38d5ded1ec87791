"""What a start promises: the paper's draws to the bit, and usable factors from every other kind."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.palm.start import (
    STARTS,
    nndsvd_start,
    paper_start,
    spread_rays,
)
from onmf.rows.memory import InMemory
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


def test_spread_rays_finds_every_planted_ray(planted):
    X, labels = planted
    found = spread_rays(X, 4, np.random.RandomState(0))
    nearest = [np.flatnonzero((X == ray).all(axis=1))[0] for ray in found]
    assert {*labels[nearest]} == {0, 1, 2, 3}
