"""Confidence and distance are what they are said to be."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.core.memory import InMemory
from onmf.estimators.certainty import certainty


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_confidence_and_distance_by_hand(make, dtype):
    # Cosines with (1, 0) and (0, 1): (2, 1) / sqrt 5, twice 1 / sqrt 2, (1, 0), none, (-1, 1).
    X = make(np.array([[2, 1], [3, 3], [5, 0], [0, 0], [-7, 7]], dtype=dtype))
    W = np.array([[4, 0], [0, 0.5]], dtype=dtype)
    confidence, distance = certainty(InMemory(X), W)
    assert confidence == pytest.approx([3 / 4, 0, 1, 0, 1], abs=1e-6)
    assert distance == pytest.approx([np.sqrt(1 / 5), np.sqrt(1 / 2), 0, 1, np.sqrt(1 / 2)])
    assert confidence.dtype == distance.dtype == np.float64


def test_a_single_cluster_is_certain_of_what_it_explains():
    confidence, distance = certainty(InMemory(np.array([[3.0, 4], [0, 1], [0, 0]])), np.eye(1, 2))
    assert confidence.tolist() == [1, 0, 0]
    assert distance == pytest.approx([4 / 5, 1, 1])
