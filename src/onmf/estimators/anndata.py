"""Clusters of an AnnData object, written where users of scanpy look for them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.estimators import ONMF
from onmf.explain import Markers, clusters

__all__ = ["cluster_anndata"]

TOP_FEATURES = 20


def cluster_anndata(
    adata: Any, n_clusters: int, layer: str | None = None, key_added: str = "onmf", **params: Any
) -> ONMF:
    """Cluster the observations of an AnnData object and write the result into it.

    Written are, for ``key_added="onmf"``:

    * ``obs["onmf"]``: the cluster, a categorical of "0", "1", ..., the largest being "0"; missing
      where an observation has no cluster, all its values being zero.
    * ``obs["onmf_certainty"]``: how sure that is, from 0 to 1; see `onmf.explain.clusters`.
    * ``obsm["X_onmf"]``: the memberships (n_obs, n_clusters).
    * ``varm["onmf_centers"]``: the centroids (n_vars, n_clusters).
    * ``uns["onmf"]``: ``params``, ``relative_error``, ``n_iter``, ``converged``, and
      ``top_features``, a table of the twenty most distinctive variables of each cluster.
    * ``uns["rank_genes_groups"]``: all variables by how distinctive they are, in scanpy's layout,
      so that `scanpy.pl.rank_genes_groups` and `scanpy.get.rank_genes_groups_df` work. (For another
      `key_added` the key is ``rank_genes_groups_`` and that; not written for a single cluster.)

    Parameters
    ----------
    adata : AnnData
        In memory or backed, dense or sparse; the values must not be negative. Counts should be
        normalised and logarithms taken first, as usual (`scanpy.pp.normalize_total`, `log1p`).
    n_clusters : int
    layer : str, optional
        The layer to cluster; X if None.
    key_added : str, default="onmf"
    **params
        Further parameters of `ONMF`.

    Returns
    -------
    ONMF
        The fitted model: ``predict`` places other cells.

    Examples
    --------
    >>> import anndata, onmf
    >>> from onmf.datasets import make_rays
    >>> adata = anndata.AnnData(make_rays(60, 8, 3, random_state=0)[0])
    >>> model = onmf.cluster_anndata(adata, 3, random_state=0)
    >>> adata.obs["onmf"].cat.categories.tolist()
    ['0', '1', '2']
    """
    try:
        import pandas as pd
    except ImportError as missing:
        raise ImportError(
            'onmf.cluster_anndata needs AnnData: `pip install "onmf[anndata]"` installs it.'
        ) from missing
    X = _matrix(adata, layer)
    model = ONMF(n_clusters, **params).fit(X)
    names = [str(k) for k in range(n_clusters)]
    adata.obs[key_added] = pd.Categorical.from_codes(model.labels_, names)
    logged = None if layer is not None else adata.uns.get("log1p")
    base = None if logged is None else (logged.get("base") or np.e)
    several = len(np.unique(model.labels_[model.labels_ >= 0])) > 1
    found = clusters(model, X, features=adata.var_names, log_base=base) if several else None
    sure = (model.labels_ >= 0).astype(float) if found is None else found.certainty
    adata.obs[f"{key_added}_certainty"] = sure
    adata.obsm[f"X_{key_added}"] = model.membership_
    adata.varm[f"{key_added}_centers"] = model.cluster_centers_.T
    adata.uns[key_added] = {
        "params": {"layer": layer or "X"} | _storable(model.get_params(deep=False)),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }
    if found is not None:
        adata.uns[key_added]["top_features"] = _text_clusters(found.markers.frame(TOP_FEATURES))
        ranked = "rank_genes_groups" + ("" if key_added == "onmf" else f"_{key_added}")
        adata.uns[ranked] = _ranked(found.markers, key_added, layer)
    return model


def _text_clusters(table: Any) -> Any:
    """The table with clusters named as in ``obs``."""
    return table.assign(cluster=table["cluster"].astype(str))


def _ranked(markers: Markers, groupby: str, layer: str | None) -> dict[str, Any]:
    """All variables of each cluster that has cells, in scanpy's layout: record arrays by rank."""
    known = [k for k in markers.clusters if markers.sizes[k]]
    columns = {
        "names": np.array(markers.features, dtype=object),
        "scores": markers.facts.score.astype(np.float32),
        "pvals": markers.p_value,
        "pvals_adj": markers.p_adjusted,
        "logfoldchanges": markers.facts.log2_fold_change.astype(np.float32),
    }
    told: dict[str, Any] = {
        "params": {
            "groupby": groupby,
            "reference": "rest",
            "method": "t-test",
            "use_raw": False,
            "corr_method": "benjamini-hochberg",
        }
        | ({} if layer is None else {"layer": layer})
    }
    for name, values in columns.items():
        by_rank = [(values if values.ndim == 1 else values[k])[markers.order[k]] for k in known]
        kinds = [(str(k), values.dtype) for k in known]
        told[name] = np.rec.fromarrays(by_rank, dtype=kinds)
    return told


def _matrix(adata: Any, layer: str | None) -> Any:
    """X or a layer, read into memory if it is on disk."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(adata.layers) or "none"
        raise ValueError(f"there is no layer {layer!r} in the AnnData object, which has: {known}.")
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("the AnnData object has no X: name the layer to cluster.")
    if hasattr(X, "to_memory"):
        X = X.to_memory()
    return X if sp.issparse(X) else np.asarray(X)


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """What was set, as values that an .h5ad file can hold."""
    plain = bool | int | float | str
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in params.items()
        if value is not None
    }
