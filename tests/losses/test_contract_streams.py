"""What a stream with any loss of `LOSSES` promises: batches, births, and files in between."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import onmf
from losses_cases import K, M, planted, three_kinds
from onmf import ONMF, StreamONMF
from onmf.estimators.parameters import bounds_by_sign
from onmf.losses.alternation import Settings
from onmf.losses.batches import DECAY, MaskedBatches, RayBatches
from onmf.losses.settling import settle
from onmf.palm.palm import NON_NEGATIVE, Bounds
from onmf.palm.penalties import SNCP
from onmf.rows.memory import InMemory
from onmf.search.solver import SearchSettings
from onmf.streams.births import Comparison, StreamHistory

X, Y = planted(120)
WEIGHT = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
SETTINGS = Settings(SearchSettings(tol=1e-12), SNCP())
BOUNDS = bounds_by_sign((0.0, 1.0))


@cache
def end_of_fit(loss, equal_votes=False):
    """The alternation of a fit, and where it ends."""
    data = loss.with_equal_votes(InMemory(X, WEIGHT)) if equal_votes else InMemory(X, WEIGHT)
    alternation = loss.alternation(data, SETTINGS._replace(equal_votes=equal_votes))
    return alternation, settle(alternation, X[:K], 300)


def shares(W):
    return W / W.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("equal_votes", [False, True])
def test_a_stream_of_one_batch_is_where_the_fit_ends(loss, equal_votes):
    alternation, end = end_of_fit(loss, equal_votes)
    batch = loss.batch(end)
    np.testing.assert_allclose(batch.centroids(end.W, BOUNDS), end.W, 1e-6)
    np.testing.assert_array_equal(batch.batches, np.ones(K))
    sizes = np.bincount(end.labels(alternation.data), WEIGHT, K)
    made_up = loss.batch_of_centroids(end.W, sizes, equal_votes)
    factor = made_up.weight / batch.weight  # lengths of samples are not known any more
    np.testing.assert_allclose(factor, 1, atol=0.05)
    for name, part in batch.as_dict().items():
        known = getattr(made_up, name) / (factor if part.ndim == 1 else factor[:, None])
        if name != "batches":
            np.testing.assert_allclose(known, part, 1e-5, err_msg=name)
    W = made_up.as_mean_of(7).after(batch).centroids(end.W, BOUNDS)
    np.testing.assert_allclose(W, end.W, 1e-5)


def test_the_same_batch_again_and_again_moves_nothing(loss):
    alternation, end = end_of_fit(loss)
    model = ONMF(K, loss=loss.name, init=end.W, random_state=0).partial_fit(X, sample_weight=WEIGHT)
    W = model.cluster_centers_
    for _ in range(3):
        model.partial_fit(X, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.cluster_centers_, W, 1e-4)
    np.testing.assert_array_equal(model.labels_, end.labels(alternation.data))
    assert model.inertia_ == pytest.approx(alternation.loss(end))


def test_sums_are_means_over_the_batches_that_had_samples(loss):
    """P <- P + t^(-3/4) (new - P) in the t-th batch of a cluster, one cluster after the other."""
    comparison = Comparison(loss, SETTINGS)
    W = X[:K]
    batches = [X[:20], X[20:50][Y[20:50] > 0], X[50:]]
    states, sums, means = [], None, None
    for rows in batches:
        state = loss.alternation(InMemory(rows), SETTINGS).begin(W)
        states.append(loss.batch(state))
        if sums is None:
            sums = states[0]
        else:
            _, sums, _ = comparison.take_in(InMemory(rows), W, sums)
    first, *rest = [one.as_dict() for one in states]
    means = {name: np.array(part, float) for name, part in first.items()}
    for batch in rest:
        for k in range(K):
            if batch["weight"][k] == 0:
                continue
            means["batches"][k] += 1
            for name in set(means) - {"batches"}:
                step = means["batches"][k] ** -DECAY
                means[name][k] += step * (batch[name][k] - means[name][k])
    assert 2 in means["batches"]
    assert 3 in means["batches"]
    for name, part in means.items():
        np.testing.assert_allclose(getattr(sums, name), part, 1e-12, err_msg=name)


def test_a_cluster_without_samples_in_a_batch_stays_where_it_is(loss):
    model = ONMF(K, loss=loss.name, random_state=0).fit(X)
    before, kind = model.cluster_centers_, model.labels_[0]
    other = model.labels_ != kind
    model.partial_fit(X[other] * np.random.default_rng(0).lognormal(0, 0.3, (other.sum(), M)))
    moved = np.abs(model.cluster_centers_ - before).max(axis=1)
    assert moved[kind] == 0
    assert (np.delete(moved, kind) > 0).all()


def test_batches_of_a_data_set_given_again_and_again_lead_to_where_a_fit_ends(loss):
    end = end_of_fit(loss)[1]
    rough = X[:K] * np.random.default_rng(3).lognormal(0, 0.2, (K, M))
    model = ONMF(K, loss=loss.name, init=rough, random_state=0)
    for part in 30 * [0, 1, 2]:
        rows = slice(40 * part, 40 * (part + 1))
        model.partial_fit(X[rows], sample_weight=WEIGHT[rows])
    turned = np.abs(shares(model.cluster_centers_) - shares(end.W)).sum(axis=1) / 2
    assert turned.max() < 0.01


def test_a_stream_continues_from_its_file(loss, tmp_path):
    new = planted(100, 7)[0] * np.linspace(0.5, 2, M)
    for kind in (ONMF(K, loss=loss.name), StreamONMF(K, max_clusters=6, loss=loss.name)):
        model = kind.set_params(random_state=0).partial_fit(X).partial_fit(X[::-1] ** 1.1)
        model.save(tmp_path / "m.onmf")
        again = onmf.load(tmp_path / "m.onmf")
        for stream in (model, again):
            stream.partial_fit(X[:50] ** 0.9).partial_fit(new)
        np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
        np.testing.assert_array_equal(again.cluster_ids_, model.cluster_ids_)
        np.testing.assert_array_equal(again.labels_, model.labels_)


def test_a_new_kind_of_sample_gets_a_cluster_and_one_that_ended_loses_it(loss):
    A, y = three_kinds(600, 0)
    old = A[y < 2]
    model = StreamONMF(2, max_clusters=5, loss=loss.name, random_state=0)
    model.partial_fit(old[:100]).partial_fit(old[100:200])
    assert model.cluster_ids_.tolist() == [0, 1]
    model.partial_fit(A[y == 2][:30])
    assert model.lineage_.born == (2,)
    assert len(set(model.predict(A[y == 2]))) == 1
    assert model.cluster_ids_[model.predict(A[y == 2])[0]] == 2
    np.testing.assert_array_equal(model.predict(A[y < 2]) < 2, True)
    assert model.n_waiting_ == 0
    for _ in range(14):
        model.partial_fit(A[y != 1][:60])
    assert model.cluster_ids_.tolist() == [model.cluster_ids_[model.predict(A[y == 0])[0]], 2]


def test_samples_of_known_kinds_are_not_novel_and_others_are(loss):
    """Cosines in the view of the loss, of the samples with their own centroids."""
    A, y = three_kinds(300, 1)
    known, new = A[y < 2], A[y == 2]
    model = ONMF(2, loss=loss.name, random_state=0).fit(known)
    comparison = Comparison(loss, SETTINGS)
    data = InMemory(known)
    state = loss.alternation(data, SETTINGS).begin(model.cluster_centers_)
    sums = loss.batch(state)
    batch = comparison.batch(data, state, sums)
    directions = sums.directions(model.cluster_centers_, SETTINGS.search.bounds)
    rows, rays = map(loss.view_rows, (known, directions))
    unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in (rows, rays)]
    cosines = (unit[0] @ unit[1].T)[np.arange(len(known)), model.labels_]
    np.testing.assert_allclose(batch.cosine_to_own, cosines)
    history = StreamHistory.begin(batch, np.ones(len(known)), 2)
    assert history.is_novel(batch).mean() < 0.15
    other = InMemory(new)
    state = loss.alternation(other, SETTINGS).begin(model.cluster_centers_)
    assert history.is_novel(comparison.batch(other, state, sums)).all()
    assert history.is_novel(batch._replace(labels=np.full(len(known), -1))).all()


def test_a_stream_from_a_fit_knows_how_near_its_samples_are(loss):
    """`from_fit` has distances alone: the cosines of the view that they stand for."""
    A, y = three_kinds(300, 2)
    known = A[y < 2]
    model = ONMF(2, loss=loss.name, random_state=0).fit(known)
    stream = StreamONMF.from_fit(model, model.labels_, model.distance(known), 4)
    data = InMemory(known)
    state = loss.alternation(data, SETTINGS).begin(model.cluster_centers_)
    own = Comparison(loss, SETTINGS).batch(data, state, loss.batch(state)).cosine_to_own
    assert stream._stream_history.levels.mean == pytest.approx(own.mean(), abs=0.01)
    np.testing.assert_allclose(
        stream._stream_history.levels.low().mean(), own.mean() - 2 * own.std(), atol=0.02
    )
    stream.set_params(max_clusters=4)
    stream.partial_fit(known[:50]).partial_fit(A[y == 2][:30])
    assert stream.lineage_.born == (2,)


def test_outliers_of_a_stream_do_not_move_its_centroids(loss):
    wild = X.copy()
    wild[::10, 1] *= 1e3
    model = ONMF(K, loss=loss.name, outliers="auto", random_state=0).fit(X)
    calm, stirred = (deepcopy(model).partial_fit(batch) for batch in (X, wild))
    assert (stirred.labels_[::10] == -1).all()
    turned = np.abs(shares(stirred.cluster_centers_) - shares(calm.cluster_centers_)).sum(axis=1)
    assert turned.max() / 2 < 0.02


def some_batches(seed=0, k=3, masked=False):
    """Sums of k clusters over some batches; the last cluster had none."""
    rng = np.random.default_rng(seed)
    parts = [np.array([*rng.integers(1, 9, k - 1), 0]), rng.random(k), rng.random((k, M))]
    parts += [rng.random(k)] + ([rng.random((k, M)), rng.random(k)] if masked else [])
    return (MaskedBatches if masked else RayBatches)(*parts)


@pytest.mark.parametrize("masked", [False, True])
def test_a_batch_moves_the_means_of_the_clusters_it_has_samples_of(masked):
    """By a share of t^(-3/4), t being how many batches had samples of the cluster."""
    old, new = some_batches(0, masked=masked), some_batches(1, masked=masked)
    new = replace(new, batches=np.array([1, 0, 1]))
    after = old.after(new)
    np.testing.assert_array_equal(after.batches, old.batches + new.batches)
    for name in old.names()[1:]:
        for c, t in enumerate(after.batches):
            was, now = getattr(old, name)[c], getattr(new, name)[c]
            share = t**-0.75 if new.batches[c] else 0
            np.testing.assert_allclose(getattr(after, name)[c], was + share * (now - was))


@pytest.mark.parametrize("masked", [False, True])
def test_centroids_of_batches_keep_their_bounds(masked):
    batches, W = some_batches(masked=masked), np.ones((3, M))
    signed = replace(batches, image=batches.image - 0.5)
    part = signed.centroids(W, NON_NEGATIVE)
    assert (part >= 0).all()
    assert part.any(axis=1).all()
    np.testing.assert_array_equal(signed.centroids(W, Bounds(0.0, 1e3)), part)
    free = signed.centroids(W, Bounds(-np.inf, np.inf))
    seen = signed.image / (signed.shown if masked else 1)
    cosines = (free * seen).sum(axis=1) / np.linalg.norm(free, axis=1)
    np.testing.assert_allclose(cosines, np.linalg.norm(seen, axis=1))


@pytest.mark.parametrize("masked", [False, True])
def test_clusters_of_a_stream_are_chosen_merged_and_added(masked):
    one, other = some_batches(0, masked=masked), some_batches(1, masked=masked)
    chosen, both = one.only(np.array([2, 0])), one.with_more(other)
    merged = one.merged(np.array([1, 0, 1]), 2)
    mean = one.as_mean_of(4)
    for name, part in one.as_dict().items():
        np.testing.assert_array_equal(getattr(chosen, name), part[[2, 0]])
        np.testing.assert_array_equal(getattr(both, name), [*part, *getattr(other, name)])
        if name == "batches":
            np.testing.assert_array_equal(merged.batches, [part[1], max(part[0], part[2])])
            np.testing.assert_array_equal(mean.batches, [4, 4, 0])
        else:
            np.testing.assert_allclose(getattr(merged, name), [part[1], part[0] + part[2]])
            np.testing.assert_allclose(getattr(mean, name), part / 4)


def test_batches_with_and_without_missing_values_are_taken_together():
    """Where nothing is missing, every feature is shown by the multiples of all samples."""
    plain, holes = some_batches(0), some_batches(1, masked=True)
    seen = plain.masked()
    np.testing.assert_array_equal(seen.shown, np.repeat(plain.explained[:, None], M, axis=1))
    np.testing.assert_array_equal(seen.mass, plain.explained)
    for one, other in (
        (plain.after(holes), seen.after(holes)),
        (holes.with_more(plain), holes.with_more(seen)),
    ):
        for name in other.names():
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
