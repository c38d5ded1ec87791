"""The rivals: each update against a slow loop from its formula, two by hand, and all together."""

from itertools import islice

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from onmf.datasets import make_rays
from onmf_paper.bounds import partition_error
from onmf_paper.rivals import (
    K_MEANS,
    METHODS,
    Rival,
    descend_memberships,
    multiply_by_ratio,
    shared_draws,
)
from reference import dtpp_pass, hals_pass, onmf_s_pass, onp_mf_lagrangian, onp_mf_pass

PASSES = {"dtpp": dtpp_pass, "onmf-s": onmf_s_pass, "hals": hals_pass}


def problem(seed, n=9, m=6, k=3):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, size=(n, m)), rng.random((n, k)), rng.random((k, m))


@pytest.mark.parametrize("method", PASSES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(3))
def test_four_iterations_are_those_of_the_formula(method, make, seed):
    X, H, W = problem(seed)
    A, B = W.T, H.T
    for H_found, W_found in islice(METHODS[method](make(X), H, W), 4):
        A, B = PASSES[method](X.T, A, B)
        np.testing.assert_allclose(W_found, A.T, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(H_found, B.T, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_onp_mf_is_the_step_with_full_decompositions_and_row_by_row_least_squares(seed):
    X, _ = make_rays(30, 12, 3, noise=0.5, random_state=seed)
    H, W = shared_draws(X, 3, seed)
    B = np.eye(3)[H.argmax(axis=1)].T
    B, Z, rho = B / np.linalg.norm(B, axis=1)[:, None], np.zeros((3, 30)), 0.01
    for t, (H_found, W_found) in enumerate(islice(METHODS["onp-mf"](X, H, W), 30), 1):
        A, B, Z, rho = onp_mf_pass(X.T, B, Z, rho, t)
        np.testing.assert_allclose(W_found, A.T, atol=1e-8)
        np.testing.assert_allclose(H_found, B.T, atol=1e-8)


def test_dtpp_by_hand():
    # H'X = [[4, 0], [4, 1]], H'H W = [[2, 2], [3, 3]], hence W = [[2, 0], [4/3, 1/3]];
    # XW' = [[8, 16/3], [0, 1/3]], H H'XW' = [[16, 11], [8, 17/3]].
    X, H, W = np.array([[4.0, 0], [0, 1]]), np.array([[1.0, 1], [0, 1]]), np.ones((2, 2))
    H, W = next(METHODS["dtpp"](X, H, W))
    np.testing.assert_allclose(W, [[2, 0], [4 / 3, 1 / 3]])
    roots = [[np.sqrt(8 / 16), np.sqrt((16 / 3) / 11)], [0, np.sqrt((1 / 3) / (17 / 3))]]
    np.testing.assert_allclose(H, roots)


def test_hals_by_hand():
    # A = X, B = I. j = 0: others (1, 1), v = (4, 0), along 4/2, left (2, -2), clipped, unit (1, 0).
    # j = 1: others (1, 0), v = (0, 1) is orthogonal to them. Then H'X = X and H'H = I: W = X.
    X, H, W = np.array([[4.0, 0], [0, 1]]), np.array([[1.0, 1], [0, 1]]), np.eye(2)
    H, W = next(METHODS["hals"](X, H, W))
    np.testing.assert_allclose(H, np.eye(2), atol=1e-29)
    np.testing.assert_allclose(W, X, atol=1e-29)
    assert H.min() > 0  # clipped at 1e-30, not at 0


@pytest.mark.parametrize("seed", range(5))
def test_the_step_of_onp_mf_stays_orthonormal_and_descends(seed):
    X, H, W = problem(seed, n=40)
    U, _, Vt = np.linalg.svd(H - 0.4, full_matrices=False)
    Z, rho = np.random.default_rng(seed).random(H.shape), 3.0
    new = descend_memberships(U @ Vt, X @ W.T, W @ W.T, Z, rho)
    np.testing.assert_allclose(new.T @ new, np.eye(3), atol=1e-12)
    fall = np.subtract(*(onp_mf_lagrangian(X.T, W.T, A.T, Z.T, rho) for A in (U @ Vt, new)))
    assert fall > 0


def test_with_orthonormal_memberships_least_squares_is_a_clip():
    X, H, _ = problem(0, n=20)
    U, _, Vt = np.linalg.svd(H - 0.5, full_matrices=False)
    direct = np.array([scipy.optimize.nnls(U @ Vt, x)[0] for x in X.T]).T
    np.testing.assert_allclose(np.maximum((U @ Vt).T @ X, 0), direct, atol=1e-12)


def test_the_alternation_ends_where_both_halves_agree_and_never_rises():
    X, _ = make_rays(300, 40, 5, noise=1.0, random_state=0)
    found = Rival("alternation", 5, random_state=1, tol=1e-9).fit(X)
    labels, rays = found.labels_, found.cluster_centers_
    np.testing.assert_array_equal(labels, (X @ rays.T).argmax(axis=1))
    for k, ray in enumerate(rays):
        leading = np.linalg.svd(X[labels == k])[2][0]
        assert abs(leading @ ray) == pytest.approx(1, abs=1e-8)
    steps = islice(METHODS["alternation"](X, None, X[:5]), 12)
    errors = [1 - np.square(H).sum() / np.square(X).sum() for H, _ in steps]
    assert np.diff(errors).max() <= 1e-14


def test_a_multiplied_zero_stays_zero_over_zero():
    A = np.array([0.0, 0.0, 2.0])
    up, down = np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.0, 4.0])
    assert multiply_by_ratio(A, up, down).tolist() == [0, 0, 1.5]


@pytest.mark.parametrize("method", [*METHODS, *K_MEANS])
def test_every_method_gives_a_clustering_of_its_start(method):
    X, y = make_rays(120, 30, 3, noise=0.05, random_state=0)
    X[7] = 0
    X = np.where(X < 0.3, 0, X)
    found = Rival(method, 3, random_state=3, max_iter=500).fit(X)
    assert found.labels_[7] == -1
    assert not found.membership_[7].any()
    assert found.membership_.min() >= 0
    assert found.cluster_centers_.shape == (3, 30)
    again = Rival(method, 3, random_state=3, max_iter=500).fit(sp.csr_array(X))
    assert adjusted_rand_score(found.labels_, again.labels_) == 1
    best = min(
        partition_error(X, Rival(method, 3, random_state=s, max_iter=500).fit(X).labels_)
        for s in range(6)
    )
    assert best <= 1.05 * partition_error(X, np.where(np.arange(120) == 7, -1, y)) + 0.02


@pytest.mark.parametrize("method", METHODS)
def test_a_tolerance_stops_it_at_the_first_residual_below_and_a_limit_is_told(method):
    X, _ = make_rays(120, 30, 4, noise=0.5, random_state=0)
    loose = Rival(method, 4, tol=1e-2, max_iter=500).fit(X)
    assert loose.converged_
    assert loose.residuals_[-1] < 1e-2 <= min(loose.residuals_[:-1], default=1)
    short = Rival(method, 4, tol=1e-300, max_iter=1).fit(X)
    assert (short.n_iter_, short.converged_) == (1, False)


def test_k_means_is_scikit_learn_s_from_the_centroids_of_the_start():
    X, _ = make_rays(120, 30, 4, noise=0.5, random_state=0)
    found = Rival("k-means", 4, random_state=5).fit(X)
    first = shared_draws(X, 4, 5)[1]
    own = KMeans(4, init=first, n_init=1, tol=1e-6, max_iter=2000).fit(X)
    np.testing.assert_array_equal(found.labels_, own.labels_)


def test_negative_entries_are_for_k_means_only():
    X = np.array([[1.0, -1.0], [2.0, 0.5], [0.1, 3.0]])
    assert Rival("k-means", 2).fit(X).labels_.max() == 1
    with pytest.raises(ValueError, match="hals takes no negative entries; only K-means does"):
        Rival("hals", 2).fit(X)


def test_draws_are_the_paper_s_in_their_order():
    X = np.arange(12.0).reshape(4, 3)
    H, W = shared_draws(X, 2, 9)
    rng, s = np.random.RandomState(9), np.sqrt(X.mean() / 2)
    np.testing.assert_allclose(W, (s * rng.random_sample((3, 2))).T)
    np.testing.assert_allclose(H, s * rng.random_sample((4, 2)))
