"""The row problem is solved exactly, by NumPy and by machine code alike."""

import sys
from functools import partial
from itertools import chain, combinations

import numpy as np
import pytest

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.palm.penalties import NSNCP, SNCP
from onmf.search import row_problems as rows
from onmf.search.row_problems import unit

compiled = pytest.importorskip("onmf.search.kernels", reason="needs the compiled kernels")
MODULES = {"numpy": rows, "C": compiled}


def memberships(module, Q, C, guess):
    return module.solve_rows(Q, C, guess, np.zeros((len(C), 1)))[0]


@pytest.fixture(params=MODULES)
def solve(request):
    return partial(memberships, MODULES[request.param])


def problem(seed, k=5, n=30, tau=0.1, alike=0.5):
    rng = np.random.default_rng(seed)
    U = unit(rng.random((k, 8)) + alike * rng.random(8))
    A = rng.exponential(size=(n, 8)) @ U.T
    return (1 - tau) * U @ U.T + tau, A, A == A.max(axis=1, keepdims=True)


def by_trying_all_supports(Q, c):
    """Least h'Qh - 2c'h over h >= 0: the best of the stationary points on every support."""
    k, best = len(c), (0.0, np.zeros(len(c)))
    for S in chain.from_iterable(combinations(range(k), size) for size in range(1, k + 1)):
        h = np.zeros(k)
        h[[*S]] = np.linalg.solve(Q[np.ix_(S, S)], c[[*S]])
        if (h >= 0).all():
            best = min(best, (h @ Q @ h - 2 * c @ h, h), key=lambda pair: pair[0])
    return best[1]


@pytest.mark.parametrize("tau", [1e-3, 0.1, 0.5])
def test_no_support_gives_a_lower_value(solve, tau):
    Q, C, guess = problem(0, tau=tau)
    expected = [by_trying_all_supports(Q, c) for c in C]
    np.testing.assert_allclose(solve(Q, C, guess), expected, atol=1e-7)


@pytest.mark.parametrize("alike", [0.1, 5, 100])
def test_numpy_and_machine_code_agree(alike):
    Q, C, guess = problem(1, k=12, n=300, alike=alike)
    Y = np.random.default_rng(2).random((300, 7))
    for ours, theirs in zip(
        rows.solve_rows(Q, C, guess, Y), compiled.solve_rows(Q, C, guess, Y), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6 * np.abs(ours).max())


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_the_sums_of_the_row_problems_are_those_of_their_answers(module):
    Q, C, guess = problem(6)
    Y = np.random.default_rng(2).random((30, 7))
    H, gram, cross = module.solve_rows(Q, C, guess, Y)
    np.testing.assert_allclose(gram, H.T @ H, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cross, H.T @ Y, rtol=1e-12, atol=1e-12)


def test_the_guess_does_not_matter(solve):
    Q, C, guess = problem(2)
    np.testing.assert_allclose(solve(Q, C, guess), solve(Q, C, ~guess), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_length_of_a_sample_only_scales_its_row(solve, scale):
    Q, C, guess = problem(3)
    np.testing.assert_allclose(solve(Q, scale * C, guess) / scale, solve(Q, C, guess), rtol=1e-6)


def test_equal_prototypes_and_rows_without_products_are_harmless(solve):
    H = solve(np.ones((3, 3)), np.array([[1.0, 1, 1], [0, 0, 0], [-1, -2, -3]]), np.eye(3) > 0)
    assert np.isfinite(H).all()
    assert H[0].sum() == pytest.approx(1)
    assert not H[1:].any()


@pytest.mark.parametrize("penalty", [SNCP(), NSNCP()])
def test_at_tau_one_every_row_has_one_entry(solve, penalty):
    rng = np.random.default_rng(4)
    U = unit(rng.random((6, 9)))
    A = rng.exponential(size=(50, 9)) @ U.T
    Q, C = penalty.row_problem(U @ U.T, A, 1.0)
    H = solve(Q, C, A == A.max(axis=1, keepdims=True))
    assert ((H > 1e-9).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(H.argmax(axis=1), A.argmax(axis=1))
    np.testing.assert_allclose(H.max(axis=1), A.max(axis=1), rtol=1e-6)


@pytest.mark.parametrize("asked", [True, False], ids=["by the environment", "none was built"])
def test_without_compiled_kernels_numpy_gives_the_same_answer(asked, monkeypatch):
    rows.kernel_module.cache_clear()
    if asked:
        monkeypatch.setenv("ONMF_KERNELS", "numpy")
    else:
        monkeypatch.setitem(sys.modules, "onmf.search.kernels", None)
        monkeypatch.delattr("onmf.search.kernels")
    assert rows.kernels() is rows
    assert not rows.is_compiled()
    X, _ = make_rays(200, 30, 4, noise=0.2, random_state=0)
    plain = ONMF(4, random_state=0).fit(X).labels_
    monkeypatch.undo()
    rows.kernel_module.cache_clear()
    assert rows.kernels() is compiled
    assert rows.is_compiled()
    np.testing.assert_array_equal(ONMF(4, random_state=0).fit(X).labels_, plain)
