"""Clusters found again, told alike, away from the border: against loops and by construction."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from onmf.datasets import make_rays
from onmf.stability.halves import (
    Cut,
    Seen,
    along_the_path,
    borders,
    by_centres,
    clusters_of,
    groups_of,
    kept_share,
    outlier_marks,
    overlaps,
    strays,
)
from onmf.stability.path import gains, paths, precision


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
    np.testing.assert_allclose(near, [0.25, 0])
    assert at_border == pytest.approx(1 / 0.2)
    assert typical == pytest.approx(4 / 0.6)


def test_samples_keep_their_cluster_whatever_its_number():
    a, b = np.array([0, 0, 0, 1, 1, 2, -1, 2]), np.array([2, 2, 0, 0, 0, 1, 1, -1])
    assert kept_share(a, b, 3) == pytest.approx(5 / 6)  # all but the third, of six with a cluster
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 60))
    best = max(np.mean(a == np.array(order)[b]) for order in permutations(range(4)))
    assert kept_share(a, b, 4) == pytest.approx(best)


def test_outliers_are_far_from_their_ray_or_have_little_in_common_with_it():
    sqnorms = np.array([10.0, 10, 10, 10, 100, 10, 0])
    left = np.array([2.0, 2, 2, 2, 8.1, 6.1, 0])  # medians: 2, and 0.8 explained
    np.testing.assert_array_equal(np.flatnonzero(outlier_marks(left, sqnorms)), [4, 5])
    assert not outlier_marks(np.zeros(3), np.zeros(3)).any()


def test_a_cluster_astray_is_small_and_mostly_outliers():
    labels = np.repeat([0, 1, 2, -1], [80, 4, 16, 5])
    outliers = np.repeat([False, True, False, True], [80, 3, 1, 21])
    np.testing.assert_array_equal(strays(labels, outliers, 4), [False, True, False, False])
    labels[80:100] = 1  # a fifth of all is too many
    assert not strays(labels, outliers, 4).any()


def test_only_samples_of_the_other_half_judge_a_ray():
    samples = np.array([False, False, True, True])
    labels, other = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0])
    agree, differ = np.array([labels, labels]), np.array([labels, other])
    margins, none = np.ones(4), np.zeros(4, bool)
    first = Seen(labels, agree, margins, none)  # of the half False: judged by samples 2 and 3
    found = clusters_of((first, Seen(labels, differ, margins, none)), samples, 2)
    np.testing.assert_allclose(found.found, 1)
    np.testing.assert_allclose(found.alike, 1)  # they differ on 2 and 3 alone
    found = clusters_of((Seen(labels, differ, margins, none), first), samples, 2)
    np.testing.assert_allclose(found.alike[0], [1, 1])  # swapped names are the same clusters


def test_cuts_depend_on_the_shape_alone_and_keep_equal_samples_together():
    X = np.random.default_rng(0).random((40, 10))
    X = np.vstack([X, X[:7], X[:7]])
    groups = groups_of(X)
    assert len(np.unique(groups)) == 40
    assert (groups_of(sp.csr_array(X)) == groups).all()
    for number in range(5):
        cut = Cut.of(groups, 10, number)
        assert (cut.samples[:7] == cut.samples[40:47]).all()
        assert (cut.samples[:7] == cut.samples[47:]).all()
        assert 15 <= len(np.unique(groups[cut.samples])) <= 25
        assert cut.features.sum() == 5
    assert Cut.of(groups, 7, 0).features is None


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_planted_clusters_are_solid_and_pieces_of_them_are_not(make):
    X, _ = make_rays(200, 30, 3, noise=0.3, random_state=0)
    cut = Cut.of(groups_of(X), 30, 0)
    found = {
        k: (c.found * c.alike * (1 - c.border)).mean()
        for k, c in enumerate(along_the_path(make(X), np.ones(200), cut, 5), 1)
    }
    assert found[3] > 0.95
    assert found[3] > found[4] + 0.1 > found[5]


def test_the_path_to_k_does_not_depend_on_how_far_it_goes():
    X, _ = make_rays(120, 30, 4, noise=0.5, random_state=1)
    short = [U for _, U in zip(range(3), paths(X, np.ones(120), 0), strict=False)]
    long = [U for _, U in zip(range(8), paths(X, np.ones(120), 0), strict=False)]
    for a, b in zip(short, long, strict=False):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_the_path_ends_with_the_directions(number):
    rays = np.random.default_rng(0).random((3, 10))
    Y = np.random.default_rng(1).uniform(1, 2, (30, 1)) * np.repeat(rays, 10, axis=0)
    assert len(list(paths(Y.astype(number), np.ones(30), 0))) == 3


def test_what_a_candidate_gains_is_what_it_explains_beyond_the_rays_there_are():
    rng = np.random.default_rng(0)
    Y, z, best = rng.standard_normal((20, 4)), rng.standard_normal((3, 4)), rng.random(20)
    expected = [
        sum(max(max(y @ ray, 0) ** 2 - b**2, 0) for y, b in zip(Y, best, strict=True)) for ray in z
    ]
    np.testing.assert_allclose(gains(Y @ z.T, best), expected)


def test_rows_along_one_ray_need_double_precision():
    X = np.random.default_rng(0).random((50, 8))
    assert precision(X) == np.float32
    assert precision(100 + X) == np.float64


def test_clusters_hidden_in_a_large_constant_are_found():
    X, y = make_rays(90, 12, 3, noise=0.1, random_state=0)
    cut = Cut.of(groups_of(X), 12, 0)
    *_, three = (c for _, c in zip(range(3), along(1e4 + X, cut), strict=False))
    for labels in three.labels:
        assert adjusted_rand_score(y, labels) > 0.9


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_the_scale_of_the_data_does_not_matter(number):
    X, _ = make_rays(120, 30, 4, noise=0.5, random_state=1)
    cut, X = Cut.of(groups_of(X), 30, 0), X.astype(number)
    for size in (2.0**-90, 2.0**90):
        for here, there in zip(along(X, cut), along(number(size) * X, cut), strict=True):
            np.testing.assert_array_equal(here.labels, there.labels)
            np.testing.assert_array_equal(here.border, there.border)


def along(X, cut):
    return along_the_path(X, np.ones(len(X)), cut, 5)


def test_a_few_long_samples_do_not_take_the_clusters():
    X, y = make_rays(200, 60, 3, noise=0.3, random_state=0)
    X[:4] = 30 * np.random.default_rng(0).random((4, 60))
    *_, U = (U for _, U in zip(range(4), paths(X, np.ones(200), 0), strict=False))
    labels = (X[4:] @ U.T).argmax(axis=1)
    shares = [np.bincount(labels[y[4:] == c]).max() / np.sum(y[4:] == c) for c in range(3)]
    assert min(shares) == 1
    assert len(np.unique(labels)) == 3


def test_centroids_label_by_distance_or_by_angle():
    rng = np.random.default_rng(0)
    X, W = rng.random((50, 12)), rng.random((4, 12))
    some = np.arange(12) < 6
    means = by_centres(X, W, False, some)
    apart = np.linalg.norm(X[:, None] - W, axis=2)
    np.testing.assert_array_equal(means.labels, apart.argmin(axis=1))
    part = np.linalg.norm(X[:, None, some] - W[:, some], axis=2)
    np.testing.assert_array_equal(means.by_features[0], part.argmin(axis=1))
    rays = by_centres(X, W, True, some)
    cosines = X @ W.T / np.linalg.norm(W, axis=1) / np.linalg.norm(X, axis=1)[:, None]
    np.testing.assert_array_equal(rays.labels, cosines.argmax(axis=1))
    two = np.sort(cosines, axis=1)[:, -2:]
    np.testing.assert_allclose(rays.margins, two[:, 1] - two[:, 0])
