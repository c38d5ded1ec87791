"""A run that `onmf update` continues batch by batch: one file is its state.

    stream.onmf = the model, the state of its stream, and an entry for each batch

All other files are made from it. It is replaced by one rename, so a process that is killed leaves
the state before a batch, or after it; the next command makes the other files again. The labels of a
batch, and the state before it, are written before the batch counts. The states before the last
KEPT_STATES batches stay, so that these can be taken out again.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from onmf import ONMF, StreamONMF, load
from onmf.estimators.storage import model_bytes
from onmf.exceptions import FormatError
from onmf.io import (
    Table,
    checksum,
    csv_writers,
    finish_replacement,
    replace_files,
    seal_files,
    to_json_values,
)
from onmf.io.container import MODEL, read_container
from onmf.io.output import Content
from onmf.io.table import listing
from onmf.io.terms import Terms
from onmf.page.periods import Period, stream_page
from onmf.result import known_names
from onmf_app.runs import records, tables
from onmf_app.runs.align import feature_names
from onmf_app.runs.changes import Changes
from onmf_app.runs.findings import name_new_clusters
from onmf_app.runs.results import labels_of_run
from onmf_app.runs.stream_batches import (
    batch_entry,
    batch_labels,
    first_entry,
    rows_in_memory,
    stream_sentence,
)

BATCH_FOLDER = "batches"  # with the labels of each batch, and the states before the last ones
STATE_BEFORE = ".before.onmf"  # ending of such a state
KEPT_STATES = 5  # batches that can be taken out again
DERIVED_FILES = records.CENTERS, records.TOP, records.MODEL_FILE, records.STREAM_PAGE
RECORDED_FIELDS = ("key", "name", "kept", "born", "vanished", "drift")  # of a batch in run.json


@dataclass
class StreamRun:
    """A folder, the model after its last batch, an entry for each batch, and run.json."""

    folder: Path
    model: ONMF
    batches: list[dict[str, Any]]
    record: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The stream of a folder; a new one if no batch was added yet."""
        finish_replacement(folder)
        path = folder / records.STREAM_FILE
        return cls.stored(folder, path) if path.exists() else cls.begin(folder)

    @classmethod
    def stored(cls, folder: Path, path: Path) -> Self:
        """From the file of a state."""
        match read_container(path, MODEL).header, load(path):
            case {"batches": list(entries), "record": dict(record)}, ONMF() as model:
                return cls(folder, model, entries, record)
        raise FormatError(f"{path} is not a stream: run onmf cluster again.")

    @classmethod
    def begin(cls, folder: Path) -> Self:
        """A new stream, whose first batch is the input of `onmf cluster`."""
        record = records.read_record(folder)
        ours = (records.MODEL_FILE, records.LABELS)
        if not all(records.is_of_run(folder, name, record) for name in ours):
            raise ValueError(f"the files in {folder} are of two runs: run onmf cluster again.")
        model = load(folder / records.MODEL_FILE)
        if not isinstance(model, ONMF) or not hasattr(model, "partial_fit"):
            raise ValueError("onmf update needs a run of the default solver.")
        if model.outliers is not None:
            raise ValueError("onmf update does not support runs made with --outliers.")
        labels, known = labels_of_run(folder, model), record["input"]
        first = first_entry(model, labels, known)
        return cls(folder, model, [first], record)

    def counted(self, key: str) -> dict[str, Any] | None:
        """The batch with this content, under any name."""
        return next((entry for entry in self.batches if entry["key"] == key), None)

    def is_named(self, name: str) -> bool:
        """Whether a batch of this name was added before."""
        return any(entry["name"] == name for entry in self.batches)

    def state_file(self, number: int) -> Path:
        """The state before a batch."""
        return self.folder / BATCH_FOLDER / f"{number:05}{STATE_BEFORE}"

    def before_last(self) -> Self:
        """The run before its last batch."""
        name, path = self.batches[-1]["name"], self.state_file(len(self.batches) - 1)
        if len(self.batches) == 1:
            raise ValueError(f"{self.folder} has no batch: {name} is the input of onmf cluster.")
        if any(e.get("after") == len(self.batches) for e in self.record.get("lineage") or []):
            said = f"{name} can no longer be taken out: clusters were merged or split after it."
            raise ValueError(self.terms.say(said))
        if not path.exists():
            raise ValueError(
                f"{name} can no longer be taken out: the states before the last {KEPT_STATES} "
                "batches are kept. Run onmf cluster again."
            )
        before = self.stored(self.folder, path)
        given = getattr(self.model, "names_given_", ())
        if given != getattr(before.model, "names_given_", ()):  # a name stays
            before.model.names_given_ = given
        return before

    def before(self, name: str) -> Self:
        """The run before the batch of this name, which must be the last one."""
        later = [entry["name"] for entry in self.batches]
        later = later[later.index(name) + 1 :]
        if later:
            raise ValueError(
                f"{name} is not the last batch: take out {listing(later[::-1])} with --undo, "
                f"replace {name}, and add {listing(later)} again."
            )
        return self.before_last()

    def undo(self) -> Self:
        """Take out the last batch, by one rename; without batches, no state is left."""
        before = self.before_last()
        if len(before.batches) > 1:
            replace_files(self.folder, {records.STREAM_FILE: before.state()})
            return before
        there = [name for name in before.record["files"] if (self.folder / name).exists()]
        sums = {name: checksum(self.folder / name) for name in there}  # names may have changed
        record = before.record | {"files": sums}
        replace_files(self.folder, seal_files(before.derived_files(), records.RUN, record)[1])
        for name in (records.STREAM_FILE, records.STREAM_PAGE):
            (self.folder / name).unlink(missing_ok=True)
        return before

    def add(
        self,
        table: Table,
        key: str,
        name: str,
        most: int,
        raw_names: bool,
        source: dict[str, Any],
        parquet: bool = False,
        texts: Sequence[str] | None = None,
    ) -> None:
        """Add a batch: write its labels, the state before and then, by one rename, the new one.

        source : the record of its input, for `onmf split`.
        """
        before = self.state()
        if not isinstance(self.model, StreamONMF):
            distance = np.fromiter(records.stored_column(self.folder, "distance", float), float)
            batches = max(1, round(len(distance) / len(table.samples)))  # of this size
            labels = labels_of_run(self.folder, self.model)
            self.model = StreamONMF.from_fit(self.model, labels, distance, batches)
        model = self.model
        most = max(most, len(model.cluster_centers_))
        model.set_params(max_clusters=most, n_clusters=None, init="random")
        marked = model.strangers(table) if tables.knows_strangers(model) else None
        model.partial_fit(table)
        name_new_clusters(model, *rows_in_memory(table, model.labels_), table.features)
        self.batches.append(batch_entry(model, table, key, name))
        self.batches[-1] |= {"marked_strangers": tables.stranger_count(marked), "source": source}
        place, number = self.folder / BATCH_FOLDER, len(self.batches) - 1
        place.mkdir(exist_ok=True)
        found = batch_labels(model, table, marked, texts)
        endings = (".csv", ".parquet") if parquet else (".csv",)
        files = {ending: found.content(ending, raw_names) for ending in endings}
        for ending, content in (*files.items(), (STATE_BEFORE, before)):
            replace_files(place, {f"{number:05}{ending}": content})
        replace_files(self.folder, {records.STREAM_FILE: self.state()})
        if not parquet:  # of the batch that this one replaced
            (place / f"{number:05}.parquet").unlink(missing_ok=True)

    def labels_file(self, number: int) -> str:
        """The table of the samples of a batch, in the folder."""
        return f"{BATCH_FOLDER}/{number:05}.csv" if number else records.LABELS

    def note_edit(self) -> None:
        """Record what was merged or split by hand after the last batch."""
        lineage = self.model.lineage_
        assert lineage is not None  # of every model that was edited
        for old, new in lineage.merged:
            for entry in self.batches:
                sizes, words = entry["sizes"], entry["words"]
                if n := sizes.pop(str(old), 0):
                    sizes[str(new)] = sizes.get(str(new), 0) + n
                words.setdefault(str(new), words.pop(str(old), []))
        facts = {"after": len(self.batches), **lineage._asdict()}
        done = [*(self.record.get("lineage") or []), to_json_values(facts)]
        self.record = self.record | {"lineage": done}

    def state(self) -> bytes:
        """The content of the file of the state."""
        return model_bytes(self.model, samples=False, batches=self.batches, record=self.record)

    def remove_old_files(self) -> None:
        """Delete what is of no batch, and the states that are too old."""
        last = len(self.batches) - 1
        for path in (self.folder / BATCH_FOLDER).glob("[0-9]*"):
            number, state = int(path.name[:5]), path.name.endswith(STATE_BEFORE)
            if number > last or (state and number <= last - KEPT_STATES):
                path.unlink()
        with suppress(OSError):  # unless something is in it
            (self.folder / BATCH_FOLDER).rmdir()

    def write(self) -> None:
        """Make all other files from the state, unless they are there."""
        state = checksum(self.folder / records.STREAM_FILE)
        try:
            record = records.read_record(self.folder)
            done = record.get("stream") == state
            if done and all(records.is_of_run(self.folder, name, record) for name in DERIVED_FILES):
                return
        except (ValueError, OSError):
            pass  # a killed command left them incomplete
        title, periods = self.folder.resolve().name, self.periods()
        names = known_names(self.model)
        page = stream_page(title, periods, names, self.sentence(), self.terms)
        files = self.derived_files() | {records.STREAM_PAGE: page}
        chain = [{name: entry.get(name) for name in RECORDED_FIELDS} for entry in self.batches[1:]]
        lineage = {"lineage": [*(self.record.get("lineage") or []), *chain], "stream": state}
        replace_files(self.folder, seal_files(files, records.RUN, self.record | lineage)[1])

    def derived_files(self) -> dict[str, Content]:
        """The files of `onmf cluster` that a batch changes."""
        model, ids = self.model, tables.ids_of_clusters(self.model)
        top = model.top_features(tables.TOP_FEATURES)
        centers = tables.centers_sheet(model, feature_names(model))
        sheets = {records.CENTERS: centers, records.TOP: tables.top_sheet(ids, top)}
        return {**csv_writers(sheets), records.MODEL_FILE: model_bytes(model, samples=False)}

    def periods(self) -> list[Period]:
        """The batches, for the page."""
        return [
            Period(
                name=entry["name"],
                sizes={int(i): n for i, n in entry["sizes"].items()},
                words={int(i): words for i, words in entry["words"].items()},
                born=entry.get("born", ()),
                vanished=entry.get("vanished", ()),
                link=self.labels_file(number),
            )
            for number, entry in enumerate(self.batches)
        ]

    def every_change(self) -> list[Changes]:
        """What each batch changed."""
        return [
            Changes.of(entry, [one for one in self.batches[:number] if "strangers" in one])
            for number, entry in enumerate(self.batches)
        ]

    def changes(self) -> Changes:
        """What the last batch changed."""
        return self.every_change()[-1]

    def sizes(self) -> dict[int, int]:
        """Samples of each cluster in all batches, by id."""
        return {
            i: sum(entry["sizes"].get(str(i), 0) for entry in self.batches)
            for i in self.model.cluster_ids_.tolist()
        }

    def totals(self) -> dict[str, Any]:
        """The size of the stream."""
        return {
            "batches": len(self.batches),
            "samples": sum(entry["samples"] for entry in self.batches),
            "clusters": self.model.cluster_ids_.tolist(),
            "waiting": self.batches[-1].get("waiting", 0),
        }

    def sentence(self) -> str:
        """The size of the stream, and what the last batch changed."""
        return stream_sentence(self.batches[-1], self.totals(), self.changes(), self.terms)

    @property
    def terms(self) -> Terms:
        """What the reader calls samples, features and clusters."""
        return records.read_source(self.record, self.folder).terms
