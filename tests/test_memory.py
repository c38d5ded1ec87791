"""Sparse data are never made dense, and no temporary has the size of X times k."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.search.sketch import COLUMNS_PER_CLUSTER

FOLDER = os.environ.get("ONMF_DATA")


def peak_of_fit(model, X):
    """Bytes beyond the input at the worst moment of a second fit (the first one compiles)."""
    model.fit(X[:100])
    tracemalloc.start()
    try:
        model.fit(X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def allowed(X, k, starts):
    """1.3 times the input, less the input itself, and 12 (n + m) k R numbers."""
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
    return 0.3 * size + 12 * sum(X.shape) * k * starts * X.dtype.itemsize


@pytest.mark.parametrize(
    ("solver", "starts"),
    [("fast", COLUMNS_PER_CLUSTER), pytest.param("palm", 1, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_a_sparse_fit_stays_within_its_bound(solver, starts, dtype):
    X, _ = make_rays(1500, 20_000, 10, sparsity=0.997, random_state=0, dtype=dtype)
    model = ONMF(10, solver=solver, random_state=0, callback=lambda event: event.sweep >= 8)
    peak = peak_of_fit(model, X)
    assert peak < allowed(X, 10, starts)
    assert peak < X.shape[0] * X.shape[1] * X.dtype.itemsize / 4  # far from dense


@pytest.mark.slow
def test_a_dense_fit_does_not_copy_the_data():
    X = np.random.default_rng(0).random((3000, 1500))
    assert peak_of_fit(ONMF(10, random_state=0), X) < allowed(X, 10, COLUMNS_PER_CLUSTER)
    assert peak_of_fit(ONMF(5, random_state=0), X) < X.nbytes


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(FOLDER is None, reason="ONMF_DATA does not name the folder with TDT2")
@pytest.mark.parametrize(("solver", "starts"), [("fast", COLUMNS_PER_CLUSTER), ("palm", 1)])
def test_tdt2_stays_within_its_bound(solver, starts):
    path = Path(FOLDER) / "tdt2" / "TDT2_all.mat"
    X = sp.csr_array(scipy.io.loadmat(path)["fea"], dtype=np.float64)
    model = ONMF(20, solver=solver, random_state=1, callback=lambda event: event.sweep >= 10)
    assert peak_of_fit(model, X) < allowed(X, 20, starts)
