"""`merge` and `split`: the clusters named change, and a few samples at the border of a part."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import onmf
from cases import few
from onmf import ONMF, Fast
from onmf.datasets import make_rays
from onmf.exceptions import FormatError, SignedDataWarning
from onmf.files.container import MODEL, container_bytes, read_container
from onmf.losses import LOSSES


def rays(seed=0, n=240, k=6):
    return make_rays(n, 20, k, noise=0.3, random_state=seed)[0]


def with_missing(X):
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X


KINDS = {
    "squares": (lambda: rays(), {}),
    "counts": (lambda: np.round(20 * rays()), {"loss": "kl"}),
    "sparse": (lambda: sp.csr_array(np.round(5 * rays())), {"loss": "kl"}),
    "missing": (lambda: with_missing(rays()), {}),
    "signed": (lambda: rays() - 0.2, {}),
    "outliers": (lambda: rays(), {"outliers": 0.05}),
    "palm": (lambda: rays(), {"solver": "palm"}),
    "single": (lambda: rays().astype(np.float32), {}),
}


@pytest.fixture(params=few(KINDS))
def fitted(request):
    make, options = KINDS[request.param]
    X = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDataWarning)
        return ONMF(6, random_state=0, **options).fit(X), X


def ids(model, labels):
    return np.append(model.cluster_ids_, -1)[labels]


def new_samples(X):
    return X[::3] if sp.issparse(X) else X[::3] * np.linspace(0.5, 2, len(X[::3]))[:, None]


def test_a_merger_changes_the_merged_ids_only(fitted):
    model, X = fitted
    before, seen = ids(model, model.labels_), ids(model, model.predict(new_samples(X)))
    error, distance = model.relative_error_, model.distance(X)
    others = model.cluster_centers_[[0, 2, 3, 5]].copy()
    assert model.merge([4, 1]) is model
    assert model.cluster_ids_.tolist() == [0, 2, 3, 4, 5]
    for old, labels in ((before, model.labels_), (seen, model.predict(new_samples(X)))):
        np.testing.assert_array_equal(ids(model, labels), np.where(old == 1, 4, old))
    np.testing.assert_array_equal(model.cluster_centers_[[0, 1, 2, 4]], others)
    assert model.relative_error_ == error
    np.testing.assert_array_equal(model.distance(X), distance)
    assert (model.lineage_.merged, model.lineage_.vanished) == (((1, 4),), (1,))
    np.testing.assert_array_equal(model.membership_.argmax(axis=1)[before == 1], 3)


def test_a_split_gives_the_samples_of_one_cluster_to_its_parts(fitted):
    model, X = fitted
    before, error = ids(model, model.labels_), model.relative_error_
    whole = model.ray_weight_.sum()
    model.split(3, X, 3)
    assert model.cluster_ids_.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (model.lineage_.born, model.lineage_.split) == ((6, 7), ((3, 6), (3, 7)))
    now = ids(model, model.labels_)
    assert np.sum(now[before != 3] != before[before != 3]) == model.lineage_.moved <= 0.03 * 240
    assert {*now[(before == 3) & (now >= 0)].tolist()} == {3, 6, 7}
    sizes = np.bincount(now[(before == 3) & (now >= 0)])
    assert sizes[3] >= sizes[6] >= sizes[7] > 0
    assert model.relative_error_ < error
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.ray_weight_.sum() == pytest.approx(whole)


def test_the_score_of_the_label_is_the_largest(fitted):
    model, X = fitted
    model.split(3, X, 2).merge([0, 3]).split(1, X, 2).merge([5, 2])
    labels, scores = model.predict(X), model.decision_function(X)
    inside = labels >= 0
    best = scores.max(axis=1)[inside]
    np.testing.assert_allclose(scores[inside, labels[inside]], best, atol=1e-6)
    np.testing.assert_array_equal(model.transform(X).argmax(axis=1)[inside], labels[inside])
    assert 1 - model.score(X) == pytest.approx(model.relative_error_, rel=0.02)


def test_after_an_edit_the_distance_is_that_of_the_ray_that_a_sample_went_to():
    X = rays()
    model = ONMF(2, random_state=0).fit(X)
    model.split(model.cluster_ids_[0], X)  # three clusters, the parts being 0 and 2
    cosines = X @ model.cluster_centers_.T / np.linalg.norm(model.cluster_centers_, axis=1)
    own = (cosines / np.linalg.norm(X, axis=1)[:, None])[np.arange(240), model.predict(X)]
    np.testing.assert_allclose(model.distance(X), np.sqrt(1 - own**2), atol=1e-6)
    for k in (2, 1):
        model.merge(model.cluster_ids_[:2])
        scores = model.decision_function(X)
        assert scores.shape == (240, k)
        np.testing.assert_allclose(scores.max(axis=1), own, atol=1e-9)


def test_saved_and_loaded(fitted, tmp_path):
    model, X = fitted
    model.split(3, X, 2).merge([0, 6])
    model.save(tmp_path / "model.onmf")
    loaded = onmf.ONMF.load(tmp_path / "model.onmf")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.lineage_ == model.lineage_
    assert loaded.merge([0, 1]).cluster_ids_.tolist() == model.merge([0, 1]).cluster_ids_.tolist()


def test_the_centroid_of_a_merger_is_that_of_its_samples():
    """Squares: the first singular vector; counts: the mean with a hundredth of the overall mean."""
    X = rays()
    model = ONMF(6, random_state=0).fit(X)
    inside = np.isin(model.labels_, [2, 3])
    ray = np.abs(np.linalg.svd(X[inside])[2][0])
    w = model.merge([2, 3]).cluster_centers_[2]
    assert w @ ray / np.linalg.norm(w) > 0.99  # that of its two rays: X is not at hand
    counts = np.round(20 * X)
    model = ONMF(6, loss="kl", random_state=0).fit(counts)
    inside = np.isin(model.labels_, [2, 3])
    mean, whole = counts[inside].mean(axis=0), counts.sum(axis=0)
    expected = 0.99 * mean / mean.sum() + 0.01 * whole / whole.sum()
    w = model.merge([2, 3]).cluster_centers_[2]
    np.testing.assert_allclose(w / w.sum(), expected, atol=2e-4)


def test_what_is_refused_leaves_the_model_as_it_was():
    X = rays()
    model = ONMF(6, random_state=0).fit(X)
    before = dict(vars(model))
    for action, said in [
        (lambda: model.merge([3, 9, 7]), r"no cluster 9, 7: the ids are 0, 1, 2, 3, 4, 5\."),
        (lambda: model.merge([3]), "two clusters or more, not 3"),
        (lambda: model.merge([3, 3]), "two clusters or more"),
        (lambda: model.split(8, X), r"no cluster 8: the ids are"),
        (lambda: model.split(2, X, 1), "n_clusters"),
        (lambda: model.split(2, X, 10_000), "cannot be split into 10000"),
        (lambda: model.split(2, X[:100]), "100 samples but the model was fitted to 240"),
        (lambda: model.split(2, rays(5)), "another cluster than in the model"),
    ]:
        with pytest.raises(ValueError, match=said):
            action()
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
    parallel = np.vstack([np.eye(3)] * 4) * np.arange(1, 13)[:, None]
    model = ONMF(3, random_state=0).fit(parallel)
    with pytest.raises(ValueError, match="too few directions"):
        model.split(1, parallel)


def test_names_follow():
    X = rays()
    model = ONMF(6, random_state=0).fit(X).rename({3: "three", 1: "one", 5: "five"})
    names = model.merge([3, 1]).split(5, X).cluster_names_
    assert (names[3], names[5], names[6]) == ("three", "five", "cluster 6")
    assert 1 not in names


def test_evidence_decides_how_many_parts():
    X = make_rays(400, 30, 5, noise=0.1, random_state=0)[0]
    model = ONMF(5, random_state=0).fit(X)
    model = ONMF(3, init=onmf.ONMF(5, random_state=0).fit(X).merge([0, 1]).merge([2, 3])).fit(X)
    sizes = np.bincount(model.labels_)
    wide = int(np.argmax(sizes))
    model.split(model.cluster_ids_[wide], X, "auto")
    assert len(model.cluster_ids_) == 4
    with pytest.raises(ValueError, match="nothing shows that cluster"):
        model.split(model.cluster_ids_[0], X, "auto")


@pytest.mark.parametrize("place", ["disk", "dask"])
def test_rows_elsewhere(place, tmp_path):
    X = rays()
    if place == "disk":
        np.save(tmp_path / "X.npy", X)
        there = str(tmp_path / "X.npy")
    else:
        there = pytest.importorskip("dask.array").from_array(X, chunks=(100, 20))
    model, here = (ONMF(6, random_state=0).fit(x) for x in (there, X))
    for one, x in ((model, there), (here, X)):
        one.split(3, x, 2).merge([0, 6])
    np.testing.assert_array_equal(model.labels_, here.labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(there)), here.predict(X))
    np.testing.assert_allclose(np.asarray(model.membership_), here.membership_, atol=1e-9)
    np.testing.assert_allclose(np.asarray(model.distance(there)), here.distance(X), atol=1e-7)


def test_explained_as_edited():
    X = rays()
    model = ONMF(6, random_state=0).fit(X).merge([3, 1]).split(0, X)
    found = model.explain(X)
    ordered = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(found.margin, ordered[:, -1] - ordered[:, -2], atol=1e-9)
    assert found.markers.clusters == model.cluster_ids_.tolist()
    one_read = ONMF(3, random_state=0, solver=Fast(passes=1)).fit(X)
    assert one_read.merge([0, 2]).cluster_ids_.tolist() == [0, 1]


@pytest.mark.parametrize("loss", LOSSES)
def test_later_batches_go_where_they_went_before(loss):
    """After any edit; a part is no word's end: its rays have what all rays of a loss have."""
    X = np.round(20 * make_rays(1200, 20, 6, noise=0.2, random_state=0)[0])
    begun = ONMF(6, loss=loss, random_state=0)
    for fit in (begun.fit(X[:600]), clone(begun).partial_fit(X[:600])):
        model = deepcopy(fit).merge([4, 1]).split(0, X[:600]).merge([2, 5]).split(2, X[:600])
        assert len(model.rays_) > len(model.cluster_centers_)
        if loss == "kl":
            assert (model.rays_[:, X[:600].any(axis=0)] > 0).all()
        for batch in np.split(X[600:], 3):
            before = ids(model, model.predict(batch))
            model.partial_fit(batch)
            assert np.mean(ids(model, model.labels_) == before) >= 0.9
            assert not {1, 5} & {*model.cluster_ids_.tolist()}
            assert model.membership_.shape == (200, len(model.cluster_ids_))
        assert 1 not in ONMF(init=model, loss=loss).fit(X).cluster_ids_


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cluster_of_ray_", np.array([0, 1, 1, 2, 3, 9])),
        ("cluster_of_ray_", np.zeros(6, np.int64)),
        ("rays_", np.ones((2, 20))),
        ("rays_", np.full((6, 20), np.nan)),
        ("ray_weight_", np.ones(5)),
        ("ray_weight_", np.full(6, -1.0)),
    ],
)
def test_forged_rays_are_refused(name, value, tmp_path):
    ONMF(6, random_state=0).fit(rays()).merge([3, 1]).save(path := tmp_path / "model.onmf")
    header, arrays = read_container(path, MODEL)
    assert name in arrays
    path.write_bytes(container_bytes(MODEL, header, arrays | {name: value}))
    with pytest.raises(FormatError, match=r"\brays\b"):
        onmf.ONMF.load(path)
