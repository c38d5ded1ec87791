"""What is explained: the clusters of a model as plain values, and whether X belongs to them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from onmf.losses import Loss, loss_of
from onmf.rows.sweep import Array

STRAY = 0.01  # of the samples may have another label: near ties, on rows kept elsewhere


class LabelledRays(Protocol):
    """What must be known of a fitted model: its labels, its centroids, and how it labels others."""

    labels_: Any
    cluster_centers_: Any

    def predict(self, X: Any) -> Any: ...


class KnownClusters(NamedTuple):
    """What is to be explained, read off a model once.

    sizes : samples of each cluster.
    ids : what the clusters are called.
    names : of the features.
    """

    labels: Array
    centers: Array
    sizes: Array
    ids: list[Any]
    names: list[str]
    loss: Loss
    equal_votes: bool

    @classmethod
    def of(cls, model: LabelledRays, ids: Sequence[Any], features: Sequence[Any] | None) -> Self:
        labels, W = np.asarray(model.labels_), np.asarray(model.cluster_centers_)
        return cls(
            labels,
            W,
            np.bincount(labels[labels >= 0], minlength=len(W)),
            list(ids),
            feature_names(features, W.shape[1]),
            loss_of(model),
            getattr(model, "equal_votes", False),
        )


def feature_names(features: Any, m: int) -> list[str]:
    if features is None:
        return [f"x{j}" for j in range(m)]
    names = [str(name) for name in features]
    if len(names) != m:
        raise ValueError(f"{len(names)} names for {m} features: give one for each.")
    return names


def check_groups(sizes: Array) -> None:
    if np.sum(sizes > 0) < 2:
        raise ValueError(
            "a cluster is compared with the others, but only one has samples: two are needed."
        )


def check_fitted_to(model: LabelledRays, X: Any, shape: tuple[int, int]) -> None:
    """The labels of the model are those of X, up to a few near ties."""
    n, m = shape
    if m != model.cluster_centers_.shape[1]:
        raise ValueError(
            f"X has {m} features but the model was fitted to {model.cluster_centers_.shape[1]}: "
            "give the X that it was fitted to."
        )
    moved = int(np.sum(np.asarray(model.predict(X)) != model.labels_))
    if moved > getattr(model, "n_disagreements_", 0) + STRAY * n:
        raise ValueError(
            f"{moved} of {n} samples of X have another cluster than the model found: give the X "
            "that it was fitted to."
        )
