"""Known classes as a start."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from onmf import ONMF, PALM, Fast, class_means
from onmf.datasets import make_rays
from onmf.losses import LOSSES

X, Y = make_rays(240, 20, 4, noise=0.5, random_state=0)
NAMES = np.array(["north", "east", "south", "west"])


def known(share=10, unknown=-1):
    return np.where(np.arange(240) % share == 0, Y, unknown)


def test_the_mean_of_samples_of_length_one_by_hand():
    A = np.array([[3.0, 4], [0, 2], [1, 0], [0, 0], [np.nan, 5]])
    start = class_means([1, 0, -1, 0, 1])
    assert start.names == [0, 1]
    W = start(A, 2, np.random.RandomState(0))
    np.testing.assert_allclose(W, [[0, 0.5], [0.3, 0.9]])
    np.testing.assert_allclose(start(sp.csr_array(A), 2, np.random.RandomState(0)), W)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", [{}, {"solver": Fast(passes=2)}], ids=["fast", "passes"])
def test_clusters_are_in_the_order_of_the_classes_and_have_their_names(loss, options):
    y = np.where(known() >= 0, NAMES[Y], "")
    model = ONMF(init=class_means(y), loss=loss, random_state=0, **options).fit(X)
    names = np.array([model.cluster_names_[i] for i in model.cluster_ids_[model.labels_]])
    assert np.mean(names == NAMES[Y]) > 0.95
    assert list(model.cluster_names_.values()) == sorted(NAMES)


@pytest.mark.parametrize("unknown", [None, np.nan, -1, ""])
def test_what_is_not_known_is_said_in_every_usual_way(unknown):
    y = [int(c) if c >= 0 else unknown for c in known()]
    plain = class_means(pd.Series(known()))(X, 4, np.random.RandomState(0))
    np.testing.assert_array_equal(class_means(y)(X, 4, np.random.RandomState(0)), plain)


def test_other_starts_are_found_beside_those_of_the_classes():
    y = np.where(Y < 2, known(), -1)
    model = ONMF(4, init=class_means(y), random_state=0).fit(X)
    assert model.relative_error_ == pytest.approx(ONMF(4, random_state=0).fit(X).relative_error_)
    for c in (0, 1):
        assert np.mean(model.labels_[Y == c] == c) > 0.95
    assert model.cluster_names_[3] == "cluster 3"


def test_it_is_a_start_only():
    """Wrong classes do not hold a sample."""
    wrong = known(20)
    wrong[wrong >= 0] = np.random.default_rng(0).permutation(wrong[wrong >= 0])
    free = ONMF(4, random_state=0).fit(X)
    model = ONMF(4, init=class_means(wrong), random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.relative_error_ == pytest.approx(free.relative_error_, rel=0.05)
    np.testing.assert_array_equal(ONMF(4, random_state=0).fit(X, known()).labels_, free.labels_)


def test_it_goes_with_the_paper_s_method():
    model = ONMF(init=class_means(known()), solver=PALM(growth=3.0), random_state=0).fit(X)
    assert np.mean(model.labels_ == Y) > 0.95


def test_refusals(tmp_path):
    np.save(tmp_path / "X.npy", X)
    for make, said in [
        (lambda: class_means(np.full(240, -1)), "no known class"),
        (lambda: ONMF(3, init=class_means(Y)).fit(X), "4 classes, more than n_clusters=3"),
        (lambda: ONMF(init=class_means(Y[:9])).fit(X), "y has 9 labels, X 240 samples"),
    ]:
        with pytest.raises(ValueError, match=said):
            make()
