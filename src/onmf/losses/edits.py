"""Clusters that a person merged or split after a fit.

    merged:  samples of the rays of C_1, C_2, ... are samples of C_1
    split:   a sample of C goes to the nearest ray of the parts of C

A sample is first given to the rays of the fit, then follows the steps in their order. So a sample
outside the merged or split clusters keeps its cluster, whatever their rays are. In a stream the
rays are equals (`flat`), and those of a merged cluster stay its own.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.rows.assign import Nearness, one_sparse
from onmf.rows.memory import add_stats
from onmf.rows.sweep import Array, Block, row_sqnorm

Ids = tuple[int, ...]
ATTRIBUTES = ("edit_rays_", "edit_steps_")  # of a model: those of `Edits`


class Edits(NamedTuple):
    """What was done to the clusters of a fit.

    rays : of the fit, then those of the parts of each split (R, m).
    ids : of the clusters of the fit, increasing.
    sizes : how many samples each ray had when it was made (R,).
    steps : (ids before, ids after); a merger has one id after it, a split several.
    """

    rays: Array
    ids: Ids
    sizes: Ids
    steps: tuple[tuple[Ids, Ids], ...] = ()

    @classmethod
    def of(cls, model: object) -> Self | None:
        """Those of a model, if there are any."""
        rays = getattr(model, ATTRIBUTES[0], None)
        return None if rays is None else cls(rays, *getattr(model, ATTRIBUTES[1]))

    def as_attributes(self) -> dict[str, Any]:
        """For a model."""
        return dict(zip(ATTRIBUTES, (self.rays, (self.ids, self.sizes, self.steps)), strict=True))

    def rays_of_clusters(self) -> dict[int, list[int]]:
        """The numbers of the rays of each cluster there is now, by id, ids increasing."""
        clusters, n = {own: [ray] for ray, own in enumerate(self.ids)}, len(self.ids)
        for before, after in self.steps:
            rays = [ray for own in before for ray in clusters.pop(own)]
            if len(after) > 1:
                rays = list(range(n, n + len(after)))
                n += len(after)
            parts = [rays] if len(after) == 1 else [[ray] for ray in rays]
            clusters |= dict(zip(after, parts, strict=True))
        return dict(sorted(clusters.items()))

    def place(self) -> Array:
        """The number of the cluster of each ray; -1 if it was split."""
        place = np.full(len(self.rays), -1)
        for number, rays in enumerate(self.rays_of_clusters().values()):
            place[rays] = number
        return place

    def flat(self) -> "Edits":
        """The rays that are left, as equals with the ids that they were made with; mergers stay."""
        made = [*self.ids, *(own for _, after in self.steps for own in after if len(after) > 1)]
        owner = {made[ray]: own for own, rays in self.rays_of_clusters().items() for ray in rays}
        last = {own: ray for ray, own in enumerate(made)}  # a part may have the id of the whole
        left = [last[own] for own in sorted(owner)]
        sizes = tuple(self.sizes[ray] for ray in left)
        return Edits.of_owners(self.rays[left], tuple(sorted(owner)), sizes, owner)

    @classmethod
    def of_owners(cls, rays: Array, ids: Ids, sizes: Ids, owner: dict[int, int]) -> "Edits":
        """Rays with these ids, each in the cluster that owns it, or in one of its own."""
        members: dict[int, list[int]] = {}
        for own in ids:
            members.setdefault(owner.get(own, own), []).append(own)
        merged = {own: rest for own, rest in members.items() if rest != [own]}
        return cls(rays, ids, sizes, tuple((tuple(rest), (own,)) for own, rest in merged.items()))

    def assignment(self, make: Callable[[Array], Any]) -> "EditedAssignment":
        """The assignment of a loss, which `make` makes of rays, followed by the steps."""
        n, parts = len(self.ids), []
        base = make(self.rays[:n])
        for _, after in self.steps:
            parts.append(make(self.rays[n : n + len(after)]) if len(after) > 1 else None)
            n += len(after) if len(after) > 1 else 0
        steps = tuple(Step(*step, part) for step, part in zip(self.steps, parts, strict=True))
        return EditedAssignment(base, self.ids, steps, tuple(self.rays_of_clusters()))

    def check(self, ids: Iterable[int], shape: tuple[int, int]) -> None:
        """ValueError unless they lead to clusters with these ids and centroids of this shape."""
        try:
            sound = tuple(self.rays_of_clusters()) == tuple(ids)
            parts = sum(len(after) for _, after in self.steps if len(after) > 1)
            sound &= len(self.sizes) == len(self.rays)
        except (KeyError, TypeError, ValueError, IndexError):
            sound, parts = False, 0
        if not sound or self.rays.shape != (len(self.ids) + parts, shape[1]):
            raise ValueError("its mergers and splits are not those of its clusters.")
        if self.rays.dtype.kind != "f" or not np.isfinite(self.rays).all():
            raise ValueError("the rays of its mergers and splits are not all finite.")


def forget_edits(model: object) -> None:
    """Leave a model with its centroids alone."""
    for name in ATTRIBUTES:
        vars(model).pop(name, None)


def flat_edits(model: object) -> Edits | None:
    """The rays of a model as equals, if it has merged clusters; others are forgotten."""
    edits = Edits.of(model)
    forget_edits(model)
    if edits is None or not (flat := edits.flat()).steps:
        return None
    vars(model).update(flat.as_attributes())
    return flat


class Step(NamedTuple):
    """A merger, or a split with the assignment to its parts."""

    before: Ids
    after: Ids
    parts: Any


class EditedCode(NamedTuple):
    """Cluster and membership of each sample; total and score, by the rays of the fit."""

    labels: Array
    multiples: Array
    total: Array
    score: Array


class Way(NamedTuple):
    """Where the samples of a block went: codes by the fit, ids now, and the last split taken."""

    code: Any
    ids: Array
    last: Array  # number of the step, -1 for none


@dataclass(frozen=True)
class EditedAssignment:
    """An assignment to the rays of a fit, then the steps."""

    base: Any
    ids: Ids
    steps: tuple[Step, ...]
    clusters: Ids
    limit: Any = None  # samples beyond it have no cluster

    def __call__(self, block: Block, rows: Any) -> tuple[EditedCode, Any]:
        way, base = self._way(block), self._base
        multiples, stats = np.zeros(len(way.ids), block.X.dtype), []
        for step, assignment in enumerate((base, *(one.parts for one in self.steps)), -1):
            own = np.flatnonzero(way.last == step)
            if len(own):
                code, fit = assignment(some_rows(block, own), None)
                multiples[own] = assignment.memberships(code).sum(axis=1)
                stats.append(fit)
        pair = base.total_and_score(row_sqnorm(block.X), way.code)
        stats = stats or [base(block, None)[1]]  # of no samples
        return EditedCode(self._labels(way.ids), multiples, *pair), reduce(add_stats, stats)

    @property
    def _base(self) -> Any:
        return self.base if self.limit is None else replace(self.base, limit=self.limit)

    def _labels(self, ids: Array) -> Array:
        place = {-1: -1} | {own: label for label, own in enumerate(self.clusters)}
        known, where = np.unique(ids, return_inverse=True)
        return np.array([place[own] for own in known.tolist()], np.intp)[where]

    def _way(self, block: Block) -> Way:
        code, _ = self._base(block, None)
        ids, last = np.append(self.ids, -1)[code.labels], np.full(len(code.labels), -1)
        for number, step in enumerate(self.steps):
            inside = np.flatnonzero(np.isin(ids, step.before))
            if step.parts is None:
                ids[inside] = step.after[0]
            elif len(inside):
                part, _ = step.parts(some_rows(block, inside), None)
                ids[inside] = np.array(step.after)[np.maximum(part.labels, 0)]
                last[inside] = number
        return Way(code, ids, last)

    def scores(self, block: Block) -> Array:
        """Of a merged cluster its best; of parts that of their cluster, less what the best has.

        So the largest is that of the label.
        """
        columns = dict(zip(self.ids, self.base.scores(block).T, strict=True))
        for before, after, parts in self.steps:
            own = reduce(np.maximum, (columns.pop(one) for one in before))
            if parts is None:
                columns[after[0]] = own
                continue
            inside = parts.scores(block)
            lower = inside - inside.max(axis=1, keepdims=True)
            inside = np.maximum(own[:, None] + lower, np.minimum(own, 0)[:, None])
            columns |= dict(zip(after, inside.T, strict=True))
        return np.column_stack([columns[own] for own in self.clusters])

    def nearness(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        """The margin of the scores, and the distance from the ray that the sample went to."""
        scores = np.sort(np.maximum(self.scores(block), 0).astype(np.float64), axis=1)
        margin = scores[:, -1] - (scores[:, -2] if scores.shape[1] > 1 else 0.0)
        last, distance = self._way(block).last, self.base.nearness(block, None)[0].distance
        for number in np.unique(last[last >= 0]):
            own = np.flatnonzero(last == number)
            near, _ = self.steps[number].parts.nearness(some_rows(block, own), None)
            distance[own] = near.distance
        return Nearness(margin, distance), ()

    def memberships(self, code: EditedCode) -> Array:
        """H (b, k): the best multiple of the ray of the cluster that the sample went to."""
        return one_sparse(code.labels, code.multiples, len(self.clusters))

    def rescaled(self, unit: Any) -> Self:
        steps = (
            step if step.parts is None else step._replace(parts=step.parts.rescaled(unit))
            for step in self.steps
        )
        return replace(self, base=self.base.rescaled(unit), steps=tuple(steps))

    def total_and_score(self, row_sqnorms: Array, code: EditedCode) -> tuple[Array, Array]:
        return code.total, code.score


def some_rows(block: Block, rows: Array) -> Block:
    """Some samples of a block."""
    return block._replace(X=block.X[rows], weight=block.weight[rows])
