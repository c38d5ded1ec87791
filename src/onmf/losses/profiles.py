"""Best single-cluster code of a sample under the Kullback-Leibler divergence, given the centroids.

With KL(a || b) = sum_j a_j log(a_j / b_j) - a_j + b_j, shares p_k = w_k / sum(w_k), t = sum(x):

min over h >= 0 with at most one non-zero entry of KL(x || hW)
=>  k = argmax_k <x, log p_k>,   h_k = t / sum(w_k),   KL = <x, log(x / t)> - <x, log p_k>

A feature that no centroid has is ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from onmf.rows.assign import Code, Nearness, first_largest, one_sparse, order_by_content
from onmf.rows.sweep import Array, Block, Matrix, divisor

NO_INFORMATION = 1e-12  # share below which all samples have the same profile
SMOOTHING = 0.01  # share of the overall mean in every centroid


class CountCode(NamedTuple):
    """A `Code`, whose scores are the totals t of the samples, and KL(x || hw) of each."""

    labels: Array
    scores: Array
    losses: Array


class Divergence(NamedTuple):
    """Additive: sum_i d_i <x_i, log(x_i / t_i)>, sum_i d_i <x_i, log p_k(i)>, sum_i d_i x_i.

    The second is over samples with a cluster; `outside` is the third over the others.
    """

    own: float
    inside: float
    sums: Array
    outside: Array

    @property
    def sqnorm(self) -> float:
        """KL of one cluster for all; 0 if all samples have the same profile."""
        whole = self.own - float(explained_information(self.sums))
        return whole if whole > NO_INFORMATION * abs(self.own) else 0.0

    @property
    def explained(self) -> float:
        """By how much that is more than the KL of the codes; nothing for outliers."""
        return self.sqnorm - (self.own - self.inside - cross_information(self.outside, self.sums))


@dataclass(frozen=True)
class CountProfiles:
    """log p_k as columns (m, k), sum(w_k) (k,), and which features some centroid has (m,)."""

    logs: Array
    totals: Array
    known: Array
    limit: Any = None  # samples beyond it have no cluster

    @classmethod
    def of(cls, W: Array) -> Self:
        totals = W.sum(axis=1, dtype=np.float64)
        p, known = W / divisor(totals)[:, None], np.asarray((W > 0).any(axis=0))
        floor = np.finfo(W.dtype).tiny  # the log of nothing: a number, for zeros are multiplied too
        logs = np.where(known, np.log(np.maximum(p, floor)), 0)
        totals = divisor(totals).astype(W.dtype)
        return cls(np.ascontiguousarray(logs.T, W.dtype), totals, known)

    def __call__(self, block: Block, rows: Any) -> tuple[CountCode, Divergence]:
        X = self.visible(block.X)
        plain, best = self.nearest(X)
        own = row_sums(X, phi) - phi(plain.scores)
        code = self.limited(CountCode(*plain, own - best))
        weight = block.weight[:, 0].astype(np.float64)
        inside = code.labels >= 0
        outside = np.asarray(np.where(inside, 0, weight) @ X).ravel()
        sums, best = np.asarray(weight @ X).ravel(), np.where(inside, best, 0)
        return code, Divergence(float(weight @ own), float(weight @ best), sums, outside)

    def rescaled(self, unit: Any) -> Self:
        return replace(self, totals=self.totals / unit)

    def limited(self, code: CountCode) -> CountCode:
        """The codes with label -1 for outliers; their losses must be known."""
        if self.limit is None:
            return code
        limited: CountCode = self.limit.applied(*self.total_and_score(code.scores, code), code)
        return limited

    def total_and_score(self, row_sqnorms: Array, code: Any) -> tuple[Array, Array]:
        """t + KL(x || hw) and sqrt(t): a loss that grows with a power of the total."""
        return code.scores + np.maximum(code.losses, 0), np.sqrt(code.scores)

    def visible(self, X: Matrix) -> Matrix:
        """The features that tell something."""
        if self.known.all():
            return X
        return sp.csr_array(X * self.known) if sp.issparse(X) else X * self.known

    def nearest(self, X: Matrix) -> tuple[Code, Array]:
        """Labels of the rows, their totals for scores, and <x, log p> of the label."""
        products, totals = np.asarray(X @ self.logs), row_sums(X)
        labels = self.order[first_largest(products[:, self.order])]
        best = products[np.arange(len(labels)), labels].astype(np.float64)
        labels[totals == 0] = -1
        return Code(labels, totals), best

    @cached_property
    def order(self) -> Array:
        """Of profiles as likely as each other, the first in this order has the sample."""
        return order_by_content(self.logs)

    def divergences(self, X: Matrix) -> tuple[Array, Array]:
        """KL(x / t || p_k) (b, k) of each row, in nats a count, and t; 0 for a row of zeros."""
        X = self.visible(X)
        totals = row_sums(X)
        own = row_sums(X, phi) - phi(totals)
        apart = own[:, None] - np.asarray(X @ self.logs, np.float64)
        return np.maximum(apart / np.where(totals > 0, totals, np.inf)[:, None], 0), totals

    def scores(self, block: Block) -> Array:
        """1 / (1 + KL(x / t || p_k)) (b, k): 1 on the centroid; 0 for a sample of zeros."""
        apart, totals = self.divergences(block.X)
        return np.where(totals[:, None] > 0, 1 / (1 + apart), 0).astype(self.logs.dtype)

    def nearness(self, block: Block, rows: Any) -> tuple[Nearness, tuple[()]]:
        """The margin of the scores; the distance is sqrt(1 - c) for the largest score c."""
        return Nearness.of_scores(self.scores(block)), ()

    def memberships(self, code: Code | CountCode) -> Array:
        """H (b, k) of a block: the best multiple of the centroid itself."""
        h = (code.scores / self.totals[code.labels]).astype(self.totals.dtype)
        return one_sparse(code.labels, h, len(self.totals))


def phi(s: Any) -> Any:
    """s log s, 0 at 0, in double precision."""
    s = np.asarray(s, np.float64)
    return xlogy(s, s)


def explained_information(S: Array) -> Array:
    """g(s) = sum_j s_j log s_j - t log t, t = sum_j s_j, of each row of S."""
    return np.asarray(phi(S).sum(axis=-1) - phi(S.sum(axis=-1)))


def cross_information(S: Array, T: Array) -> float:
    """sum_j s_j log(t_j / sum(T)), where T >= S."""
    total = T.sum()
    return float(xlogy(S, np.where(S > 0, T, 1) / total).sum()) if total > 0 else 0.0


def itself(values: Array) -> Array:
    return values


def row_sums(X: Matrix, change: Callable[[Array], Array] = itself) -> Array:
    """sum_j change(x_ij), in double precision; change(0) = 0."""
    if not sp.issparse(X):
        return np.asarray(change(X).sum(axis=1, dtype=np.float64))
    values = np.append(change(X.data).astype(np.float64), 0)  # reduceat needs one beyond the end
    sums = np.add.reduceat(values, np.minimum(X.indptr[:-1], len(values) - 1))
    return np.where(np.diff(X.indptr) > 0, sums, 0)


def root_shares(X: Matrix) -> Matrix:
    """Square roots of x / t: the same say for all samples; KL is near 4 times their distance."""
    totals = row_sums(X)
    scale = (1 / np.sqrt(divisor(totals))).astype(X.dtype)[:, None]
    return sp.csr_array(np.sqrt(X).multiply(scale)) if sp.issparse(X) else np.sqrt(X) * scale


class CountTotals(NamedTuple):
    """Additive: sum_i d_i <x_i, log(x_i / t_i)>, sum_i d_i x_i (m,), how many entries there are."""

    own: float
    sums: Array
    entries: int

    @property
    def whole(self) -> float:
        """KL of one cluster for all."""
        return max(self.own - float(explained_information(self.sums)), 0.0)

    @property
    def mean(self) -> Array:
        """The shares of the features (m,)."""
        return np.asarray(self.sums / self.sums.sum())


def measure_totals(block: Block, rows: Any) -> tuple[Array, CountTotals]:
    """A move: the totals of the samples of a block, and what they add to those of all."""
    X, totals, weight = block.X, row_sums(block.X), block.weight[:, 0].astype(np.float64)
    own = float(weight @ (row_sums(X, phi) - phi(totals)))
    entries = X.nnz if sp.issparse(X) else X.size
    return totals, CountTotals(own, np.asarray(weight @ X).ravel(), entries)
