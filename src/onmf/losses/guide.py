"""Samples of known classes stay in their clusters; the others are assigned as usual.

    min sum_i d_i g_i loss(x_i, h_i w_k(i))   with k(i) = the class of sample i, where it is known

g_i = 1 for free samples. Known ones have the same say together: where few samples are known, the
others would decide what a class is.

One sweep: the free samples of a block go to their nearest centroids, each known one to that of its
class, and the sums of both are added. The best centroids for them are those of the loss, so the
objective falls as without known classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from onmf.losses.edits import some_rows
from onmf.rows.memory import add_stats
from onmf.rows.sweep import Array, Block, Data, Move, divisor, row_sqnorm, zero_missing


@dataclass(frozen=True)
class GuidedMove:
    """The move of an alternation; that of each class alone for the samples known to be in it."""

    free: Move
    classes: Sequence[Move]
    influence: float  # g of known samples

    def __call__(self, block: Block, rows: Any) -> tuple[Any, Any]:
        known, last = rows if isinstance(rows, KnownRows) else (rows, None)
        own = np.flatnonzero(known < 0)
        before = None if last is None else type(last)(*(part[own] for part in last))
        code, sums = self.free(some_rows(block, own), before)
        fields, stats = [_spread(part, own, len(known)) for part in code], [sums]
        for number in np.unique(known[known >= 0]).tolist():
            own = np.flatnonzero(known == number)
            inside = some_rows(block, own)
            inside = inside._replace(weight=inside.weight * block.weight.dtype.type(self.influence))
            alone, some = self.classes[number](inside, None)
            alone = alone._replace(labels=np.full(len(own), number))
            for field, part in zip(fields, alone, strict=True):
                field[own] = part
            stats.append(type(some)(*(self._at(number, part) for part in some)))
        return type(code)(*fields), reduce(add_stats, stats)

    def _at(self, number: int, part: Any) -> Any:
        """The sums of one cluster among those of k; what is about all samples stays as it is."""
        if np.ndim(part) == 0 or len(part) != 1:
            return part
        spread = np.zeros((len(self.classes), *np.shape(part)[1:]), part.dtype)
        spread[number] = part[0]
        return spread


class Guide(NamedTuple):
    """The class of each sample, or -1, cut like the data; and g of the known ones."""

    known: Any
    influence: float = 1.0


def _spread(part: Array, rows: Array, n: int) -> Array:
    spread = np.zeros((n, *part.shape[1:]), part.dtype)
    spread[rows] = part
    return spread


class KnownRows(NamedTuple):
    """What a guided sweep gets of a block: classes, and the codes of the sweep before."""

    known: Array
    last: Any


class ClassSums(NamedTuple):
    """Additive: the sum of the samples of each class, each of length 1 (classes, m)."""

    total: Array


@dataclass(frozen=True)
class SumClasses:
    """A move: the sums of the samples of so many classes, which are its rows."""

    classes: int

    def __call__(self, block: Block, known: Array) -> tuple[None, ClassSums]:
        rows = np.flatnonzero(known >= 0)
        X = zero_missing(some_rows(block, rows).X)
        size = np.sqrt(row_sqnorm(X))
        share = np.zeros((len(rows), self.classes))
        share[np.arange(len(rows)), known[rows]] = block.weight[rows, 0] / divisor(size)
        return None, ClassSums(np.asarray(share.T @ X, np.float64))


def class_centroids(data: Data, known: Any, classes: int) -> Array:
    """A direction for each class: the mean of its samples, each of length 1; reads X once."""
    total: Array = data.sweep(SumClasses(classes), known)[1].total
    return total
