"""A cell without a value is NaN, in every table; headings and names are found in spite of it."""

import numpy as np
import pytest

from reading import read_table

NAN = np.nan
TABLES = {
    "x.csv": ("id,u,v\na,1,\nb,NA,3\nc,nan, N/A \n", [[1, NAN], [NAN, 3], [NAN, NAN]]),
    "x.tsv": ("id\tu\tv\na\t1\tNULL\nb\t-\t3\n", [[1, NAN], [NAN, 3]]),
    "semicolon.csv": ("id;u;v\na;1,5;\nb;NaN;3\n", [[1.5, NAN], [NAN, 3]]),
    "bare.csv": ("1,,3\n4,5,6\n,8,9\n", [[1, NAN, 3], [4, 5, 6], [NAN, 8, 9]]),
    "headed.csv": ("u,v\nNA,2\n3,4\n", [[NAN, 2], [3, 4]]),
    "column.csv": ("u,v\n1,NA\n3,\n", [[1, NAN], [3, NAN]]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_cell_without_a_value_is_nan(name, tmp_path):
    text, wanted = TABLES[name]
    (tmp_path / name).write_text(text)
    table = read_table(tmp_path / name, decimal="," if "semi" in name else ".")
    np.testing.assert_array_equal(table.X, wanted)
    known = text.startswith("id")
    assert table.samples == [*"abc"[: len(wanted)]] if known else [*"012"[: len(wanted)]]
    if "bare" not in name:
        assert table.features == ["u", "v"]


def test_a_workbook_with_empty_cells(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["id", "u", "v"], ["a", 1, None], ["b", None, 3]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    np.testing.assert_array_equal(read_table(tmp_path / "x.xlsx").X, [[1, NAN], [NAN, 3]])


def test_a_word_among_gaps_is_refused_by_its_place(tmp_path):
    (tmp_path / "x.csv").write_text("id,u,v\na,1,\nb,3,many\nc,5,6\n")
    with pytest.raises(ValueError, match="'many' in line 3, column v"):
        read_table(tmp_path / "x.csv")
