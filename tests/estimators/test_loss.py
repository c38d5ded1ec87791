"""`ONMF(loss="kl")` promises what the default does, with divergences in place of squares."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import onmf
from onmf import ONMF, PALM, choose_k
from onmf.exceptions import EmptyClusterWarning, UnassignedSampleWarning
from onmf.page import html


def counts(n=240, m=30, k=4, seed=0, concentration=0.2):
    rng = np.random.default_rng(seed)
    P, y = rng.dirichlet(np.full(m, concentration), k), rng.integers(0, k, n)
    X = np.array([rng.poisson(rng.integers(20, 90) * P[c]) for c in y]).astype(float)
    X[np.arange(n), rng.integers(0, m, n)] += 1
    return X, y


def divergence(X, Y):
    """KL(X || Y), entry by entry."""
    inside = X > 0
    return float((X[inside] * np.log(X[inside] / Y[inside])).sum() - X.sum() + Y.sum())


def kl(k=4, **params):
    return ONMF(k, loss="kl", random_state=0, n_jobs=1, **params)


@pytest.fixture(scope="module")
def fitted():
    X, y = counts()
    return X, y, kl().fit(X)


def test_the_relative_error_is_the_divergence_over_that_of_one_cluster(fitted):
    X, _, model = fitted
    H, W = model.membership_, model.cluster_centers_
    left = divergence(X, H @ W)
    one = divergence(X, np.outer(X.sum(axis=1), X.sum(axis=0) / X.sum()))
    assert model.inertia_ == pytest.approx(left)
    assert model.relative_error_ == pytest.approx(left / one)
    assert model.score(X) == pytest.approx(1 - left / one)
    assert kl(1).fit(X).relative_error_ == pytest.approx(1)


def test_centroids_are_means_with_a_hundredth_of_the_overall_mean(fitted):
    X, _, model = fitted
    overall = X.sum(axis=0) / X.sum()
    for k, w in enumerate(model.cluster_centers_):
        own = X[model.labels_ == k]
        shares = 0.99 * own.sum(axis=0) / own.sum() + 0.01 * overall
        np.testing.assert_allclose(w, own.sum() / len(own) * shares)
    assert model.stationarity_ < 1e-12


def test_the_clusters_are_those_of_the_classes_and_predict_gives_the_labels(fitted):
    X, y, model = fitted
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), model.membership_)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores.argmax(axis=1), model.labels_)
    assert (np.bincount(model.labels_) == np.sort(np.bincount(model.labels_))[::-1]).all()


def test_the_history_never_rises():
    X, _ = counts(600, 40, 8, 1, 0.6)
    model = kl(8, init=counts(8, 40, 1, 5, 5.0)[0]).fit(X)  # a poor start, for many stages
    errors = [stage.relative_error for stage in model.history_]
    assert len(errors) > 1
    assert (np.diff(errors) <= 1e-12).all()
    assert model.n_iter_ == model.history_[-1].sweeps


@pytest.mark.parametrize("factor", [3.0, 2.0**-600, 1e90])
def test_the_scale_of_counts_does_not_matter(fitted, factor):
    X, _, model = fitted
    other = kl().fit(X * factor)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert other.relative_error_ == pytest.approx(model.relative_error_)
    assert other.inertia_ / factor == pytest.approx(model.inertia_)
    np.testing.assert_allclose(other.membership_, model.membership_, rtol=1e-9)
    np.testing.assert_allclose(other.transform(X * factor), model.membership_, rtol=1e-9)


def test_sparse_disk_dask_and_single_precision_give_the_same_clusters(fitted, tmp_path):
    X, _, model = fitted
    np.save(tmp_path / "X.npy", X)
    places = [sp.csr_array(X), tmp_path / "X.npy", X.astype(np.float32)]
    dask = pytest.importorskip("dask.array", reason="needs Dask")
    places.append(dask.from_array(X, chunks=(70, 30)))
    for place in places:
        other = kl().fit(place)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, rtol=1e-5)
        np.testing.assert_array_equal(np.asarray(other.predict(place)), model.labels_)


def test_a_sparse_matrix_is_never_made_dense():
    words = np.random.default_rng(0).integers(0, 20_000, 4000 * 40)
    X = sp.csr_array((np.ones(len(words)), words, 40 * np.arange(4001)), shape=(4000, 20_000))
    X.sum_duplicates()
    kl(2).fit(X[:50])  # what is compiled or imported once
    tracemalloc.start()
    kl(2).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * np.prod(X.shape)


def test_a_weight_of_two_is_a_sample_that_is_there_twice(fitted):
    X, _, _ = fitted
    weight = np.random.default_rng(2).integers(0, 3, len(X))
    model, twice = kl().fit(X, sample_weight=weight), kl().fit(np.repeat(X, weight, axis=0))
    np.testing.assert_array_equal(twice.labels_, np.repeat(model.labels_, weight))
    np.testing.assert_allclose(model.cluster_centers_, twice.cluster_centers_)
    assert model.inertia_ == pytest.approx(twice.inertia_)
    assert model.score(X, sample_weight=weight) == pytest.approx(1 - twice.relative_error_)


@pytest.mark.slow
def test_more_starts_never_leave_more():
    for seed in range(4):
        X, _ = counts(80, 15, 7, seed, 2.0)
        left = [kl(7, n_init=n).fit(X).inertia_ for n in (1, 2, 3, 5)]
        assert left == sorted(left, reverse=True)


def test_given_centroids_and_models_keep_their_ids(fitted):
    X, _, model = fitted
    other = kl(init=model.cluster_centers_[[2, 0, 3, 1]]).fit(X)
    np.testing.assert_array_equal(other.labels_, np.array([1, 3, 0, 2])[model.labels_])
    again = kl(init=other).fit(X)
    np.testing.assert_array_equal(again.labels_, other.labels_)
    np.testing.assert_array_equal(again.cluster_ids_, range(4))


def test_samples_and_features_of_zeros_are_borne():
    X, _ = counts(60, 12, 3)
    plain = kl(3).fit(X)
    X[5] = 0
    wide = np.insert(X, 4, 0, axis=1)
    with pytest.warns(UnassignedSampleWarning):
        model = kl(3).fit(wide)
    assert model.labels_[5] == -1
    assert not model.membership_[5].any()
    assert not model.cluster_centers_[:, 4].any()
    assert adjusted_rand_score(np.delete(model.labels_, 5), np.delete(plain.labels_, 5)) == 1
    only_new = np.zeros((1, 13))
    only_new[0, 4] = 3
    assert model.predict(only_new) == [-1]  # a word that no cluster has


@pytest.mark.parametrize("k", [39, 40])
def test_there_may_be_nearly_as_many_clusters_as_samples(k):
    X, _ = counts(40, 20, 4)
    model = kl(k).fit(X)
    assert len(set(model.labels_)) == k
    assert model.relative_error_ < 0.05


def test_clusters_beyond_the_distinct_samples_stay_empty():
    X = np.repeat(np.eye(3) + 0.1, 4, axis=0) * np.arange(1, 13)[:, None]
    with pytest.warns(EmptyClusterWarning, match="only 3 distinct directions"):
        model = kl(5).fit(X)
    assert len(set(model.labels_)) == 3
    with pytest.warns(EmptyClusterWarning, match="only 1 distinct"):
        assert kl(2).fit(np.outer([1.0, 2, 3], [1, 2])).relative_error_ == 0


def test_a_saved_model_says_the_same(fitted, tmp_path):
    X, _, model = fitted
    model.save(tmp_path / "model.onmf")
    other = onmf.ONMF.load(tmp_path / "model.onmf")
    assert other.loss == "kl"
    np.testing.assert_array_equal(other.predict(X), model.labels_)
    np.testing.assert_array_equal(other.distance(X), model.distance(X))


@pytest.mark.slow
def test_explanation_page_and_number_of_clusters_know_the_loss(fitted):
    X, _, model = fitted
    found = model.explain(X)
    ordered = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(found.margin, ordered[:, -1] - ordered[:, -2])
    assert found.certainty.min() > 0.5
    page = html(model, X)
    assert "relative divergence" in page
    assert "Kullback-Leibler divergence" in page
    assert choose_k(kl(), X, range(2, 7), n_runs=4).best_k == 4


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solver": "palm"}, "loss='kl' needs solver='fast'"),
        ({"solver": PALM(mu_h=1.0)}, "loss='kl' needs solver='fast'"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1"),
        ({"loss": "l1"}, "loss must be one of"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(fitted, params, message):
    with pytest.raises(ValueError, match=message):
        ONMF(4, **{"loss": "kl"} | params).fit(fitted[0])


def test_negative_and_missing_data_are_refused(fitted):
    X = fitted[0]
    with pytest.raises(ValueError, match="Negative values"):
        kl().fit(X - 1)
    with pytest.raises(ValueError, match="NaN"):
        kl().fit(np.where(X > 3, np.nan, X))


def test_the_search_may_look_at_some_of_the_samples(monkeypatch):
    monkeypatch.setattr("onmf.losses.kl_alternation.SEARCH_ROWS", 10)
    monkeypatch.setattr("onmf.losses.kl_alternation.MIN_SEARCH_ROWS_PER_CLUSTER", 15)
    X, y = counts()
    model = kl().fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
