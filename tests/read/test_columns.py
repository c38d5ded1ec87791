"""Names, classes and columns are found alike in text tables, workbooks and Parquet."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from onmf.exceptions import TableWarning
from reading import read_table

NUMBERS = {"u": [1.0, 2.0, 0.5], "v": [0.0, 4.0, 3.0]}
DATES = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
FRAMES = {
    "names": {"gene": ["TP53", "KRAS", "EGFR"], **NUMBERS},
    "id": {"id": [10, 20, 30], **NUMBERS},
    "numbers": NUMBERS,
    "one": {"id": [10.0, 20.0, 30.0]},
    "notes": {"gene": ["TP53", "KRAS", "EGFR"], "note": ["x", "y", "z"], **NUMBERS},
    "dates": {"gene": ["TP53", "KRAS", "EGFR"], **NUMBERS, "day": DATES},
    "days": {"day": DATES, **NUMBERS},
    "gaps": {"gene": ["TP53", "KRAS", "EGFR"], "u": [1.0, None, 3.0], "none": [None] * 3},
    "classes": {"kind": ["A", "A", "B"] * 8, "mass": [*np.arange(24.0)]},
    "last": {**NUMBERS, "kind": ["A", "A", "B"]},
}
OPTIONS = {
    "plain": {},
    "labels": {"labels": "kind"},
    "drop": {"drop": ["u"]},
    "drop names": {"drop": ["gene"]},
    "transpose": {"transpose": True},
}


def write(name, frame, folder):
    """The frame as a file of every format that can be written here."""
    frame.to_csv(folder / f"{name}.csv", index=False)
    frame.to_csv(folder / f"{name}.tsv", index=False, sep="\t", na_rep="NA")
    frame.to_csv(folder / f"{name}.txt", index=False, sep=";")
    written = ["csv", "tsv", "txt"]
    for ending, library in (("xlsx", "openpyxl"), ("parquet", "pyarrow")):
        try:
            __import__(library)
        except ImportError:
            continue
        save = frame.to_excel if ending == "xlsx" else frame.to_parquet
        save(folder / f"{name}.{ending}", index=False)
        written.append(ending)
    return [folder / f"{name}.{ending}" for ending in written]


def outcome(path, **options):
    """What is read, or said, without what only one format can say."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        try:
            X, *names = read_table(path, **options)
            found = np.array(X, float).tolist(), *names
        except ValueError as error:
            said_once = str(error).replace("; for documents, add --text", "")  # of a .txt
            found = said_once.replace("column or row", "column")
    said = [str(warning.message) for warning in caught]
    return str([found, said]).replace(path.name, "FILE").replace("nan", "NaN")


@pytest.mark.parametrize("asked", OPTIONS)
@pytest.mark.parametrize("name", FRAMES)
def test_every_format_reads_a_table_alike(name, asked, tmp_path):
    paths = write(name, pd.DataFrame(FRAMES[name]), tmp_path)
    wanted = outcome(paths[0], **OPTIONS[asked])
    for path in paths[1:]:
        assert outcome(path, **OPTIONS[asked]) == wanted, path.suffix


def test_columns_by_hand(tmp_path):
    for path in write("x", pd.DataFrame(FRAMES["notes"] | {"kind": [1.0, 2.0, 1.0]}), tmp_path):
        with pytest.warns(TableWarning, match="columns without numbers, which are not used: note"):
            table = read_table(path, labels="kind")
        assert table.samples == ["TP53", "KRAS", "EGFR"]
        assert table.features == ["u", "v"]
        assert [float(name) for name in table.labels] == [1, 2, 1]
        np.testing.assert_array_equal(table.X, np.transpose([*NUMBERS.values()]))


TEXTS = ["the cat sat on the mat", "a dog ate the red bone", "no cat and no dog today"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "no column of numbers; documents are read with --text-column 'my text', and"),
        ({"year": [2001.0, 2002.0, 2003.0]}, "my text; documents are read with --text-column"),
        ({f"gene {i}": [1.0, 2.0, 3.0] for i in range(10)}, "not used: my text."),
    ],
)
def test_a_column_of_texts_is_named_where_there_are_few_numbers(more, said, tmp_path):
    frame = pd.DataFrame({"id": ["a", "b", "c"], "my text": TEXTS} | more)
    for path in write("x", frame, tmp_path):
        assert said in outcome(path)


def test_a_cell_that_is_no_number_beside_texts(tmp_path):
    rows = [f"d{i},{TEXTS[i % 3]},{i}" for i in range(25)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["id,Text,date", *rows, f"e,{TEXTS[0]},1.1.2024", f"f,{TEXTS[0]},x"]))
    with pytest.raises(ValueError, match=r"'1.1.2024' in line 27, column date; documents are read"):
        read_table(path)


def test_a_class_that_is_missing_is_refused_with_the_sample(tmp_path):
    frame = pd.DataFrame(FRAMES["names"] | {"kind": ["A", None, "B"]})
    for path in write("x", frame, tmp_path):
        if path.suffix != ".tsv":  # "NA" is a class that somebody may have
            with pytest.raises(ValueError, match=r"column 'kind'.* has no value for 'KRAS'"):
                read_table(path, labels="kind")


def test_the_index_of_pandas_names_the_samples_unless_it_is_dropped(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(NUMBERS, pd.Index(["a", "b", "c"], name="who"))
    frame.to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").samples == ["a", "b", "c"]
    table = read_table(tmp_path / "x.parquet", drop=["who"])
    assert (table.samples, table.features) == (["0", "1", "2"], ["u", "v"])
    with pytest.raises(ValueError, match=r"x\.parquet has no column or row 'w' to drop"):
        read_table(tmp_path / "x.parquet", drop=["w"])
