"""The model that a fit goes on from, with the features of the new samples.

    w_kj = w_kj of the old ray where feature j has the same name;    0 for a feature that is new

Features that the new samples lack are left out of the old rays.
"""

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onmf.data.validation import Features
from onmf.estimators.lineage import Lineage
from onmf.estimators.storage import read_model
from onmf.io.table import numbered

Array = NDArray[Any]

SUFFIX = ".onmf"  # of a saved model: how a path is told from the name of a start


class Ancestor(NamedTuple):
    """The model that a fit goes on from: its centroids (k, m) and who they are."""

    centers: Array
    lineage: Lineage
    names: Array | None = None
    new_features: int = 0
    lost_features: int = 0

    @classmethod
    def of(cls, given: Any) -> Self:
        """From a fitted model, or the path of a saved one."""
        facts = read_model(given).attributes if isinstance(given, str | Path) else vars(given)
        if "cluster_centers_" not in facts:
            raise ValueError(
                f"the {type(given).__name__} given as init is not fitted: fit it first, or give "
                "the path of a saved model."
            )
        centers = np.asarray(facts["cluster_centers_"])
        before = facts.get("lineage_") or Lineage.first(len(centers))
        return cls(centers, before, facts.get("feature_names_in_"))

    def seen_by(self, features: Features) -> Self:
        """With the features of X: by their names, if both have names, or one by one."""
        old, new = names_of(self.names), names_of(features.names)
        if old is None or new is None:
            if features.count != self.centers.shape[1]:
                raise ValueError(
                    f"X has {features.count} features, the model given as init "
                    f"{self.centers.shape[1]}: give both names, by which they are matched."
                )
            return self
        place = {name: j for j, name in enumerate(old)}
        there = [j for j, name in enumerate(new) if name in place]
        if not there:
            raise ValueError(
                "X has no feature of the model given as init: their names must be the same."
            )
        centers = np.zeros((len(self.centers), len(new)), self.centers.dtype)
        centers[:, there] = self.centers[:, [place[new[j]] for j in there]]
        return self._replace(
            centers=centers,
            names=features.names,
            new_features=len(new) - len(there),
            lost_features=len(old) - len(there),
        )

    def heirs(self, centers: Array) -> tuple[Lineage, Array]:
        """What became of the clusters, and the order of the new ones in which their ids rise."""
        lineage, order = Lineage.between(self.centers, self.lineage, centers)
        return lineage._replace(
            new_features=self.new_features, lost_features=self.lost_features
        ), order


def names_of(names: Any) -> list[str] | None:
    """Names that say something; numbers in place of names do not."""
    known = None if names is None else [str(name) for name in names]
    return None if known == numbered(len(known or ())) else known


def is_model(init: Any) -> bool:
    """Whether `init` is a model, or the path of one, rather than a name, arrays or a function."""
    if isinstance(init, str | Path):
        return str(init).endswith(SUFFIX)
    return hasattr(init, "get_params") and not isinstance(init, type)
