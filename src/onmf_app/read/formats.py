"""File endings, and what is said of those that nothing here reads."""

from pathlib import Path

TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".gct")
FORMATS = {  # ending: kind; of text and .mtx, also with .gz
    **dict.fromkeys(TEXTS, "text"),
    ".xlsx": "sheet",
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    ".mtx": "market",
    **dict.fromkeys((".npy", ".npz"), "array"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".h5ad": "cells",
}
SPREADSHEET = "open it in a spreadsheet and save it as .xlsx"
REMEDIES = {  # for files that other programs read
    ".xls": SPREADSHEET,
    ".xlsb": SPREADSHEET,
    ".ods": SPREADSHEET,
    ".rds": 'in R, write.csv(as.matrix(readRDS("FILE")), "table.csv")',
    ".rdata": "in R, load it and write the matrix with write.csv",
    ".rda": "in R, load it and write the matrix with write.csv",
    ".loom": 'in Python, anndata.io.read_loom("FILE").write_h5ad("cells.h5ad")',
    ".mat": 'in Python, numpy.save("X.npy", scipy.io.loadmat("FILE")["X"])',
    ".sas7bdat": "export it from SAS as .csv",
    ".sav": "export it from SPSS as .csv",
    ".dta": "export it from Stata as .csv",
    ".pkl": "load it in Python and save the array with numpy.save",
    ".pdf": "copy the table into a spreadsheet and save it as .xlsx",
    ".zip": "unpack it first",
    ".tar": "unpack it first",
    ".tar.gz": "unpack it first",
}


def kind_of(path: Path) -> str:
    """What reads a file, by its ending."""
    name = path.name.lower()
    if path.is_dir():
        inside = {one.suffix for one in path.iterdir() if one.name[0] not in "._"}
        if inside == {".parquet"}:
            return "parquet"
        raise ValueError(f"{path.name} is a folder: for a folder of documents, add --text.")
    kind = next((FORMATS[end] for end in FORMATS if name.endswith((end, f"{end}.gz"))), None)
    if kind is None or (name.endswith(".gz") and kind not in ("text", "market")):
        remedy = next((REMEDIES[end] for end in REMEDIES if name.endswith(end)), None)
        if remedy is not None:
            said = remedy.replace("FILE", path.name)
            raise ValueError(f"{path.name} cannot be read directly: {said}.")
        known = ", ".join(FORMATS)
        raise ValueError(f"{path.name} does not end in {known}; for documents, add --text.")
    return kind
