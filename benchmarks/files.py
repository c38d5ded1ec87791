"""Tables as people have them, read by the shortest command: files at hand, and wrappings of one.

The column *before* is what the version before said to the same command with `--transpose`.
"""

import contextlib
import io
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import onmf_app as cli
from onmf.io import read_table
from sets import folder
from tables import table, write_section

COLUMNS = ["file", "before", "after: samples x features", "clusters", "ARI", "notes"]
NOT_NUMBERS = "error: cells are not numbers"
CELLS_ABOVE = "error: 1 cells in line 2 but 2 above it"
FILES = {  # the file, its classes, and what was said before
    "GSE3726_series_matrix.txt.gz": (None, "error: no column of numbers"),
    "featurecounts.txt": ("sc_celseq2.metadata.csv.gz:cell_line_demuxlet", CELLS_ABOVE),
    "htseq.tsv": ("sc_celseq2.metadata.csv.gz:cell_line_demuxlet", "12 clusters of noise"),
    "cbio.txt": ("sc_celseq2.metadata.csv.gz:cell_line_demuxlet", "error: only 1 direction"),
    "medullo.gct": ("medullo.xlsx:histology", "error: unknown ending"),
    "medullo.xlsx": ("medullo.xlsx:histology", "error: 28 cells in line 2 but 1 above it"),
    "alon_de.csv": ("alon_annot.csv:tissue", NOT_NUMBERS),
    "latin1.csv": ("alon_annot.csv:tissue", "error: not UTF-8"),
    "sc_celseq2.count.csv.gz": ("sc_celseq2.metadata.csv.gz:cell_line_demuxlet",
                                "2 clusters of depth, ARI 1; classes refused"),
    "alon_annot.csv": (None, "error: no column of numbers"),
    "messy.csv": (None, NOT_NUMBERS),
}  # fmt: skip
NOTE = """

`onmf cluster FILE -k auto`, with `--labels FILE:COLUMN` where classes are known. The first eleven
are the files at hand. featurecounts, htseq and cbio hold the first 6,000 genes of sc_celseq2, most
of them never read, so their ARI is low in any wrapping. alon_annot and messy are no tables of
numbers, and are refused with what to do. The others are 2,000 genes of sc_celseq2 in wrappings
made here."""


def run() -> None:
    home = folder()
    if home is None:
        return
    files, rows = home / "files", []
    for name, (classes, before) in FILES.items():
        labels = None if classes is None else f"{files}/{classes}"
        rows.append([name, before, *outcome(files / name, labels)])
    with tempfile.TemporaryDirectory() as place:
        for name, before in wrappings(files, Path(place)).items():
            labels = f"{files}/sc_celseq2.metadata.csv.gz:cell_line_demuxlet"
            rows.append([name, before, *outcome(Path(place) / name, labels)])
    write_section("files", "Tables as people have them", table(COLUMNS, rows) + NOTE)


def outcome(path: Path, labels: str | None) -> list[object]:
    """Size, clusters, agreement and number of notes; or the error."""
    said, told = io.StringIO(), io.StringIO()
    words = ["cluster", str(path), "-k", "auto", "--no-report", "--json"]
    with tempfile.TemporaryDirectory() as out:
        words += ["-o", f"{out}/x", *(["--labels", labels] if labels else [])]
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(told):
            code = cli.main(words)
    notes = sum(line.startswith("Note:") for line in said.getvalue().splitlines())
    if code == 2:
        return [said.getvalue().splitlines()[-1][:160].replace("|", "/"), "", "", notes]
    record = json.loads(told.getvalue())
    scores, size = record["results"]["scores"], record["input"]
    ari = "" if scores is None else f"{100 * scores['adjusted_rand_index']:.0f}"
    clusters = len(record["results"]["cluster_sizes"])
    return [f"{size['samples']} x {size['features']}", clusters, ari, notes]


def wrappings(files: Path, place: Path) -> dict[str, str]:
    """Files of one table, and what was said of each before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read_table(files / "sc_celseq2.count.csv.gz")
    genes = np.argsort(-found.X.sum(axis=0), kind="stable")[:2000]
    names = [found.features[j] for j in genes]
    frame = pd.DataFrame(found.X[:, genes].T.astype(int), names, found.samples)
    return {name: wrap(place / name, frame) or before for name, (wrap, before) in WRAPS.items()}


def with_head(head: str, **how: Any) -> Any:
    """A function that writes a table below some lines."""

    def write(path: Path, frame: pd.DataFrame) -> None:
        text = frame.to_csv(**{"index_label": "Gene", **how})
        path.write_bytes((head + text).encode(how.get("encoding", "utf-8")))

    return write


def with_rows(rows: dict[str, Any]) -> Any:
    """A function that writes a table with more rows, each a function of the table."""

    def write(path: Path, frame: pd.DataFrame) -> None:
        more = pd.DataFrame({name: row(frame) for name, row in rows.items()}).T
        pd.concat([frame, more]).to_csv(path, sep="\t", index_label="gene")

    return write


def workbook(path: Path, frame: pd.DataFrame) -> None:
    lines = [["Supplementary Table 3"], [], ["", "Run 1", *[""] * 99, "Run 2"]]
    top = pd.DataFrame([*lines, ["Gene symbol", *frame.columns]])
    body = frame.reset_index()
    body.columns = range(body.shape[1])
    both = pd.concat([top, body, pd.DataFrame([["* counts of unique molecules"]])])
    with pd.ExcelWriter(path) as book:
        both.to_excel(book, sheet_name="Counts", header=False, index=False)
        pd.DataFrame({"about": ["a readme"]}).to_excel(book, sheet_name="Readme")


def gct_3(path: Path, frame: pd.DataFrame) -> None:
    n, m = frame.shape
    head = f"#1.3\n{n}\t{m}\t1\t1\nid\tname\t" + "\t".join(frame.columns)
    plate = "plate\tna\t" + "\t".join(name[0] for name in frame.columns)
    body = "\n".join(
        f"{g}\tx\t" + "\t".join(map(str, v))
        for g, v in zip(frame.index, frame.to_numpy(), strict=True)
    )
    path.write_text(f"{head}\n{plate}\n{body}\n")


def with_commas(path: Path, frame: pd.DataFrame) -> None:
    lines = frame.to_csv(index_label="gene").splitlines()
    path.write_text("\n".join(line + "," for line in lines) + "\n")


DEPTH = "2 clusters of depth, ARI 1"
OTU = "# Constructed from biom file\n"
STAR = {"N_unmapped": lambda frame: frame.sum() * 3, "N_ambiguous": lambda frame: frame.sum()}
WRAPS = {
    "titles.csv": (with_head("Our cells, 2019\nmade by X\n\n"),
                   "error: 1 cells in line 2 but 2 above it"),
    "comments.tsv": (with_head("# v1\n# v2\n", sep="\t"),
                     "error: 275 cells in line 3 but 1 above it"),
    "semicolons.csv": (with_head("", sep=";"), DEPTH),
    "r_table.txt": (with_head("", sep=" ", index_label=False), DEPTH),
    "otu.txt": (with_head(OTU, sep="\t", index_label="#OTU ID"),
                "error: 2 cells in line 2 but 5 above it"),
    "unicode.txt": (with_head("", sep="\t", encoding="utf-16"), DEPTH),
    "readcounts.tab": (with_rows(STAR), "error: unknown ending"),
    "totals.tsv": (with_rows({"TOTAL": lambda frame: frame.sum()}), DEPTH + ", with a note"),
    "workbook.xlsx": (workbook, "error: 102 cells in line 3 but 1 above it"),
    "version3.gct": (gct_3, "error: unknown ending"),
    "trailing.csv": (with_commas, "error: no class for sample ''"),
}  # fmt: skip
