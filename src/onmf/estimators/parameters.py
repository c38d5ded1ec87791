"""Parameters are what they should be, each in a sentence if not."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from onmf.core.fast.outliers import Outliers
from onmf.core.paper.palm import Bounds
from onmf.core.rows import Data
from onmf.io.table import listing

CenterBounds = Any  # "data", or (lower, upper), None for no bound


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


def check_flag(value: Any, name: str) -> None:
    """`value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}.")


def as_outliers(value: Any) -> Outliers | None:
    """What `outliers` asks for: None, "auto", a share of the samples or a number of them."""
    if value is None:
        return None
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


def check_bounds(center_bounds: CenterBounds) -> None:
    """Bounds between which there are centroids for data that are not all negative."""
    problem = (
        "center_bounds must be 'data' or a pair (lower, upper) of numbers or None with "
        f"lower < upper and upper > 0, not {center_bounds!r}."
    )
    if isinstance(center_bounds, str):
        if center_bounds != "data":
            raise ValueError(problem)
        return
    try:
        lower, upper = center_bounds
    except (TypeError, ValueError):
        raise ValueError(problem) from None
    low: Any = -np.inf if lower is None else lower
    high: Any = np.inf if upper is None else upper
    if not (isinstance(low, Real) and isinstance(high, Real) and low < high and float(high) > 0):
        raise ValueError(problem)


def allows_signs(center_bounds: CenterBounds) -> bool:
    """Bounds that let centroids, hence data, be negative."""
    if isinstance(center_bounds, str):
        return center_bounds == "data"
    return center_bounds[0] is None or center_bounds[0] < 0


def bounds_for(center_bounds: CenterBounds, data: Data) -> Bounds:
    """The bounds on the centroids of these data; "data": their smallest and largest entry."""
    if isinstance(center_bounds, str):
        return Bounds(*data.extremes)
    lower, upper = center_bounds
    return Bounds(
        -np.inf if lower is None else float(lower), np.inf if upper is None else float(upper)
    )


def without_none(**parameters: Any) -> dict[str, Any]:
    """Those that are not None; the solver's own defaults stand for the rest."""
    return {name: value for name, value in parameters.items() if value is not None}
