"""Figures with Matplotlib; each function returns its axes.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from onmf import ONMF, plot
>>> from onmf.datasets import make_rays
>>> X, y = make_rays(60, 8, 3, random_state=0)
>>> model = ONMF(n_clusters=3, random_state=0).fit(X)
>>> plot.embedding(model, X).get_title()
'60 samples in 3 clusters'
"""

from onmf.plot.canvas import colors
from onmf.plot.centroids import centers, heat_map, top_features
from onmf.plot.fits import confusion, convergence, embedding, markers
from onmf.plot.runs import cluster_stability, consensus_map, k_curves
from onmf.plot.samples import sample_map

__all__ = [
    "centers",
    "cluster_stability",
    "colors",
    "confusion",
    "consensus_map",
    "convergence",
    "embedding",
    "heat_map",
    "k_curves",
    "markers",
    "sample_map",
    "top_features",
]
