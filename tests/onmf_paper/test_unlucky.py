"""Three centroids in one cluster: the draws, the starts, and what is counted."""

import numpy as np
import pytest

from onmf_paper.data_sets import load_data_set
from onmf_paper.escapes import COMPARED, Tally, judge_settings
from onmf_paper.methods import build_estimator
from onmf_paper.studies import STUDIES
from onmf_paper.trials import make_trial, run_trial
from onmf_paper.unlucky import (
    CENTRES,
    DRAWS,
    SETTINGS,
    Setting,
    are_found,
    draw_rays,
)


@pytest.mark.parametrize("shape", ["round", "long"])
@pytest.mark.parametrize("starts", ["random", "apart"])
def test_a_draw_has_the_supplement_s_clusters_and_starts_in_the_largest(shape, starts):
    X, y, centroids = draw_rays(shape, 0.5, starts, 7)
    assert np.bincount(y).tolist() == [200, 300, 500]
    for label, centre in enumerate(CENTRES):
        np.testing.assert_allclose(X[y == label].mean(axis=0), centre, atol=0.2)
    largest = {tuple(point) for point in X[y == 2]}
    assert {tuple(point) for point in centroids} <= largest
    assert len(np.unique(centroids, axis=0)) == 3


def test_clusters_are_found_when_most_of_each_has_a_label_of_its_own():
    y = np.repeat([0, 1, 2], [3, 3, 4])
    assert are_found(y, np.array([2, 2, 0, 1, 1, 1, 0, 0, 0, 1]))
    assert not are_found(y, np.array([1, 1, 1, 1, 1, 1, 0, 0, 0, 0]))  # two merged
    assert not are_found(y, np.array([1, 1, 1, 1, 1, 1, 0, 0, 2, 2]))  # one cut up as well
    assert not are_found(y, np.array([0, 0, 0, 1, 1, 1, 2, 2, 0, 1]))  # half is not most


def test_all_methods_begin_at_the_draw_s_centroids():
    name = f"{SETTINGS[0].data} {DRAWS[0]}"
    X, _, k, centroids = load_data_set(name)
    start = {"init": (None, centroids)}
    for method in ("sncp", "nsncp", "default"):
        model = build_estimator(method, "plane", X, k, 1, dict(start))
        np.testing.assert_array_equal(model.init[1], centroids)
    np.testing.assert_array_equal(
        build_estimator("k-means", "plane", X, k, 1, dict(start)).init, centroids
    )
    result, labels = run_trial(make_trial(name, "sncp", 1, memberships="equal", max_iter=5))
    assert result["sweeps"] == 5
    assert result["curves"] == {}
    assert len(labels) == 1000


def test_every_setting_is_run_on_every_draw_and_k_means_once_on_each():
    plan = STUDIES["unlucky-starts"].plan(9)
    assert len(set(map(str, SETTINGS))) == len(SETTINGS)
    for method in ("sncp", "nsncp"):
        assert sum(t["method"] == method for t in plan) == len(SETTINGS) * len(DRAWS)
    sets = {setting.data for setting in SETTINGS}
    assert sum(t["method"] == "k-means" for t in plan) == len(sets) * len(DRAWS)
    assert all(t["data"].startswith("rays ") and t["seed"] == 1 for t in plan)


@pytest.mark.parametrize(
    ("counts", "holds"), [((2, 18, 18), True), ((3, 20, 20), False), ((0, 20, 17), False)]
)
def test_the_claim_holds_where_both_penalties_nearly_always_and_k_means_seldom(counts, holds):
    tally = Tally(Setting(), 20, dict(zip(COMPARED, counts, strict=True)))
    assert tally.holds() == holds
    every = [tally] * len(SETTINGS)
    assert judge_settings(every).word == (
        f"Holds in {len(SETTINGS) if holds else 0} of {len(SETTINGS)} settings"
    )
