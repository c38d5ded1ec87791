"""Seeds, the common part and the second sketch, by loops and definitions."""

from types import SimpleNamespace

import numpy as np
import pytest

from onmf.rows.memory import InMemory
from onmf.rows.sweep import row_sqnorm
from onmf.search import starts
from onmf.search.numpy_kernels import unit
from onmf.search.outliers import Outliers
from onmf.search.rays import draw, spread
from onmf.search.sketch import CommonPart
from onmf.search.starts import Settings, find_starts


def spread_in_loops(Y, k, rng):
    """Seeds one after the other, by chance in proportion to what is left of each row."""
    left, cells = np.square(Y).sum(axis=1), np.zeros(len(Y), int)
    whole = left.copy()
    for c in range(k):
        ray = unit(Y[draw(left, 1, rng)])[0]
        after = np.minimum(left, whole - np.maximum(Y @ ray, 0) ** 2)
        cells[after < left - 1e-9 * whole] = c
        left = np.maximum(after, 0)
    return unit(np.array([Y[cells == c].sum(axis=0) for c in range(k)]))


@pytest.mark.parametrize("k", [1, 3, 9, 25])
def test_seeds_are_drawn_by_what_is_left_and_rays_are_the_means_of_their_cells(k):
    Y = np.random.default_rng(0).gamma(0.5, size=(200, 8))
    found = spread(Y, row_sqnorm(Y), k, np.random.default_rng(1))
    expected = spread_in_loops(Y, k, np.random.default_rng(1))
    some = expected.any(axis=1)  # a cell may have lost all of its rows
    np.testing.assert_allclose(found[some], expected[some], atol=1e-9)


def common_rows(share=1e-6):
    rng = np.random.default_rng(0)
    return rng.uniform(1, 2, (60, 1)) @ rng.random((1, 6)) + share * rng.standard_normal((60, 6))


def test_the_common_part_is_that_of_the_leading_directions():
    Y = common_rows()
    part = CommonPart.of(Y, 3)
    leading = np.linalg.svd(Y)[2][:1]
    assert part.L.shape == (6, 1)
    np.testing.assert_allclose(np.abs(leading @ part.L), 1)
    rest = Y - Y @ part.L @ part.L.T
    factor = 10 * np.linalg.norm(rest) / np.linalg.norm(Y @ part.L)
    np.testing.assert_allclose(part.factors, factor, rtol=1e-6)
    T = np.eye(6) - (1 - factor) * part.L @ part.L.T
    np.testing.assert_allclose(part.removed(Y), Y @ T, atol=1e-12)
    U = np.random.default_rng(1).random((3, 6))
    np.testing.assert_allclose(part.restored(U), U @ np.linalg.inv(T), rtol=1e-6)


def test_nothing_is_common_where_one_cluster_is_asked_for_or_nothing_or_much_is_left():
    assert CommonPart.of(common_rows(), 1) is None
    assert CommonPart.of(common_rows(0.3), 3) is None
    assert CommonPart.of(np.eye(3)[[0, 0, 0]], 2) is None
    assert CommonPart.of(common_rows()[:, :1], 3) is None  # one direction is all there is


@pytest.mark.parametrize(
    ("enough", "max_sweeps", "outliers", "basis", "sketches"),
    [
        (True, 40, None, None, 1),
        (False, 40, None, None, 2),
        (False, 40, Outliers(), None, 2),
        (False, 7, None, None, 2),  # 3 sweeps, and 3 more
        (False, 6, None, None, 1),
        (False, 6, None, "basis", 2),  # one sweep each
    ],
)
def test_where_single_precision_is_too_little_there_is_a_second_sketch_if_sweeps_are_left(
    monkeypatch, enough, max_sweeps, outliers, basis, sketches
):
    seen, told = [], []

    class Small(SimpleNamespace):
        def _replace(self, sweeps):
            return Small(**vars(self) | {"sweeps": sweeps})

        def tells_apart(self, U):
            return enough

        def lift(self, U, signed, dtype):
            return U

    def fake_sketch(data, k, rng, most, tell, *, robust, precise, basis):
        seen.append((robust, precise, data.dtype))
        tell(1)
        return Small(sweeps=3, Y="rows", V=basis, precise=precise)

    monkeypatch.setattr(starts, "sketch", fake_sketch)
    monkeypatch.setattr(starts, "with_samples", lambda data, small: "rows")
    monkeypatch.setattr(starts, "explore", lambda *_: [SimpleNamespace(U="rays")])
    settings = Settings(max_sweeps=max_sweeps, outliers=outliers)
    data, robust = InMemory(np.ones((3, 2), np.float32)), outliers is not None
    Ws, small = find_starts(settings, data, 2, None, tell=told.append, basis=basis)
    assert seen == [(robust, False, np.float32), (robust, True, np.float64)][:sketches]
    assert small.precise == (sketches == 2)
    assert small.sweeps == 3 * sketches
    assert told == [1, 4][:sketches]
    assert Ws == ["rays"]
