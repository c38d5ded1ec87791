"""What is done to the data before they are clustered.

Steps that travel with a model (`steps`), and scikit-learn transformers for the paper's data
(`transformers`).
"""

from onmf.preparation.steps import Depth, Log, Rescale, Tfidf, Unit, apply
from onmf.preparation.texts import Strip, Words
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
    "Words",
    "apply",
    "log_expression",
    "select_genes",
    "tfidf",
    "used_features",
]
