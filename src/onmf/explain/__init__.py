"""Explanations: the distinctive features of clusters, and how certain the labels are."""

from onmf.explain.certainty import Calibration
from onmf.explain.explanation import Explanation, clusters
from onmf.explain.known_groups import groups
from onmf.explain.markers import Marker, Markers
from onmf.explain.trust import ClusterRow

__all__ = ["Calibration", "ClusterRow", "Explanation", "Marker", "Markers", "clusters", "groups"]
