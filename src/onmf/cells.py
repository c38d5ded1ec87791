"""Clusters of an AnnData object, written where users of scanpy look for them."""

from collections.abc import Iterable
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onmf.estimators import ONMF
from onmf.explain import Explanation, Markers
from onmf.explain.explanation import fit_clusters
from onmf.io import Table
from onmf.rows import matrix_of
from onmf.stability import KChoice, choose_k

__all__ = ["cluster_anndata"]

Array = NDArray[Any]

TOP_FEATURES = 20
MOST_CLUSTERS = 20  # that "auto" looks at


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

    * ``obs["onmf"]``: the cluster, a categorical of "0", "1", ..., the largest being "0"; missing
      where an observation has no cluster, all its values being zero.
    * ``obs["onmf_certainty"]``: how sure that is, from 0 to 1; see `onmf.explain.clusters`.
    * ``obsm["X_onmf"]``: the cosines with all centroids (n_obs, n_clusters), see
      `ONMF.decision_function`: coordinates for neighbours and plots, as in
      ``sc.pp.neighbors(adata, use_rep="X_onmf")``.
    * ``obsm["onmf_membership"]``: the memberships, one entry a row.
    * ``varm["onmf_centers"]``: the centroids (n_vars, n_clusters); zero where `mask_var` is False.
    * ``uns["onmf"]``: ``params``, ``relative_error``, ``n_iter``, ``converged``, a table
      ``top_features`` of the twenty most distinctive variables of each cluster, and the ``reason``
      for this many clusters if they were chosen.
    * ``uns["rank_genes_groups"]``: all variables by how distinctive they are, in scanpy's layout,
      so that `scanpy.pl.rank_genes_groups` and `scanpy.get.rank_genes_groups_df` work. (For another
      `key_added` the key is ``rank_genes_groups_`` and that; not written for a single cluster.)

    Of a view, as in ``cluster_anndata(adata[:, adata.var["highly_variable"]], 8)``, the result is
    written both into the view, which becomes an object of its own, and into the object it is a view
    of, with missing values and zeros where the view does not reach.

    Parameters
    ----------
    adata : AnnData
        In memory or backed, dense or sparse; the values must not be negative. Counts should be
        normalised and logarithms taken first, as usual (`scanpy.pp.normalize_total`, `log1p`).
    n_clusters : int, "auto" or iterable of int, default="auto"
        "auto" lets `choose_k` choose from 2 to 20, an iterable from its numbers.
    layer : str, optional
        The layer to cluster; X if None.
    key_added : str, default="onmf"
    mask_var : str or array of bool, optional
        The variables to use: a column of ``var``, such as "highly_variable", or one value a
        variable. All if None.
    random_state : int, RandomState instance or None, default=0
    copy : bool, default=False
        Whether to leave `adata` as it is, and return a copy with the result beside the model.
    **params
        Further parameters of `ONMF`.

    Returns
    -------
    ONMF, or (ONMF, AnnData) if `copy`
        The fitted model, which has the names of the variables: ``model.top_features()`` shows them,
        ``model.save`` keeps them, and ``model.predict(other[:, model.feature_names_in_])`` places
        the cells of another object.

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
    found = _explained(model, table, adata, layer)
    facts = _Facts.of(model, table, used, found)
    told = _told(model, found, key_added, layer, choice)
    if adata.is_view:
        parent = adata._adata_ref
        rows, columns = np.arange(parent.n_obs)[adata._oidx], np.arange(parent.n_vars)[adata._vidx]
        facts.within(rows, columns, parent.shape).write(parent, key_added, told)
        adata._init_as_actual(adata.copy())
    facts.write(adata, key_added, told)
    return (model, adata) if copy else model


class CellFit(NamedTuple):
    """A fit to X, or a layer, of an .h5ad file, and what is known of it."""

    model: ONMF
    table: Table
    explanation: Explanation | None
    layer: str | None
    choice: KChoice | None


def annotated(source: str, result: CellFit, file: IO[bytes]) -> None:
    """Into `file`, the .h5ad file `source` with what a fit to its samples found."""
    model, table, found, layer, choice = result
    try:
        import anndata
    except ImportError as missing:
        raise ImportError(
            '--write-h5ad needs AnnData: `pip install "onmf[anndata]"` installs it.'
        ) from missing
    adata = anndata.read_h5ad(source)
    if not getattr(model, "preprocessing_", ()):  # then the file says by which logarithm X is
        found = _explained(model, table, adata, layer)
    facts = _Facts.of(model, table, np.ones(adata.n_vars, bool), found)
    facts.write(adata, "onmf", _told(model, found, "onmf", layer, choice))
    adata.write_h5ad(file.name)


class _Facts(NamedTuple):
    """What is written of each observation and each variable."""

    labels: Array
    certainty: Array
    scores: Array
    membership: Array
    centers: Array  # (n_vars, k)

    @classmethod
    def of(cls, model: ONMF, X: Table, used: Array, found: Explanation | None) -> "_Facts":
        W = np.zeros((len(used), len(model.cluster_centers_)), model.cluster_centers_.dtype)
        W[used] = model.cluster_centers_.T
        H = np.asarray(model.membership_)
        sure = (model.labels_ >= 0).astype(float) if found is None else found.certainty
        return cls(model.labels_, sure, model.decision_function(X), H, W)

    def within(self, rows: Array, columns: Array, shape: tuple[int, int]) -> "_Facts":
        """As parts of an object of this shape: at these observations and variables."""
        labels, certainty = np.full(shape[0], -1), np.full(shape[0], np.nan)
        labels[rows], certainty[rows] = self.labels, self.certainty
        wide = []
        places = ((rows, shape[0]), (rows, shape[0]), (columns, shape[1]))
        for part, (where, n) in zip(self[2:], places, strict=True):
            wide.append(np.zeros((n, part.shape[1]), part.dtype))
            wide[-1][where] = part
        return _Facts(labels, certainty, *wide)

    def write(self, adata: Any, key: str, told: dict[str, Any]) -> None:
        import pandas as pd

        names = [str(k) for k in range(self.centers.shape[1])]
        adata.obs[key] = pd.Categorical.from_codes(self.labels, names)
        adata.obs[f"{key}_certainty"] = self.certainty
        adata.obsm[f"X_{key}"] = self.scores
        adata.obsm[f"{key}_membership"] = self.membership
        adata.varm[f"{key}_centers"] = self.centers
        adata.uns.update(told)


def _explained(model: ONMF, table: Table, adata: Any, layer: str | None) -> Explanation | None:
    """What makes the clusters, unless there is but one; scanpy says by which logarithm X is."""
    logarithm = None if layer is not None else adata.uns.get("log1p")
    base = None if logarithm is None else (logarithm.get("base") or np.e)
    return fit_clusters(model, table, model.cluster_ids_.tolist(), table.features, base)


def _told(
    model: ONMF,
    found: Explanation | None,
    key: str,
    layer: str | None,
    choice: KChoice | None,
) -> dict[str, Any]:
    """What is written of the fit as a whole: the entries of ``uns``."""
    fit: dict[str, Any] = {
        "params": {"layer": layer or "X"} | _storable(model.get_params(deep=False)),
        "relative_error": float(model.relative_error_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }
    if choice is not None:
        fit["reason"] = choice.reason
    if found is None:
        return {key: fit}
    top = found.markers.frame(TOP_FEATURES)
    fit["top_features"] = top.assign(cluster=top["cluster"].astype(str))
    ranking = "rank_genes_groups" + ("" if key == "onmf" else f"_{key}")
    return {key: fit, ranking: _ranking(found.markers, key, layer)}


def _ranking(markers: Markers, groupby: str, layer: str | None) -> dict[str, Any]:
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


def _choose(model: ONMF, X: Any, among: str | Iterable[int]) -> KChoice:
    """By `choose_k`; no more than there can be."""
    if isinstance(among, str):
        if among != "auto":
            raise ValueError(f"n_clusters must be a number, 'auto' or numbers, not {among!r}.")
        among = range(2, max(min(MOST_CLUSTERS, X.shape[0] - 1), 2) + 1)
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
            f"mask_var must be a column of var or {adata.n_vars} values True or False, one a "
            "variable, some of them True."
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
