"""`onmf merge` and `onmf split`: a finished run with other clusters, all of its files or none."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from onmf import ONMF
from onmf.cli.console import notes, waiting
from onmf.cli.report import make_report
from onmf.cli.runs.align import align_features
from onmf.cli.runs.batches import corrected
from onmf.cli.runs.fits import grow_tree
from onmf.cli.runs.records import (
    LABELS_PARQUET,
    LABELS_XLSX,
    MODEL_FILE,
    REPORT,
    RUN,
    STREAM_FILE,
    with_record,
)
from onmf.cli.runs.results import read_run, recorded_input
from onmf.cli.runs.streams import StreamRun
from onmf.cli.runs.tables import ids_of_clusters, ids_of_labels
from onmf.io import Table, checksum, place_for, replace_files, replace_together, to_json_values
from onmf.io.terms import Terms

Change = Callable[[ONMF, Callable[[], Table]], object]  # of a model, and how to read its samples


class Edited(NamedTuple):
    """The size of each cluster after a change, by id, and what the reader calls them."""

    sizes: dict[int, int]
    terms: Terms


def edit_run(folder: Path, remote: bool, change: Change) -> Edited:
    """Change the clusters of a run, and write its files again."""
    with place_for(folder, [RUN], force=True):
        if (folder / STREAM_FILE).exists():
            return _edit_stream(folder, remote, change)
        return _edit_fit(folder, remote, change)


def _edit_fit(folder: Path, remote: bool, change: Change) -> Edited:
    before: list[int] = []

    def edit(model: Any, table: Table, terms: Terms) -> None:
        if not isinstance(model, ONMF):
            raise ValueError("clusters of other methods cannot be merged or split.")
        before.extend(ids_of_labels(ids_of_clusters(model), model.labels_).tolist())
        has_tree = hasattr(model, "tree_")
        with notes(folder.name, terms):
            change(model, lambda: table)
        if has_tree:  # of the clusters before
            grow_tree(model, table, terms)

    run, record = read_run(folder, remote, edit)
    model, ids = run.model, run.sample_ids.tolist()
    if run.findings.curve is not None:
        model.certainty_curve_ = run.findings.curve
    moves = Counter(zip(before, ids, strict=True))
    entry = {
        "input": run.origin.digest,
        "model": checksum(folder / MODEL_FILE),
        **(model.lineage_._asdict() if model.lineage_ else {}),
        "before": Counter(one for one in before if one >= 0),
        "moves": sorted([old, new, n] for (old, new), n in moves.items()),
    }
    lineage = [*record.get("lineage", []), to_json_values(entry)]
    record |= {"lineage": lineage, "results": to_json_values(run.results())}
    files = replace(run, choice=None).files()
    if (folder / REPORT).exists():
        files[REPORT] = make_report(run, record)
    for name in (LABELS_PARQUET, LABELS_XLSX):
        if (folder / name).exists():
            files[name] = run.labels().content(Path(name).suffix)
    replace_together(folder, with_record(record, files))
    return Edited(dict(sorted(Counter(one for one in ids if one >= 0).items())), run.source.terms)


def _edit_stream(folder: Path, remote: bool, change: Change) -> Edited:
    """The state decides, by one renaming; all other files are made from it."""
    run = StreamRun.of(folder)

    def samples() -> Table:
        _, source = recorded_input(folder, remote)
        with waiting(f"Reading {source.path.name}") as progress:
            return corrected(source, align_features(source.read(progress), run.model)[0])

    with notes(folder.name, run.terms):
        change(run.model, samples)
    run.note_edit()
    replace_files(folder, {STREAM_FILE: run.state()})
    run.write()
    return Edited(run.sizes(), run.terms)
