"""Numbers at the ends of the range: a valid clustering or a sentence, never a silent nonsense."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from cases import few
from onmf import ONMF, PALM, choose_k
from onmf.datasets import make_rays
from onmf.palm.palm import PalmSettings
from onmf.rows.assign import Rays
from onmf.rows.memory import InMemory

X = make_rays(60, 12, 3, noise=0.3, random_state=7)[0]
WIDE = np.random.default_rng(1).random((60, 200))


def fit(X, k=3, weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        return ONMF(k, random_state=0, **options).fit(X, sample_weight=weight)


@pytest.mark.parametrize("exponent", few([-1060, 1000, -600, 515], 2))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["fast", "palm"])
def test_only_the_ratios_of_weights_matter(exponent, dtype, solver):
    """The paper's method depends on their size as on that of X, but between extremes there is
    nothing to choose."""
    options, usual = ({}, 0) if solver == "fast" else ({"solver": "palm", "max_iter": 50}, 300)
    weight = np.random.default_rng(2).integers(1, 9, len(X)).astype(float)
    one, other = (
        fit(X.astype(dtype), weight=np.ldexp(weight, e), **options) for e in (usual, exponent)
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


@pytest.mark.parametrize("solver", ["fast", "palm"])
def test_weights_of_which_some_vanish_beside_others_are_refused_by_their_samples(solver):
    weight = np.ones(len(X))
    weight[[4, 9]] = 1e-200
    with pytest.raises(ValueError, match=r"sample\(s\) 4, 9 is too small.*set it to zero"):
        fit(X, weight=weight, solver=solver)


def test_a_stream_takes_weights_as_they_are_or_not_at_all():
    with pytest.raises(ValueError, match="from batch to batch"):
        ONMF(3, random_state=0).partial_fit(X, sample_weight=np.full(len(X), 1e155))


@pytest.mark.parametrize("span", [100, 160, 300])
def test_rows_of_any_size_beside_each_other_are_clustered(span):
    sizes = 10.0 ** np.random.default_rng(3).uniform(-span, span, (60, 1))
    for rows in (X * sizes, WIDE * sizes):
        model = fit(rows)
        assert set(model.labels_) - {-1} == {0, 1, 2}
        np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_the_length_of_a_small_centroid_is_not_zero():
    W = np.array([[3.0, 4.0], [3e-200, 4e-200]])
    np.testing.assert_allclose(Rays.of(W).lengths, [5, 5e-200])
    np.testing.assert_allclose(Rays.of(W).units.T, [[0.6, 0.8], [0.6, 0.8]])


def test_numbers_without_digits_are_refused():
    whole = np.random.default_rng(4).integers(0, 5, (40, 6))
    with pytest.raises(ValueError, match="too small or too large for float64"):
        fit(whole * 5e-324)


@pytest.mark.parametrize("seed", few(range(40), 4))
def test_labels_are_those_of_predict_where_digits_are_lost(seed):
    rng = np.random.default_rng(seed)
    subnormal = rng.integers(0, 5, (9, 6)) * 5e-324
    small = rng.random((9, 6)) * (rng.random((9, 6)) < 0.4)
    for rows in (
        np.where(rng.random((9, 6)) < 0.5, subnormal, small),
        np.where(rng.random((9, 1)) < 0.5, subnormal, small * 1e-302),
    ):
        try:
            model = fit(rows, k=2)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        np.testing.assert_array_equal(np.argmax(model.membership_, 1)[model.labels_ >= 0],
                                      model.labels_[model.labels_ >= 0])  # fmt: skip


def test_a_digit_that_the_kept_centroids_lose_counts_for_nobody():
    """Row 1 shares a feature with a cluster only through entries that cannot be kept."""
    rows = np.array([
        [2, 0, 1, 4, 3], *np.zeros((5, 5)), [4, 4, 0, 2, 3], [2, 0, 3, 4, 1],
    ]) * 5e-324  # fmt: skip
    rows[1, 0], rows[2, 3] = 6.669e-303, 9.825e-303
    rows[3, [1, 4]] = 2.133e-303, 1.665e-302
    rows[5, [1, 2, 4]] = 1.040e-302, 1.605e-302, 1.399e-302
    model = fit(rows)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal((model.membership_ > 0).sum(axis=1), model.labels_ >= 0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_factors_that_are_no_numbers_are_refused():
    rows = np.array([[5.735e-204], [0], [6.023e-90], [0], [3.87e-150], [4.619e-91]])
    with pytest.raises(ValueError, match="too small or too large"):
        fit(rows, k=1, solver=PALM(center_bounds="data"), max_iter=20)


@pytest.mark.parametrize("scale", [1.0, 1e-154, 1e-160])
@pytest.mark.parametrize("init", ["random", "nndsvd"])
def test_as_many_clusters_as_samples_leave_none_empty(scale, init):
    rows = np.random.default_rng(5).random((7, 5)) * scale
    assert sorted(fit(rows, k=7, init=init).labels_) == list(range(7))


HUGE = {np.float64: 2.0**1023, np.float32: 2.0**127}  # twice that is infinity


@pytest.mark.parametrize("dtype", HUGE)
@pytest.mark.parametrize("loss", ["frobenius", "kl"])
@pytest.mark.parametrize("steady", [0, 1])
def test_the_largest_numbers_are_clustered_and_explained_as_others(dtype, loss, steady):
    """Neither squares nor sums of them are numbers. NumPy says so in warnings, which are errors."""
    small = (0.99 * (X / X.max() + steady)).astype(dtype)
    huge = small * dtype(HUGE[dtype])
    told = {}
    for rows in (small, huge):
        model = fit(rows, loss=loss)
        about = model.explain(rows)
        told[rows is huge] = model.labels_, model.predict(rows), about.margin, about.distance
        assert np.isfinite(model.transform(rows)).all()
        assert 0 < model.relative_error_ < 1
    for one, other in zip(told[False], told[True], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_the_largest_numbers_have_the_same_number_of_clusters():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        found = [
            choose_k(ONMF(random_state=0), X / X.max() * size, [2, 3]) for size in (1, 1.7e308)
        ]
    assert found[0].best_k == found[1].best_k


@pytest.mark.parametrize("dtype", HUGE)
def test_batches_that_cannot_be_squared_are_refused_and_change_nothing(dtype):
    small = (X / X.max()).astype(dtype)
    model = ONMF(3, random_state=0).partial_fit(small[:30])
    before = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match=r"too large to be squared and added: divide every batch"):
        model.partial_fit(small[30:] * dtype(HUGE[dtype]))
    np.testing.assert_array_equal(model.cluster_centers_, before)
    model.partial_fit(small[30:])


@pytest.mark.parametrize("seed", few([7, 15, 80, 326, 360, 385, 482, 521], 4))
def test_labels_are_those_of_predict_for_samples_over_300_orders_of_magnitude(seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((12, 5)) * (rng.random((12, 5)) < 0.5)
    rows *= 10.0 ** rng.uniform(-150, 150, (12, 1))
    model = fit(rows, init="k-means++")
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    alone = [model.predict(rows[i : i + 1])[0] for i in range(12)]
    np.testing.assert_array_equal(alone, model.labels_)


def test_centroids_of_palm_may_grow_beyond_the_root_of_single_precision():
    """The memberships shrink in the same measure."""
    W, data = np.full((2, 3), 1e20, np.float32), InMemory(np.ones((4, 3), np.float32))
    _, A = PalmSettings()._row_curvature(data, W)
    assert np.isfinite(A).all()


def test_sparse_rows_on_disk_whose_squares_overflow_are_clustered_without_a_warning(tmp_path):
    rows = sp.csr_array(np.array([[1e155, 0], [0, 1e120], [1e154, 1e150]]))
    sp.save_npz(tmp_path / "x.npz", rows, compressed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", category=RuntimeWarning)
        model = ONMF(2, random_state=0).fit(tmp_path / "x.npz")
    np.testing.assert_array_equal(model.labels_, ONMF(2, random_state=0).fit(rows).labels_)
