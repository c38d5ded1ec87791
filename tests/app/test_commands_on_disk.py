"""`onmf cluster` on a file that would fill the memory: the same files as if it had been read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from onmf import ONMF
from onmf.datasets import make_rays
from onmf.prepare import Tfidf
from onmf.rows import formats, open_rows
from onmf.rows.source import Source

pytest.importorskip("click")
pytest.importorskip("rich")

import onmf_app as cli
from onmf_app.runs import inputs

RAYS, Y = make_rays(300, 40, 3, noise=0.05, sparsity=0.5, random_state=0)
COUNTS = np.round(20 * RAYS.toarray())
CELLS, GENES = [f"cell{i}" for i in range(300)], [f"gene{j}" for j in range(40)]


def as_npy(folder):
    np.save(folder / "x.npy", COUNTS)
    return folder / "x.npy"


def as_npz(folder):
    sp.save_npz(folder / "x.npz", sp.csr_array(COUNTS))
    return folder / "x.npz"


def as_parquet(folder):
    pytest.importorskip("pyarrow")
    pd.DataFrame(COUNTS, columns=GENES).to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


def as_h5ad(folder):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(
        sp.csr_matrix(COUNTS),
        pd.DataFrame({"type": [f"t{y}" for y in Y]}, CELLS),
        pd.DataFrame(index=GENES),
        layers={"half": sp.csr_matrix(COUNTS / 2)},
    )
    cells.write_h5ad(folder / "x.h5ad")
    return folder / "x.h5ad"


@pytest.fixture
def full(monkeypatch):
    """Next to nothing of the memory is free."""

    def fill():
        monkeypatch.setattr(formats, "free_memory", lambda: 100)

    return fill


def results(folder):
    """All files but the page, without what differs from run to run."""
    texts = {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".csv"}
    record = json.loads((folder / "run.json").read_text())
    del record["results"]["seconds"], record["results"]["relative_error"]
    del record["files"]["report.html"]
    return texts, record


def good(*words):
    assert cli.main([str(word) for word in words]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("stored", [as_npy, as_npz, as_parquet, as_h5ad])
@pytest.mark.parametrize("steps", [(), ("--log", "--unit"), ("--tfidf",)], ids=" ".join)
def test_the_results_are_those_of_the_file_in_memory(stored, steps, tmp_path, full, monkeypatch):
    path = stored(tmp_path)
    words = ("cluster", path, "-k", 3, *steps)
    good(*words, "-o", tmp_path / "read")
    full()
    seen = []
    monkeypatch.setattr(
        ONMF, "fit", lambda model, X, y=None, fit=ONMF.fit: seen.append(X) or fit(model, X, y)
    )
    good(*words, "-o", tmp_path / "left")
    assert isinstance(seen[0].X, Source)
    assert results(tmp_path / "left") == results(tmp_path / "read")


@pytest.mark.slow
def test_names_classes_and_layers_are_found_where_they_are(tmp_path, full):
    path = as_h5ad(tmp_path)
    full()
    good("cluster", path, "-k", 3, "--layer", "half", "--labels", "type", "-o", tmp_path / "out")
    texts, record = results(tmp_path / "out")
    assert record["results"]["scores"]["accuracy"] == 1
    assert texts["labels.csv"].splitlines()[1].startswith(b"cell0,")
    assert b"gene" in texts["markers.csv"]
    assert b"cell7" in (tmp_path / "out" / "report.html").read_bytes()
    good("edit", tmp_path / "out", "--rename", "0=")
    good("predict", tmp_path / "out", path, "--layer", "half", "-o", tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_bytes() == texts["labels.csv"]


@pytest.mark.slow
def test_k_is_chosen_by_a_sample_and_says_so(tmp_path, full, monkeypatch, capsys):
    path = as_npy(tmp_path)
    full()
    monkeypatch.setattr(inputs, "SAMPLES_TO_CHOOSE_K", 120)
    good("cluster", path, "-k", "2:5", "-o", tmp_path / "out")
    assert "K was chosen by 120 of the 300 samples" in capsys.readouterr().err
    assert results(tmp_path / "out")[1]["choice"]["best_k"] == 3


def test_features_in_another_order_are_refused_rather_than_read(tmp_path, full, capsys):
    pytest.importorskip("pyarrow")
    path = as_parquet(tmp_path)
    good("cluster", path, "-k", 3, "-o", tmp_path / "out")
    other = Path(tmp_path / "other.parquet")
    pd.DataFrame(COUNTS[:, ::-1], columns=GENES[::-1]).to_parquet(other)
    full()
    assert cli.main(["predict", str(tmp_path / "out"), str(other), "-o", str(tmp_path / "n")]) == 2
    assert "store them in the order of the model" in capsys.readouterr().err


@pytest.mark.parametrize("X", [COUNTS, sp.csr_array(COUNTS)], ids=["dense", "sparse"])
def test_idf_is_that_of_scikit_learn_here_and_on_disk(X, tmp_path, monkeypatch):
    monkeypatch.setattr("onmf.rows.source.ENTRIES_PER_PART", 1000)
    wanted = TfidfTransformer().fit(X).idf_
    path = as_npz(tmp_path) if sp.issparse(X) else as_npy(tmp_path)
    np.testing.assert_allclose(Tfidf.fit(X).idf, wanted, rtol=1e-14)
    np.testing.assert_array_equal(Tfidf.fit(open_rows(path)).idf, Tfidf.fit(X).idf)


def test_a_tree_is_refused_before_the_fit(tmp_path, full, monkeypatch, capsys):
    monkeypatch.setattr(ONMF, "fit", None)
    full()
    out = ("-o", str(tmp_path / "out"), "--tree")
    assert cli.main(["cluster", str(as_npy(tmp_path)), "-k", "3", *out]) == 2
    assert "--tree needs rows in memory, and x.npy is read in blocks" in capsys.readouterr().err
