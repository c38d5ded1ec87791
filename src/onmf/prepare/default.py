"""What data need first, and which loss suits them: the preparation where nobody asks for another.

    texts             counts of words, for loss="kl"
    reads of genes    10,000 x_ij / sum_j x_ij,  then as amounts
    amounts of genes  log2(1 + x_ij),  then the 1,500 most variable of many genes
    different units   every feature with the same weight
    other counts      as they are, for loss="kl"

Clusters of counts of genes as they are are depths of sequencing, and a few genes decide. A total of
10,000 is that of scanpy and Seurat; with counts per million, noise of small counts weighs more. A
few features with the largest numbers, proline in milligrams beside alcohol in percent, decide the
clusters alone: with s_j = sum_i x_ij^2 that is

    (s_(1) + ... + s_(c)) / sum_j s_j >= 0.95,   c <= 3 and c <= m / 2.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.prepare.arrays import Array, feature_squares, known_totals, parts_of
from onmf.prepare.base import Step
from onmf.prepare.genes import are_genes
from onmf.prepare.steps import Depth, Log, Rescale, Tfidf, Unit, Variable
from onmf.prepare.texts import Words, as_texts
from onmf.rows import is_dask

COUNT_TOTAL = 1e4
VARIABLE_GENES = 1500  # `make bench ONLY=expression`: 500 to 3,000 give about the same
MANY_GENES = 3000  # of fewer, most vary
LARGEST_LOGARITHM = 100  # of the 99th percentile, as GEO2R tells amounts from logarithms
FEWEST_GENES = 100  # in a panel of fewer, one gene changes the shares of all others
SMALLEST_MAXIMUM = 10  # counts of mutations or copies are smaller, and no depth is in them
UNEQUAL = 1.1  # ratio of the 95th to the 5th percentile of totals; below, they were made equal
FIRST_LOOK = 1000  # rows of measurements nearly always have a fraction: the others are not read
# 0.9 to 0.99, and 3 to 5 features, gain the same on 28 tables; with 1 feature a third is lost.
DOMINANT_SHARE = 0.95
MOST_DOMINANT = 3

STEPS: dict[str, Any] = {
    step.name: step for step in (Words, Depth, Log, Variable, Rescale, Tfidf, Unit)
}


class Preparation(NamedTuple):
    """The result of `default_preparation`.

    Attributes
    ----------
    steps : list of transformers
        Not fitted yet.
    loss : str
        That suits the data after them.
    notes : list of str
        Why: a sentence for what was decided.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf.prepare import default_preparation
    >>> default_preparation(np.eye(3)).steps
    []
    """

    steps: list[Any]
    loss: str
    notes: list[str]


def default_preparation(
    data: Any, features: Sequence[str] | None = None, *, loss: str = "auto"
) -> Preparation:
    """The steps that suit data, the loss, and a sentence for each decision.

    Parameters
    ----------
    data : array, CSR matrix, DataFrame, rows on disk or texts
        Judged by the first part of rows on disk.
    features : sequence of str, optional
        Names of the features, which tell genes; by default those of a DataFrame.
    loss : str, default="auto"
        The loss that will be used, if it is known.

    Returns
    -------
    Preparation

    Examples
    --------
    >>> import pandas as pd
    >>> from onmf.prepare import default_preparation
    >>> wine = pd.DataFrame({"alcohol": [12.8, 13.2], "hue": [1.0, 1.1], "proline": [900, 1200]})
    >>> default_preparation(wine).steps
    [Rescale()]
    """
    if as_texts(data) is not None:
        words = [Words()] if loss in ("auto", "kl") else [Words(), Log(), Tfidf()]
        return Preparation(words, "kl" if loss == "auto" else loss, [])
    if is_dask(data):
        return Preparation([], "frobenius" if loss == "auto" else loss, [])
    names = getattr(data, "columns", ()) if features is None else features
    X = data.to_numpy() if hasattr(data, "columns") else data
    if loss != "kl":
        for found in (for_genes(X, [str(name) for name in names]), for_units(X, names)):
            if found is not None:
                steps, notes = found
                return Preparation(steps, "frobenius" if loss == "auto" else loss, notes)
    if loss == "auto" and are_counts(X):
        said = "these are counts: they are clustered by loss='kl'"
        return Preparation([], "kl", [said])
    return Preparation([], "frobenius" if loss == "auto" else loss, [])


def for_genes(X: Any, names: Sequence[str]) -> tuple[list[Step], list[str]] | None:
    """The steps for gene expression, if features have the names of genes."""
    if len(names) < FEWEST_GENES or not are_genes(names):
        return None
    steps: list[Step] = []
    notes: list[str] = []
    counts = are_raw_counts(X)
    if counts:
        steps, notes = [Depth(COUNT_TOTAL)], ["raw counts of genes were scaled to the same total"]
    if counts or are_amounts(X):
        steps, notes = [*steps, Log()], [*notes, "logarithms were taken"]
    if len(names) > MANY_GENES:
        said = f"the {VARIABLE_GENES} most variable of {len(names)} genes are used"
        steps, notes = [*steps, Variable(VARIABLE_GENES)], [*notes, said]
    return (steps, notes) if steps else None


def for_units(X: Any, names: Sequence[Any]) -> tuple[list[Step], list[str]] | None:
    """`Rescale` for measurements in different units; nothing for counts of events and scores.

    Counts have one unit. Features that dominate and have both signs are principal components or
    entries of an embedding, whose sizes mean something.
    """
    part = first_part(X)
    if not isinstance(part, np.ndarray) or not part.size or are_counts(part):
        return None
    with np.errstate(over="ignore"):  # the entries are not checked yet
        found = dominant_features(feature_squares(part))
    if found is None:
        return None
    largest, share = part[:, found[0]], found[1]
    if ((np.fmin.reduce(largest) < 0) & (np.fmax.reduce(largest) > 0)).any():
        return None
    called = [str(names[j]) if len(names) else f"feature {j}" for j in found[0]]
    has = "has" if len(called) == 1 else "have"
    said = f"{', '.join(called)} alone {has} {100 * share:.3g} % of the sum of squares, "
    return [Rescale()], [f"{said}as in different units: every feature gets the same weight"]


def dominant_features(squares: Array) -> tuple[list[int], float] | None:
    """The few features with nearly all of the sum of squares, and their share; given s_j."""
    m, total = len(squares), squares.sum()
    if m < 3 or not 0 < total < np.inf:
        return None
    order = np.argsort(-squares, kind="stable")
    shares = squares[order].cumsum() / total
    count = int(np.searchsorted(shares, DOMINANT_SHARE)) + 1
    if count > min(MOST_DOMINANT, m // 2):
        return None
    return order[:count].tolist(), float(shares[count - 1])


def first_part(X: Any) -> Any:
    """The first rows of data on disk; all of an array."""
    return next(iter(parts_of(X)), None)


def are_raw_counts(X: Any) -> bool:
    """Whether entries are whole, some zero and some large, and samples have different totals."""
    part = first_part(X)
    if part is None or not part.shape[0]:
        return False
    values = part.data if sp.issparse(part) else np.asarray(part)
    if values.dtype.kind not in "biuf":
        return False
    if any((np.floor(some) < some).any() for some in (values[:FIRST_LOOK], values)):
        return False
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    zeros = (
        part.nnz < np.prod(part.shape, dtype=float) if sp.issparse(part) else (values == 0).any()
    )
    if not values.size or not zeros or values.min() < 0 or not SMALLEST_MAXIMUM < values.max():
        return False
    if not np.isfinite(values.max()):
        return False
    low, high = np.percentile(known_totals(part), [5, 95])
    return bool(high > UNEQUAL * low)


def are_counts(X: Any) -> bool:
    """Whether these are raw counts in which one is the most frequent number above zero.

    So are words in documents and reads of genes in cells, unlike the grey levels of images, whose
    most frequent number is the brightest. With missing values they are not, for "kl" has none.
    """
    part = first_part(X)
    if part is None or not are_raw_counts(part):
        return False
    values = part.data if sp.issparse(part) else np.asarray(part)
    numbers, times = np.unique(values[values > 0], return_counts=True)
    return bool(numbers[times.argmax()] == 1) and not np.isnan(values.sum())


def are_amounts(X: Any) -> bool:
    """Whether entries are not negative, and too large for logarithms."""
    part = first_part(X)
    if part is None or not part.shape[0]:
        return False
    values = part.data if sp.issparse(part) else np.ravel(part)
    values = values[np.isfinite(values)]
    if not values.size or values.min() < 0:
        return False
    return bool(np.percentile(values, 99) > LARGEST_LOGARITHM)
