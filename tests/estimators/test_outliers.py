"""`ONMF(outliers=...)`: samples that no ray explains have label -1, and matter to nothing else."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import onmf
from cases import few
from onmf import ONMF, Fast, choose_k
from onmf.datasets import make_paper_synthetic, make_rays
from onmf.exceptions import FormatError, UnassignedSampleWarning
from onmf.files.container import MODEL, container_bytes, read_container
from onmf.metrics import clustering_accuracy
from onmf.page import html

K = 4
X, Y = make_rays(400, 40, K, noise=0.3, outliers=0.08, random_state=0)
STRANGE = Y < 0


def model(outliers="auto", **settings):
    return ONMF(K, outliers=outliers, random_state=0, **settings)


def on_dask(path):
    return pytest.importorskip("dask.array").from_array(X, chunks=(90, 40))


def on_disk(path):
    np.save(path / "x.npy", X)
    return path / "x.npy"


PLACES = {
    "array": lambda path: X,
    "csr": lambda path: sp.csr_array(X),
    "float32": lambda path: X.astype(np.float32),
    "disk": on_disk,
    "dask": on_dask,
}


@pytest.mark.parametrize("place", few(PLACES))
def test_outliers_are_found_wherever_the_samples_are(place, tmp_path):
    rows = PLACES[place](tmp_path)
    fitted = model().fit(rows)
    np.testing.assert_array_equal(fitted.labels_ < 0, STRANGE)
    np.testing.assert_array_equal(fitted.labels_, model().fit(X).labels_)
    np.testing.assert_array_equal(np.asarray(fitted.predict(rows)), fitted.labels_)
    assert not np.asarray(fitted.transform(rows))[STRANGE].any()


@pytest.mark.parametrize(
    "settings",
    [
        {"n_init": 3},
        {"init": np.array([X[c == Y].mean(axis=0) for c in range(K)]) + X[STRANGE][:4] / 9},
        {"max_iter": 4},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_outliers_are_found_with_every_setting(settings):
    fitted = model(**settings).fit(X)
    np.testing.assert_array_equal(fitted.labels_ < 0, STRANGE)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert clustering_accuracy(Y[~STRANGE], fitted.labels_[~STRANGE]) == 1


def test_centroids_are_those_of_the_other_samples():
    fitted = model(tol=1e-9, max_iter=200).fit(X)
    alone = ONMF(K, random_state=0, tol=1e-9, max_iter=200).fit(X[~STRANGE])
    np.testing.assert_array_equal(fitted.labels_[~STRANGE], alone.labels_)
    np.testing.assert_allclose(fitted.cluster_centers_, alone.cluster_centers_, rtol=1e-5)


def test_how_far_away_an_outlier_is_changes_no_other_label():
    before = model().fit(X)
    for factor in (3.0, 1e3):
        moved = X.copy()
        moved[STRANGE] *= factor
        np.testing.assert_array_equal(model().fit(moved).labels_, before.labels_)


@pytest.mark.parametrize(("n", "seed"), [(60, 2), (120, 0), (120, 3), (200, 4)])
def test_a_long_outlier_is_not_worth_a_cluster_of_short_samples(n, seed):
    data, classes = make_rays(n, 60, K, noise=0.3, outliers=0.08, random_state=seed)
    fitted = model().fit(data)
    np.testing.assert_array_equal(fitted.labels_ < 0, classes < 0)
    assert clustering_accuracy(classes[classes >= 0], fitted.labels_[classes >= 0]) == 1


def test_the_error_is_that_of_the_memberships():
    fitted = model().fit(X)
    left = np.square(X - fitted.membership_ @ fitted.cluster_centers_).sum()
    assert fitted.relative_error_ == pytest.approx(left / np.square(X).sum())
    assert fitted.score(X) == pytest.approx(1 - fitted.relative_error_)
    assert fitted.inertia_ == pytest.approx(left)
    rest = X[~STRANGE]
    own = np.square(rest - (fitted.membership_ @ fitted.cluster_centers_)[~STRANGE]).sum()
    assert fitted.score(rest) == pytest.approx(1 - own / np.square(rest).sum())


def test_an_outlier_leaves_more_than_the_limit_allows():
    fitted = model().fit(X)
    c, p = fitted.outlier_limit_
    U = fitted.cluster_centers_ / np.linalg.norm(fitted.cluster_centers_, axis=1, keepdims=True)
    for x, label in zip(X, fitted.labels_, strict=True):
        a, sqnorms = max(x @ u for u in U), x @ x
        low, high = 0.0, sqnorms  # the least a^2 with energy - a^2 <= c (a^2)^p
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if sqnorms - middle > c * middle**p else (low, middle)
        assert (sqnorms - a * a > sqnorms - high) == (label < 0)


@pytest.mark.parametrize("factor", few([2.0**-37, 2.0**11]))
def test_outliers_do_not_depend_on_the_unit_of_the_data(factor):
    here, there = model().fit(X), model().fit(X * factor)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    np.testing.assert_array_equal(there.predict(X * factor), here.labels_)


@pytest.mark.parametrize("asked", few([5, 0.08, 0, 32, 60, 0.0, 0.2], 2))
def test_a_share_or_a_number_is_that_of_the_furthest_samples(asked):
    fitted = model(asked).fit(X)
    count = asked if isinstance(asked, int) else round(asked * len(X))
    assert fitted.converged_
    assert (fitted.labels_ < 0).sum() == count
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert (fitted.labels_[STRANGE] < 0).sum() == min(count, STRANGE.sum())


def test_a_weight_is_as_many_samples():
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    once = model().fit(X, sample_weight=weight)
    repeated = model().fit(np.repeat(X, weight, axis=0))
    np.testing.assert_array_equal(np.repeat(once.labels_, weight), repeated.labels_)
    assert once.outlier_limit_ == pytest.approx(repeated.outlier_limit_)


def test_without_outliers_none_is_found():
    for data in (
        make_rays(500, 60, 5, noise=0.5, random_state=1)[0],
        make_rays(500, 300, 5, sparsity=0.9, random_state=1)[0],
        1 + np.random.default_rng(0).poisson(np.repeat(9 * np.eye(5), 60, axis=0)),
    ):
        fitted = ONMF(5, outliers="auto", random_state=0).fit(data)
        assert (fitted.labels_ < 0).mean() <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize("snr", [-1, 5])
def test_the_outliers_of_the_papers_data_are_found_and_its_clusters_with_them(snr):
    data, classes = make_paper_synthetic(snr)
    strange = np.any(data != make_paper_synthetic(snr, outliers=0)[0], axis=1)
    fitted = ONMF(10, outliers="auto", random_state=0).fit(data)
    np.testing.assert_array_equal(fitted.labels_ < 0, strange)
    assert clustering_accuracy(classes[~strange], fitted.labels_[~strange]) > 0.95


def test_outliers_are_no_unassigned_samples():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(X)
    with pytest.warns(UnassignedSampleWarning, match=r"^1 sample\(s\) .* label -1: 400\.$"):
        fitted = model().fit(np.vstack([X, np.zeros(40)]))
    assert fitted.labels_[400] == -1


def test_a_saved_model_knows_its_outliers(tmp_path):
    fitted = model().fit(X)
    fitted.save(tmp_path / "m.onmf")
    loaded = onmf.load(tmp_path / "m.onmf")
    np.testing.assert_array_equal(loaded.predict(X), fitted.labels_)
    assert loaded.outliers == "auto"
    assert tuple(loaded.outlier_limit_) == tuple(fitted.outlier_limit_)


@pytest.mark.parametrize("limit", [[1.0, 0.0], {"tuple": [1.0, 0.3]}, {"tuple": [-1.0, 0.0]}, 3])
def test_a_forged_limit_is_refused(limit, tmp_path):
    model().fit(X).save(tmp_path / "m.onmf")
    header, arrays = read_container(tmp_path / "m.onmf", MODEL)
    header["attributes"]["outlier_limit_"] = limit
    (tmp_path / "m.onmf").write_bytes(container_bytes(MODEL, header, arrays))
    with pytest.raises(FormatError, match="its limit of outliers is no pair"):
        onmf.load(tmp_path / "m.onmf")


def test_a_stream_leaves_outliers_out():
    stream = model()
    for start in range(0, 400, 200):
        stream.partial_fit(X[start : start + 200])
    np.testing.assert_array_equal(stream.predict(X) < 0, STRANGE)
    assert (stream.labels_ < 0).sum() == STRANGE[200:].sum()


def test_a_fit_without_outliers_forgets_those_before():
    fitted = model().fit(X).set_params(outliers=None).fit(X)
    assert not hasattr(fitted, "outlier_limit_")
    assert (fitted.predict(X) >= 0).all()


@pytest.mark.slow
def test_other_parts_take_a_model_with_outliers():
    chosen = choose_k(model(), X, range(2, 7), n_runs=4)
    assert chosen.best_k in (K, K + 1)  # a cluster of outliers may be told from the others
    np.testing.assert_array_equal(chosen.model.labels_[~STRANGE] >= 0, True)
    fitted = model().fit(X)
    assert (fitted.explain(X).certainty[STRANGE] == 0).all()
    assert "32 samples fit no cluster" in html(fitted, X)


def test_what_cannot_be_asked_for_is_said_in_a_sentence():
    for value in ("some", 1.0, -1, -0.1, True, [3], np.nan):
        with pytest.raises(ValueError, match=r"^outliers must be None, 'auto', a share .*\.$"):
            model(value).fit(X)
    with pytest.raises(ValueError, match=r"^outliers needs solver='fast'\.$"):
        model(solver="palm").fit(X)
    with pytest.raises(ValueError, match=r"^outliers=398 leaves fewer than n_clusters=4 of 400 "):
        model(398).fit(X)


@pytest.mark.parametrize("seed", few([7, 2, 4, 12, 14], 1))
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_outliers_do_not_depend_on_chunks_or_form(seed, dtype):
    """Of samples without clusters, where the last digit decides: up to 33 of 35 labels differed."""
    X = np.random.default_rng(seed).poisson(1.0, (35, 150)).astype(dtype)
    expected = ONMF(6, outliers=0.1, random_state=0).fit(X).labels_
    with dask.config.set(scheduler="synchronous"):
        for rows in (sp.csr_array(X), da.from_array(X, chunks=(1, 150))):
            labels = ONMF(6, outliers=0.1, random_state=0).fit(rows).labels_
            np.testing.assert_array_equal(labels, expected)


def test_a_count_is_of_samples_that_are_there():
    """Samples of zeros and without weight took their part of the count."""
    padded, weight = np.vstack([X, np.zeros_like(X), X]), np.repeat([1.0, 1.0, 0.0], len(X))
    expected = model(40).fit(X).labels_
    assert np.sum(expected < 0) == 40
    with pytest.warns(UnassignedSampleWarning):
        labels = model(40).fit(padded, sample_weight=weight).labels_
    np.testing.assert_array_equal(labels[: len(X)], expected)


def test_a_count_is_of_all_samples_where_a_summary_stands_for_them():
    """25,000 samples have a summary of 20,000 rows, of which 100 were 125 samples."""
    rows, _ = make_rays(25_000, 3, 2, noise=0.3, random_state=0)
    found = ONMF(2, outliers=1000, solver=Fast(passes=2), random_state=0, n_init=1).fit(rows)
    assert abs(np.sum(found.labels_ < 0) - 1000) < 100
