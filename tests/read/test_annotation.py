"""Classes from a table with one row per sample: names matched, order free."""

import pandas as pd
import pytest

from onmf_app.read.annotation import read_labels

SAMPLES = ["c", "a", "b"]
FRAME = pd.DataFrame({
    "plate": ["1", "1", "2", "2"], "cell": ["a", "b", "c", "z"], "type": ["T", "B", "NK", "x"],
})  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "xlsx", "parquet"])
def test_a_column_of_any_table_is_matched_by_the_names_of_the_samples(tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        FRAME.to_excel(path, index=False)
    elif ending == "parquet":
        pytest.importorskip("pyarrow")
        FRAME.to_parquet(path, index=False)
    else:
        FRAME.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t", "txt": ";"}[ending])
    assert read_labels(f"{path}:type", SAMPLES) == ["NK", "T", "B"]


def test_row_names_of_r_have_no_heading(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text('"plate","type"\n"a",1,"T"\n"b",1,"B"\n"c",2,"NK"\n')
    assert read_labels(f"{path}:type", SAMPLES) == ["NK", "T", "B"]


def test_what_does_not_match_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "m.csv"
    FRAME.to_csv(path, index=False)
    for labels, samples, said in (
        (f"{path}:kind", SAMPLES, "m.csv has no column 'kind'; its columns are plate, cell, type"),
        (f"{path}:type", ["a", "q"], r"no class for 1 of 2 samples: 'q' \(by column 'cell'\)"),
        (f"{path}:type", ["u", "v"], "no column of m.csv has the names of the samples: 'u', 'v'"),
        (path, SAMPLES, "several columns: name that of the classes as m.csv:COLUMN. They are"),
    ):
        with pytest.raises(ValueError, match=said):
            read_labels(labels, samples)
    path.write_text("cell,type\na,T\na,B\n")
    with pytest.raises(ValueError, match="samples of the same name: 'a'"):
        read_labels(f"{path}:type", ["a"])
