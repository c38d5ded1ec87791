"""Strangers: samples unlike those of the fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.explain.remainders import Left
from onmf.explain.strangers import (
    FLOOR,
    LOCAL,
    NEIGHBOURS,
    ROUNDING,
    SAMPLES_PER_DIRECTION,
    SAMPLES_PER_MEAN,
    StrangerRule,
    chance_of,
    forms,
    log_scores,
    means_of,
    quantile,
    upper_limit,
    usual_around,
    usual_logs,
)
from onmf.losses import LOSSES

X, Y = make_rays(400, 40, 4, random_state=0)


def unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def by_definition(X, labels, W):
    """r, one sample at a time."""
    rows = []
    for x, k in zip(unit(X), labels, strict=True):
        u = W[k] / np.linalg.norm(W[k])
        rows.append(x - (x @ u) * u)
    return np.array(rows)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_scores_by_their_definition(kind):
    rng = np.random.default_rng(0)
    data = np.where(rng.random((60, 12)) < 0.5, rng.random((60, 12)), 0) + np.eye(60, 12)
    W, labels = rng.random((3, 12)), rng.integers(0, 3, 60)
    weight = rng.integers(1, 4, 60).astype(float)
    left = Left.of(kind(data), labels, W, LOSSES["frobenius"])
    r = by_definition(data, labels, W)
    v = (weight @ r**2) / weight.sum()
    np.testing.assert_allclose(left.variances(weight / weight.sum()), v, atol=1e-14)
    a = 1 / np.sqrt(v + FLOOR * v.mean())
    form, means = forms(left, weight)
    np.testing.assert_allclose(form[0], a, rtol=1e-10)
    # directions: the largest of the weighted covariance of a r, up to their signs
    _, vectors = np.linalg.eigh((r * a).T @ (weight[:, None] * (r * a)) / weight.sum())
    most = 60 // SAMPLES_PER_DIRECTION
    D = form[1:] / a
    np.testing.assert_allclose(D.T @ D, vectors[:, -most:] @ vectors[:, -most:].T, atol=1e-6)
    assert means.shape == (60 // SAMPLES_PER_MEAN, most)
    # the nearest of the means, or the centroid, in all features
    points = np.vstack([np.zeros(12), means @ D])
    q = np.square((r * a)[:, None] - points).sum(axis=2).min(axis=1)
    expected = np.log(q + ROUNDING * np.mean(a**2))
    none = np.zeros(len(means))
    np.testing.assert_allclose(log_scores(form, means, none, left), expected, atol=1e-9)
    # less what is usual at the nearest mean, whatever the distance of the centroid
    usual = rng.random(len(means))
    lower = usual[np.square((r * a)[:, None] - points[1:]).sum(axis=2).argmin(axis=1)]
    np.testing.assert_allclose(log_scores(form, means, usual, left), expected - lower, atol=1e-9)
    # a file of an older version: nothing along its directions counts
    q = np.square(r * a).sum(axis=1) - np.square((r * a) @ D.T).sum(axis=1)
    expected = np.log(q + ROUNDING * np.mean(a**2))
    np.testing.assert_allclose(log_scores(form, means[:0], none[:0], left), expected, atol=1e-9)


def test_means_of_neighbours_by_hand():
    """Three far groups of weights 1 and 3, and one sample alone, which is not shown as it is."""
    P = np.array([[0.0, 0], [0, 4], [0, 0], [0, 4], [90, 0], [90, 4], [90, 0], [90, 4],
                  [0, 900], [4, 900], [0, 900], [4, 900], [0, 900], [4, 900], [5000, 5000],
                  [0, 0], [0, 4], [0, 0], [0, 4], [0, 0]])  # fmt: skip
    weight = np.where(P.sum(axis=1) % 10 == 4, 3.0, 1.0)
    means = means_of(P, weight)
    assert len(means) == len(P) // SAMPLES_PER_MEAN
    alone = (np.array([5000, 5000]) + P[8]) / 2, (np.array([5000, 5000]) + P[9]) / 2
    far = means[means.sum(axis=1) > 2000]
    assert len(far) == 1
    assert any(np.allclose(far[0], one) for one in alone)
    one, other, third = sorted(means[means.sum(axis=1) < 2000].tolist())
    np.testing.assert_allclose(one, [0, 4 * 12 / 17])
    np.testing.assert_allclose(other, [3, 900])
    np.testing.assert_allclose(third, [90, 3])
    assert means_of(P[:4], weight[:4]).shape == (0, 2)
    assert means_of(P[:, :0], weight).shape == (0, 0)


def test_what_is_usual_is_that_of_the_neighbours_by_hand():
    """Groups of NEIGHBOURS samples on a line, and of half as many."""
    P = np.add.outer([0.0, 50.0, 60.0], np.arange(NEIGHBOURS) / 99).reshape(-1, 1)
    score = np.repeat([1.0, 4.0, 7.0], NEIGHBOURS)
    means = np.array([[0.0], [50.0]])
    ones = np.ones(len(P))
    np.testing.assert_allclose(usual_around(means, P, score, ones), LOCAL * np.array([-3, 0]))
    half = np.arange(len(P)) % 2 == 0
    again = usual_around(means, P[half], score[half], 10 * ones[half])
    expected = LOCAL * (np.array([(1 + 4) / 2, (4 + 7) / 2]) - 4)  # of ten samples of each kind
    np.testing.assert_allclose(again, expected)


def test_a_dense_kind_has_a_narrower_limit_than_a_wide_one_in_the_same_cluster():
    """One ray; half of its samples spread along two features, half hardly at all."""
    rng = np.random.default_rng(0)
    size = np.repeat([0.1, 1.0], 400)[:, None]
    data = 10 + size * rng.standard_normal((800, 6))
    data[:400, 0] += 4
    data[400:, 1] += 4
    model = ONMF(1, random_state=0).fit(data)
    new = np.repeat([[14.0, 10, 10, 10, 10, 10], [10.0, 14, 10, 10, 10, 10]], 200, axis=0)
    new += 0.7 * rng.standard_normal(new.shape)
    dense, wide = np.split(model.stranger_score(new), 2)
    assert np.median(dense) > 2 * np.median(wide)


def test_a_cluster_is_wide_only_where_its_samples_are(global_random_seed):
    """Samples on a ring around a ray vary in two directions; those outside it are strangers."""
    rng = np.random.default_rng(global_random_seed)
    angle = rng.uniform(0, 2 * np.pi, 800)
    ring = 10 + np.zeros((800, 6))
    ring[:, 0] += 4 * np.cos(angle)
    ring[:, 1] += 4 * np.sin(angle)
    ring += rng.normal(0, 0.1, ring.shape)
    model = ONMF(1, random_state=0).fit(ring[:600])
    assert model.strangers(ring[600:]).mean() < 0.08
    far = ring[600:].copy()
    far[:, :2] = 10 + 1.5 * (far[:, :2] - 10)
    assert model.strangers(far).mean() > 0.9
    both = np.vstack([ring, far])  # a ring is near to means, and not to its centroid
    np.testing.assert_array_equal(model.strangers(both), model.stranger_score(both) > 1)


def test_what_is_missing_is_neither_strange_nor_known():
    W = np.random.default_rng(0).random((2, 8))
    x = 3 * W[:1].copy()
    x[0, 2] = np.nan
    left = Left.of(x, np.array([0]), W, LOSSES["frobenius"])
    assert left.completion[0] == pytest.approx(8 / 7)
    assert left.weighted_squares(np.ones(8))[0] < 1e-14


def test_limits_by_hand():
    assert quantile(np.array([3.0, 1, 2]), np.ones(3), 0.5) == 2
    assert quantile(np.array([3.0, 1, 2]), np.array([5.0, 1, 1]), 0.5) == 3
    assert upper_limit(np.array([0.0, 1, 4]), np.ones(3)) == 7  # too few: 4 + (4 - 1)
    assert upper_limit(np.arange(1000.0), np.ones(1000)) == 975


def test_held_out_samples_are_not_strangers_and_shuffled_ones_are(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    data, _ = make_rays(1200, 40, 4, random_state=global_random_seed)
    model = ONMF(4, random_state=0).fit(data[:600])
    assert model.strangers(data[600:]).mean() < 0.06  # 2.5 %, give or take 5 standard errors
    assert model.strangers(rng.permuted(data[600:], axis=1)).mean() > 0.95


def test_a_class_that_was_left_out_is_strange():
    model = ONMF(3, random_state=0).fit(X[Y != 3])
    assert model.strangers(X[Y == 3]).mean() > 0.9


def test_length_does_not_matter():
    model = ONMF(4, random_state=0).fit(X)
    score = model.stranger_score(X)
    np.testing.assert_allclose(model.stranger_score(1000 * X), score, rtol=1e-9)
    assert ((score > 1) == model.strangers(X)).all()


def test_counts_single_precision_sparse_and_signed():
    rng = np.random.default_rng(0)
    counts = rng.poisson(20 * X).astype(float)
    short = rng.poisson(2 * X).astype(float)
    model = ONMF(4, loss="kl", random_state=0).fit(np.vstack([counts[:200], short[:200]]))
    assert model.strangers(sp.csr_array(counts[200:])).mean() < 0.1
    assert model.strangers(rng.permuted(counts[200:], axis=1)).mean() > 0.9
    single = ONMF(4, random_state=0).fit(X.astype(np.float32))
    assert single.strangers(X[:50].astype(np.float32)).mean() < 0.2
    signed = ONMF(4, random_state=0, center_bounds=(None, None)).fit(X - X.mean(axis=0))
    assert (
        signed.strangers(-(X - X.mean(axis=0))).mean() > signed.strangers(X - X.mean(axis=0)).mean()
    )


def test_zeros_are_no_strangers_and_samples_on_their_rays_are_none():
    exact = np.repeat(np.random.default_rng(0).random((3, 10)), 20, axis=0)
    model = ONMF(3, random_state=0).fit(exact)
    assert not model.strangers(3 * exact + 1e-9).any()
    assert model.strangers(exact[:, ::-1]).all()
    assert model.stranger_score(np.zeros((1, 10)))[0] == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_fits_have_a_rule(n):
    few = np.random.default_rng(0).random((n, 6))
    model = ONMF(1, random_state=0).fit(few)
    assert not model.strangers(few).any()


def test_a_sample_without_a_feature_of_any_cluster_is_a_stranger():
    data = np.hstack([X, np.zeros((400, 1))])
    model = ONMF(4, random_state=0).fit(data)
    alone = np.zeros((1, 41))
    alone[0, 40] = 1
    assert model.predict(alone)[0] == -1
    assert model.strangers(alone)[0]


def test_clusters_are_known_by_id():
    """A cluster of a stream that the rule does not know has the usual limit."""
    left = Left.of(X, Y, unit(np.array([X[Y == k].mean(axis=0) for k in range(4)])),
                   LOSSES["frobenius"])  # fmt: skip
    rule = StrangerRule.learn(left, np.ones(400), np.zeros(400), np.array([0, 5, 2, 7]))
    assert np.flatnonzero(~np.isnan(rule.limits)).tolist() == [0, 2, 5, 7]
    known = rule.excess(left, np.array([0, 5, 2, 7]))
    other = rule.excess(left, np.array([0, 5, 2, 99]))
    np.testing.assert_array_equal(known[Y != 3], other[Y != 3])
    ratio = np.exp(rule.limits[7] - np.nanmedian(rule.limits))
    np.testing.assert_allclose(other[Y == 3], ratio * known[Y == 3], rtol=1e-9)


SOUND = [np.ones((2, 4)), np.ones(2), np.array([1.0, 0.0, 0.0]), np.ones((3, 1)), np.ones(3)]


@pytest.mark.parametrize(
    ("place", "part"),
    [
        (0, np.ones((2, 3))),
        (0, np.full((2, 4), np.nan)),
        (0, np.ones((0, 4))),
        (0, np.ones((2, 4), int)),
        (1, np.full(2, np.nan)),
        (1, np.ones(0)),
        (2, np.ones(2)),
        (2, np.zeros(3)),
        (2, np.array([1.0, -1.0, 0.0])),
        (3, np.ones((3, 2))),
        (3, np.full((3, 1), np.inf)),
        (4, np.ones(2)),
        (4, np.full(3, np.nan)),
    ],
)
def test_a_damaged_rule_is_refused(place, part):
    assert StrangerRule.sound(SOUND, 4).limits.tolist() == [1, 1]
    for parts in ([*SOUND[:place], part, *SOUND[place + 1 :]], SOUND[:place]):
        with pytest.raises(ValueError, match="strangers"):
            StrangerRule.sound(parts, 4)


def test_chance_by_hand():
    """q = 2 + 3 / t exactly."""
    noise = 1 / np.array([1.0, 2, 5, 10])
    found = chance_of(np.log(2 + 3 * noise), noise, np.ones(4))
    assert found[1] / found[0] == pytest.approx(1.5)
    assert found[2] == 0.1
    logs = usual_logs(found, np.array([0.5, 0.01]))
    assert logs[0] - logs[1] == pytest.approx(np.log((2 + 1.5) / (2 + 0.3)))
    assert chance_of(np.zeros(4), np.zeros(4), np.ones(4)).tolist() == [1, 0, 0]


def test_what_is_left_counts_for_all_features_though_some_are_missing():
    """Of a sample with a quarter of its entries, four times what is left of these."""
    W = unit(np.array([X[Y == k].mean(axis=0) for k in range(4)]))
    seen = np.where(np.arange(40) < 10, X[:20], np.nan)
    left = Left.of(seen, Y[:20], W, LOSSES["frobenius"])
    np.testing.assert_allclose(left.completion, 4)
    form = np.ones((1, 40))
    q = left.weighted_squares(form[0])
    assert q.min() > 0
    score = log_scores(form, np.zeros((0, 0)), np.zeros(0), left)
    np.testing.assert_allclose(np.exp(score), 4 * q + ROUNDING)


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_an_explanation_tells_the_strangers_that_the_model_does(loss):
    """In one read of X, with strangers in it."""
    X, _ = make_rays(300, 20, 3, random_state=0)
    model = ONMF(3, loss=loss, random_state=0).fit(X)
    seen = X[:280].copy()
    seen[:5] = seen[:5, ::-1]
    model.labels_ = model.predict(seen)
    found = model.explain(seen, strangers=True)
    np.testing.assert_array_equal(found.stranger, model.strangers(seen))
    assert found.stranger[:5].all()
    assert not found.stranger[5:].all()
    assert model.explain(seen).stranger is None
