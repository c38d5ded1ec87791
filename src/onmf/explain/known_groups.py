"""The table of distinctive features for groups of samples that are given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onmf.explain.checks import check_groups, check_names
from onmf.explain.comparison import Ranking, compare_groups
from onmf.explain.markers import Markers
from onmf.explain.reading import place_samples
from onmf.explain.separation import Separation
from onmf.explain.significance import Significance
from onmf.explain.sums import sum_by_cluster
from onmf.rows.sweep import Array
from onmf.rows.threads import single_threaded_blas


def groups(
    labels: Any,
    X: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    log_base: float | None = None,
    rank: Ranking = "mean",
) -> Markers:
    """The table of distinctive features for any groups of samples; reads X once.

    The p-values hold for groups that are known independently of X. For clusters that were found
    from X they are far too small: use `clusters`.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Numbers or names; a negative number, None, NaN or an empty name means no group.
    X : as for `ONMF.fit`
    feature_names, sample_weight, log_base, rank
        As for `clusters`.

    Returns
    -------
    Markers

    Examples
    --------
    >>> from onmf import explain
    >>> table = explain.groups(["a", "a", "b", "b"], [[3, 1], [2, 1], [0, 1], [0, 2]])
    >>> next(table.rows()).feature
    'x0'
    """
    known, numbers = numbered_groups(labels)
    options: dict[str, Any] = {
        "features": feature_names,
        "sample_weight": sample_weight,
        "log_base": log_base,
    }
    return table_of_groups(known, numbers, X, rank=rank, **options)


def table_of_groups(
    known: list[Any],
    numbers: Array,
    X: Any,
    *,
    features: Any,
    sample_weight: Any,
    log_base: Any,
    rank: Ranking,
    separation: Separation | None = None,
) -> Markers:
    """The table for groups by number, of which -1 is none; for clusters with their gaps."""
    rows = place_samples(X, sample_weight, len(numbers), f"there are {len(numbers)} labels")
    features = getattr(X, "columns", None) if features is None else features
    names = check_names(features, rows.data.shape[1])
    check_groups(numbers)
    with single_threaded_blas():
        sums = sum_by_cluster(rows.data, numbers, len(known))
    facts = compare_groups(sums, log_base, 1 / rows.scale, rank)
    if separation is None:
        tests = Significance.of_known_groups(sums)
    else:
        tests = Significance.of_clusters([(np.arange(len(names)), sums)], separation)
    return Markers.of(known, sums.samples[:, 0], names, facts, tests)


def numbered_groups(labels: Any) -> tuple[list[Any], Array]:
    """The groups, and the number of the group of each sample; -1 for none."""
    given = list(labels)
    missing = [
        label is None or label != label or label == "" or (not isinstance(label, str) and label < 0)
        for label in given
    ]
    named = {label for label, none in zip(given, missing, strict=True) if not none}
    known = sorted(named, key=lambda label: (isinstance(label, str), label))
    place = {label: i for i, label in enumerate(known)}
    numbers = [-1 if none else place[label] for label, none in zip(given, missing, strict=True)]
    return [getattr(label, "item", lambda own=label: own)() for label in known], np.array(numbers)
