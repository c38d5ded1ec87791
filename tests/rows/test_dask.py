"""Rows on Dask: the same solver, the same answer, whatever the chunks and whoever dies."""

import os
import signal
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import onmf
from cases import few
from onmf import ONMF, PALM, Fast
from onmf.datasets import make_rays
from onmf.estimators import solvers

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

UNEVEN = (100, 300, 7, 1, 492, 90, 510)  # seven chunks
pytestmark = pytest.mark.filterwarnings("ignore::onmf.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def dense():
    return make_rays(1500, 150, 5, noise=1.0, random_state=0)[0]


@pytest.fixture(scope="module")
def of_dense(dense):
    """The answer of memory."""
    return ONMF(5, random_state=0).fit(dense)


@pytest.fixture(scope="module")
def sparse():
    return sp.csr_array(make_rays(1500, 200, 5, sparsity=0.9, noise=0.5, random_state=1)[0])


def chunked(X, chunks):
    """A Dask array with these chunks of rows; of CSR chunks if X is one."""
    dense = da.from_array(X.toarray() if sp.issparse(X) else X, chunks=(chunks, X.shape[1]))
    return dense.map_blocks(sp.csr_array) if sp.issparse(X) else dense


def assert_same(model, expected, tol=1e-8):
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    scale = np.abs(expected.cluster_centers_).max()
    np.testing.assert_allclose(
        model.cluster_centers_, expected.cluster_centers_, rtol=0, atol=tol * scale
    )


OPTIONS = {
    "fast": {},
    "palm": {"solver": "palm", "max_iter": 12},
    "palm, nsncp": {"solver": PALM(penalty="nsncp"), "max_iter": 12},
    "palm, accelerated": {"solver": PALM(accelerate=True), "max_iter": 25},
    "nndsvd": {"solver": "palm", "init": "nndsvd", "max_iter": 5},
    "k-means++": {"solver": "palm", "init": "k-means++", "max_iter": 5},
    "bounds": {"solver": PALM(center_bounds="data"), "max_iter": 12},
}


QUICK = {"fast"}


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in OPTIONS],
)
@pytest.mark.parametrize("kind", few(["sparse", "dense"]))
def test_any_chunks_give_the_answer_of_memory(name, kind, request):
    X = request.getfixturevalue(kind)
    expected = ONMF(5, random_state=0, **OPTIONS[name]).fit(X)
    for chunks in (UNEVEN, 1500):
        model = ONMF(5, random_state=0, **OPTIONS[name]).fit(chunked(X, chunks))
        assert_same(model, expected)
        assert model.n_iter_ == expected.n_iter_
        assert model.relative_error_ == pytest.approx(expected.relative_error_, rel=1e-9)
        np.testing.assert_allclose(
            model.membership_.compute(), expected.membership_, atol=1e-8, rtol=1e-8
        )


def test_predict_and_transform_are_lazy(dense, of_dense):
    model, calls = of_dense, []

    def load(block):
        calls.append(len(block))
        return block

    X = da.from_array(dense, chunks=(UNEVEN, 150)).map_blocks(load, meta=np.empty((0, 0)))
    labels, H = model.predict(X), model.transform(X)
    assert not calls
    assert labels.chunks == (UNEVEN,)
    assert H.chunks == (UNEVEN, (5,))
    np.testing.assert_array_equal(labels.compute(), model.labels_)
    np.testing.assert_allclose(H.compute(), model.transform(dense), rtol=1e-13)
    assert model.score(X) == pytest.approx(model.score(dense), rel=1e-12)


def test_distance_and_unusual_are_lazy_too(dense, of_dense):
    model, X = of_dense, chunked(dense, UNEVEN)
    for method in (model.unusual, model.distance):
        assert method(X).chunks == (UNEVEN,)
        np.testing.assert_allclose(method(X).compute(), method(dense), rtol=1e-9, atol=1e-9)


def test_scores_and_samples_from_memberships_are_lazy(dense, of_dense):
    model, X = of_dense, chunked(dense, UNEVEN)
    scores, back = model.decision_function(X), model.inverse_transform(model.transform(X))
    assert scores.chunks == (UNEVEN, (5,))
    np.testing.assert_allclose(scores.compute(), model.decision_function(dense), atol=1e-12)
    np.testing.assert_allclose(back.compute(), model.inverse_transform(model.transform(dense)))


def test_a_model_fitted_on_dask_can_be_stored(dense, tmp_path):
    model = ONMF(5, random_state=0).fit(chunked(dense, UNEVEN))
    model.save(tmp_path / "model.onmf")
    again = onmf.ONMF.load(tmp_path / "model.onmf")
    np.testing.assert_array_equal(again.membership_, model.membership_.compute())
    assert again.history_ == model.history_


@pytest.mark.slow
def test_data_frames_bring_their_names(dense):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(dense, columns=[f"g{j}" for j in range(150)])
    lazy = dd.from_pandas(frame, npartitions=4)
    expected = ONMF(5, random_state=0).fit(frame)
    model = ONMF(5, random_state=0).fit(lazy)
    assert_same(model, expected)
    assert model.feature_names_in_.tolist() == [*frame.columns]
    np.testing.assert_array_equal(model.predict(lazy).compute(), expected.labels_)


def test_weights_count_on_dask_as_in_memory():
    """Samples on two rays and, of little weight, between them: without weights the rays move."""
    X = np.repeat(np.array([[1.0, 0.1, 0], [0, 1, 0.1], [0.6, 0.5, 0]]), [4, 4, 8], axis=0)
    weight = np.repeat([1.0, 1.0, 1e-3], [4, 4, 8])
    model = ONMF(2, random_state=0)
    alike = model.fit(X).cluster_centers_
    expected = model.fit(X, sample_weight=weight)
    assert np.abs(expected.cluster_centers_ - alike).max() > 0.05  # else nothing is tested
    found = ONMF(2, random_state=0).fit(chunked(X, (5, 11)), sample_weight=weight)
    assert_same(found, expected)


@pytest.mark.slow
def test_weights_go_with_their_chunks(dense):
    weight = np.random.default_rng(0).random(1500)
    expected = ONMF(5, random_state=0).fit(dense, sample_weight=weight)
    X = chunked(dense, UNEVEN)
    assert_same(ONMF(5, random_state=0).fit(X, sample_weight=weight), expected)
    lazy = da.from_array(weight, chunks=400)
    assert_same(ONMF(5, random_state=0).fit(X, sample_weight=lazy), expected)
    assert ONMF(5, random_state=0).fit(X).score(X, sample_weight=weight) == pytest.approx(
        ONMF(5, random_state=0).fit(dense).score(dense, sample_weight=weight)
    )


@pytest.mark.slow
def test_samples_without_weight_do_not_count_on_dask_either(dense):
    weight = np.zeros(len(dense))
    weight[[3, 700, 1400]] = 1
    X = chunked(dense, UNEVEN)
    with pytest.raises(ValueError, match="3"):
        ONMF(5, random_state=0).fit(dense, sample_weight=weight)
    with pytest.raises(ValueError, match="3"):
        ONMF(5, random_state=0).fit(X, sample_weight=weight)
    palm = ONMF(5, solver="palm", random_state=0, max_iter=40)
    weight = np.random.default_rng(0).integers(0, 3, len(dense))
    expected = palm.fit(dense, sample_weight=weight).history_[-1]
    found = palm.fit(X, sample_weight=weight).history_[-1]
    assert found.penalty == pytest.approx(expected.penalty, rel=1e-6)


def test_single_precision_stays(dense):
    X = dense.astype(np.float32)
    expected = ONMF(5, random_state=0).fit(X)
    model = ONMF(5, random_state=0).fit(chunked(X, UNEVEN))
    assert model.cluster_centers_.dtype == model.membership_.dtype == np.float32
    assert_same(model, expected, tol=1e-5)


def test_extreme_scales_are_handled_where_the_rows_are(dense):
    expected = ONMF(5, random_state=0).fit(1e200 * dense)
    assert_same(ONMF(5, random_state=0).fit(chunked(1e200 * dense, UNEVEN)), expected)


def test_empty_clusters_are_filled_as_in_memory():
    X = np.repeat(make_rays(60, 40, 5, noise=1.0, random_state=0)[0][:8], 4, axis=0)
    expected = ONMF(8, random_state=0, init=(None, X[[0] * 8])).fit(X)
    model = ONMF(8, random_state=0, init=(None, X[[0] * 8])).fit(chunked(X, (5, 27)))
    assert_same(model, expected)


def test_samples_of_zeros_have_no_cluster(dense):
    X = dense.copy()
    X[[3, 401, 1499]] = 0
    with pytest.warns(UserWarning, match="3, 401, 1499"):
        model = ONMF(5, random_state=0).fit(chunked(X, UNEVEN))
    assert np.flatnonzero(model.labels_ < 0).tolist() == [3, 401, 1499]


# Odd chunks


def unknown(X):
    mask = da.from_array(np.ones(len(X), bool), chunks=500)
    return da.from_array(X, chunks=(500, 150))[mask]


ODD = {
    "unknown sizes": unknown,
    "chunks along features": lambda X: da.from_array(X, chunks=(400, 60)),
    "an empty chunk": lambda X: da.from_array(X, chunks=((0, 700, 0, 800, 0), 150)),
    "unknown sizes, one empty": lambda X: da.concatenate(
        [(lambda A: A[A[:, 0] < -1])(da.from_array(X, chunks=(750, 150))), unknown(X)]
    ),
    "by columns in memory": lambda X: da.from_array(X, chunks=(400, 150)).map_blocks(
        np.asfortranarray
    ),
}


@pytest.mark.parametrize("case", few(ODD, 2))
def test_odd_chunks_are_no_trouble(case, dense, of_dense):
    X = ODD[case](dense)
    model = ONMF(5, random_state=0).fit(X)
    assert_same(model, of_dense)
    np.testing.assert_array_equal(model.predict(X).compute(), model.labels_)


def test_a_chunk_that_is_not_what_it_should_be_is_named(dense):
    X = dense.copy()
    X[901, 7] = np.inf
    sentence = r"in chunk 5: Input X contains infinity at \(row 901, column 7\)"
    with pytest.raises(ValueError, match=sentence):
        ONMF(5).fit(chunked(X, UNEVEN))
    with pytest.raises(
        ValueError, match=r"in chunk 5, its rows counted from 0: .*\(row 1, column 7"
    ):
        ONMF(5, random_state=0).fit(dense).predict(chunked(X, UNEVEN)).compute()
    X[901, 7] = -1
    with pytest.raises(ValueError, match=r"in chunk 5: Negative .*\(row 901, column 7\)"):
        ONMF(5, loss="kl").fit(chunked(sp.csr_array(X), UNEVEN))
    bad = chunked(dense, UNEVEN).map_blocks(
        lambda block, block_id: block.astype(str) + "?" if block_id[0] == 4 else block, dtype=float
    )
    with pytest.raises(ValueError, match="chunk 4 cannot be read as numbers"):
        ONMF(5).fit(bad)


def test_what_cannot_be_clustered_is_said(dense):
    with pytest.raises(ValueError, match="3 dimension"):
        ONMF(5).fit(da.from_array(dense[None]))
    with pytest.raises(ValueError, match="0 sample"):
        ONMF(5).fit(da.from_array(dense[:0], chunks=(1, 150)))
    with pytest.raises(ValueError, match="not numbers"):
        ONMF(5).fit(da.from_array(np.full((9, 2), "a")))
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=5"):
        ONMF(5).fit(da.from_array(dense[:3]))
    with pytest.raises(ValueError, match="all zero"):
        ONMF(2).fit(da.zeros((9, 2)))
    with pytest.raises(ValueError, match="expecting 150 features"):
        ONMF(5, random_state=0).fit(dense).predict(da.ones((4, 3)))


def test_without_dask_the_sentence_says_what_to_install(monkeypatch):
    X = da.ones((4, 2))
    monkeypatch.setitem(sys.modules, "dask.array", None)
    monkeypatch.delitem(sys.modules, "onmf.rows.dask", raising=False)
    monkeypatch.delattr(onmf.rows, "dask", raising=False)
    with pytest.raises(ImportError, match=r'pip install "onmf\[dask\]"'):
        ONMF(2).fit(X)


def test_a_sum_changes_neither_part(dense):
    """A task may run twice: when a worker dies after one of its parts was added."""
    from onmf.losses.ray_alternation import Assign
    from onmf.rows.assign import Rays
    from onmf.rows.dask.chunks import add_sums, sweep_chunk
    from onmf.rows.sweep import Block

    move = Assign(Rays.of(dense[:5]))
    a, b = (
        sweep_chunk(Block(rows, np.ones((len(rows), 1))), move, None, 0)[1]
        for rows in (dense[:700], dense[700:])
    )
    once, twice = add_sums(a, b), add_sums(a, b)
    for first, second in zip(once.stats, twice.stats, strict=True):
        np.testing.assert_array_equal(first, second)
    whole = sweep_chunk(Block(dense, np.ones((1500, 1))), move, None, 0)[1]
    np.testing.assert_allclose(once.stats.cross, whole.stats.cross)


# Workers of flesh and blood


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_workers_give_the_answer_of_memory(client, dense, sparse):
    for X, options in ((dense, {}), (sparse, {})):
        expected = ONMF(5, random_state=0, **options).fit(X)
        model = ONMF(5, random_state=0, **options).fit(chunked(X, UNEVEN))
        assert_same(model, expected)
        assert 0 < model.history_[-1].received
        assert [s.sent for s in expected.history_] == [0] * len(expected.history_)
    persisted = chunked(dense, UNEVEN).persist()
    assert_same(ONMF(5, random_state=0).fit(persisted), ONMF(5, random_state=0).fit(dense))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_bytes_of_a_round_do_not_depend_on_the_number_of_samples(client, dense):
    """One W and one sum a worker: within a tenth of workers x (km + k^2 + few) numbers."""
    bound = 3 * (5 * 150 + 5**2 + 4 * 5) * 8
    for X in (dense[:300], dense):
        history = ONMF(5, random_state=0).fit(da.from_array(X, chunks=(len(X) // 12, 150))).history_
        ends = {stage.sweeps: (stage.sent, stage.received) for stage in history}
        out, back = np.median(np.diff(list(ends.values()), axis=0), axis=0)
        assert out == pytest.approx(bound, rel=0.15)
        assert back == pytest.approx(bound, rel=0.15)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_one_round_brings_a_summary_and_survives_its_worker(client, dense, tmp_path, monkeypatch):
    """Its bytes have a bound that knows nothing of n, and who makes the rows does not matter."""
    size = 100
    monkeypatch.setattr(solvers, "MIN_SUMMARY_ROWS", size)
    monkeypatch.setattr(solvers, "SUMMARY_ROWS_PER_CLUSTER", 1)
    died = tmp_path / "died"

    def load(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 4 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    expected = ONMF(5, random_state=0, solver=Fast(passes=1)).fit(dense)
    model = ONMF(5, random_state=0, solver=Fast(passes=1))
    model.fit(chunked(dense, UNEVEN).map_blocks(load, dtype=float, meta=np.empty((0, 0))))
    assert died.exists()
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    row = 150 * 8 + 4 * 8
    for X in (dense, np.tile(dense, (3, 1))):
        bound = (len(UNEVEN) + 1) * (2 * (size + 1) * row + 4000)
        history = (
            ONMF(5, random_state=0, solver=Fast(passes=1)).fit(chunked(X, len(X) // 7)).history_
        )
        assert 0 < history[-1].received < bound
        assert {stage.sweeps for stage in history} == {1}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("solver", ["fast", "palm"])
def test_a_worker_that_is_killed_changes_nothing(client, dense, solver):
    options = {"fast": {"tol": 1e-12}, "palm": {"solver": "palm", "max_iter": 12}}[solver]
    expected = ONMF(5, random_state=0, **options).fit(dense)
    killed = []

    def kill_one(event):
        if event.sweep == 7 and not killed:
            killed.append(min(client.run(os.getpid).items()))
            os.kill(killed[0][1], signal.SIGKILL)

    model = ONMF(5, random_state=0, **options, callback=kill_one).fit(chunked(dense, UNEVEN))
    assert killed
    assert_same(model, expected)
    deadline = time.monotonic() + 30
    while len(client.ncores()) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)  # its nanny starts another, for the next test


def chunks_of(lengths, declared=50):
    """An array of which each chunk says it has 50 rows."""
    from dask.delayed import delayed

    def chunk(length, seed):
        return np.random.default_rng(seed).random((length, 6))

    parts = [delayed(chunk)(length, seed) for seed, length in enumerate(lengths)]
    return da.concatenate([da.from_delayed(part, (declared, 6), float) for part in parts])


@pytest.mark.parametrize("lengths", few([[50, 50, 0, 50], [50, 50, 51, 50], [50, 50, 48, 50]], 2))
def test_a_chunk_of_another_length_than_it_says_is_named(lengths):
    said = rf"chunk 2 has {lengths[2]} rows, but the Dask array says 50"
    with pytest.raises(ValueError, match=said):
        ONMF(3, random_state=0).fit(chunks_of(lengths))
    fitted = ONMF(3, random_state=0).fit(chunks_of((50, 50)))
    for method in ("predict", "transform"):
        with pytest.raises(ValueError, match=said):
            getattr(fitted, method)(chunks_of(lengths)).compute()
    unknown = chunks_of(lengths)
    unknown._chunks = ((np.nan,) * 4, (6,))
    assert len(fitted.predict(unknown).compute()) == sum(lengths)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("solver", few(["fast", "palm"]))
def test_a_client_closed_in_the_middle_is_named(solver):
    distributed = pytest.importorskip("distributed")
    shape = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with distributed.LocalCluster(**shape, dashboard_address=None) as cluster:
        client = distributed.Client(cluster, set_as_default=False)  # nothing stays behind

        def close(event):
            client.close()

        model = ONMF(3, random_state=0, solver=solver, tol=1e-12, callback=close)
        lost = pytest.raises(ConnectionError, match="client that holds the rows was closed")
        with lost, client.as_current():  # clients of other tests are alive
            model.fit(da.from_array(np.random.default_rng(0).random((200, 20)), chunks=(50, 20)))
        assert not hasattr(model, "labels_")
