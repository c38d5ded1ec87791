"""`KullbackLeibler`, the loss for counts.

    min KL(X || HW) = sum x log(x / y) - x + y,   y = (HW),   one non-zero entry per row of H

A sample goes where its counts are most likely; a centroid is the mean of its samples, with a
hundredth of the overall mean. Square roots of counts compare samples nearly as it does: the
divergence is close to four times their squared distance.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from onmf.losses.alternation import Alternation
from onmf.losses.base import Words
from onmf.losses.kl_alternation import CountAlternation, as_centroids, sums_of_centroids
from onmf.losses.kl_search import Counts
from onmf.losses.kl_starts import find_clusterings
from onmf.losses.profiles import (
    CountProfiles,
    measure_totals,
    phi,
    root_shares,
    row_sums,
)
from onmf.losses.quick_fit import Look, quick_look
from onmf.losses.support import EVERY_FEATURE
from onmf.rows.assign import one_sparse
from onmf.rows.sweep import Array, Block, Data, Matrix, Move, divisor
from onmf.rows.view import View
from onmf.search.numpy_kernels import unit
from onmf.search.sketch import SINGLE_ENOUGH
from onmf.search.starts import Settings

# Of quick looks: with two, topics beside a text that was sent 80 times came back by .67, not by .9.
QUICK_STARTS = 3


@dataclass(frozen=True)
class KullbackLeibler:
    """The Kullback-Leibler divergence."""

    name = "kl"
    words = Words("relative divergence", "Kullback-Leibler divergence")
    supports = EVERY_FEATURE - {"missing", "signed"}
    degree = 1
    min_sweeps = 3

    def assignment(self, W: Array, n_missing: int = 0) -> CountProfiles:
        return CountProfiles.of(W)

    def value(self, X: Matrix, H: Array, W: Array) -> float:
        """sum_i KL(x_i || h_i W); a sample without a cluster is compared with the mean of HW."""
        rule, samples = CountProfiles.of(W), np.arange(len(H))
        X, labels = rule.visible(X), H.argmax(axis=1)
        totals, expected = row_sums(X), (H @ W.sum(axis=1)).astype(np.float64)
        log_shares = np.asarray(X @ rule.logs, np.float64)[samples, labels]
        mean = CountProfiles.of((H.sum(axis=0) @ W)[None])
        log_mean = np.asarray(X @ mean.logs, np.float64)[:, 0]
        inside = expected > 0
        expected = np.where(inside, expected, totals)
        log_fit = np.where(inside, log_shares, log_mean) + xlogy(totals, divisor(expected))
        return float(np.sum(row_sums(X, phi) - log_fit - totals + expected))

    def alternation(self, data: Data, settings: Settings) -> Alternation:
        """Reads X once, for its totals."""
        rows, totals = data.sweep(measure_totals)
        if totals.whole <= SINGLE_ENOUGH * abs(totals.own):  # <x, log p> has few digits that differ
            data = data.in_double()
            rows, totals = data.sweep(measure_totals)
        return CountAlternation(data, settings, totals=totals, row_totals=rows)

    def typical_samples(self, W: Array, weight: Array) -> Array:
        """The mean of the samples: the overall mean in the centroid is taken out again."""
        rows = sums_of_centroids(W, weight) / divisor(weight)[:, None]
        return np.where(weight[:, None] > 0, rows, W).astype(W.dtype)

    def joint_centroids(self, rows: Array, weight: Array, cluster: Array, k: int) -> Array:
        """The mean samples, all with the same overall mean."""
        S = self.sums(rows, weight, cluster, np.zeros((k, 0)))
        first = rows[[int((cluster == own).argmax()) for own in range(k)]]
        return self.centroids_of_sums(S, np.bincount(cluster, weight, k), first)

    def sums(self, X: Matrix, weight: Array, rays: Array, W: Array) -> Array:
        """sum_i d_i x_i."""
        return np.asarray(one_sparse(rays, weight, len(W)).T @ X, np.float64)

    def centroids_of_sums(self, S: Array, weight: Array, W: Array) -> Array:
        mean = S.sum(axis=0) / max(S.sum(), np.finfo(float).tiny)
        known = (S.any(axis=1) & (weight > 0))[:, None]
        return np.where(known, as_centroids(S, weight, mean), W).astype(W.dtype)

    def sampling_weight(self, X: Matrix) -> Array:
        return row_sums(X)

    def measure(self) -> Move | None:
        return measure_totals

    def view(self, data: Data) -> Data:
        return View(data, np.sqrt)

    def quick_look(self, seen: Block, k: int, rng: np.random.Generator) -> Look:
        """By moves of single rows: squares of roots alone follow a few rows with many counts.

        On texts of which one was there 121 times, halves of the samples found 19 to 31 % of the
        other topics again by squares, 83 to 96 % by these moves, and 80 to 97 % by whole fits.
        """
        X = sp.csr_array(seen.X)
        squares = sp.csr_array((np.square(X.data), X.indices, X.indptr), X.shape)
        look = quick_look(Block(root_shares(squares), seen.weight), k, rng)
        if len(look.rays) < k:
            return look
        counts = Counts.of(Block(squares, seen.weight))
        counts = counts.take(np.flatnonzero(counts.totals > 0))
        labels = find_clusterings(counts, k, rng, QUICK_STARTS)[-1]
        return look._replace(rays=unit(np.sqrt(counts.sums(labels, k))))

    def view_rows(self, X: Matrix) -> Matrix:
        return root_shares(X)
