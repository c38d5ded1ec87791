"""NaN in X is an entry that was not observed: every figure is about the others, in every place."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import onmf
from cases import few
from onmf import ONMF, explain
from onmf.datasets import make_rays
from onmf.exceptions import EmptyClusterWarning, UnassignedSampleWarning, UnobservedWarning
from onmf.metrics import adjusted_rand_score
from onmf.page import html

K, N, M = 4, 300, 30
RNG = np.random.default_rng(0)
FULL, TRUTH = make_rays(N, M, K, noise=0.3, random_state=0)
FULL *= RNG.lognormal(0, 1, (N, 1))
HOLES = RNG.random(FULL.shape) < 0.3
X = np.where(HOLES, np.nan, FULL)
WEIGHT = RNG.integers(1, 4, N).astype(float)


def fit(X=X, sample_weight=None, **settings):
    model = ONMF(**{"n_clusters": K, "random_state": 0} | settings)
    return model.fit(X, sample_weight=sample_weight)


def stored(X):
    """CSR in which a hole is a stored NaN."""
    marked = sp.csr_array(np.where(np.isnan(X), -1, X))
    marked.data[marked.data == -1] = np.nan
    return marked


def on_disk(path):
    np.save(path / "x.npy", X)
    return path / "x.npy"


def in_parquet(path):
    pytest.importorskip("pyarrow")
    pd.DataFrame(X).rename(columns=str).to_parquet(path / "x.parquet")
    return path / "x.parquet"


def on_dask(path):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, M))


PLACES = {
    "csr": lambda path: stored(X),
    "float32": lambda path: X.astype(np.float32),
    "frame": lambda path: pd.DataFrame(X),
    "disk": on_disk,
    "parquet": in_parquet,
    "dask": on_dask,
}


def observed_error(model, X, weight=1.0):
    """sum_ij d_i m_ij (x_ij - (HW)_ij)^2 over the same of x_ij^2, by definition."""
    left = np.nansum((X - model.transform(X) @ model.cluster_centers_) ** 2, axis=1)
    return np.sum(weight * left) / np.sum(weight * np.nansum(X**2, axis=1))


@pytest.mark.parametrize("settings", [{}, {"n_init": 3}, {"init": "nndsvd"}])
def test_all_figures_are_of_the_observed_entries(settings):
    model = fit(**settings)
    assert model.converged_
    assert model.relative_error_ == pytest.approx(observed_error(model, X))
    assert model.inertia_ == pytest.approx(model.relative_error_ * np.nansum(X**2))
    assert model.score(X) == pytest.approx(1 - model.relative_error_)
    assert np.array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), model.membership_)
    assert model.n_missing_ == HOLES.sum()
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.98


def test_without_nan_nothing_of_this_is_used(monkeypatch):
    before = fit(FULL)
    monkeypatch.setattr("onmf.losses.squares.MaskedAlternation", None)
    monkeypatch.setattr("onmf.losses.squares.MaskedRays", None)
    model = fit(FULL)
    assert np.array_equal(model.predict(FULL), before.labels_)
    assert np.array_equal(model.cluster_centers_, before.cluster_centers_)
    assert model.n_missing_ == 0


@pytest.mark.parametrize("place", few(PLACES))
def test_the_clusters_are_the_same_wherever_the_rows_are(place, tmp_path):
    here, there = fit(), fit(PLACES[place](tmp_path))
    assert np.array_equal(there.labels_, here.labels_)
    exact = place in ("frame", "disk", "parquet")
    tolerance = 0 if exact else 1e-3 if place == "float32" else 1e-9
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=tolerance)
    assert there.n_missing_ == here.n_missing_
    rows = PLACES[place](tmp_path)
    assert np.array_equal(np.asarray(there.predict(rows)), here.labels_)
    np.testing.assert_allclose(
        np.asarray(there.decision_function(rows)), here.decision_function(X), atol=1e-5
    )
    assert there.cluster_centers_.dtype == (np.float32 if place == "float32" else np.float64)


def test_a_weight_is_a_number_of_copies():
    many = np.repeat(X, WEIGHT.astype(int), axis=0)
    heavy, copied = fit(sample_weight=WEIGHT), fit(many)
    assert heavy.relative_error_ == pytest.approx(copied.relative_error_, rel=1e-4)
    assert heavy.relative_error_ == pytest.approx(observed_error(heavy, X, WEIGHT))
    assert np.array_equal(np.repeat(heavy.labels_, WEIGHT.astype(int)), copied.labels_)


@pytest.mark.parametrize("factor", few([2.0**-600, 2.0**600]))
def test_the_scale_of_x_does_not_matter(factor):
    here, there = fit(), fit(X * factor)
    assert np.array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.cluster_centers_ / factor, here.cluster_centers_)


def test_the_order_of_samples_and_features_does_not_matter():
    rows, columns = RNG.permutation(N), RNG.permutation(M)
    turned = fit(X[rows][:, columns])
    assert adjusted_rand_score(turned.labels_, fit().labels_[rows]) == 1


def test_holes_are_filled_nearer_the_truth_than_by_means():
    model = fit()
    guess = model.inverse_transform(model.transform(X))
    mean = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    wrong = [np.linalg.norm((full - FULL)[HOLES]) for full in (guess, mean)]
    assert wrong[0] < 0.5 * wrong[1]


def test_new_samples_with_holes_are_placed_by_a_model_that_saw_none():
    model = fit(FULL)
    W = model.cluster_centers_
    for x, label, cosines in zip(X, model.predict(X), model.decision_function(X), strict=True):
        seen = ~np.isnan(x)
        sizes = np.linalg.norm(x[seen]) * np.linalg.norm(W[:, seen], axis=1)
        np.testing.assert_allclose(cosines, (W[:, seen] @ x[seen]) / sizes)
        assert label == cosines.argmax()
    top = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(model.distance(X), np.sqrt(1 - top[:, -1] ** 2), atol=1e-7)


def test_samples_and_features_of_which_nothing_is_observed_are_left_out_with_one_warning():
    Z = X.copy()
    Z[5], Z[:, 7] = np.nan, np.nan
    with pytest.warns(UnobservedWarning, match=r"label -1: 5; 1 feature.* centroid: 7\.") as said:
        model = fit(Z)
    assert len(said) == 1
    assert model.labels_[5] == -1
    assert not model.membership_[5].any()
    assert not model.cluster_centers_[:, 7].any()
    rest = np.delete(np.delete(Z, 5, axis=0), 7, axis=1)
    assert np.array_equal(np.delete(model.labels_, 5), fit(rest).labels_)
    assert model.predict(Z)[5] == -1


def test_given_centroids_keep_their_ids_and_a_callable_sees_the_holes():
    first = fit()
    order = [2, 0, 3, 1]
    again = fit(init=first.cluster_centers_[order])
    assert np.array_equal(np.array(order)[again.labels_], first.labels_)

    def start(X, k, random_state):
        assert np.array_equal(np.isnan(X), HOLES)
        return first.cluster_centers_

    assert np.array_equal(fit(init=start).labels_, first.labels_)
    more = ONMF(init=fit(FULL), random_state=0).fit(X)
    assert more.relative_error_ == pytest.approx(first.relative_error_, rel=1e-6)
    assert more.lineage_.kept == tuple(range(K))


@pytest.mark.parametrize("most", few([2, 5, 3, 8], 2))
def test_the_number_of_sweeps_has_its_limit(most):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(max_iter=most)
    assert model.n_iter_ <= most
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::onmf.exceptions.SignedDataWarning")
def test_signed_data():
    Z = X - 0.3 * np.nanmin(np.nanmean(X, axis=1))
    model = fit(Z)
    assert model.relative_error_ == pytest.approx(observed_error(model, Z))


def test_fewer_directions_than_clusters_leave_empty_clusters():
    Z = np.outer(np.arange(1.0, 9), np.arange(1.0, 6))
    Z[2, 3] = np.nan
    with pytest.warns(EmptyClusterWarning, match="distinct directions"):
        model = fit(Z, n_clusters=3)
    assert model.relative_error_ == pytest.approx(0, abs=1e-12)
    assert np.array_equal(model.predict(Z), model.labels_)


def test_a_saved_model_places_samples_with_holes(tmp_path):
    model = fit()
    model.save(tmp_path / "model.onmf")
    loaded = onmf.ONMF.load(tmp_path / "model.onmf")
    assert np.array_equal(loaded.predict(X), model.labels_)
    assert loaded.n_missing_ == model.n_missing_


def test_the_threads_do_not_matter():
    one, two = fit(n_jobs=1), fit(n_jobs=2)
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)


REFUSED = {
    "palm": lambda: fit(solver="palm"),
    "infinity": lambda: fit(np.where(HOLES, np.inf, FULL)),
    "infinity beside NaN": lambda: fit(np.vstack([X, np.full(M, np.inf)])),
    "nothing": lambda: fit(np.full((N, M), np.nan)),
    "kl": lambda: fit(loss="kl"),
    "kl stream": lambda: ONMF(K, loss="kl").partial_fit(X),
}
SENTENCES = {
    "palm": r"NaN or infinity at \(row 0, column",
    "infinity": "contains infinity at",
    "infinity beside NaN": r"contains infinity at \(row 300, column 0\)",
    "negative beside NaN": r"Negative values .* \(row 300, column 0\)",
    "nothing": "nothing to cluster",
    "kl": r"NaN or infinity at \(row 0, column",
    "kl stream": r"NaN or infinity at \(row 0, column",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused_in_a_sentence(case):
    with pytest.raises(ValueError, match=SENTENCES[case]):
        REFUSED[case]()


@pytest.mark.parametrize("form", [np.asarray, stored])
def test_features_are_compared_by_what_is_observed(form):
    labels, found = np.asarray(TRUTH), explain.groups(TRUTH, form(X), sample_weight=WEIGHT)
    for k in range(K):
        for j in range(M):
            seen = ~np.isnan(X[:, j])
            inside, outside = seen & (labels == k), seen & (labels != k)
            means = [np.average(X[own, j], weights=WEIGHT[own]) for own in (inside, outside)]
            assert found.facts.mean_inside[k, j] == pytest.approx(means[0])
            assert found.facts.mean_outside[k, j] == pytest.approx(means[1])


def test_p_values_of_unweighted_groups_are_those_of_the_observed_entries():
    labels = np.asarray(TRUTH)
    whole, j = explain.groups(labels, X), 3
    seen = ~np.isnan(X[:, j])
    alone = explain.groups(labels[seen], X[seen][:, [j]])
    np.testing.assert_allclose(whole.p_value[:, j], alone.p_value[:, 0])
    Z = X.copy()
    Z[labels == 0, j] = np.nan  # of one group nothing is known
    hidden = explain.groups(labels, Z)
    assert hidden.p_value[0, j] == 1
    assert hidden.facts.score[0, j] == 0


def test_an_explanation_knows_the_clusters_in_spite_of_holes():
    model = fit()
    told = model.explain(X)
    assert told.certainty.mean() > 0.8
    ordered = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(told.margin, ordered[:, -1] - ordered[:, -2])
    best = [set(names) for names in told.markers.top(5)]
    full = [
        set(names) for names in fit(FULL, init=model.cluster_centers_).explain(FULL).markers.top(5)
    ]
    assert sum(len(a & b) for a, b in zip(best, full, strict=True)) >= 0.7 * 5 * K


@pytest.mark.slow
def test_the_page_says_how_much_is_missing(plain_pages, tmp_path):
    assert "30 % of the entries are missing" in html(fit(), X, truth=TRUTH)
    np.save(tmp_path / "x.npy", X)
    assert "30 % of the entries" in html(fit(tmp_path / "x.npy"), tmp_path / "x.npy")


def test_zero_samples_are_told_as_ever():
    Z = FULL.copy()
    Z[3] = 0
    with pytest.warns(UnassignedSampleWarning, match="all zero"):
        fit(Z)


@pytest.mark.filterwarnings("ignore::onmf.exceptions.EmptyClusterWarning")
@pytest.mark.filterwarnings("ignore::onmf.exceptions.UnobservedWarning")
@pytest.mark.parametrize("seed", few([2, 5, 8], 1))
def test_whether_x_can_be_clustered_does_not_depend_on_the_order_of_its_rows(seed):
    """Fewer directions than clusters, found one after the other: 4 of 12 orders were refused."""
    rng = np.random.default_rng(seed)
    X = rng.random((30, 2)) if seed < 6 else rng.integers(1, 4, (30, 2)).astype(float)
    X[rng.random((30, 2)) < 0.7] = np.nan
    found = set()
    for order in range(8):
        model = ONMF(8, random_state=0).fit(X[np.random.default_rng(order).permutation(len(X))])
        found.add(len(set(model.labels_) - {-1}))
    assert len(found) == 1
