"""What a stream with any loss of `LOSSES` promises: nothing is forgotten, ids stay, files go on."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp

import onmf
from losses_cases import K, M, planted, three_kinds, total_loss
from onmf import ONMF
from onmf.datasets import make_rays
from onmf.estimators import stream
from onmf.exceptions import FormatError
from onmf.files.container import MODEL, container_bytes, read_container

X, Y = planted(120)
WEIGHT = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)


def stream_of(batches, loss, k=K, **options):
    model = ONMF(k, loss=loss.name, random_state=0, **options)
    for batch in batches:
        model.partial_fit(batch)
    return model


def counts(n, groups=range(6), seed=0):
    """Counts of some of six kinds that overlap."""
    A, y = make_rays(3000, 30, 6, noise=0.6, random_state=7)
    rng = np.random.default_rng(seed)
    some = rng.choice(np.flatnonzero(np.isin(y, groups)), n, replace=False)
    return np.round(20 * A[some]) + 0.0


@pytest.mark.parametrize("through_a_file", [False, True])
def test_a_batch_of_half_of_the_kinds_makes_the_others_no_worse(loss, through_a_file, tmp_path):
    A, B = counts(600), counts(900, [0, 1, 2], seed=1)
    model = ONMF(6, loss=loss.name, random_state=0).fit(A)
    before = 1 - model.score(A)
    if through_a_file:
        model.save(tmp_path / "m.onmf", samples=False)
        model = onmf.ONMF.load(tmp_path / "m.onmf")
    for batch in np.split(B, 3):
        model.partial_fit(batch)
    assert 1 - model.score(A) <= 1.02 * before
    assert model.cluster_ids_.tolist() == [*range(6)]


def test_a_row_per_ray_stands_for_the_samples_of_a_fit(loss):
    """Fitted with its weights, it gives the centroids again."""
    model = ONMF(K, loss=loss.name, random_state=0).fit(X, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.ray_weight_, np.bincount(model.labels_, WEIGHT, K))
    rows = loss.typical_samples(model.rays_, model.ray_weight_)
    again = loss.joint_centroids(rows, model.ray_weight_, np.arange(K), K)
    np.testing.assert_allclose(again, model.cluster_centers_, 1e-9, 1e-12)
    if loss.degree == 1:  # counts: the row is the mean sample
        clusters = model.labels_ == np.arange(K)[:, None]
        means = [WEIGHT[own] @ X[own] / WEIGHT[own].sum() for own in clusters]
        np.testing.assert_allclose(rows, means, 1e-6, 1e-9)


def test_joint_centroids_are_the_best_of_their_rows(loss):
    rows, weight = X[:12], WEIGHT[:12]
    cluster = np.arange(12) % 2
    W = loss.joint_centroids(rows, weight, cluster, 2)
    rng = np.random.default_rng(0)
    for own in (0, 1):
        mine = cluster == own
        best = total_loss(loss, rows[mine], W[own : own + 1], weight[mine])
        for _ in range(20):
            other = W[own] * rng.lognormal(0, 0.1, M)
            assert total_loss(loss, rows[mine], other[None], weight[mine]) > 0.999 * best


def test_the_same_batch_again_and_again_moves_nothing(loss):
    model = ONMF(K, loss=loss.name, random_state=0).partial_fit(X, sample_weight=WEIGHT)
    W = model.cluster_centers_
    for _ in range(3):
        model.partial_fit(X, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.cluster_centers_, W, 1e-4)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_a_stream_ends_near_a_fit_to_all_of_it(loss):
    A = counts(1500)
    whole = ONMF(6, loss=loss.name, random_state=0).fit(A).relative_error_
    stream = stream_of(np.split(A, 10), loss, 6)
    assert 1 - stream.score(A) < 1.01 * whole


def test_rows_are_fitted_again_when_they_have_grown_by_a_quarter(loss):
    model, sizes = ONMF(K, loss=loss.name, random_state=0), []
    for batch in np.split(X, 12):
        sizes.append(model.partial_fit(batch)._stream.fitted)
    assert sizes == [10, 20, 30, 40, 50, 50, 70, 70, 90, 90, 90, 120]


def test_the_rows_that_are_kept_are_bounded_and_sum_to_what_was_seen(loss, monkeypatch):
    monkeypatch.setattr(stream, "ROWS_PER_RAY", 20)
    whole = counts(1600)
    model = stream_of(np.split(whole, 8), loss, 6)
    rows, weight = model._stream.summary.rows()
    assert len(rows) == 20 * 6
    assert weight.sum() == pytest.approx(1600, rel=0.2)
    assert (weight[:, 0] @ rows).sum() == pytest.approx(whole.sum(), rel=0.2)
    # The centroids are those of all that was seen: of 120 rows alone they would be much worse.
    best = ONMF(6, loss=loss.name, random_state=0).fit(whole).relative_error_
    assert 1 - model.score(whole) < 1.01 * best
    few = ONMF(6, loss=loss.name, random_state=0).fit(rows, sample_weight=weight[:, 0])
    assert 1 - few.score(whole) > 1.02 * best
    assert model.ray_weight_.sum() == pytest.approx(1600, rel=0.05)


def test_a_stream_continues_from_its_file(loss, tmp_path):
    """Bit for bit; dense batches and sparse ones, which are then all kept as sparse rows."""
    model = stream_of([X[:40], sp.csr_array(X[40:70])], loss)
    model.save(tmp_path / "m.onmf")
    again = onmf.ONMF.load(tmp_path / "m.onmf")
    for batch in (X[70:] ** 0.9, X[::-1] ** 1.1):
        for one in (model, again):
            one.partial_fit(batch)
        np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
        np.testing.assert_array_equal(again.cluster_ids_, model.cluster_ids_)
        np.testing.assert_array_equal(again.labels_, model.labels_)


def test_a_saved_stream_has_rows_of_the_data_unless_they_are_left_out(loss, tmp_path):
    model = stream_of([X[:60], X[60:]], loss)
    sizes = []
    for samples in (True, False):
        model.save(tmp_path / "m.onmf", samples=samples)
        content = (tmp_path / "m.onmf").read_bytes()
        assert all((row.tobytes() in content) == samples for row in X)
        again = onmf.ONMF.load(tmp_path / "m.onmf")
        assert hasattr(again, "_stream") == samples
        np.testing.assert_array_equal(again.ray_weight_, model.ray_weight_)
        again.partial_fit(X)
        sizes.append(again._stream.summary.count)
    assert sizes == [240, K + 120]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", np.ones((2, M))),
        ("rows", np.full((120, M), np.inf)),
        ("weights", np.zeros(120)),
        ("weights", np.ones(7)),
        ("numbers", np.full(120, -1)),
    ],
)
def test_a_forged_stream_is_refused(loss, name, value, tmp_path):
    stream_of([X], loss).save(path := tmp_path / "m.onmf")
    header, arrays = read_container(path, MODEL)
    assert f"stream.{name}" in arrays
    path.write_bytes(container_bytes(MODEL, header, arrays | {f"stream.{name}": value}))
    with pytest.raises(FormatError):
        onmf.ONMF.load(path)
    for fact, wrong in (("seen", 0), ("count", "x"), ("samples_only", 1)):
        stream = {"stream": header["stream"] | {fact: wrong}}
        path.write_bytes(container_bytes(MODEL, header | stream, arrays))
        with pytest.raises(FormatError):
            onmf.ONMF.load(path)


def test_a_ray_that_becomes_that_of_another_kind_is_a_new_cluster(loss):
    """Samples of two kinds, then many more of the third: one of the two rays goes over to it."""
    A, y = three_kinds(900, 0)
    model = ONMF(2, loss=loss.name, random_state=0).fit(A[y < 2][:60])
    model.rename({0: "zero", 1: "one"}).partial_fit(A[y < 2][60:100])
    assert model.lineage_.kept == (0, 1)
    for seed in range(4):
        batch = A[y == 2] * np.random.default_rng(seed).lognormal(0, 0.1, A[y == 2].shape)
        model.partial_fit(np.vstack([batch, A[y == 1][:20]]))
    (new,) = {*model.cluster_ids_[model.predict(A[y == 2])].tolist()}
    assert new == 2
    assert len(model.cluster_ids_) == 2
    assert model.cluster_names_[2] == "cluster 2"


def test_outliers_of_a_stream_do_not_move_its_centroids(loss):
    wild = X.copy()
    wild[::10, 1] *= 1e3
    model = ONMF(K, loss=loss.name, outliers="auto", random_state=0).fit(X)
    calm, stirred = (deepcopy(model).partial_fit(batch) for batch in (X, wild))
    assert (stirred.labels_[::10] == -1).all()
    shares = [m.cluster_centers_ / m.cluster_centers_.sum(axis=1)[:, None] for m in (calm, stirred)]
    assert np.abs(shares[0] - shares[1]).sum(axis=1).max() / 2 < 0.02


def test_batches_have_weights_and_the_callback_hears_of_them(loss):
    events = []
    model = ONMF(K, loss=loss.name, random_state=0, callback=events.append)
    model.partial_fit(X[:60], sample_weight=np.full(60, 2.0))
    heard = len(events)
    model.partial_fit(X[60:], sample_weight=np.full(60, 2.0))
    assert len(events) == heard + 1
    assert events[-1].stage.relative_error == model.relative_error_
    assert model.ray_weight_.sum() == pytest.approx(240)
    plain = stream_of([X[:60], X[60:]], loss)
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, 1e-6)
