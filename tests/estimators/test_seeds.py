"""Promises that hold for every seed: a run tries one of 0 to 99, another one each day."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from onmf import ONMF
from onmf.datasets import make_rays
from onmf_paper.bounds import spectral_bound

LOSSES = pytest.mark.parametrize("loss", ["frobenius", "kl"])


@pytest.fixture
def data(global_random_seed):
    X, y = make_rays(150, 24, 4, noise=0.3, random_state=global_random_seed)
    return X, y


def fit(X, seed, loss, **options):
    return ONMF(4, loss=loss, random_state=seed).fit(X, **options)


@LOSSES
def test_the_order_of_samples_and_of_features_does_not_matter(data, global_random_seed, loss):
    X, _ = data
    rng = np.random.default_rng(global_random_seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    here = fit(X, global_random_seed, loss)
    there = fit(X[rows][:, columns], global_random_seed, loss)
    np.testing.assert_array_equal(there.labels_, here.labels_[rows])
    assert there.relative_error_ == pytest.approx(here.relative_error_, rel=1e-6)


@LOSSES
def test_weights_equal_repetition(data, global_random_seed, loss):
    X, _ = data
    weight = np.random.default_rng(global_random_seed).integers(0, 4, len(X))
    one = fit(np.repeat(X, weight, axis=0), global_random_seed, loss)
    two = fit(X, global_random_seed, loss, sample_weight=weight)
    errors = [1 - model.score(X, sample_weight=weight) for model in (one, two)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)


@LOSSES
def test_a_fit_has_the_error_that_its_factors_have_and_labels_as_predict(data, loss):
    X, _ = data
    model = fit(X, 0, loss)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert 1 - model.score(X) == pytest.approx(model.relative_error_, abs=1e-9)


@LOSSES
def test_planted_clusters_are_found(data, global_random_seed, loss):
    X, y = data
    assert adjusted_rand_score(y, fit(X, global_random_seed, loss).labels_) > 0.95


@LOSSES
def test_a_power_of_two_changes_no_label(data, global_random_seed, loss):
    X, _ = data
    here, there = fit(X, global_random_seed, loss), fit(X * 2.0**-7, global_random_seed, loss)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    np.testing.assert_array_equal(here.cluster_centers_ * 2.0**-7, there.cluster_centers_)


@LOSSES
def test_a_sparse_matrix_and_features_of_zeros_change_no_label(data, global_random_seed, loss):
    X, _ = data
    here = fit(X, global_random_seed, loss)
    padded = np.insert(X, [0, 5, 24], 0.0, axis=1)
    for other in (sp.csr_array(X), padded):
        there = fit(other, global_random_seed, loss)
        np.testing.assert_array_equal(here.labels_, there.labels_)
        assert there.relative_error_ == pytest.approx(here.relative_error_, rel=1e-9)


def test_planted_outliers_are_told_apart(data, global_random_seed):
    """Samples along single features, which no cluster has alone."""
    X, y = data
    strange = np.eye(24)[np.random.default_rng(global_random_seed).choice(24, 5, replace=False)]
    strange *= np.linalg.norm(X, axis=1).mean()
    model = ONMF(4, outliers=5, random_state=global_random_seed).fit(np.vstack([X, strange]))
    assert (model.labels_[150:] == -1).all()
    assert adjusted_rand_score(y, model.labels_[:150]) > 0.95


def test_clusters_are_found_with_a_tenth_of_the_entries_missing(data, global_random_seed):
    X, y = data
    hidden = np.random.default_rng(global_random_seed).random(X.shape) < 0.1
    model = ONMF(4, random_state=global_random_seed).fit(np.where(hidden, np.nan, X))
    assert adjusted_rand_score(y, model.labels_) > 0.9


@LOSSES
def test_clusters_of_a_stream_are_those_of_its_samples(data, global_random_seed, loss):
    X, y = data
    model = ONMF(4, loss=loss, random_state=global_random_seed)
    for _ in range(3):
        for start in range(0, 150, 50):
            model.partial_fit(X[start : start + 50])
    assert adjusted_rand_score(y, model.predict(X)) > 0.9


def test_no_error_is_below_its_bound_and_more_starts_do_not_raise_it(global_random_seed):
    X = np.random.default_rng(global_random_seed).random((60, 9))
    one, more = (
        ONMF(5, n_init=starts, random_state=global_random_seed).fit(X) for starts in (1, 4)
    )
    assert spectral_bound(X, 5)[0] <= one.relative_error_
    assert more.relative_error_ <= one.relative_error_ * (1 + 1e-9)
    again = ONMF(5, init=one.cluster_centers_, random_state=0).fit(X)
    assert again.relative_error_ <= one.relative_error_ * (1 + 1e-9)


def test_clear_clusters_are_certain(data, global_random_seed):
    X, _ = data
    about = fit(X, global_random_seed, "frobenius").explain(X)
    assert np.mean(about.certainty) > 0.9


@LOSSES
def test_new_samples_of_a_cluster_are_given_to_it(data, global_random_seed, loss):
    """Fitted to every other sample, the rest is told apart as well."""
    X, y = data
    model = fit(X[::2], global_random_seed, loss)
    assert adjusted_rand_score(y[1::2], model.predict(X[1::2])) > 0.9


@pytest.mark.slow
def test_weights_equal_repetition_on_average_over_seeds():
    """On data without clear clusters: mean errors over seeds differ by less than their spread
    between optima, which is a fraction of a percent."""
    X = np.random.default_rng(0).random((80, 12))
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    errors = {"repeated": [], "weighted": []}
    for seed in range(30):
        one = ONMF(6, n_init=30, random_state=seed).fit(np.repeat(X, weight, axis=0))
        two = ONMF(6, n_init=30, random_state=seed).fit(X, sample_weight=weight)
        errors["repeated"].append(1 - one.score(X, sample_weight=weight))
        errors["weighted"].append(1 - two.score(X, sample_weight=weight))
    repeated, weighted = (np.array(values) for values in errors.values())
    assert abs(repeated.mean() - weighted.mean()) < 0.005 * repeated.mean()
    assert abs(repeated.min() - weighted.min()) < 0.002 * repeated.mean()
