"""One sample, one vote: the clusters of samples scaled to length 1, in the samples' own units."""

import numpy as np
import pytest
import scipy.sparse as sp

import onmf
from cases import few
from onmf import ONMF, choose_k
from onmf.datasets import make_rays
from onmf.explain import clusters
from onmf.number import consensus
from onmf.number.halves import Cut
from onmf.number.rays import RayHalf
from onmf.rows import Check, PlacementRequest
from onmf.rows import place as place_rows
from onmf.search.sketch import damping

pytestmark = pytest.mark.filterwarnings("ignore::onmf.exceptions.UnassignedSampleWarning")

K, ZERO = 4, 7
RNG = np.random.default_rng(0)
RAYS = make_rays(300, 30, K, noise=0.3, random_state=0)[0]
LENGTHS = RNG.lognormal(0, 3, 300)  # the longest tenth has nearly all the energy
LENGTHS[ZERO] = 0
X = RAYS * LENGTHS[:, None]
NORMS = np.linalg.norm(X, axis=1)
INSIDE = NORMS > 0
UNIT = X / np.where(INSIDE, NORMS, 1)[:, None]
WEIGHT = RNG.integers(1, 4, 300).astype(float)


def vote(solver="fast", **settings):
    return ONMF(K, solver=solver, equal_votes=True, random_state=0, **settings)


def on_dask(path):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, 30))


def on_disk(path):
    np.save(path / "x.npy", X)
    return path / "x.npy"


PLACES = {
    "array": lambda path: X,
    "csr": lambda path: sp.csr_array(X),
    "float32": lambda path: X.astype(np.float32),
    "disk": on_disk,
    "dask": on_dask,
}


def rays_of(model):
    W = model.cluster_centers_
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def shares_left(model, X):
    """||x - hW||^2 / ||x||^2 of the samples that are not all zero, by definition."""
    left = X - np.asarray(model.membership_) @ model.cluster_centers_
    return np.square(left[INSIDE]).sum(axis=1) / np.square(X[INSIDE]).sum(axis=1)


@pytest.mark.parametrize("place", few(PLACES, 2))
def test_the_clusters_are_those_of_samples_of_length_one(place, tmp_path, penalty_name):
    model = vote(penalty=penalty_name).fit(PLACES[place](tmp_path), sample_weight=WEIGHT)
    scaled = ONMF(K, penalty=penalty_name, random_state=0).fit(UNIT, sample_weight=WEIGHT)
    np.testing.assert_array_equal(model.labels_, scaled.labels_)
    np.testing.assert_allclose(rays_of(model), rays_of(scaled), atol=1e-4)
    assert model.relative_error_ == pytest.approx(scaled.relative_error_, rel=1e-4)
    assert model.labels_[ZERO] == -1


@pytest.mark.parametrize("init", few(["nndsvd", "random"]))
def test_so_are_those_of_the_papers_method(init):
    """Exactly with the smooth penalty, which is a square: sum d/|x|^2 phi(h) = sum d phi(h/|x|)."""
    model = vote("palm", init=init).fit(X, sample_weight=WEIGHT)
    scaled = ONMF(K, solver="palm", init=init, random_state=0).fit(UNIT, sample_weight=WEIGHT)
    np.testing.assert_array_equal(model.labels_, scaled.labels_)
    np.testing.assert_allclose(rays_of(model), rays_of(scaled), atol=1e-6)
    assert model.relative_error_ == pytest.approx(scaled.relative_error_, rel=1e-6)


def test_the_papers_method_with_the_other_penalty_ends_at_the_same_clusters():
    model = vote("palm", penalty="nsncp").fit(X, sample_weight=WEIGHT)
    np.testing.assert_array_equal(model.labels_, vote().fit(X, sample_weight=WEIGHT).labels_)


def test_without_it_long_samples_decide():
    """The promise above would be empty if both gave the same."""
    plain = ONMF(K, random_state=0).fit(X, sample_weight=WEIGHT)
    assert np.abs(rays_of(plain) - rays_of(vote().fit(X, sample_weight=WEIGHT))).max() > 0.05


def test_an_enormous_sample_has_one_vote():
    """A cluster of many short samples is found however long a single other one is."""
    tall = X.copy()
    tall[INSIDE.argmax()] *= 1e12 / NORMS.max()
    np.testing.assert_array_equal(vote().fit(tall).labels_, vote().fit(X).labels_)


@pytest.mark.parametrize("place", PLACES)
def test_none_is_damped_where_all_have_one_vote(place, tmp_path):
    """Without votes the longest are, which shows that these data could tell."""
    rows = place_rows(PLACES[place](tmp_path), None, PlacementRequest(Check("ONMF"))).data
    assert rows.gather(damping(rows)).min() < 1
    voters = rows.one_vote_each().with_larger_blocks()
    np.testing.assert_array_equal(voters.gather(damping(voters))[INSIDE], 1)


@pytest.mark.parametrize("place", few(PLACES, 3))
def test_the_error_is_the_mean_share_that_is_left(place, tmp_path):
    given = PLACES[place](tmp_path)
    model = vote().fit(given, sample_weight=WEIGHT)
    mean = np.average(shares_left(model, X), weights=WEIGHT[INSIDE])
    assert model.relative_error_ == pytest.approx(mean, rel=1e-4)
    assert model.inertia_ == pytest.approx(mean * WEIGHT[INSIDE].sum(), rel=1e-4)
    assert 1 - model.score(given, sample_weight=WEIGHT) == pytest.approx(mean, rel=1e-4)


def test_memberships_are_in_the_units_of_the_samples():
    """The best multiple of the own centroid: h = <x, w> / ||w||^2."""
    model = vote().fit(X)
    W = model.cluster_centers_[model.labels_]
    best = np.einsum("ij,ij->i", X, W) / np.einsum("ij,ij->i", W, W)
    np.testing.assert_allclose(model.membership_.sum(axis=1)[INSIDE], best[INSIDE], rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), model.membership_, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.transform(3 * X), 3 * model.transform(X), rtol=1e-6)
    assert not model.membership_[ZERO].any()


def test_samples_of_one_length_are_clustered_as_ever():
    plain = ONMF(K, random_state=0).fit(UNIT)
    np.testing.assert_array_equal(vote().fit(UNIT).labels_, plain.labels_)


def test_x_is_not_copied():
    data = vote()._place(X, None, lambda *facts: 1.0, reset=True, equal_votes=True).data
    assert np.shares_memory(data.X, X)
    assert all(np.shares_memory(block.X, X) for group in data.groups for _, block in group)


def test_it_is_stored_with_the_model(tmp_path):
    model = vote().fit(X)
    model.save(tmp_path / "model.onmf")
    loaded = onmf.load(tmp_path / "model.onmf")
    assert loaded.equal_votes is True
    assert loaded.score(X) == model.score(X)


def test_enormous_numbers_have_the_same_shares():
    assert vote().fit(X * 2.0**500).inertia_ == pytest.approx(vote().fit(X).inertia_, rel=1e-6)


def test_only_yes_or_no_is_an_answer():
    with pytest.raises(ValueError, match="equal_votes must be True or False, not 'yes'"):
        ONMF(K, equal_votes="yes").fit(X)


@pytest.mark.slow
def test_runs_and_choices_of_k_count_votes():
    scaled, settings = ONMF(K, random_state=0), {"n_runs": 3}
    ours, theirs = (consensus(m, Z, **settings) for m, Z in ((vote(), X), (scaled, UNIT)))
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    ours, theirs = (
        choose_k(m, Z, range(2, 6), **settings) for m, Z in ((vote(), X), (scaled, UNIT))
    )
    assert ours.best_k == theirs.best_k
    assert ours.model.equal_votes


def test_halves_of_the_samples_count_votes():
    """With equal votes a half sees samples of length one: as rows that have it already."""
    cut = Cut.of(np.arange(len(X)), X.shape[1], 0)
    ours, theirs = (RayHalf(Z, WEIGHT, True, cut, False).labels_by_k(2, 5) for Z in (X, UNIT))
    assert ours.keys() == theirs.keys() == set(range(2, 6))
    for k in ours:
        np.testing.assert_array_equal(ours[k].labels, theirs[k].labels)
    plain = RayHalf(X, WEIGHT, False, cut, False).labels_by_k(2, 5)
    assert any((plain[k].labels != ours[k].labels).any() for k in ours)


def test_certainty_is_that_of_samples_of_length_one():
    model, scaled = vote().fit(X), ONMF(K, random_state=0).fit(UNIT)
    ours, theirs = clusters(model, X).certainty, clusters(scaled, UNIT).certainty
    np.testing.assert_allclose(ours, theirs, atol=0.02)


@pytest.mark.parametrize("chunks", few([None, 2]))
def test_votes_beyond_single_precision_are_kept_in_double(chunks):
    """1 / ||x||^2 of samples of length 1e-20 was cut at the largest number: another clustering."""
    steps = np.array([[1, 9], [2, 8], [7, 1], [9, 2], [1, 8], [8, 1]])
    lengths = np.array([2.0**37, 1, 2**10, 1, 2**20, 2**5])[:, None]
    rows = (np.ldexp(steps * lengths, -70)).astype(np.float32)
    given = rows if chunks is None else pytest.importorskip("dask.array").from_array(rows, chunks)
    found, large = (ONMF(3, equal_votes=True, random_state=0).fit(x) for x in (given, rows * 2**30))
    np.testing.assert_array_equal(found.labels_, large.labels_)
    assert found.relative_error_ == pytest.approx(large.relative_error_, rel=1e-5)
