"""Certainty where features are few: two looks with different noise."""

import numpy as np
import pytest
import scipy.sparse as sp

from cases import few
from onmf import ONMF, explain
from onmf.datasets import make_rays
from onmf.explain.noise import FEW_FEATURES, _others


def blurred_rays(m, spread, seed, n=600, k=3):
    """Samples near k rays, so that some lie nearer to another than to their own."""
    rng = np.random.default_rng(seed)
    rays = rng.gamma(0.5, size=(k, m))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    y = np.arange(n) % k
    noise = spread * rng.standard_normal((n, m))
    return rng.lognormal(0, 0.4, (n, 1)) * np.maximum(rays[y] + noise, 0), y


def explained(X, k=3, **parameters):
    model = ONMF(k, random_state=0, **parameters).fit(X)
    return model, model.explain(X)


@pytest.mark.parametrize("m", few([3, 10, 5], 2))
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_what_is_clear_is_certain_with_few_features(m, loss):
    X, _ = make_rays(200, m, 3, random_state=m)
    _, found = explained(X, loss=loss)
    assert found.certainty.mean() > 0.95


@pytest.mark.parametrize("seed", few(range(3)))
def test_certainties_are_near_the_share_that_is_right(seed):
    X, y = blurred_rays(4, 0.12, seed)
    model, found = explained(X)
    groups = np.zeros((3, 3))
    np.add.at(groups, (model.labels_, y), 1)
    right = groups.argmax(axis=1)[model.labels_] == y
    assert abs(found.certainty.mean() - right.mean()) < 0.15
    sure = found.certainty > 0.95
    assert right[sure].mean() > 0.95
    assert right[~sure].mean() < right[sure].mean()


def test_one_cloud_cut_in_three_is_as_good_as_doubtful():
    rng = np.random.default_rng(5)
    X = np.maximum(0.5 + 0.12 * rng.standard_normal((600, 5)), 0)
    assert explained(X)[1].certainty.mean() < 0.65


def test_missing_values_and_sparse_data(tmp_path):
    X, _ = make_rays(100, 5, 3, random_state=1)
    _, whole = explained(X)
    _, sparse = explained(sp.csr_array(X))
    np.testing.assert_allclose(sparse.certainty, whole.certainty, atol=1e-9)
    X[::7, 2] = np.nan
    _, some = explained(X)
    assert some.certainty.mean() > 0.9
    X[np.arange(100), np.arange(100) % 5] = np.nan  # no sample is whole: halves it must be
    _, none = explained(X)
    assert np.isfinite(none.certainty).all()


def test_the_other_sample_is_any_of_the_same_cluster():
    labels = np.random.default_rng(0).integers(0, 4, 50)
    draws = np.array([_others(labels, np.random.default_rng(seed)) for seed in range(200)])
    assert (labels[draws] == labels).all()
    assert (np.sort(draws, axis=1) == np.arange(50)).all()
    for i in range(50):
        assert set(draws[:, i]) == set(np.flatnonzero(labels == labels[i]))


def test_many_features_are_split_in_halves(monkeypatch):
    monkeypatch.setattr("onmf.explain.reading.noisy_agreement", None)
    X, _ = make_rays(60, FEW_FEATURES, 3, random_state=0)
    assert explain.clusters(ONMF(3, random_state=0).fit(X), X).certainty.shape == (60,)
