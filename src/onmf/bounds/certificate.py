"""A clustering beside the best possible one: its error, a bound of all errors, and the gap."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from onmf.bounds.exact import CLOSE, best_partition
from onmf.bounds.relaxation import relaxed_floors
from onmf.bounds.spectral import THOROUGH, LowerBound, gap_between, gram_of_samples, spectral_bound
from onmf.losses import loss_of
from onmf.rows import Check, PlacementRequest, place
from onmf.rows.sweep import Array, Data
from onmf.rows.threads import single_threaded_blas
from onmf.rows.validation import safe_scale

EFFORTS = ("quick", "tight", "exact")
FEW = 60  # samples up to which "exact" tries all clusterings
ALIKE = 1e-8  # a gap below this is none: the digits do not tell

Progress = Callable[[str], object]


class FittedClusters(Protocol):
    """What must be known of a fitted model."""

    cluster_centers_: Any

    def predict(self, X: Any) -> Any: ...
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float: ...


class FittedFactors(Protocol):
    """What a fit leaves of its factors; `bound_` and `gap_` it may have besides."""

    cluster_centers_: Any
    relative_error_: float


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
        "spectral", "relaxation", "search" (broken off), or "exact": the bound is then the best
        error itself, to its last digits.
    n_clusters : int
    seconds : float

    Examples
    --------
    >>> from onmf.bounds import Certificate
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

    def record(self) -> dict[str, Any]:
        """The bound and what it says, as JSON."""
        names = ("bound", "gap", "doubt", "method")
        return {name: getattr(self, name) for name in names} | {"sentence": str(self)}


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
        The samples, of which "tight" takes 500 at a time into memory.
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
    >>> X, _ = make_rays(24, 8, 3, noise=0.5, random_state=0)
    >>> model = ONMF(n_clusters=3, random_state=0).fit(X)
    >>> certify(model, X).bound <= certify(model, X, effort="tight").bound <= model.relative_error_
    True
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, not {effort!r}.")
    if "bound" not in (loss := loss_of(model)).supports:
        raise ValueError(
            f"certify bounds squared errors, not the {loss.words.loss}: fit with loss='frobenius'."
        )
    begin = time.monotonic()
    error = max(1 - model.score(X, sample_weight=sample_weight), 0.0)
    check = Check("onmf.certify", signed=True, allow_missing=True)
    rows = place(X, sample_weight, PlacementRequest(check, safe_scale))
    if rows.data.n_missing:
        raise ValueError(
            f"X has {rows.data.n_missing} NaN: certify needs complete samples. Drop or fill the "
            "samples with NaN, and certify a fit to the others."
        )
    data = rows.data.one_vote_each() if getattr(model, "equal_votes", False) else rows.data
    W = np.asarray(model.cluster_centers_, np.float64)
    best, enough = None, 0.0 if effort == "exact" else gap

    def go_on(share: float = 1.0) -> bool:
        return time.monotonic() - begin < share * seconds and (best is None or best.gap > enough)

    try:
        with single_threaded_blas():
            for floor, method in _floors(model, X, data, W, effort, random_state, go_on):
                if best is None or floor.bound > best.bound or method == "exact":
                    spent = time.monotonic() - begin
                    best = _certificate(error, floor, method, len(W), spent)
                    if progress is not None:
                        progress(f"{method}: {best}")
    except KeyboardInterrupt:
        if best is None:
            raise
    if best is None:
        raise AssertionError("the spectrum gives a bound")
    return best


def certificate_of_fit(model: FittedFactors) -> Certificate | None:
    """What a fit found out by itself, in `bound_` and `gap_`, if it did."""
    bound, gap = getattr(model, "bound_", None), getattr(model, "gap_", None)
    if bound is None or gap is None:
        return None
    k = len(model.cluster_centers_)
    return Certificate(float(model.relative_error_), bound, gap, 0.0, "spectral", k, 0.0)


def _certificate(
    error: float, floor: LowerBound, method: str, k: int, seconds: float
) -> Certificate:
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
) -> Iterator[tuple[LowerBound, str]]:
    """Bounds, ever better ones, as far as the effort goes."""
    powers = {} if effort == "quick" else {"powers": THOROUGH}
    yield spectral_bound(data, W, seed, **powers), "spectral"
    if effort == "quick" or not go_on():
        return
    data, n, labels = data.with_larger_blocks(), data.shape[0], np.asarray(model.predict(X))
    for bound in relaxed_floors(data, labels, len(W), go_on):
        yield LowerBound(bound, 0.0), "relaxation"
    if effort == "exact" and n <= FEW and go_on():
        gram = gram_of_samples(data.take(np.arange(n)))
        left, found = best_partition(gram, np.maximum(labels, 0), len(W), go_on)
        least = max(left / float(np.trace(gram)) - n * CLOSE, 0.0)
        yield LowerBound(least, 0.0), "exact" if found is not None else "search"
