"""Margin and distance are what they are said to be."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.rows.assign import Rays, nearness
from onmf.rows.memory import InMemory


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_margin_and_distance_by_hand(make, dtype):
    # Cosines with (1, 0) and (0, 1): (2, 1) / sqrt 5, twice 1 / sqrt 2, (1, 0), none, (-1, 1).
    X = make(np.array([[2, 1], [3, 3], [5, 0], [0, 0], [-7, 7]], dtype=dtype))
    W = np.array([[4, 0], [0, 0.5]], dtype=dtype)
    margin, distance = nearness(InMemory(X), Rays.of(W))
    assert margin == pytest.approx([1 / np.sqrt(5), 0, 1, 0, np.sqrt(1 / 2)], abs=1e-6)
    assert distance == pytest.approx([np.sqrt(1 / 5), np.sqrt(1 / 2), 0, 1, np.sqrt(1 / 2)])
    assert margin.dtype == distance.dtype == np.float64


def test_a_single_cluster_has_nothing_beside_it():
    margin, distance = nearness(
        InMemory(np.array([[3.0, 4], [0, 1], [0, 0]])), Rays.of(np.eye(1, 2))
    )
    assert margin == pytest.approx([3 / 5, 0, 0])
    assert distance == pytest.approx([4 / 5, 1, 1])
