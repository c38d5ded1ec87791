"""The same numbers are read from every wrapping that programs and people give them."""

import warnings

import numpy as np
import pytest

from onmf.exceptions import TableWarning
from reading import read_table

GENES = ["TP53", "BRCA1", "KRAS", "EGFR", "MYC1", "PTEN"]
SAMPLES = ["s1", "s2", "s3"]
X = np.arange(18.0).reshape(6, 3) ** 2 / 4  # genes x samples
LEGS = "A549\tHeLa\tA549"


def rows(mark="\t", decimal=".", extra=()):
    """The lines of the table; `extra` cells stand between names and numbers."""
    lines = []
    for gene, values in zip(GENES, X, strict=True):
        cells = [gene, *extra, *(f"{v:.2f}".replace(".", decimal) for v in values)]
        lines.append(mark.join(cells))
    return "\n".join(lines) + "\n"


GEO = (
    '!Series_title\t"One"\n!Sample_title\t"t1"\t"t2"\t"t3"\n'
    '!Sample_characteristics_ch1\t"line: A549"\t"line: HeLa"\t"line: A549"\n'
    "!series_matrix_table_begin\n"
)
WRAPPED = {  # ending and text; the samples are the columns in all of them
    "geo": (".txt", GEO + "ID_REF\ts1\ts2\ts3\n" + rows() + "!series_matrix_table_end\n"),
    "featurecounts": (
        ".txt",
        '# Program:featureCounts v2.0.1; Command:"featureCounts" "-a" "x.gtf"\n'
        "Geneid\tChr\tStart\tEnd\tStrand\tLength\t/a/s1.bam\t/a/s2.sorted.bam\ts3.bam\n"
        + rows(extra=["chr1;chr1", "5", "9", "+", "4"]),
    ),
    "htseq": (
        ".tsv",
        "gene\ts1\ts2\ts3\n" + rows() + "__no_feature\t9\t9\t9\n__not_aligned\t8\t8\t8\n",
    ),
    "star": (".tab", ["N_unmapped\t1\t2\t3", "gene\ts1\ts2\ts3\n"][1] + rows()),
    "cbioportal": (".txt", "Hugo_Symbol\tEntrez_Gene_Id\ts1\ts2\ts3\n" + rows(extra=["7157"])),
    "gct": (".gct", "#1.2\n6\t3\nName\tDescription\ts1\ts2\ts3\n" + rows(extra=["a protein"])),
    "gct3": (
        ".gct",
        f"#1.3\n6\t3\t1\t1\nid\tlength\ts1\ts2\ts3\nline\tna\t{LEGS}\n" + rows(extra=["12"]),
    ),
    "semicolons": (".csv", "Gene;s1;s2;s3\n" + rows(";", ",")),
    "quoted commas": (".csv", "Gene,s1,s2,s3\n" + rows(",")),
    "titles": (".csv", "Our table, 2019\nSheet 1 of 2\n\nGene,s1,s2,s3\n" + rows(",")),
    "titles as exported": (".csv", "Our table,,,\n,,,\nGene,s1,s2,s3\n" + rows(",")),
    "comments": (".tsv", "# made by us\n# in 2019\nGene\ts1\ts2\ts3\n" + rows()),
    "r": (".csv", "s1,s2,s3\n" + rows(",")),
    "two headers": (".tsv", f"Gene\ts1\ts2\ts3\nline\t{LEGS}\n" + rows()),
    "classes first": (".tsv", f"line\t{LEGS}\nGene\ts1\ts2\ts3\n" + rows()),
    "trailing separators": (".csv", "Gene,s1,s2,s3,\n" + rows(",").replace("\n", ",\n")),
    "footnote": (".csv", "Gene,s1,s2,s3\n" + rows(",") + "* normalised to GAPDH\n"),
    "total": (
        ".csv",
        "Gene,s1,s2,s3\n" + rows(",") + "Total," + ",".join(map(str, X.sum(axis=0))) + "\n",
    ),
    "limits": (".csv", "Gene,s1,s2,s3\n" + rows(",").replace(",2.25", ",<2.25")),
}


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return read_table(path, **options)


@pytest.mark.parametrize("name", WRAPPED)
def test_every_wrapping_holds_the_same_table(tmp_path, name):
    ending, text = WRAPPED[name]
    (tmp_path / f"x{ending}").write_text(text)
    table = read(tmp_path / f"x{ending}", transpose=True)
    assert (table.samples, table.features) == (SAMPLES, GENES)
    np.testing.assert_allclose(table.X, np.round(X.T, 2))


@pytest.mark.parametrize("name", ["geo", "featurecounts", "cbioportal", "gct", "gct3"])
def test_formats_with_genes_as_rows_are_turned_unless_refused(tmp_path, name):
    ending, text = WRAPPED[name]
    path = tmp_path / f"x{ending}"
    path.write_text(text)
    with pytest.warns(TableWarning, match="has features as rows, so it was transposed"):
        table = read_table(path)
    assert (table.samples, table.features) == (SAMPLES, GENES)
    assert read(path, transpose=False).samples == GENES


@pytest.mark.parametrize("name", ["geo", "gct3", "two headers", "classes first"])
def test_classes_above_the_samples_are_true_classes(tmp_path, name):
    ending, text = WRAPPED[name]
    (tmp_path / f"x{ending}").write_text(text)
    table = read(tmp_path / f"x{ending}", transpose=True, labels="line")
    assert table.labels == ["A549", "HeLa", "A549"]


def test_lines_to_skip_are_counted_as_in_the_file(tmp_path):
    (tmp_path / "x.csv").write_text("1,2,3,4\n\n5,6,7,8\nGene,s1,s2,s3\n" + rows(","))
    table = read(tmp_path / "x.csv", skip_rows=3, transpose=True)
    assert (table.samples, table.features) == (SAMPLES, GENES)


def test_what_is_left_out_is_said(tmp_path):
    for name, said in (
        ("htseq", "'__no_feature', '__not_aligned' count reads outside of genes"),
        ("footnote", "'* normalised to GAPDH' has no numbers, and is left out"),
        ("total", "'Total' is the sum of the others, and left out"),
        ("limits", "'<2.25' is beyond a limit, and the limit is taken"),
        ("semicolons", "x.csv has decimal commas"),
    ):
        ending, text = WRAPPED[name]
        (tmp_path / f"x{ending}").write_text(text)
        with pytest.warns(TableWarning) as caught:
            read_table(tmp_path / f"x{ending}")
        assert any(said in str(warning.message) for warning in caught)


def test_a_row_called_total_that_is_no_sum_stays(tmp_path):
    (tmp_path / "x.csv").write_text("name,u,v\na,1,2\nb,3,4\ntotal,9,9\n")
    assert read_table(tmp_path / "x.csv").samples == ["a", "b", "total"]


def test_thousands_are_not_taken_for_decimals(tmp_path):
    (tmp_path / "x.csv").write_text("name;u;v\na;1,234;2,345\nb;3,456;4,567\n")
    with pytest.raises(ValueError, match=r"read.decimal=, and if it groups digits, use --set"):
        read_table(tmp_path / "x.csv")
    assert read_table(tmp_path / "x.csv", thousands=",").X.tolist() == [[1234, 2345], [3456, 4567]]


def test_a_sample_without_values_is_no_footnote(tmp_path):
    (tmp_path / "x.csv").write_text("name,u,v\na,1,2\nb,,\nc,3,4\n")
    assert read_table(tmp_path / "x.csv").samples == ["a", "b", "c"]


def test_a_workbook_with_title_merged_header_and_two_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    lines = [["Our title"], [], [None, None, "treated", None, "control"]]
    lines += [["Gene", "note", *SAMPLES]]
    lines += [[gene, "x", *values] for gene, values in zip(GENES, X.tolist(), strict=True)]
    for line in [*lines, ["a footnote"]]:
        book.active.append(line)
    more = book.create_sheet("Annotation")
    for line in (["sample", "line"], ["s3", "c"], ["s1", "a"], ["s2", "b"]):
        more.append(line)
    path = tmp_path / "x.xlsx"
    book.save(path)
    with pytest.warns(TableWarning) as caught:
        table = read_table(path, labels="header", transpose=True)
    said = " ".join(str(warning.message) for warning in caught)
    assert "only the first, 'Sheet', is read (--sheet reads another: Annotation)" in said
    assert (table.samples, table.features) == (SAMPLES, GENES)
    assert table.labels == ["treated", "treated", "control"]
    np.testing.assert_allclose(table.X, X.T)
    assert read(path, labels=f"{path}:line", transpose=True).labels == ["a", "b", "c"]
    with pytest.raises(ValueError, match="no sheet 'annot'; its sheets are Sheet, Annotation"):
        read(path, sheet="annot")
    with pytest.raises(ValueError, match="no column of numbers"):
        read(path, sheet="Annotation")


def test_of_a_workbook_the_first_sheet_with_numbers_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Report", "of", "2024"])
    more = book.create_sheet("Data")
    for line in (["id", "u", "v"], ["a", 1, 2.5], ["b", 3, 4]):
        more.append(line)
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(TableWarning, match="first with a table of numbers, 'Data', is read"):
        table = read_table(tmp_path / "x.xlsx")
    assert table.X.tolist() == [[1, 2.5], [3, 4]]
    with pytest.raises(ValueError, match="header but no samples"):
        read_table(tmp_path / "x.xlsx", sheet="Sheet")
