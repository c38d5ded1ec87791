"""New samples with the features of a model, matched by name."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from onmf.prepare import apply
from onmf.rows import Source, Table, listing, numbered


def is_transposed(table: Table, model: Any) -> bool:
    """Whether the features of the model are the samples of the table."""
    wanted = set(feature_names(model))
    if not wanted or wanted == {*numbered(len(wanted))} or isinstance(table.X, list):
        return False
    return len(wanted.intersection(table.samples)) > 2 * len(wanted.intersection(table.features))


def feature_names(model: Any) -> list[str]:
    """The names of the features that a model was fitted to, if it knows them."""
    return [str(name) for name in getattr(model, "feature_names_in_", ())]


def align_features(table: Table, model: Any, fill: float | None = None) -> tuple[Table, list[str]]:
    """New samples after the steps of a model, with its features; and notes on the differences.

    If both have names, features are put in the order of the model, and missing ones are filled with
    zero or NaN, or refused. Without names the number of features must be the same.
    """
    chain = getattr(model, "preprocessing_", ())
    for step in chain:
        if step.of_texts and hasattr(step, "vocabulary"):
            return table._replace(X=apply(chain, table.X), features=list(step.vocabulary)), []
    wanted, width = feature_names(model), model.n_features_in_
    have = table.features
    plain = have == numbered(len(have)) and not {*wanted} <= {*have}  # without names of features
    if not wanted or plain or wanted == numbered(width):
        if len(have) != width:
            turned = ": add or leave out --transpose" if len(table.samples) == width else ""
            raise ValueError(f"the input has {len(have)} features, the model {width}{turned}.")
        return table._replace(X=apply(chain, table.X), features=wanted or have), []
    table, said = _filled(table, wanted, fill)
    if unknown := len({*have}.difference(wanted)):
        said = [f"{unknown} features are not in the model and are not used.", *said]
    X = table.X
    if table.features != wanted:
        if isinstance(X, Source):
            raise ValueError(
                "the input is too large to reorder its features in memory: store them in the order "
                f"of the model, which starts with {listing(wanted[:3], len(wanted))}."
            )
        place = {name: j for j, name in enumerate(table.features)}
        X = X[:, [place[name] for name in wanted]]
    return table._replace(X=apply(chain, X), features=wanted), said


def _filled(table: Table, wanted: list[str], fill: float | None) -> tuple[Table, list[str]]:
    """The table with all features, `fill` in those it lacks; None refuses that."""
    there = {*table.features}
    missing = [name for name in wanted if name not in there]
    if not missing:
        return table, []
    names = f"{len(missing)} of the {len(wanted)} features of the model: "
    names += listing(map(repr, missing), len(missing))
    if fill is None or isinstance(table.X, Source) or len(missing) == len(wanted):
        advice = "; --missing zero fills them with 0, --missing nan marks them as missing"
        advice = "" if len(missing) == len(wanted) else advice
        raise ValueError(f"the input lacks {names}{advice}.")
    more = np.full((len(table.samples), len(missing)), fill)
    sparse = sp.issparse(table.X)
    X = sp.hstack([table.X, sp.csr_array(more)], "csr") if sparse else np.hstack([table.X, more])
    full = table._replace(X=X, features=[*table.features, *missing])
    return full, [f"the input lacks {names}; they are taken as {'missing' if fill else 'zero'}."]
