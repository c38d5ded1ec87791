"""Which features and samples the page shows of each cluster."""

import numpy as np
import pytest

from onmf import ONMF, explain
from onmf.datasets import make_rays
from onmf.page.clustering import read_clustering
from onmf.page.markers import cluster_panels, dot_values, next_clusters, shown_features
from onmf.rows.terms import DOCUMENTS


def table(k, m=70):
    """k groups of two samples; feature j is high in group j % k, and higher for smaller j."""
    X = np.ones((2 * k, m))
    for j in range(m):
        X[2 * (j % k) : 2 * (j % k) + 2, j] += m - j
    X += 0.01 * np.random.default_rng(0).random(X.shape)
    return explain.groups(np.repeat(np.arange(k), 2), X)


@pytest.mark.parametrize(("k", "expected"), [(2, 5), (12, 5), (20, 3), (35, 2)])
def test_by_default_sixty_features_two_to_five_of_each_cluster(k, expected):
    markers = table(k)
    shown = shown_features(markers)
    assert shown == list(dict.fromkeys(j for own in markers.numbers(expected) for j in own))
    assert len(shown) == expected * k


def test_a_number_of_features_is_kept_and_each_is_shown_once():
    markers = table(4)
    assert shown_features(markers, 1) == [own[0] for own in markers.numbers(1)]
    assert len(shown_features(markers, 9)) == 36
    same = explain.groups([0, 1, 1, 2], [[2.0, 0], [0, 3], [0, 4], [2, 0]])
    assert sorted(shown_features(same, 2)) == [0, 1]


def test_dots_go_from_the_lowest_mean_to_the_highest():
    markers = explain.groups([0, 0, 1, 2, 2], [[4.0], [2], [1], [0], [0]])
    levels, shares = dot_values(markers, [0])
    np.testing.assert_allclose(levels[:, 0], [1, 1 / 3, 0])
    np.testing.assert_allclose(shares[:, 0], [1, 1, 0])


def test_a_card_says_what_is_found_again_and_whether_there_is_a_gap():
    X, _ = make_rays(60, 8, 3, noise=0.05, random_state=0)
    model = ONMF(5, random_state=0).fit(X)
    found = model.explain(X)
    facts = read_clustering(model, X, None, None, None, found, terms=DOCUMENTS)
    rows = found.clusters()
    assert any(row.found_again < 0.5 for row in rows)
    for row, panel in zip(rows, cluster_panels(facts), strict=True):
        again, gap = panel["lines"][1:]
        assert f"{100 * row.found_again:.0f} % of it found again" in again
        assert ("do not rely on it" in again) == (row.found_again < 0.5)
        few = "Documents too few or too noisy to tell whether there is a gap to topic"
        unseen = "No gap to topic" if row.enough_samples else few
        assert gap.startswith(unseen if row.p_one_cloud > 0.05 else "A gap to topic")


def test_the_next_cluster_is_the_second_nearest_that_shares_a_feature():
    rays = np.eye(3)
    X = np.array([[3.0, 1, 2], [3, 0, 0], [5, 4, 0]])
    assert next_clusters(X, rays, 0) == [2, None, 1]
