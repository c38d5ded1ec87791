"""Preparation of data before clustering.

Steps that are stored with a model (`steps`, `texts`), and scikit-learn transformers for counts
(`transformers`).
"""

from onmf.prepare.batches import center_batches
from onmf.prepare.cleaning import Strip
from onmf.prepare.seeds import labels_by_seeds
from onmf.prepare.steps import Depth, Log, Rescale, Tfidf, Unit, Variable, apply
from onmf.prepare.texts import Words, word_counts
from onmf.prepare.transformers import (
    log_expression,
    tfidf,
    used_features,
)

__all__ = [
    "Depth",
    "Log",
    "Rescale",
    "Strip",
    "Tfidf",
    "Unit",
    "Variable",
    "Words",
    "apply",
    "center_batches",
    "labels_by_seeds",
    "log_expression",
    "tfidf",
    "used_features",
    "word_counts",
]
