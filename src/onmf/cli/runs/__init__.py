"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.hints import after_fit, before_fit
from onmf.cli.runs.inputs import Input, aligned, at_hand, check_entries, first_words, lies_across
from onmf.cli.runs.results import (
    MODEL,
    REPORT,
    RESULTS,
    Assessment,
    FinishedFit,
    assess,
    choice_record,
    recall,
    scores,
    stored_labels,
)

__all__ = [
    "MODEL",
    "REPORT",
    "RESULTS",
    "Assessment",
    "FinishedFit",
    "Input",
    "after_fit",
    "aligned",
    "assess",
    "at_hand",
    "before_fit",
    "check_entries",
    "choice_record",
    "first_words",
    "lies_across",
    "recall",
    "scores",
    "stored_labels",
]
