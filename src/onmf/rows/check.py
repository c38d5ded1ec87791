"""What rows must be, wherever they are: finite and, unless signed data are wanted, not negative.

Every error is one sentence: what is wrong, where (up to ten places), what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.rows.memory import measure
from onmf.rows.summary import BottomKSampler, Summary
from onmf.rows.sweep import Array, Block
from onmf.rows.table import MOST_LISTED, listing

Matrix = Any  # an array or a csr_array


@dataclass(frozen=True)
class Check:
    """What may be in X, and who asks; small enough to be sent to rows that are elsewhere."""

    name: str  # of the estimator
    signed: bool = False  # whether entries may be negative
    remedy: str = "it needs non-negative data"  # what to do about those that are
    allow_missing: bool = False  # whether NaN may stand for entries that were not observed
    names: tuple[Sequence[str], Sequence[str]] | None = None  # of samples and features, if known

    def __call__(self, X: Matrix, first: int = 0) -> "Span":
        """The extremes of rows that pass, and their holes; `first` is the number of the first."""
        values = X.data if sp.issparse(X) else X
        low, high = stored_extremes(X)
        missing = np.isnan(values) if self.allow_missing and np.isnan(low) else None
        if missing is not None:
            low, high = (float(end.reduce(values, axis=None)) for end in (np.fmin, np.fmax))
            low, high = (low, high) if low == low else (0.0, 0.0)  # nothing was observed
        finite = bool(np.isfinite(low) and np.isfinite(high))  # their sum need not be
        if self.allow_missing and not finite:
            raise ValueError(
                f"Input X contains infinity at {self._at(X, np.isinf(values), first)}: make it NaN "
                "if it was not observed, or drop the samples."
            )
        if not finite:
            raise ValueError(
                f"Input X contains NaN or infinity at {self._at(X, ~np.isfinite(values), first)}: "
                "fill these entries or drop the samples."
            )
        if not self.signed and low < 0:
            raise ValueError(
                f"Negative values in data passed to {self.name} at "
                f"{self._at(X, values < 0, first)}: {self.remedy}."
            )
        return Span(low, high, 0 if missing is None else int(missing.sum()))

    def _at(self, X: Matrix, wrong: Array, first: int) -> str:
        return cells(X, wrong, first, self.names)


def stored_extremes(X: Matrix) -> tuple[float, float]:
    """Smallest and largest stored entry; NaN if there is one."""
    values = X.data if sp.issparse(X) else X
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def cells(
    X: Matrix,
    wrong: Array,
    first: int = 0,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
) -> str:
    """Where `wrong` (a mask over X or over its stored entries) is true, in words.

    By the names of samples and features if they are known, else by their numbers.
    """
    if sp.issparse(X):
        stored = np.flatnonzero(wrong)
        rows = np.searchsorted(X.indptr, stored, side="right") - 1
        columns = X.indices[stored]
    else:
        rows, columns = np.nonzero(wrong)
    places = zip(rows[:MOST_LISTED].tolist(), columns[:MOST_LISTED].tolist(), strict=True)
    if names is None:
        named = [f"(row {first + i}, column {j})" for i, j in places]
    else:
        named = [f"(sample {names[0][first + i]!r}, feature {names[1][j]!r})" for i, j in places]
    return listing(named, len(rows))


@dataclass(frozen=True)
class Span:
    """Smallest and largest entry, and how many are holes; sums take in both."""

    low: float
    high: float
    n_missing: int = 0

    def __add__(self, other: "Span") -> "Span":
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Span(low, high, self.n_missing + other.n_missing)


class Inspection(NamedTuple):
    """Weighted ||X||^2, and the range of the entries."""

    sqnorm: float
    span: Span

    @property
    def extremes(self) -> tuple[float, float]:
        return self.span.low, self.span.high


@dataclass(frozen=True)
class CheckBlock:
    """||x_i||^2 of a block that passes the check."""

    check: Check

    def __call__(self, block: Block, first: int) -> tuple[Array, Inspection]:
        span = entries_of(block, self.check, first)
        sqnorms, size = measure(block, None)
        return sqnorms, Inspection(size.sqnorm, span)


def entries_of(block: Block, check: Check, first: int) -> Span:
    """The range of the entries of a block that passes the check."""
    span = check(block.X, first)
    if sp.issparse(block.X) and block.X.nnz < block.X.shape[0] * block.X.shape[1]:
        span += Span(0, 0)  # the entries that are not stored
    return span


class SampledInspection(NamedTuple):
    """An inspection that also brings a summary of the rows."""

    sqnorm: float
    span: Span
    summary: Summary

    @property
    def extremes(self) -> tuple[float, float]:
        return self.span.low, self.span.high


@dataclass(frozen=True)
class CheckAndSample:
    """Validate rows that are read only a few times, and sample them."""

    inspect: CheckBlock
    sampler: BottomKSampler

    def __call__(self, block: Block, first: int) -> tuple[Array, SampledInspection]:
        sqnorms, seen = self.inspect(block, first)
        return sqnorms, SampledInspection(*seen, self.sampler.draw(block, first))


@dataclass(frozen=True)
class CheckAndSampleOnce:
    """Validate and sample rows that are read once: nothing is kept per row."""

    check: Check
    sampler: BottomKSampler

    def __call__(self, block: Block, first: int) -> tuple[None, SampledInspection]:
        span, summary = entries_of(block, self.check, first), self.sampler.draw(block, first)
        return None, SampledInspection(summary.influence, span, summary)
