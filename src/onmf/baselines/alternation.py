"""Exact alternation, or weighted spherical K-means.

    label_i = argmax_k <w_k, x_i> / ||w_k||,      w_k = leading right singular vector of its samples

A ray takes one step towards its singular vector while samples still move, so that both halves
share one sweep, and goes all the way once they have settled. That takes some more sweeps than
iterations of an alternation that finds the singular vectors each time: see `losses.squares`,
with which the default solver ends as well. The error never rises, and an empty cluster is filled
at once.
"""

from onmf.baselines.iterate import MAX_ITER, TOL, Start
from onmf.losses.ray_alternation import RayAlternation
from onmf.losses.settling import finish
from onmf.result import Factorization, Recorder, Watch, unwatched
from onmf.rows.sweep import Data
from onmf.search.starts import Settings


def alternation(
    data: Data,
    start: Start,
    *,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    watch: Watch = unwatched,
) -> Factorization:
    """From the centroids of the start, until no label changes and the rays move less than `tol`."""
    alternate = RayAlternation(data, Settings(tol=tol))
    return finish(alternate, [start.W], Recorder(watch, max_iter))[0]
