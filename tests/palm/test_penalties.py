"""What a penalty promises: it vanishes on one-sparse rows only, its slope is its slope, its prox
minimises."""

import numpy as np
import pytest

from onmf.palm.penalties import NSNCP, PENALTIES, SNCP, General
from reference import PENALTY_DEFINITIONS

SEEDS = range(30)


def total(penalty, h):
    return float(penalty.rows(h[None])[0])


def test_vanishes_exactly_on_one_sparse_rows(any_penalty):
    H = np.diag([0.0, 1.0, 2.0])
    assert any_penalty.rows(H) == pytest.approx(np.zeros(3), abs=1e-12)
    H[1, 0] = 0.3
    assert any_penalty.rows(H)[1] > 1e-3


@pytest.mark.parametrize("name", PENALTIES)
def test_value_is_its_definition(name):
    H = np.random.default_rng(0).exponential(size=(20, 5))
    expected = [PENALTY_DEFINITIONS[name](h) for h in H]
    np.testing.assert_allclose(PENALTIES[name].rows(H), expected)


def test_general_penalty_at_1_2_2_is_the_smooth_one():
    H = np.random.default_rng(0).exponential(size=(20, 5))
    g = np.zeros_like(H)
    np.testing.assert_allclose(General(1, 2, 2).rows(H), SNCP().rows(H))
    np.testing.assert_allclose(
        General(1, 2, 2).gradient(H, g, 0.7), SNCP().gradient(H, g, 0.7), atol=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_is_the_finite_difference(any_penalty, seed):
    rng = np.random.default_rng(seed)
    h, d, rho = rng.exponential(size=5) + 0.05, rng.normal(size=5), rng.exponential()
    g = rng.normal(size=5)
    step = 1e-6
    slope = (total(any_penalty, h + step * d) - total(any_penalty, h - step * d)) / (2 * step)
    expected = g @ d + rho * slope
    assert any_penalty.gradient(h[None], g[None], rho)[0] @ d == pytest.approx(expected, rel=1e-5)


WITH_PROX = [name for name, penalty in PENALTIES.items() if hasattr(penalty, "prox")]


@pytest.mark.parametrize("name", WITH_PROX)
@pytest.mark.parametrize("seed", SEEDS)
def test_prox_beats_every_candidate(name, seed):
    """argmin_{u >= 0} 1/2 ||u - v||^2 + step r(u), r being what curvature and slope leave of phi.

    Against a cloud around the answer, the neighbourhood of v, and a grid that knows neither.
    """
    rng, penalty = np.random.default_rng(seed), PENALTIES[name]
    k = int(rng.integers(2, 5))
    v, step = rng.normal(size=k) - rng.choice([0, 1.5]), rng.exponential()

    def objective(U):
        quadratic = np.einsum("ik,kl,il->i", U, penalty.curvature(k), U) / 2
        rest = penalty.rows(U) - quadratic - penalty.slope * U.sum(axis=1)
        return np.sum((U - v) ** 2, axis=1) / 2 + step * rest

    u = penalty.prox(v[None].copy(), step)[0]
    nearby = u + rng.normal(size=(500, k)) * rng.choice([1e-3, 1e-1, 1], size=(500, 1))
    corners = np.maximum(v, 0) + step * np.vstack([np.eye(k), np.zeros(k)])
    axes = np.linspace(0, np.abs(v).max() + step, 12)
    grid = np.stack(np.meshgrid(*[axes] * k), axis=-1).reshape(-1, k)
    single = np.concatenate([t * np.eye(k) for t in np.linspace(0, axes[-1], 200)])
    others = np.vstack([nearby.clip(min=0), corners, grid, single])
    assert (u >= 0).all()
    assert objective(u[None])[0] <= objective(others).min() + 1e-12


def test_ties_at_the_top_are_never_stationary():
    """h = (1, 1): moving either entry up lowers -||h||_inf, so no gradient can balance both."""
    H = np.array([[1.0, 1.0]])
    for g in ([[0.0, 0.0]], [[0.0, -0.5]], [[-0.5, -0.5]], [[-0.5, 0.0]]):
        assert np.abs(NSNCP().gradient(H, np.array(g), 0.5)).max() > 0


@pytest.mark.parametrize("pqv", [(0.5, 2, 2), (2, 2, 2), (1, 3, 2), (1, 2, np.inf)])
def test_powers_that_are_not_smooth_are_refused(pqv):
    with pytest.raises(ValueError, match="1 <= p < q <= v"):
        General(*pqv)


def test_a_row_of_zeros_is_harmless(any_penalty):
    H = np.zeros((2, 3))
    assert not any_penalty.rows(H).any()
    assert np.isfinite(any_penalty.gradient(H, H.copy(), 1.0)).all()


# --- what the default solver asks of them ------------------------------------------------------


def row_data(seed):
    """Unit prototypes, their products C, and scores A of rows, some of which are all negative."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(4, 6))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    A = rng.normal(size=(30, 4))
    A[:5] = -np.abs(A[:5])
    return U @ U.T, A, rng.exponential(size=(30, 4))


def test_the_general_penalty_is_the_papers_by_default():
    H = np.random.default_rng(1).exponential(size=(20, 4))
    np.testing.assert_allclose(General().rows(H), SNCP().rows(H))
    np.testing.assert_allclose(
        General().gradient(H, np.zeros_like(H), 2.0), SNCP().gradient(H, np.zeros_like(H), 2.0)
    )
