"""Values of parameters and attributes as JSON, and back.

Numbers, text, None, lists, tuples, penalty and solver objects; what JSON has no word for is an
object with one key that says what it is.
"""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from onmf.estimators.solvers import SOLVERS
from onmf.palm.penalties import PENALTY_CLASSES

NOT_NUMBERS = ("penalty", "center_bounds")  # of the parameters of solvers
STORED_PENALTIES: dict[str, Any] = {kind.__name__: kind for kind in PENALTY_CLASSES}
NOT_FINITE = {"inf", "-inf", "nan"}  # JSON has no words for them


def encode(value: Any) -> Any:
    """The value as JSON; TypeError if only Python could store it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [encode(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(part) for part in value]}
    if type(value) in STORED_PENALTIES.values():
        return {"penalty": type(value).__name__, "settings": encode_all(asdict(value))}
    if type(value) in SOLVERS.values():
        return {"solver": value.name, "settings": encode_all(value.get_params(deep=False))}
    raise TypeError(f"{type(value).__name__} cannot be stored")


def encode_all(values: dict[str, Any]) -> dict[str, Any]:
    return {name: encode(value) for name, value in values.items()}


def decode(value: Any) -> Any:
    """What `encode` was given; ValueError if it cannot have been given that."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [decode(part) for part in value]
    match value:
        case {"tuple": list(parts), **rest} if not rest:
            return tuple(decode(part) for part in parts)
        case {"float": str(name), **rest} if not rest and name in NOT_FINITE:
            return float(name)
        case {"penalty": str(name), "settings": dict(settings), **rest} if not rest:
            return penalty(name, settings)
        case {"solver": str(name), "settings": dict(settings), **rest} if not rest:
            return solver(name, settings)
    raise ValueError("its header has a value of an unknown kind.")


def solver(name: str, settings: dict[str, Any]) -> Any:
    known = {key: decode(value) for key, value in settings.items()}
    others = {name: value for name, value in known.items() if name not in NOT_NUMBERS}
    plain = all(value is None or type(value) in (int, float, bool) for value in others.values())
    if name not in SOLVERS or not plain:
        raise ValueError(f"its solver {name!r} is unknown.")
    try:
        return SOLVERS[name](**known)
    except TypeError as error:
        raise ValueError(f"its solver {name!r} has other settings.") from error


def penalty(name: str, settings: dict[str, Any]) -> Any:
    numbers = all(type(value) in (int, float) for value in settings.values())
    if name not in STORED_PENALTIES or not numbers:
        raise ValueError(f"its penalty {name!r} is unknown.")
    try:
        return STORED_PENALTIES[name](**settings)
    except TypeError as error:
        raise ValueError(f"its penalty {name!r} has other settings.") from error
