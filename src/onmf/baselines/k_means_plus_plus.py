"""K-means++, by scikit-learn: seeds drawn among the samples, far from those before, then K-means.

    P(x_i is the next seed) = d_i min_j ||x_i - w_j||^2 / sum of the same,    w_j the seeds so far

One draw a seed, as its authors have it (Arthur and Vassilvitskii 2007) and as the paper's tables
do; scikit-learn's own choice, the best of several draws, is another method. The seeds take a look
at X each and depend on the start's seed alone, not on its factors.
"""

import numpy as np
from sklearn.cluster import kmeans_plusplus

from onmf.baselines.iterate import MAX_ITER, Start, WholeRows
from onmf.baselines.k_means import K_MEANS_TOL, lloyd, short_indices
from onmf.result import Factorization, Watch, unwatched


def k_means_plus_plus(
    data: WholeRows,
    start: Start,
    *,
    tol: float = K_MEANS_TOL,
    max_iter: int = MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From seeds of its own; a sweep a seed, one an iteration, and one to measure the result."""
    k = len(start.W)
    seeds, _ = kmeans_plusplus(
        short_indices(data.X),
        k,
        sample_weight=np.where(data.gather(data.row_sqnorms) > 0, data.weight, 0),
        random_state=start.seed,
        n_local_trials=1,
    )
    return lloyd(data, start, seeds, k, tol, max_iter, watch)
