"""Clusters that come back, told alike, away from the border: against loops and by construction."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score

from onmf.datasets import make_rays
from onmf.losses import KullbackLeibler
from onmf.losses.kl_search import Counts
from onmf.number.counts import CountClusters, CountHalf, with_features_summed
from onmf.number.halves import Cut, HalfLabels, borders, compare, groups_of, kept_share, overlaps
from onmf.number.path import beginning, line
from onmf.number.rays import (
    RayClusters,
    RayHalf,
    basis,
    damped,
    merge_losses,
    precision,
    typical_power,
)
from onmf.rows.sweep import Block
from onmf.search.rays import alternate
from onmf.search.row_problems import unit

MAKE = pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def both(X, first, last, half=RayHalf, number=0, weight=None):
    """The comparisons of two halves for every K."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    cut = Cut.of(groups_of(X), X.shape[1], number)
    one, other = (half(X, weight, cut, side).labels_by_k(first, last) for side in (0, 1))
    return {k: compare((one[k], other[k]), cut.samples, k) for k in sorted(one) if k in other}


def counts(n, k, seed=0, words=60):
    """Documents on k topics."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    topics = rng.gamma(0.3, size=(k, words))
    X = rng.poisson(80 * topics[y] / topics[y].sum(axis=1, keepdims=True)).astype(float)
    return X, y


def test_overlaps_are_jaccard_indices():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-1, 4, (2, 50))
    found = overlaps(a, b, 4)
    both = (a >= 0) & (b >= 0)
    for i in range(4):
        for j in range(4):
            together = np.sum(both & (a == i) & (b == j))
            either = np.sum(both & ((a == i) | (b == j)))
            assert found[i, j] == pytest.approx(together / either)


def test_borders_by_hand():
    margins = np.array([0.1, 1.0, 1.0, 1.9, 2.0, 2.0, 5.0])
    labels = np.array([0, 0, 0, 0, 1, 1, -1])
    near, (at_border, typical) = borders(labels, margins, 2)  # means are 1 and 2
    assert near == pytest.approx((0.25 + 0) / 2)
    assert at_border == pytest.approx(1 / 0.2)
    assert typical == pytest.approx(4 / 0.6)


def test_samples_keep_their_cluster_whatever_its_number():
    a, b = np.array([0, 0, 0, 1, 1, 2, -1, 2]), np.array([2, 2, 0, 0, 0, 1, 1, -1])
    assert kept_share(a, b, 3) == pytest.approx(5 / 6)  # all but the third, of six with a cluster
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 60))
    best = max(np.mean(a == np.array(order)[b]) for order in permutations(range(4)))
    assert kept_share(a, b, 4) == pytest.approx(best)


def test_only_samples_of_the_other_half_judge_a_ray():
    samples = np.array([False, False, True, True])
    labels, other = np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1])  # they differ on sample 1 alone
    agree, differ = np.array([labels, labels]), np.array([labels, other])
    first = HalfLabels(labels, agree, np.ones(4))  # of the half False: judged by samples 2 and 3
    last = HalfLabels(labels, differ, np.ones(4))
    found = compare((first, last), samples, 2)
    assert (found.found, found.kept) == (1, 1)
    # the second half is judged by samples 0 and 1: {0}, {1} by features 1, {0, 1} by features 2
    one = (np.mean([0.5, 0.5]) + np.mean([0.5, 0])) / 2
    assert found.alike == pytest.approx((1 + one) / 2)


def test_clusters_with_an_overlap_of_three_quarters_are_found_again():
    one, other = np.repeat([0, 1, 2], [20, 4, 8]), np.repeat([0, 1, 2], [20, 3, 9])
    other[20:24] = [1, 1, 1, 0]  # overlaps 20/21, 3/4, 1
    other[24:] = 2
    seen = tuple(HalfLabels(a, np.array([a, a]), np.ones(32)) for a in (one, other))
    assert compare(seen, np.arange(32) % 2 == 0, 3).n_found == 3
    other[22] = 0  # 2/4
    assert compare(seen, np.arange(32) % 2 == 0, 3).n_found == 2


def test_j_and_m_of_halves_that_differ():
    samples = np.arange(6) % 2 == 0
    a, b = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    seen = [HalfLabels(own, np.array([own, own]), np.ones(6)) for own in (a, b)]
    found = compare(tuple(seen), samples, 2)
    assert found.found == pytest.approx((2 / 3 + 3 / 4) / 2)
    assert found.kept == pytest.approx(5 / 6)
    np.testing.assert_array_equal(found.labels, [a, b])


def test_the_largest_score_labels_and_the_lead_is_the_margin():
    scores = np.array([[3.0, 1.0, 2.0], [0.5, 0.5, 4.0], [1.0, 2.0, 3.0]])
    seen = HalfLabels.by_scores(scores, [scores, scores[:, ::-1].copy()], np.array([2.0, 1.0, 0.0]))
    np.testing.assert_array_equal(seen.labels, [0, 2, -1])
    np.testing.assert_array_equal(seen.by_features, [[0, 2, -1], [2, 0, -1]])
    np.testing.assert_allclose(seen.margins[:2], [0.5, 3.5])


def test_cuts_belong_to_the_samples_not_to_their_order():
    X = np.random.default_rng(0).random((40, 10))
    X = np.vstack([X, X[:7], X[:7]])
    groups, order = groups_of(X), np.random.default_rng(1).permutation(54)
    assert len(np.unique(groups)) == 40
    assert (groups_of(sp.csr_array(X)) == groups).all()
    for number in range(5):
        cut = Cut.of(groups, 10, number)
        assert (cut.samples[:7] == cut.samples[40:47]).all()
        assert (cut.samples[:7] == cut.samples[47:]).all()
        assert 15 <= len(np.unique(groups[cut.samples])) <= 25
        assert cut.features.sum() == 5
        again = Cut.of(groups_of(X[order]), 10, number)
        np.testing.assert_array_equal(again.samples, cut.samples[order])
        np.testing.assert_array_equal(again.features, cut.features)
        for side in (False, True):
            assert (cut.samples[cut.rows(side)] == side).all()
            np.testing.assert_array_equal(X[order][again.rows(side)], X[cut.rows(side)])
    assert Cut.of(groups, 7, 0).features is None


@MAKE
def test_planted_clusters_come_back_and_pieces_of_them_do_not(make):
    X, y = make_rays(200, 30, 3, noise=0.3, random_state=0)
    found = both(make(X), 1, 5)
    back = {k: (c.found + c.kept) / 2 for k, c in found.items()}
    assert list(found) == [1, 2, 3, 4, 5]
    assert back[3] > 0.98
    assert back[3] > back[4] + 0.05
    assert all(adjusted_rand_score(y, labels) > 0.95 for labels in found[3].labels)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_topics_of_counts_come_back(make):
    X, y = counts(200, 4)
    found = both(make(X), 1, 6, CountHalf)
    back = {k: (c.found + c.kept) / 2 for k, c in found.items()}
    assert max(back, key=lambda k: np.log(k) * back[k] ** 2.5) == 4
    assert all(adjusted_rand_score(y, labels) > 0.95 for labels in found[4].labels)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_of_long_rows_the_features_that_tell_least_are_summed(make, monkeypatch):
    X = np.array([[9.0, 2, 1, 0, 4, 4], [9, 2, 0, 1, 4, 4], [0, 2, 8, 9, 4, 4], [1, 2, 9, 9, 4, 4]])
    halves = np.array([True, False, True, False, False, True])
    monkeypatch.setattr("onmf.number.counts.MOST_OF_LONG_ROWS", 9)  # 0, 2 and 3 have that many
    few, sides = with_features_summed(make(X), np.arange(4), halves)
    np.testing.assert_array_equal(
        few.toarray(), np.c_[X[:, [0, 2, 3]], X[:, 5], X[:, [1, 4]].sum(1)]
    )
    np.testing.assert_array_equal(sides, [True, True, False, True, False])
    few, sides = with_features_summed(make(X), np.array([0, 1]), None)  # six, of one row each, tell
    assert sides is None
    np.testing.assert_array_equal(few.sum(axis=1), X.sum(axis=1))


def test_the_features_that_tell_most_are_kept_by_brute_force(monkeypatch):
    X, _ = counts(40, 3, words=12)
    X[:, 6:] = np.random.default_rng(1).poisson(60, (40, 6))  # frequent, but they tell little
    some = X[:30]
    expected = np.outer(some.sum(axis=1), some.sum(axis=0)) / some.sum()
    order = np.argsort(-xlogy(some, some / expected).sum(axis=0))
    most = np.count_nonzero(some[:, order[:4]])
    monkeypatch.setattr("onmf.number.counts.MOST_OF_LONG_ROWS", most)
    few, _ = with_features_summed(X, np.arange(30), None)
    np.testing.assert_array_equal(few.toarray()[:, :-1], X[:, np.sort(order[:4])])


def test_topics_of_long_rows_come_back(monkeypatch):
    X, y = counts(200, 4)
    monkeypatch.setattr("onmf.number.counts.MOST_OF_LONG_ROWS", np.count_nonzero(X) // 8)
    half = CountHalf(X, np.ones(200), Cut.of(groups_of(X), X.shape[1], 0), True)
    assert half.X.shape[1] < X.shape[1]
    np.testing.assert_allclose(half.X.sum(axis=1), X.sum(axis=1))
    assert adjusted_rand_score(y, half.labels_by_k(1, 6)[4].labels) > 0.95


@pytest.mark.parametrize("size", [1.0, 1e-4])
def test_counts_are_carried_over_by_the_assignment_of_the_loss(size):
    X = size * counts(60, 3)[0]
    cut = Cut.of(groups_of(X), 60, 0)
    half = CountHalf(X, np.ones(60), cut, False)
    sums = size * np.random.default_rng(1).gamma(
        0.5, 30, (3, 60)
    )  # of no cluster: many doubtful samples
    sums[:, ~half.counts.X.sum(axis=0).astype(bool)] = 0
    seen = half.label_all(sums)
    mean = sums.sum(axis=0) / sums.sum()
    W = 0.99 * sums / sums.sum(axis=1, keepdims=True) + 0.01 * mean
    code, _ = KullbackLeibler().assignment(W)(Block(X, np.ones((60, 1))), None)
    np.testing.assert_array_equal(seen.labels, code.labels)
    for part, features in enumerate((cut.features, ~cut.features)):
        own, _ = KullbackLeibler().assignment(W[:, features])(
            Block(X[:, features], np.ones((60, 1))), None
        )
        np.testing.assert_array_equal(seen.by_features[part], own.labels)
    likely = X @ np.log(np.maximum(W, 1e-300)).T
    two = np.sort(likely, axis=1)[:, -2:]
    np.testing.assert_allclose(seen.margins, (two[:, 1] - two[:, 0]) / X.sum(axis=1), rtol=1e-4)


class Steps:
    """A clustering that only counts."""

    def __init__(self, k, made, origin=None):
        self.k, self.distinct, self.made = k, k != 7, made
        made.append((origin, k))

    def merged(self, count):
        return Steps(self.k - count, self.made, self.k)


def test_a_line_shrinks_by_a_quarter_then_one_by_one_and_branches():
    made = []
    found = line(Steps(60, made), 1, 20)
    line_of = [60, 45, 33, 24, *range(20, 0, -1)]
    assert made == list(pairwise([None, *line_of]))
    assert sorted(found) == [k for k in range(1, 21) if k != 7]  # two clusters of 7 are the same
    made = []
    found = line(Steps(60, made), 21, 40)
    assert sorted(found) == list(range(21, 41))
    branches = [range(45, 33, -1), range(33, 24, -1), range(24, 20, -1)]
    steps = [pair for branch in branches for pair in pairwise(branch)]
    assert sorted(made[1:]) == sorted([(60, 45), (45, 33), (33, 24), *steps])
    assert line(Steps(3, []), 5, 9) == {}
    assert [beginning(last, 1000) for last in (20, 40, 41, 80)] == [60, 60, 120, 120]
    assert beginning(20, 17) == 17


def test_what_is_found_for_k_does_not_depend_on_the_other_k():
    X, _ = make_rays(160, 30, 4, noise=0.5, random_state=1)
    few, many = both(X, 3, 5), both(X, 1, 20)
    for k, one in few.items():
        np.testing.assert_array_equal(one.labels, many[k].labels)
    up, beyond = both(X, 21, 40), both(X, 30, 33)
    np.testing.assert_array_equal(up[31].labels, beyond[31].labels)


def test_rays_label_by_the_angle_in_each_half_of_the_features():
    rng = np.random.default_rng(0)
    X, U = rng.random((50, 12)), rng.random((4, 12))
    cut = Cut.of(groups_of(X), 12, 0)
    seen = RayHalf(X, np.ones(50), cut, False).label_all(U / np.linalg.norm(U, axis=1)[:, None])
    for labels, inside in zip(
        (seen.labels, *seen.by_features), (slice(None), cut.features, ~cut.features), strict=True
    ):
        W = U[:, inside] / np.linalg.norm(U[:, inside], axis=1)[:, None]
        np.testing.assert_array_equal(labels, (X[:, inside] @ W.T).argmax(axis=1))


def test_heavy_rows_count_twice_the_median_at_most():
    Y = np.diag([1.0, 1, 1, 10, 0])
    np.testing.assert_allclose(damped(Y, np.ones(5)), np.diag([1, 1, 1, 2**0.5, 0])[:4])
    np.testing.assert_allclose(damped(Y, np.array([1.0, 4, 0, 1, 1]))[1], [0, 2, 0, 0, 0])


def test_two_clusters_with_the_same_shares_are_not_distinct():
    rows = Counts(sp.csr_array([[1.0, 0], [2, 0], [0, 3], [0, 4]]), np.array([1.0, 2, 3, 4]))
    for labels, distinct in (([0, 0, 1, 1], True), ([0, 1, 2, 2], False)):
        made = CountClusters(rows, np.array(labels), max(labels) + 1, np.random.default_rng(0))
        assert made.distinct == distinct


def test_two_rays_are_merged_into_the_best_one():
    rng = np.random.default_rng(0)
    rays = np.array([[1, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 1, 0]])  # two are close
    Y = np.repeat(rays, 20, axis=0) + 0.01 * rng.random((60, 4))
    merged = RayClusters(Y, rays / np.linalg.norm(rays, axis=1)[:, None], 5).merged(1)
    assert merged.k == 2
    np.testing.assert_array_equal(np.unique(merged.now.labels[:40]), [merged.now.labels[0]])
    leading = np.linalg.svd(Y[:40])[2][0]
    cosines = np.abs(merged.now.U @ leading)
    assert cosines.max() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_line_has_no_more_clusters_than_there_are_directions(number):
    rays = np.random.default_rng(0).random((3, 10))
    X = np.random.default_rng(1).uniform(1, 2, (30, 1)) * np.repeat(rays, 10, axis=0)
    assert list(both(X.astype(number), 1, 6)) == [1, 2, 3]


def test_counts_have_no_more_clusters_than_there_are_profiles():
    X = np.repeat([[4.0, 0, 1, 0, 2, 0, 0, 1], [0, 3, 0, 3, 0, 1, 1, 0]], 20, axis=0)
    X *= np.arange(1, 41)[:, None]
    assert list(both(X, 1, 6, CountHalf)) == [1, 2]


def test_rows_along_one_ray_need_double_precision():
    X = np.random.default_rng(0).random((50, 8))
    assert precision(X) == np.float32
    assert precision(100 + X) == np.float64


def test_clusters_hidden_in_a_large_constant_are_found():
    X, y = make_rays(90, 12, 3, noise=0.1, random_state=0)
    for labels in both(1e4 + X, 3, 3)[3].labels:
        assert adjusted_rand_score(y, labels) > 0.9


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_the_scale_of_the_data_does_not_matter(number):
    X = make_rays(120, 30, 4, noise=0.5, random_state=1)[0].astype(number)
    here = both(X, 1, 5)
    for size in (2.0**-50, 2.0**50):
        there = both(number(size) * X, 1, 5)
        for k, own in here.items():
            np.testing.assert_array_equal(own.labels, there[k].labels)
            assert own[:4] == there[k][:4]


def test_a_few_long_samples_do_not_take_the_clusters():
    X, y = make_rays(200, 60, 3, noise=0.3, random_state=0)
    X[:4] = 30 * np.random.default_rng(0).random((4, 60))
    for labels in both(X, 4, 4)[4].labels:
        shares = [np.bincount(labels[4:][y[4:] == c]).max() / np.sum(y[4:] == c) for c in range(3)]
        assert min(shares) > 0.95


@pytest.mark.parametrize("half", [RayHalf, CountHalf])
def test_samples_without_weight_or_content_have_no_label(half):
    X, _ = counts(80, 3)
    X[5], weight = 0, np.ones(80)
    weight[9] = 0
    labels = both(X, 3, 3, half, weight=weight)[3].labels
    np.testing.assert_array_equal(np.flatnonzero((labels < 0).all(axis=0)), [5, 9])


@pytest.mark.parametrize("half", [RayHalf, CountHalf])
def test_of_many_rows_some_are_searched_and_all_are_labelled(half, monkeypatch):
    X, y = counts(240, 3)
    monkeypatch.setattr("onmf.number.rays.MOST_ROWS", 40)
    monkeypatch.setattr("onmf.number.counts.FEWEST_ROWS", 40)
    monkeypatch.setattr("onmf.number.counts.MOST_ENTRIES", np.count_nonzero(X) // 4)
    cut = Cut.of(groups_of(X), 60, 0)
    made = half(X, np.ones(240), cut, True)
    if half is CountHalf:  # a quarter of the entries of X: half of the rows of this half
        assert made.counts.X.shape[0] == pytest.approx(60, abs=3)
        assert len(np.unique(made.counts.X.toarray(), axis=0)) == made.counts.X.shape[0]
        monkeypatch.setattr("onmf.number.counts.MOST_ENTRIES", 1)
        assert half(X, np.ones(240), cut, True).counts.X.shape[0] == 40
    assert adjusted_rand_score(y, made.labels_by_k(3, 3)[3].labels) > 0.9


def test_the_basis_of_a_half_has_its_leading_singular_vectors():
    rng = np.random.default_rng(0)
    X = rng.random((60, 4)) @ rng.random((4, 30)) + 1e-3 * rng.random((60, 30))
    weight = np.repeat([1.0, 0.0], 30)  # the others do not count
    V = basis(X, weight, 5, seed=0)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-10)
    leading = np.linalg.svd(X[:30])[2][:4]
    np.testing.assert_allclose(leading @ V @ V.T, leading, atol=1e-4)
    np.testing.assert_array_equal(basis(X, weight, 30, seed=0), np.eye(30))
    assert basis(X[:3], weight[:3], 5, seed=0).shape == (30, 3)


def test_the_typical_power_is_a_power_of_four_near_the_mean():
    for mean in (1e-30, 0.3, 5.0, 1e30):
        (size,) = set(typical_power(np.array([0.5, 1.5]) * mean))
        assert 1 / 4 < mean / size <= 1
        assert np.log2(size) % 2 == 0
    np.testing.assert_array_equal(typical_power(np.zeros(2)), 1)


def best_energy(rows):
    """What the best single ray explains: the largest squared singular value."""
    return np.linalg.svd(rows, compute_uv=False)[0] ** 2 if len(rows) else 0.0


def test_a_merger_of_rays_loses_no_more_than_what_its_promise_says():
    """And the promise is exact within the span of the two rays."""
    rng = np.random.default_rng(0)
    rays = rng.gamma(1.0, size=(5, 12))[np.arange(80) % 5]
    rows = rng.uniform(0.5, 2, (80, 1)) * rays + 0.3 * rng.random((80, 12))
    now = alternate(rows, unit(rows[:5]), 30)
    own = np.bincount(now.labels, np.square(now.best), 5)
    losses = merge_losses(now, own)
    for k in range(5):
        for c in range(5):
            if k == c:
                assert losses[k, c] == np.inf
                continue
            both = rows[np.isin(now.labels, [k, c])]
            inside = np.linalg.qr(now.U[[k, c]].T)[0]
            expected = own[k] + own[c] - best_energy(both @ inside)
            assert losses[k, c] == pytest.approx(expected, rel=1e-6, abs=1e-9)
            assert losses[k, c] >= own[k] + own[c] - best_energy(both) - 1e-9
