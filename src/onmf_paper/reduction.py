"""What the paper does to its real data first: genes by the chi-squared test, spectral reduction.

    A = (C + C') / 2,    L = diag(A 1) - A,    X_reduced = the K eigenvectors of L with the
                                               smallest eigenvalues,

where C is the connectivity of the nearest neighbours. Sparse data stay sparse.
"""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.validation import validate_data

Array = NDArray[Any]

EIGENVALUE_TOL = 1e-8  # relative; the eigenvectors then solve L v = l v to about 1e-12


def select_genes(k: int = 5000) -> SelectKBest:
    """The k genes that differ most between the given classes, by the chi-squared test.

    The test uses the true classes, so a clustering of the result is not unsupervised. It is here
    only because the paper does it.

    Parameters
    ----------
    k : int, default=5000
        All genes if there are fewer.

    Returns
    -------
    SelectKBest

    Examples
    --------
    >>> import numpy as np
    >>> from onmf_paper.reduction import select_genes
    >>> X = np.array([[1.0, 5.0], [1.0, 4.0], [1.0, 0.0]])
    >>> select_genes(1).fit_transform(X, ["LUAD", "LUAD", "BRCA"]).ravel()
    array([5., 4., 0.])
    """
    return SelectKBest(chi2, k=k)


class SpectralReduction(TransformerMixin, BaseEstimator):
    """Each sample as its row in the first eigenvectors of the neighbourhood graph.

    The graph joins every sample to itself and its nearest neighbours, and is averaged with its
    transpose. A sparse solver computes the eigenvectors of its unnormalised Laplacian, without an
    n x n array. The result has negative entries, and so have the centroids.

    Parameters
    ----------
    n_components : int, default=10
        Eigenvectors, those of the smallest eigenvalues; the paper takes as many as clusters.
    n_neighbors : int, default=10
        Neighbours of a sample, itself included.
    n_jobs : int, optional
        Threads of the search for neighbours.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Orthonormal columns, the largest entry of each positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Ascending.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from onmf.datasets import make_rays
    >>> from onmf_paper.reduction import SpectralReduction
    >>> X, y = make_rays(200, 30, 4, random_state=0)
    >>> SpectralReduction(n_components=4).fit_transform(X).shape
    (200, 4)
    """

    def __init__(
        self, n_components: int = 10, *, n_neighbors: int = 10, n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the embedding of the samples of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        n = X.shape[0]
        if not 1 <= self.n_neighbors <= n:
            raise ValueError(f"n_neighbors={self.n_neighbors} must be from 1 to {n} samples.")
        if not 1 <= self.n_components < n:
            raise ValueError(f"n_components={self.n_components} must be from 1 to {n - 1}.")
        L = graph_laplacian(X, self.n_neighbors, self.n_jobs)
        self.eigenvalues_, self.embedding_ = smallest_eigenvectors(L, self.n_components)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Compute and return the embedding; new samples have none."""
        return self.fit(X).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def graph_laplacian(X: Any, n_neighbors: int, n_jobs: int | None = None) -> sp.csr_array:
    """L = diag(A 1) - A of the symmetrised connectivity A."""
    C = sp.csr_array(kneighbors_graph(X, n_neighbors, include_self=True, n_jobs=n_jobs))
    return sp.csr_array(laplacian((C + C.T) / 2))


def smallest_eigenvectors(L: sp.csr_array, k: int) -> tuple[Array, Array]:
    """The k smallest eigenvalues of a graph's Laplacian and their eigenvectors, signs fixed.

    The eigenvectors of eigenvalue 0 are known: one per connected component, constant there and zero
    elsewhere. They are moved to the other end of the spectrum, because Lanczos may find only one
    copy of a repeated eigenvalue.
    """
    n = L.shape[0]
    parts, part = connected_components(L, directed=False)
    order = np.argsort(-np.bincount(part), kind="stable")[: min(parts, k)]
    share = 1 / np.sqrt(np.bincount(part))
    Z = sp.csr_array((share[part], (np.arange(n), part)), shape=(n, parts))
    values, vectors = np.zeros(len(order)), Z[:, order].toarray()
    if (missing := k - len(order)) > 0:
        top = 2 * L.diagonal().max() + 1  # above all eigenvalues (Gershgorin)
        shifted = LinearOperator((n, n), lambda x: L @ x + top * (Z @ (Z.T @ x)), dtype=L.dtype)
        start = np.random.RandomState(0).uniform(-1, 1, n)
        ncv = min(n, 2 * missing + 20)
        larger, others = eigsh(shifted, missing, which="SA", v0=start, ncv=ncv, tol=EIGENVALUE_TOL)
        rank = np.argsort(larger, kind="stable")
        values = np.append(values, larger[rank])
        vectors = np.hstack([vectors, others[:, rank]])
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(k)]
    return values, vectors * np.sign(largest)
