"""The picture keeps what it must: the leading directions, the weights, every score in its span."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf.rows import memory as blocks
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block
from onmf.search import sketch as module
from onmf.search.sketch import (
    CommonPart,
    Sketch,
    SubspaceStep,
    damping,
    orthonormal,
    sample,
    sketch,
)


def picture(X, weight=None, k=1, seed=0, max_sweeps=40):
    told = []
    small = sketch(InMemory(X, weight), k, np.random.default_rng(seed), max_sweeps, told.append)
    assert told == list(range(1, small.sweeps + 1))
    return small


@pytest.fixture
def low_rank():
    rng = np.random.default_rng(0)
    return rng.random((90, 6)) @ rng.random((6, 200))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_data_of_low_rank_lose_nothing(low_rank, make):
    small = picture(make(low_rank))
    np.testing.assert_allclose(small.V.T @ small.V, np.eye(small.V.shape[1]), atol=1e-6)
    # The basis is found in single precision.
    np.testing.assert_allclose(small.Y @ small.V.T, low_rank, atol=1e-5)
    assert small.sweeps == 3


def test_scores_of_lifted_rays_are_scores_in_the_picture(low_rank):
    small = picture(low_rank)
    U = np.random.default_rng(1).random((3, small.Y.shape[1]))
    np.testing.assert_allclose(low_rank @ small.lift(U, True, float).T, small.Y @ U.T, rtol=1e-8)
    np.testing.assert_allclose(small.lower(small.lift(U, True, float)), U, atol=1e-5)


def test_the_leading_directions_of_noisy_data_are_found(low_rank):
    X = low_rank + 0.1 * np.random.default_rng(1).random(low_rank.shape)
    small = picture(X)
    leading = np.linalg.svd(X)[2][:1]
    np.testing.assert_allclose(np.linalg.norm(leading @ small.V, axis=1), 1, atol=1e-6)


def test_one_enormous_sample_does_not_hide_the_others(low_rank):
    X = low_rank.copy()
    X[7] = 1e6 * np.random.default_rng(2).random(200)
    for dtype in (np.float64, np.float32):
        small = picture(X.astype(dtype))
        rest = np.delete(X, 7, axis=0)
        np.testing.assert_allclose(rest @ small.V @ small.V.T, rest, atol=0.05)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1.0, 1e60, 1e-60])
def test_leading_directions_are_magnified_whatever_the_size_of_the_entries(low_rank, make, size):
    """X'DXV by its definition; squares of such entries are no numbers in single precision."""
    X, V = low_rank * (low_rank > 0.8), np.random.default_rng(1).normal(size=(200, 3))
    weight, damp = np.arange(90) % 4.0, np.linspace(0.1, 1, 90)
    scale = 1 / (size * np.linalg.norm(X))
    move = SubspaceStep(V.astype(np.float32), scale)
    _, image = move(Block(make(size * X), weight[:, None]), damp)
    expected = (X * (weight * damp)[:, None]).T @ (X @ V) / np.linalg.norm(X) ** 2
    np.testing.assert_allclose(image.cross, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("size", [1e-3, -1.0, -1e250, 1e-250])
def test_the_span_is_that_of_the_columns_whatever_their_size_and_sign(size):
    B = np.random.default_rng(0).random((40, 5))
    Q = orthonormal(size * B)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(Q @ (Q.T @ B), B, atol=1e-10)


def test_single_precision_is_enough_unless_little_is_left_and_rays_are_near():
    far, near = np.eye(2), np.array([[1.0, 0], [1, 0.01]])  # 1 - cosine is 5e-5
    on_ray, off_ray = np.array([[1.0, 0, 1e-3]]), np.array([[1.0, 0, 0.04]])
    far, near = (np.pad(U, ((0, 0), (0, 1))) for U in (far, near))
    whole = Sketch(None, on_ray, 1.0, 1, None)
    assert whole.tells_apart(far)
    assert not whole.tells_apart(near)
    assert not whole.tells_apart(3 * near)
    assert whole._replace(Y=off_ray).tells_apart(near)
    assert whole._replace(share=0.99).tells_apart(near)  # the basis leaves more


def test_the_common_part_of_rows_is_shrunk_and_scores_stay():
    rng = np.random.default_rng(0)
    Y = np.outer(rng.uniform(1, 2, 50), [3.0, 4, 0, 0]) + 1e-4 * rng.normal(size=(50, 4))
    common = CommonPart.of(Y, 3)
    assert common.L.shape[1] == 1
    np.testing.assert_allclose(np.abs(common.L[:, 0]), [0.6, 0.8, 0, 0], atol=1e-4)
    less, U = common.removed(Y), rng.random((2, 4))
    np.testing.assert_allclose(less @ common.restored(U).T, Y @ U.T, rtol=1e-8)
    along = less @ common.L
    rest = less - along @ common.L.T
    assert np.linalg.norm(along) == pytest.approx(10 * np.linalg.norm(rest))  # in units of the rest
    assert CommonPart.of(Y, 1) is None  # one ray has nothing to tell apart
    assert CommonPart.of(rng.random((50, 4)), 3) is None
    assert CommonPart.of(np.outer(np.ones(9), [3.0, 0]), 2) is None  # nothing else is there


@pytest.mark.parametrize("heavy", [2.0, 100.0])
def test_samples_of_much_energy_count_as_if_they_had_less(heavy):
    """At most `heavy` times the median of those that have any."""
    X = np.diag([0.0, 1, 2, 3, 30, 1e9])
    energy = np.square(X.sum(axis=1))
    most = heavy * np.median(energy[1:])
    data = InMemory(X)
    factors = data.gather(damping(data, heavy))
    np.testing.assert_allclose(factors * energy, np.minimum(energy, most), rtol=1e-9)


def test_no_sample_vanishes_beside_an_enormous_one():
    X = np.diag([1e-20, 1e-20, 1e10])
    data = InMemory(X)
    energy = data.gather(damping(data)) * np.square(X.sum(axis=1))
    assert energy[2] == pytest.approx(1e-30 * 1e20)  # a share of 1e-30, not 1e4 times the median
    np.testing.assert_allclose(energy[:2], 1e-40)


def test_which_samples_are_looked_at_does_not_depend_on_how_they_are_cut(low_rank, monkeypatch):
    low_rank[::3] = 0
    monkeypatch.setattr(module, "MAX_SKETCH_ROWS", 25)
    seen = []
    for entries in (200 * 7, 200 * 90):
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        monkeypatch.setattr(blocks, "MIN_BLOCK_ROWS", 1)
        data = InMemory(low_rank)
        seen.append(data.gather(sample(data, np.random.default_rng(0))))
    np.testing.assert_array_equal(*seen)
    assert seen[0].sum() == 25
    assert not seen[0][::3].any()
    monkeypatch.setattr(module, "MAX_SKETCH_ROWS", 60)
    np.testing.assert_array_equal(np.flatnonzero(~data.gather(sample(data, None))) % 3, 0)
