"""A run after another one, and over time: --like, --time, --config."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import ask, labels, run
from onmf.datasets import make_rays
from onmf_app.runs.page import grouped_times

X, Y = make_rays(800, 20, 5, noise=0.3, random_state=0)
NAMES = [f"w{j}" for j in range(20)]


def good(*words):
    assert run(*words) == 0


def write(path, groups, n=100, seed=0, **columns):
    """A table of samples of some groups, under names that other tables share."""
    rows = np.random.default_rng(seed).choice(np.flatnonzero(np.isin(Y, groups)), n, replace=False)
    table = pd.DataFrame(X[rows], [f"s{i}" for i in rows], NAMES)
    for name, values in columns.items():
        table[name] = values
    table.to_csv(path)
    return Y[rows]


@pytest.mark.slow
def test_the_next_night_keeps_the_ids_of_the_last(here, capsys):
    write("a.csv", [0, 1, 2], 200)
    truth = write("b.csv", [1, 2, 3], 200, seed=1, fresh=0.01)
    good("cluster", "a.csv", "-k", 3, "-o", "a", "--tfidf")
    good("cluster", "b.csv", "--like", "a", "-o", "b")
    record = json.loads(Path("b/run.json").read_text())
    (told,) = record["lineage"]
    assert (len(told["kept"]), told["born"], len(told["vanished"])) == (2, [3], 1)
    assert (told["new_features"], told["lost_features"]) == (1, 0)
    assert record["source"]["steps"] == ["tfidf"]
    two = labels("b/labels.csv").cluster
    assert {*two[truth == 3]} == {3}
    good("predict", "b", "b.csv", "-o", "again.csv")
    pd.testing.assert_frame_equal(labels("again.csv"), labels("b/labels.csv"), atol=1e-5)
    for name in ("centers", "markers"):
        assert {*pd.read_csv(f"b/{name}.csv").cluster} == {*two}
    good("cluster", "a.csv", "--like", "b", "-o", "b", "--force")  # the same folder, every night
    chain = json.loads(Path("b/run.json").read_text())["lineage"]
    assert [entry["born"] for entry in chain] == [[3], [4]]
    said = ask(capsys, "cluster", "b.csv", "--like", "a", "-o", "c", "--log", code=2)
    assert "leave out --log" in said


def test_a_refit_to_other_samples_says_so(here, capsys):
    """Texts of other words: no id stays, and the note names the command for new samples."""
    old = ["the cat sat with another cat", "cats and kittens purr", "stocks fell in the rain"]
    new = ["violin and cello play", "the cello sings", "rain falls on the river", "rivers and rain"]
    for name, texts in (("old.txt", old * 4), ("new.txt", new * 4)):
        Path(name).write_text("\n".join(texts) + "\n")
    good("cluster", "old.txt", "-k", 2, "-o", "old", "--text", "--min-df", 1)
    said = ask(capsys, "cluster", "new.txt", "--like", "old", "-o", "new")
    assert "only 0 of 2 topics kept their ids" in said
    assert "For new documents alone use onmf predict." in said


def test_options_come_from_a_file_unless_typed(here, capsys):
    write("a.csv", [0, 1, 2])
    Path("c.toml").write_text(
        "seed = 3\n"
        '[cluster]\nclusters = 2\ndrop = ["w3"]\nunit = true\n'
        "log = false\n[predict]\nforce = true\n"
    )
    good("cluster", "a.csv", "--config", "c.toml", "-o", "c", "-k", 3)
    record = json.loads(Path("c/run.json").read_text())
    assert record["source"]["drop"] == ["w3"]
    assert record["source"]["steps"] == ["unit"]
    assert (record["seed"], record["parameters"]["n_clusters"]) == (3, 3)
    ask(capsys, "predict", "c", "a.csv", "-o", "p.csv", "--config", "c.toml")  # has no --seed
    wrong = "which is no option of onmf cluster"
    for text, message in [
        ("clusters =", "is not TOML"),
        ("clusters = " + "[" * 100_000, "is not TOML"),
        ("unit = 3", "unit is a flag"),
        ("sede = 3", f"bad.toml has 'sede', {wrong}"),
        ("[cluster]\nmissing = true", f"bad.toml has 'missing', {wrong}"),
    ]:
        Path("bad.toml").write_text(text)
        assert message in ask(
            capsys, "cluster", "a.csv", "-k", 2, "-o", "d", "--config", "bad.toml", code=2
        )


@pytest.mark.slow
def test_sizes_over_time(here):
    when = [f"2026-{1 + i // 25:02}-05" for i in range(100)]
    write("a.csv", [0, 1, 2], 100, when=when)
    good("cluster", "a.csv", "-k", 3, "-o", "out", "--time", "when")
    page = Path("out/report.html").read_text()
    assert 'id="time"' in page
    assert all(f"2026-{month:02}" in page for month in range(1, 5))
    assert "when" not in Path("out/centers.csv").read_text()
    good("edit", "out", "--rename", "0=<b>New</b>")
    page = Path("out/report.html").read_text()
    assert 'id="time"' in page
    assert "<b>New" not in page


@pytest.mark.parametrize(
    ("times", "names"),
    [
        (["10", "9", "10"], ["9", "10"]),
        (["b", "a"], ["a", "b"]),
        ([f"{y}-{m:02}-01" for y in (2025, 2026) for m in range(1, 13)], None),
        ([f"{y}-{m:02}-01" for y in (2024, 2025, 2026) for m in range(1, 13)],
         ["2024", "2025", "2026"]),
        ([str(i) for i in range(240)], None),
    ],
)  # fmt: skip
def test_times_become_periods_in_their_order(times, names):
    found, numbers = grouped_times(times)
    assert len(found) <= 24
    assert names is None or found == names
    if names is None:
        assert len(found) == 24
        assert sorted(numbers) == numbers


def test_probabilities_have_a_column_for_each_cluster_by_id(here):
    write("a.csv", [0, 1, 2, 3], 200)
    good("cluster", "a.csv", "-k", 4, "-o", "out")
    good("edit", "out", "--merge", "0,1")
    good("predict", "out", "a.csv", "-o", "p.csv", "--probabilities")
    found = labels("p.csv")
    columns = [name for name in found if name.startswith("probability_")]
    assert columns == ["probability_0", "probability_2", "probability_3"]
    P = found[columns]
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)
    assert (P.idxmax(axis=1) == "probability_" + found.cluster.astype(str)).all()
    np.testing.assert_allclose(P.max(axis=1), found.probability, atol=2e-6)
