"""Under the Kullback-Leibler divergence a sample gets the code that its definition asks for."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from onmf.losses.profiles import CountProfiles, root_shares
from onmf.rows.assign import nearness
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block


def divergence(x, y):
    """KL(x || y), entry by entry."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a * np.log(a / b) if a > 0 else 0.0) - a + b
    return total


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(9, 0.5), 4) * rng.uniform(1, 9, (4, 1)) + 1e-3
    X = rng.poisson(2.0, (25, 9)).astype(float)
    X[7] = 0
    return X, W, rng.uniform(0.5, 2, (25, 1))


def test_label_and_membership_are_the_best_of_all_multiples(problem):
    X, W, weight = problem
    shares = CountProfiles.of(W)
    code, _ = shares(Block(X, weight), None)
    H = shares.memberships(code)
    for i, x in enumerate(X):
        if not x.any():
            assert code.labels[i] == -1
            assert not H[i].any()
            continue
        best = [
            minimize_scalar(lambda h, w=w, x=x: divergence(x, h * w), bounds=(1e-3, 99)) for w in W
        ]
        k = int(np.argmin([found.fun for found in best]))
        assert code.labels[i] == k
        assert H[i, k] == pytest.approx(best[k].x, rel=1e-4)
        assert np.count_nonzero(H[i]) == 1


def test_what_is_explained_is_a_share_of_one_cluster_for_all(problem):
    X, W, weight = problem
    shares = CountProfiles.of(W)
    code, fit = shares(Block(X, weight), None)
    d, Y = weight[:, 0], shares.memberships(code) @ W
    left = sum(d[i] * divergence(X[i], Y[i]) for i in range(len(X)) if X[i].any())
    mean = d @ X / (d @ X).sum()
    whole = sum(d[i] * divergence(X[i], X[i].sum() * mean) for i in range(len(X)))
    assert fit.sqnorm == pytest.approx(whole)
    assert fit.explained == pytest.approx(whole - left)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_nothing_is_there_to_explain_where_all_samples_have_one_profile(problem, size):
    _, W, weight = problem
    X = size * np.outer(np.arange(1, 26), W[0])
    _, fit = CountProfiles.of(W)(Block(X, weight), None)
    assert fit.sqnorm == 0
    assert fit.explained == pytest.approx(0, abs=1e-9 * (weight[:, 0] @ X).sum())


def test_roots_of_shares(problem):
    X, _, _ = problem
    t = np.maximum(X.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(root_shares(X), np.sqrt(X / t))
    np.testing.assert_allclose(root_shares(sp.csr_array(X)).toarray(), np.sqrt(X / t))


def test_sparse_rows_and_single_precision_have_the_same_codes(problem):
    X, W, weight = problem
    code, fit = CountProfiles.of(W)(Block(X, weight), None)
    thin, same = CountProfiles.of(W)(Block(sp.csr_array(X), weight), None)
    np.testing.assert_array_equal(code.labels, thin.labels)
    assert same.explained == pytest.approx(fit.explained)
    single = Block(X.astype(np.float32), weight.astype(np.float32))
    half, near = CountProfiles.of(W.astype(np.float32))(single, None)
    np.testing.assert_array_equal(code.labels, half.labels)
    assert near.explained == pytest.approx(fit.explained, rel=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_feature_that_no_centroid_has_tells_nothing(problem, form):
    X, W, weight = problem
    code, fit = CountProfiles.of(W)(Block(X, weight), None)
    wider = np.hstack([X, np.arange(25.0)[:, None]])
    wide = CountProfiles.of(np.hstack([W, np.zeros((4, 1))]))
    same, known = wide(Block(form(wider), weight), None)
    np.testing.assert_array_equal(code.labels, same.labels)
    np.testing.assert_allclose(code.scores, same.scores)
    assert known.explained == pytest.approx(fit.explained)


def test_an_empty_cluster_gets_no_sample(problem):
    X, W, weight = problem
    W[2] = 0
    code, _ = CountProfiles.of(W)(Block(X, weight), None)
    assert 2 not in code.labels
    assert np.isfinite(code.scores).all()


def test_scores_margin_and_distance_follow_from_the_divergence(problem):
    X, W, weight = problem
    scores = CountProfiles.of(W).scores(Block(X, weight))
    small = CountProfiles.of(W).scores(Block(1e-6 * X, weight))
    np.testing.assert_allclose(small, scores, atol=1e-9)  # profiles have no units
    near = nearness(InMemory(X), CountProfiles.of(W))
    for i, x in enumerate(X):
        if x.any():
            own = [1 / (1 + divergence(x / x.sum(), w / w.sum())) for w in W]
            np.testing.assert_allclose(scores[i], own)
            second, first = np.sort(own)[-2:]
            assert near.margin[i] == pytest.approx(first - second)
            assert near.distance[i] == pytest.approx(np.sqrt(1 - first))
        else:
            assert not scores[i].any()
            assert near.margin[i] == 0
            assert near.distance[i] == 1
