"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.results import (
    MODEL,
    REPORT,
    RESULTS,
    Assessment,
    FinishedFit,
    assess,
    choice_record,
    named,
    names_compared,
    recall,
    scores,
)
from onmf.cli.runs.source import Source, aligned, at_hand

__all__ = [
    "MODEL",
    "REPORT",
    "RESULTS",
    "Assessment",
    "FinishedFit",
    "Source",
    "aligned",
    "assess",
    "at_hand",
    "choice_record",
    "named",
    "names_compared",
    "recall",
    "scores",
]
