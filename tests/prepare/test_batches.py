"""Batches: what is said of clusters that are batches, and the correction."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from onmf import ONMF
from onmf.metrics import adjusted_rand_score
from onmf.prepare import center_batches
from onmf.prepare.batches import batch_sentence


def two_plates(seed=0):
    """Logarithms of three kinds on two plates, each of which has its own factor for every gene."""
    rng = np.random.default_rng(seed)
    kind, plate = np.arange(120) % 3, np.arange(120) // 60
    level = rng.gamma(2, 2, size=400) + (rng.random((3, 400)) < 0.1) * rng.gamma(2, 1, size=400)
    X = level[kind] + rng.normal(0, 1.5, size=(2, 400))[plate] + 0.3 * rng.normal(size=(120, 400))
    return np.maximum(X, 0), kind, plate


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_features_have_the_same_mean_in_all_batches(make):
    X = np.random.default_rng(0).uniform(3, 5, size=(9, 4))
    batch = list("abacabcab")
    Z = center_batches(make(X), batch)
    for name in "abc":
        rows = [i for i, own in enumerate(batch) if own == name]
        np.testing.assert_allclose(Z[rows].mean(axis=0), X.mean(axis=0))
        np.testing.assert_allclose(np.diff(Z[rows], axis=0), np.diff(X[rows], axis=0))


def test_nothing_becomes_negative_unless_it_was_and_gaps_stay():
    X = np.array([[0.0, 4.0], [2.0, np.nan], [6.0, 4.0], [8.0, 2.0]])
    Z = center_batches(X, [1, 1, 2, 2])  # column means 1 and 7 of 4; 4 and 3 of 10 / 3
    np.testing.assert_allclose(Z[:, 0], [3, 5, 3, 5])
    np.testing.assert_allclose(Z[[0, 2, 3], 1], [10 / 3, 13 / 3, 7 / 3])
    assert np.isnan(Z[1, 1])
    assert center_batches(np.array([[0.0], [9.0], [0.0], [1.0]]), [1, 1, 2, 2]).min() == 0
    assert center_batches(-X[:, :1], [1, 1, 2, 2]).min() < 0
    with pytest.raises(ValueError, match="3 batches for 4 samples"):
        center_batches(X, [1, 2, 2])


def test_clusters_that_are_batches_are_counted():
    labels = np.repeat([0, 1, 2, -1], [10, 10, 10, 3])
    batch = ["a"] * 10 + ["b"] * 10 + ["a", "b"] * 5 + ["a"] * 3
    said = "2 of 3 clusters lie in one batch each, so clusters may be batches, not kinds"
    assert batch_sentence(labels, batch) == said
    assert batch_sentence(labels, ["a"] * 33) is None
    assert batch_sentence(labels, ["a", "b", "c"] * 11) is None
    assert batch_sentence(np.zeros(20, int), ["a"] * 19 + ["b"]) is None  # nearly all are a


def test_centring_finds_the_kinds_where_plates_hide_them():
    X, kind, plate = two_plates()
    before = ONMF(3, random_state=0).fit_predict(X)
    after = ONMF(3, random_state=0).fit_predict(center_batches(X, plate))
    assert batch_sentence(before, plate) is not None
    assert batch_sentence(after, plate) is None
    assert adjusted_rand_score(kind, before) < 0.6
    assert adjusted_rand_score(kind, after) > 0.95


def test_the_command_says_it_and_corrects_it(tmp_path, monkeypatch, capsys):
    pytest.importorskip("click")
    from command_line import ask, labels, run

    monkeypatch.chdir(tmp_path)
    X, kind, plate = two_plates()
    samples = [f"s{i}" for i in range(120)]
    pd.DataFrame(X, samples).assign(plate=[f"p{p}" for p in plate]).to_csv("x.csv")
    pd.DataFrame({"name": samples, "run": plate, "z": 0}).to_csv("meta.csv", index=False)
    words = ["cluster", "x.csv", "-k", 3, "-o", "out", "--force"]
    said = ask(capsys, *words, "--drop", "plate", "--batch", "meta.csv:run")
    assert "clusters lie in one batch each" in said
    assert "--center-batches removes" in said
    assert ask(capsys, *words, "--batch", "plate", "--center-batches") == ""
    assert adjusted_rand_score(kind, labels().cluster) > 0.95
    assert run("edit", "out", "--rename", "0=x") == 0
    assert "needs --batch" in ask(capsys, *words, "--center-batches", code=2)


def test_cells_have_batches_in_obs():
    anndata = pytest.importorskip("anndata")
    from onmf import cluster_anndata
    from onmf.exceptions import TableWarning

    X, kind, plate = two_plates()
    adata = anndata.AnnData(X, obs=pd.DataFrame({"plate": plate}, [f"c{i}" for i in range(120)]))
    with pytest.warns(TableWarning, match="lie in one batch each.*center_batches=True"):
        cluster_anndata(adata, 3, batch_key="plate")
    model = cluster_anndata(adata, 3, batch_key="plate", center_batches=True)
    assert adjusted_rand_score(kind, model.labels_) > 0.95
    with pytest.raises(ValueError, match="no column 'lane' in obs, which has: plate"):
        cluster_anndata(adata, 3, batch_key="lane")
    with pytest.raises(ValueError, match="center_batches needs batch_key"):
        cluster_anndata(adata, 3, center_batches=True)
