"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.inputs import Input, aligned, at_hand
from onmf.cli.runs.results import (
    MODEL,
    REPORT,
    RESULTS,
    RUN,
    Assessment,
    FinishedFit,
    assess,
    choice_record,
    fitted_model,
    read_record,
    recall,
    scores,
    sealed,
)

__all__ = [
    "MODEL",
    "REPORT",
    "RESULTS",
    "RUN",
    "Assessment",
    "FinishedFit",
    "Input",
    "aligned",
    "assess",
    "at_hand",
    "choice_record",
    "fitted_model",
    "read_record",
    "recall",
    "scores",
    "sealed",
]
