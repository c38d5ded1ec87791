"""A run that `onmf update` continues batch by batch: one file is its state.

    stream.onmf = the model, the state of its stream, and an entry for each batch

All other files are made from it. It is replaced by one rename, so a process that is killed leaves
the state before a batch, or after it; the next command makes the other files again. The labels of a
batch are written before the batch counts.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from onmf import ONMF, StreamONMF, load
from onmf.cli.runs import records, tables
from onmf.cli.runs.align import feature_names
from onmf.cli.runs.results import labels_of_run
from onmf.estimators.storage import model_bytes
from onmf.exceptions import FormatError
from onmf.io import Table, checksum, csv_text, csv_texts, replace_files, seal_files, to_json_values
from onmf.io.container import MODEL, read_container
from onmf.io.table import listing
from onmf.report.periods import WORDS_PER_PERIOD, Period, period_words, stream_page
from onmf.rows.sweep import Array

BATCH_FOLDER = "batches"  # with the labels of each batch
WORDS_PER_NAME = 2  # features in the name of a cluster
DERIVED_FILES = (
    records.CENTERS,
    records.TOP,
    records.MODEL_FILE,
    records.STREAM_PAGE,
)  # besides run.json
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
        path = folder / records.STREAM_FILE
        if not path.exists():
            return cls.begin(folder)
        match read_container(path, MODEL).header, load(path):
            case {"batches": list(entries), "record": dict(record)}, StreamONMF() as model:
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
        words = {str(i): named[:WORDS_PER_PERIOD] for i, named in heavy_words(model).items()}
        first = {"key": known["sha256"], "name": known["file"], "samples": len(labels)}
        first |= {"sizes": sizes_by_id(model, labels), "words": words}
        return cls(folder, model, [first], record)

    def knows(self, key: str) -> bool:
        """Whether a batch was added before."""
        return any(entry["key"] == key for entry in self.batches)

    def add(self, table: Table, key: str, name: str, most: int, raw_names: bool) -> None:
        """Add a batch: write its labels and then, by one rename, the state."""
        if not isinstance(self.model, StreamONMF):
            distance = np.array(records.stored_column(self.folder, "distance", float))
            batches = max(1, round(len(distance) / len(table.samples)))  # of this size
            labels = labels_of_run(self.folder, self.model)
            self.model = StreamONMF.from_fit(self.model, labels, distance, batches)
        model = self.model
        most = max(most, len(model.cluster_centers_))
        model.set_params(max_clusters=most, n_clusters=None, init="random")
        model.partial_fit(table)
        self.batches.append(self.entry(model, table, key, name))
        ids = tables.ids_of_labels(tables.ids_of_clusters(model), model.labels_)
        place, distance = self.folder / BATCH_FOLDER, model.distance(table)
        text = csv_text(*tables.labels_sheet(table.samples, ids, distance=distance), raw_names)
        place.mkdir(exist_ok=True)
        replace_files(place, {f"{len(self.batches) - 1:05}.csv": text})
        state = model_bytes(model, samples=False, batches=self.batches, record=self.record)
        replace_files(self.folder, {records.STREAM_FILE: state})

    def entry(self, model: StreamONMF, table: Table, key: str, name: str) -> dict[str, Any]:
        """What the state keeps of a batch."""
        ids = model.cluster_ids_.tolist()
        words = period_words(table.X, model.labels_, model.cluster_centers_, table.features)
        facts = {
            "key": key,
            "name": name,
            "samples": len(table.samples),
            "sizes": sizes_by_id(model, model.labels_),
            "words": {str(ids[k]): own for k, own in words.items()},
            "waiting": model.n_waiting_,
            "relative_error": model.relative_error_,
        }
        return dict(to_json_values(facts | (model.lineage_._asdict() if model.lineage_ else {})))

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
        model, ids = self.model, tables.ids_of_clusters(self.model)
        names = {i: " ".join(words[:WORDS_PER_NAME]) for i, words in heavy_words(model).items()}
        sheets = {
            records.CENTERS: tables.centers_sheet(
                ids, model.cluster_centers_, feature_names(model)
            ),
            records.TOP: tables.top_sheet(ids, model.top_features(tables.TOP_FEATURES)),
        }
        title, periods = self.folder.resolve().name, self.periods()
        files: dict[str, str | bytes] = {
            **csv_texts(sheets),
            records.MODEL_FILE: model_bytes(model, samples=False),
            records.STREAM_PAGE: stream_page(title, periods, names, self.sentence()),
        }
        chain = [{name: entry.get(name) for name in RECORDED_FIELDS} for entry in self.batches[1:]]
        lineage = {"lineage": [*self.record.get("lineage", []), *chain], "stream": state}
        replace_files(self.folder, seal_files(files, records.RUN, self.record | lineage)[1])

    def periods(self) -> list[Period]:
        """The batches, for the page."""
        return [
            Period(
                name=entry["name"],
                sizes={int(i): n for i, n in entry["sizes"].items()},
                words={int(i): words for i, words in entry["words"].items()},
                born=entry.get("born", ()),
                vanished=entry.get("vanished", ()),
            )
            for entry in self.batches
        ]

    def sentence(self) -> str:
        """The size of the stream, and what the last batch changed."""
        last, ids = self.batches[-1], self.model.cluster_ids_
        total = sum(entry["samples"] for entry in self.batches)
        turned = max((angle for angle in last.get("drift", ()) if angle is not None), default=0)
        changed = [
            f"{word} {listing(last[word])}" for word in ("born", "vanished") if last.get(word)
        ]
        return (
            f"{total:,} samples in {len(self.batches)} batches, {len(ids)} clusters. The last "
            f"batch, {last['name']}: {last['samples']:,} samples, "
            f"{', '.join(changed) or 'no cluster born or closed'}, turned by at most "
            f"{turned:.1f} degrees, {last.get('waiting', 0)} samples wait."
        )


def sizes_by_id(model: ONMF, labels: Array) -> dict[str, int]:
    """The number of samples of each cluster that has any, by id."""
    sizes = tables.cluster_sizes(labels, len(model.cluster_centers_)).tolist()
    return {str(i): n for i, n in zip(model.cluster_ids_.tolist(), sizes, strict=True) if n}


def heavy_words(model: ONMF) -> dict[int, list[str]]:
    """The features of each cluster with the largest weights, by id."""
    tops = zip(model.cluster_ids_.tolist(), model.top_features(WORDS_PER_PERIOD), strict=True)
    return {i: [name for name, weight in top if weight > 0] for i, top in tops}
