"""Quick looks: the rays of a few samples, found from some of their features alone.

U_S = rays of X[:, S]:  a sketch, the search from one start, and a few alternations on X[:, S]
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.losses.filling import estimate_fill
from onmf.losses.ray_alternation import Assign, KernelRays
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Block, Data, count_missing, row_sqnorm
from onmf.search.numpy_kernels import unit
from onmf.search.starts import Settings, find_starts

QUICK_SWEEPS, QUICK_ALTERNATIONS = 10, 2  # of the search, and on all features after it


class Look(NamedTuple):
    """Unit rays (k, m), and the basis (m, r) of the sketch they were found in."""

    rays: Array
    basis: Array


def quick_look(seen: Block, k: int, rng: np.random.Generator) -> Look:
    """K unit rays of these samples from one start; fewer if there is not enough."""
    X = seen.X
    n_missing = count_missing(X)
    useful = row_sqnorm(X) * seen.weight[:, 0] > 0
    k = min(k, int(useful.sum()))
    if not k:
        return Look(np.zeros((0, X.shape[1])), np.zeros((X.shape[1], 0)))
    if not useful.all():
        X = X[useful] if sp.issparse(X) else np.ascontiguousarray(X[useful])
    rows = InMemory(X, seen.weight[useful, 0], n_missing=n_missing)
    data: Data = estimate_fill(rows, k, rng, QUICK_SWEEPS).view(rows) if n_missing else rows
    settings = Settings(n_starts=1, max_sweeps=QUICK_SWEEPS, signed=rows.extremes[0] < 0)
    (rays, *_), small = find_starts(settings, data, k, rng)
    for _ in range(QUICK_ALTERNATIONS):  # what the sketch does not show
        _, cells = data.sweep(Assign(KernelRays.of(rays)))
        rays = unit(cells.cross, otherwise=rays)
    return Look(rays, np.eye(X.shape[1]) if small.V is None else small.V)
