"""Names of clusters stay with the ids of their clusters, and whatever is given is text."""

import numpy as np
import pytest

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.estimators.storage import model_bytes
from onmf.exceptions import FormatError

X, _ = make_rays(200, 20, 4, random_state=0)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return ONMF(4, random_state=0).fit(X).rename({2: "Motor sport"})


def test_given_before_found_before_number():
    model = ONMF(3, random_state=0).fit(X)
    assert model.cluster_names_ == {0: "cluster 0", 1: "cluster 1", 2: "cluster 2"}
    model.names_found_ = ((0, "goal, match"), (1, "bank"))
    model.rename({1: "Money"})
    assert model.cluster_names_ == {0: "goal, match", 1: "Money", 2: "cluster 2"}
    assert model.rename({1: ""}).cluster_names_[1] == "bank"


def test_names_stay_with_their_cluster(fitted, tmp_path):
    """Of a saved model, of a stream, and of a fit from the model with the clusters reversed."""
    fitted.save(path := tmp_path / "m.onmf", samples=False)
    for model in (ONMF.load(path), ONMF.load(path).partial_fit(X)):
        assert model.cluster_names_[2] == "Motor sport"
    for init in (fitted, str(path)):
        again = ONMF(6, init=init).fit(X[::-1])
        place = again.cluster_ids_.tolist().index(2)
        assert again.cluster_names_[2] == "Motor sport"
        cosines = again.cluster_centers_ @ fitted.cluster_centers_[2]
        assert np.argmax(cosines / np.linalg.norm(again.cluster_centers_, axis=1)) == place
    assert "Motor sport" not in ONMF(4, random_state=0).fit(X).cluster_names_.values()


def test_another_fit_forgets_them():
    model = ONMF(4, random_state=0).fit(X).rename({2: "Motor sport"})
    assert model.fit(X).cluster_names_[2] == "cluster 2"


def test_a_vanished_cluster_takes_its_name_along(fitted):
    again = ONMF(2, init=fitted).fit(X[np.isin(fitted.labels_, (0, 1))])
    assert {*again.cluster_names_} == {*again.cluster_ids_.tolist()}
    assert "Motor sport" not in again.cluster_names_.values()


def test_explain_uses_them(fitted):
    names = fitted.explain(X).markers.names
    assert names[2] == "Motor sport" != names[1]


def test_refusals(fitted):
    with pytest.raises(ValueError, match=r"no cluster 7, 9: the ids are 0, 1, 2, 3\."):
        fitted.rename({7: "a", 1: "b", 9: "c"})
    assert fitted.cluster_names_[1] == "cluster 1"  # all or nothing
    with pytest.raises(TypeError, match="must be text, not 3"):
        fitted.rename({1: 3})
    with pytest.raises(ValueError, match="at most 200 characters, this one 201"):
        fitted.rename({1: "x" * 201})
    with pytest.raises(AttributeError):
        ONMF().cluster_names_  # noqa: B018


def test_a_terminal_obeys_no_name():
    model = ONMF(2, random_state=0).fit(X)
    assert model.rename({0: " a\x1b[31m\n b\u202e "}).cluster_names_[0].isprintable()


@pytest.mark.parametrize("names", [[(0, "a")], ((0, 1),), ((True, "a"),), (("0", "a"),), "ab"])
def test_forged_names_are_refused(fitted, tmp_path, names):
    model = ONMF(4, random_state=0).fit(X)
    model.names_found_ = names
    (tmp_path / "m.onmf").write_bytes(model_bytes(model))
    with pytest.raises(FormatError, match="names of clusters"):
        ONMF.load(tmp_path / "m.onmf")
