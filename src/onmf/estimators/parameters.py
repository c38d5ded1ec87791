"""Parameters are what they should be, each in a sentence if not."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from onmf.estimators.bases import BaseEstimator
from onmf.estimators.initialization import is_model
from onmf.losses import LOSSES
from onmf.palm.palm import NON_NEGATIVE, Bounds
from onmf.palm.start import STARTS
from onmf.rows.table import listing
from onmf.search.outliers import Outliers

Init: TypeAlias = str | Path | ArrayLike | Sequence[Any] | Callable[..., Any] | BaseEstimator
RandomSeed: TypeAlias = int | np.random.RandomState | None
CenterBounds: TypeAlias = Literal["auto", "data"] | Sequence[float | None]  # None for no bound
BoundsOf = Callable[[tuple[float, float]], Bounds]  # smallest and largest entry of X -> bounds

CHOICES: dict[str, Sequence[str]] = {"loss": tuple(LOSSES)}
PARAMETER_NUMBERS: dict[str, dict[str, Any]] = {  # what `check_number` asks; None is a default
    "n_clusters": {"low": 1, "whole": True},
    "max_iter": {"low": 1, "whole": True},
    "tol": {"low": 0},
    "n_init": {"low": 1, "whole": True},
}


def check_parameters(values: dict[str, Any]) -> None:
    """Those of an estimator by name: each by itself; a subclass may have fewer."""
    for name, choices in CHOICES.items():
        if name in values:
            check_choice(values[name], name, choices)
    init = values.get("init")
    if isinstance(init, str) and not is_model(init):
        check_choice(init, "init", list(STARTS), ", centroids, a pair (H, W) or a callable")
    for name, rule in PARAMETER_NUMBERS.items():
        value = values.get(name)
        auto = name == "n_init" and isinstance(value, str) and value == "auto"
        if not (value is None or auto):
            check_number(value, name, **rule)
    callback = values.get("callback")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, not {callback!r}.")
    if values.get("outliers") is not None:
        as_outliers(values["outliers"])


def check_number(
    value: Any, name: str, low: float, *, whole: bool = False, open_: bool = False
) -> None:
    """`value` is a finite number >= low (> low if `open_`), whole if asked."""
    kind, words = (Integral, "a whole number") if whole else (Real, "a number")
    good = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < low or (open_ and value == low):
        relation = ">" if open_ else ">="
        raise ValueError(f"{name} must be {words} {relation} {low}, not {value!r}.")


def as_k_range(k_range: Iterable[int]) -> list[int]:
    """Numbers of clusters to try: increasing whole numbers >= 1, at least one."""
    ks = list(k_range)
    if not ks:
        raise ValueError("k_range is empty: give the numbers of clusters to try, as range(2, 11).")
    for k in ks:
        check_number(k, "k_range", 1, whole=True)
    if any(b <= a for a, b in pairwise(ks)):
        raise ValueError(f"k_range must increase, unlike {listing(ks)}: sort it and drop repeats.")
    return [int(k) for k in ks]


def check_choice(value: Any, name: str, choices: Sequence[str], otherwise: str = "") -> None:
    """`value` is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}{otherwise}, not {value!r}.")


def as_outliers(value: Any) -> Outliers:
    """What `outliers` asks for: "auto", a share of the samples or a number of them."""
    if isinstance(value, str) and value == "auto":
        return Outliers()
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
        return Outliers(count=int(value))
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) < 1:
        return Outliers(share=float(value))
    raise ValueError(
        "outliers must be None, 'auto', a share of the samples from 0 to below 1, or a whole "
        f"number of them, not {value!r}."
    )


def bounds_by_sign(extremes: tuple[float, float]) -> Bounds:
    """Non-negative centroids for X >= 0, free ones for data with negative entries.

    For X >= 0 the best centroids are non-negative in any case.
    """
    return NON_NEGATIVE if extremes[0] >= 0 else Bounds(-np.inf, np.inf)


def bounds_of_data(extremes: tuple[float, float]) -> Bounds:
    return Bounds(*extremes)


def fixed_bounds(bounds: Bounds, extremes: tuple[float, float]) -> Bounds:
    return bounds


def as_bounds(center_bounds: Any) -> BoundsOf:
    """The bounds on centroids, for data with given extremes."""
    if isinstance(center_bounds, str) and center_bounds in ("auto", "data"):
        return bounds_by_sign if center_bounds == "auto" else bounds_of_data
    try:
        lower, upper = center_bounds
        low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
        if isinstance(low, Real) and isinstance(high, Real) and low < high and float(high) > 0:
            return partial(fixed_bounds, Bounds(float(low), float(high)))
    except (TypeError, ValueError):
        pass
    raise ValueError(
        "center_bounds must be 'auto', 'data' or a pair (lower, upper) of numbers or None with "
        f"lower < upper and upper > 0, not {center_bounds!r}."
    )


def without_none(**parameters: Any) -> dict[str, Any]:
    """Those that are not None; the solver's own defaults stand for the rest."""
    return {name: value for name, value in parameters.items() if value is not None}
