"""A clustering beside the best possible one: its error, a bound of all errors, and the gap."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from onmf.core.fast.bound import THOROUGH, Floor, gap_between, gram_of_samples, spectral_floor
from onmf.core.rows import Array, Data
from onmf.core.threads import single_threaded_blas
from onmf.data import Check, Terms, place
from onmf.data.validation import power_of_two
from onmf.proof.exact import best_partition
from onmf.proof.relaxation import relaxed_floors

EFFORTS = ("quick", "tight", "exact")
FEW = 60  # samples up to which "exact" tries all clusterings
ALIKE = 1e-9  # a gap below this is none: the digits do not tell

Progress = Callable[[str], object]


class FittedClusters(Protocol):
    """What must be known of a fitted model."""

    cluster_centers_: Any

    def predict(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float: ...


@dataclass(frozen=True)
class Certificate:
    """What `onmf.certify` found.

    Attributes
    ----------
    error : float
        Relative error of the clustering.
    bound : float
        No clustering into as many rays has a lower one.
    gap : float
        (error - bound) / error: by this share, at most, another clustering can be better.
    doubt : float
        The probability, over the random numbers of the method, that the bound does not hold: 0 or
        a millionth.
    method : str
        "spectral", "relaxation", or "exact", which says that the bound is the best error itself.
    n_clusters : int
    seconds : float

    Examples
    --------
    >>> from onmf.proof import Certificate
    >>> print(Certificate(0.5, 0.49, 0.02, 0.0, "relaxation", 10, 1.0))
    proved: no clustering into 10 rays has an error lower by more than 2 %
    """

    error: float
    bound: float
    gap: float
    doubt: float
    method: str
    n_clusters: int
    seconds: float

    def __str__(self) -> str:
        chance = " (but for a chance of one in a million)" if self.doubt else ""
        if self.gap <= ALIKE:
            return f"proved{chance}: no clustering into {self.n_clusters} rays has a lower error"
        return (
            f"proved{chance}: no clustering into {self.n_clusters} rays has an error lower by more "
            f"than {round_up(100 * self.gap)} %"
        )


def round_up(x: float) -> str:
    """At least x, in two digits: what is told must be true."""
    unit = 10.0 ** (np.floor(np.log10(x)) - 1)
    return f"{np.ceil(round(x / unit, 9)) * unit:.2g}"


def certify(
    model: FittedClusters,
    X: Any,
    *,
    sample_weight: ArrayLike | None = None,
    effort: str = "quick",
    seconds: float = 120.0,
    gap: float = 1e-4,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """How much lower the error of another clustering into as many rays could be, at most.

    "quick" takes the spectrum of X: a clustering into K rays is an approximation of rank K. "tight"
    goes on with the doubly non-negative relaxation, in parts of 500 samples, which is far better
    where clusters share directions (images, expression). "exact" then tries all clusterings that
    could be better, for up to 60 samples. Ctrl-C ends it with the best bound so far.

    Parameters
    ----------
    model : fitted clusterer
        As `onmf.ONMF` or `onmf.Baseline`.
    X : as for `fit`
        The samples; "tight" and "exact" take them into memory.
    sample_weight : array of shape (n_samples,), optional
    effort : {"quick", "tight", "exact"}, default="quick"
    seconds : float, default=120
        Time after which no better bound is sought.
    gap : float, default=1e-4
        Gap that is small enough, but for "exact".
    random_state : int, default=0
        Of the probes of "quick".
    progress : callable, optional
        Called with a sentence after each better bound.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from onmf import ONMF, certify
    >>> from onmf.datasets import make_rays
    >>> X, _ = make_rays(60, 8, 3, noise=0.5, random_state=0)
    >>> model = ONMF(n_clusters=3, random_state=0).fit(X)
    >>> certify(model, X).bound <= certify(model, X, effort="tight").bound <= model.relative_error_
    True
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, not {effort!r}.")
    begin = time.monotonic()
    error = max(1 - model.score(X, sample_weight=sample_weight), 0.0)
    rows = place(X, sample_weight, Terms(Check("onmf.certify", signed=True), power_of_two))
    data = rows.data.one_vote_each() if getattr(model, "equal_votes", False) else rows.data
    W = np.asarray(model.cluster_centers_, np.float64)
    best = Certificate(error, 0.0, 1.0, 0.0, "spectral", len(W), 0.0)

    enough = 0.0 if effort == "exact" else gap

    def go_on(share: float = 1.0) -> bool:
        return time.monotonic() - begin < share * seconds and best.gap > enough

    try:
        with single_threaded_blas():
            for floor, method in _floors(model, X, data, W, effort, random_state, go_on):
                if floor.bound > best.bound or method == "exact" or best.seconds == 0:
                    spent = time.monotonic() - begin
                    best = _certificate(error, floor, method, len(W), spent)
                    if progress is not None:
                        progress(f"{method}: {best}")
    except KeyboardInterrupt:
        if best.seconds == 0:
            raise
    return best


def _certificate(error: float, floor: Floor, method: str, k: int, seconds: float) -> Certificate:
    bound = min(floor.bound, error)  # the digits of the error are no better than its own
    return Certificate(error, bound, gap_between(error, bound), floor.doubt, method, k, seconds)


def _floors(
    model: FittedClusters,
    X: Any,
    data: Data,
    W: Array,
    effort: str,
    seed: int,
    go_on: Callable[..., bool],
) -> Iterator[tuple[Floor, str]]:
    """Bounds, ever better ones, as far as the effort goes."""
    powers = {} if effort == "quick" else {"powers": THOROUGH}
    yield spectral_floor(data, W, seed, **powers), "spectral"
    if effort == "quick" or not go_on():
        return
    labels, everything = np.asarray(model.predict(X)), data.wide().take(np.arange(data.shape[0]))
    for bound in relaxed_floors(everything, labels, len(W), go_on):
        yield Floor(bound, 0.0), "relaxation"
    if effort == "exact" and data.shape[0] <= FEW and go_on():
        gram = gram_of_samples(everything)
        left, found = best_partition(gram, np.maximum(labels, 0), len(W), go_on)
        whole = float(np.trace(gram))
        yield Floor(left / whole if whole else 0.0, 0.0), "exact" if found is not None else "search"
