"""A clusterer that goes on from another model: the clusters that are still there keep their ids."""

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onmf.data import Placement
from onmf.estimators.ancestor import Ancestor, is_model
from onmf.estimators.beginning import Beginning
from onmf.estimators.clusterer import Clusterer, Solver
from onmf.estimators.few_passes import FewPasses
from onmf.estimators.lineage import Lineage
from onmf.estimators.ordering import arrange
from onmf.estimators.solvers import Solution

DEFAULT_COUNT = 8  # of clusters


class Refitter(Clusterer):
    """`init=` a fitted model: what that means for the start, the numbers and the ids."""

    feature_names_in_: NDArray[Any]
    lineage_: Lineage | None

    @property
    def cluster_ids_(self) -> NDArray[np.intp]:
        """The id of each cluster, in their order: 0, 1, ... unless the fit went on from another."""
        k = len(self.cluster_centers_)  # an AttributeError before the fit, as of any attribute
        known = getattr(self, "lineage_", None)
        return np.arange(k) if known is None else np.array(known.ids, np.intp)

    @property
    def _count(self) -> int:
        """How many clusters there are to be: as many as those that the fit goes on from."""
        if self.n_clusters is not None:
            return self.n_clusters
        start, anew = self._start()
        if isinstance(start, Ancestor):
            return len(start.centers)
        return DEFAULT_COUNT if anew else len(start)

    def _check_count(self) -> None:
        if self.n_clusters is not None:
            super()._check_count()

    def _check_init(self) -> None:
        if not is_model(self.init):
            super()._check_init()

    def _start(self) -> tuple[Any, bool]:
        init, anew = super()._start()
        return (Ancestor.of(init), True) if anew and is_model(init) else (init, anew)

    def _rooted(self, solver: Solver) -> Solver:
        begin = solver.begin
        if begin.ancestor is None or isinstance(solver, FewPasses):
            return solver
        return replace(solver, begin=replace(begin, init=begin.ancestor.seen_by(self._features)))

    def _numbered(self, solution: Solution, rows: Placement, begin: Beginning) -> Solution:
        if begin.ancestor is None:
            self.lineage_ = None
            return super()._numbered(solution, rows, begin)
        self.lineage_, order = begin.ancestor.heirs(solution.result.W)
        return arrange(solution, order)

    def __sklearn_clone__(self) -> Self:
        """A clone goes on from the same model; scikit-learn would clone that, too, and unfit it."""
        if not is_model(self.init):
            return super().__sklearn_clone__()
        light = copy(self)
        light.init = "random"
        made: Self = super(Refitter, light).__sklearn_clone__()
        made.init = self.init
        return made
