"""What `onmf compare` promises: the same starts, one row a method, failures that stay in theirs."""

import csv
import json
import re

import numpy as np
import pytest

from onmf import ONMF, Baseline
from onmf.baselines import METHODS
from onmf.datasets import make_rays
from onmf.metrics import (
    adjusted_rand_score,
    clustering_accuracy,
    normalized_mutual_info_score,
    orthogonality,
    partition_error,
)

pytest.importorskip("click")
pytest.importorskip("rich")

from command_line import run

X, Y = make_rays(60, 8, 3, noise=0.2, random_state=0)
NAMES = np.array(["ovary", "lung", "skin"])[Y]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a text table whose third column holds the true classes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    header = ["id", "gene0", "type", *(f"gene{j}" for j in range(1, 8))]
    rows = [[f"cell{i}", x[0], NAMES[i], *x[1:]] for i, x in enumerate(X.tolist())]
    for name, delimiter in (("x.csv", ","), ("x.tsv", "\t")):
        with open(name, "w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    np.save("x.npy", X)
    return tmp_path


def saved(path="compare.csv"):
    with open(path, newline="") as file:
        return {row["method"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize("file", ["x.csv", "x.tsv"])
def test_the_table_is_what_the_estimators_give_from_the_same_starts(here, file):
    code = run("compare", file, "-k", 3, "--labels", "type", "--methods", "onmf,hals,k-means",
               "--starts", 2)  # fmt: skip
    assert code == 0
    table = saved()
    assert list(table) == ["onmf", "hals", "k-means"]
    for name, row in table.items():
        kind = ONMF if name == "onmf" else lambda k, name=name, **rest: Baseline(name, k, **rest)
        models = [kind(3, random_state=seed, n_jobs=1).fit(X) for seed in (1, 2)]
        labels = [model.labels_ for model in models]
        expected = {
            "acc": [clustering_accuracy(NAMES, own) for own in labels],
            "ari": [adjusted_rand_score(NAMES, own) for own in labels],
            "nmi": [normalized_mutual_info_score(NAMES, own) for own in labels],
            "relative_error": [partition_error(X, own) for own in labels],
            "orthogonality": [orthogonality(model.membership_) for model in models],
            "sweeps": [model.history_[-1].sweeps for model in models],
            "empty_clusters": [0, 0],
        }
        for key, values in expected.items():
            assert float(row[key]) == pytest.approx(np.mean(values), rel=1e-6, abs=1e-9), key
        assert row["converged"] == row["starts"] == "2"
        assert float(row["seconds"]) > 0


def test_the_page_has_the_table_and_every_start(here):
    words = ["--labels", "type", "--methods", "onmf,k-means", "--starts", 2, "-o", "both.csv"]
    assert run("compare", "x.csv", "-k", 3, *words) == 0
    page, table = (here / "both.html").read_text(encoding="utf-8"), saved("both.csv")
    assert "<script" not in page
    for name, row in table.items():
        (line,) = re.findall(f'<tr><th scope="row">{name}</th>(.*?)</tr>', page)
        cells = re.findall("<td[^>]*>(.*?)</td>", line)
        assert cells[:3] == [f"{100 * float(row[key]):.1f}" for key in ("acc", "ari", "nmi")]
        assert cells[3] == f"{float(row['relative_error']):.5f}"
    assert page.count("<figure>") == 3  # error, ARI, seconds
    assert page.count("<circle") == 3 * 2 * 2
    lowest = min(float(row["relative_error"]) for row in table.values())
    assert f'<td class="best">{lowest:.5f}</td>' in page
    assert f"The lowest error, {lowest:.5f}, is that of " in page


def test_a_method_that_fails_and_a_strange_name_are_text_on_the_page(here, monkeypatch):
    (here / "a<b>&.csv").write_bytes((here / "x.csv").read_bytes())
    fit = Baseline.fit

    def broken(self, X):
        if self.method == "hals":
            raise RuntimeError("<i>no</i>")
        return fit(self, X)

    monkeypatch.setattr(Baseline, "fit", broken)
    words = ["--labels", "type", "--methods", "hals,k-means", "--starts", 1]
    assert run("compare", "a<b>&.csv", "-k", 3, *words) == 3
    page = (here / "compare.html").read_text(encoding="utf-8")
    assert "<p>hals: &lt;i&gt;no&lt;/i&gt;</p>" in page
    assert ">a&lt;b&gt;&amp;.csv</h1>" in page
    assert "<b>" not in page
    assert "with one start each" in page


def test_without_labels_there_is_no_agreement(here, capsys):
    assert run("compare", "x.npy", "-k", 3, "--methods", "onmf", "--starts", 1) == 0
    assert "acc" not in saved()["onmf"]
    printed = capsys.readouterr().out
    assert "ACC" not in printed
    for words in ("error", "orthog.", "empty", "passes", "seconds", "Wrote compare.csv"):
        assert words in printed
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.slow
def test_the_quick_methods_are_the_default_and_all_can_be_asked_for(here, capsys):
    run("compare", "x.npy", "-k", 3, "--starts", 1)
    assert list(saved()) == ["onmf", "alternation", "k-means", "k-means++", "nmf", "hals"]
    capsys.readouterr()
    run("compare", "x.csv", "-k", 3, "--labels", "type", "--starts", 1, "--methods", "all",
        "-o", "all.csv")  # fmt: skip
    every = ["onmf", "sncp", "nsncp", *METHODS]
    assert list(saved("all.csv")) == every
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2 : 2 + len(every)]] == every
    assert max(map(len, lines)) <= 80


def test_json_has_every_fit_and_is_all_that_is_printed(here, capsys):
    run("compare", "x.csv", "-k", 3, "--labels", "type", "--methods", "onmf,alternation", "--json")
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((here / "compare.json").read_text())
    assert [(fit["method"], fit["start"]) for fit in printed["fits"]] == [
        (name, seed) for name in ("onmf", "alternation") for seed in (1, 2, 3)
    ]
    mean = np.mean([fit["ari"] for fit in printed["fits"][:3]])
    assert printed["methods"][0]["ari"] == pytest.approx(mean)


def test_a_method_that_fails_says_so_in_its_row_and_the_others_go_on(here, capsys, monkeypatch):
    def broken(*_args, **_settings):
        raise FloatingPointError("too\nsmall")

    monkeypatch.setitem(METHODS, "hals", broken)
    code = run("compare", "x.npy", "-k", 3, "--methods", "hals,alternation", "--starts", 1)
    assert code == 3
    table = saved()
    assert table["hals"]["failure"] == "too small"
    assert table["hals"]["relative_error"] == ""
    assert float(table["alternation"]["relative_error"]) > 0
    assert "hals: too small" in capsys.readouterr().out


def test_the_means_are_over_the_starts_that_did_not_fail(here, monkeypatch):
    whole = METHODS["hals"]

    def second_fails(data, start, **settings):
        if start.seed == 2:
            raise ValueError("no second time")
        return whole(data, start, **settings)

    monkeypatch.setitem(METHODS, "hals", second_fails)
    run("compare", "x.npy", "-k", 3, "--methods", "hals", "--starts", 3, "--json")
    row = saved()["hals"]
    fits = json.loads((here / "compare.json").read_text())["fits"]
    mean = np.mean([fits[0]["relative_error"], fits[2]["relative_error"]])
    assert float(row["relative_error"]) == pytest.approx(mean)
    assert (row["starts"], row["converged"], row["failure"]) == ("3", "2", "no second time")


def test_a_fit_that_does_not_converge_is_counted_and_told_by_the_exit_code(here):
    assert run("compare", "x.npy", "-k", 3, "--methods", "onmf-s", "--starts", 1) == 3
    assert saved()["onmf-s"]["converged"] == "0"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.csv", "-k", 3], "missing.csv"),
        (["x.npy", "-k", 61], "61"),
        (["x.npy", "-k", 0], "-k"),
        (["x.npy", "-k", 3, "--labels", "type"], "type"),
        (["x.csv", "-k", 3, "--labels", "colour"], "colour"),
        (["x.npy", "-k", 3, "--methods", "hals,magic"], "magic"),
        (["x.npy", "-k", 3, "-o", "x.csv/table.csv"], "x.csv"),
        (["x.npy", "-k", 3, "-o", "table.json"], "table.json"),
        (["negative.npy", "-k", 3, "--methods", "hals,nmf"], "negative entries"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(here, capsys, words, said):
    np.save("negative.npy", -X)
    assert run("compare", *words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("Error: ")
    assert said in printed.err
    assert not (here / "compare.csv").exists()


def test_an_interrupted_comparison_keeps_the_methods_that_were_done(here, monkeypatch):
    def interrupt(*_args, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setitem(METHODS, "hals", interrupt)
    code = run("compare", "x.npy", "-k", 3, "--methods", "onmf,hals", "--starts", 2)
    assert code == 130
    assert list(saved()) == ["onmf"]
