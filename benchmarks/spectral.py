"""The sparse route to the eigenvectors of the spectral reduction beside the dense one."""

from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from onmf.prepare.transformers import graph_laplacian, smallest_eigenvectors
from onmf_paper.data_sets import documents
from tables import best_times, table, write_section

SPARSE_REPEATS = 3


def run() -> None:
    rows = [measure(subset, general) for subset, general in ((4, True), (6, False))]
    columns = ["documents", "graph (s)", "sparse eigenvectors (s)", "eigh (s)", "eigh / sparse",
               "eig (s)", "eig / sparse", "both routes span the same"]  # fmt: skip
    note = (
        "\n\nOne thread. The ratios are of the eigenvector part alone: ten eigenvectors by Lanczos "
        "on the sparse Laplacian (`smallest_eigenvectors` of `onmf.prepare`) against all of "
        "them by LAPACK on the dense one. `eigh` knows that the matrix is symmetric; the paper's "
        "program calls the general `eig` (run here on the smaller set only, for it takes minutes). "
        "The search for neighbours that both need is the column `graph`."
    )
    write_section("spectral", "Spectral dimension reduction of TDT2", table(columns, rows) + note)


def measure(subset: int, general: bool) -> list[object]:
    X, _, k = documents(subset)
    with threadpool_limits(1):
        graph = best_times({"graph": lambda: graph_laplacian(X, 10)}, SPARSE_REPEATS)["graph"]
        L = graph_laplacian(X, 10)
        A = L.toarray()
        tasks = {"sparse": partial(smallest_eigenvectors, L, k), "eigh": partial(np.linalg.eigh, A)}
        tasks |= {"eig": partial(np.linalg.eig, A)} if general else {}
        # Interleaved: the sparse route before and after each dense one.
        best = best_times(tasks, 2)
        _, V = smallest_eigenvectors(L, k)
        U = np.linalg.eigh(A)[1][:, :k]
    apart = np.abs(U @ (U.T @ V) - V).max()
    fast = best["sparse"]
    eig = [f"{best['eig']:.1f}", f"{best['eig'] / fast:.0f}"] if general else ["", ""]
    return [X.shape[0], f"{graph:.2f}", f"{fast:.3f}", f"{best['eigh']:.1f}",
            f"{best['eigh'] / fast:.0f}", *eig, f"to {apart:.0e}"]  # fmt: skip
