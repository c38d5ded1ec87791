"""Rays, moves, swaps and refits: each step explains what it says it explains."""

import numpy as np
import pytest

from onmf.rows.sweep import row_sqnorm
from onmf.search import kernels as compiled
from onmf.search import rays as search
from onmf.search import row_problems as plain
from onmf.search.rays import alternate, draw, drawn, refitted, relocate, spread, unexplained
from onmf.search.row_problems import unit
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


@MODULES
def test_a_ray_that_kept_its_rows_steps_to_the_best_in_the_span_unless_that_is_negative(module):
    """A feature that is zero does not make it negative."""
    last, now = unit(np.array([[0.2, 1, 0], [1, 1, 0]]))[:, None]
    kept, S = np.ones(1, bool), np.array([[2.0, 1, 0], [1, 1, 0], [0, 0, 0]])
    U = module.ray_steps(now, now @ S, last, last @ S, kept, False)
    np.testing.assert_allclose(U[0], np.abs(np.linalg.eigh(S)[1][:, -1]), atol=1e-12)
    S = np.array([[2.0, -1, 0], [-1, 1, 0], [0, 0, 0]])
    free = module.ray_steps(now, now @ S, last, last @ S, kept, True)
    assert free[0, 0] * free[0, 1] < 0
    assert (module.ray_steps(now, now @ S, last, last @ S, kept, False) >= 0).all()


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


@pytest.mark.parametrize("power", [-40, 40])
def test_moves_have_no_units(power):
    Y = np.random.default_rng(3).gamma(0.5, size=(60, 30))
    stuck = alternate(Y, unit(Y[:8]), 100)
    moved = relocate(Y, row_sqnorm(Y), stuck, 20)
    Z = 2.0**power * Y
    again = relocate(Z, row_sqnorm(Z), alternate(Z, unit(Y[:8]), 100), 20)
    assert again.explained == 4.0**power * moved.explained
    np.testing.assert_array_equal(again.labels, moved.labels)
    assert (moved.labels != stuck.labels).any()


@pytest.mark.parametrize(("share", "rounds"), [(4e-5, 1), (6e-5, 9)])
def test_a_round_of_moves_that_gains_too_little_is_the_last(share, rounds, monkeypatch):
    """Less than 5e-5 of what is unexplained then."""
    Y, seen = np.random.default_rng(3).gamma(0.5, size=(60, 30)), []
    now, total = alternate(Y, unit(Y[:8]), 3), row_sqnorm(Y).sum()

    def gain_some(Y, U, *others, known, **more):
        seen.append(known)
        gained = share * (total - known.explained) / (1 + share)
        return now._replace(explained=known.explained + gained)

    monkeypatch.setattr(search, "alternate", gain_some)
    monkeypatch.setattr(search, "refitted", lambda Y, now, *others: now.U)
    relocate(Y, row_sqnorm(Y), now, 9)
    assert len(seen) == rounds


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


def test_drawn_rows_keep_sums_of_squares_and_all_that_is_heavy():
    rng = np.random.default_rng(0)
    Y = rng.random((2000, 4))
    Y[:5] *= 40  # most of the energy
    draws = [drawn(Y, row_sqnorm(Y), 200, rng) for _ in range(300)]
    assert all(len(Z) == 200 for Z in draws)
    for Z in draws[:20]:
        np.testing.assert_allclose(np.sort(row_sqnorm(Z))[-5:], np.sort(row_sqnorm(Y))[-5:])
    mean = np.mean([Z.T @ Z for Z in draws], axis=0)
    np.testing.assert_allclose(mean, Y.T @ Y, rtol=0.01)
    assert drawn(Y, row_sqnorm(Y), 2000, rng) is Y


def test_drawn_rows_are_divided_by_the_root_of_their_chance():
    """Half of it is the same for all rows, half goes by energy."""
    rng = np.random.default_rng(0)
    Y = rng.uniform(0.5, 1, (500, 4))
    energy = row_sqnorm(Y)
    chance = 50 * (0.5 / 500 + 0.5 * energy / energy.sum())
    longer = Y / np.sqrt(chance)[:, None]
    for row in drawn(Y, energy, 50, rng):
        assert np.abs(longer - row).max(axis=1).min() < 1e-12


def test_an_alternation_that_cannot_reach_its_goal_ends_early(rows):
    """One that can goes on as if it had none."""
    start = unit(rows[:8])
    first, free = (alternate(rows, start, passes) for passes in (0, 30))
    np.testing.assert_array_equal(alternate(rows, start, 30, free.explained).U, free.U)
    vain = alternate(rows, start, 30, 10 * free.explained)
    assert first.explained < vain.explained < free.explained


def test_draws_follow_the_weights_and_survive_having_none():
    rng = np.random.default_rng(0)
    drawn = draw(np.array([0.0, 1, 0, 3, 0]), 4000, rng)
    assert {*drawn} == {1, 3}
    assert np.mean(drawn == 3) == pytest.approx(0.75, abs=0.03)
    assert {*draw(1e-9 * np.array([0.0, 1, 0, 3, 0]), 4000, rng)} == {1, 3}
    assert {*draw(np.zeros(4), 100, rng)} == {0, 1, 2, 3}


def test_starts_are_unit_vectors_even_of_identical_rows():
    Y = np.ones((6, 3))
    U = spread(Y, np.full(6, 3.0), 4, np.random.default_rng(0))
    assert U.shape == (4, 3)
    np.testing.assert_allclose(np.linalg.norm(U, axis=1), 1)


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


def test_from_fewer_rays_the_old_ones_keep_their_places(rows):
    rays = leading_rays(rows, np.arange(80) % 5)
    found = refit(rows, rays[:4], 5)
    near = found.U @ rays.T
    np.testing.assert_allclose(near.max(axis=0), 1, atol=1e-4)
    np.testing.assert_array_equal(near.argmax(axis=1)[:3], range(3))  # the fourth had two clusters
    wide = np.vstack([rows, np.zeros((2, 12))])
    nothing = refit(wide, np.zeros((5, 12)), 5)
    assert explained(rows, nothing.U) > 0.99 * explained(rows, rays)


def test_a_refit_makes_no_swap_of_little_gain():
    """Two rays for one cluster, one for two small ones: worth a swap only if they have energy."""
    rng = np.random.default_rng(0)
    rays = np.kron(np.eye(4), np.ones(3))
    y = np.repeat(np.arange(4), 40)
    for size, moved in ((0.1, False), (3.0, True)):
        Y = rays[y] + 0.05 * rng.random((160, 12))
        Y[y > 1] *= size
        old = unit(np.array([rays[0] + 0.1 * rng.random(12), rays[0], rays[1], rays[2] + rays[3]]))
        found = refit(Y, old, 4)
        together = found.labels[y == 2][0] == found.labels[y == 3][0]
        assert together != moved


def test_what_is_left_of_a_row_is_nothing_if_it_is_rounding():
    left = unexplained(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.25, 1 - 1e-13, 1 + 1e-13, 0]))
    np.testing.assert_array_equal(left, [0.75, 0, 0, 0])
