"""`fit(X, y)` with classes that are known for some samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import make_scorer, rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from onmf import ONMF, Baseline, Fast, StreamONMF
from onmf.datasets import make_rays
from onmf.exceptions import ConvergenceWarning

X, TRUTH = make_rays(300, 20, 4, noise=0.4, random_state=0)
COUNTS = np.round(20 * X)


def some_known(share=0.1, seed=0, truth=TRUTH):
    known = np.random.default_rng(seed).random(len(truth)) < share
    return np.where(known, truth, -1)


@pytest.mark.parametrize("loss", ["frobenius", "kl"])
def test_known_samples_stay_and_classes_keep_their_order(loss):
    rng = np.random.default_rng(1)
    wrong = np.where(rng.random(300) < 0.1, rng.integers(4, size=300), -1)
    model = ONMF(4, loss=loss, random_state=0).fit(COUNTS, wrong)
    known = wrong >= 0
    np.testing.assert_array_equal(model.labels_[known], wrong[known])
    free = model.predict(COUNTS)
    np.testing.assert_array_equal(model.labels_[~known], free[~known])
    assert model.n_disagreements_ == np.sum(free != model.labels_) > 0
    soft = ONMF(4, loss=loss, random_state=0).fit(COUNTS, wrong, soft=True)
    np.testing.assert_array_equal(soft.labels_, soft.predict(COUNTS))
    right = ONMF(4, loss=loss, random_state=0).fit(COUNTS, some_known())
    assert np.mean(right.labels_ == TRUTH) > 0.97


def test_classes_keep_their_names():
    names = np.array(["zebra", "ant", "bee", "cow"])[TRUTH].astype(object)
    names[some_known() < 0] = ""
    model = ONMF(4, random_state=0).fit(X, names)
    assert model.cluster_names_ == {0: "ant", 1: "bee", 2: "cow", 3: "zebra"}
    names[names == ""] = None
    np.testing.assert_array_equal(ONMF(random_state=0).fit(X, names).labels_, model.labels_)
    assert len(ONMF(random_state=0).fit(X, names).cluster_centers_) == 4


def test_the_optimum_of_the_definition():
    """With the labels of the fit, each centroid is the best ray of its weighted samples."""
    y = some_known()
    model = ONMF(4, random_state=0, tol=0, max_iter=500).fit(X, y)
    known = y >= 0
    weight = np.where(known, np.sum(~known) / known.sum(), 1)
    for k, w in enumerate(model.cluster_centers_):
        own = model.labels_ == k
        ray = np.abs(np.linalg.svd(X[own] * np.sqrt(weight[own])[:, None])[2][0])
        np.testing.assert_allclose(w / np.linalg.norm(w), ray, atol=1e-6)
    left = X - model.membership_ @ model.cluster_centers_
    assert model.relative_error_ == pytest.approx(np.sum(left**2) / np.sum(X**2), rel=1e-6)


def test_more_clusters_than_classes_are_free():
    y = np.where(TRUTH < 2, some_known(0.2), -1)
    model = ONMF(4, random_state=0).fit(X, y)
    assert {*np.unique(y)} == {-1, 0, 1}
    for k in (0, 1):
        assert np.mean(TRUTH[model.labels_ == k] == k) > 0.9
    assert model.cluster_names_ == {0: "0", 1: "1", 2: "cluster 2", 3: "cluster 3"}


def test_the_same_in_every_place(tmp_path):
    y = some_known()
    here = ONMF(4, random_state=0).fit(X, y)
    np.save(tmp_path / "X.npy", X)
    places = [str(tmp_path / "X.npy"), sp.csr_array(X)]
    dask = pytest.importorskip("dask.array")
    places.append(dask.from_array(X, chunks=(70, 20)))
    for place in places:
        there = ONMF(4, random_state=0).fit(place, y)
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-6)
        np.testing.assert_allclose(there.relative_error_, here.relative_error_, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda X: np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X), {}),
        (lambda X: X, {"outliers": 0.05}),
        (lambda X: X, {"equal_votes": True}),
        (lambda X: X - 0.1, {"center_bounds": (None, None)}),
        (lambda X: X.astype(np.float32), {"loss": "kl", "equal_votes": True}),
        (lambda X: X, {"center_bounds": (0, 0.5)}),
    ],
)
def test_with_other_features(change, options):
    y = some_known(0.2)
    model = ONMF(4, random_state=0, **options).fit(change(X), y)
    np.testing.assert_array_equal(model.labels_[y >= 0], y[y >= 0])
    assert np.mean(model.labels_[y < 0] == TRUTH[y < 0]) > 0.9
    stream = StreamONMF(4, random_state=0).fit(X, y)
    assert stream.partial_fit(X).cluster_names_[2] == "2"


def test_a_y_without_unknown_samples_is_ignored():
    alone = ONMF(4, random_state=0).fit(X).labels_
    for y in (TRUTH, TRUTH.astype(str), np.full(300, -1), X[:, :2], TRUTH * 0.5):
        np.testing.assert_array_equal(ONMF(4, random_state=0).fit(X, y).labels_, alone)
    pipe = make_pipeline(FunctionTransformer(), ONMF(random_state=0))
    search = GridSearchCV(pipe, {"onmf__n_clusters": [2, 4]}, scoring=make_scorer(rand_score), cv=3)
    assert search.fit(X, TRUTH).best_params_ == {"onmf__n_clusters": 4}
    baseline = Baseline("k-means", 4, random_state=0)
    np.testing.assert_array_equal(baseline.fit(X, some_known()).labels_, baseline.fit(X).labels_)


def test_what_does_not_combine(tmp_path):
    y = some_known()
    for options, said in [
        ({"solver": "palm"}, "needs solver='fast'"),
        ({"solver": Fast(passes=2)}, "cannot be combined: the summary"),
        ({"solver": Fast(checkpoint=tmp_path)}, "cannot be combined: a guided fit"),
        ({"init": X[:4]}, "leave out init"),
        ({"init": ONMF(4).fit(X)}, "both say where to start"),
        ({"n_clusters": 3}, "4 classes, more than n_clusters=3"),
    ]:
        with pytest.raises(ValueError, match=said):
            ONMF(**{"n_clusters": 4} | options).fit(X, y)
    with pytest.raises(ValueError, match="y has 299 labels, X 300 samples"):
        ONMF(4).fit(X, y[1:])


def test_a_limit_is_said():
    noise = np.random.default_rng(0).random((200, 10))
    y = np.where(np.arange(200) < 20, np.arange(200) % 4, -1)
    with pytest.warns(ConvergenceWarning):
        ONMF(4, random_state=0, max_iter=2, tol=0).fit(noise, y)
