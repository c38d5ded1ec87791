"""Clusters of the observations of an AnnData object."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from onmf.cells.matrix import (
    batches_of,
    choose_matrix,
    embedding,
    non_negative_matrix,
    scaled_sentence,
)
from onmf.cells.writing import CellFit, write_fit
from onmf.estimators import ONMF
from onmf.exceptions import SignedDataWarning, TableWarning
from onmf.explain.explanation import clusters_or_none
from onmf.losses import loss_of
from onmf.number import KChoice, choose_k
from onmf.prepare.batches import batch_sentence

MAX_AUTO_CLUSTERS = 20


def cluster_anndata(
    adata: Any,
    n_clusters: int | str | Iterable[int] = "auto",
    layer: str | None = None,
    key_added: str = "onmf",
    *,
    use_raw: bool = False,
    obsm: str | None = None,
    mask_var: Any = None,
    prepare: bool = True,
    rank_key: str | None = None,
    batch_key: str | None = None,
    center_batches: bool = False,
    random_state: Any = 0,
    copy: bool = False,
    **params: Any,
) -> Any:
    """Cluster the observations of an AnnData object and write the result into it.

    Written are, for ``key_added="onmf"``:

    * ``obs["onmf"]``: the cluster, a categorical of "0", "1", ..., the largest first; missing if
      all values of an observation are zero.
    * ``obs["onmf_certainty"]``: how certain that is, from 0 to 1; see `onmf.explain.clusters`.
    * ``obs["onmf_unusual"]``: `ONMF.unusual`, small for observations unlike their cluster.
    * ``obsm["X_onmf"]``: the scores for all clusters (n_obs, n_clusters) of
      `ONMF.decision_function`, for neighbours and plots, as in
      ``sc.pp.neighbors(adata, use_rep="X_onmf")``.
    * ``obsm["onmf_membership"]``: the memberships, one non-zero entry per row.
    * ``varm["onmf_centers"]``: the centroids (n_vars, n_clusters); zero where `mask_var` is False.
      Not written with `obsm`, nor with `use_raw` if ``.raw`` lacks a variable.
    * ``uns["onmf"]``: ``params``, ``relative_error``, ``n_iter``, ``converged``, a table
      ``top_features`` of the twenty most distinctive variables of each cluster, a table
      ``clusters`` of what each is worth (`onmf.explain.ClusterRow`), and the ``reason`` for the
      number of clusters if it was chosen.
    * ``uns["rank_genes_groups_onmf"]``: all variables by how distinctive they are, in scanpy's
      layout, as in ``scanpy.pl.rank_genes_groups(adata, key="rank_genes_groups_onmf")``. Not
      written for a single cluster.

    Nothing else is changed.

    The result of a view, as in ``cluster_anndata(adata[:, adata.var["highly_variable"]], 8)``, is
    written both into the view, which becomes an object of its own, and into the original object,
    with missing values and zeros outside the view.

    Parameters
    ----------
    adata : AnnData
        In memory or backed, dense or sparse. Values that were scaled (`scanpy.pp.scale`) have no
        zero: use `use_raw`, `layer` or `obsm`.
    n_clusters : int, "auto" or iterable of int, default="auto"
        "auto" lets `choose_k` choose from 2 to 20, an iterable from its numbers.
    layer : str, optional
        The layer to cluster; X if None.
    key_added : str, default="onmf"
    use_raw : bool, default=False
        Cluster ``adata.raw``, which usually has the logarithms of all genes.
    obsm : str, optional
        Cluster an embedding, such as "X_pca", "X_pca_harmony" or "X_scVI". Variables are then
        ranked by X, a layer or ``.raw``, if these have no negative values.
    mask_var : str or array of bool, optional
        The variables to use: a column of ``var``, such as "highly_variable", or one value per
        variable. All if None.
    prepare : bool, default=True
        Scale raw counts to a total of 10,000 and take logarithms first, with a `TableWarning`.
        ``model.preprocessing_`` then has these steps, for `onmf.prepare.apply`.
    rank_key : str, optional
        Key of ``uns`` for the ranking, for example "rank_genes_groups", which scanpy reads by
        default; None is an own key.
    batch_key : str, optional
        Column of ``obs`` with batches: a `TableWarning` says if clusters are batches.
    center_batches : bool, default=False
        Give variables the same mean in all batches first (`onmf.prepare.center_batches`).
    random_state : int, RandomState instance or None, default=0
    copy : bool, default=False
        Whether to leave `adata` unchanged, and also return a copy with the result.
    **params
        Further parameters of `ONMF`.

    Returns
    -------
    ONMF, or (ONMF, AnnData) if `copy`
        The fitted model, with the names of the variables. ``model.predict(other[:,
        model.feature_names_in_])`` assigns the cells of another object.

    Examples
    --------
    >>> import anndata, onmf
    >>> from onmf.datasets import make_rays
    >>> adata = anndata.AnnData(make_rays(60, 8, 3, random_state=0)[0])
    >>> model = onmf.cluster_anndata(adata, 3)
    >>> adata.obs["onmf"].cat.categories.tolist()
    ['0', '1', '2']
    """
    adata = adata.copy() if copy else adata
    model, choice = ONMF(random_state=random_state, **params), None
    prepare = prepare and not loss_of(model).takes_counts
    chosen = choose_matrix(adata, layer, use_raw, mask_var, prepare)
    batches = None if batch_key is None else batches_of(adata, batch_key)
    if center_batches:
        chosen = chosen.centered(batches, obsm)
    samples = chosen.table if obsm is None else embedding(adata, obsm)
    if obsm is None and chosen.signed:
        warnings.warn(scaled_sentence(adata, chosen), SignedDataWarning, stacklevel=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDataWarning)
        if not isinstance(n_clusters, int | np.integer):
            choice = _choose(model, chosen.table.X if obsm is None else samples, n_clusters)
            n_clusters = choice.best_k
        model.set_params(n_clusters=int(n_clusters)).fit(samples)
    said = None if batches is None else batch_sentence(model.labels_, batches)
    if said is not None:
        more = "" if center_batches else ": center_batches=True removes differences of their means"
        warnings.warn(f"{said}{more}.", TableWarning, stacklevel=2)
    if obsm is None and chosen.steps:
        model.preprocessing_ = chosen.steps
    if obsm is not None:
        chosen = non_negative_matrix(adata, chosen, mask_var, prepare)
    found = clusters_or_none(
        model,
        samples,
        by=None if obsm is None else chosen.table.X,
        feature_names=chosen.table.features,
        log_base=chosen.log_base,
    )
    rank_key = f"rank_genes_groups_{key_added}" if rank_key is None else rank_key
    about = chosen.params | ({} if obsm is None else {"obsm": obsm})
    varm = None if obsm is not None else chosen.for_variables(model.cluster_centers_)
    fit = CellFit(model, samples, found, about, varm, choice, rank_key)
    if adata.is_view:
        parent = adata._adata_ref
        rows, places = np.arange(parent.n_obs)[adata._oidx], np.arange(parent.n_vars)[adata._vidx]
        write_fit(parent, key_added, fit, rows, places)
        adata._init_as_actual(adata.copy())
    write_fit(adata, key_added, fit)
    return (model, adata) if copy else model


def _choose(model: ONMF, X: Any, among: str | Iterable[int]) -> KChoice:
    """`choose_k` among these numbers."""
    if isinstance(among, str):
        if among != "auto":
            raise ValueError(f"n_clusters must be an int, 'auto' or an iterable, not {among!r}.")
        among = range(2, max(min(MAX_AUTO_CLUSTERS, X.shape[0] - 1), 2) + 1)
    return choose_k(model, X, among, n_jobs=model.n_jobs)
