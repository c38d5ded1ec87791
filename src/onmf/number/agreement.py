"""Do runs from different starts find the same clusters?

    c_ij = share of the runs that put samples i and j together            (the consensus)

The n x n consensus is never kept: the labels of the runs (n, R) are, and c_ij is worked out where
it is asked for. Tables of how the clusters of two runs share their samples give the dispersion, the
consensus labels and the stability of every sample, in memory that grows with n alone. What needs
pairs of samples, the cophenetic correlation, looks at all pairs up to `EXACT` samples and at
stratified subsamples beyond.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist

Array = NDArray[Any]

EXACT = 5000  # samples
SUBSAMPLE, SUBSAMPLES = 2000, 5
AMBIGUOUS = (0.1, 0.9)  # a pair is together in neither nearly none nor nearly all of the runs


@dataclass(frozen=True, eq=False)
class Consensus:
    """What several runs agree on; made by `onmf.number.consensus`.

    Attributes
    ----------
    labels_runs : ndarray of shape (n_samples, n_runs)
        The labels of each run, in the smallest integer type that holds them; -1 is no cluster.
    labels : ndarray of shape (n_samples,)
        The consensus labels, largest cluster first: every run's clusters are matched with those of
        the run that is most like the others, and each sample takes the label most runs give it;
        in a `KChoice` the labels of its model.
    cophenetic : float
        Correlation of 1 - c_ij with the heights at which average linkage joins i and j (Brunet et
        al. 2004): 1 if all runs agree.
    cophenetic_se : float or None
        None if all pairs were looked at; else the standard error over five stratified subsamples of
        2000 samples, of which `cophenetic` and `ambiguous` are means.
    dispersion : float
        Mean of 4 (c_ij - 1/2)^2 over all pairs (Kim and Park 2007), exact for any n: 1 if all runs
        agree.
    ambiguous : float
        Share of pairs i < j with 0.1 < c_ij < 0.9 (Senbabaoglu et al. 2014): 0 if all runs agree.
    sample_stability : ndarray of shape (n_samples,)
        Mean over the runs of ``|A & C| / |A | C|``, A being the cluster of the sample in the run
        and C its consensus cluster: 1 if its cluster is the same in all runs.
    cluster_stability : ndarray of shape (n_clusters,)
        Mean of it over the samples of each consensus cluster; 0 if a cluster has none.
    linkage : ndarray
        SciPy's average linkage of the samples `shown`.
    shown : ndarray
        The samples in `linkage`: all, or the first subsample.

    Examples
    --------
    >>> from onmf import ONMF
    >>> from onmf.datasets import make_rays
    >>> from onmf.number import consensus
    >>> X, y = make_rays(200, 30, 4, random_state=0)
    >>> consensus(ONMF(4, random_state=0), X, n_runs=5).cluster_stability
    array([1., 1., 1., 1.])
    """

    labels_runs: Array = field(repr=False)
    labels: Array = field(repr=False)
    cophenetic: float
    cophenetic_se: float | None
    dispersion: float
    ambiguous: float
    sample_stability: Array = field(repr=False)
    cluster_stability: Array
    linkage: Array = field(repr=False)
    shown: Array = field(repr=False)

    def values(self, rows: Any, columns: Any = None) -> Array:
        """Consensus values c_ij for samples i in `rows` and j in `columns` (the same if None).

        Parameters
        ----------
        rows, columns : sequence of int
            Numbers of samples.

        Returns
        -------
        ndarray of shape (len(rows), len(columns))
            Shares of the runs, from 0 to 1.

        Examples
        --------
        >>> from onmf import ONMF
        >>> from onmf.number import consensus
        >>> X = [[3, 0], [2, 0.1], [0, 1], [0, 2]]
        >>> consensus(ONMF(2, random_state=0), X, n_runs=3).values([0], [1, 2])
        array([[1., 0.]])
        """
        first = self.labels_runs[np.asarray(rows)]
        second = first if columns is None else self.labels_runs[np.asarray(columns)]
        total = np.zeros((len(first), len(second)))
        for a, b in zip(first.T, second.T, strict=True):
            total += a[:, None] == b
        return total / self.labels_runs.shape[1]

    def plot(self) -> Any:
        """The consensus map as a Matplotlib figure: samples ordered by the linkage."""
        from onmf import plot

        return plot.consensus_map(self)


def agree(labels_runs: Array, k: int, labels: Array | None = None) -> Consensus:
    """The consensus of runs with k clusters each; given labels stand for the vote."""
    runs = smallest_type(labels_runs, k)
    tables = shared_samples(np.where(runs < 0, k, runs).astype(np.intp), k)
    labels = _vote(runs, tables, k) if labels is None else labels
    stability = _recovery(runs, labels, k)
    inside = labels >= 0
    sizes = np.bincount(labels[inside], minlength=k)
    totals = np.bincount(labels[inside], stability[inside], k)
    pairs, shown = _over_pairs(runs, labels)
    spread = None
    if len(pairs) > 1:
        spread = float(np.std([p.cophenetic for p in pairs], ddof=1) / np.sqrt(len(pairs)))
    return Consensus(
        labels_runs=runs,
        labels=labels,
        cophenetic=float(np.mean([p.cophenetic for p in pairs])),
        cophenetic_se=spread,
        dispersion=dispersion(tables, len(runs)),
        ambiguous=float(np.mean([p.ambiguous for p in pairs])),
        sample_stability=stability,
        cluster_stability=totals / np.maximum(sizes, 1),
        linkage=pairs[0].linkage,
        shown=shown,
    )


def majority(labels_runs: Array, k: int) -> Array:
    """The labels that most runs with k clusters each give."""
    runs = smallest_type(labels_runs, k)
    return _vote(runs, shared_samples(np.where(runs < 0, k, runs).astype(np.intp), k), k)


def smallest_type(labels: Array, k: int) -> Array:
    """Labels from -1 to k - 1 in the smallest integer type that also holds k."""
    types: tuple[Any, ...] = (np.int8, np.int16, np.int32)
    fitting = next(t for t in types if k <= np.iinfo(t).max)
    return np.ascontiguousarray(labels, fitting)


def shared_samples(runs: Array, k: int) -> Array:
    """T (R, R, k+1, k+1): samples in cluster a of run r and b of run s; the last is no cluster."""
    n_runs, size = runs.shape[1], k + 1
    tables = np.empty((n_runs, n_runs, size, size))
    for r in range(n_runs):
        for s in range(r + 1):
            counts = np.bincount(runs[:, r] * size + runs[:, s], minlength=size * size)
            tables[r, s] = counts.reshape(size, size)
            tables[s, r] = tables[r, s].T
    return tables


def dispersion(tables: Array, n: int) -> float:
    """1/n^2 sum_ij 4 (c_ij - 1/2)^2, since sum_ij c_ij^2 = mean over r, s of ||T_rs||^2."""
    squares = np.einsum("rsab,rsab->", tables, tables) / len(tables) ** 2
    plain = np.mean([np.sum(tables[r, r] ** 2) for r in range(len(tables))])
    return float((4 * squares - 4 * plain) / n**2 + 1)


def _vote(runs: Array, tables: Array, k: int) -> Array:
    """Consensus labels: clusters matched with those of the most typical run, then a majority."""
    typical = int(np.einsum("rsab,rsab->r", tables, tables).argmax())
    votes = np.zeros((len(runs), k + 1), np.float32)
    everyone = np.arange(len(runs))
    for s in range(runs.shape[1]):
        own, theirs = linear_sum_assignment(tables[typical, s, :k, :k], maximize=True)
        place = np.full(k + 1, k)
        place[theirs] = own
        votes[everyone, place[runs[:, s]]] += 1
    votes[everyone, runs[:, typical]] += 0.5  # ties go to the typical run; -1 is the last column
    winner = votes.argmax(axis=1)
    order = np.argsort(-np.bincount(winner, minlength=k + 1)[:k], kind="stable")
    place = np.append(np.argsort(order), -1)
    return place[winner].astype(np.intp)


def _recovery(runs: Array, labels: Array, k: int) -> Array:
    """Mean over the runs of the Jaccard index of a sample's cluster there and in `labels`."""
    total = np.zeros(len(runs))
    for run in runs.T:
        a, b = run.astype(np.intp), labels  # -1 counts as a group from the end: the last one
        joint = np.zeros((k + 1, k + 1))
        np.add.at(joint, (a, b), 1)
        union = joint.sum(axis=1)[:, None] + joint.sum(axis=0) - joint
        total += (joint / np.maximum(union, 1))[a, b]
    return total / runs.shape[1]


class Pairs(NamedTuple):
    """What is known once pairs of samples have been looked at."""

    cophenetic: float
    ambiguous: float
    linkage: Array


def _over_pairs(runs: Array, labels: Array) -> tuple[list[Pairs], Array]:
    """All pairs, or those within each of some subsamples, and the samples of the first."""
    n = len(runs)
    if n <= EXACT:
        return [_pairs_of(runs)], np.arange(n)
    rng = np.random.default_rng(0)
    chosen = [stratified_sample(labels, SUBSAMPLE, rng) for _ in range(SUBSAMPLES)]
    return [_pairs_of(runs[rows]) for rows in chosen], chosen[0]


def stratified_sample(labels: Array, size: int, rng: np.random.Generator) -> Array:
    """So many samples, each cluster with its share up to one sample; a random choice within it."""
    order = np.lexsort((rng.random(len(labels)), labels))
    steps = (np.arange(size) + rng.random()) * (len(labels) / size)
    return np.sort(order[steps.astype(np.intp)])


def _pairs_of(runs: Array) -> Pairs:
    """Cophenetic correlation, ambiguous pairs and linkage of these samples."""
    if len(runs) < 2:
        return Pairs(1.0, 0.0, np.zeros((0, 4)))
    apart, n_runs = pdist(runs.astype(np.float64), "hamming"), runs.shape[1]
    np.rint(np.multiply(apart, n_runs, out=apart), out=apart)  # lest rounding break ties
    apart /= n_runs
    tree = linkage(apart, "average")
    low, high = AMBIGUOUS
    slack = 1e-9  # c_ij are multiples of 1 / R, some of which are meant to be 0.1 or 0.9
    unclear = np.mean((apart > 1 - high + slack) & (apart < 1 - low - slack))
    return Pairs(_correlation(apart, cophenet(tree)), float(unclear), tree)


def _correlation(a: Array, b: Array) -> float:
    """Pearson's, in place; 1 if `a` is constant, for every tree fits it."""
    a -= a.mean()
    b -= b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(np.clip(a @ b / size, -1, 1)) if size > 1e-12 * len(a) else 1.0
