"""Quick looks find planted rays, whatever the samples are, and known classes stay together."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.datasets import make_rays
from onmf.losses.quick_fit import quick_look
from onmf.rows.sweep import Block

X, Y = make_rays(90, 12, 3, noise=0.1, random_state=0)
ONES = np.ones((90, 1))


def look(rows, k=3, weight=ONES):
    return quick_look(Block(rows, weight), k, np.random.default_rng(0))


def leading(rows):
    """The leading right singular vector of each planted cluster, towards its samples."""
    found = [np.linalg.svd(rows[c == Y])[2][0] for c in range(3)]
    return np.array([ray * np.sign(rows[c == Y].sum(axis=0) @ ray) for c, ray in enumerate(found)])


def assert_found(rays, expected, atol=1e-3):
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1)
    np.testing.assert_allclose((rays @ expected.T).max(axis=0), 1, atol=atol)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_planted_rays_are_found(make):
    found = look(make(X))
    assert_found(found.rays, leading(X))
    np.testing.assert_array_equal(found.basis, np.eye(12))


def test_rays_of_signed_rows_have_both_signs():
    signed = X * np.where(np.arange(12) % 2, -1, 1)
    assert_found(look(signed).rays, leading(signed))
    mirrored = np.where((Y == 2)[:, None], -X, X)  # a ray of which no entry is positive
    assert_found(look(mirrored).rays, leading(mirrored))
    zeros = np.where(X > 1, X, 0)
    assert (look(zeros).rays >= 0).all()


def test_rows_that_are_zero_or_weigh_nothing_have_no_part():
    weight, rows = ONES.copy(), X.copy()
    weight[Y == 2], rows[Y == 1] = 0, 0
    for made in (rows, sp.csr_array(rows)):
        found = look(made, weight=weight)
        assert (found.rays @ leading(X)[0] > 0.9).all()  # all that is left is the first
    few = look(X, weight=np.where(np.arange(90) < 2, ONES[:, 0], 0)[:, None])
    assert few.rays.shape == (2, 12)
    none = look(0 * X)
    assert (none.rays.shape, none.basis.shape) == ((0, 12), (12, 0))


def test_weights_count():
    weight = np.where(Y == 0, 1e6, 1.0)[:, None]
    (ray,) = look(X, 1, weight).rays
    assert ray @ leading(X)[0] == pytest.approx(1, abs=1e-3)


def test_missing_values_do_not_hide_the_rays():
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    assert_found(look(holes).rays, leading(X), atol=0.02)
