"""Exact alternation, or weighted spherical K-means.

    label_i = argmax_k <w_k, x_i> / ||w_k||,      w_k = leading right singular vector of its samples

A ray takes one step towards its singular vector while samples still move, so that both halves
share one sweep, and goes all the way once they have settled: see `core.finish`, which the default
solver ends with as well. The error never rises, and an empty cluster is filled at once.
"""

from typing import Any

from numpy.typing import NDArray

from onmf.baselines.iterate import MAX_ITER, TOL, Start, quiet
from onmf.core.fast.settle import settle
from onmf.core.fast.solver import Books
from onmf.core.paper.palm import NON_NEGATIVE
from onmf.core.result import Factorization, Watch
from onmf.core.rows import Data

Array = NDArray[Any]


def alternation(
    data: Data, start: Start, *, tol: float = TOL, max_iter: int = MAX_ITER, watch: Watch = quiet
) -> Factorization:
    """From the centroids of the start, until no label changes and the rays move less than `tol`."""
    books = Books(data, len(start.W), max_iter, watch)
    return books.close(settle(data, start.W, NON_NEGATIVE, tol, max_iter, books.enter))
