"""The stream: batches given again and again lead to a fixed point of the exact alternation."""

import numpy as np
import pytest

from onmf import ONMF, StreamONMF
from onmf.datasets import make_rays
from onmf.exceptions import SignedDataWarning
from onmf.losses import LOSSES
from onmf.losses.batches import DECAY
from onmf.rows.memory import InMemory
from onmf.streams.births import Comparison
from solving import ray_alternation

BATCHES = 10


@pytest.fixture(scope="module", name="X")
def samples():
    X, _ = make_rays(2000, 40, 6, noise=1.0, random_state=0)
    return np.random.default_rng(0).permutation(X)


def after_passes(X, passes, sizes=None):
    """Rays after the batches of X were given so many times, and how stationary they are for X."""
    model = ONMF(6, random_state=0)
    cuts = np.linspace(0, len(X), BATCHES + 1).astype(int)[1:-1] if sizes is None else sizes
    for _ in range(passes):
        for batch in np.split(X, cuts):
            model.partial_fit(batch)
    alternation = ray_alternation(InMemory(X), tol=0.0)
    return model, alternation.stationarity(alternation.begin(model.cluster_centers_))


@pytest.mark.slow
def test_repeated_batches_converge_to_a_fixed_point_of_the_alternation(X):
    """At the rate of the steps: eight times the batches, 8^(3/4) times as near."""
    _, early = after_passes(X, 5)
    model, late = after_passes(X, 40)
    assert late < 1e-3
    assert late < 1.3 * early * 8**-DECAY
    fixed = ONMF(6, init=(None, model.cluster_centers_), tol=1e-9).fit(X)
    np.testing.assert_array_equal(model.predict(X), fixed.labels_)
    assert 1 - model.score(X) == pytest.approx(fixed.relative_error_, rel=1e-4)
    for k in range(6):  # by definition: the leading singular vector of its samples
        own = X[model.predict(X) == k]
        ray = model.cluster_centers_[k] / np.linalg.norm(model.cluster_centers_[k])
        assert np.abs(ray @ np.linalg.svd(own, full_matrices=False)[2][0]) > 1 - 1e-6


@pytest.mark.slow
def test_uneven_batches_lead_to_the_same_fixed_point(X):
    model, _ = after_passes(X, 40)
    uneven, late = after_passes(X, 40, sizes=[700, 701, 750, 1300])
    assert late < 2e-3
    assert 1 - uneven.score(X) == pytest.approx(1 - model.score(X), rel=1e-3)


def test_one_step_by_hand():
    """P <- (1 - eta) P + eta P(batch) with eta = 2^(-3/4); an unseen cluster stays."""
    W = np.array([[1.0, 0], [0, 2]])
    loss, first = LOSSES["frobenius"], ray_alternation(InMemory(np.array([[1.0, 0], [0, 2]])))
    stream = loss.batch(first.begin(W))
    np.testing.assert_allclose(stream.image, [[1, 0], [0, 4]])
    comparison = Comparison(loss, first.settings)
    _, stream, W = comparison.take_in(InMemory(np.array([[3.0, 4 / 3]])), W, stream)
    eta = 2**-0.75
    np.testing.assert_allclose(
        stream.image[0], (1 - eta) * np.array([1, 0]) + eta * np.array([9, 4])
    )
    np.testing.assert_allclose(stream.image[1], [0, 4])
    assert stream.batches.tolist() == [2, 1]
    np.testing.assert_allclose(W[0] / W[0, 0], stream.image[0] / stream.image[0, 0])
    np.testing.assert_array_equal(W[1], [0, 2])


def test_weights_count_as_repetitions(X):
    once, twice = (ONMF(3, random_state=0).partial_fit(X[:900]) for _ in range(2))
    for batch in np.split(X[900:1500], 2):
        once.partial_fit(np.repeat(batch, 2, axis=0))
        twice.partial_fit(batch, sample_weight=np.full(300, 2.0))
    np.testing.assert_allclose(
        once.cluster_centers_[once.predict(X)], twice.cluster_centers_[twice.predict(X)], rtol=1e-6
    )


def test_a_batch_of_zeros_changes_nothing(X):
    model = ONMF(3, random_state=0).partial_fit(X[:900])
    before = model.cluster_centers_.copy()
    model.partial_fit(np.zeros((5, 40)))
    np.testing.assert_array_equal(model.cluster_centers_, before)
    assert model.labels_.tolist() == [-1] * 5


def test_a_fit_begins_anew(X):
    model = ONMF(3, random_state=0).partial_fit(X[:500]).partial_fit(X[500:1000])
    model.fit(X[:300])
    expected = ONMF(3, random_state=0).fit(X[:300]).cluster_centers_
    np.testing.assert_array_equal(model.cluster_centers_, expected)


def test_partial_fit_continues_from_a_fit(X):
    """Twenty samples more do not undo a fit to two thousand."""
    model = ONMF(6, random_state=0).fit(X)
    before = model.score(X)
    model.partial_fit(X[:20])
    assert model.score(X) == pytest.approx(before, rel=1e-3)
    assert len(model.labels_) == 20


def test_a_fit_counts_as_the_batches_that_it_is_worth(X):
    """Two thousand samples are forty batches of fifty: the next step is 41^(-3/4)."""
    fitted = ONMF(6, random_state=0).fit(X)
    batch = X[:50]
    state = ray_alternation(InMemory(batch)).begin(fitted.cluster_centers_)
    known = LOSSES["frobenius"].batch_of_centroids(
        fitted.cluster_centers_, np.bincount(fitted.labels_).astype(float) / 40, False
    )
    eta = np.where(state.sums.weight > 0, 41**-DECAY, 0)[:, None]
    image = known.image + eta * (state.sums.cross - known.image)
    fitted.partial_fit(batch)
    np.testing.assert_allclose(fitted._stream.image, image)
    expected = image / np.linalg.norm(image, axis=1, keepdims=True)
    found = fitted.cluster_centers_ / np.linalg.norm(fitted.cluster_centers_, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("kind", [ONMF, StreamONMF])
def test_the_callback_hears_of_every_batch(X, kind):
    events = []
    model = kind(6, random_state=0, callback=lambda event: bool(events.append(event)))
    model.partial_fit(X[:800])
    assert events
    for start in (800, 1000):
        events.clear()
        model.partial_fit(X[start : start + 200])
        (event,) = events
        assert event.stage.relative_error == model.relative_error_
        np.testing.assert_array_equal(event.membership(), model.membership_)
    fitted = kind(6, random_state=0).fit(X)
    events.clear()
    fitted.set_params(callback=model.callback).partial_fit(X[:200])
    assert len(events) == 1


def test_verbose_says_a_sentence_a_batch(X, caplog):
    caplog.set_level("INFO", "onmf")
    model = ONMF(6, random_state=0, verbose=1).partial_fit(X[:800])
    caplog.clear()
    model.partial_fit(X[800:1000])
    (record,) = caplog.records
    assert f"{model.relative_error_:.2%} of X is unexplained" in record.getMessage()


@pytest.mark.parametrize("kind", [ONMF, StreamONMF])
def test_a_batch_without_negative_entries_leaves_signed_centroids_free(kind):
    rng = np.random.default_rng(0)
    rays = np.array([[1.0, -1, 0.5, 0], [-1, 1, 0.5, 1], [0, 0.2, -1, 2]])
    X = rng.uniform(1, 2, (900, 1)) * rays[np.arange(900) % 3] + rng.normal(0, 0.05, (900, 4))
    with pytest.warns(SignedDataWarning) as said:
        model = kind(3, random_state=0).partial_fit(X)
    assert len(said) == 1  # of later batches it is known
    model.partial_fit(X[:30])
    before = model.cluster_centers_
    model.partial_fit(np.abs(X[:3]))
    turned = (before * model.cluster_centers_).sum(axis=1)
    turned /= np.linalg.norm(before, axis=1) * np.linalg.norm(model.cluster_centers_, axis=1)
    assert turned.min() > 0.5  # none was cut at zero
    assert (model.cluster_centers_ < -0.1).sum() == 3


@pytest.mark.parametrize("kind", [ONMF, StreamONMF])
def test_negative_entries_in_a_later_batch_are_noted(X, kind):
    model = kind(6, random_state=0).partial_fit(X[:800])
    with pytest.warns(SignedDataWarning, match="any sign") as said:
        model.partial_fit(X[800:900] - 0.1 * X.mean())
    assert said[0].filename == __file__
    bounded = kind(6, random_state=0, center_bounds=(0, None)).partial_fit(X[:800])
    with pytest.raises(ValueError, match="Negative values"):
        bounded.partial_fit(-X[800:900])


def test_the_faithful_solver_has_no_stream():
    assert not hasattr(ONMF(solver="palm"), "partial_fit")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'"):
        ONMF(solver="palm").partial_fit(np.eye(8))


def test_where_no_cluster_can_be_born_the_warm_up_is_longer(X):
    """Its end is a fixed point of the alternation for all samples so far, as that of a fit."""
    X = X[:800]
    kept = {}
    for most in (None, 6, 7):
        model = StreamONMF(6, max_clusters=most, random_state=0)
        for batch in np.split(X, 4):
            model.partial_fit(batch)
        kept[most] = model._stream_history.warmup.shape[0]
        fixed = ONMF(6, init=(None, model.cluster_centers_), tol=1e-9).fit(X)
        is_fixed = 1 - model.score(X) == pytest.approx(fixed.relative_error_, rel=1e-6)
        assert is_fixed == (most != 7)
    assert kept == {None: 800, 6: 800, 7: 0}  # 280 and 70 samples per cluster
