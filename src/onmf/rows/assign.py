"""Assignments: the best single-cluster code of a sample, given the centroids.

min over h >= 0 with at most one non-zero entry of ||x - hW||^2
=>  k = argmax_k [<w_k, x>]_+ / ||w_k||,   h_k = [<w_k, x>]_+ / ||w_k||^2

An assignment is a move: it gives the codes of a block, and how much they explain. With a limit, a
sample beyond it is an outlier with label -1 (`search.outliers`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from onmf.rows.scale import rows_to_safe_range
from onmf.rows.sweep import Array, Block, Data, Matrix, divisor, row_sqnorm

PRODUCT_ROUNDING = 32  # times the machine precision: products that differ by less are equal
EQUAL_DIGITS = 5  # of seven in single precision, in which rays are compared


class Code(NamedTuple):
    """Label of each sample, -1 where no product is positive, and its score <w, x> / ||w||."""

    labels: Array
    scores: Array


class ExplainedShare(NamedTuple):
    """Additive: what the codes explain, sum_i d_i score_i^2, and sum_i d_i ||x_i||^2."""

    explained: float
    sqnorm: float


def first_largest(A: Array) -> Array:
    """Where each row is largest. Of entries that differ by rounding alone, the first.

    How a product is rounded depends on the processor and on the place of the row in its block. Two
    equal rays must not share the samples by that.
    """
    top = A.max(axis=-1, keepdims=True)
    return (A >= top - precision(A.dtype)[0] * np.abs(top)).argmax(axis=-1)


def order_by_content(rays: Array) -> Array:
    """An order of the columns that depends on what they are, not on their numbers.

    Clusters are numbered after the fit: a sample as near to two rays must stay with the same one.
    The last digits, which depend on the processor, decide only between rays that are nearly one.
    """
    rough = np.round(rays.T, EQUAL_DIGITS) + 0.0  # no negative zero
    keys = [(rough[k].tobytes(), rays[:, k].tobytes()) for k in range(len(rough))]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.intp)


@cache
def precision(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Relative difference of equal products, and the least product that counts."""
    info = np.finfo(dtype)
    return PRODUCT_ROUNDING * info.eps, info.tiny / info.eps


def nearest(products: Array) -> Code:
    """The ray with the largest product, for each row; none if it is lost in rounding."""
    labels = first_largest(products)
    scores = np.maximum(products[np.arange(len(labels)), labels], 0)
    scores[scores < precision(products.dtype)[1]] = 0
    labels[scores == 0] = -1
    return Code(labels, scores)


def one_sparse(labels: Array, codes: Array, k: int) -> Array:
    """H (n, k) with `codes` at `labels`; rows labelled -1 are zero."""
    H = np.zeros((len(labels), k), codes.dtype)
    inside = np.flatnonzero(labels >= 0)
    H[inside, labels[inside]] = codes[inside]
    return H


class Nearness(NamedTuple):
    """How near a sample is to its centroid, and by how much nearer than to the next one.

    With c_1 >= c_2 the two largest scores, the margin is c_1 - c_2. The distance is the root of the
    share of the sample that its cluster does not explain.
    """

    margin: Array
    distance: Array

    @classmethod
    def of_scores(cls, scores: Array) -> Self:
        """Of scores 1 / (1 + loss) (b, k), the loss per unit of the sample: sqrt(1 - c_1)."""
        ordered = np.sort(scores.astype(np.float64), axis=1)
        first, second = ordered[:, -1], ordered[:, -2] if ordered.shape[1] > 1 else 0.0
        return cls(first - second, np.sqrt(1 - first))


class Assignment(Protocol):
    """What gives a sample to a cluster; made of the centroids."""

    def __call__(self, block: Block, rows: Any) -> tuple[Any, Any]:
        """The codes of a block, and what they explain: `explained` of `sqnorm`."""

    def scores(self, block: Block) -> Array:
        """(b, k), 1 on the centroid and 0 for a sample of zeros; the largest is the label's."""

    def nearness(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        """Margin and distance of the samples of a block."""

    def memberships(self, code: Any) -> Array:
        """H (b, k) of a block: the best multiple of the centroid itself."""

    def rescaled(self, unit: Any) -> "Assignment":
        """With memberships for centroids divided by `unit`."""


def nearness(data: Data, assignment: Assignment) -> Nearness:
    """Margin and distance of every sample; reads X once."""
    rows, _ = data.sweep(assignment.nearness)
    parts = (data.map_blocks(attrgetter(name), rows) for name in Nearness._fields)
    return Nearness(*map(data.gather, parts))


@dataclass(frozen=True)
class Rays:
    """Unit centroids (m, k) and their lengths (k,); samples beyond the limit have no cluster."""

    units: Array
    lengths: Array
    limit: Any = None

    @classmethod
    def of(cls, W: Array) -> Self:
        exponent, info = 0, np.finfo(W.dtype)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.einsum("km,km->k", W, W)
        if not ((squares > info.tiny / info.eps) & (squares < np.inf)).all():
            W, exponent = rows_to_safe_range(W)
            squares = np.einsum("km,km->k", W, W)
        lengths = np.sqrt(divisor(squares)).astype(W.dtype)
        return cls(np.divide(W.T, lengths, order="C"), np.ldexp(lengths, exponent))

    def __call__(self, block: Block, rows: Any) -> tuple[Any, ExplainedShare]:
        code, sqnorms = self.code(block.X), row_sqnorm(block.X)
        if self.limit is not None:
            code = self.limit.applied(*self.total_and_score(sqnorms, code), code)
        weight = block.weight[:, 0].astype(np.float64)
        squares = np.where(code.labels >= 0, np.square(code.scores, dtype=np.float64), 0)
        return code, ExplainedShare(float(weight @ squares), float(weight @ sqnorms))

    def rescaled(self, unit: Any) -> Self:
        return replace(self, lengths=self.lengths / unit)

    def code(self, X: Matrix) -> Any:
        """The nearest ray of each sample, whatever its length and the samples beside it."""
        labels, scores = self.nearest(X, self.ordered)
        lost = np.flatnonzero(scores == 0)
        if len(lost):  # zero, orthogonal to all rays, or so short that its products are lost
            rows, exponent = rows_to_safe_range(X[lost])
            labels[lost], found = self.nearest(rows, self.ordered)
            scores[lost] = np.ldexp(found, exponent)
        return Code(np.append(self.order, -1)[labels], scores)

    def nearest(self, X: Matrix, units: Array) -> Any:
        return nearest(X @ units)

    @cached_property
    def order(self) -> Array:
        """In which the rays are asked: of those that are as near, the first has the sample."""
        return order_by_content(self.units)

    @cached_property
    def ordered(self) -> Array:
        return np.ascontiguousarray(self.units[:, self.order])

    def total_and_score(self, row_sqnorms: Array, code: Any) -> tuple[Array, Array]:
        """||x||^2 and <u, x>."""
        return row_sqnorms, code.scores

    def scores(self, block: Block) -> Array:
        """Cosines (b, k) of the samples of a block with the rays; 0 for a sample of zeros."""
        size = np.sqrt(row_sqnorm(block.X))[:, None]
        cosines = self.products(block.X) / divisor(size)
        return np.clip(cosines, -1, 1).astype(self.units.dtype)

    def nearness(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        """Negative cosines count as zero; margin 0 and distance 1 where all are."""
        products = np.maximum(self.products(block.X), 0).astype(np.float64, copy=False)
        products.partition(-min(2, products.shape[1]), axis=1)
        size = np.sqrt(row_sqnorm(block.X))
        first = np.divide(products[:, -1], size, out=np.zeros_like(size), where=size > 0)
        second = np.zeros_like(first)
        if products.shape[1] > 1:
            np.divide(products[:, -2], size, out=second, where=size > 0)
        return Nearness(first - second, np.sqrt(np.maximum(1 - first**2, 0))), ()

    def products(self, X: Matrix) -> Array:
        """<u_k, x> (b, k)."""
        return np.asarray(X @ self.units)

    def memberships(self, code: Code) -> Array:
        """H (b, k) of a block: the best multiple of the centroid itself."""
        h = code.scores / self.lengths[code.labels]
        h = np.maximum(h, np.finfo(h.dtype).smallest_subnormal)  # whoever has a label has a part
        return one_sparse(code.labels, h, len(self.lengths))


class ClusterCode(NamedTuple):
    """Cluster of each sample, the owner of its nearest ray, and its multiple of that ray."""

    labels: Array
    multiples: Array
    rays: Array  # the number of the nearest ray, -1 for none


@dataclass(frozen=True)
class ClustersOfRays:
    """An assignment to rays, of which a cluster may own several."""

    rays: Any
    cluster_of_ray: Array
    limit: Any = None  # samples beyond it have no cluster

    @property
    def k(self) -> int:
        return int(self.cluster_of_ray.max()) + 1

    def __call__(self, block: Block, rows: Any) -> tuple[ClusterCode, Any]:
        near = self.rays if self.limit is None else replace(self.rays, limit=self.limit)
        code, explained = near(block, rows)
        multiples = near.memberships(code).sum(axis=1)
        labels = np.append(self.cluster_of_ray, -1)[code.labels]
        return ClusterCode(labels, multiples, code.labels), explained

    def rescaled(self, unit: Any) -> Self:
        return replace(self, rays=self.rays.rescaled(unit))

    def scores(self, block: Block) -> Array:
        """Of each cluster the best of its rays (b, k)."""
        scores = self.rays.scores(block)
        best = np.full((len(scores), self.k), -np.inf, scores.dtype)
        for ray, cluster in enumerate(self.cluster_of_ray.tolist()):
            np.maximum(best[:, cluster], scores[:, ray], out=best[:, cluster])
        return best

    def nearness(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        """The distance is that from the nearest ray, the margin that to another cluster."""
        near, _ = self.rays.nearness(block, rows)
        scores = np.sort(np.maximum(self.scores(block), 0).astype(np.float64), axis=1)
        other = scores[:, -2] if self.k > 1 else 0.0
        return Nearness(scores[:, -1] - other, near.distance), ()

    def memberships(self, code: ClusterCode) -> Array:
        return one_sparse(code.labels, code.multiples, self.k)


labels_of: Callable[[Any], Array] = attrgetter("labels")


def rays_of(code: Any) -> Array:
    """The number of the nearest ray of each sample, -1 for none."""
    return np.asarray(code.rays if isinstance(code, ClusterCode) else code.labels)
