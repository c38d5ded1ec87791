"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.inputs import Input, aligned, at_hand
from onmf.cli.runs.results import (
    LABELS,
    MARKERS,
    MODEL,
    REPORT,
    RESULTS,
    Array,
    FinishedFit,
    Model,
    choice_record,
    explained,
    labels_csv,
    markers_csv,
    recall,
    scores,
)

__all__ = [
    "LABELS",
    "MARKERS",
    "MODEL",
    "REPORT",
    "RESULTS",
    "Array",
    "FinishedFit",
    "Input",
    "Model",
    "aligned",
    "at_hand",
    "choice_record",
    "explained",
    "labels_csv",
    "markers_csv",
    "recall",
    "scores",
]
