"""Moves and swaps under KL gain what their formulas say, and end where the best clustering is."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from cases import few
from onmf.losses import kl_alternation as divergence
from onmf.losses import kl_search as exchange
from onmf.losses.alternation import Settings, finish
from onmf.losses.kl_alternation import CountAlternation
from onmf.losses.kl_search import Counts
from onmf.losses.profiles import MeasureTotals, by_count, by_sample
from onmf.paper.penalties import SNCP
from onmf.result import Recorder
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block
from onmf.search.solver import SearchSettings


def left(X, labels, k):
    """sum_i KL(x_i || t_i S_k / sum(S_k)), sample by sample; S_k from the labels."""
    total = 0.0
    for c in range(k):
        own = X[labels == c]
        if not len(own):
            continue
        shares = own.sum(axis=0) / own.sum()
        for x in own:
            inside = x > 0
            total += (x[inside] * np.log(x[inside] / (x.sum() * shares[inside]))).sum()
    return total


def some(n=40, m=12, k=3, seed=0, size=30):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(m, 0.3), k)
    X = np.array([rng.poisson(rng.integers(5, size) * P[c]) for c in rng.integers(0, k, n)])
    X[:, 0] += 1  # no sample is empty
    return X * rng.uniform(0.5, 2, (n, 1))


def counts_of(X):
    return Counts.of(Block(X, np.ones((len(X), 1))), by_count)


def everywhere(X):
    return np.zeros(len(X), np.int64)


def test_what_clusters_explain_is_what_they_do_not_leave():
    X, labels = some(), np.arange(40) % 3
    whole = left(X, np.zeros(40, int), 1)
    counts = counts_of(X)
    explained = exchange.explained_information(counts.sums(labels, 3)).sum()
    explained -= exchange.explained_information(X.sum(axis=0))
    assert whole - explained == pytest.approx(left(X, labels, 3))
    assert exchange.to_explain(counts) == pytest.approx(whole)


def test_weights_and_votes_are_in_the_counts():
    X, weight = some(), np.random.default_rng(1).uniform(0.5, 2, (40, 1))
    np.testing.assert_allclose(Counts.of(Block(X, weight), by_count).X.toarray(), X * weight)
    votes = Counts.of(Block(sp.csr_array(X), weight), by_sample)
    np.testing.assert_allclose(votes.X.toarray(), weight * X / X.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(votes.totals, weight[:, 0])


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


def test_a_merge_costs_what_its_formula_says():
    X, labels = some(), np.arange(40) % 4
    S = counts_of(X).sums(labels, 4)
    costs = exchange.merge_costs(S, exchange.explained_information(S))
    assert len(costs) == 6
    assert costs == sorted(costs)
    for cost, a, b in costs:
        both = np.where(labels == b, a, labels)
        assert cost == pytest.approx(left(X, both, 4) - left(X, labels, 4))


def test_moves_in_c_are_those_of_numpy(monkeypatch):
    compiled = pytest.importorskip("onmf.losses.kl_kernel", reason="needs the compiled kernels")
    for seed in range(5):
        X = some(150, 20, 4, seed)
        start = np.random.default_rng(seed).integers(0, 4, 150)
        for first, width in ((everywhere(X), 4), (2 * (start // 2), 2)):
            ends = []
            for move_rows in (exchange.move_rows, compiled.shift_rows):
                monkeypatch.setattr(
                    exchange, "compiled_moves", lambda move_rows=move_rows: move_rows
                )
                rng = np.random.default_rng(9)
                ends.append(exchange.exchange_rows(counts_of(X), start, first, width, 6, rng))
            np.testing.assert_array_equal(*ends)
            assert ((ends[0] >= first) & (ends[0] < first + width)).all()


def test_moves_and_swaps_never_lose():
    X, rng = some(120, 15, 6, 3), np.random.default_rng(0)
    counts, labels = counts_of(X), rng.integers(0, 6, 120)
    for _ in range(6):
        moved = exchange.exchange_rows(counts, labels, everywhere(X), 6, 1, rng)
        assert left(X, moved, 6) <= left(X, labels, 6) + 1e-9
        labels = exchange.swap(counts, moved, 6, 0.0, rng)
        if labels is None:
            break
        assert left(X, labels, 6) < left(X, moved, 6)


def test_an_empty_cluster_is_filled_and_a_sample_stays_that_has_nowhere_better_to_go():
    X = some(30)
    start = np.zeros(30, int)  # clusters 1 and 2 are empty
    labels = exchange.exchange_rows(
        counts_of(X), start, everywhere(X), 3, 20, np.random.default_rng(0)
    )
    assert set(labels) == {0, 1, 2}
    twins = np.repeat([[3.0, 1.0], [1.0, 4.0]], 3, axis=0)
    labels = np.repeat([0, 1], 3)
    end = exchange.exchange_rows(
        counts_of(twins), labels, everywhere(twins), 4, 20, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(end, labels)  # a third cluster would explain nothing more


@pytest.mark.parametrize(("seed", "n"), few([(0, 7), (0, 9), (1, 9), (2, 9), (3, 9)]))
def test_the_search_finds_the_best_of_all_clusterings(seed, n):
    X = some(n, 6, 3, seed, 20)
    best = min(left(X, np.array((0, *rest)), 3) for rest in product(range(3), repeat=n - 1))
    ends = [exchange.search(counts_of(X), 3, np.random.default_rng(s)) for s in range(3)]
    assert min(left(X, labels, 3) for labels in ends) == pytest.approx(best)


def test_the_alternation_ends_before_the_divergence_would_rise(monkeypatch):
    monkeypatch.setattr(
        divergence, "SMOOTHING", 0.97
    )  # so much that means are not the best centroids
    rose = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = InMemory(rng.poisson(rng.gamma(0.3, 4, (60, 12))) + np.eye(60, 12))
        _, portrait = data.sweep(MeasureTotals(by_count))
        recorder, W = Recorder(max_sweeps=40), rng.gamma(0.3, 1, (4, 12)) + 1e-3
        settings = Settings(SearchSettings(tol=0.0), SNCP())
        rule = CountAlternation(data, settings, totals=portrait)
        _, end = finish(rule, [W], recorder)
        assert (np.diff([stage.relative_error for stage in recorder.history]) <= 0).all()
        rose += end.settled and rule.after(end) is None
    assert rose > 0  # else nothing was tested
