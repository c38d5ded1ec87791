"""What a fit with any loss of `LOSSES` promises, wherever the samples are."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from losses_cases import K, definition, model_of, planted, table_of_losses, total_loss, whole
from onmf import ONMF
from onmf.rows import disk

N = 90
X, Y = planted(N)
WEIGHT = np.random.default_rng(1).integers(0, 4, N).astype(float)
POOR = X.mean(axis=0) * np.random.default_rng(2).lognormal(0, 0.5, (K, X.shape[1]))
SPIKES = np.arange(0, N, 15)  # six samples, each with one other entry that is far too large


@cache
def fitted(loss):
    return model_of(loss).fit(X)


@cache
def with_outliers(loss, factor=30):
    wild, _ = planted(N, lengths=0.1)
    wild[SPIKES, np.arange(len(SPIKES))] *= factor
    return wild, model_of(loss, outliers="auto").fit(wild)


def sizes(loss, rows):
    return np.array([definition(loss).size(x) for x in rows.tolist()])


def assert_same(model, other, tol=1e-9):
    np.testing.assert_array_equal(model.labels_, other.labels_)
    scale = np.abs(other.cluster_centers_).max()
    np.testing.assert_allclose(model.cluster_centers_, other.cluster_centers_, 0, tol * scale)
    assert model.relative_error_ == pytest.approx(other.relative_error_, rel=tol)


def test_the_clusters_are_the_planted_ones_and_predict_gives_the_labels(loss):
    model = fitted(loss)
    assert adjusted_rand_score(Y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), model.membership_, 1e-12)
    np.testing.assert_array_equal(model_of(loss).fit_predict(X), model.labels_)
    # BLAS may end in other bits where an array lies elsewhere in memory.
    np.testing.assert_allclose(model_of(loss).fit_transform(X), model.membership_, 1e-12)
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), model.labels_)
    assert np.bincount(model.labels_).tolist() == [N // K] * K


def test_error_inertia_and_score_are_those_of_the_definition(loss):
    model = model_of(loss).fit(X, sample_weight=WEIGHT)
    left = total_loss(loss, X, model.cluster_centers_, WEIGHT)
    assert model.inertia_ == pytest.approx(left)
    assert model.relative_error_ == pytest.approx(left / whole(loss, X, WEIGHT))
    assert model.score(X, sample_weight=WEIGHT) == pytest.approx(1 - model.relative_error_)
    some = X[:20] ** 0.8
    left = total_loss(loss, some, model.cluster_centers_, np.ones(20))
    assert model.score(some) == pytest.approx(1 - left / whole(loss, some, np.ones(20)))


def test_the_history_of_a_fit_from_poor_centroids_never_rises(loss):
    model = model_of(loss, init=POOR).fit(X)
    errors = [stage.relative_error for stage in model.history_]
    assert len(errors) > 1  # the stages before belong to the search
    assert (np.diff(errors) <= 1e-12).all()
    assert errors[-1] == model.relative_error_
    assert model.converged_


def test_more_starts_are_never_worse(loss):
    noisy, _ = planted(60, 5, noise=0.8)
    few, many = (model_of(loss, 5, n_init=n).fit(noisy).relative_error_ for n in (1, 4))
    assert many <= few * (1 + 1e-12)


def on_disk(rows, tmp_path):
    np.save(tmp_path / "x.npy", rows)
    return tmp_path / "x.npy"


def on_dask(*chunks):
    def put(rows, tmp_path):
        return pytest.importorskip("dask.array").from_array(rows, chunks=(chunks, rows.shape[1]))

    return put


PLACES = {
    "csr": lambda rows, tmp_path: sp.csr_array(rows),
    "disk": on_disk,
    "dask": on_dask(40, 1, 49),
    "dask, one chunk": on_dask(90),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("features", [{}, {"outliers": 5}], ids=["", "outliers"])
def test_where_the_samples_are_changes_nothing(loss, place, features, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "MAX_MAP_AS_ARRAY_BYTES", 0)  # every file is read in blocks
    there = PLACES[place](X, tmp_path)
    model = model_of(loss, **features).fit(there, sample_weight=WEIGHT)
    assert_same(model, model_of(loss, **features).fit(X, sample_weight=WEIGHT))
    for method in ("predict", "transform", "decision_function", "distance"):
        answer = np.asarray(getattr(model, method)(there))
        np.testing.assert_allclose(answer, getattr(model, method)(X), 1e-6, 1e-9)
    assert model.score(X if "dask" in place else there) == pytest.approx(model.score(X))


def test_single_precision_is_enough(loss):
    model = fitted(loss)
    rough = model_of(loss).fit(X.astype(np.float32))
    assert rough.cluster_centers_.dtype == rough.membership_.dtype == np.float32
    assert_same(rough, model, 1e-4)


@pytest.mark.parametrize("features", [{}, {"outliers": 0.05}])
def test_weight_two_is_the_sample_twice(loss, features):
    weighted = model_of(loss, init=POOR, **features).fit(X, sample_weight=WEIGHT)
    counts = WEIGHT.astype(int)
    rows = np.repeat(X, counts, axis=0)
    repeated = model_of(loss, init=POOR, **features).fit(rows)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, counts), repeated.labels_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, 1e-7)
    assert weighted.relative_error_ == pytest.approx(repeated.relative_error_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert weighted.score(X, sample_weight=WEIGHT) == pytest.approx(repeated.score(rows))


@pytest.mark.parametrize("factor", [2.0, 1000.0])
def test_the_unit_of_x_is_that_of_the_centroids_and_changes_nothing_else(loss, factor):
    model, other = (model_of(loss, init=POOR * c).fit(X * c) for c in (1, factor))
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.cluster_centers_, factor * model.cluster_centers_, 1e-9)
    np.testing.assert_allclose(other.membership_, model.membership_, 1e-9)
    assert other.inertia_ == pytest.approx(factor**loss.degree * model.inertia_)
    assert other.relative_error_ == pytest.approx(model.relative_error_)
    np.testing.assert_allclose(other.distance(factor * X), model.distance(X), atol=1e-6)


@pytest.mark.parametrize("factor", [30, 3000])
def test_planted_outliers_have_no_cluster(loss, factor):
    """Nor do they get one because they are long."""
    wild, model = with_outliers(loss, factor)
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ < 0), SPIKES)
    inside = model.labels_ >= 0
    assert adjusted_rand_score(Y[inside], model.labels_[inside]) == 1
    np.testing.assert_array_equal(model.predict(wild), model.labels_)
    np.testing.assert_array_equal(model.predict(wild), model.labels_)
    assert not model.membership_[~inside].any()
    some = model_of(loss, outliers=len(SPIKES)).fit(wild)
    np.testing.assert_array_equal(some.labels_, model.labels_)
    none = model_of(loss, outliers=0).fit(X)
    np.testing.assert_array_equal(none.labels_, fitted(loss).labels_)


def test_the_limit_is_in_the_units_of_the_user(loss):
    """A sample is an outlier if its loss exceeds c s^p, s being the size of its multiple."""
    wild, model = with_outliers(loss)
    (height, power), W = model.outlier_limit_, model.cluster_centers_
    losses, multiples = table_of_losses(loss, wild, W)
    near, each = losses.argmin(axis=1), np.arange(N)
    size = sizes(loss, multiples[each, near, None] * W[near])
    np.testing.assert_array_equal(losses[each, near] > height * size**power, model.labels_ < 0)
    for factor in (4.0, 1 / 64):
        other = model_of(loss, outliers="auto").fit(factor * wild)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        unit = factor ** (loss.degree * (1 - power))
        assert other.outlier_limit_ == pytest.approx((unit * height, power))
        np.testing.assert_array_equal(other.predict(factor * wild), model.labels_)
    nothing = [whole(loss, wild, np.ones(N), only=[i]) for i in SPIKES]
    lost = losses.min(axis=1)[model.labels_ >= 0].sum() + sum(nothing)
    assert model.inertia_ == pytest.approx(lost)
    assert model.score(wild) == pytest.approx(1 - model.relative_error_)


def test_a_fit_from_a_model_keeps_its_ids(loss):
    model = fitted(loss)
    more, _ = planted(120, seed=0)
    after = ONMF(loss=loss.name, init=model, random_state=0).fit(more[::-1])
    assert after.cluster_ids_.tolist() == list(range(K))
    np.testing.assert_array_equal(after.predict(X), model.labels_)
    fewer = ONMF(K - 1, loss=loss.name, init=model, random_state=0).fit(X)
    assert len(fewer.cluster_ids_) == K - 1
    assert len(set(fewer.lineage_.kept) & set(range(K))) >= K - 2


@pytest.mark.parametrize("n_init", ["auto", 3])
def test_every_sweep_is_counted_once(loss, n_init):
    """And with one more start than were kept, at most as many as are allowed for each."""
    model = model_of(loss, n_init=n_init).fit(X)
    sweeps = [stage.sweeps for stage in model.history_]
    assert sweeps[0] == loss.min_sweeps
    assert (np.diff(sweeps[:-1]) == 1).all()
    assert sweeps[-1] == model.n_iter_ >= sweeps[-2]
