"""What the alternation of every loss of `LOSSES` promises."""

import numpy as np
import pytest
from scipy.optimize import brentq

from losses_cases import (
    WEIGHT,
    K,
    N,
    alternation_of,
    assignment_of,
    case_of,
    definition,
    dense,
    own,
    table_of_losses,
    three_kinds,
    total_loss,
    whole,
)
from onmf.losses import settling
from onmf.losses.settling import finish, settle
from onmf.result import Recorder
from onmf.rows.sweep import Block
from onmf.search.outliers import POWERS, OutlierLimit, Outliers


def test_the_alternation_measures_the_loss_and_never_raises_it(case):
    loss, X, W, losses, _ = case
    alternation = alternation_of(loss, X, WEIGHT)
    state = alternation.begin(W)
    assert alternation.loss(state) == pytest.approx(WEIGHT @ losses.min(axis=1))
    assert alternation.whole == pytest.approx(whole(loss, dense(X), WEIGHT))
    states = [state]
    while not states[-1].settled and len(states) < 30:
        new = alternation.after(states[-1], None)
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
    alternation = alternation_of(loss, X, WEIGHT)
    state = alternation.begin(W, limit)
    np.testing.assert_array_equal(state.labels(alternation.data), np.where(outside, -1, labels))
    np.testing.assert_array_equal(limit.beyond(*alternation.gathered_pairs(state)), outside)
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
    assert high > 3 * low
    limit, few = OutlierLimit(2 * low, 0.0), alternation_of(loss, X[inside], WEIGHT[inside])
    expected = few.after(few.begin(W), None).W
    alternation = alternation_of(loss, wild, WEIGHT)
    new = alternation.after(alternation.begin(W, limit), limit).W
    turned = new / new.sum(axis=1)[:, None] - expected / expected.sum(axis=1)[:, None]
    assert np.abs(turned).sum(axis=1).max() / 2 < 0.0101


def cap(total, height, power):
    """cost with size + cost = total and cost = height size^power; all if size is below 0."""
    if power == 0 and total < height:
        return total
    return total - brentq(lambda size: size + height * size**power - total, 0, total, rtol=1e-14)


def test_the_best_of_several_starts_is_kept(loss):
    """Whichever comes first: here one that has two centroids in one kind and one for two kinds."""
    X, y = three_kinds(N, 0)
    good = np.array([X[y == k].mean(axis=0) for k in range(K)])
    poor = np.array([*X[y == 0][:2], X[y > 0].mean(axis=0)])
    alternation = alternation_of(loss, X)
    ends = [settle(alternation, W, 40) for W in (good, poor)]
    assert alternation.loss(ends[1]) > 2 * alternation.loss(ends[0])
    for Ws in ([good, poor], [poor, good]):
        _, state = finish(alternation, Ws, Recorder(max_sweeps=40))
        assert alternation.loss(state) == pytest.approx(alternation.loss(ends[0]))


def test_starts_are_compared_at_one_limit(loss, monkeypatch):
    X, W = case_of(loss)[1:3]
    alternation = alternation_of(loss, X, WEIGHT, outliers=Outliers(share=0.2))
    limits, real = [], settle

    def settle_and_note(*args, fixed=False):
        end = real(*args, fixed=fixed)
        limits.append((args[-1], fixed, end.limit))
        return end

    monkeypatch.setattr(settling, "settle", settle_and_note)
    finish(alternation, [W, alternation.as_start(X[:K])], Recorder(max_sweeps=40))
    (first, updated, found), (second, fixed, kept) = limits
    assert (first, updated, fixed) == (None, False, True)
    assert found == second == kept


def test_outliers_that_still_change_keep_a_fit_going(loss):
    """A limit that leaves no sample outside is not the last where a fifth should be."""
    X, W = case_of(loss)[1:3]
    alternation = alternation_of(loss, X, WEIGHT, outliers=Outliers(share=0.2))
    end = settle(alternation, W, 60, limit=OutlierLimit(1e9, 0.0))
    assert end.settled
    outside = WEIGHT[end.labels(alternation.data) < 0].sum() / WEIGHT.sum()
    assert 0.1 < outside <= 0.2


def test_the_limit_of_a_share_leaves_that_share_outside(loss):
    X, W = case_of(loss)[1:3]
    alternation = alternation_of(loss, X, WEIGHT, outliers=Outliers(share=0.2))
    state = settle(alternation, W, 1)
    outside = WEIGHT[state.labels(alternation.data) < 0].sum() / WEIGHT.sum()
    assert 0.15 < outside <= 0.2
