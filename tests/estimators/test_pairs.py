"""Features together: what may be combined gives the planted clusters wherever the samples are, and
what may not is refused by its names."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import onmf
from cases import few
from onmf import ONMF, PALM, Fast
from onmf.estimators import solvers
from onmf.losses import LOSSES
from onmf.losses.support import CONFLICTS, FEATURES, OF_PALM
from onmf.rows import disk

N, M, K = 240, 24, 3
STRANGE = np.arange(0, N, 24)  # ten samples, each with one entry that is far too large


def samples(seed=0, strange=False, missing=False):
    """Three kinds that share little, noise in proportion and within bounds."""
    rng = np.random.default_rng(seed)
    profiles = np.full((K, M), 0.1) + np.kron(np.eye(K), np.linspace(1, 3, M // K))
    y = rng.permutation(np.arange(N) % K)
    X = rng.uniform(0.7, 1.5, (N, 1)) * profiles[y] * rng.uniform(0.7, 1.3, (N, M))
    if strange:
        X[STRANGE, (STRANGE + 9 * y[STRANGE]) % M] += 40
        y[STRANGE] = -1
    if missing:
        X[(rng.random(X.shape) < 0.15) & (X < 20)] = np.nan
    return X, y


def asked(names, **more):
    """Parameters for some of the features."""
    parameters = {"outliers": "auto"} if "outliers" in names else {}
    return parameters | ({"solver": Fast(passes=3)} if "passes" in names else {}) | more


def sparse(X, folder):
    """CSR in which a missing value is stored."""
    stored = sp.csr_array(np.where(np.isnan(X), -1, X))
    stored.data[stored.data == -1] = np.nan
    return stored


def on_disk(X, folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def on_dask(*chunks):
    def put(X, folder):
        return pytest.importorskip("dask.array").from_array(X, chunks=(chunks, M))

    return put


PLACES = {
    "array": lambda X, folder: X,
    "dask": on_dask(1, 100, 139),
    "csr": sparse,
    "disk": on_disk,
    "dask, one chunk": on_dask(N),
}
TOGETHER = [
    (loss.name, names)
    for loss in LOSSES.values()
    for size in (2, 3)
    for names in combinations(["outliers", "missing", "passes"], size)
    if loss.supports.issuperset(names)
]


@pytest.fixture(autouse=True)
def small_summary(monkeypatch):
    monkeypatch.setattr(solvers, "MIN_SUMMARY_ROWS", 90)
    monkeypatch.setattr(solvers, "SUMMARY_ROWS_PER_CLUSTER", 1)
    monkeypatch.setattr(disk, "MAX_MAP_AS_ARRAY_BYTES", 0)  # every file is read in blocks


def test_there_is_something_to_try():
    assert {("frobenius", ("outliers", "missing", "passes")), ("kl", ("outliers", "passes"))} < {
        *TOGETHER
    }


def data_for(names):
    return samples(strange="outliers" in names, missing="missing" in names)


@pytest.mark.parametrize("place", few(PLACES, 2))
@pytest.mark.parametrize(("loss", "names"), TOGETHER)
def test_the_planted_clusters_are_found_in_every_place(loss, names, place, tmp_path):
    X, y = data_for(names)
    model = ONMF(K, loss=loss, random_state=0, **asked(names))
    there = PLACES[place](X, tmp_path)
    found = model.fit(there)
    np.testing.assert_array_equal(found.labels_ < 0, y < 0)
    assert adjusted_rand_score(y, found.labels_) == 1
    np.testing.assert_array_equal(np.asarray(found.predict(there)), found.labels_)
    assert found.score(X) == pytest.approx(1 - found.relative_error_)
    here = ONMF(K, loss=loss, random_state=0, **asked(names)).fit(X)
    np.testing.assert_array_equal(found.labels_, here.labels_)
    scale = here.cluster_centers_.max()
    np.testing.assert_allclose(found.cluster_centers_, here.cluster_centers_, 0, 1e-9 * scale)
    assert found.inertia_ == pytest.approx(here.inertia_)
    if "missing" in names:
        assert found.n_missing_ == np.isnan(X).sum()


@pytest.mark.parametrize(("loss", "names"), TOGETHER)
def test_a_file_of_any_pair_is_read_and_a_fit_from_it_keeps_the_ids(loss, names, tmp_path):
    X, _ = data_for(names)
    model = ONMF(K, loss=loss, random_state=0, **asked(names)).fit(X)
    model.save(tmp_path / "m.onmf")
    loaded = onmf.ONMF.load(tmp_path / "m.onmf")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    assert repr(loaded) == repr(model)
    again = ONMF(init=loaded, loss=loss, random_state=0, **asked(names)).fit(X)
    assert again.lineage_.kept == (0, 1, 2)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize(("loss", "names"), TOGETHER)
def test_one_pass_finds_the_clusters_too(loss, names):
    X, y = data_for(names)
    if "passes" in names:
        model = ONMF(K, loss=loss, random_state=0, **asked(names) | {"solver": Fast(passes=1)})
        assert adjusted_rand_score(y, model.fit(X).predict(X)) > 0.98
        assert not hasattr(model, "labels_")


STREAMED = [
    (loss.name, names)
    for loss in LOSSES.values()
    for names in [("outliers",), ("missing",), ("outliers", "missing")]
    if loss.supports.issuperset(names)
]


@pytest.mark.parametrize("kind", [np.asarray, lambda X: sparse(X, None)], ids=["dense", "csr"])
@pytest.mark.parametrize(("loss", "names"), STREAMED)
def test_a_stream_finds_the_planted_clusters(loss, names, kind):
    model, (X, y) = ONMF(K, loss=loss, random_state=0, **asked(names)), data_for(names)
    for rows in np.split(np.arange(N), [120, 160, 200]):
        batch = kind(X[rows])
        model.partial_fit(batch)
        assert (model.labels_[y[rows] < 0] == -1).all()
        np.testing.assert_array_equal(model.labels_, model.predict(batch))
    labels = model.predict(X)
    strange = (labels < 0) & (y >= 0)
    assert strange.sum() <= 0.02 * N  # the limit is that of the first batch
    assert adjusted_rand_score(y[~strange], labels[~strange]) == 1


@pytest.mark.parametrize("missing", [False, True])
def test_missing_values_may_come_and_go_in_a_stream(missing, tmp_path):
    """Complete rows and others are kept together; a file in between changes nothing."""
    complete, holes = samples(1)[0], samples(1, missing=True)[0]
    one, two = (complete, holes) if missing else (holes, complete)
    model = ONMF(K, random_state=0).partial_fit(one).partial_fit(two[:100])
    model.save(tmp_path / "m.onmf")
    again = onmf.ONMF.load(tmp_path / "m.onmf").partial_fit(one).partial_fit(two)
    model.partial_fit(one).partial_fit(two)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    assert adjusted_rand_score(samples(1)[1], model.predict(holes)) == 1


# What is refused

FIRST = ONMF(K, random_state=0).fit(samples()[0])
X = samples()[0]
HOLES = samples(missing=True)[0]


def fit(names, loss="frobenius", solver="fast"):
    """A fit that asks for these features and nothing else."""
    choice = {"fast": Fast, "palm": PALM}[solver]
    given = {"passes": 2} if "passes" in names else {}
    parameters = {
        "outliers": {"outliers": 3},
        "model": {"init": FIRST},
        "n_init": {"n_init": 2},
    }
    settings = {"loss": loss, "solver": choice(**given), "random_state": 0}
    for name in names & parameters.keys():
        settings |= parameters[name]
    rows, model = HOLES if "missing" in names else X, ONMF(K, **settings)
    if "signed" in names:
        rows = rows - 1e-9
    return model.partial_fit(rows) if "streams" in names else model.fit(rows)


@pytest.mark.parametrize("pair", CONFLICTS, ids=lambda pair: " ".join(sorted(pair)))
def test_a_pair_that_makes_no_sense_is_refused(pair):
    words = {"missing": "NaN", "model": "model as"}
    with pytest.raises(ValueError, match=r"\.$") as refused:
        fit(pair)
    for name in pair:
        assert words.get(name, name) in str(refused.value)


@pytest.mark.parametrize("feature", sorted(FEATURES.keys() - OF_PALM))
def test_what_the_paper_has_not_is_refused_with_its_method(feature):
    words = {"missing": "NaN", "streams": "partial_fit"}
    refused = (ValueError, AttributeError, TypeError)  # PALM has no parameter `passes`
    with pytest.raises(refused, match=words.get(feature, feature)):
        fit({feature}, solver="palm")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_paper_s_method_is_for_squares(loss):
    if loss == "frobenius":
        assert fit(set(), solver="palm").converged_
    else:
        with pytest.raises(ValueError, match=f"loss='{loss}' needs solver='fast': the paper's"):
            fit(set(), loss=loss, solver="palm")


@pytest.mark.parametrize("feature", sorted(OF_PALM))
def test_what_the_paper_has_works_with_its_method(feature):
    model = fit({feature}, solver="palm")
    assert adjusted_rand_score(samples()[1], model.labels_) == 1


def test_the_paper_s_method_uses_the_penalty_when_it_starts_from_a_model():
    """The penalty changes the path."""
    settings = {"init": FIRST, "random_state": 0}
    one, other = (
        ONMF(K, solver=PALM(name, growth=3.0), **settings).fit(X) for name in ("sncp", "nsncp")
    )
    assert one.history_ != other.history_
