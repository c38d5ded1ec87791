"""What every loss of `LOSSES` promises, from its definition in ``tests/reference.py``: how samples
are assigned to centroids, and compared with each other.

``test_contract_alternation.py``, ``_fits.py``, ``_features.py`` and ``_streams.py`` have the rest.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_rand_score

from losses_cases import (
    WEIGHT,
    K,
    N,
    assignment_of,
    case_of,
    definition,
    dense,
    own,
    planted,
    table_of_losses,
    whole,
)
from onmf.losses import LOSSES
from onmf.losses.support import EVERY_FEATURE
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block, row_sqnorm


def test_each_has_a_name_a_definition_and_features_that_exist(loss):
    assert LOSSES[loss.name] is loss
    assert loss.supports <= EVERY_FEATURE
    assert loss.words.error
    assert loss.words.loss
    x, y = [0.3, 2.0, 1.5], [0.4, 1.0, 3.0]
    double = definition(loss).loss([2 * v for v in x], [2 * v for v in y])
    assert double == pytest.approx(2**loss.degree * definition(loss).loss(x, y))


def test_a_sample_has_the_centroid_and_the_multiple_of_the_least_loss(case):
    loss, X, W, losses, multiples = case
    assignment = assignment_of(loss, X, W)
    code, fit = assignment(Block(X, WEIGHT[:, None]), None)
    expected = np.where(multiples.max(axis=1) > 0, losses.argmin(axis=1), -1)
    np.testing.assert_array_equal(code.labels, expected)
    H, inside = assignment.memberships(code), expected >= 0
    assert ((H > 0).sum(axis=1) == inside).all()
    np.testing.assert_allclose(H.max(axis=1), np.where(inside, own(multiples, expected), 0), 1e-5)
    np.testing.assert_allclose(assignment.rescaled(4.0).memberships(code), 4 * H)
    assert fit.sqnorm == pytest.approx(whole(loss, dense(X), WEIGHT))
    assert fit.sqnorm - fit.explained == pytest.approx(WEIGHT @ losses.min(axis=1))


def test_the_loss_of_factors_is_that_of_their_product(loss):
    """Each sample has its multiple of one centroid, of any length."""
    rng = np.random.default_rng(0)
    X, y = planted(N)
    W, h = 0.1 + rng.random((K, X.shape[1])), rng.uniform(0.5, 9, N)
    H = np.eye(K)[y] * h[:, None]
    expected = sum(definition(loss).loss(x, row) for x, row in zip(X, H @ W, strict=True))
    for made in (X, sp.csr_array(X)):
        assert loss.value(made, H, W) == pytest.approx(expected)


def test_what_finds_outliers_is_the_loss_and_the_size(case):
    loss, X, W, losses, multiples = case
    assignment = assignment_of(loss, X, W)
    code, _ = assignment(Block(X, WEIGHT[:, None]), None)
    total, score = assignment.total_and_score(row_sqnorm(X), code)
    complete = np.isfinite(dense(X)).all(axis=1)  # the others count as if they were complete
    left = np.where(losses.min(axis=1) < np.inf, losses.min(axis=1), 0)
    np.testing.assert_allclose((total - score**2)[complete], left[complete], 1e-6, 1e-9)
    best = own(multiples, code.labels)[:, None] * W[code.labels]
    sizes = [definition(loss).size(y) for y in best]
    np.testing.assert_allclose(score[complete] ** 2, np.array(sizes)[complete], 1e-5)


def test_scores_order_the_centroids_as_the_losses_do(case):
    loss, X, W, losses, multiples = case
    scores = assignment_of(loss, X, W).scores(Block(X, WEIGHT[:, None]))
    there = multiples.max(axis=1) > 0
    better = (losses[:, :, None] < losses[:, None] * (1 - 1e-6)) & there[:, None, None]
    assert better.any()
    assert (scores[:, :, None] > scores[:, None])[better].all()
    assert scores.max() <= 1
    assert not scores[~row_sqnorm(X).astype(bool)].any()


def test_margin_and_distance_are_those_of_its_scores(case):
    loss, X, W, losses, multiples = case
    block, assignment = Block(X, WEIGHT[:, None]), assignment_of(loss, X, W)
    (margin, distance), _ = assignment.nearness(block, None)
    second, first = np.sort(np.maximum(assignment.scores(block), 0), axis=1)[:, -2:].T
    np.testing.assert_allclose(margin, first - second, atol=1e-12)
    there = multiples.max(axis=1) > 0
    shares = losses.min(axis=1)[there]
    shares /= [definition(loss).size([v for v in x if v == v]) for x in dense(X)[there]]
    assert spearmanr(distance[there], shares).statistic == pytest.approx(1)
    assert (distance[~there] == 1).all()
    on_centroids = Block(3 * W, np.ones((K, 1)))
    np.testing.assert_allclose(assignment.scores(on_centroids).max(axis=1), 1)
    np.testing.assert_allclose(assignment.nearness(on_centroids, None)[0].distance, 0, atol=1e-6)
    alone = assignment_of(loss, X, W[:1])
    np.testing.assert_allclose(
        alone.nearness(block, None)[0].margin, np.maximum(alone.scores(block)[:, 0], 0), atol=1e-12
    )


def test_cosines_in_the_view_compare_samples_nearly_as_the_loss_does(loss):
    X, y = planted(N, noise=0.3)
    W = np.array([X[y == k].mean(axis=0) for k in range(K)])
    losses, _ = table_of_losses(loss, X, W)
    rows, rays = (A / np.linalg.norm(A, axis=1)[:, None] for A in map(loss.view_rows, (X, W)))
    cosines = rows @ rays.T
    clear = np.ptp(losses, axis=1) > 0.1 * losses.max(axis=1)
    assert (cosines.argmax(axis=1) == losses.argmin(axis=1))[clear].mean() > 0.95


def test_a_sample_counts_in_the_view_for_its_size(loss):
    X = case_of(loss).X
    seen, weight = loss.view(InMemory(X, WEIGHT)).take(np.arange(N))
    size = np.array([definition(loss).size(x) for x in X])
    np.testing.assert_allclose(weight[:, 0] * row_sqnorm(seen), WEIGHT * size)
    alike = loss.view_rows(X)
    np.testing.assert_allclose(
        seen / np.linalg.norm(seen, axis=1)[:, None], alike / np.linalg.norm(alike, axis=1)[:, None]
    )


def test_a_quick_look_finds_the_clusters_of_the_view(loss):
    X, y = planted(90)
    seen = Block(loss.view_rows(X), np.ones((len(y), 1)))
    look = loss.quick_look(seen, K, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(look.rays, axis=1), 1)
    found = np.asarray(seen.X @ look.rays.T).argmax(axis=1)
    assert adjusted_rand_score(y, found) > 0.9
    few = Block(seen.X[:2], seen.weight[:2])
    assert len(loss.quick_look(few, K, np.random.default_rng(0)).rays) == 2
