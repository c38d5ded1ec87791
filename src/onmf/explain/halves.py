"""Other looks at the same samples: clusters found from one half of the features, and the other.

Features are split in two at random, several times; each half gets K clusters of its own, found by
the search of the default solver from that half alone. So

* what a half says of a sample is no consequence of the entries in the other half: features of
  one can be tested on the clusters of the other;
* how often both halves of a split put a sample into the same cluster says how sure its cluster is.

Fits see at most `MOST_ENTRIES` entries or some hundred samples a cluster, whichever
is more, drawn at random; then all samples are assigned in a single sweep (`explain.subsets`).
"""

import numpy as np
import scipy.sparse as sp

from onmf.explain.subsets import Part
from onmf.losses.quick_fit import rays_of_parts
from onmf.rows.sweep import Array, Data

SPLITS = 5
OWN = 12  # so that no simulation with the same seed has drawn the same split
SAMPLES_PER_CLUSTER, FEWEST_SAMPLES = 200, 3000  # that a fit of a half looks at
MOST_ENTRIES = 30_000_000  # of a dense X, unless that were fewer than SCARCE samples a cluster
SCARCE = 20


def split_fits(data: Data, k: int, splits: int, seed: int) -> list[tuple[Part, Part]]:
    """So many random splits of the features, and the clusters of both halves of each."""
    rng = np.random.default_rng((OWN, seed))
    seen = data.take(some_samples(data, k, rng))
    middle, parts = data.shape[1] // 2, []
    for _ in range(splits):
        order = rng.permutation(data.shape[1])
        parts += [np.sort(order[:middle]), np.sort(order[middle:])]
    halves = list(map(Part, parts, rays_of_parts(seen, parts, k, rng)))
    return list(zip(halves[::2], halves[1::2], strict=True))


def some_samples(data: Data, k: int, rng: np.random.Generator) -> Array:
    """Numbers of the samples that the fits look at."""
    n, m = data.shape
    most = max(SAMPLES_PER_CLUSTER * k, FEWEST_SAMPLES)
    if not sp.issparse(data.take(np.arange(1)).X):
        most = min(most, max(MOST_ENTRIES // m, SCARCE * k))
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
