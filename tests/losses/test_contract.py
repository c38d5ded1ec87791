"""What every loss of `LOSSES` promises, from its definition in ``tests/reference.py``."""

import math
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.stats import spearmanr

from losses_cases import (
    K,
    definition,
    planted,
    table_of_losses,
    total_loss,
    whole,
)
from onmf.estimators.parameters import bounds_by_sign
from onmf.losses import LOSSES
from onmf.losses.alternation import Settings, settle
from onmf.losses.support import EVERY_FEATURE
from onmf.paper.penalties import SNCP
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block, count_missing, row_sqnorm
from onmf.search.outliers import POWERS, OutlierLimit
from onmf.search.solver import SearchSettings

N = 45
WEIGHT = np.random.default_rng(1).integers(1, 4, N).astype(float)
KINDS = {  # of samples -> whether a loss may have them
    "positive": lambda loss: True,
    "sparse": lambda loss: True,
    "zeros": lambda loss: math.isfinite(definition(loss).entry(0.0, 1.0)),
    "signed": lambda loss: "signed" in loss.supports,
    "missing": lambda loss: "missing" in loss.supports,
}
CASES = [(loss, kind) for loss in LOSSES.values() for kind, may in KINDS.items() if may(loss)]


class Case(NamedTuple):
    """Samples, poor centroids for them, and loss and best multiple of each pair, by trying."""

    loss: Any
    X: Any
    W: Any
    losses: Any
    multiples: Any


@cache
def case_of(loss, kind="positive"):
    rng = np.random.default_rng(2)
    X, _ = planted(N)
    W = X.mean(axis=0) * rng.lognormal(0, 0.5, (K, X.shape[1]))
    if kind == "zeros":
        X[rng.random(X.shape) < 0.2] = 0
        X[5] = 0
    elif kind == "signed":
        X, W = X - X.mean(), W - W.mean()
        X[5] = -W.sum(axis=0) - 10 * W[1]
    elif kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    tables = table_of_losses(loss, X, W)
    return Case(loss, sp.csr_array(X) if kind == "sparse" else X, W, *tables)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.fixture(params=LOSSES.values(), ids=list(LOSSES))
def loss(request):
    return request.param


@pytest.fixture(params=CASES, ids=[f"{loss.name}-{kind}" for loss, kind in CASES])
def case(request):
    return case_of(*request.param)


def assignment_of(loss, X, W, limit=None):
    return replace(loss.assignment(W, count_missing(X)), limit=limit)


def alternation_of(loss, X, weight=None, limit=None):
    data = InMemory(X, weight, n_missing=count_missing(X))
    settings = Settings(SearchSettings(bounds=bounds_by_sign(data.extremes)), SNCP())
    return replace(loss.alternation(data, settings), limit=limit)


def own(table, labels):
    """The entry of each row at its label."""
    return table[np.arange(len(labels)), labels]


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
    assignment = loss.assignment(W)
    (_, distance), _ = assignment.nearness(Block(X, WEIGHT[:, None]), None)
    near_ones = distance < np.quantile(distance, 0.5)
    np.testing.assert_allclose(
        loss.cosine(distance)[near_ones], cosines.max(axis=1)[near_ones], atol=0.02
    )
    falling = loss.cosine(np.linspace(0, 1, 50))
    assert falling[0] == 1
    assert (np.diff(falling) <= 0).all()
    assert falling[-1] >= 0


@pytest.mark.parametrize("equal_votes", [False, True])
def test_a_sample_counts_in_the_view_for_its_size_or_for_one(loss, equal_votes):
    X = case_of(loss).X
    data = InMemory(X, WEIGHT)
    data = loss.with_equal_votes(data) if equal_votes else data
    seen, weight = loss.view(data, equal_votes).take(np.arange(N))
    size = 1 if equal_votes else np.array([definition(loss).size(x) for x in X])
    np.testing.assert_allclose(weight[:, 0] * row_sqnorm(seen), WEIGHT * size)
    alike = loss.view_rows(X)
    np.testing.assert_allclose(
        seen / np.linalg.norm(seen, axis=1)[:, None], alike / np.linalg.norm(alike, axis=1)[:, None]
    )


def test_the_alternation_measures_the_loss_and_never_raises_it(case):
    loss, X, W, losses, _ = case
    alternation = alternation_of(loss, X, WEIGHT)
    state = alternation.begin(W)
    assert alternation.loss(state) == pytest.approx(WEIGHT @ losses.min(axis=1))
    assert alternation.whole == pytest.approx(whole(loss, dense(X), WEIGHT))
    states = [state]
    while not states[-1].settled and len(states) < 30:
        new = alternation.after(states[-1])
        if new is None:
            break
        states.append(new)
    left = np.array([alternation.loss(state) for state in states])
    assert len(left) > 2
    assert left[-1] < 0.99 * left[0]
    assert (np.diff(left) <= 1e-12 * left[0]).all()
    errors = [alternation.error(state) for state in states]
    np.testing.assert_allclose(errors, left / alternation.whole)
    gains = np.diff([alternation.explained(state) for state in states])
    np.testing.assert_allclose(gains, -np.diff(left), atol=1e-9 * left[0])
    assert [alternation.objective(s) for s in states] == list(map(alternation.explained, states))
    assert left[-1] == pytest.approx(total_loss(loss, dense(X), states[-1].W, WEIGHT))


def test_the_alternation_ends_where_no_other_centroids_are_better_for_their_samples(loss):
    X, W = case_of(loss)[1:3]
    alternation = alternation_of(loss, X, WEIGHT)
    end = settle(alternation, W, 200)
    assert end.settled
    assert alternation.stationarity(end) < 1e-6
    assert (end.sums.samples == np.bincount(end.labels(alternation.data), minlength=K)).all()
    labels, rng = end.labels(alternation.data), np.random.default_rng(3)
    for k in range(K):
        rows, weight = X[labels == k], WEIGHT[labels == k]
        least = total_loss(loss, rows, end.W[k : k + 1], weight)
        for w in end.W[k] * rng.lognormal(0, 0.3, size=(3, len(end.W[k]))):
            assert total_loss(loss, rows, w[None], weight) > least


@pytest.mark.parametrize("power", POWERS)
def test_beyond_the_limit_a_sample_has_no_cluster_and_its_loss_is_capped(loss, power):
    """Outliers: loss > height size^power; the cap is the loss at which both sides are equal."""
    _, X, W, losses, multiples = case_of(loss)
    labels, left = losses.argmin(axis=1), losses.min(axis=1)
    sizes = np.array(
        [definition(loss).size(y) for y in own(multiples, labels)[:, None] * W[labels]]
    )
    height = float(np.sort(left / sizes**power)[N // 2 - 1 : N // 2 + 1].mean())
    limit, outside = OutlierLimit(height, power), left > height * sizes**power
    caps = np.array([cap(total, height, power) for total in left + sizes])
    code, fit = assignment_of(loss, X, W, limit)(Block(X, WEIGHT[:, None]), None)
    np.testing.assert_array_equal(code.labels, np.where(outside, -1, labels))
    alternation = alternation_of(loss, X, WEIGHT, limit)
    state = alternation.begin(W)
    np.testing.assert_array_equal(state.labels(alternation.data), np.where(outside, -1, labels))
    np.testing.assert_allclose(alternation.excess(state), left / caps, 1e-5)
    assert alternation.objective(state) == pytest.approx(-WEIGHT @ np.minimum(left, caps))
    nothing = [whole(loss, X, WEIGHT, only=[i]) for i in np.flatnonzero(outside)]
    lost = WEIGHT[~outside] @ left[~outside] + sum(nothing)
    assert alternation.loss(state) == pytest.approx(lost)
    assert fit.sqnorm - fit.explained == pytest.approx(lost)
    assert not alternation.membership(state)[outside].any()


def test_outliers_do_not_move_a_centroid(loss):
    """All that one can do is to change the overall mean, a hundredth of which a centroid may be."""
    _, X, W, losses, _ = case_of(loss)
    spikes, wild = np.arange(0, N, 10), X.copy()
    wild[spikes, 1] *= 1e4
    inside = np.setdiff1d(np.arange(N), spikes)
    low, high = losses[inside].min(axis=1).max(), table_of_losses(loss, wild[spikes], W)[0].min()
    assert high > 10 * low
    limit, few = OutlierLimit(2 * low, 0.0), alternation_of(loss, X[inside], WEIGHT[inside])
    expected = few.after(few.begin(W)).W
    alternation = alternation_of(loss, wild, WEIGHT, limit)
    new = alternation.after(alternation.begin(W)).W
    turned = new / new.sum(axis=1)[:, None] - expected / expected.sum(axis=1)[:, None]
    assert np.abs(turned).sum(axis=1).max() / 2 < 0.0101


def cap(total, height, power):
    """cost with size + cost = total and cost = height size^power; all if size is below 0."""
    if power == 0 and total < height:
        return total
    return total - brentq(lambda size: size + height * size**power - total, 0, total, rtol=1e-14)


def test_a_state_comes_back_from_its_facts(loss):
    """Of an alternation that was interrupted; the limit and the turn are among them."""
    X, W = case_of(loss)[1:3]
    alternation = alternation_of(loss, X, WEIGHT, OutlierLimit(1e6, 0.5))
    state = alternation.after(alternation.begin(W))
    again = type(state).from_facts(state.facts())
    end = settle(alternation.resumed(again), again.W, 3, since=again)
    expected = settle(alternation, W, 4)
    np.testing.assert_allclose(end.W, expected.W, 1e-12)
    assert (end.turn, end.limit) == (expected.turn, expected.limit)
