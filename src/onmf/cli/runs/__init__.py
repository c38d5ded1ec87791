"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.hints import after_fit, before_fit
from onmf.cli.runs.inputs import Input, aligned, at_hand, check_entries, first_words, lies_across
from onmf.cli.runs.outliers import outlier_sentence
from onmf.cli.runs.parent import Parent
from onmf.cli.runs.records import (
    LABELS,
    MARKERS,
    MODEL,
    REPORT,
    RESULTS,
    RUN,
    read_record,
    stored_column,
)
from onmf.cli.runs.results import (
    FinishedFit,
    agreement_scores,
    choice_record,
    explained,
    fitted_model,
    proved,
    read_run,
    recall,
    sealed,
    sealed_again,
)
from onmf.cli.runs.tables import Array, Model, labels_csv, markers_csv, named_clusters

__all__ = [
    "LABELS",
    "MARKERS",
    "MODEL",
    "REPORT",
    "RESULTS",
    "RUN",
    "Array",
    "FinishedFit",
    "Input",
    "Model",
    "Parent",
    "after_fit",
    "agreement_scores",
    "aligned",
    "at_hand",
    "before_fit",
    "check_entries",
    "choice_record",
    "explained",
    "first_words",
    "fitted_model",
    "labels_csv",
    "lies_across",
    "markers_csv",
    "named_clusters",
    "outlier_sentence",
    "proved",
    "read_record",
    "read_run",
    "recall",
    "sealed",
    "sealed_again",
    "stored_column",
]
