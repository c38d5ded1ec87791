"""The input of a command: how it is read and prepared, and its record in run.json."""

import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import scipy.sparse as sp

from onmf.exceptions import TableWarning
from onmf.files import checksum
from onmf.prepare import Strip, Variable, apply
from onmf.prepare.expression import default_steps
from onmf.prepare.steps import STEPS, Step, apply_step
from onmf.prepare.units import default_scaling
from onmf.rows import (
    CELLS,
    DOCUMENTS,
    EMBEDDED,
    PICTURES,
    SAMPLES,
    Array,
    Check,
    Progress,
    Source,
    Table,
    TemporaryFolder,
    Terms,
    check_text,
    check_unique,
    listing,
    no_progress,
)
from onmf_app.read import read_input
from onmf_app.read.annotation import value_file as class_file
from onmf_app.runs.batches import corrected

Duplicates = Literal["number", "sum", "first", "refuse"]
STANDARD_INPUT = Path("-")
FIRST_BYTES = {  # of binary formats, for standard input
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"%%MatrixMarket": ".mtx",
    b"PK\x03\x04": ".npz",
    b"{": ".jsonl",
}
VARIABLE = "variable"  # the setting of `Variable`; zero takes all features
OF_SAMPLES = ("labels", "time", "batch")  # columns, or files, with a value for each sample
_TEMPORARY_FOLDERS: list[TemporaryFolder] = []  # deleted when the process ends
SAMPLES_TO_CHOOSE_K = 20_000  # at most, if the rows stay on disk


@dataclass(frozen=True)
class Input:
    """An input and everything that is needed to read and prepare it again.

    path : file or folder.
    more : further inputs, whose samples follow those of `path`.
    text : whether it holds documents.
    transpose : whether its rows are features; None finds it.
    labels : column or file of true classes.
    layer : of annotated data.
    decimal, thousands, skip_rows, encoding, sheet, drop : see `read_table`.
    duplicates : for features of the same name, see `read_table`; for texts, "first" if only the
        first of equal texts takes part in the fit.
    text_column, id_column : of a table of documents.
    follow_links : whether a folder of documents may have links to files outside it.
    time : column or file with the time of each sample.
    batch : column or file with the batch of each sample.
    center_batches : whether features get the same mean in all batches, after all steps.
    describe : file of texts whose words describe the clusters.
    images : HEIGHTxWIDTH, or HEIGHTxWIDTHx3, of samples that are images.
    raw : whether counts and measurements are clustered as they are.
    steps : names of the steps of `onmf.prepare`, in order.
    settings : parameters of the steps, by name.
    """

    path: Path
    more: tuple[Path, ...] = ()
    text: bool = False
    transpose: bool | None = None
    labels: str | None = None
    layer: str | None = None
    decimal: str | None = None
    thousands: str = ""
    skip_rows: int = 0
    encoding: str | None = None
    sheet: str | None = None
    drop: tuple[str, ...] = ()
    duplicates: Duplicates | Literal["keep"] | None = None
    text_column: str | None = None
    id_column: str | None = None
    follow_links: bool = False
    time: str | None = None
    batch: str | None = None
    center_batches: bool = False
    describe: str | None = None
    images: str | None = None
    raw: bool = False
    steps: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def for_model(cls, model: Any, path: Path, **options: Any) -> Self:
        """New samples for a model: documents, if it counts words."""
        text = any(step.of_texts for step in getattr(model, "preprocessing_", ()))
        return cls(path, text=text, **options).received()

    @property
    def terms(self) -> Terms:
        """What the reader calls samples, features and clusters."""
        if self.describe is not None:
            return EMBEDDED
        if self.images is not None:
            return PICTURES
        return DOCUMENTS if self.text else CELLS if self.path.name.endswith(".h5ad") else SAMPLES

    def received(self) -> Self:
        """The same; standard input (`-`) is copied to a temporary file first."""
        if self.path != STANDARD_INPUT:
            return self
        stream = sys.stdin.buffer
        start = stream.read(max(map(len, FIRST_BYTES)))
        plain = ".txt" if self.text and self.text_column is None else ".csv"
        ending = next((e for first, e in FIRST_BYTES.items() if start.startswith(first)), plain)
        packed = ".gz" if start.startswith(b"\x1f\x8b") else ""
        _TEMPORARY_FOLDERS.append(TemporaryFolder())
        place = _TEMPORARY_FOLDERS[-1].path / f"stdin{ending}{packed}"
        with place.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file)
        return replace(self, path=place)

    @property
    def paths(self) -> tuple[Path, ...]:
        """All inputs, in the order of their samples."""
        return (self.path, *self.more)

    def digest(self) -> str:
        """SHA-256 of the input; of several, of their checksums."""
        sums = [checksum(path, self.follow_links) for path in self.paths]
        return sha256("\n".join(sums).encode()).hexdigest() if self.more else sums[0]

    def read(self, progress: Progress = no_progress, few: bool = False) -> Table:
        """The input before any step; rows that would fill the memory stay on disk.

        few : whether the rows are read a few times only, so that many of them stay there, too.
        """
        table = self._read(progress, few and not self.center_batches)
        if self.more:
            new = [replace(self, path=path)._read_new(progress) for path in self.more]
            table = joined([table, *new], [path.name for path in self.paths])
        check_text(table.samples, "sample", self.path.name)
        check_text(table.features, "feature", self.path.name)
        check_text(table.labels or [], "class", self.path.name)
        return table

    def _read_new(self, progress: Progress) -> Table:
        """An added input, which need not have the true classes, nor what was dropped."""
        own = replace(self, drop=())  # columns that the run does not know are left out anyway
        try:
            table = own._read(progress, few=False)
        except ValueError:
            if self.labels is None:
                raise
            table = replace(own, labels=None)._read(progress, few=False)
        kept = [i for i, name in enumerate(table.samples) if name not in self.drop]
        return table if len(kept) == len(table.samples) else rows_of(table, np.array(kept))

    def _read(self, progress: Progress, few: bool) -> Table:
        own: dict[str, Any] = {} if self.text else {"duplicates": self.duplicates or "number"}
        columns = [name for name in (self.time, self.batch) if name and class_file(name) is None]
        found = read_input(
            self.path, text=self.text, text_column=self.text_column if self.text else None,
            id_column=self.id_column if self.text else None,
            labels=self.labels, drop=[*self.drop, *columns], transpose=self.transpose,
            layer=self.layer, sheet=self.sheet, decimal=self.decimal, thousands=self.thousands,
            skip_rows=self.skip_rows, encoding=self.encoding, follow_links=self.follow_links,
            raw=bool(self.raw or self.describe or self.images), few=few, progress=progress, **own,
        )  # fmt: skip
        for said in found.notes:
            warnings.warn(said, TableWarning, stacklevel=2)
        X = found.data.to_numpy() if hasattr(found.data, "to_numpy") else found.data
        return Table(X, [*map(str, found.samples)], found.features, found.classes)

    def with_default_steps(self, table: Table) -> Self:
        """The same with the default steps of gene expression or of different units."""
        if self.raw or self.text or {*self.steps} - {Variable.name}:
            return self
        found = default_steps(table.X, table.features) or default_scaling(table.X)
        if self.settings.get(VARIABLE) is not None:
            found.pop(Variable.name, None)  # the user chose, or chose all
        steps = tuple(name for name in STEPS if name in {*found, *self.steps})
        learnt = {name: value for step in found.values() for name, value in step.items()}
        return replace(self, steps=steps, settings=self.settings | learnt)

    def learn(self, table: Table) -> tuple[Table, tuple[Step, ...]]:
        """The table after all steps, and the steps, fitted to it."""
        X, features, chain = table.X, table.features, []
        for name in self.steps:
            own = {option.parameter for option in STEPS[name].options}
            given = {n: v for n, v in self.settings.items() if n in own and v is not None}
            try:
                step = STEPS[name].fit(X, **given)
                X = apply_step(step, X)
            except ValueError:
                if not isinstance(X, list | Source):  # name the entries that are wrong, if any
                    names = table.samples, features
                    Check(f"step {name}", allow_missing=True, names=names)(X)
                raise
            chain.append(step)
            features = list(getattr(step, "vocabulary", features))
        return corrected(self, table._replace(X=X, features=features)), tuple(chain)

    def record(self, folder: Path) -> dict[str, Any]:
        """As JSON, with paths relative to the folder of the result, so both can be moved."""
        facts = asdict(self) | {"path": relative_path(folder, self.path)}
        facts["more"] = [relative_path(folder, path) for path in self.more]
        if self.describe is not None:
            facts["describe"] = relative_path(folder, Path(self.describe))
        for name in OF_SAMPLES:
            if facts[name] is not None and (found := class_file(facts[name])) is not None:
                facts[name] = _spec(relative_path(folder, found[0]), found[1])
        return facts | facts.pop("settings")

    @classmethod
    def from_record(cls, facts: dict[str, Any], folder: Path) -> Self:
        """From the record in a folder."""
        facts = {name: tuple(v) if isinstance(v, list) else v for name, v in facts.items()}
        settings = {name: facts.pop(name) for name in step_parameters() & facts.keys()}
        if unknown := facts.keys() - {own.name for own in fields(cls)}:
            raise ValueError(f"its source has unknown keys: {', '.join(sorted(unknown))}")
        known = [own for own in fields(cls) if own.name in facts.keys() - {"path", "more"}]
        for own in known:
            if not is_of_kind(facts[own.name], own.type):
                raise ValueError(f"its {own.name} is {facts[own.name]!r}")
        paths = {"path": folder / facts["path"]}
        paths["more"] = tuple(folder / str(path) for path in facts.get("more", ()))
        recorded = cls(**facts | paths, settings=settings)
        if recorded.describe is not None:
            recorded = replace(recorded, describe=str(folder / recorded.describe))
        for name in OF_SAMPLES:
            if found := class_file(folder / (getattr(recorded, name) or ".")):
                changed: dict[str, Any] = {name: _spec(str(found[0]), found[1])}
                recorded = replace(recorded, **changed)
        return recorded


def joined(tables: Sequence[Table], files: Sequence[str]) -> Table:
    """The samples of several tables, with the features of the first.

    Numbered samples go on; a document of a name that is known is called by its file, too.
    """
    first = tables[0]
    if any(isinstance(table.X, Source) for table in tables):
        raise ValueError(f"{files[-1]} cannot be added: an input is too large for the memory.")
    X = [first.X]
    for table, file in zip(tables[1:], files[1:], strict=True):
        place = {name: j for j, name in enumerate(table.features)}
        if missing := [name for name in first.features if name not in place]:
            raise ValueError(f"{file} lacks features of the run: {listing(map(repr, missing))}.")
        X.append(table.X if isinstance(table.X, list)
                 else table.X[:, [place[name] for name in first.features]])  # fmt: skip
    names = [[*table.samples] for table in tables]
    count, samples = sum(map(len, names)), names[0]
    starts = [s for s in (0, 1) if [*map(str, range(s, s + len(samples)))] == samples]
    if starts:
        samples = [*map(str, range(starts[0], starts[0] + count))]
    else:
        for own, file in zip(names[1:], files[1:], strict=True):
            known = {*samples} if isinstance(first.X, list) else {""}
            samples = [*samples, *(f"{file}/{name}" if name in known else name for name in own)]
    check_unique(samples, "samples", files[-1])
    labels = [table.labels for table in tables]
    classes = None if None in labels else [name for own in labels for name in own or ()]
    rows: Any = (
        [text for own in X for text in own] if isinstance(first.X, list)
        else sp.vstack(X, "csr") if any(map(sp.issparse, X)) else np.vstack(X)
    )  # fmt: skip
    return first._replace(X=rows, samples=samples, labels=classes)


def _spec(file: str, column: str | None) -> str:
    """FILE or FILE:COLUMN."""
    return file if column is None else f"{file}:{column}"


def is_of_kind(value: Any, kind: Any) -> bool:
    """Whether a value of a record can be what the annotation of its field says."""
    try:
        return isinstance(value, kind)
    except TypeError:  # words: several, or one of a few
        parts = value if isinstance(value, tuple) else (value,)
        no_word = value is None and type(None) in get_args(kind)
        return no_word or all(isinstance(part, str) for part in parts)


def step_parameters() -> set[str]:
    """The names of all parameters of steps that an option sets."""
    return {own.parameter for step in STEPS.values() for own in step.options if own.parameter}


def relative_path(folder: Path, path: Path) -> str:
    """A path relative to a folder."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(path.resolve())


class Copies(NamedTuple):
    """Which rows are equal: x_i = x_first[place[i]].

    first : row of the first of each.
    place : of each row, among these.
    """

    first: Array
    place: Array

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Equal texts, whatever their white space."""
        known: dict[str, int] = {}
        place = [known.setdefault(" ".join(text.split()), len(known)) for text in texts]
        return cls(np.unique(place, return_index=True)[1], np.array(place))

    def sizes(self) -> Array:
        """How often each text occurs."""
        return np.bincount(self.place)


def one_of_each(table: Table, duplicates: str | None) -> tuple[Table, Copies | None]:
    """Only the first of equal texts, if that is asked for, and which rows are its copies."""
    if not isinstance(table.X, list) or duplicates != "first":
        return table, None
    copies = Copies.of(table.X)
    return rows_of(table, copies.first), copies


def rows_of(table: Table, rows: Array) -> Table:
    """Some samples of a table."""
    X = [table.X[i] for i in rows] if isinstance(table.X, list) else table.X[rows]
    labels = None if table.labels is None else [table.labels[i] for i in rows]
    return table._replace(X=X, samples=[table.samples[i] for i in rows], labels=labels)


def cleaned(table: Table, chain: Sequence[Step]) -> Table:
    """Texts as a person reads them: without what `Strip` removes."""
    if not isinstance(table.X, list):
        return table
    return table._replace(X=apply([step for step in chain if isinstance(step, Strip)], table.X))


def sample_in_memory(table: Table, seed: Any) -> Table:
    """The table in memory; a random sample of the rows if they are on disk."""
    if not isinstance(table.X, Source):
        return table
    order = np.random.default_rng(seed).permutation(len(table.samples))
    return rows_of(table, np.sort(order[:SAMPLES_TO_CHOOSE_K]))


def can_drop(name: str, rows: bool) -> bool:
    """Whether rows, or columns, of a file can be dropped by name."""
    no_rows = (".parquet", ".pq") if rows else ()
    return not name.lower().endswith((".npy", ".npz", ".mtx", ".mtx.gz", ".h5ad", *no_rows))
