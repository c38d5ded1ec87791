"""`choose_k`: from a model and data to one K, by what halves of the samples agree on."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight

from onmf.estimators import ONMF
from onmf.estimators.parameters import as_k_range, check_number, check_parameters
from onmf.exceptions import UnassignedSampleWarning, UnobservedWarning
from onmf.losses.filling import filled_copy
from onmf.number import choice as words
from onmf.number import rule
from onmf.number.choice import KChoice
from onmf.number.counts import CountHalf
from onmf.number.halves import Comparison, Cut, compare, groups_of, majority
from onmf.number.rays import RayHalf
from onmf.number.rule import Figures
from onmf.rows import matrix_of, open_rows
from onmf.rows.scale import rescale_to_safe_range
from onmf.rows.threads import blas_threads, single_threaded_blas
from onmf.rows.validation import as_samples

Array = NDArray[Any]
Progress = Callable[[int, int], None]

HALVES: dict[str, Any] = {"frobenius": RayHalf, "kl": CountHalf}  # by the loss
MOST = 80  # clusters, where nobody says how many
SMALLEST = 20  # K of the first line of mergers; each next one goes twice as far


def choose_k(
    model: ONMF,
    X: Any,
    k_range: Iterable[int] | None = None,
    *,
    sample_weight: Any = None,
    n_runs: int = 12,
    n_jobs: int | None = None,
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
    model : ONMF
        Not changed; its own number of clusters is ignored. Its loss decides how halves are
        clustered, and the whole of it fits the K that is recommended.
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
        Threads; None uses as many as the linear algebra library may use.
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
    check_number(n_runs, "n_runs", 1, whole=True)
    if n_runs < 2:
        raise ValueError(
            "n_runs=1 says nothing about stability, for one run always agrees with itself: "
            "ask for at least two."
        )
    rows = checked_rows(model, X)
    has_more_than(rows, 1 if ks is None else ks[-1])
    weight = None if sample_weight is None else _check_sample_weight(sample_weight, rows)
    n_threads = blas_threads() if n_jobs is None else joblib.effective_n_jobs(n_jobs)
    known = Evidence(model.loss, rows, weight, (n_runs + 1) // 2, n_threads, progress)
    n = rows.shape[0]
    most = max(min(MOST, n // rule.FEWEST_PER_CLUSTER), 2)
    asked, ended = until_far_below(known, most) if ks is None else widened(known, ks, most, beyond)
    usable = {k: known.figures[k] for k in asked if k in known.figures}
    if not usable:
        raise ValueError(f"no K in k_range could be judged: {known.failed[asked[0]]}.")
    verdict = rule.decide(usable, n)
    with warnings.catch_warnings():  # samples without a cluster had none in the halves either
        warnings.simplefilter("ignore", UnassignedSampleWarning)
        warnings.simplefilter("ignore", UnobservedWarning)
        fitted = clone(model).set_params(n_clusters=verdict.best).fit(X, sample_weight=weight)
    labels = {k: majority(known.labels(k), k) for k in verdict.scales if k != verdict.best}
    own = fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(rows)
    labels[verdict.best] = np.asarray(own, np.intp)
    return KChoice(
        verdict.best,
        words.sentence(verdict, usable, n, ended),
        [words.row(k, known.figures.get(k), known.failed.get(k, "")) for k in asked],
        words.scales(verdict.scales, usable, labels),
        verdict.evidence,
        fitted,
    )


def checked_rows(model: ONMF, X: Any) -> Any:
    """The samples in memory, as halves are compared many times, and without missing values."""
    if not isinstance(model, ONMF):
        raise ValueError(f"choose_k needs an ONMF, not {type(model).__name__}.")
    source = open_rows(X) if isinstance(X, str | Path) else None
    X = matrix_of(X) if source is None else source.rows(0, source.shape[0])
    X = X.to_memory() if hasattr(X, "to_memory") else X  # of an AnnData object on disk
    own: ONMF = clone(model)
    own.callback = None  # which a subclass may not have as a parameter
    check_parameters(own.get_params(deep=False))
    X, span = as_samples(X, own._check)
    return filled_copy(X) if span.n_missing else X


class Evidence:
    """The figures of each K asked for so far: means over the cuts."""

    def __init__(
        self,
        loss: str,
        X: Any,
        weight: Array | None,
        n_cuts: int,
        n_threads: int,
        progress: Progress | None,
    ) -> None:
        self.groups, self.n_features = groups_of(X), X.shape[1]
        X, _ = rescale_to_safe_range(X)
        weight = np.ones(X.shape[0]) if weight is None else weight
        self.half = partial(HALVES[loss], X, weight)
        self.n_cuts, self.n_threads, self.progress = n_cuts, n_threads, progress
        self.spans: dict[tuple[int, int], list[dict[int, Comparison]]] = {}
        self.figures: dict[int, Figures] = {}
        self.failed: dict[int, str] = {}

    def ask(self, ks: Sequence[int]) -> None:
        """Look at these K, too."""
        new = [k for k in ks if k not in self.figures and k not in self.failed]
        spans = dict.fromkeys(span for k in new if (span := span_of(k)) not in self.spans)
        self.compare_halves(list(spans))
        for k in new:
            known = [cut[k] for cut in self.spans[span_of(k)] if k in cut]
            if len(known) < self.n_cuts:
                self.failed[k] = f"a half of the samples has fewer than {k} distinct directions"
            else:
                self.figures[k] = mean_figures(known)

    def compare_halves(self, spans: list[tuple[int, int]]) -> None:
        """All K of these spans in every cut, a thread a cut."""
        before = self.n_cuts * len(self.spans)
        total = before + self.n_cuts * len(spans)
        tasks = [(span, number) for span in spans for number in range(self.n_cuts)]
        run = Parallel(self.n_threads, backend="threading", return_as="generator")
        with single_threaded_blas():
            ended = run(delayed(self.compared)(*task) for task in tasks)
            if self.progress is not None:
                self.progress(before, total)
            for done, ((span, _), cut) in enumerate(zip(tasks, ended, strict=True), before + 1):
                self.spans.setdefault(span, []).append(cut)
                if self.progress is not None:
                    self.progress(done, total)

    def compared(self, span: tuple[int, int], number: int) -> dict[int, Comparison]:
        """How the clusters of the two halves of a cut compare, for the K from first to last."""
        cut = Cut.of(self.groups, self.n_features, number)
        one, other = (self.half(cut, side).labels_by_k(*span) for side in (False, True))
        both = sorted(one.keys() & other.keys())
        return {k: compare((one[k], other[k]), cut.samples, k) for k in both}

    def labels(self, k: int) -> Array:
        """(n, 2 cuts): all samples by the clusters of every half."""
        return np.vstack([cut[k].labels for cut in self.spans[span_of(k)]]).T


def span_of(k: int) -> tuple[int, int]:
    """The first and the last K of the line of mergers that has K."""
    first, last = 1, SMALLEST
    while last < k:
        first, last = last + 1, 2 * last
    return first, last


def mean_figures(cuts: list[Comparison]) -> Figures:
    """J, M, A, B and N are means; V is the mean density at borders over that inside."""
    J, M, A, B, N = np.mean([(*cut[:4], cut.n_found) for cut in cuts], axis=0).tolist()
    at_border, inside = np.mean([cut.valley for cut in cuts], axis=0).tolist()
    valley = at_border / inside if inside > 0 else float(at_border > 0)
    return Figures(J, M, A, B, valley, N)


def best_of(known: Evidence, ks: list[int], most: int) -> int | None:
    """The best of these K, as far as they could be judged, if there are samples for `most`."""
    usable = {k: known.figures[k] for k in ks if k in known.figures}
    return rule.decide(usable, rule.FEWEST_PER_CLUSTER * most).best if usable else None


def until_far_below(known: Evidence, most: int) -> tuple[list[int], str]:
    """All K from 2 to 20, 40, ...: on while the best is above half of the last."""
    last = min(SMALLEST, most)
    while True:
        ks = list(range(2, last + 1))
        known.ask(ks)
        best = best_of(known, ks, most)
        if best is None or 2 * best <= last or last not in known.figures:
            return ks, ""
        if last == most:
            return ks, f" No K above {most} was tried."
        last = min(2 * last, most)


def widened(known: Evidence, ks: list[int], most: int, beyond: bool) -> tuple[list[int], str]:
    """The K asked for and, if allowed, more of them while the last is the best."""
    known.ask(ks)
    asked, step = list(ks), ks[-1] - ks[-2] if len(ks) > 1 else 1
    while len(asked) > 1 and best_of(known, asked, asked[-1]) == asked[-1]:
        if not beyond:
            return asked, " It is the largest K asked for: larger ones may be better."
        if asked[-1] + step > most:
            return asked, f" No K above {asked[-1]} was tried."
        asked.append(asked[-1] + step)
        known.ask(asked)
    more = asked[len(ks) :]
    return asked, f" The search went on to K={asked[-1]}, past the range." if more else ""


def has_more_than(X: Any, k: int) -> bool:
    """Whether X has more than k distinct samples; fewer than k are an error."""
    distinct: set[bytes] = set()
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        stored = (row.indices, row.data) if sp.issparse(row) else (row,)
        distinct.add(b"".join(part.tobytes() for part in stored))
        if len(distinct) > k:
            return True
    if len(distinct) < k:
        raise ValueError(
            f"X has only {len(distinct)} distinct sample(s), fewer than the {k} clusters asked "
            "for: ask for fewer."
        )
    return False
