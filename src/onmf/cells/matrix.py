"""Which matrix of an AnnData object is clustered: X, a layer, `.raw` or an embedding."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import TableWarning
from onmf.prepare import Depth, Log, center_batches
from onmf.prepare.base import Step
from onmf.prepare.expression import COUNT_TOTAL, are_raw_counts, prepare_counts
from onmf.rows import matrix_of
from onmf.rows.sweep import Array
from onmf.rows.table import Table, listing


class CellMatrix(NamedTuple):
    """Values of cells.

    table : with names of cells and variables.
    variables : the names of the variables of the object, which `.raw` may not have.
    steps : what was done to raw counts.
    log_base : of the logarithms, if it is known.
    params : which matrix it is.
    """

    table: Table
    variables: list[str]
    steps: tuple[Step, ...]
    log_base: float | None
    params: dict[str, Any]

    @property
    def signed(self) -> bool:
        return self.table.X.size > 0 and self.table.X.min() < 0

    def centered(self, batches: list[str] | None, obsm: str | None) -> "CellMatrix":
        """With the same mean of every variable in all batches."""
        if batches is None or obsm is not None:
            raise ValueError("center_batches needs batch_key, and does not combine with obsm.")
        return self._replace(table=self.table._replace(X=center_batches(self.table.X, batches)))

    def for_variables(self, centers: Array) -> Array | None:
        """Centroids with a row for each variable of the object, zero for those not used."""
        known = {name: j for j, name in enumerate(self.table.features)}
        if self.params.get("use_raw") and not known.keys() >= {*self.variables}:
            return None
        places = np.array([known.get(name, -1) for name in self.variables])
        return np.where(places[:, None] >= 0, centers.T[places], 0)


def choose_matrix(
    adata: Any, layer: str | None, use_raw: bool, mask_var: Any, prepare: bool
) -> CellMatrix:
    """X, a layer or `.raw`; raw counts are prepared, with a warning."""
    if use_raw and layer is not None:
        raise ValueError("only one of layer and use_raw can be given.")
    if use_raw and adata.raw is None:
        raise ValueError(
            "the AnnData object has no .raw: take X or a layer "
            f"({listing(layer_names(adata)) or 'it has none'})."
        )
    used = _mask(adata.raw.var if use_raw else adata.var, mask_var)
    X = _in_memory(adata.raw.X) if use_raw else _matrix(adata, layer)
    X = X if used.all() else X[:, used]
    names = adata.raw.var_names if use_raw else adata.var_names
    base = log_base(adata, layer)
    steps: tuple[Step, ...] = ()
    if prepare and are_raw_counts(X):
        warnings.warn(
            f"{_name(layer, use_raw)} has raw counts, so cells were scaled to the same total and "
            "logarithms taken; prepare=False clusters them as they are.",
            TableWarning,
            stacklevel=3,
        )
        X, base, steps = prepare_counts(X), 2.0, (Depth(COUNT_TOTAL), Log())
    params = {"use_raw": True} if use_raw else {} if layer is None else {"layer": layer}
    table = Table(X, list(adata.obs_names), [str(name) for name in names[used]])
    return CellMatrix(table, [str(name) for name in adata.var_names], steps, base, params)


def non_negative_matrix(adata: Any, chosen: CellMatrix, mask_var: Any, prepare: bool) -> CellMatrix:
    """The matrix itself, or `.raw` if it was scaled."""
    if not chosen.signed or adata.raw is None or chosen.params:
        return chosen
    own = mask_var if isinstance(mask_var, str) and mask_var in adata.raw.var else None
    return choose_matrix(adata, None, True, own, prepare)


def scaled_sentence(adata: Any, chosen: CellMatrix) -> str:
    """What to take instead of scaled values."""
    ways = []
    if adata.raw is not None and not chosen.params.get("use_raw") and adata.raw.X.min() >= 0:
        ways.append("use_raw=True")
    ways += [f"layer={n!r}" for n in layer_names(adata) if adata.layers[n].min() >= 0]
    ways += [f"obsm={n!r}" for n in adata.obsm if n.startswith("X_")][:3]
    where = _name(chosen.params.get("layer"), bool(chosen.params.get("use_raw")))
    remedy = f"take {' or '.join(ways)} instead" if ways else "take the values before scaling"
    return (
        f"{where} has negative values, as after scanpy.pp.scale, so zero is a mean and a cluster "
        f"a direction of any sign: {remedy}."
    )


def batches_of(adata: Any, name: str) -> list[str]:
    """The batch of each cell."""
    if name not in adata.obs:
        raise ValueError(f"there is no column {name!r} in obs, which has: {listing(adata.obs)}.")
    return [str(batch) for batch in adata.obs[name]]


def embedding(adata: Any, name: str) -> Array:
    """An embedding of the cells."""
    if name not in adata.obsm:
        raise ValueError(
            f"there is no {name!r} in obsm, which has: {listing(adata.obsm) or 'nothing'}."
        )
    return np.asarray(adata.obsm[name])


def at_variables(adata: Any, names: list[str], centers: Array) -> Array | None:
    """Centroids of `.raw` with a row for each variable of the object, if it has all of them."""
    table = Table(None, [], names)
    variables = [str(name) for name in adata.var_names]
    return CellMatrix(table, variables, (), None, {"use_raw": True}).for_variables(centers)


def log_base(adata: Any, layer: str | None) -> float | None:
    """The base of the logarithms in X and `.raw`, which scanpy notes."""
    logarithm = None if layer is not None else adata.uns.get("log1p")
    return None if logarithm is None else (logarithm.get("base") or np.e)


def _mask(variables: Any, mask_var: Any) -> Array:
    """Which variables to use, one bool each."""
    if mask_var is None:
        return np.ones(len(variables), bool)
    if isinstance(mask_var, str):
        if mask_var not in variables:
            known = ", ".join(variables) or "none"
            raise ValueError(f"there is no column {mask_var!r} in var, which has: {known}.")
        mask_var = variables[mask_var]
    mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (len(variables),) or not mask.any():
        raise ValueError(
            f"mask_var must be a column of var or {len(variables)} booleans, one per variable, at "
            "least one of them True."
        )
    return mask


def layer_names(adata: Any) -> list[str]:
    """The layers beside X, which anndata from 0.13 on lists among them as None."""
    return [name for name in adata.layers if name is not None]


def _matrix(adata: Any, layer: str | None) -> Any:
    """X or a layer, read into memory if it is on disk."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(layer_names(adata)) or "none"
        raise ValueError(f"there is no layer {layer!r} in the AnnData object, which has: {known}.")
    return _in_memory(matrix_of(adata) if layer is None else adata.layers[layer])


def _in_memory(X: Any) -> Any:
    X = X.to_memory() if hasattr(X, "to_memory") else X
    return sp.csr_array(X) if sp.issparse(X) else np.asarray(X)


def _name(layer: str | None, use_raw: bool) -> str:
    return ".raw" if use_raw else "X" if layer is None else f"layer {layer!r}"
