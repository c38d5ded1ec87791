"""Sentences about unusual numbers are true."""

import numpy as np
import pytest
from onmf.io.remote import RemoteFile

from onmf import ONMF
from onmf.exceptions import UnassignedSampleWarning
from onmf.io import Blocks


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_have_the_dtype_of_the_first(dtype):
    X = np.random.default_rng(0).random((40, 3)).astype(dtype)
    blocks = Blocks.of(lambda i: X[10 * i : 10 * i + 10], shape=(40, 3), size=10)
    assert blocks.dtype == dtype
    model = ONMF(2, random_state=0).fit(blocks)
    assert model.cluster_centers_.dtype == dtype
    np.testing.assert_array_equal(model.labels_, ONMF(2, random_state=0).fit(X).labels_)


def test_the_password_of_an_address_is_not_shown():
    file = RemoteFile("https://me:secret@host.invalid/x.npy")
    assert "secret" not in f"{file} {file!r}"
    assert str(file) == "https://***@host.invalid/x.npy"
    with pytest.raises(ImportError, match=r"//\*\*\*@host") as told, file._errors():
        raise ImportError(f"no way to {file.address}")
    assert "secret" not in str(told.value)
    assert str(RemoteFile("s3://bucket/x.npy")) == "s3://bucket/x.npy"
