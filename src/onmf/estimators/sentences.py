"""What is said of a fit that did not go as hoped."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onmf.io.table import listing

Array = NDArray[Any]

LIMITS = {
    "max_iter": "within max_iter={iterations} {unit}: raise max_iter, or loosen tol",
    "summary": "on the summary of X: raise max_iter, or loosen tol",
    "max_stages": "in {stages} stages of the growing penalty: raise growth or tol",
}


def why_unobserved(samples: Array, features: Array) -> str:
    """What to say of samples without a cluster and features without a sample, where X has NaN."""
    said = []
    if len(samples):
        said.append(
            f"{len(samples)} sample(s) show nothing that a cluster explains and have label -1: "
            f"{listing(samples)}"
        )
    if len(features):
        said.append(
            f"{len(features)} feature(s) are observed in no sample that has a cluster and are left "
            f"out, zero in every centroid: {listing(features)}"
        )
    return f"{'; '.join(said)}."


def check_digits(W: Array) -> Array:
    """The same, if finite and not so small that the digits by which samples are told apart go."""
    top = np.abs(W).max(axis=1)
    if not np.isfinite(top).all():
        raise ValueError(
            "the entries of X are too small or too large, or too far apart: divide each sample by "
            "its largest entry."
        )
    lost = np.flatnonzero((top > 0) & (top < np.finfo(W.dtype).tiny))
    if len(lost):
        raise ValueError(
            f"the samples of cluster(s) {listing(lost)} are too small or too large for {W.dtype} "
            f"(largest entry {top[lost[0]]:.3g}): multiply X by a number."
        )
    return W
