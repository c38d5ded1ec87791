"""What a text table may look like, and what is said when it cannot be read."""

import gzip
import tracemalloc

import numpy as np
import pytest

from onmf.exceptions import TableWarning
from onmf_app.read import streams
from reading import read_table

X = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0]])


@pytest.mark.parametrize(
    ("text", "samples", "features"),
    [
        ("1,0,2.5\n0,3,0\n", ["0", "1"], ["0", "1", "2"]),
        ("u,v,w\n1,0,2.5\n0,3,0\n", ["0", "1"], ["u", "v", "w"]),
        ("name,u,v,w\na,1,0,2.5\nb,0,3,0\n", ["a", "b"], ["u", "v", "w"]),
        ("a,1,0,2.5\nb,0,3,0\n", ["a", "b"], ["0", "1", "2"]),
        (",u,v,w\n10,1,0,2.5\n20,0,3,0\n", ["10", "20"], ["u", "v", "w"]),
        ("ID,u,v,w\n10,1,0,2.5\n20,0,3,0\n", ["10", "20"], ["u", "v", "w"]),
        (",0,1,2\n0,1,0,2.5\n1,0,3,0\n", ["0", "1"], ["0", "1", "2"]),
        ("0,1,2\n1,0,2.5\n0,3,0\n", ["0", "1"], ["0", "1", "2"]),
        ("# u,v,w\n1,0,2.5\n0,3,0\n", ["0", "1"], ["u", "v", "w"]),  # numpy.savetxt
        ("# 0,1,2\n1,0,2.5\n0,3,0\n", ["0", "1"], ["0", "1", "2"]),
        ("id,7,8,9\na,1,0,2.5\nb,0,3,0\n", ["a", "b"], ["7", "8", "9"]),
        ("u,v,w\na,1,0,2.5\nb,0,3,0\n", ["a", "b"], ["u", "v", "w"]),
        ('"a, b","1",0,2.5\r\n\r\nc,0,3e0,0\r\n', ["a, b", "c"], ["0", "1", "2"]),
        ("\ufeffu,v,w\n1,0,2.5\n0,3,0", ["0", "1"], ["u", "v", "w"]),
    ],
)
@pytest.mark.parametrize(("ending", "delimiter"), [(".csv", ","), (".TSV", "\t")])
def test_headers_and_names_are_found(tmp_path, text, samples, features, ending, delimiter):
    path = tmp_path / f"table{ending}"
    plain = text.replace("a, b", "a; b").replace(",", delimiter).replace("a; b", "a, b")
    path.write_text(plain, encoding="utf-8", newline="")
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.samples == samples
    assert table.features == features


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_csv_file_may_use_other_marks_than_commas(tmp_path, mark):
    path = tmp_path / "x.csv"
    path.write_text("id,u,v\na,1,2\nb,3,4\n".replace(",", mark))
    assert read_table(path).features == ["u", "v"]


def test_packed_tables_are_unpacked(tmp_path):
    for name in ("x.csv.gz", "x.TSV.GZ"):
        text = "id,u\na,1\n".replace(",", "\t" if "TSV" in name else ",")
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        assert read_table(tmp_path / name).X.tolist() == [[1]]


def test_a_transposed_file_has_its_samples_as_columns(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("gene,cell a,cell b\nu,1,2\nv,3,4\nw,5,6\n")
    table = read_table(path, transpose=True)
    assert table.X.tolist() == [[1, 3, 5], [2, 4, 6]]
    assert table.samples == ["cell a", "cell b"]
    assert table.features == ["u", "v", "w"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_column_of_classes_is_no_feature(tmp_path, place):
    rows = [["u", "v"], ["1", "2"], ["3", "4"]]
    for row, cell in zip(rows, ["type", "LUAD", "KIRC"], strict=True):
        row.insert(place, cell)
    path = tmp_path / "x.csv"
    path.write_text("\n".join(map(",".join, rows)))
    table = read_table(path, labels="type")
    assert table.labels == ["LUAD", "KIRC"]
    assert table.features == ["u", "v"]
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.samples == ["0", "1"]


def test_classes_may_be_numbers_and_stand_beside_names(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,u,type\na,1,7\nb,3,8\n")
    table = read_table(path, labels="type")
    assert table == (pytest.approx(np.array([[1], [3]])), ["a", "b"], ["u"], ["7", "8"])


def test_progress_ends_near_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 100)
    path = tmp_path / "x.csv"
    path.write_text("1,2,5\n" * 1000)
    seen = []
    read_table(path, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {6000}


BAD_FILES = {
    "empty.csv": (b"\n\n", "empty.csv is empty"),
    "nothing.csv": (b"", "nothing.csv is empty"),
    "header.csv": (b"a,b\n", "header but no samples"),
    "ids.csv": (b"id\na\nb\n", "has no column of numbers"),
    "ragged.csv": (b"1,2\n3\n", "1 cells in line 2 but 2 above"),
    "ragged3.csv": (b"id,u\na,1\nb,2,3\n", "3 cells in line 3 but 2 above"),
    "wide.csv": ("u,v\n1,2\n3,".encode("utf-16")[:-1], "not UTF-16: save it"),
    "ids twice.csv": (b"id,u\na,1\nb,2\na,3\n", "samples of the same name: 'a'"),
    "cut.csv.gz": (gzip.compress(b"1,2\n3,4\n" * 1000)[:40], "not a complete gzip file"),
    "no.csv.gz": (b"1,2\n", "not a complete gzip file"),
    "quote.csv": (b'u,v\n1,"' + b"x" * 200_000 + b"\n", "not a text table at line 2"),
    "x.docx": (b"", "does not end in .csv, .tsv"),
    "x.xls": (b"", "x.xls cannot be read directly: open it in a spreadsheet and save it as .xlsx"),
    "x.rds": (b"", r'in R, write.csv\(as.matrix\(readRDS\("x.rds"\)\), "table.csv"\)'),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_a_sentence_that_says_where(tmp_path, name):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_a_line_without_end_is_not_unpacked_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LONGEST_LINE", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"0" * 10_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="over 1000 bytes in a line"):
            read_table(tmp_path / "bomb.csv.gz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_at_most_ten_bad_cells_are_listed(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("u,v\n" + "1,2\n" * 20 + "1,x\n" * 20)
    with pytest.raises(ValueError, match="not numbers") as caught:
        read_table(path)
    assert str(caught.value).count("column v") == 10


def test_a_missing_file_is_named(tmp_path):
    for ending in ("npy", "npz", "csv", "tsv.gz", "mtx", "parquet", "h5ad"):
        with pytest.raises(FileNotFoundError, match=f"x.{ending}"):
            read_table(tmp_path / f"x.{ending}")


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path)


# --- as other programs export them ---------------------------------------------------------------


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_a_decimal_comma_is_read_when_it_is_said_and_asked_about_when_not(tmp_path):
    path = write(tmp_path / "x.csv", "id;u;v\na;1,5;1.234,5\nb;-2;1.000.000\n")
    assert read_table(path, decimal=",").X.tolist() == [[1.5, 1234.5], [-2, 1e6]]
    with pytest.raises(ValueError, match=r"use --set read\.decimal=,"):
        read_table(path)
    with pytest.raises(ValueError, match=r"'1\.5' in line 2"):  # a point that groups nothing
        read_table(write(path, "id;u\na;1.5\n"), decimal=",")


@pytest.mark.parametrize(
    ("mark", "cell"), [(",", '"1,234,567.5"'), (" ", "1\u00a0234 567.5"), ("'", "1'234'567.5")]
)
def test_thousands_may_be_grouped(tmp_path, mark, cell):
    path = write(tmp_path / "x.csv", f"id,u,v\na,{cell},2\nb,3,4\n")
    assert read_table(path, thousands=mark).X.tolist() == [[1234567.5, 2], [3, 4]]
    with pytest.raises(ValueError, match="not numbers"):
        read_table(path)


@pytest.mark.parametrize("mark", ["\t", ";", ",", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_a_txt_file_is_a_table_with_any_separator_and_encoding(tmp_path, mark, encoding):
    path = write(tmp_path / "x.txt", "id,ü,v\na,1,2\nb,3,4\n".replace(",", mark), encoding)
    table = read_table(path)
    assert table.features == ["ü", "v"]
    assert table.X.tolist() == [[1, 2], [3, 4]]
    packed = tmp_path / "x.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_table(packed).X.tolist() == [[1, 2], [3, 4]]


def test_a_txt_file_of_texts_is_no_table(tmp_path):
    path = write(tmp_path / "x.txt", "stars and planets\nmoons of stars\n")
    with pytest.raises(ValueError, match="for documents, add --text"):
        read_table(path)


EXPORT = "gene,description,a,chromosome,b\nTP53,tumour protein,1,17p,2\nKRAS,NA,3,12p,4\n"


def test_columns_of_text_are_set_aside_and_named(tmp_path):
    path = write(tmp_path / "x.csv", EXPORT)
    with pytest.warns(TableWarning, match="not used: description, chromosome"):
        table = read_table(path)
    assert table.features == ["a", "b"]
    assert table.samples == ["TP53", "KRAS"]
    assert table.X.tolist() == [[1, 2], [3, 4]]


def test_columns_and_rows_can_be_dropped_by_name(tmp_path):
    path = write(tmp_path / "x.csv", EXPORT + "TOTAL,,4,,6\n")
    table = read_table(path, drop=["description", "chromosome", "TOTAL"])
    assert table.X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="no column or row 'nowhere' to drop"):
        read_table(path, drop=["description", "chromosome", "TOTAL", "nowhere"])


PENGUINS = "species,island,mass,bill\n" + "".join(
    f"{kind},Biscoe,{i},{'NA' if i == 1 else i + 1}\n"
    for i, kind in enumerate(["A"] * 4 + ["G"] * 4)
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_first_column_of_classes_does_not_name_the_samples(tmp_path, ending):
    path = write(tmp_path / "x.csv", PENGUINS)
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame = pytest.importorskip("pandas").read_csv(path)
        path = tmp_path / "x.parquet"
        frame.to_parquet(path, index=False)
    with pytest.warns(TableWarning, match="not used: species, island"):
        plain = read_table(path)
    assert plain.samples == [str(i) for i in range(8)]
    assert plain.features == ["mass", "bill"]
    assert plain.X[:, 0].tolist() == list(range(8))
    with pytest.warns(TableWarning, match="not used: island"):
        classes = read_table(path, labels="species")
    assert classes.labels == ["A"] * 4 + ["G"] * 4
    np.testing.assert_array_equal(classes.X, plain.X)
    np.testing.assert_array_equal(read_table(path, drop=["species", "island"]).X, plain.X)


@pytest.mark.parametrize("heading", ["gene", "id"])
def test_the_column_of_names_can_be_dropped(tmp_path, heading):
    path = write(tmp_path / "x.csv", f"{heading},a,b\nTP53,1,2\nKRAS,NA,4\n")
    table = read_table(path, drop=[heading])
    assert (table.samples, table.features) == (["0", "1"], ["a", "b"])
    np.testing.assert_array_equal(table.X, [[1, 2], [np.nan, 4]])


def test_a_few_names_that_repeat_are_refused_with_a_way_out(tmp_path):
    path = write(tmp_path / "x.csv", "name,a\nu,1\nv,2\nu,3\nw,4\n")
    with pytest.raises(ValueError, match=r"same name: 'u'.*--labels.*--drop"):
        read_table(path)


def test_features_of_one_name_are_summed_or_the_first_is_taken(tmp_path):
    path = write(tmp_path / "x.csv", "gene,a,b\nv,1,2\nu,3,4\nv,10,20\n")
    with pytest.raises(ValueError, match=r"same name: 'v'.*--set read.duplicates"):
        read_table(path, transpose=True, duplicates="refuse")
    with pytest.warns(TableWarning, match="several features named 'v', which are numbered"):
        table = read_table(path, transpose=True)
    assert table.features == ["v", "u", "v.1"]
    assert table.X.T.tolist() == [[1, 2], [3, 4], [10, 20]]
    for how, first in (("sum", [11, 22]), ("first", [1, 2])):
        with pytest.warns(TableWarning, match="1 repeated feature names"):
            table = read_table(path, transpose=True, duplicates=how)
        assert table.features == ["v", "u"]
        assert table.X.T.tolist() == [first, [3, 4]]


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["gene", "note", "a", "b"], ["TP53", "x", 1, 2.5], [], ["KRAS", "y", 0, True]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(TableWarning, match="not used: note"):
        table = read_table(tmp_path / "x.xlsx")
    assert (table.samples, table.features) == (["TP53", "KRAS"], ["a", "b"])
    assert table.X.tolist() == [[1, 2.5], [0, 1]]
    book.create_sheet("more")
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(TableWarning, match="2 sheets; only the first, 'Sheet', is read"):
        read_table(tmp_path / "x.xlsx", drop=["note"])
    (tmp_path / "no.xlsx").write_bytes(b"noise")
    with pytest.raises(ValueError, match=r"no\.xlsx cannot be read as a workbook"):
        read_table(tmp_path / "no.xlsx")


# --- cells without a value ---------------------------------------------------------------------

NAN = np.nan
TABLES = {
    "x.csv": ("id,u,v\na,1,\nb,NA,3\nc,nan, N/A \n", [[1, NAN], [NAN, 3], [NAN, NAN]]),
    "x.tsv": ("id\tu\tv\na\t1\tNULL\nb\t-\t3\n", [[1, NAN], [NAN, 3]]),
    "semicolon.csv": ("id;u;v\na;1,5;\nb;NaN;3\n", [[1.5, NAN], [NAN, 3]]),
    "bare.csv": ("1,,3\n4,5,6\n,8,9\n", [[1, NAN, 3], [4, 5, 6], [NAN, 8, 9]]),
    "headed.csv": ("u,v\nNA,2\n3,4\n", [[NAN, 2], [3, 4]]),
    "no number.csv": ("u,v\nNA,NA\n,\n3,1\n", [[NAN, NAN], [3, 1]]),
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
