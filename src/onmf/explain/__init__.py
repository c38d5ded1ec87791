"""Explanations: the distinctive features of clusters, and how certain the labels are."""

from onmf.explain.certainty import Calibration
from onmf.explain.explanation import Explanation, clusters, groups
from onmf.explain.markers import Marker, Markers

__all__ = ["Calibration", "Explanation", "Marker", "Markers", "clusters", "groups"]
