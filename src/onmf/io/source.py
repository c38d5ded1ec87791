"""Which reader for which ending."""

import hashlib
from importlib import import_module
from pathlib import Path

import scipy.sparse as sp

from onmf.io.labels import read_labels
from onmf.io.stream import visible_files
from onmf.io.table import Progress, Table, Wish, check_file, check_unique, quiet

READERS = {
    ".csv": "delimited",
    ".csv.gz": "delimited",
    ".tsv": "delimited",
    ".tsv.gz": "delimited",
    ".npy": "arrays",
    ".npz": "arrays",
    ".mtx": "market",
    ".mtx.gz": "market",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5ad": "h5ad",
}


def read_table(
    path: str | Path,
    *,
    transpose: bool = False,
    labels: str | Path | None = None,
    layer: str | None = None,
    progress: Progress = quiet,
) -> Table:
    """Read samples x features from a file; its ending says how.

    * `.csv`, `.tsv`, also with `.gz`: a header is known by a cell after the first that is not a
      number, a column of sample names in front by text, or by a heading that is empty, `id`,
      `index`, `sample` or `sample_id`.
    * `.parquet`: likewise; the index of a pandas table names the samples.
    * `.npy`, `.npz`: one array, or one matrix saved by `scipy.sparse.save_npz`.
    * `.mtx`, also with `.gz`: Matrix Market. Names are taken from `barcodes.tsv` and `features.tsv`
      (or `genes.tsv`) beside it, if there.
    * `.h5ad`: X, or a layer, of annotated data.

    Parameters
    ----------
    path : str or Path
    transpose : bool, default=False
        The file has features as rows and samples as columns.
    labels : str or Path, optional
        True classes: a column (of a text table, Parquet or `obs`), which is then no feature, or a
        file with a class a line, or with lines `sample,class`.
    layer : str, optional
        Layer of an `.h5ad` file to take instead of X.
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
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path.name} is a folder; only documents are read from folders (--text).")
    ending = known_ending(path)
    if layer is not None and ending != ".h5ad":
        raise ValueError(f"{path.name} has no layers: only .h5ad files have.")
    reader = import_module(f"onmf.io.{READERS[ending]}")
    column = None if transpose or labels is None else str(labels)
    table: Table = reader.read(path, Wish(column, layer, progress))
    if not all(table.X.shape):
        raise ValueError(
            f"{path.name} is empty: it has {table.X.shape[0]} rows of numbers "
            f"in {table.X.shape[1]} columns."
        )
    if transpose:
        X = table.X.T
        table = Table(sp.csr_array(X) if sp.issparse(X) else X, table.features, table.samples)
    check_unique(table.samples, "samples", path.name)
    check_unique(table.features, "features", path.name)
    return table if labels is None else with_labels(table, labels, path.name)


def known_ending(path: Path) -> str:
    name = path.name.lower()
    for ending in READERS:
        if name.endswith(ending):
            return ending
    raise ValueError(
        f"{path.name} does not end in {', '.join(READERS)}; documents are read with --text."
    )


def with_labels(table: Table, labels: str | Path, file: str) -> Table:
    """The table with true classes: its own, or those in a file."""
    if table.labels is not None:
        return table
    check_file(labels, file)
    return table._replace(labels=read_labels(Path(labels), table.samples))


def fingerprint(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of the visible files of a folder."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    whole = hashlib.sha256()
    for name in visible_files(path):
        line = f"{fingerprint(path / name)} {name.as_posix()}\n"
        whole.update(line.encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
