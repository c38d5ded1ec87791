"""Sentences about unusual numbers are true."""

import numpy as np
import pytest

from onmf import ONMF
from onmf.exceptions import UnassignedSampleWarning


def test_samples_that_vanish_beside_one_are_not_called_zero():
    X = np.random.default_rng(0).random((10, 3))
    X[0] *= 1e200
    with pytest.raises(ValueError, match="only 1 of n_samples=10 samples count beside the largest"):
        ONMF(3, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_divergence_of_equal_profiles_is_explained():
    X = np.tile([1.0, 2.0, 3.0], (10, 1)) * np.arange(1, 11)[:, None]
    for dtype in ("f4", "f8"):
        model = ONMF(2, loss="kl", random_state=0).fit(X.astype(dtype))
        assert model.score(X.astype(dtype)) == 1


def test_samples_of_features_that_no_centroid_has_are_told_with_them():
    rng = np.random.default_rng(0)
    X = np.zeros((60, 90))
    for row in X:
        row[rng.integers(0, 90, rng.integers(1, 4))] = 1
    with pytest.warns(UnassignedSampleWarning, match=r"no centroid has their feature") as told:
        model = ONMF(5, max_iter=100, random_state=0).fit(X)
    missing = np.flatnonzero(model.labels_ < 0)
    features = np.flatnonzero(X[missing[:10]].any(axis=0))
    assert str(features[0]) in str(told[0].message)
    assert not model.cluster_centers_[:, features].any()


@pytest.mark.filterwarnings("ignore::onmf.exceptions.SignedDataWarning")
def test_samples_that_point_away_from_every_centroid_share_features_with_them():
    X = np.array([[3.0, 1], [2, 1], [4, 1], [-1, -2]])
    with pytest.warns(UnassignedSampleWarning, match=r"90 degrees or more .* label -1: 3\.$"):
        assert ONMF(1, random_state=0).fit(X).labels_.tolist() == [0, 0, 0, -1]
