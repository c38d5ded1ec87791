"""Columns that say which sample a row is: left out by default, kept by --raw."""

import json
import warnings

import numpy as np
import pytest

from onmf import ONMF
from onmf.rows.table import Table, numbered
from onmf_app import main
from onmf_app.runs.align import align_features
from onmf_app.runs.inputs import Input
from onmf_app.runs.unused import has_equal_steps, unused_features, without_unused

N = 40
rng = np.random.default_rng(0)
MEASURED = np.where(np.arange(N)[:, None] % 2, [5, 1, 1.0], [1, 5, 1]) + rng.random((N, 3))


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (np.arange(20), True),
        (np.arange(1, 21), True),
        (np.tile(np.arange(1, 5), 6), True),  # quarters
        (1952 + 5 * np.tile(np.arange(12), 3), True),
        (np.linspace(0, 1, 30), True),
        (np.tile([0, 1], 12), False),  # yes or no
        (np.r_[0, 1, np.zeros(20)], False),
        (np.r_[np.arange(20), 5], False),
        (np.arange(10), False),  # too few
        (np.ones(20), False),
        (np.sort(rng.integers(0, 20, 50)), False),
    ],
)
def test_equal_steps(x, expected):
    assert has_equal_steps(np.asarray(x, float)) == expected


def test_why_features_are_left_out():
    ids = rng.permutation(np.arange(100, 100 + N)).astype(float)
    years = rng.integers(2001, 2009, N).astype(float)
    X = np.column_stack([ids, years, MEASURED, MEASURED.sum(axis=1)])
    names = ["district_id", "birth year", "a", "b", "c", "total"]
    found = unused_features(X, names)
    assert found == {0: "ids", 1: "years or dates", 5: "the sum of all others"}
    assert unused_features(X[:, :5], ["casino", "size", "a", "b", "c"]) == {}


def test_the_input_drops_them_again_and_new_samples_need_not_have_them(tmp_path):
    table = np.column_stack([np.tile(np.arange(N // 2), 2), MEASURED])
    np.savetxt(tmp_path / "x.txt", table, fmt="%.4f")
    source = Input(tmp_path / "x.txt")
    source, left, said = without_unused(source, source.read())
    assert said == ["left out as no measurements: '0' (equal steps); --raw keeps them."]
    assert left.features == source.read().features == ["1", "2", "3"]
    np.testing.assert_array_equal(left.X, source.read().X)
    model = ONMF(n_clusters=2, random_state=0).fit(left)
    plain = Table(table[:5, 1:], [*"abcde"], numbered(3))
    whole = Table(table[:5], [*"abcde"], numbered(4))
    for new in (plain, whole):
        np.testing.assert_array_equal(align_features(new, model)[0].X, table[:5, 1:])
    kept = Input(tmp_path / "x.txt", raw=True)
    assert without_unused(kept, kept.read())[1].features == ["0", "1", "2", "3"]


def run(path, *options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main(["cluster", str(path), "-k", "2", *options])
    assert code in (0, None)


@pytest.mark.slow
def test_the_command_leaves_row_numbers_out_and_predicts_with_or_without_them(tmp_path, capsys):
    path, new = tmp_path / "x.txt", tmp_path / "new.txt"
    table = np.column_stack([np.tile(np.arange(N // 2), 2), MEASURED])
    np.savetxt(path, table, fmt="%.4f")
    run(path, "-o", str(tmp_path / "out"))
    assert (
        "left out as no measurements: '0' (equal steps); --raw keeps them"
        in capsys.readouterr().err
    )
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["source"]["drop"] == ["0"]
    labels = (tmp_path / "out" / "labels.csv").read_text().splitlines()[1:]
    expected = [line.split(",")[1] for line in labels][:5]
    for part in (table[:5], MEASURED[:5]):
        np.savetxt(new, part, fmt="%.4f")
        assert main(
            ["predict", str(tmp_path / "out"), str(new), "-o", str(tmp_path / "n.csv"), "--force"]
        ) in (0, None)
        found = (tmp_path / "n.csv").read_text().splitlines()[1:]
        assert [line.split(",")[1] for line in found] == expected
    run(path, "-o", str(tmp_path / "raw"), "--raw")
    assert json.loads((tmp_path / "raw" / "run.json").read_text())["source"]["drop"] == []
