"""Swaps: which are tried, how long, and what is gained, each by its definition."""

from types import SimpleNamespace

import numpy as np
import pytest

from onmf.rows.sweep import row_sqnorm
from onmf.search import numpy_kernels as plain
from onmf.search import swaps
from onmf.search.numpy_kernels import unit
from onmf.search.rays import alternate
from onmf.search.swaps import entrance, improve, members, promising, splits, swapped


def rays_with_noise(n, k, width=12, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    rays = rng.gamma(1.0, size=(k, width))
    return rng.uniform(0.5, 2, (n, 1)) * rays[np.arange(n) % k] + noise * rng.random((n, width))


def with_kernels(monkeypatch, **functions):
    """The NumPy kernels, some of them replaced."""
    stand_in = SimpleNamespace(**(vars(plain) | functions))
    monkeypatch.setattr(swaps, "kernels", lambda: stand_in)


@pytest.mark.parametrize(("k", "most"), [(40, 20), (12, 16)])
def test_a_round_ends_after_sixteen_vain_trials_or_one_for_two_clusters(monkeypatch, k, most):
    Y, trials = rays_with_noise(6 * k, k), []

    def in_vain(Z, edges, places, start, *_):
        trials.append(len(places))
        return start, -np.inf

    with_kernels(monkeypatch, alternate_few=in_vain)
    monkeypatch.setattr(swaps, "MIN_GAIN_SHARE", 0.0)
    now = alternate(Y, unit(Y[:k]), 20)
    rng = np.random.default_rng(0)
    assert swapped(Y, row_sqnorm(Y), now, rng, None, 1e-7) is None
    assert len(trials) == most
    assert max(trials) <= 2 + 2 * swaps.MAX_NEIGHBOURS


def test_a_swap_must_gain_the_share_that_is_asked_for():
    """Two prototypes on one of three rays: a swap explains a third more, no more than that."""
    Y = np.repeat(np.eye(3), 20, axis=0) + 0.01 * np.random.default_rng(0).random((60, 3))
    stuck = alternate(Y, unit(np.array([[1, 0.001, 0], [1, 0, 0.001], [0, 1, 1.0]])), 0)
    possible = (60 - 40) / 40  # of the energy that e_1 and (e_2 + e_3) / sqrt(2) explain
    for least, found in ((0.8 * possible, True), (1.2 * possible, False)):
        after = improve(Y, row_sqnorm(Y), stuck, np.random.default_rng(0), least=least)
        assert (after.explained > 1.1 * stuck.explained) == found


def test_a_split_begins_on_both_sides_of_the_ray_along_one_of_its_rows(monkeypatch):
    Y, starts = rays_with_noise(90, 5), []

    def note(Y, labels, start, passes):
        starts.append(start)
        return plain.split_clusters(Y, labels, start, passes)

    with_kernels(monkeypatch, split_clusters=note)
    now = alternate(Y, unit(Y[:3]), 30)
    order, edges, own = members(now)
    splits(Y, row_sqnorm(Y), now, own, order, edges, np.random.default_rng(0))
    assert len(starts) == swaps.SPLIT_TRIALS
    for start in starts:
        for c, u in enumerate(now.U):
            off = Y[now.labels == c] - np.outer(Y[now.labels == c] @ u, u)
            aside = unit(start[0, c] - (start[0, c] @ u) * u)
            assert (unit(off) @ aside).max() == pytest.approx(1)
            np.testing.assert_allclose(start[:, c], unit(np.array([u + aside, u - aside])))


def test_a_row_without_rest_splits_no_cluster(monkeypatch):
    """Rows are drawn by what is unexplained: of copies of a ray and one other, always the other."""
    Y, starts = np.vstack([np.tile([1.0, 0, 0], (50, 1)), [[1, 0.5, 0]], [[0, 0, 1]]]), []

    def note(Y, labels, start, passes):
        starts.append(start)
        return plain.split_clusters(Y, labels, start, passes)

    with_kernels(monkeypatch, split_clusters=note)
    now = alternate(Y, np.eye(3)[[0, 2]], 0)
    order, edges, own = members(now)
    splits(Y, row_sqnorm(Y), now, own, order, edges, np.random.default_rng(1))
    for start in starts:
        np.testing.assert_allclose(start[0, 0] - start[1, 0], [0, np.sqrt(2), 0], atol=1e-12)


def test_a_ray_for_outliers_is_the_best_through_one_of_them():
    Y, low = rays_with_noise(24, 3, noise=0.1), np.linspace(0.2, 2, 24)
    floor = np.append(low, 9.0)
    Y = np.vstack([Y, np.ones((1, 12))])
    now = alternate(Y, unit(np.ones((2, 12))), 0, floor=floor)
    now = now._replace(labels=np.append(np.full(24, 2), 0), U=now.U)  # all but the last
    gain, ray = entrance(Y, now, 5.0, floor, np.random.default_rng(0))
    explained = np.square(np.maximum(Y[:24] @ ray, low)).sum()
    assert np.linalg.norm(ray) == pytest.approx(1)
    assert gain == pytest.approx(explained - 5)
    alone = np.square(np.maximum(Y[:24] @ unit(Y[:24]).T, low[:, None])).sum(axis=0)
    ends = [
        alternate(Y[:24], unit(Y[[i]]), swaps.SPLIT_ALTERNATIONS, floor=low).explained
        for i in np.argsort(-alone)[: swaps.SPLIT_TRIALS]
    ]
    assert gain == pytest.approx(max(ends) - 5)


def test_without_outliers_no_ray_enters():
    Y, floor = rays_with_noise(20, 2), np.zeros(20)
    now = alternate(Y, unit(Y[:2]), 3, floor=floor)
    gain, ray = entrance(Y, now, 0.0, floor, np.random.default_rng(0))
    assert gain == -np.inf
    assert ray.shape == (12,)


@pytest.mark.parametrize(("k", "rounds"), [(3, 4), (2, 4), (1, 0)])
def test_rounds_end_when_one_gains_little_of_what_is_left(monkeypatch, k, rounds):
    """3e-4 of what is unexplained: .01 of 38.97 is less, .02 of 38.98 is not."""
    energies, seen = iter([60, 61, 61.02, 61.03, 99]), []
    monkeypatch.setattr(swaps, "swapped", lambda Y, sqnorms, now, *_: seen.append(now) or now.U)
    monkeypatch.setattr(swaps, "alternate", lambda Y, U, *_, known, **__: known)
    monkeypatch.setattr(
        swaps, "relocate", lambda Y, sqnorms, now, *_: now._replace(explained=next(energies))
    )
    Y = np.ones((4, 2))
    begin = alternate(Y, np.ones((k, 2)), 0)._replace(explained=50.0)
    found = improve(Y, np.full(4, 25.0), begin, np.random.default_rng(0))
    assert len(seen) == rounds
    assert found.explained == (61.03 if rounds else 50)


def test_a_split_must_gain_four_tenths_of_what_the_other_cluster_loses():
    loss, gain = np.array([1.0, 9.0]), np.array([0.0, 0.41])
    assert list(promising(gain, loss, [False] * 2)) == [(0, 1)]
    assert list(promising(gain - 0.02, loss, [False] * 2)) == []


@pytest.mark.parametrize("capped", [False, True])
def test_pairs_are_compared_by_what_the_removed_cluster_loses(monkeypatch, capped):
    """Its rows go to their second best rays."""
    Y, seen = rays_with_noise(60, 5, noise=1.0), []
    floor = 0.95 * np.sqrt(row_sqnorm(Y)) if capped else None
    monkeypatch.setattr(swaps, "promising", lambda *pair: iter(seen.append(pair) or []))
    now = alternate(Y, unit(Y[:5]), 9, floor=floor)
    assert swapped(Y, row_sqnorm(Y), now, np.random.default_rng(0), floor, 1e-7) is None
    ((gain, loss, touched),) = seen
    assert touched == [False] * (5 + capped)
    assert len(gain) == 5 + capped
    for c in range(5):
        own = np.flatnonzero(now.labels == c)
        others = np.delete(now.scores[own], c, axis=1).max(axis=1)
        lost = (now.best[own] ** 2 - np.maximum(others, 0) ** 2).sum()
        assert loss[c] == pytest.approx(lost)
    if capped:
        own = float((now.best[now.labels == 5] ** 2).sum())
        order, edges, energy = members(now)
        rng = np.random.default_rng(0)
        splits(Y, row_sqnorm(Y), now, energy, order, edges, rng)  # draws before
        assert gain[5] == entrance(Y, now, own, floor, rng)[0]


@pytest.mark.parametrize("capped", [False, True])
def test_a_trial_begins_with_the_halves_in_the_places_of_the_two_clusters(monkeypatch, capped):
    Y, trials, pairs = rays_with_noise(60, 5, noise=1.0), [], [(0, 1), (3, 2)] + [(4, 5)] * capped
    floor = 0.95 * np.sqrt(row_sqnorm(Y)) if capped else None
    monkeypatch.setattr(swaps, "promising", lambda *_: iter(pairs))
    halves = np.random.default_rng(1).random((2, 5 + capped, 12))
    monkeypatch.setattr(swaps, "splits", lambda *_: (np.zeros(5 + capped), halves))

    def note(Z, edges, places, start, lows, passes, goal):
        trials.append((places.tolist(), start.copy(), goal))
        assert len(lows) == (60 if capped else 0)
        return start, -np.inf

    with_kernels(monkeypatch, alternate_few=note)
    now = alternate(Y, unit(Y[:5]), 9, floor=floor)
    energy = np.bincount(now.labels, now.best**2, 6)
    swapped(Y, row_sqnorm(Y), now, np.random.default_rng(0), floor, 1e-3)
    assert len(trials) == len(pairs)
    for (leaving, split), (places, start, goal) in zip(pairs, trials, strict=True):
        assert (places[-1] == 5) == capped  # outliers take part
        J = places[: len(places) - capped]
        assert J[0] == leaving
        np.testing.assert_array_equal(start[0], halves[1, split])
        if split < 5:
            assert J[1] == split
            np.testing.assert_array_equal(start[1], halves[0, split])
        np.testing.assert_array_equal(start[2:], now.U[J[2:]])
        assert goal == pytest.approx(energy[places].sum() + 1e-3 * now.explained)
