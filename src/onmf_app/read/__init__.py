"""Files as people have them: tables, sheets, matrices, cells and documents.

    found = read_input("tumours.csv", labels="type")
    onmf.cluster(found.data, samples=found.samples, features=found.features)
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from onmf_app.read.annotation import check_unique, class_names, read_labels, value_file
from onmf_app.read.documents import find_documents, read_documents, text_ending
from onmf_app.read.formats import FORMATS, kind_of
from onmf_app.read.frames import samples_of
from onmf_app.read.sources import json_objects, object_rows, open_workbook, sheet_rows
from onmf_app.read.streams import Note, Progress, ignore, listing, text_blocks
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
    path, notes = Path(path), list[str]()
    told = progress or ignore
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    given = {"labels": labels, "time": time, "batch": batch}
    asked = {key: str(spec) for key, spec in given.items() if spec is not None}
    if text is None and text_column is None and transpose is None and features is None:
        text_column = find_documents(path, drop, encoding)
        text = text_column is not None
    if text or text_column:
        return _documents(
            path, text_column or None, id_column, asked, encoding, follow_links, notes, told
        )
    kind = kind_of(path)
    if layer is not None and kind != "cells":
        raise ValueError(f"{path.name} has no layers: only .h5ad files have them.")
    if kind in ("array", "cells", "market"):
        if drop or id_column:
            raise ValueError(f"{path.name} has no named columns: only tables have them.")
        return _matrix(path, kind, asked, layer, transpose, few, notes, told)
    if kind == "parquet" and not transpose:
        large = _large_parquet(path, asked, drop, few, notes)
        if large is not None:
            return large

    how = {"skip_rows": skip_rows, "thousands": thousands, "as_text": {*asked.values(), id_column}}
    own = {"drop": drop, "raw": raw, "id_column": id_column, "features": features,
           "transpose": transpose, "duplicates": duplicates}  # fmt: skip
    try:
        try:
            said: list[str] = []
            signs = {"decimal": decimal or "."}
            table = _table(path, kind, sheet, encoding, how | signs, said.append, told)
        except NotNumbersError as error:
            if decimal or thousands or not error.decimal_commas or kind != "text":
                raise
            said = [f"{path.name} has decimal commas."]
            table = _table(path, kind, sheet, encoding, how | {"decimal": ","}, said.append, told)
        notes += said
        X, values, dropped = samples_of(table, path.name, notes.append, asked, **own)
    except ValueError as error:
        if kind != "text" or text_ending(path) not in PLAIN_TEXT:
            raise
        raise ValueError(f"{str(error).removesuffix('.')}; for documents, add --text.") from error
    if not X.size:
        raise ValueError(f"{path.name} is empty: it has {len(X)} rows of numbers.")
    return _input(X, X.index, [*X.columns], values, notes, dropped=dropped)


def _input(
    data: Any, samples: Any, features: list[str], values: Any, notes: Any, **more: Any
) -> Input:
    found = (values.get(key) for key in ("labels", "time", "batch"))
    return Input(data, samples, features, *found, notes=tuple(dict.fromkeys(notes)), **more)


def _table(
    path: Path,
    kind: str,
    sheet: str | None,
    encoding: str | None,
    how: dict[str, Any],
    note: Note,
    progress: Progress,
) -> Parsed:
    """All columns of a table."""
    if kind == "parquet":
        from onmf.rows.parquet import read_frame

        return Parsed(read_frame(path), {}, False, set())
    if kind == "json":
        rows = object_rows([*json_objects(path, encoding, note, progress)])
        return parse(as_blocks(rows), path.name, note, mark=",", as_text=how["as_text"])
    if kind == "sheet":
        return _sheet(path, sheet, how, note)
    return parse(
        text_blocks(path, encoding, note, progress), path.name, note, ending=text_ending(path),
        **how,
    )  # fmt: skip


def _sheet(path: Path, sheet: str | None, how: dict[str, Any], note: Note) -> Parsed:
    """The sheet that is asked for, or the first with a table of numbers."""
    errors: list[ValueError] = []
    how = how | {"decimal": ".", "thousands": "", "mark": ","}  # cells are numbers already
    with open_workbook(path) as book:
        names = [*book.sheet_names]
        if sheet is not None and sheet not in names:
            raise ValueError(
                f"{path.name} has no sheet {sheet!r}; its sheets are {listing(names)}."
            )
        tried = [sheet] if sheet is not None else names[:MOST_SHEETS_TRIED]
        for name in tried:
            said: list[str] = []
            try:
                table = parse(as_blocks(sheet_rows(book, name)), path.name, said.append, **how)
                if tried[1:] and not any(kind.kind in "iuf" for kind in table.frame.dtypes):
                    raise ValueError(f"{path.name} has no column of numbers.")
            except ValueError as error:
                errors.append(error)
                continue
            if sheet is None and len(names) > 1:
                others = listing([own for own in names if own != name])
                which = "the first" if name == names[0] else "the first with a table of numbers"
                note(f"{path.name} has {len(names)} sheets; only {which}, {name!r}, is read "
                     f"(--sheet reads another: {others}).")  # fmt: skip
            for one in said:
                note(one)
            return table
    if len(names) < 2:
        raise errors[0]
    said_first = str(errors[0]).removesuffix(".")
    raise ValueError(f"{said_first}; --sheet reads another sheet: {listing(names)}.") from errors[0]


def _matrix(
    path: Path,
    kind: str,
    asked: dict[str, str],
    layer: str | None,
    transpose: bool | None,
    few: bool,
    notes: list[str],
    progress: Progress,
) -> Input:
    """An array, a sparse matrix, or annotated data."""
    from onmf.rows import Options, open_arrays, stays_on_disk

    X: Any
    values: dict[str, Any] = {}
    if kind == "market":
        from onmf_app.read.market import read_market

        X, samples, features = read_market(path, progress)
    else:
        source = open_arrays(path, Options(layer=layer))
        X = source if not transpose and stays_on_disk(source, few) else source.load().X
        if X is source:
            X = source.outline().X
        samples, features = source.samples, source.names
    if transpose:
        X, samples, features = X.T, features, samples
        X = X.tocsr() if hasattr(X, "tocsr") else X.copy()
    n, m = X.shape
    if not n * m:
        raise ValueError(f"{path.name} is empty: it has {n} rows of numbers in {m} columns.")
    samples = [*map(str, range(n))] if samples is None else samples
    features = [*map(str, range(m))] if features is None else [*features]
    check_unique(samples, "samples", path.name)
    for key, spec in asked.items():
        if value_file(spec) is not None:
            values[key] = read_labels(spec, samples)
        elif kind == "cells" and not transpose:
            values[key] = open_arrays(path, Options(labels=spec, layer=layer)).labels
        if values.get(key) is None:
            raise ValueError(
                f"{path.name} has no column {spec!r} of true classes, and there is no file of that "
                "name."
            )
    called: Any = "cells" if kind == "cells" else "samples"
    return _input(X, samples, features, values, notes, kind=called)


def _large_parquet(
    path: Path, asked: dict[str, str], drop: Sequence[str], few: bool, notes: list[str]
) -> Input | None:
    """Rows that stay on disk; None if they fit into memory."""
    from onmf.rows import Options, open_arrays, stays_on_disk

    try:
        if not stays_on_disk(open_arrays(path, Options(drop=drop)), few):
            return None
    except ValueError:  # the reader of frames says more
        return None
    columns = {spec for spec in asked.values() if value_file(spec) is None}
    values = {k: open_arrays(path, Options(labels=s, drop=drop)).labels or []
              for k, s in asked.items() if s in columns}  # fmt: skip
    source = open_arrays(path, Options(drop=[*drop, *columns]))
    X, names = source.outline().X, source.names or []
    samples = source.samples or [*map(str, range(X.shape[0]))]
    values |= {k: read_labels(s, samples) for k, s in asked.items() if s not in columns}
    return _input(X, samples, names, values, notes)


def _documents(
    path: Path,
    column: str | None,
    id_column: str | None,
    asked: dict[str, str],
    encoding: str | None,
    links: bool,
    notes: list[str],
    progress: Progress,
) -> Input:
    texts, names, rows = read_documents(
        path, column, id_column, encoding, links, notes.append, progress
    )
    check_unique(names, "documents", path.name)
    values = {}
    for key, spec in asked.items():
        if any(spec in row for row in rows):
            cells = [row.get(spec) for row in rows]
            cells = [c if t or c else NO_CLASS for c, t in zip(cells, texts, strict=True)]
            values[key] = class_names(cells, names, f"column {spec!r} of {path.name}")
        elif value_file(spec) is None:
            raise ValueError(
                f"{path.name} has no column {spec!r} of true classes, and there is no file of that "
                "name."
            )
        else:
            values[key] = read_labels(spec, names)
    return _input(texts, names, [], values, notes, kind="documents", column=column or "")
