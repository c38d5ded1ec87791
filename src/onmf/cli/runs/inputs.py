"""An input, how to read it, and what to do to it before it is clustered or predicted."""

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from onmf import ONMF, Baseline
from onmf.io import Source, Table, complete_table, open_source, read_documents, read_table
from onmf.io.formats import Duplicates, can_drop, larger_than_memory
from onmf.io.remote import AnyFile, RemoteFile, as_file, is_remote
from onmf.io.table import Progress, listing, no_progress, numbered
from onmf.preparation.steps import STEPS, Depth, Step, apply, apply_step
from onmf.preparation.stop_words import stop_words
from onmf.preparation.texts import WORD, Strip, Words
from onmf.rows.check import cells

SHOWN, SHOWN_AT_MOST = 60, 500  # characters of a document on the page, and looked at for them
AT_HAND = 20_000  # samples by which a number of clusters is chosen, if more stay on disk


@dataclass(frozen=True)
class Input:
    """Everything about an input that run.json must tell for the run to be repeated.

    path : file or folder, or the address of a file elsewhere.
    text : it holds documents.
    transpose : its rows are features.
    labels : column or file of true classes.
    layer : of an .h5ad file.
    decimal, thousands, drop, duplicates : see `onmf.io.read_table`.
    steps : names of the steps of `onmf.preparation`, in order.
    total : that the samples are scaled to by the step depth, a number or "median".
    text_column, id_column : of a table of documents.
    min_df, max_df, stop_words, ngrams, pattern : which words to keep, see `onmf.preparation.Words`.
    strip : what is taken out of texts, see `onmf.preparation.Strip`.
    follow_links : documents may be links that lead out of their folder.
    time : column, or file, that says when each sample was.
    """

    path: AnyFile
    text: bool = False
    transpose: bool = False
    labels: str | None = None
    layer: str | None = None
    decimal: str = "."
    thousands: str = ""
    drop: tuple[str, ...] = ()
    duplicates: Duplicates = "refuse"
    steps: tuple[str, ...] = ()
    total: str | None = None
    text_column: str | None = None
    id_column: str | None = None
    min_df: int | float = 2
    max_df: float = 0.5
    stop_words: str = "none"
    ngrams: tuple[int, int] = (1, 1)
    pattern: str = WORD
    strip: tuple[str, ...] = ()
    follow_links: bool = False
    time: str | None = None

    def read(self, progress: Progress = no_progress) -> Table:
        """The input as it is; rows that would fill the memory stay where they are."""
        if self.text:
            return read_documents(
                self.path, column=self.text_column, id_column=self.id_column, labels=self.labels,
                follow_links=self.follow_links, progress=progress,
            )  # fmt: skip
        how: Any = {
            "labels": self.labels, "layer": self.layer, "decimal": self.decimal,
            "thousands": self.thousands, "drop": self._aside(), "progress": progress,
        }  # fmt: skip
        if self.transpose:
            return read_table(self.path, transpose=True, duplicates=self.duplicates, **how)
        source = open_source(self.path, **how)
        table = source.outline() if larger_than_memory(source) else source.load()
        return complete_table(table, self.labels, self.path.name, self.duplicates)

    def _aside(self) -> tuple[str, ...]:
        """Columns that are no features: those to drop, and that of the time."""
        own = self.time is not None and not Path(self.time).is_file()
        column = own and not self.transpose and can_drop(self.path.name, rows=False)
        return (*self.drop, str(self.time)) if column else self.drop

    def learn(self, table: Table) -> tuple[Table, tuple[Step, ...]]:
        """The table after all steps, and the steps, fitted to it."""
        X, features = table.X, table.features
        chain: list[Step] = []
        settings = self._settings()
        for name in self.steps:
            step = STEPS[name].fit(X, **settings.get(name, {}))
            X = apply_step(step, X)
            chain.append(step)
            features = list(step.vocabulary) if isinstance(step, Words) else features
        return table._replace(X=X, features=features), tuple(chain)

    def _settings(self) -> dict[str, dict[str, Any]]:
        """What the steps are told, by their names."""
        total = None if self.total in (None, "median") else float(self.total)
        return {
            Strip.name: {"kinds": self.strip},
            Words.name: {
                "min_df": self.min_df,
                "max_df": self.max_df,
                "stop_words": stop_words(self.stop_words) if self.text else (),
                "ngrams": self.ngrams,
                "pattern": self.pattern,
            },
            Depth.name: {"total": total},
        }

    def record(self, folder: Path) -> dict[str, Any]:
        """As JSON, paths as seen from the folder of the result: the two may be moved together."""
        facts = asdict(self) | {"path": seen_from(folder, self.path)}
        if self.labels is not None and Path(self.labels).is_file():
            facts["labels"] = seen_from(folder, Path(self.labels))
        return facts

    @classmethod
    def recall(cls, facts: dict[str, Any], folder: Path) -> Self:
        """From the record in a folder."""
        lists = {name: tuple(v) for name, v in facts.items() if isinstance(v, list)}
        path = facts["path"] if is_remote(facts["path"]) else folder / facts["path"]
        recorded = cls(**facts | lists | {"path": as_file(path)})
        beside = folder / (recorded.labels or ".")
        return replace(recorded, labels=str(beside)) if beside.is_file() else recorded


def check_entries(
    table: Table, file: str, signed: bool = False, remedy: str = "", holes: bool = False
) -> None:
    """Finite and, unless they may be signed, not negative; else their names are given.

    With `holes` an entry may be missing, which is NaN.
    """
    if isinstance(table.X, list | Source):
        return
    values = table.X.data if sp.issparse(table.X) else np.asarray(table.X)
    names = table.samples, table.features
    wrong = np.zeros(0, bool) if np.isfinite(values.sum()) else ~np.isfinite(values)
    if holes and wrong.any():
        wrong = np.isinf(values)
    if wrong.any():
        kind = "infinity" if holes else "NaN or infinity"
        raise ValueError(
            f"{file} has {kind} at {cells(table.X, wrong, names=names)}: fill these "
            "entries, or leave out these rows or columns (--drop)."
        )
    if not signed and values.size and np.fmin.reduce(values, axis=None) < 0:
        raise ValueError(
            f"Negative values in data of {file} at {cells(table.X, values < 0, names=names)}: "
            f"shift or clip them{remedy}."
        )


def first_words(table: Table) -> list[str] | None:
    """How documents begin, each after its name; None for a table of numbers."""
    if not isinstance(table.X, list):
        return None
    starts = (shorten(text[:SHOWN_AT_MOST], SHOWN, placeholder=" ...") for text in table.X)
    return [f"{name}: {start}" for name, start in zip(table.samples, starts, strict=True)]


def sample_in_memory(table: Table, seed: int) -> Table:
    """The table in memory; of one whose rows stay on disk a random sample."""
    if not isinstance(table.X, Source):
        return table
    some = np.sort(np.random.default_rng(seed).permutation(len(table.samples))[:AT_HAND])
    chosen = [table.samples[i] for i in some]
    labels = None if table.labels is None else [table.labels[i] for i in some]
    return table._replace(X=table.X[some], samples=chosen, labels=labels)


def seen_from(folder: Path, path: AnyFile) -> str:
    if isinstance(path, RemoteFile):
        return path.address
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(path.resolve())


def is_transposed(table: Table, model: ONMF | Baseline) -> bool:
    """Whether the names of the model's features are those of the samples, not of the features."""
    wanted = {str(name) for name in getattr(model, "feature_names_in_", ())}
    if not wanted or wanted == {*numbered(len(wanted))} or isinstance(table.X, list):
        return False
    return len(wanted.intersection(table.samples)) > 2 * len(wanted.intersection(table.features))


def align_features(
    table: Table, model: ONMF | Baseline, fill: float | None = None
) -> tuple[Table, list[str]]:
    """New samples as the model wants them, and what there is to say about it.

    Features are put in the model's order by their names, if both sides have names; then come the
    steps of the model. Those that are missing are refused, or filled with zero or NaN. Without
    names the number of features must be right.
    """
    chain = getattr(model, "preprocessing_", ())
    words = next((step for step in chain if isinstance(step, Words)), None)
    if words is not None:
        return table._replace(X=apply(chain, table.X), features=list(words.vocabulary)), []
    wanted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    have, width = table.features, model.n_features_in_
    if not wanted or have == numbered(len(have)) or wanted == numbered(width):
        if len(have) != width:
            turned = ": add or leave out --transpose" if len(table.samples) == width else ""
            raise ValueError(f"the input has {len(have)} features, the model {width}{turned}.")
        return table._replace(X=apply(chain, table.X), features=wanted or have), []
    known = {*wanted}
    table, said = _filled(table, wanted, fill)
    if unknown := sum(name not in known for name in have):
        said = [f"{unknown} features are unknown to the model and not used.", *said]
    have = table.features
    place = {name: j for j, name in enumerate(have)}
    if have != wanted and isinstance(table.X, Source):
        raise ValueError(
            "the input is too large to be put in order in memory: store its features in the order "
            f"of the model's, which begins {listing(wanted[:3], len(wanted))}."
        )
    X = table.X if have == wanted else table.X[:, [place[name] for name in wanted]]
    return table._replace(X=apply(chain, X), features=wanted), said


def _filled(table: Table, wanted: list[str], fill: float | None) -> tuple[Table, list[str]]:
    """A table with all features wanted, `fill` where it has none; None refuses that."""
    there = {*table.features}
    missing = [name for name in wanted if name not in there]
    if not missing:
        return table, []
    names = f"{len(missing)} of the {len(wanted)} features of the model: "
    names += listing(map(repr, missing), len(missing))
    if fill is None or isinstance(table.X, Source) or len(missing) == len(wanted):
        advice = "; --missing zero takes them as zero, --missing nan as not observed"
        advice = "" if len(missing) == len(wanted) else advice
        raise ValueError(f"the input lacks {names}{advice}.")
    more = np.full((len(table.samples), len(missing)), fill)
    sparse = sp.issparse(table.X)
    X = sp.hstack([table.X, sp.csr_array(more)], "csr") if sparse else np.hstack([table.X, more])
    full = table._replace(X=X, features=[*table.features, *missing])
    return full, [f"the input lacks {names}, taken as {'not observed' if fill else 'zero'}."]
