"""Measures of a clustering: agreement with classes, and error of its factors.

ARI, NMI and AMI are scikit-learn's, re-exported here. The paper's "NMI" is AMI, adjusted mutual
information.
"""

from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)

from onmf.metrics.classes import clustering_accuracy, purity
from onmf.metrics.factors import orthogonality, relative_error, stationarity
from onmf.metrics.held_out import held_out_score
from onmf.metrics.topics import topic_coherence, topic_diversity

__all__ = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "clustering_accuracy",
    "held_out_score",
    "normalized_mutual_info_score",
    "orthogonality",
    "purity",
    "relative_error",
    "stationarity",
    "topic_coherence",
    "topic_diversity",
]
