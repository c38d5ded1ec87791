"""What `cluster` and `compare` say of the best possible clustering."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from onmf.datasets import make_rays
from onmf_app import main


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = make_rays(80, 12, 3, noise=0.5, random_state=0)
    pd.DataFrame(X).to_csv("x.csv")
    np.save("x.npy", X)
    return X


def test_a_run_says_how_far_from_the_best_it_can_be(table, capsys):
    assert main(["cluster", "x.csv", "-k", "3", "-o", "out"]) == 0
    with open("out/run.json") as file:
        results = json.load(file)["results"]
    values = np.linalg.svd(table, compute_uv=False) ** 2
    proof = results["proof"]
    assert proof["bound"] == pytest.approx(1 - values[:3].sum() / values.sum(), rel=1e-6)
    assert proof["gap"] == pytest.approx(1 - proof["bound"] / results["relative_error"], rel=1e-6)
    said = capsys.readouterr().out
    assert f"P{proof['sentence'][1:]}." in said
    with open("out/report.html", encoding="utf-8") as file:
        assert f'"bound":"P{proof["sentence"][1:]}."' in file.read()


def test_a_comparison_says_what_no_method_can_be_below(table, capsys):
    assert main(["compare", "x.csv", "-k", "3", "--methods", "onmf,k-means", "--starts", "1"]) == 0
    said = capsys.readouterr().out
    bound = float(re.search(r"relative error below (0\.\d+)\.", said)[1])
    values = np.linalg.svd(table, compute_uv=False) ** 2
    true = 1 - values[:3].sum() / values.sum()
    assert true - 2e-6 <= bound <= true
    with open("compare.html", encoding="utf-8") as file:
        assert f"(no clustering has less than {bound:.6f})" in file.read()
