"""What is done to the data before they are clustered.

Steps that travel with a model (`steps`), and scikit-learn transformers for the paper's data
(`transformers`).
"""

from onmf.preparation.steps import STEPS, Log, Step, Tfidf, Unit, Words, apply, apply_step
from onmf.preparation.transformers import (
    SpectralReduction,
    log_expression,
    select_genes,
    tfidf,
    used_features,
)

__all__ = [
    "STEPS",
    "Log",
    "SpectralReduction",
    "Step",
    "Tfidf",
    "Unit",
    "Words",
    "apply",
    "apply_step",
    "log_expression",
    "select_genes",
    "tfidf",
    "used_features",
]
