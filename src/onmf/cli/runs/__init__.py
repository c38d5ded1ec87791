"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.hints import after_fit, before_fit
from onmf.cli.runs.inputs import Input, aligned, at_hand, check_entries, first_words, lies_across
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
    read_run,
    recall,
    scores,
    stored_labels,
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
    "after_fit",
    "aligned",
    "at_hand",
    "before_fit",
    "check_entries",
    "choice_record",
    "explained",
    "first_words",
    "labels_csv",
    "lies_across",
    "markers_csv",
    "read_run",
    "recall",
    "scores",
    "stored_labels",
]
