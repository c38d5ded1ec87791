"""Whether X, labels and names belong together."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from onmf.result import FittedModel
from onmf.rows.sweep import Array

MAX_MOVED = 0.01  # share of the samples that may have another label: near ties, on other places


def check_names(features: Iterable[Any] | None, m: int) -> list[str]:
    """One name per feature; x0, x1, ... by default."""
    names = [f"x{j}" for j in range(m)] if features is None else [str(name) for name in features]
    if len(names) != m:
        raise ValueError(f"{len(names)} names for {m} features: give one for each.")
    return names


def has_groups(labels: Array) -> bool:
    """Whether two groups or more have samples."""
    inside = labels[labels >= 0]
    return len(inside) > 0 and bool(inside.min() < inside.max())


def check_groups(labels: Array) -> None:
    if not has_groups(labels):
        raise ValueError("only one cluster has samples: comparing clusters needs two.")


def check_fitted_to(model: FittedModel, X: Any) -> None:
    """The labels of the model are those of X, up to a few near ties."""
    n, moved = len(model.labels_), int(np.sum(np.asarray(model.predict(X)) != model.labels_))
    if is_other_data(model, moved):
        raise ValueError(
            f"{moved} of {n} samples of X have another cluster than in the model: give the X that "
            "it was fitted to."
        )


def is_other_data(model: FittedModel, moved: int) -> bool:
    """Whether so many samples with another label are too many."""
    return moved > getattr(model, "n_disagreements_", 0) + MAX_MOVED * len(model.labels_)
