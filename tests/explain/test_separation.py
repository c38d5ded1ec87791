"""Halves of the samples: what is found again, what is one cloud, and what may be significant."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score

from onmf import ONMF, explain
from onmf.explain.modes import p_one_mode
from onmf.explain.sample_halves import (
    MOST_TIMES,
    SHRINK,
    SampleHalf,
    discriminant,
    found_again,
    gap_of_halves,
)
from onmf.explain.separation import Separation, mean_filled, separate
from onmf.explain.significance import Significance
from onmf.explain.sums import sum_by_cluster
from onmf.rows.memory import InMemory


def cloud(rng, n, m=60, centre=None, factors=3, size=1.0):
    """Correlated features: a few common factors, and noise."""
    centre = np.full(m, 8.0) if centre is None else centre
    common = rng.standard_normal((n, factors)) * size @ rng.standard_normal((factors, m))
    return np.maximum(centre + common + rng.standard_normal((n, m)), 0)


def two_clouds(rng, n=150, m=60, n_markers=12):
    """Two clouds that differ in their first features, and their classes."""
    centre = np.full(m, 8.0)
    other = centre.copy()
    other[:n_markers] += 6
    X = np.vstack([cloud(rng, n, m, centre, size=0.4), cloud(rng, n, m, other, size=0.4)])
    return X, np.repeat([0, 1], n)


def test_found_again_is_the_mean_of_the_largest_overlaps_by_hand():
    labels = np.array([0, 0, 0, 0, 1, 1])
    runs = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]]).T
    # 3/4 and 2/4 for cluster 0; 2/3 and 2/4 for cluster 1
    np.testing.assert_allclose(found_again(runs, labels, 2), [(3 / 4 + 2 / 4) / 2, 7 / 12])
    split = np.array([[0, 0, 1, 2, 0, 0]]).T  # 2/6 of cluster 0; 2/4 of cluster 1
    np.testing.assert_allclose(found_again(split, labels, 3), [1 / 3, 1 / 2, 0])


def test_the_direction_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    Y, first = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5)), np.arange(80) < 30
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINK / (1 + SHRINK))
    theirs.fit(Y, first)
    ours = discriminant(Y, first)
    np.testing.assert_allclose(
        ours / np.linalg.norm(ours), theirs.coef_[0] / np.linalg.norm(theirs.coef_[0]), rtol=1e-8
    )


def test_a_sample_has_the_mean_of_its_projections_and_what_they_carry_over_by_hand():
    """One dimension: t is (x - low) / (high - low) with the means of the half."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [30, 20])
    x = np.where(labels == 0, 0.0, 4.0) + rng.standard_normal(50)
    cuts = [rng.permutation(50) % 2 == 0 for _ in range(2)]
    halves = [SampleHalf(labels, x[:, None], side) for cut in cuts for side in (cut, ~cut)]
    total, carried = np.zeros(50), []
    for cut in cuts:
        for side in (cut, ~cut):
            low, high = x[side & (labels == 0)].mean(), x[side & (labels == 1)].mean()
            total[~side] += (x[~side] - low) / (high - low)
            other = [x[~side & (labels == c)].mean() for c in (0, 1)]
            carried.append((other[1] - other[0]) / (high - low))
    gap = gap_of_halves(halves, [0], [1])
    assert gap.carried_over == pytest.approx(np.mean(carried))
    assert gap.smaller == 20
    assert gap.p == pytest.approx(p_one_mode(total / 2))  # 30 are less than twice 20


def test_two_parts_of_one_cloud_have_no_gap_though_a_third_part_lies_between_them():
    """A square, cut into three from its middle: the third part is between the other two."""
    rng = np.random.default_rng(0)
    sketch = rng.uniform(-1, 1, (3000, 2))
    centres = np.array([[-0.6, -0.4], [0.6, -0.4], [0, 0.9]])
    for _ in range(10):
        scores = -((sketch[:, None] - centres) ** 2).sum(axis=2)
        labels = scores.argmax(axis=1)
        centres = np.array([sketch[labels == c].mean(axis=0) for c in range(3)])
    inside = rng.permutation(len(labels)) % 2 == 0
    halves = [SampleHalf(labels, sketch, side) for side in (inside, ~inside)]
    found = separate(halves, scores, labels)
    assert gap_of_halves(halves, [0], [1]).p < 0.001
    assert found.neighbour[:2].tolist() == [1, 0]
    assert found.group.tolist() == [0, 0, 0]
    assert found.p_one_cloud.min() > 0.05


def test_a_small_cloud_beside_a_large_one_has_a_gap():
    rng = np.random.default_rng(0)
    sketch = np.vstack([rng.standard_normal((3000, 2)), 0.3 * rng.standard_normal((40, 2)) + 9])
    labels = np.repeat([0, 1], [3000, 40])
    inside = rng.permutation(len(labels)) % 2 == 0
    halves = [SampleHalf(labels, sketch, side) for side in (inside, ~inside)]
    scores = np.stack([-np.square(sketch).sum(1), -np.square(sketch - 9).sum(1)], axis=1)
    assert separate(halves, scores, labels).p_one_cloud.max() < 0.01
    turned = [half._replace(labels=1 - labels) for half in halves]
    assert separate(turned, scores[:, ::-1], 1 - labels).p_one_cloud.max() < 0.01
    assert MOST_TIMES < 10  # of the 3000 all but a few would hide the 40


@pytest.mark.parametrize("k", [2, 3])
def test_one_cloud_of_correlated_features_has_no_significant_feature(k, global_random_seed):
    X = cloud(np.random.default_rng(global_random_seed), 300)
    model = ONMF(k, random_state=0).fit(X)
    found = explain.clusters(model, X)
    assert len(np.unique(found.group)) == 1
    assert found.markers.p_adjusted.min() > 0.05
    assert found.markers.p_value.min() > 0.05
    assert found.markers.p_neighbour.min() > 0.05
    naive = explain.groups(model.labels_, X)
    assert np.sum(naive.p_adjusted < 0.05) > 5
    assert all(row.one_cloud_with and row.note for row in found.clusters())


def test_two_clouds_have_the_features_that_differ(global_random_seed):
    X, _y = two_clouds(np.random.default_rng(global_random_seed))
    model = ONMF(2, random_state=0).fit(X)
    found = explain.clusters(model, X)
    assert found.markers.p_one_cloud.max() < 0.001
    assert found.found_again.min() > 0.9
    assert found.markers.p_adjusted[:, :12].max() < 0.05
    assert found.markers.p_neighbour[:, :12].max() < 0.05
    assert [row.note for row in found.clusters()] == ["", ""]


def test_a_part_of_a_cloud_has_the_features_of_the_cloud(global_random_seed):
    """The second cloud is cut in two along a feature: its markers stay, that feature does not."""
    rng = np.random.default_rng(global_random_seed)
    X, y = two_clouds(rng)
    own = rng.standard_normal(len(y))
    own -= np.array([own[y == c].mean() for c in (0, 1)])[y]
    X[:, 59] = 20 + 3 * own
    labels = np.where(y == 0, 0, 1 + (own > 0))
    sums = sum_by_cluster(InMemory(X), labels, 3)
    gaps = Separation(
        np.array([1, 2, 1]),
        np.array([0, 0.4, 0.4]),
        np.array([0, 1, 1]),
        np.zeros(3),
        np.full(3, True),
    )
    tests = Significance.of_clusters([(np.arange(60), sums)], gaps)
    assert tests.p_adjusted[1:, :12].max() < 1e-10
    assert tests.p_adjusted[:, 59].min() > 0.9  # the means of both clouds are the same
    assert tests.p_neighbour[1:].min() == 0.4  # no feature tells apart what has no gap
    assert tests.p_neighbour[0, :12].max() < 1e-10
    np.testing.assert_array_equal(tests.p_value[1], tests.p_value[2])
    alone = gaps._replace(group=np.arange(3), p_one_cloud=np.zeros(3))
    assert Significance.of_clusters([(np.arange(60), sums)], alone).p_adjusted[1:, 59].max() < 1e-10
    shut = gaps._replace(p_group=np.full(3, 0.3))
    closed = Significance.of_clusters([(np.arange(60), sums)], shut)
    assert closed.p_value.min() == closed.p_adjusted.min() == 0.3


def test_p_values_of_clusters_are_adjusted_for_the_features_of_each():
    """Benjamini and Hochberg by their definition: the least m p / rank of all that are as large."""
    rng = np.random.default_rng(4)
    X, y = (part[7:] for part in two_clouds(rng, n=20, n_markers=3))
    apart = Separation(np.array([1, 0]), np.zeros(2), np.arange(2), np.zeros(2), np.full(2, True))
    tests = Significance.of_clusters([(np.arange(60), sum_by_cluster(InMemory(X), y, 2))], apart)
    for p, adjusted, beside in zip(*tests[:3], strict=True):
        ranks = np.array([np.sum(p <= own) for own in p])
        expected = [min(1, *(60 * p / ranks)[p >= own]) for own in p]
        np.testing.assert_allclose(adjusted, expected)
        np.testing.assert_allclose(beside, expected)  # the other one is the neighbour
        assert np.sum(adjusted > 1.5 * p) > 30


@pytest.mark.parametrize("kind", ["sparse", "missing", "sparse missing", "weights", "kl"])
def test_every_kind_of_data_has_its_figures(kind):
    X, y = two_clouds(np.random.default_rng(1))
    weight, loss = None, "frobenius"
    if "missing" in kind:
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    if "sparse" in kind:
        X = sp.csr_array(X)
    if kind == "weights":
        weight = np.ones(len(y))
        weight[::7] = 0
    if kind == "kl":
        X, loss = np.round(X), "kl"
    model = ONMF(2, loss=loss, random_state=0).fit(X, sample_weight=weight)
    found = explain.clusters(model, X, sample_weight=weight)
    assert found.found_again.min() > 0.8
    assert found.markers.p_one_cloud.max() < 0.05


def test_missing_values_become_the_mean_of_what_is_there():
    X = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])
    expected = [[1, 6], [3, 4], [2, 8]]
    np.testing.assert_allclose(mean_filled(X), expected)
    np.testing.assert_allclose(mean_filled(sp.csr_array(X)).toarray(), expected)
    whole = np.ones((2, 2))
    assert mean_filled(whole) is whole


def test_a_few_samples_are_no_evidence_of_a_gap_nor_of_one_cloud():
    X = np.array([[3, 0], [2, 0.1], [0, 1], [0, 2.0]])
    found = explain.clusters(ONMF(2, random_state=0).fit(X), X)
    assert found.markers.p_one_cloud.tolist() == [1, 1]
    assert [row.enough_samples for row in found.clusters()] == [False, False]
    assert [row.note for row in found.clusters()] == [
        "Samples too few or too noisy to tell whether there is a gap to cluster 1",
        "Samples too few or too noisy to tell whether there is a gap to cluster 0",
    ]


def test_a_long_text_that_was_sent_many_times_does_not_hide_the_other_topics():
    rng = np.random.default_rng(0)
    background, topics = rng.dirichlet(np.full(800, 0.3)), rng.dirichlet(np.full(800, 0.1), 4)
    y, lengths = np.arange(320) % 4, np.maximum(30, rng.lognormal(4.5, 1.2, 320)).astype(int)
    words = [rng.dirichlet(20 * (background + topics[k]) + 1e-6) for k in y]
    sent = rng.multinomial(3000, rng.dirichlet(np.full(800, 0.3)))
    X = np.vstack([*map(rng.multinomial, lengths, words), *[sent] * 80])
    model = ONMF(5, loss="kl", random_state=0).fit(X)
    assert adjusted_rand_score(np.append(y, np.full(80, 4)), model.labels_) > 0.97
    assert min(row.found_again for row in model.explain(X).clusters()) > 0.9
