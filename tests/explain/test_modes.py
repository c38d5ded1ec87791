"""The dip against its definition, and its p-value against uniform numbers."""

import numpy as np
import pytest
from scipy.optimize import linprog

from onmf.explain.modes import dip, p_one_mode


def smallest_distance(values):
    """min sup |F - G| over G convex before a mode and concave after it, by linear programs."""
    x = np.unique(values)
    n = len(x)
    before, after = np.arange(n) / n, np.arange(1, n + 1) / n
    return min(distance_with_mode(x, before, after, mode) for mode in range(n))


def distance_with_mode(x, before, after, mode):
    """G has two values at its mode, where it may jump; the last variable is the distance."""
    n = len(x)
    left, right = np.arange(mode + 1), np.arange(mode, n) + 1  # where variables of G are
    rows, limits = [], []

    def below(limit, **_):
        limits.append(limit)
        rows.append(np.zeros(n + 2))
        return rows[-1]

    def near(place, value):
        for sign in (1, -1):
            row = below(sign * value)
            row[place], row[-1] = sign, -1

    for i, place in enumerate(left):
        near(place, before[i])
        if i < mode:
            near(place, after[i])
    for i, place in zip(range(mode, n), right, strict=True):
        near(place, after[i])
        if i > mode:
            near(place, before[i])
    for place in range(n):  # it never falls
        row = below(0)
        row[place], row[place + 1] = 1, -1
    for places, points, sign in ((left, x[: mode + 1], 1), (right, x[mode:], -1)):
        for a, b, c in zip(
            range(len(places)), range(1, len(places)), range(2, len(places)), strict=False
        ):
            one, two = 1 / (points[b] - points[a]), 1 / (points[c] - points[b])
            row = below(0)
            row[[places[a], places[b], places[c]]] = [-sign * one, sign * (one + two), -sign * two]
    found = linprog(np.eye(n + 2)[-1], np.array(rows), limits, bounds=(0, 1))
    return found.fun


@pytest.mark.parametrize("n", [2, 5, 9, 14])
def test_the_dip_is_the_distance_from_all_densities_with_one_mode(n):
    rng = np.random.default_rng(n)
    for values in (
        rng.standard_normal(n),
        rng.exponential(size=n) ** 3,
        np.concatenate([rng.standard_normal(n // 2), 8 + rng.standard_normal(n - n // 2)]),
    ):
        assert dip(values) == pytest.approx(smallest_distance(values), abs=1e-9)


def test_two_far_groups_have_nearly_the_largest_dip():
    values = np.concatenate([np.linspace(0, 1, 100), np.linspace(1000, 1001, 100)])
    assert dip(values) == pytest.approx(0.25, abs=0.01)
    assert p_one_mode(values) < 1e-50


def test_copies_shift_and_scale_change_nothing():
    values = np.random.default_rng(0).standard_normal(200)
    assert dip(np.repeat(values, 3)) == dip(values)
    assert dip(-7 * values + 3) == pytest.approx(dip(values))
    assert dip(np.zeros(5)) == pytest.approx(0.5)
    assert p_one_mode(np.zeros(5)) == p_one_mode(np.zeros(0)) == 1


@pytest.mark.parametrize("n", [30, 300])
def test_p_values_of_uniform_numbers_are_uniform_and_of_normal_ones_large(n, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    uniform = np.array([p_one_mode(rng.random(n)) for _ in range(200)])
    for level in (0.05, 0.2):
        assert np.mean(uniform < level) < level + 3.5 * np.sqrt(level * (1 - level) / 200)
    assert min(p_one_mode(rng.standard_normal(n)) for _ in range(50)) > 0.01
