"""File endings, and the modules that read them."""

import hashlib
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import TableWarning
from onmf.io.columns import with_classes
from onmf.io.memory import free_memory
from onmf.io.remote import AnyFile, RemoteFile, as_file
from onmf.io.source import Source
from onmf.io.table import Options, Progress, Table, check_unique, no_progress
from onmf.io.text_files import visible_files

Duplicates = Literal["refuse", "sum", "first"]
Open = Callable[[AnyFile, Options], Source]

FORMATS = {  # ending: module, whose `open_<module>(path, options)` reads it
    ".csv": "delimited",
    ".csv.gz": "delimited",
    ".tsv": "delimited",
    ".tsv.gz": "delimited",
    ".txt": "delimited",
    ".txt.gz": "delimited",
    ".xlsx": "workbook",
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "market",
    ".mtx.gz": "market",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5ad": "hdf5",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
}
FOLDERS = (".parquet", ".zarr")  # endings that may be folders
LAYERED = ("hdf5", "zarr")
ROWS_BY_NAME = ("delimited", "workbook")
WITH_COLUMNS = (*ROWS_BY_NAME, "parquet")


def open_source(
    path: str | AnyFile,
    *,
    labels: str | None = None,
    layer: str | None = None,
    decimal: str = ".",
    thousands: str = "",
    drop: Collection[str] = (),
    encoding: str | None = None,
    progress: Progress = no_progress,
) -> Source:
    """Open a file by its ending; the parameters are those of `read_table`.

    Text tables and Matrix Market are read at once; of other files only shape and names are read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from onmf.io import open_source
    >>> path = pathlib.Path(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> source = open_source(path)
    >>> source.shape, source.rows(1, 2)
    ((3, 2), array([[2., 3.]]))
    """
    path = as_file(path)
    ending = known_ending(path.name)
    if path.is_dir() and ending not in FOLDERS:
        ending = folder_ending(path)
    if path.is_dir() and ending not in FOLDERS:
        raise ValueError(f"{path.name} is a folder: for a folder of documents, add --text.")
    if ending is None:
        raise ValueError(
            f"{path.name} does not end in {', '.join(FORMATS)}; for documents, add --text."
        )
    if layer is not None and FORMATS[ending] not in LAYERED:
        raise ValueError(f"{path.name} has no layers: only .h5ad and .zarr files have them.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if drop and FORMATS[ending] not in WITH_COLUMNS:
        raise ValueError(f"{path.name} has no named columns to drop: only tables have them.")
    kind = FORMATS[ending]
    open_it: Open = getattr(import_module(f"onmf.io.{kind}"), f"open_{kind}")
    return open_it(path, Options(labels, layer, decimal, thousands, drop, progress, encoding))


def larger_than_memory(source: Source) -> bool:
    """Whether the rows of a file would fill more than half of the free memory."""
    return free_memory() / 2 < source.nbytes


def known_ending(name: str) -> str | None:
    """The ending of a file, if `FORMATS` has it."""
    return next((end for end in FORMATS if name.lower().endswith(end)), None)


def folder_ending(path: AnyFile) -> str | None:
    """ ".parquet" if all files of a folder end in it; files that begin with _ do not count."""
    if not isinstance(path, Path):
        return None
    names = [file.name for file in visible_files(path) if file.name[0] != "_"]
    endings = {known_ending(name) for name in names}
    return ".parquet" if endings == {".parquet"} else None


def can_drop(name: str, rows: bool) -> bool:
    """Whether rows, or columns, of a file can be dropped by name."""
    kind = FORMATS.get(known_ending(name) or "")
    return kind in (ROWS_BY_NAME if rows else WITH_COLUMNS)


def read_table(
    path: str | AnyFile,
    *,
    transpose: bool = False,
    labels: str | Path | None = None,
    layer: str | None = None,
    decimal: str = ".",
    thousands: str = "",
    drop: Collection[str] = (),
    duplicates: Duplicates = "refuse",
    encoding: str | None = None,
    progress: Progress = no_progress,
) -> Table:
    """Read samples x features from a file, by its ending.

    * `.csv`, `.tsv`, `.txt`, also `.gz`. A first line with a cell that is not
      a number, after the first cell, is a header. A first column of text, or with the heading
      `id`, `index`, `sample`, `sample_id` or none, has the sample names. Other columns without
      numbers are not used, with a `TableWarning`.
    * `.xlsx`: the first sheet, in the same way.
    * `.parquet`: in the same way; the index of a pandas table names the samples.
    * `.npy`, `.npz`: one array, or one matrix saved by `scipy.sparse.save_npz`.
    * `.mtx`, also `.gz`: Matrix Market, with names from `barcodes.tsv` and `features.tsv` (or
      `genes.tsv`) in the same folder.
    * `.h5ad`, `.h5`, `.hdf5`, `.zarr`: X, or a layer, of annotated data; or the only matrix.

    Parameters
    ----------
    path : str or Path
        Or the address of a file that fsspec can read, such as "s3://bucket/X.npy".
    transpose : bool, default=False
        The file has features as rows and samples as columns.
    labels : str or Path, optional
        True classes: a column of the table or of `obs`, which is then no feature; or a file with
        one class per line, or lines `sample,class`.
    layer : str, optional
        Layer of annotated data to read instead of X.
    decimal : str, default="."
        Decimal sign of a text table.
    thousands : str, default=""
        Separator of digit groups in a text table; "." if the decimal sign is a comma.
    drop : collection of str, optional
        Columns, and rows of a text table or workbook, to leave out.
    duplicates : {"refuse", "sum", "first"}, default="refuse"
        What to do with features of the same name.
    encoding : str, optional
        Of a text table; by default UTF-8, or one that is recognised, with a `TableWarning`.
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
    >>> from onmf.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tumours.csv")
    >>> _ = path.write_text("sample,BRCA1,TP53,type\\na,1,0,LUAD\\nb,0,2.5,KIRC\\n")
    >>> table = read_table(path, labels="type")
    >>> table.samples, table.features, table.labels
    (['a', 'b'], ['BRCA1', 'TP53'], ['LUAD', 'KIRC'])
    """
    path = as_file(path)
    column = None if transpose or labels is None else str(labels)
    table = open_source(
        path, labels=column, layer=layer, decimal=decimal, thousands=thousands, drop=drop,
        encoding=encoding, progress=progress,
    ).load()  # fmt: skip
    if transpose:
        X = table.X.T
        table = Table(sp.csr_array(X) if sp.issparse(X) else X, table.features, table.samples)
    return complete_table(table, labels, path.name, duplicates)


def complete_table(
    table: Table, labels: str | Path | None, file: str, duplicates: Duplicates = "refuse"
) -> Table:
    """The table with unique names and true classes; a table without numbers is refused."""
    n, m = table.X.shape
    if not n * m:
        raise ValueError(f"{file} is empty: it has {n} rows of numbers in {m} columns.")
    check_unique(table.samples, "samples", file)
    if duplicates == "refuse" or isinstance(table.X, Source):
        check_unique(table.features, "features", file)
    else:
        table = merge_features(table, duplicates, file)
    return with_classes(table, labels, file)


def merge_features(table: Table, duplicates: Duplicates, file: str) -> Table:
    """One feature per name: the sum of all with the name, or the first."""
    names, first, place = np.unique(table.features, return_index=True, return_inverse=True)
    if len(names) == len(table.features):
        return table
    ranks = np.empty(len(names), int)
    ranks[np.argsort(first)] = np.arange(len(names))  # in order of first appearance
    kept = np.sort(first)
    if duplicates == "first":
        X = table.X[:, kept]
    else:
        m = len(table.features)
        X = table.X @ sp.csr_array((np.ones(m), (np.arange(m), ranks[place])), (m, len(names)))
    done = "were summed" if duplicates == "sum" else "except the first were dropped"
    warnings.warn(
        f"{file} has {len(place) - len(names)} repeated feature names; features of the same name "
        f"{done}.",
        TableWarning,
        stacklevel=2,
    )
    return table._replace(X=X, features=[table.features[j] for j in kept])


def checksum(path: AnyFile, links: bool = False) -> str:
    """SHA-256 of a file, or of the names and contents of the visible files of a folder."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    inside: Mapping[str, AnyFile]
    if isinstance(path, RemoteFile):
        inside = path.files()
    else:
        inside = {name.as_posix(): path / name for name in visible_files(path, links)}
    whole = hashlib.sha256()
    for name, file in inside.items():
        whole.update(f"{checksum(file)} {name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
