"""Clusters of an AnnData object, stored where scanpy's users expect them."""

from collections.abc import Iterable
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.estimators import ONMF, Baseline
from onmf.explain import Explanation, Markers
from onmf.explain.explanation import clusters_or_none
from onmf.io import Table
from onmf.rows import matrix_of
from onmf.rows.sweep import Array
from onmf.stability import KChoice, choose_k

__all__ = ["cluster_anndata"]


TOP_VARIABLES = 20  # per cluster, in uns
MAX_AUTO_CLUSTERS = 20


def cluster_anndata(
    adata: Any,
    n_clusters: int | str | Iterable[int] = "auto",
    layer: str | None = None,
    key_added: str = "onmf",
    *,
    mask_var: Any = None,
    random_state: Any = 0,
    copy: bool = False,
    **params: Any,
) -> Any:
    """Cluster the observations of an AnnData object and write the result into it.

    Written are, for ``key_added="onmf"``:

    * ``obs["onmf"]``: the cluster, a categorical of "0", "1", ..., the largest first; missing if
      all values of an observation are zero.
    * ``obs["onmf_certainty"]``: how certain that is, from 0 to 1; see `onmf.explain.clusters`.
    * ``obsm["X_onmf"]``: the scores for all clusters (n_obs, n_clusters) of
      `ONMF.decision_function`, for neighbours and plots, as in
      ``sc.pp.neighbors(adata, use_rep="X_onmf")``.
    * ``obsm["onmf_membership"]``: the memberships, one non-zero entry per row.
    * ``varm["onmf_centers"]``: the centroids (n_vars, n_clusters); zero where `mask_var` is False.
    * ``uns["onmf"]``: ``params``, ``relative_error``, ``n_iter``, ``converged``, a table
      ``top_features`` of the twenty most distinctive variables of each cluster, and the ``reason``
      for the number of clusters if it was chosen.
    * ``uns["rank_genes_groups"]``: all variables by how distinctive they are, in scanpy's layout,
      for `scanpy.pl.rank_genes_groups` and `scanpy.get.rank_genes_groups_df`. (With another
      `key_added` it is ``rank_genes_groups_<key_added>``; not written for a single cluster.)

    The result of a view, as in ``cluster_anndata(adata[:, adata.var["highly_variable"]], 8)``, is
    written both into the view, which becomes an object of its own, and into the original object,
    with missing values and zeros outside the view.

    Parameters
    ----------
    adata : AnnData
        In memory or backed, dense or sparse, without negative values. Counts should be normalised
        and log-transformed first, as usual (`scanpy.pp.normalize_total`, `log1p`).
    n_clusters : int, "auto" or iterable of int, default="auto"
        "auto" lets `choose_k` choose from 2 to 20, an iterable from its numbers.
    layer : str, optional
        The layer to cluster; X if None.
    key_added : str, default="onmf"
    mask_var : str or array of bool, optional
        The variables to use: a column of ``var``, such as "highly_variable", or one value per
        variable. All if None.
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
    try:
        import pandas  # noqa: F401
    except ImportError as missing:
        raise ImportError(
            'onmf.cluster_anndata needs AnnData: `pip install "onmf[anndata]"` installs it.'
        ) from missing
    adata = adata.copy() if copy else adata
    used = _mask(adata, mask_var)
    X = _matrix(adata, layer)
    X = X if used.all() else X[:, used]
    names = [str(name) for name in adata.var_names[used]]
    model, choice = ONMF(random_state=random_state, **params), None
    if not isinstance(n_clusters, int | np.integer):
        choice = _choose(model, X, n_clusters)
        n_clusters = choice.best_k
    model.set_params(n_clusters=int(n_clusters))
    table = Table(X, list(adata.obs_names), names)
    model.fit(table)
    found = clusters_or_none(model, table, features=names, log_base=_log_base(adata, layer))
    fit = CellFit(model, table, found, layer, choice)
    if adata.is_view:
        parent = adata._adata_ref
        rows, columns = np.arange(parent.n_obs)[adata._oidx], np.arange(parent.n_vars)[adata._vidx]
        _write(parent, key_added, fit, rows, columns[used])
        adata._init_as_actual(adata.copy())
    _write(adata, key_added, fit, slice(None), used)
    return (model, adata) if copy else model


class CellFit(NamedTuple):
    """A fit to X or a layer, its explanation, and how the number of clusters was chosen."""

    model: ONMF | Baseline
    table: Table
    explanation: Explanation | None
    layer: str | None
    choice: KChoice | None


def annotated(source: str, fit: CellFit, file: IO[bytes]) -> None:
    """Write the .h5ad file `source` into `file`, with a fit to its samples."""
    try:
        import anndata
    except ImportError as missing:
        raise ImportError(
            '--write-h5ad needs AnnData: `pip install "onmf[anndata]"` installs it.'
        ) from missing
    adata = anndata.read_h5ad(source)
    base = _log_base(adata, fit.layer)
    if base is not None and not getattr(fit.model, "preprocessing_", ()):
        found = clusters_or_none(fit.model, fit.table, features=fit.table.features, log_base=base)
        fit = fit._replace(explanation=found)
    _write(adata, "onmf", fit, slice(None), slice(None))
    adata.write_h5ad(file.name)


def _write(adata: Any, key: str, fit: CellFit, rows: Any, columns: Any) -> None:
    """Write a fit to these observations and variables of an object into it."""
    import pandas as pd

    model, found, n = fit.model, fit.explanation, adata.n_obs
    labels, names = model.labels_, [str(k) for k in range(len(model.cluster_centers_))]
    certainty = (labels >= 0).astype(float) if found is None else found.certainty
    adata.obs[key] = pd.Categorical.from_codes(_at(rows, labels, n, -1), names)
    adata.obs[f"{key}_certainty"] = _at(rows, certainty, n, np.nan)
    adata.obsm[f"X_{key}"] = _at(rows, model.decision_function(fit.table), n)
    adata.obsm[f"{key}_membership"] = _at(rows, np.asarray(model.membership_), n)
    adata.varm[f"{key}_centers"] = _at(columns, model.cluster_centers_.T, adata.n_vars)
    adata.uns.update(_entries_of_uns(fit, key))


def _at(where: Any, values: Array, n: int, empty: float = 0) -> Array:
    """An array of n rows with these values at some of them."""
    whole = np.full((n, *values.shape[1:]), empty, values.dtype)
    whole[where] = values
    return whole


def _log_base(adata: Any, layer: str | None) -> float | None:
    """The base of the logarithms in X, which scanpy notes."""
    logarithm = None if layer is not None else adata.uns.get("log1p")
    return None if logarithm is None else (logarithm.get("base") or np.e)


def _entries_of_uns(fit: CellFit, key: str) -> dict[str, Any]:
    """What is written about the fit as a whole."""
    model, found = fit.model, fit.explanation
    facts: dict[str, Any] = {
        "params": {"layer": fit.layer or "X"} | _storable(model.get_params(deep=False)),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }
    if fit.choice is not None:
        facts["reason"] = fit.choice.reason
    if found is None:
        return {key: facts}
    top = found.markers.frame(TOP_VARIABLES)
    facts["top_features"] = top.assign(cluster=top["cluster"].astype(str))
    ranking = "rank_genes_groups" + ("" if key == "onmf" else f"_{key}")
    return {key: facts, ranking: _ranking(found.markers, key, fit.layer)}


def _ranking(markers: Markers, groupby: str, layer: str | None) -> dict[str, Any]:
    """All variables of each cluster that has cells, in scanpy's layout of record arrays."""
    known = [k for k in markers.clusters if markers.sizes[k]]
    columns = {
        "names": np.array(markers.features, dtype=object),
        "scores": markers.facts.score.astype(np.float32),
        "pvals": markers.p_value,
        "pvals_adj": markers.p_adjusted,
        "logfoldchanges": markers.facts.log2_fold_change.astype(np.float32),
    }
    layout: dict[str, Any] = {
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
        layout[name] = np.rec.fromarrays(by_rank, dtype=kinds)
    return layout


def _choose(model: ONMF, X: Any, among: str | Iterable[int]) -> KChoice:
    """`choose_k` among these numbers."""
    if isinstance(among, str):
        if among != "auto":
            raise ValueError(f"n_clusters must be an int, 'auto' or an iterable, not {among!r}.")
        among = range(2, max(min(MAX_AUTO_CLUSTERS, X.shape[0] - 1), 2) + 1)
    return choose_k(model, X, among, n_jobs=model.n_jobs)


def _mask(adata: Any, mask_var: Any) -> Array:
    """Which variables to use, one bool each."""
    if mask_var is None:
        return np.ones(adata.n_vars, bool)
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            known = ", ".join(adata.var) or "none"
            raise ValueError(f"there is no column {mask_var!r} in var, which has: {known}.")
        mask_var = adata.var[mask_var]
    mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,) or not mask.any():
        raise ValueError(
            f"mask_var must be a column of var or {adata.n_vars} booleans, one per variable, at "
            "least one of them True."
        )
    return mask


def _matrix(adata: Any, layer: str | None) -> Any:
    """X or a layer, read into memory if it is on disk."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(adata.layers) or "none"
        raise ValueError(f"there is no layer {layer!r} in the AnnData object, which has: {known}.")
    X = matrix_of(adata) if layer is None else adata.layers[layer]
    X = X.to_memory() if hasattr(X, "to_memory") else X
    return sp.csr_array(X) if sp.issparse(X) else np.asarray(X)


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    """What was set, as values that an .h5ad file can hold."""
    plain = bool | int | float | str
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in params.items()
        if value is not None
    }
