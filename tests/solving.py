"""Fits below the estimators, for tests."""

from onmf.losses import LOSSES
from onmf.losses.ray_alternation import RayAlternation
from onmf.losses.settling import fit
from onmf.result import Recorder, unwatched
from onmf.search.starts import Settings


def cluster(settings, data, k, seed=0, given=None, watch=unwatched, loss="frobenius"):
    """The factors and the state of a fit by the default solver."""
    recorder = Recorder(watch, settings.max_sweeps)
    return fit(LOSSES[loss].alternation(data, settings), k, seed, recorder, given)[:2]


def ray_alternation(data, tol=1e-5, signed=False, outliers=None):
    """The alternation of squares on these rows."""
    return RayAlternation(data, Settings(tol=tol, signed=signed, outliers=outliers))
