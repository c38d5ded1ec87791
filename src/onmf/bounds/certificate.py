"""How much better another clustering could be: error, lower bound of all errors, and gap."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onmf.bounds.exact import MIN_GAIN, best_partition
from onmf.bounds.relaxation import relaxed_bounds
from onmf.bounds.spectral import (
    QUICK_POWERS,
    THOROUGH_POWERS,
    LowerBound,
    gap_between,
    gram_of_samples,
    spectral_bound,
    weight_rounding,
)
from onmf.losses import loss_of
from onmf.losses.support import refusal
from onmf.result import FittedModel, html_table
from onmf.rows import Check, PlacementRequest, place
from onmf.rows.scale import safe_scale
from onmf.rows.sweep import Data
from onmf.rows.threads import single_threaded_blas

EFFORTS = ("quick", "tight", "exact")
MAX_EXACT_SAMPLES = 60  # up to which "exact" tries all clusterings
LARGEST_USEFUL_GAP = 0.25  # beyond it, a bound says nothing about the clusters found
NO_GAP = 1e-8  # a gap below this is rounding

Progress = Callable[[str], object]


@dataclass(frozen=True)
class Certificate:
    """The result of `onmf.certify`.

    Attributes
    ----------
    error : float
        Relative error of the clustering.
    bound : float
        No clustering into as many rays has a lower one.
    gap : float
        (error - bound) / error: the most by which another clustering can be better.
    doubt : float
        The probability, over the random numbers of the method, that the bound does not hold: 0 or
        1e-6.
    method : str
        "spectral", "relaxation", "search" (stopped early), or "exact": the bound is then the
        lowest error itself, to its last digits.
    n_clusters : int
    seconds : float

    Examples
    --------
    >>> from onmf.bounds import Certificate
    >>> print(Certificate(0.5, 0.49, 0.02, 0.0, "relaxation", 10, 1.0))
    proved: no clustering into 10 clusters has an error lower by more than 2 %
    """

    error: float
    bound: float
    gap: float
    doubt: float
    method: str
    n_clusters: int
    seconds: float

    def __str__(self) -> str:
        chance = " (with probability 0.999999)" if self.doubt else ""
        others = f"no clustering into {self.n_clusters} clusters has"
        if self.gap <= NO_GAP:
            return f"proved{chance}: {others} a lower error"
        if self.gap > LARGEST_USEFUL_GAP:
            percent = min(round(100 * self.gap), 100)
            more = ": onmf.certify(model, X, effort='tight') may prove more"
            return (
                f"no bound is given: the {self.method} one leaves {percent} % of the error open"
                f"{more if self.method == 'spectral' else ''}"
            )
        return f"proved{chance}: {others} an error lower by more than {round_up(100 * self.gap)} %"

    def _repr_html_(self) -> str:
        """The sentence and its numbers in a notebook."""
        shown = (f"{value:.4g}" for value in (self.error, self.bound, self.gap, self.doubt))
        header = ("relative error", "bound", "gap", "doubt", "method", "clusters", "seconds")
        row = (*shown, self.method, self.n_clusters, f"{self.seconds:.1f}")
        return html_table(header, [row], str(self))

    def record(self) -> dict[str, Any]:
        """The bound and its sentence, for JSON."""
        names = ("bound", "gap", "doubt", "method")
        return {name: getattr(self, name) for name in names} | {"sentence": str(self)}


def round_up(x: float) -> str:
    """x in two digits, rounded up so that the sentence is true."""
    unit = 10.0 ** (np.floor(np.log10(x)) - 1)
    return f"{np.ceil(round(x / unit, 9)) * unit:.2g}"


def certify(
    model: FittedModel,
    X: Any,
    *,
    sample_weight: ArrayLike | None = None,
    effort: str = "quick",
    seconds: float = 120.0,
    gap: float = 1e-4,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """The most by which the error of another clustering into as many rays could be lower.

    "quick" uses the spectrum of X: a clustering into K rays is an approximation of rank K. "tight"
    adds the doubly non-negative relaxation, in parts of 500 samples, which is far better where
    clusters are similar (images, expression). "exact" then tries all clusterings that could be
    better, for up to 60 samples. Ctrl-C stops it with the best bound so far.

    Parameters
    ----------
    model : fitted clusterer
        As `onmf.ONMF` or `onmf.Baseline`.
    X : as for `fit`
        The samples, of which "tight" takes 500 at a time into memory.
    sample_weight : array of shape (n_samples,), optional
    effort : {"quick", "tight", "exact"}, default="quick"
    seconds : float, default=120
        Time limit.
    gap : float, default=1e-4
        Stop at this gap; not used by "exact".
    random_state : int, default=0
        For the probes of "quick".
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
    if getattr(model, "outlier_limit_", None) is not None:
        raise ValueError(refusal(loss.name, loss.supports, "fast", {"bound", "outliers"}))
    begin = time.monotonic()
    error = max(1 - model.score(X, sample_weight=sample_weight), 0.0)
    check = Check("onmf.certify", signed=True, allow_missing=True)
    rows = place(X, sample_weight, PlacementRequest(check, safe_scale))
    if rows.data.n_missing:
        raise ValueError(
            f"X has {rows.data.n_missing} NaN: certify needs complete samples. Drop or fill the "
            "samples with NaN, and certify a fit to the others."
        )
    data = rows.data
    k, best, enough = len(model.cluster_centers_), None, 0.0 if effort == "exact" else gap

    def has_time(share: float = 1.0) -> bool:
        return time.monotonic() - begin < share * seconds and (best is None or best.gap > enough)

    try:
        with single_threaded_blas():
            for found, method in _bounds(model, X, data, effort, random_state, has_time):
                if best is None or found.bound > best.bound or method == "exact":
                    bound, spent = min(found.bound, error), time.monotonic() - begin
                    share = gap_between(error, bound)
                    best = Certificate(error, bound, share, found.doubt, method, k, spent)
                    if progress is not None:
                        progress(f"{method}: {best}")
    except KeyboardInterrupt:
        if best is None:
            raise
    if best is None:
        raise AssertionError("the spectrum gives a bound")
    return best


def certificate_of_fit(model: FittedModel) -> Certificate | None:
    """The bound that the fit computed itself, if it did."""
    bound, gap = getattr(model, "bound_", None), getattr(model, "gap_", None)
    if bound is None or gap is None:
        return None
    k = len(model.cluster_centers_)
    return Certificate(float(model.relative_error_), bound, gap, 0.0, "spectral", k, 0.0)


def _bounds(
    model: FittedModel,
    X: Any,
    data: Data,
    effort: str,
    seed: int,
    has_time: Callable[..., bool],
) -> Iterator[tuple[LowerBound, str]]:
    """Better and better bounds, with their methods."""
    W = np.asarray(model.cluster_centers_, np.float64)
    powers = QUICK_POWERS if effort == "quick" else THOROUGH_POWERS
    yield spectral_bound(data, W, seed, powers), "spectral"
    if effort == "quick" or not has_time():
        return
    data, n, labels = data.with_larger_blocks(), data.shape[0], np.asarray(model.predict(X))
    for bound in relaxed_bounds(data, labels, len(W), has_time):
        yield LowerBound(bound, 0.0), "relaxation"
    if effort == "exact" and n <= MAX_EXACT_SAMPLES and has_time():
        gram = gram_of_samples(data.take(np.arange(n)))
        left, found = best_partition(gram, np.maximum(labels, 0), len(W), has_time)
        left = left / float(np.trace(gram)) * weight_rounding(data)
        least = max(left - n * MIN_GAIN, 0.0)
        yield LowerBound(least, 0.0), "exact" if found is not None else "search"
