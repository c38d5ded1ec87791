"""What a place for rows promises: every row once, in order, without copies, in the same bits."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.rows import memory as blocks
from onmf.rows.memory import InMemory, add_stats
from onmf.rows.sweep import row_sqnorm


class Sum(NamedTuple):
    cross: np.ndarray
    count: int


def test_sum_reuses_the_first_and_leaves_the_second_alone():
    a, b = Sum(np.ones(2), 1), Sum(np.ones(2), 2)
    total = add_stats(a, b)
    assert total.cross is a.cross
    assert (total.cross.tolist(), total.count, b.cross.tolist()) == ([2, 2], 3, [1, 1])


@pytest.mark.parametrize("entries", [1, 50, 10**9])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_every_row_once_in_order(entries, make, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
    monkeypatch.setattr(blocks, "MIN_BLOCK_ROWS", 1)
    X = np.random.default_rng(0).random((37, 5)) * (np.arange(37) % 4 > 0)[:, None]
    data = InMemory(make(X), n_threads=2)

    def move(block, rows):
        dense = block.X.toarray() if sp.issparse(block.X) else block.X
        return dense, Sum(dense.sum(axis=0), len(dense))

    rows, total = data.sweep(move)
    np.testing.assert_array_equal(data.gather(rows), X)
    np.testing.assert_allclose(total.cross, X.sum(axis=0))
    assert total.count == 37
    assert data.sqnorm == pytest.approx(np.sum(X**2))
    assert data.mean == pytest.approx(X.mean())
    H = np.arange(74.0).reshape(37, 2)
    np.testing.assert_array_equal(data.gather(data.scatter(H)), H)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_blocks_are_views(make):
    X = make(np.random.default_rng(0).random((4000, 100)))
    data = InMemory(X)
    wide = data.with_larger_blocks()
    assert len(wide.first) <= len(data.first)
    np.testing.assert_array_equal(wide.gather(wide.row_sqnorms), data.gather(data.row_sqnorms))
    whole = X.data if sp.issparse(X) else X
    blocks = [block for group in data.groups for _, block in group]
    assert len(blocks) > 1
    for block in blocks:
        part = block.X.data if sp.issparse(block.X) else block.X
        assert np.shares_memory(part, whole)
    assert all(i < j for i, j in pairwise(data.cuts))


def test_row_norms_of_sparse_rows_with_and_without_entries():
    X = np.array([[0.0, 0, 0], [3, 0, 4], [0, 0, 0], [1, 2, 2], [0, 0, 0]])
    np.testing.assert_allclose(row_sqnorm(sp.csr_array(X)), [0, 25, 0, 9, 0])
    np.testing.assert_allclose(row_sqnorm(X), [0, 25, 0, 9, 0])
    np.testing.assert_allclose(row_sqnorm(sp.csr_array((3, 4))), np.zeros(3))
