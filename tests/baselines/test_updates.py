"""Each update against a slow loop from its formula, and two methods by hand."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from onmf.baselines import METHODS, Means, Start
from onmf.baselines.hals import update_centroids
from onmf.baselines.iterate import multiply_by_ratio
from onmf.baselines.onp_mf import descend_memberships, objective, polar
from onmf.datasets import make_rays
from onmf.palm.start import paper_start
from onmf.rows.memory import InMemory
from reference import (
    dtpp_pass,
    hals_pass,
    onmf_s_pass,
    onp_mf_lagrangian,
    onp_mf_pass,
)

PASSES = {"dtpp": dtpp_pass, "onmf-s": onmf_s_pass, "hals": hals_pass}


def problem(seed, n=9, m=6, k=3):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(n, m)), rng.random((n, k)), rng.random((k, m))


@pytest.mark.parametrize("method", PASSES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_four_iterations_are_those_of_the_formula(method, make, seed):
    X, H, W = problem(seed)
    found = METHODS[method](InMemory(make(X)), Start(H, W, 0), tol=0, max_iter=4)
    A, B = W.T, H.T
    for stage in found.history:
        A_before, B_before = A, B
        A, B = PASSES[method](X.T, A, B)
        change = np.linalg.norm(A - A_before) / np.linalg.norm(A_before)
        change += np.linalg.norm(B - B_before) / np.linalg.norm(B_before)
        assert stage.residual == pytest.approx(change, rel=1e-8)
        error = np.sum((X.T - A @ B) ** 2) / np.sum(X**2)
        assert stage.relative_error == pytest.approx(error, rel=1e-8)
    np.testing.assert_allclose(found.W, A.T, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.H, B.T, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_onp_mf_is_the_step_with_full_decompositions_and_row_by_row_least_squares(seed):
    X, _ = make_rays(30, 12, 3, noise=0.5, random_state=seed)
    data = InMemory(X)
    rows, W = paper_start(data, 3, seed)
    H = data.gather(rows)
    found = METHODS["onp-mf"](data, Start(H, W, 0), tol=0, max_iter=30)
    B, Z, rho = H.T, np.zeros((3, 30)), 0.01
    for t in range(1, 31):
        assert found.history[t - 1].rho == pytest.approx(rho)
        A, B, Z, rho = onp_mf_pass(X.T, B, Z, rho, t)
        error = np.sum((X.T - A @ B) ** 2) / np.sum(X**2)
        assert found.history[t - 1].relative_error == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(found.W, A.T, atol=1e-8)
    np.testing.assert_allclose(found.H, np.maximum(B.T, 0), atol=1e-8)


def test_dtpp_by_hand():
    # H'X = [[4, 0], [4, 1]], H'H W = [[2, 2], [3, 3]], hence W = [[2, 0], [4/3, 1/3]];
    # XW' = [[8, 16/3], [0, 1/3]], H H'XW' = [[16, 11], [8, 17/3]].
    X, H, W = np.array([[4.0, 0], [0, 1]]), np.array([[1.0, 1], [0, 1]]), np.ones((2, 2))
    found = METHODS["dtpp"](InMemory(X), Start(H, W, 0), max_iter=1)
    np.testing.assert_allclose(found.W, [[2, 0], [4 / 3, 1 / 3]])
    roots = [[np.sqrt(8 / 16), np.sqrt((16 / 3) / 11)], [0, np.sqrt((1 / 3) / (17 / 3))]]
    np.testing.assert_allclose(found.H, roots)


def test_hals_by_hand():
    # A = X, B = I. j = 0: others (1, 1), v = (4, 0), along 4/2, left (2, -2), clipped, unit (1, 0).
    # j = 1: others (1, 0), v = (0, 1) is orthogonal to them. Then H'X = X and H'H = I: W = X.
    X, H, W = np.array([[4.0, 0], [0, 1]]), np.array([[1.0, 1], [0, 1]]), np.eye(2)
    found = METHODS["hals"](InMemory(X), Start(H, W, 0), max_iter=1)
    np.testing.assert_allclose(found.H, np.eye(2), atol=1e-29)
    np.testing.assert_allclose(found.W, X, atol=1e-29)
    assert found.H.min() > 0  # clipped at 1e-30, not at 0


@pytest.mark.parametrize("seed", range(5))
def test_the_steps_on_w_never_raise_the_error(seed):
    X, H, W = problem(seed)
    error = [np.sum((X - H @ W) ** 2)]
    for step in (lambda W: multiply_by_ratio(W, H.T @ X, H.T @ H @ W), lambda W: half(W, X, H)):
        for _ in range(10):
            W = step(W)
            error.append(np.sum((X - H @ W) ** 2))
    assert np.diff(error).max() <= 1e-12 * error[0]


def half(W, X, H):
    """The step of HALS for columns of unit length, which is when it is exact."""
    size = np.linalg.norm(H, axis=0)
    U = H / size
    return update_centroids(W * size[:, None], U.T @ X, U.T @ U) / size[:, None]


@pytest.mark.parametrize("seed", range(5))
def test_the_step_of_onp_mf_stays_orthonormal_and_descends(seed):
    X, H, W = problem(seed, n=40)
    H = polar(H - 0.4)
    Z, rho = np.random.default_rng(seed).random(H.shape), 3.0
    new = descend_memberships(H, X @ W.T, W @ W.T, Z, rho)
    np.testing.assert_allclose(new.T @ new, np.eye(3), atol=1e-12)
    fall = np.subtract(*(onp_mf_lagrangian(X.T, W.T, A.T, Z.T, rho) for A in (H, new)))
    assert fall > 0
    short = objective(H, X @ W.T + Z, rho) - objective(new, X @ W.T + Z, rho)
    assert short == pytest.approx(fall)


@pytest.mark.parametrize("seed", range(5))
def test_the_polar_factor_is_the_nearest_orthonormal_matrix(seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(8, 3))
    P = polar(Y)
    np.testing.assert_allclose(P.T @ P, np.eye(3), atol=1e-12)
    others = (np.linalg.qr(P + 0.1 * rng.normal(size=P.shape))[0] for _ in range(100))
    signed = (Q * np.sign(np.einsum("ij,ij->j", Q, P)) for Q in others)
    assert all(np.linalg.norm(Y - Q) > np.linalg.norm(Y - P) for Q in signed)


def test_with_orthonormal_memberships_least_squares_is_a_clip():
    X, H, _ = problem(0, n=20)
    H = polar(H - 0.5)
    direct = np.array([scipy.optimize.nnls(H, x)[0] for x in X.T]).T
    np.testing.assert_allclose(np.maximum(H.T @ X, 0), direct, atol=1e-12)


@pytest.mark.parametrize("method", ["k-means", "nmf"])
def test_more_iterations_of_scikit_learn_never_raise_the_error(method, planted):
    X, _ = planted
    rng = np.random.default_rng(0)
    start = Start(rng.random((120, 4)), X[:4].copy(), 0)
    errors = [
        METHODS[method](InMemory(X), start, max_iter=n, tol=0).relative_error for n in range(1, 8)
    ]
    assert np.diff(errors).max() <= 1e-14
    assert errors[-1] < errors[0]


def test_the_error_of_the_alternation_never_rises():
    X, _ = make_rays(300, 40, 5, noise=1.0, random_state=0)
    start = Start(np.ones((300, 5)), X[:5].copy(), 0)
    errors = [stage.relative_error for stage in METHODS["alternation"](InMemory(X), start).history]
    assert len(errors) > 3
    assert np.diff(errors).max() <= 1e-14


def test_the_alternation_ends_where_both_halves_agree():
    X, _ = make_rays(300, 40, 5, noise=1.0, random_state=0)
    found = METHODS["alternation"](InMemory(X), Start(np.ones((300, 5)), X[:5].copy(), 0), tol=1e-9)
    labels, rays = found.H.argmax(axis=1), found.W / np.linalg.norm(found.W, axis=1)[:, None]
    np.testing.assert_array_equal(labels, (X @ rays.T).argmax(axis=1))
    for k, ray in enumerate(rays):
        leading = np.linalg.svd(X[labels == k])[2][0]
        assert abs(leading @ ray) == pytest.approx(1, abs=1e-10)


def test_a_multiplied_zero_stays_zero_over_zero():
    A = np.array([0.0, 0.0, 2.0])
    up, down = np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.0, 4.0])
    assert multiply_by_ratio(A, up, down).tolist() == [0, 0, 1.5]


def test_the_nearest_mean_is_the_one_at_the_smallest_distance():
    rng = np.random.default_rng(0)
    X, W, weight = rng.random((50, 6)), rng.random((4, 6)), rng.random(50)
    X[7] = 0
    [code], fit = InMemory(X, weight).sweep(Means(W))
    distances = np.linalg.norm(X[:, None] - W, axis=2)
    expected = distances.argmin(axis=1)
    expected[7] = -1
    np.testing.assert_array_equal(code.labels, expected)
    np.testing.assert_array_equal(Means(W).memberships(code).sum(axis=1), np.arange(50) != 7)
    left = np.sum(weight * np.where(np.arange(50) == 7, 0, distances.min(axis=1) ** 2))
    assert fit.sqnorm - fit.explained == pytest.approx(left)
