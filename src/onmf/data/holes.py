"""What is not observed, as the centroids of a model have it: for whoever needs a full matrix."""

from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.core.holes import Fill
from onmf.core.rows import count_holes
from onmf.io import Source


def fill_holes(X: Any, W: NDArray[Any]) -> Any:
    """X with every NaN replaced by h w, the multiple of its nearest centroid that fits a sample.

    An array or CSR matrix is copied if it has any; rows on disk are filled as they are read.
    """
    if isinstance(X, Source):
        return X.changed(Fill.by(W.astype(X.dtype, copy=False)))
    if not count_holes(X):
        return X
    return Fill.by(W.astype(X.dtype, copy=False))(sp.csr_array(X) if sp.issparse(X) else X)
