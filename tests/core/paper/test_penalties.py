"""What a penalty promises: it vanishes on one-sparse rows only, its slope is its slope, its prox
minimises."""

import numpy as np
import pytest

import reference
from onmf.core.paper.penalties import NSNCP, PENALTIES, SNCP, General

SEEDS = range(30)


def total(penalty, h):
    return float(penalty.rows(h[None])[0])


def test_vanishes_exactly_on_one_sparse_rows(any_penalty):
    H = np.diag([0.0, 1.0, 2.0])
    assert any_penalty.rows(H) == pytest.approx(np.zeros(3), abs=1e-12)
    H[1, 0] = 0.3
    assert any_penalty.rows(H)[1] > 1e-3


@pytest.mark.parametrize("name", PENALTIES)
def test_value_is_the_papers(name):
    definition = {"sncp": reference.smooth, "nsncp": reference.nonsmooth}[name]
    H = np.random.default_rng(0).exponential(size=(20, 5))
    expected = [definition(h) for h in H]
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


@pytest.mark.parametrize("seed", SEEDS)
def test_quadratic_linear_and_rest_add_up_to_the_penalty(penalty, seed):
    """phi = 1/2 h'Qh + b 1'h + r with r = 0 (smooth) or -||h||_inf (non-smooth)."""
    h = np.random.default_rng(seed).exponential(size=4)
    rest = 0 if isinstance(penalty, SNCP) else -h.max()
    built = h @ penalty.curvature(4) @ h / 2 + penalty.slope * h.sum() + rest
    assert built == pytest.approx(total(penalty, h))


@pytest.mark.parametrize("seed", SEEDS)
def test_prox_beats_every_candidate(penalty, seed):
    """Proposition 2, and the projection, against a cloud of candidates and the corners."""
    rng = np.random.default_rng(seed)
    v, step = rng.normal(size=5), rng.exponential()
    weight = step if isinstance(penalty, NSNCP) else 0

    def objective(u):
        return np.sum((u - v) ** 2) / 2 - weight * u.max()

    u = penalty.prox(v[None].copy(), step)[0]
    nearby = u + rng.normal(size=(500, 5)) * rng.choice([1e-3, 1e-1, 1], size=(500, 1))
    corners = np.maximum(v, 0) + step * np.eye(5)
    assert (u >= 0).all()
    assert objective(u) <= min(map(objective, [*nearby.clip(min=0), *corners])) + 1e-12


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
