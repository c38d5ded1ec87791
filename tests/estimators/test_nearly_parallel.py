"""Samples that are nearly multiples of one another: their clusters are found, in any precision."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from cases import few
from onmf import ONMF, Fast
from onmf.rows.memory import InMemory
from onmf.search.sketch import CommonPart

FORMS = {
    "array": np.asarray,
    "csr": sp.csr_array,
    "dask": lambda X: da.from_array(X, chunks=(90, -1)),
}


def samples(dtype, size, groups=1, m=40, n=400, seed=0):
    """Four clusters whose directions differ by about `size`, around one direction or two."""
    rng = np.random.default_rng(seed)
    C, y = rng.random((4, m)), rng.integers(0, 4, n)
    common = rng.random((groups, m)) + 0.5
    if groups > 1:
        common *= np.arange(m) % groups == np.arange(groups)[:, None]
    return (common[y % groups] + size * (C[y] + 0.3 * rng.random((n, m)))).astype(dtype), y


def check(X, y, **options):
    model = ONMF(4, random_state=0, **options).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(np.asarray(model.predict(X)), model.labels_)
    return model


@pytest.mark.parametrize("size", few([1e-3, 1e-5, 1e-2, 3e-3, 1e-4], 2))
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("form", FORMS)
def test_their_clusters_are_found(form, dtype, size):
    X, y = samples(dtype, size)
    check(FORMS[form](X), y)


@pytest.mark.parametrize(
    "options",
    few(
        [
            {"outliers": 0.05},
            {"loss": "kl"},
            {"solver": Fast(passes=3)},
            {"n_init": 2},
        ],
        1,
    ),
    ids=str,
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_their_clusters_are_found_with_every_option(dtype, options):
    X, y = samples(dtype, 1e-3)
    check(X, y, **options)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_around_two_directions(dtype):
    X, y = samples(dtype, 1e-3, groups=2)
    check(X, y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_of_more_features_than_a_sketch_has_columns(dtype):
    X, y = samples(dtype, 1e-3, m=300)
    check(X, y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_with_missing_values(dtype):
    X, y = samples(dtype, 1e-3)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    check(X, y)


def test_from_a_model_and_from_given_centroids(tmp_path):
    X, y = samples("f4", 1e-3)
    np.save(tmp_path / "x.npy", X)
    model = check(str(tmp_path / "x.npy"), y)
    check(X, y, init=model)
    check(X, y, init=X[[np.flatnonzero(y == c)[0] for c in range(4)]])


def test_the_error_has_the_digits_of_the_samples():
    X, y = samples("f4", 1e-3)
    rows, left = X.astype(np.float64), 0.0
    for cluster in range(4):
        values = np.linalg.svd(rows[y == cluster], compute_uv=False)
        left += np.square(values[1:]).sum()
    model = check(X, y)
    assert model.relative_error_ == pytest.approx(left / np.square(rows).sum(), rel=1e-5)


def test_centroids_are_as_precise_as_they_must_be():
    X, y = samples("f4", 1e-3)
    assert check(X, y).cluster_centers_.dtype == np.float64
    apart = (np.eye(4)[y] + 0.01 * X[:, :4]).astype("f4")
    assert check(apart, y).cluster_centers_.dtype == np.float32


def test_what_nothing_tells_apart_is_said():
    X = np.outer(np.arange(1.0, 21), np.ones(3))
    X[::2, 0] *= 1 + 1e-15
    with pytest.warns(UserWarning, match="only 1 distinct directions that double precision tells"):
        ONMF(3, random_state=0).fit(X)


def test_the_common_part_is_shrunk_and_restored():
    Y = samples("f8", 1e-3)[0]
    common = CommonPart.of(Y, 4)
    assert common.L.shape == (40, 1)
    small = common.removed(Y)
    np.testing.assert_allclose(common.restored(small), Y, rtol=1e-9)
    parts = small @ common.L
    rest = np.square(small - parts @ common.L.T).sum()
    assert np.square(parts).sum() == pytest.approx(100 * rest, rel=1e-3)
    assert CommonPart.of(np.random.default_rng(0).random((20, 4)), 3) is None


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_in_double_precision_are_the_same_rows(make):
    X = np.random.default_rng(0).random((50, 3)).astype("f4")
    data = InMemory(make(X), np.arange(50.0))
    double = data.in_double()
    assert double.dtype == np.float64
    assert double.in_double() is double
    assert double.sqnorm == data.sqnorm
    for (_, one), (_, other) in zip(data.groups[0], double.groups[0], strict=True):
        assert other.X.dtype == other.weight.dtype == np.float64
        np.testing.assert_array_equal(one.weight, other.weight)
