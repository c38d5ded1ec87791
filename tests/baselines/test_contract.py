"""What every registered method promises."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score

from onmf.baselines import METHODS, Start, shared_draws
from onmf.datasets import make_rays
from onmf.result import gram_orthogonality
from onmf.rows.memory import InMemory

BY_SWEEPS = ["dtpp", "onmf-s", "hals", "onp-mf", "alternation"]
OWN_SEEDS = {"k-means++"}


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


def begin(X, k=4, seed=3):
    H, W = shared_draws(InMemory(np.asarray(X.todense()) if sp.issparse(X) else X), k, seed)
    H, W = H.astype(X.dtype), W.astype(X.dtype)
    H.flags.writeable = W.flags.writeable = False
    return Start(H, W, seed)


def run(method, X, start, **settings):
    return METHODS[method](InMemory(X), start, **{"max_iter": 60} | settings)


class Counted(InMemory):
    """Rows that count how often they are read once a method has them."""

    reads = -1000

    def sweep(self, move, rows=None):
        self.reads += 1
        return super().sweep(move, rows)


def test_the_start_is_left_alone_and_the_factors_are_non_negative(method, planted):
    X = np.where(np.arange(30) % 4 == planted[1][:, None], 0, planted[0])  # whole cells of zeros
    start = begin(X)
    before = start.H.copy(), start.W.copy()
    found = run(method, X, start)
    np.testing.assert_array_equal(start.H, before[0])
    np.testing.assert_array_equal(start.W, before[1])
    assert found.H.shape == (120, 4)
    assert found.W.shape == (4, 30)
    assert found.H.min() >= 0
    assert found.W.min() >= 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_type_of_the_numbers_is_kept(method, planted, dtype, make):
    X = make(planted[0].astype(dtype))
    found = run(method, X, begin(X), max_iter=5)
    assert found.H.dtype == found.W.dtype == dtype
    assert np.isfinite(found.H).all()


def test_the_result_is_the_same_for_dense_and_sparse(method, planted):
    X, _ = planted
    X = np.where(X < 0.3, 0, X)
    dense, sparse = (run(method, A, begin(X), max_iter=20) for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.H, dense.H, atol=1e-8)
    np.testing.assert_allclose(sparse.W, dense.W, atol=1e-8)
    assert sparse.sweeps == dense.sweeps


def test_the_history_has_a_row_an_iteration_or_one_for_the_end(method, planted):
    X, _ = planted
    events = []
    found = run(method, X, begin(X), watch=events.append)
    assert [event.stage for event in events] == found.history
    assert found.history[-1].sweeps == found.sweeps
    assert found.history[-1].relative_error == found.relative_error
    if method in BY_SWEEPS:
        assert len(found.history) == found.iterations
    else:
        assert len(found.history) == 1
    assert all(event.sweep == event.stage.sweeps <= event.max_sweeps for event in events)
    assert events[-1].membership().argmax(axis=1).tolist() == found.H.argmax(axis=1).tolist()


def test_the_measures_are_the_definitions(method, planted):
    X, _ = planted
    found = run(method, X, begin(X), watch=lambda event: False)
    if method != "onp-mf":  # whose H is clipped at the very end
        error = np.sum((X - found.H @ found.W) ** 2) / np.sum(X**2)
        assert found.relative_error == pytest.approx(error, rel=1e-8)
        expected = gram_orthogonality(found.H.T @ found.H)
        assert found.history[-1].orthogonality == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", BY_SWEEPS)
def test_sweeps_are_counted_as_they_happen_and_x_is_reached_by_nothing_else(name, planted):
    X, _ = planted
    data, start = Counted(X), begin(X)
    if name != "alternation":  # which takes single samples into empty clusters
        del data.X
    assert data.sqnorm > 0  # measuring X, which is done once, is not counted
    data.reads = 0
    found = METHODS[name](data, start, max_iter=7, tol=0)
    assert data.reads == found.sweeps
    assert found.stop == "max_iter" or name == "alternation"


def test_a_tolerance_stops_it_and_a_limit_is_told(method, planted):
    X, _ = planted
    loose = run(method, X, begin(X), tol=1e-2, max_iter=500)
    assert loose.stop == "converged"
    short = run(method, X, begin(X), tol=1e-300, max_iter=1)
    assert short.stop == "max_iter"
    assert short.iterations == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dtpp", "onmf-s", "hals", "onp-mf"])
def test_it_ends_with_the_first_residual_below_the_tolerance(name, planted):
    X, _ = planted
    found = run(name, X, begin(X), tol=1e-3, max_iter=2000)
    residuals = [stage.residual for stage in found.history]
    assert residuals[-1] < 1e-3 <= min(residuals[:-1])


def test_the_watcher_may_stop_it(planted):
    X, _ = planted
    for name in BY_SWEEPS:
        found = run(name, X, begin(X), tol=0, watch=lambda event: event.stage.sweeps > 5)
        assert found.stop == "callback"
        assert len(found.history) == found.iterations < 60


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"k-means++"}))
def test_clusters_far_apart_are_found_from_a_good_start(name):
    X, y = make_rays(120, 30, 3, noise=0.05, random_state=0)
    centres = np.array([X[y == c].mean(axis=0) for c in range(3)])
    start = Start(np.ascontiguousarray(X @ centres.T), centres, 0)
    found = run(name, X, start, max_iter=500)
    assert adjusted_rand_score(y, found.H.argmax(axis=1)) == 1


@pytest.mark.parametrize("name", sorted(METHODS.keys() - OWN_SEEDS))
def test_weight_two_equals_the_row_twice(name, planted):
    X, _ = planted
    weight, start = (np.arange(120) % 3).astype(float), begin(X)._replace(W=X[4:8])
    again = np.repeat(np.arange(120), np.arange(120) % 3)
    settings = {"max_iter": 15, "tol": 1e-12}
    once = METHODS[name](InMemory(X, weight), start, **settings)
    twice = METHODS[name](InMemory(X[again]), Start(start.H[again], start.W, 3), **settings)
    np.testing.assert_allclose(once.W, twice.W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(once.H[again], twice.H, rtol=1e-6, atol=1e-9)
    assert once.relative_error == pytest.approx(twice.relative_error, rel=1e-8)


def test_scaling_the_data_scales_the_fit(planted):
    X, _ = planted
    for name in METHODS.keys() - {"onp-mf"}:  # whose penalty has the scale of X
        start = begin(X)
        plain, large = run(name, X, start), run(name, 4 * X, start._replace(W=4 * start.W))
        np.testing.assert_array_equal(large.H.argmax(axis=1), plain.H.argmax(axis=1))
        np.testing.assert_allclose(large.H @ large.W, 4 * (plain.H @ plain.W), rtol=1e-6)


@pytest.mark.parametrize("name", ["dtpp", "onmf-s", "hals", "onp-mf"])
def test_nothing_of_size_n_by_n_is_ever_formed(name):
    X = np.random.default_rng(0).random((5000, 4))
    data, start = InMemory(X), begin(X, k=3)
    METHODS[name](data, start, max_iter=1)
    tracemalloc.start()
    try:
        METHODS[name](data, start, max_iter=2)
        assert tracemalloc.get_traced_memory()[1] < 5000 * 5000 * 8 / 20
    finally:
        tracemalloc.stop()


def test_k_means_is_scikit_learns(planted):
    X, _ = planted
    start = begin(X)
    theirs = KMeans(4, init=start.W, n_init=1, tol=1e-6, algorithm="lloyd").fit(X)
    found = run("k-means", X, start)
    np.testing.assert_array_equal(found.H.argmax(axis=1), theirs.labels_)
    np.testing.assert_array_equal(found.W, theirs.cluster_centers_)
    assert found.relative_error == pytest.approx(theirs.inertia_ / np.sum(X**2))
    assert found.iterations == theirs.n_iter_
    seeds, _ = kmeans_plusplus(X, 4, random_state=3, n_local_trials=1)
    theirs = KMeans(4, init=seeds, n_init=1, tol=1e-6, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(run("k-means++", X, start).H.argmax(axis=1), theirs.labels_)


def test_nmf_is_scikit_learns(planted):
    X, _ = planted
    start = begin(X)
    theirs = NMF(4, init="custom", max_iter=2000)
    H = theirs.fit_transform(X, W=start.H.copy(), H=start.W.copy())
    found = run("nmf", X, start, max_iter=2000)
    np.testing.assert_allclose(found.H @ found.W, H @ theirs.components_)
    np.testing.assert_allclose(np.linalg.norm(found.W, axis=1), 1)
    assert found.iterations == theirs.n_iter_


def test_memberships_of_nmf_are_compared_along_unit_rays():
    # The second ray is a hundred times as long: its membership is small only in that unit.
    H, W = np.array([[1.0, 0.02], [0.1, 0.05]]), np.array([[1.0, 0, 0], [0, 100, 0]])
    X = H @ W
    found = METHODS["nmf"](InMemory(X), Start(H, W, 0))
    assert found.H.argmax(axis=1).tolist() == [1, 1]
