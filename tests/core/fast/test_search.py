"""The path and the swaps: each step lowers what it says it lowers."""

import numpy as np
import pytest

from onmf.core.fast import kernels as compiled
from onmf.core.fast import row_problems as plain
from onmf.core.fast.row_problems import solve_rows
from onmf.core.fast.search import alternate, draw, follow, pulled, spread, unit
from onmf.core.fast.swaps import improve
from onmf.core.paper.penalties import PENALTIES, RowPenalty

ROW_PENALTIES = {name: kind for name, kind in PENALTIES.items() if isinstance(kind, RowPenalty)}


def one_sparse_scores(A):
    """The largest score of each row alone."""
    return np.where(A == A.max(axis=1, keepdims=True), A, 0)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    rays = rng.gamma(1.0, size=(5, 12))
    return rng.uniform(0.5, 2, (80, 1)) * rays[np.arange(80) % 5] + 0.3 * rng.random((80, 12))


def objective(name, Y, H, U, A, tau):
    """The two penalised problems, entry by entry. A are the scores that chose b and s."""
    total = np.sum((Y - H @ U) ** 2)
    C = U @ U.T
    for h, a in zip(H, A, strict=True):
        if name == "sncp":
            pairs = ((k, m) for k in range(len(h)) for m in range(len(h)) if k != m)
            total += tau * sum((1 - C[k, m]) * h[k] * h[m] for k, m in pairs)
        else:
            b = a.argmax()
            total += 2 * tau * a[b] * sum((1 - C[k, b]) * h[k] for k in range(len(h)) if k != b)
    return total


@pytest.mark.parametrize("name", ROW_PENALTIES)
@pytest.mark.parametrize("tau", [0.01, 0.3])
def test_both_half_steps_lower_the_penalised_objective(rows, name, tau):
    penalty = ROW_PENALTIES[name]
    U = unit(np.random.default_rng(1).random((5, 12)))
    A = rows @ U.T
    before = objective(name, rows, one_sparse_scores(A), U, A, tau)
    H = solve_rows(*penalty.row_problem(U @ U.T, A, tau), one_sparse_scores(A) > 0)
    after_rows = objective(name, rows, H, U, A, tau)
    U_new = pulled(U, H.T @ rows, penalty.pull(H.T @ H, H, A, tau), passes=1)
    after_rays = objective(name, rows, H, U_new, A, tau)
    assert after_rows < before
    assert after_rays < after_rows


@pytest.mark.parametrize("name", ROW_PENALTIES)
def test_no_other_unit_vector_beats_the_step_on_one_prototype(rows, name):
    rng, tau, penalty = np.random.default_rng(2), 0.2, ROW_PENALTIES[name]
    U = unit(rng.random((5, 12)))
    A = rows @ U.T
    H = solve_rows(*penalty.row_problem(U @ U.T, A, tau), one_sparse_scores(A) > 0)
    E, P = penalty.pull(H.T @ H, H, A, tau), H.T @ rows
    best = unit((P[0] - E[0] @ U + E[0, 0] * U[0])[None])
    value = objective(name, rows, H, np.vstack([best, U[1:]]), A, tau)
    for other in unit(best + rng.normal(size=(100, 12)) * rng.choice([0.01, 0.3], (100, 1))):
        assert value <= objective(name, rows, H, np.vstack([other, U[1:]]), A, tau) + 1e-9


@pytest.mark.parametrize("name", ROW_PENALTIES)
def test_the_path_ends_with_nearly_one_sparse_rows(rows, name):
    energy = np.einsum("ij,ij->i", rows, rows)
    start = spread(rows, energy, 5, np.random.default_rng(0))
    points = list(follow(rows, start, ROW_PENALTIES[name], np.geomspace(1e-3, 0.5, 20)))
    assert points[-1].overlap < 0.1 * max(points[0].overlap, 0.05)
    assert points[0].error <= points[-1].error
    np.testing.assert_allclose(np.linalg.norm(points[-1].U, axis=1), 1)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_path_has_no_units(rows, scale):
    start = unit(np.random.default_rng(1).random((5, 12)))
    ends = [
        list(follow(factor * rows, start, ROW_PENALTIES["sncp"], np.array([0.01, 0.1])))[-1].U
        for factor in (1, scale)
    ]
    np.testing.assert_allclose(*ends, rtol=1e-6)


def test_alternation_explains_more_and_more(rows):
    U = unit(np.random.default_rng(3).random((3, 5, 12)))
    energies = [alternate(rows, U, passes).energy for passes in range(6)]
    assert (np.diff(energies, axis=0) >= -1e-9).all()
    single = alternate(rows, U[1:2], 4)
    np.testing.assert_allclose(alternate(rows, U, 4).energy[1], single.energy[0])


@pytest.mark.parametrize("module", [plain, compiled], ids=["numpy", "numba"])
def test_gain_of_a_swap_is_what_trying_it_shows(rows, module):
    rng = np.random.default_rng(4)
    U, Z = unit(rng.random((4, 12))), unit(rng.random((6, 12)))

    def energy(prototypes):
        return np.square(np.maximum(rows @ prototypes.T, 0).max(axis=1)).sum()

    gains = module.swap_gains(rows @ U.T, rows @ Z.T)
    for k in range(4):
        for j in range(6):
            swapped = np.vstack([np.delete(U, k, axis=0), Z[j]])
            assert gains[k, j] == pytest.approx(energy(swapped) - energy(U))


def test_swaps_leave_a_bad_optimum(rows):
    """Two prototypes on one ray and one for two others: alternation is stuck, swaps are not."""
    energy = np.einsum("ij,ij->i", rows, rows)
    U = unit(np.array([rows[0], rows[5], rows[1], rows[2], rows[3] + rows[4]]))
    stuck = alternate(rows, U[None], 50)
    better = alternate(rows, improve(rows, energy, stuck, np.random.default_rng(0))[None], 50)
    assert better.energy[0] > stuck.energy[0] * 1.01
    assert len({*zip(np.arange(80) % 5, better.scores[:, 0].argmax(axis=1), strict=True)}) == 5


@pytest.mark.parametrize("k", [1, 5])
def test_compiled_images_and_gains_are_those_of_numpy(rows, k):
    rng = np.random.default_rng(5)
    U, Z = unit(rng.normal(size=(3, k, 12))), unit(rng.normal(size=(7, 12)))
    A = (rows @ U.reshape(-1, 12).T).reshape(80, 3, k)
    for ours, theirs in zip(plain.images(A, rows), compiled.images(A, rows), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    gains = [module.swap_gains(A[:, 0], rows @ Z.T) for module in (plain, compiled)]
    np.testing.assert_allclose(*gains, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("module", [plain, compiled], ids=["numpy", "numba"])
def test_of_equal_prototypes_the_first_has_all_the_rows(rows, module):
    rng = np.random.default_rng(6)
    A = np.repeat((rows @ unit(rows[:1]).T)[:, None], 4, axis=2)
    A *= 1 + np.finfo(float).eps * rng.integers(-3, 4, A.shape)  # as rounding would leave them
    P, _ = module.images(A, rows)
    np.testing.assert_allclose(P[0, 0], A[:, 0, 0] @ rows)
    assert not P[0, 1:].any()


def test_draws_follow_the_weights_and_survive_having_none():
    rng = np.random.default_rng(0)
    drawn = draw(np.array([0.0, 1, 0, 3, 0]), 4000, rng)
    assert {*drawn} == {1, 3}
    assert np.mean(drawn == 3) == pytest.approx(0.75, abs=0.03)
    assert draw(np.zeros(4), 100, rng).max() < 4


def test_starts_are_unit_vectors_even_of_identical_rows():
    Y = np.ones((6, 3))
    U = spread(Y, np.full(6, 3.0), 4, np.random.default_rng(0))
    assert U.shape == (4, 3)
    np.testing.assert_allclose(np.linalg.norm(U, axis=1), 1)
