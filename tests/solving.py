"""Fits below the estimators, for tests."""

from onmf.search.solver import SearchSettings

from onmf.losses import LOSSES
from onmf.losses.alternation import Given, Settings
from onmf.losses.ray_alternation import RayAlternation
from onmf.losses.settling import fit
from onmf.palm.palm import NON_NEGATIVE
from onmf.palm.penalties import SNCP
from onmf.result import Recorder, unwatched


def cluster(
    search, data, k, penalty=None, seed=0, given=None, watch=unwatched,
    loss="frobenius", equal_votes=False,
):  # fmt: skip
    """The factors and the state of a fit by the default solver."""
    settings = Settings(search, SNCP() if penalty is None else penalty, equal_votes)
    recorder = Recorder(watch, search.max_sweeps)
    start = None if given is None else Given(given, is_model=False)
    return fit(LOSSES[loss].alternation(data, settings), k, seed, recorder, start)[:2]


def ray_alternation(data, tol=1e-5, bounds=NON_NEGATIVE, limit=None, outliers=None):
    """The alternation of squares on these rows."""
    search = SearchSettings(tol=tol, bounds=bounds, outliers=outliers)
    return RayAlternation(data, Settings(search, SNCP()), limit)
