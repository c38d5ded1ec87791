"""Files as people have them: tables, sheets, matrices, cells and documents.

found = read_input("tumours.csv", labels="type")
onmf.cluster(found.data, samples=found.samples, features=found.features)
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from onmf_app.read.annotation import check_unique, class_names, read_labels, value_file
from onmf_app.read.documents import find_documents, read_documents
from onmf_app.read.formats import FORMATS, kind_of
from onmf_app.read.frames import note_left_out, samples_of
from onmf_app.read.sources import json_objects, object_rows, open_workbook, sheet_rows
from onmf_app.read.streams import File, listing
from onmf_app.read.tables import NotNumbersError, Parsed, as_blocks, parse

__all__ = ["FORMATS", "Input", "read_input"]

PLAIN_TEXT = (".txt", ".dat", ".data")  # endings of documents, too
MOST_SHEETS_TRIED = 20  # for the first table of numbers
NO_CLASS = "no text"  # of an empty text whose cell with the class is empty


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

    Tables: .csv .tsv .tab .txt .dat .data .gct, also .gz; .xlsx; .json .jsonl .ndjson; .parquet.
    Matrices: .npy .npz .mtx, .mtx.gz, .h5ad. Documents: a folder, lines of a file, or a column of a
    table. Errors are a ValueError or OSError of one sentence, or an ImportError that names what to
    install.

    Parameters
    ----------
    path : str or Path
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
        Columns, and rows of a table, to leave out.
    raw : bool
        Whether columns stay that look like no measurements (`onmf.prepare.columns`).
    layer, sheet : str, optional
        Of annotated data: a layer, "raw", or "obsm/X_pca"; of a workbook, the first with numbers.
    decimal, thousands, skip_rows, encoding
        Of text: decimal sign and encoding (None finds them), separator of digit groups, and lines
        above the table to leave out.
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
    """
    file = File(path, encoding, progress)
    if not file.path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    given = {"labels": labels, "time": time, "batch": batch}
    asked = {key: str(spec) for key, spec in given.items() if spec is not None}
    if text is None and text_column is None and transpose is None and features is None:
        text_column = find_documents(file.path, drop, encoding)
        text = text_column is not None
    if text or text_column:
        return _documents(file, text_column or None, id_column, asked, follow_links)
    kind = kind_of(file.path)
    if layer is not None and kind != "cells":
        raise ValueError(f"{file.name} has no layers: only .h5ad files have them.")
    if kind in ("array", "cells", "market"):
        if drop or id_column:
            raise ValueError(f"{file.name} has no named columns: only tables have them.")
        return _matrix(file, kind, asked, layer, transpose, few)
    if (
        kind == "parquet"
        and not transpose
        and (large := _large_parquet(file, asked, drop, few, transpose))
    ):
        return large
    how = {"skip_rows": skip_rows, "thousands": thousands, "as_text": {*asked.values(), id_column}}
    try:
        try:
            table = _table(file, kind, sheet, how | {"decimal": decimal or "."})
        except NotNumbersError as error:
            if decimal or thousands or not error.decimal_commas or kind != "text":
                raise
            file.notes.clear()
            file.note(f"{file.name} has decimal commas.")
            table = _table(file, kind, sheet, how | {"decimal": ","})
        X, values, dropped = samples_of(
            table, file, asked, drop=drop, raw=raw, id_column=id_column, features=features,
            transpose=transpose, duplicates=duplicates,
        )  # fmt: skip
    except ValueError as error:
        if file.ending not in PLAIN_TEXT:
            raise
        raise ValueError(f"{str(error).removesuffix('.')}; for documents, add --text.") from error
    if not X.size:
        raise ValueError(f"{file.name} is empty: it has {len(X)} rows of numbers.")
    return _input(file, X, X.index, [*X.columns], values, dropped=dropped)


def _input(
    file: File, data: Any, samples: Any, features: list[str], values: Any, **more: Any
) -> Input:
    found = (values.get(key) for key in ("labels", "time", "batch"))
    more["notes"] = tuple(file.notes)
    return Input(data, samples, features, *found, **more)


def _table(file: File, kind: str, sheet: str | None, how: dict[str, Any]) -> Parsed:
    """All columns of a table; of a workbook, that of the first sheet with numbers."""
    if kind == "parquet":
        from onmf.rows.parquet import read_frame

        return Parsed(read_frame(file.path), {}, False, set())
    if kind == "text":
        return parse(file, file.blocks(), **how)
    how = how | {"decimal": ".", "thousands": "", "mark": ","}  # cells are numbers already
    if kind == "json":
        return parse(file, as_blocks(object_rows([*json_objects(file)])), **how)
    errors: list[ValueError] = []
    with open_workbook(file) as book:
        names = [*book.sheet_names]
        if sheet is not None and sheet not in names:
            raise ValueError(
                f"{file.name} has no sheet {sheet!r}; its sheets are {listing(names)}."
            )
        tried = [sheet] if sheet is not None else names[:MOST_SHEETS_TRIED]
        for name in tried:
            file.notes.clear()
            try:
                table = parse(file, as_blocks(sheet_rows(book, name)), **how)
                if tried[1:] and not any(kind.kind in "iuf" for kind in table.frame.dtypes):
                    raise ValueError(f"{file.name} has no column of numbers.")
            except ValueError as error:
                errors.append(error)
                continue
            if sheet is None and len(names) > 1:
                others = listing([own for own in names if own != name])
                which = "the first" if name == names[0] else "the first with a table of numbers"
                file.note(
                    f"{file.name} has {len(names)} sheets; only {which}, {name!r}, is read "
                    f"(--sheet reads another: {others})."
                )
            return table
    if len(names) < 2:
        raise errors[0]
    said = str(errors[0]).removesuffix(".")
    raise ValueError(f"{said}; --sheet reads another sheet: {listing(names)}.") from errors[0]


def _matrix(
    file: File,
    kind: str,
    asked: dict[str, str],
    layer: str | None,
    transpose: bool | None,
    few: bool,
) -> Input:
    """An array, a sparse matrix, or annotated data."""
    from onmf.rows import Options, open_arrays, stays_on_disk

    X: Any
    names: list[Any]
    if kind == "market":
        from onmf_app.read.market import read_market

        X, *names = read_market(file)
    else:
        source = open_arrays(file.path, Options(layer=layer))
        stays = not transpose and stays_on_disk(source, few)
        X, names = (source.outline() if stays else source.load()).X, [source.samples, source.names]
    if transpose:
        X, names = X.T.tocsr() if hasattr(X, "tocsr") else X.T.copy(), names[::-1]
    n, m = X.shape
    if not n * m:
        raise ValueError(f"{file.name} is empty: it has {n} rows of numbers in {m} columns.")
    samples, features = (
        [*map(str, range(size))] if own is None else own
        for own, size in zip(names, X.shape, strict=True)
    )
    check_unique(samples, "samples", file.name)
    values = {}
    for key, spec in asked.items():
        if kind == "cells" and not transpose and value_file(spec) is None:
            values[key] = open_arrays(file.path, Options(labels=spec, layer=layer)).labels
        if values.get(key) is None:
            values[key] = read_labels(spec, samples, file.name)
    called = "cells" if kind == "cells" else "samples"
    return _input(file, X, samples, [*features], values, kind=called)


def _large_parquet(
    file: File, asked: dict[str, str], drop: Sequence[str], few: bool, turn: bool | None
) -> Input | None:
    """Rows that stay on disk; None if they fit into memory."""
    from onmf.prepare.genes import rows_are_genes
    from onmf.rows import Options, open_arrays, stays_on_disk

    columns = {spec for spec in asked.values() if value_file(spec) is None}
    try:
        source = open_arrays(file.path, Options(drop=[*drop, *columns]))
    except ValueError:  # the reader of frames says more
        return None
    names = source.names or []
    turned = turn is None and bool(source.samples) and rows_are_genes(source.samples or (), names)
    if turned or not stays_on_disk(source, few):
        return None
    note_left_out(file, source.left_out or {})
    X, samples = source.outline().X, source.samples or [*map(str, range(source.shape[0]))]
    values = {
        key: open_arrays(file.path, Options(labels=spec, drop=drop)).labels if spec in columns
        else read_labels(spec, samples, file.name) for key, spec in asked.items()
    }  # fmt: skip
    return _input(file, X, samples, names, values)


def _documents(
    file: File, column: str | None, id_column: str | None, asked: dict[str, str], links: bool
) -> Input:
    texts, names, rows = read_documents(file, column, id_column, links)
    check_unique(names, "documents", file.name)
    values = {}
    for key, spec in asked.items():
        if any(spec in row for row in rows):
            cells = [row.get(spec) for row in rows]
            cells = [c if t or c else NO_CLASS for c, t in zip(cells, texts, strict=True)]
            values[key] = class_names(cells, names, f"column {spec!r} of {file.name}")
        else:
            values[key] = read_labels(spec, names, file.name)
    return _input(file, texts, names, [], values, kind="documents", column=column or "")
