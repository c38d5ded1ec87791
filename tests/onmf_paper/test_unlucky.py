"""Three centroids in one cluster: the draws, the starts, and what is counted."""

import numpy as np
import pytest

from onmf_paper.data_sets import load_data_set
from onmf_paper.escapes import COMPARED, Tally, judge_settings, tally_settings
from onmf_paper.ledger import Row
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
    first_memberships,
)
from onmf_paper.verdicts import UNFINISHED


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


def test_long_clusters_are_four_times_as_wide_along_their_ray():
    X, y, _ = draw_rays("long", 0.5, "random", 3)
    for label, centre in enumerate(CENTRES):
        along = centre / np.linalg.norm(centre)
        noise = X[y == label] - centre
        assert noise.dot(along).std() == pytest.approx(1.0, rel=0.15)
        assert noise.dot([-along[1], along[0]]).std() == pytest.approx(0.25, rel=0.15)


def test_starts_apart_are_the_ends_and_the_middle_of_the_angles():
    X, y, centroids = draw_rays("round", 1.0, "apart", 5)
    slopes, chosen = X[y == 2, 1] / X[y == 2, 0], centroids[:, 1] / centroids[:, 0]
    assert (chosen[0], chosen[2]) == (slopes.min(), slopes.max())
    assert (slopes < chosen[1]).sum() == 250


def test_memberships_have_columns_of_unit_length():
    assert first_memberships("ray", 30, 3, 1) is None
    for kind, entries in {"drawn": 1, "equal": 3}.items():
        H = first_memberships(kind, 30, 3, 1)
        np.testing.assert_allclose(np.linalg.norm(H, axis=0), 1)
        assert set((H > 0).sum(axis=1)) == {entries}
    np.testing.assert_allclose(first_memberships("shared", 30, 3, 1).sum(axis=1), 1)


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


def outcome(setting, draw, method, found):
    """A finished trial that finds the clusters, or puts all points into one."""
    data = f"{setting.data} {draw}"
    changes = {} if method == "k-means" else setting.solver_changes
    trial = {"data": data, "fingerprint": "f", "method": method, "seed": 1, **changes}
    y = load_data_set(data).y
    return Row(trial, "done", {}, y if found else np.zeros_like(y), "")


def test_draws_are_counted_setting_by_setting():
    first, other = SETTINGS[0], SETTINGS[1]
    rows = [outcome(first, d, m, m == "sncp" and d > DRAWS[0]) for d in DRAWS for m in COMPARED]
    rows += [outcome(other, d, "sncp", True) for d in DRAWS]  # NSNCP has not run there
    (tally,) = tally_settings(rows)
    assert tally == (first, 20, {"k-means": 0, "sncp": 19, "nsncp": 0})
    assert judge_settings([]) is None
    verdict = judge_settings([tally])
    assert verdict.word == UNFINISHED
    assert "K-means 0, SNCP 19, NSNCP 0 of 20 draws" in verdict.why


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
