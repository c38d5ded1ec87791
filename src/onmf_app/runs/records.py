"""The files of a finished run, how they are read again, and how `--like` continues it."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.estimators.lineage import Lineage
from onmf.io import checksum, finish_replacement, seal_files, to_json_values
from onmf.io.cells import unguard_cell
from onmf.io.columns import class_file
from onmf.io.output import Content
from onmf.io.remote import AnyFile
from onmf.io.terms import Terms
from onmf.rows.sweep import Array
from onmf.tree import Tree
from onmf_app.runs.inputs import Input

LABELS, CLUSTERS, MARKERS, CENTERS, TOP, SCALES, MODEL_FILE, REPORT, RUN = RESULTS = (
    "labels.csv",
    "clusters.csv",
    "markers.csv",
    "centers.csv",
    "top_features.csv",
    "scales.csv",  # of a run that chose K
    "model.onmf",
    "report.html",
    "run.json",
)
LABELS_PARQUET, LABELS_XLSX, TREE = OPTIONAL = (
    "labels.parquet",  # with --parquet
    "labels.xlsx",  # with --xlsx
    "tree.json",  # with --tree
)
STREAM_FILE, STREAM_PAGE = "stream.onmf", "stream.html"  # of a run that `onmf update` continues

READING = ("labels", "layer", "decimal", "thousands", "drop", "duplicates", "transpose",
           "skip_rows", "encoding", "sheet", "text_column", "id_column", "time")  # fmt: skip
SEARCH_PARAMETERS = ("n_init", "tol", "max_iter", "passes", "rho", "growth")
KEPT_PARAMETERS = ("penalty", "solver", "center_bounds", "equal_votes", "outliers", "loss")

# What run.json contains: readers of it rely on these. An object has at least these keys, except
# those with a question mark, and all parts of a list are alike.
SHAPE: dict[str, Any] = {
    "files?": dict,
    "parameters": dict,
    "results": {"seconds": int | float, "clusters?": [{"cluster": int}]},
    "input": {"sha256": str},
    "source": dict,
    "versions?": dict,
    "choice?": {"best_k": int, "reason": str, "table": [{"k": int}]},
    "lineage?": [{"ids?": [int], "drift?": [object], "moves?": [[int]], "before?": dict}],
}


class Origin(NamedTuple):
    """The checksum of an input as it was read, and the versions of the packages."""

    digest: str
    versions: dict[str, str]

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """From run.json."""
        return cls(record["input"]["sha256"], record.get("versions", {}))


def stored_column(
    folder: Path, name: str, kind: Callable[[str], Any], file: str = LABELS
) -> Iterator[Any]:
    """A column of labels.csv of a finished run, or of a batch, read when it is asked for."""
    path = folder / file
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.reader(opened)
            place = next(rows, []).index(name)
            yield from (kind(row[place]) for row in rows)
    except (ValueError, LookupError, csv.Error) as error:
        raise ValueError(f"{path} does not have the labels of a run: {error}.") from error


def is_of_run(folder: Path, name: str, record: dict[str, Any]) -> bool:
    """Whether a file has the checksum in run.json; runs of the first version have none."""
    digest = record.get("files", {}).get(name)
    return digest is None or checksum(folder / name) == digest


def stored_tree(folder: Path, record: dict[str, Any]) -> Tree | None:
    """The tree of a run, if it has one."""
    path = folder / TREE
    if TREE not in record.get("files", {}) or not path.exists():
        return None
    try:
        if not is_of_run(folder, TREE, record):
            raise ValueError("it has changed")
        return Tree.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path} is not the tree of this run: {error}. Remove it, or run onmf cluster again."
        ) from error


def check_model(folder: Path, record: dict[str, Any]) -> None:
    """Refuse a model that is not the one of run.json."""
    if not is_of_run(folder, MODEL_FILE, record):
        raise ValueError(
            f"{folder / MODEL_FILE} does not belong to {RUN} in that folder: run onmf cluster "
            f"again, or name {MODEL_FILE} itself."
        )


def read_record(folder: Path) -> dict[str, Any]:
    """The content of run.json, which exists if the run has ended."""
    finish_replacement(folder)
    path = folder / RUN
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} has no {RUN}, so the run did not finish: run onmf cluster again, or name a "
            "model file."
        )
    return _record_in(path)


def _record_in(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        check_shape(record, SHAPE, "content")
        return dict(record)
    except (ValueError, TypeError, RecursionError) as error:
        raise _not_a_record(path, error) from error


def check_shape(value: Any, shape: Any, name: str) -> None:
    """TypeError if a value of JSON is not of this shape: a type, a list, the keys of an object."""
    kind = type(shape) if isinstance(shape, dict | list) else shape
    if not isinstance(value, kind):
        raise TypeError(f"its {name} is a {type(value).__name__}")
    if isinstance(value, list):
        for i, part in enumerate(value if isinstance(shape, list) else ()):
            check_shape(part, shape[0], f"{name}[{i}]")
    if isinstance(value, dict):
        for key in shape if isinstance(shape, dict) else ():
            known = key.removesuffix("?")
            if value.get(known) is not None or known in value.keys() & {"files", "versions"}:
                check_shape(value[known], shape[key], known)
            elif key == known:
                raise TypeError(f"its {name} has no {key}")


def read_source(record: dict[str, Any], folder: Path) -> Input:
    """The input of a finished run."""
    try:
        Origin.of(record)
        return Input.from_record(record["source"], folder)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_a_record(folder / RUN, error) from error


def terms_of_run(folder: Path) -> Terms | None:
    """What the reader calls samples, features and clusters, if run.json says it."""
    known = (folder / RUN).exists()
    return read_source(read_record(folder), folder).terms if known else None


def _not_a_record(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not the record of an onmf cluster run: {error}.")


def with_record(record: dict[str, Any], files: Mapping[str, Content]) -> Mapping[str, Content]:
    """New files of a finished run and, if it has checksums, its run.json with the new ones."""
    return seal_files(files, RUN, record)[1] if "files" in record else files


def places_of(known: Iterable[str], wanted: Iterable[str]) -> tuple[Array, Array]:
    """The place of each wanted name among those known, and whether it has one.

    Names are compared by their hashes, eight bytes each: as text they would take ten times that.
    """
    have, want = (np.fromiter(map(hash, names), np.int64) for names in (known, wanted))
    order = np.argsort(have, kind="stable")
    last = np.searchsorted(have[order], want, "right") - 1  # of equal names the last
    if not len(have):
        return last, np.zeros(len(want), bool)
    places = order[last]
    return places, have[places] == want


@dataclass(frozen=True)
class PreviousRun:
    """A finished run that another one continues."""

    folder: Path
    record: dict[str, Any]
    kept: tuple[str, ...] = KEPT_PARAMETERS  # parameters that the next run has, too

    @classmethod
    def of(cls, folder: Path) -> Self:
        record = read_record(folder)
        check_model(folder, record)
        return cls(folder, record)

    @classmethod
    def recorded(cls, path: Path) -> Self:
        """From run.json, or its folder, alone: its clusters are not needed."""
        kept = (*KEPT_PARAMETERS, *SEARCH_PARAMETERS)
        if path.is_dir():
            return cls(path, read_record(path), kept)
        return cls(path.parent, _record_in(path), kept)

    @property
    def model(self) -> str:
        """Path of its model."""
        return str(self.folder / MODEL_FILE)

    def source(self, path: AnyFile, given: dict[str, Any], follow_links: bool) -> Input:
        """Another input, read and prepared as before except for what is `given`."""
        recorded = read_source(self.record, self.folder)
        own = {"labels": None} if class_file(recorded.labels or ".") is not None else {}
        return replace(recorded, path=path, follow_links=follow_links, **own | given)

    def settings(self) -> dict[str, Any]:
        """Parameters of its model that the next run keeps."""
        known = self.record.get("parameters", {})
        kept = {name: known[name] for name in self.kept if known.get(name) is not None}
        return {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}

    def lineage(
        self,
        lineage: Lineage | None,
        digest: str,
        samples: Sequence[str],
        ids: Array,
    ) -> list[dict[str, Any]]:
        """The lineage up to the next run, of an input with this digest and samples in clusters.

        Each entry also has the sizes of the clusters before, and how many samples moved from which
        cluster to which, matched by the names of the samples.
        """
        before = np.fromiter(stored_column(self.folder, "cluster", int), np.int64)
        places, there = places_of(stored_column(self.folder, "sample", unguard_cell), samples)
        moves = Counter(zip(before[places[there]].tolist(), ids[there].tolist(), strict=True))
        entry = {
            "input": digest,
            "model": checksum(Path(self.model)),
            **(lineage._asdict() if lineage else {}),
            "before": Counter(before[before >= 0].tolist()),
            "moves": sorted([old, new, n] for (old, new), n in moves.items()),
        }
        return [*(self.record.get("lineage") or []), to_json_values(entry)]
