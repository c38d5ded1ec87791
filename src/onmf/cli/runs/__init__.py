"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.results import (
    MODEL,
    REPORT,
    RESULTS,
    Assessed,
    Run,
    recall,
    scores,
)
from onmf.cli.runs.source import Source, aligned, at_hand

__all__ = [
    "MODEL",
    "REPORT",
    "RESULTS",
    "Assessed",
    "Run",
    "Source",
    "aligned",
    "at_hand",
    "recall",
    "scores",
]
