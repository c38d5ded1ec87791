"""Penalties that leave each sample with a single cluster (Sections II-B and III).

For h >= 0 each one vanishes exactly when h has at most one non-zero entry (Eq. 4):

    phi(h) = ( ||h||_p^v - ||h||_q^v ) / v,      1 <= p < q.

Where the curvature is known, phi is stored in the form PALM consumes,

    phi(h) = 1/2 h'Qh + b 1'h + r(h),

with Q = `curvature(k)`, b = `slope`; `prox` deals with r and the constraint h >= 0.

A new penalty is one class with `rows`, `gradient` and `step`, and its name in `PENALTIES`;
`General` shows the least there is to write.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from onmf.palm.steps import ArmijoStep, ProximalStep
from onmf.rows.sweep import Array, divisor


class Penalty(Protocol):
    """What PALM asks of a penalty."""

    tol: ClassVar[float]  # of the path, when the user gives none

    def rows(self, H: Array) -> Array:
        """phi(h_i) for every row."""

    def gradient(self, H: Array, g: Array, rho: float) -> Array:
        """g + rho phi'(H), g being the gradient of all else.

        Where phi has a kink, the one of its slopes that leaves H least stationary.
        """

    def step(self, A: Array, rho: float, dtype: Any) -> Any:
        """The step on a block of memberships for this A and rho (see `steps`)."""


@dataclass(frozen=True)
class SNCP:
    """Smooth (p, q, v) = (1, 2, 2):  phi(h) = ( (1'h)^2 - ||h||_2^2 ) / 2.   Eq. (10)

    Parameters
    ----------
    margin : float, default=0.51
        Times the largest curvature it is the inverse step length; more than one half is enough
        (Theorem 4).

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import SNCP
    >>> SNCP().rows(np.array([[0.0, 3.0], [1.0, 2.0]]))
    array([0., 2.])
    """

    margin: float = 0.51
    slope: ClassVar[float] = 0.0
    tol: ClassVar[float] = 1e-5

    def rows(self, H: Array) -> Array:
        mass = H.sum(axis=1)
        return (mass * mass - np.einsum("ik,ik->i", H, H)) / 2

    def curvature(self, k: int) -> Array:
        return np.ones((k, k)) - np.eye(k)

    def gradient(self, H: Array, g: Array, rho: float) -> Array:
        return g + rho * (H.sum(axis=1, keepdims=True) - H)

    def prox(self, V: Array, step: float) -> Array:
        """Projection on h >= 0; V is reused."""
        return np.maximum(V, 0, out=V)

    def step(self, A: Array, rho: float, dtype: Any) -> ProximalStep:
        return ProximalStep.prepare(self, A, rho, dtype)


@dataclass(frozen=True)
class NSNCP:
    """Non-smooth (1, inf, 1):  phi(h) = 1'h - ||h||_inf.   Eq. (11)

    Parameters
    ----------
    margin : float, default=0.51
        As for `SNCP`. Theorem 5 wants it above one; the authors' program uses 0.51 on the synthetic
        data (and reproduces its tables only so) and 1 on real data.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import NSNCP
    >>> NSNCP().rows(np.array([[0.0, 3.0], [1.0, 2.0]]))
    array([0., 1.])
    """

    margin: float = 0.51
    slope: ClassVar[float] = 1.0
    tol: ClassVar[float] = 1e-3

    def rows(self, H: Array) -> Array:
        return H.sum(axis=1) - H.max(axis=1)

    def curvature(self, k: int) -> Array:
        return np.zeros((k, k))

    def prox(self, V: Array, step: float) -> Array:
        """argmin_{u >= 0} 1/2 ||u - v||^2 - step ||u||_inf   (Proposition 2); V is reused.

        -||u||_inf = min_j -u_j: one separable problem per j, of which the best is j = argmax v.
        """
        V[np.arange(len(V)), V.argmax(axis=1)] += step
        return np.maximum(V, 0, out=V)

    def gradient(self, H: Array, g: Array, rho: float) -> Array:
        # At a d-stationary point each largest entry j satisfies g_j = 0 without the penalty: take
        # the one furthest from it. (Two largest entries above zero can never all be right.)
        among = np.where(H == H.max(axis=1, keepdims=True), np.abs(g), -1)
        total = g + rho
        total[np.arange(len(g)), among.argmax(axis=1)] -= rho
        return total

    def step(self, A: Array, rho: float, dtype: Any) -> ProximalStep:
        return ProximalStep.prepare(self, A, rho, dtype)


@dataclass(frozen=True)
class General:
    """Any smooth (p, q, v) of Remark 1:  phi(h) = ( ||h||_p^v - ||h||_q^v ) / v.

    Parameters
    ----------
    p, q, v : float
        1 <= p < q <= v, all finite. The default, (1, 2, 2), is `SNCP`.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import General
    >>> General(p=1, q=3, v=3).rows(np.array([[0.0, 3.0], [1.0, 2.0]]))
    array([0., 6.])
    """

    p: float = 1.0
    q: float = 2.0
    v: float = 2.0
    tol: ClassVar[float] = 1e-5

    def __post_init__(self) -> None:
        if not 1 <= self.p < self.q <= self.v < np.inf:
            raise ValueError(
                f"the penalty (p, q, v) = ({self.p}, {self.q}, {self.v}) is not smooth: choose "
                "1 <= p < q <= v, all finite"
            )

    def rows(self, H: Array) -> Array:
        return (_norm(H, self.p) ** self.v - _norm(H, self.q) ** self.v)[:, 0] / self.v

    def gradient(self, H: Array, g: Array, rho: float) -> Array:
        return g + rho * (self._power_slope(H, self.p) - self._power_slope(H, self.q))

    def _power_slope(self, H: Array, p: float) -> Array:
        """Gradient of ||h||_p^v / v = ||h||^(v-1) (h / ||h||)^(p-1), zero at h = 0."""
        size = _norm(H, p)
        shares = H / divisor(size)
        return np.where(size > 0, size ** (self.v - 1) * shares ** (p - 1), 0)

    def step(self, A: Array, rho: float, dtype: Any) -> ArmijoStep:
        return ArmijoStep.prepare(self, A, rho, dtype)


def _norm(H: Array, p: float) -> Array:
    """||h_i||_p as a column, for H >= 0, safe for large p."""
    top = H.max(axis=1, keepdims=True)
    shares = H / divisor(top)
    return top * (shares**p).sum(axis=1, keepdims=True) ** (1 / p)


# The one registry: what is in it can be named, saved and loaded, and has its promises tested.
PENALTIES: dict[str, Penalty] = {"sncp": SNCP(), "nsncp": NSNCP()}
PENALTY_CLASSES = (*map(type, PENALTIES.values()), General)  # `General` has too many for one name
