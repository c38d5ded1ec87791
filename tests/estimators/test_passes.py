"""`passes`: X is read so often and no more, and what is found hardly depends on it."""

import numpy as np
import pytest
import scipy.sparse as sp

import onmf
from cases import few
from onmf import ONMF, Fast
from onmf.datasets import make_rays
from onmf.estimators import solvers
from onmf.metrics import clustering_accuracy
from onmf.rows.source import Source

K, N, M, STEP, SIZE = 5, 3000, 40, 250, 600
X = make_rays(N, M, K, noise=1.0, random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(0, 3, N).astype(float)


@pytest.fixture(autouse=True)
def small_summary(monkeypatch, plain_pages):
    monkeypatch.setattr(solvers, "MIN_SUMMARY_ROWS", SIZE)
    monkeypatch.setattr(solvers, "SUMMARY_ROWS_PER_CLUSTER", 1)


def fit(X, passes=2, weight=None, **options):
    return ONMF(K, random_state=0, **options, solver=Fast(passes=passes)).fit(
        X, sample_weight=weight
    )


class Made(Source):
    """Rows that are made a block at a time; `calls` counts how often."""

    def rows(self, i, j):
        self.calls.append(i // STEP)
        return self.X[i:j]

    def matrix(self):
        return self.X


def blocks(X=X, calls=None):
    source = Made(where="X", shape=X.shape, dtype=X.dtype, edges=[*range(0, N, STEP), N])
    object.__setattr__(source, "X", X)
    object.__setattr__(source, "calls", [] if calls is None else calls)
    return source


def on_dask(folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=((1, 999, 1500, 500), M))


def as_npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def as_parquet(folder):
    """A folder whose name says nothing, of three files with four row groups each."""
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    names = [f"f{j}" for j in range(M)]
    (folder / "parts").mkdir()
    for number, part in enumerate(np.split(X, 3)):
        frame = pd.DataFrame(part, columns=names)
        frame.to_parquet(folder / "parts" / f"{number}.parquet", row_group_size=STEP, index=False)
    return folder / "parts"


PLACES = {
    "disk": as_npy,
    "dask": on_dask,
    "blocks": lambda folder: blocks(),
    "parquet": as_parquet,
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_the_centroids_are_the_same_bits_in_every_place(place, tmp_path):
    there = PLACES[place](tmp_path)
    for passes, weight in ((1, None), (2, WEIGHT)):
        expected = fit(X, passes, weight)
        found = fit(there, passes, weight, n_jobs=3)
        np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
        assert found.relative_error_ == pytest.approx(expected.relative_error_, rel=1e-9)
        assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-9)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_the_inertia_is_the_error_times_the_energy():
    for passes in (1, 2):
        model = fit(X, passes, WEIGHT)
        sqnorms = WEIGHT @ np.square(X).sum(axis=1)
        assert model.inertia_ == pytest.approx(model.relative_error_ * sqnorms)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_blocks_give_any_rows(kind):
    few = kind(X[:1100])  # the last block is short
    source = blocks(few)
    for i, j in ((0, 0), (0, 250), (100, 900), (999, 1001), (1000, 1100), (1100, 1100)):
        np.testing.assert_array_equal(full(source.rows(i, j)), X[i:j])
    numbers = np.array([7, 1099, 250, 251, 7])
    np.testing.assert_array_equal(full(source[numbers]), X[numbers])


def full(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def test_sparse_blocks_are_sparse_rows():
    S = sp.csr_array(X * (X > np.median(X)))
    expected, found = fit(S), fit(blocks(S))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.predict(S), expected.labels_)


@pytest.mark.parametrize("passes", few([1, 4, 2, 3], 2))
def test_every_block_is_made_as_often_as_allowed(passes):
    calls = []
    with pytest.warns(onmf.exceptions.ConvergenceWarning, match="on the summary of X"):
        model = fit(blocks(calls=calls), passes, tol=0, max_iter=4)
    np.testing.assert_array_equal(np.bincount(calls), np.full(N // STEP, passes))
    assert model.n_iter_ == model.history_[-1].sweeps == passes


def test_few_samples_are_their_own_summary():
    few = X[:SIZE]
    expected, found = ONMF(K, random_state=0).fit(few), fit(few)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert found.relative_error_ == pytest.approx(expected.relative_error_, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["shuffled", "by class"])
def test_the_error_is_near_that_of_the_full_fit(order):
    """About K / s above it, s being the size of the summary; one more pass makes up for it."""
    labels = ONMF(K, random_state=0).fit(X).labels_
    rows = X if order == "shuffled" else X[np.argsort(labels, kind="stable")]
    full = ONMF(K, random_state=0).fit(rows).relative_error_
    excess = [fit(rows, passes).relative_error_ / full - 1 for passes in (2, 3)]
    assert -1e-9 < excess[0] < 3 * K / SIZE
    assert abs(excess[1]) < 1e-4


@pytest.mark.slow
def test_once_means_no_labels(tmp_path):
    model = fit(X, 1)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "membership_")
    assert model.converged_
    two = fit(X, 2)
    order = [np.flatnonzero((two.cluster_centers_ == w).all(axis=1))[0] for w in model.components_]
    np.testing.assert_array_equal(np.array(order)[model.predict(X)], two.labels_)
    np.testing.assert_array_equal(fit(X, 1).fit_predict(X), model.predict(X))
    model.save(tmp_path / "model.onmf")
    np.testing.assert_array_equal(
        onmf.ONMF.load(tmp_path / "model.onmf").predict(X), model.predict(X)
    )
    with pytest.raises(ValueError, match="passes=2"):
        model.explain(X)
    two.set_params(solver__passes=1).fit(X)
    assert not hasattr(two, "labels_")


def test_given_centroids_keep_their_ids():
    given = ONMF(K, random_state=0).fit(X).cluster_centers_[::-1]
    for passes in (1, 2):
        model = fit(X, passes, init=given)
        cosines = model.cluster_centers_ @ given.T
        cosines /= np.linalg.norm(model.cluster_centers_, axis=1)[:, None]
        assert (cosines / np.linalg.norm(given, axis=1)).diagonal().min() > 0.99


@pytest.mark.parametrize("passes", [1, 2, 4])
def test_fewer_directions_than_clusters_are_an_answer(passes):
    two = np.repeat(np.eye(2, 3), 400, axis=0)
    with pytest.warns(onmf.exceptions.EmptyClusterWarning) if passes > 1 else np.errstate():
        model = fit(two, passes)
    assert model.relative_error_ == pytest.approx(0, abs=1e-12)
    assert len(np.unique(model.predict(two))) == 2


def test_given_models_keep_their_ids():
    first = ONMF(K, random_state=0).fit(X[:2000])
    for passes in (1, 2, 3):
        model = ONMF(init=first, random_state=0, solver=Fast(passes=passes)).fit(X)
        assert model.lineage_.kept == tuple(range(K))
        old = first.predict(X)
        assert np.mean(model.cluster_ids_[model.predict(X)] == old) > 0.95


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"passes": 0}, "passes must be a whole number >= 1"),
        ({"passes": 2.5}, "passes must be a whole number >= 1"),
    ],
)
def test_what_cannot_be_is_said(options, words):
    with pytest.raises(ValueError, match=words):
        ONMF(K, solver=Fast(**options)).fit(X)


def test_entries_that_cannot_be_squared_are_refused_where_they_cannot_be_scaled(tmp_path):
    np.save(tmp_path / "x.npy", 1e200 * X)
    with pytest.raises(ValueError, match="too small or too large"), np.errstate(over="ignore"):
        fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(fit(1e200 * X).labels_, fit(X).labels_)


def test_what_is_wrong_in_a_block_is_named_by_its_row():
    bad = X.copy()
    bad[1003, 7] = np.inf
    with pytest.raises(ValueError, match=r"infinity at \(row 1003, column 7\)"):
        fit(blocks(bad), 1)
    bad[1003, 7] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity at \(row 1003, column 7\)"):
        fit(blocks(bad), 1, loss="kl")


@pytest.mark.parametrize("passes", [1, 2])
def test_blocks_may_have_missing_values_and_outliers(passes):
    calls, (rows, y) = [], make_rays(N, M, K, noise=0.3, outliers=0.02, random_state=1)
    rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    model = fit(blocks(rows, calls), passes, outliers="auto")
    np.testing.assert_array_equal(np.bincount(calls), np.full(N // STEP, passes))
    assert model.n_missing_ == np.isnan(rows).sum()
    labels = model.predict(rows)
    if passes == 2:
        np.testing.assert_array_equal(model.labels_, labels)
    assert (labels[y < 0] == -1).all()
    assert clustering_accuracy(y[labels >= 0], labels[labels >= 0]) > 0.99
    assert np.mean(labels[y >= 0] >= 0) > 0.99
