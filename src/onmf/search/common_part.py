"""What rows have in common, shrunk: rays that are nearly parallel are told apart by the rest.

    Y T,   T = I - L diag(1 - f) L',   L (r, j) leading right singular vectors of Y

If rays explain nearly all of the rows, what tells the rows apart is lost in the digits of what they
have in common. To first order in the size of the rest, the clusters of YT are those of Y.
"""

from typing import NamedTuple

import numpy as np

from onmf.rows.sweep import Array, divisor

SINGLE_ENOUGH = 1e-4  # share left unexplained above which single precision tells rows apart: scores
# that differ by 4e-6 of their size are equal there
COMMON_SIZE = 10.0  # length of the common part of a row, after it is shrunk, in units of the rest


class CommonPart(NamedTuple):
    """T = I - L diag(1 - f) L'."""

    L: Array  # (r, j), orthonormal columns
    factors: Array  # (j,)
    energy: float  # ||YT||^2 / ||Y||^2

    @classmethod
    def of(cls, Y: Array, k: int) -> "CommonPart | None":
        """What fewer than k directions explain but for a share below SINGLE_ENOUGH, if they do."""
        values, turn = np.linalg.eigh(Y.T @ Y)
        values, turn = np.maximum(values[::-1], 0), turn[:, ::-1]
        rest = np.append(np.cumsum(values[::-1])[::-1][1:], 0)
        few = slice(0, max(min(k, len(values)) - 1, 0))
        share = rest[few] / divisor(values[few])
        if not len(share) or share.min() > SINGLE_ENOUGH:
            return None
        L = turn[:, : share.argmin() + 1]
        parts = Y @ L
        left = float(np.square(Y - parts @ L.T).sum())
        factors = np.sqrt(np.minimum(1, COMMON_SIZE**2 * left / values[: L.shape[1]]))
        if not left:
            return None
        common = np.square(parts).sum(axis=0)
        return cls(L, factors, (left + float(np.square(factors) @ common)) / (left + common.sum()))

    def removed(self, Y: Array) -> Array:
        """YT."""
        return Y - ((Y @ self.L) * (1 - self.factors)) @ self.L.T

    def restored(self, U: Array) -> Array:
        """U T^-1, for rays."""
        return U + ((U @ self.L) * (1 / self.factors - 1)) @ self.L.T
