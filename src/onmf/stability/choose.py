"""`consensus` and `choose_k`: from a model and data to what the runs agree on, and to one K."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from onmf.estimators.parameters import as_k_range, check_number
from onmf.ledger import Ledger, Row
from onmf.stability import choice as words
from onmf.stability import rule
from onmf.stability.agreement import Consensus, agree, majority
from onmf.stability.choice import KChoice
from onmf.stability.evidence import SMALLEST, Evidence
from onmf.stability.runners import Progress
from onmf.stability.trials import has_more_than, has_starts, prepare

Array = NDArray[Any]

MOST = 80  # clusters, where nobody says how many
PER_CLUSTER = 5  # samples that each cluster has at least, on average, where nobody says
ALIVE, CLEAR = 0.5, 0.72  # features tell clusters alike at the end: there may, or must, be more
MAX_BEST_SHARE = 0.7  # of the last K, up to which the best is far below it
FALLEN = 0.9  # of the best score


def consensus(
    model: ClusterMixin,
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
        `ONMF` with its default solver: threads, as in `ONMF`. Other models: processes, one if None.
    ledger : Ledger or path, optional
        Keeps every run on disk as it ends: a killed call goes on where it was.
    progress : callable, optional
        Called with (runs done, runs in all).

    Returns
    -------
    Consensus

    Notes
    -----
    The runs of `ONMF` with its default solver share one sketch of the data and all sweeps (see
    `onmf.stability.many`), and ``n_init="auto"`` means one start, for the runs themselves are
    starts. Up to rounding, a run does not depend on the others.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> from onmf.stability import consensus
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
    model: ClusterMixin,
    X: Any,
    k_range: Iterable[int] | None = None,
    *,
    sample_weight: Any = None,
    n_runs: int = 8,
    n_jobs: int | None = None,
    ledger: Ledger | str | Path | None = None,
    beyond: bool = True,
    progress: Progress | None = None,
) -> KChoice:
    r"""Recommend a number of clusters, and say why.

    The samples are cut in two halves, several times, and each half is clustered with K. A cluster
    is solid in so far as the other half of the samples finds it again (overlap J), both halves of
    the features tell it alike (overlap A), and few of its samples (share B) lie near a border; a
    share M of all samples keeps its cluster:

    .. math::  q_k = J_k \sqrt{A_k} (1 - B_k)^3, \qquad
               \text{score}(K) = \sum_k (q_k - c) - 4 \min(K, 8) \max(0, 0.9 - M).

    Clusters of outliers do not count.
    Recommended is the K with the largest score: the most solid clusters; where none is above zero,
    that of which most is found again. The score of K depends on the data and K alone, neither on
    the other K asked for nor on a seed.

    Parameters
    ----------
    model : ONMF or any scikit-learn clusterer with `n_clusters` or `n_components`
        Not changed; its own number of clusters is ignored.
    X : array, sparse matrix, DataFrame or path of shape (n_samples, n_features)
    k_range : iterable of int, optional
        The numbers of clusters to try, increasing, for example ``range(2, 11)``. By default from 2
        until the score has clearly fallen, at most 80 and a fifth of the samples.
    sample_weight : array of shape (n_samples,), optional
        Weights for the fits; samples without weight are left out of the figures.
    n_runs : int, default=8
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
        most = max(min(MOST, n // PER_CLUSTER), 2)
        asked, ended = (
            _until_fallen(known, most) if ks is None else _widened(known, ks, most, beyond)
        )
        usable = {k: known.figures[k] for k in asked if k in known.figures}
        if not usable:
            raise ValueError(f"no K in k_range could be judged: {known.failed[asked[0]]}.")
        verdict = rule.decide(usable)
        fitted = experiment.fit(verdict.best, X)
        labels = np.asarray(
            fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(experiment.X)
        )
        runs = {k: known.labels(k, n) for k in {*verdict.scales, verdict.best}}
    chosen = agree(runs[verdict.best], verdict.best, labels.astype(np.intp))
    voted = {k: chosen.labels if k == verdict.best else majority(runs[k], k) for k in runs}
    return KChoice(
        verdict.best,
        verdict.runner_up,
        words.reason(verdict, usable, asked, n, ended),
        verdict.confidence,
        [words.row(k, known.figures.get(k), known.failed.get(k, "")) for k in asked],
        chosen,
        words.scales(verdict.scales, usable, voted, verdict.best),
        verdict.evidence,
        fitted,
    )


def _until_fallen(known: Evidence, most: int) -> tuple[list[int], str]:
    """All K from 2 to 20, 40, ...: on while the score has not fallen clearly at the end."""
    last = min(SMALLEST, most)
    while True:
        ks = list(range(2, last + 1))
        known.ask(ks)
        if last == most:
            return ks, f"; no K above {most} was tried"
        if last not in known.figures or _fallen(known, ks):
            return ks, ""
        last = min(2 * last, most)


def _fallen(known: Evidence, ks: list[int]) -> bool:
    """Whether larger K are not worth looking at."""
    score = {k: known.figures[k].score for k in ks if k in known.figures}
    best, end = max(score, key=lambda k: score[k]), known.figures[ks[-1]]
    if end.alike < ALIVE:
        return True
    if (
        end.alike >= CLEAR and best <= MAX_BEST_SHARE * ks[-1]
    ):  # pieces of clusters are not told alike
        return False
    return score[best] > 0 and best <= 0.75 * ks[-1] and end.score < FALLEN * score[best]


def _widened(known: Evidence, ks: list[int], most: int, beyond: bool) -> tuple[list[int], str]:
    """The K asked for and, if allowed, more of them while the last is the best."""
    known.ask(ks)
    asked, step = list(ks), ks[-1] - ks[-2] if len(ks) > 1 else 1
    while True:
        score = {k: known.figures[k].score for k in asked if k in known.figures and k > 1}
        at_the_end = bool(score) and max(score, key=lambda k: score[k]) == asked[-1]
        if not (at_the_end and len(asked) > 1):
            break
        if not beyond:
            return asked, "; it is the largest K asked for, so larger ones may be better"
        if asked[-1] + step > most:
            return asked, f"; it is the largest K tried, for no more than {most} were allowed"
        asked.append(asked[-1] + step)
        known.ask(asked)
    more = asked[len(ks) :]
    return asked, f"; the search went on to K={asked[-1]}, past the range" if more else ""


def _failures(rows: list[Row], what: str) -> str:
    """How many of the rows failed and why, or nothing."""
    errors = [row.error for row in rows if row.state == "failed"]
    return f"{len(errors)} of {len(rows)} {what}: {errors[0]}" if errors else ""


def _consensus_of(rows: list[Row], k: int) -> Consensus:
    """The consensus of the runs that did not fail."""
    labels = [np.asarray(row.labels, np.intp) for row in rows if row.state == "done"]
    if len(labels) < 2:
        raise ValueError(f"K={k} cannot be judged: {_failures(rows, 'runs')}.")
    return agree(np.column_stack(labels), k)


@contextmanager
def _open_ledger(ledger: Ledger | str | Path | None) -> Iterator[Ledger]:
    """The ledger given, or that of a file, or one that lives as long as the call."""
    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with Ledger(":memory:" if ledger is None else ledger) as book:
            yield book
