"""Which module reads files of which ending."""

import hashlib
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import TableWarning
from onmf.io.columns import check_file
from onmf.io.flat import free_memory
from onmf.io.labels import read_labels
from onmf.io.remote import AnyFile, RemoteFile, as_file
from onmf.io.source import Source
from onmf.io.stream import visible_files
from onmf.io.table import Options, Progress, Table, check_unique, no_progress

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
FOLDERS = (".parquet", ".zarr")  # which may be folders
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
    progress: Progress = no_progress,
) -> Source:
    """What a file holds, by its ending; the parameters are those of `read_table`.

    Text tables and Matrix Market are read at once, of other files only what describes them.

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
        raise ValueError(f"{path.name} is a folder; only documents are read from folders (--text).")
    if ending is None:
        raise ValueError(
            f"{path.name} does not end in {', '.join(FORMATS)}; documents are read with --text."
        )
    if layer is not None and FORMATS[ending] not in LAYERED:
        raise ValueError(f"{path.name} has no layers: only annotated data have (.h5ad, .zarr).")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if drop and FORMATS[ending] not in WITH_COLUMNS:
        raise ValueError(f"{path.name} has no columns that could be dropped: only tables have.")
    kind = FORMATS[ending]
    open_it: Open = getattr(import_module(f"onmf.io.{kind}"), f"open_{kind}")
    return open_it(path, Options(labels, layer, decimal, thousands, drop, progress))


def larger_than_memory(source: Source) -> bool:
    """Whether the rows of a file would fill more than half of the memory that is free."""
    return free_memory() / 2 < source.nbytes


def known_ending(name: str) -> str | None:
    """Which of the endings of `FORMATS` a file has, if any."""
    return next((end for end in FORMATS if name.lower().endswith(end)), None)


def folder_ending(path: AnyFile) -> str | None:
    """That of all files of a folder, if it is one in which a folder could end, too."""
    if not isinstance(path, Path):
        return None
    names = [file.name for file in visible_files(path) if file.name[0] != "_"]
    endings = {known_ending(name) for name in names}
    return ".parquet" if endings == {".parquet"} else None


def can_drop(name: str, rows: bool) -> bool:
    """Whether rows, or columns, of a file of this name can be left out by their names."""
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
    progress: Progress = no_progress,
) -> Table:
    """Read samples x features from a file; its ending says how.

    * `.csv`, `.tsv`, `.txt`, also with `.gz`, in UTF-8 or UTF-16: a header is known by a cell after
      the first that is not a number, a column of sample names in front by text, or by a heading
      that is empty, `id`, `index`, `sample` or `sample_id`. Other columns of text are set aside,
      with a `TableWarning`.
    * `.xlsx`: the first sheet, likewise.
    * `.parquet`: likewise; the index of a pandas table names the samples.
    * `.npy`, `.npz`: one array, or one matrix saved by `scipy.sparse.save_npz`.
    * `.mtx`, also with `.gz`: Matrix Market. Names are taken from `barcodes.tsv` and `features.tsv`
      (or `genes.tsv`) beside it, if there.
    * `.h5ad`, `.h5`, `.hdf5`, `.zarr`: X, or a layer, of annotated data, or the only matrix.

    Parameters
    ----------
    path : str or Path
        Or the address of a file that fsspec can read, such as "s3://bucket/X.npy".
    transpose : bool, default=False
        The file has features as rows and samples as columns.
    labels : str or Path, optional
        True classes: a column (of a text table, Parquet or `obs`), which is then no feature, or a
        file with a class a line, or with lines `sample,class`.
    layer : str, optional
        Layer of annotated data to take instead of X.
    decimal : str, default="."
        Decimal sign of a text table.
    thousands : str, default=""
        What groups the digits of a text table; a decimal comma has points beside it.
    drop : collection of str, optional
        Columns, and rows of a text table, that are not read.
    duplicates : {"refuse", "sum", "first"}, default="refuse"
        What becomes of features of the same name.
    progress : callable, optional
        Called with (bytes done, bytes in all) while a text table is read.

    Returns
    -------
    Table
        Names are numbers counted from zero where the file gives none.

    Raises
    ------
    ValueError
        If the file does not hold one table of numbers; the message says where it fails.
    ImportError
        If its format needs a library that is not there; the message says what to install.

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
        progress=progress,
    ).load()  # fmt: skip
    if transpose:
        X = table.X.T
        table = Table(sp.csr_array(X) if sp.issparse(X) else X, table.features, table.samples)
    return complete_table(table, labels, path.name, duplicates)


def complete_table(
    table: Table, labels: str | Path | None, file: str, duplicates: Duplicates = "refuse"
) -> Table:
    """A table that has samples and features, each with a name of its own, and the true classes.

    Those are a column of the table or in a file.
    """
    n, m = table.X.shape
    if not n * m:
        raise ValueError(f"{file} is empty: it has {n} rows of numbers in {m} columns.")
    check_unique(table.samples, "samples", file)
    if duplicates == "refuse" or isinstance(table.X, Source):
        check_unique(table.features, "features", file)
    else:
        table = merge_features(table, duplicates, file)
    if labels is None or table.labels is not None:
        return table
    check_file(labels, file)
    return table._replace(labels=read_labels(Path(labels), table.samples))


def merge_features(table: Table, duplicates: Duplicates, file: str) -> Table:
    """One feature of each name: the sum of those that bear it, or the first."""
    names, first, place = np.unique(table.features, return_index=True, return_inverse=True)
    if len(names) == len(table.features):
        return table
    ranks = np.empty(len(names), int)
    ranks[np.argsort(first)] = np.arange(len(names))  # in the order of their first appearance
    kept = np.sort(first)
    if duplicates == "first":
        X = table.X[:, kept]
    else:
        m = len(table.features)
        X = table.X @ sp.csr_array((np.ones(m), (np.arange(m), ranks[place])), (m, len(names)))
    done = "summed" if duplicates == "sum" else "dropped, but for the first"
    warnings.warn(
        f"{file} has {len(place) - len(names)} features more than names; those of the same name "
        f"were {done}.",
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
