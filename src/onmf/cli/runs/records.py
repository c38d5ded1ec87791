"""The files of a finished run by their names, and what is read from them again."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

from onmf.io import checksum

LABELS, MARKERS, CENTERS, TOP, MODEL, REPORT, RUN = RESULTS = (
    "labels.csv",
    "markers.csv",
    "centers.csv",
    "top_features.csv",
    "model.onmf",
    "report.html",
    "run.json",
)
STREAM, PAGE = "stream.onmf", "stream.html"  # of a run that goes on batch by batch


class Origin(NamedTuple):
    """The checksum of an input as it was read, and the versions of the packages at work."""

    digest: str
    versions: dict[str, str]

    @classmethod
    def recall(cls, record: dict[str, Any]) -> Self:
        """From run.json."""
        return cls(record["input"]["sha256"], record.get("versions", {}))


def stored_column(folder: Path, name: str, kind: Callable[[str], Any]) -> list[Any]:
    """What labels.csv of a finished run has of its samples, which its model does not have."""
    path = folder / LABELS
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [kind(row[name]) for row in csv.DictReader(file)]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} does not hold the labels of a run: {error}.") from error


def is_of_run(folder: Path, name: str, record: dict[str, Any]) -> bool:
    """Whether a file is the one that run.json is about; runs of the first version cannot tell."""
    digest = record.get("files", {}).get(name)
    return digest is None or checksum(folder / name) == digest


def read_record(folder: Path) -> dict[str, Any]:
    """The content of run.json, which is there if the run has ended."""
    path = folder / RUN
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} has no {RUN}, so no finished run: run onmf cluster again, or name the "
            "file of a model."
        )
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record.get("files", {}), dict):
            raise TypeError("its files have no names")
        return dict(record)
    except (ValueError, TypeError, AttributeError) as error:
        raise not_a_record(path, error) from error


def not_a_record(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not the record of a run of onmf cluster: {error}.")
