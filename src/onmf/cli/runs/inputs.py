"""An input, how to read it, and what to do to it before it is clustered or predicted."""

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from onmf import ONMF, Baseline
from onmf.data import larger_than_memory
from onmf.io import Source, Table, complete_table, open_source, read_documents, read_table
from onmf.io.table import Progress, listing, no_progress, numbered
from onmf.preparation.steps import STEPS, Step, Words, apply, apply_step

AT_HAND = 20_000  # samples by which a number of clusters is chosen, if more stay on disk


@dataclass(frozen=True)
class Input:
    """Everything about an input that run.json must tell for the run to be repeated.

    path : file or folder.
    text : it holds documents.
    transpose : its rows are features.
    labels : column or file of true classes.
    layer : of an .h5ad file.
    steps : names of the steps of `onmf.preparation`, in order.
    min_df, max_df : which words to keep, see `onmf.preparation.Words`.
    follow_links : documents may be links that lead out of their folder.
    """

    path: Path
    text: bool = False
    transpose: bool = False
    labels: str | None = None
    layer: str | None = None
    steps: tuple[str, ...] = ()
    min_df: int = 2
    max_df: float = 0.5
    follow_links: bool = False

    def read(self, progress: Progress = no_progress) -> Table:
        """The input as it is; rows that would fill the memory stay where they are."""
        if self.text:
            return read_documents(
                self.path, labels=self.labels, follow_links=self.follow_links, progress=progress
            )
        if self.transpose:
            return read_table(
                self.path, transpose=True, labels=self.labels, layer=self.layer, progress=progress
            )
        source = open_source(self.path, labels=self.labels, layer=self.layer, progress=progress)
        table = source.outline() if larger_than_memory(source) else source.load()
        return complete_table(table, self.labels, self.path.name)

    def learn(self, table: Table) -> tuple[Table, tuple[Step, ...]]:
        """The table after all steps, and the steps, fitted to it."""
        X, features = table.X, table.features
        chain: list[Step] = []
        for name in self.steps:
            limits = {"min_df": self.min_df, "max_df": self.max_df} if name == Words.name else {}
            step = STEPS[name].fit(X, **limits)
            X = apply_step(step, X)
            chain.append(step)
            features = list(step.vocabulary) if isinstance(step, Words) else features
        return table._replace(X=X, features=features), tuple(chain)

    def record(self, folder: Path) -> dict[str, Any]:
        """As JSON, paths as seen from the folder of the result: the two may be moved together."""
        facts = asdict(self) | {"path": seen_from(folder, self.path), "steps": list(self.steps)}
        if self.labels is not None and Path(self.labels).is_file():
            facts["labels"] = seen_from(folder, Path(self.labels))
        return facts

    @classmethod
    def recall(cls, facts: dict[str, Any], folder: Path) -> Self:
        """From the record in a folder."""
        recorded = cls(**facts | {"path": folder / facts["path"], "steps": tuple(facts["steps"])})
        beside = folder / (recorded.labels or ".")
        return replace(recorded, labels=str(beside)) if beside.is_file() else recorded


def at_hand(table: Table, seed: int) -> Table:
    """The table in memory; of one whose rows stay on disk a random sample."""
    if not isinstance(table.X, Source):
        return table
    some = np.sort(np.random.default_rng(seed).permutation(len(table.samples))[:AT_HAND])
    chosen = [table.samples[i] for i in some]
    labels = None if table.labels is None else [table.labels[i] for i in some]
    return table._replace(X=table.X[some], samples=chosen, labels=labels)


def seen_from(folder: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(path.resolve())


def aligned(table: Table, model: ONMF | Baseline) -> tuple[Table, int]:
    """New samples as the model wants them, and how many of their features it does not know.

    Features are put in the model's order by their names, if both sides have names; then come the
    steps of the model. Without names the number of features must be right.
    """
    chain = getattr(model, "preprocessing_", ())
    if chain and isinstance(chain[0], Words):
        return table._replace(X=apply(chain, table.X), features=list(chain[0].vocabulary)), 0
    wanted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    have, width = table.features, model.n_features_in_
    if not wanted or have == numbered(len(have)) or wanted == numbered(width):
        if len(have) != width:
            raise ValueError(f"the input has {len(have)} features, the model {width}.")
        return table._replace(X=apply(chain, table.X), features=wanted or have), 0
    place = {name: j for j, name in enumerate(have)}
    missing = [repr(name) for name in wanted if name not in place]
    if missing:
        raise ValueError(
            f"the input lacks {len(missing)} of the {width} features of the model: "
            f"{listing(missing)}."
        )
    if have != wanted and isinstance(table.X, Source):
        raise ValueError(
            "the input is too large to be put in order in memory: store its features in the order "
            f"of the model's, which begins {listing(wanted[:3], len(wanted))}."
        )
    X = table.X if have == wanted else table.X[:, [place[name] for name in wanted]]
    return table._replace(X=apply(chain, X), features=wanted), len(have) - width
