"""From a file to the files of a result, and back: what the command does between two prints."""

from onmf.cli.runs.hints import after_fit, before_fit
from onmf.cli.runs.inputs import (
    Input,
    align_features,
    check_entries,
    first_words,
    is_transposed,
    sample_in_memory,
)
from onmf.cli.runs.outliers import outlier_sentence
from onmf.cli.runs.parent import Parent
from onmf.cli.runs.records import (
    LABELS,
    MARKERS,
    MODEL,
    REPORT,
    RESULTS,
    RUN,
    Origin,
    read_record,
    stored_column,
)
from onmf.cli.runs.results import (
    Findings,
    FinishedFit,
    agreement_scores,
    can_certify,
    choice_record,
    fitted_model,
    read_run,
    recall,
    sealed_again,
)
from onmf.cli.runs.tables import (
    Array,
    Model,
    ids_of_clusters,
    ids_of_labels,
    labels_sheet,
    markers_sheet,
)

__all__ = [
    "LABELS",
    "MARKERS",
    "MODEL",
    "REPORT",
    "RESULTS",
    "RUN",
    "Array",
    "Findings",
    "FinishedFit",
    "Input",
    "Model",
    "Origin",
    "Parent",
    "after_fit",
    "agreement_scores",
    "align_features",
    "before_fit",
    "can_certify",
    "check_entries",
    "choice_record",
    "first_words",
    "fitted_model",
    "ids_of_clusters",
    "ids_of_labels",
    "is_transposed",
    "labels_sheet",
    "markers_sheet",
    "outlier_sentence",
    "read_record",
    "read_run",
    "recall",
    "sample_in_memory",
    "sealed_again",
    "stored_column",
]
