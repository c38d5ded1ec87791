"""Preparation of data before clustering.

Steps that are stored with a model (`steps`, `texts`), and scikit-learn transformers for the paper's
data (`transformers`).
"""

from onmf.preparation.batches import center_batches
from onmf.preparation.cleaning import Strip
from onmf.preparation.seeds import labels_by_seeds
from onmf.preparation.steps import Depth, Log, Rescale, Tfidf, Unit, Variable, apply
from onmf.preparation.texts import Words, word_counts
from onmf.preparation.transformers import (
    SpectralReduction,
    log_expression,
    select_genes,
    tfidf,
    used_features,
)

__all__ = [
    "Depth",
    "Log",
    "Rescale",
    "SpectralReduction",
    "Strip",
    "Tfidf",
    "Unit",
    "Variable",
    "Words",
    "apply",
    "center_batches",
    "labels_by_seeds",
    "log_expression",
    "select_genes",
    "tfidf",
    "used_features",
    "word_counts",
]
