"""`Baseline`: the rivals behind the same parameters and attributes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from onmf.baselines import METHODS, Means, Start, shared_draws, single_codes
from onmf.estimators.clusterer import Clusterer
from onmf.estimators.fitting import Solution, Solver
from onmf.estimators.initialization import Initialization
from onmf.estimators.paper_solver import with_labels
from onmf.estimators.parameters import Init, RandomSeed, check_parameters, without_none
from onmf.result import Event, Watch
from onmf.rows import Placement, place_in_memory
from onmf.rows.assign import Rays
from onmf.rows.check import Check
from onmf.rows.scale import Scale, check_scale
from onmf.rows.sweep import Array, Data
from onmf.rows.threads import openmp_threads

Method: TypeAlias = Literal[
    "dtpp", "onmf-s", "hals", "onp-mf", "k-means", "k-means++", "nmf", "alternation"
]
# How `predict` places a sample; by the nearest ray where nothing else is said.
NEAREST: dict[str, Callable[[Array], Means]] = {"k-means": Means, "k-means++": Means}


@dataclass(frozen=True)
class RivalSolver(Solver):
    """A method that ONMF is compared with, from the start that all methods share."""

    n_threads: int
    method: str
    settings: dict[str, Any]

    scale: ClassVar[Scale] = staticmethod(check_scale)

    @property
    def most_sweeps(self) -> int | None:
        return self.settings.get("max_iter")

    def solve(self, rows: Placement, watch: Watch) -> Solution:
        data, seed = rows.data, self.begin.seeds()[0]
        zero = data.gather(data.row_sqnorms) == 0
        H, W = self._start(data, rows.X, seed)
        H[zero] = 0  # nothing to explain, hence no cluster
        H.flags.writeable = W.flags.writeable = False  # shared by all methods
        with openmp_threads(self.n_threads):
            result = METHODS[self.method](data, Start(H, W, seed), watch=watch, **self.settings)
        result.H[zero] = 0
        rule = NEAREST.get(self.method, Rays.of)
        return with_labels(data, result, rule(result.W), result.history[-1].residual)

    def _start(self, data: Data, X: Any, seed: int) -> tuple[Array, Array]:
        """Starting factors as the rivals take them: H full, for what is zero often stays zero."""
        named = isinstance(self.begin.init, str)
        if named and self.begin.init == "random":
            return shared_draws(data, self.begin.n_clusters, seed)
        H, W = self.begin.factors(data, X, seed)
        if W.min() < 0 and self.method not in NEAREST:
            raise ValueError("the centroids W in init must not be negative.")
        if H is None or named:
            return single_codes(data, W), W
        return data.gather(H), W


class Baseline(Clusterer):
    """Cluster data by a method that orthogonal NMF is compared with.

    All methods share the starts, the attributes and the errors of `ONMF`, so that a comparison
    compares nothing but the methods. ``onmf compare`` is the same from the command line. X must be
    in memory: only `ONMF` fits rows on disk or on Dask. Only K-means takes negative entries.

    Parameters
    ----------
    method : str, default="hals"
        "dtpp" (Ding et al. 2006), "onmf-s" (Choi 2008), "hals" (Kimura et al. 2014) and "onp-mf"
        (Pompili et al. 2014) factorise under an orthogonality constraint. "k-means", "k-means++"
        (one draw a seed, as its authors have it) and "nmf" (each sample goes to its largest
        membership, rays having unit length) are scikit-learn's, from one start. "alternation"
        gives each sample to the ray it fits best and replaces each ray by the leading singular
        vector of its samples: weighted spherical K-means.
    n_clusters : int, default=8
        Number of clusters.
    init : {"random", "k-means++", "nndsvd"}, array, (H, W) or callable, default="random"
        As for `ONMF`: "random" with an integer `random_state` is the paper's shared start of that
        seed. Where only centroids are given, the memberships are the best multiple of each
        centroid alone. "k-means++" begins where it chooses.
    max_iter : int, optional
        Most iterations (2000).
    tol : float, optional
        Stop when the relative change of the factors, in one iteration, is below it (1e-5).
        "alternation": when no label changes either. "k-means" and "k-means++" (1e-6) and "nmf"
        (1e-4) stop by scikit-learn's rule.
    random_state : int, RandomState instance or None, default=None
        Seed of the start.
    n_jobs : int, optional
        Threads; None uses as many as the linear algebra library may use. The answer is the same
        for any number, for K-means up to rounding.
    callback : callable, optional
        Called with an `onmf.result.Event` after every iteration; returning True ends the fit
        with what it has. scikit-learn's methods call it once, at their end.
    verbose : int, default=0
        1 writes a sentence an iteration to the log ``onmf``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, its largest membership; the largest cluster is 0, and -1 stands for
        a sample that is all zero.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centroids W.
    membership_ : ndarray of shape (n_samples, n_clusters)
        H, as the method leaves it: "dtpp", "onmf-s", "hals", "onp-mf" and "nmf" may leave several
        entries a row.
    relative_error_ : float
        ||X - HW||^2 / ||X||^2. As some methods have more than one entry a row, compare methods by
        `onmf.metrics.partition_error` instead.
    inertia_ : float
        ||X - HW||^2, the weighted sum of squared distances.
    components_ : ndarray of shape (n_clusters, n_features)
        Another name of `cluster_centers_`, for those who come from decompositions.
    reconstruction_err_ : float
        ||X - HW||, the square root of `inertia_`.
    n_iter_ : int
        Iterations.
    history_ : list of Stage
        One row an iteration (scikit-learn's methods: one, for the end). Its `sweeps` say how often
        X was read.
    stationarity_ : float
        Relative change of the factors in the last iteration, or that one more would make.
    converged_ : bool
        Whether the stopping rule was met (not a limit or a callback).
    n_disagreements_ : int
        Training samples for which `predict`, the nearest ray (for K-means the nearest centroid),
        differs from `labels_`.
    n_missing_ : int
        0, for these methods take no NaN.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had them.

    Examples
    --------
    >>> import numpy as np
    >>> from onmf import Baseline
    >>> X = np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3], [0, 2]])
    >>> Baseline("alternation", n_clusters=2, random_state=0).fit_predict(X)
    array([1, 1, 0, 0, 0])
    """

    n_clusters: int
    _put = staticmethod(place_in_memory)

    def __init__(
        self,
        method: Method = "hals",
        n_clusters: int = 8,
        *,
        init: Init = "random",
        max_iter: int | None = None,
        tol: float | None = None,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        callback: Callable[[Event], bool] | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    @property
    def _check(self) -> Check:
        remedy = "only K-means and ONMF take data with negative entries"
        return Check(type(self).__name__, self.method in NEAREST, remedy)

    def _solver(self, n_threads: int) -> RivalSolver:
        check_parameters(self._parameters())
        return RivalSolver(
            Initialization(self.n_clusters, self.init, 1, self.random_state),
            n_threads,
            self.method,
            without_none(tol=self.tol, max_iter=self.max_iter),
        )

    def _assignment(self, data: Data, scale: float) -> Any:
        if self.method in NEAREST:
            dtype = data.dtype
            return NEAREST[self.method](self.cluster_centers_.astype(dtype) * dtype.type(scale))
        return super()._assignment(data, scale)
