"""Files as people have them: tables, sheets, matrices, cells and documents.

    found = read_input("tumours.csv", labels="type")
    onmf.cluster(found.data, samples=found.samples, features=found.features)
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

__all__ = ["Input", "read_input"]


class Input(NamedTuple):
    """What a file holds, ready for `onmf.cluster`.

    data : a DataFrame of numbers, with the names as index and columns, for tables and sheets; an
        array or csr_array for .npy, .npz, .mtx and .h5ad; a list of str for documents; and an open
        `onmf.rows` source for rows that stay on disk.
    samples, features : their names; no features for documents.
    classes, times, batches : a value for each sample, if `labels`, `time` or `batch` were given.
    kind : "samples", "cells" or "documents": what the rows are called.
    column : the column of texts that documents are from, as named or found; "" for files and lines.
    dropped : columns that were left out by themselves, as they are no measurements.
    notes : sentences on what was done and left out, for the page, run.json and the terminal.
    """

    data: Any
    samples: Sequence[str]
    features: list[str]
    classes: list[str] | None = None
    times: list[str] | None = None
    batches: list[str] | None = None
    kind: Literal["samples", "cells", "documents"] = "samples"
    column: str | None = None
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_input(
    path: str | Path,
    *,
    text: bool | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    labels: str | None = None,
    time: str | None = None,
    batch: str | None = None,
    features: Sequence[str] | None = None,
    transpose: bool | None = None,
    drop: Sequence[str] = (),
    raw: bool = False,
    layer: str | None = None,
    sheet: str | None = None,
    decimal: str | None = None,
    thousands: str = "",
    skip_rows: int = 0,
    encoding: str | None = None,
    duplicates: Literal["number", "sum", "first", "refuse"] = "number",
    follow_links: bool = False,
    few: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Input:
    """Read samples from a file or folder, by its ending.

    Parameters
    ----------
    path : str or Path
        Tables: .csv .tsv .tab .txt .dat .data .gct, also .gz; .xlsx; .json .jsonl .ndjson;
        .parquet. Matrices: .npy .npz .mtx, .mtx.gz, .h5ad. Documents: a folder, lines of a file, or
        a column of a table.
    text : bool, optional
        Whether these are documents; None finds it.
    text_column, id_column : str, optional
        Column of the texts, and of the names of samples or documents.
    labels, time, batch : str, optional
        A column of the table (of `obs` for .h5ad), or FILE, or FILE:COLUMN, with a value for each
        sample. Such a column is no feature.
    features : sequence of str, optional
        The features of a model that is to predict: only these are read, whatever they look like,
        and the table is turned if they are its rows.
    transpose : bool, optional
        Whether rows are features; None finds it.
    drop : sequence of str
        Columns, and rows of a text table or sheet, to leave out.
    raw : bool
        Whether columns stay that look like no measurements (`onmf.prepare.columns`).
    layer : str, optional
        Of annotated data: a layer, "raw", or "obsm/X_pca".
    sheet : str, optional
        Of a workbook; None takes the first with numbers.
    decimal, thousands : str
        Decimal sign, None finds it; and the separator of digit groups.
    skip_rows : int
        Lines above the table to leave out.
    encoding : str, optional
        None takes UTF-8, or else what it looks like.
    duplicates : {"number", "sum", "first", "refuse"}
        What to do with features of the same name.
    follow_links : bool
        Whether a folder of documents may have links to files outside of it.
    few : bool
        Whether rows will be read a few times only: large arrays then stay on disk.
    progress : callable, optional
        Called with (done, total) while a long file is read.

    Returns
    -------
    Input

    Raises
    ------
    ValueError, OSError
        One sentence that says what is wrong, where, and what to do.
    ImportError
        If a library is missing; the message says what to install.
    """
    raise NotImplementedError
