"""`onmf choose-k`: what it prints and what it leaves behind."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from cases import few
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score
from onmf_app import main

X, Y = make_rays(150, 24, 3, noise=0.2, random_state=0)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "samples.npy"
    np.save(path, X)
    return path


def test_prints_the_k_first_then_the_picture(file, capsys):
    assert main(["choose-k", str(file), "--k", "2:5", "--runs", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("3 clusters: 100 % of each comes back when other samples are used.")
    (best,) = (line for line in printed.splitlines() if "3*" in line)
    assert best.count("#") == 16 == max(line.count("#") for line in printed.splitlines())
    assert not file.with_name("choice.json").exists()


def test_no_clusters_are_said_first(tmp_path, capsys):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).random((120, 40)))
    assert main(["choose-k", str(tmp_path / "noise.npy"), "--k", "2:4", "--runs", "2"]) == 0
    assert capsys.readouterr().out.startswith("No evidence of separate clusters; ")


@pytest.mark.slow
def test_cluster_says_the_same_sentence_and_writes_the_same_scales(file, tmp_path, capsys):
    one, other = tmp_path / "k", tmp_path / "clusters"
    assert main(["choose-k", str(file), "-o", str(one)]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    assert main(["cluster", str(file), "-k", "auto", "-o", str(other), "--no-report"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == said
    assert (one / "scales.csv").read_text() == (other / "scales.csv").read_text()


def test_writes_table_labels_and_account(file, tmp_path, capsys):
    out = tmp_path / "result"
    command = ["choose-k", str(file), "--k", "2:5", "--runs", "2", "-o", str(out)]
    assert main([*command, "--json"]) == 0
    account = json.loads(capsys.readouterr().out)
    assert account == json.loads((out / "choice.json").read_text())
    assert account["best_k"] == 3
    assert account["parameters"]["k_range"] == [2, 3, 4, 5]
    assert [row["k"] for row in account["table"]] == [2, 3, 4, 5]
    rows = list(csv.DictReader((out / "table.csv").read_text().splitlines()))
    assert [float(row["score"]) for row in rows] == [r["score"] for r in account["table"]]
    assert 3 in [scale["k"] for scale in account["scales"]]
    labels = list(csv.DictReader((out / "labels.csv").read_text().splitlines()))
    assert len(labels) == 150
    assert {row["cluster"] for row in labels} == {"0", "1", "2"}
    assert {row["stability"] for row in labels} == {"1.0"}
    scales = list(csv.DictReader((out / "scales.csv").read_text().splitlines()))
    assert list(scales[0]) == ["sample", *(f"K={scale['k']}" for scale in account["scales"])]
    assert [row["K=3"][-1] for row in scales] == [row["cluster"] for row in labels]


@pytest.mark.slow
def test_a_second_run_makes_no_fit(file, tmp_path, monkeypatch):
    command = ["choose-k", str(file), "--k", "2:4", "--runs", "2", "-o", str(tmp_path / "result")]
    assert main(command) == 0
    monkeypatch.setattr("onmf.number.evidence.ByPath.__call__", None)
    assert main(command) == 0


@pytest.mark.parametrize(
    ("span", "ks"), few([("2:8:3", [2, 5, 8]), ("2:4", [2, 3, 4]), ("3", [3]), ("3:3", [3])])
)
def test_ranges(file, capsys, span, ks):
    assert main(["choose-k", str(file), "--k", span, "--runs", "2", "--json", "--only"]) == 0
    account = json.loads(capsys.readouterr().out)
    assert [row["k"] for row in account["table"]] == ks


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--k", "two"], "--k must be first:last or first:last:step, not 'two'."),
        (["--k", "1:2:3:4"], "--k must be first:last"),
        (["--k", "5:2"], "k_range is empty"),
        (["--k", "2:500"], "only 150 distinct sample(s), fewer than the 500 clusters asked for"),
        (["--runs", "1"], "ask for at least two"),
    ],
)
def test_bad_input_is_one_sentence(file, capsys, arguments, sentence):
    assert main(["choose-k", str(file), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert sentence in error


def test_the_page_shows_the_curves_and_the_consensus_of_the_k_recommended(file, tmp_path):
    out = tmp_path / "result"
    assert main(["choose-k", str(file), "--k", "2:4", "--runs", "2", "-o", str(out)]) == 0
    page = (out / "report.html").read_text()
    (text,) = re.findall(r'type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    shown = json.loads(text)
    assert len(shown["clusters"]) == 3
    assert shown["consensus"]["runs"] == 2
    labels = list(csv.DictReader((out / "labels.csv").read_text().splitlines()))
    sizes = np.bincount([int(row["cluster"]) for row in labels])
    assert [cluster["size"] for cluster in shown["clusters"]] == sizes.tolist()
    assert shown["choice"]["best"] == 3


@pytest.mark.slow
def test_reads_and_prepares_as_cluster_does(tmp_path, capsys, monkeypatch):
    table = pd.DataFrame(np.expm1(X), columns=[f"g{j}" for j in range(24)]).assign(type=Y)
    table.to_csv(tmp_path / "typed.csv")
    asked = ["choose-k", str(tmp_path / "typed.csv"), "--k", "2:5", "--runs", "2", "--json"]
    assert main([*asked, "--labels", "type", "--log"]) == 0
    account = json.loads(capsys.readouterr().out)
    assert account["best_k"] == 3
    assert account["parameters"]["steps"] == ["log"]
    monkeypatch.setattr("onmf.io.formats.free_memory", lambda: 100)
    monkeypatch.setattr("onmf_app.runs.inputs.SAMPLES_TO_CHOOSE_K", 90)
    np.save(tmp_path / "samples.npy", X)
    out = tmp_path / "k"
    asked = ["choose-k", str(tmp_path / "samples.npy"), "--k", "2:5", "--runs", "2"]
    assert main([*asked, "-o", str(out)]) == 0
    labels = pd.read_csv(out / "labels.csv")
    assert len(labels) == 90
    assert adjusted_rand_score(Y[labels["sample"]], labels["cluster"]) == 1
