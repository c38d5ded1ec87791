"""What was given to `onmf.cluster`: samples of any kind, their names, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from onmf.prepare.texts import as_texts
from onmf.rows import is_dask, matrix_of, open_rows
from onmf.rows.placement import is_anndata
from onmf.rows.source import OBSM
from onmf.rows.table import listing, numbered
from onmf.rows.terms import CELLS, DOCUMENTS, SAMPLES, Terms


@dataclass(frozen=True)
class Given:
    """Samples as rows.

    X : array, CSR matrix, rows on disk or Dask, or texts; None for what was loaded from a file.
    features : names, or numbers as text.
    index : names of the samples, a pandas index if the data have one, or None.
    obs : columns of an AnnData object.
    """

    X: Any
    features: list[str]
    index: Any = None
    terms: Terms = SAMPLES
    layer: str | None = None
    obs: Any = None

    @classmethod
    def of(
        cls,
        data: Any,
        samples: Sequence[Any] | None,
        features: Sequence[Any] | None,
        layer: str | None,
    ) -> "Given":
        """From any kind of data."""
        if isinstance(data, Given):
            return data
        texts = as_texts(data)
        if texts is not None:
            index = data.index if samples is None and hasattr(data, "to_numpy") else samples
            return cls(texts, [], index, DOCUMENTS)
        if is_anndata(data):
            X, own = layer_of(data, layer)
            index = data.obs_names if samples is None else samples
            return cls(X, own, index, CELLS, layer, data.obs)
        names: Any = features
        opened = open_rows(data) if isinstance(data, str | Path) else None
        if opened is not None:
            X, names = opened, opened.names if features is None else features
            samples = opened.samples if samples is None else samples
        elif hasattr(data, "columns") and not is_dask(data):
            X, names = data.to_numpy(), data.columns if features is None else features
            samples = data.index if samples is None else samples
        else:
            X = data if hasattr(data, "shape") else np.asarray(data)
        known = numbered(X.shape[1]) if names is None else [str(name) for name in names]
        return cls(X, known, samples, SAMPLES, layer)

    @property
    def has_names(self) -> bool:
        """Whether features are called more than their numbers."""
        return self.features != numbered(len(self.features))

    @property
    def texts(self) -> list[str] | None:
        return self.X if isinstance(self.X, list) else None

    def batches(self, batch: Any) -> list[str] | None:
        """The batch of each sample, from a column of ``obs`` or as given."""
        if batch is None:
            return None
        if isinstance(batch, str):
            if self.obs is None or batch not in self.obs:
                known = listing(() if self.obs is None else self.obs)
                raise ValueError(f"there is no column {batch!r} in obs, which has: {known}.")
            batch = self.obs[batch]
        return [str(one) for one in batch]

    def aligned(self, wanted: list[str], missing: float | None) -> Self:
        """With the features of other samples, in their order; those that are missing have a value.

        Without names, on either side, the number of features must be the same.
        """
        have, plain = self.features, numbered(len(wanted))
        if self.texts is not None or have == wanted:
            return self
        if plain in (have, wanted) or have == numbered(len(have)):
            if len(have) != len(wanted):
                raise ValueError(f"X has {len(have)} features, the model {len(wanted)}.")
            return replace(self, features=wanted)
        place = {name: number for number, name in enumerate(have)}
        lacking = [name for name in wanted if name not in place]
        if lacking and (missing is None or len(lacking) == len(wanted)):
            names = listing(map(repr, lacking), len(lacking))
            more = "" if len(lacking) == len(wanted) else "; missing=0 or NaN takes them as that"
            raise ValueError(
                f"the new samples lack {len(lacking)} of {len(wanted)} features: {names}{more}."
            )
        if not (isinstance(self.X, np.ndarray) or sp.issparse(self.X)):
            raise ValueError(
                "features of rows that are not in memory must be in the model's order."
            )
        X = sp.csc_array(self.X) if sp.issparse(self.X) else self.X
        if lacking:
            beside = np.full((X.shape[0], len(lacking)), missing)
            sparse = sp.issparse(X)
            stack = sp.hstack([X, sp.csc_array(beside)]) if sparse else np.hstack([X, beside])
            X = sp.csc_array(stack) if sp.issparse(stack) else stack
        place |= {name: len(have) + number for number, name in enumerate(lacking)}
        X = X[:, [place[name] for name in wanted]]
        return replace(self, X=sp.csr_array(X) if sp.issparse(X) else X, features=wanted)

    def names_of_samples(self) -> Any:
        """The index, or numbers as text."""
        if self.index is None:
            n = len(self.X) if self.texts is not None else self.X.shape[0]
            return [str(number) for number in range(n)]
        return self.index

    def with_index(self, values: Any, name: str) -> Any:
        """As a Series, where the data have an index."""
        if not hasattr(self.index, "get_indexer"):
            return values
        import pandas as pd

        return pd.Series(values, self.index, name=name)


def layer_of(adata: Any, layer: str | None) -> tuple[Any, list[str]]:
    """X, a layer, ``.raw`` or an embedding of an AnnData object, and the names of its columns."""
    if layer is not None and layer.startswith(OBSM):
        name = layer.removeprefix(OBSM)
        if name not in adata.obsm:
            known = listing(adata.obsm) or "nothing"
            raise ValueError(f"there is no {name!r} in obsm, which has: {known}.")
        X = np.asarray(adata.obsm[name])
        return X, numbered(X.shape[1])
    names = adata.var_names
    if layer is None:
        X = matrix_of(adata)
    elif layer in adata.layers:
        X = adata.layers[layer]
    elif layer == "raw" and adata.raw is not None:
        X, names = adata.raw.X, adata.raw.var_names
    else:
        known = listing([own for own in adata.layers if own is not None]) or "none"
        raise ValueError(f"there is no layer {layer!r} in the AnnData object, which has: {known}.")
    X = X.to_memory() if hasattr(X, "to_memory") else X
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return X, [str(name) for name in names]


def stacked(first: Given, second: Given) -> Given:
    """The samples of both; the second has the features of the first."""
    if first.texts is not None:
        X: Any = [*first.texts, *(second.texts or ())]
    elif sp.issparse(first.X) or sp.issparse(second.X):
        X = sp.csr_array(sp.vstack([first.X, second.X], "csr"))
    elif isinstance(first.X, np.ndarray) and isinstance(second.X, np.ndarray):
        X = np.vstack([first.X, second.X])
    else:
        raise ValueError("samples that are not in memory cannot be clustered with others.")
    index = None
    if first.index is not None or second.index is not None:
        index = [*first.names_of_samples(), *second.names_of_samples()]
        if hasattr(first.index, "append"):
            index = first.index.append(type(first.index)(second.names_of_samples()))
    return replace(first, X=X, index=index)
