"""`onmf cluster --passes`: a folder of Parquet files, read twice."""

import json

import numpy as np
import pytest

from command_line import ask, labels
from onmf import ONMF, Fast, load
from onmf.datasets import make_rays
from onmf.estimators import solvers

pytest.importorskip("click")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

X = make_rays(900, 12, 3, noise=0.5, random_state=0)[0]


@pytest.mark.slow
def test_a_folder_of_parquet_files_is_clustered_in_two_passes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(solvers, "MIN_SUMMARY_ROWS", 300)
    monkeypatch.setattr(solvers, "SUMMARY_ROWS_PER_CLUSTER", 1)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.split(X, 3)):
        frame = pd.DataFrame(part, columns=[f"f{j}" for j in range(12)])
        frame.to_parquet(tmp_path / "parts" / f"{number}.parquet", index=False)
    ask(capsys, "cluster", "parts", "-k", 3, "-o", "out", "--passes", 2)
    model = ONMF(3, random_state=0, solver=Fast(passes=2)).fit(X)
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["results"]["sweeps"] == 2
    assert load(tmp_path / "out" / "model.onmf").solver.passes == 2
    said = ask(capsys, "cluster", "parts", "-k", 3, "-o", "out2", "--passes", 1, code=2)
    assert "--passes" in said
