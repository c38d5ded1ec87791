"""Rays, moves, swaps and refits: each step explains what it says it explains."""

import numpy as np
import pytest

from onmf.rows.sweep import row_sqnorm
from onmf.search import kernels as compiled
from onmf.search import numpy_kernels as plain
from onmf.search.numpy_kernels import unit
from onmf.search.rays import alternate, refitted, relocate
from onmf.search.starts import least_loss, near_given
from onmf.search.swaps import improve, members, nearest_clusters, splits


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    rays = rng.gamma(1.0, size=(5, 12))
    return rng.uniform(0.5, 2, (80, 1)) * rays[np.arange(80) % 5] + 0.3 * rng.random((80, 12))


MODULES = pytest.mark.parametrize("module", [plain, compiled], ids=["numpy", "C"])


def explained(rows, U):
    """sum_i max_k [a_ik]_+^2"""
    return np.square(np.maximum(rows @ U.T, 0).max(axis=1)).sum()


def best_energy(rows):
    """What the best single ray explains: the largest squared singular value."""
    return np.linalg.svd(rows, compute_uv=False)[0] ** 2 if len(rows) else 0.0


def test_alternation_explains_more_and_more(rows):
    U = unit(np.random.default_rng(3).random((5, 12)))
    ends = [alternate(rows, U, passes) for passes in range(6)]
    assert (np.diff([end.explained for end in ends]) >= -1e-9).all()
    for end in ends:
        assert end.explained == pytest.approx(explained(rows, end.U))


@MODULES
def test_two_rays_for_a_cluster_explain_no_less_than_one(rows, module):
    now = alternate(rows, unit(rows[:3]), 30)
    own = np.bincount(now.labels, np.square(now.best), 3)
    aside = 0.3 * np.random.default_rng(1).normal(size=now.U.shape)
    energies = [
        module.split_clusters(rows, now.labels, unit(np.stack([now.U, now.U + aside])), passes)[1]
        for passes in range(5)
    ]
    assert (energies[0] >= own - 1e-9).all()
    assert (np.diff(energies, axis=0) >= -1e-9).all()


@MODULES
def test_a_move_gains_at_least_what_it_promises(rows, module):
    """The bound of every move, against singular values of the clusters before and after."""
    now = alternate(rows, unit(rows[:4]), 200)
    own = np.array([best_energy(rows[now.labels == k]) for k in range(4)])
    target, gain = module.transfers(now.scores, now.labels, row_sqnorm(rows), own)
    for i in range(0, 80, 7):
        moved = now.labels.copy()
        moved[i] = target[i]
        after = sum(best_energy(rows[moved == k]) for k in range(4))
        assert after - own.sum() >= gain[i] - 1e-6 * own.sum()


def test_moves_of_single_rows_lower_the_error_where_alternation_is_stuck():
    rng = np.random.default_rng(3)
    Y = rng.gamma(0.5, size=(60, 30))
    stuck = alternate(Y, unit(Y[:8]), 100)
    before = [np.copy(part) for part in stuck]
    moved = relocate(Y, row_sqnorm(Y), stuck, 20)
    assert moved.explained > stuck.explained * 1.001
    assert moved.explained == pytest.approx(explained(Y, moved.U))
    np.testing.assert_allclose(moved.scores, Y @ moved.U.T)
    better = improve(Y, row_sqnorm(Y), stuck, np.random.default_rng(0))
    np.testing.assert_allclose(better.scores, Y @ better.U.T)
    for part, own in zip(stuck, before, strict=True):  # what was given is left as it was
        np.testing.assert_array_equal(part, own)


@MODULES
def test_rays_fitted_to_given_clusters_explain_what_is_said(rows, module):
    """Against singular values; after many power steps nothing is left to gain."""
    labels = np.arange(80) % 4
    for steps, at_least in ((0, 0.0), (3, 0.99), (200, 1 - 1e-9)):
        U, total = module.fit_rays(rows, labels, unit(rows[4:8]), steps)
        assert total == pytest.approx(np.square(np.einsum("ij,ij->i", rows, U[labels])).sum())
        best = sum(best_energy(rows[labels == k]) for k in range(4))
        assert at_least * best <= total <= best * (1 + 1e-9)


def test_moves_are_made_if_the_clusters_they_touch_explain_more_and_not_else(rows):
    now = alternate(rows, unit(rows[:5]), 200)
    away = np.flatnonzero(now.labels == 0)[:3]
    assert refitted(rows, now, away, np.full(3, 1), None) is None
    labels = now.labels.copy()
    labels[away] = 1
    U = leading_rays(rows, labels)
    wrong = now._replace(U=U, labels=labels, best=np.einsum("ij,ij->i", rows, U[labels]))
    wrong = wrong._replace(explained=float(wrong.best @ wrong.best))
    mended = refitted(rows, wrong, away, np.zeros(3, int), None)
    np.testing.assert_allclose(mended[:2], now.U[:2], atol=1e-2)
    np.testing.assert_array_equal(mended[2:], U[2:])  # no row of theirs moved


def leading_rays(Y, labels):
    """Leading right singular vectors of the clusters."""
    rays = [np.linalg.svd(Y[labels == k])[2][0] for k in range(labels.max() + 1)]
    return np.abs(np.array(rays))


def test_swaps_leave_a_bad_optimum(rows):
    """Two prototypes on one ray and one for two others: alternation is stuck, swaps are not."""
    U = unit(np.array([rows[0], rows[5], rows[1], rows[2], rows[3] + rows[4]]))
    stuck = alternate(rows, U, 50)
    better = improve(rows, row_sqnorm(rows), stuck, np.random.default_rng(0))
    assert better.explained > stuck.explained * 1.01
    assert len({*zip(np.arange(80) % 5, better.labels, strict=True)}) == 5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [2, 5])
def test_machine_code_and_numpy_agree(rows, k, dtype):
    rng = np.random.default_rng(5)
    Y, U = rows.astype(dtype), unit(rng.normal(size=(k, 12)))
    A = Y @ U.T.astype(dtype)
    labels, best, _ = plain.images(A, Y, U)
    own = np.bincount(labels, np.square(best), k)
    calls = {
        "images": (A, Y, U),
        "alternations": (Y, U, np.empty(0, dtype), 3, 0.0),
        "sums": (labels, best, Y, k),
        "fit_rays": (Y, labels, U, 3),
        "runners_up": (A, labels),
        "split_clusters": (Y, labels, unit(rng.random((2, k, 12))), 3),
        "transfers": (A, labels, row_sqnorm(Y), own),
        "nearest": (A,),
        "ray_steps": (*(rng.random((k, 12)) for _ in range(4)), np.arange(k) % 2 == 0, False),
        "ray_distance": (Y[:k], Y[k : 2 * k]),
    }
    loose = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}
    for name, arguments in calls.items():
        ours, theirs = (getattr(module, name)(*arguments) for module in (plain, compiled))
        if not isinstance(ours, tuple):
            ours, theirs = (ours,), (theirs,)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, **loose, err_msg=name)


@MODULES
def test_of_equal_prototypes_the_first_has_all_the_rows(rows, module):
    rng = np.random.default_rng(6)
    U = np.repeat(unit(rows[:1]), 4, axis=0)
    A = np.repeat(rows @ U[:1].T, 4, axis=1)
    A *= 1 + np.finfo(float).eps * rng.integers(-3, 4, A.shape)  # as rounding would leave them
    labels, best, P = module.images(A, rows, U)
    assert not labels.any()
    np.testing.assert_allclose(P[0], best @ rows)
    assert not P[1:].any()


@MODULES
def test_a_giant_row_does_not_drown_the_energy_of_the_others(rows, module):
    """In single precision the score of one row is rounded by more than all the others have."""
    Y = np.vstack([rows, 1e6 * rows[:1]]).astype(np.float32)
    U = unit(Y[[-1, 1, 2]].astype(np.float64))
    *_, labels, best, sqnorms = module.alternations(Y, U, np.empty(0, np.float32), 0, 0.0)
    scores = np.einsum("ij,ij->i", Y.astype(np.float64), U[labels])
    np.testing.assert_allclose(best, np.maximum(scores, 0), rtol=1e-12)
    assert sqnorms == pytest.approx(np.square(scores).sum(), rel=1e-13)


def test_heirs_are_the_clusters_that_would_get_most_by_brute_force():
    rng = np.random.default_rng(0)
    labels, second = rng.integers(0, 7, (2, 200))
    flow, k = np.where(rng.random(200) < 0.2, 0, rng.random(200)), 6  # place 6 is no cluster
    heirs = nearest_clusters(labels, second, flow, 7, k)
    for place in range(7):
        total = [flow[(labels == place) & (second == heir)].sum() for heir in range(k)]
        order = sorted((heir for heir in range(k) if total[heir] > 0), key=lambda h: -total[h])
        assert heirs[place] == order[:4]


def test_the_halves_of_a_cluster_explain_what_is_said(rows):
    now = alternate(rows, unit(rows[:3]), 30)
    order, edges, own = members(now)
    np.testing.assert_array_equal(np.diff(edges), np.bincount(now.labels, minlength=3))
    for c in range(3):
        inside = order[edges[c] : edges[c + 1]]
        np.testing.assert_array_equal(inside, np.flatnonzero(now.labels == c))
        assert own[c] == pytest.approx(np.square(rows[inside] @ now.U[c]).sum())
    gain, halves = splits(rows, row_sqnorm(rows), now, own, order, edges, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(halves, axis=2), 1)
    for c in range(3):
        inside = rows[now.labels == c]
        assert gain[c] == pytest.approx(explained(inside, halves[:, c]) - own[c])
        assert gain[c] > 0


def refit(Y, U, k):
    """From the rays of an earlier model."""
    return near_given(Y, U, k, refit=True)


def test_from_more_rays_those_stay_that_are_missed_most(rows):
    """Each cluster is given up at what its rows lose with their second best rays."""
    now = alternate(rows, unit(rows[:5]), 50)
    whole = explained(rows, now.U)
    losses = [whole - explained(rows, np.delete(now.U, c, axis=0)) for c in range(5)]
    assert least_loss(now) == int(np.argmin(losses))
    twice = unit(np.vstack([now.U, now.U[:1] + 0.01]))
    found = refit(rows, twice, 5)
    np.testing.assert_allclose((found.U @ now.U.T).max(axis=0), 1, atol=1e-4)
    assert len(found.U) == 5
