"""Explanations of fitted models: from any place, for any kind of labels, or one sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cases import few
from onmf import ONMF, explain
from onmf.datasets import make_rays
from onmf.explain.explanation import clusters_or_none
from onmf.rows.memory import InMemory


@pytest.fixture(scope="module")
def fitted():
    X, _ = make_rays(150, 60, 3, random_state=1)
    X *= np.random.default_rng(0).random(X.shape) < 0.8
    return ONMF(3, random_state=0).fit(X), X


def same(one, other):
    np.testing.assert_array_equal(one.markers.order[:, :5], other.markers.order[:, :5])
    for a, b in zip(one.markers.facts, other.markers.facts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.markers.p_value, other.markers.p_value, rtol=1e-6, atol=1e-300)
    np.testing.assert_allclose(one.certainty, other.certainty, rtol=1e-6)


def test_every_place_for_the_rows_tells_the_same(fitted, tmp_path):
    model, X = fitted
    expected = explain.clusters(model, X)
    np.save(tmp_path / "x.npy", X)
    same(explain.clusters(model, sp.csr_array(X)), expected)
    same(explain.clusters(model, tmp_path / "x.npy"), expected)


def test_a_single_cluster_has_no_explanation(fitted):
    model, X = fitted
    same(clusters_or_none(model, X, log_base=2), explain.clusters(model, X, log_base=2))
    assert clusters_or_none(ONMF(1, random_state=0).fit(X), X) is None


@pytest.mark.parametrize("parameters", few([{}, {"loss": "kl"}]))
def test_x_is_read_once_after_it_was_checked(fitted, parameters, monkeypatch, tmp_path):
    _, X = fitted
    np.save(tmp_path / "x.npy", X)
    for data in (X, tmp_path / "x.npy", np.where(X == X[3, 7], np.nan, X))[
        : 2 if parameters else 3
    ]:
        model, reads = ONMF(3, random_state=0, **parameters).fit(data), []
        sweep = InMemory.sweep

        def count(self, move, rows=None, reads=reads, sweep=sweep):
            reads.append(move) if self.shape == X.shape else None
            return sweep(self, move, rows)

        monkeypatch.setattr(InMemory, "sweep", count)
        explain.clusters(model, data)
        monkeypatch.undo()
        assert len(reads) == 2, data  # the norms, with which X on disk is checked, and all else


@pytest.mark.slow
def test_rows_on_dask_tell_the_same(fitted):
    array = pytest.importorskip("dask.array")
    model, X = fitted
    same(explain.clusters(model, array.from_array(X, chunks=(40, 60))), explain.clusters(model, X))


def test_the_table_of_a_model_is_that_of_its_labels_but_for_the_p_values(fitted):
    model, X = fitted
    ours, plain = explain.clusters(model, X).markers, explain.groups(model.labels_, X)
    for a, b in zip(ours.facts, plain.facts, strict=True):
        np.testing.assert_allclose(a, b)
    assert (ours.p_value != plain.p_value).any()


def null(seed, n=400, m=150):
    rng = np.random.default_rng(seed)
    return np.log1p(rng.lognormal(1, 1, m) * rng.lognormal(0, 0.5, (n, m)))


def test_where_there_is_nothing_no_more_features_are_significant_than_should_be():
    """Clusters cut by force out of one: the naive test finds a quarter of all features."""
    honest, naive = [], []
    for seed in range(4):
        X = null(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ONMF(3, random_state=seed).fit(X)
        honest.append(np.mean(explain.clusters(model, X, splits=1).markers.p_value < 0.05))
        naive.append(np.mean(explain.groups(model.labels_, X).p_value < 0.05))
    assert np.mean(honest) < 0.07
    assert np.mean(naive) > 0.2


def test_clusters_cut_by_force_are_not_certain_and_planted_ones_are(fitted):
    X = null(9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forced = ONMF(2, random_state=0).fit(X)
    assert np.median(explain.clusters(forced, X).certainty) < 0.6
    assert np.median(explain.clusters(*fitted).certainty) > 0.95


def test_planted_features_come_first_in_every_cluster():
    rng = np.random.default_rng(3)
    level, y = rng.lognormal(3, 1.5, 500), np.arange(120) % 4
    planted = rng.permutation(500)[:80].reshape(4, 20)
    rates = np.tile(level, (120, 1))
    for k in range(4):
        rates[np.ix_(y == k, planted[k])] *= 3
    X = np.log2(1 + rng.poisson(rates * rng.gamma(10, 0.1, rates.shape)))
    model = ONMF(4, random_state=0).fit(X)
    tops = explain.clusters(model, X, log_base=2).markers.numbers(10)
    for k in range(4):
        cluster = np.bincount(model.labels_[y == k]).argmax()
        assert np.isin(tops[cluster], planted[k]).mean() >= 0.9


def test_a_sample_without_a_cluster_has_no_certainty_and_counts_nowhere(fitted):
    X = fitted[1].copy()
    X[3] = 0
    with pytest.warns(UserWarning, match="label -1"):
        model = ONMF(3, random_state=0).fit(X)
    found = explain.clusters(model, X)
    assert found.certainty[3] == 0
    assert (found.certainty[np.arange(150) != 3] > 0).all()
    assert found.markers.sizes.sum() == 149


def test_names_come_from_the_frame_the_model_or_the_caller(fitted):
    _, X = fitted
    genes = [f"g{j}" for j in range(60)]
    frame = pd.DataFrame(X, columns=genes)
    model = ONMF(3, random_state=0).fit(frame)
    assert explain.clusters(model, frame).markers.features == genes
    assert explain.groups(model.labels_, frame).features == genes
    assert explain.groups(model.labels_, X).features[:2] == ["x0", "x1"]
    doubled = explain.groups(model.labels_, X, feature_names=["same"] * 60)
    assert doubled.top(2)[0] == ["same", "same"]
    with pytest.raises(ValueError, match="2 names for 60 features: give one for each"):
        explain.groups(model.labels_, X, feature_names=["a", "b"])


def test_labels_may_be_names_and_some_may_be_missing():
    X = [[3.0, 0], [2, 1], [0, 4], [1, 3], [9, 9], [9, 9]]
    table = explain.groups(["b", "b", "a", "a", None, ""], X)
    assert table.clusters == ["a", "b"]
    assert table.sizes.tolist() == [2, 2]
    assert table.top(1) == [["x1"], ["x0"]]
    assert explain.groups([7, 7, 2, 2, -1, np.nan], X).clusters == [2, 7]
    assert set(table.frame(1).columns) == set(explain.Marker._fields)


def test_an_empty_cluster_has_no_rows():
    X = np.array([[3.0, 0], [2, 1], [0, 4], [1, 3]])
    table = explain.groups([0, 0, 1, 1], X, sample_weight=[1, 1, 1, 1])
    assert {row.cluster for row in table.rows()} == {0, 1}
    lost = explain.groups([0, 0, 1, 2], X, sample_weight=[1, 1, 1, 0])
    assert {row.cluster for row in lost.rows()} == {0, 1}
    assert lost.top(2)[2] == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 0], "X has 4 samples but there are 3 labels"),
        ([0, 0, 0, 0], "only one cluster has samples"),
        ([0, 0, -1, -1], "only one cluster has samples"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused_in_one_sentence(labels, message):
    with pytest.raises(ValueError, match=message):
        explain.groups(labels, np.ones((4, 2)))


def test_another_x_than_the_fitted_one_is_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="X has 149 samples but the model was fitted to 150"):
        explain.clusters(model, X[:-1])
    with pytest.raises(ValueError, match="X has 59 features but the model was fitted to 60"):
        explain.clusters(model, X[:, :-1])
    with pytest.raises(ValueError, match="have another cluster than in the model"):
        explain.clusters(model, X[::-1])


def test_a_cluster_is_named_by_its_two_most_distinctive_features(fitted):
    markers = explain.clusters(*fitted).markers
    assert markers.names == [", ".join(top) for top in markers.top(2)]
