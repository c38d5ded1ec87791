"""`onmf merge` and `onmf split`: a finished run with other clusters, all of its files or none."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf import ONMF
from onmf.io import Table, checksum, place_for, replace_together, to_json_values
from onmf.io.terms import Terms
from onmf.page.periods import period_words
from onmf.rows.sweep import Array
from onmf_app.console import note, notes, waiting
from onmf_app.report import make_report
from onmf_app.runs.align import align_features
from onmf_app.runs.batches import corrected
from onmf_app.runs.findings import name_new_clusters
from onmf_app.runs.fits import grow_tree
from onmf_app.runs.inputs import Input, rows_of
from onmf_app.runs.naming import NewIds, label_files
from onmf_app.runs.records import (
    LABELS_PARQUET,
    LABELS_XLSX,
    MODEL_FILE,
    REPORT,
    RUN,
    STREAM_FILE,
    stored_column,
    with_record,
)
from onmf_app.runs.results import check_unchanged, read_run
from onmf_app.runs.streams import StreamRun
from onmf_app.runs.tables import ids_of_clusters, ids_of_labels

# Of a model, and how to read the samples of a cluster, with or without others.
Change = Callable[[ONMF, Callable[[int], Table]], object]
KEPT = ("certainty_curve_",)  # of a stream: how margins and certainties belong together


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
            change(model, lambda cluster: table)
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
    lineage = [*(record.get("lineage") or []), to_json_values(entry)]
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
    """The files are replaced together, or none; all others are made from the state."""
    run = StreamRun.of(folder)
    parts = PartsOfBatches(run, remote)
    known = {name: vars(run.model)[name] for name in KEPT if name in vars(run.model)}
    with notes(folder.name, run.terms):
        change(run.model, parts.samples)
    vars(run.model).update(known)
    run.note_edit()
    ids = parts.note()
    files = label_files(folder, run.model.cluster_names_, ids)
    replace_together(folder, {**files, STREAM_FILE: run.state()})
    run.write()
    return Edited(run.sizes(), run.terms)


@dataclass
class PartsOfBatches:
    """The samples of a cluster in all batches whose files are there, and its parts among them."""

    run: StreamRun
    remote: bool
    cluster: int = -1
    rows: dict[int, Array] = field(default_factory=dict)  # by the number of the batch
    tables: list[Table] = field(default_factory=list)

    def samples(self, cluster: int) -> Table:
        """The samples of a cluster; a note names the batches that cannot be read."""
        self.cluster, troubles = cluster, {}
        for number, entry in enumerate(self.run.batches):
            ids = stored_column(self.run.folder, "cluster", int, self.run.labels_file(number))
            rows = np.flatnonzero(np.fromiter(ids, int) == cluster)
            if not len(rows):
                continue
            try:
                table = self._table(number, entry)
                if len(table.samples) != entry["samples"]:
                    raise ValueError("it has other samples now")
            except (ValueError, OSError) as trouble:
                troubles[entry["name"]] = (len(rows), trouble)
                continue
            self.rows[number] = rows
            self.tables.append(rows_of(table, rows))
        if not self.tables:
            first = next(iter(troubles.values()), (0, "no batch has samples in it"))[1]
            raise ValueError(f"cluster {cluster} cannot be split: {str(first).partition(':')[0]}.")
        said = [
            f"{n} samples of {name} stay in cluster {cluster}, which is split by the others: "
            f"{str(trouble).partition(':')[0]}."
            for name, (n, trouble) in troubles.items()
        ]
        note(self.run.folder.name, said, self.run.terms)
        return stacked(self.tables)

    def _table(self, number: int, entry: dict[str, Any]) -> Table:
        """A batch as it was given."""
        own = self.run.record["source"] if number == 0 else entry.get("source")
        if own is None:
            raise ValueError("the version of onmf that added it did not record where it was")
        source = Input.from_record(own, self.run.folder)
        check_unchanged(source, entry["key"], self.remote)
        with waiting(f"Reading {source.path.name}") as progress:
            return corrected(source, align_features(source.read(progress), self.run.model)[0])

    def note(self) -> NewIds:
        """After the split: sizes and words of the parts in each batch, names, and new ids."""
        model = self.run.model
        lineage = model.lineage_
        assert lineage is not None  # of every model that was edited
        merged = dict(lineage.merged)
        if not self.rows:
            return NewIds(merged)
        labels, parts = np.asarray(model.labels_), [self.cluster, *lineage.born]
        ids = ids_of_labels(ids_of_clusters(model), labels)
        ids = np.where(np.isin(ids, parts), ids, self.cluster)  # as it was, if it now is elsewhere
        place = {own: k for k, own in enumerate(model.cluster_ids_.tolist())}
        labels = np.array([place[one] for one in ids.tolist()])
        everything = stacked(self.tables)
        name_new_clusters(model, everything.X, labels, everything.features)
        cuts = np.cumsum([len(rows) for rows in self.rows.values()])[:-1]
        found = {}
        pieces = zip(np.split(ids, cuts), np.split(labels, cuts), self.tables, strict=True)
        for (number, rows), (own, numbers, table) in zip(self.rows.items(), pieces, strict=True):
            entry = self.run.batches[number]
            words = period_words(table.X, numbers, model.cluster_centers_, table.features)
            for part in parts:
                entry["sizes"].pop(str(part), None)
                entry["words"].pop(str(part), None)
                if n := int(np.sum(own == part)):
                    entry["sizes"][str(part)] = n
                    entry["words"][str(part)] = words[place[part]]
            stem = Path(self.run.labels_file(number)).stem
            found[stem] = dict(zip(rows.tolist(), own.tolist(), strict=True))
        return NewIds(merged, found)


def stacked(tables: Sequence[Table]) -> Table:
    """Samples of several tables in one."""
    X = [table.X for table in tables]
    samples = [name for table in tables for name in table.samples]
    together = sp.vstack(X, "csr") if any(map(sp.issparse, X)) else np.vstack(X)
    return tables[0]._replace(X=together, samples=samples, labels=None)
