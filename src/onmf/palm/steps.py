"""One step on the memberships of a block of samples, at fixed centroids.

Every row h of H faces the same problem with its own a = c W x:

    min_{h >= 0}  1/2 h'Ah - a'h + rho phi(h),        A = c WW' + mu_h I.

`ProximalStep` serves penalties whose curvature is known (Algorithms 2 and 3), `ArmijoStep` all
smooth ones (supplement, 3.2). A penalty names its own; PALM calls whichever it is given.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from onmf.rows.sweep import Array

SUFFICIENT = 1e-4  # share of the promised decrease that an Armijo step must deliver
MOST_HALVINGS = 60


def largest_eigenvalue(S: Array) -> float:
    return float(np.linalg.eigvalsh(np.asarray(S, dtype=np.float64))[-1])


@dataclass(frozen=True)
class ProximalStep:
    """h <- prox_{rho r / t}( h - (Qh - a + rho b 1) / t ),   Q = A + rho curvature.

    Stored as h (I - Q/t) + a/t - shift; the caller scales a by `scale` = 1/t, all rows at once.
    """

    penalty: Any
    keep: Array  # I - Q/t
    scale: float
    shift: float  # rho b / t
    threshold: float  # rho / t

    @classmethod
    def prepare(cls, penalty: Any, A: Array, rho: float, dtype: Any) -> Self:
        Q = A + rho * penalty.curvature(len(A))
        t = penalty.margin * largest_eigenvalue(Q) or 1.0  # with W = 0 and no ridge any t will do
        keep = (np.eye(len(A)) - Q / t).astype(dtype)
        return cls(penalty, keep, 1 / t, rho * penalty.slope / t, rho / t)

    def __call__(self, H: Array, a: Array) -> Array:
        V = H @ self.keep
        V += a
        if self.shift:
            V -= self.shift
        return self.penalty.prox(V, self.threshold)


@dataclass(frozen=True)
class ArmijoStep:
    """h <- [h - g/t]_+ with the first t = t0, 2 t0, 4 t0, ... that lowers the objective enough.

    Each row finds its own t: rows are separate problems and need not wait for the worst one.
    """

    penalty: Any
    A: Array
    t0: float
    rho: float
    scale: ClassVar[float] = 1.0

    @classmethod
    def prepare(cls, penalty: Any, A: Array, rho: float, dtype: Any) -> Self:
        return cls(penalty, A.astype(dtype), largest_eigenvalue(A) or 1.0, rho)

    def __call__(self, H: Array, a: Array) -> Array:
        A, new = self.A, H.copy()
        todo, t = np.arange(len(H)), self.t0
        value, gradient = self._value(H, a, A), self.penalty.gradient(H, H @ A - a, self.rho)
        for _ in range(MOST_HALVINGS):
            trial = np.maximum(H[todo] - gradient[todo] / t, 0)
            promised = np.einsum("ik,ik->i", gradient[todo], trial - H[todo])
            # Rounding of the value itself must not send a finished row into endless halving.
            slack = 8 * np.finfo(H.dtype).eps * np.abs(value[todo])
            good = self._value(trial, a[todo], A) <= value[todo] + SUFFICIENT * promised + slack
            new[todo[good]] = trial[good]
            todo, t = todo[~good], 2 * t
            if not len(todo):
                break
        return new

    def _value(self, H: Array, a: Array, A: Array) -> Array:
        return np.einsum("ik,ik->i", H, H @ A / 2 - a) + self.rho * self.penalty.rows(H)
