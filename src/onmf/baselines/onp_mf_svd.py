"""ONP-MF from its authors' own start, the leading left singular vectors of X.

The sign of each is such that its positive entries outweigh the negative ones. The same for every
seed: like K-means++, a method with seeds of its own beside the one that takes the shared start.
"""

import numpy as np

from onmf.baselines.iterate import TOL, Start, products
from onmf.baselines.onp_mf import ONP_MF_MAX_ITER, descend, polar, unit_columns
from onmf.core.paper.start import SVD_SWEEPS, leading_directions
from onmf.core.result import Factorization, Watch, unwatched
from onmf.core.rows import Data


def onp_mf_svd(
    data: Data,
    start: Start,
    *,
    tol: float = TOL,
    max_iter: int = ONP_MF_MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From X alone; two sweeps an iteration, and those of the singular vectors."""
    V = leading_directions(data, len(start.W)).astype(data.dtype)
    G = unit_columns(np.sqrt(data.weight)[:, None] * products(data, V.T))
    plus, minus = np.linalg.norm(np.maximum(G, 0), axis=0), np.linalg.norm(np.minimum(G, 0), axis=0)
    G = polar(G * np.where(plus >= minus, 1, -1).astype(data.dtype))
    return descend(data, G, start.W, SVD_SWEEPS + 1, tol, max_iter, watch)
