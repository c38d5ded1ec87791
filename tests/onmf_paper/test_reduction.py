"""The paper's spectral reduction and its choice of genes, against dense algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from onmf.datasets import make_rays
from onmf_paper.reduction import SpectralReduction, select_genes

BOTH = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def test_genes_that_tell_the_types_apart_are_chosen():
    rng = np.random.default_rng(0)
    y = np.repeat(["BRCA", "LUAD"], 20)
    X = rng.uniform(1, 2, (40, 6))
    X[y == "LUAD", 4] += 5
    assert select_genes(1).fit(X, y).get_support(indices=True).tolist() == [4]


def laplacian_by_hand(X, k):
    """From distances, entry by entry."""
    n = len(X)
    A = np.zeros((n, n))
    for i in range(n):
        for j in np.argsort(((X - X[i]) ** 2).sum(axis=1), kind="stable")[:k]:
            A[i, j] += 0.5
            A[j, i] += 0.5
    return np.diag(A.sum(axis=1)) - A


@BOTH
def test_the_embedding_spans_the_smallest_eigenvectors(kind):
    X, _ = make_rays(150, 20, 3, noise=2.0, random_state=0)
    L = laplacian_by_hand(X, 10)
    values = np.linalg.eigvalsh(L)
    assert values[4] - values[3] > 1e-3  # else the span is not determined
    model = SpectralReduction(4).fit(kind(X))
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-9)
    V = model.embedding_
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(L @ V, V * model.eigenvalues_, atol=1e-7)


def test_every_part_of_a_disconnected_graph_is_found():
    # Four far-away blobs of unequal size: eigenvalue 0 four times, which Lanczos alone may miss.
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2, 3], [30, 20, 15, 12])
    X = 100 * np.eye(4)[y] + rng.random((77, 4))
    model = SpectralReduction(6).fit(X)
    L = laplacian_by_hand(X, 10)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(L)[:6], atol=1e-9)
    V = model.embedding_
    np.testing.assert_allclose(V[:, :4], (y[:, None] == range(4)) / np.sqrt([30, 20, 15, 12]))
    np.testing.assert_allclose(L @ V, V * model.eigenvalues_, atol=1e-7)


def test_fewer_components_than_parts_takes_the_largest_parts():
    y = np.repeat([0, 1, 2], [12, 15, 20])
    X = 100 * np.eye(3)[y] + np.random.default_rng(0).random((47, 3))
    V = SpectralReduction(2).fit_transform(X)
    assert np.array_equal(V[:, 0] > 0, y == 2)
    assert np.array_equal(V[:, 1] > 0, y == 1)


def test_two_runs_agree_to_the_bit_and_signs_are_fixed():
    X, _ = make_rays(120, 15, 3, noise=2.0, random_state=2)
    first, again = (SpectralReduction(3).fit_transform(X) for _ in range(2))
    assert np.array_equal(first, again)
    assert (first[np.abs(first).argmax(axis=0), range(3)] > 0).all()


def test_permuting_the_samples_permutes_the_rows():
    X, _ = make_rays(120, 15, 3, noise=2.0, random_state=3)
    order = np.random.default_rng(0).permutation(120)
    V, W = SpectralReduction(3).fit_transform(X), SpectralReduction(3).fit_transform(X[order])
    np.testing.assert_allclose(V[order], W, atol=1e-7)


@pytest.mark.parametrize(
    "parameters", [{"n_components": 30}, {"n_components": 0}, {"n_neighbors": 31}]
)
def test_impossible_sizes_are_refused(parameters):
    X, _ = make_rays(30, 5, 2, random_state=0)
    with pytest.raises(ValueError, match=next(iter(parameters))):
        clone(SpectralReduction(2)).set_params(**parameters).fit(X)


@parametrize_with_checks([SpectralReduction(2, n_neighbors=3)])
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)
