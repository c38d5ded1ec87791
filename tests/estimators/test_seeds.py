"""Promises that hold for every seed: a run tries one of 0 to 99, another one each day."""

import numpy as np
import pytest

from onmf import ONMF
from onmf.datasets import make_rays

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


@pytest.mark.slow
def test_weights_equal_repetition_on_average_over_seeds():
    """On data without clear clusters: mean errors over seeds differ by less than their spread
    between optima, which is a fraction of a percent."""
    X = np.random.default_rng(0).random((80, 12))
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    errors = {"repeated": [], "weighted": []}
    for seed in range(30):
        one = ONMF(6, random_state=seed).fit(np.repeat(X, weight, axis=0))
        two = ONMF(6, random_state=seed).fit(X, sample_weight=weight)
        errors["repeated"].append(1 - one.score(X, sample_weight=weight))
        errors["weighted"].append(1 - two.score(X, sample_weight=weight))
    repeated, weighted = (np.array(values) for values in errors.values())
    assert abs(repeated.mean() - weighted.mean()) < 0.005 * repeated.mean()
    assert abs(repeated.min() - weighted.min()) < 0.002 * repeated.mean()
