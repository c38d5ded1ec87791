"""Clusters of an AnnData object, written where users of scanpy look for them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.estimators import ONMF
from onmf.report.panels import heaviest_features

__all__ = ["cluster_anndata"]

TOP_FEATURES = 20


def cluster_anndata(
    adata: Any, n_clusters: int, layer: str | None = None, key_added: str = "onmf", **params: Any
) -> ONMF:
    """Cluster the observations of an AnnData object and write the result into it.

    Written are, for ``key_added="onmf"``:

    * ``obs["onmf"]``: the cluster, a categorical of "0", "1", ..., the largest being "0"; missing
      where an observation has no cluster, all its values being zero.
    * ``obs["onmf_confidence"]``: how clear that is, from 0 to 1; see `ONMF.confidence`.
    * ``obsm["X_onmf"]``: the memberships (n_obs, n_clusters).
    * ``varm["onmf_centers"]``: the centroids (n_vars, n_clusters).
    * ``uns["onmf"]``: ``params``, ``relative_error``, ``n_iter``, ``converged``, and
      ``top_features``, a table of the twenty heaviest variables of each cluster.

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
    heavy = heaviest_features(model.cluster_centers_, list(adata.var_names), TOP_FEATURES)
    top = [(k, *pair) for k, pairs in zip(names, heavy, strict=True) for pair in pairs]
    adata.obs[key_added] = pd.Categorical.from_codes(model.labels_, names)
    adata.obs[f"{key_added}_confidence"] = model.confidence(X)
    adata.obsm[f"X_{key_added}"] = model.membership_
    adata.varm[f"{key_added}_centers"] = model.cluster_centers_.T
    adata.uns[key_added] = {
        "params": {"layer": layer or "X"} | _storable(model.get_params(deep=False)),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "top_features": pd.DataFrame(top, columns=["cluster", "feature", "weight"]),
    }
    return model


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
