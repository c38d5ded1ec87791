"""The default solver under squares: sketch, follow the growing penalty, swap, alternate.

1. `sketch`: three sweeps give a small basis V and the samples Y = XV in it.
2. `solver`: from several starts, the paper's growing penalty on rows of Y, then swaps. No sweep.
3. `ray_alternation`: the exact alternation on X from the rays found, to a fixed point.

Nothing depends on the scale of X, the number of sweeps has a known limit, no cluster stays empty.
"""

from functools import partial

import numpy as np

from onmf.losses.alternation import finish, nothing_yet
from onmf.losses.ray_alternation import RayAlternation, RayState
from onmf.paper.penalties import RowPenalty
from onmf.result import (
    NO_CHECKPOINT,
    CheckpointStore,
    Factorization,
    Recorder,
    Stage,
    Watch,
    gram_orthogonality,
    unwatched,
)
from onmf.rows.sweep import Array, Data, Traffic
from onmf.search.outlier_rows import with_samples
from onmf.search.outliers import LimitUpdate, OutlierLimit
from onmf.search.path import Point
from onmf.search.refit import refit_from
from onmf.search.row_problems import unit
from onmf.search.sketch import PLAIN, ROBUST, Sketch, sketch
from onmf.search.solver import Descent, Fast, descents


def cluster(
    settings: Fast,
    data: Data,
    k: int,
    penalty: RowPenalty,
    seed: int,
    given: Array | None = None,
    watch: Watch = unwatched,
    checkpoints: CheckpointStore = NO_CHECKPOINT,
    old: Array | None = None,
) -> tuple[Factorization, RayState]:
    """K clusters of the rows of `data`, and the state behind them.

    `given` centroids (k, m) are followed down the path and not searched around: they keep their
    ids; `old` ones, however many, move no more than they must. A journal is gone on from.
    """
    recorder = Recorder(watch, settings.max_sweeps, checkpoints=checkpoints)
    if noted := recorder.recall("settle"):
        Ws, since = [noted["W"], *noted["rivals"]], RayState.from_facts(noted)
        return finish(settle_rule(settings, data, since.limit), Ws, recorder, since)

    rng = np.random.default_rng(seed)
    tell = partial(recorder.tell, membership=nothing_yet(data, k, data.row_sqnorms))
    pains = PLAIN if settings.outliers is None else ROBUST
    small = sketch(data, k, rng, settings.max_sweeps, tell, checkpoints, pains)
    if settings.outliers is not None:
        small = small._replace(Y=with_samples(data, small))
    if old is None:
        ends = descents(settings, data.shape, small, k, penalty, rng, given)
    else:
        found, end = refit_from(small.Y, unit(small.lower(old.astype(np.float64))), k, rng)
        ends = [Descent(found, [end])]
    recorder.history += [path_stage(point, small, data.traffic) for point in ends[0].path]
    Ws = [small.lift(end.found.U, settings.bounds, data.dtype) for end in ends]
    return finish(settle_rule(settings, data, ends[0].limit), Ws, recorder)


def path_stage(point: Point, small: Sketch, traffic: Traffic) -> Stage:
    """A row of the history: the path, as the rows it works on see it."""
    return Stage(
        rho=point.tau,
        sweeps=small.sweeps,
        relative_error=min(max(1 - small.share * (1 - point.error), 0.0), 1.0),
        penalty=point.overlap,
        orthogonality=gram_orthogonality(point.gram),
        residual=point.moved,
        empty_clusters=int(np.sum(point.gram.diagonal() == 0)),
        sent=traffic.sent,
        received=traffic.received,
    )


def settle_rule(settings: Fast, data: Data, limit: OutlierLimit | None = None) -> RayAlternation:
    """The exact alternation with these settings."""
    trim = None if settings.outliers is None else LimitUpdate.of(data, settings.outliers)
    return RayAlternation(data, settings.bounds, settings.tol, limit, trim)
