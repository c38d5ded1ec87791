"""Who is who: the clusters of a fit beside those of the fit before it.

    a_ij = angle of old ray i and new ray j;    parent of j = argmin_i a_ij
    heir of i = argmin a_ij  over the new clusters j whose parent is i and which are within reach:
                a_ij <= min(MAX_TURN_DEGREES, half the angle from i to the next old ray)

The heir has the id of its parent: so the old ray nearest to a ray is always that of its own id, and
a cluster that is as far away as another one is another one. Every other new cluster is born with an
id that no cluster had before, and every old id without an heir has vanished, for good.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from onmf.rows.assign import Rays, first_largest
from onmf.rows.sweep import Array

MAX_TURN_DEGREES = 45.0  # degrees that a ray may turn between two fits, at most
DEGREE_DIGITS = 6  # of degrees: of two heirs that differ by rounding alone the first is taken


class Lineage(NamedTuple):
    """What became of the clusters of the fit before.

    ids : of the clusters, in their order, as `cluster_ids_`.
    kept, born, vanished : ids that went on, are new, and are no more.
    drift : by how many degrees each cluster turned, in the order of `ids`; NaN for those born.
    next_id : the smallest id that no cluster ever had.
    new_features, lost_features : of X that the model before did not know; the other way round.
    merged : pairs (id that is no more, id that it became a part of), if a person merged clusters.
    split : pairs (id, id of a part that it gave away), if a person split a cluster.
    moved : samples of other clusters that are nearer to a part, if a person split a cluster.
    """

    ids: tuple[int, ...]
    kept: tuple[int, ...]
    born: tuple[int, ...]
    vanished: tuple[int, ...]
    drift: tuple[float, ...]
    next_id: int
    new_features: int = 0
    lost_features: int = 0
    merged: tuple[tuple[int, int], ...] = ()
    split: tuple[tuple[int, int], ...] = ()
    moved: int = 0

    @classmethod
    def first(cls, k: int) -> Self:
        """Of a fit that has none before it."""
        ids = tuple(range(k))
        return cls(ids, (), ids, (), (np.nan,) * k, k)

    @classmethod
    def sound(cls, parts: Any, k: int) -> Self:
        """From a file: of k clusters, each with an id of its own that is not to be given again."""
        lineage = cls(*parts)
        pairs = [one for pair in (*lineage.merged, *lineage.split) for one in pair]
        numbers = (*lineage.ids, *lineage.kept, *lineage.born, *lineage.vanished, *pairs)
        numbers = (*numbers, lineage.next_id, lineage.moved)
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("its lineage has ids that are no numbers.")
        if not len({*lineage.ids}) == len(lineage.ids) == len(lineage.drift) == k:
            raise ValueError("its lineage is not about its clusters.")
        if max(numbers[:-2], default=0) >= lineage.next_id:
            raise ValueError("its lineage would give an id twice.")
        return lineage

    def after_merger(self, ids: tuple[int, ...], drift: float) -> "Lineage":
        """After the clusters of these ids became the first of them, which turned by `drift`."""
        first, *others = ids
        left = tuple(own for own in self.ids if own not in others)
        turned = tuple(drift if own == first else 0.0 for own in left)
        merged = tuple((own, first) for own in others)
        return Lineage(left, left, (), tuple(others), turned, self.next_id, merged=merged)

    def followed_by(self, ids: list[int], drift: list[float]) -> "Lineage":
        """After a fit with clusters of these ids, increasing, each turned by `drift`."""
        kept = tuple(own for own in ids if own in self.ids)
        born = tuple(own for own in ids if own not in self.ids)
        gone = tuple(own for own in self.ids if own not in ids)
        after = max(self.next_id, max(ids) + 1)
        return Lineage(tuple(ids), kept, born, gone, tuple(drift), after)

    def after_split(self, own: int, n_parts: int, drift: float, moved: int) -> "Lineage":
        """After a cluster was split: its first part keeps the id, the others get new ones."""
        born = tuple(range(self.next_id, self.next_id + n_parts - 1))
        turned = tuple(drift if one == own else 0.0 for one in self.ids) + (np.nan,) * len(born)
        pairs = tuple((own, new) for new in born)
        after = self.next_id + len(born)
        return Lineage(
            (*self.ids, *born), self.ids, born, (), turned, after, split=pairs, moved=moved
        )

    @classmethod
    def between(cls, old: Array, before: "Lineage", new: Array) -> tuple[Self, Array]:
        """From the rays before to the new ones, and the order of these in which their ids rise."""
        heir, drift = nearest_heirs(old, new)
        ids = np.full(len(new), -1)
        ids[heir[heir >= 0]] = np.array(before.ids)[heir >= 0]
        kept, n_born = sorted(ids[ids >= 0].tolist()), int(np.sum(ids < 0))
        born = range(before.next_id, before.next_id + n_born)
        ids[ids < 0] = born
        order = np.argsort(ids)
        lineage = cls(
            ids=tuple(ids[order].tolist()),
            kept=tuple(kept),
            born=tuple(born),
            vanished=tuple(sorted({*before.ids} - {*kept})),
            drift=tuple(drift[order].tolist()),
            next_id=before.next_id + n_born,
        )
        return lineage, order


def ids_of_rays(
    old: Array, ids: Array, new: Array, heirs: Sequence[int], next_id: int
) -> list[int]:
    """The cluster of each new ray, by the ids of the clusters of the old rays.

    `heirs` are the number of the old ray that each new one is, or a higher number. A ray that is
    none of them belongs to the cluster of the nearest one if that has several rays and no ray of
    another cluster is nearly as near; otherwise it is a cluster with a new id.
    """
    apart = degrees(Rays.of(new).units.T @ Rays.of(old).units)
    among = degrees((units := Rays.of(old).units).T @ units)
    found = []
    for j, heir in enumerate(heirs):
        i = heir if heir < len(old) else int(first_largest(-apart[j : j + 1])[0])
        others = ids != ids[i]
        reach = min(MAX_TURN_DEGREES, among[i, others].min(initial=np.inf) / 2)
        if heir < len(old) or (np.sum(~others) > 1 and apart[j, i] <= reach):
            found.append(int(ids[i]))
        else:
            found.append(next_id)
            next_id += 1
    return found


def nearest_heirs(old: Array, new: Array) -> tuple[Array, Array]:
    """The heir of each old ray, or -1, and by how many degrees each new ray turned, or NaN."""
    rays = Rays.of(old).units
    angles = degrees(Rays.of(new).units.T @ rays)
    reach = reach_of(rays)
    parent, each = first_largest(-angles), np.arange(len(new))
    turn = np.round(angles[each, parent], DEGREE_DIGITS)
    heir, drift = np.full(len(old), -1), np.full(len(new), np.nan)
    for j in each[turn <= reach[parent]]:
        rival = heir[parent[j]]
        if rival < 0 or turn[j] < turn[rival]:
            heir[parent[j]] = j
    heirs = heir[heir >= 0]
    drift[heirs] = turn[heirs]
    return heir, drift


def reach_of(rays: Array) -> Array:
    """By how many degrees each of the unit rays (m, k) may turn and be the same cluster."""
    apart = degrees(rays.T @ rays) + np.where(np.eye(rays.shape[1]), np.inf, 0)
    return np.asarray(np.minimum(MAX_TURN_DEGREES, np.round(apart.min(axis=1) / 2, DEGREE_DIGITS)))


def degrees(cosines: Array) -> Array:
    """Angles, of cosines that may be rounded."""
    return np.degrees(np.arccos(np.clip(cosines.astype(np.float64), -1, 1)))
