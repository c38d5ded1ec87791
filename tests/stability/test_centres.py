"""Centroids of given labels against loops over samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.datasets import make_rays
from onmf.rows.memory import InMemory
from onmf.stability.centres import centres


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_centres_are_means_or_leading_singular_vectors(make):
    X, y = make_rays(60, 20, 3, noise=0.5, random_state=0)
    X, labels = np.where(X > 0.6, X, 0), y.copy()
    labels[:5] = -1
    means = centres(InMemory(make(X)), labels, 3, rays=False)
    np.testing.assert_allclose(means, [X[labels == c].mean(axis=0) for c in range(3)])
    rays = centres(InMemory(make(X)), labels, 3, rays=True)
    for c, w in enumerate(rays):
        leading = np.linalg.svd(X[labels == c])[2][0]
        assert abs(leading @ w) / np.linalg.norm(w) == pytest.approx(1, abs=1e-4)
