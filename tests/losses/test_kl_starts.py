"""The search under KL: pieces are merged as defined, and the best clustering is found."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from cases import few
from counting import counts_of, left, some
from onmf import ONMF
from onmf.losses import kl_starts
from onmf.losses.kl_starts import find_clusterings
from onmf.losses.profiles import phi


def explained(X, labels, k):
    """By the definition: what one cluster leaves, less what these leave."""
    return left(X, np.zeros(len(X), int), 1) - left(X, labels, k)


def planted(n=300, m=60, k=6, words=25, seed=0):
    rng = np.random.default_rng(seed)
    kinds, labels = rng.dirichlet(np.full(m, 0.1), k), np.arange(n) % k
    return np.array([rng.multinomial(words, kinds[c]) for c in labels]) + 0.0, labels


def test_what_a_clustering_explains_is_by_the_definition():
    X, rng = some(60, 10, 3), np.random.default_rng(0)
    found = kl_starts.moved(counts_of(X), rng.integers(0, 3, 60), 3, 2, rng)
    assert found.explained == pytest.approx(explained(X, found.labels, 3))


def pieces_of(S):
    """Pieces with the sums S as rows."""
    return kl_starts.Pieces.of(S.T, phi(S.T))


def merge_cost(s, t):
    return pieces_of(np.array([s, t])).costs([(0, 1)])[0]


def merge_pieces(S, k):
    return kl_starts.merge_pieces(S.T, phi(S.T), k)


def test_a_merge_costs_what_it_loses():
    X, labels = some(), np.arange(40) % 4
    S = counts_of(X).sums(labels, 4)
    S[:, 3] *= S[:, 3] > 5  # features that only some have
    X[:, 3] *= (S[labels, 3]) > 0
    S = counts_of(X).sums(labels, 4)
    for a, b in combinations(range(4), 2):
        both = np.where(labels == b, a, labels)
        loss = left(X, both, 4) - left(X, labels, 4)
        assert merge_cost(S[a], S[b]) == pytest.approx(loss)
    assert merge_cost(S[0], 3 * S[0]) == pytest.approx(0, abs=1e-9)
    assert merge_cost(S[0], 0 * S[0]) == pytest.approx(0, abs=1e-9)


def test_the_cheapest_pair_is_merged_until_k_are_left():
    X = some(60, 10, 3, 4)
    pieces = np.arange(60) % 6
    S = dict(enumerate(counts_of(X).sums(pieces, 6)))
    parts = {a: {a} for a in S}
    for _ in range(3):  # all pairs, as they are after each merge
        a, b = min(combinations(S, 2), key=lambda ab: merge_cost(S[ab[0]], S[ab[1]]))
        S[a], parts[a] = S[a] + S.pop(b), parts[a] | parts.pop(b)
    found = merge_pieces(counts_of(X).sums(pieces, 6), 3)
    assert {frozenset(np.flatnonzero(found == c)) for c in range(3)} == set(
        map(frozenset, parts.values())
    )


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40])
def test_pieces_are_always_merged_to_k(k):
    rng = np.random.default_rng(k)
    S = rng.poisson(0.3, (2 * k, 30)).astype(float)
    S[: k // 3] = 0  # pieces without rows
    found = merge_pieces(S, k)
    assert set(found) == set(range(k))
    groups = np.repeat(np.eye(2 * k, 30)[: max(k // 8, 1)], 16, axis=0)[: 2 * k]  # far from others
    assert set(merge_pieces(groups + 1e-3, k)) == set(range(k)) or len(groups) < 2 * k


def test_two_clusterings_give_every_row_its_likelier_cluster():
    X, rng = some(50, 12, 3, 2), np.random.default_rng(1)
    counts, one, other = counts_of(X), rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    for labels in (one, other):
        scores = kl_starts.own_scores(counts, labels, 3)
        for i in range(50):
            own = X[labels == labels[i]].sum(axis=0)
            j = X[i] > 0
            assert scores[i] == pytest.approx(X[i, j] @ np.log(own[j] / own.sum()))
    again = kl_starts.combined(counts, one, (one + 1) % 3, 3)  # the same clusters, other numbers
    assert adjusted_rand_score(one, again) == 1


@pytest.mark.parametrize(("seed", "n", "k"), few([(0, 8, 2), (0, 7, 3), (1, 8, 3), (2, 10, 2)], 2))
def test_the_search_finds_the_best_of_all_clusterings(seed, n, k):
    X = some(n, 6, k, seed, 20)
    best = min(left(X, np.array((0, *others)), k) for others in product(range(k), repeat=n - 1))
    found = find_clusterings(counts_of(X), k, np.random.default_rng(0), 4)
    assert left(X, found[-1], k) == pytest.approx(best)


@pytest.mark.parametrize("k", [1, 2, 5, 19, 20])
def test_no_cluster_is_empty(k):
    X = some(20, 12, 4, 1)
    for labels in find_clusterings(counts_of(X), k, np.random.default_rng(k), 3):
        assert set(labels) == set(range(k))


def test_short_planted_rows_are_found():
    X, truth = planted(words=12)
    labels = find_clusterings(counts_of(X), 6, np.random.default_rng(0))[-1]
    assert explained(X, labels, 6) >= explained(X, truth, 6)
    assert adjusted_rand_score(truth, labels) > 0.9


def test_annealing_alone_finds_clear_clusters():
    X, truth = planted(k=4, words=60)
    labels = kl_starts.annealed(counts_of(X), 4, np.random.default_rng(0))
    assert adjusted_rand_score(truth, labels) == 1


def test_annealing_looks_at_some_rows_and_labels_all(monkeypatch):
    X, truth = planted(k=4, words=60)
    X = np.hstack([X, np.eye(300)])  # features of single rows, most of which are not looked at
    monkeypatch.setattr(kl_starts, "ANNEALED_ENTRIES", np.count_nonzero(X) // 3)
    labels = kl_starts.annealed(counts_of(X), 4, np.random.default_rng(0))
    assert adjusted_rand_score(truth, labels) == 1


def test_more_starts_only_add_to_the_list():
    longest = 0
    for seed in range(4):
        X = some(150, 30, 40, seed, 10)  # so many kinds that no two starts end alike
        lists = [
            find_clusterings(counts_of(X), 9, np.random.default_rng(0), n) for n in range(1, 6)
        ]
        assert len(lists[0]) == 1
        longest = max(longest, len(lists[-1]))
        for fewer, more in pairwise(lists):
            assert len(fewer) <= len(more)
            np.testing.assert_array_equal(fewer, more[: len(fewer)])
    assert longest > 1  # on some of the data; on which depends on the rounding


def test_n_init_never_raises_the_divergence():
    X, _ = planted(n=150, k=8, words=6, seed=5)
    errors = [
        ONMF(8, loss="kl", n_init=n, random_state=0).fit(X).relative_error_ for n in (1, 2, 4)
    ]
    assert errors == sorted(errors, reverse=True)


def test_the_search_ends_when_starts_agree(monkeypatch):
    calls, annealed = [], kl_starts.annealed
    monkeypatch.setattr(kl_starts, "annealed", lambda *args: calls.append(0) or annealed(*args))
    X, _ = planted(k=3, words=100)
    find_clusterings(counts_of(X), 3, np.random.default_rng(0))
    assert len(calls) == 1
    calls.clear()
    find_clusterings(counts_of(X), 3, np.random.default_rng(0), 3)  # a number is taken as it is
    assert len(calls) == 2
    calls.clear()
    X, _ = planted(n=150, k=8, words=6, seed=5)
    find_clusterings(counts_of(X), 8, np.random.default_rng(0))
    assert len(calls) > 1


def scripted(monkeypatch, explained):
    """The search among clusterings that explain as much as this, start by start."""
    values, taken = iter(explained), []

    def start(counts, labels, k, rounds, rng):
        taken.append(next(values))
        return kl_starts.Clustering(labels, taken[-1])

    monkeypatch.setattr(kl_starts, "labels_by_roots", lambda *_: "roots")
    monkeypatch.setattr(kl_starts, "annealed", lambda *_: "annealed")
    monkeypatch.setattr(kl_starts, "moved", start)
    monkeypatch.setattr(kl_starts, "combined", lambda *_: "both")
    return taken


@pytest.mark.parametrize(
    ("pairs", "starts"),
    [
        ([(9, 10)] * 20, 6),  # the first, and five that gained nothing
        ([(9, 10), (9, 10), (9, 11), *[(9, 11)] * 20], 9),
        ([(9, 10.004), (9, 10.008), *[(9, 10.008)] * 20], 6),  # little is in vain, too
        ([(9, 20 + i) for i in range(30)], 12),  # no more than twelve
        ([(9, 10), (10.0005, 10)], 3),  # as much as the best: it agrees
    ],
)
def test_starts_end_when_they_agree_or_gain_little(monkeypatch, pairs, starts):
    """Of each pair the first is what a start explains, the second what comes of both."""
    agree = pairs[-1][0] > 10
    script = [10.0, *(value for pair in pairs for value in pair)]
    taken = scripted(monkeypatch, script)
    find_clusterings(counts_of(some()), 3, np.random.default_rng(0))
    assert len(taken) == 1 + 2 * (starts - 1) - agree + 1  # and the moves of the last


@pytest.mark.parametrize(("affordable", "starts"), [(1, 5), (7, 7), (10**9, 12)])
def test_large_data_have_fewer_starts(monkeypatch, affordable, starts):
    counts = counts_of(some())
    taken = scripted(monkeypatch, [10.0, *(float(11 + i) for i in range(99))])
    monkeypatch.setattr(kl_starts, "AFFORDABLE", affordable * counts.X.nnz * 3)
    find_clusterings(counts, 3, np.random.default_rng(0))
    assert len(taken) == 1 + 2 * (starts - 1) + 1


def test_those_better_than_all_before_them_are_returned(monkeypatch):
    script = [1.0, 3, 0, 2, 0, 2, 5, 0, 0, 9, 9, 9]  # the first, pairs, and last moves
    scripted(monkeypatch, script)
    found = find_clusterings(counts_of(some()), 3, np.random.default_rng(0), 5)
    assert len(found) == 3  # 1, 3 and 5
