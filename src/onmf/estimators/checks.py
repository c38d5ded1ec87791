"""The parameters of `ONMF`, one by one and together: each is refused in a sentence."""

from typing import Any

from onmf.core.paper.penalties import PENALTIES
from onmf.estimators.divergence import LOSSES
from onmf.estimators.parameters import (
    as_outliers,
    check_bounds,
    check_choice,
    check_flag,
    check_number,
)
from onmf.estimators.solvers import SOLVERS


def check_values(values: dict[str, Any]) -> None:
    """Those that `ONMF` has beyond every clusterer, by name."""
    check_choice(values["loss"], "loss", LOSSES)
    check_choice(values["solver"], "solver", list(SOLVERS))
    penalty = values["penalty"]
    if isinstance(penalty, str) or not hasattr(penalty, "step"):
        check_choice(penalty, "penalty", list(PENALTIES), " or a penalty object")
    if values["n_init"] != "auto":
        check_number(values["n_init"], "n_init", 1, whole=True)
    check_bounds(values["center_bounds"])
    for name in ("equal_votes", "accelerate"):
        check_flag(values[name], name)
    as_outliers(values["outliers"])
    if values["passes"] is not None:
        check_number(values["passes"], "passes", 1, whole=True)
    if values["growth"] is not None:
        check_number(values["growth"], "growth", 1, open_=True)
    for name in ("rho", "mu_h", "mu_w", "inner_tol"):
        if values[name] is not None:
            check_number(values[name], name, 0, open_=name == "rho")
    if values["max_clusters"] is not None:
        check_growing(values)


def check_growing(values: dict[str, Any]) -> None:
    """A stream whose clusters come and go."""
    check_number(values["max_clusters"], "max_clusters", values["n_clusters"] or 1, whole=True)
    others = {"outliers": values["outliers"] is not None, "loss='kl'": values["loss"] == "kl"}
    for other, there in others.items():
        if there:
            raise ValueError(f"max_clusters and {other} do not go together: leave one out.")
