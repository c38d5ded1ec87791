"""Whatever X is, it becomes rows in a place: at once if it is an array, never by way of a file."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from onmf import ONMF
from onmf.rows import Check, Features, OnDisk, PlacementRequest, place, placement
from onmf.rows.memory import InMemory
from onmf.rows.scale import safe_scale
from onmf.rows.table import Table

X = np.random.default_rng(0).random((30, 4)) + 0.1
NAMES = ["a", "b", "c", "d"]
TERMS = PlacementRequest(Check("ONMF"))
KINDS = {
    "array": lambda path: X,
    "csr": lambda path: sp.csr_array(X),
    "list": lambda path: X.tolist(),
    "file": lambda path: np.save(path / "x.npy", X) or path / "x.npy",
}


def as_table(kind, path):
    """A table in memory, or one whose rows are still where they are."""
    rows = KINDS[kind](path)
    rows = placement.open_rows(rows) if kind == "file" else rows
    return Table(rows, [str(i) for i in range(30)], NAMES)


def test_an_array_is_not_offered_to_the_openers_of_files(monkeypatch):
    monkeypatch.setattr(placement, "open_rows", None)
    rows = place(X, None, TERMS)
    assert isinstance(rows.data, InMemory)
    assert rows.X is X


@pytest.mark.parametrize("kind", ["array", "csr"])
def test_the_features_of_an_array_are_counted(kind, tmp_path):
    rows = KINDS[kind](tmp_path)
    assert place(rows, None, TERMS).features == Features(4)
    assert place(rows, None, PlacementRequest(Check("ONMF"), known=Features(4))).features.count == 4
    with pytest.raises(ValueError, match="X has 4 features, but ONMF is expecting 7 features"):
        place(rows, None, PlacementRequest(Check("ONMF"), known=Features(7)))


@pytest.mark.parametrize("kind", ["array", "csr"])
def test_an_array_for_a_model_with_names_is_left_to_scikit_learn(kind, tmp_path):
    """It warns that the array has none."""
    known = Features(4, np.array(NAMES, object))
    rows = place(KINDS[kind](tmp_path), None, PlacementRequest(Check("ONMF"), known=known))
    assert rows.features is None


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_hold_the_same_rows(kind, tmp_path):
    rows = place(KINDS[kind](tmp_path), np.arange(30.0), TERMS)
    assert isinstance(rows.data, OnDisk) == (kind == "file")
    block = rows.data.take(np.array([0, 7, 29]))
    np.testing.assert_array_equal(sp.csr_array(block.X).toarray(), X[[0, 7, 29]])
    np.testing.assert_array_equal(rows.weight, np.arange(30))
    assert rows.scale == 1


def test_without_weights_all_samples_count_the_same():
    rows = place(X, None, TERMS)
    assert rows.weight is None
    np.testing.assert_array_equal(rows.data.weight, np.ones(30))


def test_rows_are_brought_to_a_moderate_size_by_a_power_of_two():
    rows = place(X * 1e200, None, PlacementRequest(Check("ONMF"), safe_scale))
    assert np.frexp(rows.scale)[0] == 0.5
    np.testing.assert_array_equal(rows.data.take(np.array([3])).X / rows.scale, X[[3]] * 1e200)


@pytest.mark.parametrize("kind", ["array", "csr", "file"])
def test_a_table_is_a_matrix_whose_features_have_names(kind, tmp_path):
    table = as_table(kind, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ONMF(2, random_state=0).fit(table)
        assert model.feature_names_in_.tolist() == NAMES
        assert model.n_features_in_ == 4
        np.testing.assert_array_equal(model.predict(table), model.labels_)
        distance = model.distance(table)
    bare = table.X
    own = ONMF(2, random_state=0).fit(bare)
    np.testing.assert_array_equal(own.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(own.distance(bare), distance)
    assert not hasattr(own, "feature_names_in_")
    swapped = table._replace(features=["b", "a", "c", "d"])
    with pytest.raises(ValueError, match=r"should match .* unlike 'b' instead of 'a', 'a' instead"):
        model.predict(swapped)


def test_another_fit_forgets_the_names():
    model = ONMF(2, random_state=0).fit(as_table("array", None))
    assert not hasattr(model.fit(X), "feature_names_in_")
    model.fit(as_table("array", None))
    assert not hasattr(model.fit(KINDS["csr"](None)), "feature_names_in_")


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (Features(3), "X has 4 features, but ONMF is expecting 3 features as input"),
        (Features(4, np.array(["a", "b", "c", "e"], object)), "unlike 'd' instead of 'e'"),
    ],
)
@pytest.mark.parametrize("kind", ["array", "file"])
def test_features_that_have_names_are_compared(known, sentence, kind, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        place(as_table(kind, tmp_path), None, PlacementRequest(Check("ONMF"), known=known))
    place(as_table(kind, tmp_path), None, PlacementRequest(Check("ONMF"), known=Features(4)))
