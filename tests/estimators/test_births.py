"""New kinds in a stream: the evidence by definition, and planted streams with both losses."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from cases import few
from onmf import StreamONMF
from onmf.datasets import make_rays
from onmf.losses import LOSSES
from onmf.streams import births, evidence, novelty

OLD, M = 6, 40


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def pool_of(X, rays, novel=None):
    novel = np.ones(len(X), bool) if novel is None else novel
    low, once = np.full(rays.shape[1], 0.4), np.ones(len(X), int)
    surplus = novelty.Surplus(level(0.5), 0, novel, np.zeros(1))
    return novelty.Pool.of(sp.csr_array(unit(X)), unit(rays.T).T, novel, 0.325, low, once, surplus)


def level(cosine, spread=0.05, n=100, novel=1.0):
    """Of one cluster, with samples at two cosines, a share of them novel when they came."""
    cosines = cosine + spread * np.resize([-1, 1], n)
    return novelty.CosineSums.of(np.zeros(n, int), cosines, 1, np.full(n, novel))


def test_a_centroid_that_has_turned_is_no_new_kind():
    """All samples are a little aside of it: no group is born, but of a ray outside their range."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.array([1.0, 0, 0]) + 0.01 * rng.random((40, 3)))
    every = np.ones(40, bool)
    for degrees, born in ((10, False), (40, True)):
        turned = np.array([[np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0]]).T
        found = list(novelty.find_new_clusters(X, every, turned, level(0.95, 0.05)))
        assert bool(found) == born


def test_a_stranger_counts_no_more_than_a_usual_sample():
    """By hand: d_i min(1, max_j d_j |x_j|^2 / (d_i |x_i|^2))."""
    some = sp.csr_array([[3.0, 4.0], [1.0, 0.0]])
    usual = births.BatchRows(some, np.array([2.0, 1.0]), np.zeros(2, int), np.ones(2))
    strange = sp.csr_array([[100.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    weight = births.no_more_than(usual, strange, np.array([1.0, 3.0, 1.0]))
    np.testing.assert_allclose(weight, [50 / 1e4, 3, 1])
    nobody = usual.some(np.empty(0, int))
    np.testing.assert_allclose(births.no_more_than(nobody, strange, np.ones(3)), 1)


def test_the_ray_of_the_others_leaves_the_sample_out():
    """By a loop over the members."""
    X = unit(np.random.default_rng(0).random((12, 6)))
    inside = np.arange(12) < 5
    for i, own in enumerate(pool_of(X, X[:2].T).own(inside)):
        others = X[:5].sum(axis=0) - (X[i] if i < 5 else 0)
        assert own == pytest.approx(X[i] @ others / np.linalg.norm(others))


def test_samples_are_alike_in_what_their_rays_leave_of_them():
    rng = np.random.default_rng(1)
    X, rays = unit(rng.random((9, 7))), unit(rng.random((3, 7)))
    rest = []
    for x in X:
        nearest = rays[(rays @ x).argmax()]
        rest.append(x - (x @ nearest) * nearest)
    np.testing.assert_allclose(
        pool_of(X, rays.T).alike(np.arange(9)), np.array(rest) @ np.array(rest).T, atol=1e-12
    )


def test_the_gap_is_that_of_the_gains():
    """Members 0-3; the samples beside them are those of the same centroid, not all others."""
    rng = np.random.default_rng(2)
    X = unit(rng.random((20, 8)) + np.eye(8)[np.arange(20) % 3] * 2)
    rays = unit(np.eye(8)[:3] * 2 + 0.5)
    members = np.array([0, 3, 6, 9])
    near = (X @ rays.T).max(axis=1)
    gains = []
    for i, x in enumerate(X):
        others = X[[j for j in members if j != i]].sum(axis=0)
        gains.append(x @ others / np.linalg.norm(others) - near[i])
    gains = np.array(gains)
    beside = [i for i in range(20) if (X[i] @ rays.T).argmax() == 0 and i not in members]
    spread = gains[members].std() + gains[beside].std()
    expected = (gains[members].mean() - gains[beside].mean()) / spread
    found = pool_of(X, rays.T).gains(members)
    np.testing.assert_allclose(found.gain[found.inside], gains[members])
    np.testing.assert_allclose(found.gain[~found.inside], gains[beside])
    assert found.gap() == pytest.approx(expected)


def test_the_chance_of_a_valley_is_that_of_a_fair_coin():
    """By hand: with median 1, four of ours and one of theirs are in the core."""
    ours = np.array([0.5, 0.6, 1.0, 1.0, 1.5, 1.6, 2.0])
    theirs = np.array([-3.0, -0.6, -0.5, -0.4, 0.5, 0.6])
    every, inside = np.append(ours, theirs), np.arange(13) < 7
    stands_for = np.array([2, *[9] * 6, *[9] * 3, 1, 3, 1])
    found = novelty.Gains(every, inside, stands_for)
    heads = [math.comb(11, n) for n in range(5, 12)]  # of 5 + (2 + 1 + 3)
    assert found.chance_of_valley() == pytest.approx(sum(heads) / 2**11)
    alone = novelty.Gains(np.append(np.ones(8), np.full(30, -1.0)), np.arange(38) < 8, np.ones(38))
    assert alone.chance_of_valley() == pytest.approx(2.0**-8)


@pytest.mark.parametrize(("between", "born"), [(0, True), (1, False)])
def test_a_group_with_as_many_samples_before_it_is_no_kind(between, born):
    """Forty far samples beside 200 at the ray, with and without 40 half way: all of one batch."""
    rng = np.random.default_rng(3)
    place = np.concatenate([np.zeros(200), np.ones(40), np.full(40 * between, 0.5)])
    X = np.column_stack([np.ones(len(place)), place]) + 0.03 * rng.random((len(place), 2))
    novel = place == 1
    ray = unit(X[:200].sum(axis=0)[None]).T
    found = list(novelty.find_new_clusters(sp.csr_array(X), novel, ray, level(0.99, 0.01)))
    assert [one.members.tolist() for one in found] == [[*range(200, 240)]] * born
    waited = novelty.find_new_clusters(sp.csr_array(X[:245]), novel[:245], ray, level(0.99, 0.01))
    seldom = novelty.find_new_clusters(
        sp.csr_array(X[:245]), novel[:245], ray, level(0.99, 0.01), batches=20
    )
    assert (len([*waited]), len([*seldom])) == (1, 1 - between)  # five of one batch: 100 of twenty


def test_samples_that_agree_on_nothing_stay_outside():
    rng = np.random.default_rng(0)
    lone = np.hstack([np.eye(40), np.zeros((40, 20))])  # each a direction of its own
    ray = np.zeros((60, 1))
    ray[59] = 1
    every = np.ones(40 + novelty.MIN_MEMBERS, bool)
    assert list(novelty.find_new_clusters(sp.csr_array(lone), every[:40], ray, level(0.5))) == []
    kind = np.zeros((novelty.MIN_MEMBERS, 60))
    kind[:, 50:54] = 1 + 0.3 * rng.random((novelty.MIN_MEMBERS, 4))
    both = sp.csr_array(np.vstack([lone, kind]))
    (born,) = novelty.find_new_clusters(both, every, ray, level(0.5))
    np.testing.assert_array_equal(born.members, 40 + np.arange(novelty.MIN_MEMBERS))
    few_novel = every & (np.arange(len(every)) < 43)
    assert list(novelty.find_new_clusters(both, few_novel, ray, level(0.5))) == []
    near = np.zeros((60, 1))
    near[50:54] = 0.5  # a ray that explains them already
    assert list(novelty.find_new_clusters(both, every, near, level(0.5))) == []


def test_the_chance_of_a_surplus_is_that_of_novel_samples_that_come_at_any_time():
    """By hand: of 5 + (2 + 3) novel samples, each is of these ten of 110 with probability 1/11."""
    levels = novelty.CosineSums.of(np.zeros(97, int), np.ones(97), 1, np.arange(97) < 2)
    free = np.arange(13) < 9
    surplus = novelty.Surplus(levels, 3, free, levels.number)
    five = np.isin(np.arange(13), [0, 3, 4, 5, 6, 7, 12])  # one of them waited, one is not free
    heads = [math.comb(10, n) * 10 ** (10 - n) for n in range(5, 11)]
    assert surplus.chance(five) == pytest.approx(sum(heads) / 11**10)
    assert surplus.chance(np.zeros(13, bool)) == 1


@pytest.mark.parametrize(("before", "born"), [(0.05, True), (0.9, False)])
def test_a_wide_kind_is_born_if_its_samples_were_rare_before(before, born):
    """Of twenty entries each sample has three: a wide cloud, without a gap to others."""
    rng = np.random.default_rng(5)
    own, other = (sparse_kind(rng, 60, start) for start in (0, 15))
    X, novel = np.vstack([own, other]), np.arange(120) >= 60
    ray = unit(sparse_kind(rng, 400, 0).sum(axis=0)[None]).T
    levels = level(0.35, 0.05, n=400, novel=before)
    found = list(novelty.find_new_clusters(sp.csr_array(X), novel, ray, levels))
    assert len(found) == born
    if born:
        assert np.mean(found[0].members >= 60) > 0.9


def sparse_kind(rng, n, start):
    """Samples with three of twenty entries."""
    X = np.zeros((n, 40))
    for row in X:
        row[start + rng.choice(20, 3, replace=False)] = 1
    return X


def test_the_tail_of_a_kind_is_no_kind():
    """One wide kind whose ray is in the middle of it: novel are those at its end."""
    rng = np.random.default_rng(4)
    position = rng.normal(0, 0.15, 2000)
    X = np.abs(np.column_stack([np.cos(position), np.sin(position) + 1, np.ones(2000)]))
    ray = unit(X).sum(axis=0)[:, None]
    cosine = (unit(X) @ ray / np.linalg.norm(ray))[:, 0]
    novel = cosine < cosine.mean() - evidence.MAX_DEVIATIONS_BELOW * cosine.std()
    levels = novelty.CosineSums.of(np.zeros(len(X), int), cosine, 1)
    found = novelty.find_new_clusters(sp.csr_array(X), novel, unit(ray.T).T, levels)
    assert novel.sum() > 50
    assert list(found) == []


def planted_stream(seed, angle, noise, share, loss, batches=(4, 3)):
    """Births in batches without and with a new kind; labels of kinds old and new at the end."""
    rng = np.random.default_rng(seed)
    W = np.zeros((OLD + 1, M))
    W[:OLD, :30] = rng.exponential(size=(OLD, 30))
    aside = np.append(np.zeros(30), rng.exponential(size=10))
    turn = np.deg2rad(angle)
    W[OLD] = np.cos(turn) * W[0] / np.linalg.norm(W[0])
    W[OLD] += np.sin(turn) * aside / np.linalg.norm(aside)
    W[OLD] *= np.linalg.norm(W[0])

    def draw(n, new):
        y = np.append(rng.integers(0, OLD, n - new), np.full(new, OLD))
        noisy = W[y] + noise * np.abs(rng.standard_normal((n, M)))
        return rng.uniform(0.5, 2, (n, 1)) * noisy, y

    model = StreamONMF(OLD, max_clusters=20, loss=loss, random_state=0).fit(draw(600, 0)[0])
    births = []
    for count, new in zip(batches, (0, round(share * 400)), strict=True):
        told = [model.partial_fit(draw(400, new)[0]).lineage_.born for _ in range(count)]
        births.append(sum(map(len, told)))
    X, y = draw(800, 200)
    return births, model.cluster_ids_[model.predict(X)], y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("angle", "noise", "share"),
    few([(25, 0.5, 0.02), (25, 0.05, 0.2), (40, 0.2, 0.05), (70, 0.05, 0.02), (90, 0.5, 0.2)]),
)
def test_a_new_kind_is_born_once_whatever_its_angle_and_noise(loss, angle, noise, share):
    births, ids, y = planted_stream(7, angle, noise, share, loss)
    assert births == [0, 1]
    assert (ids[y == OLD] == OLD).mean() > 0.95
    for kind in range(OLD):
        assert (ids[y == kind] != OLD).all()
        assert len({*ids[y == kind]}) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_calm_batches_of_sparse_counts_give_birth_to_nothing(loss):
    rng = np.random.default_rng(3)
    W = rng.exponential(size=(OLD, 60))

    def draw(n):
        return rng.poisson(0.3 * rng.uniform(0.5, 2, (n, 1)) * W[rng.integers(0, OLD, n)])

    model = StreamONMF(OLD, max_clusters=20, loss=loss, random_state=0).fit(draw(900).astype(float))
    for _ in range(6):
        assert model.partial_fit(draw(300).astype(float)).lineage_.born == ()


def test_samples_of_zeros_do_not_wait():
    X, _ = make_rays(600, 20, 4, noise=0.2, random_state=0)
    model = StreamONMF(4, max_clusters=9, random_state=0).fit(X)
    model.partial_fit(np.zeros((50, 20)))
    assert model.n_waiting_ == 0
    assert model.labels_.tolist() == [-1] * 50


def test_many_novel_samples_are_compared_within_bounds():
    """Five thousand samples of a new kind at once: the products of some of them are enough."""
    X, y = make_rays(6000, 30, 3, noise=0.2, imbalance=20.0, random_state=1)
    model = StreamONMF(2, max_clusters=4, random_state=0).fit(X[y > 0])
    model.partial_fit(X[y == 0])
    assert model.lineage_.born == (2,)
    assert model.n_waiting_ == 0


def test_what_is_missing_is_no_evidence():
    """By a loop; and a stream in which a feature goes missing for good gives birth to nothing."""
    rng = np.random.default_rng(5)
    X, rays = rng.random((10, 6)), unit(rng.random((3, 6)))
    X[rng.random(X.shape) < 0.3] = np.nan
    found = novelty.filled_in(sp.csr_array(X), rays.T).toarray()
    for x, filled in zip(X, found, strict=True):
        seen = ~np.isnan(x)
        fits = [(x[seen] @ r[seen]) / np.linalg.norm(r[seen]) for r in rays]
        nearest = rays[np.argmax(fits)]
        multiple = x[seen] @ nearest[seen] / (nearest[seen] @ nearest[seen])
        np.testing.assert_allclose(filled, np.where(seen, x, multiple * nearest))
    X, _ = make_rays(900, 20, 3, noise=0.2, random_state=0)
    model = StreamONMF(3, max_clusters=9, random_state=0).fit(X[:500])
    X[500:, 7] = np.nan
    for rows in (slice(500, 700), slice(700, 900)):
        assert model.partial_fit(X[rows]).lineage_.born == ()
    assert model.n_novel_ < 30


def test_a_new_kind_of_clean_counts_leaves_the_others_their_ids():
    """The overall mean in the centroids of kl moves with a new kind; the old ones do not."""
    rng = np.random.default_rng(6)
    W = np.zeros((4, M))
    W[:3, :30] = rng.exponential(size=(3, 30))
    W[3, 30:] = 2 * rng.exponential(size=10)

    def draw(kinds):
        return rng.poisson(400 * rng.uniform(0.5, 2, (len(kinds), 1)) * W[kinds]).astype(float)

    model = StreamONMF(3, max_clusters=20, loss="kl", random_state=0).fit(draw(np.arange(600) % 3))
    for _ in range(4):
        model.partial_fit(draw(np.arange(300) % 4))
    assert model.cluster_ids_.tolist() == [0, 1, 2, 3]
    assert model.lineage_.next_id == 4


@pytest.mark.parametrize("loss", LOSSES)
def test_a_kind_that_turns_a_little_every_batch_keeps_its_id(loss):
    """By 4 degrees, more than its samples differ: the mean over all batches falls behind."""
    rng = np.random.default_rng(8)
    W, aim = rng.exponential(size=(3, M)), rng.exponential(size=M)
    aim -= aim @ W[0] / (W[0] @ W[0]) * W[0]
    aim *= np.linalg.norm(W[0]) / np.linalg.norm(aim)

    def draw(n, degrees):
        now, turn, y = W.copy(), np.deg2rad(degrees), rng.integers(0, 3, n)
        now[0] = np.cos(turn) * W[0] + np.sin(turn) * aim
        return np.maximum(now[y] * rng.lognormal(0, 0.1, (n, M)), 0), y

    model = StreamONMF(3, max_clusters=9, loss=loss, random_state=0).fit(draw(300, 0)[0])
    X, y = draw(90, 0)
    before = [set(model.cluster_ids_[model.predict(X[y == kind])]) for kind in range(3)]
    for degrees in range(0, 41, 4):
        X, y = draw(90, degrees)
        assert model.partial_fit(X).lineage_.born == ()
    assert [set(model.cluster_ids_[model.predict(X[y == kind])]) for kind in range(3)] == before


def test_a_cluster_has_turned_only_if_a_group_has_its_samples():
    """Half of the samples of a batch that turned are a new kind, all of them the same cluster."""
    ray, aside, other = np.eye(3)[0], np.array([0.9, 0.5, 0]), np.eye(3)[2]
    rays, levels = (
        np.stack([ray, other]).T,
        novelty.CosineSums.of(np.arange(200) % 2, np.tile([0.99, 0.999], 100), 2),
    )
    rng = np.random.default_rng(0)
    for left, turned in ((0, 0), (10, -1)):
        X = np.vstack([np.tile(aside, (20 - left, 1)), np.tile(ray, (left, 1)), [other] * 20])
        X = sp.csr_array(X * rng.lognormal(0, 0.02, X.shape))
        novel = np.arange(40) < 20 - left
        (found,) = novelty.find_new_clusters(X, novel, rays, levels)
        assert found.turned == turned
        np.testing.assert_array_equal(found.members, np.flatnonzero(novel))
    assert births.places([found._replace(turned=one) for one in (-1, 1)], 3).tolist() == [
        0,
        4,
        2,
        3,
    ]
