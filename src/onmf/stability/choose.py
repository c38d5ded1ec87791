"""`consensus` and `choose_k`: from a model and data to what the runs agree on, and to one K."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from onmf.estimators.parameters import as_k_range, check_number
from onmf.ledger import Ledger, Row
from onmf.stability import rule
from onmf.stability.agreement import Consensus, agree
from onmf.stability.choice import Curve, Facts, KChoice, conclude
from onmf.stability.errors import centres, silhouette
from onmf.stability.runners import Progress, SklearnClusterer
from onmf.stability.trials import Experiment, has_more_than, prepare

Array = NDArray[Any]


def consensus(
    model: SklearnClusterer,
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
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
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
    k = model.get_params()[experiment.name]
    check_number(k, experiment.name, 1, whole=True)
    has_more_than(experiment.X, k)
    with _open_ledger(ledger) as book:
        experiment.runner(book, experiment.runs(k), progress)
        return _consensus_of(book.rows(experiment.runs(k)), k)


def choose_k(
    model: SklearnClusterer,
    X: Any,
    k_range: Iterable[int],
    *,
    n_runs: int = 10,
    n_jobs: int | None = None,
    ledger: Ledger | str | Path | None = None,
    early_stop: bool = True,
    progress: Progress | None = None,
) -> KChoice:
    r"""Recommend a number of clusters, and say why.

    For each K the features are cut into four parts; with one part held out the rest is clustered,
    and every entry of the part is predicted from the other features of its sample and the other
    samples of its cluster. The sum of squared errors, over ||X||^2, is the held-out error e(K).
    With gain_j the fall of e per cluster in the step to K_j, the score

    .. math::

        \frac{\text{gain}_j - s_j}{\max(\text{gain}_{j+1} + s_{j+1}, \text{gain}_{j+2} + s_{j+2},
        \ldots, s_{j+1})} \cdot \frac{K_{j-1}}{K_{j+1}}

    is about 1 for data without clusters (e ~ 1/K) and large where no later step pays as much; s is
    the standard error of a gain. Recommended is the K with the largest score among those whose
    clusters are found again: their labels agree (adjusted Rand index) with those of the fits that
    miss a part as well as at the best K, or at most 0.05 worse.

    Parameters
    ----------
    model : ONMF or any scikit-learn clusterer with `random_state`
        Not changed; its own number of clusters is ignored.
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
    k_range : iterable of int
        The numbers of clusters to try, increasing, for example ``range(2, 11)``. One more on either
        side is looked at to judge the ends.
    n_runs : int, default=10
        Runs for each K, at least two; seeds as in `consensus`.
    n_jobs : int, optional
        `ONMF` with its default solver: threads. Other models: processes, one if None.
    ledger : Ledger or path, optional
        Keeps every fit on disk as it ends: a killed call goes on where it was.
    early_stop : bool, default=True
        Make no runs for K more than three places after the last that lowers the held-out error;
        their rows have only that error.
    progress : callable, optional
        Called with (fits done, fits in all).

    Returns
    -------
    KChoice

    Examples
    --------
    >>> from onmf import ONMF, choose_k
    >>> from onmf.datasets import make_rays
    >>> X, y = make_rays(300, 40, 4, random_state=0)
    >>> choose_k(ONMF(random_state=0), X, range(2, 8), n_runs=3).best_k
    4
    """
    ks = as_k_range(k_range)
    experiment = prepare(model, X, n_runs, n_jobs)
    more = has_more_than(experiment.X, ks[-1])
    around = [*([ks[0] - 1] if ks[0] > 1 else []), *ks, *([ks[-1] + 1] if more else [])]
    with _open_ledger(ledger) as book:
        curve = _held_out_curve(experiment, book, around, len(ks) * n_runs, progress)
        last = ks[-1]
        if early_stop and len(curve.ks) > 1:
            last = max(rule.last_of_interest(curve.ks, curve.errors), ks[0])
        wanted = [k for k in ks if k <= last]
        trials = [trial for k in wanted for trial in experiment.runs(k)]
        experiment.runner(
            book, trials, _second_part(progress, len(around) * experiment.parts.n_folds)
        )
        facts = {k: _facts(experiment, k, book.rows(experiment.runs(k)), curve) for k in wanted}
    return conclude(ks, curve, facts, experiment.seeds[0])


def _held_out_curve(
    experiment: Experiment, book: Ledger, ks: Sequence[int], runs: int, progress: Progress | None
) -> Curve:
    """Cluster without each part of the features, and predict it."""
    trials = [trial for k in ks for trial in experiment.folds(k)]
    experiment.runner(book, trials, _first_part(progress, runs))
    rows = {k: book.rows(experiment.folds(k)) for k in ks}
    failed = {k: _failures(rows[k], "fits without a part of the features") for k in ks}
    good = [k for k in ks if not failed[k]]
    errors = [np.sum([row.result["errors"] for row in rows[k]], axis=0) for k in good]
    labels = {k: [row.labels for row in rows[k] if row.labels is not None] for k in good}
    parts = experiment.parts
    relative = np.reshape(errors, (len(good), parts.n_groups)) / experiment.runner.data.sqnorm
    return Curve(good, relative, labels, failed, held_features=parts.n_folds > 1)


def _failures(rows: list[Row], what: str) -> str:
    """How many of the rows failed and why, or nothing."""
    errors = [row.error for row in rows if row.state == "failed"]
    return f"{len(errors)} of {len(rows)} {what}: {errors[0]}" if errors else ""


def _first_part(progress: Progress | None, to_come: int) -> Progress | None:
    """Progress of the first part of the work."""
    return None if progress is None else lambda done, total: progress(done, total + to_come)


def _second_part(progress: Progress | None, gone: int) -> Progress | None:
    """Progress of the second part."""
    return None if progress is None else lambda done, total: progress(done + gone, total + gone)


def _facts(experiment: Experiment, k: int, rows: list[Row], curve: Curve) -> Facts:
    """What the runs of one K agree on, and how good it is."""
    done, failed = [row for row in rows if row.state == "done"], _failures(rows, "runs")
    if len(done) < 2:
        return Facts(None, np.nan, np.nan, np.nan, failed)
    consensus = _consensus_of(rows, k)
    others = curve.labels.get(k, []) if curve.held_features else list(consensus.labels_runs.T)
    agreement = [adjusted_rand_score(consensus.labels, labels) for labels in others]
    data, rays = experiment.runner.data, done[0].result["rays"]
    W = centres(data, consensus.labels, k, rays).W
    return Facts(
        consensus,
        float(np.mean(agreement)) if agreement else np.nan,
        min(_error_of(experiment, row, k) for row in done),
        silhouette(data, consensus.labels, W, rays),
        failed,
    )


def _error_of(experiment: Experiment, row: Row, k: int) -> float:
    """The relative error of a run: its own word, or that of the means of its clusters."""
    if "relative_error" in row.result:
        return float(row.result["relative_error"])
    return centres(
        experiment.runner.data, _as_index(row.labels), k, row.result["rays"]
    ).relative_error


def _consensus_of(rows: list[Row], k: int) -> Consensus:
    """The consensus of the runs that did not fail."""
    labels = [_as_index(row.labels) for row in rows if row.state == "done"]
    if len(labels) < 2:
        raise ValueError(f"K={k} cannot be judged: {_failures(rows, 'runs')}.")
    return agree(np.column_stack(labels), k)


def _as_index(labels: Array | None) -> Array:
    """Labels as an index array."""
    return np.asarray(labels, np.intp)


@contextmanager
def _open_ledger(ledger: Ledger | str | Path | None) -> Iterator[Ledger]:
    """The ledger given, or that of a file, or one that lives as long as the call."""
    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with Ledger(":memory:" if ledger is None else ledger) as book:
            yield book
