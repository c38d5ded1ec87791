"""Starts, the effort for them, rows with outliers and the common part, by loops and definitions."""

from types import SimpleNamespace

import numpy as np
import pytest
from onmf.search.common_part import CommonPart
from onmf.search.outlier_rows import RowsWithOutliers
from onmf.search.path import alternate, draw, spread
from onmf.search.solver import SearchSettings, find_starts

from onmf.palm.penalties import SNCP
from onmf.rows.memory import InMemory
from onmf.rows.sweep import row_sqnorm
from onmf.search import solver
from onmf.search.outliers import Outliers
from onmf.search.row_problems import unit
from onmf.search.sketch import PLAIN, ROBUST


def spread_in_loops(Y, k, rng):
    """Seeds one after the other, or several of one draw: each time the pick that leaves least."""
    whole, seeds, cells = np.square(Y).sum(axis=1), [], np.zeros(len(Y), int)
    best = np.zeros(len(Y))
    while len(seeds) < k:
        batch = min(1 + len(seeds) // 10, k - len(seeds))
        size = 2 + int(np.log(k)) if batch == 1 else 3 * batch
        rays = unit(Y[draw(whole - best, size, rng)])
        for _ in range(batch):
            after = [np.maximum(best, np.maximum(Y @ ray, 0) ** 2) for ray in rays]
            new = after[int(np.argmax([one.sum() for one in after]))]
            cells[new > best * (1 + 1e-9)] = len(seeds)
            seeds.append(new)
            best = new
    return unit(np.array([Y[cells == c].sum(axis=0) for c in range(k)]))


@pytest.mark.parametrize("k", [1, 3, 9, 25])
def test_seeds_are_chosen_greedily_and_prototypes_are_the_means_of_their_cells(k):
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
    assert part.energy == pytest.approx(np.square(Y @ T).sum() / np.square(Y).sum(), rel=1e-6)
    U = np.random.default_rng(1).random((3, 6))
    np.testing.assert_allclose(part.restored(U), U @ np.linalg.inv(T), rtol=1e-6)


def test_nothing_is_common_where_one_cluster_is_asked_for_or_nothing_or_much_is_left():
    assert CommonPart.of(common_rows(), 1) is None
    assert CommonPart.of(common_rows(0.3), 3) is None
    assert CommonPart.of(np.eye(3)[[0, 0, 0]], 2) is None
    assert CommonPart.of(common_rows()[:, :1], 3) is None  # one direction is all there is


def rows_with_outliers(Y, root, whole, count=None):
    facts = np.column_stack(
        [root, np.sqrt(whole) * root, np.ones(len(Y)) if count is None else count]
    )
    return RowsWithOutliers.from_columns(Outliers(share=0.1), np.hstack([Y, facts]))


def test_rows_of_outliers_bring_what_the_sketch_does_not_show():
    rng = np.random.default_rng(0)
    Y, root, whole, count = (
        rng.random((30, 4)),
        rng.uniform(1, 2, 30),
        3 + rng.random(30),
        rng.random(30),
    )
    rows = rows_with_outliers(Y, root, whole, count)
    np.testing.assert_array_equal(rows.Y, Y)
    np.testing.assert_array_equal(rows.root, root)
    np.testing.assert_allclose(rows.whole, whole)
    np.testing.assert_allclose(rows.count, count**2)
    assert rows.outliers.together
    found = alternate(Y, unit(Y[:2]), 3)
    best = np.maximum(Y @ found.U.T, 0).max(axis=1)
    assert rows.left(found) == pytest.approx(1 - (best**2).sum() / np.square(Y).sum())
    limit = Outliers(share=0.1, together=True).limit(whole, best / root, count**2)
    np.testing.assert_allclose(rows.limit(found), limit)


def test_rows_that_cost_more_than_half_of_them_are_shortened_to_that_cost():
    rng = np.random.default_rng(0)
    Y, root = rng.random((31, 4)) * rng.uniform(0.5, 3, (31, 1)), rng.uniform(1, 2, 31)
    rows = rows_with_outliers(Y, root, row_sqnorm(Y) / root**2)
    found = alternate(Y, unit(Y[:2]), 3)
    capped, floor = rows.capped(found), rows.limit(found).floor(rows.whole)
    cost = rows.whole - floor**2
    typical = np.sort(cost)[15]  # of 31
    shrink = np.sqrt(typical / np.maximum(cost, typical))
    assert (shrink < 1).sum() == 15
    np.testing.assert_allclose(capped.Y, Y * shrink[:, None])
    np.testing.assert_allclose(capped.row_sqnorms, row_sqnorm(capped.Y))
    np.testing.assert_allclose(capped.floor, floor * root * shrink)
    even = rows_with_outliers(unit(Y), np.ones(31), np.ones(31))
    alike = even.capped(alternate(even.Y, unit(Y[:2]), 3))
    assert alike.Y is even.Y  # equal costs: nothing to shorten
    np.testing.assert_allclose(
        alike.floor, even.limit(alternate(even.Y, unit(Y[:2]), 3)).floor(1.0)
    )


def test_no_row_to_start_from_is_above_the_median_length():
    Y = np.array([[1.0, 0], [2, 0], [0, 3], [0, 4], [50, 0]])
    rows = rows_with_outliers(Y, np.ones(5), row_sqnorm(Y))
    even, sqnorms = rows.with_limited_length()
    np.testing.assert_allclose(even, [[1, 0], [2, 0], [0, 3], [0, 3], [3, 0]])
    np.testing.assert_allclose(sqnorms, [1, 4, 9, 9, 9])
    few = np.array([[0.0, 0], [0, 0], [0, 0], [0, 4], [50, 0]])  # a median of nothing
    even, sqnorms = rows_with_outliers(few, np.ones(5), row_sqnorm(few)).with_limited_length()
    np.testing.assert_array_equal(even, few)
    np.testing.assert_array_equal(sqnorms, row_sqnorm(few))


@pytest.mark.parametrize(("enough", "max_sweeps", "outliers", "basis", "efforts"), [
    (True, 40, None, None, [PLAIN]),
    (True, 40, Outliers(), None, [ROBUST]),
    (False, 40, None, None, [PLAIN, PLAIN._replace(precise=True)]),
    (False, 40, Outliers(), None, [ROBUST, ROBUST._replace(precise=True)]),
    (False, 7, None, None, [PLAIN, PLAIN._replace(precise=True)]),  # 3 sweeps, and 3 more
    (False, 6, None, None, [PLAIN]),
    (False, 6, None, "basis", [PLAIN, PLAIN._replace(precise=True)]),  # one sweep each
])  # fmt: skip
def test_where_single_precision_is_too_little_there_is_a_second_sketch_if_sweeps_are_left(
    monkeypatch, enough, max_sweeps, outliers, basis, efforts
):
    seen, told = [], []

    class Small(SimpleNamespace):
        def _replace(self, sweeps):
            return Small(**vars(self) | {"sweeps": sweeps})

        def tells_apart(self, U, left):
            return enough

        def lift(self, U, bounds, dtype):
            return U

    def fake_sketch(data, k, rng, most, tell, settings, known):
        seen.append((settings, data.dtype))
        tell(1)
        return Small(sweeps=3, shrunk=None, V=known)

    end = SimpleNamespace(found=SimpleNamespace(U="rays"), left=0.1, limit="limit", path=[])
    monkeypatch.setattr(solver, "sketch", fake_sketch)
    monkeypatch.setattr(solver, "descents", lambda *_: [end])
    settings = SearchSettings(max_sweeps=max_sweeps, outliers=outliers)
    data = InMemory(np.ones((3, 2), np.float32))
    found = find_starts(settings, data, 2, SNCP(), None, tell=told.append, basis=basis)
    assert [effort for effort, _ in seen] == efforts
    assert [kind for _, kind in seen] == [np.float32, np.float64][: len(efforts)]
    assert found.precise == (len(efforts) == 2)
    assert found.small.sweeps == 3 * len(efforts)
    assert told == [1, 4][: len(efforts)]
    assert (found.Ws, found.limit) == (["rays"], "limit")
