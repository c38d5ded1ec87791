"""`fit(X, y)` with classes that are known for some samples.

Two starts: the centroids of the known samples of each class; and the clusters of a fit without y,
matched with the classes. Both have the clusters of that fit that match no class besides. From each
the alternation runs with the known samples in their classes, which together weigh as much as all
others. The result whose centroids put more of the known samples into their own class is kept: of
two optima, the one that means what y means.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from onmf.estimators.fitting import FastSolver, Solution
from onmf.explain.known_groups import numbered_groups
from onmf.losses.alternation import Alternation
from onmf.losses.guide import Guide, class_centroids
from onmf.losses.settling import finish, settle
from onmf.result import NO_CHECKPOINT, CheckpointStore, Recorder, Watch, unwatched
from onmf.rows import Placement
from onmf.rows.assign import labels_of
from onmf.rows.sweep import Array, Data, divisor


class KnownClasses(NamedTuple):
    """The classes, and of each sample the number of its class, or -1.

    soft : whether known samples may move to other clusters.
    """

    names: list[Any]
    numbers: Array
    soft: bool

    @classmethod
    def of(cls, y: Any, soft: bool) -> Self | None:
        """None unless some samples are known and others not: such a y is not for a clusterer."""
        labels = np.asarray(y) if hasattr(y, "__array__") else y
        if labels is None or np.ndim(labels) != 1:
            return None
        names, numbers = numbered_groups(labels)
        if not names or (numbers >= 0).all():
            return None
        return cls(names, numbers, soft)

    def check(self, n: int, k: int) -> None:
        if len(self.numbers) != n:
            raise ValueError(f"y has {len(self.numbers)} labels, X {n} samples: give one for each.")
        if len(self.names) > k:
            raise ValueError(
                f"y has {len(self.names)} classes, more than n_clusters={k}: ask for at least as "
                "many clusters."
            )


@dataclass(frozen=True)
class GuidedSolver(FastSolver):
    """The default solver with known classes."""

    known: KnownClasses | None = None

    @classmethod
    def guiding(cls, solver: FastSolver, known: KnownClasses) -> Self:
        own = {field.name: getattr(solver, field.name) for field in fields(solver)}
        return cls(**own | {"known": known})

    def solve(self, rows: Placement, watch: Watch, checkpoints: CheckpointStore) -> Solution:
        assert self.known is not None
        known = self.known
        known.check(rows.data.shape[0], self.begin.n_clusters)
        free, state, alternation = self._fit(rows, rows.data, unwatched, NO_CHECKPOINT)
        data = alternation.data
        guide = Guide(data.scatter(known.numbers))
        n_known = int(np.sum(known.numbers >= 0))
        equal = guide._replace(influence=max((len(known.numbers) - n_known) / n_known, 1.0))
        guided = alternation if known.soft else replace(alternation, guide=equal)
        most = self.settings.max_sweeps
        results = [
            settle(guided, alternation.as_start(W), most)
            for W in self._starts(data, guide.known, free.W, state.labels(data))
        ]
        shares = [self._share_known(alternation, one) for one in results]
        best = max(
            zip(results, shares, strict=True), key=lambda one: (one[1], guided.objective(one[0]))
        )[0]
        measured = guided if known.soft else replace(alternation, guide=guide)
        result, state = finish(measured, [best.W], Recorder(watch, 1))
        stop = "converged" if best.settled else "max_iter"
        result = result._replace(stop=stop, iterations=best.turn + 1)
        solution = self._solution(data, result, state, measured)
        return solution._replace(nearest=self._nearest(alternation, state), proof=None)

    def _starts(self, data: Data, guide: Any, W: Array, labels: Array) -> list[Array]:
        """Centroids to start from, those of the classes first."""
        assert self.known is not None
        n, known = len(self.known.names), self.known.numbers
        there = (known >= 0) & (labels >= 0)
        shared = np.zeros((n, max(len(W), n)))
        np.add.at(shared, (known[there], labels[there]), 1)
        _, own = linear_sum_assignment(shared, maximize=True)
        classes = class_centroids(data, guide, n).astype(W.dtype)
        length = np.linalg.norm(classes, axis=1, keepdims=True)
        typical = np.linalg.norm(W, axis=1).mean()
        classes = classes / divisor(length) * W.dtype.type(typical)
        rest = W[np.setdiff1d(np.arange(len(W)), own)]
        missing = self.begin.n_clusters - n - len(rest)
        rest = np.vstack([rest, np.zeros((max(missing, 0), W.shape[1]), W.dtype)])
        matched = np.where((own < len(W))[:, None], W[np.minimum(own, len(W) - 1)], classes)
        return [np.vstack([some, rest]) for some in (classes, matched)]

    def _nearest(self, alternation: Alternation, state: Any) -> Array:
        """Of all samples, the known ones too, by the centroids alone."""
        data = alternation.data
        rows, _ = data.sweep(alternation.assignment(state.W, state.limit))
        return data.gather(data.map_blocks(labels_of, rows))

    def _share_known(self, alternation: Alternation, state: Any) -> float:
        """Of the known samples, those that the centroids alone put into their class."""
        assert self.known is not None
        there = self.known.numbers >= 0
        return float(np.mean((self._nearest(alternation, state) == self.known.numbers)[there]))
