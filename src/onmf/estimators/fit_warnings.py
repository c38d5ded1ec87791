"""What a fit warns of."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.estimators.fitting import Solution
from onmf.estimators.progress import caller_level
from onmf.exceptions import (
    ConvergenceWarning,
    EmptyClusterWarning,
    UnassignedSampleWarning,
    UnobservedWarning,
)
from onmf.rows import Placement
from onmf.rows.sweep import Array
from onmf.rows.table import MOST_LISTED, listing

REASONS_NOT_CONVERGED = {
    "max_iter": "within max_iter={iterations} {unit}: raise max_iter, or loosen tol",
    "summary": "on the summary of X: raise max_iter, or loosen tol",
    "max_stages": "in {stages} stages of the growing penalty: raise growth or tol",
}


def warn_of(model: Any, solution: Solution, rows: Placement) -> None:
    """Samples without a cluster, clusters without samples, and a fit that did not converge."""
    level = caller_level()
    labels = getattr(model, "labels_", np.arange(len(model.cluster_centers_)))
    near = True if solution.beyond is None else ~solution.beyond  # outliers were asked for
    missing = np.flatnonzero((labels < 0) & near)
    best, unobserved = solution.result, solution.unobserved
    if unobserved is not None and len(missing) + len(unobserved):
        warnings.warn(unobserved_sentence(missing, unobserved), UnobservedWarning, level)
    elif len(missing):
        warnings.warn(
            unassigned_sentence(model, rows, missing), UnassignedSampleWarning, stacklevel=level
        )
    empty = len(model.cluster_centers_) - len(np.unique(labels[labels >= 0]))
    if empty:
        warnings.warn(model._why_empty(empty), EmptyClusterWarning, stacklevel=level)
    # An empty cluster alone keeps the paper's orthogonality too large.
    if best.stop in ("max_iter", "summary") or (best.stop == "max_stages" and not empty):
        reason = REASONS_NOT_CONVERGED[best.stop].format(
            iterations=model.max_iter or best.iterations,
            unit=model._unit,
            stages=len(best.history),
        )
        warnings.warn(
            f"{type(model).__name__} did not converge {reason} (orthogonality "
            f"{best.history[-1].orthogonality:.2g}, residual {best.history[-1].residual:.2g}).",
            ConvergenceWarning,
            stacklevel=level,
        )


def unassigned_sentence(model: Any, rows: Placement, samples: Array) -> str:
    """What to say of samples that have a positive cosine with no centroid."""
    X = rows.data.take(samples[:MOST_LISTED]).X
    there = np.unique((X if sp.issparse(X) else sp.csr_array(X)).nonzero()[1])
    if model.cluster_centers_[:, there].any():  # of negative entries, there or here
        return (
            f"{len(samples)} sample(s) are all zero or 90 degrees or more from every centroid and "
            f"have label -1: {listing(samples)}."
        )
    names = None if rows.features is None else rows.features.names
    shown = there if names is None else [repr(names[j]) for j in there[: MOST_LISTED + 1]]
    own = f" (no centroid has their feature(s) {listing(shown, len(there))})" if len(there) else ""
    return (
        f"{len(samples)} sample(s) are all zero or share no feature with any cluster and have "
        f"label -1: {listing(samples)}{own}."
    )


def unobserved_sentence(samples: Array, features: Array) -> str:
    """What to say of samples without a cluster and features without a sample, where X has NaN."""
    parts = []
    if len(samples):
        parts.append(
            f"{len(samples)} sample(s) show nothing that a cluster explains and have label -1: "
            f"{listing(samples)}"
        )
    if len(features):
        parts.append(
            f"{len(features)} feature(s) are observed in no sample that has a cluster and are left "
            f"out, zero in every centroid: {listing(features)}"
        )
    return f"{'; '.join(parts)}."
