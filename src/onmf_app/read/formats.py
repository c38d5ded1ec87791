"""File endings, and the modules that read them."""

from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any

from onmf.files import visible_files
from onmf.prepare.genes import rows_are_genes
from onmf.rows import (
    ARRAYS,
    CELLS,
    SAMPLES,
    InMemoryTable,
    Options,
    Progress,
    Source,
    Table,
    Terms,
    check_unique,
    no_progress,
    open_arrays,
    turn,
)
from onmf_app.read.annotation import with_classes
from onmf_app.read.duplicates import Duplicates, merge_features, number_features
from onmf_app.read.layouts import note_turned

Open = Callable[[Path, Options], Source]

FORMATS = {  # ending: module, whose `open_<module>(path, options)` reads it
    ".csv": "delimited",
    ".csv.gz": "delimited",
    ".tsv": "delimited",
    ".tsv.gz": "delimited",
    ".txt": "delimited",
    ".txt.gz": "delimited",
    ".tab": "delimited",
    ".tab.gz": "delimited",
    ".dat": "delimited",
    ".dat.gz": "delimited",
    ".data": "delimited",
    ".data.gz": "delimited",
    ".gct": "delimited",
    ".gct.gz": "delimited",
    ".xlsx": "workbook",
    ".json": "records",
    ".jsonl": "records",
    ".ndjson": "records",
    ".mtx": "market",
    ".mtx.gz": "market",
    **ARRAYS,
}
FOLDER = ".parquet"  # the ending that may be a folder
REMEDIES = {  # for files that other programs read
    ".xls": "open it in a spreadsheet and save it as .xlsx",
    ".xlsb": "open it in a spreadsheet and save it as .xlsx",
    ".ods": "open it in a spreadsheet and save it as .xlsx or .csv",
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
READERS_TERMS = {".h5ad": CELLS}  # of formats that say what their rows are
LAYERED = "h5ad"
ROWS_BY_NAME = ("delimited", "workbook", "records")
WITH_COLUMNS = (*ROWS_BY_NAME, "parquet")
NAMED_ROWS = ("parquet",)  # as tables; rows of annotated data are always samples


def open_source(
    path: str | Path,
    *,
    labels: str | None = None,
    transpose: bool | None = None,
    layer: str | None = None,
    drop: Collection[str] = (),
    **how: Any,
) -> Source:
    """Open a file by its ending; the parameters are those of `read_table`.

    Text tables and Matrix Market are read at once; of other files only shape and names are read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from onmf_app.read.formats import open_source
    >>> path = pathlib.Path(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> source = open_source(path)
    >>> source.shape, source.rows(1, 2)
    ((3, 2), array([[2., 3.]]))
    """
    path = Path(path)
    ending = known_ending(path.name)
    if path.is_dir() and ending != FOLDER:
        ending = folder_ending(path)
    if path.is_dir() and ending != FOLDER:
        raise ValueError(f"{path.name} is a folder: for a folder of documents, add --text.")
    if ending is None:
        raise ValueError(_unknown_ending(path.name))
    if layer is not None and FORMATS[ending] != LAYERED:
        raise ValueError(f"{path.name} has no layers: only .h5ad files have them.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if drop and FORMATS[ending] not in WITH_COLUMNS:
        raise ValueError(f"{path.name} has no named columns to drop: only tables have them.")
    kind = FORMATS[ending]
    inside = how | ({"transpose": transpose} if kind in ROWS_BY_NAME else {})
    column = None if transpose and kind not in ROWS_BY_NAME else labels
    options = Options(labels=column, layer=layer, drop=drop, **inside)
    if kind in ARRAYS.values():
        source = open_arrays(path, options)
    else:
        open_it: Open = getattr(import_module(f"onmf_app.read.{kind}"), f"open_{kind}")
        source = open_it(path, options)
    if transpose is None and kind in NAMED_ROWS and source.samples and source.names:
        transpose = rows_are_genes(source.samples, source.names)
        if transpose:
            note_turned(path.name)
    if transpose and kind not in ROWS_BY_NAME:
        return InMemoryTable.of(turn(source.load()), path.name)
    return source


def _unknown_ending(name: str) -> str:
    """How to read a file of another program."""
    remedy = next((REMEDIES[end] for end in REMEDIES if name.lower().endswith(end)), None)
    if remedy is not None:
        return f"{name} cannot be read directly: {remedy.replace('FILE', name)}."
    return f"{name} does not end in {', '.join(FORMATS)}; for documents, add --text."


def known_ending(name: str) -> str | None:
    """The ending of a file, if `FORMATS` has it."""
    return next((end for end in FORMATS if name.lower().endswith(end)), None)


def terms_of_file(path: Path) -> Terms:
    """What the reader calls the rows and columns of a file, by its ending and tables."""
    return READERS_TERMS.get(known_ending(path.name) or "", SAMPLES)


def folder_ending(path: Path) -> str | None:
    """ ".parquet" if all files of a folder end in it; files that begin with _ do not count."""
    names = [file.name for file in visible_files(path) if file.name[0] != "_"]
    endings = {known_ending(name) for name in names}
    return ".parquet" if endings == {".parquet"} else None


def can_drop(name: str, rows: bool) -> bool:
    """Whether rows, or columns, of a file can be dropped by name."""
    kind = FORMATS.get(known_ending(name) or "")
    return kind in (ROWS_BY_NAME if rows else WITH_COLUMNS)


def read_table(
    path: str | Path,
    *,
    transpose: bool | None = None,
    labels: str | Path | None = None,
    layer: str | None = None,
    decimal: str | None = None,
    thousands: str = "",
    skip_rows: int = 0,
    encoding: str | None = None,
    sheet: str | None = None,
    drop: Collection[str] = (),
    duplicates: Duplicates = "number",
    progress: Progress = no_progress,
) -> Table:
    """Read samples x features from a file, by its ending.

    * `.csv`, `.tsv`, `.tab`, `.txt`, `.dat`, `.data`, `.gct`, also `.gz`. A first line with a word
      above a column of numbers, or with numbers at equal steps, is a header. A first column of
      text, or with the heading `id`, `index`, `sample`, `sample_id` or none, has the sample names.
      Other columns without numbers are not used, with a `TableWarning`; nor is what stands above
      the table, or beside it in files of GEO, featureCounts, HTSeq, cBioPortal and .gct.
    * `.xlsx`: the first sheet with numbers, in the same way.
    * `.json`, a list of objects, and `.jsonl`, `.ndjson`, one per line: in the same way.
    * `.parquet`: in the same way; the index of a pandas table names the samples.
    * `.npy`, `.npz`: one array, or one matrix saved by `scipy.sparse.save_npz`.
    * `.mtx`, also `.gz`: Matrix Market, with names from `barcodes.tsv` and `features.tsv` (or
      `genes.tsv`) in the same folder.
    * `.h5ad`: X, or a layer, of annotated data.

    Parameters
    ----------
    path : str or Path
    transpose : bool, optional
        Whether the file has features as rows and samples as columns. None finds it: some formats
        always have, and so has a table with the names of genes in many more rows than columns.
    labels : str or Path, optional
        True classes: a column of the table or of `obs`, which is then no feature; a second header
        of a table with samples as columns, or a characteristic of GEO; a file with one class per
        line, or lines `sample,class`; or "FILE:COLUMN", a table with a row for each sample.
    layer : str, optional
        Layer of annotated data to read instead of X; "raw" is its `.raw`, and "obsm/X_pca" the
        embedding of that name.
    decimal : str, optional
        Decimal sign of a text table; None finds it.
    thousands : str, default=""
        Separator of digit groups in a text table; "." if the decimal sign is a comma.
    skip_rows : int, default=0
        Lines above the table to leave out.
    encoding : str, optional
        Of a text table, such as "latin-1"; None takes UTF-8, or else what it looks like.
    sheet : str, optional
        Of a workbook; None takes the first with numbers.
    drop : collection of str, optional
        Columns, and rows of a text table or workbook, to leave out.
    duplicates : {"number", "sum", "first", "refuse"}, default="number"
        What to do with features of the same name: keep them as TP53, TP53.1, ...; add them; take
        the first; or refuse the file.
    progress : callable, optional
        Called with (bytes read, bytes in total) while a text table is read.

    Returns
    -------
    Table
        Without names in the file, names are numbers from zero.

    Raises
    ------
    ValueError
        If the file is not one table of numbers; the message says where.
    ImportError
        If a library is missing; the message says what to install.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onmf_app.read.formats import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tumours.csv")
    >>> _ = path.write_text("sample,BRCA1,TP53,type\\na,1,0,LUAD\\nb,0,2.5,KIRC\\n")
    >>> table = read_table(path, labels="type")
    >>> table.samples, table.features, table.labels
    (['a', 'b'], ['BRCA1', 'TP53'], ['LUAD', 'KIRC'])
    """
    path = Path(path)
    table = open_source(
        path, transpose=transpose, labels=None if labels is None else str(labels), layer=layer,
        decimal=decimal, thousands=thousands, skip_rows=skip_rows, encoding=encoding, sheet=sheet,
        drop=drop, progress=progress,
    ).load()  # fmt: skip
    return complete_table(table, labels, path.name, duplicates)


def complete_table(
    table: Table, labels: str | Path | None, file: str, duplicates: Duplicates = "number"
) -> Table:
    """The table with unique names and true classes; a table without numbers is refused."""
    n, m = table.X.shape
    if not n * m:
        raise ValueError(f"{file} is empty: it has {n} rows of numbers in {m} columns.")
    check_unique(table.samples, "samples", file)
    if duplicates == "number":
        table = number_features(table, file)
    elif duplicates == "refuse" or isinstance(table.X, Source):
        check_unique(table.features, "features", file)
    else:
        table = merge_features(table, duplicates, file)
    return with_classes(table, labels, file)
