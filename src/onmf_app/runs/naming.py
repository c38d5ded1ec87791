"""Names that people give to the clusters of a finished run, in all its files at once."""

import csv
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from onmf.estimators.storage import model_bytes
from onmf.io import csv_text, replace_together
from onmf.io.cells import guard_cell
from onmf.io.output import Content
from onmf.io.terms import Terms
from onmf_app.console import notes
from onmf_app.runs import records
from onmf_app.runs.results import fitted_model
from onmf_app.runs.streams import BATCH_FOLDER, StreamRun

NAMED_TABLES = (records.LABELS, records.LABELS_PARQUET, records.LABELS_XLSX, records.CLUSTERS)


class NewIds(NamedTuple):
    """Ids of samples that differ from those in the tables.

    merged : the id instead of that of a cluster that was merged.
    parts : of a cluster that was split: the id of each row, by the name of the table.
    """

    merged: Mapping[int, int] = MappingProxyType({})
    parts: Mapping[str, Mapping[int, int]] = MappingProxyType({})

    def of(self, path: Path, row: int, old: Any) -> Any:
        """The id in a row."""
        own = self.parts.get(path.stem, {}).get(row)
        return self.merged.get(int(old), old) if own is None else own


def rename_clusters(folder: Path, names: Mapping[int, str]) -> tuple[dict[int, str], Terms]:
    """Give clusters names, by id; the names of all clusters after that, and the reader's words.

    All files are replaced, or none. The page shows the names when it is made again.
    """
    if (folder / records.STREAM_FILE).exists():
        run = StreamRun.of(folder)
        with notes(folder.name, run.terms):
            run.model.rename(names)
        files = label_files(folder, run.model.cluster_names_)
        replace_together(folder, {**files, records.STREAM_FILE: run.state()})
        run.write()
        return run.model.cluster_names_, run.terms
    record = records.read_record(folder)
    terms = records.read_source(record, folder).terms
    with notes(folder.name, terms):
        model = fitted_model(folder).rename(names)
    files = label_files(folder, model.cluster_names_)
    files[records.MODEL_FILE] = model_bytes(model, samples=False)
    results = record["results"]
    results["cluster_names"] = [*model.cluster_names_.values()]
    for row in results.get("clusters") or ():
        row["name"] = model.cluster_names_.get(row["cluster"])
    replace_together(folder, records.with_record(record, files))
    return model.cluster_names_, terms


def label_files(
    folder: Path, names: Mapping[int, str], ids: NewIds | None = None
) -> dict[str, Content]:
    """The tables of labels and clusters of a run, and of its batches, with these names and ids."""
    paths = [folder / name for name in NAMED_TABLES if (folder / name).exists()]
    batches = (folder / BATCH_FOLDER).glob("*")
    paths += [path for path in batches if path.suffix in ENDINGS]
    shown = {"-1": ""} | {str(i): name for i, name in names.items()}
    return {
        path.relative_to(folder).as_posix(): ENDINGS[path.suffix](path, shown, ids or NewIds())
        for path in sorted(paths)
    }


def _renamed(
    path: Path, rows: Iterable[Iterable[Any]], names: Mapping[str, str], ids: NewIds
) -> list[list[Any]]:
    """Rows, the first of which is the header, with the name of each row's cluster.

    Tables of older versions have no column of names, and stay as they are.
    """
    header, *others = (list(row) for row in rows)
    if "name" in header:
        place, cluster = header.index("name"), header.index("cluster")
        for number, row in enumerate(others):
            row[cluster] = ids.of(path, number, row[cluster])
            row[place] = names.get(str(row[cluster]), row[place])  # of a closed cluster: as it was
    return [header, *others]


def _csv(path: Path, names: Mapping[str, str], ids: NewIds) -> str:
    safe = {i: guard_cell(name) for i, name in names.items()}  # as the other cells are already
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            header, *rows = _renamed(path, csv.reader(file), safe, ids)
        except (ValueError, LookupError, csv.Error) as error:
            raise ValueError(f"{path} is not a table of a run: {error}.") from error
    return csv_text(header, rows, raw=True)


def _parquet(path: Path, names: Mapping[str, str], ids: NewIds) -> Content:
    from onmf.io.parquet import parquet_columns, write_parquet

    columns = parquet_columns(path)
    header, *rows = _renamed(path, [columns, *zip(*columns.values(), strict=True)], names, ids)
    values = zip(*rows, strict=True) if rows else ([] for _ in header)
    return partial(write_parquet, dict(zip(header, map(list, values), strict=True)))


def _workbook(path: Path, names: Mapping[str, str], ids: NewIds) -> bytes:
    from onmf.io.workbook import workbook_bytes, workbook_rows

    header, *rows = _renamed(path, workbook_rows(path), names, ids)
    return workbook_bytes(header, rows)


ENDINGS: dict[str, Callable[[Path, Mapping[str, str], NewIds], Content]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".xlsx": _workbook,
}
