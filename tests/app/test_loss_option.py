"""`--loss kl`: counts as they are, from a file to new samples."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onmf
from onmf.losses import LOSSES
from onmf.prepare.steps import STEPS

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import labels, run

pytestmark = pytest.mark.usefixtures("here")

TOPICS = ["stars planets moons orbit", "genes cells protein tissue", "goals match players league"]


def test_documents_are_counted_and_not_weighed(capsys):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(TOPICS[i % 3].split(), 5 + i % 7)) for i in range(60)]
    Path("talks.txt").write_text("\n".join(texts))
    assert run("cluster", "talks.txt", "--text", "-k", 3, "-o", "out") == 0
    assert "relative divergence" in capsys.readouterr().out
    record = json.loads(Path("out/run.json").read_text())
    assert record["parameters"]["loss"] == "kl"
    model = onmf.load("out/model.onmf")
    assert [step.name for step in model.preprocessing_] == ["strip", "words"]
    assert set(np.unique(model.cluster_centers_ > 0)) == {True}
    found = labels().cluster.to_numpy()
    assert all(len(set(found[i::3])) == 1 for i in range(3))
    assert run("predict", "out", "talks.txt", "-o", "new.csv") == 0
    np.testing.assert_array_equal(labels("new.csv").cluster, found)


@pytest.mark.parametrize(
    ("words", "steps", "loss"),
    [
        (["--tfidf"], ["strip", "words", "log", "tfidf"], "frobenius"),
        (["--loss", "frobenius"], ["strip", "words", "log", "tfidf"], "frobenius"),
        (["--loss", "kl"], ["strip", "words"], "kl"),
        (["--tfidf", "--loss", "kl"], ["strip", "words", "log", "tfidf"], "kl"),
        (["--unit"], ["strip", "words", "unit"], "frobenius"),
    ],
)
def test_the_last_step_says_which_loss_suits_the_texts(words, steps, loss):
    Path("talks.txt").write_text("\n".join(TOPICS * 5))
    assert run("cluster", "talks.txt", "--text", "-k", 3, "-o", "out", *words) == 0
    record = json.loads(Path("out/run.json").read_text())
    assert (record["source"]["steps"], record["parameters"]["loss"]) == (steps, loss)
    assert run("cluster", "talks.txt", "--like", "out", "-o", "next") == 0
    record = json.loads(Path("next/run.json").read_text())
    assert (record["source"]["steps"], record["parameters"]["loss"]) == (steps, loss)


def test_every_step_names_a_loss_that_exists():
    assert {step.loss for step in STEPS.values()} <= LOSSES.keys()


def test_a_table_of_counts_is_clustered_and_its_clusters_counted(capsys):
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.full(20, 0.2), 3)
    X = np.array([rng.poisson(60 * P[i % 3]) for i in range(90)])
    pd.DataFrame(X, [f"s{i}" for i in range(90)], [f"g{j}" for j in range(20)]).to_csv("x.csv")
    assert run("cluster", "x.csv", "-k", "2:5", "--loss", "kl", "-o", "out") == 0
    assert "3 clusters" in capsys.readouterr().out
