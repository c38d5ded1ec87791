"""Names of others reach a spreadsheet as text, a terminal as signs, and us as they were."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onmf.rows.table import one_line, printable
from onmf_app.read.annotation import read_labels
from onmf_app.read.cells import guard_cell, is_number, unguard_cell
from reading import csv_text, read_documents, read_table

FORMULAS = ["=1+1", "+A1", "-2+3", "@SUM(A1)", "'=x", "''=x", "\t=1", "=cmd|' /C calc'!A0", "＝1"]  # noqa: RUF001
FORMULAS += ["﹦1"]
PLAIN = ["gene", "a=b", "'quoted'", "don't", "-5", "+1.5e3", "", "é"]


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_begins_as_a_formula_does(name):
    assert re.match(r"'+[=+\-@\t\r＝﹦]", guard_cell(name))  # noqa: RUF001


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_no_formula_is_written_as_it_is(name):
    assert guard_cell(name) == name


@given(st.text(alphabet="'=+-@ \tab1.", max_size=6))
def test_every_name_comes_back_as_it_was(name):
    assert unguard_cell(guard_cell(name)) == name


@pytest.mark.parametrize("space", " \xa0\x0b\x1c\x85\u2028\u200b\ufeff\0\xad\u200e\u2060")
def test_what_no_one_sees_hides_no_formula(space):
    assert csv_text([f"{space}=1+1"], []).lstrip("\ufeff").strip('"\n') == f"'{space}=1+1"
    assert unguard_cell(guard_cell(f"{space}=1")) == f"{space}=1"


def test_numbers_are_numbers():
    assert csv_text(["a"], [[-1.5], ["-1.5"]]) == "a\n-1.5\n-1.5\n"


def test_our_readers_take_the_guard_away(tmp_path):
    path, names = tmp_path / "x.csv", ["=1+1", "@b", "'=c"]
    rows = [["=s", 1, 2, 3, "+t"], ["s", 4, 5, 6, "u"]]
    path.write_text(csv_text(["id", *names, "-kind"], rows), encoding="utf-8")
    table = read_table(path, labels="-kind")
    assert table.features == names
    assert table.samples == ["=s", "s"]
    assert table.labels == ["+t", "u"]
    (tmp_path / "classes.csv").write_text(csv_text(["=s", "=1"], [["s", "2"]]))
    assert read_labels(tmp_path / "classes.csv", ["=s", "s"]) == ["=1", "2"]


@pytest.mark.parametrize("cell", ["1_000", "١٢", "１２", "0x10", "1 000", "1_0.5"])  # noqa: RUF001
def test_only_python_takes_these_for_numbers(cell, tmp_path):
    assert not is_number(cell)
    path = tmp_path / "x.csv"
    path.write_text(f"id,a,b\ns,1,2\nt,3,{cell}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"cells that are not numbers: .* in line 3, column b"):
        read_table(path)


def test_matrix_market_takes_no_such_sizes_either(tmp_path):
    path = tmp_path / "x.mtx"
    path.write_text("%%MatrixMarket matrix array real general\n1_0 1\n" + "1\n" * 10)
    with pytest.raises(ValueError, match="its sizes are missing"):
        read_table(path)


@pytest.mark.parametrize(
    "mark",
    ["\x1b[31m", "\x07", "\x9b31m", "\r", "\u202e", "\x7f", "\udcff", "\u2028", "\u200b", "\ufeff"],
)
def test_nothing_that_a_terminal_obeys_is_shown_as_it_is(mark):
    shown = printable(f"a{mark}b\n\tc")
    assert mark not in shown
    assert shown.startswith("a\\")
    assert shown.endswith("b\n\tc")
    assert mark not in one_line(f"a{mark}b")


def test_names_in_any_script_are_shown_as_they_are():
    for name in ("naïve", "数据", "данные", "ب", "e\u0301", "👩\u200d🔬", "a\u00a0b"):
        assert printable(name) == name


def test_a_link_out_of_the_folder_is_followed_only_when_told(tmp_path):
    folder = tmp_path / "talks"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret words")
    (folder / "a.txt").write_text("stars")
    (folder / "inside.txt").symlink_to(folder / "a.txt")
    assert read_documents(folder).samples == ["a.txt", "inside.txt"]
    (folder / "b.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ValueError, match=r"links to files outside it: b\.txt\. Remove them"):
        read_documents(folder)
    assert read_documents(folder, follow_links=True).X[1] == "secret words"


@pytest.mark.parametrize("cells", [["1_000,5", "1_000,5"], ["٣,5", "٣,5"], ["1,5", "1.٣٣٣"]])
def test_other_signs_make_no_other_digits(cells, tmp_path):
    """Neither read as numbers nor set aside as a column of text."""
    (tmp_path / "x.csv").write_text(
        "id;a;b\n" + "".join(f"s{i};1;{c}\n" for i, c in enumerate(cells)), "utf-8"
    )
    with pytest.raises(ValueError, match="cells that are not numbers"):
        read_table(tmp_path / "x.csv", decimal=",")


def test_documents_of_a_table_have_their_own_names(tmp_path):
    rows = [["=a", "stars and moons"], ["b", "-genes"]]
    (tmp_path / "x.csv").write_text(csv_text(["@id", "=text"], rows))
    table = read_documents(tmp_path / "x.csv", column="=text", id_column="@id")
    assert (table.samples, table.X) == (["=a", "b"], ["stars and moons", "-genes"])
