"""`ONMF`: parameters in, attributes out. No mathematics here."""

import warnings
from collections.abc import Callable
from typing import Literal

from onmf.estimators.editing import EditingMixin
from onmf.estimators.fitting import FitRequest, Solver
from onmf.estimators.initialization import Initialization, is_model
from onmf.estimators.parameters import (
    Init,
    RandomSeed,
    as_outliers,
    check_parameters,
)
from onmf.estimators.progress import caller_level
from onmf.estimators.solvers import PALM, Fast, solver_of
from onmf.exceptions import UnusedParameterWarning
from onmf.losses.support import OF_PALM, refusal
from onmf.result import Event
from onmf.rows import Check

SIGNED_REMEDY = "leave center_bounds at 'auto' to cluster signed data"


class ONMF(EditingMixin):
    r"""Cluster data by orthogonal non-negative matrix factorization (ONMF).

    .. math::

        \min_{W, H \ge 0} \frac{\|X - HW\|_F^2}{\|X\|_F^2}
        \quad\text{such that each row of } H \text{ has one non-zero entry.}

    Every sample is a multiple of one centroid. Clusters are directions: the length of a sample does
    not matter. `ONMF` says what is fitted, `solver` how it is computed.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; None is 8, or as many as the model or classes given as `init` have.
    loss : {"frobenius", "kl"}, default="frobenius"
        What is minimised: squares, or for counts (words, reads) the Kullback-Leibler divergence
        KL(X || HW), the sum of ``x log(x / y) - x + y`` over the entries of X and HW. With "kl" a
        sample goes where its counts are most likely, a centroid is the mean of its samples with a
        hundredth of the overall mean, and raw counts need no preparation.
    outliers : "auto", float or int, optional
        Samples that no cluster explains are outliers: they have label -1, do not move a centroid
        and use no cluster. "auto": samples whose distance from their centroid is far beyond that of
        most (4.5 robust standard deviations above the median). A float between 0 and 1: this share
        of the samples. An int: so many samples. None: every sample has a cluster.
    init : str, array, (H, W), model, path or callable, default="random"
        "random", which with an integer `random_state` is the paper's shared start of that seed,
        "k-means++" or "nndsvd". An array gives centroids (n_clusters, n_features), a pair also
        memberships (n_samples, n_clusters); cluster ids then keep the given order. A callable
        receives ``(X, n_clusters, random_state)`` and returns either, such as
        ``onmf.class_means(y)`` for known classes. A fitted model, or the path
        of a saved one (.onmf): the fit starts from its centroids, moves them no more than needed,
        and `cluster_ids_` tells which clusters are those of that model. Features are matched by
        name.
    n_init : "auto" or int, default="auto"
        Number of starts. The result with the lowest error is kept, so that more starts never give
        a higher one. "auto" is 1 for "palm" and 1 to 3, by the shape of X, for "fast"; with
        ``loss="kl"`` up to 8, and fewer if they agree.
    solver : {"fast", "palm"}, Fast or PALM, default="fast"
        "fast" searches in a sketch of the data and ends with an exact alternation on the data: see
        `Fast`. "palm" is the paper's method: see `PALM`.
    tol : float, optional
        "fast": stop when no label changes and the centroids move by no more than it (3e-6), or than
        rounding moves them. "palm": stop when orthogonality and normalised residual are below it
        (1e-5, with "nsncp" 1e-3). ``loss="kl"``: also when the divergence falls by a smaller share.
    max_iter : int, optional
        Maximum number of sweeps over the data ("fast": 40; "palm": 500,000 per start). The search
        and the last assignment of "fast" read X twice ("kl" 3 times) in any case.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    n_jobs : int, optional
        Threads. None uses as many as the linear algebra library may use, and one if the fit itself
        runs in a thread of another library (joblib, Dask). The answer is the same for any number.
    verbose : int, default=0
        1 writes a sentence per stage to the log ``onmf``: to stderr, unless logging is configured.
    callback : callable, optional
        Called with an `onmf.result.Event` after every sweep, and by `partial_fit` after every
        batch. Returning True ends the fit with what it has.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster being 0; -1 for a sample that is all zero and
        for an outlier.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centroids W.
    cluster_ids_ : ndarray of shape (n_clusters,)
        The id of each cluster; ``cluster_ids_[labels_]`` are the ids of the samples. 0, 1, ... as
        in `labels_`, unless the fit started from another model or a stream. Then a cluster that
        still exists keeps its id, and a new one gets an id that no cluster ever had.
    cluster_names_ : dict of int to str
        The name of each cluster, by id: that given by `rename`, else the one that was found, else
        "cluster 0" and so on.
    rays_ : ndarray of shape (n_rays, n_features)
        What samples are given to: the centroids, unless clusters were merged.
    cluster_of_ray_ : ndarray of shape (n_rays,)
        The cluster that owns each ray, as a row of `cluster_centers_`.
    ray_weight_ : ndarray of shape (n_rays,)
        Sum of the weights of the samples of each ray: with it, a ray stands for them.
    lineage_ : Lineage or None
        What became of the clusters of the model before: `kept`, `born` and `vanished` ids, `drift`
        in degrees, and how many features are new and lost; None if there was none. After `merge`
        and `split` pairs of ids, `merged` and `split`, and how many samples of other clusters
        `moved`.
    membership_ : ndarray of shape (n_samples, n_clusters)
        H; one non-zero entry per row after a converged fit. For rows on disk a memory map of a
        temporary file, if large; for rows on Dask a Dask array.
    relative_error_ : float
        ||X - HW||^2 / ||X||^2. The row of an outlier in H is zero: all of it counts as error, and
        ``1 - model.score(X[model.labels_ >= 0])`` is the error of the others. With ``loss="kl"``
        KL(X || HW) over that of a single cluster for all samples.
    outlier_limit_ : (float, float)
        With `outliers`: (c, p); a sample is an outlier if its loss exceeds c s^p, where s is
        ||hW||^2, or the total of the sample with ``loss="kl"``. p says how noise grows with the
        size of samples: 0 not at all, 1/2 as in counts, 1 in proportion.
    inertia_ : float
        ||X - HW||^2, the weighted sum of squared distances. With ``loss="kl"`` KL(X || HW).
    components_ : ndarray of shape (n_clusters, n_features)
        Another name of `cluster_centers_`, as in decompositions.
    reconstruction_err_ : float
        ||X - HW||, the square root of `inertia_`.
    n_iter_ : int
        Sweeps: reads of X by the solver, for the start that was kept. The validation of X is not
        counted, nor, for "palm", measuring the result.
    history_ : list of Stage
        One row per stage; ``pandas.DataFrame(model.history_)`` is a table of it. `sent` and
        `received` are the bytes to and from other processes so far.
    stationarity_ : float
        Relative change that one more step on both factors would make.
    converged_ : bool
        Whether the stopping rule was met (not a limit or a callback).
    n_disagreements_ : int
        Training samples for which `predict` differs from `labels_` ("palm" keeps the paper's
        argmax of H).
    n_missing_ : int
        Entries of X that were NaN, that is not observed: all figures are about the others.
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
        loss: Literal["frobenius", "kl"] = "frobenius",
        outliers: float | Literal["auto"] | None = None,
        init: Init = "random",
        n_init: int | Literal["auto"] = "auto",
        solver: Literal["fast", "palm"] | Fast | PALM = "fast",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Event], bool] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.loss = loss
        self.outliers = outliers
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    _unit = "sweeps"

    @property
    def _check(self) -> Check:
        supports, solver = self._loss.supports, solver_of(self.solver)
        if solver.name == "palm":
            supports = supports & OF_PALM
        signed = solver.signed and "signed" in supports
        of_loss = f"loss={self.loss!r} needs non-negative data"
        remedy = SIGNED_REMEDY if "signed" in supports else of_loss
        return Check(type(self).__name__, signed, remedy, "missing" in supports)

    def _why_empty(self, empty: int) -> str:
        if solver_of(self.solver).name == "palm":
            return f"{super()._why_empty(empty)[:-1]}, or use solver='fast', which leaves none."
        if self.cluster_centers_.any(axis=1).all():  # a limit came before they were filled
            return super()._why_empty(empty)
        k = len(self.cluster_centers_)
        return (
            f"X has only {k - empty} distinct directions that double precision tells apart, fewer "
            f"than n_clusters={k}: {empty} of {k} clusters are empty; ask for fewer."
        )

    def _check_support(self, *others: str) -> None:
        """Refuse features, by the names of `losses.support.FEATURES`, that cannot be combined."""
        loss, solver = self._loss, solver_of(self.solver)
        asked = {
            "outliers": self.outliers is not None,
            "model": is_model(self.init),
            "n_init": self.n_init != "auto",
        }
        features = {name for name, there in asked.items() if there} | solver.features() | {*others}
        if why := refusal(loss.name, loss.supports, solver.name, features):
            raise ValueError(why)

    def _solver(self, n_threads: int) -> Solver:
        check_parameters(self._parameters())
        solver, loss = solver_of(self.solver), self._loss
        self._check_support()
        begin = Initialization.of(self.n_clusters, self.init, self.n_init, self.random_state)
        varies = begin.is_search or (callable(self.init) and solver.name == "palm")
        if not varies and self.n_init not in ("auto", 1):
            why = f"init gives the centroids: n_init={self.n_init} is not used, there is one start."
            warnings.warn(why, UnusedParameterWarning, stacklevel=caller_level())
        return solver.prepare(
            FitRequest(
                loss,
                begin,
                n_threads,
                None if self.outliers is None else as_outliers(self.outliers),
                self.tol,
                self.max_iter,
            )
        )
