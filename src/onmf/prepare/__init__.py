"""What raw data need before clustering: scikit-learn transformers, and which of them by default."""

from onmf.prepare.batches import CenterBatches
from onmf.prepare.default import Preparation, default_preparation
from onmf.prepare.known import known_from_words
from onmf.prepare.steps import Depth, Log, Rescale, Tfidf, Unit, Variable
from onmf.prepare.texts import Words

__all__ = [
    "CenterBatches",
    "Depth",
    "Log",
    "Preparation",
    "Rescale",
    "Tfidf",
    "Unit",
    "Variable",
    "Words",
    "default_preparation",
    "known_from_words",
]
