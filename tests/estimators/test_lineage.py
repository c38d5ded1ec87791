"""Refits that never rename a cluster, and streams in which clusters are born and closed."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from onmf import ONMF, PALM, Fast
from onmf.datasets import make_rays
from onmf.estimators.lineage import MAX_TURN_DEGREES, Lineage, nearest_heirs
from onmf.exceptions import FormatError


def rays(n, groups, seed=0, noise=0.3, m=30):
    """Samples of some of eight rays, which any two calls share, mixed."""
    X, y = make_rays(4000, m, 8, noise=noise, random_state=0)
    rng = np.random.default_rng(seed)
    rows = rng.choice(np.flatnonzero(np.isin(y, groups)), n, replace=False)
    return X[rows], y[rows]


def angle(a, b):
    return np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))


@pytest.mark.parametrize("seed", range(8))
def test_an_id_goes_to_the_nearest_ray_within_reach_by_slow_loops(seed):
    rng = np.random.default_rng(seed)
    old = rng.random((5, 4)) ** 3
    new = np.vstack([old + 0.2 * rng.random(old.shape), rng.random((2, 4))])[rng.permutation(7)]
    heir, drift = nearest_heirs(old, new)
    expected = [-1] * 5
    for i in range(5):
        reach = min([MAX_TURN_DEGREES] + [angle(old[i], old[j]) / 2 for j in range(5) if j != i])
        own = [j for j in range(7) if min(range(5), key=lambda o: angle(old[o], new[j])) == i]
        near = [j for j in own if angle(old[i], new[j]) <= reach]
        expected[i] = min(near, key=lambda j: angle(old[i], new[j])) if near else -1
    assert heir.tolist() == expected
    for i, j in enumerate(heir):
        if j >= 0:
            assert drift[j] == pytest.approx(angle(old[i], new[j]), abs=1e-4)
    assert np.isnan(np.delete(drift, heir[heir >= 0])).all()


def test_ids_are_never_given_twice():
    before = Lineage.first(3)
    W = np.eye(4)
    then, order = Lineage.between(W[:3], before, W[[3, 1]])
    assert (then.ids, then.kept, then.born, then.vanished) == ((1, 3), (1,), (3,), (0, 2))
    assert order.tolist() == [1, 0]
    again, _ = Lineage.between(W[[1, 3]], then, W[:3])
    assert (again.ids, again.born, again.vanished) == ((1, 4, 5), (4, 5), (3,))


def test_a_refit_keeps_ids_and_tells_what_came_and_went():
    X, y = rays(400, [0, 1, 2, 3])
    first = ONMF(4, random_state=0).fit(X)
    assert first.lineage_ is None
    np.testing.assert_array_equal(first.cluster_ids_, range(4))
    Z, z = rays(400, [1, 2, 3, 4], seed=1)
    then = ONMF(init=first, random_state=5).fit(Z)
    told = then.lineage_
    (gone,) = {*first.predict(X[y == 0])}
    assert told.vanished == (gone,)
    assert told.born == (4,)
    assert told.kept == tuple(sorted({0, 1, 2, 3} - {gone}))
    for group in (1, 2, 3):
        ids = {*first.labels_[y == group], *then.cluster_ids_[then.labels_[z == group]]}
        assert len(ids) == 1
    np.testing.assert_array_equal(then.cluster_ids_, sorted(then.cluster_ids_))
    np.testing.assert_array_equal(then.labels_, then.predict(Z))
    third = ONMF(init=then, random_state=5).fit(rays(400, [0, 1, 2, 3], seed=2)[0])
    assert third.lineage_.born == (5,)  # the group came back: the id of the first does not
    assert third.explain(rays(400, [0, 1, 2, 3], seed=2)[0]).markers.clusters == [
        *third.cluster_ids_
    ]


def test_more_and_fewer_clusters_leave_the_others_their_ids():
    X, _y = rays(500, range(5))
    five = ONMF(5, random_state=0).fit(X)
    Z, _z = rays(700, range(7), seed=1)
    seven = ONMF(7, init=five, random_state=0).fit(Z)
    assert seven.lineage_.kept == tuple(range(5))
    assert seven.lineage_.born == (5, 6)
    assert seven.relative_error_ == pytest.approx(
        ONMF(7, random_state=0).fit(Z).relative_error_, rel=1e-6
    )
    three = ONMF(3, init=five, random_state=0).fit(X)
    assert len(three.lineage_.kept) + len(three.lineage_.born) == 3
    assert three.lineage_.next_id >= 5


def test_features_are_matched_by_name_and_counted():
    X, _ = rays(300, range(3))
    names = np.array([f"w{j}" for j in range(30)])
    first = ONMF(3, random_state=0).fit(pd.DataFrame(X, columns=names))
    mixed = pd.DataFrame(X, columns=names)[names[::-1]].drop(columns="w7")
    mixed["new"], mixed["newer"] = 0.01, 0.0
    then = ONMF(init=first, random_state=0).fit(mixed)
    assert (then.lineage_.new_features, then.lineage_.lost_features) == (2, 1)
    np.testing.assert_array_equal(then.cluster_ids_[then.labels_], first.labels_)
    with pytest.raises(ValueError, match="give both names"):
        ONMF(init=first).fit(X[:, :20])
    with pytest.raises(ValueError, match="no feature of the model"):
        ONMF(init=first).fit(pd.DataFrame(X).add_prefix("other"))


def test_a_model_may_be_given_as_a_path_and_survives_a_clone(tmp_path):
    X, _ = rays(300, range(3))
    first = ONMF(3, random_state=0).fit(X)
    first.save(tmp_path / "a.onmf")
    by_path = ONMF(init=str(tmp_path / "a.onmf"), random_state=0).fit(X)
    copy = clone(ONMF(init=first, random_state=0))
    assert copy.init is first
    np.testing.assert_array_equal(copy.fit(X).cluster_centers_, by_path.cluster_centers_)
    by_path.save(tmp_path / "b.onmf")
    assert ONMF.load(tmp_path / "b.onmf").lineage_ == by_path.lineage_
    with pytest.raises(ValueError, match="is not fitted"):
        ONMF(init=ONMF()).fit(X)
    palm = ONMF(init=first, random_state=0, solver=PALM(growth=3.0)).fit(X)
    np.testing.assert_array_equal(palm.cluster_ids_, range(3))


def test_a_refit_is_the_same_from_disk_and_in_single_precision(tmp_path):
    X, _ = rays(300, range(4))
    np.save(tmp_path / "X.npy", X)
    first = ONMF(4, random_state=0).fit(X[:200])
    again = ONMF(init=first, random_state=0)
    here = again.fit(X).cluster_centers_
    there = clone(again).fit(np.load(tmp_path / "X.npy", mmap_mode="r")).cluster_centers_
    np.testing.assert_allclose(here, there, rtol=1e-6)
    single = clone(again).fit(X.astype(np.float32))
    assert single.lineage_.kept == (0, 1, 2, 3)


def test_a_refit_goes_with_outliers_missing_values_and_few_passes():
    X, _ = rays(300, range(3))
    first = ONMF(3, random_state=0).fit(X)
    far = np.vstack([X, np.random.default_rng(0).exponential(size=(5, 30)) ** 6])
    model = ONMF(init=first, outliers=5, random_state=0).fit(far)
    assert model.lineage_.kept == (0, 1, 2)
    np.testing.assert_array_equal(model.labels_[:300], first.labels_)
    n_missing = X.copy()
    n_missing[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    assert ONMF(init=first, random_state=0).fit(n_missing).lineage_.kept == (0, 1, 2)
    for given, outliers in ((X, None), (far, 5), (n_missing, None)):
        few = ONMF(init=first, random_state=0, outliers=outliers, solver=Fast(passes=2)).fit(given)
        assert few.lineage_.kept == (0, 1, 2)


def forge(path, **changes):
    """The file with other values in the lineage of its header, its checksums right."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["model.json"])
    told = header["attributes"]["lineage_"]["tuple"]
    for field, value in changes.items():
        told[Lineage._fields.index(field)] = value
    members["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "changes",
    [{"ids": {"tuple": [0, 0, 1]}}, {"next_id": 2}, {"ids": {"tuple": [0, 1]}}, {"kept": "x"}],
)
def test_a_forged_lineage_is_refused(tmp_path, changes):
    X, _ = rays(300, range(3))
    model = ONMF(init=ONMF(3, random_state=0).fit(X)).fit(X)
    model.save(path := tmp_path / "a.onmf")
    forge(path, **changes)
    with pytest.raises(FormatError):
        ONMF.load(path)
