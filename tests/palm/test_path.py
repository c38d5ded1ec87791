"""What the growing penalty promises: one-sparse rows at the end, and the theorems on small data."""

import numpy as np
import pytest

from cases import few
from onmf.palm.palm import PalmSettings
from onmf.palm.path import Path, tighten
from onmf.palm.penalties import NSNCP, SNCP
from onmf.palm.start import paper_start
from onmf.result import gram_orthogonality
from onmf.rows.memory import InMemory


def start(X, k=4, seed=0):
    data = InMemory(X)
    return data, *paper_start(data, k, seed)


def test_ends_with_one_cluster_a_sample_and_the_planted_ones(planted, penalty):
    X, labels = planted
    result = tighten(PalmSettings(), *start(X), penalty, Path(tol=1e-5))
    assert result.stop == "converged"
    assert ((result.H > 0).sum(axis=1) == 1).all()
    assert len({*zip(labels, result.H.argmax(axis=1), strict=True)}) == 4


def test_history_tells_what_the_definitions_say(planted, penalty):
    X, _ = planted
    rows, seen = [], []

    def watch(event):
        if event.stage is not None:
            rows.append(event.stage)
            seen.append(event.membership())
        return False

    result = tighten(PalmSettings(), *start(X), penalty, Path(tol=1e-3), watch)
    assert result.history == rows
    last, H, W = rows[-1], result.H, result.W
    np.testing.assert_array_equal(seen[-1], H)
    assert last.sweeps == result.sweeps
    assert last.relative_error == pytest.approx(np.sum((X - H @ W) ** 2) / np.sum(X**2))
    assert last.penalty == pytest.approx(penalty.rows(H).sum())
    unit = H / np.linalg.norm(H, axis=0)
    assert last.orthogonality == pytest.approx(
        np.linalg.norm(unit.T @ unit - np.eye(4)) / 16, abs=1e-15
    )
    assert np.all(np.diff([row.rho for row in rows]) > 0)


def test_callback_stops_within_a_stage(planted, penalty):
    result = tighten(
        PalmSettings(), *start(planted[0]), penalty, Path(), lambda event: event.sweep == 5
    )
    assert (result.sweeps, result.stop) == (5, "callback")


def test_sweeps_are_bounded(planted, penalty):
    result = tighten(PalmSettings(), *start(planted[0]), penalty, Path(max_sweeps=7))
    assert (result.sweeps, result.stop) == (7, "max_iter")


@pytest.mark.parametrize("seed", few(range(5)))
def test_theorem_3_beyond_a_finite_rho_stationary_rows_are_one_sparse(seed):
    """Non-smooth penalty, one solve at a fixed large rho from a dense start."""
    rng = np.random.default_rng(seed)
    X = rng.random((12, 6))
    data, _, W = start(X, k=3, seed=seed)
    H = rng.random((12, 3))
    settings = PalmSettings(mu_h=1e-3, mu_w=1e-3, tol=1e-12, max_passes=50_000)
    penalty = NSNCP(margin=1.01)
    rows = data.scatter(H)
    state = settings.run(data, rows, W, penalty, 1.0)
    H = data.gather(state.rows)
    assert settings.stationarity(data, state.rows, state.W, penalty, 1.0) < 1e-8
    assert ((H > 0).sum(axis=1) <= 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_theorem_1_beyond_a_finite_rho_local_minima_are_feasible(seed):
    """Smooth penalty: random perturbation escapes saddle points, so the end is a local minimum."""
    rng = np.random.default_rng(seed)
    X = rng.random((12, 6))
    data, rows, W = start(X, k=3, seed=seed)
    H = data.gather(rows)
    settings = PalmSettings(mu_h=1e-3, mu_w=1e-3, tol=1e-12, max_passes=50_000)
    for _ in range(3):
        H = np.maximum(H + 1e-3 * rng.normal(size=H.shape), 0)
        rows = data.scatter(H)
        state = settings.run(data, rows, W, SNCP(), 1.0)
        W, H = state.W, data.gather(state.rows)
    assert ((H > 1e-9).sum(axis=1) <= 1).all()


def test_orthogonality_by_hand():
    """H = [[1, 1], [0, 1]]: cosine 1/sqrt(2), twice off the diagonal, over k^2 = 4."""
    H = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert gram_orthogonality(H.T @ H) == pytest.approx(np.sqrt(2 * 0.5) / 4)
    H[:, 1] = 0
    assert gram_orthogonality(H.T @ H) == pytest.approx(1 / 4)
