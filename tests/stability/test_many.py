"""Many clusterings at once: each what it would be alone, at a fraction of the readings."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from cases import few
from onmf import ONMF
from onmf.datasets import make_rays
from onmf.losses.alternation import settle
from onmf.paper.palm import NON_NEGATIVE
from onmf.paper.penalties import SNCP
from onmf.rows.memory import InMemory
from onmf.search.sketch import sketch
from onmf.search.solver import SearchSettings
from onmf.stability.many import AssignAll, Attempt, Many, narrowed, settle_together, turned
from solving import ray_alternation

MAKE = pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
RUNS = [Attempt(k, seed) for k in (1, 3, 6) for seed in (0, 1)]


def some_data(m=80, sparsity=0.0):
    return make_rays(400, m, 6, noise=0.8, imbalance=4, sparsity=sparsity, random_state=0)[0]


class Counting(InMemory):
    sweeps = 0

    def sweep(self, move, rows=None):
        self.sweeps += 1
        return super().sweep(move, rows)


def many(data, n_threads=1):
    return Many(SearchSettings(n_threads=n_threads), data, 6, SNCP(), seed=0)


@pytest.mark.parametrize("m", few([5, 80, 40], 2))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_run_ends_at_a_fixed_point_of_the_exact_alternation(m, dtype):
    X = some_data(m).astype(dtype)
    data = InMemory(X)
    maker = many(data)
    for run, found in zip(RUNS, maker(RUNS), strict=True):
        assert found.converged
        rays = [np.linalg.svd(X[found.labels == c])[2][0] for c in range(run.k)]
        scores = np.abs(X @ np.array(rays).T)
        np.testing.assert_array_equal(scores.argmax(axis=1), found.labels)
        np.testing.assert_allclose(scores.max(axis=1), found.scores, rtol=1e-3)
        error = 1 - np.sum(scores.max(axis=1).astype(float) ** 2) / np.sum(X.astype(float) ** 2)
        assert found.relative_error == pytest.approx(error, rel=1e-4)


@pytest.mark.parametrize("sparsity", [0.0, 0.9])
def test_a_run_does_not_depend_on_its_company_or_the_number_of_threads(sparsity):
    data = InMemory(some_data(sparsity=sparsity))
    maker = many(data)
    in_company = maker(RUNS)
    for run, found in zip(RUNS, in_company, strict=True):
        (alone,) = maker([run])
        np.testing.assert_array_equal(alone.labels, found.labels)
    for found, other in zip(in_company, many(data, n_threads=3)(RUNS), strict=True):
        np.testing.assert_array_equal(found.labels, other.labels)


def test_every_run_begins_at_its_own_seed():
    """On noise, where starts decide, runs of other seeds differ, and those of one seed do not."""
    data = InMemory(np.random.default_rng(0).random((300, 40)))
    seeds = [0, 1, 2, 3, 0]
    runs = [end.labels for end in many(data)([Attempt(6, seed) for seed in seeds])]
    np.testing.assert_array_equal(runs[0], runs[4])
    for a, b in combinations(runs[:4], 2):
        assert adjusted_rand_score(a, b) < 0.9


def test_a_run_is_as_good_as_a_fit():
    X = some_data()
    runs = [Attempt(6, seed) for seed in range(5)]
    found = [end.relative_error for end in many(InMemory(X))(runs)]
    own = [ONMF(6, random_state=seed).fit(X).relative_error_ for seed in range(5)]
    assert np.mean(found) <= np.mean(own) * 1.002


def test_runs_share_every_reading():
    data = Counting(some_data())
    maker, begin = many(data), data.sweeps
    alone = []
    for run in RUNS:
        before = data.sweeps
        maker([run])
        alone.append(data.sweeps - before)
    before = data.sweeps
    maker(RUNS)
    assert data.sweeps - before == max(alone) < sum(alone)
    assert begin <= 4  # the norms, and the sketch


@pytest.mark.parametrize("m", [20, 300])
def test_a_turned_sketch_has_its_strongest_directions_first(m):
    X = some_data(m)
    small = sketch(InMemory(X), 6, np.random.default_rng(0), 40, lambda sweeps: None)
    ordered = turned(small)
    np.testing.assert_allclose(ordered.Y, X @ ordered.V, atol=1e-10)
    np.testing.assert_allclose(ordered.V.T @ ordered.V, np.eye(ordered.V.shape[1]), atol=1e-10)
    sqnorms = np.square(ordered.Y).sum(axis=0)
    assert (np.diff(sqnorms) <= 1e-9 * sqnorms[0]).all()
    singular = np.linalg.svd(X, compute_uv=False)[0] ** 2
    assert sqnorms[0] == pytest.approx(singular, rel=1e-6)
    assert narrowed(ordered, 2).Y.shape[1] == min(4 * 2 + 20, m)


@MAKE
def test_alternations_together_are_those_apart(make):
    X = some_data()
    data = InMemory(make(X))
    starts = [X[:3], X[10:15], X[20:26]]
    ends = settle_together(data, starts, NON_NEGATIVE, 1e-9, 100)
    for W, end in zip(starts, ends, strict=True):
        own = settle(ray_alternation(data, 1e-9), W, 100)
        np.testing.assert_array_equal(end.labels(data), own.labels(data))
        np.testing.assert_allclose(end.W, own.W, atol=1e-8)


@MAKE
def test_a_sample_without_a_cluster_here_keeps_its_cluster_there(make):
    """Label -1 points to the last column of the clustering before if one is careless."""
    X = np.array([[1.0, 0, 0], [0, 2, 0], [0, 3, 1], [0, 0, 4]])
    first, second = X[:2], X[3:]  # samples 0 and 1 share no feature with the second's ray
    data = InMemory(make(X))
    move = AssignAll.of([first, second])
    rows, cells = data.sweep(move)
    np.testing.assert_array_equal(rows[0][0].labels, [0, 1, 1, -1])
    np.testing.assert_array_equal(rows[0][1].labels, [-1, -1, 0, 0])
    # sum of score x: sample 0 alone; 2 (0, 2, 0) + 3 (0, 3, 1)
    np.testing.assert_allclose(move.part(cells, 0).cross, [[1, 0, 0], [0, 13, 3]])
    np.testing.assert_allclose(move.part(cells, 1).cross, [[0, 3, 17]])
    np.testing.assert_allclose(move.part(cells, 0).explained, [1, 13])
