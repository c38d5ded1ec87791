"""A run that goes on batch by batch: one file is its state, all others are made from it.

    stream.onmf = the model, how far its stream is, and an entry for each batch

The file is replaced by one rename: a process that is killed at any moment leaves the state before
the batch, or the one after it. What is made from it may then be old, and is made again by the next
command; the labels of a batch are written before the batch counts.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from onmf import ONMF, StreamONMF, load
from onmf.cli.console import cluster_sizes
from onmf.cli.runs.records import (
    CENTERS,
    LABELS,
    MODEL,
    PAGE,
    RUN,
    STREAM,
    TOP,
    is_of_run,
    read_record,
    stored_column,
)
from onmf.cli.runs.results import labels_of_run
from onmf.cli.runs.tables import (
    TOP_FEATURES,
    Array,
    centers_sheet,
    ids_of_clusters,
    ids_of_labels,
    labels_sheet,
    top_sheet,
)
from onmf.estimators.storage import model_bytes
from onmf.exceptions import FormatError
from onmf.io import Table, checksum, csv_text, csv_texts, replace_files, seal_files, to_json_values
from onmf.io.container import MODEL as KIND
from onmf.io.container import read_container
from onmf.io.table import listing
from onmf.report.periods import WORDS, Period, period_words, stream_page

BATCHES = "batches"  # folder of the labels of each
NAMING = 2  # features in the name of a cluster
DERIVED_FILES = (CENTERS, TOP, MODEL, PAGE)  # from the state, besides run.json
REPORTED = ("key", "name", "kept", "born", "vanished", "drift")  # of a batch in run.json


@dataclass
class StreamRun:
    """A folder, the model as its last batch left it, what is known of each batch, and run.json."""

    folder: Path
    model: ONMF
    batches: list[dict[str, Any]]
    record: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """As far as the stream is; at its beginning, if it has not begun."""
        path = folder / STREAM
        if not path.exists():
            return cls.begin(folder)
        match read_container(path, KIND).header, load(path):
            case {"batches": list(entries), "record": dict(record)}, StreamONMF() as model:
                return cls(folder, model, entries, record)
        raise FormatError(f"{path} does not hold a stream: run onmf cluster again.")

    @classmethod
    def begin(cls, folder: Path) -> Self:
        """At the run that `onmf cluster` left; its samples are the first of the stream."""
        record = read_record(folder)
        if not is_of_run(folder, MODEL, record) or not is_of_run(folder, LABELS, record):
            raise ValueError(f"the files in {folder} are of two runs: run onmf cluster again.")
        model = load(folder / MODEL)
        if not isinstance(model, ONMF) or not hasattr(model, "partial_fit"):
            raise ValueError("onmf update needs a run of the default solver.")
        if model.outliers is not None:
            raise ValueError("onmf update does not support runs made with --outliers.")
        labels, told = labels_of_run(folder, model), record["input"]
        words = {str(i): named[:WORDS] for i, named in heavy_words(model).items()}
        first = {"key": told["sha256"], "name": told["file"], "samples": len(labels)}
        first |= {"sizes": sizes_by_id(model, labels), "words": words}
        return cls(folder, model, [first], record)

    def knows(self, key: str) -> bool:
        """Whether a batch has been counted."""
        return any(entry["key"] == key for entry in self.batches)

    def take_in(self, table: Table, key: str, name: str, most: int, raw_names: bool) -> None:
        """Count one batch: its labels, and then, by one rename, the state."""
        if not isinstance(self.model, StreamONMF):
            distance = np.array(stored_column(self.folder, "distance", float))
            worth = max(1, round(len(distance) / len(table.samples)))  # batches like this one
            labels = labels_of_run(self.folder, self.model)
            self.model = StreamONMF.from_fit(self.model, labels, distance, worth)
        model = self.model
        most = max(most, len(model.cluster_centers_))
        model.set_params(max_clusters=most, n_clusters=None, init="random")
        model.partial_fit(table)
        self.batches.append(self.entry(model, table, key, name))
        ids = ids_of_labels(ids_of_clusters(model), model.labels_)
        place, distance = self.folder / BATCHES, model.distance(table)
        text = csv_text(*labels_sheet(table.samples, ids, distance=distance), raw_names)
        place.mkdir(exist_ok=True)
        replace_files(place, {f"{len(self.batches) - 1:05}.csv": text})
        state = model_bytes(model, samples=False, batches=self.batches, record=self.record)
        replace_files(self.folder, {STREAM: state})

    def entry(self, model: StreamONMF, table: Table, key: str, name: str) -> dict[str, Any]:
        """What is remembered of a batch."""
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

    def write(self) -> bool:
        """All that is made from the state, if it is not there yet; whether it was not."""
        state = checksum(self.folder / STREAM)
        try:
            record = read_record(self.folder)
            done = record.get("stream") == state
            if done and all(is_of_run(self.folder, name, record) for name in DERIVED_FILES):
                return False
        except (ValueError, OSError):
            pass  # broken off while it was written: all is in the state
        features, ids = [str(n) for n in self.model.feature_names_in_], ids_of_clusters(self.model)
        names = {i: " ".join(words[:NAMING]) for i, words in heavy_words(self.model).items()}
        page = stream_page(self.folder.resolve().name, self.periods(), names, self.sentence())
        files: dict[str, str | bytes] = {
            **csv_texts(
                {
                    CENTERS: centers_sheet(ids, self.model.cluster_centers_, features),
                    TOP: top_sheet(ids, self.model.top_features(TOP_FEATURES)),
                }
            ),
            MODEL: model_bytes(self.model, samples=False),
            PAGE: page,
        }
        chain = [{name: entry.get(name) for name in REPORTED} for entry in self.batches[1:]]
        lineage = {"lineage": [*self.record.get("lineage", []), *chain], "stream": state}
        replace_files(self.folder, seal_files(files, RUN, self.record | lineage)[1])
        return True

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
        """How far the stream is, and what its last batch changed."""
        last, ids = self.batches[-1], self.model.cluster_ids_
        total = sum(entry["samples"] for entry in self.batches)
        said = f"{total:,} samples in {len(self.batches)} batches, {len(ids)} clusters."
        turned = max((angle for angle in last.get("drift", ()) if angle is not None), default=0)
        changed = [
            f"{word} {listing(last[word])}" for word in ("born", "vanished") if last.get(word)
        ]
        return (
            f"{said} The last batch, {last['name']}: {last['samples']:,} samples, "
            f"{', '.join(changed) or 'no cluster born or closed'}, turned by at most "
            f"{turned:.1f} degrees, {last.get('waiting', 0)} samples wait."
        )


def sizes_by_id(model: ONMF, labels: Array) -> dict[str, int]:
    """How many samples each cluster has, by its id."""
    sizes = cluster_sizes(labels, len(model.cluster_centers_)).tolist()
    return {str(i): n for i, n in zip(model.cluster_ids_.tolist(), sizes, strict=True) if n}


def heavy_words(model: ONMF) -> dict[int, list[str]]:
    """The heaviest features of each cluster, by its id."""
    tops = zip(model.cluster_ids_.tolist(), model.top_features(WORDS), strict=True)
    return {i: [name for name, weight in top if weight > 0] for i, top in tops}
