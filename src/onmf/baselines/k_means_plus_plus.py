"""K-means++, by scikit-learn: seeds drawn among the samples, far from those before, then K-means.

The seeds take a look at X each and depend on the start's seed alone, not on its factors.
"""

from onmf.baselines.iterate import MAX_ITER, Loaded, Start
from onmf.baselines.k_means import K_MEANS_TOL, lloyd
from onmf.core.result import Factorization, Watch, unwatched


def k_means_plus_plus(
    data: Loaded,
    start: Start,
    *,
    tol: float = K_MEANS_TOL,
    max_iter: int = MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From seeds of its own; a sweep a seed, one an iteration, and one to measure the result."""
    return lloyd(data, start, "k-means++", len(start.W), tol, max_iter, watch)
