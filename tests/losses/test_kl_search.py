"""Moves under KL gain what their formula says."""

import numpy as np
import pytest
import scipy.sparse as sp

from counting import counts_of, left, some
from onmf import ONMF
from onmf.losses import kl_alternation as divergence
from onmf.losses import kl_search as exchange
from onmf.losses.kl_alternation import CountAlternation
from onmf.losses.kl_search import Counts, less
from onmf.losses.profiles import explained_information, measure_totals, phi
from onmf.losses.settling import finish
from onmf.result import Recorder
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block
from onmf.search.starts import Settings


def everywhere(X):
    return np.zeros(len(X), np.int64)


def test_what_clusters_explain_is_what_they_do_not_leave():
    X, labels = some(), np.arange(40) % 3
    whole = left(X, np.zeros(40, int), 1)
    counts = counts_of(X)
    explained = explained_information(counts.sums(labels, 3)).sum()
    explained -= explained_information(X.sum(axis=0))
    assert whole - explained == pytest.approx(left(X, labels, 3))


def test_weights_are_in_the_counts():
    X, weight = some(), np.random.default_rng(1).uniform(0.5, 2, (40, 1))
    for make in (np.asarray, sp.csr_array):
        counts = Counts.of(Block(make(X), weight))
        np.testing.assert_allclose(counts.X.toarray(), X * weight)
        np.testing.assert_allclose(counts.totals, (X * weight).sum(axis=1))


def test_a_move_gains_what_its_formula_says():
    X, labels = some(), np.arange(40) % 3
    S = counts_of(X).sums(labels, 3).T.copy()
    for i in (0, 7, 20):
        j = np.flatnonzero(X[i])
        gain = exchange.move_gains(j, X[i, j], X[i].sum(), labels[i], slice(0, 3), S, S.sum(axis=0))
        for c in range(3):
            there = labels.copy()
            there[i] = c
            moved = left(X, labels, 3) - left(X, there, 3)
            assert gain[c] - gain[labels[i]] == pytest.approx(moved, abs=1e-9)


def test_moves_in_c_are_those_of_numpy(monkeypatch):
    compiled = pytest.importorskip("onmf.losses.kl_kernel", reason="needs the compiled kernels")
    for seed in range(5):
        X = some(150, 20, 4, seed)
        start = np.random.default_rng(seed).integers(0, 4, 150)
        for first, width in ((everywhere(X), 4), (2 * (start // 2), 2)):
            ends = []
            for module in (exchange, compiled):
                monkeypatch.setattr(exchange, "kernels", lambda module=module: module)
                rng = np.random.default_rng(9)
                ends.append(exchange.exchange_rows(counts_of(X), start, first, width, 6, rng))
            labels = ends[0].labels
            np.testing.assert_array_equal(labels, ends[1].labels)
            assert ((labels >= first) & (labels < first + width)).all()
            for end in ends:
                S = counts_of(X).sums(labels, end.S.shape[1])
                np.testing.assert_allclose(end.S, S.T, atol=1e-9)
                np.testing.assert_allclose(end.P, phi(S).T, atol=1e-9)


def test_moves_never_lose():
    X, rng = some(120, 15, 6, 3), np.random.default_rng(0)
    counts, labels = counts_of(X), rng.integers(0, 6, 120)
    for _ in range(6):
        moved = exchange.exchange_rows(counts, labels, everywhere(X), 6, 1, rng).labels
        assert left(X, moved, 6) <= left(X, labels, 6) + 1e-9
        labels = moved


def test_an_empty_cluster_is_filled_and_a_sample_stays_that_has_nowhere_better_to_go():
    X = some(30)
    start = np.zeros(30, int)  # clusters 1 and 2 are empty
    labels = exchange.exchange_rows(
        counts_of(X), start, everywhere(X), 3, 20, np.random.default_rng(0)
    ).labels
    assert set(labels) == {0, 1, 2}
    twins = np.repeat([[3.0, 1.0], [1.0, 4.0]], 3, axis=0)
    labels = np.repeat([0, 1], 3)
    end = exchange.exchange_rows(
        counts_of(twins), labels, everywhere(twins), 4, 20, np.random.default_rng(0)
    ).labels
    np.testing.assert_array_equal(end, labels)  # a third cluster would explain nothing more


def test_the_alternation_ends_before_the_divergence_would_rise(monkeypatch):
    monkeypatch.setattr(
        divergence, "SMOOTHING", 0.97
    )  # so much that means are not the best centroids
    rose = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = InMemory(rng.poisson(rng.gamma(0.3, 4, (60, 12))) + np.eye(60, 12))
        _, portrait = data.sweep(measure_totals)
        recorder, W = Recorder(max_sweeps=40), rng.gamma(0.3, 1, (4, 12)) + 1e-3
        rule = CountAlternation(data, Settings(tol=0.0), totals=portrait)
        _, end = finish(rule, [W], recorder)
        assert (np.diff([stage.relative_error for stage in recorder.history]) <= 0).all()
        rose += end.settled and rule.after(end, None) is None
    assert rose > 0  # else nothing was tested


def test_what_is_left_of_a_sum_is_nothing_if_it_is_rounding():
    assert less(3.0, 1.0) == 2
    assert less(1e6 * (1 + 1e-10), 1e6) == 0
    assert less(1.0, 1.0) == less(1.0, 1 + 1e-12) == 0
    assert less(1.5e-6, 1e-6) == pytest.approx(0.5e-6)


def test_profiles_are_as_far_apart_as_the_share_they_do_not_have_in_common():
    W, V = np.array([[3.0, 1, 0], [0, 0, 5]]), np.array([[2.0, 0, 2], [0, 0, 1]])
    assert divergence.profile_distance(W, W) == divergence.profile_distance(W, 7 * W) == 0
    assert divergence.profile_distance(W[:1], W[1:]) == 1
    assert divergence.profile_distance(W, V) == pytest.approx(0.5 / 2)  # a half, and nothing
    assert divergence.profile_distance(W, 0 * W) == 0.5  # no profile at all


def test_a_profile_is_that_of_its_sums_and_a_little_of_the_mean_and_zero_if_empty():
    S, mean, share = np.array([[0.3, 0.1], [0, 0], [6, 2]]), np.array([0.5, 0.5]), 0.01
    small = (1 - share) * np.array([0.75, 0.25]) + share * mean
    assert share == divergence.SMOOTHING
    np.testing.assert_allclose(divergence.mix_in_mean(S, mean), [small, [0, 0], small])
    means = divergence.as_centroids(S, np.array([2.0, 0, 4]), mean)
    np.testing.assert_allclose(means, [0.2 * small, [0, 0], 2 * small])


@pytest.mark.parametrize(("k", "looked_at"), [(2, 20), (3, 24), (9, 40)])
def test_the_roots_of_some_rows_for_each_cluster_are_searched(k, looked_at, monkeypatch):
    monkeypatch.setattr(exchange, "ROOTS", 20)
    monkeypatch.setattr(exchange, "ROOTS_PER_CLUSTER", 8)
    seen, find = [], exchange.find_starts

    def look(settings, data, *others):
        seen.append(data.X.toarray())
        return find(settings, data, *others)

    monkeypatch.setattr(exchange, "find_starts", look)
    X = some()
    labels = exchange.labels_by_roots(counts_of(X), k, np.random.default_rng(0))
    assert labels.shape == (40,)
    (rows,) = seen
    places = [np.flatnonzero(np.isclose(np.sqrt(X), row).all(axis=1)).item() for row in rows]
    assert len(places) == looked_at
    assert (np.diff(places) > 0).all()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_samples_of_one_profile_leave_nothing_to_explain(size):
    rng = np.random.default_rng(0)
    flat = size * np.outer(rng.uniform(1, 9, 30), rng.random(8))
    other = flat * rng.lognormal(0, 0.1, flat.shape)
    for X, error in ((flat, 0), (other, 1)):  # of one cluster for all
        assert ONMF(1, loss="kl").fit(X).relative_error_ == pytest.approx(error)


def count_alternation(X, weight=None):
    data = InMemory(X, weight)
    rows, totals = data.sweep(measure_totals)
    return CountAlternation(data, Settings(), totals=totals, row_totals=rows)


@pytest.mark.parametrize(("entries", "most"), [(400, 40), (4000, 100), (40, 20), (800, 80)])
def test_rows_to_search_have_counts_and_weight_and_are_not_too_many(monkeypatch, entries, most):
    """At most so many entries, ten for each row; fifty rows, here ten, for each of two clusters."""
    monkeypatch.setattr(divergence, "SEARCH_ENTRIES", entries)
    monkeypatch.setattr(divergence, "MIN_SEARCH_ROWS_PER_CLUSTER", 10)
    monkeypatch.setattr(divergence, "SEARCH_ROWS", 100)
    X, weight = np.ones((200, 10)) * np.arange(1, 201)[:, None], np.ones(200)
    X[::20], weight[5::20] = 0, 0
    rule = count_alternation(X, weight)
    rows = rule.rows_to_search(2, np.random.default_rng(0)).X[:, 0]
    assert len(rows) == most
    assert (np.diff(rows) > 0).all()  # none twice, in their order
    assert not set(rows.astype(int) - 1) & {*range(0, 200, 20), *range(5, 200, 20)}
    few = rule.rows_to_search(100, np.random.default_rng(0)).X
    assert len(few) == 180  # all there are


@pytest.mark.parametrize("module", [exchange, None], ids=["numpy", "as installed"])
def test_a_sure_row_is_left_alone_for_two_rounds(module, monkeypatch):
    """A row that is surer than .1 nats a count is not looked at in the next two rounds."""
    if module is not None:
        monkeypatch.setattr(exchange, "kernels", lambda: module)
    X = np.array([[9.0, 1], [8, 2], [1, 9], [2, 8], [5, 5.1]])
    looks = []
    plain = exchange.move_gains

    def noted(j, x, *rest):
        looks.append(float(x[0]))
        return plain(j, x, *rest)

    monkeypatch.setattr(exchange, "move_gains", noted)
    labels, first = np.array([0, 0, 1, 1, 0]), np.zeros(5, int)
    monkeypatch.setattr(exchange, "FEW", -1.0)  # all rounds, also without a move
    end = exchange.exchange_rows(counts_of(X), labels, first, 2, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(end.labels[:4], labels[:4])
    if module is not None:
        assert [looks.count(x) for x in (9.0, 8.0, 1.0, 2.0)] == [2] * 4  # rounds 0 and 3
        assert looks.count(5.0) == 4


def test_moves_are_within_the_clusters_of_a_row():
    X, rng = some(80, 10, 4), np.random.default_rng(0)
    first = 2 * rng.integers(0, 3, 80)
    labels = first + rng.integers(0, 2, 80)
    end = exchange.exchange_rows(counts_of(X), labels, first, 2, 9, rng)
    assert {*(end.labels - first)} == {0, 1}
    for c in range(6):
        np.testing.assert_allclose(end.S[:, c], X[end.labels == c].sum(axis=0))
    whole = left(X, np.zeros(80, int), 1)
    assert end.explained() == pytest.approx(whole - left(X, end.labels, 6))


def test_a_round_that_moves_few_rows_is_the_last_and_rounding_is_no_gain(monkeypatch):
    seen = []

    class Stand:
        def move_rows(self, rows, labels, first, width, shape, order, limits):
            seen.append((limits, shape, sorted(order)))
            return labels, np.ones((12, 3)), np.zeros((12, 3))

    monkeypatch.setattr(exchange, "kernels", Stand)
    X = some(1000)
    labels = np.arange(1000) % 3
    exchange.exchange_rows(counts_of(X), labels, 0 * labels, 3, 7, np.random.default_rng(0))
    (((rounds, few, least), shape, order),) = seen
    assert (rounds, few) == (7, 5)  # half a percent of the rows
    assert least == pytest.approx(1e-9 * X.sum())
    assert shape == (12, 3)
    assert order == list(range(1000))
