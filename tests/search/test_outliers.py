"""The capped loss: fences by their definition, and rays that outliers neither pull nor use up."""

from dataclasses import replace

import numpy as np
import pytest

from onmf.datasets import make_rays
from onmf.losses.settling import settle
from onmf.rows.assign import Code, Rays, nearest
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Block, row_sqnorm
from onmf.search.numpy_kernels import unit
from onmf.search.outliers import POWERS, OutlierLimit, Outliers
from onmf.search.rays import alternate, relocate
from onmf.search.swaps import improve
from solving import ray_alternation

RNG = np.random.default_rng(0)


def planted(noise_power, n=600, k=3, m=40, lengths=0.7, seed=0):
    """Scores and distances of samples whose noise grows with their length by this power."""
    rng = np.random.default_rng(seed)
    a = 10 * rng.lognormal(0, lengths, n)
    left = a ** (2 * noise_power) * rng.chisquare(m, n) / m
    return a, np.square(a) + left


@pytest.mark.parametrize("power", POWERS)
def test_a_sample_is_an_outlier_by_the_definition_of_the_fence(power):
    limit = OutlierLimit(0.3, power)
    for sqnorms in (0.2, 1.0, 7.0, 400.0):
        for share in np.linspace(0.01, 0.9999, 60):
            a = np.sqrt(share * sqnorms)
            beyond = sqnorms - a * a > 0.3 * (a * a) ** power
            code = limit.applied(
                np.array([sqnorms]), np.array([a]), Code(np.array([2]), np.array([a]))
            )
            assert code.labels[0] == (-1 if beyond else 2)
            assert limit.beyond(np.array([sqnorms]), np.array([a]))[0] == beyond


def test_a_sample_that_is_explained_is_no_outlier_however_low_the_fence():
    sqnorms = np.array([1.0, 1e6])
    floor = OutlierLimit(0.0, 0.5).floor(sqnorms)
    assert (floor < np.sqrt(sqnorms)).all()
    assert (floor > (1 - 1e-4) * np.sqrt(sqnorms)).all()


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("factor", [2.0**9, 2.0**-13])
def test_a_fence_goes_with_the_scale_of_the_samples_to_the_bit(power, factor):
    limit, sqnorms = OutlierLimit(0.3, power), RNG.random(50) * 100
    floor = limit.scaled(factor, 2).floor(sqnorms * factor * factor)
    np.testing.assert_array_equal(floor, limit.floor(sqnorms) * factor)


def slow_limit(apart):
    """Median and 4.5 robust deviations, of those below, by loops."""
    kept = sorted(apart)
    while True:
        middle = kept[(len(kept) - 1) // 2]
        away = sorted(abs(value - middle) for value in kept)
        limit = middle + 4.5 * 1.4826 * away[(len(kept) - 1) // 2]
        now = [value for value in sorted(apart) if value <= limit]
        if len(now) == len(kept):
            return limit
        kept = now


@pytest.mark.parametrize("n", [7, 100, 301])
def test_the_scale_is_that_of_the_samples_below_it(n):
    apart = np.append(np.random.default_rng(n).normal(10, 1, n), [40.0, 50.0])
    sqnorms = 900.0 + np.square(apart)
    limit = Outliers().limit(sqnorms, np.full(n + 2, 30.0), np.ones(n + 2))
    assert limit.power == 0
    assert limit.height == pytest.approx(slow_limit(apart) ** 2)


def test_a_weight_is_as_many_samples():
    a, sqnorms = planted(0.5)
    weight = RNG.integers(0, 4, len(a))
    for ask in (Outliers(), Outliers(share=0.1)):
        once = ask.limit(sqnorms, a, weight)
        repeated = ask.limit(
            np.repeat(sqnorms, weight), np.repeat(a, weight), np.ones(weight.sum())
        )
        assert once.height == pytest.approx(repeated.height)
        assert once.power == repeated.power


@pytest.mark.parametrize("power", POWERS)
def test_the_power_is_that_of_the_noise(power):
    a, sqnorms = planted(power)
    far = 40  # outliers do not hide it
    sqnorms[:far] = np.square(a[:far]) * 3 + 1000
    limit = Outliers().limit(sqnorms, a, np.ones(len(a)))
    assert limit.power == power
    strange = limit.beyond(sqnorms, a)
    assert strange[:far].mean() > 0.9
    assert strange[far:].mean() < 0.005


def test_samples_of_one_length_do_not_tell_the_power():
    a, sqnorms = planted(1.0, lengths=0.02)
    assert Outliers().limit(sqnorms, a, np.ones(len(a))).power == 0


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.8])
def test_a_share_is_that_of_the_samples_furthest_from_their_rays(share):
    a, sqnorms = planted(0.0)
    limit = Outliers(share=share).limit(sqnorms, a, np.ones(len(a)))
    strange = limit.beyond(sqnorms, a)
    assert strange.sum() == round(share * len(a))
    left = sqnorms - a * a
    assert left[strange].min(initial=np.inf) > left[~strange].max()


def test_equal_samples_are_outliers_together_or_not_at_all():
    left = np.repeat([1.0, 2.0, 3.0, 4.0], 5) * (1 + 1e-13 * np.arange(20))
    a = np.full(20, 10.0)
    for count in range(16):
        limit = Outliers(share=count / 20).limit(a * a + left, a, np.ones(20))
        assert limit.beyond(a * a + left, a).sum() == count // 5 * 5


def test_samples_on_their_rays_leave_no_outliers_but_those_off_them():
    a = np.array([1.0, 2.0, 5.0, 1.0, 3.0, 2.0])
    sqnorms = a * a + np.array([0, 0, 0, 0, 0, 1.0])
    limit = Outliers().limit(sqnorms, a, np.ones(6))
    np.testing.assert_array_equal(limit.beyond(sqnorms, a), [False] * 5 + [True])


def capped_by_loops(Y, U, floor):
    """sum_i max(max_k <y_i, u_k>, 0, floor_i)^2, and the label of each row."""
    scores = [[float(y @ u) for u in U] for y in Y]
    labels = [
        int(np.argmax(own)) if max(own) >= low else len(U)
        for own, low in zip(scores, floor, strict=True)
    ]
    values = [max(*own, 0, low) ** 2 for own, low in zip(scores, floor, strict=True)]
    return sum(values), labels


def test_the_alternation_maximises_what_is_explained_beyond_the_cap():
    Y, _ = make_rays(80, 6, 3, noise=0.5, outliers=0.1, random_state=1)
    floor, U = 0.9 * np.sqrt(row_sqnorm(Y)), unit(Y[:3])
    before = 0.0
    for _ in range(6):
        found = alternate(Y, U, 0, floor=floor)
        value, labels = capped_by_loops(Y, U, floor)
        assert found.explained == pytest.approx(value)
        np.testing.assert_array_equal(found.labels, labels)
        assert found.explained >= before - 1e-9
        before, U = found.explained, alternate(Y, U, 1, floor=floor).U
        inside = [i for i in range(80) if labels[i] < 3]
        alone = alternate(Y[inside], unit(found.U), 1).U  # outliers pull no ray
        np.testing.assert_allclose(U, alone, atol=1e-12)


@pytest.mark.parametrize("in_c", [True, False])
def test_swaps_and_moves_give_an_outliers_ray_to_a_cluster_among_the_outliers(in_c, monkeypatch):
    if not in_c:
        import onmf.search.numpy_kernels as plain

        for module in ("rays", "swaps"):
            monkeypatch.setattr(f"onmf.search.{module}.kernels", lambda: plain)
    Y, y = make_rays(200, 20, 4, noise=0.2, outliers=0.05, random_state=2)
    sqnorms = row_sqnorm(Y)
    Y, sqnorms = Y / np.sqrt(sqnorms)[:, None], np.ones(200)
    floor = np.full(200, 0.95)
    start = unit(np.array([*[Y[y == c].mean(axis=0) for c in range(3)], Y[y < 0][0]]))
    begin = alternate(Y, start, 5, floor=floor)
    assert (begin.labels[y == 3] == 4).all()  # a cluster beyond the cap
    found = improve(Y, sqnorms, begin, np.random.default_rng(0), floor)
    found = relocate(Y, sqnorms, found, 3, floor)
    assert found.explained > begin.explained
    np.testing.assert_array_equal(found.labels == 4, y < 0)
    assert all(len(np.unique(found.labels[y == c])) == 1 for c in range(4))


def test_outliers_pull_no_centroid_while_it_settles():
    X, y = make_rays(300, 25, 3, noise=0.2, outliers=0.1, random_state=3)
    W = np.array([X[y == c].mean(axis=0) for c in range(3)])
    data, ask = InMemory(X), Outliers()
    scores = nearest(X @ Rays.of(W).units).scores
    limit = ask.limit(data.gather(data.row_sqnorms), scores, np.ones(300))
    found = settle(ray_alternation(data, 1e-9, outliers=ask), W, 100, limit=limit)
    labels = found.labels(data)
    np.testing.assert_array_equal(labels < 0, y < 0)
    alone = settle(ray_alternation(InMemory(X[y >= 0]), 1e-9), W, 100)
    np.testing.assert_allclose(unit(found.W), unit(alone.W), atol=1e-7)
    rays = replace(Rays.of(found.W), limit=found.limit)
    code, fit = rays(Block(X, np.ones((300, 1))), None)
    np.testing.assert_array_equal(code.labels, labels)
    assert fit.explained == pytest.approx(found.sums.explained.sum())


def test_an_empty_cluster_is_not_given_to_an_outlier():
    X = np.vstack([np.eye(3)[[0, 1] * 20] + 0.05 * RNG.random((40, 3)), [0, 0, 9.0]])
    W = np.eye(3)[[0, 1, 0]]  # the last has no samples
    for limit, nearest_to_the_outlier in ((OutlierLimit(0.1, 1.0), 0.5), (None, 1.0)):
        found = settle(ray_alternation(InMemory(X), 1e-9), W, 20, limit=limit)
        assert found.sums.samples.all()
        assert unit(found.W)[:, 2].max() <= nearest_to_the_outlier
        assert (unit(found.W)[:, 2].max() > 0.99) == (limit is None)


def test_a_count_is_a_share_and_must_leave_enough_samples():
    assert Outliers(count=5).among(20, 3) == Outliers(share=0.25)
    assert Outliers(share=0.1).among(20, 3) == Outliers(share=0.1)
    assert Outliers().among(2, 3) == Outliers()
    assert Outliers(count=17).among(20, 3).share == 0.85
    for ask, word in ((Outliers(count=18), "18"), (Outliers(share=0.9), "0.9")):
        with pytest.raises(ValueError, match=f"outliers={word} leaves fewer than n_clusters=3 of"):
            ask.among(20, 3)


@pytest.mark.parametrize("power", POWERS)
def test_the_capped_loss_by_loops(power):
    a, sqnorms = planted(power, n=40)
    limit, weight = OutlierLimit(0.7, power), RNG.random((40, 1))
    expected = 0.0
    for total, score, d in zip(sqnorms, a, weight[:, 0], strict=True):
        floor = limit.floor(np.array([total]))[0]
        expected += d * min(total - score**2, total - floor**2)
    assert limit.capped_loss(weight, (sqnorms, a)) == pytest.approx(expected)


@pytest.mark.parametrize("ask", [Outliers(), Outliers(share=0.1)], ids=["auto", "share"])
def test_samples_of_zeros_have_no_part_in_the_limit(ask):
    a, sqnorms = planted(0.5)
    more = np.zeros(900)
    padded = ask.limit(np.append(sqnorms, more), np.append(a, more), np.ones(len(a) + 900))
    assert padded == ask.limit(sqnorms, a, np.ones(len(a)))
