"""Is the first line a header? Tables as people keep them, with and without one."""

import json
import warnings

import numpy as np
import pytest

from onmf.exceptions import TableWarning
from onmf_app.read.cells import to_number
from onmf_app.read.layouts import is_header
from reading import read_table

DATA = np.random.default_rng(0).integers(1, 90, (20, 8))


def read(path, text):
    path.write_text(text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", TableWarning)
        table = read_table(path)
    return table, " ".join(str(warning.message) for warning in said)


def lines(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.mark.parametrize(
    "numbers",
    [
        range(1990, 1993),  # years above counts
        range(1, 9),  # five and more at equal steps, wherever they lie
        [400, 402.5, 405, 407.5],
        [100, 102, 105, 110, 120, 140],  # rising
    ],
    ids=["years", "numbers", "wavelengths", "times"],
)
def test_numbers_that_are_those_of_columns_are_a_header(tmp_path, numbers):
    m = len(numbers)
    rows = [["country", *numbers], *([f"C{i}", *row[:m]] for i, row in enumerate(DATA))]
    table, _ = read(tmp_path / "x.csv", lines(rows))
    assert table.samples[0] == "C0"
    assert table.features == [str(x) for x in numbers]
    bare, _ = read(tmp_path / "y.csv", lines(row[1:] for row in rows))
    assert bare.X.tolist() == table.X.tolist()


@pytest.mark.parametrize(
    "rows",
    [
        np.cumsum(DATA, axis=1),  # all rows rise
        np.arange(24).reshape(4, 6) * 3,  # all have equal steps
        [[3, 4, 5], [1, 9, 2], [4, 3, 8]],  # three at equal steps among the others
        [
            [0.12, 0.43, 0.48, 0.5, 0.63, 0.7],
            [0.4, 0.1, 0.48, 0.5, 0.3, 0.2],
        ],  # two are equal below
        DATA,
    ],
    ids=["rising", "steps", "few", "equal", "any"],
)
def test_numbers_like_those_below_are_a_sample(tmp_path, rows):
    table, said = read(tmp_path / "x.csv", lines(rows))
    assert table.X.tolist() == np.asarray(rows, float).tolist()
    assert not said


def test_rows_of_random_numbers_are_not_taken_for_headers():
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(120):
        rows = [[*map(str, row)] for row in rng.integers(0, 50, (21, rng.integers(2, 9)))]
        wrong += is_header(to_number, rows[0], rows[1:])
    assert wrong == 0


@pytest.mark.parametrize("column", [0, 1, 3])
def test_the_first_sample_of_a_table_with_classes_and_no_header_is_kept(tmp_path, column):
    rows = [[*map(str, row[:3])] for row in DATA]
    for i, row in enumerate(rows):
        row.insert(column, "ab"[i % 2])
    table, said = read(tmp_path / "iris.data", lines(rows))
    assert table.X.tolist() == DATA[:, :3].tolist()
    assert table.features == [str(j) for j in range(4) if j != column]  # their places in the file
    assert "iris.data has no header: its first line is a sample" in said
    with pytest.warns(TableWarning, match="no header"):
        classes = read_table(tmp_path / "iris.data", labels=str(column)).labels
    assert classes == [row[column] for row in rows]


def test_a_word_above_numbers_makes_a_header_whatever_else_it_has(tmp_path):
    table, _ = read(tmp_path / "x.csv", "150,4,setosa\n5.1,3.5,0\n4.9,3.0,0\n")
    assert table.features == ["150", "4", "setosa"]


def test_spaces_separate_where_nothing_else_does(tmp_path):
    table, _ = read(tmp_path / "x.csv", "1.5 2.5  3\n 4 5 6\n7 8 9\n")
    assert table.X.tolist() == [[1.5, 2.5, 3], [4, 5, 6], [7, 8, 9]]


def test_lines_may_end_as_on_an_old_macintosh(tmp_path):
    (tmp_path / "x.csv").write_bytes(b'id,u,v\ra,1,"2"\rb,3,4\r')
    table = read_table(tmp_path / "x.csv")
    assert (table.samples, table.X.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


def test_percent_minus_signs_and_marks_of_missing_values_are_read(tmp_path):
    text = "id,u,v,w\na,45%,\u22121.5,?\nb,5 %,\u20132,<null>\nc,1%,3,4\n"
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    X = read_table(tmp_path / "x.csv").X
    np.testing.assert_array_equal(X, [[45, -1.5, np.nan], [5, -2, np.nan], [1, 3, 4]])


def test_a_column_of_mostly_words_or_dates_is_left_out(tmp_path):
    rows = [["id", "u", "note", "day"]]
    rows += [[f"s{i}", i * i, "ill; late" if i % 3 else 0, f"0{i}.03.2021"] for i in range(9)]
    table, said = read(tmp_path / "x.csv", lines(rows))
    assert table.features == ["u"]
    assert "not used: note, day" in said


def test_cells_that_are_not_numbers_are_named_by_column_with_what_to_drop(tmp_path):
    rows = [["id", *"abcdefghijkl"], *([f"s{i}", *[i] * 12] for i in range(30))]
    rows[25][1:] = ["x"] * 12
    with pytest.raises(ValueError, match="'x' in line 26, column a; ") as caught:
        read(tmp_path / "x.csv", lines(rows))
    said = str(caught.value)
    assert said.count("in line") == 10
    assert "and in 2 more columns" in said
    assert " ".join(f"--drop {name!r}" for name in "abcdefghijkl") in said


def test_words_are_no_genes_and_a_column_of_risks_no_names(tmp_path):
    words = "Peru Chad Cuba Oman Iran Iraq Mali Togo Fiji Laos Malta Kenya Ghana"
    words = words.split()
    table, said = read(tmp_path / "x.csv", "country,a,b\n" + lines([w, 1, 2] for w in words))
    assert (table.samples, said) == (words, "")
    table, said = read(tmp_path / "x.csv", "symbol,a\n" + lines([i % 5, i * i] for i in range(9)))
    assert (table.features, said) == (["symbol", "a"], "")


def test_json_objects_are_a_table(tmp_path):
    rows = [{"id": f"s{i}", "u": i, "v": i / 4, "kind": "ab"[i % 2]} for i in range(9)]
    del rows[3]["v"]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    one, said = read(tmp_path / "x.json", json.dumps(rows))
    assert (one.features, one.samples[1]) == (["u", "v"], "s1")
    assert "not used: kind" in said
    np.testing.assert_array_equal(one.X[2:4], [[2, 0.5], [3, np.nan]])
    with pytest.warns(TableWarning, match="not used: kind"):
        np.testing.assert_array_equal(read_table(tmp_path / "x.jsonl").X, one.X)
    with pytest.raises(ValueError, match="is a list of objects"):
        read(tmp_path / "x.json", '{"u": [1, 2]}')
