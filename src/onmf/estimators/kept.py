"""What is learnt beside a fit, from some samples that it keeps: when asked, or when it is saved.

Certainties (`explain.probabilities`) and what is usual in each cluster (`explain.unusual`).
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.explain.probabilities import curve_of_samples
from onmf.explain.unusual import learn_unusual
from onmf.rows import Placement
from onmf.rows.assign import rays_of
from onmf.rows.disk import OnDisk
from onmf.rows.memory import InMemory
from onmf.rows.sweep import Array, Matrix, count_missing, divisor
from onmf.rows.threads import single_threaded_blas

OF_UNUSUAL = ("unusual_weights_", "unusual_kept_")
LEARNT = ("certainty_curve_", *OF_UNUSUAL)
KEPT_ENTRIES = 1 << 21  # of X that a fit keeps to judge new samples: 16 MB at most, ...
KEPT_PER_CLUSTER, MOST_KEPT = 20, 3000  # ... or so many samples; what the fits of halves need
RUNS_ON_DISK = 32  # of consecutive rows: others would mean reading all of a packed file
KEPT_STREAM = 13  # of random numbers


@dataclass(eq=False)
class KeptSamples:
    """Some samples of a fit, and what was learnt from them for the present centroids."""

    X: Matrix
    weight: Array
    scale: float  # what X was multiplied by
    part: float  # of the samples of the fit
    learnt: tuple[Array, dict[str, Array]] | None = None  # the rays, and what was learnt for them

    @classmethod
    def of(cls, rows: Placement, k: int) -> "KeptSamples":
        """Some of the samples of a fit of k clusters, at random; those of the summary, if any."""
        data, n = rows.data, rows.data.shape[0]
        if rows.summary is not None:
            block = rows.summary.rows()
            return cls(block.X, block.weight[:, 0], rows.scale, len(block.weight) / n)
        size = KEPT_ENTRIES * n // max(data.n_stored, 1)
        size = min(max(size, KEPT_PER_CLUSTER * k), MOST_KEPT, n)
        some = np.arange(n)
        if size < n:
            rng = np.random.default_rng((KEPT_STREAM, n))
            if isinstance(data, OnDisk):
                first = np.linspace(0, n - size // RUNS_ON_DISK, RUNS_ON_DISK).astype(int)
                some = np.unique(first[:, None] + np.arange(size // RUNS_ON_DISK))
            else:
                some = np.sort(rng.choice(n, size, replace=False))
        weight = np.ones(len(some)) if rows.weight is None else np.asarray(rows.weight)[some]
        return cls(data.take(some).X, weight, rows.scale, len(some) / n)

    def distinct(self) -> tuple[Matrix, Array]:
        """Each sample once, in an order of its own, and the weights of all that are equal.

        So a sample of weight 2 says what two equal samples say, wherever they are, and the order is
        the same for an array and a CSR matrix, in either precision, times any power of two.
        """
        X: Matrix = sp.csr_array(self.X) if sp.issparse(self.X) else np.ascontiguousarray(self.X)
        if sp.issparse(X):
            X.sum_duplicates()
            X.eliminate_zeros()
        largest = np.nanmax(np.abs(X.data if sp.issparse(X) else X), initial=0)
        unit = 2.0 ** -float(np.frexp(largest)[1])
        numbers: dict[bytes, int] = {}
        weight = np.zeros(X.shape[0])
        for i in np.flatnonzero(self.weight > 0).tolist():
            weight[numbers.setdefault(_content(X, i, unit), i)] += self.weight[i]
        first = [numbers[key] for key in sorted(numbers)]
        return X[first], weight[first]


def _content(X: Matrix, i: int, unit: float) -> bytes:
    """Row i of X as bytes: its columns and its values in units of `1 / unit`."""
    if sp.issparse(X):
        own = slice(X.indptr[i], X.indptr[i + 1])
        columns, values = X.indices[own], X.data[own]
    else:
        columns = np.flatnonzero(X[i])
        values = X[i, columns]
    return bytes(columns.astype(np.int64).tobytes() + (values.astype(np.float64) * unit).tobytes())


def learnt(model: Any, name: str) -> Array:
    """An attribute that is learnt from the kept samples, unless the model has it already."""
    if name in vars(model):
        return np.asarray(getattr(model, name))
    if "_kept" not in vars(model):
        raise ValueError(
            f"this {type(model).__name__} was saved without what it needs to say that: fit again."
        )
    W, kept = model.rays_, model._kept
    if kept.learnt is None or not np.array_equal(kept.learnt[0], W):
        kept.learnt = W.copy(), {}
    facts = kept.learnt[1]
    if name not in facts:
        with single_threaded_blas():
            facts |= learn(model, name)
    return facts[name]


def learn(model: Any, name: str) -> dict[str, Array]:
    """The attribute, and what comes with it, from the kept samples."""
    (X, weight), scale = model._kept.distinct(), model._kept.scale
    data, W, loss = InMemory(X, n_missing=count_missing(X)), model.rays_, model._loss
    codes, _ = data.sweep(model._limited(model._assignment(data, scale), scale))
    rays = data.gather(data.map_blocks(rays_of, codes))
    if name in OF_UNUSUAL:
        influence = weight * loss.sampling_weight(X)
        own = np.bincount(np.maximum(rays, 0), influence * (rays >= 0), len(W))[rays]
        share = model._kept.part * influence / divisor(own)
        return learn_unusual(X, weight, rays, share, W, loss)
    fit = SimpleNamespace(
        labels_=np.append(model.cluster_of_ray_, -1)[rays],
        cluster_centers_=model.cluster_centers_,
        rays_=W,
        cluster_of_ray_=model.cluster_of_ray_,
        loss=model.loss,
    )
    fit_: Any = fit
    return {name: curve_of_samples(fit_, X, weight).array()}


def learn_all(model: Any) -> dict[str, Array]:
    """All that can be learnt: a model is saved all the same if something cannot."""
    facts = {}
    for name in LEARNT:
        try:
            facts[name] = learnt(model, name)
        except Exception:  # a numerical failure of what only describes the fit
            continue
    return facts
