"""`consensus` and `choose_k`: from a model and data to what the runs agree on, and to one K."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from onmf.estimators import ONMF, Baseline
from onmf.estimators.parameters import as_k_range, check_number
from onmf.ledger import Ledger, Row
from onmf.number import choice as words
from onmf.number import rule
from onmf.number.agreement import Consensus, agree, majority
from onmf.number.choice import KChoice
from onmf.number.evidence import SMALLEST, Evidence, Progress
from onmf.number.trials import has_more_than, has_starts, prepare

Array = NDArray[Any]
Clusterer: TypeAlias = ONMF | Baseline | ClusterMixin  # the same at run time

MOST = 80  # clusters, where nobody says how many


def consensus(
    model: Clusterer,
    X: Any,
    n_runs: int = 20,
    *,
    n_jobs: int | None = None,
    ledger: Ledger | str | Path | None = None,
    progress: Progress | None = None,
) -> Consensus:
    """Run a clusterer from different starts and say what the runs agree on.

    Parameters
    ----------
    model : ONMF or any scikit-learn clusterer with `random_state`
        Not changed. Its `n_clusters` (or `n_components`) is K.
    X : array, sparse matrix, DataFrame or path of shape (n_samples, n_features)
    n_runs : int, default=20
        At least two. The seeds are s, s + 1, ... for an integer ``random_state=s`` of the model, 0,
        1, ... for None.
    n_jobs : int, optional
        `ONMF`: threads. Other models: processes, one if None.
    ledger : Ledger or path, optional
        Keeps every run on disk as it ends: a killed call goes on where it was.
    progress : callable, optional
        Called with (runs done, runs in all).

    Returns
    -------
    Consensus

    Notes
    -----
    A run is the fit of its seed. For `ONMF`, ``n_init="auto"`` means one start here, for the runs
    themselves are starts.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> from onmf.number import consensus
    >>> X, y = make_rays(200, 30, 4, random_state=0)
    >>> consensus(ONMF(4, random_state=0), X, n_runs=5).cophenetic
    1.0
    """
    experiment = prepare(model, X, n_runs, n_jobs)
    has_starts(model)
    k = model.get_params()[experiment.name]
    check_number(k, experiment.name, 1, whole=True)
    has_more_than(experiment.X, k)
    with _open_ledger(ledger) as book:
        experiment.fits(book, experiment.runs(k), progress)
        return _consensus_of(book.rows(experiment.runs(k)), k)


def choose_k(
    model: Clusterer,
    X: Any,
    k_range: Iterable[int] | None = None,
    *,
    sample_weight: Any = None,
    n_runs: int = 12,
    n_jobs: int | None = None,
    ledger: Ledger | str | Path | None = None,
    beyond: bool = True,
    progress: Progress | None = None,
) -> KChoice:
    r"""Recommend a number of clusters, and say how much of them comes back.

    The samples are cut in two halves, several times. Each half is clustered with K, and labels all
    samples. With J the mean overlap of the clusters of two halves, M the share of the samples that
    keep their cluster, and V the density of samples at borders over that inside,

    .. math::  S = (J + M) / 2, \qquad \text{score}(K) = \log(K) \, S^{2.5} / (1 + \min(V, 0.4)),

    and the K with the largest score is recommended, among those with at least eight samples a
    cluster on average. The score of K depends on the data and K alone, neither on the other K asked
    for, nor on a seed, nor on the order of the samples.

    Parameters
    ----------
    model : ONMF or any scikit-learn clusterer with `n_clusters` or `n_components`
        Not changed; its own number of clusters is ignored.
    X : array, sparse matrix, DataFrame or path of shape (n_samples, n_features)
    k_range : iterable of int, optional
        The numbers of clusters to try, increasing, for example ``range(2, 11)``. By default 2 to
        20, and twice as many while the best is above half of the last, at most 80 and an eighth of
        the samples.
    sample_weight : array of shape (n_samples,), optional
        Weights for the fits; samples without weight are left out of the figures.
    n_runs : int, default=12
        Fits on halves for each K, at least two; an odd number is one more.
    n_jobs : int, optional
        `ONMF` with its default solver: threads. Other models: processes, one if None.
    ledger : Ledger or path, optional
        Keeps every fit on disk as it ends: a killed call goes on where it was.
    beyond : bool, default=True
        Go on past `k_range` while its last K is the best.
    progress : callable, optional
        Called with (parts of the work done, parts in all).

    Returns
    -------
    KChoice

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> choose_k(ONMF(random_state=0), X, range(2, 8)).best_k
    4
    """
    ks = None if k_range is None else as_k_range(k_range)
    experiment = prepare(model, X, n_runs, n_jobs, sample_weight)
    has_more_than(experiment.X, 1 if ks is None else ks[-1])
    with _open_ledger(ledger) as book:
        known = experiment.evidence(book, (n_runs + 1) // 2, progress)
        n = experiment.X.shape[0]
        most = max(min(MOST, n // rule.FEWEST_PER_CLUSTER), 2)
        asked, ended = (
            _until_far_below(known, most) if ks is None else _widened(known, ks, most, beyond)
        )
        usable = {k: known.figures[k] for k in asked if k in known.figures}
        if not usable:
            raise ValueError(f"no K in k_range could be judged: {known.failed[asked[0]]}.")
        verdict = rule.decide(usable, n)
        fitted = experiment.fit(verdict.best, X)
        labels = np.asarray(
            fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(experiment.X), np.intp
        )
        runs = {k: known.labels(k, n) for k in verdict.scales}
    own = {k: labels if k == verdict.best else majority(runs[k], k) for k in runs}
    return KChoice(
        verdict.best,
        words.sentence(verdict, usable, n, ended),
        [words.row(k, known.figures.get(k), known.failed.get(k, "")) for k in asked],
        words.scales(verdict.scales, usable, own),
        verdict.evidence,
        fitted,
        runs[verdict.best],
        labels,
    )


def _best(known: Evidence, ks: list[int], n: int) -> int | None:
    """The best of these K, as far as they could be judged."""
    usable = {k: known.figures[k] for k in ks if k in known.figures}
    return rule.decide(usable, n).best if usable else None


def _until_far_below(known: Evidence, most: int) -> tuple[list[int], str]:
    """All K from 2 to 20, 40, ...: on while the best is above half of the last."""
    last = min(SMALLEST, most)
    while True:
        ks = list(range(2, last + 1))
        known.ask(ks)
        best = _best(known, ks, rule.FEWEST_PER_CLUSTER * most)
        if best is None or 2 * best <= last or last not in known.figures:
            return ks, ""
        if last == most:
            return ks, f" No K above {most} was tried."
        last = min(2 * last, most)


def _widened(known: Evidence, ks: list[int], most: int, beyond: bool) -> tuple[list[int], str]:
    """The K asked for and, if allowed, more of them while the last is the best."""
    known.ask(ks)
    asked, step = list(ks), ks[-1] - ks[-2] if len(ks) > 1 else 1
    while len(asked) > 1 and _best(known, asked, rule.FEWEST_PER_CLUSTER * asked[-1]) == asked[-1]:
        if not beyond:
            return asked, " It is the largest K asked for: larger ones may be better."
        if asked[-1] + step > most:
            return asked, f" No K above {asked[-1]} was tried."
        asked.append(asked[-1] + step)
        known.ask(asked)
    more = asked[len(ks) :]
    return asked, f" The search went on to K={asked[-1]}, past the range." if more else ""


def _consensus_of(rows: list[Row], k: int) -> Consensus:
    """The consensus of the runs that did not fail."""
    labels = [np.asarray(row.labels, np.intp) for row in rows if row.state == "done"]
    if len(labels) < 2:
        errors = [row.error for row in rows if row.state == "failed"]
        raise ValueError(f"K={k} cannot be judged: {len(errors)} of {len(rows)} runs: {errors[0]}.")
    return agree(np.column_stack(labels), k)


@contextmanager
def _open_ledger(ledger: Ledger | str | Path | None) -> Iterator[Ledger]:
    """The ledger given, or that of a file, or one that lives as long as the call."""
    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with Ledger(":memory:" if ledger is None else ledger) as book:
            yield book
