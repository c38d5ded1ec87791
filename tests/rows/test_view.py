"""A view of rows promises what a place of the changed rows does, wherever the rows are."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.rows.check import Check
from onmf.rows.disk import OnDisk, open_rows
from onmf.rows.memory import InMemory
from onmf.rows.view import View
from onmf.search.starts import Settings
from solving import cluster


@pytest.fixture(params=["dense", "sparse", "disk"])
def rows(request, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (720, 20)) * rng.random((720, 1))
    weight = rng.uniform(1, 2, 720)
    if request.param == "sparse":
        return InMemory(sp.csr_array(X), weight), sp.csr_array(X), weight
    if request.param == "disk":
        np.save(tmp_path / "X.npy", X)
        return OnDisk(open_rows(tmp_path / "X.npy"), weight, Check("test", False, "")), X, weight
    return InMemory(X, weight), X, weight


def test_a_view_is_the_place_of_the_changed_rows(rows):
    place, X, weight = rows
    view, plain = View(place, np.sqrt), InMemory(np.sqrt(X), weight)
    assert view.sqnorm == pytest.approx(plain.sqnorm)
    assert view.mean == pytest.approx(plain.mean)
    assert view.extremes == pytest.approx(plain.extremes)
    np.testing.assert_allclose(view.gather(view.row_sqnorms), plain.gather(plain.row_sqnorms))
    found, theirs = (cluster(Settings(), data, 4, seed=3)[0] for data in (view, plain))
    np.testing.assert_allclose(found.W, theirs.W, rtol=1e-10)
    numbers = np.array([1, 5, 700])
    seen, taken = view.take(numbers), plain.take(numbers)
    assert np.array_equal(seen.weight, taken.weight)
    assert abs(seen.X - taken.X).max() == 0
