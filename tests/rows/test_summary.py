"""A summary of rows is what its definition says, however the rows are cut and put together."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.rows import summary
from onmf.rows.summary import BottomKSampler, two_digits, uniform_hash
from onmf.rows.sweep import Block

N, M, SIZE = 400, 6, 40
RNG = np.random.default_rng(0)
X = RNG.random((N, M)) * RNG.lognormal(0, 1.5, (N, 1))
X[[3, 77]] = 0
WEIGHT = np.where(RNG.random(N) < 0.1, 0, RNG.integers(1, 4, N)).astype(float)


def lot_by_definition(number, seed):
    """SplitMix64, in whole numbers of any size."""
    mask = 2**64 - 1
    z = (
        (seed * 0x9E3779B97F4A7C15 ^ 0x94D049BB133111EB) + (number + 1) * 0x9E3779B97F4A7C15
    ) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (((z ^ (z >> 31)) >> 12) + 0.5) / 2**52


def rows_by_definition(sampler, X, weight):
    """Sort all rows by u / z, take the first of them, and weigh by d / p: numbers and weights."""
    voices = two_digits(np.square(X).sum(axis=1))
    useful = [i for i in range(len(X)) if voices[i] > 0 and weight[i] > 0]
    exact = sum(weight[i] * np.square(X[i]).sum() for i in useful)
    mean = float(two_digits(np.array(exact / sum(weight[i] for i in useful))))
    z = {i: weight[i] * max(mean, voices[i]) for i in useful}
    order = sorted(useful, key=lambda i: lot_by_definition(i, sampler.seed) / z[i])
    if len(order) <= sampler.size:
        return sorted(order), [weight[i] for i in sorted(order)]
    limit = lot_by_definition(order[sampler.size], sampler.seed) / z[order[sampler.size]]
    chosen = sorted(order[: sampler.size])
    return chosen, [weight[i] / min(1, limit * z[i]) for i in chosen]


def drawn(sampler, X, weight, cuts, order=None):
    """The summary of the rows cut like this, the parts added in this order."""
    edges = pairwise([0, *cuts, X.shape[0]])
    parts = [sampler.draw(Block(X[i:j], weight[i:j, None]), i) for i, j in edges]
    total = None
    for part in parts if order is None else (parts[i] for i in order):
        total = part if total is None else total + part
    return total.rows()


def test_lots_are_those_of_splitmix64():
    numbers = np.array([0, 1, 2, 10**9, 2**40])
    for seed in (0, 1, 2**32 - 1):
        expected = [lot_by_definition(int(i), seed) for i in numbers]
        np.testing.assert_array_equal(uniform_hash(numbers, seed), expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("size", [SIZE, 1000])
@pytest.mark.parametrize("cuts", [(), (1, 7, 200, 390), tuple(range(5, N, 5))])
def test_the_rows_are_those_of_the_definition(kind, size, cuts):
    sampler = BottomKSampler(size, 7)
    numbers, weights = rows_by_definition(sampler, X, WEIGHT)
    order = np.random.default_rng(len(cuts)).permutation(len(cuts) + 1)
    found = drawn(sampler, kind(X), WEIGHT, cuts, order)
    rows = found.X.toarray() if sp.issparse(found.X) else found.X
    np.testing.assert_array_equal(rows, X[numbers])
    np.testing.assert_allclose(found.weight[:, 0], weights, rtol=1e-12)


def test_a_sum_leaves_its_parts_as_they_are():
    """A task of Dask may run twice."""
    sampler = BottomKSampler(SIZE)
    a = sampler.draw(Block(X[:200], WEIGHT[:200, None]), 0)
    b = sampler.draw(Block(X[200:], WEIGHT[200:, None]), 200)
    before = a.rows(), b.rows(), a.count, b.count
    once, twice = (a + b).rows(), (a + b).rows()
    for one, other in ((once, twice), (before[0], a.rows()), (before[1], b.rows())):
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.weight, other.weight)
    assert before[2:] == (a.count, b.count)


def test_no_more_than_a_few_rows_are_ever_kept():
    sampler = BottomKSampler(SIZE)
    total = sampler.draw(Block(X, WEIGHT[:, None]), 0)
    for again in range(1, 30):
        total += sampler.draw(Block(X, WEIGHT[:, None]), again * N)
        assert sum(len(part.numbers) for part in total.candidates) <= 3 * (SIZE + 1) + N
    assert total.rows().X.shape == (SIZE, M)
    assert total.count == 30 * np.sum(X.any(axis=1) & (WEIGHT > 0))


def test_long_dense_rows_are_fewer(monkeypatch):
    for most, kept in ((240, 40), (120, 20), (1, 4)):
        monkeypatch.setattr(summary, "MAX_SUMMARY_ENTRIES", most)
        assert drawn(BottomKSampler(SIZE), X, WEIGHT, (100,)).X.shape == (kept, M)
        assert drawn(BottomKSampler(SIZE), sp.csr_array(X), WEIGHT, (100,)).X.shape == (SIZE, M)


def test_sums_over_the_summary_are_unbiased():
    """Of the energy, and of what two rays explain: 300 draws against the whole."""
    rays = np.eye(M)[:2]
    explained = np.square(X @ rays.T).max(axis=1)
    facts = np.stack([np.square(X).sum(axis=1), explained, X.any(axis=1)], axis=1)
    whole = WEIGHT @ facts
    found = []
    for seed in range(300):
        rows = drawn(BottomKSampler(SIZE, seed), X, WEIGHT, ())
        sqnorms = np.square(rows.X).sum(axis=1)
        own = np.stack([sqnorms, np.square(rows.X @ rays.T).max(axis=1), sqnorms > 0], axis=1)
        found.append(rows.weight[:, 0] @ own)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - whole) < 4 * error).all()
    assert (np.std(found, axis=0)[:2] < 2 * whole[:2] / np.sqrt(SIZE)).all()  # sqrt(2 / s) ||X||^2
