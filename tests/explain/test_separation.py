"""Halves of the samples: what is found again, what is one cloud, and what may be significant."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score

from onmf import ONMF, explain
from onmf.explain.modes import p_one_mode
from onmf.explain.sample_halves import (
    CUTS,
    MANY,
    MOST_TIMES,
    SHRINK,
    Gap,
    SampleHalf,
    discriminant,
    found_again,
    gap_of_halves,
    halves_of_samples,
)
from onmf.explain.separation import Separation, mean_filled, nearest_group, separate
from onmf.explain.significance import Significance
from onmf.explain.sums import sum_by_cluster
from onmf.explain.trust import ClusterRow, note_of
from onmf.losses import LOSSES
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block


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


def test_only_samples_outside_the_half_are_projected_and_means_inside_are_0_and_1():
    rng = np.random.default_rng(0)
    labels, inside = np.arange(60) % 3, np.arange(60) % 2 == 0
    sketch = rng.standard_normal((60, 4)) + labels[:, None]
    half = SampleHalf(labels, sketch, inside)
    t, second = half.between([0], [1]).T
    new = ~inside & (labels < 2)
    np.testing.assert_array_equal(np.isnan(t), ~new)
    np.testing.assert_array_equal(second[new], labels[new])
    seen = inside & (labels < 2)
    w = discriminant(sketch[seen], labels[seen] == 1)
    low, high = (sketch[seen & (labels == c)].mean(axis=0) @ w for c in (0, 1))
    np.testing.assert_allclose(low + t[new] * (high - low), sketch[new] @ w)
    everything = SampleHalf(labels, sketch, inside | True)
    assert everything.between([0], [1]) is None  # nobody is left
    assert gap_of_halves([everything], [0], [1]) == (1, 0, 0)
    both = [half, half._replace(inside=~inside)]
    assert gap_of_halves([*both, everything], [0], [1]) == gap_of_halves(both, [0], [1])


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


@pytest.mark.parametrize("n", [60, MANY + 2])
def test_few_samples_are_cut_several_times_and_number_clusters_by_their_own_samples(n):
    X, y = two_clouds(np.random.default_rng(2), n=n // 2)
    seen = Block(X, np.ones((n, 1)))
    halves = halves_of_samples(LOSSES["frobenius"], seen, y, 2, np.random.default_rng(0))
    assert len(halves) == 2 * (CUTS if n <= MANY else 1)
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        np.testing.assert_array_equal(one.inside, ~other.inside)
    first = halves[0]
    flipped = np.where(first.inside, y, 1 - y)  # labels outside a half have no part in it
    again = halves_of_samples(LOSSES["frobenius"], seen, flipped, 2, np.random.default_rng(0))[0]
    np.testing.assert_array_equal(again.labels, first.labels)


def test_groups_are_joined_while_there_is_no_gap():
    """Clusters 0 and 1 are the halves of one cloud, 2 is far away."""
    rng = np.random.default_rng(3)
    n = 400
    far = rng.standard_normal((n // 2, 2)) + np.array([0, 12])
    sketch = np.vstack([rng.standard_normal((n, 2)), far])
    labels = np.concatenate([(sketch[:n, 0] > 0).astype(int), np.full(n // 2, 2)])
    centres = np.array([[-1, 0], [1, 0], [0, 12.0]])
    scores = -((sketch[:, None] - centres) ** 2).sum(axis=2)
    inside = rng.permutation(len(labels)) % 2 == 0
    halves = [SampleHalf(labels, sketch, side) for side in (inside, ~inside)]
    found = separate(halves, scores, labels)
    assert found.group.tolist() == [0, 0, 2]
    assert found.neighbour[:2].tolist() == [1, 0]
    assert found.p_one_cloud[0] == found.p_one_cloud[1] > 0.05
    pairs = {frozenset((k, int(found.neighbour[k]))) for k in range(3)}
    alone = gap_of_halves(halves, [2], [int(found.neighbour[2])]).p
    assert len(pairs) == 2
    assert found.p_one_cloud[2] == pytest.approx(2 * alone, rel=1e-9, abs=0)
    assert found.p_group.max() < 1e-6
    assert found.p_group[0] == found.p_group[1]
    assert nearest_group((0, 1), [(0, 1), (2,)], scores, labels) == (2,)


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


def test_no_gap_says_something_only_with_enough_samples():
    """A cloud that is long in one direction, cut across it: seen by many samples, not by few."""
    rng = np.random.default_rng(0)
    along = np.zeros(60)
    along[:30] = 1
    for n, enough in ((30, False), (2000, True)):
        X = 20 + 1.5 * rng.standard_normal((n, 1)) * along + 3 * rng.standard_normal((n, 60))
        found = explain.clusters(ONMF(2, random_state=0).fit(X), X)
        assert found.markers.p_one_cloud.min() > 0.05
        assert found.enough.tolist() == [enough, enough]


def test_one_comparison_without_enough_samples_makes_its_whole_group_unclear():
    """Clusters 0 and 1 are parts of one cloud of many samples, 2 are six samples inside it."""
    rng = np.random.default_rng(3)
    sketch = rng.standard_normal((400, 2))
    labels = (sketch[:, 0] > 0).astype(int)
    centres = np.array([[-1, 0], [1, 0], [0, 0.0]])
    scores = -((sketch[:, None] - centres) ** 2).sum(axis=2)
    inside = rng.permutation(400) % 2 == 0

    def enough(own):
        halves = [SampleHalf(own, sketch, side) for side in (inside, ~inside)]
        found = separate(halves, scores, own)
        assert len(np.unique(found.group[np.unique(own)])) == 1
        return found.enough[np.unique(own)].tolist()

    assert enough(labels) == [True, True]
    few = labels.copy()
    few[np.argsort(np.abs(sketch[:, 0]))[:6]] = 2
    assert enough(few) == [False, False, False]


def test_enough_samples_carry_over_two_thirds_and_are_twenty():
    assert Gap(0.5, 0.67, 20).enough
    assert not Gap(0.5, 0.66, 20).enough
    assert not Gap(0.5, 0.67, 19).enough


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


def test_words_for_what_speaks_against_a_cluster():
    assert note_of(0.9, [], True) == ""
    assert note_of(0.41, [2, 5], True) == (
        "Only 41 % of it found again in halves of the samples: do not rely on it. "
        "No gap to clusters 2 and 5: they may be parts of one cloud"
    )
    assert (
        note_of(0.9, [2], False)
        == "Samples too few or too noisy to tell whether there is a gap to cluster 2"
    )
    assert note_of(0.9, [*range(6)], True).startswith("No gap to clusters 0, 1, 2, 3, 4 and 5:")
    assert note_of(0.9, [*range(7)], True).startswith(
        "No gap to clusters 0, 1, 2, 3, 4 and 2 others:"
    )
    row = ClusterRow(0, "", 10, 0.9, 0.5, 3, 0.001, "", True, "")
    assert row.sentences() == [
        "50 % of it found again in halves of the samples",
        "A gap to cluster 3 (p = 0.001)",
    ]
    unclear = row._replace(p_one_cloud=0.2)
    assert unclear.gap_sentence() == (
        "No gap to cluster 3 (p = 0.2): they may be parts of one cloud"
    )
    assert unclear._replace(enough_samples=False).gap_sentence() == (
        "Samples too few or too noisy to tell whether there is a gap to cluster 3 (p = 0.2)"
    )
