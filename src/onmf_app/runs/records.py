"""The files of a finished run, how they are read again, and how `--like` continues it."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from onmf.files import checksum, finish_replacement, to_json_values
from onmf.rows import Terms
from onmf.tree import Tree
from onmf_app.read.annotation import value_file as class_file
from onmf_app.runs.inputs import Input

LABELS, CLUSTERS, MARKERS, CENTERS, SCALES, MODEL_FILE, REPORT, RUN = RESULTS = (
    "labels.csv",
    "clusters.csv",
    "markers.csv",
    "centers.csv",
    "scales.csv",  # of a run that chose K
    "model.onmf",
    "report.html",
    "run.json",
)
OPTIONAL = (TREE := "tree.json",)  # with --tree

READING = ("labels", "layer", "decimal", "thousands", "drop", "duplicates", "transpose",
           "skip_rows", "encoding", "sheet", "text_column", "id_column", "time")  # fmt: skip
KEPT_PARAMETERS = ("outliers", "loss")

# What run.json contains: readers of it rely on these. An object has at least these keys, except
# those with a question mark, and all parts of a list are alike.
SHAPE: dict[str, Any] = {
    "files": dict,
    "parameters": dict,
    "results": {"seconds": int | float, "clusters?": [{"cluster": int}]},
    "input": {"sha256": str},
    "source": dict,
    "versions?": dict,
    "choice?": {"best_k": int, "reason": str, "table": [{"k": int}]},
    "lineage?": [{"ids?": [int], "drift?": [object]}],
}


class Origin(NamedTuple):
    """The checksum of an input as it was read, and the versions of the packages."""

    digest: str
    versions: dict[str, str]

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """From run.json."""
        return cls(record["input"]["sha256"], record.get("versions", {}))


def stored_column(folder: Path, name: str, kind: Callable[[str], Any]) -> Iterator[Any]:
    """A column of labels.csv of a finished run, read when it is asked for."""
    path = folder / LABELS
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            rows = csv.reader(opened)
            place = next(rows, []).index(name)
            yield from (kind(row[place]) for row in rows)
    except (ValueError, LookupError, csv.Error) as error:
        raise ValueError(f"{path} does not have the labels of a run: {error}.") from error


def is_of_run(folder: Path, name: str, record: dict[str, Any]) -> bool:
    """Whether a file has the checksum in run.json."""
    return bool(checksum(folder / name) == record["files"].get(name))


def stored_tree(folder: Path, record: dict[str, Any]) -> Tree | None:
    """The tree of a run, if it has one."""
    path = folder / TREE
    if TREE not in record["files"] or not path.exists():
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


@dataclass(frozen=True)
class PreviousRun:
    """A finished run that another one continues."""

    folder: Path
    record: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        record = read_record(folder)
        check_model(folder, record)
        return cls(folder, record)

    @property
    def model(self) -> str:
        """Path of its model."""
        return str(self.folder / MODEL_FILE)

    def source(self, path: Path, given: dict[str, Any], follow_links: bool) -> Input:
        """Another input, read and prepared as before except for what is `given`."""
        recorded = read_source(self.record, self.folder)
        own = {"labels": None} if class_file(recorded.labels or ".") is not None else {}
        return replace(recorded, path=path, follow_links=follow_links, **own | given)

    def settings(self) -> dict[str, Any]:
        """Parameters of its model that the next run keeps."""
        known = self.record.get("parameters", {})
        return {name: known[name] for name in KEPT_PARAMETERS if known.get(name) is not None}

    def lineage(self, lineage: Any, digest: str) -> list[dict[str, Any]]:
        """The lineage up to the next run, of an input with this digest."""
        entry = {"input": digest, "model": checksum(Path(self.model)), **to_json_values(lineage)}
        return [*(self.record.get("lineage") or []), entry]
