"""Tables as people have them: depth, orientation, exports of other programs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onmf import ONMF, metrics

pytest.importorskip("click")
pytest.importorskip("rich")

from onmf import cli

pytestmark = pytest.mark.usefixtures("page", "here")

KINDS = np.arange(90) % 3


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return cli.main([str(word) for word in words])


def ask(capsys, *words, code=0):
    """What a command prints on stderr, once its exit code is right."""
    capsys.readouterr()
    assert run(*words) == code, capsys.readouterr().err
    return capsys.readouterr().err


def labels(path="out/labels.csv"):
    return pd.read_csv(path, index_col="sample", dtype={"sample": str})


def reads(seed=0):
    """Counts of three kinds; half of the samples are sequenced twenty times as deep."""
    rng = np.random.default_rng(seed)
    profile = rng.gamma(0.5, size=(3, 200)) * rng.lognormal(0, 0.5, size=200)
    profile = 0.9 * profile[0] + 0.1 * profile
    depth = np.where(np.arange(90) < 45, 1e3, 2e4) * rng.uniform(0.8, 1.25, 90)
    share = profile[KINDS] / profile[KINDS].sum(axis=1, keepdims=True)
    return rng.poisson(depth[:, None] * share)


def write(X, path="x.csv", samples=None, features=None):
    samples = [f"patient{i}" for i in range(len(X))] if samples is None else samples
    features = [f"gene{j}" for j in range(X.shape[1])] if features is None else features
    frame = pd.DataFrame(X, samples, features)
    frame.to_csv(path)
    return frame


# --- depth ---------------------------------------------------------------------------------------


def test_counts_per_million_are_taken_before_the_logarithm_and_for_new_samples(capsys):
    counts = reads()
    write(counts)
    said = ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--log", "--cpm")
    assert "--cpm" not in said
    X = np.log2(1 + 1e6 * counts / counts.sum(axis=1, keepdims=True))
    model = ONMF(3, random_state=0).fit(X)
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    write(counts[:7] * 3, "new.csv")
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    np.testing.assert_array_equal(labels("new_labels.csv").cluster, model.labels_[:7])


def test_the_median_depth_is_that_of_the_first_samples():
    counts = reads()
    write(counts)
    assert run("cluster", "x.csv", "-k", 3, "-o", "out", "--log", "--cpm-median") == 0
    totals = counts.sum(axis=1, keepdims=True)
    X = np.log2(1 + np.median(totals) * counts / totals)
    np.testing.assert_allclose(
        labels().confidence, ONMF(3, random_state=0).fit(X).confidence(X), atol=1e-6
    )
    write(counts[:5], "new.csv")
    assert run("predict", "out", "new.csv", "-o", "new_labels.csv") == 0
    np.testing.assert_allclose(labels("new_labels.csv").distance, labels().distance[:5], atol=2e-6)


def test_a_split_by_depth_is_said_and_so_are_counts_whose_depth_will_matter(capsys):
    write(reads())
    said = ask(capsys, "cluster", "x.csv", "-k", 2, "-o", "out", "--log")
    assert "these are counts whose totals run from" in said
    assert "clusters 0 and 1 differ in the totals of their samples" in said
    assert "--cpm takes depth away" in said
    assert metrics.clustering_accuracy(np.arange(90) < 45, labels().cluster) == 1
    assert "these are counts" in ask(capsys, "choose-k", "x.csv", "--k", "2:3", "--log")


def test_nothing_is_said_of_even_depth_or_of_kinds_that_merely_differ(capsys):
    counts = reads()
    write(counts[:45])
    assert ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "out", "--log") == ""
    write(counts)
    assert ask(capsys, "cluster", "x.csv", "-k", 3, "-o", "two") == ""
