"""Clusters that come back, told alike, away from the border: against loops and by construction."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from onmf.datasets import make_rays
from onmf.losses.kl_search import Counts
from onmf.number.counts import CountClusters, CountHalf
from onmf.number.halves import Cut, HalfLabels, compare, groups_of, kept_share
from onmf.number.rays import (
    RayClusters,
    RayHalf,
    precision,
)
from onmf.search.numpy_kernels import unit

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


def test_samples_keep_their_cluster_whatever_its_number():
    a, b = np.array([0, 0, 0, 1, 1, 2, -1, 2]), np.array([2, 2, 0, 0, 0, 1, 1, -1])
    assert kept_share(a, b, 3) == pytest.approx(5 / 6)  # all but the third, of six with a cluster
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 60))
    best = max(np.mean(a == np.array(order)[b]) for order in permutations(range(4)))
    assert kept_share(a, b, 4) == pytest.approx(best)


def test_clusters_with_an_overlap_of_three_quarters_are_found_again():
    one, other = np.repeat([0, 1, 2], [20, 4, 8]), np.repeat([0, 1, 2], [20, 3, 9])
    other[20:24] = [1, 1, 1, 0]  # overlaps 20/21, 3/4, 1
    other[24:] = 2
    seen = tuple(HalfLabels(a, np.array([a, a]), np.ones(32)) for a in (one, other))
    assert compare(seen, np.arange(32) % 2 == 0, 3).n_found == 3
    other[22] = 0  # 2/4
    assert compare(seen, np.arange(32) % 2 == 0, 3).n_found == 2


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


def test_topics_of_long_rows_come_back(monkeypatch):
    X, y = counts(200, 4)
    monkeypatch.setattr("onmf.number.counts.MOST_OF_LONG_ROWS", np.count_nonzero(X) // 8)
    half = CountHalf(X, np.ones(200), Cut.of(groups_of(X), X.shape[1], 0), True)
    assert half.X.shape[1] < X.shape[1]
    np.testing.assert_allclose(half.X.sum(axis=1), X.sum(axis=1))
    assert adjusted_rand_score(y, half.labels_by_k(1, 6)[4].labels) > 0.95


class Steps:
    """A clustering that only counts."""

    def __init__(self, k, made, origin=None):
        self.k, self.distinct, self.made = k, k != 7, made
        made.append((origin, k))

    def merged(self, count):
        return Steps(self.k - count, self.made, self.k)


def test_what_is_found_for_k_does_not_depend_on_the_other_k():
    X, _ = make_rays(160, 30, 4, noise=0.5, random_state=1)
    few, many = both(X, 3, 5), both(X, 1, 20)
    for k, one in few.items():
        np.testing.assert_array_equal(one.labels, many[k].labels)
    up, beyond = both(X, 21, 40), both(X, 30, 33)
    np.testing.assert_array_equal(up[31].labels, beyond[31].labels)


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


def best_energy(rows):
    """What the best single ray explains: the largest squared singular value."""
    return np.linalg.svd(rows, compute_uv=False)[0] ** 2 if len(rows) else 0.0


def test_a_merger_of_rays_loses_no_more_than_what_its_promise_says():
    """And the promise is exact within the span of the two rays."""
    rng = np.random.default_rng(0)
    rays = rng.gamma(1.0, size=(5, 12))[np.arange(80) % 5]
    rows = rng.uniform(0.5, 2, (80, 1)) * rays + 0.3 * rng.random((80, 12))
    clusters = RayClusters(rows, unit(rows[:5]), 30)
    now, own, losses = clusters.now, clusters.own, clusters.losses
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
