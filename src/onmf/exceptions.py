"""Warnings of the package, by name, so that each can be caught or silenced alone.

A fit that ran into a limit gives scikit-learn's `ConvergenceWarning`.
"""

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "CheckpointWarning",
    "ConvergenceWarning",
    "EmptyClusterWarning",
    "UnassignedSampleWarning",
    "UnsavedParameterWarning",
]


class CheckpointWarning(UserWarning):
    """The notes of a fit cannot be written; the fit goes on without."""


class EmptyClusterWarning(UserWarning):
    """Fewer clusters than asked for have samples."""


class UnassignedSampleWarning(UserWarning):
    """Some samples belong to no cluster: all zero, or no feature in common with any centroid."""


class UnsavedParameterWarning(UserWarning):
    """A parameter that only a pickle could store was left out of a saved model."""
