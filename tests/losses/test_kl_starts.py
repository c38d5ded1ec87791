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


def crossed():
    """Rows of four kinds: 0 and 1 share words, and so do 2 and 3."""
    shared, own = np.repeat(np.eye(2), 2, axis=0), np.eye(4)
    return np.repeat(10 * np.hstack([np.kron(shared, np.ones(3)), own]), 6, axis=0)


def test_two_clusters_are_divided_anew_where_moves_alone_are_stuck():
    X, rng = crossed(), np.random.default_rng(0)
    counts, stuck = counts_of(X), np.repeat([0, 1, 0, 1], 6)
    np.testing.assert_array_equal(kl_starts.moved(counts, stuck, 2, 20, rng).labels, stuck)
    found = kl_starts.improved(counts, stuck, 2, rng)
    assert adjusted_rand_score(found.labels, np.repeat([0, 0, 1, 1], 6)) == 1


def test_improvement_never_explains_less():
    for seed in range(8):
        X, rng = some(80, 12, 5, seed), np.random.default_rng(seed)
        labels = rng.integers(0, 5, 80)
        found = kl_starts.improved(counts_of(X), labels, 5, rng)
        assert explained(X, found.labels, 5) >= explained(X, labels, 5)
        more = kl_starts.improved(counts_of(X), found.labels, 5, rng)
        assert more.explained >= found.explained - 1e-9


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


@pytest.mark.parametrize(
    ("explained", "agrees", "taken"),
    [
        ([10, 10, 10, 10, 10, 10], {}, 4),  # three that gained nothing
        ([10, 10, 10, 11, 11, 11, 11, 11], {}, 7),
        ([10, 10.004, 10.008, 10.012, 10.012, 10.012, 10.012], {}, 7),  # little, thrice, is enough
        ([10, 11, 11, 12], {2}, 3),
        ([10, 11, 12, 13], {}, 4),
    ],
)
def test_starts_end_when_they_gain_little(explained, agrees, taken):
    steps = (kl_starts.Progress(kl_starts.Clustering(np.zeros(1), e), i in agrees)
             for i, e in enumerate(explained))  # fmt: skip
    assert len(list(kl_starts.until_vain(steps))) == taken


def test_large_data_have_fewer_starts(monkeypatch):
    X, _ = planted(n=150, k=8, words=6, seed=5)
    taken = []
    monkeypatch.setattr(
        kl_starts, "islice", lambda starts, most: taken.append(most) or iter([next(starts)])
    )
    for affordable in (1, 5 * np.count_nonzero(X) * 8, 1 << 40):
        monkeypatch.setattr(kl_starts, "AFFORDABLE", affordable)
        find_clusterings(counts_of(X), 8, np.random.default_rng(0))
    assert taken == [kl_starts.FEWEST_STARTS, 5, kl_starts.MOST_STARTS]


def test_records_are_better_than_all_before_them():
    bests = [kl_starts.Clustering(None, value) for value in (1.0, 3, 3, 2, 5)]
    found = kl_starts.records(iter([kl_starts.Progress(best, False) for best in bests]))
    assert [one.best.explained for one in found] == [1, 3, 5]
