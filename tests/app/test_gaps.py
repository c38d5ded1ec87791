"""The command takes a cell without a value as not observed, says how many, and goes on."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cases import few
from onmf import ONMF
from onmf.datasets import make_rays

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import ask, labels, run

pytestmark = pytest.mark.usefixtures("page", "here")

FULL, KINDS = make_rays(90, 12, 3, random_state=0)
X = np.where(np.random.default_rng(0).random(FULL.shape) < 0.2, np.nan, FULL)
FRAME = pd.DataFrame(X, [f"s{i}" for i in range(90)], [f"g{j}" for j in range(12)])
COUNT = int(np.isnan(X).sum())


def as_parquet(path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(path)


WRITERS = {
    "empty.csv": FRAME.to_csv,
    "na.tsv": lambda path: FRAME.to_csv(path, sep="\t", na_rep="NA"),
    "x.parquet": as_parquet,
    "x.npy": lambda path: np.save(path, X),
}


@pytest.mark.parametrize("name", few(WRITERS))
def test_gaps_are_counted_and_left_out_of_the_error(name, capsys):
    WRITERS[name](name)
    said = ask(capsys, "cluster", name, "-k", 3, "-o", "out")
    assert f"{name}: 20 % of the entries ({COUNT}) have no value" in said.replace("\n", " ")
    model = ONMF(3, random_state=0).fit(X)
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    record = json.loads(Path("out/run.json").read_text())
    assert record["input"]["missing"] == COUNT
    assert record["results"]["relative_error"] == pytest.approx(model.relative_error_)


@pytest.mark.slow
def test_new_samples_and_later_commands_have_gaps_too(capsys):
    FRAME.to_csv("x.csv")
    ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out")
    FRAME.iloc[:9].to_csv("new.csv", na_rep="NA")
    ask(capsys, "predict", "out", "new.csv", "-o", "new_labels.csv")
    np.testing.assert_array_equal(labels("new_labels.csv").cluster, labels().cluster[:9])
    FRAME.iloc[:9].drop(columns=["g3", "g5"]).to_csv("few.csv")
    assert "taken as missing" in ask(
        capsys, "predict", "out", "few.csv", "-o", "few_labels.csv", "--missing", "nan"
    )
    np.testing.assert_array_equal(labels("few_labels.csv").cluster, labels().cluster[:9])
    ask(capsys, "edit", "out", "--rename", "0=x")
    ask(capsys, "cluster", "x.csv", "-k", "2:4", "-o", "k")


@pytest.mark.parametrize("step", few(["--unit", "--log"]))
def test_steps_that_need_no_total_pass_gaps_on(step, capsys):
    FRAME.to_csv("x.csv")
    ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", step)
    size = np.sqrt(np.nansum(X**2, axis=1, keepdims=True))
    prepared = np.log2(1 + X) if step == "--log" else X / size
    np.testing.assert_array_equal(labels().cluster, ONMF(3, random_state=0).fit_predict(prepared))


def test_what_needs_every_entry_is_refused_in_a_sentence(capsys):
    FRAME.to_csv("x.csv")
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--tfidf") != 0
    assert "tf-idf needs every entry" in " ".join(capsys.readouterr().err.split())
    assert not Path("out").exists()


def test_negative_numbers_are_found_among_gaps(capsys):
    (-FRAME).to_csv("x.csv")
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--log") != 0
    assert "Negative values" in capsys.readouterr().err
