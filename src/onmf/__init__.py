"""Clustering by orthogonal non-negative matrix factorisation.

>>> from onmf import ONMF
>>> from onmf.datasets import make_rays
>>> X, y = make_rays(200, 30, 4, random_state=0)
>>> ONMF(n_clusters=4, random_state=0).fit(X).labels_.shape
(200,)
"""

from onmf.core.penalties import NSNCP, SNCP, General
from onmf.estimators import ONMF

__all__ = ["NSNCP", "ONMF", "SNCP", "General", "__version__"]
__version__ = "0.1.0"
