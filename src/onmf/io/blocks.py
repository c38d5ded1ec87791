"""Rows that are not stored: a function makes each block whenever it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import FormatError
from onmf.io.source import Source, floating, stack_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks(Source):
    """Samples that a function makes, or fetches, in blocks: ``make(0)``, ``make(1)``, ...

    With ``Fast(passes=1)`` each block is made once, so any number of samples can be clustered.
    Without `passes` every sweep makes all of them again. Blocks of some megabytes are best.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import ONMF, Fast
    >>> from onmf.io import Blocks
    >>> def make(number):
    ...     rng = np.random.default_rng(number)
    ...     return np.eye(3, dtype=np.float32)[rng.integers(0, 3, 100)] + rng.random((100, 1)) / 9
    >>> X = Blocks.of(make, shape=(1000, 3), size=100)
    >>> model = ONMF(n_clusters=3, solver=Fast(passes=1), random_state=0).fit(X)
    >>> model.predict(make(0)).shape
    (100,)
    """

    make: Callable[[int], Any]
    step: int  # rows of a block

    @classmethod
    def of(
        cls,
        make: Callable[[int], Any],
        shape: tuple[int, int],
        size: int,
        dtype: Any = None,
        **names: Any,
    ) -> Self:
        """Blocks of `size` rows, arrays or CSR matrices; the last may have fewer.

        Parameters
        ----------
        make : callable
            ``make(number)`` returns the rows from ``number * size`` on, the same in each call;
            several threads may call it at once.
        shape : (n_samples, n_features)
        size : int
        dtype : float32 or float64, optional
            That of the first block, which is made for it, if it is not given.
        **names
            `names` of the features.
        """
        n, where = shape[0], "X in blocks"
        if size < 1:
            raise ValueError(f"size must be at least 1 row, got {size!r}.")
        if dtype is None:
            dtype = getattr(make(0), "dtype", np.float64)
        return cls(make=make, step=size, where=where, shape=shape, dtype=floating(dtype, where),
                   edges=[*range(0, n, size), n], **names)  # fmt: skip

    def rows(self, i: int, j: int) -> Any:
        first = min(i, self.shape[0] - 1) // self.step
        numbers = range(first, max(-(-j // self.step), first + 1))
        whole = stack_rows([self._block(number) for number in numbers])
        i, j = i - first * self.step, j - first * self.step
        return whole if (i, j) == (0, whole.shape[0]) else whole[i:j]

    def _block(self, number: int) -> Any:
        """One block, checked and of the right type."""
        n, m = self.shape
        X, wanted = self.make(number), (min(self.step, n - number * self.step), m)
        if not sp.issparse(X):
            X = np.ascontiguousarray(X, self.dtype)
        if X.shape != wanted:
            raise FormatError(f"block {number} has shape {X.shape} instead of {wanted}.")
        return sp.csr_array(X, dtype=self.dtype) if sp.issparse(X) else X

    def matrix(self) -> Any:
        return self.rows(0, self.shape[0])
