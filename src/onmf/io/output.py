"""Writing results: each file completely or not at all."""

import hashlib
import io
import json
import math
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from onmf.io.cells import FORMULA_STARTS, guard_cell
from onmf.io.system import NO_FOLLOW, lock_file, remove_open_file, rename, signals_deferred
from onmf.io.table import Array, Numbered, in_blocks

NEXT = ".next"  # folder of files that are about to replace others
ROWS_PER_BLOCK = 10_000  # of a table that is written
LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
MARK = "\ufeff"  # byte order mark
NEEDS_QUOTES = re.compile(f'[,"{LINE_ENDS}]')
Content = str | bytes | Callable[[IO[bytes]], object]  # or a function that writes it


class FolderInUseError(FileExistsError):
    """Another process writes to the folder."""


class Sheet(NamedTuple):
    """A table to be written as comma-separated text; its rows, or `Columns` of them."""

    header: Sequence[str]
    rows: "Iterable[Iterable[Any]] | Columns"


class Columns(NamedTuple):
    """Rows given by their columns: arrays of numbers, or names.

    They are read a block at a time: as text a number takes 50 bytes.

    digits : decimals of the numbers of each column; 6 if not given.
    """

    parts: Sequence[Sequence[Any] | Array]
    digits: Sequence[int] | None = None

    def is_ascii(self) -> bool:
        """Whether all names are."""
        named = [own for own in self.parts if not isinstance(own, np.ndarray | Numbered)]
        return all("".join(some).isascii() for own in named for some in in_blocks(own))

    def lines(self, raw: bool) -> Iterator[str]:
        """The rows as text, some at a time."""
        parts = [range(len(own)) if isinstance(own, Numbered) else own for own in self.parts]
        digits = self.digits or [6] * len(parts)
        for blocks in zip(*map(in_blocks, parts), strict=True):
            cells: list[Any] = [None] * (len(blocks) * len(blocks[0]))
            forms = []
            for j, block in enumerate(blocks):
                form, cells[j :: len(blocks)] = _written(block, raw, digits[j])
                forms.append(form)
            yield (",".join(forms) + "\n") * len(blocks[0]) % tuple(cells)


def _written(block: Any, raw: bool, digits: int) -> tuple[str, Sequence[Any]]:
    """How `%` writes the entries of a column, and these."""
    kind = block.dtype.kind if isinstance(block, np.ndarray) else "O"
    if kind == "f":
        return f"%.{digits}f", block.tolist()
    if kind in "iu":
        return "%d", block.tolist()
    if kind == "b":  # yes and no as most programs read them
        return "%s", np.where(block, "true", "false").tolist()
    return ("%d", block) if isinstance(block, range) else ("%s", text_cells(block, raw))


def csv_text(
    header: Sequence[str], rows: Iterable[Iterable[Any]] | Columns, raw: bool = False
) -> str:
    """The rows as comma-separated text; unless `raw`, formulas are guarded (`onmf.io.cells`).

    Text that is not all ASCII begins with a byte order mark, by which Excel knows UTF-8.
    """
    text = "".join(csv_blocks(header, rows, raw))
    return text if text.isascii() else f"{MARK}{text}"


def csv_writers(sheets: Mapping[str, Sheet], raw: bool = False) -> dict[str, Content]:
    """The files of these sheets: functions that write them, some rows at a time."""
    return {name: csv_writer(sheet, raw) for name, sheet in sheets.items()}


def csv_writer(sheet: Sheet, raw: bool = False) -> Content:
    """The same as a function that writes it, some rows at a time."""
    if not isinstance(sheet.rows, Columns):
        return csv_text(*sheet, raw)
    plain = sheet.rows.is_ascii() and "".join(sheet.header).isascii()

    def write(file: IO[bytes]) -> None:
        for text in chain([] if plain else [MARK], csv_blocks(*sheet, raw)):
            file.write(text.encode("utf-8"))

    return write


def csv_blocks(
    header: Sequence[str], rows: Iterable[Iterable[Any]] | Columns, raw: bool = False
) -> Iterator[str]:
    """The text, some rows at a time."""
    lines = chain([header], () if isinstance(rows, Columns) else rows)
    while block := list(islice(lines, ROWS_PER_BLOCK)):
        yield "".join(csv_line(row, raw) for row in block)
    if isinstance(rows, Columns):
        yield from rows.lines(raw)


def csv_line(row: Iterable[Any], raw: bool) -> str:
    """One row as a line."""
    cells = text_cells(["" if cell is None else cell for cell in row], raw)
    return ('""' if cells == [""] else ",".join(cells)) + "\n"


def text_cells(cells: Sequence[Any], raw: bool) -> list[str]:
    """Cells as they stand in a file: guarded unless `raw`, and in quotes if they need them."""
    texts = [*map(str, cells)]
    if not raw and FORMULA_STARTS & {text[:1] for text in texts}:
        texts = [*map(guard_cell, texts)]
    if not NEEDS_QUOTES.search("".join(texts)):
        return texts
    return [_quoted(text) if NEEDS_QUOTES.search(text) else text for text in texts]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def to_json_values(value: Any) -> Any:
    """The value in JSON's types: arrays as lists, None for numbers that are not finite."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): to_json_values(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_values(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def seal_files(
    files: Mapping[str, Content], seal: str, record: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Content]]:
    """The record with the checksums of the files, and the files with the record as `seal`.

    The checksums are there when the files are written, of which the seal is the last.
    """
    sealed = {**record, "files": dict(record.get("files", {}))}

    def noted(name: str, content: Content) -> Content:
        def write(file: IO[bytes]) -> None:
            digest: Any = _Digest(file)
            _write(digest, content)
            sealed["files"][name] = digest.sha256.hexdigest()

        return write

    def write_seal(file: IO[bytes]) -> None:
        _write(file, json.dumps(sealed, indent=2) + "\n")

    return sealed, {**{name: noted(name, files[name]) for name in files}, seal: write_seal}


class _Digest(io.RawIOBase):
    """Writes to a file, and keeps the checksum of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sha256 = file, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.sha256.update(content)
        return self.file.write(content)

    def tell(self) -> int:
        return self.file.tell()


def replace_files(folder: Path, files: Mapping[str, Content], gone: Iterable[str] = ()) -> None:
    """Replace all files, or none: each is written completely under another name first.

    Of several files the last is the seal. It is removed before the others change, like those
    `gone`, and put in place after them: a process that is killed leaves no seal. Other signals
    wait.
    """
    staged = {folder / name: _beside(folder / name) for name in files}
    aside = _beside(seal := [*staged][-1])
    try:
        for content, (place, temporary) in zip(files.values(), staged.items(), strict=True):
            with _named(place), temporary.open("xb") as file:  # follows no link
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())  # a full disk may raise only here
        with signals_deferred():
            if len(staged) > 1 and seal.exists():
                rename(seal, aside)
            for name in gone:
                (folder / name).unlink(missing_ok=True)
            for place, temporary in staged.items():
                rename(temporary, place)
    finally:
        for temporary in (*staged.values(), aside):
            temporary.unlink(missing_ok=True)


def replace_together(folder: Path, files: Mapping[str, Content]) -> None:
    """Replace all files, or none, even if the process is killed: for a run that must stay usable.

    They are written completely into a folder of their own. Its renaming to `.next` decides; then
    each file is put in place. What a killed process left to do, `finish_replacement` does.
    """
    finish_replacement(folder)
    stage = _beside(folder / NEXT)
    try:
        for name, content in files.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            with _named(folder / name), (stage / name).open("xb") as file:
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())
        with signals_deferred():
            rename(stage, folder / NEXT)
            finish_replacement(folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def finish_replacement(folder: Path) -> None:
    """Put the files of a replacement in place that was decided, but not completed."""
    ready = folder / NEXT
    if ready.is_symlink() or not ready.is_dir():
        return
    for path in sorted(path for path in ready.rglob("*") if not path.is_dir()):
        with suppress(FileNotFoundError):  # another process does the same
            rename(path, folder / path.relative_to(ready))
    shutil.rmtree(ready, ignore_errors=True)


@contextmanager
def _named(place: Path) -> Iterator[None]:
    """System errors with the name of the file instead of its temporary name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(place)) from error


def _beside(place: Path) -> Path:
    """A random name in the same folder."""
    return place.with_name(f".{place.name}.{secrets.token_hex(8)}")


@contextmanager
def place_for(folder: Path, names: Sequence[str], force: bool) -> Iterator[None]:
    """Check before the computation that the files can be written, and lock the folder.

    On an error, folders that were created here are removed.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
        with sole_writer(folder / f".{names[-1]}.lock"):
            finish_replacement(folder)
            there = [name for name in names if (folder / name).exists()]
            if there and not force:
                place = "this folder" if folder == Path() else folder
                raise FileExistsError(
                    f"{place} already has {', '.join(there)}: choose another folder, or replace "
                    "with --force."
                )
            yield
    except BaseException:
        with suppress(OSError):
            for place in made:
                place.rmdir()
        raise


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Hold a lock file: one process at a time."""
    with _locked(path):
        try:
            yield
        finally:
            remove_open_file(path)


def _locked(path: Path) -> IO[bytes]:
    """The lock file, open and locked."""
    flags = os.O_RDWR | os.O_CREAT | NO_FOLLOW
    file = open(path, "wb", opener=lambda name, _: os.open(name, flags, 0o666))  # noqa: SIM115
    try:
        lock_file(file)
    except BlockingIOError:
        file.close()
        raise FolderInUseError(
            f"another onmf command is writing to {path.parent}: wait, or choose another folder."
        ) from None
    except OSError:  # a file system without locks
        return file
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
    file.close()  # its owner has just removed it
    return _locked(path)


def _write(file: IO[bytes], content: Content) -> None:
    if callable(content):
        content(file)
    else:
        file.write(content_bytes(content))


def content_bytes(content: str | bytes) -> bytes:
    """Text in UTF-8."""
    return content.encode("utf-8") if isinstance(content, str) else content
