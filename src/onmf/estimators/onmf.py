"""`ONMF`: parameters in, attributes out. No mathematics here."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from onmf.estimators.divergence import CountSolver
from onmf.estimators.few_passes import FewPasses
from onmf.estimators.initialization import Initialization, is_model
from onmf.estimators.parameters import as_bounds, check_parameters
from onmf.estimators.solvers import SOLVERS, Solver
from onmf.estimators.stream_clusterer import StreamClusterer
from onmf.paper.penalties import Penalty
from onmf.result import Event
from onmf.rows import Check

PASSED_TO_SOLVER = (
    *("penalty", "rho", "growth", "mu_h", "mu_w", "tol", "inner_tol", "max_iter"),
    *("center_bounds", "outliers"),
)
HINT = ", or pass center_bounds='data' to cluster signed data"


class ONMF(StreamClusterer):
    r"""Cluster non-negative data by orthogonal NMF with a non-convex penalty.

    .. math::

        \min_{W, H \ge 0} \frac{\|X - HW\|_F^2}{\|X\|_F^2}
        \quad\text{such that each row of } H \text{ has one non-zero entry.}

    Every sample is a multiple of one centroid: clusters are rays, so the length of a sample does
    not matter, only its direction. A penalty drives the rows of H towards a single non-zero entry,
    gently, while it grows.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; None is 8, or as many as the model given as `init` has.
    loss : {"frobenius", "kl"}, default="frobenius"
        What is minimised: squares, or for counts (words, reads) the Kullback-Leibler divergence
        KL(X || HW), the sum of ``x log(x / y) - x + y`` over the entries of X and HW. A sample then
        goes where its counts are likeliest, a centroid is the mean of its samples with a hundredth
        of the overall mean, and raw counts need no preparation. Only with ``solver="fast"``.
    penalty : {"sncp", "nsncp"} or penalty object, default="sncp"
        The smooth penalty, the non-smooth one, or any object like those in
        `onmf.paper.penalties`, for example ``General(p=1, q=3, v=3)``.
    solver : {"fast", "palm"}, default="fast"
        "fast" follows the growing penalty in a small picture of the data and finishes on the data
        itself: a handful of sweeps, no empty cluster, no dependence on the scale of X. "palm" is
        the paper's method to the letter and depends on that scale as the paper's does.
    init : str, array, (H, W), model, path or callable, default="random"
        "random", which with an integer `random_state` is the paper's shared start of that seed,
        "k-means++" or "nndsvd". An array gives centroids (n_clusters, n_features), a pair also
        memberships (n_samples, n_clusters);
        cluster ids then keep the order given. A callable receives ``(X, n_clusters,
        random_state)`` and returns either. A fitted model, or the path of a saved one (.onmf): the
        fit goes on from its rays, moves them no more than it must, and `cluster_ids_` says which
        clusters are those of that model; features are matched by their names.
    n_init : "auto" or int, default="auto"
        Number of starts; the result with the lowest error is kept, so that more starts never
        give a higher one. "auto" is 1 for "palm" and 1 to 8, by the shape of X, for "fast", which
        then chooses among them without reading X once more.
    rho : float, optional
        First weight of the penalty ("fast": 5e-3, relative; "palm": 1e-8).
    growth : float, optional
        Factor between consecutive weights ("fast": 1.4; "palm": 1.1).
    mu_h, mu_w : float, optional
        Ridge on memberships and centroids ("palm" only: 1e-10 and 0).
    accelerate : bool, default=False
        Inertial passes, "palm" only: each factor goes on a little in the direction it came before
        it takes its step, and a pass that would raise the objective is undone. Fewer sweeps, on
        a way that is not the paper's.
    center_bounds : (lower, upper) or "data", default=(0, None)
        Bounds on the entries of the centroids, None for no bound; "data" is the range of X. With a
        lower bound below zero the data may be signed.
    equal_votes : bool, default=False
        Weigh every sample by 1 / ||x||^2, so that a long one has no more say than a short one: what
        is minimised is the mean, over the samples, of the share ||x - hW||^2 / ||x||^2 that is
        left. The clusters are those of samples scaled to length 1, but nothing is copied, and
        `membership_` and `transform` stay in the sample's own units. Right where length says how
        much was recorded, not how well: raw counts, documents. With ``loss="kl"``: by 1 / total.
    outliers : "auto", float or int, optional
        Samples that no ray explains are outliers: they have label -1, pull no centroid and use up
        no cluster. "auto": those whose distance from the nearest ray is far beyond that of most
        (4.5 robust deviations above the median); a float between 0 and 1: this share of the
        samples, those that lie furthest from their rays; an int: so many of them. None: every
        sample has a cluster. Only for ``solver="fast"``.
    tol : float, optional
        "fast": stop when no label changes and the rays move by less than it (1e-5). "palm": stop
        when orthogonality and normalised residual are below it (1e-5 with "sncp", 1e-3 with
        "nsncp"). ``loss="kl"``: also when the divergence falls by a smaller share.
    inner_tol : float, optional
        Relative change of the factors that ends a stage ("palm" only: 3e-3).
    max_iter : int, optional
        Most sweeps over the data ("fast": 40, at least 2, "kl" 3; "palm": 500,000 for each start).
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    n_jobs : int, optional
        Threads; None uses as many as the linear algebra library may use, and one if the fit itself
        runs in a thread that somebody started (joblib, Dask). The answer is the same for any
        number.
    verbose : int, default=0
        1 writes a sentence a stage to the log ``onmf``: to stderr, unless logging is set up
        otherwise.
    callback : callable, optional
        Called with an `onmf.result.Event` after every sweep; returning True ends the fit with
        what it has.
    warm_start : bool, default=False
        Whether a further `fit` goes on from the centroids of the one before instead of `init`: the
        clusters keep their ids while the data grow or change. The features must be the same.
    max_clusters : int, optional
        For `partial_fit`: clusters may be born and closed as the stream goes on, and there are at
        most so many at a time. None: `n_clusters` stay as they are.
    checkpoint : str or Path, optional
        Folder in which the fit notes how far it is, after every sweep ("palm": every stage). A fit
        with the same data and parameters that finds such notes goes on from there and ends as if
        it had not been broken off; one that ends removes them.
    passes : int, optional
        How often X may be read, its check included; None: as `max_iter` allows. The first pass
        makes a summary, a weighted sample of 20,000 samples or 1,000 a cluster (fewer if that is
        more than 100 million dense entries), on which the clusters are found; a second labels all
        samples, further ones go on with the exact alternation. With 1 there are no `labels_` and
        `membership_`, and `relative_error_` is the summary's: for streams (`onmf.io.Blocks`) and
        labels that stay on Dask (`predict`). Not with "palm", "kl", NaN, `checkpoint`, `outliers`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster being 0; -1 for a sample that is all zero and
        for an outlier.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centroids W.
    cluster_ids_ : ndarray of shape (n_clusters,)
        The id of each cluster; ``cluster_ids_[labels_]`` are the ids of the samples. 0, 1, ... as
        in `labels_` unless the fit went on from another model or a stream: then a cluster that is
        still there has the id it had, a new one an id that no cluster ever had.
    lineage_ : Lineage or None
        What became of the clusters of the model before: `kept`, `born` and `vanished` ids, `drift`
        in degrees, and how many features are new and lost; None if there was none.
    membership_ : ndarray of shape (n_samples, n_clusters)
        H; one non-zero entry a row after a converged fit. For rows on disk a memory map of a
        temporary file, if large; for rows on Dask a Dask array.
    relative_error_ : float
        ||X - HW||^2 / ||X||^2; with `equal_votes` the mean over the samples that are not all zero
        of ||x - hW||^2 / ||x||^2. The row of an outlier in H is zero: all of it counts as error,
        and ``1 - model.score(X[model.labels_ >= 0])`` is the error of the others. With
        ``loss="kl"`` KL(X || HW) over that of a single cluster for all samples.
    outlier_score_ : ndarray of shape (n_samples,)
        With `outliers`: what its ray leaves of each sample, ||x - hW||^2, as a multiple of what may
        be left of one of its length. Above 1 for outliers, and higher is worse.
    outlier_limit_ : (float, float)
        With `outliers`: (c, p), a sample being one if ||x - hW||^2 > c ||hW||^(2p). p says how
        noise grows with the length of the samples: 0 not at all, 1/2 as in counts, 1 in proportion.
    inertia_ : float
        ||X - HW||^2, the weighted sum of squared distances; with `equal_votes` the sum of the
        shares that are left. With ``loss="kl"`` KL(X || HW).
    components_ : ndarray of shape (n_clusters, n_features)
        Another name of `cluster_centers_`, for those who come from decompositions.
    reconstruction_err_ : float
        ||X - HW||, the square root of `inertia_`.
    n_iter_ : int
        Sweeps: how often X was read (of the start that was kept). Checking X and, for "palm",
        measuring the result are not counted.
    history_ : list of Stage
        One row a stage; ``pandas.DataFrame(model.history_)`` is a table of it. `sent` and
        `received` are the bytes that went to and came from other processes so far.
    stationarity_ : float
        Relative change that one more gradient step on both factors would make.
    converged_ : bool
        Whether the stopping rule was met (not a limit or a callback).
    bound_, gap_ : float or None
        No clustering into n_clusters rays has a relative error below `bound_`, none is better by
        more than the share `gap_`. Known after a default fit where it costs
        next to nothing, with at most 100 features or samples; elsewhere `certify` finds it, and a
        closer one. None with ``loss="kl"``.
    n_disagreements_ : int
        Training samples for which `predict` differs from `labels_` ("palm" keeps the paper's
        argmax of H).
    n_missing_ : int
        Entries of X that were NaN, hence not observed: all figures are about the others.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had them.

    References
    ----------
    S. Wang, T.-H. Chang, Y. Cui and J.-S. Pang, "Clustering by Orthogonal NMF Model and Non-Convex
    Penalty Optimization", IEEE Transactions on Signal Processing 69, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import ONMF
    >>> X = np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3], [0, 2]])
    >>> ONMF(n_clusters=2, random_state=0).fit_predict(X)
    array([1, 1, 0, 0, 0])
    >>> ONMF(n_clusters=2, loss="kl", random_state=0).fit_predict([[9, 1], [3, 0], [2, 8]])
    array([0, 0, 1])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        loss: str = "frobenius",
        penalty: str | Penalty = "sncp",
        solver: str = "fast",
        init: Any = "random",
        n_init: int | str = "auto",
        rho: float | None = None,
        growth: float | None = None,
        mu_h: float | None = None,
        mu_w: float | None = None,
        accelerate: bool = False,
        center_bounds: Any = (0, None),
        equal_votes: bool = False,
        outliers: float | int | str | None = None,
        tol: float | None = None,
        inner_tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool] | None = None,
        warm_start: bool = False,
        max_clusters: int | None = None,
        checkpoint: str | Path | None = None,
        passes: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.loss = loss
        self.penalty = penalty
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.rho = rho
        self.growth = growth
        self.mu_h = mu_h
        self.mu_w = mu_w
        self.accelerate = accelerate
        self.center_bounds = center_bounds
        self.equal_votes = equal_votes
        self.outliers = outliers
        self.tol = tol
        self.inner_tol = inner_tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.warm_start = warm_start
        self.max_clusters = max_clusters
        self.checkpoint = checkpoint
        self.passes = passes

    _unit = "sweeps"

    @property
    def _check(self) -> Check:
        bounds = as_bounds(self.center_bounds)
        signed = bounds is None or bounds.lower < 0
        n_missing = self.solver == "fast" and self.loss == "frobenius"
        return Check(type(self).__name__, signed, HINT, n_missing)

    def _why_empty(self, empty: int) -> str:
        if self.solver != "fast":
            return f"{super()._why_empty(empty)[:-1]}, or use solver='fast', which leaves none."
        if self.cluster_centers_.any(axis=1).all():  # a limit came before they were filled
            return super()._why_empty(empty)
        k = len(self.cluster_centers_)
        return (
            f"X has only {k - empty} distinct directions, fewer than n_clusters={k}: the "
            f"other {empty} clusters are empty; ask for fewer."
        )

    def _solver(self, n_threads: int) -> Solver:
        values = self.get_params(deep=False)
        check_parameters(values)
        before = getattr(self, "cluster_centers_", None) if self.warm_start else None
        kl, of = self.loss == "kl" or None, cast(Any, SOLVERS[self.solver]).of
        if kl:
            of = partial(CountSolver.of, solver=self.solver, equal_votes=self.equal_votes)
        solver: Solver = of(
            Initialization.of(self.n_clusters, self.init, self.n_init, self.random_state, before),
            n_threads,
            accelerate=self.accelerate or None,
            **{name: values[name] for name in PASSED_TO_SOLVER},
        )
        if self.passes is not None:
            others = {"checkpoint": self.checkpoint, "outliers": self.outliers, "loss='kl'": kl}
            others["a model as init"] = self.init if is_model(self.init) else None
            solver = FewPasses.of(solver, self.passes, self.equal_votes, **others)
        return solver
